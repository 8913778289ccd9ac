/* elementwise.c: the ops of the table: one function and one definition per row. */
#include <math.h>

#include "ops/ops.h"
#include "wick/ops.h"

/* ---- shapes and dtypes ------------------------------------------------------------------------------------------- */

bool wick_broadcast(wick_type *into, const wick_type *with) {
    wick_type a = *into, b = *with;
    int rank = WICK_MAX(a.rank, b.rank);
    for (int i = 0; i < rank; i++) {
        int ka = i - (rank - a.rank), kb = i - (rank - b.rank);
        int64_t da = ka < 0 ? 1 : a.dims[ka], db = kb < 0 ? 1 : b.dims[kb];
        if (da != db && da != 1 && db != 1) return false;
        into->dims[i] = da == 1 ? db : da;
    }
    into->rank = (uint8_t)rank;
    return true;
}

wick_tensor *wick_as(wick_tensor *x, wick_dtype dtype) {
    if (!x || x->error || x->value->type.dtype == dtype) return x;
    if (wick_dtype_is_stored(x->value->type.dtype)) /* only casts that are asked for leave it */
        return wick_poison(x->ctx, WICK_ERR_DTYPE, "%s is for storage: cast to compute", wick_shown_of(x).text);
    return wick_cast(x, dtype);
}

bool wick_promote_pair(wick_tensor **a, wick_tensor **b, const char *op) {
    if (!*a || !*b || (*a)->error || (*b)->error) {
        wick_tensor *good = *a && !(*a)->error ? *a : NULL; /* then *b is the bad one */
        if (good)
            *a = *b ? *b : wick_poison(good->ctx, WICK_ERR_INVALID, "%s: argument 2 is NULL", op);
        else if (!*a && *b)
            *a = (*b)->error ? *b : wick_poison((*b)->ctx, WICK_ERR_INVALID, "%s: argument 1 is NULL", op);
        return false;
    }
    wick_dtype da = wick_tensor_dtype(*a), db = wick_tensor_dtype(*b);
    if (da == db) return true;
    wick_dtype both = wick_dtype_promote(da, db);
    if (both == WICK_DTYPE_COUNT) {
        const bool stored = wick_dtype_is_stored(da) || wick_dtype_is_stored(db);
        *a = wick_poison((*a)->ctx, WICK_ERR_DTYPE, "%s: %s %s and %s; cast one of them", op,
                         stored ? "dtypes for storage are not promoted:" : "no dtype holds both", wick_dtype_name(da),
                         wick_dtype_name(db));
        return false;
    }
    *a = wick_as(*a, both);
    *b = wick_as(*b, both);
    return true;
}

enum { FLOAT, WIDE, ARITH, ANY, INTS, BITS, LOGIC, SELECT };
enum { SAME, PLAIN, BOOL };
typedef struct row {
    const char *name;
    uint8_t arity, types, result;
    double lo, hi;
} row;
#define ROW(name_, arity_, types_, result_, expr, grads, lo_, hi_, ...) {#name_, arity_, types_, result_, lo_, hi_},
static const row rows[WICK_EW_COUNT] = {WICK_EW_TABLE(ROW)};

