/* format.c: tensors as text, laid out as str() of NumPy 2.4 does: shortest digits that read back the same (at most 8
 * after the point), one width for all, rows wrapped at 75 characters, "..." in place of the middle above 1,000
 * elements. bf16 and f8, which NumPy lacks, print as the same values in f32. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "exec/exec.h"

#define LINE      75
#define SUMMARISE 1000
#define EDGE      3
#define PRECISION 8  /* of arrays; a number alone shows all its digits */
#define DIGITS    17 /* that tell any f64 from its neighbours */
#define TEXT      64 /* room for any element: the longest is a padded u64 or a sign, DIGITS, ".0" or an exponent */

typedef struct printer {
    char *out;
    size_t size, total;
    const wick_value *v;
    wick_dtype dtype; /* whose digits count: v's, but f32 for bf16 and f8 */
    int64_t edge;     /* elements shown at each end of an axis, or INT64_MAX */
    bool scientific;
    int left, right, exponent; /* digits before the point (with sign), after it, and of the exponent */
    int width;
    int column, spaces; /* spaces: not written yet, since NumPy leaves none at the end of a line */
} printer;

static void put(printer *p, char c) {
    if (p->total + 1 < p->size) p->out[p->total] = c;
    p->total++;
}
static void emit(printer *p, const char *text) {
    for (; *text; text++) {
        p->column = *text == '\n' ? 0 : p->column + 1;
        if (*text == ' ') {
            p->spaces++;
            continue;
        }
        if (*text == '\n') p->spaces = 0;
        for (; p->spaces; p->spaces--) put(p, ' ');
        put(p, *text);
    }
}

static uint64_t element_at(const wick_value *v, int64_t at) {
    return wick_element_get((wick_dtype)v->type.dtype, v->array->storage->data, at);
}
static double as_double(const wick_value *v, int64_t at) {
    double x = 0;
    wick_copy c = {.rank = 0, .src = (wick_dtype)v->type.dtype, .dst = WICK_F64};
    const uint64_t element = element_at(v, at);
    wick_copy_run(&c, 0, 1, &element, &x);
    return x;
}

/* ---- digits ------------------------------------------------------------------------------------------------------ */

/* y >= 0 as dtype holds it, in one rounding. */
static double nearest(wick_dtype dtype, double y) {
    if (dtype == WICK_F64) return y;
    if (dtype == WICK_F32) return (float)y;
    double unit = ldexp(1, WICK_MAX(ilogb(y), -14) - 10); /* f16: 10 bits of fraction, no exponent below -14 */
    return rint(y / unit) * unit;
}
static bool reads_back(wick_dtype dtype, double x, const char *text) {
    if (dtype == WICK_F32) return strtof(text, NULL) == (float)x; /* through a double it would be rounded twice */
    return nearest(dtype, strtod(text, NULL)) == x;
}

/* Writes x >= 0 as "d.ddde+xx" with n digits after the point: a text that reads back, else the nearest one. True when
 * it reads back. (Steele & White, "How to print floating-point numbers accurately", 1990, as NumPy's Dragon4 has it:
 * above a power of two the gap between numbers is twice the one below, so the nearest text may lie outside while the
 * one above it reads back. Where that one ends in 0 it was found with a digit less: there is no carry.) */
static bool write_digits(wick_dtype dtype, double x, int n, char text[TEXT]) {
    snprintf(text, TEXT, "%.*e", n, x);
    if (reads_back(dtype, x, text)) return true;
    char *last = strchr(text, 'e') - 1;
    if (*last != '9') {
        ++*last;
        if (reads_back(dtype, x, text)) return true;
        --*last;
    }
    return false;
}

/* d[0].d[1]d[2]... times ten to the exponent. */
typedef struct decimal {
    char d[DIGITS + 1];
    int count, exponent;
} decimal;

/* exactly >= 0: that many digits after the point of the scientific form. Otherwise as few as tell x >= 0 from its
 * neighbours; in an array at most PRECISION after the point. */
