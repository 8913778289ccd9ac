#include "trainer.h"

#include "shared.h"
#include "../options.h"
#include "../term/log.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    INPUTS = 2,
    OUTPUTS = 2,
    STREAMS = 1 << 20 /* random streams set aside for each plan: far more than a network has random ops */
};

/* What the recording function is to know beyond its inputs. */
typedef struct recording {
    trainer *t;
    bool update, last;
} recording;

/* What becomes of out[0], the loss, after all else was recorded. */
static wick_status finish(const recording *r, wick_tensor **out) {
    trainer *t = r->t;
    wick_here("update");
    if (t->leaves.n) return leaves_record(t, r->last, out);
    return r->update ? wick_optimizer_step(t->optimizer, out[0]) : wick_optimizer_accumulate(t->optimizer, out[0]);
}

/* What the task says is lost, as a mean over the batch. */
static wick_tensor *task_loss(wick_context *ctx, const trainer *t, wick_tensor *const *in) {
    classifier *c = t->c;
    wick_tensor *x = classifier_prepared(c, in[0]), *given = x;
    if (t->noise > 0)
        given = wick_add(x, wick_mul(wick_random_normal(ctx, WICK_F32, wick_tensor_rank(x), wick_tensor_dims(x)),
                                     wick_like(x, t->noise)));
    wick_tensor *y = classifier_outputs(c, given);
    wick_here("loss");
    c->weights = t->class_weights;
    c->margin = t->margin;
    wick_tensor *rows = c->task->rows(c, x, y, in[1]);
    c->weights = NULL;
    return wick_mean(rows, WICK_ALL_AXES, false);
}

static wick_status record(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    const recording *r = user;
    if (r->t->c->task->kind != TASK_CLASSIFY) {
        out[0] = task_loss(ctx, r->t, in);
        out[1] = wick_zeros(ctx, WICK_I64, 0, NULL); /* none is right or wrong */
        return finish(r, out);
    }
    if (r->t->teachers) teachers_watch(r->t->teachers, r->t->c);
    wick_tensor *logits = classifier_logits(r->t->c, in[0]);
    if (r->t->teachers) teachers_rest(r->t->c);
    wick_here("loss");
    /* a mixed sample is of the class that it has most of */
    wick_tensor *labels = r->t->mixed ? wick_argmax(in[1], 1, false) : in[1];
    wick_tensor *right = wick_eq(wick_argmax(logits, 1, false), labels);
    const int64_t classes = r->t->c->classes;
    wick_cross_entropy_options how = {.smoothing = r->t->smoothing};
    if (r->t->class_weights) how.weight = wick_from(ctx, WICK_F32, 1, &classes, r->t->class_weights);
    wick_tensor *loss = wick_cross_entropy_with(logits, in[1], &how);
    if (r->t->teachers) loss = teachers_loss(r->t->teachers, r->t->c, in[0], logits, loss);
    out[0] = loss;
    out[1] = wick_sum(wick_cast(right, WICK_I64), WICK_ALL_AXES, false);
    return finish(r, out);
}

wick_status trainer_compile(trainer *t, bool update, bool last, const wick_compile_options *options, step *s) {
    recording r = {t, update, last};
    const leaf_cut *v = &t->leaves;
    const int64_t whole = v->n ? v->size : t->batch, tail = v->n ? v->rest : t->tail, n = last ? tail : whole;
    if (t->teachers) {
        const wick_status status = teachers_prepare(t->teachers, n);
        if (status != WICK_OK) return status;
    }
    uint64_t stream = (uint64_t)STREAMS * (1 + 2 * update + last);
    const int outputs = OUTPUTS + leaves_outputs(t);
    return step_compile(s, t->c, record, &r, n, INPUTS, outputs, t->mixed, t->seed, stream, options);
}

