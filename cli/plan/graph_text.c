#include "graph_text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- reading ----------------------------------------------------------------------------------------------------- */

enum { FUSED_SHOWN = 56 /* bytes of the ops in a fused node, or of a product and what was fused into it */ };

typedef struct reader {
    graph_text *g;
    char *labels; /* of nodes that something was fused into, FUSED_SHOWN + 1 bytes each, by node */
    int32_t n_ends;
    int n_in;
    const wick_spec *in;
} reader;

static wick_spec read_type(char *type) {
    wick_spec s = {.rank = -1};
    char *bracket = strchr(type, '[');
    if (!bracket) return s;
    *bracket = 0;
    bool known = false;
    for (int d = 0; d < WICK_DTYPE_COUNT && !known; d++) {
        known = strcmp(wick_dtype_name((wick_dtype)d), type) == 0;
        if (known) s.dtype = (wick_dtype)d;
    }
    if (!known) return s;
    s.rank = 0;
    for (char *at = bracket + 1; *at && *at != ']' && s.rank < WICK_MAX_DIMS;) {
        char *end;
        s.dims[s.rank++] = strtoll(at, &end, 10);
        if (end == at) return s.rank = -1, s; /* a symbol */
        at = end + (*end == ',');
    }
    return s;
}

/* "%12" at *at, which moves behind it; -1: there is none such. */
static int32_t read_number(const reader *r, char **at) {
    char *end;
    if (**at != '%') return -1;
    const long n = strtol(*at + 1, &end, 10);
    *at = end;
    return n >= 0 && n < r->g->graph.n_wires ? (int32_t)n : -1;
}

/* The number behind "name=" among the attributes; otherwise: it is not there. */
static double attribute(const char *attributes, const char *name, double otherwise) {
    const size_t n = strlen(name);
    for (const char *at = attributes; (at = strstr(at, name)); at += n)
        if (at[-1] == ' ' && at[n] == '=') return strtod(at + n + 1, NULL);
    return otherwise;
}

/* What a product does behind its sums: "conv + bias + relu". */
static const char *with_epilogue(const graph_text *g, const wick_onnx_node *node, const char *attributes, char *label) {
    static const struct {
        const char *op;
        int operands; /* without a bias; 0: a word tells */
    } products[] = {{"conv", 2}, {"matmul", 2}, {"int8_matmul", 0}, {"int8_conv", 0}, {"int4_linear", 0},
                  {"int8_linear", 0}};
    size_t k = 0;
    while (k < sizeof products / sizeof products[0] && strcmp(products[k].op, node->op) != 0) k++;
    if (k == sizeof products / sizeof products[0]) return node->op;
    const double low = attribute(attributes, "low", -INFINITY), high = attribute(attributes, "high", INFINITY);
    const bool sum = products[k].operands && node->n_in > products[k].operands && node->in[2] >= 0 &&
                     g->wires[node->in[2]].spec.rank > 1; /* of another tensor */
    const bool bias = products[k].operands ? node->n_in > products[k].operands : strstr(attributes, " bias") != NULL;
    const bool relu = strstr(attributes, " relu") || (low == 0 && high == INFINITY);
    const char *clip = relu                                 ? " + relu"
                       : low == 0 && high == 6              ? " + relu6"
                       : low > -INFINITY || high < INFINITY ? " + clip"
                                                            : "";
    snprintf(label, FUSED_SHOWN + 1, "%s%s%s", node->op, sum ? " + add" : bias ? " + bias" : "", clip);
    return label;
}

