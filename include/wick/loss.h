/* wick/loss.h: losses. Formulas and reductions are PyTorch's (torch.nn.functional of the same names) unless said
 * otherwise. f16 and bf16 are computed in f32, and so are the results; other arguments are converted to the dtype of
 * the first. Targets have its shape, or broadcast. Gradients flow to all floats, if not said otherwise. Included by
 * wick/ops.h. */
#ifndef WICK_LOSS_H
#define WICK_LOSS_H

#include "wick/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum wick_reduction {
    WICK_REDUCE_MEAN, /* the default */
    WICK_REDUCE_SUM,
    WICK_REDUCE_NONE,       /* a loss for each place */
    WICK_REDUCE_BATCH_MEAN, /* the sum over the extent of axis 0: what kl_div should take */
    WICK_REDUCTIONS
} wick_reduction;

/* ---- cross-entropy ----------------------------------------------------------------------------------------------- */

typedef struct wick_cross_entropy_options {
    /* the mean is over places, by the weight of their label where there are weights; ignored ones don't count */
    wick_reduction reduction;
    /* in [0, 1]: the target is 1 - smoothing at the label, plus smoothing / C everywhere (Szegedy et al. 2016) */
    double smoothing;
    wick_tensor *weight;      /* [C] by class, or NULL; no gradient flows to it where the target is labels */
    bool ignore;              /* places labelled ignore_index, which may lie outside [0, C), have loss and gradient 0 */
    int64_t ignore_index;     /* unlike PyTorch, nothing is ignored by default */
} wick_cross_entropy_options;
/* logits [N, C], [N, C, dims] or [C]. target: integer labels [N], [N, dims] or 0-d; or floats of the logits' shape, the
 * probabilities of the classes. Losses -sum over c of q[c] weight[c] log softmax(logits)[c] in the labels' shape, or
 * 0-d reduced. A label that is no class is a run-time error (WICK_ERR_INDEX). options NULL: the defaults. */
WICK_API wick_tensor *wick_cross_entropy_with(wick_tensor *logits, wick_tensor *target,
                                              const wick_cross_entropy_options *options);
/* The same by default: the mean, 0-d. */
WICK_API wick_tensor *wick_cross_entropy(wick_tensor *logits, wick_tensor *labels);
/* One loss for each place: [N] of logits [N, C]. */
WICK_API wick_tensor *wick_cross_entropy_rows(wick_tensor *logits, wick_tensor *labels);

/* The weighted negative log-likelihood of labels, -weight[label] log_p[label], by the same shapes and options without
 * smoothing; log_p are logarithms of probabilities, as of wick_log_softmax. */
WICK_API wick_tensor *wick_nll_loss(wick_tensor *log_p, wick_tensor *labels, const wick_cross_entropy_options *options);
/* Of logits [N, C] and labels [N]: weight[label] sum over the other classes c of max(0, margin - x[label] + x[c])^p,
 * over C. p is 1 or 2; weight [C] or NULL. */
WICK_API wick_tensor *wick_multi_margin_loss(wick_tensor *logits, wick_tensor *labels, int p, double margin,
                                             wick_tensor *weight, wick_reduction reduction);

/* ---- distances --------------------------------------------------------------------------------------------------- */

WICK_API wick_tensor *wick_mse(wick_tensor *prediction, wick_tensor *target); /* mean((p - t)^2), 0-d */
WICK_API wick_tensor *wick_mse_loss(wick_tensor *prediction, wick_tensor *target, wick_reduction reduction);
/* |p - t| */
WICK_API wick_tensor *wick_l1_loss(wick_tensor *prediction, wick_tensor *target, wick_reduction reduction);
/* d^2 / 2 for a difference |d| < delta, else delta (|d| - delta / 2) (Huber 1964). */
WICK_API wick_tensor *wick_huber_loss(wick_tensor *prediction, wick_tensor *target, double delta,
                                      wick_reduction reduction);
