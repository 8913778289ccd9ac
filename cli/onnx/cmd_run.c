/* wick run: an ONNX model on inputs from files, over one step or a sequence. */
#include "../budget.h"
#include "../file_types.h"
#include "labels.h"
#include "../options.h"
#include "../paths.h"
#include "../profiling.h"
#include "ports.h"
#include "runner.h"
#include "../term/log.h"
#include "../context.h"
#include "values.h"

#include "wick/io.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int runner_failed(const runner *r, wick_status status) {
    return log_fail(log_code(status, CLI_BAD_FILE), "%s", log_why(r->ctx, status));
}

void runner_progress(runner *r, const char *what, int64_t step, int64_t steps) {
    enum { PAUSE = 2 }; /* seconds */
    const double now = now_seconds();
    if (r->said == 0) r->said = now;
    if (now - r->said < PAUSE) return;
    r->said = now;
    if (steps > 0)
        log_note("%s: %lld of %lld", what, (long long)step, (long long)steps);
    else
        log_note("%s: %lld", what, (long long)step);
}

/* ---- steps ------------------------------------------------------------------------------------------------------- */

int runner_feed_one(runner *r, int i, int64_t step) {
    const wick_onnx_port port = wick_onnx_input(r->onnx, i);
    const feed *f = &r->feeds[i];
    char text[256];
    wick_status status = WICK_OK;
    r->in[i] = (wick_onnx_value){.kind = WICK_VALUE_TENSOR, .tensor = r->carried[i]};
    if (r->carried[i]) {
        status = runner_learn(r, i, &r->in[i], false);
    } else if (f->steps) {
        status = feed_at(r->o, r->ctx, r->onnx, &port, f, step, &r->in[i]);
        if (status == WICK_OK) status = runner_learn(r, i, &r->in[i], false);
    } else if (r->back[i] >= 0) {
        status = feed_read(&r->filled, r->ctx, r->onnx, &port, "0", &r->in[i]); /* a state begins with zeros */
    } else if (port.optional) {
        r->in[i] = (wick_onnx_value){0};
    } else if (!r->others) {
        return log_fail(CLI_USAGE, "the input %s, %s, is missing: --input %s=FILE, or --input random", port.name,
                        port_type(&port, text, sizeof text), port.name);
    } else if (port.kind != WICK_VALUE_TENSOR) {
        return log_fail(CLI_USAGE, "the input %s, %s, has no random values", port.name,
                        port_type(&port, text, sizeof text));
    } else {
        status = feed_read(&r->filled, r->ctx, r->onnx, &port, "random", &r->in[i]);
    }
    return status == WICK_OK ? CLI_OK : feed_failed(r->ctx, status);
}

int runner_feed(runner *r, int64_t step) {
    const int known = r->n_said;
    int code = CLI_OK;
    for (int later = 0; later < 2; later++) /* what is given, then chance and zeros, which have its extents */
        for (int i = 0; i < r->n_in && code == CLI_OK; i++)
            if ((!r->feeds[i].steps && !r->carried[i]) == later) code = runner_feed_one(r, i, step);
    runner_unlearn(r, known);
    const wick_status status = code == CLI_OK ? runner_hold(r) : WICK_OK;
    return status == WICK_OK ? code : log_fail(log_code(status, CLI_USAGE), "%s", log_why(r->ctx, status));
}

wick_status runner_step(runner *r) {
    wick_status status = wick_onnx_apply(r->onnx, r->in, r->out);
    wick_tensor **tensors = malloc(((size_t)r->n_out + 1) * sizeof(wick_tensor *));
    int n = 0;
    for (int i = 0; i < r->n_out && status == WICK_OK && tensors; i++)
        if (r->out[i].kind == WICK_VALUE_TENSOR) tensors[n++] = r->out[i].tensor;
    if (status == WICK_OK) status = tensors ? wick_eval(r->ctx, n, tensors, NULL) : WICK_ERR_NOMEM;
    free(tensors);
    return status;
}

