/* products.c: products as loops, with the sums of the base tier: which terms make a chain, in which order, and where a
 * chain is cut (blocks of k); docs/numerics.md says it in words. Here is also what ends a sum, of convolutions too. */
#include <stdio.h>

#include "aot/print.h"
#include "kernels/convert/halves.h"

#define line wick_c_line

/* ---- weights that are halves ------------------------------------------------------------------------------------- */

wick_dtype wick_c_held_as(wick_dtype dtype, const void *data, int64_t n) {
    const float *x = data;
    bool bf16 = dtype == WICK_F32, f16 = bf16;
    for (int64_t i = 0; i < n && (bf16 || f16); i++) {
        const uint32_t bits = wick_bits_f32(x[i]);
        bf16 = bf16 && !(bits & 0xffff);
        f16 = f16 && wick_bits_f32(wick_f16_to_f32(wick_f16_from_f32(x[i]))) == bits;
    }
    return bf16 ? WICK_BF16 : f16 ? WICK_F16 : dtype;
}
int wick_c_held_constant(wick_c_printer *p, wick_dtype held, void *data, int64_t count) {
    const float *from = data;
    uint16_t *to = data; /* in place */
    for (int64_t i = 0; i < count && *wick_c_load(held); i++) {
        float x;
        memcpy(&x, from + i, sizeof x);
        const uint16_t half = held == WICK_F16 ? wick_f16_from_f32(x) : wick_bf16_from_f32(x);
        memcpy(to + i, &half, sizeof half);
    }
    return wick_c_constant(p, held, data, count);
}

/* ---- what ends a sum --------------------------------------------------------------------------------------------- */

/* Rows of sums are carried at once where that pays: acc, or acc0, acc1, ... */
static const char *sum_name(char *text, size_t size, const char *name, int row, int rows) {
    if (rows == 1)
        snprintf(text, size, "%s", name);
    else
        snprintf(text, size, "%s%d", name, row);
    return text;
}
void wick_c_print_sums(wick_text *t, int depth, int64_t width, bool blocks, const char *type, int rows) {
    char acc[16], total[16];
    for (int r = 0; r < rows; r++) {
        sum_name(acc, sizeof acc, "acc", r, rows), sum_name(total, sizeof total, "total", r, rows);
        if (blocks)
            line(t, depth, "%s %s[%lld] = {0}, %s[%lld] = {0};", type, acc, LL(width), total, LL(width));
        else
            line(t, depth, "%s %s[%lld] = {0};", type, acc, LL(width));
    }
}
void wick_c_print_flush(wick_text *t, int depth, int64_t width, const char *condition, int rows) {
    char acc[16], total[16];
    line(t, depth, "if (%s)", condition);
    line(t, depth + 1, "for (long j = 0; j < %lld; j++) {", LL(width));
    for (int r = 0; r < rows; r++) {
        sum_name(acc, sizeof acc, "acc", r, rows), sum_name(total, sizeof total, "total", r, rows);
        line(t, depth + 2, "%s[j] = %s[j] + %s[j], %s[j] = 0;", total, total, acc, acc);
    }
    line(t, depth + 1, "}");
}
void wick_c_print_epilogue(wick_text *t, int depth, int64_t width, bool blocks, const char *bias, wick_dtype of_bias,
                           bool relu, const char *to, wick_dtype dtype, int rows, int64_t step) {
    const char *type = wick_c_type(wick_ctype_of(dtype)), *load = wick_c_load(of_bias), *store = wick_c_store(dtype);
    char acc[16], total[16];
    line(t, depth, "for (long j = 0; j < %lld; j++) {", LL(width));
    for (int r = 0; r < rows; r++) {
        sum_name(acc, sizeof acc, "acc", r, rows), sum_name(total, sizeof total, "total", r, rows);
        if (blocks)
            line(t, depth + 1, "%s%s = %s[j] + %s[j];", r ? "" : type, r ? "s" : " s", total, acc);
        else
            line(t, depth + 1, "%s%s = %s[j];", r ? "" : type, r ? "s" : " s", acc);
        if (bias && *load)
            line(t, depth + 1, "s = %s(%s(s)) + %s(%s);", load, wick_c_store(of_bias), load, bias);
        else if (bias)
            line(t, depth + 1, "s = s + %s;", bias);
        if (relu) line(t, depth + 1, "s = s < 0 ? 0 : s;");
        if (r)
            line(t, depth + 1, *store ? "(&%s)[%lld] = %s(s);" : "(&%s)[%lld] = %ss;", to, LL(r * step), store);
        else
            line(t, depth + 1, *store ? "%s = %s(s);" : "%s = %ss;", to, store);
    }
    line(t, depth, "}");
}

/* ---- products ---------------------------------------------------------------------------------------------------- */

