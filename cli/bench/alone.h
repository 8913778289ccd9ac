/* alone.h: a row by itself, in a process of its own: its memory, and its instructions. */
#ifndef WICK_CLI_BENCH_ALONE_H
#define WICK_CLI_BENCH_ALONE_H

#include "results.h"

/* wick bench ROW --runs N: runs the row, measures no time, and prints memory as JSON or a line. */
bool alone_run(const bench_result *r, int size, int64_t runs, bool json);

/* What such a process says of the row's memory: r->planned, r->memory. False: r->why. */
bool alone_memory(bench_result *r, int size);

/* Instructions: counted by the CPU, of this process and the threads that it will have, or by valgrind's callgrind. */
typedef struct counter {
    int file;      /* of the CPU's counter; -1: it can't be read */
    char why[96]; /* it can't */
} counter;
void counter_open(counter *c);
double counter_read(const counter *c);
void counter_close(counter *c);
bool alone_has_callgrind(void);
/* By callgrind, in such a process: r->instructions. seconds: of a run, so that enough are taken. False: why not. */
bool alone_instructions(bench_result *r, int size, double seconds, char *why, size_t room);

#endif
