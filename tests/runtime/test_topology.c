/* Lists of CPUs, and the order in which threads get them on made-up machines. */
#include <errno.h>
#include <stdarg.h>
#include <unistd.h>

#include "base/made_files.h"
#include "runtime/topology.h"
#include "test.h"

#if defined(__linux__)
#include <sys/mman.h>
#endif

static bool fresh_root(void) {
    strcpy(root, "/tmp/wick-topology-XXXXXX");
    return mkdtemp(root) != NULL;
}
static void drop_root(void) {
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", root);
    CHECK_INT(system(command), 0);
}

/* A machine of `nodes` nodes, each of `cores` cores with two hardware threads: CPU c and c + nodes * cores, as Linux
 * numbers them on x86. */
static void made_machine(int nodes, int cores) {
    char path[128], text[64];
    const int half = nodes * cores;
    for (int cpu = 0; cpu < 2 * half; cpu++) {
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/physical_package_id", cpu);
        snprintf(text, sizeof text, "%d\n", cpu % half / cores);
        put(path, text);
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/core_id", cpu);
        snprintf(text, sizeof text, "%d\n", cpu % half % cores);
        put(path, text);
    }
    snprintf(text, sizeof text, "0-%d\n", nodes - 1);
    put("/sys/devices/system/node/online", text);
    put("/sys/devices/system/node/has_memory", text);
    for (int node = 0; node < nodes; node++) {
        snprintf(path, sizeof path, "/sys/devices/system/node/node%d/cpulist", node);
        snprintf(text, sizeof text, "%d-%d,%d-%d\n", node * cores, node * cores + cores - 1, half + node * cores,
                 half + node * cores + cores - 1);
        put(path, text);
    }
}

static void check_order(wick_pin pin, const char *allowed, const char *want) {
    static int order[WICK_CPUS_MAX];
    wick_cpu_set set;
    char got[256] = "";
    CHECK(wick_cpu_list_parse(allowed, &set));
    const int n = wick_cpu_order(root, &set, pin, order);
    CHECK_INT(n, wick_cpu_set_count(&set));
    for (int i = 0; i < n; i++) snprintf(got + strlen(got), sizeof got - strlen(got), "%s%d", i ? " " : "", order[i]);
    CHECK_MSG(strcmp(got, want) == 0, "of %s: %s, not %s", allowed, got, want);
}

TEST(lists_are_read_or_refused) {
    wick_cpu_set s;
    CHECK(wick_cpu_list_parse("0-3,8\n", &s));
    CHECK_INT(wick_cpu_set_count(&s), 5);
    CHECK(wick_cpu_in(&s, 0) && wick_cpu_in(&s, 3) && wick_cpu_in(&s, 8) && !wick_cpu_in(&s, 4));
    CHECK(wick_cpu_list_parse("8191", &s) && wick_cpu_in(&s, 8191));
    CHECK(wick_cpu_list_parse("", &s) && wick_cpu_set_count(&s) == 0);
    static const char *const bad[] = {"8192", "3-1", "-1",  "1-",    "1,",  "1,,2",
                                      ",",    "a",   "0 1", "1-2-3", "0x1", "99999999999999999999"};
    for (size_t i = 0; i < WICK_COUNTOF(bad); i++) CHECK_MSG(!wick_cpu_list_parse(bad[i], &s), "\"%s\"", bad[i]);
}

TEST(compact_fills_cores_then_nodes_and_scatter_takes_turns) {
    REQUIRE(fresh_root());
    made_machine(2, 2); /* node 0: CPUs 0 1 4 5, node 1: 2 3 6 7; cores 0-4, 1-5, 2-6, 3-7 */
    check_order(WICK_PIN_COMPACT, "0-7", "0 4 1 5 2 6 3 7");
    check_order(WICK_PIN_SCATTER, "0-7", "0 2 1 3 4 6 5 7");
    /* what the mask leaves out is not used, and a core's other thread becomes its first */
    check_order(WICK_PIN_COMPACT, "1,3-6", "4 1 5 6 3");
    check_order(WICK_PIN_SCATTER, "1,3-6", "4 6 1 3 5");
    check_order(WICK_PIN_LIST, "6,1", "1 6");
    wick_cpu_set cpus, nodes;
    CHECK(wick_cpu_list_parse("2,6", &cpus));
    wick_numa_nodes_of(root, &cpus, &nodes);
    CHECK(wick_cpu_set_count(&nodes) == 1 && wick_cpu_in(&nodes, 1));
    drop_root();
}

TEST(a_machine_that_tells_nothing_is_taken_in_order) {
    REQUIRE(fresh_root());
    check_order(WICK_PIN_COMPACT, "0-3", "0 1 2 3");
    check_order(WICK_PIN_SCATTER, "5,9", "5 9");
    wick_cpu_set nodes;
    CHECK(!wick_numa_nodes(root, &nodes));
    put("/sys/devices/system/node/online", "nonsense\n");
    put("/sys/devices/system/cpu/cpu0/topology/core_id", "-7\n");
    CHECK(!wick_numa_nodes(root, &nodes));
    check_order(WICK_PIN_COMPACT, "0-3", "0 1 2 3");
    drop_root();
}

#if defined(__linux__)
/* The policy of the mapping that begins at p, in the kernel's words. */
static bool policy_of(const void *p, char *text, size_t size) {
    char line[1024], start[32];
    snprintf(start, sizeof start, "%lx ", (unsigned long)(uintptr_t)p);
    FILE *f = fopen("/proc/self/numa_maps", "r");
    bool found = false;
    while (f && !found && fgets(line, sizeof line, f))
        if (strncmp(line, start, strlen(start)) == 0) found = sscanf(line, "%*s %63s", text) == 1;
    (void)size;
    if (f) fclose(f);
    return found;
}

TEST(large_blocks_have_the_policy_and_small_ones_come_from_below) {
    static const char *const want[] = {
        [WICK_NUMA_BIND] = "bind:0", [WICK_NUMA_INTERLEAVE] = "interleave:0", [WICK_NUMA_FIRST_TOUCH] = "local"};
    for (int mode = WICK_NUMA_BIND; mode <= WICK_NUMA_FIRST_TOUCH; mode++) {
        wick_numa_policy p = {.below = *wick_allocator_default(), .mode = (wick_numa)mode, .nodes = {{1}}};
        if (wick_numa_try(&p)) SKIP("this system refuses NUMA policies");
        const wick_allocator a = wick_numa_allocator(&p);
        char *small = wick_alloc(&a, 1000), *large = wick_alloc(&a, (5u << 20) + 77), text[64] = "";
        REQUIRE(small && large);
        small[999] = large[(5u << 20) + 76] = 1;
        CHECK_INT((uintptr_t)large % (2u << 20), 0);
        if (access("/proc/self/numa_maps", R_OK) == 0 && policy_of(large, text, sizeof text))
            CHECK_MSG(strcmp(text, want[mode]) == 0, "%s, not %s", text, want[mode]);
        wick_release(&a, large, (5u << 20) + 77);
        wick_release(&a, small, 1000);
        CHECK(wick_alloc(&a, SIZE_MAX - 100) == NULL);
    }
    wick_numa_policy nowhere = {.below = *wick_allocator_default(), .mode = WICK_NUMA_BIND};
    CHECK(wick_numa_try(&nowhere) != 0); /* no node */
}
#endif

int main(int argc, char **argv) { return test_main(argc, argv); }
