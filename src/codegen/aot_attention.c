/* aot_attention.c: attention, forward, a query after the other: the sums of kernels/attention over the same blocks of keys, whose maxima move. */
#include "codegen/aot_print.h"
#include "kernels/attention/attention.h"

#define line wick_c_line

/* "q + n * 64 + h * 8", of a head. */
static void print_head(wick_text *t, const char *type, const char *name, const char *array, const int64_t *strides, int64_t group) {
    wick_text_add(t, "            const %s *%s = %s + n * %lld + ", type, name, array, LL(strides[0]));
    if (group > 1)
        wick_text_add(t, "h / %lld * %lld;\n", LL(group), LL(strides[1]));
    else
        wick_text_add(t, "h * %lld;\n", LL(strides[1]));
}

/* A block of keys from j0 on: its weights into w, what they move into move. */
static void print_weights(wick_text *t, const wick_attention_job *a, const char *type, const char *fma, const char *exp) {
    wick_text scale = {0};
    wick_c_number(&scale, a->type, a->type == WICK_CF32 ? (double)(float)a->scale : a->scale);
    line(t, 5, "const long m = seen - j0 < %d ? seen - j0 : %d;", WICK_ATTENTION_KEYS, WICK_ATTENTION_KEYS);
    line(t, 5, "%s top = max, part = 0, acc[%lld] = {0};", type, LL(WICK_MAX(a->value_dim, 1)));
    line(t, 5, "for (long j = 0; j < m; j++) {");
    line(t, 6, "const %s *kj = kh + (j0 + j) * %lld;", type, LL(a->k[2]));
    line(t, 6, "%s s = 0;", type);
    line(t, 6, "for (long d = 0; d < %lld; d++) s = %s(kj[d * %lld], qi[d * %lld], s);", LL(a->dim), fma, LL(a->k[3]), LL(a->q[3]));
    wick_text_add(t, "%24ss = s * %s", "", scale.at ? scale.at : "1");
    if (a->masked) wick_text_add(t, " + mh[i * %lld + (j0 + j) * %lld]", LL(a->mask[2]), LL(a->mask[3]));
    wick_text_add(t, ";\n");
    if (a->causal) line(t, 6, "if (j0 + j > i + %lld) s = -INFINITY;", LL(a->shift));
    line(t, 6, "w[j] = s;");
    line(t, 6, "top = s > top ? s : top;");
    line(t, 5, "}");
    line(t, 5, "const %s factor = %s(max - top), move = top == max ? 1 : factor, shift = top == -INFINITY ? 0 : top;", type, exp);
    line(t, 5, "max = top;");
    line(t, 5, "for (long j = 0; j < m; j++) w[j] = %s(w[j] - shift);", exp);
    line(t, 5, "long j = 0;");
    line(t, 5, "for (; j + 4 <= m; j += 4) part = part + ((w[j] + w[j + 1]) + (w[j + 2] + w[j + 3]));");
    line(t, 5, "for (; j < m; j++) part = part + w[j];");
    line(t, 5, "sum = j0 ? sum * move + part : part;");
    t->failed = t->failed || scale.failed;
    wick_text_free(&scale);
}

