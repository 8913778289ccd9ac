/* adapt.c: what makes an imported graph one to be trained on: another batch, another head, logits instead of
 * probabilities. */
#define WICK_NO_SITES
#include "io/onnx/onnx.h"

#include <stdio.h>

const char *wick_onnx_file_at(const wick_onnx *onnx, int i) {
    const wick_onnx_pages *p = onnx->pages;
    while (p && i-- > 0) p = p->next;
    return p ? p->name : NULL;
}

uint32_t wick_onnx_checksum(const wick_onnx *onnx) {
    uint32_t crc = wick_crc32c(0, onnx->own_pages->map.data, onnx->own_pages->map.size);
    for (const wick_onnx_pages *p = onnx->pages; p; p = p->next) crc = wick_crc32c(crc, p->map.data, p->map.size);
    return crc;
}

/* ---- specs of inputs --------------------------------------------------------------------------------------------- */

/* The inputs as declared, or as the caller says, with that leading extent; 0: the declared one, or 1. False: some
 * extent is not known. */
static bool specs_of(wick_onnx *onnx, const wick_spec *in, int64_t batch, wick_spec *out) {
    for (int i = 0; i < onnx->n_in; i++) {
        const wick_onnx_port *p = &onnx->in_ports[i];
        wick_spec *s = &out[i];
        *s = (wick_spec){.name = p->name};
        if (p->kind != WICK_VALUE_TENSOR || !wick_onnx_dtype(p->elem, &s->dtype)) return false;
        if (in) *s = in[i];
        else {
            if (p->rank < 0) return false;
            s->rank = p->rank;
            memcpy(s->dims, p->dims, sizeof s->dims);
        }
        if (s->rank && batch) s->dims[0] = batch;
        else if (s->rank && s->dims[0] < 0) s->dims[0] = 1;
        for (int d = 0; d < s->rank; d++)
            if (s->dims[d] < 0) return false;
    }
    return true;
}

static wick_status no_specs(const wick_onnx *onnx) {
    return wick_context_fail(onnx->ctx, WICK_ERR_INVALID, "%s: the extents of its inputs are not all known: give specs",
                             onnx->path);
}
static wick_spec *new_specs(const wick_onnx *onnx) {
    return wick_calloc(NULL, (size_t)(onnx->n_in + 1) * sizeof(wick_spec));
}
static void free_specs(const wick_onnx *onnx, wick_spec *s) {
    wick_release(NULL, s, (size_t)(onnx->n_in + 1) * sizeof *s);
}

/* ---- the batch --------------------------------------------------------------------------------------------------- */

enum { SAMPLES = 2 };

/* Numbers of [0, 1), bytes of any value, the same ones for ever; of samples [first, first + n). Other integers are 0,
 * which is safe as an index too. */
static wick_tensor *noise(wick_context *ctx, const wick_spec *s, int64_t first, int64_t n) {
    int64_t each = 1;
    for (int d = 1; d < s->rank; d++) each *= s->dims[d];
    float *values = wick_alloc(NULL, (size_t)(n * each + 1) * sizeof *values);
    if (!values) return wick_poison(ctx, WICK_ERR_NOMEM, "out of memory");
    for (int64_t i = 0; i < n * each; i++) {
        uint64_t x = (uint64_t)(first * each + i) * 0x9E3779B97F4A7C15u + 0x632BE59BD9B4E019u;
        x = (x ^ x >> 31) * 0xBF58476D1CE4E5B9u;
        values[i] = (float)(x >> 40) * 0x1p-24f;
        if (s->dtype == WICK_U8 || s->dtype == WICK_I8) values[i] = (float)(x >> 56) - (s->dtype == WICK_I8 ? 128 : 0);
    }
    int64_t dims[WICK_MAX_DIMS];
    memcpy(dims, s->dims, sizeof dims);
    if (s->rank) dims[0] = n;
    wick_tensor *t = wick_cast(wick_from(ctx, WICK_F32, s->rank, dims, values), s->dtype);
    wick_release(NULL, values, (size_t)(n * each + 1) * sizeof *values);
    return t;
}

