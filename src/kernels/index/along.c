/* along.c: reads and writes of elements that an index of the same shape names along one axis. Bound by memory, and the
 * arithmetic has the same bits in every tier, so one version serves all.
 *
 * The positions of the index are walked as units x axis x inner, where inner is one dim other than the axis, or
 * nothing. Every place of the data belongs to one (unit, inner) alone, so tasks that cut those write disjoint memory,
 * and places that are named more than once see their elements in the order of the axis. A run is the innermost loop:
 * along inner, or along the axis where there is none. */
#include "kernels/index/along.h"

enum {
    TASK = 16384,
    RUN = 8,
    BLOCK = 64,
    BLOCKS = 8,
    LONG = 1024 /* of a row that is long enough, so that fewer pages are gone through */
};
enum {
    PLACES = 131072 /* elements of a task's places */,
    LOOK = 64 /* elements of a row for each task that looks at its index */
};

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
        if (d == a->axis || d + 1 == a->axis || x->data != y->n * y->data || x->index != y->n * y->index ||
            x->other != y->n * y->other)
            continue;
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
    /* Tasks of about TASK elements: units together, or inner in blocks; where nothing is written twice, the axis in
     * blocks too. */
    const int64_t k = a->along.n;
    a->inner_block =
        k * a->inner.n <= TASK
            ? a->inner.n
            : WICK_MIN(a->inner.n, WICK_MAX(WICK_MAX(BLOCK, WICK_MIN(a->inner.n / BLOCKS, LONG)), TASK / k));
    a->axis_block = a->reads && k * a->inner_block > TASK ? WICK_MIN(k, WICK_MAX(1, TASK / a->inner_block)) : k;
    a->inner_blocks = (a->inner.n + a->inner_block - 1) / a->inner_block;
    a->axis_blocks = (k + a->axis_block - 1) / a->axis_block;
    a->units_per_task = a->inner_blocks * a->axis_blocks > 1 ? 1 : WICK_MAX(1, TASK / (k * a->inner.n));
    const bool rows = !a->reads && a->inner.index == 0 && a->inner_blocks > 1;
    const int64_t by_places = rows ? WICK_MIN(WICK_MIN(a->inner.n / LOOK, a->n * a->inner.n / PLACES), k / RUN) : 1;
    a->place_blocks = 1;
    a->place_block = a->n;
    if (by_places > 1 && by_places >= a->inner_blocks) {
        a->place_block = (a->n + by_places - 1) / by_places;
        a->place_blocks = (a->n + a->place_block - 1) / a->place_block;
        a->inner_block = a->inner.n;
        a->inner_blocks = 1;
    }
    a->tasks =
        (a->units + a->units_per_task - 1) / a->units_per_task * a->place_blocks * a->inner_blocks * a->axis_blocks;
}

#if defined(__clang__)
#define UNROLL _Pragma("unroll 8")
#define ROLLED _Pragma("nounroll")
#else
#define UNROLL _Pragma("GCC unroll 8")
#define ROLLED _Pragma("GCC unroll 1")
#endif
#define INLINE static inline __attribute__((always_inline))

/* n elements at data + at[i], or, where at is NULL, at data + i; of the other operand at i so. */
typedef void loop_fn(int64_t n, char *data, const int64_t *at, char *other, int64_t so);

/* Moves: elements of a size. */
#define MOVES 1
#define T       uint8_t
#define NAME(x) x##_1
#include "kernels/index/along_body.h"
#define T       uint16_t
#define NAME(x) x##_2
#include "kernels/index/along_body.h"
#define T       uint32_t
#define NAME(x) x##_4
#include "kernels/index/along_body.h"
#define T       uint64_t
#define NAME(x) x##_8
#include "kernels/index/along_body.h"
#undef MOVES

/* Arithmetic. */
#define MOVES 0
#define FLOATS 1
#define T       float
#define U       uint32_t
#define NAME(x) x##_f32
#include "kernels/index/along_body.h"
#define T       double
#define U       uint64_t
#define NAME(x) x##_f64
#include "kernels/index/along_body.h"
#undef FLOATS
#define FLOATS 0
#define T       int32_t
#define NAME(x) x##_i32
#include "kernels/index/along_body.h"
#define T       int64_t
#define NAME(x) x##_i64
#include "kernels/index/along_body.h"
#define T       uint64_t
#define NAME(x) x##_u64
#include "kernels/index/along_body.h"

static loop_fn *const arithmetic[WICK_CTYPE_COUNT][4] = {
    [WICK_CF32] = {add_f32, mul_f32, max_f32, min_f32}, [WICK_CF64] = {add_f64, mul_f64, max_f64, min_f64},
    [WICK_CI32] = {add_i32, mul_i32, max_i32, min_i32}, [WICK_CI64] = {add_i64, mul_i64, max_i64, min_i64},
    [WICK_CU64] = {add_u64, mul_u64, max_u64, min_u64},
};

static loop_fn *of_size(size_t elem, loop_fn *one, loop_fn *two, loop_fn *four, loop_fn *eight) {
    return elem == 1 ? one : elem == 2 ? two : elem == 4 ? four : eight;
}

/* The place that an index names; below 0 or not below n: there is none. */
INLINE int64_t place_of(int64_t index, int64_t n) { return index < 0 ? index + n : index; }
INLINE bool is_place(int64_t at, int64_t n) { return (uint64_t)at < (uint64_t)n; }

