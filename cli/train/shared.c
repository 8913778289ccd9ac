#include "shared.h"

#include "../options.h"
#include "../term/log.h"

#include <stdlib.h>
#include <string.h>

enum { SAMPLES = 64, SAMPLE_BYTES = 4 << 20 };

int shared_code(wick_status status) {
    return status == WICK_ERR_MISMATCH || status == WICK_ERR_INVALID || status == WICK_ERR_UNSUPPORTED ? CLI_USAGE
                                                                                                       : CLI_FAILED;
}

int shared_failed(const wick_group *g, wick_status status) {
    return log_fail(status == WICK_ERR_MISMATCH ? CLI_USAGE : CLI_FAILED, "%s", wick_group_error(g));
}

int shared_open(wick_context *ctx, const cli_options *o, wick_group **group) {
    const wick_status status = wick_group_open(ctx, NULL, group);
    if (status != WICK_OK) return log_fail(shared_code(status), "%s", log_why(ctx, status));
    if (shared_is_alone(*group)) return CLI_OK;
    log_rank(wick_group_rank(*group));
    if (!shared_follows(*group)) {
        log_note("rank 0 of %d, over %s", wick_group_size(*group), wick_group_transport(*group));
        return CLI_OK;
    }
    cli_options follower = *o;
    follower.quiet = true;
    follower.json = false;
    log_setup(&follower);
    return CLI_OK;
}

/* ---- whether all are the same ------------------------------------------------------------------------------------ */

/* The bytes of samples spread over all of them: at least SAMPLES, and as many as SAMPLE_BYTES hold. Fields whose
 * lengths vary are left out. */
wick_status shared_agree_samples(wick_group *g, const wick_dataset *set, const char *field) {
    const int64_t count = wick_dataset_count(set);
    size_t bytes[WICK_DATASET_FIELDS] = {0}, all = 0;
    for (int k = 0; k < WICK_DATASET_FIELDS && wick_dataset_field(set, k); k++) {
        const wick_spec *f = wick_dataset_field(set, k);
        const bool varies = f->rank > 0 && f->dims[0] < 0;
        bytes[k] = varies ? 0 : (wick_spec_bytes(f) + 63) / 64 * 64;
        all += bytes[k];
    }
    int64_t n = all ? SAMPLE_BYTES / (int64_t)all : 0;
    n = n < SAMPLES ? SAMPLES : n;
    n = n < count ? n : count;
    char *samples = calloc((size_t)n + 1, all + 1);
    if (!samples) return WICK_ERR_NOMEM;
    for (int64_t i = 0; i < n; i++) {
        char *at = samples + (size_t)i * all;
        void *out[WICK_DATASET_FIELDS] = {NULL};
        for (int k = 0; k < WICK_DATASET_FIELDS; at += bytes[k], k++) out[k] = bytes[k] ? at : NULL;
        /* What can't be read is zeros here; the loader will say it. */
        wick_fault fault = {""};
        if (wick_dataset_get(set, i * count / n, out, &fault) != WICK_OK) memset(samples + (size_t)i * all, 0, all);
    }
    const wick_status status = wick_group_agree(g, field, samples, (size_t)n * all);
    free(samples);
    return status;
}

static wick_status agree_number(wick_group *g, const char *field, int64_t value) {
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)value);
    return wick_group_agree(g, field, text, strlen(text));
}

wick_status shared_agree_states(wick_group *g, const wick_model *model) {
    wick_status status = agree_number(g, "the number of states", wick_model_count(model));
    for (int i = 0; status == WICK_OK && i < wick_model_count(model); i++) {
        const wick_named state = wick_model_at(model, i);
        const size_t bytes = (size_t)wick_tensor_count(state.tensor) * wick_dtype_size(wick_tensor_dtype(state.tensor));
        const void *data;
        char field[256];
        wick_state_part part;
        if (wick_model_part(model, state.name, &part)) continue; /* each rank has another */
        snprintf(field, sizeof field, "state %s", state.name);
        status = wick_data(state.tensor, &data);
        if (status == WICK_OK) status = wick_group_agree(g, field, data, bytes);
    }
    return status;
}

