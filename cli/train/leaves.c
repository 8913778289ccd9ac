#include "leaves.h"

#include "../interrupt.h"
#include "../term/log.h"
#include "trainer.h"

#include "wick/profile.h"

#include <stdlib.h>
#include <string.h>

static wick_status group_failed(leaf_cut *v, wick_status status) {
    snprintf(v->error, sizeof v->error, "%s", wick_group_error(v->group));
    return status;
}

/* ---- the cut ----------------------------------------------------------------------------------------------------- */

wick_status leaves_cut(trainer *t, const trainer_loss *how) {
    leaf_cut *v = &t->leaves;
    v->group = how->group;
    v->n = how->leaves;
    v->shards.on = how->sharded;
    v->fast = how->fast;
    v->wire = how->wire;
    v->powersgd = how->powersgd;
    v->pieces.on = how->overlap && !v->fast && !v->shards.on && wick_group_size(v->group) > 1;
    v->size = t->batch / v->n;
    v->rest = t->tail % v->size;
    wick_status status = wick_group_leaves(v->group, (int)v->n, &v->first, &v->end);
    if (status == WICK_OK) status = leaf_shares_new(t, how->shares);
    return status == WICK_OK || status == WICK_ERR_NOMEM ? status : group_failed(v, status);
}

void leaves_part(const leaf_cut *v, wick_loader_options *loading) {
    loading->part_begin = v->first * v->size;
    loading->part_end = v->end * v->size;
}

void leaves_samples(const leaf_cut *v, int64_t n, int64_t *first, int64_t *end) {
    *first = v->first * v->size < n ? v->first * v->size : n;
    *end = v->end * v->size < n ? v->end * v->size : n;
}

/* ---- buffers ----------------------------------------------------------------------------------------------------- */

/* What a batch norm may move. */
static bool is_buffer(wick_named state) {
    const wick_dtype dtype = wick_tensor_dtype(state.tensor);
    const bool real = dtype == WICK_F32 || dtype == WICK_F64 || dtype == WICK_F16 || dtype == WICK_BF16;
    return state.role == WICK_ROLE_BUFFER && !state.frozen && real;
}

/* The vector is f32. */
static wick_status refuse(leaf_cut *v, const char *what, wick_dtype dtype) {
    snprintf(v->error, sizeof v->error, "leaves are summed in f32, and %s is %s", what, wick_dtype_name(dtype));
    return WICK_ERR_DTYPE;
}

static wick_status count_buffers(leaf_cut *v, const classifier *c) {
    for (int i = 0; i < wick_model_count(c->model); i++) {
        const wick_named state = wick_model_at(c->model, i);
        if (!is_buffer(state)) continue;
        const wick_dtype dtype = wick_tensor_dtype(state.tensor);
        if (dtype != WICK_F32) return refuse(v, state.name, dtype);
        v->buffers += wick_tensor_count(state.tensor);
    }
    return WICK_OK;
}

/* To `numbers`, or from there. */
static wick_status move_buffers(const classifier *c, float *numbers, bool back) {
    wick_status status = WICK_OK;
    for (int i = 0; status == WICK_OK && i < wick_model_count(c->model); i++) {
        const wick_named state = wick_model_at(c->model, i);
        if (!is_buffer(state)) continue;
        const int64_t count = wick_tensor_count(state.tensor);
        status = back ? wick_write(state.tensor, numbers, (size_t)count * sizeof *numbers)
                      : wick_read(state.tensor, numbers, (size_t)count * sizeof *numbers);
        numbers += count;
    }
    return status;
}

/* ---- plans ------------------------------------------------------------------------------------------------------- */

/* How much the mean of a leaf of `samples` counts beside that of the first leaf of a batch of n. */
static double share_of(const leaf_cut *v, int64_t samples, int64_t n) {
    return (double)samples / (double)(n < v->size ? n : v->size);
}

int leaves_outputs(const trainer *t) {
    if (!t->leaves.n) return 0;
    return t->leaves.pieces.on ? t->leaves.pieces.n_gradients : 1;
}

