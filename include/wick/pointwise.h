/* wick/pointwise.h: elementwise functions with numbers, made of the rows in wick/elementwise.h: they fuse with what is
 * around them. The numbers are constants of the plan. x of any dtype; but for clip and threshold, integers and bools
 * count as f32. Names and formulas are PyTorch's (torch.nn.functional) unless said otherwise. */
#ifndef WICK_POINTWISE_H
#define WICK_POINTWISE_H

#include "wick/elementwise.h"

#ifdef __cplusplus
extern "C" {
#endif

/* x held to at least lo and at most hi; -INFINITY, INFINITY: no bound. NaN stays; lo above hi gives hi. Integers stay
 * integers where the bounds are whole numbers. wick_clamp takes tensors as bounds. */
WICK_API wick_tensor *wick_clip(wick_tensor *x, double lo, double hi);
/* value where x <= threshold, else x; NaN stays */
WICK_API wick_tensor *wick_threshold(wick_tensor *x, double threshold, double value);

/* ---- activations ------------------------------------------------------------------------------------------------- */

/* x where positive, else slope x (PyTorch: 0.01) */
WICK_API wick_tensor *wick_leaky_relu(wick_tensor *x, double slope);
WICK_API wick_tensor *wick_elu(wick_tensor *x, double alpha);        /* x where positive, else alpha (exp(x) - 1) */
/* x where positive, else alpha (exp(x / alpha) - 1); alpha not 0 */
WICK_API wick_tensor *wick_celu(wick_tensor *x, double alpha);
WICK_API wick_tensor *wick_softplus_beta(wick_tensor *x, double beta); /* log(1 + exp(beta x)) / beta; beta not 0 */
/* x moved towards 0 by lambda >= 0, to 0 within */
WICK_API wick_tensor *wick_softshrink(wick_tensor *x, double lambda);
WICK_API wick_tensor *wick_hardshrink(wick_tensor *x, double lambda); /* x, 0 where |x| <= lambda */
WICK_API wick_tensor *wick_tanhshrink(wick_tensor *x);                /* x - tanh(x) */
/* a sigmoid(b), a and b the halves of x along the axis, whose extent is even (Dauphin and others 2017). */
WICK_API wick_tensor *wick_glu(wick_tensor *x, int axis);

/* ---- the rest ---------------------------------------------------------------------------------------------------- */

/* log(p / (1 - p)), p = x held to [eps, 1 - eps]; eps < 0: x as it is */
WICK_API wick_tensor *wick_logit(wick_tensor *x, double eps);
/* NaN, Inf and -Inf replaced by these numbers. Integers have none. */
WICK_API wick_tensor *wick_nan_to_num(wick_tensor *x, double nan, double positive, double negative);
WICK_API wick_tensor *wick_addcmul(wick_tensor *x, wick_tensor *a, wick_tensor *b, double value); /* x + value a b */
WICK_API wick_tensor *wick_addcdiv(wick_tensor *x, wick_tensor *a, wick_tensor *b, double value); /* x + value a / b */
/* bool: |a - b| <= atol + rtol |b|; Infs of one sign are close, NaN is close to nothing. (PyTorch: rtol 1e-5, atol
 * 1e-8) */
WICK_API wick_tensor *wick_isclose(wick_tensor *a, wick_tensor *b, double rtol, double atol);

/* sin(pi x) / (pi x), and 1 at 0 */
WICK_API wick_tensor *wick_sinc(wick_tensor *x);
/* 0 below 0, 1 above, value at 0, in x's dtype (integers: if value is whole, else f32); NaN stays. No gradient. */
WICK_API wick_tensor *wick_heaviside(wick_tensor *x, double value);
WICK_API wick_tensor *wick_softmin(wick_tensor *x, int axis); /* wick_softmax of -x */

#ifdef __cplusplus
}
#endif
#ifndef WICK_NO_SITES /* errors name the caller's line */
#define wick_clip(...) WICK_TENSOR_HERE(wick_clip(__VA_ARGS__))
#define wick_threshold(...) WICK_TENSOR_HERE(wick_threshold(__VA_ARGS__))
#define wick_leaky_relu(...) WICK_TENSOR_HERE(wick_leaky_relu(__VA_ARGS__))
#define wick_elu(...) WICK_TENSOR_HERE(wick_elu(__VA_ARGS__))
#define wick_celu(...) WICK_TENSOR_HERE(wick_celu(__VA_ARGS__))
#define wick_softplus_beta(...) WICK_TENSOR_HERE(wick_softplus_beta(__VA_ARGS__))
#define wick_softshrink(...) WICK_TENSOR_HERE(wick_softshrink(__VA_ARGS__))
#define wick_hardshrink(...) WICK_TENSOR_HERE(wick_hardshrink(__VA_ARGS__))
#define wick_tanhshrink(...) WICK_TENSOR_HERE(wick_tanhshrink(__VA_ARGS__))
#define wick_glu(...) WICK_TENSOR_HERE(wick_glu(__VA_ARGS__))
#define wick_logit(...) WICK_TENSOR_HERE(wick_logit(__VA_ARGS__))
#define wick_nan_to_num(...) WICK_TENSOR_HERE(wick_nan_to_num(__VA_ARGS__))
#define wick_addcmul(...) WICK_TENSOR_HERE(wick_addcmul(__VA_ARGS__))
#define wick_addcdiv(...) WICK_TENSOR_HERE(wick_addcdiv(__VA_ARGS__))
#define wick_sinc(...) WICK_TENSOR_HERE(wick_sinc(__VA_ARGS__))
#define wick_heaviside(...) WICK_TENSOR_HERE(wick_heaviside(__VA_ARGS__))
#define wick_softmin(...) WICK_TENSOR_HERE(wick_softmin(__VA_ARGS__))
#define wick_isclose(...) WICK_TENSOR_HERE(wick_isclose(__VA_ARGS__))
#endif
#endif
