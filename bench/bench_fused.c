/* bench_fused.c: elementwise kernels, fused programs and reductions on one core, against floors measured in the same
 * run: copying (bytes read + written) and reading of the same footprint. Each figure is the median of interleaved
 * rounds of this thread's CPU time, so that a shared machine disturbs it less. Broadcast scalars and rows are not
 * counted as bytes.
 *
 *   bench_fused [tier] [part of a name] */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "kernels/convert/convert.h"
#include "kernels/elementwise/ew.h"

enum { ROUNDS = 15 };

static int by_value(const void *a, const void *b) {
    return *(const double *)a < *(const double *)b ? -1 : *(const double *)a > *(const double *)b;
}

static double cpu_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

typedef struct job {
    const char *name;
    double items, bytes; /* per run */
    void (*run)(struct job *);
    /* what run needs */
    wick_fused f;
    wick_copy copy;
    void *ptr[16];
} job;

static float *buffer[8];
static uint8_t *scratch, *partials;

static void run_fused(job *j) {
    wick_fused_run(&j->f, 0, 0, j->f.tasks, j->ptr, partials, scratch);
    wick_fused_run(&j->f, 1, 0, j->f.tasks2, j->ptr, partials, scratch);
}
static void run_copy(job *j) { wick_copy_run(&j->copy, 0, wick_copy_tasks(&j->copy), j->ptr[0], j->ptr[1]); }
static void run_memcpy(job *j) {
    memcpy(j->ptr[1], j->ptr[0], (size_t)j->items * 4);
    __asm__ volatile("" ::: "memory");
}
/* Reading alone: integer sums of the baseline's vectors, eight of them in flight. */
typedef uint64_t wide __attribute__((vector_size(16), may_alias));
static void run_read(job *j) {
    const wide *x = j->ptr[0];
    wide s[8] = {{0}};
    for (size_t i = 0; i + 8 <= (size_t)j->items / 4; i += 8)
        for (size_t k = 0; k < 8; k++) s[k] += x[i + k];
    for (int k = 1; k < 8; k++) s[0] += s[k];
    *(volatile uint64_t *)j->ptr[1] = s[0][0] + s[0][1];
}

static void io(wick_fused_io *o, int reg, int rank, const int64_t *dims, int broadcast_from, int broadcast_to) {
    int64_t step = 1;
    *o = (wick_fused_io){.dtype = WICK_F32, .reg = (uint8_t)reg};
    for (int d = rank - 1; d >= 0; d--) {
        if (d >= broadcast_from && d < broadcast_to) continue;
        o->strides[d] = step;
        step *= dims[d];
    }
}
static void instr(wick_fused *f, wick_ew op, int a, int b) {
    f->instr[f->n_instr] = (wick_fused_instr){.op = (uint16_t)op,
                                              .type = WICK_CF32,
                                              .to = WICK_CF32,
                                              .dst = (uint8_t)(f->n_in + f->n_instr),
                                              .src = {(uint8_t)a, (uint8_t)b, 0}};
    f->n_instr++;
    f->n_reg = f->n_in + f->n_instr;
}

static job jobs[64];
static int n_jobs;