/* What A and B hold, and what C and the bias do. */
static wick_dtype operand_of(const wick_gemm *g) {
    return g->narrow ? (wick_dtype)g->narrow : g->type == WICK_CF32 ? WICK_F32 : WICK_F64;
}
static wick_dtype result_of(const wick_gemm *g) { return g->narrow ? (wick_dtype)g->result : operand_of(g); }

/* Which element is term k of a sum: of each pair of bf16 the second is the first (kernels/gemm/narrow.h). */
static int64_t term_of(const wick_gemm *g, int64_t k) { return g->narrow == WICK_BF16 && (k ^ 1) < g->k ? k ^ 1 : k; }
static const char *term_text(const wick_gemm *g) {
    return g->narrow != WICK_BF16 || g->k < 2 ? "k" : g->k % 2 == 0 ? "(k ^ 1)" : "e";
}

/* B [k, n] in panels of `lanes` columns, [panel][k][lanes], the last one narrower; k in the order of sums. */
int wick_c_packed_columns(wick_c_printer *p, const wick_gemm *g, const char *b, wick_dtype held, int64_t lanes) {
    const int64_t elem = (int64_t)wick_dtype_size(operand_of(g));
    char *packed = wick_arena_alloc(&p->step, (size_t)(g->k * g->n * elem) + 1), *to = packed;
    if (!packed) {
        p->functions.failed = true;
        return 0;
    }
    for (int64_t j = 0; j < g->n; j += lanes)
        for (int64_t k = 0; k < g->k; k++)
            for (int64_t i = j; i < WICK_MIN(j + lanes, g->n); i++, to += elem)
                memcpy(to, b + (term_of(g, k) * g->b_row + i * g->b_col) * elem, (size_t)elem);
    return held == operand_of(g) ? wick_c_constant(p, held, packed, g->k * g->n)
                                 : wick_c_held_constant(p, held, packed, g->k * g->n);
}

/* A panel of columns [first, first + width), or one of those that begin at j0 in a loop. */
static void print_panel(wick_text *t, int depth, const wick_step_gemm *m, bool packed, wick_dtype held, int64_t width,
                        const char *first) {
    const wick_gemm *g = &m->gemm;
    const char *type = wick_c_type(g->type), *fma = g->type == WICK_CF32 ? "WICK_FMAF" : "WICK_FMA";
    const bool blocks = g->k > g->kc, totals = blocks || g->accumulate;
    const char *term = term_text(g), *load = wick_c_load(operand_of(g)), *end = *load ? ")" : "",
               *load_b = wick_c_load(held), *end_b = *load_b ? ")" : "";
    char b[200], text[160], bias[64];
    wick_c_print_sums(t, depth, width, totals, type, 1);
    if (g->accumulate)
        line(t, depth, "for (long j = 0; j < %lld; j++) total[j] = c[i * %lld + %s + j];", LL(width), LL(g->c_row),
             first);
    line(t, depth, "for (long k = 0; k < %lld; k++) {", LL(g->k));
    snprintf(text, sizeof text, "k %% %lld == 0 && k", LL(g->kc));
    if (blocks) wick_c_print_flush(t, depth + 1, width, text, 1);
    if (*term == 'e') line(t, depth + 1, "const long e = k < %lld ? k ^ 1 : k;", LL(g->k - 1));
    line(t, depth + 1, "const %s x = %s%sa[i * %lld + %s * %lld]%s;", type, load, *load ? "(" : "", LL(g->a_row), term,
         LL(g->a_col), end);
    if (packed)
        snprintf(b, sizeof b, "%s%sb[%s * %lld + k * %lld + j]%s", load_b, *load_b ? "(" : "", first, LL(g->k),
                 LL(width), end_b);
    else
        snprintf(b, sizeof b, "%s%sb[%s * %lld + (%s + j) * %lld]%s", load_b, *load_b ? "(" : "", term, LL(g->b_row),
                 first, LL(g->b_col), end_b);
    line(t, depth + 1, "KEEP for (long j = 0; j < %lld; j++) acc[j] = %s(x, %s, acc[j]);", LL(width), fma, b);
    line(t, depth, "}");
    snprintf(text, sizeof text, "c[i * %lld + %s + j]", LL(g->c_row), first);
    if (g->bias == 1)
        snprintf(bias, sizeof bias, "bias[%s + j]", first);
    else
        snprintf(bias, sizeof bias, "bias[i]");
    wick_c_print_epilogue(t, depth, width, totals, g->bias ? bias : NULL, result_of(g), g->relu, text, result_of(g), 1,
                          0);
}

