/* int8_sweep.h: up to 4 rows of A times B where it lies. Included by int8_tier.c with SWEEP_NAME(x), SWEEP_TARGET (of
 * functions), SWEEP_GROUP (of A and of B, in a step, 4 bytes of A), SWEEP_DOT(sum, a, b), and INT8_WEAVE(what, a, b),
 * which unpacks within 16 bytes.
 *
 * Four neighbouring columns are put together within 16 bytes, so that vector i of four has columns 4 i to 4 i + 3 of
 * each 16: sums wait in that order, until the end. */
SWEEP_TARGET INT8_INLINE void SWEEP_NAME(block)(const wick_int8_sweep *t, const uint8_t *const *b, int64_t j,
                                                int64_t at, const int32_t (*x)[SWEEP_STEPS / SWEEP_GROUP],
                                                const int32_t *ones, const int rows) {
    enum { V = INT8_VEC_BYTES / 4, GROUPS = SWEEP_STEPS / SWEEP_GROUP };
    const int8_sums flip = (int8_sums){0} + (int32_t)(t->flip * 0x01010101u);
    int8_sums twos[SWEEP_STEPS / 2][2]; /* of columns, low and high */
    INT8_UNROLL
    for (int q = 0; q < SWEEP_STEPS / 2; q++) {
        const int8_sums y = *(const int8_loose *)(const void *)(b[2 * q] + j) ^ flip,
                        z = *(const int8_loose *)(const void *)(b[2 * q + 1] + j) ^ flip;
        twos[q][0] = INT8_WEAVE(lo_epi8, y, z);
        twos[q][1] = INT8_WEAVE(hi_epi8, y, z);
    }
    INT8_UNROLL
    for (int v = 0; v < 4; v++) {
        int8_sums w[GROUPS];
        INT8_UNROLL
        for (int q = 0; q < GROUPS; q++) {
#if SWEEP_GROUP == 4
            w[q] = v % 2 ? INT8_WEAVE(hi_epi16, twos[2 * q][v / 2], twos[2 * q + 1][v / 2])
                         : INT8_WEAVE(lo_epi16, twos[2 * q][v / 2], twos[2 * q + 1][v / 2]);
#else /* i16 that are 256 times B */
            w[q] = v % 2 ? INT8_WEAVE(hi_epi8, (int8_sums){0}, twos[q][v / 2])
                         : INT8_WEAVE(lo_epi8, (int8_sums){0}, twos[q][v / 2]);
#endif
        }
        INT8_UNROLL
        for (int i = 0; i <= rows; i++) { /* the last are the columns' own sums */
            if (i == rows && !t->columns) break;
            int8_loose *sum = (int8_loose *)(void *)((i == rows ? t->columns : t->sums + i * t->width) + at + v * V);
            const int32_t *by = i == rows ? ones : x[i];
            int8_sums more = {0};
            if (SWEEP_GROUP == 4) more = *sum;
            INT8_UNROLL
            for (int q = 0; q < GROUPS; q++) more = SWEEP_DOT(more, (int8_sums){0} + by[q], w[q]);
            if (SWEEP_GROUP == 2) more = *sum + (more >> 8);
            *sum = more;
        }
    }
}

SWEEP_TARGET INT8_INLINE void SWEEP_NAME(sweep)(const wick_int8_sweep *t, const int rows) {
    enum { COLUMNS = INT8_VEC_BYTES, GROUPS = SWEEP_STEPS / SWEEP_GROUP, BITS = 32 / SWEEP_GROUP };
    const uint32_t all_ones = SWEEP_GROUP == 4 ? 0x01010101 : 0x00010001;
    memset(t->sums, 0, (size_t)(rows * t->width) * sizeof *t->sums);
    if (t->columns) memset(t->columns, 0, (size_t)t->width * sizeof *t->columns);
    for (int64_t p = 0; p < t->k; p += SWEEP_STEPS) {
        const uint8_t *b[SWEEP_STEPS];
        int32_t x[WICK_INT8_FEW][GROUPS], ones[GROUPS];
        for (int q = 0; q < SWEEP_STEPS; q++)
            b[q] = t->b + WICK_MIN(p + q, t->k - 1) * t->b_row; /* beyond k: times 0 */
        for (int q = 0; q < GROUPS; q++) {
            const int64_t first = p + SWEEP_GROUP * q, there = t->k - first;
            ones[q] = (int32_t)(there >= SWEEP_GROUP ? all_ones
                                : there <= 0         ? 0
                                                     : all_ones & ((1u << BITS * there) - 1));
            for (int i = 0; i < rows; i++) {
                x[i][q] = 0;
                if (first < t->padded) memcpy(&x[i][q], t->a + i * t->a_row + first * (4 / SWEEP_GROUP), 4);
            }
        }
        int64_t j = 0;
        for (; j + COLUMNS <= t->cols; j += COLUMNS) {
            INT8_UNROLL
            for (int q = 0; q < SWEEP_STEPS; q++)
                if (j % 64 + COLUMNS >= 64) __builtin_prefetch(b[q] + SWEEP_STEPS * t->b_row + j, 0, 2);
            SWEEP_NAME(block)(t, b, j, j, (const int32_t(*)[GROUPS])x, ones, rows);
        }
        if (j == t->cols) continue;
        uint8_t rest[SWEEP_STEPS][COLUMNS] = {{0}};
        for (int q = 0; q < SWEEP_STEPS; q++) b[q] = memcpy(rest[q], b[q] + j, (size_t)(t->cols - j));
        SWEEP_NAME(block)(t, b, 0, j, (const int32_t(*)[GROUPS])x, ones, rows);
    }
    for (int i = 0; i < rows; i++) put_in_order(t->sums + i * t->width, t->width);
    if (t->columns) put_in_order(t->columns, t->width);
}
SWEEP_TARGET static void SWEEP_NAME(few_1)(const wick_int8_sweep *t) { SWEEP_NAME(sweep)(t, 1); }
SWEEP_TARGET static void SWEEP_NAME(few_2)(const wick_int8_sweep *t) { SWEEP_NAME(sweep)(t, 2); }
SWEEP_TARGET static void SWEEP_NAME(few_3)(const wick_int8_sweep *t) { SWEEP_NAME(sweep)(t, 3); }
SWEEP_TARGET static void SWEEP_NAME(few_4)(const wick_int8_sweep *t) { SWEEP_NAME(sweep)(t, 4); }
static wick_int8_sweep_fn *const SWEEP_NAME(few)[WICK_INT8_FEW] = {SWEEP_NAME(few_1), SWEEP_NAME(few_2),
                                                                   SWEEP_NAME(few_3), SWEEP_NAME(few_4)};
#undef SWEEP_NAME
#undef SWEEP_TARGET
#undef SWEEP_GROUP
#undef SWEEP_DOT
