/* gate.c: samples, training, timing and writing of what a model is made into. */
#include "gate.h"
#include "../onnx/convert.h"
#include "../interrupt.h"
#include "../options.h"
#include "../term/log.h"
#include "../tuned.h"
#include "evaluate.h"
#include "trainer.h"

#include "wick/datasets.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { TRAINING_BATCH = 64, TIMED_ROUNDS = 41 };

int gate_failed(const gate *g, wick_status status, int blame) {
    return log_fail(log_code(status, blame), "%s", log_why(g->ctx, status));
}

/* ---- which images ------------------------------------------------------------------------------------------------ */

/* Numbers of all images in an order drawn by the seed (Fisher and Yates; splitmix64, Steele et al. 2014). */
static int64_t *shuffled(int64_t n, uint64_t seed) {
    int64_t *order = step_buffer(n, sizeof *order);
    for (int64_t i = 0; order && i < n; i++) order[i] = i;
    for (int64_t i = n - 1; order && i > 0; i--) {
        uint64_t z = seed += 0x9E3779B97F4A7C15u;
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
        z = (z ^ z >> 27) * 0x94D049BB133111EBu;
        const int64_t j = (int64_t)((z ^ z >> 31) % (uint64_t)(i + 1)), was = order[i];
        order[i] = order[j], order[j] = was;
    }
    return order;
}

/* What the training held out judges; it is made by images that the training learned from. */
static int choose_from_both(gate *g) {
    const int64_t n = wick_dataset_count(g->all), held = wick_dataset_count(g->held),
                  observed = g->o->gate.images < n ? g->o->gate.images : n,
                  judged = g->o->gate.judge < held ? g->o->gate.judge : held;
    int64_t *order = shuffled(n, (uint64_t)g->o->seed), *others = shuffled(held, (uint64_t)g->o->seed);
    wick_status status = order && others ? WICK_OK : wick_context_fail(g->ctx, WICK_ERR_NOMEM, "out of memory");
    if (status == WICK_OK) status = wick_dataset_subset(g->ctx, g->all, observed, order, &g->observed);
    if (status == WICK_OK) status = wick_dataset_subset(g->ctx, g->held, judged, others, &g->judged);
    if (status == WICK_OK && g->o->epochs) status = wick_dataset_subset(g->ctx, g->all, n, order, &g->learned);
    free(order);
    free(others);
    if (status != WICK_OK) return gate_failed(g, status, CLI_BAD_FILE);
    return g->learned ? classifier_transform(&g->c, g->learned, &g->transform) : CLI_OK;
}

/* Two parts of the training images that share none: to make it by, and to judge. */
static int choose_images(gate *g) {
    if (g->held) return choose_from_both(g);
    const int64_t n = wick_dataset_count(g->all);
    /* of a run that held nothing out a fifth judges: all else is trained on */
    int64_t observed = g->o->gate.images, judged = g->guest ? (n + 4) / 5 : g->o->gate.judge;
    if (n < 2) return log_fail(CLI_BAD_FILE, "there are not enough %ss: %lld", source_noun(g->all),
                               (long long)n);
    if (observed > n / 2) observed = n / 2;
    if (judged > n - observed) judged = n - observed;
    int64_t *order = shuffled(n, (uint64_t)g->o->seed);
    if (!order) return log_fail(CLI_FAILED, "out of memory");
    wick_status status = wick_dataset_subset(g->ctx, g->all, observed, order, &g->observed);
    if (status == WICK_OK) status = wick_dataset_subset(g->ctx, g->all, judged, order + observed, &g->judged);
    /* those behind the judged ones, and then the observed ones */
    if (status == WICK_OK && g->o->epochs) {
        memmove(order + observed, order + observed + judged, (size_t)(n - observed - judged) * sizeof *order);
        status = wick_dataset_subset(g->ctx, g->all, n - judged, order, &g->learned);
    }
    free(order);
    if (status != WICK_OK) return gate_failed(g, status, CLI_BAD_FILE);
    return g->learned ? classifier_transform(&g->c, g->learned, &g->transform) : CLI_OK;
}

wick_status gate_record_network(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx;
    out[0] = classifier_network(user, in[0]);
    return WICK_OK;
}
static wick_status record_prepared(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx;
    out[0] = classifier_prepared(user, in[0]);
    return WICK_OK;
}

/* ---- showing ----------------------------------------------------------------------------------------------------- */

