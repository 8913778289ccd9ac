/* attention.c: attention. Forward, a query after the other: the sums of kernels/attention over the same blocks of
 * keys, whose maxima move. Back, a key after the other of a block, by the queries of a block: no tile of scores is
 * kept. */
#include <stdio.h>

#include "aot/print.h"
#include "kernels/attention/attention.h"
#include "ops/ops.h"

#define line wick_c_line

/* "q + n * 64 + h / 2 * 8", of a head, which is `head`, or one of those that share it. */
static void print_head(wick_text *t, int depth, const char *type, const char *name, const char *array,
                       const int64_t *strides, const char *head, int64_t group) {
    if (group > 1)
        line(t, depth, "%s *%s = %s + n * %lld + %s / %lld * %lld;", type, name, array, LL(strides[0]), head, LL(group),
             LL(strides[1]));
    else
        line(t, depth, "%s *%s = %s + n * %lld + %s * %lld;", type, name, array, LL(strides[0]), head, LL(strides[1]));
}

/* An f32 or f64 with its suffix. */
static void print_number(wick_text *t, wick_ctype type, double x) {
    wick_c_number(t, type, type == WICK_CF32 ? (double)(float)x : x);
}

/* What dropout compares with and multiplies by. */
static void print_dropout(wick_text *t, const wick_attention_job *a, const char *type) {
    wick_text_add(t, "    const float drop = ");
    print_number(t, WICK_CF32, a->dropout);
    wick_text_add(t, ";\n    const %s more = ", type);
    print_number(t, a->type, 1 / (1 - a->dropout));
    wick_text_add(t, ";\n");
}
/* Of query `query` of head `head` and key `key`: the place of its four in the stream. */
static void print_uniforms(wick_text *t, int depth, const wick_attention_job *a, const char *head, const char *query,
                           const char *key) {
    const int64_t blocks = (a->queries + WICK_ATTENTION_QUERIES - 1) / WICK_ATTENTION_QUERIES;
    line(t, depth,
         "wick_attention_uniforms(*seed, (((int64_t)(n * %lld + %s) * %lld + (%s) / %d) * %lld + %s) * %d + (%s) %% %d "
         "/ 4 * 4, four);",
         LL(a->heads), head, LL(blocks), query, WICK_ATTENTION_QUERIES, LL(a->keys), key, WICK_ATTENTION_QUERIES, query,
         WICK_ATTENTION_QUERIES);
}

/* A block of keys from j0 on: its weights into w, what they move into move. */
static void print_weights(wick_text *t, const wick_attention_job *a, const char *type, const char *fma,
                          const char *exp) {
    line(t, 5, "const long m = seen - j0 < %d ? seen - j0 : %d;", WICK_ATTENTION_KEYS, WICK_ATTENTION_KEYS);
    line(t, 5, "%s top = max, part = 0, acc[%lld] = {0};", type, LL(WICK_MAX(a->value_dim, 1)));
    line(t, 5, "for (long j = 0; j < m; j++) {");
    line(t, 6, "const %s *kj = kh + (j0 + j) * %lld;", type, LL(a->k[2]));
    line(t, 6, "%s s = 0;", type);
    line(t, 6, "for (long d = 0; d < %lld; d++) s = %s(kj[d * %lld], qi[d * %lld], s);", LL(a->dim), fma, LL(a->k[3]),
         LL(a->q[3]));
    wick_text_add(t, "%24ss = s * ", "");
    print_number(t, a->type, a->scale);
    if (a->masked) wick_text_add(t, " + mh[i * %lld + (j0 + j) * %lld]", LL(a->mask[2]), LL(a->mask[3]));
    wick_text_add(t, ";\n");
    if (a->causal) line(t, 6, "if (j0 + j > i + %lld) s = -INFINITY;", LL(a->shift));
    line(t, 6, "w[j] = s;");
    line(t, 6, "top = s > top ? s : top;");
    line(t, 5, "}");
    line(t, 5, "const %s factor = %s(max - top), move = top == max ? 1 : factor, shift = top == -INFINITY ? 0 : top;",
         type, exp);
    line(t, 5, "max = top;");
    line(t, 5, "for (long j = 0; j < m; j++) w[j] = %s(w[j] - shift);", exp);
    line(t, 5, "for (long j = 0; j < m / 4 * 4; j += 4) part = part + ((w[j] + w[j + 1]) + (w[j + 2] + w[j + 3]));");
    line(t, 5, "for (long j = m / 4 * 4; j < m; j++) part = part + w[j];");
    line(t, 5, "sum = j0 ? sum * move + part : part;");
    if (a->dropout > 0) {
        line(t, 5, "for (long j = 0; j < m; j++) {");
        line(t, 6, "float four[4];");
        print_uniforms(t, 6, a, "h", "i", "j0 + j");
        line(t, 6, "w[j] = four[i %% 4] >= drop ? w[j] * more : 0;");
        line(t, 5, "}");
    }
}

