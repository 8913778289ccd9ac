/* wick/codegen.h: plans as C that needs no library: for microcontrollers, and for programs that want a model as a
 * source file. */
#ifndef WICK_CODEGEN_H
#define WICK_CODEGEN_H

#include "wick/plan.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A state that stays between calls: what a plan assigns. */
typedef struct wick_c_state {
    const char *name; /* any text; it is in the table of states */
    const wick_tensor *tensor;
    bool param; /* the network's; those come first. Otherwise the optimizer's */
} wick_c_state;

typedef struct wick_c_options {
    /* prefix of what the header declares, and the files' names: NAME.c, NAME.h, NAME.bin; an identifier. NULL: "model"
     */
    const char *name;
    const char *title; /* what the plan is of, for a comment; NULL: the name */
    /* their names; what is no letter, digit or _ becomes _. NULL: in0, in1, ..., out0, ... */
    const char *const *inputs, *const *outputs;
    bool weights_apart; /* in NAME.bin, which the function is given, instead of as arrays */
    /* that plans may assign: these become arrays in RAM, which start with the values of now. Those that no plan assigns
     * stay constants */
    const wick_c_state *states;
    int n_states;
    const wick_tensor *rate; /* one of them, 0-d f64, that a function NAME_set_rate writes; NULL: none */
    /* "avx2", "avx512": vector types of gcc and clang, tiles and sums of that tier, which plans must have been compiled
     * for (WICK_ISA); "cortex-m": plain C11 whose products and convolutions of 8-bit integers go by pairs of 16 bits
     * (SMLAD, where the compiler has it) and become bytes by integers alone; NULL: plain C11, for any machine */
    const char *isa;
    /* sums that loops carry at once, 1 to 64; 0: 8. More suit CPUs with vectors, fewer those with few registers; the
     * bits are the same */
    int lanes;
} wick_c_options;

typedef struct wick_c_info {
    int kernels, folded;     /* functions that run; kernels whose results were computed here instead */
    size_t const_bytes;      /* of weights and other constants */
    size_t arena_bytes;      /* of RAM: the static arena */
    size_t state_bytes;      /* of RAM: states */
    size_t source_bytes;     /* of NAME.c */
} wick_c_info;

/* Writes the plan as C11 to folder/NAME.c and NAME.h (and NAME.bin), each replaced atomically; the folder is made if it
 * is not there. Weights are those of now: states become constants, but for those that it assigns, which options->states
 * names: a training step (docs/codegen.md). The code includes math.h, stdint.h and string.h, allocates nothing and
 * keeps its intermediates in one static array. It gives the bits of the base tier (WICK_ISA=base when the plan is
 * compiled), but for denormals, which runs of plans flush and the code leaves to its caller. WICK_ERR_UNSUPPORTED, with
 * the op and its place, and nothing written: a kernel has no printer, the plan assigns states that have no name, or its
 * weights lie strided. options and info may be NULL. On failure the plan's context has the error. */
WICK_API WICK_MUST_CHECK wick_status wick_plan_write_c(const wick_plan *plan, const char *folder,
                                                       const wick_c_options *options, wick_c_info *info);

/* Several plans of one context as one file, which share constants, states and the arena: NAME_VERB each. Such as a
 * training step and the network that it trains. */
typedef struct wick_c_entry {
    const wick_plan *plan;
    const char *verb;                           /* an identifier: "run", "train" */
    const char *const *inputs, *const *outputs; /* as in wick_c_options, whose own are not looked at */
} wick_c_entry;
WICK_API WICK_MUST_CHECK wick_status wick_plans_write_c(int n, const wick_c_entry *entries, const char *folder,
                                                        const wick_c_options *options, wick_c_info *info);

#ifdef __cplusplus
}
#endif
#endif
