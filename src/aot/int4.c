/* int4.c: products with weights of 4 bits in blocks, which stay such: what kernels/int4 of the tier computes. Of up
 * to 4 rows as many sums as a vector of the tier has lanes, 4, take words of 8 numbers in turn, a chain over these
 * times the scale of their block; of more rows weights are rounded to f32 and summed in order, in blocks of k. */
#include <stdio.h>

#include "aot/print.h"
#include "kernels/int4/int4.h"

#define line wick_c_line

enum { WORD = 8 };

/* Declares `zero`, of block g of row j. */
static void print_zero(wick_text *t, int depth, const wick_step_int4 *m) {
    const int64_t blocks = wick_int4_blocks(&m->product);
    if (m->zeros)
        line(t, depth, "const int zero = zeros[j * %lld + g / 2] >> (g %% 2 * 4) & 15;", LL((blocks + 1) / 2));
    else
        line(t, depth, "const int zero = 8;");
}

static void print_few(wick_text *t, const wick_step_int4 *m, int lanes) {
    const wick_int4 *p = &m->product;
    const int64_t blocks = wick_int4_blocks(p), bytes = blocks * p->block / 2, whole = p->k / WORD;
    line(t, 3, "float sums[%d] = {0};", lanes);
    line(t, 3, "const uint8_t *row = q + j * %lld;", LL(bytes));
    line(t, 3, "const float *x = a + i * %lld;", LL(p->k));
    line(t, 3, "for (long w = 0; w < %lld; w++) {", LL((p->k + WORD - 1) / WORD));
    line(t, 4, "const long g = w * %d / %lld;", WORD, LL(p->block));
    print_zero(t, 4, m);
    line(t, 4, "float acc = 0;");
    line(t, 4, "if (w < %lld) {", LL(whole));
    line(t, 5, "acc = x[w * 8] * (float)((row[w * 4] & 15) - zero);");
    line(t, 5, "acc = WICK_FMAF(x[w * 8 + 1], (float)((row[w * 4] >> 4) - zero), acc);");
    line(t, 5, "for (long s = 1; s < 4; s++) {");
    line(t, 6, "acc = WICK_FMAF(x[w * 8 + 2 * s], (float)((row[w * 4 + s] & 15) - zero), acc);");
    line(t, 6, "acc = WICK_FMAF(x[w * 8 + 2 * s + 1], (float)((row[w * 4 + s] >> 4) - zero), acc);");
    line(t, 5, "}");
    line(t, 4, "} else {");
    line(t, 5, "for (long s = 0; s < 8; s++) {");
    line(t, 6,
         "const float v = w * 8 + s < %lld ? x[w * 8 + s] : 0, u = (float)((row[w * 4 + s / 2] >> (s %% 2 * 4) & 15) "
         "- zero);",
         LL(p->k));
    line(t, 6, "acc = s ? WICK_FMAF(v, u, acc) : v * u;");
    line(t, 5, "}");
    line(t, 4, "}");
    line(t, 4, "sums[w %% %d] = WICK_FMAF(acc, scales[j * %lld + g], sums[w %% %d]);", lanes, LL(blocks), lanes);
    line(t, 3, "}");
    line(t, 3, "for (long h = %d; h > 0; h /= 2)", lanes / 2);
    line(t, 4, "for (long l = 0; l < h; l++) sums[l] = sums[l] + sums[l + h];");
    line(t, 3, "const float sum = sums[0];");
}

static void print_more(wick_text *t, const wick_step_int4 *m) {
    const wick_int4 *p = &m->product;
    const int64_t blocks = wick_int4_blocks(p), bytes = blocks * p->block / 2;
    line(t, 3, "float acc = 0, sum = 0;");
    line(t, 3, "for (long g = 0; g < %lld; g++) {", LL(blocks));
    print_zero(t, 4, m);
    line(t, 4, "const float scale = scales[j * %lld + g];", LL(blocks));
    line(t, 4, "for (long k = g * %lld; k < (g + 1) * %lld && k < %lld; k++) {", LL(p->block), LL(p->block), LL(p->k));
    if (p->k > p->kc) line(t, 5, "if (k %% %lld == 0 && k) sum = sum + acc, acc = 0;", LL(p->kc));
    line(t, 5, "const float u = (float)((q[j * %lld + k / 2] >> (k %% 2 * 4) & 15) - zero) * scale;", LL(bytes));
    line(t, 5, "acc = WICK_FMAF(a[i * %lld + k], u, acc);", LL(p->k));
    line(t, 4, "}");
    line(t, 3, "}");
    line(t, 3, p->k > p->kc ? "sum = sum + acc;" : "sum = acc;");
}

wick_status wick_c_print_int4(wick_c_printer *p, const wick_step *s) {
    const wick_step_int4 *m = s->args;
    const wick_int4 *g = &m->product;
    if (g->f64) return wick_c_refuse(p, s, "weights of 4 bits are written for f32 alone");
    wick_text t = {0};
    wick_text_add(&t, "(const float *a, const uint8_t *q, const float *scales, %s%sfloat *c) {\n",
                  m->zeros ? "const uint8_t *zeros, " : "", m->bias ? "const float *bias, " : "");
    line(&t, 1, "for (long i = 0; i < %lld; i++)", LL(g->m));
    line(&t, 2, "for (long j = 0; j < %lld; j++) {", LL(g->n));
    if (g->m <= WICK_INT4_FEW)
        print_few(&t, m, p->m->isa == WICK_C_AVX512 ? 16 : p->m->isa == WICK_C_AVX2 ? 8 : 4);
    else
        print_more(&t, m);
    line(&t, 3, "c[i * %lld + j] = sum%s;", LL(g->n), m->bias ? " + bias[j]" : "");
    line(&t, 2, "}");
    wick_text_add(&t, "}\n");
    wick_c_kernel(p, "int4", &t);
    for (int i = 1; i < s->n_refs; i++) {
        wick_c_argument(p, &s->refs[i], i == 2 || i == m->zeros ? WICK_U8 : WICK_F32);
        wick_text_add(&p->calls, ", ");
    }
    wick_c_argument(p, &s->refs[0], WICK_F32);
    wick_text_add(&p->calls, ");\n");
    return WICK_OK;
}
