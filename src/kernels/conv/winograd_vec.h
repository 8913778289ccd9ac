/* winograd_vec.h: the transforms of winograd.h over the vectors of gemm_vec.h, for f32. Included by conv_tier.c. */

/* B' x of four vectors. */
#define WINOGRAD_IN(x0, x1, x2, x3, y) \
    ((y)[0] = (x0) - (x2), (y)[1] = (x1) + (x2), (y)[2] = (x2) - (x1), (y)[3] = (x1) - (x3))

static bool is_zero(vec_f32 v) {
    bool zero = true;
    for (int i = 0; i < L_f32; i++) zero &= v[i] == 0;
    return zero;
}

static bool winograd_in(int64_t n, int64_t channels, const float *src, int64_t line, float *v, int64_t v_k) {
    vec_f32 met = {0};
    for (int64_t tile = 0; tile < n; tile++)
        for (int64_t c = 0; c < channels; c += L_f32) {
            const float *d = src + 2 * tile * channels + c;
            vec_f32 rows[4][4]; /* [column][k] */
            GEMM_UNROLL
            for (int x = 0; x < 4; x++) {
                const float *p = d + x * channels;
                const vec_f32 d0 = load_f32(p), d1 = load_f32(p + line), d2 = load_f32(p + 2 * line), d3 = load_f32(p + 3 * line);
                WINOGRAD_IN(d0, d1, d2, d3, rows[x]);
            }
            float *to = v + tile * channels + c;
            GEMM_UNROLL
            for (int y = 0; y < 4; y++) {
                vec_f32 t[4];
                WINOGRAD_IN(rows[0][y], rows[1][y], rows[2][y], rows[3][y], t);
                GEMM_UNROLL
                for (int x = 0; x < 4; x++) {
                    store_f32(to + (4 * y + x) * v_k, t[x]);
                    met += t[x] * (vec_f32){0};
                }
            }
        }
    return is_zero(met);
}

static bool winograd_out(int64_t n, int64_t channels, const float *m, int64_t m_k, const float *bias, bool relu, int64_t width, int64_t lines, float *dst, int64_t dst_line) {
    vec_f32 met = {0};
    for (int64_t tile = 0; tile < n; tile++)
        for (int64_t c = 0; c < channels; c += L_f32) {
            const float *from = m + tile * channels + c;
            vec_f32 rows[2][4], y[2][2];
            GEMM_UNROLL
            for (int x = 0; x < 4; x++) {
                const vec_f32 m0 = load_f32(from + x * m_k), m1 = load_f32(from + (4 + x) * m_k), m2 = load_f32(from + (8 + x) * m_k), m3 = load_f32(from + (12 + x) * m_k);
                rows[0][x] = m0 + m1 + m2;
                rows[1][x] = m1 - m2 - m3;
            }
            GEMM_UNROLL
            for (int r = 0; r < 2; r++) {
                y[r][0] = rows[r][0] + rows[r][1] + rows[r][2];
                y[r][1] = rows[r][1] - rows[r][2] - rows[r][3];
                met += (y[r][0] + y[r][1]) * (vec_f32){0};
            }
            const vec_f32 b = bias ? load_f32(bias + c) : (vec_f32){0};
            for (int64_t r = 0; r < lines; r++)
                for (int64_t x = 0; x < 2 && 2 * tile + x < width; x++) {
                    vec_f32 value = y[r][x];
                    if (bias) value += b;
                    store_f32(dst + r * dst_line + (2 * tile + x) * channels + c, relu ? relu_f32(value) : value);
                }
        }
    return is_zero(met);
}
#undef WINOGRAD_IN
