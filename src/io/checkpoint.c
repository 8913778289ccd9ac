/* checkpoint.c: opening and checking a checkpoint, and making a model's states those of the file. */
#include "io/checkpoint.h"

#include <stdio.h>

#include "io/json.h"

struct wick_checkpoint {
    wick_context *ctx;
    wick_allocator alloc;
    wick_safetensors file;
    bool foreign; /* no wick.format: another program's file, with nothing of ours to check or to restore */
};

/* ---- opening ----------------------------------------------------------------------------------------------------- */

wick_status wick_checkpoint_open(wick_context *ctx, const char *path, wick_checkpoint **out) {
    if (!out) return wick_context_fail(ctx, WICK_ERR_INVALID, "checkpoint_open: out is NULL");
    *out = NULL;
    if (!path || !*path) return wick_context_fail(ctx, WICK_ERR_INVALID, "checkpoint: no path");
    wick_checkpoint *c = wick_calloc(&ctx->alloc, sizeof *c);
    if (!c) return wick_context_fail(ctx, WICK_ERR_NOMEM, "%s: out of memory", path);
    c->ctx = ctx;
    c->alloc = ctx->alloc;
    wick_msg msg;
    const wick_status status = wick_safetensors_open(&c->file, path, &msg);
    if (status != WICK_OK) {
        wick_checkpoint_free(&c);
        return wick_context_fail(ctx, status, "%s", msg.text);
    }
    c->foreign = !wick_checkpoint_meta(c, WICK_META_FORMAT);
    *out = c;
    return WICK_OK;
}

void wick_checkpoint_free(wick_checkpoint **checkpoint) {
    wick_checkpoint *c = checkpoint ? *checkpoint : NULL;
    if (!c) return;
    *checkpoint = NULL;
    wick_safetensors_close(&c->file);
    wick_allocator alloc = c->alloc;
    wick_release(&alloc, c, sizeof *c);
}

const char *wick_checkpoint_meta(const wick_checkpoint *c, const char *key) {
    return key ? wick_safetensors_get_meta(&c->file, key) : NULL;
}

bool wick_checkpoint_meta_at(const wick_checkpoint *c, int i, const char **key, const char **value) {
    if (!key || !value) return false;
    if (i < 0 || (size_t)i >= c->file.meta_count) return false;
    *key = c->file.meta[i].key;
    *value = c->file.meta[i].value;
    return true;
}

int wick_checkpoint_count(const wick_checkpoint *c) { return (int)c->file.count; }

static wick_spec spec_of(const wick_safetensors_tensor *t) {
    wick_spec spec = {.name = t->name, .dtype = t->dtype, .rank = t->rank};
    memcpy(spec.dims, t->dims, sizeof spec.dims);
    return spec;
}

wick_spec wick_checkpoint_tensor(const wick_checkpoint *c, int i) {
    return i >= 0 && (size_t)i < c->file.count ? spec_of(&c->file.tensors[i]) : (wick_spec){0};
}

/* ---- comparing --------------------------------------------------------------------------------------------------- */

static bool is_optim(const char *name) { return strncmp(name, "optim.", 6) == 0; }

/* PyTorch's batch norms count their batches, and nothing that Wick computes depends on it. */
static bool is_batch_counter(const char *name) {
    static const char suffix[] = ".num_batches_tracked";
    const size_t len = strlen(name);
    return len >= sizeof suffix && strcmp(name + len - (sizeof suffix - 1), suffix) == 0;
}

/* Whether the state can take the file's value; unless exact, floats of another width are converted. */
static bool fits(const wick_safetensors_tensor *t, const wick_tensor *state, bool exact) {
    const wick_dtype dtype = wick_tensor_dtype(state);
    return (t->dtype == dtype || (!exact && wick_dtype_is_float(t->dtype) && wick_dtype_is_float(dtype))) &&
           t->rank == wick_tensor_rank(state) &&
           memcmp(t->dims, wick_tensor_dims(state), (size_t)t->rank * sizeof *t->dims) == 0;
}

/* The file has the whole of a state of which the model has a part. */
static bool fits_part(const wick_safetensors_tensor *t, const wick_tensor *state, const wick_state_part *part) {
    return t->dtype == wick_tensor_dtype(state) && t->rank == part->rank &&
           memcmp(t->dims, part->dims, (size_t)t->rank * sizeof *t->dims) == 0;
}

/* The file's tensor of a state, by its name or an alias of it. NULL: none. */
static const wick_safetensors_tensor *tensor_of(const wick_checkpoint *c, const wick_model *model, const char *state) {
    const wick_safetensors_tensor *t = wick_safetensors_find(&c->file, state);
    const char *alias, *name;
    for (int i = 0; !t && wick_model_alias_at(model, i, &alias, &name); i++)
        if (!strcmp(name, state)) t = wick_safetensors_find(&c->file, alias);
    return t;
}
/* Whether a tensor of the file is one that a state was taken from under another name, and the same. */
static bool is_copy(const wick_checkpoint *c, const wick_model *model, const wick_safetensors_tensor *t, bool *same) {
    const char *alias, *name;
    for (int i = 0; wick_model_alias_at(model, i, &alias, &name); i++) {
        const wick_safetensors_tensor *first = strcmp(alias, t->name) ? NULL : tensor_of(c, model, name);
        if (!first || first == t) continue;
        *same = first->dtype == t->dtype && first->bytes == t->bytes && !memcmp(first->data, t->data, t->bytes);
        return true;
    }
    return false;
}

