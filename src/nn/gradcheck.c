/* gradcheck.c: analytic gradients against central differences. The function is compiled twice, with gradients and
 * without; both plans capture the tensors by reference, so that a write to one is seen by the next run, also when the
 * function finds it by itself (a parameter of a model). The random offset is set back before each run: dropout then is
 * one fixed function. */
#include <math.h>

#include "nn/nn.h"

typedef struct check {
    wick_context *ctx;
    wick_scalar_function fn;
    void *user;
    int n;
    wick_tensor *const *x;
    bool gradients;            /* whether the body being compiled has them as outputs 1..n */
    int64_t total;             /* elements of all x */
    double *values, *analytic; /* total each, one tensor after another; in one block with outputs */
    void **outputs;
    size_t block;
    double h;
} check;

static wick_status body(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)in;
    const check *c = user;
    wick_tensor *loss = c->fn(ctx, c->x, c->user);
    wick_status status = wick_tensor_error(loss, NULL);
    if (status != WICK_OK) return loss ? wick_fail_poison(ctx, loss) : wick_context_fail(ctx, status, "out of memory");
    if (wick_tensor_dtype(loss) != WICK_F64 || wick_tensor_rank(loss) != 0)
        return wick_context_fail(ctx, WICK_ERR_INVALID, "gradcheck: the function's result must be a 0-d f64");
    out[0] = loss;
    if (c->gradients) wick_grad(loss, c->n, c->x, out + 1);
    return WICK_OK;
}

static wick_status compile(check *c, bool gradients, wick_plan **plan, wick_workspace **workspace) {
    c->gradients = gradients;
    WICK_TRY(wick_compile(c->ctx, body, c, 0, NULL, gradients ? c->n + 1 : 1, NULL, plan));
    wick_status status = wick_workspace_new(*plan, workspace);
    if (status != WICK_OK)
        return wick_context_fail(c->ctx, status, "gradcheck: no workspace: %s", wick_status_name(status));
    return WICK_OK;
}

static wick_status run(const check *c, wick_workspace *workspace, void *const *outputs) {
    wick_workspace_set_offset(workspace, 0);
    wick_status status = wick_run(workspace, NULL, outputs);
    return status == WICK_OK ? status
                             : wick_context_fail(c->ctx, status, "gradcheck: %s", wick_workspace_error(workspace));
}

/* The function's value with element e of tensor t, which lies at `values`, moved to `value`. */
static wick_status value_at(const check *c, wick_workspace *workspace, int t, double *values, int64_t e, double value,
                            double *result) {
    const double kept = values[e];
    values[e] = value;
    wick_status status = wick_write(c->x[t], values, (size_t)wick_tensor_count(c->x[t]) * sizeof *values);
    values[e] = kept;
    WICK_TRY(status);
    return run(c, workspace, (void *[]){result});
}

static wick_status compare(const check *c, wick_workspace *workspace, wick_gradcheck_report *report) {
    double *values = c->values;
    const double *analytic = c->analytic;
    for (int t = 0; t < c->n; t++) {
        const int64_t count = wick_tensor_count(c->x[t]);
        for (int64_t e = 0; e < count; e++) {
            /* The step that was really taken: x + h and x - h are rounded. */
            const double high = values[e] + c->h, low = values[e] - c->h;
            double up, down;
            WICK_TRY(value_at(c, workspace, t, values, e, high, &up));
            WICK_TRY(value_at(c, workspace, t, values, e, low, &down));
            const double numeric = (up - down) / (high - low), a = analytic[e];
            double off = fabs(a - numeric) / fmax(1, fmax(fabs(a), fabs(numeric)));
            if (isnan(off)) off = INFINITY;
            if (off > report->worst || report->tensor < 0) *report = (wick_gradcheck_report){off, t, e, a, numeric};
        }
        WICK_TRY(wick_write(c->x[t], values, (size_t)count * sizeof *values));
        values += count;
        analytic += count;
    }
    return WICK_OK;
}

