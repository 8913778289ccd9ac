/* fft.c: Fourier transforms of the last axis as ops, and the public ones of any axis and length. */
#include "ops/ops.h"
#include "wick/ops.h"
#include "wick/signal.h"

static wick_fourier_what what_of(const wick_op *op) {
    return op == &wick_op_fft ? WICK_FFT_COMPLEX : op == &wick_op_rfft ? WICK_FFT_REAL : WICK_FFT_HERMITIAN;
}

static wick_status infer_fft(wick_infer *i) {
    const fft_attr *attr = i->attr;
    const wick_type *x = i->in[0];
    const wick_fourier_what what = what_of(i->op);
    const bool pairs = what != WICK_FFT_REAL;
    if (x->dtype != WICK_F32 && x->dtype != WICK_F64) return wick_infer_fail(i, WICK_ERR_DTYPE, "needs floats");
    if (x->rank < 1 + pairs)
        return wick_infer_fail(i, WICK_ERR_SHAPE, "needs an axis to transform%s", pairs ? " and a last dim of 2" : "");
    if (pairs && x->dims[x->rank - 1] != 2)
        return wick_infer_fail(i, WICK_ERR_SHAPE, "complex numbers need a last dim of 2, not %lld",
                               (long long)x->dims[x->rank - 1]);
    if (attr->columns && x->rank < 3) return wick_infer_fail(i, WICK_ERR_SHAPE, "needs a dim behind the axis");
    const int64_t have = x->dims[x->rank - 1 - pairs - (attr->columns != 0)],
                  want = what == WICK_FFT_HERMITIAN ? attr->n / 2 + 1 : attr->n;
    if (attr->n < 1 || attr->n >= 1 << 30)
        return wick_infer_fail(i, WICK_ERR_SHAPE, "a length of %lld; it may be 1 to 2^30 - 1", (long long)attr->n);
    if (have != want)
        return wick_infer_fail(i, WICK_ERR_SHAPE, "the axis has %lld elements, not %lld", (long long)have,
                               (long long)want);
    *i->out = *x;
    if (what == WICK_FFT_HERMITIAN) {
        i->out->dims[--i->out->rank] = 0;
        i->out->dims[i->out->rank - 1] = attr->n;
    } else if (what == WICK_FFT_REAL) {
        if (x->rank == WICK_MAX_DIMS) return wick_infer_fail(i, WICK_ERR_SHAPE, "the result has too many dims");
        i->out->dims[x->rank - 1] = attr->n / 2 + 1;
        i->out->dims[i->out->rank++] = 2;
    }
    return WICK_OK;
}

typedef struct fft_args {
    wick_fourier fft;
    const void *table;
    int64_t per_task;
} fft_args;
static int64_t run_fft(const void *args, void *const *ptr, int64_t begin, int64_t end, void *scratch) {
    const fft_args *a = args;
    wick_fft_run(&a->fft, begin * a->per_task, WICK_MIN(end * a->per_task, a->fft.places), ptr[0], ptr[1], a->table,
                 scratch);
    return -1;
}
/* x: the input's type: fills what prepare needs. */
static wick_fourier fourier_of(const wick_op *op, const wick_type *x, const fft_attr *attr) {
    wick_fourier f = {.type = wick_ctype_of((wick_dtype)x->dtype),
                      .what = what_of(op),
                      .inverse = attr->inverse,
                      .n = attr->n,
                      .rows = 1,
                      .scale = attr->scale,
                      .inner = attr->inner};
    const int axis = x->rank - 1 - (f.what != WICK_FFT_REAL);
    for (int i = 0; i < axis; i++) f.rows *= i == axis - 1 && attr->columns ? x->dims[axis] : x->dims[i];
    f.columns = attr->columns ? x->dims[axis] : 0;
    return f;
}
static double flops_fft(const wick_node *node) {
    wick_fourier f = fourier_of(node->op, &node->in[0]->type, node->attr);
    double log2 = 0;
    for (int64_t k = f.n; k > 1; k /= 2) log2++;
    return (f.what == WICK_FFT_COMPLEX ? 5.0 : 2.5) * (double)f.n * log2 * (double)f.rows;
}
static wick_status lower_fft(wick_lower *l, wick_node *node) {
    wick_operand in, out;
    WICK_TRY(wick_lower_in_contiguous(l, node, 0, &in));
    WICK_TRY(wick_lower_out(l, node, 0, &out));
    fft_args a = {.fft = fourier_of(node->op, in.type, node->attr)};
    wick_fft_prepare(&a.fft);
    void *table = wick_arena_alloc(l->arena, a.fft.table + WICK_ALIGN);
    if (!table)
        return wick_lower_fail(l, WICK_ERR_NOMEM, "out of memory for the constants of a transform of %lld",
                               (long long)a.fft.n);
    a.table = (void *)WICK_ALIGN_UP((uintptr_t)table, WICK_ALIGN);
    wick_fft_tables(&a.fft, (void *)WICK_ALIGN_UP((uintptr_t)table, WICK_ALIGN));
    a.per_task = (int64_t)WICK_ALIGN_UP((size_t)(1 + 16384 / a.fft.n), (size_t)a.fft.unit);
    wick_step step = {.name = wick_fft_name(&a.fft),
                      .run = run_fft,
                      .tasks = (a.fft.places + a.per_task - 1) / a.per_task,
                      .scratch = a.fft.scratch,
                      .flops = flops_fft(node),
                      .bytes = (double)(wick_type_bytes(in.type) + wick_type_bytes(out.type))};
    return wick_lower_step(l, &step, &a, sizeof a, (wick_ref[]){wick_lower_ref(&in, false), wick_lower_ref(&out, true)},
                           2);
}

