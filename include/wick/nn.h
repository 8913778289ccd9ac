/* wick/nn.h: models. A model is named state plus a function that builds its graph. Layers are functions: called with a
 * name, they make their parameters on the first call and find them again on later ones, so the same code builds, trains
 * and evaluates. Names are paths: "fc1.weight". */
#ifndef WICK_NN_H
#define WICK_NN_H

#include "wick/plan.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct wick_model wick_model;

WICK_API WICK_MUST_CHECK wick_status wick_model_new(wick_context *ctx, wick_model **out);
/* frees its states; plans that captured them keep their own reference */
WICK_API void wick_model_free(wick_model **model);
WICK_API wick_context *wick_model_context(const wick_model *model);
/* Training (the default) or evaluation: what dropout and batch norm record. */
WICK_API void wick_model_set_training(wick_model *model, bool training);
WICK_API bool wick_model_training(const wick_model *model);
/* While it is set, what is recorded finds in place of a parameter or buffer its mean, where an optimizer keeps one
 * (wick_average): the OPTIM state WICK_AVERAGE_OF plus its name. wick_save with weights_only writes the means too. For
 * evaluation: they are not to be assigned. */
#define WICK_AVERAGE_OF "optim.average."
WICK_API void wick_model_set_averaged(wick_model *model, bool averaged);
WICK_API bool wick_model_averaged(const wick_model *model);

/* How many numbers all states together may hold (0: any number): a guard for models that an untrusted file describes.
 */
WICK_API void wick_model_set_limit(wick_model *model, int64_t numbers);

typedef enum wick_role {
    WICK_ROLE_PARAM,  /* trained */
    WICK_ROLE_BUFFER, /* part of the model, not trained: running statistics */
    WICK_ROLE_OPTIM   /* of the optimizer: moments, step counts */
} wick_role;

/* How a state's first value is made. Random values depend on the context's seed and the state's name only. */
typedef struct wick_init {
    enum { WICK_INIT_CONSTANT, WICK_INIT_UNIFORM, WICK_INIT_NORMAL, WICK_INIT_TRUNCATED } kind;
    /* constant: a. uniform: from a to b. normal: mean a, standard deviation b. truncated: the normal's part in a +- 2 b
     */
    double a, b;
} wick_init;
WICK_API wick_init wick_init_constant(double value);
/* Glorot, Bengio 2010: uniform in +-sqrt(6 / (fan_in + fan_out)). */
WICK_API wick_init wick_init_xavier(int64_t fan_in, int64_t fan_out);
/* He et al. 2015: normal of standard deviation sqrt(2 / fan_in). */
WICK_API wick_init wick_init_kaiming(int64_t fan_in);
/* What PyTorch's Linear starts from: uniform in +-1/sqrt(fan_in). */
WICK_API wick_init wick_init_linear(int64_t fan_in);

/* Normal numbers, those beyond 2 deviations drawn again: what stays has a deviation of 0.8796 times the one given. */
WICK_API wick_init wick_init_truncated(double mean, double deviation);

/* How weights start, by their fans: of [out, in, kernel ...] in * kernel and out * kernel. wick_init_xavier is one;
 * another:
 *   static wick_init he(int64_t fan_in, int64_t fan_out) { return (void)fan_out, wick_init_kaiming(fan_in); } */
typedef wick_init (*wick_init_rule)(int64_t fan_in, int64_t fan_out);
/* For linear and convolution layers that make their states from now on; their biases then start at 0. NULL (the
 * default): weights and biases as wick_init_linear. Set it once for a network, or between its layers. */
WICK_API void wick_model_set_init(wick_model *model, wick_init_rule rule);

/* Gives the PARAM states of now whose name matches the pattern (as wick_model_freeze's) new first values, at once;
 * "*.bias". They depend on seed and name as the first ones do. WICK_ERR_INVALID: no state matches. */
WICK_API WICK_MUST_CHECK wick_status wick_model_reinit(wick_model *model, const char *pattern, wick_init init);
/* The same by the fans of those that have two dims and more; others are left. */
WICK_API WICK_MUST_CHECK wick_status wick_model_reinit_by(wick_model *model, const char *pattern, wick_init_rule rule);

/* The state of that name: made on the first call, found on later ones, when dtype and shape must agree. Lives as long
 * as the model. Poisoned on error. Usable while a plan is being recorded: making it is not part of the plan. What was
 * pushed is put before the name, but not for ROLE_OPTIM. Names have at most 255 bytes (OPTIM 287) and no control
 * characters. */