static wick_status apply_noise(wick_onnx *onnx, const wick_spec *specs, int64_t first, int64_t n, wick_onnx_value *in,
                               wick_onnx_value *out) {
    for (int i = 0; i < onnx->n_in; i++)
        in[i] = (wick_onnx_value){.kind = WICK_VALUE_TENSOR, .tensor = noise(onnx->ctx, &specs[i], first, n)};
    return wick_onnx_apply(onnx, in, out);
}

/* Sample k of a batch's output beside the output of the sample alone, which begins with the extent that the file has.
 */
static wick_status compare_sample(wick_onnx *onnx, int output, const wick_onnx_value *all, const wick_onnx_value *alone,
                                  int64_t k, int64_t batch) {
    const char *name = onnx->out_ports[output].name;
    const bool tensors = all->kind == WICK_VALUE_TENSOR && alone->kind == WICK_VALUE_TENSOR;
    if (!tensors || !wick_tensor_rank(all->tensor) ||
        wick_tensor_rank(all->tensor) != wick_tensor_rank(alone->tensor) ||
        wick_tensor_dim(all->tensor, 0) != SAMPLES * batch || wick_tensor_dim(alone->tensor, 0) != batch)
        return wick_context_fail(onnx->ctx, WICK_ERR_UNSUPPORTED,
                                 "%s: is made for a batch of %lld: its output \"%s\" does not grow with the batch",
                                 onnx->path, (long long)batch, name);
    const wick_onnx_value part = {.kind = WICK_VALUE_TENSOR,
                                  .tensor = wick_slice(all->tensor, 0, k * batch, (k + 1) * batch, 1)};
    const wick_status status = wick_onnx_value_compare(onnx->ctx, &part, alone, 1e-3, 1e-4);
    if (status != WICK_ERR_MISMATCH) return status;
    wick_msg why;
    wick_msg_set(&why, status, "%s", wick_context_error(onnx->ctx));
    return wick_context_fail(
        onnx->ctx, WICK_ERR_UNSUPPORTED,
        "%s: is made for a batch of %lld: in a larger one, its output \"%s\" for an input depends on the others (%s)",
        onnx->path, (long long)batch, name, why.text);
}

static wick_status check_batch(wick_onnx *onnx, const wick_spec *specs, int64_t batch) {
    wick_context *ctx = onnx->ctx;
    const size_t n = (size_t)(onnx->n_in + 2 * onnx->n_out + 1);
    wick_onnx_value *in = wick_calloc(NULL, n * sizeof *in), *all = in ? in + onnx->n_in : NULL,
                    *alone = in ? all + onnx->n_out : NULL;
    if (!in) return wick_context_fail(ctx, WICK_ERR_NOMEM, "%s: out of memory", onnx->path);
    wick_status status = apply_noise(onnx, specs, 0, SAMPLES * batch, in, all);
    for (int i = 0; i < onnx->n_out && status == WICK_OK; i++)
        if (all[i].kind == WICK_VALUE_TENSOR) status = wick_eval(ctx, 1, &all[i].tensor, NULL);
    if (status != WICK_OK) {
        wick_msg why;
        wick_msg_set(&why, status, "%s", wick_context_error(ctx));
        if (status != WICK_ERR_NOMEM)
            status = wick_context_fail(ctx, WICK_ERR_UNSUPPORTED,
                                       "%s: is made for a batch of %lld, and can't take a larger one: %s", onnx->path,
                                       (long long)batch, why.text);
    }
    for (int k = 0; k < SAMPLES && status == WICK_OK; k++) {
        status = apply_noise(onnx, specs, k * batch, batch, in, alone);
        for (int i = 0; i < onnx->n_out && status == WICK_OK; i++)
            status = compare_sample(onnx, i, &all[i], &alone[i], k, batch);
    }
    wick_release(NULL, in, n * sizeof *in);
    return status;
}

