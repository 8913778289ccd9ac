/* recurrent.c: RNN, LSTM and GRU. What the inputs of all steps give is one matrix product, recorded before the node;
 * the node is the loop over time, and what its gradient needs is saved beside its results (nothing is where nobody
 * reads it). The gradient is a second node with the loop back; gradients of weights are then products over all steps
 * again. */
#include <stddef.h>

#include "kernels/packing.h"
#include "ops/ops.h"
#include "ops/lowering/steps.h"
#include "wick/sequence.h"

/* What an input or result is: its shape follows from the steps T, samples B, directions D and units H. */
typedef enum shape_kind { NONE, SEQUENCE, STATE, WEIGHT, VECTOR, LENGTHS } shape_kind;
typedef struct slot {
    const char *name;
    shape_kind kind;
    int8_t width; /* in H; 0: gates, -1: saved rows */
    size_t field; /* of wick_recurrent_data */
} slot;
#define FIELD(name) offsetof(wick_recurrent_data, name)
enum { IN_X, IN_W, IN_H0, IN_C0, IN_PEEPHOLE, IN_BIAS, IN_LENGTHS, IN_COUNT };
static const slot in_slots[IN_COUNT] = {
    {"x", SEQUENCE, 0, FIELD(x)},          {"w_hh", WEIGHT, 0, FIELD(w)},         {"h0", STATE, 1, FIELD(h0)},
    {"c0", STATE, 1, FIELD(c0)},           {"peephole", VECTOR, 3, FIELD(peephole)}, {"bias", VECTOR, 1, FIELD(bias)},
    {"lengths", LENGTHS, 1, FIELD(lengths)},
};
enum {
    BACK_GATES,
    BACK_W,
    BACK_C_PREV,
    BACK_H_PREV,
    BACK_GY,
    BACK_GH,
    BACK_GC,
    BACK_PEEPHOLE,
    BACK_LENGTHS,
    BACK_GGATES,
    BACK_GC_PREV,
    BACK_GH_PREV,
    BACK_COUNT
};
static const slot back_slots[BACK_COUNT] = {
    {"gates", SEQUENCE, -1, FIELD(gates)},
    {"w_hh", WEIGHT, 0, FIELD(w)},
    {"c_prev", SEQUENCE, 1, FIELD(c_prev)},
    {"h_prev", SEQUENCE, 1, FIELD(h_prev)},
    {"gy", SEQUENCE, 1, FIELD(gy)},
    {"gh", STATE, 1, FIELD(gh)},
    {"gc", STATE, 1, FIELD(gc)},
    {"peephole", VECTOR, 3, FIELD(peephole)},
    {"lengths", LENGTHS, 1, FIELD(lengths)},
    {"ggates", SEQUENCE, -1, FIELD(ggates)},
    {"gc_prev", SEQUENCE, 1, FIELD(gc_prev)},
    {"gh_prev", SEQUENCE, 1, FIELD(gh_prev)},
};
enum { MOST_RESULTS = 6 };
static const slot rnn_results[] = {
    {"y", SEQUENCE, 1, FIELD(y)}, {"h", STATE, 1, FIELD(h)}, {"h_prev", SEQUENCE, 1, FIELD(h_prev)}};
static const slot lstm_results[] = {{"y", SEQUENCE, 1, FIELD(y)},
                                    {"h", STATE, 1, FIELD(h)},
                                    {"c", STATE, 1, FIELD(c)},
                                    {"gates", SEQUENCE, -1, FIELD(gates)},
                                    {"c_prev", SEQUENCE, 1, FIELD(c_prev)},
                                    {"h_prev", SEQUENCE, 1, FIELD(h_prev)}};
static const slot gru_results[] = {{"y", SEQUENCE, 1, FIELD(y)},
                                   {"h", STATE, 1, FIELD(h)},
                                   {"gates", SEQUENCE, -1, FIELD(gates)},
                                   {"h_prev", SEQUENCE, 1, FIELD(h_prev)}};
static const slot grad_results[] = {{"dx", SEQUENCE, 0, FIELD(dx)}, {"dh0", STATE, 1, FIELD(dh0)}};
static const slot lstm_grad_results[] = {
    {"dx", SEQUENCE, 0, FIELD(dx)}, {"dh0", STATE, 1, FIELD(dh0)}, {"dc0", STATE, 1, FIELD(dc0)}};
static const slot gru_grad_results[] = {
    {"dx", SEQUENCE, 0, FIELD(dx)}, {"dh0", STATE, 1, FIELD(dh0)}, {"dside", SEQUENCE, 0, FIELD(dside)}};

