/* ops_classifiers.c: linear models and support vector machines (ai.onnx.ml). */
#define WICK_NO_SITES
#include "io/onnx/import/ml.h"

#include <math.h>

#include "wick/control.h"
#include "wick/pointwise.h"
#include "wick/reduce.h"

/* X as [N, F] floats: f32, or f64 where it is. */
static wick_tensor *samples(onnx_call *c) {
    wick_tensor *x = wick_onnx_tensor(c, 0);
    if (!x) return NULL;
    if (wick_tensor_rank(x) == 1) x = wick_unsqueeze(x, 0);
    if (wick_tensor_rank(x) != 2)
        return wick_onnx_fail(c, WICK_ERR_SHAPE, "X has %d dims, not 2", wick_tensor_rank(x)), NULL;
    return wick_cast(x, wick_tensor_dtype(x) == WICK_F64 ? WICK_F64 : WICK_F32);
}

/* Floats of an attribute as [rows, the rest]; NULL: the call failed. */
static wick_tensor *matrix(onnx_call *c, const char *name, int64_t rows, int64_t columns, wick_dtype dtype) {
    onnx_list l;
    if (!wick_onnx_list_attr(c, name, &l)) return NULL;
    int64_t count;
    if (rows < 0 || columns < 0 || wick_mul_overflows(rows, columns, &count) || count != (int64_t)l.n ||
        (l.n && l.kind != ONNX_LIST_FLOATS))
        return wick_onnx_fail(c, WICK_ERR_FORMAT, "attribute \"%s\" has %zu numbers, not %lld x %lld", name, l.n,
                              (long long)rows, (long long)columns),
               NULL;
    if (!l.n) return wick_zeros(c->ctx, dtype, 2, (int64_t[]){rows, columns});
    return wick_onnx_list_tensor(c, &l, dtype, 2, (int64_t[]){rows, columns});
}

/* ---- linear ------------------------------------------------------------------------------------------------------ */

/* x coefficients' + intercepts: [N, targets]. */
static wick_tensor *linear_scores(onnx_call *c, int64_t targets) {
    wick_tensor *x = samples(c);
    onnx_list intercepts;
    if (!x || !wick_onnx_list_attr(c, "intercepts", &intercepts)) return NULL;
    wick_tensor *w = matrix(c, "coefficients", targets, wick_tensor_dim(x, 1), wick_tensor_dtype(x));
    if (!w) return NULL;
    if (intercepts.n && ((int64_t)intercepts.n != targets || intercepts.kind != ONNX_LIST_FLOATS))
        return wick_onnx_fail(c, WICK_ERR_FORMAT, "%zu intercepts for %lld targets", intercepts.n, (long long)targets),
               NULL;
    return wick_linear(x, w,
                       intercepts.n ? wick_onnx_list_tensor(c, &intercepts, wick_tensor_dtype(x), 1, &targets) : NULL);
}

static void linear_regressor(onnx_call *c) {
    onnx_post post;
    if (!wick_onnx_post(c, &post)) return;
    wick_tensor *y = linear_scores(c, wick_onnx_int(c, "targets", 1));
    if (y) wick_onnx_set(c, 0, wick_cast(wick_onnx_post_transform(y, post), WICK_F32));
}

/* One score of two classes is that of the second. */
static void linear_classifier(onnx_call *c) {
    onnx_post post;
    onnx_list labels, intercepts, coefficients;
    wick_tensor *x = samples(c);
    if (!x || !wick_onnx_post(c, &post) || !wick_onnx_class_labels(c, &labels) ||
        !wick_onnx_list_attr(c, "intercepts", &intercepts) || !wick_onnx_list_attr(c, "coefficients", &coefficients))
        return;
    const int64_t features = wick_tensor_dim(x, 1);
    const int64_t targets = intercepts.n ? (int64_t)intercepts.n : features ? (int64_t)coefficients.n / features : 0;
    wick_tensor *y = linear_scores(c, targets);
    if (!y) return;
    y = wick_cast(y, WICK_F32);
    if (targets > 1) {
        wick_onnx_set_labels(c, &labels, wick_argmax(y, 1, false));
        wick_onnx_set(c, 1, wick_onnx_post_transform(y, post));
        return;
    }
    if (targets < 1) {
        wick_onnx_fail(c, WICK_ERR_FORMAT, "has no coefficients");
        return;
    }
    wick_tensor *second = wick_cast(wick_squeeze(wick_gt(y, wick_like(y, 0)), 1), WICK_I64);
    static const wick_text digits[] = {{"0", 1}, {"1", 1}};
    const onnx_list plain = {
        .kind = labels.kind == ONNX_LIST_STRINGS ? ONNX_LIST_STRINGS : ONNX_LIST_NONE, .n = 2, .texts = digits};
    wick_onnx_set_labels(c, labels.n == 2 ? &labels : &plain, second);
    if (labels.n == 2) {
        wick_tensor *p = post == ONNX_POST_LOGISTIC ? wick_sigmoid(y) : y;
        wick_onnx_set(c, 1, wick_onnx_second_class(p, true, post == ONNX_POST_PROBIT ? post : ONNX_POST_NONE));
    } else wick_onnx_set(c, 1, wick_onnx_post_transform(y, post));
}

