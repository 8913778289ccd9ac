/* lower.h: from nodes to kernels. Lowering walks a planned graph in order; each op emits steps over numbered buffers.
 * What comes out is complete: which kernel, how many tasks, which bytes, so that memory can be laid out and costs are
 * known before anything runs. */
#ifndef WICK_OPS_LOWER_H
#define WICK_OPS_LOWER_H

#include "kernels/kernels.h"
#include "tensor/op.h"

typedef enum wick_buffer_kind {
    WICK_BUFFER_TEMP,   /* in the workspace's arena */
    WICK_BUFFER_LEAF,   /* bound at run time: data number `index` */
    WICK_BUFFER_OUTPUT, /* bound at run time: result number `index` */
    WICK_BUFFER_SLOT,   /* bound at run time: two words of run-time numbers, of node `index` */
    WICK_BUFFER_CONST   /* `data`, part of the plan */
} wick_buffer_kind;

typedef struct wick_buffer {
    wick_buffer_kind kind;
    uint32_t index;
    const void *data;
    size_t size;
    int32_t first, last; /* steps that use it; first < 0: none */
    size_t offset;       /* TEMP: in the arena */
} wick_buffer;

/* Where a value lies. */
typedef struct wick_operand {
    uint32_t buffer;
    wick_layout layout;
    const wick_type *type;
} wick_operand;

#define WICK_STEP_BUFFERS (2 * WICK_FUSED_MAX_IO + 2)

/* Runs tasks [begin, end). ptr: one pointer per entry of the step's refs. Returns -1, or where it met a fault. */
typedef int64_t (*wick_step_fn)(const void *args, void *const *ptr, int64_t begin, int64_t end, void *scratch);

typedef struct wick_ref {
    uint32_t buffer;
    bool write;
    int64_t offset; /* bytes */
} wick_ref;

/* What a step computes, and its arguments: see steps.h. A new kind is one here, its arguments there, a row in the table
 * of costs (cost.c) and one in that of printers (aot/steps.c). */
typedef enum wick_step_kind {
    WICK_STEP_OTHER,
    WICK_STEP_STAGE, /* of what a later step, its last stage, has in its arguments as a whole */
    WICK_STEP_PACK,  /* lays out an operand for a later step, which names it too */
    WICK_STEP_COPY,
    WICK_STEP_PROGRAM,
    WICK_STEP_PROGRAM_END,
    WICK_STEP_GEMM,
    WICK_STEP_MIRROR,
    WICK_STEP_CONV,
    WICK_STEP_CONV_SUM,
    WICK_STEP_MAX_POOL,
    WICK_STEP_MAX_POOL_PUT,
    WICK_STEP_MEAN_POOL,
    WICK_STEP_MEAN_POOL_SHARE,
    WICK_STEP_SOFTMAX,
    WICK_STEP_LAYER_NORM,
    WICK_STEP_JOIN,
    WICK_STEP_CROSS_ENTROPY,
    WICK_STEP_ONE_HOT,
    WICK_STEP_CHECK,
    WICK_STEP_GATHER,
    WICK_STEP_RESAMPLE,
    WICK_STEP_RECURRENT,
    WICK_STEP_INT8_PACK,
    WICK_STEP_INT8,
    WICK_STEP_INT4,
    WICK_STEP_LINEAR8,
    WICK_STEP_INTEGERS,
    WICK_STEP_ATTENTION,
    WICK_STEP_RANDOM,
    WICK_STEP_DRAW,
    WICK_STEP_ARG,
    WICK_STEP_SCAN,
    WICK_STEP_SORT,
    WICK_STEP_ALONG,
    WICK_STEP_TRIANGLE,
    WICK_STEP_RAVEL,
    WICK_STEP_TREES,
    WICK_STEP_RANGING,
    WICK_STEP_CHANNEL_LOOP, /* of executed steps alone (exec/rewrite) */
    WICK_STEP_KINDS
} wick_step_kind;

/* The number at the position of a fault, and the extent that it must fit. */
typedef int64_t wick_fault_fn(const void *args, void *const *ptr, int64_t at, int64_t *extent);

typedef struct wick_step {
    const char *name;      /* of the kernel */
    wick_step_kind kind;
    const wick_node *node; /* what it came from */
    wick_step_fn run;
    const void *args;
    size_t args_size;
    wick_ref *refs;
    int n_refs;
    int64_t tasks;
    size_t scratch; /* bytes each worker needs */
    double flops, bytes;
    wick_status fault;      /* what a fault position means; 0: it cannot fail */
    const char *fault_text; /* printf format with a %lld for the position, and where there is a fault_at two more, for
                               the number there and the extent that it must fit */
    wick_fault_fn *fault_at;
    size_t live;            /* bytes of intermediates in use while it runs */
    bool commits;           /* writes state: runs only when nothing can fail any more */
    bool tap;               /* calls the host: on the calling thread */
    /* where the first word of its first buffer is not 0 then, so many steps on (back: below 0); 0: the next one */
    int32_t jump;
    double repeat;          /* times that it runs, at most; 0: once */
    bool rides;             /* an earlier step does it, piece by piece (exec/rewrite); never so as lowered */
    bool converts;          /* it lays an image out anew, by planes or by pixels, and does nothing else */
    /* lays out an operand: where that depends on constants and states alone, the result is worth keeping between runs
     */
    bool packs;
    bool kept;              /* so it runs again only when a state that it depends on has changed (exec/build.c) */
} wick_step;

/* A result of the graph: where it goes. */
typedef struct wick_result {
    wick_value *value;
    int32_t leaf; /* >= 0: it becomes the new data of this leaf, in place. Otherwise an OUTPUT buffer. */
} wick_result;

