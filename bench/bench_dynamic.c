/* bench_dynamic.c: what shapes and plans of a dynamic function cost, for a graph of 1,000 ops (products of [batch, 16]
 * and [16, 16], activations, sums) and one of 16: recording it for one batch, which infers every shape; finding the
 * expressions; evaluating them for another batch; a bind that finds its plan, of the same extents and of others; one
 * that makes it. Then four layers of a transformer for 64 lengths, and with arguments an ONNX file: binds that make
 * plans, first runs with them, binds that find them and later runs, and all memory that is then in use. CPU time of one
 * thread, medians.
 *
 *     bench_dynamic [MODEL.onnx [DIM=MIN..MAX/STEP ...]]        with as many lists of extents as there are, up to 64,
 *                                                               drawn from all over the range */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/base.h"
#include "wick/wick.h"

enum { MOST = 2000, ROUNDS = 51 };

static wick_tensor *weights;
static int ops;

static wick_status chain(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx, (void)user;
    wick_tensor *x = in[0];
    for (int i = 0; i < ops; i++)
        x = i % 3 == 0 ? wick_matmul(x, weights) : i % 3 == 1 ? wick_tanh(x) : wick_add(x, in[0]);
    out[0] = x;
    return WICK_OK;
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}
static int by_value(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}
static double median(double *v, int n) {
    qsort(v, (size_t)n, sizeof *v, by_value);
    return v[n / 2];
}
static void stop(const char *what) {
    fprintf(stderr, "bench_dynamic: %s\n", what);
    exit(1);
}

static void measure(wick_context *ctx, int n) {
    static double t[ROUNDS];
    static wick_spec specs[MOST];
    ops = n;
    const wick_dim batch = {"batch", 1, 100000, 0};
    const wick_dynamic_input x = {"x", WICK_F32, 2, {"batch", "16"}};
    wick_dynamic *d;
    wick_shapes *s;
    wick_runner *r;
    for (int i = 0; i < ROUNDS; i++) {
        wick_scope *scope = wick_scope_open(ctx);
        wick_tensor *in = wick_zeros(ctx, WICK_F32, 2, (int64_t[]){i + 1, 16}), *out;
        const double from = now();
        (void)!chain(ctx, &in, &out, NULL);
        t[i] = now() - from;
        wick_scope_close(&scope);
    }
    printf("%4d ops: record %.3g us", n, median(t, ROUNDS) / 1e3);
    if (wick_dynamic_new(ctx, chain, NULL, 1, &batch, 1, &x, 1, NULL, &d)) stop(wick_context_error(ctx));
    for (int i = 0; i < 5; i++) {
        const double from = now();
        if (wick_dynamic_find_shapes(d, &s)) stop(wick_context_error(ctx));
        t[i] = now() - from;
        if (i < 4) wick_shapes_free(&s);
    }
    printf(", find expressions %.3g us (%d recordings)", median(t, 5) / 1e3, wick_shapes_recordings(s));
    if (wick_shapes_count(s) > MOST) stop("more shapes than expected");
    for (int i = 0; i < ROUNDS; i++) {
        const double from = now();
        for (int64_t k = 0; k < 20; k++)
            if (wick_shapes_eval(s, &(int64_t){1 + i * 20 + k}, specs)) stop("shapes");
        t[i] = (now() - from) / 20;
    }
    printf(", evaluate %d shapes %.3g us", wick_shapes_count(s), median(t, ROUNDS) / 1e3);
    if (wick_runner_new(d, &r)) stop("no runner");
    for (int i = 0; i < ROUNDS; i++) {
        const double from = now();
        if (wick_runner_bind(r, &(wick_spec){"x", WICK_F32, 2, {i + 1, 16}})) stop(wick_runner_error(r));
        t[i] = now() - from;
    }
    printf("; a miss %.3g us", median(t, ROUNDS) / 1e3);
    for (int i = 0; i < ROUNDS; i++) {
        const double from = now();
        for (int k = 0; k < 1000; k++)
            if (wick_runner_bind(r, &(wick_spec){"x", WICK_F32, 2, {1 + k % 40, 16}})) stop(wick_runner_error(r));
        t[i] = (now() - from) / 1000;
    }
    printf(", a hit %.3g ns", median(t, ROUNDS));
    for (int i = 0; i < ROUNDS; i++) {
        const double from = now();
        for (int k = 0; k < 1000; k++)
            if (wick_runner_bind(r, &(wick_spec){"x", WICK_F32, 2, {7, 16}})) stop(wick_runner_error(r));
        t[i] = (now() - from) / 1000;
    }
    printf(", of the same extents %.3g ns\n", median(t, ROUNDS));
    wick_runner_free(&r);
    wick_shapes_free(&s);
    wick_dynamic_free(&d);
}

