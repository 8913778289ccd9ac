/* wick/compress.h: smaller and faster models. A trained network is a function that records a graph; what is here
 * records the same network in fewer bits, or without the channels that count least. docs/compress.md has the formulas
 * and their sources.
 *
 *   wick_quantizer *q;
 *   wick_quantizer_new(ctx, model, network, &net, 1, &spec, 1, NULL, &q);
 *   while (a batch of the training data) wick_quantizer_observe(q, (const void *[]){batch});
 *   wick_quantizer_finish(q);
 *   wick_compile(ctx, wick_quantizer_apply, q, 1, &spec, 1, NULL, &plan);                    integers, of any batch
 *   wick_onnx_save(wick_quantizer_model(q), wick_quantizer_apply, q, 1, &spec, 1, "net.onnx", NULL); */
#ifndef WICK_COMPRESS_H
#define WICK_COMPRESS_H

#include "wick/nn.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How the range of an activation follows from what was observed. All but MOVING are the same in any order of batches.
 */
typedef enum wick_calibration {
    WICK_CALIBRATE_MINMAX,     /* from the smallest number to the largest */
    WICK_CALIBRATE_MOVING,     /* moving averages of each batch's smallest and largest (Jacob et al. 2018) */
    WICK_CALIBRATE_PERCENTILE, /* what holds options.percentile of all numbers */
    WICK_CALIBRATE_ENTROPY,    /* least Kullback-Leibler divergence (Migacz 2017, "8-bit inference with TensorRT") */
    WICK_CALIBRATE_MSE         /* least mean square of what rounding and clipping change */
} wick_calibration;

/* Weights alone in 8 bits: activations stay f32, and nothing need be observed. Weights of convolutions too. */
typedef enum wick_weights_only {
    WICK_WEIGHTS_NOT_ALONE, /* activations too, or what options.block says */
    WICK_WEIGHTS_I8,        /* -127..127, no zero point */
    WICK_WEIGHTS_F8         /* f8 of 4 bits of exponent (WICK_F8_E4M3FN), the largest magnitude at 448 */
} wick_weights_only;

/* How weights of 4 bits in blocks are rounded, and those of weight_bits up to 6, which have the first two. The first
 * and the third go by what was observed, where at most 4,096 numbers are summed, and round to nearest without. */
typedef enum wick_weight_rounding {
    WICK_ROUND_GPTQ,     /* later weights of a column make up for earlier ones (Frantar et al. 2022) */
    WICK_ROUND_NEAREST,  /* each as it is */
    WICK_ROUND_ADAROUND, /* up or down as changes the layer's results least (Nagel et al. 2020) */
    WICK_ROUND_HQQ       /* to nearest, by scales that fit most weights best (Badri and Shaji 2023), without data */
} wick_weight_rounding;

typedef struct wick_quantizer_options {
    /* I8, F8: w = q scale, with a scale for each output channel, options.per_tensor one for all, or with `block` one
     * for each so many along what is summed, any number from 2 on. Biases stay f32 */
    wick_weights_only weights_only;
    /* 0: 8 bits for weights and activations. Else only products of matrices are layers, and only their weights are
     * quantised: to 4 bits in blocks of so many along what is summed, a power of 2 from 16 on (wick_quantize_blocks).
     * Nothing need be observed then; what is, makes later weights of a column make up for the rounding of earlier ones
     * (GPTQ, Frantar et al. 2022), where at most 4,096 are summed */
    int64_t block;
    wick_calibration calibration;
    double percentile; /* 0: 99.999 */
    double momentum;   /* of MOVING, how much of the average stays at each batch; 0: 0.9 */
    bool per_tensor;   /* one scale for all of a weight, instead of one for each output channel */
    /* of 8 bits for activations: how many a weight has, from 2 to 8; 0: 8. From 6 down a scale is that of least square
     * error instead of the largest weight's, weights are rounded as `rounding` says, and training learns steps whatever
     * learn_steps says; not with per_tensor. With up to 4 they are states of dtype i4 */
    int weight_bits;
    /* layers whose weights have 8 all the same, by patterns of their names as wick_model_freeze's; NULL: the first and
     * the last one, "": none */
    const char *wide;
    /* of an activation: 8, or 16, -32767..32767 with no zero point, for numbers that must be exact, such as those of a
     * regression; 0: 8. With weight_bits 8 */
    int activation_bits;
    /* weights of 7 bits, -63..63: ONNX Runtime's sums of u8 times i8 saturate on CPUs with AVX2 and without VNNI, and
     * do not then. Wick's are exact either way */
    bool reduce_range;
    /* biases of convolutions make up for what rounding of weights changes in the mean of their outputs, by the means of
     * what they took (Nagel et al. 2019, "Data-free quantization through weight equalization and bias correction",
     * section 4.2); not after training with rounded weights, and not with block */
    bool correct_bias;
    /* Scales that move between layers first, so that the function stays what it is, through ReLU, pooling and biases
     * and not through other functions. equalise: weights alone decide, before anything is observed (Nagel et al. 2019,
     * cross-layer equalisation, section 4.1). smooth: from above 0 to 1, how much of the range of an activation goes
     * into the weights that take it (Xiao et al. 2022, SmoothQuant; 0.5): wick_quantizer_smooth. awq, with block: by
     * what weights take, with the least error of the results (Lin et al. 2023), when wick_quantizer_finish is first
     * called with anything observed */
    bool equalise, awq;
    double smooth;
    /* with block, or of weight_bits up to 6. GPTQ of the latter: scales too are those with the least error of the
     * layer's results over what was observed, less its mean where the bias makes up for that (correct_bias). Observing
     * takes about twice as long, and 16 K^2 bytes for a layer that sums K numbers, of each group of a convolution */
    wick_weight_rounding rounding;
    /* training with rounded numbers learns the steps of weights and activations too, as parameters W_step and
     * input_step of wick_quantizer_trained (Esser et al. 2020, "Learned Step Size Quantization"); zero points stay */
    bool learn_steps;
    const char *keep; /* layers that stay in floats, by patterns of their names as wick_model_freeze's; NULL: none */
} wick_quantizer_options;

