/* tuning.c: the page of all numbers that may differ from machine to machine without changing bits: what each is, where
 * it begins, how far it may go. What has a say in bits (blocks of k, lanes of sums, parts of gradients), and tiles,
 * which are compiled, are on the page of their family: gemm/gemm_tuning.h and the top of its file. */
#include <pthread.h>

#include "kernels/gemm/gemm_tuning.h"
#include "kernels/tuning.h"
#include "kernels/tuning_caches.h"

/* name, default, range, what it is. Sizes of caches, and what wick_tuning_for takes of them, are the defaults of
 * machines that tell nothing of theirs. Behind the sizes stand costs: of AVX-512 as measured once
 * (docs/kernels.md), and for other tiers what their vectors make of it. */
#define SIZES(X)                                                                                                       \
    X(parallel_flops, 40000, 1000, 100000000, "arithmetic of a step from which on threads are woken for it")           \
    X(parallel_bytes, 64000, 1000, 100000000, "bytes that a step moves from which on threads are woken for it")        \
    X(gemm_task_work, 800000, 50000, 50000000,                                                                         \
      "multiply-adds of a task of a matrix product, about") /* 20 us of one core with AVX-512 */                       \
    X(gemm_block_rows, 252, 28, 4096,                                                                                  \
      "rows of A that stay in L2 while panels of B pass") /* of 512 elements: 512 KiB of f32 */                        \
    X(gemm_share_bytes, 512 << 10, 16 << 10, 1 << 30,                                                                  \
      "bytes of B from which on it is packed once for all tasks, even if its rows are contiguous")                     \
    /* rows of B in place are read for every tile of A. Measured with 600 x 300 x 2000 and 512 cubed: 20 and 10 %      \
     * faster than not at all; 256 cubed would be 4 % slower */                                                        \
    X(fused_task_work, 65536, 4096, 16 << 20,                                                                          \
      "element operations of a task of an elementwise program or a reduction, about")                                  \
    X(fused_block_bytes, 24576, 4096, 1 << 20, "bytes of the blocks that an elementwise program works on at once")     \
    X(stream_bytes, 32 << 20, 64 << 10, (int64_t)1 << 40,                                                              \
      "bytes of a result from which on it is written by nontemporal stores")                                           \
    X(int8_task_work, 3200000, 50000, 100000000, "multiply-adds of a task of a product of bytes, about")               \
    X(steal_tasks, 1, 1, 4096, "tasks left of another thread's share from which on a thread takes of them")            \
    X(chunk_tasks, 64, 1, 4096, "tasks that a thread takes at once, or a sixteenth of its share if that is less")

#define COSTS(X)                                                                                                       \
    X(cost_step_ns, 50, 1, 1000000, "ns that a step takes besides its work")                                           \
    X(cost_wake_ns, 1500, 1, 10000000, "ns that it takes to share a step between threads")                             \
    X(cost_block_ns, 4, 1, 100000, "ns that a program takes to begin an op on a block")                                \
    X(cost_row_ns, 4, 1, 100000, "ns that a result of a reduction takes besides its work")                             \
    X(cost_piece_ns, 35, 1, 100000,                                                                                    \
      "ns that a part of a row takes: of a sum of wide rows, of a product with a program behind it")                   \
    X(cost_l3_bytes, 32 << 20, 4 << 10, (int64_t)1 << 40, "bytes of the last cache")                                   \
    X(cost_l2_rate, 90000, 10, 100000000, "MB/s that steps move in a core's cache")                                    \
    X(cost_l3_rate, 45000, 10, 100000000, "MB/s in the last cache")                                                    \
    X(cost_memory_rate, 12000, 10, 100000000, "MB/s in memory")

/* Of cores with AVX-512; others have half of it or less. */
#define CORES_CACHE(X) X(cost_l2_bytes, 1 << 20, 4 << 10, (int64_t)1 << 40, "bytes of the cache of a core")

#define RATES(X)                                                                                                       \
    X(cost_light_rate, 60000, 1, 100000000, "millions of adds, products, comparisons of elements a second")            \
    X(cost_heavy_rate, 5000, 1, 100000000, "millions of divisions, roots, exponentials a second")                      \
    X(cost_reduce_rate, 40000, 1, 100000000, "millions of elements reduced a second")                                  \
    X(cost_gemm_rate, 105000, 1, 1000000000, "MFLOP/s of matrix products")                                             \
    X(cost_conv_rate, 95000, 1, 1000000000, "MFLOP/s of convolutions")                                                 \
    X(cost_winograd_rate, 170000, 1, 1000000000, "MFLOP/s of Winograd's convolutions, as the others count them")       \
    X(cost_depthwise_rate, 60000, 1, 1000000000, "MFLOP/s of convolutions channel by channel")                         \
    X(cost_pool_rate, 12000, 1, 1000000000, "MFLOP/s of pooling")                                                      \
    X(cost_rows_rate, 6000, 1, 1000000000, "MFLOP/s of softmax, norms and losses by rows")                             \
    X(cost_attention_rate, 60000, 1, 1000000000, "MFLOP/s of attention")                                               \
    X(cost_recurrent_rate, 40000, 1, 1000000000, "MFLOP/s of RNN, LSTM and GRU")                                       \
    X(cost_int8_rate, 350000, 1, 1000000000, "MFLOP/s of products of bytes")                                           \
    X(cost_other_rate, 2000, 1, 1000000000, "MFLOP/s of all else")

