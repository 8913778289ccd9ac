/* gemm_tuning.h: everything about matrix products that was chosen by measuring: wick bench gemm prints the evidence,
 * and docs/kernels.md ("Thresholds") has what was measured where.
 *
 * Register tiles, per tier. rows * vectors accumulators plus `vectors` of B plus one of A (two without FMA) fit the
 * vector registers, and rows * vectors >= latency * throughput of the multiply-add (4 to 10). */
#ifndef WICK_KERNELS_GEMM_GEMM_TUNING_H
#define WICK_KERNELS_GEMM_GEMM_TUNING_H

#ifdef WICK_TIER_ID /* tier files only */
/* bytes of a vector; rows and vectors of a tile */
#if WICK_TIER_ID == 3 /* avx512: 32 registers; one row reads 1 KiB of a row of B at once */
#define WICK_GEMM_WIDE(rows) ((rows) == 1 ? 16 : (rows) == 2 ? 8 : (rows) == 3 ? 6 : (rows) <= 5 ? 4 : 3)
enum { WICK_GEMM_VEC_BYTES = 64, WICK_GEMM_MR = 14, WICK_GEMM_NV = 2 };
#elif WICK_TIER_ID == 2 /* avx2: 16 registers */
#define WICK_GEMM_WIDE(rows) ((rows) == 1 ? 8 : (rows) == 2 ? 5 : (rows) == 3 ? 4 : (rows) == 4 ? 3 : 2)
enum { WICK_GEMM_VEC_BYTES = 32, WICK_GEMM_MR = 6, WICK_GEMM_NV = 2 };
#elif defined(__aarch64__) /* base: 32 registers (NEON), and a multiply-add takes a lane of A; with 12 rows gcc 12     \
                              keeps accumulators in memory */
#define WICK_GEMM_WIDE(rows) ((rows) <= 2 ? 8 : (rows) == 3 ? 6 : (rows) <= 5 ? 4 : (rows) == 6 ? 3 : 2)
enum { WICK_GEMM_VEC_BYTES = 16, WICK_GEMM_MR = 10, WICK_GEMM_NV = 2 };
#else /* base: 16 registers (SSE2) or more */
#define WICK_GEMM_WIDE(rows) ((rows) == 1 ? 8 : (rows) == 2 ? 5 : (rows) == 3 ? 4 : (rows) == 4 ? 3 : 2)
enum { WICK_GEMM_VEC_BYTES = 16, WICK_GEMM_MR = 6, WICK_GEMM_NV = 2 };
#endif
/* Over B's columns, groups of them that are in flight for one row of A; over its rows, WICK_GEMM_WIDE(rows) vectors
 * are. */
enum { WICK_GEMM_COLUMN_GROUPS = 4 };
/* Over packed panels: as many of them as have 8 sums in flight or more, and rows of A at once. */
#define WICK_GEMM_PANELS_OF(rows) ((rows) == 1 ? 4 : (rows) <= 3 ? 2 : 1)
enum { WICK_GEMM_PANEL_ROWS = WICK_GEMM_MR < 8 ? WICK_GEMM_MR : 8 };
#endif

/* Thin products, which read B in place. Up to so many rows of A: where rows of B are contiguous and come from far, or
 * are near; where its columns are contiguous, without and with squares that are transposed in registers. */
enum { WICK_GEMM_FEW_FAR = 8, WICK_GEMM_FEW_NEAR = 3, WICK_GEMM_FEW_BY_COLUMNS = 4, WICK_GEMM_FEW_BY_SQUARES = 12 };
/* From far several rows of B go at once, as many streams as a core's prefetching follows; sums wait in L1. */
enum {
    WICK_GEMM_SWEEP_STEPS = 8,     /* rows of B at a time */
    WICK_GEMM_SWEEP_BYTES = 16384, /* of sums that wait: half of L1 */
    WICK_GEMM_SWEEP_TASK = 8192,   /* of a row of B that are one task's, from memory: two pages; */
    WICK_GEMM_SWEEP_NEAR = 256,    /* from L3, which threads read side by side */
    WICK_GEMM_AHEAD = 1024,        /* bytes of a column that are asked for ahead; */
    WICK_GEMM_SQUARES_AHEAD = 512  /* of one of several, by squares */
};

/* Packed panels that few rows go over side by side, at most. */
enum { WICK_GEMM_PANELS = 4 };

/* A thin product takes as long as a product by tiles of so many times its multiply-adds: what it reads bounds it. 1 x
 * 512 x 512 then is two tasks. */
enum { WICK_GEMM_THIN_COST = 4 };