static void print_forward(wick_text *t, const wick_attention_job *a, const char *type, const char *fma,
                          const char *exp) {
    const int64_t group = a->heads / WICK_MAX(a->kv_heads, 1);
    char kept[32];
    snprintf(kept, sizeof kept, "const %s", type);
    if (a->dropout > 0) print_dropout(t, a, type);
    line(t, 1, "for (long n = 0; n < %lld; n++)", LL(a->batch));
    line(t, 2, "for (long h = 0; h < %lld; h++) {", LL(a->heads));
    print_head(t, 3, kept, "kh", "k", a->k, "h", group);
    print_head(t, 3, kept, "vh", "v", a->v, "h", group);
    if (a->masked) print_head(t, 3, kept, "mh", "mask", a->mask, "h", 1);
    line(t, 3, "for (long i = 0; i < %lld; i++) {", LL(a->queries));
    line(t, 4, "const %s *qi = q + n * %lld + h * %lld + i * %lld;", type, LL(a->q[0]), LL(a->q[1]), LL(a->q[2]));
    line(t, 4, "%s *to = y + n * %lld + h * %lld + i * %lld, w[%d], sums[%lld] = {0}, max = -INFINITY, sum = 0;", type,
         LL(a->y[0]), LL(a->y[1]), LL(a->y[2]), WICK_ATTENTION_KEYS, LL(WICK_MAX(a->value_dim, 1)));
    if (a->causal) { /* a block of queries looks at the keys that its last one sees */
        line(t, 4, "const long end = i - i %% %d + %d, last = (end < %lld ? end : %lld) + %lld;",
             WICK_ATTENTION_QUERIES, WICK_ATTENTION_QUERIES, LL(a->queries), LL(a->queries), LL(a->shift));
        line(t, 4, "const long seen = last < 0 ? 0 : last < %lld ? last : %lld;", LL(a->keys), LL(a->keys));
    } else {
        line(t, 4, "const long seen = %lld;", LL(a->keys));
    }
    line(t, 4, "for (long j0 = 0; j0 < seen; j0 += %d) {", WICK_ATTENTION_KEYS);
    print_weights(t, a, type, fma, exp);
    line(t, 5, "for (long j = 0; j < m; j++) {");
    line(t, 6, "const %s *vj = vh + (j0 + j) * %lld;", type, LL(a->v[2]));
    line(t, 6, "for (long c = 0; c < %lld; c++) acc[c] = %s(w[j], vj[c * %lld], acc[c]);", LL(a->value_dim), fma,
         LL(a->v[3]));
    line(t, 5, "}");
    /* KEEP here and below: of sums of four unrolled gcc 12.2 -O3 makes vectors that are wrong (-fno-tree-slp-vectorize,
     * -O2 and clang are not). */
    line(t, 5, "KEEP for (long c = 0; c < %lld; c++) sums[c] = j0 ? sums[c] * move + acc[c] : acc[c];",
         LL(a->value_dim));
    line(t, 4, "}");
    line(t, 4, "const %s by = 1 / sum;", type);
    line(t, 4, "KEEP for (long c = 0; c < %lld; c++) to[c] = sum == 0 ? 0 : sums[c] * by;", LL(a->value_dim));
    line(t, 4, "lse[(n * %lld + h) * %lld + i] = sum == 0 ? INFINITY : max + wick_log_%s(sum);", LL(a->heads),
         LL(a->queries), wick_c_suffix(a->type));
    line(t, 3, "}");
    line(t, 2, "}");
}

/* ---- backward ---------------------------------------------------------------------------------------------------- */

