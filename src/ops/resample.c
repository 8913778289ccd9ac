/* resample.c: resizing along one axis: every output is a weighted sum of a few inputs, by a table made when a plan is.
 * Its gradient is the transposed table, and the other way round. */
#include <math.h>

#include "ops/ops.h"
#include "ops/lowering/steps.h"
#include "wick/image.h"

/* ---- the table --------------------------------------------------------------------------------------------------- */

/* The length that outer middles are aligned over: in * scale, not rounded, unless another size was asked for. */
static double aligned_length(const resample_attr *a) {
    const double length = a->scaled ? a->scale * (double)a->in : 0;
    return length >= (double)a->out - 0.5 ? length : (double)a->out;
}
/* Where output o lies among the inputs. `single`: in f32, rounded step by step as ONNX Runtime has it, so that a scale
 * that is only nearly 1/3 still ends on whole elements. */
static double position(const resample_attr *a, int64_t o) {
    const wick_ctype t = a->single && (a->scaled || a->coordinates == WICK_CROP_AND_RESIZE) ? WICK_CF32 : WICK_CF64;
#define F(x) wick_rounded_to(t, (double)(x))
    const double n = F(a->in), m = F(a->out), at = F(o), scale = F(a->scale), last = F(n - 1), middle = F(at + 0.5);
    const double share = a->scaled ? middle / scale : middle * n / m, half = F(F(share) - 0.5);
    switch ((wick_coordinates)a->coordinates) {
    case WICK_HALF_PIXEL: return half;
    case WICK_HALF_PIXEL_SYMMETRIC: return F(F(n / 2 * F(1 - F(m / F(scale * n)))) + (share - 0.5));
    case WICK_PYTORCH_HALF_PIXEL: return a->out > 1 ? half : 0;
    case WICK_ALIGN_CORNERS: return a->out > 1 ? F(F(at * last) / F(F(aligned_length(a)) - 1)) : 0;
    case WICK_ASYMMETRIC: return a->scaled ? F(at / scale) : at * n / m;
    case WICK_HALF_PIXEL_UP: return F(share);
    case WICK_CROP_AND_RESIZE: break;
    }
    if (a->out <= 1) return F(F(0.5 * F(F(a->start) + F(a->end))) * last);
    return F(F(F(a->start) * last) + F(F(F(at * F(F(a->end) - F(a->start))) * last) / F(m - 1)));
#undef F
}

/* Keys: Cubic convolution interpolation for digital image processing, 1981. */
static double cubic(double a, double x) {
    x = fabs(x);
    return x <= 1 ? ((a + 2) * x - (a + 3)) * x * x + 1 : x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}
static double weight_of(const resample_attr *a, double x) {
    return a->mode == WICK_CUBIC ? cubic(a->cubic_a, x) : fmax(0, 1 - fabs(x));
}

/* How much wider than between neighbours what an output covers is. */
static double stretch(const resample_attr *a) {
    return a->antialias && a->mode != WICK_NEAREST && a->scale < 1 ? 1 / a->scale : 1;
}
static int64_t most_taps(const resample_attr *a) {
    if (a->mode == WICK_NEAREST) return 1;
    const double reach = a->mode == WICK_CUBIC ? 2 : 1;
    return WICK_MIN((int64_t)ceil(2 * reach * stretch(a)) + 2, stretch(a) > 1 ? a->in : (int64_t)(2 * reach));
}

