/* loss.c: losses that are compositions of other ops. Each is computed for every place, then reduced. */
#include "ops/ops.h"
#include "wick/ops.h"

static wick_tensor *times(wick_tensor *x, double factor) { return wick_mul(x, wick_like(x, factor)); }
static wick_tensor *plus(wick_tensor *x, double term) { return wick_add(x, wick_like(x, term)); }
static wick_tensor *less_from(double a, wick_tensor *x) { return wick_sub(wick_like(x, a), x); } /* a - x */
static wick_tensor *positive(wick_tensor *x) { return wick_relu(x); }

wick_tensor *wick_reduced(wick_tensor *losses, wick_reduction reduction, const char *op) {
    if (!losses || losses->error || reduction == WICK_REDUCE_NONE) return losses;
    if ((unsigned)reduction >= WICK_REDUCTIONS)
        return wick_poison(losses->ctx, WICK_ERR_INVALID, "%s: no such reduction", op);
    if (reduction == WICK_REDUCE_MEAN) return wick_mean(losses, WICK_ALL_AXES, false);
    wick_tensor *sum = wick_sum(losses, WICK_ALL_AXES, false);
    if (reduction == WICK_REDUCE_SUM) return sum;
    if (!wick_tensor_rank(losses))
        return wick_poison(losses->ctx, WICK_ERR_SHAPE, "%s: one number has no batch to take the mean over", op);
    return times(sum, 1 / (double)wick_tensor_dim(losses, 0));
}

/* Puts all tensors into the dtype of the first, f32 for 16-bit floats; NULL stays where it may. What is wrong with one,
 * or NULL. */
static wick_tensor *prepare(const char *op, int needed, int n, wick_tensor **x) {
    wick_context *ctx = NULL;
    for (int i = 0; i < n && !ctx; i++) ctx = x[i] ? x[i]->ctx : NULL;
    for (int i = 0; i < n; i++) {
        if (!x[i] && i < needed && ctx) return wick_poison(ctx, WICK_ERR_INVALID, "%s: tensor %d is NULL", op, i);
        if (x[i] && x[i]->error) return x[i];
    }
    if (!ctx) return NULL; /* all are NULL, and so is the result */
    wick_dtype dtype = wick_tensor_dtype(x[0]);
    if (!wick_dtype_is_float(dtype))
        return wick_poison(ctx, WICK_ERR_DTYPE, "%s: takes floats, not %s", op, wick_dtype_name(dtype));
    if (dtype == WICK_F16 || dtype == WICK_BF16) dtype = WICK_F32;
    for (int i = 0; i < n; i++)
        if (x[i] && (x[i] = wick_as(x[i], dtype))->error) return x[i];
    return NULL;
}
#define PREPARE(op, needed, ...)                                             \
    wick_tensor *in[] = {__VA_ARGS__};                                       \
    wick_tensor *wrong = prepare(op, needed, (int)WICK_COUNTOF(in), in);     \
    if (wrong || !in[0]) return wrong

/* ---- distances --------------------------------------------------------------------------------------------------- */

wick_tensor *wick_mse(wick_tensor *prediction, wick_tensor *target) {
    return wick_mean(wick_square(wick_sub(prediction, target)), WICK_ALL_AXES, false);
}
wick_tensor *wick_mse_loss(wick_tensor *prediction, wick_tensor *target, wick_reduction reduction) {
    PREPARE("mse_loss", 2, prediction, target);
    return wick_reduced(wick_square(wick_sub(in[0], in[1])), reduction, "mse_loss");
}
wick_tensor *wick_l1_loss(wick_tensor *prediction, wick_tensor *target, wick_reduction reduction) {
    PREPARE("l1_loss", 2, prediction, target);
    return wick_reduced(wick_abs(wick_sub(in[0], in[1])), reduction, "l1_loss");
}
/* d^2 / 2 below the bound, then a line of slope `bound`. */
static wick_tensor *huber(wick_tensor *difference, double bound) {
    wick_tensor *size = wick_abs(difference), *line = times(plus(size, -0.5 * bound), bound);
    return wick_where(wick_lt(size, wick_like(size, bound)), times(wick_square(difference), 0.5), line);
}
wick_tensor *wick_huber_loss(wick_tensor *prediction, wick_tensor *target, double delta, wick_reduction reduction) {
    PREPARE("huber_loss", 2, prediction, target);
    if (!(delta > 0)) return wick_poison(in[0]->ctx, WICK_ERR_INVALID, "huber_loss: delta %g is not above 0", delta);
    return wick_reduced(huber(wick_sub(in[0], in[1]), delta), reduction, "huber_loss");
}
wick_tensor *wick_smooth_l1_loss(wick_tensor *prediction, wick_tensor *target, double beta, wick_reduction reduction) {
    PREPARE("smooth_l1_loss", 2, prediction, target);
    if (!(beta >= 0)) return wick_poison(in[0]->ctx, WICK_ERR_INVALID, "smooth_l1_loss: beta %g is negative", beta);
    wick_tensor *difference = wick_sub(in[0], in[1]);
    return wick_reduced(beta == 0 ? wick_abs(difference) : times(huber(difference, beta), 1 / beta), reduction,
                        "smooth_l1_loss");
}

