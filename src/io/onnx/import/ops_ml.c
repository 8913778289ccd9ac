/* ops_ml.c: encoders, maps and n-grams (ai.onnx.ml): numbers are graphs, strings and maps are looked up on the host. */
#define WICK_NO_SITES
#include <math.h>
#include <stdlib.h>

#include "io/onnx/import/ml.h"
#include "wick/index.h"
#include "wick/pointwise.h"
#include "wick/sort.h"

/* ---- looking up on the host: entries sorted, the last of equal ones counts --------------------------------------- */

typedef struct entry {
    wick_text text;
    int64_t number;
    double value; /* of floats; NaN lies behind all */
    size_t place;
} entry;

static int compare_keys(const void *a, const void *b, wick_watch *watch) {
    const entry *x = a, *y = b;
    if (x->text.at) return wick_onnx_compare_texts(x->text, y->text, watch);
    if (x->number != y->number) return x->number < y->number ? -1 : 1;
    if (isnan(x->value) || isnan(y->value)) return isnan(x->value) - isnan(y->value);
    return (x->value > y->value) - (x->value < y->value);
}
static entry entry_of(const onnx_list *l, size_t i) {
    entry e = {.place = i};
    if (l->kind == ONNX_LIST_STRINGS) e.text = (wick_text){l->texts[i].at ? l->texts[i].at : "", l->texts[i].size};
    else if (l->kind == ONNX_LIST_INTS) e.number = l->ints[i];
    else e.value = l->floats[i];
    return e;
}
/* first: of equal entries the first counts instead. */
static entry *index_of(onnx_call *c, const onnx_list *keys, bool first, size_t *n) {
    entry *all = wick_onnx_alloc(c, keys->n, sizeof *all);
    *n = 0;
    if (!all) return NULL;
    for (size_t i = 0; i < keys->n; i++) all[i] = entry_of(keys, i);
    if (!wick_onnx_sort(c, all, keys->n, sizeof *all, compare_keys)) return NULL;
    for (size_t i = 0; i < keys->n && wick_onnx_spend(c, 1); i++) {
        if (*n && !compare_keys(&all[*n - 1], &all[i], &c->ctx->watch)) {
            if (!first) all[*n - 1] = all[i];
        } else all[(*n)++] = all[i];
    }
    return all;
}
/* The key's place in the list that was indexed, or -1. */
static int64_t look_up(onnx_call *c, const entry *all, size_t n, entry key) {
    size_t low = 0, high = n;
    while (low < high && wick_onnx_spend(c, 4)) {
        const size_t middle = low + (high - low) / 2;
        const int order = compare_keys(&key, &all[middle], &c->ctx->watch);
        if (!order) return (int64_t)all[middle].place;
        *(order < 0 ? &high : &low) = middle + (order > 0);
    }
    return -1;
}

static void set_strings(onnx_call *c, int i, int rank, const int64_t *dims, size_t n, const wick_text *texts) {
    wick_onnx_value y = {.kind = WICK_VALUE_STRINGS, .rank = rank, .n = n, .texts = texts};
    memcpy(y.dims, dims, (size_t)rank * sizeof *dims);
    wick_onnx_set_value(c, i, y, c->dynamic);
}
static void shape_of(const wick_onnx_value *v, int *rank, const int64_t **dims) {
    const bool strings = v->kind == WICK_VALUE_STRINGS;
    *rank = strings ? v->rank : wick_tensor_rank(v->tensor);
    *dims = strings ? v->dims : wick_tensor_dims(v->tensor);
}

/* ---- labels and categories --------------------------------------------------------------------------------------- */

