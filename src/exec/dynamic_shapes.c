/* dynamic_shapes.c: the shapes of a function's graph as expressions of its dims. C code works with numbers, so no rule
 * of an op ever sees a symbol: the function is recorded for some lists of extents, and what their shapes have in common
 * is found, op by op, from the extents that each op reads. */
#include "exec/dynamic.h"

enum { RANDOM = 10, HELD_OUT = 8, MOST_POINTS = 160, ROUNDS = 24, EACH_ROUND = 8, TRIALS = 4096 };

typedef struct value {
    const wick_op *op;
    const char *place;
    wick_dtype dtype;
    int32_t extents[WICK_MAX_DIMS]; /* expressions; -1: none was found */
    char *text;
    int8_t rank;
    uint8_t result;
    bool shown; /* it has a row */
    const uint32_t *in; /* values that its op reads */
    uint16_t n_in;
} value;

struct wick_shapes {
    wick_dynamic *d;
    wick_arena arena, trial; /* what stays; the expressions */
    value *values;
    uint32_t n_values;
    int32_t *outputs; /* rows */
    uint32_t *rows;   /* values */
    int n_rows;
    wick_extents expressions;
    int64_t *points; /* [n_points][n_dims] */
    int64_t *seen;   /* by point, value and axis */
    int n_points, exceptions, recordings;
    char exception[512];
};

/* ---- recording --------------------------------------------------------------------------------------------------- */

static uint32_t count_values(const wick_graph *g) {
    uint32_t n = 0;
    for (size_t i = 0; i < g->n; i++) n += g->nodes[i]->n_out;
    return n;
}

static const char *place_of(const char *site) { return site ? site : "?"; }

/* Is it the graph that was recorded first, but for extents? */
static bool is_same(wick_shapes *s, const wick_graph *g, const int64_t *extents) {
    uint32_t v = 0;
    const value *was = NULL;
    const wick_node *node = NULL;
    for (size_t i = 0; i < g->n; i++) {
        node = g->nodes[i];
        for (int k = 0; k < node->n_out; k++, v++) {
            was = v < s->n_values ? &s->values[v] : NULL;
            bool same = was && was->op == node->op && was->result == k &&
                        was->dtype == (wick_dtype)node->out[k].type.dtype && was->rank == node->out[k].type.rank &&
                        was->n_in == node->n_in;
            for (int l = 0; same && l < node->n_in; l++) same = was->in[l] == node->in[l]->id;
            if (!same) goto other;
        }
    }
    if (v == s->n_values) return true;
    node = NULL, was = &s->values[v];
other:
    if (s->exceptions++) return false;
    wick_str t = wick_str_on(s->exception, sizeof s->exception);
    wick_dynamic_say(&t, s->d, extents);
    wick_str_add(&t, ": %s at %s, elsewhere %s at %s", node ? node->op->name : "nothing more",
                 node ? place_of(node->site) : "the end", was ? was->op->name : "nothing more",
                 was ? place_of(was->place) : "the end");
    return false;
}

static wick_status keep_first(wick_shapes *s, const wick_graph *g) {
    wick_dynamic *d = s->d;
    s->n_values = count_values(g);
    s->values = wick_arena_zalloc(&s->arena, (s->n_values + 1) * sizeof *s->values);
    s->rows = wick_arena_zalloc(&s->arena, (s->n_values + 1) * sizeof *s->rows);
    s->outputs = wick_arena_zalloc(&s->arena, ((size_t)d->n_out + 1) * sizeof *s->outputs);
    s->seen = wick_alloc(&d->ctx->alloc, (size_t)MOST_POINTS * s->n_values * WICK_MAX_DIMS * sizeof *s->seen + 1);
    if (!s->values || !s->rows || !s->outputs || !s->seen)
        return wick_msg_set(&d->ctx->msg, WICK_ERR_NOMEM, "out of memory");
    uint32_t v = 0;
    for (size_t i = 0; i < g->n; i++) {
        const wick_node *node = g->nodes[i];
        uint32_t *in = wick_arena_alloc(&s->arena, ((size_t)node->n_in + 1) * sizeof *in);
        const char *place = node->site ? wick_arena_strdup(&s->arena, node->site) : NULL;
        if (!in || (node->site && !place)) return wick_msg_set(&d->ctx->msg, WICK_ERR_NOMEM, "out of memory");
        for (int k = 0; k < node->n_in; k++) in[k] = node->in[k]->id;
        for (int k = 0; k < node->n_out; k++, v++)
            s->values[v] = (value){.op = node->op,
                                   .place = place,
                                   .dtype = (wick_dtype)node->out[k].type.dtype,
                                   .rank = (int8_t)node->out[k].type.rank,
                                   .result = (uint8_t)k,
                                   .shown = node->op != &wick_op_data && node->op != &wick_op_slot &&
                                            node->op != &wick_op_constant,
                                   .in = in,
                                   .n_in = node->n_in};
    }
    for (int i = 0; i < d->n_out; i++) s->outputs[i] = (int32_t)g->outputs[i]->id;
    return WICK_OK;
}

