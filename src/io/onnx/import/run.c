/* run.c: a block's steps in order, each recording Wick's ops, and what the rows of the op tables ask for. */
#define WICK_NO_SITES
#include "io/onnx/onnx.h"

#include <stdio.h>

/* ---- failing ----------------------------------------------------------------------------------------------------- */

bool wick_onnx_fail(onnx_call *c, wick_status status, const char *fmt, ...) {
    if (c->status != WICK_OK) return false;
    char text[WICK_MSG_MAX / 2];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    /* An op's own message ends with the place too. */
    const size_t n = strlen(text), length = strlen(c->step->place);
    if (n > length + 6 && text[n - 1] == ')' && memcmp(text + n - 1 - length, c->step->place, length) == 0 &&
        memcmp(text + n - 6 - length, " (at ", 5) == 0)
        text[n - 6 - length] = 0;
    c->status = wick_msg_set(c->msg, status, "%s: %s", c->step->place, text);
    return false;
}

bool wick_onnx_spend(onnx_call *c, size_t units) {
    if (c->status == WICK_OK) c->status = wick_onnx_late(c->run->onnx, units, c->step->place);
    return c->status == WICK_OK;
}

void *wick_onnx_alloc(onnx_call *c, size_t n, size_t size) {
    size_t bytes;
    void *at = NULL;
    if (!wick_onnx_spend(c, n)) return NULL; /* who takes room for so many goes through them */
    if (!wick_mul_overflows(n, size, &bytes) && c->run->arena.bytes <= c->run->onnx->limits.memory &&
        bytes <= c->run->onnx->limits.memory - c->run->arena.bytes)
        at = wick_arena_zalloc(&c->run->arena, bytes ? bytes : 1);
    if (!at)
        wick_onnx_fail(c, WICK_ERR_NOMEM,
                       "host values need more memory than there is, or than the limit of %zu bytes (--max-memory)",
                       c->run->onnx->limits.memory);
    return at;
}

void *wick_onnx_alloc2(onnx_call *c, int64_t rows, int64_t columns, size_t size) {
    int64_t n;
    const bool good = rows >= 0 && columns >= 0 && !wick_mul_overflows(rows, columns, &n);
    return wick_onnx_alloc(c, good ? (size_t)n : SIZE_MAX, size);
}

/* Runs of 1, 2, 4 ... that are in order are merged, to and fro. */
bool wick_onnx_sort(onnx_call *c, void *items, size_t n, size_t size,
                    int (*compare)(const void *, const void *, wick_watch *)) {
    wick_watch *watch = &c->ctx->watch;
    char *from = items, *to = n > 1 ? wick_onnx_alloc(c, n, size) : items;
    if (!to) return false;
    for (size_t run = 1; run < n; run *= 2) {
        for (size_t low = 0; low < n; low += 2 * run) {
            const size_t middle = WICK_MIN(low + run, n), high = WICK_MIN(low + 2 * run, n);
            for (size_t i = low, k = middle, at = low; at < high; at++) {
                if (!wick_onnx_spend(c, 4)) return false;
                const bool first = k == high || (i < middle && compare(from + i * size, from + k * size, watch) <= 0);
                memcpy(to + at * size, from + (first ? i++ : k++) * size, size);
            }
        }
        char *was = from;
        from = to, to = was;
    }
    if (n && from != (char *)items) memcpy(items, from, n * size);
    return wick_onnx_spend(c, 0);
}

/* ---- inputs ------------------------------------------------------------------------------------------------------ */

bool wick_onnx_has(const onnx_call *c, int i) { return i < c->n_in && c->in[i] && c->in[i]->v.kind != WICK_VALUE_NONE; }

const onnx_value *wick_onnx_in(onnx_call *c, int i) {
    if (i < c->n_in && c->in[i]) return c->in[i];
    wick_onnx_fail(c, WICK_ERR_FORMAT, "input %d is not there", i);
    return NULL;
}