void wick_c_print_rows(wick_text *t, int depth, const wick_step_gemm *m, bool packed, wick_dtype held, int64_t lanes,
                       const char *const (*names)[2], int n_names) {
    const wick_gemm *g = &m->gemm;
    const int64_t whole = g->n - g->n % lanes;
    wick_text rows = (wick_text){0};
    line(&rows, depth, "for (long i = 0; i < %lld; i++) {", LL(g->m));
    if (whole) {
        line(&rows, depth + 1, "for (long j0 = 0; j0 < %lld; j0 += %lld) {", LL(whole), LL(lanes));
        print_panel(&rows, depth + 2, m, packed, held, lanes, "j0");
        line(&rows, depth + 1, "}");
    }
    if (whole < g->n) {
        char first[32];
        snprintf(first, sizeof first, "%lld", LL(whole));
        line(&rows, depth + 1, "{");
        print_panel(&rows, depth + 2, m, packed, held, g->n - whole, first);
        line(&rows, depth + 1, "}");
    }
    line(&rows, depth, "}");
    if (rows.at) wick_text_replaced(t, rows.at, rows.len, names, n_names);
    t->failed = t->failed || rows.failed;
    wick_text_free(&rows);
}

wick_status wick_c_print_gemm(wick_c_printer *p, const wick_step *s) {
    const wick_step_gemm *m = s->args;
    const wick_gemm *g = &m->gemm;
    if (g->amx || g->accumulate) return wick_c_refuse(p, s, "products by tiles of AMX are not written");
    const wick_dtype dtype = operand_of(g), result = result_of(g);
    const char *type = wick_c_memory(dtype), *out = wick_c_memory(result);
    const int64_t elem = (int64_t)wick_dtype_size(dtype), lanes = WICK_MIN(p->m->lanes, WICK_MAX(g->n, 1));
    bool one_b = true;
    for (int d = 0; d < m->batch_rank; d++) one_b &= m->b[d] == 0 || m->batch[d] == 1;
    const bool packed = one_b && wick_c_is_data(p, &s->refs[1]);
    if (packed && g->sparse.kernel && !p->m->isa) return wick_c_print_sparse(p, s);
    if (packed && p->m->isa && dtype == WICK_F32) return wick_c_print_vector_product(p, s);
    wick_text t = (wick_text){0};
    wick_text_add(&t, "(const %s *a, const %s *b, %s%s%s%s *c) {\n", type, type, g->bias ? "const " : "",
                  g->bias ? out : "", g->bias ? " *bias, " : "", out);
    int depth = 1;
    if (m->batch_rank) {
        for (int d = 0; d < m->batch_rank; d++)
            line(&t, depth++, "for (long n%d = 0; n%d < %lld; n%d++) {", d, d, LL(m->batch[d]), d);
        wick_text at[3] = {(wick_text){0}, (wick_text){0}, (wick_text){0}};
        int64_t product = m->c / (int64_t)wick_dtype_size(result);
        for (int d = m->batch_rank - 1; d >= 0; d--) {
            wick_text_add(&at[0], " + n%d * %lld", d, LL(m->a[d] / elem));
            if (!packed) wick_text_add(&at[1], " + n%d * %lld", d, LL(m->b[d] / elem));
            wick_text_add(&at[2], " + n%d * %lld", d, LL(product));
            product *= m->batch[d];
        }
        wick_text_add(&t, "%*sconst %s *const a0 = a%s;\n", 4 * depth, "", type, at[0].at ? at[0].at : "");
        wick_text_add(&t, "%*sconst %s *const b0 = b%s;\n", 4 * depth, "", type, at[1].at ? at[1].at : "");
        wick_text_add(&t, "%*s%s *const c0 = c%s;\n", 4 * depth, "", out, at[2].at ? at[2].at : "");
        for (int i = 0; i < 3; i++) t.failed = t.failed || at[i].failed, wick_text_free(&at[i]);
    }
    static const char *const of_batch[][2] = {
        {" a[", " a0["}, {" b[", " b0["}, {" c[", " c0["}, {"(a[", "(a0["}, {"(b[", "(b0["}};
    wick_c_print_rows(&t, depth, m, packed, dtype, lanes, of_batch, m->batch_rank ? 5 : 0);
    while (depth-- > 1) line(&t, depth, "}");
    wick_text_add(&t, "}\n");
    wick_c_kernel(p, "product", &t);
    wick_c_argument(p, &s->refs[0], dtype);
    wick_text_add(&p->calls, ", ");
    if (packed)
        wick_c_constant_at(p, wick_c_packed_columns(p, g, wick_c_data(p, &s->refs[1]), dtype, lanes), 0);
    else
        wick_c_argument(p, &s->refs[1], dtype);
    wick_text_add(&p->calls, ", ");
    if (g->bias) {
        wick_c_argument(p, &s->refs[m->bias], result);
        wick_text_add(&p->calls, ", ");
    }
    wick_c_argument(p, &s->refs[2], result);
    wick_text_add(&p->calls, ");\n");
    return WICK_OK;
}
