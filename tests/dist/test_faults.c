/* Ranks that die, hang, leave or never come: the others end in time, with an error that names them. */
#include "base/base.h"
#include "base/counting_alloc.h"
#include "ranks.h"

enum { VICTIM = 1 };

/* What the victim does after two good steps, at a third. */
typedef enum fault { KILLED, STOPPED, RETURNS } fault;

static wick_status step(wick_group *g) {
    static float v[5000];
    int first, end;
    WICK_TRY(wick_group_leaves(g, 8, &first, &end));
    WICK_TRY(wick_group_begin(g, 8, WICK_COUNTOF(v)));
    for (int leaf = first; leaf < end; leaf++) WICK_TRY(wick_group_add(g, leaf, v));
    return wick_group_finish(g, v);
}

static int fault_rank(wick_group *g, const void *arg, char text[RANK_TEXT]) {
    const fault what = *(const fault *)arg;
    if (!g) return 1;
    for (int i = 0; i < 2; i++)
        if (step(g) != WICK_OK) return 2;
    if (wick_group_rank(g) == VICTIM) {
        if (what == RETURNS) return 0;
        kill(getpid(), what == KILLED ? SIGKILL : SIGSTOP);
    }
    const uint64_t began = wick_now_ns();
    const wick_status status = step(g);
    snprintf(text, RANK_TEXT, "%.2f %d %s", (double)(wick_now_ns() - began) * 1e-9, (int)status, wick_group_error(g));
    return status == WICK_OK ? 3 : 0;
}

static void check_fault(fault what, int ranks, double timeout, wick_status status, double most, const char *why) {
    rank_run run = {.ranks = ranks, .timeout = timeout};
    REQUIRE(ranks_start(&run, fault_rank, &what));
    for (int r = 0; r < ranks; r++) {
        if (r == VICTIM) continue;
        const rank_end end = rank_wait(&run, r);
        CHECK_MSG(end.code == 0, "rank %d: %d %s", r, end.code, end.text);
        double seconds = 99;
        int got = 0;
        CHECK(sscanf(end.text, "%lf %d", &seconds, &got) == 2);
        CHECK_MSG(got == (int)status && seconds < most, "rank %d: %s", r, end.text);
        CHECK_STR_HAS(end.text, "group: finish: rank 1 ");
        CHECK_STR_HAS(end.text, why);
    }
    kill(run.pid[VICTIM], SIGKILL);
    rank_wait(&run, VICTIM);
}

TEST(a_killed_rank_is_named_at_once) {
    for (int ranks = 2; ranks <= 4; ranks++) check_fault(KILLED, ranks, 30, WICK_ERR_IO, 5, "is gone");
}
TEST(a_stopped_rank_is_named_after_the_timeout) {
    for (int ranks = 2; ranks <= 4; ranks++) check_fault(STOPPED, ranks, 1, WICK_ERR_DEADLINE, 6, "did not answer in");
}
TEST(a_rank_that_returns_early_is_named_at_once) {
    for (int ranks = 2; ranks <= 4; ranks++) check_fault(RETURNS, ranks, 30, WICK_ERR_IO, 5, "has left the group");
}

/* A broadcast goes along a tree: ranks that never wait for the one that is gone hear of it from those that do. */
static int broadcast_rank(wick_group *g, const void *arg, char text[RANK_TEXT]) {
    static char data[1 << 20];
    (void)arg;
    if (!g) return 1;
    if (wick_group_rank(g) == VICTIM) kill(getpid(), SIGKILL);
    const uint64_t began = wick_now_ns();
    wick_status status = wick_group_broadcast(g, 0, data, sizeof data);
    if (status == WICK_OK) status = wick_group_barrier(g);
    snprintf(text, RANK_TEXT, "%s", wick_group_error(g));
    return status == WICK_OK || wick_now_ns() - began > 10000000000u ? 3 : 0;
}
TEST(ranks_that_wait_for_others_hear_who_is_gone) {
    rank_end ends[RANKS_MOST];
    ranks_run(4, 30, broadcast_rank, NULL, ends);
    for (int r = 0; r < 4; r++) {
        if (r == VICTIM) continue;
        CHECK_MSG(ends[r].code == 0, "rank %d: %d %s", r, ends[r].code, ends[r].text);
        CHECK_STR_HAS(ends[r].text, ": rank 1 is gone");
    }
}

/* ---- at the start ------------------------------------------------------------------------------------------------ */

