#include "compare_models.h"

#include "../options.h"
#include "../paths.h"
#include "../report/html.h"
#include "../term/log.h"
#include "../train/classifier_parts.h"
#include "../train/gate.h"
#include "../tuned.h"

#include "wick/compress.h"
#include "wick/datasets.h"
#include "wick/io.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { BATCH = 32, LAYER_SAMPLES = 256 };

typedef struct comparing {
    gate g; /* its model is A; what was made is B */
    classifier b;
    cli_options now;
    wick_dataset *few; /* of those that judge, for the errors of layers */
    wick_layer_errors *layers;
    char why[256]; /* there are none */
    int64_t file[2];
} comparing;

static bool is_onnx(const char *path) {
    const size_t length = strlen(path);
    return length > 5 && strcmp(path + length - 5, ".onnx") == 0;
}
bool compare_is_of_models(const cli_options *o) {
    return o->n_files == 1 && !o->of_compare.layers && (is_onnx(o->model) || is_onnx(o->files[0]));
}

/* ---- both as functions of what A's network takes ----------------------------------------------------------------- */

/* B is given the samples themselves: what comes before A's network is undone. */
static wick_status record_b(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    comparing *w = user;
    (void)ctx;
    wick_tensor *x = w->g.c.last ? wick_permute(in[0], 4, (const int[]){0, 3, 1, 2}) : in[0];
    x = wick_cast(x, WICK_F32);
    if (w->g.c.standard)
        x = wick_add(wick_mul(x, classifier_state(&w->g.c, STATE_DEVIATION)), classifier_state(&w->g.c, STATE_MEAN));
    out[0] = classifier_logits(&w->b, classifier_samples_of(&w->b, &w->g.c, x));
    return WICK_OK;
}

/* form: what the command line says of tables and tensors. */
static int open_models(comparing *w, const source_options *form) {
    gate *g = &w->g;
    const cli_options *o = &w->now;
    const char *split = "test";
    int code = classifier_load(&g->c, g->ctx, o->model);
    if (code == CLI_OK && !form->told) code = classifier_pictures_of(&g->c, o);
    if (code == CLI_OK) code = classifier_open_data(&g->c, o->data, &split, false, form, &g->judged);
    if (code == CLI_OK) code = classifier_load(&w->b, g->ctx, o->files[0]);
    if (code != CLI_OK) return code;
    if (g->c.task->kind != TASK_CLASSIFY)
        return log_fail(CLI_USAGE,
                        "%s was trained with --task %s: models beside each other are classifiers; wick eval "
                        "measures each of the others",
                        o->model, g->c.task->name);
    if (g->c.net[0]) {
        char theirs[WICK_MAX_DIMS * 24], ours[WICK_MAX_DIMS * 24];
        return log_fail(CLI_USAGE, "%s takes images of [%s], and these are [%s]: give data of the size that it takes",
                        o->model, classifier_extents(3, g->c.net, theirs),
                        classifier_extents(g->c.rank, g->c.dims, ours));
    }
    code = classifier_take(&w->b, g->judged, o->files[0]);
    if (code == CLI_OK && w->b.task->kind != TASK_CLASSIFY)
        code = log_fail(CLI_USAGE, "%s tells no classes", o->files[0]);
    if (code == CLI_OK && w->b.classes != g->c.classes)
        code = log_fail(CLI_BAD_FILE, "%s knows %lld classes, and %s %lld", o->files[0], (long long)w->b.classes,
                        o->model, (long long)g->c.classes);
    if (code != CLI_OK) return code;
    wick_model_set_training(g->c.model, false);
    wick_model_set_training(w->b.model, false);
    g->made = record_b;
    g->made_user = w;
    g->c.beside = &w->b;
    g->says = strcmp(split, "test") == 0 ? "test samples" : "samples";
    return gate_choose_way(g, form);
}

static wick_status observe(void *user, const void *const *in, const int64_t *labels) {
    (void)labels;
    return wick_layer_errors_observe(user, in);
}
static int measure_layers(comparing *w) {
    gate *g = &w->g;
    const int64_t count = wick_dataset_count(g->judged), few = count < LAYER_SAMPLES ? count : LAYER_SAMPLES,
                  batch = few < BATCH ? few : BATCH;
    int64_t first[LAYER_SAMPLES];
    for (int64_t i = 0; i < few; i++) first[i] = i;
    const wick_spec spec = classifier_network_spec(&g->c, batch);
    wick_status status = wick_dataset_subset(g->ctx, g->judged, few, first, &w->few);
    if (status == WICK_OK) status = classifier_prepare(&g->c, batch);
    if (status != WICK_OK) return gate_failed(g, status, CLI_FAILED);
    status = wick_layer_errors_new(g->ctx, g->c.model, (const wick_function[]){gate_record_network, record_b},
                                   (void *const[]){&g->c, w}, 1, &spec, &w->layers);
    if (status == WICK_OK) return gate_show_set(g, w->few, batch, observe, w->layers);
    if (status == WICK_ERR_NOMEM) return gate_failed(g, status, CLI_FAILED);
    snprintf(w->why, sizeof w->why, "%.250s", wick_context_error(g->ctx));
    return CLI_OK;
}

