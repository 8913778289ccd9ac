/* ops_control.c: If, Loop, Scan and SequenceMap: bodies are run as often as they are asked for, recording each round.
 * Conditions that depend on inputs are evaluated; in compiled functions they become conditions of the plan, where both
 * branches, or all rounds, give the same shapes. */
#define WICK_NO_SITES
#include "io/onnx/onnx.h"
#include "wick/control.h"
#include "wick/ops.h"
#include "wick/shape.h"

static wick_status run_body(onnx_call *c, const onnx_block *body, int n_in, const onnx_value *in, onnx_value *out) {
    return wick_onnx_block(c->run, body, (onnx_frame *)(uintptr_t)c->frame, c->frame->function, n_in, in, out, c->msg);
}

/* A tensor of one element that is true or false. */
static bool truth(onnx_call *c, const onnx_value *v, bool *out) {
    onnx_host h;
    if (!v || v->v.kind != WICK_VALUE_TENSOR || wick_tensor_count(v->v.tensor) != 1)
        return wick_onnx_fail(c, WICK_ERR_SHAPE, "its condition is not one bool");
    if (!wick_onnx_host_of(c, v->v.tensor, v->dynamic, &h)) return false;
    *out = h.floats[0] != 0;
    return true;
}

/* ---- regions of a plan: what a condition that depends on inputs decides ------------------------------------------ */

static bool compiling(const onnx_call *c) { return c->run->mode != ONNX_RUN_LAZY; }

/* What a body makes of these inputs, as tensors: n of its outputs from `first`. */
static bool region_body(onnx_call *c, const onnx_block *body, int n_in, const onnx_value *in, int first, int n,
                        wick_tensor **out) {
    onnx_value *values = wick_onnx_alloc(c, (size_t)body->n_out + 1, sizeof *values);
    if (!values) return false;
    if (body->n_in != n_in || body->n_out < first + n)
        return wick_onnx_fail(c, WICK_ERR_FORMAT, "its body has %d inputs and %d outputs", body->n_in, body->n_out);
    const wick_status status = run_body(c, body, n_in, in, values);
    if (status != WICK_OK) { /* it may be a body that these shapes never take */
        c->status = status == WICK_ERR_NOMEM ? status : WICK_ERR_UNSUPPORTED;
        return false;
    }
    for (int i = 0; i < n; i++) {
        if (values[first + i].v.kind != WICK_VALUE_TENSOR)
            return wick_onnx_fail(c, WICK_ERR_UNSUPPORTED,
                                  "a condition that depends on inputs decides over output %d, which is no tensor of "
                                  "numbers: it can be run, but not compiled or exported",
                                  i);
        out[i] = values[first + i].v.tensor;
    }
    return true;
}

static bool same_types(onnx_call *c, int n, wick_tensor *const *a, wick_tensor *const *b) {
    for (int i = 0; i < n; i++)
        if (!a[i] || !b[i] || wick_tensor_dtype(a[i]) != wick_tensor_dtype(b[i]) ||
            wick_tensor_rank(a[i]) != wick_tensor_rank(b[i]) ||
            memcmp(wick_tensor_dims(a[i]), wick_tensor_dims(b[i]), (size_t)wick_tensor_rank(a[i]) * sizeof(int64_t)) !=
                0)
            return wick_onnx_fail(c, WICK_ERR_UNSUPPORTED,
                                  "a condition that depends on inputs decides over the shape of value %d: it can be "
                                  "run, but not compiled or exported",
                                  i);
    return true;
}

typedef struct region {
    onnx_call *c;
    const onnx_block *body[2];
    int n; /* branches: results. loops: states */
} region;

static wick_status then_side(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    const region *r = user;
    (void)ctx, (void)in;
    return region_body(r->c, r->body[0], 0, NULL, 0, r->n, out) ? WICK_OK : r->c->status;
}
static wick_status else_side(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    const region *r = user;
    (void)ctx, (void)in;
    return region_body(r->c, r->body[1], 0, NULL, 0, r->n, out) ? WICK_OK : r->c->status;
}

