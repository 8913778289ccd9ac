/* ops_training.c: gradients and steps of optimizers as nodes (ai.onnx.preview.training). */
#define WICK_NO_SITES
#include <math.h>

#include "io/onnx/onnx.h"
#include "wick/pointwise.h"

/* The value of that name in the block around the call. */
static const onnx_value *named(const onnx_call *c, wick_bytes name) {
    const onnx_block *b = c->frame->block;
    for (size_t i = 0; i < b->n && &b->steps[i] != c->step; i++)
        for (int k = 0; k < b->steps[i].n_out; k++)
            if (b->steps[i].out[k] >= 0 && wick_bytes_equal(b->steps[i].node->out.at[k], name))
                return &c->frame->slots[b->steps[i].out[k]];
    return NULL;
}

/* d sum(y) / d xs: inputs are xs, then what else y is made of. */
static void gradient(onnx_call *c) {
    const onnx_attr *xs = wick_onnx_attr(c, "xs");
    const onnx_value *y = named(c, wick_onnx_text(c, "y", ""));
    if (!xs || (int)xs->strings.n > c->n_in || !y || y->v.kind != WICK_VALUE_TENSOR) {
        wick_onnx_fail(c, WICK_ERR_FORMAT, "xs are not its inputs, or y is no tensor made before it");
        return;
    }
    const int n = (int)WICK_MIN(xs->strings.n, (size_t)c->n_in);
    wick_tensor **x = wick_onnx_alloc(c, (size_t)n, sizeof(wick_tensor *)),
                **g = x ? wick_onnx_alloc(c, (size_t)n, sizeof(wick_tensor *)) : NULL;
    for (int i = 0; i < n && g; i++)
        if (!(x[i] = wick_onnx_tensor(c, i))) return;
    if (!g) return;
    wick_grad(wick_sum(y->v.tensor, WICK_ALL_AXES, false), n, x, g);
    for (int i = 0; i < n; i++) wick_onnx_set(c, i, g[i]);
}

static wick_tensor *times(wick_tensor *x, double by) { return wick_mul(x, wick_like(x, by)); }

/* Inputs: rate, step, then `parts` lists of n tensors: X, G and states. */
static int parameters(onnx_call *c, int parts) {
    const int n = (c->n_in - 2) / parts;
    if (c->n_in < 2 || (c->n_in - 2) % parts)
        return wick_onnx_fail(c, WICK_ERR_FORMAT, "has %d inputs, not 2 and a multiple of %d", c->n_in, parts), 0;
    for (int i = 0; i < c->n_in; i++)
        if (!wick_onnx_tensor(c, i)) return 0;
    return n;
}

static wick_tensor *regularised(onnx_call *c, wick_tensor *g, wick_tensor *x) {
    return wick_add(times(x, wick_onnx_float(c, "norm_coefficient", 0)), g);
}

static void adam(onnx_call *c) {
    const int n = parameters(c, 4);
    const double alpha = wick_onnx_float(c, "alpha", 0.9f), beta = wick_onnx_float(c, "beta", 0.999f),
                 eps = wick_onnx_float(c, "epsilon", 1e-6f), post = wick_onnx_float(c, "norm_coefficient_post", 0);
    for (int i = 0; i < n; i++) {
        wick_tensor *rate = c->in[0]->v.tensor, *x = c->in[2 + i]->v.tensor,
                    *g = regularised(c, c->in[2 + n + i]->v.tensor, x), *v = c->in[2 + 2 * n + i]->v.tensor,
                    *h = c->in[2 + 3 * n + i]->v.tensor;
        wick_tensor *t = wick_cast(c->in[1]->v.tensor, WICK_F64), *one = wick_constant(c->ctx, WICK_F64, 1);
        v = wick_add(times(v, alpha), times(g, 1 - alpha));
        h = wick_add(times(h, beta), times(wick_square(g), 1 - beta));
        wick_tensor *corrected = wick_div(wick_sqrt(wick_sub(one, wick_pow(wick_constant(c->ctx, WICK_F64, beta), t))),
                                          wick_sub(one, wick_pow(wick_constant(c->ctx, WICK_F64, alpha), t)));
        /* before the first update nothing is corrected */
        wick_tensor *first = wick_eq(t, wick_constant(c->ctx, WICK_F64, 0));
        wick_tensor *step = wick_mul(wick_cast(rate, WICK_F64), wick_where(first, one, corrected));
        x = wick_sub(
            x, wick_mul(wick_cast(step, wick_tensor_dtype(x)), wick_div(v, wick_add(wick_sqrt(h), wick_like(h, eps)))));
        wick_onnx_set(c, i, times(x, 1 - post));
        wick_onnx_set(c, n + i, v);
        wick_onnx_set(c, 2 * n + i, h);
    }
}

static void adagrad(onnx_call *c) {
    const int n = parameters(c, 3);
    const double decay = wick_onnx_float(c, "decay_factor", 0), eps = wick_onnx_float(c, "epsilon", 1e-6f);
    for (int i = 0; i < n; i++) {
        wick_tensor *rate = c->in[0]->v.tensor, *x = c->in[2 + i]->v.tensor,
                    *g = regularised(c, c->in[2 + n + i]->v.tensor, x), *h = c->in[2 + 2 * n + i]->v.tensor;
        wick_tensor *t = wick_cast(c->in[1]->v.tensor, wick_tensor_dtype(rate));
        rate = wick_div(rate, wick_add(times(t, decay), wick_like(t, 1)));
        h = wick_add(h, wick_square(g));
        wick_onnx_set(c, i, wick_sub(x, wick_div(wick_mul(rate, g), wick_add(wick_sqrt(h), wick_like(h, eps)))));
        wick_onnx_set(c, n + i, h);
    }
}

static void momentum(onnx_call *c) {
    const int n = parameters(c, 3);
    const double alpha = wick_onnx_float(c, "alpha", 0), beta = wick_onnx_float(c, "beta", 0);
    const bool nesterov = wick_onnx_text_is(c, "mode", "standard", "nesterov");
    for (int i = 0; i < n; i++) {
        wick_tensor *rate = c->in[0]->v.tensor, *x = c->in[2 + i]->v.tensor,
                    *g = regularised(c, c->in[2 + n + i]->v.tensor, x), *v = c->in[2 + 2 * n + i]->v.tensor,
                    *t = c->in[1]->v.tensor;
        wick_tensor *share = wick_where(wick_gt(t, wick_like(t, 0)), wick_like(x, beta), wick_like(x, 1));
        v = wick_add(times(v, alpha), wick_mul(share, g));
        wick_onnx_set(c, i, wick_sub(x, wick_mul(rate, nesterov ? wick_add(g, times(v, alpha)) : v)));
        wick_onnx_set(c, n + i, v);
    }
}

static const onnx_op ops[] = {{"Gradient", 1, 0, gradient, {0}},
                              {"Adam", 1, 0, adam, {0}},
                              {"Adagrad", 1, 0, adagrad, {0}},
                              {"Momentum", 1, 0, momentum, {0}}};
const onnx_family wick_onnx_training = {"ai.onnx.preview.training", ops, WICK_COUNTOF(ops)};