/* Numbers to numbers: the place among sorted keys, and whether the key there is the one. */
static wick_tensor *encode_numbers(onnx_call *c, wick_tensor *x, const onnx_list *keys, const onnx_list *values,
                                   const onnx_list *otherwise) {
    size_t n;
    entry *all = index_of(c, keys, false, &n);
    double *sorted = all ? wick_onnx_alloc(c, n, sizeof *sorted) : NULL,
           *out = sorted ? wick_onnx_alloc(c, n + 1, sizeof *out) : NULL;
    int64_t *sorted_ints = out ? wick_onnx_alloc(c, n, sizeof *sorted_ints) : NULL,
            *out_ints = sorted_ints ? wick_onnx_alloc(c, n + 1, sizeof *out_ints) : NULL;
    if (!out_ints) return NULL;
    const bool whole = keys->kind == ONNX_LIST_INTS, whole_out = values->kind == ONNX_LIST_INTS;
    for (size_t i = 0; i < n; i++) {
        sorted[i] = all[i].value, sorted_ints[i] = all[i].number;
        out[i] = values->floats[all[i].place], out_ints[i] = whole_out ? values->ints[all[i].place] : 0;
    }
    const bool given = otherwise->kind != ONNX_LIST_NONE && otherwise->n;
    out[n] = given ? otherwise->floats[0] : -0.0, out_ints[n] = given && whole_out ? otherwise->ints[0] : -1;
    wick_tensor *table = wick_cast(wick_from(c->ctx, whole_out ? WICK_I64 : WICK_F64, 1, &(int64_t){(int64_t)n + 1},
                                             whole_out ? (void *)out_ints : (void *)out),
                                   values->dtype);
    int64_t real = (int64_t)n; /* keys that are numbers */
    const bool nan = n && isnan(sorted[n - 1]);
    real -= nan;
    /* of the default */
    wick_tensor *place =
        wick_expand(wick_constant(c->ctx, WICK_I64, (double)n), wick_tensor_rank(x), wick_tensor_dims(x));
    if (real) {
        const wick_dtype dtype = whole ? WICK_I64 : WICK_F64;
        wick_tensor *ordered = wick_from(c->ctx, dtype, 1, &real, whole ? (void *)sorted_ints : (void *)sorted),
                    *wide = wick_cast(x, dtype);
        wick_tensor *near = wick_minimum(wick_searchsorted(ordered, wide, false), wick_like(place, (double)(real - 1)));
        place = wick_where(wick_eq(wick_gather(ordered, 0, near), wide), near, place);
    }
    if (nan) place = wick_where(wick_isnan(x), wick_like(place, (double)(n - 1)), place);
    return wick_gather(table, 0, place);
}

static void encode(onnx_call *c, const onnx_list *keys, const onnx_list *values, const onnx_list *otherwise) {
    const onnx_value *x = wick_onnx_in(c, 0);
    if (!x) return;
    const bool strings = x->v.kind == WICK_VALUE_STRINGS;
    const int in_kind = strings                           ? ONNX_LIST_STRINGS
                        : x->v.kind != WICK_VALUE_TENSOR  ? ONNX_LIST_NONE
                        : wick_onnx_is_float(x->v.tensor) ? ONNX_LIST_FLOATS
                                                          : ONNX_LIST_INTS;
    if (keys->kind == ONNX_LIST_NONE || values->kind == ONNX_LIST_NONE || keys->n != values->n ||
        (int)keys->kind != in_kind || (otherwise->kind != ONNX_LIST_NONE && otherwise->kind != values->kind)) {
        wick_onnx_fail(c, WICK_ERR_FORMAT, "its keys, values, default and input do not fit each other");
        return;
    }
    if (!strings && values->kind != ONNX_LIST_STRINGS) {
        wick_tensor *y = encode_numbers(c, x->v.tensor, keys, values, otherwise);
        if (y) wick_onnx_set(c, 0, y);
        return;
    }
    onnx_list in;
    size_t n;
    if (!wick_onnx_list_of(c, &x->v, x->dynamic, &in)) return;
    const entry *all = index_of(c, keys, false, &n);
    wick_text *texts = all ? wick_onnx_alloc(c, in.n, sizeof *texts) : NULL;
    double *floats = texts ? wick_onnx_alloc(c, in.n, sizeof *floats) : NULL;
    int64_t *ints = floats ? wick_onnx_alloc(c, in.n, sizeof *ints) : NULL;
    if (!ints) return;
    const bool given = otherwise->kind != ONNX_LIST_NONE && otherwise->n;
    for (size_t i = 0; i < in.n; i++) {
        const int64_t k = look_up(c, all, n, entry_of(&in, i));
        if (values->kind == ONNX_LIST_STRINGS)
            texts[i] = k >= 0 ? values->texts[k] : given ? otherwise->texts[0] : (wick_text){"_Unused", 7};
        if (values->kind == ONNX_LIST_INTS) ints[i] = k >= 0 ? values->ints[k] : given ? otherwise->ints[0] : -1;
        if (values->kind == ONNX_LIST_FLOATS)
            floats[i] = k >= 0 ? values->floats[k] : given ? otherwise->floats[0] : -0.0;
    }
    int rank;
    const int64_t *dims;
    shape_of(&x->v, &rank, &dims);
    if (values->kind == ONNX_LIST_STRINGS) set_strings(c, 0, rank, dims, in.n, texts);
    else {
        const bool whole = values->kind == ONNX_LIST_INTS;
        wick_onnx_set(
            c, 0,
            wick_cast(wick_from(c->ctx, whole ? WICK_I64 : WICK_F64, rank, dims, whole ? (void *)ints : (void *)floats),
                      values->dtype));
    }
}

static void label_encoder(onnx_call *c) {
    onnx_list keys, values, otherwise;
    if (wick_onnx_list(c, "keys", &keys) && wick_onnx_list(c, "values", &values) &&
        wick_onnx_default(c, (int)values.kind, &otherwise))
        encode(c, &keys, &values, &otherwise);
}

