/* order.c: what goes along an axis in its order: places of the largest, running sums and extremes, sorting. Loops
 * over the middle of [outer, n, inner]. */
#include <stdio.h>

#include "aot/print.h"

#define line wick_c_line

/* The dtype of a kernel's type, which memory holds as it is. */
static wick_dtype memory_of(wick_ctype type) {
    static const wick_dtype of[WICK_CTYPE_COUNT] = {WICK_F32, WICK_F64, WICK_I32, WICK_I64, WICK_U64, WICK_U8};
    return of[type];
}

static void print_arguments(wick_c_printer *p, const wick_step *s, const wick_dtype *dtypes, int n) {
    for (int k = 0; k < n; k++) {
        if (k) wick_text_add(&p->calls, ", ");
        wick_c_argument(p, &s->refs[k], dtypes[k]);
    }
    wick_text_add(&p->calls, ");\n");
}

/* ---- argmax, argmin ---------------------------------------------------------------------------------------------- */

wick_status wick_c_print_arg(wick_c_printer *p, const wick_step *s) {
    const wick_step_arg *m = s->args;
    const char *type = wick_c_type(m->type), *sign = m->largest ? ">" : "<";
    wick_text t = (wick_text){0};
    wick_text_add(&t, "(const %s *x, int64_t *y) {\n", type);
    line(&t, 1, "for (long o = 0; o < %lld; o++, x += %lld)", LL(m->outer), LL(m->n * m->inner));
    line(&t, 2, "for (long l = 0; l < %lld; l++) {", LL(m->inner));
    line(&t, 3, "%s best = x[l];", type);
    line(&t, 3, "int64_t at = 0;");
    line(&t, 3, "for (long k = 1; k < %lld; k++) {", LL(m->n));
    line(&t, 4, "const %s v = x[k * %lld + l];", type, LL(m->inner));
    line(&t, 4,
         m->type <= WICK_CF64 ? "if (best == best && (v %s best || v != v)) best = v, at = k;"
                              : "if (v %s best) best = v, at = k;",
         sign);
    line(&t, 3, "}");
    line(&t, 3, "*y++ = at;");
    line(&t, 2, "}");
    wick_text_add(&t, "}\n");
    wick_c_kernel(p, m->largest ? "argmax" : "argmin", &t);
    print_arguments(p, s, (const wick_dtype[]){memory_of(m->type), WICK_I64}, 2);
    return WICK_OK;
}

/* ---- running sums, products and extremes ------------------------------------------------------------------------- */

/* From `at` on: f32 adds up in f64. Rows of several chunks begin each with the totals before it, which are summed four
 * by four. */
static void print_sums(wick_text *t, const wick_scan *c, const char *sum) {
    const char *op = c->kind == WICK_SCAN_SUM ? "+" : "*", *nothing = c->kind == WICK_SCAN_SUM ? "0" : "1";
    const char *type = wick_c_type(c->type == WICK_CI64 ? WICK_CU64 : c->type);
    const bool chunks = c->chunks > 1;
    const long long step = LL(c->reverse ? -c->inner : c->inner);
    line(t, 3, "%s a = %s;", sum, nothing);
    if (chunks) {
        line(t, 3, "%s before = %s;", sum, nothing);
        line(t, 3, "for (long c = 0; c < %lld; c += %lld) {", LL(c->n), LL(c->chunk));
        line(t, 4, "const long n = %lld - c < %lld ? %lld - c : %lld;", LL(c->n), LL(c->chunk), LL(c->n), LL(c->chunk));
        line(t, 4, "%s part[4] = {%s, %s, %s, %s};", sum, nothing, nothing, nothing, nothing);
        line(t, 4, "a = before;");
    }
    const int depth = chunks ? 4 : 3;
    if (chunks)
        line(t, depth, "for (long k = 0; k < n; k++, at += %lld) {", step);
    else
        line(t, depth, "for (long k = 0; k < %lld; k++, at += %lld) {", LL(c->n), step);
    line(t, depth + 1, "const %s next = a %s (%s)x[at];", sum, op, sum);
    if (chunks) line(t, depth + 1, "const long lane = k < n / 4 * 4 ? k %% 4 : 0;");
    if (chunks) line(t, depth + 1, "part[lane] = part[lane] %s (%s)x[at];", op, sum);
    line(t, depth + 1, "y[at] = (%s)%s;", type, c->exclusive ? "a" : "next");
    line(t, depth + 1, "a = next;");
    line(t, depth, "}");
    if (chunks) {
        line(t, 4, "before = before %s ((part[0] %s part[1]) %s (part[2] %s part[3]));", op, op, op, op);
        line(t, 3, "}");
    }
}

