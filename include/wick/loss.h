/* wick/loss.h: losses. Formulas and reductions are PyTorch's (torch.nn.functional of the same names) unless said otherwise. f16 and bf16 are
 * computed in f32. Included by wick/ops.h. */
#ifndef WICK_LOSS_H
#define WICK_LOSS_H

#include "wick/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum wick_reduction {
    WICK_REDUCE_MEAN, /* the default */
    WICK_REDUCE_SUM,
    WICK_REDUCE_NONE  /* a loss for each place */
} wick_reduction;

/* ---- cross-entropy -------------------------------------------------------------------------------------------------------------- */

typedef struct wick_cross_entropy_options {
    wick_reduction reduction; /* the mean is over places, by the weight of their label where there are weights; ignored ones don't count */
    double smoothing;         /* in [0, 1]: the target is 1 - smoothing at the label, plus smoothing / C everywhere (Szegedy et al. 2016) */
    wick_tensor *weight;      /* [C] by class, or NULL; no gradient flows to it where the target is labels */
    bool ignore;              /* places labelled ignore_index, which may lie outside [0, C), have loss and gradient 0 */
    int64_t ignore_index;     /* unlike PyTorch, nothing is ignored by default */
} wick_cross_entropy_options;
/* logits [N, C], [N, C, dims] or [C]. target: integer labels [N], [N, dims] or 0-d; or floats of the logits' shape, the probabilities of the
 * classes. Losses -sum over c of q[c] weight[c] log softmax(logits)[c] in the labels' shape, or 0-d reduced. A label that is no class is a
 * run-time error (WICK_ERR_INDEX). options NULL: the defaults. */
WICK_API wick_tensor *wick_cross_entropy_with(wick_tensor *logits, wick_tensor *target, const wick_cross_entropy_options *options);
/* The same by default: the mean, 0-d. */
WICK_API wick_tensor *wick_cross_entropy(wick_tensor *logits, wick_tensor *labels);
/* One loss for each place: [N] of logits [N, C]. */
WICK_API wick_tensor *wick_cross_entropy_rows(wick_tensor *logits, wick_tensor *labels);

/* ---- distances ------------------------------------------------------------------------------------------------------------------ */

WICK_API wick_tensor *wick_mse(wick_tensor *prediction, wick_tensor *target); /* mean((p - t)^2), 0-d */

#ifdef __cplusplus
}
#endif

#ifndef WICK_NO_SITES
/* clang-format off */
#define wick_cross_entropy_with(...) WICK_TENSOR_HERE(wick_cross_entropy_with(__VA_ARGS__))
#define wick_cross_entropy(...) WICK_TENSOR_HERE(wick_cross_entropy(__VA_ARGS__))
#define wick_cross_entropy_rows(...) WICK_TENSOR_HERE(wick_cross_entropy_rows(__VA_ARGS__))
#define wick_mse(...) WICK_TENSOR_HERE(wick_mse(__VA_ARGS__))
/* clang-format on */
#endif
#endif
