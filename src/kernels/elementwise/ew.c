/* ew.c: which elementwise kernel runs: a look-up. */
#include "kernels/elementwise/ew.h"

static const wick_ew_rows *const tables[WICK_TIER_COUNT] = {WICK_TIER_ENTRIES(&wick_ew_table)};

const wick_ew_rows *wick_ew_kernels(wick_tier tier) { return tables[tier]; }

bool wick_ew_has(wick_ew op, wick_ctype t) {
    return (unsigned)op < WICK_EW_COUNT && (unsigned)t < WICK_CTYPE_COUNT && wick_ew_table_base[op][t] != NULL;
}

wick_ctype wick_ctype_of(wick_dtype dtype) {
    static const uint8_t of[WICK_DTYPE_COUNT] = {
        [WICK_F32] = WICK_CF32,     [WICK_F64] = WICK_CF64,         [WICK_F16] = WICK_CF32,
        [WICK_BF16] = WICK_CF32,    [WICK_I8] = WICK_CI32,          [WICK_I16] = WICK_CI32,
        [WICK_I32] = WICK_CI32,     [WICK_I64] = WICK_CI64,         [WICK_U8] = WICK_CI32,
        [WICK_U16] = WICK_CI32,     [WICK_U32] = WICK_CU64,         [WICK_U64] = WICK_CU64,
        [WICK_BOOL] = WICK_CBOOL,   [WICK_F8_E4M3FN] = WICK_CF32,   [WICK_F8_E4M3FNUZ] = WICK_CF32,
        [WICK_F8_E5M2] = WICK_CF32, [WICK_F8_E5M2FNUZ] = WICK_CF32, [WICK_F8_E8M0] = WICK_CF32,
        [WICK_F4_E2M1] = WICK_CF32, [WICK_I4] = WICK_CI32,          [WICK_U4] = WICK_CI32,
        [WICK_I2] = WICK_CI32,      [WICK_U2] = WICK_CI32,
    };
    return (wick_ctype)of[dtype];
}

size_t wick_ctype_size(wick_ctype type) {
    static const uint8_t size[WICK_CTYPE_COUNT] = {4, 8, 4, 8, 8, 1};
    return size[type];
}