const option_use *trainer_use(int i) {
    static const option_use uses[] = {
        {"momentum", "optimizer", "sgd|muon|rmsprop"},
        {"nesterov", "optimizer", "sgd"},
        {"beta1", "optimizer", "adam|adamw|muon|adamax|nadam|radam|lamb|lion"},
        {"beta2", "optimizer", "adam|adamw|muon|adamax|nadam|radam|lamb|lion|rmsprop|adadelta"},
        {"amsgrad", "optimizer", "adam|adamw"},
        {"lr-min", "schedule", "cosine|restarts|polynomial|plateau"},
        {"lr-every", "schedule", "step|restarts"},
        {"lr-gamma", "schedule", "step|multistep|exponential|plateau"},
        {"lr-at", "schedule", "multistep"},
        {"lr-mult", "schedule", "restarts"},
        {"lr-power", "schedule", "polynomial"},
        {"lr-rise", "schedule", "onecycle"},
        {"lr-patience", "schedule", "plateau"},
        {"cycle-momentum", "schedule", "onecycle"},
        {"wire", "mode", "fast"},
    };
    return (size_t)i < sizeof uses / sizeof uses[0] ? &uses[i] : NULL;
}

bool trainer_uses(const option_use *use, const cli_options *o) {
    const char *choice = options_text(o, use->by);
    const size_t length = strlen(choice);
    for (const char *at = use->choices; (at = strstr(at, choice)); at += length)
        if ((at == use->choices || at[-1] == '|') && (at[length] == '|' || !at[length])) return true;
    return false;
}

/* A number of which -1 is the default and 0 is meant. */
static double given(double value, double fallback) { return value == 0 ? WICK_ZERO : value < 0 ? fallback : value; }

bool trainer_milestones(const char *list, int64_t at[WICK_MILESTONES]) {
    int64_t last = 0;
    memset(at, 0, WICK_MILESTONES * sizeof *at);
    for (int n = 0; n < WICK_MILESTONES; n++) {
        char *end;
        const long long value = *list >= '0' && *list <= '9' ? strtoll(list, &end, 10) : 0;
        if (value <= last || value > INT64_MAX / 2) return false;
        at[n] = last = value;
        if (!*end) return true;
        if (*end != ',') return false;
        list = end + 1;
    }
    return false;
}

const char *trainer_below_zero(const cli_options *o, double *value) {
    const struct {
        const char *name;
        double value;
    } own[] = {{"momentum", o->update.momentum}, {"beta1", o->update.beta1}, {"beta2", o->update.beta2}};
    for (int i = 0; i < 3; i++)
        if ((*value = own[i].value) < 0 && own[i].value != -1) return own[i].name;
    return NULL;
}

double trainer_peak(const wick_optim_options *optim) {
    return wick_optim_lr_at(&(wick_optim_options){.kind = optim->kind, .lr = optim->lr}, 0);
}

