/* run.h: the machine that runs a prepared program block by block; shared by the plain run and the reductions. */
#ifndef WICK_KERNELS_FUSED_RUN_H
#define WICK_KERNELS_FUSED_RUN_H

#include "kernels/convert/convert.h"
#include "kernels/elementwise/ew.h"
#include "kernels/fused/native.h"
#include "kernels/fused/programs.h"

/* One per call of wick_fused_run, on its stack. The space is what blocks run over: every input and output has a base
 * pointer for index 0 of it. */
typedef struct wick_machine {
    const wick_fused *f;
    const wick_convert_table *convert;
    uint8_t *scratch;
    void *const *ptr;
    int space_rank;
    int64_t space_dims[WICK_MAX_DIMS], space_total;
    const uint8_t *in_base[WICK_FUSED_MAX_IO], *filled_from[WICK_FUSED_MAX_IO];
    uint8_t *out_base[WICK_FUSED_MAX_IO];
    int64_t in_run[WICK_FUSED_MAX_IO], out_run[WICK_FUSED_MAX_IO];
    int64_t in_size[WICK_FUSED_MAX_IO], out_size[WICK_FUSED_MAX_IO]; /* bytes of an element in memory */
    int64_t still[WICK_FUSED_MAX_IO];          /* WICK_FUSED_STILL: the run whose value the buffer holds; -1: none */
    bool in_place[WICK_FUSED_MAX_IO];          /* the input may be read where it lies */
    bool direct[WICK_FUSED_MAX_IO];            /* the output's register may lie in its memory */
    bool streams;                              /* outputs are stored nontemporally, out of their registers' slots */
    wick_ew_fn rows[WICK_FUSED_MAX_OPS];       /* NULL: a cast */
    wick_convert_fn casts[WICK_FUSED_MAX_OPS]; /* NULL: a cast between equal types */
    uint8_t *reg[WICK_FUSED_MAX_REGS];
    wick_program_fn whole; /* runs all instructions at once, */
    wick_native_fn native; /* so does this; both NULL: one by one */
    bool at_once;          /* one of them is there */
    wick_native_lines_fn lines; /* of a reduction: also adds what comes out to its lanes; */
    wick_native_units_fn units; /* and folds them; or both NULL */
    /* an input is WICK_FUSED_STILL; none changes within the block at hand, and at once takes their numbers */
    bool stills, single;
} wick_machine;

void wick_machine_init(wick_machine *m, const wick_fused *f, const wick_native *native, void *const *ptr,
                       void *scratch);
/* Enters the space whose inputs start in_offsets elements further (NULL: at 0); fills broadcast inputs. */
void wick_machine_enter(wick_machine *m, const int64_t *in_offsets);
/* Points the register of an input that is not one number throughout at n <= block elements from `at` on. */
void wick_machine_input(wick_machine *m, int i, int64_t at, int64_t n);
/* Runs the program over n <= block elements from `at` on; registers then hold the block. */
void wick_machine_block(wick_machine *m, int64_t at, int64_t n);

int64_t wick_walk_offset(int rank, const int64_t *dims, const int64_t *strides, int64_t at);
void wick_reduce_run(wick_machine *m, int stage, int64_t begin, int64_t end, void *partials);

#endif
