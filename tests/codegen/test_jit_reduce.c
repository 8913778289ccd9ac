/* Machine code for programs that end in a reduction: random ones, over rows, columns, all and whatever lies between,
 * have the bits of the built-in kernels, on every tier and any number of threads. */
#include "base/base.h"
#include "compiled.h"
#include "test.h"
#include "wick/wick.h"

enum { INPUTS = 7, RESULTS = 6, MOST = 80000 };

/* What one plan computes: RESULTS reductions of programs over inputs of one shape. */
typedef struct design {
    uint64_t seed;
    wick_dtype dtype;
    int rank;
    int64_t dims[3];
} design;

static uint64_t pick(uint64_t *s, uint64_t n) {
    *s = *s * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (*s >> 33) % n;
}

/* Full; a row of the last dim; a number of each row; a number; full, as the first two dims the other way; every second
 * of twice as many; full, as halves. */
static int specs_of(const design *d, wick_spec *in) {
    for (int i = 0; i < INPUTS; i++) {
        in[i] = (wick_spec){.dtype = d->dtype, .rank = d->rank};
        memcpy(in[i].dims, d->dims, sizeof d->dims);
    }
    for (int k = 0; k < d->rank - 1; k++) in[1].dims[k] = 1;
    in[2].dims[d->rank - 1] = 1;
    in[3].rank = 0;
    if (d->rank > 1) in[4].dims[0] = d->dims[1], in[4].dims[1] = d->dims[0];
    in[5].dims[d->rank - 1] *= 2;
    if (d->dtype == WICK_F32) in[6].dtype = WICK_BF16;
    return INPUTS;
}

static wick_tensor *operand(uint64_t *s, const design *d, wick_tensor *const *in) {
    switch (pick(s, 9)) {
    case 1: return in[1];
    case 2: return in[2];
    case 3: return in[3];
    case 4: return d->rank > 1 ? wick_transpose(in[4], 0, 1) : in[4];
    case 5: return wick_slice(in[5], -1, 0, 2 * d->dims[d->rank - 1], 2);
    case 6: return wick_cast(in[6], d->dtype);
    default: return in[0];
    }
}
static wick_tensor *step(uint64_t *s, const design *d, wick_tensor *a, wick_tensor *b) {
    const bool real = d->dtype == WICK_F32 || d->dtype == WICK_F64;
    switch (pick(s, real ? 14 : 7)) {
    case 0: return wick_add(a, b);
    case 1: return wick_sub(a, b);
    case 2: return wick_mul(a, b);
    case 3: return wick_maximum(a, b);
    case 4: return wick_square(a);
    case 5: return wick_where(wick_gt(a, b), b, a);
    case 6: return wick_abs(wick_sub(a, b));
    case 7: return wick_tanh(a);
    case 8: return wick_gelu(a);
    case 9: return wick_exp(wick_minimum(a, b));
    case 10: return wick_div(a, b);
    case 11: return wick_erf(a);
    case 12: return wick_sigmoid(a);
    default: return wick_relu(a);
    }
}
static wick_tensor *reduction(uint64_t *s, const design *d, wick_tensor *x) {
    static const int all_axes[][3] = {{0}, {1}, {2}, {0, 1}, {1, 2}, {0, 2}, {0, 1, 2}},
                     counts[] = {1, 1, 1, 2, 2, 2, 3};
    int which;
    do which = (int)pick(s, 7);
    while (all_axes[which][counts[which] - 1] >= d->rank);
    const int n = counts[which], *axes = all_axes[which];
    const bool keep = pick(s, 2);
    int64_t elements = 1;
    for (int k = 0; k < n; k++) elements *= d->dims[axes[k]];
    const bool real = d->dtype == WICK_F32 || d->dtype == WICK_F64;
    switch (pick(s, 7)) {
    case 0: return wick_prod(x, n, axes, keep);
    case 1: return elements ? wick_max(x, n, axes, keep) : wick_sum(x, n, axes, keep);
    case 2: return elements ? wick_min(x, n, axes, keep) : wick_sum(x, n, axes, keep);
    case 3: return real ? wick_mean(x, n, axes, keep) : wick_sum(x, n, axes, keep);
    case 4: return (pick(s, 2) ? wick_any : wick_all)(wick_gt(x, wick_like(x, 1)), n, axes, keep);
    default: return wick_sum(x, n, axes, keep);
    }
}
static wick_status record(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx;
    const design *d = user;
    uint64_t s = d->seed;
    for (int r = 0; r < RESULTS; r++) {
        wick_tensor *x = wick_mul(in[0], operand(&s, d, in)); /* of the full shape */
        for (uint64_t n = pick(&s, 5); n > 0; n--) x = step(&s, d, x, operand(&s, d, in));
        out[r] = reduction(&s, d, x);
    }
    return WICK_OK;
}

