/* measure.h: how fast this machine computes with Wick, in under a second. */
#ifndef WICK_CLI_MEASURE_H
#define WICK_CLI_MEASURE_H

#include <stdint.h>

typedef struct speeds {
    double peak;     /* of one core in GFLOP/s, by multiply-adds in registers */
    double product;  /* GFLOP/s of an f32 matrix product on one thread ... */
    double products; /* ... and on all */
    double memory;   /* GB/s read and written on all threads, in vectors larger than the caches */
} speeds;

/* 0 stands for what could not be measured. memory: how many bytes it may use. */
void measure_speeds(speeds *s, int threads, uint64_t memory);

#endif