/* Both branches become regions, of which a run takes one. The probe records both, for what they ask. */
static void branch_of_plan(onnx_call *c) {
    region r = {c, {wick_onnx_body(c, "then_branch"), wick_onnx_body(c, "else_branch")}, c->n_out};
    wick_tensor *condition = wick_onnx_tensor(c, 0);
    if (!condition || !r.body[0] || !r.body[1]) return;
    if (wick_tensor_count(condition) != 1) {
        wick_onnx_fail(c, WICK_ERR_SHAPE, "its condition is not one bool");
        return;
    }
    wick_tensor **out = wick_onnx_alloc(c, (size_t)r.n + 1, sizeof(wick_tensor *)),
                **other = out ? wick_onnx_alloc(c, (size_t)r.n + 1, sizeof(wick_tensor *)) : NULL;
    if (!other) return;
    if (c->run->mode == ONNX_RUN_PROBE) {
        if (!region_body(c, r.body[0], 0, NULL, 0, r.n, out) || !region_body(c, r.body[1], 0, NULL, 0, r.n, other) ||
            !same_types(c, r.n, out, other))
            return;
    } else {
        wick_if(c->ctx, wick_reshape(wick_cast(condition, WICK_BOOL), WICK_SCALAR), then_side, else_side, &r, r.n, out);
    }
    for (int i = 0; i < r.n && c->status == WICK_OK; i++)
        wick_onnx_set_value(c, i, (wick_onnx_value){.kind = WICK_VALUE_TENSOR, .tensor = out[i]}, true);
}

/* in: rounds so far, states. out: is there another round, rounds, states. */
static wick_status round_of_plan(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    const region *r = user;
    onnx_call *c = r->c;
    onnx_value *values = wick_onnx_alloc(c, (size_t)r->n + 2, sizeof *values);
    if (!values) return c->status;
    values[0] = (onnx_value){{.kind = WICK_VALUE_TENSOR, .tensor = in[0]}, true};
    values[1] = (onnx_value){{.kind = WICK_VALUE_TENSOR, .tensor = wick_constant(ctx, WICK_BOOL, 1)}, true};
    for (int i = 0; i < r->n; i++) values[2 + i] = (onnx_value){{.kind = WICK_VALUE_TENSOR, .tensor = in[1 + i]}, true};
    wick_tensor **made = wick_onnx_alloc(c, (size_t)r->n + 1, sizeof(wick_tensor *));
    if (!made || !region_body(c, r->body[0], r->n + 2, values, 0, r->n + 1, made)) return c->status;
    out[0] = wick_reshape(wick_cast(made[0], WICK_BOOL), WICK_SCALAR);
    out[1] = wick_add(in[0], wick_constant(ctx, WICK_I64, 1));
    memcpy(out + 2, made + 1, (size_t)r->n * sizeof *out);
    return WICK_OK;
}

/* A loop whose condition depends on inputs, of at most so many rounds. Rows that it collects would be as many as
 * rounds: those are refused. */
static void loop_of_plan(onnx_call *c, const onnx_block *body, int states, int64_t most) {
    for (int i = states; i < c->n_out; i++)
        if (wick_onnx_wants(c, i)) {
            wick_onnx_fail(c, WICK_ERR_UNSUPPORTED,
                           "collects as many rows as a condition says that depends on inputs: it can be run, but not "
                           "compiled or exported");
            return;
        }
    region r = {c, {body, NULL}, states};
    wick_tensor **first = wick_onnx_alloc(c, (size_t)states + 1, sizeof(wick_tensor *)),
                **out = first ? wick_onnx_alloc(c, (size_t)states + 2, sizeof(wick_tensor *)) : NULL;
    if (!out) return;
    first[0] = wick_constant(c->ctx, WICK_I64, 0);
    for (int i = 0; i < states; i++)
        if (!(first[1 + i] = wick_onnx_tensor(c, 2 + i))) return;
    wick_tensor *go = wick_onnx_has(c, 1) ? wick_reshape(wick_cast(c->in[1]->v.tensor, WICK_BOOL), WICK_SCALAR) : NULL;
    if (c->run->mode == ONNX_RUN_PROBE) {
        if (round_of_plan(c->ctx, first, (wick_tensor **)wick_onnx_alloc(c, (size_t)states + 2, sizeof(wick_tensor *)),
                          &r) != WICK_OK)
            return;
        memcpy(out, first, ((size_t)states + 1) * sizeof *out);
    } else {
        wick_while_loop(c->ctx, go, round_of_plan, &r,
                        &(wick_scan_options){.n_state = states + 1, .state = first, .rounds = most}, out, NULL);
    }
    for (int i = 0; i < states && i < c->n_out && c->status == WICK_OK; i++)
        wick_onnx_set_value(c, i, (wick_onnx_value){.kind = WICK_VALUE_TENSOR, .tensor = out[1 + i]}, true);
}

