/* wick/dynamic.h: one function for many shapes. Extents of its inputs are named dims with ranges ("batch in 1..256"); a
 * plan is made for each list of extents that runs ask for, and kept in a cache of bounded size, which threads share.
 * Weights as kernels read them, and the memory that a runner runs in, are there once for all plans. Whether the memory
 * of all of them is bounded, and by what, can be known before the first run; shapes within the graph can be had as
 * expressions of the dims. */
#ifndef WICK_DYNAMIC_H
#define WICK_DYNAMIC_H

#include "wick/plan.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The most dims that have names. */
#define WICK_MAX_NAMED_DIMS 8

/* Extents from min to max, both included, that are multiples of `multiple` (0: of 1). 0 <= min <= max. */
typedef struct wick_dim {
    const char *name;
    int64_t min, max, multiple;
} wick_dim;

/* An input. Each extent is a text: a number "3", a dim "batch", or an expression of dims, "2*seq + 1", of + - * ( ),
 * and / by a number, rounded down. Each dim has to be an extent by itself somewhere: there its value is read. */
typedef struct wick_dynamic_input {
    const char *name;
    wick_dtype dtype;
    int rank;
    const char *dims[WICK_MAX_DIMS];
} wick_dynamic_input;

typedef struct wick_dynamic_options {
    wick_compile_options compile;
    /* called before each recording, outside of it, with fn's user; may be NULL */
    wick_status (*prepare)(void *user, const wick_spec *in);
    int plans;           /* the most that are kept: 64 */
    /* what is kept without being in use, plans with their workspaces, may take: 256 MiB. What runners hold comes on top
     */
    size_t cache_bytes;
    /* a plan whose arena_bytes and scratch_bytes are more together is refused, WICK_ERR_NOMEM, before anything runs; 0:
     * none is */
    size_t memory_limit;
} wick_dynamic_options;

typedef struct wick_dynamic wick_dynamic; /* shared by threads */
typedef struct wick_runner wick_runner;   /* of one thread */

/* fn is recorded for a list of extents when a plan for it is made. Names and texts are copied. The context, and what fn
 * uses, must outlive it; while runners are in use they belong to it: threads that have none must leave them alone.
 * options may be NULL. On failure *out is NULL and the context has the error. */
WICK_API WICK_MUST_CHECK wick_status wick_dynamic_new(wick_context *ctx, wick_function fn, void *user, int n_dims,
                                                      const wick_dim *dims, int n_in, const wick_dynamic_input *in,
                                                      int n_out, const wick_dynamic_options *options,
                                                      wick_dynamic **out);
/* Runners of it must be freed before. Null-safe, nulls. */
WICK_API void wick_dynamic_free(wick_dynamic **dynamic);

typedef struct wick_dynamic_info {
    int dims, inputs, outputs;
    int plans;           /* in the cache */
    /* what they take, without what runners hold; weights that plans share count with the first that had them */
    size_t cached_bytes;
    size_t packed_bytes; /* weights as kernels read them, of all plans that there are */
    uint64_t hits, misses, evicted; /* of bindings that changed a runner's extents; plans that went to make room */
} wick_dynamic_info;
WICK_API wick_dynamic_info wick_dynamic_get_info(const wick_dynamic *dynamic);
/* Dim i, 0 <= i < dims; cleared outside. The name lives as long as the object. */
WICK_API wick_dim wick_dynamic_dim(const wick_dynamic *dynamic, int i);

/* ---- running: a thread's own ------------------------------------------------------------------------------------- */

WICK_API WICK_MUST_CHECK wick_status wick_runner_new(wick_dynamic *dynamic, wick_runner **out);
/* What it held goes back to the cache. Null-safe, nulls. */
WICK_API void wick_runner_free(wick_runner **runner);
/* Makes it ready for inputs like these: one spec for each, whose names do not matter. The first time for their extents
 * a plan is made; later, or in another thread, it is found. WICK_ERR_SHAPE names the input, the dim, its range and the
 * value ("input images: dim 0 (batch) is 300, the range is 1..256"); WICK_ERR_NOMEM: also beyond memory_limit, or what
 * wick_dynamic_prove found. A failure leaves it unbound. */
WICK_API WICK_MUST_CHECK wick_status wick_runner_bind(wick_runner *runner, const wick_spec *in);
/* The same for the values of the dims, in their order. */
WICK_API WICK_MUST_CHECK wick_status wick_runner_bind_dims(wick_runner *runner, const int64_t *extents);
/* The plan it is bound to, which stays valid until it is bound to another or freed; NULL: none. wick_plan_output has
 * the shapes of the results. */
