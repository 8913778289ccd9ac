/* ops_ml.c: classic machine learning (ai.onnx.ml) and n-grams: tables looked up on the host, where a value has to be known. */
#define WICK_NO_SITES
#include <math.h>
#include <stdlib.h>

#include "io/onnx/onnx.h"
#include "wick/index.h"
#include "wick/pointwise.h"

/* ---- lists in attributes: of integers, floats, strings, or a tensor ---------------------------------------------------------------------------- */

typedef struct list {
    enum { LIST_NONE, LIST_INTS, LIST_FLOATS, LIST_STRINGS } kind;
    size_t n;
    const int64_t *ints;
    const double *floats;
    const wick_text *texts;
    wick_dtype dtype; /* of numbers */
} list;

static bool list_of_value(onnx_call *c, const wick_onnx_value *v, bool dynamic, list *out) {
    if (v->kind == WICK_VALUE_STRINGS) return *out = (list){.kind = LIST_STRINGS, .n = v->n, .texts = v->texts}, true;
    onnx_host h;
    if (v->kind != WICK_VALUE_TENSOR || !wick_onnx_host_of(c, v->tensor, dynamic, &h))
        return wick_onnx_fail(c, WICK_ERR_FORMAT, "an input is neither numbers nor strings");
    *out = (list){.kind = wick_onnx_is_float(v->tensor) ? LIST_FLOATS : LIST_INTS,
                  .n = (size_t)h.n,
                  .ints = h.ints,
                  .floats = h.floats,
                  .dtype = wick_tensor_dtype(v->tensor)};
    return true;
}

/* PREFIX_int64s, PREFIX_floats, PREFIX_strings or PREFIX_tensor; LIST_NONE: none of them. */
static bool list_attr(onnx_call *c, const char *prefix, bool one, list *out) {
    static const char *const many[] = {"int64s", "floats", "strings", "tensor"}, *const single[] = {"int64", "float", "string", "tensor"};
    *out = (list){0};
    for (int k = 0; k < 4; k++) {
        char name[48];
        wick_str s = wick_str_on(name, sizeof name);
        wick_str_add(&s, "%s_%s", prefix, one ? single[k] : many[k]);
        const onnx_attr *a = wick_onnx_attr(c, name);
        if (!a) continue;
        if (k == 3) {
            wick_onnx_value v;
            if (!a->t) return wick_onnx_fail(c, WICK_ERR_FORMAT, "%s is no tensor", name);
            const wick_status status = wick_onnx_read_tensor(c->run->onnx, a->t, &v, &c->run->arena, c->msg);
            if (status != WICK_OK) return c->status = status, false;
            return list_of_value(c, &v, false, out);
        }
        const size_t n = one ? 1 : k == 0 ? a->ints.n : k == 1 ? a->floats.n : a->strings.n;
        double *floats = wick_onnx_alloc(c, n, sizeof *floats);
        wick_text *texts = floats ? wick_onnx_alloc(c, n, sizeof *texts) : NULL;
        if (!texts) return false;
        for (size_t i = 0; i < n; i++) {
            if (k == 1) floats[i] = one ? (double)a->f : (double)a->floats.at[i];
            if (k == 2) texts[i] = one ? (wick_text){a->s.at, a->s.size} : (wick_text){a->strings.at[i].at, a->strings.at[i].size};
        }
        *out = (list){.kind = k == 0   ? LIST_INTS
                              : k == 1 ? LIST_FLOATS
                                       : LIST_STRINGS,
                      .n = n,
                      .ints = one ? &a->i : a->ints.at,
                      .floats = floats,
                      .texts = texts,
                      .dtype = k == 0 ? WICK_I64 : WICK_F32};
        return true;
    }
    return true;
}

static bool same_entry(const list *a, size_t i, const list *b, size_t j) {
    if (a->kind == LIST_STRINGS) return a->texts[i].size == b->texts[j].size && !memcmp(a->texts[i].at, b->texts[j].at, a->texts[i].size);
    if (a->kind == LIST_INTS) return a->ints[i] == b->ints[j];
    return a->floats[i] == b->floats[j] || (isnan(a->floats[i]) && isnan(b->floats[j]));
}

/* ---- encoders -----------------------------------------------------------------------------------------------------------------------------------
 */

