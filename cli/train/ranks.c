#include "ranks.h"

#include "../options.h"
#include "../term/log.h"

#include <stdlib.h>
#include <string.h>

enum { SAMPLES = 64, SAMPLE_BYTES = 4 << 20 };

static int failed(const training *t, wick_status status) {
    return log_fail(status == WICK_ERR_MISMATCH ? CLI_USAGE : CLI_FAILED, "%s", wick_group_error(t->group));
}

int ranks_open(training *t) {
    cli_options *o = t->o;
    const wick_status status = wick_group_open(t->ctx, NULL, &t->group);
    if (status != WICK_OK)
        return log_fail(status == WICK_ERR_NOMEM ? CLI_FAILED : CLI_USAGE, "%s", log_why(t->ctx, status));
    if (ranks_alone(t)) return CLI_OK;
    log_rank(wick_group_rank(t->group));
    if (!ranks_follows(t)) {
        talk("rank 0 of %d, over %s", wick_group_size(t->group), wick_group_transport(t->group));
        return CLI_OK;
    }
    o->quiet = true;
    o->json = o->dashboard = o->verbose = false;
    o->tensorboard = o->metrics = "";
    o->profiles.n = o->memory_files.n = 0;
    o->memory_before = "";
    log_setup(o);
    return CLI_OK;
}

int ranks_check(const training *t) {
    const int size = wick_group_size(t->group);
    if (size == 1) return CLI_OK;
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
    wick_status status = agree_text(t, "", "--resume", *t->o->resume ? "yes" : "no");
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
        if (strcmp(list.pairs[i].key, "data") != 0)
            status = agree_text(t, "the data's ", list.pairs[i].key, list.pairs[i].value);
    meta_free(&list);
    return status;
}

/* The bytes of samples spread over all of them: at least SAMPLES, and as many as SAMPLE_BYTES hold. Fields whose
 * lengths vary are left out. */
