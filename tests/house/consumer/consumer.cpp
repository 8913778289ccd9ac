// The same from C++: every header is included, and the calls link.
#include <cstdio>
#include <wick/wick.h>

int main() {
    wick_context *ctx = nullptr;
    double value = 0;
    const int64_t dims[] = {3};
    const float data[] = {1, 2, 3};
    if (wick_context_new(nullptr, &ctx) != WICK_OK) return 1;
    wick_tensor *x = wick_from(ctx, WICK_F32, 1, dims, data);
    if (wick_item(wick_sum(wick_mul(x, x), WICK_ALL_AXES, false), &value) != WICK_OK)
        std::fprintf(stderr, "%s\n", wick_context_error(ctx));
    std::printf("wick %s from C++: %g\n", wick_version(), value);
    wick_context_free(&ctx);
    return value != 14;
}