wick_optim_options trainer_optim(const cli_options *o, int64_t steps, param_groups *groups) {
    /* in the order of */
    static const wick_optim_kind kinds[] = {WICK_SGD, WICK_ADAM, WICK_ADAMW, WICK_MUON, WICK_ADAMAX, WICK_NADAM,
                                            /* the options' table */
                                            WICK_RADAM, WICK_RMSPROP, WICK_ADAGRAD, WICK_ADADELTA, WICK_LAMB,
                                            WICK_LION};
    enum { PLATEAU = 8 };
    static const wick_schedule_kind schedules[] = {
        WICK_SCHEDULE_CONSTANT,   WICK_SCHEDULE_STEP,        WICK_SCHEDULE_COSINE,
        WICK_SCHEDULE_MULTI_STEP, WICK_SCHEDULE_EXPONENTIAL, WICK_SCHEDULE_RESTARTS,
        WICK_SCHEDULE_ONE_CYCLE,  WICK_SCHEDULE_POLYNOMIAL,  [PLATEAU] = WICK_SCHEDULE_CONSTANT};
    const int64_t updates = steps / o->of_train.accumulate > 0 ? steps / o->of_train.accumulate : 1;
    const wick_optim_kind kind = kinds[o->update.optimizer];
    const wick_schedule_kind schedule = schedules[o->of_train.schedule];
    const bool momentum = kind == WICK_SGD || kind == WICK_MUON || kind == WICK_RMSPROP;
    wick_optim_options optim = {
        .kind = kind,
        .lr = o->update.lr,
        .momentum = momentum ? given(o->update.momentum, kind == WICK_SGD ? 0.9 : 0) : 0,
        .nesterov = o->update.nesterov,
        .beta1 = given(o->update.beta1, 0),
        .beta2 = given(o->update.beta2, 0),
        .amsgrad = o->update.amsgrad,
        .weight_decay = o->update.weight_decay,
        .clip_norm = o->update.clip,
        .accumulate = (int)o->of_train.accumulate,
        .loss_scale = {.initial = o->precision == WICK_PRECISION_F16 ? 65536 : 0},
        .average = {.kind = o->of_train.ema > 0 ? WICK_AVERAGE_EMA : WICK_AVERAGE_NONE,
                    .decay = o->of_train.ema,
                    .buffers = true},
        .schedule = {.kind = schedule,
                     .warmup = o->of_train.warmup >= 0               ? o->of_train.warmup
                               : schedule == WICK_SCHEDULE_ONE_CYCLE ? 0
                                                                     : updates / 20,
                     .total = updates,
                     .every = o->of_train.lr_every,
                     .gamma = o->of_train.lr_gamma,
                     .lr_min = o->of_train.lr_min,
                     .mult = (double)o->of_train.lr_mult,
                     .power = given(o->of_train.lr_power, 0),
                     .rise = o->of_train.lr_rise,
                     .cycle_momentum = o->of_train.cycle_momentum},
        .plateau = {.factor = o->of_train.schedule == PLATEAU ? o->of_train.lr_gamma : 0,
                    .patience = o->of_train.lr_patience > 0 ? o->of_train.lr_patience : -1,
                    .lr_min = o->of_train.lr_min},
    };
    char error[160];
    trainer_milestones(o->of_train.lr_at, optim.schedule.milestones); /* checked before */
    if (groups_read(groups, o->update.group, o->freeze, trainer_peak(&optim), error, sizeof error))
        optim.groups = groups->list, optim.n_groups = groups->n;
    return optim;
}

wick_compile_options trainer_compiling(const cli_options *o) {
    return (wick_compile_options){
        .memory_budget = (size_t)o->memory_budget, .precision = (wick_precision)o->precision, .wide = o->wide};
}

/* Why the step of the last batch of an epoch can't be made, where that of the others can: it is smaller. */
static int tail_failed(const trainer *t, wick_status status, int64_t count) {
    int64_t fits = t->batch + 1;
    while (fits < count && count % fits == t->tail) fits++;
    char leaves[32] = "none";
    if (count % fits) snprintf(leaves, sizeof leaves, "%lld", (long long)(count % fits));
    return log_fail(log_code(status, CLI_USAGE),
                    "%s; the last batch of each epoch is %lld sample%s, which %lld in batches of %lld leave over: "
                    "--batch %lld leaves %s",
                    log_why(t->c->ctx, status), (long long)t->tail, plural(t->tail), (long long)count,
                    (long long)t->batch, (long long)fits, leaves);
}
static int leaf_failed(const trainer *t, wick_status status) {
    const long long size = t->leaves.size, rest = t->leaves.rest;
    const char *why = *t->leaves.error ? t->leaves.error : log_why(t->c->ctx, status);
    if (status == WICK_ERR_SHAPE && (size == 1 || rest))
        return log_fail(CLI_USAGE,
                        "%s; --leaves %lld makes leaves of %lld sample%s of a batch of %lld, and one of %lld at the "
                        "end of an epoch: fewer --leaves, or another --batch",
                        why, (long long)t->leaves.n, size, plural(size), (long long)t->batch, rest);
    const bool of_group = *t->leaves.error && why == t->leaves.error;
    return log_fail(of_group ? shared_code(status) : log_code(status, CLI_USAGE), "--leaves: %s", why);
}

