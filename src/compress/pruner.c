/* pruner.c: structural pruning: which channels there are, how much each counts, and which of them go. */
#define WICK_NO_SITES
#include "compress/pruner.h"
#include "exec/exec.h"
#include "wick/loss.h"

#include <math.h>
#include <stdlib.h>

/* ---- what there is ----------------------------------------------------------------------------------------------- */

/* Runs a reading of fn for inputs as the specs say. */
static wick_status read_function(wick_pruner *p, wick_function reading) {
    wick_arena scratch;
    wick_recording recording;
    wick_arena_init(&scratch, &p->ctx->alloc, 0);
    wick_status status = wick_recording_make(p->ctx, reading, p, p->n_in, p->in, p->n_out, &scratch, &recording);
    if (status == WICK_OK) wick_recording_drop(&recording);
    wick_arena_free(&scratch);
    return status;
}

static wick_status note_states(wick_pruner *p, const wick_channels *c) {
    const wick_graph *graph = c->s.graph;
    p->states = wick_arena_zalloc(&p->arena, ((size_t)wick_model_count(p->source) + 1) * sizeof *p->states);
    if (!p->states) return pruner_out_of_memory(p->ctx);
    for (size_t i = 0; i < graph->n; i++) {
        if (graph->nodes[i]->op != &wick_op_data) continue;
        const wick_value *leaf = c->s.leaf[graph->nodes[i]->slot[0]]->value;
        for (int k = 0; k < wick_model_count(p->source); k++) {
            const wick_named state = wick_model_at(p->source, k);
            if (state.tensor->value != leaf || wick_pruner_state_of(p, &c->s, &graph->nodes[i]->out[0]) >= 0) continue;
            p->states[p->n_states++] = (pruned_state){.number = k, .source = state.tensor, .summed = -1};
        }
    }
    return WICK_OK;
}

/* by_root: numbers of classes, from 1; 0: there is no state with it. */
static int32_t class_of(const wick_channels *c, const int32_t *by_root, const wick_value *v, int axis, int64_t i) {
    const uint32_t root = wick_channels_class(c, v, axis, i);
    return c->pins[root] ? NO_CLASS : by_root[root] - 1;
}

/* Classes are numbered in the order of the states that have them, layer by layer. */
static wick_status note_classes(wick_pruner *p, const wick_channels *c, int32_t *by_root) {
    const wick_graph *graph = c->s.graph;
    p->classes = wick_arena_zalloc(&p->arena, ((size_t)c->n + 1) * sizeof *p->classes);
    p->layers = wick_arena_zalloc(&p->arena, ((size_t)p->n_states * WICK_MAX_DIMS + 1) * sizeof *p->layers);
    if (!p->classes || !p->layers) return pruner_out_of_memory(p->ctx);
    for (size_t i = 0; i < graph->n; i++) {
        const wick_value *v = &graph->nodes[i]->out[0];
        const int at = wick_pruner_state_of(p, &c->s, v);
        for (int d = 0; at >= 0 && d < v->type.rank; d++) {
            pruned_state *s = &p->states[at];
            const int64_t n = wick_channels_extent(v, d);
            prunable_layer l = {.axis = d, .first = p->n_classes, .channels = n};
            bool any = false;
            for (int64_t k = 0; k < n; k++) {
                const uint32_t root = wick_channels_class(c, v, d, k);
                if (c->pins[root]) {
                    if (strcmp(c->pins[root], WICK_FIXED_EXTENT) != 0 && strcmp(c->pins[root], "input") != 0)
                        l.stays = wick_arena_strdup(&p->arena, c->pins[root]);
                    continue;
                }
                any = true;
                if (!by_root[root]) {
                    p->classes[p->n_classes] = (channel_class){.layer = p->n_layers};
                    by_root[root] = ++p->n_classes;
                    l.n++;
                }
                const int32_t class = by_root[root] - 1;
                if (p->classes[class].layer == p->n_layers && l.n) p->classes[class].width++;
            }
            if (any) {
                s->classes[d] = wick_arena_alloc(&p->arena, ((size_t)n + 1) * sizeof(int32_t));
                if (!s->classes[d]) return pruner_out_of_memory(p->ctx);
                for (int64_t k = 0; k < n; k++) s->classes[d][k] = class_of(c, by_root, v, d, k);
            }
            if (!l.n && (any || !l.stays || v->type.rank < 2)) continue;
            l.name = wick_arena_strdup(&p->arena, wick_model_at(p->source, s->number).name);
            if (!l.name) return pruner_out_of_memory(p->ctx);
            if (l.n) l.stays = NULL, p->n_free++;
            p->layers[p->n_layers++] = l;
        }
    }
    return WICK_OK;
}

