/* moves.c: slices and elements by index, weighted sums of neighbours along an axis (what tables say where to read), and
 * triangles of matrices. */
#include <stddef.h>
#include <stdio.h>

#include "aot/print.h"

#define line wick_c_line

/* ---- slices by index --------------------------------------------------------------------------------------------- */

static bool all_inside(const int64_t *index, int64_t count, int64_t n) {
    for (int64_t i = 0; i < count; i++)
        if (index[i] < -n || index[i] >= n) return false;
    return true;
}

/* An index that is known is looked at now, and any other in the run. */
wick_status wick_c_print_gather(wick_c_printer *p, const wick_step *s) {
    const wick_step_gather *m = s->args;
    const wick_dtype dtype = (wick_dtype)s->node->out[0].type.dtype;
    const char *type = wick_c_memory(dtype);
    const bool known = wick_c_is_data(p, &s->refs[1]);
    if (!type) return wick_c_refuse(p, s, "its elements are not written as C yet");
    if (known && !all_inside(wick_c_data(p, &s->refs[1]), m->count, m->n))
        return wick_c_refuse(p, s, "an index is outside its axis");
    wick_text t = (wick_text){0};
    wick_text_add(&t, "(const %s *x, const int64_t *index, %s *y) {\n", type, type);
    line(&t, 1, "for (long o = 0; o < %lld; o++, x += %lld)", LL(m->outer), LL(m->n * m->inner));
    line(&t, 2, "for (long i = 0; i < %lld; i++, y += %lld) {", LL(m->count), LL(m->inner));
    line(&t, 3, "const int64_t at = index[i] < 0 ? index[i] + %lld : index[i];", LL(m->n));
    if (!known) line(&t, 3, "if (at < 0 || at >= %lld) return 1;", LL(m->n));
    if (m->inner == 1)
        line(&t, 3, "*y = x[at];");
    else
        line(&t, 3, "memcpy(y, x + at * %lld, %lld);", LL(m->inner), LL(m->inner * (int64_t)m->elem));
    line(&t, 2, "}");
    if (!known) line(&t, 1, "return 0;");
    wick_text_add(&t, "}\n");
    if (known)
        wick_c_kernel(p, "gather", &t);
    else
        wick_c_checking_kernel(p, "gather", &t, WICK_C_INDEX);
    wick_c_argument(p, &s->refs[0], dtype);
    wick_text_add(&p->calls, ", ");
    wick_c_argument(p, &s->refs[1], WICK_I64);
    wick_text_add(&p->calls, ", ");
    wick_c_argument(p, &s->refs[2], dtype);
    wick_text_add(&p->calls, known ? ");\n" : ")) return 2;\n");
    return WICK_OK;
}

/* ---- elements by index, along an axis ---------------------------------------------------------------------------- */

/* " + u0 * 12 + j * 4", from what the dims' strides are. */
static void print_place(wick_text *t, const wick_along *a, size_t stride, bool along) {
    for (int d = 0; d < a->rank; d++) {
        const int64_t of = *(const int64_t *)(const void *)((const char *)&a->dim[d] + stride);
        if (of) wick_text_add(t, " + u%d * %lld", d, LL(of));
    }
    const int64_t j = *(const int64_t *)(const void *)((const char *)&a->along + stride),
                  l = *(const int64_t *)(const void *)((const char *)&a->inner + stride);
    if (along && j) wick_text_add(t, " + j * %lld", LL(j));
    if (l) wick_text_add(t, " + l * %lld", LL(l));
}