wick_tensor *wick_onnx_tensor(onnx_call *c, int i) {
    const onnx_value *v = wick_onnx_in(c, i);
    if (v && v->v.kind == WICK_VALUE_TENSOR) return v->v.tensor;
    static const char *const kinds[] = {"an empty optional", "a tensor", "a tensor of strings", "a sequence", "a map"};
    if (v) wick_onnx_fail(c, WICK_ERR_FORMAT, "input %d is %s, not a tensor of numbers", i, kinds[v->v.kind]);
    return NULL;
}

wick_tensor *wick_onnx_optional(onnx_call *c, int i) { return wick_onnx_has(c, i) ? wick_onnx_tensor(c, i) : NULL; }

/* ---- contents on the host ---------------------------------------------------------------------------------------- */

static bool read_host(onnx_call *c, wick_tensor *t, onnx_host *h) {
    h->rank = wick_tensor_rank(t);
    h->n = wick_tensor_count(t);
    memcpy(h->dims, wick_tensor_dims(t), (size_t)h->rank * sizeof *h->dims);
    if (h->n > INT32_MAX)
        return wick_onnx_fail(c, WICK_ERR_UNSUPPORTED, "%lld numbers are too many to be asked for on the host",
                              (long long)h->n);
    h->ints = wick_onnx_alloc(c, (size_t)h->n, sizeof *h->ints);
    h->floats = h->ints ? wick_onnx_alloc(c, (size_t)h->n, sizeof *h->floats) : NULL;
    if (!h->floats) return false;
    if (wick_onnx_elements(t, WICK_F64, h->floats) != WICK_OK || wick_onnx_elements(t, WICK_I64, h->ints) != WICK_OK)
        return wick_onnx_fail(c, wick_context_status(c->ctx), "%s", wick_context_error(c->ctx));
    return true;
}

bool wick_onnx_host_of(onnx_call *c, wick_tensor *t, bool dynamic, onnx_host *out) {
    onnx_run *run = c->run;
    *out = (onnx_host){0};
    if (!t || c->status != WICK_OK) return false;
    if (run->mode == ONNX_RUN_REPLAY) {
        if (run->next_answer == run->n_answers)
            return wick_onnx_fail(c, WICK_ERR_INTERNAL, "asks for a value that was not asked for before");
        *out = run->answers[run->next_answer++];
        if (out->rank != wick_tensor_rank(t) ||
            memcmp(out->dims, wick_tensor_dims(t), (size_t)out->rank * sizeof *out->dims) != 0)
            return wick_onnx_fail(c, WICK_ERR_INTERNAL, "asks for a value of another shape than before");
        return true;
    }
    if (run->mode == ONNX_RUN_PROBE && dynamic)
        return wick_onnx_fail(c, WICK_ERR_UNSUPPORTED,
                              "needs a value that depends on the inputs while the graph is recorded: it can be run, "
                              "but not compiled or exported");
    if (!read_host(c, t, out)) return false;
    if (run->mode == ONNX_RUN_PROBE) {
        if (!wick_grow(&run->ctx->alloc, (void **)&run->answers, &run->cap_answers, run->n_answers + 1,
                       sizeof *run->answers))
            return wick_onnx_fail(c, WICK_ERR_NOMEM, "out of memory");
        run->answers[run->n_answers++] = *out;
    }
    return true;
}

bool wick_onnx_host(onnx_call *c, int i, onnx_host *out) {
    wick_tensor *t = wick_onnx_tensor(c, i);
    return t && wick_onnx_host_of(c, t, c->in[i]->dynamic, out);
}

wick_tensor *wick_onnx_number(onnx_call *c, int i) {
    wick_tensor *t = wick_onnx_tensor(c, i);
    onnx_host h;
    if (!t || c->in[i]->dynamic || wick_tensor_count(t) != 1 || wick_tensor_rank(t) > 1) return t;
    if (!wick_onnx_host_of(c, t, false, &h)) return NULL;
    const wick_dtype d = wick_tensor_dtype(t);
    if (d == WICK_I64 || d == WICK_U64) return t; /* not every one is an f64 */
    return wick_constant(c->ctx, d, h.floats[0]);
}