/* One op: its slots, those it must have, and those it may have besides. */
typedef struct family {
    const wick_op *op, *back;
    uint32_t cells; /* bit: wick_cell */
    bool backward;
    const slot *slots, *results;
    int n_slots;
    uint32_t must, may;
} family;
#define BIT(s) (1u << (s))
static const uint32_t back_must = BIT(BACK_GATES) | BIT(BACK_W) | BIT(BACK_H_PREV);
static const uint32_t back_may = BIT(BACK_GY) | BIT(BACK_GH) | BIT(BACK_LENGTHS) | BIT(BACK_GH_PREV);
static const family families[] = {
    {&wick_op_rnn, &wick_op_rnn_grad, BIT(WICK_CELL_RNN), false, in_slots, rnn_results, IN_COUNT, BIT(IN_X) | BIT(IN_W),
     BIT(IN_H0) | BIT(IN_LENGTHS)},
    {&wick_op_lstm, &wick_op_lstm_grad, BIT(WICK_CELL_LSTM), false, in_slots, lstm_results, IN_COUNT,
     BIT(IN_X) | BIT(IN_W), BIT(IN_H0) | BIT(IN_C0) | BIT(IN_PEEPHOLE) | BIT(IN_LENGTHS)},
    {&wick_op_gru, &wick_op_gru_grad, BIT(WICK_CELL_GRU) | BIT(WICK_CELL_GRU_RESET_FIRST), false, in_slots, gru_results,
     IN_COUNT, BIT(IN_X) | BIT(IN_W), BIT(IN_H0) | BIT(IN_BIAS) | BIT(IN_LENGTHS)},
    {&wick_op_rnn_grad, NULL, BIT(WICK_CELL_RNN), true, back_slots, grad_results, BACK_COUNT, back_must, back_may},
    {&wick_op_lstm_grad, NULL, BIT(WICK_CELL_LSTM), true, back_slots, lstm_grad_results, BACK_COUNT,
     back_must | BIT(BACK_C_PREV), back_may | BIT(BACK_GC) | BIT(BACK_PEEPHOLE) | BIT(BACK_GGATES) | BIT(BACK_GC_PREV)},
    {&wick_op_gru_grad, NULL, BIT(WICK_CELL_GRU) | BIT(WICK_CELL_GRU_RESET_FIRST), true, back_slots, gru_grad_results,
     BACK_COUNT, back_must, back_may | BIT(BACK_GGATES)},
};
static const family *family_of(const wick_op *op) {
    const family *f = families;
    while (f->op != op) f++;
    return f;
}

/* The input in slot s, or -1. */
static int input_of(uint32_t present, int s) {
    return present & BIT(s) ? __builtin_popcount(present & (BIT(s) - 1)) : -1;
}

static int saved_of(const recurrent_attr *a) { return a->cell == WICK_CELL_RNN ? 1 : 4; }

typedef struct extents {
    int64_t steps, batch, directions, units;
} extents;

/* Fills the dims that a slot must have. */
static int dims_of(const slot *s, const recurrent_attr *a, const extents *e, int64_t *dims) {
    const int64_t gates = wick_cell_gates((wick_cell)a->cell), width = s->width > 0   ? s->width
                                                                       : s->width < 0 ? saved_of(a)
                                                                                      : gates;
    switch (s->kind) {
    case SEQUENCE:
        dims[0] = a->batch_first ? e->batch : e->steps, dims[1] = a->batch_first ? e->steps : e->batch,
        dims[2] = e->directions * width * e->units;
        return 3;
    case STATE: dims[0] = e->directions, dims[1] = e->batch, dims[2] = e->units; return 3;
    case WEIGHT: dims[0] = e->directions, dims[1] = gates * e->units, dims[2] = e->units; return 3;
    case VECTOR: dims[0] = e->directions, dims[1] = width * e->units; return 2;
    default: dims[0] = e->batch; return 1;
    }
}

/* From the sequence in slot 0 and the weights in slot 1. */
static extents extents_of(const recurrent_attr *a, const wick_type *sequence, const wick_type *w) {
    return (extents){.steps = sequence->dims[a->batch_first ? 1 : 0],
                     .batch = sequence->dims[a->batch_first ? 0 : 1],
                     .directions = w->dims[0],
                     .units = w->dims[2]};
}

