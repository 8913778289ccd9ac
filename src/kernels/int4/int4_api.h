/* int4_api.h: products of f32 and weights of 4 bits. */
#ifndef WICK_KERNELS_INT4_API_H
#define WICK_KERNELS_INT4_API_H

#include "kernels/gemm/panels.h"
#include "kernels/tuning.h"
#include "kernels/types.h"

/* C = A W^T + bias in f32, of weights of 4 bits in blocks along k, each with a scale and a zero point:
 *
 *   W[n][p] = (q[n][p] - zero[n][p / block]) scale[n][p / block]
 *
 * q [n][blocks][block / 2] bytes, an even p in the low bits, what lies beyond k whatever it is; scales [n][blocks];
 * zeros [n][(blocks + 1) / 2] bytes, likewise, or NULL for 8. A [m][k] and C [m][n] are row-major. Order of sums: of up
 * to 4 rows a chain over the 8 numbers of each word of 32 bits, times the scale, lane by lane (words as many apart as
 * the tier has lanes), lanes then in pairs. Of more rows that of wick_gemm over W in f32. With f64, A, C and bias are
 * such, and W is rounded to f32 nevertheless: plain loops. */
typedef struct wick_int4 {
    int64_t m, n, k, block; /* block: a power of 2, 16 at least */
    bool f64;

    /* filled by wick_int4_prepare */
    int64_t tasks;
    size_t scratch;
    int64_t cols, kc; /* of a task; a block of k */
    const struct wick_int4_kernel *kernel;
    wick_gemm_panels panels; /* of more rows */
} wick_int4;
typedef struct wick_int4_data {
    const void *a, *bias; /* bias NULL: none */
    const float *scales;
    const uint8_t *q, *zeros;
    void *c;
} wick_int4_data;
/* Uses the current tier. tuning: kernels/tuning.h. */
void wick_int4_prepare(wick_int4 *p, const wick_tuning *tuning);
void wick_int4_run(const wick_int4 *p, int64_t begin, int64_t end, const wick_int4_data *d, void *scratch);
/* Rows [begin, end) of W in f32, to c [n][k]. Needs no wick_int4_prepare. */
void wick_int4_dequantize(const wick_int4 *p, int64_t begin, int64_t end, const wick_int4_data *d);
const char *wick_int4_name(const wick_int4 *p);
int wick_int4_rejected(const wick_int4 *p, wick_rejected *out);

#endif
