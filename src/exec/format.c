/* format.c: tensors as text, laid out as NumPy's str() does: shortest digits that read back the same (at most 8 after the point), one
 * width for all, rows wrapped at 75 characters, "..." in place of the middle above 1,000 elements. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "exec/exec.h"

#define LINE 75
#define SUMMARISE 1000
#define EDGE 3
#define PRECISION 8

typedef struct printer {
    char *out;
    size_t size, total;
    const wick_value *v;
    int64_t edge; /* elements shown at each end of an axis, or INT64_MAX */
    bool scientific;
    int left, right, width; /* digits before the point (with sign) and after; whole width */
    int column;
} printer;

static void emit(printer *p, const char *text) {
    for (; *text; text++, p->total++) {
        if (p->total + 1 < p->size) p->out[p->total] = *text;
        p->column = *text == '\n' ? 0 : p->column + 1;
    }
}

static double as_double(const wick_value *v, int64_t at) {
    double x = 0;
    wick_copy c = {.rank = 0, .src = (wick_dtype)v->type.dtype, .dst = WICK_F64};
    size_t elem = wick_dtype_size((wick_dtype)v->type.dtype);
    wick_copy_run(&c, 0, 1, (const char *)v->array->storage->data + at * (int64_t)elem, &x);
    return x;
}

/* Does x, printed as text, read back as the same element? Values of narrow types are judged at f32. */
static bool reads_back(const wick_value *v, double x, const char *text) {
    double y = strtod(text, NULL);
    return v->type.dtype == WICK_F64 ? y == x : (float)y == (float)x;
}

/* The fewest digits after the point that tell x from its neighbours, at most PRECISION. */
static int digits_needed(const wick_value *v, double x, bool scientific) {
    char text[400];
    for (int d = 0; d < PRECISION; d++) {
        snprintf(text, sizeof text, scientific ? "%.*e" : "%.*f", d, x);
        if (reads_back(v, x, text)) return d;
    }
    return PRECISION;
}

static void format_element(const printer *p, int64_t at, char *text, size_t size) {
    const wick_value *v = p->v;
    int dtype = v->type.dtype;
    if (dtype == WICK_BOOL) {
        snprintf(text, size, "%*s", p->width, as_double(v, at) != 0 ? "True" : "False");
    } else if (dtype == WICK_U64) {
        uint64_t u;
        memcpy(&u, (const char *)v->array->storage->data + at * 8, 8);
        snprintf(text, size, "%*llu", p->width, (unsigned long long)u);
    } else if (dtype == WICK_I64) {
        int64_t i;
        memcpy(&i, (const char *)v->array->storage->data + at * 8, 8);
        snprintf(text, size, "%*lld", p->width, (long long)i);
    } else if (wick_dtype_is_integer(dtype)) {
        snprintf(text, size, "%*.0f", p->width, as_double(v, at));
    } else {
        double x = as_double(v, at);
        char number[400];
        if (!isfinite(x)) {
            snprintf(text, size, "%*s", p->width, isnan(x) ? "nan" : x > 0 ? "inf" : "-inf");
            return;
        }
        if (p->scientific) {
            snprintf(number, sizeof number, "%.*e", p->right, x);
            char *e = strchr(number, 'e');
            if (p->right == 0) /* "1e-05" is written "1.e-05" */
                snprintf(text, size, "%*s%.*s.%s", WICK_MAX(0, p->width - (int)strlen(number) - 1), "", (int)(e - number), number, e);
            else
                snprintf(text, size, "%*s", p->width, number);
            return;
        }
        int d = digits_needed(v, x, false);
        snprintf(number, sizeof number, "%.*f%s", d, x, d ? "" : ".");
        for (size_t n = strlen(number); d > 0 && number[n - 1] == '0'; n--) number[n - 1] = 0; /* after rounding to PRECISION */
        const char *point = strchr(number, '.');
        int before = (int)(point - number), after = (int)strlen(point + 1);
        snprintf(text, size, "%*s%s%*s", WICK_MAX(0, p->left - before), "", number, p->right - after, "");
    }
}

/* Calls fn for every element shown. */
static void each_shown(printer *p, int axis, int64_t at, void (*fn)(printer *, int64_t, void *), void *arg) {
    if (axis == p->v->type.rank) {
        fn(p, at, arg);
        return;
    }
    int64_t n = p->v->type.dims[axis];
    for (int64_t i = 0; i < n; i++) {
        if (i >= p->edge && i < n - p->edge) i = n - p->edge;
        each_shown(p, axis + 1, at + i * p->v->array->layout.strides[axis], fn, arg);
    }
}

