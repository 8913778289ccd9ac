/* exec.h: layer 5. Plans, and what runs them. */
#ifndef WICK_EXEC_EXEC_H
#define WICK_EXEC_EXEC_H

#include <pthread.h>

#include "graph/graph.h"

/* A leaf of a plan, as bound by a workspace. */
typedef struct wick_binding {
    int32_t input;       /* >= 0: argument of the compiled function */
    wick_tensor *state;  /* captured: its current value is bound at each run (counted) */
    wick_array *array;   /* captured: this very memory (counted) */
    bool assigned;
    wick_type type;
} wick_binding;

/* What kept steps make for several plans (packed_weights.c). Locks: of the list, and of those who make one. */
typedef struct wick_packed_weights {
    const wick_allocator *alloc;
    pthread_mutex_t list, making;
    struct wick_pack *first;
    size_t bytes; /* that there are */
} wick_packed_weights;
/* One of them, as a plan sees it. */
typedef struct wick_packing {
    struct wick_pack *pack;
    /* that make it, in order; that lie in it, at their offsets; that it depends on */
    uint32_t *steps, *buffers, *leaves;
    uint32_t n_steps, n_buffers, n_leaves;
    size_t bytes;
} wick_packing;

/* An output, and the step behind which nothing of a run touches it. */
typedef struct wick_output_done {
    uint32_t step;
    int output;
} wick_output_done;

struct wick_plan {
    wick_context *ctx;
    wick_allocator alloc;
    wick_arena arena; /* everything below lives in it */
    wick_graph *graph;
    wick_buffer *buffers;
    size_t n_buffers;
    wick_step *steps;
    const wick_step *lowered; /* of compiled functions: the same before they were rewritten, for printers of code */
    size_t n_lowered;
    /* by buffer: the one that holds the same, where kept steps became one; NULL: none did */
    const uint32_t *same_as;
    size_t n_steps;
    wick_operand *operands; /* by value id */
    /* by buffer: the type of the first value that fills it; others may take its place, and views show it. NULL: none */
    const wick_type **shown;
    wick_result *results;
    int n_results;
    size_t n_leaves, n_slots;
    /* compiled functions: run-time numbers as recorded; the second word of random ones is the offset */
    uint64_t (*slots)[2];
    bool *slot_is_random;
    size_t arena_bytes, live_bytes, scratch; /* scratch: of one worker */
    double flops, bytes, recomputed_flops;
    uint32_t recomputed;
    struct wick_graph_quantised quantised;
    double *predicted_ns, predicted; /* by the model (kernels/cost.h): of each run of a step, of a run of the plan */
    bool check_finite;
    bool *parallel; /* by step: worth other threads */
    bool *keeps; /* by leaf: kept steps depend on it. NULL: there are none */

    /* of compiled functions */
    int n_in, n_out;
    wick_binding *bindings; /* by leaf */
    wick_spec *out_specs;
    wick_output_done *done; /* [n_out], by step */
    atomic_int workspaces;
    _Atomic uint64_t traced_by; /* the recorder that has numbers for the steps ... */
    uint32_t traced_rows;       /* ... from this one on */

    /* in the plan cache */
    char *key;
    size_t n_key;
    uint64_t hash;
    struct wick_plan *next, *newer, *older;
    struct wick_memory *memory; /* kept for the next run */
    size_t kept_bytes; /* what kept steps made, and the others read: of the arena, unless there are packs */
    wick_packed_weights *packs; /* NULL: what kept steps make lies in the arena */
    wick_packing *packings;
    uint32_t n_packings;
};

/* What one run needs besides the plan: kept between runs. */
typedef struct wick_memory {
    bool lent; /* arena and scratch are somebody else's */
    char *arena, *scratch;
    size_t arena_bytes, scratch_bytes;
    char **base; /* by buffer */
    uint64_t *step_ns, *step_calls;
    uint64_t *versions; /* by leaf: of what the kept steps were run for */
    bool *done;         /* by step: a kept one, and it ran for these */
} wick_memory;

/* A run. leaves, outputs, slots: pointers by number; NULL outputs are an error of the caller. */
typedef struct wick_execution {
    const wick_plan *plan;
    const wick_walk *walk; /* what this run was recorded as, for errors; NULL: what the plan was made from */
    wick_memory *memory;
    wick_pool *pool;
    void *const *leaves;
    const uint64_t *versions; /* of leaves, for plans with kept steps */
    void *const *outputs;
    uint64_t (*slots)[2];
    wick_msg *msg;
    bool profile;
    wick_output_fn on_output; /* NULL: nobody waits for single outputs */
    void *on_output_user;
    struct watched_run *watched; /* of execute.c */
    atomic_bool *cancel;
    uint64_t deadline; /* in wick_now_ns time; 0: none */
} wick_execution;
wick_status wick_execute(wick_execution *e);
/* plan->done, of a plan whose n_out is known (outputs.c). */
wick_status wick_plan_note_outputs(wick_plan *plan);

wick_memory *wick_memory_new(const wick_plan *plan, int threads);
/* The same without arena and scratch, which are given to it: wick_memory_room bytes, aligned; as often as they change.
 */
