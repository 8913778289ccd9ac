#include "ranks.h"

#include "shared.h"
#include "../options.h"
#include "../term/log.h"

#include <stdlib.h>
#include <string.h>

static int failed(const training *t, wick_status status) {
    return log_fail(status == WICK_ERR_MISMATCH ? CLI_USAGE : CLI_FAILED, "%s", wick_group_error(t->group));
}

int ranks_open(training *t) {
    cli_options *o = t->o;
    const wick_status status = wick_group_open(t->ctx, NULL, &t->group);
    if (status != WICK_OK) return log_fail(shared_code(status), "%s", log_why(t->ctx, status));
    if (ranks_alone(t)) return CLI_OK;
    log_rank(wick_group_rank(t->group));
    if (!ranks_follows(t)) {
        log_note("rank 0 of %d, over %s", wick_group_size(t->group), wick_group_transport(t->group));
        return CLI_OK;
    }
    o->quiet = true;
    o->json = o->of_train.dashboard = o->verbose = false;
    o->of_train.tensorboard = o->of_train.metrics = "";
    profiling_follow(o);
    log_setup(o);
    return CLI_OK;
}

bool ranks_overlap(const training *t) {
    enum { AUTO, EARLY };
    const char *over = t->group ? wick_group_transport(t->group) : "none";
    return t->o->of_train.sums == EARLY || (t->o->of_train.sums == AUTO && strcmp(over, "local") != 0);
}

int ranks_check(const training *t) {
    const int size = wick_group_size(t->group);
    if (size == 1) return CLI_OK;
    if (t->o->of_train.quantize)
        return log_fail(CLI_USAGE, "--quantize is for one process: wick quantize RUN --epochs does it afterwards");
    if (!t->o->leaves)
        return log_fail(CLI_USAGE,
                        "%d ranks share the leaves of a batch: give --leaves V, a power of two of at least %d", size,
                        size);
    if (t->o->leaves < size)
        return log_fail(CLI_USAGE, "--leaves %lld are too few for %d ranks: each needs one", (long long)t->o->leaves,
                        size);
    return CLI_OK;
}

/* ---- whether all are the same ------------------------------------------------------------------------------------ */

static wick_status agree(const training *t, const char *kind, const char *name, const void *data, size_t size) {
    char field[256];
    snprintf(field, sizeof field, "%s%s", kind, name);
    return wick_group_agree(t->group, field, data, size);
}
static wick_status agree_text(const training *t, const char *kind, const char *name, const char *text) {
    return agree(t, kind, name, text, strlen(text));
}
static wick_status agree_number(const training *t, const char *name, int64_t value) {
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)value);
    return agree_text(t, "", name, text);
}

/* Where files are may differ from machine to machine; what is in them is compared by itself. */
static bool is_path(const char *name) {
    static const char *const names[] = {"data", "log", "model", "weights", "validation", "teacher"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(name, names[i]) == 0) return true;
    return false;
}

static wick_status agree_options(const training *t) {
    const char *name, *text;
    wick_status status = agree_text(t, "", "--resume", *t->o->of_train.resume ? "yes" : "no");
    if (status == WICK_OK) status = agree_text(t, "", "--shares", options_text(t->o, "shares"));
    for (int i = 0; status == WICK_OK && (name = options_kept(t->o, i, &text)); i++)
        if (!is_path(name)) status = agree_text(t, "--", name, text);
    return status;
}

/* What was learned of the data: means, classes, columns. */
static wick_status agree_data(const training *t) {
    meta list = {0};
    wick_status status = classifier_add_meta(&t->c, &list) ? WICK_OK : WICK_ERR_NOMEM;
    if (status == WICK_OK) status = agree_number(t, "the number of training samples", wick_dataset_count(t->train));
    for (int i = 0; status == WICK_OK && i < list.count; i++)
        if (strcmp(list.pairs[i].key, "data") != 0 &&
            strncmp(list.pairs[i].key, CLASSIFIER_IDENTITY, strlen(CLASSIFIER_IDENTITY)) != 0)
            status = agree_text(t, "the data's ", list.pairs[i].key, list.pairs[i].value);
    meta_free(&list);
    return status;
}

