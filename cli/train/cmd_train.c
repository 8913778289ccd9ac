/* wick train: the training loop, with checkpoints, a log, and a way out of every failure. */
#include "../interrupt.h"
#include "../options.h"
#include "../paths.h"
#include "ranks.h"
#include "shared.h"
#include "source.h"
#include "../term/log.h"
#include "training.h"
#include "../context.h"
#include "weights.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- before ------------------------------------------------------------------------------------------------------ */

/* The file that --model names; a run that goes on has a copy of it. */
static int from_onnx(training *t, const cli_options *kept) {
    const cli_options *o = t->o;
    char *copy = kept ? path_join(t->folder, CLASSIFIER_ONNX) : NULL;
    if (kept && !copy) return log_fail(CLI_FAILED, "out of memory");
    const int code = classifier_for_onnx(&t->c, t->ctx, t->train, o->data, kept ? copy : o->of_train.onnx, o->head,
                                         kept ? CLI_BAD_FILE : CLI_USAGE);
    free(copy);
    if (code != CLI_OK || strcmp(o->input_range, "auto") != 0) return code;
    const wick_status status = wick_dataset_moments(t->ctx, t->train, &t->c.mean, &t->c.deviation);
    return status == WICK_OK ? CLI_OK : log_fail(log_code(status, CLI_BAD_FILE), "%s", log_why(t->ctx, status));
}

/* What other data will be read by. */
static int keep_coding(training *t) {
    source_options so;
    const int code = source_read_options(t->o, &so);
    t->c.separator = so.separator;
    t->c.decimal = so.decimal;
    t->c.no_header = so.no_header;
    if (code == CLI_OK && !(t->c.coding = strdup(t->coding))) return log_fail(CLI_FAILED, "out of memory");
    return code == CLI_OK ? classifier_read_heads(&t->c, t->o->data) : code;
}

