/* calibrate.c: each cost is what makes the model predict what a few works of its family were measured to take. The
 * works run once; the number is then found by halving an interval, since a plan says what the model predicts of it for
 * any tuning. A number that was found helps to find those after it: overheads and memory come first. */
#include "calibrate.h"

#include "machine.h"
#include "../step.h"
#include "../term/log.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "wick/wick.h"

enum { WORKS = 3, SAMPLES = 15, CHAIN = 24, HALVINGS = 24, AROUND = 128 << 10 };
#define REACH 16 /* how far from the default a number may be found, either way */

typedef enum kind {
    STEPS,
    STREAM,
    LIGHT,
    BLOCKS,
    HEAVY,
    SUM_ROWS,
    SUM_SHORT,
    SUM_WIDE,
    PRODUCT,
    CONV,
    DEPTHWISE,
    POOL,
    SOFTMAX,
    NORM,
    ATTENTION,
    LSTM,
    BYTES,
    SCAN
} kind;
typedef struct work {
    kind kind;
    /* m x n elements, of a product m x k and k x n; convolutions: n channels of m x m pixels, kernels of k x k. m is 0
     * behind the last */
    int64_t m, n, k;
} work;
typedef struct fit {
    const char *name;
    bool threads;
    work works[WORKS];
} fit;

/* m of STREAM is set from the caches: see sized(). */
static const fit fits[] = {
    {"cost_step_ns", false, {{STEPS, 4, 4, 0}}},
    {"cost_l2_rate", false, {{STREAM, 1, 1024, 0}}},
    {"cost_l3_rate", false, {{STREAM, 2, 1024, 0}}},
    {"cost_memory_rate", false, {{STREAM, 3, 1024, 0}}},
    {"cost_block_ns", false, {{BLOCKS, 4, 16, 0}}},
    {"cost_light_rate", false, {{LIGHT, 16, 1024, 0}, {LIGHT, 64, 1024, 0}}},
    {"cost_heavy_rate", false, {{HEAVY, 16, 1024, 0}, {HEAVY, 64, 1024, 0}}},
    {"cost_reduce_rate", false, {{SUM_ROWS, 16, 1024, 0}, {SUM_ROWS, 128, 1024, 0}}},
    {"cost_row_ns", false, {{SUM_SHORT, 4096, 8, 0}, {SUM_SHORT, 1000, 3, 0}}},
    {"cost_piece_ns", false, {{SUM_WIDE, 64, 1000, 0}, {SUM_WIDE, 64, 2048, 0}}},
    {"cost_gemm_rate", false, {{PRODUCT, 128, 128, 128}, {PRODUCT, 64, 256, 512}, {PRODUCT, 512, 512, 512}}},
    {"cost_conv_rate", false, {{CONV, 16, 64, 1}, {CONV, 12, 32, 5}, {CONV, 24, 64, 1}}},
    {"cost_winograd_rate", false, {{CONV, 32, 16, 3}, {CONV, 16, 32, 3}, {CONV, 8, 64, 3}}},
    {"cost_depthwise_rate", false, {{DEPTHWISE, 24, 64, 3}, {DEPTHWISE, 12, 128, 3}}},
    {"cost_pool_rate", false, {{POOL, 32, 16, 2}, {POOL, 16, 64, 2}}},
    {"cost_rows_rate", false, {{SOFTMAX, 64, 64, 0}, {NORM, 64, 256, 0}, {SOFTMAX, 64, 1000, 0}}},
    {"cost_attention_rate", false, {{ATTENTION, 128, 64, 4}, {ATTENTION, 256, 32, 4}}},
    {"cost_recurrent_rate", false, {{LSTM, 16, 64, 1}, {LSTM, 16, 128, 1}}},
    {"cost_int8_rate", false, {{BYTES, 128, 128, 128}, {BYTES, 256, 256, 256}}},
    {"cost_other_rate", false, {{SCAN, 16, 1024, 0}, {SCAN, 128, 100, 0}}},
    {"cost_wake_ns", true, {{PRODUCT, 128, 128, 128}, {LIGHT, 128, 1024, 0}}},
};
enum { FITS = sizeof fits / sizeof fits[0] };

/* A stream moves twice its bytes: half of the core's cache, half of the last one (or 8 times the core's), four times
 * that (256 MB at most). */
