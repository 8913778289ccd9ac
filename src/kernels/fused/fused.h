/* fused.h: what the parts of fused/ share: how inputs reach their registers, the modes of a run, reduction kernels. */
#ifndef WICK_KERNELS_FUSED_H
#define WICK_KERNELS_FUSED_H

#include "kernels/fused/fused_api.h"

/* Registers: inputs, then one per instruction. */
#define WICK_FUSED_MAX_REGS (WICK_FUSED_MAX_IO + WICK_FUSED_MAX_OPS)

/* How an input reaches its register. The space is the dims that blocks run over: all of them, or those of one unit. */
typedef enum wick_fused_kind {
    WICK_FUSED_UNUSED, /* no instruction and no output reads it */
    WICK_FUSED_SAME,   /* one value throughout the space: a block of it, filled once per space */
    WICK_FUSED_STILL,  /* one value for each in_run elements: a block of it, filled when it changes */
    WICK_FUSED_PERIOD, /* repeats every in_period <= block elements: a block and a period of it, entered at the phase */
    WICK_FUSED_WALK,   /* in place where a block lies within a run of in_run contiguous elements, else packed (and
                          converted) */
} wick_fused_kind;

typedef enum wick_fused_mode {
    WICK_FUSED_PLAIN, /* no reduction */
    /* no reduction, one instruction, and arrays that are contiguous and of register types: its kernel is called on them
     * directly */
    WICK_FUSED_BARE,
    WICK_FUSED_ROWS,  /* no reduction, a compiled program, and arrays with contiguous rows: called row by row */
    WICK_FUSED_EMPTY, /* a reduction over nothing */
    WICK_FUSED_SHORT, /* blocks hold whole units */
    WICK_FUSED_LONG,  /* units are done one by one, all their chunks in one task */
    WICK_FUSED_SPLIT, /* so, but a task is some chunks of one unit: two stages */
} wick_fused_mode;

/* How machine code that takes lines of a reduction reaches an input; no letter: there is no such code. */
enum {
    WICK_REACH_NUMBER = 'S',
    WICK_REACH_ROW_NUMBER = 'R',
    WICK_REACH_LINES = 'A',
    WICK_REACH_BLOCKS = 'B' /* as LINES, once a block of them is packed */
};

/* Fills layout.reach of a reduction that is laid out; NULL: or why its lines are not machine code. */
const char *wick_native_reach(wick_fused *f);

/* How many registers an instruction reads. */
static inline int wick_fused_arity(const wick_fused_instr *instr) {
#define WICK_EW_ARITY(name, arity, ...) arity,
    static const uint8_t arities[] = {WICK_EW_TABLE(WICK_EW_ARITY)};
#undef WICK_EW_ARITY
    return instr->op == WICK_FUSED_CAST ? 1 : arities[instr->op];
}
/* Whether memory holds the dtype as registers do. */
static inline bool wick_fused_native(wick_dtype dtype) {
    return dtype == WICK_F32 || dtype == WICK_F64 || dtype == WICK_I32 || dtype == WICK_I64 || dtype == WICK_U64 ||
           dtype == WICK_BOOL;
}

/* From memory one stream does not come as fast as memory allows by the CPU's own prefetching: who takes `bytes` from x
 * on asks for those some way on. More than WICK_ASK_BYTES at once wait for each other, and what is taken waits with
 * them. */
#define WICK_ASK_BYTES 1024
static inline void wick_ask_ahead(const void *x, int64_t bytes) {
    enum { LINE = 64, AHEAD = 8192 };
    for (int64_t i = 0; i < bytes; i += LINE) __builtin_prefetch((const char *)x + AHEAD + i, 0, 3);
}

/* ---- reductions -----------------------------------------------------------------------------------------------------
 *
 * A reduction sees [units, reduced, cols]: cols are the trailing kept elements. Reduced rows are taken lane_rows at a
 * time (64 for cols = 1, 1 for cols >= 64, a power of two between): a line of lane_rows * cols lanes, one accumulator
 * each. Up to WICK_RED_RUN lines are added one after the other, such runs are combined pairwise up to WICK_RED_CHUNK
 * lines: a chunk. Its lanes are folded by halves to cols values, and chunks are combined pairwise. All of it follows
 * from the sizes alone. */
