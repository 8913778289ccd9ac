/* monitor_otlp.c: a monitor's numbers as OpenTelemetry's: counters are monotonic sums since the monitor was made,
 * latencies a summary, all else gauges. */
#include <math.h>
#include <unistd.h>

#include "profile/otlp.h"
#include "profile/timeline.h"

/* Protocol buffers' JSON has these three as texts. */
static void number(wick_text *out, const char *key, double v) {
    if (isfinite(v))
        wick_text_add(out, "\"%s\":%.17g", key, v);
    else
        wick_text_add(out, "\"%s\":\"%s\"", key, isnan(v) ? "NaN" : v > 0 ? "Infinity" : "-Infinity");
}

static void times(wick_text *out, uint64_t made) {
    if (made) wick_text_add(out, "\"startTimeUnixNano\":\"%llu\",", (unsigned long long)made);
    wick_text_add(out, "\"timeUnixNano\":\"%llu\"", (unsigned long long)otlp_now());
}

void otlp_metrics_begin(wick_text *out, const wick_monitor_stats *s, uint64_t made) {
    monitor_metric all[MONITOR_METRICS];
    const int n = monitor_metrics(s, all);
    wick_text_add(
        out, "{\"resourceMetrics\"" OTLP_RESOURCE ",\"scopeMetrics\":[{\"scope\":{\"name\":\"wick\"},\"metrics\":[",
        (int)getpid());
    for (int i = 0; i < n; i++) {
        const monitor_metric *m = &all[i];
        wick_text_add(out, "{\"name\":\"wick.%s\",\"description\":\"%s\",", m->name, m->help);
        if (*m->unit) wick_text_add(out, "\"unit\":\"%s\",", strcmp(m->unit, "bytes") == 0 ? "By" : "s"); /* UCUM's */
        wick_text_add(out, m->counter ? "\"sum\":{\"aggregationTemporality\":2,\"isMonotonic\":true,\"dataPoints\":[{"
                                      : "\"gauge\":{\"dataPoints\":[{");
        times(out, m->counter ? made : 0);
        wick_text_add(out, ",");
        number(out, "asDouble", m->value);
        wick_text_add(out, "}]}},");
    }
    const double quantiles[] = {0.5, 0.95, 0.99}, values[] = {s->latency.median, s->latency.p95, s->latency.p99};
    wick_text_add(out, "{\"name\":\"wick.step\",\"description\":\"How long steps take, quantiles of the last ones.\","
                       "\"unit\":\"s\",\"summary\":{\"dataPoints\":[{");
    times(out, made);
    wick_text_add(out, ",\"count\":\"%llu\",", (unsigned long long)s->steps);
    number(out, "sum", s->seconds);
    wick_text_add(out, ",\"quantileValues\":[");
    for (size_t i = 0; i < WICK_COUNTOF(quantiles) && s->latency.count; i++) {
        wick_text_add(out, "%s{\"quantile\":%g,", i ? "," : "", quantiles[i]);
        number(out, "value", values[i]);
        wick_text_add(out, "}");
    }
    wick_text_add(out, "]}]}}");
}

void otlp_metrics_own(wick_text *out, const char *name, double value, bool first) {
    char quoted[512];
    wick_str s = wick_str_on(quoted, sizeof quoted);
    timeline_quote(&s, name);
    wick_text_add(out, first ? ",{\"name\":\"wick.value\",\"description\":\"Numbers of the program's own.\",\"gauge\":{"
                               "\"dataPoints\":[{"
                             : ",{");
    times(out, 0);
    wick_text_add(out, ",\"attributes\":[{\"key\":\"name\",\"value\":{\"stringValue\":%s}}],", quoted);
    number(out, "asDouble", value);
    wick_text_add(out, "}");
}

void otlp_metrics_end(wick_text *out, bool own) { wick_text_add(out, own ? "]}}]}]}]}\n" : "]}]}]}\n"); }
