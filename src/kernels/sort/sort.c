/* sort.c: stable sorts, the first k of them, and the k-th element, along rows. Exact, hence the same in every tier.
 *
 * Elements are packed with their place in the row: a key whose unsigned order is that of the values (NaN the largest,
 * -0 equal to 0), and below it the place: 32 + 32 bits where that suffices, else 64 + 64. Descending is the complement
 * of the key, so that equal ones keep their order both ways. Rows of up to CHUNK are sorted by one task each; longer
 * ones in chunks that are then merged, pairs of runs in each stage, by tasks of CHUNK results. Of few wanted (top k),
 * each chunk keeps those that beat the last of the best so far. */
#include "kernels/sort/sort_api.h"
#include "kernels/sort/sort_keys.h"

/* SELECT_MOST: longer rows are gone over once, with the best so far at hand */
enum { CHUNK = 65536, TASK = 16384, SELECT_MOST = 1024, SHORT = 0, LONG = 1, TOP = 2 };
enum { RANKED = 128 }; /* longer rows are sorted by digits */

typedef struct wide {
    uint64_t key, at;
} wide;

#define SORT_E          uint64_t
#define SORT_KEY(e)     ((uint32_t)((e) >> 32))
#define SORT_BITS       32
#define SORT_LESS(a, b) ((a) < (b))
#define SORT_NAME(x)    narrow_##x
#include "kernels/sort/sort_body.h"

#define SORT_E          wide
#define SORT_KEY(e)     ((e).key)
#define SORT_BITS       64
#define SORT_LESS(a, b) ((a).key < (b).key)
#define SORT_NAME(x)    wide_##x
#include "kernels/sort/sort_body.h"

/* The element that would stand at place k of a few narrow ones, of which no two are equal; a is overwritten. What is
 * not on its side of a pivot is left behind. */
static uint64_t select_few(uint64_t *a, int64_t n, int64_t k) {
    uint64_t more[RANKED];
    while (n > 1) {
        const uint64_t x = a[0], y = a[n / 2], z = a[n - 1], low = WICK_MIN(x, y),
                       pivot = WICK_MAX(low, WICK_MIN(WICK_MAX(x, y), z));
        int64_t below = 0, above = 0;
        for (int64_t i = 0; i < n; i++) {
            const uint64_t e = a[i];
            a[below] = more[above] = e;
            below += e < pivot;
            above += e > pivot;
        }
        if (k == below) return pivot;
        if (k < below) {
            n = below;
            continue;
        }
        k -= below + 1;
        n = above;
        memcpy(a, more, (size_t)n * sizeof *a);
    }
    return a[0];
}
static uint64_t select_narrow(uint64_t *a, int64_t n, int64_t k) {
    return n <= RANKED ? select_few(a, n, k) : narrow_select(a, n, k);
}

/* ---- keys -------------------------------------------------------------------------------------------------------- */

/* Why a key and a place are not 32 bits each; NULL: they are. */
static const char *narrow_refused(wick_ctype type, int64_t n) {
    if (type != WICK_CF32 && type != WICK_CI32) return "numbers have 64 bits";
    return n > UINT32_MAX ? "rows are longer than 2^32" : NULL;
}
static bool is_wide(wick_ctype type, int64_t n) { return narrow_refused(type, n) != NULL; }
static bool is_nan_key(wick_ctype type, uint64_t key) {
    return (type == WICK_CF32 && key == UINT32_MAX) || (type == WICK_CF64 && key == UINT64_MAX);
}

/* Element i of the row x. Wide ones may hold narrow types, in rows of more than 2^32. */
#define KEY(T, t, i) wick_sort_key_##t(((const T *)x)[i])
#define PACK(T, t)                                                                                        \
    for (int64_t i = 0; i < n; i++) {                                                                     \
        const uint64_t k = KEY(T, t, begin + i);                                                          \
        if (is_wide) {                                                                                    \
            ((wide *)to)[i] = (wide){flip ^ k, (uint64_t)(begin + i)};                                    \
        } else                                                                                            \
            ((uint64_t *)to)[i] = ((flip ^ k) & UINT32_MAX) << 32 | (uint64_t)(begin + i);                \
    }                                                                                                     \
    break;
