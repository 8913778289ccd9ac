/* gemm_tuning.h: everything about matrix products that was chosen by measuring (wick bench gemm prints the
 * evidence).
 *
 * Register tiles, per tier. rows * vectors accumulators plus `vectors` of B plus one of A (two without FMA) fit the
 * vector registers, and rows * vectors >= latency * throughput of the multiply-add (4 on Zen 4, 8 to 10 on others). */
#ifndef WICK_KERNELS_GEMM_GEMM_TUNING_H
#define WICK_KERNELS_GEMM_GEMM_TUNING_H

#ifdef WICK_TIER_ID /* tier files only */
/* bytes of a vector; rows and vectors of a tile */
#if WICK_TIER_ID == 3 /* avx512: 32 registers; one row reads lines of 1 KB at once: on Zen 5 1 x 512 x 512 takes 8.2   \
                         us, with half of it 8.8 */
#define WICK_GEMM_WIDE(rows) ((rows) == 1 ? 16 : (rows) == 2 ? 8 : (rows) == 3 ? 6 : (rows) <= 5 ? 4 : 3)
enum { WICK_GEMM_VEC_BYTES = 64, WICK_GEMM_MR = 14, WICK_GEMM_NV = 2 };
#elif WICK_TIER_ID == 2 /* avx2: 16 registers */
#define WICK_GEMM_WIDE(rows) ((rows) == 1 ? 8 : (rows) == 2 ? 5 : (rows) == 3 ? 4 : (rows) == 4 ? 3 : 2)
enum { WICK_GEMM_VEC_BYTES = 32, WICK_GEMM_MR = 6, WICK_GEMM_NV = 2 };
#elif defined(__aarch64__) /* base: 32 registers (NEON), and a multiply-add takes a lane of A; with 12 rows gcc 12     \
                              keeps accumulators in memory */
#define WICK_GEMM_WIDE(rows) ((rows) <= 2 ? 8 : (rows) == 3 ? 6 : (rows) <= 5 ? 4 : (rows) == 6 ? 3 : 2)
enum { WICK_GEMM_VEC_BYTES = 16, WICK_GEMM_MR = 10, WICK_GEMM_NV = 2 };
#else                      /* base: 16 registers (SSE2) or more */
#define WICK_GEMM_WIDE(rows) ((rows) == 1 ? 8 : (rows) == 2 ? 5 : (rows) == 3 ? 4 : (rows) == 4 ? 3 : 2)
enum { WICK_GEMM_VEC_BYTES = 16, WICK_GEMM_MR = 6, WICK_GEMM_NV = 2 };
#endif
/* Over B's columns, groups of them that are in flight for one row of A; over its rows, WICK_GEMM_WIDE(rows) vectors
 * are. */
enum { WICK_GEMM_COLUMN_GROUPS = 4 };
#endif

/* Thin products, which read B in place. Up to so many rows: where rows of B are far; near; where its columns are
 * contiguous. Far: rows of B at a time, bytes of sums that wait in L1, those of a row of B that are one task's (from
 * memory; from L3, where 1 x 9216 x 128 on two threads takes mnist_cnn from 170 to 124 us, and on one from 170 to 175),
 * and how many bytes ahead of a column are asked for. Measured on Zen 4: 1 x 4096 x 4096 takes half the time of tiles
 * with rows of B at once (nothing is asked for ahead: on Zen 5 1 x 4096 x 4096 takes 1.8 ms by pages of 1024
 * columns, 2.0 by whole rows and 2.15 where the rows that come next were asked for, on Zen 3 with AVX2 3.2 for 5.3), 2
 * x 512 x 512 two thirds with wide tiles, and over columns a half to nine tenths of what packing first takes. */
