/* tensor.h: layer 2. What a tensor is, from the bytes up:
 *
 *   storage   counted bytes: owned, wrapped user memory, or a mapped file
 *   array     a storage seen through a layout (offset and strides): a value in memory
 *   node      a recorded op; its results are values. A value is pending until it has an array
 *   tensor    the public handle: names a value, or holds the error that poisoned it
 *
 * Nodes come in two kinds that share the structure. Recorded nodes are counted and belong to the context's slab: they
 * die when no handle, no pending effect and no other node needs them. Nodes of a wick_graph belong to its arena
 * and die with it; passes work on those only. */
#ifndef WICK_TENSOR_INTERNAL_H
#define WICK_TENSOR_INTERNAL_H

#define WICK_NO_SITES
#include <stdatomic.h>

#include "base/trace.h"
#include "runtime/pool.h"
#include "runtime/recycle.h"
#include "runtime/slab.h"
#include "runtime/tags.h"
#include "runtime/topology.h"
#include "wick/plan.h"

typedef struct wick_storage wick_storage;
typedef struct wick_array wick_array;
typedef struct wick_value wick_value;
typedef struct wick_node wick_node;
typedef struct wick_graph wick_graph;
typedef struct wick_planning wick_planning;
typedef struct wick_error wick_error;
struct wick_op;

/* ---- shape and dtype --------------------------------------------------------------------------------------------- */

/* A dim below zero is symbolic: -(1 + s) is symbol s of the graph. */
#define WICK_SYMBOL(s) (-(int64_t)(s)-1)
#define WICK_IS_SYMBOL(dim) ((dim) < 0)
#define WICK_SYMBOL_OF(dim) ((int)(-(dim)-1))

typedef struct wick_type {
    int64_t dims[WICK_MAX_DIMS]; /* unused ones are 0 */
    uint8_t dtype, rank;
    uint16_t device; /* 0: the CPU */
    uint32_t zero;   /* types are parts of plan keys, which are compared as bytes: no padding */
} wick_type;

typedef struct wick_layout { /* of a packed dtype: contiguous, offset 0 */
    int64_t offset;          /* in elements, as the strides */
    int64_t strides[WICK_MAX_DIMS];
} wick_layout;

/* Fills type; false when rank or the byte size is out of range. Dims may be symbols. */
bool wick_type_set(wick_type *type, wick_dtype dtype, int rank, const int64_t *dims);
/* As wick_type_set, but a dim below zero is false too: for what users give. */
bool wick_type_make(wick_type *type, wick_dtype dtype, int rank, const int64_t *dims);
/* Whether the size in bytes can be counted, extents of 0 taken as 1; symbolic extents have no say. */
bool wick_type_fits(const wick_type *type);
int64_t wick_type_count(const wick_type *type); /* elements; static shapes only */
static inline size_t wick_type_bytes(const wick_type *type) {
    return wick_dtype_bytes((wick_dtype)type->dtype, wick_type_count(type));
}
bool wick_type_equal(const wick_type *a, const wick_type *b);
bool wick_same_dims(const wick_type *a, const wick_type *b);
bool wick_type_is_static(const wick_type *type);
bool wick_dtype_is_float(int dtype);
bool wick_dtype_is_integer(int dtype);
/* For storage only: nothing computes in it, it is not promoted, and f8 is no float here. */
bool wick_dtype_is_stored(int dtype);
/* The range of an integer dtype that kernels don't compute in; false for the others. */
bool wick_narrow_range(wick_dtype dtype, int64_t *least, int64_t *most);
/* The dtype that both convert to, or WICK_DTYPE_COUNT. */
wick_dtype wick_dtype_promote(wick_dtype a, wick_dtype b);
/* "f32[2,3]" into a string; symbols print as "s0". */
void wick_type_print(wick_str *s, const wick_type *type);