wick_status wick_c_print_along(wick_c_printer *p, const wick_step *s) {
    const wick_along *a = s->args;
    static const char *const writes[] = {"*to = v;", "*to = *to + v;", "*to = *to * v;", "if (v > *to%s) *to = v;",
                                         "if (v < *to%s) *to = v;"};
    const wick_dtype dtype = (wick_dtype)s->node->out[0].type.dtype;
    const char *type = wick_c_memory(dtype);
    int depth = 1;
    if (!type || (*wick_c_load(dtype) && !a->reads && a->how != WICK_ALONG_SET))
        return wick_c_refuse(p, s, "its elements are not written as C yet");
    wick_text t = (wick_text){0};
    wick_text_add(&t, "(%s%s *data, const int64_t *index, %s%s *other) {\n", a->reads ? "const " : "", type,
                  a->reads ? "" : "const ", type);
    for (int d = 0; d < a->rank; d++)
        line(&t, depth++, "for (long u%d = 0; u%d < %lld; u%d++)", d, d, LL(a->dim[d].n), d);
    line(&t, depth++, "for (long j = 0; j < %lld; j++)", LL(a->along.n));
    line(&t, depth++, "for (long l = 0; l < %lld; l++) {", LL(a->inner.n));
    wick_text_add(&t, "%*sint64_t at = index[0", 4 * depth, "");
    print_place(&t, a, offsetof(wick_along_dim, index), true);
    wick_text_add(&t, "];\n");
    line(&t, depth, "if (at < 0) at += %lld;", LL(a->n));
    line(&t, depth, "if (at < 0 || at >= %lld) return 1;", LL(a->n));
    wick_text_add(&t, "%*s%s%s *to = data + at * %lld", 4 * depth, "", a->reads ? "const " : "", type,
                  LL(a->along.data));
    print_place(&t, a, offsetof(wick_along_dim, data), false);
    wick_text_add(&t, ";\n%*s", 4 * depth, "");
    wick_text_add(&t, a->reads ? "other[0" : "const %s v = other[0", type);
    print_place(&t, a, offsetof(wick_along_dim, other), true);
    wick_text_add(&t, a->reads ? "] = *to;\n" : "];\n");
    if (!a->reads) line(&t, depth, writes[a->how], a->type <= WICK_CF64 ? " || v != v" : "");
    line(&t, depth - 1, "}");
    line(&t, 1, "return 0;");
    wick_text_add(&t, "}\n");
    wick_c_checking_kernel(p, a->reads ? "take_along" : "put_along", &t, WICK_C_INDEX);
    for (int k = 0; k < 3; k++) {
        if (k) wick_text_add(&p->calls, ", ");
        wick_c_argument(p, &s->refs[k], k == 1 ? WICK_I64 : dtype);
    }
    wick_text_add(&p->calls, ")) return 2;\n");
    return WICK_OK;
}

/* ---- tuples of indices ------------------------------------------------------------------------------------------- */

wick_status wick_c_print_ravel(wick_c_printer *p, const wick_step *s) {
    const wick_step_ravel *m = s->args;
    wick_text t = {0};
    wick_text_add(&t, "(const int64_t *index, int64_t *y) {\n");
    if (!m->n) line(&t, 1, "(void)index;");
    if (m->n) {
        line(&t, 1, "static const int64_t dims[%d] = {", m->n);
        for (int k = 0; k < m->n; k++) line(&t, 2, k + 1 < m->n ? "%lld," : "%lld};", LL(m->dims[k]));
    }
    line(&t, 1, "for (long i = 0; i < %lld; i++, index += %d) {", LL(m->count), m->n);
    line(&t, 2, "int64_t at = 0;");
    if (m->n) {
        line(&t, 2, "for (int k = 0; k < %d; k++) {", m->n);
        line(&t, 3, "const int64_t j = index[k] < 0 ? index[k] + dims[k] : index[k];");
        line(&t, 3, "if (j < 0 || j >= dims[k]) return 1;");
        line(&t, 3, "at = at * dims[k] + j;");
        line(&t, 2, "}");
    }
    line(&t, 2, "y[i] = at;");
    line(&t, 1, "}");
    line(&t, 1, "return 0;");
    wick_text_add(&t, "}\n");
    wick_c_checking_kernel(p, "ravel", &t, WICK_C_INDEX);
    wick_c_argument(p, &s->refs[0], WICK_I64);
    wick_text_add(&p->calls, ", ");
    wick_c_argument(p, &s->refs[1], WICK_I64);
    wick_text_add(&p->calls, ")) return 2;\n");
    return WICK_OK;
}

/* ---- triangles --------------------------------------------------------------------------------------------------- */

wick_status wick_c_print_triangle(wick_c_printer *p, const wick_step *s) {
    const wick_step_triangle *m = s->args;
    const wick_dtype dtype = (wick_dtype)s->node->out[0].type.dtype;
    const char *type = wick_c_memory(dtype);
    if (!type) return wick_c_refuse(p, s, "its elements are not written as C yet");
    wick_text t = {0};
    wick_text_add(&t, "(const %s *x, %s *y) {\n", type, type);
    line(&t, 1, "for (long r = 0; r < %lld; r++, x += %lld, y += %lld) {", LL(m->rows), LL(m->n), LL(m->n));
    line(&t, 2, "const long edge = r %% %lld + %lld;", LL(m->m), LL(m->attr.k));
    line(&t, 2, "for (long c = 0; c < %lld; c++) y[c] = c %s edge ? x[c] : 0;", LL(m->n), m->attr.upper ? ">=" : "<=");
    if (m->attr.diagonal != 1) {
        wick_text_add(&t, "        if (edge >= 0 && edge < %lld) y[edge] = ", LL(m->n));
        if (m->attr.diagonal) wick_text_add(&t, "x[edge] * ");
        wick_c_number(&t, wick_ctype_of(dtype), m->attr.diagonal);
        wick_text_add(&t, ";\n");
    }
    line(&t, 1, "}");
    wick_text_add(&t, "}\n");
    wick_c_kernel(p, "triangle", &t);
    wick_c_argument(p, &s->refs[0], dtype);
    wick_text_add(&p->calls, ", ");
    wick_c_argument(p, &s->refs[1], dtype);
    wick_text_add(&p->calls, ");\n");
    return WICK_OK;
}