static wick_status agree_samples(const training *t) {
    const int64_t count = wick_dataset_count(t->train);
    size_t bytes[WICK_DATASET_FIELDS] = {0}, all = 0;
    for (int k = 0; k < WICK_DATASET_FIELDS && wick_dataset_field(t->train, k); k++) {
        const wick_spec *f = wick_dataset_field(t->train, k);
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
        if (wick_dataset_get(t->train, i * count / n, out, &fault) != WICK_OK)
            memset(samples + (size_t)i * all, 0, all);
    }
    const wick_status status = agree(t, "", "what training samples hold", samples, (size_t)n * all);
    free(samples);
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

static wick_status agree_states(const training *t) {
    const wick_model *model = t->c.model;
    wick_status status = agree_number(t, "the number of states", wick_model_count(model));
    for (int i = 0; status == WICK_OK && i < wick_model_count(model); i++) {
        const wick_named state = wick_model_at(model, i);
        const size_t bytes = (size_t)wick_tensor_count(state.tensor) * wick_dtype_size(wick_tensor_dtype(state.tensor));
        const void *data;
        status = wick_data(state.tensor, &data);
        if (status == WICK_OK) status = agree(t, "state ", state.name, data, bytes);
    }
    return status;
}

int ranks_agree(training *t) {
    if (ranks_alone(t)) return CLI_OK;
    const run_state *s = &t->r.state;
    wick_status status = agree_options(t);
    if (status == WICK_OK) status = agree_data(t);
    if (status == WICK_OK) status = agree_samples(t);
    if (status == WICK_OK) status = agree_plan(t, "a leaf", t->t.steps[1][0].plan);
    if (status == WICK_OK) status = agree_plan(t, "the update", t->t.leaves.update.plan);
    if (status == WICK_OK) status = agree_number(t, "the step", s->step);
    if (status == WICK_OK) status = agree_number(t, "the epoch", s->epoch);
    if (status == WICK_OK) status = agree_number(t, "the place in the epoch", s->sample);
    if (status == WICK_OK) status = agree_states(t);
    if (status == WICK_OK) return CLI_OK;
    const char *text = wick_group_error(t->group);
    if (*text) return failed(t, status);
    return log_fail(CLI_FAILED, "comparing ranks: %s", log_why(t->ctx, status));
}

/* ---- what rank 0 tells ------------------------------------------------------------------------------------------- */

int ranks_share(const training *t, int code) {
    if (ranks_alone(t) || (code != CLI_OK && ranks_follows(t))) return code;
    const wick_status status = wick_group_broadcast(t->group, 0, &code, sizeof code);
    return status == WICK_OK || code != CLI_OK ? code : failed(t, status);
}

/* ---- measuring --------------------------------------------------------------------------------------------------- */

/* numbers[i] becomes the sum over all ranks. */
static wick_status add_up(const training *t, int64_t *numbers, int64_t n) {
    enum { PART = 1 << 13 }; /* of a confusion matrix that may be large */
    const int ranks = wick_group_size(t->group);
    int64_t *all = numbers && n ? step_buffer(PART * ranks, sizeof *all) : NULL;
    if (numbers && n && !all) return WICK_ERR_NOMEM;
    wick_status status = WICK_OK;
    for (int64_t at = 0; numbers && status == WICK_OK && at < n; at += PART) {
        const int64_t part = n - at < PART ? n - at : PART;
        status = wick_group_gather(t->group, numbers + at, (size_t)part * sizeof *numbers, all);
        memset(numbers + at, 0, (size_t)part * sizeof *numbers);
        for (int64_t i = 0; i < part * ranks; i++) numbers[at + i % part] += all[i];
    }
    free(all);
    return status;
}

static int64_t batches_of(const evaluator *e) { return (wick_dataset_count(e->dataset) + e->batch - 1) / e->batch; }
static int64_t first_of(const training *t, const evaluator *e, int rank) {
    return batches_of(e) * rank / wick_group_size(t->group);
}

/* Of each sample so many bytes: every rank's part to all. */
static wick_status exchange(const training *t, const evaluator *e, void *field, size_t bytes) {
    const int64_t count = wick_dataset_count(e->dataset);
    wick_status status = WICK_OK;
    for (int rank = 0; field && status == WICK_OK && rank < wick_group_size(t->group); rank++) {
        const int64_t from = first_of(t, e, rank) * e->batch, next = first_of(t, e, rank + 1) * e->batch;
        const int64_t end = next < count ? next : count;
        if (end > from)
            status = wick_group_broadcast(t->group, rank, (char *)field + (size_t)from * bytes,
                                          (size_t)(end - from) * bytes);
    }
    return status;
}

static int join(evaluator *e, evaluation *result, void *user) {
    const training *t = user;
    const int64_t classes = e->c->classes;
    int64_t sums[] = {result->count, result->correct, result->top_correct};
    wick_status status = add_up(t, sums, 3);
    result->count = sums[0], result->correct = sums[1], result->top_correct = sums[2];
    _Static_assert(sizeof(class_counts) == 3 * sizeof(int64_t), "counts are integers of 64 bits");
    if (status == WICK_OK) status = add_up(t, (int64_t *)e->classes, 3 * classes);
    if (status == WICK_OK) status = add_up(t, (int64_t *)&e->spans, 3);
    if (status == WICK_OK) status = add_up(t, e->confusion, classes * classes);
    const size_t made = (size_t)e->c->task->width(e->c), wanted = (size_t)classifier_target_width(e->c);
    if (status == WICK_OK) status = exchange(t, e, e->kept, made * sizeof *e->kept);
    if (status == WICK_OK) status = exchange(t, e, e->targets, wanted * sizeof *e->targets);
    if (status == WICK_OK && e->kept) status = exchange(t, e, e->labels, sizeof *e->labels);
    for (int rank = 0; status == WICK_OK && rank < wick_group_size(t->group); rank++) {
        const int64_t from = first_of(t, e, rank), end = first_of(t, e, rank + 1);
        if (end > from)
            status = wick_group_broadcast(t->group, rank, e->losses + from, (size_t)(end - from) * sizeof *e->losses);
    }
    if (status == WICK_ERR_NOMEM) return log_fail(CLI_FAILED, "out of memory");
    return status == WICK_OK ? CLI_OK : failed(t, status);
}

void ranks_measure(training *t) {
    evaluator *e = &t->e;
    /* What a task counts by itself is not known here: then every rank measures all samples. */
    if (ranks_alone(t) || e->c->task->begin) return;
    e->join = join;
    e->join_user = t;
    e->first = first_of(t, e, wick_group_rank(t->group));
    e->end = first_of(t, e, wick_group_rank(t->group) + 1);
}
