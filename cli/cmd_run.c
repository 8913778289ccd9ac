/* wick run: an ONNX model on inputs from files, or beside the outputs it gave elsewhere. */
#include "options.h"
#include "paths.h"
#include "talk.h"

#include "wick/data.h"
#include "wick/io.h"
#include "wick/onnx.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_SIZE = 4096, MOST_SETS = 10000 };

typedef struct runner {
    const cli_options *o;
    wick_context *ctx;
    wick_onnx *onnx;
    int n_in, n_out;
    wick_onnx_value *in, *out; /* `in` has n_in, `out` n_out, `want` n_out */
    wick_onnx_value *want;
    double *seconds; /* of each repeat */
} runner;

static bool exists(const char *path) { return access(path, R_OK) == 0; }
static int failed(const runner *r, wick_status status) { return talk_fail(talk_code(status, CLI_BAD_FILE), "%s", talk_why(r->ctx, status)); }

/* ---- inputs ------------------------------------------------------------------------------------------------------------------------------------ */

/* "float [1, 3, height, width]" */
static const char *port_text(const wick_onnx_port *p, char *text, size_t size) {
    static const char *const kinds[] = {"", "", "", "sequence of ", "map of "};
    size_t n = (size_t)snprintf(text, size, "%s%s", kinds[p->kind], wick_onnx_elem_name(p->elem));
    if (p->rank >= 0 && n < size) n += (size_t)snprintf(text + n, size - n, " [");
    for (int i = 0; i < p->rank && n < size; i++) {
        n += (size_t)snprintf(text + n, size - n, "%s", i ? ", " : "");
        if (n >= size) break;
        if (p->dims[i] >= 0) n += (size_t)snprintf(text + n, size - n, "%lld", (long long)p->dims[i]);
        else n += (size_t)snprintf(text + n, size - n, "%s", p->dim_names[i] ? p->dim_names[i] : "?");
    }
    if (p->rank >= 0 && n < size) snprintf(text + n, size - n, "]");
    return text;
}

static wick_dtype dtype_of(const wick_onnx_port *p) {
    wick_dtype dtype;
    return wick_onnx_elem_dtype(p->elem, &dtype) ? dtype : WICK_F32;
}

/* Uniform in [0, 1), of integers 0; dims without an extent are 1. */
static wick_tensor *random_input(const runner *r, const wick_onnx_port *p) {
    int64_t dims[WICK_MAX_DIMS] = {0};
    for (int i = 0; i < p->rank; i++) dims[i] = p->dims[i] >= 0 ? p->dims[i] : 1;
    return wick_cast(wick_random_uniform(r->ctx, WICK_F32, p->rank > 0 ? p->rank : 0, dims), dtype_of(p));
}

static bool has_end(const char *name, const char *end) {
    const size_t n = strlen(name), m = strlen(end);
    return n >= m && strcmp(name + n - m, end) == 0;
}

/* Pixels of 0 to 255, [1, C, H, W], or of the rank that the input has, as its dtype. */
static wick_status picture(const runner *r, const wick_onnx_port *p, const char *path, wick_tensor **out) {
    wick_image *image;
    const int64_t channels = p->rank >= 3 && (p->dims[p->rank - 3] == 1 || p->dims[p->rank - 3] == 3) ? p->dims[p->rank - 3] : 0;
    const wick_status status = wick_image_open(r->ctx, path, channels, &image);
    if (status != WICK_OK) return status;
    const int64_t *d = wick_image_dims(image);
    *out = wick_from(r->ctx, WICK_U8, 4, (int64_t[]){1, d[0], d[1], d[2]}, wick_image_pixels(image, 0));
    wick_image_free(&image);
    if (p->rank == 3) *out = wick_squeeze(*out, 0);
    if (p->rank == 2) *out = wick_squeeze(wick_squeeze(*out, 0), 0);
    *out = wick_cast(*out, dtype_of(p));
    return WICK_OK;
}

/* Samples in [-1, 1], [channels, samples] or of the rank that the input has. */
static wick_status recording(const runner *r, const wick_onnx_port *p, const char *path, wick_tensor **out) {
    wick_audio *audio;
    const wick_status status = wick_audio_open(r->ctx, path, 1, &audio);
    if (status != WICK_OK) return status;
    *out = wick_from(r->ctx, WICK_F32, 2, (int64_t[]){1, wick_audio_length(audio)}, wick_audio_samples(audio, 0));
    wick_audio_free(&audio);
    if (p->rank == 1) *out = wick_squeeze(*out, 0);
    if (p->rank == 3) *out = wick_unsqueeze(*out, 0);
    *out = wick_cast(*out, dtype_of(p));
    return WICK_OK;
}