int trainer_new(trainer *t, classifier *c, const wick_dataset *dataset, const wick_optim_options *optim,
                trainer_loss loss, teachers *taught_by, const wick_loader_options *loading,
                const wick_compile_options *compiling) {
    int64_t count = wick_dataset_count(dataset);
    *t = (trainer){.c = c,
                   .batch = loading->batch < count ? loading->batch : count,
                   .seed = loading->seed,
                   .smoothing = loss.smoothing,
                   .noise = loss.noise,
                   .margin = loss.margin,
                   .class_weights = loss.class_weights,
                   .teachers = taught_by && taught_by->n ? taught_by : NULL,
                   .compiling = *compiling,
                   .scale = 1,
                   .plateau = optim->plateau.factor > 0};
    t->tail = count % t->batch;
    t->accumulate = optim->accumulate > 1 ? optim->accumulate : 1;
    t->mixed = loading->transform && wick_transform_mixes(loading->transform);
    wick_status status = loss.leaves ? leaves_cut(t, &loss) : WICK_OK;
    wick_loader_options all = *loading;
    all.batch = t->batch;
    all.shuffle = true;
    if (c->task->kind == TASK_SEGMENT && all.transform) all.joint[1] = WICK_JOINT_MASK, all.pad[1] = 255;
    if (c->task->kind == TASK_DETECT && all.transform) all.joint[1] = WICK_JOINT_BOXES;
    if (c->task->kind == TASK_KEYPOINTS && all.transform) all.joint[1] = WICK_JOINT_POINTS;
    classifier_size_boxes(c, dataset);
    if (!all.transform && !c->floats) all.mean = c->mean, all.deviation = c->deviation;
    if (loss.leaves && !t->mixed) leaves_part(&t->leaves, &all); /* what mixes needs all of a batch */
    if (status == WICK_OK && c->task->kind == TASK_CTC) {
        const int code = ctc_check_texts(c, dataset);
        if (code != CLI_OK) return code;
        c->longest = wick_dataset_field(dataset, 1)->dims[0];
    }
    if (status == WICK_OK) status = wick_optimizer_new(c->model, optim, &t->optimizer);
    if (status == WICK_OK) status = wick_loader_new(c->ctx, dataset, &all, &t->loader);
    if (status == WICK_OK && t->leaves.n) status = leaves_new(t);
    if (t->leaves.n && (*t->leaves.error || status == WICK_ERR_SHAPE)) return leaf_failed(t, status);
    /* All of them now and in this order, so that every process makes the same states in the same order. */
    bool tail = false;
    for (int update = t->accumulate == 1; update < 2 && !t->leaves.n; update++)
        for (int last = 0; last <= (t->tail > 0); last++)
            if (status == WICK_OK)
                status = trainer_compile(t, update, last, &t->compiling, &t->steps[update][last]), tail = last;
    if (status == WICK_OK) return CLI_OK;
    if (status == WICK_ERR_SHAPE && tail) return tail_failed(t, status, count);
    if (status == WICK_ERR_SHAPE && t->batch == 1)
        return log_fail(CLI_USAGE, "%s; each batch is one sample%s", log_why(c->ctx, status),
                        count > 1 ? ": --batch 2 or more" : ", for there is one");
    const char *option = log_compiling(c->ctx, status, compiling);
    const bool group = status == WICK_ERR_INVALID && optim->n_groups; /* that no parameter is in */
    if (option) return log_fail(CLI_USAGE, "--%s: %s", option, log_why(c->ctx, status));
    return log_fail(group ? CLI_USAGE : CLI_FAILED, "%s%s", group ? "--group or --freeze: " : "",
                    log_why(c->ctx, status));
}

void trainer_free(trainer *t) {
    for (int i = 0; i < 4; i++) step_free(&t->steps[i / 2][i % 2]);
    leaves_free(&t->leaves);
    wick_optimizer_free(&t->optimizer);
    wick_loader_free(&t->loader);
    *t = (trainer){0};
}

void trainer_resumed(trainer *t) { t->scale = wick_optimizer_plateau(t->optimizer); }
int trainer_note_loss(trainer *t, double loss) {
    if (!t->plateau) return CLI_OK;
    wick_status status = wick_optimizer_metric(t->optimizer, loss);
    t->scale = wick_optimizer_plateau(t->optimizer);
    return status == WICK_OK ? CLI_OK : log_fail(CLI_FAILED, "%s", log_why(t->c->ctx, status));
}

