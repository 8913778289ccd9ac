/* node.c: making and counting recorded nodes, and the nodes of graphs. */
#include <stdarg.h>
#include <stdio.h>

#include "tensor/op.h"

void wick_remark(const wick_planning *planning, const char *pass, const wick_node *node, const char *fmt, ...) {
    if (!wick_remarks(planning)) return;
    char text[1024], name[256];
    wick_str s = wick_str_on(name, sizeof name);
    wick_str_add(&s, "%s ", node->op->name);
    if (node->n_out) wick_type_print(&s, &node->out[0].type);
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    planning->options->on_remark(planning->options->user, pass, name, node->site, text);
}

static const char *const choosers[WICK_CHOOSERS] = {
    [WICK_CHOOSES_MERGE] = "merge", [WICK_CHOOSES_FUSE] = "fuse", [WICK_CHOOSES_RIDE] = "ride"};

bool wick_names_decision(const char *name, wick_chooser *pass, uint32_t *number) {
    const size_t length = strcspn(name, ":,");
    if (name[length] != ':') return false;
    const char *digits = name + length + 1;
    size_t n = strspn(digits, "0123456789");
    if (!n || n > 9 || (digits[n] && digits[n] != ',')) return false;
    for (*number = 0; n--; digits++) *number = *number * 10 + (uint32_t)(*digits - '0');
    for (int i = 0; i < WICK_CHOOSERS; i++) {
        *pass = (wick_chooser)i;
        if (strlen(choosers[i]) == length && memcmp(choosers[i], name, length) == 0) return true;
    }
    return false;
}

static const char *after(const char *names) {
    names += strcspn(names, ",");
    return names + (*names == ',');
}

bool wick_left_out(wick_planning *planning, wick_chooser pass, uint32_t *number) {
    wick_chooser named;
    uint32_t n;
    *number = planning ? ++planning->decisions[pass] : 0;
    const char *names = planning && planning->options ? planning->options->without : NULL;
    for (; names && *names; names = after(names))
        if (wick_names_decision(names, &named, &n) && named == pass && n == *number) return true;
    return false;
}

/* Is all of the pass left out? */
static bool is_out(const char *names, wick_chooser pass) {
    const size_t length = strlen(choosers[pass]);
    for (; *names; names = after(names))
        if (strncmp(names, choosers[pass], length) == 0 && (!names[length] || names[length] == ',')) return true;
    return false;
}

wick_status wick_check_left_out(const wick_planning *planning, wick_msg *msg) {
    const char *names = planning->options ? planning->options->without : NULL;
    wick_chooser pass;
    uint32_t n;
    for (const char *name = names; name && *name; name = after(name))
        if (wick_names_decision(name, &pass, &n) && (n == 0 || n > planning->decisions[pass]) &&
            !is_out(names, pass))
            return wick_msg_set(msg, WICK_ERR_INVALID,
                                "there is no decision '%s:%u' to leave out: %s took %u here", choosers[pass], n,
                                choosers[pass], planning->decisions[pass]);
    return WICK_OK;
}

bool wick_graph_push(wick_graph *graph, wick_node *node) {
    if (graph->n == graph->cap) {
        size_t cap = graph->cap ? graph->cap * 2 : 64;
        wick_node **nodes = wick_arena_alloc(graph->arena, cap * sizeof *nodes);
        if (!nodes) {
            graph->failed = true;
            return false;
        }
        if (graph->n) memcpy(nodes, graph->nodes, graph->n * sizeof *nodes);
        graph->nodes = nodes;
        graph->cap = cap;
    }
    node->position = (uint32_t)graph->n;
    graph->nodes[graph->n++] = node;
    return true;
}

int64_t wick_graph_symbol(wick_graph *graph, const char *name, int64_t min, int64_t max) {
    wick_symbol *symbols = wick_arena_alloc(graph->arena, (size_t)(graph->n_symbols + 1) * sizeof *symbols);
    char *copy = wick_arena_strdup(graph->arena, name);
    if (!symbols || !copy) return 0;
    if (graph->n_symbols) memcpy(symbols, graph->symbols, (size_t)graph->n_symbols * sizeof *symbols);
    symbols[graph->n_symbols] = (wick_symbol){copy, min, max};
    graph->symbols = symbols;
    return WICK_SYMBOL(graph->n_symbols++);
}