static wick_tensor *record(const wick_op *op, wick_tensor *x, int64_t n, bool inverse, double scale, double inner,
                           bool columns) {
    const fft_attr attr = {n, inverse, scale, inner, columns};
    return wick_record(NULL, op, 1, &x, &attr, sizeof attr);
}
/* The transposes: of a transform the one with the other sign; of the real ones each other, whose inner numbers stand
 * for two. */
static void grad_fft(wick_gradient *g) {
    const fft_attr *a = g->node->attr;
    g->gin[0] = record(&wick_op_fft, g->gout[0], a->n, !a->inverse, a->scale, 1, a->columns);
}
static void grad_rfft(wick_gradient *g) {
    const fft_attr *a = g->node->attr;
    g->gin[0] = record(&wick_op_irfft, g->gout[0], a->n, false, a->scale, a->inner / 2, false);
}
static void grad_irfft(wick_gradient *g) {
    const fft_attr *a = g->node->attr;
    g->gin[0] = record(&wick_op_rfft, g->gout[0], a->n, false, a->scale, a->inner * 2, false);
}

static void print_fft(wick_str *s, const wick_node *node) {
    const fft_attr *a = node->attr;
    wick_str_add(s, "n=%lld", (long long)a->n);
    if (a->inverse) wick_str_add(s, " inverse");
    if (a->scale != 1) wick_str_add(s, " scale=%g", a->scale);
    if (a->inner != 1) wick_str_add(s, " inner=%g", a->inner);
    if (a->columns) wick_str_add(s, " columns");
}
static void sample_fft(wick_sample *s, wick_fourier_what what) {
    s->n_in = 1;
    const wick_dtype d = s->random() % 3 ? WICK_F64 : WICK_F32;
    fft_attr attr = {wick_sample_int(s, 1, 40), what == WICK_FFT_COMPLEX ? (int64_t)(s->random() % 2) : 0, 0.5,
                     what == WICK_FFT_COMPLEX ? 1 : 1.5, 0};
    attr.columns = what == WICK_FFT_COMPLEX && wick_fft_takes_columns(attr.n) && s->random() % 2;
    const int64_t axis = what == WICK_FFT_HERMITIAN ? attr.n / 2 + 1 : attr.n;
    s->in[0] = (wick_type){.dtype = (uint8_t)d, .rank = 0};
    if (!attr.columns || s->random() % 2) s->in[0].dims[s->in[0].rank++] = wick_sample_int(s, 0, 4);
    s->in[0].dims[s->in[0].rank++] = axis;
    if (attr.columns) s->in[0].dims[s->in[0].rank++] = wick_sample_int(s, 0, 20);
    if (what != WICK_FFT_REAL) s->in[0].dims[s->in[0].rank++] = 2;
    memcpy(s->attr, &attr, s->attr_size = sizeof attr);
    s->lo[0] = -2, s->hi[0] = 2;
    s->differentiable = d == WICK_F64;
}
static void sample_complex(wick_sample *s) { sample_fft(s, WICK_FFT_COMPLEX); }
static void sample_real(wick_sample *s) { sample_fft(s, WICK_FFT_REAL); }
static void sample_hermitian(wick_sample *s) { sample_fft(s, WICK_FFT_HERMITIAN); }

