/* draws.c: distributions. What takes a fixed number of uniform numbers is an expression of them; what rejects and draws
 * again is an op of random bits, one number of 64 an element, and of nothing else that is random: it runs again, fuses
 * and checkpoints like any op. */
#include "ops/ops.h"
#include "ops/lowering/steps.h"
#include "wick/ops.h"
#include "wick/shape.h"

enum { TASK = 4096 }; /* elements of a task */

#define DRAW_RUN(name, ...)                                                                                    \
    static int64_t run_##name(const void *args, void *const *ptr, int64_t begin, int64_t end, void *scratch) { \
        const wick_step_draw *d = args;                                                                             \
        const draw_attr *a = &d->attr;                                                                         \
        (void)scratch, (void)a;                                                                                \
        begin *= d->per_task;                                                                                  \
        end = WICK_MIN(end * d->per_task, d->items);                                                           \
        __VA_ARGS__                                                                                            \
    }
DRAW_RUN(gamma, wick_draw_gamma(d->type, begin, end, ptr[0], ptr[1], ptr[2]); return -1;)
DRAW_RUN(truncated, wick_draw_truncated(d->type, a->mean, a->deviation, a->low, a->high, begin, end, ptr[0], ptr[1]);
         return -1;)
DRAW_RUN(integers, wick_draw_integers(a->from, a->range, begin, end, ptr[0], ptr[1]); return -1;)
DRAW_RUN(permutation, wick_draw_permutations(a->count, begin, end, ptr[0], ptr[1]); return -1;)
DRAW_RUN(multinomial, return (a->distinct ? wick_draw_distinct : wick_draw_choices)(d->type, begin, end, d->n, a->count,
                                                                                    ptr[0], ptr[1], ptr[2], scratch);)

static wick_status lower_draw(wick_lower *l, wick_node *node) {
    wick_operand at[3];
    wick_ref refs[3];
    for (int i = 0; i < node->n_in; i++) WICK_TRY(wick_lower_in_contiguous(l, node, i, &at[i]));
    WICK_TRY(wick_lower_out(l, node, 0, &at[node->n_in]));
    for (int i = 0; i <= node->n_in; i++) refs[i] = wick_lower_ref(&at[i], i == node->n_in);
    const wick_operand *out = &at[node->n_in];
    wick_step_draw d;
    memset(&d, 0, sizeof d);
    d.type = wick_ctype_of((wick_dtype)(node->op == &wick_op_random_truncated ? out : &at[0])->type->dtype);
    if (node->attr_size == sizeof d.attr) memcpy(&d.attr, node->attr, sizeof d.attr);
    wick_step step = {.name = node->op->name,
                      .kind = WICK_STEP_DRAW,
                      .bytes = (double)wick_type_bytes(out->type) + (double)wick_type_bytes(at[0].type)};
    d.items = wick_type_count(out->type);
    d.per_task = TASK;
    if (node->op == &wick_op_multinomial) {
        d.n = at[0].type->dims[at[0].type->rank - 1];
        d.items = wick_type_count(out->type) / WICK_MAX(d.attr.count, 1);
        d.per_task = 1 + TASK / WICK_MAX(d.n + d.attr.count, 1);
        step.run = run_multinomial;
        step.scratch = (size_t)d.n * sizeof(double);
        step.fault = WICK_ERR_INVALID;
        step.fault_text = "row %lld has a weight that is negative, NaN or Inf, or too few above 0";
    } else if (node->op == &wick_op_permutation) {
        d.items = wick_type_count(at[0].type);
        d.per_task = 1 + TASK / WICK_MAX(d.attr.count, 1);
        step.run = run_permutation;
    } else
        step.run = node->op == &wick_op_gamma_draw         ? run_gamma
                   : node->op == &wick_op_random_truncated ? run_truncated
                                                           : run_integers;
    step.tasks = (d.items + d.per_task - 1) / d.per_task;
    step.flops = wick_node_flops(node);
    return wick_lower_step(l, &step, &d, sizeof d, refs, node->n_in + 1);
}

