/* channels.c: the rule of each op that channels are followed through. What has no rule keeps all of its extents. */
#include "compress/channels.h"

static uint32_t at(const wick_channels *c, const wick_value *v, int axis, int64_t i) {
    return c->base[(size_t)v->id * WICK_MAX_DIMS + (size_t)axis] + (uint32_t)i;
}
static uint32_t root(const wick_channels *c, uint32_t e) {
    while (c->parent[e] != e) e = c->parent[e] = c->parent[c->parent[e]];
    return e;
}
uint32_t wick_channels_class(const wick_channels *c, const wick_value *v, int axis, int64_t i) {
    return root(c, at(c, v, axis, i));
}

static void join(const wick_channels *c, uint32_t a, uint32_t b) {
    a = root(c, a), b = root(c, b);
    if (a == b) return;
    const uint32_t low = a < b ? a : b, high = a < b ? b : a;
    c->parent[high] = low;
    if (!c->pins[low]) c->pins[low] = c->pins[high];
}
static void pin(const wick_channels *c, const wick_value *v, int axis, const char *why) {
    for (int64_t i = 0; i < wick_channels_extent(v, axis); i++) {
        const uint32_t r = wick_channels_class(c, v, axis, i);
        if (!c->pins[r]) c->pins[r] = why;
    }
}
static void pin_all(const wick_channels *c, const wick_value *v, const char *why) {
    for (int d = 0; d < v->type.rank; d++) pin(c, v, d, why);
}
static void pin_node(const wick_channels *c, const wick_node *node) {
    for (int k = 0; k < node->n_in; k++) pin_all(c, node->in[k], node->op->name);
    for (int k = 0; k < node->n_out; k++) pin_all(c, &node->out[k], node->op->name);
}
/* Index by index; axes of different extents stay both. */
static void link(const wick_channels *c, const wick_value *a, int axis, const wick_value *b, int other) {
    const int64_t n = wick_channels_extent(a, axis);
    if (n == wick_channels_extent(b, other)) {
        for (int64_t i = 0; i < n; i++) join(c, at(c, a, axis, i), at(c, b, other, i));
    } else {
        pin(c, a, axis, WICK_FIXED_EXTENT);
        pin(c, b, other, WICK_FIXED_EXTENT);
    }
}
/* All axes but `but`, which stays; -1: all. */
static void link_but(const wick_channels *c, const wick_value *a, const wick_value *b, int but, const char *why) {
    for (int d = 0; d < a->type.rank; d++) {
        if (d != but) {
            link(c, a, d, b, d);
            continue;
        }
        pin(c, a, d, why);
        pin(c, b, d, why);
    }
}

/* Aligned at the last axis; an extent of 1 is spread over the other's. */
static void broadcast(const wick_channels *c, const wick_value *in, const wick_value *out) {
    const int shift = out->type.rank - in->type.rank;
    for (int d = 0; d < in->type.rank; d++)
        if (in->type.dims[d] != 1 || out->type.dims[d + shift] == 1) link(c, in, d, out, d + shift);
}

/* x [N, C, ...], w [O, C / groups, ...], bias [O]; result [N, O, ...]. Groups of one channel each are removed with it.
 * Larger ones all stay, and lose the same place each. */
static void convolution(const wick_channels *c, const wick_node *node) {
    const wick_conv_attr *a = node->attr;
    const wick_value *x = node->in[0], *w = node->in[1], *y = &node->out[0];
    const int64_t in = w->type.dims[1], out = w->type.dims[0], groups = a->groups;
    link(c, x, 0, y, 0);
    link(c, y, 1, w, 0);
    if (node->n_in > 2) link(c, y, 1, node->in[2], 0);
    for (int64_t g = 0; g < groups; g++)
        for (int64_t i = 0; i < in; i++)
            if (in > 1 || groups == 1) join(c, at(c, x, 1, g * in + i), at(c, w, 1, i));
    for (int64_t o = 0; o < out && groups > 1; o++) {
        const int64_t each = out / groups;
        join(c, at(c, w, 0, o), in == 1 ? at(c, x, 1, o / each) : at(c, w, 0, o % each));
    }
    for (int d = 2; d < x->type.rank; d++) {
        pin(c, x, d, WICK_FIXED_EXTENT);
        pin(c, w, d, WICK_FIXED_EXTENT);
        pin(c, y, d, WICK_FIXED_EXTENT);
    }
}

