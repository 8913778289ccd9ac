/* wick compare: two files tensor by tensor, or the layers of a model beside what they gave elsewhere. */
#include "../train/classifier.h"
#include "compare_models.h"
#include "../options.h"
#include "../report/compare_runs.h"
#include "../paths.h"
#include "../term/log.h"
#include "../tuned.h"

#include "wick/compare.h"

#include <stdlib.h>
#include <string.h>

static const char *const kinds[] = {"same", "differs", "shape", "only in A", "only in B"}; /* by wick_difference_kind */
static const char *const counted[] = {"the same", "different", "of another shape", "only in A", "only in B"};

/* A number that -1 stands for the absence of. */
static double given(double value) { return value > 0 ? value : 0; }

static int compare_options(const cli_options *o, wick_compare_options *options) {
    const bool any = o->of_compare.tolerance >= 0 || o->rtol >= 0 || o->atol >= 0;
    const struct {
        const char *name;
        double value;
    } all[] = {{"tolerance", o->of_compare.tolerance}, {"rtol", o->rtol}, {"atol", o->atol}};
    for (int i = 0; i < 3; i++)
        if (all[i].value < 0 && all[i].value != -1)
            return log_fail(CLI_USAGE, "--%s %g is below 0", all[i].name, all[i].value);
    *options = (wick_compare_options){.tolerance = given(o->of_compare.tolerance),
                                      .rtol = given(o->rtol),
                                      .atol = given(o->atol),
                                      .pattern = *o->of_compare.only ? o->of_compare.only : NULL};
    options->exact = any && options->tolerance == 0 && options->rtol == 0 && options->atol == 0;
    return CLI_OK;
}

/* ---- what is found ----------------------------------------------------------------------------------------------- */

/* "f32 [2, 3]", or "-" where there is none. */
static void shape_text(const wick_spec *spec, char *text, size_t size) {
    if (spec->rank < 0) {
        snprintf(text, size, "-");
        return;
    }
    size_t n = (size_t)snprintf(text, size, "%s [", wick_dtype_name(spec->dtype));
    for (int d = 0; d < spec->rank && n < size; d++)
        n += (size_t)snprintf(text + n, size - n, "%s%lld", d ? ", " : "", (long long)spec->dims[d]);
    if (n < size) snprintf(text + n, size - n, "]");
}

static int64_t elements(const wick_spec *spec) {
    int64_t n = 1;
    for (int i = 0; i < spec->rank; i++) n *= spec->dims[i];
    return n;
}

/* A matrix that lies there the other way round: what a port forgets first. */
static bool is_transposed(const wick_difference *d) {
    return d->kind == WICK_OTHER_SHAPE && d->ours.rank == 2 && d->theirs.rank == 2 &&
           d->ours.dims[0] == d->theirs.dims[1] && d->ours.dims[1] == d->theirs.dims[0];
}

static int count_kind(const wick_comparison *c, wick_difference_kind kind) {
    int n = 0;
    for (int i = 0; i < wick_comparison_count(c); i++) n += wick_comparison_at(c, i).kind == kind;
    return n;
}

static void print_row(const wick_difference *d, int name, int shape) {
    char ours[224], theirs[224], count[64];
    shape_text(&d->ours, ours, sizeof ours);
    shape_text(&d->theirs, theirs, sizeof theirs);
    log_print("%-9s  %-*s  ", kinds[d->kind], name, d->name);
    switch (d->kind) {
    case WICK_ONLY_OURS: log_print("%s\n", ours); return;
    case WICK_ONLY_THEIRS: log_print("%s\n", theirs); return;
    case WICK_OTHER_SHAPE:
        log_print("%s in A, %s in B%s\n", ours, theirs, is_transposed(d) ? ": transposed?" : "");
        return;
    case WICK_SAME:
    case WICK_DIFFERS: break;
    }
    snprintf(count, sizeof count, "%lld of %lld", (long long)d->differing, (long long)elements(&d->ours));
    const bool dtypes = d->ours.dtype != d->theirs.dtype;
    log_print("%-*s  %18s  %9.3g  %9.3g", shape, ours, count, d->worst, d->relative);
    if (d->worst > 0) log_print("  %lld: %.9g, %.9g", (long long)d->element, d->our_value, d->their_value);
    log_print("%s%s\n", dtypes ? "  B is " : "", dtypes ? wick_dtype_name(d->theirs.dtype) : "");
}