/* Between strings and integers, whichever the input is; `ints` NULL: places. */
static void between(onnx_call *c, const onnx_list *texts, const int64_t *ints) {
    const onnx_value *x = wick_onnx_in(c, 0);
    int64_t *own = wick_onnx_alloc(c, texts->n, sizeof *own);
    double *floats = own ? wick_onnx_alloc(c, texts->n + 1, sizeof *floats) : NULL;
    if (!x || !floats) return;
    for (size_t i = 0; i < texts->n; i++) own[i] = ints ? ints[i] : (int64_t)i;
    onnx_list numbers = {.kind = ONNX_LIST_INTS, .n = texts->n, .ints = own, .floats = floats, .dtype = WICK_I64};
    const bool strings = x->v.kind == WICK_VALUE_STRINGS;
    const wick_bytes text = wick_onnx_text(c, "default_string", "_Unused");
    const onnx_list otherwise =
        strings ? (onnx_list){.kind = ONNX_LIST_INTS,
                              .n = 1,
                              .ints = &(int64_t){wick_onnx_int(c, "default_int64", -1)},
                              .floats = &(double){-1}}
                : (onnx_list){.kind = ONNX_LIST_STRINGS, .n = 1, .texts = &(wick_text){text.at, text.size}};
    encode(c, strings ? texts : &numbers, strings ? &numbers : texts, &otherwise);
}

static void label_encoder_1(onnx_call *c) {
    onnx_list texts;
    if (!wick_onnx_list_attr(c, "classes_strings", &texts)) return;
    if (texts.kind != ONNX_LIST_STRINGS) wick_onnx_fail(c, WICK_ERR_FORMAT, "classes_strings are not there");
    else between(c, &texts, NULL);
}

static void category_mapper(onnx_call *c) {
    onnx_list texts, ints;
    if (!wick_onnx_list_attr(c, "cats_strings", &texts) || !wick_onnx_list_attr(c, "cats_int64s", &ints)) return;
    if (texts.kind != ONNX_LIST_STRINGS || ints.kind != ONNX_LIST_INTS || texts.n != ints.n)
        wick_onnx_fail(c, WICK_ERR_FORMAT, "cats_strings and cats_int64s are not of one length");
    else between(c, &texts, ints.ints);
}

/* Last axis: 1 at the category's place. Without `zeros`, what is of none is an error. */
static void one_hot_encoder(onnx_call *c) {
    const onnx_value *x = wick_onnx_in(c, 0);
    onnx_list texts, ints;
    if (!x || !wick_onnx_list_attr(c, "cats_strings", &texts) || !wick_onnx_list_attr(c, "cats_int64s", &ints)) return;
    const bool zeros = wick_onnx_int(c, "zeros", 1);
    if (x->v.kind == WICK_VALUE_STRINGS) {
        size_t n;
        const onnx_list in = {.kind = ONNX_LIST_STRINGS, .n = x->v.n, .texts = x->v.texts};
        if (texts.kind != ONNX_LIST_STRINGS) {
            wick_onnx_fail(c, WICK_ERR_FORMAT, "its input is strings, but it has no cats_strings");
            return;
        }
        const entry *all = index_of(c, &texts, false, &n);
        int64_t *at = all ? wick_onnx_alloc(c, in.n, sizeof *at) : NULL;
        for (size_t i = 0; i < in.n && at; i++)
            if ((at[i] = look_up(c, all, n, entry_of(&in, i))) < 0 && !zeros) {
                wick_onnx_fail(c, WICK_ERR_INVALID, "text %zu is of no category", i);
                return;
            }
        if (at)
            wick_onnx_set(
                c, 0, wick_one_hot(wick_from(c->ctx, WICK_I64, x->v.rank, x->v.dims, at), (int64_t)texts.n, WICK_F32));
        return;
    }
    wick_tensor *t = wick_onnx_tensor(c, 0);
    if (!t) return;
    if (ints.kind != ONNX_LIST_INTS) {
        wick_onnx_fail(c, WICK_ERR_FORMAT, "its input is numbers, but it has no cats_int64s");
        return;
    }
    const int64_t n = (int64_t)ints.n;
    int64_t *places = wick_onnx_alloc(c, ints.n, sizeof *places);
    double *floats = places ? wick_onnx_alloc(c, ints.n, sizeof *floats) : NULL;
    if (!floats) return;
    for (int64_t i = 0; i < n; i++) places[i] = i;
    const onnx_list values = {.kind = ONNX_LIST_INTS, .n = ints.n, .ints = places, .floats = floats, .dtype = WICK_I64},
                    otherwise = {.kind = ONNX_LIST_INTS, .n = 1, .ints = &n, .floats = floats};
    wick_tensor *at = encode_numbers(c, wick_cast(t, WICK_I64), &ints, &values, &otherwise);
    if (at)
        wick_onnx_set(c, 0,
                      zeros ? wick_one_hot(at, n, WICK_F32)
                            : wick_gather(wick_one_hot(wick_arange(c->ctx, WICK_I64, 0, 1, n), n, WICK_F32), 0, at));
}