/* Bytes of a column that are transposed before the next columns' turn. */
enum { WICK_GEMM_CHUNK = 256 };

/* Bytes of B from which on a thin product takes it from far by rows: what L3 gives is then less than tiles take. */
enum { WICK_GEMM_FAR_BY_ROWS = 1 << 20 };

/* What the last cache (wick_tuning.cost_l3_bytes) holds of B beside others: a fourth of it. From there on columns come
 * from memory, which asks for them ahead; a quarter of that is enough where columns share sets of L1. Up to there
 * plans keep a copy by rows of a constant B whose columns are contiguous, for so few rows of A as FEW_NEAR, and of
 * FAR_BY_ROWS up to the whole cache panels of any constant B, for FEW_FAR rows. */
enum { WICK_GEMM_L3_SHARE = 4 };

/* The longest block of k. It is a part of the numerics (the same for every tier and shape): one block's partial sum is
 * rounded on its own. A panel of B of this length (64 KiB) and a tile of A (28 KiB) live in L2. */
enum { WICK_GEMM_KC = 512 };
/* Of bf16 twice as many, which are as many bytes. */
enum { WICK_GEMM_KC_BF16 = 1024 };
/* Columns at least of a task that sweeps over rows of B (narrow.c): a page of a row. */
enum { WICK_GEMM_NARROW_SWEEP = 2048 };
/* Where A is packed: bytes of a task's rows, and its columns, about. Tiles of rows up to which rows of B are paired in
 * each. */
enum { WICK_GEMM_NARROW_A = 512 << 10, WICK_GEMM_NARROW_COLUMNS = 256, WICK_GEMM_IN_PLACE_TILES = 2 };
/* Bytes of a constant B from which on it is laid out by panels: what L1 holds beside a panel's f32 is less. */
enum { WICK_GEMM_NARROW_FAR = 64 << 10 };

/* At most so many tasks as keep 16 threads balanced; as many multiply-adds as a task has at least, rows of a block, and
 * from which size on B is packed once are in kernels/tuning.c: they may differ from machine to machine. What
 * convolutions count in, which cut some of their sums by it: 20 us of one core with AVX-512. */
enum { WICK_GEMM_TASK_WORK = 800000, WICK_GEMM_MAX_TASKS = 64 };

/* Bytes of a C that L2 keeps beside A and B: its lines are not asked for, which costs a tile some 25 cycles. */
enum { WICK_GEMM_NEAR_C = 256 << 10 };

/* The most columns of a task's block of C. */
enum { WICK_GEMM_NC = 1024 };

/* Products that are worth FEW_TASKS tasks at least: that many, and one more for each so many multiply-adds. Blocks of C
 * are cut down to half of gemm_block_rows by LOW_COLUMNS, and if that makes too few tasks to the least rows and
 * columns: wide ones use a row of A more often, which counts where L3 gives little of what L2 gives. */
enum {
    WICK_GEMM_FEW_TASKS = 16,
    WICK_GEMM_LARGE_WORK = 64000000,
    WICK_GEMM_LOW_COLUMNS = 256,
    WICK_GEMM_LEAST_ROWS = 42,
    WICK_GEMM_LEAST_COLUMNS = 64
};

/* Packing one element of a transposed operand costs about as much as this share of a vector multiply-add, in 1/16; so
 * does transposing it between the multiply-adds of a few rows, by squares. */
enum { WICK_GEMM_PACK_COST = 10, WICK_GEMM_SQUARES_COST = 3 };

/* Rows of A a multiple of this many bytes apart share a set of L1 (64 sets of 64 bytes); of its 8 ways, one is for B.
 */
enum { WICK_GEMM_SET_BYTES = 4096, WICK_GEMM_SET_ROWS = 7 };

/* A is packed when its rows aren't contiguous, or share sets of L1, and a task has at least this many panels to use it.
 */
enum { WICK_GEMM_PACK_A_PANELS = 3 };

/* B whose rows are contiguous is used in place, unless each row is on another page (bytes) and a task goes over the
 * panel this often (tiles of rows), or B is constant and large (gemm_share_bytes); unless the rows of a panel share so
 * few sets of L2 that it holds less than them all, and a task goes over it often; or unless rows aren't a multiple of
 * lines (bytes) and B is large. */
enum { WICK_GEMM_FAR_ROWS = 4096, WICK_GEMM_FAR_TILES = 8, WICK_GEMM_LINE = 64 };

/* Bytes of A up to which tasks take all rows and pack columns of B for themselves: of all of k, or of a block of it
 * where a task has several panels. A stays in L2 while panels pass, or costs less from L3 than packing B for all. */
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
