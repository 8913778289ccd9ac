/* cell_body.h: the elementwise part of one step of one sample; included once per type. Formulas: recurrent_api.h.
 * Each row function is written once with the activations as arguments; the usual ones are passed as constants, so that
 * the compiler makes a loop without choices (plain). That goes over whole vectors, so that it needs no second, scalar
 * form; what is left goes forward as a vector of its own (CELL_REST), backward the way of any activations. */

CELL_INLINE CELL_T CELL_NAME(act)(int kind, CELL_T x) {
    switch (kind) {
    case WICK_CELL_SIGMOID:
        return CELL_NAME(wick_cell_sigmoid)(x);
    case WICK_CELL_TANH:
        return CELL_NAME(wick_cell_tanh)(x);
    case WICK_CELL_RELU:
        return CELL_NAME(wick_cell_relu)(x);
    case WICK_CELL_HARD_SIGMOID:
        return CELL_NAME(wick_cell_hard_sigmoid)(x);
    case WICK_CELL_SOFTSIGN:
        return CELL_NAME(wick_cell_softsign)(x);
    default:
        return x;
    }
}
/* The same where the kind isn't known beforehand, once. */
static __attribute__((noinline)) CELL_T CELL_NAME(act_apart)(int kind, CELL_T x) { return CELL_NAME(act)(kind, x); }
CELL_INLINE CELL_T CELL_NAME(act_by)(bool plain, int kind, CELL_T x) {
    return plain ? CELL_NAME(act)(kind, x) : CELL_NAME(act_apart)(kind, x);
}
/* The derivative, by the result. */
CELL_INLINE CELL_T CELL_NAME(slope)(int kind, CELL_T y) {
    switch (kind) {
    case WICK_CELL_SIGMOID:
        return y * (1 - y);
    case WICK_CELL_TANH:
        return 1 - y * y;
    case WICK_CELL_RELU:
        return y > 0 ? 1 : 0;
    case WICK_CELL_HARD_SIGMOID:
        return y > 0 && y < 1 ? (CELL_T)0.2 : 0;
    case WICK_CELL_SOFTSIGN:
        return (1 - CELL_NAME(wick_abs)(y)) * (1 - CELL_NAME(wick_abs)(y));
    default:
        return 1;
    }
}
/* As slope; 0 where the clip was reached, which the result tells: activations grow, so that y is the one of +-clip
 * there. */
CELL_INLINE CELL_T CELL_NAME(clipped_slope)(int kind, CELL_T clip, CELL_T y) {
    if (clip > 0 && (y >= CELL_NAME(act_apart)(kind, clip) || y <= CELL_NAME(act_apart)(kind, -clip))) return 0;
    return CELL_NAME(slope)(kind, y);
}

#if WICK_TIER_ID > 0
/* Units [from, n) of a usual cell, fewer than a vector: as a whole one in rows of their own, which go the way of the
 * others. x and pre have `blocks` rows of n that are read, gates `saved`; own: which rows of one n the cell has besides
 * h. */