static void label_encoder(onnx_call *c) {
    const onnx_value *x = wick_onnx_in(c, 0);
    list keys, values, otherwise, in;
    if (!x || !list_attr(c, "keys", false, &keys) || !list_attr(c, "values", false, &values) || !list_attr(c, "default", true, &otherwise) ||
        !list_of_value(c, &x->v, x->dynamic, &in))
        return;
    if (keys.kind == LIST_NONE || values.kind == LIST_NONE || keys.n != values.n || keys.kind != in.kind ||
        (otherwise.kind != LIST_NONE && otherwise.kind != values.kind)) {
        wick_onnx_fail(c, WICK_ERR_FORMAT, "its keys, values, default and input do not fit each other");
        return;
    }
    wick_text *texts = wick_onnx_alloc(c, in.n, sizeof *texts);
    double *floats = texts ? wick_onnx_alloc(c, in.n, sizeof *floats) : NULL;
    int64_t *ints = floats ? wick_onnx_alloc(c, in.n, sizeof *ints) : NULL;
    if (!ints) return;
    for (size_t i = 0; i < in.n; i++) {
        texts[i] = otherwise.kind == LIST_STRINGS ? otherwise.texts[0] : (wick_text){"_Unused", 7};
        ints[i] = otherwise.kind == LIST_INTS ? otherwise.ints[0] : -1;
        floats[i] = otherwise.kind == LIST_FLOATS ? otherwise.floats[0] : -0.0;
        for (size_t k = keys.n; k-- > 0;) { /* the last of equal keys counts */
            if (!same_entry(&in, i, &keys, k)) continue;
            if (values.kind == LIST_STRINGS) texts[i] = values.texts[k];
            if (values.kind == LIST_INTS) ints[i] = values.ints[k];
            if (values.kind == LIST_FLOATS) floats[i] = values.floats[k];
            break;
        }
    }
    const int rank = x->v.kind == WICK_VALUE_STRINGS ? x->v.rank : wick_tensor_rank(x->v.tensor);
    const int64_t *dims = x->v.kind == WICK_VALUE_STRINGS ? x->v.dims : wick_tensor_dims(x->v.tensor);
    if (values.kind == LIST_STRINGS) {
        wick_onnx_value y = {.kind = WICK_VALUE_STRINGS, .rank = rank, .n = in.n, .texts = texts};
        memcpy(y.dims, dims, (size_t)rank * sizeof *dims);
        wick_onnx_set_value(c, 0, y, c->dynamic);
    } else
        wick_onnx_set(c, 0,
                      wick_cast(wick_from(c->ctx, values.kind == LIST_INTS ? WICK_I64 : WICK_F64, rank, dims,
                                          values.kind == LIST_INTS ? (void *)ints : (void *)floats),
                                values.dtype));
}

static void binarizer(onnx_call *c) {
    wick_tensor *x = wick_onnx_tensor(c, 0);
    if (x) wick_onnx_set(c, 0, wick_cast(wick_gt(x, wick_like(x, wick_onnx_float(c, "threshold", 0))), wick_tensor_dtype(x)));
}

static void array_feature_extractor(onnx_call *c) {
    wick_tensor *x = wick_onnx_tensor(c, 0), *at = x ? wick_onnx_tensor(c, 1) : NULL;
    if (!at) return;
    if (wick_tensor_rank(x) == 1) x = wick_unsqueeze(x, 0);
    wick_onnx_set(c, 0, wick_gather(x, wick_tensor_rank(x) - 1, wick_reshape(at, 1, &(int64_t){-1})));
}

/* ---- trees
 * ------------------------------------------------------------------------------------------------------------------------------------------ */