/* The sum is relative to the largest so far. */
static void print_log_sums(wick_text *t, const wick_scan *c) {
    line(t, 3, "double most = -INFINITY, sum = 0;");
    line(t, 3, "for (long k = 0; k < %lld; k++, at += %lld) {", LL(c->n), LL(c->reverse ? -c->inner : c->inner));
    line(t, 4, "const double v = (double)x[at];");
    line(t, 4, "if (v > most) {");
    line(t, 5, "sum = (most == -INFINITY ? 0 : sum * wick_exp_f64(most - v)) + 1;");
    line(t, 5, "most = v;");
    line(t, 4, "} else if (v != v) {");
    line(t, 5, "most = sum = v;");
    line(t, 4, "} else if (v == most) {");
    line(t, 5, "sum += v != -INFINITY;");
    line(t, 4, "} else {");
    line(t, 5, "sum += wick_exp_f64(v - most);");
    line(t, 4, "}");
    line(t, 4, "y[at] = (%s)(most == -INFINITY ? most : most + wick_log_f64(sum));", wick_c_type(c->type));
    line(t, 3, "}");
}

/* The last of equals; NaN stays, and moves its place. */
static void print_extremes(wick_text *t, const wick_scan *c) {
    const char *type = wick_c_type(c->type), *sign = c->kind == WICK_SCAN_MAX ? ">=" : "<=";
    line(t, 3, "%s best = x[at];", type);
    line(t, 3, "int64_t place = %lld;", LL(c->reverse ? c->n - 1 : 0));
    line(t, 3, "for (long k = 0; k < %lld; k++, at += %lld) {", LL(c->n), LL(c->reverse ? -c->inner : c->inner));
    line(t, 4, "const %s v = x[at];", type);
    wick_text_add(t, "%16sif (", "");
    wick_text_add(t, c->type <= WICK_CF64 ? "v != v || (best == best && v %s best)" : "v %s best", sign);
    if (c->reverse)
        wick_text_add(t, ") best = v, place = %lld - k;\n", LL(c->n - 1));
    else
        wick_text_add(t, ") best = v, place = k;\n");
    line(t, 4, "y[at] = best;");
    line(t, 4, "places[at] = place;");
    line(t, 3, "}");
}

wick_status wick_c_print_scan(wick_c_printer *p, const wick_step *s) {
    const wick_step_scan *m = s->args;
    const wick_scan *c = &m->scan;
    const bool sums = c->kind == WICK_SCAN_SUM || c->kind == WICK_SCAN_PROD;
    const wick_ctype seen = sums && c->type == WICK_CI64 ? WICK_CU64 : c->type; /* sums of integers wrap */
    static const char *const kinds[] = {"cumsum", "cumprod", "logcumsumexp", "cummax", "cummin"};
    wick_text t = (wick_text){0};
    wick_text_add(&t, "(const %s *x, %s *y%s) {\n", wick_c_type(seen), wick_c_type(seen),
                  m->index ? ", int64_t *places" : "");
    line(&t, 1, "for (long o = 0; o < %lld; o++)", LL(c->outer));
    line(&t, 2, "for (long l = 0; l < %lld; l++) {", LL(c->inner));
    line(&t, 3, "long at = o * %lld + l;", LL(c->n * c->inner));
    if (c->reverse) line(&t, 3, "at += %lld;", LL((c->n - 1) * c->inner));
    if (sums)
        print_sums(&t, c, seen == WICK_CU64 ? "uint64_t" : "double");
    else if (c->kind == WICK_SCAN_LOG_SUM)
        print_log_sums(&t, c);
    else
        print_extremes(&t, c);
    line(&t, 2, "}");
    wick_text_add(&t, "}\n");
    wick_c_kernel(p, kinds[c->kind], &t);
    print_arguments(p, s, (const wick_dtype[]){memory_of(seen), memory_of(seen), WICK_I64}, 2 + m->index);
    return WICK_OK;
}