/* The taps of output o; how many. */
static int64_t taps_of(const resample_attr *a, int64_t o, int32_t *index, double *weight) {
    const double x = position(a, o), wide = stretch(a);
    const int64_t last = a->in - 1;
    const bool exclude = a->exclude || (a->antialias && !a->repeat);
    if (a->coordinates == WICK_CROP_AND_RESIZE && !(x >= 0 && x <= (double)last)) return 0;
    if (a->mode == WICK_NEAREST) {
        const double below = floor(x);
        double part = x - below;
        if (a->single && fabs(part - 0.5) <= 1e-6)
            part = 0.5; /* a half that f32 missed, as ONNX Runtime has it since 1.27 */
        const bool up = a->rounding == WICK_ROUND_CEIL           ? part > 0
                        : a->rounding == WICK_ROUND_PREFER_FLOOR ? part > 0.5
                        : a->rounding == WICK_ROUND_PREFER_CEIL  ? part >= 0.5
                                                                 : false;
        index[0] = (int32_t)fmin(fmax(below + up, 0), (double)last);
        weight[0] = 1;
        return 1;
    }
    const double reach = a->mode == WICK_CUBIC ? 2 : 1;
    int64_t n = 0;
    double sum = 0;
    if (wide > 1) {
        const double low = ceil(x - reach * wide), high = floor(x + reach * wide);
        const int64_t first = (int64_t)(a->repeat ? low : fmax(0, low)),
                      end = (int64_t)(a->repeat ? high : fmin((double)last, high));
        for (int64_t i = first; i <= end; i++) {
            const double w = weight_of(a, ((double)i - x) / wide);
            const int32_t at = (int32_t)(i < 0 ? 0 : i > last ? last : i);
            if (w == 0) continue;
            sum += w;
            if (n && index[n - 1] == at)
                weight[n - 1] += w;
            else
                index[n] = at, weight[n++] = w;
        }
        if (!n) { /* far outside: the nearest */
            index[n] = (int32_t)fmin(fmax(x, 0), (double)last);
            sum = weight[n++] = 1;
        }
    } else {
        const double below = floor(x);
        for (int k = 0; k < (int)(2 * reach); k++) { /* counted: far outside i + 1 may be i */
            const double i = below - reach + 1 + k;
            const bool outside = i < 0 || i > (double)last;
            index[n] = (int32_t)fmin(fmax(i, 0), (double)last);
            sum += weight[n++] = outside && exclude ? 0 : weight_of(a, i - x);
        }
        if (!exclude || sum == 0) return n;
    }
    for (int64_t i = 0; i < n; i++) weight[i] /= sum;
    return n;
}

/* start, index and weight of r, in the plan's arena: by output, or transposed: by input. */
static wick_status make_table(wick_lower *l, const resample_attr *a, bool transposed, wick_resample *r) {
    const int64_t most = most_taps(a), rows = transposed ? a->in : a->out;
    int32_t *index = wick_arena_alloc(l->arena, (size_t)(a->out * most) * sizeof *index), *to = index;
    double *weight = wick_arena_alloc(l->arena, (size_t)(a->out * most) * sizeof *weight), *value = weight;
    int32_t *count = wick_arena_alloc(l->arena, (size_t)(a->out + 1) * sizeof *count), *start = count;
    if (!index || !weight || !count) return wick_lower_fail(l, WICK_ERR_NOMEM, "out of memory while planning");
    int32_t n = 0;
    for (int64_t o = 0; o < a->out; o++) {
        count[o] = n;
        n += (int32_t)taps_of(a, o, index + n, weight + n);
    }
    count[a->out] = n;
    if (transposed) {
        to = wick_arena_alloc(l->arena, (size_t)n * sizeof *to);
        value = wick_arena_alloc(l->arena, (size_t)n * sizeof *value);
        start = wick_arena_alloc(l->arena, (size_t)(rows + 2) * sizeof *start);
        if (!to || !value || !start) return wick_lower_fail(l, WICK_ERR_NOMEM, "out of memory while planning");
        memset(start, 0, (size_t)(rows + 2) * sizeof *start);
        for (int32_t k = 0; k < n; k++) start[index[k] + 2]++;
        for (int64_t i = 0; i < rows; i++) start[i + 2] += start[i + 1]; /* start[i + 1]: where row i goes on */
        for (int64_t o = 0; o < a->out; o++)
            for (int32_t k = count[o]; k < count[o + 1]; k++) {
                const int32_t at = start[index[k] + 1]++;
                to[at] = (int32_t)o;
                value[at] = weight[k];
            }
    }
    if (r->type == WICK_CF32) {
        float *narrow = (float *)value; /* in place: the k-th is written when the k-th was read */
        for (int32_t k = 0; k < n; k++) {
            const float w = (float)value[k];
            memcpy(narrow + k, &w, sizeof w);
        }
    }
    r->start = start;
    r->index = to;
    r->weight = value;
    r->uniform = rows ? start[1] - start[0] : 0;
    for (int64_t i = 0; i < rows && r->uniform; i++)
        if (start[i + 1] - start[i] != r->uniform) r->uniform = 0;
    return WICK_OK;
}