void wick_layout_contiguous(wick_layout *layout, const wick_type *type);
/* Row-major without holes (dims of 1 and empty tensors have no say), whatever the offset. */
bool wick_layout_is_contiguous(const wick_layout *layout, const wick_type *type);
/* Of [N, C, dims]: the channels last in memory, neighbours for each pixel. The same as contiguous for fewer than three
 * dims. */
void wick_layout_channels_last(wick_layout *layout, const wick_type *type);
/* Whether both show the same elements (dims of 1 have no say), whatever the offset. */
bool wick_layout_equal(const wick_layout *a, const wick_layout *b, const wick_type *type);

/* ---- storage and arrays ------------------------------------------------------------------------------------------ */

struct wick_storage {
    atomic_int refs;
    bool owned; /* ours to write; otherwise wrapped or mapped: read-only */
    void *data;
    size_t size;
    wick_allocator alloc;
    void (*release)(void *user);
    void *user;
    wick_map map;
    atomic_size_t *held; /* counter of the context's bytes, or NULL */
    /* another number for other contents, in the whole process; 0: the caller's memory, which may change at any time */
    uint64_t version;
};
uint64_t wick_version_next(void);

struct wick_array {
    atomic_int refs;
    wick_storage *storage;
    wick_layout layout;
    wick_allocator alloc;
};

/* New owned storage of `size` bytes, not cleared, 64-byte aligned. */
wick_storage *wick_storage_new(wick_context *ctx, size_t size);
void wick_storage_unref(wick_storage *storage);
/* Takes over one reference to storage, also on failure. */
wick_array *wick_array_new(wick_context *ctx, wick_storage *storage, const wick_layout *layout);
wick_array *wick_array_contiguous(wick_context *ctx, const wick_type *type); /* with storage of its own */
static inline wick_array *wick_array_ref(wick_array *array) {
    atomic_fetch_add_explicit(&array->refs, 1, memory_order_relaxed);
    return array;
}
void wick_array_unref(wick_array *array); /* null-safe */
static inline char *wick_array_data(const wick_array *array, const wick_type *type) {
    return (char *)array->storage->data + array->layout.offset * (int64_t)wick_dtype_size((wick_dtype)type->dtype);
}
/* Nobody else can see these bytes, and they are ours to write. */
static inline bool wick_array_is_unique(wick_array *array) {
    return array->storage->owned && atomic_load(&array->refs) == 1 && atomic_load(&array->storage->refs) == 1;
}

/* ---- values and nodes -------------------------------------------------------------------------------------------- */

struct wick_value {
    wick_node *node;
    wick_array *array;   /* recorded: the data, or NULL while pending */
    wick_value *forward; /* in a graph: what replaces this value (passes); NULL: itself */
    wick_tensor *grad;   /* in a graph: its gradient, while autodiff runs */
    uint32_t index;      /* which result of node */
    uint32_t id;         /* number within the last walk */
    uint32_t handles;    /* recorded: handles that name it */
    uint32_t readers;    /* recorded: pending nodes that read it */
    uint32_t mark;       /* number of the last walk that came by */
    uint32_t stored;     /* recorded: number of the last walk that was to put it into memory */
    wick_type type;
};

enum {
    WICK_NODE_IN_GRAPH = 1,  /* belongs to a wick_graph's arena */
    WICK_NODE_EVALUATED = 2, /* recorded: ran; it keeps its inputs only as history, until it leaves its scope */
    WICK_NODE_AWAITED = 4,   /* while a walk looks who needs old versions: may run again later */
    WICK_NODE_BACKWARD = 8,  /* in a graph: computes gradients, or something for them */
    WICK_NODE_RIDES = 32,    /* in a graph: is to run on parts of the product before it as they are made */
    WICK_NODE_RECOMPUTED = 16,    /* in a graph: makes again what the forward pass made and didn't keep */
};