static void print_table(const wick_comparison *c, const char *what) {
    const int count = wick_comparison_count(c), first = wick_comparison_first(c);
    char text[224];
    int name = 4, shape = 5;
    for (int i = 0; i < count; i++) {
        const wick_difference d = wick_comparison_at(c, i);
        shape_text(&d.ours, text, sizeof text);
        if ((int)strlen(d.name) > name) name = (int)strlen(d.name);
        if (d.kind <= WICK_DIFFERS && (int)strlen(text) > shape) shape = (int)strlen(text);
    }
    printf("%-9s  %-*s  %-*s  %18s  %9s  %9s  %s\n", "", name, what, shape, "shape", "differ", "most", "of max |B|",
           "at: A, B");
    for (int i = 0; i < count; i++) {
        const wick_difference d = wick_comparison_at(c, i);
        print_row(&d, name, shape);
    }
    printf("\n%d %s%s:", count, what, plural(count));
    for (int kind = 0, n = 0; kind < (int)(sizeof kinds / sizeof kinds[0]); kind++) {
        const int of = count_kind(c, (wick_difference_kind)kind);
        if (of) printf("%s %d %s", n++ ? "," : "", of, counted[kind]);
    }
    if (first >= 0) log_print("; the first is %s", wick_comparison_at(c, first).name);
    printf("\n");
}

static void json_spec(json *j, const char *key, const wick_spec *spec) {
    if (spec->rank < 0) {
        json_raw(j, key, "null");
        return;
    }
    json_open(j, key, '{');
    json_text(j, "dtype", wick_dtype_name(spec->dtype));
    json_open(j, "shape", '[');
    for (int d = 0; d < spec->rank; d++) json_integer(j, NULL, spec->dims[d]);
    json_close(j, ']');
    json_close(j, '}');
}

static void print_json(const wick_comparison *c, const char *what, bool same) {
    const int first = wick_comparison_first(c);
    json j = log_json_open();
    json_bool(&j, "ok", true);
    json_bool(&j, "same", same);
    json_text(&j, "first", first >= 0 ? wick_comparison_at(c, first).name : NULL);
    json_open(&j, what, '[');
    for (int i = 0; i < wick_comparison_count(c); i++) {
        const wick_difference d = wick_comparison_at(c, i);
        json_open(&j, NULL, '{');
        json_text(&j, "name", d.name);
        json_text(&j, "result", kinds[d.kind]);
        json_spec(&j, "a", &d.ours);
        json_spec(&j, "b", &d.theirs);
        if (d.kind <= WICK_DIFFERS) {
            json_integer(&j, "differing", d.differing);
            json_real(&j, "max_abs", d.worst, 17);
            json_real(&j, "max_rel", d.relative, 17);
            json_integer(&j, "element", d.element);
            json_real(&j, "value_a", d.our_value, 17);
            json_real(&j, "value_b", d.their_value, 17);
        }
        json_close(&j, '}');
    }
    json_close(&j, ']');
    log_json_close(&j);
}

/* ---- the two ways ------------------------------------------------------------------------------------------------ */

static wick_status compare_files(wick_context *ctx, const cli_options *o, const wick_compare_options *options,
                                 wick_comparison **c) {
    const char *names[2] = {o->model, o->files[0]};
    char *in_folder[2] = {NULL, NULL};
    for (int i = 0; i < 2; i++)
        if (path_is_folder(names[i])) names[i] = in_folder[i] = path_join(names[i], "best.safetensors");
    const wick_status status = wick_compare_files(ctx, names[0], names[1], options, c);
    for (int i = 0; i < 2; i++) free(in_folder[i]);
    return status;
}

static wick_status record(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx;
    out[0] = classifier_predictions(user, in[0]);
    return WICK_OK;
}

