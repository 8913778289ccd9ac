/* weights_write.c: named tensors into a file of the kind that its name says. */
#define WICK_NO_SITES
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "io/weights.h"

typedef struct job {
    const char *path;
    size_t n;
    const wick_named_tensor *named;
    const wick_safetensors_tensor *tensors; /* the same, with their data */
    const wick_weights_write_options *o;
    wick_msg *msg;
} job;

static wick_status write_safetensors(const job *j) {
    return wick_seal_write(j->path, j->tensors, j->n, (const wick_safetensors_meta *)j->o->meta, (size_t)j->o->n_meta,
                           j->msg);
}

static wick_status write_shards(const job *j) {
    const size_t most = j->o->max_shard ? j->o->max_shard : (size_t)5000000000;
    return wick_shards_write(j->path, j->tensors, j->n, (const wick_safetensors_meta *)j->o->meta, (size_t)j->o->n_meta,
                             most, j->msg);
}

static wick_status no_dtype(const job *j, const wick_safetensors_tensor *t) {
    return wick_msg_set(j->msg, WICK_ERR_UNSUPPORTED, "%s: \"%.200s\": NumPy's files have no %s: cast it", j->path,
                        t->name, wick_dtype_name(t->dtype));
}

static wick_status write_npz(const job *j) {
    struct array {
        char head[WICK_NPY_HEADER], name[1024 + 8];
    } *arrays = wick_alloc(NULL, (j->n + 1) * sizeof *arrays);
    wick_zip_piece *pieces = wick_alloc(NULL, (j->n + 1) * sizeof *pieces);
    wick_status status =
        arrays && pieces ? WICK_OK : wick_msg_set(j->msg, WICK_ERR_NOMEM, "%s: out of memory", j->path);
    for (size_t i = 0; i < j->n && status == WICK_OK; i++) {
        const wick_safetensors_tensor *t = &j->tensors[i];
        const size_t head = wick_npy_make_header(arrays[i].head, t->dtype, t->rank, t->dims);
        if (!head) status = no_dtype(j, t);
        if ((size_t)snprintf(arrays[i].name, sizeof arrays[i].name, "%s.npy", t->name) >= sizeof arrays[i].name)
            status = wick_msg_set(j->msg, WICK_ERR_INVALID, "%s: the name %.80s... is too long", j->path, t->name);
        pieces[i] = (wick_zip_piece){arrays[i].name, arrays[i].head, t->data, head, t->bytes};
    }
    if (status == WICK_OK) status = wick_zip_write(j->path, pieces, j->n, j->o->compress, j->msg);
    wick_release(NULL, pieces, (j->n + 1) * sizeof *pieces);
    wick_release(NULL, arrays, (j->n + 1) * sizeof *arrays);
    return status;
}

static wick_status write_npy(const job *j) {
    if (j->n != 1)
        return wick_msg_set(j->msg, WICK_ERR_INVALID, "%s: a .npy has one tensor, not %zu: .npz has many", j->path,
                            j->n);
    wick_tensor *t = j->named[0].tensor;
    const wick_status status = wick_npy_write(wick_tensor_context(t), j->path, t);
    return status == WICK_OK ? status : wick_msg_set(j->msg, status, "%s", wick_context_error(wick_tensor_context(t)));
}

static const struct {
    const char *end;
    wick_status (*write)(const job *j);
} kinds[] = {{".safetensors.index.json", write_shards},
             {".safetensors", write_safetensors},
             {".npz", write_npz},
             {".npy", write_npy}};

static bool has_end(const char *path, const char *end) {
    const size_t n = strlen(path), m = strlen(end);
    return n > m && path[n - m - 1] != '/' && !strcasecmp(path + n - m, end);
}

static int by_text(const void *a, const void *b) { return strcmp(*(const char *const *)a, *(const char *const *)b); }
static wick_status check_names(const job *j) {
    const char **names = wick_alloc(NULL, (j->n + 1) * sizeof *names);
    if (!names) return wick_msg_set(j->msg, WICK_ERR_NOMEM, "%s: out of memory", j->path);
    wick_status status = WICK_OK;
    for (size_t i = 0; i < j->n; i++) names[i] = j->tensors[i].name;
    if (j->n) qsort(names, j->n, sizeof *names, by_text);
    for (size_t i = 0; i < j->n && status == WICK_OK; i++) {
        if (!*names[i]) status = wick_msg_set(j->msg, WICK_ERR_INVALID, "%s: a tensor has an empty name", j->path);
        else if (i && !strcmp(names[i - 1], names[i]))
            status = wick_msg_set(j->msg, WICK_ERR_INVALID, "%s: tensor \"%.200s\" is given twice", j->path, names[i]);
    }
    wick_release(NULL, names, (j->n + 1) * sizeof *names);
    return status;
}

wick_status wick_weights_write(wick_context *ctx, const char *path, int n, const wick_named_tensor *tensors,
                               const wick_weights_write_options *options) {
    static const wick_weights_write_options plain;
    wick_msg msg = {0};
    const wick_weights_write_options *o = options ? options : &plain;
    if (!path || n < 0 || (n && !tensors) || o->n_meta < 0 || (o->n_meta && !o->meta))
        return wick_context_fail(ctx, WICK_ERR_INVALID, "weights: no path, or %d tensors at NULL", n);
    size_t kind = 0;
    while (kind < WICK_COUNTOF(kinds) && !has_end(path, kinds[kind].end)) kind++;
    if (kind == WICK_COUNTOF(kinds))
        return wick_context_fail(
            ctx, WICK_ERR_INVALID,
            "%s: weights become .safetensors, .safetensors.index.json, .npz or .npy: no name ends so", path);
    const size_t bytes = ((size_t)n + 1) * sizeof(wick_safetensors_tensor);
    wick_safetensors_tensor *data = wick_calloc(NULL, bytes);
    if (!data) return wick_context_fail(ctx, WICK_ERR_NOMEM, "%s: out of memory", path);
    wick_status status = WICK_OK;
    for (int i = 0; i < n && status == WICK_OK; i++) {
        wick_tensor *t = tensors[i].tensor;
        wick_safetensors_tensor *d = &data[i];
        const char *why;
        if (!tensors[i].name || !t)
            status = wick_context_fail(ctx, WICK_ERR_INVALID, "%s: tensor %d has no name, or is NULL", path, i);
        else if (wick_tensor_error(t, &why) != WICK_OK)
            status = wick_context_fail(ctx, wick_tensor_error(t, NULL), "%s", why);
        if (status != WICK_OK) break;
        *d = (wick_safetensors_tensor){
            .name = tensors[i].name, .dtype = wick_tensor_dtype(t), .rank = wick_tensor_rank(t)};
        memcpy(d->dims, wick_tensor_dims(t), (size_t)d->rank * sizeof *d->dims);
        d->bytes = wick_dtype_bytes(d->dtype, wick_tensor_count(t));
        status = wick_data(t, &d->data);
    }
    const job j = {path, (size_t)n, tensors, data, o, &msg};
    if (status == WICK_OK && (status = check_names(&j)) != WICK_OK) wick_context_fail(ctx, status, "%s", msg.text);
    if (status == WICK_OK && (status = kinds[kind].write(&j)) != WICK_OK)
        wick_context_fail(ctx, status, "%s", msg.text);
    wick_release(NULL, data, bytes);
    return status;
}
