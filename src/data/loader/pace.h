/* pace.h: what a loader changes by what it measures. No clock is read here: times are the caller's, so that each
 * decision can be asked for with made-up ones. */
#ifndef WICK_DATA_PACE_H
#define WICK_DATA_PACE_H

#include <stdbool.h>
#include <stdint.h>

/* How many workers make batches, and how many batches ahead of the caller. */
typedef struct wick_pace {
    int workers, most_workers; /* in use, of those that there are */
    int ahead, most_ahead;
    int floor; /* the fewest workers: with fewer the caller was seen to wait */
    int quiet; /* looks in a row in which the caller did not wait */
    bool shrunk;
    /* since the last look; full: batches that were ready; given: those that could be */
    struct wick_pace_look {
        uint64_t since, waited;
        int batches, full, given;
    } look;
} wick_pace;

/* The caller got a batch at `now`, for which it had waited, both in ns; `full` of the `given` batches behind it were
 * ready. Each 8 batches: one more of what it waits for, or one worker less if it twice needed none of them. Whether
 * the number of workers has changed. */
bool wick_pace_follow(wick_pace *p, uint64_t now, uint64_t waited, int full, int given);

/* How many samples a worker takes at once, where `samples` took `ns`. Taking costs two locks and four clocks, about a
 * microsecond: those that are made in less are taken by the dozen. */
int64_t wick_pace_at_once(uint64_t samples, uint64_t ns);

#endif