wick_status runner_carry(runner *r) {
    for (int i = 0; i < r->n_in; i++) {
        if (r->back[i] < 0) continue;
        const wick_onnx_value *v = &r->out[r->back[i]];
        if (v->kind != WICK_VALUE_TENSOR)
            return wick_context_fail(r->ctx, WICK_ERR_INVALID, "--state: the output %s is no tensor of numbers",
                                     wick_onnx_output(r->onnx, r->back[i]).name);
        wick_tensor *old = r->carried[i];
        r->carried[i] = wick_retain(v->tensor);
        wick_tensor_free(&old);
    }
    return WICK_OK;
}

void runner_forget(runner *r) {
    for (int i = 0; i < r->n_in && r->carried; i++) wick_tensor_free(&r->carried[i]);
}

/* ---- --state ----------------------------------------------------------------------------------------------------- */

static const char *output_name(int i, const void *user) { return wick_onnx_output(user, i).name; }
static const char *input_name(int i, const void *user) { return wick_onnx_input(user, i).name; }

static int find_port(const runner *r, bool input, const char *name) {
    const int n = input ? r->n_in : r->n_out;
    const char *(*name_of)(int, const void *) = input ? input_name : output_name;
    for (int i = 0; i < n; i++)
        if (strcmp(name_of(i, r->onnx), name) == 0) return i;
    const char *near = nearest_name(name, n, name_of, r->onnx);
    log_fail(CLI_USAGE,
             near ? "--state: the model has no %s \"%s\"; did you mean %s?"
                  : "--state: the model has no %s \"%s\"; one is %s",
             input ? "input" : "output", name,
             near ? near
             : n  ? name_of(0, r->onnx)
                  : "none");
    return -1;
}

static int read_states(runner *r) {
    for (int i = 0; i < r->n_in; i++) r->back[i] = -1;
    for (int i = 0; i < r->n_out; i++) r->forward[i] = -1;
    for (int k = 0; k < r->o->of_run.states.n; k++) {
        char name[512];
        const char *item = r->o->of_run.states.items[k], *equals = strchr(item, '=');
        /* Names may have = too: the first one behind which an input's name ends, or else the first. */
        for (const char *e = equals; e; e = strchr(e + 1, '='))
            for (int i = 0; i < r->n_in; i++)
                if (strlen(input_name(i, r->onnx)) == (size_t)(e - item) &&
                    memcmp(input_name(i, r->onnx), item, (size_t)(e - item)) == 0)
                    equals = e;
        if (!equals)
            return log_fail(CLI_USAGE,
                            "--state \"%s\" is not IN=OUT: the input that takes the output of the step before", item);
        snprintf(name, sizeof name, "%.*s", (int)(equals - item), item);
        const int in = find_port(r, true, name), out = in < 0 ? -1 : find_port(r, false, equals + 1);
        if (out < 0) return CLI_USAGE;
        if (r->back[in] >= 0)
            return log_fail(CLI_USAGE, "--state %s: the input %s has a state already, from %s", item, name,
                            output_name(r->back[in], r->onnx));
        r->back[in] = out, r->forward[out] = in, r->n_states++;
    }
    return CLI_OK;
}

/* ---- a sequence -------------------------------------------------------------------------------------------------- */

/* An output of all steps. Of a state only the last counts. */
typedef struct track {
    wick_dtype dtype;
    int rank;
    int64_t dims[WICK_MAX_DIMS];
    char *data;
    size_t bytes, each; /* room, and of a step */
} track;