typedef struct report {
    int count;
    bool recorded; /* the model has a PARAM or BUFFER */
    char buffer[WICK_MSG_MAX];
    wick_str text;
} report;

static wick_str *next_line(report *r, const char *name) {
    wick_str_add(&r->text, "%s%s ", r->count++ ? "; " : "", name);
    return &r->text;
}

static void report_type(report *r, const wick_safetensors_tensor *t, const wick_tensor *state) {
    wick_type in_file;
    wick_str *s = next_line(r, t->name);
    wick_str_add(s, "is ");
    if (wick_type_make(&in_file, t->dtype, t->rank, t->dims)) wick_type_print(s, &in_file);
    wick_str_add(s, " there and ");
    wick_type_print(s, &state->value->type);
    wick_str_add(s, " here");
}

static bool selected(const wick_load_options *o, const char *name) {
    return (!o->only || wick_glob(o->only, name)) && !(o->skip && wick_glob(o->skip, name));
}

/* What keeps the file's states from being the model's, of those selected. */
static void compare(report *r, const wick_checkpoint *c, const wick_model *model, bool with_optimizer,
                    const wick_load_options *o) {
    for (int i = 0; i < wick_model_count(model); i++) {
        const wick_named state = wick_model_at(model, i);
        const wick_safetensors_tensor *t = tensor_of(c, model, state.name);
        wick_state_part part;
        r->recorded |= state.role != WICK_ROLE_OPTIM;
        if ((state.role == WICK_ROLE_OPTIM && (!t || !with_optimizer)) || !selected(o, state.name)) continue;
        if (!t)
            wick_str_add(next_line(r, state.name), "is not there");
        else if (wick_model_part(model, state.name, &part) ? !fits_part(t, state.tensor, &part)
                                                           : !fits(t, state.tensor, with_optimizer))
            report_type(r, t, state.tensor);
    }
    for (size_t i = 0; i < c->file.count; i++) {
        const char *name = c->file.tensors[i].name;
        char shown[WICK_JSON_SHOWN];
        if (!is_optim(name) && (with_optimizer || !is_batch_counter(name)) && !wick_model_find(model, name) &&
            selected(o, name))
            wick_str_add(next_line(r, wick_json_show(shown, name)), "is only there");
        bool same;
        if (is_copy(c, model, &c->file.tensors[i], &same) && !same && selected(o, name))
            wick_str_add(next_line(r, wick_json_show(shown, name)),
                         "is another tensor there than what it is an alias of here");
    }
}

/* ---- loading ----------------------------------------------------------------------------------------------------- */

/* Every OPTIM state of the file that the model lacks; all memory is had before anything is overwritten. */
static wick_status make_optimizer_states(const wick_checkpoint *c, wick_model *model) {
    for (size_t i = 0; i < c->file.count; i++) {
        const wick_safetensors_tensor *t = &c->file.tensors[i];
        wick_state_part part;
        if (!is_optim(t->name) || wick_model_find(model, t->name) || wick_model_part(model, t->name, &part)) continue;
        wick_tensor *state =
            wick_model_state(model, t->name, WICK_ROLE_OPTIM, t->dtype, t->rank, t->dims, wick_init_constant(0));
        const char *why;
        char shown[WICK_JSON_SHOWN];
        const wick_status status = wick_tensor_error(state, &why);
        if (status != WICK_OK) /* the file asks for what no model has: not a mistake of the caller */
            return wick_context_fail(wick_model_context(model), status == WICK_ERR_NOMEM ? status : WICK_ERR_FORMAT,
                                     "state \"%s\" of the checkpoint: %s", wick_json_show(shown, t->name), why);
    }
    return WICK_OK;
}

static wick_status write_state(wick_model *model, const char *name, wick_tensor *state,
                               const wick_safetensors_tensor *t) {
    wick_context *ctx = wick_model_context(model);
    const wick_dtype dtype = wick_tensor_dtype(state);
    wick_state_part part;
    if (wick_model_part(model, name, &part)) { /* it has whole elements: OPTIM states are no packed ones */
        const size_t bytes = wick_dtype_bytes(dtype, part.end - part.begin);
        return bytes ? wick_write(state, (const char *)t->data + wick_dtype_bytes(dtype, part.begin), bytes) : WICK_OK;
    }
    if (t->dtype == dtype) return wick_write(state, t->data, t->bytes);
    const void *data;
    wick_scope *scope = wick_scope_open(ctx);
    wick_status status = wick_data(wick_cast(wick_from(ctx, t->dtype, t->rank, t->dims, t->data), dtype), &data);
    if (status == WICK_OK) status = wick_write(state, data, wick_dtype_bytes(dtype, wick_tensor_count(state)));
    wick_scope_close(&scope);
    return status;
}

