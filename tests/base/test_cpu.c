/* Tiers, CPU count, caches, denormal mode, clock. Tiers, cgroups and caches of other machines are made up. */
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cpu.h"
#include "base/made_files.h"
#include "wick/context.h"

#define ECX_AVX2   (1u << 0 | 1u << 9 | 1u << 12 | 1u << 19 | 1u << 20 | 1u << 23 | 1u << 27 | 1u << 28 | 1u << 29)
#define EBX_AVX2   (1u << 5 | 1u << 8)
#define EBX_AVX512 (EBX_AVX2 | 1u << 16 | 1u << 17 | 1u << 28 | 1u << 30 | 1u << 31)

TEST(tier_needs_every_feature_bit_and_the_os) {
    static const struct {
        wick_cpuid id;
        wick_tier tier;
    } machines[] = {
        {{0, 0, 0}, WICK_TIER_BASE},
        {{ECX_AVX2, EBX_AVX2, 0x7}, WICK_TIER_AVX2},
        {{~0u, ~0u, ~(uint64_t)0}, WICK_TIER_AVX512},
        {{ECX_AVX2, EBX_AVX512, 0xE7}, WICK_TIER_AVX512},
        {{ECX_AVX2, EBX_AVX512, 0x67}, WICK_TIER_AVX2}, /* the OS does not save zmm16-31 */
        {{ECX_AVX2, EBX_AVX512, 0x7}, WICK_TIER_AVX2},  /* the OS knows no AVX-512 */
        {{ECX_AVX2, EBX_AVX512, 0x3}, WICK_TIER_BASE},  /* the OS knows no AVX */
        {{ECX_AVX2, EBX_AVX512, 0xE1}, WICK_TIER_BASE}, /* AVX-512 state without AVX state is nonsense */
        {{0, EBX_AVX512, 0xE7}, WICK_TIER_BASE},        /* a mask set by a hypervisor */
    };
    for (size_t i = 0; i < WICK_COUNTOF(machines); i++)
        CHECK_MSG(wick_tier_of_cpuid(&machines[i].id) == machines[i].tier, "machine %zu", i);
    for (int bit = 0; bit < 32; bit++) {
        wick_cpuid id = {ECX_AVX2 & ~(1u << bit), EBX_AVX512, 0xE7};
        CHECK_INT(wick_tier_of_cpuid(&id), ECX_AVX2 >> bit & 1 ? WICK_TIER_BASE : WICK_TIER_AVX512);
        id = (wick_cpuid){ECX_AVX2, EBX_AVX512 & ~(1u << bit), 0xE7};
        CHECK_INT(wick_tier_of_cpuid(&id), EBX_AVX2 >> bit & 1     ? WICK_TIER_BASE
                                           : EBX_AVX512 >> bit & 1 ? WICK_TIER_AVX2
                                                                   : WICK_TIER_AVX512);
    }
}

TEST(best_tier_agrees_with_the_compiler) {
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw"))
        CHECK_INT(wick_tier_best(), WICK_TIER_AVX512);
    else if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        CHECK_INT(wick_tier_best(), WICK_TIER_AVX2);
    else
        CHECK_INT(wick_tier_best(), WICK_TIER_BASE);
#else
    CHECK_INT(wick_tier_best(), WICK_TIER_BASE);
#endif
}

TEST(forced_tier_holds_and_better_ones_are_refused) {
    const wick_tier was = wick_tier_current(), best = wick_tier_best();
    for (int t = 0; t < WICK_TIER_COUNT; t++) {
        CHECK_INT(wick_tier_force((wick_tier)t), t <= (int)best);
        CHECK_INT(wick_tier_current(), WICK_MIN(t, (int)best));
    }
    CHECK(!wick_tier_force(WICK_TIER_COUNT));
    CHECK(!wick_tier_force((wick_tier)-1));
    CHECK(wick_tier_force(was));
}

