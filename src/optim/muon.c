/* muon.c: Muon (Jordan 2024, kellerjordan.github.io/posts/muon), as torch.optim.Muon states it: momentum whose singular
 * values are made about 1 by five Newton-Schulz steps of a quintic polynomial. The steps are in the working dtype,
 * where PyTorch takes bf16. */
#include <math.h>

#include "optim/optim.h"

static wick_tensor *times(wick_tensor *x, double factor) { return wick_mul(x, wick_like(x, factor)); }
static wick_tensor *lerp(wick_tensor *a, wick_tensor *b, wick_tensor *part) {
    return wick_add(a, wick_mul(wick_sub(b, a), part));
}

/* X becomes a X + (b A + c A A) X, with A = X X^T; x is no higher than wide. A is symmetric, and a product with its own
 * transpose takes half. */
static wick_tensor *orthogonalised(wick_tensor *x) {
    static const double a = 3.4445, b = -4.7750, c = 2.0315, eps = 1e-7;
    enum { STEPS = 5 };
    wick_tensor *norm = wick_sqrt(wick_sum(wick_square(x), WICK_ALL_AXES, false));
    x = wick_div(x, wick_maximum(norm, wick_like(norm, eps)));
    for (int i = 0; i < STEPS; i++) {
        wick_tensor *gram = wick_matmul(x, wick_transpose(x, 0, 1));
        wick_tensor *polynomial = wick_add(times(gram, b), times(wick_matmul(gram, wick_transpose(gram, 0, 1)), c));
        x = wick_add(times(x, a), wick_matmul(polynomial, x));
    }
    return x;
}

wick_tensor *wick_muon_update(const wick_rule_input *in, wick_tensor **moment) {
    const wick_optim_options *o = in->options;
    const int rank = wick_tensor_rank(in->p);
    const int64_t *dims = wick_tensor_dims(in->p), rows = dims[0];
    int64_t cols = 1;
    for (int i = 1; i < rank; i++) cols *= dims[i];
    wick_tensor *momentum = lerp(in->moment[0], in->g, in->rest), *p = in->p;
    moment[0] = momentum;
    if (rows == 0 || cols == 0) return p;
    wick_tensor *x = wick_reshape(lerp(in->g, momentum, in->momentum), 2, (const int64_t[]){rows, cols});
    if (rows > cols) x = wick_transpose(x, 0, 1);
    x = orthogonalised(x);
    if (rows > cols) x = wick_transpose(x, 0, 1);
    const double high = (double)rows, wide = (double)cols;
    const double factor =
        o->muon_rate == WICK_MUON_ORIGINAL ? sqrt(fmax(1, high / wide)) : 0.2 * sqrt(fmax(high, wide));
    if (o->weight_decay != 0) p = wick_mul(p, wick_sub(wick_like(p, 1), times(in->lr, o->weight_decay)));
    return wick_sub(p, wick_mul(wick_reshape(x, rank, dims), times(in->lr, factor)));
}