/* A run: strides of the data, the index and the other operand; sa: of the data along the axis, of extent n. Bytes of an
 * element. */
typedef struct run {
    loop_fn *loop;
    bool reads;
    int64_t count, n, sa, data, index, other, elem;
} run;

/* Returns -1, or the first bad index of the run; what it names is passed over, and read as zero. */
static int64_t go_along(const run *r, char *data, const int64_t *index, char *other) {
    int64_t room[BLOCK], bad = -1;
    /* place of neighbours: a row, as in the gradient of an embedding */
    const bool one = r->index == 0 && r->data == 1 && r->other == 1;
    const bool last = r->index == 1 && r->data == 0 && r->sa == 1;   /* an index is an offset, if it is not below 0 */
    for (int64_t i = 0, n; i < r->count; i += n, index += n * r->index, other += n * r->other * r->elem) {
        const int64_t *at = index;
        uint64_t wrong = 1ull << 63; /* the highest bit: of some number that is no place */
        n = one ? r->count : WICK_MIN(BLOCK, r->count - i);
        if (one && is_place(place_of(*index, r->n), r->n)) {
            r->loop(n, data + place_of(*index, r->n) * r->sa * r->elem, NULL, other, 1);
            continue;
        }
        n = WICK_MIN(BLOCK, r->count - i);
        if (last && n == BLOCK) {
            wrong = 0;
            UNROLL
            for (int k = 0; k < BLOCK; k++) wrong |= (uint64_t)at[k] | ((uint64_t)r->n - 1 - (uint64_t)at[k]);
        }
        if (wrong >> 63) {
            wrong = 0;
            at = room;
            for (int64_t k = 0; k < n; k++) {
                const int64_t place = place_of(index[k * r->index], r->n);
                wrong |= (uint64_t)place | ((uint64_t)r->n - 1 - (uint64_t)place);
                room[k] = place * r->sa + (i + k) * r->data;
            }
        }
        if (WICK_LIKELY(!(wrong >> 63))) {
            r->loop(n, data, at, other, r->other);
            continue;
        }
        for (int64_t k = 0; k < n; k++) {
            char *there = other + k * r->other * r->elem;
            if (is_place(place_of(index[k * r->index], r->n), r->n)) {
                r->loop(1, data, at + k, there, 1);
                continue;
            }
            if (bad < 0) bad = i + k;
            if (r->reads) memset(there, 0, (size_t)r->elem);
        }
    }
    return bad;
}

int64_t wick_along_run(const wick_along *a, int64_t begin, int64_t end, void *data, const int64_t *index, void *other) {
    loop_fn *loop = a->reads                    ? of_size(a->elem, take_1, take_2, take_4, take_8)
                 : a->how == WICK_ALONG_SET     ? of_size(a->elem, set_1, set_2, set_4, set_8)
                                                : arithmetic[a->type][a->how - WICK_ALONG_ADD];
    const bool has_inner = a->inner.n > 1 || a->along.n == 1;
    const wick_along_dim *inside = has_inner ? &a->inner : &a->along;
    const int64_t elem = (int64_t)a->elem;
    run r = {.loop = loop,
             .reads = a->reads,
             .n = a->n,
             .sa = a->along.data,
             .data = has_inner ? a->inner.data : 0,
             .index = inside->index,
             .other = inside->other,
             .elem = elem};
    int64_t first = -1;
    for (int64_t task = begin; task < end; task++) {
        const int64_t axis_block = task % a->axis_blocks, rest = task / a->axis_blocks,
                      inner_block = rest % a->inner_blocks;
        const int64_t p0 = rest / a->inner_blocks % a->place_blocks * a->place_block, p1 = p0 + a->place_block,
                      part = rest / a->inner_blocks / a->place_blocks;
        const int64_t u_end = WICK_MIN(a->units, (part + 1) * a->units_per_task);
        const int64_t j0 = axis_block * a->axis_block, j1 = WICK_MIN(a->along.n, j0 + a->axis_block);
        const int64_t l0 = inner_block * a->inner_block, l1 = WICK_MIN(a->inner.n, l0 + a->inner_block);
        for (int64_t u = part * a->units_per_task; u < u_end; u++) {
            int64_t at_data = l0 * a->inner.data, at_index = l0 * a->inner.index, at_other = l0 * a->inner.other,
                    at_place = l0 * a->inner.place;
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
                const int64_t to = a->place_blocks > 1 ? place_of(index[at_index + j * a->along.index], a->n) : p0;
                if ((to < p0 || to >= p1) && is_place(to, a->n)) continue; /* another task's */
                const int64_t bad = go_along(&r, (char *)data + at_data * elem, index + at_index + j * a->along.index,
                                             (char *)other + (at_other + j * a->along.other) * elem);
                if (WICK_LIKELY(bad < 0)) continue;
                const int64_t place = at_place + j * a->along.place + bad * inside->place;
                if (first < 0 || place < first) first = place;
            }
        }
    }
    return first;
}

int64_t wick_along_index(const wick_along *a, const int64_t *index, int64_t position) {
    for (int d = 0; d < a->rank; d++)
        if (a->dim[d].place) index += position / a->dim[d].place % a->dim[d].n * a->dim[d].index;
    if (a->along.place) index += position / a->along.place % a->along.n * a->along.index;
    if (a->inner.place) index += position / a->inner.place % a->inner.n * a->inner.index;
    return *index;
}
