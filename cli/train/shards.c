#include "shards.h"

#include "trainer.h"

#include <stdlib.h>
#include <string.h>

static wick_group *group_of(const trainer *t) { return t->leaves.group; }

/* ---- parts ------------------------------------------------------------------------------------------------------- */

/* Where each rank's part of everything is. */
static wick_status lay_out(trainer *t, int64_t rest) {
    shards *s = &t->leaves.shards;
    const int ranks = wick_group_size(group_of(t)), me = wick_group_rank(group_of(t));
    const size_t gradients = (size_t)t->leaves.gradients, tail = (size_t)rest;
    s->ranges = calloc(2 * (size_t)ranks, sizeof *s->ranges);
    s->rests = calloc(3 * ((size_t)ranks + 1), sizeof *s->rests);
    if (!s->ranges || !s->rests) return WICK_ERR_NOMEM;
    s->norms = s->rests + ranks + 1;
    s->weights = s->norms + ranks + 1;
    for (int r = 0; r < ranks; r++) {
        wick_optim_part part;
        const wick_status status = wick_optimizer_part(t->optimizer, r, &part);
        if (status != WICK_OK) return status;
        const size_t begin = tail * (size_t)r / (size_t)ranks, end = tail * ((size_t)r + 1) / (size_t)ranks;
        s->ranges[2 * r] = (wick_range){(size_t)part.begin, (size_t)part.needed};
        s->ranges[2 * r + 1] = (wick_range){gradients + begin, gradients + end};
        s->rests[r + 1] = end * sizeof(float);
        s->norms[r + 1] = (size_t)part.end_norm * sizeof(double);
        s->weights[r + 1] = (size_t)part.end * sizeof(float);
        s->n_norms = part.end_norm;
        if (r == me) s->own = part, s->rest = end - begin;
    }
    return WICK_OK;
}

/* ---- plans ------------------------------------------------------------------------------------------------------- */

/* in: this rank's gradients, and what they are multiplied by. */
static wick_status record_norms(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx;
    const trainer *t = user;
    wick_here("norms");
    return wick_optimizer_norms(t->optimizer, wick_mul(in[0], in[1]), &out[0]);
}

/* in: those, the rest of the sum, and the norms of all ranks, if there are any. */
static wick_status record_update(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx;
    const trainer *t = user;
    wick_here("update");
    const wick_status status = leaves_assign_buffers(t, in[2], 0);
    if (status != WICK_OK) return status;
    return wick_optimizer_update_part(t->optimizer, wick_mul(in[0], in[1]), t->leaves.shards.n_norms ? in[3] : NULL,
                                      &out[0]);
}

static wick_status record_setting(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx, (void)out;
    const trainer *t = user;
    return wick_optimizer_set_weights(t->optimizer, in[0]);
}

static wick_status compile(trainer *t, wick_function fn, int n_in, const wick_spec *in, int n_out, step *s) {
    const wick_compile_options options = {.precision = t->compiling.precision, .wide = t->compiling.wide};
    wick_status status = wick_compile(t->c->ctx, fn, t, n_in, in, n_out, &options, &s->plan);
    if (status == WICK_OK) status = wick_workspace_new(s->plan, &s->workspace);
    return status;
}

wick_status shards_new(trainer *t) {
    leaf_cut *v = &t->leaves;
    shards *s = &v->shards;
    const int64_t rest = v->buffers + LEAF_EXTRAS;
    wick_status status = lay_out(t, rest);
    const wick_spec in[4] = {
        {.name = "sum", .dtype = WICK_F32, .rank = 1, .dims = {s->own.needed - s->own.begin}},
        {.name = "share", .dtype = WICK_F32},
        {.name = "rest", .dtype = WICK_F32, .rank = 1, .dims = {rest}},
        {.name = "norms", .dtype = WICK_F64, .rank = 1, .dims = {s->n_norms}},
    };
    const wick_spec all = {.name = "weights", .dtype = WICK_F32, .rank = 1, .dims = {v->gradients}};
    if (status == WICK_OK && s->n_norms) status = compile(t, record_norms, 2, in, 1, &s->finding);
    if (status == WICK_OK) status = compile(t, record_update, s->n_norms ? 4 : 3, in, 1, &v->update);
    if (status == WICK_OK) status = compile(t, record_setting, 1, &all, 0, &s->setting);
    if (status != WICK_OK) return status;
    s->tail = step_buffer(rest, sizeof *s->tail);
    s->norm = step_buffer(s->n_norms + 1, sizeof *s->norm);
    return s->tail && s->norm ? WICK_OK : WICK_ERR_NOMEM;
}

void shards_free(shards *s) {
    shards_end_save(s);
    step_free(&s->finding);
    step_free(&s->setting);
    free(s->ranges);
    free(s->rests);
    free(s->tail);
    free(s->norm);
    free(s->kept);
    *s = (shards){0};
}