enum { WICK_GEMM_FEW_FAR = 8, WICK_GEMM_FEW_NEAR = 3, WICK_GEMM_FEW_BY_COLUMNS = 4, WICK_GEMM_FEW_BY_SQUARES = 12 };
enum {
    WICK_GEMM_SWEEP_STEPS = 8,
    WICK_GEMM_SWEEP_BYTES = 16384,
    WICK_GEMM_SWEEP_TASK = 8192,
    WICK_GEMM_SWEEP_NEAR = 256,
    WICK_GEMM_AHEAD = 1024,
    WICK_GEMM_SQUARES_AHEAD = 512
};

/* A thin product takes as long as a product by tiles of so many times its multiply-adds: what it reads bounds it. 1 x
 * 512 x 512 then is two tasks. */
enum { WICK_GEMM_THIN_COST = 4 };

/* Bytes of a column that are transposed before the next columns' turn. */
enum { WICK_GEMM_CHUNK = 256 };

/* Bytes of B from which on a thin product takes it from far: by rows (no cache near enough for tiles), by columns
 * (memory); a quarter where columns share sets of L1: on Zen 4 1 x 9216 x 128 takes 158 us where all groups at once and
 * nothing asked for ahead took 307. From memory such columns go a line of one group after the other, four groups in
 * flight: 1 x 4096 x 4096 takes 2.8 ms for 3.1; 1 x 9216 x 128, from L3, would take 165 us so. */
enum { WICK_GEMM_FAR_BY_ROWS = 1 << 20, WICK_GEMM_FAR_BY_COLUMNS = 8 << 20 };

/* Bytes of a constant B up to which plans keep a copy of it by rows, instead of its contiguous columns, for so few rows
 * of A as FEW_NEAR: what L3 holds beside others. On Zen 4 1 x 9216 x 128 takes 65 us by rows (73 GB/s) and 96 by
 * columns, 1 x 2048 x 512 59 and 87, 1 x 1280 x 1000 78 and 94; a larger one costs more memory than it is read from
 * faster (1 x 4096 x 4096 2.2 and 2.7 ms). */
enum { WICK_GEMM_COPY_ROWS = 8 << 20 };

/* The longest block of k. It is a part of the numerics (the same for every tier and shape): one block's partial sum is
 * rounded on its own. A panel of B of this length (64 KiB) and a tile of A (28 KiB) live in L2. */
enum { WICK_GEMM_KC = 512 };
/* Of bf16 twice as many, which are as many bytes. */
enum { WICK_GEMM_KC_BF16 = 1024 };
/* Columns at least of a task that sweeps over rows of B (narrow.c): a page of a row. On Zen 5 1 x 4096 x 4096 of bf16
 * takes 0.70 ms, with half of it 0.90, and 0.98 and 1.25 where nothing is asked for ahead. */
enum { WICK_GEMM_NARROW_SWEEP = 2048 };
/* Where A is packed: bytes of a task's rows, and its columns, about. Tiles of rows up to which rows of B are paired in
 * each. */
enum { WICK_GEMM_NARROW_A = 512 << 10, WICK_GEMM_NARROW_COLUMNS = 256, WICK_GEMM_IN_PLACE_TILES = 2 };

/* At most so many tasks as keep 16 threads balanced; as many multiply-adds as a task has at least, rows of a block, and
 * from which size on B is packed once are in kernels/tuning.c: they may differ from machine to machine. What
 * convolutions count in, which cut some of their sums by it: 20 us of one core with AVX-512. */
enum { WICK_GEMM_TASK_WORK = 800000, WICK_GEMM_MAX_TASKS = 64 };

/* Bytes of a C that L2 keeps (Zen 4, 1 MB): asking for its lines costs a tile of 14 x 32 some 25 cycles. */
enum { WICK_GEMM_NEAR_C = 256 << 10 };

/* The most columns of a task's block of C. */
enum { WICK_GEMM_NC = 1024 };