typedef struct wick_quantizer wick_quantizer;

/* Finds the layers of what fn records (wick/plan.h): convolutions and products of activations with weights that follow
 * from states or constants alone, in f32. Batch norms behind them are part of their weights. `model` has fn's states
 * and is in evaluation (wick_model_set_training(model, false)); it must outlive the quantizer, and is not changed.
 * Specs are those of the batches that are observed. options may be NULL. WICK_ERR_UNSUPPORTED: fn assigns states, draws
 * random numbers, or has loops, branches, custom ops or quantised parts. WICK_ERR_INVALID: there is no such layer, or
 * options.keep names none. */
WICK_API WICK_MUST_CHECK wick_status wick_quantizer_new(wick_context *ctx, wick_model *model, wick_function fn,
                                                        void *user, int n_in, const wick_spec *in, int n_out,
                                                        const wick_quantizer_options *options, wick_quantizer **out);
/* Its model goes with it; plans of wick_quantizer_apply live on. Null-safe, nulls. */
WICK_API void wick_quantizer_free(wick_quantizer **q);

/* Runs fn in floats on one batch and counts what its activations are, in memory that doesn't grow: 33 KiB for each
 * activation that is to be quantised. WICK_ERR_INVALID: NaN or Inf in one of them, which is named; nothing of the batch
 * counts then. */
WICK_API WICK_MUST_CHECK wick_status wick_quantizer_observe(wick_quantizer *q, const void *const *in);

/* With options.smooth, once, after observations: moves scales by what was seen. What was observed counts no more, and
 * is to be observed again, before wick_quantizer_finish. WICK_ERR_INVALID: not with smooth, or twice, or nothing was
 * observed. */
WICK_API WICK_MUST_CHECK wick_status wick_quantizer_smooth(wick_quantizer *q);

/* Makes scales and integer weights of what was observed. Again after wick_quantizer_keep or more observations; states
 * of the model that it made before are other ones then, so that plans are to be compiled again. WICK_ERR_INVALID:
 * nothing was observed, or weights have NaN or Inf. */
WICK_API WICK_MUST_CHECK wick_status wick_quantizer_finish(wick_quantizer *q);

/* A wick_function, whose user is the quantizer: what fn records, for inputs of any batch, quantised. Activations are u8
 * with a zero point, weights i8 without one in -127..127, biases of convolutions i32. Quantised are: what a layer
 * takes; of convolutions also what is added, averaged or joined behind them. Each stands between a quantize and a
 * dequantize node (wick/quantize.h), which plans compute in integers. */
WICK_API WICK_MUST_CHECK wick_status wick_quantizer_apply(wick_context *ctx, wick_tensor *const *in, wick_tensor **out,
                                                          void *user);
