/* walk.c: packing strided elements into a block and back. A walk is cut into runs along the last dim; runs may be as
 * short as a few elements, so that the common steps (contiguous, repeated, strided) are loops in place rather than
 * calls. */
#include "kernels/convert/convert.h"

/* Position of a walk: an index per dim but the last, the offset of the current run, and where in the last dim it
 * starts. */
typedef struct walk {
    int64_t index[WICK_MAX_DIMS], offset, inner;
} walk;

static walk walk_to(int rank, const int64_t *dims, const int64_t *strides, int64_t at) {
    walk w;
    w.offset = 0;
    w.inner = 0;
    if (rank == 0) return w;
    w.inner = at % dims[rank - 1];
    at /= dims[rank - 1];
    for (int d = rank - 2; d >= 0; d--) {
        w.index[d] = at % dims[d];
        at /= dims[d];
        w.offset += w.index[d] * strides[d];
    }
    return w;
}

static inline void walk_next(walk *w, int rank, const int64_t *dims, const int64_t *strides) {
    w->inner = 0;
    for (int d = rank - 2; d >= 0; d--) {
        w->offset += strides[d];
        if (++w->index[d] < dims[d]) return;
        w->offset -= strides[d] * dims[d];
        w->index[d] = 0;
    }
}

/* One pair of loops per element size. Long runs of neighbours, or of one element, are worth a call; short ones are
 * not. */
#define WALK_RUN_BYTES 128
#define WALK(bits)                                                                                                     \
    static inline void run_in_##bits(uint##bits##_t *d, const uint##bits##_t *s, int64_t step, int64_t n) {            \
        if (step == 1 && n * (int64_t)sizeof *d >= WALK_RUN_BYTES) {                                                   \
            memcpy(d, s, (size_t)n * sizeof *d);                                                                       \
        } else if (step == 0 && bits != 16 && n * (int64_t)sizeof *d >= WALK_RUN_BYTES) {                              \
            wick_convert_kernels(wick_tier_current())->fill(bits / 8, d, s, (size_t)n);                                \
        } else if (step == 0) {                                                                                        \
            const uint##bits##_t v = *s;                                                                               \
            for (int64_t i = 0; i < n; i++) d[i] = v;                                                                  \
        } else if (step == -1) {                                                                                       \
            for (int64_t i = 0; i < n; i++) d[i] = s[-i];                                                              \
        } else {                                                                                                       \
            for (int64_t i = 0; i < n; i++) d[i] = s[i * step];                                                        \
        }                                                                                                              \
    }                                                                                                                  \
    static void gather_##bits(int rank, const int64_t *dims, const int64_t *strides, int64_t at, int64_t n,            \
                              const uint##bits##_t *src, uint##bits##_t *dst) {                                        \
        walk w = walk_to(rank, dims, strides, at);                                                                     \
        const int64_t length = rank ? dims[rank - 1] : 1, step = rank ? strides[rank - 1] : 1;                         \
        for (;;) {                                                                                                     \
            const int64_t run = WICK_MIN(length - w.inner, n);                                                         \
            run_in_##bits(dst, src + w.offset + w.inner * step, step, run);                                            \
            if ((n -= run) <= 0) return;                                                                               \
            dst += run;                                                                                                \
            walk_next(&w, rank, dims, strides);                                                                        \
        }                                                                                                              \
    }                                                                                                                  \
    static void scatter_##bits(int rank, const int64_t *dims, const int64_t *strides, int64_t at, int64_t n,           \
                               const uint##bits##_t *src, uint##bits##_t *dst) {                                       \
        walk w = walk_to(rank, dims, strides, at);                                                                     \
        const int64_t length = rank ? dims[rank - 1] : 1, step = rank ? strides[rank - 1] : 1;                         \
        for (;;) {                                                                                                     \
            const int64_t run = WICK_MIN(length - w.inner, n);                                                         \
            uint##bits##_t *d = dst + w.offset + w.inner * step;                                                       \
            if (step == 1)                                                                                             \
                memcpy(d, src, (size_t)run * sizeof *d);                                                               \
            else                                                                                                       \
                for (int64_t i = 0; i < run; i++) d[i * step] = src[i];                                                \
            if ((n -= run) <= 0) return;                                                                               \
            src += run;                                                                                                \
            walk_next(&w, rank, dims, strides);                                                                        \
        }                                                                                                              \
    }                                                                                                                  \
    static void move_##bits(int rank, const int64_t *dims, const int64_t *from, const int64_t *to, int64_t at,         \
                            int64_t n, const uint##bits##_t *src, uint##bits##_t *dst) {                               \
        walk r = walk_to(rank, dims, from, at), w = walk_to(rank, dims, to, at);                                       \
        const int64_t length = rank ? dims[rank - 1] : 1, step = rank ? from[rank - 1] : 1,                            \
                      d_step = rank ? to[rank - 1] : 1;                                                                \
        for (;;) {                                                                                                     \
            const int64_t run = WICK_MIN(length - w.inner, n);                                                         \
            const uint##bits##_t *s = src + r.offset + r.inner * step;                                                 \
            uint##bits##_t *d = dst + w.offset + w.inner * d_step;                                                     \
            if (d_step == 1)                                                                                           \
                run_in_##bits(d, s, step, run);                                                                        \
            else                                                                                                       \
                for (int64_t i = 0; i < run; i++) d[i * d_step] = s[i * step];                                         \
            if ((n -= run) <= 0) return;                                                                               \
            walk_next(&r, rank, dims, from);                                                                           \
            walk_next(&w, rank, dims, to);                                                                             \
        }                                                                                                              \
    }
