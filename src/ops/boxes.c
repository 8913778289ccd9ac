/* boxes.c: fields seen through boxes (RoIAlign), and boxes that overlap better ones (non-maximum suppression). */
#include "ops/ops.h"
#include "wick/image.h"

static bool is_put(const wick_op *op) { return op == &wick_op_roi_align_put; }
/* (x [N, C, H, W], boxes [R, 4], image [R]) -> y [R, C, out]; put: (y, boxes, image) -> x. */
static wick_status infer_roi(wick_infer *i) {
    const roi_attr *a = i->attr;
    const wick_type *x = i->in[0], *boxes = i->in[1], *image = i->in[2];
    if ((x->dtype != WICK_F32 && x->dtype != WICK_F64) || (boxes->dtype != WICK_F32 && boxes->dtype != WICK_F64))
        return wick_infer_fail(i, WICK_ERR_DTYPE, "needs f32 or f64; cast");
    if (image->dtype != WICK_I64) return wick_infer_fail(i, WICK_ERR_DTYPE, "the images of boxes must be i64");
    if (x->rank != 4) return wick_infer_fail(i, WICK_ERR_SHAPE, "needs [N, C, H, W]");
    if (boxes->rank != 2 || boxes->dims[1] != 4 || image->rank != 1 || image->dims[0] != boxes->dims[0])
        return wick_infer_fail(i, WICK_ERR_SHAPE, "needs boxes [R, 4] and an image for each [R]");
    *i->out = *x;
    if (is_put(i->op)) {
        if (x->dims[0] != boxes->dims[0] || x->dims[2] != a->out[0] || x->dims[3] != a->out[1])
            return wick_infer_fail(i, WICK_ERR_SHAPE, "needs [R, C, bins]");
        i->out->dims[0] = a->images, i->out->dims[2] = a->height, i->out->dims[3] = a->width;
    } else {
        if (x->dims[2] < 1 || x->dims[3] < 1) return wick_infer_fail(i, WICK_ERR_SHAPE, "the field has no elements");
        i->out->dims[0] = boxes->dims[0], i->out->dims[2] = a->out[0], i->out->dims[3] = a->out[1];
    }
    wick_type checked;
    if (!wick_type_make(&checked, (wick_dtype)x->dtype, 4, i->out->dims))
        return wick_infer_fail(i, WICK_ERR_SHAPE, "the result is too large");
    return WICK_OK;
}
typedef struct roi_args {
    wick_roi r;
    bool max;
} roi_args;
static int64_t run_roi(const void *args, void *const *ptr, int64_t begin, int64_t end, void *scratch) {
    (void)scratch;
    const roi_args *a = args;
    return wick_roi_bins(&a->r, a->max, begin, end, ptr[0], ptr[1], ptr[2], ptr[3]);
}
static int64_t run_roi_put(const void *args, void *const *ptr, int64_t begin, int64_t end, void *scratch) {
    (void)scratch;
    return wick_roi_put(&((const roi_args *)args)->r, begin, end, ptr[0], ptr[1], ptr[2], ptr[3]);
}
static int64_t bad_image(const void *args, void *const *ptr, int64_t at, int64_t *extent) {
    *extent = ((const roi_args *)args)->r.images;
    return ((const int64_t *)ptr[2])[at];
}
static double flops_roi(const wick_node *node) { /* four products and sums a sample */
    const roi_attr *a = node->attr;
    const double samples = a->samples ? (double)a->samples : 2;
    return 8 * samples * samples * (double)wick_type_count(is_put(node->op) ? &node->in[0]->type : &node->out[0].type);
}
static wick_status lower_roi(wick_lower *l, wick_node *node) {
    const roi_attr *attr = node->attr;
    wick_operand at[4];
    wick_ref refs[4];
    for (int i = 0; i < 3; i++) WICK_TRY(wick_lower_in_contiguous(l, node, i, &at[i]));
    WICK_TRY(wick_lower_out(l, node, 0, &at[3]));
    for (int i = 0; i < 4; i++) refs[i] = wick_lower_ref(&at[i], i == 3);
    const bool put = is_put(node->op);
    const wick_type *x = (put ? at[3] : at[0]).type;
    roi_args a;
    memset(&a, 0, sizeof a);
    a.max = node->op == &wick_op_roi_align_max;
    a.r = (wick_roi){.type = wick_ctype_of((wick_dtype)x->dtype),
                     .box_type = wick_ctype_of((wick_dtype)at[1].type->dtype),
                     .images = x->dims[0],
                     .channels = x->dims[1],
                     .height = x->dims[2],
                     .width = x->dims[3],
                     .boxes = at[1].type->dims[0],
                     .out = {attr->out[0], attr->out[1]},
                     .samples = attr->samples,
                     .scale = attr->scale,
                     .aligned = attr->aligned};
    wick_step step = {.name = node->op->name,
                      .run = put ? run_roi_put : run_roi,
                      .tasks = put ? a.r.channels : a.r.boxes,
                      .flops = flops_roi(node),
                      .bytes = (double)wick_type_bytes(at[0].type) + (double)wick_type_bytes(at[3].type),
                      .fault = WICK_ERR_INDEX,
                      .fault_text = "box %lld is of no image: %lld of %lld",
                      .fault_at = bad_image};
    return wick_lower_step(l, &step, &a, sizeof a, refs, 4);
}
static void grad_roi(wick_gradient *g) {
    roi_attr a = *(const roi_attr *)g->node->attr;
    const int64_t *dims = g->node->in[0]->type.dims;
    const bool put = is_put(g->node->op);
    if (!put) a.images = dims[0], a.height = dims[2], a.width = dims[3];
    if (g->need[0])
        g->gin[0] = wick_record(NULL, put ? &wick_op_roi_align : &wick_op_roi_align_put, 3,
                                (wick_tensor *[]){g->gout[0], wick_stop_gradient(g->in[1]), g->in[2]}, &a, sizeof a);
}
static void print_roi(wick_str *s, const wick_node *node) {
    const roi_attr *a = node->attr;
    wick_str_add(s, "out=%lld,%lld samples=%lld scale=%g%s", (long long)a->out[0], (long long)a->out[1],
                 (long long)a->samples, a->scale, a->aligned ? " aligned" : "");
}
static void sample_roi_types(wick_sample *s, wick_type *x, wick_type *y) {
    roi_attr a;
    memset(&a, 0, sizeof a);
    a.out[0] = wick_sample_int(s, 1, 3), a.out[1] = wick_sample_int(s, 1, 3), a.samples = wick_sample_int(s, 0, 2),
    a.aligned = wick_sample_int(s, 0, 1);
    a.scale = 0.5 * wick_sample_int(s, 1, 2);
    const uint8_t dtype = s->random() % 3 ? WICK_F64 : WICK_F32;
    const int64_t boxes = wick_sample_int(s, 0, 3);
    *x = (wick_type){.dtype = dtype,
                     .rank = 4,
                     .dims = {2, wick_sample_int(s, 1, 3), wick_sample_int(s, 1, 5), wick_sample_int(s, 2, 5)}};
    *y = (wick_type){.dtype = dtype, .rank = 4, .dims = {boxes, x->dims[1], a.out[0], a.out[1]}};
    a.images = x->dims[0], a.height = x->dims[2], a.width = x->dims[3];
    s->n_in = 3;
    s->in[1] = (wick_type){.dtype = WICK_F32, .rank = 2, .dims = {boxes, 4}}; /* differences of them are not checked */
    s->differentiable = dtype == WICK_F64;
    s->in[2] = (wick_type){.dtype = WICK_I64, .rank = 1, .dims = {boxes}};
    for (int i = 0; i < 3; i++) s->lo[i] = -2, s->hi[i] = 7;
    s->lo[2] = 0, s->hi[2] = (double)x->dims[0] - 1;
    memcpy(s->attr, &a, s->attr_size = sizeof a);
}
static void sample_roi(wick_sample *s) {
    wick_type y;
    sample_roi_types(s, &s->in[0], &y);
}
static void sample_roi_put(wick_sample *s) {
    wick_type x;
    sample_roi_types(s, &x, &s->in[0]);
}
#define ROI_OP(name_, text, gradient, sample_, ...)                                                                    \
    const wick_op wick_op_##name_ = {.name = #name_,                                                                   \
                                     .doc = text,                                                                      \
                                     __VA_ARGS__.cost = "8 samples n",                                                 \
                                     .min_in = 3,                                                                      \
                                     .max_in = 3,                                                                      \
                                     .n_out = 1,                                                                       \
                                     .flags = WICK_OP_FAULTS,                                                          \
                                     .infer = infer_roi,                                                               \
                                     .grad = gradient,                                                                 \
                                     .flops = flops_roi,                                                               \
                                     .lower = lower_roi,                                                               \
                                     .print = print_roi,                                                               \
                                     .sample = sample_};
