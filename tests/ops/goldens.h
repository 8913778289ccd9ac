/* goldens.h: cases of a file in tests/golden against PyTorch's values and gradients, in f64 and f32: NAME/in0 ..., NAME/out, and where
 * there is a gradient NAME/grad0 ..., those of sum(out * r) with NAME/r, or weights of the name. NAME/attr: numbers for the function that builds the case. Define
 * GOLDEN_FILE before, and GOLDEN_FLOOR: about the size of what is summed up; GOLDEN_F32 where what is stored in f32 was computed in it. A golden that no test compares is a failure. */
#ifndef WICK_TESTS_GOLDENS_H
#define WICK_TESTS_GOLDENS_H

#include "golden/golden.h"
#include "io/safetensors.h"
#include "kernels/kernels.h"
#include "ops/refusals.h"
#include "tensor/tensor.h"
#include "test.h"
#undef WICK_NO_SITES
#include "wick/ops.h"

#ifndef GOLDEN_F32
#define GOLDEN_F32 1e-12
#endif

typedef const wick_safetensors_tensor array;

static wick_safetensors file;
static bool compared[4096];

static bool open_goldens(void) {
    if (file.count) return true;
    char path[1024];
    wick_msg msg;
    const char *here = __FILE__, *end = strrchr(here, '/');
    snprintf(path, sizeof path, "%.*s../golden/" GOLDEN_FILE, end ? (int)(end - here + 1) : 0, here);
    wick_status status = wick_safetensors_open(&file, path, &msg);
    CHECK_MSG(status == WICK_OK, "%s", msg.text);
    return status == WICK_OK && file.count <= sizeof compared;
}

static array *find(const char *name, const char *part) {
    char full[128];
    snprintf(full, sizeof full, "%s/%s", name, part);
    array *a = wick_safetensors_find(&file, full);
    if (a) compared[a - file.tensors] = true;
    return a;
}

static wick_context *new_context(void) {
    wick_context *ctx = NULL;
    if (!open_goldens() || wick_context_new(&ctx, &(wick_context_options){.threads = 2}) != WICK_OK) return NULL;
    return ctx;
}

/* ---- comparing ---------------------------------------------------------------------------------------------------------------------- */

/* Relative, with a floor: results near 0 come from larger numbers that cancel. */
static bool near(double a, double b, double tolerance) {
    if (isnan(a) || isnan(b)) return isnan(a) && isnan(b);
    if (isinf(a) || isinf(b)) return a == b;
    return fabs(a - b) <= tolerance * fmax(fabs(b), GOLDEN_FLOOR);
}

static double element(wick_dtype dtype, const void *data, int64_t i) {
    wick_copy one = {.rank = 0, .src = dtype, .dst = WICK_F64};
    char aligned[8];
    memcpy(aligned, (const char *)data + (size_t)i * wick_dtype_size(dtype), wick_dtype_size(dtype));
    double value;
    wick_copy_run(&one, 0, 1, aligned, &value);
    return value;
}

/* floats: the dtype that float results must have. Integers and bools must be equal in type and value. */
static void compare(const char *name, const char *what, array *g, wick_tensor *t, wick_dtype floats) {
    const char *text = "";
    CHECK_MSG(g != NULL, "%s has no golden %s", name, what);
    CHECK_MSG(wick_tensor_error(t, &text) == WICK_OK, "%s, %s: %s", name, what, text);
    if (!g || wick_tensor_error(t, NULL)) return;
    bool is_float = wick_dtype_is_float(g->dtype);
    bool shaped = wick_tensor_rank(t) == g->rank && wick_tensor_dtype(t) == (is_float ? floats : g->dtype);
    for (int i = 0; shaped && i < g->rank; i++) shaped = wick_tensor_dims(t)[i] == g->dims[i];
    CHECK_MSG(shaped, "%s, %s: another shape or dtype than %d-d %s", name, what, g->rank, wick_dtype_name(g->dtype));
    size_t bytes = (size_t)wick_tensor_count(t) * wick_dtype_size(wick_tensor_dtype(t));
    char *data = malloc(bytes + 1);
    wick_status status = wick_read(t, data, bytes);
    CHECK_MSG(status == WICK_OK, "%s, %s: %s", name, what, wick_context_error(wick_tensor_context(t)));
    for (int64_t i = 0; shaped && status == WICK_OK && i < wick_tensor_count(t); i++) {
        double a = element(wick_tensor_dtype(t), data, i), b = element(g->dtype, g->data, i);
        if (is_float && floats == WICK_F32) b = (float)b; /* what overflows is Inf */
        CHECK_MSG(near(a, b, !is_float ? 0 : floats == WICK_F32 ? 2e-6 : g->dtype == WICK_F64 ? 1e-12 : GOLDEN_F32), "%s %s, %s, element %lld: %.17g, PyTorch has %.17g", name,
                  wick_dtype_name(floats), what, (long long)i, a, b);
    }
    free(data);
}

/* ---- cases --------------------------------------------------------------------------------------------------------------------------- */

typedef wick_tensor *(*build_fn)(wick_tensor **in, const int64_t *attr);

static wick_tensor *load(wick_context *ctx, array *a, wick_dtype floats) {
    wick_tensor *t = wick_from(ctx, a->dtype, a->rank, a->dims, a->data);
    if (!wick_dtype_is_float(a->dtype) || a->dtype == floats) return t;
    t = wick_cast(t, floats); /* exact */
    return wick_eval(ctx, 1, &t, NULL) == WICK_OK ? t : NULL;
}

/* Numbers in [-1, 1) that f32 holds, in the shape of y: golden/cases.py has the same function. */
static wick_tensor *weights(wick_context *ctx, const char *name, wick_tensor *y, wick_dtype floats) {
    const int64_t n = wick_tensor_count(y);
    float *data = malloc((size_t)n * sizeof *data + 1);
    for (int64_t i = 0; i < n; i++) data[i] = (float)(golden_number(golden_hash(name), (uint32_t)i) >> 8) * 0x1p-23f - 1;
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
    wick_context *ctx = new_context();
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
            *ctx = new_context();
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

/* Of a whole run: every golden was looked at. */
static void check_all_compared(void) {
    REQUIRE(open_goldens());
    size_t n = 0;
    for (size_t i = 0; i < file.count; i++) n += compared[i];
    if (!n) SKIP("needs the other tests");
    for (size_t i = 0; i < file.count; i++) CHECK_MSG(compared[i], "%s", file.tensors[i].name);
    wick_safetensors_close(&file);
}

#endif
