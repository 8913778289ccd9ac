/* shrunk.c: what a function records, recorded again without the channels that are removed. */
#define WICK_NO_SITES
#include "compress/pruner.h"
#include "wick/ops.h"
#include "wick/pointwise.h"
#include "wick/reduce.h"
#include "wick/shape.h"

typedef struct shrinking {
    wick_pruner *p;
    wick_channels c;
    bool *removed;      /* by root of a class */
    wick_tensor **made; /* by value */
    bool statistics;    /* batch norms take those of the batch */
    wick_tensor **out;  /* statistics: mean and variance of each batch norm */
} shrinking;

int64_t wick_pruner_left(const wick_pruner *p, const int32_t *classes, int64_t n) {
    int64_t left = 0;
    for (int64_t i = 0; i < n; i++) left += !classes || classes[i] == NO_CLASS || !p->classes[classes[i]].removed;
    return left;
}

int wick_pruner_state_of(const wick_pruner *p, const wick_subject *s, const wick_value *v) {
    if (v->node->op != &wick_op_data) return -1;
    for (int i = 0; i < p->n_states; i++)
        if (s->leaf[v->node->slot[0]]->value == p->states[i].source->value) return i;
    return -1;
}
int wick_pruner_state_behind(const wick_pruner *p, const wick_subject *s, const wick_value *v) {
    while (v->node->op == &wick_op_reshape) v = v->node->in[0];
    return wick_pruner_state_of(p, s, v);
}

/* ---- the smaller states ------------------------------------------------------------------------------------------ */

/* Copies what is left of axis and those behind it; returns where it ended. */
static char *copy_left(char *to, const char *from, const wick_type *t, const bool *const *kept, int axis, size_t bytes,
                       size_t elem) {
    if (axis == t->rank) {
        memcpy(to, from, elem);
        return to + elem;
    }
    const size_t part = bytes / (size_t)t->dims[axis];
    for (int64_t i = 0; i < t->dims[axis]; i++)
        if (!kept[axis] || kept[axis][i]) to = copy_left(to, from + (size_t)i * part, t, kept, axis + 1, part, elem);
    return to;
}
/* A tensor of what is left of one. */
static wick_status copy_of(wick_pruner *p, wick_tensor *source, const bool *const *kept, wick_tensor **out) {
    const wick_type *t = &source->value->type;
    int64_t dims[WICK_MAX_DIMS] = {0};
    const void *data;
    bool some = true;
    for (int d = 0; d < t->rank; d++) {
        dims[d] = t->dims[d];
        if (kept[d]) dims[d] = 0;
        for (int64_t i = 0; kept[d] && i < t->dims[d]; i++) dims[d] += kept[d][i];
        some = some && t->dims[d] > 0;
    }
    WICK_TRY(wick_data(source, &data));
    const size_t bytes = wick_type_bytes(t);
    char *left = wick_alloc(&p->ctx->alloc, bytes + 1);
    if (!left) return pruner_out_of_memory(p->ctx);
    if (wick_dtype_is_packed((wick_dtype)t->dtype) || !some)
        memcpy(left, data, bytes);
    else
        copy_left(left, data, t, kept, 0, bytes, wick_dtype_size((wick_dtype)t->dtype));
    *out = wick_from(p->ctx, (wick_dtype)t->dtype, t->rank, dims, left);
    wick_release(&p->ctx->alloc, left, bytes + 1);
    return (*out)->error ? wick_fail_poison(p->ctx, *out) : WICK_OK;
}

