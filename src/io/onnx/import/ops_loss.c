/* ops_loss.c: losses. */
#define WICK_NO_SITES
#include "io/onnx/onnx.h"
#include "wick/index.h"
#include "wick/loss.h"
#include "wick/pointwise.h"

/* -log_p at the targets, weighed, without those ignored. log_p [N, C, ...]. */
static void nll(onnx_call *c, wick_tensor *log_p, int target_at, int weight_at) {
    wick_tensor *target = log_p ? wick_onnx_tensor(c, target_at) : NULL, *weight = wick_onnx_optional(c, weight_at);
    if (!target) return;
    const bool ignores = wick_onnx_attr(c, "ignore_index");
    const int64_t ignore = wick_onnx_int(c, "ignore_index", 0);
    wick_tensor *t = wick_cast(target, WICK_I64), *kept = NULL;
    if (ignores) {
        kept = wick_ne(t, wick_like(t, (double)ignore));
        t = wick_where(kept, t, wick_like(t, 0));
    }
    wick_tensor *picked = wick_squeeze(wick_take_along_axis(log_p, 1, wick_unsqueeze(t, 1)), 1),
                *loss = wick_neg(picked), *w = NULL;
    if (weight) w = wick_gather(weight, 0, t);
    if (kept) w = w ? wick_where(kept, w, wick_like(w, 0)) : wick_cast(kept, wick_tensor_dtype(log_p));
    if (w) loss = wick_where(wick_eq(w, wick_like(w, 0)), wick_like(loss, 0), wick_mul(loss, w));
    const wick_bytes how = wick_onnx_text(c, "reduction", "mean");
    if (wick_bytes_are(how, "mean"))
        loss = w ? wick_div(wick_sum(loss, WICK_ALL_AXES, false), wick_sum(w, WICK_ALL_AXES, false))
                 : wick_mean(loss, WICK_ALL_AXES, false);
    else if (wick_bytes_are(how, "sum")) loss = wick_sum(loss, WICK_ALL_AXES, false);
    else if (!wick_bytes_are(how, "none")) {
        wick_onnx_fail(c, WICK_ERR_FORMAT, "reduction \"%.*s\"", (int)WICK_MIN(how.size, (size_t)40), how.at);
        return;
    }
    wick_onnx_set(c, 0, loss);
}

static void nll_loss(onnx_call *c) { nll(c, wick_onnx_tensor(c, 0), 1, 2); }
static void softmax_cross_entropy(onnx_call *c) {
    wick_tensor *x = wick_onnx_tensor(c, 0), *log_p = x ? wick_log_softmax(x, 1) : NULL;
    wick_onnx_set(c, 1, log_p);
    nll(c, log_p, 1, 2);
}

static const onnx_op ops[] = {
    {"NegativeLogLikelihoodLoss", 12, 0, nll_loss, {0}},
    {"SoftmaxCrossEntropyLoss", 12, 0, softmax_cross_entropy, {0}},
};
const onnx_family wick_onnx_loss = {"", ops, WICK_COUNTOF(ops)};