wick_status wick_c_print_attention(wick_c_printer *p, const wick_step *s) {
    const wick_step_attention *m = s->args;
    const wick_attention_job *a = &m->a;
    const wick_dtype dtype = a->type == WICK_CF32 ? WICK_F32 : WICK_F64;
    const char *type = wick_c_type(a->type), *fma = a->type == WICK_CF32 ? "WICK_FMAF" : "WICK_FMA", *exp = a->type == WICK_CF32 ? "wick_attention_exp_f32" : "wick_weight_exp_f64";
    const int64_t group = a->heads / WICK_MAX(a->kv_heads, 1);
    static const int order[] = {WICK_ATTENTION_Q, WICK_ATTENTION_K, WICK_ATTENTION_V, WICK_ATTENTION_MASK, WICK_ATTENTION_Y, WICK_ATTENTION_LSE};
    if (a->dropout > 0) return wick_c_refuse(p, s, "dropout is not written yet");
    wick_text t = (wick_text){0};
    wick_text_add(&t, "(const %s *q, const %s *k, const %s *v, ", type, type, type);
    if (a->masked) wick_text_add(&t, "const %s *mask, ", type);
    wick_text_add(&t, "%s *y, %s *lse) {\n", type, type);
    line(&t, 1, "for (long n = 0; n < %lld; n++)", LL(a->batch));
    line(&t, 2, "for (long h = 0; h < %lld; h++) {", LL(a->heads));
    print_head(&t, type, "kh", "k", a->k, group);
    print_head(&t, type, "vh", "v", a->v, group);
    if (a->masked) print_head(&t, type, "mh", "mask", a->mask, 1);
    line(&t, 3, "for (long i = 0; i < %lld; i++) {", LL(a->queries));
    line(&t, 4, "const %s *qi = q + n * %lld + h * %lld + i * %lld;", type, LL(a->q[0]), LL(a->q[1]), LL(a->q[2]));
    line(&t, 4, "%s *to = y + n * %lld + h * %lld + i * %lld, w[%d], sums[%lld] = {0}, max = -INFINITY, sum = 0;", type, LL(a->y[0]), LL(a->y[1]), LL(a->y[2]), WICK_ATTENTION_KEYS, LL(WICK_MAX(a->value_dim, 1)));
    if (a->causal) { /* a block of queries looks at the keys that its last one sees */
        line(&t, 4, "const long end = i - i %% %d + %d, last = (end < %lld ? end : %lld) + %lld;", WICK_ATTENTION_QUERIES, WICK_ATTENTION_QUERIES, LL(a->queries), LL(a->queries), LL(a->shift));
        line(&t, 4, "const long seen = last < 0 ? 0 : last < %lld ? last : %lld;", LL(a->keys), LL(a->keys));
    } else {
        line(&t, 4, "const long seen = %lld;", LL(a->keys));
    }
    line(&t, 4, "for (long j0 = 0; j0 < seen; j0 += %d) {", WICK_ATTENTION_KEYS);
    print_weights(&t, a, type, fma, exp);
    line(&t, 5, "for (j = 0; j < m; j++) {");
    line(&t, 6, "const %s *vj = vh + (j0 + j) * %lld;", type, LL(a->v[2]));
    line(&t, 6, "for (long c = 0; c < %lld; c++) acc[c] = %s(w[j], vj[c * %lld], acc[c]);", LL(a->value_dim), fma, LL(a->v[3]));
    line(&t, 5, "}");
    line(&t, 5, "for (long c = 0; c < %lld; c++) sums[c] = j0 ? sums[c] * move + acc[c] : acc[c];", LL(a->value_dim));
    line(&t, 4, "}");
    line(&t, 4, "const %s by = 1 / sum;", type);
    line(&t, 4, "for (long c = 0; c < %lld; c++) to[c] = sum == 0 ? 0 : sums[c] * by;", LL(a->value_dim));
    line(&t, 4, "lse[(n * %lld + h) * %lld + i] = sum == 0 ? INFINITY : max + wick_log_%s(sum);", LL(a->heads), LL(a->queries), wick_c_suffix(a->type));
    line(&t, 3, "}");
    line(&t, 2, "}");
    wick_text_add(&t, "}\n");
    wick_c_kernel(p, "attention", &t);
    for (size_t k = 0; k < WICK_COUNTOF(order); k++) {
        if (m->at[order[k]] < 0) continue;
        if (k) wick_text_add(&p->calls, ", ");
        wick_c_argument(p, &s->refs[m->at[order[k]]], dtype);
    }
    wick_text_add(&p->calls, ");\n");
    return WICK_OK;
}
