/* rewrite.h: the stage between lowering and execution. It puts steps together for the CPU: what one makes, another
 * takes while it is in cache. Bits are the same. Steps as lowered stay as they are, for printers of code, which never
 * see this stage: it changes copies of steps and of their arguments. */
#ifndef WICK_EXEC_REWRITE_REWRITE_H
#define WICK_EXEC_REWRITE_REWRITE_H

#include "ops/lowering/steps.h"

struct wick_channel_loop;

/* The stage at work. */
typedef struct wick_rewriting {
    wick_lower *l;      /* its steps are those of this stage; buffers live longer where steps move */
    bool copies;        /* steps as lowered are wanted as well */
    wick_step *plain;   /* they, once there is a copy */
    bool channel_loops; /* not where each op is a kernel of its own */
    struct wick_channel_loop *channel_loop; /* that the next program may be a part of, if its step is this one: */
    size_t channel_loop_next;
} wick_rewriting;

/* The stage as a whole. channel_loops: programs may run channel by channel. plain, unless NULL, gets the steps as
 * lowered, as many. */
wick_status wick_rewrite_steps(wick_lower *l, bool channel_loops, const wick_step **plain);

/* ---- rewriters: each is given a program, and takes it if it can; remarks say what became of it ------------------- */

/* An elementwise program runs within the product or convolution before it (epilogue.c). */
wick_status wick_rewrite_epilogue(wick_rewriting *r, const wick_lowered_program *p);
/* A reduction runs within the gather before it (gather_reduce.c). */
wick_status wick_rewrite_gather_reduce(wick_rewriting *r, const wick_lowered_program *p);
/* A program becomes one more part of the loop over channels before it, or begins one (channel_loop.c). */
wick_status wick_rewrite_channel_loop(wick_rewriting *r, const wick_lowered_program *p);

/* Step i, to be changed. NULL: out of memory. */
wick_step *wick_rewriting_step(wick_rewriting *r, size_t i);
/* Its arguments, to be changed, and its refs with those of another step behind. false: out of memory. */
void *wick_rewriting_args(wick_rewriting *r, wick_step *s);
bool wick_rewriting_join_refs(wick_rewriting *r, wick_step *s, const wick_step *other);
/* Buffers are used from step `from` on. */
void wick_rewriting_lives(wick_rewriting *r, size_t from, const wick_ref *refs, int n_refs);
wick_status wick_rewriting_no_memory(wick_rewriting *r);

#endif