/* ---- the ops ----------------------------------------------------------------------------------------------------- */

static bool is_transposed(const wick_op *op) { return op == &wick_op_resample_back; }
static wick_status infer_resample(wick_infer *i) {
    const resample_attr *a = i->attr;
    const bool back = is_transposed(i->op);
    const wick_type *x = i->in[0];
    if (x->dtype != WICK_F32 && x->dtype != WICK_F64 && (back || a->mode != WICK_NEAREST))
        return wick_infer_fail(i, WICK_ERR_DTYPE, "needs f32 or f64; cast");
    if (a->axis >= x->rank || x->dims[a->axis] != (back ? a->out : a->in))
        return wick_infer_fail(i, WICK_ERR_SHAPE, "the table is for %lld elements along axis %d",
                               (long long)(back ? a->out : a->in), (int)a->axis);
    wick_type checked;
    *i->out = *x;
    i->out->dims[a->axis] = back ? a->in : a->out;
    if (!wick_type_make(&checked, (wick_dtype)x->dtype, x->rank, i->out->dims))
        return wick_infer_fail(i, WICK_ERR_SHAPE, "the result is too large");
    return WICK_OK;
}

static int64_t run_resample(const void *args, void *const *ptr, int64_t begin, int64_t end, void *scratch) {
    (void)scratch;
    const wick_step_resample *a = args;
    (a->table.elem ? wick_resample_copy : wick_resample_run)(&a->table, begin * a->per_task,
                                                             WICK_MIN(end * a->per_task, a->rows), ptr[0], ptr[1]);
    return -1;
}
static double taps_mean(const wick_node *node) {
    const resample_attr *a = node->attr;
    return (a->mode == WICK_NEAREST ? 1 : a->mode == WICK_CUBIC ? 4 : 2) * stretch(a);
}
static double flops_resample(const wick_node *node) { /* a product and an addition for every tap of an output */
    const resample_attr *a = node->attr;
    if (a->mode == WICK_NEAREST && !is_transposed(node->op)) return 0;
    return 2 * taps_mean(node) *
           (double)wick_type_count(is_transposed(node->op) ? &node->in[0]->type : &node->out[0].type);
}
static wick_status lower_resample(wick_lower *l, wick_node *node) {
    enum { TASK = 32768 };
    const resample_attr *attr = node->attr;
    const bool back = is_transposed(node->op);
    wick_operand x = wick_lower_in(l, node, 0), y;
    const bool last = wick_lower_is_channels_last(&x); /* images stay as they lie */
    WICK_TRY((last ? wick_lower_in_channels_last : wick_lower_in_contiguous)(l, node, 0, &x));
    WICK_TRY((last ? wick_lower_out_channels_last : wick_lower_out)(l, node, 0, &y));
    wick_step_resample a;
    memset(&a, 0, sizeof a);
    wick_resample *r = &a.table;
    const int axis = (int)attr->axis;
    r->type = wick_ctype_of((wick_dtype)x.type->dtype);
    if (attr->mode == WICK_NEAREST && !back) {
        r->elem = wick_dtype_size((wick_dtype)x.type->dtype);
        r->fill_bits = wick_number_bits((wick_dtype)x.type->dtype, attr->fill);
    }
    r->in = back ? attr->out : attr->in;
    r->out = back ? attr->in : attr->out;
    r->fill = back ? 0 : attr->fill;
    r->outer = r->inner = 1;
    for (int d = 0; d < x.type->rank; d++) { /* in the order of memory, axis 1 is the last if channels are */
        const int place = last && d == 1 ? WICK_MAX_DIMS : d, here = last && axis == 1 ? WICK_MAX_DIMS : axis;
        if (place < here) r->outer *= x.type->dims[d];
        if (place > here) r->inner *= x.type->dims[d];
    }
    WICK_TRY(make_table(l, attr, back, r));
    a.rows = r->outer * r->out;
    a.per_task = 1 + (int64_t)(TASK / ((double)WICK_MAX(r->inner, 1) * taps_mean(node) * (double)r->in /
                                       (double)WICK_MIN(r->in, r->out)));
    wick_step step = {.name = node->op->name,
                      .kind = WICK_STEP_RESAMPLE,
                      .run = run_resample,
                      .tasks = r->inner ? (a.rows + a.per_task - 1) / a.per_task : 0,
                      .flops = flops_resample(node),
                      .bytes = (double)wick_type_bytes(x.type) + (double)wick_type_bytes(y.type)};
    return wick_lower_step(l, &step, &a, sizeof a, (wick_ref[]){wick_lower_ref(&x, false), wick_lower_ref(&y, true)},
                           2);
}
static void grad_resample(wick_gradient *g) {
    const wick_op *other = is_transposed(g->node->op) ? &wick_op_resample : &wick_op_resample_back;
    resample_attr a = *(const resample_attr *)g->node->attr;
    a.fill = 0;
    /* half types add up in f32 */
    wick_tensor *gy = wick_tensor_dtype(g->gout[0]) == WICK_F64 ? g->gout[0] : wick_as(g->gout[0], WICK_F32);
    g->gin[0] = wick_record(NULL, other, 1, &gy, &a, sizeof a);
}
static void print_resample(wick_str *s, const wick_node *node) {
    static const char *const modes[] = {"nearest", "linear", "cubic"}, *const coordinates[] = {
                                                                           "half_pixel",         "half_pixel_symmetric",
                                                                           "pytorch_half_pixel", "align_corners",
                                                                           "asymmetric",         "crop_and_resize",
                                                                           "half_pixel_up"};
    const resample_attr *a = node->attr;
    wick_str_add(s, "axis=%d in=%lld out=%lld %s %s%s", (int)a->axis, (long long)a->in, (long long)a->out,
                 modes[a->mode], coordinates[a->coordinates], stretch(a) > 1 ? " antialias" : "");
}