/* The states of wick_quantizer_apply, once it is finished; freed with q. A weight W of the model is W (i8) and W_scale
 * here, the bias B of a convolution B (i32) and B_scale; in 4 bits W is u8 [n, blocks, block / 2], of weights alone in
 * 8 bits and blocks [channels blocks, block]. Others are those of the model. */
WICK_API wick_model *wick_quantizer_model(wick_quantizer *q);

/* Quantisation-aware training. start_training, once the quantizer is finished, makes a model of f32 parameters: the
 * weights of the layers, with the batch norms behind them, under their names, and what else is trained of fn's. For an
 * optimizer (wick/optim.h) of that model, apply_trained records fn as wick_quantizer_apply would record it after
 * wick_quantizer_finish: with the same bits in every result. Gradients go straight through, activations' within their
 * range. Scales of weights
 * follow the weights, ranges of activations stay. wick_quantizer_finish then takes what was learned. The model is freed
 * with q. */
WICK_API WICK_MUST_CHECK wick_status wick_quantizer_start_training(wick_quantizer *q);
WICK_API wick_model *wick_quantizer_trained(wick_quantizer *q); /* NULL: none was made */
WICK_API WICK_MUST_CHECK wick_status wick_quantizer_apply_trained(wick_context *ctx, wick_tensor *const *in,
                                                                  wick_tensor **out, void *user);

typedef struct wick_quantizer_layer {
    const char *name; /* of its weights, in the model; "conv_3", counted from 1, where they have none */
    const char *op;   /* "conv", "matmul" */
    bool kept;        /* it stays in floats */
    int64_t weights;  /* numbers */
    /* 10 log10 of the mean square of the weights over that of what rounding changes; Inf: nothing. NaN before
     * wick_quantizer_finish, and where it is kept */
    double weight_sqnr;
    float low, high; /* range of its input; NaN before wick_quantizer_finish */
    int bits;        /* of a weight; 32: it is kept */
    int64_t bytes;   /* that its weights and bias take with their scales, as they are held */
    /* What its rounding is expected to add to the loss, by wick_quantizer_weigh; NaN before wick_quantizer_finish,
     * where it is kept, and where nothing was weighed */
    double cost;
} wick_quantizer_layer;
WICK_API int wick_quantizer_layers(const wick_quantizer *q);
WICK_API wick_quantizer_layer wick_quantizer_layer_at(const wick_quantizer *q, int i); /* in order; cleared outside */
/* Leaves layer i in floats, or not; wick_quantizer_finish is called after it. */
WICK_API void wick_quantizer_keep(wick_quantizer *q, int i, bool kept);

/* Adds the squared gradients of each sample of a batch, by the weights of all layers and by what they take: the
 * diagonal of the empirical Fisher information, whose half times the square of a small change of the weights is what
 * that adds to the loss (LeCun, Denker and Solla 1990, "Optimal Brain Damage"; Theis et al. 2018, "Faster gaze
 * prediction with dense networks and Fisher pruning", eq. 4). The loss is the cross-entropy of fn's first result
 * [n, classes] and labels i64 [n]. labels NULL: that of normal distributions of variance 1 around all results in
 * floats, with residuals drawn from them (ctx's seed): for numbers rather than classes. Each sample is run alone,
 * whatever the specs' batch: inputs have the samples first. WICK_ERR_INVALID: with labels and without in turn,
 * gradients that are NaN or Inf, which count for nothing, or scales are yet to move: wick_quantizer_smooth comes before
 * it, and with options.awq a wick_quantizer_finish of what was observed. */
WICK_API WICK_MUST_CHECK wick_status wick_quantizer_weigh(wick_quantizer *q, const void *const *in,
                                                          const int64_t *labels);
/* Which numbers each layer has: of those that options.keep doesn't name either what the options say, 8 bits if that is
 * fewer, or floats, so that all weights and biases take at most so many bytes (wick_quantizer_layer.bytes, together)
 * and the sum of costs is the least: fisher (w - rounded w)^2 / 2 over the weights, and over what the layer takes that
 * with step^2 / 12 in place of the square. Where nothing is as small, the smallest. What options.wide names has 8 bits
 * at least; first and last layers have none by themselves. *cost: that sum; may be NULL. wick_quantizer_finish is
 * called after it. WICK_ERR_INVALID: nothing was weighed or observed, or weights are trained already. */
WICK_API WICK_MUST_CHECK wick_status wick_quantizer_choose(wick_quantizer *q, int64_t bytes, double *cost);

/* ---- pruning ----------------------------------------------------------------------------------------------------- */

/* How much a channel counts, over the weights that go with it: of the layer that makes it, and of those that take it.
 */
