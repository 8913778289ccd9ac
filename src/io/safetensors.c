/* safetensors.c: names of dtypes and sizes, for reader and writer. */
#include "io/safetensors.h"

const char *wick_safetensors_dtype_name(wick_dtype dtype) {
    static const char *const names[WICK_DTYPE_COUNT] = {
        [WICK_F32] = "F32",
        [WICK_F64] = "F64",
        [WICK_F16] = "F16",
        [WICK_BF16] = "BF16",
        [WICK_I8] = "I8",
        [WICK_I16] = "I16",
        [WICK_I32] = "I32",
        [WICK_I64] = "I64",
        [WICK_U8] = "U8",
        [WICK_U16] = "U16",
        [WICK_U32] = "U32",
        [WICK_U64] = "U64",
        [WICK_BOOL] = "BOOL",
        [WICK_F8_E4M3FN] = "F8_E4M3",
        [WICK_F8_E4M3FNUZ] = "F8_E4M3FNUZ",
        [WICK_F8_E5M2] = "F8_E5M2",
        [WICK_F8_E5M2FNUZ] = "F8_E5M2FNUZ",
        [WICK_F8_E8M0] = "F8_E8M0",
        [WICK_F4_E2M1] = "F4",
        /* not of the format: names of Wick's own, by the pattern of its F4 */
        [WICK_I4] = "I4",
        [WICK_U4] = "U4",
        [WICK_I2] = "I2",
        [WICK_U2] = "U2",
    };
    return (unsigned)dtype < WICK_DTYPE_COUNT ? names[dtype] : NULL;
}

/* Dims of 0 stay out of the product that is checked: strides are computed from the others. */
bool wick_safetensors_bytes(wick_dtype dtype, int rank, const int64_t *dims, size_t *bytes) {
    size_t n = WICK_MAX(wick_dtype_size(dtype), 1);
    bool empty = false;
    for (int d = 0; d < rank; d++) {
        if (dims[d] < 0) return false;
        if (dims[d] == 0)
            empty = true;
        else if (wick_mul_overflows(n, (uint64_t)dims[d], &n))
            return false;
    }
    if (n > PTRDIFF_MAX) return false;
    *bytes = empty ? 0 : wick_dtype_is_packed(dtype) ? wick_dtype_bytes(dtype, (int64_t)n) : n;
    return true;
}
