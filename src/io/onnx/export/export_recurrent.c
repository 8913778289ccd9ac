/* export_recurrent.c: RNN, LSTM and GRU. Wick multiplies the inputs of all steps before the loop; where that product is
 * there to be seen, its weights and bias become W and B, else W is the identity. Gates stand in another order in ONNX.
 */
#define WICK_NO_SITES
#include "io/onnx/export/export.h"
#include "wick/sequence.h"

enum { IN_X, IN_W, IN_H0, IN_C0, IN_PEEPHOLE, IN_BIAS, IN_LENGTHS, IN_COUNT }; /* bits of recurrent_attr.present */

typedef struct cell {
    const wick_op *op;
    const char *name;
    int gates, acts;
    int64_t order[4]; /* gate k of ONNX is gate order[k] of Wick: i f g o is i o f c, r z n is z r h */
} cell;
static const cell cells[] = {
    {&wick_op_rnn, "RNN", 1, 1, {0}},
    {&wick_op_lstm, "LSTM", 4, 3, {0, 3, 1, 2}},
    {&wick_op_gru, "GRU", 3, 2, {1, 0, 2}},
};

/* [D, G H(, I)] with the gates in ONNX's order. */
static onnx_name *ordered(onnx_export *e, onnx_name *x, const cell *c, const int64_t *order, int gates,
                          int64_t directions, int64_t units, int64_t cols) {
    if (c->op == &wick_op_rnn) return x;
    const int64_t apart[4] = {directions, gates, units, cols}, joined[3] = {directions, gates * units, cols};
    onnx_name *split = ONNX(e, "Reshape", x, wick_export_list(e, cols ? 4 : 3, apart));
    wick_export_int(e, "axis", 1);
    return ONNX(e, "Reshape", ONNX(e, "Gather", split, wick_export_list(e, gates, order)),
                wick_export_list(e, cols ? 3 : 2, joined));
}

/* x times w transposed, plus bias, as wick_linear records it; x has features. False: nothing is set. */
static bool find_product(wick_value *v, wick_value **x, wick_value **w, wick_value **bias) {
    wick_value *added = NULL;
    if (v->node->op == &wick_ew_ops[WICK_EW_add] && v->node->in[1]->type.rank == 1) {
        added = v->node->in[1];
        v = v->node->in[0];
    }
    if (v->node->op != &wick_op_matmul || v->node->in[0]->type.rank != 3 || !v->node->in[0]->type.dims[2]) return false;
    const wick_value *right = v->node->in[1];
    if (right->node->op != &wick_op_permute || right->type.rank != 2 ||
        ((const permute_attr *)right->node->attr)->axes[0] != 1)
        return false;
    *x = v->node->in[0];
    *w = right->node->in[0];
    *bias = added;
    return true;
}

/* What is exported: a node's inputs by their places, its sizes. */
typedef struct exported {
    onnx_export *e;
    const wick_node *node;
    const recurrent_attr *a;
    const cell *c;
    wick_value *slots[IN_COUNT];
    int64_t directions, units, rows;
    wick_dtype d;
    size_t elem;
} exported;

/* The weights of the input: those of a product in front, which *x and *bias are taken from, else an identity. */
static onnx_name *input_weights(const exported *o, wick_value **x, wick_value **bias) {
    onnx_export *e = o->e;
    const cell *c = o->c;
    const int64_t directions = o->directions, units = o->units, rows = o->rows;
    wick_value *w = NULL;
    if (find_product(o->slots[IN_X], x, &w, bias)) {
        const int64_t features = (*x)->type.dims[2], dims[3] = {directions, rows, features};
        onnx_name *joined = ONNX(e, "Reshape", wick_export_value(e, w), wick_export_list(e, 3, dims));
        return ordered(e, joined, c, c->order, c->gates, directions, units, features);
    } else {
        const int64_t features = directions * rows, dims[3] = {directions, rows, features};
        char *one = wick_export_alloc(e, (size_t)(features * features) + 1, o->elem);
        const uint64_t bits = wick_number_bits(o->d, 1);
        for (int64_t i = 0; i < features && one; i++)
            memcpy(one + (size_t)(i * features + i) * o->elem, &bits, o->elem);
        *x = o->slots[IN_X];
        if (!one) return NULL;
        return ordered(e, wick_export_array(e, o->d, 3, dims, one), c, c->order, c->gates, directions, units, features);
    }
}

/* Biases of the input and of the state, beside each other. */
static onnx_name *biases(const exported *o, wick_value *bias) {
    onnx_export *e = o->e;
    const cell *c = o->c;
    const int64_t directions = o->directions, units = o->units, rows = o->rows;
    const int64_t dims[2] = {directions, rows}, few[2] = {directions, 2 * units};
    void *zeros = wick_export_alloc(e, (size_t)(directions * rows) + 1, o->elem);
    if (!zeros) return NULL;
    onnx_name *parts[2] = {bias ? ONNX(e, "Reshape", wick_export_value(e, bias), wick_export_list(e, 2, dims))
                                : wick_export_array(e, o->d, 2, dims, zeros),
                           NULL};
    parts[0] = ordered(e, parts[0], c, c->order, c->gates, directions, units, 0);
    parts[1] = wick_export_array(e, o->d, 2, o->slots[IN_BIAS] ? few : dims, zeros);
    if (o->slots[IN_BIAS]) { /* GRU: of n alone, which is last in both orders */
        wick_export_int(e, "axis", 1);
        parts[1] = ONNX(e, "Concat", parts[1], wick_export_value(e, o->slots[IN_BIAS]));
    }
    wick_export_int(e, "axis", 1);
    return wick_export_node(e, "Concat", 2, parts);
}

