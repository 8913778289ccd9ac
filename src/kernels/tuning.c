/* tuning.c: the page of all numbers that may differ from machine to machine without changing bits: what each is, where it begins, how far it may go. What has a say in bits
 * (blocks of k, lanes of sums, parts of gradients), and tiles, which are compiled, are on the page of their family: gemm/gemm_tuning.h and the top of its file. */
#include "kernels/tuning.h"

#define FIELDS(X)                                                                                                                                    \
    X(parallel_flops, 40000, 1000, 100000000, "arithmetic of a step from which on threads are woken for it")                                          \
    X(parallel_bytes, 64000, 1000, 100000000, "bytes that a step moves from which on threads are woken for it")                                       \
    X(gemm_task_work, 800000, 50000, 50000000, "multiply-adds of a task of a matrix product, about") /* 20 us of one core with AVX-512 */                                                 \
    X(gemm_block_rows, 252, 28, 4096, "rows of A that stay in L2 while panels of B pass") /* of 512 elements: 512 KiB of f32 */                                                            \
    X(gemm_share_bytes, 512 << 10, 16 << 10, 1 << 30, "bytes of B from which on it is packed once for all tasks, even if its rows are contiguous")   \
    /* rows of B in place are read for every tile of A. Measured with 600 x 300 x 2000 and 512 cubed: 20 and 10 % faster than not at all; 256 cubed would be 4 % slower */ \
    X(fused_task_work, 65536, 4096, 16 << 20, "element operations of a task of an elementwise program or a reduction, about")                         \
    X(fused_block_bytes, 24576, 4096, 1 << 20, "bytes of the blocks that an elementwise program works on at once")                                    \
    X(stream_bytes, 32 << 20, 64 << 10, (int64_t)1 << 40, "bytes of a result from which on it is written past the caches")                            \
    X(int8_task_work, 3200000, 50000, 100000000, "multiply-adds of a task of a product of bytes, about")

#define PLACE(name, ...) static int64_t *place_of_##name(wick_tuning *t) { return &t->name; }
FIELDS(PLACE)
#define ROW(name, fallback, low, high, doc) {#name, doc, fallback, low, high, place_of_##name},
static const wick_tuning_field fields[] = {FIELDS(ROW)};
enum { N = WICK_COUNTOF(fields) };
_Static_assert(sizeof(wick_tuning) == N * sizeof(int64_t), "every number has a row");

int wick_tuning_count(void) { return N; }
wick_tuning_field wick_tuning_at(int i) { return (unsigned)i < N ? fields[i] : (wick_tuning_field){0}; }

wick_tuning wick_tuning_whole(const wick_tuning *tuning) {
    wick_tuning whole = {0};
    if (tuning) whole = *tuning;
    for (int i = 0; i < N; i++) {
        int64_t *at = fields[i].of(&whole);
        *at = *at ? WICK_MIN(WICK_MAX(*at, fields[i].low), fields[i].high) : fields[i].fallback;
    }
    return whole;
}

#define DEFAULT(name, fallback, ...) .name = fallback,
static const wick_tuning defaults = {FIELDS(DEFAULT)};
static _Thread_local const wick_tuning *entered;

const wick_tuning *wick_tuning_now(void) { return entered ? entered : &defaults; }
const wick_tuning *wick_tuning_enter(const wick_tuning *whole) {
    const wick_tuning *was = entered;
    entered = whole;
    return was;
}
