/* wick/types.h: what every other Wick header needs: linkage, status codes, dtypes.
 * Compiles as C99, C11 and C++. */
#ifndef WICK_TYPES_H
#define WICK_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#define WICK_API
#elif defined(__GNUC__)
#define WICK_API __attribute__((visibility("default")))
#else
#define WICK_API
#endif

#if defined(__GNUC__)
#define WICK_MUST_CHECK __attribute__((warn_unused_result))
#define WICK_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#else
#define WICK_MUST_CHECK
#define WICK_PRINTF(fmt, args)
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The most dims a tensor can have. */
#define WICK_MAX_DIMS 8

/* Every call that does work returns a status: 0 on success. The text that explains a failure is in the object
 * that failed (wick_context_error, wick_workspace_error). */
typedef enum wick_status {
    WICK_OK = 0,
    WICK_ERR_INVALID,     /* an argument is out of its documented range */
    WICK_ERR_SHAPE,       /* shapes do not fit */
    WICK_ERR_DTYPE,       /* dtypes do not fit */
    WICK_ERR_NOMEM,       /* out of memory */
    WICK_ERR_BUSY,        /* the state is in use by another run */
    WICK_ERR_CANCELLED,   /* the host asked to stop */
    WICK_ERR_DEADLINE,    /* the deadline passed */
    WICK_ERR_INDEX,       /* a run-time index is out of range */
    WICK_ERR_NOT_FINITE,  /* a finite check met NaN or Inf */
    WICK_ERR_IO,          /* the operating system refused a read or write */
    WICK_ERR_FORMAT,      /* a file is malformed */
    WICK_ERR_VERSION,     /* a file is of a version that is not read */
    WICK_ERR_MISMATCH,    /* a file is sound, but not for this model */
    WICK_ERR_UNSUPPORTED, /* well-formed, but not available here */
    WICK_ERR_INTERNAL,    /* a broken invariant: a bug in Wick */
    WICK_STATUS_COUNT
} wick_status;

/* "out of memory", ...; never NULL. */
WICK_API const char *wick_status_name(wick_status status);

/* Element types. Kernels compute in f32, f64, i32, i64, u64 and bool; the others convert at load and store.
 *
 * Those after bool are for storage: they are made, moved (views, copies, gather, concat, where, ...), saved and cast,
 * and nothing computes in them: every other op refuses them and says to cast. No gradient flows through them. The f8
 * are named as ml_dtypes and PyTorch name them: e exponent bits, m fraction bits, "fn" finite (NaN but no Inf), "uz"
 * without a negative zero (whose code is the only NaN). Biases are 7, 8, 15, 16; the largest are 448, 240, 57344,
 * 57344.
 *
 * e8m0 and e2m1 are the OCP's for blocks with a scale (Microscaling Formats, 2023). To e8m0 the nearest power is taken,
 * the larger of two that are as near; what is not above 0, or too large, becomes NaN. To e2m1, which has no Inf and no
 * NaN, what is too large becomes 6, and NaN -0.
 *
 * Those from i4 on are packed, two or four elements to a byte, the first in the low bits (as in ONNX and ml_dtypes): n
 * elements take wick_dtype_bytes, the bits that remain in the last byte are 0. Their elements have no addresses:
 * tensors are row-major, and only what takes them whole works (reshape, cast, assign, wick_if and loops that capture
 * them, reading, writing, saving). */
typedef enum wick_dtype {
    WICK_F32 = 0,
    WICK_F64,
    WICK_F16,
    WICK_BF16,
    WICK_I8,
    WICK_I16,
    WICK_I32,
    WICK_I64,
    WICK_U8,
    WICK_U16,
    WICK_U32,
    WICK_U64,
    WICK_BOOL,
    WICK_F8_E4M3FN, /* OCP 8-bit floating point, 2023 */
    WICK_F8_E4M3FNUZ,
    WICK_F8_E5M2, /* OCP; the upper half of an f16 */
    WICK_F8_E5M2FNUZ,
    WICK_F8_E8M0, /* OCP: powers of 2 from 2^-127 to 2^127, and NaN: scales of blocks */
    WICK_I4,      /* two's complement: -8 to 7 */
    WICK_U4,
    WICK_I2, /* -2 to 1 */
    WICK_U2,
    WICK_F4_E2M1, /* OCP 4-bit floating point, 2023: 0, 0.5, 1, 1.5, 2, 3, 4, 6 and their negatives */
    WICK_DTYPE_COUNT
} wick_dtype;

/* "f32", ...; "?" for a value outside the enum. */
WICK_API const char *wick_dtype_name(wick_dtype dtype);
/* Bytes of one element; 0 for packed dtypes, and for a value outside the enum. */
WICK_API size_t wick_dtype_size(wick_dtype dtype);
/* Bits of one element; 0 for a value outside the enum. */
WICK_API int wick_dtype_bits(wick_dtype dtype);
/* Bytes of count elements side by side; a packed dtype's last byte may be filled in part. */
WICK_API size_t wick_dtype_bytes(wick_dtype dtype, int64_t count);
/* The dtype of that name, or WICK_DTYPE_COUNT. */
WICK_API wick_dtype wick_dtype_from_name(const char *name);

/* How long things took, in seconds. Quantiles are within 3.2 %. */
typedef struct wick_timing {
    uint64_t count;
    double total, min, max, mean, median, p95, p99;
} wick_timing;

/* Version of the library, "0.1.0". */
WICK_API const char *wick_version(void);

/* Memory supplied by the host. Both callbacks may be called from any thread. alloc returns memory aligned to at
 * least `align` (a power of two, at most 4096), or NULL. release gets the size that was asked for. */
typedef struct wick_allocator {
    void *user;
    void *(*alloc)(void *user, size_t size, size_t align);
    void (*release)(void *user, void *ptr, size_t size);
} wick_allocator;

/* Threads supplied by the host. `parallel` calls fn(arg, task) once for every task in [0, tasks), on any threads
 * in any order, and returns when all have returned. `threads` is how many may run at once. */
typedef struct wick_executor {
    void *user;
    int threads;
    void (*parallel)(void *user, void (*fn)(void *arg, int64_t task), void *arg, int64_t tasks);
} wick_executor;

#ifdef __cplusplus
}
#endif
#endif