/* Of weights, and of what is sliced, one channel has to stay. */
static wick_status note_axes(wick_pruner *p, const wick_channels *c, const int32_t *by_root) {
    const wick_graph *graph = c->s.graph;
    p->axes = wick_arena_zalloc(&p->arena, (graph->n * WICK_MAX_DIMS + 1) * sizeof *p->axes);
    if (!p->axes) return pruner_out_of_memory(p->ctx);
    for (size_t i = 0; i < graph->n; i++) {
        const wick_value *v = &graph->nodes[i]->out[0];
        if (graph->nodes[i]->op != &wick_op_data && graph->nodes[i]->op != &wick_op_slice) continue;
        for (int d = 0; d < v->type.rank; d++) {
            whole_axis *a = &p->axes[p->n_axes];
            a->n = wick_channels_extent(v, d);
            a->classes = wick_arena_alloc(&p->arena, ((size_t)a->n + 1) * sizeof *a->classes);
            if (!a->classes) return pruner_out_of_memory(p->ctx);
            bool all = a->n > 0;
            for (int64_t k = 0; k < a->n; k++) all = (a->classes[k] = class_of(c, by_root, v, d, k)) != NO_CLASS && all;
            p->n_axes += all;
        }
    }
    return WICK_OK;
}

/* ---- multiply-adds ----------------------------------------------------------------------------------------------- */

static wick_status count_axis(wick_pruner *p, const wick_channels *c, const int32_t *by_root, multiply_adds *m,
                              const wick_value *v, int axis) {
    const int64_t n = wick_channels_extent(v, axis);
    int32_t *classes = wick_arena_alloc(&p->arena, ((size_t)n + 1) * sizeof *classes);
    if (!classes) return pruner_out_of_memory(p->ctx);
    for (int64_t i = 0; i < n; i++) classes[i] = class_of(c, by_root, v, axis, i);
    m->counts[m->n] = n;
    m->classes[m->n++] = classes;
    return WICK_OK;
}
static wick_status note_products(wick_pruner *p, const wick_channels *c, const int32_t *by_root) {
    const wick_graph *graph = c->s.graph;
    p->macs = wick_arena_zalloc(&p->arena, (graph->n + 1) * sizeof *p->macs);
    uint32_t *readers = wick_arena_zalloc(&p->arena, ((size_t)c->s.n_values + 1) * sizeof *readers);
    if (!p->macs || !readers) return pruner_out_of_memory(p->ctx);
    for (size_t i = 0; i < graph->n; i++)
        for (int k = 0; k < graph->nodes[i]->n_in; k++) readers[graph->nodes[i]->in[k]->id]++;
    for (int i = 0; i < p->n_out; i++) readers[graph->outputs[i]->id]++;
    for (size_t i = 0; i < graph->n; i++) {
        const wick_node *node = graph->nodes[i];
        const wick_value *y = node->n_out ? &node->out[0] : NULL;
        const bool conv = node->op == &wick_op_conv;
        if ((!conv && node->op != &wick_op_matmul) || c->s.fixed[y->id]) continue;
        multiply_adds *m = &p->macs[p->n_macs++];
        m->state = -1;
        const wick_value *w = node->in[1];
        m->rest = 1;
        if (conv) {
            for (int d = 2; d < w->type.rank; d++) m->rest *= (double)w->type.dims[d];
            for (int d = 0; d < y->type.rank; d++)
                if (d != 1) m->rest *= (double)y->type.dims[d];
            WICK_TRY(count_axis(p, c, by_root, m, w, 0));
            WICK_TRY(count_axis(p, c, by_root, m, w, 1));
        } else {
            const int r = y->type.rank;
            for (int d = 0; d < r - 3; d++) m->rest *= (double)y->type.dims[d];
            if (r > 2) WICK_TRY(count_axis(p, c, by_root, m, y, r - 3)); /* heads */
            WICK_TRY(count_axis(p, c, by_root, m, y, r - 2));
            WICK_TRY(count_axis(p, c, by_root, m, y, r - 1));
            WICK_TRY(count_axis(p, c, by_root, m, w, w->type.rank - 2));
        }
        for (const wick_value *v = w;; v = v->node->in[0]) { /* which weights there are, and what is summed */
            const int at = wick_pruner_state_of(p, &c->s, v);
            const bool turned = v->node->op == &wick_op_permute && v->type.rank == 2;
            if (at >= 0 && v->type.rank >= 2 && p->states[at].summed < 0) {
                p->states[at].summed = conv ? 1 : (v == w ? 0 : 1);
                p->states[at].alone = readers[w->id] == 1 && readers[v->id] == 1 &&
                                      (!conv || ((const wick_conv_attr *)node->attr)->groups == 1);
                for (int d = 0; conv && d < 2; d++)
                    p->states[at].stride[d] = WICK_MAX(((const wick_conv_attr *)node->attr)->stride[d], 1);
                if (p->states[at].alone) m->state = at;
            }
            if (at >= 0 || !turned) break;
        }
    }
    return WICK_OK;
}
static double macs_of(const wick_pruner *p) {
    double sum = 0;
    for (int i = 0; i < p->n_macs; i++) {
        const multiply_adds *m = &p->macs[i];
        double product = m->rest;
        for (int k = 0; k < m->n; k++) product *= (double)wick_pruner_left(p, m->classes[k], m->counts[k]);
        if (m->state >= 0 && p->states[m->state].low_rank) product *= p->states[m->state].share;
        sum += product;
    }
    return sum;
}
void wick_pruner_macs(const wick_pruner *p, double *before, double *after) {
    if (!p || !before || !after) return;
    *before = 0;
    *after = macs_of(p);
    for (int i = 0; i < p->n_macs; i++) {
        double product = p->macs[i].rest;
        for (int k = 0; k < p->macs[i].n; k++) product *= (double)p->macs[i].counts[k];
        *before += product;
    }
}

