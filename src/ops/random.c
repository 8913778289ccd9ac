/* random.c: random tensors (what is drawn from their bits is in draws.c): functions of (seed, stream, offset, position)
 * alone. */
#include <math.h>

#include "ops/ops.h"
#include "ops/lowering/steps.h"
#include "wick/ops.h"

static wick_status infer_random(wick_infer *i) {
    memcpy(i->out, i->attr, sizeof *i->out);
    const bool bits = i->op == &wick_op_random_bits;
    if (bits && i->out->dtype != WICK_U64) return wick_infer_fail(i, WICK_ERR_DTYPE, "makes u64");
    if (!bits && i->out->dtype != WICK_F32 && i->out->dtype != WICK_F64)
        return wick_infer_fail(i, WICK_ERR_DTYPE, "makes f32 or f64");
    return WICK_OK;
}
static int64_t run_random(const void *args, void *const *ptr, int64_t begin, int64_t end, void *scratch) {
    (void)scratch;
    const wick_step_random *a = args;
    const uint64_t *slot = ptr[0];
    wick_random_key key = {a->seed, slot[0], slot[1]};
    if (a->bits)
        wick_fill_bits(&key, begin * a->per_task, WICK_MIN(end * a->per_task, a->count), ptr[1]);
    else
        (a->normal ? wick_fill_normal : wick_fill_uniform)(a->type, &key, begin * a->per_task,
                                                           WICK_MIN(end * a->per_task, a->count), ptr[1]);
    return -1;
}
static wick_status lower_random(wick_lower *l, wick_node *node) {
    /* The slot's operand was set by the driver, as for every op with run-time numbers; memory of the result comes
     * after. */
    wick_operand slot = l->operands[node->out[0].id], out;
    WICK_TRY(wick_lower_out(l, node, 0, &out));
    wick_step_random a = {wick_ctype_of((wick_dtype)out.type->dtype),
                          node->op == &wick_op_random_normal,
                          node->op == &wick_op_random_bits,
                          l->ctx->seed,
                          wick_type_count(out.type),
                          8192};
    wick_step step = {.name = node->op->name,
                      .kind = WICK_STEP_RANDOM,
                      .run = run_random,
                      .tasks = (a.count + a.per_task - 1) / a.per_task,
                      .flops = (double)a.count * (a.normal ? 30 : 10),
                      .bytes = (double)wick_type_bytes(out.type)};
    return wick_lower_step(l, &step, &a, sizeof a, (wick_ref[]){{slot.buffer, false, 0}, wick_lower_ref(&out, true)},
                           2);
}
static void sample_random(wick_sample *s) {
    wick_type t = {.dtype = s->random() % 2 ? WICK_F32 : WICK_F64};
    wick_sample_dims(s, &t, 0, 3);
    s->n_in = 0;
    memcpy(s->attr, &t, s->attr_size = sizeof t);
}
static void sample_bits(wick_sample *s) {
    wick_type t = {.dtype = WICK_U64};
    wick_sample_dims(s, &t, 0, 3);
    memcpy(s->attr, &t, s->attr_size = sizeof t);
}
const wick_op wick_op_random_bits = {.name = "random_bits",
                                     .doc = "64 random bits",
                                     .cost = "n",
                                     .n_out = 1,
                                     .flags = WICK_OP_RANDOM,
                                     .infer = infer_random,
                                     .lower = lower_random,
                                     .sample = sample_bits};
const wick_op wick_op_random_uniform = {.name = "random_uniform",
                                        .doc = "uniform in [0, 1)",
                                        .onnx = "RandomUniform",
                                        .torch = "rand",
                                        .cost = "n",
                                        .n_out = 1,
                                        .flags = WICK_OP_RANDOM,
                                        .infer = infer_random,
                                        .lower = lower_random,
                                        .sample = sample_random};
const wick_op wick_op_random_normal = {.name = "random_normal",
                                       .doc = "normal of mean 0 and deviation 1",
                                       .onnx = "RandomNormal",
                                       .torch = "randn",
                                       .cost = "n",
                                       .n_out = 1,
                                       .flags = WICK_OP_RANDOM,
                                       .infer = infer_random,
                                       .lower = lower_random,
                                       .sample = sample_random};

