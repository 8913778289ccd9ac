/* onnx.h: an ONNX model, resolved and ready to be recorded.
 *
 *   file -> messages (proto.c, schema.c) -> blocks (resolve.c): names become slots, node types become rows of the op
 *   tables
 *        -> tensors (run.c): each block's steps, called in order, record Wick's public ops
 *
 * A row of an op table is a name, the opsets it holds for, and a small function over `call`. What a row needs to know
 * on the host (shapes, axes, repeats) it asks for with wick_onnx_host: that is known at once for constants; what
 * depends on inputs is evaluated, and such a model can't be compiled. */
#ifndef WICK_IO_ONNX_ONNX_H
#define WICK_IO_ONNX_ONNX_H

#include "io/onnx/schema.h"
#include "tensor/tensor.h"
#include "wick/onnx.h"

/* ---- values ------------------------------------------------------------------------------------------------------ */

/* wick_onnx_value (wick/onnx.h) is what users see; inside a run it also says whether it depends on the run's inputs. */
typedef struct onnx_value {
    wick_onnx_value v;
    bool dynamic;
} onnx_value;

/* ---- resolved ---------------------------------------------------------------------------------------------------- */

typedef struct onnx_call onnx_call;
typedef struct onnx_op {
    const char *name;
    int since, until; /* opsets of its domain, both included; until 0: the newest */
    void (*fn)(onnx_call *c);
    union {
        wick_tensor *(*unary)(wick_tensor *);
        wick_tensor *(*binary)(wick_tensor *, wick_tensor *);
    } arg;
} onnx_op;

typedef struct onnx_family { /* a table of ops of one domain */
    const char *domain;
    const onnx_op *ops;
    size_t n;
} onnx_family;
extern const onnx_family wick_onnx_math, wick_onnx_shape, wick_onnx_nn, wick_onnx_reduce, wick_onnx_quant,
    wick_onnx_host_values, wick_onnx_control, wick_onnx_signal, wick_onnx_loss, wick_onnx_attention, wick_onnx_image,
    wick_onnx_ml, wick_onnx_trees, wick_onnx_classifiers, wick_onnx_contrib, wick_onnx_contrib_quant,
    wick_onnx_contrib_attention, wick_onnx_older, wick_onnx_looked_up, wick_onnx_training, wick_onnx_preview,
    wick_onnx_recurrent;

/* Where a value is: `up` blocks outward, slot `slot` there. slot -1: not there. */
typedef struct onnx_ref {
    int32_t up, slot;
} onnx_ref;

typedef struct onnx_block onnx_block;
enum { ONNX_KEPT = 5 };
typedef struct onnx_step {
    const onnx_node *node;
    const onnx_op *op;          /* or */
    const onnx_block *function; /* or neither: unsupported */
    const onnx_function *decl;  /* of function */
    onnx_ref *in;
    int32_t *out; /* -1: not wanted */
    int n_in, n_out, opset;
    /* of graph attributes, by the attribute's place among the node's; NULL where it is no graph */
    const onnx_block **bodies;
    onnx_value constant;       /* of a Constant: read once; kind NONE: it is none */
    const char *state;         /* its name in the model; NULL: it has none there */
    const char *types;         /* what dtypes its inputs may have (types.c); NULL: its row sees to that */
    bool checked;              /* its attributes, which never change */
    const char *place;         /* for messages and profiles: "model.onnx: Conv \"conv1\"" */
    wick_tensor *kept[ONNX_KEPT]; /* what its row made of attributes, once; or NULL */
} onnx_step;

struct onnx_block {
    const onnx_block *parent;
    const onnx_graph *graph; /* NULL: a function's */
    onnx_step *steps;
    size_t n;
    size_t most_in, most_out; /* of its steps, at least 1 */
    onnx_ref *out;
    int32_t *in; /* slots of inputs */
    int n_in, n_out;
    int32_t n_slots;
    struct onnx_weight {
        int32_t slot;
        const onnx_tensor *tensor; /* or */
        const onnx_sparse *sparse;
        onnx_value value;
        const char *state; /* its name in the model; NULL: it has none there */
    } * weights;
    size_t n_weights;
};

/* A mapped file that tensors hold on to. */
typedef struct wick_onnx_pages {
    wick_map map;
    _Atomic int refs;
    struct wick_onnx_pages *next;
    char name[];
} wick_onnx_pages;
wick_onnx_pages *wick_onnx_pages_new(const wick_map *map, const char *name); /* takes the map; NULL: out of memory */
void wick_onnx_pages_drop(void *pages);

typedef struct onnx_run onnx_run;
typedef struct onnx_host onnx_host;
/* What recording for inputs of these shapes asks for on the host, so that it can be recorded for a plan. */
typedef struct onnx_prepared {
    wick_spec *in; /* of the inputs */
    onnx_host *answers;
    size_t n_answers, cap_answers;
    wick_arena arena; /* of the answers */
    struct onnx_prepared *next;
} onnx_prepared;

