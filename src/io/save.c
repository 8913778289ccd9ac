/* save.c: a model's states and metadata into one safetensors file. The checksum stands before the tensors in the file,
 * so their bytes are walked twice: once for it, once to write. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "io/checkpoint.h"
#include "io/previous_file.h"
#include "ops/ops.h"
#include "base/probe.h"

typedef struct save {
    wick_context *ctx;
    const wick_save_options *options;
    wick_safetensors_tensor *tensors;
    wick_safetensors_meta *meta;
    size_t n_tensors, n_meta;
    char seed[24], stream[24];
} save;

/* A state, or the mean that an optimizer keeps of it where the model is to be read so. */
static wick_tensor *value_of(const save *s, const wick_model *model, const wick_named *state) {
    char name[320];
    wick_tensor *mean = NULL;
    if (s->options->weights_only && wick_model_averaged(model)) {
        snprintf(name, sizeof name, WICK_AVERAGE_OF "%s", state->name);
        mean = wick_model_find(model, name);
    }
    if (!mean) return state->tensor;
    return wick_as(mean, wick_tensor_dtype(state->tensor));
}

/* A state of which the model has a part is written as the caller gives it, as a whole: the k-th of them. */
static wick_status take_whole(const save *s, const wick_named *state, const wick_state_part *part, int k,
                              wick_safetensors_tensor *t) {
    if (!s->options->whole)
        return wick_context_fail(
            s->ctx, WICK_ERR_INVALID,
            "save: the model has elements %lld to %lld alone of \"%s\", and the whole is not given",
            (long long)part->begin, (long long)part->end, state->name);
    int64_t count = 1;
    for (int d = 0; d < part->rank; d++) count *= part->dims[d];
    t->rank = part->rank;
    memcpy(t->dims, part->dims, sizeof t->dims);
    t->bytes = wick_dtype_bytes(t->dtype, count);
    t->give = s->options->whole;
    t->user = s->options->whole_user;
    t->number = k;
    return WICK_OK;
}

/* The states to write. Wider elements come first: each tensor then begins at a multiple of its element's size, since
 * those before it have sizes that are multiples of it. */
static wick_status collect_tensors(save *s, wick_model *model) {
    for (size_t width = 8; width; width /= 2)
        for (int i = 0, parts = 0; i < wick_model_count(model); i++) {
            const wick_named state = wick_model_at(model, i);
            const wick_dtype dtype = wick_tensor_dtype(state.tensor);
            wick_state_part part;
            const bool is_part = wick_model_part(model, state.name, &part);
            const int k = is_part ? parts++ : 0;
            if (WICK_MAX(wick_dtype_size(dtype), 1) != width ||
                (s->options->weights_only && state.role == WICK_ROLE_OPTIM))
                continue;
            wick_safetensors_tensor *t = &s->tensors[s->n_tensors++];
            *t = (wick_safetensors_tensor){.name = state.name, .dtype = dtype, .rank = wick_tensor_rank(state.tensor)};
            if (is_part) {
                WICK_TRY(take_whole(s, &state, &part, k, t));
                continue;
            }
            memcpy(t->dims, wick_tensor_dims(state.tensor), sizeof t->dims);
            t->bytes = wick_dtype_bytes(dtype, wick_tensor_count(state.tensor));
            WICK_TRY(wick_data(value_of(s, model, &state), &t->data));
        }
    return WICK_OK;
}

static void add_meta(save *s, const char *key, const char *value) {
    s->meta[s->n_meta++] = (wick_safetensors_meta){key, value};
}

