/* session.c: an ONNX model by names: a dynamic function that forks share, and a runner for each. */
#include "wick/session.h"

#include "base/base.h"
#include "io/onnx/onnx.h"

#include <stdatomic.h>

typedef struct model {
    wick_context *ctx;
    wick_allocator alloc;
    wick_onnx *onnx;
    wick_dynamic *dynamic;
    int n_in, n_out;
    atomic_int sessions;
} model;

struct wick_session {
    model *model;
    wick_runner *runner;
    wick_spec *in, *out; /* as set; as the last run gave them */
    const void **given;  /* NULL: not set */
    void **got;
    size_t *room; /* bytes of got */
    bool ran;
    wick_msg msg;
};

/* ---- what the file declares -------------------------------------------------------------------------------------- */

static wick_spec declared(const wick_onnx_port *port) {
    wick_spec spec = {.name = port->name, .rank = port->rank};
    if (port->rank < 0 || port->kind != WICK_VALUE_TENSOR || !wick_onnx_elem_dtype(port->elem, &spec.dtype))
        return (wick_spec){.name = port->name, .rank = -1};
    memcpy(spec.dims, port->dims, sizeof spec.dims);
    return spec;
}
int wick_session_inputs(const wick_session *s) { return s ? s->model->n_in : 0; }
int wick_session_outputs(const wick_session *s) { return s ? s->model->n_out : 0; }
wick_spec wick_session_input(const wick_session *s, int i) {
    if (i < 0 || i >= wick_session_inputs(s)) return (wick_spec){.rank = -1};
    const wick_onnx_port port = wick_onnx_input(s->model->onnx, i);
    return declared(&port);
}
wick_spec wick_session_output(const wick_session *s, int i) {
    if (i < 0 || i >= wick_session_outputs(s)) return (wick_spec){.rank = -1};
    const wick_onnx_port port = wick_onnx_output(s->model->onnx, i);
    return declared(&port);
}
const char *wick_session_error(const wick_session *s) { return s ? s->msg.text : ""; }

/* ---- opening ----------------------------------------------------------------------------------------------------- */

static void model_unref(model *m) {
    if (!m || atomic_fetch_sub(&m->sessions, 1) > 1) return;
    wick_dynamic_free(&m->dynamic);
    wick_onnx_free(&m->onnx);
    const wick_allocator alloc = m->alloc;
    wick_release(&alloc, m, sizeof *m);
}

static void release_all(wick_session *s) {
    const model *m = s->model;
    for (int i = 0; s->got && s->room && i < m->n_out; i++) wick_release(&m->alloc, s->got[i], s->room[i]);
    wick_release(&m->alloc, s->in, ((size_t)m->n_in + 1) * sizeof *s->in);
    wick_release(&m->alloc, s->given, ((size_t)m->n_in + 1) * sizeof *s->given);
    wick_release(&m->alloc, s->out, ((size_t)m->n_out + 1) * sizeof *s->out);
    wick_release(&m->alloc, s->got, ((size_t)m->n_out + 1) * sizeof *s->got);
    wick_release(&m->alloc, s->room, ((size_t)m->n_out + 1) * sizeof *s->room);
}

/* Takes over a reference to m, also on failure. */
static wick_status session_new(model *m, wick_session **out, wick_msg *msg) {
    const wick_allocator alloc = m->alloc;
    wick_session *s = wick_calloc(&alloc, sizeof *s);
    if (!s) {
        model_unref(m);
        return wick_msg_set(msg, WICK_ERR_NOMEM, "session: out of memory");
    }
    s->model = m;
    s->in = wick_calloc(&alloc, ((size_t)m->n_in + 1) * sizeof *s->in);
    s->given = wick_calloc(&alloc, ((size_t)m->n_in + 1) * sizeof *s->given);
    s->out = wick_calloc(&alloc, ((size_t)m->n_out + 1) * sizeof *s->out);
    s->got = wick_calloc(&alloc, ((size_t)m->n_out + 1) * sizeof *s->got);
    s->room = wick_calloc(&alloc, ((size_t)m->n_out + 1) * sizeof *s->room);
    wick_status status =
        s->in && s->given && s->out && s->got && s->room ? wick_runner_new(m->dynamic, &s->runner) : WICK_ERR_NOMEM;
    if (status != WICK_OK) {
        wick_msg_set(msg, status, "session: %s", status == WICK_ERR_NOMEM ? "out of memory" : wick_status_name(status));
        wick_session_free(&s);
    }
    *out = s;
    return status;
}