wick_status wick_pruner_make_model(wick_pruner *p) {
    wick_model_free(&p->model);
    for (int i = 0; i < p->n_states; i++) p->states[i].copy = NULL, p->states[i].low_rank = 0;
    wick_scope *scope = wick_scope_open(p->ctx);
    wick_status status = scope ? wick_model_new(p->ctx, &p->model) : pruner_out_of_memory(p->ctx);
    for (int i = 0; i < p->n_states && status == WICK_OK; i++) {
        pruned_state *s = &p->states[i];
        const wick_named named = wick_model_at(p->source, s->number);
        wick_arena scratch;
        wick_arena_init(&scratch, &p->ctx->alloc, 0);
        bool *kept[WICK_MAX_DIMS] = {0};
        const wick_type *t = &s->source->value->type;
        for (int d = 0; d < t->rank && status == WICK_OK; d++) {
            if (!s->classes[d]) continue;
            kept[d] = wick_arena_alloc(&scratch, (size_t)t->dims[d] + 1);
            if (!kept[d]) status = pruner_out_of_memory(p->ctx);
            for (int64_t k = 0; kept[d] && k < t->dims[d]; k++)
                kept[d][k] = s->classes[d][k] == NO_CLASS || !p->classes[s->classes[d][k]].removed;
        }
        wick_tensor *copy = NULL;
        if (status == WICK_OK) status = copy_of(p, s->source, (const bool *const *)kept, &copy);
        if (status == WICK_OK && (p->energy > 0 || p->budget > 0)) status = wick_pruner_factor(p, s, copy, named.name);
        if (status == WICK_OK && !s->low_rank) {
            status = wick_model_adopt(p->model, named.name, named.role, copy);
            s->copy = wick_model_find(p->model, named.name);
        }
        wick_arena_free(&scratch);
    }
    wick_scope_close(&scope);
    if (status == WICK_OK)
        wick_model_set_training(p->model, false);
    else
        wick_model_free(&p->model);
    return status;
}

/* ---- recording --------------------------------------------------------------------------------------------------- */

static bool is_kept(const shrinking *s, const wick_value *v, int axis, int64_t i) {
    return !s->removed[wick_channels_class(&s->c, v, axis, i)];
}
/* How many of the first n indices of an axis are left; n < 0: of all. A symbol stays, as does a part of it. */
static int64_t left_of(const shrinking *s, const wick_value *v, int axis, int64_t n) {
    const int64_t extent = v->type.dims[axis];
    int64_t left = 0;
    if (extent < 0) return n < 0 ? extent : n;
    for (int64_t i = 0; i < (n < 0 || n > extent ? extent : n); i++) left += is_kept(s, v, axis, i);
    return left;
}
static void shrink_type(const shrinking *s, const wick_value *v, wick_type *type) {
    for (int d = 0; d < v->type.rank; d++) {
        const int64_t left = left_of(s, v, d, -1);
        if (left != v->type.dims[d]) type->dims[d] = left;
    }
}

/* Attributes that have extents of channels in them. */
static void shrink_attr(const shrinking *s, const wick_node *node, void *attr) {
    const wick_value *y = &node->out[0];
    if (node->op == &wick_op_reshape || node->op == &wick_op_expand) {
        shrink_type(s, y, &((shape_attr *)attr)->type);
    } else if (node->op == &wick_op_constant) {
        shrink_type(s, y, &((wick_constant_attr *)attr)->type);
    } else if (node->op == &wick_op_slice) {
        slice_attr *a = attr;
        const int64_t start =
            a->start >= 0 && a->step == 1 ? left_of(s, node->in[0], (int)a->axis, a->start) : a->start;
        const int64_t count = left_of(s, y, (int)a->axis, -1);
        if (start != a->start || count != y->type.dims[a->axis]) a->start = start, a->count = count;
    } else if (node->op == &wick_op_conv) {
        wick_conv_attr *a = attr;
        if (a->groups > 1 && node->in[1]->type.dims[1] == 1) a->groups = left_of(s, node->in[0], 1, -1);
    }
}

static wick_status shrink_leaf(shrinking *s, const wick_node *node, wick_tensor **out) {
    const wick_value *v = &node->out[0];
    const int state = wick_pruner_state_of(s->p, &s->c.s, v);
    *out = s->c.s.leaf[node->slot[0]];
    if (state >= 0) {
        *out = s->p->states[state].copy;
        return WICK_OK;
    }
    bool *kept[WICK_MAX_DIMS] = {0}, any = false;
    for (int d = 0; d < v->type.rank && node->op == &wick_op_data; d++) {
        if (left_of(s, v, d, -1) == v->type.dims[d]) continue;
        any = true;
        kept[d] = wick_arena_alloc(&s->c.s.arena, (size_t)v->type.dims[d] + 1);
        if (!kept[d]) return pruner_out_of_memory(s->p->ctx);
        for (int64_t i = 0; i < v->type.dims[d]; i++) kept[d][i] = is_kept(s, v, d, i);
    }
    return any ? copy_of(s->p, *out, (const bool *const *)kept, out) : WICK_OK;
}

