/* The ONNX back-end suite: every case at its own tolerance, optimised and with passes off. What does not pass is named
 * in onnx_known.txt with the reason. A case that fails and is not named there, and one that is named and passes, fails
 * this test.
 *
 * "FOLDER [ATOL]" instead prints a line for each case in a folder: passed, failed, unsupported or error, its name, and
 * why. "--page FILE" writes docs/onnx-conformance.md. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "wick/wick.h"

enum { PORTS = 64, CASES = 4096, WHY = 1024, NAME = 256, PATH = 2048 };
typedef enum verdict { PASSED, FAILED, UNSUPPORTED, ERROR, VERDICTS } verdict;
static const char *const verdicts[] = {"passed", "failed", "unsupported", "error"};

static bool exists(const char *path) { return access(path, R_OK) == 0; }
static verdict judge(wick_status status) {
    return status == WICK_OK                ? PASSED
           : status == WICK_ERR_MISMATCH    ? FAILED
           : status == WICK_ERR_UNSUPPORTED ? UNSUPPORTED
                                            : ERROR;
}

/* ---- one case ---------------------------------------------------------------------------------------------------- */

typedef struct tolerance {
    double rtol, atol;
} tolerance;

static wick_status compare(wick_context *ctx, wick_onnx *onnx, int n_out, const wick_onnx_value *out, const char *stem,
                           const tolerance *tol, int *compared) {
    for (int i = 0; i < n_out; i++) {
        const wick_onnx_port port = wick_onnx_output(onnx, i);
        wick_onnx_value want;
        char path[PATH + NAME];
        snprintf(path, sizeof path, "%s%d.pb", stem, i);
        if (!exists(path)) continue;
        wick_status status = wick_onnx_read_value(onnx, &port, path, &want);
        if (status == WICK_OK) status = wick_onnx_value_compare(ctx, &out[i], &want, tol->rtol, tol->atol);
        ++*compared;
        if (status == WICK_OK) continue;
        char text[WHY];
        snprintf(text, sizeof text, "%s", wick_context_error(ctx));
        return wick_context_fail(ctx, status, "output %d (%s): %s", i, port.name, text);
    }
    return WICK_OK;
}

/* What ONNX's runner feeds the light models: 0, 1/n, 2/n ... */
static wick_tensor *ramp(wick_context *ctx, const wick_onnx_port *port) {
    int64_t dims[WICK_MAX_DIMS], n = 1;
    for (int i = 0; i < port->rank; i++) n *= dims[i] = port->dims[i] > 0 ? port->dims[i] : 1;
    wick_tensor *x = wick_div(wick_arange(ctx, WICK_F64, 0, 1, n), wick_constant(ctx, WICK_F64, (double)n));
    return wick_reshape(wick_cast(x, WICK_F32), port->rank, dims);
}

static int compiled_sets, not_compiled_sets;