static wick_status open_model(model *m, const char *path, const wick_session_options *o) {
    wick_context *ctx = m->ctx;
    WICK_TRY(wick_onnx_open(ctx, path, o->limits, &m->onnx));
    m->n_in = wick_onnx_inputs(m->onnx), m->n_out = wick_onnx_outputs(m->onnx);
    if (*wick_onnx_unsupported(m->onnx))
        return wick_context_fail(ctx, WICK_ERR_UNSUPPORTED, "%s uses what Wick does not have: %s", path,
                                 wick_onnx_unsupported(m->onnx));
    for (int i = 0; i < m->n_in + m->n_out; i++) {
        const wick_onnx_port port = i < m->n_in ? wick_onnx_input(m->onnx, i) : wick_onnx_output(m->onnx, i - m->n_in);
        if (port.kind != WICK_VALUE_TENSOR || (i < m->n_in && declared(&port).rank < 0))
            return wick_context_fail(ctx, WICK_ERR_UNSUPPORTED,
                                     "%s: %s %s is no tensor of known rank and of a dtype that Wick has", path,
                                     i < m->n_in ? "input" : "output", port.name);
    }
    return wick_onnx_dynamic(m->onnx, 0, NULL, o->dynamic, &m->dynamic);
}

wick_status wick_session_open(wick_context *ctx, const char *path, const wick_session_options *options,
                              wick_session **out) {
    if (!ctx) return WICK_ERR_INVALID;
    if (!out) return wick_context_fail(ctx, WICK_ERR_INVALID, "session: out is NULL");
    *out = NULL;
    if (!path) return wick_context_fail(ctx, WICK_ERR_INVALID, "session: path is NULL");
    model *m = wick_calloc(&ctx->alloc, sizeof *m);
    if (!m) return wick_context_fail(ctx, WICK_ERR_NOMEM, "session: out of memory");
    m->ctx = ctx;
    m->alloc = ctx->alloc;
    m->sessions = 1;
    const wick_session_options none = {0};
    const wick_status status = open_model(m, path, options ? options : &none);
    if (status == WICK_OK) return session_new(m, out, &ctx->msg);
    model_unref(m);
    return status;
}

wick_status wick_session_fork(wick_session *s, wick_session **out) {
    if (!s) return WICK_ERR_INVALID;
    if (!out) return wick_msg_set(&s->msg, WICK_ERR_INVALID, "session: out is NULL");
    atomic_fetch_add(&s->model->sessions, 1);
    return session_new(s->model, out, &s->msg);
}

void wick_session_free(wick_session **session) {
    if (!session || !*session) return;
    wick_session *s = *session;
    wick_runner_free(&s->runner);
    release_all(s);
    model *m = s->model;
    wick_release(&m->alloc, s, sizeof *s);
    model_unref(m);
    *session = NULL;
}

/* ---- running ----------------------------------------------------------------------------------------------------- */

static wick_status no_such(wick_session *s, bool output, const char *name) {
    char list[400];
    wick_str text = wick_str_on(list, sizeof list);
    const int n = output ? s->model->n_out : s->model->n_in;
    for (int i = 0; i < n; i++)
        wick_str_add(&text, "%s%s", i ? ", " : "",
                     (output ? wick_session_output(s, i) : wick_session_input(s, i)).name);
    return wick_msg_set(&s->msg, WICK_ERR_INVALID, "session: the model has no %s \"%.100s\"; it has %s",
                        output ? "output" : "input", name ? name : "", n ? list : "none");
}