static int64_t size_of(const char *path) {
    struct stat s;
    return stat(path, &s) == 0 ? (int64_t)s.st_size : 0;
}
/* Those of a file and, of an ONNX file, what holds its large tensors beside it; or of a run's best model. -1: out of
 * memory. */
static int64_t bytes_of(const classifier *c, const char *name) {
    char *path = path_is_folder(name) ? path_join(name, "best.safetensors") : strdup(name);
    int64_t n = path ? size_of(path) : -1;
    free(path);
    const char *slash = strrchr(name, '/'), *beside;
    for (int i = 0; is_onnx(name) && n >= 0 && (beside = wick_onnx_file_at(c->onnx, i)); i++) {
        if (asprintf(&path, "%.*s%s", slash ? (int)(slash - name + 1) : 0, name, beside) < 0) return -1;
        n += size_of(path);
        free(path);
    }
    return n;
}

/* ---- what is said of it ------------------------------------------------------------------------------------------ */

static void print_text(const comparing *w) {
    const gate *g = &w->g;
    const int n = wick_layer_errors_count(w->layers);
    if (n) printf("%-28s %-7s %9s\n", "layer", "op", "SQNR");
    for (int i = 0; i < n; i++) {
        const wick_layer_error l = wick_layer_errors_at(w->layers, i);
        log_print("%-28s %-7s ", l.name, l.op);
        if (l.sqnr == l.sqnr)
            printf("%6.1f dB\n", l.sqnr);
        else
            printf("other extents\n");
    }
    if (!n) log_print("no errors of layers: %s\n", w->why);
    gate_print(g, "in A", "in B");
    printf("size      %.1f KB, %.1f KB: %.3f of it\n", (double)w->file[0] / 1e3, (double)w->file[1] / 1e3,
           (double)w->file[1] / (double)w->file[0]);
    printf("time      %.4g ms, %.4g ms a sample: %.2f times as fast\n", 1e3 * g->seconds[0], 1e3 * g->seconds[1],
           g->seconds[0] / g->seconds[1]);
}

static void print_json(const comparing *w) {
    const gate *g = &w->g;
    double bound;
    int64_t lost, won;
    json j = log_json_open();
    json_bool(&j, "ok", true);
    json_text(&j, "a", g->o->model);
    json_text(&j, "b", g->o->files[0]);
    json_integer(&j, "judged", g->before.n);
    json_real(&j, "accuracy_a", g->before.score, 9);
    json_real(&j, "accuracy_b", g->after.score, 9);
    json_real(&j, "loss_a", g->before.all.loss, 9);
    json_real(&j, "loss_b", g->after.all.loss, 9);
    json_real(&j, "drop_points", gate_drop(g, &bound), 9);
    json_real(&j, "drop_bound_points", bound, 9);
    gate_flips(g, &lost, &won);
    json_integer(&j, "lost", lost);
    json_integer(&j, "won", won);
    json_integer(&j, "file_bytes_a", w->file[0]);
    json_integer(&j, "file_bytes_b", w->file[1]);
    json_real(&j, "seconds_a", g->seconds[0], 6);
    json_real(&j, "seconds_b", g->seconds[1], 6);
    if (!w->layers) json_text(&j, "no_layers", w->why);
    json_open(&j, "layers", '[');
    for (int i = 0; i < wick_layer_errors_count(w->layers); i++) {
        const wick_layer_error l = wick_layer_errors_at(w->layers, i);
        json_open(&j, NULL, '{');
        json_text(&j, "name", l.name);
        json_text(&j, "op", l.op);
        json_real(&j, "sqnr_db", l.sqnr, 6);
        json_close(&j, '}');
    }
    json_close(&j, ']');
    log_json_close(&j);
}

/* ---- as a page --------------------------------------------------------------------------------------------------- */

