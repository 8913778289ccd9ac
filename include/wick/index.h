/* wick/index.h: reading and writing where an index points. Indices are of any integer type; negative ones count from
 * the end, and one outside its axis is a run-time error (WICK_ERR_INDEX). wick_gather (NumPy's take, PyTorch's
 * index_select) and wick_scatter_add are in wick/ops.h.
 *
 * Where several indices name one place, they are met in their row-major order: of values that are set the last one
 * stays, and sums have the same bits at any number of threads. */
#ifndef WICK_INDEX_H
#define WICK_INDEX_H

#include "wick/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What writing makes of the value that is there and the new one. NaN wins max and min. */
typedef enum wick_put { WICK_PUT_SET, WICK_PUT_ADD, WICK_PUT_MUL, WICK_PUT_MAX, WICK_PUT_MIN, WICK_PUT_MEAN } wick_put;

/* ---- an index of the result's shape ------------------------------------------------------------------------------ */
/* y[i, j, k] = x[i, index[i, j, k], k] for axis 1: torch.gather, ONNX GatherElements. index has x's rank and may have
 * fewer places in the other axes: the first ones are read. NumPy's broadcasting: wick_expand the index before. */
WICK_API wick_tensor *wick_take_along_axis(wick_tensor *x, int axis, wick_tensor *index);
/* base with base[i, index[i, j, k], k] how= src[i, j, k], in the order of j: torch.scatter and scatter_reduce with
 * include_self, ONNX ScatterElements. src has the shape of the index and base's dtype. MEAN counts what was there; of
 * integers it is rounded down. */
WICK_API wick_tensor *wick_put_along_axis(wick_tensor *base, int axis, wick_tensor *index, wick_tensor *src,
                                          wick_put how);
/* PyTorch's scatter_reduce: without include_self, what was in the places written to does not count. */
WICK_API wick_tensor *wick_scatter_reduce(wick_tensor *base, int axis, wick_tensor *index, wick_tensor *src,
                                          wick_put how, bool include_self);

/* ---- slices ------------------------------------------------------------------------------------------------------ */
/* Slices of src, of the shape that wick_gather(base, axis, index) has, are put where it would read: torch.index_copy
 * (SET), index_add (ADD) and index_reduce. */
WICK_API wick_tensor *wick_scatter(wick_tensor *base, int axis, wick_tensor *index, wick_tensor *src, wick_put how);
/* index [batch..., places..., k]: its last axis holds tuples for axes batch_dims.. of x; y is index.dims[:-1] +
 * x.dims[batch_dims + k:]. The first batch_dims axes of both go together. ONNX GatherND. */
WICK_API wick_tensor *wick_gather_nd(wick_tensor *x, int batch_dims, wick_tensor *index);
/* base with slices of src [index.dims[:-1] + base.dims[k:]] put where wick_gather_nd(base, 0, index) reads: ONNX
 * ScatterND. */
WICK_API wick_tensor *wick_scatter_nd(wick_tensor *base, wick_tensor *index, wick_tensor *src, wick_put how);
/* NumPy's x[i0, i1, ...]: n integer tensors that broadcast with each other index the first n axes. */
WICK_API wick_tensor *wick_index(wick_tensor *x, int n, wick_tensor *const *index);
/* x with x[i0, i1, ...] = values (PyTorch's index_put), or += if they accumulate; values broadcast to what wick_index
 * reads. */
WICK_API wick_tensor *wick_index_put(wick_tensor *x, int n, wick_tensor *const *index, wick_tensor *values,
                                     bool accumulate);

/* x with values in place of its slices start .. start + n - 1 along the axis, n the places of values there; the other
 * dims are x's. start: one integer, known when it runs (JAX's dynamic_update_slice, but a slice that reaches out of x
 * is a run-time error, WICK_ERR_INDEX). */
WICK_API wick_tensor *wick_update_slice(wick_tensor *x, wick_tensor *values, int axis, wick_tensor *start);