/* The same ops on the same shapes. */
static wick_status agree_plan(const training *t, const char *name, const wick_plan *plan) {
    const wick_plan_info info = wick_plan_get_info(plan);
    char *text = NULL;
    size_t length = 0;
    FILE *f = open_memstream(&text, &length);
    for (int i = 0; f && i < info.kernels; i++) {
        const wick_plan_kernel k = wick_plan_kernel_at(plan, i);
        fprintf(f, "%s %d", k.ops, (int)k.result.dtype);
        for (int d = 0; d < k.result.rank; d++) fprintf(f, " %lld", (long long)k.result.dims[d]);
        fputc('\n', f);
    }
    const bool ok = f && fclose(f) == 0;
    const wick_status status = ok ? agree(t, "the plan of ", name, text, length) : WICK_ERR_NOMEM;
    free(text);
    return status;
}

int ranks_agree(training *t) {
    if (ranks_alone(t)) return CLI_OK;
    const run_state *s = &t->r.state;
    wick_status status = agree_options(t);
    if (status == WICK_OK) status = agree_data(t);
    if (status == WICK_OK) status = shared_agree_samples(t->group, t->train, "what training samples hold");
    if (status == WICK_OK) status = agree_plan(t, "a leaf", t->t.steps[1][0].plan);
    if (status == WICK_OK && !ranks_shard(t)) status = agree_plan(t, "the update", t->t.leaves.update.plan);
    if (status == WICK_OK) status = agree_number(t, "the step", s->step);
    if (status == WICK_OK) status = agree_number(t, "the epoch", s->epoch);
    if (status == WICK_OK) status = agree_number(t, "the place in the epoch", s->sample);
    if (status == WICK_OK) status = shared_agree_states(t->group, t->c.model);
    if (status == WICK_OK) return CLI_OK;
    const char *text = wick_group_error(t->group);
    if (*text) return failed(t, status);
    return log_fail(CLI_FAILED, "comparing ranks: %s", log_why(t->ctx, status));
}

int ranks_agree_still(const training *t) {
    if (ranks_alone(t) || !t->o->of_train.sum_mode) return CLI_OK;
    const wick_status status = shared_agree_states(t->group, t->c.model);
    if (status == WICK_OK) return CLI_OK;
    return log_fail(CLI_FAILED, "after epoch %lld: %s", (long long)t->r.state.epoch, wick_group_error(t->group));
}

/* ---- what rank 0 tells ------------------------------------------------------------------------------------------- */

int ranks_share(const training *t, int code) {
    if (ranks_alone(t) || (code != CLI_OK && ranks_follows(t))) return code;
    const wick_status status = wick_group_broadcast(t->group, 0, &code, sizeof code);
    return status == WICK_OK || code != CLI_OK ? code : failed(t, status);
}

/* ---- an update that is dealt out --------------------------------------------------------------------------------- */

static int states_failed(const training *t, wick_status status) {
    const char *text = wick_group_error(t->group);
    return *text ? failed(t, status) : log_fail(CLI_FAILED, "the optimizer's states: %s", log_why(t->ctx, status));
}

int ranks_save(training *t) {
    if (!ranks_shard(t)) return run_save_last(&t->r, NULL, NULL);
    int code = CLI_OK;
    wick_status status = shards_begin_save(&t->t);
    if (status == WICK_OK && ranks_follows(t)) {
        status = shards_serve(&t->t);
    } else if (status == WICK_OK) {
        code = run_save_last(&t->r, shards_give, &t->t);
        status = shards_have_all(&t->t);
    }
    shards_end_save(&t->t.leaves.shards);
    if (code != CLI_OK) return code;
    return status == WICK_OK ? CLI_OK : states_failed(t, status);
}

int ranks_show_averages(training *t) {
    const wick_status status = ranks_shard(t) && t->o->of_train.ema > 0 ? shards_show_averages(&t->t) : WICK_OK;
    return status == WICK_OK ? CLI_OK : states_failed(t, status);
}
int ranks_hide_averages(training *t) {
    const wick_status status = shards_hide_averages(&t->t);
    return status == WICK_OK ? CLI_OK : states_failed(t, status);
}

/* ---- the weights that were best ---------------------------------------------------------------------------------- */

static bool is_weight(wick_named state) { return state.role == WICK_ROLE_PARAM || state.role == WICK_ROLE_BUFFER; }
static size_t bytes_of(wick_tensor *tensor) {
    return (size_t)wick_tensor_count(tensor) * wick_dtype_size(wick_tensor_dtype(tensor));
}

/* All weights, one behind another, to `bytes`, or from there. */
static wick_status move_weights(const training *t, char *bytes, bool back) {
    wick_status status = WICK_OK;
    for (int i = 0; i < wick_model_count(t->c.model) && status == WICK_OK; i++) {
        const wick_named state = wick_model_at(t->c.model, i);
        const size_t size = is_weight(state) ? bytes_of(state.tensor) : 0;
        if (size) status = back ? wick_write(state.tensor, bytes, size) : wick_read(state.tensor, bytes, size);
        bytes += size;
    }
    return status;
}

