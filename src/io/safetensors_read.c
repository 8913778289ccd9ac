/* safetensors_read.c: the safetensors reader. Each function checks one part of the header against what is known by
 * then; nothing is allocated but the JSON tree, whose size the header's bounds. */
#include <stdlib.h>

#include "io/json.h"
#include "io/pickle.h"
#include "io/safetensors.h"
#include "io/seal.h"

/* The limit of the format's own reader. */
static const size_t HEADER_MAX = 100000000;

typedef struct reader {
    wick_safetensors *f;
    const char *file; /* for messages */
    size_t header;    /* bytes */
    wick_msg *msg;
} reader;

/* "FILE: tensor "NAME": shape (byte 123): WHAT" */
static wick_status bad_field(const reader *r, wick_status status, const char *name, const char *field,
                             const wick_json *at, const char *what) {
    char shown[WICK_JSON_SHOWN];
    return wick_msg_set(r->msg, status, "%s: tensor \"%s\": %s (byte %zu): %s", r->file, wick_json_show(shown, name),
                        field, at->offset + 8, what);
}

static wick_status expect(const reader *r, const char *name, const wick_json *entry, const char *field,
                          wick_json_type type, const wick_json **out) {
    *out = wick_json_get(entry, field);
    if (!*out) return bad_field(r, WICK_ERR_FORMAT, name, field, entry, "missing");
    if ((*out)->type == type) return WICK_OK;
    char what[64];
    wick_str s = wick_str_on(what, sizeof what);
    wick_str_add(&s, "is %s, not %s", wick_json_type_name((*out)->type), wick_json_type_name(type));
    return bad_field(r, WICK_ERR_FORMAT, name, field, *out, what);
}

static wick_status read_dtype(const reader *r, const char *name, const wick_json *entry, wick_dtype *dtype) {
    const wick_json *v;
    WICK_TRY(expect(r, name, entry, "dtype", WICK_JSON_STRING, &v));
    for (int d = 0; d < WICK_DTYPE_COUNT; d++) {
        *dtype = (wick_dtype)d;
        if (strcmp(wick_safetensors_dtype_name(*dtype), v->text) == 0) return WICK_OK;
    }
    char shown[WICK_JSON_SHOWN], what[WICK_JSON_SHOWN + 32];
    wick_str s = wick_str_on(what, sizeof what);
    wick_str_add(&s, "\"%s\" is not one that Wick has", wick_json_show(shown, v->text));
    return bad_field(r, WICK_ERR_UNSUPPORTED, name, "dtype", v, what);
}

static wick_status read_shape(const reader *r, wick_safetensors_tensor *t, const wick_json *entry) {
    const wick_json *v;
    WICK_TRY(expect(r, t->name, entry, "shape", WICK_JSON_ARRAY, &v));
    if (v->count > WICK_MAX_DIMS) return bad_field(r, WICK_ERR_UNSUPPORTED, t->name, "shape", v, "more than 8 dims");
    for (const wick_json *d = v->child; d; d = d->next) {
        if (!d->is_integer || d->integer < 0)
            return bad_field(r, WICK_ERR_FORMAT, t->name, "shape", d,
                             "a dim must be a whole number from 0 to 2^63 - 1");
        t->dims[t->rank++] = d->integer;
    }
    if (!wick_safetensors_bytes(t->dtype, t->rank, t->dims, &t->bytes))
        return bad_field(r, WICK_ERR_FORMAT, t->name, "shape", v, "the size in bytes is beyond 2^63");
    return WICK_OK;
}

static wick_status read_offsets(const reader *r, wick_safetensors_tensor *t, const wick_json *entry) {
    const wick_json *v;
    WICK_TRY(expect(r, t->name, entry, "data_offsets", WICK_JSON_ARRAY, &v));
    const wick_json *a = v->child, *b = a ? a->next : NULL;
    if (v->count != 2 || !a->is_integer || !b->is_integer || a->integer < 0 || b->integer < 0)
        return bad_field(r, WICK_ERR_FORMAT, t->name, "data_offsets", v, "must be two whole numbers, begin and end");
    if (a->integer > b->integer)
        return bad_field(r, WICK_ERR_FORMAT, t->name, "data_offsets", v, "the end is before the begin");
    if ((uint64_t)b->integer > r->f->data_bytes)
        return bad_field(r, WICK_ERR_FORMAT, t->name, "data_offsets", v, "the end is beyond the end of the file");
    if ((uint64_t)(b->integer - a->integer) != t->bytes)
        return bad_field(r, WICK_ERR_FORMAT, t->name, "data_offsets", v, "the length is not that of shape and dtype");
    t->data = r->f->data + a->integer;
    return WICK_OK;
}