/* Every full batch, through what comes before the network: what an ONNX file wants, or standardised rows. */
static int show_all(gate *g, wick_loader *loader, const step *prepared, void *x, gate_show_fn show, void *user) {
    for (;;) {
        wick_batch b;
        wick_status status = wick_loader_take(loader, &b);
        if (status != WICK_OK) return gate_failed(g, status, CLI_BAD_FILE);
        if (!b.count) return CLI_OK;
        const int fits = classifier_check_samples(&g->c, b.fields[0], b.count);
        if (fits != CLI_OK) return fits;
        const void *in = b.fields[0];
        if (prepared->plan) {
            status = wick_run(prepared->workspace, (const void *[]){in, NULL}, (void *[]){x});
            if (status != WICK_OK) return log_fail(CLI_FAILED, "%s", wick_workspace_error(prepared->workspace));
            in = x;
        }
        if ((status = show(user, &in, b.fields[1])) != WICK_OK) return gate_failed(g, status, CLI_BAD_FILE);
    }
}
int gate_show(gate *g, int64_t batch, gate_show_fn show, void *user) {
    return gate_show_set(g, g->observed, batch, show, user);
}
int gate_show_set(gate *g, const wick_dataset *set, int64_t batch, gate_show_fn show, void *user) {
    classifier *c = &g->c;
    const wick_spec spec = classifier_network_spec(c, batch);
    wick_transform *transform;
    wick_loader *loader = NULL;
    step prepared = {0};
    wick_status status;
    int code = classifier_transform(c, set, &transform);
    wick_loader_options loading = {.batch = batch, .drop_last = true, .transform = transform};
    if (!c->floats) loading.mean = c->mean, loading.deviation = c->deviation;
    void *x = step_buffer((int64_t)wick_spec_bytes(&spec), 1);
    if (code == CLI_OK && !x) code = log_fail(CLI_FAILED, "out of memory");
    if (code == CLI_OK && (status = wick_loader_new(g->ctx, set, &loading, &loader)) != WICK_OK)
        code = gate_failed(g, status, CLI_BAD_FILE);
    if (code == CLI_OK && (c->onnx || c->standard) &&
        (status = step_compile(&prepared, c, record_prepared, c, batch, 1, 1, false, 0, 0, NULL)) != WICK_OK)
        code = gate_failed(g, status, CLI_BAD_FILE);
    if (code == CLI_OK) code = show_all(g, loader, &prepared, x, show, user);
    step_free(&prepared);
    wick_loader_free(&loader);
    wick_transform_free(&transform);
    free(x);
    return code;
}

/* ---- training ---------------------------------------------------------------------------------------------------- */

/* Copies the parameters to `to`, one behind the other, or back; to NULL: nothing. Returns their bytes; 0: it failed. */
static size_t copy_parameters(wick_model *m, char *to, bool back) {
    size_t at = 0;
    for (int i = 0; i < wick_model_count(m); i++) {
        const wick_named state = wick_model_at(m, i);
        const void *data;
        if (state.role != WICK_ROLE_PARAM) continue;
        const size_t n = wick_dtype_bytes(wick_tensor_dtype(state.tensor), wick_tensor_count(state.tensor));
        if (to && back && wick_write(state.tensor, to + at, n) != WICK_OK) return 0;
        if (to && !back && wick_data(state.tensor, &data) != WICK_OK) return 0;
        if (to && !back) memcpy(to + at, data, n);
        at += n;
    }
    return at;
}

/* One epoch over the images that judge nothing. */
static int train_epoch(gate *g, trainer *t, const gate_training *how, int64_t *number, int64_t steps, double *loss) {
    int64_t n, images = 0;
    *loss = 0;
    for (;;) {
        trainer_result result;
        const char *error;
        const int code = trainer_load(t, &n);
        if (code != CLI_OK || !n) {
            *loss /= images ? (double)images : 1;
            return code;
        }
        wick_status status = trainer_step(t, *number, n, &result, &error);
        if (status != WICK_OK) return log_fail(CLI_FAILED, "training: %s", error);
        ++*number;
        if (interrupted()) return log_fail(CLI_INTERRUPTED, "interrupted; nothing of it is written");
        if (how->stepped && (status = how->stepped(how->owner, *number, steps)) != WICK_OK)
            return gate_failed(g, status, CLI_FAILED);
        *loss += (double)result.loss * (double)n, images += n;
    }
}

