/* build.c: from what was walked to a plan: copy, passes, lowering, memory. */
#include "exec/exec.h"

static wick_status note_types(wick_plan *plan) {
    plan->shown = wick_arena_zalloc(&plan->arena, (plan->n_buffers + 1) * sizeof *plan->shown);
    if (!plan->shown) return wick_msg_set(&plan->ctx->msg, WICK_ERR_NOMEM, "out of memory while planning");
    for (size_t i = 0; i < plan->graph->n; i++)
        for (int k = 0; k < plan->graph->nodes[i]->n_out; k++) {
            const wick_operand *at = &plan->operands[plan->graph->nodes[i]->out[k].id];
            if (at->type && !plan->shown[at->buffer] && wick_type_bytes(at->type) == plan->buffers[at->buffer].size) plan->shown[at->buffer] = at->type;
        }
    return WICK_OK;
}

static wick_status build(wick_plan *plan, const wick_walk *w, size_t n, const wick_wanted *wanted, const wick_layout *leaf_layouts, bool optimise) {
    wick_context *ctx = plan->ctx;
    wick_msg *msg = &ctx->msg;
    plan->graph = wick_graph_from_walk(ctx, &plan->arena, w, n, wanted);
    if (!plan->graph) return wick_msg_set(msg, WICK_ERR_NOMEM, "out of memory while planning");
    WICK_TRY(wick_run_passes(plan->graph, optimise, msg));
    /* Op by op, states are written by copies at the very end: a check after any op can still stop the run. */
    for (size_t i = 0; !optimise && i < plan->graph->n; i++) plan->graph->nodes[i]->phase = 0;
    wick_lower l = {.ctx = ctx, .graph = plan->graph, .arena = &plan->arena, .msg = msg};
    WICK_TRY(wick_lower_graph(&l, leaf_layouts));
    l.node = NULL;
    WICK_TRY(wick_plan_memory(&l, &plan->arena_bytes, &plan->live_bytes));
    plan->buffers = l.buffers;
    plan->n_buffers = l.n_buffers;
    plan->steps = l.steps;
    plan->n_steps = l.n_steps;
    plan->operands = l.operands;
    plan->results = l.results;
    plan->n_results = l.n_results;
    for (size_t i = 0; i < plan->n_steps; i++) {
        plan->scratch = WICK_MAX(plan->scratch, WICK_ALIGN_UP(plan->steps[i].scratch, WICK_ALIGN));
        const double times = plan->steps[i].repeat ? plan->steps[i].repeat : 1;
        plan->flops += times * plan->steps[i].flops;
        plan->bytes += times * plan->steps[i].bytes;
    }
    return note_types(plan);
}

wick_status wick_plan_build(wick_context *ctx, const wick_walk *w, size_t n, const wick_wanted *wanted, const wick_layout *leaf_layouts,
                            bool optimise, wick_plan **out) {
    *out = NULL;
    wick_plan *plan = wick_calloc(&ctx->alloc, sizeof *plan);
    if (!plan) return wick_msg_set(&ctx->msg, WICK_ERR_NOMEM, "out of memory while planning");
    plan->ctx = ctx;
    plan->alloc = ctx->alloc;
    plan->n_leaves = w->n_leaves;
    plan->n_slots = w->n_slots;
    wick_arena_init(&plan->arena, &plan->alloc, 16 * 1024);
    wick_status status = build(plan, w, n, wanted, leaf_layouts, optimise);
    ctx->target = NULL; /* also after a failure in the middle of a pass */
    if (status != WICK_OK) {
        wick_plan_release(plan);
        return status;
    }
    ctx->plans_built++;
    *out = plan;
    return WICK_OK;
}

void wick_plan_release(wick_plan *plan) {
    if (!plan) return;
    wick_memory_free(plan, &plan->memory);
    for (size_t i = 0; plan->bindings && i < plan->n_leaves; i++) {
        wick_tensor_free(&plan->bindings[i].state);
        wick_array_unref(plan->bindings[i].array);
    }
    wick_release(&plan->alloc, plan->key, plan->n_key);
    wick_arena_free(&plan->arena);
    wick_allocator alloc = plan->alloc;
    wick_release(&alloc, plan, sizeof *plan);
}
