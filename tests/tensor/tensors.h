/* tensors.h: what tests of tensors, graphs and plans share: contexts that must come up, and values read back as
 * doubles. */
#ifndef WICK_TESTS_TENSORS_H
#define WICK_TESTS_TENSORS_H

#include "test.h"
#include "wick/wick.h"

/* A call that must succeed; prints the context's text when it does not. */
#define CHECK_OK(ctx, call)                                                                              \
    do {                                                                                                 \
        wick_status ok_ = (call);                                                                        \
        CHECK_MSG(ok_ == WICK_OK, "%s: %s: %s", #call, wick_status_name(ok_), wick_context_error(ctx)); \
    } while (0)
/* A call that must fail this way, with this in its text. */
#define CHECK_FAILS(ctx, status, part, call)                                                                          \
    do {                                                                                                              \
        wick_status got_ = (call);                                                                                    \
        CHECK_MSG(got_ == (status), "%s: %s, not %s", #call, wick_status_name(got_), wick_status_name(status));       \
        CHECK_STR_HAS(wick_context_error(ctx), part);                                                                 \
    } while (0)
/* x must be poisoned this way, with this in its text. */
#define CHECK_POISON(x, status, part)                                                                                  \
    do {                                                                                                               \
        const char *text_ = "";                                                                                        \
        wick_status got_ = wick_tensor_error((x), &text_);                                                             \
        CHECK_MSG(got_ == (status), "%s: %s (%s), not %s", #x, wick_status_name(got_), text_,                          \
                  wick_status_name(status));                                                                           \
        CHECK_STR_HAS(text_, part);                                                                                    \
    } while (0)

static inline wick_context *context_with(const wick_context_options *options) {
    wick_context *ctx = NULL;
    wick_status status = wick_context_new(options, &ctx);
    if (status != WICK_OK) printf("  no context: %s\n", wick_status_name(status)), exit(1);
    return ctx;
}
/* Two threads, seed 7. */
static inline wick_context *context(void) { return context_with(&(wick_context_options){.threads = 2, .seed = 7}); }

static inline wick_tensor *vec(wick_context *ctx, int64_t n, const float *data) {
    return wick_from(ctx, WICK_F32, 1, &n, data);
}
#define VEC(ctx, ...)                                                                                                  \
    vec(ctx, (int64_t)(sizeof((const float[]){__VA_ARGS__}) / sizeof(float)), (const float[]){__VA_ARGS__})

/* Values of x, row-major, as doubles; false (and a failed check) when they cannot be had. */
static inline bool values(wick_tensor *x, double *out, int64_t n) {
    wick_context *ctx = wick_tensor_context(x);
    CHECK_INT(wick_tensor_count(x), n);
    wick_tensor *d = wick_cast(x, WICK_F64);
    wick_status status = wick_read(d, out, (size_t)n * sizeof *out);
    CHECK_MSG(status == WICK_OK, "%s", wick_context_error(ctx));
    wick_tensor_free(&d);
    return status == WICK_OK;
}
static inline void check_values(const char *file, int line, wick_tensor *x, int64_t n, const double *want) {
    double got[256];
    if (n > 256 || !values(x, got, n)) return;
    for (int64_t i = 0; i < n; i++)
        CHECK_MSG(got[i] == want[i] || (isnan(got[i]) && isnan(want[i])), "%s:%d: element %lld is %.9g, not %.9g", file,
                  line, (long long)i, got[i], want[i]);
}
#define CHECK_VALUES(x, ...)                                                                                           \
    check_values(__FILE__, __LINE__, x, (int64_t)(sizeof((const double[]){__VA_ARGS__}) / sizeof(double)),             \
                 (const double[]){__VA_ARGS__})

static inline double item(wick_tensor *x) {
    double v = NAN;
    wick_status status = wick_item(x, &v);
    CHECK_MSG(status == WICK_OK, "%s", wick_context_error(wick_tensor_context(x)));
    return v;
}

static inline void fill_random(float *x, int64_t n, double lo, double hi) {
    for (int64_t i = 0; i < n; i++) x[i] = (float)test_rand_real(lo, hi);
}

#endif
