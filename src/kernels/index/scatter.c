/* scatter.c: adds slices into the places an index names, in the order of the index, so that equal indices give one
 * fixed sum. Bound by memory, and a + b has the same bits in every tier, so one version serves all. */
#include "kernels/kernels.h"

#define SCATTER_T    float
#define SCATTER_NAME scatter_f32
#include "kernels/index/scatter_body.h"

#define SCATTER_T    double
#define SCATTER_NAME scatter_f64
#include "kernels/index/scatter_body.h"

/* Signed sums wrap (-fwrapv), which is what unsigned ones do: the same bits. */
#define SCATTER_T    uint32_t
#define SCATTER_NAME scatter_i32
#include "kernels/index/scatter_body.h"

#define SCATTER_T    uint64_t
#define SCATTER_NAME scatter_i64
#include "kernels/index/scatter_body.h"

typedef int64_t scatter_fn(int64_t begin, int64_t end, int64_t n, int64_t inner, int64_t count, const void *src,
                           const int64_t *index, void *dst);

static scatter_fn *const scatter_table[WICK_CTYPE_COUNT] = {
    [WICK_CF32] = scatter_f32, [WICK_CF64] = scatter_f64, [WICK_CI32] = scatter_i32,
    [WICK_CI64] = scatter_i64, [WICK_CU64] = scatter_i64,
};

int64_t wick_scatter_add_rows(wick_ctype type, int64_t begin, int64_t end, int64_t n, int64_t inner, int64_t count,
                              const void *src, const int64_t *index, void *dst) {
    return scatter_table[type](begin, end, n, inner, count, src, index, dst);
}