/* ---- support vector machines ------------------------------------------------------------------------------------- */

/* The kernel between rows of x [N, F] and of v [M, F]: [N, M]. */
static wick_tensor *kernel(onnx_call *c, wick_tensor *x, wick_tensor *v, bool linear) {
    onnx_list params;
    if (!wick_onnx_list_attr(c, "kernel_params", &params)) return NULL;
    if (params.n && (params.n != 3 || params.kind != ONNX_LIST_FLOATS))
        return wick_onnx_fail(c, WICK_ERR_FORMAT, "kernel_params are not gamma, coef0 and degree"), NULL;
    const double gamma = params.n ? params.floats[0] : 0, shift = params.n ? params.floats[1] : 0,
                 degree = params.n ? params.floats[2] : 0;
    const wick_bytes type = wick_onnx_text(c, "kernel_type", "LINEAR");
    if (!linear && wick_bytes_are(type, "RBF")) { /* differences, not products: those cancel */
        wick_tensor *d = wick_sub(wick_unsqueeze(x, 1), wick_unsqueeze(v, 0)),
                    *s = wick_sum(wick_square(d), 1, &(int){2}, false);
        return wick_exp(wick_mul(s, wick_like(s, -gamma)));
    }
    wick_tensor *s = wick_linear(x, v, NULL);
    if (linear || wick_bytes_are(type, "LINEAR")) return s;
    s = wick_add(wick_mul(s, wick_like(s, gamma)), wick_like(s, shift));
    if (wick_bytes_are(type, "POLY")) return wick_pow(s, wick_like(s, degree));
    if (wick_bytes_are(type, "SIGMOID")) return wick_tanh(s);
    return wick_onnx_fail(c, WICK_ERR_FORMAT, "kernel_type \"%.*s\"", (int)WICK_MIN(type.size, (size_t)40), type.at),
           NULL;
}

static void svm_regressor(onnx_call *c) {
    wick_tensor *x = samples(c);
    onnx_list rho;
    onnx_post post;
    if (!x || !wick_onnx_post(c, &post) || !wick_onnx_list_attr(c, "rho", &rho)) return;
    const int64_t n = wick_onnx_int(c, "n_supports", 0), features = wick_tensor_dim(x, 1);
    const wick_dtype dtype = wick_tensor_dtype(x);
    if (rho.n < 1 || rho.kind != ONNX_LIST_FLOATS) {
        wick_onnx_fail(c, WICK_ERR_FORMAT, "has no rho");
        return;
    }
    wick_tensor *w = matrix(c, "coefficients", 1, n > 0 ? n : features, dtype), *v = NULL;
    if (w && n > 0) v = matrix(c, "support_vectors", n, features, dtype);
    if (!w || (n > 0 && !v)) return;
    wick_tensor *k = n > 0 ? kernel(c, x, v, false) : x;
    if (!k) return;
    wick_tensor *y = wick_linear(k, w, NULL);
    y = wick_add(y, wick_like(y, rho.floats[0]));
    if (wick_onnx_int(c, "one_class", 0))
        y = wick_where(wick_gt(y, wick_like(y, 0)), wick_like(y, 1), wick_like(y, -1));
    wick_onnx_set(c, 0, wick_cast(wick_onnx_post_transform(y, post), WICK_F32));
}

enum { MOST_CLASSES = 64 }; /* with probabilities: the graph grows with their square */

/* Probabilities of k classes from those of pairs (Wu, Lin, Weng 2004, method 2): min p'Qp over p that sum to 1, Q_tt
 * the sum of r_jt^2 and Q_tj = -r_jt r_tj. libsvm sweeps over the classes until no row is off by 0.005 / k, 100 times
 * at most, and so does everybody: so do we. */
typedef struct sweeps {
    wick_tensor *q[MOST_CLASSES][MOST_CLASSES]; /* [N, 1] each */
    int64_t k;
} sweeps;

