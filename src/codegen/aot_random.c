/* aot_random.c: random numbers, a block of Philox words after the other: those of a plan whose workspace has run as often as the state says (docs/numerics.md); and whole numbers and
 * orders that random bits say. */
#include <stdio.h>

#include "codegen/aot_print.h"
#include "kernels/random/random.h"
#include "ops/ops.h"

#define line wick_c_line

wick_status wick_c_print_random(wick_c_printer *p, const wick_step *s) {
    const wick_step_random *m = s->args;
    const bool wide = m->bits || m->type == WICK_CF64;
    const int per = wide ? 2 : 4; /* elements of a block */
    const wick_dtype dtype = m->bits ? WICK_U64 : wide ? WICK_F64 : WICK_F32;
    const char *type = wick_c_memory(dtype);
    const uint64_t *slot = p->f->buffers[s->refs[0].buffer].data;
    if (p->f->random < 0 || !slot) return wick_c_refuse(p, s, "its stream is not known");
    wick_text t = (wick_text){0};
    wick_text_add(&t, "(const uint64_t *random, uint64_t stream, %s *y) {\n", type);
    line(&t, 1, "const uint32_t key[2] = {(uint32_t)random[0] ^ (uint32_t)(stream >> 32), (uint32_t)(random[0] >> 32) ^ (uint32_t)(random[1] >> 32)};");
    line(&t, 1, "for (int64_t i = 0; i < %lld; i += %d) {", LL(m->count), per);
    line(&t, 2, "const uint64_t block = (uint64_t)i / %d;", per);
    line(&t, 2, "const uint32_t counter[4] = {(uint32_t)block, (uint32_t)(block >> 32), (uint32_t)stream, (uint32_t)random[1]};");
    line(&t, 2, "uint32_t w[4];");
    line(&t, 2, "%s v[%d];", type, per);
    line(&t, 2, "wick_philox_words(counter, key, w);");
    if (wide) line(&t, 2, "const uint64_t a = w[0] | (uint64_t)w[1] << 32, b = w[2] | (uint64_t)w[3] << 32;");
    if (m->bits) {
        line(&t, 2, "v[0] = a, v[1] = b;");
    } else if (!m->normal && wide) {
        line(&t, 2, "v[0] = (double)(a >> 11) * 0x1p-53, v[1] = (double)(b >> 11) * 0x1p-53;");
    } else if (!m->normal) {
        line(&t, 2, "for (int k = 0; k < 4; k++) v[k] = (float)(int32_t)(w[k] >> 8) * 0x1p-24f;");
    } else if (wide) {
        line(&t, 2, "const double u = ((double)(a >> 11) + 0.5) * 0x1p-53, angle = ((double)(b >> 11) - 0x1p52) * (3.14159265358979323846 * 0x1p-52);");
        line(&t, 2, "const double r = wick_sqrt_f64(-2.0 * wick_log_f64(u));");
        line(&t, 2, "v[0] = r * wick_cos_f64(angle), v[1] = r * wick_sin_f64(angle);");
    } else {
        line(&t, 2, "for (int k = 0; k < 4; k += 2) {");
        line(&t, 3, "const float u = ((float)w[k] + 0.5f) * 0x1p-32f, angle = (float)(int32_t)w[k + 1] * (float)(3.14159265358979323846 * 0x1p-31);");
        line(&t, 3, "const float r = wick_sqrt_f32(-2.0f * wick_log_f32(u));");
        line(&t, 3, "v[k] = r * wick_cos_f32(angle), v[k + 1] = r * wick_sin_f32(angle);");
        line(&t, 2, "}");
    }
    line(&t, 2, "for (int64_t k = 0; k < %d && i + k < %lld; k++) y[i + k] = v[k];", per, LL(m->count));
    line(&t, 1, "}");
    wick_text_add(&t, "}\n");
    wick_c_kernel(p, s->node->op->name, &t);
    wick_text_add(&p->calls, "s%d, UINT64_C(%llu), ", p->f->random, (unsigned long long)slot[0]);
    wick_c_argument(p, &s->refs[1], dtype);
    wick_text_add(&p->calls, ");\n");
    return WICK_OK;
}

/* ---- from random bits ------------------------------------------------------------------------------------------------------------------------------------ */

/* "at": 64 bits as a fraction of a number whose halves are high and low (kernels/random/draws.c, below). */
static void print_below(wick_text *t, int depth, const char *bits, const char *high, const char *low) {
    line(t, depth, "const uint64_t of = %s, a = of >> 32, b = of & 0xffffffffu, middle = a * %s + (b * %s >> 32), other = b * %s + (middle & 0xffffffffu);", bits, low, low, high);
    line(t, depth, "const int64_t at = (int64_t)(a * %s + (middle >> 32) + (other >> 32));", high);
}

wick_status wick_c_print_draw(wick_c_printer *p, const wick_step *s) {
    const wick_step_draw *m = s->args;
    const char *name = s->node->op->name;
    wick_text t = (wick_text){0};
    wick_text_add(&t, "(const uint64_t *bits, int64_t *y) {\n");
    if (s->node->op == &wick_op_permutation) { /* Fisher and Yates, by the words of a stream for each row */
        line(&t, 1, "for (int64_t r = 0; r < %lld; r++, y += %lld) {", LL(m->items), LL(m->attr.count));
        line(&t, 2, "const uint32_t key[2] = {(uint32_t)bits[r], (uint32_t)(bits[r] >> 32)};");
        line(&t, 2, "uint32_t w[4] = {0};");
        line(&t, 2, "for (int64_t i = 0; i < %lld; i++) {", LL(m->attr.count));
        line(&t, 3, "const uint64_t n = (uint64_t)i + 1;");
        line(&t, 3, "const uint32_t counter[4] = {(uint32_t)(i / 2), 0, %d, 0};", WICK_PERMUTATION_STREAM);
        line(&t, 3, "if (i %% 2 == 0) wick_philox_words(counter, key, w);");
        print_below(&t, 3, "w[i % 2 * 2] | (uint64_t)w[i % 2 * 2 + 1] << 32", "(n >> 32)", "(n & 0xffffffffu)");
        line(&t, 3, "y[i] = y[at];");
        line(&t, 3, "y[at] = i;");
        line(&t, 2, "}");
        line(&t, 1, "}");
    } else {
        char high[40], low[40];
        snprintf(high, sizeof high, "UINT64_C(%llu)", (unsigned long long)(m->attr.range >> 32));
        snprintf(low, sizeof low, "UINT64_C(%llu)", (unsigned long long)(m->attr.range & 0xffffffffu));
        line(&t, 1, "for (int64_t i = 0; i < %lld; i++) {", LL(m->items));
        print_below(&t, 2, "bits[i]", high, low);
        line(&t, 2, "y[i] = (int64_t)(UINT64_C(%llu) + (uint64_t)at);", (unsigned long long)m->attr.from);
        line(&t, 1, "}");
    }
    wick_text_add(&t, "}\n");
    wick_c_kernel(p, name, &t);
    wick_c_argument(p, &s->refs[0], WICK_U64);
    wick_text_add(&p->calls, ", ");
    wick_c_argument(p, &s->refs[1], WICK_I64);
    wick_text_add(&p->calls, ");\n");
    return WICK_OK;
}
