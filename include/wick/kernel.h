/* wick/kernel.h: kernels from a formula: wick_kernel_from_expr(ctx, "x + y * 2.0", &kernel). The text becomes a graph
 * of elementwise ops, which plans fuse into one program that runs block by block in vectors.
 *
 *   expression   a ? b : c | a || b | a && b | a < b (<= > >= == !=) | a + b, a - b | a * b, a / b, a % b | -a, +a, !a
 *                | a ** b | number | name | name(expression, ...) | (expression)
 *
 * from what binds least to what binds most; ** is right-associative and binds more than a sign on its left: -x ** 2 is
 * -(x ** 2). Functions are the elementwise ops (docs/ops.md), and min and max for minimum and maximum. % is
 * `remainder`, which has the sign of b. Any other name is an input; pi, inf and nan are numbers.
 *
 * Inputs broadcast and are promoted as in the ops themselves. A number is of the dtype of what it stands with (2.0
 * beside integers: f32); with numbers alone, of the dtype that all inputs promote to, or f32 where that is no float. */
#ifndef WICK_KERNEL_H
#define WICK_KERNEL_H

#include "wick/plan.h"

#ifdef __cplusplus
extern "C" {
#endif

#define WICK_KERNEL_TEXT   4096 /* bytes of an expression, at most, */
#define WICK_KERNEL_NODES  512  /* operations, numbers and names in it, */
#define WICK_KERNEL_DEPTH  64   /* brackets, signs and right operands within each other, */
#define WICK_KERNEL_INPUTS 16   /* and inputs, of fewer than 32 bytes each */

typedef struct wick_kernel wick_kernel;

/* Reads the expression; any text may be given. A mistake is WICK_ERR_INVALID, "kernel: column 5: ..." with columns from
 * 1 on, in bytes. On failure *kernel is NULL and the context has the error. To be freed before the context. */
WICK_API WICK_MUST_CHECK wick_status wick_kernel_from_expr(wick_context *ctx, const char *expression,
                                                           wick_kernel **kernel);
WICK_API void wick_kernel_free(wick_kernel **kernel); /* null-safe, nulls */

/* Its inputs, in the order in which they first appear. */
WICK_API int wick_kernel_inputs(const wick_kernel *kernel);
WICK_API const char *wick_kernel_input(const wick_kernel *kernel, int i); /* NULL outside */
/* The expression as it was understood, every operation in brackets: "(x + (y * 2))". Works like snprintf. */
WICK_API size_t wick_kernel_format(const wick_kernel *kernel, char *buffer, size_t size);

/* Records the kernel over n inputs in that order: a tensor like any other, with gradients. */
WICK_API wick_tensor *wick_kernel_call(const wick_kernel *kernel, int n, wick_tensor *const *in);
/* A plan for inputs of these dtypes and shapes, with one output. Names in specs, where there are any, must be those of
 * the inputs. options may be NULL. The kernel may be freed before the plan. */
WICK_API WICK_MUST_CHECK wick_status wick_kernel_compile(const wick_kernel *kernel, int n, const wick_spec *in,
                                                         const wick_compile_options *options, wick_plan **plan);

#ifdef __cplusplus
}
#endif
#ifndef WICK_NO_SITES /* errors name the caller's line */
#define wick_kernel_from_expr(...) WICK_STATUS_HERE(wick_kernel_from_expr(__VA_ARGS__))
#define wick_kernel_call(...) WICK_TENSOR_HERE(wick_kernel_call(__VA_ARGS__))
#define wick_kernel_compile(...) WICK_STATUS_HERE(wick_kernel_compile(__VA_ARGS__))
#endif
#endif