wick_status wick_onnx_rebatch(wick_onnx *onnx, const wick_spec *in) {
    wick_context *ctx = onnx->ctx;
    int64_t batch = 0;
    for (int i = 0; i < onnx->n_in; i++) {
        const wick_onnx_port *p = &onnx->in_ports[i];
        if (p->kind != WICK_VALUE_TENSOR || !p->rank)
            return wick_context_fail(ctx, WICK_ERR_UNSUPPORTED, "%s: input \"%s\" has no leading dim to be a batch",
                                     onnx->path, p->name);
        const int64_t d = p->rank > 0 && p->dims[0] > 0 ? p->dims[0] : 0;
        if (batch && d && d != batch)
            return wick_context_fail(ctx, WICK_ERR_UNSUPPORTED,
                                     "%s: its inputs begin with different extents, %lld and %lld: no batch", onnx->path,
                                     (long long)batch, (long long)d);
        if (d) batch = d;
    }
    wick_spec *specs = new_specs(onnx);
    if (!specs) return wick_context_fail(ctx, WICK_ERR_NOMEM, "%s: out of memory", onnx->path);
    wick_scope *scope = wick_scope_open(ctx);
    const int64_t was = onnx->batch;
    onnx->batch = batch;
    wick_status status = specs_of(onnx, in, batch ? batch : 1, specs) ? WICK_OK : no_specs(onnx);
    if (status == WICK_OK) status = check_batch(onnx, specs, batch ? batch : 1);
    wick_scope_close(&scope);
    free_specs(onnx, specs);
    if (status != WICK_OK) {
        onnx->batch = was;
        return status;
    }
    wick_onnx_forget_prepared(onnx);
    for (int i = 0; i < onnx->n_in; i++)
        if (onnx->in_ports[i].rank > 0) onnx->in_ports[i].dims[0] = -1;
    for (int i = 0; i < onnx->n_out; i++)
        if (onnx->out_ports[i].rank > 0) onnx->out_ports[i].dims[0] = -1;
    return WICK_OK;
}

/* ---- the head ---------------------------------------------------------------------------------------------------- */

/* The step of the main graph that makes a slot, before another step (NULL: anywhere); NULL: an input or a weight. Steps
 * are in an order of computation, so that a walk back along a chain looks at each step once. */
static onnx_step *maker_before(const onnx_block *b, const onnx_step *before, int32_t slot) {
    for (size_t i = before ? (size_t)(before - b->steps) : b->n; i-- > 0;)
        for (int k = 0; k < b->steps[i].n_out; k++)
            if (b->steps[i].out[k] == slot) return &b->steps[i];
    return NULL;
}
static onnx_step *maker(const onnx_block *b, int32_t slot) { return maker_before(b, NULL, slot); }

static bool is_own(const onnx_step *s, const char *op) {
    return !s->function && !wick_onnx_domain(s->node->domain).size && wick_bytes_are(s->node->op, op);
}
static bool is_one_of(const onnx_step *s, const char *const *ops) {
    for (; *ops; ops++)
        if (is_own(s, *ops)) return true;
    return false;
}

/* What makes probabilities, or other bounded numbers, of logits. */
static const char *const bounds[] = {"Softmax", "LogSoftmax", "Sigmoid", "HardSigmoid", "Tanh", "Softsign", NULL};
static const char *const reshapes[] = {"Identity",  "Flatten", "Reshape", "Squeeze",
                                       "Unsqueeze", "Dropout", "Cast",    NULL};

/* Leaves out what bounds the numbers on the way back from the first output, through ops of `passes`, up to any other.
 * Returns whether there was any. */
static bool drop_bounds(wick_onnx *onnx, const char *const *passes) {
    onnx_block *b = onnx->main;
    bool any = false;
    onnx_ref *from = b->n_out ? &b->out[0] : NULL;
    for (const onnx_step *s = NULL; from && from->slot >= 0 && !from->up;) {
        onnx_step *at = maker_before(b, s, from->slot);
        if (!at || !at->n_in) break;
        const bool bounded = is_one_of(at, bounds) && at->n_in == 1 && !at->in[0].up && at->in[0].slot >= 0;
        if (bounded) *from = at->in[0], any = true;
        else if (is_one_of(at, passes) && at->n_in) from = &at->in[0];
        else break;
        s = at;
    }
    if (any) wick_onnx_forget_prepared(onnx);
    return any;
}