static wick_status sweep(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    const sweeps *s = user;
    const int64_t k = s->k;
    wick_tensor *p[MOST_CLASSES], *qp[MOST_CLASSES], *total = NULL, *off = NULL;
    (void)ctx;
    for (int64_t t = 0; t < k; t++) p[t] = wick_slice(in[0], 1, t, t + 1, 1);
    for (int64_t t = 0; t < k; t++) {
        qp[t] = wick_mul(s->q[t][0], p[0]);
        for (int64_t j = 1; j < k; j++) qp[t] = wick_add(qp[t], wick_mul(s->q[t][j], p[j]));
        wick_tensor *part = wick_mul(p[t], qp[t]);
        total = total ? wick_add(total, part) : part;
    }
    for (int64_t t = 0; t < k; t++) {
        wick_tensor *error = wick_abs(wick_sub(qp[t], total));
        off = off ? wick_maximum(off, error) : error;
    }
    wick_tensor *going = wick_ge(off, wick_like(off, 0.005 / (double)k)), *one = wick_like(off, 1),
                *two = wick_like(off, 2);
    for (int64_t t = 0; t < k; t++) {
        wick_tensor *d = wick_div(wick_sub(total, qp[t]), s->q[t][t]), *by = wick_add(d, one);
        p[t] = wick_add(p[t], d);
        total = wick_div(wick_add(total, wick_mul(d, wick_add(wick_mul(d, s->q[t][t]), wick_mul(two, qp[t])))),
                         wick_square(by));
        for (int64_t j = 0; j < k; j++) {
            qp[j] = wick_div(wick_add(qp[j], wick_mul(d, s->q[t][j])), by);
            p[j] = wick_div(p[j], by);
        }
    }
    out[0] = wick_any(going, WICK_ALL_AXES, false);
    out[1] = wick_where(going, wick_concat((int)k, p, 1), in[0]);
    return WICK_OK;
}

static wick_tensor *pair_probabilities(onnx_call *c, wick_tensor *scores, int64_t k, const onnx_list *a,
                                       const onnx_list *b) {
    wick_tensor *(*r)[MOST_CLASSES] = wick_onnx_alloc(c, MOST_CLASSES, sizeof *r);
    sweeps *s = r ? wick_onnx_alloc(c, 1, sizeof *s) : NULL;
    int64_t at = 0;
    if (!s) return NULL;
    s->k = k;
    for (int64_t i = 0; i < k; i++)
        for (int64_t j = i + 1; j < k; j++, at++) {
            wick_tensor *score = wick_slice(scores, 1, at, at + 1, 1);
            score = wick_add(wick_mul(score, wick_like(score, a->floats[at])), wick_like(score, b->floats[at]));
            r[i][j] = wick_clip(wick_sigmoid(wick_neg(score)), 1e-7, 1 - 1e-7);
            r[j][i] = wick_sub(wick_like(score, 1), r[i][j]);
        }
    for (int64_t t = 0; t < k; t++) {
        for (int64_t j = 0; j < k; j++)
            if (j != t) {
                s->q[t][j] = wick_neg(wick_mul(r[j][t], r[t][j]));
                s->q[t][t] = s->q[t][t] ? wick_add(s->q[t][t], wick_square(r[j][t])) : wick_square(r[j][t]);
            }
    }
    wick_tensor *out[2], *start = wick_full(c->ctx, wick_tensor_dtype(scores), 2,
                                            (int64_t[]){wick_tensor_dim(scores, 0), k}, 1 / (double)k);
    wick_while_loop(c->ctx, NULL, sweep, s, &(wick_scan_options){.n_state = 1, .state = &start, .rounds = 100}, out,
                    NULL);
    return out[0];
}

