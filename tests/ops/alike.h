/* alike.h: tensors that have to be the same, and numbers to make them of. */
#ifndef TESTS_OPS_ALIKE_H
#define TESTS_OPS_ALIKE_H

#include "test.h"
#include "context.h"
#include "wick/ops.h"
#include "wick/pointwise.h"
#include "wick/reduce.h"

static inline void same(wick_tensor *a, wick_tensor *b) { /* every element */
    const char *text = "";
    double differ = 1;
    CHECK_MSG(wick_tensor_error(a, &text) == WICK_OK && wick_tensor_error(b, &text) == WICK_OK, "%s", text);
    const bool shaped = wick_tensor_rank(a) == wick_tensor_rank(b) && wick_tensor_count(a) == wick_tensor_count(b) &&
                        wick_tensor_dtype(a) == wick_tensor_dtype(b);
    CHECK(shaped);
    if (!shaped) return;
    wick_tensor *x = wick_cast(a, WICK_F64), *y = wick_cast(b, WICK_F64); /* NaN are the same */
    wick_tensor *off =
        wick_logical_and(wick_ne(x, y), wick_logical_not(wick_logical_and(wick_ne(x, x), wick_ne(y, y))));
    CHECK_MSG(wick_item(wick_sum(wick_cast(off, WICK_I64), WICK_ALL_AXES, false), &differ) == WICK_OK, "%s",
              wick_context_error(wick_tensor_context(a)));
    CHECK_MSG(differ == 0, "%g elements differ", differ);
}

static inline wick_tensor *noise(wick_context *ctx, wick_dtype dtype, int rank, const int64_t *dims) {
    int64_t count = 1;
    for (int i = 0; i < rank; i++) count *= dims[i];
    float *data = malloc((size_t)count * sizeof *data + 1);
    for (int64_t i = 0; i < count; i++) data[i] = (float)test_rand_real(-100, 100);
    wick_tensor *x = wick_cast(wick_from(ctx, WICK_F32, rank, dims, data), dtype);
    free(data);
    return wick_eval(ctx, 1, &x, NULL) == WICK_OK ? x : NULL;
}

#endif