static void product(const wick_channels *c, const wick_node *node) {
    const wick_value *a = node->in[0], *b = node->in[1], *y = &node->out[0];
    const int ra = a->type.rank, rb = b->type.rank, ry = y->type.rank;
    link(c, a, ra - 1, b, rb - 2);
    link(c, a, ra - 2, y, ry - 2);
    link(c, b, rb - 1, y, ry - 1);
    for (int k = 0; k < 2; k++) /* leading axes */
        for (int d = 0; d < node->in[k]->type.rank - 2; d++) {
            const int to = d + ry - node->in[k]->type.rank;
            if (node->in[k]->type.dims[d] != 1 || y->type.dims[to] == 1) link(c, node->in[k], d, y, to);
        }
}

/* `whole` is the axes [from, to) of `parts`, one behind the other: one of these can have channels. It is the first that
 * has some, such as C of [C, H, W] when they are flattened, or heads when [heads * D] is split. */
static void split(const wick_channels *c, const wick_value *whole, int axis, const wick_value *parts, int from,
                  int to) {
    int which = -1;
    int64_t inner = 1, outer = 1;
    for (int d = from; d < to; d++) {
        bool has = false;
        for (int64_t i = 0; parts->type.dims[d] > 1 && i < parts->type.dims[d]; i++)
            has = has || !c->pins[wick_channels_class(c, parts, d, i)];
        if (has && which < 0)
            which = d;
        else
            pin(c, parts, d, WICK_FIXED_EXTENT);
    }
    if (which < 0) {
        pin(c, whole, axis, WICK_FIXED_EXTENT);
        return;
    }
    for (int d = from; d < to; d++) *(d < which ? &outer : &inner) *= d == which ? 1 : parts->type.dims[d];
    for (int64_t o = 0; o < outer; o++)
        for (int64_t j = 0; j < parts->type.dims[which]; j++)
            for (int64_t i = 0; i < inner; i++)
                join(c, at(c, whole, axis, (o * parts->type.dims[which] + j) * inner + i), at(c, parts, which, j));
}
static void reshape(const wick_channels *c, const wick_node *node) {
    const wick_value *x = node->in[0], *y = &node->out[0];
    const wick_type *a = &x->type, *b = &y->type;
    for (int i = 0, k = 0; i < a->rank || k < b->rank;) {
        if (i < a->rank && k < b->rank && a->dims[i] == b->dims[k]) {
            link(c, x, i++, y, k++);
            continue;
        }
        const int i0 = i, k0 = k;
        int64_t ni = i < a->rank ? a->dims[i++] : 1, nk = k < b->rank ? b->dims[k++] : 1;
        while (ni != nk && ni > 0 && nk > 0) {
            if (ni < nk && i < a->rank)
                ni *= a->dims[i++];
            else if (ni > nk && k < b->rank)
                nk *= b->dims[k++];
            else
                break;
        }
        if (ni != nk || ni < 1) {
            pin_node(c, node);
            return;
        }
        int one = 0, other = 0, of_x = i0, of_y = k0; /* axes of more than one place */
        for (int d = i0; d < i; d++)
            if (a->dims[d] != 1) one++, of_x = d;
        for (int d = k0; d < k; d++)
            if (b->dims[d] != 1) other++, of_y = d;
        if (one == 1 && other == 1)
            link(c, x, of_x, y, of_y);
        else if (one == 1)
            split(c, x, of_x, y, k0, k);
        else if (other == 1)
            split(c, y, of_y, x, i0, i);
        else if (one || other) {
            for (int d = i0; d < i; d++) pin(c, x, d, node->op->name);
            for (int d = k0; d < k; d++) pin(c, y, d, node->op->name);
        }
    }
}

static void slice(const wick_channels *c, const wick_node *node) {
    const slice_attr *a = node->attr;
    const wick_value *x = node->in[0], *y = &node->out[0];
    const int axis = (int)a->axis;
    const int64_t n = wick_channels_extent(y, axis), of = wick_channels_extent(x, axis);
    for (int d = 0; d < x->type.rank; d++)
        if (d != axis) link(c, x, d, y, d);
    if (a->step != 1 || a->start < 0 || a->start + n > of) {
        pin(c, x, axis, node->op->name);
        pin(c, y, axis, node->op->name);
        return;
    }
    for (int64_t i = 0; i < n; i++) join(c, at(c, x, axis, a->start + i), at(c, y, axis, i));
}

