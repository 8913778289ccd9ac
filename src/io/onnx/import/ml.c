/* ml.c: lists in attributes, labels of classes, and scores as they are wanted (ai.onnx.ml). */
#define WICK_NO_SITES
#include "io/onnx/import/ml.h"

#include <math.h>

#include "wick/pointwise.h"

/* ---- lists: of integers, floats, strings, or a tensor ------------------------------------------------------------ */

bool wick_onnx_list_of(onnx_call *c, const wick_onnx_value *v, bool dynamic, onnx_list *out) {
    if (v->kind == WICK_VALUE_STRINGS)
        return *out = (onnx_list){.kind = ONNX_LIST_STRINGS, .n = v->n, .texts = v->texts}, true;
    onnx_host h;
    if (v->kind != WICK_VALUE_TENSOR)
        return wick_onnx_fail(c, WICK_ERR_FORMAT, "a value is neither numbers nor strings");
    if (!wick_onnx_host_of(c, v->tensor, dynamic, &h)) return false;
    *out = (onnx_list){.kind = wick_onnx_is_float(v->tensor) ? ONNX_LIST_FLOATS : ONNX_LIST_INTS,
                       .n = (size_t)h.n,
                       .ints = h.ints,
                       .floats = h.floats,
                       .dtype = wick_tensor_dtype(v->tensor)};
    return true;
}

/* one: the attribute is a single value of its type. */
static bool list_of_attr(onnx_call *c, const onnx_attr *a, bool one, onnx_list *out) {
    if (a->t) {
        wick_onnx_value v;
        const wick_status status = wick_onnx_read_tensor(c->run->onnx, a->t, &v, &c->run->arena, c->msg);
        if (status != WICK_OK) return c->status = status, false;
        return wick_onnx_list_of(c, &v, false, out);
    }
    const bool floats = one ? a->type == ONNX_ATTR_FLOAT : a->floats.n != 0,
               texts = one ? a->type == ONNX_ATTR_STRING : a->strings.n != 0;
    const size_t n = one ? 1 : floats ? a->floats.n : texts ? a->strings.n : a->ints.n;
    *out = (onnx_list){.n = n,
                       .kind = floats  ? ONNX_LIST_FLOATS
                               : texts ? ONNX_LIST_STRINGS
                                       : ONNX_LIST_INTS,
                       .dtype = floats ? WICK_F32 : WICK_I64};
    if (texts) {
        wick_text *all = wick_onnx_alloc(c, n, sizeof *all);
        if (!all) return false;
        for (size_t i = 0; i < n; i++)
            all[i] = one ? (wick_text){a->s.at, a->s.size} : (wick_text){a->strings.at[i].at, a->strings.at[i].size};
        out->texts = all;
        return true;
    }
    double *numbers = wick_onnx_alloc(c, n, sizeof *numbers);
    if (!numbers) return false;
    for (size_t i = 0; i < n; i++)
        numbers[i] = floats ? one ? (double)a->f : (double)a->floats.at[i] : (double)(one ? a->i : a->ints.at[i]);
    out->floats = numbers;
    if (!floats) out->ints = one ? &a->i : a->ints.at;
    return true;
}

bool wick_onnx_list_attr(onnx_call *c, const char *name, onnx_list *out) {
    const onnx_attr *a = wick_onnx_attr(c, name);
    if (!a || (!a->t && !a->ints.n && !a->floats.n && !a->strings.n)) return *out = (onnx_list){0}, true;
    return list_of_attr(c, a, false, out);
}

bool wick_onnx_list(onnx_call *c, const char *prefix, onnx_list *out) {
    static const char *const suffixes[] = {"int64s", "floats", "strings", "tensor"};
    *out = (onnx_list){0};
    for (int k = 0; k < 4; k++) {
        char name[48];
        wick_str s = wick_str_on(name, sizeof name);
        wick_str_add(&s, "%s_%s", prefix, suffixes[k]);
        const onnx_attr *a = wick_onnx_attr(c, name);
        onnx_list list;
        if (!a || (k == 3 && !a->t)) continue;
        if (!list_of_attr(c, a, false, &list)) return false;
        if (!list.n && out->kind != ONNX_LIST_NONE) continue;
        if (out->n) return wick_onnx_fail(c, WICK_ERR_FORMAT, "attribute \"%s\" is there besides another list", name);
        *out = list;
        if (!out->n && k < 3) out->kind = k == 0 ? ONNX_LIST_INTS : k == 1 ? ONNX_LIST_FLOATS : ONNX_LIST_STRINGS;
    }
    return true;
}

bool wick_onnx_default(onnx_call *c, int kind, onnx_list *out) {
    static const char *const names[] = {[ONNX_LIST_NONE] = "",
                                        [ONNX_LIST_INTS] = "default_int64",
                                        [ONNX_LIST_FLOATS] = "default_float",
                                        [ONNX_LIST_STRINGS] = "default_string"};
    const onnx_attr *tensor = wick_onnx_attr(c, "default_tensor"),
                    *a = tensor ? tensor : wick_onnx_attr(c, names[kind]);
    *out = (onnx_list){0};
    return !a || list_of_attr(c, a, true, out);
}