/* What a fixed value is where the batch norm's variance is `var`: rsqrt(var + eps) weight. */
static wick_tensor *with_variance(const shrinking *s, const wick_value *v, int state, wick_tensor *var, int depth) {
    const wick_node *node = v->node;
    wick_tensor *in[4];
    if (wick_pruner_state_behind(s->p, &s->c.s, v) == state) return var;
    if (depth > 8 || node->n_in > 4 || !node->n_in || !(node->op->flags & WICK_OP_ELEMENTWISE)) return s->made[v->id];
    for (int k = 0; k < node->n_in; k++) in[k] = with_variance(s, node->in[k], state, var, depth + 1);
    return wick_record(NULL, node->op, node->n_in, in, node->attr, node->attr_size);
}
int wick_pruner_norm_at(const wick_pruner *p, const wick_subject *s, const wick_node *node) {
    if (!(node->op->flags & WICK_OP_ELEMENTWISE) || node->op->ew != WICK_EW_sub || node->out[0].type.rank < 2 ||
        s->fixed[node->in[0]->id])
        return -1;
    const int mean = wick_pruner_state_behind(p, s, node->in[1]);
    for (int i = 0; i < p->n_norms; i++)
        if (p->norms[i].mean == mean) return i;
    return -1;
}

/* Statistics of the batch in place of those of the states, for what takes a mean off and what multiplies it behind. */
static wick_status take_statistics(shrinking *s, const wick_node *node, wick_tensor **in) {
    const int norm = wick_pruner_norm_at(s->p, &s->c.s, node);
    if (norm >= 0) {
        int axes[WICK_MAX_DIMS], n = 0;
        wick_tensor *x = in[0];
        int64_t count = 1;
        for (int d = 0; d < wick_tensor_rank(x); d++)
            if (d != 1) axes[n++] = d, count *= wick_tensor_dim(x, d);
        in[1] = s->out[2 * norm] = wick_mean(x, n, axes, true);
        s->out[2 * norm + 1] = wick_var(x, n, axes, 0, true);
        if (count < 2)
            return wick_msg_set(&s->p->ctx->msg, WICK_ERR_SHAPE,
                                "pruner: statistics need more than one value of each channel");
    } else if (node->op->flags & WICK_OP_ELEMENTWISE && node->op->ew == WICK_EW_mul) {
        const int of = wick_pruner_norm_at(s->p, &s->c.s, node->in[0]->node);
        if (of >= 0) in[1] = with_variance(s, node->in[1], s->p->norms[of].var, s->out[2 * of + 1], 0);
    }
    return WICK_OK;
}

static wick_status shrink_node(shrinking *s, const wick_node *node) {
    wick_context *ctx = s->p->ctx;
    wick_arena *arena = &s->c.s.arena;
    wick_tensor **in = wick_arena_alloc(arena, ((size_t)node->n_in + node->n_out + 1) * sizeof(wick_tensor *));
    void *attr = wick_arena_alloc(arena, node->attr_size + 1);
    if (!in || !attr) return pruner_out_of_memory(ctx);
    wick_tensor **out = in + node->n_in;
    for (int k = 0; k < node->n_in; k++) in[k] = s->made[node->in[k]->id];
    /* weights of low rank are not made: what reads them makes two products */
    const wick_value *w = node->op == &wick_op_data ? &node->out[0] : node->n_in > 1 ? node->in[1] : NULL;
    const bool turned = node->op == &wick_op_permute || (w && w->node->op == &wick_op_permute);
    if (w && w->node->op == &wick_op_permute) w = w->node->in[0];
    if (node->op == &wick_op_permute) w = node->in[0];
    const int state = w ? wick_pruner_state_of(s->p, &s->c.s, w) : -1;
    const bool factored = state >= 0 && s->p->states[state].low_rank;
    if (factored && (node->op == &wick_op_data || node->op == &wick_op_permute)) return WICK_OK;
    if (s->statistics) WICK_TRY(take_statistics(s, node, in));
    if (factored) {
        wick_here(node->site);
        out[0] = wick_pruner_factored(&s->p->states[state], node, in, turned);
    } else if (node->op == &wick_op_data || node->op == &wick_op_input) {
        WICK_TRY(shrink_leaf(s, node, out));
    } else if (node->op == &wick_op_slot) {
        wick_constant_attr constant;
        memset(&constant, 0, sizeof constant);
        constant.type = node->out[0].type;
        shrink_type(s, &node->out[0], &constant.type);
        constant.bits = s->c.s.slots[node->slot[0]];
        out[0] = wick_record(ctx, &wick_op_constant, 0, NULL, &constant, sizeof constant);
    } else {
        if (node->attr_size) memcpy(attr, node->attr, node->attr_size);
        shrink_attr(s, node, attr);
        wick_here(node->site);
        wick_record_n(ctx, node->op, node->n_in, in, attr, node->attr_size, node->n_out, out);
    }
    for (int k = 0; k < node->n_out; k++) {
        if (out[k]->error) return wick_fail_poison(ctx, out[k]);
        wick_type expected = node->out[k].type;
        shrink_type(s, &node->out[k], &expected);
        if (!wick_type_equal(&expected, &out[k]->value->type))
            return wick_msg_set(&ctx->msg, WICK_ERR_INTERNAL, "pruner: %s gives %s without the channels",
                                node->op->name, wick_shown_of(out[k]).text);
        s->made[node->out[k].id] = out[k];
    }
    return WICK_OK;
}