/* Huber's with beta, over beta; of beta 0 |d|. */
WICK_API wick_tensor *wick_smooth_l1_loss(wick_tensor *prediction, wick_tensor *target, double beta,
                                          wick_reduction reduction);

/* ---- probabilities ----------------------------------------------------------------------------------------------- */

/* -weight (t log p + (1 - t) log(1 - p)), logarithms from -100, for p and t in [0, 1] of one shape. weight broadcasts,
 * or is NULL. */
WICK_API wick_tensor *wick_binary_cross_entropy(wick_tensor *p, wick_tensor *target, wick_tensor *weight,
                                                wick_reduction reduction);
/* The same of p = sigmoid(logits), without overflow; pos_weight (or NULL) multiplies the part of t. */
WICK_API wick_tensor *wick_binary_cross_entropy_logits(wick_tensor *logits, wick_tensor *target, wick_tensor *weight,
                                                       wick_tensor *pos_weight, wick_reduction reduction);
/* The mean of that over the last axis, the classes; weight [C] or NULL. */
WICK_API wick_tensor *wick_multilabel_soft_margin_loss(wick_tensor *logits, wick_tensor *target, wick_tensor *weight,
                                                       wick_reduction reduction);
/* That times (1 - p_t)^gamma, p_t being the probability of what is right, and alpha where t is 1, 1 - alpha where it is
 * 0; alpha below 0: neither (Lin et al. 2017; they take 0.25 and 2). */
WICK_API wick_tensor *wick_focal_loss(wick_tensor *logits, wick_tensor *target, double alpha, double gamma,
                                      wick_reduction reduction);
/* t (log t - log_p), 0 where t is 0; log_target: target is log t. */
WICK_API wick_tensor *wick_kl_div(wick_tensor *log_p, wick_tensor *target, bool log_target, wick_reduction reduction);
typedef struct wick_poisson_options {
    wick_reduction reduction;
    /* rate is the rate itself and the loss rate - t log(rate + eps); otherwise its logarithm: exp(rate) - t rate */
    bool plain_rate;
    bool full;       /* add Stirling's log t!, for t above 1 */
    double eps;      /* 0: 10^-8 */
} wick_poisson_options;
/* NULL: the defaults */
WICK_API wick_tensor *wick_poisson_nll_loss(wick_tensor *rate, wick_tensor *target,
                                            const wick_poisson_options *options);
typedef struct wick_gaussian_options {
    wick_reduction reduction;
    bool full;  /* add log(2 pi) / 2 */
    double eps; /* the least variance; 0: 10^-6 */
} wick_gaussian_options;
/* (log v + (mean - target)^2 / v) / 2; v is variance, raised to eps; its gradient is as if it were not. */
WICK_API wick_tensor *wick_gaussian_nll_loss(wick_tensor *mean, wick_tensor *target, wick_tensor *variance,
                                             const wick_gaussian_options *options);

/* ---- margins: y is 1 or -1 --------------------------------------------------------------------------------------- */

/* max(0, margin - y (a - b)) */
WICK_API wick_tensor *wick_margin_ranking_loss(wick_tensor *a, wick_tensor *b, wick_tensor *y, double margin,
                                               wick_reduction reduction);
/* x, or max(0, margin - x) */
WICK_API wick_tensor *wick_hinge_embedding_loss(wick_tensor *x, wick_tensor *y, double margin,
                                                wick_reduction reduction);
/* log(1 + exp(-y x)) */
WICK_API wick_tensor *wick_soft_margin_loss(wick_tensor *x, wick_tensor *y, wick_reduction reduction);
/* Of the cosine c of a and b over the last axis: 1 - c, or max(0, c - margin); y has one dim less. */
WICK_API wick_tensor *wick_cosine_embedding_loss(wick_tensor *a, wick_tensor *b, wick_tensor *y, double margin,
                                                 wick_reduction reduction);
typedef struct wick_triplet_options {
    wick_reduction reduction;
    double margin, p, eps; /* 0: 1, 2, 10^-6 */
    /* the far distance is the smaller one of those from the anchor and from the same (Balntas et al. 2016) */
    bool swap;
} wick_triplet_options;
/* max(0, margin + |anchor - same| - |anchor - other|), p-norms of differences + eps over the last axis. options NULL:
 * the defaults. */
