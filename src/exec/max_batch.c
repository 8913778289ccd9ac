/* max_batch.c: the largest batch that fits, from plans that are made and not run. Memory grows about linearly with the
 * batch, so a line through what is known guesses well; the answer is one that was planned, with a plan of one more that
 * does not fit. */
#include "exec/max_batch.h"

typedef struct search {
    wick_context *ctx;
    wick_function fn;
    void *user;
    int n_in, n_out;
    const wick_spec *in;
    wick_spec *now; /* with the batch in place */
    wick_compile_options options;
    const wick_beside *beside; /* NULL: nothing */
} search;

/* What a run with so many samples takes, and what is beside it; SIZE_MAX: the options' budget can't be kept. */
static wick_status plan_bytes(const search *s, int64_t batch, size_t *bytes) {
    for (int i = 0; i < s->n_in; i++) {
        s->now[i] = s->in[i];
        for (int d = 0; d < s->in[i].rank && d < WICK_MAX_DIMS; d++)
            if (s->in[i].dims[d] == WICK_BATCH) s->now[i].dims[d] = batch;
    }
    wick_plan *plan;
    const wick_status status = wick_compile(s->ctx, s->fn, s->user, s->n_in, s->now, s->n_out, &s->options, &plan);
    *bytes = SIZE_MAX;
    if (status == WICK_ERR_NOMEM && s->options.memory_budget) return WICK_OK;
    WICK_TRY(status);
    const wick_plan_info info = wick_plan_get_info(plan);
    *bytes = info.arena_bytes + info.scratch_bytes + info.output_bytes + info.state_bytes;
    wick_plan_free(&plan);
    size_t inputs = info.input_bytes;
    if (s->beside && (wick_mul_overflows((size_t)batch - 1, s->beside->each, &inputs) ||
                      wick_add_overflows(inputs, s->beside->first, &inputs)))
        inputs = SIZE_MAX;
    if (wick_add_overflows(*bytes, inputs, bytes)) *bytes = SIZE_MAX;
    return WICK_OK;
}

/* Between `low`, which fits, and `high`, which does not: where the line through both crosses. */
static int64_t between(int64_t low, size_t at_low, int64_t high, size_t at_high, size_t bytes) {
    if (at_high == SIZE_MAX || at_high <= at_low) return low + (high - low) / 2;
    const int64_t guess = low + (int64_t)((double)(bytes - at_low) / (double)(at_high - at_low) * (double)(high - low));
    return WICK_MIN(WICK_MAX(guess, low + 1), high - 1);
}

static wick_status find(const search *s, size_t bytes, int64_t most, wick_batch_fit *fit) {
    int64_t low = 1, high = 0;
    size_t at_low, at_high = 0;
    WICK_TRY(plan_bytes(s, 1, &at_low));
    if (at_low > bytes) {
        if (at_low == SIZE_MAX)
            return wick_msg_set(&s->ctx->msg, WICK_ERR_NOMEM,
                                "max_batch: the memory_budget can't be kept with one sample");
        return wick_msg_set(&s->ctx->msg, WICK_ERR_NOMEM,
                            "max_batch: one sample takes %zu bytes, more than the %zu there are", at_low, bytes);
    }
    while (!high) { /* most + 1 is the end: where its inputs alone don't fit, or more than anybody asks for */
        const int64_t next = WICK_MIN(2 * low, most + 1);
        size_t at_next = SIZE_MAX;
        if (!s->beside || next <= s->beside->most) WICK_TRY(plan_bytes(s, next, &at_next));
        if (at_next > bytes || next > most) high = next, at_high = at_next > bytes ? at_next : SIZE_MAX;
        else low = next, at_low = at_next;
    }
    /* by the line, and in turn by halves, so that it ends soon whatever the curve */
    for (bool halve = false; high - low > 1; halve = !halve) {
        const int64_t next = halve ? low + (high - low) / 2 : between(low, at_low, high, at_high, bytes);
        size_t at_next;
        WICK_TRY(plan_bytes(s, next, &at_next));
        if (at_next > bytes) high = next, at_high = at_next;
        else low = next, at_low = at_next;
    }
    *fit = (wick_batch_fit){.batch = low, .bytes = at_low, .next_bytes = at_high == SIZE_MAX ? 0 : at_high};
    return WICK_OK;
}

wick_status wick_plan_max_batch(wick_context *ctx, wick_function fn, void *user, int n_in, const wick_spec *in,
                                int n_out, const wick_compile_options *options, size_t bytes, wick_batch_fit *fit) {
    if (!fit) return wick_context_fail(ctx, WICK_ERR_INVALID, "plan_max_batch: fit is NULL");
    return wick_max_batch_beside(ctx, fn, user, n_in, in, n_out, options, NULL, bytes, fit);
}

wick_status wick_max_batch_beside(wick_context *ctx, wick_function fn, void *user, int n_in, const wick_spec *in,
                                  int n_out, const wick_compile_options *options, const wick_beside *beside,
                                  size_t bytes, wick_batch_fit *fit) {
    *fit = (wick_batch_fit){0};
    if (n_in < 1 || !in) return wick_msg_set(&ctx->msg, WICK_ERR_INVALID, "max_batch: needs specs of inputs");
    search s = {.ctx = ctx, .fn = fn, .user = user, .n_in = n_in, .n_out = n_out, .in = in, .beside = beside};
    if (options) s.options = *options;
    s.options.on_pass = NULL;
    s.options.on_remark = NULL;
    size_t each = 0; /* bytes of inputs for each sample: a bound on how many there can be */
    for (int i = 0; i < n_in; i++) {
        wick_spec one = in[i];
        bool open = false;
        for (int d = 0; d < one.rank && d < WICK_MAX_DIMS; d++)
            if (one.dims[d] == WICK_BATCH) open = true, one.dims[d] = 1;
        if (open) each = WICK_MAX(each, wick_spec_bytes(&one));
    }
    if (!each)
        return wick_msg_set(&ctx->msg, WICK_ERR_INVALID,
                            "max_batch: no input has an extent of WICK_BATCH (or its others are 0)");
    const size_t size = (size_t)n_in * sizeof *s.now;
    s.now = wick_calloc(&ctx->alloc, size);
    if (!s.now) return wick_msg_set(&ctx->msg, WICK_ERR_NOMEM, "max_batch: out of memory");
    const int64_t most = (int64_t)WICK_MIN(bytes / each, (size_t)1 << 40);
    const wick_status status =
        find(&s, WICK_MIN(bytes, SIZE_MAX - 1), beside ? WICK_MIN(most, beside->most) : most, fit);
    wick_release(&ctx->alloc, s.now, size);
    return status;
}