static int build(training *t) {
    const cli_options *o = t->o, *kept = o->of_train.resume[0] ? &t->r.kept : NULL;
    char arch[4096];
    int code = kept ? training_arch(t->ctx, kept, training_of_file, arch, sizeof arch) : CLI_OK;
    if (code == CLI_OK) code = training_arch(t->ctx, o, "", arch, sizeof arch);
    wick_profile_begin(t->ctx, "open data");
    if (code == CLI_OK) code = training_open_data(t);
    wick_profile_end(t->ctx);
    if (code == CLI_OK) code = training_settle_task(t);
    if (code == CLI_OK) code = training_arch(t->ctx, o, "", arch, sizeof arch); /* of what was chosen for the data */
    if (code == CLI_OK) code = training_fill_tokens(t, arch, sizeof arch);
    if (code != CLI_OK) return code;
    if (t->whole) t->c.validation = strtod(o->of_train.validation, NULL);
    wick_loader_options *loading = &t->loading;
    *loading = (wick_loader_options){.seed = (uint64_t)o->seed};
    if (kept) code = training_read_augment(t, kept, training_of_file, loading);
    if (code == CLI_OK) code = training_read_augment(t, o, "", loading);
    if (code != CLI_OK) return code;
    /* The first weights depend on the seed and their names. */
    wick_context_set_random(t->ctx, (uint64_t)o->seed, 0);
    int64_t count = wick_dataset_count(t->train), batch = o->batch < count ? o->batch : count;
    int64_t batches = (count + batch - 1) / batch;
    t->steps = batches * o->epochs;
    loading->batch = batch;
    loading->workers = (int)o->of_train.workers;
    loading->adaptive = o->adaptive;
    t->optim = trainer_optim(o, t->steps, &t->groups);
    if (ranks_shard(t)) t->optim.shard = (wick_shard){wick_group_rank(t->group), wick_group_size(t->group)};
    if (kept) code = training_check_optim(kept, training_of_file, batches * kept->epochs);
    if (code == CLI_OK) code = training_check_optim(o, "", t->steps);
    if (code == CLI_OK) code = training_check_leaves(o, kept ? training_of_file : "", batch);
    if (code == CLI_OK && *o->of_train.onnx)
        code = from_onnx(t, kept);
    else if (code == CLI_OK)
        code = classifier_for_dataset(&t->c, t->ctx, t->train, o->data, o->transform, o->of_train.label, arch,
                                      kept && !options_given(o, "arch") && !options_given(o, "net") ? CLI_BAD_FILE
                                                                                                    : CLI_USAGE);
    if (code == CLI_OK && t->coding) code = keep_coding(t);
    if (code == CLI_OK) t->c.as_stored = o->as_stored;
    if (code == CLI_OK) code = classifier_identify(&t->c, o->data, o->of_train.validation);
    if (code == CLI_OK && kept) code = classifier_set_range(&t->c, kept->input_range, training_of_file, CLI_BAD_FILE);
    if (code == CLI_OK) code = classifier_set_range(&t->c, o->input_range, "", CLI_USAGE);
    const wick_compile_options compiling = trainer_compiling(o);
    if (code == CLI_OK) code = training_read_transform(t, loading);
    if (code == CLI_OK && !kept) code = classifier_standardise(&t->c, t->train);
    if (code == CLI_OK) code = training_weigh_classes(t);
    if (code == CLI_OK) code = teachers_open(&t->teachers, o, &t->c, t->train);
    const bool fast = o->of_train.sum_mode > 0; /* its bits depend on shares */
    const int powersgd = fast ? training_powersgd(o) : 0;
    const trainer_loss loss = {.smoothing = o->label_smoothing,
                               .noise = o->of_train.noise,
                               .class_weights = t->class_weights,
                               .leaves = o->leaves,
                               .group = t->group,
                               .margin = o->of_train.margin,
                               .sharded = ranks_shard(t),
                               .fast = fast,
                               .wire = powersgd        ? WICK_WIRE_POWERSGD
                                       : !strcmp(o->of_train.wire, "bf16") ? WICK_WIRE_BF16
                                                                  : WICK_WIRE_F32,
                               .powersgd = powersgd,
                               .overlap = ranks_overlap(t),
                               .shares = fast && !options_given(o, "shares") ? SHARES_EVEN : o->of_train.shares};
    if (code == CLI_OK) code = trainer_new(&t->t, &t->c, t->train, &t->optim, loss, &t->teachers, loading, &compiling);
    if (code == CLI_OK && !kept && *o->weights) code = weights_load(t->c.model, o);
    if (code == CLI_OK && t->test) code = classifier_check_dataset(&t->c, t->test, o->data);
    if (code == CLI_OK && t->valid) code = classifier_check_dataset(&t->c, t->valid, o->data);
    if (code == CLI_OK && training_chooser(t)) code = evaluator_new(&t->e, &t->c, training_chooser(t));
    if (code == CLI_OK && training_chooser(t)) ranks_measure(t);
    if (code == CLI_OK && !training_chooser(t))
        log_note("the best epoch is that of the best training %s",
                 training_of_classes(t) && !t->class_weights ? "accuracy" : "loss");
    return code;
}

static int go_on(training *t) {
    int code = run_load(&t->r);
    if (code != CLI_OK) return code;
    trainer_resumed(&t->t);
    const run_state *state = &t->r.state;
    if (wick_loader_seek(t->t.loader, state->epoch, state->sample) != WICK_OK)
        return log_fail(CLI_BAD_FILE, "the checkpoint's place: %s", wick_context_error(t->ctx));
    int64_t batches = t->steps / t->o->epochs, batch = t->t.batch;
    if (state->step != state->epoch * batches + (state->sample + batch - 1) / batch)
        return log_fail(CLI_BAD_FILE, "the checkpoint's place: step %lld is not at image %lld after %lld epoch%s",
                        (long long)state->step, (long long)state->sample, (long long)state->epoch,
                        plural(state->epoch));
    log_note("going on after step %lld of %lld, in epoch %lld of %lld", (long long)state->step, (long long)t->steps,
             (long long)(state->epoch + 1), (long long)t->o->epochs);
    return CLI_OK;
}

/* ---- during ------------------------------------------------------------------------------------------------------ */

/* The log first: a checkpoint claims no steps that the log lacks, unless the log can't be written, which is no reason
 * to lose what was trained. */
static int checkpoint(training *t) {
    if (ranks_follows(t)) return ranks_save(t);
    const int error = steplog_sync(&t->log) ? 0 : errno, shown = curves_flush(&t->curves);
    wick_profile_begin(t->ctx, "checkpoint");
    const int saved = ranks_save(t), code = saved != CLI_OK ? saved : shown;
    wick_profile_end(t->ctx);
    return error && code == CLI_OK ? log_fail(CLI_FAILED, "could not write %s: %s; step %lld is saved", t->log.path,
                                              strerror(error), (long long)t->r.state.step)
                                   : code;
}

