/* fused_api.h: elementwise programs, fused, optionally ending in a reduction.
 *
 * A program runs over an iteration space of up to 8 dims, block by block, so that intermediates stay in L1. Registers
 * hold a block of one ctype each: 0..n_in-1 are the inputs as loaded (converted to their ctype), then instruction
 * results. An instruction is a table row, or WICK_FUSED_CAST. */
#ifndef WICK_KERNELS_FUSED_API_H
#define WICK_KERNELS_FUSED_API_H

#include "kernels/tuning.h"
#include "kernels/types.h"

#define WICK_FUSED_CAST                                                                                                \
    0xffff /* dst type = `to`; float to integer truncates toward zero and saturates, NaN gives 0; x to bool is x != 0  \
            */
#define WICK_FUSED_MAX_OPS 64
#define WICK_FUSED_MAX_IO 24

typedef struct wick_fused_instr {
    uint16_t op;         /* wick_ew or WICK_FUSED_CAST */
    uint8_t type;        /* wick_ctype of the inputs (of b and c for where) */
    uint8_t to;          /* wick_ctype of the result */
    uint8_t dst, src[3]; /* registers */
} wick_fused_instr;

typedef struct wick_fused_io {
    /* wick_dtype in memory; converted to and from its ctype. Storing to a narrower integer wraps. */
    uint8_t dtype;
    uint8_t reg;                   /* outputs: the register to store. inputs: its own index */
    int64_t strides[WICK_MAX_DIMS]; /* elements, one per iteration dim; 0 broadcasts */
} wick_fused_io;

/* How prepare laid a program out; private to fused/, explained where it is made (fused/prepare.c). */
typedef struct wick_fused_layout {
    int64_t total, task_items, units, chunks, cols, tile, tiles, reduced, chunk_group;
    int64_t in_run[WICK_FUSED_MAX_IO], in_period[WICK_FUSED_MAX_IO], out_run[WICK_FUSED_MAX_IO];
    size_t slot_stride, in_offset[WICK_FUSED_MAX_IO], raw_offset, lanes_offset, results_offset;
    uint8_t in_kind[WICK_FUSED_MAX_IO], mode, program, streams, from_dram, planes;
    uint8_t whole_in[WICK_FUSED_MAX_IO], whole_out[WICK_FUSED_MAX_IO];
    bool reordered;
    uint8_t reach[WICK_FUSED_MAX_IO]; /* of a reduction whose lines may be machine code (fused/native.c) */
    uint8_t slot[WICK_FUSED_MAX_IO + WICK_FUSED_MAX_OPS], last_use[WICK_FUSED_MAX_IO + WICK_FUSED_MAX_OPS];
    int n_unit, lane_rows, space, out_rank, part;
    uint32_t transposed; /* inputs, a bit each */
    int64_t out_dims[WICK_MAX_DIMS], out_strides[WICK_MAX_DIMS];
} wick_fused_layout;

typedef struct wick_fused {
    int rank; /* iteration dims, outermost first */
    int64_t dims[WICK_MAX_DIMS];
    int n_in, n_out, n_instr, n_reg;
    wick_fused_io in[WICK_FUSED_MAX_IO], out[WICK_FUSED_MAX_IO];
    wick_fused_instr instr[WICK_FUSED_MAX_OPS];
    /* With a reduction n_out is 1, and the dims are ordered: n_keep kept dims, n_red reduced dims, then the rest kept
     * (so a row reduction has no trailing dims, a column sum has no leading ones). out[0].strides are 0 on reduced
     * dims. The result is multiplied by `scale` when scale != 1 (mean; float types only). The sum of nothing is 0, the
     * product 1, the largest of nothing is an error that the caller has already refused. max and min propagate NaN.
     * Order of summation is fixed by the problem size: 64 lanes interleaved per chunk, chunks combined pairwise. */
    bool reduces;
    uint8_t red; /* wick_red */
    int n_keep, n_red;
    double scale;
    /* 0, or the number of programs of one column each into which a program of that many columns was cut. The order of
     * sums, and whether stores are nontemporal, are then those of the whole program: the same bits */
    int64_t columns;

    /* filled by wick_fused_prepare */
    int64_t tasks;   /* stage 0 */
    int64_t tasks2;  /* stage 1: combining partial results; 0: none */
    size_t partials; /* bytes shared by the stages; 0: none */
    size_t scratch;  /* bytes that each worker needs */
    int block;       /* elements per block */
    wick_fused_layout layout;
} wick_fused;

/* Collapses dims that all operands walk alike, chooses block and tasks. Call once after filling; deterministic.
 * tuning: kernels/tuning.h. */
void wick_fused_prepare(wick_fused *f, const wick_tuning *tuning);
/* Of a program prepared by this tuning: the way it runs, and by the same tests the others, as all functions named
 * _rejected: how many, into out. */
const char *wick_fused_name(const wick_fused *f);
int wick_fused_rejected(const wick_fused *f, const wick_tuning *tuning, wick_rejected *out);
/* ptr: n_in input pointers, then n_out output pointers (each at the element of index 0). An output may be the same
 * memory as an input only if both walk it with the same strides and dtype. Runs tasks [begin, end) of the stage. */
void wick_fused_run(const wick_fused *f, int stage, int64_t begin, int64_t end, void *const *ptr, void *partials,
                    void *scratch);

#endif
