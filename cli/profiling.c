#include "profiling.h"

#include "term/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* Of wick profile -- COMMAND. */
static struct {
    bool on;
    char said[4096]; /* lines */
} expected;

void profiling_expect(bool on) {
    expected.on = on;
    *expected.said = '\0';
}
void profiling_tell(void) {
    for (char *line = expected.said, *end; (end = strchr(line, '\n')); line = end + 1) {
        *end = '\0';
        log_note("%s", line);
    }
    if (!*expected.said) log_note("profile: nothing was recorded");
    expected.on = false;
}

static bool ends_with(const char *name, const char *end) {
    const size_t n = strlen(name), m = strlen(end);
    return n > m && strcmp(name + n - m, end) == 0;
}

/* Chrome's events have an ending of their own: .json is the report. */
static bool is_timeline(const char *name) {
    return ends_with(name, ".pftrace") || ends_with(name, ".trace.json") || ends_with(name, ".otlp.jsonl") ||
           ends_with(name, ".html");
}

int profiling_memory_begin(profiling *g, const cli_options *o, wick_context *ctx) {
    *g = (profiling){.o = o, .rank = g->rank, .ranks = g->ranks, .zero = g->zero};
    wick_status status = WICK_OK;
    if (!o->recording.memory_files.n)
        return *o->recording.memory_before ? log_fail(CLI_USAGE, "--memory-before is for --memory") : CLI_OK;
    for (int i = 0; i < o->recording.memory_files.n; i++) {
        const char *name = o->recording.memory_files.items[i];
        if (!ends_with(name, ".svg") && !ends_with(name, ".html") && !ends_with(name, ".tsv"))
            return log_fail(CLI_USAGE, "--memory %s: memory is written as .svg, .html or .tsv", name);
        /* the same files are left alone as by --profile */
        if (wick_profile_may_write(ctx, name, true) != WICK_OK)
            return log_fail(CLI_USAGE, "--memory: %s", wick_context_error(ctx));
    }
    if (*o->recording.memory_before &&
        (status = wick_memory_snapshot_read(ctx, o->recording.memory_before, &g->before)) != WICK_OK)
        return log_fail(log_code(status, CLI_BAD_FILE), "--memory-before: %s", log_why(ctx, status));
    if (status == WICK_OK) status = wick_memory_record(ctx);
    if (status != WICK_OK) return log_fail(log_code(status, CLI_USAGE), "--memory: %s", log_why(ctx, status));
    g->ctx = ctx;
    return CLI_OK;
}

int profiling_memory(profiling *g) {
    wick_context *ctx = g->ctx;
    wick_memory_snapshot *now = NULL;
    if (!ctx) return CLI_OK;
    g->ctx = NULL;
    wick_status status = wick_memory_snapshot_take(ctx, &now);
    for (int i = 0; i < g->o->recording.memory_files.n && status == WICK_OK; i++) {
        status = wick_memory_snapshot_write(ctx, now, g->before, g->o->recording.memory_files.items[i]);
        if (status == WICK_OK) log_note("wrote %s", g->o->recording.memory_files.items[i]);
    }
    const int code =
        status == WICK_OK ? CLI_OK : log_fail(log_code(status, CLI_FAILED), "--memory: %s", log_why(ctx, status));
    wick_memory_snapshot_free(&now);
    wick_memory_snapshot_free(&g->before);
    return code;
}

int profiling_begin(profiling *g, const cli_options *o, wick_context *ctx) {
    wick_profile_options options = {.rank = g->rank, .ranks = g->ranks, .zero = g->zero};
    const int code = g->o ? CLI_OK : profiling_memory_begin(g, o, ctx);
    if (code != CLI_OK) return code;
    for (int i = 0; i < o->recording.profiles.n; i++) {
        const char *name = o->recording.profiles.items[i];
        const bool timeline = is_timeline(name);
        if (timeline && options.timeline)
            return log_fail(CLI_USAGE, "--profile: %s and %s: a run has one timeline", options.timeline, name);
        if (timeline) options.timeline = name;
        const wick_status status = wick_profile_may_write(ctx, name, timeline);
        if (status != WICK_OK)
            return log_fail(
                log_code(status, CLI_USAGE), "--profile: %s%s", log_why(ctx, status),
                strstr(log_why(ctx, status), "is written as") ? "; .pftrace, .html and .trace.json are timelines" : "");
    }
    if (!o->recording.profiles.n && !expected.on) return CLI_OK;
    const wick_status status = wick_profile_start(ctx, &options, &g->profile);
    return status == WICK_OK ? CLI_OK : log_fail(log_code(status, CLI_USAGE), "--profile: %s", log_why(ctx, status));
}

