/* print.c: graphs as text, for tests and for people. */
#include "graph/graph.h"

uint32_t wick_graph_number(wick_graph *graph) {
    uint32_t n = 0;
    for (size_t i = 0; i < graph->n; i++) {
        graph->nodes[i]->position = (uint32_t)i;
        for (int k = 0; k < graph->nodes[i]->n_out; k++) graph->nodes[i]->out[k].id = n++;
    }
    return n;
}

static void print_type(wick_str *s, const wick_graph *g, const wick_type *t) {
    wick_str_add(s, "%s[", wick_dtype_name((wick_dtype)t->dtype));
    for (int i = 0; i < t->rank; i++) {
        const char *comma = i ? "," : "";
        if (!WICK_IS_SYMBOL(t->dims[i]))
            wick_str_add(s, "%s%lld", comma, (long long)t->dims[i]);
        else if (WICK_SYMBOL_OF(t->dims[i]) < g->n_symbols)
            wick_str_add(s, "%s%s", comma, g->symbols[WICK_SYMBOL_OF(t->dims[i])].name);
        else
            wick_str_add(s, "%s?", comma);
    }
    wick_str_add(s, "]");
}

/* Names out of files begin no lines and steer no terminals. */
static void print_place(wick_str *s, const char *place) {
    wick_str_add(s, "  @ ");
    while (*place) {
        int n = 0;
        while ((unsigned char)place[n] >= ' ' && place[n] != 0x7F) n++;
        wick_str_add(s, place[n] ? "%.*s?" : "%.*s", n, place);
        place += n + (place[n] != 0);
    }
}

static void print_graph(wick_str *s, wick_graph *g, int indent, const wick_graph *outer, bool places) {
    wick_graph_number(g);
    for (int i = 0; i < g->n_symbols; i++)
        wick_str_add(s, "%*s%s in %lld..%lld\n", indent, "", g->symbols[i].name, (long long)g->symbols[i].min,
                     (long long)g->symbols[i].max);
    /* A region's parameters are values without a node in it; they are numbered a, b, c... */
    for (int i = 0; i < g->n_inputs; i++) g->inputs[i]->id = UINT32_MAX - (uint32_t)i;
    for (size_t i = 0; i < g->n; i++) {
        const wick_node *n = g->nodes[i];
        wick_str_add(s, "%*s", indent, "");
        for (int k = 0; k < n->n_out; k++) {
            wick_str_add(s, "%s%%%u ", k ? ", " : "", n->out[k].id);
            print_type(s, outer, &n->out[k].type);
        }
        wick_str_add(s, " = %s(", n->op->name);
        for (int k = 0; k < n->n_in; k++) {
            uint32_t id = n->in[k]->id;
            if (id > UINT32_MAX - 26)
                wick_str_add(s, "%s%c", k ? ", " : "", 'a' + (int)(UINT32_MAX - id));
            else
                wick_str_add(s, "%s%%%u", k ? ", " : "", id);
        }
        wick_str_add(s, ")");
        if (n->op->print) {
            wick_str before = *s;
            wick_str_add(s, " ");
            size_t blank = s->len;
            n->op->print(s, n);
            if (s->len == blank && s->len > before.len) { /* nothing to say about this one */
                *s = before;
                s->at[s->len] = 0;
            }
        }
        if (n->flags & WICK_NODE_RIDES) wick_str_add(s, " rides");
        if (n->phase) wick_str_add(s, " commit");
        if (places && n->site) print_place(s, n->site);
        wick_str_add(s, "\n");
        for (int k = 0; k < n->n_regions; k++) print_graph(s, n->regions[k], indent + 2, outer, places);
    }
    wick_str_add(s, "%*sreturn", indent, "");
    for (int i = 0; i < g->n_outputs; i++) {
        wick_str_add(s, "%s%%%u", i ? ", " : " ", g->outputs[i]->id);
        if (g->output_leaf && g->output_leaf[i] >= 0) wick_str_add(s, " into leaf %d", g->output_leaf[i]);
    }
    wick_str_add(s, "\n");
}

void wick_graph_print(wick_str *s, wick_graph *graph, bool places) { print_graph(s, graph, 0, graph, places); }