int gate_train(gate *g, const gate_training *how) {
    const cli_options *o = g->o;
    const int64_t count = wick_dataset_count(g->learned), batch = count < TRAINING_BATCH ? count : TRAINING_BATCH,
                  steps = (count + batch - 1) / batch * o->epochs;
    const wick_optim_options optim = {.kind = WICK_ADAM,
                                      .lr = o->update.lr > 0 ? o->update.lr : how->lr,
                                      .schedule = {.kind = WICK_SCHEDULE_COSINE, .total = steps}};
    wick_loader_options loading = g->loading ? *g->loading : (wick_loader_options){.transform = g->transform};
    loading.batch = batch;
    loading.seed = (uint64_t)o->seed;
    /* of classes what the whole network says is learned too */
    teachers whole = {.n = g->c.task->kind == TASK_CLASSIFY, .temperature = 2, .alpha = 0.7};
    classifier c = g->c;
    whole.c[0] = g->c;
    c.model = how->model;
    c.kept = g->c.model;
    c.instead = how->fn;
    c.instead_user = how->user;
    trainer t = {0};
    wick_status status = WICK_OK;
    int64_t number = 0;
    double best = g->after.score;
    char *kept = step_buffer((int64_t)copy_parameters(c.model, NULL, false), 1);
    const wick_compile_options compiling = {0};
    int code = kept && copy_parameters(c.model, kept, false)
                   ? trainer_new(&t, &c, g->learned, &optim, (trainer_loss){0}, &whole, &loading, &compiling)
                   : log_fail(CLI_FAILED, "out of memory");
    for (int64_t epoch = 0; epoch < o->epochs && code == CLI_OK; epoch++) {
        double loss;
        code = train_epoch(g, &t, how, &number, steps, &loss);
        if (code == CLI_OK && how->finish && (status = how->finish(how->owner)) != WICK_OK)
            code = gate_failed(g, status, CLI_FAILED);
        if (code == CLI_OK) code = gate_judge(g, true, &g->after);
        if (code != CLI_OK) break;
        const bool worse = gate_is_worse(g, g->after.score, best);
        char score[32];
        gate_score_text(g, g->after.score, score);
        log_note("epoch %lld/%lld  loss %.4f  %s %s %s%s", (long long)epoch + 1, (long long)o->epochs, loss,
                 gate_metric_of(g).title, score, how->kind, !worse && !how->last_only ? "  best" : "");
        if (how->last_only ? epoch + 1 < o->epochs : worse) continue;
        best = g->after.score;
        if (!copy_parameters(c.model, kept, false)) code = log_fail(CLI_FAILED, "out of memory");
    }
    if (code == CLI_OK && !copy_parameters(c.model, kept, true)) code = log_fail(CLI_FAILED, "out of memory");
    if (code == CLI_OK && how->finish && (status = how->finish(how->owner)) != WICK_OK)
        code = gate_failed(g, status, CLI_FAILED);
    if (code == CLI_OK) code = gate_judge(g, true, &g->after);
    trainer_free(&t);
    if (c.arena != g->c.arena) wick_shared_arena_free(&c.arena);
    free(kept);
    return code;
}

/* ---- what comes of it -------------------------------------------------------------------------------------------- */