void profiling_follow(cli_options *o) {
    int n = 0;
    for (int i = 0; i < o->recording.profiles.n; i++)
        if (is_timeline(o->recording.profiles.items[i]))
            o->recording.profiles.items[n++] = o->recording.profiles.items[i];
    o->recording.profiles.n = n;
    o->recording.memory_files.n = 0;
    o->recording.memory_before = "";
}

int profiling_begin_shared(profiling *g, const cli_options *o, wick_context *ctx, wick_group *group) {
    if (!group || wick_group_size(group) == 1) return profiling_begin(g, o, ctx);
    struct timespec now = {0};
    int64_t ahead;
    int code = CLI_OK;
    g->rank = wick_group_rank(group);
    g->ranks = wick_group_size(group);
    clock_gettime(CLOCK_MONOTONIC, &now);
    g->zero = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    wick_status status = wick_group_clock(group, &ahead, NULL);
    if (status == WICK_OK) status = wick_group_broadcast(group, 0, &g->zero, sizeof g->zero);
    if (status != WICK_OK) return log_fail(CLI_FAILED, "%s", wick_group_error(group));
    g->zero += (uint64_t)ahead;
    if (g->rank == 0) code = profiling_begin(g, o, ctx); /* the first one makes the file */
    status = wick_group_broadcast(group, 0, &code, sizeof code);
    if (status != WICK_OK && code == CLI_OK) return log_fail(CLI_FAILED, "%s", wick_group_error(group));
    return g->rank && code == CLI_OK ? profiling_begin(g, o, ctx) : code;
}

/* A remark, at once or when the command has ended. */
WICK_PRINTF(1, 2) static void remark(const char *format, ...) {
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    const size_t n = strlen(expected.said);
    if (!expected.on)
        log_note("%s", text);
    else if (n + strlen(text) + 2 <= sizeof expected.said)
        snprintf(expected.said + n, sizeof expected.said - n, "%s\n", text);
}

static void say(wick_profile *p) {
    wick_profile_finding found[WICK_BOTTLENECKS];
    const wick_profile_info i = wick_profile_get_info(p);
    const int n = wick_profile_findings(p, 0, found);
    remark("profile: %llu run%s in %.3g s; in kernels %.0f %%, waiting for batches %.0f %%, start-up %.0f %%",
           (unsigned long long)i.runs, plural((int64_t)i.runs), i.wall, 100 * i.step / i.wall, 100 * i.wait / i.wall,
           100 * i.startup / i.wall);
    for (int k = 0; k < n; k++) {
        remark("  %s %.0f %%%s%s: %s", found[k].name, 100 * found[k].share, *found[k].where ? ", most in " : "",
               found[k].where, found[k].evidence);
        remark("    try: %s", found[k].advice);
    }
    if (i.dropped) remark("  %llu spans are not in the timeline", (unsigned long long)i.dropped);
}

int profiling_end(profiling *g, int code) {
    wick_profile *p = g->profile;
    const int memory = profiling_memory(g);
    wick_memory_snapshot_free(&g->before);
    if (code == CLI_OK) code = memory;
    if (!p) return code;
    wick_status status = wick_profile_stop(p);
    if (status == WICK_OK && !g->told) say(p);
    for (int i = 0; i < g->o->recording.profiles.n && status == WICK_OK; i++) {
        const char *name = g->o->recording.profiles.items[i];
        if (!is_timeline(name)) status = wick_profile_write(p, name);
        if (status == WICK_OK) log_note("wrote %s", name);
    }
    if (status != WICK_OK) {
        if (code == CLI_OK)
            code = log_fail(log_code(status, CLI_FAILED), "--profile: %s", wick_profile_error(p));
        else
            log_note("--profile: %s", wick_profile_error(p));
    }
    wick_profile_free(&g->profile);
    return code;
}
