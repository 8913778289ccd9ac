/* winograd_vec.h: the transforms of winograd.h over the vectors of gemm_vec.h, for f32. Included by conv_tier.c. */

/* B' x of four vectors. */
#define WINOGRAD_IN(x0, x1, x2, x3, y) \
    ((y)[0] = (x0) - (x2), (y)[1] = (x1) + (x2), (y)[2] = (x2) - (x1), (y)[3] = (x1) - (x3))

/* Of zeros and NaN. */
static bool is_zero(vec_f32 v) {
    uint64_t bits[sizeof v / sizeof(uint64_t)], any = 0;
    memcpy(bits, &v, sizeof v);
    for (size_t i = 0; i < WICK_COUNTOF(bits); i++) any |= bits[i];
    return !(any & 0x7fffffff7fffffff);
}

static void winograd_in(int64_t n, int64_t channels, const float *const line[4], int64_t first, int64_t width, float *v,
                        int64_t v_k) {
    const float *line0 = line[0], *line1 = line[1], *line2 = line[2], *line3 = line[3];
    for (int64_t tile = 0; tile < n; tile++, first += 2)
        for (int64_t c = 0; c < channels; c += L_f32) {
            vec_f32 rows[4][4]; /* [column][k] */
            int64_t at = first * channels + c;
            GEMM_UNROLL
            for (int x = 0; x < 4; x++, at += channels) {
                vec_f32 d0 = {0}, d1 = {0}, d2 = {0}, d3 = {0};
                GEMM_HIDE(at); /* one address, here and below */
                if ((uint64_t)(first + x) < (uint64_t)width)
                    d0 = load_f32(line0 + at), d1 = load_f32(line1 + at), d2 = load_f32(line2 + at),
                    d3 = load_f32(line3 + at);
                WINOGRAD_IN(d0, d1, d2, d3, rows[x]);
            }
            float *to = v + tile * channels + c;
            GEMM_UNROLL
            for (int y = 0; y < 4; y++, to += 4 * v_k) {
                vec_f32 t[4];
                GEMM_HIDE(to);
                WINOGRAD_IN(rows[0][y], rows[1][y], rows[2][y], rows[3][y], t);
                GEMM_UNROLL
                for (int x = 0; x < 4; x++) store_f32(to + x * v_k, t[x]);
            }
        }
}

/* What follows of vectors [0, channels) of n tiles, whose lines of M are `channels` long. */
static bool winograd_out(int64_t n, int64_t channels, const float *m, int64_t m_k, const wick_winograd_to *to) {
    vec_f32 met = {0};
    const int64_t pixel = to->pixel, next = to->line, lines = to->lines, width = to->width;
    const bool relu = to->relu, biased = to->bias;
    for (int64_t c = 0; c < channels; c += L_f32) {
        const float *m0 = m + c, *m1 = m0 + 4 * m_k, *m2 = m1 + 4 * m_k, *m3 = m2 + 4 * m_k;
        float *dst = to->dst + c;
        const vec_f32 b = to->bias ? load_f32(to->bias + c) : (vec_f32){0};
        for (int64_t tile = 0; tile < n; tile++, dst += 2 * pixel) {
            vec_f32 rows[2][4], y[2][2];
            int64_t at = tile * channels;
            GEMM_UNROLL
            for (int x = 0; x < 4; x++, at += m_k) {
                GEMM_HIDE(at);
                const vec_f32 second = load_f32(m1 + at), third = load_f32(m2 + at);
                rows[0][x] = load_f32(m0 + at) + second + third;
                rows[1][x] = second - third - load_f32(m3 + at);
            }
            GEMM_UNROLL
            for (int r = 0; r < 2; r++) {
                y[r][0] = rows[r][0] + rows[r][1] + rows[r][2];
                y[r][1] = rows[r][1] - rows[r][2] - rows[r][3];
                met += (y[r][0] + y[r][1]) * (vec_f32){0};
                GEMM_UNROLL
                for (int x = 0; x < 2; x++) {
                    if (biased) y[r][x] += b;
                    if (relu) y[r][x] = relu_f32(y[r][x]);
                }
            }
            GEMM_UNROLL
            for (int r = 0; r < 2; r++) {
                if (r < lines) store_f32(dst + r * next, y[r][0]);
                if (r < lines && 2 * tile + 1 < width) store_f32(dst + r * next + pixel, y[r][1]);
            }
        }
    }
    return is_zero(met);
}
#undef WINOGRAD_IN

/* M[tile] = sum over channels of V[tile][channel] U[channel] for a vector of outputs of n tiles: the chains of gemm's
 * tiles. */
GEMM_INLINE void winograd_product(int64_t from, const float *v, const float *u, int64_t u_row, float *m, const int n) {
    enum { STEPS = 4 };
    vec_f32 acc[WICK_WINOGRAD_TILES];
    const float *a[(WICK_WINOGRAD_TILES + 2) / 3]; /* one for three tiles, as in gemm_tile.h */
    GEMM_UNROLL
    for (int t = 0; t < n; t++) acc[t] = (vec_f32){0};
    GEMM_UNROLL
    for (int t = 0; t < n; t += 3) a[t / 3] = v + t * from;
    for (int64_t c = 0; c < from; c += STEPS) {
        GEMM_UNROLL
        for (int s = 0; s < STEPS; s++, u += u_row) {
            GEMM_HIDE(u);
            const vec_f32 b = load_f32(u);
            GEMM_UNROLL
            for (int t = 0; t < n; t++) acc[t] = fma_f32(set1_f32(a[t / 3][t % 3 * from + s]), b, acc[t]);
        }
        GEMM_UNROLL
        for (int t = 0; t < n; t += 3) {
            a[t / 3] += STEPS;
            GEMM_HIDE(a[t / 3]);
        }
    }
    GEMM_UNROLL
    for (int t = 0; t < n; t++) store_f32(m + t * L_f32, acc[t]);
}

static void winograd_products(int64_t n, int64_t from, const float *v, const float *u, int64_t u_row, float *m) {
    enum { T = WICK_WINOGRAD_TILES };
    for (int k = 0; k < 16; k++, v += T * from, u += from * u_row, m += T * L_f32)
        if (n > T / 2) winograd_product(from, v, u, u_row, m, T);
        else winograd_product(from, v, u, u_row, m, T / 2);
}