static wick_status keep(runner *r, track *t, int i, int64_t step, int64_t steps) {
    const wick_onnx_value *v = &r->out[i];
    const wick_onnx_port port = wick_onnx_output(r->onnx, i);
    if (r->forward[i] >= 0) return WICK_OK;
    if (v->kind != WICK_VALUE_TENSOR)
        return wick_context_fail(r->ctx, WICK_ERR_UNSUPPORTED,
                                 "the output %s is no tensor of numbers: a sequence of them can't be shown", port.name);
    const int rank = wick_tensor_rank(v->tensor);
    const int64_t *dims = wick_tensor_dims(v->tensor);
    if (!step) {
        *t = (track){.dtype = wick_tensor_dtype(v->tensor), .rank = rank};
        memcpy(t->dims, dims, (size_t)rank * sizeof *dims);
        t->each = wick_dtype_bytes(t->dtype, wick_tensor_count(v->tensor));
        if (rank == WICK_MAX_DIMS)
            return wick_context_fail(r->ctx, WICK_ERR_UNSUPPORTED, "the output %s has too many dims to be stacked",
                                     port.name);
        if (__builtin_mul_overflow(t->each, (size_t)steps, &t->bytes) || !(t->data = malloc(t->bytes + 1)))
            return WICK_ERR_NOMEM;
    }
    if (rank != t->rank || memcmp(dims, t->dims, (size_t)rank * sizeof *dims) != 0 ||
        wick_tensor_dtype(v->tensor) != t->dtype) {
        char was[256], is[256];
        return wick_context_fail(r->ctx, WICK_ERR_MISMATCH, "the output %s was %s, and is %s at step %lld", port.name,
                                 spec_text(t->dtype, t->rank, t->dims, was, sizeof was),
                                 spec_text(wick_tensor_dtype(v->tensor), rank, dims, is, sizeof is), (long long)step);
    }
    return wick_read(v->tensor, t->data + (size_t)step * t->each, t->each);
}

/* out: outputs along a first axis of steps, and the last states. */
static int run_sequence(runner *r, int64_t steps) {
    track *tracks = calloc((size_t)r->n_out + 1, sizeof *tracks);
    int code = tracks ? CLI_OK : log_fail(CLI_FAILED, "out of memory");
    for (int64_t step = 0; step < steps && code == CLI_OK; step++) {
        wick_scope *scope = wick_scope_open(r->ctx);
        wick_status status = WICK_OK;
        if ((code = runner_feed(r, step)) == CLI_OK) status = runner_step(r);
        for (int i = 0; i < r->n_out && code == CLI_OK && status == WICK_OK; i++)
            status = keep(r, &tracks[i], i, step, steps);
        if (code == CLI_OK && status == WICK_OK) status = runner_carry(r);
        wick_scope_close(&scope);
        if (status != WICK_OK && code == CLI_OK) code = runner_failed(r, status);
        runner_progress(r, "step", step + 1, steps);
    }
    for (int i = 0; i < r->n_out && code == CLI_OK; i++) {
        track *t = &tracks[i];
        r->out[i] = (wick_onnx_value){.kind = WICK_VALUE_TENSOR,
                                      .tensor = r->forward[i] >= 0 ? r->carried[r->forward[i]] : NULL};
        if (r->out[i].tensor) continue;
        int64_t dims[WICK_MAX_DIMS] = {steps};
        memcpy(dims + 1, t->dims, (size_t)t->rank * sizeof *dims);
        r->out[i].tensor = wick_from(r->ctx, t->dtype, t->rank + 1, dims, t->data);
        const wick_status status = wick_eval(r->ctx, 1, &r->out[i].tensor, NULL);
        if (status != WICK_OK) code = runner_failed(r, status);
    }
    for (int i = 0; tracks && i < r->n_out; i++) free(tracks[i].data);
    free(tracks);
    return code;
}

/* How many steps --input gives; an exit code. */
static int count_steps(const runner *r, int64_t *steps) {
    const char *longest = NULL;
    *steps = 1;
    for (int i = 0; i < r->n_in; i++) {
        const feed *f = &r->feeds[i];
        const char *name = wick_onnx_input(r->onnx, i).name;
        if (r->back[i] >= 0 && f->steps > 1)
            return log_fail(CLI_USAGE, "the input %s is a state: --input gives it one value, to begin with", name);
        if (f->steps <= 1) continue;
        if (longest && f->steps != *steps)
            return log_fail(CLI_USAGE, "the input %s has %lld steps, and %s has %lld", name, (long long)f->steps,
                            longest, (long long)*steps);
        *steps = f->steps;
        longest = name;
    }
    return CLI_OK;
}

/* ---- showing ----------------------------------------------------------------------------------------------------- */

/* The file of output i: its name where that can be a file's; names that would meet get numbers. names: of those before.
 */
static void name_output(const char *port, char (*names)[256], int i) {
    char *name = names[i];
    snprintf(name, 230, "%s", *port && *port != '.' ? port : "output");
    for (char *c = name; *c; c++)
        if (*c == '/' || (unsigned char)*c < 33) *c = '_';
    const size_t n = strlen(name);
    for (int k = 0, number = i; k < i; k++)
        if (strcmp(names[k], name) == 0) snprintf(name + n, 256 - n, "_%d", number++), k = -1;
}

