/* wick doctor's checklist on made-up machines: a sound one has no fix, and each planted fault gives exactly its own. */
#include "../../cli/bench/checklist.c"
#include "base/base.h"
#include "base/made_files.h"

#include <unistd.h>

#define CPU "/sys/devices/system/cpu/"

static bool fresh_root(void) {
    strcpy(root, "/tmp/wick-checklist-XXXXXX");
    return mkdtemp(root) != NULL;
}
static void drop_root(void) {
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", root);
    CHECK_INT(system(command), 0);
}

/* Four CPUs that are as they should be. */
static void sound_machine(void) {
    put(CPU "online", "0-3\n");
    put(CPU "cpu0/cpufreq/scaling_governor", "powersave\n");
    put(CPU "cpu0/cpufreq/scaling_driver", "intel_pstate\n");
    put(CPU "cpu0/cpufreq/energy_performance_preference", "balance_performance\n");
    put(CPU "intel_pstate/no_turbo", "0\n");
    put(CPU "smt/active", "0\n");
    put(CPU "cpu0/thermal_throttle/core_throttle_count", "0\n");
    put(CPU "cpu1/thermal_throttle/core_throttle_count", "0\n");
    put("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
    put("/proc/meminfo",
        "MemTotal: 1 kB\nHugePages_Total:       0\nHugePages_Free:        0\nHugepagesize:       2048 kB\n");
    put("/sys/devices/system/node/has_memory", "0\n");
    put("/proc/self/status", "Name:\tx\nCpus_allowed:\tf\nCpus_allowed_list:\t0-3\nMems_allowed:\t1\n");
    put("/proc/self/cgroup", "0::/app\n");
    put("/sys/fs/cgroup/app/cpu.stat", "usage_usec 1\nnr_periods 1000\nnr_throttled 3\nthrottled_usec 100\n");
    put("/proc/stat", "cpu  1000 0 500 100000 20 0 0 2 0 0\ncpu0 1 2\n");
    for (int i = 0; i < 3; i++) {
        static const char *const names[] = {"/proc/pressure/cpu", "/proc/pressure/memory", "/proc/pressure/io"};
        put(names[i],
            "some avg10=0.00 avg60=0.50 avg300=0.00 total=1\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=1\n");
    }
    put("/proc/interrupts", "           CPU0       CPU1       CPU2       CPU3\n  24:    500000     500000     400000   "
                            "  600000  PCI  eth0\n"
                            " LOC: 99999999 1 1 1  Local timer interrupts\n");
    put("/proc/self/limits", "Limit                     Soft Limit           Hard Limit           Units     \n"
                             "Max cpu time              unlimited            unlimited            seconds   \n"
                             "Max data size             unlimited            unlimited            bytes     \n"
                             "Max processes             62000                62000                processes \n"
                             "Max open files            1024                 524288               files     \n"
                             "Max address space         unlimited            unlimited            bytes     \n");
}

static const check *named(const check *checks, int n, const char *name) {
    for (int i = 0; i < n; i++)
        if (strcmp(checks[i].name, name) == 0) return &checks[i];
    static const check none = {.name = ""};
    return &none;
}

TEST(a_sound_machine_has_nothing_to_fix) {
    check c[CHECKS_MAX];
    REQUIRE(fresh_root());
    sound_machine();
    const int n = checklist(root, c);
    for (int i = 0; i < n; i++)
        CHECK_MSG(c[i].state == CHECK_GOOD && c[i].found[0] && !c[i].fix[0], "%s: %s: %s", c[i].name, c[i].found,
                  c[i].fix);
    CHECK_INT(n, 13);
    drop_root();
}

static const struct {
    const char *path, *text, *name, *fix;
} faults[] = {
    {CPU "cpu0/cpufreq/scaling_driver", "acpi-cpufreq\n", "governor", "cpupower frequency-set -g performance"},
    {CPU "cpu0/cpufreq/scaling_governor", "conservative\n", "governor", "follows the load slowly"},
    {CPU "cpu0/cpufreq/energy_performance_preference", "power\n", "governor", "balance_performance"},
    {CPU "intel_pstate/no_turbo", "1\n", "turbo", "echo 0 > /sys/devices/system/cpu/intel_pstate/no_turbo"},
    {CPU "smt/active", "1\n", "smt", "--pin scatter"},
    {CPU "cpu1/thermal_throttle/core_throttle_count", "17\n", "throttling", "cooling"},
    {"/sys/kernel/mm/transparent_hugepage/enabled", "always madvise [never]\n", "thp", "echo madvise >"},
    {"/proc/meminfo", "HugePages_Total: 512\nHugePages_Free: 500\nHugepagesize: 2048 kB\n", "hugetlb",
     "sysctl vm.nr_hugepages=12"},
    {"/sys/devices/system/node/has_memory", "0-1\n", "numa", "--numa interleave"},
    {"/proc/self/status", "Name:\tx\nCpus_allowed_list:\t0,2\n", "affinity",
     "leaves 2 of 4 CPUs to this process: taskset -c 0-3"},
    {"/sys/fs/cgroup/app/cpu.stat", "nr_periods 1000\nnr_throttled 300\n", "quota", "docker run --cpus"},
    {"/proc/stat", "cpu  1000 0 500 100000 20 0 0 200 0 0\n", "steal", "the host of this virtual machine"},
    {"/proc/pressure/memory", "some avg10=0.00 avg60=5.00 avg300=0.00 total=1\n", "pressure", "waited for memory"},
    {"/proc/pressure/io", "some avg10=0.00 avg60=50.00 avg300=0.00 total=1\n", "pressure", "waited for disks"},
    {"/proc/pressure/cpu", "some avg10=0.00 avg60=50.00 avg300=0.00 total=1\n", "pressure", "waited for a CPU"},
    {"/proc/interrupts", "  CPU0 CPU1 CPU2 CPU3\n 24: 1000000 10 10 2 eth\n 25: 9000000 1 1 1 nvme\n", "interrupts",
     "irqbalance"},
    {"/proc/self/limits", "Max open files            256                 524288               files     \n", "ulimits",
     "ulimit -n 4096"},
    {"/proc/self/limits", "Max address space         1000000000           unlimited            bytes     \n", "ulimits",
     "ulimit -v unlimited"},
    {"/proc/self/limits", "Max cpu time              3600                 unlimited            seconds   \n", "ulimits",
     "ulimit -t unlimited"},
    {"/proc/self/limits", "Max processes             100                  62000                processes \n", "ulimits",
     "ulimit -u 4096"},
};

TEST(each_planted_fault_gives_its_own_fix_and_no_other) {
    for (size_t k = 0; k < WICK_COUNTOF(faults); k++) {
        check c[CHECKS_MAX];
        REQUIRE(fresh_root());
        sound_machine();
        put(faults[k].path, faults[k].text);
        const int n = checklist(root, c);
        for (int i = 0; i < n; i++) {
            const bool it = strcmp(c[i].name, faults[k].name) == 0;
            CHECK_MSG(it ? c[i].state == CHECK_BAD && strstr(c[i].fix, faults[k].fix) : c[i].state == CHECK_GOOD,
                      "%s of fault %zu: %s: %s", c[i].name, k, c[i].found, c[i].fix);
        }
        drop_root();
    }
}

TEST(cores_are_counted_and_other_drivers_name_their_own_files) {
    check c[CHECKS_MAX];
    REQUIRE(fresh_root());
    put(CPU "smt/active", "1\n");
    for (int i = 0; i < 4; i++) {
        char path[128];
        snprintf(path, sizeof path, CPU "cpu%d/topology/thread_siblings_list", i);
        put(path, i % 2 ? "1,3\n" : "0,2\n");
    }
    put(CPU "cpufreq/boost", "0\n");
    put("/proc/self/cgroup", "4:cpu,cpuacct:/docker/abc\n0::/\n");
    put("/sys/fs/cgroup/cpu/cpu.stat", "nr_periods 10\nnr_throttled 9\n"); /* the container sees its own as the root */
    const int n = checklist(root, c);
    CHECK_STR_HAS(named(c, n, "smt")->fix, "--threads 2 --pin scatter");
    CHECK_STR_HAS(named(c, n, "turbo")->fix, "echo 1 > /sys/devices/system/cpu/cpufreq/boost");
    CHECK_STR_HAS(named(c, n, "quota")->found, "stopped in 9 of 10 periods");
    CHECK(named(c, n, "governor")->state == CHECK_UNKNOWN);
    drop_root();
}

TEST(odd_files_say_nothing) {
    static const char *const junk[] = {
        "", "\n", "-", "[", "][", "some ", "cpu ", "some avg60=", "99999999999999999999-", ",,,", "0::"};
    check c[CHECKS_MAX];
    CHECK_INT(checklist("/nonexistent", c), 13);
    for (int i = 0; i < 13; i++) CHECK(c[i].state == CHECK_UNKNOWN && !c[i].found[0] && !c[i].fix[0]);
    for (size_t k = 0; k < WICK_COUNTOF(junk); k++) {
        REQUIRE(fresh_root());
        sound_machine();
        for (size_t i = 0; i < WICK_COUNTOF(faults); i++)
            if (!strstr(faults[i].path, "cpu0/cpufreq") && !strstr(faults[i].path, "/smt"))
                put(faults[i].path, junk[k]);
        const int n = checklist(root, c);
        for (int i = 0; i < n; i++)
            CHECK_MSG(c[i].state != CHECK_BAD, "%s of \"%s\": %s", c[i].name, junk[k], c[i].fix);
        drop_root();
    }
}

int main(int argc, char **argv) { return test_main(argc, argv); }