static int by_size(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}
static wick_status record_logits(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx;
    out[0] = classifier_logits(user, in[0]);
    return WICK_OK;
}
/* Medians of one image, in turn: each keeps its packed weights, in memory of its own. */
int gate_time(gate *g) {
    wick_shared_arena *shared = g->c.arena;
    step s[2] = {{0}, {0}};
    double times[2][TIMED_ROUNDS];
    wick_spec specs[2];
    classifier_specs(&g->c, 1, specs);
    float *x = step_buffer(g->c.pixels, sizeof *x);
    char *y = NULL;
    wick_status status = x ? WICK_OK : WICK_ERR_NOMEM;
    if (x) memset(x, 0, (size_t)g->c.pixels * sizeof *x);
    for (int k = 0; k < 2 && status == WICK_OK; k++) {
        g->c.instead = k ? g->made : NULL;
        g->c.instead_user = g->made_user;
        g->c.arena = NULL;
        status = step_compile(&s[k], &g->c, record_logits, &g->c, 1, 1, 1, false, 0, 0, NULL);
        wick_shared_arena_free(&g->c.arena); /* goes with the step */
        const wick_plan_info info = status == WICK_OK ? wick_plan_get_info(s[k].plan) : (wick_plan_info){0};
        g->predicted[k] = info.predicted_seconds;
        g->flops[k] = info.flops;
        g->arena[k] = (int64_t)(info.arena_bytes + info.scratch_bytes);
        if (status != WICK_OK || y) continue;
        const wick_spec gives = wick_plan_output(s[k].plan, 0);
        if (!(y = step_buffer((int64_t)wick_spec_bytes(&gives), 1))) status = WICK_ERR_NOMEM;
    }
    g->c.instead = NULL;
    g->c.arena = shared;
    for (int round = -3; round < TIMED_ROUNDS && status == WICK_OK; round++)
        for (int k = 0; k < 2 && status == WICK_OK; k++) {
            const double start = now_seconds();
            status = wick_run(s[k].workspace, (const void *[]){x}, (void *[]){y});
            if (round >= 0) times[k][round] = now_seconds() - start;
        }
    for (int k = 0; k < 2; k++) {
        if (status == WICK_OK) qsort(times[k], TIMED_ROUNDS, sizeof(double), by_size);
        g->seconds[k] = status == WICK_OK ? times[k][TIMED_ROUNDS / 2] : (double)NAN;
        step_free(&s[k]);
    }
    free(x);
    free(y);
    return status == WICK_OK ? CLI_OK : gate_failed(g, status, CLI_FAILED);
}

static wick_status prepare_onnx(void *user, const wick_spec *in) {
    const classifier *c = user;
    return wick_onnx_prepare(c->onnx, in);
}
static wick_status record_onnx(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    classifier *c = user;
    return c->instead(ctx, in, out, c->instead_user);
}
/* An ONNX file, with the input and output that it has. */
static wick_status write_onnx(gate *g) {
    const wick_onnx_port in = wick_onnx_input(g->c.onnx, 0), out = wick_onnx_output(g->c.onnx, 0);
    wick_spec spec = classifier_network_spec(&g->c, 1);
    spec.name = in.name;
    const wick_onnx_symbol batch = {in.dim_names[0] ? in.dim_names[0] : "N", 0, 0};
    const wick_onnx_save_options options = {.opset = (int)g->o->opset,
                                            .outputs = (const char *const[]){out.name},
                                            .n_symbols = in.dims[0] < 0,
                                            .symbols = &batch,
                                            .graph = wick_onnx_get_info(g->c.onnx).graph,
                                            .prepare = prepare_onnx};
    return wick_onnx_save(g->model, record_onnx, &g->c, 1, &spec, 1, g->o->out, &options);
}

int gate_write(gate *g) {
    int code = CLI_OK;
    g->c.instead = g->made;
    g->c.instead_user = g->made_user;
    if (g->c.onnx && !g->c.data[0]) {
        const wick_status status = write_onnx(g);
        if (status != WICK_OK) code = gate_failed(g, status, CLI_FAILED);
    } else {
        code = convert_classifier_to_onnx(&g->c, g->model, g->o->opset, NULL, g->o->out);
    }
    g->c.instead = NULL;
    struct stat s;
    g->bytes[0] = 0;
    for (int i = 0; i < wick_model_count(g->c.model); i++) {
        const wick_named state = wick_model_at(g->c.model, i);
        if (state.role != WICK_ROLE_OPTIM)
            g->bytes[0] += (int64_t)wick_dtype_bytes(wick_tensor_dtype(state.tensor), wick_tensor_count(state.tensor));
    }
    g->bytes[1] = code == CLI_OK && stat(g->o->out, &s) == 0 ? (int64_t)s.st_size : 0;
    return code;
}

/* ---- opening ----------------------------------------------------------------------------------------------------- */

