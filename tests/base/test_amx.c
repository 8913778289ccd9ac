/* Whether tiles (Intel AMX) may be used: by made-up CPUs, and by this one in threads, children, and where the question
 * is refused. */
#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/base.h"
#include "base/cpu.h"
#include "test.h"

#if defined(__linux__) && defined(__x86_64__)
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#endif

TEST(amx_is_read_from_its_bits) {
    const uint32_t all = 1u << 22 | 1u << 24 | 1u << 25, row = 8u << 16 | 64, rows = 16;
    CHECK_INT(wick_amx_of_cpuid(all, 0x602e7, row, rows), WICK_AMX);
    CHECK_INT(wick_amx_of_cpuid(~0u, ~0ull, row, rows), WICK_AMX);
    CHECK_INT(wick_amx_of_cpuid(0, ~0ull, row, rows), 0);
    for (int bit = 22; bit <= 25; bit++)
        CHECK_INT(wick_amx_of_cpuid(all & ~(1u << bit), ~0ull, row, rows), bit == 23 ? WICK_AMX : 0);
    CHECK_INT(wick_amx_of_cpuid(all, 0x2e7, row, rows), 0); /* the system saves no tiles, */
    CHECK_INT(wick_amx_of_cpuid(all, 0x202e7, row, rows), 0); /* or their configuration alone */
    CHECK_INT(wick_amx_of_cpuid(all, ~0ull, 8u << 16 | 32, rows), 0);
    CHECK_INT(wick_amx_of_cpuid(all, ~0ull, 4u << 16 | 64, rows), 0);
    CHECK_INT(wick_amx_of_cpuid(all, ~0ull, row, 8), 0);
}

static void *asked(void *permitted) {
    *(bool *)permitted = wick_amx_permitted();
    return NULL;
}
static int in_a_child(void (*before)(void)) {
    int status = 0;
    const pid_t pid = fork();
    if (pid == 0) {
        if (before) before();
        _exit(wick_amx_permitted());
    }
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}
#if defined(__linux__) && defined(__x86_64__)
static void refuse(void) {
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_arch_prctl, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {sizeof code / sizeof *code, code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) _exit(2);
}
#endif

/* Before anything in this process has asked. */
TEST(a_refused_question_means_no_tiles) {
#if defined(__linux__) && defined(__x86_64__)
    const int got = in_a_child(refuse);
    if (got == 2) SKIP("no filters of system calls here");
    CHECK_INT(got, 0);
#else
    SKIP("Linux on x86-64 alone has the question");
#endif
}
TEST(threads_and_children_get_one_answer) {
    enum { THREADS = 4 };
    pthread_t ids[THREADS];
    bool permitted[THREADS];
    const int child = in_a_child(NULL); /* which asks itself */
    for (int i = 0; i < THREADS; i++) REQUIRE(pthread_create(&ids[i], NULL, asked, &permitted[i]) == 0);
    for (int i = 0; i < THREADS; i++) pthread_join(ids[i], NULL);
    for (int i = 0; i < THREADS; i++) CHECK_INT(permitted[i], wick_amx_permitted());
    CHECK_INT(child, wick_amx_permitted());
    CHECK_INT(in_a_child(NULL), wick_amx_permitted()); /* which inherits it */
    if (!wick_amx_found()) CHECK(!wick_amx_permitted());
}

int main(int argc, char **argv) { return test_main(argc, argv); }