#define FFT_OP(name_, grad_, sample_, onnx_, cost_, doc_)                                                              \
    const wick_op wick_op_##name_ = {.name = #name_,                                                                   \
                                     .doc = doc_,                                                                      \
                                     .onnx = onnx_,                                                                    \
                                     .torch = "fft." #name_,                                                           \
                                     .cost = cost_,                                                                    \
                                     .min_in = 1,                                                                      \
                                     .max_in = 1,                                                                      \
                                     .n_out = 1,                                                                       \
                                     .flags = WICK_OP_SPREADS,                                                         \
                                     .infer = infer_fft,                                                               \
                                     .grad = grad_,                                                                    \
                                     .flops = flops_fft,                                                               \
                                     .lower = lower_fft,                                                               \
                                     .print = print_fft,                                                               \
                                     .sample = sample_};
FFT_OP(fft, grad_fft, sample_complex, "DFT", "5/2 n log2 of the length",
       "Fourier transform of complex numbers (a last dim of 2)")
FFT_OP(rfft, grad_rfft, sample_real, "DFT", "5/2 m log2 of the length",
       "Fourier transform of real numbers, the half that says it all")
FFT_OP(irfft, grad_irfft, sample_hermitian, NULL, "5/2 n log2 of the length", "inverse of rfft, to real numbers")

/* ---- complex numbers --------------------------------------------------------------------------------------------- */

/* NULL, or what is wrong with x as complex numbers. */
static wick_tensor *not_complex(wick_tensor *x, const char *name) {
    if (wick_is_bad(x)) return x;
    const int rank = wick_tensor_rank(x);
    if (rank && wick_tensor_dim(x, -1) == 2) return NULL;
    return wick_poison(x->ctx, WICK_ERR_SHAPE, "%s: complex numbers need a last dim of 2; the %d-d tensor has %lld",
                       name, rank, (long long)wick_tensor_dim(x, -1));
}
static wick_tensor *part(wick_tensor *x, int which, const char *name) {
    if (!x) return NULL;
    wick_tensor *bad = not_complex(x, name);
    return bad ? bad : wick_squeeze(wick_slice(x, -1, which, which + 1, 1), -1);
}
wick_tensor *wick_real(wick_tensor *x) { return part(x, 0, "real"); }
wick_tensor *wick_imag(wick_tensor *x) { return part(x, 1, "imag"); }
wick_tensor *wick_complex(wick_tensor *re, wick_tensor *im) {
    if (wick_is_bad(re)) return re;
    if (!im) im = wick_expand(wick_like(re, 0), wick_tensor_rank(re), wick_tensor_dims(re));
    if (!wick_promote_pair(&re, &im, "complex")) return re;
    wick_type both = re->value->type;
    if (!wick_broadcast(&both, &im->value->type) || both.rank == WICK_MAX_DIMS)
        return wick_poison(re->ctx, WICK_ERR_SHAPE,
                           "complex: the real and the imaginary part do not broadcast to 7 dims at most");
    re = wick_unsqueeze(wick_expand(re, both.rank, both.dims), -1);
    im = wick_unsqueeze(wick_expand(im, both.rank, both.dims), -1);
    return wick_concat(2, (wick_tensor *[]){re, im}, -1);
}
wick_tensor *wick_complex_mul(wick_tensor *a, wick_tensor *b) {
    wick_tensor *ar = wick_real(a), *ai = wick_imag(a), *br = wick_real(b), *bi = wick_imag(b);
    return wick_complex(wick_sub(wick_mul(ar, br), wick_mul(ai, bi)), wick_add(wick_mul(ar, bi), wick_mul(ai, br)));
}
wick_tensor *wick_complex_conj(wick_tensor *x) { return wick_complex(wick_real(x), wick_neg(wick_imag(x))); }
wick_tensor *wick_complex_abs2(wick_tensor *x) {
    return wick_add(wick_square(wick_real(x)), wick_square(wick_imag(x)));
}
wick_tensor *wick_complex_abs(wick_tensor *x) {
    wick_tensor *square = wick_complex_abs2(x);
    if (wick_is_bad(square)) return square;
    wick_tensor *zero = wick_eq(square, wick_like(square, 0)); /* the root's gradient there would be infinite */
    return wick_where(zero, wick_like(square, 0), wick_sqrt(wick_where(zero, wick_like(square, 1), square)));
}

