/* along_body.h: the loops over one run, for one type; included by along.c with T and NAME, and MOVES: reads and plain writes, or FLOATS (and
 * then U, as many bits): writes that compute with what is there. */

#if MOVES

INLINE T NAME(combine)(const int how, T d, T v) { return (void)how, (void)d, v; }

/* other = data; a bad index gives zero. */
INLINE int64_t NAME(take_loop)(int64_t count, int64_t n, int64_t sa, int64_t sd, int64_t si, int64_t so, const T *data, const int64_t *index, T *other) {
    int64_t bad = -1;
    for (int64_t i = 0; i < count; i++) {
        const int64_t at = place_of(index[i * si], n);
        if (WICK_UNLIKELY(!is_place(at, n))) {
            if (bad < 0) bad = i;
            other[i * so] = 0;
            continue;
        }
        other[i * so] = data[at * sa + i * sd];
    }
    return bad;
}
static int64_t NAME(take)(const run *r, char *data_, const int64_t *index, char *other_) {
    const T *data = (const T *)(void *)data_;
    T *other = (T *)(void *)other_;
    int64_t bad = -1;
    for (int64_t i = 0, count; i < r->count; i += count) {
        bool places;
        count = part_of(r, index, i, &places);
        if (places) {
            T *to = other + i;
            const int64_t *at = index + i;
            UNROLL
            for (int k = 0; k < BLOCK; k++) to[k] = data[at[k]];
            continue;
        }
        const int64_t at = NAME(take_loop)(count, r->n, r->sa, r->data, r->index, r->other, data + i * r->data, index + i * r->index, other + i * r->other);
        if (bad < 0 && at >= 0) bad = i + at;
    }
    return bad;
}

#else

/* What becomes of d and what comes to it. Integers wrap. Extremes: NaN wins; without a jump that would be mispredicted half of the time. */
INLINE T NAME(combine)(const int how, T d, T v) {
    if (how == WICK_ALONG_ADD) return d + v;
    if (how == WICK_ALONG_MUL) return d * v;
#if FLOATS
    typedef T lanes __attribute__((vector_size(16)));
    typedef U bits __attribute__((vector_size(16)));
    const lanes new = {v}, old = {d};
    const bits take = (bits)(how == WICK_ALONG_MAX ? new > old : new < old) | (bits)(new != new);
    return ((lanes)(((bits)new & take) | ((bits)old & ~take)))[0];
#else
    const T take = -(T)(how == WICK_ALONG_MAX ? v > d : v < d);
    return (T)((v & take) | (d & ~take));
#endif
}

#endif

/* data = data combined with other; a bad index is passed over. */
INLINE int64_t NAME(put_loop)(const int how, int64_t count, int64_t n, int64_t sa, int64_t sd, int64_t si, int64_t so, T *data, const int64_t *index, const T *other) {
    int64_t bad = -1;
    for (int64_t i = 0; i < count; i++) {
        const int64_t at = place_of(index[i * si], n);
        if (WICK_UNLIKELY(!is_place(at, n))) {
            if (bad < 0) bad = i;
            continue;
        }
        T *to = data + at * sa + i * sd;
        *to = NAME(combine)(how, *to, other[i * so]);
    }
    return bad;
}
INLINE int64_t NAME(put)(const int how, const run *r, char *data_, const int64_t *index, const char *other_) {
    T *data = (T *)(void *)data_;
    const T *other = (const T *)(const void *)other_;
    if (r->index != 0 || r->data != 1 || r->other != 1) {
        int64_t bad = -1;
        for (int64_t i = 0, count; i < r->count; i += count) {
            bool places;
            count = part_of(r, index, i, &places);
            if (places) {
                const int64_t *at = index + i;
                const T *from = other + i;
                UNROLL
                for (int k = 0; k < BLOCK; k++) {
                    T *to = data + at[k];
                    *to = NAME(combine)(how, *to, from[k]);
                }
                continue;
            }
            const int64_t at = NAME(put_loop)(how, count, r->n, r->sa, r->data, r->index, r->other, data + i * r->data, index + i * r->index, other + i * r->other);
            if (bad < 0 && at >= 0) bad = i + at;
        }
        return bad;
    }
    /* One place for the whole run, over neighbours: a row that is added, as in the gradient of an embedding. */
    const int64_t at = place_of(index[0], r->n);
    if (WICK_UNLIKELY(!is_place(at, r->n))) return 0;
    T *restrict to = data + at * r->sa;
    const T *restrict from = other;
    for (int64_t i = 0; i < r->count; i++) to[i] = NAME(combine)(how, to[i], from[i]);
    return -1;
}

#if MOVES
static int64_t NAME(set)(const run *r, char *data, const int64_t *index, char *other) { return NAME(put)(WICK_ALONG_SET, r, data, index, other); }
#else
static int64_t NAME(add)(const run *r, char *data, const int64_t *index, char *other) { return NAME(put)(WICK_ALONG_ADD, r, data, index, other); }
static int64_t NAME(mul)(const run *r, char *data, const int64_t *index, char *other) { return NAME(put)(WICK_ALONG_MUL, r, data, index, other); }
static int64_t NAME(max)(const run *r, char *data, const int64_t *index, char *other) { return NAME(put)(WICK_ALONG_MAX, r, data, index, other); }
static int64_t NAME(min)(const run *r, char *data, const int64_t *index, char *other) { return NAME(put)(WICK_ALONG_MIN, r, data, index, other); }
#endif
#undef T
#undef U
#undef NAME