/* Queries of a block, whose gradients are summed over a block of keys before they are added to the others. */
static int64_t block_of(const wick_attention_job *a) { return WICK_MIN(a->queries, WICK_ATTENTION_QUERIES); }
size_t wick_c_attention_scratch(const wick_step *s, const wick_c_buffer *buffers, bool pairs) {
    (void)pairs;
    (void)buffers;
    const wick_step_attention *m = s->args;
    return m->stage == 1
               ? WICK_ALIGN_UP((size_t)WICK_MAX(block_of(&m->a) * m->a.dim, 1) * wick_ctype_size(m->a.type), 16)
               : 0;
}

/* Of key j and all queries of a block from i0 on. */
static void print_key(wick_text *t, int depth, const wick_attention_job *a, const char *type, const char *fma,
                      const char *exp) {
    line(t, depth, "const %s *kj = kh + j * %lld, *vj = vh + j * %lld;", type, LL(a->k[2]), LL(a->v[2]));
    line(t, depth, "%s *gkj = gkh + j * %lld, *gvj = gvh + j * %lld, gkb[%lld] = {0}, gvb[%lld] = {0};", type,
         LL(a->gk[2]), LL(a->gv[2]), LL(WICK_MAX(a->dim, 1)), LL(WICK_MAX(a->value_dim, 1)));
    if (a->dropout > 0) line(t, depth, "float four[4] = {0};");
    line(t, depth++, "for (long i = 0; i < some; i++) {");
    line(t, depth, "const %s *qi = qh + (i0 + i) * %lld, *gi = gh + (i0 + i) * %lld;", type, LL(a->q[2]), LL(a->gy[2]));
    line(t, depth, "%s s = 0, g = 0;", type);
    line(t, depth, "for (long d = 0; d < %lld; d++) s = %s(kj[d * %lld], qi[d * %lld], s);", LL(a->dim), fma,
         LL(a->k[3]), LL(a->q[3]));
    line(t, depth, "for (long c = 0; c < %lld; c++) g = %s(vj[c * %lld], gi[c * %lld], g);", LL(a->value_dim), fma,
         LL(a->v[3]), LL(a->gy[3]));
    wick_text_add(t, "%*ss = %s(s * ", 4 * depth, "", exp);
    print_number(t, a->type, a->scale);
    if (a->masked)
        wick_text_add(t, " + mh[(i0 + i) * %lld + j * %lld]", LL(a->mask[2]), LL(a->mask[3]));
    else if (a->dropout > 0)
        wick_text_add(t, " + 0");
    wick_text_add(t, " - lse[row + i]);\n");
    if (a->dropout > 0) {
        line(t, depth, "if (i %% 4 == 0)");
        print_uniforms(t, depth + 1, a, "h", "i0 + i", "j");
        line(t, depth, "const int kept = four[i %% 4] >= drop;");
        line(t, depth, "g = kept ? g * more : 0;");
    }
    wick_text_add(t, "%*sg = s * (g - delta[row + i]) * ", 4 * depth, "");
    print_number(t, a->type, a->scale);
    wick_text_add(t, ";\n");
    if (a->dropout > 0) line(t, depth, "s = kept ? s * more : 0;");
    if (a->causal) line(t, depth, "if (j > i0 + i + %lld) s = g = 0;", LL(a->shift));
    line(t, depth, "for (long c = 0; c < %lld; c++) gvb[c] = %s(s, gi[c * %lld], gvb[c]);", LL(a->value_dim), fma,
         LL(a->gy[3]));
    line(t, depth, "for (long d = 0; d < %lld; d++) gkb[d] = %s(g, qi[d * %lld], gkb[d]);", LL(a->dim), fma,
         LL(a->q[3]));
    line(t, depth, "for (long d = 0; d < %lld; d++) gqb[i * %lld + d] = %s(g, kj[d * %lld], gqb[i * %lld + d]);",
         LL(a->dim), LL(a->dim), fma, LL(a->k[3]), LL(a->dim));
    line(t, --depth, "}");
    line(t, depth, "for (long c = 0; c < %lld; c++) gvj[c] = begun ? gvj[c] + gvb[c] : gvb[c];", LL(a->value_dim));
    line(t, depth, "for (long d = 0; d < %lld; d++) gkj[d] = begun ? gkj[d] + gkb[d] : gkb[d];", LL(a->dim));
}

/* Of head h of keys and the heads of queries that share it; gqb: gradients of a block of queries. Keys are cut as the
 * plan's tasks are, gq is in as many parts. */