/* ---- any axis, any length ---------------------------------------------------------------------------------------- */

/* The axis at the end (before pairs), with n elements. */
static wick_tensor *with_length(wick_tensor *x, int64_t n, int axis) {
    const int64_t have = wick_tensor_dim(x, axis);
    if (have > n) return wick_slice(x, axis, 0, n, 1);
    if (have == n) return x;
    int64_t before[WICK_MAX_DIMS] = {0}, after[WICK_MAX_DIMS] = {0};
    after[axis] = n - have;
    return wick_pad(x, wick_tensor_rank(x), before, after, 0);
}

static wick_tensor *transform(const char *name, const wick_op *op, wick_tensor *x, int64_t n, int axis,
                              wick_fft_norm norm, bool inverse) {
    if (wick_is_bad(x)) return wick_record(NULL, op, 1, &x, NULL, 0);
    const wick_fourier_what what = what_of(op);
    const bool pairs = what != WICK_FFT_REAL;
    if (pairs) {
        wick_tensor *bad = not_complex(x, name);
        if (bad) return bad;
    }
    const int rank = wick_tensor_rank(x) - pairs, a = wick_axis(axis, rank);
    if (a < 0) return wick_poison(x->ctx, WICK_ERR_SHAPE, "%s: axis %d of a %d-d tensor", name, axis, rank);
    if (n < 0) return wick_poison(x->ctx, WICK_ERR_INVALID, "%s: a length of %lld", name, (long long)n);
    const wick_dtype d = wick_tensor_dtype(x), computed = d == WICK_F64 ? WICK_F64 : WICK_F32;
    x = wick_as(x, computed);
    const int64_t have = wick_tensor_dim(x, a);
    const bool columns = what == WICK_FFT_COMPLEX && a == rank - 2 && wick_fft_takes_columns(n ? n : have);
    const int to = columns ? a : rank - 1;
    if (a != to) x = wick_transpose(x, a, to);
    if (!n) n = what == WICK_FFT_HERMITIAN ? 2 * (have - 1) : have;
    if (n < 1)
        return wick_poison(x->ctx, WICK_ERR_SHAPE, "%s: axis %d has %lld elements, which makes a length of %lld", name,
                           axis, (long long)have, (long long)n);
    x = with_length(x, what == WICK_FFT_HERMITIAN ? n / 2 + 1 : n, to);
    const double scale = norm == WICK_FFT_ORTHO                  ? 1 / __builtin_sqrt((double)n)
                         : (norm == WICK_FFT_FORWARD) != inverse ? 1 / (double)n
                                                                 : 1;
    x = record(op, x, n, what == WICK_FFT_COMPLEX && inverse, scale, 1, columns);
    if (a != to) x = wick_transpose(x, a, to);
    return wick_dtype_is_float(d) ? wick_as(x, d) : x;
}

wick_tensor *wick_fft(wick_tensor *x, int64_t n, int axis, wick_fft_norm norm) {
    return transform("fft", &wick_op_fft, x, n, axis, norm, false);
}
wick_tensor *wick_ifft(wick_tensor *x, int64_t n, int axis, wick_fft_norm norm) {
    return transform("ifft", &wick_op_fft, x, n, axis, norm, true);
}
wick_tensor *wick_rfft(wick_tensor *x, int64_t n, int axis, wick_fft_norm norm) {
    return transform("rfft", &wick_op_rfft, x, n, axis, norm, false);
}
wick_tensor *wick_irfft(wick_tensor *x, int64_t n, int axis, wick_fft_norm norm) {
    return transform("irfft", &wick_op_irfft, x, n, axis, norm, true);
}
wick_tensor *wick_fft2(wick_tensor *x, wick_fft_norm norm) { return wick_fft(wick_fft(x, 0, -1, norm), 0, -2, norm); }
wick_tensor *wick_ifft2(wick_tensor *x, wick_fft_norm norm) {
    return wick_ifft(wick_ifft(x, 0, -1, norm), 0, -2, norm);
}
wick_tensor *wick_rfft2(wick_tensor *x, wick_fft_norm norm) { return wick_fft(wick_rfft(x, 0, -1, norm), 0, -2, norm); }
wick_tensor *wick_irfft2(wick_tensor *x, int64_t n, wick_fft_norm norm) {
    return wick_irfft(wick_ifft(x, 0, -2, norm), n, -1, norm);
}
