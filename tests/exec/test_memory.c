/* Memory: a compiled step calls no malloc, its arena is what the plan said, and every allocation may fail. */
#include <errno.h>
#include <sys/resource.h>

#include "base/counting_alloc.h"
#include "exec/mlp.h"
#include "zoo/training.h"

/* ---- the program's own malloc, counted: sanitizers bring one of their own ---------------------------------------- */

#if !TEST_SANITIZED
static _Atomic long mallocs;

/* glibc's own allocator under its other names. */
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *ptr, size_t size);
extern void *__libc_memalign(size_t align, size_t size);
#define COUNTED(type, name, params, call) \
    type name params;                     \
    type name params {                    \
        mallocs++;                        \
        return call;                      \
    }
COUNTED(void *, malloc, (size_t size), __libc_malloc(size))
COUNTED(void *, calloc, (size_t n, size_t size), __libc_calloc(n, size))
COUNTED(void *, realloc, (void *ptr, size_t size), __libc_realloc(ptr, size))
COUNTED(void *, aligned_alloc, (size_t align, size_t size), __libc_memalign(align, size))
COUNTED(void *, memalign, (size_t align, size_t size), __libc_memalign(align, size))
COUNTED(int, posix_memalign, (void **out, size_t align, size_t size),
        (*out = __libc_memalign(align, size)) ? 0 : ENOMEM)
static long mallocs_now(void) { return mallocs; }
#else
static long mallocs_now(void) { return 0; }
#endif

typedef struct tally {
    _Atomic long calls;
} tally;
static void *tally_alloc(void *user, size_t size, size_t align) {
    ((tally *)user)->calls++;
    void *p = NULL;
    return posix_memalign(&p, align, size ? size : 1) == 0 ? p : NULL;
}
static void tally_release(void *user, void *ptr, size_t size) {
    (void)user, (void)size;
    free(ptr);
}

TEST(no_malloc_while_a_compiled_step_runs) {
    for (int passes = 0; passes < 2; passes++) {
        tally count = {0};
        wick_allocator alloc = {&count, tally_alloc, tally_release};
        wick_context *ctx = context_with(&(wick_context_options){.threads = 3, .seed = 1, .allocator = &alloc});
        mlp net;
        mlp_init(&net, ctx, 0.2);
        wick_plan *plan = NULL;
        wick_workspace *ws = NULL;
        CHECK_OK(ctx, mlp_compile(&net, ctx, &(wick_compile_options){.no_passes = passes == 0}, &plan));
        REQUIRE(plan && wick_workspace_new(plan, &ws) == WICK_OK);
        static float x[MLP_BATCH * MLP_IN], loss;
        static int64_t labels[MLP_BATCH];
        mlp_batch(0, x, labels);
        const void *in[] = {x, labels};
        void *out[] = {&loss};
        CHECK_INT(wick_run(ws, in, out), WICK_OK); /* starts the pool's threads */
        wick_workspace_profile(ws, true);
        wick_workspace_deadline(ws, 3600ull * 1000000000);
        long calls = count.calls, before = mallocs_now(), failed = 0;
        CHECK(calls > 0);
#if !TEST_SANITIZED
        CHECK(before > 0); /* the counter counts */
#endif
        for (int i = 0; i < 50; i++) failed += wick_run(ws, in, i % 2 ? out : NULL) != WICK_OK;
        CHECK_INT(mallocs_now() - before, 0);
        CHECK_INT(count.calls - calls, 0);
        CHECK_INT(failed, 0);
        wick_workspace_free(&ws);
        wick_plan_free(&plan);
        wick_context_free(&ctx);
    }
}

TEST(no_malloc_while_a_step_of_a_convolutional_network_runs) {
    for (int i = 0; i < CONVNETS; i++) {
        tally count = {0};
        wick_allocator alloc = {&count, tally_alloc, tally_release};
        wick_context *ctx = context_with(&(wick_context_options){.threads = 3, .seed = 1, .allocator = &alloc});
        static float x[BATCH_MAX * SAMPLE_MAX], loss;
        static int64_t labels[BATCH_MAX];
        training t;
        if (training_open(&t, ctx, convnets[i].network, WICK_F32, convnets[i].dims, BATCH_MAX,
                          &(wick_optim_options){.kind = WICK_ADAM}) &&
            training_compile(&t, NULL)) {
            training_batch(&t, 0, x, labels);
            bool good = training_run(&t, x, labels, &loss); /* starts the pool's threads */
            const long calls = count.calls, before = mallocs_now();
            for (int step = 0; good && step < 5; step++) good = training_run(&t, x, labels, &loss);
            CHECK_INT(mallocs_now() - before, 0);
            CHECK_INT(count.calls - calls, 0);
        }
        training_close(&t);
    }
}

TEST(running_a_plan_leaves_peak_memory_where_it_was) {
    wick_context *ctx = context();
    mlp net;
    mlp_init(&net, ctx, 0.2);
    wick_plan *plan = NULL;
    wick_workspace *ws = NULL;
    CHECK_OK(ctx, mlp_compile(&net, ctx, NULL, &plan));
    REQUIRE(plan && wick_workspace_new(plan, &ws) == WICK_OK);
    float x[MLP_BATCH * MLP_IN], loss;
    int64_t labels[MLP_BATCH];
    mlp_batch(0, x, labels);
    struct rusage early, late;
    for (int i = 0; i < 20; i++) CHECK_INT(wick_run(ws, (const void *[]){x, labels}, (void *[]){&loss}), WICK_OK);
    getrusage(RUSAGE_SELF, &early);
    size_t held = wick_context_get_stats(ctx).tensor_bytes;
    for (int i = 0; i < 2000; i++)
        if (wick_run(ws, (const void *[]){x, labels}, (void *[]){&loss}) != WICK_OK) CHECK(false);
    getrusage(RUSAGE_SELF, &late);
    if (!TEST_SANITIZED)
        CHECK_MSG(late.ru_maxrss <= early.ru_maxrss + 256, "%ld kB, was %ld", late.ru_maxrss, early.ru_maxrss);
    CHECK_INT(wick_context_get_stats(ctx).tensor_bytes, (long long)held);
    wick_workspace_free(&ws);
    wick_plan_free(&plan);
    wick_context_free(&ctx);
}

