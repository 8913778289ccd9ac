/* tensor.c: tensors of a model file, and of the files beside it that hold large ones (ONNX, "External Data"), which are
 * read only from below the model's folder. */
#define WICK_NO_SITES
#include "base/beneath.h"
#include "io/onnx/onnx.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>

#include "io/pages.h"
#include "io/seal.h"

static const struct onnx_kind {
    const char *name;
    int dtype; /* wick_dtype; -1: Wick has none */
} kinds[ONNX_TYPES] = {
    [ONNX_UNDEFINED] = {"undefined", -1},
    [ONNX_FLOAT] = {"float", WICK_F32},
    [ONNX_UINT8] = {"uint8", WICK_U8},
    [ONNX_INT8] = {"int8", WICK_I8},
    [ONNX_UINT16] = {"uint16", WICK_U16},
    [ONNX_INT16] = {"int16", WICK_I16},
    [ONNX_INT32] = {"int32", WICK_I32},
    [ONNX_INT64] = {"int64", WICK_I64},
    [ONNX_STRING] = {"string", -1},
    [ONNX_BOOL] = {"bool", WICK_BOOL},
    [ONNX_FLOAT16] = {"float16", WICK_F16},
    [ONNX_DOUBLE] = {"double", WICK_F64},
    [ONNX_UINT32] = {"uint32", WICK_U32},
    [ONNX_UINT64] = {"uint64", WICK_U64},
    [ONNX_COMPLEX64] = {"complex64", -1},
    [ONNX_COMPLEX128] = {"complex128", -1},
    [ONNX_BFLOAT16] = {"bfloat16", WICK_BF16},
    [ONNX_FLOAT8E4M3FN] = {"float8e4m3fn", WICK_F8_E4M3FN},
    [ONNX_FLOAT8E4M3FNUZ] = {"float8e4m3fnuz", WICK_F8_E4M3FNUZ},
    [ONNX_FLOAT8E5M2] = {"float8e5m2", WICK_F8_E5M2},
    [ONNX_FLOAT8E5M2FNUZ] = {"float8e5m2fnuz", WICK_F8_E5M2FNUZ},
    [ONNX_UINT4] = {"uint4", WICK_U4},
    [ONNX_INT4] = {"int4", WICK_I4},
    [ONNX_FLOAT4E2M1] = {"float4e2m1", WICK_F4_E2M1},
    [ONNX_FLOAT8E8M0] = {"float8e8m0", WICK_F8_E8M0},
    [ONNX_UINT2] = {"uint2", WICK_U2},
    [ONNX_INT2] = {"int2", WICK_I2},
};

bool wick_onnx_dtype(int64_t type, wick_dtype *out) {
    if (type < 0 || type >= ONNX_TYPES || kinds[type].dtype < 0) return false;
    *out = (wick_dtype)kinds[type].dtype;
    return true;
}
int wick_onnx_type(wick_dtype dtype) {
    for (int i = 0; i < ONNX_TYPES; i++)
        if (kinds[i].dtype == (int)dtype) return i;
    return ONNX_UNDEFINED;
}
const char *wick_onnx_type_name(int64_t type) { return type >= 0 && type < ONNX_TYPES ? kinds[type].name : "?"; }

const char *wick_onnx_elem_name(int elem) { return wick_onnx_type_name(elem); }
bool wick_onnx_elem_dtype(int elem, wick_dtype *dtype) { return wick_onnx_dtype(elem, dtype); }

/* ---- pages of a file that tensors hold on to --------------------------------------------------------------------- */

wick_onnx_pages *wick_onnx_pages_new(const wick_map *map, const char *name) {
    wick_onnx_pages *p = wick_calloc(NULL, sizeof *p + strlen(name) + 1);
    if (!p) return NULL;
    p->map = *map;
    atomic_init(&p->refs, 1);
    memcpy(p->name, name, strlen(name) + 1);
    return p;
}
static void pages_hold(wick_onnx_pages *p) { atomic_fetch_add_explicit(&p->refs, 1, memory_order_relaxed); }
void wick_onnx_pages_drop(void *user) {
    wick_onnx_pages *p = user;
    if (!p || atomic_fetch_sub_explicit(&p->refs, 1, memory_order_acq_rel) != 1) return;
    wick_map_close(&p->map);
    wick_release(NULL, p, sizeof *p + strlen(p->name) + 1);
}

