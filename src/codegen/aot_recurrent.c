/* aot_recurrent.c: recurrent layers, forward: a function for each direction, which takes one sample after the other through time. What each step gets from its input is there
 * already (a product of all steps); the product with the state is printed as others are, and what kernels/recurrent/cell_body.h does elementwise behind it. */
#include <stddef.h>
#include <stdio.h>

#include "codegen/aot_print.h"

#define line wick_c_line
#define FIELD(name) offsetof(wick_recurrent_data, name)

/* The number of the ref that is such a field of the data, or -1. */
static int ref_of(const wick_step_recurrent *m, size_t field) {
    for (int k = 0; k < m->n; k++)
        if (m->field[k] == field) return k;
    return -1;
}
int wick_c_recurrent_packed(const wick_step *s) { return ref_of(s->args, FIELD(packed)); }

/* h [H], c [H] of an LSTM, the sums of the gates [G H], r h [H] where that meets the weights. */
static int64_t scratch_rows(const wick_recurrent *r) { return 1 + (r->cell == WICK_CELL_LSTM) + wick_cell_gates(r->cell) + (r->cell == WICK_CELL_GRU_RESET_FIRST); }
size_t wick_c_recurrent_scratch(const wick_step *s) {
    const wick_recurrent *r = &((const wick_step_recurrent *)s->args)->r;
    return WICK_ALIGN_UP((size_t)(scratch_rows(r) * r->hidden) * wick_ctype_size(r->type), 16);
}

/* ---- expressions ------------------------------------------------------------------------------------------------------------------------------------- */

typedef struct cell_print {
    const wick_recurrent *r;
    const char *type, *suffix;
    int direction;
    int64_t h;
    bool has_y, has_bias, has_peephole;
} cell_print;

/* "const float v = act(clipped(x));" */
static void print_gate(wick_text *t, int depth, const cell_print *q, const char *name, int act, const char *x) {
    static const char *const names[WICK_CELL_ACTS] = {"sigmoid", "tanh", "relu", "hard_sigmoid", "softsign", NULL};
    const char *f = names[q->r->act[q->direction][act]];
    wick_text clip = {0};
    wick_c_number(&clip, q->r->type, q->r->type == WICK_CF32 ? (double)(float)q->r->clip : q->r->clip);
    wick_text_add(t, "%*sconst %s %s = ", 4 * depth, "", q->type, name);
    if (f) wick_text_add(t, "wick_cell_%s_%s(", f, q->suffix);
    if (q->r->clip > 0 && clip.at)
        wick_text_add(t, "wick_cell_clipped_%s(%s, %s)", q->suffix, clip.at, x);
    else
        wick_text_add(t, "%s", x);
    wick_text_add(t, f ? ");\n" : ";\n");
    t->failed = t->failed || clip.failed;
    wick_text_free(&clip);
}

/* act of a state, which is not clipped. */
static void print_shown(wick_text *t, int depth, const cell_print *q, const char *of) {
    static const char *const names[WICK_CELL_ACTS] = {"sigmoid", "tanh", "relu", "hard_sigmoid", "softsign", NULL};
    const char *f = names[q->r->act[q->direction][2]];
    if (f)
        line(t, depth, "h[j] = o * wick_cell_%s_%s(%s);", f, q->suffix, of);
    else
        line(t, depth, "h[j] = o * %s;", of);
}

/* "in[2 * H + j]" with the number in it. */
static const char *part(char *text, const cell_print *q, const char *array, int64_t rows) {
    if (rows)
        snprintf(text, 64, "%s[%lld + j]", array, LL(rows * q->h));
    else
        snprintf(text, 64, "%s[j]", array);
    return text;
}
/* pre + in, of gate k. */
static const char *sum(char *text, const cell_print *q, int64_t k) {
    char a[64], b[64];
    snprintf(text, 160, "%s + %s", part(a, q, "pre", k), part(b, q, "in", k));
    return text;
}