static wick_status read_input(const runner *r, const wick_onnx_port *p, const char *what, wick_onnx_value *v) {
    if (has_end(what, ".pb")) return wick_onnx_read_value(r->onnx, p, what, v);
    *v = (wick_onnx_value){.kind = WICK_VALUE_TENSOR};
    if (strcmp(what, "random") == 0) v->tensor = random_input(r, p);
    else if (has_end(what, ".npy")) v->tensor = wick_npy_read(r->ctx, what);
    else if (has_end(what, ".wav")) return recording(r, p, what, &v->tensor);
    else return picture(r, p, what, &v->tensor);
    return wick_eval(r->ctx, 1, &v->tensor, NULL);
}

/* --input NAME=FILE;NAME=FILE...: the last for a name counts; "random" alone is for all that are not named. */
static int read_inputs(runner *r) {
    char *list = strdup(r->o->input ? r->o->input : ""), *rest = list;
    bool others = false;
    int code = list ? CLI_OK : talk_fail(CLI_FAILED, "out of memory");
    for (char *item; code == CLI_OK && (item = strsep(&rest, ";"));) {
        char *equals = strchr(item, '=');
        int at = 0;
        if (!*item) continue;
        if (strcmp(item, "random") == 0) {
            others = true;
            continue;
        }
        if (equals) *equals = 0;
        while (equals && at < r->n_in && strcmp(wick_onnx_input(r->onnx, at).name, item) != 0) at++;
        if (!equals && r->n_in == 1) at = 0, equals = item - 1; /* the only one needs no name */
        if (!equals || at == r->n_in) {
            code = talk_fail(CLI_USAGE,
                             equals ? "--input: the model has no input \"%s\"; it has %s" : "--input \"%s\" is not NAME=FILE, for example %s=FILE",
                             item, r->n_in ? wick_onnx_input(r->onnx, 0).name : "none");
            break;
        }
        const wick_onnx_port port = wick_onnx_input(r->onnx, at);
        const wick_status status = read_input(r, &port, equals + 1, &r->in[at]);
        if (status != WICK_OK) code = failed(r, status);
    }
    for (int i = 0; i < r->n_in && code == CLI_OK; i++) {
        const wick_onnx_port port = wick_onnx_input(r->onnx, i);
        char text[256];
        if (r->in[i].kind != WICK_VALUE_NONE || port.optional) continue;
        if (!others)
            code = talk_fail(CLI_USAGE, "the input %s, %s, is missing: --input %s=FILE, or --input random", port.name,
                             port_text(&port, text, sizeof text), port.name);
        else if (port.kind != WICK_VALUE_TENSOR)
            code = talk_fail(CLI_USAGE, "the input %s, %s, has no random values", port.name, port_text(&port, text, sizeof text));
        else {
            const wick_status status = read_input(r, &port, "random", &r->in[i]);
            if (status != WICK_OK) code = failed(r, status);
        }
    }
    free(list);
    return code;
}

/* ---- running -------------------------------------------------------------------------------------------------------------------------------------
 */

static wick_status run_once(runner *r) {
    wick_status status = wick_onnx_apply(r->onnx, r->in, r->out);
    wick_tensor **tensors = malloc(((size_t)r->n_out + 1) * sizeof(wick_tensor *));
    int n = 0;
    for (int i = 0; i < r->n_out && status == WICK_OK && tensors; i++)
        if (r->out[i].kind == WICK_VALUE_TENSOR) tensors[n++] = r->out[i].tensor;
    if (status == WICK_OK) status = tensors ? wick_eval(r->ctx, n, tensors, NULL) : WICK_ERR_NOMEM;
    free(tensors);
    return status;
}

static int by_value(const void *a, const void *b) { return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b); }

/* The model --repeat times; the values of the last stay. */
static int run_repeats(runner *r) {
    const int64_t n = r->o->repeat;
    for (int64_t i = 0; i < n; i++) {
        wick_scope *scope = i + 1 < n ? wick_scope_open(r->ctx) : NULL;
        const double begin = now_seconds();
        const wick_status status = run_once(r);
        r->seconds[i] = now_seconds() - begin;
        wick_scope_close(&scope);
        if (status != WICK_OK) return failed(r, status);
    }
    return CLI_OK;
}

/* ---- checking
 * -------------------------------------------------------------------------------------------------------------------------------------- */

