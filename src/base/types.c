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
    X(WICK_F32, "f32", 4)                  \
    X(WICK_F64, "f64", 8)                  \
    X(WICK_F16, "f16", 2)                  \
    X(WICK_BF16, "bf16", 2)                \
    X(WICK_I8, "i8", 1)                    \
    X(WICK_I16, "i16", 2)                  \
    X(WICK_I32, "i32", 4)                  \
    X(WICK_I64, "i64", 8)                  \
    X(WICK_U8, "u8", 1)                    \
    X(WICK_U16, "u16", 2)                  \
    X(WICK_U32, "u32", 4)                  \
    X(WICK_U64, "u64", 8)                  \
    X(WICK_BOOL, "bool", 1)                \
    X(WICK_F8_E4M3FN, "f8_e4m3fn", 1)      \
    X(WICK_F8_E4M3FNUZ, "f8_e4m3fnuz", 1)  \
    X(WICK_F8_E5M2, "f8_e5m2", 1)          \
    X(WICK_F8_E5M2FNUZ, "f8_e5m2fnuz", 1)

#define COUNT_ROW(...) +1
_Static_assert(0 STATUS_TABLE(COUNT_ROW) == WICK_STATUS_COUNT, "a status lacks its name");
_Static_assert(0 DTYPE_TABLE(COUNT_ROW) == WICK_DTYPE_COUNT, "a dtype lacks its row");

#define STATUS_ROW(id, text) [id] = text,
static const char *const status_names[WICK_STATUS_COUNT] = {STATUS_TABLE(STATUS_ROW)};

#define DTYPE_ROW(id, text, bytes) [id] = {text, bytes},
static const struct {
    const char *name;
    size_t size;
} dtypes[WICK_DTYPE_COUNT] = {DTYPE_TABLE(DTYPE_ROW)};

/* Enums cross the ABI, so a value outside them can arrive; the unsigned compare also refuses negative ones. */
const char *wick_status_name(wick_status status) {
    return (unsigned)status < WICK_STATUS_COUNT ? status_names[status] : "unknown status";
}

const char *wick_dtype_name(wick_dtype dtype) { return (unsigned)dtype < WICK_DTYPE_COUNT ? dtypes[dtype].name : "?"; }

size_t wick_dtype_size(wick_dtype dtype) { return (unsigned)dtype < WICK_DTYPE_COUNT ? dtypes[dtype].size : 0; }

wick_dtype wick_dtype_from_name(const char *name) {
    int i = 0;
    if (!name) return WICK_DTYPE_COUNT;
    while (i < WICK_DTYPE_COUNT && strcmp(name, dtypes[i].name) != 0) i++;
    return (wick_dtype)i;
}

const char *wick_version(void) { return WICK_VERSION; } /* of the project in CMakeLists.txt */
