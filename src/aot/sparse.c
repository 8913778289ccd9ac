/* sparse.c: products with sparse weights as plain C: for each output the places of its weights that are not zero, and
 * these. Outputs go four at a time, so that their chains overlap; lists lie as [four][block of k][output]. Where A
 * holds Inf or NaN, which zeros turn into NaN, all of k is gone through. */
#include <stdio.h>

#include "aot/print.h"

#define line wick_c_line

enum { SIDE_BY_SIDE = 4 };

/* What is not zero, in the order of the loops. */
typedef struct lists {
    uint16_t *counts, *places;
    float *weights;
    int64_t n_counts, n;
} lists;

static bool make_lists(wick_c_printer *p, const wick_gemm *g, const float *b, lists *l) {
    const int64_t blocks = (g->k + g->kc - 1) / g->kc;
    int64_t n = 0;
    for (int64_t j = 0; j < g->n; j++)
        for (int64_t k = 0; k < g->k; k++) n += b[k * g->b_row + j * g->b_col] != 0;
    *l = (lists){.counts = wick_arena_zalloc(&p->step, (size_t)(g->n * blocks) * sizeof(uint16_t)),
                 .places = wick_arena_alloc(&p->step, (size_t)(n + 1) * sizeof(uint16_t)),
                 .weights = wick_arena_alloc(&p->step, (size_t)(n + 1) * sizeof(float)),
                 .n_counts = g->n * blocks};
    if (!l->counts || !l->places || !l->weights) return false;
    uint16_t *count = l->counts;
    for (int64_t j0 = 0; j0 < g->n; j0 += SIDE_BY_SIDE)
        for (int64_t block = 0; block < blocks; block++)
            for (int64_t j = j0; j < WICK_MIN(j0 + SIDE_BY_SIDE, g->n); j++, count++)
                for (int64_t k = block * g->kc; k < WICK_MIN(g->k, (block + 1) * g->kc); k++) {
                    const float w = b[k * g->b_row + j * g->b_col];
                    if (w == 0) continue;
                    l->places[l->n] = (uint16_t)k;
                    l->weights[l->n++] = w;
                    ++*count;
                }
    return true;
}

/* Sums of `outputs` outputs from j on, of row x: their lists begin at p, w and n, which go on behind them. */
static void print_outputs(wick_text *t, int depth, const wick_gemm *g, int outputs) {
    const int64_t blocks = (g->k + g->kc - 1) / g->kc;
    char step[32] = "";
    if (g->a_col != 1) snprintf(step, sizeof step, " * %lld", LL(g->a_col));
    for (int o = 0; o < outputs; o++) line(t, depth, blocks > 1 ? "float s%d, total%d = 0;" : "float s%d;", o, o);
    if (blocks > 1) line(t, depth++, "for (long k0 = 0; k0 < %lld; k0 += %lld) {", LL(g->k), LL(g->kc));
    for (int o = 0; o < outputs; o++) {
        const char *from[2] = {"p", "w"};
        for (int i = 0; i < 2; i++)
            line(t, depth, o ? "const %s *%s%d = %s%d + n[%d];" : "const %s *%s%d = %s;", i ? "float" : "uint16_t",
                 from[i], o, from[i], o - 1, o - 1);
        line(t, depth, "s%d = 0;", o);
    }
    line(t, depth, "long least = n[0], e = 0;");
    for (int o = 1; o < outputs; o++) line(t, depth, "if (n[%d] < least) least = n[%d];", o, o);
    line(t, depth, "if (finite) {");
    line(t, depth + 1, "for (; e < least; e++) {");
    for (int o = 0; o < outputs; o++)
        line(t, depth + 2, "s%d = WICK_FMAF(w%d[e], x[p%d[e]%s], s%d);", o, o, o, step, o);
    line(t, depth + 1, "}");
    for (int o = 0; o < outputs && outputs > 1; o++)
        line(t, depth + 1, "for (long i%d = e; i%d < n[%d]; i%d++) s%d = WICK_FMAF(w%d[i%d], x[p%d[i%d]%s], s%d);", o,
             o, o, o, o, o, o, o, o, step, o);
    line(t, depth, "} else {");
    for (int o = 0; o < outputs; o++) {
        line(t, depth + 1, "e = 0;");
        if (blocks > 1)
            line(t, depth + 1, "for (long k = k0; k < k0 + %lld && k < %lld; k++)", LL(g->kc), LL(g->k));
        else
            line(t, depth + 1, "for (long k = 0; k < %lld; k++)", LL(g->k));
        line(t, depth + 2, "s%d = WICK_FMAF(e < n[%d] && p%d[e] == k ? w%d[e++] : 0, x[k%s], s%d);", o, o, o, o, step,
             o);
    }
    line(t, depth, "}");
    line(t, depth, "p = p%d + n[%d], w = w%d + n[%d], n += %d;", outputs - 1, outputs - 1, outputs - 1, outputs - 1,
         outputs);
    for (int o = 0; o < outputs && blocks > 1; o++) line(t, depth, "total%d = total%d + s%d;", o, o, o);
    if (blocks > 1) line(t, --depth, "}");
    for (int o = 0; o < outputs; o++) {
        char sum[16];
        snprintf(sum, sizeof sum, blocks > 1 ? "total%d" : "s%d", o);
        if (g->bias) line(t, depth, "%s = %s + bias[j + %d];", sum, sum, o);
        if (g->relu) line(t, depth, "%s = %s < 0 ? 0 : %s;", sum, sum, sum);
        line(t, depth, "c[i * %lld + j + %d] = %s;", LL(g->c_row), o, sum);
    }
}

