/* wick/plan.h: compiled functions. A plan lists kernels in order with their buffers: peak memory, FLOPs and bytes moved
 * are known before it runs, and running it calls no malloc. A plan is immutable and may be run by many threads at once,
 * each in a workspace of its own. */
#ifndef WICK_PLAN_H
#define WICK_PLAN_H

#include "wick/ops.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct wick_plan wick_plan;
typedef struct wick_workspace wick_workspace;
typedef struct wick_shared_arena wick_shared_arena;

/* What an input of a compiled function looks like. dims[i] > 0 (or 0 for an empty tensor). */
typedef struct wick_spec {
    const char *name;
    wick_dtype dtype;
    int rank;
    int64_t dims[WICK_MAX_DIMS];
} wick_spec;

/* Bytes of a contiguous buffer for it; 0 where its rank is negative, and SIZE_MAX where there are too many. */
WICK_API size_t wick_spec_bytes(const wick_spec *spec);

/* Records the function's body: reads in[], sets every out[]. Assignments it records become effects of the plan, not of
 * the context. Tensors made outside that it uses are captured by reference: a run sees their current value. */
typedef wick_status (*wick_function)(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user);

/* Records fn as a segment: what it makes is not kept for gradients but made again from in[] when they are computed, as
 * by PyTorch's torch.utils.checkpoint.checkpoint. Kept are the inputs, the results, and results of reductions that are
 * much smaller than what they reduce. Random numbers are drawn again, the same ones; states that fn assigns are
 * assigned once. Results and gradients have the bits that they have without. What of fn nobody needs for a gradient is
 * not made again. Segments may be nested. The price is known before it is paid: recomputed_flops of wick_plan_info. The
 * status is fn's. In a compiled function or outside of one. */
WICK_API WICK_MUST_CHECK wick_status wick_recompute(wick_context *ctx, wick_function fn, void *user, int n_in,
                                                    wick_tensor *const *in, int n_out, wick_tensor **out);

/* Mixed precision (Micikevicius et al. 2018) of the f32 parts of a function, gradients included. Matrix products,
 * convolutions and attention take operands and give results rounded to bf16 or f16, with sums in f32; all else,
 * parameters too, stays f32 (`wick graph --after precision` shows which). What gradients need of narrowed values is
 * kept narrow. f16 overflows above 65504 and wants wick_optim_options.loss_scale. Bits: as for a graph with these casts
 * written out, the same for any number of threads. */
typedef enum wick_precision { WICK_PRECISION_F32, WICK_PRECISION_BF16, WICK_PRECISION_F16 } wick_precision;

typedef struct wick_compile_options {
    bool no_passes;    /* one kernel per op, in recorded order */
    bool check_finite; /* with no_passes: fail at the first op that makes NaN or Inf from finite inputs, and name it */
    const char *without; /* passes to leave out, by name with commas between: "fuse,epilogue" (wick_pass_at lists them);
                            NULL: none. Of merge, fuse and ride also a decision alone, by the number that its remark
                            tells: "fuse:3,ride:1" */
    /* Called with the graph as text, one node a line with the place that recorded it: as recorded (pass is ""), after
     * each pass that ran, and after "regions", the passes over bodies of loops and branches, if there are any. The text
     * is valid during the call. NULL: not called. */
    void (*on_pass)(void *user, const char *pass, const char *graph);
    /* Called with what passes and the choice of kernels decided, and why: of the node `node` ("add f32[8,16]"),
     * recorded at place (NULL: unknown). The texts are valid during the call. NULL: not called. Neither call may use
     * the context. */
    void (*on_remark)(void *user, const char *pass, const char *node, const char *place, const char *text);
    void *user;
    /* Bytes of intermediates (arena_bytes of wick_plan_info) that the plan may take; 0: as many as it takes. Where it
     * would take more, values that gradients need are made again instead of kept: those of least arithmetic for their
     * bytes first, one by one, until it fits. Same bits. Where that finds no way, WICK_ERR_NOMEM tells the least it
     * found. Compiling makes up to two dozen plans for it. */
    size_t memory_budget;
    wick_precision precision;
    /* with a precision: ops that stay in f32, by name with commas between: "attention,conv" (matmul, conv, conv_data,
     * conv_weight, attention); their gradients do, too. NULL: none */
    const char *wide;
} wick_compile_options;

/* options may be NULL. On failure *out is NULL and the context has the error. */
WICK_API WICK_MUST_CHECK wick_status wick_compile(wick_context *ctx, wick_function fn, void *user, int n_in,
                                                  const wick_spec *in, int n_out, const wick_compile_options *options,
                                                  wick_plan **out);