struct wick_onnx {
    wick_context *ctx;
    wick_model *model; /* float initializers of the main graph by their names */
    wick_arena arena;
    wick_onnx_pages *own_pages, *pages; /* the file's, and a list of those with external data */
    const char *path;
    int folder; /* descriptor, for external data; -1: not opened yet */
    onnx_model proto;
    onnx_run *last; /* whose host values users may hold */
    onnx_prepared *prepared; /* the newest first */
    /* the leading extent of inputs in the file, which wick_onnx_rebatch lets be another one; 0: as it is */
    int64_t batch;
    onnx_block *main;
    onnx_block **function_blocks; /* by place among proto.functions */
    wick_onnx_limits limits;
    wick_onnx_port *in_ports, *out_ports, *default_ports;
    int *in_slots, *default_slots; /* the graph's input that port i is */
    int n_in, n_out, n_defaults;
    size_t steps;            /* of all blocks */
    wick_onnx_op *op_counts; /* distinct ops, most frequent first */
    int n_op_counts;
    size_t cap_op_counts;
    wick_onnx_info info;
    const char **meta, **domains; /* keys and values; of opsets */
    const char *unsupported; /* "" or a list of what has no row */
    wick_msg msg;
};

/* ---- running ----------------------------------------------------------------------------------------------------- */

typedef struct onnx_frame {
    const onnx_block *block;
    onnx_value *slots;
    struct onnx_frame *parent;        /* of the enclosing block */
    const struct onnx_call *function; /* the call that this is the body of, or that its block lies in; NULL: none */
} onnx_frame;

/* Contents of a tensor on the host, in both forms. */
struct onnx_host {
    int rank;
    int64_t dims[WICK_MAX_DIMS], n;
    int64_t *ints;
    double *floats;
};

struct onnx_run {
    wick_onnx *onnx;
    wick_context *ctx;
    wick_arena arena; /* of host values */
    enum {
        ONNX_RUN_LAZY,  /* what is asked for is evaluated */
        ONNX_RUN_PROBE, /* the same, but it must not depend on inputs; answers are kept */
        /* inside a compiled function: what is asked for is among the answers of a probe for the same shapes */
        ONNX_RUN_REPLAY
    } mode;
    onnx_host *answers;
    size_t n_answers, cap_answers, next_answer;
    int64_t steps_left;
    size_t recorded; /* bytes of nodes and handles that the context held before */
    int depth;
    int64_t batch;                    /* the leading extent of the inputs */
    wick_spec *seen;                  /* by slot of the main graph: what it was; or NULL */
    const onnx_step *watched;         /* a step of the main graph whose inputs' shapes are kept, or NULL */
    int watched_rank[2];              /* -1: no tensor */
    int64_t watched_dims[2][WICK_MAX_DIMS];
};

struct onnx_call {
    onnx_run *run;
    const onnx_frame *frame;
    const onnx_step *step;
    wick_context *ctx;
    int opset, n_in, n_out;
    const onnx_value **in; /* NULL entries: not there */
    onnx_value *out;
    bool dynamic; /* some input is */
    wick_status status;
    wick_msg *msg;
};

/* A float tensor as integers, truncated and held to their range: by a clip of floats, since ONNX does not say what a
 * Cast makes of what is outside. */
wick_tensor *wick_onnx_to_integer(wick_tensor *x, wick_dtype dtype);

/* Inputs. An absent or missing one: NULL, or kind NONE. A wrong kind fails the call; then NULL. */
bool wick_onnx_has(const onnx_call *c, int i);
const onnx_value *wick_onnx_in(onnx_call *c, int i);  /* present, of any kind; else fails */
wick_tensor *wick_onnx_tensor(onnx_call *c, int i);   /* present and a tensor; else fails */
wick_tensor *wick_onnx_optional(onnx_call *c, int i); /* NULL where absent */

/* Contents of a tensor on the host; false: the call failed. */
bool wick_onnx_host(onnx_call *c, int i, onnx_host *out);
bool wick_onnx_host_of(onnx_call *c, wick_tensor *t, bool dynamic, onnx_host *out);

/* Input i; where it is one number that is known while recording, as a constant, which passes can read. Fails as
 * wick_onnx_tensor. */
wick_tensor *wick_onnx_number(onnx_call *c, int i);
/* A zero point: the same, and NULL where it is absent or known to be all zeros. */
wick_tensor *wick_onnx_zero_point(onnx_call *c, int i);
/* What DynamicQuantizeLinear makes of floats: u8, and a scale and a zero point that follow from their range. */
wick_tensor *wick_onnx_quantise_range(wick_tensor *x, wick_tensor **scale, wick_tensor **point);
/* Sums of the columns of b [..., k, n] less b_zero (one number, one a column, or NULL): i32 [..., 1, n]. */
wick_tensor *wick_onnx_column_sums(wick_tensor *b, wick_tensor *b_zero);
/* (a - a_zero) (b - b_zero) of bytes in i32. sums: those of wick_onnx_column_sums, by which a_zero is reckoned with
 * behind the product, so that what is packed of a constant b does not depend on it; NULL: within the product. */
