#include "numbers.h"

#include "ports.h"

#include "wick/ops.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

bool number_read(const char **text, double *value) {
    char *end;
    *value = strtod(*text, &end);
    if (end == *text) return false;
    if (*end == '/') {
        const char *below = end + 1;
        const double by = strtod(below, &end);
        if (end == below || by == 0) return false;
        *value /= by;
    }
    *text = end;
    return true;
}

bool number_range(wick_dtype dtype, int64_t *least, uint64_t *most) {
    const bool is_signed = dtype == WICK_I8 || dtype == WICK_I16 || dtype == WICK_I32 || dtype == WICK_I64 ||
                           dtype == WICK_I4 || dtype == WICK_I2;
    const bool is_unsigned = dtype == WICK_U8 || dtype == WICK_U16 || dtype == WICK_U32 || dtype == WICK_U64 ||
                             dtype == WICK_U4 || dtype == WICK_U2;
    const int bits = dtype == WICK_BOOL ? 1 : wick_dtype_bits(dtype);
    if (!is_signed && !is_unsigned && dtype != WICK_BOOL) return false;
    *most = UINT64_MAX >> (64 - bits + is_signed);
    *least = is_signed ? -(int64_t)*most - 1 : 0;
    return true;
}

/* "x is uint8 [N], which takes whole numbers from 0 to 255" */
static wick_status cannot_hold(wick_context *ctx, const wick_onnx_port *p, const char *what, const char *which) {
    char type[256], takes[100] = "";
    wick_dtype dtype;
    int64_t least;
    uint64_t most;
    if (wick_onnx_elem_dtype(p->elem, &dtype) && number_range(dtype, &least, &most))
        snprintf(takes, sizeof takes, ", which takes whole numbers from %lld to %llu", (long long)least,
                 (unsigned long long)most);
    return wick_context_fail(ctx, WICK_ERR_MISMATCH, "%s: the input can't hold that: %s%s is %s%s", what, which,
                             p->name, port_type(p, type, sizeof type), takes);
}

/* ---- one number -------------------------------------------------------------------------------------------------- */

static bool append(uint64_t *magnitude, uint64_t digit) {
    return !__builtin_mul_overflow(*magnitude, 10, magnitude) && !__builtin_add_overflow(*magnitude, digit, magnitude);
}

/* Decimal text of a whole number, also with a point or an exponent ("1e3", "2.50e1"). false: it is none, or beyond 64
 * bits. */
static bool read_decimal(const char *text, uint64_t *magnitude) {
    const size_t before = strspn(text, "0123456789"),
                 after = text[before] == '.' ? strspn(text + before + 1, "0123456789") : 0;
    const char *tail = text + before + (text[before] == '.') + after;
    char *end = (char *)tail;
    const long power = (*tail == 'e' || *tail == 'E') ? strtol(tail + 1, &end, 10) : 0;
    if (before + after == 0 || *end) return false;
    const int64_t whole = (int64_t)before + (power > 100000    ? 100000
                                             : power < -100000 ? -100000
                                                               : power); /* digits before the point */
    *magnitude = 0;
    for (size_t i = 0; i < before + after; i++) {
        const uint64_t digit = (uint64_t)(text[i < before ? i : i + 1] - '0');
        if ((int64_t)i < whole ? !append(magnitude, digit) : digit != 0) return false;
    }
    for (int64_t i = (int64_t)(before + after); i < whole && *magnitude; i++)
        if (!append(magnitude, 0)) return false;
    return true;
}

