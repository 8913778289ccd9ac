/* plan.h: a plan on its way to C (plan.c), for what makes its values halves (plan_halves.c). */
#ifndef WICK_AOT_PLAN_H
#define WICK_AOT_PLAN_H

#include "aot/aot.h"
#include "exec/exec.h"
#include "wick/codegen.h"

/* plan and what follows it: of the function that is being made. */
typedef struct wick_c_writing {
    wick_msg *msg;
    wick_arena arena;
    const wick_c_state *named; /* by the caller */
    int n_named;
    wick_c_variable *states;
    const wick_tensor **state_of; /* by state */
    int n_states;
    wick_c_isa isa;
    bool pairs; /* as in wick_c_model */

    const wick_plan *plan;
    const wick_c_entry *entry;
    wick_c_buffer *buffers;
    bool *folded; /* by step: it ran here, or others do what it did */
    wick_step **changed; /* by step: what it is instead, or NULL */
    const wick_step **steps;
    size_t n_steps;
    wick_c_port *ports; /* inputs, then outputs */
    size_t arena_bytes;
    int n_folded;
} wick_c_writing;

wick_status wick_c_no_memory(wick_c_writing *w);
static inline const wick_step *wick_c_step_at(const wick_c_writing *w, size_t i) {
    return w->changed[i] ? w->changed[i] : &w->plan->lowered[i];
}
static inline bool wick_c_is_printed(const wick_step *s) {
    return s->tasks > 0 && !wick_c_step_printer_of(s)->elsewhere;
}

/* What holds halves, or is made of them, is kept as halves; results go where operands end. Plain code alone: variants
 * for a tier have f32 there. */
wick_status wick_c_convert_in_place(wick_c_writing *w);

#endif