wick_status wick_c_print_sparse(wick_c_printer *p, const wick_step *s) {
    const wick_step_gemm *m = s->args;
    const wick_gemm *g = &m->gemm;
    const int64_t whole = g->n - g->n % SIDE_BY_SIDE;
    lists l;
    if (!make_lists(p, g, wick_c_data(p, &s->refs[1]), &l)) {
        p->functions.failed = true;
        return WICK_OK;
    }
    wick_text t = {0};
    wick_text_add(&t, "(const float *a, const uint16_t *n0, const uint16_t *p0, const float *w0, %sfloat *c) {\n",
                  g->bias ? "const float *bias, " : "");
    line(&t, 1, "for (long i = 0; i < %lld; i++) {", LL(g->m));
    line(&t, 2, "const float *const x = a + i * %lld;", LL(g->a_row));
    line(&t, 2, "const uint16_t *n = n0, *p = p0;");
    line(&t, 2, "const float *w = w0;");
    line(&t, 2, "int finite = 1;");
    line(&t, 2, "for (long k = 0; k < %lld; k++) finite &= x[k * %lld] - x[k * %lld] == 0;", LL(g->k), LL(g->a_col),
         LL(g->a_col));
    if (whole) {
        line(&t, 2, "for (long j = 0; j < %lld; j += %d) {", LL(whole), SIDE_BY_SIDE);
        print_outputs(&t, 3, g, SIDE_BY_SIDE);
        line(&t, 2, "}");
    }
    if (whole < g->n) {
        line(&t, 2, "const long j = %lld;", LL(whole));
        print_outputs(&t, 2, g, (int)(g->n - whole));
    }
    line(&t, 1, "}");
    wick_text_add(&t, "}\n");
    wick_c_kernel(p, "sparse", &t);
    wick_c_argument(p, &s->refs[0], WICK_F32);
    wick_text_add(&p->calls, ", ");
    wick_c_constant_at(p, wick_c_constant(p, WICK_U16, l.counts, l.n_counts), 0);
    wick_text_add(&p->calls, ", ");
    wick_c_constant_at(p, wick_c_constant(p, WICK_U16, l.places, l.n), 0);
    wick_text_add(&p->calls, ", ");
    wick_c_constant_at(p, wick_c_constant(p, WICK_F32, l.weights, l.n), 0);
    wick_text_add(&p->calls, ", ");
    if (g->bias) {
        wick_c_argument(p, &s->refs[m->bias], WICK_F32);
        wick_text_add(&p->calls, ", ");
    }
    wick_c_argument(p, &s->refs[2], WICK_F32);
    wick_text_add(&p->calls, ");\n");
    return WICK_OK;
}
