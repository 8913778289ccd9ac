/* What wick train says of a run: what would be done, how it went, and that nothing is left. */
#include "../options.h"
#include "../paths.h"
#include "ranks.h"
#include "../term/log.h"

#include <math.h>
#include <string.h>

bool training_of_classes(const training *t) { return t->c.task->kind == TASK_CLASSIFY; }

/* What the best epoch is: that of the lowest loss, or of the highest accuracy, by weights of classes if there are such.
 * The training's accuracy knows none. */
bool training_by_loss(const training *t) {
    if (t->c.task->by_score) return !isfinite(t->r.state.valid_score);
    return !training_of_classes(t) || (*t->o->of_train.class_weights && !isfinite(t->r.state.valid_loss));
}
const char *training_best_of(const training *t) {
    return training_by_loss(t)             ? "loss"
           : !training_of_classes(t)       ? t->c.task->score_title
           : *t->o->of_train.class_weights ? "accuracy by --class-weights"
                                           : "accuracy";
}

/* "61.30 %", or "0.4213". */
const char *training_score_text(const training *t, double score, char text[32]) {
    snprintf(text, 32, t->c.task->percent ? "%.2f %%" : "%.4f", t->c.task->percent ? 100 * score : score);
    return text;
}

static bool stop_early(const training *t) {
    return t->o->of_train.patience > 0 && t->r.state.stale >= t->o->of_train.patience;
}
bool training_at_end(const training *t) { return t->r.state.epoch >= t->o->epochs || stop_early(t); }

/* By default in the folder and not in its options, so that the folder may be moved. */
const char *training_log_path(const training *t) { return t->o->of_train.log[0] ? t->o->of_train.log : t->r.log; }

/* How the last steps went. */
static void json_steps(json *j, wick_monitor *m, bool counted) {
    wick_monitor_stats s;
    wick_monitor_get_stats(m, &s);
    json_open(j, "step_seconds", '{');
    json_real(j, "mean", s.latency.mean, 6);
    json_real(j, "p50", s.latency.median, 6);
    json_real(j, "p95", s.latency.p95, 6);
    json_real(j, "p99", s.latency.p99, 6);
    json_close(j, '}');
    json_integer(j, "memory_peak_bytes", (int64_t)s.memory_peak);
    json_real(j, "cpus", s.cpu, 4);
    if (!counted) return; /* null where the machine doesn't count, and why */
    json_real(j, "cycles", s.counters.cycles, 12);
    json_real(j, "instructions", s.counters.instructions, 12);
    json_real(j, "cache_misses", s.counters.cache_misses, 12);
    json_real(j, "branch_misses", s.counters.branch_misses, 12);
    json_text(j, "counters_why", s.counters.why);
}

void training_report(const training *t) {
    const run_state *state = &t->r.state;
    double speed = t->seconds > 0 ? (double)t->samples / t->seconds : 0;
    const char *chosen_by =
        t->o->of_train.validation[0] && strcmp(t->o->of_train.validation, "test") == 0 && isfinite(state->test_loss)
            ? "test"
        : isfinite(state->valid_loss) ? "validation"
                                      : "training";
    char number[32];
    if (stop_early(t))
        log_note("stopped early: %lld epoch%s without a better %s", (long long)state->stale, plural(state->stale),
                 training_best_of(t));
    if (!training_by_loss(t))
        log_note("%lld step%s in %.1f s; best %s %.2f %% (%s) in epoch %lld", (long long)state->step,
                 plural(state->step), state->seconds, training_best_of(t), state->best * 100, chosen_by,
                 (long long)state->best_epoch);
    else
        log_note("%lld step%s in %.1f s; least loss %.4f (%s) in epoch %lld", (long long)state->step,
                 plural(state->step), state->seconds, state->best_loss, chosen_by, (long long)state->best_epoch);
    if (isfinite(state->test_loss) && strcmp(chosen_by, "test") != 0)
        log_note("test, looked at %s, with the weights of epoch %lld: %s %s, loss %.4f",
                 state->looks < 2 ? "once" : "more than once, each time that the run ended",
                 (long long)state->best_epoch, t->c.task->score_title,
                 training_score_text(t, state->test_accuracy, number), state->test_loss);
    double scale = 1;
    int64_t skipped = 0;
    const bool scaled = t->o->precision == WICK_PRECISION_F16 && t->t.optimizer &&
                        wick_optimizer_scale(t->t.optimizer, &scale, &skipped) == WICK_OK;
    if (scaled)
        log_note("%lld update%s skipped, whose gradients overflowed f16; the loss scale is %g now", (long long)skipped,
                 plural(skipped), scale);
    if (!t->o->json) {
        printf("%s\n", t->r.best);
        if (t->quantized.metric.key) printf("%s\n", t->quantized.path);
        return;
    }
    json j = log_json_open();
    json_bool(&j, "ok", true);
    json_integer(&j, "epochs", state->epoch);
    json_integer(&j, "steps", state->step);
    json_integer(&j, "parameters", classifier_parameters(&t->c));
    json_text(&j, "arch", t->c.arch);
    json_real(&j, "loss", state->train_loss, 9);
    json_text(&j, "task", t->c.task->name);
    json_text(&j, "score", t->c.task->score);
    json_real(&j, "accuracy", state->train_accuracy, 9);
    json_real(&j, "valid_loss", state->valid_loss, 9);
    json_real(&j, "valid_score", state->valid_score, 9);
    json_real(&j, "test_loss", state->test_loss, 9);
    json_real(&j, training_of_classes(t) ? "test_accuracy" : "test_score", state->test_accuracy, 9);
    if (!training_by_loss(t))
        json_real(&j,
                  !training_of_classes(t)         ? "best_score"
                  : *t->o->of_train.class_weights ? "best_weighted_accuracy"
                                                  : "best_accuracy",
                  state->best, 9);
    json_integer(&j, "test_looks", state->looks);
    json_real(&j, "best_loss", state->best_loss, 9);
    json_integer(&j, "best_epoch", state->best_epoch);
    json_bool(&j, "stopped_early", stop_early(t));
    json_real(&j, "seconds", state->seconds, 6);
    json_real(&j, "samples_per_second", speed, 6);
    if (scaled) json_integer(&j, "skipped_updates", skipped), json_real(&j, "loss_scale", scale, 9);
    if (t->t.leaves.shares.ranks) {
        json_integer(&j, "ranks", t->t.leaves.shares.ranks);
        json_text(&j, "shares_by", leaf_shares_kind(&t->t.leaves.shares));
        json_integer(&j, "moves", t->t.leaves.shares.moves);
        leaf_shares_json(&t->t.leaves.shares, &j);
    }
    json_integer(&j, "threads", wick_context_threads(t->ctx));
    if (t->curves.monitor) json_steps(&j, t->curves.monitor, *t->o->of_train.metrics);
    if (t->quantized.metric.key) {
        const quantized *q = &t->quantized;
        json_open(&j, "quantized", '{');
        json_text(&j, "path", q->path);
        json_text(&j, "metric", q->metric.key);
        json_real(&j, "floats", q->score[0], 9);
        json_real(&j, "integers", q->score[1], 9);
        json_real(&j, q->metric.percent ? "drop_points" : "drop", q->drop, 9);
        json_real(&j, q->metric.percent ? "drop_bound_points" : "drop_bound", q->bound, 9);
        json_integer(&j, "epochs", q->epochs);
        json_integer(&j, "file_bytes", q->bytes);
        json_close(&j, '}');
    }
    json_text(&j, "path", t->r.best);
    json_text(&j, "last", t->r.last);
    json_text(&j, "log", t->log.path);
    log_json_close(&j);
}