wick_tensor *wick_onnx_zero_point(onnx_call *c, int i) {
    wick_tensor *t = wick_onnx_optional(c, i);
    onnx_host h;
    if (!t || c->in[i]->dynamic) return t;
    if (!wick_onnx_host_of(c, t, false, &h)) return NULL;
    for (int64_t k = 0; k < h.n; k++)
        if (h.floats[k] != 0) return wick_onnx_number(c, i);
    return NULL;
}

/* ---- attributes -------------------------------------------------------------------------------------------------- */

static const onnx_attr *own_attr(wick_watch *watch, const onnx_node *node, const char *name, wick_bytes text,
                                 size_t *index) {
    for (size_t i = 0; i < node->attrs.n && wick_watch_spend(watch, 2); i++) { /* the next node says so */
        const onnx_attr *a = &node->attrs.at[i];
        if (name ? wick_bytes_are(a->name, name) : wick_bytes_equal(a->name, text)) return *index = i, a;
    }
    return NULL;
}

/* An attribute of the step; one that refers to the attribute of the function around it is looked up there, as far out
 * as it takes. index: among those of the node where it was found; SIZE_MAX: it is a function's default. */
static const onnx_attr *attr_at(const onnx_call *c, const char *name, const onnx_call **where, size_t *index) {
    const onnx_attr *a = own_attr(&c->ctx->watch, c->step->node, name, (wick_bytes){0}, index);
    *where = c;
    while (a && a->reference.size) {
        const wick_bytes reference = a->reference;
        const onnx_call *f = (*where)->frame->function;
        if (!f) return NULL;
        a = own_attr(&c->ctx->watch, f->step->node, NULL, reference, index);
        *where = f;
        for (size_t i = 0; !a && i < f->step->decl->defaults.n; i++)
            if (wick_bytes_equal(f->step->decl->defaults.at[i].name, reference))
                a = &f->step->decl->defaults.at[i], *index = SIZE_MAX;
    }
    return a;
}

const onnx_attr *wick_onnx_attr(const onnx_call *c, const char *name) {
    const onnx_call *where;
    size_t index;
    return attr_at(c, name, &where, &index);
}

/* The attribute, if it is of that type; type 0 (IR below 3) fits all. */
static const onnx_attr *typed(onnx_call *c, const char *name, int type, const char *what) {
    const onnx_attr *a = wick_onnx_attr(c, name);
    if (a && a->type && a->type != type)
        return wick_onnx_fail(c, WICK_ERR_FORMAT, "attribute \"%s\" is not %s", name, what), NULL;
    return a;
}

int64_t wick_onnx_int(onnx_call *c, const char *name, int64_t otherwise) {
    const onnx_attr *a = typed(c, name, ONNX_ATTR_INT, "an integer");
    return a ? a->i : otherwise;
}
double wick_onnx_float(onnx_call *c, const char *name, double otherwise) {
    const onnx_attr *a = typed(c, name, ONNX_ATTR_FLOAT, "a float");
    return a ? (double)a->f : otherwise;
}
wick_bytes wick_onnx_text(onnx_call *c, const char *name, const char *otherwise) {
    const onnx_attr *a = typed(c, name, ONNX_ATTR_STRING, "a string");
    return a ? a->s : (wick_bytes){otherwise, strlen(otherwise)};
}
bool wick_onnx_text_is(onnx_call *c, const char *name, const char *otherwise, const char *value) {
    return wick_bytes_are(wick_onnx_text(c, name, otherwise), value);
}
const int64_t *wick_onnx_ints(onnx_call *c, const char *name, int *n) {
    static const int64_t none = 0;
    const onnx_attr *a = typed(c, name, ONNX_ATTR_INTS, "a list of integers");
    *n = a ? (int)WICK_MIN(a->ints.n, (size_t)INT32_MAX) : 0;
    return a ? (a->ints.at ? a->ints.at : &none) : NULL;
}
const onnx_block *wick_onnx_body(onnx_call *c, const char *name) {
    const onnx_call *where;
    size_t index = 0;
    const onnx_attr *a = attr_at(c, name, &where, &index);
    const onnx_block *body = a && a->g && where->step->bodies && index != SIZE_MAX ? where->step->bodies[index] : NULL;
    if (!body) wick_onnx_fail(c, WICK_ERR_FORMAT, "attribute \"%s\" is not there, or no graph", name);
    return body;
}