/* ---- features ---------------------------------------------------------------------------------------------------- */

static void binarizer(onnx_call *c) {
    wick_tensor *x = wick_onnx_tensor(c, 0);
    if (x)
        wick_onnx_set(c, 0,
                      wick_cast(wick_gt(x, wick_like(x, wick_onnx_float(c, "threshold", 0))), wick_tensor_dtype(x)));
}

/* Columns of texts, by places on the host. */
static void extract_texts(onnx_call *c, const wick_onnx_value *v) {
    onnx_host at;
    if (!wick_onnx_host(c, 1, &at)) return;
    if (!v->rank) {
        wick_onnx_fail(c, WICK_ERR_SHAPE, "X has no dims");
        return;
    }
    const int64_t columns = v->dims[v->rank - 1];
    for (int64_t i = 0; i < at.n; i++)
        if (at.ints[i] < 0 || at.ints[i] >= columns) {
            wick_onnx_fail(c, WICK_ERR_INDEX, "feature %lld of %lld", (long long)at.ints[i], (long long)columns);
            return;
        }
    int64_t rows = 1, dims[WICK_MAX_DIMS] = {1};
    const int rank = WICK_MAX(v->rank, 2);
    for (int i = 0; i + 1 < v->rank; i++) {
        dims[i] = v->dims[i];
        /* then columns is 0 or the allocation fails */
        if (wick_mul_overflows(rows, v->dims[i], &rows)) rows = INT64_MAX;
    }
    dims[rank - 1] = at.n;
    wick_text *texts = wick_onnx_alloc2(c, rows, at.n, sizeof *texts);
    if (!texts) return;
    for (int64_t r = 0; r < rows && at.n && wick_onnx_spend(c, (size_t)at.n); r++)
        for (int64_t i = 0; i < at.n; i++) texts[r * at.n + i] = v->texts[r * columns + at.ints[i]];
    set_strings(c, 0, rank, dims, (size_t)(rows * at.n), texts);
}

static void array_feature_extractor(onnx_call *c) {
    const onnx_value *v = wick_onnx_in(c, 0);
    if (v && v->v.kind == WICK_VALUE_STRINGS) {
        extract_texts(c, &v->v);
        return;
    }
    wick_tensor *x = wick_onnx_tensor(c, 0), *at = x ? wick_onnx_tensor(c, 1) : NULL;
    if (!at) return;
    if (wick_tensor_rank(x) == 1) x = wick_unsqueeze(x, 0);
    wick_onnx_set(c, 0, wick_gather(x, wick_tensor_rank(x) - 1, wick_reshape(at, 1, &(int64_t){-1})));
}

/* Rows of all inputs beside each other, each cut or filled with zeros to what inputdimensions says. */
static void feature_vectorizer(onnx_call *c) {
    int n_widths;
    const int64_t *widths = wick_onnx_ints(c, "inputdimensions", &n_widths);
    wick_tensor **xs = wick_onnx_alloc(c, (size_t)c->n_in, sizeof(wick_tensor *));
    if (!xs) return;
    for (int i = 0; i < c->n_in; i++) {
        wick_tensor *x = wick_onnx_tensor(c, i);
        if (!x) return;
        const int64_t rows = wick_tensor_rank(x) >= 2 ? wick_tensor_dim(x, 0) : 1,
                      own = rows ? wick_tensor_count(x) / rows : 0;
        const int64_t width = i < n_widths ? widths[i] : own;
        if (width < 0 || width > 1 << 28) {
            wick_onnx_fail(c, WICK_ERR_FORMAT, "inputdimensions[%d] is %lld", i, (long long)width);
            return;
        }
        x = wick_reshape(wick_cast(x, WICK_F32), 2, (int64_t[]){rows, own});
        xs[i] = width == own ? x : wick_pad(x, 2, (int64_t[]){0, 0}, (int64_t[]){0, width - own}, 0);
    }
    if (c->n_in) wick_onnx_set(c, 0, wick_concat(c->n_in, xs, 1));
    else wick_onnx_fail(c, WICK_ERR_FORMAT, "has no inputs");
}