/* A resumed run that has come to its end: says so and how to go on, and touches no file. */
int training_nothing_left(training *t) {
    const run_state *state = &t->r.state;
    if (ranks_follows(t)) return CLI_OK;
    long long epoch = state->epoch, epochs = t->o->epochs, stale = state->stale;
    int code = classifier_load(&t->c, t->ctx, t->r.last);
    if (code != CLI_OK) return code;
    if (epoch >= epochs)
        log_note("already trained for %lld epoch%s; --epochs %lld adds nothing: give more than %lld to go on", epoch,
                 plural(epoch), epochs, epoch);
    else
        log_note("already stopped in epoch %lld of %lld: nothing to do; give --patience above %lld to go on", epoch,
                 epochs, stale);
    t->log.path = training_log_path(t);
    training_report(t);
    return CLI_OK;
}

/* --dry-run: what would be done. */
int training_tell_plan(const training *t) {
    const wick_plan_info plan = trainer_plan(&t->t);
    const long long train = wick_dataset_count(t->train), valid = t->valid ? wick_dataset_count(t->valid) : 0,
                    test = t->test ? wick_dataset_count(t->test) : 0, parameters = classifier_parameters(&t->c);
    const double bytes = (double)(plan.arena_bytes + plan.scratch_bytes);
    double states, all_states;
    shards_bytes(t->c.model, &states, &all_states);
    if (t->o->json) {
        json j = log_json_open();
        json_bool(&j, "ok", true);
        json_bool(&j, "dry_run", true);
        json_text(&j, "task", t->c.task->name);
        json_text(&j, "arch", t->c.arch);
        json_integer(&j, "outputs", t->c.classes);
        json_integer(&j, "parameters", parameters);
        json_integer(&j, "train", train);
        json_integer(&j, "validation", valid);
        json_integer(&j, "test", test);
        json_integer(&j, "epochs", t->o->epochs);
        json_integer(&j, "batch", t->t.batch);
        json_integer(&j, "steps", t->steps);
        json_real(&j, "step_flops", plan.flops, 9);
        json_real(&j, "step_bytes", bytes, 17);
        json_real(&j, "optimizer_bytes", states, 17);
        log_json_close(&j);
        return CLI_OK;
    }
    char learned[128];
    snprintf(learned, sizeof learned, t->c.task->learned, (long long)t->c.classes,
             TASK_PLURAL(t->c.task, t->c.classes));
    printf("task        %s: %s\n", t->c.task->name, learned);
    log_print("network     %s, %lld parameter%s\n", t->c.arch, parameters, plural(parameters));
    printf("samples     %lld for training, %lld for validation, %lld for the test\n", train, valid, test);
    printf("steps       %lld, in batches of %lld over %lld epoch%s\n", (long long)t->steps, (long long)t->t.batch,
           (long long)t->o->epochs, plural(t->o->epochs));
    printf("a step      %.4g MFLOP, %.4g MB of intermediates\n", plan.flops * 1e-6, bytes * 1e-6);
    if (ranks_shard(t))
        printf("optimizer   %.4g MB of states on this rank, of %.4g MB\n", states * 1e-6, all_states * 1e-6);
    else
        printf("optimizer   %.4g MB of states\n", states * 1e-6);
    return CLI_OK;
}