static work sized(work w, const wick_tuning *t) {
    if (w.kind != STREAM) return w;
    const int64_t near = t->cost_l2_bytes, far = t->cost_l3_bytes;
    const int64_t bytes = w.m == 1              ? near / 2
                          : w.m == 2            ? (far / 2 < 8 * near ? far / 2 : 8 * near)
                          : 4 * far < 256 << 20 ? 4 * far
                                                : 256 << 20;
    w.m = bytes / 8 / w.n > 0 ? bytes / 8 / w.n : 1;
    return w;
}

static wick_tensor *weights(wick_context *ctx, int rank, const int64_t *dims) {
    wick_tensor *w = wick_random_uniform(ctx, WICK_F32, rank, dims);
    return wick_eval(ctx, 1, &w, NULL) == WICK_OK ? w : NULL;
}

/* A work, and what it reads besides its input: made once, outside of the function. */
typedef struct recorded {
    work w;
    wick_tensor *a, *b;
} recorded;

static wick_status record(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    const recorded *r = user;
    const work *w = &r->w;
    wick_tensor *x = in[0], *y = x;
    (void)ctx;
    switch (w->kind) {
    case STEPS:
        for (int i = 0; i < CHAIN; i++) y = i % 2 ? wick_neg(y) : wick_square(y);
        break;
    case STREAM: y = wick_relu(x); break;
    case BLOCKS:
    case LIGHT:
        for (int i = 0; i < CHAIN / 3; i++) y = wick_mul(wick_add(wick_relu(y), x), x);
        break;
    case HEAVY: y = wick_tanh(wick_div(wick_exp(x), wick_sqrt(wick_add(wick_square(x), wick_like(x, 1))))); break;
    case SUM_ROWS:
    case SUM_SHORT: y = wick_sum(x, WICK_AXES(1), false); break;
    case SUM_WIDE: y = wick_sum(wick_square(x), WICK_AXES(0), false); break;
    case PRODUCT: y = wick_matmul(x, r->a); break;
    case CONV: /* one behind the other, as in networks, where images keep their order */
        for (int i = 0; i < 4; i++) y = wick_conv(y, r->a, NULL, &(wick_conv_options){.pad = {w->k / 2, w->k / 2}});
        break;
    case DEPTHWISE:
        y = wick_conv(x, r->b, NULL, NULL);
        for (int i = 0; i < 4; i++)
            y = wick_conv(y, r->a, NULL, &(wick_conv_options){.pad = {w->k / 2, w->k / 2}, .groups = w->n});
        y = wick_conv(y, r->b, NULL, NULL);
        break;
    case POOL: y = wick_max_pool(x, &(wick_pool_options){.kernel = {w->k, w->k}, .stride = {w->k, w->k}}); break;
    case SOFTMAX: y = wick_softmax(x, 1); break;
    case NORM: y = wick_layer_norm(x, NULL, NULL, 1e-5); break;
    case ATTENTION: y = wick_attention(x, x, x, NULL); break;
    case LSTM: y = wick_lstm(x, &(wick_rnn_inputs){.w_ih = r->a, .w_hh = r->b}, NULL, NULL, NULL); break;
    case BYTES: y = wick_int8_matmul(x, in[1], NULL); break;
    case SCAN: y = wick_cumsum(x, 1); break;
    }
    out[0] = y;
    return WICK_OK;
}

static int specs_of(const work *w, wick_spec spec[2]) {
    const bool image = w->kind == CONV || w->kind == DEPTHWISE || w->kind == POOL;
    spec[0] = (wick_spec){.name = "x", .dtype = WICK_F32, .rank = 2, .dims = {w->m, w->n}};
    if (image) spec[0] = (wick_spec){.name = "x", .dtype = WICK_F32, .rank = 4, .dims = {1, w->n, w->m, w->m}};
    if (w->kind == ATTENTION)
        spec[0] = (wick_spec){.name = "x", .dtype = WICK_F32, .rank = 4, .dims = {1, w->k, w->m, w->n}};
    if (w->kind == LSTM) spec[0] = (wick_spec){.name = "x", .dtype = WICK_F32, .rank = 3, .dims = {w->m, w->k, w->n}};
    if (w->kind == PRODUCT || w->kind == BYTES) spec[0].dims[1] = w->k;
    if (w->kind == BYTES) spec[0].dtype = WICK_I8;
    spec[1] = (wick_spec){.name = "b", .dtype = WICK_I8, .rank = 2, .dims = {w->k, w->n}};
    return w->kind == BYTES ? 2 : 1;
}