static void imputer(onnx_call *c) {
    wick_tensor *x = wick_onnx_tensor(c, 0);
    onnx_list values;
    if (!x || !wick_onnx_list(c, "imputed_value", &values)) return;
    const bool floats = wick_onnx_is_float(x);
    /* both kinds may be there: that of x counts */
    if (!wick_onnx_list_attr(c, floats ? "imputed_value_floats" : "imputed_value_int64s", &values)) return;
    if (values.kind == ONNX_LIST_STRINGS || !values.n ||
        (values.n != 1 && (!wick_tensor_rank(x) || (int64_t)values.n != wick_tensor_dim(x, -1)))) {
        wick_onnx_fail(c, WICK_ERR_FORMAT, "%zu imputed values of x's kind for a last axis of %lld", values.n,
                       (long long)(wick_tensor_rank(x) ? wick_tensor_dim(x, -1) : 0));
        return;
    }
    wick_tensor *to = wick_onnx_list_tensor(c, &values, wick_tensor_dtype(x), 1, &(int64_t){(int64_t)values.n});
    const double replaced =
        floats ? wick_onnx_float(c, "replaced_value_float", 0) : (double)wick_onnx_int(c, "replaced_value_int64", 0);
    wick_onnx_set(c, 0, wick_where(isnan(replaced) ? wick_isnan(x) : wick_eq(x, wick_like(x, replaced)), to, x));
}

/* (x - offset) scale, each one number or one for each feature. */
static void scaler(onnx_call *c) {
    wick_tensor *x = wick_onnx_tensor(c, 0);
    onnx_list offset, scale;
    if (!x || !wick_onnx_list_attr(c, "offset", &offset) || !wick_onnx_list_attr(c, "scale", &scale)) return;
    if (offset.kind == ONNX_LIST_STRINGS || scale.kind == ONNX_LIST_STRINGS) {
        wick_onnx_fail(c, WICK_ERR_FORMAT, "its offset or scale are no numbers");
        return;
    }
    wick_tensor *y = wick_cast(x, WICK_F32);
    if (offset.n) y = wick_sub(y, wick_onnx_list_tensor(c, &offset, WICK_F32, 1, &(int64_t){(int64_t)offset.n}));
    if (scale.n) y = wick_mul(y, wick_onnx_list_tensor(c, &scale, WICK_F32, 1, &(int64_t){(int64_t)scale.n}));
    wick_onnx_set(c, 0, y);
}

/* Rows divided by their largest number, their sum of magnitudes or their length; a row of 0 stays. */
static void normalizer(onnx_call *c) {
    wick_tensor *x = wick_onnx_tensor(c, 0);
    if (!x) return;
    const wick_bytes norm = wick_onnx_text(c, "norm", "MAX");
    const int axis = wick_tensor_rank(x) > 1;
    x = wick_cast(x, WICK_F32);
    wick_tensor *by;
    if (!wick_tensor_rank(x)) {
        wick_onnx_fail(c, WICK_ERR_SHAPE, "X has no dims");
        return;
    }
    if (wick_bytes_are(norm, "MAX")) by = wick_max(x, 1, &axis, true);
    else if (wick_bytes_are(norm, "L1")) by = wick_sum(wick_abs(x), 1, &axis, true);
    else if (wick_bytes_are(norm, "L2")) by = wick_sqrt(wick_sum(wick_square(x), 1, &axis, true));
    else {
        wick_onnx_fail(c, WICK_ERR_FORMAT, "norm \"%.*s\"", (int)WICK_MIN(norm.size, (size_t)40), norm.at);
        return;
    }
    wick_onnx_set(c, 0, wick_div(x, wick_where(wick_eq(by, wick_like(by, 0)), wick_like(by, 1), by)));
}

/* ---- maps: items are the keys and the values --------------------------------------------------------------------- */

static bool read_map(onnx_call *c, int i, onnx_list *keys, onnx_list *values) {
    const onnx_value *v = wick_onnx_in(c, i);
    if (!v) return false;
    if (v->v.kind != WICK_VALUE_MAP || !v->v.items) return wick_onnx_fail(c, WICK_ERR_FORMAT, "input %d is no map", i);
    if (!wick_onnx_list_of(c, &v->v.items[0], v->dynamic, keys) ||
        !wick_onnx_list_of(c, &v->v.items[1], v->dynamic, values))
        return false;
    return keys->n == values->n ||
           wick_onnx_fail(c, WICK_ERR_FORMAT, "a map of %zu keys and %zu values", keys->n, values->n);
}