/* "%3 f32[2,4], %4 f32[] = max(%1, %2) axes=1 commit  @ net.c:12 fc1" */
static void read_node(reader *r, char *line) {
    graph_text *g = r->g;
    const int64_t index = g->graph.n_nodes;
    wick_onnx_node node = {.domain = "", .op = "", .name = "", .supported = true, .out = g->ends + r->n_ends};
    char *place = strstr(line, "  @ ");
    if (place) {
        *place = 0;
        place += 4;
        char *end = place + strlen(place);
        const bool quoted = end > place && end[-1] == '"'; /* a node of an ONNX file */
        if (quoted) end[-1] = 0;
        char *layer = strrchr(place, quoted ? '"' : ' ');
        if (layer) node.name = layer + 1;
    }
    char *equals = strstr(line, " = ");
    if (!equals) return;
    *equals = 0;
    for (char *at = line; *at == '%';) {
        const int32_t w = read_number(r, &at);
        char *type = at + (*at == ' '), *next = strstr(type, ", %");
        if (next) *next = 0;
        if (w < 0) return;
        g->wires[w] = (wick_onnx_wire){.name = "", .from = index, .spec = read_type(type)};
        g->ends[r->n_ends++] = w;
        node.n_out++;
        at = next ? next + 2 : "";
    }
    char *op = equals + 3, *open = strchr(op, '(');
    if (!open) return;
    *open = 0;
    node.op = op;
    node.in = g->ends + r->n_ends;
    char *at = open + 1;
    while (*at && *at != ')') {
        const int32_t w = read_number(r, &at);
        if (w < 0) at += strcspn(at, ",)"); /* a parameter of a region */
        g->ends[r->n_ends++] = w;
        node.n_in++;
        at += strspn(at, ", ");
    }
    const bool input = strcmp(op, "input") == 0;
    if (node.n_out == 1 && (input || strcmp(op, "data") == 0 || strcmp(op, "slot") == 0)) {
        wick_onnx_wire *w = &g->wires[node.out[0]];
        const char *number = input ? strstr(at, "index=") : NULL;
        const int i = number ? atoi(number + 6) : -1;
        w->from = input ? -1 : -2;
        if (i >= 0 && i < r->n_in && r->in[i].name) w->name = r->in[i].name;
        return;
    }
    if (strcmp(op, "constant") == 0) node.op = "Constant"; /* as ONNX has it */
    node.op = with_epilogue(g, &node, *at ? at + 1 : at, r->labels + g->graph.n_nodes * (FUSED_SHOWN + 1));
    g->nodes[g->graph.n_nodes++] = node;
}

/* An op inside of the last node: what a fused one computes is its name. */
static void read_inner(reader *r, const char *line) {
    graph_text *g = r->g;
    const char *equals = strstr(line, " = "), *open = equals ? strchr(equals, '(') : NULL;
    if (!g->graph.n_nodes || !open) return;
    wick_onnx_node *node = &g->nodes[g->graph.n_nodes - 1];
    char *label = r->labels + (g->graph.n_nodes - 1) * (FUSED_SHOWN + 1);
    if (strcmp(node->op, "fused") == 0) node->op = label;
    if (node->op != label) {
        node->bodies = 1;
        return;
    }
    const size_t n = strlen(label), length = (size_t)(open - equals - 3);
    if (n + length + 2 < FUSED_SHOWN)
        snprintf(label + n, FUSED_SHOWN + 1 - n, "%s%.*s", n ? " " : "", (int)length, equals + 3);
    else if (n + 4 < FUSED_SHOWN && label[n - 1] != '.') strcpy(label + n, " ..");
}

bool graph_text_read(graph_text *g, const char *text, int n_in, const wick_spec *in) {
    *g = (graph_text){.text = strdup(text)};
    size_t lines = 1, marks = 1;
    for (const char *c = text; *c; c++) lines += *c == '\n', marks += *c == '%';
    if (marks > INT32_MAX / 2) return graph_text_free(g), false;
    g->graph.n_wires = (int32_t)marks;
    g->nodes = calloc(lines, sizeof *g->nodes);
    g->wires = calloc(marks, sizeof *g->wires);
    g->ends = calloc(2 * marks + lines, sizeof *g->ends);
    reader r = {.g = g, .labels = calloc(lines, FUSED_SHOWN + 1), .n_in = n_in, .in = in};
    if (!g->text || !g->nodes || !g->wires || !g->ends || !r.labels) {
        free(r.labels);
        return graph_text_free(g), false;
    }
    /* The labels stay as long as the text: both are one block from here on. */
    const size_t size = strlen(g->text) + 1, label_bytes = lines * (FUSED_SHOWN + 1);
    char *whole = realloc(g->text, size + label_bytes);
    free(r.labels);
    if (!whole) return graph_text_free(g), false;
    g->text = whole;
    r.labels = whole + size;
    memset(r.labels, 0, label_bytes);
    for (size_t i = 0; i < marks; i++) g->wires[i] = (wick_onnx_wire){.name = "", .from = -2, .spec = {.rank = -1}};
    for (char *line = g->text, *next; line; line = next) {
        next = strchr(line, '\n');
        if (next) *next++ = 0;
        if (*line == '%') read_node(&r, line);
        else if (*line == ' ') read_inner(&r, line);
        else if (strncmp(line, "return", 6) == 0) {
            g->graph.outputs = g->ends + r.n_ends;
            for (char *at = line + 6; (at = strchr(at, '%'));) {
                const int32_t w = read_number(&r, &at);
                /* else it is a state's new value */
                if (strncmp(at, " into ", 6) != 0) g->ends[r.n_ends++] = w, g->n_outputs++;
            }
        }
    }
    g->graph.nodes = g->nodes;
    g->graph.wires = g->wires;
    return true;
}