static double store[INPUTS][2 * MOST];
static void fill(const design *d, int n, const wick_spec *in, bool odd) {
    static const double odds[] = {NAN, INFINITY, -INFINITY, 0, -0.0, 1e-40, 3e38};
    uint64_t s = d->seed + 77;
    for (int i = 0; i < n; i++) {
        int64_t elements = 1;
        for (int k = 0; k < in[i].rank; k++) elements *= in[i].dims[k];
        for (int64_t e = 0; e < elements; e++) {
            const double x = odd && pick(&s, 300) == 0 ? odds[pick(&s, 7)] : (double)pick(&s, 1000000) / 200000 - 2.5;
            const float f = (float)x;
            uint32_t bits;
            memcpy(&bits, &f, sizeof bits);
            if (in[i].dtype == WICK_F32) ((float *)store[i])[e] = f;
            if (in[i].dtype == WICK_F64) store[i][e] = x;
            if (in[i].dtype == WICK_I32) ((int32_t *)store[i])[e] = (int32_t)pick(&s, 2000) - 1000;
            if (in[i].dtype == WICK_I64) ((int64_t *)store[i])[e] = (int64_t)pick(&s, 2000) - 1000;
            if (in[i].dtype == WICK_BF16) ((uint16_t *)store[i])[e] = (uint16_t)(bits >> 16 | (f != f));
        }
    }
}

/* loops that differ: compilers may take a minimum where a kernel selects, which is zero for a denormal; those are
 * compared and dropped */
static long loops, refused, differ, apart, others;
static char last[300];
static void on_remark(void *user, const char *pass, const char *node, const char *place, const char *text) {
    (void)user, (void)node, (void)place;
    if (strcmp(pass, "jit") != 0) return;
    loops += strstr(text, "with the reduction") != NULL;
    refused += strstr(text, "slower than the kernel") != NULL;
    apart += strstr(text, "the reduction is the built-in kernel's: ") != NULL;
    differ += strstr(text, "has other bits") != NULL;
    if (strstr(text, "one loop of machine code") || strstr(text, "slower than the kernel") ||
        strstr(text, "has other bits") || strstr(text, "a kernel of its own"))
        return;
    others++;
    snprintf(last, sizeof last, "%s", text);
}

static bool equal(wick_dtype dtype, const void *a, const void *b, size_t bytes) {
    const size_t size = dtype == WICK_F64 ? 8 : dtype == WICK_F32 ? 4 : bytes;
    for (size_t at = 0; at < bytes; at += size) {
        const char *p = (const char *)a + at, *q = (const char *)b + at;
        if (memcmp(p, q, size) == 0) continue;
        if (dtype == WICK_F32 && isnan(*(const float *)(const void *)p) && isnan(*(const float *)(const void *)q))
            continue;
        if (dtype == WICK_F64 && isnan(*(const double *)(const void *)p) && isnan(*(const double *)(const void *)q))
            continue;
        return false;
    }
    return true;
}

static double results[3][RESULTS][MOST];
/* The results of a context, of ordinary numbers or odd ones. */
static bool run(wick_context *ctx, design *d, bool odd, double (*to)[MOST], wick_spec *made) {
    wick_plan *plan = NULL;
    wick_workspace *ws = NULL;
    wick_spec in[INPUTS];
    const void *from[INPUTS];
    void *out[RESULTS];
    const int n = specs_of(d, in);
    fill(d, n, in, odd);
    for (int i = 0; i < n; i++) from[i] = store[i];
    for (int r = 0; r < RESULTS; r++) out[r] = to[r];
    const bool good =
        !wick_compile(ctx, record, d, n, in, RESULTS, &(wick_compile_options){.on_remark = on_remark}, &plan) &&
        !wick_workspace_new(plan, &ws) && !wick_run(ws, from, out);
    CHECK_MSG(good, "%s", wick_context_error(ctx));
    for (int r = 0; r < RESULTS && good; r++) made[r] = wick_plan_output(plan, r);
    wick_workspace_free(&ws);
    wick_plan_free(&plan);
    return good;
}
static void check_design(wick_context *const *ctx, design *d) {
    for (int odd = 0; odd < 2; odd++) {
        wick_spec made[RESULTS];
        for (int c = 0; c < 3; c++)
            if (!run(ctx[c], d, odd, results[c], made)) return;
        for (int c = 1; c < 3; c++)
            for (int r = 0; r < RESULTS; r++)
                CHECK_MSG(equal(made[r].dtype, results[0][r], results[c][r], wick_spec_bytes(&made[r])),
                          "%s, seed %llu, dtype %s, result %d of [%lld, %lld, %lld], %s",
                          c == 1 ? "one thread" : "three", (unsigned long long)d->seed, wick_dtype_name(d->dtype), r,
                          (long long)d->dims[0], (long long)d->dims[1], (long long)d->dims[2],
                          odd ? "odd numbers" : "numbers");
    }
}