/* Compiled for a tuning. */
static bool compiled(const work *w, const wick_tuning *t, int threads, wick_context **ctx, wick_plan **plan) {
    wick_spec spec[2];
    recorded r = {.w = *w};
    const int n_in = specs_of(w, spec);
    if (wick_context_new(&(wick_context_options){.threads = threads, .tuning = t}, ctx) != WICK_OK) return false;
    if (w->kind == PRODUCT) r.a = weights(*ctx, 2, (int64_t[]){w->k, w->n});
    if (w->kind == CONV || w->kind == DEPTHWISE)
        r.a = weights(*ctx, 4, (int64_t[]){w->n, w->kind == CONV ? w->n : 1, w->k, w->k});
    if (w->kind == DEPTHWISE) r.b = weights(*ctx, 4, (int64_t[]){w->n, w->n, 1, 1});
    if (w->kind == LSTM)
        r.a = weights(*ctx, 3, (int64_t[]){1, 4 * w->n, w->n}), r.b = weights(*ctx, 3, (int64_t[]){1, 4 * w->n, w->n});
    return wick_compile(*ctx, record, &r, n_in, spec, 1, &(wick_compile_options){.no_passes = w->kind == STEPS},
                        plan) == WICK_OK;
}

/* 0: out of memory. */
static double predicted(const work *w, const wick_tuning *t, int threads) {
    wick_context *ctx = NULL;
    wick_plan *plan = NULL;
    const double seconds = compiled(w, t, threads, &ctx, &plan) ? wick_plan_get_info(plan).predicted_seconds : 0;
    wick_plan_free(&plan);
    wick_context_free(&ctx);
    return seconds;
}