int trainer_load(trainer *t, int64_t *n) {
    const double began = now_seconds();
    const wick_status status = wick_loader_take(t->loader, &t->loaded);
    t->leaves.shares.load = now_seconds() - began;
    *n = t->loaded.count;
    if (status != WICK_OK) return log_fail(log_code(status, CLI_BAD_FILE), "%s", log_why(t->c->ctx, status));
    int64_t first = 0, end = *n;
    if (t->leaves.n) leaves_samples(&t->leaves, *n, &first, &end);
    return classifier_check_samples(t->c, (float *)t->loaded.fields[0] + first * t->c->pixels, end - first);
}

static bool updates(const trainer *t, int64_t number) { return (number + 1) % t->accumulate == 0; }

static wick_status run(trainer *t, step *s, int64_t number, trainer_result *result) {
    wick_workspace_set_offset(s->workspace, (uint64_t)number);
    return wick_run(s->workspace, (const void *[INPUTS]){t->loaded.fields[0], t->loaded.fields[1]},
                    (void *[OUTPUTS]){&result->loss, &result->correct});
}

wick_status trainer_step(trainer *t, int64_t number, int64_t n, trainer_result *result, const char **error) {
    if (t->leaves.n) return leaves_step(t, number, n, result, error);
    step *s = &t->steps[updates(t, number)][n < t->batch];
    wick_status status = run(t, s, number, result);
    *error = wick_workspace_error(s->workspace);
    return status;
}

/* The name of a weight that is NaN or Inf already, or NULL. */
static const char *bad_weight(const wick_model *model) {
    for (int i = 0; i < wick_model_count(model); i++) {
        wick_named state = wick_model_at(model, i);
        const void *data;
        if (wick_tensor_dtype(state.tensor) != WICK_F32 || wick_data(state.tensor, &data) != WICK_OK) continue;
        const float *values = data;
        for (int64_t k = 0; k < wick_tensor_count(state.tensor); k++)
            if (!isfinite(values[k])) return state.name;
    }
    return NULL;
}

void trainer_explain(trainer *t, int64_t number, int64_t n, char *text, size_t size) {
    const char *bad = bad_weight(t->c->model);
    if (bad || t->leaves.elsewhere) {
        snprintf(text, size, "%s%s%s", bad ? "'" : "", bad ? bad : "that rank tells",
                 bad ? "' held NaN or Inf before the step" : "");
        return;
    }
    step plans[2] = {0};
    const char *error = "";
    wick_compile_options options = {
        .no_passes = true, .check_finite = true, .precision = t->compiling.precision, .wide = t->compiling.wide};
    const bool last = n < t->batch;
    const bool cut = t->leaves.n > 0;
    wick_status status = WICK_OK;
    for (int k = 0; k < 2 && status == WICK_OK; k++)
        if (cut ? !k || t->leaves.rest : k == last)
            status = trainer_compile(t, updates(t, number), k, &options, &plans[k]);
    if (status != WICK_OK) {
        snprintf(text, size, "the step could not be repeated op by op: %s", log_why(t->c->ctx, status));
    } else {
        trainer_result result;
        status = cut ? leaves_replay(t, plans, number, n, &error) : run(t, &plans[last], number, &result);
        if (!cut) error = wick_workspace_error(plans[last].workspace);
        snprintf(text, size, "%s", status == WICK_OK ? "repeated op by op, every value was finite" : error);
    }
    for (int k = 0; k < 2; k++) step_free(&plans[k]);
}

wick_plan_info trainer_plan(const trainer *t) {
    wick_plan_info info = wick_plan_get_info(t->steps[1][0].plan);
    if (!t->leaves.n) return info;
    const wick_plan_info update = wick_plan_get_info(t->leaves.update.plan);
    info.flops = info.flops * (double)t->leaves.n + update.flops;
    info.recomputed_flops *= (double)t->leaves.n;
    info.arena_bytes += update.arena_bytes;
    info.scratch_bytes += update.scratch_bytes;
    return info;
}