/* Records at one more point, which counts if the graph is like the others. outside: of the range, only to tell dims
 * apart that have one value there; what fails is not told. */
static wick_status record_at(wick_shapes *s, const int64_t *extents, bool outside, bool *counts) {
    wick_dynamic *d = s->d;
    wick_msg *msg = &d->ctx->msg;
    *counts = false;
    if (s->n_points == MOST_POINTS) return WICK_OK;
    const size_t size = ((size_t)d->n_in + 1) * sizeof(wick_spec);
    wick_spec *specs = wick_calloc(&d->ctx->alloc, size);
    if (!specs) return wick_msg_set(msg, WICK_ERR_NOMEM, "out of memory");
    wick_arena arena;
    wick_recording r;
    wick_arena_init(&arena, &d->ctx->alloc, 16 * 1024);
    const int exceptions = s->exceptions;
    wick_status status = outside ? wick_dynamic_specs_at(d, extents, d->values, specs, msg)
                                 : wick_dynamic_specs(d, extents, d->values, specs, msg);
    if (status == WICK_OK) status = wick_dynamic_prepare(d, specs);
    const bool recorded = status == WICK_OK && (status = wick_recording_make(d->ctx, d->fn, d->user, d->n_in, specs,
                                                                             d->n_out, &arena, &r)) == WICK_OK;
    if (recorded) {
        wick_graph *g = r.graph;
        uint32_t id = 0;
        for (size_t i = 0; i < g->n; i++)
            for (int k = 0; k < g->nodes[i]->n_out; k++) g->nodes[i]->out[k].id = id++;
        s->recordings++;
        if (!s->n_points) status = keep_first(s, g);
        if (status == WICK_OK && is_same(s, g, extents)) {
            int64_t *seen = s->seen + (size_t)s->n_points * s->n_values * WICK_MAX_DIMS;
            for (size_t i = 0, v = 0; i < g->n; i++)
                for (int k = 0; k < g->nodes[i]->n_out; k++, v++)
                    memcpy(seen + v * WICK_MAX_DIMS, g->nodes[i]->out[k].type.dims, WICK_MAX_DIMS * sizeof *seen);
            memcpy(s->points + (size_t)s->n_points * (size_t)d->n_dims, extents, (size_t)d->n_dims * sizeof *extents);
            s->n_points++;
            *counts = true;
        }
        wick_recording_drop(&r);
    } else if (outside && status != WICK_ERR_NOMEM && status != WICK_ERR_CANCELLED && status != WICK_ERR_DEADLINE) {
        wick_context_clear_error(d->ctx);
        status = WICK_OK;
    } else if (status != WICK_OK) {
        char text[256];
        wick_str t = wick_str_on(text, sizeof text);
        wick_dynamic_say(&t, d, extents);
        if (msg->status) wick_msg_prefix(msg, "with %s: ", text);
        else wick_msg_set(msg, status, "with %s: %s", text, wick_status_name(status));
    }
    if (outside) s->exceptions = exceptions;
    wick_arena_free(&arena);
    wick_release(&d->ctx->alloc, specs, size);
    return status;
}
static wick_status record(wick_shapes *s, const int64_t *extents, bool *counts) {
    return record_at(s, extents, false, counts);
}

/* ---- expressions ------------------------------------------------------------------------------------------------- */

static int64_t seen_at(const wick_shapes *s, int point, uint32_t v, int axis) {
    return s->seen[((size_t)point * s->n_values + v) * WICK_MAX_DIMS + (size_t)axis];
}