/* By tier: arithmetic of half as wide vectors, of SSE2's or NEON's, of none. */
#define SIZE(name, fallback, ...)        .name = fallback,
#define RATE_AVX512(name, fallback, ...) .name = fallback,
#define HALF(name, fallback, ...)        .name = (fallback) / 2,
#define RATE_BASE(name, fallback, ...)   .name = (fallback) / 6,
#define RATE_REF(name, fallback, ...)    .name = (fallback) / 40,
static const wick_tuning unsized[WICK_TIER_COUNT] = {
    [WICK_TIER_REF] = {SIZES(SIZE) COSTS(SIZE) CORES_CACHE(HALF) RATES(RATE_REF)},
    [WICK_TIER_BASE] = {SIZES(SIZE) COSTS(SIZE) CORES_CACHE(HALF) RATES(RATE_BASE)},
    [WICK_TIER_AVX2] = {SIZES(SIZE) COSTS(SIZE) CORES_CACHE(HALF) RATES(HALF)},
    [WICK_TIER_AVX512] = {SIZES(SIZE) COSTS(SIZE) CORES_CACHE(SIZE) RATES(RATE_AVX512)},
};

/* clang-format off */
#define PLACE(name, ...) static int64_t *place_of_##name(wick_tuning *t) { return &t->name; }
SIZES(PLACE) COSTS(PLACE) CORES_CACHE(PLACE) RATES(PLACE)
/* clang-format on */
#define SIZE_ROW(name, fallback, low, high, doc) {#name, doc, fallback, low, high, false, place_of_##name},
#define COST_ROW(name, fallback, low, high, doc) {#name, doc, fallback, low, high, true, place_of_##name},
static const wick_tuning_field fields[] = {SIZES(SIZE_ROW) COSTS(COST_ROW) CORES_CACHE(COST_ROW) RATES(COST_ROW)};
enum { N = WICK_COUNTOF(fields) };
_Static_assert(sizeof(wick_tuning) == N * sizeof(int64_t), "every number has a row");

/* Every field that is set within its range, the others as in fallback. */
static wick_tuning whole(wick_tuning t, const wick_tuning *fallback) {
    wick_tuning other = *fallback;
    for (int i = 0; i < N; i++) {
        int64_t *at = fields[i].of(&t);
        *at = *at ? WICK_MIN(WICK_MAX(*at, fields[i].low), fields[i].high) : *fields[i].of(&other);
    }
    return t;
}

/* Rows of whole tiles, whether a tile has 14 or 6. */
enum { ROWS_UNIT = 42 };

/* On a machine of 32 KiB, 1 MiB and 32 MiB blocks are what was measured there, with smaller caches as much less. They
 * are no larger anywhere: rows that took half of 2 MiB made products slower (docs/benchmarks/tried.md), and of a last
 * cache of more than 32 MiB others have their parts. */
wick_tuning wick_tuning_for(wick_tier tier, const wick_caches *caches) {
    const wick_tuning *most = &unsized[tier];
    wick_tuning t = {0};
    if (caches->l1 > 3) t.fused_block_bytes = WICK_MIN(caches->l1 / 4 * 3, most->fused_block_bytes);
    if (caches->l2 > 1) {
        const int64_t rows = caches->l2 / 2 / (int64_t)(WICK_GEMM_KC * sizeof(float));
        t.gemm_block_rows = WICK_MIN(WICK_MAX(rows / ROWS_UNIT, 1) * ROWS_UNIT, most->gemm_block_rows);
        t.gemm_share_bytes = WICK_MIN(caches->l2 / 2, most->gemm_share_bytes);
        t.cost_l2_bytes = caches->l2;
    }
    if (caches->last > 0) {
        t.stream_bytes = WICK_MIN(caches->last, most->stream_bytes);
        t.cost_l3_bytes = caches->last;
    }
    return whole(t, most);
}

static wick_tuning defaults[WICK_TIER_COUNT];

static void find_defaults(void) {
    const wick_caches caches = wick_caches_found();
    for (int i = 0; i < WICK_TIER_COUNT; i++) defaults[i] = wick_tuning_for((wick_tier)i, &caches);
}

static const wick_tuning *default_now(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_defaults);
    return &defaults[wick_tier_current()];
}

int wick_tuning_count(void) { return N; }
wick_tuning_field wick_tuning_at(int i) {
    if ((unsigned)i >= N) return (wick_tuning_field){0};
    wick_tuning_field f = fields[i];
    wick_tuning of_tier = *default_now();
    f.fallback = *f.of(&of_tier);
    return f;
}

wick_tuning wick_tuning_of_any_machine(void) { return unsized[wick_tier_current()]; }

wick_tuning wick_tuning_whole(const wick_tuning *tuning) {
    return whole(tuning ? *tuning : (wick_tuning){0}, default_now());
}

const wick_tuning *wick_tuning_or_default(const wick_tuning *tuning) { return tuning ? tuning : default_now(); }