/* ---- batch norms ------------------------------------------------------------------------------------------------- */

/* The first state of the role that elementwise ops and reshapes make v of, other than `but`. by_product: as a factor.
 */
static int state_in(const wick_pruner *p, const wick_subject *s, const wick_value *v, wick_role role, bool factor,
                    bool is_factor, int depth) {
    const int at = wick_pruner_state_of(p, s, v);
    if (at >= 0)
        return wick_model_at(p->source, p->states[at].number).role == role && v->type.rank == 1 && is_factor >= factor
                   ? at
                   : -1;
    const wick_node *node = v->node;
    const bool elementwise = node->op->flags & WICK_OP_ELEMENTWISE;
    if (depth > 8 || (!elementwise && node->op != &wick_op_reshape)) return -1;
    for (int k = 0; k < node->n_in; k++) {
        const int found =
            state_in(p, s, node->in[k], role, factor, elementwise ? node->op->ew == WICK_EW_mul : is_factor, depth + 1);
        if (found >= 0) return found;
    }
    return -1;
}
static wick_status note_norms(wick_pruner *p, const wick_subject *s) {
    const wick_graph *graph = s->graph;
    p->norms = wick_arena_zalloc(&p->arena, (graph->n + 1) * sizeof *p->norms);
    if (!p->norms) return pruner_out_of_memory(p->ctx);
    for (size_t i = 0; i < graph->n; i++) {
        const wick_node *node = graph->nodes[i], *sub = node->n_in ? node->in[0]->node : NULL;
        if (!(node->op->flags & WICK_OP_ELEMENTWISE) || node->op->ew != WICK_EW_mul) continue;
        const int scale = s->fixed[node->in[1]->id] ? state_in(p, s, node->in[1], WICK_ROLE_PARAM, true, true, 0) : -1;
        if (!(sub->op->flags & WICK_OP_ELEMENTWISE) || sub->op->ew != WICK_EW_sub || !s->fixed[sub->in[1]->id] ||
            s->fixed[sub->in[0]->id])
            continue;
        const int mean = wick_pruner_state_behind(p, s, sub->in[1]);
        const int var = state_in(p, s, node->in[1], WICK_ROLE_BUFFER, false, false, 0);
        if (mean < 0 || var < 0 || wick_model_at(p->source, p->states[mean].number).role != WICK_ROLE_BUFFER) continue;
        if (scale >= 0) p->states[scale].scales = p->has_scales = true;
        if (wick_pruner_norm_at(p, s, sub) >= 0) continue; /* one that is used twice */
        p->norms[p->n_norms++] = (norm_state){.mean = mean, .var = var};
    }
    return WICK_OK;
}