static bool are_bits(wick_infer *i, int k) {
    return i->in[k]->dtype == WICK_U64 || (wick_infer_fail(i, WICK_ERR_DTYPE, "the random bits must be u64"), false);
}
static wick_status infer_gamma(wick_infer *i) {
    if (!are_bits(i, 1)) return WICK_ERR_DTYPE;
    if (i->in[0]->dtype != WICK_F32 && i->in[0]->dtype != WICK_F64)
        return wick_infer_fail(i, WICK_ERR_DTYPE, "alpha must be floats; cast");
    if (!wick_same_dims(i->in[0], i->in[1]))
        return wick_infer_fail(i, WICK_ERR_SHAPE, "needs random bits for every alpha");
    *i->out = *i->in[0];
    return WICK_OK;
}
static wick_status infer_from_bits(wick_infer *i) {
    const draw_attr *attr = i->attr;
    if (!are_bits(i, 0)) return WICK_ERR_DTYPE;
    *i->out = *i->in[0];
    i->out->dtype = attr->type.dtype;
    return WICK_OK;
}
static wick_status infer_permutation(wick_infer *i) {
    const draw_attr *attr = i->attr;
    int64_t dims[WICK_MAX_DIMS + 1];
    if (!are_bits(i, 0)) return WICK_ERR_DTYPE;
    memcpy(dims, i->in[0]->dims, sizeof i->in[0]->dims);
    dims[i->in[0]->rank] = attr->count;
    uint16_t device = i->out->device;
    if (attr->count < 0 || !wick_type_set(i->out, WICK_I64, i->in[0]->rank + 1, dims))
        return wick_infer_fail(i, WICK_ERR_SHAPE, "permutations of %lld make no tensor", (long long)attr->count);
    i->out->device = device;
    return WICK_OK;
}
static wick_status infer_multinomial(wick_infer *i) {
    const draw_attr *attr = i->attr;
    const wick_type *w = i->in[0], *u = i->in[1];
    if (w->dtype != WICK_F32 && w->dtype != WICK_F64)
        return wick_infer_fail(i, WICK_ERR_DTYPE, "weights must be floats; cast");
    if (u->dtype != WICK_F64) return wick_infer_fail(i, WICK_ERR_DTYPE, "the uniform numbers must be f64");
    if (w->rank < 1) return wick_infer_fail(i, WICK_ERR_SHAPE, "weights need an axis");
    const int64_t n = w->dims[w->rank - 1];
    if (attr->count < 0 || (attr->distinct && attr->count > n))
        return wick_infer_fail(i, WICK_ERR_SHAPE, "%lld cannot be drawn of %lld%s", (long long)attr->count,
                               (long long)n, attr->distinct ? " without replacement" : "");
    wick_type drawn = *w, uniform = *w;
    drawn.dims[w->rank - 1] = attr->count;
    if (!attr->distinct) uniform = drawn;
    if (!wick_same_dims(&uniform, u))
        return wick_infer_fail(i, WICK_ERR_SHAPE, "the uniform numbers have another shape than what is drawn");
    *i->out = drawn;
    i->out->dtype = WICK_I64;
    return WICK_OK;
}

static double flops_many(const wick_node *node) { return 100.0 * (double)wick_type_count(&node->out[0].type); }
static double flops_permutation(const wick_node *node) { return 25.0 * (double)wick_type_count(&node->out[0].type); }
static double flops_multinomial(const wick_node *node) {
    return (((const draw_attr *)node->attr)->distinct ? 25.0 : 1.0) * (double)wick_type_count(&node->in[0]->type) +
           10.0 * (double)wick_type_count(&node->out[0].type);
}
static void print_truncated(wick_str *s, const wick_node *node) {
    const draw_attr *a = node->attr;
    wick_str_add(s, "mean=%g deviation=%g low=%g high=%g", a->mean, a->deviation, a->low, a->high);
}
static void print_integers(wick_str *s, const wick_node *node) {
    const draw_attr *a = node->attr;
    wick_str_add(s, "from=%lld count=%llu", (long long)a->from, (unsigned long long)a->range);
}
static void print_multinomial(wick_str *s, const wick_node *node) {
    const draw_attr *a = node->attr;
    wick_str_add(s, "count=%lld%s", (long long)a->count, a->distinct ? " distinct" : "");
}
static void print_count(wick_str *s, const wick_node *node) {
    wick_str_add(s, "of=%lld", (long long)((const draw_attr *)node->attr)->count);
}