wick_status leaves_record(const trainer *t, bool last, wick_tensor **out) {
    const leaf_cut *v = &t->leaves;
    const double share = last ? share_of(v, v->rest, t->tail) : 1;
    if (share != 1) out[0] = wick_mul(out[0], wick_like(out[0], share));
    return v->pieces.on ? wick_optimizer_gradients_apart(t->optimizer, out[0], &out[2])
                        : wick_optimizer_gradients(t->optimizer, out[0], &out[2]);
}

wick_status leaves_assign_buffers(const trainer *t, wick_tensor *vector, int64_t at) {
    const classifier *c = t->c;
    for (int i = 0; i < wick_model_count(c->model); i++) {
        const wick_named state = wick_model_at(c->model, i);
        if (!is_buffer(state)) continue;
        const int64_t count = wick_tensor_count(state.tensor);
        wick_tensor *mean = wick_reshape(wick_slice(vector, 0, at, at + count, 1), wick_tensor_rank(state.tensor),
                                         wick_tensor_dims(state.tensor));
        const wick_status status = wick_assign(state.tensor, mean);
        if (status != WICK_OK) return status;
        at += count;
    }
    return WICK_OK;
}

/* in: the sum's gradients and buffers, and what gradients are multiplied by. */
static wick_status record_update(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx, (void)out;
    const trainer *t = user;
    wick_here("update");
    const wick_status status = leaves_assign_buffers(t, in[0], t->leaves.gradients);
    if (status != WICK_OK) return status;
    wick_tensor *sum = wick_slice(in[0], 0, 0, t->leaves.gradients, 1);
    return wick_optimizer_update(t->optimizer, wick_mul(sum, in[1]));
}

static wick_status compile_update(trainer *t) {
    leaf_cut *v = &t->leaves;
    const wick_spec in[2] = {
        {.name = "sum", .dtype = WICK_F32, .rank = 1, .dims = {v->gradients + v->buffers}},
        {.name = "share", .dtype = WICK_F32},
    };
    const wick_compile_options options = {.precision = t->compiling.precision, .wide = t->compiling.wide};
    wick_status status = wick_compile(t->c->ctx, record_update, t, 2, in, 0, &options, &v->update.plan);
    if (status == WICK_OK) status = wick_workspace_new(v->update.plan, &v->update.workspace);
    return status;
}

static bool take_memory(leaf_cut *v) {
    v->count = v->gradients + v->buffers + LEAF_EXTRAS;
    v->vector = step_buffer(v->count, sizeof *v->vector);
    const wick_optim_part *own = &v->shards.own;
    v->sum = step_buffer(v->shards.on ? own->needed - own->begin + (int64_t)v->shards.rest : v->count, sizeof *v->sum);
    v->before = step_buffer(v->buffers + 1, sizeof *v->before);
    return v->vector && v->sum && v->before;
}

/* The gradients that are worth two factors: [d0, the rest], if those are fewer numbers. NULL: out of memory. */
static wick_group_matrix *matrices_of(const trainer *t, int *n) {
    int64_t at = 0, parameters = 0;
    while (wick_optimizer_parameter(t->optimizer, (int)parameters)) parameters++;
    wick_group_matrix *all = calloc((size_t)parameters + 1, sizeof *all);
    *n = 0;
    for (int i = 0; all && i < parameters; i++) {
        const wick_tensor *p = wick_optimizer_parameter(t->optimizer, i);
        const int64_t count = wick_tensor_count(p), rows = wick_tensor_rank(p) > 1 ? wick_tensor_dim(p, 0) : 1;
        if (rows > 1 && count && t->leaves.powersgd * (rows + count / rows) < count)
            all[(*n)++] = (wick_group_matrix){(size_t)at, rows, count / rows};
        at += count;
    }
    return all;
}

/* All behind the gradients goes in f32. */
static wick_status set_mode(trainer *t) {
    leaf_cut *v = &t->leaves;
    wick_group_fast fast = {
        .wire = v->wire, .exact = (size_t)(v->buffers + LEAF_EXTRAS), .rank = v->powersgd};
    wick_group_matrix *matrices = NULL;
    if (v->fast && v->wire == WICK_WIRE_POWERSGD) {
        fast.matrices = matrices = matrices_of(t, &fast.n_matrices);
        if (!matrices) return WICK_ERR_NOMEM;
    }
    const wick_status status = wick_group_set_fast(v->group, v->fast ? &fast : NULL);
    free(matrices);
    return status == WICK_OK ? WICK_OK : group_failed(v, status);
}