WICK_API wick_tensor *wick_model_state(wick_model *model, const char *name, wick_role role, wick_dtype dtype, int rank,
                                       const int64_t *dims, wick_init init);
/* Elements begin to end - 1, row-major, of a state of such a shape. */
typedef struct wick_state_part {
    int rank;
    int64_t dims[WICK_MAX_DIMS];
    int64_t begin, end;
} wick_state_part;
/* Of an OPTIM state of that name and shape these elements alone, a vector, where other processes have the others. As
 * wick_model_state; asked for again it must be the same part. wick_checkpoint_load takes the part out of a file that
 * has the whole; wick_save wants the whole (wick_save_options.whole). */
WICK_API wick_tensor *wick_model_state_part(wick_model *model, const char *name, wick_dtype dtype, int rank,
                                            const int64_t *dims, int64_t begin, int64_t end, wick_init init);
/* Which part of that state the model has; false: it has the whole, or nothing of it. */
WICK_API bool wick_model_part(const wick_model *model, const char *name, wick_state_part *part);
/* Makes x, a tensor that holds data (also wick_wrap's and wick_map_file's), the state of that whole name: for readers
 * of files. The model keeps its own reference. */
WICK_API WICK_MUST_CHECK wick_status wick_model_adopt(wick_model *model, const char *name, wick_role role,
                                                      wick_tensor *x);
/* Puts x in the place of the PARAM or BUFFER state of that whole name, of any shape: for a network whose head is
 * exchanged. What was recorded with the old one keeps it; make the optimizer afterwards. WICK_ERR_INVALID: there is no
 * such state. */
WICK_API WICK_MUST_CHECK wick_status wick_model_replace(wick_model *model, const char *name, wick_tensor *x);
/* Takes the PARAM or BUFFER state of that whole name out, with its aliases: for a network that a part is cut off. What
 * was recorded with it keeps it; make the optimizer afterwards. Places of those behind it (wick_model_at) move up by
 * one. False: there is no such state. */
WICK_API bool wick_model_remove(wick_model *model, const char *name);
WICK_API int wick_model_count(const wick_model *model);
typedef struct wick_named {
    const char *name;
    wick_role role;
    wick_tensor *tensor;
    bool frozen;
} wick_named;
WICK_API wick_named wick_model_at(const wick_model *model, int i); /* in order of creation */
/* NULL: none, or one of which the model has a part alone. */
WICK_API wick_tensor *wick_model_find(const wick_model *model, const char *name);
/* Weight sharing: a second name of a state that exists. Whoever asks for it finds that state: wick_model_find, and
 * layers built afterwards, when dtype and shape agree, so that wick_model_alias(model, "lm_head.weight", "wte.weight")
 * ties what wick_nn_linear(model, "lm_head" ...) reads. Names are whole paths. Optimizers, patterns and wick_model_at
 * know the state by its first name. wick_save writes it once and says the rest in metadata as safetensors' save_model
 * does (alias: name); files that have it under either name are read, or under both with the same bytes.
 * WICK_ERR_INVALID: there is no state `name`, or already one called alias. */
WICK_API WICK_MUST_CHECK wick_status wick_model_alias(wick_model *model, const char *alias, const char *name);
/* Alias i and the name it is one of; false past the last. */
WICK_API bool wick_model_alias_at(const wick_model *model, int i, const char **alias, const char **name);
/* Freezes the PARAM and BUFFER states of now whose name matches the pattern, or thaws them: "conv1.*", "*.bias"; * is
 * any text, ? any one byte, and | separates alternatives: "*.bias|bn*". A frozen parameter is left out by optimizers
 * whose first step is recorded later: no gradient is computed for it. A batch norm whose running_mean or running_var is
 * frozen normalises by these also in training and leaves them. Files don't keep it. WICK_ERR_INVALID: no state matches.
 */
WICK_API WICK_MUST_CHECK wick_status wick_model_freeze(wick_model *model, const char *pattern, bool frozen);
/* Names of layers made between push and pop are prefixed "name.". */
WICK_API WICK_MUST_CHECK wick_status wick_model_push(wick_model *model, const char *name);
WICK_API void wick_model_pop(wick_model *model);

/* ---- layers ------------------------------------------------------------------------------------------------------ */

/* x [..., in] -> [..., out]; NAME.weight [out, in], NAME.bias [out], both uniform in +-1/sqrt(in) unless
 * wick_model_set_init says otherwise. */