static draw_attr empty_attr(void) {
    draw_attr a;
    memset(&a, 0, sizeof a);
    return a;
}
static void sample_bits_at(wick_sample *s, int k) {
    s->in[k].dtype = WICK_U64;
    s->lo[k] = 0, s->hi[k] = INT32_MAX;
}
static void sample_gamma(wick_sample *s) {
    s->n_in = 2;
    s->in[0].dtype = s->random() % 2 ? WICK_F64 : WICK_F32;
    wick_sample_dims(s, &s->in[0], 0, 3);
    s->in[1] = s->in[0];
    s->lo[0] = 0.1, s->hi[0] = 3;
    sample_bits_at(s, 1);
}
static void sample_from_bits(wick_sample *s, draw_attr a) {
    s->n_in = 1;
    wick_sample_dims(s, &s->in[0], 0, 3);
    sample_bits_at(s, 0);
    memcpy(s->attr, &a, s->attr_size = sizeof a);
}
static void sample_truncated(wick_sample *s) {
    draw_attr a = empty_attr();
    a.type.dtype = s->random() % 2 ? WICK_F64 : WICK_F32;
    a.mean = wick_sample_int(s, -3, 3), a.deviation = wick_sample_int(s, 1, 2);
    a.low = wick_sample_int(s, -4, 1), a.high = a.low + wick_sample_int(s, 0, 5);
    sample_from_bits(s, a);
}
static void sample_integers(wick_sample *s) {
    draw_attr a = empty_attr();
    a.type.dtype = WICK_I64;
    a.from = wick_sample_int(s, -9, 9), a.range = (uint64_t)wick_sample_int(s, 1, 100);
    sample_from_bits(s, a);
}
static void sample_permutation(wick_sample *s) {
    draw_attr a = empty_attr();
    a.count = wick_sample_int(s, 0, 9);
    sample_from_bits(s, a);
    if (s->in[0].rank == 3) s->in[0].rank = 2, s->in[0].dims[2] = 0;
}
static void sample_multinomial(wick_sample *s) {
    draw_attr a = empty_attr();
    const int64_t rows = wick_sample_int(s, 0, 4), n = wick_sample_int(s, 3, 9);
    a.distinct = s->random() % 2;
    a.count = wick_sample_int(s, 1, a.distinct ? 3 : 7);
    s->n_in = 2;
    s->in[0] = (wick_type){.dtype = s->random() % 2 ? WICK_F64 : WICK_F32, .rank = 2, .dims = {rows, n}};
    s->in[1] = (wick_type){.dtype = WICK_F64, .rank = 2, .dims = {rows, a.distinct ? n : a.count}};
    s->lo[0] = 0.1, s->hi[0] = 2;
    s->lo[1] = 0, s->hi[1] = 0.999;
    memcpy(s->attr, &a, s->attr_size = sizeof a);
}

const wick_op wick_op_gamma_draw = {.name = "gamma_draw",
                                    .doc = "gamma numbers of shape alpha, from random bits",
                                    .torch = "distributions.Gamma",
                                    .cost = "100 n",
                                    .min_in = 2,
                                    .max_in = 2,
                                    .n_out = 1,
                                    .infer = infer_gamma,
                                    .flops = flops_many,
                                    .lower = lower_draw,
                                    .sample = sample_gamma};
const wick_op wick_op_random_truncated = {.name = "random_truncated",
                                          .doc = "normal numbers within bounds, from random bits",
                                          .torch = "nn.init.trunc_normal_",
                                          .cost = "100 n",
                                          .min_in = 1,
                                          .max_in = 1,
                                          .n_out = 1,
                                          .infer = infer_from_bits,
                                          .flops = flops_many,
                                          .lower = lower_draw,
                                          .print = print_truncated,
                                          .sample = sample_truncated};
