/* along_body.h: the loop over up to BLOCK elements of a run, for one type; included by along.c with T and NAME, and
 * MOVES: reads and plain writes, or FLOATS (and then U, as many bits): writes that compute with what is there. */

#if !MOVES

/* What becomes of d and what comes to it. Integers wrap. Extremes: NaN wins; without a jump, which would be
 * mispredicted half of the time. */
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
INLINE void NAME(put)(const int how, int64_t n, char *data_, const int64_t *at, char *other_, int64_t so) {
    T *restrict data = (T *)(void *)data_;
    const T *restrict other = (const T *)(const void *)other_;
    if (!at)
        for (int64_t i = 0; i < n; i++) data[i] = NAME(combine)(how, data[i], other[i]);
    else if (so == 1 && n == BLOCK)
        UNROLL
        for (int i = 0; i < BLOCK; i++) data[at[i]] = NAME(combine)(how, data[at[i]], other[i]);
    else
        ROLLED
        for (int64_t i = 0; i < n; i++) data[at[i]] = NAME(combine)(how, data[at[i]], other[i * so]);
}
static void NAME(add)(int64_t n, char *data, const int64_t *at, char *other, int64_t so) {
    NAME(put)(WICK_ALONG_ADD, n, data, at, other, so);
}
static void NAME(mul)(int64_t n, char *data, const int64_t *at, char *other, int64_t so) {
    NAME(put)(WICK_ALONG_MUL, n, data, at, other, so);
}
static void NAME(max)(int64_t n, char *data, const int64_t *at, char *other, int64_t so) {
    NAME(put)(WICK_ALONG_MAX, n, data, at, other, so);
}
static void NAME(min)(int64_t n, char *data, const int64_t *at, char *other, int64_t so) {
    NAME(put)(WICK_ALONG_MIN, n, data, at, other, so);
}

#else

static void NAME(take)(int64_t n, char *data_, const int64_t *at, char *other_, int64_t so) {
    const T *restrict data = (const T *)(const void *)data_;
    T *restrict other = (T *)(void *)other_;
    if (!at)
        memcpy(other, data, (size_t)n * sizeof *data);
    else if (so == 1 && n == BLOCK)
        UNROLL
        for (int i = 0; i < BLOCK; i++) other[i] = data[at[i]];
    else
        ROLLED
        for (int64_t i = 0; i < n; i++) other[i * so] = data[at[i]];
}
static void NAME(set)(int64_t n, char *data_, const int64_t *at, char *other_, int64_t so) {
    T *restrict data = (T *)(void *)data_;
    const T *restrict other = (const T *)(const void *)other_;
    if (!at)
        memcpy(data, other, (size_t)n * sizeof *data);
    else if (so == 1 && n == BLOCK)
        UNROLL
        for (int i = 0; i < BLOCK; i++) data[at[i]] = other[i];
    else
        ROLLED
        for (int64_t i = 0; i < n; i++) data[at[i]] = other[i * so];
}

#endif
#undef T
#undef U
#undef NAME
