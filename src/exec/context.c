/* context.c: making and freeing contexts. */
#include <stdlib.h>

#include "exec/exec.h"
#include "kernels/gemm/amx.h"
#include "kernels/tuning.h"
#include "ops/lowering/native.h"
#include "runtime/memory_pool.h"

static const char oom_text[] = "out of memory";

/* ---- a limit of memory ------------------------------------------------------------------------------------------- */

static void *counted_alloc(void *user, size_t size, size_t align) {
    wick_budget *b = user;
    size_t used = atomic_load_explicit(&b->used, memory_order_relaxed);
    do
        if (size > b->max || used > b->max - size) return NULL;
    while (!atomic_compare_exchange_weak_explicit(&b->used, &used, used + size, memory_order_relaxed,
                                                  memory_order_relaxed));
    void *ptr = b->alloc.alloc(b->alloc.user, size, align);
    if (!ptr) atomic_fetch_sub_explicit(&b->used, size, memory_order_relaxed);
    return ptr;
}
static void counted_release(void *user, void *ptr, size_t size) {
    wick_budget *b = user;
    b->alloc.release(b->alloc.user, ptr, size);
    atomic_fetch_sub_explicit(&b->used, size, memory_order_relaxed);
}

/* ---- a limit of time --------------------------------------------------------------------------------------------- */

wick_watch wick_context_watch(wick_context *ctx, uint64_t deadline) {
    const wick_watch was = ctx->watch;
    if (!deadline || (was.deadline && was.deadline < deadline)) deadline = was.deadline;
    ctx->watch = (wick_watch){.deadline = deadline, .cancel = ctx->options.cancel, .user = ctx->options.cancel_user};
    return was;
}
wick_status wick_context_spend(wick_context *ctx, size_t units, wick_msg *msg) {
    if (WICK_LIKELY(wick_watch_spend(&ctx->watch, units))) return WICK_OK;
    return wick_msg_set(msg, ctx->watch.over,
                        ctx->watch.over == WICK_ERR_CANCELLED ? "cancelled by the host"
                                                              : "takes longer than its deadline");
}

wick_status wick_context_new(const wick_context_options *options, wick_context **out) {
    if (!out) return WICK_ERR_INVALID;
    static const wick_context_options defaults;
    if (!options) options = &defaults;
    *out = NULL;
    const wick_allocator *alloc = options->allocator ? options->allocator : wick_allocator_default();
    wick_context *ctx = wick_calloc(alloc, sizeof *ctx);
    if (!ctx) return WICK_ERR_NOMEM;
    ctx->own = ctx->alloc = *alloc;
    ctx->options = *options;
    wick_status placed = wick_place_memory(ctx, &options->placement);
    if (placed == WICK_OK) placed = wick_place_pool(ctx, options->memory_pool);
    if (placed != WICK_OK) {
        wick_release(alloc, ctx->numa, sizeof *ctx->numa);
        wick_release(alloc, ctx, sizeof *ctx);
        return placed;
    }
    ctx->budget.alloc = ctx->alloc;
    ctx->budget.max = options->max_memory;
    wick_recycle_init(&ctx->recycle, &ctx->alloc);
    if (options->max_memory)
        ctx->alloc = (wick_allocator){&ctx->budget, counted_alloc, counted_release};
    else if (!options->allocator && !ctx->memory_pool && !WICK_ADDRESS_SANITIZER)
        ctx->alloc = wick_recycle_allocator(&ctx->recycle);
    if (options->track_memory && wick_memory_uses_new(ctx) != WICK_OK) {
        wick_recycle_free(&ctx->recycle);
        wick_mempool_free(&ctx->memory_pool);
        wick_release(alloc, ctx->numa, sizeof *ctx->numa);
        wick_release(alloc, ctx, sizeof *ctx);
        return WICK_ERR_NOMEM;
    }
    ctx->options.allocator = &ctx->alloc;
    ctx->tuning = wick_tuning_whole(options->tuning);
    ctx->options.tuning = &ctx->tuning;
    /* plans that could be made again do not take memory from what is to be computed */
    if (!ctx->options.plan_cache_bytes) {
        ctx->options.plan_cache_bytes = (size_t)64 << 20;
        if (options->max_memory)
            ctx->options.plan_cache_bytes = WICK_MIN(ctx->options.plan_cache_bytes, options->max_memory / 4);
    }
    if (!ctx->options.max_pending) ctx->options.max_pending = 1000000;
    const char *eager = getenv("WICK_EAGER");
    if (eager && eager[0] == '1') ctx->options.eager = true;
    static const char *const precisions[] = {"highest", "split", "high", "medium"};
    const char *precision = getenv("WICK_F32");
    for (int i = 1; precision && !ctx->options.f32_precision && i < (int)WICK_COUNTOF(precisions); i++)
        if (strcmp(precision, precisions[i]) == 0) ctx->options.f32_precision = (wick_f32_precision)i;
    if ((unsigned)ctx->options.f32_precision > WICK_F32_MEDIUM) ctx->options.f32_precision = WICK_F32_HIGHEST;
    const char *jit = getenv("WICK_JIT");
    static const char *const modes[] = {[WICK_JIT_OFF] = "0", [WICK_JIT_ON] = "1", [WICK_JIT_WAIT] = "wait"};
    for (int i = 0; jit && i < (int)WICK_COUNTOF(modes); i++)
        if (strcmp(jit, modes[i]) == 0) ctx->options.jit = (wick_jit_mode)i;
    if ((unsigned)ctx->options.jit > WICK_JIT_WAIT) ctx->options.jit = WICK_JIT_OFF;
    wick_slab_init(&ctx->slab, &ctx->alloc);
    ctx->frame = &ctx->root_frame;
    ctx->seed = options->seed;
    ctx->eval_pending = wick_eval_pending;
    wick_str s = wick_str_on(ctx->numerics, sizeof ctx->numerics);
    wick_str_add(&s, "tier=%s;gemm=4;reduce=2;math=3;denormals=flush", wick_tier_name(wick_tier_current()));
    if (wick_amx_now())
        wick_str_add(&s, ";amx%s",
                     (const char *[]){"", ";f32=bf16x6", ";f32=bf16x3", ";f32=bf16x1"}[ctx->options.f32_precision]);

    /* The poison of running out of memory must exist before memory runs out. */
    ctx->nomem_error = wick_alloc(&ctx->alloc, sizeof(wick_error) + sizeof oom_text);
    ctx->reached = wick_calloc(&ctx->alloc, sizeof *ctx->reached);
    wick_status status = ctx->nomem_error && ctx->reached ? WICK_OK : WICK_ERR_NOMEM;
    if (ctx->nomem_error) {
        *ctx->nomem_error = (wick_error){1, WICK_ERR_NOMEM, sizeof(wick_error) + sizeof oom_text};
        memcpy(ctx->nomem_error->text, oom_text, sizeof oom_text);
    }
    ctx->nomem = (wick_tensor){.ctx = ctx, .error = ctx->nomem_error, .refs = 1};
    if (status == WICK_OK) status = wick_place_threads(ctx, &options->placement, options->threads);
    ctx->options.memory_pool = NULL; /* copied */
    ctx->options.placement = (wick_placement){
        .pin = options->placement.pin, .numa = options->placement.numa, .balance = options->placement.balance};
    if (status == WICK_OK && !wick_scope_open(ctx)) status = WICK_ERR_NOMEM;
    if (status == WICK_OK) status = wick_jit_open(&ctx->jit, ctx->options.jit, options->jit_folder);
    ctx->options.jit_folder = NULL; /* copied */
    if (status == WICK_OK && *ctx->note && ctx->options.log) ctx->options.log(ctx->options.log_user, ctx->note);
    if (status != WICK_OK)
        wick_context_free(&ctx);
    else
        *out = ctx;
    return status;
}