typedef struct range {
    double largest, smallest; /* of the finite, non-zero magnitudes */
} range;
static void find_range(printer *p, int64_t at, void *arg) {
    range *r = arg;
    double x = fabs(as_double(p->v, at));
    if (!isfinite(x) || x == 0) return;
    r->largest = WICK_MAX(r->largest, x);
    r->smallest = WICK_MIN(r->smallest, x);
}
static void find_digits(printer *p, int64_t at, void *arg) {
    (void)arg;
    double x = as_double(p->v, at);
    if (isfinite(x)) p->right = WICK_MAX(p->right, digits_needed(p->v, x, p->scientific));
}
static void find_left(printer *p, int64_t at, void *arg) {
    int *widest = arg;
    double x = as_double(p->v, at);
    char text[400];
    if (!isfinite(x)) {
        *widest = WICK_MAX(*widest, x < 0 ? 4 : 3); /* NumPy right-aligns nan and inf over the whole width */
        return;
    }
    snprintf(text, sizeof text, "%.*f", p->right, x);
    const char *point = strchr(text, '.');
    p->left = WICK_MAX(p->left, point ? (int)(point - text) : (int)strlen(text));
}
static void find_widest(printer *p, int64_t at, void *arg) {
    int *widest = arg;
    char text[512];
    format_element(p, at, text, sizeof text);
    *widest = WICK_MAX(*widest, (int)strlen(text));
}

static void choose_format(printer *p) {
    int widest = 0;
    if (wick_dtype_is_float(p->v->type.dtype)) {
        range r = {0, INFINITY};
        each_shown(p, 0, p->v->array->layout.offset, find_range, &r);
        p->scientific = r.largest >= 1e8 || (r.largest > 0 && (r.smallest < 1e-4 || r.largest / r.smallest > 1000));
        each_shown(p, 0, p->v->array->layout.offset, find_digits, NULL);
        if (!p->scientific) {
            each_shown(p, 0, p->v->array->layout.offset, find_left, &widest);
            p->width = WICK_MAX(p->left + 1 + p->right, widest);
            p->left = p->width - 1 - p->right;
            return;
        }
    }
    each_shown(p, 0, p->v->array->layout.offset, find_widest, &widest);
    p->width = widest;
}

static void print_axis(printer *p, int axis, int64_t at) {
    const wick_type *t = &p->v->type;
    char text[512];
    if (axis == t->rank) {
        format_element(p, at, text, sizeof text);
        emit(p, text);
        return;
    }
    int64_t n = t->dims[axis];
    bool innermost = axis == t->rank - 1;
    emit(p, "[");
    for (int64_t i = 0; i < n; i++) {
        bool gap = i >= p->edge && i < n - p->edge;
        if (i) {
            if (innermost && p->column + 1 + (gap ? 3 : p->width) > LINE - t->rank) { /* closing brackets must still fit */
                emit(p, "\n");
                for (int k = 0; k <= axis; k++) emit(p, " ");
            } else if (innermost)
                emit(p, " ");
            else {
                for (int k = axis; k < t->rank - 1; k++) emit(p, "\n");
                for (int k = 0; k <= axis; k++) emit(p, " ");
            }
        }
        if (gap) {
            emit(p, "...");
            i = n - p->edge - 1;
            continue;
        }
        print_axis(p, axis + 1, at + i * p->v->array->layout.strides[axis]);
    }
    emit(p, "]");
}

size_t wick_format(wick_tensor *x, char *buffer, size_t size) {
    printer p = {.out = buffer, .size = size, .edge = INT64_MAX};
    const char *wrong = "out of memory";
    bool good = x && !x->error && (x->value->array || wick_eval(x->ctx, 1, &x, NULL) == WICK_OK);
    if (good) {
        p.v = x->value;
        if (wick_tensor_count(x) > SUMMARISE) p.edge = EDGE;
        if (wick_tensor_count(x) == 0)
            emit(&p, "[]");
        else {
            choose_format(&p);
            if (!p.v->type.rank) { /* a number alone is not padded: 1.0, not "1." */
                char text[512];
                format_element(&p, p.v->array->layout.offset, text, sizeof text);
                emit(&p, text + strspn(text, " "));
                if (text[strlen(text) - 1] == '.') emit(&p, "0");
            } else
                print_axis(&p, 0, p.v->array->layout.offset);
        }
    } else {
        if (x) wrong = x->error ? x->error->text : wick_context_error(x->ctx);
        emit(&p, "<poisoned: ");
        emit(&p, wrong);
        emit(&p, ">");
    }
    if (size) buffer[p.total < size ? p.total : size - 1] = 0;
    return p.total;
}