/* Sign and magnitude of a whole number: decimal, hexadecimal, or a fraction that is one. */
static bool read_whole(const char *text, bool *negative, uint64_t *magnitude) {
    char *end;
    double value;
    while (*text == ' ' || *text == '\t') text++;
    *negative = *text == '-';
    const char *digits = text + (*text == '-' || *text == '+');
    if (read_decimal(digits, magnitude)) return true;
    errno = 0;
    if (digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X') && (*magnitude = strtoull(digits, &end, 16), !*end))
        return !errno;
    const bool other =
        strchr(text, '/') || strpbrk(digits, "xX"); /* 510/2, 0x1p3: by doubles, which hold whole numbers below 2^53 */
    if (!other || !number_read(&text, &value) || *text || !(fabs(value) < 0x1p53) || value != trunc(value))
        return false;
    *negative = value < 0;
    *magnitude = (uint64_t)fabs(value);
    return true;
}

wick_status number_fill(wick_context *ctx, const wick_onnx_port *p, const char *what, const char *text, int rank,
                        const int64_t *dims, wick_tensor **out) {
    wick_dtype dtype;
    int64_t least;
    uint64_t most, magnitude;
    bool negative;
    if (!wick_onnx_elem_dtype(p->elem, &dtype)) dtype = WICK_F32;
    if (number_range(dtype, &least, &most)) {
        const bool whole = read_whole(text, &negative, &magnitude), below = negative && magnitude;
        if (!whole || (below ? !least || magnitude > (uint64_t) - (least + 1) + 1 : magnitude > most))
            return cannot_hold(ctx, p, what, "");
        const uint64_t bits = negative ? 0 - magnitude : magnitude;
        *out = wick_cast(
            wick_expand(wick_from(ctx, dtype == WICK_U64 ? WICK_U64 : WICK_I64, 0, NULL, &bits), rank, dims), dtype);
        return WICK_OK;
    }
    double value;
    errno = 0;
    (void)number_read(&text, &value); /* whoever calls has seen that it is a number */
    if (isinf(value) && errno == ERANGE) return cannot_hold(ctx, p, what, "");
    *out = wick_full(ctx, WICK_F64, rank, dims, value);
    bool rounded;
    return number_convert(ctx, p, what, out, &rounded);
}

/* ---- arrays ------------------------------------------------------------------------------------------------------ */

/* The elements in the widest dtype of their kind, which holds them exactly: u64, i64 (also of bools) or f64. */
static wick_status widen(wick_tensor *t, wick_dtype *wide, const void **data) {
    int64_t least;
    uint64_t most;
    *wide = !number_range(wick_tensor_dtype(t), &least, &most) ? WICK_F64
            : wick_tensor_dtype(t) == WICK_U64                 ? WICK_U64
                                                               : WICK_I64;
    return wick_data(wick_cast(t, *wide), data);
}

static bool is_held(wick_dtype wide, const void *data, int64_t i, int64_t least, uint64_t most) {
    if (wide == WICK_U64) return ((const uint64_t *)data)[i] <= most;
    if (wide == WICK_F64) {
        const double v = ((const double *)data)[i];
        return v >= (double)least && v < (double)most + 1 && v == trunc(v);
    }
    const int64_t v = ((const int64_t *)data)[i];
    return v < 0 ? v >= least : (uint64_t)v <= most;
}

static wick_status refuse_element(wick_context *ctx, const wick_onnx_port *p, const char *what, wick_dtype wide,
                                  const void *data, int64_t i) {
    char which[100];
    const int n = snprintf(which, sizeof which, "element %lld is ", (long long)i);
    const size_t room = sizeof which - (size_t)n;
    if (wide == WICK_U64) snprintf(which + n, room, "%llu, and ", (unsigned long long)((const uint64_t *)data)[i]);
    else if (wide == WICK_I64) snprintf(which + n, room, "%lld, and ", (long long)((const int64_t *)data)[i]);
    else snprintf(which + n, room, "%.9g, and ", ((const double *)data)[i]);
    return cannot_hold(ctx, p, what, which);
}

/* Whether element i, from whole numbers or floats, is something else as a float of the input: `made` is what became of
 * it, widened again. */
static bool is_lost(wick_dtype wide, const void *data, const double *made, int64_t i, bool *rounded) {
    if (wide == WICK_F64) {
        const double v = ((const double *)data)[i];
        return (isfinite(v) && !isfinite(made[i])) || (isnan(v) && !isnan(made[i])) || (isinf(v) && made[i] != v);
    }
    const bool same = wide == WICK_U64
                          ? made[i] < 0x1p64 && (uint64_t)made[i] == ((const uint64_t *)data)[i]
                          : made[i] >= -0x1p63 && made[i] < 0x1p63 && (int64_t)made[i] == ((const int64_t *)data)[i];
    *rounded |= !same;
    return !isfinite(made[i]);
}

wick_status number_convert(wick_context *ctx, const wick_onnx_port *p, const char *what, wick_tensor **t,
                           bool *rounded) {
    wick_dtype dtype, wide;
    int64_t least;
    uint64_t most;
    const void *data, *made = NULL;
    *rounded = false;
    if (!wick_onnx_elem_dtype(p->elem, &dtype) || dtype == wick_tensor_dtype(*t)) return WICK_OK;
    const int64_t n = wick_tensor_count(*t);
    const bool whole = number_range(dtype, &least, &most);
    wick_tensor *converted = wick_cast(*t, dtype);
    wick_status status = widen(*t, &wide, &data);
    if (status == WICK_OK && !whole) status = wick_data(wick_cast(converted, WICK_F64), &made);
    for (int64_t i = 0; i < n && status == WICK_OK; i++)
        if (whole ? !is_held(wide, data, i, least, most) : is_lost(wide, data, made, i, rounded))
            status = refuse_element(ctx, p, what, wide, data, i);
    if (status == WICK_OK) *t = converted;
    return status;
}