static void check_tier(wick_tier tier, int designs) {
    static const struct {
        int rank;
        int64_t dims[3];
    } shapes[] = {{1, {5000}},   {2, {20, 150}}, {2, {3, 700}},   {2, {9, 1024}},   {2, {2, 20001}},   {2, {130, 513}},
                  {2, {40, 64}}, {2, {700, 3}},  {2, {33, 1000}}, {3, {3, 7, 300}}, {3, {17, 8, 65}},  {3, {4, 33, 5}},
                  {2, {0, 300}}, {2, {40, 0}},   {2, {300, 128}}, {1, {65536}},     {3, {6, 20, 129}}, {2, {200, 20}}};
    static const wick_dtype dtypes[] = {WICK_F32, WICK_F32, WICK_F64, WICK_I32, WICK_F32, WICK_I64};
    const wick_tuning little = {.parallel_flops = 1, .parallel_bytes = 1, .fused_task_work = 1000};
    const wick_tier before = wick_tier_current();
    char folder[512];
    if (!compiled_possible()) SKIP("there is no compiler named cc");
    if (!wick_tier_force(tier)) SKIP("the CPU has no such tier");
    REQUIRE(compiled_folder(folder, sizeof folder));
    wick_context *ctx[3];
    CHECK_INT(wick_context_new(&(wick_context_options){.threads = 1}, &ctx[0]), WICK_OK);
    CHECK_INT(
        wick_context_new(&(wick_context_options){.threads = 1, .jit = WICK_JIT_WAIT, .jit_folder = folder}, &ctx[1]),
        WICK_OK);
    CHECK_INT(wick_context_new(
                  &(wick_context_options){.threads = 3, .jit = WICK_JIT_WAIT, .jit_folder = folder, .tuning = &little},
                  &ctx[2]),
              WICK_OK);
    REQUIRE(ctx[0] && ctx[1] && ctx[2]);
    loops = refused = differ = apart = others = 0;
    if (getenv("WICK_FUZZ_DESIGNS")) designs = atoi(getenv("WICK_FUZZ_DESIGNS"));
    for (int k = 0; k < designs; k++) {
        const int shape = (k + (int)tier * 5) % (int)WICK_COUNTOF(shapes);
        design d = {.seed = (uint64_t)(k * 8 + (int)tier),
                    .dtype = dtypes[k % (int)WICK_COUNTOF(dtypes)],
                    .rank = shapes[shape].rank};
        for (int i = 0; i < 3; i++) d.dims[i] = i < d.rank ? shapes[shape].dims[i] : 1;
        check_design(ctx, &d);
    }
    CHECK_MSG(loops > refused + differ && differ * 10 <= loops, "%ld are used, %ld slower, %ld differ", loops, refused,
              differ);
    CHECK_MSG(others == 0, "%ld programs were not compiled: %s", others, last);
    test_count("reductions as machine code", loops);
    for (int i = 0; i < 3; i++) wick_context_free(&ctx[i]);
    compiled_remove(folder);
    wick_tier_force(before);
}
/* Each design has the compiler at work for some seconds. */
enum { DESIGNS = TEST_SANITIZED ? 2 : 6 };
TEST(random_reductions_keep_their_bits_on_the_base_tier) { check_tier(WICK_TIER_BASE, DESIGNS); }
#ifdef __x86_64__
TEST(random_reductions_keep_their_bits_on_avx2) { check_tier(WICK_TIER_AVX2, DESIGNS); }
TEST(random_reductions_keep_their_bits_on_avx512) { check_tier(WICK_TIER_AVX512, DESIGNS); }
#endif
TEST(random_reductions_keep_their_bits_on_the_plain_tier) { check_tier(WICK_TIER_REF, 1); }

static void check_now(const char *folder, const char *expected) {
    wick_context *ctx[3];
    design d = {.seed = 3, .rank = 2, .dims = {20, 150, 1}};
    CHECK_INT(wick_context_new(&(wick_context_options){.threads = 1}, &ctx[0]), WICK_OK);
    for (int i = 1; i < 3; i++)
        CHECK_INT(
            wick_context_new(&(wick_context_options){.threads = 2 * i - 1, .jit = WICK_JIT_WAIT, .jit_folder = folder},
                             &ctx[i]),
            WICK_OK);
    last[0] = 0;
    check_design(ctx, &d);
    CHECK_MSG(strstr(last, expected) != NULL, "\"%s\" lacks \"%s\"", last, expected);
    for (int i = 0; i < 3; i++) wick_context_free(&ctx[i]);
}
TEST(reductions_are_right_without_a_compiler_and_with_a_spoilt_cache) {
    char folder[512], command[700];
    if (!compiled_possible()) SKIP("there is no compiler named cc");
    REQUIRE(compiled_folder(folder, sizeof folder));
    setenv("WICK_CC", "/nowhere/cc", 1);
    check_now(folder, "there is no C compiler");
    unsetenv("WICK_CC");
    check_now(folder, "");
    snprintf(command, sizeof command, "for f in '%s'/*.so; do truncate -s 2000 \"$f\" || exit 1; done", folder);
    CHECK_INT(system(command), 0);
    check_now(folder, "was not what it should be");
    compiled_remove(folder);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
