/* wick/onnx.h: models trained elsewhere. An ONNX file becomes named parameters and a function that records its graph,
 * as any model of Wick's. */
#ifndef WICK_ONNX_H
#define WICK_ONNX_H

#include "wick/dynamic.h"
#include "wick/nn.h"
#include "wick/weights.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- values: what ONNX has besides tensors lives on the host ----------------------------------------------------- */

typedef enum wick_value_kind {
    WICK_VALUE_NONE, /* an optional without a value */
    WICK_VALUE_TENSOR,
    WICK_VALUE_STRINGS,  /* a tensor of texts */
    WICK_VALUE_SEQUENCE, /* items of one kind */
    WICK_VALUE_MAP       /* two items of n entries each: keys, texts or i64, and values */
} wick_value_kind;
typedef struct wick_text {
    const char *at; /* UTF-8 by custom, not terminated */
    size_t size;
} wick_text;
typedef struct wick_onnx_value {
    wick_value_kind kind;
    wick_tensor *tensor;                 /* TENSOR */
    int rank;                            /* STRINGS */
    int64_t dims[WICK_MAX_DIMS];         /* STRINGS */
    size_t n;                            /* STRINGS, SEQUENCE, MAP: how many */
    const wick_text *texts;              /* STRINGS */
    const struct wick_onnx_value *items; /* SEQUENCE, MAP */
} wick_onnx_value;

/* ---- models ------------------------------------------------------------------------------------------------------ */

/* What a file may cost; 0 is the default, which is given. Without a limit is the largest number of the type. Below 0,
 * and NaN, is WICK_ERR_INVALID. */
typedef struct wick_onnx_limits {
    /* bytes for what the file describes, besides weights, and for what a run records of it: 1 GiB */
    size_t memory;
    size_t tensor_bytes; /* of any one tensor that its graph makes: 8 GiB */
    int64_t nodes;       /* that a run may execute, loops and functions counted each time, and each round as one more:
                          * 200,000, and one more for each byte of the file, up to       10 million */
    int depth;           /* of graphs and functions within each other: 64; at most 1000 */
    size_t output_bytes; /* of all results of a run together: 8 GiB */
    double seconds; /* for opening, for a compilation, for each recording of the graph with what that evaluates, and for
                     * each value read: 3600. Looked at wherever the file says how long something takes, within kernels
                     * between their tasks; what the context's `cancel` says counts too, but not within kernels */
} wick_onnx_limits;

typedef struct wick_onnx wick_onnx;
/* Maps and checks the file: structure, names, opsets, weights and their files. Weights stay in the file's pages as long
 * as nothing writes to them. Nodes that Wick has no row for are not an error yet: wick_onnx_unsupported lists them, and
 * running fails. limits may be NULL. */
WICK_API WICK_MUST_CHECK wick_status wick_onnx_open(wick_context *ctx, const char *path, const wick_onnx_limits *limits,
                                                    wick_onnx **out);
/* As wick_weights_advise and _resident, of the file and of those with its external data. WICK_WEIGHTS_DONE once plans
 * have run: they have their weights as kernels read them, and the file's pages need not stay beside those. */
WICK_API WICK_MUST_CHECK wick_status wick_onnx_advise(wick_onnx *onnx, wick_weights_use use);
WICK_API bool wick_onnx_resident(const wick_onnx *onnx, size_t *bytes);
/* Plans and tensors made from it must be freed before. Null-safe, nulls. */
WICK_API void wick_onnx_free(wick_onnx **onnx);
/* Its weights by their names, freed with it. Float initializers of 1 dim and more are parameters, and so are float
 * constants of 2 dims and more; what is no weight of the network but a number of its formula is a buffer: scalars,
 * integers, statistics of batch norms, bounds, scales of quantisation. */
WICK_API wick_model *wick_onnx_model(wick_onnx *onnx);
/* Every op it uses that Wick lacks, once: "Foo-13, com.acme::Bar-1"; "" is none. */
WICK_API const char *wick_onnx_unsupported(const wick_onnx *onnx);

/* What the file says of itself, and holds. */
typedef struct wick_onnx_info {
    int64_t ir_version, opset;                       /* of ONNX's own domain; 0: none */
    const char *producer, *producer_version, *graph; /* "": not said */
    int64_t nodes, functions;                        /* of all graphs and functions, each counted once */
    int64_t parameters;                              /* numbers in its parameters */
    /* of the tensors that the file holds: initializers and Constants of all graphs, bodies and functions */
    size_t weight_bytes;
    int ops;                                         /* distinct ones, see wick_onnx_op_at */
} wick_onnx_info;
WICK_API wick_onnx_info wick_onnx_get_info(const wick_onnx *onnx);
typedef struct wick_onnx_op {
    const char *domain, *name; /* domain "": ONNX's own */
    int64_t count;
    bool supported;
} wick_onnx_op;
WICK_API wick_onnx_op wick_onnx_op_at(const wick_onnx *onnx, int i); /* most frequent first; cleared outside */

