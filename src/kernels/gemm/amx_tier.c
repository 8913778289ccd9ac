/* amx_tier.c: blocks of tiles, and the packing of floats for them. Of tier avx512 alone, for CPUs that have AMX
 * besides; tests compile it with the emulation. */
#include "kernels/gemm/amx.h"
#include "kernels/gemm/amx_tier.h"

#ifdef WICK_AMX_TIER
#include "kernels/gemm/amx_ops.h"

#define AMX_INLINE static inline __attribute__((always_inline))

/* ---- blocks: sums in tiles 0 to 3, A in 4 and 5, B in 6 and 7 ---------------------------------------------------- */

AMX_TARGET static void begin(int rows, int more) {
    wick_amx_config config = {.palette = 1};
    for (int t = 0; t < 8; t++) {
        /* rows of A and C; a tile of B has one for each group of 4 bytes along k */
        const int second = t == 2 || t == 3 || t == 5;
        config.rows[t] = (uint8_t)(t > 5 ? 16 : second ? more : rows);
        config.bytes[t] = config.rows[t] ? WICK_AMX_ROW : 0;
    }
    AMX_CONFIGURE(&config);
}
AMX_TARGET static void end(void) { AMX_RELEASE(); }

#define AMX_DOT(dot, c, a, b)                              \
    do {                                                   \
        if ((dot) == WICK_AMX_BF16) AMX_DOT_BF16(c, a, b); \
        else if ((dot) == WICK_AMX_UU) AMX_DOT_UU(c, a, b); \
        else if ((dot) == WICK_AMX_US) AMX_DOT_US(c, a, b); \
        else if ((dot) == WICK_AMX_SU) AMX_DOT_SU(c, a, b); \
        else AMX_DOT_SS(c, a, b);                          \
    } while (0)

AMX_TARGET AMX_INLINE void block(const wick_amx_block *t, const wick_amx_dot dot, const int down, const int across) {
    const int64_t a_row = t->a_row, b_row = t->b_row, c_row = t->c_row;
    __asm__ volatile("" ::: "memory"); /* as AMX_CONFIGURE */
    AMX_ZERO(0);
    if (across > 1) AMX_ZERO(1);
    if (down > 1) AMX_ZERO(2);
    if (down > 1 && across > 1) AMX_ZERO(3);
    for (int p = 0; p < t->products; p++) {
        const char *a = (const char *)t->a + t->a_part[p], *b = (const char *)t->b + t->b_part[p];
        const char *a_next = a + t->a_next, *b_next = b + t->b_next;
        for (int64_t s = t->steps; s > 0;
             s--, a += t->a_step, a_next += t->a_step, b += t->b_step, b_next += t->b_step) {
            AMX_LOAD(6, b, b_row);
            AMX_LOAD(4, a, a_row);
            AMX_DOT(dot, 0, 4, 6);
            if (across > 1) {
                AMX_LOAD(7, b_next, b_row);
                AMX_DOT(dot, 1, 4, 7);
            }
            if (down > 1) {
                AMX_LOAD(5, a_next, a_row);
                AMX_DOT(dot, 2, 5, 6);
                if (across > 1) AMX_DOT(dot, 3, 5, 7);
            }
        }
    }
    char *c = t->c, *below = c + WICK_AMX_SIDE * c_row;
    AMX_STORE(0, c, c_row);
    if (across > 1) AMX_STORE(1, c + WICK_AMX_ROW, c_row);
    if (down > 1) AMX_STORE(2, below, c_row);
    if (down > 1 && across > 1) AMX_STORE(3, below + WICK_AMX_ROW, c_row);
}

#define AMX_BLOCK(dot, down, across)                                                                                   \
    AMX_TARGET static void block_##dot##_##down##across(const wick_amx_block *t) {                                     \
        block(t, WICK_AMX_##dot, down, across);                                                                        \
    }
#define AMX_BLOCKS(dot) AMX_BLOCK(dot, 1, 1) AMX_BLOCK(dot, 1, 2) AMX_BLOCK(dot, 2, 1) AMX_BLOCK(dot, 2, 2)
AMX_BLOCKS(BF16)
AMX_BLOCKS(UU)
AMX_BLOCKS(US)
AMX_BLOCKS(SU)
AMX_BLOCKS(SS)
#define AMX_ROWS(dot) [WICK_AMX_##dot] = {{block_##dot##_11, block_##dot##_12}, {block_##dot##_21, block_##dot##_22}}

/* ---- packing ----------------------------------------------------------------------------------------------------- */

typedef uint32_t amx_bits __attribute__((vector_size(64)));
typedef uint32_t amx_bits_loose __attribute__((vector_size(64), aligned(4), may_alias));
typedef float amx_floats __attribute__((vector_size(64)));

/* Vectors go by address: wider than the target's own they would change the way functions are called. */
AMX_INLINE void take_larger(amx_bits *most, const amx_bits *x) {
#if defined(__AVX512F__)
    *most = (amx_bits)_mm512_max_epu32((__m512i)*most, (__m512i)*x);
#else
    const amx_bits mask = (amx_bits)(*x > *most);
    *most = (*x & mask) | (*most & ~mask);
#endif
}
AMX_INLINE void take_smaller(amx_bits *least, const amx_bits *x) {
#if defined(__AVX512F__)
    *least = (amx_bits)_mm512_min_epu32((__m512i)*least, (__m512i)*x);
#else
    const amx_bits mask = (amx_bits)(*x < *least);
    *least = (*x & mask) | (*least & ~mask);
#endif
}