/* Scores [N, C], or [C] of one sample, with their labels: a sequence of maps. */
static void zip_map(onnx_call *c) {
    wick_tensor *x = wick_onnx_tensor(c, 0);
    onnx_list labels;
    if (!x || !wick_onnx_class_labels(c, &labels)) return;
    if (wick_tensor_rank(x) == 1) x = wick_unsqueeze(x, 0);
    if (wick_tensor_rank(x) != 2 || labels.kind == ONNX_LIST_NONE || (int64_t)labels.n != wick_tensor_dim(x, 1)) {
        wick_onnx_fail(c, WICK_ERR_SHAPE, "%zu labels do not fit its input, whose last axis is %lld", labels.n,
                       (long long)(wick_tensor_rank(x) ? wick_tensor_dim(x, -1) : 0));
        return;
    }
    /* Keys rise, as in everybody's maps. */
    size_t n_keys;
    const entry *all = index_of(c, &labels, false, &n_keys);
    const int64_t count = (int64_t)n_keys;
    wick_text *texts = all ? wick_onnx_alloc(c, n_keys, sizeof *texts) : NULL;
    int64_t *numbers = texts ? wick_onnx_alloc(c, n_keys, sizeof *numbers) : NULL,
            *order = numbers ? wick_onnx_alloc(c, n_keys, sizeof *order) : NULL;
    if (!order) return;
    for (size_t i = 0; i < n_keys; i++)
        texts[i] = all[i].text, numbers[i] = all[i].number, order[i] = (int64_t)all[i].place;
    x = wick_gather(x, 1, wick_from(c->ctx, WICK_I64, 1, &count, order));
    const size_t n = (size_t)wick_tensor_dim(x, 0);
    wick_onnx_value *maps = wick_onnx_alloc(c, n, sizeof *maps),
                    keys = {.kind = WICK_VALUE_STRINGS, .rank = 1, .dims = {count}, .n = n_keys, .texts = texts};
    if (labels.kind != ONNX_LIST_STRINGS)
        keys = (wick_onnx_value){.kind = WICK_VALUE_TENSOR, .tensor = wick_from(c->ctx, WICK_I64, 1, &count, numbers)};
    for (size_t i = 0; i < n && maps; i++) {
        wick_onnx_value *items = wick_onnx_alloc(c, 2, sizeof *items);
        if (!items) return;
        items[0] = keys;
        items[1] = (wick_onnx_value){.kind = WICK_VALUE_TENSOR,
                                     .tensor = wick_squeeze(wick_slice(x, 0, (int64_t)i, (int64_t)i + 1, 1), 0)};
        maps[i] = (wick_onnx_value){.kind = WICK_VALUE_MAP, .n = n_keys, .items = items};
    }
    if (maps)
        wick_onnx_set_value(c, 0, (wick_onnx_value){.kind = WICK_VALUE_SEQUENCE, .n = n, .items = maps}, c->dynamic);
}

/* [1, vocabulary]: the value of each word of the vocabulary, 0 or "" where the map has none. */
static void dict_vectorizer(onnx_call *c) {
    onnx_list keys, values, words;
    if (!wick_onnx_list_attr(c, "string_vocabulary", &words) ||
        (words.kind == ONNX_LIST_NONE && !wick_onnx_list_attr(c, "int64_vocabulary", &words)) ||
        !read_map(c, 0, &keys, &values))
        return;
    if (words.kind != keys.kind) {
        wick_onnx_fail(c, WICK_ERR_FORMAT, "its vocabulary is not of the kind of the map's keys");
        return;
    }
    size_t n;
    const entry *all = index_of(c, &keys, true, &n);
    wick_text *texts = all ? wick_onnx_alloc(c, words.n, sizeof *texts) : NULL;
    double *floats = texts ? wick_onnx_alloc(c, words.n, sizeof *floats) : NULL;
    int64_t *ints = floats ? wick_onnx_alloc(c, words.n, sizeof *ints) : NULL;
    if (!ints) return;
    const bool strings = values.kind == ONNX_LIST_STRINGS, whole = values.kind == ONNX_LIST_INTS;
    for (size_t i = 0; i < words.n; i++) {
        const int64_t k = look_up(c, all, n, entry_of(&words, i));
        texts[i] = strings && k >= 0 ? values.texts[k] : (wick_text){"", 0};
        floats[i] = !strings && k >= 0 ? values.floats[k] : 0;
        ints[i] = whole && k >= 0 ? values.ints[k] : 0;
    }
    const int64_t dims[2] = {1, (int64_t)words.n};
    if (strings) set_strings(c, 0, 2, dims, words.n, texts);
    else
        wick_onnx_set(
            c, 0,
            wick_cast(wick_from(c->ctx, whole ? WICK_I64 : WICK_F64, 2, dims, whole ? (void *)ints : (void *)floats),
                      values.dtype));
}

