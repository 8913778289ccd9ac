/* recurrent.c: recurrent layers: a function for each direction, which takes one sample after the other through
 * time, forward or back. What each step gets from its input is there already (a product of all steps); the product with
 * the state (back: with its gradient) is printed as others are, and what is done elementwise beside it by cells.c.
 */
#include <stddef.h>
#include <stdio.h>

#include "aot/cells.h"

#define line wick_c_line
#define FIELD(name) offsetof(wick_recurrent_data, name)

/* The number of the ref that is such a field of the data, or -1. */
static int ref_of(const wick_step_recurrent *m, size_t field) {
    for (int k = 0; k < m->n; k++)
        if (m->field[k] == field) return k;
    return -1;
}
#define HAS(name) (ref_of(m, FIELD(name)) >= 0)
int wick_c_recurrent_packed(const wick_step *s) { return ref_of(s->args, FIELD(packed)); }

/* h [H], c [H] of an LSTM, the sums of the gates [G H], r h [H] where that meets the weights; back their gradients. */
static int64_t scratch_rows(const wick_recurrent *r) {
    return 1 + (r->cell == WICK_CELL_LSTM) + wick_cell_gates(r->cell) + (r->cell == WICK_CELL_GRU_RESET_FIRST);
}
size_t wick_c_recurrent_scratch(const wick_step *s, const wick_c_buffer *buffers, wick_c_isa isa) {
    (void)buffers, (void)isa;
    const wick_recurrent *r = &((const wick_step_recurrent *)s->args)->r;
    return WICK_ALIGN_UP((size_t)(scratch_rows(r) * r->hidden) * wick_ctype_size(r->type), 16);
}

/* ---- arrays ------------------------------------------------------------------------------------------------------ */

/* What a direction's function is given behind its weights, in this order. A sequence is named for its row of a sample's
 * step: "y_all" is all of it. */
typedef struct array {
    const char *name;
    size_t field;
    enum { STATE, SEQUENCE, VECTOR, LENGTHS } kind;
    int width; /* in H; 0: gates, -1: saved rows */
    bool result;
} array;
static const array arrays[] = {
    {"in", FIELD(x), SEQUENCE, 0, false},
    {"h0", FIELD(h0), STATE, 1, false},
    {"c0", FIELD(c0), STATE, 1, false},
    {"peephole", FIELD(peephole), VECTOR, 3, false},
    {"bias", FIELD(bias), VECTOR, 1, false},
    {"lengths", FIELD(lengths), LENGTHS, 0, false},
    {"y", FIELD(y), SEQUENCE, 1, true},
    {"h_n", FIELD(h), STATE, 1, true},
    {"c_n", FIELD(c), STATE, 1, true},
    {"gates", FIELD(gates), SEQUENCE, -1, true}, /* a result of the forward run; so the next two */
    {"c_prev", FIELD(c_prev), SEQUENCE, 1, true},
    {"h_prev", FIELD(h_prev), SEQUENCE, 1, true},
    {"gy", FIELD(gy), SEQUENCE, 1, false},
    {"gh", FIELD(gh), STATE, 1, false},
    {"gc", FIELD(gc), STATE, 1, false},
    {"ggates", FIELD(ggates), SEQUENCE, -1, false},
    {"gc_prev", FIELD(gc_prev), SEQUENCE, 1, false},
    {"gh_prev", FIELD(gh_prev), SEQUENCE, 1, false},
    {"dx", FIELD(dx), SEQUENCE, 0, true},
    {"dh0", FIELD(dh0), STATE, 1, true},
    {"dc0", FIELD(dc0), STATE, 1, true},
    {"dside", FIELD(dside), SEQUENCE, 0, true},
};
enum { ARRAYS = (int)WICK_COUNTOF(arrays) };

