/* op.h: what one op is: its definition is the single place that says how it is checked, differentiated, costed, lowered
 * and tested. Families of definitions are in src/ops. */
#ifndef WICK_TENSOR_OP_H
#define WICK_TENSOR_OP_H

#include "tensor/tensor.h"

typedef struct wick_infer {
    const struct wick_op *op;
    int n_in, n_out;
    const wick_type *const *in;
    const void *attr;
    wick_type *out; /* cleared; device is already that of the inputs */
    char text[512]; /* of the error, without op name and shapes, which the recorder adds */
} wick_infer;
wick_status wick_infer_fail(wick_infer *i, wick_status status, const char *fmt, ...) WICK_PRINTF(3, 4);
/* What every op needs of its inputs, then the op's own rule, then what every op needs of its results. */
wick_status wick_infer_types(wick_infer *i);

/* A gradient rule reads in, out and gout (NULL where no gradient arrives) and sets gin[i] for every i that need[i] asks
 * for (NULL stays: zero), in shapes that may still be broadcast ones: autodiff sums them to the input's. It uses public
 * ops. */
typedef struct wick_gradient {
    const wick_node *node;
    int n_in, n_out;
    wick_tensor **in, **out, **gout, **gin;
    const bool *need;
} wick_gradient;

/* A random valid use of an op, for the driver in tests: dtype, shapes, attributes, and how to fill inputs. */
typedef struct wick_sample {
    uint64_t (*random)(void); /* uniform 64 bits */
    int n_in;
    wick_type in[8];
    double lo[8], hi[8]; /* range of input values; integers are drawn from lo..hi inclusive */
    _Alignas(8) char attr[256];
    size_t attr_size;
    bool differentiable; /* gradient check makes sense for the float inputs */
} wick_sample;

struct wick_lower;

enum {
    WICK_OP_ELEMENTWISE = 1, /* a row of the table, or a cast: may be fused */
    WICK_OP_VIEW = 2,        /* no data moves: has `view` */
    WICK_OP_LEAF = 4,        /* data, slot, constant, input: no inputs */
    WICK_OP_EFFECT = 8,      /* kept even if nothing reads its result */
    WICK_OP_RANDOM = 16,     /* never merged, never folded */
    WICK_OP_FAULTS = 32,     /* can fail at run time */
    WICK_OP_REDUCE = 64,     /* reduces its only input over axes: may end a fused program */
    WICK_OP_POINTERS = 128,  /* attr holds pointers of this process */
    /* gradients flow through it once: without `grad` it is such a gradient, and asking for its own is an error */
    WICK_OP_ONCE = 256,
    /* NaN or Inf in any element may make any other of its row NaN, Inf or not, by the order of sums, which tiers choose
     */
    WICK_OP_SPREADS = 512,
    WICK_OP_MOVES = 1024,  /* only moves elements, whatever they are: takes storage dtypes too, but for packed ones */
    WICK_OP_WHOLE = 2048,  /* with WICK_OP_MOVES: takes tensors whole, packed ones too */
    WICK_OP_VARIES = 4096, /* never merged, as a random one, but has no stream: a custom op */
};

typedef struct wick_op {
    const char *name, *doc;
    /* For people, NULL where there is none: ONNX's operator; PyTorch's function, below torch.; flops as a formula of n,
     * the elements of the (first) result, and m, those of the first input (NULL for an elementwise op: n). */
    const char *onnx, *torch, *cost;
    uint8_t min_in, max_in; /* 255: any number */
    uint8_t n_out;          /* 0: as many as the recorder asks for */
    uint32_t flags;
    uint16_t ew; /* elementwise: wick_ew, or WICK_FUSED_CAST */
    wick_status (*infer)(wick_infer *i);
    void (*grad)(wick_gradient *g); /* NULL: no gradient flows */
    /* Multiply-adds count 2. NULL: one FLOP an element of the result. Bytes moved follow from the lowered kernels. */
    double (*flops)(const wick_node *node);
    /* The layout of the result over the input's memory; false: not without a copy. */
    bool (*view)(const wick_node *node, const wick_layout *in, wick_layout *out);
    wick_status (*lower)(struct wick_lower *lower, wick_node *node);
    void (*print)(wick_str *s, const wick_node *node); /* attributes, "axes=1" */
    void (*sample)(wick_sample *s);
} wick_op;

/* May it be part of a fused program? Those walk memory element by element. */
static inline bool wick_node_fuses(const wick_node *node) {
    bool packed = wick_dtype_is_packed(node->out[0].type.dtype);
    for (int i = 0; i < node->n_in; i++) packed |= wick_dtype_is_packed(node->in[i]->type.dtype);
    return node->op->flags & WICK_OP_ELEMENTWISE && !packed;
}

static inline double wick_node_flops(const wick_node *node) {
    return node->op->flops ? node->op->flops(node) : (double)wick_type_count(&node->out[0].type);
}

/* Records op over the inputs; sets out[0..n_out). Errors poison every out and name op, shapes and the caller's line.
 * attr must have no uninitialised padding. in may hold poisoned tensors. ctx is needed only when there are no inputs.
 */
void wick_record_n(wick_context *ctx, const wick_op *op, int n_in, wick_tensor *const *in, const void *attr,
                   size_t attr_size, int n_out, wick_tensor **out);
wick_tensor *wick_record(wick_context *ctx, const wick_op *op, int n_in, wick_tensor *const *in, const void *attr,
                         size_t attr_size);
/* As wick_record for an op with run-time slots. */
wick_tensor *wick_record_slots(wick_context *ctx, const wick_op *op, const void *attr, size_t attr_size, uint64_t slot0,
                               uint64_t slot1);

/* Leaves, defined here since everything stands on them. */
extern const wick_op wick_op_data;     /* memory bound at run time */
extern const wick_op wick_op_slot;     /* a number bound at run time: bits in slot[0]. attr: wick_type */
extern const wick_op wick_op_constant; /* attr: wick_constant_attr */
extern const wick_op wick_op_input;    /* argument of a compiled function or region. attr: wick_input_attr */
extern const wick_op wick_op_assign;   /* (old state, value) -> new state */

typedef struct wick_constant_attr {
    wick_type type;
    uint64_t bits; /* the number, in the ctype's bits; every element is it */
} wick_constant_attr;
typedef struct wick_input_attr {
    wick_type type;
    int64_t index;
} wick_input_attr;

/* The bits of a number as element of dtype (in memory form: a bf16 is 2 bytes), conversion as wick_cast's. */
uint64_t wick_number_bits(wick_dtype dtype, double value);

#endif