wick_status wick_onnx_advise(wick_onnx *onnx, wick_weights_use use) {
    if ((unsigned)use > WICK_WEIGHTS_DONE)
        return wick_context_fail(onnx->ctx, WICK_ERR_INVALID, "%s: onnx_advise: use %d", onnx->path, (int)use);
    int refused = 0;
    for (int own = 1; own >= 0; own--)
        for (const wick_onnx_pages *p = own ? onnx->own_pages : onnx->pages; p; p = p->next) {
            const int now = p->map.mapped ? wick_pages_advise(p->map.data, p->map.size, use) : 0;
            refused = now ? now : refused;
        }
    return refused ? wick_context_fail(onnx->ctx, WICK_ERR_UNSUPPORTED, "%s: the system takes no such advice: %s",
                                       onnx->path, strerror(refused))
                   : WICK_OK;
}

bool wick_onnx_resident(const wick_onnx *onnx, size_t *bytes) {
    if (!bytes) return false;
    *bytes = 0;
    bool known = true;
    for (int own = 1; own >= 0; own--)
        for (const wick_onnx_pages *p = own ? onnx->own_pages : onnx->pages; known && p; p = p->next)
            known = !p->map.mapped || wick_pages_count(p->map.data, p->map.size, bytes);
    if (!known) *bytes = 0;
    return known;
}

/* ---- messages ---------------------------------------------------------------------------------------------------- */

static wick_status fail(const wick_onnx *onnx, const onnx_tensor *t, wick_status status, wick_msg *msg, const char *fmt,
                        ...) WICK_PRINTF(5, 6);
static wick_status fail(const wick_onnx *onnx, const onnx_tensor *t, wick_status status, wick_msg *msg, const char *fmt,
                        ...) {
    char text[600], name[64];
    const size_t n = WICK_MIN(t->name.size, sizeof name - 1);
    for (size_t i = 0; i < n; i++)
        name[i] = (unsigned char)t->name.at[i] < 32 || t->name.at[i] == 127 ? '?' : t->name.at[i];
    name[n] = 0;
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    return wick_msg_set(msg, status, "%s: tensor \"%s\" (byte %zu): %s", onnx->path, name, t->head.place, text);
}

/* ---- external data ----------------------------------------------------------------------------------------------- */

static bool whole_number(wick_bytes b, uint64_t *out) {
    uint64_t v = 0;
    if (!b.size) return false;
    for (size_t i = 0; i < b.size; i++) {
        if (b.at[i] < '0' || b.at[i] > '9' || wick_mul_overflows(v, 10u, &v) ||
            wick_add_overflows(v, (uint64_t)(b.at[i] - '0'), &v))
            return false;
    }
    *out = v;
    return true;
}

/* Weights in a file of safetensors, as Wick writes them, may have a checksum. */
static wick_status check_sum(const wick_map *map, const char *path, wick_msg *msg) {
    static const char end[] = ".safetensors";
    const size_t n = strlen(path);
    if (n < sizeof end || strcmp(path + n - (sizeof end - 1), end) != 0) return WICK_OK;
    wick_safetensors f;
    WICK_TRY(wick_safetensors_parse(&f, map->data, map->size, path, msg));
    const wick_status status = wick_seal_check(&f, path, msg);
    wick_safetensors_close(&f);
    return status;
}