/* Its ref, or -1. Back, the earlier states matter to a GRU alone. */
static int used_ref(const wick_step_recurrent *m, const array *a) {
    const bool reset = m->r.cell == WICK_CELL_GRU || m->r.cell == WICK_CELL_GRU_RESET_FIRST;
    return m->r.backward && a->field == FIELD(h_prev) && !reset ? -1 : ref_of(m, a->field);
}
static bool is_written(const wick_recurrent *r, const array *a) {
    return a->result &&
           !(r->backward && (a->field == FIELD(gates) || a->field == FIELD(c_prev) || a->field == FIELD(h_prev)));
}
static int64_t width_of(const wick_recurrent *r, const array *a) {
    return r->hidden * (a->width > 0               ? a->width
                        : a->width == 0            ? wick_cell_gates(r->cell)
                        : r->cell == WICK_CELL_RNN ? 1
                                                   : 4);
}
/* Elements before those of the second direction. */
static int64_t second(const wick_recurrent *r, const array *a) {
    return a->kind == LENGTHS ? 0 : a->kind == STATE ? r->batch * r->hidden : width_of(r, a);
}

/* "memcpy(to, from, bytes)" of rows of h, or of zeros. */
static void print_row(wick_text *t, int depth, const wick_c_cell *q, const char *to, const char *from, int64_t rows) {
    const int64_t bytes = rows * q->h * (int64_t)wick_ctype_size(q->r->type);
    if (from)
        line(t, depth, "memcpy(%s, %s, %lld);", to, from, LL(bytes));
    else
        line(t, depth, "memset(%s, 0, %lld);", to, LL(bytes));
}
static void print_states(wick_text *t, const wick_c_cell *q, const char *h, const char *c) {
    char from[64];
    snprintf(from, sizeof from, "%s + b * %lld", h ? h : "", LL(q->h));
    print_row(t, 2, q, "h", h ? from : NULL, 1);
    if (q->r->cell != WICK_CELL_LSTM) return;
    snprintf(from, sizeof from, "%s + b * %lld", c ? c : "", LL(q->h));
    print_row(t, 2, q, "c", c ? from : NULL, 1);
}
static void print_result(wick_text *t, const wick_c_cell *q, bool wanted, const char *to, const char *from) {
    char at[64];
    snprintf(at, sizeof at, "%s + b * %lld", to, LL(q->h));
    if (wanted) print_row(t, 2, q, at, from, 1);
}

/* ---- a step of a sample ------------------------------------------------------------------------------------------ */

/* The product with the state's weights, as of one row. */
static wick_step_gemm product_of(const wick_recurrent *r, int number) {
    wick_step_gemm m;
    memset(&m, 0, sizeof m);
    m.gemm = r->product[number][0];
    m.gemm.m = 1;
    return m;
}
static void print_product(wick_text *t, const wick_recurrent *r, int number, bool packed, wick_dtype held,
                          int64_t lanes) {
    static const char *const names[2][2][4][2] = {
        {{{" a[", " h["}, {" b[", " w["}, {"(b[", "(w["}, {" c[", " pre["}},
         {{" a[", " side["}, {" b[", " w_n["}, {"(b[", "(w_n["}, {" c[", " pre_n["}}},
        {{{" a[", " pre["}, {" b[", " w["}, {"(b[", "(w["}, {" c[", " h["}},
         {{" a[", " pre_n["}, {" b[", " w_n["}, {"(b[", "(w_n["}, {" c[", " side["}}}};
    const wick_step_gemm product = product_of(r, number);
    wick_c_print_rows(t, 3, &product, packed, held, lanes, names[r->backward][number], 4);
}

static void print_forward(wick_text *t, const wick_step_recurrent *m, const wick_c_cell *q, bool packed,
                          wick_dtype held, int64_t lanes) {
    if (HAS(h_prev)) print_row(t, 3, q, "h_prev", "h", 1);
    if (HAS(c_prev)) print_row(t, 3, q, "c_prev", "c", 1);
    if (HAS(lengths)) {
        line(t, 3, "if (t >= lengths[b]) {");
        if (HAS(y)) print_row(t, 4, q, "y", NULL, 1);
        if (HAS(gates)) print_row(t, 4, q, "gates", NULL, 4);
        line(t, 4, "continue;");
        line(t, 3, "}");
    }
    for (int k = 0; k < q->r->products; k++) {
        print_product(t, q->r, k, packed, held, lanes);
        wick_c_print_cell(t, 3, q, k);
    }
}