static void svm_classifier(onnx_call *c) {
    wick_tensor *x = samples(c);
    onnx_list labels, rho, a, b, weights;
    onnx_post post;
    int n_classes;
    const int64_t *each = wick_onnx_ints(c, "vectors_per_class", &n_classes);
    if (!x || !wick_onnx_post(c, &post) || !wick_onnx_class_labels(c, &labels) ||
        !wick_onnx_list_attr(c, "rho", &rho) || !wick_onnx_list_attr(c, "prob_a", &a) ||
        !wick_onnx_list_attr(c, "prob_b", &b) || !wick_onnx_list_attr(c, "coefficients", &weights))
        return;
    const wick_dtype dtype = wick_tensor_dtype(x);
    const int64_t features = wick_tensor_dim(x, 1), k = labels.n ? (int64_t)labels.n : 1;
    int64_t vectors = 0;
    bool good = rho.n && rho.kind == ONNX_LIST_FLOATS && weights.kind == ONNX_LIST_FLOATS && a.n == b.n;
    for (int i = 0; i < n_classes; i++) good = good && each[i] >= 0 && !wick_add_overflows(vectors, each[i], &vectors);
    if (good && vectors)
        good = k >= 2 && n_classes == k && (int64_t)rho.n == k * (k - 1) / 2 &&
               (!a.n || ((int64_t)a.n == k * (k - 1) / 2 && k <= MOST_CLASSES));
    if (!good) {
        wick_onnx_fail(c, WICK_ERR_FORMAT,
                       "its labels, vectors, coefficients, rho and probabilities do not fit each other");
        return;
    }
    bool positive = true;
    for (size_t i = 0; i < weights.n; i++) positive &= weights.floats[i] >= 0;
    wick_tensor *scores, *votes = NULL;
    if (!vectors) { /* liblinear: one row of coefficients for each class */
        wick_tensor *w = matrix(c, "coefficients", k, features, dtype), *s = w ? kernel(c, x, w, true) : NULL;
        if (!s) return;
        scores = wick_add(s, wick_like(s, rho.floats[0]));
    } else { /* each pair of classes votes */
        wick_tensor *v = matrix(c, "support_vectors", vectors, features, dtype),
                    *w = v ? matrix(c, "coefficients", k - 1, vectors, dtype) : NULL;
        wick_tensor *g = w ? kernel(c, x, v, false) : NULL;
        const int64_t pairs = k * (k - 1) / 2;
        wick_tensor **parts = g ? wick_onnx_alloc(c, (size_t)pairs, sizeof(wick_tensor *)) : NULL;
        double *for_first = parts ? wick_onnx_alloc2(c, pairs, k, sizeof *for_first) : NULL,
               *for_second = for_first ? wick_onnx_alloc2(c, pairs, k, sizeof *for_second) : NULL;
        if (!for_second) return;
        for (int64_t i = 0, first = 0, at = 0; i < k; first += each[i++])
            for (int64_t j = i + 1, second = first + each[i]; j < k; second += each[j++], at++) {
                wick_tensor *one =
                    wick_linear(wick_slice(g, 1, first, first + each[i], 1),
                                wick_slice(wick_slice(w, 0, j - 1, j, 1), 1, first, first + each[i], 1), NULL);
                wick_tensor *other =
                    wick_linear(wick_slice(g, 1, second, second + each[j], 1),
                                wick_slice(wick_slice(w, 0, i, i + 1, 1), 1, second, second + each[j], 1), NULL);
                parts[at] = wick_add(wick_add(wick_like(one, rho.floats[at]), one), other);
                for_first[at * k + i] = 1, for_second[at * k + j] = 1;
            }
        scores = wick_concat((int)pairs, parts, 1);
        wick_tensor *won = wick_gt(scores, wick_like(scores, 0)), *zero = wick_like(scores, 0),
                    *one = wick_like(scores, 1);
        const int64_t dims[2] = {pairs, k};
        votes = wick_add(
            wick_matmul(wick_where(won, one, zero), wick_cast(wick_from(c->ctx, WICK_F64, 2, dims, for_first), dtype)),
            wick_matmul(wick_where(won, zero, one),
                        wick_cast(wick_from(c->ctx, WICK_F64, 2, dims, for_second), dtype)));
    }
    const bool probable = a.n && vectors;
    if (probable) scores = pair_probabilities(c, scores, k, &a, &b);
    if (!scores) return;
    wick_tensor *top = wick_argmax(votes ? votes : scores, 1, false);
    if (rho.n == 1 && labels.n == 2 && !probable && !votes) {
        wick_tensor *most = wick_max(scores, 1, &(int){1}, false);
        wick_tensor *second = positive ? wick_ge(most, wick_like(most, 0.5)) : wick_gt(most, wick_like(most, 0));
        top = wick_where(second, wick_constant(c->ctx, WICK_I64, 1), top);
    }
    wick_onnx_set_labels(c, &labels, top);
    const bool single = wick_tensor_dim(scores, 1) == 1;
    wick_onnx_set(c, 1,
                  wick_cast(single && rho.n == 1 && labels.n == 2 ? wick_onnx_second_class(scores, false, post)
                                                                  : wick_onnx_post_transform(scores, post),
                            WICK_F32));
}

static const onnx_op ops[] = {
    {"LinearClassifier", 1, 0, linear_classifier, {0}},
    {"LinearRegressor", 1, 0, linear_regressor, {0}},
    {"SVMClassifier", 1, 0, svm_classifier, {0}},
    {"SVMRegressor", 1, 0, svm_regressor, {0}},
};
const onnx_family wick_onnx_classifiers = {"ai.onnx.ml", ops, WICK_COUNTOF(ops)};