static void print_backward(wick_text *t, const wick_attention_job *a, const char *type, const char *fma,
                           const char *exp) {
    const int64_t group = a->heads / WICK_MAX(a->kv_heads, 1),
                  part[4] = {a->heads * a->queries * a->dim, a->queries * a->dim, a->dim, 1},
                  *to = a->splits > 1 ? part : a->gq;
    char kept[32];
    snprintf(kept, sizeof kept, "const %s", type);
    if (a->dropout > 0) print_dropout(t, a, type);
    line(t, 1, "for (long part = 0; part < %lld; part++)", LL(a->splits));
    line(t, 1, "for (long n = 0; n < %lld; n++)", LL(a->batch));
    line(t, 1, "for (long kv = 0; kv < %lld; kv++) {", LL(a->kv_heads));
    line(t, 2, "const long first = part * %lld, end = first + %lld < %lld ? first + %lld : %lld;", LL(a->split_keys),
         LL(a->split_keys), LL(a->keys), LL(a->split_keys), LL(a->keys));
    print_head(t, 2, kept, "kh", "k", a->k, "kv", 1);
    print_head(t, 2, kept, "vh", "v", a->v, "kv", 1);
    print_head(t, 2, type, "gkh", "gk", a->gk, "kv", 1);
    print_head(t, 2, type, "gvh", "gv", a->gv, "kv", 1);
    line(t, 2, "%s *gqp = gq + part * %lld + n * %lld;", type, LL(a->splits > 1 ? a->batch * part[0] : 0), LL(to[0]));
    line(t, 2, "for (long h = kv * %lld; h < (kv + 1) * %lld; h++)", LL(group), LL(group));
    line(t, 3, "for (long i = 0; i < %lld; i++)", LL(a->queries));
    line(t, 4, "for (long d = 0; d < %lld; d++) gqp[h * %lld + i * %lld + d] = 0;", LL(a->dim), LL(to[1]), LL(to[2]));
    line(t, 2, "for (long j0 = first; j0 < end; j0 += %d) {", WICK_ATTENTION_KEYS);
    line(t, 3, "const long last = j0 + %d < end ? j0 + %d : end;", WICK_ATTENTION_KEYS, WICK_ATTENTION_KEYS);
    line(t, 3, "int begun = 0;");
    line(t, 3, "for (long h = kv * %lld; h < (kv + 1) * %lld; h++) {", LL(group), LL(group));
    print_head(t, 4, kept, "qh", "q", a->q, "h", 1);
    print_head(t, 4, kept, "gh", "gy", a->gy, "h", 1);
    if (a->masked) print_head(t, 4, kept, "mh", "mask", a->mask, "h", 1);
    line(t, 4, "for (long i0 = 0; i0 < %lld; i0 += %d) {", LL(a->queries), WICK_ATTENTION_QUERIES);
    line(t, 5, "const long some = i0 + %d < %lld ? %d : %lld - i0, row = (n * %lld + h) * %lld + i0;",
         WICK_ATTENTION_QUERIES, LL(a->queries), WICK_ATTENTION_QUERIES, LL(a->queries), LL(a->heads), LL(a->queries));
    if (a->causal)
        line(t, 5, "if (i0 + some + %lld <= j0) continue; /* none of them sees one of the block */", LL(a->shift));
    line(t, 5, "for (long i = 0; i < some * %lld; i++) gqb[i] = 0;", LL(a->dim));
    line(t, 5, "for (long j = j0; j < last; j++) {");
    print_key(t, 6, a, type, fma, exp);
    line(t, 5, "}");
    line(t, 5, "for (long i = 0; i < some; i++) {");
    line(t, 6, "%s *to = gqp + h * %lld + (i0 + i) * %lld;", type, LL(to[1]), LL(to[2]));
    line(t, 6, "for (long d = 0; d < %lld; d++) to[d] = to[d] + gqb[i * %lld + d];", LL(a->dim), LL(a->dim));
    line(t, 5, "}");
    line(t, 5, "begun = 1;");
    line(t, 4, "}");
    line(t, 3, "}");
    line(t, 3, "for (long j = j0; j < last && !begun; j++) {");
    line(t, 4, "for (long c = 0; c < %lld; c++) gvh[j * %lld + c] = 0;", LL(a->value_dim), LL(a->gv[2]));
    line(t, 4, "for (long d = 0; d < %lld; d++) gkh[j * %lld + d] = 0;", LL(a->dim), LL(a->gk[2]));
    line(t, 3, "}");
    line(t, 2, "}");
    line(t, 1, "}");
}

