/* aot_random.c: random numbers, a block of Philox words after the other: those of a plan whose workspace has run as often as the state says (docs/numerics.md). */
#include "codegen/aot_print.h"

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
