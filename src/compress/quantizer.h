/* quantizer.h: what the files of the quantizer share. What a function records is read several times, each time by the
 * same walk over a subject (subject.h): to find its layers and activations (reading.c), to read its weights and observe
 * its activations (quantizer.c), and to record it again with quantize and dequantize nodes in it (replay.c). */
#ifndef WICK_COMPRESS_QUANTIZER_H
#define WICK_COMPRESS_QUANTIZER_H

#include "compress/calibrate.h"
#include "compress/subject.h"

#include <math.h>

enum { LEVELS = 256, MOST_16 = 32767 };

typedef struct layer {
    char *name;
    const wick_op *op;
    wick_type type; /* of the weights, as the product reads them */
    int axis;       /* of output channels */
    float *weights; /* with the scales behind the product */
    float *bias;    /* of a convolution, likewise; or NULL */
    char *bias_name;
    bool kept;
    int bits;  /* of a weight, with 8 for activations */
    int site;  /* of what it takes */
    int group; /* of what it takes; -1: none */
    double sqnr;
    double *mean; /* of a convolution whose bias is corrected: sums over batches of the mean of each channel it took */
    int64_t channels; /* of these */
    int64_t parts;    /* groups of a convolution; 0 and 1: one */
    /* the sum of x x^T over what it took, [K, K]: of few bits with a scale for each channel [parts, K + 1, K + 1],
     * where the last of x is 1; NULL: not observed */
    double *gram;
    double *fisher;      /* sums of squared gradients over samples, as the weights lie; NULL: none was weighed */
    double input_fisher; /* the same of what it takes, summed over all of that */
    double cost;         /* of the loss, by both: what rounding its weights and what it takes adds; NaN: not known */
    bool fixed;          /* kept by name */
    int least_bits;      /* of its weights, that choosing may give */
    wick_tensor *q, *scale, *bias_q, *bias_scale; /* states of the quantizer's model; NULL: not made */
    wick_tensor *step;                            /* learned scales of its weights, likewise; NULL: none */
    wick_tensor *trained, *bias_trained;          /* states of the model that is trained, in f32; NULL: there is none */
} layer;

/* An activation: result `out` of the node that is the ordinal-th of its op. What only moves its elements, or takes the
 * largest of them, is the same one. */
typedef struct site {
    const wick_op *op;
    int ordinal, out;
    int joined;                  /* the first of those that a concat joins; itself: none */
    wick_calibrator *calibrator; /* NULL: it stays in floats */
    double low, high;
    double scale;
    int zero;
    wick_tensor *step; /* the scale that is learned; NULL: none */
} site;

/* An activation that only layers read, whose channels can be scaled (moves.c). */
typedef struct group {
    int axis;                 /* of v */
    int64_t channels, repeat; /* of v, and places of its axis that each has: of what is flattened */
    int made_by;              /* the layer that makes it; -1: others do */
    bool moved;
    double *s;    /* by channel: v is divided by it */
    double *most; /* the largest magnitude that was seen, for SmoothQuant */
} group;

struct wick_quantizer {
    wick_context *ctx;
    wick_model *source, *model;
    wick_model *trained;  /* NULL: it isn't */
    wick_tensor **copies; /* of the source's states, by their number: those that are trained with the layers */
    int n_copies;
    wick_function fn;
    void *user;
    int n_in, n_out;
    wick_spec *in;
    wick_quantizer_options options;
    wick_arena arena;
    layer *layers;
    int n_layers;
    site *sites;
    int n_sites, n_observed;
    group *groups;
    int n_groups;
    bool smoothed, awq_done;
    wick_plan *plan; /* of the activations that are observed */
    wick_workspace *workspace;
    void **seen;
    int64_t observations;
    wick_plan *weighing; /* gradients of one sample, with labels, or by the outputs alone */
    wick_workspace *weigher;
    bool by_labels;
    int64_t weighed; /* samples */
    bool finished;
};

enum { FEW_BITS = 6 }; /* so many or fewer have scales that clip */
/* The integers of its weights go from -most to most. */
static inline int most_weight(const layer *l) { return (1 << (l->bits - 1)) - 1; }

static inline bool is_wide(const wick_quantizer *q) { return q->options.activation_bits == 16; }
/* The integers that an activation has. */
static inline int lowest(const wick_quantizer *q) { return is_wide(q) ? -MOST_16 : 0; }
static inline int highest(const wick_quantizer *q) { return is_wide(q) ? MOST_16 : LEVELS - 1; }