int shared_agree(wick_group *g, const cli_options *o, const classifier *c, const wick_dataset *set) {
    if (shared_is_alone(g)) return CLI_OK;
    const struct {
        const char *name, *text;
    } texts[] = {{"--split", o->split},
                 {"--index", o->of_predict.index ? o->of_predict.index : ""},
                 {"the network", c->arch ? c->arch : ""}};
    wick_status status = WICK_OK;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0] && status == WICK_OK; i++)
        status = wick_group_agree(g, texts[i].name, texts[i].text, strlen(texts[i].text));
    if (status == WICK_OK) status = agree_number(g, "--top", o->top);
    if (status == WICK_OK) status = agree_number(g, "--beams", o->beams);
    if (status == WICK_OK) status = agree_number(g, "the number of files", o->n_files);
    if (status == WICK_OK && set) status = agree_number(g, "the number of samples", wick_dataset_count(set));
    if (status == WICK_OK && set) status = shared_agree_samples(g, set, "what samples hold");
    if (status == WICK_OK && c->model) status = shared_agree_states(g, c->model);
    if (status == WICK_OK) return CLI_OK;
    const char *text = wick_group_error(g);
    return *text ? shared_failed(g, status) : log_fail(CLI_FAILED, "comparing ranks: %s", log_why(c->ctx, status));
}

/* ---- measuring --------------------------------------------------------------------------------------------------- */

/* numbers[i] becomes the sum over all ranks. */
static wick_status add_up(wick_group *g, int64_t *numbers, int64_t n) {
    enum { PART = 1 << 13 }; /* of a confusion matrix that may be large */
    const int ranks = wick_group_size(g);
    int64_t *all = numbers && n ? step_buffer(PART * ranks, sizeof *all) : NULL;
    if (numbers && n && !all) return WICK_ERR_NOMEM;
    wick_status status = WICK_OK;
    for (int64_t at = 0; numbers && status == WICK_OK && at < n; at += PART) {
        const int64_t part = n - at < PART ? n - at : PART;
        status = wick_group_gather(g, numbers + at, (size_t)part * sizeof *numbers, all);
        memset(numbers + at, 0, (size_t)part * sizeof *numbers);
        for (int64_t i = 0; i < part * ranks; i++) numbers[at + i % part] += all[i];
    }
    free(all);
    return status;
}

static int64_t batches_of(const evaluator *e) { return (wick_dataset_count(e->dataset) + e->batch - 1) / e->batch; }
static int64_t first_of(const wick_group *g, const evaluator *e, int rank) {
    return batches_of(e) * rank / wick_group_size(g);
}

wick_status shared_rows(wick_group *g, const evaluator *e, void *rows, size_t bytes) {
    const int64_t count = wick_dataset_count(e->dataset);
    wick_status status = WICK_OK;
    if (!e->join) return WICK_OK; /* all are here */
    for (int rank = 0; rows && status == WICK_OK && rank < wick_group_size(g); rank++) {
        const int64_t from = first_of(g, e, rank) * e->batch, next = first_of(g, e, rank + 1) * e->batch;
        const int64_t end = next < count ? next : count;
        if (end > from)
            status = wick_group_broadcast(g, rank, (char *)rows + (size_t)from * bytes, (size_t)(end - from) * bytes);
    }
    return status;
}

static int join(evaluator *e, evaluation *result, void *user) {
    wick_group *g = user;
    const int64_t classes = e->c->classes;
    int64_t sums[] = {result->count, result->correct, result->top_correct};
    wick_status status = add_up(g, sums, 3);
    result->count = sums[0], result->correct = sums[1], result->top_correct = sums[2];
    _Static_assert(sizeof(class_counts) == 3 * sizeof(int64_t), "counts are integers of 64 bits");
    if (status == WICK_OK) status = add_up(g, (int64_t *)e->classes, 3 * classes);
    if (status == WICK_OK) status = add_up(g, (int64_t *)&e->spans, 3);
    if (status == WICK_OK) status = add_up(g, e->confusion, classes * classes);
    const size_t made = (size_t)e->c->task->width(e->c), wanted = (size_t)classifier_target_width(e->c);
    if (status == WICK_OK) status = shared_rows(g, e, e->kept, made * sizeof *e->kept);
    if (status == WICK_OK) status = shared_rows(g, e, e->targets, wanted * sizeof *e->targets);
    if (status == WICK_OK && e->kept) status = shared_rows(g, e, e->labels, sizeof *e->labels);
    for (int rank = 0; status == WICK_OK && rank < wick_group_size(g); rank++) {
        const int64_t from = first_of(g, e, rank), end = first_of(g, e, rank + 1);
        if (end > from)
            status = wick_group_broadcast(g, rank, e->losses + from, (size_t)(end - from) * sizeof *e->losses);
    }
    if (status == WICK_ERR_NOMEM) return log_fail(CLI_FAILED, "out of memory");
    return status == WICK_OK ? CLI_OK : shared_failed(g, status);
}

void shared_measure(evaluator *e, wick_group *g) {
    /* What a task counts by itself is not known here. */
    if (shared_is_alone(g) || e->c->task->begin) return;
    e->join = join;
    e->join_user = g;
    e->first = first_of(g, e, wick_group_rank(g));
    e->end = first_of(g, e, wick_group_rank(g) + 1);
}