static decimal digits_of(const printer *p, double x, int exactly) {
    char text[TEXT];
    int most = exactly >= 0 ? exactly : DIGITS - 1;
    if (exactly < 0 && p->v->type.rank) {
        most = PRECISION;
        if (!p->scientific) { /* x is 0 or >= 1e-4 then */
            snprintf(text, sizeof text, "%.*e", DIGITS - 1, x);
            most = WICK_MIN(DIGITS - 1, PRECISION + atoi(strchr(text, 'e') + 1));
        }
    }
    int n = WICK_MAX(exactly, 0);
    while (!write_digits(p->dtype, x, n, text) && n < most) n++;
    decimal r = {.count = 0};
    const char *c = text;
    for (; *c != 'e'; c++)
        if (isdigit((unsigned char)*c)) r.d[r.count++] = *c;
    r.exponent = atoi(c + 1);
    while (exactly < 0 && r.count > 1 && r.d[r.count - 1] == '0') r.count--; /* after rounding to PRECISION */
    return r;
}

/* ---- elements ---------------------------------------------------------------------------------------------------- */

/* x in the printer's style, unpadded: "-12.5", "3.", "1.25e-07". exactly: as above, for the scientific form. */
static void write_float(const printer *p, double x, int exactly, char text[TEXT]) {
    if (!isfinite(x)) {
        strcpy(text, isnan(x) ? "nan" : x > 0 ? "inf" : "-inf");
        return;
    }
    decimal r = digits_of(p, fabs(x), p->scientific ? exactly : -1);
    bool alone = !p->v->type.rank; /* then 1.0 and 1e+16, not 1. and 1.e+16 */
    int last = WICK_MIN(0, r.exponent - r.count + 1);
    if (signbit(x)) *text++ = '-';
    if (p->scientific) {
        const char *point = alone && r.count == 1 ? "" : ".";
        snprintf(text, TEXT - 1, "%c%s%.*s", r.d[0], point, r.count - 1, r.d + 1);
        text += strlen(text);
        snprintf(text, TEXT / 2, "e%c%0*d", r.exponent < 0 ? '-' : '+', WICK_MAX(2, p->exponent), abs(r.exponent));
        return;
    }
    if (alone) last = WICK_MIN(last, -1);
    for (int k = WICK_MAX(r.exponent, 0); k >= last; k--) { /* the digit of 10^k */
        int i = r.exponent - k;
        *text++ = i >= 0 && i < r.count ? r.d[i] : '0';
        if (k == 0) *text++ = '.';
    }
    *text = 0;
}

