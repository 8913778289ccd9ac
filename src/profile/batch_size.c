/* batch_size.c: a sweep over sizes of batches. */
#include "wick/batch_size.h"

#include <math.h>
#include <stdlib.h>

#include "base/cpu.h"
#include "exec/exec.h"

enum { LEAST_RUNS = 5, MOST_RUNS = 10000, KNEE_POINTS = 1 << 16 };

size_t wick_memory_available(void) { return (size_t)WICK_MIN(wick_memory_left(""), SIZE_MAX); }

/* What a run may take: part of what is there, and of what the context's own budget leaves. */
static size_t memory_for(const wick_context *ctx, const wick_batch_search *o) {
    if (o->memory) return o->memory;
    size_t available = wick_memory_available();
    if (ctx->budget.max) {
        const size_t used = atomic_load(&ctx->budget.used), left = ctx->budget.max > used ? ctx->budget.max - used : 1;
        available = available ? WICK_MIN(available, left) : left;
    }
    return available ? (size_t)(o->memory_part * (double)available) : SIZE_MAX;
}

/* ---- the knee ---------------------------------------------------------------------------------------------------- */

/* Kneedle, as published: both axes from 0 to 1, the difference of the curve from the diagonal, and of its local maxima
 * the first after which it falls by the mean step of x before it rises again. */
int wick_knee(int n, const double *x, const double *y) {
    if (n < 3 || n > KNEE_POINTS || !x || !y) return -1;
    double low = y[0], high = y[0];
    for (int i = 1; i < n; i++) low = WICK_MIN(low, y[i]), high = WICK_MAX(high, y[i]);
    const double across = x[n - 1] - x[0], up = high - low;
    if (!(across > 0) || !(up > 0)) return -1;
    const double step = 1.0 / (n - 1); /* the mean of what lies between normalised x */
    double threshold = 0;
    bool looking = false;
    int at = -1;
    for (int i = 0; i + 1 < n; i++) {
#define DIFFERENCE(k) ((y[k] - low) / up - (x[k] - x[0]) / across)
        const double d = DIFFERENCE(i), before = DIFFERENCE(WICK_MAX(i - 1, 0)), after = DIFFERENCE(i + 1);
#undef DIFFERENCE
        if (d >= before && d >= after) threshold = d - step, at = i, looking = true;
        if (d <= before && d <= after) looking = false; /* until the next maximum */
        if (looking && after < threshold) return at;
    }
    return -1;
}

/* ---- the sweep --------------------------------------------------------------------------------------------------- */

typedef struct subject {
    wick_context *ctx;
    wick_plan *plan;
    wick_plan_info info;
    wick_workspace *ws;
    void **in;
} subject;

static size_t input_bytes(const wick_plan *p, int input) {
    for (size_t i = 0; i < p->n_leaves; i++)
        if (p->bindings[i].input == input) return wick_type_bytes(&p->bindings[i].type);
    return 0; /* it isn't read */
}
static bool input_is_f32(const wick_plan *p, int input) {
    for (size_t i = 0; i < p->n_leaves; i++)
        if (p->bindings[i].input == input) return p->bindings[i].type.dtype == WICK_F32;
    return false;
}

static void subject_close(subject *s) {
    wick_workspace_free(&s->ws);
    for (int i = 0; s->in && i < s->info.inputs; i++)
        wick_buffer_free(s->ctx, s->in[i], WICK_MAX(input_bytes(s->plan, i), 1));
    free(s->in);
}

static wick_status subject_open(subject *s) {
    uint64_t state = 1;
    s->in = calloc((size_t)s->info.inputs + 1, sizeof *s->in);
    if (!s->in) return WICK_ERR_NOMEM;
    for (int i = 0; i < s->info.inputs; i++) {
        const size_t bytes = input_bytes(s->plan, i);
        if (!(s->in[i] = wick_buffer_new(s->ctx, WICK_MAX(bytes, 1)))) return WICK_ERR_NOMEM;
        memset(s->in[i], 0, bytes);
        for (size_t k = 0; input_is_f32(s->plan, i) && k < bytes / sizeof(float); k++) {
            state = state * 6364136223846793005u + 1442695040888963407u; /* Knuth's MMIX */
            ((float *)s->in[i])[k] = (float)(int32_t)(state >> 32) * 0x1p-31f;
        }
    }
    return wick_workspace_new(s->plan, &s->ws);
}