/* Those of another model with the same names. */
static int read_weights(const training *t, const classifier *from, char *bytes) {
    for (int i = 0; i < wick_model_count(t->c.model); i++) {
        const wick_named state = wick_model_at(t->c.model, i);
        const size_t size = is_weight(state) ? bytes_of(state.tensor) : 0;
        wick_tensor *tensor = size ? wick_model_find(from->model, state.name) : NULL;
        if (size && (!tensor || bytes_of(tensor) != size))
            return log_fail(CLI_BAD_FILE, "%s has another %s than the network", t->r.best, state.name);
        if (size && wick_read(tensor, bytes, size) != WICK_OK)
            return log_fail(CLI_FAILED, "%s: %s", t->r.best, wick_context_error(t->ctx));
        bytes += size;
    }
    return CLI_OK;
}

int ranks_show_best(training *t, int code, const classifier *best) {
    size_t size = 0;
    for (int i = 0; i < wick_model_count(t->c.model); i++) {
        const wick_named state = wick_model_at(t->c.model, i);
        if (is_weight(state)) size += bytes_of(state.tensor);
    }
    char *bytes = malloc(size + 1);
    t->own_weights = malloc(size + 1);
    if (code == CLI_OK && (!bytes || !t->own_weights)) code = log_fail(CLI_FAILED, "out of memory");
    if (code == CLI_OK && !ranks_follows(t)) code = read_weights(t, best, bytes);
    code = ranks_share(t, code);
    wick_status status = WICK_OK;
    if (code == CLI_OK && (status = wick_group_broadcast(t->group, 0, bytes, size)) != WICK_OK)
        code = failed(t, status);
    if (code == CLI_OK) status = move_weights(t, t->own_weights, false);
    if (code == CLI_OK && status == WICK_OK) status = move_weights(t, bytes, true);
    if (code == CLI_OK && status != WICK_OK) code = log_fail(CLI_FAILED, "%s", log_why(t->ctx, status));
    free(bytes);
    return code;
}

int ranks_hide_best(training *t, int code) {
    const wick_status status = t->own_weights && code == CLI_OK ? move_weights(t, t->own_weights, true) : WICK_OK;
    free(t->own_weights);
    t->own_weights = NULL;
    return status == WICK_OK ? code : log_fail(CLI_FAILED, "%s", log_why(t->ctx, status));
}

/* Rules that take parameters as a whole may leave one rank with much more than its share. */
static void tell_most(const training *t, const double *of, int ranks, double all) {
    int most = 0;
    for (int r = 1; r < ranks; r++)
        if (of[r] > of[most]) most = r;
    if (of[most] > all * (1.0 / ranks + 0.01))
        log_note("rank %d has %.2f %% of them, and an even share is %.2f %%: %s takes each matrix as a whole", most,
                 100 * of[most] / all, 100.0 / ranks, options_text(t->o, "optimizer"));
}

int ranks_tell_states(const training *t) {
    double own, all;
    if (!ranks_shard(t)) return CLI_OK;
    shards_bytes(t->c.model, &own, &all);
    log_note("the optimizer's states take %.4g MB of this rank, of %.4g MB: %.2f %%", own * 1e-6, all * 1e-6,
             all > 0 ? 100 * own / all : 0);
    const int ranks = wick_group_size(t->group);
    double *of = calloc((size_t)ranks, sizeof *of);
    const wick_status status = of ? wick_group_gather(t->group, &own, sizeof own, of) : WICK_ERR_NOMEM;
    if (status == WICK_OK) tell_most(t, of, ranks, all);
    free(of);
    if (status == WICK_ERR_NOMEM) return log_fail(CLI_FAILED, "out of memory");
    return status == WICK_OK ? CLI_OK : failed(t, status);
}

void ranks_tell_wire(const training *t) {
    const cli_options *o = t->o;
    if (ranks_alone(t) || !o->of_train.sum_mode || !training_powersgd(o) || t->optim.kind == WICK_SGD) return;
    log_note("--wire %s keeps parts of gradients back, and %s divides by their size: it may learn much slower than sgd",
             o->of_train.wire, options_text(o, "optimizer"));
}

void ranks_measure(training *t) {
    if (!ranks_alone(t)) shared_measure(&t->e, t->group);
}
