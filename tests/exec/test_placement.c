/* Where threads and memory are: pinned as asked for within the mask, the same bits everywhere, and refusals are notes.
 */
#include "context.h"
#include "exec/exec.h"
#include "runtime/topology.h"
#include "test.h"
#include "wick/ops.h"

#if defined(__linux__)
#include <dirent.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#endif

enum { N = 384 };

/* A product and a sum over it, computed by the context's threads, in out[N]. */
static bool compute(wick_context *ctx, float *out) {
    wick_scope *scope = wick_scope_open(ctx);
    const int64_t dims[] = {N, N};
    wick_tensor *a = wick_random_normal(ctx, WICK_F32, 2, dims), *b = wick_random_normal(ctx, WICK_F32, 2, dims);
    wick_tensor *y = wick_sum(wick_tanh(wick_matmul(a, b)), 1, (const int[]){1}, false);
    const void *data = NULL;
    const bool ok = wick_data(y, &data) == WICK_OK;
    if (ok) memcpy(out, data, N * sizeof *out);
    wick_scope_close(&scope);
    return ok;
}

TEST(every_placement_gives_the_same_bits) {
    static const wick_placement places[] = {{0},
                                            {.pin = WICK_PIN_COMPACT},
                                            {.pin = WICK_PIN_SCATTER, .numa = WICK_NUMA_FIRST_TOUCH},
                                            {.pin = WICK_PIN_LIST, .cpus = "0-8191"},
                                            {.numa = WICK_NUMA_BIND},
                                            {.numa = WICK_NUMA_INTERLEAVE, .nodes = "0"}};
    float first[N], now[N];
    for (size_t i = 0; i < WICK_COUNTOF(places); i++) {
        wick_context *ctx = new_context(.threads = 3, .seed = 7, .placement = places[i]);
        REQUIRE(ctx);
        REQUIRE(compute(ctx, i ? now : first));
        if (i) CHECK_MSG(memcmp(first, now, sizeof now) == 0, "placement %zu", i);
        wick_context_free(&ctx);
    }
}

TEST(a_placement_that_is_none_is_refused) {
    static const wick_placement places[] = {{.pin = (wick_pin)9},
                                            {.numa = (wick_numa)-1},
                                            {.pin = WICK_PIN_LIST},
                                            {.pin = WICK_PIN_LIST, .cpus = ""},
                                            {.pin = WICK_PIN_LIST, .cpus = "3-1"},
                                            {.numa = WICK_NUMA_BIND, .nodes = "x"},
                                            {.numa = WICK_NUMA_BIND, .nodes = ""}};
    for (size_t i = 0; i < WICK_COUNTOF(places); i++) {
        wick_context *ctx = NULL;
        CHECK_INT(wick_context_new(&(wick_context_options){.placement = places[i]}, &ctx), WICK_ERR_INVALID);
        CHECK(ctx == NULL);
    }
}

static void remember(void *user, const char *text) { snprintf(user, 256, "%s", text); }

TEST(what_is_not_here_is_a_note_and_the_host_hears_of_it) {
    char heard[256] = "";
    wick_context *ctx =
        new_context(.threads = 2, .log = remember, .log_user = heard,
                    .placement = {.pin = WICK_PIN_LIST, .cpus = "8000-8001", .numa = WICK_NUMA_BIND, .nodes = "900"});
    REQUIRE(ctx);
    CHECK_STR_HAS(wick_context_placement_note(ctx), "of CPUs 8000-8001 this process may use 0 of 2");
    CHECK_STR_HAS(wick_context_placement_note(ctx), "NUMA bind: ");
    CHECK(strcmp(heard, wick_context_placement_note(ctx)) == 0);
    float out[N];
    CHECK(compute(ctx, out));
    wick_context_free(&ctx);
    ctx = new_context(.allocator = wick_allocator_default(), .placement = {.numa = WICK_NUMA_INTERLEAVE});
    REQUIRE(ctx);
    CHECK_STR_HAS(wick_context_placement_note(ctx), "the memory is the host's");
    wick_context_free(&ctx);
}