/* Metadata of the file and its opsets in the file's order; false past the last. Texts live as long as the model. */
WICK_API bool wick_onnx_meta_at(const wick_onnx *onnx, int i, const char **key, const char **value);
WICK_API bool wick_onnx_opset_at(const wick_onnx *onnx, int i, const char **domain, int64_t *version);
/* The rows of the importer's table: an op of ONNX that Wick runs in these opsets of its domain. name NULL past the
 * last. */
typedef struct wick_onnx_row {
    const char *domain, *name; /* domain "": ONNX's own */
    int since, until;          /* both included; until 0: the newest */
} wick_onnx_row;
WICK_API wick_onnx_row wick_onnx_row_at(int i);

/* An input or output as declared. */
typedef struct wick_onnx_port {
    const char *name;
    wick_value_kind kind;
    int elem;                             /* ONNX's TensorProto.DataType of the tensors */
    int rank;                             /* -1: unknown */
    int64_t dims[WICK_MAX_DIMS];          /* -1: unknown, or a name */
    const char *dim_names[WICK_MAX_DIMS]; /* or NULL */
    bool
        optional; /* an input that may be left out: of an optional type, or one with a default (wick_onnx_default_at) */
} wick_onnx_port;
/* "float", "int64", ... of a TensorProto.DataType, "?" of none; and Wick's dtype for it, false: it has none. */
WICK_API const char *wick_onnx_elem_name(int elem);
WICK_API bool wick_onnx_elem_dtype(int elem, wick_dtype *dtype);
WICK_API int wick_onnx_inputs(const wick_onnx *onnx);
WICK_API int wick_onnx_outputs(const wick_onnx *onnx);
WICK_API wick_onnx_port wick_onnx_input(const wick_onnx *onnx, int i);
WICK_API wick_onnx_port wick_onnx_output(const wick_onnx *onnx, int i);
/* Initializers that the file also lists among its inputs (from IR 4 on; before that every initializer is there): values
 * that a caller may give instead. They are weights like others, and no inputs, until wick_onnx_open_default makes
 * number i of them the last input, which is optional then; later ones move up. */
WICK_API int wick_onnx_defaults(const wick_onnx *onnx);
WICK_API wick_onnx_port wick_onnx_default_at(const wick_onnx *onnx, int i);
WICK_API WICK_MUST_CHECK wick_status wick_onnx_open_default(wick_onnx *onnx, int i);
/* Input i for wick_onnx_compile, with 1 where the file leaves an extent open. rank -1: it is no tensor of known rank
 * and of a dtype that Wick has. */
WICK_API wick_spec wick_onnx_input_spec(const wick_onnx *onnx, int i);
/* From now on input i is the constant `value`, which is retained, and no input any more: later ones move up. What
 * depends on it (an If by the sampling rate, say) is known when the graph is compiled. */
WICK_API WICK_MUST_CHECK wick_status wick_onnx_fix_input(wick_onnx *onnx, int i, wick_tensor *value);

/* Records the graph for these inputs, lazily: one for each input, in their order (kind NONE: its initializer). out has
 * room for all outputs; what is in it belongs to the innermost scope, host values to the model until its next apply.
 * Where sizes depend on values, parts are evaluated. */
WICK_API WICK_MUST_CHECK wick_status wick_onnx_apply(wick_onnx *onnx, const wick_onnx_value *in, wick_onnx_value *out);
/* Its first output for its one input x, which is converted to the input's dtype (floats to floats, integers to any;
 * floats for an input of integers are WICK_ERR_DTYPE): a network as wick_zoo_build records it, to be trained and
 * differentiated. Batch norms normalise by their statistics and Dropout passes everything on, in training too, unless
 * the file itself says otherwise. Poisoned on error. */
WICK_API wick_tensor *wick_onnx_forward(wick_onnx *onnx, wick_tensor *x);
/* Before apply or forward is called in a function that wick_compile records, for inputs of these specs: finds out what
 * has to be known on the host while recording, which can't be asked for there. WICK_ERR_UNSUPPORTED: that depends on
 * the inputs. */
WICK_API WICK_MUST_CHECK wick_status wick_onnx_prepare(wick_onnx *onnx, const wick_spec *in);
/* One plan for inputs of these specs, which are all tensors, in the order of the inputs (names may be left out).
 * WICK_ERR_UNSUPPORTED: sizes depend on values (wick_onnx_apply does run it). */
WICK_API WICK_MUST_CHECK wick_status wick_onnx_compile(wick_onnx *onnx, const wick_spec *in,
                                                       const wick_compile_options *options, wick_plan **plan);