typedef enum wick_importance {
    WICK_IMPORTANCE_L2,    /* root of the sum of squares */
    WICK_IMPORTANCE_L1,    /* sum of magnitudes (Li et al. 2017) */
    WICK_IMPORTANCE_GAMMA, /* magnitude of its batch norm's scale (Liu et al. 2017, "network slimming") */
    WICK_IMPORTANCE_TAYLOR /* what the loss would change by without it, (sum g w)^2 (Molchanov et al. 2017; 2019) */
} wick_importance;

/* What weights of convolutions of several taps become, of low rank, by energy or budget. */
typedef enum wick_filters {
    WICK_FILTERS_WHOLE,  /* they stay */
    WICK_FILTERS_TUCKER, /* points, a core of the taps between fewer channels, points (Kim et al. 2016, Tucker-2) */
    WICK_FILTERS_SPATIAL /* a column of taps, then a row of them (Jaderberg et al. 2014, scheme 2); of two dims */
} wick_filters;

typedef struct wick_pruning {
    double ratio; /* of channels to remove, from 0 to below 1; ignored where macs is set */
    /* share of the multiply-adds that may stay, between 0 and 1: the smallest ratio with at most so many. 0: by ratio
     */
    double macs;
    bool global;      /* rank over all layers, by importance over the layer's mean; else each layer loses its share */
    int64_t multiple; /* channels left are so many or a multiple, where the layer has more; 0: 8 */
    /* weights of products and of convolutions of 1 x 1 become products of two of low rank, where that takes fewer
     * multiply-adds, by singular values: the least rank with this share of the sum of their squares; 0: none */
    double energy;
    double budget; /* or the largest rank with at most this share of its multiply-adds; 0: none */
    wick_filters filters; /* the same of other convolutions of one group; Tucker's two ranks are the same share */
    wick_importance importance;
    const char *keep; /* layers that stay, by patterns of their names; NULL: none */
} wick_pruning;

/* Structural pruning: whole channels go, with all that depends on them, and what is left is an ordinary, smaller
 * network. Which channels go together follows from the ops: residual adds, concat, grouped and depthwise convolutions,
 * squeeze-excite, flattening, attention heads. Where an op can't be followed its channels stay, and
 * wick_pruner_layer_at says which op that is. */
typedef struct wick_pruner wick_pruner;

/* fn is read as by wick_quantizer_new: in evaluation, with no effects. `model` must outlive the pruner, and is not
 * changed but by wick_pruner_zero.  */
WICK_API WICK_MUST_CHECK wick_status wick_pruner_new(wick_context *ctx, wick_model *model, wick_function fn, void *user,
                                                     int n_in, const wick_spec *in, int n_out, wick_pruner **out);
WICK_API void wick_pruner_free(wick_pruner **p); /* its model goes with it; null-safe, nulls */

/* For WICK_IMPORTANCE_TAYLOR: adds the gradients of the mean cross-entropy of fn's first result [N, classes] and labels
 * i64 [N], for a batch as the specs say. */
WICK_API WICK_MUST_CHECK wick_status wick_pruner_weigh(wick_pruner *p, const void *const *in, const int64_t *labels);
/* Chooses channels and makes the smaller model; again: from the whole one. WICK_ERR_INVALID: no such ratio, no channel
 * that can go, no layer that `keep` names, or no ratio gets down to macs; weights have NaN or Inf. */
WICK_API WICK_MUST_CHECK wick_status wick_pruner_cut(wick_pruner *p, const wick_pruning *how);
/* A wick_function, whose user is the pruner: what fn records, without those channels, for inputs of any batch.
 * Parameters are states of wick_pruner_model and can be trained; batch norms use the statistics that they have. */
WICK_API WICK_MUST_CHECK wick_status wick_pruner_apply(wick_context *ctx, wick_tensor *const *in, wick_tensor **out,
                                                       void *user);
WICK_API wick_model *wick_pruner_model(wick_pruner *p); /* NULL before wick_pruner_cut; of the source's names */

/* Batch norm's statistics once more, since other channels are added up now: observe runs the smaller network with those
 * of the batch, settle gives it their mean over all batches. */
WICK_API WICK_MUST_CHECK wick_status wick_pruner_observe(wick_pruner *p, const void *const *in);
WICK_API WICK_MUST_CHECK wick_status wick_pruner_settle(wick_pruner *p); /* nothing was observed: nothing changes */

