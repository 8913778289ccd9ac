/* cases.h: the arrays NAME/PART of a safetensors file in this folder, and comparing tensors with them. Define
 * GOLDEN_FILE before, and GOLDEN_FLOOR: about the size of what is summed up; GOLDEN_F32 where what is stored in f32 was
 * computed in it. A golden that no test compares is a failure. */
#ifndef WICK_TESTS_CASES_H
#define WICK_TESTS_CASES_H

#include "golden/golden.h"
#include "io/safetensors.h"
#include "kernels/kernels.h"
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
    snprintf(path, sizeof path, "%.*s" GOLDEN_FILE, end ? (int)(end - here + 1) : 0, here);
    wick_status status = wick_safetensors_open(&file, path, &msg);
    CHECK_MSG(status == WICK_OK, "%s", msg.text);
    return status == WICK_OK && file.count <= sizeof compared;
}

static array *find(const char *name, const char *part) {
    char full[160];
    snprintf(full, sizeof full, "%.100s/%.58s", name, part);
    array *a = wick_safetensors_find(&file, full);
    if (a) compared[a - file.tensors] = true;
    return a;
}

static wick_tensor *load(wick_context *ctx, array *a, wick_dtype floats) {
    wick_tensor *t = wick_from(ctx, a->dtype, a->rank, a->dims, a->data);
    if (!wick_dtype_is_float(a->dtype) || a->dtype == floats) return t;
    t = wick_cast(t, floats); /* exact */
    return wick_eval(ctx, 1, &t, NULL) == WICK_OK ? t : NULL;
}

/* ---- comparing --------------------------------------------------------------------------------------------------- */

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
    test_count("results and gradients against goldens of PyTorch, NumPy and others", 1);
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
        CHECK_MSG(near(a, b,
                       !is_float              ? 0
                       : floats == WICK_F32   ? 2e-6
                       : g->dtype == WICK_F64 ? 1e-12
                                              : GOLDEN_F32),
                  "%s %s, %s, element %lld: %.17g, PyTorch has %.17g", name, wick_dtype_name(floats), what,
                  (long long)i, a, b);
    }
    free(data);
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