struct wick_node {
    const struct wick_op *op;
    const char *site; /* "file:line" of the caller, or NULL */
    wick_value **in;
    void *attr; /* op's own parameters: part of the plan key, no pointers unless the op says so */
    wick_graph **regions;
    wick_tensor *cell; /* leaf: the handle whose state this is (not counted; NULL when it died) */
    wick_node *next;   /* work lists */
    uint64_t slot[2];  /* run-time numbers: not part of the plan key */
    uint32_t refs;     /* recorded */
    uint32_t mark;     /* number of the last walk that came by */
    uint32_t attr_size, size;
    uint32_t segment;  /* what wick_recompute recorded it in; 0: none */
    /* in a graph: index in nodes; recorded: how many were before; evaluated: the context's count of those then */
    uint32_t position;
    uint16_t n_in, n_out, n_regions;
    uint8_t flags;
    uint8_t phase; /* in a graph: 1 commits state, after everything that can fail */
    wick_value out[];
};

/* ---- handles ----------------------------------------------------------------------------------------------------- */

struct wick_error {
    uint32_t refs;
    wick_status status;
    size_t size;
    char text[];
};

struct wick_tensor {
    wick_context *ctx;
    wick_value *value; /* NULL when poisoned */
    wick_error *error;
    wick_scope *scope; /* NULL when only retained */
    wick_tensor *prev, *next;
    uint32_t refs;
    atomic_int lock; /* as a plan's state: n runs read it, or -1: one writes it */
};

/* States that a run or a planner reads (shared), or a run assigns (alone). false: in use. */
bool wick_state_lock(wick_tensor *state, bool alone);
void wick_state_unlock(wick_tensor *state, bool alone);

struct wick_scope {
    wick_context *ctx;
    wick_scope *parent;
    wick_tensor *first;
};

/* An effect that waits for the next eval, or that a function being compiled will have. */
typedef struct wick_effect {
    wick_node *node;    /* counted */
    wick_tensor *state; /* counted; the assigned handle, NULL for taps and checks */
    wick_tensor *view;  /* counted; the handle of a view that was assigned through, or NULL */
    wick_value *shown;  /* what view named before; its node is counted */
} wick_effect;

/* What is being recorded: the context's own expressions, or the body of a function for wick_compile. */
typedef struct wick_frame {
    struct wick_frame *parent;
    wick_effect *effects;
    size_t n_effects, cap_effects;
    bool trace;
    uint64_t next_stream; /* trace: random nodes are numbered from 0 */
} wick_frame;

/* Memory that is counted, and given up to a limit: user of the context's allocator where options.max_memory is set. */
typedef struct wick_budget {
    wick_allocator alloc; /* where it comes from */
    size_t max;
    atomic_size_t used;
} wick_budget;

/* The passes whose decisions have numbers, so that each can be left out, and its gain measured. */
typedef enum wick_chooser { WICK_CHOOSES_MERGE, WICK_CHOOSES_FUSE, WICK_CHOOSES_RIDE, WICK_CHOOSERS } wick_chooser;

struct wick_context {
    wick_allocator alloc;
    wick_allocator own;     /* where the context itself is from */
    wick_numa_policy *numa; /* what own gives is asked through it; NULL: there is no policy */
    struct wick_mempool *memory_pool; /* NULL: there is none */
    char note[256];         /* wick_context_placement_note */
    wick_budget budget;
    wick_recycle recycle; /* user of alloc where there is no budget and the host gives no memory */
    wick_context_options options;
    wick_tuning tuning; /* every field set */
    wick_pool *pool;
    wick_msg msg;
    wick_slab slab;
    wick_scope *scope;
    wick_frame *frame, root_frame;
    wick_graph *target; /* graph that ops write to; NULL: record */
    uint64_t seed;
    uint32_t walk; /* number of the last walk */
    uint32_t evaluated; /* recorded nodes evaluated so far; it may wrap */
    size_t pending;
    size_t result_max; /* bytes of any one result that is recorded; 0: no limit. For who records what a file asks for */
    wick_watch watch;  /* recording, planning and runs end when it is over */
    atomic_size_t tensor_bytes;
    /* of wick_recompute: that being recorded, or 0, and how many there were since the last evaluation */
    uint32_t segment, segments;
    uint64_t nodes_recorded, plans_built, plan_hits, evals;
    uint64_t recorded_at_eval; /* nodes_recorded at the last evaluation */
    char numerics[128];
    wick_tensor nomem; /* what ops return when not even a handle can be had */
    wick_error *nomem_error;
    struct wick_walk *reached; /* lists that walks reuse */
    struct wick_custom_op *customs; /* registered ops, newest first (ops/custom.c) */
    /* set by layer 5 */
    struct wick_cache *cache;
    wick_status (*eval_pending)(wick_context *);
    bool evaluating;
    struct {
        wick_arena arena;
        const char **table; /* open addressing: a power of two of slots, at most half used */
        size_t n, slots;
    } texts; /* of wick_intern */
    wick_trace_hook trace; /* set by layer 6: where what is done is recorded */
    struct wick_memory_uses *uses; /* of exec/memory_use.c; NULL: memory is not tracked */
    struct wick_jit *jit; /* compiles fused programs (ops/lowering/native.h); NULL: off */
};

