/* nms.c: boxes that overlap better ones, left out. */
#include "kernels/sample/sample_api.h"

/* What is computed of f32 boxes is rounded to f32 step by step, as other programs have it: 7 / 10 is not above a limit
 * of 0.7. */
typedef struct box {
    double low[2], high[2], area;
} box;
static double number(wick_ctype type, const void *p, int64_t i) {
    return type == WICK_CF64 ? ((const double *)p)[i] : (double)((const float *)p)[i];
}
static box box_of(const wick_suppression *s, const void *boxes, int64_t i) {
    box b;
    for (int d = 0; d < 2; d++) {
        const double p = number(s->type, boxes, 4 * i + d), q = number(s->type, boxes, 4 * i + 2 + d);
        const double low = s->center ? p - q / 2 : p < q ? p : q, high = s->center ? p + q / 2 : p < q ? q : p;
        b.low[d] = wick_rounded_to(s->type, low), b.high[d] = wick_rounded_to(s->type, high);
    }
    const double height = wick_rounded_to(s->type, b.high[0] - b.low[0]);
    const double width = wick_rounded_to(s->type, b.high[1] - b.low[1]);
    b.area = wick_rounded_to(s->type, height * width);
    return b;
}
static double overlap(wick_ctype type, const box *a, const box *b) {
    double both = 1;
    for (int d = 0; d < 2; d++) {
        const double low = a->low[d] > b->low[d] ? a->low[d] : b->low[d],
                     high = a->high[d] < b->high[d] ? a->high[d] : b->high[d];
        if (!(high > low)) return 0;
        both *= wick_rounded_to(type, high - low);
    }
    both = wick_rounded_to(type, both);
    return wick_rounded_to(type, both / wick_rounded_to(type, wick_rounded_to(type, a->area + b->area) - both));
}

/* Does i come before j? By score, then by place. */
static bool before(const wick_suppression *s, const void *scores, int64_t i, int64_t j) {
    const double a = number(s->type, scores, i), b = number(s->type, scores, j);
    return a > b || (a == b && i < j);
}
static void sift(const wick_suppression *s, const void *scores, int64_t *heap, int64_t size, int64_t at) {
    for (int64_t child; (child = 2 * at + 1) < size; at = child) {
        if (child + 1 < size && before(s, scores, heap[child + 1], heap[child])) child++;
        if (!before(s, scores, heap[child], heap[at])) return;
        const int64_t was = heap[at];
        heap[at] = heap[child];
        heap[child] = was;
    }
}

void wick_suppress(const wick_suppression *s, int64_t begin, int64_t end, const void *boxes, const void *scores,
                   int64_t *kept, int64_t *count, int64_t *heap) {
    const size_t elem = wick_ctype_size(s->type);
    for (int64_t row = begin; row < end; row++) { /* a class of an image */
        const char *b = (const char *)boxes + (size_t)(row / s->classes * s->boxes * 4) * elem,
                   *score = (const char *)scores + (size_t)(row * s->boxes) * elem;
        int64_t *out = kept + row * s->most, n = 0, left = 0;
        for (int64_t i = 0; i < s->boxes; i++) {
            const double v = number(s->type, score, i);
            if (s->by_score ? v > s->least : v == v) heap[left++] = i;
        }
        for (int64_t i = left / 2; i-- > 0;) sift(s, score, heap, left, i);
        while (left && n < s->most) {
            const int64_t i = heap[0];
            const box candidate = box_of(s, b, i);
            heap[0] = heap[--left];
            sift(s, score, heap, left, 0);
            bool free = true;
            for (int64_t k = 0; k < n && free; k++) {
                const box better = box_of(s, b, out[k]);
                free = !(overlap(s->type, &better, &candidate) > s->overlap);
            }
            if (free) out[n++] = i;
        }
        count[row] = n;
        for (int64_t k = n; k < s->most; k++) out[k] = -1;
    }
}
