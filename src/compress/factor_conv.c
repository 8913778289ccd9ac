/* factor_conv.c: convolutions of low rank. W [O, I, h, w] becomes
 *
 *   Tucker-2    [b, I] points, a core [a, b, h, w], [O, a] points: what is left of W in the first b and a singular
 *               vectors of its unfoldings by I and by O (the HOSVD of Kim et al. 2016, "Compression of deep
 *               convolutional neural networks for fast and low power mobile applications", section 3)
 *   spatial     [r, I, h, 1], then [O, r, 1, w]: the singular values of W as a matrix (I h) x (w O) (Jaderberg et al.
 *               2014, "Speeding up convolutional neural networks with low rank expansions", scheme 2; here in closed
 *               form, as Tai et al. 2016 have it)
 *
 * Padding is 0 and only the last one has the bias, so that edges are as they were. */
#define WICK_NO_SITES
#include "compress/pruner.h"
#include "wick/linalg.h"
#include "wick/ops.h"
#include "wick/pointwise.h"
#include "wick/shape.h"

typedef struct filter {
    int64_t o, i, h, w, taps;
} filter;

static wick_status values_of(wick_tensor *matrix, wick_tensor **u, wick_tensor **vt, wick_tensor **values,
                             const float **s) {
    const void *data;
    wick_svd(matrix, false, u, values, vt);
    if ((*values)->error) return wick_fail_poison(matrix->ctx, *values);
    WICK_TRY(wick_data(*values, &data));
    *s = data;
    return WICK_OK;
}
static wick_tensor *first_columns(wick_tensor *u, int64_t n) { return wick_slice(u, 1, 0, n, 1); }

/* Multiply-adds of a pixel of the result over those of the whole weight. */
static double tucker_share(const pruned_state *s, const filter *f, int64_t a, int64_t b) {
    return ((double)(f->i * b) * (double)(s->stride[0] * s->stride[1]) + (double)(a * b * f->taps) +
            (double)(f->o * a)) /
           (double)(f->o * f->i * f->taps);
}
static wick_status tucker(wick_pruner *p, pruned_state *s, wick_tensor *w, const filter *f, const char *name) {
    const wick_type *t = &w->value->type;
    wick_tensor *turned = wick_transpose(w, 0, 1), *u[2], *vt, *values;
    const float *by_o, *by_i;
    WICK_TRY(values_of(wick_reshape(w, 2, (const int64_t[]){f->o, f->i * f->taps}), &u[0], &vt, &values, &by_o));
    WICK_TRY(values_of(wick_reshape(turned, 2, (const int64_t[]){f->i, f->o * f->taps}), &u[1], &vt, &values, &by_i));
    const int64_t most_o = WICK_MIN(f->o, f->i * f->taps), most_i = WICK_MIN(f->i, f->o * f->taps);
    int64_t a = 0, b = 0;
    if (p->energy > 0) {
        a = wick_pruner_energy_rank(p, by_o, most_o);
        b = wick_pruner_energy_rank(p, by_i, most_i);
    } else { /* the same share of both */
        for (int k = 1; k <= 1000; k++) {
            const int64_t x = WICK_MIN(wick_pruner_whole_rank(p, (double)f->o * k / 1000), most_o),
                          y = WICK_MIN(wick_pruner_whole_rank(p, (double)f->i * k / 1000), most_i);
            if (x > 0 && y > 0 && tucker_share(s, f, x, y) <= p->budget) a = x, b = y;
        }
    }
    if (!a || !b || tucker_share(s, f, a, b) >= 1) return WICK_OK;
    wick_tensor *ua = first_columns(u[0], a), *ub = first_columns(u[1], b);
    wick_tensor *core =
        wick_matmul(wick_transpose(ua, 0, 1), wick_reshape(w, 2, (const int64_t[]){f->o, f->i * f->taps}));
    core = wick_transpose(wick_reshape(core, 3, (const int64_t[]){a, f->i, f->taps}), 0, 1);
    core = wick_matmul(wick_transpose(ub, 0, 1), wick_reshape(core, 2, (const int64_t[]){f->i, a * f->taps}));
    core = wick_transpose(wick_reshape(core, 3, (const int64_t[]){b, a, f->taps}), 0, 1);
    int64_t dims[3][WICK_MAX_DIMS];
    for (int k = 0; k < 3; k++)
        for (int d = 0; d < t->rank; d++) dims[k][d] = d < 2 || k == 1 ? t->dims[d] : 1;
    dims[0][0] = b, dims[1][0] = a, dims[1][1] = b, dims[2][1] = a;
    WICK_TRY(wick_pruner_keep_factor(p, s, 0, name, "_v", wick_reshape(wick_transpose(ub, 0, 1), t->rank, dims[0])));
    WICK_TRY(wick_pruner_keep_factor(p, s, 1, name, "_core", wick_reshape(core, t->rank, dims[1])));
    WICK_TRY(wick_pruner_keep_factor(p, s, 2, name, "_u", wick_reshape(ua, t->rank, dims[2])));
    s->low_rank = a;
    s->share = tucker_share(s, f, a, b);
    return WICK_OK;
}