const wick_op wick_op_random_integers = {.name = "random_integers",
                                         .doc = "whole numbers of a range, from random bits",
                                         .torch = "randint",
                                         .cost = "n",
                                         .min_in = 1,
                                         .max_in = 1,
                                         .n_out = 1,
                                         .infer = infer_from_bits,
                                         .lower = lower_draw,
                                         .print = print_integers,
                                         .sample = sample_integers};
const wick_op wick_op_permutation = {.name = "permutation",
                                     .doc = "random orders of 0 to count - 1, from random bits",
                                     .torch = "randperm",
                                     .cost = "25 n",
                                     .min_in = 1,
                                     .max_in = 1,
                                     .n_out = 1,
                                     .infer = infer_permutation,
                                     .flops = flops_permutation,
                                     .lower = lower_draw,
                                     .print = print_count,
                                     .sample = sample_permutation};
const wick_op wick_op_multinomial = {.name = "multinomial",
                                     .doc = "places of weights by their chance, from uniform numbers",
                                     .onnx = "Multinomial",
                                     .torch = "multinomial",
                                     .cost = "m + 10 n; distinct 25 m + 10 n",
                                     .min_in = 2,
                                     .max_in = 2,
                                     .n_out = 1,
                                     .flags = WICK_OP_FAULTS,
                                     .infer = infer_multinomial,
                                     .flops = flops_multinomial,
                                     .lower = lower_draw,
                                     .print = print_multinomial,
                                     .sample = sample_multinomial};

/* ---- public ------------------------------------------------------------------------------------------------------ */

static wick_dtype wide(wick_dtype d) { return d == WICK_F64 ? WICK_F64 : WICK_F32; }

/* Random bits for every element of a shape. */
static wick_tensor *bits_of(wick_context *ctx, const char *op, int rank, const int64_t *dims) {
    wick_type t;
    if (!wick_type_make(&t, WICK_U64, rank, dims))
        return wick_poison(ctx, WICK_ERR_INVALID, "%s: no tensor has this shape", op);
    return wick_record_slots(ctx, &wick_op_random_bits, &t, sizeof t, ctx->frame->next_stream++, 0);
}

wick_tensor *wick_random_bits(wick_context *ctx, int rank, const int64_t *dims) {
    return bits_of(ctx, "random_bits", rank, dims);
}

wick_tensor *wick_random_bernoulli(wick_tensor *p) {
    if (!p || p->error) return p;
    const wick_dtype dtype = wick_tensor_dtype(p);
    if (!wick_dtype_is_float(dtype))
        return wick_poison(p->ctx, WICK_ERR_DTYPE, "random_bernoulli: chances are floats, not %s; cast",
                           wick_dtype_name(dtype));
    wick_tensor *u = wick_random_uniform(p->ctx, wide(dtype), wick_tensor_rank(p), wick_tensor_dims(p));
    return wick_cast(wick_lt(u, wick_as(wick_stop_gradient(p), wide(dtype))), dtype);
}

wick_tensor *wick_random_exponential(wick_context *ctx, wick_dtype dtype, int rank, const int64_t *dims, double rate) {
    if (!wick_dtype_is_float(dtype))
        return wick_poison(ctx, WICK_ERR_DTYPE, "random_exponential: makes floats, not %s", wick_dtype_name(dtype));
    if (!(rate > 0)) return wick_poison(ctx, WICK_ERR_INVALID, "random_exponential: a rate of %g is not above 0", rate);
    wick_tensor *u = wick_random_uniform(ctx, wide(dtype), rank, dims);
    return wick_as(wick_mul(wick_log1p(wick_neg(u)), wick_like(u, -1 / rate)), dtype);
}