static wick_status infer_recurrent(wick_infer *i) {
    const family *f = family_of(i->op);
    const recurrent_attr *a = i->attr;
    if (!(f->cells & BIT(a->cell)) || (a->present & f->must) != f->must || a->present & ~(f->must | f->may) ||
        __builtin_popcount(a->present) != i->n_in)
        return wick_infer_fail(i, WICK_ERR_INVALID, "the inputs are not those of this cell");
    const wick_type *sequence = i->in[0], *w = i->in[1];
    if (sequence->dtype != WICK_F32 && sequence->dtype != WICK_F64)
        return wick_infer_fail(i, WICK_ERR_DTYPE, "needs f32 or f64; cast");
    if (sequence->rank != 3 || w->rank != 3 || w->dims[0] < 1 || w->dims[0] > 2)
        return wick_infer_fail(i, WICK_ERR_SHAPE,
                               "needs a sequence of 3 dims and weights [D, G H, H] of 1 or 2 directions");
    const extents e = extents_of(a, sequence, w);
    for (int s = 0; s < f->n_slots; s++) {
        const int k = input_of(a->present, s);
        if (k < 0) continue;
        wick_type want;
        int64_t dims[3];
        const int rank = dims_of(&f->slots[s], a, &e, dims);
        const wick_dtype dtype = f->slots[s].kind == LENGTHS ? WICK_I64 : (wick_dtype)sequence->dtype;
        if (i->in[k]->dtype != dtype)
            return wick_infer_fail(i, WICK_ERR_DTYPE, "%s must be of %s", f->slots[s].name, wick_dtype_name(dtype));
        char text[128];
        wick_str str = wick_str_on(text, sizeof text);
        if (!wick_type_set(&want, dtype, rank, dims))
            return wick_infer_fail(i, WICK_ERR_SHAPE, "%s would be too large", f->slots[s].name);
        wick_type_print(&str, &want);
        if (!wick_same_dims(i->in[k], &want))
            return wick_infer_fail(i, WICK_ERR_SHAPE, "%s must be %s", f->slots[s].name, text);
    }
    for (int k = 0; k < i->n_out; k++) {
        int64_t dims[3];
        const uint16_t device = i->out[k].device;
        const int rank = dims_of(&f->results[k], a, &e, dims);
        if (!wick_type_set(&i->out[k], (wick_dtype)sequence->dtype, rank, dims))
            return wick_infer_fail(i, WICK_ERR_SHAPE, "the result is too large");
        i->out[k].device = device;
    }
    return WICK_OK;
}

/* ---- lowering ---------------------------------------------------------------------------------------------------- */

_Static_assert(BACK_COUNT + MOST_RESULTS + 1 <= WICK_STEP_RECURRENT_REFS,
               "a step has a ref for each slot, each result and what is packed");

static wick_recurrent_data data_of(const wick_step_recurrent *a, void *const *ptr) {
    wick_recurrent_data d;
    memset(&d, 0, sizeof d);
    for (int k = 0; k < a->n; k++) memcpy((char *)&d + a->field[k], &ptr[k], sizeof(void *));
    return d;
}
static int64_t run_recurrent(const void *args, void *const *ptr, int64_t begin, int64_t end, void *scratch) {
    const wick_step_recurrent *a = args;
    const wick_recurrent_data d = data_of(a, ptr);
    wick_recurrent_run(&a->r, begin, end, &d, scratch);
    for (int64_t b = 0; begin == 0 && d.lengths && b < a->r.batch; b++)
        if (d.lengths[b] < 0 || d.lengths[b] > a->r.steps) return b;
    return -1;
}
static int64_t run_pack(const void *args, void *const *ptr, int64_t begin, int64_t end, void *scratch) {
    (void)scratch;
    wick_recurrent_pack(&((const wick_step_recurrent *)args)->r, begin, end, ptr[0], ptr[1]);
    return -1;
}

static int64_t bad_length(const void *args, void *const *ptr, int64_t at, int64_t *extent) {
    const wick_step_recurrent *a = args;
    *extent = a->r.steps;
    return data_of(a, ptr).lengths[at];
}
static double flops_recurrent(const wick_node *node) {
    const recurrent_attr *a = node->attr;
    const extents e = extents_of(a, &node->in[0]->type, &node->in[1]->type);
    const double h = (double)e.units, gates = (double)wick_cell_gates((wick_cell)a->cell);
    return (double)e.steps * (double)e.batch * (double)e.directions * gates * h * (2 * h + 8);
}

static bool is_read(const wick_lower *l, const wick_value *v) { return l->last_use[v->id] || l->result[v->id] >= 0; }

