/* types.c: names and sizes of what include/wick/types.h declares. */
#include "base/base.h"

#define STATUS_TABLE(X)                                          \
    X(WICK_OK, "ok")                                             \
    X(WICK_ERR_INVALID, "invalid argument")                      \
    X(WICK_ERR_SHAPE, "shapes do not fit")                       \
    X(WICK_ERR_DTYPE, "dtypes do not fit")                       \
    X(WICK_ERR_NOMEM, "out of memory")                           \
    X(WICK_ERR_BUSY, "state is in use by another run")           \
    X(WICK_ERR_CANCELLED, "cancelled")                           \
    X(WICK_ERR_DEADLINE, "deadline passed")                      \
    X(WICK_ERR_INDEX, "index out of range")                      \
    X(WICK_ERR_NOT_FINITE, "value is not finite")                \
    X(WICK_ERR_IO, "input or output failed")                     \
    X(WICK_ERR_FORMAT, "malformed file")                         \
    X(WICK_ERR_VERSION, "unreadable file version")               \
    X(WICK_ERR_MISMATCH, "file does not belong to this model")   \
    X(WICK_ERR_UNSUPPORTED, "not supported here")                \
    X(WICK_ERR_INTERNAL, "internal error")

#define DTYPE_TABLE(X)                     \
    X(WICK_F32, "f32", 32)                 \
    X(WICK_F64, "f64", 64)                 \
    X(WICK_F16, "f16", 16)                 \
    X(WICK_BF16, "bf16", 16)               \
    X(WICK_I8, "i8", 8)                    \
    X(WICK_I16, "i16", 16)                 \
    X(WICK_I32, "i32", 32)                 \
    X(WICK_I64, "i64", 64)                 \
    X(WICK_U8, "u8", 8)                    \
    X(WICK_U16, "u16", 16)                 \
    X(WICK_U32, "u32", 32)                 \
    X(WICK_U64, "u64", 64)                 \
    X(WICK_BOOL, "bool", 8)                \
    X(WICK_F8_E4M3FN, "f8_e4m3fn", 8)      \
    X(WICK_F8_E4M3FNUZ, "f8_e4m3fnuz", 8)  \
    X(WICK_F8_E5M2, "f8_e5m2", 8)          \
    X(WICK_F8_E5M2FNUZ, "f8_e5m2fnuz", 8)  \
    X(WICK_F8_E8M0, "f8_e8m0", 8)          \
    X(WICK_I4, "i4", 4)                    \
    X(WICK_U4, "u4", 4)                    \
    X(WICK_I2, "i2", 2)                    \
    X(WICK_U2, "u2", 2)                    \
    X(WICK_F4_E2M1, "f4_e2m1", 4)

#define COUNT_ROW(...) +1
_Static_assert(0 STATUS_TABLE(COUNT_ROW) == WICK_STATUS_COUNT, "a status lacks its name");
_Static_assert(0 DTYPE_TABLE(COUNT_ROW) == WICK_DTYPE_COUNT, "a dtype lacks its row");

#define STATUS_ROW(id, text) [id] = text,
static const char *const status_names[WICK_STATUS_COUNT] = {STATUS_TABLE(STATUS_ROW)};

#define DTYPE_ROW(id, text, bits) [id] = {text, bits},
static const struct {
    const char *name;
    uint8_t bits;
} dtypes[WICK_DTYPE_COUNT] = {DTYPE_TABLE(DTYPE_ROW)};

/* Enums cross the ABI, so a value outside them can arrive; the unsigned compare also refuses negative ones. */
const char *wick_status_name(wick_status status) {
    return (unsigned)status < WICK_STATUS_COUNT ? status_names[status] : "unknown status";
}

const char *wick_dtype_name(wick_dtype dtype) { return (unsigned)dtype < WICK_DTYPE_COUNT ? dtypes[dtype].name : "?"; }

int wick_dtype_bits(wick_dtype dtype) { return (unsigned)dtype < WICK_DTYPE_COUNT ? dtypes[dtype].bits : 0; }

size_t wick_dtype_size(wick_dtype dtype) { return (size_t)wick_dtype_bits(dtype) / 8; }

size_t wick_dtype_bytes(wick_dtype dtype, int64_t count) {
    const size_t size = wick_dtype_size(dtype), per = size ? 1 : 8 / (size_t)WICK_MAX(wick_dtype_bits(dtype), 1);
    return size ? (size_t)count * size : wick_dtype_bits(dtype) ? ((size_t)count + per - 1) / per : 0;
}

uint64_t wick_element_get(wick_dtype dtype, const void *data, int64_t i) {
    const size_t size = wick_dtype_size(dtype);
    const int bits = wick_dtype_bits(dtype), per = size ? 1 : 8 / bits;
    uint64_t element = 0;
    if (size)
        memcpy(&element, (const char *)data + (size_t)i * size, size);
    else
        element = ((const uint8_t *)data)[i / per] >> (i % per * bits) & ((1u << bits) - 1);
    return element;
}

void wick_element_put(wick_dtype dtype, void *data, int64_t i, uint64_t element) {
    const size_t size = wick_dtype_size(dtype);
    const int bits = wick_dtype_bits(dtype), per = size ? 1 : 8 / bits;
    if (size) {
        memcpy((char *)data + (size_t)i * size, &element, size);
        return;
    }
    uint8_t *byte = (uint8_t *)data + i / per;
    const int shift = (int)(i % per) * bits;
    *byte = (uint8_t)((*byte & ((1u << shift) - 1)) | (unsigned)(element & ((1u << bits) - 1)) << shift);
}

void wick_elements_end(wick_dtype dtype, void *data, int64_t count) {
    if (!wick_dtype_is_packed(dtype)) return;
    const int bits = wick_dtype_bits(dtype), per = 8 / bits;
    if (count % per) ((uint8_t *)data)[count / per] &= (uint8_t)((1u << (count % per * bits)) - 1);
}

wick_dtype wick_dtype_from_name(const char *name) {
    int i = 0;
    if (!name) return WICK_DTYPE_COUNT;
    while (i < WICK_DTYPE_COUNT && strcmp(name, dtypes[i].name) != 0) i++;
    return (wick_dtype)i;
}

const char *wick_version(void) { return WICK_VERSION; } /* of the project in CMakeLists.txt */