#define WICK_RED_LANES       64
#define WICK_RED_RUN         16
#define WICK_RED_CHUNK       128
/* The longest line, of cols cut into tiles. */
#define WICK_RED_LINE        512
/* Units that are turned at a time, where an input lies across them: a line of memory. */
#define WICK_RED_TURNED      16
/* Entries of a stack of partial results that are combined pairwise: one per bit of a count. */
#define WICK_RED_CHUNK_DEPTH 5
#define WICK_RED_UNIT_DEPTH  40

/* What chunks are of: x, (x - m)^2, g (x - m). g is x again where it is not asked for. */
enum { WICK_RED_OF_X, WICK_RED_OF_SQUARES, WICK_RED_OF_PRODUCTS };

/* Sums of f(x[l], y[l]) of f32, lines of WICK_RED_LANES that lie one after the other. SAME: of x; FAR: which comes from
 * memory; KNOWN: of x where it is a number, else of 0. */
typedef enum wick_red_map {
    WICK_MAP_SAME,
    WICK_MAP_FAR,
    WICK_MAP_SQUARE,
    WICK_MAP_MUL,
    WICK_MAP_KNOWN,
    WICK_MAP_COUNT
} wick_red_map;
typedef struct wick_red_mapped {
    /* acc[l] = (cont ? acc[l] + : ) f(x[l], y[l]) + f(x[64 + l], y[64 + l]) + ...; rows >= 1 lines; NULL: lanes does it
     */
    void (*lines)(float *acc, const float *x, const float *y, size_t rows, bool cont);
    /* the sum of a chunk of 1 to 8 whole runs, folded; NULL: there is none */
    float (*chunk)(const float *x, const float *y, size_t runs);
} wick_red_mapped;

typedef struct wick_red_kernels {
    /* acc[l] = (cont ? acc[l] op : ) x[l] op x[stride + l] op ...; rows >= 1 rows of `lanes` */
    void (*lanes)(void *acc, const void *x, size_t rows, size_t lanes, size_t stride, bool cont);
    /* the same with x in bf16; NULL but for f32 */
    void (*lanes_bf16)(void *acc, const void *x, size_t rows, size_t lanes, size_t stride, bool cont);
    /* the same of lines that lie one after the other in memory, with what comes next asked for; NULL where there is
     * none */
    void (*lanes_far)(void *acc, const void *x, size_t rows, size_t lanes, size_t stride, bool cont);
    /* dst[k] = chunk k of n, one column of lane_rows <= 8 lanes, contiguous, of what is made of x, a number m and g;
     * NULL but for sums of f32 */
    void (*chunks)(void *dst, int of, const void *x, const void *g, float m, size_t n, size_t lane_rows);
    /* acc[j] = acc[j] op x[j], n elements */
    void (*add)(void *acc, const void *x, size_t n);
    /* Folds the first `width` of lane_rows * cols lanes to cols, in place. */
    void (*fold)(void *acc, size_t width, size_t lane_rows, size_t cols);
    /* Reduces n_units contiguous units of reduced * cols elements (reduced >= 1, at most WICK_RED_RUN lines) to cols
     * each. */
    void (*units)(void *dst, const void *x, size_t n_units, size_t reduced, size_t lane_rows, size_t cols);
    /* acc[j] = acc[j] * scale; NULL for integers */
    void (*scale)(void *acc, double scale, size_t n);
    /* acc[j] = the result over nothing (sum, product), n elements */
    void (*nothing)(void *acc, size_t n);
    const wick_red_mapped *mapped; /* by wick_red_map; NULL but for sums of f32 */
} wick_red_kernels;
typedef wick_red_kernels wick_red_rows[WICK_RED_COUNT][WICK_CTYPE_COUNT];

extern const wick_red_rows wick_red_table_ref, wick_red_table_base, wick_red_table_avx2, wick_red_table_avx512;

#endif
