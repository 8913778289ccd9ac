/* extremes_body.h: running extremes and their places, once per type. What takes the place of the best so far is no
 * smaller (or larger) than it, or the first NaN, or a NaN after NaN. Most elements change nothing: a block that doesn't
 * is found by comparing it whole, and is only filled. */

INLINE bool NAME(better)(const bool max, T v, T best) {
    const bool beyond = max ? v >= best : v <= best;
#if FLOATS
    return (v != v) | ((best == best) & beyond);
#else
    return beyond;
#endif
}

/* n neighbours of a row onto *best_ and *at_; `place` is that of the first. Without y only the best is wanted. */
INLINE void NAME(row)(const bool max, int64_t n, int64_t place, const T *x, T *y, int64_t *index, T *best_,
                      int64_t *at_) {
    T best = *best_;
    int64_t at = *at_;
    for (int64_t i = 0; i < n;) {
        const int64_t end = WICK_MIN(n, i + BLOCK);
        if (end - i == BLOCK) {
            int changes = 0;
            for (int j = 0; j < BLOCK; j++) changes |= !(max ? x[i + j] < best : x[i + j] > best);
            if (!changes) {
                for (int j = 0; y && j < BLOCK; j++) y[i + j] = best;
                for (int j = 0; y && j < BLOCK; j++) index[i + j] = at;
                i = end;
                continue;
            }
        }
        for (; i < end; i++) {
            const bool takes = NAME(better)(max, x[i], best);
            best = takes ? x[i] : best;
            at = takes ? place + i : at;
            if (y) y[i] = best, index[i] = at;
        }
    }
    *best_ = best, *at_ = at;
}
/* The same from the last to the first. */
INLINE void NAME(row_back)(const bool max, int64_t n, const T *x, T *y, int64_t *index) {
    T best = x[n - 1];
    int64_t at = n - 1;
    for (int64_t i = n - 1; i >= 0; i--) {
        const bool takes = NAME(better)(max, x[i], best);
        best = takes ? x[i] : best;
        at = takes ? i : at;
        y[i] = best, index[i] = at;
    }
}
/* `width` columns side by side, rows `inner` apart. */
INLINE void NAME(columns)(const bool max, const bool back, int64_t n, int64_t inner, int64_t width, const T *x, T *y,
                          int64_t *index) {
    T best[WICK_SCAN_COLUMNS];
    int64_t at[WICK_SCAN_COLUMNS];
    for (int64_t k = 0; k < n; k++) {
        const int64_t place = back ? n - 1 - k : k, row = place * inner;
        for (int64_t l = 0; l < width; l++) {
            const T v = x[row + l];
            const bool takes = (k == 0) | NAME(better)(max, v, best[l]);
            best[l] = takes ? v : best[l];
            at[l] = takes ? place : at[l];
            y[row + l] = best[l];
            index[row + l] = at[l];
        }
    }
}

INLINE void NAME(lines)(const bool max, const wick_scan *s, int stage, int64_t begin, int64_t end, const void *x_,
                        void *y_, int64_t *index, void *partials) {
    const T *x = x_;
    T *y = y_;
    if (s->inner > 1) { /* blocks of columns */
        const int64_t blocks = (s->inner + WICK_SCAN_COLUMNS - 1) / WICK_SCAN_COLUMNS;
        for (int64_t b = begin; b < end; b++) {
            const int64_t l = b % blocks * WICK_SCAN_COLUMNS, first = b / blocks * s->n * s->inner + l,
                          width = WICK_MIN(WICK_SCAN_COLUMNS, s->inner - l);
            NAME(columns)(max, s->reverse, s->n, s->inner, width, x + first, y + first, index + first);
        }
        return;
    }
    struct {
        T best;
        int64_t at;
    } *part = partials; /* of each chunk: its own best, then that of all before it */
    if (s->chunks > 1 && stage == 1) {
        for (int64_t r = 0; r < s->outer; r++) {
            T best = part[r * s->chunks].best;
            int64_t at = part[r * s->chunks].at;
            for (int64_t line = r * s->chunks + 1; line < (r + 1) * s->chunks; line++) {
                const T own = part[line].best;
                const int64_t own_at = part[line].at;
                part[line].best = best, part[line].at = at;
                if (NAME(better)(max, own, best)) best = own, at = own_at;
            }
        }
        return;
    }
    for (int64_t line = begin; line < end; line++) {
        const int64_t r = line / s->chunks, from = line % s->chunks * s->chunk, n = WICK_MIN(s->chunk, s->n - from),
                      first = r * s->n + from;
        if (s->reverse) {
            NAME(row_back)(max, n, x + first, y + first, index + first);
            continue;
        }
        T best = x[first];
        int64_t at = from;
        if (s->chunks > 1 && stage == 0) {
            NAME(row)(max, n, from, x + first, NULL, NULL, &best, &at);
            part[line].best = best, part[line].at = at;
            continue;
        }
        if (from) best = part[line].best, at = part[line].at;
        NAME(row)(max, n, from, x + first, y + first, index + first, &best, &at);
    }
}
static void NAME(extremes)(const wick_scan *s, int stage, int64_t begin, int64_t end, const void *x, void *y,
                           int64_t *index, void *partials) {
    if (s->kind == WICK_SCAN_MAX)
        NAME(lines)(true, s, stage, begin, end, x, y, index, partials);
    else
        NAME(lines)(false, s, stage, begin, end, x, y, index, partials);
}
#undef T
#undef NAME
