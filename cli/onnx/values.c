#include "values.h"

#include "ports.h"
#include "../term/log.h"

#include "wick/ops.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SHOWN = 1000, EDGE = 3, DIGITS = 9, DIGITS_F64 = 17 };

const char *value_type(const wick_onnx_value *v, char *text, size_t size) {
    size_t n = 0;
    switch (v->kind) {
    case WICK_VALUE_TENSOR:
        return spec_text(wick_tensor_dtype(v->tensor), wick_tensor_rank(v->tensor), wick_tensor_dims(v->tensor), text,
                         size);
    case WICK_VALUE_STRINGS:
        n = (size_t)snprintf(text, size, "string [");
        for (int i = 0; i < v->rank && n < size; i++)
            n += (size_t)snprintf(text + n, size - n, "%s%lld", i ? ", " : "", (long long)v->dims[i]);
        if (n < size) snprintf(text + n, size - n, "]");
        return text;
    case WICK_VALUE_SEQUENCE: snprintf(text, size, "sequence of %zu", v->n); return text;
    case WICK_VALUE_MAP: snprintf(text, size, "map of %zu", v->n); return text;
    default: snprintf(text, size, "nothing"); return text;
    }
}

int64_t value_count(const wick_onnx_value *v) {
    int64_t n = 0;
    switch (v->kind) {
    case WICK_VALUE_TENSOR: return wick_tensor_count(v->tensor);
    case WICK_VALUE_STRINGS:
    case WICK_VALUE_MAP: return (int64_t)v->n;
    case WICK_VALUE_SEQUENCE:
        for (size_t i = 0; i < v->n; i++) n += value_count(&v->items[i]);
        return n;
    default: return 0;
    }
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

/* The elements of a tensor, of i64, u64 or f64; or texts. */
typedef struct elements {
    const wick_text *texts;
    void *data;
    wick_dtype dtype;
    int digits;
} elements;

static void element_json(json *j, const char *key, const elements *e, int64_t i) {
    char text[32];
    if (e->texts) {
        json_bytes(j, key, e->texts[i].at, e->texts[i].size);
    } else if (e->dtype == WICK_BOOL) {
        json_bool(j, key, ((const uint8_t *)e->data)[i] != 0);
    } else if (e->dtype == WICK_U64) {
        snprintf(text, sizeof text, "%llu", (unsigned long long)((const uint64_t *)e->data)[i]);
        json_raw(j, key, text);
    } else if (e->dtype == WICK_I64) {
        json_integer(j, key, ((const int64_t *)e->data)[i]);
    } else {
        const double x = ((const double *)e->data)[i];
        if (isfinite(x)) json_real(j, key, x, e->digits);
        else json_text(j, key, isnan(x) ? "NaN" : x > 0 ? "Infinity" : "-Infinity");
    }
}

/* Malloc'ed: free(out->data). */
static wick_status elements_of(const wick_onnx_value *v, elements *out) {
    *out = (elements){.texts = v->texts};
    if (v->kind == WICK_VALUE_STRINGS) return WICK_OK;
    const wick_dtype d = wick_tensor_dtype(v->tensor);
    out->texts = NULL;
    out->digits = d == WICK_F64 ? DIGITS_F64 : DIGITS;
    const bool floats = d == WICK_F32 || d == WICK_F64 || d == WICK_F16 || d == WICK_BF16 ||
                        (d >= WICK_F8_E4M3FN && d <= WICK_F8_E8M0) || d == WICK_F4_E2M1;
    out->dtype = d == WICK_BOOL || d == WICK_U64 ? d : floats ? WICK_F64 : WICK_I64;
    const size_t bytes = (size_t)wick_tensor_count(v->tensor) * (d == WICK_BOOL ? 1 : 8);
    if (!(out->data = malloc(bytes + 1))) return WICK_ERR_NOMEM;
    return wick_read(wick_cast(v->tensor, out->dtype), out->data, bytes);
}

static int64_t nested_json(json *j, const char *key, const elements *e, int rank, const int64_t *dims, int64_t at) {
    if (!rank) return element_json(j, key, e, at), at + 1;
    json_open(j, key, '[');
    for (int64_t i = 0; i < dims[0]; i++) at = nested_json(j, NULL, e, rank - 1, dims + 1, at);
    json_close(j, ']');
    return at;
}

/* Entry i of a map: its key as a text. */
static char *key_of(const elements *keys, int64_t i) {
    char text[32];
    if (keys->texts) {
        const size_t size = keys->texts[i].size;
        char *copy = malloc(size + 1);
        if (copy) memcpy(copy, keys->texts[i].at, size), copy[size] = 0;
        return copy;
    }
    snprintf(text, sizeof text, "%lld", (long long)((const int64_t *)keys->data)[i]);
    return strdup(text);
}

static wick_status map_json(json *j, const char *key, const wick_onnx_value *v) {
    elements keys = {0}, values = {0};
    wick_status status = elements_of(&v->items[0], &keys);
    if (status == WICK_OK) status = elements_of(&v->items[1], &values);
    json_open(j, key, '{');
    for (size_t i = 0; i < v->n && status == WICK_OK; i++) {
        char *name = key_of(&keys, (int64_t)i);
        if (name) element_json(j, name, &values, (int64_t)i);
        else status = WICK_ERR_NOMEM;
        free(name);
    }
    json_close(j, '}');
    free(keys.data), free(values.data);
    return status;
}

wick_status value_json(json *j, const char *key, const wick_onnx_value *v) {
    elements e = {0};
    wick_status status = WICK_OK;
    switch (v->kind) {
    case WICK_VALUE_TENSOR:
    case WICK_VALUE_STRINGS:
        status = elements_of(v, &e);
        if (status == WICK_OK && v->kind == WICK_VALUE_STRINGS) nested_json(j, key, &e, v->rank, v->dims, 0);
        else if (status == WICK_OK)
            nested_json(j, key, &e, wick_tensor_rank(v->tensor), wick_tensor_dims(v->tensor), 0);
        free(e.data);
        return status;
    case WICK_VALUE_MAP: return map_json(j, key, v);
    case WICK_VALUE_SEQUENCE:
        json_open(j, key, '[');
        for (size_t i = 0; i < v->n && status == WICK_OK; i++) status = value_json(j, NULL, &v->items[i]);
        json_close(j, ']');
        return status;
    default: json_text(j, key, NULL); return WICK_OK;
    }
}

/* ---- text -------------------------------------------------------------------------------------------------------- */

/* Rows of texts in quotes, in brackets as NumPy prints them; of long axes the ends. */
static void print_texts(const wick_text *texts, int rank, const int64_t *dims, int indent, bool all) {
    if (!rank) {
        log_print("\"%.*s\"", (int)(texts->size < 4000 ? texts->size : 4000), texts->at);
        return;
    }
    int64_t each = 1;
    for (int i = 1; i < rank; i++) each *= dims[i];
    printf("[");
    for (int64_t i = 0; i < dims[0]; i++) {
        if (i) printf(rank > 1 ? "\n%*s" : " ", rank > 1 ? indent + 1 : 0, "");
        if (!all && dims[0] > 2 * EDGE && i == EDGE) {
            printf("...");
            i = dims[0] - EDGE - 1;
            continue;
        }
        print_texts(texts + i * each, rank - 1, dims + 1, indent + 1, all);
    }
    printf("]");
}

static void print_map(const wick_onnx_value *v) {
    elements keys = {0}, values = {0};
    const bool good = elements_of(&v->items[0], &keys) == WICK_OK && elements_of(&v->items[1], &values) == WICK_OK;
    const bool all = v->n <= MOST_SHOWN;
    printf("{");
    for (size_t i = 0; i < v->n && good; i++) {
        if (!all && i == EDGE) {
            printf(", ...");
            i = v->n - EDGE - 1;
            continue;
        }
        char *key = key_of(&keys, (int64_t)i);
        const char *quote = keys.texts ? "\"" : "";
        log_print("%s%s%s%s: ", i ? ", " : "", quote, key ? key : "?", quote);
        if (values.texts) log_print("\"%.*s\"", (int)values.texts[i].size, values.texts[i].at);
        else if (values.dtype == WICK_F64)
            printf("%.*g", values.digits == DIGITS ? 7 : 15, ((const double *)values.data)[i]);
        else printf("%lld", (long long)((const int64_t *)values.data)[i]);
        free(key);
    }
    printf("}\n");
    free(keys.data), free(values.data);
}

void value_print(const wick_onnx_value *v) {
    char text[4096];
    switch (v->kind) {
    case WICK_VALUE_TENSOR:
        wick_format(v->tensor, text, sizeof text);
        printf("%s\n", text);
        return;
    case WICK_VALUE_STRINGS:
        print_texts(v->texts, v->rank, v->dims, 0, v->n <= MOST_SHOWN);
        printf("\n");
        return;
    case WICK_VALUE_MAP: print_map(v); return;
    case WICK_VALUE_SEQUENCE:
        for (size_t i = 0; i < v->n; i++) {
            if (value_count(v) > MOST_SHOWN && v->n > 2 * EDGE && i == EDGE) printf("...\n"), i = v->n - EDGE;
            printf("%zu: ", i);
            if (v->items[i].kind != WICK_VALUE_MAP) printf("%s\n", value_type(&v->items[i], text, sizeof text));
            value_print(&v->items[i]);
        }
        return;
    default: printf("nothing\n");
    }
}

/* ---- scores ------------------------------------------------------------------------------------------------------ */

static bool is_scored_map(const wick_onnx_value *v) {
    if (v->kind != WICK_VALUE_MAP || !v->n || v->items[1].kind != WICK_VALUE_TENSOR) return false;
    const wick_dtype d = wick_tensor_dtype(v->items[1].tensor);
    return d == WICK_F32 || d == WICK_F64;
}
bool value_is_scores(const wick_onnx_value *v) {
    return is_scored_map(v) || (v->kind == WICK_VALUE_SEQUENCE && v->n && is_scored_map(&v->items[0]));
}

typedef struct scored {
    int64_t number;
    double value;
} scored;
/* Higher ones first, of equal ones the first; NaN last. */
static int by_value(const void *a, const void *b) {
    const scored *x = a, *y = b;
    if (isnan(x->value) != isnan(y->value)) return isnan(x->value) ? 1 : -1;
    return x->value != y->value && !isnan(x->value) ? (x->value < y->value) - (x->value > y->value)
                                                    : (x->number > y->number) - (x->number < y->number);
}

/* j NULL: lines. */
static void map_top(json *j, const wick_onnx_value *v, int64_t top) {
    elements keys = {0}, values = {0};
    scored *s = calloc(v->n + 1, sizeof *s);
    const bool good = s && elements_of(&v->items[0], &keys) == WICK_OK && elements_of(&v->items[1], &values) == WICK_OK;
    for (size_t i = 0; i < v->n && good; i++) s[i] = (scored){(int64_t)i, ((const double *)values.data)[i]};
    if (good) qsort(s, v->n, sizeof *s, by_value);
    if (j) json_open(j, NULL, '[');
    for (int64_t i = 0; i < (int64_t)v->n && i < top && good; i++) {
        char *key = key_of(&keys, s[i].number);
        if (j) {
            json_open(j, NULL, '{');
            json_text(j, "label", key);
            json_real(j, "score", s[i].value, DIGITS);
            json_close(j, '}');
        } else log_print("%12.6g  %s\n", s[i].value, key ? key : "?");
        free(key);
    }
    if (j) json_close(j, ']');
    free(s), free(keys.data), free(values.data);
}

void value_print_top(const wick_onnx_value *v, int64_t top) {
    if (v->kind == WICK_VALUE_MAP) map_top(NULL, v, top);
    for (size_t i = 0; v->kind == WICK_VALUE_SEQUENCE && i < v->n; i++) {
        printf("%zu:\n", i);
        map_top(NULL, &v->items[i], top);
    }
}

void value_json_top(json *j, const wick_onnx_value *v, int64_t top) {
    json_open(j, "top", '[');
    if (v->kind == WICK_VALUE_MAP) map_top(j, v, top);
    for (size_t i = 0; v->kind == WICK_VALUE_SEQUENCE && i < v->n; i++) map_top(j, &v->items[i], top);
    json_close(j, ']');
}