static wick_status external_pages(wick_onnx *onnx, const onnx_tensor *t, wick_bytes location, wick_onnx_pages **out,
                                  wick_msg *msg) {
    char path[1024];
    if (location.size >= sizeof path || memchr(location.at, 0, location.size))
        return fail(onnx, t, WICK_ERR_FORMAT, msg, "external_data: location is too long, or no text");
    memcpy(path, location.at, location.size);
    path[location.size] = 0;
    for (wick_onnx_pages *p = onnx->pages; p; p = p->next)
        if (!strcmp(p->name, path)) return *out = p, WICK_OK;
    if (onnx->folder < 0) onnx->folder = wick_folder_of(onnx->path);
    if (onnx->folder < 0)
        return fail(onnx, t, WICK_ERR_IO, msg, "external_data: cannot open the model's folder: %s", strerror(errno));
    wick_map map;
    wick_msg why = {0};
    const wick_status status = wick_map_beside(&map, onnx->path, onnx->folder, path, &why);
    if (status != WICK_OK) return fail(onnx, t, status, msg, "external_data: %.420s", why.text);
    if (check_sum(&map, path, &why) != WICK_OK) {
        wick_map_close(&map);
        return fail(onnx, t, why.status, msg, "external_data: %.250s", why.text);
    }
    wick_onnx_pages *p = wick_onnx_pages_new(&map, path);
    if (!p) {
        wick_map_close(&map);
        return fail(onnx, t, WICK_ERR_NOMEM, msg, "out of memory");
    }
    p->next = onnx->pages;
    onnx->pages = p;
    *out = p;
    return WICK_OK;
}

/* The bytes of a tensor's external data. */
static wick_status external_bytes(wick_onnx *onnx, const onnx_tensor *t, size_t bytes, const uint8_t **at,
                                  wick_onnx_pages **pages, wick_msg *msg) {
    wick_bytes location = {"", 0};
    uint64_t offset = 0, length = bytes;
    for (size_t i = 0; i < t->external.n; i++) {
        const onnx_pair *p = &t->external.at[i];
        if (wick_bytes_are(p->key, "location")) location = p->value;
        if (wick_bytes_are(p->key, "offset") && !whole_number(p->value, &offset))
            return fail(onnx, t, WICK_ERR_FORMAT, msg, "external_data: offset is no whole number");
        if (wick_bytes_are(p->key, "length") && !whole_number(p->value, &length))
            return fail(onnx, t, WICK_ERR_FORMAT, msg, "external_data: length is no whole number");
    }
    if (length != bytes)
        return fail(onnx, t, WICK_ERR_FORMAT, msg, "external_data: length is %llu, dims and type make %zu bytes",
                    (unsigned long long)length, bytes);
    WICK_TRY(external_pages(onnx, t, location, pages, msg));
    if (offset > (*pages)->map.size || bytes > (*pages)->map.size - offset)
        return fail(onnx, t, WICK_ERR_FORMAT, msg, "external_data: bytes %llu to %llu of a file of %zu",
                    (unsigned long long)offset, (unsigned long long)(offset + bytes), (*pages)->map.size);
    *at = (*pages)->map.data + offset;
    return WICK_OK;
}

/* ---- tensors ----------------------------------------------------------------------------------------------------- */

static const bool little_endian_host = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;

/* Dims as given, and their product. */
static wick_status read_dims(const wick_onnx *onnx, const onnx_tensor *t, int64_t dims[WICK_MAX_DIMS], int64_t *count,
                             wick_msg *msg) {
    if (t->dims.n > WICK_MAX_DIMS)
        return fail(onnx, t, WICK_ERR_UNSUPPORTED, msg, "dims: %zu, more than %d", t->dims.n, WICK_MAX_DIMS);
    *count = 1;
    bool empty = false;
    for (size_t i = 0; i < t->dims.n; i++) {
        dims[i] = t->dims.at[i];
        if (dims[i] < 0)
            return fail(onnx, t, WICK_ERR_FORMAT, msg, "dims[%zu]: %lld is negative", i, (long long)dims[i]);
        empty |= !dims[i];
        if (dims[i] && wick_mul_overflows(*count, dims[i], count))
            return fail(onnx, t, WICK_ERR_FORMAT, msg, "dims: the product does not fit 63 bits");
    }
    if (empty) *count = 0;
    return WICK_OK;
}