/* ---- cells: what is done for unit j ---------------------------------------------------------------------------------------------------------------------- */

static void print_rnn(wick_text *t, int depth, const cell_print *q) {
    char text[160];
    print_gate(t, depth, q, "now", 0, sum(text, q, 0));
    line(t, depth, "h[j] = now;");
}

static void print_lstm(wick_text *t, int depth, const cell_print *q) {
    static const char *const sums[] = {"ai", "af", "ag", "ao"};
    char text[160], place[64];
    line(t, depth, "const %s was = c[j];", q->type);
    for (int k = 0; k < 4; k++) {
        if (k == 1 && q->r->coupled) continue;
        line(t, depth, "%s%s %s = %s;", k == 2 || !q->has_peephole ? "const " : "", q->type, sums[k], sum(text, q, k));
        if (q->has_peephole && k < 2) line(t, depth, "%s = %s + %s * was;", sums[k], sums[k], part(place, q, "peephole", k));
    }
    print_gate(t, depth, q, "i", 0, "ai");
    if (q->r->coupled)
        line(t, depth, "const %s f = 1 - i;", q->type);
    else
        print_gate(t, depth, q, "f", 0, "af");
    print_gate(t, depth, q, "g", 1, "ag");
    line(t, depth, "const %s now = f * was + i * g;", q->type);
    if (q->has_peephole) line(t, depth, "ao = ao + %s * now;", part(place, q, "peephole", 2));
    print_gate(t, depth, q, "o", 0, "ao");
    line(t, depth, "c[j] = now;");
    print_shown(t, depth, q, "now");
}

static void print_gru(wick_text *t, int depth, const cell_print *q) {
    char text[160], a[64], b[64];
    print_gate(t, depth, q, "r", 0, sum(text, q, 0));
    print_gate(t, depth, q, "z", 0, sum(text, q, 1));
    line(t, depth, "const %s side = %s + %s;", q->type, part(a, q, "pre", 2), q->has_bias ? "bias[j]" : "0");
    snprintf(text, sizeof text, "%s + r * side", part(b, q, "in", 2));
    print_gate(t, depth, q, "now", 1, text);
    line(t, depth, "h[j] = (1 - z) * now + z * h[j];");
}

/* z stays in the place of its sums until r h has met the weights. */
static void print_gru_first(wick_text *t, int depth, const cell_print *q) {
    char text[160], a[64];
    print_gate(t, depth, q, "r", 0, sum(text, q, 0));
    print_gate(t, depth, q, "z", 0, sum(text, q, 1));
    line(t, depth, "%s = z;", part(a, q, "pre", 1));
    line(t, depth, "side[j] = r * h[j];");
}
static void print_gru_after(wick_text *t, int depth, const cell_print *q) {
    char text[160], a[64], b[64];
    line(t, depth, "const %s z = %s;", q->type, part(a, q, "pre", 1));
    snprintf(text, sizeof text, "%s + %s", part(a, q, "in", 2), part(b, q, "pre", 2));
    print_gate(t, depth, q, "now", 1, text);
    line(t, depth, "h[j] = (1 - z) * now + z * h[j];");
}

static void print_units(wick_text *t, int depth, const cell_print *q, void (*print)(wick_text *, int, const cell_print *), bool shown) {
    line(t, depth, "for (long j = 0; j < %lld; j++) {", LL(q->h));
    print(t, depth + 1, q);
    if (q->has_y && shown) line(t, depth + 1, "to[j] = h[j];");
    line(t, depth, "}");
}

/* ---- a direction --------------------------------------------------------------------------------------------------------------------------------------------- */

/* The products of a step with the state's weights, as of one row. */
static wick_step_gemm product_of(const wick_recurrent *r, int number) {
    wick_step_gemm m;
    memset(&m, 0, sizeof m);
    m.gemm = r->product[number][0];
    m.gemm.m = 1;
    return m;
}

