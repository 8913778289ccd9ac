/* checkpoint.c: opening and checking a checkpoint, and making a model's states those of the file. */
#include "io/checkpoint.h"

#include <inttypes.h>

struct wick_checkpoint {
    wick_context *ctx;
    wick_allocator alloc;
    wick_safetensors file;
    bool foreign; /* no wick.format: another program's file, with nothing of ours to check or to restore */
};

/* ---- opening
 * ---------------------------------------------------------------------------------------------------------- */

/* A whole number in `base` and nothing else. */
static bool read_number(const char *text, unsigned base, uint64_t *value) {
    *value = 0;
    if (!text || !*text) return false;
    for (; *text; text++) {
        const unsigned digit = *text >= '0' && *text <= '9'   ? (unsigned)(*text - '0')
                               : *text >= 'a' && *text <= 'f' ? (unsigned)(*text - 'a') + 10
                                                              : base;
        if (digit >= base || wick_mul_overflows(*value, (uint64_t)base, value) ||
            wick_add_overflows(*value, (uint64_t)digit, value))
            return false;
    }
    return true;
}

static wick_status verify(wick_checkpoint *c, const char *path) {
    const char *text = wick_safetensors_get_meta(&c->file, WICK_META_FORMAT);
    uint64_t format, crc;
    c->foreign = !text;
    if (c->foreign) return WICK_OK;
    if (!read_number(text, 10, &format) || format < 1)
        return wick_context_fail(c->ctx, WICK_ERR_FORMAT, "%s: " WICK_META_FORMAT " is no version", path);
    if (format > WICK_CHECKPOINT_FORMAT)
        return wick_context_fail(c->ctx, WICK_ERR_VERSION,
                                 "%s: a checkpoint of format %" PRIu64 "; this Wick reads up to %d", path, format,
                                 WICK_CHECKPOINT_FORMAT);
    if (!read_number(wick_safetensors_get_meta(&c->file, WICK_META_CRC), 16, &crc) || crc > UINT32_MAX)
        return wick_context_fail(c->ctx, WICK_ERR_FORMAT, "%s: " WICK_META_CRC " is missing or no checksum", path);
    const uint32_t is = wick_crc32c(0, c->file.data, c->file.data_bytes);
    if (is != crc)
        return wick_context_fail(c->ctx, WICK_ERR_FORMAT,
                                 "%s: damaged: the tensors' checksum is %08" PRIx32 ", and should be %08" PRIx64, path,
                                 is, crc);
    return WICK_OK;
}

wick_status wick_checkpoint_open(wick_context *ctx, const char *path, wick_checkpoint **out) {
    *out = NULL;
    if (!path || !*path) return wick_context_fail(ctx, WICK_ERR_INVALID, "checkpoint: no path");
    wick_checkpoint *c = wick_calloc(&ctx->alloc, sizeof *c);
    if (!c) return wick_context_fail(ctx, WICK_ERR_NOMEM, "%s: out of memory", path);
    c->ctx = ctx;
    c->alloc = ctx->alloc;
    wick_msg msg;
    wick_status status = wick_safetensors_open(&c->file, path, &msg);
    if (status != WICK_OK)
        wick_context_fail(ctx, status, "%s", msg.text);
    else
        status = verify(c, path);
    if (status != WICK_OK)
        wick_checkpoint_free(&c);
    else
        *out = c;
    return status;
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

/* ---- comparing
 * ----------------------------------------------------------------------------------------------------------- */

static bool is_optim(const char *name) { return strncmp(name, "optim.", 6) == 0; }

static bool same_type(const wick_safetensors_tensor *t, const wick_tensor *state) {
    const size_t dims = (size_t)t->rank * sizeof *t->dims;
    return t->dtype == wick_tensor_dtype(state) && t->rank == wick_tensor_rank(state) &&
           memcmp(t->dims, wick_tensor_dims(state), dims) == 0;
}

typedef struct report {
    int count;
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

/* What keeps the file's states from being the model's. */
static void compare(report *r, const wick_checkpoint *c, const wick_model *model, bool with_optimizer) {
    for (int i = 0; i < wick_model_count(model); i++) {
        const wick_named state = wick_model_at(model, i);
        const wick_safetensors_tensor *t = wick_safetensors_find(&c->file, state.name);
        if (state.role == WICK_ROLE_OPTIM && (!t || !with_optimizer)) continue;
        if (!t)
            wick_str_add(next_line(r, state.name), "is not there");
        else if (!same_type(t, state.tensor))
            report_type(r, t, state.tensor);
    }
    for (size_t i = 0; i < c->file.count; i++) {
        const char *name = c->file.tensors[i].name;
        if (!is_optim(name) && !wick_model_find(model, name)) wick_str_add(next_line(r, name), "is only there");
    }
}

/* ---- loading
 * ---------------------------------------------------------------------------------------------------------------- */

/* Every OPTIM state of the file that the model lacks; all memory is had before anything is overwritten. */
static wick_status make_optimizer_states(const wick_checkpoint *c, wick_model *model) {
    for (size_t i = 0; i < c->file.count; i++) {
        const wick_safetensors_tensor *t = &c->file.tensors[i];
        if (!is_optim(t->name) || wick_model_find(model, t->name)) continue;
        wick_tensor *state =
            wick_model_state(model, t->name, WICK_ROLE_OPTIM, t->dtype, t->rank, t->dims, wick_init_constant(0));
        if (wick_tensor_error(state, NULL) != WICK_OK) return wick_fail_poison(wick_model_context(model), state);
    }
    return WICK_OK;
}

wick_status wick_checkpoint_load(const wick_checkpoint *c, wick_model *model, bool with_optimizer) {
    wick_context *ctx = wick_model_context(model);
    /* Pending work belongs before what is loaded; should it fail, nothing has been changed yet. */
    WICK_TRY(wick_eval(ctx, 0, NULL, NULL));
    report r = {.count = 0};
    r.text = wick_str_on(r.buffer, sizeof r.buffer);
    compare(&r, c, model, with_optimizer);
    if (r.count)
        return wick_context_fail(ctx, WICK_ERR_MISMATCH, "the checkpoint is not this model's: %d states differ: %s",
                                 r.count, r.buffer);
    uint64_t seed, stream;
    const bool restore_random = with_optimizer && !c->foreign;
    if (restore_random && (!read_number(wick_safetensors_get_meta(&c->file, WICK_META_SEED), 10, &seed) ||
                           !read_number(wick_safetensors_get_meta(&c->file, WICK_META_STREAM), 10, &stream)))
        return wick_context_fail(ctx, WICK_ERR_FORMAT, "the checkpoint lacks " WICK_META_SEED " or " WICK_META_STREAM);

    if (with_optimizer) WICK_TRY(make_optimizer_states(c, model));
    for (int i = 0; i < wick_model_count(model); i++) {
        const wick_named state = wick_model_at(model, i);
        const wick_safetensors_tensor *t = wick_safetensors_find(&c->file, state.name);
        if (t && (state.role != WICK_ROLE_OPTIM || with_optimizer))
            WICK_TRY(wick_write(state.tensor, t->data, t->bytes));
    }
    if (restore_random) wick_context_set_random(ctx, seed, stream);
    return WICK_OK;
}