bool wick_onnx_drop_softmax(wick_onnx *onnx) { return drop_bounds(onnx, reshapes); }

typedef struct head {
    onnx_step *linear, *bias; /* bias: the Add behind it, or NULL */
    int bias_input;           /* of the Add, or of the layer: its bias; -1: there is none */
    bool is_conv, is_gemm, transposed;
    int64_t in, width; /* fan in (of a conv of one kernel element), and numbers given */
    int rank;
    int64_t dims[WICK_MAX_DIMS]; /* of the weights now */
} head;

/* By slot, whether nothing that it is made of is an input of the graph. Steps are in an order of computation. To be
 * released: n_slots + 1 bytes. */
static bool *static_slots(const onnx_block *b) {
    bool *is = wick_calloc(NULL, (size_t)b->n_slots + 1);
    for (size_t i = 0; is && i < b->n_weights; i++) is[b->weights[i].slot] = true;
    for (size_t i = 0; is && i < b->n; i++) {
        const onnx_step *s = &b->steps[i];
        bool all = !s->bodies;
        for (int k = 0; k < s->n_in; k++) all &= s->in[k].slot < 0 || is[s->in[k].slot];
        for (int k = 0; k < s->n_out; k++)
            if (s->out[k] >= 0) is[s->out[k]] = all;
    }
    return is;
}

static bool flag(const onnx_step *s, const char *name) {
    for (size_t i = 0; i < s->node->attrs.n; i++)
        if (wick_bytes_are(s->node->attrs.at[i].name, name)) return s->node->attrs.at[i].i != 0;
    return false;
}

/* What may stand behind a head, besides `bounds`. */
static const char *const followers[] = {"Identity",          "Flatten",     "Reshape",    "Squeeze",
                                        "Unsqueeze",         "Dropout",     "Cast",       "Relu",
                                        "GlobalAveragePool", "AveragePool", "ReduceMean", NULL};

/* Walks back from the first output; false: it ends at *at. */
static bool walk_back(const wick_onnx *onnx, const bool *is_static, head *h, onnx_ref *end) {
    const onnx_block *b = onnx->main;
    *h = (head){.bias_input = -1};
    onnx_ref at = b->n_out ? b->out[0] : (onnx_ref){0, -1};
    for (onnx_step *s = NULL;;) {
        s = at.slot >= 0 && !at.up ? maker_before(b, s, at.slot) : NULL;
        *end = at;
        if (!s) return false;
        const bool two = s->n_in >= 2 && s->in[0].slot >= 0 && s->in[1].slot >= 0;
        h->is_gemm = is_own(s, "Gemm"), h->is_conv = is_own(s, "Conv");
        if (two && (h->is_gemm || h->is_conv || is_own(s, "MatMul")) && is_static[s->in[1].slot]) {
            h->linear = s;
            h->transposed = h->is_gemm && flag(s, "transB");
            const bool biased = !is_own(s, "MatMul") && s->n_in > 2 && s->in[2].slot >= 0;
            if ((h->is_gemm && flag(s, "transA")) || (biased && h->bias)) return false;
            if (biased) h->bias_input = 2;
            return true;
        }
        if (two && is_own(s, "Add") && !h->bias && (is_static[s->in[0].slot] || is_static[s->in[1].slot])) {
            h->bias = s;
            h->bias_input = is_static[s->in[1].slot] ? 1 : 0;
            at = s->in[!h->bias_input];
            continue;
        }
        if (!(is_one_of(s, followers) || is_one_of(s, bounds)) || !s->n_in || h->bias)
            return false; /* behind an Add that is no bias of the layer, nothing passes */
        at = s->in[0];
    }
}

