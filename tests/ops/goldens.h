/* goldens.h: cases of a file in tests/golden against PyTorch's values and gradients, in f64 and f32: NAME/in0 ...,
 * NAME/out, and where there is a gradient NAME/grad0 ..., those of sum(out * r) with NAME/r, or weights of the name.
 * NAME/attr: numbers for the function that builds the case. golden/cases.h says what to define before. */
#ifndef WICK_TESTS_GOLDENS_H
#define WICK_TESTS_GOLDENS_H

#include "context.h"
#include "golden/cases.h"
#include "ops/refusals.h"

static wick_context *golden_context(void) { return open_goldens() ? new_context(.threads = 2) : NULL; }

/* ---- cases ------------------------------------------------------------------------------------------------------- */

typedef wick_tensor *(*build_fn)(wick_tensor **in, const int64_t *attr);

/* Numbers in [-1, 1) that f32 holds, in the shape of y: golden/cases.py has the same function. */
static wick_tensor *weights(wick_context *ctx, const char *name, wick_tensor *y, wick_dtype floats) {
    const int64_t n = wick_tensor_count(y);
    float *data = malloc((size_t)n * sizeof *data + 1);
    for (int64_t i = 0; i < n; i++)
        data[i] = (float)(golden_number(golden_hash(name), (uint32_t)i) >> 8) * 0x1p-23f - 1;
    wick_tensor *r = wick_cast(wick_from(ctx, WICK_F32, wick_tensor_rank(y), wick_tensor_dims(y), data), floats);
    free(data);
    return wick_eval(ctx, 1, &r, NULL) == WICK_OK ? r : NULL;
}

static void check_as(wick_context *ctx, const char *name, build_fn build, wick_dtype floats) {
    wick_scope *scope = wick_scope_open(ctx);
    wick_tensor *in[12], *wrt[12], *grad[12];
    char part[16];
    int n = 0, n_wrt = 0, wrt_of[12];
    for (array *a; snprintf(part, sizeof part, "in%d", n), n < 12 && (a = find(name, part)); n++) {
        in[n] = load(ctx, a, floats);
        snprintf(part, sizeof part, "grad%d", n);
        if (find(name, part)) wrt[n_wrt] = in[n], wrt_of[n_wrt++] = n;
    }
    CHECK_MSG(n > 0, "%s has no golden", name);
    array *attr = find(name, "attr");
    wick_tensor *y = n ? build(in, attr ? (const int64_t *)(const void *)attr->data : NULL) : NULL;
    if (n_wrt && y) {
        array *given = find(name, "r");
        wick_tensor *r = given ? load(ctx, given, floats) : weights(ctx, name, y, floats);
        CHECK_MSG(r != NULL, "%s has no r", name);
        wick_tensor *loss = r ? wick_sum(wick_mul(y, r), WICK_ALL_AXES, false) : NULL;
        if (loss) wick_grad(loss, n_wrt, wrt, grad);
        for (int k = 0; loss && k < n_wrt; k++) {
            snprintf(part, sizeof part, "grad%d", wrt_of[k]);
            compare(name, part, find(name, part), grad[k], floats);
        }
    }
    if (y) compare(name, "out", find(name, "out"), y, floats);
    wick_scope_close(&scope);
}

static void check(wick_context *ctx, const char *name, build_fn build) {
    check_as(ctx, name, build, WICK_F64);
    check_as(ctx, name, build, WICK_F32);
}

typedef struct named_case {
    const char *name;
    build_fn build;
} named_case;
static __attribute__((unused)) void check_all(const named_case *cases, size_t n) {
    wick_context *ctx = golden_context();
    REQUIRE(ctx != NULL);
    for (size_t i = 0; i < n; i++) check(ctx, cases[i].name, cases[i].build);
    wick_context_free(&ctx);
}
#define BUILD(id, ...) \
    static wick_tensor *id(wick_tensor **in, const int64_t *attr) { return (void)attr, __VA_ARGS__; }

/* On every tier. Plans are of one tier: *ctx is replaced. */
static __attribute__((unused)) void check_on_tiers(wick_context **ctx, const char *name, build_fn build) {
    for (int tier = 0; tier < WICK_TIER_COUNT; tier++)
        if (wick_tier_force((wick_tier)tier)) {
            wick_context_free(ctx);
            *ctx = golden_context();
            check(*ctx, name, build);
        }
    wick_tier_force(wick_tier_best());
}

/* Every case that has an attr, on every tier. How many there were. */
static __attribute__((unused)) int check_every_case(wick_context **ctx, build_fn build) {
    int cases = 0;
    for (size_t i = 0; i < file.count; i++) {
        char name[128];
        snprintf(name, sizeof name, "%s", file.tensors[i].name);
        char *slash = strrchr(name, '/');
        if (!slash || strcmp(slash, "/attr")) continue;
        *slash = 0;
        cases++;
        check_on_tiers(ctx, name, build);
    }
    return cases;
}

#endif