static wick_status discover(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    wick_pruner *p = user;
    wick_channels c;
    wick_status status = wick_channels_find(&c, ctx, p->fn, p->user, p->n_in, in, p->n_out);
    int32_t *by_root = status == WICK_OK ? wick_arena_zalloc(&c.s.arena, ((size_t)c.n + 1) * sizeof *by_root) : NULL;
    if (status == WICK_OK && !by_root) status = pruner_out_of_memory(ctx);
    if (status == WICK_OK) status = note_states(p, &c);
    if (status == WICK_OK) status = note_classes(p, &c, by_root);
    if (status == WICK_OK) status = note_axes(p, &c, by_root);
    if (status == WICK_OK) status = note_products(p, &c, by_root);
    if (status == WICK_OK) status = note_norms(p, &c.s);
    wick_subject_free(&c.s);
    for (int i = 0; i < p->n_out && status == WICK_OK; i++) out[i] = wick_zeros(ctx, WICK_F32, WICK_DIMS(1));
    return status;
}

wick_status wick_pruner_new(wick_context *ctx, wick_model *model, wick_function fn, void *user, int n_in,
                            const wick_spec *in, int n_out, wick_pruner **out) {
    if (!ctx) return WICK_ERR_INVALID;
    if (!out) return wick_context_fail(ctx, WICK_ERR_INVALID, "pruner: out is NULL");
    *out = NULL;
    if (!model || !fn || n_in < 1 || !in || n_out < 1)
        return wick_context_fail(ctx, WICK_ERR_INVALID, "pruner: needs a model, a function with inputs and outputs");
    wick_pruner *p = wick_calloc(&ctx->alloc, sizeof *p);
    if (!p) return wick_context_fail(ctx, WICK_ERR_NOMEM, "out of memory pruning");
    *p = (wick_pruner){.ctx = ctx, .source = model, .fn = fn, .user = user, .n_in = n_in, .n_out = n_out};
    wick_arena_init(&p->arena, &ctx->alloc, 0);
    p->in = wick_arena_zalloc(&p->arena, ((size_t)n_in + 1) * sizeof *p->in);
    wick_status status = p->in ? WICK_OK : pruner_out_of_memory(ctx);
    for (int k = 0; k < n_in && p->in; k++) p->in[k] = in[k], p->in[k].name = NULL;
    if (status == WICK_OK) status = read_function(p, discover);
    if (status != WICK_OK) wick_pruner_free(&p);
    *out = p;
    return status;
}
void wick_pruner_free(wick_pruner **p) {
    if (!p || !*p) return;
    wick_context *ctx = (*p)->ctx;
    wick_pruner_drop_observer(*p);
    wick_workspace_free(&(*p)->weigher);
    wick_plan_free(&(*p)->weighing);
    wick_model_free(&(*p)->model);
    wick_arena_free(&(*p)->arena);
    wick_release(&ctx->alloc, *p, sizeof **p);
    *p = NULL;
}

/* ---- importance -------------------------------------------------------------------------------------------------- */

/* Adds f(state, class, number, its place) over all numbers of f32 states. */
typedef void (*each_weight)(wick_pruner *p, const pruned_state *s, int32_t class, float w, int64_t at, int how);
static wick_status over_weights(wick_pruner *p, each_weight fn, int how) {
    for (int i = 0; i < p->n_states; i++) {
        const pruned_state *s = &p->states[i];
        const wick_type *t = &s->source->value->type;
        const void *data;
        if (t->dtype != WICK_F32 || wick_model_at(p->source, s->number).role != WICK_ROLE_PARAM) continue;
        WICK_TRY(wick_data(s->source, &data));
        const float *w = data;
        int64_t inner = wick_type_count(t);
        for (int d = 0; d < t->rank; d++) {
            inner /= t->dims[d] > 0 ? t->dims[d] : 1;
            for (int64_t k = 0; s->classes[d] && k < wick_type_count(t); k++) {
                const int32_t class = s->classes[d][k / inner % t->dims[d]];
                if (class != NO_CLASS) fn(p, s, class, w[k], k, how);
            }
        }
    }
    return WICK_OK;
}
static void add_magnitude(wick_pruner *p, const pruned_state *s, int32_t class, float w, int64_t at, int how) {
    (void)at;
    const double x = fabs((double)w);
    if (how == WICK_IMPORTANCE_GAMMA ? !s->scales : s->source->value->type.rank < 2) return;
    p->classes[class].importance += how == WICK_IMPORTANCE_L2 ? x * x : x;
    p->classes[class].scaled = p->classes[class].scaled || s->scales;
}
static void add_gradient(wick_pruner *p, const pruned_state *s, int32_t class, float w, int64_t at, int how) {
    (void)how;
    if (s->gradient) p->classes[class].importance += (double)w * (double)s->gradient[at];
}