static wick_status collect_meta(save *s, const wick_model *model) {
    uint64_t seed, stream;
    wick_context_random(s->ctx, &seed, &stream);
    snprintf(s->seed, sizeof s->seed, "%" PRIu64, seed);
    snprintf(s->stream, sizeof s->stream, "%" PRIu64, stream);
    add_meta(s, WICK_META_FORMAT, ""); /* the seal's to fill in */
    add_meta(s, WICK_META_NUMERICS, wick_context_numerics(s->ctx));
    add_meta(s, WICK_META_SEED, s->seed);
    add_meta(s, WICK_META_STREAM, s->stream);
    const char *alias, *name;
    for (int i = 0; wick_model_alias_at(model, i, &alias, &name); i++) add_meta(s, alias, name);
    for (int i = 0; i < s->options->n_meta; i++) {
        const wick_meta *m = &s->options->meta[i];
        if (!m->key || !*m->key || !m->value)
            return wick_context_fail(s->ctx, WICK_ERR_INVALID, "save: metadata %d has no key or no value", i);
        bool taken = strcmp(m->key, WICK_META_CRC) == 0;
        for (size_t k = 0; k < s->n_meta; k++) taken |= strcmp(m->key, s->meta[k].key) == 0;
        if (taken) return wick_context_fail(s->ctx, WICK_ERR_INVALID, "save: metadata \"%s\" is there twice", m->key);
        add_meta(s, m->key, m->value);
    }
    return WICK_OK;
}

static wick_status write_file(save *s, const char *path) {
    wick_msg msg;
    wick_previous_file previous = {0};
    if (s->options->keep_previous && wick_previous_file_hold(&previous, path, &s->ctx->alloc, &msg) != WICK_OK)
        return wick_context_fail(s->ctx, msg.status, "save: %s", msg.text);
    wick_status status = wick_seal_write(path, s->tensors, s->n_tensors, s->meta, s->n_meta, &msg);
    if (status == WICK_OK)
        status = wick_previous_file_keep(&previous, &msg);
    else
        wick_previous_file_drop(&previous);
    return status == WICK_OK ? status : wick_context_fail(s->ctx, status, "save: %s", msg.text);
}

static wick_status save_traced(wick_model *model, const char *path, const wick_save_options *options) {
    wick_context *ctx = wick_model_context(model);
    const wick_save_options none = {0};
    save s = {.ctx = ctx, .options = options ? options : &none};
    if (!path || !*path) return wick_context_fail(ctx, WICK_ERR_INVALID, "save: no path");
    if (s.options->n_meta < 0 || (s.options->n_meta && !s.options->meta))
        return wick_context_fail(ctx, WICK_ERR_INVALID, "save: %d metadata at NULL", s.options->n_meta);
    WICK_TRY(wick_eval(ctx, 0, NULL, NULL)); /* states as assigned */
    wick_scope *scope = wick_scope_open(ctx); /* of means in another dtype */

    const size_t tensors = (size_t)wick_model_count(model) * sizeof *s.tensors;
    size_t aliases = 0;
    for (const char *alias, *name; wick_model_alias_at(model, (int)aliases, &alias, &name); aliases++) {}
    const size_t metas = ((size_t)s.options->n_meta + WICK_META_OWN + aliases) * sizeof *s.meta;
    s.tensors = wick_alloc(&ctx->alloc, tensors);
    s.meta = wick_alloc(&ctx->alloc, metas);
    wick_status status = WICK_OK;
    if (!s.tensors || !s.meta || !scope) status = wick_context_fail(ctx, WICK_ERR_NOMEM, "save: out of memory");
    if (status == WICK_OK) status = collect_tensors(&s, model);
    if (status == WICK_OK) status = collect_meta(&s, model);
    if (status == WICK_OK) status = write_file(&s, path);
    wick_scope_close(&scope);
    wick_release(&ctx->alloc, s.tensors, tensors);
    wick_release(&ctx->alloc, s.meta, metas);
    return status;
}

wick_status wick_save(wick_model *model, const char *path, const wick_save_options *options) {
    WICK_PROBE1("checkpoint__begin", (uintptr_t)path);
    const wick_status status = save_traced(model, path, options);
    WICK_PROBE2("checkpoint__end", (uintptr_t)path, status);
    return status;
}
