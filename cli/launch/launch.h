/* launch.h: the ranks of wick launch: processes that are started together and end together. */
#ifndef WICK_CLI_LAUNCH_H
#define WICK_CLI_LAUNCH_H

#include "../cli.h"

#include "wick/dist.h"

typedef struct launch {
    wick_context *ctx;
    const cli_options *o;
    int least, ranks; /* at least; now */
    int restart;      /* how often it was started again */
    int signals;      /* watches signals: a signalfd */
    char **command;   /* argv of the ranks */
} launch;

/* How one start of all ranks came to its end. */
typedef struct launch_end {
    int code;         /* of the first rank that failed; 0: all succeeded */
    int rank;         /* that one; -1: none */
    bool interrupted; /* this process was told to stop */
    char how[64];     /* "exit code 3", "signal 9 (Killed)" */
} launch_end;

/* Starts l->ranks of the command and waits for all of them. Returns an exit code, other than CLI_OK where they could
 * not be started. */
int launch_once(launch *l, launch_end *end);

/* The command of a start after the first: `wick train` with --resume, where its run has a checkpoint; else the same. A
 * new array, whose texts are of the old; *folder (may stay NULL): the run's. NULL: out of memory. */
char **launch_again(char **command, const char **folder);

#endif
