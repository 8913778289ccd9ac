/* few_channels_vec.h: the kernels of few_channels.h, for f32 in AVX-512. Included by conv_tier.c. */

static void few_lay(int64_t n, int64_t first, int64_t stride, int64_t pitch, const float *src, float *dst) {
    enum { L = L_f32 };
    for (int64_t q = 0; q < stride; q++) {
        float *to = dst + q * pitch;
        /* divided by it */
        const int64_t begin = (first - q + stride - 1) >> (stride - 1),
                      end = (first + n - q + stride - 1) >> (stride - 1);
        for (int64_t i = 0; i < begin; i += L) store_f32(to + i, (vec_f32){0});
        for (int64_t i = end; i < pitch; i += L) store_f32(to + i, (vec_f32){0});
    }
    if (stride == 1) {
        memcpy(dst + first, src, (size_t)n * sizeof *src);
        return;
    }
    const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30),
                  odd = _mm512_add_epi32(even, _mm512_set1_epi32(1));
    float *const a = dst + (first & 1) * pitch + (first >> 1), *const b =
                                                                   dst + (first & 1 ? 0 : pitch) + ((first + 1) >> 1);
    int64_t i = 0;
    for (; i + 2 * L <= n; i += 2 * L) {
        const __m512 x = _mm512_loadu_ps(src + i), y = _mm512_loadu_ps(src + i + L);
        _mm512_storeu_ps(a + i / 2, _mm512_permutex2var_ps(x, even, y));
        _mm512_storeu_ps(b + i / 2, _mm512_permutex2var_ps(x, odd, y));
    }
    for (; i < n; i++) (i % 2 ? b : a)[i / 2] = src[i];
}

/* 16 outputs of 8 channels, of which `outputs` are stored, of the first n. */
static __attribute__((noinline)) void few_store(const __m512 acc[WICK_FEW_OUTPUTS], int64_t n, int64_t outputs,
                                                float *dst) {
    __m512 u[8], pixels[8]; /* two each: r and 4 + r; then 8 + r and 12 + r */
    GEMM_UNROLL
    for (int i = 0; i < 8; i++) u[i] = acc[i];
    transpose_quads_f32(u, 8);
    const __m512i near = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11),
                  far = _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);
    GEMM_UNROLL
    for (int r = 0; r < 4; r++) {
        pixels[r] = _mm512_castpd_ps(_mm512_permutex2var_pd(_mm512_castps_pd(u[r]), near, _mm512_castps_pd(u[4 + r])));
        pixels[4 + r] =
            _mm512_castpd_ps(_mm512_permutex2var_pd(_mm512_castps_pd(u[r]), far, _mm512_castps_pd(u[4 + r])));
    }
    const __mmask8 mask = (__mmask8)((1u << outputs) - 1);
    GEMM_UNROLL
    for (int p = 0; p < 16; p++) {
        const __m512 pair = pixels[p / 8 * 4 + p % 4];
        const __m256 pixel = p % 8 < 4 ? _mm512_castps512_ps256(pair) : _mm512_extractf32x8_ps(pair, 1);
        if (p < n) _mm256_mask_storeu_ps(dst + p * outputs, mask, pixel);
    }
}

/* `vecs` vectors of outputs from `first` on, whose channels are at most `channels`: constants at every call. */
GEMM_INLINE void few_tile(const wick_few_channels_line *f, int64_t first, const int vecs, const int channels) {
    __m512 acc[3][WICK_FEW_OUTPUTS];
    GEMM_UNROLL
    for (int i = 0; i < vecs * WICK_FEW_OUTPUTS; i++)
        acc[i / WICK_FEW_OUTPUTS][i % WICK_FEW_OUTPUTS] = _mm512_setzero_ps();
    const float *x = f->x + first, *w = f->w;
    for (int64_t i = 0; i < f->steps; i++, w += WICK_FEW_OUTPUTS) {
        __m512 v[3];
        GEMM_UNROLL
        for (int k = 0; k < vecs; k++) v[k] = _mm512_loadu_ps(x + f->at[i] + k * L_f32);
        GEMM_UNROLL
        for (int o = 0; o < channels; o++) {
            const __m512 weight = _mm512_set1_ps(w[o]);
            GEMM_UNROLL
            for (int k = 0; k < vecs; k++) acc[k][o] = _mm512_fmadd_ps(v[k], weight, acc[k][o]);
        }
    }
    GEMM_UNROLL
    for (int o = 0; o < channels; o++) {
        if (f->bias && o < f->outputs) {
            GEMM_UNROLL
            for (int k = 0; k < vecs; k++) acc[k][o] += _mm512_set1_ps(f->bias[o]);
        }
        if (f->relu) {
            GEMM_UNROLL
            for (int k = 0; k < vecs; k++) acc[k][o] = relu_f32(acc[k][o]);
        }
    }
    GEMM_UNROLL
    for (int k = 0; k < vecs; k++)
        few_store(acc[k], f->count - first - k * L_f32, f->outputs, f->dst + (first + k * L_f32) * f->outputs);
}

static void few_line(const wick_few_channels_line *f) {
    const bool all = f->outputs > 6;
    for (int64_t first = 0, n; first < f->count; first += n * L_f32) {
        n = WICK_MIN(3, (f->count - first + L_f32 - 1) / L_f32);
        if (n == 3) all ? few_tile(f, first, 3, 8) : few_tile(f, first, 3, 6);
        else if (n == 2) all ? few_tile(f, first, 2, 8) : few_tile(f, first, 2, 6);
        else few_tile(f, first, 1, 8);
    }
}