/* Values by rising key, DENSE one behind the other, SPARSE at their keys' places, as [1, n]. */
static void cast_map(onnx_call *c) {
    onnx_list keys, values;
    if (!read_map(c, 0, &keys, &values)) return;
    const bool sparse = wick_onnx_text_is(c, "map_form", "DENSE", "SPARSE"),
               to_text = wick_onnx_text_is(c, "cast_to", "TO_FLOAT", "TO_STRING"),
               to_int = wick_onnx_text_is(c, "cast_to", "TO_FLOAT", "TO_INT64");
    size_t n;
    const entry *all = index_of(c, &keys, true, &n);
    const int64_t most = wick_onnx_int(c, "max_map", 1);
    if (!all) return;
    if (sparse && (keys.kind != ONNX_LIST_INTS || most < 0 || most > 1 << 28 ||
                   (n && (all[0].number < 0 || all[n - 1].number >= most)))) {
        wick_onnx_fail(c, WICK_ERR_INVALID, "keys of a sparse map do not lie between 0 and max_map, %lld",
                       (long long)most);
        return;
    }
    const size_t count = sparse ? (size_t)most : n;
    wick_text *texts = wick_onnx_alloc(c, count, sizeof *texts);
    double *floats = texts ? wick_onnx_alloc(c, count, sizeof *floats) : NULL;
    if (!floats) return;
    for (size_t i = 0; i < count; i++) texts[i] = (wick_text){"0", 1};
    for (size_t i = 0; i < n; i++) {
        const size_t at = sparse ? (size_t)all[i].number : i, from = all[i].place;
        if (values.kind == ONNX_LIST_STRINGS) {
            texts[at] = values.texts[from];
            if (!to_text && !wick_onnx_parse(&values.texts[from], &floats[at])) {
                wick_onnx_fail(c, WICK_ERR_INVALID, "value %zu of the map is no number", from);
                return;
            }
        } else {
            floats[at] = values.floats[from];
            char *text = to_text ? wick_onnx_alloc(c, 32, 1) : NULL;
            if (to_text && !text) return;
            if (to_text) wick_onnx_print(floats[at], values.dtype, text), texts[at] = (wick_text){text, strlen(text)};
        }
    }
    const int64_t dims[2] = {1, (int64_t)count};
    if (to_text) set_strings(c, 0, 2, dims, count, texts);
    else wick_onnx_set(c, 0, wick_cast(wick_from(c->ctx, WICK_F64, 2, dims, floats), to_int ? WICK_I64 : WICK_F32));
}

/* ---- n-grams ----------------------------------------------------------------------------------------------------- */

static bool same_entry(onnx_call *c, const onnx_list *a, size_t i, const onnx_list *b, size_t j) {
    const entry x = entry_of(a, i), y = entry_of(b, j);
    return !compare_keys(&x, &y, &c->ctx->watch);
}