/* Maps, and sequences, as NumPy has none. */
static wick_status write_json(runner *r, const char *path, const wick_onnx_value *v) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out) return WICK_ERR_NOMEM;
    json j = {.out = out};
    wick_status status = value_json(&j, NULL, v);
    fputc('\n', out);
    if (fclose(out) != 0) status = WICK_ERR_NOMEM;
    if (status == WICK_OK) status = wick_file_write(r->ctx, path, text, size);
    free(text);
    return status;
}

static int write_outputs(runner *r) {
    if (!path_make_folder(r->o->of_run.output))
        return log_fail(CLI_FAILED, "%s: cannot make the folder: %s", r->o->of_run.output, strerror(errno));
    char (*names)[256] = calloc((size_t)r->n_out + 1, sizeof *names);
    if (!names) return log_fail(CLI_FAILED, "out of memory");
    int code = CLI_OK;
    for (int i = 0; i < r->n_out && code == CLI_OK; i++) {
        const wick_onnx_port port = wick_onnx_output(r->onnx, i);
        const wick_onnx_value *v = &r->out[i];
        const bool array = v->kind == WICK_VALUE_TENSOR || v->kind == WICK_VALUE_STRINGS;
        char path[4096];
        name_output(port.name, names, i);
        snprintf(path, sizeof path, "%.3800s/%s.%s", r->o->of_run.output, names[i], array ? "npy" : "json");
        const wick_status status = v->kind == WICK_VALUE_TENSOR    ? wick_npy_write(r->ctx, path, v->tensor)
                                   : v->kind == WICK_VALUE_STRINGS ? wick_onnx_write_texts(r->ctx, v, path)
                                                                   : write_json(r, path, v);
        if (status != WICK_OK) code = log_fail(log_code(status, CLI_FAILED), "%s", log_why(r->ctx, status));
        else
            log_note("wrote %s", path);
    }
    free(names);
    return code;
}

static bool has_scores(const runner *r, int i) {
    return r->out[i].kind == WICK_VALUE_TENSOR ? labels_fit(r->out[i].tensor) : value_is_scores(&r->out[i]);
}

/* What --json says of output i: its numbers where they are no more than --values. */
static wick_status output_json(json *j, const runner *r, int i, const labels *names) {
    static const char *const kinds[] = {"none", "tensor", "strings", "sequence", "map"};
    const wick_onnx_value *v = &r->out[i];
    const bool tensor = v->kind == WICK_VALUE_TENSOR;
    const int64_t count = value_count(v), most = r->o->of_run.values;
    wick_status status = WICK_OK;
    json_open(j, NULL, '{');
    json_text(j, "name", wick_onnx_output(r->onnx, i).name);
    json_text(j, "kind", kinds[v->kind]);
    if (tensor) json_text(j, "dtype", wick_dtype_name(wick_tensor_dtype(v->tensor)));
    if (v->kind == WICK_VALUE_STRINGS) json_text(j, "dtype", "string");
    if (tensor) dims_json(j, "dims", wick_tensor_rank(v->tensor), wick_tensor_dims(v->tensor));
    else if (v->kind == WICK_VALUE_STRINGS) dims_json(j, "dims", v->rank, v->dims);
    if (!tensor) json_integer(j, "items", (int64_t)v->n);
    if (!most || count <= most) status = value_json(j, "values", v);
    else json_integer(j, "values_left_out", count);
    if (names->top && has_scores(r, i)) {
        if (tensor) labels_json(j, names, v->tensor);
        else value_json_top(j, v, names->top);
    }
    json_close(j, '}');
    return status;
}