#if defined(__linux__)
/* How many threads called wick-N may run on exactly one CPU, and how many there are. */
static int pinned_workers(int *all) {
    int pinned = 0;
    *all = 0;
    DIR *d = opendir("/proc/self/task");
    for (struct dirent *e; d && (e = readdir(d));) {
        char path[64], name[32] = "";
        snprintf(path, sizeof path, "/proc/self/task/%.16s/comm", e->d_name);
        FILE *f = fopen(path, "r");
        if (!f) continue;
        const bool read = fgets(name, sizeof name, f) != NULL;
        fclose(f);
        cpu_set_t set;
        if (!read || strncmp(name, "wick-", 5) != 0) continue;
        ++*all;
        pinned += sched_getaffinity(atoi(e->d_name), sizeof set, &set) == 0 && CPU_COUNT(&set) == 1;
    }
    if (d) closedir(d);
    return pinned;
}

TEST(each_thread_is_on_one_cpu_and_the_caller_is_not_touched) {
    int all = 0;
    cpu_set_t before, after;
    REQUIRE(sched_getaffinity(0, sizeof before, &before) == 0);
    for (int pin = WICK_PIN_NONE; pin <= WICK_PIN_SCATTER; pin++) {
        wick_context *ctx = new_context(.threads = 4, .placement = {.pin = (wick_pin)pin});
        REQUIRE(ctx);
        float out[N];
        REQUIRE(compute(ctx, out));
        const int pinned = pinned_workers(&all);
        CHECK_INT(all, 3);
        if (pin != WICK_PIN_NONE) CHECK_INT(pinned, 3); /* without, the pool moves sleepers by their masks */
        CHECK_STR_HAS(wick_context_placement_note(ctx), "");
        CHECK(*wick_context_placement_note(ctx) == 0);
        wick_context_free(&ctx);
    }
    REQUIRE(sched_getaffinity(0, sizeof after, &after) == 0);
    CHECK(CPU_EQUAL(&before, &after));
}

TEST(threads_are_as_many_as_the_list_or_all_but_one) {
    wick_cpu_set allowed;
    REQUIRE(wick_cpu_set_allowed(&allowed));
    wick_context *ctx = new_context(.placement = {.pin = WICK_PIN_LIST, .cpus = "0-8191"});
    REQUIRE(ctx);
    CHECK_INT(wick_context_threads(ctx), WICK_MIN(wick_cpu_set_count(&allowed), WICK_THREADS_MAX));
    wick_context_free(&ctx);
    ctx = new_context(.threads = -1);
    REQUIRE(ctx);
    CHECK_INT(wick_context_threads(ctx), WICK_MAX(wick_cpu_count() - 1, 1));
    wick_context_free(&ctx);
    CHECK_INT(wick_context_new(&(wick_context_options){.threads = -2}, &ctx), WICK_ERR_INVALID);
}

/* In a child whose system calls for placement are refused, as containers do: 0 if all went as it should. */
static int without_permission(void) {
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mbind, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_sched_setaffinity, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {.len = WICK_COUNTOF(rules), .filter = rules};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        return 77;
    wick_context *ctx =
        new_context(.threads = 3, .placement = {.pin = WICK_PIN_COMPACT, .numa = WICK_NUMA_FIRST_TOUCH});
    float out[N];
    int all = 0;
    if (!ctx || !compute(ctx, out)) return 1;
    if (!strstr(wick_context_placement_note(ctx),
                "threads are not pinned: the system refuses: Operation not permitted"))
        return 2;
    if (!strstr(wick_context_placement_note(ctx), "NUMA first touch: the system refuses: Operation not permitted"))
        return 3;
    (void)pinned_workers(&all);
    wick_context_free(&ctx);
    return all == 2 ? 0 : 4;
}

TEST(a_refusal_is_a_note_and_no_failure) {
    fflush(NULL);
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (!child) _exit(without_permission());
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child && WIFEXITED(status));
    if (WEXITSTATUS(status) == 77) SKIP("filters of system calls are not allowed here");
    CHECK_INT(WEXITSTATUS(status), 0);
}
#endif

int main(int argc, char **argv) { return test_main(argc, argv); }
