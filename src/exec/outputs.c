/* outputs.c: when each output of a plan is done: after the last step that touches its buffer. */
#include "exec/exec.h"

#include <stdlib.h>

static int by_step(const void *a, const void *b) {
    const wick_output_done *x = a, *y = b;
    return x->step != y->step ? (x->step < y->step ? -1 : 1) : x->output - y->output;
}

/* The step behind which step i doesn't run again: the last jump back over it. */
static uint32_t end_of_loops(const wick_plan *plan, uint32_t i) {
    for (uint32_t j = i + 1; j < plan->n_steps; j++)
        if (plan->steps[j].jump < 0 && (int64_t)j + plan->steps[j].jump <= (int64_t)i) i = j;
    return i;
}

wick_status wick_plan_note_outputs(wick_plan *plan) {
    plan->done = wick_arena_zalloc(&plan->arena, ((size_t)plan->n_out + 1) * sizeof *plan->done);
    if (!plan->done) return wick_msg_set(&plan->ctx->msg, WICK_ERR_NOMEM, "out of memory while planning");
    for (int k = 0; k < plan->n_out; k++) plan->done[k].output = k;
    for (size_t i = 0; i < plan->n_steps; i++)
        for (int k = 0; k < plan->steps[i].n_refs; k++) {
            const wick_buffer *b = &plan->buffers[plan->steps[i].refs[k].buffer];
            if (b->kind == WICK_BUFFER_OUTPUT && b->index < (uint32_t)plan->n_out)
                plan->done[b->index].step = (uint32_t)i;
        }
    for (int k = 0; k < plan->n_out; k++) plan->done[k].step = end_of_loops(plan, plan->done[k].step);
    qsort(plan->done, (size_t)plan->n_out, sizeof *plan->done, by_step);
    return WICK_OK;
}

int wick_plan_done_output(const wick_plan *plan, int i, double *predicted_ns) {
    double ns = 0;
    if (i < 0 || i >= plan->n_out) return -1;
    for (size_t k = 0; k <= plan->done[i].step && k < plan->n_steps; k++)
        ns += plan->predicted_ns[k] * (plan->steps[k].repeat ? plan->steps[k].repeat : 1);
    if (predicted_ns) *predicted_ns = ns;
    return plan->done[i].output;
}