/* One function of many shapes (wick/dynamic.h): extents that the file leaves open are its dims, under the file's names,
 * or INPUT.axis where it gives none; names such as "past + seq" are expressions of the others. dims: their ranges, by
 * name; of others the range is 1 to INT32_MAX, with which wick_dynamic_prove and wick_dynamic_find_shapes get nowhere.
 * options->prepare is not called: the file's own is. The model must outlive it. WICK_ERR_UNSUPPORTED: an input is no
 * tensor of known rank; what depends on values of inputs is found when plans are made. */
WICK_API WICK_MUST_CHECK wick_status wick_onnx_dynamic(wick_onnx *onnx, int n_dims, const wick_dim *dims,
                                                       const wick_dynamic_options *options, wick_dynamic **out);
/* Whether inputs of these shapes (rank -1: no tensor, or not given) can be given together, as the file names its open
 * extents: the same name is the same number everywhere, a name such as "past + seq" the sum of the others, and those in
 * dims are in their ranges. WICK_ERR_SHAPE names input, axis and dim, with the range or the input that says otherwise
 * ("input mask: dim 0 (batch) is 3, but dim 0 of input x, of the same name, is 2"). Ranks and extents that the file
 * fixes are not looked at: running finds them. wick_onnx_apply does not ask this of its inputs: names of some files are
 * wrong. */
WICK_API WICK_MUST_CHECK wick_status wick_onnx_check_inputs(wick_onnx *onnx, const wick_spec *in, int n_dims,
                                                            const wick_dim *dims);

/* ---- the graph, to be looked at ---------------------------------------------------------------------------------- */

/* A value of the main graph. */
typedef struct wick_onnx_wire {
    const char *name;
    int64_t from;   /* the node that makes it; -1: an input, -2: a weight */
    wick_spec spec; /* rank -1: not known, or no tensor */
} wick_onnx_wire;
typedef struct wick_onnx_node {
    const char *domain, *op, *name; /* "": none */
    const char *place;              /* as kernels of its plans have it (wick_plan_kernel), and messages */
    bool supported;
    int n_in, n_out, bodies;       /* bodies: graphs in its attributes */
    const int32_t *in, *out;       /* wires; -1: left out */
} wick_onnx_node;
typedef struct wick_onnx_graph {
    int64_t n_nodes; /* in the order they run */
    int32_t n_wires;
    const wick_onnx_node *nodes;
    const wick_onnx_wire *wires;
    const int32_t *outputs; /* wires, by output; -1: none */
} wick_onnx_graph;
/* The main graph, and what its values are for inputs of these specs, as far as it runs on zeros; in NULL: only what
 * weights are. It lives as long as the model. WICK_ERR_NOMEM: also beyond the limit. WICK_ERR_DEADLINE,
 * WICK_ERR_CANCELLED: as in a recording. */
WICK_API WICK_MUST_CHECK wick_status wick_onnx_get_graph(wick_onnx *onnx, const wick_spec *in, wick_onnx_graph *out);

/* ---- fine-tuning ------------------------------------------------------------------------------------------------- */

/* Lets the leading extent of all inputs be any number, where the file fixes it: shapes of Reshape that begin with it
 * are bound to that of now. Then two inputs in one batch are compared with each by itself. WICK_ERR_UNSUPPORTED: the
 * graph cannot, or mixes the inputs of a batch; the message names the op, or the output. `in`: specs of the inputs with
 * the extents that the file leaves open; NULL: it leaves none but the leading one. */
WICK_API WICK_MUST_CHECK wick_status wick_onnx_rebatch(wick_onnx *onnx, const wick_spec *in);
/* What bounds the numbers at the end of the first output is left out, a Softmax, LogSoftmax, Sigmoid, HardSigmoid, Tanh
 * or Softsign, also before ops that only reshape or cast: losses are of logits. Returns whether there was one. */
WICK_API bool wick_onnx_drop_softmax(wick_onnx *onnx);
/* The last linear layer on the way to the first output (Gemm, MatMul, Conv, each with the Add of a bias behind it): how
 * many numbers it gives; 0: there is none, and the context's error says which op is in the way. `in` as for
 * wick_onnx_rebatch. */
WICK_API int64_t wick_onnx_head_width(wick_onnx *onnx, const wick_spec *in);
/* Gives that layer fresh weights for another number of classes: uniform in +-1/sqrt(fan in), drawn as wick_model_state
 * does. They keep their names where no other node reads them, else they are NODE.weight and NODE.bias. States and nodes
 * that no output depends on any more go. The optimizer is to be made after it. What fails leaves the model as it was.
 * WICK_ERR_UNSUPPORTED: there is no such layer, or the graph behind it is made for the old width. */
