/* ceilings.h: what one core, or several, can do at most: arithmetic in registers, and bytes from each level of memory.
 */
#ifndef WICK_CLI_BENCH_CEILINGS_H
#define WICK_CLI_BENCH_CEILINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Arithmetic: multiplications and additions a second, two for a multiply-add; of CEILING_EXP, exponentials of f32. */
typedef enum ceiling_compute {
    CEILING_F32,
    CEILING_F64,
    CEILING_BF16,
    CEILING_INT8,
    CEILING_EXP,
    CEILING_COMPUTES
} ceiling_compute;
const char *ceiling_compute_name(ceiling_compute kind); /* "f32" */
const char *ceiling_compute_unit(ceiling_compute kind); /* "GFLOP/s" */
/* What it is made of on this machine, at most of `tier` (a name of wick_isa_at): "avx512 multiply-add"; NULL: it has
 * nothing of its own. */
const char *ceiling_compute_how(ceiling_compute kind, const char *tier);
/* Of `threads` together; 0: there is nothing to measure, or no memory. */
double ceiling_compute_rate(ceiling_compute kind, const char *tier, int threads);

/* Memory: bytes a second that loops read, write, or copy (bytes read and bytes written both count). */
typedef enum ceiling_access { CEILING_READ, CEILING_WRITE, CEILING_COPY, CEILING_ACCESSES } ceiling_access;
const char *ceiling_access_name(ceiling_access access);
/* `bytes` in all, each of the threads in its own part of them. */
double ceiling_memory_rate(ceiling_access access, const char *tier, int threads, size_t bytes);

/* Keeps the calling thread, and what it starts from now on, on the last `threads` CPUs that this process may use;
 * number >= 0: on that one of them. */
void ceiling_pin(int threads, int number);

#endif
