/* progress.h: how far a training run is, live on a terminal and as plain lines elsewhere. */
#ifndef WICK_CLI_PROGRESS_H
#define WICK_CLI_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct progress {
    bool on, live, color;
    int form;            /* of the live line, which gets shorter once it does not fit ... */
    size_t width;        /* ... and starts anew in a terminal of another width */
    bool shown;          /* a live line stands on the terminal */
    double printed;      /* when the last line was, in seconds */
    int tenth;           /* of the epoch, at the last line */
    double mark_seconds; /* of training: the speed is measured from here ... */
    int64_t mark_samples;
    double rate; /* ... smoothed, in samples a second; 0: not known yet */
} progress;

typedef struct progress_view {
    int64_t epoch, epochs, step, steps; /* counted from 1 */
    int64_t epoch_samples, epoch_size;  /* of this epoch */
    int64_t samples, total;             /* of the whole run */
    double seconds;                     /* that its training steps took, evaluation apart */
    double loss, accuracy;              /* means over this epoch so far; accuracy NaN: there is none */
} progress_view;

void progress_setup(progress *p, bool quiet, int64_t samples_done, double seconds_done);
/* Cheap unless a line is due: at most ten a second live, elsewhere one each tenth of an epoch, at most one a second and
 * at least one in ten. */
void progress_step(progress *p, const progress_view *view);
/* Takes the live line away, so that something else can be said. */
void progress_clear(progress *p);
/* "1:02:03", "4:05". */
void format_duration(char *text, int size, double seconds);

#endif