/* Compares, and says as an error what differs. */
static wick_status check(report *r, const wick_checkpoint *c, wick_model *model, bool with_optimizer,
                         const wick_load_options *o) {
    wick_context *ctx = wick_model_context(model);
    /* Pending work belongs before what is loaded; should it fail, nothing has been changed yet. */
    WICK_TRY(wick_eval(ctx, 0, NULL, NULL));
    r->text = wick_str_on(r->buffer, sizeof r->buffer);
    compare(r, c, model, with_optimizer, o);
    if (r->count && !r->recorded)
        return wick_context_fail(ctx, WICK_ERR_MISMATCH,
                                 "the model has no states yet: record its network once (call "
                                 "the function that builds it), then load the checkpoint");
    if (r->count && !o->fitting)
        return wick_context_fail(ctx, WICK_ERR_MISMATCH, "the checkpoint is not this model's: %d %s: %s", r->count,
                                 r->count == 1 ? "state differs" : "states differ", r->buffer);
    return WICK_OK;
}

wick_status wick_checkpoint_load(const wick_checkpoint *c, wick_model *model, bool with_optimizer) {
    if (!model) return wick_context_fail(c->ctx, WICK_ERR_INVALID, "checkpoint_load: model is NULL");
    wick_context *ctx = wick_model_context(model);
    report r = {.count = 0};
    WICK_TRY(check(&r, c, model, with_optimizer, &(wick_load_options){0}));
    uint64_t seed, stream;
    const bool restore_random = with_optimizer && !c->foreign;
    if (restore_random && (!wick_seal_number(wick_safetensors_get_meta(&c->file, WICK_META_SEED), 10, &seed) ||
                           !wick_seal_number(wick_safetensors_get_meta(&c->file, WICK_META_STREAM), 10, &stream)))
        return wick_context_fail(ctx, WICK_ERR_FORMAT, "the checkpoint lacks " WICK_META_SEED " or " WICK_META_STREAM);

    if (with_optimizer) WICK_TRY(make_optimizer_states(c, model));
    for (int i = 0; i < wick_model_count(model); i++) {
        const wick_named state = wick_model_at(model, i);
        const wick_safetensors_tensor *t = tensor_of(c, model, state.name);
        if (t && (state.role != WICK_ROLE_OPTIM || with_optimizer))
            WICK_TRY(write_state(model, state.name, state.tensor, t));
    }
    if (restore_random) wick_context_set_random(ctx, seed, stream);
    return WICK_OK;
}

/* Walks the states to load and loads them if asked to. */
static wick_status load_selected(const wick_checkpoint *c, wick_model *model, const wick_load_options *o, bool write,
                                 int *loaded, int *kept) {
    *loaded = *kept = 0;
    for (int i = 0; i < wick_model_count(model); i++) {
        const wick_named state = wick_model_at(model, i);
        if (state.role == WICK_ROLE_OPTIM) continue;
        const wick_safetensors_tensor *t = selected(o, state.name) ? tensor_of(c, model, state.name) : NULL;
        const bool takes = t && fits(t, state.tensor, false);
        *(takes ? loaded : kept) += 1;
        if (takes && write) WICK_TRY(write_state(model, state.name, state.tensor, t));
    }
    return WICK_OK;
}

wick_status wick_checkpoint_load_some(const wick_checkpoint *c, wick_model *model, const wick_load_options *options,
                                      wick_load_report *result) {
    if (!model) return wick_context_fail(c->ctx, WICK_ERR_INVALID, "checkpoint_load_some: model is NULL");
    static const wick_load_options plain;
    const wick_load_options *o = options ? options : &plain;
    wick_load_report sum = {0};
    report r = {.count = 0};
    WICK_TRY(check(&r, c, model, false, o));
    WICK_TRY(load_selected(c, model, o, false, &sum.loaded, &sum.kept));
    if (!sum.loaded)
        return wick_context_fail(wick_model_context(model), WICK_ERR_MISMATCH,
                                 "no state of the checkpoint is to be loaded: %s",
                                 r.count ? r.buffer : "none that the model has is selected");
    WICK_TRY(load_selected(c, model, o, true, &sum.loaded, &sum.kept));
    for (size_t i = 0; i < c->file.count; i++) {
        bool same;
        sum.unused += !is_optim(c->file.tensors[i].name) && !(is_copy(c, model, &c->file.tensors[i], &same) && same);
    }
    sum.unused -= sum.loaded;
    snprintf(sum.differs, sizeof sum.differs, "%.*s", (int)sizeof sum.differs - 1, r.count ? r.buffer : "");
    if (result) *result = sum;
    return WICK_OK;
}