wick_tensor *wick_random_truncated_normal(wick_context *ctx, wick_dtype dtype, int rank, const int64_t *dims,
                                          double mean, double deviation, double low, double high) {
    if (!wick_dtype_is_float(dtype))
        return wick_poison(ctx, WICK_ERR_DTYPE, "random_truncated_normal: makes floats, not %s",
                           wick_dtype_name(dtype));
    if (!(deviation > 0) || !(low <= high) || !(mean - mean == 0) || !(deviation - deviation == 0))
        return wick_poison(ctx, WICK_ERR_INVALID, "random_truncated_normal: mean %g, deviation %g, from %g to %g", mean,
                           deviation, low, high);
    draw_attr a = empty_attr();
    a.type.dtype = (uint8_t)wide(dtype);
    a.mean = mean, a.deviation = deviation, a.low = low, a.high = high;
    wick_tensor *bits = bits_of(ctx, "random_truncated_normal", rank, dims);
    return wick_as(wick_record(ctx, &wick_op_random_truncated, 1, &bits, &a, sizeof a), dtype);
}

wick_tensor *wick_random_integers(wick_context *ctx, wick_dtype dtype, int rank, const int64_t *dims, int64_t low,
                                  int64_t high) {
    if (!wick_dtype_bits(dtype))
        return wick_poison(ctx, WICK_ERR_INVALID, "random_integers: there is no dtype %d", (int)dtype);
    if (low >= high)
        return wick_poison(ctx, WICK_ERR_INVALID, "random_integers: nothing is from %lld to below %lld", (long long)low,
                           (long long)high);
    draw_attr a = empty_attr();
    a.type.dtype = WICK_I64;
    a.from = low, a.range = (uint64_t)high - (uint64_t)low;
    wick_tensor *bits = bits_of(ctx, "random_integers", rank, dims);
    return wick_as(wick_record(ctx, &wick_op_random_integers, 1, &bits, &a, sizeof a), dtype);
}

/* At a fixed place of the distribution, which is not how the draw itself moves: that rejects. */
static void gamma_moves(void *user, wick_tensor *g, wick_tensor *y, int n, wick_tensor *const *xs, wick_tensor **gx) {
    (void)user, (void)n;
    gx[0] = wick_mul(g, wick_gamma_slope(xs[0], y));
}
wick_tensor *wick_random_gamma(wick_tensor *alpha) {
    if (!alpha || alpha->error) return alpha;
    const wick_dtype dtype = wick_tensor_dtype(alpha);
    if (!wick_dtype_is_float(dtype))
        return wick_poison(alpha->ctx, WICK_ERR_DTYPE, "random_gamma: alpha is %s; it needs floats: cast",
                           wick_dtype_name(dtype));
    wick_tensor *bits = bits_of(alpha->ctx, "random_gamma", wick_tensor_rank(alpha), wick_tensor_dims(alpha));
    wick_tensor *in[2] = {wick_as(alpha, wide(dtype)), bits};
    return wick_as(
        wick_custom_gradient(wick_record(NULL, &wick_op_gamma_draw, 2, in, NULL, 0), 1, in, gamma_moves, NULL), dtype);
}

wick_tensor *wick_random_permutation(wick_context *ctx, int64_t n) {
    draw_attr a = empty_attr();
    a.count = n;
    if (n < 0) return wick_poison(ctx, WICK_ERR_INVALID, "random_permutation: of %lld", (long long)n);
    wick_tensor *bits = bits_of(ctx, "random_permutation", WICK_SCALAR);
    return wick_record(ctx, &wick_op_permutation, 1, &bits, &a, sizeof a);
}

wick_tensor *wick_random_shuffle(wick_tensor *x, int axis) {
    if (!x || x->error) return x;
    const int rank = wick_tensor_rank(x), a = wick_axis(axis, rank);
    if (a < 0) return wick_poison(x->ctx, WICK_ERR_SHAPE, "random_shuffle: axis %d of a %d-d tensor", axis, rank);
    return wick_gather(x, a, wick_random_permutation(x->ctx, wick_tensor_dim(x, a)));
}