bool wick_onnx_numbers(onnx_call *c, const char *name, onnx_list *out) {
    char tensor[64];
    wick_str s = wick_str_on(tensor, sizeof tensor);
    wick_str_add(&s, "%s_as_tensor", name);
    if (!wick_onnx_list_attr(c, wick_onnx_attr(c, tensor) ? tensor : name, out)) return false;
    return out->kind != ONNX_LIST_STRINGS ||
           wick_onnx_fail(c, WICK_ERR_FORMAT, "attribute \"%s\" is no list of numbers", name);
}

wick_tensor *wick_onnx_list_tensor(onnx_call *c, const onnx_list *l, wick_dtype dtype, int rank, const int64_t *dims) {
    const bool whole = l->kind == ONNX_LIST_INTS;
    return wick_cast(wick_from(c->ctx, whole ? WICK_I64 : WICK_F64, rank, dims,
                               whole ? (const void *)l->ints : (const void *)l->floats),
                     dtype);
}

/* ---- labels ------------------------------------------------------------------------------------------------------ */

bool wick_onnx_class_labels(onnx_call *c, onnx_list *out) {
    static const char *const names[] = {"classlabels_strings", "classlabels_ints", "classlabels_int64s"};
    *out = (onnx_list){0};
    for (int i = 0; i < 3 && out->kind == ONNX_LIST_NONE; i++)
        if (!wick_onnx_list_attr(c, names[i], out)) return false;
    return true;
}

void wick_onnx_set_labels(onnx_call *c, const onnx_list *labels, wick_tensor *index) {
    if (!wick_onnx_wants(c, 0)) return;
    if (labels->kind == ONNX_LIST_NONE || !labels->n) {
        wick_onnx_set(c, 0, index);
        return;
    }
    if (labels->kind != ONNX_LIST_STRINGS) {
        wick_onnx_set(
            c, 0, wick_gather(wick_onnx_list_tensor(c, labels, WICK_I64, 1, &(int64_t){(int64_t)labels->n}), 0, index));
        return;
    }
    onnx_host h;
    if (!wick_onnx_host_of(c, index, c->dynamic, &h)) return;
    wick_text *texts = wick_onnx_alloc(c, (size_t)h.n, sizeof *texts);
    for (int64_t i = 0; i < h.n && texts; i++) {
        if (h.ints[i] < 0 || (size_t)h.ints[i] >= labels->n) {
            wick_onnx_fail(c, WICK_ERR_FORMAT, "class %lld has no label", (long long)h.ints[i]);
            return;
        }
        texts[i] = labels->texts[h.ints[i]];
    }
    wick_onnx_value y = {.kind = WICK_VALUE_STRINGS, .rank = h.rank, .n = (size_t)h.n, .texts = texts};
    memcpy(y.dims, h.dims, sizeof y.dims);
    if (texts) wick_onnx_set_value(c, 0, y, c->dynamic);
}

/* ---- scores ------------------------------------------------------------------------------------------------------ */

bool wick_onnx_post(onnx_call *c, onnx_post *out) {
    static const char *const names[] = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"};
    const wick_bytes text = wick_onnx_text(c, "post_transform", "NONE");
    for (int i = 0; i < 5; i++)
        if (wick_bytes_are(text, names[i])) return *out = (onnx_post)i, c->status == WICK_OK;
    return wick_onnx_fail(c, WICK_ERR_UNSUPPORTED, "post_transform \"%.*s\"", (int)WICK_MIN(text.size, (size_t)40),
                          text.at);
}

/* A softmax in which what is 0 stays 0. */
static wick_tensor *softmax_zero(wick_tensor *x) {
    wick_tensor *top = wick_max(x, 1, &(int){1}, true);
    wick_tensor *e = wick_where(wick_gt(wick_abs(x), wick_like(x, 1e-7)), wick_exp(wick_sub(x, top)),
                                wick_mul(x, wick_exp(wick_neg(top))));
    wick_tensor *sum = wick_sum(e, 1, &(int){1}, true);
    return wick_where(wick_eq(sum, wick_like(sum, 0)), wick_like(x, 0.5), wick_div(e, sum));
}

wick_tensor *wick_onnx_post_transform(wick_tensor *x, onnx_post post) {
    switch (post) {
    case ONNX_POST_SOFTMAX:
        return wick_softmax(x, 1);
    case ONNX_POST_LOGISTIC:
        return wick_sigmoid(x);
    case ONNX_POST_SOFTMAX_ZERO:
        return softmax_zero(x);
    case ONNX_POST_PROBIT: /* the normal distribution's quantile */
        return wick_mul(wick_erfinv(wick_sub(wick_mul(x, wick_like(x, 2)), wick_like(x, 1))), wick_like(x, sqrt(2)));
    default:
        return x;
    }
}

wick_tensor *wick_onnx_second_class(wick_tensor *x, bool positive, onnx_post post) {
    if (post == ONNX_POST_PROBIT) return wick_onnx_post_transform(x, post);
    wick_tensor *pair[2] = {positive ? wick_sub(wick_like(x, 1), x) : wick_neg(x), x};
    if (!positive && post == ONNX_POST_LOGISTIC) pair[0] = wick_sigmoid(pair[0]), pair[1] = wick_sigmoid(pair[1]);
    return wick_concat(2, pair, 1);
}
