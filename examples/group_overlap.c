/* group_overlap.c: what sums that travel while a leaf is computed win (wick_group_set_pieces): the time of a step whose
 * one leaf takes MS milliseconds on each rank, for which it only waits: a third, and then its pieces one after another,
 * as a forward and a backward pass give them. No CPU is used in that time, so what is seen is the network's.
 *
 *   wick launch -n 2 group_overlap 100 1000000       a leaf of 100 ms, 1,000,000 floats
 *
 * Usage: group_overlap MS FLOATS [PIECES [STEPS]]      8 pieces, 10 steps */
#define _POSIX_C_SOURCE 200809L
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <wick/wick.h>

enum { MOST = 200 };

static double now(void) {
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return (double)(t.tv_sec % 1000000) * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* Until that time, in ms. */
static void wait_until(double end) {
    for (double left; (left = end - now()) > 0;) {
        const struct timespec t = {(time_t)(left / 1e3), (long)(left * 1e6) % 1000000000};
        nanosleep(&t, NULL);
    }
}

static int by_size(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* *middle: the median of the steps, in ms. */
static wick_status measure(wick_group *group, bool early, double ms, size_t n, int pieces, int steps, float *v,
                           double *middle) {
    wick_range list[MOST];
    double took[MOST];
    int leaves = 1;
    while (leaves < wick_group_size(group)) leaves *= 2;
    for (int k = 0; k < pieces; k++) /* from the end on */
        list[k] = (wick_range){n * (size_t)(pieces - 1 - k) / (size_t)pieces,
                               n * (size_t)(pieces - k) / (size_t)pieces};
    wick_status status = wick_group_set_pieces(group, early ? pieces : 0, early ? list : NULL);
    for (int i = -1; i < steps && !status; i++) { /* one warms up */
        int first = 0, end = 0;
        status = wick_group_barrier(group);
        const double began = now();
        if (!status) status = wick_group_leaves(group, leaves, &first, &end);
        if (!status) status = wick_group_begin(group, leaves, n);
        for (int leaf = first; !status && leaf < end - 1; leaf++) status = wick_group_add(group, leaf, v);
        for (int k = 0; k < pieces && !status; k++) {
            wait_until(began + ms / 3 + ms * 2 / 3 * (k + 1) / pieces);
            if (early) status = wick_group_add_piece(group, end - 1, v);
        }
        if (!early && !status) status = wick_group_add(group, end - 1, v);
        if (!status) status = wick_group_finish(group, v + n);
        if (i >= 0) took[i] = now() - began;
    }
    if (status) return status;
    qsort(took, (size_t)steps, sizeof *took, by_size);
    *middle = took[steps / 2];
    return WICK_OK;
}

int main(int argc, char **argv) {
    const double ms = argc > 1 ? atof(argv[1]) : 0;
    const size_t n = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
    const int pieces = argc > 3 ? atoi(argv[3]) : 8, steps = argc > 4 ? atoi(argv[4]) : 10;
    wick_context *ctx = NULL;
    wick_group *group = NULL;
    if (!(ms >= 0) || n < 1 || pieces < 1 || pieces > MOST || (size_t)pieces > n || steps < 1 || steps > MOST)
        return fprintf(stderr, "usage: group_overlap MS FLOATS [PIECES [STEPS]], at most %d of each\n", MOST), 2;
    wick_status status = wick_context_new(NULL, &ctx);
    if (status) return fprintf(stderr, "could not start: %s\n", wick_status_name(status)), 1;
    if ((status = wick_group_open(ctx, NULL, &group)))
        return fprintf(stderr, "%s\n", wick_context_error(ctx)), wick_context_free(&ctx), 1;
    float *v = calloc(n, 2 * sizeof *v);
    if (!v) return fprintf(stderr, "%zu floats: out of memory\n", n), 1;
    double late = 0, early = 0, bare = 0;
    status = measure(group, false, 0, n, pieces, steps, v, &bare);
    if (!status) status = measure(group, false, ms, n, pieces, steps, v, &late);
    if (!status) status = measure(group, true, ms, n, pieces, steps, v, &early);
    if (!status && wick_group_rank(group) == 0)
        printf("%d ranks by %s: the sum alone %.1f ms, a leaf %.1f ms, a step late %.1f ms, early %.1f ms\n",
               wick_group_size(group), wick_group_transport(group), bare, ms, late, early);
    if (status) fprintf(stderr, "%s\n", wick_group_error(group));
    free(v);
    wick_group_close(&group);
    wick_context_free(&ctx);
    return status != WICK_OK;
}