void graph_text_free(graph_text *g) {
    free(g->text);
    free(g->nodes);
    free(g->wires);
    free(g->ends);
    *g = (graph_text){0};
}

/* ---- Graphviz ---------------------------------------------------------------------------------------------------- */

static void quoted(FILE *out, const char *text) {
    for (; *text; text++) {
        if (*text == '"' || *text == '\\') fputc('\\', out);
        fputc(*text, out);
    }
}

static void type_of(FILE *out, const wick_spec *s) {
    if (s->rank < 0) return;
    fprintf(out, "\\n%s[", wick_dtype_name(s->dtype));
    for (int d = 0; d < s->rank; d++) fprintf(out, "%s%lld", d ? "," : "", (long long)s->dims[d]);
    fputc(']', out);
}

void graph_text_dot(FILE *out, const graph_text *g, const char *title) {
    fputs("digraph \"", out);
    quoted(out, title);
    fputs("\" {\n  node [shape=box, fontname=\"monospace\", fontsize=11];\n", out);
    for (int32_t w = 0; w < g->graph.n_wires; w++) {
        if (g->wires[w].from != -1) continue;
        fprintf(out, "  w%d [shape=ellipse, label=\"", w);
        quoted(out, g->wires[w].name);
        type_of(out, &g->wires[w].spec);
        fputs("\"];\n", out);
    }
    for (int64_t v = 0; v < g->graph.n_nodes; v++) {
        const wick_onnx_node *n = &g->nodes[v];
        if (strcmp(n->op, "Constant") == 0) continue;
        fprintf(out, "  n%lld [label=\"", (long long)v);
        quoted(out, n->op);
        if (n->n_out) type_of(out, &g->wires[n->out[0]].spec);
        if (*n->name) fputs("\\n", out), quoted(out, n->name);
        fputs("\"];\n", out);
        for (int i = 0; i < n->n_in; i++) {
            const int32_t w = n->in[i];
            const int64_t from = w < 0 ? -2 : g->wires[w].from;
            if (from >= 0 && strcmp(g->nodes[from].op, "Constant") != 0)
                fprintf(out, "  n%lld -> n%lld;\n", (long long)from, (long long)v);
            if (from == -1) fprintf(out, "  w%d -> n%lld;\n", w, (long long)v);
        }
    }
    for (int i = 0; i < g->n_outputs; i++) {
        const int32_t w = g->graph.outputs[i];
        if (w >= 0 && g->wires[w].from >= 0) {
            fprintf(out, "  o%d [shape=ellipse, label=\"", i);
            quoted(out, g->wires[w].name);
            fprintf(out, "\"];\n  n%lld -> o%d;\n", (long long)g->wires[w].from, i);
        }
    }
    fputs("}\n", out);
}

/* ---- differences ------------------------------------------------------------------------------------------------- */

enum { AROUND = 2 /* lines that are the same, shown beside those that aren't */ };
#define MOST_PAIRS                                                                                                     \
    100000000u /* of lines that are compared one by one; beyond them everything between the first and the last change  \
                  counts as changed */

typedef struct lines {
    char *text, *plain; /* a copy with lines ended; the same without numbers of values */
    char **at, **key;
    size_t n;
} lines;

static void lines_free(lines *l) {
    free(l->text);
    free(l->plain);
    free(l->at);
    free(l->key);
}