/* ---- resampling -------------------------------------------------------------------------------------------------- */

enum { UNROLLED_TAPS = 4 };

/* y[i] is the sum, from the first tap to the last. */
static void print_taps(wick_text *t, const wick_resample *r, const char *type, const char *at) {
    if (r->uniform && r->uniform <= UNROLLED_TAPS) {
        wick_text_add(t, "%12sfor (long i = 0; i < %lld; i++) y[i] = ", "", LL(r->inner));
        for (int64_t k = 0; k < r->uniform; k++)
            wick_text_add(t, "%su[%lld] * x[index[%lld] * %s]", k ? " + " : "", LL(k), LL(k), at);
        wick_text_add(t, ";\n");
        return;
    }
    line(t, 3, "for (long i = 0; i < %lld; i++) {", LL(r->inner));
    line(t, 4, "%s sum = u[0] * x[index[0] * %s];", type, at);
    line(t, 4, "for (long k = 1; k < taps; k++) sum = sum + u[k] * x[index[k] * %s];", at);
    line(t, 4, "y[i] = sum;");
    line(t, 3, "}");
}

/* Without weights, where each output is one input. Outputs of no input hold `fill`. */
wick_status wick_c_print_resample(wick_c_printer *p, const wick_step *s) {
    const wick_resample *r = &((const wick_step_resample *)s->args)->table;
    const wick_dtype dtype = (wick_dtype)s->node->out[0].type.dtype;
    const char *type = wick_c_memory(dtype);
    const bool copies = r->elem > 0, fills = !r->uniform;
    const int64_t taps = r->start[r->out];
    const double wide = r->fill;
    const float narrow = (float)r->fill;
    char at[64];
    if (!type) return wick_c_refuse(p, s, "its elements are not written as C yet");
    snprintf(at, sizeof at, "%lld + i", LL(r->inner));
    wick_text t = (wick_text){0};
    wick_text_add(&t, "(const %s *x, const int32_t *from, ", type);
    if (!copies) wick_text_add(&t, "const %s *weight, ", type);
    if (fills) wick_text_add(&t, "const int32_t *start, const %s *fill, ", type);
    wick_text_add(&t, "%s *y) {\n", type);
    line(&t, 1, "for (long o = 0; o < %lld; o++, x += %lld)", LL(r->outer), LL(r->in * r->inner));
    line(&t, 2, "for (long j = 0; j < %lld; j++, y += %lld) {", LL(r->out), LL(r->inner));
    if (fills) {
        line(&t, 3, "const int32_t *index = from + start[j];");
        line(&t, 3, "const long taps = start[j + 1] - start[j];");
        if (!copies) line(&t, 3, "const %s *u = weight + start[j];", type);
        line(&t, 3, "if (!taps) {");
        line(&t, 4, "for (long i = 0; i < %lld; i++) y[i] = *fill;", LL(r->inner));
        line(&t, 4, "continue;");
        line(&t, 3, "}");
    } else {
        line(&t, 3, "const int32_t *index = from + j * %lld;", LL(r->uniform));
        if (!copies) line(&t, 3, "const %s *u = weight + j * %lld;", type, LL(r->uniform));
        if (!copies && r->uniform > UNROLLED_TAPS) line(&t, 3, "const long taps = %lld;", LL(r->uniform));
    }
    if (copies)
        line(&t, 3, "memcpy(y, x + *index * %lld, %lld);", LL(r->inner), LL(r->inner * (int64_t)r->elem));
    else
        print_taps(&t, r, type, at);
    line(&t, 2, "}");
    wick_text_add(&t, "}\n");
    wick_c_kernel(p, "resample", &t);
    wick_c_argument(p, &s->refs[0], dtype);
    wick_text_add(&p->calls, ", ");
    wick_c_constant_at(p, wick_c_constant(p, WICK_I32, r->index, taps), 0);
    wick_text_add(&p->calls, ", ");
    if (!copies) {
        wick_c_constant_at(p, wick_c_constant(p, dtype, r->weight, taps), 0);
        wick_text_add(&p->calls, ", ");
    }
    if (fills) {
        wick_c_constant_at(p, wick_c_constant(p, WICK_I32, r->start, r->out + 1), 0);
        wick_text_add(&p->calls, ", ");
        wick_c_constant_at(p,
                           wick_c_constant(p, dtype,
                                           copies              ? (const void *)&r->fill_bits
                                           : dtype == WICK_F64 ? (const void *)&wide
                                                               : (const void *)&narrow,
                                           1),
                           0);
        wick_text_add(&p->calls, ", ");
    }
    wick_c_argument(p, &s->refs[1], dtype);
    wick_text_add(&p->calls, ");\n");
    return WICK_OK;
}