static void print_parts(wick_text *t, const wick_attention_job *a, const char *type) {
    line(t, 1, "for (long n = 0; n < %lld; n++)", LL(a->batch));
    line(t, 2, "for (long h = 0; h < %lld; h++)", LL(a->heads));
    line(t, 3, "for (long i = 0; i < %lld; i++)", LL(a->queries));
    line(t, 4, "for (long d = 0; d < %lld; d++, parts++) {", LL(a->dim));
    line(t, 5, "%s sum = *parts;", type);
    line(t, 5, "for (long part = 1; part < %lld; part++) sum = sum + parts[part * %lld];", LL(a->splits),
         LL(a->batch * a->heads * a->queries * a->dim));
    line(t, 5, "gq[n * %lld + h * %lld + i * %lld + d] = sum;", LL(a->gq[0]), LL(a->gq[1]), LL(a->gq[2]));
    line(t, 4, "}");
}

/* ---- a step ------------------------------------------------------------------------------------------------------ */

/* Its parameters, of those that the step has, in this order. */
typedef struct parameter {
    int at;
    const char *name;
    unsigned written; /* bit: in this stage */
} parameter;
static const parameter parameters[] = {
    {WICK_ATTENTION_Q, "q", 0},         {WICK_ATTENTION_K, "k", 0},       {WICK_ATTENTION_V, "v", 0},
    {WICK_ATTENTION_MASK, "mask", 0},   {WICK_ATTENTION_SEED, "seed", 0}, {WICK_ATTENTION_GY, "gy", 0},
    {WICK_ATTENTION_Y, "y", 1},         {WICK_ATTENTION_LSE, "lse", 1},   {WICK_ATTENTION_DELTA, "delta", 0},
    {WICK_ATTENTION_PARTS, "parts", 2}, {WICK_ATTENTION_GQ, "gq", 2 | 4}, {WICK_ATTENTION_GK, "gk", 2},
    {WICK_ATTENTION_GV, "gv", 2}};

wick_status wick_c_print_attention(wick_c_printer *p, const wick_step *s) {
    static const char *const kinds[] = {"attention", "attention_grad", "attention_sum"};
    const wick_step_attention *m = s->args;
    const wick_attention_job *a = &m->a;
    const wick_dtype dtype = a->type == WICK_CF32 ? WICK_F32 : WICK_F64;
    const char *type = wick_c_type(a->type), *fma = a->type == WICK_CF32 ? "WICK_FMAF" : "WICK_FMA",
               *exp = a->type == WICK_CF32 ? "wick_attention_exp_f32" : "wick_weight_exp_f64", *comma = "";
    wick_text t = (wick_text){0};
    wick_text_add(&t, "(");
    for (size_t k = 0; k < WICK_COUNTOF(parameters); k++) {
        const parameter *x = &parameters[k];
        if (m->at[x->at] < 0) continue;
        const char *name = m->stage == 1 && x->at == WICK_ATTENTION_PARTS ? "gq" : x->name;
        wick_text_add(&t, "%s%s%s *%s", comma, x->written >> m->stage & 1 ? "" : "const ",
                      x->at == WICK_ATTENTION_SEED ? "int64_t" : type, name);
        comma = ", ";
    }
    if (m->stage == 1) wick_text_add(&t, ", %s *gqb", type);
    wick_text_add(&t, ") {\n");
    if (m->stage == 0)
        print_forward(&t, a, type, fma, exp);
    else if (m->stage == 1)
        print_backward(&t, a, type, fma, exp);
    else
        print_parts(&t, a, type);
    wick_text_add(&t, "}\n");
    wick_c_kernel(p, kinds[m->stage], &t);
    comma = "";
    for (size_t k = 0; k < WICK_COUNTOF(parameters); k++) {
        if (m->at[parameters[k].at] < 0) continue;
        wick_text_add(&p->calls, "%s", comma);
        wick_c_argument(p, &s->refs[m->at[parameters[k].at]],
                        parameters[k].at == WICK_ATTENTION_SEED ? WICK_I64 : dtype);
        comma = ", ";
    }
    if (m->stage == 1) {
        wick_text_add(&p->calls, ", ");
        wick_c_argument(p, &s->refs[s->n_refs - 1], dtype); /* its own scratch */
    }
    wick_text_add(&p->calls, ");\n");
    return WICK_OK;
}
