/* timeline_otlp.c: spans as OpenTelemetry's. A span is written when it ends; its id is given when it begins, so that
 * those within it can name it. Lines end with each drain: what is left of a killed process is whole lines, and one. */
#include <time.h>
#include <unistd.h>

#include "profile/otlp.h"
#include "profile/timeline.h"

enum { LINE_SPANS = 256 }; /* in one message, at most */

uint64_t otlp_now(void) {
    struct timespec now;
    if (clock_gettime(CLOCK_REALTIME, &now) != 0) return 0;
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

bool otlp_begin(timeline *t, uint64_t zero) {
    /* an id that no other run has: when, and who */
    const uint64_t seed[] = {zero, (uint64_t)getpid(), wick_now_ns()};
    t->epoch = zero;
    t->trace[0] = wick_hash(seed, sizeof seed, 1) | 1;
    t->trace[1] = wick_hash(seed, sizeof seed, 2);
    return true;
}

/* Closes the message that is open. */
bool otlp_end_line(timeline *t) {
    static const char end[] = "]}]}]}\n";
    if (!t->in_line) return true;
    t->in_line = 0;
    t->limit += sizeof end;
    const bool good = timeline_add(t, end, sizeof end - 1);
    t->limit -= sizeof end;
    return good;
}

bool otlp_span(timeline *t, const wick_track *track, const wick_mark *mark, uint64_t id, uint64_t parent,
               uint64_t begin, uint64_t end, const char *text) {
    char line[2048];
    wick_str s = wick_str_on(line, sizeof line);
    /* before the buffer is full, or another rank's line might come into this one */
    const bool half = t->ranks && t->used > sizeof t->buffer / 2;
    if ((t->in_line == LINE_SPANS || half) && !otlp_end_line(t)) return false;
    if (half) timeline_flush(t);
    if (!t->in_line)
        wick_str_add(&s,
                     "{\"resourceSpans\"" OTLP_RESOURCE ",\"scopeSpans\":[{\"scope\":{\"name\":\"wick\"},\"spans\":[",
                     (int)getpid());
    wick_str_add(&s, "%s{\"traceId\":\"%016llx%016llx\",\"spanId\":\"%016llx\",", t->in_line ? "," : "",
                 (unsigned long long)t->trace[0], (unsigned long long)t->trace[1], (unsigned long long)id);
    if (parent) wick_str_add(&s, "\"parentSpanId\":\"%016llx\",", (unsigned long long)parent);
    wick_str_add(&s, "\"name\":");
    timeline_quote(&s, text);
    wick_str_add(&s,
                 ",\"kind\":1,\"startTimeUnixNano\":\"%llu\",\"endTimeUnixNano\":\"%llu\",\"attributes\":["
                 "{\"key\":\"thread.id\",\"value\":{\"intValue\":\"%u\"}},"
                 "{\"key\":\"thread.name\",\"value\":{\"stringValue\":",
                 (unsigned long long)(t->epoch + begin), (unsigned long long)(t->epoch + end), track->number);
    timeline_quote(&s, track->name);
    wick_str_add(&s, "}}");
    if (mark->flow && mark->kind != WICK_MARK_STEP)
        wick_str_add(&s, ",{\"key\":\"wick.batch\",\"value\":{\"intValue\":\"%llu\"}}", (unsigned long long)mark->flow);
    if (t->ranks) wick_str_add(&s, ",{\"key\":\"wick.rank\",\"value\":{\"intValue\":\"%d\"}}", t->rank);
    wick_str_add(&s, "]}");
    if (s.cut || !timeline_add(t, s.at, s.len)) return false;
    t->in_line++;
    return true;
}