static wick_status infer_elementwise(wick_infer *i) {
    const row *r = &rows[i->op->ew];
    int last = i->n_in - 1;
    *i->out = *i->in[last];
    for (int k = 0; k < last; k++)
        if (!wick_broadcast(i->out, i->in[k])) return wick_infer_fail(i, WICK_ERR_SHAPE, "shapes do not broadcast");
    if (r->types == SELECT && i->in[0]->dtype != WICK_BOOL)
        return wick_infer_fail(i, WICK_ERR_DTYPE, "the condition must be bool");
    for (int k = r->types == SELECT; k < last; k++)
        if (i->in[k]->dtype != i->in[last]->dtype)
            return wick_infer_fail(i, WICK_ERR_DTYPE, "inputs have different dtypes");
    if (!wick_ew_has((wick_ew)i->op->ew, wick_ctype_of((wick_dtype)i->in[last]->dtype)))
        return wick_infer_fail(i, WICK_ERR_DTYPE, "not defined for %s",
                               wick_dtype_name((wick_dtype)i->in[last]->dtype));
    if (r->types == WIDE && wick_dtype_size((wick_dtype)i->out->dtype) < 4)
        return wick_infer_fail(i, WICK_ERR_DTYPE,
                               "not defined for %s, which is computed in f32 and has other neighbours",
                               wick_dtype_name((wick_dtype)i->out->dtype));
    i->out->dtype = r->result == BOOL ? WICK_BOOL : i->in[last]->dtype;
    return WICK_OK;
}

/* The dtype a row computes in, for inputs of dtype d. */
static wick_dtype admit(const row *r, wick_dtype d) {
    if (wick_dtype_is_stored(d)) return d; /* to be refused with the op's name */
    if ((r->types == FLOAT || r->types == WIDE) && !wick_dtype_is_float(d)) return WICK_F32;
    if ((r->types == ARITH || r->types == INTS) && d == WICK_BOOL) return WICK_I32;
    if (r->types == LOGIC) return WICK_BOOL;
    return d;
}

/* Integers are whole: rounding gives them as they are, not as f32, which would lose some. */
static bool is_rounded(wick_ew op, const wick_tensor *a) {
    return (op == WICK_EW_floor || op == WICK_EW_ceil || op == WICK_EW_round || op == WICK_EW_trunc) &&
           wick_dtype_is_integer(wick_tensor_dtype(a)) && !wick_dtype_is_stored(wick_tensor_dtype(a));
}
static wick_tensor *unary(wick_ew op, wick_tensor *a) {
    if (a && !a->error && is_rounded(op, a)) return a;
    if (a && !a->error) a = wick_as(a, admit(&rows[op], wick_tensor_dtype(a)));
    return wick_record(NULL, &wick_ew_ops[op], 1, &a, NULL, 0);
}
static wick_tensor *binary(wick_ew op, wick_tensor *a, wick_tensor *b) {
    if (!wick_promote_pair(&a, &b, rows[op].name)) return wick_record(NULL, &wick_ew_ops[op], 1, &a, NULL, 0);
    wick_dtype d = admit(&rows[op], wick_tensor_dtype(a));
    wick_tensor *in[2] = {wick_as(a, d), wick_as(b, d)};
    return wick_record(NULL, &wick_ew_ops[op], 2, in, NULL, 0);
}
static wick_tensor *ternary(wick_ew op, wick_tensor *a, wick_tensor *b, wick_tensor *c) {
    wick_tensor *in[3] = {a, b, c};
    const bool selects = rows[op].types == SELECT;
    if (!wick_promote_pair(&in[1], &in[2], rows[op].name))
        return wick_record(NULL, &wick_ew_ops[op], 1, &in[1], NULL, 0);
    if (selects) {
        in[0] = wick_as(a, WICK_BOOL);
        return wick_record(NULL, &wick_ew_ops[op], 3, in, NULL, 0);
    }
    for (int i = 1; i < 3; i++) /* the second round brings what the first made of a to the others */
        if (!wick_promote_pair(&in[0], &in[i], rows[op].name))
            return wick_record(NULL, &wick_ew_ops[op], 1, &in[0], NULL, 0);
    wick_dtype d = admit(&rows[op], wick_tensor_dtype(in[0]));
    for (int i = 0; i < 3; i++) in[i] = wick_as(in[i], d);
    return wick_record(NULL, &wick_ew_ops[op], 3, in, NULL, 0);
}

#define FUNCTION1(name) \
    wick_tensor *wick_##name(wick_tensor *a) { return unary(WICK_EW_##name, a); }