static inline __attribute__((always_inline)) void pack_as(wick_ctype type, bool is_wide, uint64_t flip, const void *x,
                                                          int64_t begin, int64_t n, void *to) {
    switch (type) {
    case WICK_CF32: PACK(float, f32)
    case WICK_CF64: PACK(double, f64)
    case WICK_CI32: PACK(int32_t, i32)
    case WICK_CI64: PACK(int64_t, i64)
    default: PACK(uint64_t, u64)
    }
}
static void pack(wick_ctype type, bool is_wide, bool descending, const void *x, int64_t begin, int64_t n, void *to) {
    const uint64_t flip = descending ? UINT64_MAX : 0;
    if (is_wide)
        pack_as(type, true, flip, x, begin, n, to);
    else
        pack_as(type, false, flip, x, begin, n, to);
}

static inline uint64_t key_at(bool is_wide, const void *from, int64_t i) {
    return is_wide ? ((const wide *)from)[i].key : ((const uint64_t *)from)[i] >> 32;
}
static inline int64_t place_at(bool is_wide, const void *from, int64_t i) {
    return (int64_t)(is_wide ? ((const wide *)from)[i].at : ((const uint64_t *)from)[i] & UINT32_MAX);
}

/* Values are read again where they lie: the rows of a task are in cache, and what was long enough not to be is read
 * once. */
static void unpack(wick_ctype type, bool is_wide, const void *x, const void *from, int64_t n, void *values,
                   int64_t *index) {
    for (int64_t i = 0; i < n; i++) index[i] = place_at(is_wide, from, i);
    if (wick_ctype_size(type) == 4)
        for (int64_t i = 0; i < n; i++) ((uint32_t *)values)[i] = ((const uint32_t *)x)[index[i]];
    else
        for (int64_t i = 0; i < n; i++) ((uint64_t *)values)[i] = ((const uint64_t *)x)[index[i]];
}

/* The same of integers, whose keys tell what they are: those of a long row would be looked up all over memory. */
static void unpack_integers(wick_ctype type, bool is_wide, bool descending, const void *from, int64_t n, void *values,
                            int64_t *index) {
    const uint64_t flip = (descending ? UINT64_MAX : 0) ^ (type == WICK_CI64   ? 1ull << 63
                                                           : type == WICK_CI32 ? 1ull << 31
                                                                               : 0);
    for (int64_t i = 0; i < n; i++) {
        const uint64_t value = key_at(is_wide, from, i) ^ flip;
        if (wick_ctype_size(type) == 4) ((uint32_t *)values)[i] = (uint32_t)value;
        else ((uint64_t *)values)[i] = value;
        index[i] = place_at(is_wide, from, i);
    }
}

/* ---- sorting ----------------------------------------------------------------------------------------------------- */

static inline size_t packed_size(const wick_sorting *s) { return s->wide ? sizeof(wide) : sizeof(uint64_t); }
/* Few narrow ones: the place of each is how many keys are below its own; equal ones follow in the order that they come
 * in. */
typedef int32_t four __attribute__((vector_size(16), may_alias));
static void rank_sort(uint64_t *a, uint64_t *other, int64_t n) {
    enum { SIDE = 4 }; /* vectors that are counted side by side */
    four keys[RANKED / 4] = {0}, below[RANKED / 4];
    int32_t *key = (int32_t *)keys, *place = (int32_t *)below;
    uint8_t seen[RANKED] = {0};
    for (int64_t i = 0; i < n; i++) key[i] = (int32_t)((uint32_t)(a[i] >> 32) ^ 1u << 31);
    for (int64_t v = 0; v * 4 < n; v += SIDE) {
        four sum[SIDE] = {0};
        for (int64_t i = 0; i < n; i++) {
            const four x = {key[i], key[i], key[i], key[i]};
            for (int k = 0; k < SIDE; k++) sum[k] -= keys[v + k] > x;
        }
        for (int k = 0; k < SIDE; k++) below[v + k] = sum[k];
    }
    for (int64_t i = 0; i < n; i++) other[place[i] + seen[place[i]]++] = a[i];
    memcpy(a, other, (size_t)n * sizeof *a);
}

