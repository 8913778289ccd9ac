/* wick report: gathers what is to be known of a run, and writes it as one page. */
#include "report.h"

#include "html.h"
#include "../onnx/compare_models.h"
#include "../train/layers.h"
#include "../options.h"
#include "../paths.h"
#include "../train/run.h"
#include "../train/source.h"
#include "../term/log.h"
#include "../tuned.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { WARM_STEPS = 2, FEWEST_STEPS = 3, MOST_SECONDS = 5 /* ten steps of half a second */ };
enum { MOST_SCORES = 1 << 25 /* probabilities that are kept */ };

static int out_of_memory(void) { return log_fail(CLI_FAILED, "out of memory"); }

/* What the run was given, and its log. A run whose --log was a device or pipe has no curves: what it wrote went
 * elsewhere. Runs of other programs, and those that another log's path was lost of, have neither. */
static int open_run(report *r) {
    const char *folder = r->o->model;
    char *last = path_join(folder, "last.safetensors");
    if (!last) return out_of_memory();
    int code = CLI_OK;
    if (path_exists(last)) {
        wick_checkpoint *file;
        wick_status status = wick_checkpoint_open(r->ctx, last, &file);
        code = status == WICK_OK ? run_options(file, last, &r->kept)
                                 : log_fail(log_code(status, CLI_BAD_FILE), "%s", log_why(r->ctx, status));
        r->has_options = code == CLI_OK;
        wick_checkpoint_free(&file);
    }
    free(last);
    if (code != CLI_OK) return code;
    r->log_path =
        r->has_options && r->kept.of_train.log[0] ? strdup(r->kept.of_train.log) : path_join(folder, "log.jsonl");
    if (!r->log_path) return out_of_memory();
    struct stat st;
    r->has_log = stat(r->log_path, &st) == 0;
    if (r->has_log && r->kept.of_train.log && r->kept.of_train.log[0] && !S_ISREG(st.st_mode)) {
        log_note("no curves: the log %s is not a regular file", r->log_path);
        r->has_log = false;
    }
    return r->has_log ? runlog_read(&r->log, r->log_path) : CLI_OK;
}

static int open_model(report *r) {
    wick_checkpoint *file;
    char *path;
    int code = model_open(r->ctx, r->o->model, &file, &path);
    const char *epoch = code == CLI_OK ? wick_checkpoint_meta(file, "epoch") : NULL;
    r->epoch = epoch ? strtoll(epoch, NULL, 10) : 0;
    wick_checkpoint_free(&file);
    free(path);
    return code == CLI_OK ? classifier_load(&r->c, r->ctx, r->o->model) : code;
}

/* Either split may be missing, not both. */
static int open_split(report *r, const char *split, wick_dataset **out) {
    source_options form = {0}; /* as the run was told */
    if (r->kept.data && source_read_options(&r->kept, &form) != CLI_OK) return CLI_BAD_FILE;
    form.told = true;
    wick_status status = classifier_open_split(&r->c, r->data, split, &form, out);
    if (status == WICK_OK) return classifier_check_dataset(&r->c, *out, r->data);
    return status == WICK_ERR_IO ? CLI_OK : log_fail(log_code(status, CLI_BAD_FILE), "%s", log_why(r->ctx, status));
}

static int open_data(report *r) {
    r->data = r->o->data[0] ? r->o->data : r->c.data;
    int code = open_split(r, "train", &r->train);
    if (code == CLI_OK) code = open_split(r, "test", &r->test);
    if (code != CLI_OK) return code;
    r->measured = r->test ? r->test : r->train;
    if (r->measured) classifier_note_changed(&r->c, r->data, r->test ? "test" : "train");
    return r->measured ? CLI_OK : log_fail(CLI_BAD_FILE, "%s; give --data", wick_context_error(r->ctx));
}

/* Notes what each image was taken for, and how probable that was: the softmax at its largest logit. */
static void note(const evaluator *e, int64_t first, int64_t n, void *user) {
    const report *r = user;
    const int64_t classes = r->c.classes;
    for (int64_t i = 0; i < n; i++) {
        const float *logits = e->logits + i * classes;
        double sum = 0, largest = (double)logits[e->predicted[i]];
        for (int64_t k = 0; k < classes; k++) sum += exp((double)logits[k] - largest);
        r->predicted[first + i] = e->predicted[i];
        r->probability[first + i] = (float)(1 / sum);
        for (int64_t k = 0; r->scores && k < classes; k++)
            r->scores[(first + i) * classes + k] = (float)(exp((double)logits[k] - largest) / sum);
    }
}

