/* weights.c: named tensors in files of many kinds. */
#define WICK_NO_SITES
#include "io/weights.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "io/json.h"
#include "io/pickle.h"

/* ---- files ------------------------------------------------------------------------------------------------------- */

static void drop_file(void *user) {
    weights_file *f = user;
    if (!f || atomic_fetch_sub_explicit(&f->refs, 1, memory_order_acq_rel) != 1) return;
    wick_safetensors_close(&f->tensors);
    wick_map_close(&f->map);
    wick_release(NULL, f, sizeof *f);
}

static wick_status no_memory(const wick_weights *w, wick_msg *msg) {
    return wick_msg_set(msg, WICK_ERR_NOMEM, "%s: out of memory", w->path);
}

wick_status wick_weights_add_file(wick_weights *w, wick_map *map, const char *path, weights_file **out, wick_msg *msg) {
    weights_file *f = wick_calloc(NULL, sizeof *f);
    const char *kept = wick_arena_strdup(&w->arena, path);
    if (!f || !kept || !wick_grow(NULL, (void **)&w->files, &w->cap_files, w->n_files + 1, sizeof *w->files)) {
        wick_release(NULL, f, sizeof *f);
        wick_map_close(map);
        return no_memory(w, msg);
    }
    f->map = *map;
    f->path = kept;
    atomic_init(&f->refs, 1);
    w->files[w->n_files++] = *out = f;
    return WICK_OK;
}

weights_entry *wick_weights_new_entry(wick_weights *w, const char *name, weights_file *f, wick_msg *msg) {
    if (w->n >= INT32_MAX || !wick_grow(NULL, (void **)&w->entries, &w->cap, w->n + 1, sizeof *w->entries))
        return no_memory(w, msg), NULL;
    weights_entry *e = &w->entries[w->n++];
    *e = (weights_entry){.spec = {.name = name}, .file = f};
    return e;
}

wick_status wick_weights_add_safetensors(wick_weights *w, weights_file *f, wick_msg *msg) {
    WICK_TRY(wick_safetensors_parse(&f->tensors, f->map.data, f->map.size, f->path, msg));
    WICK_TRY(wick_seal_check(&f->tensors, f->path, msg));
    if (!w->meta) w->meta = f->tensors.meta, w->n_meta = f->tensors.meta_count;
    for (size_t i = 0; i < f->tensors.count; i++) {
        const wick_safetensors_tensor *t = &f->tensors.tensors[i];
        weights_entry *e = wick_weights_new_entry(w, t->name, f, msg);
        if (!e) return msg->status;
        e->spec.dtype = t->dtype;
        e->spec.rank = t->rank;
        memcpy(e->spec.dims, t->dims, sizeof e->spec.dims);
        e->data = t->data;
        e->bytes = t->bytes;
    }
    return WICK_OK;
}

static void set_npy(weights_entry *e, const wick_npy_header *h, const uint8_t *data) {
    e->is_npy = true;
    e->npy = *h;
    e->data = data;
    e->bytes = h->bytes;
    e->spec.dtype = h->dtype;
    e->spec.rank = h->rank;
    memcpy(e->spec.dims, h->dims, sizeof e->spec.dims);
}

static wick_status add_texts(wick_weights *w, const wick_npy_header *h, const char *name, const uint8_t *data,
                             wick_msg *msg) {
    if (h->fortran && h->rank > 1)
        return wick_msg_set(msg, WICK_ERR_UNSUPPORTED, "%s: \"%s\" is an array of texts with columns first", w->path,
                            name);
    if (!wick_grow(NULL, (void **)&w->texts, &w->cap_texts, w->n_texts + 1, sizeof *w->texts)) return no_memory(w, msg);
    weights_texts *t = &w->texts[w->n_texts++];
    *t = (weights_texts){.name = name, .rank = h->rank};
    memcpy(t->dims, h->dims, sizeof t->dims);
    return wick_npy_texts(&w->arena, h, data, w->path, &t->texts, &t->n, msg);
}