/* Why n of them are not sorted by counting those below each; NULL: they are. */
static const char *rank_refused(const wick_sorting *s, int64_t n) {
    if (s->wide) return "keys and places have 64 bits each";
    return n > RANKED ? "rows are longer than 128" : NULL;
}
static void sort_packed(const wick_sorting *s, void *a, void *other, int64_t n) {
    if (s->wide)
        wide_sort(a, other, n);
    else
        (rank_refused(s, n) ? narrow_sort : rank_sort)(a, other, n);
}
static int64_t top_room(int64_t k) { return WICK_MAX(4 * k, 128); }

static const char *top_refused(const wick_sorting *s) {
    if (s->n <= RANKED) return s->k <= s->n / 4 ? NULL : "more than a quarter of a row is wanted";
    return s->k <= s->n / 8 ? NULL : "more than an eighth of a row is wanted";
}
static const char *short_refused(const wick_sorting *s) { return s->chunks <= 1 ? NULL : "rows are longer than 65536"; }

const char *wick_sort_name(const wick_sorting *s) {
    if (s->mode == TOP)
        return s->chunks > 1         ? "the best of chunks, then of those"
               : s->n <= SELECT_MOST ? "what is not behind the last wanted one"
                                     : "the best so far of each row";
    return s->mode == LONG ? "chunks, merged" : rank_refused(s, s->n) ? "rows by digits" : "rows by rank";
}
int wick_sort_rejected(const wick_sorting *s, wick_rejected *out) {
    int n = 0;
    if (!s->tasks[0]) return 0;
    if (narrow_refused(s->type, s->n))
        out[n++] = (wick_rejected){"keys and places of 32 bits", narrow_refused(s->type, s->n)};
    if (s->mode == TOP) return n;
    out[n++] = (wick_rejected){"the best alone", top_refused(s)};
    if (s->mode == LONG) out[n++] = (wick_rejected){"whole rows at once", short_refused(s)};
    else if (rank_refused(s, s->n)) out[n++] = (wick_rejected){"by rank", rank_refused(s, s->n)};
    return n;
}

void wick_sort_prepare(wick_sorting *s) {
    s->wide = is_wide(s->type, s->n);
    s->chunks = (s->n + CHUNK - 1) / CHUNK;
    s->mode = !top_refused(s) ? TOP : !short_refused(s) ? SHORT : LONG;
    s->rows_per_task = WICK_MAX(1, TASK / WICK_MAX(s->n, 1));
    s->buffer = s->scratch = 0;
    const int64_t groups = (s->rows + s->rows_per_task - 1) / s->rows_per_task;
    memset(s->tasks, 0, sizeof s->tasks);
    s->stages = 1;
    s->tasks[0] = s->chunks <= 1 ? groups : s->rows * s->chunks;
    s->scratch = 2 * packed_size(s) * (size_t)WICK_MIN(s->n, CHUNK);
    if (s->k == 0 || s->rows == 0) {
        s->tasks[0] = 0;
        return;
    }
    if (s->mode == TOP) {
        s->scratch = 2 * packed_size(s) *
                     (size_t)WICK_MAX(top_room(s->k), WICK_MAX(s->chunks * s->k, WICK_MIN(s->n, SELECT_MOST)));
        if (s->chunks > 1) {
            s->stages = 2;
            s->tasks[1] = s->rows;
            s->buffer = packed_size(s) * (size_t)(s->rows * s->chunks * s->k);
        }
    } else if (s->mode == LONG) {
        for (int64_t run = CHUNK; run < s->n; run *= 2) s->tasks[s->stages++] = s->rows * s->chunks;
        s->tasks[s->stages++] = s->rows * s->chunks;
        s->buffer = packed_size(s) * (size_t)(s->rows * s->n);
    }
}