/* Nodes and leaves as TreeEnsemble 5 has them. A walk that takes more steps than there are nodes goes round in a circle. */
static void tree_ensemble(onnx_call *c) {
    onnx_host x;
    wick_tensor *t = wick_onnx_tensor(c, 0);
    list modes = {0}, splits = {0}, weights = {0}, members = {0};
    int n, n_false, n_leaf_true, n_leaf_false, n_features, n_targets_of, n_roots, n_missing;
    const int64_t *on_true = wick_onnx_ints(c, "nodes_truenodeids", &n), *on_false = wick_onnx_ints(c, "nodes_falsenodeids", &n_false);
    const int64_t *true_leaf = wick_onnx_ints(c, "nodes_trueleafs", &n_leaf_true), *false_leaf = wick_onnx_ints(c, "nodes_falseleafs", &n_leaf_false);
    const int64_t *feature = wick_onnx_ints(c, "nodes_featureids", &n_features), *target_of = wick_onnx_ints(c, "leaf_targetids", &n_targets_of);
    const int64_t *roots = wick_onnx_ints(c, "tree_roots", &n_roots), *missing = wick_onnx_ints(c, "nodes_missing_value_tracks_true", &n_missing);
    static const char *const names[] = {"nodes_modes", "nodes_splits", "leaf_weights", "membership_values"};
    list *lists[] = {&modes, &splits, &weights, &members};
    if (!t || !wick_onnx_host(c, 0, &x)) return;
    for (int i = 0; i < 4; i++) {
        const onnx_attr *a = wick_onnx_attr(c, names[i]);
        wick_onnx_value v;
        if (!a || !a->t) continue;
        const wick_status status = wick_onnx_read_tensor(c->run->onnx, a->t, &v, &c->run->arena, c->msg);
        if (status != WICK_OK) {
            c->status = status;
            return;
        }
        if (!list_of_value(c, &v, false, lists[i])) return;
    }
    const int64_t targets = wick_onnx_int(c, "n_targets", 1), leaves = n_targets_of;
    if (n < 1 || n_false != n || n_leaf_true != n || n_leaf_false != n || n_features != n || (int64_t)modes.n != n || (int64_t)splits.n != n ||
        (int64_t)weights.n != leaves || x.rank != 2 || targets < 1 || targets > 1 << 24 || (missing && n_missing != n)) {
        wick_onnx_fail(c, WICK_ERR_FORMAT, "its lists of nodes and leaves are not of one length, or X is no matrix");
        return;
    }
    /* Where each node's members begin. */
    int64_t *begin = wick_onnx_alloc(c, (size_t)n, sizeof *begin);
    const int64_t rows = x.dims[0], columns = x.dims[1], how = wick_onnx_int(c, "aggregate_function", 1);
    double *y = begin ? wick_onnx_alloc(c, (size_t)(rows * targets), sizeof *y) : NULL;
    int64_t *seen = y ? wick_onnx_alloc(c, (size_t)(rows * targets), sizeof *seen) : NULL;
    if (!seen) return;
    size_t at = 0;
    for (int i = 0; i < n; i++) {
        if (modes.ints[i] != 6) continue;
        begin[i] = (int64_t)at;
        while (at < members.n && !isnan(members.floats[at])) at++;
        at++;
    }
    for (int64_t r = 0; r < rows; r++)
        for (int k = 0; k < n_roots; k++) {
            int64_t node = roots[k];
            for (int64_t steps = 0;; steps++) {
                if (node < 0 || node >= n || feature[node] < 0 || feature[node] >= columns || steps > n) {
                    wick_onnx_fail(c, WICK_ERR_FORMAT, "node %lld of tree %d does not exist, names a feature that does not, or lies on a circle",
                                   (long long)node, k);
                    return;
                }
                const double v = x.floats[r * columns + feature[node]], s = splits.floats[node];
                bool yes = false;
                switch (modes.ints[node]) {
                case 0:
                    yes = v <= s;
                    break;
                case 1:
                    yes = v < s;
                    break;
                case 2:
                    yes = v >= s;
                    break;
                case 3:
                    yes = v > s;
                    break;
                case 4:
                    yes = v == s;
                    break;
                case 5:
                    yes = v != s;
                    break;
                default:
                    for (size_t m = (size_t)begin[node]; m < members.n && !isnan(members.floats[m]); m++) yes |= members.floats[m] == v;
                }
                if (isnan(v)) yes = missing && missing[node];
                const int64_t to = yes ? on_true[node] : on_false[node];
                if (!(yes ? true_leaf[node] : false_leaf[node])) {
                    node = to;
                    continue;
                }
                if (to < 0 || to >= leaves || target_of[to] < 0 || target_of[to] >= targets) {
                    wick_onnx_fail(c, WICK_ERR_FORMAT, "leaf %lld does not exist, or names a target that does not", (long long)to);
                    return;
                }
                const int64_t place = r * targets + target_of[to];
                const double w = weights.floats[to];
                y[place] = !seen[place] || how < 2 ? y[place] + w : how == 2 ? fmin(y[place], w) : fmax(y[place], w);
                seen[place]++;
                break;
            }
        }
    for (int64_t i = 0; i < rows * targets && how == 0; i++) y[i] /= WICK_MAX(n_roots, 1);
    wick_tensor *out = wick_cast(wick_from(c->ctx, WICK_F64, 2, (int64_t[]){rows, targets}, y), wick_tensor_dtype(t));
    switch (wick_onnx_int(c, "post_transform", 0)) {
    case 0:
        break;
    case 1:
        out = wick_softmax(out, 1);
        break;
    case 2:
        out = wick_sigmoid(out);
        break;
    case 4:
        out = wick_mul(wick_erfinv(wick_sub(wick_mul(out, wick_like(out, 2)), wick_like(out, 1))), wick_like(out, sqrt(2)));
        break;
    default:
        wick_onnx_fail(c, WICK_ERR_UNSUPPORTED, "post_transform %lld", (long long)wick_onnx_int(c, "post_transform", 0));
    }
    wick_onnx_set(c, 0, out);
}

