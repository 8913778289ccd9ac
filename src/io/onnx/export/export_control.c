/* export_control.c: loops and branches. A region becomes a graph that is an attribute: of Scan where there are rows and
 * no condition, else of Loop; of If. What a region captures it reads by its name outside. */
#define WICK_NO_SITES
#include "exec/control.h"
#include "io/onnx/export/export.h"

enum { GRAPH_IN = 11, GRAPH_OUT = 12, MOST_DEPTH = 32 };

/* What is set aside while a region is exported. */
typedef struct outside {
    onnx_made *first, *last;
    wick_graph **at;
    onnx_name **names;
    onnx_said *said; /* what was known of extents */
    int32_t n_extents, cap_said;
} outside;

/* Goes into region r of node: its nodes follow, those made outside are seen no more but by name. */
static bool enter(onnx_export *e, const wick_node *node, int r, outside *o) {
    if (e->depth >= MOST_DEPTH) return wick_export_unsupported(e, node, "so deep within each other"), false;
    *o = (outside){.first = e->first,
                   .last = e->last,
                   .at = e->at,
                   .names = e->names,
                   .said = e->said,
                   .n_extents = e->extents.n,
                   .cap_said = e->cap_said};
    wick_graph **at = wick_export_alloc(e, ONNX_MOST_RECORDINGS, sizeof *at);
    onnx_said *said = wick_export_alloc(e, (size_t)e->cap_said + 1, sizeof *said);
    if (e->nomem) return false;
    e->at = at, e->said = said;
    if (e->cap_said) memcpy(said, o->said, (size_t)e->cap_said * sizeof *said);
    for (int k = 0; k < e->n_recordings; k++) {
        e->at[k] = o->at[k]->nodes[node->position]->regions[r];
        wick_graph_number(e->at[k]);
    }
    e->names = wick_export_alloc(e, wick_graph_number(e->at[0]) + 1, sizeof *e->names);
    e->first = e->last = NULL;
    e->depth++;
    if (e->names) return true;
    e->at = o->at, e->names = o->names, e->said = o->said;
    return false;
}
static void leave(onnx_export *e, const outside *o, onnx_body *body) {
    void *ports = wick_export_alloc(e, body->ports.n, 1);
    if (ports && body->ports.n) memcpy(ports, body->ports.at, body->ports.n);
    e->nomem |= body->ports.nomem || !ports;
    const size_t n = ports ? body->ports.n : 0;
    wick_proto_drop(&body->ports);
    body->ports = (wick_proto_out){.at = ports, .n = n};
    body->first = e->first, body->last = e->last;
    e->first = o->first, e->last = o->last;
    e->at = o->at, e->names = o->names;
    e->said = o->said, e->cap_said = o->cap_said;
    wick_extents_cut(&e->extents, o->n_extents);
    e->depth--;
}

/* Names for the region's inputs, by number. */
static void set_inputs(onnx_export *e, onnx_name *const *in) {
    for (size_t i = 0; i < e->at[0]->n; i++) {
        const wick_node *node = e->at[0]->nodes[i];
        if (node->op == &wick_op_input) wick_export_set(e, node, 0, in[((const wick_input_attr *)node->attr)->index]);
    }
}
/* ValueInfoProto; extents only where none is a symbol. */
static void put_port(const onnx_export *e, onnx_body *body, uint32_t field, const char *name, const wick_type *t) {
    wick_proto_out dim = {0}, shape = {0}, tensor = {0}, type = {0}, info = {0};
    for (int d = 0; d < t->rank; d++) {
        if (!e->n_symbols) wick_proto_put_int(&dim, 1, t->dims[d]);
        wick_proto_put_message(&shape, 1, &dim);
    }
    wick_proto_put_int(&tensor, 1, wick_onnx_type((wick_dtype)t->dtype));
    wick_proto_put_message(&tensor, 2, &shape);
    wick_proto_put_message(&type, 1, &tensor);
    wick_proto_put_text(&info, 1, name);
    wick_proto_put_message(&info, 2, &type);
    wick_proto_put_message(&body->ports, field, &info);
    wick_proto_drop(&dim), wick_proto_drop(&shape), wick_proto_drop(&tensor), wick_proto_drop(&type),
        wick_proto_drop(&info);
}
static void add_input(const onnx_export *e, onnx_body *body, onnx_name *name, const wick_type *type) {
    name->given = true;
    put_port(e, body, GRAPH_IN, name->text, type);
}
static bool is_made_here(const onnx_export *e, const onnx_name *name) {
    for (const onnx_made *m = e->first; m; m = m->next)
        for (int k = 0; k < m->n_out; k++)
            if (m->out[k] == name) return true;
    return false;
}
/* An output has a name of its own, made in the body. */
static void add_output(onnx_export *e, onnx_body *body, onnx_name *name, const wick_type *type) {
    bool own = is_made_here(e, name);
    for (int k = 0; k < body->n_out; k++) own &= body->out[k] != name;
    if (!own) name = ONNX(e, "Identity", name);
    body->out[body->n_out++] = name;
    put_port(e, body, GRAPH_OUT, name->text, type);
}
static onnx_body *new_body(onnx_export *e, const char *attribute, int n_out) {
    onnx_body *b = wick_export_alloc(e, 1, sizeof *b);
    b->attribute = attribute;
    b->out = wick_export_alloc(e, (size_t)n_out + 4, sizeof *b->out);
    return b;
}

