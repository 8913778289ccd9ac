/* amx_ops.h: the few operations on tiles that the kernels of amx_tier.c are made of. A build for real CPUs takes
 * Intel's instructions; tests define WICK_AMX_EMULATED and say in plain C what Intel's manual (Instruction Set
 * Reference, "Intel AMX Instruction Set Reference") says they do, so that the same kernels run on any CPU
 * (tests/kernels/amx_emulation.h).
 *
 *   AMX_CONFIGURE(config)           loads a wick_amx_config; all tiles become zero
 *   AMX_RELEASE()                   gives the tiles back: a thread without has nothing to save when it is switched
 *   AMX_ZERO(t)
 *   AMX_LOAD(t, from, stride)       row r of the tile from from + r * stride (bytes)
 *   AMX_STORE(t, to, stride)
 *   AMX_DOT_BF16(c, a, b)           c[m][n] += sum over pairs of a[m][p] b[p][n], f32
 *   AMX_DOT_UU, US, SU, SS(c, a, b)   the same of fours of bytes, i32 that wrap: signs of a, then of b
 *
 * Tiles are numbers written out: the instructions hold them. */
#ifndef WICK_KERNELS_GEMM_AMX_OPS_H
#define WICK_KERNELS_GEMM_AMX_OPS_H

#include <stdint.h>

/* Palette 1: 8 tiles of at most 16 rows of 64 bytes. The layout is the instruction's. */
typedef struct wick_amx_config {
    uint8_t palette, start_row, reserved[14];
    uint16_t bytes[16]; /* of a row */
    uint8_t rows[16];
} wick_amx_config;

#if defined(WICK_AMX_EMULATED)

#define AMX_TARGET
#define AMX_CONFIGURE(config)     amx_emulate_configure(config)
#define AMX_RELEASE()             amx_emulate_release()
#define AMX_ZERO(t)               amx_emulate_zero(t)
#define AMX_LOAD(t, from, stride) amx_emulate_load(t, from, stride)
#define AMX_STORE(t, to, stride)  amx_emulate_store(t, to, stride)
#define AMX_DOT_BF16(c, a, b)     amx_emulate_bf16(c, a, b)
#define AMX_DOT_UU(c, a, b)       amx_emulate_bytes(c, a, b, false, false)
#define AMX_DOT_US(c, a, b)       amx_emulate_bytes(c, a, b, false, true)
#define AMX_DOT_SU(c, a, b)       amx_emulate_bytes(c, a, b, true, false)
#define AMX_DOT_SS(c, a, b)       amx_emulate_bytes(c, a, b, true, true)

#else

#include <immintrin.h>

#define AMX_TARGET __attribute__((target("amx-tile,amx-bf16,amx-int8")))
/* GCC's tile intrinsics do not say which memory they read: what was stored before must have been. */
#define AMX_CONFIGURE(config)                          \
    do {                                               \
        __asm__ volatile("" ::"r"(config) : "memory"); \
        _tile_loadconfig(config);                      \
    } while (0)
#define AMX_RELEASE()             _tile_release()
#define AMX_ZERO(t)               _tile_zero(t)
#define AMX_LOAD(t, from, stride) _tile_loadd(t, from, stride)
#define AMX_STORE(t, to, stride)  _tile_stored(t, to, stride)
#define AMX_DOT_BF16(c, a, b)     _tile_dpbf16ps(c, a, b)
#define AMX_DOT_UU(c, a, b)       _tile_dpbuud(c, a, b)
#define AMX_DOT_US(c, a, b)       _tile_dpbusd(c, a, b)
#define AMX_DOT_SU(c, a, b)       _tile_dpbsud(c, a, b)
#define AMX_DOT_SS(c, a, b)       _tile_dpbssd(c, a, b)

#endif

#endif
