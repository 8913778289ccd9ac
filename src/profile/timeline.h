/* timeline.h: spans of threads in a file, as they come. Nothing of the profile is known here. */
#ifndef WICK_PROFILE_TIMELINE_H
#define WICK_PROFILE_TIMELINE_H

#include "base/trace.h"

typedef struct timeline {
    int fd;                /* -1: there is none */
    bool chrome;           /* Chrome's JSON; else Perfetto's packets */
    bool page;             /* that, behind a page which shows it */
    bool otlp;             /* OpenTelemetry's JSON */
    int in_line;           /* of that: spans in the message that is open; 0: none is */
    uint64_t epoch;        /* ns of the calendar when the recorder began */
    uint64_t trace[2], id; /* of this timeline; of the span that began last */
    int rank, ranks;       /* who else writes into it, each as a process of its own; ranks 0: nobody */
    int64_t shift;         /* ns from what is 0 of the file to the recorder's beginning */
    uint64_t limit, bytes; /* the most; written or in the buffer */
    uint64_t spans, dropped;
    int error; /* errno of the first write that failed */
    const wick_allocator *alloc;
    struct timeline_names *names; /* by track: what was named there */
    size_t used;
    char buffer[1 << 16];
} timeline;

/* A file that is there has to be a profile (profile_may_replace). zero: the calendar's ns when the recorder began.
 * rank, ranks and shift are set before. */
wick_status timeline_open(timeline *t, const char *path, size_t limit, uint64_t zero, const wick_allocator *alloc,
                          wick_msg *msg);
/* A mark of the track, of ns since the recorder's beginning. text: of its name. */
void timeline_put(timeline *t, const wick_track *track, const wick_mark *mark, uint64_t begin, uint64_t end,
                  const char *text);
void timeline_flush(timeline *t);
/* Writes what is left. errno of what went wrong, or 0. */
int timeline_close(timeline *t);

/* For the formats: text that is there as a whole or not at all (false), and a JSON string. */
bool timeline_add(timeline *t, const void *bytes, size_t n);
void timeline_quote(wick_str *s, const char *text);
/* timeline_otlp.c. false: there was no room. */
bool otlp_begin(timeline *t, uint64_t zero);
bool otlp_span(timeline *t, const wick_track *track, const wick_mark *mark, uint64_t id, uint64_t parent,
               uint64_t begin, uint64_t end, const char *text);
bool otlp_end_line(timeline *t);

/* What a page begins with; Chrome's events follow. */
enum { TIMELINE_PAGE_PARTS = 2 };
extern const char *const timeline_page[TIMELINE_PAGE_PARTS];

/* Every file of a profile begins with one of a few texts; what doesn't is not replaced. */
wick_status profile_may_replace(const char *path, wick_msg *msg);

#endif
