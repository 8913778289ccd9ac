/* bench_index.c: indexing, sorting, reductions and scans, on command, for bench/index.py to take turns with PyTorch's.
 *
 *   bench_index THREADS
 *
 * Reads lines "WHAT ROWS COLS": runs WHAT over f32 [rows, cols] of uniform numbers (and indices) for about 20 ms and prints the microseconds of
 * the fastest run. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "wick/wick.h"

enum { SORTED = 1000, WIDTH = 64 };

typedef struct job {
    char what[64];
    int64_t rows, cols;
} job;

/* in: x [rows, cols], places in a row, SORTED rising numbers, places among rows of WIDTH */
static wick_status record(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx;
    const job *j = user;
    wick_tensor *x = in[0], *at = in[1], *wide = wick_reshape(x, WICK_DIMS(-1, WIDTH));
    const struct {
        const char *name;
        wick_tensor *y;
    } ops[] = {
        {"sort", wick_sort(x, -1, false, NULL)},
        {"argsort", wick_argsort(x, -1, false)},
        {"topk", wick_topk(x, 16, -1, true, NULL)},
        {"median", wick_median(x, -1, false, NULL)},
        {"searchsorted", wick_searchsorted(in[2], x, false)},
        {"bincount", wick_bincount_fixed(wick_flatten(at, 0), NULL, j->cols)},
        {"gather", wick_take_along_axis(x, -1, at)},
        {"scatter_add", wick_put_along_axis(x, -1, at, x, WICK_PUT_ADD)},
        {"scatter_amax", wick_put_along_axis(x, -1, at, x, WICK_PUT_MAX)},
        {"embedding", wick_embedding(wide, in[3], -1)},
        {"index_add", wick_scatter_add(wide, 0, in[3], wide)},
        {"cumsum", wick_cumsum(x, -1)},
        {"cumsum 0", wick_cumsum(x, 0)},
        {"cumprod", wick_cumprod(x, -1)},
        {"cummax", wick_cummax(x, -1, NULL)},
        {"logcumsumexp", wick_logcumsumexp(x, -1)},
        {"logsumexp", wick_logsumexp(x, WICK_AXES(-1), false)},
        {"norm", wick_norm(x, 2, WICK_ALL_AXES, false)},
        {"std", wick_std(x, WICK_AXES(-1), 1, false)},
        {"max", wick_max_with_index(x, -1, false, NULL)},
        {"count_nonzero", wick_count_nonzero(x, WICK_ALL_AXES, false)},
        {"tril", wick_tril(x, 0)},
        {"roll", wick_roll(x, 1, (const int64_t[]){j->cols / 3}, (const int[]){-1})},
        {"stack", wick_stack(2, (wick_tensor *[]){x, x}, 0)},
        {"tile", wick_tile(x, 2, (const int64_t[]){1, 2})},
    };
    for (size_t i = 0; i < WICK_COUNTOF(ops); i++)
        if (!strcmp(ops[i].name, j->what)) return out[0] = ops[i].y, WICK_OK;
    return WICK_ERR_INVALID;
}

static uint64_t state = 88172645463325252u;
static uint64_t draw(void) { /* xorshift */
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

static int run(wick_context *ctx, job *j) {
    const int64_t n = j->rows * j->cols, tables = n / WIDTH;
    float *x = malloc((size_t)n * sizeof *x), *sorted = malloc(SORTED * sizeof *sorted);
    int64_t *at = malloc((size_t)n * sizeof *at), *rows = malloc((size_t)tables * sizeof *rows + 8);
    for (int64_t i = 0; i < n; i++) x[i] = (float)((double)(draw() >> 11) * 0x1p-51 - 2), at[i] = (int64_t)(draw() % (uint64_t)j->cols);
    for (int64_t i = 0; i < tables; i++) rows[i] = (int64_t)(draw() % (uint64_t)tables);
    for (int i = 0; i < SORTED; i++) sorted[i] = 4 * (float)i / SORTED - 2;
    const wick_spec in[4] = {{.dtype = WICK_F32, .rank = 2, .dims = {j->rows, j->cols}}, {.dtype = WICK_I64, .rank = 2, .dims = {j->rows, j->cols}},
                             {.dtype = WICK_F32, .rank = 1, .dims = {SORTED}}, {.dtype = WICK_I64, .rank = 1, .dims = {tables}}};
    wick_plan *plan = NULL;
    wick_workspace *space = NULL;
    wick_status status = wick_compile(ctx, record, j, 4, in, 1, NULL, &plan);
    if (!status) status = wick_workspace_new(plan, &space);
    if (status) return fprintf(stderr, "%s: %s\n", j->what, wick_context_error(ctx)), 1;
    const wick_spec made = wick_plan_output(plan, 0);
    size_t size = wick_dtype_size(made.dtype);
    for (int d = 0; d < made.rank; d++) size *= (size_t)made.dims[d];
    void *out = calloc(size + 1, 1);
    uint64_t best = UINT64_MAX, began = wick_now_ns();
    for (int runs = 0; !status && (runs < 3 || wick_now_ns() - began < 20000000); runs++) {
        const uint64_t start = wick_now_ns();
        status = wick_run(space, (const void *[]){x, at, sorted, rows}, (void *[]){out});
        best = WICK_MIN(best, wick_now_ns() - start);
    }
    if (status) fprintf(stderr, "%s: %s\n", j->what, wick_workspace_error(space));
    printf("%.3f\n", (double)best / 1e3);
    wick_workspace_free(&space);
    wick_plan_free(&plan);
    free(x), free(sorted), free(at), free(rows), free(out);
    return status != WICK_OK;
}

int main(int argc, char **argv) {
    wick_context *ctx = NULL;
    if (argc < 2 || wick_context_new(&ctx, &(wick_context_options){.threads = atoi(argv[1])})) return fprintf(stderr, "usage: bench_index THREADS\n"), 2;
    setvbuf(stdout, NULL, _IOLBF, 0);
    char line[128];
    int failed = 0;
    while (!failed && fgets(line, sizeof line, stdin)) {
        job j = {.rows = 0};
        long long rows, cols;
        char *last = strrchr(line, ' '), *first = last;
        while (first && first > line && first[-1] != ' ') first--; /* "WHAT ROWS COLS": WHAT may have a space */
        if (!first || first == line || sscanf(first, "%lld %lld", &rows, &cols) != 2 || rows < 1 || cols < 1) return fprintf(stderr, "not understood: %s", line), 2;
        snprintf(j.what, sizeof j.what, "%.*s", (int)(first - line - 1), line);
        j.rows = rows, j.cols = cols;
        failed = run(ctx, &j);
    }
    wick_context_free(&ctx);
    return failed;
}