static wick_status lower_recurrent(wick_lower *l, wick_node *node) {
    const family *f = family_of(node->op);
    const recurrent_attr *attr = node->attr;
    const extents e = extents_of(attr, &node->in[0]->type, &node->in[1]->type);
    const int64_t batch_axis = attr->batch_first ? 0 : 1;
    wick_step_recurrent a;
    memset(&a, 0, sizeof a);
    wick_recurrent *r = &a.r;
    r->type = wick_ctype_of((wick_dtype)node->in[0]->type.dtype);
    r->cell = (wick_cell)attr->cell;
    r->backward = f->backward;
    r->coupled = attr->coupled;
    r->steps = e.steps, r->batch = e.batch, r->hidden = e.units, r->directions = e.directions;
    for (int d = 0; d < 2; d++) r->reverse[d] = attr->reverse[d];
    memcpy(r->act, attr->act, sizeof r->act);
    r->clip = attr->clip;
    r->step = attr->batch_first ? 1 : e.batch;
    r->row = attr->batch_first ? e.steps : 1;

    wick_ref refs[WICK_STEP_RECURRENT_REFS], weights = {0};
    double bytes = 0;
    for (int s = 0; s < f->n_slots; s++) {
        const int k = input_of(attr->present, s);
        if (k < 0) continue;
        wick_operand in = wick_lower_in(l, node, k);
        if (f->slots[s].field != FIELD(x) || in.layout.strides[2] != 1)
            WICK_TRY(wick_lower_in_contiguous(l, node, k, &in));
        if (f->slots[s].field == FIELD(x))
            r->x_step = in.layout.strides[1 - batch_axis], r->x_row = in.layout.strides[batch_axis];
        refs[a.n] = wick_lower_ref(&in, false);
        if (f->slots[s].field == FIELD(w)) weights = refs[a.n];
        bytes += (double)wick_type_bytes(in.type);
        a.field[a.n++] = f->slots[s].field;
    }
    for (int k = 0; k < node->n_out; k++) {
        wick_operand out;
        if (!is_read(l, &node->out[k]) && f->results[k].field != FIELD(dx)) continue;
        WICK_TRY(wick_lower_out(l, node, k, &out));
        refs[a.n] = wick_lower_ref(&out, true);
        bytes += (double)wick_type_bytes(out.type);
        a.field[a.n++] = f->results[k].field;
    }
    wick_recurrent_prepare(r, &l->ctx->tuning);
    if (wick_remarks(l->planning)) {
        bool peephole = false, ggates = false;
        wick_rejected rejected[WICK_REJECTED];
        for (int k = 0; k < a.n; k++) peephole |= a.field[k] == FIELD(peephole), ggates |= a.field[k] == FIELD(ggates);
        wick_lower_remark(l, node, wick_recurrent_name(r),
                          wick_recurrent_rejected(r, &l->ctx->tuning, peephole, ggates, rejected), rejected);
    }
    if (r->tasks_pack) {
        wick_ref packed = {.write = true};
        WICK_TRY(wick_lower_temp(l, r->packed, &packed.buffer));
        wick_step pack = {.name = "recurrent_pack",
                          .kind = WICK_STEP_PACK,
                          .packs = true,
                          .run = run_pack,
                          .tasks = r->tasks_pack,
                          .bytes = 2.0 * (double)r->packed};
        wick_step_recurrent packing;
        memset(&packing, 0, sizeof packing);
        packing.r = *r;
        wick_recurrent_keep_packing(&packing.r);
        WICK_TRY(wick_lower_step(l, &pack, &packing, sizeof packing, (wick_ref[]){weights, packed}, 2));
        packed.write = false;
        refs[a.n] = packed;
        a.field[a.n++] = FIELD(packed);
    }
    wick_step step = {.name = node->op->name,
                      .kind = WICK_STEP_RECURRENT,
                      .run = run_recurrent,
                      .tasks = r->tasks,
                      .scratch = r->scratch,
                      .flops = flops_recurrent(node),
                      .bytes = bytes};
    if (attr->present & BIT(IN_LENGTHS) && !f->backward)
        step.fault = WICK_ERR_INDEX, step.fault_text = "the length of sample %lld is %lld, outside 0 to %lld steps",
        step.fault_at = bad_length;
    return wick_lower_step(l, &step, &a, sizeof a, refs, a.n);
}

/* ---- gradient ---------------------------------------------------------------------------------------------------- */

/* Sum over steps and samples of g' with, by direction: [D, width(g), width(with)]. */
static wick_tensor *outer_sum(wick_tensor *g, wick_tensor *with) {
    wick_tensor *a = wick_permute(g, 3, (const int[]){1, 2, 0});
    return wick_matmul(a, wick_permute(with, 3, (const int[]){1, 0, 2}));
}
/* Of a sequence with rows [D, width H]: units [first, last) of each, in H, as [steps and samples, D, units]. */
static wick_tensor *part(wick_tensor *x, const extents *e, int width, int first, int last) {
    wick_tensor *rows = wick_reshape(x, 3, (const int64_t[]){e->steps * e->batch, e->directions, width * e->units});
    return wick_slice(rows, 2, first * e->units, last * e->units, 1);
}

