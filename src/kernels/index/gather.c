/* gather.c: copies slices named by an index. Bound by memory, so one version serves every tier.
 *
 * The elements are opaque: what counts is the size of a slice (inner * elem bytes). Slices of the sizes that single
 * elements have get a loop of loads and stores; longer ones, such as the rows of an embedding table, go to memcpy. */
#include "kernels/convert/convert.h"
#include "kernels/index/index_api.h"

/* Turns a Python-like index into an offset in [0, n), or -1. */
static inline int64_t place(int64_t index, int64_t n) {
    int64_t at = index < 0 ? index + n : index;
    return (uint64_t)at < (uint64_t)n ? at : -1;
}

/* Slices of a table that no near cache holds lie anywhere in it: those of an index some places on are asked for, their
 * first lines at least. */
enum { AHEAD = 32, LINE = 64, LINES = 8, FAR = 1 << 20 };
static inline void ask(const char *src, int64_t at, size_t size) {
    const size_t bytes = WICK_MIN(size, LINES * LINE);
    for (size_t b = 0; at >= 0 && b < bytes; b += LINE) __builtin_prefetch(src + (size_t)at * size + b);
}

/* One instance per slice size: with `size` a constant, memcpy and memset become one load and one store. past: NULL, or
 * results are in no cache when someone reads them, so that their lines need not be read before they are written over.
 * more: how many indices follow. */
static inline __attribute__((always_inline)) int64_t gather_sized(size_t size, bool known, bool from_dram,
                                                                  const wick_convert_table *nontemporal, int64_t n,
                                                                  int64_t count, int64_t more, const char *src,
                                                                  const int64_t *index, char *dst) {
    int64_t bad = -1;
    for (int64_t i = 0; known && i < count; i++) memcpy(dst + (size_t)i * size, src + (size_t)index[i] * size, size);
    if (known) return -1;
    for (int64_t i = 0; i < count; i++, dst += size) {
        int64_t at = place(index[i], n);
        if (from_dram && i + AHEAD < count + more) ask(src, place(index[i + AHEAD], n), size);
        if (WICK_UNLIKELY(at < 0)) {
            memset(dst, 0, size);
            if (bad < 0) bad = i;
        } else if (nontemporal)
            nontemporal->stream(dst, src + (size_t)at * size, size);
        else
            memcpy(dst, src + (size_t)at * size, size);
    }
    if (nontemporal) wick_stream_end();
    return bad;
}

int64_t wick_gather_rows(size_t elem, int64_t begin, int64_t end, int64_t n, int64_t inner, int64_t count,
                         const void *src, const int64_t *index, void *dst, bool nontemporal) {
    size_t size = (size_t)inner * elem;
    int64_t first = -1;
    /* single elements of many rows: places are looked at once, not for each row */
    bool known = end - begin > 1 && size <= 8;
    for (int64_t i = 0; known && i < count; i++) known = (uint64_t)index[i] < (uint64_t)n;
    for (int64_t o = begin; o < end; o++) {
        const char *s = (const char *)src + (size_t)o * (size_t)n * size;
        char *d = (char *)dst + (size_t)o * (size_t)count * size;
        int64_t bad;
        switch (size) {
        case 1:
            bad = gather_sized(1, known, false, NULL, n, count, 0, s, index, d);
            break;
        case 2:
            bad = gather_sized(2, known, false, NULL, n, count, 0, s, index, d);
            break;
        case 4:
            bad = gather_sized(4, known, false, NULL, n, count, 0, s, index, d);
            break;
        case 8:
            bad = gather_sized(8, known, false, NULL, n, count, 0, s, index, d);
            break;
        case 16:
            bad = gather_sized(16, false, false, NULL, n, count, 0, s, index, d);
            break;
        default:
            bad = nontemporal && size % LINE == 0
                      ? gather_sized(size, false, true, wick_convert_kernels(wick_tier_current()), n, count, 0, s,
                                     index, d)
                      : gather_sized(size, false, n * (int64_t)size >= FAR, NULL, n, count, 0, s, index, d);
            break;
        }
        first = bad; /* the same for every o: it depends on the index alone */
    }
    return first;
}

int64_t wick_gather_some(size_t size, int64_t n, int64_t count, int64_t more, const void *src, const int64_t *index,
                         void *dst) {
    return gather_sized(size, false, n * (int64_t)size >= FAR, NULL, n, count, more, src, index, dst);
}