/* ---- ---- */

static void branch(onnx_call *c) {
    bool taken = false;
    if (compiling(c) && wick_onnx_has(c, 0) && c->in[0]->dynamic) {
        branch_of_plan(c);
        return;
    }
    if (!truth(c, wick_onnx_in(c, 0), &taken)) return;
    const onnx_block *body = wick_onnx_body(c, taken ? "then_branch" : "else_branch");
    if (!body || !wick_onnx_body(c, taken ? "else_branch" : "then_branch"))
        return; /* a file needs both, whichever is taken */
    onnx_value *out = wick_onnx_alloc(c, (size_t)body->n_out + 1, sizeof *out);
    if (!out) return;
    if (body->n_out < c->n_out) {
        wick_onnx_fail(c, WICK_ERR_FORMAT, "its branch has %d outputs, not %d", body->n_out, c->n_out);
        return;
    }
    const wick_status status = run_body(c, body, 0, NULL, out);
    if (status != WICK_OK) {
        c->status = status;
        return;
    }
    for (int i = 0; i < c->n_out; i++) {
        out[i].dynamic |= c->in[0]->dynamic;
        c->out[i] = out[i];
    }
}

/* Rows collected over rounds. */
typedef struct rows {
    wick_onnx_value *at;
    size_t n, cap;
} rows;

static bool add_row(onnx_call *c, rows *r, const onnx_value *v) {
    if (!wick_grow(&c->ctx->alloc, (void **)&r->at, &r->cap, r->n + 1, sizeof *r->at))
        return wick_onnx_fail(c, WICK_ERR_NOMEM, "out of memory");
    r->at[r->n++] = v->v;
    return true;
}

static int rank_of(const wick_onnx_value *v) {
    return v->kind == WICK_VALUE_TENSOR ? wick_tensor_rank(v->tensor) : v->rank;
}
static const int64_t *dims_of(const wick_onnx_value *v) {
    return v->kind == WICK_VALUE_TENSOR ? wick_tensor_dims(v->tensor) : v->dims;
}

/* Rows become one value; of none, an empty one of the declared type. */
static wick_onnx_value stacked(onnx_call *c, const rows *r, const onnx_block *body, int output, int axis,
                               bool reversed) {
    wick_onnx_value y = {0};
    if (r->n) {
        for (size_t i = 0; i < r->n / 2 && reversed; i++) {
            const wick_onnx_value t = r->at[i];
            r->at[i] = r->at[r->n - 1 - i];
            r->at[r->n - 1 - i] = t;
        }
        wick_onnx_stack(c, r->n, r->at, axis < 0 ? axis + rank_of(&r->at[0]) + 1 : axis, &y);
        return y;
    }
    const onnx_value_info *info = &body->graph->out.at[output];
    const onnx_tensor_type *type = info->type ? info->type->tensor : NULL;
    wick_dtype dtype;
    int64_t dims[WICK_MAX_DIMS] = {0};
    const bool texts = type && type->elem == ONNX_STRING;
    if (!type || (!texts && !wick_onnx_dtype(type->elem, &dtype)) ||
        (type->shape && type->shape->dims.n >= WICK_MAX_DIMS))
        return wick_onnx_fail(c, WICK_ERR_UNSUPPORTED, "ran no round, and its body's output %d has no type", output), y;
    const int rank = type->shape ? (int)type->shape->dims.n : 0;
    for (int i = 0; i < rank; i++)
        dims[i + 1] = type->shape->dims.at[i].head.has & ONNX_DIM_HAS_VALUE ? type->shape->dims.at[i].value : 0;
    y = (wick_onnx_value){.kind = WICK_VALUE_STRINGS, .rank = rank + 1};
    memcpy(y.dims, dims, sizeof y.dims);
    return texts ? y
                 : (wick_onnx_value){.kind = WICK_VALUE_TENSOR, .tensor = wick_zeros(c->ctx, dtype, rank + 1, dims)};
}

