/* random.c: random numbers, a block of Philox words after the other: those of a plan whose workspace has run as
 * often as the state says (docs/numerics.md); and what is drawn by them: whole numbers, orders, by rejection, by
 * weight. */
#include <stdio.h>

#include "aot/print.h"
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
    line(&t, 1,
         "const uint32_t key[2] = {(uint32_t)random[0] ^ (uint32_t)(stream >> 32), (uint32_t)(random[0] >> 32) ^ "
         "(uint32_t)(random[1] >> 32)};");
    line(&t, 1, "for (int64_t i = 0; i < %lld; i += %d) {", LL(m->count), per);
    line(&t, 2, "const uint64_t block = (uint64_t)i / %d;", per);
    line(&t, 2,
         "const uint32_t counter[4] = {(uint32_t)block, (uint32_t)(block >> 32), (uint32_t)stream, "
         "(uint32_t)random[1]};");
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
        line(&t, 2,
             "const double u = ((double)(a >> 11) + 0.5) * 0x1p-53, angle = ((double)(b >> 11) - 0x1p52) * "
             "(3.14159265358979323846 * 0x1p-52);");
        line(&t, 2, "const double r = wick_sqrt_f64(-2.0 * wick_log_f64(u));");
        line(&t, 2, "v[0] = r * wick_cos_f64(angle), v[1] = r * wick_sin_f64(angle);");
    } else {
        line(&t, 2, "for (int k = 0; k < 4; k += 2) {");
        line(&t, 3,
             "const float u = ((float)w[k] + 0.5f) * 0x1p-32f, angle = (float)(int32_t)w[k + 1] * "
             "(float)(3.14159265358979323846 * 0x1p-31);");
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

/* ---- from random bits and from uniform numbers ------------------------------------------------------------------- */

size_t wick_c_draw_scratch(const wick_step *s, const wick_c_buffer *buffers, bool pairs) {
    (void)pairs;
    (void)buffers;
    if (s->node->op != &wick_op_multinomial) return 0;
    return WICK_ALIGN_UP((size_t)(((const wick_step_draw *)s->args)->n + 1) * sizeof(double), 16);
}

/* Places by weight: their rows are doubles in scratch of its own (wick_c_draw_scratch), which becomes their sums, or
 * times of arrival. */
static wick_status print_multinomial(wick_c_printer *p, const wick_step *s) {
    const wick_step_draw *m = s->args;
    wick_text t = (wick_text){0};
    wick_text_add(&t, "(const %s *weights, const double *uniform, int64_t *y, double *row) {\n", wick_c_type(m->type));
    line(&t, 1, "for (int64_t r = 0; r < %lld; r++, weights += %lld, uniform += %lld, y += %lld) {", LL(m->items),
         LL(m->n), LL(m->attr.distinct ? m->n : m->attr.count), LL(m->attr.count));
    line(&t, 2, "for (int64_t i = 0; i < %lld; i++) row[i] = weights[i];", LL(m->n));
    line(&t, 2, "if (!%s(%lld, %lld, row, uniform, y)) return 1;",
         m->attr.distinct ? "wick_distinct_of" : "wick_choices_of", LL(m->n), LL(m->attr.count));
    line(&t, 1, "}");
    line(&t, 1, "return 0;");
    wick_text_add(&t, "}\n");
    wick_c_checking_kernel(p, s->node->op->name, &t, WICK_C_WEIGHT);
    wick_c_argument(p, &s->refs[0], m->type == WICK_CF64 ? WICK_F64 : WICK_F32);
    static const wick_dtype rest[] = {WICK_F64, WICK_I64, WICK_F64};
    for (int k = 0; k < 3; k++) wick_text_add(&p->calls, ", "), wick_c_argument(p, &s->refs[1 + k], rest[k]);
    wick_text_add(&p->calls, ")) return 2;\n");
    return WICK_OK;
}

/* What each op does with bits[i] is a function of kernels/random/draw_math.h. */
wick_status wick_c_print_draw(wick_c_printer *p, const wick_step *s) {
    const wick_step_draw *m = s->args;
    const draw_attr *a = &m->attr;
    const wick_op *op = s->node->op;
    if (op == &wick_op_multinomial) return print_multinomial(p, s);
    const bool gamma = op == &wick_op_gamma_draw;
    const wick_dtype dtype =
        gamma || op == &wick_op_random_truncated ? m->type == WICK_CF64 ? WICK_F64 : WICK_F32 : WICK_I64;
    const char *type = wick_c_memory(dtype);
    wick_text t = (wick_text){0};
    wick_text_add(&t, "(%s%s%sconst uint64_t *bits, %s *y) {\n", gamma ? "const " : "", gamma ? type : "",
                  gamma ? " *alpha, " : "", type);
    line(&t, 1, "for (int64_t i = 0; i < %lld; i++) {", LL(m->items));
    if (gamma) {
        line(&t, 2, "y[i] = (%s)wick_gamma_of(alpha[i], wick_draws_of(bits[i], %d));", type, WICK_GAMMA_STREAM);
    } else if (op == &wick_op_random_truncated) {
        const double from = (a->low - a->mean) / a->deviation, to = (a->high - a->mean) / a->deviation;
        const struct {
            const char *name;
            double value;
        } numbers[] = {{"mean", a->mean}, {"deviation", a->deviation},
                       {"low", a->low},   {"high", a->high},
                       {"from", from},    {"to", to}};
        for (size_t k = 0; k < WICK_COUNTOF(numbers); k++) {
            wick_text_add(&t, "        const double %s = ", numbers[k].name);
            wick_c_number(&t, WICK_CF64, numbers[k].value);
            wick_text_add(&t, ";\n");
        }
        line(&t, 2,
             "const double v = mean + deviation * (from < to ? wick_truncated_of(from, to, wick_draws_of(bits[i], %d)) "
             ": from);",
             WICK_TRUNCATED_STREAM);
        line(&t, 2, "y[i] = (%s)(v < low ? low : v > high ? high : v);", type);
    } else if (op == &wick_op_permutation) {
        line(&t, 2, "wick_permutation_of(%lld, wick_draws_of(bits[i], %d), y + i * %lld);", LL(a->count),
             WICK_PERMUTATION_STREAM, LL(a->count));
    } else {
        line(&t, 2, "y[i] = (int64_t)(UINT64_C(%llu) + wick_bits_below(bits[i], UINT64_C(%llu)));",
             (unsigned long long)a->from, (unsigned long long)a->range);
    }
    line(&t, 1, "}");
    wick_text_add(&t, "}\n");
    wick_c_kernel(p, op->name, &t);
    for (int k = 0; k < s->n_refs; k++) {
        if (k) wick_text_add(&p->calls, ", ");
        wick_c_argument(p, &s->refs[k], k == s->n_refs - 2 ? WICK_U64 : dtype);
    }
    wick_text_add(&p->calls, ");\n");
    return WICK_OK;
}
