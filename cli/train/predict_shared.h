/* predict_shared.h: wick predict on several ranks. What is looked at is dealt out in turn: rank r of R shows numbers r,
 * r + R, r + 2 R ... What each writes is kept in a file, and put together by rank 0 as one process would have written
 * it. Without other ranks all of it does nothing. */
#ifndef WICK_CLI_PREDICT_SHARED_H
#define WICK_CLI_PREDICT_SHARED_H

#include "shared.h"

typedef struct dealt {
    wick_group *group;
    FILE *kept;       /* what this rank writes */
    FILE **list, *to; /* the stream of a list of JSON, and what it was before; NULL: standard output */
    int terminal;     /* a copy of standard output */
    int64_t seen;     /* numbers that were dealt out, to all */
    int64_t *begins;  /* of kept: where each of this rank's begins */
    int64_t n, room;
    bool failed; /* out of memory, or the disk is full: dealt_end says so */
} dealt;

/* list: where a list of JSON is written to; NULL: to standard output. An exit code; what went wrong has been said. */
int dealt_begin(dealt *d, FILE **list);
/* The next one is looked at: whether it is this rank's. */
bool dealt_mine(dealt *d);
/* Everything is as it was, and rank 0 has written what all ranks have. code: how it went on this rank. All ranks get
 * the first that is not CLI_OK. */
int dealt_end(dealt *d, int code);

#endif
