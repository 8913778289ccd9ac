/* int8_linear.c: products with weights of 8 bits, which stay such: what kernels/linear8 of the tier computes. Weights
 * that are known lie as panels of columns, [k][columns], as vectors or registers of the target take them; others are
 * read where they are. */
#include <stdio.h>

#include "aot/print.h"

#define line wick_c_line

enum { WIDE = 16, NARROW = 4 }; /* columns of a panel: of vectors; of a CPU without */

typedef struct linear8_print {
    const wick_step_linear8 *m;
    const wick_linear8 *p;
    bool known;
    int64_t panel;
    const char *type; /* of a number of q and of a zero point */
} linear8_print;

/* The lines of columns 0 to width: `text` for each, with its number in the place of each @. */
static void each(wick_text *t, int depth, const linear8_print *q, int64_t width, const char *text) {
    const bool loop = q->panel == WIDE && width > 1;
    char done[256];
    for (int64_t j = 0; j < (loop ? 1 : width); j++) {
        size_t n = 0;
        for (const char *c = text; *c && n + 24 < sizeof done; c++) {
            if (*c != '@')
                done[n++] = *c;
            else
                n += (size_t)(loop ? sprintf(done + n, "j") : sprintf(done + n, "%lld", LL(j)));
        }
        done[n] = '\0';
        if (loop)
            line(t, depth, "for (long j = 0; j < %lld; j++) %s", LL(width), done);
        else
            line(t, depth, "%s", done);
    }
}

/* q - zero of column @ at k, in block g. */
static void number_of(const linear8_print *q, int64_t width, char to[192]) {
    const wick_linear8 *p = q->p;
    const int64_t blocks = wick_linear8_blocks(p);
    int n = q->known ? snprintf(to, 192, "(float)(w[k * %lld + @]", LL(width))
                     : snprintf(to, 192, "(float)(q[(c0 + @) * %lld + k / %lld * %lld + k %% %lld * %lld]",
                                LL(p->q_row), LL(p->block), LL(p->q_block), LL(p->block), LL(p->q_col));
    if (p->has_zeros && q->known)
        n += snprintf(to + n, 192 - (size_t)n, " - zeros[g * %lld + c0 + @]", LL(p->n));
    else if (p->has_zeros)
        n += snprintf(to + n, 192 - (size_t)n, " - zeros[(c0 + @) * %lld + g]", LL(blocks));
    else if (!q->known && p->is_unsigned)
        n += snprintf(to + n, 192 - (size_t)n, " - 128");
    snprintf(to + n, 192 - (size_t)n, ")");
}
static void scale_of(const linear8_print *q, char to[64]) {
    if (q->known)
        snprintf(to, 64, "scales[g * %lld + c0 + @]", LL(q->p->n));
    else
        snprintf(to, 64, "scales[(c0 + @) * %lld + g]", LL(wick_linear8_blocks(q->p)));
}

static void print_few(wick_text *t, int depth, const linear8_print *q, int64_t width) {
    const wick_linear8 *p = q->p;
    const bool spans = p->block > WICK_LINEAR8_SPAN && p->k > WICK_LINEAR8_SPAN;
    char number[192], scale[64], text[256];
    number_of(q, width, number);
    scale_of(q, scale);
    line(t, depth, "for (long k0 = g * %lld; k0 < end; k0 += %lld) {", LL(p->block),
         LL(spans ? WICK_LINEAR8_SPAN : p->block));
    line(t, depth + 1, "float acc[%lld] = {0};", LL(width));
    line(t, depth + 1, spans ? "for (long k = k0; k < end && k < k0 + %d; k++) {" : "for (long k = k0; k < end; k++) {",
         WICK_LINEAR8_SPAN);
    line(t, depth + 2, "const float x = a[i * %lld + k];", LL(p->k));
    snprintf(text, sizeof text, "acc[@] = WICK_FMAF(x, %s, acc[@]);", number);
    each(t, depth + 2, q, width, text);
    line(t, depth + 1, "}");
    snprintf(text, sizeof text, "sum[@] = WICK_FMAF(acc[@], %s, sum[@]);", scale);
    each(t, depth + 1, q, width, text);
    line(t, depth, "}");
}

static void print_more(wick_text *t, int depth, const linear8_print *q, int64_t width) {
    const wick_linear8 *p = q->p;
    const int64_t kc = p->panels.kc;
    char number[192], scale[64], text[320];
    number_of(q, width, number);
    scale_of(q, scale);
    line(t, depth, "for (long k = g * %lld; k < end; k++) {", LL(p->block));
    if (p->k > kc) {
        line(t, depth + 1, "if (k %% %lld == 0 && k) {", LL(kc));
        each(t, depth + 2, q, width, "sum[@] = sum[@] + acc[@], acc[@] = 0;");
        line(t, depth + 1, "}");
    }
    line(t, depth + 1, "const float x = a[i * %lld + k];", LL(p->k));
    snprintf(text, sizeof text, "acc[@] = WICK_FMAF(x, %s * %s, acc[@]);", number, scale);
    each(t, depth + 1, q, width, text);
    line(t, depth, "}");
}