static job *add(const char *name, double items, double bytes, void (*run)(job *)) {
    job *j = &jobs[n_jobs++];
    *j = (job){.name = name, .items = items, .bytes = bytes, .run = run};
    for (int k = 0; k < 8; k++) j->ptr[k] = buffer[k];
    j->f.scale = 1;
    return j;
}
static void finish(job *j) {
    wick_fused_prepare(&j->f);
    if (j->f.scratch > 1 << 20 || j->f.partials > 1 << 20) exit(1);
}
static void add_map(const char *name, wick_ew op, int arity, int64_t n) {
    job *j = add(name, (double)n, (double)n * 4 * (arity + 1), run_fused);
    j->f.rank = 1, j->f.dims[0] = n, j->f.n_in = arity, j->f.n_out = 1;
    for (int k = 0; k < arity; k++) io(&j->f.in[k], k, 1, j->f.dims, 1, 1);
    instr(&j->f, op, 0, arity - 1);
    io(&j->f.out[0], arity, 1, j->f.dims, 1, 1);
    j->ptr[arity] = buffer[7];
    finish(j);
}
static void add_reduce(const char *name, wick_red red, int64_t k, int64_t n, int64_t c) {
    job *j = add(name, (double)(k * n * c), (double)(k * n * c) * 4, run_fused);
    j->f.rank = 3, j->f.dims[0] = k, j->f.dims[1] = n, j->f.dims[2] = c, j->f.n_in = 1, j->f.n_out = 1, j->f.n_reg = 1;
    j->f.reduces = true, j->f.red = (uint8_t)red, j->f.n_keep = 1, j->f.n_red = 1;
    io(&j->f.in[0], 0, 3, j->f.dims, 3, 3);
    io(&j->f.out[0], 0, 3, j->f.dims, 1, 2);
    j->ptr[1] = buffer[7];
    finish(j);
}
static void add_broadcast(const char *name, int64_t rows, int64_t cols) { /* relu(x * y + bias) */
    job *j = add(name, (double)(rows * cols), (double)(rows * cols) * 12, run_fused);
    j->f.rank = 2, j->f.dims[0] = rows, j->f.dims[1] = cols, j->f.n_in = 3, j->f.n_out = 1;
    io(&j->f.in[0], 0, 2, j->f.dims, 2, 2);
    io(&j->f.in[1], 1, 2, j->f.dims, 2, 2);
    io(&j->f.in[2], 2, 2, j->f.dims, 0, 1);
    instr(&j->f, WICK_EW_mul, 0, 1);
    instr(&j->f, WICK_EW_add, 3, 2);
    instr(&j->f, WICK_EW_relu, 4, 4);
    io(&j->f.out[0], 5, 2, j->f.dims, 2, 2);
    j->ptr[3] = buffer[7];
    finish(j);
}
static void add_adam(int64_t n) { /* in: p m v g, six scalars; out: p m v in place; 12 instructions */
    job *j = add("adam 670k in place, 12 instr", (double)n, (double)n * 4 * 7, run_fused);
    wick_fused *f = &j->f;
    static float scalars[] = {0.9f, 0.1f, 0.999f, 0.001f, 1e-8f, 1e-3f};
    f->rank = 1, f->dims[0] = n, f->n_in = 10, f->n_out = 3;
    for (int k = 0; k < 10; k++) io(&f->in[k], k, 1, f->dims, k < 4 ? 1 : 0, 1);
    instr(f, WICK_EW_mul, 1, 4);    /* 10 b1 m */
    instr(f, WICK_EW_mul, 3, 5);    /* 11 (1 - b1) g */
    instr(f, WICK_EW_add, 10, 11);  /* 12 m' */
    instr(f, WICK_EW_square, 3, 3); /* 13 */
    instr(f, WICK_EW_mul, 13, 7);   /* 14 */
    instr(f, WICK_EW_mul, 2, 6);    /* 15 */
    instr(f, WICK_EW_add, 14, 15);  /* 16 v' */
    instr(f, WICK_EW_sqrt, 16, 16); /* 17 */
    instr(f, WICK_EW_add, 17, 8);   /* 18 */
    instr(f, WICK_EW_div, 12, 18);  /* 19 */
    instr(f, WICK_EW_mul, 19, 9);   /* 20 */
    instr(f, WICK_EW_sub, 0, 20);   /* 21 p' */
    io(&f->out[0], 21, 1, f->dims, 1, 1);
    io(&f->out[1], 12, 1, f->dims, 1, 1);
    io(&f->out[2], 16, 1, f->dims, 1, 1);
    for (int k = 0; k < 6; k++) j->ptr[4 + k] = &scalars[k];
    for (int k = 0; k < 3; k++) j->ptr[10 + k] = buffer[k];
    finish(j);
}
static void add_convert(const char *name, wick_dtype from, wick_dtype to, int64_t rows, int64_t cols, bool transpose) {
    job *j = add(name, (double)(rows * cols),
                 (double)(rows * cols) * (double)(wick_dtype_size(from) + wick_dtype_size(to)), run_copy);
    j->copy = (wick_copy){
        .rank = 2, .dims = {rows, cols}, .src = from, .dst = to, .dst_strides = {cols, 1}, .src_strides = {cols, 1}};
    if (transpose) j->copy.src_strides[0] = 1, j->copy.src_strides[1] = rows;
    j->ptr[1] = buffer[7];
}