static void log_step(training *t, int64_t n, const trainer_result *result) {
    const run_state *state = &t->r.state;
    const leaf_shares *b = &t->t.leaves.shares;
    if (ranks_follows(t)) return;
    json j = steplog_begin(&t->log, state->step);
    json_integer(&j, "epoch", state->epoch + 1);
    json_real(&j, "loss", (double)result->loss, 9);
    if (training_of_classes(t)) json_real(&j, "accuracy", (double)result->correct / (double)n, 9);
    json_real(&j, "lr", wick_optim_lr_at(&t->optim, (state->step - 1) / t->t.accumulate) * t->t.scale, 9);
    json_integer(&j, "samples", n);
    json_real(&j, "seconds", state->seconds, 6);
    if (b->moved) leaf_shares_json(b, &j);
    steplog_end(&t->log, &j);
}

/* That leaves move, and which rank is slow. */
static void tell_shares(training *t) {
    const leaf_shares *b = &t->t.leaves.shares;
    char shares[400];
    if (ranks_follows(t) || !b->moved || b->kind == SHARES_SHUFFLED) return;
    leaf_shares_text(b, shares, sizeof shares);
    progress_clear(&t->p);
    log_note("step %lld: %d lea%s: ranks have %s now; one takes %.3g ms on rank %d, %.3g ms on rank %d",
             (long long)t->r.state.step, b->now.moved, b->now.moved == 1 ? "f moves" : "ves move", shares,
             1e3 * b->now.seconds[b->now.slowest], b->now.slowest, 1e3 * b->now.seconds[b->now.fastest],
             b->now.fastest);
}

static void log_epoch(training *t) {
    const run_state *state = &t->r.state;
    json j = steplog_begin(&t->log, state->step);
    json_integer(&j, "epoch", state->epoch);
    json_real(&j, "train_loss", state->train_loss, 9);
    if (training_of_classes(t)) json_real(&j, "train_accuracy", state->train_accuracy, 9);
    if (training_chooser(t)) {
        json_real(&j, t->by_test ? "test_loss" : "valid_loss", state->valid_loss, 9);
        json_real(&j,
                  !t->by_test              ? "valid_score"
                  : training_of_classes(t) ? "test_accuracy"
                                           : "test_score",
                  state->valid_score, 9);
    }
    steplog_end(&t->log, &j);
}

static void show_progress(training *t, double loss, double rate) {
    const run_state *state = &t->r.state;
    int64_t size = wick_dataset_count(t->train);
    const progress_view view = {
        .epoch = state->epoch + 1,
        .epochs = t->o->epochs,
        .step = state->step,
        .steps = t->steps,
        .epoch_samples = state->seen,
        .epoch_size = size,
        .samples = state->epoch * size + state->seen,
        .seconds = state->seconds,
        .total = t->o->epochs * size,
        .loss = state->loss_sum / (double)state->seen,
        .accuracy = training_of_classes(t) ? (double)state->correct / (double)state->seen : NAN,
    };
    progress_step(&t->p, &view);
    dashboard_step(&t->board, &view, loss, rate, t->curves.monitor, t->t.loader);
}

/* The step's failure, and for NaN or Inf which op made it. */
static int step_failed(training *t, wick_status status, const char *error, int64_t n) {
    int64_t number = t->r.state.step;
    progress_clear(&t->p);
    if (status != WICK_ERR_NOT_FINITE) return log_fail(CLI_FAILED, "step %lld: %s", (long long)number + 1, error);
    char why[1024], first[1024];
    snprintf(first, sizeof first, "%s", error);
    trainer_explain(&t->t, number, n, why, sizeof why);
    return log_fail(CLI_NOT_FINITE,
                    "step %lld met NaN or Inf (%s); first: %s. A smaller --lr or --clip may help. The last "
                    "checkpoint is %s",
                    (long long)number + 1, first, why, t->r.last);
}

/* How far it came in the data, for the next checkpoint. */
static void keep_place(training *t) {
    const wick_loader_place place = wick_loader_position(t->t.loader);
    t->r.state.epoch = place.epoch, t->r.state.sample = place.sample;
}

