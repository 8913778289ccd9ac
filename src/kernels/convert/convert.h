/* convert.h: block converters, contiguous: between dtypes in memory and the ctypes that kernels compute in, and
 * between ctypes. Results are the same bits in every tier, whatever the thread does with denormals. */
#ifndef WICK_KERNELS_CONVERT_H
#define WICK_KERNELS_CONVERT_H

#include "kernels/convert/convert_api.h"

/* dst and src do not overlap. */
typedef void (*wick_convert_fn)(void *dst, const void *src, size_t n);
typedef struct wick_convert_table {
    wick_convert_fn load[WICK_DTYPE_COUNT];  /* dtype -> its ctype; NULL: the dtype is its ctype */
    /* back: halves and f8 round to nearest even, narrow integers wrap; f8 does not saturate */
    wick_convert_fn store[WICK_DTYPE_COUNT];
    wick_convert_fn cast[WICK_CTYPE_COUNT][WICK_CTYPE_COUNT]; /* [from][to]; NULL: the same type */
    /* memcpy by nontemporal stores, to memory that is not read soon; wick_stream_end comes before another thread is
     * told */
    void (*stream)(void *dst, const void *src, size_t bytes);
    /* dst[i] = *value, n elements of elem bytes (1, 4, 8) */
    void (*fill)(int elem, void *dst, const void *value, size_t n);
    /* dst[i * d_step + k] = src[i + k * s_step]: rows x cols elements of elem bytes (1, 2, 4, 8); by nontemporal stores
     * where that can be, then wick_stream_end comes before another thread is told */
    void (*transpose)(int elem, const void *src, int64_t s_step, void *dst, int64_t d_step, int64_t rows, int64_t cols,
                      bool nontemporal);
} wick_convert_table;

extern const wick_convert_table wick_convert_table_ref, wick_convert_table_base, wick_convert_table_avx2,
    wick_convert_table_avx512;
const wick_convert_table *wick_convert_kernels(wick_tier tier);
static inline void wick_stream_end(void) {
#ifdef __x86_64__
    __builtin_ia32_sfence();
#endif
}

/* Tensors are walked in index order (last dim fastest). Gather packs n elements of `elem` bytes (1, 2, 4, 8) from
 * linear position `at` on; scatter is its inverse. */
void wick_walk_gather(int elem, int rank, const int64_t *dims, const int64_t *strides, int64_t at, int64_t n,
                      const void *src, void *dst);
void wick_walk_scatter(int elem, int rank, const int64_t *dims, const int64_t *strides, int64_t at, int64_t n,
                       const void *src, void *dst);
/* Neither side is packed: n >= 1 elements from linear position `at` of the dims on. */
void wick_walk_move(int elem, int rank, const int64_t *dims, const int64_t *from, const int64_t *to, int64_t at,
                    int64_t n, const void *src, void *dst);

#endif
