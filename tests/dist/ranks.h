/* ranks.h: runs a function as every rank of a group, each in a process of its own, as `wick launch` starts them. */
#ifndef WICK_TESTS_RANKS_H
#define WICK_TESTS_RANKS_H

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "context.h"
#include "test.h"
#include "wick/dist.h"

enum { RANKS_MOST = 16, RANK_TEXT = 600 };

/* What a rank came to: what its function returned, and the text that it left in `text`. */
typedef struct rank_end {
    int code; /* -1: ended by a signal */
    char text[RANK_TEXT];
} rank_end;

/* group NULL: the open failed, and its text is in `text`. A return value other than 0 is no failure by itself. */
typedef int (*rank_fn)(wick_group *group, const void *arg, char text[RANK_TEXT]);

typedef struct rank_run {
    int ranks, n;
    double timeout, start;
    pid_t pid[RANKS_MOST];
    int out[RANKS_MOST];
} rank_run;

static inline void rank_body(rank_run *run, wick_group_host *host, int rank, rank_fn fn, const void *arg) {
    rank_end end = {0};
    alarm(60); /* a hang ends as a failure */
    wick_context *ctx = new_context(.threads = 1);
    wick_group *group = NULL;
    if (!ctx || wick_group_host_enter(host, rank) != WICK_OK) _exit(99);
    wick_group_host_free(&host);
    const wick_group_options options = {.timeout = run->timeout, .start_timeout = run->start};
    if (wick_group_open(ctx, &options, &group) != WICK_OK) snprintf(end.text, RANK_TEXT, "%s", wick_context_error(ctx));
    end.code = fn(group, arg, end.text);
    wick_group_close(&group);
    wick_context_free(&ctx);
    if (write(run->out[rank], &end, sizeof end) != (ssize_t)sizeof end) _exit(98);
    _exit(0);
}

/* Starts them; the ranks run. false: the host could not be made. */
static inline bool ranks_start(rank_run *run, rank_fn fn, const void *arg) {
    wick_context *ctx = new_context(.threads = 1);
    wick_group_host *host = NULL;
    if (!ctx || wick_group_host_new(ctx, run->ranks, &host) != WICK_OK) {
        wick_context_free(&ctx);
        return false;
    }
    fflush(stdout);
    for (int r = 0; r < run->ranks; r++) {
        int ends[2];
        if (pipe2(ends, O_CLOEXEC) != 0) return false;
        run->out[r] = ends[1];
        if ((run->pid[r] = fork()) == 0) rank_body(run, host, r, fn, arg);
        close(ends[1]);
        run->out[r] = ends[0];
    }
    wick_group_host_free(&host);
    wick_context_free(&ctx);
    return true;
}

static inline rank_end rank_wait(rank_run *run, int rank) {
    rank_end end = {.code = -1};
    int status;
    if (read(run->out[rank], &end, sizeof end) != (ssize_t)sizeof end) end = (rank_end){.code = -1};
    close(run->out[rank]);
    waitpid(run->pid[rank], &status, 0);
    return end;
}

static inline void ranks_run(int ranks, double timeout, rank_fn fn, const void *arg, rank_end ends[]) {
    rank_run run = {.ranks = ranks, .timeout = timeout};
    REQUIRE(ranks_start(&run, fn, arg));
    for (int r = 0; r < ranks; r++) ends[r] = rank_wait(&run, r);
}

#endif
