/* tuning.c: the file of wick/tuning.h. Text: a first line that says what it is, the machine that it is valid for, a
 * line for each number, and a last line, without which the file was cut. A file is whole and of this machine or it is
 * not used at all. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/base.h"
#include "wick/context.h"
#include "wick/tuning.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

enum { MOST_BYTES = 65536 };
static const char first_line[] = "wick tuning 2", last_line[] = "end";

/* ---- the machine ------------------------------------------------------------------------------------------------- */

static char machine_text[256];

static void name_cpu(char *text, size_t size) {
    snprintf(text, size, "unknown CPU");
#if defined(__x86_64__)
    unsigned words[13] = {0}, most = __get_cpuid_max(0x80000000u, NULL);
    if (most < 0x80000004u) return;
    for (unsigned i = 0; i < 3; i++)
        __get_cpuid(0x80000002u + i, &words[4 * i], &words[4 * i + 1], &words[4 * i + 2], &words[4 * i + 3]);
    size_t n = 0;
    for (const char *p = (const char *)words; *p && n + 1 < size; p++) /* printable, one space between words */
        if (*p > ' ' && *p < 127)
            text[n++] = *p;
        else if (n && text[n - 1] != ' ')
            text[n++] = ' ';
    while (n && text[n - 1] == ' ') n--;
    text[n] = 0;
#elif defined(__aarch64__)
    FILE *f = fopen("/sys/devices/system/cpu/cpu0/regs/identification/midr_el1", "re");
    char id[32];
    if (f && fgets(id, sizeof id, f)) snprintf(text, size, "AArch64 %.*s", (int)strspn(id, "0123456789abcdefx"), id);
    if (f) fclose(f);
#endif
}

static void describe(void) {
    char cpu[96];
    name_cpu(cpu, sizeof cpu);
    wick_str s = wick_str_on(machine_text, sizeof machine_text);
    wick_str_add(&s, "%s; ", cpu);
    for (int i = 0; i < wick_isa_count(); i++)
        if (wick_isa_at(i).chosen) wick_str_add(&s, "%s", wick_isa_at(i).name);
    for (int i = 0; i < wick_isa_extension_count(); i++)
        if (wick_isa_extension_at(i).chosen) wick_str_add(&s, " %s", wick_isa_extension_at(i).name);
    wick_str_add(&s, "; Wick %s", wick_version());
}

const char *wick_tuning_machine(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, describe);
    return machine_text;
}

bool wick_tuning_path(char *path, size_t size) {
    if (!path) return false;
    const char *machine = wick_tuning_machine(), *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    const unsigned hash = (unsigned)wick_hash(machine, strlen(machine), 0);
    int n = -1;
    if (cache && cache[0] == '/')
        n = snprintf(path, size, "%s/wick/tuning-%08x.txt", cache, hash);
    else if (home && home[0] == '/')
        n = snprintf(path, size, "%s/.cache/wick/tuning-%08x.txt", home, hash);
    if (n > 0 && (size_t)n < size) return true;
    if (size) path[0] = 0;
    return false;
}

/* ---- the file ---------------------------------------------------------------------------------------------------- */

static wick_status tell(const wick_msg *msg, char *why, size_t size) {
    if (why && size) snprintf(why, size, "%s", msg->text);
    return msg->status;
}

/* The next line, without its end; false: no whole line is left. */
static bool next_line(const char **at, const char *end, const char **line, size_t *n) {
    const char *stop = *at < end ? memchr(*at, '\n', (size_t)(end - *at)) : NULL;
    if (!stop) return false;
    *line = *at, *n = (size_t)(stop - *at), *at = stop + 1;
    return true;
}
static bool is(const char *line, size_t n, const char *text) { return strlen(text) == n && memcmp(line, text, n) == 0; }

/* Digits alone, up to 2^62. */
static bool read_number(const char *text, size_t n, int64_t *out) {
    *out = 0;
    for (size_t i = 0; i < n; i++) {
        if (text[i] < '0' || text[i] > '9' || *out > ((int64_t)1 << 58)) return false;
        *out = 10 * *out + (text[i] - '0');
    }
    return n > 0;
}

