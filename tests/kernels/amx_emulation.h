/* amx_emulation.h: the tile operations of amx_ops.h in plain C, as Intel's manual says what the instructions do (Intel
 * 64 and IA-32 Architectures Software Developer's Manual, vol. 2: LDTILECFG, TILELOADD, TILESTORED, TDPBF16PS, TDPBSSD
 * and its kin). What would be an invalid opcode or a general protection fault there fails an assertion here. Tiles
 * belong to a thread, as registers do. */
#ifndef WICK_TESTS_AMX_EMULATION_H
#define WICK_TESTS_AMX_EMULATION_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WICK_AMX_EMULATED
#include "kernels/gemm/amx_ops.h"

#define AMX_MUST(condition)                                                             \
    do {                                                                                \
        if (!(condition)) {                                                             \
            fprintf(stderr, "AMX emulation, line %d: %s\n", __LINE__, #condition); \
            abort();                                                                    \
        }                                                                               \
    } while (0)

static _Thread_local struct amx_state {
    bool configured;
    uint16_t bytes[8];
    uint8_t rows[8];
    _Alignas(64) uint8_t tile[8][16][64];
} amx_state;
/* How often, of all threads together: what a test that expects tiles looks at. */
static _Atomic int64_t amx_loads, amx_dots, amx_configurations;

static inline void amx_emulate_configure(const wick_amx_config *c) {
    AMX_MUST(sizeof *c == 64 && c->palette == 1 && c->start_row == 0);
    for (int i = 0; i < 14; i++) AMX_MUST(c->reserved[i] == 0);
    for (int t = 0; t < 16; t++) {
        AMX_MUST(t < 8 || (c->bytes[t] == 0 && c->rows[t] == 0));
        AMX_MUST(c->bytes[t] <= 64 && c->rows[t] <= 16 && (c->bytes[t] == 0) == (c->rows[t] == 0));
    }
    memset(&amx_state, 0, sizeof amx_state);
    amx_state.configured = true;
    memcpy(amx_state.bytes, c->bytes, sizeof amx_state.bytes);
    memcpy(amx_state.rows, c->rows, sizeof amx_state.rows);
    amx_configurations++;
}
static inline void amx_emulate_release(void) { memset(&amx_state, 0, sizeof amx_state); }
static inline void amx_must_exist(int t) { AMX_MUST(amx_state.configured && t >= 0 && t < 8 && amx_state.rows[t] > 0); }

static inline void amx_emulate_zero(int t) {
    amx_must_exist(t);
    memset(amx_state.tile[t], 0, sizeof amx_state.tile[t]);
}
static inline void amx_emulate_load(int t, const void *from, int64_t stride) {
    amx_must_exist(t);
    memset(amx_state.tile[t], 0, sizeof amx_state.tile[t]);
    for (int r = 0; r < amx_state.rows[t]; r++)
        memcpy(amx_state.tile[t][r], (const char *)from + r * stride, amx_state.bytes[t]);
    amx_loads++;
}
static inline void amx_emulate_store(int t, void *to, int64_t stride) {
    amx_must_exist(t);
    for (int r = 0; r < amx_state.rows[t]; r++)
        memcpy((char *)to + r * stride, amx_state.tile[t][r], amx_state.bytes[t]);
}

/* Three different tiles whose shapes fit: rows of C are those of A, columns of C those of B, and A has a group of 4
 * bytes for every row of B. */
static inline void amx_must_fit(int c, int a, int b) {
    amx_must_exist(c);
    amx_must_exist(a);
    amx_must_exist(b);
    AMX_MUST(c != a && a != b && c != b);
    AMX_MUST(amx_state.rows[c] == amx_state.rows[a] && amx_state.bytes[c] == amx_state.bytes[b] &&
             amx_state.bytes[a] == 4 * amx_state.rows[b]);
    AMX_MUST(amx_state.bytes[a] % 4 == 0 && amx_state.bytes[b] % 4 == 0 && amx_state.bytes[c] % 4 == 0);
    amx_dots++;
}

static inline float amx_flushed(float x) { return fabsf(x) < 0x1p-126f ? copysignf(0, x) : x; } /* not NaN */
static inline float amx_half(const uint8_t *at) {
    uint16_t half;
    memcpy(&half, at, 2);
    const uint32_t bits = (uint32_t)half << 16;
    float x;
    memcpy(&x, &bits, 4);
    return amx_flushed(x);
}

/* Products of the first and of the second of each pair run in a chain of fused multiply-adds each, from zero; the two
 * sums are added, and then to C. */
static inline void amx_emulate_bf16(int c, int a, int b) {
    amx_must_fit(c, a, b);
    const int cols = amx_state.bytes[c] / 4, pairs = amx_state.bytes[a] / 4;
    float x[16][32], y[16][32];
    for (int m = 0; m < amx_state.rows[a]; m++)
        for (int p = 0; p < 2 * pairs; p++) x[m][p] = amx_half(amx_state.tile[a][m] + 2 * p);
    for (int p = 0; p < pairs; p++)
        for (int n = 0; n < 2 * cols; n++) y[p][n] = amx_half(amx_state.tile[b][p] + 2 * n);
    for (int m = 0; m < amx_state.rows[c]; m++) {
        float even[16] = {0}, odd[16] = {0}, sum[16];
        for (int p = 0; p < pairs; p++)
            for (int n = 0; n < cols; n++) {
                even[n] = amx_flushed(fmaf(x[m][2 * p], y[p][2 * n], even[n]));
                odd[n] = amx_flushed(fmaf(x[m][2 * p + 1], y[p][2 * n + 1], odd[n]));
            }
        memcpy(sum, amx_state.tile[c][m], sizeof sum);
        for (int n = 0; n < cols; n++) sum[n] = amx_flushed(amx_flushed(sum[n]) + amx_flushed(even[n] + odd[n]));
        memcpy(amx_state.tile[c][m], sum, sizeof sum);
    }
}

static inline void amx_emulate_bytes(int c, int a, int b, bool a_signed, bool b_signed) {
    amx_must_fit(c, a, b);
    for (int m = 0; m < amx_state.rows[c]; m++)
        for (int n = 0; n < amx_state.bytes[c] / 4; n++) {
            uint32_t sum;
            memcpy(&sum, amx_state.tile[c][m] + 4 * n, 4);
            for (int p = 0; p < amx_state.bytes[a]; p++) {
                const uint8_t x = amx_state.tile[a][m][p], y = amx_state.tile[b][p / 4][4 * n + p % 4];
                sum += (uint32_t)((a_signed ? (int8_t)x : (int)x) * (b_signed ? (int8_t)y : (int)y));
            }
            memcpy(amx_state.tile[c][m] + 4 * n, &sum, 4);
        }
}

#endif