/* How many values the typed field of this type has, and whether it is the right field. */
static size_t typed_values(const onnx_tensor *t) {
    switch (t->type) {
    case ONNX_FLOAT:
    case ONNX_COMPLEX64:
        return t->floats.n;
    case ONNX_DOUBLE:
    case ONNX_COMPLEX128:
        return t->doubles.n;
    case ONNX_INT64:
        return t->int64s.n;
    case ONNX_UINT32:
    case ONNX_UINT64:
        return t->uint64s.n;
    default:
        return t->int32s.n;
    }
}

/* Values of typed fields, converted to the bytes that raw_data would have. */
static void write_typed(const onnx_tensor *t, size_t size, size_t n, uint8_t *to) {
    if (!n) return;
    if (t->type == ONNX_FLOAT || t->type == ONNX_COMPLEX64) memcpy(to, t->floats.at, n * 4);
    else if (t->type == ONNX_DOUBLE || t->type == ONNX_COMPLEX128) memcpy(to, t->doubles.at, n * 8);
    else {
        const int64_t *from = t->type == ONNX_INT64                              ? t->int64s.at
                              : t->type == ONNX_UINT32 || t->type == ONNX_UINT64 ? t->uint64s.at
                                                                                 : t->int32s.at;
        for (size_t i = 0; i < n; i++) {
            uint64_t v = (uint64_t)from[i];
            if (t->type == ONNX_BOOL) v = v != 0;
            for (size_t k = 0; k < size; k++) to[i * size + k] = (uint8_t)(v >> 8 * k);
        }
    }
}

static wick_status read_strings(const wick_onnx *onnx, const onnx_tensor *t, wick_onnx_value *out, wick_arena *arena,
                                wick_msg *msg) {
    int64_t count;
    out->kind = WICK_VALUE_STRINGS;
    WICK_TRY(read_dims(onnx, t, out->dims, &count, msg));
    if ((uint64_t)count != t->strings.n)
        return fail(onnx, t, WICK_ERR_FORMAT, msg, "string_data: %zu texts, dims make %lld", t->strings.n,
                    (long long)count);
    out->rank = (int)t->dims.n;
    out->n = t->strings.n;
    wick_text *texts = wick_arena_alloc(arena, (out->n + 1) * sizeof *texts);
    if (!texts) return fail(onnx, t, WICK_ERR_NOMEM, msg, "out of memory");
    for (size_t i = 0; i < out->n; i++) texts[i] = (wick_text){t->strings.at[i].at, t->strings.at[i].size};
    out->texts = texts;
    return WICK_OK;
}

/* A tensor of these bytes: the pages' own, where they can be read in place, else a copy. */
static wick_tensor *of_bytes(wick_onnx *onnx, wick_dtype dtype, int rank, const int64_t *dims, const uint8_t *at,
                             wick_onnx_pages *pages) {
    const size_t size = wick_dtype_size(dtype); /* 0: packed into bytes */
    if (pages && little_endian_host && (!size || (uintptr_t)at % size == 0)) {
        pages_hold(pages);
        wick_tensor *t = wick_wrap(onnx->ctx, dtype, rank, dims, NULL, at, wick_onnx_pages_drop, pages);
        /* pages of a file stay what they are */
        if (!wick_tensor_error(t, NULL)) t->value->array->storage->version = wick_version_next();
        return t;
    }
    return wick_from(onnx->ctx, dtype, rank, dims, at);
}