WICK_API WICK_MUST_CHECK wick_status wick_onnx_replace_head(wick_onnx *onnx, int64_t classes, const wick_spec *in);
/* The files beside the model that hold its large tensors, as it names them; NULL past the last. */
WICK_API const char *wick_onnx_file_at(const wick_onnx *onnx, int i);
/* CRC-32C of the bytes of the model's file and then of those, as they are mapped. */
WICK_API uint32_t wick_onnx_checksum(const wick_onnx *onnx);

/* ---- writing ----------------------------------------------------------------------------------------------------- */

/* An extent that stays open: axis of an input is called name. Axes with one name go together. */
typedef struct wick_onnx_symbol {
    const char *name;
    int input, axis;
} wick_onnx_symbol;
typedef struct wick_onnx_save_options {
    int opset;                    /* 13 to 28; 0: 18 */
    int ir_version;               /* 0: what came with the opset */
    const char *const *outputs;   /* names; NULL, or "" of one: output, output_1 ... */
    int n_symbols;
    const wick_onnx_symbol *symbols;
    int n_ranges;
    const wick_dim *ranges; /* extents that a symbol (its name, or INPUT.axis) is for; without one: all from 1 on */
    /* NULL: in the model. Else the name of a file beside it, "net.safetensors", for all states: both may then be larger
     * than 2 GiB */
    const char *weights;
    const char *graph, *doc;      /* the graph's name, a text about the model; may be NULL */
    /* called before each recording, with its specs; may be NULL */
    wick_status (*prepare)(void *user, const wick_spec *in);
    int n_meta; /* metadata_props, as wick_onnx_meta_at has them: meta[2 i] is a key, meta[2 i + 1] its value */
    const char *const *meta;
} wick_onnx_save_options;
/* Writes what fn records in evaluation (wick_plan.h) as an ONNX model: its inputs are named and shaped by in
 * (without a name: input, input_1 ...), states of the model are initializers under their names. Each op becomes the
 * ONNX ops that make it up; those that ONNX has nothing for are WICK_ERR_UNSUPPORTED, all named with the lines that
 * recorded them. With symbols, fn is recorded for many extents of their ranges, up to 192 lists of them, and what is
 * written holds at all of these: an extent is a number, that of an input or of what an op gives, or made of those.
 * Where none of this holds, it is WICK_ERR_UNSUPPORTED: the message names op, symbol and axis. Where fn records
 * other ops than elsewhere, the written model and fn are run, for each such graph at its smallest and its largest
 * list, and what differs, or has more than a million elements there, is WICK_ERR_UNSUPPORTED too. The file is
 * replaced when it is whole, that of the weights before it. options may be NULL. */
WICK_API WICK_MUST_CHECK wick_status wick_onnx_save(wick_model *model, wick_function fn, void *user, int n_in,
                                                    const wick_spec *in, int n_out, const char *path,
                                                    const wick_onnx_save_options *options);
/* The same of a model that was opened, as it is now: fine-tuned, with another head, for another opset. in: specs of its
 * inputs, where extents of -1 stay open; NULL: as declared. Open extents keep the file's names; those without one are
 * INPUT_axis, and where the graph can't be recorded with all of them different, the first one of each input is the
 * same, as a batch is. WICK_ERR_UNSUPPORTED: that can't be recorded either: give extents numbers. Inputs that were
 * fixed stay constants. Names of inputs and outputs are those of the file, whatever options say. */
WICK_API WICK_MUST_CHECK wick_status wick_onnx_resave(wick_onnx *onnx, const wick_spec *in, const char *path,
                                                      const wick_onnx_save_options *options);

/* ---- values in files --------------------------------------------------------------------------------------------- */

/* A TensorProto, SequenceProto or OptionalProto in a file, of the type that port declares; for a port of STRINGS also a
 * .npy of texts (<U5, |S5). Host values live as long as the model. */
WICK_API WICK_MUST_CHECK wick_status wick_onnx_read_value(wick_onnx *onnx, const wick_onnx_port *port, const char *path,
                                                          wick_onnx_value *out);
/* STRINGS of these dims, each a copy of text, which live as long as the model. */
WICK_API WICK_MUST_CHECK wick_status wick_onnx_fill_texts(wick_onnx *onnx, const char *text, int rank,
                                                          const int64_t *dims, wick_onnx_value *out);
/* STRINGS as a .npy: <U, or |S where one of them is no UTF-8. */
WICK_API WICK_MUST_CHECK wick_status wick_onnx_write_texts(wick_context *ctx, const wick_onnx_value *texts,
                                                           const char *path);
/* Whether got agrees with want: kinds, dtypes, shapes, and |got - want| <= atol + rtol |want| of every number.
 * WICK_ERR_MISMATCH says where not and by how much. */
WICK_API WICK_MUST_CHECK wick_status wick_onnx_value_compare(wick_context *ctx, const wick_onnx_value *got,
                                                             const wick_onnx_value *want, double rtol, double atol);

#ifdef __cplusplus
}
#endif
#endif