static void tf_idf(onnx_call *c) {
    const onnx_value *x = wick_onnx_in(c, 0);
    onnx_list in, pool = {0};
    int n_counts, n_indexes;
    const int64_t *counts = wick_onnx_ints(c, "ngram_counts", &n_counts),
                  *indexes = wick_onnx_ints(c, "ngram_indexes", &n_indexes);
    const onnx_attr *w = wick_onnx_attr(c, "weights");
    if (!x || !wick_onnx_list_of(c, &x->v, x->dynamic, &in) || !wick_onnx_list(c, "pool", &pool)) return;
    const int64_t low = wick_onnx_int(c, "min_gram_length", 1), high = wick_onnx_int(c, "max_gram_length", 1),
                  skips = wick_onnx_int(c, "max_skip_count", 0);
    int64_t width = 0;
    for (int i = 0; i < n_indexes; i++) width = WICK_MAX(width, indexes[i] + 1);
    const bool strings = x->v.kind == WICK_VALUE_STRINGS;
    const int rank = strings ? x->v.rank : wick_tensor_rank(x->v.tensor);
    const int64_t *dims = strings ? x->v.dims : wick_tensor_dims(x->v.tensor);
    bool good = counts && indexes && pool.kind == in.kind && rank >= 1 && rank <= 2 && low >= 1 && high >= low &&
                high <= n_counts && skips >= 0 && (!w || (int)w->floats.n == n_indexes);
    for (int i = 0; i < n_counts; i++) good &= counts[i] >= (i ? counts[i - 1] : 0) && (size_t)counts[i] <= pool.n;
    for (int i = 0; i < n_indexes; i++) good &= indexes[i] >= 0 && indexes[i] < 1 << 28;
    int64_t grams = 0;
    for (int i = 0; i < n_counts && good; i++) {
        const int64_t n = (i + 1 < n_counts ? counts[i + 1] : (int64_t)pool.n) - counts[i];
        good = n % (i + 1) == 0;
        grams += n / (i + 1);
    }
    good &= grams <= n_indexes;
    if (!good) {
        wick_onnx_fail(c, WICK_ERR_FORMAT,
                       "its pool, counts, indexes, weights and lengths do not fit each other, or the input");
        return;
    }
    const int64_t rows = rank == 2 ? dims[0] : 1, columns = dims[rank - 1];
    double *y = wick_onnx_alloc2(c, rows, width, sizeof *y);
    if (!y) return;
    const int64_t most_skips = WICK_MIN(skips, columns); /* more than that reach out of every row */
    for (int64_t r = 0; r < rows && wick_onnx_spend(c, 1); r++)
        /* first: number of the first n-gram of this size; n: how many it has */
        for (int64_t size = 1, first = 0, n = 0; size <= high; size++, first += n) {
            const int64_t from = counts[size - 1], to = size < n_counts ? counts[size] : (int64_t)pool.n;
            n = (to - from) / size;
            for (int64_t skip = 0; size >= low && skip <= (size == 1 ? 0 : most_skips); skip++)
                for (int64_t at = 0; at + (size - 1) * (skip + 1) < columns; at++) {
                    if (!wick_onnx_spend(c, 1)) return;
                    for (int64_t g = 0; from + (g + 1) * size <= to; g++) {
                        bool same = true;
                        for (int64_t k = 0; k < size && same && wick_onnx_spend(c, 4); k++)
                            same = same_entry(c, &in, (size_t)(r * columns + at + k * (skip + 1)), &pool,
                                              (size_t)(from + g * size + k));
                        if (same) y[r * width + indexes[first + g]]++;
                    }
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

/* ---- unique ------------------------------------------------------------------------------------------------------ */

typedef struct sub {
    const double *at;             /* its first number */
    const int64_t *whole;         /* of integers, which not every f64 holds; else NULL */
    bool natural;                 /* they are u64 */
    int64_t outer, inner, stride; /* numbers: outer runs of inner, stride apart */
    int64_t place;
} sub;

static int compare_subs(const void *a, const void *b, wick_watch *watch) {
    const sub *x = a, *y = b;
    for (int64_t i = 0; i < x->outer && wick_watch_spend(watch, (size_t)x->inner); i++)
        for (int64_t k = i * x->stride; k < i * x->stride + x->inner; k++) {
            if (x->whole) {
                if (x->whole[k] == y->whole[k]) continue;
                return (x->natural ? (uint64_t)x->whole[k] < (uint64_t)y->whole[k] : x->whole[k] < y->whole[k]) ? -1
                                                                                                                : 1;
            }
            const double p = x->at[k], q = y->at[k];
            if (p != q && !(isnan(p) && isnan(q))) return isnan(p) ? 1 : isnan(q) ? -1 : p < q ? -1 : 1;
        }
    return 0;
}
static int compare_first(const void *a, const void *b, wick_watch *watch) {
    (void)watch;
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
    int64_t *count = inverse ? wick_onnx_alloc(c, (size_t)n, sizeof *count) : NULL,
            *of = count ? wick_onnx_alloc(c, (size_t)n, sizeof *of) : NULL;
    if (!of) return;
    for (int64_t i = 0; i < n; i++)
        subs[i] = (sub){h.floats + i * inner,
                        wick_onnx_is_float(x) ? NULL : h.ints + i * inner,
                        wick_tensor_dtype(x) == WICK_U64,
                        outer,
                        inner,
                        n * inner,
                        i};
    if (!wick_onnx_sort(c, subs, (size_t)n, sizeof *subs, compare_subs)) return;
    int64_t m = 0;
    for (int64_t i = 0; i < n && wick_onnx_spend(c, 1); i++) {
        if (!i || compare_subs(&subs[i - 1], &subs[i], &c->ctx->watch)) first[m++] = subs[i].place;
        of[subs[i].place] = first[m - 1];
    }
    if (!wick_onnx_spend(c, 0) || (!sorted && !wick_onnx_sort(c, first, (size_t)m, sizeof *first, compare_first)))
        return;
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
    {"ArrayFeatureExtractor", 1, 0, array_feature_extractor, {0}},
    {"Binarizer", 1, 0, binarizer, {0}},
    {"CastMap", 1, 0, cast_map, {0}},
    {"CategoryMapper", 1, 0, category_mapper, {0}},
    {"DictVectorizer", 1, 0, dict_vectorizer, {0}},
    {"FeatureVectorizer", 1, 0, feature_vectorizer, {0}},
    {"Imputer", 1, 0, imputer, {0}},
    {"LabelEncoder", 1, 1, label_encoder_1, {0}},
    {"LabelEncoder", 2, 0, label_encoder, {0}},
    {"Normalizer", 1, 0, normalizer, {0}},
    {"OneHotEncoder", 1, 0, one_hot_encoder, {0}},
    {"Scaler", 1, 0, scaler, {0}},
    {"ZipMap", 1, 0, zip_map, {0}},
};
static const onnx_op looked_up[] = {{"TfIdfVectorizer", 9, 0, tf_idf, {0}}, {"Unique", 11, 0, unique, {0}}};
const onnx_family wick_onnx_ml = {"ai.onnx.ml", ops, WICK_COUNTOF(ops)},
                  wick_onnx_looked_up = {"", looked_up, WICK_COUNTOF(looked_up)};
