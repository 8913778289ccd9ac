/* walk.c: from recorded values to the part of the recording that they need. Iterative, so a chain of any length is
 * fine; cheap, since a program that records the same graph again and again comes through here each time. */
#include "graph/graph.h"

static bool push_key(wick_context *ctx, wick_walk *w, const void *data, size_t size) {
    if (w->n_key + size + 8 > w->cap_key &&
        !wick_grow(&ctx->alloc, (void **)&w->key, &w->cap_key, w->n_key + size + 8, 1))
        return false;
    memcpy(w->key + w->n_key, data, size);
    w->n_key += size;
    return true;
}

static bool push_ptr(wick_context *ctx, void *list, size_t *cap, size_t *n, void *ptr) {
    void ***array = list;
    if (*n == *cap && !wick_grow(&ctx->alloc, (void **)array, cap, *n + 1, sizeof(void *))) return false;
    (*array)[(*n)++] = ptr;
    return true;
}

/* What the key says of a leaf: its type, and its strides if it is not row-major. */
static bool add_leaf(wick_context *ctx, wick_walk *w, wick_value *v) {
    v->mark = ctx->walk;
    v->id = w->n_values++;
    struct {
        uint64_t tag;
        wick_type type;
    } head = {1, v->type};
    bool dense = !v->array || wick_layout_is_contiguous(&v->array->layout, &v->type);
    if (!dense) head.tag = 2;
    if (!v->array) head.tag = 3;
    if (!push_key(ctx, w, &head, sizeof head)) return false;
    if (!dense && !push_key(ctx, w, v->array->layout.strides, sizeof v->array->layout.strides)) return false;
    return push_ptr(ctx, &w->leaves, &w->cap_leaves, &w->n_leaves, v);
}

static bool is_argument(const wick_value *v) { return v->node->op == &wick_op_input; }

/* A view of a state as it is now. What a function captures as one is read through the state, looked at before or not.
 */
static bool is_live_view(const wick_value *v) {
    if (!(v->node->op->flags & WICK_OP_VIEW)) return false;
    while (v->node->op->flags & WICK_OP_VIEW && v->node->n_in) v = v->node->in[0];
    return !(v->node->op->flags & WICK_OP_VIEW) && v->node->cell && v->node->cell->value == v;
}
static bool is_leaf(const wick_walk *w, const wick_value *v) {
    return is_argument(v) || (v->array && !(w->traced && is_live_view(v)));
}

/* A region's nodes by their numbers in it: what it captures is among the node's inputs. */
static bool push_regions(wick_context *ctx, wick_walk *w, const wick_node *of) {
    for (int r = 0; r < of->n_regions; r++) {
        const wick_graph *g = of->regions[r];
        const uint64_t counts[2] = {g->n, (uint64_t)g->n_outputs};
        if (!push_key(ctx, w, counts, sizeof counts)) return false;
        for (size_t i = 0; i < g->n; i++) {
            const wick_node *node = g->nodes[i];
            struct {
                const wick_op *op;
                uint32_t attr_size;
                uint16_t n_in, n_out;
            } head = {node->op, node->attr_size, node->n_in, node->n_out};
            if (!push_key(ctx, w, &head, sizeof head) || !push_key(ctx, w, node->attr, node->attr_size)) return false;
            for (int k = 0; k < node->n_in; k++)
                if (!push_key(ctx, w, &node->in[k]->id, sizeof node->in[k]->id)) return false;
            if (!push_regions(ctx, w, node)) return false;
        }
        for (int k = 0; k < g->n_outputs; k++)
            if (!push_key(ctx, w, &g->outputs[k]->id, sizeof g->outputs[k]->id)) return false;
    }
    return true;
}

