/* otlp.h: OpenTelemetry's protocol as lines of JSON (opentelemetry.io/docs/specs/otel/protocol/file-exporter): each
 * line is a TracesData or MetricsData message in protocol buffers' JSON form, with ids in hexadecimal. */
#ifndef WICK_PROFILE_OTLP_H
#define WICK_PROFILE_OTLP_H

#include "codegen/text.h"
#include "wick/monitor.h"

/* What said it, behind "resourceSpans" or "resourceMetrics"; takes the process's number. */
#define OTLP_RESOURCE                                                                                                  \
    ":[{\"resource\":{\"attributes\":[{\"key\":\"service.name\",\"value\":{\"stringValue\":\"wick\"}},"                \
    "{\"key\":\"process.pid\",\"value\":{\"intValue\":\"%d\"}}]}"

/* Now, by the calendar, in ns since 1970. */
uint64_t otlp_now(void);

/* What a monitor tells by one number each, those that are known; how many. */
enum { MONITOR_METRICS = 16 };
typedef struct monitor_metric {
    const char *name, *unit, *help; /* "memory_bytes", "bytes" or "" */
    double value;
    bool counter; /* it only grows */
} monitor_metric;
int monitor_metrics(const wick_monitor_stats *s, monitor_metric out[MONITOR_METRICS]);

/* A message of them, of latencies, and of numbers of the program's own: begun, one own number after another, ended.
 * made: when counting began, by otlp_now. */
void otlp_metrics_begin(wick_text *out, const wick_monitor_stats *s, uint64_t made);
void otlp_metrics_own(wick_text *out, const char *name, double value, bool first);
void otlp_metrics_end(wick_text *out, bool own);

#endif