/* FOLDER/KIND_i.pb or .npy; false: neither is there. */
static bool value_path(const char *folder, const char *kind, int i, char path[PATH_SIZE]) {
    snprintf(path, PATH_SIZE, "%.4000s/%s_%d.pb", folder, kind, i);
    if (exists(path)) return true;
    snprintf(path, PATH_SIZE, "%.4000s/%s_%d.npy", folder, kind, i);
    return exists(path);
}

static int check_set(runner *r, const char *folder, json *j, int *compared) {
    char path[PATH_SIZE];
    int code = CLI_OK;
    wick_status status = WICK_OK;
    memset(r->in, 0, (size_t)r->n_in * sizeof *r->in);
    for (int i = 0; i < r->n_in && status == WICK_OK; i++) {
        const wick_onnx_port port = wick_onnx_input(r->onnx, i);
        if (value_path(folder, "input", i, path)) status = read_input(r, &port, path, &r->in[i]);
        else if (!port.optional) return talk_fail(CLI_BAD_FILE, "%s has no input_%d.pb or .npy, for %s", folder, i, port.name);
    }
    if (status == WICK_OK) status = run_once(r);
    for (int i = 0; i < r->n_out && status == WICK_OK; i++) {
        const wick_onnx_port port = wick_onnx_output(r->onnx, i);
        if (!value_path(folder, "output", i, path)) continue;
        status = read_input(r, &port, path, &r->want[i]);
        if (status != WICK_OK) break;
        const wick_status agrees = wick_onnx_value_compare(r->ctx, &r->out[i], &r->want[i], r->o->rtol, r->o->atol);
        if (agrees != WICK_OK && agrees != WICK_ERR_MISMATCH) status = agrees;
        if (agrees == WICK_ERR_MISMATCH) code = CLI_DIFFERENT;
        ++*compared;
        if (r->o->json) {
            json_open(j, NULL, '{');
            json_text(j, "set", folder);
            json_text(j, "output", port.name);
            json_bool(j, "agrees", agrees == WICK_OK);
            json_text(j, "why", agrees == WICK_OK ? NULL : wick_context_error(r->ctx));
            json_close(j, '}');
        } else
            talk_print("%s  %s: %s%s\n", folder, port.name,
                       agrees == WICK_OK ? "agrees" : "differs: ", agrees == WICK_OK ? "" : wick_context_error(r->ctx));
    }
    return status == WICK_OK ? code : failed(r, status);
}

/* Sets DIR/test_data_set_0, 1 ... or DIR itself. */
static int check(runner *r) {
    char folder[PATH_SIZE];
    int worst = CLI_OK, compared = 0, sets = 0;
    json j = {0};
    if (r->o->json) {
        j = talk_json_open();
        json_open(&j, "outputs", '[');
    }
    for (int set = 0; set < MOST_SETS && (worst == CLI_OK || worst == CLI_DIFFERENT); set++) {
        snprintf(folder, sizeof folder, "%.4000s/test_data_set_%d", r->o->check, set);
        if (!exists(folder) && set) break;
        if (!exists(folder)) snprintf(folder, sizeof folder, "%.4000s", r->o->check);
        wick_scope *scope = wick_scope_open(r->ctx);
        const int code = check_set(r, folder, &j, &compared);
        wick_scope_close(&scope);
        if (code != CLI_OK) worst = code;
        sets++;
        if (!strstr(folder, "test_data_set_")) break;
    }
    if (worst == CLI_OK && !compared) worst = talk_fail(CLI_BAD_FILE, "%s has no output_0.pb or .npy to compare with", r->o->check);
    if (r->o->json) {
        json_close(&j, ']');
        json_integer(&j, "sets", sets);
        json_bool(&j, "ok", worst == CLI_OK);
        talk_json_close(&j);
    } else if (worst == CLI_OK) talk("%d output%s of %d set%s agree%s", compared, plural(compared), sets, plural(sets), compared == 1 ? "s" : "");
    return worst;
}

/* ---- showing
 * --------------------------------------------------------------------------------------------------------------------------------------- */

static int write_outputs(runner *r) {
    if (mkdir(r->o->output, 0777) != 0 && errno != EEXIST)
        return talk_fail(CLI_FAILED, "%s: cannot make the folder: %s", r->o->output, strerror(errno));
    for (int i = 0; i < r->n_out; i++) {
        const wick_onnx_port port = wick_onnx_output(r->onnx, i);
        char path[PATH_SIZE], name[256];
        snprintf(name, sizeof name, "%.250s", port.name);
        for (char *c = name; *c; c++)
            if (*c == '/' || (unsigned char)*c < 33) *c = '_';
        snprintf(path, sizeof path, "%.3800s/%s.npy", r->o->output, *name && *name != '.' ? name : "output");
        if (r->out[i].kind != WICK_VALUE_TENSOR) {
            talk("%s is no tensor of numbers: it is not written", port.name);
            continue;
        }
        const wick_status status = wick_npy_write(r->ctx, path, r->out[i].tensor);
        if (status != WICK_OK) return talk_fail(talk_code(status, CLI_FAILED), "%s", talk_why(r->ctx, status));
        talk("wrote %s", path);
    }
    return CLI_OK;
}

