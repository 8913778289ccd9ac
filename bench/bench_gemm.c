/* bench_gemm: single-thread speed of matrix products per shape, as a share of the multiply-add peak measured in the
 * same run, side by side with OpenBLAS where libopenblas.so.0 can be loaded. Rounds of the two are interleaved, and
 * medians are printed, because the machine may be shared.
 *
 *   bench_gemm [tier] [part of a shape's name] */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/ceilings.h"
#include "kernels/kernels.h"

typedef void cblas_sgemm_fn(int order, int ta, int tb, int m, int n, int k, float alpha, const float *a, int lda,
                            const float *b, int ldb, float beta, float *c, int ldc);
typedef void cblas_dgemm_fn(int order, int ta, int tb, int m, int n, int k, double alpha, const double *a, int lda,
                            const double *b, int ldb, double beta, double *c, int ldc);
enum { CBLAS_ROW_MAJOR = 101, CBLAS_NO_TRANS = 111, CBLAS_TRANS = 112 };

typedef struct shape {
    char name[64];
    int m, n, k;
    bool ta, tb; /* stored transposed */
    wick_ctype type;
} shape;

enum { MAX_SHAPES = 128, ROUNDS = 15 };
static shape shapes[MAX_SHAPES];
static int n_shapes;

static void add(const char *what, wick_ctype type, int m, int n, int k, bool ta, bool tb) {
    shape *s = &shapes[n_shapes++];
    *s = (shape){.m = m, .n = n, .k = k, .ta = ta, .tb = tb, .type = type};
    snprintf(s->name, sizeof s->name, "%s_%s_%dx%dx%d", what, type == WICK_CF32 ? "f32" : "f64", m, n, k);
}

static void add_all(void) {
    static const int layers[][2] = {{784, 128}, {128, 10}, {784, 512}, {512, 512}, {512, 10}}, batches[] = {64, 256};
    for (int b = 0; b < 2; b++) {
        for (size_t i = 0; i < WICK_COUNTOF(layers); i++) {
            const int batch = batches[b], in = layers[i][0], out = layers[i][1];
            add("forward", WICK_CF32, batch, out, in, false, true);
            add("dweight", WICK_CF32, out, in, batch, true, false);
            add("dinput", WICK_CF32, batch, in, out, false, false);
        }
    }
    for (int n = 64; n <= 1024; n *= 2) {
        add("square_nn", WICK_CF32, n, n, n, false, false);
        add("square_nt", WICK_CF32, n, n, n, false, true);
    }
    add("square_tn", WICK_CF32, 512, 512, 512, true, false);
    add("square_tt", WICK_CF32, 512, 512, 512, true, true);
    add("square_nn", WICK_CF64, 256, 256, 256, false, false);
    add("square_nt", WICK_CF64, 512, 512, 512, false, true);
    add("matvec_nt", WICK_CF32, 1, 512, 512, false, true);
    add("matvec_nt", WICK_CF32, 1, 128, 784, false, true);
    add("matvec_nn", WICK_CF32, 1, 512, 512, false, false);
    add("matvec_n1", WICK_CF32, 512, 1, 512, false, false);
    add("outer_k1", WICK_CF32, 256, 512, 1, false, false);
    add("tiny_nn", WICK_CF32, 4, 4, 4, false, false);
    add("tiny_nt", WICK_CF32, 8, 16, 8, false, true);
    add("odd_nt", WICK_CF32, 33, 65, 129, false, true);
}