static void concat(const wick_channels *c, const wick_node *node) {
    const int axis = (int)((const axis_attr *)node->attr)->axis;
    const wick_value *y = &node->out[0];
    int64_t from = 0;
    for (int k = 0; k < node->n_in; k++) {
        const wick_value *x = node->in[k];
        for (int d = 0; d < x->type.rank; d++)
            if (d != axis) link(c, x, d, y, d);
        const int64_t n = wick_channels_extent(x, axis);
        for (int64_t i = 0; i < n && from + n <= wick_channels_extent(y, axis); i++)
            join(c, at(c, x, axis, i), at(c, y, axis, from + i));
        if (!n || from + n > wick_channels_extent(y, axis)) pin(c, x, axis, node->op->name);
        from += n;
    }
    if (from != wick_channels_extent(y, axis)) pin(c, y, axis, node->op->name);
}

static void reduction(const wick_channels *c, const wick_node *node) {
    const wick_reduce_attr *a = node->attr;
    for (int d = 0, to = 0; d < node->in[0]->type.rank; d++) {
        const bool reduced = a->axes >> d & 1;
        if (reduced)
            pin(c, node->in[0], d, node->op->name);
        else
            link(c, node->in[0], d, &node->out[0], to);
        to += !reduced || a->keepdims;
    }
}

/* Heads are the second axis of queries, keys, values and of what comes out, if there are as many of each. */
static void attention(const wick_channels *c, const wick_node *node) {
    const wick_value *y = &node->out[0];
    for (int k = 0; k < node->n_in; k++)
        for (int d = 0; d < node->in[k]->type.rank; d++) {
            if (k < 3 && d < 2 && node->in[k]->type.rank == 4 && y->type.rank == 4)
                link(c, node->in[k], d, y, d);
            else
                pin(c, node->in[k], d, node->op->name);
        }
    for (int k = 0; k < node->n_out; k++)
        for (int d = k ? 0 : 2; d < node->out[k].type.rank; d++) pin(c, &node->out[k], d, node->op->name);
}

/* x [..., V, ...] at places of an index. */
static void gather(const wick_channels *c, const wick_node *node) {
    const int axis = (int)((const axis_attr *)node->attr)->axis, more = node->in[1]->type.rank - 1;
    const wick_value *x = node->in[0], *y = &node->out[0];
    pin_all(c, node->in[1], node->op->name);
    for (int d = 0; d < x->type.rank; d++) {
        if (d == axis)
            pin(c, x, d, node->op->name);
        else
            link(c, x, d, y, d < axis ? d : d + more);
    }
    for (int d = axis; d <= axis + more; d++) pin(c, y, d, node->op->name);
}

/* Units of a recurrent layer: weights [D, gates H, H], vectors [D, n H], sequences [., ., n H] and states [D, B, H]
 * have them innermost, so that index i is of unit i mod H; both directions lose the same ones. */
static void recurrent(const wick_channels *c, const wick_node *node) {
    const wick_value *w = node->in[1];
    const int64_t units = wick_channels_extent(w, 2);
    for (int k = 0; k < node->n_in + node->n_out; k++) {
        const wick_value *v = k < node->n_in ? node->in[k] : &node->out[k - node->n_in];
        for (int d = 0; d < v->type.rank; d++) {
            const int64_t n = wick_channels_extent(v, d);
            const bool has = d > 0 && (d == v->type.rank - 1 || v == w) && v->type.rank > 1;
            if (!has || !units || n % units) {
                pin(c, v, d, WICK_FIXED_EXTENT);
                continue;
            }
            for (int64_t i = 0; i < n; i++) join(c, at(c, v, d, i), at(c, w, 2, i % units));
        }
    }
}