enum { CELL_NAME(HAS_C) = 1, CELL_NAME(HAS_Y) = 2, CELL_NAME(HAS_SIDE) = 4 };
static __attribute__((noinline)) void CELL_NAME(forward_rest)(const wick_cell_row *r, int64_t from, int blocks,
                                                              int saved, int own, wick_cell_fn *forward) {
    enum { L = CELL_BYTES / (int)sizeof(CELL_T) };
    CELL_T x[4 * L] = {0}, pre[4 * L] = {0}, gates[4 * L] = {0}, peephole[3 * L] = {0}, rest[5][L] = {{0}};
    const size_t bytes = (size_t)(r->n - from) * sizeof(CELL_T);
    void *const rows[] = {r->h, own & CELL_NAME(HAS_C) ? r->c : NULL, own & CELL_NAME(HAS_Y) ? r->y : NULL,
                          own & CELL_NAME(HAS_SIDE) ? r->side : NULL};
    for (int b = 0; b < 4; b++) {
        const int64_t at = b * r->n + from;
        if (b < blocks) memcpy(x + b * L, (const CELL_T *)r->x + at, bytes);
        if (b < blocks) memcpy(pre + b * L, (const CELL_T *)r->pre + at, bytes);
        if (b < saved) memcpy(gates + b * L, (const CELL_T *)r->gates + at, bytes);
        if (b < 3 && r->peephole) memcpy(peephole + b * L, (const CELL_T *)r->peephole + at, bytes);
        if (rows[b]) memcpy(rest[b], (const CELL_T *)rows[b] + from, bytes);
    }
    if (r->bias) memcpy(rest[4], (const CELL_T *)r->bias + from, bytes);
    wick_cell_row t = *r;
    t.n = L;
    t.x = x, t.pre = pre, t.gates = gates;
    t.h = rest[0], t.c = rest[1], t.y = rest[2], t.side = rest[3];
    t.bias = r->bias ? rest[4] : NULL;
    t.peephole = r->peephole ? peephole : NULL;
    forward(&t);
    for (int b = 0; b < 4; b++) {
        if (b < saved) memcpy((CELL_T *)r->gates + b * r->n + from, gates + b * L, bytes);
        if (rows[b]) memcpy((CELL_T *)rows[b] + from, rest[b], bytes);
    }
}
#define CELL_REST(r, whole, blocks, saved, own, forward)                                                               \
    if ((r)->plain && (whole) < (r)->n) {                                                                              \
        CELL_NAME(forward_rest)(r, whole, blocks, saved, own, forward);                                                \
        return;                                                                                                        \
    }
#else
#define CELL_REST(r, whole, blocks, saved, own, forward)
#endif

/* ---- RNN --------------------------------------------------------------------------------------------------------- */

CELL_INLINE void CELL_NAME(rnn_row)(int64_t begin, int64_t end, bool plain, int kind, CELL_T clip,
                                    const CELL_T *restrict x, const CELL_T *restrict pre, CELL_T *restrict h,
                                    CELL_T *restrict y) {
    CELL_LOOP
    for (int64_t j = begin; j < end; j++)
        y[j] = h[j] = CELL_NAME(act_by)(plain, kind, CELL_NAME(wick_cell_clipped)(clip, pre[j] + x[j]));
}
static void CELL_NAME(forward_rnn)(const wick_cell_row *r) {
    const int64_t whole = CELL_WHOLE(r);
    CELL_NAME(rnn_row)(0, whole, true, WICK_CELL_TANH, 0, r->x, r->pre, r->h, r->y);
    CELL_REST(r, whole, 1, 0, CELL_NAME(HAS_Y), CELL_NAME(forward_rnn))
    if (whole < r->n) CELL_NAME(rnn_row)(whole, r->n, false, r->act[0], (CELL_T)r->clip, r->x, r->pre, r->h, r->y);
}
CELL_INLINE void CELL_NAME(rnn_back)(int64_t begin, int64_t end, int kind, CELL_T clip, const CELL_T *restrict y,
                                     const CELL_T *restrict gy, CELL_T *restrict dh, CELL_T *restrict pre,
                                     CELL_T *restrict dx) {
    CELL_LOOP
    for (int64_t j = begin; j < end; j++) {
        pre[j] = dx[j] = (dh[j] + gy[j]) * CELL_NAME(clipped_slope)(kind, clip, y[j]);
        dh[j] = 0;
    }
}
static void CELL_NAME(backward_rnn)(const wick_cell_row *r) {
    const int64_t whole = CELL_WHOLE(r);
    CELL_NAME(rnn_back)(0, whole, WICK_CELL_TANH, 0, r->gates, r->gy, r->h, r->pre, r->dx);
    if (whole < r->n)
        CELL_NAME(rnn_back)(whole, r->n, r->act[0], (CELL_T)r->clip, r->gates, r->gy, r->h, r->pre, r->dx);
}

/* ---- LSTM -------------------------------------------------------------------------------------------------------- */