wick_status wick_onnx_read_tensor(wick_onnx *onnx, const onnx_tensor *t, wick_onnx_value *out, wick_arena *arena,
                                  wick_msg *msg) {
    *out = (wick_onnx_value){.kind = WICK_VALUE_TENSOR};
    if (t->segment.size) return fail(onnx, t, WICK_ERR_UNSUPPORTED, msg, "segment: parts of tensors are not read");
    if (t->type == ONNX_STRING) return read_strings(onnx, t, out, arena, msg);
    wick_dtype dtype;
    int64_t dims[WICK_MAX_DIMS + 1], count;
    int rank = (int)t->dims.n;
    WICK_TRY(read_dims(onnx, t, dims, &count, msg));
    const bool complex = t->type == ONNX_COMPLEX64 || t->type == ONNX_COMPLEX128;
    if (complex) dtype = t->type == ONNX_COMPLEX64 ? WICK_F32 : WICK_F64; /* in Wick a last dim of 2 */
    else if (!wick_onnx_dtype(t->type, &dtype))
        return fail(onnx, t, t->type > 0 && t->type < ONNX_TYPES ? WICK_ERR_UNSUPPORTED : WICK_ERR_FORMAT, msg,
                    "data_type: %lld (%s)", (long long)t->type, wick_onnx_type_name(t->type));
    if (complex) {
        if (rank == WICK_MAX_DIMS || wick_mul_overflows(count, 2, &count))
            return fail(onnx, t, WICK_ERR_UNSUPPORTED, msg, "dims: too many");
        dims[rank++] = 2;
    }
    const bool packed = !wick_dtype_size(dtype);
    const size_t size = packed ? 1 : wick_dtype_size(dtype);
    size_t bytes = wick_dtype_bytes(dtype, count);
    if ((!packed && wick_mul_overflows((size_t)count, size, &bytes)) || bytes > PTRDIFF_MAX)
        return fail(onnx, t, WICK_ERR_FORMAT, msg, "dims: the product does not fit 63 bits");
    const size_t values = packed ? bytes : (size_t)count; /* of the typed fields */

    const uint8_t *at = NULL;
    wick_onnx_pages *pages = NULL;
    const bool raw = t->head.has & ONNX_TENSOR_HAS_RAW;
    if (t->location == 1) {
        if (raw || typed_values(t)) return fail(onnx, t, WICK_ERR_FORMAT, msg, "has external data and data of its own");
        WICK_TRY(external_bytes(onnx, t, bytes, &at, &pages, msg));
    } else if (raw) {
        if (t->raw.size != bytes)
            return fail(onnx, t, WICK_ERR_FORMAT, msg, "raw_data: %zu bytes, dims and type make %zu", t->raw.size,
                        bytes);
        if (typed_values(t)) return fail(onnx, t, WICK_ERR_FORMAT, msg, "has raw_data and data of its type");
        at = (const uint8_t *)t->raw.at;
        pages = onnx->own_pages && at >= onnx->own_pages->map.data &&
                        at < onnx->own_pages->map.data + onnx->own_pages->map.size
                    ? onnx->own_pages
                    : NULL;
    } else if (typed_values(t) != values)
        return fail(onnx, t, WICK_ERR_FORMAT, msg, "%zu values, dims make %zu", typed_values(t), values);
    uint8_t *own = NULL;
    if (!at || !little_endian_host) {
        own = wick_alloc(&onnx->ctx->alloc, bytes);
        if (!own) return fail(onnx, t, WICK_ERR_NOMEM, msg, "out of memory");
        if (!at) write_typed(t, size, values, own);
        if (!little_endian_host)
            for (size_t i = 0; i < bytes; i++) own[i] = (at ? at : own)[i / size * size + size - 1 - i % size];
        at = own;
        pages = NULL;
    }
    wick_status status = WICK_OK;
    for (size_t i = 0; dtype == WICK_BOOL && i < bytes && status == WICK_OK; i++)
        if (at[i] > 1) status = fail(onnx, t, WICK_ERR_FORMAT, msg, "a bool is neither 0 nor 1");
    if (status == WICK_OK) {
        out->tensor = of_bytes(onnx, dtype, rank, dims, at, pages);
        const char *why;
        const wick_status made = wick_tensor_error(out->tensor, &why);
        if (made != WICK_OK) status = fail(onnx, t, made, msg, "%s", why);
    }
    wick_release(&onnx->ctx->alloc, own, bytes);
    return status;
}

/* ---- sparse tensors: made dense ---------------------------------------------------------------------------------- */