/* An f32's bits, and what they become: the nearest bf16 in the upper half. Ties go away from zero where a further part
 * takes up what is left, to even where nothing does. */
AMX_INLINE void to_bf16(const amx_bits *x, const bool even, amx_bits *half) {
    *half = (*x + (even ? 0x7fff + (*x >> 16 & 1) : (amx_bits){0} + 0x8000)) & 0xffff0000;
}

/* x = p0 + p1 + p2: of 24 bits 8 each, since a rounded part leaves a rest that begins 9 bits below it, of either sign
 * (Henry, Tang, Heinecke 2019). */
AMX_INLINE void split_vector(const amx_bits *x, const int parts, amx_bits *p) {
    to_bf16(x, parts == 1, &p[0]);
    amx_bits rest = *x;
    for (int i = 1; i < parts; i++) {
        rest = (amx_bits)((amx_floats)rest - (amx_floats)p[i - 1]);
        if (i == 2) p[i] = rest;
        else to_bf16(&rest, false, &p[i]);
    }
}

AMX_INLINE wick_amx_range split(int64_t steps, const float *src, int64_t step, int64_t line, int64_t pair, float scale,
                                void *dst, int64_t part, const int parts) {
    amx_bits largest = {0}, smallest = ~largest;
    char *to = dst;
    for (int64_t s = 0; s < steps; s++, src += step)
        for (int64_t r = 0; r < WICK_AMX_SIDE; r++, to += WICK_AMX_ROW) {
            amx_bits x[2], p[2][3];
            for (int h = 0; h < 2; h++) {
                x[h] = *(const amx_bits_loose *)(const void *)(src + r * line + h * pair);
                const amx_bits size = x[h] & 0x7fffffff, above = size - 0x800000;
                take_larger(&largest, &size);
                take_smaller(&smallest, &above);
                if (scale != 1) x[h] = (amx_bits)((amx_floats)(x[h] & (amx_bits)(size >= 0x800000)) * scale);
                split_vector(&x[h], parts, p[h]);
            }
            for (int i = 0; i < parts; i++)
                *(amx_bits_loose *)(void *)(to + i * part) = p[0][i] >> 16 | (p[1][i] & 0xffff0000);
        }
    wick_amx_range range = {0, UINT32_MAX};
    for (int i = 0; i < 16; i++) {
        range.largest = WICK_MAX(range.largest, largest[i]);
        range.smallest = WICK_MIN(range.smallest, smallest[i]);
    }
    return range;
}
#define AMX_SPLIT(parts)                                                                                               \
    static wick_amx_range split_##parts(int64_t steps, const float *src, int64_t step, int64_t line, int64_t pair,     \
                                        float scale, void *dst, int64_t part) {                                        \
        return scale == 1 ? split(steps, src, step, line, pair, 1, dst, part, parts)                                   \
                          : split(steps, src, step, line, pair, scale, dst, part, parts);                              \
    }
AMX_SPLIT(1)
AMX_SPLIT(2)
AMX_SPLIT(3)

static void pairs(int64_t steps, const uint16_t *src, int64_t step, int64_t line, int64_t pair, void *dst) {
    uint32_t *restrict to = dst;
    for (int64_t s = 0; s < steps; s++, src += step)
        for (int64_t r = 0; r < WICK_AMX_SIDE; r++, to += WICK_AMX_SIDE) {
            const uint16_t *restrict first = src + r * line, *restrict second = first + pair;
            for (int i = 0; i < WICK_AMX_SIDE; i++) to[i] = (uint32_t)first[i] | (uint32_t)second[i] << 16;
        }
}

static void finish(const wick_amx_finish *f) {
    const bool scaled = f->scale[0] != 1 || f->scale[1] != 1;
    for (int i = 0; i < f->rows; i++) {
        const float *sums = f->sums + i * f->sums_row, *bias = f->bias;
        float x[WICK_AMX_SIDE], *c = f->c + i * f->c_row;
        for (int j = 0; j < WICK_AMX_SIDE; j++) x[j] = sums[j];
        if (scaled)
            for (int j = 0; j < WICK_AMX_SIDE; j++) x[j] = x[j] * f->scale[0] * f->scale[1];
        if (f->cols == WICK_AMX_SIDE && !f->bias_mode && !f->relu) {
            if (f->add)
                for (int j = 0; j < WICK_AMX_SIDE; j++) c[j] += x[j];
            else memcpy(c, x, sizeof x);
            continue;
        }
        for (int j = 0; j < f->cols; j++) {
            float y = f->add ? c[j] + x[j] : x[j];
            if (f->bias_mode) y += bias[f->bias_mode == 1 ? j : i];
            c[j] = f->relu && y < 0 ? 0 : y;
        }
    }
}

const wick_amx_kernel WICK_AMX_TIER = {
    .name = "amx",
    .begin = begin,
    .end = end,
    .block = {AMX_ROWS(BF16), AMX_ROWS(UU), AMX_ROWS(US), AMX_ROWS(SU), AMX_ROWS(SS)},
    .split = {split_1, split_2, split_3},
    .pairs = pairs,
    .finish = finish,
};
#endif