CELL_INLINE void CELL_NAME(lstm_row)(int64_t n, int64_t begin, int64_t end, bool plain, int f, int g, int o,
                                     CELL_T clip, bool coupled, const CELL_T *p, const CELL_T *restrict x,
                                     const CELL_T *restrict pre, CELL_T *restrict gates, CELL_T *restrict c,
                                     CELL_T *restrict h, CELL_T *restrict y) {
    CELL_LOOP
    for (int64_t j = begin; j < end; j++) {
        const CELL_T was = c[j];
        CELL_T ai = pre[j] + x[j], af = pre[n + j] + x[n + j], ag = pre[2 * n + j] + x[2 * n + j],
               ao = pre[3 * n + j] + x[3 * n + j];
        if (p) ai += p[j] * was, af += p[n + j] * was;
        const CELL_T vi = CELL_NAME(act_by)(plain, f, CELL_NAME(wick_cell_clipped)(clip, ai));
        const CELL_T vf = coupled ? 1 - vi : CELL_NAME(act_by)(plain, f, CELL_NAME(wick_cell_clipped)(clip, af));
        const CELL_T vg = CELL_NAME(act_by)(plain, g, CELL_NAME(wick_cell_clipped)(clip, ag)), now = vf * was + vi * vg;
        if (p) ao += p[2 * n + j] * now;
        const CELL_T vo = CELL_NAME(act_by)(plain, f, CELL_NAME(wick_cell_clipped)(clip, ao));
        gates[j] = vi;
        gates[n + j] = vf;
        gates[2 * n + j] = vg;
        gates[3 * n + j] = vo;
        c[j] = now;
        y[j] = h[j] = vo * CELL_NAME(act_by)(plain, o, now);
    }
}
static void CELL_NAME(forward_lstm)(const wick_cell_row *r) {
    const int64_t whole = CELL_WHOLE(r);
    if (r->peephole) CELL_NAME(lstm_row)
    (r->n, 0, whole, true, WICK_CELL_SIGMOID, WICK_CELL_TANH, WICK_CELL_TANH, 0, false, r->peephole, r->x, r->pre,
     r->gates, r->c, r->h, r->y);
    else CELL_NAME(lstm_row)(r->n, 0, whole, true, WICK_CELL_SIGMOID, WICK_CELL_TANH, WICK_CELL_TANH, 0, false, NULL,
                             r->x, r->pre, r->gates, r->c, r->h, r->y);
    CELL_REST(r, whole, 4, 4, CELL_NAME(HAS_C) | CELL_NAME(HAS_Y), CELL_NAME(forward_lstm))
    if (whole < r->n) CELL_NAME(lstm_row)
    (r->n, whole, r->n, false, r->act[0], r->act[1], r->act[2], (CELL_T)r->clip, r->coupled, r->peephole, r->x, r->pre,
     r->gates, r->c, r->h, r->y);
}
/* The cell's new state is made again from what was saved. */
CELL_INLINE void CELL_NAME(lstm_back)(int64_t n, int64_t begin, int64_t end, bool plain, int f, int g, int o,
                                      CELL_T clip, bool coupled, const CELL_T *p, const CELL_T *gg,
                                      const CELL_T *restrict gates, const CELL_T *restrict c_prev,
                                      const CELL_T *restrict gy, CELL_T *restrict dh, CELL_T *restrict dc,
                                      CELL_T *restrict pre, CELL_T *restrict dx) {
    CELL_LOOP
    for (int64_t j = begin; j < end; j++) {
        const CELL_T vi = gates[j], vf = gates[n + j], vg = gates[2 * n + j], vo = gates[3 * n + j], was = c_prev[j];
        const CELL_T shown = CELL_NAME(act_by)(plain, o, vf * was + vi * vg), a = dh[j] + gy[j];
        const CELL_T ao = (a * shown + (gg ? gg[3 * n + j] : 0)) * CELL_NAME(clipped_slope)(f, clip, vo);
        CELL_T d = dc[j] + a * vo * CELL_NAME(slope)(o, shown);
        if (p) d += ao * p[2 * n + j];
        const CELL_T df = d * was + (gg ? gg[n + j] : 0);
        CELL_T di = d * vg + (gg ? gg[j] : 0);
        if (coupled) di -= df;
        const CELL_T ai = di * CELL_NAME(clipped_slope)(f, clip, vi),
                     af = coupled ? 0 : df * CELL_NAME(clipped_slope)(f, clip, vf);
        const CELL_T ag = (d * vi + (gg ? gg[2 * n + j] : 0)) * CELL_NAME(clipped_slope)(g, clip, vg);
        d *= vf;
        if (p) d += ai * p[j] + af * p[n + j];
        dc[j] = d;
        dh[j] = 0;
        pre[j] = dx[j] = ai;
        pre[n + j] = dx[n + j] = af;
        pre[2 * n + j] = dx[2 * n + j] = ag;
        pre[3 * n + j] = dx[3 * n + j] = ao;
    }
}
static void CELL_NAME(backward_lstm)(const wick_cell_row *r) {
    const int64_t whole = CELL_WHOLE(r);
    CELL_NAME(lstm_back)
    (r->n, 0, whole, true, WICK_CELL_SIGMOID, WICK_CELL_TANH, WICK_CELL_TANH, 0, false, NULL, NULL, r->gates, r->c_prev,
     r->gy, r->h, r->c, r->pre, r->dx);
    if (whole < r->n) CELL_NAME(lstm_back)
    (r->n, whole, r->n, false, r->act[0], r->act[1], r->act[2], (CELL_T)r->clip, r->coupled, r->peephole, r->ggates,
     r->gates, r->c_prev, r->gy, r->h, r->c, r->pre, r->dx);
}

