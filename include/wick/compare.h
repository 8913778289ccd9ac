/* wick/compare.h: for ports: what each layer of a network gives, beside what it gave elsewhere; and files of tensors
 * beside each other. */
#ifndef WICK_COMPARE_H
#define WICK_COMPARE_H

#include "wick/nn.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Called for every layer as it is recorded, with its whole name ("layers.0.linear1") and its result. */
typedef void (*wick_layer_watch)(void *user, const char *name, wick_tensor *y);
WICK_API void wick_model_watch(wick_model *model, wick_layer_watch fn, void *user); /* fn NULL: no more */
/* Tells the watcher, if there is one, of a tensor that is no layer's own: what a block of layers gives, or a skip
 * connection. Its name stands behind what was pushed. Returns y. */
WICK_API wick_tensor *wick_model_tell(wick_model *model, const char *name, wick_tensor *y);

/* What is no difference: |ours - theirs| <= atol + rtol |theirs| + tolerance * the largest |theirs| of the tensor. NaN
 * equals NaN, an Inf itself. All three 0: tolerance 1e-5. */
typedef struct wick_compare_options {
    double tolerance, rtol, atol;
    bool exact;          /* none of the three: what differs at all */
    const char *pattern; /* only what has a name like that is compared (as wick_model_freeze's); NULL: all */
} wick_compare_options;

typedef enum wick_difference_kind {
    WICK_SAME, /* within the tolerance */
    WICK_DIFFERS,
    WICK_OTHER_SHAPE,
    WICK_ONLY_OURS,
    WICK_ONLY_THEIRS
} wick_difference_kind;
/* One tensor. Numbers are those of WICK_SAME and WICK_DIFFERS. */
typedef struct wick_difference {
    const char *name;
    wick_difference_kind kind;
    wick_spec ours, theirs;    /* dtype and shape; rank -1: it is not there */
    int64_t differing;         /* how many elements differ by more than the tolerance */
    /* the largest |ours - theirs|; Inf where one is NaN or Inf and the other something else */
    double worst;
    double relative;           /* that, over the largest |theirs| (1e-30 at least) */
    int64_t element;           /* where, row-major */
    double our_value, their_value; /* there */
} wick_difference;
typedef struct wick_comparison wick_comparison;

/* Runs fn (which sets out[0]) in evaluation mode on the tensors in[], and compares the result of every layer with the
 * tensor of its name in a safetensors file, and out[0] with "output" where the file has that. Rows are in the order of
 * recording, so that the first one that differs is where to look; what no layer is called comes last, and a tensor
 * "input" in the file is nobody's. The layers that the file doesn't have are no rows. WICK_ERR_MISMATCH, with the first
 * in the context's text: a row is not WICK_SAME, or there is none; *out is made then too. In PyTorch such a file is
 *   seen = {"input": x}
 *   for name, m in model.named_modules():
 *       m.register_forward_hook(lambda m, i, o, name=name: seen.__setitem__(name or "output", (o[0] if isinstance(o,
 *       tuple) else o).detach().contiguous()))
 *   model(x); safetensors.torch.save_file(seen, "activations.safetensors") */
WICK_API WICK_MUST_CHECK wick_status wick_compare_layers(wick_model *model, wick_function fn, void *user,
                                                         wick_tensor *const *in, const char *path,
                                                         const wick_compare_options *options, wick_comparison **out);
/* Two safetensors files, tensor by tensor; "ours" are those of the first one. Rows are in its order, and what only the
 * second one has comes last. Dtypes may differ; values are compared as f64 then. Otherwise as above. */
WICK_API WICK_MUST_CHECK wick_status wick_compare_files(wick_context *ctx, const char *ours, const char *theirs,
                                                        const wick_compare_options *options, wick_comparison **out);
WICK_API void wick_comparison_free(wick_comparison **comparison); /* null-safe, nulls */
WICK_API int wick_comparison_count(const wick_comparison *comparison);
/* cleared outside; names live as long as the comparison */
WICK_API wick_difference wick_comparison_at(const wick_comparison *comparison, int i);
/* the first row that is not WICK_SAME; -1: none */
WICK_API int wick_comparison_first(const wick_comparison *comparison);
/* A table, one row a line; works like snprintf. */
WICK_API size_t wick_comparison_format(const wick_comparison *comparison, char *buffer, size_t size);

#ifdef __cplusplus
}
#endif
#endif
