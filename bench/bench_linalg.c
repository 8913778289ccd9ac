/* bench_linalg.c: einsum, Fourier transforms and factorizations, on command, for bench/linalg.py to take turns with PyTorch's.
 *
 *   bench_linalg THREADS
 *
 * Reads lines "WHAT DIMS[ DIMS...]", DIMS of each f32 operand as 2x3x4: WHAT is an einsum's text, or fft, rfft, irfft (N x length), cholesky (n x n) or
 * solve (n x n, n x m); runs it for about 20 ms and prints the microseconds of the fastest run. Matrices get n on the diagonal and are symmetric. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "wick/wick.h"

enum { MOST = 8, PLANS = 64 };

typedef struct job {
    char line[256], what[128];
    int n;
    wick_spec in[MOST];
    void *data[MOST], *out;
    wick_plan *plan;
    wick_workspace *space;
} job;

static bool is(const job *j, const char *what) { return !strcmp(j->what, what); }

static wick_status record(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx;
    const job *j = user;
    if (is(j, "fft"))
        out[0] = wick_fft(in[0], 0, -1, WICK_FFT_BACKWARD);
    else if (is(j, "rfft"))
        out[0] = wick_rfft(in[0], 0, -1, WICK_FFT_BACKWARD);
    else if (is(j, "irfft"))
        out[0] = wick_irfft(in[0], 0, -1, WICK_FFT_BACKWARD);
    else if (is(j, "cholesky"))
        out[0] = wick_cholesky(in[0], false);
    else if (is(j, "solve"))
        out[0] = wick_solve(in[0], in[1]);
    else
        out[0] = wick_einsum(j->what, j->n, in);
    return WICK_OK;
}

static size_t count_of(const wick_spec *s) {
    size_t n = 1;
    for (int d = 0; d < s->rank; d++) n *= (size_t)s->dims[d];
    return n;
}
static bool open_job(wick_context *ctx, job *j, const char *line) {
    memset(j, 0, sizeof *j);
    snprintf(j->line, sizeof j->line, "%s", line);
    char text[256], *at;
    snprintf(text, sizeof text, "%s", line);
    char *word = strtok_r(text, " \n", &at);
    snprintf(j->what, sizeof j->what, "%s", word ? word : "");
    const bool matrices = is(j, "cholesky") || is(j, "solve");
    while ((word = strtok_r(NULL, " \n", &at)) && j->n < MOST) {
        wick_spec *s = &j->in[j->n];
        *s = (wick_spec){.dtype = WICK_F32};
        for (char *dim = word; *dim; dim += *dim == 'x') s->dims[s->rank++] = strtoll(dim, &dim, 10);
        const size_t count = count_of(s), row = s->rank > 1 ? (size_t)s->dims[s->rank - 1] : 1;
        float *x = j->data[j->n] = aligned_alloc(64, WICK_ALIGN_UP(count * 4 + 1, 64));
        if (!x) return false;
        for (size_t i = 0; i < count; i++) x[i] = (float)(i * 2654435761u % 1000003) / 500001.5f - 1;
        for (size_t i = 0; matrices && !j->n && i < count; i++) x[i] = i / row % row == i % row ? (float)row : (float)((i / row % row * 7 + i % row * 7) % 13) / 13;
        j->n++;
    }
    if (wick_compile(ctx, record, j, j->n, j->in, 1, NULL, &j->plan) || wick_workspace_new(j->plan, &j->space)) return fprintf(stderr, "%s\n", wick_context_error(ctx)), false;
    const wick_spec out = wick_plan_output(j->plan, 0);
    return (j->out = aligned_alloc(64, WICK_ALIGN_UP(count_of(&out) * 4 + 1, 64))) != NULL;
}

int main(int argc, char **argv) {
    wick_context *ctx = NULL;
    static job jobs[PLANS];
    int n = 0;
    char line[256];
    if (wick_context_new(&ctx, &(wick_context_options){.threads = argc > 1 ? atoi(argv[1]) : 1})) return 1;
    while (fgets(line, sizeof line, stdin)) {
        int k = 0;
        while (k < n && strcmp(jobs[k].line, line)) k++;
        if (k == PLANS || (k == n && !open_job(ctx, &jobs[n++], line))) return 1;
        job *j = &jobs[k];
        uint64_t runs = 0, start = wick_now_ns(), at = start, best = UINT64_MAX;
        for (; at - start < 20000000 || runs < 3; runs++) {
            if (wick_run(j->space, (const void *const *)j->data, &j->out)) return fprintf(stderr, "%s\n", wick_workspace_error(j->space)), 1;
            const uint64_t end = wick_now_ns();
            best = WICK_MIN(best, end - at);
            at = end;
        }
        printf("%.3f\n", (double)best * 1e-3);
        fflush(stdout);
    }
    for (int k = 0; k < n; k++) {
        wick_workspace_free(&jobs[k].space);
        wick_plan_free(&jobs[k].plan);
        for (int i = 0; i < jobs[k].n; i++) free(jobs[k].data[i]);
        free(jobs[k].out);
    }
    wick_context_free(&ctx);
    return 0;
}
