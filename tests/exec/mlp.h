/* mlp.h: a small network with dropout, trained by Adam written inline: the training step that tests of execution share.
 */
#ifndef WICK_TESTS_MLP_H
#define WICK_TESTS_MLP_H

#include "tensor/tensors.h"

enum { MLP_IN = 20, MLP_HIDDEN = 37, MLP_OUT = 10, MLP_BATCH = 48, MLP_PARAMS = 4, MLP_STATES = 3 * MLP_PARAMS + 1 };

typedef struct mlp {
    wick_tensor *param[MLP_PARAMS]; /* w1 [HIDDEN, IN], b1, w2 [OUT, HIDDEN], b2 */
    wick_tensor *m[MLP_PARAMS], *v[MLP_PARAMS], *t;
    double dropout;
} mlp;

static inline void mlp_init(mlp *net, wick_context *ctx, double dropout) {
    static const int64_t dims[MLP_PARAMS][2] = {{MLP_HIDDEN, MLP_IN}, {MLP_HIDDEN}, {MLP_OUT, MLP_HIDDEN}, {MLP_OUT}};
    uint64_t seed = test_seed;
    test_seed = 12345;
    for (int i = 0; i < MLP_PARAMS; i++) {
        float data[MLP_HIDDEN * MLP_IN];
        int rank = i % 2 ? 1 : 2;
        fill_random(data, dims[i][0] * (rank == 2 ? dims[i][1] : 1), -0.3, 0.3);
        net->param[i] = wick_from(ctx, WICK_F32, rank, dims[i], data);
        net->m[i] = wick_zeros(ctx, WICK_F32, rank, dims[i]);
        net->v[i] = wick_zeros(ctx, WICK_F32, rank, dims[i]);
    }
    net->t = wick_zeros(ctx, WICK_F32, WICK_SCALAR);
    net->dropout = dropout;
    test_seed = seed;
}

static inline void mlp_batch(int step, float *x, int64_t *labels) {
    uint64_t seed = test_seed;
    test_seed = 1000 + (uint64_t)step % 7;
    fill_random(x, MLP_BATCH * MLP_IN, -1, 1);
    for (int i = 0; i < MLP_BATCH; i++) labels[i] = test_rand_int(0, MLP_OUT - 1);
    test_seed = seed;
}

static inline wick_tensor *mlp_loss(mlp *net, wick_tensor *x, wick_tensor *labels) {
    wick_tensor *h = wick_dropout(wick_relu(wick_linear(x, net->param[0], net->param[1])), net->dropout);
    return wick_cross_entropy(wick_linear(h, net->param[2], net->param[3]), labels);
}

/* One step of Adam (Kingma, Ba 2015) recorded, as assignments; the loss before it. */
static inline wick_tensor *mlp_step(mlp *net, wick_context *ctx, wick_tensor *x, wick_tensor *labels, wick_tensor *lr) {
    wick_tensor *loss = mlp_loss(net, x, labels), *g[MLP_PARAMS];
    wick_grad(loss, MLP_PARAMS, net->param, g);
    wick_tensor *t = wick_add(net->t, wick_like(net->t, 1));
    wick_tensor *one = wick_constant(ctx, WICK_F32, 1), *b1 = wick_constant(ctx, WICK_F32, 0.9),
                *b2 = wick_constant(ctx, WICK_F32, 0.999);
    wick_tensor *c1 = wick_sub(one, wick_pow(b1, t)), *c2 = wick_sub(one, wick_pow(b2, t));
    for (int i = 0; i < MLP_PARAMS; i++) {
        wick_tensor *m = wick_add(wick_mul(net->m[i], b1), wick_mul(g[i], wick_sub(one, b1)));
        wick_tensor *v = wick_add(wick_mul(net->v[i], b2), wick_mul(wick_square(g[i]), wick_sub(one, b2)));
        wick_tensor *step =
            wick_div(wick_mul(wick_div(m, c1), lr), wick_add(wick_sqrt(wick_div(v, c2)), wick_like(v, 1e-8)));
        wick_tensor *states[] = {net->param[i], net->m[i], net->v[i]}, *next[] = {wick_sub(net->param[i], step), m, v};
        for (int k = 0; k < 3; k++)
            if (wick_assign(states[k], next[k]) != WICK_OK) return NULL;
    }
    return wick_assign(net->t, t) == WICK_OK ? loss : NULL;
}

/* The step as a function for wick_compile: inputs x and labels, output the loss. The rate is fixed. */
static inline wick_status mlp_body(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    out[0] = mlp_step(user, ctx, in[0], in[1], wick_constant(ctx, WICK_F32, 0.01));
    return out[0] ? WICK_OK : wick_context_status(ctx);
}
static const wick_spec mlp_specs[2] = {{"x", WICK_F32, 2, {MLP_BATCH, MLP_IN}}, {"labels", WICK_I64, 1, {MLP_BATCH}}};
static inline wick_status mlp_compile(mlp *net, wick_context *ctx, const wick_compile_options *options,
                                      wick_plan **plan) {
    return wick_compile(ctx, mlp_body, net, 2, mlp_specs, 1, options, plan);
}

/* All weights and moments as bytes. */
static inline size_t mlp_bytes(mlp *net, unsigned char *out, size_t size) {
    size_t at = 0;
    for (int i = 0; i < MLP_STATES; i++) {
        wick_tensor *s = i == MLP_STATES - 1 ? net->t
                         : i % 3 == 0        ? net->param[i / 3]
                         : i % 3 == 1        ? net->m[i / 3]
                                             : net->v[i / 3];
        size_t bytes = (size_t)wick_tensor_count(s) * 4;
        if (at + bytes > size || wick_read(s, out + at, bytes) != WICK_OK) {
            CHECK_MSG(false, "%s", wick_context_error(wick_tensor_context(s)));
            return 0;
        }
        at += bytes;
    }
    return at;
}
enum { MLP_MAX_BYTES = 4 * 3 * (MLP_HIDDEN * MLP_IN + MLP_HIDDEN + MLP_OUT * MLP_HIDDEN + MLP_OUT) + 4 };

#endif