/* ---- a step ------------------------------------------------------------------------------------------------------ */

wick_status shards_finish(trainer *t) {
    shards *s = &t->leaves.shards;
    wick_status status = wick_group_finish_parts(group_of(t), 2, s->ranges, t->leaves.sum);
    const float *rest = t->leaves.sum + (s->own.needed - s->own.begin);
    return status == WICK_OK ? wick_group_collect(group_of(t), -1, s->rests, rest, s->tail) : status;
}

static wick_status run(const step *s, const void *const *in, void *const *out, const char **error) {
    const wick_status status = wick_run(s->workspace, in, out);
    if (status != WICK_OK) *error = wick_workspace_error(s->workspace);
    return status;
}

static wick_status collect(trainer *t, const size_t *begin, const void *mine, void *all, const char **error) {
    const wick_status status = wick_group_collect(group_of(t), -1, begin, mine, all);
    if (status != WICK_OK) *error = wick_group_error(group_of(t));
    return status;
}

wick_status shards_update(trainer *t, float share, const char **error) {
    shards *s = &t->leaves.shards;
    float *weights = t->leaves.vector; /* the leaves' gradients are summed */
    const void *const in[4] = {t->leaves.sum, &share, s->tail, s->norm};
    double *norms = s->norm + s->own.first_norm;
    wick_status status = WICK_OK;
    if (s->n_norms) {
        status = run(&s->finding, in, (void *[]){norms}, error);
        if (status == WICK_OK) status = collect(t, s->norms, norms, s->norm, error);
    }
    if (status == WICK_OK) status = run(&t->leaves.update, in, (void *[]){weights + s->own.begin}, error);
    if (status == WICK_OK) status = collect(t, s->weights, weights + s->own.begin, weights, error);
    if (status == WICK_OK) status = run(&s->setting, (const void *[]){weights}, NULL, error);
    return status;
}

/* ---- states as a whole ------------------------------------------------------------------------------------------- */

static int64_t count_of(const wick_state_part *part) {
    int64_t count = 1;
    for (int d = 0; d < part->rank; d++) count *= part->dims[d];
    return count;
}

/* Where each rank's part of a state begins, from what all told of state k: in bytes. */
static void begins_of(int ranks, const int64_t *told, int n, int k, const wick_state_part *part, size_t size,
                      size_t *begin) {
    for (int r = 0; r < ranks; r++) begin[r] = (size_t)told[r * n + k] * size;
    begin[ranks] = (size_t)count_of(part) * size;
}

/* Each rank tells where its part of each state begins. */
static int64_t *tell_begins(trainer *t, int n) {
    const wick_model *model = t->c->model;
    const int ranks = wick_group_size(group_of(t));
    int64_t *mine = malloc(((size_t)n + 1) * sizeof *mine), *all = malloc((size_t)ranks * (size_t)n * sizeof *all + 1);
    wick_state_part part;
    for (int i = 0, k = 0; mine && i < wick_model_count(model); i++)
        if (wick_model_part(model, wick_model_at(model, i).name, &part)) mine[k++] = part.begin;
    if (!mine || !all || wick_group_gather(group_of(t), mine, (size_t)n * sizeof *mine, all) != WICK_OK) {
        free(all);
        all = NULL;
    }
    free(mine);
    return all;
}

wick_status shards_begin_save(trainer *t) {
    shards *s = &t->leaves.shards;
    const wick_model *model = t->c->model;
    size_t most = 0;
    wick_state_part part;
    s->n_states = 0;
    for (int i = 0; i < wick_model_count(model); i++) {
        const wick_named state = wick_model_at(model, i);
        if (!wick_model_part(model, state.name, &part)) continue;
        const size_t bytes = (size_t)count_of(&part) * wick_dtype_size(wick_tensor_dtype(state.tensor));
        most = bytes > most ? bytes : most;
        s->n_states++;
    }
    s->begin = calloc((size_t)wick_group_size(group_of(t)) + 1, sizeof *s->begin);
    s->whole = malloc(wick_group_rank(group_of(t)) == 0 ? most + 1 : 1);
    s->begins = tell_begins(t, s->n_states);
    return s->begin && s->whole && s->begins ? WICK_OK : WICK_ERR_NOMEM;
}

void shards_end_save(shards *s) {
    free(s->begins);
    free(s->begin);
    free(s->whole);
    s->begins = NULL;
    s->begin = NULL;
    s->whole = NULL;
}