#define FUNCTION2(name) \
    wick_tensor *wick_##name(wick_tensor *a, wick_tensor *b) { return binary(WICK_EW_##name, a, b); }
#define FUNCTION3(name)                                                                                                \
    wick_tensor *wick_##name(wick_tensor *a, wick_tensor *b, wick_tensor *c) {                                         \
        return ternary(WICK_EW_##name, a, b, c);                                                                       \
    }
#define FUNCTION(name, arity, ...) FUNCTION##arity(name)
WICK_EW_TABLE(FUNCTION)

/* ---- gradients --------------------------------------------------------------------------------------------------- */

/* 1 where a wins, 0.5 where they tie: how maximum shares its gradient. */
static wick_tensor *wick_ties(wick_tensor *a, wick_tensor *b) {
    return wick_where(wick_gt(a, b), wick_like(a, 1), wick_where(wick_eq(a, b), wick_like(a, 0.5), wick_like(a, 0)));
}
/* Which elements of fmax (largest) and fmin are a's: ties are too. */
static wick_tensor *wick_first(wick_tensor *a, wick_tensor *b, bool largest) {
    return wick_logical_or(largest ? wick_ge(a, b) : wick_le(a, b), wick_isnan(b));
}
static wick_tensor *wick_inside(wick_tensor *a, wick_tensor *lo, wick_tensor *hi) {
    return wick_logical_and(wick_ge(a, lo), wick_le(a, hi));
}
/* x / (a^2 + b^2) without overflow between, 0 at the origin, where no angle has a slope. */
static wick_tensor *wick_angle_slope(wick_tensor *x, wick_tensor *a, wick_tensor *b) {
    wick_tensor *h = wick_hypot(a, b), *safe = wick_where(wick_eq(h, wick_like(h, 0)), wick_like(h, 1), h);
    return wick_div(wick_div(x, safe), safe);
}
/* With s = sigmoid(u), u = x (k + c x^2): s + x s (1 - s) (k + 3 c x^2) */
static wick_tensor *wick_gelu_tanh_slope(wick_tensor *a) {
    /* beyond, the slope is 0 or 1 to the last bit, and squares overflow f16 */
    a = wick_clamp(a, wick_like(a, -32), wick_like(a, 32));
    wick_tensor *square = wick_square(a), *k = wick_like(a, 1.5957691216057308),
                *c = wick_like(a, 0.071354816272600280);
    wick_tensor *s = wick_sigmoid(wick_mul(a, wick_add(wick_mul(square, c), k)));
    wick_tensor *du = wick_add(wick_mul(square, wick_like(a, 3 * 0.071354816272600280)), k);
    return wick_add(s, wick_mul(wick_mul(a, du), wick_mul(s, wick_sub(wick_like(a, 1), s))));
}
/* With t = tanh(softplus(x)): t + x sigmoid(x) (1 - t^2) */
static wick_tensor *wick_mish_slope(wick_tensor *a) {
    wick_tensor *t = wick_tanh(wick_softplus(a));
    return wick_add(t, wick_mul(wick_mul(a, wick_sigmoid(a)), wick_sub(wick_like(a, 1), wick_square(t))));
}
#define NUM(x) wick_like(a, x)
#define NUMG(x) wick_like(g, x)
#define G0
#define G1(da) \
    if (q->need[0]) q->gin[0] = (da);
#define G2(da, db) \
    G1(da)         \
    if (q->need[1]) q->gin[1] = (db);
#define G3(da, db, dc) \
    G2(da, db)         \
    if (q->need[2]) q->gin[2] = (dc);
#define GRADIENT(name, arity, types, result, expr, grads, ...)                                                        \
    static void grad_##name(wick_gradient *q) {                                                                       \
        wick_tensor *a = q->in[0], *b = arity > 1 ? q->in[arity > 1] : NULL, *c = arity > 2 ? q->in[arity - 1] : NULL; \
        wick_tensor *y = q->out[0], *g = q->gout[0];                                                                  \
        (void)a, (void)b, (void)c, (void)y, (void)g;                                                                  \
        grads                                                                                                         \
    }