/* in: round, condition, states; out: condition, states, rows. */
static void loop(onnx_call *c) {
    const onnx_block *body = wick_onnx_body(c, "body");
    if (!body) return;
    const int states = c->n_in > 2 ? c->n_in - 2 : 0, n_rows = body->n_out - 1 - states;
    bool go = true;
    int64_t most = INT64_MAX;
    if (body->n_in != states + 2 || n_rows < 0 || c->n_out > states + n_rows) {
        wick_onnx_fail(c, WICK_ERR_FORMAT, "its body has %d inputs and %d outputs, which do not fit %d states",
                       body->n_in, body->n_out, states);
        return;
    }
    if (wick_onnx_has(c, 0)) {
        onnx_host h;
        if (!wick_onnx_host(c, 0, &h)) return;
        most = h.n ? h.ints[0] : 0;
    }
    if (compiling(c) && most > 0 && wick_onnx_has(c, 1) && c->in[1]->dynamic) {
        loop_of_plan(c, body, states, most);
        return;
    }
    if (wick_onnx_has(c, 1) && !truth(c, c->in[1], &go)) return;
    onnx_value *in = wick_onnx_alloc(c, (size_t)states + 2, sizeof *in),
               *out = in ? wick_onnx_alloc(c, (size_t)body->n_out + 1, sizeof *out) : NULL;
    rows *collected = out ? wick_onnx_alloc(c, (size_t)n_rows + 1, sizeof *collected) : NULL;
    if (!collected) return;
    for (int i = 0; i < states; i++)
        if (c->in[2 + i]) in[2 + i] = *c->in[2 + i];
    for (int64_t round = 0; go && round < most && c->status == WICK_OK; round++) {
        in[0] = (onnx_value){{.kind = WICK_VALUE_TENSOR, .tensor = wick_from(c->ctx, WICK_I64, WICK_SCALAR, &round)},
                             false};
        in[1] =
            (onnx_value){{.kind = WICK_VALUE_TENSOR, .tensor = wick_from(c->ctx, WICK_BOOL, WICK_SCALAR, &go)}, false};
        const wick_status status = run_body(c, body, states + 2, in, out);
        if (status != WICK_OK) c->status = status;
        else if (compiling(c) && out[0].dynamic) { /* from the start again, as a loop of the plan */
            for (int i = 0; i < n_rows; i++)
                wick_release(&c->ctx->alloc, collected[i].at, collected[i].cap * sizeof *collected[i].at);
            loop_of_plan(c, body, states, most);
            return;
        } else if (out[0].v.kind != WICK_VALUE_NONE && !truth(c, &out[0], &go)) break;
        for (int i = 0; i < states && c->status == WICK_OK; i++) in[2 + i] = out[1 + i];
        for (int i = 0; i < n_rows && c->status == WICK_OK; i++) add_row(c, &collected[i], &out[1 + states + i]);
    }
    for (int i = 0; i < c->n_out && c->status == WICK_OK; i++) {
        if (i < states) c->out[i] = in[2 + i];
        else if (c->step->out[i] >= 0)
            wick_onnx_set_value(c, i, stacked(c, &collected[i - states], body, 1 + i, 0, false), true);
    }
    for (int i = 0; i < n_rows; i++)
        wick_release(&c->ctx->alloc, collected[i].at, collected[i].cap * sizeof *collected[i].at);
}

static int64_t nth(const int64_t *list, int n, int i) { return list && i < n ? list[i] : 0; }

/* in: states, rows of what is scanned; out: states, rows. Scan 8 has a batch in front of all, and an input of lengths.
 */