static wick_status add_npy(wick_weights *w, weights_file *f, wick_msg *msg) {
    wick_npy_header h;
    WICK_TRY(wick_npy_parse(f->map.data, f->map.size, f->map.size, f->path, &h, msg));
    const char *slash = strrchr(f->path, '/');
    char *name = wick_arena_strdup(&w->arena, slash ? slash + 1 : f->path);
    if (!name) return no_memory(w, msg);
    char *dot = strrchr(name, '.');
    if (dot && dot != name) *dot = 0;
    if (h.texts) return add_texts(w, &h, name, f->map.data + h.offset, msg);
    weights_entry *e = wick_weights_new_entry(w, name, f, msg);
    if (e) set_npy(e, &h, f->map.data + h.offset);
    return e ? WICK_OK : msg->status;
}

static wick_status add_zipped_texts(wick_weights *w, const wick_zip_entry *zip, const wick_npy_header *h,
                                    const char *name, wick_msg *msg) {
    if (!zip->deflated) WICK_TRY(wick_zip_check(zip, w->path, msg));
    if (!zip->deflated) return add_texts(w, h, name, zip->data + h->offset, msg);
    uint8_t *bytes = wick_alloc(NULL, zip->size);
    if (!bytes) return no_memory(w, msg);
    wick_status status = wick_zip_read(zip, w->path, bytes, zip->size, msg);
    if (status == WICK_OK) status = add_texts(w, h, name, bytes + h->offset, msg);
    wick_release(NULL, bytes, zip->size);
    return status;
}

/* An array of a .npz: its header is read now, its elements when they are asked for. */
static wick_status add_array(wick_weights *w, weights_file *f, const wick_zip_entry *zip, wick_msg *msg) {
    enum { HEADER_MAX = 1 << 12 }; /* of 8 dims at most, it is far shorter */
    uint8_t head[HEADER_MAX];
    char shown[WICK_JSON_SHOWN], place[WICK_JSON_SHOWN + 512];
    const size_t length = strlen(zip->name), have = WICK_MIN(zip->size, sizeof head);
    snprintf(place, sizeof place, "%.400s: %s", f->path, wick_json_show(shown, zip->name));
    if (length < 5 || strcmp(zip->name + length - 4, ".npy") != 0) {
        if (length >= 8 && !strcmp(zip->name + length - 8, "data.pkl")) return wick_refuse_pickle(f->path, msg);
        return wick_msg_set(msg, WICK_ERR_UNSUPPORTED, "%s: is no array: an archive of NumPy's has .npy files only",
                            place);
    }
    wick_npy_header h;
    WICK_TRY(wick_zip_read(zip, f->path, head, have, msg));
    WICK_TRY(wick_npy_parse(head, have, zip->size, place, &h, msg));
    char *name = wick_arena_strdup(&w->arena, zip->name);
    if (!name) return no_memory(w, msg);
    name[length - 4] = 0;
    if (h.texts) return add_zipped_texts(w, zip, &h, name, msg);
    weights_entry *e = wick_weights_new_entry(w, name, f, msg);
    if (!e) return msg->status;
    set_npy(e, &h, zip->deflated ? NULL : zip->data + h.offset);
    e->zip = zip;
    return WICK_OK;
}

static wick_status add_npz(wick_weights *w, weights_file *f, wick_msg *msg) {
    wick_zip_entry *entries;
    size_t n;
    WICK_TRY(wick_zip_parse(&w->arena, f->map.data, f->map.size, f->path, &entries, &n, msg));
    for (size_t i = 0; i < n; i++) WICK_TRY(add_array(w, f, &entries[i], msg));
    return WICK_OK;
}

/* ---- opening ----------------------------------------------------------------------------------------------------- */

static int by_name(const void *a, const void *b) {
    return strcmp((*(const weights_entry *const *)a)->spec.name, (*(const weights_entry *const *)b)->spec.name);
}