wick_status leaves_new(trainer *t) {
    leaf_cut *v = &t->leaves;
    for (int k = 0; k < 2; k++) v->row[k] = wick_spec_bytes(wick_loader_field(t->loader, k)) / (size_t)t->batch;
    wick_status status = WICK_OK;
    if (v->pieces.on) status = wick_optimizer_parameters(t->optimizer, &v->pieces.n_gradients);
    if (status == WICK_OK) status = trainer_compile(t, true, false, &t->compiling, &t->steps[1][0]);
    if (status == WICK_OK && v->rest) status = trainer_compile(t, true, true, &t->compiling, &t->steps[1][1]);
    if (status != WICK_OK) return status;
    for (int i = 0; i < leaves_outputs(t); i++) {
        const wick_spec gradients = wick_plan_output(t->steps[1][0].plan, 2 + i);
        v->gradients += gradients.dims[0];
        if (gradients.dtype != WICK_F32) return refuse(v, "a parameter", gradients.dtype);
    }
    status = count_buffers(v, t->c);
    if (status == WICK_OK) status = v->shards.on ? shards_new(t) : compile_update(t);
    if (status == WICK_OK && !take_memory(v)) return WICK_ERR_NOMEM;
    if (status == WICK_OK) status = set_mode(t);
    if (status == WICK_OK && (status = leaf_pieces_new(t)) != WICK_OK && status != WICK_ERR_NOMEM)
        return group_failed(v, status);
    return status;
}

void leaves_free(leaf_cut *v) {
    step_free(&v->update);
    shards_free(&v->shards);
    free(v->vector);
    free(v->sum);
    free(v->before);
    leaf_shares_free(&v->shares);
    leaf_pieces_free(&v->pieces);
    *v = (leaf_cut){0};
}

/* ---- a step ------------------------------------------------------------------------------------------------------ */

static int64_t samples_of(const leaf_cut *v, int64_t leaf, int64_t n) {
    const int64_t behind = n - leaf * v->size;
    return behind <= 0 ? 0 : behind < v->size ? behind : v->size;
}

/* Into v->vector, all but its buffers, which are the model's then. */
static wick_status run_leaf(trainer *t, step *plan, int64_t number, int64_t leaf) {
    leaf_cut *v = &t->leaves;
    const size_t first = (size_t)(leaf * v->size);
    const void *const in[2] = {(char *)t->loaded.fields[0] + first * v->row[0],
                               (char *)t->loaded.fields[1] + first * v->row[1]};
    int64_t correct = 0;
    float *extras = v->vector + v->gradients + v->buffers;
    wick_workspace_set_offset(plan->workspace, (uint64_t)(number * v->n + leaf));
    void *const out[] = {&extras[LEAF_LOSS], &correct, v->vector};
    const wick_status status =
        wick_run(plan->workspace, in, v->pieces.on ? leaf_pieces_outputs(v, &correct) : out);
    extras[LEAF_CORRECT] = (float)correct;
    return status;
}

/* The vector of a leaf, in which a failed one has zeros; the model's buffers are as before then. */
static wick_status make_vector(trainer *t, int64_t number, int64_t n, int leaf) {
    leaf_cut *v = &t->leaves;
    float *buffers = v->vector + v->gradients, *extras = buffers + v->buffers;
    const int64_t samples = samples_of(v, leaf, n);
    wick_status status = WICK_OK;
    memset(extras, 0, LEAF_EXTRAS * sizeof *extras);
    if (samples) {
        step *plan = &t->steps[1][samples < v->size];
        leaf_pieces_watch(v, plan, leaf);
        status = run_leaf(t, plan, number, leaf);
        leaf_pieces_watch(v, plan, -1);
        if (status != WICK_OK && !*v->error)
            snprintf(v->error, sizeof v->error, "%s", wick_workspace_error(plan->workspace));
    }
    if (!samples || status != WICK_OK) memset(v->vector, 0, (size_t)v->gradients * sizeof *v->vector);
    if (status != WICK_OK) memset(extras, 0, LEAF_EXTRAS * sizeof *extras);
    wick_status moved = move_buffers(t->c, buffers, false);
    if (moved == WICK_OK) moved = move_buffers(t->c, v->before, true);
    for (int64_t i = 0; i < v->buffers; i++) buffers[i] /= (float)v->n;
    return status != WICK_OK ? status : moved;
}