static wick_status find_head(wick_onnx *onnx, head *h) {
    const size_t bytes = (size_t)onnx->main->n_slots + 1;
    bool *is_static = static_slots(onnx->main);
    if (!is_static) return wick_context_fail(onnx->ctx, WICK_ERR_NOMEM, "%s: out of memory", onnx->path);
    onnx_ref end;
    const bool found = walk_back(onnx, is_static, h, &end);
    wick_release(NULL, is_static, bytes);
    if (found) return WICK_OK;
    const onnx_step *s = end.slot >= 0 && !end.up ? maker(onnx->main, end.slot) : NULL;
    if (!s)
        return wick_context_fail(onnx->ctx, WICK_ERR_UNSUPPORTED,
                                 "%s: no linear layer leads to its first output: there is no head to replace",
                                 onnx->path);
    return wick_context_fail(
        onnx->ctx, WICK_ERR_UNSUPPORTED,
        "%s stands between the last linear layer and the first output: no head that can be replaced", s->place);
}

static wick_status measure_head(wick_onnx *onnx, const wick_spec *in, head *h) {
    wick_spec *specs = new_specs(onnx);
    if (!specs) return wick_context_fail(onnx->ctx, WICK_ERR_NOMEM, "%s: out of memory", onnx->path);
    onnx_run run = {.watched = h->linear, .watched_rank = {-1, -1}};
    wick_status status = specs_of(onnx, in, 0, specs) ? wick_onnx_probe_shapes(onnx, specs, &run) : no_specs(onnx);
    free_specs(onnx, specs);
    WICK_TRY(status);
    h->rank = run.watched_rank[1];
    const int64_t *w = run.watched_dims[1];
    if (h->is_conv ? h->rank < 3 : h->rank != 2)
        return wick_context_fail(onnx->ctx, WICK_ERR_UNSUPPORTED,
                                 "%s: its weights have %d dims: no head that can be replaced", h->linear->place,
                                 h->rank);
    memcpy(h->dims, w, sizeof h->dims);
    const bool rows = h->is_conv || h->transposed; /* [out, in ...] */
    h->width = rows ? w[0] : w[1];
    h->in = rows ? w[1] : w[0];
    return WICK_OK;
}

int64_t wick_onnx_head_width(wick_onnx *onnx, const wick_spec *in) {
    head h;
    return find_head(onnx, &h) == WICK_OK && measure_head(onnx, in, &h) == WICK_OK ? h.width : 0;
}

/* How often the main graph and bodies in it read a slot. */
static int uses_of(const onnx_block *b, int32_t slot, int32_t up) {
    int n = 0;
    for (size_t i = 0; i < b->n; i++) {
        for (int k = 0; k < b->steps[i].n_in; k++) n += b->steps[i].in[k].slot == slot && b->steps[i].in[k].up == up;
        for (size_t a = 0; b->steps[i].bodies && a < b->steps[i].node->attrs.n; a++)
            if (b->steps[i].bodies[a]) n += uses_of(b->steps[i].bodies[a], slot, up + 1);
    }
    for (int i = 0; i < b->n_out; i++) n += b->out[i].slot == slot && b->out[i].up == up;
    return n;
}

static const char *state_of(const onnx_block *b, int32_t slot, wick_tensor **tensor) {
    for (size_t i = 0; i < b->n_weights; i++)
        if (b->weights[i].slot == slot) return *tensor = b->weights[i].value.v.tensor, b->weights[i].state;
    const onnx_step *s = maker(b, slot);
    if (!s || s->constant.v.kind != WICK_VALUE_TENSOR) return NULL;
    return *tensor = s->constant.v.tensor, s->state;
}

/* ---- what nobody needs any more ---------------------------------------------------------------------------------- */

/* Notes the slots of the main graph, `up` blocks outward, that a body reads. */
static void mark_body(const onnx_block *b, int32_t up, bool *live) {
    for (size_t i = 0; i < b->n; i++) {
        for (int k = 0; k < b->steps[i].n_in; k++)
            if (b->steps[i].in[k].slot >= 0 && b->steps[i].in[k].up == up) live[b->steps[i].in[k].slot] = true;
        for (size_t a = 0; b->steps[i].bodies && a < b->steps[i].node->attrs.n; a++)
            if (b->steps[i].bodies[a]) mark_body(b->steps[i].bodies[a], up + 1, live);
    }
    for (int i = 0; i < b->n_out; i++)
        if (b->out[i].slot >= 0 && b->out[i].up == up) live[b->out[i].slot] = true;
}