/* Columns from c0, an expression that is a variable or a number, on. */
static void print_panel(wick_text *t, int depth, const linear8_print *q, int64_t width) {
    const wick_linear8 *p = q->p;
    const bool few = p->m <= WICK_LINEAR8_FEW;
    if (q->known) line(t, depth, "const %s *w = q + c0 * %lld;", q->type, LL(p->k));
    line(t, depth, few ? "float sum[%lld] = {0};" : "float acc[%lld] = {0}, sum[%lld] = {0};", LL(width), LL(width));
    line(t, depth, "for (long g = 0; g < %lld; g++) {", LL(wick_linear8_blocks(p)));
    line(t, depth + 1, "const long end = (g + 1) * %lld < %lld ? (g + 1) * %lld : %lld;", LL(p->block), LL(p->k),
         LL(p->block), LL(p->k));
    (few ? print_few : print_more)(t, depth + 1, q, width);
    line(t, depth, "}");
    if (!few) each(t, depth, q, width, p->k > p->panels.kc ? "sum[@] = sum[@] + acc[@];" : "sum[@] = acc[@];");
    char text[96];
    snprintf(text, sizeof text, "c[i * %lld + c0 + @] = sum[@]%s;", LL(p->n), q->m->bias ? " + bias[c0 + @]" : "");
    each(t, depth, q, width, text);
}

/* As panels, and scales and zero points by block; less 128 of u8. */
static bool lay_out(wick_c_printer *printer, const linear8_print *q, const wick_step *s, int constants[3]) {
    const wick_linear8 *p = q->p;
    const int64_t blocks = wick_linear8_blocks(p);
    const uint8_t flip = p->is_unsigned ? 128 : 0, *from = wick_c_data(printer, &s->refs[WICK_STEP_LINEAR8_Q]),
                  *zeros = q->m->zeros ? wick_c_data(printer, &s->refs[q->m->zeros]) : NULL;
    const float *scales = wick_c_data(printer, &s->refs[WICK_STEP_LINEAR8_Q + 1]);
    uint8_t *w = wick_arena_alloc(&printer->step, (size_t)(p->n * p->k) + 1),
            *zero = wick_arena_alloc(&printer->step, (size_t)(p->n * blocks) + 1);
    float *scale = wick_arena_alloc(&printer->step, (size_t)(p->n * blocks + 1) * sizeof *scale);
    if (!w || !zero || !scale) return false;
    for (int64_t j = 0; j < p->n; j++) {
        const int64_t first = j / q->panel * q->panel, width = WICK_MIN(q->panel, p->n - first);
        for (int64_t k = 0; k < p->k; k++)
            w[first * p->k + k * width + j - first] =
                from[j * p->q_row + k / p->block * p->q_block + k % p->block * p->q_col] ^ flip;
        for (int64_t g = 0; g < blocks; g++) {
            scale[g * p->n + j] = scales[j * blocks + g];
            if (zeros) zero[g * p->n + j] = zeros[j * blocks + g] ^ flip;
        }
    }
    constants[0] = wick_c_constant(printer, WICK_I8, w, p->n * p->k);
    constants[1] = wick_c_constant(printer, WICK_F32, scale, p->n * blocks);
    constants[2] = zeros ? wick_c_constant(printer, WICK_I8, zero, p->n * blocks) : 0;
    return true;
}

bool wick_c_linear8_shares(const wick_step *s, int ref) { return (void)s, ref == WICK_STEP_LINEAR8_Q - 1; }

wick_status wick_c_print_linear8(wick_c_printer *printer, const wick_step *s) {
    const wick_step_linear8 *m = s->args;
    const wick_linear8 *p = &m->product;
    if (p->f64) return wick_c_refuse(printer, s, "weights of 8 bits are written for f32 alone");
    linear8_print q = {
        .m = m, .p = p, .known = true, .panel = printer->m->isa == WICK_C_PLAIN ? NARROW : WIDE, .type = "int8_t"};
    for (int i = WICK_STEP_LINEAR8_Q; i < WICK_STEP_LINEAR8_Q + 2 + p->has_zeros; i++)
        q.known &= wick_c_is_data(printer, &s->refs[i]);
    if (!q.known && p->is_unsigned) q.type = "uint8_t";
    int constants[3];
    if (q.known && !lay_out(printer, &q, s, constants)) {
        printer->functions.failed = true;
        return WICK_OK;
    }
    wick_text t = {0};
    wick_text_add(&t, "(const float *a, const %s *q, const float *scales, ", q.type);
    if (p->has_zeros) wick_text_add(&t, "const %s *zeros, ", q.type);
    wick_text_add(&t, "%sfloat *c) {\n", m->bias ? "const float *bias, " : "");
    const int64_t whole = p->n - p->n % q.panel;
    line(&t, 1, "for (long i = 0; i < %lld; i++) {", LL(p->m));
    if (whole) {
        line(&t, 2, "for (long c0 = 0; c0 < %lld; c0 += %lld) {", LL(whole), LL(q.panel));
        print_panel(&t, 3, &q, q.panel);
        line(&t, 2, "}");
    }
    if (whole < p->n) {
        line(&t, 2, "const long c0 = %lld;", LL(whole));
        print_panel(&t, 2, &q, p->n - whole);
    }
    line(&t, 1, "}");
    wick_text_add(&t, "}\n");
    wick_c_kernel(printer, "linear8", &t);
    wick_c_argument(printer, &s->refs[1], WICK_F32);
    for (int i = 0; i < 2 + p->has_zeros; i++) {
        const wick_dtype dtype = i == 1 ? WICK_F32 : p->is_unsigned ? WICK_U8 : WICK_I8;
        wick_text_add(&printer->calls, ", ");
        if (q.known)
            wick_c_constant_at(printer, constants[i], 0);
        else
            wick_c_argument(printer, &s->refs[WICK_STEP_LINEAR8_Q + i], dtype);
    }
    wick_text_add(&printer->calls, ", ");
    if (m->bias) {
        wick_c_argument(printer, &s->refs[m->bias], WICK_F32);
        wick_text_add(&printer->calls, ", ");
    }
    wick_c_argument(printer, &s->refs[0], WICK_F32);
    wick_text_add(&printer->calls, ");\n");
    return WICK_OK;
}
