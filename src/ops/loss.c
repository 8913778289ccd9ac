/* loss.c: losses that are compositions of other ops. */
#include "ops/ops.h"
#include "wick/ops.h"

wick_tensor *wick_mse(wick_tensor *prediction, wick_tensor *target) {
    return wick_mean(wick_square(wick_sub(prediction, target)), WICK_ALL_AXES, false);
}