/* Activations stay in floats. */
static inline bool weights_alone(const wick_quantizer *q) { return q->options.block || q->options.weights_only; }
/* 4 bits in blocks, which only products have. */
static inline bool is_int4(const wick_quantizer *q) { return q->options.block && !q->options.weights_only; }

static inline wick_status out_of_memory(wick_context *ctx) {
    return wick_msg_set(&ctx->msg, WICK_ERR_NOMEM, "out of memory quantising");
}

/* ---- reading.c --------------------------------------------------------------------------------------------------- */

/* A constant that group's scales go into: over s along the axis, or, what the group's layers take, times s. */
typedef struct scaled_operand {
    const wick_node *node;
    int operand, axis, group; /* axis below 0: from the end */
    int64_t repeat;
    bool takes;
} scaled_operand;
typedef struct reading {
    wick_subject s;
    int *site;       /* by value: its number, or -1 */
    int *layer;      /* by node (position): its number, or -1 */
    bool *quantised; /* by site: each reader gets what its 8 bits say */
    int *group;      /* by value: its number, or -1 */
    scaled_operand *scaled;
    int n_scaled;
    bool *from_conv; /* by value: a convolution's result, or what elementwise ops, pools and moves make of some */
} reading;
bool wick_quantizer_is_move(const wick_node *node);
/* Reads what fn records for inputs like in[]. Whatever it returns, r->s is to be freed. */
wick_status wick_quantizer_read(wick_quantizer *q, reading *r, wick_context *ctx, wick_tensor *const *in);

/* ---- replay.c ---------------------------------------------------------------------------------------------------- */

/* What a walk over the subject makes of it. */
typedef enum purpose {
    FLOATS,
    QUANTISED,
    LIVE,   /* quantised likewise, by weights and steps that a plan trains: what QUANTISED will be of them */
    TRAINED /* in floats, with gradients; every value that is quantised, and every result, is what LIVE makes of it */
} purpose;

typedef struct replay {
    wick_quantizer *q;
    reading *r;
    purpose purpose;
    bool *needed;              /* by node */
    wick_tensor **made;        /* by value: as its node gives it */
    wick_tensor **read;        /* by value: as others read it */
    wick_tensor **steps;       /* of LIVE, by site: its scale; NULL: it has none so far */
    wick_tensor **weights;     /* of LIVE and FLOATS, by layer: as the product reads them */
    wick_tensor **taken;       /* of FLOATS, by layer: what it takes */
    const struct replay *live; /* of TRAINED */
} replay;

wick_status wick_replay_new(replay *p, wick_quantizer *q, reading *r, purpose why);
/* Reads what the function records for `in`, to be recorded again in floats. r->s is to be freed, whatever comes. */
wick_status wick_replay_floats(replay *p, wick_quantizer *q, reading *r, wick_context *ctx, wick_tensor *const *in);
static inline void wick_replay_need(const replay *p, const wick_value *v) { p->needed[v->node->position] = true; }
/* Records what is needed. */
wick_status wick_replay_run(const replay *p);
/* The whole of it: fn's outputs for these inputs. */
wick_status wick_quantizer_record(wick_quantizer *q, purpose why, wick_tensor *const *in, wick_tensor **out);

/* ---- gptq.c ------------------------------------------------------------------------------------------------------ */

enum { MOST_GRAM = 4096 }; /* K of layers that have one: 128 MiB */
/* x^T x of what each layer takes that has a gram. A wick_function, whose user is the quantizer. */
wick_status wick_quantizer_record_grams(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user);
void wick_quantizer_add_grams(wick_quantizer *q, int from); /* what it gave, q->seen from there on */
size_t wick_quantizer_gram_count(const wick_quantizer *q, const layer *l);
/* Adds this share of its mean to the diagonal of H [k, k], and tenfold until there is a factor: U of gptq.c, in the
 * innermost scope. WICK_ERR_INVALID: there is none. */
wick_status wick_quantizer_factor(wick_context *ctx, double *h, int64_t k, double damping, const double **u);
/* Weights and scales as wick_quantize_blocks has them, in the innermost scope; *made NULL: H has no factor. */
wick_status wick_quantizer_gptq(wick_quantizer *q, const layer *l, wick_tensor **made, wick_tensor **scales);

/* ---- channel_gptq.c ---------------------------------------------------------------------------------------------- */

