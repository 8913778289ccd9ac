/* group_speed.c: how fast a group sums vectors, beside what memory gives.
 *
 *   wick launch -n 4 group_speed
 *   mpirun -n 4 group_speed 1000000
 *
 * For each size and mode (exact; fast in f32; fast in bf16) the median and the least time of a sum (finish alone: the
 * own leaves are added before), what that is in bytes of the vector, what copying as many bytes with memcpy is, and how
 * much a rank sends. What MPI sends for a sum of its own isn't known.
 *
 * Usage: group_speed [--mode exact|f32|bf16] [--runs N] [FLOATS...] */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <wick/wick.h>

enum { RUNS_MOST = 200 };

/* Seconds since the first call: of the epoch's a double could not tell microseconds. */
static double now(void) {
    static time_t first;
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    if (!first) first = t.tv_sec;
    return (double)(t.tv_sec - first) + (double)t.tv_nsec * 1e-9;
}

static int by_size(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Seconds: all of a sum, its finish, and a copy; medians of the runs, and of finish the least. */
typedef struct times {
    double whole, finish, least, copy;
    uint64_t sent; /* bytes of one sum */
} times;

static wick_status measure(wick_group *group, int leaves, int runs, size_t n, float *v, float *sum, times *t) {
    double whole[RUNS_MOST], finish[RUNS_MOST], copy[RUNS_MOST];
    int first, end;
    uint64_t sent = 0;
    wick_status status = wick_group_leaves(group, leaves, &first, &end);
    for (int i = -2; i < runs && !status; i++) { /* two that warm up */
        status = wick_group_barrier(group);
        const double began = now();
        const uint64_t before = wick_group_sent(group);
        if (!status) status = wick_group_begin(group, leaves, n);
        for (int leaf = first; leaf < end && !status; leaf++) status = wick_group_add(group, leaf, v);
        const double added = now();
        if (!status) status = wick_group_finish(group, sum);
        const double summed = now();
        sent = wick_group_sent(group) - before;
        memcpy(sum, v, n * sizeof *v);
        if (i < 0) continue;
        whole[i] = summed - began, finish[i] = summed - added, copy[i] = now() - summed;
    }
    if (status) return status;
    qsort(whole, (size_t)runs, sizeof *whole, by_size);
    qsort(finish, (size_t)runs, sizeof *finish, by_size);
    qsort(copy, (size_t)runs, sizeof *copy, by_size);
    *t = (times){whole[runs / 2], finish[runs / 2], finish[0], copy[runs / 2], sent};
    return WICK_OK;
}

static const char *const modes[] = {"exact", "f32", "bf16"};
enum { MODES = 3 };

typedef struct settings {
    int mode, runs; /* -1: all; 0: as many as the size needs */
} settings;

/* How many arguments of options there are; 0: one is wrong. */
static int read_options(int argc, char **argv, settings *s) {
    int i = 1;
    *s = (settings){-1, 0};
    for (; i + 1 < argc && !strncmp(argv[i], "--", 2); i += 2) {
        const bool mode = !strcmp(argv[i], "--mode");
        for (int k = 0; mode && k < MODES; k++)
            if (!strcmp(argv[i + 1], modes[k])) s->mode = k;
        if (!strcmp(argv[i], "--runs")) s->runs = atoi(argv[i + 1]);
        if (mode ? s->mode < 0 : s->runs < 1 || s->runs > RUNS_MOST) return 0;
    }
    return i < argc && argv[i][0] == '-' ? 0 : i;
}

int main(int argc, char **argv) {
    settings set;
    const int options = read_options(argc, argv, &set);
    if (!options)
        return fprintf(stderr, "usage: group_speed [--mode exact|f32|bf16] [--runs 1 to %d] [FLOATS...]\n", RUNS_MOST),
               2;
    wick_context *ctx = NULL;
    wick_group *group = NULL;
    int leaves = 1;
    wick_status status = wick_context_new(NULL, &ctx);
    if (status) return fprintf(stderr, "could not start: %s\n", wick_status_name(status)), 1;
    if ((status = wick_group_open(ctx, NULL, &group)))
        return fprintf(stderr, "%s\n", wick_context_error(ctx)), wick_context_free(&ctx), 1;
    const int ranks = wick_group_size(group);
    while (leaves < ranks) leaves *= 2;
    if (wick_group_rank(group) == 0)
        printf("%d rank%s by %s, %d thread%s each, %d leaves\n%10s %6s %10s %10s %10s %8s %12s %10s\n", ranks,
               ranks == 1 ? "" : "s", wick_group_transport(group), wick_context_threads(ctx),
               wick_context_threads(ctx) == 1 ? "" : "s", leaves, "floats", "mode", "sum ms", "finish ms", "least ms",
               "GB/s", "memcpy GB/s", "sent MB");
    const bool given = argc > options;
    for (int i = given ? options : 1; i < (given ? argc : 4) && !status; i++) {
        static const size_t usual[] = {0, 1000, 1000000, 16000000};
        const size_t n = given ? strtoull(argv[i], NULL, 10) : usual[i];
        float *v = n ? calloc(n, 2 * sizeof *v) : NULL;
        if (!v) return fprintf(stderr, "%zu floats: out of memory\n", n), 1;
        for (size_t k = 0; k < n; k++) v[k] = v[n + k] = (float)k;
        const int runs = set.runs ? set.runs : n > 4000000 ? 20 : RUNS_MOST;
        for (int mode = 0; mode < MODES && !status; mode++) {
            const wick_group_fast fast = {.wire = mode == 2 ? WICK_WIRE_BF16 : WICK_WIRE_F32};
            times t = {0};
            if (set.mode >= 0 && mode != set.mode) continue;
            status = wick_group_set_fast(group, mode ? &fast : NULL);
            if (!status) status = measure(group, leaves, runs, n, v, v + n, &t);
            if (!status && wick_group_rank(group) == 0)
                printf("%10zu %6s %10.4f %10.4f %10.4f %8.3f %12.3f %10.4f\n", n, modes[mode], t.whole * 1e3,
                       t.finish * 1e3, t.least * 1e3, (double)n * 4e-9 / t.finish, (double)n * 4e-9 / t.copy,
                       (double)t.sent * 1e-6);
        }
        free(v);
    }
    if (status) fprintf(stderr, "%s\n", wick_group_error(group));
    wick_group_close(&group);
    wick_context_free(&ctx);
    return status != WICK_OK;
}
