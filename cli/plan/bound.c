#include "bound.h"

#include "../term/log.h"

#include <stdlib.h>
#include <string.h>

/* Buffers of the plan's inputs: numbers between -1 and 1, and zeros where they are integers, which may be indices. */
static bool make_inputs(const planned *p, void **in) {
    uint64_t state = 1;
    for (int i = 0; i < p->n_in; i++) {
        const wick_spec *s = &p->in[i];
        const size_t bytes = wick_spec_bytes(s);
        if (!(in[i] = wick_buffer_new(p->ctx, bytes))) return false;
        memset(in[i], 0, bytes);
        for (size_t k = 0; s->dtype == WICK_F32 && k < bytes / sizeof(float); k++) {
            state = state * 6364136223846793005u + 1442695040888963407u; /* Knuth's MMIX */
            ((float *)in[i])[k] = (float)(int32_t)(state >> 32) * 0x1p-31f;
        }
    }
    return true;
}

void bound_close(bound *b) {
    wick_workspace_free(&b->space);
    for (int i = 0; b->in && i < b->p->n_in; i++) wick_buffer_free(b->p->ctx, b->in[i], wick_spec_bytes(&b->p->in[i]));
    for (int i = 0; b->out && i < b->info.outputs; i++) {
        const wick_spec s = wick_plan_output(b->p->plan, i);
        wick_buffer_free(b->p->ctx, b->out[i], wick_spec_bytes(&s));
    }
    free(b->in);
    free(b->out);
}

int bound_open(bound *b, const planned *p) {
    *b = (bound){.p = p, .info = wick_plan_get_info(p->plan)};
    b->in = calloc((size_t)p->n_in + 1, sizeof *b->in);
    b->out = calloc((size_t)b->info.outputs + 1, sizeof *b->out);
    bool good = b->in && b->out && make_inputs(p, b->in);
    for (int i = 0; good && i < b->info.outputs; i++) {
        const wick_spec s = wick_plan_output(p->plan, i);
        good = (b->out[i] = wick_buffer_new(p->ctx, wick_spec_bytes(&s)));
    }
    const wick_status status = good ? wick_workspace_new(p->plan, &b->space) : WICK_ERR_NOMEM;
    return status == WICK_OK ? CLI_OK : log_fail(CLI_FAILED, "%s", log_why(p->ctx, status));
}

double bound_run(const bound *b) {
    const double from = now_seconds();
    if (wick_run(b->space, (const void *const *)b->in, b->out) == WICK_OK) return now_seconds() - from;
    log_fail(CLI_FAILED, "on random inputs: %s", wick_workspace_error(b->space));
    return -1;
}