static wick_tensor *record_random(wick_context *ctx, const wick_op *op, wick_dtype dtype, int rank,
                                  const int64_t *dims) {
    wick_type t;
    if (!wick_type_make(&t, dtype, rank, dims))
        return wick_poison(ctx, WICK_ERR_INVALID, "%s: no tensor has this dtype and shape", op->name);
    /* rounded from f32; what would become 1 in [0, 1) is held below */
    const bool half = dtype == WICK_F16 || dtype == WICK_BF16;
    if (half) t.dtype = WICK_F32;
    wick_tensor *x = wick_record_slots(ctx, op, &t, sizeof t, ctx->frame->next_stream++, 0);
    if (half && op == &wick_op_random_uniform)
        x = wick_minimum(x, wick_like(x, dtype == WICK_F16 ? 1 - 0x1p-11 : 1 - 0x1p-8));
    return half ? wick_as(x, dtype) : x;
}
wick_tensor *wick_random_uniform(wick_context *ctx, wick_dtype dtype, int rank, const int64_t *dims) {
    return record_random(ctx, &wick_op_random_uniform, dtype, rank, dims);
}
wick_tensor *wick_random_normal(wick_context *ctx, wick_dtype dtype, int rank, const int64_t *dims) {
    return record_random(ctx, &wick_op_random_normal, dtype, rank, dims);
}

/* What is wrong with dropout's arguments, as a poison; or NULL. */
static wick_tensor *bad_dropout(wick_tensor *x, double p, const char *op) {
    if (!wick_dtype_is_float(wick_tensor_dtype(x)))
        return wick_poison(x->ctx, WICK_ERR_DTYPE, "%s: of %s, which cannot be scaled; cast to a float type first", op,
                           wick_dtype_name(wick_tensor_dtype(x)));
    return p >= 0 && p < 1 ? NULL : wick_poison(x->ctx, WICK_ERR_INVALID, "%s: probability %g is not in [0, 1)", op, p);
}
/* true with the chance 1 - p. */
static wick_tensor *kept(wick_context *ctx, int rank, const int64_t *dims, double p) {
    wick_tensor *u = wick_random_uniform(ctx, WICK_F32, rank, dims);
    return wick_ge(u, wick_like(u, p));
}
wick_tensor *wick_dropout(wick_tensor *x, double p) {
    if (!x || x->error) return x;
    wick_tensor *bad = bad_dropout(x, p, "dropout");
    if (bad || p == 0) return bad ? bad : x;
    return wick_where(kept(x->ctx, wick_tensor_rank(x), wick_tensor_dims(x), p), wick_mul(x, wick_like(x, 1 / (1 - p))),
                      wick_like(x, 0));
}
wick_tensor *wick_dropout_channels(wick_tensor *x, double p) {
    if (!x || x->error) return x;
    wick_tensor *bad = bad_dropout(x, p, "dropout_channels");
    const int rank = wick_tensor_rank(x);
    if (!bad && rank < 2)
        bad = wick_poison(x->ctx, WICK_ERR_SHAPE, "dropout_channels: needs [N, C, ...], not %s", wick_shown_of(x).text);
    if (bad || p == 0) return bad ? bad : x;
    int64_t dims[WICK_MAX_DIMS];
    for (int i = 0; i < rank; i++) dims[i] = i < 2 ? wick_tensor_dim(x, i) : 1;
    return wick_where(kept(x->ctx, rank, dims, p), wick_mul(x, wick_like(x, 1 / (1 - p))), wick_like(x, 0));
}
wick_tensor *wick_alpha_dropout(wick_tensor *x, double p) {
    static const double least = -1.7580993408473766; /* of SELU: -scale alpha */
    if (!x || x->error) return x;
    wick_tensor *bad = bad_dropout(x, p, "alpha_dropout");
    if (bad || p == 0) return bad ? bad : x;
    const double a = 1 / sqrt((1 - p) * (1 + p * least * least)), b = -a * p * least;
    wick_tensor *y = wick_where(kept(x->ctx, wick_tensor_rank(x), wick_tensor_dims(x), p), x, wick_like(x, least));
    return wick_add(wick_mul(y, wick_like(x, a)), wick_like(x, b));
}