static void row(FILE *out, const char *name, const char *a, const char *b) {
    fputs("<tr><td>", out);
    html_text(out, name);
    fputs("</td><td class=\"n\">", out);
    html_text(out, a);
    fputs("</td><td class=\"n\">", out);
    html_text(out, b);
    fputs("</td></tr>\n", out);
}
static void draw(FILE *out, const comparing *w) {
    const gate *g = &w->g;
    char a[64], b[64];
    double bound;
    fputs("<section><h2>Before and after</h2>\n<div class=\"card wide\"><table><thead><tr><th></th><th class=\"n\">",
          out);
    html_text(out, g->o->model);
    fputs("</th><th class=\"n\">", out);
    html_text(out, g->o->files[0]);
    fputs("</th></tr></thead><tbody>\n", out);
    gate_score_text(g, g->before.score, a), gate_score_text(g, g->after.score, b);
    row(out, "accuracy", a, b);
    snprintf(a, sizeof a, "%.4f", g->before.all.loss), snprintf(b, sizeof b, "%.4f", g->after.all.loss);
    row(out, "loss", a, b);
    snprintf(a, sizeof a, "%.1f KB", (double)w->file[0] / 1e3);
    snprintf(b, sizeof b, "%.1f KB", (double)w->file[1] / 1e3);
    row(out, "file", a, b);
    snprintf(a, sizeof a, "%.4g ms", 1e3 * g->seconds[0]), snprintf(b, sizeof b, "%.4g ms", 1e3 * g->seconds[1]);
    row(out, "time of a sample", a, b);
    const double drop = gate_drop(g, &bound);
    int64_t lost, won;
    gate_flips(g, &lost, &won);
    fputs("</tbody></table></div>\n<p class=\"note\">", out);
    html_print(out, "%lld %s: %.2f points lost, below %.2f with 95 %%; %lld lost, %lld won.", (long long)g->before.n,
               gate_judged(g), drop, bound, (long long)lost, (long long)won);
    fputs("</p>\n", out);
    if (!w->layers) html_print(out, "None: %s", w->why);
    fputs("<div class=\"card wide\"><table><thead><tr><th>layer</th><th>op</th><th class=\"n\">SQNR, dB</th></tr>"
          "</thead><tbody>\n",
          out);
    for (int i = 0; i < wick_layer_errors_count(w->layers); i++) {
        const wick_layer_error l = wick_layer_errors_at(w->layers, i);
        fputs("<tr><td><code>", out);
        html_text(out, l.name);
        fputs("</code></td><td>", out);
        html_text(out, l.op);
        fputs("</td><td class=\"n\">", out);
        html_print(out, l.sqnr == l.sqnr ? "%.1f" : "other extents", l.sqnr);
        fputs("</td></tr>\n", out);
    }
    fputs("</tbody></table></div></section>\n", out);
}
static int write_page(const comparing *w) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out) return log_fail(CLI_FAILED, "out of memory");
    html_begin(out, "Before and after");
    draw(out, w);
    html_end(out);
    const bool ok = fclose(out) == 0;
    int code = ok ? CLI_OK : log_fail(CLI_FAILED, "out of memory");
    if (ok) {
        const wick_status status = wick_file_write(w->g.ctx, w->g.o->html, text, size);
        if (status != WICK_OK) code = gate_failed(&w->g, status, CLI_FAILED);
    }
    free(text);
    return code;
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

static int measure(comparing *w, const source_options *form) {
    gate *g = &w->g;
    w->now.gate.anomalies = "";
    g->o = &w->now;
    g->max_drop = -1;
    int code = open_models(w, form);
    if (code == CLI_OK) code = gate_judge(g, false, &g->before);
    if (code == CLI_OK) code = gate_judge(g, true, &g->after);
    if (code == CLI_OK) code = measure_layers(w);
    if (code == CLI_OK) code = gate_time(g);
    if (code != CLI_OK) return code;
    w->file[0] = bytes_of(&g->c, w->now.model), w->file[1] = bytes_of(&w->b, w->now.files[0]);
    return w->file[0] < 0 || w->file[1] < 0 ? log_fail(CLI_FAILED, "out of memory") : CLI_OK;
}
static void drop(comparing *w) {
    wick_layer_errors_free(&w->layers);
    wick_dataset_free(&w->few);
    classifier_free(&w->b);
    gate_free(&w->g);
}

int compare_models(const cli_options *o) {
    comparing w = {.now = *o};
    source_options form;
    static const char *const of_tensors[] = {"tolerance", "rtol", "atol", "only"};
    for (int i = 0; i < 4; i++)
        if (options_given(o, of_tensors[i]))
            return log_fail(CLI_USAGE, "--%s is for files of tensors, not for models", of_tensors[i]);
    int code = source_read_options(o, &form);
    if (code != CLI_OK) return code;
    form.told = false;
    if (wick_context_new(&(wick_context_options){.tuning = tuned(), .threads = (int)o->threads, .jit = WICK_JIT_ON},
                         &w.g.ctx) != WICK_OK)
        return log_fail(CLI_FAILED, "could not start: out of memory or threads");
    code = measure(&w, &form);
    if (code == CLI_OK && *o->html) code = write_page(&w);
    if (code == CLI_OK) (o->json ? print_json : print_text)(&w);
    drop(&w);
    return code;
}

int compare_section(FILE *out, wick_context *ctx, const cli_options *o, const char *file) {
    comparing w = {.now = *o, .g = {.ctx = ctx, .guest = true}};
    source_options form = {.told = true}; /* as the run was told */
    w.now.files = &file, w.now.n_files = 1;
    const int code = measure(&w, &form);
    if (code == CLI_OK) draw(out, &w);
    drop(&w);
    return code;
}