static wick_status parse(const char *path, const char *at, size_t size, wick_tuning *out, wick_msg *msg) {
    const char *const end = at + size, *const machine = wick_tuning_machine(), *line;
    size_t n;
    int number = 1;
    uint64_t seen = 0;
    if (!next_line(&at, end, &line, &n) || !is(line, n, first_line))
        return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: line 1 is not \"%s\"", path, first_line);
    number++;
    if (!next_line(&at, end, &line, &n) || n < 8 || memcmp(line, "machine ", 8) != 0)
        return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: line 2 names no machine", path);
    if (!is(line + 8, n - 8, machine))
        return wick_msg_set(msg, WICK_ERR_MISMATCH, "%s: measured on another CPU, tier or version; this is \"%s\"",
                            path, machine);
    for (;;) {
        number++;
        if (!next_line(&at, end, &line, &n))
            return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: it ends before its last line, \"%s\"", path, last_line);
        if (is(line, n, last_line)) break;
        const char *space = memchr(line, ' ', n);
        const size_t name = space ? (size_t)(space - line) : n;
        int i = 0;
        wick_tuning_field f;
        while ((f = wick_tuning_at(i)).name && !is(line, name, f.name)) i++;
        int64_t value;
        if (!f.name) return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: line %d is of no known number", path, number);
        if (seen >> i & 1)
            return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: line %d has %s a second time", path, number, f.name);
        if (!space || !read_number(space + 1, n - name - 1, &value))
            return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: line %d: %s is no number", path, number, f.name);
        if (value < f.low || value > f.high)
            return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: line %d: %s is %lld, not from %lld to %lld", path, number,
                                f.name, (long long)value, (long long)f.low, (long long)f.high);
        seen |= (uint64_t)1 << i;
        *f.of(out) = value;
    }
    if (at != end) return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: something follows its last line", path);
    for (int i = 0; i < wick_tuning_count(); i++)
        if (!(seen >> i & 1))
            return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: %s is missing", path, wick_tuning_at(i).name);
    return WICK_OK;
}

wick_status wick_tuning_load(const char *path, wick_tuning *out, char *why, size_t size) {
    if (!out) return WICK_ERR_INVALID;
    wick_msg msg = {0};
    wick_map map;
    *out = (wick_tuning){0};
    wick_status status = wick_map_read(&map, path, &msg);
    if (status == WICK_OK) {
        status = map.size > MOST_BYTES
                     ? wick_msg_set(&msg, WICK_ERR_FORMAT, "%s: %zu bytes are too many", path, map.size)
                     : parse(path, (const char *)map.data, map.size, out, &msg);
        wick_map_close(&map);
    }
    if (status != WICK_OK) *out = (wick_tuning){0};
    return tell(&msg, why, size);
}

/* The folders of a path that are missing, but for the first ones. */
static wick_status make_folders(const char *path, wick_msg *msg) {
    char folder[1024];
    const size_t n = strlen(path);
    if (n >= sizeof folder) return wick_msg_set(msg, WICK_ERR_IO, "%.64s...: its name is too long", path);
    memcpy(folder, path, n + 1);
    for (size_t i = 1; i < n; i++) {
        if (folder[i] != '/') continue;
        folder[i] = 0;
        /* EROFS, EACCES: of a folder above, which may be there */
        if (mkdir(folder, 0777) != 0 && errno != EEXIST && errno != EROFS && errno != EACCES)
            return wick_msg_set(msg, WICK_ERR_IO, "%s: cannot make the folder: %s", folder, strerror(errno));
        folder[i] = '/';
    }
    return WICK_OK;
}

wick_status wick_tuning_save(const char *path, const wick_tuning *tuning, char *why, size_t size) {
    wick_msg msg = {0};
    wick_writer *w = NULL;
    if (!path || !tuning) return WICK_ERR_INVALID;
    wick_tuning t = *tuning;
    char text[4096];
    wick_str s = wick_str_on(text, sizeof text);
    wick_str_add(&s, "%s\nmachine %s\n", first_line, wick_tuning_machine());
    for (int i = 0; i < wick_tuning_count(); i++) {
        const wick_tuning_field f = wick_tuning_at(i);
        const int64_t value = *f.of(&t) ? WICK_MIN(WICK_MAX(*f.of(&t), f.low), f.high) : f.fallback;
        wick_str_add(&s, "%s %lld\n", f.name, (long long)value);
    }
    wick_str_add(&s, "%s\n", last_line);
    wick_status status = make_folders(path, &msg);
    if (status == WICK_OK) status = wick_writer_open(&w, path, &msg);
    if (status == WICK_OK) status = wick_writer_write(w, text, s.len, &msg);
    if (status == WICK_OK) status = wick_writer_commit(&w, &msg);
    if (w) wick_writer_abort(&w);
    return tell(&msg, why, size);
}