/* ---- GRU --------------------------------------------------------------------------------------------------------- */

CELL_INLINE void CELL_NAME(gru_row)(int64_t n, int64_t begin, int64_t end, bool plain, int f, int g, CELL_T clip,
                                    const CELL_T *b, const CELL_T *restrict x, const CELL_T *restrict pre,
                                    CELL_T *restrict gates, CELL_T *restrict h, CELL_T *restrict y) {
    CELL_LOOP
    for (int64_t j = begin; j < end; j++) {
        const CELL_T vr = CELL_NAME(act_by)(plain, f, CELL_NAME(wick_cell_clipped)(clip, pre[j] + x[j]));
        const CELL_T vz = CELL_NAME(act_by)(plain, f, CELL_NAME(wick_cell_clipped)(clip, pre[n + j] + x[n + j]));
        const CELL_T side = pre[2 * n + j] + (b ? b[j] : 0);
        const CELL_T vn = CELL_NAME(act_by)(plain, g, CELL_NAME(wick_cell_clipped)(clip, x[2 * n + j] + vr * side));
        gates[j] = vr;
        gates[n + j] = vz;
        gates[2 * n + j] = vn;
        gates[3 * n + j] = side;
        y[j] = h[j] = (1 - vz) * vn + vz * h[j];
    }
}
static void CELL_NAME(forward_gru)(const wick_cell_row *r) {
    const int64_t whole = CELL_WHOLE(r);
    CELL_NAME(gru_row)
    (r->n, 0, whole, true, WICK_CELL_SIGMOID, WICK_CELL_TANH, 0, r->bias, r->x, r->pre, r->gates, r->h, r->y);
    CELL_REST(r, whole, 3, 4, CELL_NAME(HAS_Y), CELL_NAME(forward_gru))
    if (whole < r->n) CELL_NAME(gru_row)
    (r->n, whole, r->n, false, r->act[0], r->act[1], (CELL_T)r->clip, r->bias, r->x, r->pre, r->gates, r->h, r->y);
}
CELL_INLINE void CELL_NAME(gru_back)(int64_t n, int64_t begin, int64_t end, int f, int g, CELL_T clip, const CELL_T *gg,
                                     const CELL_T *restrict gates, const CELL_T *restrict h_prev,
                                     const CELL_T *restrict gy, CELL_T *restrict dh, CELL_T *restrict pre,
                                     CELL_T *restrict dx) {
    CELL_LOOP
    for (int64_t j = begin; j < end; j++) {
        const CELL_T vr = gates[j], vz = gates[n + j], vn = gates[2 * n + j], side = gates[3 * n + j],
                     a = dh[j] + gy[j];
        const CELL_T az = (a * (h_prev[j] - vn) + (gg ? gg[n + j] : 0)) * CELL_NAME(clipped_slope)(f, clip, vz);
        const CELL_T an = (a * (1 - vz) + (gg ? gg[2 * n + j] : 0)) * CELL_NAME(clipped_slope)(g, clip, vn);
        const CELL_T ar = (an * side + (gg ? gg[j] : 0)) * CELL_NAME(clipped_slope)(f, clip, vr);
        dh[j] = a * vz;
        pre[j] = dx[j] = ar;
        pre[n + j] = dx[n + j] = az;
        dx[2 * n + j] = an;
        pre[2 * n + j] = an * vr + (gg ? gg[3 * n + j] : 0);
    }
}
static void CELL_NAME(backward_gru)(const wick_cell_row *r) {
    const int64_t whole = CELL_WHOLE(r);
    CELL_NAME(gru_back)
    (r->n, 0, whole, WICK_CELL_SIGMOID, WICK_CELL_TANH, 0, NULL, r->gates, r->h_prev, r->gy, r->h, r->pre, r->dx);
    if (whole < r->n) CELL_NAME(gru_back)
    (r->n, whole, r->n, r->act[0], r->act[1], (CELL_T)r->clip, r->ggates, r->gates, r->h_prev, r->gy, r->h, r->pre,
     r->dx);
}