/* The loss, and gradients of all trained states of f32. */
static wick_status record_gradients(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    wick_pruner *p = user;
    wick_tensor **made = wick_arena_zalloc(&p->arena, ((size_t)p->n_out + 2 * (size_t)p->n_states + 1) * sizeof *made);
    if (!made) return pruner_out_of_memory(ctx);
    wick_tensor **wrt = made + p->n_out, **grads = wrt + p->n_states;
    WICK_TRY(p->fn(ctx, in, made, p->user));
    int n = 0;
    for (int i = 0; i < p->n_states; i++)
        if (p->states[i].gradient) wrt[n++] = p->states[i].source;
    wick_tensor *loss = wick_cross_entropy(made[0], in[p->n_in]);
    if (loss->error) return wick_fail_poison(ctx, loss);
    wick_grad(loss, n, wrt, grads);
    for (int i = 0; i < n; i++) out[i] = grads[i];
    return WICK_OK;
}
static wick_status make_weigher(wick_pruner *p) {
    wick_spec *specs = wick_arena_zalloc(&p->arena, ((size_t)p->n_in + 1) * sizeof *specs);
    if (!specs) return pruner_out_of_memory(p->ctx);
    int n = 0;
    for (int i = 0; i < p->n_states; i++) {
        const wick_type *t = &p->states[i].source->value->type;
        if (t->dtype != WICK_F32 || wick_model_at(p->source, p->states[i].number).role != WICK_ROLE_PARAM) continue;
        if (!p->states[i].gradient) p->states[i].gradient = wick_arena_zalloc(&p->arena, wick_type_bytes(t) + 1);
        if (!p->states[i].gradient) return pruner_out_of_memory(p->ctx);
        n++;
    }
    memcpy(specs, p->in, (size_t)p->n_in * sizeof *specs);
    specs[p->n_in] = (wick_spec){.dtype = WICK_I64, .rank = 1, .dims = {p->in[0].dims[0]}};
    WICK_TRY(wick_compile(p->ctx, record_gradients, p, p->n_in + 1, specs, n, NULL, &p->weighing));
    return wick_workspace_new(p->weighing, &p->weigher);
}
wick_status wick_pruner_weigh(wick_pruner *p, const void *const *in, const int64_t *labels) {
    if (!p) return WICK_ERR_INVALID;
    if (!in || !labels) return wick_context_fail(p->ctx, WICK_ERR_INVALID, "pruner: in or labels are NULL");
    if (!p->weigher) WICK_TRY(make_weigher(p));
    wick_arena scratch;
    wick_arena_init(&scratch, &p->ctx->alloc, 0);
    const void **all = wick_arena_alloc(&scratch, ((size_t)p->n_in + 1) * sizeof *all);
    void **out = wick_arena_alloc(&scratch, ((size_t)p->n_states + 1) * sizeof *out);
    wick_status status = all && out ? WICK_OK : pruner_out_of_memory(p->ctx);
    for (int i = 0, n = 0; i < p->n_states && status == WICK_OK; i++)
        if (p->states[i].gradient) out[n++] = p->states[i].gradient;
    for (int i = 0; i < p->n_in && status == WICK_OK; i++) all[i] = in[i];
    if (status == WICK_OK) {
        all[p->n_in] = labels;
        status = wick_run(p->weigher, all, out);
        if (status != WICK_OK) wick_context_fail(p->ctx, status, "pruner: %s", wick_workspace_error(p->weigher));
    }
    for (int i = 0; i < p->n_classes; i++) p->classes[i].importance = 0;
    if (status == WICK_OK) status = over_weights(p, add_gradient, 0);
    for (int i = 0; i < p->n_classes && status == WICK_OK; i++)
        p->classes[i].taylor += p->classes[i].importance * p->classes[i].importance;
    if (status == WICK_OK) p->weighed++;
    wick_arena_free(&scratch);
    return status;
}

