#include "context.h"

#include "term/log.h"
#include "tuned.h"

#include "wick/memory.h"

#include <stdlib.h>
#include <string.h>

/* A list of numbers, "0-3,8": the library says whether it is one of CPUs. */
static bool is_list(const char *text) { return *text && !text[strspn(text, "0123456789,-")]; }

static int set_pin(wick_placement *p, const char *text) {
    static const char *const names[] = {
        [WICK_PIN_NONE] = "none", [WICK_PIN_COMPACT] = "compact", [WICK_PIN_SCATTER] = "scatter"};
    for (int i = 0; i < (int)(sizeof names / sizeof *names); i++)
        if (strcmp(text, names[i]) == 0) p->pin = (wick_pin)i;
    if (is_list(text)) p->pin = WICK_PIN_LIST, p->cpus = text;
    return *text && !p->pin && strcmp(text, "none") != 0
               ? log_fail(CLI_USAGE, "--pin %s: none, compact, scatter, or CPUs as 0-3,8", text)
               : CLI_OK;
}

static int set_numa(wick_placement *p, const char *text) {
    static const char *const names[] = {[WICK_NUMA_NONE] = "none",
                                        [WICK_NUMA_BIND] = "bind",
                                        [WICK_NUMA_INTERLEAVE] = "interleave",
                                        [WICK_NUMA_FIRST_TOUCH] = "first-touch"};
    const char *colon = strchr(text, ':');
    const size_t n = colon ? (size_t)(colon - text) : strlen(text);
    int found = -1;
    for (int i = 0; i < (int)(sizeof names / sizeof *names); i++)
        if (strlen(names[i]) == n && memcmp(text, names[i], n) == 0) found = i;
    const bool has_nodes = found == WICK_NUMA_BIND || found == WICK_NUMA_INTERLEAVE;
    if (*text && (found < 0 || (colon && (!has_nodes || !is_list(colon + 1)))))
        return log_fail(CLI_USAGE,
                        "--numa %s: none, bind, interleave or first-touch; bind:0 and interleave:0,1 name nodes", text);
    if (found > 0) p->numa = (wick_numa)found;
    if (colon) p->nodes = colon + 1;
    return CLI_OK;
}

int cli_context(wick_context **ctx, const cli_options *o, wick_context_options options) {
    options.tuning = tuned();
    options.threads = (int)o->threads;
    int code = set_pin(&options.placement, o->placement.pin ? o->placement.pin : "");
    if (code == CLI_OK) code = set_numa(&options.placement, o->placement.numa ? o->placement.numa : "");
    if (code != CLI_OK) return code;
    options.placement.balance = o->placement.balance;
    if (o->recording.memory_files.n) options.track_memory = true;
    const wick_memory_pool_options pool = {.max = (size_t)o->placement.memory_pool,
                                           .huge_pages = o->placement.huge_pages};
    if (o->placement.huge_pages && !o->placement.memory_pool)
        return log_fail(CLI_USAGE, "--huge-pages is about the pool's pages: --memory-pool BYTES says how large it is");
    if (o->placement.memory_pool) options.memory_pool = &pool;
    const wick_status status = wick_context_new(&options, ctx);
    if (status == WICK_ERR_INVALID)
        return options.memory_pool && o->placement.memory_pool > (int64_t)1 << 47
                   ? log_fail(CLI_USAGE, "--memory-pool: at most 2^47 bytes")
                   : log_fail(
                         CLI_USAGE, "%s%s%s%s: no list of numbers below 8192", options.placement.cpus ? "--pin " : "",
                         options.placement.cpus ? options.placement.cpus : "",
                         options.placement.nodes ? " --numa " : "", options.placement.nodes ? o->placement.numa : "");
    if (status != WICK_OK) return log_fail(CLI_FAILED, "could not start: out of memory, addresses or threads");
    const char *note = wick_context_placement_note(*ctx);
    if (*note) log_note("%s", note);
    return CLI_OK;
}