static void branch(onnx_export *e, const wick_node *node) {
    onnx_body *bodies[2];
    onnx_name **captured = wick_export_alloc(e, (size_t)node->n_in, sizeof *captured),
              **out = wick_export_alloc(e, node->n_out, sizeof *out);
    if (!captured || !out) return;
    for (int k = 1; k < node->n_in; k++) captured[k - 1] = wick_export_in(e, node, k);
    onnx_name *condition = wick_export_in(e, node, 0);
    for (int r = 0; r < 2; r++) {
        outside o;
        bodies[r] = new_body(e, r ? "else_branch" : "then_branch", node->n_out);
        if (!bodies[r]->out || !enter(e, node, r, &o)) return;
        set_inputs(e, captured);
        wick_export_graph(e);
        for (int k = 0; k < e->at[0]->n_outputs && !e->n_unsupported; k++)
            add_output(e, bodies[r], wick_export_value(e, e->at[0]->outputs[k]), &e->at[0]->outputs[k]->type);
        leave(e, &o, bodies[r]);
    }
    wick_export_nodes(e, "If", 1, &condition, node->n_out, out);
    if (e->last) e->last->bodies[0] = bodies[0], e->last->bodies[1] = bodies[1];
    for (int k = 0; k < node->n_out; k++) wick_export_set(e, node, k, out[k]);
}

/* Rows of y after the last round are 0: [count, ...] as [rounds, ...]. */
static onnx_name *padded_rows(onnx_export *e, onnx_name *y, onnx_name *count, const wick_type *type) {
    const int64_t zero = 0;
    onnx_name *missing =
        ONNX(e, "Sub", wick_export_list(e, 1, &type->dims[0]), wick_export_unsqueeze(e, count, 1, &zero));
    int64_t rest[WICK_MAX_DIMS];
    for (int d = 1; d < type->rank; d++) rest[d - 1] = type->dims[d];
    if (type->rank > 1) {
        wick_export_int(e, "axis", 0);
        missing = ONNX(e, "Concat", missing, wick_export_list(e, type->rank - 1, rest));
    }
    onnx_name *zeros = ONNX(e, "Expand", wick_export_scalar(e, (wick_dtype)type->dtype, 0), missing);
    wick_export_int(e, "axis", 0);
    return ONNX(e, "Concat", y, zeros);
}

