/* quantize.c: parts and stages of quantising by a range; scale and zero point, which each part reckons again. */
#include <math.h>

#include "kernels/quantize/quantize.h"

enum { PART = 16384, WHOLE = 2 * PART }; /* elements of a task; up to which there is one task and one stage */

static const wick_quantize_table *const tables[WICK_TIER_COUNT] = {WICK_TIER_ENTRIES(&wick_quantize_table)};

void wick_ranging_prepare(wick_ranging *r) {
    r->stages = 1 + (r->n > WHOLE);
    r->part = r->stages > 1 ? PART : WICK_MAX(r->n, 1);
    r->tasks = WICK_MAX(1, wick_ceil_div(r->n, r->part)); /* of no elements, too: there are a scale and a zero point */
    r->partials = r->stages > 1 ? (size_t)r->tasks * 2 * sizeof(float) : 0;
}

static int64_t size_of(const wick_ranging *r, int64_t task) { return WICK_MIN(r->part, r->n - task * r->part); }

void wick_ranging_run(const wick_ranging *r, int stage, int64_t begin, int64_t end, const float *x, uint8_t *q,
                      float *scale, uint8_t *zero, float *partials) {
    const wick_quantize_table *t = tables[wick_tier_current()];
    if (begin >= end) return;
    if (stage < r->stages - 1) {
        for (int64_t i = begin; i < end; i++) {
            partials[2 * i] = partials[2 * i + 1] = 0;
            t->range(size_of(r, i), x + i * r->part, partials + 2 * i);
        }
        return;
    }
    float range[2] = {0, 0};
    if (r->stages == 1) t->range(r->n, x, range);
    else t->range(2 * r->tasks, partials, range);
    const float by = range[1] == range[0] ? 1 : (range[1] - range[0]) / 255;
    const float places = rintf((0 - range[0]) / by), point = places < 0 ? 0 : places > 255 ? 255 : places;
    if (begin == 0) {
        *scale = by;
        *zero = point >= 0 ? (uint8_t)point : 0; /* NaN: of an infinite range */
    }
    for (int64_t i = begin; i < end; i++) t->bytes(size_of(r, i), x + i * r->part, by, point, q + i * r->part);
}
