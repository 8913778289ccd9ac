/* What the command reads of /proc and /sys, on made-up machines. */
#include "../../cli/bench/machine.c"
#include "base/base.h"
#include "base/made_files.h"

#include <unistd.h>

static void fresh_root(void) {
    strcpy(root, "/tmp/wick-machine-XXXXXX");
    if (!mkdtemp(root)) root[0] = 0;
}

static void drop_root(void) {
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", root);
    CHECK_INT(system(command), 0);
}

#define CPU0 "/sys/devices/system/cpu/cpu0/"

TEST(a_usual_machine) {
    machine m;
    fresh_root();
    REQUIRE(root[0]);
    put("/proc/cpuinfo", "processor\t: 0\nmodel\t\t: 17\nmodel name\t: Some CPU 3.1: fast\nflags\t: "
                         "fpu\n\nprocessor\t: 1\nmodel name\t: Other\n");
    put("/proc/loadavg", "1.25 0.50 0.10 2/300 4567\n");
    put("/proc/meminfo", "MemTotal:       24684096 kB\nMemFree:  1 kB\nMemAvailable:   23108664 kB\n");
    put("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
    put("/sys/devices/system/cpu/smt/control", "on\n");
    put(CPU0 "cpufreq/scaling_governor", "powersave\n");
    put(CPU0 "cpufreq/scaling_driver", "intel_pstate\n");
    put(CPU0 "cache/index0/level", "1\n");
    put(CPU0 "cache/index0/type", "Data\n");
    put(CPU0 "cache/index0/size", "48K\n");
    put(CPU0 "cache/index0/shared_cpu_list", "0,4\n");
    put(CPU0 "cache/index1/level", "3\n");
    put(CPU0 "cache/index1/type", "Unified\n");
    put(CPU0 "cache/index1/size", "32M\n");
    machine_read(&m, root);
    CHECK(strcmp(m.cpu, "Some CPU 3.1: fast") == 0);
    CHECK(m.load == 1.25);
    CHECK(m.total == 24684096ull * 1024 && m.available == 23108664ull * 1024);
    CHECK(strcmp(m.huge, "madvise") == 0 && strcmp(m.smt, "on") == 0);
    CHECK(strcmp(m.governor, "powersave") == 0 && strcmp(m.driver, "intel_pstate") == 0);
    CHECK_INT(m.n_caches, 2);
    CHECK_INT(m.caches[0].level, 1);
    CHECK(m.caches[0].bytes == 48 << 10 && strcmp(m.caches[0].type, "Data") == 0 &&
          strcmp(m.caches[0].shared, "0,4") == 0);
    CHECK(m.caches[1].bytes == 32 << 20 && m.caches[1].shared[0] == 0);
    drop_root();
}

TEST(a_machine_that_tells_nothing) {
    machine m;
    machine_read(&m, "/nonexistent");
    CHECK(!m.cpu[0] && !m.huge[0] && !m.governor[0] && m.load == -1 && m.total == 0 && m.available == 0 &&
          m.n_caches == 0);
}

/* Folders in place of files, nothing, junk, and lines without an end. */
TEST(odd_files_leave_facts_empty) {
    static const char *const junk[] = {
        "", "\n", ":", "[", "]", "always never\n", "][", "-", "K", "99999999999999999999999999K"};
    static const char *const files[] = {"/proc/cpuinfo",           "/proc/loadavg",
                                        "/proc/meminfo",           "/sys/kernel/mm/transparent_hugepage/enabled",
                                        CPU0 "cache/index0/level", CPU0 "cache/index0/size"};
    for (size_t i = 0; i < WICK_COUNTOF(junk); i++) {
        machine m;
        fresh_root();
        REQUIRE(root[0]);
        for (size_t k = 0; k < WICK_COUNTOF(files); k++) put(files[k], junk[i]);
        machine_read(&m, root);
        CHECK_MSG(!m.cpu[0] && !m.huge[0] && m.load == -1 && m.total == 0 && m.n_caches == 0, "text %zu", i);
        drop_root();
    }
    char *line = malloc(100000);
    REQUIRE(line != NULL);
    memset(line, '[', 99999);
    line[99999] = 0;
    machine m;
    fresh_root();
    REQUIRE(root[0]);
    for (size_t k = 1; k < WICK_COUNTOF(files); k++) put(files[k], line);
    put("/proc/cpuinfo/folder", "");
    machine_read(&m, root);
    CHECK(!m.cpu[0] && !m.huge[0]);
    drop_root();
    free(line);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
