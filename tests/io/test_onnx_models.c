/* Small models of other tools beside ONNX Runtime's outputs: every NAME.onnx of tests/golden/onnx with its NAME.pb
 * (make_onnx.py and make_onnx_quantised.py; the first says what is in it), optimised, op by op, and as one plan and
 * written again where sizes and strings allow. An argument runs those whose names contain it. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "test.h"
#include "wick/wick.h"

enum { PORTS = 16, MODELS = 512 };
#define FOLDER WICK_SOURCE_DIR "/tests/golden/onnx"

/* Looser where ONNX Runtime itself is: it sums in f32 and in another order, and quantised results may be one off at a
 * tie. */
static const struct tolerance {
    const char *prefix;
    double rtol, atol;
} tolerances[] = {
    {"sk_svc_probability", 1e-3, 1e-3},
    {"ms_q_", 1e-4, 1},
    {"ort_", 5e-2, 5e-2}, /* a number that is rounded the other way goes on through all that follows */
    {"", 1e-4, 1e-5},
};

static wick_onnx_value value_of(const wick_onnx_value *all, int i, bool sequence) {
    return sequence ? all->items[i] : all->items[i].items[0];
}

static wick_status compare(wick_context *ctx, const wick_onnx *onnx, const char *name, const wick_onnx_value *all,
                           const wick_onnx_value *out) {
    const int n_in = wick_onnx_inputs(onnx);
    const struct tolerance *t = tolerances;
    while (strncmp(name, t->prefix, strlen(t->prefix)) != 0) t++;
    for (int i = 0; i < wick_onnx_outputs(onnx); i++) {
        const wick_onnx_value want = value_of(all, n_in + i, wick_onnx_output(onnx, i).kind == WICK_VALUE_SEQUENCE);
        const wick_status status = wick_onnx_value_compare(ctx, &out[i], &want, t->rtol, t->atol);
        CHECK_MSG(status == WICK_OK, "%s: output %d: %s", name, i, wick_context_error(ctx));
        if (status != WICK_OK) return status;
    }
    return WICK_OK;
}

static int compiled;

static void run_compiled(wick_context *ctx, wick_onnx *onnx, const char *name, const wick_onnx_value *all,
                         const wick_onnx_value *in) {
    const int n_in = wick_onnx_inputs(onnx), n_out = wick_onnx_outputs(onnx);
    wick_spec specs[PORTS] = {{0}};
    const void *data[PORTS];
    void *results[PORTS] = {0};
    wick_onnx_value out[PORTS];
    wick_plan *plan = NULL;
    wick_workspace *ws = NULL;
    for (int i = 0; i < n_in; i++) {
        if (in[i].kind != WICK_VALUE_TENSOR) return;
        specs[i].dtype = wick_tensor_dtype(in[i].tensor);
        specs[i].rank = wick_tensor_rank(in[i].tensor);
        memcpy(specs[i].dims, wick_tensor_dims(in[i].tensor), (size_t)specs[i].rank * sizeof(int64_t));
        if (wick_data(in[i].tensor, &data[i]) != WICK_OK) return;
    }
    wick_status status = wick_onnx_compile(onnx, specs, NULL, &plan);
    if (status == WICK_ERR_UNSUPPORTED) return;
    CHECK_MSG(status == WICK_OK, "%s: %s", name, wick_context_error(ctx));
    if (status != WICK_OK || wick_workspace_new(plan, &ws) != WICK_OK) {
        wick_plan_free(&plan);
        return;
    }
    for (int i = 0; i < n_out; i++) {
        const wick_spec s = wick_plan_output(plan, i);
        int64_t n = 1;
        for (int d = 0; d < s.rank; d++) n *= s.dims[d];
        results[i] = calloc(1, wick_dtype_bytes(s.dtype, n) + 1);
    }
    int conv = 0, matmul = 0, copied = 0;
    for (int i = 0; i < wick_plan_get_info(plan).kernels; i++) {
        const char *kernel = wick_plan_kernel_at(plan, i).name;
        conv += !strncmp(kernel, "conv_int8", 9);
        matmul += !strncmp(kernel, "matmul_int8", 11);
        copied += !strcmp(kernel, "copy") && wick_plan_kernel_at(plan, i).result.dtype == WICK_F32;
    }
    if (!strncmp(name, "quant_", 6)) /* with three convolutions and a product: in integers, all of them */
        CHECK_MSG(conv == 3 && matmul == 1, "%s: %d convolutions and %d products in integers", name, conv, matmul);
    if (!strncmp(name, "quant_qdq_", 10))
        CHECK_MSG(!copied, "%s: what is reshaped between a dequantise and a quantise node of one scale is floats",
                  name);
    status = wick_run(ws, data, results);
    CHECK_MSG(status == WICK_OK, "%s: as one plan: %s", name, wick_workspace_error(ws));
    for (int i = 0; i < n_out && status == WICK_OK; i++) {
        const wick_spec s = wick_plan_output(plan, i);
        out[i] =
            (wick_onnx_value){.kind = WICK_VALUE_TENSOR, .tensor = wick_from(ctx, s.dtype, s.rank, s.dims, results[i])};
    }
    if (status == WICK_OK) compare(ctx, onnx, name, all, out), compiled++;
    for (int i = 0; i < n_out; i++) free(results[i]);
    wick_workspace_free(&ws);
    wick_plan_free(&plan);
}

static int written, refused;

/* Written again, as it is for these inputs, it gives the same; or what stands against it is said. With
 * WICK_EXPORT_OUT=DIR it stays there with its data, for scripts/check_export. */