static wick_status read_tensor(const reader *r, const wick_json *entry, wick_safetensors_tensor *t) {
    t->name = entry->key;
    if (entry->type != WICK_JSON_OBJECT)
        return bad_field(r, WICK_ERR_FORMAT, t->name, "entry", entry, "is not an object");
    WICK_TRY(read_dtype(r, t->name, entry, &t->dtype));
    WICK_TRY(read_shape(r, t, entry));
    WICK_TRY(read_offsets(r, t, entry));
    if (entry->count != 3) /* the three are there, so another is too */
        return bad_field(r, WICK_ERR_FORMAT, t->name, "entry", entry,
                         "has a field besides dtype, shape and data_offsets");
    for (size_t i = 0; t->dtype == WICK_BOOL && i < t->bytes; i++)
        if (((const uint8_t *)t->data)[i] > 1)
            return bad_field(r, WICK_ERR_FORMAT, t->name, "data", entry, "a BOOL byte is neither 0 nor 1");
    return WICK_OK;
}

static wick_status read_meta(const reader *r, const wick_json *object) {
    wick_safetensors *f = r->f;
    if (object->type != WICK_JSON_OBJECT)
        return wick_msg_set(r->msg, WICK_ERR_FORMAT, "%s: __metadata__ (byte %zu): is not an object", r->file,
                            object->offset + 8);
    f->meta = wick_arena_alloc(&f->arena, object->count * sizeof *f->meta);
    if (!f->meta) return wick_msg_set(r->msg, WICK_ERR_NOMEM, "%s: out of memory", r->file);
    for (const wick_json *v = object->child; v; v = v->next) {
        char shown[WICK_JSON_SHOWN];
        if (v->type != WICK_JSON_STRING)
            return wick_msg_set(r->msg, WICK_ERR_FORMAT, "%s: __metadata__ \"%s\" (byte %zu): is not a string", r->file,
                                wick_json_show(shown, v->key), v->offset + 8);
        f->meta[f->meta_count++] = (wick_safetensors_meta){v->key, v->text};
    }
    return WICK_OK;
}

/* Empty tensors come before the one that begins where they do; names make the order complete. */
static int by_place(const void *a, const void *b) {
    const wick_safetensors_tensor *x = a, *y = b;
    const uintptr_t p = (uintptr_t)x->data, q = (uintptr_t)y->data;
    if (p != q) return p < q ? -1 : 1;
    if (x->bytes != y->bytes) return x->bytes < y->bytes ? -1 : 1;
    return strcmp(x->name, y->name);
}

/* The tensors must cover the data exactly: begin where the last one ended, and end where the file does. */
static wick_status check_cover(const reader *r) {
    const wick_safetensors *f = r->f;
    char shown[WICK_JSON_SHOWN];
    size_t end = 0;
    for (size_t i = 0; i < f->count; i++) {
        const wick_safetensors_tensor *t = &f->tensors[i];
        const size_t begin = (size_t)((const uint8_t *)t->data - f->data);
        if (begin != end)
            return wick_msg_set(r->msg, WICK_ERR_FORMAT, "%s: tensor \"%s\": data_offsets: begins at %zu, %s at %zu",
                                r->file, wick_json_show(shown, t->name), begin,
                                begin < end ? "inside the tensor that ends" : "behind a hole that begins", end);
        end += t->bytes;
    }
    if (end != f->data_bytes)
        return wick_msg_set(r->msg, WICK_ERR_FORMAT, "%s: the tensors end at byte %zu, the file at byte %zu", r->file,
                            end + r->header + 8, f->data_bytes + r->header + 8);
    return WICK_OK;
}

int wick_safetensors_by_name(const void *a, const void *b) {
    return strcmp((*(const wick_safetensors_tensor *const *)a)->name,
                  (*(const wick_safetensors_tensor *const *)b)->name);
}