/* "input" of a file, as images of the model; the model `holder` keeps it. */
static int read_input(const classifier *c, wick_model *holder, const wick_checkpoint *file, const char *path,
                      wick_tensor **x) {
    int i = 0;
    while (i < wick_checkpoint_count(file) && strcmp(wick_checkpoint_tensor(file, i).name, "input") != 0) i++;
    if (i == wick_checkpoint_count(file))
        return log_fail(CLI_BAD_FILE, "%s has no tensor \"input\": what the layers' results are of", path);
    const wick_spec spec = wick_checkpoint_tensor(file, i);
    const int64_t n = elements(&spec);
    char shape[224];
    shape_text(&spec, shape, sizeof shape);
    if (spec.rank < 1 || n < 1 || n % c->pixels || spec.dims[0] != n / c->pixels)
        return log_fail(CLI_BAD_FILE, "%s: \"input\" is %s; the model takes %lld numbers an image", path, shape,
                        (long long)c->pixels);
    wick_tensor *state =
        wick_model_state(holder, "input", WICK_ROLE_BUFFER, WICK_F32, spec.rank, spec.dims, wick_init_constant(0));
    const char *text;
    wick_status status = wick_tensor_error(state, &text);
    if (status != WICK_OK) return log_fail(log_code(status, CLI_BAD_FILE), "%s: \"input\": %s", path, text);
    status = wick_checkpoint_load_some(file, holder, &(wick_load_options){.only = "input"}, NULL);
    if (status != WICK_OK) return log_fail(log_code(status, CLI_BAD_FILE), "%s: %s", path, log_why(c->ctx, status));
    int64_t dims[WICK_MAX_DIMS] = {spec.dims[0]};
    memcpy(dims + 1, c->dims, (size_t)c->rank * sizeof *dims);
    *x = wick_reshape(state, c->rank + 1, dims);
    return CLI_OK;
}

static int compare_layers(wick_context *ctx, const cli_options *o, const wick_compare_options *options,
                          wick_status *status, wick_comparison **comparison) {
    classifier c = {0};
    wick_model *holder = NULL;
    wick_checkpoint *file = NULL;
    wick_tensor *x = NULL;
    const char *path = o->files[0];
    int code = classifier_load(&c, ctx, o->model);
    *status = code == CLI_OK ? wick_checkpoint_open(ctx, path, &file) : WICK_OK;
    if (code == CLI_OK && *status == WICK_OK) *status = wick_model_new(ctx, &holder);
    if (code == CLI_OK && *status == WICK_OK) code = read_input(&c, holder, file, path, &x);
    if (code == CLI_OK && *status == WICK_OK)
        *status = wick_compare_layers(c.model, record, &c, &x, path, options, comparison);
    wick_checkpoint_free(&file);
    wick_model_free(&holder);
    classifier_free(&c);
    return code;
}

int cmd_compare(cli_options *o) {
    wick_compare_options options;
    wick_context *ctx;
    wick_comparison *c = NULL;
    wick_status status = WICK_OK;
    if (compare_is_of_models(o)) return compare_models(o);
    static const char *const of_models[] = {"data",   "separator",  "decimal",  "no-header",
                                            "layout", "image-size", "as-stored"};
    for (int i = 0; i < 7; i++)
        if (options_given(o, of_models[i]))
            return log_fail(CLI_USAGE, "--%s is for models beside each other, one of them an ONNX file", of_models[i]);
    if (*o->html) return compare_runs(o);
    const char *what = o->of_compare.layers ? "layer" : "tensor";
    if (o->n_files != 1)
        return log_fail(CLI_USAGE, o->n_files ? "takes two files, not %d" : "needs two files: A B", o->n_files + 1);
    int code = compare_options(o, &options);
    if (code != CLI_OK) return code;
    if (wick_context_new(&(wick_context_options){.tuning = tuned(), .threads = (int)o->threads}, &ctx) != WICK_OK)
        return log_fail(CLI_FAILED, "could not start: out of memory or threads");
    if (o->of_compare.layers)
        code = compare_layers(ctx, o, &options, &status, &c);
    else
        status = compare_files(ctx, o, &options, &c);
    if (code == CLI_OK && !c)
        code = log_fail(log_code(status, CLI_BAD_FILE), "%s", log_why(ctx, status));
    else if (code == CLI_OK && !wick_comparison_count(c))
        code = log_fail(CLI_USAGE, "%s", log_why(ctx, status)); /* nothing of those names */
    else if (code == CLI_OK) {
        if (o->json)
            print_json(c, o->of_compare.layers ? "layers" : "tensors", status == WICK_OK);
        else
            print_table(c, what);
        code = status == WICK_OK ? CLI_OK : CLI_DIFFERENT;
    }
    wick_comparison_free(&c);
    wick_context_free(&ctx);
    return code;
}