/* In memory first: a failure on the way leaves no half of an object on standard output. */
static int show_json(const runner *r, const labels *names) {
    char *text = NULL;
    size_t size;
    json j = {.out = open_memstream(&text, &size)};
    if (!j.out) return log_fail(CLI_FAILED, "out of memory");
    wick_status status = WICK_OK;
    json_open(&j, NULL, '{');
    json_bool(&j, "ok", true);
    json_open(&j, "outputs", '[');
    for (int i = 0; i < r->n_out && status == WICK_OK; i++) status = output_json(&j, r, i, names);
    json_close(&j, ']');
    json_close(&j, '}');
    const bool whole = !ferror(j.out);
    if (fclose(j.out) != 0 || !whole) status = WICK_ERR_NOMEM;
    if (status == WICK_OK) puts(text);
    free(text);
    return status == WICK_OK ? CLI_OK : runner_failed(r, status);
}

static int show(runner *r, const labels *names) {
    bool scores = !names->top, named = !*r->o->of_run.labels;
    int64_t classes = 0;
    for (int i = 0; i < r->n_out && !(scores && named); i++) {
        if (!has_scores(r, i)) continue;
        scores = true;
        if (r->out[i].kind == WICK_VALUE_TENSOR) classes = value_count(&r->out[i]);
        named |= classes == names->n;
    }
    if (!scores)
        return log_fail(CLI_USAGE, "--%s: no output of %s is a vector of scores, one for each class",
                        *r->o->of_run.labels ? "labels" : "topk", r->o->model);
    if (!named && !classes) return log_fail(CLI_USAGE, "--labels: %s has the names of its classes", r->o->model);
    if (!named)
        return log_fail(CLI_BAD_FILE, "--labels %s: has %lld name%s, a line each, and %s has %lld classes",
                        r->o->of_run.labels, (long long)names->n, plural(names->n), r->o->model, (long long)classes);
    if (r->o->json) return show_json(r, names);
    for (int i = 0; i < r->n_out; i++) {
        const wick_onnx_value *v = &r->out[i];
        const bool ranked = names->top && has_scores(r, i);
        char text[512];
        log_print("%s, %s", wick_onnx_output(r->onnx, i).name, value_type(v, text, sizeof text));
        if (ranked) {
            printf(":\n");
            if (v->kind == WICK_VALUE_TENSOR) labels_print(names, v->tensor);
            else value_print_top(v, names->top);
        } else if (!*r->o->of_run.output)
            printf(":\n"), value_print(v);
        else printf("\n");
    }
    return CLI_OK;
}

static bool is_timed(const cli_options *o) { return !*o->of_run.check && (o->of_run.bench || o->repeat > 0); }
static bool is_shown(const cli_options *o) {
    return !*o->of_run.check && !o->of_run.bench && !(o->repeat > 0 && o->json);
}

static int run(runner *r) {
    labels names = {0};
    int64_t steps;
    int code = count_steps(r, &steps);
    const bool timed = is_timed(r->o), shown = is_shown(r->o);
    if (code == CLI_OK) code = labels_open(&names, r->o);
    if (code == CLI_OK && (steps == 1 || timed)) code = runner_feed(r, 0);
    if (code == CLI_OK && shown) {
        if (steps == 1 && !r->n_states) {
            const wick_status status = runner_step(r);
            if (status != WICK_OK) code = runner_failed(r, status);
        } else code = run_sequence(r, steps);
    }
    const bool files = shown && *r->o->of_run.output;
    if (code == CLI_OK && files && r->o->json) code = write_outputs(r); /* "ok" is said when nothing can fail */
    if (code == CLI_OK && shown) code = show(r, &names);
    if (code == CLI_OK && files && !r->o->json) code = write_outputs(r);
    runner_forget(r);
    if (code == CLI_OK && timed && (code = runner_feed(r, 0)) == CLI_OK) code = runner_bench(r);
    labels_free(&names);
    return code;
}

/* ---- options that do nothing are mistakes ------------------------------------------------------------------------ */

/* The cases, behind those of feed.h. */
enum {
    OUTPUTS = FEED_NEXT,
    CHECKS = OUTPUTS << 1,
    MEASURES = OUTPUTS << 2,
    STEPS = OUTPUTS << 3,
    NO_CHECK = OUTPUTS << 4,
    JSON = OUTPUTS << 5
};
static const char outputs[] =
    "a run whose outputs are shown, which those of --check, --bench and --repeat with --json are not",
                  pictures[] = "a picture among the inputs, as in --input x=photo.png",
                  recordings[] = "a recording among the inputs, as in --input x=speech.wav", check[] = "--check DIR",
                  times[] = "a run that is timed, not for --check";