/* ---- n-grams
 * ---------------------------------------------------------------------------------------------------------------------------------------- */

static void tf_idf(onnx_call *c) {
    const onnx_value *x = wick_onnx_in(c, 0);
    list in, pool = {0};
    int n_counts, n_indexes;
    const int64_t *counts = wick_onnx_ints(c, "ngram_counts", &n_counts), *indexes = wick_onnx_ints(c, "ngram_indexes", &n_indexes);
    const onnx_attr *w = wick_onnx_attr(c, "weights");
    if (!x || !list_of_value(c, &x->v, x->dynamic, &in) || !list_attr(c, "pool", false, &pool)) return;
    const int64_t low = wick_onnx_int(c, "min_gram_length", 1), high = wick_onnx_int(c, "max_gram_length", 1),
                  skips = wick_onnx_int(c, "max_skip_count", 0);
    int64_t width = 0;
    for (int i = 0; i < n_indexes; i++) width = WICK_MAX(width, indexes[i] + 1);
    const bool strings = x->v.kind == WICK_VALUE_STRINGS;
    const int rank = strings ? x->v.rank : wick_tensor_rank(x->v.tensor);
    const int64_t *dims = strings ? x->v.dims : wick_tensor_dims(x->v.tensor);
    bool good = counts && indexes && pool.kind == in.kind && rank >= 1 && rank <= 2 && low >= 1 && high >= low && high <= n_counts && skips >= 0 &&
                (!w || (int)w->floats.n == n_indexes);
    for (int i = 0; i < n_counts; i++) good &= counts[i] >= 0 && (size_t)counts[i] <= pool.n;
    for (int i = 0; i < n_indexes; i++) good &= indexes[i] >= 0 && indexes[i] < 1 << 28;
    if (!good) {
        wick_onnx_fail(c, WICK_ERR_FORMAT, "its pool, counts, indexes, weights and lengths do not fit each other, or the input");
        return;
    }
    const int64_t rows = rank == 2 ? dims[0] : 1, columns = dims[rank - 1];
    double *y = wick_onnx_alloc(c, (size_t)(rows * width), sizeof *y);
    if (!y) return;
    for (int64_t r = 0; r < rows; r++)
        for (int64_t size = low, first = 0; size <= high; size++) {
            first = 0; /* number of the first n-gram of this size */
            for (int64_t s = 1; s < size; s++) first += ((s < n_counts ? counts[s] : (int64_t)pool.n) - counts[s - 1]) / s;
            const int64_t from = counts[size - 1], to = size < n_counts ? counts[size] : (int64_t)pool.n;
            for (int64_t skip = 0; skip <= (size == 1 ? 0 : skips); skip++)
                for (int64_t at = 0; at + (size - 1) * (skip + 1) < columns; at++)
                    for (int64_t g = 0; from + (g + 1) * size <= to; g++) {
                        bool same = true;
                        for (int64_t k = 0; k < size && same; k++)
                            same = same_entry(&in, (size_t)(r * columns + at + k * (skip + 1)), &pool, (size_t)(from + g * size + k));
                        if (same && first + g < n_indexes) y[r * width + indexes[first + g]]++;
                    }
        }
    const bool idf = wick_onnx_text_is(c, "mode", "", "IDF"), tf = wick_onnx_text_is(c, "mode", "", "TF");
    for (int64_t r = 0; r < rows; r++) {
        if (idf)
            for (int64_t i = 0; i < width; i++) y[r * width + i] = y[r * width + i] > 0;
        for (int i = 0; i < n_indexes && w && !tf; i++) y[r * width + indexes[i]] *= (double)w->floats.at[i];
    }
    const int64_t shape[2] = {rows, width};
    wick_onnx_set(c, 0, wick_cast(wick_from(c->ctx, WICK_F64, rank, rank == 2 ? shape : shape + 1, y), WICK_F32));
}