static int one_step(training *t, int64_t n, double start) {
    run_state *state = &t->r.state;
    trainer_result result;
    const char *error;
    wick_status status = trainer_step(&t->t, state->step, n, &result, &error);
    if (status != WICK_OK) return step_failed(t, status, error, n);
    double seconds = now_seconds() - start;
    t->samples += n;
    t->seconds += seconds;
    state->seconds += seconds;
    state->step++;
    state->loss_sum += (double)result.loss * (double)n;
    state->correct += result.correct;
    state->seen += n;
    log_step(t, n, &result);
    tell_shares(t);
    const double rate = wick_optim_lr_at(&t->optim, (state->step - 1) / t->t.accumulate) * t->t.scale;
    const int shown = curves_step(&t->curves, state->step, n, (double)result.loss,
                                  training_of_classes(t) ? (double)result.correct / (double)n : (double)NAN, rate);
    if (shown != CLI_OK) return shown;
    keep_place(t);
    show_progress(t, (double)result.loss, rate);
    bool due = t->o->of_train.save_every > 0 && state->step % t->o->of_train.save_every == 0;
    return due ? checkpoint(t) : CLI_OK;
}

/* How the images came, and who waited for whom. */
static void log_loader(const wick_loader *loader) {
    wick_loader_stats s;
    wick_loader_get_stats(loader, &s);
    log_note("  data: %.0f images/s, %.1f batches/s, %d worker%s; an image: get %.1f us, transform %.1f us (p95 %.1f, "
             "%.1f); wait for a batch: mean %.3f ms, p95 %.3f ms; %.1f MB",
             s.samples_per_second, s.batches_per_second, s.workers, plural(s.workers), s.get.mean * 1e6,
             s.transform.mean * 1e6, s.get.p95 * 1e6, s.transform.p95 * 1e6, s.wait.mean * 1e3, s.wait.p95 * 1e3,
             (double)s.memory / 1e6);
    log_note("  %s", s.advice);
}

static void tell_epoch(const training *t, bool best) {
    const run_state *state = &t->r.state;
    char judged[96] = "", number[32];
    if (training_chooser(t) && training_of_classes(t))
        snprintf(judged, sizeof judged, "  %s %.2f %%", t->by_test ? "test" : "validation", state->valid_score * 100);
    else if (training_chooser(t))
        snprintf(judged, sizeof judged, "  %s %.4f  %s %s", t->by_test ? "test" : "validation", state->valid_loss,
                 t->c.task->score_title, training_score_text(t, state->valid_score, number));
    char accuracy[32] = "";
    if (training_of_classes(t)) snprintf(accuracy, sizeof accuracy, "  accuracy %.2f %%", state->train_accuracy * 100);
    log_note("epoch %lld/%lld  loss %.4f%s%s%s  %.1f s", (long long)state->epoch, (long long)t->o->epochs,
             state->train_loss, accuracy, judged, best ? "  best" : "", state->seconds);
}

static void note_test(training *t, const evaluation *result) {
    run_state *state = &t->r.state;
    state->looks++;
    state->test_loss = result->loss;
    state->test_accuracy = result->scores[0].value;
    if (ranks_follows(t)) return;
    json j = steplog_begin(&t->log, state->step);
    json_integer(&j, "epoch", state->epoch);
    json_integer(&j, "best_epoch", state->best_epoch);
    json_real(&j, "test_loss", state->test_loss, 9);
    json_real(&j, training_of_classes(t) ? "test_accuracy" : "test_score", state->test_accuracy, 9);
    steplog_end(&t->log, &j);
}

/* The look at the test set, with the weights that validation chose: the only one, unless the run goes on later. Each
 * rank has its part of it. */
static int look_at_test(training *t) {
    classifier best = {0}, *c = &best;
    evaluator e = {0};
    evaluation result;
    wick_profile_begin(t->ctx, "look at the test set");
    int code = ranks_alone(t) || !ranks_follows(t) ? classifier_load(&best, t->ctx, t->r.best) : CLI_OK;
    best.arena = t->c.arena; /* nothing is trained meanwhile */
    if (!ranks_alone(t)) code = ranks_show_best(t, code, &best), c = &t->c;
    if (code == CLI_OK) code = classifier_check_dataset(c, t->test, t->o->data);
    if (code == CLI_OK) code = evaluator_new_plain(&e, c, t->test);
    if (code == CLI_OK && !ranks_alone(t)) shared_measure(&e, t->group);
    if (code == CLI_OK) code = evaluator_run(&e, &result);
    if (code == CLI_OK) note_test(t, &result);
    evaluator_free(&e);
    best.arena = NULL;
    classifier_free(&best);
    code = ranks_hide_best(t, code);
    wick_profile_end(t->ctx);
    return code;
}