static int by_size(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static wick_status measure(subject *s, double seconds, wick_batch_result *r) {
    double *times = malloc(MOST_RUNS * sizeof *times);
    wick_status status = times ? subject_open(s) : WICK_ERR_NOMEM;
    const uint64_t began = wick_now_ns();
    for (int64_t i = -1; status == WICK_OK && i < MOST_RUNS; i++) { /* one to warm up */
        const uint64_t from = wick_now_ns();
        const double spent = (double)(from - began) * 1e-9;
        if ((i >= LEAST_RUNS && spent > seconds) || (i >= 1 && spent > WICK_MAX(10 * seconds, 2))) break;
        status = wick_run(s->ws, (const void *const *)s->in, NULL);
        if (status != WICK_OK) (void)wick_context_fail(s->ctx, status, "%s", wick_workspace_error(s->ws));
        if (i >= 0) times[i] = (double)(wick_now_ns() - from) * 1e-9, r->runs = i + 1;
    }
    if (status == WICK_ERR_NOMEM && !s->ws)
        (void)wick_context_fail(s->ctx, status, "find_batch: out of memory for a batch of %lld", (long long)r->batch);
    if (status == WICK_OK) {
        qsort(times, (size_t)r->runs, sizeof *times, by_size);
        r->median = times[r->runs / 2];
        r->p95 = times[(int64_t)ceil(0.95 * (double)r->runs) - 1];
        r->samples_per_second = r->median > 0 ? (double)r->batch / r->median : 0;
    }
    free(times);
    subject_close(s);
    return status;
}

/* Whether a size is worth running: smaller ones that were too slow, and a prediction that it will be, settle it. */
static bool is_hopeless(const wick_batch_sizes *sizes, const wick_batch_result *r, double latency) {
    for (int i = 0; i < sizes->n; i++)
        if (sizes->at[i].runs && sizes->at[i].p95 > 2 * latency && r->predicted > latency) return true;
    return false;
}

static void choose(wick_context *ctx, wick_batch_sizes *s) {
    double x[WICK_BATCH_SIZES], y[WICK_BATCH_SIZES], best = 0;
    int at[WICK_BATCH_SIZES], n = 0;
    s->chosen = s->knee = -1;
    for (int i = 0; i < s->n; i++) best = WICK_MAX(best, s->at[i].samples_per_second);
    for (int i = 0; i < s->n; i++) {
        wick_batch_result *r = &s->at[i];
        if (!r->runs) continue;
        r->efficiency = best > 0 ? r->samples_per_second / best : 0;
        const bool good = r->fits && r->in_time;
        if (good && (s->chosen < 0 || r->samples_per_second > s->at[s->chosen].samples_per_second)) s->chosen = i;
        at[n] = i, x[n] = log2((double)r->batch), y[n++] = r->samples_per_second;
    }
    const int knee = wick_knee(n, x, y);
    if (knee >= 0) s->knee = at[knee];
    const wick_batch_result *first = &s->at[0], *last = &s->at[s->n - 1];
    if (last->batch > first->batch && last->bytes > first->bytes) {
        const double each = (double)(last->bytes - first->bytes) / (double)(last->batch - first->batch);
        s->by_formula = (int64_t)((double)s->memory / each);
    } else
        s->by_formula = INT64_MAX;
    s->by_formula = WICK_MAX(1, WICK_MIN(s->by_formula, 2 * (int64_t)wick_context_threads(ctx)));
}

static wick_status look_at(wick_context *ctx, wick_status (*make)(void *user, int64_t batch, wick_plan **plan),
                           void (*drop)(void *user, wick_plan *plan), void *user, const wick_batch_search *o,
                           wick_batch_sizes *out, wick_batch_result *r) {
    subject s = {.ctx = ctx};
    WICK_TRY(make(user, r->batch, &s.plan));
    if (!s.plan) return wick_context_fail(ctx, WICK_ERR_INVALID, "find_batch: make gave no plan");
    s.info = wick_plan_get_info(s.plan);
    r->bytes =
        s.info.arena_bytes + s.info.scratch_bytes + s.info.input_bytes + s.info.output_bytes + s.info.state_bytes;
    if (o->beside && wick_add_overflows(r->bytes, o->beside(user, r->batch, &s.info), &r->bytes)) r->bytes = SIZE_MAX;
    r->predicted = s.info.predicted_seconds;
    r->fits = r->bytes <= out->memory && r->bytes < SIZE_MAX; /* memory is SIZE_MAX where nothing is known of it */
    wick_status status = WICK_OK;
    if (r->fits && !is_hopeless(out, r, o->latency)) status = measure(&s, o->seconds, r);
    r->in_time = r->runs && r->p95 <= o->latency;
    if (drop)
        drop(user, s.plan);
    else
        wick_plan_free(&s.plan);
    return status;
}

wick_status wick_find_batch(wick_context *ctx, wick_status (*make)(void *user, int64_t batch, wick_plan **plan),
                            void (*drop)(void *user, wick_plan *plan), void *user, const wick_batch_search *search,
                            wick_batch_sizes *out) {
    wick_batch_search o = search ? *search : (wick_batch_search){0};
    if (!out || !make) return wick_context_fail(ctx, WICK_ERR_INVALID, "find_batch: out or make is NULL");
    memset(out, 0, sizeof *out);
    if (!o.least) o.least = 1;
    if (!o.most) o.most = WICK_MAX(o.least, 256);
    if (!(o.memory_part != 0)) o.memory_part = 0.9;
    if (!(o.latency != 0)) o.latency = 0.01;
    if (!(o.seconds != 0)) o.seconds = 0.2;
    if (o.least < 1 || o.most < o.least || o.most > (int64_t)1 << 32 || !(o.memory_part > 0 && o.memory_part <= 1) ||
        !(o.latency > 0) || !(o.seconds > 0))
        return wick_context_fail(
            ctx, WICK_ERR_INVALID,
            "find_batch: sizes %lld to %lld, a part %g of memory, a latency of %g s, %g s for each: "
            "1 to 2^32, above 0 to 1, above 0, above 0",
            (long long)o.least, (long long)o.most, o.memory_part, o.latency, o.seconds);
    out->memory = memory_for(ctx, &o);
    for (int64_t batch = o.least; out->n < WICK_BATCH_SIZES; batch = WICK_MIN(2 * batch, o.most)) {
        wick_batch_result *r = &out->at[out->n];
        r->batch = batch;
        WICK_TRY(look_at(ctx, make, drop, user, &o, out, r));
        out->n++;
        if (batch == o.most || !r->fits) break;
    }
    choose(ctx, out);
    return WICK_OK;
}