wick_node *wick_node_new(wick_context *ctx, const wick_op *op, int n_in, wick_value *const *in, int n_out,
                         const wick_type *types, const void *attr, size_t attr_size) {
    /* [node | values | inputs | attributes] in one piece. The sizes come from live objects and cannot overflow. */
    size_t values = sizeof(wick_node) + (size_t)n_out * sizeof(wick_value);
    size_t inputs = values + (size_t)n_in * sizeof(wick_value *);
    size_t at_attr = WICK_ALIGN_UP(inputs, 8), size = at_attr + attr_size;
    if (n_in > UINT16_MAX || n_out > UINT16_MAX || size > UINT32_MAX) return NULL;
    wick_graph *graph = ctx->target;
    wick_node *node = graph ? wick_arena_alloc(graph->arena, size) : wick_slab_alloc(&ctx->slab, size);
    if (!node) {
        if (graph) graph->failed = true;
        return NULL;
    }
    memset(node, 0, sizeof *node);
    node->op = op;
    node->site = wick_site();
    node->segment = graph ? 0 : ctx->segment;
    node->in = (wick_value **)((char *)node + values);
    node->attr = (char *)node + at_attr;
    node->attr_size = (uint32_t)attr_size;
    node->size = (uint32_t)size;
    node->n_in = (uint16_t)n_in;
    node->n_out = (uint16_t)n_out;
    node->refs = 1;
    if (attr_size) memcpy(node->attr, attr, attr_size);
    for (int i = 0; i < n_out; i++) node->out[i] = (wick_value){.node = node, .index = (uint32_t)i, .type = types[i]};
    for (int i = 0; i < n_in; i++) {
        node->in[i] = in[i];
        if (!graph) {
            in[i]->node->refs++;
            in[i]->readers++;
        }
    }
    if (graph) {
        node->flags = WICK_NODE_IN_GRAPH;
        if (!wick_graph_push(graph, node)) return NULL;
    } else {
        ctx->pending += n_in > 0;
        if (n_in) node->position = (uint32_t)ctx->nodes_recorded;
        ctx->nodes_recorded++;
    }
    return node;
}

/* Drops what node holds of its inputs; nodes that nothing needs any more are pushed on *dead. */
static void node_drop_inputs(wick_context *ctx, wick_node *node, wick_node **dead) {
    bool pending = !(node->flags & WICK_NODE_EVALUATED);
    if (pending && node->n_in) ctx->pending--;
    for (int i = 0; i < node->n_in; i++) {
        wick_value *v = node->in[i];
        if (pending) v->readers--;
        if (--v->node->refs == 0) {
            v->node->next = *dead;
            *dead = v->node;
        }
    }
    node->n_in = 0;
}

/* A recorded node owns the arena that its regions lie in. */
static void release_regions(wick_context *ctx, wick_node *node) {
    if (!node->n_regions) return;
    wick_arena *arena = node->regions[0]->arena;
    wick_arena_free(arena);
    wick_release(&ctx->alloc, arena, sizeof *arena);
}

static void node_free_all(wick_context *ctx, wick_node *dead) {
    while (dead) { /* a work list, not recursion: chains may be as long as memory */
        wick_node *node = dead;
        dead = node->next;
        node_drop_inputs(ctx, node, &dead);
        for (int i = 0; i < node->n_out; i++) wick_array_unref(node->out[i].array);
        release_regions(ctx, node);
        wick_slab_release(&ctx->slab, node, node->size);
    }
}

void wick_node_unref(wick_context *ctx, wick_node *node) {
    if (node->flags & WICK_NODE_IN_GRAPH || --node->refs) return;
    node->next = NULL;
    node_free_all(ctx, node);
}

void wick_node_evaluated(wick_context *ctx, wick_node *node) {
    if (node->flags & WICK_NODE_EVALUATED || !node->n_in) return;
    for (int i = 0; i < node->n_in; i++) node->in[i]->readers--;
    ctx->pending--;
    node->flags |= WICK_NODE_EVALUATED;
    node->position = ++ctx->evaluated;
}

void wick_node_forget(wick_context *ctx, wick_node *node) {
    wick_node *dead = NULL;
    node_drop_inputs(ctx, node, &dead);
    node_free_all(ctx, dead);
}

wick_status wick_effect_push(wick_context *ctx, wick_node *node, wick_tensor *state, wick_tensor *view) {
    wick_frame *frame = ctx->frame;
    if (ctx->evaluating)
        return wick_msg_set(
            &ctx->msg, WICK_ERR_INVALID,
            "an effect was recorded while the context is evaluating: in a tap, or in its cancel function");
    if (!wick_grow(&ctx->alloc, (void **)&frame->effects, &frame->cap_effects, frame->n_effects + 1,
                   sizeof *frame->effects))
        return wick_msg_set(&ctx->msg, WICK_ERR_NOMEM, "out of memory recording an effect");
    node->refs++;
    if (view) wick_node_ref(view->value->node);
    frame->effects[frame->n_effects++] =
        (wick_effect){node, wick_retain(state), wick_retain(view), view ? view->value : NULL};
    return WICK_OK;
}

void wick_frame_clear(wick_context *ctx, wick_frame *frame) {
    for (size_t i = 0; i < frame->n_effects; i++) {
        wick_node_unref(ctx, frame->effects[i].node);
        wick_tensor_free(&frame->effects[i].state);
        if (frame->effects[i].view) wick_node_unref(ctx, frame->effects[i].shown->node);
        wick_tensor_free(&frame->effects[i].view);
    }
    frame->n_effects = 0;
}