WICK_API wick_tensor *wick_nn_linear(wick_model *model, const char *name, wick_tensor *x, int64_t out);
typedef struct wick_nn_conv_options {
    int64_t stride, dilation, groups; /* 0: 1 */
    int64_t pad;                      /* zeros on both sides of every dim */
    /* where dims differ, outermost first; 0: the one number for all */
    int64_t kernels[3], strides[3], dilations[3], pads[3];
    /* instead of pad: so many zeros that the output has ceil(extent / stride); one more after than before */
    bool same;
    bool no_bias;
} wick_nn_conv_options;
/* x [N, C, dims] -> [N, out, ...] with a kernel of that extent in each of the 1 to 3 dims. NAME.weight [out, C /
 * groups, kernel ...] and NAME.bias [out], both uniform in +-1/sqrt(C / groups * elements of a kernel), as PyTorch's,
 * unless wick_model_set_init says otherwise. options may be NULL. */
WICK_API wick_tensor *wick_nn_conv(wick_model *model, const char *name, wick_tensor *x, int64_t out, int64_t kernel,
                                   const wick_nn_conv_options *options);
WICK_API wick_tensor *wick_nn_layer_norm(wick_model *model, const char *name, wick_tensor *x);
/* wick_rms_norm, wick_group_norm and wick_instance_norm: NAME.weight from 1, and NAME.bias from 0 but for RMS norm; eps
 * 1e-5. An instance norm has them only if affine. */
WICK_API wick_tensor *wick_nn_rms_norm(wick_model *model, const char *name, wick_tensor *x);
WICK_API wick_tensor *wick_nn_group_norm(wick_model *model, const char *name, wick_tensor *x, int64_t groups);
WICK_API wick_tensor *wick_nn_instance_norm(wick_model *model, const char *name, wick_tensor *x, bool affine);
/* Axis 1 of [N, C, ...]. Training: batch statistics, and running_mean/running_var move by momentum 0.1 (variance
 * unbiased, as PyTorch's). Evaluation, or frozen: the running ones. eps 1e-5. */
WICK_API wick_tensor *wick_nn_batch_norm(wick_model *model, const char *name, wick_tensor *x);
WICK_API wick_tensor *wick_nn_dropout(wick_model *model, wick_tensor *x, double p);

typedef struct wick_nn_rnn_options {
    int64_t layers;     /* 0: 1; each sees the states of the one before */
    bool bidirectional; /* D = 2 directions: y has the forward states, then the backward ones */
    bool batch_first;   /* x and y are [B, T, ...] */
    bool no_bias;
    bool relu;          /* wick_nn_rnn: relu instead of tanh */
    double dropout;     /* in training, of what goes from one layer to the next */
    int64_t projection; /* wick_nn_lstm: h is projected to so many, fewer than hidden, by NAME.weight_hr_lk [projection,
                           hidden] (Sak, Senior, Beaufays 2014; PyTorch's proj_size): y, h and weight_hh have this width
                           then. 0: it is not */
    bool plain; /* the loop in plain ops, by wick_scan_loop: slower, but its gradients have gradients, which those of
                   the ops rnn, lstm and gru don't; lengths beyond T count as T. A layer with a projection is plain */
    wick_tensor *h0, *c0, *lengths; /* [layers * D, B, hidden], [B], or NULL: wick_rnn_inputs has more */
} wick_nn_rnn_options;
/* x [T, B, in] -> [T, B, D * hidden]; *h_n, *c_n (each may be NULL): the last states, [layers * D, B, hidden]. States
 * are named and laid out as PyTorch's: NAME.weight_ih_l0 [G hidden, in], weight_hh_l0 [G hidden, hidden], bias_ih_l0,
 * bias_hh_l0 [G hidden], of layer k _lk, of the backward direction _reverse at the end; all uniform in
 * +-1/sqrt(hidden). wick/sequence.h has the formulas. options may be NULL. */
WICK_API wick_tensor *wick_nn_rnn(wick_model *model, const char *name, wick_tensor *x, int64_t hidden,
                                  const wick_nn_rnn_options *options, wick_tensor **h_n);
WICK_API wick_tensor *wick_nn_lstm(wick_model *model, const char *name, wick_tensor *x, int64_t hidden,
                                   const wick_nn_rnn_options *options, wick_tensor **h_n, wick_tensor **c_n);
WICK_API wick_tensor *wick_nn_gru(wick_model *model, const char *name, wick_tensor *x, int64_t hidden,
                                  const wick_nn_rnn_options *options, wick_tensor **h_n);

/* A layer as a function, for lists of them. */
typedef wick_tensor *(*wick_layer_fn)(wick_model *model, const char *name, wick_tensor *x, const void *arg);
typedef struct wick_layer {
    const char *name;
    wick_layer_fn fn;
    const void *arg;
} wick_layer;
WICK_API wick_tensor *wick_nn_sequential(wick_model *model, int n, const wick_layer *layers, wick_tensor *x);

