/* nll_targets.c: what smoothing, class weights and an ignored label change of the losses that wick_nll_rows wrote. */
#include "kernels/rows/rows_api.h"

#define BODY_T    float
#define BODY_NAME row_f32
#include "kernels/rows/nll_targets_body.h"
#undef BODY_T
#undef BODY_NAME
#define BODY_T    double
#define BODY_NAME row_f64
#include "kernels/rows/nll_targets_body.h"

static double sum_of(wick_ctype type, const void *w, int64_t n) {
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += type == WICK_CF32 ? (double)((const float *)w)[i] : ((const double *)w)[i];
    return sum;
}

int64_t wick_nll_targets_rows(wick_ctype type, int64_t begin, int64_t end, int64_t cols, const void *x,
                              const int64_t *label, const void *weight, double smoothing, const int64_t *ignored,
                              void *loss, void *probs) {
    const size_t size = wick_ctype_size(type);
    const double total = weight ? sum_of(type, weight, cols) : (double)cols;
    for (int64_t r = begin; r < end; r++) {
        if (ignored && label[r] == *ignored) {
            memset((char *)loss + (size_t)r * size, 0, size);
            if (probs) memset((char *)probs + (size_t)(r * cols) * size, 0, (size_t)cols * size);
            continue;
        }
        if ((uint64_t)label[r] >= (uint64_t)cols) return r;
        if (type == WICK_CF32) {
            float *y = loss;
            y[r] = row_f32(y[r], (const float *)x + r * cols, cols, label[r], weight, smoothing, total);
        } else {
            double *y = loss;
            y[r] = row_f64(y[r], (const double *)x + r * cols, cols, label[r], weight, smoothing, total);
        }
    }
    return -1;
}