static void follow(const wick_channels *c, const wick_node *node) {
    const wick_op *op = node->op;
    const wick_value *x = node->n_in ? node->in[0] : NULL, *y = &node->out[0];
    const int last = y->type.rank - 1;
    if (op == &wick_op_input) {
        pin_all(c, y, "input");
    } else if (op == &wick_op_data || op == &wick_op_constant || op == &wick_op_slot) {
        if (wick_dtype_is_packed((wick_dtype)y->type.dtype)) pin_all(c, y, "packed");
    } else if (op->flags & WICK_OP_ELEMENTWISE || op == &wick_op_expand) {
        for (int k = 0; k < node->n_in; k++) broadcast(c, node->in[k], y);
    } else if (op == &wick_op_conv) {
        convolution(c, node);
    } else if (op == &wick_op_matmul && node->n_in == 2) {
        product(c, node);
    } else if (op == &wick_op_reshape) {
        reshape(c, node);
    } else if (op == &wick_op_permute) {
        for (int d = 0; d < y->type.rank; d++) link(c, x, (int)((const permute_attr *)node->attr)->axes[d], y, d);
    } else if (op == &wick_op_slice) {
        slice(c, node);
    } else if (op == &wick_op_concat) {
        concat(c, node);
    } else if (op->flags & WICK_OP_REDUCE) {
        reduction(c, node);
    } else if (op == &wick_op_max_pool || op == &wick_op_avg_pool) {
        for (int d = 0; d < y->type.rank; d++) {
            if (d < y->type.rank - (int)((const pool_attr *)node->attr)->rank)
                link(c, x, d, y, d);
            else
                pin(c, x, d, WICK_FIXED_EXTENT), pin(c, y, d, WICK_FIXED_EXTENT);
        }
    } else if (op == &wick_op_softmax || op == &wick_op_log_softmax) {
        link_but(c, x, y, last, op->name); /* both are of the last axis */
    } else if ((op == &wick_op_layer_norm || op == &wick_op_rms_norm) && node->n_in == 1) {
        link_but(c, x, y, last, op->name);
    } else if (op == &wick_op_resample) {
        link_but(c, x, y, (int)((const resample_attr *)node->attr)->axis, WICK_FIXED_EXTENT);
    } else if (op == &wick_op_stop_gradient) {
        link_but(c, x, y, -1, NULL);
    } else if (op == &wick_op_gather) {
        gather(c, node);
    } else if (op == &wick_op_attention) {
        attention(c, node);
    } else if (op == &wick_op_lstm || op == &wick_op_gru || op == &wick_op_rnn) {
        recurrent(c, node);
    } else {
        pin_node(c, node);
    }
}

wick_status wick_channels_find(wick_channels *c, wick_context *ctx, wick_function fn, void *user, int n_in,
                               wick_tensor *const *in, int n_out) {
    *c = (wick_channels){0};
    WICK_TRY(wick_subject_record(&c->s, ctx, "pruner", fn, user, n_in, in, n_out, false));
    const wick_graph *graph = c->s.graph;
    c->base = wick_arena_zalloc(&c->s.arena, ((size_t)c->s.n_values + 1) * WICK_MAX_DIMS * sizeof *c->base);
    int64_t n = 0;
    for (size_t i = 0; i < graph->n && c->base; i++)
        for (int k = 0; k < graph->nodes[i]->n_out; k++)
            for (int d = 0; d < graph->nodes[i]->out[k].type.rank; d++) {
                c->base[(size_t)graph->nodes[i]->out[k].id * WICK_MAX_DIMS + (size_t)d] = (uint32_t)n;
                n += wick_channels_extent(&graph->nodes[i]->out[k], d);
                if (n > INT32_MAX)
                    return wick_msg_set(&ctx->msg, WICK_ERR_UNSUPPORTED,
                                        "pruner: the function's extents are too large");
            }
    c->n = (uint32_t)n;
    c->parent = c->base ? wick_arena_alloc(&c->s.arena, ((size_t)n + 1) * sizeof *c->parent) : NULL;
    c->pins = c->parent ? wick_arena_zalloc(&c->s.arena, ((size_t)n + 1) * sizeof *c->pins) : NULL;
    if (!c->pins) return wick_msg_set(&ctx->msg, WICK_ERR_NOMEM, "out of memory");
    for (uint32_t e = 0; e < c->n; e++) c->parent[e] = e;
    for (size_t i = 0; i < graph->n; i++)
        for (int k = 0; k < graph->nodes[i]->n_out; k++)
            for (int d = 0; d < graph->nodes[i]->out[k].type.rank; d++)
                if (graph->nodes[i]->out[k].type.dims[d] == 1) pin(c, &graph->nodes[i]->out[k], d, WICK_FIXED_EXTENT);
    for (size_t i = 0; i < graph->n; i++) follow(c, graph->nodes[i]);
    for (int i = 0; i < n_out; i++) pin_all(c, graph->outputs[i], "output");
    return WICK_OK;
}