/* The element at `at`, over the whole width. */
static void write_element(const printer *p, int64_t at, char text[TEXT]) {
    const wick_value *v = p->v;
    if (v->type.dtype == WICK_BOOL) {
        snprintf(text, TEXT, "%*s", p->width, as_double(v, at) != 0 ? "True" : "False");
    } else if (v->type.dtype == WICK_U64) {
        snprintf(text, TEXT, "%*llu", p->width, (unsigned long long)element_at(v, at));
    } else if (v->type.dtype == WICK_I64) {
        snprintf(text, TEXT, "%*lld", p->width, (long long)element_at(v, at));
    } else if (wick_dtype_is_integer(v->type.dtype)) {
        snprintf(text, TEXT, "%*.0f", p->width, as_double(v, at));
    } else {
        double x = as_double(v, at);
        char number[TEXT];
        write_float(p, x, p->right, number);
        int n = (int)strlen(number), before = p->width - n;
        if (isfinite(x) && p->width) before = p->left - (int)(strchr(number, '.') - number); /* the points line up */
        before = WICK_MAX(0, before);
        memset(text, ' ', (size_t)p->width);
        memcpy(text + before, number, (size_t)n);
        text[WICK_MAX(before + n, p->width)] = 0;
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
static void find_widest(printer *p, int64_t at, void *arg) {
    int *widest = arg;
    char text[TEXT];
    write_element(p, at, text);
    *widest = WICK_MAX(*widest, (int)strlen(text));
}
static void find_parts(printer *p, int64_t at, void *arg) {
    int *widest = arg;
    double x = as_double(p->v, at);
    char text[TEXT];
    write_float(p, x, -1, text);
    if (!isfinite(x)) { /* these stand to the right of the whole width */
        *widest = WICK_MAX(*widest, (int)strlen(text));
        return;
    }
    const char *point = strchr(text, '.'), *e = strchr(text, 'e');
    p->left = WICK_MAX(p->left, (int)(point - text));
    p->right = WICK_MAX(p->right, (int)(e ? e - point - 1 : (long)strlen(point + 1)));
    if (e) p->exponent = WICK_MAX(p->exponent, (int)strlen(e + 2));
}

/* NumPy's rules for the scientific form (numpy/_core/arrayprint.py and scalartypes.c.src of 2.4), in the dtype's own
 * arithmetic for arrays. A dtype has so many decimal digits that always survive: f16 3, f32 6, f64 15. */
static bool is_scientific(const printer *p, const range *r) {
    if (r->largest == 0) return false;
    bool alone = !p->v->type.rank;
    double most = p->dtype == WICK_F16 ? 1e3 : p->dtype == WICK_F32 ? 1e6 : alone ? 1e16 : 1e8;
    if (r->largest >= most) return true;
    if (alone) return r->smallest < 1e-4;
    return r->smallest < nearest(p->dtype, 1e-4) || nearest(p->dtype, r->largest / r->smallest) > 1000;
}

static void choose_format(printer *p) {
    int64_t at = p->v->array->layout.offset;
    int widest = 0;
    if (wick_dtype_is_float(p->dtype)) {
        range r = {0, INFINITY};
        each_shown(p, 0, at, find_range, &r);
        p->scientific = is_scientific(p, &r);
        if (!p->v->type.rank) {
            p->right = -1; /* a number alone is not padded, in any direction */
            return;
        }
        each_shown(p, 0, at, find_parts, &widest);
        int rest = 1 + p->right + (p->scientific ? 2 + p->exponent : 0);
        p->width = WICK_MAX(p->left + rest, widest);
        p->left = p->width - rest;
    } else {
        each_shown(p, 0, at, find_widest, &widest);
        p->width = p->v->type.dtype == WICK_BOOL && p->v->type.rank ? 5 : widest; /* " True", even without a False */
    }
}

static void print_axis(printer *p, int axis, int64_t at) {
    const wick_type *t = &p->v->type;
    char text[TEXT];
    if (axis == t->rank) {
        write_element(p, at, text);
        emit(p, text);
        return;
    }
    int64_t n = t->dims[axis];
    bool innermost = axis == t->rank - 1;
    emit(p, "[");
    for (int64_t i = 0; i < n; i++) {
        bool gap = i >= p->edge && i < n - p->edge;
        if (i) {
            bool wrap = p->column + 1 + (gap ? 3 : p->width) > LINE - t->rank; /* closing brackets must still fit */
            for (int k = axis; k < t->rank - 1; k++) emit(p, "\n");
            if (innermost && wrap) emit(p, "\n");
            for (int k = 0; k <= (innermost && !wrap ? 0 : axis); k++) emit(p, " ");
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
    if (!buffer) size = 0;
    printer p = {.out = buffer, .size = size, .edge = INT64_MAX};
    const char *wrong = "out of memory";
    bool good = x && !x->error && (x->value->array || wick_eval(x->ctx, 1, &x, NULL) == WICK_OK);
    if (good) {
        p.v = x->value;
        const wick_dtype dtype = (wick_dtype)p.v->type.dtype;
        const bool lacks = dtype == WICK_BF16 || (wick_dtype_is_stored(dtype) && wick_ctype_of(dtype) == WICK_CF32);
        p.dtype = lacks ? WICK_F32 : dtype;
        if (wick_tensor_count(x) > SUMMARISE) p.edge = EDGE;
        if (wick_tensor_count(x) == 0)
            emit(&p, "[]");
        else {
            choose_format(&p);
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