/* The same as one plan, run in a workspace. Models whose sizes depend on values have none. */
static wick_status run_compiled(wick_context *ctx, wick_onnx *onnx, const wick_onnx_value *in, const char *out_stem,
                                const tolerance *tol) {
    const int n_in = wick_onnx_inputs(onnx), n_out = wick_onnx_outputs(onnx);
    wick_spec specs[PORTS] = {{0}};
    const void *data[PORTS];
    void *results[PORTS] = {0};
    wick_onnx_value out[PORTS];
    wick_plan *plan;
    wick_workspace *ws = NULL;
    int compared = 0;
    for (int i = 0; i < n_in; i++) {
        if (in[i].kind != WICK_VALUE_TENSOR) return WICK_OK; /* an input that is left out, or lives on the host */
        specs[i].dtype = wick_tensor_dtype(in[i].tensor);
        specs[i].rank = wick_tensor_rank(in[i].tensor);
        memcpy(specs[i].dims, wick_tensor_dims(in[i].tensor), (size_t)specs[i].rank * sizeof(int64_t));
        if (wick_data(in[i].tensor, &data[i]) != WICK_OK) return wick_context_status(ctx);
    }
    wick_status status = wick_onnx_compile(onnx, specs, NULL, &plan);
    if (status == WICK_ERR_UNSUPPORTED) return not_compiled_sets++, wick_context_clear_error(ctx), WICK_OK;
    if (status == WICK_OK) status = wick_workspace_new(plan, &ws);
    for (int i = 0; i < n_out && status == WICK_OK; i++) {
        const wick_spec spec = wick_plan_output(plan, i);
        int64_t n = 1;
        for (int d = 0; d < spec.rank; d++) n *= spec.dims[d];
        results[i] = calloc(1, wick_dtype_bytes(spec.dtype, n) + 1);
    }
    if (status == WICK_OK && wick_run(ws, data, results) != WICK_OK)
        status = wick_context_fail(ctx, WICK_ERR_INTERNAL, "as one plan: %s", wick_workspace_error(ws));
    for (int i = 0; i < n_out && status == WICK_OK; i++) {
        const wick_spec spec = wick_plan_output(plan, i);
        out[i] = (wick_onnx_value){.kind = WICK_VALUE_TENSOR,
                                   .tensor = wick_from(ctx, spec.dtype, spec.rank, spec.dims, results[i])};
    }
    if (status == WICK_OK) status = compare(ctx, onnx, n_out, out, out_stem, tol, &compared);
    for (int i = 0; i < n_out; i++) free(results[i]);
    wick_workspace_free(&ws);
    wick_plan_free(&plan);
    return compiled_sets++, status;
}

/* Inputs and outputs lie at in_stem and out_stem, "FOLDER/input_" before their numbers; in_stem NULL: a ramp. */
static wick_status run_set(wick_context *ctx, wick_onnx *onnx, const char *in_stem, const char *out_stem,
                           const tolerance *tol, int *compared) {
    wick_onnx_value in[PORTS], out[PORTS];
    const int n_in = wick_onnx_inputs(onnx), n_out = wick_onnx_outputs(onnx);
    if (n_in > PORTS || n_out > PORTS)
        return wick_context_fail(ctx, WICK_ERR_INVALID, "too many inputs or outputs for this test");
    memset(in, 0, sizeof in);
    wick_status status = WICK_OK;
    for (int i = 0; i < n_in && status == WICK_OK; i++) {
        const wick_onnx_port port = wick_onnx_input(onnx, i);
        char path[PATH + NAME];
        snprintf(path, sizeof path, "%s%d.pb", in_stem ? in_stem : "", i);
        if (!in_stem) in[i] = (wick_onnx_value){.kind = WICK_VALUE_TENSOR, .tensor = ramp(ctx, &port)};
        else if (exists(path)) status = wick_onnx_read_value(onnx, &port, path, &in[i]);
    }
    if (status == WICK_OK) status = wick_onnx_apply(onnx, in, out);
    wick_tensor *tensors[PORTS];
    int n = 0;
    for (int i = 0; i < n_out && status == WICK_OK; i++)
        if (out[i].kind == WICK_VALUE_TENSOR) tensors[n++] = out[i].tensor;
    /* in one plan: gradients go through what is asked for too */
    if (status == WICK_OK) status = wick_eval(ctx, n, tensors, NULL);
    if (status == WICK_OK) status = compare(ctx, onnx, n_out, out, out_stem, tol, compared);
    return status == WICK_OK ? run_compiled(ctx, onnx, in, out_stem, tol) : status;
}

static verdict run_case(const char *model, const char *folder, bool plain, const tolerance *tol, char why[WHY]) {
    wick_context *ctx;
    wick_onnx *onnx;
    int compared = 0;
    if (wick_context_new(&(wick_context_options){.threads = 1, .eager = plain}, &ctx) != WICK_OK) return ERROR;
    wick_status status = wick_onnx_open(ctx, model, NULL, &onnx);
    for (int set = 0; status == WICK_OK; set++) {
        char in[PATH], out[PATH];
        if (folder) {
            snprintf(out, sizeof out, "%.1900s/test_data_set_%d", folder, set);
            if (!exists(out)) break;
            snprintf(in, sizeof in, "%.1900s/test_data_set_%d/input_", folder, set);
            snprintf(out, sizeof out, "%.1900s/test_data_set_%d/output_", folder, set);
        } else /* light_x.onnx has light_x_output_0.pb */
            snprintf(out, sizeof out, "%.*s_output_", (int)strlen(model) - 5, model);
        wick_scope *scope = wick_scope_open(ctx);
        status = run_set(ctx, onnx, folder ? in : NULL, out, tol, &compared);
        wick_scope_close(&scope);
        if (!folder) break;
    }
    snprintf(why, WHY, "%s", status != WICK_OK ? wick_context_error(ctx) : compared ? "" : "nothing to compare with");
    wick_onnx_free(&onnx);
    wick_context_free(&ctx);
    return status == WICK_OK && !compared ? ERROR : judge(status);
}