static void grad_recurrent(wick_gradient *g) {
    const family *f = family_of(g->node->op);
    const recurrent_attr *attr = g->node->attr;
    const wick_cell cell = (wick_cell)attr->cell;
    const extents e = extents_of(attr, &g->node->in[0]->type, &g->node->in[1]->type);
    const bool lstm = cell == WICK_CELL_LSTM, rnn = cell == WICK_CELL_RNN;
    const int gates = rnn ? 0 : lstm ? 3 : 2, h_prev = rnn ? 2 : lstm ? 5 : 3;
    const int at[IN_COUNT] = {input_of(attr->present, IN_X),        input_of(attr->present, IN_W),
                              input_of(attr->present, IN_H0),       input_of(attr->present, IN_C0),
                              input_of(attr->present, IN_PEEPHOLE), input_of(attr->present, IN_BIAS),
                              input_of(attr->present, IN_LENGTHS)};
    wick_tensor *slots[BACK_COUNT] = {[BACK_GATES] = g->out[gates],
                                      [BACK_W] = g->in[at[IN_W]],
                                      [BACK_C_PREV] = lstm ? g->out[4] : NULL,
                                      [BACK_H_PREV] = g->out[h_prev],
                                      [BACK_GY] = g->gout[0],
                                      [BACK_GH] = g->gout[1],
                                      [BACK_GC] = lstm ? g->gout[2] : NULL,
                                      [BACK_PEEPHOLE] = at[IN_PEEPHOLE] >= 0 ? g->in[at[IN_PEEPHOLE]] : NULL,
                                      [BACK_LENGTHS] = at[IN_LENGTHS] >= 0 ? g->in[at[IN_LENGTHS]] : NULL,
                                      [BACK_GGATES] = rnn ? NULL : g->gout[gates],
                                      [BACK_GC_PREV] = lstm ? g->gout[4] : NULL,
                                      [BACK_GH_PREV] = g->gout[h_prev]};
    wick_tensor *in[BACK_COUNT], *out[3] = {NULL};
    recurrent_attr back = *attr;
    int n = 0;
    back.present = 0;
    for (int s = 0; s < BACK_COUNT; s++)
        if (slots[s]) in[n++] = slots[s], back.present |= BIT(s);
    wick_record_n(NULL, f->back, n, in, &back, sizeof back, rnn ? 2 : 3, out);
    wick_tensor *dx = out[0], *side = cell == WICK_CELL_GRU ? out[2] : dx, *was = part(g->out[h_prev], &e, 1, 0, 1);
    if (g->need[at[IN_X]]) g->gin[at[IN_X]] = dx;
    if (at[IN_H0] >= 0 && g->need[at[IN_H0]]) g->gin[at[IN_H0]] = out[1];
    if (at[IN_C0] >= 0 && g->need[at[IN_C0]]) g->gin[at[IN_C0]] = out[2];
    if (g->need[at[IN_W]]) {
        if (cell == WICK_CELL_GRU_RESET_FIRST) {
            wick_tensor *parts[2] = {outer_sum(part(dx, &e, 3, 0, 2), was),
                                     outer_sum(part(dx, &e, 3, 2, 3), part(g->out[gates], &e, 4, 3, 4))};
            g->gin[at[IN_W]] = wick_concat(2, parts, 1);
        } else
            g->gin[at[IN_W]] = outer_sum(part(side, &e, wick_cell_gates(cell), 0, wick_cell_gates(cell)), was);
    }
    if (at[IN_BIAS] >= 0 && g->need[at[IN_BIAS]])
        g->gin[at[IN_BIAS]] = wick_sum(part(side, &e, 3, 2, 3), WICK_AXES(0), false);
    if (at[IN_PEEPHOLE] >= 0 && g->need[at[IN_PEEPHOLE]]) {
        wick_tensor *c_prev = part(g->out[4], &e, 1, 0, 1), *q[4], *parts[3];
        for (int k = 0; k < 4; k++) q[k] = part(g->out[gates], &e, 4, k, k + 1);
        wick_tensor *c = wick_add(wick_mul(q[1], c_prev), wick_mul(q[0], q[2]));
        for (int k = 0; k < 3; k++)
            parts[k] = wick_sum(wick_mul(part(dx, &e, 4, k < 2 ? k : 3, k < 2 ? k + 1 : 4), k < 2 ? c_prev : c),
                                WICK_AXES(0), false);
        g->gin[at[IN_PEEPHOLE]] = wick_concat(3, parts, 1);
    }
}

/* ---- definitions ------------------------------------------------------------------------------------------------- */

static void print_recurrent(wick_str *s, const wick_node *node) {
    static const char *const acts[] = {"sigmoid", "tanh", "relu", "hard_sigmoid", "softsign", "identity"};
    const recurrent_attr *a = node->attr;
    const family *f = family_of(node->op);
    const int n = a->cell == WICK_CELL_RNN ? 1 : a->cell == WICK_CELL_LSTM ? 3 : 2;
    for (int k = 0; k < f->n_slots; k++)
        if (a->present & BIT(k)) wick_str_add(s, "%s ", f->slots[k].name);
    for (int k = 0; k < n; k++) wick_str_add(s, "%s%s", k ? "," : "acts=", acts[a->act[0][k]]);
    if (a->reverse[0]) wick_str_add(s, " reverse");
    if (a->batch_first) wick_str_add(s, " batch_first");
    if (a->cell == WICK_CELL_GRU_RESET_FIRST) wick_str_add(s, " reset_first");
    if (a->coupled) wick_str_add(s, " input_forget");
    if (a->clip > 0) wick_str_add(s, " clip=%g", a->clip);
}