/* State k as a whole to rank 0. */
static wick_status collect_state(trainer *t, int k) {
    shards *s = &t->leaves.shards;
    const wick_model *model = t->c->model;
    wick_state_part part;
    int i = -1;
    for (int left = k; left >= 0;) left -= wick_model_part(model, wick_model_at(model, ++i).name, &part);
    const wick_named state = wick_model_at(model, i);
    const void *mine = NULL;
    wick_status status = part.end > part.begin ? wick_data(state.tensor, &mine) : WICK_OK;
    if (status != WICK_OK) return status;
    begins_of(wick_group_size(group_of(t)), s->begins, s->n_states, k, &part,
              wick_dtype_size(wick_tensor_dtype(state.tensor)), s->begin);
    return wick_group_collect(group_of(t), 0, s->begin, mine, s->whole);
}

const void *shards_give(void *user, int k) {
    trainer *t = user;
    wick_status status = wick_group_broadcast(group_of(t), 0, &k, sizeof k);
    if (status == WICK_OK) status = collect_state(t, k);
    return status == WICK_OK ? t->leaves.shards.whole : NULL;
}

enum { HAS_ALL = -1 }; /* no state's number */

wick_status shards_have_all(trainer *t) {
    int k = HAS_ALL;
    return wick_group_broadcast(group_of(t), 0, &k, sizeof k);
}

wick_status shards_serve(trainer *t) {
    wick_status status = WICK_OK;
    for (int k = 0; status == WICK_OK && k != HAS_ALL;) {
        status = wick_group_broadcast(group_of(t), 0, &k, sizeof k);
        if (status == WICK_OK && k != HAS_ALL) status = collect_state(t, k);
    }
    return status;
}

/* ---- averages ---------------------------------------------------------------------------------------------------- */

/* The parameters to `kept`, or from there; NULL: how many bytes they are. */
static wick_status move_parameters(const wick_model *model, char *kept, bool back, size_t *bytes) {
    wick_status status = WICK_OK;
    *bytes = 0;
    for (int i = 0; status == WICK_OK && i < wick_model_count(model); i++) {
        const wick_named state = wick_model_at(model, i);
        if (state.role != WICK_ROLE_PARAM) continue;
        const size_t size = (size_t)wick_tensor_count(state.tensor) * wick_dtype_size(wick_tensor_dtype(state.tensor));
        if (kept && size)
            status =
                back ? wick_write(state.tensor, kept + *bytes, size) : wick_read(state.tensor, kept + *bytes, size);
        *bytes += size;
    }
    return status;
}

/* This rank's averages, which follow each other as its weights do. */
static wick_status own_averages(const trainer *t, float *out) {
    const wick_model *model = t->c->model;
    wick_status status = WICK_OK;
    for (int i = 0; status == WICK_OK && i < wick_model_count(model); i++) {
        const wick_named state = wick_model_at(model, i);
        wick_state_part part;
        if (strncmp(state.name, WICK_AVERAGE_OF, strlen(WICK_AVERAGE_OF)) != 0 ||
            !wick_model_part(model, state.name, &part) || part.begin == part.end)
            continue;
        const size_t count = (size_t)(part.end - part.begin);
        status = wick_read(state.tensor, out, count * sizeof *out);
        out += count;
    }
    return status;
}

wick_status shards_show_averages(trainer *t) {
    shards *s = &t->leaves.shards;
    float *weights = t->leaves.vector;
    size_t bytes;
    wick_status status = move_parameters(t->c->model, NULL, false, &bytes);
    s->kept = malloc(bytes + 1);
    if (!s->kept) return WICK_ERR_NOMEM;
    const char *error;
    if (status == WICK_OK) status = move_parameters(t->c->model, s->kept, false, &bytes);
    if (status == WICK_OK) status = own_averages(t, weights + s->own.begin);
    if (status == WICK_OK) status = collect(t, s->weights, weights + s->own.begin, weights, &error);
    if (status == WICK_OK) status = run(&s->setting, (const void *[]){weights}, NULL, &error);
    return status;
}

wick_status shards_hide_averages(trainer *t) {
    shards *s = &t->leaves.shards;
    size_t bytes;
    if (!s->kept) return WICK_OK;
    const wick_status status = move_parameters(t->c->model, s->kept, true, &bytes);
    free(s->kept);
    s->kept = NULL;
    return status;
}

/* ---- figures ----------------------------------------------------------------------------------------------------- */

void shards_bytes(const wick_model *model, double *own, double *all) {
    *own = *all = 0;
    for (int i = 0; i < wick_model_count(model); i++) {
        const wick_named state = wick_model_at(model, i);
        wick_state_part part;
        if (state.role != WICK_ROLE_OPTIM) continue;
        const int64_t has = wick_tensor_count(state.tensor);
        const double size = (double)wick_dtype_size(wick_tensor_dtype(state.tensor));
        *own += (double)has * size;
        *all += (double)(wick_model_part(model, state.name, &part) ? count_of(&part) : has) * size;
    }
}