/* ---- unique
 * ------------------------------------------------------------------------------------------------------------------------------------------ */

typedef struct sub {
    const double *at;             /* its first number */
    int64_t outer, inner, stride; /* numbers: outer runs of inner, stride apart */
    int64_t place;
} sub;

static int compare_subs(const void *a, const void *b) {
    const sub *x = a, *y = b;
    for (int64_t i = 0; i < x->outer; i++)
        for (int64_t k = 0; k < x->inner; k++) {
            const double p = x->at[i * x->stride + k], q = y->at[i * y->stride + k];
            if (p != q && !(isnan(p) && isnan(q))) return isnan(p) ? 1 : isnan(q) ? -1 : p < q ? -1 : 1;
        }
    return 0;
}
static int compare_stable(const void *a, const void *b) {
    const int order = compare_subs(a, b);
    return order ? order : ((const sub *)a)->place < ((const sub *)b)->place ? -1 : 1;
}
static int compare_first(const void *a, const void *b) {
    return (*(const int64_t *)a > *(const int64_t *)b) - (*(const int64_t *)a < *(const int64_t *)b);
}

static void unique(onnx_call *c) {
    wick_tensor *x = wick_onnx_tensor(c, 0);
    onnx_host h;
    int axis = 0;
    if (!x || !wick_onnx_host(c, 0, &h)) return;
    const bool flat = !wick_onnx_attr(c, "axis"), sorted = wick_onnx_int(c, "sorted", 1);
    if (!flat && !wick_onnx_axis(c, wick_onnx_int(c, "axis", 0), h.rank, &axis)) return;
    int64_t n = flat ? h.n : h.dims[axis], outer = 1, inner = 1;
    for (int i = 0; i < h.rank && !flat; i++) *(i < axis ? &outer : &inner) *= i == axis ? 1 : h.dims[i];
    sub *subs = wick_onnx_alloc(c, (size_t)n, sizeof *subs);
    int64_t *first = subs ? wick_onnx_alloc(c, (size_t)n, sizeof *first) : NULL,
            *inverse = first ? wick_onnx_alloc(c, (size_t)n, sizeof *inverse) : NULL;
    int64_t *count = inverse ? wick_onnx_alloc(c, (size_t)n, sizeof *count) : NULL, *of = count ? wick_onnx_alloc(c, (size_t)n, sizeof *of) : NULL;
    if (!of) return;
    for (int64_t i = 0; i < n; i++) subs[i] = (sub){h.floats + i * inner, outer, inner, n * inner, i};
    if (n) qsort(subs, (size_t)n, sizeof *subs, compare_stable);
    int64_t m = 0;
    for (int64_t i = 0; i < n; i++) {
        if (!i || compare_subs(&subs[i - 1], &subs[i])) first[m++] = subs[i].place;
        of[subs[i].place] = first[m - 1];
    }
    if (!sorted && m) qsort(first, (size_t)m, sizeof *first, compare_first);
    int64_t *number = wick_onnx_alloc(c, (size_t)n, sizeof *number); /* of the one that first stands there */
    if (!number) return;
    for (int64_t i = 0; i < m; i++) number[first[i]] = i;
    for (int64_t i = 0; i < n; i++) count[inverse[i] = number[of[i]]]++;
    wick_tensor *at = wick_from(c->ctx, WICK_I64, 1, &m, first);
    wick_onnx_set(c, 0, flat ? wick_gather(wick_reshape(x, 1, &h.n), 0, at) : wick_gather(x, axis, at));
    wick_onnx_set(c, 1, at);
    wick_onnx_set(c, 2, wick_from(c->ctx, WICK_I64, 1, &n, inverse));
    wick_onnx_set(c, 3, wick_from(c->ctx, WICK_I64, 1, &m, count));
}

static const onnx_op ops[] = {
    {"LabelEncoder", 2, 0, label_encoder, {0}},
    {"Binarizer", 1, 0, binarizer, {0}},
    {"ArrayFeatureExtractor", 1, 0, array_feature_extractor, {0}},
    {"TreeEnsemble", 5, 0, tree_ensemble, {0}},
};
static const onnx_op looked_up[] = {{"TfIdfVectorizer", 9, 0, tf_idf, {0}}, {"Unique", 11, 0, unique, {0}}};
const onnx_family wick_onnx_ml = {"ai.onnx.ml", ops, WICK_COUNTOF(ops)}, wick_onnx_looked_up = {"", looked_up, WICK_COUNTOF(looked_up)};
