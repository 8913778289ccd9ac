/* lower_graph.c: walks a scheduled graph and has every op emit its kernels; decides where each value lies. */
#include "graph/graph.h"

/* Results that are views, leaves or already written elsewhere are copied to their own buffer as soon as they exist:
 * leaves before any state is overwritten. */
typedef struct late_copy {
    wick_operand from;
    int32_t result;
} late_copy;

static wick_status output_operand(wick_lower *l, int r, wick_operand *out) {
    const wick_value *v = l->results[r].value;
    *out = (wick_operand){.type = &v->type};
    uint32_t id;
    WICK_TRY(wick_lower_temp(l, wick_type_bytes(&v->type), &id));
    l->buffers[id].kind = l->results[r].leaf >= 0 ? WICK_BUFFER_LEAF : WICK_BUFFER_OUTPUT;
    l->buffers[id].index = (uint32_t)(l->results[r].leaf >= 0 ? l->results[r].leaf : r);
    out->buffer = id;
    wick_layout_contiguous(&out->layout, &v->type);
    return WICK_OK;
}

/* A view of a whole value in another order, which is that of the result: what computes the value may as well write it
 * there. Nobody writes over it since, as results stay until the end. */
static bool becomes_result(wick_lower *l, const wick_operand *at, int r) {
    wick_buffer *b = &l->buffers[at->buffer];
    const bool whole = at->layout.offset == 0 && wick_layout_is_contiguous(&at->layout, at->type) &&
                       b->size == wick_type_bytes(at->type);
    if (b->kind != WICK_BUFFER_TEMP || b->first < 0 || !whole) return false;
    b->kind = WICK_BUFFER_OUTPUT;
    b->index = (uint32_t)r;
    return true;
}

static bool lies_in_leaf(const wick_lower *l, const wick_operand *at, int32_t leaf) {
    const wick_buffer *b = &l->buffers[at->buffer];
    return b->kind == WICK_BUFFER_LEAF && b->index == (uint32_t)leaf;
}

/* After node's results exist: moves those that are results of the plan to where they belong. */
static wick_status settle_results(wick_lower *l, wick_node *node, late_copy *late, int *n_late) {
    for (int k = 0; k < node->n_out; k++) {
        const wick_value *v = &node->out[k];
        for (int r = l->result[v->id]; r >= 0 && r < l->n_results; r++) {
            if (l->results[r].value != v) continue;
            wick_operand at = l->operands[v->id], out;
            const wick_buffer *b = &l->buffers[at.buffer];
            if (l->results[r].leaf < 0) {
                if (b->kind == WICK_BUFFER_OUTPUT && b->index == (uint32_t)r) continue; /* written in place */
                if (node->op->flags & WICK_OP_VIEW && becomes_result(l, &at, r)) continue;
                WICK_TRY(output_operand(l, r, &out));
                WICK_TRY(wick_lower_copy(l, &at, &out));
                continue;
            }
            /* there already */
            if (lies_in_leaf(l, &at, l->results[r].leaf) && wick_layout_is_contiguous(&at.layout, at.type) &&
                at.layout.offset == 0)
                continue;
            if (b->kind == WICK_BUFFER_LEAF) { /* another state's (or its own old) memory: read it before it changes */
                wick_operand kept = at;
                WICK_TRY(wick_lower_temp(l, wick_type_bytes(at.type), &kept.buffer));
                wick_layout_contiguous(&kept.layout, at.type);
                WICK_TRY(wick_lower_copy(l, &at, &kept));
                at = kept;
            }
            late[(*n_late)++] = (late_copy){at, r};
        }
    }
    return WICK_OK;
}

static wick_status lower_leaf(wick_lower *l, wick_node *node, const wick_layout *leaf_layouts) {
    wick_buffer b = {.first = -1, .last = -1, .size = wick_type_bytes(&node->out[0].type)};
    wick_operand at = {.type = &node->out[0].type};
    wick_layout_contiguous(&at.layout, at.type);
    if (node->op == &wick_op_constant) {
        b.kind = WICK_BUFFER_CONST;
        b.data = &((const wick_constant_attr *)node->attr)->bits;
    } else if (node->op == &wick_op_slot) {
        b.kind = WICK_BUFFER_SLOT;
        b.index = (uint32_t)node->slot[0];
    } else {
        b.kind = WICK_BUFFER_LEAF;
        b.index = (uint32_t)node->slot[0];
        at.layout = leaf_layouts[b.index];
    }
    WICK_TRY(wick_lower_temp(l, b.size, &at.buffer));
    l->buffers[at.buffer] = b;
    l->operands[node->out[0].id] = at;
    return WICK_OK;
}

static wick_status lower_view(wick_lower *l, wick_node *node) {
    wick_operand in = wick_lower_in(l, node, 0), out = in;
    if (!node->op->view(node, &in.layout, &out.layout)) { /* the strides leave no other way */
        WICK_TRY(wick_lower_in_contiguous(l, node, 0, &in));
        out = in;
        node->op->view(node, &in.layout, &out.layout);
    }
    wick_lower_set(l, node, 0, out);
    return WICK_OK;
}