/* Of what was just measured: each sample counts as its class does. */
static double weighted_accuracy(const training *t) {
    double right = 0, all = 0;
    for (int64_t k = 0; k < t->c.classes; k++) {
        right += (double)t->class_weights[k] * (double)t->e.classes[k].correct;
        all += (double)t->class_weights[k] * (double)t->e.classes[k].support;
    }
    return all > 0 ? right / all : 0;
}

static int measure(training *t) {
    run_state *state = &t->r.state;
    evaluation result;
    if (!training_chooser(t)) return CLI_OK;
    wick_profile_begin(t->ctx, "evaluate");
    int code = evaluator_run(&t->e, &result);
    wick_profile_end(t->ctx);
    if (code == CLI_OK && t->c.task->settle) code = t->c.task->settle(&t->e);
    if (code != CLI_OK) return code;
    state->valid_loss = result.loss;
    state->valid_score = result.scores[0].value;
    if (t->by_test) state->test_loss = state->valid_loss, state->test_accuracy = state->valid_score;
    if (training_of_classes(t) && *t->o->of_train.class_weights) state->valid_score = weighted_accuracy(t);
    return CLI_OK;
}

/* What a new epoch is judged by, and whether it is the best so far. Each rank finds the same. */
static bool judge(training *t, double loss, double score) {
    run_state *state = &t->r.state;
    const double value = training_by_loss(t) ? -loss : score;
    const bool best = value > state->best || (value == state->best && loss < state->best_loss);
    state->stale = best ? 0 : state->stale + 1;
    if (!best) return false;
    state->best = value;
    state->best_loss = loss;
    state->best_epoch = state->epoch;
    return true;
}

static int end_epoch(training *t) {
    run_state *state = &t->r.state;
    keep_place(t);
    state->train_loss = state->loss_sum / (double)state->seen;
    state->train_accuracy = (double)state->correct / (double)state->seen;
    state->loss_sum = 0;
    state->correct = state->seen = 0;
    if (!training_of_classes(t)) state->train_accuracy = NAN;
    double loss = state->train_loss, score = state->train_accuracy;
    int code = ranks_show_averages(t);
    if (code == CLI_OK) code = measure(t);
    if (code != CLI_OK) return code;
    if (training_chooser(t)) loss = state->valid_loss, score = state->valid_score;
    code = trainer_note_loss(&t->t, loss);
    if (code != CLI_OK) return code;
    const bool best = judge(t, loss, score);
    if (code == CLI_OK) code = ranks_agree_still(t);
    if (code != CLI_OK) return code;
    if (best) code = run_save_best(&t->r);
    if (code == CLI_OK) code = ranks_hide_averages(t);
    if (code != CLI_OK) return code;
    const bool looks = training_at_end(t) && t->test && !t->by_test;
    if (ranks_follows(t)) {
        if (looks) code = look_at_test(t);
        return code == CLI_OK ? checkpoint(t) : code;
    }
    log_epoch(t);
    code = curves_epoch(&t->curves, state->step, t->c.model,
                        &(curves_scores){.train_loss = state->train_loss,
                                         .train_accuracy = state->train_accuracy,
                                         .judge = t->by_test ? "test" : "valid",
                                         .loss = training_chooser(t) ? state->valid_loss : NAN,
                                         .score = training_chooser(t) ? state->valid_score : NAN,
                                         .score_name = training_of_classes(t) ? "accuracy" : "score"});
    if (code != CLI_OK) return code;
    progress_clear(&t->p);
    dashboard_epoch(&t->board, score);
    tell_epoch(t, best);
    if (t->o->verbose) log_loader(t->t.loader);
    if (looks) code = look_at_test(t);
    return code == CLI_OK ? checkpoint(t) : code;
}