void wick_context_free(wick_context **context) {
    wick_context *ctx = context ? *context : NULL;
    if (!ctx) return;
    *context = NULL;
    wick_context_release_all(ctx);
    wick_cache_free(ctx);
    wick_jit_close(&ctx->jit);
    wick_customs_free(ctx);
    wick_pool_free(&ctx->pool);
    if (ctx->reached) wick_walk_free(ctx, ctx->reached);
    wick_allocator alloc = ctx->alloc;
    wick_release(&alloc, ctx->reached, sizeof *ctx->reached);
    wick_release(&alloc, ctx->nomem_error, sizeof(wick_error) + sizeof oom_text);
    wick_slab_free(&ctx->slab);
    if (ctx->texts.slots) wick_arena_free(&ctx->texts.arena);
    wick_release(&alloc, ctx->texts.table, ctx->texts.slots * sizeof *ctx->texts.table);
    wick_memory_uses_free(ctx->uses);
    wick_recycle_free(&ctx->recycle);
    alloc = ctx->own; /* the context itself is not counted */
    wick_mempool_free(&ctx->memory_pool);
    wick_release(&alloc, ctx->numa, sizeof *ctx->numa);
    wick_release(&alloc, ctx, sizeof *ctx);
}

const char *wick_context_error(const wick_context *ctx) {
    const bool full = ctx->msg.status == WICK_ERR_NOMEM && ctx->memory_pool;
    const char *why = full ? wick_mempool_refusal(ctx->memory_pool) : "";
    return *why ? why : ctx->msg.text;
}
wick_status wick_context_status(const wick_context *ctx) { return ctx->msg.status; }
void wick_context_clear_error(wick_context *ctx) {
    ctx->msg.status = WICK_OK;
    ctx->msg.text[0] = 0;
}
wick_status wick_context_fail(wick_context *ctx, wick_status status, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    wick_msg_setv(&ctx->msg, status, fmt, args);
    va_end(args);
    return status;
}
int wick_context_threads(const wick_context *ctx) { return wick_pool_threads(ctx->pool); }
const char *wick_context_numerics(const wick_context *ctx) { return ctx->numerics; }
void wick_context_random(const wick_context *ctx, uint64_t *seed, uint64_t *next_stream) {
    if (seed) *seed = ctx->seed;
    if (next_stream) *next_stream = ctx->root_frame.next_stream;
}
void wick_context_set_pictures(wick_context *ctx, wick_pictures pictures) { ctx->options.pictures = pictures; }
wick_pictures wick_context_pictures(const wick_context *ctx) { return ctx->options.pictures; }

void wick_context_set_random(wick_context *ctx, uint64_t seed, uint64_t next_stream) {
    ctx->seed = seed;
    ctx->root_frame.next_stream = next_stream;
}
