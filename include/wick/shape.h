/* wick/shape.h: making tensors of another arrangement from others, and regular ones from nothing. What is a view in
 * wick/ops.h (slices, reshapes, permutations, expansions) stays one here; the rest copies once. */
#ifndef WICK_SHAPE_H
#define WICK_SHAPE_H

#include "wick/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- joining and cutting ----------------------------------------------------------------------------------------- */
/* n tensors of one shape and dtype along a new axis. */
WICK_API wick_tensor *wick_stack(int n, wick_tensor *const *xs, int axis);
/* Views of n parts of the axis, with sizes that add up to its extent (one may be -1: what remains). An error poisons
 * all. */
WICK_API void wick_split(wick_tensor *x, int axis, int n, const int64_t *sizes, wick_tensor **out);
/* PyTorch's chunk: views of ceil(extent / n) places each, the last one perhaps smaller. out has room for n; *parts (or
 * NULL) is how many there are, the others are NULL. An error poisons all n. */
WICK_API void wick_chunk(wick_tensor *x, int n, int axis, wick_tensor **out, int *parts);

/* ---- repeating and moving ---------------------------------------------------------------------------------------- */
/* x n times along each axis: NumPy's tile. repeats counts for the last axes; more of them than x has axes add axes in
 * front. */
WICK_API wick_tensor *wick_tile(wick_tensor *x, int n, const int64_t *repeats);
/* Every place of the axis `repeats` times in a row. */
WICK_API wick_tensor *wick_repeat_interleave(wick_tensor *x, int64_t repeats, int axis);
/* Elements move by shifts[i] places along axes[i]; what leaves at one end enters at the other. */
WICK_API wick_tensor *wick_roll(wick_tensor *x, int n, const int64_t *shifts, const int *axes);
/* Axis `from` becomes axis `to`, the others keep their order: movedim. A view. */
WICK_API wick_tensor *wick_move_axis(wick_tensor *x, int from, int to);
/* n vectors become n grids of their extents, x[i] along axis i ("ij"); with xy the first two axes are swapped, as NumPy
 * does. Views. */
WICK_API void wick_meshgrid(int n, wick_tensor *const *xs, bool xy, wick_tensor **out);
/* How a margin is filled: [1 2 3] by two places is 3 2 [1 2 3] 2 1 (REFLECT), 1 1 [1 2 3] 3 3 (EDGE, "replicate"), 2 3
 * [1 2 3] 1 2 (WRAP, "circular"). */
typedef enum wick_pad_mode { WICK_PAD_REFLECT, WICK_PAD_EDGE, WICK_PAD_WRAP } wick_pad_mode;
/* As wick_pad, filled from x, as NumPy's pad. A margin may be longer than x: REFLECT goes to and fro then, WRAP round
 * and round. */
WICK_API wick_tensor *wick_pad_with(wick_tensor *x, int rank, const int64_t *before, const int64_t *after,
                                    wick_pad_mode mode);

/* ---- triangles and regular values -------------------------------------------------------------------------------- */
/* Of the last two axes [rows, cols] what is on and below (above) diagonal k, 0 elsewhere; k > 0 is above the main one.
 */
WICK_API wick_tensor *wick_tril(wick_tensor *x, int64_t k);
WICK_API wick_tensor *wick_triu(wick_tensor *x, int64_t k);
/* x [..., n] on diagonal k of new last axes [n + |k|, n + |k|], 0 elsewhere: PyTorch's diag_embed, and diag of a
 * vector. */
WICK_API wick_tensor *wick_diagonal_matrix(wick_tensor *x, int64_t k);
/* 1 on diagonal k, else 0. */
WICK_API wick_tensor *wick_eye(wick_context *ctx, wick_dtype dtype, int64_t rows, int64_t cols, int64_t k);
/* count values from start to stop, both included, computed in f64 from the nearer end. */
WICK_API wick_tensor *wick_linspace(wick_context *ctx, wick_dtype dtype, double start, double stop, int64_t count);
/* base to the power of wick_linspace(start, stop). */
WICK_API wick_tensor *wick_logspace(wick_context *ctx, wick_dtype dtype, double start, double stop, int64_t count,
                                    double base);

#ifdef __cplusplus
}
#endif
#ifndef WICK_NO_SITES
/* clang-format off */
#define wick_stack(...) WICK_TENSOR_HERE(wick_stack(__VA_ARGS__))
#define wick_split(...) WICK_VOID_HERE(wick_split(__VA_ARGS__))
#define wick_chunk(...) WICK_VOID_HERE(wick_chunk(__VA_ARGS__))
#define wick_tile(...) WICK_TENSOR_HERE(wick_tile(__VA_ARGS__))
#define wick_repeat_interleave(...) WICK_TENSOR_HERE(wick_repeat_interleave(__VA_ARGS__))
#define wick_roll(...) WICK_TENSOR_HERE(wick_roll(__VA_ARGS__))
#define wick_move_axis(...) WICK_TENSOR_HERE(wick_move_axis(__VA_ARGS__))
#define wick_meshgrid(...) WICK_VOID_HERE(wick_meshgrid(__VA_ARGS__))
#define wick_pad_with(...) WICK_TENSOR_HERE(wick_pad_with(__VA_ARGS__))
#define wick_tril(...) WICK_TENSOR_HERE(wick_tril(__VA_ARGS__))
#define wick_triu(...) WICK_TENSOR_HERE(wick_triu(__VA_ARGS__))
#define wick_diagonal_matrix(...) WICK_TENSOR_HERE(wick_diagonal_matrix(__VA_ARGS__))
#define wick_eye(...) WICK_TENSOR_HERE(wick_eye(__VA_ARGS__))
#define wick_linspace(...) WICK_TENSOR_HERE(wick_linspace(__VA_ARGS__))
#define wick_logspace(...) WICK_TENSOR_HERE(wick_logspace(__VA_ARGS__))
/* clang-format on */
#endif
#endif