static void show(runner *r) {
    json j = {0};
    const int64_t n = r->o->repeat;
    if (n > 1) qsort(r->seconds, (size_t)n, sizeof *r->seconds, by_value);
    if (r->o->json) {
        j = talk_json_open();
        json_bool(&j, "ok", true);
        json_open(&j, "outputs", '[');
    }
    for (int i = 0; i < r->n_out; i++) {
        const wick_onnx_port port = wick_onnx_output(r->onnx, i);
        const wick_onnx_value *v = &r->out[i];
        char text[4096];
        if (v->kind == WICK_VALUE_TENSOR) wick_format(v->tensor, text, sizeof text);
        else snprintf(text, sizeof text, "%zu %s", v->n, v->kind == WICK_VALUE_STRINGS ? "texts" : "items");
        if (r->o->json) {
            json_open(&j, NULL, '{');
            json_text(&j, "name", port.name);
            if (v->kind == WICK_VALUE_TENSOR) {
                json_text(&j, "dtype", wick_dtype_name(wick_tensor_dtype(v->tensor)));
                json_open(&j, "dims", '[');
                for (int d = 0; d < wick_tensor_rank(v->tensor); d++) json_integer(&j, NULL, wick_tensor_dim(v->tensor, d));
                json_close(&j, ']');
            }
            json_close(&j, '}');
        } else {
            talk_print("%s", port.name);
            if (v->kind == WICK_VALUE_TENSOR) {
                printf(", %s [", wick_dtype_name(wick_tensor_dtype(v->tensor)));
                for (int d = 0; d < wick_tensor_rank(v->tensor); d++) printf("%s%lld", d ? ", " : "", (long long)wick_tensor_dim(v->tensor, d));
                printf("]");
            }
            if (!*r->o->output) talk_print(":\n%s", text);
            printf("\n");
        }
    }
    if (r->o->json) {
        json_close(&j, ']');
        json_real(&j, "first_ms", r->seconds[0] * 1e3, 6);
        if (n > 1) json_real(&j, "p50_ms", r->seconds[n / 2] * 1e3, 6), json_real(&j, "p95_ms", r->seconds[n * 95 / 100] * 1e3, 6);
        talk_json_close(&j);
    } else if (n > 1)
        printf("%lld runs: median %.4g ms, 95 of 100 below %.4g ms\n", (long long)n, r->seconds[n / 2] * 1e3, r->seconds[n * 95 / 100] * 1e3);
}

int cmd_run(cli_options *o) {
    runner r = {.o = o};
    const wick_context_options options = {.threads = (int)o->threads};
    wick_status status = wick_context_new(&r.ctx, &options);
    if (status != WICK_OK) return talk_fail(CLI_FAILED, "cannot start: %s", wick_status_name(status));
    int code = CLI_OK;
    status = wick_onnx_open(r.ctx, o->model, NULL, &r.onnx);
    if (status != WICK_OK) code = failed(&r, status);
    if (code == CLI_OK && *wick_onnx_unsupported(r.onnx))
        code = talk_fail(CLI_BAD_FILE, "%s uses what Wick does not have: %s", o->model, wick_onnx_unsupported(r.onnx));
    if (code == CLI_OK) {
        r.n_in = wick_onnx_inputs(r.onnx), r.n_out = wick_onnx_outputs(r.onnx);
        r.in = calloc((size_t)(r.n_in + 2 * r.n_out) + 1, sizeof *r.in);
        r.seconds = calloc((size_t)o->repeat, sizeof *r.seconds);
        if (!r.in || !r.seconds) code = talk_fail(CLI_FAILED, "out of memory");
    }
    if (code == CLI_OK) {
        r.out = r.in + r.n_in, r.want = r.out + r.n_out;
        if (*o->check) code = check(&r);
        else if ((code = read_inputs(&r)) == CLI_OK && (code = run_repeats(&r)) == CLI_OK) {
            show(&r);
            if (*o->output) code = write_outputs(&r);
        }
    }
    free(r.in);
    free(r.seconds);
    wick_onnx_free(&r.onnx);
    wick_context_free(&r.ctx);
    return code;
}