WALK(8)
WALK(16)
WALK(32)
WALK(64)

/* Whole rows of a walk whose columns are what lies together: transposed. Returns how many elements that was. */
static int64_t gather_across(int elem, int rank, const int64_t *dims, const int64_t *strides, int64_t at, int64_t n,
                             const uint8_t *src, uint8_t *dst) {
    if (rank < 2 || strides[rank - 2] != 1 || strides[rank - 1] <= 1) return 0;
    const int64_t cols = dims[rank - 1], row = at / cols, in_rows = row % dims[rank - 2];
    if (at % cols || n < 2 * cols) return 0;
    const int64_t rows = WICK_MIN(n / cols, dims[rank - 2] - in_rows);
    const walk w = walk_to(rank, dims, strides, at);
    wick_convert_kernels(wick_tier_current())
        ->transpose(elem, src + w.offset * elem, strides[rank - 1], dst, cols, rows, cols, false);
    return rows * cols;
}

/* Pairs of a walk that repeats each of what lies together. Returns how many elements that was. */
static int64_t gather_twice(int elem, int rank, const int64_t *dims, const int64_t *strides, int64_t at, int64_t n,
                            const uint8_t *src, uint8_t *dst) {
    if (rank < 2 || strides[rank - 1] != 0 || dims[rank - 1] != 2 || strides[rank - 2] != 1 || at % 2) return 0;
    const int64_t pairs = WICK_MIN(n / 2, dims[rank - 2] - at / 2 % dims[rank - 2]);
    src += walk_to(rank, dims, strides, at).offset * elem;
#define TWICE(bits)                                                                                                    \
    for (int64_t i = 0; i < pairs; i++)                                                                                \
        ((uint##bits##_t *)(void *)dst)[2 * i] = ((uint##bits##_t *)(void *)dst)[2 * i + 1] =                          \
            ((const uint##bits##_t *)(const void *)src)[i];
    if (elem == 1) TWICE(8)
    else if (elem == 2) TWICE(16)
    else if (elem == 4) TWICE(32)
    else TWICE(64)
#undef TWICE
    return 2 * pairs;
}

void wick_walk_gather(int elem, int rank, const int64_t *dims, const int64_t *strides, int64_t at, int64_t n,
                      const void *src, void *dst) {
    for (int64_t done; n > 0; at += done, n -= done) {
        done = gather_across(elem, rank, dims, strides, at, n, src, dst);
        if (!done) done = gather_twice(elem, rank, dims, strides, at, n, src, dst);
        if (!done) break;
        dst = (uint8_t *)dst + done * elem;
    }
    if (n <= 0) return;
    switch (elem) {
    case 1:
        gather_8(rank, dims, strides, at, n, src, dst);
        break;
    case 2:
        gather_16(rank, dims, strides, at, n, src, dst);
        break;
    case 4:
        gather_32(rank, dims, strides, at, n, src, dst);
        break;
    default:
        gather_64(rank, dims, strides, at, n, src, dst);
        break;
    }
}

void wick_walk_scatter(int elem, int rank, const int64_t *dims, const int64_t *strides, int64_t at, int64_t n,
                       const void *src, void *dst) {
    switch (elem) {
    case 1:
        scatter_8(rank, dims, strides, at, n, src, dst);
        break;
    case 2:
        scatter_16(rank, dims, strides, at, n, src, dst);
        break;
    case 4:
        scatter_32(rank, dims, strides, at, n, src, dst);
        break;
    default:
        scatter_64(rank, dims, strides, at, n, src, dst);
        break;
    }
}

void wick_walk_move(int elem, int rank, const int64_t *dims, const int64_t *from, const int64_t *to, int64_t at,
                    int64_t n, const void *src, void *dst) {
    switch (elem) {
    case 1:
        move_8(rank, dims, from, to, at, n, src, dst);
        break;
    case 2:
        move_16(rank, dims, from, to, at, n, src, dst);
        break;
    case 4:
        move_32(rank, dims, from, to, at, n, src, dst);
        break;
    default:
        move_64(rank, dims, from, to, at, n, src, dst);
        break;
    }
}
