/* export.h: a recorded graph becomes an ONNX model.
 *
 *   function -> recordings (export_extents.c): one for the extents given, and where extents are symbols many more, at
 *               which all that is written has to hold
 *            -> ONNX nodes (export_ops.c and its like): a table says for each of Wick's ops what it becomes, as a row
 *               or a small function
 *            -> file (export_write.c): what nobody reads is left out
 *
 * A small function reads its node's inputs with wick_export_in, makes ONNX nodes with ONNX(e, "Op", inputs ...), for
 * which attributes are queued before, and says with wick_export_set what the node's result is. */
#ifndef WICK_IO_ONNX_EXPORT_H
#define WICK_IO_ONNX_EXPORT_H

#include "exec/exec.h"
#include "graph/extents.h"
#include "io/onnx/onnx.h"
#include "io/onnx/export/proto_write.h"

/* A value of the ONNX graph. */
typedef struct onnx_name {
    const char *text;
    bool given; /* an input or initializer: its name stays */
    bool used;
} onnx_name;
extern onnx_name wick_export_absent; /* an optional input that is not there */

typedef struct onnx_body { /* a graph that is an attribute: its nodes may read what is outside */
    const char *attribute;
    struct onnx_made *first, *last;
    wick_proto_out ports; /* encoded inputs and outputs; of the arena once the body is whole */
    onnx_name **out;
    int n_out;
} onnx_body;

typedef struct onnx_made { /* a node */
    const char *op;
    onnx_name **in, **out;
    int n_in, n_out;
    const void *attrs; /* encoded fields of NodeProto */
    size_t attr_bytes;
    onnx_body *bodies[2];
    struct onnx_made *next, *prev;
} onnx_made;

typedef struct onnx_constant { /* an initializer */
    onnx_name *name;
    wick_type type;
    const void *data; /* row-major */
    bool state;       /* of the model: may go to the file of weights */
    struct onnx_constant *next;
} onnx_constant;

/* An extent: a number, or one that follows symbols. */
typedef struct onnx_extent {
    enum { ONNX_EXTENT_FIXED, ONNX_EXTENT_OPEN, ONNX_EXTENT_UNKNOWN } kind;
    int64_t number;     /* FIXED */
    int32_t expression; /* OPEN: of onnx_export's extents */
} onnx_extent;
enum { ONNX_MOST_SYMBOLS = 8, ONNX_MOST_RECORDINGS = 192 };

/* Of an expression: its value in the graph, i64 [1], once a node needed it; and what it is an extent of, where it was
 * only seen. */
typedef struct onnx_said {
    onnx_name *name, *of;
    int axis;
} onnx_said;

typedef struct onnx_source { /* what is exported */
    wick_model *model;
    wick_function fn;
    void *user;
    wick_status (*before)(void *user, const wick_spec *in); /* each recording; or NULL */
    int (*numbers)(void *user, int64_t *numbers, int most); /* that its sizes are worked out with, how many; or NULL */
} onnx_source;

typedef struct onnx_odd { /* a graph of other ops than recording 0 has */
    uint64_t hash;
    int64_t extents[2][ONNX_MOST_SYMBOLS]; /* where it is recorded: with the fewest elements of input, with the most */
    double elements[2];
    char why[256]; /* the first op that is another one */
} onnx_odd;

typedef struct onnx_export {
    wick_context *ctx;
    wick_arena arena;
    const wick_onnx_save_options *options;
    int opset;
    int n_in, n_out;
    const wick_spec *in;
    /* recordings: [0] for the extents given, [s + 1] with symbol s alone moved, then others; points: their extents,
     * [n_recordings][n_symbols] */
    int n_symbols, n_recordings, most_recordings;
    const char *symbols[ONNX_MOST_SYMBOLS];
    int symbol_input[ONNX_MOST_SYMBOLS], symbol_axis[ONNX_MOST_SYMBOLS];
    int64_t least[ONNX_MOST_SYMBOLS], most[ONNX_MOST_SYMBOLS], multiple[ONNX_MOST_SYMBOLS]; /* its range */
    int64_t *points, *rows[2]; /* rows: room for one value of each recording */
    wick_recording *recordings;
    wick_arena *arenas; /* of each */
    int tried;
    wick_graph **at; /* by recording: the graph that is being exported: the whole, or a region in it */
    onnx_odd *odd;
    int n_odd;
    bool large;   /* the point that was asked for last had too many elements */
    bool grown;   /* the function recorded more nodes there */
    bool assigns; /* it assigns states */
    int64_t enough[ONNX_MOST_SYMBOLS]; /* longer ones are not tried */
    wick_extents extents;
    onnx_said *said; /* by expression */
    int32_t cap_said;
    onnx_name **names;  /* by id of the values of at[0] */
    int depth;          /* of regions */
    onnx_name **ports;  /* inputs, then outputs */
    onnx_made *first, *last;
    onnx_constant *constants;
    wick_proto_out attrs; /* queued */
    int made;                                   /* for names */
    const char **taken;                         /* names: a hash table */
    size_t n_taken, cap_taken;
    char unsupported[2048]; /* ops that ONNX has nothing for: "erfinv (net.c:12)", ... */
    wick_str lacking;
    int n_unsupported;
    bool opened;  /* the model was an ONNX file: its casts are what they were */
    bool contrib; /* a node is of another domain than ONNX's own */
    bool nomem;
    _Alignas(16) char spare[4096];
} onnx_export;

