/* wick/compare.h: for ports: what each layer of a network gives, beside what it gave elsewhere. */
#ifndef WICK_COMPARE_H
#define WICK_COMPARE_H

#include "wick/nn.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Called for every layer as it is recorded, with its whole name ("layers.0.linear1") and its result. */
typedef void (*wick_layer_watch)(void *user, const char *name, wick_tensor *y);
WICK_API void wick_model_watch(wick_model *model, wick_layer_watch fn, void *user); /* fn NULL: no more */

/* One layer. The layers of a network that the file doesn't have are no rows. */
typedef struct wick_layer_difference {
    const char *name;
    bool missing;     /* the file has it, and the network no layer of that name: then nothing below counts */
    bool other_shape; /* neither does it here */
    double worst;     /* the largest |ours - theirs|; NaN and Inf differ by Inf from all but themselves */
    double relative;  /* that, over the largest |theirs| (1e-30 at least) */
    int64_t element;  /* where, row-major */
    double ours, theirs;
} wick_layer_difference;
typedef struct wick_comparison wick_comparison;
/* Runs fn (which sets out[0]) in evaluation mode on the tensors in[], and compares the result of every layer with the tensor of its name in a
 * safetensors file, and out[0] with "output" where the file has that. Rows are in the order of recording, so that the first one that differs is where
 * to look; what no layer is called comes last. WICK_ERR_MISMATCH, with the first in the context's text: a row is missing, has another shape, or
 * `relative` above the tolerance (0: 1e-5); *out is made then too. In PyTorch such a file is
 *   seen = {}
 *   for name, m in model.named_modules():
 *       m.register_forward_hook(lambda m, i, o, name=name: seen.__setitem__(name or "output", (o[0] if isinstance(o, tuple) else o).detach().contiguous()))
 *   model(x); safetensors.torch.save_file(seen, "activations.safetensors") */
WICK_API WICK_MUST_CHECK wick_status wick_compare_layers(wick_model *model, wick_function fn, void *user, wick_tensor *const *in, const char *path,
                                                         double tolerance, wick_comparison **out);
WICK_API void wick_comparison_free(wick_comparison **comparison); /* null-safe, nulls */
WICK_API int wick_comparison_count(const wick_comparison *comparison);
WICK_API wick_layer_difference wick_comparison_at(const wick_comparison *comparison, int i); /* cleared outside; names live as long as the comparison */
WICK_API int wick_comparison_first(const wick_comparison *comparison); /* the first row that differs; -1: none */
/* A table, one row a line; works like snprintf. */
WICK_API size_t wick_comparison_format(const wick_comparison *comparison, char *buffer, size_t size);

#ifdef __cplusplus
}
#endif
#endif