#define NAMES .onnx = "RoiAlign", .torch = "torchvision.ops.roi_align",
ROI_OP(roi_align, "means of a field over the bins of boxes; no gradient to the boxes", grad_roi, sample_roi, NAMES)
ROI_OP(roi_align_put, "gradient of roi_align: what comes to each bin, to where it is from", grad_roi, sample_roi_put, )
ROI_OP(roi_align_max, "the largest parts of samples in the bins of boxes", NULL, sample_roi, NAMES)

wick_tensor *wick_roi_align(wick_tensor *x, wick_tensor *boxes, wick_tensor *image, const wick_roi_options *options) {
    if (!options)
        return x ? wick_poison(x->ctx, WICK_ERR_INVALID, "roi_align: options are NULL: there are no bins without them")
                 : NULL;
    if (!x || x->error || !boxes || boxes->error)
        return wick_record(NULL, &wick_op_roi_align, 3, (wick_tensor *[]){x, boxes, image}, NULL, 0);
    const wick_dtype dtype = wick_tensor_dtype(x), wide = dtype == WICK_F64 ? WICK_F64 : WICK_F32;
    if (!wick_dtype_is_float(dtype))
        return wick_poison(x->ctx, WICK_ERR_DTYPE, "roi_align: x is %s; it needs floats: cast", wick_dtype_name(dtype));
    roi_attr a;
    memset(&a, 0, sizeof a);
    a.out[0] = options->out[0], a.out[1] = options->out[1], a.samples = options->samples, a.aligned = options->aligned;
    a.scale = options->scale != 0 ? options->scale : 1;
    if (a.out[0] < 1 || a.out[1] < 1 || a.out[0] > 1 << 15 || a.out[1] > 1 << 15 || a.samples < 0 ||
        a.samples > 1 << 10 || !(a.scale > 0))
        return wick_poison(x->ctx, WICK_ERR_INVALID, "roi_align: %lld x %lld bins of %lld samples, scale %g",
                           (long long)a.out[0], (long long)a.out[1], (long long)a.samples, a.scale);
    if (image && !image->error && wick_dtype_is_integer(wick_tensor_dtype(image))) image = wick_as(image, WICK_I64);
    wick_tensor *in[3] = {wick_as(x, wide), wick_as(boxes, wick_tensor_dtype(boxes) == WICK_F64 ? WICK_F64 : WICK_F32),
                          image};
    return wick_as(wick_record(NULL, options->max ? &wick_op_roi_align_max : &wick_op_roi_align, 3, in, &a, sizeof a),
                   dtype);
}

