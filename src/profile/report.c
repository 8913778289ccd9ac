/* report.c: what was found as a text for people, as JSON, and in files. */
#include "profile/profile.h"

#include <stdio.h>

static const struct {
    wick_profile_view view;
    const char *title, *key;
} views[] = {{WICK_PROFILE_KERNELS, "kernels", "kernels"},
             {WICK_PROFILE_OPS, "ops", "ops"},
             {WICK_PROFILE_LAYERS, "layers", "layers"},
             {WICK_PROFILE_LINES, "lines", "lines"},
             {WICK_PROFILE_SPANS, "spans", "spans"}};

/* ---- text -------------------------------------------------------------------------------------------------------- */

static void table(wick_profile *p, wick_text *out, size_t v, int most) {
    const int n = wick_profile_rows(p, views[v].view);
    if (!n || (n == 1 && strcmp(wick_profile_row_at(p, views[v].view, 0).name, "unknown") == 0)) return;
    const bool spans = views[v].view == WICK_PROFILE_SPANS, kernels = views[v].view == WICK_PROFILE_KERNELS;
    wick_text_add(out, "\n%-44s %9s %10s %6s %9s %9s %9s %9s", views[v].title, "count", "total ms", "share", "mean us",
                  "p50", "p95", "p99");
    wick_text_add(out, spans ? "\n" : " %9s %9s %8s  bound by\n", "GFLOP/s", "GB/s", "ceiling");
    for (int i = 0; i < WICK_MIN(n, most); i++) {
        const wick_profile_row r = wick_profile_row_at(p, views[v].view, i);
        char name[256];
        wick_str s = wick_str_on(name, sizeof name);
        if (kernels)
            wick_str_add(&s, "%s%s%s", r.ops, *r.layer || *r.line ? "  " : "", *r.layer ? r.layer : r.line);
        else
            wick_str_add(&s, "%s", r.name);
        wick_text_add(out, "%-44.44s %9llu %10.4g %5.1f%% %9.4g %9.4g %9.4g %9.4g", name,
                      (unsigned long long)r.time.count, r.time.total * 1e3, 100 * r.share, r.time.mean * 1e6,
                      r.time.median * 1e6, r.time.p95 * 1e6, r.time.p99 * 1e6);
        const double seconds = WICK_MAX(r.time.total, 1e-12);
        if (!spans)
            wick_text_add(out, " %9.4g %9.4g %7.0f%%  %s%s", r.flops / seconds * 1e-9, r.bytes / seconds * 1e-9,
                          100 * r.ceiling, r.bound, r.estimated ? ", estimated" : "");
        wick_text_add(out, "\n");
    }
    if (n > most) wick_text_add(out, "  ... and %d more\n", n - most);
}

static bool worker_worked(const wick_profile *p, int i, wick_worker_stats *w) {
    return wick_profile_worker(p, i, w) && w->regions;
}

static void workers(const wick_profile *p, wick_text *out) {
    const int n = wick_context_threads(p->ctx);
    wick_worker_stats w;
    bool any = false;
    for (int i = 0; i < n; i++) {
        if (!worker_worked(p, i, &w)) continue;
        if (!any) {
            const char *const heads[] = {"shared", "tasks", "steals", "busy ms", "speed", "share"};
            wick_text_add(out, "\n%-44s", "threads that shared kernels");
            for (size_t k = 0; k < WICK_COUNTOF(heads); k++) wick_text_add(out, " %9s", heads[k]);
            wick_text_add(out, "\n");
        }
        any = true;
        char name[32];
        wick_str s = wick_str_on(name, sizeof name);
        wick_str_add(&s, i ? "wick-%d" : "caller", i);
        wick_text_add(out, "%-44s %9llu %9llu %9llu %9.4g %9.3g %8.1f%%\n", name, (unsigned long long)w.regions,
                      (unsigned long long)w.tasks, (unsigned long long)w.steals, w.seconds * 1e3, w.speed,
                      100 * w.share);
    }
}

