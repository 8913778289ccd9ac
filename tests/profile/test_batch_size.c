/* Sizes of batches: what is found of a plan whose cost is known, and the knee beside another implementation. */
#include "base/base.h"
#include "context.h"
#include "golden/knees.h"
#include "test.h"
#include "wick/batch_size.h"
#include "wick/ops.h"

TEST(knees_are_those_of_kneed) {
    double x[12];
    for (int i = 0; i < 12; i++) x[i] = i;
    for (size_t i = 0; i < WICK_COUNTOF(golden_knees); i++) {
        const int knee = wick_knee(golden_knees[i].n, x, golden_knees[i].y);
        CHECK_MSG(knee == golden_knees[i].knee, "curve %zu: %d, kneed has %d", i, knee, golden_knees[i].knee);
    }
    CHECK_INT(WICK_COUNTOF(golden_knees), 100);
    CHECK_INT(wick_knee(2, x, x), -1);
    CHECK_INT(wick_knee(12, x, (double[12]){0}), -1);
}

typedef struct makes {
    wick_context *ctx;
    int plans, dropped;
} makes;
static wick_status record(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx, (void)user;
    out[0] = wick_sum(wick_exp(in[0]), WICK_AXES(1), false);
    return WICK_OK;
}
static wick_status make(void *user, int64_t batch, wick_plan **plan) {
    makes *m = user;
    const wick_spec in = {.name = "x", .dtype = WICK_F32, .rank = 2, .dims = {batch, 1000}};
    m->plans++;
    return wick_compile(m->ctx, record, NULL, 1, &in, 1, NULL, plan);
}
static void drop(void *user, wick_plan *plan) {
    ((makes *)user)->dropped++;
    wick_plan_free(&plan);
}

TEST(sizes_are_swept_counted_and_timed) {
    makes m = {.ctx = new_context(.threads = 1)};
    wick_batch_sizes s;
    const wick_batch_search search = {.most = 100, .seconds = 0.002, .latency = 1};
    REQUIRE(wick_find_batch(m.ctx, make, drop, &m, &search, &s) == WICK_OK);
    static const int64_t sizes[] = {1, 2, 4, 8, 16, 32, 64, 100};
    CHECK_INT(s.n, 8);
    CHECK_INT(m.plans, 8);
    CHECK_INT(m.dropped, 8);
    double best = 0;
    for (int i = 0; i < s.n; i++) {
        const wick_batch_result *r = &s.at[i];
        CHECK_INT(r->batch, sizes[i]);
        CHECK(r->bytes >= (size_t)r->batch * 1001 * 4 && r->bytes < (size_t)r->batch * 1001 * 4 + 65536);
        CHECK(r->runs >= 1 && r->median > 0 && r->p95 >= r->median && r->fits && r->in_time && r->predicted > 0);
        CHECK(fabs(r->samples_per_second * r->median / (double)r->batch - 1) < 1e-9);
        if (r->samples_per_second > best) best = r->samples_per_second;
    }
    REQUIRE(s.chosen >= 0);
    CHECK(s.at[s.chosen].samples_per_second == best && s.at[s.chosen].efficiency == 1);
    CHECK_INT(s.by_formula, 2); /* twice one thread */
    wick_context_free(&m.ctx);
}

TEST(what_does_not_fit_is_not_run) {
    makes m = {.ctx = new_context(.threads = 1)};
    wick_batch_sizes s;
    REQUIRE(wick_find_batch(m.ctx, make, NULL, &m, &(wick_batch_search){.memory = 40000, .seconds = 0.001}, &s) ==
            WICK_OK);
    CHECK_INT(s.memory, 40000);
    CHECK(s.n >= 3 && !s.at[s.n - 1].fits && !s.at[s.n - 1].runs && s.at[s.n - 2].fits && s.at[s.n - 2].runs);
    CHECK(s.chosen >= 0 && s.chosen < s.n - 1);
    /* nothing is in time: none is chosen */
    REQUIRE(wick_find_batch(m.ctx, make, NULL, &m, &(wick_batch_search){.latency = 1e-9, .seconds = 0.001}, &s) ==
            WICK_OK);
    CHECK_INT(s.chosen, -1);
    CHECK(s.at[0].runs > 0 && !s.at[s.n - 1].runs); /* the rest follows from the first ones */
    CHECK_INT(wick_find_batch(m.ctx, make, NULL, &m, &(wick_batch_search){.least = -1}, &s), WICK_ERR_INVALID);
    CHECK_INT(wick_find_batch(m.ctx, make, NULL, &m, &(wick_batch_search){.memory_part = 2}, &s), WICK_ERR_INVALID);
    CHECK_INT(wick_find_batch(m.ctx, NULL, NULL, &m, NULL, &s), WICK_ERR_INVALID);
    CHECK(wick_memory_available() > 1 << 20);
    wick_context_free(&m.ctx);
}

/* A context's own limit counts as the machine's does; whatever fails to be allocated would end the search. */
TEST(no_allocation_fails_within_a_limit) {
    for (size_t limit = 3 << 20; limit <= 48 << 20; limit *= 4) {
        makes m = {.ctx = new_context(.threads = 2, .max_memory = limit)};
        wick_batch_sizes s;
        const wick_batch_search search = {.most = 1 << 20, .seconds = 0.001, .latency = 1000};
        CHECK_INT(wick_find_batch(m.ctx, make, NULL, &m, &search, &s), WICK_OK);
        CHECK(s.memory < 0.9 * (double)limit && s.memory > 0.5 * (double)limit);
        REQUIRE(s.n >= 8 && s.n < WICK_BATCH_SIZES);
        const wick_batch_result *last = &s.at[s.n - 1], *largest = last - 1;
        CHECK(!last->fits && !last->runs && last->bytes > s.memory);
        CHECK(largest->fits && largest->runs >= 1 && largest->bytes <= s.memory);
        wick_context_free(&m.ctx);
    }
}

int main(int argc, char **argv) { return test_main(argc, argv); }
