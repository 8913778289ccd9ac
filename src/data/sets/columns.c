/* columns.c: tensors whose rows are samples, and the lines of a text. */
#include "data/sets/dataset.h"
#include "wick/datasets.h"
#include "wick/tensor.h"

/* ---- tensors ----------------------------------------------------------------------------------------------------- */

typedef struct columns {
    wick_allocator alloc;
    int n, label;
    wick_dtype label_dtype;
    wick_tensor *tensors[WICK_DATASET_FIELDS]; /* kept */
    const uint8_t *data[WICK_DATASET_FIELDS];
    size_t bytes[WICK_DATASET_FIELDS]; /* of a row */
} columns;

static int64_t label_at(const columns *c, int64_t i) {
    const void *p = c->data[c->label];
    switch (c->label_dtype) {
    case WICK_U8: return ((const uint8_t *)p)[i];
    case WICK_I8: return ((const int8_t *)p)[i];
    case WICK_U16: return ((const uint16_t *)p)[i];
    case WICK_I16: return ((const int16_t *)p)[i];
    case WICK_U32: return ((const uint32_t *)p)[i];
    case WICK_I32: return ((const int32_t *)p)[i];
    default: return ((const int64_t *)p)[i];
    }
}
static int64_t column_label(void *user, int64_t i) { return label_at(user, i); }
static const void *column_at(void *user, int64_t i, int k) {
    const columns *c = user;
    return k == c->label && c->label_dtype != WICK_I64 ? NULL : c->data[k] + (size_t)i * c->bytes[k];
}
static wick_status column_get(void *user, int64_t i, void *const *out, wick_fault *fault) {
    (void)fault;
    const columns *c = user;
    for (int k = 0; k < c->n; k++) {
        if (!out[k]) continue;
        if (k == c->label) *(int64_t *)out[k] = label_at(c, i);
        else if (c->bytes[k]) memcpy(out[k], c->data[k] + (size_t)i * c->bytes[k], c->bytes[k]);
    }
    return WICK_OK;
}
static void column_free(void *user) {
    columns *c = user;
    const wick_allocator alloc = c->alloc;
    for (int k = 0; k < c->n; k++) wick_tensor_free(&c->tensors[k]);
    wick_release(&alloc, c, sizeof *c);
}

static wick_status take(wick_context *ctx, columns *c, wick_dataset_source *s, int k, const char *name, wick_tensor *x,
                        int64_t classes) {
    const char *why;
    const void *data;
    wick_status status = wick_tensor_error(x, &why);
    if (status != WICK_OK) return wick_context_fail(ctx, status, "dataset: column \"%s\": %s", name, why);
    wick_spec *f = &s->fields[k];
    if (wick_tensor_rank(x) < 1)
        return wick_context_fail(ctx, WICK_ERR_SHAPE, "dataset: column \"%s\" has no rows", name);
    *f = (wick_spec){name, wick_tensor_dtype(x), wick_tensor_rank(x) - 1, {0}};
    for (int d = 0; d < f->rank; d++) f->dims[d] = wick_tensor_dim(x, d + 1);
    const int64_t rows = wick_tensor_dim(x, 0);
    if (k && rows != s->count)
        return wick_context_fail(ctx, WICK_ERR_SHAPE, "dataset: column \"%s\" has %lld rows, \"%s\" has %lld", name,
                                 (long long)rows, s->fields[0].name, (long long)s->count);
    s->count = rows;
    status = wick_data(x, &data); /* the context's error says why */
    if (status != WICK_OK) return status;
    c->tensors[k] = wick_retain(x);
    c->data[k] = data;
    c->bytes[k] = wick_spec_bytes(f);
    if (k != c->label) return WICK_OK;
    const wick_dtype t = f->dtype;
    if (f->rank || (t != WICK_U8 && t != WICK_I8 && t != WICK_U16 && t != WICK_I16 && t != WICK_U32 && t != WICK_I32 &&
                    t != WICK_I64))
        return wick_context_fail(ctx, WICK_ERR_DTYPE, "dataset: column \"%s\" is to be the class: integers of rank 1",
                                 name);
    c->label_dtype = t;
    f->dtype = WICK_I64;
    for (int64_t i = 0; i < rows; i++)
        if (label_at(c, i) < 0 || label_at(c, i) >= classes)
            return wick_context_fail(ctx, WICK_ERR_INVALID, "dataset: row %lld of \"%s\" is %lld, of %lld classes",
                                     (long long)i, name, (long long)label_at(c, i), (long long)classes);
    return WICK_OK;
}