/* Sets weights of the smaller model to 0: of each weight with two dims or more that a convolution or product reads, the
 * smallest in magnitude. m > 0: n of m neighbours along what is summed stay (2 of 4). Else `sparsity` of all go. To be
 * called after each step of training, so that they stay 0; what was 0 may come back where its weight has grown. */
WICK_API WICK_MUST_CHECK wick_status wick_pruner_sparsify(wick_pruner *p, double sparsity, int n, int m);
/* Share of zeros in the weights that wick_pruner_sparsify is about. */
WICK_API double wick_pruner_sparsity(wick_pruner *p);

/* Sets the parameters of the removed channels to 0 in the source, which then computes what wick_pruner_apply does. */
WICK_API WICK_MUST_CHECK wick_status wick_pruner_zero(wick_pruner *p);

/* Multiply-adds of convolutions and products for inputs as the specs say; before: of the whole network. */
WICK_API void wick_pruner_macs(const wick_pruner *p, double *before, double *after);
typedef struct wick_pruner_layer {
    const char *name;       /* of the first weight that has these channels, or whose channels can't be removed */
    int axis;               /* of that weight */
    int64_t channels, left; /* before and after */
    const char *stays;      /* the op that can't be followed, "output"; NULL: they can be removed */
} wick_pruner_layer;
WICK_API int wick_pruner_layers(const wick_pruner *p);
WICK_API wick_pruner_layer wick_pruner_layer_at(const wick_pruner *p, int i); /* in order; cleared outside */

/* ---- layers before and after ------------------------------------------------------------------------------------- */

/* Runs two networks on the same batches: fn[0], whose states are the model's, and what was made of it, such as
 * wick_quantizer_apply or an ONNX file. Their convolutions and products, with batch norms in the weights before them,
 * are paired in order, by their first results. Both are read as by wick_quantizer_new, in evaluation.
 * WICK_ERR_UNSUPPORTED: they have other numbers of layers. */
typedef struct wick_layer_errors wick_layer_errors;
WICK_API WICK_MUST_CHECK wick_status wick_layer_errors_new(wick_context *ctx, wick_model *model,
                                                           const wick_function fn[2], void *const user[2], int n_in,
                                                           const wick_spec *in, wick_layer_errors **out);
WICK_API void wick_layer_errors_free(wick_layer_errors **errors); /* null-safe, nulls */
WICK_API WICK_MUST_CHECK wick_status wick_layer_errors_observe(wick_layer_errors *errors, const void *const *in);
typedef struct wick_layer_error {
    const char *name, *op; /* of its weights; "conv_3", counted from 1, where they have none */
    /* 10 log10 of the sum of squares of its results over that of their differences, over all batches; Inf: there are
     * none. NaN: its results have other extents, or nothing was observed */
    double sqnr;
} wick_layer_error;
WICK_API int wick_layer_errors_count(const wick_layer_errors *errors);
WICK_API wick_layer_error wick_layer_errors_at(const wick_layer_errors *errors, int i); /* cleared outside */

/* ---- hints ------------------------------------------------------------------------------------------------------- */

/* Terms of a loss by which a network learns from a layer of another one, besides its results (wick_kl_div). Both are of
 * one float dtype and agree in all dims but their channels, dim 1; no gradient goes into the teacher. 0-d; poisoned on
 * error. wick_model_watch finds layers by name.
 *
 * features: the mean of (r(student) - teacher)^2, where r, a convolution of one tap with a bias (of [N, C]: a linear
 * layer), is learned with the student: states NAME.weight and NAME.bias of the model (Romero et al. 2015, "FitNets:
 * Hints for Thin Deep Nets", eq. 3, as a mean). */
WICK_API wick_tensor *wick_hint_features(wick_model *model, const char *name, wick_tensor *student,
                                         wick_tensor *teacher);
/* attention: the mean of squares of the differences of both maps, [N, places]: the mean over the channels of squares,
 * over the map's length (Zagoruyko and Komodakis 2017, "Paying More Attention to Attention", eq. 2 with p = 2, squared,
 * as in their code; they take a weight of 1000). Needs a dim behind the channels. */
WICK_API wick_tensor *wick_hint_attention(wick_tensor *student, wick_tensor *teacher);

#ifdef __cplusplus
}
#endif
#ifndef WICK_NO_SITES
#define wick_hint_features(...)  WICK_TENSOR_HERE(wick_hint_features(__VA_ARGS__))
#define wick_hint_attention(...) WICK_TENSOR_HERE(wick_hint_attention(__VA_ARGS__))
#endif
#endif
