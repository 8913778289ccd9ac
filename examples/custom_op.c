/* custom_op.c: an op of your own: exponential smoothing along rows, y[t] = decay y[t - 1] + x[t]. It is linear, and its
 * gradient is the same recursion from the end: the rule records the op again, with its attribute turned. Registered,
 * checked against central differences, and used.   Usage: custom_op */
#include <stdio.h>
#include <wick/wick.h>

typedef struct smoothing {
    double decay;
    long long backwards;
} smoothing;

/* The result is like x, which must be a matrix of f32 or f64. */
static wick_status shape(void *user, const void *attr, int n_in, const wick_spec *in, int n_out, wick_spec *out,
                         char *error, size_t size) {
    (void)user, (void)attr, (void)n_in, (void)n_out;
    if (in[0].rank != 2 || (in[0].dtype != WICK_F32 && in[0].dtype != WICK_F64))
        return snprintf(error, size, "smooths a matrix of f32 or f64"), WICK_ERR_SHAPE;
    out[0] = in[0];
    return WICK_OK;
}

/* A part is a row: threads share them. */
static int64_t parts(void *user, const void *attr, int n_in, const wick_spec *in, int n_out, const wick_spec *out) {
    (void)user, (void)attr, (void)n_in, (void)n_out, (void)out;
    return in[0].dims[0];
}
#define SMOOTH(T)                                                              \
    do {                                                                       \
        const T *x = (const T *)w->in_data[0] + row * n;                       \
        T *y = (T *)w->out_data[0] + row * n, last = 0;                        \
        for (int64_t i = 0; i < n; i++) {                                      \
            const int64_t t = a->backwards ? n - 1 - i : i;                    \
            y[t] = last = (T)a->decay * last + x[t];                           \
        }                                                                      \
    } while (0)
static int64_t kernel(const wick_custom_work *w, int64_t begin, int64_t end) {
    const smoothing *a = w->attr;
    const int64_t n = w->in[0].dims[1];
    for (int64_t row = begin; row < end; row++) {
        if (w->in[0].dtype == WICK_F64)
            SMOOTH(double);
        else
            SMOOTH(float);
    }
    return -1;
}

/* gx = the smoothing of gy the other way. user: where the op is. */
static void gradient(const wick_custom_gradients *g) {
    const wick_custom_op *op = *(const wick_custom_op **)g->user;
    smoothing turned = *(const smoothing *)g->attr;
    turned.backwards = !turned.backwards;
    g->gin[0] = wick_custom_call(op, &turned, 1, g->gout);
}

static const wick_custom_op *smooth;
static wick_tensor *loss_of(wick_context *ctx, wick_tensor *const *x, void *user) {
    (void)ctx;
    return wick_sum(wick_square(wick_custom_call(smooth, user, 1, x)), WICK_ALL_AXES, false);
}

int main(void) {
    wick_context *ctx;
    if (wick_context_new(NULL, &ctx)) return 1;
    const wick_custom_def def = {.name = "smooth",
                                 .doc = "y[t] = decay y[t - 1] + x[t]",
                                 .version = 1,
                                 .min_inputs = 1,
                                 .max_inputs = 1,
                                 .results = 1,
                                 .attr_size = sizeof(smoothing),
                                 .user = &smooth,
                                 .shape = shape,
                                 .kernel = kernel,
                                 .parts = parts,
                                 .gradient = gradient};
    smoothing half = {.decay = 0.5};
    wick_status status = wick_custom_register(ctx, &def, &smooth);

    wick_gradcheck_report report = {0};
    wick_tensor *x = wick_from(ctx, WICK_F64, WICK_DIMS(2, 4), (double[]){1, 2, 3, 4, -1, 0, 1, 0});
    if (!status) status = wick_gradcheck(ctx, loss_of, &half, 1, &x, 0, 0, &report);
    if (!status) printf("gradient: %s\n", report.worst < 1e-7 ? "as central differences have it" : "wrong");

    float y[6] = {0};
    wick_tensor *row = wick_from(ctx, WICK_F32, WICK_DIMS(1, 6), (float[]){1, 0, 0, 0, 1, 1});
    if (!status) status = wick_read(wick_custom_call(smooth, &half, 1, &row), y, sizeof y);
    for (int i = 0; i < 6; i++) printf("%g%c", (double)y[i], i < 5 ? ' ' : '\n');
    const int right = y[3] == 0.125f && y[5] == 1.53125f && report.worst < 1e-7;
    if (status) fprintf(stderr, "%s\n", wick_context_error(ctx));
    wick_context_free(&ctx);
    return status || !right;
}