static bool add_node(wick_context *ctx, wick_walk *w, wick_node *node) {
    struct {
        const wick_op *op;
        uint32_t attr_size;
        uint16_t n_in, n_out;
    } head = {node->op, node->attr_size, node->n_in, node->n_out};
    uint32_t ids[64];
    if (node->segment) { /* what is made again for gradients is the plan's affair */
        const uint64_t mark[2] = {(uint64_t)(uintptr_t)&wick_pass_checkpoint, node->segment};
        if (!push_key(ctx, w, mark, sizeof mark)) return false;
    }
    if (!push_key(ctx, w, &head, sizeof head) || !push_key(ctx, w, node->attr, node->attr_size)) return false;
    for (int at = 0; at < node->n_in; at += 64) {
        int n = WICK_MIN(64, node->n_in - at);
        for (int i = 0; i < n; i++) ids[i] = node->in[at + i]->id;
        if (!push_key(ctx, w, ids, (size_t)n * sizeof *ids)) return false;
    }
    if (node->n_regions && !push_regions(ctx, w, node)) return false;
    for (int i = 0; i < node->n_out; i++) {
        wick_value *v = &node->out[i];
        if (v->array && v->mark == ctx->walk) continue; /* a leaf already, under its own number */
        v->id = w->n_values++;
        v->mark = ctx->walk;
    }
    if ((node->op == &wick_op_slot || node->op->flags & WICK_OP_RANDOM) &&
        !push_ptr(ctx, &w->slots, &w->cap_slots, &w->n_slots, node))
        return false;
    return push_ptr(ctx, &w->nodes, &w->cap_nodes, &w->n_nodes, node);
}

static bool visit(wick_context *ctx, wick_walk *w, wick_value *root) {
    if (root->mark == ctx->walk) return true;
    if (is_leaf(w, root)) return add_leaf(ctx, w, root);
    size_t depth = 0;
    wick_node *node = root->node;
    uint32_t next = 0;
    if (node->mark == ctx->walk) return true;
    node->mark = ctx->walk;
    for (;;) {
        if (next < node->n_in) {
            wick_value *v = node->in[next++];
            if (v->mark == ctx->walk) continue;
            if (is_leaf(w, v)) {
                if (!add_leaf(ctx, w, v)) return false;
                continue;
            }
            if (v->node->mark == ctx->walk) continue;
            if (depth == w->cap_stack &&
                !wick_grow(&ctx->alloc, (void **)&w->stack, &w->cap_stack, depth + 1, sizeof *w->stack))
                return false;
            w->stack[depth++] = (wick_walk_item){node, next};
            node = v->node;
            node->mark = ctx->walk;
            next = 0;
            continue;
        }
        if (!add_node(ctx, w, node)) return false;
        if (!depth) return true;
        depth--;
        node = w->stack[depth].node;
        next = w->stack[depth].next;
    }
}

/* Will v be in memory after the run? Results are, and what is assigned: it shares the state's memory. */
static bool is_stored(const wick_context *ctx, const wick_value *v) { return v->array || v->stored == ctx->walk; }

/* Marks the walked nodes that may have to run again after this run: somebody outside of the walk still wants a result
 * that is not stored, or such a node reads one. Readers are counted without those in the walk. */
static void find_awaited(const wick_context *ctx, wick_walk *w) {
    for (size_t i = w->n_nodes; i-- > 0;) {
        wick_node *node = w->nodes[i];
        bool awaited = node->flags & WICK_NODE_AWAITED;
        for (int k = 0; k < node->n_out; k++)
            awaited |= (node->out[k].handles || node->out[k].readers) && !is_stored(ctx, &node->out[k]);
        if (!awaited) continue;
        node->flags |= WICK_NODE_AWAITED;
        for (int k = 0; k < node->n_in; k++)
            if (!is_stored(ctx, node->in[k])) node->in[k]->node->flags |= WICK_NODE_AWAITED;
    }
}

/* A leaf's memory may be taken over only if nobody still wants to read its old value after this run. */
static void keep_sole_leaves(wick_context *ctx, wick_walk *w, size_t n, wick_wanted *wanted) {
    size_t candidates = 0;
    for (size_t i = 0; i < n; i++) {
        wick_value *v = wanted[i].value, *leaf = wanted[i].leaf;
        if (leaf && leaf->mark != ctx->walk && leaf->readers) wanted[i].leaf = NULL;
        candidates += wanted[i].leaf != NULL;
        v->stored = ctx->walk;
        if (v->node->op == &wick_op_assign) v->node->in[1]->stored = ctx->walk;
    }
    if (!candidates) return;
    for (size_t i = 0; i < w->n_nodes; i++)
        for (int k = 0; k < w->nodes[i]->n_in; k++) w->nodes[i]->in[k]->readers--;
    find_awaited(ctx, w);
    for (size_t i = 0; i < w->n_nodes; i++) /* what may run again is a reader like any other */
        for (int k = 0; k < w->nodes[i]->n_in; k++)
            w->nodes[i]->in[k]->readers += (w->nodes[i]->flags & WICK_NODE_AWAITED) != 0;
    for (size_t i = 0; i < n; i++)
        if (wanted[i].leaf && wanted[i].leaf->readers) wanted[i].leaf = NULL;
    for (size_t i = 0; i < w->n_nodes; i++) {
        for (int k = 0; k < w->nodes[i]->n_in; k++)
            w->nodes[i]->in[k]->readers += !(w->nodes[i]->flags & WICK_NODE_AWAITED);
        w->nodes[i]->flags &= (uint8_t)~WICK_NODE_AWAITED;
    }
}