typedef struct gram_extents {
    int64_t parts, k;
} gram_extents;
gram_extents wick_quantizer_gram_extents(const layer *l);
/* What the layer's gram is a sum of, of what it takes: x. */
wick_tensor *wick_quantizer_channel_gram(const wick_node *node, const layer *l, wick_tensor *x);
/* Integers of a layer that has a gram, as the weights lie, and scales, which are given as those to begin with. !*done:
 * the gram has no factor. */
wick_status wick_quantizer_round_channels(wick_quantizer *q, const layer *l, float *scale, int8_t *bytes, bool *done);

/* ---- integers.c -------------------------------------------------------------------------------------------------- */

/* The element of channel c that is number j of it: weights lie [c, ...] or [..., c]. */
static inline size_t wick_quantizer_place(const layer *l, int64_t c, int64_t j) {
    const int64_t channels = l->type.dims[l->axis], each = wick_type_count(&l->type) / WICK_MAX(channels, 1);
    return (size_t)(l->axis == 0 ? c * each + j : j * channels + c);
}
/* The bias makes up for the mean of what rounding changes. */
static inline bool wick_quantizer_corrects(const wick_quantizer *q, const layer *l) {
    return l->mean && l->bias && !q->trained;
}
/* A bias of more than 2^30 units has wider ones, and weights of fewer bits. */
static inline double wick_quantizer_least_scale(const wick_quantizer *q, const layer *l, int64_t c) {
    return l->bias ? fabs((double)l->bias[c]) / (q->sites[l->site].scale * 0x1p30) : 0;
}

/* ---- adaround.c, hqq.c: likewise --------------------------------------------------------------------------------- */

wick_status wick_quantizer_adaround(wick_quantizer *q, const layer *l, wick_tensor **made, wick_tensor **scales);
wick_status wick_quantizer_hqq(wick_quantizer *q, const layer *l, wick_tensor **made, wick_tensor **scales);

/* ---- weights.c --------------------------------------------------------------------------------------------------- */

wick_status wick_quantizer_state(wick_quantizer *q, const char *name, const char *end, wick_dtype dtype, int rank,
                                 const int64_t *dims, const void *data, wick_tensor **out);
/* States of the layer for weights alone in 8 bits, and back: [K, N] or [channels, ...] in f32, as the product reads it.
 */
wick_status wick_quantizer_make_weights(wick_quantizer *q, layer *l);
wick_tensor *wick_quantizer_weights(const wick_quantizer *q, const layer *l);

/* ---- sensitivity.c ----------------------------------------------------------------------------------------------- */

/* What the rounding error of element `at` of the weights adds to their part of the cost. */
static inline double weighed_error(const layer *l, size_t at, double error) {
    return l->fisher ? l->fisher[at] * error * error : 0;
}
/* Of its weights: 32 where it is kept. */
int wick_quantizer_layer_bits(const wick_quantizer *q, const layer *l);
/* Of its weights and bias with all of their scales, as they are held. */
int64_t wick_quantizer_layer_bytes(const wick_quantizer *q, const layer *l);
/* Makes l->cost of the sum of weighed errors, once scales are known. */
void wick_quantizer_note_cost(const wick_quantizer *q, layer *l, double weighed);

/* ---- moves.c ----------------------------------------------------------------------------------------------------- */

wick_status wick_quantizer_find_groups(wick_quantizer *q, reading *r);
/* in[] are what the node reads: those that take scales become products with them. */
wick_status wick_quantizer_scale_operands(const replay *p, const wick_node *node, wick_tensor **in);
wick_status wick_quantizer_equalise(wick_quantizer *q);
wick_status wick_quantizer_awq(wick_quantizer *q);
/* quantizer.c: reads weights again, after scales have moved. */
wick_status wick_quantizer_moved(wick_quantizer *q);

/* ---- trained.c --------------------------------------------------------------------------------------------------- */

/* The layers' weights are what training made of them, if there is any. */
wick_status wick_quantizer_take_trained(wick_quantizer *q);

/* ---- live.c ------------------------------------------------------------------------------------------------------ */

/* What integers.c makes of a layer, recorded: of weights, bias and steps as they are when a plan runs. */
typedef struct live_layer {
    wick_tensor *q, *scale;           /* i8, as the product reads it, and [channels] */
    wick_tensor *bias_q, *bias_scale; /* i32 and f32 [channels], of a convolution with a bias; NULL */
} live_layer;
live_layer wick_quantizer_live_layer(const wick_quantizer *q, const layer *l, wick_tensor *input_scale);
/* The scale of an activation, 0-d. */
wick_tensor *wick_quantizer_live_scale(wick_context *ctx, const site *s);

#endif