void profile_report(wick_profile *p, wick_text *out) {
    const wick_profile_info i = wick_profile_get_info(p);
    const double wall = WICK_MAX(i.wall * profile_callers(p), 1e-12);
    wick_text_add(out, "wick profile\n%.4g s, %llu run%s on %d thread%s, clock %s\n", i.wall,
                  (unsigned long long)i.runs, i.runs == 1 ? "" : "s", i.threads, i.threads == 1 ? "" : "s", i.clock);
    if (i.skipped)
        wick_text_add(out, "%llu runs were not recorded, to keep the overhead low\n", (unsigned long long)i.skipped);
    wick_text_add(out,
                  "in runs %.1f %%, of that in kernels %.1f %%; start-up %.1f %%; waiting for batches %.1f %%; the "
                  "profile's own %.1f %%; "
                  "elsewhere %.1f %%\n",
                  100 * i.run / wall, 100 * i.step / WICK_MAX(i.run, 1e-12), 100 * i.startup / wall,
                  100 * i.wait / wall, 100 * i.self / wall,
                  100 * WICK_MAX(1 - (i.run + i.startup + i.wait + i.self) / wall, 0.0));
    if (i.run_times.count)
        wick_text_add(out, "a run: mean %.4g us, p50 %.4g, p95 %.4g, p99 %.4g\n", i.run_times.mean * 1e6,
                      i.run_times.median * 1e6, i.run_times.p95 * 1e6, i.run_times.p99 * 1e6);
    if (i.dropped || i.lost)
        wick_text_add(out, "%llu spans are not in the timeline, %llu marks were lost\n", (unsigned long long)i.dropped,
                      (unsigned long long)i.lost);
    wick_profile_finding found[WICK_BOTTLENECKS];
    const int n = wick_profile_findings(p, 0, found);
    for (int k = 0; k < n; k++)
        wick_text_add(out, "%s: %.0f %% of the time%s%s\n  %s\n  try: %s\n", found[k].name, 100 * found[k].share,
                      *found[k].where ? ", most in " : "", found[k].where, found[k].evidence, found[k].advice);
    for (size_t v = 0; v < WICK_COUNTOF(views); v++) table(p, out, v, 15);
    workers(p, out);
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

static void quote(wick_text *out, const char *text) {
    wick_text_bytes(out, "\"", 1);
    for (; *text; text++) {
        const unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            wick_text_add(out, "\\%c", c);
        else if (c < 32)
            wick_text_add(out, "\\u%04x", c);
        else
            wick_text_bytes(out, text, 1);
    }
    wick_text_bytes(out, "\"", 1);
}

static void text_field(wick_text *out, const char *key, const char *value) {
    if (!*value) return;
    wick_text_add(out, ", \"%s\": ", key);
    quote(out, value);
}

static void rows_json(wick_profile *p, wick_text *out, size_t v) {
    const int n = wick_profile_rows(p, views[v].view);
    wick_text_add(out, ",\n  \"%s\": [", views[v].key);
    for (int i = 0; i < n; i++) {
        const wick_profile_row r = wick_profile_row_at(p, views[v].view, i);
        wick_text_add(out, "%s\n    {\"name\": ", i ? "," : "");
        quote(out, r.name);
        text_field(out, "ops", r.ops);
        text_field(out, "layer", r.layer);
        text_field(out, "line", r.line);
        wick_text_add(out,
                      ", \"count\": %llu, \"seconds\": %.9g, \"share\": %.6g, \"min\": %.6g, \"mean\": %.6g, "
                      "\"p50\": %.6g, \"p95\": %.6g, \"p99\": %.6g, \"max\": %.6g",
                      (unsigned long long)r.time.count, r.time.total, r.share, r.time.min, r.time.mean, r.time.median,
                      r.time.p95, r.time.p99, r.time.max);
        if (views[v].view != WICK_PROFILE_SPANS) {
            wick_text_add(out, ", \"flops\": %.12g, \"bytes\": %.12g, \"ceiling\": %.4g, \"estimated\": %s", r.flops,
                          r.bytes, r.ceiling, r.estimated ? "true" : "false");
            text_field(out, "bound", r.bound);
            if (r.shared)
                wick_text_add(out, ", \"shared\": %llu, \"busy\": %.6g, \"idle\": %.6g, \"tail\": %.6g",
                              (unsigned long long)r.shared, r.busy, r.idle, r.tail);
        }
        wick_text_add(out, "}");
    }
    wick_text_add(out, "]");
}

static void workers_json(const wick_profile *p, wick_text *out) {
    const int n = wick_context_threads(p->ctx);
    const char *comma = "";
    wick_worker_stats w;
    wick_text_add(out, ",\n  \"workers\": [");
    for (int i = 0; i < n; i++) {
        if (!worker_worked(p, i, &w)) continue;
        wick_text_add(out,
                      "%s\n    {\"worker\": %d, \"shared\": %llu, \"tasks\": %llu, \"steals\": %llu, "
                      "\"seconds\": %.9g, \"speed\": %.6g, \"share\": %.6g}",
                      comma, i, (unsigned long long)w.regions, (unsigned long long)w.tasks,
                      (unsigned long long)w.steals, w.seconds, w.speed, w.share);
        comma = ",";
    }
    wick_text_add(out, "]");
}

void profile_json(wick_profile *p, wick_text *out) {
    const wick_profile_info i = wick_profile_get_info(p);
    wick_text_add(out,
                  "{\n  \"wick_profile\": 1,\n  \"wall\": %.9g, \"threads\": %d, \"tracks\": %d, \"clock\": \"%s\","
                  "\n  \"runs\": %llu, \"skipped\": %llu, \"steps\": %llu, \"spans\": %llu, \"dropped\": %llu, "
                  "\"lost\": %llu",
                  i.wall, i.threads, i.tracks, i.clock, (unsigned long long)i.runs, (unsigned long long)i.skipped,
                  (unsigned long long)i.steps, (unsigned long long)i.spans, (unsigned long long)i.dropped,
                  (unsigned long long)i.lost);
    wick_text_add(
        out,
        ",\n  \"seconds\": {\"run\": %.9g, \"step\": %.9g, \"startup\": %.9g, \"compile\": %.9g, \"record\": %.9g, "
        "\"wait\": %.9g, \"make\": %.9g, \"self\": %.9g}",
        i.run, i.step, i.startup, i.compile, i.record, i.wait, i.make, i.self);
    wick_text_add(out, ",\n  \"run\": {\"count\": %llu, \"mean\": %.6g, \"p50\": %.6g, \"p95\": %.6g, \"p99\": %.6g}",
                  (unsigned long long)i.run_times.count, i.run_times.mean, i.run_times.median, i.run_times.p95,
                  i.run_times.p99);
    wick_profile_finding found[WICK_BOTTLENECKS];
    const int n = wick_profile_findings(p, 0, found);
    wick_text_add(out, ",\n  \"findings\": [");
    for (int k = 0; k < n; k++) {
        wick_text_add(out, "%s\n    {\"name\": \"%s\", \"share\": %.6g", k ? "," : "", found[k].name, found[k].share);
        text_field(out, "where", found[k].where);
        text_field(out, "evidence", found[k].evidence);
        text_field(out, "advice", found[k].advice);
        wick_text_add(out, "}");
    }
    wick_text_add(out, "]");
    for (size_t v = 0; v < WICK_COUNTOF(views); v++) rows_json(p, out, v);
    workers_json(p, out);
    wick_text_add(out, "\n}\n");
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

static bool ends_with(const char *path, const char *end) {
    const size_t n = strlen(path), m = strlen(end);
    return n > m && strcmp(path + n - m, end) == 0;
}

static const struct {
    const char *end;
    void (*make)(wick_profile *p, wick_text *out);
} kinds[] = {{".svg", profile_flame}, {".folded", profile_folded}, {".txt", profile_report}, {".json", profile_json}};

static wick_status find_kind(const char *path, size_t *kind, wick_msg *msg) {
    for (*kind = 0; path && *kind < WICK_COUNTOF(kinds); ++*kind)
        if (ends_with(path, kinds[*kind].end)) return WICK_OK;
    return wick_msg_set(msg, WICK_ERR_INVALID, "%s: a profile is written as .svg, .folded, .txt or .json",
                        path ? path : "no path is given");
}

wick_status wick_profile_may_write(wick_context *ctx, const char *path, bool as_timeline) {
    size_t kind;
    if (!path) return wick_context_fail(ctx, WICK_ERR_INVALID, "profile: path is NULL");
    if (!as_timeline) WICK_TRY(find_kind(path, &kind, &ctx->msg));
    return profile_may_replace(path, &ctx->msg);
}

wick_status wick_profile_write(wick_profile *p, const char *path) {
    size_t kind;
    WICK_TRY(find_kind(path, &kind, &p->msg));
    WICK_TRY(profile_may_replace(path, &p->msg));
    wick_text out = {0};
    kinds[kind].make(p, &out);
    wick_writer *w = NULL;
    wick_status status = out.failed
                             ? wick_msg_set(&p->msg, WICK_ERR_NOMEM, "%s: out of memory, or nothing was run", path)
                             : wick_writer_open(&w, path, &p->msg);
    if (status == WICK_OK) status = wick_writer_write(w, out.at ? out.at : "", out.len, &p->msg);
    if (status == WICK_OK) status = wick_writer_commit(&w, &p->msg);
    wick_writer_abort(&w);
    wick_text_free(&out);
    return status;
}

size_t wick_profile_format(wick_profile *p, bool json, char *buffer, size_t size) {
    wick_text out = {0};
    (json ? profile_json : profile_report)(p, &out);
    const size_t n = out.len;
    if (buffer && size) {
        const size_t some = WICK_MIN(n, size - 1);
        if (some) memcpy(buffer, out.at, some);
        buffer[some] = 0;
    }
    wick_text_free(&out);
    return n;
}