static void print_backward(wick_text *t, const wick_step_recurrent *m, const wick_c_cell *q, bool packed,
                           wick_dtype held, int64_t lanes) {
    const int64_t gates = wick_cell_gates(q->r->cell);
    if (HAS(lengths)) { /* no gates: their product with the weights is +0, added */
        line(t, 3, "if (t >= lengths[b]) {");
        print_row(t, 4, q, "dx", NULL, gates);
        if (HAS(dside)) print_row(t, 4, q, "dside", NULL, gates);
        line(t, 4, "for (long j = 0; j < %lld; j++) h[j] = h[j]%s + 0;", LL(q->h), HAS(gh_prev) ? " + gh_prev[j]" : "");
        if (HAS(gc_prev)) line(t, 4, "for (long j = 0; j < %lld; j++) c[j] = c[j] + gc_prev[j];", LL(q->h));
        line(t, 4, "continue;");
        line(t, 3, "}");
    }
    for (int k = 0; k < q->r->products; k++) {
        if (k) print_product(t, q->r, k, packed, held, lanes);
        wick_c_print_cell(t, 3, q, k);
    }
    if (HAS(dside)) print_row(t, 3, q, "dside", "pre", gates);
    if (HAS(gh_prev)) line(t, 3, "for (long j = 0; j < %lld; j++) h[j] = h[j] + gh_prev[j];", LL(q->h));
    if (HAS(gc_prev)) line(t, 3, "for (long j = 0; j < %lld; j++) c[j] = c[j] + gc_prev[j];", LL(q->h));
    print_product(t, q->r, 0, packed, held, lanes);
}

/* ---- a direction ------------------------------------------------------------------------------------------------- */

static void print_direction(wick_text *t, const wick_step_recurrent *m, const wick_c_cell *q, bool packed,
                            wick_dtype held, int64_t lanes) {
    const wick_recurrent *r = q->r;
    const int64_t gates = wick_cell_gates(r->cell);
    const bool first = r->cell == WICK_CELL_GRU_RESET_FIRST, lstm = r->cell == WICK_CELL_LSTM,
               checks = HAS(lengths) && !r->backward;
    wick_text_add(t, "(%s *h, const %s *w", q->type, wick_c_memory(held));
    if (first) wick_text_add(t, ", const %s *w_n", wick_c_memory(held));
    for (const array *a = arrays; a < arrays + ARRAYS; a++) {
        if (used_ref(m, a) < 0) continue;
        wick_text_add(t, ", %s%s *%s%s", is_written(r, a) ? "" : "const ", a->kind == LENGTHS ? "int64_t" : q->type,
                      a->name, a->kind == SEQUENCE ? "_all" : "");
    }
    wick_text_add(t, ") {\n");
    if (lstm) line(t, 1, "%s *c = h + %lld;", q->type, LL(q->h));
    line(t, 1, "%s *pre = h + %lld;", q->type, LL((1 + lstm) * q->h));
    if (first) line(t, 1, "%s *pre_n = pre + %lld, *side = h + %lld;", q->type, LL(2 * q->h), LL((1 + gates) * q->h));
    if (r->backward) wick_c_print_cell_limits(t, 1, q);
    line(t, 1, "for (long b = 0; b < %lld; b++) {", LL(r->batch));
    if (checks) line(t, 2, "if (lengths[b] < 0 || lengths[b] > %lld) return 1;", LL(r->steps));
    if (r->backward)
        print_states(t, q, HAS(gh) ? "gh" : NULL, HAS(gc) ? "gc" : NULL);
    else
        print_states(t, q, HAS(h0) ? "h0" : NULL, HAS(c0) ? "c0" : NULL);
    line(t, 2, "for (long s = 0; s < %lld; s++) {", LL(r->steps));
    if (r->reverse[q->direction] != r->backward)
        line(t, 3, "const long t = %lld - s;", LL(r->steps - 1));
    else
        line(t, 3, "const long t = s;");
    for (const array *a = arrays; a < arrays + ARRAYS; a++) {
        if (a->kind != SEQUENCE || used_ref(m, a) < 0) continue;
        const bool x = a->field == FIELD(x);
        const int64_t row = r->directions * width_of(r, a);
        line(t, 3, "%s%s *%s = %s_all + t * %lld + b * %lld;", is_written(r, a) ? "" : "const ", q->type, a->name,
             a->name, LL(x ? r->x_step : r->step * row), LL(x ? r->x_row : r->row * row));
    }
    if (r->backward)
        print_backward(t, m, q, packed, held, lanes);
    else
        print_forward(t, m, q, packed, held, lanes);
    line(t, 2, "}");
    print_result(t, q, HAS(h), "h_n", "h");
    print_result(t, q, HAS(c), "c_n", "c");
    print_result(t, q, HAS(dh0), "dh0", "h");
    print_result(t, q, HAS(dc0), "dc0", "c");
    line(t, 1, "}");
    if (checks) line(t, 1, "return 0;");
    wick_text_add(t, "}\n");
}

