/* native.h: programs as one loop of machine code that was made elsewhere (src/codegen/jit.c), in place of a pass over
 * L1 per instruction. One that ends in a reduction keeps its lanes in registers: what is made of an element goes to its
 * lane, and to no memory. The rest of the order of fused.h (runs, chunks, folds) is the built-in's. */
#ifndef WICK_KERNELS_FUSED_NATIVE_H
#define WICK_KERNELS_FUSED_NATIVE_H

#include <stdatomic.h>

#include "kernels/elementwise/ew.h"
#include "kernels/fused/fused_api.h"

/* in[r]: n >= 1 elements of input r's ctype, or one element for a number; out[i]: n elements of result i's ctype.
 * out[i] may be an input of the same elements. rows: by instruction, the built-in kernel, for those that the loop
 * leaves to it. */
typedef void (*wick_native_fn)(const void *const *in, void *const *out, size_t n, const wick_ew_fn *rows);

/* acc[l] = (cont ? acc[l] op : ) v[0][l] op v[1][l] ... down `lines` lines of `lanes` values of the program, and then
 * v[lines][l] of its first `rest` lanes. in[r]: line 0 of input r, step[r] elements from line to line; a number; or a
 * number of each line. acc lies over no input. */
typedef void (*wick_native_lines_fn)(void *acc, const void *const *in, const int64_t *step, size_t lines, size_t lanes,
                                     size_t rest, bool cont, const wick_ew_fn *rows);
/* `units` units of so many lines and a rest, to[u * cols] their results: lanes folded to the first cols by the built-in
 * kernel. Unit u of input r begins u * unit_step[r] elements on. */
typedef void (*wick_native_units_fn)(void *to, size_t units, size_t cols, const int64_t *unit_step,
                                     const void *const *in, const int64_t *step, size_t lines, size_t lanes,
                                     size_t rest, const wick_ew_fn *rows,
                                     void (*fold)(void *acc, size_t width, size_t lane_rows, size_t cols));

enum {
    WICK_NATIVE_ELEMENTS,
    WICK_NATIVE_ROWS /* lines of WICK_RED_LANES lanes */,
    WICK_NATIVE_COLS /* of any number */
};

/* What such a loop depends on, and nothing else; unused bytes are 0: programs are compared as bytes. */
typedef struct wick_native_program {
    uint8_t tier, n_in, n_out, n_instr;
    uint8_t lines, red;              /* WICK_NATIVE_..., the reduction of what has lines */
    /* of inputs: 'A' an element of its own at each place, 'S' a number, 'R' a number of each line, 0: not read */
    uint8_t kind[WICK_FUSED_MAX_IO];
    uint8_t type[WICK_FUSED_MAX_IO]; /* wick_ctype of inputs */
    uint8_t out[WICK_FUSED_MAX_IO];  /* registers */
    wick_fused_instr instr[WICK_FUSED_MAX_OPS];
} wick_native_program;

/* A loop that may come to be: code, or lines and units where the program has lines, are NULL until they are there, and
 * checked. */
typedef struct wick_native {
    _Atomic(wick_native_fn) code;
    _Atomic(wick_native_lines_fn) lines;
    _Atomic(wick_native_units_fn) units;
    wick_native_program program;
} wick_native;

/* The program of a prepared one; false: it is not worth a loop, or can't be one. */
bool wick_native_program_of(const wick_fused *f, wick_native_program *p);
/* The other way, prepared: `rows` rows of n contiguous elements, which are reduced to a result of each row
 * (WICK_NATIVE_ROWS) or column. */
void wick_native_fused(const wick_native_program *p, int64_t rows, int64_t n, wick_fused *f);
/* Why the reduction at the end of a program is the built-in kernel's, whatever becomes of its elements; NULL: it is in
 * the loop, or there is none. */
const char *wick_native_lines_refused(const wick_fused *f);
/* One without a reduction, on `rows` rows of n elements, which begin row_step elements apart in the order that the
 * program walks, the first at `at`. */
void wick_fused_run_rows(const wick_fused *f, const wick_native *native, int64_t at, int64_t rows, int64_t row_step,
                         int64_t n, void *const *ptr, void *scratch);
/* As wick_fused_run, with the loop if it is there; native may be NULL. */
void wick_fused_run_native(const wick_fused *f, const wick_native *native, int stage, int64_t begin, int64_t end,
                           void *const *ptr, void *partials, void *scratch);

#endif