static int save_and_leave(training *t) {
    progress_clear(&t->p);
    dashboard_close(&t->board);
    int code = checkpoint(t);
    if (code != CLI_OK) return code;
    if (ranks_follows(t)) return CLI_INTERRUPTED;
    const cli_options *o = t->o;
    char program[1024], folder[4096], command[5400], threads[64] = "";
    path_quote(program, sizeof program, o->program);
    path_quote(folder, sizeof folder, t->folder);
    int length =
        options_given(o, "threads") ? snprintf(threads, sizeof threads, " --threads %lld", (long long)o->threads) : 0;
    if (options_given(o, "workers"))
        snprintf(threads + length, sizeof threads - (size_t)length, " --workers %lld", (long long)o->of_train.workers);
    snprintf(command, sizeof command, "%s train --resume %s%s", program, folder, threads);
    fprintf(stderr, "interrupted after step %lld, which is saved; go on with\n  %s\n", (long long)t->r.state.step,
            command);
    if (o->json) {
        json j = log_json_open();
        json_bool(&j, "ok", false);
        json_integer(&j, "exit", CLI_INTERRUPTED);
        json_text(&j, "error", "interrupted");
        json_integer(&j, "step", t->r.state.step);
        json_text(&j, "resume", command);
        log_json_close(&j);
    }
    return CLI_INTERRUPTED;
}

static int loop(training *t) {
    int code = CLI_OK;
    while (code == CLI_OK && !training_at_end(t)) {
        double start = now_seconds();
        int64_t n;
        curves_begin(&t->curves);
        code = trainer_load(&t->t, &n);
        if (code == CLI_OK) code = n > 0 ? one_step(t, n, start) : end_epoch(t);
        if (code == CLI_OK && (ranks_alone(t) ? interrupted() : t->t.leaves.stop)) return save_and_leave(t);
    }
    progress_clear(&t->p);
    return code;
}

/* ---- after ------------------------------------------------------------------------------------------------------- */

/* What --config takes. */
static int write_options(const training *t) {
    char *path = path_join(t->folder, "options.txt"), *lines = options_lines(t->o);
    int code = path && lines ? CLI_OK : log_fail(CLI_FAILED, "out of memory");
    if (code == CLI_OK && wick_file_write(t->ctx, path, lines, strlen(lines)) != WICK_OK)
        code = log_fail(CLI_FAILED, "could not save: %s", wick_context_error(t->ctx));
    free(path);
    free(lines);
    return code;
}

/* Rank 0 first: it may have to put a whole checkpoint in the place of a damaged one. */
static int find(training *t) {
    int code = ranks_follows(t) ? CLI_OK : run_find(&t->r, t->ctx, t->o);
    code = ranks_share(t, code);
    return code == CLI_OK && ranks_follows(t) ? run_find(&t->r, t->ctx, t->o) : code;
}

/* The folder and the log, of whoever writes them. */
static int begin_writing(training *t) {
    const cli_options *o = t->o;
    const bool resuming = *o->of_train.resume;
    interrupt_watch();
    if (ranks_follows(t)) return CLI_OK;
    int code = resuming ? CLI_OK : run_start(&t->r);
    if (code == CLI_OK && !resuming) code = write_options(t);
    if (code == CLI_OK && !resuming && *o->of_train.onnx)
        code = classifier_keep_onnx(&t->c, o->of_train.onnx, t->folder);
    if (code != CLI_OK) return code;
    if (!steplog_open(&t->log, training_log_path(t), t->r.state.step, t->r.state.epoch))
        return log_fail(CLI_FAILED, "could not open the log %s: %s", training_log_path(t), steplog_why(errno));
    return CLI_OK;
}