static void scan_rows(onnx_call *c, const onnx_block *body, int n_in, const onnx_value *args, onnx_value *results) {
    const int scanned = (int)WICK_MAX(0, WICK_MIN(wick_onnx_int(c, "num_scan_inputs", 0), 1000000)),
              states = n_in - scanned, n_rows = body->n_out - states;
    int n_in_axes, n_out_axes, n_in_dir, n_out_dir;
    const int64_t *in_axes = wick_onnx_ints(c, "scan_input_axes", &n_in_axes),
                  *out_axes = wick_onnx_ints(c, "scan_output_axes", &n_out_axes);
    const int64_t *in_dir = wick_onnx_ints(c, c->opset < 9 ? "directions" : "scan_input_directions", &n_in_dir),
                  *out_dir = wick_onnx_ints(c, "scan_output_directions", &n_out_dir);
    if (scanned < 1 || states < 0 || n_rows < 0 || body->n_in != n_in || c->n_out > states + n_rows) {
        wick_onnx_fail(c, WICK_ERR_FORMAT,
                       "its body has %d inputs and %d outputs, which do not fit %d states and %d scanned inputs",
                       body->n_in, body->n_out, states, scanned);
        return;
    }
    if ((in_axes && n_in_axes != scanned) || (in_dir && n_in_dir != scanned) || (out_axes && n_out_axes != n_rows) ||
        (out_dir && n_out_dir != n_rows)) {
        wick_onnx_fail(c, WICK_ERR_FORMAT, "its axes or directions are not of %d scanned inputs and %d scanned outputs",
                       scanned, n_rows);
        return;
    }
    onnx_value *in = wick_onnx_alloc(c, (size_t)n_in + 1, sizeof *in),
               *out = in ? wick_onnx_alloc(c, (size_t)body->n_out + 1, sizeof *out) : NULL;
    rows *collected = out ? wick_onnx_alloc(c, (size_t)n_rows + 1, sizeof *collected) : NULL;
    if (!collected) return;
    int64_t rounds = -1;
    for (int i = 0; i < n_in; i++) {
        in[i] = args[i];
        if (i < states) continue;
        const wick_onnx_value *x = &args[i].v;
        int axis;
        if ((x->kind != WICK_VALUE_TENSOR && x->kind != WICK_VALUE_STRINGS) ||
            !wick_onnx_axis(c, nth(in_axes, n_in_axes, i - states), rank_of(x), &axis)) {
            wick_onnx_fail(c, WICK_ERR_FORMAT, "a scanned input is no tensor");
            return;
        }
        if (rounds >= 0 && dims_of(x)[axis] != rounds) {
            wick_onnx_fail(c, WICK_ERR_SHAPE, "scanned inputs have %lld and %lld rows", (long long)rounds,
                           (long long)dims_of(x)[axis]);
            return;
        }
        rounds = dims_of(x)[axis];
    }
    for (int64_t round = 0; round < rounds && c->status == WICK_OK; round++) {
        for (int i = states; i < n_in && c->status == WICK_OK; i++) {
            int axis = 0;
            (void)wick_onnx_axis(c, nth(in_axes, n_in_axes, i - states), rank_of(&args[i].v), &axis);
            const int64_t at = nth(in_dir, n_in_dir, i - states) ? rounds - 1 - round : round;
            wick_onnx_take_row(c, &args[i].v, axis, at, &in[i].v);
        }
        if (c->status != WICK_OK) break;
        const wick_status status = run_body(c, body, n_in, in, out);
        if (status != WICK_OK) c->status = status;
        for (int i = 0; i < states && c->status == WICK_OK; i++) in[i] = out[i];
        for (int i = 0; i < n_rows && c->status == WICK_OK; i++) add_row(c, &collected[i], &out[states + i]);
    }
    for (int i = 0; i < states && c->status == WICK_OK; i++) results[i] = in[i];
    for (int i = 0; i < n_rows && c->status == WICK_OK; i++) {
        const int axis = (int)WICK_MAX(-100, WICK_MIN(nth(out_axes, n_out_axes, i), 100));
        results[states + i] =
            (onnx_value){stacked(c, &collected[i], body, states + i, axis, nth(out_dir, n_out_dir, i)), true};
    }
    for (int i = 0; i < n_rows; i++)
        wick_release(&c->ctx->alloc, collected[i].at, collected[i].cap * sizeof *collected[i].at);
}