int main(int argc, char **argv) {
    enum { L2 = 1 << 16, L3 = 670000, MOST = 1 << 22 };
    for (int t = 0; argc > 1 && t < WICK_TIER_COUNT; t++)
        if (strcmp(argv[1], wick_tier_name((wick_tier)t)) == 0 && !wick_tier_force((wick_tier)t)) return 1;
    for (int k = 0; k < 8; k++) { /* a few lines apart in their low address bits */
        buffer[k] = (float *)((char *)aligned_alloc(4096, MOST * 4 + 8192) + 320 * k);
        for (int i = 0; i < MOST; i++) buffer[k][i] = (float)(((i % 1000) * 7919 + k) % 1000) * 0.002f + 0.001f;
    }
    scratch = aligned_alloc(64, 1 << 20);
    partials = aligned_alloc(64, 1 << 20);
    add("memcpy 64 Ki", L2, L2 * 8.0, run_memcpy)->ptr[1] = buffer[7];
    add("read 64 Ki", L2, L2 * 4.0, run_read)->ptr[1] = buffer[7];
    add("memcpy 670 k", L3, L3 * 8.0, run_memcpy)->ptr[1] = buffer[7];
    add("read 670 k", L3, L3 * 4.0, run_read)->ptr[1] = buffer[7];
    add("read 4 Mi", MOST, MOST * 4.0, run_read)->ptr[1] = buffer[7];
    add_map("add 64 Ki", WICK_EW_add, 2, L2);
    add_map("add 670 k", WICK_EW_add, 2, L3);
    add_map("relu 64 Ki", WICK_EW_relu, 1, L2);
    add_map("exp 64 Ki", WICK_EW_exp, 1, L2);
    add_map("log 64 Ki", WICK_EW_log, 1, L2);
    add_map("tanh 64 Ki", WICK_EW_tanh, 1, L2);
    add_map("sigmoid 64 Ki", WICK_EW_sigmoid, 1, L2);
    add_map("gelu 64 Ki", WICK_EW_gelu, 1, L2);
    add_map("sin 64 Ki", WICK_EW_sin, 1, L2);
    add_map("pow 64 Ki", WICK_EW_pow, 2, L2);
    add_map("sqrt 64 Ki", WICK_EW_sqrt, 1, L2);
    add_broadcast("relu(x*y+row) 64 x 128", 64, 128);
    add_broadcast("relu(x*y+row) 64 x 10", 64, 10);
    add_broadcast("relu(x*y+row) 6400 x 10", 6400, 10);
    add_broadcast("relu(x*y+row) 64 x 1024", 64, 1024);
    add_adam(L3);
    add_reduce("sum 64 Ki", WICK_RED_SUM, 1, L2, 1);
    add_reduce("sum 4 Mi", WICK_RED_SUM, 1, MOST, 1);
    add_reduce("max 64 Ki", WICK_RED_MAX, 1, L2, 1);
    add_reduce("sum of rows 512 x 128", WICK_RED_SUM, 512, 128, 1);
    add_reduce("sum of rows 6400 x 10", WICK_RED_SUM, 6400, 10, 1);
    add_reduce("sum of columns 6400 x 10", WICK_RED_SUM, 1, 6400, 10);
    add_reduce("sum of columns 512 x 128", WICK_RED_SUM, 1, 512, 128);
    add_reduce("sum of columns 64 x 1024", WICK_RED_SUM, 1, 64, 1024);
    add_convert("f32 to f16 64 Ki", WICK_F32, WICK_F16, 256, 256, false);
    add_convert("bf16 to f32 64 Ki", WICK_BF16, WICK_F32, 256, 256, false);
    add_convert("f32 to i32 64 Ki", WICK_F32, WICK_I32, 256, 256, false);
    add_convert("transpose 256 x 256", WICK_F32, WICK_F32, 256, 256, true);
    add_convert("transpose 800 x 800", WICK_F32, WICK_F32, 800, 800, true);

    static double seconds[64][ROUNDS];
    for (int r = -1; r < ROUNDS; r++) /* round -1 warms up */
        for (int k = 0; k < n_jobs; k++) {
            if (argc > 2 && !strstr(jobs[k].name, argv[2])) continue;
            const int repeat = jobs[k].items < 1e5 ? 20 : jobs[k].items < 1e6 ? 8 : 2;
            const double start = cpu_seconds();
            for (int i = 0; i < repeat; i++) jobs[k].run(&jobs[k]);
            if (r >= 0) seconds[k][r] = (cpu_seconds() - start) / repeat;
        }
    printf("tier %s, one core; B/s counts what a program must read and write\n", wick_tier_name(wick_tier_current()));
    printf("%-30s %10s %10s %10s\n", "", "us", "Gitems/s", "GB/s");
    for (int k = 0; k < n_jobs; k++) {
        if (argc > 2 && !strstr(jobs[k].name, argv[2])) continue;
        qsort(seconds[k], ROUNDS, sizeof(double), by_value);
        const double s = seconds[k][ROUNDS / 2];
        printf("%-30s %10.2f %10.2f %10.1f\n", jobs[k].name, s * 1e6, jobs[k].items / s * 1e-9,
               jobs[k].bytes / s * 1e-9);
    }
    return 0;
}