static resample_attr sample_attr(wick_sample *s, wick_type *in, wick_type *out) {
    resample_attr a;
    memset(&a, 0, sizeof a);
    a.axis = wick_sample_int(s, 0, 3);
    a.mode = wick_sample_int(s, 0, 2), a.coordinates = wick_sample_int(s, 0, WICK_HALF_PIXEL_UP),
    a.rounding = wick_sample_int(s, 0, 3);
    a.antialias = wick_sample_int(s, 0, 1), a.exclude = wick_sample_int(s, 0, 1),
    a.repeat = a.antialias && wick_sample_int(s, 0, 1);
    *in = (wick_type){.dtype = s->random() % 3 ? WICK_F64 : WICK_F32, .rank = 4};
    for (int d = 0; d < 4; d++) in->dims[d] = wick_sample_int(s, d == 2 ? 0 : 1, 4);
    in->dims[a.axis] = wick_sample_int(s, 1, 7);
    *out = *in;
    out->dims[a.axis] = wick_sample_int(s, 1, 12);
    a.in = in->dims[a.axis], a.out = out->dims[a.axis];
    a.scale = (double)a.out / (double)a.in;
    a.cubic_a = -0.75, a.start = -0.25, a.end = 0.9;
    s->n_in = 1;
    s->lo[0] = -2, s->hi[0] = 2;
    s->differentiable = in->dtype == WICK_F64;
    memcpy(s->attr, &a, s->attr_size = sizeof a);
    return a;
}
static void sample_resample(wick_sample *s) {
    wick_type out;
    sample_attr(s, &s->in[0], &out);
}
static void sample_resample_back(wick_sample *s) {
    wick_type in;
    sample_attr(s, &in, &s->in[0]);
}
const wick_op wick_op_resample = {.name = "resample",
                                  .doc = "another number of elements along an axis, by weights of neighbours",
                                  .onnx = "Resize",
                                  .torch = "nn.functional.interpolate",
                                  .cost = "2 taps n",
                                  .min_in = 1,
                                  .max_in = 1,
                                  .n_out = 1,
                                  .infer = infer_resample,
                                  .grad = grad_resample,
                                  .flops = flops_resample,
                                  .lower = lower_resample,
                                  .print = print_resample,
                                  .sample = sample_resample};