/* ---- folders of cases -------------------------------------------------------------------------------------------- */

typedef struct result {
    char name[NAME], why[WHY];
    verdict optimised, plain;
} result;
static result results[CASES];
static int n_results;

static int by_name(const void *a, const void *b) {
    return strcmp(((const result *)a)->name, ((const result *)b)->name);
}
static bool ends(const char *s, const char *with) {
    return strlen(s) > strlen(with) && !strcmp(s + strlen(s) - strlen(with), with);
}

/* Runs every FOLDER/CASE/model.onnx, and every FOLDER/light_CASE.onnx. Returns the first result. */
static int run_folder(const char *folder, double atol, bool both) {
    const int first = n_results;
    DIR *dir = opendir(folder);
    for (struct dirent *e; dir && (e = readdir(dir)) && n_results < CASES;) {
        char path[PATH];
        snprintf(path, sizeof path, "%.1500s/%s/model.onnx", folder, e->d_name);
        if (e->d_name[0] == '.' || (!exists(path) && !ends(e->d_name, ".onnx"))) continue;
        snprintf(results[n_results++].name, NAME, "%s", e->d_name);
    }
    if (dir) closedir(dir);
    qsort(results + first, (size_t)(n_results - first), sizeof *results, by_name);
    for (int i = first; i < n_results; i++) {
        result *r = &results[i];
        char model[PATH], data[PATH];
        const bool light = ends(r->name, ".onnx");
        snprintf(data, sizeof data, "%.1500s/%.255s", folder, r->name);
        snprintf(model, sizeof model, light ? "%.1900s" : "%.1900s/model.onnx", data);
        const tolerance tol = {strstr(r->name, "densenet121") ? 2e-3 : 1e-3, atol}; /* data.json of that case */
        char why[WHY];
        r->optimised = run_case(model, light ? NULL : data, false, &tol, r->why);
        r->plain = both ? run_case(model, light ? NULL : data, true, &tol, why) : r->optimised;
        if (r->plain != PASSED && r->optimised == PASSED) snprintf(r->why, WHY, "%.900s", why);
    }
    return first;
}

/* ---- known ones: "name: reason" a line --------------------------------------------------------------------------- */