static int evaluate(report *r) {
    int64_t count = wick_dataset_count(r->measured);
    int code = layers_of(&r->c, CLI_BAD_FILE, &r->layers);
    if (r->c.task->kind != TASK_CLASSIFY) {
        if (code == CLI_OK) code = evaluator_new(&r->e, &r->c, r->measured);
        return code == CLI_OK ? evaluator_run(&r->e, &r->result) : code;
    }
    r->predicted = step_buffer(count, sizeof *r->predicted);
    r->probability = step_buffer(count, sizeof *r->probability);
    const bool keeps = r->c.classes > 1 && r->c.classes <= MOST_SCORES / count;
    if (keeps) r->scores = step_buffer(count * r->c.classes, sizeof *r->scores);
    if (!r->predicted || !r->probability || (keeps && !r->scores)) return out_of_memory();
    if (code == CLI_OK) code = evaluator_new(&r->e, &r->c, r->measured);
    r->e.look = note;
    r->e.user = r;
    return code == CLI_OK ? evaluator_run(&r->e, &r->result) : code;
}

/* The step of the run, on a fresh optimizer; nothing is trained until it is timed. */
static int build_step(report *r) {
    const cli_options *o = &r->kept;
    int64_t count = r->train ? wick_dataset_count(r->train) : 1, batch = o->batch < count ? o->batch : count;
    if (r->has_options) r->optim = trainer_optim(o, (count + batch - 1) / batch * o->epochs, &r->groups);
    r->untimed = !r->has_options ? "last.safetensors, which has the options of the run, is not there"
                 : !r->train     ? "there are no training data"
                                 : NULL;
    if (r->untimed) return CLI_OK;
    wick_model_set_training(r->c.model, true);
    if (o->leaves) batch /= o->leaves; /* a leaf by itself, and the update */
    /* flips and crops change no plan */
    wick_loader_options loading = {.batch = batch, .seed = (uint64_t)o->seed, .transform = r->e.transform};
    const wick_compile_options compiling = trainer_compiling(o);
    const trainer_loss loss = {
        .smoothing = o->label_smoothing, .noise = o->of_train.noise, .margin = o->of_train.margin};
    int code = trainer_new(&r->t, &r->c, r->train, &r->optim, loss, NULL, &loading, &compiling);
    r->has_trainer = code == CLI_OK;
    return code;
}

/* The times of the step that just ran, as column r->timed. */
static void note_times(report *r, const wick_workspace *ws, int kernels) {
    for (int i = 0; i < kernels; i++)
        r->kernel_ns[(int64_t)i * REPORT_STEPS + r->timed] = (double)wick_workspace_kernel_ns(ws, i, NULL);
    r->timed++;
}

/* Trains on, in memory alone, with the clock on. Only whole batches run the plan that is shown. false: out of memory.
 */
static bool time_steps(report *r) {
    trainer *t = &r->t;
    wick_workspace *ws = t->steps[1][0].workspace;
    const int kernels = wick_plan_get_info(t->steps[1][0].plan).kernels;
    r->kernel_ns = step_buffer((int64_t)kernels * REPORT_STEPS, sizeof *r->kernel_ns);
    if (!r->kernel_ns) return false;
    double start = now_seconds();
    for (int64_t steps = 0; r->timed < REPORT_STEPS && !r->untimed;) {
        trainer_result result;
        int64_t n;
        if (trainer_load(t, &n) != CLI_OK) r->untimed = "its data cannot be read";
        if (n < t->batch) continue; /* the end of an epoch */
        if (steps == WARM_STEPS) start = now_seconds();
        wick_workspace_profile(ws, true); /* from 0 */
        /* The last batch of those whose gradients add up is the one that updates. */
        wick_status status = trainer_step(t, (steps + 1) * t->accumulate - 1, n, &result, &r->untimed);
        if (status != WICK_OK) return true;
        r->untimed = NULL;
        if (++steps > WARM_STEPS) note_times(r, ws, kernels);
        if (r->timed >= FEWEST_STEPS && now_seconds() - start > MOST_SECONDS) break;
    }
    return true;
}

/* What --quantize wrote into the run's folder, beside its best model. What is wrong with it is said on the page. false:
 * out of memory. */
static bool draw_compressed(FILE *out, const report *r) {
    static const char *const names[] = {NULL, "int8.onnx", "int4.onnx"};
    const char *name = r->has_options ? names[r->kept.of_train.quantize] : NULL;
    if (!name || r->c.task->kind != TASK_CLASSIFY) return true;
    char *path = path_join(r->o->model, name), why[512] = "";
    if (!path) return false;
    if (path_exists(path)) {
        log_catch(why, sizeof why);
        const int code = compare_section(out, r->ctx, r->o, path);
        log_catch(NULL, 0);
        if (code != CLI_OK) {
            wick_context_clear_error(r->ctx);
            fputs("<section><h2>Before and after</h2>\n<p class=\"note\">Not measured: ", out);
            html_text(out, why);
            fputs("</p></section>\n", out);
        }
    }
    free(path);
    return true;
}

