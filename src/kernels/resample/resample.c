/* resample.c: picks the current tier's resampling kernels; copies along an axis, which are the same everywhere. */
#include "kernels/resample/resample.h"

static const wick_resample_table *const resample_tables[WICK_TIER_COUNT] = {WICK_TIER_ENTRIES(&wick_resample_table)};

void wick_resample_run(const wick_resample *r, int64_t begin, int64_t end, const void *x, void *y) {
    resample_tables[wick_tier_current()]->run[r->type == WICK_CF64](r, begin, end, x, y);
}

/* One instance per size of what is copied: with `size` a constant, memcpy is one load and one store. */
static inline __attribute__((always_inline)) void copy_sized(size_t size, const wick_resample *r, int64_t begin,
                                                             int64_t end, const char *x, char *y) {
    for (int64_t at = begin; at < end;) {
        const int64_t outer = at / r->out, first = at - outer * r->out, stop = WICK_MIN(r->out, first + end - at);
        const char *from = x + (size_t)(outer * r->in) * size;
        char *to = y + (size_t)at * size;
        at += stop - first;
        for (int64_t o = first; o < stop; o++, to += size) {
            if (r->uniform == 1)
                memcpy(to, from + (size_t)r->index[o] * size, size);
            else if (r->start[o + 1] > r->start[o])
                memcpy(to, from + (size_t)r->index[r->start[o]] * size, size);
            else
                for (size_t i = 0; i < size; i += r->elem) memcpy(to + i, &r->fill_bits, r->elem);
        }
    }
}
void wick_resample_copy(const wick_resample *r, int64_t begin, int64_t end, const void *x, void *y) {
    const size_t size = (size_t)r->inner * r->elem;
    switch (size) {
    case 1: copy_sized(1, r, begin, end, x, y); break;
    case 2: copy_sized(2, r, begin, end, x, y); break;
    case 4: copy_sized(4, r, begin, end, x, y); break;
    case 8: copy_sized(8, r, begin, end, x, y); break;
    default: copy_sized(size, r, begin, end, x, y); break;
    }
}