bool wick_onnx_axis(onnx_call *c, int64_t axis, int rank, int *out) {
    if (axis < -rank || axis >= rank)
        return wick_onnx_fail(c, WICK_ERR_SHAPE, "axis %lld of a tensor with %d dims", (long long)axis, rank);
    *out = (int)(axis < 0 ? axis + rank : axis);
    return true;
}

bool wick_onnx_axes(onnx_call *c, int input, const char *attribute, int rank, int *n, int axes[WICK_MAX_DIMS]) {
    const int64_t *list;
    onnx_host h = {0};
    *n = -1;
    if (input >= 0 && wick_onnx_has(c, input)) {
        if (!wick_onnx_host(c, input, &h)) return false;
        list = h.ints;
        *n = (int)h.n;
    } else {
        int count;
        list = attribute ? wick_onnx_ints(c, attribute, &count) : NULL;
        if (!list) return c->status == WICK_OK;
        *n = count;
    }
    if (*n > WICK_MAX_DIMS) return wick_onnx_fail(c, WICK_ERR_SHAPE, "%d axes", *n);
    for (int i = 0; i < *n; i++) {
        if (!wick_onnx_axis(c, list[i], rank, &axes[i])) return false;
        for (int k = 0; k < i; k++)
            if (axes[k] == axes[i])
                return wick_onnx_fail(c, WICK_ERR_SHAPE, "axis %lld is named twice", (long long)list[i]);
    }
    return true;
}

/* ---- results ----------------------------------------------------------------------------------------------------- */

bool wick_onnx_wants(const onnx_call *c, int i) { return i < c->n_out && c->step->out[i] >= 0; }

void wick_onnx_set_value(onnx_call *c, int i, wick_onnx_value v, bool dynamic) {
    if (i >= c->n_out) return;
    int64_t n = 1;
    bool good = true;
    for (int d = 0; v.kind == WICK_VALUE_STRINGS && d < v.rank && good; d++)
        good = !wick_mul_overflows(n, v.dims[d], &n);
    if (v.kind == WICK_VALUE_STRINGS && (!good || n < 0 || (size_t)n != v.n)) {
        /* whoever reads them trusts the dims */
        wick_onnx_fail(c, WICK_ERR_SHAPE, "%zu texts that do not fill their dims", v.n);
        return;
    }
    c->out[i] = (onnx_value){v, dynamic};
}
void wick_onnx_set(onnx_call *c, int i, wick_tensor *t) {
    if (t) wick_onnx_set_value(c, i, (wick_onnx_value){.kind = WICK_VALUE_TENSOR, .tensor = t}, c->dynamic);
}
void wick_onnx_set_static(onnx_call *c, int i, wick_tensor *t) {
    if (t) wick_onnx_set_value(c, i, (wick_onnx_value){.kind = WICK_VALUE_TENSOR, .tensor = t}, false);
}

bool wick_onnx_kept(const onnx_call *c, int n, wick_tensor **tensors) {
    for (int i = 0; i < n; i++) tensors[i] = c->step->kept[i];
    return tensors[0] != NULL;
}
bool wick_onnx_keep(onnx_call *c, int n, wick_tensor **tensors) {
    onnx_step *step = (onnx_step *)(uintptr_t)c->step;
    for (size_t i = 0; i < step->node->attrs.n; i++)
        if (step->node->attrs.at[i].reference.size) return true;
    if (c->run->mode == ONNX_RUN_REPLAY) return true;
    if (wick_eval(c->ctx, n, tensors, NULL) != WICK_OK)
        return wick_onnx_fail(c, wick_context_status(c->ctx), "%s", wick_context_error(c->ctx));
    for (int i = 0; i < n; i++) {
        wick_tensor_free(&step->kept[i]);
        step->kept[i] = wick_retain(tensors[i]);
    }
    return true;
}

/* ---- steps ------------------------------------------------------------------------------------------------------- */