/* The state of that name goes, if this is its tensor. */
static void drop_state(wick_onnx *onnx, const char *name, const wick_tensor *t) {
    for (int i = 0; name && i < wick_model_count(onnx->model); i++) {
        const wick_named s = wick_model_at(onnx->model, i);
        if (s.tensor != t || strcmp(s.name, name)) continue;
        if (s.role == WICK_ROLE_PARAM) onnx->info.parameters -= wick_tensor_count(s.tensor);
        wick_model_remove(onnx->model, name);
        return;
    }
}

static size_t slots_bytes(const wick_onnx *onnx) { return (size_t)onnx->main->n_slots + 1; }

/* Steps and weights of the main graph that no output depends on go, with their states. live: room for a bool each slot,
 * zeroed. */
static void prune(wick_onnx *onnx, bool *live) {
    onnx_block *b = onnx->main;
    size_t n_weights = 0, first = b->n;
    for (int i = 0; i < b->n_out; i++)
        if (b->out[i].slot >= 0) live[b->out[i].slot] = true;
    for (size_t i = b->n; i-- > 0;) { /* they are in an order of computation; what stays moves to the end */
        onnx_step *s = &b->steps[i];
        bool any = false;
        for (int k = 0; k < s->n_out; k++) any |= s->out[k] >= 0 && live[s->out[k]];
        if (!any) {
            drop_state(onnx, s->state, s->constant.v.tensor);
            wick_onnx_drop_step(s);
            continue;
        }
        for (int k = 0; k < s->n_in; k++)
            if (s->in[k].slot >= 0) live[s->in[k].slot] = true;
        for (size_t a = 0; s->bodies && a < s->node->attrs.n; a++)
            if (s->bodies[a]) mark_body(s->bodies[a], 1, live);
        b->steps[--first] = *s;
    }
    b->steps += first;
    b->n -= first;
    for (size_t i = 0; i < b->n_weights; i++) {
        struct onnx_weight *w = &b->weights[i];
        if (live[w->slot]) {
            b->weights[n_weights++] = *w;
            continue;
        }
        drop_state(onnx, w->state, w->value.v.tensor);
        wick_tensor_free(&w->value.v.tensor);
    }
    b->n_weights = n_weights;
}

/* ---- another head ------------------------------------------------------------------------------------------------ */

/* A fresh weight for an input of a step. */
typedef struct renewal {
    onnx_step *step;
    int input;
    const char *part; /* what its name ends in, if it needs a new one */
    int rank;
    int64_t dims[WICK_MAX_DIMS];
    const char *name;
    bool same;              /* it takes the place of the state of that name */
    wick_tensor *now, *old; /* retained; old: of that state */
    onnx_ref was;
    bool in_model;
} renewal;

/* Its name and numbers; nothing of the model is changed. */
static wick_status draw(wick_onnx *onnx, renewal *r, const onnx_step *layer, wick_dtype dtype, int64_t fan_in) {
    wick_context *ctx = onnx->ctx;
    const wick_bytes node = layer->node->name.size ? layer->node->name : layer->node->out.at[0];
    char text[256];
    const char *name = state_of(onnx->main, r->step->in[r->input].slot, &r->old);
    r->same = name && uses_of(onnx->main, r->step->in[r->input].slot, 0) == 1;
    r->old = r->same ? wick_retain(r->old) : NULL;
    if (!r->same) snprintf(text, sizeof text, "%.*s.%s", (int)WICK_MIN(node.size, (size_t)200), node.at, r->part);
    r->name = wick_arena_strdup(&onnx->arena, r->same ? name : text);
    if (!r->name) return wick_context_fail(ctx, WICK_ERR_NOMEM, "%s: out of memory", onnx->path);
    wick_model *fresh; /* draws what a model of layers would */
    WICK_TRY(wick_model_new(ctx, &fresh));
    const char *why;
    wick_tensor *t =
        wick_model_state(fresh, r->name, WICK_ROLE_PARAM, dtype, r->rank, r->dims, wick_init_linear(fan_in));
    const wick_status status = wick_tensor_error(t, &why);
    if (status == WICK_OK) r->now = wick_retain(t);
    else wick_context_fail(ctx, status, "%s: %s", onnx->path, why);
    wick_model_free(&fresh);
    return status;
}