/* ---- reading the recording --------------------------------------------------------------------------------------- */

onnx_name *wick_export_value(onnx_export *e, wick_value *v); /* in its full shape */
onnx_name *wick_export_in(onnx_export *e, const wick_node *node, int k);
/* As wick_export_in, but maybe with fewer dims or extents of 1: what broadcasts to v. */
onnx_name *wick_export_thin(onnx_export *e, wick_value *v, wick_type *type);
void wick_export_set(onnx_export *e, const wick_node *node, int k, onnx_name *name);
/* Do the node's parameters differ between recordings? */
bool wick_export_varies(const onnx_export *e, const wick_node *node);
/* The number that v is, everywhere; false: it is none that is known. */
bool wick_export_number(const onnx_export *e, const wick_value *v, double *number);

/* ---- extents ----------------------------------------------------------------------------------------------------- */

wick_status wick_export_symbols(onnx_export *e); /* those of the options */
/* All recordings; the first at extents of at least `least`, in multiples of step. */
wick_status wick_export_record(onnx_export *e, const onnx_source *source, int64_t least, int64_t step);
void wick_export_specs(const onnx_export *e, const int64_t *extents, wick_spec *in);
double wick_export_elements(const onnx_export *e, const int64_t *extents,
                            wick_spec *in); /* of all inputs, whose specs it sets */
void wick_export_say_point(const onnx_export *e, wick_str *s, const int64_t *extents);
/* Runs what was written at extents for which the function records other ops, and compares. */
wick_status wick_export_check(onnx_export *e, const onnx_source *source);
onnx_extent wick_export_extent(onnx_export *e, const wick_value *v, int dim);
/* The expression with these values, by recording; it is for node, or for what it reads. */
onnx_extent wick_export_follow(onnx_export *e, const wick_node *node, const int64_t *values);
bool wick_export_is_fixed(onnx_export *e, const wick_value *v); /* all of its extents are numbers */
bool wick_export_same_extent(onnx_export *e, const wick_value *a, int dim, const wick_value *b,
                             int other); /* in all recordings */
bool wick_export_is_fixed_at(onnx_export *e, const wick_value *v, int dim);
bool wick_export_is_one(onnx_export *e, const wick_value *v, int dim);
onnx_name *wick_export_extent_value(onnx_export *e, const onnx_extent *x); /* i64 [1] */
onnx_said *wick_export_said(onnx_export *e, int32_t expression);           /* NULL: out of memory */
/* After a node is written: extents of its results may be read there. */
void wick_export_see(onnx_export *e, const wick_node *node);
/* "WHAT h (axis 2 of x)": the symbols that move the values; of the arena. values NULL: all of them. */
const char *wick_export_why(onnx_export *e, const char *what, const int64_t *values);
/* The same for parameters of the node that differ between recordings. */
const char *wick_export_why_varies(onnx_export *e, const wick_node *node);

/* ---- making ------------------------------------------------------------------------------------------------------ */

/* op: "MatMul", or with ONNX Runtime's domain before it, WICK_ONNX_CONTRIB "MatMulNBits". */
#define WICK_ONNX_CONTRIB "com.microsoft:"
onnx_name *wick_export_node(onnx_export *e, const char *op, int n_in, onnx_name *const *in);
void wick_export_nodes(onnx_export *e, const char *op, int n_in, onnx_name *const *in, int n_out, onnx_name **out);
#define ONNX(e, op, ...)                                                                                               \
    wick_export_node(e, op, (int)(sizeof((onnx_name *[]){__VA_ARGS__}) / sizeof(onnx_name *)),                         \
                     (onnx_name *[]){__VA_ARGS__})