static void print_state(wick_text *t, const cell_print *q, const char *state, const char *from) {
    const long long bytes = LL(q->h * (int64_t)wick_ctype_size(q->r->type));
    if (from)
        line(t, 2, "memcpy(%s, %s + b * %lld, %lld);", state, from, LL(q->h), bytes);
    else
        line(t, 2, "memset(%s, 0, %lld);", state, bytes);
}

/* The refs of a direction's function, in the order of its parameters, and which array each is. */
typedef struct parameter {
    const char *name;
    size_t field;
    int64_t offset; /* elements, of the second direction */
    bool result;
} parameter;
enum { PARAMETERS = 9 };

wick_status wick_c_print_recurrent(wick_c_printer *p, const wick_step *s) {
    const wick_step_recurrent *m = s->args;
    const wick_recurrent *r = &m->r;
    const int64_t h = r->hidden, gates = wick_cell_gates(r->cell), elem = (int64_t)wick_ctype_size(r->type), lanes = WICK_MIN(p->m->lanes, WICK_MAX(h, 1)), n_h = r->batch * h;
    const wick_dtype dtype = r->type == WICK_CF32 ? WICK_F32 : WICK_F64;
    if (r->backward || ref_of(m, FIELD(gates)) >= 0 || ref_of(m, FIELD(c_prev)) >= 0 || ref_of(m, FIELD(h_prev)) >= 0)
        return wick_c_refuse(p, s, "gradients of recurrences are not written yet");
    if (!h || !r->steps) return wick_c_refuse(p, s, "a recurrence of no steps or units is not written");
    const parameter parameters[PARAMETERS] = {
        {"in", FIELD(x), gates * h, false}, {"h0", FIELD(h0), n_h, false}, {"c0", FIELD(c0), n_h, false}, {"peephole", FIELD(peephole), 3 * h, false}, {"bias", FIELD(bias), h, false},
        {"lengths", FIELD(lengths), 0, false}, {"y", FIELD(y), h, true}, {"h_n", FIELD(h), n_h, true}, {"c_n", FIELD(c), n_h, true}};
    const int w = ref_of(m, FIELD(w)), packed_ref = ref_of(m, FIELD(packed)), lengths = ref_of(m, FIELD(lengths));
    const bool packed = wick_c_is_data(p, &s->refs[w]), first = r->cell == WICK_CELL_GRU_RESET_FIRST, lstm = r->cell == WICK_CELL_LSTM;
    for (int d = 0; d < r->directions; d++) {
        const cell_print q = {r, wick_c_type(r->type), wick_c_suffix(r->type), d, h, ref_of(m, FIELD(y)) >= 0, ref_of(m, FIELD(bias)) >= 0, ref_of(m, FIELD(peephole)) >= 0};
        wick_text t = (wick_text){0};
        wick_text_add(&t, "(%s *h, const %s *w, ", q.type, q.type);
        if (first) wick_text_add(&t, "const %s *w_n, ", q.type);
        const char *comma = "";
        for (int k = 0; k < PARAMETERS; k++) {
            const parameter *a = &parameters[k];
            if (ref_of(m, a->field) < 0) continue;
            if (a->field == FIELD(lengths))
                wick_text_add(&t, "%sconst int64_t *lengths", comma);
            else
                wick_text_add(&t, "%s%s%s *%s", comma, a->result ? "" : "const ", q.type, a->field == FIELD(x) ? "x" : a->name);
            comma = ", ";
        }
        wick_text_add(&t, ") {\n");
        if (lstm) line(&t, 1, "%s *c = h + %lld;", q.type, LL(h));
        line(&t, 1, "%s *pre = h + %lld;", q.type, LL((1 + lstm) * h));
        if (first) line(&t, 1, "%s *side = h + %lld;", q.type, LL((1 + gates) * h));
        line(&t, 1, "for (long b = 0; b < %lld; b++) {", LL(r->batch));
        if (lengths >= 0) line(&t, 2, "if (lengths[b] < 0 || lengths[b] > %lld) return 1;", LL(r->steps));
        print_state(&t, &q, "h", ref_of(m, FIELD(h0)) >= 0 ? "h0" : NULL);
        if (lstm) print_state(&t, &q, "c", ref_of(m, FIELD(c0)) >= 0 ? "c0" : NULL);
        line(&t, 2, "for (long s = 0; s < %lld; s++) {", LL(r->steps));
        if (r->reverse[d])
            line(&t, 3, "const long t = %lld - s;", LL(r->steps - 1));
        else
            line(&t, 3, "const long t = s;");
        line(&t, 3, "const %s *in = x + t * %lld + b * %lld;", q.type, LL(r->x_step), LL(r->x_row));
        if (q.has_y) line(&t, 3, "%s *to = y + (t * %lld + b * %lld) * %lld;", q.type, LL(r->step), LL(r->row), LL(r->directions * h));
        if (lengths >= 0) {
            line(&t, 3, "if (t >= lengths[b]) {");
            if (q.has_y) line(&t, 4, "memset(to, 0, %lld);", LL(h * elem));
            line(&t, 4, "continue;");
            line(&t, 3, "}");
        }
        for (int k = 0; k < r->products; k++) {
            static const char *const names[2][3][2] = {{{" a[", " h["}, {" b[", " w["}, {" c[", " pre["}}, {{" a[", " side["}, {" b[", " w_n["}, {" c[", " pre_n["}}};
            const wick_step_gemm product = product_of(r, k);
            if (k) line(&t, 3, "%s *pre_n = pre + %lld;", q.type, LL(2 * h));
            wick_c_print_rows(&t, 3, &product, packed, lanes, names[k], 3);
            if (first)
                print_units(&t, 3, &q, k ? print_gru_after : print_gru_first, k);
            else
                print_units(&t, 3, &q, lstm ? print_lstm : r->cell == WICK_CELL_RNN ? print_rnn : print_gru, true);
        }
        line(&t, 2, "}");
        if (ref_of(m, FIELD(h)) >= 0) line(&t, 2, "memcpy(h_n + b * %lld, h, %lld);", LL(h), LL(h * elem));
        if (ref_of(m, FIELD(c)) >= 0) line(&t, 2, "memcpy(c_n + b * %lld, c, %lld);", LL(h), LL(h * elem));
        line(&t, 1, "}");
        if (lengths >= 0) line(&t, 1, "return 0;");
        wick_text_add(&t, "}\n");
        if (lengths >= 0)
            wick_c_checking_kernel(p, s->node->op->name, &t, WICK_C_INDEX);
        else
            wick_c_kernel(p, s->node->op->name, &t);
        wick_c_argument(p, &s->refs[packed_ref], dtype);
        for (int k = 0; k < r->products; k++) {
            const wick_step_gemm product = product_of(r, k);
            wick_ref of = s->refs[w];
            of.offset += (d * gates + 2 * k) * h * h * elem;
            wick_text_add(&p->calls, ", ");
            if (packed)
                wick_c_constant_at(p, wick_c_packed_columns(p, &product.gemm, wick_c_data(p, &of), WICK_MIN(lanes, product.gemm.n)), 0);
            else
                wick_c_argument(p, &of, dtype);
        }
        for (int k = 0; k < PARAMETERS; k++) {
            const int at = ref_of(m, parameters[k].field);
            if (at < 0) continue;
            wick_ref of = s->refs[at];
            of.offset += d * parameters[k].offset * elem;
            wick_text_add(&p->calls, ", ");
            wick_c_argument(p, &of, parameters[k].field == FIELD(lengths) ? WICK_I64 : dtype);
        }
        wick_text_add(&p->calls, lengths >= 0 ? ")) return 2;\n" : ");\n");
    }
    return WICK_OK;
}