/* ---- memory of many extents -------------------------------------------------------------------------------------- */

static size_t in_use; /* bytes, of one thread */
static void *take(void *user, size_t size, size_t align) {
    (void)user;
    void *p = aligned_alloc(align, (size + align - 1) / align * align);
    if (p) in_use += size;
    return p;
}
static void give(void *user, void *p, size_t size) {
    (void)user;
    in_use -= p ? size : 0;
    free(p);
}

enum { LAYERS = 4, WIDTH = 256, HEADS = 4, LISTS = 64 };
static wick_tensor *of[LAYERS][6];

static wick_status transformer(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx, (void)user;
    wick_tensor *x = in[0];
    const int64_t n = wick_tensor_dim(x, 1), heads[] = {1, n, HEADS, WIDTH / HEADS};
    for (int i = 0; i < LAYERS; i++) {
        wick_tensor *h = wick_layer_norm(x, NULL, NULL, 1e-5), *part[3];
        for (int k = 0; k < 3; k++) part[k] = wick_transpose(wick_reshape(wick_matmul(h, of[i][k]), 4, heads), 1, 2);
        wick_tensor *scores = wick_matmul(wick_mul(part[0], wick_like(part[0], 0.125)), wick_transpose(part[1], 2, 3));
        h = wick_reshape(wick_transpose(wick_matmul(wick_softmax(scores, -1), part[2]), 1, 2), 3,
                         (int64_t[]){1, n, WIDTH});
        x = wick_add(x, wick_matmul(h, of[i][3]));
        x = wick_add(x, wick_matmul(wick_gelu(wick_matmul(wick_layer_norm(x, NULL, NULL, 1e-5), of[i][4])), of[i][5]));
    }
    out[0] = x;
    return WICK_OK;
}

/* Runs d for up to LISTS lists of extents, all of them kept, twice. */
static void many(const char *name, wick_dynamic *d, size_t before) {
    static double t[4][LISTS];
    static int64_t lists[LISTS][WICK_MAX_NAMED_DIMS];
    const wick_dynamic_info info = wick_dynamic_get_info(d);
    int64_t points = 1;
    for (int k = 0; k < info.dims; k++) {
        const wick_dim dim = wick_dynamic_dim(d, k);
        points *= (dim.max - dim.min) / (dim.multiple ? dim.multiple : 1) + 1;
        if (points > LISTS) points = LISTS * (int64_t)1000;
    }
    const int n = points < LISTS ? (int)points : LISTS;
    uint64_t random = 1;
    for (int i = 0; i < n; i++) {
        int64_t rest = i;
        for (int k = 0; k < info.dims; k++) {
            const wick_dim dim = wick_dynamic_dim(d, k);
            const int64_t step = dim.multiple ? dim.multiple : 1, values = (dim.max - dim.min) / step + 1;
            random = random * 6364136223846793005u + 1442695040888963407u;
            lists[i][k] =
                dim.min + (points <= LISTS ? rest % values : (int64_t)((random >> 33) % (uint64_t)values)) * step;
            rest /= values;
        }
    }
    wick_runner *r;
    if (wick_runner_new(d, &r)) stop("no runner");
    void *in[16] = {0};
    size_t sizes[16] = {0};
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < n; i++) {
            const double from = now();
            if (wick_runner_bind_dims(r, lists[i])) stop(wick_runner_error(r));
            t[2 * pass][i] = now() - from;
            for (int k = 0; k < info.inputs && k < 16; k++) {
                const size_t size = wick_spec_bytes(&(wick_spec){.dtype = wick_runner_input(r, k).dtype, .rank = 0}),
                             all = wick_spec_bytes((wick_spec[]){wick_runner_input(r, k)});
                if (all <= sizes[k]) continue;
                free(in[k]);
                if (!(in[k] = calloc(1, sizes[k] = all))) stop("out of memory");
                for (size_t b = 0; b < all / 4 && size == 4; b++) ((float *)in[k])[b] = (float)(b % 17) / 17;
            }
            const double start = now();
            if (wick_runner_run(r, (const void *const *)in, NULL)) stop(wick_runner_error(r));
            t[2 * pass + 1][i] = now() - start;
        }
    const double bytes = (double)(in_use - before), packed = (double)wick_dynamic_get_info(d).packed_bytes;
    printf("%s, %d lists of extents: a miss %.3g us, the first run %.3g us; a hit %.3g us, a later run %.3g us; %.4g "
           "MB in use, of which %.4g MB are packed weights\n",
           name, n, median(t[0], n) / 1e3, median(t[1], n) / 1e3, median(t[2], n) / 1e3, median(t[3], n) / 1e3,
           bytes * 1e-6, packed * 1e-6);
    wick_runner_free(&r);
    for (int k = 0; k < 16; k++) free(in[k]);
    wick_dynamic_free(&d);
}

