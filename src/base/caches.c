/* caches.c: which data caches this machine has. Asked of the CPU where it says so, else of the kernel's files; a
 * hypervisor or a container may hide either, and then a size stays 0. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cpu.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

enum { MOST_CACHES = 8 }; /* that are asked for; a core has four: of data and of instructions, L2, L3 */

static void put(wick_caches *c, int level, int64_t bytes) {
    if (bytes <= 0) return;
    if (level == 1) c->l1 = bytes;
    if (level == 2) c->l2 = bytes;
    if (level >= 2 && bytes > c->last) c->last = bytes;
}

bool wick_cache_of_cpuid(wick_caches *c, uint32_t eax, uint32_t ebx, uint32_t ecx) {
    const uint32_t kind = eax & 31; /* 0: no more, 1: data, 2: instructions, 3: both */
    if (!kind) return false;
    const int64_t ways = (ebx >> 22) + 1, parts = (ebx >> 12 & 1023) + 1, line = (ebx & 4095) + 1,
                  sets = (int64_t)ecx + 1;
    if (kind != 2 && sets <= 1 << 24) put(c, (int)(eax >> 5 & 7), ways * parts * line * sets);
    return true;
}

/* "48K", "32M" */
static int64_t bytes_of(const char *text) {
    char *end;
    const long long n = strtoll(text, &end, 10);
    if (n <= 0 || n > 1 << 24) return 0;
    return (int64_t)n << (*end == 'K' ? 10 : *end == 'M' ? 20 : 0);
}

wick_caches wick_caches_of_system(const char *root) {
    wick_caches c = {0};
    for (int i = 0; i < MOST_CACHES; i++) {
        static const char *const names[] = {"level", "type", "size"};
        char path[512], text[3][32];
        for (int k = 0; k < 3; k++) {
            const int n =
                snprintf(path, sizeof path, "%s/sys/devices/system/cpu/cpu0/cache/index%d/%s", root, i, names[k]);
            if (n < 0 || (size_t)n >= sizeof path || !wick_text_of_file(path, text[k], sizeof text[k])) return c;
        }
        if (text[1][0] != 'I') put(&c, atoi(text[0]), bytes_of(text[2]));
    }
    return c;
}

static wick_caches found;

static void find(void) {
#if defined(__x86_64__)
    unsigned a, b, c, d;
    /* AMD's leaf first: where it is, leaf 4 is empty. Intel SDM vol. 2A and AMD APM vol. 3, CPUID. */
    const bool of_amd =
        (unsigned)__get_cpuid_max(0x80000000, NULL) >= 0x8000001D &&
        __get_cpuid(0x80000001, &a, &b, &c, &d) && (c >> 22 & 1);
    const unsigned leaf = of_amd ? 0x8000001D : 4;
    for (unsigned i = 0; i < MOST_CACHES && __get_cpuid_count(leaf, i, &a, &b, &c, &d); i++)
        if (!wick_cache_of_cpuid(&found, a, b, c)) break;
#endif
    const wick_caches files = found.l1 && found.l2 ? found : wick_caches_of_system("");
    if (files.l2) found = files;
}

wick_caches wick_caches_found(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find);
    return found;
}