/* What an op read, in its order; numbers among them are found without help. */
static int nearby(const wick_shapes *s, const value *v, int32_t *near, int room) {
    int n = 0;
    for (int k = 0; k < v->n_in; k++) {
        const value *in = &s->values[v->in[k]];
        for (int a = 0; a < in->rank && n < room; a++)
            if (in->extents[a] >= 0 && s->expressions.at[in->extents[a]].kind != WICK_EXTENT_NUMBER)
                near[n++] = in->extents[a];
    }
    return n;
}

/* Finds everything again, for the points that there are now. */
static wick_status find_all(wick_shapes *s) {
    enum { NEAR = 24 };
    wick_dynamic *d = s->d;
    wick_arena_free(&s->trial);
    wick_arena_init(&s->trial, &d->ctx->alloc, 64 * 1024);
    int64_t *wanted = wick_arena_alloc(&s->trial, (size_t)s->n_points * sizeof *wanted + 1);
    bool good = wanted && wick_extents_init(&s->expressions, &s->trial, d->n_dims, d->names, s->n_points, s->points);
    for (uint32_t v = 0; v < s->n_values && good; v++) {
        int32_t near[NEAR];
        const int n = nearby(s, &s->values[v], near, NEAR);
        for (int a = 0; a < s->values[v].rank; a++) {
            for (int p = 0; p < s->n_points; p++) wanted[p] = seen_at(s, p, v, a);
            s->values[v].extents[a] = wick_extents_find(&s->expressions, wanted, n, near);
        }
        good = !s->expressions.nomem;
    }
    return good ? WICK_OK : wick_msg_set(&d->ctx->msg, WICK_ERR_NOMEM, "out of memory");
}

/* A point of the range where the quotient is another by b = most than by b = least, or by the one chosen: recorded
 * there, one of them goes. */
static bool tell_apart(const wick_shapes *s, const wick_extent *q, uint64_t *state, int64_t *values, int64_t *extents) {
    const int64_t middle = q->least + (q->most - q->least) / 2, other = middle < 0              ? middle
                                                                        : middle + 1 <= q->most ? middle + 1
                                                                                                : q->most;
    const int64_t b = other ? other : q->least ? q->least : q->most;
    for (int i = 0; i < TRIALS; i++) {
        wick_dynamic_draw(s->d, state, extents);
        if (!wick_extents_eval(&s->expressions, extents, values)) continue;
        const int64_t w = values[q->a], by = q->number, here = w / by - (w % by < 0),
                      there = (w + b) / by - ((w + b) % by < 0);
        if (here != there) return true;
        int64_t x;
        if (!q->other.by || wick_mul_overflows(values[q->other.of], q->other.times, &x) ||
            wick_add_overflows(x, q->other.add, &x))
            continue;
        if (here != x / q->other.by - (x % q->other.by < 0)) return true;
    }
    return false;
}

static wick_status refine(wick_shapes *s, uint64_t *state) {
    wick_dynamic *d = s->d;
    for (int round = 0; round < ROUNDS; round++) {
        const size_t n = (size_t)s->expressions.n;
        int64_t *values = wick_arena_alloc(&s->trial, n * sizeof *values + 1);
        if (!values) return wick_msg_set(&d->ctx->msg, WICK_ERR_NOMEM, "out of memory");
        int more = 0;
        for (size_t i = 0; i < n && more < EACH_ROUND; i++) {
            const wick_extent q = s->expressions.at[i];
            int64_t extents[WICK_MAX_NAMED_DIMS];
            bool counts;
            if (q.kind != WICK_EXTENT_QUOTIENT || (!q.least && !q.most && !q.other.by) ||
                !tell_apart(s, &q, state, values, extents))
                continue;
            WICK_TRY(record(s, extents, &counts));
            more += counts;
        }
        if (!more) break;
        WICK_TRY(find_all(s));
    }
    return WICK_OK;
}

