/* bench_ops.c: the rows of ops.h, for bench/ops.py: a program that answers lines.
 *
 *   bench_ops THREADS
 *
 *   input SLOT DTYPE RANK DIMS...    and the data in bytes: keeps it; SLOT below 64
 *   forget                           drops all inputs
 *   open NAME FRESH SLOT...          compiles a row over inputs; FRESH 1: each run allocates its results. Answers "ok", or why not
 *   run REPEATS                      answers the microseconds of one run
 *   result                           answers "DTYPE RANK DIMS..." and the data of the first result
 *   bytes                            answers the bytes of arena and scratch */
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "bench.h"
#include "wick/wick.h"

enum { SLOTS = 64, MOST = 8 };

typedef wick_tensor *(*build_fn)(wick_context *ctx, wick_tensor *const *in, wick_tensor **second);
#define dim(x, axis) wick_tensor_dim(x, axis)
#define UNUSED __attribute__((unused))
#define ROW(family, id, inputs, ours, ...)                                                                                            \
    static wick_tensor *build_##id(UNUSED wick_context *ctx, wick_tensor *const *in, UNUSED wick_tensor **second) {                   \
        UNUSED wick_tensor *x = in[0], *a = in[1], *b = in[2], *c = in[3], *d = in[4], *e = in[5], *f = in[6];                        \
        return ours;                                                                                                                  \
    }
#define PAIR ROW
#define GRAD ROW
#include "../cli/bench/ops.h"
#undef ROW
#undef PAIR
#undef GRAD

enum { ONE, TWO, GRADIENTS };
#define ROW(family, id, ...) {#id, ONE, build_##id},
#define PAIR(family, id, ...) {#id, TWO, build_##id},
#define GRAD(family, id, ...) {#id, GRADIENTS, build_##id},
static const struct {
    const char *name;
    int results;
    build_fn build;
} rows[] = {
#include "../cli/bench/ops.h"
};

static struct {
    wick_spec spec;
    void *data;
} slots[SLOTS];

static struct {
    int row, n_in, n_out;
    bool fresh;
    wick_spec in[MOST];
    const void *data[MOST];
    void *out[MOST];
    size_t size[MOST];
    wick_plan *plan;
    wick_workspace *space;
} now;

static size_t bytes_of(const wick_spec *s) {
    size_t n = wick_dtype_size(s->dtype);
    for (int d = 0; d < s->rank; d++) n *= (size_t)s->dims[d];
    return n;
}
static void *room(size_t bytes) {
    void *p = NULL;
    if (posix_memalign(&p, 64, bytes + 1)) exit(3); /* as PyTorch does */
    return p;
}
/* Results come from Wick's allocator, as wick_eval's do. */
static void *result_room(size_t bytes) {
    void *p = wick_alloc(NULL, bytes);
    if (!p) exit(3);
    return p;
}

/* The gradients of which inputs: floats, but for the last. */
static int differentiable(int at[MOST]) {
    int n = 0;
    for (int i = 0; i + 1 < now.n_in; i++)
        if (now.in[i].dtype <= WICK_BF16) at[n++] = i;
    return n;
}

static wick_status record(wick_context *ctx, wick_tensor *const *given, wick_tensor **out, void *user) {
    (void)user;
    wick_tensor *in[MOST] = {0}, *wrt[MOST];
    for (int i = 0; i < now.n_in; i++) in[i] = given[i];
    out[0] = rows[now.row].build(ctx, in, out + 1);
    if (rows[now.row].results != GRADIENTS) return WICK_OK;
    int at[MOST];
    const int n = differentiable(at);
    for (int i = 0; i < n; i++) wrt[i] = in[at[i]];
    wick_grad(wick_sum(wick_mul(out[0], in[now.n_in - 1]), WICK_ALL_AXES, false), n, wrt, out + 1);
    return WICK_OK;
}

static void close_row(void) {
    wick_workspace_free(&now.space);
    wick_plan_free(&now.plan);
    for (int i = 0; i < MOST; i++) wick_release(NULL, now.out[i], now.size[i]), now.out[i] = NULL;
    now.n_out = 0;
}