static wick_status sort_entries(wick_weights *w, wick_msg *msg) {
    w->by_name = wick_arena_alloc(&w->arena, (w->n + 1) * sizeof *w->by_name);
    if (!w->by_name) return no_memory(w, msg);
    for (size_t i = 0; i < w->n; i++) w->by_name[i] = &w->entries[i];
    if (w->n) qsort(w->by_name, w->n, sizeof *w->by_name, by_name);
    char shown[WICK_JSON_SHOWN];
    for (size_t i = 1; i < w->n; i++)
        if (!strcmp(w->by_name[i - 1]->spec.name, w->by_name[i]->spec.name))
            return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: tensor \"%s\" is there twice", w->path,
                                wick_json_show(shown, w->by_name[i]->spec.name));
    return WICK_OK;
}

static wick_status read_file(wick_weights *w, wick_msg *msg) {
    wick_map map;
    WICK_TRY(wick_map_open(&map, w->path, msg));
    const uint8_t *at = map.data;
    const size_t n = map.size;
    weights_file *f;
    /* whose length may begin as another kind does */
    const bool safetensors = n > 8 && at[8] == '{' && !at[7] && !at[6];
    if (n && at[0] == '{' && !safetensors) {
        const wick_status status = wick_weights_add_shards(w, &map, msg);
        wick_map_close(&map);
        return status;
    }
    WICK_TRY(wick_weights_add_file(w, &map, w->path, &f, msg));
    if (wick_is_pickle(at, n)) return wick_refuse_pickle(w->path, msg);
    if (n >= 6 && !memcmp(at, "\x93NUMPY", 6)) return add_npy(w, f, msg);
    if (n >= 4 && (!memcmp(at, "PK\3\4", 4) || !memcmp(at, "PK\5\6", 4))) return add_npz(w, f, msg);
    return wick_weights_add_safetensors(w, f, msg);
}

/* A folder stands for the file in it that has a known name. */
static wick_status find_file(wick_weights *w, const char *path, wick_msg *msg) {
    static const char *const names[] = {"model.safetensors.index.json", "model.safetensors"};
    struct stat st;
    w->path = wick_arena_strdup(&w->arena, path);
    if (!w->path) return wick_msg_set(msg, WICK_ERR_NOMEM, "%s: out of memory", path);
    if (stat(path, &st) != 0 || !S_ISDIR(st.st_mode)) return WICK_OK;
    const size_t size = strlen(path) + 64;
    char *file = wick_arena_alloc(&w->arena, size);
    if (!file) return no_memory(w, msg);
    for (size_t i = 0; i < WICK_COUNTOF(names); i++) {
        snprintf(file, size, "%s/%s", path, names[i]);
        if (stat(file, &st) == 0) return w->path = file, WICK_OK;
    }
    return wick_msg_set(msg, WICK_ERR_IO, "%s: a folder without model.safetensors and model.safetensors.index.json",
                        path);
}

wick_status wick_weights_open(wick_context *ctx, const char *path, wick_weights **out) {
    if (!out) return wick_context_fail(ctx, WICK_ERR_INVALID, "weights_open: out is NULL");
    *out = NULL;
    if (!path || !*path) return wick_context_fail(ctx, WICK_ERR_INVALID, "weights: no path");
    wick_weights *w = wick_calloc(NULL, sizeof *w);
    if (!w) return wick_context_fail(ctx, WICK_ERR_NOMEM, "%s: out of memory", path);
    w->ctx = ctx;
    wick_arena_init(&w->arena, NULL, 1 << 13);
    wick_msg msg = {0};
    w->pages = wick_arena_zalloc(&w->arena, sizeof *w->pages);
    wick_status status = w->pages ? find_file(w, path, &msg)
                                  : wick_msg_set(&msg, WICK_ERR_NOMEM, "%s: out of memory", path);
    if (status == WICK_OK) status = read_file(w, &msg);
    if (status == WICK_OK) status = sort_entries(w, &msg);
    if (status != WICK_OK) {
        wick_context_fail(ctx, status, "%s", msg.text);
        wick_weights_free(&w);
    }
    *out = w;
    return status;
}

void wick_weights_free(wick_weights **weights) {
    wick_weights *w = weights ? *weights : NULL;
    if (!w) return;
    *weights = NULL;
    for (size_t i = 0; i < w->n_files; i++) drop_file(w->files[i]);
    wick_release(NULL, w->files, w->cap_files * sizeof *w->files);
    wick_release(NULL, w->entries, w->cap * sizeof *w->entries);
    wick_release(NULL, w->texts, w->cap_texts * sizeof *w->texts);
    wick_arena_free(&w->arena);
    wick_release(NULL, w, sizeof *w);
}

