#include "machine.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wick/types.h"

/* The first line of a file without its end; "" when there is none. */
WICK_PRINTF(4, 5)
static bool read_line(char *text, size_t size, const char *root, const char *format, ...) {
    char path[512];
    va_list args;
    va_start(args, format);
    int n = snprintf(path, sizeof path, "%s", root);
    if (n >= 0 && (size_t)n < sizeof path) n += vsnprintf(path + n, sizeof path - (size_t)n, format, args);
    va_end(args);
    text[0] = '\0';
    FILE *f = n >= 0 && (size_t)n < sizeof path ? fopen(path, "re") : NULL;
    if (!f) return false;
    if (!fgets(text, (int)size, f)) text[0] = '\0';
    fclose(f);
    text[strcspn(text, "\n")] = '\0';
    return text[0] != '\0';
}

/* The value of the first line "KEY : value" of a file. */
static bool read_field(char *text, size_t size, const char *root, const char *path, const char *key) {
    char name[512], line[1024];
    snprintf(name, sizeof name, "%s%s", root, path);
    text[0] = '\0';
    FILE *f = fopen(name, "re");
    while (f && !text[0] && fgets(line, sizeof line, f)) {
        char *colon = strchr(line, ':'), *end = colon;
        if (!colon) continue;
        while (end > line && isspace((unsigned char)end[-1])) end--;
        if ((size_t)(end - line) != strlen(key) || memcmp(line, key, strlen(key)) != 0) continue;
        colon += 1 + strspn(colon + 1, " \t");
        snprintf(text, size, "%.*s", (int)strcspn(colon, "\n"), colon);
    }
    if (f) fclose(f);
    return text[0] != '\0';
}

static uint64_t read_kilobytes(const char *root, const char *key) {
    char text[64];
    return read_field(text, sizeof text, root, "/proc/meminfo", key) ? strtoull(text, NULL, 10) * 1024 : 0;
}

/* "48K", "32M" */
static uint64_t parse_size(const char *text) {
    char *end;
    uint64_t n = strtoull(text, &end, 10);
    return *end == 'K' ? n << 10 : *end == 'M' ? n << 20 : *end == 'G' ? n << 30 : n;
}

static void read_caches(machine *m, const char *root) {
    for (int i = 0; i < MACHINE_CACHES; i++) {
        static const char folder[] = "/sys/devices/system/cpu/cpu0/cache";
        machine_cache *c = &m->caches[m->n_caches];
        char level[16], size[32];
        if (!read_line(level, sizeof level, root, "%s/index%d/level", folder, i)) return;
        read_line(size, sizeof size, root, "%s/index%d/size", folder, i);
        read_line(c->type, sizeof c->type, root, "%s/index%d/type", folder, i);
        read_line(c->shared, sizeof c->shared, root, "%s/index%d/shared_cpu_list", folder, i);
        c->level = atoi(level);
        c->bytes = parse_size(size);
        if (c->level > 0 && c->bytes > 0) m->n_caches++;
    }
}

void machine_read(machine *m, const char *root) {
    static const char cpu[] = "/sys/devices/system/cpu";
    char text[256], *open, *close;
    *m = (machine){.load = -1};
    /* x86, POWER, and boards that name themselves */
    static const char *const keys[] = {"model name", "cpu", "Model", "Hardware"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0] && !m->cpu[0]; i++)
        read_field(m->cpu, sizeof m->cpu, root, "/proc/cpuinfo", keys[i]);
    read_line(m->governor, sizeof m->governor, root, "%s/cpu0/cpufreq/scaling_governor", cpu);
    read_line(m->driver, sizeof m->driver, root, "%s/cpu0/cpufreq/scaling_driver", cpu);
    read_line(m->smt, sizeof m->smt, root, "%s/smt/control", cpu);
    /* "always [madvise] never" */
    if (read_line(text, sizeof text, root, "/sys/kernel/mm/transparent_hugepage/enabled") &&
        (open = strchr(text, '[')) && (close = strchr(open, ']')))
        snprintf(m->huge, sizeof m->huge, "%.*s", (int)(close - open - 1), open + 1);
    if (read_line(text, sizeof text, root, "/proc/loadavg")) {
        char *end;
        double load = strtod(text, &end);
        if (end != text && load >= 0 && load < 1e6) m->load = load;
    }
    m->total = read_kilobytes(root, "MemTotal");
    m->available = read_kilobytes(root, "MemAvailable");
    read_caches(m, root);
}