static void put_in_graph(onnx_block *b, renewal *r) {
    b->weights[b->n_weights++] =
        (struct onnx_weight){.slot = b->n_slots,
                             .value = {.v = {.kind = WICK_VALUE_TENSOR, .tensor = wick_retain(r->now)}},
                             .state = r->name};
    r->was = r->step->in[r->input];
    r->step->in[r->input] = (onnx_ref){0, b->n_slots++};
}
static void take_from_graph(onnx_block *b, const renewal *r) { /* the last one that was put in */
    wick_tensor_free(&b->weights[--b->n_weights].value.v.tensor);
    b->n_slots--;
    r->step->in[r->input] = r->was;
}

static wick_status put_in_model(wick_onnx *onnx, renewal *r) {
    const wick_status status = r->same ? wick_model_replace(onnx->model, r->name, r->now)
                                       : wick_model_adopt(onnx->model, r->name, WICK_ROLE_PARAM, r->now);
    r->in_model = status == WICK_OK;
    if (r->in_model) onnx->info.parameters += wick_tensor_count(r->now) - (r->same ? wick_tensor_count(r->old) : 0);
    return status;
}
static void take_from_model(wick_onnx *onnx, const renewal *r) {
    if (!r->in_model) return;
    if (!r->same) {
        drop_state(onnx, r->name, r->now);
        return;
    }
    onnx->info.parameters += wick_tensor_count(r->old) - wick_tensor_count(r->now);
    /* it takes no memory: it is there */
    if (wick_model_replace(onnx->model, r->name, r->old) != WICK_OK) wick_context_clear_error(onnx->ctx);
}

/* Room for two more weights. */
static wick_status reserve(wick_onnx *onnx) {
    onnx_block *b = onnx->main;
    struct onnx_weight *weights = wick_arena_zalloc(&onnx->arena, (b->n_weights + 2) * sizeof *weights);
    if (!weights) return wick_context_fail(onnx->ctx, WICK_ERR_NOMEM, "%s: out of memory", onnx->path);
    if (b->n_weights) memcpy(weights, b->weights, b->n_weights * sizeof *weights);
    b->weights = weights;
    return WICK_OK;
}

/* Whether the graph can be recorded as it is now: what is behind the head may be made for the old width. */
static wick_status try_head(wick_onnx *onnx, const wick_spec *in, int64_t width) {
    wick_spec *specs = new_specs(onnx);
    if (!specs) return wick_context_fail(onnx->ctx, WICK_ERR_NOMEM, "%s: out of memory", onnx->path);
    onnx_run run = {0};
    wick_status status = specs_of(onnx, in, 0, specs) ? wick_onnx_probe_shapes(onnx, specs, &run) : no_specs(onnx);
    free_specs(onnx, specs);
    if (status == WICK_OK || status == WICK_ERR_NOMEM || status == WICK_ERR_DEADLINE || status == WICK_ERR_CANCELLED)
        return status;
    wick_msg why;
    wick_msg_set(&why, status, "%s", wick_context_error(onnx->ctx));
    return wick_context_fail(onnx->ctx, WICK_ERR_UNSUPPORTED,
                             "%s: made for %lld classes behind its last linear layer: %s", onnx->path, (long long)width,
                             why.text);
}