/* Into v->sum. *failed: how a leaf of this rank did; all ranks come to the end of the sum whatever that is. */
static wick_status sum_leaves(trainer *t, int64_t number, int64_t n, wick_status *failed) {
    leaf_cut *v = &t->leaves;
    const double began = now_seconds();
    char name[32];
    wick_status status = wick_group_begin(v->group, (int)v->n, (size_t)v->count);
    snprintf(name, sizeof name, "%d leaves", v->end - v->first);
    wick_profile_begin(t->c->ctx, name);
    *failed = move_buffers(t->c, v->before, false);
    for (int leaf = v->first; status == WICK_OK && leaf < v->end; leaf++) {
        const wick_status made = make_vector(t, number, n, leaf);
        if (*failed == WICK_OK) *failed = made;
        float *extras = v->vector + v->gradients + v->buffers;
        if (made != WICK_OK) extras[made == WICK_ERR_NOT_FINITE ? LEAF_NOT_FINITE : LEAF_FAILED] = 1;
        if (leaf == v->first) extras[LEAF_STOP] = (float)interrupted();
        status = leaf_pieces_add(v, leaf);
    }
    wick_profile_end(t->c->ctx);
    v->shares.seconds = now_seconds() - began;
    wick_profile_begin(t->c->ctx, "sum of ranks"); /* and waiting for those that are slower */
    if (status == WICK_OK) status = v->shards.on ? shards_finish(t) : wick_group_finish(v->group, v->sum);
    wick_profile_end(t->c->ctx);
    return status == WICK_OK ? WICK_OK : group_failed(v, status);
}

wick_status leaves_step(trainer *t, int64_t number, int64_t n, trainer_result *result, const char **error) {
    leaf_cut *v = &t->leaves;
    *v->error = '\0';
    *error = v->error;
    wick_status failed, status = sum_leaves(t, number, n, &failed);
    if (status != WICK_OK) return status;
    const float *extras = v->shards.on ? v->shards.tail + v->buffers : v->sum + v->gradients + v->buffers;
    const float share = (float)(1 / share_of(v, n, n));
    v->stop = extras[LEAF_STOP] > 0;
    if (failed != WICK_OK) return failed;
    v->elsewhere = extras[LEAF_NOT_FINITE] > 0 || extras[LEAF_FAILED] > 0;
    if (v->elsewhere) {
        snprintf(v->error, sizeof v->error, "on another rank");
        return extras[LEAF_FAILED] > 0 ? WICK_ERR_CANCELLED : WICK_ERR_NOT_FINITE;
    }
    result->loss = extras[LEAF_LOSS] * share;
    result->correct = (int64_t)extras[LEAF_CORRECT];
    if (v->shards.on) {
        status = shards_update(t, share, error);
    } else {
        status = wick_run(v->update.workspace, (const void *[]){v->sum, &share}, NULL);
        if (status != WICK_OK) *error = wick_workspace_error(v->update.workspace);
    }
    return status == WICK_OK ? leaf_shares_step(t, number, n) : status;
}

wick_status leaves_replay(trainer *t, step plans[2], int64_t number, int64_t n, const char **error) {
    leaf_cut *v = &t->leaves;
    wick_status status = move_buffers(t->c, v->before, false);
    for (int leaf = v->first; status == WICK_OK && leaf < v->end && samples_of(v, leaf, n); leaf++) {
        step *plan = &plans[samples_of(v, leaf, n) < v->size];
        status = run_leaf(t, plan, number, leaf);
        *error = wick_workspace_error(plan->workspace);
        const wick_status moved = move_buffers(t->c, v->before, true);
        if (status == WICK_OK) status = moved;
    }
    return status;
}