/* ---- non-maximum suppression ------------------------------------------------------------------------------------- */

/* (boxes [N, B, 4], scores [N, C, B]) -> kept [N, C, most], count [N, C]. */
static wick_status infer_nms(wick_infer *i) {
    const nms_attr *a = i->attr;
    const wick_type *boxes = i->in[0], *scores = i->in[1];
    if ((boxes->dtype != WICK_F32 && boxes->dtype != WICK_F64) || scores->dtype != boxes->dtype)
        return wick_infer_fail(i, WICK_ERR_DTYPE, "needs f32 or f64, one of them; cast");
    if (boxes->rank != 3 || boxes->dims[2] != 4 || scores->rank != 3 || scores->dims[0] != boxes->dims[0] ||
        scores->dims[2] != boxes->dims[1])
        return wick_infer_fail(i, WICK_ERR_SHAPE, "needs boxes [N, B, 4] and scores [N, C, B]");
    i->out[0] = *scores;
    i->out[0].dtype = WICK_I64;
    i->out[0].dims[2] = a->most;
    i->out[1] = i->out[0];
    i->out[1].rank = 2;
    i->out[1].dims[2] = 0;
    wick_type checked;
    if (!wick_type_make(&checked, WICK_I64, 3, i->out[0].dims))
        return wick_infer_fail(i, WICK_ERR_SHAPE, "the result is too large");
    return WICK_OK;
}
static int64_t run_nms(const void *args, void *const *ptr, int64_t begin, int64_t end, void *scratch) {
    wick_suppress(args, begin, end, ptr[0], ptr[1], ptr[2], ptr[3], scratch);
    return -1;
}
static double flops_nms(const wick_node *node) { return 16.0 * (double)wick_type_count(&node->in[1]->type); }
static wick_status lower_nms(wick_lower *l, wick_node *node) {
    const nms_attr *attr = node->attr;
    wick_operand at[4];
    wick_ref refs[4];
    for (int i = 0; i < 2; i++) WICK_TRY(wick_lower_in_contiguous(l, node, i, &at[i]));
    for (int i = 0; i < 2; i++) WICK_TRY(wick_lower_out(l, node, i, &at[2 + i]));
    for (int i = 0; i < 4; i++) refs[i] = wick_lower_ref(&at[i], i >= 2);
    const int64_t *scores = at[1].type->dims;
    wick_suppression s;
    memset(&s, 0, sizeof s);
    s.type = wick_ctype_of((wick_dtype)at[0].type->dtype);
    s.classes = scores[1], s.boxes = scores[2], s.most = attr->most, s.overlap = attr->overlap, s.least = attr->least;
    s.by_score = attr->by_score, s.center = attr->center;
    wick_step step = {.name = "nms",
                      .run = run_nms,
                      .tasks = scores[0] * scores[1],
                      .scratch = (size_t)s.boxes * sizeof(int64_t),
                      .flops = flops_nms(node),
                      .bytes = (double)wick_type_bytes(at[0].type) + (double)wick_type_bytes(at[1].type)};
    return wick_lower_step(l, &step, &s, sizeof s, refs, 4);
}
static void print_nms(wick_str *s, const wick_node *node) {
    const nms_attr *a = node->attr;
    wick_str_add(s, "most=%lld overlap=%g", (long long)a->most, a->overlap);
    if (a->by_score) wick_str_add(s, " score=%g", a->least);
    if (a->center) wick_str_add(s, " center");
}
static void sample_nms(wick_sample *s) {
    nms_attr a = {.most = wick_sample_int(s, 1, 5),
                  .by_score = wick_sample_int(s, 0, 1),
                  .center = wick_sample_int(s, 0, 1),
                  .overlap = 0.3,
                  .least = -0.5};
    const int64_t images = wick_sample_int(s, 0, 2), boxes = wick_sample_int(s, 1, 6);
    s->n_in = 2;
    s->in[0] = (wick_type){.dtype = s->random() % 2 ? WICK_F64 : WICK_F32, .rank = 3, .dims = {images, boxes, 4}};
    s->in[1] = (wick_type){.dtype = s->in[0].dtype, .rank = 3, .dims = {images, wick_sample_int(s, 1, 3), boxes}};
    s->lo[0] = s->lo[1] = -1, s->hi[0] = s->hi[1] = 1;
    memcpy(s->attr, &a, s->attr_size = sizeof a);
}
const wick_op wick_op_nms = {
    .name = "nms",
    .doc = "boxes by falling score without those that overlap a kept one, padded by -1; and how many",
    .onnx = "NonMaxSuppression",
    .torch = "torchvision.ops.nms",
    .cost = "16 scores, and 16 more for each of the kept",
    .min_in = 2,
    .max_in = 2,
    .n_out = 2,
    .infer = infer_nms,
    .flops = flops_nms,
    .lower = lower_nms,
    .print = print_nms,
    .sample = sample_nms};