/* ---- summary ----------------------------------------------------------------------------------------------------- */

/* A layer of a network, or an op that is part of none. */
typedef struct wick_layer_info {
    const char *kind;   /* "conv", "linear", "batch_norm", "layer_norm", or the op: "relu", "max_pool", "add" */
    wick_spec output;   /* output.name is the layer's, "res1.conv1"; of an op that of the state it reads, or "" */
    int64_t parameters; /* numbers that are trained, where they are first used */
    double flops;       /* of one forward pass; a multiply-add counts 2 */
    int64_t bytes;      /* of the output */
} wick_layer_info;
typedef struct wick_summary_totals {
    int64_t parameters;
    double flops, bytes;
    size_t arena_bytes; /* what the plan of a forward pass needs for intermediates: buffers share memory */
} wick_summary_totals;
typedef struct wick_summary wick_summary;
/* Records fn, which sets out[0], in evaluation mode for inputs of these specs, and reads the graph. Makes the states
 * that are not there yet. FLOPs are those of the ops as recorded, before any pass. Reshapes and other views, which move
 * nothing, are no rows. */
WICK_API WICK_MUST_CHECK wick_status wick_model_summary(wick_model *model, wick_function fn, void *user, int n_in,
                                                        const wick_spec *in, wick_summary **out);
WICK_API void wick_summary_free(wick_summary **summary);
WICK_API int wick_summary_count(const wick_summary *summary);
/* in an order of computation; lives as long as the summary */
WICK_API wick_layer_info wick_summary_at(const wick_summary *summary, int i);
WICK_API wick_summary_totals wick_summary_total(const wick_summary *summary);

/* ---- gradient check ---------------------------------------------------------------------------------------------- */

/* A scalar function of n tensors. */
typedef wick_tensor *(*wick_scalar_function)(wick_context *ctx, wick_tensor *const *x, void *user);
typedef struct wick_gradcheck_report {
    double worst;   /* largest |analytic - numeric| / max(1, |analytic|, |numeric|) */
    int tensor;     /* where */
    int64_t element;
    double analytic, numeric;
} wick_gradcheck_report;
/* Compares wick_grad with central differences of step h (0: 1e-6) in f64: x are f64 data tensors, changed while it runs
 * and restored. Error WICK_ERR_MISMATCH when worst exceeds tolerance (0: 1e-6). report may be NULL. */
WICK_API WICK_MUST_CHECK wick_status wick_gradcheck(wick_context *ctx, wick_scalar_function fn, void *user, int n,
                                                    wick_tensor *const *x, double h, double tolerance,
                                                    wick_gradcheck_report *report);

#ifdef __cplusplus
}
#endif

#ifndef WICK_NO_SITES
/* clang-format off */
#define wick_model_state(...) WICK_TENSOR_HERE(wick_model_state(__VA_ARGS__))
#define wick_nn_linear(...) WICK_TENSOR_HERE(wick_nn_linear(__VA_ARGS__))
#define wick_nn_conv(...) WICK_TENSOR_HERE(wick_nn_conv(__VA_ARGS__))
#define wick_nn_layer_norm(...) WICK_TENSOR_HERE(wick_nn_layer_norm(__VA_ARGS__))
#define wick_nn_rms_norm(...) WICK_TENSOR_HERE(wick_nn_rms_norm(__VA_ARGS__))
#define wick_nn_group_norm(...) WICK_TENSOR_HERE(wick_nn_group_norm(__VA_ARGS__))
#define wick_nn_instance_norm(...) WICK_TENSOR_HERE(wick_nn_instance_norm(__VA_ARGS__))
#define wick_nn_batch_norm(...) WICK_TENSOR_HERE(wick_nn_batch_norm(__VA_ARGS__))
#define wick_nn_rnn(...) WICK_TENSOR_HERE(wick_nn_rnn(__VA_ARGS__))
#define wick_nn_lstm(...) WICK_TENSOR_HERE(wick_nn_lstm(__VA_ARGS__))
#define wick_nn_gru(...) WICK_TENSOR_HERE(wick_nn_gru(__VA_ARGS__))
#define wick_nn_sequential(...) WICK_TENSOR_HERE(wick_nn_sequential(__VA_ARGS__))
#define wick_nn_dropout(...) WICK_TENSOR_HERE(wick_nn_dropout(__VA_ARGS__))
/* clang-format on */
#endif
#endif