static wick_status weigh_classes(wick_pruner *p, wick_importance how) {
    if (how == WICK_IMPORTANCE_TAYLOR && !p->weighed)
        return wick_msg_set(&p->ctx->msg, WICK_ERR_INVALID,
                            "pruner: wick_pruner_weigh comes before importance by Taylor");
    if (how == WICK_IMPORTANCE_GAMMA && !p->has_scales)
        return wick_msg_set(&p->ctx->msg, WICK_ERR_INVALID, "pruner: there is no batch norm with a scale to rank by");
    for (int i = 0; i < p->n_classes; i++) p->classes[i].importance = 0;
    WICK_TRY(over_weights(p, add_magnitude, (int)how));
    for (int i = 0; i < p->n_classes; i++) {
        channel_class *c = &p->classes[i];
        if (!isfinite(c->importance) || !isfinite(c->taylor))
            return wick_msg_set(&p->ctx->msg, WICK_ERR_INVALID, "pruner: weights of %s have NaN or Inf",
                                p->layers[c->layer].name);
        if (how == WICK_IMPORTANCE_L2) c->importance = sqrt(c->importance);
        if (how == WICK_IMPORTANCE_TAYLOR) c->importance = c->taylor;
    }
    return WICK_OK;
}

/* ---- which of them go -------------------------------------------------------------------------------------------- */

typedef struct ranked {
    double importance;
    int class;
} ranked;
static int by_importance(const void *a, const void *b) {
    const ranked *x = a, *y = b;
    if (x->importance != y->importance) return x->importance < y->importance ? -1 : 1;
    return x->class - y->class;
}

typedef struct choice {
    const wick_pruning *how;
    int64_t multiple;
    bool *stays;    /* by layer */
    ranked *layers; /* classes of each layer, ascending */
    ranked *all;    /* all that may go, ascending, by importance over the layer's mean */
    int n_all;
    int *losses; /* by layer */
} choice;

/* How many classes of a layer may go, of `lost`, so that the rest is a multiple. */
static int rounded(const wick_pruner *p, const choice *c, int layer, int lost) {
    const prunable_layer *l = &p->layers[layer];
    const int64_t width = p->classes[l->first].width;
    int64_t unit = c->multiple;
    for (int64_t g = width; g > 1; g--) /* classes of several channels reach it sooner */
        if (width % g == 0 && unit % g == 0) {
            unit /= g;
            break;
        }
    int64_t left = (l->n - lost + unit - 1) / unit * unit;
    if (left < 1) left = unit;
    return left >= l->n ? 0 : l->n - (int)left;
}
/* Where all channels of some weight or slice would go, the one that counts most stays. */
static void keep_one(wick_pruner *p) {
    for (int i = 0; i < p->n_axes; i++) {
        const whole_axis *a = &p->axes[i];
        int best = a->classes[0];
        if (wick_pruner_left(p, a->classes, a->n)) continue;
        for (int64_t k = 0; k < a->n; k++)
            if (p->classes[a->classes[k]].importance > p->classes[best].importance) best = a->classes[k];
        p->classes[best].removed = false;
    }
}
static void remove_share(wick_pruner *p, const choice *c, double ratio) {
    for (int i = 0; i < p->n_classes; i++) p->classes[i].removed = false;
    memset(c->losses, 0, (size_t)p->n_layers * sizeof *c->losses);
    if (c->how->global) {
        const int n = (int)floor(ratio * c->n_all);
        for (int i = 0; i < n; i++) c->losses[p->classes[c->all[i].class].layer]++;
    }
    for (int i = 0; i < p->n_layers; i++) {
        const prunable_layer *l = &p->layers[i];
        if (!l->n || c->stays[i]) continue;
        if (!c->how->global) c->losses[i] = (int)floor(ratio * l->n + 1e-9);
        const int lost = rounded(p, c, i, c->losses[i]);
        for (int k = 0; k < lost; k++) p->classes[c->layers[l->first + k].class].removed = true;
    }
    keep_one(p);
}