static const onnx_value *value_of(const onnx_frame *f, onnx_ref r) {
    if (r.slot < 0) return NULL;
    while (r.up--) f = f->parent;
    return &f->slots[r.slot];
}

static bool check_result(onnx_call *c, int i) {
    const onnx_value *v = &c->out[i];
    if (v->v.kind != WICK_VALUE_TENSOR) return true;
    const char *text;
    const wick_status status = wick_tensor_error(v->v.tensor, &text);
    if (status != WICK_OK) return wick_onnx_fail(c, status, "%s", text);
    size_t bytes;
    const size_t max = c->run->onnx->limits.tensor_bytes;
    if (wick_mul_overflows((size_t)wick_tensor_count(v->v.tensor),
                           WICK_MAX(wick_dtype_size(wick_tensor_dtype(v->v.tensor)), 1), &bytes) ||
        bytes > max)
        return wick_onnx_fail(c, WICK_ERR_UNSUPPORTED,
                              "output %d would have more bytes than the limit of %zu (--max-tensor)", i, max);
    return true;
}

static void call_function(onnx_call *c) {
    const onnx_block *b = c->step->function;
    onnx_value *in = wick_onnx_alloc(c, (size_t)b->n_in + 1, sizeof *in),
               *out = in ? wick_onnx_alloc(c, (size_t)b->n_out + 1, sizeof *out) : NULL;
    if (!out) return;
    for (int i = 0; i < b->n_in && i < c->n_in; i++)
        if (c->in[i]) in[i] = *c->in[i];
    const wick_status status = wick_onnx_block(c->run, b, NULL, c, b->n_in, in, out, c->msg);
    if (status != WICK_OK) {
        c->status = status; /* the text names the place inside */
        return;
    }
    for (int i = 0; i < c->n_out && i < b->n_out; i++) c->out[i] = out[i];
}

/* A weight, or the mean of its values where the model is to be read so. */
static onnx_value weight_value(const onnx_run *run, const onnx_value *weight, const char *state) {
    onnx_value v = *weight;
    char name[320];
    if (!state || !wick_model_averaged(run->onnx->model)) return v;
    snprintf(name, sizeof name, WICK_AVERAGE_OF "%s", state);
    wick_tensor *mean = wick_model_find(run->onnx->model, name);
    if (mean) v.v.tensor = wick_cast(mean, wick_tensor_dtype(v.v.tensor));
    return v;
}

enum { NODE_WORK = 1 << 11 }; /* of a node, as a watch counts, besides what its row does */

/* One node more, or one run of a block: a body may have no nodes. */
static wick_status charge(onnx_run *run, size_t units, const char *place, wick_msg *msg) {
    const wick_onnx_limits *limits = &run->onnx->limits;
    const size_t held = run->ctx->slab.bytes > run->recorded ? run->ctx->slab.bytes - run->recorded : 0;
    if (run->steps_left-- <= 0)
        return wick_msg_set(msg, WICK_ERR_UNSUPPORTED, "%s: runs more nodes than the limit of %lld", place,
                            (long long)limits->nodes);
    if (held > limits->memory || run->arena.bytes > limits->memory - held)
        return wick_msg_set(msg, WICK_ERR_NOMEM,
                            "%s: what is recorded takes more memory than the limit of %zu bytes (--max-memory)", place,
                            limits->memory);
    return wick_onnx_late(run->onnx, units, place);
}