/* What is asked of a plan that is being made, for passes and lowering. All zero, or NULL: nothing. */
struct wick_planning {
    const wick_compile_options *options; /* who wants to know what happens; what is left out. NULL: nobody, nothing */
    wick_dtype precision;    /* that products narrow f32 to (the precision pass): WICK_BF16, WICK_F16; 0: none */
    uint32_t precision_wide; /* bits of rows of that pass whose ops stay f32 (wick_precision_wide) */
    size_t live_target;      /* bytes of intermediates that the checkpoint pass aims at; 0: it keeps to marks */
    uint32_t decisions[WICK_CHOOSERS]; /* so far */
};
static inline size_t wick_live_target(const wick_planning *planning) { return planning ? planning->live_target : 0; }

/* Begins work that ends at `deadline`, with what is around it at the latest (0: only then), or when the host cancels;
 * what it returns wick_context_unwatch takes. */
wick_watch wick_context_watch(wick_context *ctx, uint64_t deadline);
static inline void wick_context_unwatch(wick_context *ctx, const wick_watch *was) { ctx->watch = *was; }
/* So much more work: WICK_OK, or why it ends, with a text in msg. */
wick_status wick_context_spend(wick_context *ctx, size_t units, wick_msg *msg);
/* Says what a pass, or the choice of a kernel ("lower"), decided about a node, to who asked for it (on_remark of
 * wick_compile_options). */
void wick_remark(const wick_planning *planning, const char *pass, const wick_node *node, const char *fmt, ...)
    WICK_PRINTF(4, 5);
/* The name up to a comma, of a list of what to leave out: is it that of one decision, "fuse:3"? */
bool wick_names_decision(const char *name, wick_chooser *pass, uint32_t *number);
/* A pass is about to do something that it decided: counted from 1 as *number, which its remark tells ("taken as
 * fuse:3"). true: it was told to leave that one out. */
bool wick_left_out(wick_planning *planning, wick_chooser pass, uint32_t *number);
/* Is each decision that was to be left out among those that were taken? */
wick_status wick_check_left_out(const wick_planning *planning, wick_msg *msg);
/* where saying it takes work */
static inline bool wick_remarks(const wick_planning *planning) {
    return planning && planning->options && planning->options->on_remark;
}

/* A handle in the innermost scope naming value (a reference to whose node is taken over), or the poison of running out
 * of memory. */
wick_tensor *wick_tensor_new(wick_context *ctx, wick_value *value);
wick_tensor *wick_poison_like(wick_context *ctx, wick_error *error); /* shares the error */
/* The first poisoned one of ts, or NULL. NULL entries count as out of memory when ctx is known through another. */
const char *wick_site(void); /* of the caller, or NULL */
/* The same text for as long as the context lives, once for all who ask for it; NULL: out of memory. */
const char *wick_intern(wick_context *ctx, const char *text);
/* site with what is made there behind it, "FILE:LINE conv1", while a function is compiled; else, or where memory runs
 * out, site. */