/* Classes of the function as it is now recorded, by those of its states. */
static wick_status mark_removed(shrinking *s) {
    wick_arena *arena = &s->c.s.arena;
    s->removed = wick_arena_zalloc(arena, (size_t)s->c.n + 1);
    s->made = wick_arena_zalloc(arena, ((size_t)s->c.s.n_values + 1) * sizeof(wick_tensor *));
    if (!s->removed || !s->made) return pruner_out_of_memory(s->p->ctx);
    const wick_graph *graph = s->c.s.graph;
    for (size_t i = 0; i < graph->n; i++) {
        const wick_value *v = &graph->nodes[i]->out[0];
        const int at = graph->nodes[i]->n_out ? wick_pruner_state_of(s->p, &s->c.s, v) : -1;
        for (int d = 0; at >= 0 && d < v->type.rank; d++)
            for (int64_t k = 0; s->p->states[at].classes[d] && k < v->type.dims[d]; k++) {
                const int32_t class = s->p->states[at].classes[d][k];
                const uint32_t root = wick_channels_class(&s->c, v, d, k);
                if (class == NO_CLASS || !s->p->classes[class].removed) continue;
                if (s->c.pins[root])
                    return wick_msg_set(&s->p->ctx->msg, WICK_ERR_UNSUPPORTED,
                                        "pruner: for inputs of these extents the function uses channels otherwise than "
                                        "where they were removed");
                s->removed[root] = true;
            }
    }
    return WICK_OK;
}

static wick_status record(wick_pruner *p, bool statistics, wick_tensor *const *in, wick_tensor **out) {
    shrinking s = {.p = p, .statistics = statistics, .out = statistics ? out : NULL};
    for (int i = 0; statistics && i < 2 * p->n_norms; i++) out[i] = NULL;
    wick_status status = wick_channels_find(&s.c, p->ctx, p->fn, p->user, p->n_in, in, p->n_out);
    if (status == WICK_OK) status = mark_removed(&s);
    for (size_t i = 0; status == WICK_OK && i < s.c.s.graph->n; i++) status = shrink_node(&s, s.c.s.graph->nodes[i]);
    for (int i = 0; status == WICK_OK && !statistics && i < p->n_out; i++) out[i] = s.made[s.c.s.graph->outputs[i]->id];
    for (int i = 0; status == WICK_OK && statistics && i < 2 * p->n_norms; i++)
        if (!out[i]) status = wick_msg_set(&p->ctx->msg, WICK_ERR_INTERNAL, "pruner: a batch norm is not there");
    wick_subject_free(&s.c.s);
    return status;
}
wick_status wick_pruner_apply(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    wick_pruner *p = user;
    if (p && ctx == p->ctx && p->model && in && out) return record(p, false, in, out);
    return wick_context_fail(ctx, WICK_ERR_INVALID, "pruner: wick_pruner_cut comes before it");
}
wick_status wick_pruner_record_statistics(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx;
    return record(user, true, in, out);
}