static void sample_of(wick_sample *s, const wick_op *op) {
    const family *f = family_of(op);
    recurrent_attr a = {0};
    extents e = {wick_sample_int(s, 1, 4), wick_sample_int(s, 0, 4), wick_sample_int(s, 1, 2),
                 wick_sample_int(s, 1, 4)};
    a.cell = f->cells == BIT(WICK_CELL_RNN) ? WICK_CELL_RNN : f->cells == BIT(WICK_CELL_LSTM) ? WICK_CELL_LSTM
             : s->random() % 2          ? WICK_CELL_GRU : WICK_CELL_GRU_RESET_FIRST;
    a.batch_first = s->random() % 2;
    a.coupled = a.cell == WICK_CELL_LSTM && s->random() % 4 == 0;
    a.reverse[1] = e.directions == 2 || s->random() % 2;
    a.reverse[0] = e.directions == 1 && a.reverse[1];
    for (int d = 0; d < 2; d++) {
        static const uint8_t usual[2][3] = {{WICK_CELL_TANH}, {WICK_CELL_SIGMOID, WICK_CELL_TANH, WICK_CELL_TANH}};
        for (int k = 0; k < (a.cell == WICK_CELL_RNN ? 1 : a.cell == WICK_CELL_LSTM ? 3 : 2); k++)
            a.act[d][k] = s->random() % 3 ? usual[a.cell != WICK_CELL_RNN][k] : (uint8_t)(s->random() % WICK_CELL_ACTS);
    }
    a.clip = s->random() % 4 ? 0 : 2.5;
    a.present = f->must | (f->may & (uint32_t)s->random());
    while (__builtin_popcount(a.present) > 8) a.present &= f->must | (f->may & (uint32_t)s->random());
    if (a.cell == WICK_CELL_GRU_RESET_FIRST && !f->backward) a.present &= ~BIT(IN_BIAS);
    if (s->random() % 8 == 0 && !(a.present & BIT(f->backward ? BACK_LENGTHS : IN_LENGTHS))) e.steps = 0;
    const bool exact = s->random() % 3;
    s->n_in = __builtin_popcount(a.present);
    for (int k = 0; k < f->n_slots; k++) {
        const int i = input_of(a.present, k);
        if (i < 0) continue;
        wick_type *t = &s->in[i];
        const bool saved = f->slots[k].field == FIELD(gates);
        t->rank = (uint8_t)dims_of(&f->slots[k], &a, &e, t->dims);
        t->dtype = f->slots[k].kind == LENGTHS ? WICK_I64 : exact ? WICK_F64 : WICK_F32;
        s->lo[i] = f->slots[k].kind == LENGTHS ? 0 : saved ? 0.1 : f->slots[k].kind == WEIGHT ? -0.4 : -1.5;
        s->hi[i] = f->slots[k].kind == LENGTHS ? (double)e.steps : saved ? 0.9 : f->slots[k].kind == WEIGHT ? 0.4 : 1.5;
    }
    memcpy(s->attr, &a, s->attr_size = sizeof a);
    s->differentiable = exact && !f->backward;
}
static void sample_rnn(wick_sample *s) { sample_of(s, &wick_op_rnn); }
static void sample_lstm(wick_sample *s) { sample_of(s, &wick_op_lstm); }
static void sample_gru(wick_sample *s) { sample_of(s, &wick_op_gru); }
static void sample_rnn_grad(wick_sample *s) { sample_of(s, &wick_op_rnn_grad); }
static void sample_lstm_grad(wick_sample *s) { sample_of(s, &wick_op_lstm_grad); }
static void sample_gru_grad(wick_sample *s) { sample_of(s, &wick_op_gru_grad); }

const wick_op wick_op_rnn = {.name = "rnn",
                             .onnx = "RNN",
                             .torch = "nn.RNN",
                             .cost = "T B D G H (2 H + 8), G gates",
                             .doc = "a recurrent layer's loop over time: h = act(x + h W')",
                             .min_in = 2,
                             .max_in = 4,
                             .n_out = 3,
                             .flags = WICK_OP_FAULTS | WICK_OP_ONCE,
                             .infer = infer_recurrent,
                             .grad = grad_recurrent,
                             .flops = flops_recurrent,
                             .lower = lower_recurrent,
                             .print = print_recurrent,
                             .sample = sample_rnn};
const wick_op wick_op_lstm = {.name = "lstm",
                              .onnx = "LSTM",
                              .torch = "nn.LSTM",
                              .cost = "T B D G H (2 H + 8), G gates",
                              .doc = "the loop over time of an LSTM, with peepholes; also what its gradient needs",
                              .min_in = 2,
                              .max_in = 6,
                              .n_out = 6,
                              .flags = WICK_OP_FAULTS | WICK_OP_ONCE,
                              .infer = infer_recurrent,
                              .grad = grad_recurrent,
                              .flops = flops_recurrent,
                              .lower = lower_recurrent,
                              .print = print_recurrent,
                              .sample = sample_lstm};
const wick_op wick_op_gru = {.name = "gru",
                             .onnx = "GRU",
                             .torch = "nn.GRU",
                             .cost = "T B D G H (2 H + 8), G gates",
                             .doc = "the loop over time of a GRU; also what its gradient needs",
                             .min_in = 2,
                             .max_in = 5,
                             .n_out = 4,
                             .flags = WICK_OP_FAULTS | WICK_OP_ONCE,
                             .infer = infer_recurrent,
                             .grad = grad_recurrent,
                             .flops = flops_recurrent,
                             .lower = lower_recurrent,
                             .print = print_recurrent,
                             .sample = sample_gru};
