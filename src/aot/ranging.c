/* ranging.c: to bytes by the range of all numbers. */
#include "aot/print.h"

#define line wick_c_line

wick_status wick_c_print_ranging(wick_c_printer *p, const wick_step *s) {
    static const wick_dtype dtypes[] = {WICK_F32, WICK_U8, WICK_F32, WICK_U8};
    const int64_t n = ((const wick_step_ranging *)s->args)->ranging.n;
    wick_text t = (wick_text){0};
    wick_text_add(&t, "(const float *x, uint8_t *y, float *scale, uint8_t *zero) {\n");
    line(&t, 1, "float low = 0, high = 0;");
    line(&t, 1, "for (long i = 0; i < %lld; i++) {", LL(n));
    line(&t, 2, "low = x[i] < low ? x[i] : low;");
    line(&t, 2, "high = x[i] > high ? x[i] : high;");
    line(&t, 1, "}");
    line(&t, 1, "const float by = high == low ? 1.0f : (high - low) / 255.0f;");
    line(&t, 1, "float at = ((0.0f - low) / by + 12582912.0f) - 12582912.0f;");
    line(&t, 1, "at = at < 0.0f ? 0.0f : at > 255.0f ? 255.0f : at;");
    line(&t, 1, "for (long i = 0; i < %lld; i++) {", LL(n));
    line(&t, 2, "float v = ((x[i] / by + 12582912.0f) - 12582912.0f) + at;");
    line(&t, 2, "v = v > 0.0f ? v : 0.0f;");
    line(&t, 2, "y[i] = (uint8_t)(v < 255.0f ? v : 255.0f);");
    line(&t, 1, "}");
    line(&t, 1, "*scale = by;");
    line(&t, 1, "*zero = at > 0.0f ? (uint8_t)at : 0;");
    wick_text_add(&t, "}\n");
    wick_c_kernel(p, "quantize_dynamic", &t);
    for (int k = 0; k < 4; k++) {
        if (k) wick_text_add(&p->calls, ", ");
        wick_c_argument(p, &s->refs[k], dtypes[k]);
    }
    wick_text_add(&p->calls, ");\n");
    return WICK_OK;
}
