/* aot.h: plans as C11 that stands alone: one source file, one header, and weights as arrays or as a file of their own.
 * One function for each kernel, plain loops with the extents in them, in the order in which the base tier sums, so that
 * the bits are that tier's. Steps (ops/lowering/steps.h) are what it knows; plans
 * are in plan.c. */
#ifndef WICK_AOT_AOT_H
#define WICK_AOT_AOT_H

#include "codegen/text.h"
#include "ops/lowering/steps.h"

typedef enum wick_c_place {
    WICK_C_NOWHERE,
    WICK_C_ARENA,
    WICK_C_INPUT,
    WICK_C_OUTPUT,
    WICK_C_DATA,
    WICK_C_STATE
} wick_c_place;
typedef struct wick_c_buffer {
    wick_c_place place;
    uint32_t index;   /* INPUT, OUTPUT: of the port; STATE: of the state */
    size_t size, offset; /* ARENA: where it lies */
    /* DATA: what is in it, known when the code is made; NOWHERE, of random numbers: u64, their stream */
    const void *data;
    wick_dtype halves; /* bf16 or f16: convolutions and pooling read or write f32 there, which they convert; else f32 */
} wick_c_buffer;

typedef struct wick_c_port {
    const char *name; /* an identifier */
    wick_type type;
} wick_c_port;

/* What stays between calls, and which a function assigns: an array in RAM. */
typedef struct wick_c_variable {
    const char *name; /* any text */
    wick_type type;
    const void *data; /* at first */
} wick_c_variable;

/* A plan: NAME_VERB(inputs, outputs). */
typedef struct wick_c_function {
    const char *verb; /* an identifier */
    const wick_step *const *steps; /* those that run, in order */
    size_t n_steps;
    const wick_c_buffer *buffers; /* by number */
    const wick_c_port *in, *out;
    int n_in, n_out;
    /* number of the state that its random numbers come from, u64 [2]: a seed, and how often it ran; or -1 */
    int random;
} wick_c_function;

typedef enum wick_c_isa { WICK_C_PLAIN, WICK_C_AVX2, WICK_C_AVX512 } wick_c_isa;

typedef struct wick_c_model {
    const char *name;  /* an identifier: the prefix of all that the header declares, and the files' names */
    const char *title; /* what it was made of, for a comment */
    const wick_c_function *functions;
    int n_functions;
    const wick_c_variable *states;
    int n_states, n_params; /* the first of them are the network's, the others the optimizer's */
    int rate;               /* number of the 0-d f64 state that NAME_set_rate writes, or -1 */
    size_t arena_bytes;     /* of the function that takes most */
    int lanes;          /* results that a loop sums at once */
    bool weights_apart; /* in a file */
    wick_c_isa isa;     /* vector types, and sums in the order of that tier, whose plans they are */
    bool pairs;         /* for Cortex-M: bytes by pairs of 16 bits, whose sums become bytes by integers alone */
    bool fused;         /* multiply-adds are one rounding unless the C is compiled otherwise */
} wick_c_model;

typedef struct wick_c_text {
    wick_text source, header, weights; /* weights: bytes, if apart */
    size_t const_bytes;                /* of weights and other constants, apart or not */
} wick_c_text;

/* How steps of a kind are printed (steps.c): what lays out memory and what prints code look here. */
struct wick_c_printer;
typedef struct wick_c_step_printer {
    wick_status (*print)(struct wick_c_printer *p, const wick_step *s); /* NULL: they can't be */
    bool elsewhere; /* nothing is printed for them: a later step of the same op does what they do */
    bool packs;     /* nothing is printed for them unless they need scratch; they are not computed beforehand */
    /* Is the ref for the kernel alone: packed operands, partial sums? NULL: none is. Printed code has `scratch` bytes
     * of the arena there, for the step alone; NULL or 0: nothing. */
    bool (*shares)(const wick_step *s, int ref);
    size_t (*scratch)(const wick_step *s, const wick_c_buffer *buffers, wick_c_isa isa);
    /* The ref that a step before it packs, unless that one has nothing to do. NULL: none. */
    int (*packed)(const wick_step *s);
    /* Bytes of the arena besides its operands: it is printed with a ref of them behind its own. NULL: none. pairs: as
     * in wick_c_model. */
    size_t (*own_scratch)(const wick_step *s, const wick_c_buffer *buffers, bool pairs);
} wick_c_step_printer;
const wick_c_step_printer *wick_c_step_printer_of(const wick_step *step);
size_t wick_c_scratch(const wick_step *step, const wick_c_buffer *buffers, wick_c_isa isa); /* of the refs it shares */
/* Is there code of the step, among those that are printed? */
bool wick_c_prints(const wick_step *step, const wick_c_buffer *buffers, wick_c_isa isa);
bool wick_c_converts(const wick_step *step); /* whether it is a convolution whose image and result may be such halves */
/* WICK_ERR_UNSUPPORTED with the op and its place where a step has no printer, or its dtypes have none. */
wick_status wick_c_print(const wick_c_model *model, wick_c_text *out, wick_msg *msg);
void wick_c_text_free(wick_c_text *text);

#endif