static wick_status read_entries(const reader *r, const wick_json *root) {
    wick_safetensors *f = r->f;
    const wick_json *meta = wick_json_get(root, "__metadata__");
    const size_t count = root->count - (meta ? 1u : 0u);
    f->tensors = wick_arena_zalloc(&f->arena, count * sizeof *f->tensors);
    f->by_name = wick_arena_alloc(&f->arena, count * sizeof *f->by_name);
    if (!f->tensors || !f->by_name) return wick_msg_set(r->msg, WICK_ERR_NOMEM, "%s: out of memory", r->file);
    if (meta) WICK_TRY(read_meta(r, meta));
    for (const wick_json *entry = root->child; entry; entry = entry->next)
        if (entry != meta) WICK_TRY(read_tensor(r, entry, &f->tensors[f->count++]));
    qsort(f->tensors, count, sizeof *f->tensors, by_place);
    for (size_t i = 0; i < count; i++) f->by_name[i] = &f->tensors[i];
    qsort(f->by_name, count, sizeof *f->by_name, wick_safetensors_by_name);
    return check_cover(r);
}

static wick_status read_file(wick_safetensors *f, const uint8_t *bytes, size_t size, const char *name, wick_msg *msg) {
    if (wick_is_pickle(bytes, size)) return wick_refuse_pickle(name, msg);
    if (size < 8)
        return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: %zu bytes are too few for a safetensors file", name, size);
    uint64_t header = 0;
    for (int i = 7; i >= 0; i--) header = header << 8 | bytes[i];
    const bool begins = size > 8 && bytes[8] == '{'; /* one that was cut, rather than something else */
    if (header > size - 8 && !begins)
        return wick_msg_set(
            msg, WICK_ERR_FORMAT,
            "%s: not a safetensors file: its header length (byte 0) would be %llu bytes, but the file has %zu", name,
            (unsigned long long)header, size);
    if (header > size - 8)
        return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: header length (byte 0): %llu bytes, but the file has %zu", name,
                            (unsigned long long)header, size);
    if (header > HEADER_MAX)
        return wick_msg_set(msg, WICK_ERR_UNSUPPORTED, "%s: header length (byte 0): %llu bytes, more than %zu", name,
                            (unsigned long long)header, HEADER_MAX);
    if (!header || !begins)
        return wick_msg_set(msg, WICK_ERR_FORMAT,
                            "%s: not a safetensors file: its header (byte 8) does not begin with '{'", name);
    f->header = bytes + 8;
    f->header_bytes = (size_t)header;
    f->data = bytes + 8 + header;
    f->data_bytes = size - 8 - (size_t)header;
    const reader r = {f, name, (size_t)header, msg};
    const wick_json *root = NULL;
    const wick_json_limits limits = {.bytes = HEADER_MAX};
    const wick_status status = wick_json_parse(&f->arena, bytes + 8, (size_t)header, &limits, &root, msg);
    if (status != WICK_OK) {
        wick_msg_prefix(msg, "%s: header (counted from byte 8): ", name);
        return status;
    }
    return read_entries(&r, root);
}

wick_status wick_safetensors_parse(wick_safetensors *f, const void *bytes, size_t size, const char *name,
                                   wick_msg *msg) {
    *f = (wick_safetensors){0};
    wick_arena_init(&f->arena, NULL, 1 << 14);
    const wick_status status = read_file(f, bytes, size, name, msg);
    if (status != WICK_OK) wick_safetensors_close(f);
    return status;
}

wick_status wick_safetensors_open(wick_safetensors *f, const char *path, wick_msg *msg) {
    wick_map map;
    *f = (wick_safetensors){0};
    WICK_TRY(wick_map_open(&map, path, msg));
    wick_status status = wick_safetensors_parse(f, map.data, map.size, path, msg);
    if (status != WICK_OK) {
        wick_map_close(&map);
        return status;
    }
    f->map = map;
    status = wick_seal_check(f, path, msg);
    if (status != WICK_OK) wick_safetensors_close(f);
    return status;
}

void wick_safetensors_close(wick_safetensors *f) {
    wick_arena_free(&f->arena);
    wick_map_close(&f->map);
    *f = (wick_safetensors){0};
}

static int name_vs_tensor(const void *name, const void *t) {
    return strcmp(name, (*(const wick_safetensors_tensor *const *)t)->name);
}

const wick_safetensors_tensor *wick_safetensors_find(const wick_safetensors *f, const char *name) {
    const wick_safetensors_tensor **hit =
        f->count ? bsearch(name, f->by_name, f->count, sizeof *f->by_name, name_vs_tensor) : NULL;
    return hit ? *hit : NULL;
}

const char *wick_safetensors_get_meta(const wick_safetensors *f, const char *key) {
    for (size_t i = 0; i < f->meta_count; i++)
        if (strcmp(f->meta[i].key, key) == 0) return f->meta[i].value;
    return NULL;
}