static int train(training *t) {
    cli_options *o = t->o;
    bool resuming = o->of_train.resume[0] != '\0';
    char error[1024];
    if (o->of_train.dashboard && o->quiet) return log_fail(CLI_USAGE, "--dashboard and --quiet: one of them");
    if (*o->of_train.config && resuming)
        return log_fail(CLI_USAGE, "--resume goes on with the options of its run: leave out --config");
    const int read = *o->of_train.config ? options_read(o, o->of_train.config, error, sizeof error) : CLI_OK;
    if (read != CLI_OK) return log_fail(read, "%s", error);
    if (resuming && (options_given(o, "out") || o->force))
        return log_fail(CLI_USAGE, "--resume goes on in its own folder: leave out --out and --force");
    if (options_given(o, "quantize-epochs") && !o->of_train.quantize && !resuming)
        return log_fail(CLI_USAGE, "--quantize-epochs is for --quantize");
    int code = curves_check(o);
    if (code == CLI_OK)
        code = cli_context(&t->ctx, o, (wick_context_options){.seed = (uint64_t)o->seed, .jit = WICK_JIT_ON});
    if (code != CLI_OK) return code;
    t->folder = resuming ? o->of_train.resume : o->out;
    code = run_open(&t->r, o, &t->c, t->folder);
    if (code == CLI_OK) code = ranks_open(t);
    t->r.guest = ranks_follows(t);
    if (code == CLI_OK) code = training_fix_paths(o);
    if (code == CLI_OK && resuming) code = find(t);
    if (code == CLI_OK && resuming && training_at_end(t)) return training_nothing_left(t);
    if (code == CLI_OK) code = ranks_check(t);
    if (code == CLI_OK) code = profiling_begin_shared(&t->profile, o, t->ctx, t->group);
    if (code == CLI_OK) code = build(t);
    if (code == CLI_OK && o->of_train.quantize && t->c.task->kind == TASK_EMBED)
        code = log_fail(CLI_USAGE,
                        "--quantize: --task embed learns by vectors of identities, which its network lacks: wick "
                        "quantize afterwards, without --epochs");
    if (code == CLI_OK && o->of_train.dry_run) return ranks_follows(t) ? CLI_OK : training_tell_plan(t);
    if (code == CLI_OK && resuming) code = go_on(t);
    if (code == CLI_OK) code = ranks_agree(t);
    if (code == CLI_OK) code = ranks_share(t, begin_writing(t));
    /* a checkpoint at once, so that a folder or disk that can't be written is known before hours of work */
    if (code == CLI_OK && !resuming) code = ranks_share(t, ranks_save(t));
    if (code != CLI_OK) return code;
    int64_t parameters = classifier_parameters(&t->c), images = wick_dataset_count(t->train);
    int threads = wick_context_threads(t->ctx);
    log_note("%s, %lld parameter%s, %lld %s%s, %d thread%s", t->c.arch, (long long)parameters, plural(parameters),
             (long long)images, source_noun(t->train), plural(images), threads, plural(threads));
    ranks_tell_wire(t);
    if ((code = ranks_tell_states(t)) != CLI_OK) return code;
    if (o->memory_budget) {
        const wick_plan_info plan = trainer_plan(&t->t);
        log_note("a step's intermediates take %.4g MB; %.2f %% of its arithmetic makes values again",
                 (double)plan.arena_bytes * 1e-6, 100 * plan.recomputed_flops / plan.flops);
    }
    if ((code = curves_open(&t->curves, o, t->ctx, t->r.state.step > 0 ? t->r.state.step + 1 : 0)) != CLI_OK ||
        (code = curves_graph(&t->curves, t->t.steps[1][0].plan)) != CLI_OK)
        return code;
    const bool board =
        o->of_train.dashboard &&
        dashboard_open(&t->board, t->c.arch, training_chooser(t) ? "score of validation" : "score", threads);
    progress_setup(&t->p, o->quiet || board, t->r.state.epoch * images + t->r.state.seen, t->r.state.seconds);
    code = loop(t);
    dashboard_close(&t->board);
    if (!steplog_close(&t->log) && code == CLI_OK)
        code = log_fail(CLI_FAILED, "could not write %s: %s", training_log_path(t), strerror(errno));
    if (code == CLI_OK && o->of_train.quantize) code = quantize_run(t->ctx, o, &t->loading, t->folder, &t->quantized);
    if (code == CLI_OK && !ranks_follows(t)) training_report(t);
    return code;
}

int cmd_train(cli_options *o) {
    training t = {.o = o, .c.task = &task_classify};
    int code = train(&t);
    if (code != CLI_OK) wick_group_close(&t.group); /* the others hear it now, and not when the profile is written */
    code = profiling_end(&t.profile, code);
    code = curves_close(&t.curves, code);
    steplog_close(&t.log);
    evaluator_free(&t.e);
    trainer_free(&t.t);
    teachers_free(&t.teachers);
    wick_transform_free(&t.transform);
    free(t.pairs.at);
    run_close(&t.r);
    classifier_free(&t.c);
    wick_dataset_free(&t.test);
    wick_dataset_free(&t.valid);
    wick_dataset_free(&t.train);
    wick_dataset_free(&t.whole);
    free(t.coding);
    free(t.class_weights);
    wick_group_close(&t.group);
    wick_context_free(&t.ctx);
    return code;
}