/* All or nothing: the graph is tried before the model is changed, and what fails is undone. */
static wick_status renew(wick_onnx *onnx, int n, renewal *r, const wick_spec *in, int64_t width) {
    onnx_block *b = onnx->main;
    WICK_TRY(reserve(onnx));
    for (int i = 0; i < n; i++) put_in_graph(b, &r[i]);
    const size_t bytes = slots_bytes(onnx);
    bool *live = wick_calloc(NULL, bytes);
    wick_status status = live ? try_head(onnx, in, width)
                              : wick_context_fail(onnx->ctx, WICK_ERR_NOMEM, "%s: out of memory", onnx->path);
    for (int i = 0; i < n && status == WICK_OK; i++) status = put_in_model(onnx, &r[i]);
    if (status == WICK_OK) prune(onnx, live);
    for (int i = n; i-- > 0 && status != WICK_OK;) {
        take_from_model(onnx, &r[i]);
        take_from_graph(b, &r[i]);
    }
    if (live) wick_release(NULL, live, bytes);
    return status;
}

wick_status wick_onnx_replace_head(wick_onnx *onnx, int64_t classes, const wick_spec *in) {
    wick_context *ctx = onnx->ctx;
    head h;
    if (classes < 1)
        return wick_context_fail(ctx, WICK_ERR_INVALID, "%s: a head of %lld classes", onnx->path, (long long)classes);
    WICK_TRY(find_head(onnx, &h));
    WICK_TRY(measure_head(onnx, in, &h));
    wick_tensor *bias = NULL, *weight = NULL;
    renewal r[2] = {
        {.step = h.linear, .input = 1, .part = "weight", .rank = h.rank},
        {.step = h.bias ? h.bias : h.linear, .input = h.bias_input, .part = "bias", .rank = 1, .dims = {classes}}};
    if (h.bias_input >= 0) state_of(onnx->main, r[1].step->in[h.bias_input].slot, &bias);
    state_of(onnx->main, h.linear->in[1].slot, &weight);
    const wick_dtype dtype = weight && wick_onnx_is_float(weight) ? wick_tensor_dtype(weight)
                             : bias && wick_onnx_is_float(bias)   ? wick_tensor_dtype(bias)
                                                                  : WICK_F32;
    /* The bias has its width in its last dim, or, of a conv with an Add behind it, before those of the extents. */
    int at = 0;
    if (bias) {
        r[1].rank = wick_tensor_rank(bias);
        memcpy(r[1].dims, wick_tensor_dims(bias), (size_t)r[1].rank * sizeof *r[1].dims);
        at = h.bias && h.is_conv ? r[1].rank - (h.rank - 1) : r[1].rank - 1;
    }
    if (h.bias_input >= 0 && (!bias || at < 0 || r[1].dims[at] != h.width))
        return wick_context_fail(
            ctx, WICK_ERR_UNSUPPORTED,
            "%s: what is added to the layer before it is no bias of %lld numbers: no head that can be replaced",
            r[1].step->place, (long long)h.width);
    if (h.bias_input >= 0) r[1].dims[at] = classes;
    int64_t fan_in = h.in;
    memcpy(r[0].dims, h.dims, sizeof h.dims);
    r[0].dims[h.is_conv || h.transposed ? 0 : 1] = classes;
    for (int d = 2; d < h.rank; d++) fan_in *= h.dims[d];
    const int n = h.bias_input >= 0 ? 2 : 1;
    wick_scope *scope = wick_scope_open(ctx);
    wick_status status = scope ? WICK_OK : wick_context_fail(ctx, WICK_ERR_NOMEM, "%s: out of memory", onnx->path);
    for (int i = 0; i < n && status == WICK_OK; i++) status = draw(onnx, &r[i], h.linear, dtype, fan_in);
    if (status == WICK_OK) status = renew(onnx, n, r, in, h.width);
    for (int i = 0; i < n; i++) {
        wick_tensor_free(&r[i].now);
        wick_tensor_free(&r[i].old);
    }
    wick_scope_close(&scope);
    WICK_TRY(status);
    wick_onnx_forget_prepared(onnx);
    wick_onnx_port *out = &onnx->out_ports[0];
    for (int d = 1; d < out->rank; d++)
        if (out->dims[d] == h.width) {
            out->dims[d] = classes;
            break;
        }
    drop_bounds(onnx, followers);
    return WICK_OK;
}
