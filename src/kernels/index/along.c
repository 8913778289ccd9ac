/* along.c: reads and writes of elements that an index of the same shape names along one axis. Bound by memory, and the arithmetic has the
 * same bits in every tier, so one version serves all.
 *
 * The positions of the index are walked as units x axis x inner, where inner is one dim other than the axis, or nothing. Every place of
 * the data belongs to one (unit, inner) alone, so tasks that cut those write disjoint memory, and places that are named more than once see
 * their elements in the order of the axis. A run is the innermost loop: along inner, or along the axis where there is none. */
#include "kernels/kernels.h"

enum { TASK = 16384, RUN = 8, BLOCK = 64 };

static void drop(wick_along *a, int d) {
    for (int i = d; i + 1 < a->rank; i++) a->dim[i] = a->dim[i + 1];
    a->rank--;
    a->axis -= a->axis > d;
}

void wick_along_prepare(wick_along *a) {
    int64_t at = 1;
    bool empty = false;
    for (int d = a->rank - 1; d >= 0; d--) {
        a->dim[d].place = a->dim[d].index ? at : 0;
        at *= a->dim[d].index ? a->dim[d].n : 1;
        empty |= a->dim[d].n == 0;
    }
    a->tasks = 0;
    if (empty) return;
    for (int d = a->rank - 1; d >= 0; d--) /* dims of 1, and dims that all walk as one */
        if (d != a->axis && a->dim[d].n == 1) drop(a, d);
    for (int d = a->rank - 2; d >= 0; d--) {
        const wick_along_dim *x = &a->dim[d], *y = x + 1;
        if (d == a->axis || d + 1 == a->axis || x->data != y->n * y->data || x->index != y->n * y->index || x->other != y->n * y->other) continue;
        a->dim[d + 1].n *= x->n;
        drop(a, d);
    }
    /* Inner: the last dim, unless it is short or the axis; then a longer one, if the axis is short as well. */
    int inner = a->rank - 1;
    if (inner == a->axis || a->dim[inner].n < RUN) {
        inner = a->axis;
        for (int d = 0; d < a->rank; d++)
            if (a->dim[inner].n < RUN && a->dim[d].n > a->dim[inner].n) inner = d;
    }
    a->along = a->dim[a->axis];
    a->inner = inner == a->axis ? (wick_along_dim){.n = 1} : a->dim[inner];
    if (inner != a->axis) drop(a, WICK_MAX(inner, a->axis)), drop(a, WICK_MIN(inner, a->axis));
    else drop(a, a->axis);
    a->units = 1;
    for (int d = 0; d < a->rank; d++) a->units *= a->dim[d].n;
    /* Tasks of about TASK elements: units together, or inner in blocks; where nothing is written twice, the axis in blocks too. */
    const int64_t k = a->along.n;
    a->inner_block = k * a->inner.n <= TASK ? a->inner.n : WICK_MIN(a->inner.n, WICK_MAX(BLOCK, TASK / k));
    a->axis_block = a->reads && k * a->inner_block > TASK ? WICK_MIN(k, WICK_MAX(1, TASK / a->inner_block)) : k;
    a->inner_blocks = (a->inner.n + a->inner_block - 1) / a->inner_block;
    a->axis_blocks = (k + a->axis_block - 1) / a->axis_block;
    a->units_per_task = a->inner_blocks * a->axis_blocks > 1 ? 1 : WICK_MAX(1, TASK / (k * a->inner.n));
    a->tasks = (a->units + a->units_per_task - 1) / a->units_per_task * a->inner_blocks * a->axis_blocks;
}

/* Runs: strides of the data, the index and the other operand; sa: of the data along the axis, of extent n. */
typedef struct run {
    int64_t count, n, sa, data, index, other;
} run;
/* Returns -1, or the first bad index of the run. */
typedef int64_t run_fn(const run *r, char *data, const int64_t *index, char *other);

/* Each loop twice: with strides as they come, and along a last axis, where they are 1. */
#define IS_LAST(r) ((r)->index == 1 && (r)->other == 1 && (r)->data == 0 && (r)->sa == 1)
#define INLINE     static inline __attribute__((always_inline))

