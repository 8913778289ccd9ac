/* The ONNX back-end test suite (models/onnx-tests): every case that has inputs and outputs, at ONNX's own tolerance. "--list FILE" writes a line for each:
 * passed, failed, unsupported or error, its name and why. Cases that don't pass are all named in onnx_known.txt, with the reason: one that is not named there, and
 * one that is named and passes, fails this test. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "wick/wick.h"

enum { PATH_MAX_ = 4096, PORTS = 64 };
typedef enum verdict { PASSED, FAILED, UNSUPPORTED, ERROR, VERDICTS } verdict;
static const char *const verdicts[] = {"passed", "failed", "unsupported", "error"};

static bool exists(const char *path) { return access(path, R_OK) == 0; }

static verdict judge(wick_status status) { return status == WICK_OK ? PASSED : status == WICK_ERR_MISMATCH ? FAILED : status == WICK_ERR_UNSUPPORTED ? UNSUPPORTED : ERROR; }

/* Folders are longer than no path of this test. */
static wick_status run_set(wick_context *ctx, wick_onnx *onnx, const char *folder, double rtol, double atol, bool *compared) {
    wick_onnx_value in[PORTS], out[PORTS];
    const int n_in = wick_onnx_inputs(onnx), n_out = wick_onnx_outputs(onnx);
    char path[2 * PATH_MAX_];
    if (n_in > PORTS || n_out > PORTS) return wick_context_fail(ctx, WICK_ERR_UNSUPPORTED, "too many inputs or outputs for this test");
    memset(in, 0, sizeof in);
    wick_status status = WICK_OK;
    for (int i = 0; i < n_in && status == WICK_OK; i++) {
        const wick_onnx_port port = wick_onnx_input(onnx, i);
        snprintf(path, sizeof path, "%.4000s/input_%d.pb", folder, i);
        if (exists(path)) status = wick_onnx_read_value(onnx, &port, path, &in[i]);
    }
    if (status == WICK_OK) status = wick_onnx_apply(onnx, in, out);
    wick_tensor *tensors[PORTS];
    int n_tensors = 0;
    for (int i = 0; i < n_out && status == WICK_OK; i++)
        if (out[i].kind == WICK_VALUE_TENSOR) tensors[n_tensors++] = out[i].tensor;
    if (status == WICK_OK) status = wick_eval(ctx, n_tensors, tensors, NULL); /* in one plan: gradients go through what is asked for too */
    for (int i = 0; i < n_out && status == WICK_OK; i++) {
        const wick_onnx_port port = wick_onnx_output(onnx, i);
        wick_onnx_value want;
        snprintf(path, sizeof path, "%.4000s/output_%d.pb", folder, i);
        if (!exists(path)) continue;
        status = wick_onnx_read_value(onnx, &port, path, &want);
        if (status == WICK_OK) status = wick_onnx_value_compare(ctx, &out[i], &want, rtol, atol);
        *compared = true;
        if (status != WICK_OK) {
            char text[1024];
            snprintf(text, sizeof text, "%s", wick_context_error(ctx));
            return wick_context_fail(ctx, status, "output %d (%s): %s", i, port.name, text);
        }
    }
    return status;
}

static verdict run_case(const char *folder, bool plain, double rtol, double atol, char why[1024]) {
    char path[2 * PATH_MAX_];
    wick_context *ctx;
    wick_onnx *onnx;
    const wick_context_options options = {.threads = 1, .eager = plain};
    if (wick_context_new(&ctx, &options) != WICK_OK) return ERROR;
    snprintf(path, sizeof path, "%.4000s/model.onnx", folder);
    wick_status status = wick_onnx_open(ctx, path, NULL, &onnx);
    bool compared = false;
    for (int set = 0; status == WICK_OK; set++) {
        snprintf(path, sizeof path, "%.4000s/test_data_set_%d", folder, set);
        if (!exists(path)) break;
        wick_scope *scope = wick_scope_open(ctx);
        status = run_set(ctx, onnx, path, rtol, atol, &compared);
        wick_scope_close(&scope);
    }
    snprintf(why, 1024, "%s", status == WICK_OK ? compared ? "" : "nothing to compare" : wick_context_error(ctx));
    if (status == WICK_OK && !compared) status = WICK_ERR_UNSUPPORTED;
    wick_onnx_free(&onnx);
    wick_context_free(&ctx);
    return judge(status);
}

static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

int main(int argc, char **argv) {
    const bool plain = argc > 1 && !strcmp(argv[1], "--plain");
    int counts[VERDICTS] = {0};
    for (int k = 1 + plain; k < argc; k++) {
        DIR *dir = opendir(argv[k]);
        char **names = NULL;
        size_t n = 0;
        for (struct dirent *e; dir && (e = readdir(dir));) {
            char path[2 * PATH_MAX_];
            snprintf(path, sizeof path, "%s/%s/model.onnx", argv[k], e->d_name);
            if (e->d_name[0] == '.' || !exists(path)) continue;
            names = realloc(names, (n + 1) * sizeof *names);
            names[n++] = strdup(e->d_name);
        }
        if (dir) closedir(dir);
        if (n) qsort(names, n, sizeof *names, by_name);
        for (size_t i = 0; i < n; i++) {
            char path[2 * PATH_MAX_], why[1024];
            snprintf(path, sizeof path, "%s/%s", argv[k], names[i]);
            const verdict v = run_case(path, plain, 1e-3, 1e-7, why);
            counts[v]++;
            printf("%s %s%s%s\n", verdicts[v], names[i], *why ? ": " : "", why);
            fflush(stdout);
            free(names[i]);
        }
        free(names);
    }
    for (int i = 0; i < VERDICTS; i++) fprintf(stderr, "%s %d\n", verdicts[i], counts[i]);
    return 0;
}