WICK_EW_TABLE(GRADIENT)

/* ---- samples and definitions ------------------------------------------------------------------------------------- */

static void sample_elementwise(wick_sample *s, wick_ew op) {
    static const wick_dtype floats[] = {WICK_F64, WICK_F32},
                            ariths[] = {WICK_F64, WICK_F32, WICK_I32, WICK_I64, WICK_U64, WICK_U8},
                            anys[] = {WICK_F64, WICK_F32, WICK_I32, WICK_I64, WICK_U64, WICK_BOOL, WICK_I8},
                            bools[] = {WICK_BOOL},
                            ints[] = {WICK_I32, WICK_I64, WICK_U64, WICK_U8, WICK_I16, WICK_BOOL};
    static const struct {
        const wick_dtype *list;
        int n;
    } choice[] = {[FLOAT] = {floats, 2}, [WIDE] = {floats, 2}, [ARITH] = {ariths, 6}, [ANY] = {anys, 7},
                  [INTS] = {ints, 5},    [BITS] = {ints, 6},   [LOGIC] = {bools, 1},  [SELECT] = {anys, 7}};
    const row *r = &rows[op];
    wick_dtype d = choice[r->types].list[s->random() % (uint64_t)choice[r->types].n];
    wick_type full = {.dtype = (uint8_t)d};
    wick_sample_dims(s, &full, 0, 4);
    s->n_in = r->arity;
    for (int i = 0; i < r->arity; i++) {
        s->in[i] = full;
        if (r->types == SELECT && i == 0) s->in[i].dtype = WICK_BOOL;
        s->lo[i] = d == WICK_BOOL || s->in[i].dtype == WICK_BOOL ? 0 : r->lo;
        s->hi[i] = d == WICK_BOOL || s->in[i].dtype == WICK_BOOL ? 1 : r->hi;
        if ((d == WICK_U64 || d == WICK_U8) && s->lo[i] < 0) s->lo[i] = 0;
        if (i == 0) continue;
        for (int k = 0; k < full.rank; k++) /* broadcast some dims, and sometimes drop leading ones */
            if (s->random() % 4 == 0) s->in[i].dims[k] = 1;
        if (full.rank && s->random() % 4 == 0) {
            memmove(s->in[i].dims, s->in[i].dims + 1, sizeof s->in[i].dims - sizeof s->in[i].dims[0]);
            s->in[i].dims[WICK_MAX_DIMS - 1] = 0;
            s->in[i].rank--;
        }
    }
    s->differentiable = d == WICK_F64 && r->result == SAME;
}
#define SAMPLE(name, ...) \
    static void sample_##name(wick_sample *s) { sample_elementwise(s, WICK_EW_##name); }
WICK_EW_TABLE(SAMPLE)