static wick_status fits(wick_session *s, const wick_spec *want, wick_dtype dtype, int rank, const int64_t *dims) {
    if (dtype != want->dtype)
        return wick_msg_set(&s->msg, WICK_ERR_DTYPE, "session: input %s is %s, not %s", want->name,
                            wick_dtype_name(want->dtype), wick_dtype_name(dtype));
    if (rank != want->rank || (rank && !dims))
        return wick_msg_set(&s->msg, WICK_ERR_SHAPE, "session: input %s has %d dims, not %d", want->name, want->rank,
                            dims || !rank ? rank : -1);
    for (int d = 0; d < rank; d++)
        if (dims[d] < 0 || (want->dims[d] >= 0 && dims[d] != want->dims[d]))
            return wick_msg_set(&s->msg, WICK_ERR_SHAPE, "session: dim %d of input %s is %lld, not %lld", d, want->name,
                                (long long)want->dims[d], (long long)dims[d]);
    return WICK_OK;
}

wick_status wick_session_set(wick_session *s, const char *name, wick_dtype dtype, int rank, const int64_t *dims,
                             const void *data) {
    if (!s) return WICK_ERR_INVALID;
    int i = 0;
    while (i < s->model->n_in && (!name || strcmp(wick_session_input(s, i).name, name) != 0)) i++;
    if (i == s->model->n_in) return no_such(s, false, name);
    s->given[i] = NULL;
    if (!data) return WICK_OK;
    const wick_spec want = wick_session_input(s, i);
    WICK_TRY(fits(s, &want, dtype, rank, dims));
    s->in[i] = (wick_spec){.name = want.name, .dtype = dtype, .rank = rank};
    if (rank) memcpy(s->in[i].dims, dims, (size_t)rank * sizeof *dims);
    s->given[i] = data;
    return WICK_OK;
}

/* Room for the results of the plan that the runner is bound to. */
static wick_status make_room(wick_session *s) {
    for (int i = 0; i < s->model->n_out; i++) {
        s->out[i] = wick_plan_output(wick_runner_plan(s->runner), i);
        const size_t bytes = wick_spec_bytes(&s->out[i]) + 1;
        if (bytes <= s->room[i]) continue;
        wick_release(&s->model->alloc, s->got[i], s->room[i]);
        s->got[i] = wick_alloc(&s->model->alloc, bytes);
        s->room[i] = s->got[i] ? bytes : 0;
        if (!s->got[i]) return wick_msg_set(&s->msg, WICK_ERR_NOMEM, "session: out of memory for %zu bytes", bytes);
    }
    return WICK_OK;
}

wick_status wick_session_run(wick_session *s) {
    if (!s) return WICK_ERR_INVALID;
    s->ran = false;
    for (int i = 0; i < s->model->n_in; i++)
        if (!s->given[i])
            return wick_msg_set(&s->msg, WICK_ERR_INVALID, "session: input %s is not set",
                                wick_session_input(s, i).name);
    wick_status status = wick_runner_bind(s->runner, s->in);
    if (status == WICK_OK) WICK_TRY(make_room(s));
    if (status == WICK_OK) status = wick_runner_run(s->runner, s->given, s->got);
    if (status != WICK_OK) return wick_msg_set(&s->msg, status, "%s", wick_runner_error(s->runner));
    s->ran = true;
    return WICK_OK;
}

const void *wick_session_get(wick_session *s, const char *name, wick_spec *spec) {
    if (spec) *spec = (wick_spec){.rank = -1};
    if (!s) return NULL;
    int i = 0;
    while (i < s->model->n_out && (!name || strcmp(wick_session_output(s, i).name, name) != 0)) i++;
    if (i == s->model->n_out) return (void)no_such(s, true, name), NULL;
    if (!s->ran) return (void)wick_msg_set(&s->msg, WICK_ERR_INVALID, "session: nothing was run"), NULL;
    if (spec) {
        *spec = s->out[i];
        spec->name = wick_session_output(s, i).name;
    }
    return s->got[i];
}