wick_tensor *wick_onnx_byte_product(wick_tensor *a, wick_tensor *a_zero, wick_tensor *b, wick_tensor *b_zero,
                                    wick_tensor *sums);

/* Attributes. check: those that attributes.c knows, before the row runs; false: the call failed. */
bool wick_onnx_check_attributes(onnx_call *c);
/* The dtypes of inputs: the rule of a node's op, or NULL, and whether a call keeps to it. */
const char *wick_onnx_types_of(const onnx_node *node, int opset);
bool wick_onnx_check_types(onnx_call *c);
const onnx_attr *wick_onnx_attr(const onnx_call *c, const char *name); /* NULL: absent */
int64_t wick_onnx_int(onnx_call *c, const char *name, int64_t otherwise);
double wick_onnx_float(onnx_call *c, const char *name, double otherwise);
bool wick_onnx_text_is(onnx_call *c, const char *name, const char *otherwise, const char *value);
wick_bytes wick_onnx_text(onnx_call *c, const char *name, const char *otherwise);
const int64_t *wick_onnx_ints(onnx_call *c, const char *name, int *n); /* NULL: absent, n = 0 */
const onnx_block *wick_onnx_body(onnx_call *c, const char *name);

/* The axes of input i, or where that is absent (or the opset older) of the attribute; made positive. n = -1: neither is
 * there. */
bool wick_onnx_axes(onnx_call *c, int input, const char *attribute, int rank, int *n, int axes[WICK_MAX_DIMS]);
bool wick_onnx_axis(onnx_call *c, int64_t axis, int rank, int *out);

/* Results. */
void wick_onnx_set(onnx_call *c, int i, wick_tensor *t);
void wick_onnx_set_static(onnx_call *c, int i, wick_tensor *t); /* does not depend on contents of inputs */
void wick_onnx_set_value(onnx_call *c, int i, wick_onnx_value v, bool dynamic);
bool wick_onnx_wants(const onnx_call *c, int i);

/* What a row makes of its attributes alone it may keep for the next run: kept gives them back (false: there are none,
 * or the call failed). n up to ONNX_KEPT. Attributes that a function's caller gives are made anew each time. */
bool wick_onnx_kept(const onnx_call *c, int n, wick_tensor **tensors);
bool wick_onnx_keep(onnx_call *c, int n, wick_tensor **tensors); /* evaluates them */

/* Runs ONNX's own op of that name and opset instead, on these inputs (NULL: absent) and the node's attributes; its
 * results are the call's. */
bool wick_onnx_call_as(onnx_call *c, const char *name, int opset, int n, wick_tensor *const *in);

/* Fails the call: what goes after "model.onnx: Conv "conv1": ". Returns false. */
bool wick_onnx_fail(onnx_call *c, wick_status status, const char *fmt, ...) WICK_PRINTF(3, 4);
/* So much work of loops on the host whose length the file decides (units of a wick_watch); false: the call failed, for
 * it takes too long, or is cancelled. */
bool wick_onnx_spend(onnx_call *c, size_t units);
/* Sorts as qsort does, and stably. It counts its work; a comparison that may be long counts its own. */
bool wick_onnx_sort(onnx_call *c, void *at, size_t n, size_t size,
                    int (*compare)(const void *, const void *, wick_watch *));
void *wick_onnx_alloc(onnx_call *c, size_t n, size_t size); /* zeroed, of the run; NULL: the call failed */
void *wick_onnx_alloc2(onnx_call *c, int64_t rows, int64_t columns, size_t size); /* rows x columns of them */

/* Runs a block: results go to out[0 .. block->n_out). */
wick_status wick_onnx_block(onnx_run *run, const onnx_block *block, onnx_frame *parent, const onnx_call *function,
                            int n_in, const onnx_value *in, onnx_value *out, wick_msg *msg);

/* Of Conv and its like; size (or NULL): extents of the result. */
bool wick_onnx_conv_options(onnx_call *c, wick_tensor *x, wick_tensor *w, wick_conv_options *out, int64_t size[3]);
/* Cast from or to strings */
void wick_onnx_cast_text(onnx_call *c, int64_t type);

/* As wick_onnx_open, of bytes, which it takes in every case; NULL: of the file. */
wick_status wick_onnx_open_map(wick_context *ctx, const char *path, const wick_map *bytes,
                               const wick_onnx_limits *limits, wick_onnx **out);
