#include "tensor/tensor.h"

bool wick_type_set(wick_type *type, wick_dtype dtype, int rank, const int64_t *dims) {
    memset(type, 0, sizeof *type);
    if (!wick_dtype_bits(dtype) || rank < 0 || rank > WICK_MAX_DIMS || (rank && !dims)) return false;
    type->dtype = (uint8_t)dtype;
    type->rank = (uint8_t)rank;
    for (int i = 0; i < rank; i++) type->dims[i] = dims[i];
    return wick_type_fits(type);
}

bool wick_type_make(wick_type *type, wick_dtype dtype, int rank, const int64_t *dims) {
    return wick_type_set(type, dtype, rank, dims) && wick_type_is_static(type);
}

bool wick_type_fits(const wick_type *type) {
    /* Extents of 0 must not hide a product that overflows: strides are made from it. */
    int64_t bytes = WICK_MAX((int64_t)wick_dtype_size((wick_dtype)type->dtype), 1);
    for (int i = 0; i < type->rank; i++)
        if (wick_mul_overflows(bytes, WICK_MAX(type->dims[i], 1), &bytes)) return false;
    return true;
}

int64_t wick_type_count(const wick_type *type) {
    int64_t n = 1;
    for (int i = 0; i < type->rank; i++) n *= type->dims[i];
    return n;
}

bool wick_same_dims(const wick_type *a, const wick_type *b) {
    if (a->rank != b->rank) return false;
    for (int i = 0; i < a->rank; i++)
        if (a->dims[i] != b->dims[i]) return false;
    return true;
}

bool wick_type_equal(const wick_type *a, const wick_type *b) {
    return a->dtype == b->dtype && a->device == b->device && wick_same_dims(a, b);
}

bool wick_type_is_static(const wick_type *type) {
    for (int i = 0; i < type->rank; i++)
        if (WICK_IS_SYMBOL(type->dims[i])) return false;
    return true;
}

/* What promotion needs to know of a dtype: kind, bits, and a signed integer's or unsigned integer's class. */
static const struct {
    char kind; /* b, u, i, f; s: a float that is only stored */
    uint8_t bits;
} kinds[WICK_DTYPE_COUNT] = {
    [WICK_F32] = {'f', 32},    [WICK_F64] = {'f', 64},        [WICK_F16] = {'f', 16},
    [WICK_BF16] = {'f', 16},   [WICK_I8] = {'i', 8},          [WICK_I16] = {'i', 16},
    [WICK_I32] = {'i', 32},    [WICK_I64] = {'i', 64},        [WICK_U8] = {'u', 8},
    [WICK_U16] = {'u', 16},    [WICK_U32] = {'u', 32},        [WICK_U64] = {'u', 64},
    [WICK_BOOL] = {'b', 1},    [WICK_F8_E4M3FN] = {'s', 8},   [WICK_F8_E4M3FNUZ] = {'s', 8},
    [WICK_F8_E5M2] = {'s', 8}, [WICK_F8_E5M2FNUZ] = {'s', 8}, [WICK_F8_E8M0] = {'s', 8},
    [WICK_F4_E2M1] = {'s', 4}, [WICK_I4] = {'i', 4},          [WICK_U4] = {'u', 4},
    [WICK_I2] = {'i', 2},      [WICK_U2] = {'u', 2},
};

/* What callers pass may be outside of the enum: no kind of dtype. */
static char kind_of(int dtype) { return (unsigned)dtype < WICK_DTYPE_COUNT ? kinds[dtype].kind : 0; }
bool wick_dtype_is_float(int dtype) { return kind_of(dtype) == 'f'; }
bool wick_dtype_is_stored(int dtype) { return dtype > WICK_BOOL; }
bool wick_dtype_is_integer(int dtype) { return kind_of(dtype) == 'i' || kind_of(dtype) == 'u'; }

bool wick_narrow_range(wick_dtype dtype, int64_t *least, int64_t *most) {
    int bits = kinds[dtype].bits;
    bool is_signed = kinds[dtype].kind == 'i';
    if (!wick_dtype_is_integer(dtype) || bits == 64 || (is_signed && bits == 32)) return false;
    *most = ((int64_t)1 << (is_signed ? bits - 1 : bits)) - 1;
    *least = is_signed ? -*most - 1 : 0;
    return true;
}

wick_dtype wick_dtype_promote(wick_dtype a, wick_dtype b) {
    if (a == b) return a;
    if (wick_dtype_is_stored(a) || wick_dtype_is_stored(b)) return WICK_DTYPE_COUNT;
    char ka = kinds[a].kind, kb = kinds[b].kind;
    if (ka == 'b') return b;
    if (kb == 'b') return a;
    if (ka == 'f' || kb == 'f') {
        if (kb != 'f') return a;
        if (ka != 'f') return b;
        if (kinds[a].bits == kinds[b].bits) return WICK_F32; /* f16 with bf16 */
        return kinds[a].bits > kinds[b].bits ? a : b;
    }
    if (ka == kb) return kinds[a].bits > kinds[b].bits ? a : b;
    /* A signed type wide enough for both. */
    wick_dtype s = ka == 'i' ? a : b, u = ka == 'i' ? b : a;
    if (kinds[s].bits > kinds[u].bits) return s;
    return kinds[u].bits == 8    ? WICK_I16
           : kinds[u].bits == 16 ? WICK_I32
           : kinds[u].bits == 32 ? WICK_I64
                                 : WICK_DTYPE_COUNT;
}

void wick_type_print(wick_str *s, const wick_type *type) {
    wick_str_add(s, "%s[", wick_dtype_name((wick_dtype)type->dtype));
    for (int i = 0; i < type->rank; i++) {
        if (WICK_IS_SYMBOL(type->dims[i]))
            wick_str_add(s, "%ss%d", i ? "," : "", WICK_SYMBOL_OF(type->dims[i]));
        else
            wick_str_add(s, "%s%lld", i ? "," : "", (long long)type->dims[i]);
    }
    wick_str_add(s, "]");
}

void wick_layout_contiguous(wick_layout *layout, const wick_type *type) {
    memset(layout, 0, sizeof *layout);
    int64_t stride = 1;
    for (int i = type->rank - 1; i >= 0; i--) {
        layout->strides[i] = stride;
        stride *= WICK_MAX(type->dims[i], 1);
    }
}

bool wick_layout_is_contiguous(const wick_layout *layout, const wick_type *type) {
    int64_t stride = 1;
    bool equal = true, empty = false;
    for (int i = type->rank - 1; i >= 0; i--) {
        equal &= type->dims[i] == 1 || layout->strides[i] == stride;
        empty |= type->dims[i] == 0;
        stride *= type->dims[i];
    }
    return equal || empty;
}

void wick_layout_channels_last(wick_layout *layout, const wick_type *type) {
    wick_layout_contiguous(layout, type);
    if (type->rank < 3) return;
    int64_t stride = layout->strides[1] = 1;
    stride *= WICK_MAX(type->dims[1], 1);
    for (int i = type->rank - 1; i > 1; i--) {
        layout->strides[i] = stride;
        stride *= WICK_MAX(type->dims[i], 1);
    }
}

bool wick_layout_equal(const wick_layout *a, const wick_layout *b, const wick_type *type) {
    bool equal = true, empty = false;
    for (int i = 0; i < type->rank; i++) {
        equal &= type->dims[i] == 1 || a->strides[i] == b->strides[i];
        empty |= type->dims[i] == 0;
    }
    return equal || empty;
}