WICK_API wick_tensor *wick_triplet_margin_loss(wick_tensor *anchor, wick_tensor *same, wick_tensor *other,
                                               const wick_triplet_options *options);

/* ---- overlap ----------------------------------------------------------------------------------------------------- */

/* 1 - (2 sum p t + smooth) / (sum p + sum t + smooth) over all axes but the first two of [N, C, ...]: one for each
 * sample and class (Milletari et al. 2016). smooth above 0 makes it defined where both are empty. */
WICK_API wick_tensor *wick_dice_loss(wick_tensor *p, wick_tensor *target, double smooth, wick_reduction reduction);

#ifdef __cplusplus
}
#endif

#ifndef WICK_NO_SITES
/* clang-format off */
#define wick_cross_entropy_with(...) WICK_TENSOR_HERE(wick_cross_entropy_with(__VA_ARGS__))
#define wick_cross_entropy(...) WICK_TENSOR_HERE(wick_cross_entropy(__VA_ARGS__))
#define wick_cross_entropy_rows(...) WICK_TENSOR_HERE(wick_cross_entropy_rows(__VA_ARGS__))
#define wick_nll_loss(...) WICK_TENSOR_HERE(wick_nll_loss(__VA_ARGS__))
#define wick_multi_margin_loss(...) WICK_TENSOR_HERE(wick_multi_margin_loss(__VA_ARGS__))
#define wick_mse_loss(...) WICK_TENSOR_HERE(wick_mse_loss(__VA_ARGS__))
#define wick_l1_loss(...) WICK_TENSOR_HERE(wick_l1_loss(__VA_ARGS__))
#define wick_huber_loss(...) WICK_TENSOR_HERE(wick_huber_loss(__VA_ARGS__))
#define wick_smooth_l1_loss(...) WICK_TENSOR_HERE(wick_smooth_l1_loss(__VA_ARGS__))
#define wick_binary_cross_entropy(...) WICK_TENSOR_HERE(wick_binary_cross_entropy(__VA_ARGS__))
#define wick_binary_cross_entropy_logits(...) WICK_TENSOR_HERE(wick_binary_cross_entropy_logits(__VA_ARGS__))
#define wick_multilabel_soft_margin_loss(...) WICK_TENSOR_HERE(wick_multilabel_soft_margin_loss(__VA_ARGS__))
#define wick_focal_loss(...) WICK_TENSOR_HERE(wick_focal_loss(__VA_ARGS__))
#define wick_kl_div(...) WICK_TENSOR_HERE(wick_kl_div(__VA_ARGS__))
#define wick_poisson_nll_loss(...) WICK_TENSOR_HERE(wick_poisson_nll_loss(__VA_ARGS__))
#define wick_gaussian_nll_loss(...) WICK_TENSOR_HERE(wick_gaussian_nll_loss(__VA_ARGS__))
#define wick_margin_ranking_loss(...) WICK_TENSOR_HERE(wick_margin_ranking_loss(__VA_ARGS__))
#define wick_hinge_embedding_loss(...) WICK_TENSOR_HERE(wick_hinge_embedding_loss(__VA_ARGS__))
#define wick_soft_margin_loss(...) WICK_TENSOR_HERE(wick_soft_margin_loss(__VA_ARGS__))
#define wick_cosine_embedding_loss(...) WICK_TENSOR_HERE(wick_cosine_embedding_loss(__VA_ARGS__))
#define wick_triplet_margin_loss(...) WICK_TENSOR_HERE(wick_triplet_margin_loss(__VA_ARGS__))
#define wick_dice_loss(...) WICK_TENSOR_HERE(wick_dice_loss(__VA_ARGS__))
#define wick_mse(...) WICK_TENSOR_HERE(wick_mse(__VA_ARGS__))
/* clang-format on */
#endif
#endif