static const char *open_row(wick_context *ctx, char *words) {
    char name[64];
    int fresh, used;
    close_row();
    if (sscanf(words, "%63s %d%n", name, &fresh, &used) != 2) return "not understood";
    now.fresh = fresh;
    now.n_in = 0;
    char *at = words + used, *end;
    for (long slot; slot = strtol(at, &end, 10), end != at; at = end) {
        if (now.n_in == MOST || slot < 0 || slot >= SLOTS || !slots[slot].data) return "no such input";
        now.in[now.n_in] = slots[slot].spec;
        now.data[now.n_in++] = slots[slot].data;
    }
    now.row = 0;
    while (now.row < (int)WICK_COUNTOF(rows) && strcmp(rows[now.row].name, name) != 0) now.row++;
    if (now.row == (int)WICK_COUNTOF(rows)) return "no such row";
    int grads[MOST];
    const int how = rows[now.row].results, n_out = how == ONE ? 1 : how == TWO ? 2 : 1 + differentiable(grads);
    if (wick_compile(ctx, record, NULL, now.n_in, now.in, n_out, NULL, &now.plan) || wick_workspace_new(now.plan, &now.space)) return wick_context_error(ctx);
    for (int i = 0; i < n_out; i++) {
        const wick_spec made = wick_plan_output(now.plan, i);
        now.out[i] = result_room(now.size[i] = bytes_of(&made));
    }
    now.n_out = n_out;
    return NULL;
}

static bool run_once(void) {
    for (int i = 0; now.fresh && i < now.n_out; i++) wick_release(NULL, now.out[i], now.size[i]), now.out[i] = result_room(now.size[i]);
    return now.n_out && wick_run(now.space, now.data, now.out) == WICK_OK;
}

static int read_input(const char *words) {
    char dtype[16];
    int slot, rank, used;
    if (sscanf(words, "%d %15s %d%n", &slot, dtype, &rank, &used) != 3 || slot < 0 || slot >= SLOTS || rank > WICK_MAX_DIMS) return 2;
    wick_spec spec = {.dtype = wick_dtype_from_name(dtype), .rank = rank};
    const char *at = words + used;
    for (int d = 0; d < rank; d++) spec.dims[d] = strtoll(at, (char **)&at, 10);
    const size_t bytes = bytes_of(&spec);
    free(slots[slot].data);
    slots[slot].spec = spec;
    slots[slot].data = room(bytes);
    return fread(slots[slot].data, 1, bytes, stdin) == bytes ? 0 : 2;
}

int main(int argc, char **argv) {
    wick_context *ctx;
    const int threads = argc > 1 ? atoi(argv[1]) : 1;
    char line[512];
    int failed = 0;
    if (wick_context_new(&ctx, &(wick_context_options){.threads = threads})) return 1;
    while (!failed && fgets(line, sizeof line, stdin)) {
        if (!strncmp(line, "input ", 6)) {
            failed = read_input(line + 6);
        } else if (!strncmp(line, "forget", 6)) {
            for (int i = 0; i < SLOTS; i++) free(slots[i].data), slots[i].data = NULL;
        } else if (!strncmp(line, "open ", 5)) {
            const char *why = open_row(ctx, line + 5);
            printf("%s\n", why ? why : "ok");
        } else if (!strncmp(line, "run ", 4)) {
            const long repeats = atol(line + 4);
            const double start = bench_us(threads == 1);
            for (long i = 0; i < repeats && !failed; i++) failed = !run_once();
            printf("%.6g\n", (bench_us(threads == 1) - start) / (double)repeats);
            if (failed) fprintf(stderr, "%s: %s\n", rows[now.row].name, wick_workspace_error(now.space));
        } else if (!strncmp(line, "result", 6)) {
            const wick_spec made = wick_plan_output(now.plan, 0);
            printf("%s %d", wick_dtype_name(made.dtype), made.rank);
            for (int d = 0; d < made.rank; d++) printf(" %lld", (long long)made.dims[d]);
            printf("\n");
            fwrite(now.out[0], 1, now.size[0], stdout);
        } else if (!strncmp(line, "bytes", 5)) {
            const wick_plan_info info = wick_plan_get_info(now.plan);
            printf("%zu\n", info.arena_bytes + info.scratch_bytes);
        } else {
            fprintf(stderr, "not understood: %s", line);
            failed = 2;
        }
        fflush(stdout);
    }
    close_row();
    for (int i = 0; i < SLOTS; i++) free(slots[i].data);
    wick_context_free(&ctx);
    return failed;
}
