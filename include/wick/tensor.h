/* wick/tensor.h: tensors are lazy handles. An op records a node; nothing is computed until a value is asked for
 * (wick_eval, wick_item, wick_data, wick_read) or a compiled plan runs.
 *
 * A mistake yields a poisoned tensor, which remembers the first error and poisons what uses it, so expressions chain;
 * the call that does work returns the error. A NULL tensor argument is a mistake like any other, unless all are NULL:
 * then not even the context is known, and the result is NULL too.
 *
 * Ownership: tensors belong to the innermost open scope unless kept; arguments are borrowed. */
#ifndef WICK_TENSOR_H
#define WICK_TENSOR_H

#include "wick/context.h"

#ifdef __cplusplus
extern "C" {
#endif

/* "rank, dims" of a shape: wick_zeros(ctx, WICK_F32, WICK_DIMS(2, 3)). A 0-d tensor is WICK_SCALAR. C only. */
#define WICK_DIMS(...) \
    (int)(sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (const int64_t[]) { __VA_ARGS__ }
#define WICK_SCALAR 0, NULL

/* ---- making ------------------------------------------------------------------------------------------------------ */

/* A copy of contiguous row-major data. */
WICK_API wick_tensor *wick_from(wick_context *ctx, wick_dtype dtype, int rank, const int64_t *dims, const void *data);
/* The caller's memory without a copy. strides are in elements (NULL: contiguous; may be negative or 0). release (or
 * NULL) is called with user when Wick no longer needs the memory, also when this call fails. Wick never writes to it:
 * an assigned tensor moves to storage of its own. */
WICK_API wick_tensor *wick_wrap(wick_context *ctx, wick_dtype dtype, int rank, const int64_t *dims,
                                const int64_t *strides, const void *data, void (*release)(void *user), void *user);
/* Bytes [offset, ...) of a regular file, mapped read-only; offset must be a multiple of the element size. A file may be
 * replaced while it is mapped, but not changed or made shorter: reading what is gone is SIGBUS (docs/tensors.md,
 * "Files"). */
WICK_API wick_tensor *wick_map_file(wick_context *ctx, const char *path, size_t offset, wick_dtype dtype, int rank,
                               const int64_t *dims);
WICK_API wick_tensor *wick_full(wick_context *ctx, wick_dtype dtype, int rank, const int64_t *dims, double value);
WICK_API wick_tensor *wick_zeros(wick_context *ctx, wick_dtype dtype, int rank, const int64_t *dims);
WICK_API wick_tensor *wick_ones(wick_context *ctx, wick_dtype dtype, int rank, const int64_t *dims);
/* start, start + step, ... count elements. */
WICK_API wick_tensor *wick_arange(wick_context *ctx, wick_dtype dtype, double start, double step, int64_t count);
/* A 0-d number that is a run-time slot: another value makes no new plan. */
WICK_API wick_tensor *wick_scalar(wick_context *ctx, wick_dtype dtype, double value);
/* A 0-d number that is part of the plan: folded and simplified with. */
WICK_API wick_tensor *wick_constant(wick_context *ctx, wick_dtype dtype, double value);
/* wick_constant of x's dtype, where it lives: wick_mul(x, wick_like(x, 0.5)). */
WICK_API wick_tensor *wick_like(wick_tensor *x, double value);

/* ---- asking ------------------------------------------------------------------------------------------------------ */

WICK_API wick_context *wick_tensor_context(const wick_tensor *x);
WICK_API wick_dtype wick_tensor_dtype(const wick_tensor *x);
WICK_API int wick_tensor_rank(const wick_tensor *x);
/* rank extents; valid while x is. */
WICK_API const int64_t *wick_tensor_dims(const wick_tensor *x);
/* axis < 0 counts from the end; 0 when out of range */
WICK_API int64_t wick_tensor_dim(const wick_tensor *x, int axis);
WICK_API int64_t wick_tensor_count(const wick_tensor *x);         /* elements */
/* A tensor that is a mistake, for functions of your own that find one: the text gets the caller's line. */
WICK_API wick_tensor *wick_poison(wick_context *ctx, wick_status status, const char *fmt, ...) WICK_PRINTF(3, 4);
/* 0, or the error that poisoned x; text (or NULL) receives its message. */
WICK_API wick_status wick_tensor_error(const wick_tensor *x, const char **text);
/* True when the value is in memory: no work is pending for it. */
WICK_API bool wick_tensor_ready(const wick_tensor *x);

/* ---- values ------------------------------------------------------------------------------------------------------ */

typedef struct wick_eval_info {
    int effects;   /* assignments, checks and taps that were pending and ran */
    bool plan_hit; /* the plan came from the cache */
} wick_eval_info;
/* Computes the tensors and every pending effect of the context, in one plan. n may be 0: effects only. info may be
 * NULL. */
WICK_API WICK_MUST_CHECK wick_status wick_eval(wick_context *ctx, int n, wick_tensor *const *tensors,
                                               wick_eval_info *info);
/* The only element of x, as a double. */
WICK_API WICK_MUST_CHECK wick_status wick_item(wick_tensor *x, double *value);
/* Copies x, row-major, to dst of exactly `size` bytes. */
WICK_API WICK_MUST_CHECK wick_status wick_read(wick_tensor *x, void *dst, size_t size);
/* The value of x in memory, row-major, without a copy when it already lies so. Valid until x is freed, assigned, or a
 * plan that assigns it runs. */
WICK_API WICK_MUST_CHECK wick_status wick_data(wick_tensor *x, const void **data);
/* Prints like NumPy's str(): "[[1. 2.]\n [3. 4.]]", summarised above 1,000 elements; bf16 as the same values in f32.
 * Works like snprintf: returns the length the whole text has. An error prints as "<poisoned: ...>". */
WICK_API size_t wick_format(wick_tensor *x, char *buffer, size_t size);

/* ---- state ------------------------------------------------------------------------------------------------------- */

/* From now on `state` reads as value; the work is pending until the next eval. Expressions recorded before see the old
 * version. state is a tensor that holds data, or a view of one (then its base is updated). Shapes and dtypes must be
 * equal. */
WICK_API WICK_MUST_CHECK wick_status wick_assign(wick_tensor *state, wick_tensor *value);
/* Overwrites the data of x at once, from contiguous row-major memory of exactly `size` bytes (loading weights). Earlier
 * expressions that are still pending see the old data. */
WICK_API WICK_MUST_CHECK wick_status wick_write(wick_tensor *x, const void *data, size_t size);

/* ---- lifetime ---------------------------------------------------------------------------------------------------- */

/* Moves x to the scope around its own, so that it outlives the inner one; returns x. A computed value that leaves its
 * scope becomes plain data: gradients no longer pass through it. */
WICK_API wick_tensor *wick_keep(wick_tensor *x);
/* Another reference to the same tensor, in no scope: it lives until wick_tensor_free. */
WICK_API wick_tensor *wick_retain(wick_tensor *x);
/* Frees a retained tensor, or one of a scope early. Null-safe, nulls. A computed value that nobody names any more
 * becomes plain data to what was made from it, as in wick_keep. */
WICK_API void wick_tensor_free(wick_tensor **x);

#ifdef __cplusplus
}
#endif
#ifndef WICK_NO_SITES /* errors name the caller's line */
#define wick_from(...) WICK_TENSOR_HERE(wick_from(__VA_ARGS__))
#define wick_wrap(...) WICK_TENSOR_HERE(wick_wrap(__VA_ARGS__))
#define wick_map_file(...) WICK_TENSOR_HERE(wick_map_file(__VA_ARGS__))
#define wick_full(...) WICK_TENSOR_HERE(wick_full(__VA_ARGS__))
#define wick_zeros(...) WICK_TENSOR_HERE(wick_zeros(__VA_ARGS__))
#define wick_ones(...) WICK_TENSOR_HERE(wick_ones(__VA_ARGS__))
#define wick_arange(...) WICK_TENSOR_HERE(wick_arange(__VA_ARGS__))
#define wick_scalar(...) WICK_TENSOR_HERE(wick_scalar(__VA_ARGS__))
#define wick_constant(...) WICK_TENSOR_HERE(wick_constant(__VA_ARGS__))
#define wick_like(...) WICK_TENSOR_HERE(wick_like(__VA_ARGS__))
#endif
#endif