static int by_value(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void *filled(wick_ctype type, int64_t count) {
    const size_t elem = type == WICK_CF32 ? 4 : 8;
    void *data = wick_alloc(NULL, (size_t)count * elem);
    if (!data) exit(1);
    for (int64_t i = 0; i < count; i++) {
        const double x = (double)((uint32_t)i * 2654435761u >> 8) * 0x1p-24 - 0.5;
        if (type == WICK_CF32)
            ((float *)data)[i] = (float)x;
        else
            ((double *)data)[i] = x;
    }
    return data;
}

int main(int argc, char **argv) {
    const char *only = "";
    for (int i = 1; i < argc; i++) {
        int tier = 0;
        while (tier < WICK_TIER_COUNT && strcmp(argv[i], wick_tier_name((wick_tier)tier))) tier++;
        if (tier == WICK_TIER_COUNT) {
            only = argv[i];
        } else if (!wick_tier_force((wick_tier)tier)) {
            fprintf(stderr, "this CPU cannot run %s\n", argv[i]);
            return 1;
        }
    }
    cblas_sgemm_fn *sgemm = NULL;
    cblas_dgemm_fn *dgemm = NULL;
    setenv("OPENBLAS_NUM_THREADS", "1", 1); /* read when the library is loaded */
    void *blas = dlopen("libopenblas.so.0", RTLD_NOW);
    if (blas) {
        *(void **)&sgemm = dlsym(blas, "cblas_sgemm");
        *(void **)&dgemm = dlsym(blas, "cblas_dgemm");
    }
    if (!sgemm || !dgemm) printf("libopenblas.so.0 not found: no side-by-side figures\n");

    const wick_tier tier = wick_tier_current();
    const double peak = 1e-9 * ceiling_compute_rate(CEILING_F32, wick_tier_name(tier), 1);
    printf("tier %s, multiply-add peak %.1f GFLOP/s (f32, one thread)\n", wick_tier_name(tier), peak);
    printf("%-30s %6s %9s %7s %6s %9s %6s  %s\n", "shape", "tasks", "us", "GFLOP/s", "peak", "blas us", "ratio",
           "kernel");
    add_all();
    for (int i = 0; i < n_shapes; i++) {
        const shape *s = &shapes[i];
        if (!strstr(s->name, only)) continue;
        void *a = filled(s->type, (int64_t)s->m * s->k), *b = filled(s->type, (int64_t)s->k * s->n);
        void *c = filled(s->type, (int64_t)s->m * s->n);
        const int lda = s->ta ? s->m : s->k, ldb = s->tb ? s->k : s->n;
        wick_gemm g = {.type = s->type,
                       .m = s->m,
                       .n = s->n,
                       .k = s->k,
                       .a_row = s->ta ? 1 : lda,
                       .a_col = s->ta ? lda : 1,
                       .b_row = s->tb ? 1 : ldb,
                       .b_col = s->tb ? ldb : 1,
                       .c_row = s->n};
        wick_gemm_prepare(&g);
        void *packed = wick_alloc(NULL, g.packed), *scratch = wick_alloc(NULL, g.scratch);
        const double flops = 2.0 * s->m * s->n * s->k;
        const int repeats = 1 + (int)(2e7 / (flops + 1e4));
        double ours[ROUNDS], theirs[ROUNDS];
        for (int round = 0; round < ROUNDS; round++) {
            uint64_t start = wick_now_ns();
            for (int r = 0; r < repeats; r++) {
                if (g.tasks_pack) wick_gemm_pack(&g, 0, g.tasks_pack, b, packed);
                wick_gemm_run(&g, 0, g.tasks, a, b, NULL, c, packed, scratch);
            }
            ours[round] = (double)(wick_now_ns() - start) / repeats;
            start = wick_now_ns();
            for (int r = 0; r < repeats && sgemm && dgemm; r++) {
                const int ta = s->ta ? CBLAS_TRANS : CBLAS_NO_TRANS, tb = s->tb ? CBLAS_TRANS : CBLAS_NO_TRANS;
                if (s->type == WICK_CF32)
                    sgemm(CBLAS_ROW_MAJOR, ta, tb, s->m, s->n, s->k, 1, a, lda, b, ldb, 0, c, s->n);
                else
                    dgemm(CBLAS_ROW_MAJOR, ta, tb, s->m, s->n, s->k, 1, a, lda, b, ldb, 0, c, s->n);
            }
            theirs[round] = (double)(wick_now_ns() - start) / repeats;
        }
        qsort(ours, ROUNDS, sizeof *ours, by_value);
        qsort(theirs, ROUNDS, sizeof *theirs, by_value);
        const double t = ours[ROUNDS / 2], o = theirs[ROUNDS / 2];
        printf("%-30s %2d+%-3d %9.2f %7.1f %5.0f%%", s->name, (int)g.tasks_pack, (int)g.tasks, t / 1e3, flops / t,
               100 * flops / t / peak * (s->type == WICK_CF32 ? 1 : 2));
        if (sgemm && dgemm)
            printf(" %9.2f %6.2f", o / 1e3, o / t);
        else
            printf(" %9s %6s", "-", "-");
        printf("  %s how=%u\n", wick_gemm_name(&g), g.how);
        wick_release(NULL, a, 0);
        wick_release(NULL, b, 0);
        wick_release(NULL, c, 0);
        wick_release(NULL, packed, 0);
        wick_release(NULL, scratch, 0);
    }
    return 0;
}