static wick_status rank(wick_pruner *p, choice *c, wick_arena *arena) {
    const size_t n = (size_t)p->n_classes + 1;
    c->stays = wick_arena_zalloc(arena, (size_t)p->n_layers + 1);
    c->losses = wick_arena_zalloc(arena, ((size_t)p->n_layers + 1) * sizeof *c->losses);
    c->layers = wick_arena_alloc(arena, n * sizeof *c->layers);
    c->all = wick_arena_alloc(arena, n * sizeof *c->all);
    if (!c->stays || !c->losses || !c->layers || !c->all) return pruner_out_of_memory(p->ctx);
    int kept = 0;
    for (int i = 0; i < p->n_layers; i++) {
        const prunable_layer *l = &p->layers[i];
        double sum = 0;
        c->stays[i] = c->how->keep && wick_glob(c->how->keep, l->name);
        kept += c->stays[i];
        bool scaled = c->how->importance != WICK_IMPORTANCE_GAMMA;
        for (int k = 0; k < l->n; k++) sum += p->classes[l->first + k].importance;
        for (int k = 0; k < l->n; k++) scaled = scaled || p->classes[l->first + k].scaled;
        c->stays[i] = c->stays[i] || !scaled;
        const double mean = l->n && sum > 0 ? sum / l->n : 1;
        for (int k = 0; k < l->n; k++) {
            const int class = l->first + k;
            c->layers[class] = (ranked){p->classes[class].importance, class};
            if (!c->stays[i]) c->all[c->n_all++] = (ranked){p->classes[class].importance / mean, class};
        }
        qsort(c->layers + l->first, (size_t)l->n, sizeof *c->layers, by_importance);
    }
    qsort(c->all, (size_t)c->n_all, sizeof *c->all, by_importance);
    if (c->how->keep && *c->how->keep && !kept)
        return wick_msg_set(&p->ctx->msg, WICK_ERR_INVALID,
                            "pruner: no layer's name matches \"%.100s\"; the first is %s", c->how->keep,
                            p->layers[0].name);
    return WICK_OK;
}

/* Classes of a layer that go or come back: [from, to) of its ranking, of those that are removed. */
static void set_removed(wick_pruner *p, const choice *c, int layer, int from, int to, bool removed) {
    for (int k = from; k < to; k++) p->classes[c->layers[p->layers[layer].first + k].class].removed = removed;
}
/* Widths move by whole multiples, so that less may be left than was allowed: as long as some fit, the channels come
 * back that count most, by importance over their layer's mean. */
static void give_back(wick_pruner *p, const choice *c, double most) {
    for (;;) {
        int best = -1, best_from = 0, best_to = 0;
        double best_gain = -1;
        for (int i = 0; i < p->n_layers; i++) {
            const prunable_layer *l = &p->layers[i];
            double sum = 0, gain = 0;
            int to = 0;
            while (to < l->n && p->classes[c->layers[l->first + to].class].removed) to++;
            if (!to) continue;
            const int from = rounded(p, c, i, to - 1);
            for (int k = 0; k < l->n; k++) sum += c->layers[l->first + k].importance;
            for (int k = from; k < to; k++) gain += c->layers[l->first + k].importance;
            gain = sum > 0 ? gain / (to - from) * l->n / sum : 0;
            set_removed(p, c, i, from, to, false);
            if (gain > best_gain && macs_of(p) <= most) best = i, best_from = from, best_to = to, best_gain = gain;
            set_removed(p, c, i, from, to, true);
        }
        if (best < 0) return;
        set_removed(p, c, best, best_from, best_to, false);
    }
}
/* The smallest ratio that gets down to a share of the multiply-adds, by bisection. */
static wick_status reach_macs(wick_pruner *p, const choice *c) {
    double before, after, low = 0, high = 1 - 1e-9;
    remove_share(p, c, high);
    wick_pruner_macs(p, &before, &after);
    if (after > c->how->macs * before)
        return wick_msg_set(
            &p->ctx->msg, WICK_ERR_INVALID,
            "pruner: %g of the multiply-adds can't be reached: %.3g stay with as few channels as can be", c->how->macs,
            after / before);
    for (int i = 0; i < 40; i++) {
        const double middle = low + (high - low) / 2;
        remove_share(p, c, middle);
        if (macs_of(p) <= c->how->macs * before)
            high = middle;
        else
            low = middle;
    }
    remove_share(p, c, high);
    give_back(p, c, c->how->macs * before);
    return WICK_OK;
}

