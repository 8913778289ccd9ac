/* gemm_tier.c: matrix product kernels of one tier, for f32 and f64: register tiles, packing, and the table of both. */
#include "kernels/gemm/gemm.h"
#include "kernels/gemm/gemm_tuning.h"
#include "kernels/neon.h"

#define GEMM_STR_(x)    #x
#define GEMM_STR(x)     GEMM_STR_(x)
#define GEMM_CAT_(a, b) a##b
#define GEMM_CAT(a, b)  GEMM_CAT_(a, b)

#if WICK_TIER_ID == 0

#define GEMM_TILE_TEXT_32 "_"
#define GEMM_TILE_TEXT_64 "_"
#define GEMM_T            float
#define GEMM_NAME(x)      x##_f32
#include "kernels/gemm/gemm_ref.h"
#undef GEMM_T
#undef GEMM_NAME
#define GEMM_T       double
#define GEMM_NAME(x) x##_f64
#include "kernels/gemm/gemm_ref.h"

#define GEMM_FIELDS(bytes, suffix) .elem = bytes, .rows = rows_##suffix

#else

#if WICK_TIER_ID > 1
#include <immintrin.h>
#endif

#define GEMM_INLINE static inline __attribute__((always_inline))
#ifdef __clang__
#define GEMM_UNROLL _Pragma("clang loop unroll(full)")
#else
#define GEMM_UNROLL _Pragma("GCC unroll 32")
#endif
/* registers that a tile takes at most, and vectors across */
enum { GEMM_ACCUMULATORS = WICK_GEMM_MR * WICK_GEMM_NV, GEMM_WIDEST = 16 };
/* steps of k at once, in the largest tiles: with 16 registers four leave the compiler without addresses; and the
 * distance of columns of A as gemm.c packs it, a whole number of vectors */
enum { GEMM_STEPS = WICK_TIER_ID == 3 ? 4 : WICK_TIER_ID == 2 ? 2 : 1, GEMM_PACKED_A = WICK_TIER_ID == 3 ? 16 : 8 };
#define GEMM_HIDE(x) __asm__("" : "+r"(x))

#define GEMM_TILES_6(X, vecs) X(1, vecs) X(2, vecs) X(3, vecs) X(4, vecs) X(5, vecs) X(6, vecs)
#if WICK_TIER_ID == 3
#define GEMM_TILES(X, vecs)                                                                                            \
    GEMM_TILES_6(X, vecs) X(7, vecs) X(8, vecs) X(9, vecs) X(10, vecs) X(11, vecs) X(12, vecs) X(13, vecs) X(14, vecs)
#define GEMM_TILE_TEXT_32 "_14x32_"
#define GEMM_TILE_TEXT_64 "_14x16_"
#elif WICK_TIER_ID == 2
#define GEMM_TILES        GEMM_TILES_6
#define GEMM_TILE_TEXT_32 "_6x16_"
#define GEMM_TILE_TEXT_64 "_6x8_"
#elif defined(WICK_NEON)
#define GEMM_TILES(X, vecs) GEMM_TILES_6(X, vecs) X(7, vecs) X(8, vecs) X(9, vecs) X(10, vecs)
#define GEMM_TILE_TEXT_32 "_10x8_"
#define GEMM_TILE_TEXT_64 "_10x4_"
#else
#define GEMM_TILES        GEMM_TILES_6
#define GEMM_TILE_TEXT_32 "_6x8_"
#define GEMM_TILE_TEXT_64 "_6x4_"
#endif

#define GEMM_HALF    0
#define GEMM_T       float
#define GEMM_BITS    32
#define GEMM_BITS_T  int32_t
#define GEMM_NAME(x) x##_f32
#include "kernels/gemm/gemm_vec.h"
#include "kernels/gemm/gemm_part.h"
#include "kernels/gemm/gemm_tile.h"
#include "kernels/gemm/gemv.h"
#undef GEMM_NAME
#if WICK_TIER_ID == 3
#undef GEMM_HALF
#define GEMM_HALF    1
#define GEMM_NAME(x) x##_half
#include "kernels/gemm/gemm_vec.h"
#include "kernels/gemm/gemm_part.h"
#include "kernels/gemm/gemm_tile.h"
#undef GEMM_HALF
#define GEMM_HALF 0
#undef GEMM_NAME
#endif
#undef GEMM_T
#undef GEMM_BITS
#undef GEMM_BITS_T
#define GEMM_T       double
#define GEMM_BITS    64
#define GEMM_BITS_T  int64_t
#define GEMM_NAME(x) x##_f64
#include "kernels/gemm/gemm_vec.h"
#include "kernels/gemm/gemm_part.h"
#include "kernels/gemm/gemm_tile.h"
#include "kernels/gemm/gemv.h"

#define GEMM_FIELDS(bytes, suffix)                                                                                     \
    .elem = bytes, .lanes = L_##suffix, .mr = WICK_GEMM_MR, .nr = L_##suffix * WICK_GEMM_NV, .masks = GEMM_MASKED,     \
    .squares = WICK_TIER_ID == 3 && (bytes) == 4, .tiles = tiles_##suffix, .pack = pack_##suffix,                      \
    .gemv_rows = gemv_rows_##suffix, .gemv_panels = gemv_panels_##suffix, .gemv_columns = gemv_columns_##suffix,       \
    .few_by_columns = WICK_COUNTOF(gemv_columns_##suffix), .columns = columns_least_##suffix, .outer = outer_##suffix

#endif

/* "gemm_f32_nt_14x32_avx512": type, layouts of A and B, rows x columns of the largest tile, tier. */
#define GEMM_NAME_OF(type, layout, tile) "gemm_" type "_" layout tile GEMM_STR(WICK_TIER_NAME)
#define GEMM_NAMES(type, tile)                                                                                         \
    {                                                                                                                  \
        GEMM_NAME_OF(type, "nn", tile), GEMM_NAME_OF(type, "nt", tile), GEMM_NAME_OF(type, "ns", tile),                \
            GEMM_NAME_OF(type, "tn", tile), GEMM_NAME_OF(type, "tt", tile), GEMM_NAME_OF(type, "ts", tile),            \
            GEMM_NAME_OF(type, "sn", tile), GEMM_NAME_OF(type, "st", tile), GEMM_NAME_OF(type, "ss", tile)             \
    }
const wick_gemm_kernels GEMM_CAT(wick_gemm_kernels_, WICK_TIER_NAME) = {
    .type = {{.names = GEMM_NAMES("f32", GEMM_TILE_TEXT_32), GEMM_FIELDS(4, f32)},
             {.names = GEMM_NAMES("f64", GEMM_TILE_TEXT_64), GEMM_FIELDS(8, f64)}},
#if WICK_TIER_ID == 3
    .half = {.elem = 4, .lanes = L_half, .mr = WICK_GEMM_MR, .nr = L_half, .masks = true, .tiles = tiles_half},
#endif
};