int wick_weights_count(const wick_weights *w) { return (int)w->n; }
wick_spec wick_weights_at(const wick_weights *w, int i) {
    return i >= 0 && (size_t)i < w->n ? w->entries[i].spec : (wick_spec){0};
}

bool wick_weights_texts_at(const wick_weights *w, int i, wick_texts *out) {
    if (i < 0 || (size_t)i >= w->n_texts) return false;
    const weights_texts *t = &w->texts[i];
    *out = (wick_texts){.name = t->name, .rank = t->rank, .count = (int64_t)t->n, .texts = t->texts};
    memcpy(out->dims, t->dims, sizeof out->dims);
    return true;
}

static int name_vs_entry(const void *name, const void *e) {
    return strcmp(name, (*(const weights_entry *const *)e)->spec.name);
}
int wick_weights_find(const wick_weights *w, const char *name) {
    const weights_entry **hit =
        name && w->n ? bsearch(name, w->by_name, w->n, sizeof *w->by_name, name_vs_entry) : NULL;
    return hit ? (int)(*hit - w->entries) : -1;
}

bool wick_weights_meta_at(const wick_weights *w, int i, const char **key, const char **value) {
    if (!key || !value) return false;
    if (i < 0 || (size_t)i >= w->n_meta) return false;
    *key = w->meta[i].key;
    *value = w->meta[i].value;
    return true;
}

/* ---- tensors ----------------------------------------------------------------------------------------------------- */

/* Elements that were inflated, for one tensor. */
typedef struct inflated {
    size_t size;
    uint8_t bytes[];
} inflated;
static void drop_inflated(void *user) {
    inflated *b = user;
    wick_release(NULL, b, sizeof *b + b->size);
}

static wick_tensor *inflate(wick_context *ctx, const weights_entry *e) {
    wick_msg msg = {0};
    size_t size;
    inflated *b = wick_add_overflows(sizeof *b, e->zip->size, &size) ? NULL : wick_alloc(NULL, size);
    if (!b) return wick_poison(ctx, WICK_ERR_NOMEM, "%s: \"%s\": out of memory", e->file->path, e->spec.name);
    b->size = e->zip->size;
    wick_status status = wick_zip_read(e->zip, e->file->path, b->bytes, b->size, &msg);
    if (status == WICK_OK)
        return wick_npy_tensor(ctx, &e->npy, b->bytes + e->npy.offset, e->spec.name, drop_inflated, b);
    drop_inflated(b);
    return wick_poison(ctx, status, "%s", msg.text);
}

wick_tensor *wick_weights_tensor(const wick_weights *w, int i) {
    if (i < 0 || (size_t)i >= w->n) return wick_poison(w->ctx, WICK_ERR_INVALID, "%s: has no tensor %d", w->path, i);
    const weights_entry *e = &w->entries[i];
    wick_msg msg = {0};
    wick_weights_ask(w, (size_t)i);
    if (!e->data) return inflate(w->ctx, e);
    if (e->zip && wick_zip_check(e->zip, e->file->path, &msg) != WICK_OK)
        return wick_poison(w->ctx, msg.status, "%s", msg.text);
    atomic_fetch_add_explicit(&e->file->refs, 1, memory_order_relaxed);
    if (e->is_npy) return wick_npy_tensor(w->ctx, &e->npy, e->data, e->spec.name, drop_file, e->file);
    const size_t size = WICK_MAX(wick_dtype_size(e->spec.dtype), 1);
    const bool little = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
    if (little && (uintptr_t)e->data % size == 0)
        return wick_wrap(w->ctx, e->spec.dtype, e->spec.rank, e->spec.dims, NULL, e->data, drop_file, e->file);
    wick_tensor *t = wick_from(w->ctx, e->spec.dtype, e->spec.rank, e->spec.dims, e->data);
    drop_file(e->file);
    return t;
}