/* Values of regions are numbered after those of the graph. */
static uint32_t number_regions(wick_graph *g, uint32_t n) {
    for (size_t i = 0; i < g->n; i++) {
        const wick_node *node = g->nodes[i];
        for (int r = 0; r < node->n_regions && node->op != &wick_op_fused; r++) {
            wick_graph *region = node->regions[r];
            for (size_t k = 0; k < region->n; k++) {
                region->nodes[k]->position = (uint32_t)k;
                for (int v = 0; v < region->nodes[k]->n_out; v++) region->nodes[k]->out[v].id = n++;
            }
            n = number_regions(region, n);
        }
    }
    return n;
}

/* Fills root and last_use for the values of a graph. What a region is given, and what it gives, is never overwritten in
 * it. */
static void find_last_uses(wick_lower *l, const wick_graph *g, bool region) {
    for (size_t i = 0; i < g->n; i++) {
        const wick_node *n = g->nodes[i];
        for (int k = 0; k < n->n_out; k++)
            l->root[n->out[k].id] = n->op->flags & WICK_OP_VIEW && n->n_in ? l->root[n->in[0]->id] : n->out[k].id;
        for (int k = 0; k < n->n_in; k++) {
            uint32_t *last = &l->last_use[l->root[n->in[k]->id]];
            if (*last != UINT32_MAX) *last = (uint32_t)i;
        }
        if (region && n->op == &wick_op_input) l->last_use[n->out[0].id] = UINT32_MAX;
    }
    /* results stay until the end */
    for (int r = 0; r < g->n_outputs; r++) l->last_use[l->root[g->outputs[r]->id]] = UINT32_MAX;
}

static wick_status lower_node(wick_lower *l, wick_node *n, const wick_layout *leaf_layouts) {
    if (n->op->flags & WICK_OP_LEAF) return lower_leaf(l, n, leaf_layouts);
    if (n->op->flags & WICK_OP_VIEW) return lower_view(l, n);
    if (!n->op->lower) return wick_lower_fail(l, WICK_ERR_INTERNAL, "has no kernel");
    if (n->op->flags & WICK_OP_RANDOM) { /* its run-time numbers */
        WICK_TRY(wick_lower_temp(l, 16, &l->operands[n->out[0].id].buffer));
        wick_buffer *b = &l->buffers[l->operands[n->out[0].id].buffer];
        b->kind = WICK_BUFFER_SLOT;
        b->index = (uint32_t)n->slot[0];
    }
    return n->op->lower(l, n);
}

wick_status wick_lower_region(wick_lower *l, wick_graph *region, const wick_operand *params, wick_operand *results) {
    find_last_uses(l, region, true);
    for (size_t i = 0; i < region->n; i++) {
        wick_node *n = region->nodes[i];
        l->node = n;
        if (n->op != &wick_op_input) {
            WICK_TRY(lower_node(l, n, NULL));
            continue;
        }
        l->operands[n->out[0].id] = params[n->slot[0]];
        l->operands[n->out[0].id].type = &n->out[0].type;
    }
    for (int k = 0; k < region->n_outputs; k++) results[k] = l->operands[region->outputs[k]->id];
    return WICK_OK;
}

wick_status wick_lower_graph(wick_lower *l, const wick_layout *leaf_layouts) {
    wick_graph *g = l->graph;
    uint32_t values = number_regions(g, wick_graph_number(g));
    l->operands = wick_arena_zalloc(l->arena, (values + 1) * sizeof *l->operands);
    l->last_use = wick_arena_zalloc(l->arena, (values + 1) * sizeof *l->last_use);
    l->root = wick_arena_zalloc(l->arena, (values + 1) * sizeof *l->root);
    l->result = wick_arena_zalloc(l->arena, (values + 1) * sizeof *l->result);
    l->results = wick_arena_zalloc(l->arena, (size_t)(g->n_outputs + 1) * sizeof *l->results);
    late_copy *late = wick_arena_alloc(l->arena, (size_t)(g->n_outputs + 1) * sizeof *late);
    int n_late = 0;
    if (!l->operands || !l->last_use || !l->root || !l->result || !l->results || !late)
        return wick_lower_fail(l, WICK_ERR_NOMEM, "out of memory while planning");
    for (uint32_t i = 0; i < values; i++) l->result[i] = -1;
    l->n_results = g->n_outputs;
    for (int r = g->n_outputs; r-- > 0;) {
        l->results[r] = (wick_result){g->outputs[r], g->output_leaf ? g->output_leaf[r] : -1};
        l->result[g->outputs[r]->id] = r;
    }
    find_last_uses(l, g, false);

    for (size_t i = 0; i < g->n; i++) {
        wick_node *n = g->nodes[i];
        l->node = n;
        WICK_TRY(lower_node(l, n, leaf_layouts));
        WICK_TRY(settle_results(l, n, late, &n_late));
    }
    for (int i = 0; i < n_late; i++) {
        wick_operand out;
        l->node = l->results[late[i].result].value->node;
        WICK_TRY(output_operand(l, late[i].result, &out));
        WICK_TRY(wick_lower_copy(l, &late[i].from, &out));
    }
    return WICK_OK;
}