const wick_op wick_op_rnn_grad = {
    .name = "rnn_grad",
    .cost = "as rnn",
    .doc = "the loop back through rnn; plain layers (wick_nn_rnn_options) have gradients of gradients",
    .min_in = 3,
    .max_in = 7,
    .n_out = 2,
    .flags = WICK_OP_ONCE,
    .infer = infer_recurrent,
    .flops = flops_recurrent,
    .lower = lower_recurrent,
    .print = print_recurrent,
    .sample = sample_rnn_grad};
const wick_op wick_op_lstm_grad = {
    .name = "lstm_grad",
    .cost = "as lstm",
    .doc = "the loop back through lstm; plain layers (wick_nn_rnn_options) have gradients of gradients",
    .min_in = 4,
    .max_in = 12,
    .n_out = 3,
    .flags = WICK_OP_ONCE,
    .infer = infer_recurrent,
    .flops = flops_recurrent,
    .lower = lower_recurrent,
    .print = print_recurrent,
    .sample = sample_lstm_grad};
const wick_op wick_op_gru_grad = {
    .name = "gru_grad",
    .cost = "as gru",
    .doc = "the loop back through gru; plain layers (wick_nn_rnn_options) have gradients of gradients",
    .min_in = 3,
    .max_in = 8,
    .n_out = 3,
    .flags = WICK_OP_ONCE,
    .infer = infer_recurrent,
    .flops = flops_recurrent,
    .lower = lower_recurrent,
    .print = print_recurrent,
    .sample = sample_gru_grad};

/* ---- public ------------------------------------------------------------------------------------------------------ */

/* A weight, or a bias (cols -1), with its dim of directions; refused with the shape it must have. */
static wick_tensor *with_directions(wick_tensor *t, const char *op, const char *name, int64_t directions, int64_t rows,
                                    int64_t cols) {
    if (!t || t->error) return t;
    const int rank = cols >= 0 ? 3 : 2;
    if (wick_tensor_rank(t) == rank - 1 && directions == 1) t = wick_unsqueeze(t, 0);
    const bool fits = wick_tensor_rank(t) == rank && wick_tensor_dim(t, 0) == directions &&
                      wick_tensor_dim(t, 1) == rows && (cols < 0 || wick_tensor_dim(t, 2) == cols);
    if (fits) return t;
    char text[128];
    wick_str s = wick_str_on(text, sizeof text);
    wick_type_print(&s, &t->value->type);
    if (cols >= 0)
        return wick_poison(t->ctx, WICK_ERR_SHAPE, "%s: %s is %s, not [%lld,%lld,%lld]", op, name, text,
                           (long long)directions, (long long)rows, (long long)cols);
    return wick_poison(t->ctx, WICK_ERR_SHAPE, "%s: %s is %s, not [%lld,%lld]", op, name, text, (long long)directions,
                       (long long)rows);
}