/* ---- probabilities ----------------------------------------------------------------------------------------------- */

/* Of xs p and target: (p - t) / max(p (1 - p), 1e-12), and log(1 - p) - log p, logarithms from -100. */
static wick_tensor *bounded_log(wick_tensor *x) { return wick_maximum(x, wick_like(x, -100)); }
static void grad_bce(void *user, wick_tensor *g, wick_tensor *y, int n, wick_tensor *const *xs, wick_tensor **gx) {
    (void)user, (void)y, (void)n;
    wick_tensor *p = xs[0], *t = xs[1], *width = wick_mul(p, less_from(1, p));
    gx[0] = wick_mul(g, wick_div(wick_sub(p, t), wick_maximum(width, wick_like(p, 1e-12))));
    gx[1] = wick_mul(g, wick_sub(bounded_log(wick_log1p(wick_neg(p))), bounded_log(wick_log(p))));
}
wick_tensor *wick_binary_cross_entropy(wick_tensor *p, wick_tensor *target, wick_tensor *weight,
                                       wick_reduction reduction) {
    PREPARE("binary_cross_entropy", 2, p, target, weight);
    if (!wick_same_dims(&in[0]->value->type, &in[1]->value->type))
        return wick_poison(in[0]->ctx, WICK_ERR_SHAPE, "binary_cross_entropy: p and target must be of one shape");
    wick_tensor *of_one = wick_mul(in[1], bounded_log(wick_log(in[0])));
    wick_tensor *of_zero = wick_mul(less_from(1, in[1]), bounded_log(wick_log1p(wick_neg(in[0]))));
    wick_tensor *loss = wick_custom_gradient(wick_neg(wick_add(of_one, of_zero)), 2, in, grad_bce, NULL);
    return wick_reduced(weight ? wick_mul(loss, in[2]) : loss, reduction, "binary_cross_entropy");
}
/* (1 - t) x + (1 + (pos_weight - 1) t) log(1 + exp(-x)) */
static wick_tensor *bce_logits(wick_tensor *x, wick_tensor *t, wick_tensor *pos_weight) {
    wick_tensor *log = wick_softplus(wick_neg(x));
    if (pos_weight) log = wick_mul(plus(wick_mul(plus(pos_weight, -1), t), 1), log);
    return wick_add(wick_mul(less_from(1, t), x), log);
}
wick_tensor *wick_binary_cross_entropy_logits(wick_tensor *logits, wick_tensor *target, wick_tensor *weight,
                                              wick_tensor *pos_weight, wick_reduction reduction) {
    PREPARE("binary_cross_entropy_logits", 2, logits, target, weight, pos_weight);
    wick_tensor *loss = bce_logits(in[0], in[1], in[3]);
    return wick_reduced(weight ? wick_mul(loss, in[2]) : loss, reduction, "binary_cross_entropy_logits");
}
wick_tensor *wick_multilabel_soft_margin_loss(wick_tensor *logits, wick_tensor *target, wick_tensor *weight,
                                              wick_reduction reduction) {
    PREPARE("multilabel_soft_margin_loss", 2, logits, target, weight);
    wick_tensor *loss = bce_logits(in[0], in[1], NULL);
    if (weight) loss = wick_mul(loss, in[2]);
    return wick_reduced(wick_mean(loss, WICK_AXES(-1), false), reduction, "multilabel_soft_margin_loss");
}
/* Lin et al. 2017, as torchvision's sigmoid_focal_loss. */
wick_tensor *wick_focal_loss(wick_tensor *logits, wick_tensor *target, double alpha, double gamma,
                             wick_reduction reduction) {
    PREPARE("focal_loss", 2, logits, target);
    wick_tensor *x = in[0], *t = in[1], *p = wick_sigmoid(x);
    /* 1 - p t - (1 - p) (1 - t), from the sigmoid of -x, which is exact where p is near 1 */
    wick_tensor *missed = wick_add(wick_mul(p, less_from(1, t)), wick_mul(wick_sigmoid(wick_neg(x)), t));
    wick_tensor *loss = wick_mul(bce_logits(x, t, NULL), wick_pow(missed, wick_like(missed, gamma)));
    if (alpha >= 0) loss = wick_mul(loss, plus(times(t, 2 * alpha - 1), 1 - alpha));
    return wick_reduced(loss, reduction, "focal_loss");
}
wick_tensor *wick_kl_div(wick_tensor *log_p, wick_tensor *target, bool log_target, wick_reduction reduction) {
    PREPARE("kl_div", 2, log_p, target);
    wick_tensor *t = in[1];
    if (log_target) return wick_reduced(wick_mul(wick_exp(t), wick_sub(t, in[0])), reduction, "kl_div");
    wick_tensor *some = wick_ne(t, wick_like(t, 0)); /* 0 log 0 is 0 */
    wick_tensor *entropy =
        wick_where(some, wick_mul(t, wick_log(wick_where(some, t, wick_like(t, 1)))), wick_like(t, 0));
    return wick_reduced(wick_sub(entropy, wick_mul(t, in[0])), reduction, "kl_div");
}
wick_tensor *wick_poisson_nll_loss(wick_tensor *rate, wick_tensor *target, const wick_poisson_options *options) {
    const wick_poisson_options o = options ? *options : (wick_poisson_options){0};
    PREPARE("poisson_nll_loss", 2, rate, target);
    wick_tensor *x = in[0], *t = in[1], *loss;
    if (o.plain_rate)
        loss = wick_sub(x, wick_mul(t, wick_log(plus(x, o.eps == 0 ? 1e-8 : o.eps))));
    else
        loss = wick_sub(wick_exp(x), wick_mul(t, x));
    if (o.full) { /* Stirling's formula for log t!, of t above 1 */
        wick_tensor *above = wick_gt(t, wick_like(t, 1)), *safe = wick_where(above, t, wick_like(t, 1));
        wick_tensor *factorial = wick_add(wick_sub(wick_mul(safe, wick_log(safe)), safe),
                                          times(wick_log(times(safe, 6.28318530717958647692)), 0.5));
        loss = wick_add(loss, wick_where(above, factorial, wick_like(t, 0)));
    }
    return wick_reduced(loss, o.reduction, "poisson_nll_loss");
}
wick_tensor *wick_gaussian_nll_loss(wick_tensor *mean, wick_tensor *target, wick_tensor *variance,
                                    const wick_gaussian_options *options) {
    const wick_gaussian_options o = options ? *options : (wick_gaussian_options){0};
    PREPARE("gaussian_nll_loss", 3, mean, target, variance);
    /* As PyTorch's: the bound is no part of the gradient. */
    wick_tensor *v = in[2], *raised = wick_maximum(v, wick_like(v, o.eps == 0 ? 1e-6 : o.eps));
    v = wick_add(v, wick_stop_gradient(wick_sub(raised, v)));
    wick_tensor *loss = times(wick_add(wick_log(v), wick_div(wick_square(wick_sub(in[0], in[1])), v)), 0.5);
    if (o.full) loss = plus(loss, 0.918938533204672741780); /* log(2 pi) / 2 */
    return wick_reduced(loss, o.reduction, "gaussian_nll_loss");
}