/* ---- the page ---------------------------------------------------------------------------------------------------- */

static int write_page(report *r, FILE *out) {
    char title[256];
    snprintf(title, sizeof title, "%.120s on %.120s", report_is_text(r) ? "A network" : r->c.arch, r->data);
    html_begin(out, title);
    report_head(out, r);
    report_curves(out, r);
    const bool classes = r->c.task->kind == TASK_CLASSIFY;
    bool ok = classes ? report_mistakes(out, r) && report_ranking(out, r) : report_task(out, r);
    ok = ok && report_sounds(out, r);
    ok = ok && draw_compressed(out, r);
    report_layers(out, r);
    ok = ok && report_filters(out, r);
    if (ok && r->has_trainer) ok = time_steps(r);
    ok = ok && report_plan(out, r);
    report_recipe(out, r);
    html_end(out);
    return ok ? CLI_OK : out_of_memory();
}

static int save_page(report *r, const char *path) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out) return out_of_memory();
    int code = write_page(r, out);
    if (fclose(out) != 0 && code == CLI_OK) code = out_of_memory();
    if (code == CLI_OK) {
        wick_status status = wick_file_write(r->ctx, path, text, size);
        if (status != WICK_OK) code = log_fail(CLI_FAILED, "%s", log_why(r->ctx, status));
    }
    free(text);
    return code;
}

static void print_result(const report *r, const char *path) {
    double accuracy = (double)r->result.correct / (double)r->result.count;
    const bool classes = r->c.task->kind == TASK_CLASSIFY;
    if (!r->o->json && !classes) {
        log_note("%s %.4f of %lld %s%s; open it in a browser:", r->result.scores[0].title, r->result.scores[0].value,
                 (long long)r->result.count, report_noun(r), plural(r->result.count));
        printf("%s\n", path);
        return;
    }
    if (!r->o->json) {
        log_note("%.2f %% of %lld %s%s; open it in a browser:", 100 * accuracy, (long long)r->result.count,
                 report_noun(r), plural(r->result.count));
        printf("%s\n", path);
        return;
    }
    json j = log_json_open();
    json_bool(&j, "ok", true);
    json_text(&j, "path", path);
    json_text(&j, "model", r->o->model);
    json_text(&j, "data", r->data);
    json_text(&j, "split", r->measured == r->test ? "test" : "train");
    if (r->c.changed) json_bool(&j, "data_changed", true);
    json_integer(&j, "images", r->result.count);
    json_text(&j, "task", r->c.task->name);
    if (classes) json_real(&j, "accuracy", accuracy, 9);
    for (int i = 0; i < r->result.n && !classes; i++)
        json_real(&j, r->result.scores[i].key, r->result.scores[i].value, 9);
    json_real(&j, "loss", r->result.loss, 9);
    json_integer(&j, "steps_timed", r->timed);
    log_json_close(&j);
}

int cmd_report(cli_options *o) {
    report r = {.o = o};
    if (!path_is_folder(o->model))
        return log_fail(CLI_BAD_FILE, "%s is no folder of a run: give the one that has its best.safetensors", o->model);
    char *path = o->out[0] ? strdup(o->out) : path_join(o->model, "report.html");
    if (!path ||
        wick_context_new(&(wick_context_options){.tuning = tuned(), .threads = (int)o->threads}, &r.ctx) != WICK_OK) {
        free(path);
        return log_fail(CLI_FAILED, "could not start: out of memory or threads");
    }
    int code = open_model(&r);
    if (code == CLI_OK) code = open_run(&r);
    if (code == CLI_OK) code = open_data(&r);
    if (code == CLI_OK) code = evaluate(&r);
    if (code == CLI_OK) code = build_step(&r);
    if (code == CLI_OK) code = save_page(&r, path);
    if (code == CLI_OK) print_result(&r, path);
    free(path);
    free(r.log_path);
    free(r.predicted);
    free(r.probability);
    free(r.scores);
    free(r.kernel_ns);
    wick_summary_free(&r.layers);
    runlog_free(&r.log);
    options_free(&r.kept);
    evaluator_free(&r.e);
    trainer_free(&r.t);
    classifier_free(&r.c);
    wick_dataset_free(&r.test);
    wick_dataset_free(&r.train);
    wick_context_free(&r.ctx);
    return code;
}
