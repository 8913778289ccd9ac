/* The smallest program that someone outside of this tree would write: it must build against what was installed. */
#include <stdio.h>
#include <string.h>
#include <wick/wick.h>

int main(void) {
    wick_context *ctx;
    double value = 0;
    if (wick_context_new(NULL, &ctx)) return 1;
    wick_tensor *a = wick_from(ctx, WICK_F32, WICK_DIMS(2, 2), (float[]){1, 2, 3, 4});
    wick_tensor *loss = wick_sum(wick_matmul(a, wick_square(a)), WICK_ALL_AXES, false), *grad;
    wick_grad(loss, 1, &a, &grad);
    /* [[1 2] [3 4]] [[1 4] [9 16]] = [[19 36] [39 76]] */
    if (wick_item(loss, &value)) fprintf(stderr, "%s\n", wick_context_error(ctx));
    printf("wick %s: %g\n", wick_version(), value);
    wick_context_free(&ctx);
    return value != 170 || strcmp(wick_version(), WICK_EXPECTED);
}
