/* steplog.h: the log of a run, a JSON object a line, in step order. A resumed run cuts off what the interrupted one had
 * written after its checkpoint, so no step or epoch is there twice. */
#ifndef WICK_CLI_STEPLOG_H
#define WICK_CLI_STEPLOG_H

#include "../json.h"

typedef struct steplog {
    FILE *file; /* NULL: not open */
    const char *path;
} steplog;

/* Opens `path` (borrowed), keeping the lines of the first `step` steps and `epochs` epochs. A symbolic link is not
 * followed. False: errno says why. */
bool steplog_open(steplog *log, const char *path, int64_t step, int64_t epochs);
const char *steplog_why(int error); /* in words */
/* A line: begin, json_* calls, end. */
json steplog_begin(steplog *log, int64_t step);
void steplog_end(steplog *log, json *j);
/* Everything written so far is on disk when it returns. False: a write failed; errno says why. */
bool steplog_sync(steplog *log);
bool steplog_close(steplog *log);

#endif