wick_status wick_onnx_read_sparse(wick_onnx *onnx, const onnx_sparse *s, wick_onnx_value *out, wick_arena *arena,
                                  wick_msg *msg) {
    const onnx_tensor *v = s->values;
    if (!v || !s->indices)
        return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: sparse tensor (byte %zu): needs values and indices", onnx->path,
                            s->head.place);
    wick_onnx_value values, indices;
    WICK_TRY(wick_onnx_read_tensor(onnx, v, &values, arena, msg));
    WICK_TRY(wick_onnx_read_tensor(onnx, s->indices, &indices, arena, msg));
    if (values.kind != WICK_VALUE_TENSOR || wick_tensor_rank(values.tensor) != 1 || indices.kind != WICK_VALUE_TENSOR ||
        wick_tensor_dtype(indices.tensor) != WICK_I64)
        return fail(onnx, v, WICK_ERR_FORMAT, msg, "sparse: values must be a vector of numbers, indices int64");
    const int rank = (int)WICK_MIN(s->dims.n, (size_t)WICK_MAX_DIMS + 1);
    if (rank > WICK_MAX_DIMS)
        return fail(onnx, v, WICK_ERR_UNSUPPORTED, msg, "sparse: more than %d dims", WICK_MAX_DIMS);
    const int64_t n = wick_tensor_count(values.tensor);
    const bool flat = wick_tensor_rank(indices.tensor) == 1;
    if (!(flat && wick_tensor_dim(indices.tensor, 0) == n) &&
        !(wick_tensor_rank(indices.tensor) == 2 && wick_tensor_dim(indices.tensor, 0) == n &&
          wick_tensor_dim(indices.tensor, 1) == rank))
        return fail(onnx, v, WICK_ERR_FORMAT, msg, "sparse: indices are neither [values] nor [values, dims]");
    const wick_dtype dtype = wick_tensor_dtype(values.tensor);
    const size_t size = wick_dtype_size(dtype);
    if (!size) return fail(onnx, v, WICK_ERR_UNSUPPORTED, msg, "sparse: of packed numbers");
    size_t count = 1, bytes;
    for (int i = 0; i < rank; i++)
        if (s->dims.at[i] < 0 || wick_mul_overflows(count, (size_t)s->dims.at[i], &count))
            return fail(onnx, v, WICK_ERR_FORMAT, msg, "sparse: dims are negative, or their product does not fit");
    if (wick_mul_overflows(count, size, &bytes) || bytes > onnx->limits.tensor_bytes)
        return fail(onnx, v, WICK_ERR_UNSUPPORTED, msg, "sparse: dense it would have more bytes than the limit of %zu",
                    onnx->limits.tensor_bytes);
    const void *value_data, *index_data;
    if (wick_data(values.tensor, &value_data) != WICK_OK || wick_data(indices.tensor, &index_data) != WICK_OK)
        return fail(onnx, v, WICK_ERR_NOMEM, msg, "out of memory");
    uint8_t *dense = wick_calloc(&onnx->ctx->alloc, bytes);
    if (!dense) return fail(onnx, v, WICK_ERR_NOMEM, msg, "out of memory");
    wick_status status = WICK_OK;
    for (int64_t i = 0; i < n && status == WICK_OK; i++) {
        const int64_t *index = (const int64_t *)index_data + (flat ? i : i * rank);
        uint64_t place = 0;
        for (int k = 0; k < rank && !flat; k++) {
            if (index[k] < 0 || index[k] >= s->dims.at[k]) place = count;
            if (place < count) place = place * (uint64_t)s->dims.at[k] + (uint64_t)index[k];
        }
        if (flat) place = (uint64_t)index[0];
        if (place >= count)
            status = fail(onnx, v, WICK_ERR_FORMAT, msg, "sparse: index %lld is outside of dims", (long long)i);
        else memcpy(dense + place * size, (const uint8_t *)value_data + (size_t)i * size, size);
    }
    *out = (wick_onnx_value){.kind = WICK_VALUE_TENSOR};
    if (status == WICK_OK) {
        out->tensor = wick_from(onnx->ctx, dtype, rank, s->dims.at, dense);
        if (wick_tensor_error(out->tensor, NULL) != WICK_OK)
            status = fail(onnx, v, WICK_ERR_NOMEM, msg, "out of memory");
    }
    wick_release(&onnx->ctx->alloc, dense, bytes);
    return status;
}