/* Workspaces of it must be freed before. Null-safe, nulls. */
WICK_API void wick_plan_free(wick_plan **plan);

typedef struct wick_plan_info {
    int inputs, outputs, kernels, states; /* states: captured tensors, read or assigned */
    int assigns, buffers;
    size_t arena_bytes; /* of one workspace: intermediates, and weights as kernels read them */
    /* of these, what is packed once and kept between runs; plans of a dynamic function share it (wick/dynamic.h), and
     * have it beside their arenas */
    size_t packed_bytes;
    size_t live_bytes;  /* the largest sum of intermediates alive at once: no plan of this order needs less */
    size_t scratch_bytes; /* per-thread scratch of one workspace, all threads together */
    double flops, bytes;  /* of one run: arithmetic, and memory read and written by kernels */
    /* of the caller's buffers, and of captured tensors: states, and others in memory */
    size_t input_bytes, output_bytes, state_bytes;
    /* ops that make values again for gradients, instead of keeping them (wick_recompute, memory_budget) ... */
    int recomputed;
    double recomputed_flops;   /* ... and how much of flops they are */
    /* of quantised networks: products with integers, or with weights that stay integers; quantise and dequantise nodes
     * that are arithmetic in floats, weights apart; and how many of the former are dequantised again and feed nothing
     * else: pairs that only round */
    int integer_products, float_quantise, float_dequantise, orphan_pairs;
    /* kernels that only lay an image out anew, by planes (row-major) or by pixels (channels last), in each run */
    int conversions;
    double conversion_bytes; /* that these read and write */
    /* of a run, the first one apart: by a model whose numbers `wick tune` measures (wick/tuning.h); of loops at most */
    double predicted_seconds;
} wick_plan_info;
WICK_API wick_plan_info wick_plan_get_info(const wick_plan *plan);
/* What a wick_plan_max_batch found. */
typedef struct wick_batch_fit {
    int64_t batch;     /* the largest that fits; one more does not */
    size_t bytes;      /* that it takes */
    size_t next_bytes; /* that one more would take; 0: memory_budget can't be kept with it */
} wick_batch_fit;
/* The largest batch with which a run of fn takes no more than `bytes`: plans are made for some batches, by wick_compile
 * with these options, and not run. Each is counted exactly, as arena_bytes + scratch_bytes (of all threads) +
 * input_bytes + output_bytes + state_bytes. Extents of WICK_BATCH in the specs stand for the batch; there must be one.
 * WICK_ERR_NOMEM: one sample takes more; the context's error says how much. options->on_pass and on_remark are not
 * called. */
#define WICK_BATCH (-1)
WICK_API WICK_MUST_CHECK wick_status wick_plan_max_batch(wick_context *ctx, wick_function fn, void *user, int n_in,
                                                         const wick_spec *in, int n_out,
                                                         const wick_compile_options *options, size_t bytes,
                                                         wick_batch_fit *fit);
/* Shape and dtype of output i, as a spec (name NULL). */
WICK_API wick_spec wick_plan_output(const wick_plan *plan, int i);

/* A kernel of a plan. name and place live as long as the plan. */
typedef struct wick_plan_kernel {
    const char *name;  /* of the kernel, as in wick_plan_format */
    const char *place; /* "file:line" that recorded the op; NULL: unknown */
    wick_spec result;  /* shape and dtype of the op's first result */
    double flops, bytes; /* of one run: arithmetic, and memory read and written */
    size_t live_bytes; /* intermediates in use while it runs */
    /* of one run, by the model; 0: it has run before (weights as kernels read them), or runs within another kernel */
    double predicted_seconds;
    /* what it computes, or helps to: "matmul"; of fused ops each once, "sub mul relu", cut off by "..." */
    char ops[96];
} wick_plan_kernel;
/* Kernel i in the order they run, 0 <= i < kernels; cleared outside. */
WICK_API wick_plan_kernel wick_plan_kernel_at(const wick_plan *plan, int i);

/* A buffer of a plan. An intermediate, t<number> in wick_plan_format, has bytes of the arena from its first kernel to
 * its last; others may have them at other times. */
typedef struct wick_plan_buffer {
    int first, last;      /* kernels */
    size_t offset, bytes; /* in the arena: whole cache lines. bytes 0: no intermediate, or one that no kernel uses */
    wick_spec value; /* dtype and shape of what it holds first; u8[bytes] of scratch: packed operands, partial sums,
                        values in another order. Elements of this size, in whole cache lines, are `bytes` */
} wick_plan_buffer;
/* Buffer i, 0 <= i < buffers; cleared outside. */
WICK_API wick_plan_buffer wick_plan_buffer_at(const wick_plan *plan, int i);