/* The first k of a short row, in order, at the front of scratch, which has room for the row twice: all that don't come
 * after the k-th. */
static void top_of_short(const wick_sorting *s, const char *x, void *scratch) {
    const size_t size = packed_size(s);
    void *other = (char *)scratch + (size_t)s->n * size;
    int64_t have = 0;
    pack(s->type, s->wide, s->descending, x, 0, s->n, scratch);
    memcpy(other, scratch, (size_t)s->n * size);
    if (s->wide) {
        const wide last = wide_select(other, s->n, s->k - 1), *from = scratch;
        wide *to = other;
        for (int64_t i = 0; i < s->n; i++) {
            to[have] = from[i];
            have += (from[i].key < last.key) | ((from[i].key == last.key) & (from[i].at <= last.at));
        }
    } else {
        const uint64_t last = select_narrow(other, s->n, s->k - 1), *from = scratch;
        uint64_t *to = other;
        for (int64_t i = 0; i < s->n; i++) {
            to[have] = from[i];
            have += from[i] <= last;
        }
    }
    memcpy(scratch, other, (size_t)s->k * size);
    sort_packed(s, scratch, other, s->k);
}

enum { FEW = 16, FEW_BLOCK = 16 };
typedef float four_floats __attribute__((vector_size(16), aligned(4), may_alias));
typedef int32_t four_integers __attribute__((vector_size(16), aligned(4), may_alias));
/* Might an element of a block come before v in order? Of floats NaN might, and before NaN all. */
#define MIGHT(T, V, name)                                                                            \
    static bool name(bool descending, const void *block, const void *v) {                            \
        const V *x = block, last = (V){0} + *(const T *)v;                                           \
        four all = ~(four){0};                                                                       \
        uint64_t part[2];                                                                            \
        if (descending)                                                                              \
            for (int i = 0; i < FEW_BLOCK / 4; i++) all &= x[i] <= last;                             \
        else                                                                                         \
            for (int i = 0; i < FEW_BLOCK / 4; i++) all &= x[i] >= last;                             \
        memcpy(part, &all, sizeof part);                                                             \
        return (part[0] & part[1]) != UINT64_MAX;                                                    \
    }
MIGHT(float, four_floats, might_f32)
MIGHT(int32_t, four_integers, might_i32)

static uint64_t narrow_of(const wick_sorting *s, const char *x, int64_t at) {
    const uint32_t flip = s->descending ? UINT32_MAX : 0,
                   key = s->type == WICK_CF32 ? wick_sort_key_f32(((const float *)(const void *)x)[at])
                                              : wick_sort_key_i32(((const int32_t *)(const void *)x)[at]);
    return (uint64_t)(key ^ flip) << 32 | (uint64_t)at;
}
/* best[0..have), in order, takes another one. */
static void put_best(uint64_t *best, int64_t have, uint64_t e) {
    for (; have > 0 && best[have - 1] > e; have--) best[have] = best[have - 1];
    best[have] = e;
}
/* The first k of row x[begin, begin + n), for few of them: they are kept in order, and blocks are looked at for what
 * comes before the last of them. False: so many did, one after the other, that another way is faster. */
static bool top_few(const wick_sorting *s, const char *x, int64_t begin, int64_t n, uint64_t *best) {
    const int64_t k = s->k, end = begin + n;
    if (s->wide || k > FEW || n < k) return false;
    int64_t at = begin, better = 0;
    for (; at < begin + k; at++) put_best(best, at - begin, narrow_of(s, x, at));
    while (at < end) {
        const int64_t stop = WICK_MIN(end, at + FEW_BLOCK);
        const char *last = x + 4 * (best[k - 1] & UINT32_MAX);
        if (stop == at + FEW_BLOCK &&
            !(s->type == WICK_CF32 ? might_f32 : might_i32)(s->descending, x + 4 * at, last)) {
            at = stop;
            continue;
        }
        for (; at < stop; at++) {
            const uint64_t e = narrow_of(s, x, at);
            if (e >= best[k - 1]) continue;
            put_best(best, k - 1, e);
            better++;
        }
        if (better > 4 * k + n / 8) return false;
    }
    return true;
}