static const option_case uses[] = {
    {"output", OUTPUTS, outputs},
    {"topk", OUTPUTS, outputs},
    {"values", JSON, "--json, of a run whose outputs are shown"},
    {"labels", OUTPUTS, outputs},
    {"scale", FEED_PICTURE | FEED_RECORDING, "a picture or a recording among the inputs, as in --input x=photo.png"},
    {"mean", FEED_PICTURE, pictures},
    {"std", FEED_PICTURE, pictures},
    {"transform", FEED_PICTURE | FEED_RECORDING,
     "a picture or a recording among the inputs, as in --input x=photo.png"},
    {"layout", FEED_PICTURE, pictures},
    {"bgr", FEED_PICTURE, pictures},
    {"as-stored", FEED_PICTURE, pictures},
    {"rate", FEED_RECORDING, recordings},
    {"hop", STEPS, "a recording that --state cuts into steps"},
    {"seed", FEED_CHANCE, "--input random, or a model with random ops"},
    {"rtol", CHECKS, check},
    {"atol", CHECKS, check},
    {"bench", NO_CHECK, times},
    {"repeat", NO_CHECK, times},
    {"time", MEASURES, "--bench without --repeat"},
};

static bool has_random_ops(const wick_onnx *onnx) {
    static const char *const names[] = {"Random", "Bernoulli", "Multinomial", "Dropout"};
    for (int i = 0; i < wick_onnx_get_info(onnx).ops; i++)
        for (size_t k = 0; k < sizeof names / sizeof names[0]; k++)
            if (strncmp(wick_onnx_op_at(onnx, i).name, names[k], strlen(names[k])) == 0) return true;
    return false;
}

static int check_uses(const runner *r, unsigned now) {
    const cli_options *o = r->o;
    if (is_shown(o)) now |= OUTPUTS | (o->json ? JSON : 0u);
    now |= *o->of_run.check ? CHECKS : NO_CHECK;
    if (is_timed(o) && !o->repeat) now |= MEASURES;
    if (now & FEED_RECORDING && r->n_states) now |= STEPS;
    if (has_random_ops(r->onnx)) now |= FEED_CHANCE;
    const option_case *idle = options_idle(o, uses, sizeof uses / sizeof uses[0], now);
    return idle ? log_fail(CLI_USAGE, "--%s has no effect here: it is for %s", idle->name, idle->what) : CLI_OK;
}

/* Chance fills open extents with one: that is told where they are more than a batch. */
static void note_open(const runner *r) {
    for (int i = 0; i < r->n_in; i++) {
        const wick_onnx_port p = wick_onnx_input(r->onnx, i);
        const bool chance = r->feeds[i].steps
                                ? feed_is_shapeless(&r->feeds[i]) && strcmp(r->feeds[i].files[0], "random") == 0
                                : r->others && r->back[i] < 0 && !p.optional;
        char names[512] = "", type[256];
        size_t n = 0;
        bool matters = false;
        for (int d = 0; d < p.rank && chance && n < sizeof names; d++) {
            char name[300];
            if (port_extent(&r->filled, &p, d, -1) >= 0) continue;
            matters |= d > 0;
            n += (size_t)snprintf(names + n, sizeof names - n, "%s%s", n ? ", " : "",
                                  port_dim_name(&p, d, name, sizeof name));
        }
        if (matters)
            log_note("the input %s, %s: %s of it %s 1 here; --dim NAME=N says another", p.name,
                     port_type(&p, type, sizeof type), names, strchr(names, ',') ? "are" : "is");
    }
}

/* What wick convert makes of a run takes pixels of 0 to 1, and a picture's are 0 to 255 unless --scale says more: told,
 * since the outputs would look like any others. */
static void note_pixels(const runner *r, unsigned has) {
    static const char *const given[] = {"scale", "mean", "std", "transform"};
    if (!(has & FEED_PICTURE) || strcmp(wick_onnx_get_info(r->onnx).producer, "wick") != 0 ||
        strcmp(wick_onnx_input(r->onnx, 0).name, "image") != 0)
        return;
    for (size_t i = 0; i < sizeof given / sizeof *given; i++)
        if (options_given(r->o, given[i])) return;
    log_note(
        "pixels are given as 0 to 255; a model that wick convert made of a run takes them as 0 to 1: --scale 1/255");
}