static bool lines_read(lines *l, const char *text) {
    size_t n = 1;
    for (const char *c = text; *c; c++) n += *c == '\n';
    *l = (lines){
        .text = strdup(text), .plain = strdup(text), .at = calloc(n, sizeof *l->at), .key = calloc(n, sizeof *l->key)};
    if (!l->text || !l->plain || !l->at || !l->key) return lines_free(l), false;
    char *to = l->plain;
    for (char *line = l->text, *next; line && *line; line = next) {
        next = strchr(line, '\n');
        if (next) *next++ = 0;
        l->at[l->n] = line;
        l->key[l->n++] = to;
        for (char *c = line; *c; c++) {
            *to++ = *c;
            if (*c == '%') c += strspn(c + 1, "0123456789");
        }
        *to++ = 0;
    }
    return true;
}

static bool same(const lines *a, size_t i, const lines *b, size_t k) { return strcmp(a->key[i], b->key[k]) == 0; }

/* Marks the lines of a longest common subsequence of a[from, to) and b[from, to_b): twin[i] is the line of b, or
 * SIZE_MAX. */
static bool match(const lines *a, const lines *b, size_t from, size_t to, size_t to_b, size_t *twin) {
    const size_t n = to - from, m = to_b - from;
    if (!n || !m || n > MOST_PAIRS / m) return true;
    uint16_t *length = calloc((n + 1) * (m + 1), sizeof *length); /* of the rest behind a pair */
    if (!length) return false;
    for (size_t i = n; i-- > 0;)
        for (size_t k = m; k-- > 0;) {
            uint16_t *at = &length[i * (m + 1) + k];
            if (same(a, from + i, b, from + k)) *at = at[m + 2] < UINT16_MAX ? at[m + 2] + 1 : UINT16_MAX;
            else *at = at[1] > at[m + 1] ? at[1] : at[m + 1];
        }
    for (size_t i = 0, k = 0; i < n && k < m;) {
        const uint16_t *at = &length[i * (m + 1) + k];
        if (same(a, from + i, b, from + k)) twin[from + i++] = from + k++;
        else if (at[1] > at[m + 1]) k++;
        else i++;
    }
    free(length);
    return true;
}

/* Lines i of a and k of b on, up to the end: what only one of them has, and what both have next to that. */
static void show(FILE *out, const lines *a, const lines *b, const size_t *twin) {
    size_t k = 0, hidden = 0, near = 0; /* near: lines since the last change that are still to be shown */
    for (size_t i = 0; i <= a->n; i++) {
        const size_t until = i == a->n ? b->n : twin[i];
        if (i < a->n && until == SIZE_MAX) {
            if (hidden) fprintf(out, "  ... %zu the same\n", hidden), hidden = 0;
            fprintf(out, "- %s\n", a->at[i]);
            near = AROUND;
            continue;
        }
        for (; k < until; k++) {
            if (hidden) fprintf(out, "  ... %zu the same\n", hidden), hidden = 0;
            fprintf(out, "+ %s\n", b->at[k]);
            near = AROUND;
        }
        if (i == a->n) break;
        if (near) fprintf(out, "  %s\n", b->at[k]), near--;
        else {
            bool soon = false; /* a change follows within what is shown around it */
            for (size_t j = 1; j <= AROUND && i + j <= a->n; j++)
                soon |= i + j == a->n ? k + j < b->n : twin[i + j] != k + j;
            if (soon && hidden) fprintf(out, "  ... %zu the same\n", hidden), hidden = 0;
            if (soon) fprintf(out, "  %s\n", b->at[k]);
            else hidden++;
        }
        k++;
    }
    if (hidden) fprintf(out, "  ... %zu the same\n", hidden);
}

bool graph_text_difference(FILE *out, const char *before, const char *after) {
    lines a, b = {0};
    if (!lines_read(&a, before)) return false;
    size_t *twin = lines_read(&b, after) ? malloc((a.n + 1) * sizeof *twin) : NULL;
    bool good = twin != NULL;
    if (good) {
        size_t from = 0, to = a.n, to_b = b.n;
        while (from < to && from < to_b && same(&a, from, &b, from)) from++;
        while (to > from && to_b > from && same(&a, to - 1, &b, to_b - 1)) to--, to_b--;
        for (size_t i = 0; i < a.n; i++) twin[i] = i < from ? i : i >= to ? i - to + to_b : SIZE_MAX;
        good = match(&a, &b, from, to, to_b, twin);
        if (good) show(out, &a, &b, twin);
    }
    free(twin);
    lines_free(&a);
    if (b.text) lines_free(&b);
    return good;
}