static double spatial_share(const pruned_state *s, const filter *f, int64_t r) {
    return (double)r * ((double)(f->i * f->h * s->stride[1]) + (double)(f->o * f->w)) / (double)(f->o * f->i * f->taps);
}
static wick_status spatial(wick_pruner *p, pruned_state *s, wick_tensor *w, const filter *f, const char *name) {
    const int64_t m = f->i * f->h, n = f->w * f->o, most = WICK_MIN(m, n);
    wick_tensor *u, *vt, *values;
    const float *sizes;
    WICK_TRY(values_of(wick_reshape(wick_permute(w, 4, (const int[]){1, 2, 3, 0}), 2, (const int64_t[]){m, n}), &u, &vt,
                       &values, &sizes));
    const int64_t r = p->energy > 0 ? wick_pruner_energy_rank(p, sizes, most)
                                    : WICK_MIN(wick_pruner_whole_rank(p, p->budget / spatial_share(s, f, 1)), most);
    if (r < 1 || spatial_share(s, f, r) >= 1) return WICK_OK;
    wick_tensor *root = wick_sqrt(wick_slice(values, 0, 0, r, 1));
    wick_tensor *down = wick_transpose(wick_mul(first_columns(u, r), root), 0, 1),
                *across = wick_mul(wick_slice(vt, 0, 0, r, 1), wick_reshape(root, 2, (const int64_t[]){r, 1}));
    across = wick_permute(wick_reshape(across, 3, (const int64_t[]){r, f->w, f->o}), 3, (const int[]){2, 0, 1});
    WICK_TRY(wick_pruner_keep_factor(p, s, 0, name, "_v", wick_reshape(down, 4, (const int64_t[]){r, f->i, f->h, 1})));
    WICK_TRY(
        wick_pruner_keep_factor(p, s, 1, name, "_u", wick_reshape(across, 4, (const int64_t[]){f->o, r, 1, f->w})));
    s->factors[2] = NULL;
    s->low_rank = r;
    s->share = spatial_share(s, f, r);
    return WICK_OK;
}

wick_status wick_pruner_factor_conv(wick_pruner *p, pruned_state *s, wick_tensor *w, const char *name) {
    const wick_type *t = &w->value->type;
    filter f = {.o = t->dims[0], .i = t->dims[1], .h = 1, .w = 1, .taps = 1};
    s->low_rank = 0;
    if (p->filters == WICK_FILTERS_WHOLE || !s->alone || t->dtype != WICK_F32 || t->rank < 3 || t->rank > 4 ||
        f.o < 2 || f.i < 2)
        return WICK_OK;
    for (int d = 2; d < t->rank; d++) f.taps *= t->dims[d];
    f.h = t->dims[2], f.w = t->rank > 3 ? t->dims[3] : 1;
    if (f.taps < 2) return WICK_OK;
    if (p->filters == WICK_FILTERS_TUCKER) return tucker(p, s, w, &f, name);
    return t->rank == 4 && f.h > 1 && f.w > 1 ? spatial(p, s, w, &f, name) : WICK_OK;
}

/* A convolution like node's, of which the dims that `own` says have its strides, padding and dilation. */
static wick_tensor *part_of(const wick_node *node, wick_tensor *x, wick_tensor *w, wick_tensor *bias, unsigned own) {
    wick_conv_attr a = *(const wick_conv_attr *)node->attr;
    wick_tensor *in[3] = {x, w, bias};
    for (int d = 0; d < 3; d++) {
        if (own >> d & 1) continue;
        a.stride[d] = a.stride[d] ? 1 : 0;
        a.dilation[d] = a.dilation[d] ? 1 : 0;
        a.pad[d] = a.pad_end[d] = 0;
    }
    return wick_record(NULL, node->op, bias ? 3 : 2, in, &a, sizeof a);
}
wick_tensor *wick_pruner_factored_conv(const pruned_state *s, const wick_node *node, wick_tensor *const *in) {
    wick_tensor *const bias = node->n_in > 2 ? in[2] : NULL;
    if (!s->factors[2]) return part_of(node, part_of(node, in[0], s->factors[0], NULL, 1), s->factors[1], bias, 2);
    wick_tensor *x = part_of(node, in[0], s->factors[0], NULL, 0);
    return part_of(node, part_of(node, x, s->factors[1], NULL, 7), s->factors[2], bias, 0);
}