int cmd_run(cli_options *o) {
    runner r = {.o = o};
    int code = kind_check(o->model, AS_MODEL, "an ONNX model");
    if (code != CLI_OK) return code;
    const wick_context_options options = {.seed = (uint64_t)o->seed,
                                          .max_memory = budget_memory(o),
                                          .jit = WICK_JIT_ON,
                                          .pictures = {.as_stored = o->as_stored}};
    const wick_onnx_limits limits = budget_limits(o);
    budget_watch(o);
    if ((code = cli_context(&r.ctx, o, options)) != CLI_OK) return code;
    wick_status status = wick_onnx_open(r.ctx, o->model, &limits, &r.onnx);
    if (status != WICK_OK) code = runner_failed(&r, status);
    if (code == CLI_OK && *wick_onnx_unsupported(r.onnx))
        code = log_fail(CLI_BAD_FILE, "%s uses what Wick does not have: %s", o->model, wick_onnx_unsupported(r.onnx));
    if (code == CLI_OK) code = feeds_open_defaults(o, r.ctx, r.onnx);
    if (code == CLI_OK && *o->of_run.check) code = runner_check_defaults(&r);
    if (code == CLI_OK) {
        r.n_in = wick_onnx_inputs(r.onnx), r.n_out = wick_onnx_outputs(r.onnx);
        r.in = calloc((size_t)(r.n_in + r.n_out) + 1, sizeof *r.in);
        r.feeds = calloc((size_t)r.n_in + 1, sizeof *r.feeds);
        r.back = calloc((size_t)(r.n_in + r.n_out) + 1, sizeof *r.back);
        r.carried = calloc((size_t)r.n_in + 1, sizeof *r.carried);
        if (!r.in || !r.feeds || !r.back || !r.carried) code = log_fail(CLI_FAILED, "out of memory");
    }
    if (code == CLI_OK) {
        r.out = r.in + r.n_in, r.forward = r.back + r.n_in;
        code = ports_check_dims(o, r.onnx);
        if (code == CLI_OK) code = read_states(&r);
        unsigned has = 0;
        if (code == CLI_OK) code = feeds_list(o, r.onnx, r.feeds, &has);
        r.others = has & FEED_OTHERS;
        if (code == CLI_OK) code = check_uses(&r, has);
        if (code == CLI_OK) note_pixels(&r, has);
        if (code == CLI_OK && *o->of_run.output && path_exists(o->of_run.output) && !path_is_folder(o->of_run.output))
            code = log_fail(CLI_USAGE, "--output %s is a file: outputs go to files NAME.npy in a directory",
                            o->of_run.output);
        if (code == CLI_OK) code = runner_open_dims(&r);
        if (code == CLI_OK) code = feeds_open(o, r.ctx, r.onnx, r.feeds, false);
        for (int i = 0; i < r.n_in && code == CLI_OK && status == WICK_OK; i++)
            if (r.feeds[i].steps == 1 && !r.feeds[i].files)
                status = runner_learn(&r, i, &r.feeds[i].value, r.feeds[i].stacked);
        if (status != WICK_OK) code = runner_failed(&r, status);
        if (code == CLI_OK) note_open(&r);
        if (code == CLI_OK) code = feeds_open(&r.filled, r.ctx, r.onnx, r.feeds, true);
        profiling profile = {0};
        if (code == CLI_OK) code = profiling_begin(&profile, o, r.ctx);
        if (code == CLI_OK) code = *o->of_run.check ? runner_check(&r) : run(&r);
        code = profiling_end(&profile, code);
    }
    runner_forget(&r);
    runner_close_dims(&r);
    for (int i = 0; i < r.n_in && r.feeds; i++) feed_free(&r.feeds[i]);
    free(r.in);
    free(r.feeds);
    free(r.back);
    free(r.carried);
    wick_onnx_free(&r.onnx);
    wick_context_free(&r.ctx);
    return code;
}