/* The first k of row x[begin, begin + n), in order, at the front of scratch. Returns how many there are. */
static int64_t top_of(const wick_sorting *s, const char *x, int64_t begin, int64_t n, void *scratch) {
    enum { BLOCK = 64 };
    const int64_t room = top_room(s->k), k = WICK_MIN(s->k, n);
    const size_t size = packed_size(s);
    void *other = (char *)scratch + (size_t)room * size;
    int64_t have = 0;
    bool full = false; /* scratch starts with the best k so far, in order */
    if (top_few(s, x, begin, n, scratch)) return k;
    for (int64_t at = begin; at < begin + n; at += BLOCK) {
        const int64_t count = WICK_MIN(BLOCK, begin + n - at);
        wide block[BLOCK];
        pack(s->type, s->wide, s->descending, x, at, count, block);
        if (!full) {
            memcpy((char *)scratch + (size_t)have * size, block, (size_t)count * size);
            have += count;
        } else if (s->wide) {
            wide *to = scratch;
            const uint64_t bound = to[k - 1].key;
            for (int64_t i = 0; i < count; i++) {
                to[have] = block[i];
                have += block[i].key < bound;
            }
        } else {
            uint64_t *to = scratch;
            const uint64_t bound = to[k - 1], *from = (const uint64_t *)(const void *)block;
            for (int64_t i = 0; i < count; i++) {
                to[have] = from[i];
                have += from[i] < bound;
            }
        }
        if (have + BLOCK >= room) { /* room for one block, and the element behind it */
            sort_packed(s, scratch, other, have);
            have = k;
            full = true;
        }
    }
    sort_packed(s, scratch, other, have);
    return k;
}

static void run_rows(const wick_sorting *s, int64_t begin, int64_t end, const char *x, char *values, int64_t *index,
                     void *scratch) {
    const size_t elem = wick_ctype_size(s->type);
    for (int64_t r = begin; r < end; r++) {
        const char *row = x + (size_t)(r * s->n) * elem;
        if (s->mode == TOP && s->n <= SELECT_MOST) {
            if (!top_few(s, row, 0, s->n, scratch)) top_of_short(s, row, scratch);
        } else if (s->mode == TOP) {
            top_of(s, row, 0, s->n, scratch);
        } else {
            pack(s->type, s->wide, s->descending, row, 0, s->n, scratch);
            sort_packed(s, scratch, (char *)scratch + packed_size(s) * (size_t)s->n, s->n);
        }
        unpack(s->type, s->wide, row, scratch, s->k, values + (size_t)(r * s->k) * elem, index + r * s->k);
    }
}

/* Chunk c of row r at the stage of a LONG sort: 0 sorts it, the last puts results into place, those between merge. */
static void run_long(const wick_sorting *s, int stage, int64_t r, int64_t c, const char *x, char *values,
                     int64_t *index, void *const *buffers, void *scratch) {
    const size_t elem = wick_ctype_size(s->type), size = packed_size(s);
    const int64_t begin = c * CHUNK, end = WICK_MIN(s->n, begin + CHUNK);
    const char *row = x + (size_t)(r * s->n) * elem;
    char *from = (char *)buffers[(stage + 1) % 2] + (size_t)(r * s->n) * size,
         *to = (char *)buffers[stage % 2] + (size_t)(r * s->n) * size;
    if (stage == 0) {
        pack(s->type, s->wide, s->descending, row, begin, end - begin, to + (size_t)begin * size);
        sort_packed(s, to + (size_t)begin * size, scratch, end - begin);
    } else if (stage == s->stages - 1) {
        const int64_t n = WICK_MIN(end, s->k) - begin;
        char *result = values + (size_t)(r * s->k + begin) * elem;
        if (s->type != WICK_CF32 && s->type != WICK_CF64)
            unpack_integers(s->type, s->wide, s->descending, from + (size_t)begin * size, n, result,
                            index + r * s->k + begin);
        else if (n > 0) unpack(s->type, s->wide, row, from + (size_t)begin * size, n, result, index + r * s->k + begin);
    } else {
        const int64_t run = (int64_t)CHUNK << (stage - 1), lo = begin / (2 * run) * (2 * run),
                      mid = WICK_MIN(s->n, lo + run), hi = WICK_MIN(s->n, lo + 2 * run);
        if (s->wide)
            wide_merge_part((wide *)(void *)from + lo, mid - lo, (wide *)(void *)from + mid, hi - mid, begin - lo,
                            end - lo, (wide *)(void *)to + begin);
        else
            narrow_merge_part((uint64_t *)(void *)from + lo, mid - lo, (uint64_t *)(void *)from + mid, hi - mid,
                              begin - lo, end - lo, (uint64_t *)(void *)to + begin);
    }
}