/* ---- every allocation failed in turn ----------------------------------------------------------------------------- */

/* Fails the n-th request only: what comes after must cope with a gap as well as with nothing left. */
typedef struct gap {
    counting count;
    bool once;
} gap;
static void *gap_alloc(void *user, size_t size, size_t align) {
    gap *g = user;
    void *p = counting_alloc(&g->count, size, align);
    if (!p && g->once) g->count.fail_at = -1;
    return p;
}
static void gap_release(void *user, void *ptr, size_t size) { counting_release(&((gap *)user)->count, ptr, size); }

static bool is_clean(wick_status status, const char *text) {
    CHECK_MSG(status == WICK_OK || status == WICK_ERR_NOMEM, "%s: %s", wick_status_name(status), text);
    return status == WICK_OK;
}

/* Trains by run, compiles, runs; every failure must be out of memory. true: everything worked. */
static bool train_a_little(wick_context *ctx) {
    mlp net;
    float x[MLP_BATCH * MLP_IN], loss;
    int64_t labels[MLP_BATCH];
    mlp_batch(0, x, labels);
    bool good = true;
    wick_scope *scope = wick_scope_open(ctx);
    if (!scope) return is_clean(wick_context_status(ctx), wick_context_error(ctx));
    mlp_init(&net, ctx, 0.2);
    wick_tensor *l = mlp_step(&net, ctx, wick_from(ctx, WICK_F32, 2, mlp_specs[0].dims, x),
                              wick_from(ctx, WICK_I64, 1, mlp_specs[1].dims, labels), wick_scalar(ctx, WICK_F32, 0.01));
    double v;
    wick_tensor *row = wick_slice(net.param[0], 0, 0, 1, 1);
    good &= is_clean(l ? wick_check_finite(l) : wick_context_status(ctx), wick_context_error(ctx)) && l;
    good &= is_clean(wick_assign(row, wick_neg(row)), wick_context_error(ctx));
    if (l) good &= is_clean(wick_item(l, &v), wick_context_error(ctx));
    good &= is_clean(wick_eval(ctx, 0, NULL, NULL), wick_context_error(ctx));
    const void *p;
    good &= is_clean(wick_data(wick_transpose(net.param[0], 0, 1), &p), wick_context_error(ctx));
    wick_plan *plan = NULL;
    wick_workspace *ws = NULL;
    wick_status status = mlp_compile(&net, ctx, NULL, &plan);
    CHECK((plan != NULL) == (status == WICK_OK));
    good &= is_clean(status, wick_context_error(ctx));
    if (plan) {
        status = wick_workspace_new(plan, &ws);
        CHECK((ws != NULL) == (status == WICK_OK));
        good &= is_clean(status, "workspace");
        for (int i = 0; ws && i < 2; i++)
            good &= is_clean(wick_run(ws, (const void *[]){x, labels}, (void *[]){&loss}), wick_workspace_error(ws));
    }
    wick_workspace_free(&ws);
    wick_plan_free(&plan);
    wick_scope_close(&scope);
    return good;
}

static void fail_in_turn(bool once, int64_t stride) {
    for (int64_t n = 0;; n += stride) {
        gap g = {{.fail_at = n}, once};
        wick_allocator alloc = {&g, gap_alloc, gap_release};
        wick_context *ctx = NULL;
        wick_status status =
            wick_context_new(&(wick_context_options){.threads = 1, .seed = 1, .allocator = &alloc}, &ctx);
        bool good = status == WICK_OK;
        if (!good) {
            CHECK(ctx == NULL);
            CHECK_INT(status, WICK_ERR_NOMEM);
        } else {
            good = train_a_little(ctx);
            bool failed = g.count.calls > n;
            CHECK_MSG(good == !failed, "allocation %lld %s, training %s", (long long)n,
                      failed ? "failed" : "was not reached", good ? "worked" : "failed");
            g.count.fail_at = -1;
            if (wick_eval(ctx, 0, NULL, NULL) != WICK_OK) CHECK_OK(ctx, wick_eval(ctx, 0, NULL, NULL));
            CHECK_MSG(train_a_little(ctx), "allocation %lld: the context is no longer usable: %s", (long long)n,
                      wick_context_error(ctx));
        }
        int64_t calls = g.count.calls;
        wick_context_free(&ctx);
        CHECK_MSG(g.count.live == 0 && g.count.live_bytes == 0, "allocation %lld: %lld blocks leaked", (long long)n,
                  (long long)g.count.live);
        if (test_fails > 8) return;
        if (status == WICK_OK && n > calls) return;
    }
}

TEST(every_allocation_may_fail_once) { fail_in_turn(true, 1); }
TEST(everything_after_any_allocation_may_fail) { fail_in_turn(false, 1); }

int main(int argc, char **argv) { return test_main(argc, argv); }