/* ---- sorting ----------------------------------------------------------------------------------------------------- */

/* "const uint32_t NAME = the key of element `of`;", rising. */
static void print_key(wick_text *t, int depth, const wick_sorting *c, const char *name, const char *of) {
    const bool narrow = c->type == WICK_CF32 || c->type == WICK_CI32;
    line(t, depth, "%s = %s(%swick_sort_key_%s(x[%s]));", name, narrow ? "(uint32_t)" : "(uint64_t)",
         c->descending ? "~" : "", wick_c_suffix(c->type), of);
}

/* Places decide between equal elements, so that the order is stable and any algorithm gives the same. The one here is a
 * heap of k elements in the memory of the result, with the one that sorts last on top. It begins with the first k; each
 * further element replaces the top if it sorts before it; then tops are moved to the end, one after the other. */
wick_status wick_c_print_sort(wick_c_printer *p, const wick_step *s) {
    const wick_sorting *c = &((const wick_step_sort *)s->args)->sort;
    const char *type = wick_c_type(c->type),
               *key = c->type == WICK_CF32 || c->type == WICK_CI32 ? "uint32_t" : "uint64_t";
    const long long k = LL(c->k), more = LL(c->n - c->k);
    char name[32];
    wick_text t = (wick_text){0};
    wick_text_add(&t, "(const %s *x, %s *y, int64_t *index) {\n", type, type);
    line(&t, 1, "for (long r = 0; r < %lld; r++, x += %lld, y += %lld, index += %lld) {", LL(c->rows), LL(c->n), k, k);
    line(&t, 2, "for (long i = 0; i < %lld; i++) index[i] = i;", k);
    line(&t, 2, "for (long step = %lld; step < %lld; step++) {", -(k / 2), more + k - 1);
    line(&t, 3, "long at = 0, n = %lld;", k);
    line(&t, 3, "int64_t e;");
    line(&t, 3, "if (step < 0) {");
    line(&t, 4, "at = -step - 1;");
    line(&t, 4, "e = index[at];");
    if (more) line(&t, 3, "} else if (step < %lld) {", more);
    if (more) line(&t, 4, "e = %lld + step;", k);
    line(&t, 3, "} else {");
    line(&t, 4, "n = %lld - step;", more + k - 1);
    line(&t, 4, "e = index[n];");
    line(&t, 4, "index[n] = index[0];");
    line(&t, 3, "}");
    snprintf(name, sizeof name, "const %s own", key);
    print_key(&t, 3, c, name, "e");
    if (more) {
        snprintf(name, sizeof name, "const %s top", key);
        print_key(&t, 3, c, name, "index[0]");
        line(&t, 3, "if (step >= 0 && step < %lld && own >= top) continue;", more);
    }
    line(&t, 3, "for (long child; (child = 2 * at + 1) < n; at = child) {");
    snprintf(name, sizeof name, "%s of", key);
    print_key(&t, 4, c, name, "index[child]");
    line(&t, 4, "if (child + 1 < n) {");
    snprintf(name, sizeof name, "const %s right", key);
    print_key(&t, 5, c, name, "index[child + 1]");
    line(&t, 5, "if (right > of || (right == of && index[child + 1] > index[child])) of = right, child++;");
    line(&t, 4, "}");
    line(&t, 4, "if (of < own || (of == own && index[child] < e)) break;");
    line(&t, 4, "index[at] = index[child];");
    line(&t, 3, "}");
    line(&t, 3, "index[at] = e;");
    line(&t, 2, "}");
    line(&t, 2, "for (long i = 0; i < %lld; i++) y[i] = x[index[i]];", k);
    line(&t, 1, "}");
    wick_text_add(&t, "}\n");
    wick_c_kernel(p, more ? "topk" : "sort", &t);
    print_arguments(p, s, (const wick_dtype[]){memory_of(c->type), memory_of(c->type), WICK_I64}, 3);
    return WICK_OK;
}