static void measure_transformer(wick_context *ctx) {
    static float data[WIDTH * WIDTH * 4];
    for (int i = 0; i < WIDTH * WIDTH * 4; i++) data[i] = (float)(i * 7 % 101) * 0.001f - 0.05f;
    for (int i = 0; i < LAYERS; i++)
        for (int k = 0; k < 6; k++)
            of[i][k] =
                wick_from(ctx, WICK_F32, 2, (int64_t[]){k == 5 ? 4 * WIDTH : WIDTH, k == 4 ? 4 * WIDTH : WIDTH}, data);
    const size_t before = in_use;
    wick_dynamic *d;
    if (wick_dynamic_new(ctx, transformer, NULL, 1, &(wick_dim){"seq", 8, 512, 8}, 1,
                         &(wick_dynamic_input){"x", WICK_F32, 3, {"1", "seq", "256"}}, 1,
                         &(wick_dynamic_options){.cache_bytes = SIZE_MAX / 2}, &d))
        stop(wick_context_error(ctx));
    many("transformer", d, before);
}

static void measure_file(wick_context *ctx, int n, char **args) {
    wick_dim dims[WICK_MAX_NAMED_DIMS];
    wick_onnx *onnx;
    if (n - 1 > WICK_MAX_NAMED_DIMS || wick_onnx_open(ctx, args[0], NULL, &onnx)) stop(wick_context_error(ctx));
    for (int i = 1; i < n; i++) {
        char *at = strchr(args[i], '=');
        long long min = 0, max = 0, step = 1;
        if (!at || sscanf(at + 1, "%lld..%lld/%lld", &min, &max, &step) < 2) stop("a dim is NAME=MIN..MAX/STEP");
        *at = 0;
        dims[i - 1] = (wick_dim){args[i], min, max, step};
    }
    const size_t before = in_use;
    wick_dynamic *d;
    if (wick_onnx_dynamic(onnx, n - 1, dims, &(wick_dynamic_options){.cache_bytes = SIZE_MAX / 2}, &d))
        stop(wick_context_error(ctx));
    many(args[0], d, before);
    wick_onnx_free(&onnx);
}

int main(int argc, char **argv) {
    wick_context *ctx;
    const wick_allocator allocator = {.alloc = take, .release = give};
    if (wick_context_new(&(wick_context_options){.threads = 1, .allocator = &allocator}, &ctx)) return 1;
    if (argc > 1) {
        measure_file(ctx, argc - 1, argv + 1);
        wick_context_free(&ctx);
        return 0;
    }
    weights = wick_full(ctx, WICK_F32, 2, (int64_t[]){16, 16}, 0.1);
    if (wick_eval(ctx, 1, &weights, NULL)) return 1;
    measure(ctx, 16);
    measure(ctx, 1000);
    measure_transformer(ctx);
    wick_context_free(&ctx);
    return 0;
}