static int by_size(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Kernels of a network find their data in the cache behind the nearest: between runs others ran, of which this stands
 * in. */
static void go_elsewhere(unsigned char *around) {
    for (int i = 0; i < AROUND; i += 64) ((volatile unsigned char *)around)[i]++;
}

/* The median time of a run, of samples of as many runs as fill their share of `seconds`. Below 0: it could not be run.
 */
static double measured(const work *w, const wick_tuning *t, int threads, double seconds) {
    wick_context *ctx = NULL;
    wick_plan *plan = NULL;
    wick_workspace *space = NULL;
    wick_spec spec[2];
    void *in[2] = {NULL}, *out = NULL;
    const bool alone = w->kind < PRODUCT; /* of one step, or of what is as large as a cache */
    unsigned char *around = alone ? NULL : calloc(1, AROUND);
    double sample[SAMPLES];
    const int n_in = specs_of(w, spec), n = seconds > 0 ? SAMPLES : 1;
    bool good =
        (alone || around) && compiled(w, t, threads, &ctx, &plan) && wick_workspace_new(plan, &space) == WICK_OK;
    for (int i = 0; good && i < n_in; i++) {
        const size_t bytes = wick_spec_bytes(&spec[i]);
        uint32_t state = 12345u + (uint32_t)i;
        good = (in[i] = step_buffer((int64_t)bytes, 1)) != NULL;
        /* never zeros, which some machines are faster on */
        for (size_t k = 0; good && k < bytes / (spec[i].dtype == WICK_I8 ? 1 : 4); k++) {
            state = state * 1664525u + 1013904223u;
            if (spec[i].dtype == WICK_I8)
                ((int8_t *)in[i])[k] = (int8_t)(state >> 24);
            else
                ((float *)in[i])[k] = (float)(state >> 8) * 0x1p-23f - 1;
        }
    }
    if (good) {
        const wick_spec result = wick_plan_output(plan, 0);
        good = (out = step_buffer((int64_t)wick_spec_bytes(&result), 1)) != NULL;
    }
    int64_t runs = 1;
    for (int i = -1; good && i < n;) { /* the first touches memory and wakes threads */
        double start = now_seconds(), took = 0;
        for (int64_t k = 0; good && k < runs; k++) {
            if (around) {
                took += now_seconds() - start;
                go_elsewhere(around);
                start = now_seconds();
            }
            good = wick_run(space, (const void *const *)in, &out) == WICK_OK;
        }
        took += now_seconds() - start;
        if (i >= 0 && took < seconds / SAMPLES && runs < 1 << 20 && i == 0) {
            runs *= 2;
            continue;
        }
        if (i >= 0) sample[i] = took / (double)runs;
        i++;
    }
    if (good) qsort(sample, (size_t)n, sizeof *sample, by_size);
    wick_workspace_free(&space);
    wick_plan_free(&plan);
    wick_context_free(&ctx);
    free(in[0]), free(in[1]), free(out), free(around);
    return good ? sample[n / 2] : -1;
}

/* Logarithm of predicted over measured, the mean of the fit's works. */
static double too_long(const fit *f, const wick_tuning *t, int threads, const double *took) {
    double sum = 0;
    int n = 0;
    for (; n < WORKS && f->works[n].m; n++) {
        const work w = sized(f->works[n], t);
        const double p = predicted(&w, t, threads);
        if (!(p > 0)) return NAN;
        sum += log(p / took[n]);
    }
    return sum / n;
}

static bool found(const fit *f, wick_tuning *t, const wick_tuning_field *field, int threads, const double *took) {
    double low = (double)(field->fallback / REACH), high = (double)field->fallback * REACH;
    low = low < (double)field->low ? (double)field->low : low,
    high = high > (double)field->high ? (double)field->high : high;
    const bool rate = strstr(field->name, "_rate") != NULL; /* a larger one takes less time */
    for (int i = 0; i < HALVINGS; i++) {
        const double middle = sqrt(low * high);
        *field->of(t) = (int64_t)(middle + 0.5);
        const double over = too_long(f, t, threads, took);
        if (isnan(over)) return false;
        if ((over > 0) == rate) low = middle;
        else high = middle;
        if (high - low < 0.4 || high / low < 1.002) break;
    }
    return true;
}

static void size_caches(wick_tuning *t) {
    machine m;
    machine_read(&m, "");
    bool any = false;
    for (int i = 0; i < m.n_caches; i++) {
        if (strcmp(m.caches[i].type, "Instruction") == 0 || !m.caches[i].bytes || m.caches[i].level < 2) continue;
        if (!any) t->cost_l2_bytes = (int64_t)m.caches[i].bytes;
        t->cost_l3_bytes = (int64_t)m.caches[i].bytes;
        any = true;
    }
}

static double median_error(int threads, const wick_tuning *t, double took[FITS][WORKS]) {
    double error[FITS * WORKS];
    int n = 0;
    for (int i = 0; i < FITS; i++)
        for (int k = 0; k < WORKS && fits[i].works[k].m && took[i][k] > 0; k++) {
            const work w = sized(fits[i].works[k], t);
            error[n++] = fabs(predicted(&w, t, fits[i].threads ? threads : 1) / took[i][k] - 1);
        }
    qsort(error, (size_t)n, sizeof *error, by_size);
    return n ? error[n / 2] : 0;
}

bool calibrate(wick_tuning *t, int threads, double seconds, double *before, double *after) {
    double took[FITS][WORKS] = {{0}};
    wick_tuning_field field[FITS];
    size_caches(t);
    int works = 0;
    for (int i = 0; i < FITS; i++)
        for (int k = 0; k < WORKS && fits[i].works[k].m; k++) works++;
    for (int i = 0; i < FITS; i++) {
        int at = 0;
        while (strcmp((field[i] = wick_tuning_at(at)).name, fits[i].name) != 0) at++;
        if (fits[i].threads && threads < 2) continue;
        for (int k = 0; k < WORKS && fits[i].works[k].m; k++) {
            const work w = sized(fits[i].works[k], t);
            took[i][k] = measured(&w, t, fits[i].threads ? threads : 1, seconds / works);
            if (took[i][k] < 0) return false;
            if (took[i][k] < 1e-9) took[i][k] = 1e-9;
        }
    }
    *before = median_error(threads, t, took);
    for (int i = 0; i < FITS; i++)
        if (took[i][0] > 0 && !found(&fits[i], t, &field[i], fits[i].threads ? threads : 1, took[i])) return false;
    *after = median_error(threads, t, took);
    return true;
}