/* The first output for these inputs, and wherever it is asked for what has to be known on the host. */
wick_status wick_onnx_record(onnx_run *run, const wick_onnx_value *in, wick_onnx_value *out);
/* Zeros of these specs through the graph, with a step watched: to learn shapes. */
wick_status wick_onnx_probe_shapes(wick_onnx *onnx, const wick_spec *in, onnx_run *run);
/* Whether weights that these numbers are belong to the formula, like the statistics of a batch norm, and are not
 * trained. */
bool wick_onnx_is_fixed_input(const onnx_step *step, int input);
/* Where an input is texts or packed and the op only moves elements: runs it on what stands for them. False: it is no
 * such call. */
bool wick_onnx_move(onnx_call *c);
/* Place i of an axis of a tensor, or of texts, without that axis; and values of one shape along a new axis. False: the
 * call failed. */
bool wick_onnx_take_row(onnx_call *c, const wick_onnx_value *v, int axis, int64_t i, wick_onnx_value *out);
bool wick_onnx_stack(onnx_call *c, size_t n, const wick_onnx_value *rows, int axis, wick_onnx_value *out);
/* A tensor of any dtype repeated to these dims. */
wick_tensor *wick_onnx_expand(wick_tensor *x, int rank, const int64_t *dims);
/* Tensors of numbers that are equal where texts are, and rise with them (i64). */
bool wick_onnx_number_texts(onnx_call *c, int n, const wick_onnx_value *const *values, wick_tensor **out);
int wick_onnx_compare_texts(wick_text a, wick_text b, wick_watch *watch); /* by bytes */
/* A number from text, all of it; and as text, as NumPy prints those of the dtype. */
bool wick_onnx_parse(const wick_text *s, double *out);
void wick_onnx_print(double x, wick_dtype dtype, char text[32]);

/* As a function for wick_compile and its like, for shapes that wick_onnx_prepare has seen; user: the model. */
wick_status wick_onnx_function(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user);

/* ---- types and data ---------------------------------------------------------------------------------------------- */

bool wick_onnx_dtype(int64_t type, wick_dtype *out); /* false: Wick has no such dtype */
int wick_onnx_type(wick_dtype dtype);                /* the way back */
const char *wick_onnx_type_name(int64_t type);       /* "float", ...; "?" */

/* Of the dtypes that kernels compute in; f8 are for storage. */
static inline bool wick_onnx_is_float(wick_tensor *x) { return wick_dtype_is_float(wick_tensor_dtype(x)); }
static inline bool wick_onnx_is_f8(wick_dtype d) { return d >= WICK_F8_E4M3FN && d <= WICK_F8_E5M2FNUZ; }

/* The elements of t, evaluated, as dtype: an f64 or i64 each. */
wick_status wick_onnx_elements(wick_tensor *t, wick_dtype dtype, void *out);

/* A tensor of the file as data: wrapped where its bytes lie in the file, aligned and little-endian, else converted. */
wick_status wick_onnx_read_tensor(wick_onnx *onnx, const onnx_tensor *t, wick_onnx_value *out, wick_arena *arena,
                                  wick_msg *msg);
/* NumPy's file of texts. */
wick_status wick_onnx_read_npy_texts(wick_onnx *onnx, const wick_map *map, const char *name, wick_onnx_value *out);
wick_status wick_onnx_read_sparse(wick_onnx *onnx, const onnx_sparse *t, wick_onnx_value *out, wick_arena *arena,
                                  wick_msg *msg);
wick_status wick_onnx_resolve(wick_onnx *onnx);
wick_status wick_onnx_view_texts(wick_onnx *onnx); /* meta, domains */

/* The graph is another one from now on: what was prepared is of no use. */
void wick_onnx_forget_prepared(wick_onnx *onnx);
/* The tensors of a step that is to go, and of the bodies in it. */
void wick_onnx_drop_step(onnx_step *step);

/* Begins what must end within limits.seconds, in the watch of the context; what it returns wick_context_unwatch takes.
 */
wick_watch wick_onnx_begin(wick_onnx *onnx);
/* So much more work: WICK_OK, or why there is to be no more, with a message. */
wick_status wick_onnx_late(wick_onnx *onnx, size_t units, const char *where);

/* "ai.onnx" is ONNX's own domain, which "" names too. */
static inline wick_bytes wick_onnx_domain(wick_bytes d) {
    return d.size == 7 && !memcmp(d.at, "ai.onnx", 7) ? (wick_bytes){"", 0} : d;
}
static inline bool wick_bytes_are(wick_bytes b, const char *text) {
    return b.size == strlen(text) && (!b.size || !memcmp(b.at, text, b.size));
}
static inline bool wick_bytes_equal(wick_bytes a, wick_bytes b) {
    return a.size == b.size && (!a.size || !memcmp(a.at, b.at, a.size));
}

#endif
