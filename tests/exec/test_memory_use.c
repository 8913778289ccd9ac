/* What memory is for: sums by use, rows by place, and what grows. */
#include "context.h"
#include "test.h"
#include "wick/loader.h"
#include "wick/memory.h"
#include "wick/nn.h"

#include "exec/exec.h" /* behind the headers whose macros name lines */

static size_t sum_of_uses(const wick_context *ctx) {
    size_t sum = 0;
    for (int i = 0; wick_memory_use_at(ctx, i).name; i++) sum += wick_memory_use_at(ctx, i).bytes;
    return sum;
}
static wick_memory_use use(const wick_context *ctx, const char *name) {
    for (int i = 0;; i++) {
        const wick_memory_use u = wick_memory_use_at(ctx, i);
        if (!u.name || strcmp(u.name, name) == 0) return u;
    }
}

static wick_status record(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx;
    out[0] = wick_softmax(wick_matmul(wick_tanh(in[0]), user), 1);
    return WICK_OK;
}

TEST(uses_are_all_of_the_memory_to_the_byte) {
    wick_context *ctx = new_context(.threads = 2, .max_memory = (size_t)64 << 20, .track_memory = true);
    REQUIRE(ctx);
    const int64_t dims[] = {256, 256};
    wick_tensor *w = wick_keep(wick_full(ctx, WICK_F32, 2, dims, 0.5));
    REQUIRE(wick_eval(ctx, 1, &w, NULL) == WICK_OK);
    CHECK(use(ctx, "tensors").bytes >= 256 * 256 * 4 && use(ctx, "recorded nodes").bytes > 0);
    const wick_spec in = {.name = "x", .dtype = WICK_F32, .rank = 2, .dims = {64, 256}};
    wick_plan *plan = NULL;
    wick_workspace *ws = NULL;
    REQUIRE(wick_compile(ctx, record, w, 1, &in, 1, NULL, &plan) == WICK_OK);
    REQUIRE(wick_workspace_new(plan, &ws) == WICK_OK);
    CHECK(use(ctx, "plans").bytes > 1000);
    const wick_plan_info info = wick_plan_get_info(plan);
    CHECK(use(ctx, "workspaces").bytes >= info.arena_bytes + info.scratch_bytes);
    void *x = wick_buffer_new(ctx, 12345);
    CHECK(use(ctx, "buffers").bytes == 12345 && use(ctx, "buffers").blocks == 1);
    wick_buffer_free(ctx, x, 12345);
    CHECK(use(ctx, "buffers").bytes == 0 && use(ctx, "buffers").peak == 12345);
    float *rows = calloc(64 * 256, sizeof *rows);
    for (int i = 0; i < 3; i++) CHECK_INT(wick_run(ws, (const void *[]){rows}, NULL), WICK_OK);
    free(rows);
    CHECK_INT(sum_of_uses(ctx), wick_memory_all(ctx).bytes);
    CHECK_INT(wick_memory_all(ctx).bytes, atomic_load(&ctx->budget.used));
    CHECK(wick_memory_all(ctx).peak >= wick_memory_all(ctx).bytes);
    const int n = wick_memory_rows(ctx);
    size_t listed = 0;
    for (int i = 0; i < n; i++) listed += wick_memory_row_at(ctx, i).bytes;
    CHECK(n > 3 && listed == wick_memory_all(ctx).bytes);
    CHECK_STR_HAS(wick_memory_row_at(ctx, 0).place, "test_memory_use.c:");
    wick_workspace_free(&ws);
    wick_plan_free(&plan);
    CHECK_INT(use(ctx, "workspaces").bytes, 0);
    CHECK_INT(wick_memory_all(ctx).bytes, atomic_load(&ctx->budget.used));
    wick_tensor_free(&w);
    wick_context_free(&ctx);
}

/* One step of a program that keeps what it should not. */
static int leaking_line;
static void step(wick_context *ctx, bool leaks) {
    const int64_t dims[] = {128, 128};
    wick_scope *s = wick_scope_open(ctx);
    wick_tensor *x = wick_full(ctx, WICK_F32, 2, dims, 1), *y = NULL;
    leaking_line = __LINE__ + 1;
    y = wick_add(x, wick_exp(x));
    if (wick_eval(ctx, 1, &y, NULL) == WICK_OK && leaks) (void)wick_keep(y); /* 64 KiB that nobody frees */
    wick_scope_close(&s);
}

TEST(a_leak_has_the_name_of_its_line) {
    wick_context *ctx = new_context(.threads = 1, .track_memory = true);
    REQUIRE(ctx);
    for (int i = 0; i < 3; i++) step(ctx, false);
    REQUIRE(wick_memory_mark(ctx) == WICK_OK);
    for (int i = 0; i < 1000; i++) step(ctx, false);
    CHECK_INT(wick_memory_growth(ctx, 65536), 0);
    for (int i = 0; i < 100; i++) step(ctx, true);
    char place[64];
    snprintf(place, sizeof place, "test_memory_use.c:%d", leaking_line);
    REQUIRE(wick_memory_growth(ctx, 1 << 20) == 1);
    const wick_memory_row r = wick_memory_row_at(ctx, 0);
    CHECK_STR_HAS(r.place, place);
    CHECK_STR_HAS(r.use, "tensors");
    CHECK(r.grown >= 100 * 65536 && r.grown < 101 * 65536 && r.blocks >= 100);
    wick_context_free(&ctx);
}

TEST(a_context_that_does_not_track_says_so) {
    wick_context *ctx = new_context(.threads = 1);
    CHECK_INT(wick_memory_rows(ctx), -1);
    CHECK_STR_HAS(wick_context_error(ctx), "track_memory");
    CHECK_INT(wick_memory_mark(ctx), WICK_ERR_INVALID);
    CHECK_INT(wick_memory_growth(ctx, 1), -1);
    CHECK_INT(wick_memory_all(ctx).bytes, 0);
    CHECK(!wick_memory_use_at(ctx, 99).name && !*wick_memory_row_at(ctx, 0).place);
    wick_context_free(&ctx);
}

/* The table: blocks in any order, as malloc gives and takes them. */
static const char *nowhere(void) { return NULL; }
TEST(blocks_are_found_whatever_their_order) {
    enum { BLOCKS = 20000 };
    wick_tracker t;
    REQUIRE(wick_tracker_init(&t, wick_allocator_default(), nowhere) == WICK_OK);
    const wick_allocator a = wick_tracker_allocator(&t);
    static void *at[BLOCKS];
    static size_t size[BLOCKS];
    size_t bytes = 0, held = 0;
    for (int i = 0; i < 10 * BLOCKS; i++) {
        const int k = test_rand_int(0, BLOCKS - 1);
        if (at[k]) {
            wick_release(&a, at[k], size[k]);
            bytes -= size[k], held--;
            at[k] = NULL;
        } else {
            size[k] = (size_t)test_rand_int(1, 300);
            REQUIRE((at[k] = wick_alloc(&a, size[k])) != NULL);
            bytes += size[k], held++;
        }
    }
    CHECK_INT(t.all.bytes, bytes);
    CHECK_INT(t.used, held);
    for (int k = 0; k < BLOCKS; k++)
        if (at[k]) wick_release(&a, at[k], size[k]);
    CHECK(t.all.bytes == 0 && t.used == 0 && t.all.blocks == 0);
    wick_tracker_free(&t);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