WICK_API const wick_plan *wick_runner_plan(const wick_runner *runner);
/* Input i as it is bound; of rank -1: to nothing, or there is none. */
WICK_API wick_spec wick_runner_input(const wick_runner *runner, int i);
/* Runs that plan, as wick_run; in any number of threads at once, each with its runner. */
WICK_API WICK_MUST_CHECK wick_status wick_runner_run(wick_runner *runner, const void *const *in, void *const *out);
/* Of the last call that failed; "" before. */
WICK_API const char *wick_runner_error(const wick_runner *runner);
/* As wick_workspace_offset, whatever plans it was bound to: a runner draws as one workspace would. */
WICK_API uint64_t wick_runner_offset(const wick_runner *runner);
WICK_API void wick_runner_set_offset(wick_runner *runner, uint64_t offset);

/* ---- before the first run ---------------------------------------------------------------------------------------- */

/* The memory of a run, over the range. */
typedef struct wick_dynamic_bound {
    /* arena_bytes + scratch_bytes of the largest plan; weights as kernels read them, which plans share, are none of it
     */
    size_t bytes;
    int64_t at[WICK_MAX_NAMED_DIMS]; /* the extents that it is for, by dim */
    /* lists of extents that the range has (INT64_MAX: as many or more), and for how many of them plans were made */
    int64_t points, planned;
    bool proven;                      /* for all: no run takes more */
} wick_dynamic_bound;
/* Makes plans, and runs none, to find the largest: for every list of extents of the range, if there are no more than
 * most_plans; then the bound is proven. Otherwise for its corners and for others drawn at random: then runs that would
 * take more than `bytes` are refused from now on, before they begin, so that the bound is kept, but may cost runs. A
 * function that can't be planned somewhere is an error that tells where. No runner may be in use meanwhile. */
WICK_API WICK_MUST_CHECK wick_status wick_dynamic_prove(wick_dynamic *dynamic, int64_t most_plans,
                                                        wick_dynamic_bound *out);

/* ---- shapes as expressions --------------------------------------------------------------------------------------- */

/* The shape of an op's result, as the function records it, before any pass. */
typedef struct wick_shape_row {
    const char *op, *place; /* place: "file:line" that recorded it, or NULL */
    int result;             /* which of the op's results */
    wick_dtype dtype;
    int rank;
    /* "[batch, 64, floor((height + 1) / 2)]"; "?" is an extent that follows the dims in no simple way: the op needs
     * concrete ones */
    const char *text;
    bool known;       /* no extent is "?" */
} wick_shape_row;

typedef struct wick_shapes wick_shapes;
/* Records the function for some lists of extents (no plan is made) and finds what its shapes have in common: sums,
 * products and quotients of the dims and of the extents that each op reads. Where two expressions agree on all lists so
 * far, and differ elsewhere in the range, the function is recorded there too. They are checked by further lists, drawn
 * at random: what they hold for is what was recorded, as a function in C may do anything elsewhere. Lists for which it
 * records other ops are left out, and wick_shapes_exception tells of them. No runner may be in use meanwhile. */
WICK_API WICK_MUST_CHECK wick_status wick_dynamic_find_shapes(wick_dynamic *dynamic, wick_shapes **out);
WICK_API void wick_shapes_free(wick_shapes **shapes); /* before the dynamic function. Null-safe, nulls */
WICK_API int wick_shapes_count(const wick_shapes *shapes); /* rows; weights have none */
/* in the order of recording; cleared outside */
WICK_API wick_shape_row wick_shapes_at(const wick_shapes *shapes, int i);
/* its row; -1: none, as of a weight that is a result */
WICK_API int wick_shapes_output(const wick_shapes *shapes, int output);
/* Lists of extents that the function was recorded for, and of these, those for which it recorded other ops than for the
 * rest. */
WICK_API int wick_shapes_recordings(const wick_shapes *shapes);
WICK_API int wick_shapes_exceptions(const wick_shapes *shapes);
/* The first of them: "batch=1: reshape at net.c:12, elsewhere expand at net.c:14"; "": there is none. */
WICK_API const char *wick_shapes_exception(const wick_shapes *shapes);
/* Evaluates the expressions of all rows: specs[i] becomes the shape of row i for these values of the dims, with extents
 * of -1 where they are not known. Nothing is recorded: a graph of 1,000 nodes takes microseconds. May be called from
 * any thread. WICK_ERR_SHAPE: outside of the ranges, or too large. */
WICK_API WICK_MUST_CHECK wick_status wick_shapes_eval(const wick_shapes *shapes, const int64_t *extents,
                                                      wick_spec *specs);

#ifdef __cplusplus
}
#endif
#endif