/* The reset gate before the product: r and z, then, with (r h) W' in pre, the rest. */
CELL_INLINE void CELL_NAME(gru_first_row)(int64_t n, int64_t begin, int64_t end, bool plain, int f, CELL_T clip,
                                          const CELL_T *restrict x, const CELL_T *restrict pre,
                                          const CELL_T *restrict h, CELL_T *restrict gates, CELL_T *restrict side) {
    CELL_LOOP
    for (int64_t j = begin; j < end; j++) {
        const CELL_T vr = CELL_NAME(act_by)(plain, f, CELL_NAME(wick_cell_clipped)(clip, pre[j] + x[j]));
        gates[j] = vr;
        gates[n + j] = CELL_NAME(act_by)(plain, f, CELL_NAME(wick_cell_clipped)(clip, pre[n + j] + x[n + j]));
        gates[3 * n + j] = side[j] = vr * h[j];
    }
}
static void CELL_NAME(forward_gru_first)(const wick_cell_row *r) {
    const int64_t whole = CELL_WHOLE(r);
    CELL_NAME(gru_first_row)(r->n, 0, whole, true, WICK_CELL_SIGMOID, 0, r->x, r->pre, r->h, r->gates, r->side);
    CELL_REST(r, whole, 2, 4, CELL_NAME(HAS_SIDE), CELL_NAME(forward_gru_first))
    if (whole < r->n) CELL_NAME(gru_first_row)
    (r->n, whole, r->n, false, r->act[0], (CELL_T)r->clip, r->x, r->pre, r->h, r->gates, r->side);
}
CELL_INLINE void CELL_NAME(gru_after_row)(int64_t n, int64_t begin, int64_t end, bool plain, int g, CELL_T clip,
                                          const CELL_T *restrict x, const CELL_T *restrict pre, CELL_T *restrict gates,
                                          CELL_T *restrict h, CELL_T *restrict y) {
    CELL_LOOP
    for (int64_t j = begin; j < end; j++) {
        const CELL_T vz = gates[n + j],
                     vn =
                         CELL_NAME(act_by)(plain, g, CELL_NAME(wick_cell_clipped)(clip, x[2 * n + j] + pre[2 * n + j]));
        gates[2 * n + j] = vn;
        y[j] = h[j] = (1 - vz) * vn + vz * h[j];
    }
}
static void CELL_NAME(forward_gru_after)(const wick_cell_row *r) {
    const int64_t whole = CELL_WHOLE(r);
    CELL_NAME(gru_after_row)(r->n, 0, whole, true, WICK_CELL_TANH, 0, r->x, r->pre, r->gates, r->h, r->y);
    CELL_REST(r, whole, 3, 4, CELL_NAME(HAS_Y), CELL_NAME(forward_gru_after))
    if (whole < r->n) CELL_NAME(gru_after_row)
    (r->n, whole, r->n, false, r->act[1], (CELL_T)r->clip, r->x, r->pre, r->gates, r->h, r->y);
}
/* z and n, then, with the gradient of r h in side, r. */
CELL_INLINE void CELL_NAME(gru_first_back)(int64_t n, int64_t begin, int64_t end, int f, int g, CELL_T clip,
                                           const CELL_T *gg, const CELL_T *restrict gates,
                                           const CELL_T *restrict h_prev, const CELL_T *restrict gy,
                                           CELL_T *restrict dh, CELL_T *restrict pre, CELL_T *restrict dx) {
    CELL_LOOP
    for (int64_t j = begin; j < end; j++) {
        const CELL_T vz = gates[n + j], vn = gates[2 * n + j], a = dh[j] + gy[j];
        pre[n + j] = dx[n + j] = (a * (h_prev[j] - vn) + (gg ? gg[n + j] : 0)) * CELL_NAME(clipped_slope)(f, clip, vz);
        pre[2 * n + j] = dx[2 * n + j] =
            (a * (1 - vz) + (gg ? gg[2 * n + j] : 0)) * CELL_NAME(clipped_slope)(g, clip, vn);
        dh[j] = a * vz;
    }
}
static void CELL_NAME(backward_gru_first)(const wick_cell_row *r) {
    const int64_t whole = CELL_WHOLE(r);
    CELL_NAME(gru_first_back)
    (r->n, 0, whole, WICK_CELL_SIGMOID, WICK_CELL_TANH, 0, NULL, r->gates, r->h_prev, r->gy, r->h, r->pre, r->dx);
    if (whole < r->n) CELL_NAME(gru_first_back)
    (r->n, whole, r->n, r->act[0], r->act[1], (CELL_T)r->clip, r->ggates, r->gates, r->h_prev, r->gy, r->h, r->pre,
     r->dx);
}
CELL_INLINE void CELL_NAME(gru_after_back)(int64_t n, int64_t begin, int64_t end, int f, CELL_T clip, const CELL_T *gg,
                                           const CELL_T *restrict gates, const CELL_T *restrict h_prev,
                                           const CELL_T *restrict side, CELL_T *restrict dh, CELL_T *restrict pre,
                                           CELL_T *restrict dx) {
    CELL_LOOP
    for (int64_t j = begin; j < end; j++) {
        const CELL_T vr = gates[j], d = side[j] + (gg ? gg[3 * n + j] : 0);
        pre[j] = dx[j] = (d * h_prev[j] + (gg ? gg[j] : 0)) * CELL_NAME(clipped_slope)(f, clip, vr);
        dh[j] += d * vr;
    }
}
static void CELL_NAME(backward_gru_after)(const wick_cell_row *r) {
    const int64_t whole = CELL_WHOLE(r);
    CELL_NAME(gru_after_back)
    (r->n, 0, whole, WICK_CELL_SIGMOID, 0, NULL, r->gates, r->h_prev, r->side, r->h, r->pre, r->dx);
    if (whole < r->n) CELL_NAME(gru_after_back)
    (r->n, whole, r->n, r->act[0], (CELL_T)r->clip, r->ggates, r->gates, r->h_prev, r->side, r->h, r->pre, r->dx);
}
#undef CELL_REST