/* A program as it was before it was prepared, and the first of its one or two steps: for what rewrites steps. */
typedef struct wick_lowered_program {
    size_t step;
    const wick_fused *fused;
} wick_lowered_program;

typedef struct wick_lower {
    wick_context *ctx;
    wick_planning *planning;
    wick_graph *graph;
    wick_arena *arena; /* of the plan */
    wick_arena *temp;  /* until it is made */
    wick_msg *msg;
    wick_buffer *buffers;
    size_t n_buffers, cap_buffers;
    wick_step *steps;
    size_t n_steps, cap_steps;
    wick_value *const *leaves; /* by number of leaf, as they are while this is planned; NULL: not told */
    wick_operand *operands; /* by value id */
    /* by value id: position of the last node that reads it, through views too; UINT32_MAX: to the end */
    uint32_t *last_use;
    uint32_t *root;         /* by value id: the value whose memory a chain of views shows */
    int32_t *result;        /* by value id: first result it is, or -1 */
    wick_result *results;
    int n_results;
    const wick_node *node; /* being lowered */
    const void *programs[64]; /* some of the steps' programs, by a hash: equal ones are one */
    wick_lowered_program *lowered; /* all of them, in order, in temp */
    size_t n_lowered, cap_lowered;
    bool keeps;      /* what packing steps make of what stays the same is kept between runs: a compiled function */
} wick_lower;

/* Tells who asked for it (on_remark) which kernel the node got, and why it is none of the others. */
void wick_lower_remark(const wick_lower *l, const wick_node *node, const char *kernel, int n,
                       const wick_rejected *others);
wick_status wick_lower_fail(wick_lower *l, wick_status status, const char *fmt, ...) WICK_PRINTF(3, 4);
wick_operand wick_lower_in(wick_lower *l, const wick_node *node, int i);
/* The same value, row-major or channels last, copied if it is not. */
wick_status wick_lower_in_contiguous(wick_lower *l, const wick_node *node, int i, wick_operand *out);
wick_status wick_lower_in_channels_last(wick_lower *l, const wick_node *node, int i, wick_operand *out);
/* Memory for result i: row-major, in the place the plan wants it; or channels last. Images in a plan have their
 * channels last from the first convolution on: ops that care for the order of memory keep that of their inputs. */
wick_status wick_lower_out(wick_lower *l, const wick_node *node, int i, wick_operand *out);
wick_status wick_lower_out_channels_last(wick_lower *l, const wick_node *node, int i, wick_operand *out);
/* Channels last, in a way that row-major isn't. */
bool wick_lower_is_channels_last(const wick_operand *at);
/* Is it data that the plan keeps what it packs of: a constant, or a state that it doesn't assign; or a view of such,
 * or bytes of such that have fewer bits? */
bool wick_lower_is_kept(const wick_lower *l, const wick_value *v);
/* Bits of the integers that v's were, before views and casts of fewer than 8 bits to bytes. */
int wick_lower_bits(const wick_value *v);
/* Of a product g, to be prepared, whose B is v: is v the same in each run, and has it so many zeros that the product
 * should be sparse (wick_sparse_choose)? k_axis, n_axis: dims of v. Weights are looked at where they are constants, or
 * states that this plan doesn't assign and nobody writes just now; so are those that v has by scaling such. Returns why
 * it stays dense, or NULL. */
const char *wick_lower_sparse(wick_lower *l, const wick_value *v, int k_axis, int n_axis, int64_t block, wick_gemm *g);
/* The numbers of v at plan time, if the plan keeps what it packs of them and no other thread is writing them; NULL:
 * they are not known. `at` says where v is. They may differ when the plan runs. No thread can write them until
 * wick_lower_looked(*state). */
const void *wick_lower_look(const wick_lower *l, const wick_value *v, const wick_operand *at, wick_tensor **state);
void wick_lower_looked(wick_tensor *state);
wick_status wick_lower_temp(wick_lower *l, size_t bytes, uint32_t *buffer);
/* Makes result i an alias of what lies there. */
void wick_lower_set(wick_lower *l, const wick_node *node, int i, wick_operand at);
/* Copies args and refs. Adds a step for node l->node; bytes are those of args' own counting. */
wick_status wick_lower_step(wick_lower *l, const wick_step *step, const void *args, size_t args_size,
                            const wick_ref *refs, int n_refs);
/* Of the program whose first step comes next. */
wick_status wick_lower_note_program(wick_lower *l, const wick_fused *fused);
/* An operand's pointer: at its element of index 0. */
wick_ref wick_lower_ref(const wick_operand *at, bool write);
/* Emits a strided, converting copy between operands of the same dims. */
wick_status wick_lower_copy(wick_lower *l, const wick_operand *from, const wick_operand *to);

/* One program for a body of elementwise nodes in order, optionally ending in a reduction. params[i] is what the body
 * calls node's input i; results[i] is the body's value for node's result i. For a lone elementwise node the body is
 * itself. */
wick_status wick_lower_program(wick_lower *l, wick_node *node, wick_node *const *body, size_t n_body,
                               wick_value *const *params, wick_value *const *results);
wick_status wick_lower_elementwise(wick_lower *l, wick_node *node);
wick_status wick_lower_reduce(wick_lower *l, wick_node *node); /* WICK_OP_REDUCE ops */

/* Attributes of every op that reduces over axes. */
typedef struct wick_reduce_attr {
    uint32_t axes; /* bit i: axis i is reduced */
    uint32_t keepdims;
    uint32_t red;  /* wick_red */
    uint32_t mean; /* multiply by 1 / count */
} wick_reduce_attr;

#endif