static int open_model(gate *g, const char *command, const char *what) {
    const cli_options *o = g->o;
    const size_t length = strlen(o->model);
    int code;
    if (length > 5 && strcmp(o->model + length - 5, ".onnx") == 0) {
        code = classifier_open_onnx(&g->c, g->ctx, o->model, NULL);
        g->c.bounded = true;
        if (code == CLI_OK && wick_onnx_outputs(g->c.onnx) != 1)
            code = log_fail(CLI_BAD_FILE, "%s has %d outputs; those with one are %s", o->model,
                            wick_onnx_outputs(g->c.onnx), what);
        if (code == CLI_OK && g->needs_logits && wick_onnx_drop_softmax(g->c.onnx))
            code = log_fail(CLI_BAD_FILE, "%s ends in what makes probabilities, and --%s needs logits", o->model,
                            o->epochs ? "epochs" : "importance taylor");
        if (code == CLI_OK) code = classifier_adapt_onnx(&g->c, o->model, 0, false);
    } else {
        code = classifier_load(&g->c, g->ctx, o->model);
    }
    if (code == CLI_OK && o->epochs && g->c.task->kind == TASK_EMBED)
        code = log_fail(CLI_USAGE, "%s --epochs: --task embed learns by vectors of identities, which its network lacks",
                        command);
    if (code == CLI_OK) code = classifier_pictures_of(&g->c, o);
    if (code == CLI_OK && *o->input_range && g->c.data[0])
        code = log_fail(CLI_USAGE, "--input-range is for an ONNX file: %s says itself how pixels are scaled", o->model);
    if (code == CLI_OK) code = classifier_set_range(&g->c, o->input_range, "", CLI_USAGE);
    return code;
}

/* Is --data what the model learned from, or a copy of it? Then only what the training held out judges. */
static bool is_own_data(const gate *g) {
    const char *data = g->o->data, *place;
    bool test;
    if (!*data || !g->c.data[0]) return false;
    if (classifier_has_own(&g->c, data)) return true;
    const bool there = source_place(g->ctx, data, &place) == WICK_OK;
    if (!there) wick_context_clear_error(g->ctx);
    return there && classifier_has_copy(&g->c, place, &test);
}
/* The samples, and what the training held out of them if that is known. */
static int open_samples(gate *g, const source_options *form) {
    const bool own = is_own_data(g);
    const char *split = "train", *data = own ? "" : g->o->data;
    int code = classifier_open_data(&g->c, data, &split, true, form, &g->all);
    if (code == CLI_OK && g->c.changed)
        return log_fail(CLI_BAD_FILE,
                        "%s: which samples of %s the model learned from is not known any more, so none can "
                        "judge what is made of it; --data takes others",
                        g->o->model, g->c.data);
    if (code != CLI_OK || !(g->c.validation > 0) || *data) return code;
    const wick_status status = classifier_open_split(&g->c, g->c.data, "validation", form, &g->held);
    if (status != WICK_OK) return gate_failed(g, status, CLI_BAD_FILE);
    if (own) log_note("--data %s is what %s learned from: what that held out judges", g->o->data, g->o->model);
    return CLI_OK;
}

int gate_open(gate *g, const char *command, const char *what) {
    const cli_options *o = g->o;
    source_options form;
    const size_t end = strlen(o->out);
    if (end <= 5 || strcmp(o->out + end - 5, ".onnx") != 0)
        return log_fail(CLI_USAGE, "--out %s: the name of what is written ends in .onnx", o->out);
    if (options_given(o, "lr") && !o->epochs) return log_fail(CLI_USAGE, "--lr is for --epochs");
    if (o->gate.keep_score > 0 && o->gate.max_drop >= 0)
        return log_fail(CLI_USAGE, "--keep-score and --max-drop both say how much may be lost");
    const wick_context_options context = {.tuning = tuned(), .threads = (int)o->threads, .jit = WICK_JIT_ON};
    if (!g->guest && wick_context_new(&context, &g->ctx) != WICK_OK)
        return log_fail(CLI_FAILED, "could not start: out of memory or threads");
    int code = open_model(g, command, what);
    if (code == CLI_OK) code = source_read_options(o, &form);
    if (code == CLI_OK) code = open_samples(g, &form);
    if (code == CLI_OK) wick_model_set_training(g->c.model, false);
    if (code == CLI_OK) code = gate_choose_way(g, &form);
    if (code == CLI_OK) code = choose_images(g);
    if (code == CLI_OK)
        snprintf(g->judging, sizeof g->judging, g->held ? "%ss that the training held out"
                                                        : "training %ss that it was not made by",
                 source_noun(g->judged));
    return code;
}
void gate_free(gate *g) {
    free(g->before.each);
    free(g->after.each);
    classifier_free(&g->c);
    wick_transform_free(&g->transform);
    wick_dataset_free(&g->learned);
    wick_dataset_free(&g->judged);
    wick_dataset_free(&g->odd);
    wick_dataset_free(&g->given);
    wick_dataset_free(&g->observed);
    wick_dataset_free(&g->held);
    wick_dataset_free(&g->all);
    if (!g->guest) wick_context_free(&g->ctx);
}