wick_tensor *wick_nms_padded(wick_tensor *boxes, wick_tensor *scores, const wick_nms_options *options,
                             wick_tensor **count) {
    static const wick_nms_options plain;
    const wick_nms_options *o = options ? options : &plain;
    wick_tensor *out[2] = {NULL, NULL};
    if (!wick_promote_pair(&boxes, &scores, "nms")) {
        if (count) *count = boxes;
        return boxes;
    }
    const wick_dtype dtype = wick_tensor_dtype(boxes), wide = dtype == WICK_F64 ? WICK_F64 : WICK_F32;
    nms_attr a = {.most = o->most,
                  .by_score = o->by_score,
                  .center = o->center,
                  .overlap = o->overlap,
                  .least = o->by_score ? o->score : 0};
    if (!a.most) a.most = wick_tensor_rank(scores) ? wick_tensor_dim(scores, -1) : 0;
    if (a.most < 0 || !(a.overlap == a.overlap) || !wick_dtype_is_float(dtype)) {
        out[0] = out[1] = wick_poison(boxes->ctx, WICK_ERR_INVALID, "nms: at most %lld of %s boxes, overlap %g",
                                      (long long)a.most, wick_dtype_name(dtype), a.overlap);
    } else {
        a.most = WICK_MIN(a.most, WICK_MAX(wick_tensor_rank(scores) ? wick_tensor_dim(scores, -1) : 0, 0));
        wick_record_n(NULL, &wick_op_nms, 2, (wick_tensor *[]){wick_as(boxes, wide), wick_as(scores, wide)}, &a,
                      sizeof a, 2, out);
    }
    if (count) *count = out[1];
    return out[0];
}