/* The plan as text, one kernel a line; works like snprintf. */
WICK_API size_t wick_plan_format(const wick_plan *plan, char *buffer, size_t size);

/* ---- running ----------------------------------------------------------------------------------------------------- */

WICK_API WICK_MUST_CHECK wick_status wick_workspace_new(wick_plan *plan, wick_workspace **out);
WICK_API void wick_workspace_free(wick_workspace **workspace);
/* Memory that workspaces of one context take turns in, such as those of a step of training and of an evaluation: as
 * much as the largest of them needs. What a workspace keeps between its own runs is made again after another's run. */
WICK_API WICK_MUST_CHECK wick_status wick_shared_arena_new(wick_context *ctx, wick_shared_arena **out);
/* The memory goes with the last of its workspaces. */
WICK_API void wick_shared_arena_free(wick_shared_arena **arena);
/* As it is now; for the thread that makes its workspaces. */
WICK_API size_t wick_shared_arena_bytes(const wick_shared_arena *arena);
/* wick_workspace_new for a plan of the arena's context. Of its workspaces one runs or is made at a time: meanwhile a
 * run of another, and making one, are WICK_ERR_BUSY. Where there is no memory for a larger arena it stays what it was;
 * if even that can't be had again, runs in it are WICK_ERR_NOMEM until one more workspace is made. */
WICK_API WICK_MUST_CHECK wick_status wick_workspace_new_in(wick_shared_arena *arena, wick_plan *plan,
                                                           wick_workspace **out);
/* in: n_in pointers to contiguous row-major data of the specs. out: n_out buffers to write; entries may be NULL.
 * Buffers are used in place, without a copy; an output must not overlap an input. A plan that assigns takes its states
 * exclusively: the call answers WICK_ERR_BUSY while another run uses one. A failed run commits no assignment. */
WICK_API WICK_MUST_CHECK wick_status wick_run(wick_workspace *workspace, const void *const *in, void *const *out);
WICK_API const char *wick_workspace_error(const wick_workspace *workspace);
/* Memory for inputs and outputs, from the context's allocator as that of tensors: at whole cache lines, large blocks in
 * huge pages where the system has them. NULL: out of memory. To be freed before the context. bytes: those it was made
 * with. */
WICK_API void *wick_buffer_new(wick_context *ctx, size_t bytes);
WICK_API void wick_buffer_free(wick_context *ctx, void *buffer, size_t bytes);
/* From any thread: the run in progress (or the next one) stops with WICK_ERR_CANCELLED. */
WICK_API void wick_workspace_cancel(wick_workspace *workspace);
/* The next runs each stop with WICK_ERR_DEADLINE after that many nanoseconds; 0: no limit. Checked between kernels. */
WICK_API void wick_workspace_deadline(wick_workspace *workspace, uint64_t nanoseconds);
/* Random nodes draw from (stream fixed at compile, offset). The offset starts at 0 and grows by one with every
 * successful run; set it to resume or to replay. */
WICK_API uint64_t wick_workspace_offset(const wick_workspace *workspace);
WICK_API void wick_workspace_set_offset(wick_workspace *workspace, uint64_t offset);
/* Called during runs, on the thread that runs, once for each output, as soon as no step behind touches it. So it may be
 * used, in the memory that wick_run was given for it, while the rest is computed; a run that fails calls it for those
 * that were done. fn may not use the workspace. NULL: no more. */
typedef void (*wick_output_fn)(void *user, int output);
WICK_API void wick_workspace_on_output(wick_workspace *workspace, wick_output_fn fn, void *user);
/* The output that is done as number i of all, from 0, or -1 past the last; and when, in ns after the begin of a run, by
 * the model of the machine (wick_plan_info.predicted_seconds). predicted_ns may be NULL. */
WICK_API int wick_plan_done_output(const wick_plan *plan, int i, double *predicted_ns);
/* Time and calls of every kernel, cleared by enabling: "ns calls name" lines. Works like snprintf. */
WICK_API void wick_workspace_profile(wick_workspace *workspace, bool enable);
WICK_API size_t wick_workspace_profile_format(const wick_workspace *workspace, char *buffer, size_t size);

/* The same of kernel i, for programs: nanoseconds of all its runs, and *runs (may be NULL) of them; 0 outside. */
WICK_API uint64_t wick_workspace_kernel_ns(const wick_workspace *workspace, int i, uint64_t *runs);

#ifdef __cplusplus
}
#endif
#endif