void wick_sort_run(const wick_sorting *s, int stage, int64_t begin, int64_t end, const void *x, void *values,
                   int64_t *index, void *const *buffers, void *scratch) {
    const size_t elem = wick_ctype_size(s->type), size = packed_size(s);
    if (s->chunks <= 1) {
        run_rows(s, begin * s->rows_per_task, WICK_MIN(end * s->rows_per_task, s->rows), x, values, index, scratch);
        return;
    }
    for (int64_t task = begin; task < end; task++) {
        const int64_t r = task / s->chunks, c = task % s->chunks;
        if (s->mode == LONG) {
            run_long(s, stage, r, c, x, values, index, buffers, scratch);
        } else if (stage == 0) {
            const int64_t n = top_of(s, (const char *)x + (size_t)(r * s->n) * elem, c * CHUNK,
                                     WICK_MIN(CHUNK, s->n - c * CHUNK), scratch);
            memcpy((char *)buffers[0] + (size_t)(task * s->k) * size, scratch, (size_t)n * size);
        } else { /* a task is a row: the best of the chunks' best; only the last chunk can have fewer than k */
            const int64_t n = (s->chunks - 1) * s->k + WICK_MIN(s->k, s->n - (s->chunks - 1) * CHUNK);
            memcpy(scratch, (const char *)buffers[0] + (size_t)(task * s->chunks * s->k) * size, (size_t)n * size);
            sort_packed(s, scratch, (char *)scratch + (size_t)n * size, n);
            unpack(s->type, s->wide, (const char *)x + (size_t)(task * s->n) * elem, scratch, s->k,
                   (char *)values + (size_t)(task * s->k) * elem, index + task * s->k);
        }
    }
}

/* ---- the k-th ---------------------------------------------------------------------------------------------------- */

size_t wick_kth_scratch(wick_ctype type, int64_t n) {
    return (size_t)n * (is_wide(type, n) ? sizeof(wide) : sizeof(uint64_t));
}

void wick_kth_rows(wick_ctype type, wick_kth how, int64_t k, int64_t n, int64_t begin, int64_t end, const void *x,
                   void *values, int64_t *index, void *scratch) {
    const bool wide_ = is_wide(type, n);
    const size_t elem = wick_ctype_size(type);
    for (int64_t r = begin; r < end; r++) {
        const char *row = (const char *)x + (size_t)(r * n) * elem;
        pack(type, wide_, false, row, 0, n, scratch);
        int64_t numbers = n, first_nan = -1, at;
        for (int64_t i = n - 1; how != WICK_KTH && i >= 0; i--)
            if (is_nan_key(type, key_at(wide_, scratch, i))) numbers--, first_nan = i;
        if (first_nan >= 0 && (how == WICK_MEDIAN || numbers == 0)) {
            at = first_nan;
        } else {
            const int64_t place = how == WICK_KTH ? k : (numbers - 1) / 2;
            if (wide_)
                at = (int64_t)wide_select(scratch, n, place).at;
            else
                at = (int64_t)(select_narrow(scratch, n, place) & UINT32_MAX);
        }
        memcpy((char *)values + (size_t)r * elem, row + (size_t)at * elem, elem);
        index[r] = at;
    }
}
