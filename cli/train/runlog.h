/* runlog.h: reads back what steplog.h writes: the curves of a run. */
#ifndef WICK_CLI_RUNLOG_H
#define WICK_CLI_RUNLOG_H

#include <stddef.h>

/* Numbers of a line; NaN where it has none, or none that is finite. */
typedef struct log_row {
    double step, epoch, loss, accuracy, lr, samples, seconds;   /* of a step */
    double train_loss, train_accuracy, valid_loss, valid_score; /* of an epoch, after that step */
    double test_loss, test_accuracy;                            /* at the end of the run; of older runs of each epoch */
} log_row;

typedef struct runlog {
    log_row *steps, *epochs;
    size_t n_steps, n_epochs;
    size_t step_room, epoch_room;
} runlog;

/* A last line without its end, as a killed run leaves it, is no error; what is no regular file, has more than 1 GiB or
 * a line of more than 4 KiB is one. Exit codes; what went wrong has been said. */
int runlog_read(runlog *log, const char *path);
void runlog_free(runlog *log);

#endif