/* ---- embeddings -------------------------------------------------------------------------------------------------- */
/* Rows of weight [n, d]: index.dims + [d]. The row `padding` gets no gradient; -1: none is such. */
WICK_API wick_tensor *wick_embedding(wick_tensor *weight, wick_tensor *index, int64_t padding);
typedef enum wick_bag { WICK_BAG_SUM, WICK_BAG_MEAN, WICK_BAG_MAX } wick_bag;
/* Sums, means or maxima of rows of weight [n, d], a bag each: [bags, d]. index [bags, m]; or [total] with offsets
 * [bags], where each bag begins: rising, the first 0. scale (or NULL): a factor for each index, of its shape; SUM only.
 * An empty bag is 0. PyTorch's EmbeddingBag; but equal maxima share their gradient. */
WICK_API wick_tensor *wick_embedding_bag(wick_tensor *weight, wick_tensor *index, wick_tensor *offsets,
                                         wick_tensor *scale, wick_bag mode);

/* ---- masks ------------------------------------------------------------------------------------------------------- */
/* x where mask (bool, broadcasts) is false, else value. */
WICK_API wick_tensor *wick_masked_fill(wick_tensor *x, wick_tensor *mask, double value);
/* x with the places where mask (bool, of x's shape) is true filled with the first elements of src, both in row-major
 * order. A src with fewer elements is a run-time error (WICK_ERR_INDEX). */
WICK_API wick_tensor *wick_masked_scatter(wick_tensor *x, wick_tensor *mask, wick_tensor *src);

/* ---- sizes that depend on values: x (mask) is evaluated at once, the result is as large as it has to be. In a
 * function that is being compiled there are no values: these poison there, and name what to use instead. ---- */
/* Where x is not 0, row-major: i64 [count, x.rank]. */
WICK_API wick_tensor *wick_nonzero(wick_tensor *x);
/* The same for compiled functions: [size, x.rank], of which the first *count rows are filled and the others are `fill`;
 * places past size are left out. *count is i64, 0-d, the number of all; count may be NULL. */
WICK_API wick_tensor *wick_nonzero_padded(wick_tensor *x, int64_t size, int64_t fill, wick_tensor **count);
/* Elements of x where mask is true, as a vector; they broadcast. Only the mask is evaluated: gradients flow to x. */
WICK_API wick_tensor *wick_masked_select(wick_tensor *x, wick_tensor *mask);

#ifdef __cplusplus
}
#endif
#ifndef WICK_NO_SITES
/* clang-format off */
#define wick_take_along_axis(...) WICK_TENSOR_HERE(wick_take_along_axis(__VA_ARGS__))
#define wick_put_along_axis(...) WICK_TENSOR_HERE(wick_put_along_axis(__VA_ARGS__))
#define wick_scatter_reduce(...) WICK_TENSOR_HERE(wick_scatter_reduce(__VA_ARGS__))
#define wick_scatter(...) WICK_TENSOR_HERE(wick_scatter(__VA_ARGS__))
#define wick_gather_nd(...) WICK_TENSOR_HERE(wick_gather_nd(__VA_ARGS__))
#define wick_scatter_nd(...) WICK_TENSOR_HERE(wick_scatter_nd(__VA_ARGS__))
#define wick_index(...) WICK_TENSOR_HERE(wick_index(__VA_ARGS__))
#define wick_index_put(...) WICK_TENSOR_HERE(wick_index_put(__VA_ARGS__))
#define wick_update_slice(...) WICK_TENSOR_HERE(wick_update_slice(__VA_ARGS__))
#define wick_embedding(...) WICK_TENSOR_HERE(wick_embedding(__VA_ARGS__))
#define wick_embedding_bag(...) WICK_TENSOR_HERE(wick_embedding_bag(__VA_ARGS__))
#define wick_masked_fill(...) WICK_TENSOR_HERE(wick_masked_fill(__VA_ARGS__))
#define wick_masked_scatter(...) WICK_TENSOR_HERE(wick_masked_scatter(__VA_ARGS__))
#define wick_nonzero(...) WICK_TENSOR_HERE(wick_nonzero(__VA_ARGS__))
#define wick_nonzero_padded(...) WICK_TENSOR_HERE(wick_nonzero_padded(__VA_ARGS__))
#define wick_masked_select(...) WICK_TENSOR_HERE(wick_masked_select(__VA_ARGS__))
/* clang-format on */
#endif
#endif
