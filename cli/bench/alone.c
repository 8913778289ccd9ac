#include "alone.h"

#include "../json.h"
#include "../json_read.h"
#include "../term/log.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <math.h>
#include <poll.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* ---- the process itself ------------------------------------------------------------------------------------------ */

static const char *tier_name(void) {
    const char *name = "base";
    for (int i = 0; i < wick_isa_count(); i++)
        if (wick_isa_at(i).chosen) name = wick_isa_at(i).name;
    return name;
}

bool alone_run(const bench_result *r, int size, int64_t runs, bool as_json) {
    subject s;
    /* the first was to open it */
    const bool ok = subject_open(&s, r->row, size, r->threads) && subject_run(&s, runs - 1);
    const double peak = memory_peak(&s.mark);
    if (!ok)
        log_note("%s: not run: %s", r->key, s.why);
    else if (as_json) {
        json j = log_json_open();
        json_text(&j, "row", r->key);
        json_text(&j, "tier", tier_name());
        json_real(&j, "planned_bytes", s.planned, 15);
        json_real(&j, "peak_bytes", peak, 15);
        log_json_close(&j);
    } else {
        printf("%s  %lld run%s, tier %s, memory besides inputs: %.1f MB planned, %.1f MB measured\n", r->key,
               (long long)runs, plural(runs), tier_name(), 1e-6 * s.planned, 1e-6 * peak);
    }
    subject_close(&s);
    return ok;
}

/* ---- as another process ------------------------------------------------------------------------------------------ */

typedef struct said {
    char out[4096], err[8192]; /* the last of it */
} said;

static void keep_last(char *text, size_t size, const char *more, size_t n) {
    const size_t have = strlen(text), room = size - 1;
    if (n > room) more += n - room, n = room;
    const size_t kept = have + n > room ? room - n : have;
    memmove(text, text + have - kept, kept);
    memcpy(text + kept, more, n);
    text[kept + n] = '\0';
}

/* Runs a command to its end. Its exit code, or -1 with errno: it could not be started. */
static int run(const char *const *words, said *s) {
    int out[2], err[2], code = -1;
    pid_t child;
    *s = (said){{0}, {0}};
    if (pipe2(out, O_CLOEXEC) != 0) return -1;
    if (pipe2(err, O_CLOEXEC) != 0) return close(out[0]), close(out[1]), -1;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, err[1], STDERR_FILENO);
    const int error = posix_spawnp(&child, words[0], &actions, NULL, (char *const *)(uintptr_t)words, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(out[1]);
    close(err[1]);
    struct pollfd ends[2] = {{.fd = out[0], .events = POLLIN}, {.fd = err[0], .events = POLLIN}};
    while (!error && (ends[0].fd >= 0 || ends[1].fd >= 0)) {
        if (poll(ends, 2, -1) < 0 && errno != EINTR) break;
        for (int i = 0; i < 2; i++) {
            char text[1024];
            if (ends[i].fd < 0 || !(ends[i].revents & (POLLIN | POLLHUP))) continue;
            const ssize_t n = read(ends[i].fd, text, sizeof text);
            if (n > 0) keep_last(i ? s->err : s->out, i ? sizeof s->err : sizeof s->out, text, (size_t)n);
            else if (n == 0 || errno != EINTR) ends[i].fd = -1;
        }
    }
    close(out[0]);
    close(err[0]);
    if (error) return errno = error, -1;
    while (waitpid(child, &code, 0) < 0)
        if (errno != EINTR) return -1;
    return WIFEXITED(code) ? WEXITSTATUS(code) : 128;
}