/* What does not hold at points that had no part in finding it is not known. */
static wick_status check(wick_shapes *s, uint64_t *state) {
    const int known = s->n_points;
    int64_t *values = wick_arena_alloc(&s->trial, (size_t)s->expressions.n * sizeof *values + 1);
    if (!values) return wick_msg_set(&s->d->ctx->msg, WICK_ERR_NOMEM, "out of memory");
    for (int i = 0; i < HELD_OUT; i++) {
        int64_t extents[WICK_MAX_NAMED_DIMS];
        bool counts;
        wick_dynamic_draw(s->d, state, extents);
        WICK_TRY(record(s, extents, &counts));
        if (!counts) continue;
        const bool whole = wick_extents_eval(&s->expressions, extents, values);
        for (uint32_t v = 0; v < s->n_values; v++)
            for (int a = 0; a < s->values[v].rank; a++) {
                int32_t *e = &s->values[v].extents[a];
                if (*e >= 0 && (!whole || values[*e] != seen_at(s, s->n_points - 1, v, a))) *e = -1;
            }
    }
    s->n_points = known; /* those that the expressions have values at */
    return WICK_OK;
}

/* The first points: one in the middle, each dim moved by itself, the largest, the smallest, some at random. */
static wick_status first_points(wick_shapes *s, uint64_t *state) {
    const wick_dynamic *d = s->d;
    int64_t middle[WICK_MAX_NAMED_DIMS] = {0}, extents[WICK_MAX_NAMED_DIMS] = {0};
    bool counts = false;
    /* Extents that differ from each other, where the ranges let them. */
    for (int k = 0; k < d->n_dims; k++) {
        const int64_t n = wick_dim_values(&d->dims[k]);
        middle[k] = wick_dim_value(&d->dims[k], WICK_MIN(n - 1, n < 64 ? n / 2 + k : 23 + 11 * (int64_t)k));
    }
    WICK_TRY(record(s, middle, &counts));
    for (int k = 0; k < d->n_dims; k++) {
        const int64_t n = wick_dim_values(&d->dims[k]);
        memcpy(extents, middle, sizeof extents);
        counts = false;
        for (int64_t more = 1; more <= 4 && n == 1 && !counts; more++) {
            extents[k] = middle[k] + more * WICK_MAX(d->dims[k].multiple, 1);
            WICK_TRY(record_at(s, extents, true, &counts));
        }
        for (int64_t i = n - 1; i >= 0 && i >= n - 3 && !counts; i--) { /* where it records the same */
            extents[k] = wick_dim_value(&d->dims[k], n > 128 ? 101 + i - n : i);
            if (extents[k] == middle[k] && n > 1) continue;
            WICK_TRY(record(s, extents, &counts));
            if (counts) break;
        }
        if (!counts) { /* expressions take it as fixed */
            memcpy(s->points + (size_t)s->n_points * (size_t)d->n_dims, middle, (size_t)d->n_dims * sizeof *middle);
            WICK_TRY(record(s, middle, &counts));
        }
    }
    for (int end = 0; end < 2; end++) {
        for (int k = 0; k < d->n_dims; k++)
            extents[k] = wick_dim_value(&d->dims[k], end ? 0 : wick_dim_values(&d->dims[k]) - 1);
        WICK_TRY(record(s, extents, &counts));
    }
    for (int i = 0; i < RANDOM; i++) {
        wick_dynamic_draw(d, state, extents);
        WICK_TRY(record(s, extents, &counts));
    }
    return WICK_OK;
}

static wick_status write_texts(wick_shapes *s) {
    for (uint32_t v = 0; v < s->n_values; v++) {
        value *x = &s->values[v];
        char text[1024];
        wick_str t = wick_str_on(text, sizeof text);
        wick_str_add(&t, "[");
        for (int a = 0; a < x->rank; a++) {
            if (a) wick_str_add(&t, ", ");
            wick_extents_print(&t, &s->expressions, x->extents[a]);
        }
        wick_str_add(&t, "]");
        if (!x->shown) continue;
        if (!(x->text = wick_arena_strdup(&s->arena, text)))
            return wick_msg_set(&s->d->ctx->msg, WICK_ERR_NOMEM, "out of memory");
        s->rows[s->n_rows++] = v;
    }
    for (int i = 0; i < s->d->n_out; i++) {
        int32_t row = -1;
        for (int r = 0; r < s->n_rows; r++)
            if (s->rows[r] == (uint32_t)s->outputs[i]) row = r;
        s->outputs[i] = row;
    }
    return WICK_OK;
}