/* The place that index i names is `at`; what follows in braces runs where there is none. */
#define PLACE(at, i, si, n)                                  \
    int64_t at = index[(i) * (si)];                          \
    at += at < 0 ? (n) : 0;                                  \
    if (WICK_UNLIKELY((uint64_t)at >= (uint64_t)(n)))

/* Reads: other = data; a bad index gives zero. */
#define TAKE(T, name)                                                                                     \
    INLINE int64_t name##_loop(int64_t count, int64_t n, int64_t sa, int64_t sd, int64_t si, int64_t so, const T *data, const int64_t *index, T *other) { \
        int64_t bad = -1;                                                                                 \
        for (int64_t i = 0; i < count; i++) {                                                             \
            PLACE(at, i, si, n) {                                                                         \
                if (bad < 0) bad = i;                                                                     \
                other[i * so] = 0;                                                                        \
                continue;                                                                                 \
            }                                                                                             \
            other[i * so] = data[at * sa + i * sd];                                                       \
        }                                                                                                 \
        return bad;                                                                                       \
    }                                                                                                     \
    static int64_t name(const run *r, char *data_, const int64_t *index, char *other_) {                  \
        const T *data = (const T *)(void *)data_;                                                         \
        T *other = (T *)(void *)other_;                                                                   \
        if (IS_LAST(r)) return name##_loop(r->count, r->n, 1, 0, 1, 1, data, index, other);               \
        return name##_loop(r->count, r->n, r->sa, r->data, r->index, r->other, data, index, other);       \
    }
/* Writes: data = expr of the old value d and the new one v; a bad index is passed over. An index that is the same along the whole run,
 * over neighbours, is a row that is added: the gradient of an embedding. */
#define PUT(T, name, expr)                                                                                \
    INLINE T name##_one(T d, T v) { return (void)d, expr; }                                               \
    INLINE int64_t name##_loop(int64_t count, int64_t n, int64_t sa, int64_t sd, int64_t si, int64_t so, T *data, const int64_t *index, const T *other) { \
        int64_t bad = -1;                                                                                 \
        for (int64_t i = 0; i < count; i++) {                                                             \
            PLACE(at, i, si, n) {                                                                         \
                if (bad < 0) bad = i;                                                                     \
                continue;                                                                                 \
            }                                                                                             \
            T *to = data + at * sa + i * sd;                                                              \
            *to = name##_one(*to, other[i * so]);                                                         \
        }                                                                                                 \
        return bad;                                                                                       \
    }                                                                                                     \
    static int64_t name(const run *r, char *data_, const int64_t *index, char *other_) {                  \
        T *data = (T *)(void *)data_;                                                                     \
        const T *other = (const T *)(void *)other_;                                                       \
        if (IS_LAST(r)) return name##_loop(r->count, r->n, 1, 0, 1, 1, data, index, other);               \
        if (r->index != 0 || r->data != 1 || r->other != 1)                                               \
            return name##_loop(r->count, r->n, r->sa, r->data, r->index, r->other, data, index, other);   \
        PLACE(row, 0, 0, r->n) return 0;                                                                  \
        T *restrict to = data + row * r->sa;                                                              \
        const T *restrict from = other;                                                                   \
        for (int64_t i = 0; i < r->count; i++) to[i] = name##_one(to[i], from[i]);                        \
        return -1;                                                                                        \
    }
TAKE(uint8_t, take_1)
TAKE(uint16_t, take_2)
TAKE(uint32_t, take_4)
TAKE(uint64_t, take_8)
PUT(uint8_t, set_1, v)
PUT(uint16_t, set_2, v)
PUT(uint32_t, set_4, v)
PUT(uint64_t, set_8, v)
/* The larger or smaller of two floats as bits, NaN first, without a jump that would be mispredicted half of the time. */
#define EXTREMES(T, U, t)                                                                                 \
    INLINE T as_##t(U bits) {                                                                             \
        T x;                                                                                              \
        memcpy(&x, &bits, sizeof x);                                                                      \
        return x;                                                                                         \
    }                                                                                                     \
    INLINE U larger_##t(U d, U v) {                                                                       \
        const T x = as_##t(d), y = as_##t(v);                                                             \
        const U take = (U)0 - (U)((y > x) | (y != y));                                                    \
        return (v & take) | (d & ~take);                                                                  \
    }                                                                                                     \
    INLINE U smaller_##t(U d, U v) {                                                                      \
        const T x = as_##t(d), y = as_##t(v);                                                             \
        const U take = (U)0 - (U)((y < x) | (y != y));                                                    \
        return (v & take) | (d & ~take);                                                                  \
    }