wick_status wick_pruner_cut(wick_pruner *p, const wick_pruning *how) {
    if (!p) return WICK_ERR_INVALID;
    if (!how || !(how->ratio >= 0 && how->ratio < 1) || !(how->macs >= 0 && how->macs < 1) || how->multiple < 0 ||
        (unsigned)how->importance > WICK_IMPORTANCE_TAYLOR)
        return wick_context_fail(p->ctx, WICK_ERR_INVALID,
                                 "pruner: ratio %g and macs %g are from 0 to below 1, and multiples not below 0",
                                 how ? how->ratio : 0, how ? how->macs : 0);
    if (!(how->energy >= 0 && how->energy < 1) || !(how->budget >= 0 && how->budget < 1) ||
        (how->energy > 0 && how->budget > 0))
        return wick_context_fail(p->ctx, WICK_ERR_INVALID,
                                 "pruner: energy %g and budget %g are from 0 to below 1, and one of them is 0",
                                 how->energy, how->budget);
    if ((unsigned)how->filters > WICK_FILTERS_SPATIAL || (how->filters && !(how->energy > 0 || how->budget > 0)))
        return wick_context_fail(p->ctx, WICK_ERR_INVALID,
                                 "pruner: no such filters, or none without energy or a budget");
    const bool channels = how->ratio > 0 || how->macs > 0;
    if (channels && !p->n_free)
        return wick_context_fail(
            p->ctx, WICK_ERR_INVALID, "pruner: the function has no channels that can be removed%s%s",
            p->n_layers ? ": those of the first layer stay because of " : "", p->n_layers ? p->layers[0].stays : "");
    p->energy = p->budget = 0, p->filters = WICK_FILTERS_WHOLE;
    for (int i = 0; i < p->n_states; i++) p->states[i].low_rank = 0;
    wick_arena scratch;
    wick_arena_init(&scratch, &p->ctx->alloc, 0);
    choice c = {.how = how, .multiple = how->multiple ? how->multiple : 8};
    wick_status status = weigh_classes(p, channels ? how->importance : WICK_IMPORTANCE_L2);
    if (status == WICK_OK) status = rank(p, &c, &scratch);
    if (status == WICK_OK && how->macs > 0)
        status = reach_macs(p, &c);
    else if (status == WICK_OK)
        remove_share(p, &c, how->ratio);
    wick_arena_free(&scratch);
    wick_pruner_drop_observer(p);
    p->energy = how->energy, p->budget = how->budget, p->filters = how->filters, p->multiple = c.multiple;
    if (status == WICK_OK) return wick_pruner_make_model(p);
    wick_model_free(&p->model);
    return status;
}
wick_model *wick_pruner_model(wick_pruner *p) { return p ? p->model : NULL; }

int wick_pruner_layers(const wick_pruner *p) { return p ? p->n_layers : 0; }
wick_pruner_layer wick_pruner_layer_at(const wick_pruner *p, int i) {
    if (!p || i < 0 || i >= p->n_layers) return (wick_pruner_layer){0};
    const prunable_layer *l = &p->layers[i];
    int64_t removed = 0;
    for (int k = 0; k < l->n; k++)
        if (p->classes[l->first + k].removed) removed += p->classes[l->first + k].width;
    return (wick_pruner_layer){
        .name = l->name, .axis = l->axis, .channels = l->channels, .left = l->channels - removed, .stays = l->stays};
}

/* ---- what is done to weights ------------------------------------------------------------------------------------- */

wick_status wick_pruner_zero(wick_pruner *p) {
    if (!p) return WICK_ERR_INVALID;
    for (int i = 0; i < p->n_states; i++) {
        const pruned_state *s = &p->states[i];
        const wick_type *t = &s->source->value->type;
        const void *data;
        if (t->dtype != WICK_F32 || wick_model_at(p->source, s->number).role != WICK_ROLE_PARAM) continue;
        WICK_TRY(wick_data(s->source, &data));
        float *w = wick_alloc(&p->ctx->alloc, wick_type_bytes(t) + 1);
        if (!w) return pruner_out_of_memory(p->ctx);
        memcpy(w, data, wick_type_bytes(t));
        int64_t inner = wick_type_count(t);
        for (int d = 0; d < t->rank; d++) {
            inner /= t->dims[d] > 0 ? t->dims[d] : 1;
            for (int64_t k = 0; s->classes[d] && k < wick_type_count(t); k++) {
                const int32_t class = s->classes[d][k / inner % t->dims[d]];
                if (class != NO_CLASS && p->classes[class].removed) w[k] = 0;
            }
        }
        const wick_status status = wick_write(s->source, w, wick_type_bytes(t));
        wick_release(&p->ctx->alloc, w, wick_type_bytes(t) + 1);
        WICK_TRY(status);
    }
    return WICK_OK;
}
