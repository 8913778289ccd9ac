/* wick profile: a model's plan, run and recorded. */
#include "bound.h"
#include "profile_race.h"
#include "../profiling.h"
#include "../term/log.h"
#include "../context.h"

#include "wick/memory.h"

#include <stdio.h>
#include <stdlib.h>

enum { WARM_UP = 2 };

/* In memory first: "ok" is said when nothing can fail. */
static int show(const planned *p, wick_profile *profile) {
    const bool as_json = p->o->json;
    const size_t size = wick_profile_format(profile, as_json, NULL, 0) + 1;
    char *text = malloc(size);
    if (!text) return log_fail(CLI_FAILED, "out of memory");
    wick_profile_format(profile, as_json, text, size);
    if (as_json) {
        json j = log_json_open();
        json_bool(&j, "ok", true);
        json_text(&j, "model", p->title);
        json_raw(&j, "profile", text);
        json_open(&j, "memory", '[');
        for (int i = 0; wick_memory_use_at(p->ctx, i).name; i++) {
            const wick_memory_use u = wick_memory_use_at(p->ctx, i);
            json_open(&j, NULL, '{');
            json_text(&j, "use", u.name);
            json_integer(&j, "bytes", (int64_t)u.bytes);
            json_integer(&j, "peak", (int64_t)u.peak);
            json_integer(&j, "blocks", (int64_t)u.blocks);
            json_close(&j, '}');
        }
        json_close(&j, ']');
        log_json_close(&j);
    } else {
        log_print("%s\n", p->title);
        log_lines(text);
        printf("\n%-16s %12s %12s %8s\n", "memory", "MB", "at most", "blocks");
        for (int i = 0; wick_memory_use_at(p->ctx, i).name; i++) {
            const wick_memory_use u = wick_memory_use_at(p->ctx, i);
            if (u.peak)
                printf("%-16s %12.4g %12.4g %8llu\n", u.name, (double)u.bytes * 1e-6, (double)u.peak * 1e-6,
                       (unsigned long long)u.blocks);
        }
    }
    free(text);
    return CLI_OK;
}

static int run(const planned *p, profiling *g) {
    bound b;
    int code = bound_open(&b, p);
    for (int i = 0; i < WARM_UP && code == CLI_OK; i++) code = bound_run(&b) < 0 ? CLI_FAILED : CLI_OK;
    if (code == CLI_OK) code = profiling_begin(g, p->o, p->ctx);
    if (code == CLI_OK && !g->profile && wick_profile_start(p->ctx, NULL, &g->profile) != WICK_OK)
        code = log_fail(CLI_FAILED, "%s", wick_context_error(p->ctx));
    for (int64_t i = 0; i < p->o->runs && code == CLI_OK; i++) code = bound_run(&b) < 0 ? CLI_FAILED : CLI_OK;
    if (code == CLI_OK) {
        const wick_status status = wick_profile_stop(g->profile);
        if (status != WICK_OK) code = log_fail(CLI_FAILED, "--profile: %s", wick_profile_error(g->profile));
    }
    if (code == CLI_OK && !p->o->of_profile.no_race) profile_race(g->profile, &b);
    if (code == CLI_OK) code = show(p, g->profile);
    g->told = true;
    if (code == CLI_OK) code = profiling_memory(g);
    bound_close(&b);
    return code;
}

int cmd_profile(cli_options *o) {
    wick_context *ctx;
    planned p = {0};
    profiling g = {0};
    int code = cli_context(&ctx, o, (wick_context_options){.jit = WICK_JIT_WAIT, .track_memory = true});
    if (code != CLI_OK) return code;
    code = profiling_memory_begin(&g, o, ctx);
    if (code == CLI_OK) code = planned_open(&p, o, ctx);
    if (code == CLI_OK) code = run(&p, &g);
    code = profiling_end(&g, code);
    planned_free(&p);
    wick_context_free(&ctx);
    return code;
}