/* ---- margins ----------------------------------------------------------------------------------------------------- */

wick_tensor *wick_margin_ranking_loss(wick_tensor *a, wick_tensor *b, wick_tensor *y, double margin,
                                      wick_reduction reduction) {
    PREPARE("margin_ranking_loss", 3, a, b, y);
    return wick_reduced(positive(plus(wick_mul(wick_neg(in[2]), wick_sub(in[0], in[1])), margin)), reduction,
                        "margin_ranking_loss");
}
/* `same` where y is 1, `other` where it is -1, else 0. */
static wick_tensor *by_sign(wick_tensor *y, wick_tensor *same, wick_tensor *other) {
    wick_tensor *zero = wick_like(same, 0);
    return wick_where(wick_eq(y, wick_like(y, 1)), same, wick_where(wick_eq(y, wick_like(y, -1)), other, zero));
}
/* Unlike `other`, `same` counts for every y but -1: PyTorch's hinge. */
wick_tensor *wick_hinge_embedding_loss(wick_tensor *x, wick_tensor *y, double margin, wick_reduction reduction) {
    PREPARE("hinge_embedding_loss", 2, x, y);
    wick_tensor *zero = wick_like(in[0], 0), *one = wick_like(in[1], 1);
    wick_tensor *apart = wick_where(wick_ne(in[1], one), positive(less_from(margin, in[0])), zero);
    wick_tensor *near = wick_where(wick_ne(in[1], wick_neg(one)), in[0], zero);
    return wick_reduced(wick_add(apart, near), reduction, "hinge_embedding_loss");
}
wick_tensor *wick_soft_margin_loss(wick_tensor *x, wick_tensor *y, wick_reduction reduction) {
    PREPARE("soft_margin_loss", 2, x, y);
    return wick_reduced(wick_softplus(wick_neg(wick_mul(in[1], in[0]))), reduction, "soft_margin_loss");
}
static wick_tensor *dot(wick_tensor *a, wick_tensor *b) { return wick_sum(wick_mul(a, b), WICK_AXES(-1), false); }
wick_tensor *wick_cosine_embedding_loss(wick_tensor *a, wick_tensor *b, wick_tensor *y, double margin,
                                        wick_reduction reduction) {
    PREPARE("cosine_embedding_loss", 3, a, b, y);
    wick_tensor *norms = wick_mul(plus(dot(in[0], in[0]), 1e-12), plus(dot(in[1], in[1]), 1e-12));
    wick_tensor *cosine = wick_div(dot(in[0], in[1]), wick_sqrt(norms));
    return wick_reduced(by_sign(in[2], less_from(1, cosine), positive(plus(cosine, -margin))), reduction,
                        "cosine_embedding_loss");
}
/* (sum of |a - b + eps|^p)^(1/p) over the last axis. */
static wick_tensor *distance(wick_tensor *a, wick_tensor *b, double p, double eps) {
    wick_tensor *difference = plus(wick_sub(a, b), eps);
    if (p == 1) return wick_sum(wick_abs(difference), WICK_AXES(-1), false);
    if (p == 2) return wick_sqrt(dot(difference, difference));
    wick_tensor *powers = wick_pow(wick_abs(difference), wick_like(difference, p)),
                *sum = wick_sum(powers, WICK_AXES(-1), false);
    return wick_pow(sum, wick_like(sum, 1 / p));
}
wick_tensor *wick_triplet_margin_loss(wick_tensor *anchor, wick_tensor *same, wick_tensor *other,
                                      const wick_triplet_options *options) {
    wick_triplet_options o = options ? *options : (wick_triplet_options){0};
    PREPARE("triplet_margin_loss", 3, anchor, same, other);
    if (o.margin == 0) o.margin = 1;
    if (o.p == 0) o.p = 2;
    if (o.eps == 0) o.eps = 1e-6;
    if (!(o.margin > 0 && o.p > 0))
        return wick_poison(in[0]->ctx, WICK_ERR_INVALID, "triplet_margin_loss: margin and p must be above 0");
    wick_tensor *near = distance(in[0], in[1], o.p, o.eps), *far = distance(in[0], in[2], o.p, o.eps);
    if (o.swap) far = wick_minimum(far, distance(in[1], in[2], o.p, o.eps));
    return wick_reduced(positive(plus(wick_sub(near, far), o.margin)), o.reduction, "triplet_margin_loss");
}

/* Milletari et al. 2016: 1 - (2 sum p t + smooth) / (sum p + sum t + smooth), for each sample and class. */
wick_tensor *wick_dice_loss(wick_tensor *p, wick_tensor *target, double smooth, wick_reduction reduction) {
    PREPARE("dice_loss", 2, p, target);
    int axes[WICK_MAX_DIMS];
    const int rank = wick_tensor_rank(in[0]);
    if (rank < 3)
        return wick_poison(in[0]->ctx, WICK_ERR_SHAPE, "dice_loss: p has %d dims; [N, C, ...] is at least 3", rank);
    for (int i = 2; i < rank; i++) axes[i - 2] = i;
    wick_tensor *both = wick_sum(wick_mul(in[0], in[1]), rank - 2, axes, false),
                *all = wick_sum(wick_add(in[0], in[1]), rank - 2, axes, false);
    return wick_reduced(less_from(1, wick_div(plus(times(both, 2), smooth), plus(all, smooth))), reduction,
                        "dice_loss");
}