const char *wick_site_of(wick_context *ctx, const char *site, const char *what);
wick_status wick_fail_poison(wick_context *ctx, const wick_tensor *x); /* puts x's error into the context */

/* Instead of a segment: a cast to f32 of what mixed precision narrowed. */
#define WICK_SEGMENT_WIDENED UINT32_MAX
/* What is recorded from here on is a segment of its own, until the one around it (returned) goes on. */
static inline uint32_t wick_segment_enter(wick_context *ctx) {
    const uint32_t outer = ctx->segment;
    ctx->segment = ++ctx->segments;
    return outer;
}
static inline void wick_segment_leave(wick_context *ctx, uint32_t outer) { ctx->segment = outer; }

/* A data leaf that takes over a reference to array, as a handle in the innermost scope. */
wick_tensor *wick_leaf(wick_context *ctx, const wick_type *type, wick_array *array);
void wick_context_release_all(wick_context *ctx); /* scopes, effects, nodes; layer 5 calls it last */

/* ---- nodes: making, counting ------------------------------------------------------------------------------------- */

/* Attributes are copied. The node has one reference (recorded) or none (graph); inputs are linked and counted. NULL:
 * out of memory. */
wick_node *wick_node_new(wick_context *ctx, const struct wick_op *op, int n_in, wick_value *const *in, int n_out,
                         const wick_type *types, const void *attr, size_t attr_size);
static inline void wick_node_ref(wick_node *node) {
    if (!(node->flags & WICK_NODE_IN_GRAPH)) node->refs++;
}
void wick_node_unref(wick_context *ctx, wick_node *node);
/* All results are in memory: readers of the inputs are gone. History is kept until wick_node_forget. */
void wick_node_evaluated(wick_context *ctx, wick_node *node);
void wick_node_forget(wick_context *ctx, wick_node *node);
/* state: the assigned handle, or NULL. view: the handle it was assigned through, or NULL. */
wick_status wick_effect_push(wick_context *ctx, wick_node *node, wick_tensor *state, wick_tensor *view);
void wick_frame_clear(wick_context *ctx, wick_frame *frame);
/* Makes the handle name another value; takes over a reference to its node. */
void wick_tensor_set_value(wick_tensor *t, wick_value *value);

/* ---- graphs ------------------------------------------------------------------------------------------------------ */

typedef struct wick_symbol {
    const char *name;
    int64_t min, max;
} wick_symbol;

/* A graph of its own: nodes in topological order, in an arena. As a region: inputs are its parameters. */
struct wick_graph {
    wick_context *ctx;
    wick_planning *planning; /* of the plan that it becomes; NULL: of none */
    wick_arena *arena;
    wick_node **nodes;
    size_t n, cap;
    wick_value **inputs, **outputs;
    int32_t *output_leaf; /* >= 0: the output becomes that leaf's data, in place; NULL: none does */
    int n_inputs, n_outputs;
    wick_symbol *symbols;
    int n_symbols;
    uint32_t recomputed;     /* nodes that make values again for gradients (the checkpoint pass), ... */
    double recomputed_flops; /* ... and their arithmetic */
    struct wick_graph_quantised { /* of nodes as the pass expand_quantize found them */
        uint32_t products;             /* of 8-bit integers, or of such weights */
        uint32_t quantise, dequantise; /* what it wrote out: of values that change from run to run */
        uint32_t orphans;              /* of these quantise nodes: only dequantised again */
    } quantised;
    bool failed; /* an append ran out of memory */
    bool compiled;       /* of a compiled function: states that it doesn't assign stay as they are from run to run */
    bool differentiated; /* gradients were taken in it */
};
bool wick_graph_push(wick_graph *graph, wick_node *node);
/* A new symbolic dim, or 0 when out of memory. */
int64_t wick_graph_symbol(wick_graph *graph, const char *name, int64_t min, int64_t max);

#endif
