/* idx.c: the IDX reader. Bytes come from a source, plain or gzip, which hands out exact amounts. */
#include "data/formats/idx.h"
#include "data/formats/source.h"

static bool dtype_of(uint8_t code, wick_dtype *dtype) {
    static const struct {
        uint8_t code;
        wick_dtype dtype;
    } codes[] = {{0x08, WICK_U8},  {0x09, WICK_I8},  {0x0B, WICK_I16},
                 {0x0C, WICK_I32}, {0x0D, WICK_F32}, {0x0E, WICK_F64}};
    for (size_t i = 0; i < WICK_COUNTOF(codes); i++) {
        if (codes[i].code != code) continue;
        *dtype = codes[i].dtype;
        return true;
    }
    return false;
}

/* Type, dims and size in bytes, all checked. */
static wick_status read_header(wick_source *s, wick_idx *idx, wick_msg *msg) {
    uint8_t magic[4], sizes[4 * WICK_MAX_DIMS];
    WICK_TRY(wick_source_read(s, magic, sizeof magic, msg));
    if (magic[0] || magic[1] || !dtype_of(magic[2], &idx->dtype))
        return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: not an IDX file: begins with %02x %02x %02x %02x", s->name,
                            magic[0], magic[1], magic[2], magic[3]);
    idx->rank = magic[3];
    if (!idx->rank) return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: number of dims (byte 3): 0", s->name);
    if (idx->rank > WICK_MAX_DIMS)
        return wick_msg_set(msg, WICK_ERR_UNSUPPORTED, "%s: number of dims (byte 3): %d, more than %d", s->name,
                            idx->rank, WICK_MAX_DIMS);
    WICK_TRY(wick_source_read(s, sizes, 4 * (size_t)idx->rank, msg));
    size_t bytes = wick_dtype_size(idx->dtype);
    bool empty = false, fits = true;
    for (int d = 0; d < idx->rank; d++) {
        const uint8_t *p = sizes + 4 * d;
        const uint32_t dim = (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
        idx->dims[d] = dim;
        empty |= dim == 0;
        /* dims of 0 stay out: strides are computed from the others */
        if (dim) fits = fits && !wick_mul_overflows(bytes, (size_t)dim, &bytes);
    }
    if (!fits || bytes > PTRDIFF_MAX)
        return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: dims (byte 4): the size is beyond 2^63", s->name);
    idx->bytes = empty ? 0 : bytes;
    if (idx->bytes > s->most)
        return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: dims (byte 4): promise %zu bytes; the file can hold %zu",
                            s->name, idx->bytes, s->most);
    return WICK_OK;
}

/* Big-endian elements to the machine's order, in place. */
static void to_native(uint8_t *p, size_t bytes, size_t elem) {
    for (size_t i = 0; i < bytes; i += elem) {
        uint64_t v = 0;
        for (size_t b = 0; b < elem; b++) v = v << 8 | p[i + b];
        switch (elem) {
        case 2:
            memcpy(p + i, &(uint16_t){(uint16_t)v}, 2);
            break;
        case 4:
            memcpy(p + i, &(uint32_t){(uint32_t)v}, 4);
            break;
        default:
            memcpy(p + i, &v, 8);
        }
    }
}

static wick_status read_all(wick_source *s, wick_idx *idx, wick_msg *msg) {
    WICK_TRY(read_header(s, idx, msg));
    idx->data = wick_alloc(idx->alloc, idx->bytes);
    if (!idx->data) return wick_msg_set(msg, WICK_ERR_NOMEM, "%s: out of memory: %zu bytes", s->name, idx->bytes);
    WICK_TRY(wick_source_read(s, idx->data, idx->bytes, msg));
    WICK_TRY(wick_source_finish(s, msg));
    const size_t elem = wick_dtype_size(idx->dtype);
    if (elem > 1) to_native(idx->data, idx->bytes, elem);
    return WICK_OK;
}

wick_status wick_idx_parse(wick_idx *out, const void *file, size_t size, const char *name, const wick_allocator *alloc,
                           wick_msg *msg) {
    wick_source s;
    *out = (wick_idx){.alloc = alloc};
    WICK_TRY(wick_source_open(&s, file, size, name, msg));
    const wick_status status = read_all(&s, out, msg);
    wick_source_close(&s);
    if (status != WICK_OK) wick_idx_free(out);
    return status;
}

wick_status wick_idx_read(wick_idx *out, const char *path, const wick_allocator *alloc, wick_msg *msg) {
    wick_map map;
    *out = (wick_idx){.alloc = alloc};
    WICK_TRY(wick_map_read(&map, path, msg));
    const wick_status status = wick_idx_parse(out, map.data, map.size, path, alloc, msg);
    wick_map_close(&map);
    return status;
}

void wick_idx_free(wick_idx *idx) {
    wick_release(idx->alloc, idx->data, idx->bytes);
    *idx = (wick_idx){.alloc = idx->alloc};
}