const wick_op wick_op_resample_back = {.name = "resample_back",
                                       .doc = "gradient of resample: what comes to each output, by the same weights",
                                       .cost = "2 taps m",
                                       .min_in = 1,
                                       .max_in = 1,
                                       .n_out = 1,
                                       .infer = infer_resample,
                                       .grad = grad_resample,
                                       .flops = flops_resample,
                                       .lower = lower_resample,
                                       .print = print_resample,
                                       .sample = sample_resample_back};

/* ---- public ------------------------------------------------------------------------------------------------------ */

wick_tensor *wick_interpolate(wick_tensor *x, int n, const int *axes, const int64_t *size,
                              const wick_interpolate_options *options) {
    static const wick_interpolate_options plain;
    const wick_interpolate_options *o = options ? options : &plain;
    if (!x || x->error) return x;
    wick_context *ctx = x->ctx;
    const int rank = wick_tensor_rank(x);
    const wick_dtype dtype = wick_tensor_dtype(x);
    if ((unsigned)o->mode > WICK_CUBIC || (unsigned)o->coordinates > WICK_HALF_PIXEL_UP ||
        (unsigned)o->rounding > WICK_ROUND_CEIL)
        return wick_poison(ctx, WICK_ERR_INVALID, "interpolate: there is no mode %d, coordinates %d, rounding %d",
                           (int)o->mode, (int)o->coordinates, (int)o->rounding);
    if (n < 1 || n > rank) return wick_poison(ctx, WICK_ERR_SHAPE, "interpolate: %d axes of a %d-d tensor", n, rank);
    if (o->mode != WICK_NEAREST && !wick_dtype_is_float(dtype))
        return wick_poison(ctx, WICK_ERR_DTYPE, "interpolate: between values of %s there are none; cast",
                           wick_dtype_name(dtype));
    if (o->coordinates == WICK_CROP_AND_RESIZE ? !o->start || !o->end : !size && !o->scale)
        return wick_poison(ctx, WICK_ERR_INVALID, "interpolate: %s",
                           o->coordinates == WICK_CROP_AND_RESIZE ? "crop_and_resize needs start and end"
                                                                  : "needs a size or a scale");
    if (!size && !o->scale) return wick_poison(ctx, WICK_ERR_INVALID, "interpolate: needs a size or a scale");
    resample_attr attr[WICK_MAX_DIMS];
    memset(attr, 0, sizeof attr);
    uint32_t seen = 0;
    wick_type type = x->value->type, checked;
    for (int k = 0; k < n; k++) {
        resample_attr *a = &attr[k];
        const int axis = axes ? wick_axis(axes[k], rank) : rank - n + k;
        if (axis < 0 || seen >> axis & 1)
            return wick_poison(ctx, WICK_ERR_SHAPE, "interpolate: axis %d of a %d-d tensor %s", axes[k], rank,
                               axis < 0 ? "does not exist" : "is given twice");
        seen |= 1u << axis;
        const int64_t in = type.dims[axis];
        const double scale = o->scale ? o->scale[k] : 0;
        const bool scaled = scale != 0 || !size;
        if (scaled && !(scale > 0 && scale <= INT32_MAX))
            return wick_poison(ctx, WICK_ERR_INVALID, "interpolate: there is no scale of %g", scale);
        const double wanted =
            size ? (double)size[k] : floor(o->single ? (double)((float)in * (float)scale) : (double)in * scale);
        if (in < 1 || in > INT32_MAX / 8 || !(wanted >= 1 && wanted <= INT32_MAX / 8))
            return wick_poison(ctx, WICK_ERR_SHAPE, "interpolate: axis %d of %lld cannot become %.0f", axis,
                               (long long)in, wanted);
        if (scaled && scale * (double)in < 0.25)
            return wick_poison(ctx, WICK_ERR_INVALID, "interpolate: a scale of %g leaves nothing of axis %d of %lld",
                               scale, axis, (long long)in);
        const int64_t out = (int64_t)wanted;
        *a =
            (resample_attr){.axis = axis,
                            .in = in,
                            .out = out,
                            .mode = o->mode,
                            .coordinates = o->coordinates,
                            .rounding = o->mode == WICK_NEAREST ? o->rounding : 0,
                            .antialias = o->mode != WICK_NEAREST && o->antialias,
                            .exclude = o->mode != WICK_NEAREST && o->exclude_outside,
                            .repeat = o->mode != WICK_NEAREST && o->antialias && o->repeat_edge && !o->exclude_outside,
                            .scale = scaled ? scale : (double)out / (double)in,
                            .cubic_a = o->mode != WICK_CUBIC ? 0
                                       : o->cubic_a != 0     ? o->cubic_a
                                                             : -0.75,
                            .scaled = scaled,
                            .single = o->single && (o->mode == WICK_NEAREST || o->coordinates == WICK_CROP_AND_RESIZE)};
        if (o->coordinates == WICK_CROP_AND_RESIZE) {
            a->start = o->start[k], a->end = o->end[k], a->fill = o->extrapolation;
            if (!(fabs(a->start) < 1e6 && fabs(a->end) < 1e6))
                return wick_poison(ctx, WICK_ERR_INVALID, "interpolate: a crop from %g to %g", a->start, a->end);
        }
        if ((double)out * (double)most_taps(a) > INT32_MAX / 2)
            return wick_poison(ctx, WICK_ERR_SHAPE, "interpolate: axis %d of %lld to %lld is too large", axis,
                               (long long)in, (long long)out);
        type.dims[axis] = out;
    }
    if (!wick_type_make(&checked, dtype, rank, type.dims))
        return wick_poison(ctx, WICK_ERR_SHAPE, "interpolate: the result is too large");
    /* computed in f32, rounded once */
    const bool narrow = o->mode != WICK_NEAREST && dtype != WICK_F64 && dtype != WICK_F32;
    if (narrow) x = wick_as(x, WICK_F32);
    /* what shrinks goes first: less to do for the others. Then the last axis: what is slow on few, before there are
     * many */
    for (int grow = 0; grow < 2; grow++)
        for (int i = 0; i < n && !x->error; i++) {
            const resample_attr *a = &attr[grow ? n - 1 - i : i];
            const bool nothing = a->in == a->out && a->scale == 1 && a->coordinates != WICK_CROP_AND_RESIZE;
            if (!nothing && grow == (a->out >= a->in)) x = wick_record(NULL, &wick_op_resample, 1, &x, a, sizeof *a);
        }
    return narrow ? wick_as(x, dtype) : x;
}