wick_tensor *wick_non_max_suppression(wick_tensor *boxes, wick_tensor *scores, const wick_nms_options *options) {
    wick_tensor *count, *kept = wick_nms_padded(boxes, scores, options, &count);
    if (!kept || kept->error) return kept;
    wick_context *ctx = kept->ctx;
    if (ctx->frame->trace)
        return wick_poison(ctx, WICK_ERR_INVALID,
                           "non_max_suppression: how many boxes it keeps is known only when it has run, which a "
                           "compiled function cannot wait for; "
                           "wick_nms_padded has a fixed size");
    const void *data, *numbers;
    if (wick_eval(ctx, 2, (wick_tensor *[]){kept, count}, NULL) || wick_data(kept, &data) || wick_data(count, &numbers))
        return wick_poison(ctx, WICK_ERR_INVALID, "non_max_suppression: %s", wick_context_error(ctx));
    const int64_t images = wick_tensor_dim(kept, 0), classes = wick_tensor_dim(kept, 1),
                  most = wick_tensor_dim(kept, 2), *at = data, *n = numbers;
    int64_t total = 0, k = 0;
    for (int64_t r = 0; r < images * classes; r++) total += n[r];
    const size_t bytes = (size_t)(3 * total + 1) * sizeof(int64_t);
    int64_t *rows = wick_alloc(&ctx->alloc, bytes);
    if (!rows) return wick_poison(ctx, WICK_ERR_NOMEM, "non_max_suppression: out of memory");
    for (int64_t r = 0; r < images * classes; r++)
        for (int64_t i = 0; i < n[r]; i++) {
            rows[k++] = r / classes;
            rows[k++] = r % classes;
            rows[k++] = at[r * most + i];
        }
    wick_tensor *y = wick_from(ctx, WICK_I64, WICK_DIMS(total, 3), rows);
    wick_release(&ctx->alloc, rows, bytes);
    return y;
}

wick_tensor *wick_nms(wick_tensor *boxes, wick_tensor *scores, double overlap) {
    if (!wick_promote_pair(&boxes, &scores, "nms")) return boxes;
    if (wick_tensor_rank(boxes) != 2 || wick_tensor_rank(scores) != 1)
        return wick_poison(boxes->ctx, WICK_ERR_SHAPE, "nms: boxes must be [B, 4] and scores [B]");
    wick_tensor *rows = wick_non_max_suppression(wick_unsqueeze(boxes, 0),
                                                 wick_reshape(scores, WICK_DIMS(1, 1, wick_tensor_dim(scores, 0))),
                                                 &(wick_nms_options){.overlap = overlap});
    return rows->error ? rows : wick_reshape(wick_slice(rows, 1, 2, 3, 1), WICK_DIMS(wick_tensor_dim(rows, 0)));
}