wick_tensor *wick_multinomial(wick_tensor *weights, int64_t count, bool replacement) {
    if (!weights || weights->error) return weights;
    const wick_dtype dtype = wick_tensor_dtype(weights);
    const int rank = wick_tensor_rank(weights);
    if (!wick_dtype_is_float(dtype))
        return wick_poison(weights->ctx, WICK_ERR_DTYPE, "multinomial: weights are %s; it needs floats: cast",
                           wick_dtype_name(dtype));
    if (rank < 1) return wick_poison(weights->ctx, WICK_ERR_SHAPE, "multinomial: weights are 0-d; they need an axis");
    if (count < 0 || count > INT64_MAX / 16)
        return wick_poison(weights->ctx, WICK_ERR_INVALID, "multinomial: %lld draws", (long long)count);
    int64_t dims[WICK_MAX_DIMS];
    memcpy(dims, wick_tensor_dims(weights), (size_t)rank * sizeof *dims);
    if (replacement) dims[rank - 1] = count;
    draw_attr a = empty_attr();
    a.count = count, a.distinct = !replacement;
    wick_tensor *in[2] = {wick_as(weights, wide(dtype)), wick_random_uniform(weights->ctx, WICK_F64, rank, dims)};
    return wick_record(NULL, &wick_op_multinomial, 2, in, &a, sizeof a);
}

/* Standard Gumbel numbers in the shape of logits, which are of a dtype that computes. u = 0 gives -Inf: never the
 * largest. */
static wick_tensor *gumbel_like(const wick_tensor *logits) {
    wick_tensor *u =
        wick_random_uniform(logits->ctx, wick_tensor_dtype(logits), wick_tensor_rank(logits), wick_tensor_dims(logits));
    return wick_neg(wick_log(wick_neg(wick_log(u))));
}
wick_tensor *wick_random_categorical(wick_tensor *logits) {
    if (!logits || logits->error) return logits;
    const wick_dtype dtype = wick_tensor_dtype(logits);
    if (!wick_dtype_is_float(dtype))
        return wick_poison(logits->ctx, WICK_ERR_DTYPE, "random_categorical: logits are %s; it needs floats: cast",
                           wick_dtype_name(dtype));
    if (wick_tensor_rank(logits) < 1 || wick_tensor_dim(logits, -1) < 1)
        return wick_poison(logits->ctx, WICK_ERR_SHAPE, "random_categorical: logits need a last axis that isn't empty");
    logits = wick_as(logits, wide(dtype));
    return wick_argmax(wick_add(logits, gumbel_like(logits)), -1, false);
}
wick_tensor *wick_gumbel_softmax(wick_tensor *logits, double temperature, bool hard, int axis) {
    if (!logits || logits->error) return logits;
    const wick_dtype dtype = wick_tensor_dtype(logits);
    const int rank = wick_tensor_rank(logits), at = wick_axis(axis, rank);
    if (!wick_dtype_is_float(dtype))
        return wick_poison(logits->ctx, WICK_ERR_DTYPE, "gumbel_softmax: logits are %s; it needs floats: cast",
                           wick_dtype_name(dtype));
    if (at < 0) return wick_poison(logits->ctx, WICK_ERR_SHAPE, "gumbel_softmax: axis %d of a %d-d tensor", axis, rank);
    if (!(temperature > 0))
        return wick_poison(logits->ctx, WICK_ERR_INVALID, "gumbel_softmax: a temperature of %g", temperature);
    logits = wick_as(logits, wide(dtype));
    wick_tensor *soft = wick_div(wick_add(logits, gumbel_like(logits)), wick_like(logits, temperature));
    soft = wick_softmax(soft, at);
    if (!hard || wick_tensor_dim(logits, at) < 1) return wick_as(soft, dtype);
    wick_tensor *one =
        wick_move_axis(wick_one_hot(wick_argmax(soft, at, false), wick_tensor_dim(logits, at), wide(dtype)), -1, at);
    return wick_as(wick_add(one, wick_sub(soft, wick_stop_gradient(soft))), dtype);
}