static void loop(onnx_export *e, const wick_node *node) {
    const control_attr *a = node->attr;
    const int lead = wick_control_lead(a), n_params = a->n_state + a->n_x + a->n_captured;
    const bool scan = !lead && a->n_x > 0;
    const wick_type number = {.dtype = WICK_I64}, flag = {.dtype = WICK_BOOL};
    onnx_name **params = wick_export_alloc(e, (size_t)n_params + 1, sizeof *params),
              **in = wick_export_alloc(e, (size_t)n_params + 4, sizeof *in),
              **out = wick_export_alloc(e, (size_t)(a->n_state + a->n_y) + 2, sizeof *out);
    if (!params || !in || !out) return;
    for (int k = 0; k < node->n_out && !scan; k++)
        if (!wick_export_is_fixed(e, &node->out[k])) {
            wick_export_unsupported(e, node, "with symbolic extents");
            return;
        }
    for (int k = 0; k < n_params; k++) params[k] = wick_export_in(e, node, lead + k);
    onnx_name *first = lead ? wick_export_in(e, node, 0) : NULL,
              *rounds = wick_export_scalar(e, WICK_I64, (double)a->rounds), *zero = wick_export_scalar(e, WICK_I64, 0);
    if (a->counted) rounds = ONNX(e, "Min", first, rounds);
    int n_in = 0;
    if (!scan) {
        in[n_in++] = rounds;
        in[n_in++] = a->conditional ? first : wick_export_scalar(e, WICK_BOOL, 1);
        if (a->conditional) in[n_in++] = zero; /* how many rounds there were */
    }
    for (int k = 0; k < a->n_state + (scan ? a->n_x : 0); k++) in[n_in++] = params[k];

    outside o;
    onnx_body *body = new_body(e, "body", a->n_state + a->n_y);
    if (!body->out || !enter(e, node, 0, &o)) return;
    onnx_name *round = NULL;
    if (!scan) {
        round = wick_export_name(e, "round");
        add_input(e, body, round, &number);
        add_input(e, body, wick_export_name(e, "on"), &flag);
        if (a->conditional) add_input(e, body, wick_export_name(e, "rounds"), &number);
    }
    for (int k = 0; k < a->n_state; k++) add_input(e, body, params[k] = wick_export_name(e, "state"), &a->out[k]);
    onnx_name *last = a->reverse && !scan ? wick_export_scalar(e, WICK_I64, (double)(a->rounds - 1)) : NULL,
              *row = last ? ONNX(e, "Sub", last, round) : round;
    for (int k = 0; k < a->n_x; k++) {
        const wick_type *x = &node->in[lead + a->n_state + k]->type;
        onnx_name **at = &params[a->n_state + k];
        if (!scan) {
            wick_export_int(e, "axis", 0);
            *at = ONNX(e, "Gather", *at, row);
        } else {
            wick_type one = *x;
            one.rank--;
            memmove(one.dims, x->dims + 1, sizeof one.dims - sizeof *one.dims);
            add_input(e, body, *at = wick_export_name(e, "row"), &one);
        }
    }
    set_inputs(e, params);
    wick_export_graph(e);
    const wick_graph *region = e->at[0];
    if (!e->n_unsupported) {
        if (!scan)
            add_output(e, body,
                       a->conditional ? wick_export_value(e, region->outputs[0]) : wick_export_scalar(e, WICK_BOOL, 1),
                       &flag);
        if (a->conditional) add_output(e, body, ONNX(e, "Add", round, wick_export_scalar(e, WICK_I64, 1)), &number);
        for (int k = 0; k < a->n_state + a->n_y; k++) {
            wick_value *v = region->outputs[a->conditional + k];
            add_output(e, body, wick_export_value(e, v), &v->type);
        }
    }
    leave(e, &o, body);

    if (scan) wick_export_int(e, "num_scan_inputs", a->n_x);
    int64_t backwards[256];
    const int most = WICK_MAX(a->n_x, a->n_y);
    for (int k = 0; k < most && k < 256; k++) backwards[k] = 1;
    if (scan && a->reverse) {
        wick_export_ints(e, "scan_input_directions", WICK_MIN(a->n_x, 256), backwards);
        if (a->n_y) wick_export_ints(e, "scan_output_directions", WICK_MIN(a->n_y, 256), backwards);
    }
    wick_export_nodes(e, scan ? "Scan" : "Loop", n_in, in, a->conditional + a->n_state + a->n_y, out);
    if (e->last) e->last->bodies[0] = body;
    onnx_name *count = a->conditional ? out[0] : rounds;
    for (int k = 0; k < a->n_state; k++) wick_export_set(e, node, k, out[a->conditional + k]);
    for (int k = 0; k < a->n_y; k++) {
        onnx_name *y = out[a->conditional + a->n_state + k];
        if (lead) y = padded_rows(e, y, count, &a->out[a->n_state + k]);
        if (!scan && a->reverse) y = wick_export_slice(e, y, 0, INT64_MAX, INT64_MIN, -1);
        wick_export_set(e, node, a->n_state + k, y);
    }
    /* the history is for gradients */
    for (int k = 0; k < a->n_state; k++) wick_export_set(e, node, a->n_state + a->n_y + k, &wick_export_absent);
    if (a->conditional) wick_export_set(e, node, node->n_out - 1, count);
}

static const onnx_export_row rows[] = {{&wick_op_scan, loop, true}, {&wick_op_if, branch, true}};
const onnx_export_rows wick_export_control_rows = {rows, WICK_COUNTOF(rows)};