static void scan(onnx_call *c) {
    const onnx_block *body = wick_onnx_body(c, "body");
    const bool batched = c->opset < 9;
    const int n_in = c->n_in - batched;
    onnx_value *args = body ? wick_onnx_alloc(c, (size_t)c->n_in + 1, sizeof *args) : NULL,
               *results = args ? wick_onnx_alloc(c, (size_t)body->n_out + 1, sizeof *results) : NULL;
    if (!results) return;
    if (batched && wick_onnx_has(c, 0)) {
        wick_onnx_fail(c, WICK_ERR_UNSUPPORTED, "lengths of sequences");
        return;
    }
    for (int i = 0; i < n_in; i++) {
        const onnx_value *v = wick_onnx_in(c, i + batched);
        if (!v) return;
        args[i] = *v;
    }
    if (!batched) {
        scan_rows(c, body, n_in, args, results);
        for (int i = 0; i < c->n_out && i < body->n_out; i++) c->out[i] = results[i];
        return;
    }
    const int64_t batch = args[0].v.kind == WICK_VALUE_TENSOR ? wick_tensor_dim(args[0].v.tensor, 0) : 0;
    rows *of = wick_onnx_alloc(c, (size_t)body->n_out + 1, sizeof *of);
    for (int64_t b = 0; b < batch && of && c->status == WICK_OK; b++) {
        onnx_value *one = wick_onnx_alloc(c, (size_t)n_in + 1, sizeof *one);
        for (int i = 0; i < n_in && one; i++) {
            one[i] = args[i];
            if (one[i].v.kind == WICK_VALUE_TENSOR)
                one[i].v.tensor = wick_squeeze(wick_slice(args[i].v.tensor, 0, b, b + 1, 1), 0);
        }
        if (one) scan_rows(c, body, n_in, one, results);
        for (int i = 0; i < body->n_out && c->status == WICK_OK; i++) add_row(c, &of[i], &results[i]);
    }
    for (int i = 0; i < body->n_out && of; i++) {
        if (i < c->n_out && c->status == WICK_OK)
            wick_onnx_set_value(c, i, stacked(c, &of[i], body, i, 0, false), true);
        wick_release(&c->ctx->alloc, of[i].at, of[i].cap * sizeof *of[i].at);
    }
}

/* The body on every item of the sequence; further sequences go along, tensors are the same each time. */
static void sequence_map(onnx_call *c) {
    const onnx_block *body = wick_onnx_body(c, "body");
    const onnx_value *first = body ? wick_onnx_in(c, 0) : NULL;
    if (!first) return;
    if (first->v.kind != WICK_VALUE_SEQUENCE || body->n_in != c->n_in || body->n_out < c->n_out) {
        wick_onnx_fail(c, WICK_ERR_FORMAT,
                       "its first input is no sequence, or its body has other inputs and outputs than it");
        return;
    }
    const size_t n = first->v.n;
    onnx_value *in = wick_onnx_alloc(c, (size_t)c->n_in, sizeof *in),
               *out = in ? wick_onnx_alloc(c, (size_t)body->n_out + 1, sizeof *out) : NULL;
    wick_onnx_value *items = out ? wick_onnx_alloc(c, n * (size_t)c->n_out + 1, sizeof *items) : NULL;
    if (!items) return;
    bool *dynamic = wick_onnx_alloc(c, (size_t)c->n_out + 1, sizeof *dynamic); /* a body may use what is around it */
    for (size_t i = 0; i < n && dynamic; i++) {
        for (int k = 0; k < c->n_in; k++) {
            const onnx_value *v = wick_onnx_in(c, k);
            if (!v) return;
            in[k] = *v;
            if (v->v.kind != WICK_VALUE_SEQUENCE) continue;
            if (v->v.n != n) {
                wick_onnx_fail(c, WICK_ERR_SHAPE, "its sequences have %zu and %zu items", n, v->v.n);
                return;
            }
            in[k].v = v->v.items[i];
        }
        const wick_status status = run_body(c, body, c->n_in, in, out);
        if (status != WICK_OK) {
            c->status = status;
            return;
        }
        for (int k = 0; k < c->n_out; k++) items[(size_t)k * n + i] = out[k].v, dynamic[k] |= out[k].dynamic;
    }
    for (int k = 0; k < c->n_out && dynamic; k++)
        wick_onnx_set_value(c, k,
                            (wick_onnx_value){.kind = WICK_VALUE_SEQUENCE, .n = n, .items = items + (size_t)k * n},
                            c->dynamic || dynamic[k]);
}

static const onnx_op ops[] = {
    {"If", 1, 0, branch, {0}},
    {"Loop", 1, 0, loop, {0}},
    {"Scan", 8, 0, scan, {0}},
    {"SequenceMap", 17, 0, sequence_map, {0}},
};
const onnx_family wick_onnx_control = {"", ops, WICK_COUNTOF(ops)};