static wick_status find(wick_shapes *s) {
    const wick_dynamic *d = s->d;
    uint64_t state = 3;
    s->points = wick_arena_zalloc(&s->arena, ((size_t)MOST_POINTS * (size_t)d->n_dims + 1) * sizeof *s->points);
    if (!s->points) return wick_msg_set(&d->ctx->msg, WICK_ERR_NOMEM, "out of memory");
    WICK_TRY(first_points(s, &state));
    WICK_TRY(find_all(s));
    WICK_TRY(refine(s, &state));
    WICK_TRY(check(s, &state));
    return write_texts(s);
}

static void drop_seen(wick_shapes *s) {
    wick_release(&s->d->ctx->alloc, s->seen, (size_t)MOST_POINTS * s->n_values * WICK_MAX_DIMS * sizeof *s->seen + 1);
    s->seen = NULL;
}

wick_status wick_dynamic_find_shapes(wick_dynamic *d, wick_shapes **out) {
    if (!out) return wick_context_fail(d->ctx, WICK_ERR_INVALID, "dynamic_find_shapes: out is NULL");
    wick_shapes *s = *out = wick_calloc(&d->ctx->alloc, sizeof *s);
    if (!s) return wick_msg_set(&d->ctx->msg, WICK_ERR_NOMEM, "out of memory");
    s->d = d;
    wick_arena_init(&s->arena, &d->ctx->alloc, 16 * 1024);
    wick_arena_init(&s->trial, &d->ctx->alloc, 64 * 1024);
    pthread_mutex_lock(&d->compiler);
    const wick_status status = find(s);
    pthread_mutex_unlock(&d->compiler);
    drop_seen(s);
    if (status != WICK_OK) wick_shapes_free(out);
    return status;
}

void wick_shapes_free(wick_shapes **shapes) {
    wick_shapes *s = shapes ? *shapes : NULL;
    if (!s) return;
    *shapes = NULL;
    wick_allocator alloc = s->d->ctx->alloc;
    wick_arena_free(&s->arena);
    wick_arena_free(&s->trial);
    wick_release(&alloc, s, sizeof *s);
}

/* ---- looking ----------------------------------------------------------------------------------------------------- */

int wick_shapes_count(const wick_shapes *s) { return s->n_rows; }
int wick_shapes_output(const wick_shapes *s, int output) {
    return output >= 0 && output < s->d->n_out ? s->outputs[output] : -1;
}
int wick_shapes_recordings(const wick_shapes *s) { return s->recordings; }
int wick_shapes_exceptions(const wick_shapes *s) { return s->exceptions; }
const char *wick_shapes_exception(const wick_shapes *s) { return s->exception; }

wick_shape_row wick_shapes_at(const wick_shapes *s, int i) {
    if (i < 0 || i >= s->n_rows) return (wick_shape_row){0};
    const value *v = &s->values[s->rows[i]];
    wick_shape_row row = {.op = v->op->name,
                          .place = v->place,
                          .result = v->result,
                          .dtype = v->dtype,
                          .rank = v->rank,
                          .text = v->text,
                          .known = true};
    for (int a = 0; a < v->rank; a++) row.known &= v->extents[a] >= 0;
    return row;
}

wick_status wick_shapes_eval(const wick_shapes *s, const int64_t *extents, wick_spec *specs) {
    if (!extents || !specs) return WICK_ERR_INVALID;
    const wick_dynamic *d = s->d;
    enum { FEW = 256 };
    int64_t few[FEW], *values = few;
    for (int k = 0; k < d->n_dims; k++) {
        const wick_dim *dim = &d->dims[k];
        if (extents[k] < dim->min || extents[k] > dim->max || (dim->multiple > 1 && extents[k] % dim->multiple))
            return WICK_ERR_SHAPE;
    }
    const size_t n = (size_t)s->expressions.n;
    if (n > FEW && !(values = wick_alloc(&d->ctx->alloc, n * sizeof *values))) return WICK_ERR_NOMEM;
    const bool good = wick_extents_eval(&s->expressions, extents, values);
    for (int i = 0; i < s->n_rows && good; i++) {
        const value *v = &s->values[s->rows[i]];
        specs[i] = (wick_spec){.dtype = v->dtype, .rank = v->rank};
        for (int a = 0; a < v->rank; a++) specs[i].dims[a] = v->extents[a] >= 0 ? values[v->extents[a]] : -1;
    }
    if (values != few) wick_release(&d->ctx->alloc, values, n * sizeof *values);
    return good ? WICK_OK : WICK_ERR_SHAPE;
}