static wick_tensor *layer(const wick_op *op, wick_cell cell, wick_tensor *x, const wick_rnn_inputs *inputs,
                          const wick_rnn_options *options, wick_tensor **h_n, wick_tensor **c_n) {
    static const wick_rnn_options defaults;
    const wick_rnn_options *o = options ? options : &defaults;
    if (h_n) *h_n = NULL;
    if (c_n) *c_n = NULL;
    if (!x || x->error) return h_n ? *h_n = x : 0, c_n ? *c_n = x : 0, x;
    wick_rnn_inputs v = inputs ? *inputs : (wick_rnn_inputs){0};
    wick_tensor *poison = NULL, **tensors[] = {&v.w_ih, &v.w_hh, &v.b_ih, &v.b_hh, &v.peephole, &v.h0, &v.c0};
    const wick_dtype dtype = wick_tensor_dtype(x);
    const bool half = dtype == WICK_F16 || dtype == WICK_BF16;
    const int64_t directions = o->direction == WICK_RNN_BIDIRECTIONAL ? 2 : 1, gates = wick_cell_gates(cell);
    if (!v.w_ih || !v.w_hh) poison = wick_poison(x->ctx, WICK_ERR_INVALID, "%s: needs w_ih and w_hh", op->name);
    for (size_t i = 0; i < WICK_COUNTOF(tensors) && !poison; i++)
        if (*tensors[i] && (*tensors[i])->error) poison = *tensors[i];
    if (v.lengths && v.lengths->error && !poison) poison = v.lengths;
    if (!poison && wick_tensor_rank(x) != 3)
        poison = wick_poison(x->ctx, WICK_ERR_SHAPE, "%s: x has %d dims; it needs 3: steps, samples, features",
                             op->name, wick_tensor_rank(x));
    if (!poison && (v.lengths && !wick_dtype_is_integer(wick_tensor_dtype(v.lengths))))
        poison = wick_poison(x->ctx, WICK_ERR_DTYPE, "%s: lengths must be of integers", op->name);
    if (!poison && !(o->clip >= 0)) poison = wick_poison(x->ctx, WICK_ERR_INVALID, "%s: clip %g", op->name, o->clip);
    if (!poison && cell != WICK_CELL_LSTM && (v.peephole || v.c0))
        poison = wick_poison(x->ctx, WICK_ERR_INVALID, "%s: c0 and peepholes are the LSTM's", op->name);
    if (!poison && !wick_dtype_is_float(dtype))
        poison =
            wick_poison(x->ctx, WICK_ERR_DTYPE, "%s: x is of %s; it needs floats", op->name, wick_dtype_name(dtype));
    recurrent_attr a = {.cell = (uint8_t)cell,
                        .batch_first = o->batch_first,
                        .coupled = o->input_forget && cell == WICK_CELL_LSTM,
                        .clip = o->clip};
    a.reverse[0] = o->direction == WICK_RNN_REVERSE;
    a.reverse[1] = o->direction == WICK_RNN_BIDIRECTIONAL;
    for (int d = 0; d < 2 && !poison; d++)
        for (int k = 0; k < (cell == WICK_CELL_RNN ? 1 : cell == WICK_CELL_LSTM ? 3 : 2); k++) {
            const int given = (int)o->acts[d][k];
            if (given < 0 || given > WICK_RNN_IDENTITY)
                poison = wick_poison(x->ctx, WICK_ERR_INVALID, "%s: no such activation: %d", op->name, given);
            a.act[d][k] = (uint8_t)(given                             ? given - 1
                                    : k == 0 && cell != WICK_CELL_RNN ? WICK_CELL_SIGMOID
                                                                      : WICK_CELL_TANH);
        }
    if (poison) return h_n ? *h_n = poison : 0, c_n ? *c_n = poison : 0, poison;

    if (half) {
        x = wick_as(x, WICK_F32);
        for (size_t i = 0; i < WICK_COUNTOF(tensors); i++)
            if (*tensors[i]) *tensors[i] = wick_as(*tensors[i], WICK_F32);
    }
    const int64_t features = wick_tensor_dim(x, 2), units = wick_tensor_dim(v.w_hh, -1), rows = gates * units;
    v.w_hh = with_directions(v.w_hh, op->name, "w_hh", directions, rows, units);
    v.w_ih = with_directions(v.w_ih, op->name, "w_ih", directions, rows, features);
    v.b_ih = with_directions(v.b_ih, op->name, "b_ih", directions, rows, -1);
    v.b_hh = with_directions(v.b_hh, op->name, "b_hh", directions, rows, -1);
    wick_tensor *bias = v.b_ih ? v.b_ih : v.b_hh, *side = NULL;
    if (cell == WICK_CELL_GRU && v.b_hh) { /* of n, it is multiplied by r */
        side = wick_slice(v.b_hh, 1, 2 * units, 3 * units, 1);
        wick_tensor *rz = wick_slice(v.b_hh, 1, 0, 2 * units, 1);
        if (v.b_ih) rz = wick_add(wick_slice(v.b_ih, 1, 0, 2 * units, 1), rz);
        bias = wick_concat(2,
                           (wick_tensor *[]){rz, v.b_ih ? wick_slice(v.b_ih, 1, 2 * units, 3 * units, 1)
                                                        : wick_mul(side, wick_like(side, 0))},
                           1);
    } else if (v.b_ih && v.b_hh)
        bias = wick_add(v.b_ih, v.b_hh);
    wick_tensor *gate_x = wick_linear(x, wick_reshape(v.w_ih, 2, (const int64_t[]){directions * rows, features}),
                                      bias ? wick_reshape(bias, 1, (const int64_t[]){directions * rows}) : NULL);
    wick_tensor *slots[IN_COUNT] =
        {gate_x, v.w_hh, v.h0, v.c0, v.peephole, side, v.lengths ? wick_as(v.lengths, WICK_I64) : NULL},
                *in[IN_COUNT], *out[MOST_RESULTS];
    int n = 0;
    for (int s = 0; s < IN_COUNT; s++)
        if (slots[s]) in[n++] = slots[s], a.present |= BIT(s);
    wick_record_n(NULL, op, n, in, &a, sizeof a, op->n_out, out);
    if (h_n) *h_n = half ? wick_as(out[1], dtype) : out[1];
    if (c_n && cell == WICK_CELL_LSTM) *c_n = half ? wick_as(out[2], dtype) : out[2];
    return half ? wick_as(out[0], dtype) : out[0];
}

wick_tensor *wick_rnn(wick_tensor *x, const wick_rnn_inputs *inputs, const wick_rnn_options *options,
                      wick_tensor **h_n) {
    return layer(&wick_op_rnn, WICK_CELL_RNN, x, inputs, options, h_n, NULL);
}
wick_tensor *wick_lstm(wick_tensor *x, const wick_rnn_inputs *inputs, const wick_rnn_options *options,
                       wick_tensor **h_n, wick_tensor **c_n) {
    return layer(&wick_op_lstm, WICK_CELL_LSTM, x, inputs, options, h_n, c_n);
}
wick_tensor *wick_gru(wick_tensor *x, const wick_rnn_inputs *inputs, const wick_rnn_options *options,
                      wick_tensor **h_n) {
    return layer(&wick_op_gru, options && options->reset_first ? WICK_CELL_GRU_RESET_FIRST : WICK_CELL_GRU, x, inputs,
                 options, h_n, NULL);
}
