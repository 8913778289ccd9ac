/* factor.c: weights of low rank: W [m, n] of a product is A B, with A [m, r] and B [r, n] from its singular values, so
 * that m n multiply-adds become r (m + n). U and V of the r largest give the least sum of squares that r can (Eckart
 * and Young 1936); each takes the root of the values, which keeps both of one size for training. */
#define WICK_NO_SITES
#include "compress/pruner.h"
#include "wick/linalg.h"
#include "wick/ops.h"
#include "wick/pointwise.h"
#include "wick/shape.h"

#include <stdio.h>

int64_t wick_pruner_energy_rank(const wick_pruner *p, const float *s, int64_t most) {
    double all = 0, sum = 0;
    int64_t r = 0;
    for (int64_t k = 0; k < most; k++) all += (double)s[k] * (double)s[k];
    while (r < most && sum < p->energy * all) sum += (double)s[r] * (double)s[r], r++;
    r = WICK_MAX(r, 1); /* all may be 0 */
    return WICK_MIN((r + p->multiple - 1) / p->multiple * p->multiple, most);
}
int64_t wick_pruner_whole_rank(const wick_pruner *p, double r) {
    const int64_t n = (int64_t)r;
    return n > p->multiple ? n - n % p->multiple : n;
}
/* The least rank that holds the energy, or the largest that the budget allows, as a multiple; 0: it gains nothing. */
static int64_t choose_rank(const wick_pruner *p, const float *s, int64_t m, int64_t n) {
    const int64_t most = WICK_MIN(m, n);
    const int64_t r = p->energy > 0 ? wick_pruner_energy_rank(p, s, most)
                                    : wick_pruner_whole_rank(p, p->budget * (double)m * (double)n / (double)(m + n));
    return r < most && r > 0 && r * (m + n) < m * n ? r : 0;
}

wick_status wick_pruner_keep_factor(wick_pruner *p, pruned_state *s, int which, const char *name, const char *end,
                                    wick_tensor *made) {
    char full[WICK_MSG_MAX];
    const void *data;
    if (made->error) return wick_fail_poison(p->ctx, made);
    WICK_TRY(wick_data(made, &data));
    wick_tensor *t = wick_from(p->ctx, WICK_F32, made->value->type.rank, made->value->type.dims, data);
    if (t->error) return wick_fail_poison(p->ctx, t);
    snprintf(full, sizeof full, "%.400s%s", name, end);
    WICK_TRY(wick_model_adopt(p->model, full, WICK_ROLE_PARAM, t));
    s->factors[which] = wick_model_find(p->model, full);
    return WICK_OK;
}

wick_status wick_pruner_factor(wick_pruner *p, pruned_state *s, wick_tensor *w, const char *name) {
    const wick_type *t = &w->value->type;
    const int64_t m = t->dims[0], n = t->dims[1];
    const void *values;
    s->low_rank = 0;
    s->taps = false;
    for (int d = 2; d < t->rank; d++) s->taps = s->taps || t->dims[d] != 1;
    if (s->taps) return wick_pruner_factor_conv(p, s, w, name);
    if (!s->alone || t->dtype != WICK_F32 || t->rank < 2 || m < 2 || n < 2) return WICK_OK;
    wick_tensor *parts[3];
    wick_svd(wick_reshape(w, 2, t->dims), false, &parts[0], &parts[1], &parts[2]);
    if (parts[1]->error) return wick_fail_poison(p->ctx, parts[1]);
    WICK_TRY(wick_data(parts[1], &values));
    const int64_t r = choose_rank(p, values, m, n);
    if (!r) return WICK_OK;
    wick_tensor *root = wick_sqrt(wick_slice(parts[1], 0, 0, r, 1)),
                *u = wick_mul(wick_slice(parts[0], 1, 0, r, 1), root),
                *v = wick_mul(wick_slice(parts[2], 0, 0, r, 1), wick_reshape(root, 2, (const int64_t[]){r, 1}));
    int64_t dims[2][WICK_MAX_DIMS];
    for (int d = 0; d < WICK_MAX_DIMS; d++) dims[0][d] = dims[1][d] = 1;
    dims[0][0] = m, dims[0][1] = r, dims[1][0] = r, dims[1][1] = n;
    WICK_TRY(wick_pruner_keep_factor(p, s, 0, name, "_u", wick_reshape(u, t->rank, dims[0])));
    WICK_TRY(wick_pruner_keep_factor(p, s, 1, name, "_v", wick_reshape(v, t->rank, dims[1])));
    s->low_rank = r;
    s->share = (double)(r * (m + n)) / ((double)m * (double)n);
    return WICK_OK;
}

/* Two products in place of one: x (A B), x (A B)^T, or two convolutions, of which the first has the strides. */
wick_tensor *wick_pruner_factored(const pruned_state *s, const wick_node *node, wick_tensor *const *in, bool turned) {
    if (node->op == &wick_op_matmul) {
        wick_tensor *first = turned ? wick_transpose(s->factors[1], 0, 1) : s->factors[0],
                    *second = turned ? wick_transpose(s->factors[0], 0, 1) : s->factors[1];
        return wick_matmul(wick_matmul(in[0], first), second);
    }
    if (s->taps) return wick_pruner_factored_conv(s, node, in);
    wick_conv_attr plain = *(const wick_conv_attr *)node->attr;
    for (int d = 0; d < 3; d++) {
        plain.stride[d] = plain.stride[d] ? 1 : 0;
        plain.pad[d] = plain.pad_end[d] = 0;
    }
    wick_tensor *all[3] = {in[0], s->factors[1], NULL};
    all[0] = wick_record(NULL, node->op, 2, all, node->attr, node->attr_size);
    all[1] = s->factors[0];
    if (node->n_in > 2) all[2] = in[2];
    return wick_record(NULL, node->op, node->n_in, all, &plain, sizeof plain);
}