static char *known_text;
static const char *known(const char *name) {
    static char reason[WHY];
    const size_t n = strlen(name);
    for (const char *line = known_text; line && *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
        if (!strncmp(line, name, n) && line[n] == ':') {
            snprintf(reason, sizeof reason, "%.*s", (int)strcspn(line + n + 2, "\n"), line + n + 2);
            return reason;
        }
    return NULL;
}

static void read_known(void) {
    FILE *f = fopen(WICK_SOURCE_DIR "/tests/io/onnx_known.txt", "rb");
    known_text = calloc(1, 1 << 16);
    if (f && known_text && fread(known_text, 1, (1 << 16) - 1, f) == 0) known_text[0] = 0;
    if (f) fclose(f);
}

static const struct {
    const char *folder, *what;
    double atol;
} suites[] = {{"onnx-tests/node", "node", 1e-7},
              {"onnx-tests/simple", "simple", 1e-7},
              {"onnx-tests/light", "light", 1e-7},
              {"onnx-tests/pytorch-converted", "pytorch-converted", 1e-7},
              {"onnx-tests/pytorch-operator", "pytorch-operator", 1e-7}};

static void write_page(FILE *f, const int *starts) {
    fprintf(f, "# ONNX conformance\n\nThe ONNX back-end test suite at its own tolerance (rtol 1e-3, atol 1e-7; "
               "densenet121 2e-3), shapes and dtypes "
               "equal. Every case runs optimised and with passes off; a case counts as passed if both do. Written by "
               "`test_io_onnx_suite "
               "--page`, and checked by the test of that "
               "name. Real models have [a page of their own](onnx-models.md).\n\n| suite | cases | passed | failed | "
               "unsupported | error |\n|---|---|---|---|---|---|\n");
    int all[VERDICTS + 1] = {0};
    const int n_suites = (int)(sizeof suites / sizeof suites[0]);
    for (int s = 0; s <= n_suites; s++) {
        int counts[VERDICTS + 1] = {0};
        for (int i = s < n_suites ? starts[s] : 0; s < n_suites && i < starts[s + 1]; i++) {
            const verdict v = results[i].optimised != PASSED ? results[i].optimised : results[i].plain;
            counts[v]++, counts[VERDICTS]++;
            all[v]++, all[VERDICTS]++;
        }
        const int *c = s < n_suites ? counts : all;
        fprintf(f, "| %s | %d | %d | %d | %d | %d |\n", s < n_suites ? suites[s].what : "suite in all", c[VERDICTS],
                c[PASSED], c[FAILED], c[UNSUPPORTED], c[ERROR]);
    }
    fprintf(f, "\n%.1f %% of the suite pass. What does not, and why:\n\n| case | verdict | reason |\n|---|---|---|\n",
            100.0 * all[PASSED] / all[VERDICTS]);
    for (int i = 0; i < n_results; i++) {
        const verdict v = results[i].optimised != PASSED ? results[i].optimised : results[i].plain;
        const char *why = known(results[i].name);
        if (v != PASSED) fprintf(f, "| %s | %s | %s |\n", results[i].name, verdicts[v], why ? why : results[i].why);
    }
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "--page")) {
        run_folder(argv[1], argc > 2 ? atof(argv[2]) : 1e-7, false);
        for (int i = 0; i < n_results; i++)
            printf("%s %s%s%s\n", verdicts[results[i].optimised], results[i].name, *results[i].why ? ": " : "",
                   results[i].why);
        return 0;
    }
    const char *models = getenv("WICK_MODELS");
    if (!models) {
        printf("skipped: WICK_MODELS names no folder of models\n");
        return 0;
    }
    int starts[sizeof suites / sizeof suites[0] + 1], bad = 0;
    for (size_t s = 0; s < sizeof suites / sizeof suites[0]; s++) {
        char folder[PATH];
        snprintf(folder, sizeof folder, "%.1500s/%s", models, suites[s].folder);
        starts[s] = run_folder(folder, suites[s].atol, true);
    }
    starts[sizeof suites / sizeof suites[0]] = n_results;
    read_known();
    int counts[VERDICTS] = {0};
    for (int i = 0; i < n_results; i++) {
        const result *r = &results[i];
        const verdict v = r->optimised != PASSED ? r->optimised : r->plain;
        const char *reason = known(r->name);
        counts[v]++;
        if (v != PASSED && !reason)
            printf("  %s %s%s: %s\n", verdicts[v], r->name,
                   r->plain == r->optimised ? "" : " (one of optimised and plain)", r->why);
        if (v == PASSED && reason) printf("  %s passes, but is named in onnx_known.txt\n", r->name);
        bad += (v == PASSED) == (reason != NULL);
    }
    if (argc > 2) {
        FILE *f = fopen(argv[2], "wb");
        if (f) write_page(f, starts);
        if (!f || fclose(f)) return 1;
    }
    free(known_text);
    printf("%d cases: %d passed, %d failed, %d unsupported, %d error; %d unexpected. %d sets of data also as one plan, "
           "of %d\n",
           n_results, counts[PASSED], counts[FAILED], counts[UNSUPPORTED], counts[ERROR], bad, compiled_sets,
           compiled_sets + not_compiled_sets);
    return bad || !n_results;
}