wick_status wick_walk_run(wick_context *ctx, wick_walk *w, size_t n, wick_wanted *wanted, size_t n_effects,
                          wick_node *const *effects, uint64_t flags) {
    w->n_nodes = w->n_leaves = w->n_slots = w->n_key = 0;
    w->n_values = 0;
    w->traced = flags & WICK_WALK_TRACED;
    ctx->walk++;
    bool good = push_key(ctx, w, &flags, sizeof flags) && push_key(ctx, w, &ctx->seed, sizeof ctx->seed);
    for (size_t i = 0; good && w->traced && i < n; i++) good = !wanted[i].leaf || visit(ctx, w, wanted[i].leaf);
    for (size_t i = 0; good && i < n; i++) good = visit(ctx, w, wanted[i].value);
    for (size_t i = 0; good && i < n_effects; i++) good = visit(ctx, w, &effects[i]->out[0]);
    if (good && !w->traced) keep_sole_leaves(ctx, w, n, wanted);
    for (size_t i = 0; good && i < n; i++) {
        bool kept = wanted[i].leaf && wanted[i].leaf->mark == ctx->walk;
        uint32_t ids[2] = {wanted[i].value->id, kept ? wanted[i].leaf->id : UINT32_MAX};
        good = push_key(ctx, w, ids, sizeof ids);
    }
    uint64_t counts[2] = {n, n_effects};
    good = good && push_key(ctx, w, counts, sizeof counts);
    return good ? WICK_OK : wick_msg_set(&ctx->msg, WICK_ERR_NOMEM, "out of memory collecting the graph");
}

void wick_walk_free(wick_context *ctx, wick_walk *w) {
    wick_release(&ctx->alloc, w->nodes, w->cap_nodes * sizeof *w->nodes);
    wick_release(&ctx->alloc, w->leaves, w->cap_leaves * sizeof *w->leaves);
    wick_release(&ctx->alloc, w->slots, w->cap_slots * sizeof *w->slots);
    wick_release(&ctx->alloc, w->stack, w->cap_stack * sizeof *w->stack);
    wick_release(&ctx->alloc, w->key, w->cap_key);
    memset(w, 0, sizeof *w);
}

wick_graph *wick_graph_new(wick_context *ctx, wick_arena *arena) {
    wick_graph *g = wick_arena_zalloc(arena, sizeof *g);
    if (g) *g = (wick_graph){.ctx = ctx, .arena = arena};
    return g;
}

wick_node *wick_graph_copy_node(wick_graph *graph, const wick_node *node, wick_value *const *in) {
    wick_context *ctx = graph->ctx;
    wick_graph *target = ctx->target;
    wick_type small[4], *types = node->n_out <= 4 ? small : wick_arena_alloc(graph->arena, node->n_out * sizeof *types);
    if (!types) return NULL;
    for (int i = 0; i < node->n_out; i++) types[i] = node->out[i].type;
    ctx->target = graph;
    wick_node *copy = wick_node_new(ctx, node->op, node->n_in, in, node->n_out, types, node->attr, node->attr_size);
    ctx->target = target;
    if (!copy) return NULL;
    copy->site = node->site;
    copy->slot[0] = node->slot[0];
    copy->slot[1] = node->slot[1];
    copy->regions = node->regions;
    copy->n_regions = node->n_regions;
    copy->phase = node->phase;
    copy->segment = node->segment;
    copy->flags |= node->flags & (WICK_NODE_BACKWARD | WICK_NODE_RECOMPUTED);
    return copy;
}