static void set_results(const exported *o, int results, onnx_name **out) {
    onnx_export *e = o->e;
    const wick_node *node = o->node;
    onnx_name *y = out[0]; /* [T, D, B, H] */
    if (o->directions == 1) {
        y = wick_export_squeeze(e, y, 1, &(int64_t){1});
        if (o->a->batch_first) y = wick_export_transpose(e, y, 3, (const int64_t[]){1, 0, 2});
    } else {
        y = wick_export_transpose(e, y, 4,
                                  o->a->batch_first ? (const int64_t[]){2, 0, 1, 3} : (const int64_t[]){0, 2, 1, 3});
        y = wick_export_reshape(e, node, y, &node->out[0]);
    }
    wick_export_set(e, node, 0, y);
    for (int k = 1; k < results; k++) {
        wick_value *first = o->slots[k == 1 ? IN_H0 : IN_C0];
        if (o->slots[IN_LENGTHS] && first) { /* no steps leave the first state, which run-times forget */
            onnx_name *none = wick_export_unsqueeze(
                e, ONNX(e, "Equal", wick_export_value(e, o->slots[IN_LENGTHS]), wick_export_scalar(e, WICK_I64, 0)), 2,
                (const int64_t[]){0, 2});
            out[k] = ONNX(e, "Where", none, wick_export_value(e, first), out[k]);
        }
        wick_export_set(e, node, k, out[k]);
    }
}

static void recurrent(onnx_export *e, const wick_node *node) {
    static const char *const acts[] = {"Sigmoid", "Tanh", "Relu", "HardSigmoid", "Softsign", "Affine"};
    const recurrent_attr *a = node->attr;
    const cell *c = cells;
    while (c->op != node->op) c++;
    wick_value *x, *bias = NULL;
    exported o = {.e = e, .node = node, .a = a, .c = c};
    wick_value **slots = o.slots;
    for (int s = 0, k = 0; s < IN_COUNT; s++)
        if (a->present >> s & 1) slots[s] = node->in[k++];
    const wick_type *w_hh = &slots[IN_W]->type;
    const int64_t directions = w_hh->dims[0], units = w_hh->dims[2];
    o.directions = directions, o.units = units, o.rows = c->gates * units;
    o.d = (wick_dtype)w_hh->dtype;
    o.elem = wick_dtype_size(o.d);
    const char *names[6];
    float alpha[6], beta[6]; /* of those that have them */
    int n_alpha = 0;
    for (int k = 0; k < directions * c->acts; k++) {
        names[k] = acts[a->act[k / c->acts][k % c->acts]];
        const bool hard = strcmp(names[k], "HardSigmoid") == 0, affine = strcmp(names[k], "Affine") == 0;
        if (hard || affine) alpha[n_alpha] = hard ? 0.2f : 1, beta[n_alpha++] = hard ? 0.5f : 0;
    }
    for (int k = 0; k < directions; k++)
        if (a->reverse[k] != (directions == 2 ? k : a->reverse[0])) {
            wick_export_unsupported(e, node, "with such directions");
            return;
        }

    onnx_name *in[8];
    for (int k = 0; k < 8; k++) in[k] = &wick_export_absent;
    in[1] = input_weights(&o, &x, &bias);
    if (!in[1]) return;
    in[0] = wick_export_value(e, x);
    if (a->batch_first) in[0] = wick_export_transpose(e, in[0], 3, (const int64_t[]){1, 0, 2});
    in[2] = ordered(e, wick_export_value(e, slots[IN_W]), c, c->order, c->gates, directions, units, units);
    if (bias || slots[IN_BIAS]) {
        in[3] = biases(&o, bias);
        if (!in[3]) return;
    }
    if (slots[IN_LENGTHS]) in[4] = wick_export_cast(e, wick_export_value(e, slots[IN_LENGTHS]), WICK_I32);
    if (slots[IN_H0]) in[5] = wick_export_value(e, slots[IN_H0]);
    if (slots[IN_C0]) in[6] = wick_export_value(e, slots[IN_C0]);
    /* i f o becomes i o f */
    if (slots[IN_PEEPHOLE])
        in[7] = ordered(e, wick_export_value(e, slots[IN_PEEPHOLE]), c, (const int64_t[]){0, 2, 1}, 3, directions,
                        units, 0);

    wick_export_int(e, "hidden_size", units);
    wick_export_text(e, "direction", directions == 2 ? "bidirectional" : a->reverse[0] ? "reverse" : "forward");
    wick_export_texts(e, "activations", (int)directions * c->acts, names);
    if (n_alpha)
        wick_export_floats(e, "activation_alpha", n_alpha, alpha),
            wick_export_floats(e, "activation_beta", n_alpha, beta);
    if (a->clip > 0) wick_export_float(e, "clip", a->clip);
    if (a->coupled) wick_export_int(e, "input_forget", 1);
    if (a->cell == WICK_CELL_GRU) wick_export_int(e, "linear_before_reset", 1);
    onnx_name *out[3];
    const int results = node->op == &wick_op_lstm ? 3 : 2;
    wick_export_nodes(e, c->name, 8, in, results, out);
    set_results(&o, results, out);
    for (int k = results; k < node->n_out; k++) wick_export_set(e, node, k, &wick_export_absent); /* for the gradient */
}

static const onnx_export_row rows[] = {
    {&wick_op_rnn, recurrent, false}, {&wick_op_lstm, recurrent, false}, {&wick_op_gru, recurrent, false}};
const onnx_export_rows wick_export_recurrent_rows = {rows, WICK_COUNTOF(rows)};