static void run_written(wick_context *ctx, wick_onnx *onnx, const char *name, const wick_onnx_value *all,
                        const wick_onnx_value *in) {
    const int n_in = wick_onnx_inputs(onnx), n_out = wick_onnx_outputs(onnx);
    const char *keep = getenv("WICK_EXPORT_OUT");
    char folder[512] = "/tmp/wick-again-XXXXXX", path[1024];
    wick_spec specs[PORTS] = {{0}};
    wick_onnx_value out[PORTS] = {0};
    wick_onnx *again = NULL;
    for (int i = 0; i < n_in; i++) {
        if (in[i].kind != WICK_VALUE_TENSOR) return;
        specs[i] = (wick_spec){NULL, wick_tensor_dtype(in[i].tensor), wick_tensor_rank(in[i].tensor), {0}};
        memcpy(specs[i].dims, wick_tensor_dims(in[i].tensor), (size_t)specs[i].rank * sizeof(int64_t));
    }
    if (keep) snprintf(folder, sizeof folder, "%.300s/%.100s", keep, name), mkdir(keep, 0777), mkdir(folder, 0777);
    else if (!mkdtemp(folder)) return;
    snprintf(path, sizeof path, "%s/model.onnx", folder);
    wick_status status = wick_onnx_resave(onnx, specs, path, &(wick_onnx_save_options){.opset = 21});
    if (status == WICK_ERR_UNSUPPORTED) {
        CHECK_MSG(strstr(wick_context_error(ctx), "or exported") || strstr(wick_context_error(ctx), "export: ONNX"),
                  "%s: %s", name, wick_context_error(ctx));
        wick_context_clear_error(ctx);
        refused++;
    } else {
        CHECK_MSG(status == WICK_OK, "%s, written again: %s", name, wick_context_error(ctx));
        if (status == WICK_OK) status = wick_onnx_open(ctx, path, NULL, &again);
        if (status == WICK_OK) status = wick_onnx_apply(again, in, out);
        CHECK_MSG(status == WICK_OK, "%s, written again: %s", name, wick_context_error(ctx));
        if (status == WICK_OK) compare(ctx, onnx, name, all, out), written++;
    }
    if (!keep) remove(path), rmdir(folder);
    for (int i = 0; i < n_in + n_out && keep && status == WICK_OK; i++) {
        if (i < n_in) snprintf(path, sizeof path, "%s/%s.npy", folder, wick_onnx_input(again, i).name);
        else snprintf(path, sizeof path, "%s/output_%d.npy", folder, i - n_in);
        /* a dtype that NumPy lacks */
        if (wick_npy_write(ctx, path, i < n_in ? in[i].tensor : out[i - n_in].tensor) != WICK_OK)
            wick_context_clear_error(ctx);
    }
    wick_onnx_free(&again);
}

static void run_model(const char *name, bool plain) {
    char model[512], data[512];
    wick_context *ctx;
    wick_onnx *onnx;
    wick_onnx_value all, in[PORTS], out[PORTS];
    snprintf(model, sizeof model, "%s/%.100s.onnx", FOLDER, name);
    snprintf(data, sizeof data, "%s/%.100s.pb", FOLDER, name);
    REQUIRE(wick_context_new(&(wick_context_options){.threads = 2, .eager = plain}, &ctx) == WICK_OK);
    wick_status status = wick_onnx_open(ctx, model, NULL, &onnx);
    if (status == WICK_OK)
        status = wick_onnx_read_value(onnx, &(wick_onnx_port){.kind = WICK_VALUE_SEQUENCE}, data, &all);
    CHECK_MSG(status == WICK_OK, "%s: %s", name, wick_context_error(ctx));
    for (int round = 0; round < 2 && status == WICK_OK; round++) { /* the second has what rows keep */
        const int n_in = wick_onnx_inputs(onnx), n_out = wick_onnx_outputs(onnx);
        wick_scope *scope = wick_scope_open(ctx);
        CHECK_MSG(n_in <= PORTS && n_out <= PORTS && (size_t)(n_in + n_out) == all.n,
                  "%s: %d inputs, %d outputs, %zu values", name, n_in, n_out, all.n);
        for (int i = 0; i < n_in; i++) in[i] = value_of(&all, i, wick_onnx_input(onnx, i).kind == WICK_VALUE_SEQUENCE);
        status = wick_onnx_apply(onnx, in, out);
        CHECK_MSG(status == WICK_OK, "%s: %s", name, wick_context_error(ctx));
        if (status == WICK_OK) status = compare(ctx, onnx, name, &all, out);
        if (status == WICK_OK && round && !plain)
            run_compiled(ctx, onnx, name, &all, in), run_written(ctx, onnx, name, &all, in);
        wick_scope_close(&scope);
    }
    wick_onnx_free(&onnx);
    wick_context_free(&ctx);
}

static const char *only = "";

TEST(models_give_what_onnx_runtime_gives) {
    char *names[MODELS];
    int n = 0;
    DIR *dir = opendir(FOLDER);
    REQUIRE(dir);
    for (struct dirent *e; (e = readdir(dir)) && n < MODELS;) {
        const char *end = strrchr(e->d_name, '.');
        if (end && !strcmp(end, ".onnx") && strstr(e->d_name, only))
            names[n++] = strndup(e->d_name, (size_t)(end - e->d_name));
    }
    closedir(dir);
    for (int i = 0; i < n; i++) {
        run_model(names[i], false);
        run_model(names[i], true);
        free(names[i]);
    }
    printf("  %d models, %d also as one plan, %d written again, %d that can't be\n", n, compiled, written, refused);
    CHECK(n > 0);
    if (!*only) CHECK(compiled > n / 2);
}

int main(int argc, char **argv) {
    if (argc > 1) only = argv[1];
    return test_main(1, argv);
}
