/* roi.c: RoIAlign (He, Gkioxari, Dollar, Girshick: Mask R-CNN, 2017): values of a field at regular places of boxes,
 * averaged by bins. Scattered reads: one version in plain C serves every tier. */
#include "kernels/sample/sample_api.h"

typedef enum roi_what { ROI_MEAN, ROI_MAX, ROI_PUT } roi_what;
typedef struct neighbours {
    int64_t at[4];
    double part[4];
} neighbours;

/* The four neighbours of a place and their parts; up to an element beyond the edge counts as the edge. */
static bool neighbours_of(const wick_roi *r, double y, double x, neighbours *q) {
    if (!(y >= -1 && y <= (double)r->height && x >= -1 && x <= (double)r->width)) return false;
    double place[2] = {y > 0 ? y : 0, x > 0 ? x : 0}, high[2];
    int64_t low[2], next[2];
    for (int d = 0; d < 2; d++) {
        const int64_t last = (d ? r->width : r->height) - 1;
        low[d] = (int64_t)place[d];
        next[d] = low[d] + 1;
        if (low[d] >= last) low[d] = next[d] = last, place[d] = (double)last;
        high[d] = place[d] - (double)low[d];
    }
    for (int k = 0; k < 4; k++) {
        q->at[k] = (k & 2 ? next[0] : low[0]) * r->width + (k & 1 ? next[1] : low[1]);
        q->part[k] = (k & 2 ? high[0] : 1 - high[0]) * (k & 1 ? high[1] : 1 - high[1]);
    }
    return true;
}

/* Places of f32 boxes are computed in f32, step by step, as other programs have it: a box of 5 by a scale of 0.8 is 4,
 * and has no fifth sample. This one is of sample i of `count` in a bin along an axis. */
static double place_of(const wick_roi *r, double corner, double size, int64_t bin, int64_t i, int64_t count) {
    const wick_ctype t = r->box_type;
    const double within = wick_rounded_to(t, wick_rounded_to(t, ((double)i + 0.5) * size) / (double)count);
    return wick_rounded_to(t, wick_rounded_to(t, corner + wick_rounded_to(t, (double)bin * size)) + within);
}

#define ROI_T       float
#define ROI_NAME(x) x##_f32
#include "kernels/sample/roi_body.h"
#define ROI_T       double
#define ROI_NAME(x) x##_f64
#include "kernels/sample/roi_body.h"

/* The first box whose image doesn't exist, or -1. */
static int64_t first_bad(const wick_roi *r, int64_t begin, int64_t end, const int64_t *image) {
    for (int64_t n = begin; n < end; n++)
        if ((uint64_t)image[n] >= (uint64_t)r->images) return n;
    return -1;
}
int64_t wick_roi_bins(const wick_roi *r, bool max, int64_t begin, int64_t end, const void *x, const void *boxes,
                      const int64_t *image, void *y) {
    const size_t size = (size_t)(r->channels * r->out[0] * r->out[1]) * wick_ctype_size(r->type);
    for (int64_t n = begin; n < end; n++)
        if ((uint64_t)image[n] >= (uint64_t)r->images) memset((char *)y + (size_t)n * size, 0, size);
    (r->type == WICK_CF64 ? run_f64 : run_f32)(r, max ? ROI_MAX : ROI_MEAN, begin, end, x, boxes, image, y, 0,
                                               r->channels);
    return first_bad(r, begin, end, image);
}
int64_t wick_roi_put(const wick_roi *r, int64_t begin, int64_t end, const void *y, const void *boxes,
                     const int64_t *image, void *x) {
    const size_t plane = (size_t)(r->height * r->width) * wick_ctype_size(r->type);
    for (int64_t i = 0; i < r->images; i++)
        memset((char *)x + (size_t)(i * r->channels + begin) * plane, 0, (size_t)(end - begin) * plane);
    (r->type == WICK_CF64 ? run_f64 : run_f32)(r, ROI_PUT, 0, r->boxes, y, boxes, image, x, begin, end);
    return begin ? -1 : first_bad(r, 0, r->boxes, image);
}