wick_status wick_dataset_of_tensors(wick_context *ctx, int n, const char *const *names, wick_tensor *const *tensors,
                                    int label, int64_t classes, wick_dataset **out) {
    if (n > 0 && !names) return wick_context_fail(ctx, WICK_ERR_INVALID, "dataset_of_tensors: names is NULL");
    if (n > 0 && !tensors) return wick_context_fail(ctx, WICK_ERR_INVALID, "dataset_of_tensors: tensors is NULL");
    if (!out) return wick_context_fail(ctx, WICK_ERR_INVALID, "dataset_of_tensors: out is NULL");
    *out = NULL;
    if (n < 1 || n > WICK_DATASET_FIELDS || label >= n || (label < 0) != (classes == 0))
        return wick_context_fail(ctx, WICK_ERR_INVALID,
                                 "dataset: %d columns, of which number %d is the class, of %lld; there may be 1 to %d",
                                 n, label, (long long)classes, WICK_DATASET_FIELDS);
    columns *c = wick_calloc(&ctx->alloc, sizeof *c);
    if (!c) return wick_context_fail(ctx, WICK_ERR_NOMEM, "dataset: out of memory");
    *c = (columns){.alloc = ctx->alloc, .n = n, .label = label};
    wick_dataset_source s = {.n_fields = n,
                             .get = column_get,
                             .at = column_at,
                             .label = label < 0 ? NULL : column_label,
                             .classes = classes,
                             .free = column_free,
                             .user = c};
    wick_status status = WICK_OK;
    for (int k = 0; k < n && status == WICK_OK; k++) status = take(ctx, c, &s, k, names[k], tensors[k], classes);
    if (status == WICK_OK) status = wick_dataset_new(ctx, &s, out);
    if (status != WICK_OK) column_free(c);
    return status;
}

/* ---- lines ------------------------------------------------------------------------------------------------------- */

typedef struct lines {
    wick_allocator alloc;
    wick_map map;
    size_t *at; /* [n + 1] */
    size_t n, cap;
} lines;

static const uint8_t *line_of(const lines *l, int64_t i, size_t *size) {
    size_t end = l->at[i + 1];
    const size_t begin = l->at[i];
    end -= end > begin && l->map.data[end - 1] == '\n';
    end -= end > begin && l->map.data[end - 1] == '\r';
    *size = end - begin;
    return l->map.data + begin;
}
static int64_t line_length(void *user, int64_t i, int field) {
    size_t size;
    (void)field;
    line_of(user, i, &size);
    return (int64_t)size;
}
static const void *line_at(void *user, int64_t i, int field) {
    size_t size;
    (void)field;
    return line_of(user, i, &size);
}
static wick_status line_get(void *user, int64_t i, void *const *out, wick_fault *fault) {
    size_t size;
    (void)fault;
    const uint8_t *line = line_of(user, i, &size);
    if (out[0] && size) memcpy(out[0], line, size);
    return WICK_OK;
}
static void line_free(void *user) {
    lines *l = user;
    const wick_allocator alloc = l->alloc;
    wick_map_close(&l->map);
    wick_release(&alloc, l->at, l->cap * sizeof *l->at);
    wick_release(&alloc, l, sizeof *l);
}

wick_status wick_dataset_of_lines(wick_context *ctx, const char *path, wick_dataset **out) {
    if (!out) return wick_context_fail(ctx, WICK_ERR_INVALID, "dataset_of_lines: out is NULL");
    wick_msg msg = {0};
    *out = NULL;
    lines *l = wick_calloc(&ctx->alloc, sizeof *l);
    if (!l) return wick_context_fail(ctx, WICK_ERR_NOMEM, "dataset: out of memory");
    l->alloc = ctx->alloc;
    wick_status status = wick_map_open(&l->map, path, &msg);
    bool room = true;
    for (size_t at = 0; status == WICK_OK && room; l->n++) {
        room = wick_grow(&l->alloc, (void **)&l->at, &l->cap, l->n + 1, sizeof *l->at);
        if (room) l->at[l->n] = at;
        if (!room || at == l->map.size) break;
        const uint8_t *end = memchr(l->map.data + at, '\n', l->map.size - at);
        at = end ? (size_t)(end + 1 - l->map.data) : l->map.size;
    }
    if (!room) status = wick_msg_set(&msg, WICK_ERR_NOMEM, "%s: out of memory for its lines", path);
    if (status != WICK_OK) return line_free(l), wick_context_fail(ctx, status, "dataset: %s", msg.text);
    const wick_dataset_source s = {.count = (int64_t)l->n,
                                   .n_fields = 1,
                                   .fields = {{"text", WICK_U8, 1, {-1}}},
                                   .get = line_get,
                                   .at = line_at,
                                   .length = line_length,
                                   .free = line_free,
                                   .user = l};
    status = wick_dataset_new(ctx, &s, out);
    if (status != WICK_OK) line_free(l);
    return status;
}