static int open_rank(wick_group *g, const void *arg, char text[RANK_TEXT]) {
    (void)arg, (void)text;
    return g != NULL;
}
/* Of three ranks one never opens: it ends, or it sleeps. */
static void check_start(bool sleeps, const char *why) {
    wick_context *ctx = new_context(.threads = 1);
    wick_group_host *host = NULL;
    rank_run run = {.ranks = 3, .start = 1};
    rank_end end;
    REQUIRE(wick_group_host_new(ctx, 3, &host) == WICK_OK);
    for (int r = 0; r < 3; r++) {
        int ends[2];
        REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
        run.out[r] = ends[1];
        fflush(stdout);
        run.pid[r] = fork();
        if (run.pid[r] == 0 && r != VICTIM) rank_body(&run, host, r, open_rank, NULL);
        if (run.pid[r] == 0) {
            CHECK(wick_group_host_enter(host, r) == WICK_OK);
            if (sleeps) sleep(30);
            _exit(0);
        }
        close(ends[1]);
        run.out[r] = ends[0];
    }
    wick_group_host_free(&host);
    for (int r = 0; r < 3; r++) {
        if (r == VICTIM) continue;
        end = rank_wait(&run, r);
        CHECK_MSG(end.code == 0, "rank %d: %d", r, end.code);
        CHECK_STR_HAS(end.text, why);
    }
    kill(run.pid[VICTIM], SIGKILL);
    rank_wait(&run, VICTIM);
    wick_context_free(&ctx);
}
TEST(a_rank_that_never_comes_is_named) {
    check_start(false, "rank 1 is gone: its process ended without joining the group");
    check_start(true, "open: rank 1 did not answer in 1 s");
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

TEST(every_allocation_may_fail) {
    for (int64_t n = 0; n < 200; n++) {
        counting c = {.fail_at = -1};
        const wick_allocator alloc = counting_allocator(&c);
        wick_context *ctx = NULL;
        wick_group *g = NULL;
        wick_group_host *host = NULL;
        float v[100] = {0};
        REQUIRE(wick_context_new(&(wick_context_options){.threads = 1, .allocator = &alloc}, &ctx) == WICK_OK);
        c.fail_at = c.calls + n;
        wick_status status = wick_group_host_new(ctx, 1, &host);
        if (status == WICK_OK) status = wick_group_open(ctx, &(wick_group_options){.host = host}, &g);
        if (status == WICK_OK && (status = wick_group_begin(g, 8, 100)) == WICK_OK) {
            for (int leaf = 0; leaf < 8; leaf++) CHECK(wick_group_add(g, leaf, v) == WICK_OK);
            CHECK(wick_group_finish(g, v) == WICK_OK);
        }
        const bool whole = c.calls <= c.fail_at;
        CHECK(whole ? status == WICK_OK : status == WICK_ERR_NOMEM);
        if (!whole && !g) CHECK_STR_HAS(wick_context_error(ctx), "out of memory");
        if (!whole && g) CHECK_STR_HAS(wick_group_error(g), "out of memory");
        c.fail_at = -1;
        wick_group_close(&g);
        wick_group_host_free(&host);
        wick_context_free(&ctx);
        CHECK_INT(c.live, 0);
        if (whole) break;
    }
}

static int short_rank(wick_group *g, const void *arg, char text[RANK_TEXT]) {
    (void)arg;
    if (!g) return 1;
    const bool short_of = wick_group_rank(g) == VICTIM;
    wick_status status = wick_group_begin(g, 8, short_of ? (size_t)1 << 62 : 100);
    if ((status != WICK_OK) != short_of) return 2;
    /* what failed on one rank alone broke nothing: it can tell the others */
    char mine = (char)short_of, all[RANKS_MOST];
    status = wick_group_gather(g, &mine, 1, all);
    snprintf(text, RANK_TEXT, "%s", wick_group_error(g));
    return status == WICK_OK && all[VICTIM] == 1 ? 0 : 3;
}
TEST(a_rank_without_memory_can_say_so) {
    rank_end ends[RANKS_MOST];
    ranks_run(3, 30, short_rank, NULL, ends);
    for (int r = 0; r < 3; r++) CHECK_MSG(ends[r].code == 0, "rank %d: %d %s", r, ends[r].code, ends[r].text);
    CHECK_STR_HAS(ends[VICTIM].text, "out of memory");
}

TEST(hosts_are_of_1_to_128_ranks_and_enter_once) {
    wick_context *ctx = new_context(.threads = 1);
    wick_group_host *host = NULL;
    CHECK(wick_group_host_new(ctx, 0, &host) == WICK_ERR_INVALID && !host);
    CHECK(wick_group_host_new(ctx, 129, &host) == WICK_ERR_INVALID && !host);
    CHECK_STR_HAS(wick_context_error(ctx), "129 ranks: 1 to 128");
    REQUIRE(wick_group_host_new(ctx, 128, &host) == WICK_OK);
    CHECK(wick_group_host_enter(host, 128) == WICK_ERR_INVALID);
    wick_group_host_free(&host);
    wick_group_host_free(&host);
    wick_context_free(&ctx);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