EXTREMES(float, uint32_t, f32)
EXTREMES(double, uint64_t, f64)
#define FLOATS(T, U, t)                    \
    PUT(T, add_##t, d + v)                 \
    PUT(T, mul_##t, d * v)                 \
    PUT(U, max_##t, larger_##t(d, v))      \
    PUT(U, min_##t, smaller_##t(d, v))
/* Sums and products of signed integers wrap, which is what unsigned ones do. */
#define INTEGERS(T, U, t)                  \
    PUT(U, add_##t, d + v)                 \
    PUT(U, mul_##t, d * v)                 \
    PUT(T, max_##t, v > d ? v : d)         \
    PUT(T, min_##t, v < d ? v : d)
FLOATS(float, uint32_t, f32)
FLOATS(double, uint64_t, f64)
INTEGERS(int32_t, uint32_t, i32)
INTEGERS(int64_t, uint64_t, i64)
INTEGERS(uint64_t, uint64_t, u64)

#define ROW(t) {add_##t, mul_##t, max_##t, min_##t}
static run_fn *const arithmetic[WICK_CTYPE_COUNT][4] = {
    [WICK_CF32] = ROW(f32), [WICK_CF64] = ROW(f64), [WICK_CI32] = ROW(i32), [WICK_CI64] = ROW(i64), [WICK_CU64] = ROW(u64),
};

static run_fn *of_size(size_t elem, run_fn *one, run_fn *two, run_fn *four, run_fn *eight) {
    return elem == 1 ? one : elem == 2 ? two : elem == 4 ? four : eight;
}

int64_t wick_along_run(const wick_along *a, int64_t begin, int64_t end, void *data, const int64_t *index, void *other) {
    run_fn *fn = a->reads                       ? of_size(a->elem, take_1, take_2, take_4, take_8)
                 : a->how == WICK_ALONG_SET     ? of_size(a->elem, set_1, set_2, set_4, set_8)
                                                : arithmetic[a->type][a->how - WICK_ALONG_ADD];
    const bool has_inner = a->inner.n > 1 || a->along.n == 1;
    const wick_along_dim *inside = has_inner ? &a->inner : &a->along;
    run r = {.n = a->n, .sa = a->along.data, .data = has_inner ? a->inner.data : 0, .index = inside->index, .other = inside->other};
    const int64_t elem = (int64_t)a->elem;
    int64_t first = -1;
    for (int64_t task = begin; task < end; task++) {
        const int64_t axis_block = task % a->axis_blocks, rest = task / a->axis_blocks, inner_block = rest % a->inner_blocks, part = rest / a->inner_blocks;
        const int64_t u_end = WICK_MIN(a->units, (part + 1) * a->units_per_task);
        const int64_t j0 = axis_block * a->axis_block, j1 = WICK_MIN(a->along.n, j0 + a->axis_block);
        const int64_t l0 = inner_block * a->inner_block, l1 = WICK_MIN(a->inner.n, l0 + a->inner_block);
        for (int64_t u = part * a->units_per_task; u < u_end; u++) {
            int64_t at_data = l0 * a->inner.data, at_index = l0 * a->inner.index, at_other = l0 * a->inner.other, at_place = l0 * a->inner.place;
            int64_t left = u;
            for (int d = a->rank - 1; d >= 0; d--) {
                const wick_along_dim *x = &a->dim[d];
                const int64_t i = left % x->n;
                left /= x->n;
                at_data += i * x->data;
                at_index += i * x->index;
                at_other += i * x->other;
                at_place += i * x->place;
            }
            r.count = has_inner ? l1 - l0 : j1 - j0;
            for (int64_t j = j0; j < (has_inner ? j1 : j0 + 1); j++) {
                const int64_t bad = fn(&r, (char *)data + at_data * elem, index + at_index + j * a->along.index, (char *)other + (at_other + j * a->along.other) * elem);
                if (WICK_LIKELY(bad < 0)) continue;
                const int64_t place = at_place + j * a->along.place + bad * inside->place;
                if (first < 0 || place < first) first = place;
            }
        }
    }
    return first;
}