wick_status wick_c_print_recurrent(wick_c_printer *p, const wick_step *s) {
    const wick_step_recurrent *m = s->args;
    const wick_recurrent *r = &m->r;
    const int64_t h = r->hidden, gates = wick_cell_gates(r->cell), elem = (int64_t)wick_ctype_size(r->type),
                  lanes = WICK_MIN(p->m->lanes, WICK_MAX(h, 1));
    const wick_dtype dtype = r->type == WICK_CF32 ? WICK_F32 : WICK_F64;
    if (!h || !r->steps) return wick_c_refuse(p, s, "a recurrence of no steps or units is not written");
    const int w = ref_of(m, FIELD(w));
    const bool packed = wick_c_is_data(p, &s->refs[w]), checks = HAS(lengths) && !r->backward;
    for (int d = 0; d < r->directions; d++) {
        const wick_c_cell q = {
            r,       wick_c_type(r->type), wick_c_suffix(r->type), d, h, HAS(y), HAS(gates), HAS(bias), HAS(peephole),
            HAS(gy), HAS(ggates)};
        const wick_dtype held =
            packed && !p->m->isa
                ? wick_c_held_as(dtype, (const char *)wick_c_data(p, &s->refs[w]) + d * gates * h * h * elem,
                                 gates * h * h)
                : dtype;
        wick_text t = (wick_text){0};
        print_direction(&t, m, &q, packed, held, lanes);
        if (checks)
            wick_c_checking_kernel(p, s->node->op->name, &t, WICK_C_INDEX);
        else
            wick_c_kernel(p, s->node->op->name, &t);
        wick_c_argument(p, &s->refs[ref_of(m, FIELD(packed))], dtype);
        for (int k = 0; k < r->products; k++) {
            const wick_step_gemm product = product_of(r, k);
            wick_ref of = s->refs[w];
            of.offset += (d * gates + 2 * k) * h * h * elem;
            wick_text_add(&p->calls, ", ");
            if (packed)
                wick_c_constant_at(
                    p,
                    wick_c_packed_columns(p, &product.gemm, wick_c_data(p, &of), held, WICK_MIN(lanes, product.gemm.n)),
                    0);
            else
                wick_c_argument(p, &of, dtype);
        }
        for (const array *a = arrays; a < arrays + ARRAYS; a++) {
            const int at = used_ref(m, a);
            if (at < 0) continue;
            wick_ref of = s->refs[at];
            of.offset += d * second(r, a) * elem;
            wick_text_add(&p->calls, ", ");
            wick_c_argument(p, &of, a->kind == LENGTHS ? WICK_I64 : dtype);
        }
        wick_text_add(&p->calls, checks ? ")) return 2;\n" : ");\n");
    }
    return WICK_OK;
}
