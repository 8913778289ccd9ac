/* dashboard.h: --dashboard: a training on the whole terminal: curves, throughput, memory, queue, time left. The
 * terminal's other screen is used, so that what stood there comes back after any end; terminal settings stay. Without a
 * terminal on standard error there is none, and no byte of it is written. */
#ifndef WICK_CLI_DASHBOARD_H
#define WICK_CLI_DASHBOARD_H

#include "progress.h"

#include "wick/loader.h"
#include "wick/monitor.h"

enum {
    DASHBOARD_POINTS = 512, /* of a curve; then each two become one */
    DASHBOARD_LINES = 5,    /* that were said last */
    DASHBOARD_LINE = 240    /* bytes of one */
};

typedef struct dashboard_curve {
    double at[DASHBOARD_POINTS]; /* means of `stride` values */
    int n;
    int64_t stride, in_last; /* values in the mean that is being made */
    double sum;
} dashboard_curve;

typedef struct dashboard {
    bool on;
    bool colour, utf8;
    int columns, rows; /* as drawn last */
    double drawn;      /* when, in seconds */
    const char *title; /* borrowed */
    const char *score; /* name of the second curve: "accuracy of validation" */
    int threads;
    double lr;
    dashboard_curve loss, judged;
    char lines[DASHBOARD_LINES][DASHBOARD_LINE];
    int said; /* lines so far */
} dashboard;

/* Takes the terminal if standard error is one of at least 40 x 12; false, and says why, if not. */
bool dashboard_open(dashboard *d, const char *title, const char *score, int threads);
/* A step has ended; draws at most ten times a second. */
void dashboard_step(dashboard *d, const progress_view *view, double loss, double lr, wick_monitor *monitor,
                    const wick_loader *loader);
/* An epoch's score; NaN: none. */
void dashboard_epoch(dashboard *d, double score);
/* Gives the terminal back, and prints there what was said last. */
void dashboard_close(dashboard *d);

#endif