#define DEFINE(name_, arity_, types_, result_, expr, grads, lo, hi, doc_, onnx_, torch_)                               \
    [WICK_EW_##name_] = {.name = #name_,                                                                               \
                         .doc = doc_,                                                                                  \
                         .onnx = onnx_,                                                                                \
                         .torch = torch_,                                                                              \
                         .min_in = arity_,                                                                             \
                         .max_in = arity_,                                                                             \
                         .n_out = 1,                                                                                   \
                         .flags = WICK_OP_ELEMENTWISE | (types_ == SELECT ? WICK_OP_MOVES : 0),                        \
                         .ew = WICK_EW_##name_,                                                                        \
                         .infer = infer_elementwise,                                                                   \
                         .grad = result_ == SAME ? grad_##name_ : NULL,                                                \
                         .lower = wick_lower_elementwise,                                                              \
                         .sample = sample_##name_},
const wick_op wick_ew_ops[WICK_EW_COUNT] = {WICK_EW_TABLE(DEFINE)};

/* ---- cast -------------------------------------------------------------------------------------------------------- */

static wick_status infer_cast(wick_infer *i) {
    *i->out = *i->in[0];
    i->out->dtype = (uint8_t)*(const uint64_t *)i->attr;
    return WICK_OK;
}
static void grad_cast(wick_gradient *g) {
    if (wick_dtype_is_float(wick_tensor_dtype(g->out[0])))
        g->gin[0] = wick_cast(g->gout[0], wick_tensor_dtype(g->in[0]));
}
static wick_status lower_cast(wick_lower *l, wick_node *node) {
    if (wick_node_fuses(node)) return wick_lower_elementwise(l, node);
    wick_operand in, out;
    WICK_TRY(wick_lower_in_contiguous(l, node, 0, &in));
    WICK_TRY(wick_lower_out(l, node, 0, &out));
    return wick_lower_copy(l, &in, &out);
}
static void print_cast(wick_str *s, const wick_node *node) {
    wick_str_add(s, "to=%s", wick_dtype_name((wick_dtype) * (const uint64_t *)node->attr));
}
static void sample_cast(wick_sample *s) {
    s->n_in = 1;
    uint64_t to = s->random() % WICK_I4; /* packed ones have no strides to try */
    s->in[0].dtype = (uint8_t)(s->random() % WICK_I4);
    if (s->random() % 8 == 0) to = s->in[0].dtype = WICK_F64; /* the pair that differences can check */
    wick_sample_dims(s, &s->in[0], 0, 3);
    int64_t least = -1, most;
    bool is_bool = s->in[0].dtype == WICK_BOOL,
         is_unsigned =
             s->in[0].dtype == WICK_U64 || (wick_narrow_range((wick_dtype)s->in[0].dtype, &least, &most) && least == 0);
    s->lo[0] = is_bool || is_unsigned ? 0 : -3;
    if (to == WICK_F8_E8M0 || s->in[0].dtype == WICK_F8_E8M0) s->lo[0] = 1; /* it has nothing else */
    s->hi[0] = is_bool ? 1 : 3;
    memcpy(s->attr, &to, sizeof to);
    s->attr_size = sizeof to;
    s->differentiable = s->in[0].dtype == WICK_F64 && to == WICK_F64;
}
const wick_op wick_op_cast = {.name = "cast",
                              .doc = "another dtype",
                              .onnx = "Cast",
                              .torch = "Tensor.to",
                              .min_in = 1,
                              .max_in = 1,
                              .n_out = 1,
                              .flags = WICK_OP_ELEMENTWISE | WICK_OP_MOVES | WICK_OP_WHOLE,
                              .ew = WICK_FUSED_CAST,
                              .infer = infer_cast,
                              .grad = grad_cast,
                              .flops = wick_no_flops,
                              .lower = lower_cast,
                              .print = print_cast,
                              .sample = sample_cast};

wick_tensor *wick_cast(wick_tensor *x, wick_dtype dtype) {
    if (x && !x->error && !wick_dtype_bits(dtype))
        return wick_poison(x->ctx, WICK_ERR_INVALID, "cast: there is no dtype %d", (int)dtype);
    uint64_t to = dtype;
    /* Kernels saturate in the type they compute in, and store the low bits of that: a narrower integer is bounded
     * first. */
    int64_t least, most;
    const wick_ctype from = x && !x->error ? wick_ctype_of(wick_tensor_dtype(x)) : WICK_CI32;
    if ((from == WICK_CF32 || from == WICK_CF64) && wick_narrow_range(dtype, &least, &most)) {
        x = wick_cast(x, dtype == WICK_U32 ? WICK_U64 : WICK_I32);
        /* one after the other: compilers differ in the order of arguments */
        x = wick_maximum(x, wick_like(x, (double)least));
        x = wick_minimum(x, wick_like(x, (double)most));
    }
    return wick_record(NULL, &wick_op_cast, 1, &x, &to, sizeof to);
}

/* The finite numbers of a dtype; of the 64-bit integers, the nearest to their ends. */
static const struct {
    double least, most;
} ranges[WICK_DTYPE_COUNT] = {
    [WICK_F32] = {-0x1.fffffep127, 0x1.fffffep127},
    [WICK_F64] = {-0x1.fffffffffffffp1023, 0x1.fffffffffffffp1023},
    [WICK_F16] = {-65504, 65504},
    [WICK_BF16] = {-0x1.fep127, 0x1.fep127},
    [WICK_I8] = {INT8_MIN, INT8_MAX},
    [WICK_I16] = {INT16_MIN, INT16_MAX},
    [WICK_I32] = {INT32_MIN, INT32_MAX},
    [WICK_I64] = {-0x1p63, 0x1p63},
    [WICK_U8] = {0, UINT8_MAX},
    [WICK_U16] = {0, UINT16_MAX},
    [WICK_U32] = {0, UINT32_MAX},
    [WICK_U64] = {0, 0x1p64},
    [WICK_BOOL] = {0, 1},
    [WICK_F8_E4M3FN] = {-448, 448},
    [WICK_F8_E4M3FNUZ] = {-240, 240},
    [WICK_F8_E5M2] = {-57344, 57344},
    [WICK_F8_E5M2FNUZ] = {-57344, 57344},
    [WICK_F8_E8M0] = {0x1p-127, 0x1p127},
    [WICK_F4_E2M1] = {-6, 6},
    [WICK_I4] = {-8, 7},
    [WICK_U4] = {0, 15},
    [WICK_I2] = {-2, 1},
    [WICK_U2] = {0, 3},
};

wick_tensor *wick_cast_saturate(wick_tensor *x, wick_dtype dtype) {
    if (!x || x->error || (unsigned)dtype >= WICK_DTYPE_COUNT) return wick_cast(x, dtype);
    if (wick_dtype_is_stored(wick_tensor_dtype(x)))
        x = wick_cast(x, wick_dtype_is_integer(wick_tensor_dtype(x)) ? WICK_I32 : WICK_F32);
    const wick_dtype from = wick_tensor_dtype(x);
    /* has no numbers up to 0; its least is a denormal, which all but a choice may take for 0 */
    if (dtype == WICK_F8_E8M0) {
        x = wick_as(x, WICK_F32);
        x = wick_minimum(x, wick_like(x, ranges[dtype].most));
        return wick_cast(wick_where(wick_le(x, wick_like(x, 0)), wick_like(x, ranges[dtype].least), x), dtype);
    }
    const bool floats = wick_dtype_is_float(from);
    if (from == WICK_BOOL || dtype == WICK_BOOL || (floats && wick_dtype_is_integer(dtype))) return wick_cast(x, dtype);
    if (floats) x = wick_as(x, from == WICK_F64 || dtype == WICK_F64 ? WICK_F64 : WICK_F32); /* which has the bounds */
    if (floats || ranges[from].least < ranges[dtype].least) x = wick_maximum(x, wick_like(x, ranges[dtype].least));
    if (floats || ranges[from].most > ranges[dtype].most) /* 2^63 - 1 is no f64 */
        x = wick_minimum(x, dtype == WICK_I64 ? wick_from(x->ctx, WICK_U64, 0, NULL, &(uint64_t){INT64_MAX})
                                              : wick_like(x, ranges[dtype].most));
    return wick_cast(x, dtype);
}

void wick_sample_dims(wick_sample *s, wick_type *type, int min_rank, int max_rank) {
    type->rank = (uint8_t)wick_sample_int(s, min_rank, max_rank);
    for (int i = 0; i < type->rank; i++) type->dims[i] = s->random() % 16 == 0 ? 0 : wick_sample_int(s, 1, 5);
}