/* Checks the arguments and reads the values to come back to. */
static wick_status prepare(check *c) {
    for (int t = 0; t < c->n; t++) {
        const wick_tensor *x = c->x[t];
        if (wick_tensor_error(x, NULL) != WICK_OK) return wick_fail_poison(c->ctx, x);
        if (wick_tensor_dtype(x) != WICK_F64 || !wick_tensor_ready(x))
            return wick_context_fail(c->ctx, WICK_ERR_INVALID, "gradcheck: tensor %d is not an f64 data tensor", t);
        c->total += wick_tensor_count(x);
    }
    /* The tensors are in memory, so twice their bytes cannot overflow. */
    const size_t each = (size_t)c->total * sizeof(double);
    c->block = 2 * each + (size_t)(c->n + 1) * sizeof(void *);
    c->outputs = wick_alloc(&c->ctx->alloc, c->block);
    if (!c->outputs) return wick_context_fail(c->ctx, WICK_ERR_NOMEM, "gradcheck: out of memory");
    c->values = (double *)(c->outputs + c->n + 1);
    c->analytic = c->values + c->total;
    double *value = c->values, *gradient = c->analytic;
    for (int t = 0; t < c->n; t++) {
        const int64_t count = wick_tensor_count(c->x[t]);
        WICK_TRY(wick_read(c->x[t], value, (size_t)count * sizeof *value));
        c->outputs[t + 1] = gradient;
        value += count;
        gradient += count;
    }
    return WICK_OK;
}

static wick_status check_run(check *c, wick_plan **plans, wick_workspace **spaces, wick_gradcheck_report *report) {
    WICK_TRY(prepare(c));
    WICK_TRY(compile(c, true, &plans[0], &spaces[0]));
    WICK_TRY(compile(c, false, &plans[1], &spaces[1]));
    double loss;
    c->outputs[0] = &loss;
    WICK_TRY(run(c, spaces[0], c->outputs));
    wick_status status = compare(c, spaces[1], report);
    if (status != WICK_OK) { /* put back what a failed run left moved; the first error is the one to tell */
        const double *values = c->values;
        wick_msg first = c->ctx->msg;
        for (int t = 0; t < c->n; values += wick_tensor_count(c->x[t]), t++)
            (void)!wick_write(c->x[t], values, (size_t)wick_tensor_count(c->x[t]) * sizeof *values);
        c->ctx->msg = first;
    }
    return status;
}

wick_status wick_gradcheck(wick_context *ctx, wick_scalar_function fn, void *user, int n, wick_tensor *const *x,
                           double h, double tolerance, wick_gradcheck_report *report) {
    if (n > 0 && !x) return wick_context_fail(ctx, WICK_ERR_INVALID, "gradcheck: x is NULL");
    check c = {.ctx = ctx, .fn = fn, .user = user, .n = n, .x = x, .h = h > 0 ? h : 1e-6};
    wick_gradcheck_report worst = {.worst = 0, .tensor = -1};
    wick_plan *plans[2] = {NULL, NULL};
    wick_workspace *spaces[2] = {NULL, NULL};
    if (!(tolerance > 0)) tolerance = 1e-6;

    wick_status status = check_run(&c, plans, spaces, &worst);
    for (int i = 0; i < 2; i++) {
        wick_workspace_free(&spaces[i]);
        wick_plan_free(&plans[i]);
    }
    wick_release(&ctx->alloc, c.outputs, c.block);
    if (worst.tensor < 0) worst.tensor = 0; /* nothing to compare: tensors without elements */
    if (report) *report = worst;
    WICK_TRY(status);
    if (worst.worst <= tolerance) return WICK_OK;
    return wick_context_fail(
        ctx, WICK_ERR_MISMATCH,
        "gradcheck: tensor %d, element %lld: analytic %.12g, numeric %.12g (off by %.3g, tolerance %.3g)", worst.tensor,
        (long long)worst.element, worst.analytic, worst.numeric, worst.worst, tolerance);
}