enum { MOST_WORDS = 16 };
/* Words of a command that runs the row so many times; `before` are those in front of it. */
static bool run_row(const bench_result *r, int size, int64_t runs, const char *const *before, said *s, char *why,
                    size_t room) {
    char self[4096], count[24], threads[16], pattern[96];
    const char *words[MOST_WORDS] = {0}, *of = bench_row_size(r->row, size);
    int n = 0;
    const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length < 0) return snprintf(why, room, "/proc/self/exe: %s", strerror(errno)), false;
    self[length] = '\0';
    snprintf(count, sizeof count, "%lld", (long long)runs);
    snprintf(threads, sizeof threads, "%d", r->threads);
    snprintf(pattern, sizeof pattern, "%s/%s", r->row->suite, r->row->name);
    while (before && *before) words[n++] = *before++;
    const char *rest[] = {self,        "bench", pattern,  "--runs", count,
                          "--threads", threads, "--json", "--size", of && *of ? of : "1K"};
    for (size_t i = 0; i < sizeof rest / sizeof *rest; i++) words[n++] = rest[i];
    const int code = run(words, s);
    if (code < 0) return snprintf(why, room, "%s could not be started: %s", words[0], strerror(errno)), false;
    if (code != CLI_OK) return snprintf(why, room, "%s ended with %d in a process of its own", r->key, code), false;
    return true;
}

static bool read_report(const char *text, double *planned, double *peak, char tier[16]) {
    json_in j = {.at = text};
    char key[32];
    *planned = *peak = 0;
    for (json_enter(&j, '{'); json_key(&j, key, sizeof key);) {
        if (strcmp(key, "planned_bytes") == 0) json_number(&j, planned);
        else if (strcmp(key, "peak_bytes") == 0) json_number(&j, peak);
        else if (strcmp(key, "tier") == 0) json_string(&j, tier, 16);
        else json_skip(&j);
    }
    return !j.bad;
}

bool alone_memory(bench_result *r, int size) {
    static said s;
    char tier[16];
    if (!run_row(r, size, 3, NULL, &s, r->why, sizeof r->why)) return false;
    return read_report(s.out, &r->planned, &r->memory, tier) ||
           (snprintf(r->why, sizeof r->why, "its process said nothing of its memory"), false);
}

/* ---- instructions ------------------------------------------------------------------------------------------------ */

void counter_open(counter *c) {
    struct perf_event_attr of = {.type = PERF_TYPE_HARDWARE,
                                 .size = sizeof of,
                                 .config = PERF_COUNT_HW_INSTRUCTIONS,
                                 .inherit = 1,
                                 .exclude_kernel = 1,
                                 .exclude_hv = 1};
    c->file = (int)syscall(SYS_perf_event_open, &of, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    snprintf(c->why, sizeof c->why, "%s",
             c->file >= 0                        ? ""
             : errno == EACCES || errno == EPERM ? "not allowed: see /proc/sys/kernel/perf_event_paranoid"
                                                 : "this machine has none that can be read");
}
double counter_read(const counter *c) {
    uint64_t value;
    return c->file >= 0 && read(c->file, &value, sizeof value) == sizeof value ? (double)value : 0;
}
void counter_close(counter *c) {
    if (c->file >= 0) close(c->file);
    c->file = -1;
}

bool alone_has_callgrind(void) {
    static said s;
    return run((const char *const[]){"valgrind", "--version", NULL}, &s) == 0;
}

static bool collected(const bench_result *r, int size, int64_t runs, double *instructions, char tier[16], char *why,
                      size_t room) {
    static said s;
    static const char line[] = "Collected : ";
    const char *const valgrind[] = {"valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", NULL};
    double planned, peak;
    if (!run_row(r, size, runs, valgrind, &s, why, room)) return false;
    const char *at = strstr(s.err, line);
    if (!at || !read_report(s.out, &planned, &peak, tier))
        return snprintf(why, room, "callgrind counted nothing"), false;
    *instructions = atof(at + strlen(line));
    return true;
}

bool alone_instructions(bench_result *r, int size, double seconds, char *why, size_t room) {
    char tier[16] = "";
    double few, many;
    /* What comes before the runs is in both. */
    const int64_t more = seconds > 0 && seconds < 1e-3 ? (int64_t)fmin(1000, ceil(1e-3 / seconds)) : 1;
    if (!collected(r, size, 2, &few, tier, why, room) || !collected(r, size, 2 + more, &many, tier, why, room))
        return false;
    r->instructions = (many - few) / (double)more;
    snprintf(r->counted_by, sizeof r->counted_by, "callgrind, tier %s", tier);
    return true;
}