wick_memory *wick_memory_bare(const wick_plan *plan, int threads);
size_t wick_memory_room(const wick_plan *plan, int threads);
size_t wick_memory_bytes(const wick_plan *plan); /* of a bare one */
void wick_memory_place(const wick_plan *plan, wick_memory *memory, char *room);
void wick_memory_forget(const wick_plan *plan, wick_memory *memory); /* what kept steps made is lost */
void wick_memory_free(const wick_plan *plan, wick_memory **memory);

/* What a function records, without a plan: for those who read graphs. The graph, in `arena`, is as recorded: no pass
 * ran. */
typedef struct wick_recorded_leaf {
    wick_array *array;  /* counted; NULL: an input */
    wick_tensor *state; /* the handle whose value it is, counted, or NULL */
} wick_recorded_leaf;
typedef struct wick_recording {
    wick_arena *arena;
    wick_graph *graph;
    wick_recorded_leaf *leaves; /* by slot[0] of data and input nodes */
    size_t n_leaves;
    uint64_t *slots; /* bits of run-time numbers, by slot[0] of their nodes */
    bool assigns;    /* it would assign states, too */
} wick_recording;
wick_status wick_recording_make(wick_context *ctx, wick_function fn, void *user, int n_in, const wick_spec *in,
                                int n_out, wick_arena *arena, wick_recording *out);
void wick_recording_drop(wick_recording *recording); /* what it counted; the arena is the caller's */

/* A plan for what was walked. leaf_layouts: by leaf. planning: what is asked of it; gets the decisions that were taken.
 * packs: where what it keeps between runs goes; NULL: to its arena. The context has the error. */
wick_status wick_plan_build(wick_context *ctx, const wick_walk *w, size_t n, const wick_wanted *wanted,
                            const wick_layout *leaf_layouts, const wick_pass_choice *passes, wick_planning *planning,
                            wick_packed_weights *packs, wick_plan **out);
void wick_plan_release(wick_plan *plan);
/* wick_compile for a function that has other plans, which share packs. */
wick_status wick_compile_among(wick_context *ctx, wick_function fn, void *user, int n_in, const wick_spec *in,
                               int n_out, const wick_compile_options *options, wick_packed_weights *packs,
                               wick_plan **out);

void wick_packed_weights_init(wick_packed_weights *packs, const wick_allocator *alloc);
void wick_packed_weights_free(wick_packed_weights *packs); /* plans are gone */
size_t wick_packed_weights_bytes(wick_packed_weights *packs);
/* Are the step's arguments all that it goes by, without pointers to what is the plan's? */
bool wick_step_says_all(const wick_step *s);
/* Finds those of a plan: of what kept steps write, the buffers that are to stay leave the arena. */
wick_status wick_packed_weights_find(wick_plan *plan, wick_lower *l, const bool *stays);
/* Joins the plans that want the same, once its leaves are bound. WICK_ERR_NOMEM, without a text. */
wick_status wick_packed_weights_join(wick_plan *plan);
void wick_packed_weights_leave(wick_plan *plan);
size_t wick_packed_weights_own(const wick_plan *plan); /* bytes of those that no other plan has, now */
/* Where their buffers lie; memory for them is there from now on. false: out of memory. */
bool wick_packed_weights_place(const wick_plan *plan, char **base);
/* Makes those that are not as the leaves' versions want them. *locked: they can't be kept, and this run alone may use
 * them until wick_packed_weights_done, also after an error. */
wick_status wick_packed_weights_make(wick_execution *e, wick_status (*run)(wick_execution *e, size_t step),
                                     bool *locked);
void wick_packed_weights_done(const wick_plan *plan);

/* A workspace whose memory is lent to it: so much, aligned, before it first runs and whenever it changes. Results that
 * a caller doesn't want go there too. */
wick_status wick_workspace_bare(wick_plan *plan, wick_workspace **out);
size_t wick_workspace_room(const wick_plan *plan);
void wick_workspace_place(wick_workspace *ws, char *room);
size_t wick_workspace_bytes(const wick_plan *plan); /* without */

/* Makes state's memory its own: contiguous, owned, unshared and read by nobody who expects the old value. */
wick_status wick_state_own(wick_tensor *state, wick_msg *msg);

/* Puts a tracker between the context and its allocator, before anything is allocated by it. */
typedef struct wick_memory_uses wick_memory_uses;
wick_status wick_memory_uses_new(wick_context *ctx);
/* NULL: memory is not tracked */
wick_tracker *wick_memory_tracker(const wick_context *ctx);
void wick_memory_uses_free(wick_memory_uses *uses); /* null-safe */

/* Makes ctx->alloc the pool's, if there is to be one. */
wick_status wick_place_pool(wick_context *ctx, const struct wick_memory_pool_options *options);
/* As wick_placement says; what is refused goes to ctx->note. Memory: before anything is allocated by ctx->alloc.
 * Threads: makes the pool. */
wick_status wick_place_memory(wick_context *ctx, const wick_placement *placement);
wick_status wick_place_threads(wick_context *ctx, const wick_placement *placement, int threads);

void wick_cache_free(wick_context *ctx);
/* Puts the states of a frame's effects back to the versions before it. */
void wick_frame_revert(wick_context *ctx, wick_frame *frame);

/* What the context does by itself after too many recorded nodes. */
wick_status wick_eval_pending(wick_context *ctx);

#endif