static wick_graph *clone_region(wick_graph *into, wick_graph *region) {
    wick_graph *g = wick_graph_new(into->ctx, into->arena);
    wick_value **map = wick_arena_zalloc(into->arena, (wick_graph_number(region) + 1) * sizeof *map);
    if (!g || !map) return NULL;
    g->outputs = wick_arena_alloc(into->arena, (size_t)(region->n_outputs + 1) * sizeof *g->outputs);
    if (!g->outputs) return NULL;
    for (size_t i = 0; i < region->n; i++) {
        const wick_node *node = region->nodes[i];
        wick_value **in = wick_arena_alloc(into->arena, (node->n_in + 1u) * sizeof *in);
        if (!in) return NULL;
        for (int k = 0; k < node->n_in; k++) in[k] = map[node->in[k]->id];
        wick_node *copy = wick_graph_copy_node(g, node, in);
        if (!copy || (copy->n_regions && !wick_graph_clone_regions(g, copy))) return NULL;
        for (int k = 0; k < node->n_out; k++) map[node->out[k].id] = &copy->out[k];
    }
    g->n_outputs = region->n_outputs;
    for (int k = 0; k < region->n_outputs; k++) g->outputs[k] = map[region->outputs[k]->id];
    wick_graph_number(g);
    return g;
}
bool wick_graph_clone_regions(wick_graph *graph, wick_node *node) {
    wick_graph **regions = wick_arena_alloc(graph->arena, node->n_regions * sizeof *regions);
    for (int r = 0; r < node->n_regions && regions; r++)
        if (!(regions[r] = clone_region(graph, node->regions[r]))) return false;
    node->regions = regions;
    return regions != NULL;
}

wick_graph *wick_graph_from_walk(wick_context *ctx, wick_arena *arena, const wick_walk *w, size_t n,
                                 const wick_wanted *wanted) {
    wick_graph *g = wick_graph_new(ctx, arena);
    wick_value **map = wick_arena_zalloc(arena, (w->n_values + 1) * sizeof *map);
    if (!g || !map) return NULL;
    g->outputs = wick_arena_alloc(arena, (n + 1) * sizeof *g->outputs);
    g->output_leaf = wick_arena_alloc(arena, (n + 1) * sizeof *g->output_leaf);
    if (!g->outputs || !g->output_leaf) return NULL;
    g->compiled = w->traced;
    for (size_t i = 0; i < w->n_leaves; i++) {
        wick_value *v = w->leaves[i];
        ctx->target = g;
        wick_node *leaf = wick_node_new(ctx, is_argument(v) ? &wick_op_input : &wick_op_data, 0, NULL, 1, &v->type,
                                        v->node->attr, is_argument(v) ? v->node->attr_size : 0);
        ctx->target = NULL;
        if (!leaf) return NULL;
        leaf->site = v->node->site;
        leaf->slot[0] = i;
        map[v->id] = &leaf->out[0];
    }
    size_t slot = 0;
    for (size_t i = 0; i < w->n_nodes; i++) {
        const wick_node *node = w->nodes[i];
        /* a state's new version is its value; where it goes is said by the outputs */
        if (node->op == &wick_op_assign) {
            map[node->out[0].id] = map[node->in[1]->id];
            continue;
        }
        wick_value *small[64], **in = node->n_in <= 64 ? small : wick_arena_alloc(arena, node->n_in * sizeof *in);
        if (!in) return NULL;
        for (int k = 0; k < node->n_in; k++) in[k] = map[node->in[k]->id];
        wick_node *copy = wick_graph_copy_node(g, node, in);
        if (!copy) return NULL;
        if (copy->n_regions && !wick_graph_clone_regions(g, copy)) return NULL;
        if (slot < w->n_slots && w->slots[slot] == node) copy->slot[0] = slot++;
        copy->slot[1] = i + 1;
        for (int k = 0; k < node->n_out; k++)
            if (!map[node->out[k].id]) map[node->out[k].id] = &copy->out[k];
    }
    g->n_outputs = (int)n;
    for (size_t i = 0; i < n; i++) {
        g->outputs[i] = map[wanted[i].value->id];
        const wick_value *leaf = wanted[i].leaf;
        g->output_leaf[i] = leaf && leaf->mark == ctx->walk ? (int32_t)map[leaf->id]->node->slot[0] : -1;
    }
    return g;
}