/* Products that are worth FEW_TASKS tasks at least: that many, and one more for each so many multiply-adds. Blocks of C
 * are cut down to half of gemm_block_rows by LOW_COLUMNS, and if that makes too few tasks to the least rows and
 * columns. Measured on a Xeon with 2 MiB of L2 (n = 1024 and 2048, beside OpenBLAS in turn): with 205 x 96 and 228 x
 * 256 0.87 and 0.73 of its speed, with 114 x 512 and 121 x 512 1.0; n = 512 with A transposed and 128 columns 0.91,
 * with 256 0.98; what a core reads from L3 is 1/14 of what it reads from L2 there. Asking for the next panel early is
 * 0.1 to 0.2 of that. */
enum {
    WICK_GEMM_FEW_TASKS = 16,
    WICK_GEMM_LARGE_WORK = 64000000,
    WICK_GEMM_LOW_COLUMNS = 256,
    WICK_GEMM_LEAST_ROWS = 42,
    WICK_GEMM_LEAST_COLUMNS = 64
};

/* Packing one element of a transposed operand costs about as much as this share of a vector multiply-add, in 1/16; so
 * does transposing it between the multiply-adds of a few rows, by squares: on Zen 4 1.8 (64 x 10 x 128 takes 1.65 us as
 * its transpose, 2.4 as it is). */
enum { WICK_GEMM_PACK_COST = 10, WICK_GEMM_SQUARES_COST = 3 };

/* Rows of A a multiple of this many bytes apart share a set of L1 (64 sets of 64 bytes); of its 8 ways, one is for B.
 */
enum { WICK_GEMM_SET_BYTES = 4096, WICK_GEMM_SET_ROWS = 7 };

/* A is packed when its rows aren't contiguous, or share sets of L1, and a task has at least this many panels to use it.
 */
enum { WICK_GEMM_PACK_A_PANELS = 3 };

/* B whose rows are contiguous is used in place, unless each row is on another page (bytes) and a task goes over the
 * panel this often (tiles of rows), or rows aren't a multiple of lines (bytes) and B is large (gemm_share_bytes). On
 * Zen 4 rows of whole lines are 3 to 7 % faster in place (256 x 512 x 512, 768 cubed), others 5 to 8 % faster packed
 * (256 x 1000 x 1000, 384 x 600 x 600). */
enum { WICK_GEMM_FAR_ROWS = 4096, WICK_GEMM_FAR_TILES = 8, WICK_GEMM_LINE = 64 };

/* Bytes of A up to which tasks take all rows and pack columns of B for themselves: of all of k, or of a block of it
 * where a task has several panels. A stays in L2 while panels pass. On Zen 4 256 x 512 x 784 (784 KiB) takes 3 to 6 %
 * longer so on one thread. */
enum { WICK_GEMM_OWN_A = 512 << 10 };

/* Elements that one task of stage 0 packs, at least. */
enum { WICK_GEMM_PACK_WORK = 65536 };

/* Tiles (Intel AMX, amx.c). Reckoned, not measured: no CPU that has them was at hand.
 * Blocks of k by parts of an operand: sums of three parts are kept short for the sake of their error, a block of 128
 * degrades with neither; the others are as long as leaves a panel of 16 about as many bytes. Blocks of C and the panels
 * for them: 2 x 384 KiB. They are halved, down to SMALL, until there are TASKS. */
enum {
    WICK_AMX_KC_1 = 512,
    WICK_AMX_KC_2 = 256,
    WICK_AMX_KC_3 = 128,
    WICK_AMX_MC = 512,
    WICK_AMX_NC = 512,
    WICK_AMX_SMALL = 256,
    WICK_AMX_TASKS = 4
};
/* Below these extents other kernels are taken; f32 whose B isn't kept packed besides below this many multiply-adds (256
 * cubed). */
enum { WICK_AMX_LEAST_BF16 = 32, WICK_AMX_LEAST_F32 = 128, WICK_AMX_WORK_F32 = 1 << 24 };

#endif