/* Attributes of the next node. */
void wick_export_int(onnx_export *e, const char *name, int64_t value);
void wick_export_ints(onnx_export *e, const char *name, int n, const int64_t *values);
void wick_export_float(onnx_export *e, const char *name, double value);
void wick_export_floats(onnx_export *e, const char *name, int n, const float *values);
void wick_export_text(onnx_export *e, const char *name, const char *text);
void wick_export_texts(onnx_export *e, const char *name, int n, const char *const *texts);
/* Initializers: a number of 0 dims, by its value or the bits that memory holds of it; a list of i64; any array (which
 * must live as long as e: arena memory does, a function's own variables do not). */
onnx_name *wick_export_scalar(onnx_export *e, wick_dtype dtype, double value);
onnx_name *wick_export_bits(onnx_export *e, wick_dtype dtype, uint64_t bits);
onnx_name *wick_export_list(onnx_export *e, int n, const int64_t *values);
onnx_name *wick_export_array(onnx_export *e, wick_dtype dtype, int rank, const int64_t *dims, const void *data);
/* v's extents as a list; for_reshape: one that follows symbols may be -1. NULL: they can't be said (then that has been
 * noted against node). */
onnx_name *wick_export_shape(onnx_export *e, const wick_node *node, const wick_value *v, bool for_reshape);
onnx_name *wick_export_reshape(onnx_export *e, const wick_node *node, onnx_name *x, const wick_value *like);
/* x with axes of extent 1 put in or taken out. */
onnx_name *wick_export_unsqueeze(onnx_export *e, onnx_name *x, int n, const int64_t *axes);
onnx_name *wick_export_squeeze(onnx_export *e, onnx_name *x, int n, const int64_t *axes);
onnx_name *wick_export_cast(onnx_export *e, onnx_name *x, wick_dtype dtype);
onnx_name *wick_export_transpose(onnx_export *e, onnx_name *x, int rank, const int64_t *axes);
/* "ReduceSum" ... over axes, whose input or attribute depends on the opset. */
onnx_name *wick_export_reduce(onnx_export *e, const char *op, onnx_name *x, int n, const int64_t *axes, bool keepdims);
onnx_name *wick_export_slice(onnx_export *e, onnx_name *x, int64_t axis, int64_t start, int64_t end, int64_t step);
onnx_name *wick_export_extents(onnx_export *e, const wick_node *node, int n, const onnx_extent *extents);

/* Notes that ONNX has nothing for the node; why may be NULL. */
void wick_export_unsupported(onnx_export *e, const wick_node *node, const char *why);
/* Of the arena, zeroed. NULL only where it is more than ONNX_SPARE bytes: smaller requests get memory that may be
 * written in any case, and e->nomem tells. */
void *wick_export_alloc(onnx_export *e, size_t n, size_t size);
enum { ONNX_SPARE = 4096 };

/* ---- parts ------------------------------------------------------------------------------------------------------- */

typedef void (*onnx_export_fn)(onnx_export *e, const wick_node *node);
typedef struct onnx_export_row {
    const wick_op *op;
    onnx_export_fn fn;
    bool shaped; /* fn minds parameters that differ between recordings */
} onnx_export_row;
typedef struct onnx_export_rows {
    const onnx_export_row *rows;
    size_t n;
} onnx_export_rows;
extern const onnx_export_rows wick_export_shape_rows, wick_export_index_rows, wick_export_nn_rows,
    wick_export_recurrent_rows, wick_export_signal_rows, wick_export_control_rows, wick_export_quant_rows,
    wick_export_more_rows, wick_export_chosen_rows;

/* The nodes of a graph of at[], in order; names of its inputs are set. */
void wick_export_graph(onnx_export *e);
/* A value with a name that no other has: what_N. */
onnx_name *wick_export_name(onnx_export *e, const char *what);
/* After dead nodes are left out: who reads names is marked, from the last node on. */
void wick_export_mark(onnx_made *last);

void wick_export_elementwise(onnx_export *e, const wick_node *node);
/* What an elementwise node ends, where ONNX has one op for it: Gemm, BatchNormalization. Sets its result; false:
 * nothing. */
bool wick_export_recognised(onnx_export *e, const wick_node *node);
wick_status wick_export_write(onnx_export *e, const char *path);
/* The same bytes with all weights in them, of malloc's like: for wick_release. */
wick_status wick_export_bytes(onnx_export *e, uint8_t **bytes, size_t *n);

#endif
