/* memory.h: what a process grew by at its peak. */
#ifndef WICK_CLI_BENCH_MEMORY_H
#define WICK_CLI_BENCH_MEMORY_H

typedef struct memory_mark {
    double before; /* bytes that no file stands behind; 0: the system doesn't tell */
} memory_mark;

/* From now on. */
void memory_begin(memory_mark *m);
/* The most bytes since then that no file stands behind (RssAnon), beyond those of that moment; 0: the system doesn't
 * tell. */
double memory_peak(const memory_mark *m);

#endif