static wick_status run_step(onnx_run *run, const onnx_frame *frame, const onnx_step *step, const onnx_value **in,
                            onnx_value *out, wick_msg *msg) {
    onnx_call c = {.run = run,
                   .frame = frame,
                   .step = step,
                   .ctx = run->ctx,
                   .opset = step->opset,
                   .n_in = step->n_in,
                   .n_out = step->n_out,
                   .in = in,
                   .out = out,
                   .msg = msg};
    c.status = charge(run, NODE_WORK, step->place, msg);
    for (int i = 0; i < c.n_in; i++) {
        in[i] = value_of(frame, step->in[i]);
        c.dynamic |= in[i] && in[i]->dynamic;
    }
    for (int i = 0; i < c.n_out; i++) out[i] = (onnx_value){0};
    if (c.status != WICK_OK) return c.status;
    if (step == run->watched)
        for (int i = 0; i < 2; i++) {
            wick_tensor *t = i < c.n_in && in[i] && in[i]->v.kind == WICK_VALUE_TENSOR ? in[i]->v.tensor : NULL;
            run->watched_rank[i] = t ? wick_tensor_rank(t) : -1;
            if (t) memcpy(run->watched_dims[i], wick_tensor_dims(t), (size_t)run->watched_rank[i] * sizeof(int64_t));
        }
    if (step->constant.v.kind != WICK_VALUE_NONE) {
        if (step->out[0] >= 0) frame->slots[step->out[0]] = weight_value(run, &step->constant, step->state);
        return WICK_OK;
    }
    wick_enter(step->place);
    if (step->function) call_function(&c);
    else if (step->op && (!wick_onnx_check_attributes(&c) || !wick_onnx_check_types(&c) || wick_onnx_move(&c))) {
    } else if (step->op) step->op->fn(&c);
    else wick_onnx_fail(&c, WICK_ERR_UNSUPPORTED, "Wick has no such op (opset %d)", step->opset);
    wick_leave();
    if (c.status == WICK_OK && wick_context_status(run->ctx) != WICK_OK) wick_context_clear_error(run->ctx);
    for (int i = 0; i < c.n_out && c.status == WICK_OK; i++) {
        if (step->out[i] < 0 || !check_result(&c, i)) continue;
        frame->slots[step->out[i]] = out[i];
    }
    return c.status;
}

wick_status wick_onnx_block(onnx_run *run, const onnx_block *b, onnx_frame *parent, const onnx_call *function, int n_in,
                            const onnx_value *in, onnx_value *out, wick_msg *msg) {
    if (run->depth >= run->onnx->limits.depth)
        return wick_msg_set(msg, WICK_ERR_UNSUPPORTED,
                            "%s: graphs and functions lie within each other deeper than the limit", run->onnx->path);
    if (run->depth) WICK_TRY(charge(run, (size_t)b->n_slots, run->onnx->path, msg));
    const size_t n_slots = (size_t)b->n_slots + 1,
                 bytes = (n_slots + b->most_out) * sizeof(onnx_value) + b->most_in * sizeof(onnx_value *);
    onnx_value *slots = wick_calloc(&run->ctx->alloc, bytes);
    if (!slots) return wick_msg_set(msg, WICK_ERR_NOMEM, "%s: out of memory", run->onnx->path);
    onnx_value *results = slots + n_slots;
    const onnx_value **args = (const onnx_value **)(results + b->most_out);
    onnx_frame frame = {b, slots, parent, function};
    for (size_t i = 0; i < b->n_weights; i++)
        slots[b->weights[i].slot] = weight_value(run, &b->weights[i].value, b->weights[i].state);
    for (int i = 0; i < b->n_in && i < n_in; i++)
        if (in[i].v.kind != WICK_VALUE_NONE || slots[b->in[i]].v.kind == WICK_VALUE_NONE) slots[b->in[i]] = in[i];
    run->depth++;
    wick_status status = WICK_OK;
    for (size_t i = 0; i < b->n && status == WICK_OK; i++)
        status = run_step(run, &frame, &b->steps[i], args, results, msg);
    run->depth--;
    for (int32_t i = 0; i < b->n_slots && run->seen && b == run->onnx->main; i++) {
        if (slots[i].v.kind != WICK_VALUE_TENSOR) continue;
        wick_tensor *t = slots[i].v.tensor;
        run->seen[i].dtype = wick_tensor_dtype(t);
        run->seen[i].rank = wick_tensor_rank(t);
        memcpy(run->seen[i].dims, wick_tensor_dims(t), (size_t)run->seen[i].rank * sizeof *run->seen[i].dims);
    }
    for (int i = 0; i < b->n_out && status == WICK_OK; i++) {
        const onnx_value *v = value_of(&frame, b->out[i]);
        out[i] = v ? *v : (onnx_value){0};
    }
    wick_release(&run->ctx->alloc, slots, bytes);
    return status;
}