TEST(tier_names_are_those_of_WICK_ISA) {
    static const char *const names[] = {"ref", "base", "avx2", "avx512"};
    for (int t = 0; t < WICK_TIER_COUNT; t++) CHECK(strcmp(wick_tier_name((wick_tier)t), names[t]) == 0);
    CHECK(strcmp(wick_tier_name(WICK_TIER_COUNT), "?") == 0);
}

/* What a new process takes with WICK_ISA=value: "--tier" or "--extensions". */
enum { CANNOT_START = 99 };
static int taken_with(const char *value, const char *what) {
    int status = 0;
    const pid_t pid = fork();
    if (pid == 0) {
        setenv("WICK_ISA", value, 1);
        execl("/proc/self/exe", "test_cpu", what, (char *)NULL);
        _exit(CANNOT_START);
    }
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int tier_with(const char *value) { return taken_with(value, "--tier"); }
static bool is_emulated(void) { return getenv("TEST_EMULATED") != NULL; } /* by scripts/emulated */

TEST(WICK_ISA_lowers_the_tier_and_nothing_else) {
    if (is_emulated()) SKIP("an emulated program starts itself on the CPU that is there, or not at all");
    const int best = (int)wick_tier_best();
    for (int t = 0; t < WICK_TIER_COUNT; t++) CHECK_INT(tier_with(wick_tier_name((wick_tier)t)), WICK_MIN(t, best));
    static const char *const unknown[] = {"",         "AVX2",       "avx",       "sse9",       "avx5122",
                                          "-",        "base-",      "base-sse9", "base-vnni-", "base--vnni",
                                          "base-vnn", "base-vnnii", "base vnni"};
    for (size_t i = 0; i < WICK_COUNTOF(unknown); i++) CHECK_INT(tier_with(unknown[i]), best);
}

TEST(WICK_ISA_leaves_out_extensions) {
    if (is_emulated()) SKIP("an emulated program starts itself on the CPU that is there, or not at all");
    const int best = (int)wick_tier_best(), found = (int)wick_extensions_found();
    char text[64];
    int every = 0;
    CHECK_INT(taken_with("", "--extensions"), found);
    CHECK_INT(taken_with("base", "--extensions"), found);
    for (int i = 0; i < wick_isa_extension_count(); i++) {
        const wick_isa one = wick_isa_extension_at(i);
        int bits = 0; /* of this extension: what is missing without it */
        snprintf(text, sizeof text, "-%s", one.name);
        CHECK(wick_isa_known(text));
        CHECK_INT(tier_with(text), best);
        bits = found & ~taken_with(text, "--extensions");
        CHECK_INT(bits != 0, one.supported);
        CHECK_INT(every & bits, 0);
        every |= bits;
        snprintf(text, sizeof text, "base-%s", one.name);
        CHECK_INT(tier_with(text), WICK_MIN((int)WICK_TIER_BASE, best));
        CHECK_INT(taken_with(text, "--extensions"), found & ~bits);
    }
    CHECK_MSG(every == found, "extensions without a name: %x", found & ~every);
    CHECK_INT(taken_with("ref-vnni-avxvnni", "--extensions"), found & ~(WICK_AVX512_VNNI | WICK_AVX_VNNI));
    CHECK(!wick_isa_extension_at(-1).name && !wick_isa_extension_at(wick_isa_extension_count()).name);
}

TEST(WICK_ISA_is_read_once) {
    const wick_tier was = wick_tier_current();
    char *old = getenv("WICK_ISA"), *kept = old ? strdup(old) : NULL;
    setenv("WICK_ISA", was == WICK_TIER_REF ? "base" : "ref", 1);
    CHECK_INT(wick_tier_current(), was);
    if (kept)
        setenv("WICK_ISA", kept, 1);
    else
        unsetenv("WICK_ISA");
    free(kept);
}

/* ---- made-up cgroups --------------------------------------------------------------------------------------------- */

static void fresh_root(void) {
    char command[128];
    if (root[0]) {
        snprintf(command, sizeof command, "rm -rf '%s'", root);
        CHECK_INT(system(command), 0);
    }
    strcpy(root, "/tmp/wick-cgroup-XXXXXX");
    if (!mkdtemp(root)) root[0] = 0;
}

static void drop_root(void) {
    fresh_root();
    rmdir(root);
    root[0] = 0;
}

TEST(cgroup_v2_quota_rounds_up) {
    static const struct {
        const char *max;
        int cpus;
    } rows[] = {{"max 100000\n", 0},    {"150000 100000\n", 2}, {"100000 100000\n", 1}, {"1000 100000\n", 1},
                {"800000 100000\n", 8}, {"800001 100000\n", 9}, {"50000 10000\n", 5},   {"", 0},
                {"junk\n", 0},          {"100000\n", 0},        {"-1 100000\n", 0},     {"100000 0\n", 0}};
    for (size_t i = 0; i < WICK_COUNTOF(rows); i++) {
        fresh_root();
        REQUIRE(root[0]);
        put("/proc/self/cgroup", "0::/\n");
        put("/sys/fs/cgroup/cpu.max", rows[i].max);
        CHECK_MSG(wick_cgroup_cpus(root) == rows[i].cpus, "row %zu: %d", i, wick_cgroup_cpus(root));
    }
    drop_root();
}

TEST(cgroup_quota_of_each_ancestor_counts) {
    fresh_root();
    REQUIRE(root[0]);
    put("/proc/self/cgroup", "0::/a.slice/b/c.scope\n");
    CHECK_INT(wick_cgroup_cpus(root), 0); /* no such folder */
    put("/sys/fs/cgroup/a.slice/b/c.scope/cpu.max", "600000 100000\n");
    CHECK_INT(wick_cgroup_cpus(root), 6);
    put("/sys/fs/cgroup/a.slice/b/cpu.max", "max 100000\n");
    CHECK_INT(wick_cgroup_cpus(root), 6);
    put("/sys/fs/cgroup/a.slice/cpu.max", "210000 100000\n");
    CHECK_INT(wick_cgroup_cpus(root), 3);
    put("/sys/fs/cgroup/cpu.max", "200000 100000\n");
    CHECK_INT(wick_cgroup_cpus(root), 2);
    put("/sys/fs/cgroup/a.slice/bystander/cpu.max", "100000 100000\n");
    CHECK_INT(wick_cgroup_cpus(root), 2);
    drop_root();
}

TEST(cgroup_v1_and_hybrid_mounts_are_found) {
    fresh_root();
    REQUIRE(root[0]);
    put("/proc/self/cgroup", "12:cpuset:/x\n7:memory:/m\n4:cpu,cpuacct:/docker/id\n1:name=systemd:/\n0::/u\n");
    put("/sys/fs/cgroup/cpu,cpuacct/docker/id/cpu.cfs_quota_us", "250000\n");
    put("/sys/fs/cgroup/cpu,cpuacct/docker/id/cpu.cfs_period_us", "100000\n");
    CHECK_INT(wick_cgroup_cpus(root), 3);
    put("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n"); /* a container that sees its own cgroup as the root */
    put("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
    CHECK_INT(wick_cgroup_cpus(root), 3);
    put("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "150000\n");
    CHECK_INT(wick_cgroup_cpus(root), 2);
    put("/sys/fs/cgroup/unified/u/cpu.max", "50000 100000\n");
    CHECK_INT(wick_cgroup_cpus(root), 1);
    put("/sys/fs/cgroup/cpuset/cpu.cfs_quota_us", "1\n"); /* "cpuset" is not "cpu" */
    drop_root();
}

TEST(cgroup_oddities_mean_no_quota) {
    static const char *const files[] = {
        "", "\n", "0\n", "0:\n", "::\n", "0::", "garbage without colons\n", "0::/../../x\n"};
    for (size_t i = 0; i < WICK_COUNTOF(files); i++) {
        fresh_root();
        REQUIRE(root[0]);
        put("/proc/self/cgroup", files[i]);
        CHECK_MSG(wick_cgroup_cpus(root) == 0, "file %zu", i);
    }
    fresh_root();
    char *path = malloc(20000);
    REQUIRE(path != NULL);
    strcpy(path, "0::");
    for (int i = 3; i < 19990; i++) path[i] = i % 40 ? 'd' : '/';
    path[19990] = 0;
    put("/proc/self/cgroup", path);
    CHECK_INT(wick_cgroup_cpus(root), 0);
    CHECK_INT(wick_cgroup_cpus("/nonexistent"), 0);
    free(path);
    drop_root();
}

TEST(cgroup_memory_of_both_generations) {
    fresh_root();
    REQUIRE(root[0]);
    put("/proc/self/cgroup", "4:memory:/box\n0::/a/b\n");
    CHECK(wick_cgroup_memory(root) == 0);
    put("/sys/fs/cgroup/memory/box/memory.limit_in_bytes", "9223372036854771712\n");
    put("/sys/fs/cgroup/a/b/memory.max", "max\n");
    CHECK(wick_cgroup_memory(root) == 0);
    put("/sys/fs/cgroup/memory/box/memory.limit_in_bytes", "6442450944\n");
    CHECK(wick_cgroup_memory(root) == 6442450944);
    put("/sys/fs/cgroup/a/memory.max", "4294967296\n"); /* of an ancestor */
    CHECK(wick_cgroup_memory(root) == 4294967296);
    static const char *const odd[] = {"", "-1\n", "0\n", "junk\n", "99999999999999999999999\n"};
    for (size_t i = 0; i < WICK_COUNTOF(odd); i++) {
        put("/sys/fs/cgroup/a/b/memory.max", odd[i]);
        CHECK_MSG(wick_cgroup_memory(root) == 4294967296, "text %zu", i);
    }
    drop_root();
}

TEST(memory_that_is_left_is_the_least_of_all_limits) {
    fresh_root();
    REQUIRE(root[0]);
    CHECK_INT(wick_memory_left(root), 0);
    put("/proc/meminfo", "MemTotal:       24000 kB\nMemFree:         1000 kB\nMemAvailable:    9000 kB\n");
    CHECK_INT(wick_memory_left(root), 9000 * 1024);
    /* v1: a folder of its own, whose parent has a limit too; what files keep in memory can be had again */
    put("/proc/self/cgroup", "4:memory:/box/job\n0::/\n");
    put("/sys/fs/cgroup/memory/memory.usage_in_bytes", "99000000\n"); /* of all, without a limit */
    put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    put("/sys/fs/cgroup/memory/box/memory.limit_in_bytes", "6000000\n");
    CHECK_INT(wick_cgroup_memory_left(root), 0); /* what is used isn't told */
    put("/sys/fs/cgroup/memory/box/memory.usage_in_bytes", "1000000\n");
    CHECK_INT(wick_cgroup_memory_left(root), 5000000);
    put("/sys/fs/cgroup/memory/box/job/memory.limit_in_bytes", "3000000\n");
    put("/sys/fs/cgroup/memory/box/job/memory.usage_in_bytes", "900000\n");
    CHECK_INT(wick_cgroup_memory_left(root), 2100000);
    put("/sys/fs/cgroup/memory/box/job/memory.stat", "cache 5\ninactive_file 7\ntotal_inactive_file 400000\n");
    CHECK_INT(wick_cgroup_memory_left(root), 2500000);
    put("/sys/fs/cgroup/memory/box/memory.usage_in_bytes", "5000000\n"); /* its neighbours took it */
    CHECK_INT(wick_cgroup_memory_left(root), 1000000);
    CHECK_INT(wick_memory_left(root), 1000000);
    put("/sys/fs/cgroup/memory/box/memory.usage_in_bytes", "6000001\n");
    CHECK_INT(wick_memory_left(root), 1);
    /* v2 */
    put("/proc/self/cgroup", "0::/a/b\n");
    put("/sys/fs/cgroup/a/b/memory.max", "max\n");
    put("/sys/fs/cgroup/a/b/memory.current", "8000\n");
    CHECK_INT(wick_cgroup_memory_left(root), 0);
    put("/sys/fs/cgroup/a/memory.max", "4000000\n");
    put("/sys/fs/cgroup/a/memory.current", "1500000\n");
    put("/sys/fs/cgroup/a/memory.stat", "anon 5\ninactive_file 500000\n");
    CHECK_INT(wick_cgroup_memory_left(root), 3000000);
    put("/proc/meminfo", "MemTotal: 9 kB\nMemAvailable:    2000 kB\n");
    CHECK_INT(wick_memory_left(root), 2000 * 1024);
    drop_root();
}

TEST(limits_are_those_that_count_cpus) {
    const wick_limits limits = wick_limits_get();
    CHECK(limits.online >= limits.affinity && limits.affinity >= 1 && limits.quota >= 0);
    CHECK_INT(wick_cpu_count(), limits.quota && limits.quota < limits.affinity ? limits.quota : limits.affinity);
}

TEST(list_of_tiers) {
    int chosen = 0;
    CHECK_INT(wick_isa_count(), WICK_TIER_COUNT);
    for (int i = 0; i < wick_isa_count(); i++) {
        wick_isa isa = wick_isa_at(i);
        CHECK(strcmp(isa.name, wick_tier_name((wick_tier)i)) == 0);
        CHECK_INT(isa.supported, i <= (int)wick_tier_best());
        if (isa.chosen) CHECK_INT(i, wick_tier_current());
        chosen += isa.chosen;
    }
    CHECK_INT(chosen, 1);
    CHECK(!wick_isa_at(-1).name && !wick_isa_at(wick_isa_count()).name);
}

TEST(cpu_count_respects_affinity) {
    const int all = wick_cpu_count();
    CHECK(all >= 1);
    CHECK(all <= sysconf(_SC_NPROCESSORS_CONF));
#if defined(__linux__)
    cpu_set_t was, one;
    REQUIRE(sched_getaffinity(0, sizeof was, &was) == 0);
    CPU_ZERO(&one);
    for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; i++)
        if (CPU_ISSET(i, &was)) CPU_SET(i, &one);
    REQUIRE(sched_setaffinity(0, sizeof one, &one) == 0);
    CHECK_INT(wick_cpu_count(), 1);
    sched_setaffinity(0, sizeof was, &was);
    CHECK_INT(wick_cpu_count(), all);
#endif
}

/* ---- caches ------------------------------------------------------------------------------------------------------ */

TEST(caches_are_read_off_cpuid) {
    /* EAX, EBX, ECX of leaf 0x8000001D as a Zen 3 gives them, of leaf 4 as a Sapphire Rapids does */
    static const uint32_t zen3[][3] = {{0x04004121, 0x01C0003F, 63},
                                       {0x04004122, 0x01C0003F, 63},
                                       {0x04004143, 0x01C0003F, 1023},
                                       {0x0403C163, 0x03C0003F, 32767},
                                       {0, 0, 0}},
                          xeon[][3] = {{0x7C004121, 0x02C0003F, 63},
                                       {0x7C004122, 0x01C0003F, 63},
                                       {0x7C004143, 0x03C0003F, 2047},
                                       {0x7C0FC163, 0x0380003F, 114687},
                                       {0, 0, 0}};
    const struct {
        const uint32_t (*leaf)[3];
        wick_caches caches;
    } machines[] = {{zen3, {32 << 10, 512 << 10, 32 << 20}}, {xeon, {48 << 10, 2 << 20, 105 << 20}}};
    for (size_t i = 0; i < WICK_COUNTOF(machines); i++) {
        wick_caches c = {0};
        int n = 0;
        while (n < 5 && wick_cache_of_cpuid(&c, machines[i].leaf[n][0], machines[i].leaf[n][1], machines[i].leaf[n][2]))
            n++;
        CHECK_INT(n, 4);
        CHECK_INT(c.l1, machines[i].caches.l1);
        CHECK_INT(c.l2, machines[i].caches.l2);
        CHECK_INT(c.last, machines[i].caches.last);
    }
    wick_caches none = {0};
    CHECK(wick_cache_of_cpuid(&none, ~0u, ~0u, ~0u)); /* nonsense: no level has so much */
    CHECK(!none.l1 && !none.l2 && !none.last);
}

TEST(caches_are_read_off_the_kernels_files) {
    fresh_root();
    if (!root[0]) return;
#define CACHE "/sys/devices/system/cpu/cpu0/cache/index"
    wick_caches c = wick_caches_of_system(root);
    CHECK(!c.l1 && !c.l2 && !c.last); /* there are none */
    put(CACHE "0/level", "1\n");
    put(CACHE "0/type", "Instruction\n");
    put(CACHE "0/size", "128K\n");
    put(CACHE "1/level", "1\n");
    put(CACHE "1/type", "Data\n");
    put(CACHE "1/size", "64K\n");
    put(CACHE "2/level", "2\n");
    put(CACHE "2/type", "Unified\n");
    put(CACHE "2/size", "12M\n");
    c = wick_caches_of_system(root); /* without a third: the second is the last */
    CHECK_INT(c.l1, 64 << 10);
    CHECK_INT(c.l2, 12 << 20);
    CHECK_INT(c.last, 12 << 20);
    static const char *const sizes[] = {"", "-8K\n", "some\n", "99999999999M\n"};
    for (size_t i = 0; i < WICK_COUNTOF(sizes); i++) {
        put(CACHE "2/size", sizes[i]);
        c = wick_caches_of_system(root);
        CHECK_MSG(c.l1 == 64 << 10 && !c.l2 && !c.last, "size %zu", i);
    }
#undef CACHE
    drop_root();
}

TEST(caches_of_this_machine_are_no_nonsense) {
    const wick_caches c = wick_caches_found();
    if (!c.l2) SKIP("nothing tells of caches here");
    CHECK(c.l1 <= c.l2 && c.l2 <= c.last);
}

TEST(denormals_are_flushed_between_enter_and_restore) {
#if defined(__x86_64__) || defined(__aarch64__)
    volatile float tiny = 1e-38f, half = 0.25f, denormal = 1e-40f, big = 1e30f, result;
    result = tiny * half;
    CHECK(result != 0);
    const uint64_t word = wick_fp_enter();
    result = tiny * half; /* a denormal result */
    CHECK(result == 0);
    result = denormal * big; /* a denormal operand */
    CHECK(result == 0);
    const uint64_t inner = wick_fp_enter();
    wick_fp_restore(inner);
    result = tiny * half;
    CHECK_MSG(result == 0, "restoring a nested word left the mode");
    wick_fp_restore(word);
    result = tiny * half;
    CHECK(result != 0);
    result = denormal * big;
    CHECK(result != 0);
#else
    SKIP("no denormal mode on this machine");
#endif
}

TEST(clock_is_monotonic_in_nanoseconds) {
    uint64_t last = wick_now_ns();
    for (int i = 0; i < 10000; i++) {
        const uint64_t now = wick_now_ns();
        CHECK(now >= last);
        last = now;
    }
    const uint64_t start = wick_now_ns();
    usleep(20000);
    const uint64_t ns = wick_now_ns() - start;
    CHECK_MSG(ns >= 20000000 && ns < 10000000000u, "%llu ns", (unsigned long long)ns);
}

int main(int argc, char **argv) {
    if (argc == 2 && strcmp(argv[1], "--tier") == 0) return (int)wick_tier_current();
    if (argc == 2 && strcmp(argv[1], "--extensions") == 0) return (int)wick_extensions();
    return test_main(argc, argv);
}
