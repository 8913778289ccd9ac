/* pruner.h: what the files of the pruner share: pruner.c chooses, shrunk.c records what is left. */
#ifndef WICK_COMPRESS_PRUNER_H
#define WICK_COMPRESS_PRUNER_H

#include "compress/channels.h"
#include "wick/compress.h"

enum { NO_CLASS = -1 };

/* Channels that go together. */
typedef struct channel_class {
    int layer;
    int64_t width; /* how many channels of the layer's axis they are */
    double importance, taylor;
    bool scaled; /* some batch norm has a scale for them */
    bool removed;
} channel_class;

/* A state of the source that fn reads. */
typedef struct pruned_state {
    int number;                      /* of the source */
    wick_tensor *source, *copy;      /* copy: NULL before wick_pruner_cut */
    int32_t *classes[WICK_MAX_DIMS]; /* by axis and index: its class, or NO_CLASS; NULL: none has one */
    int summed;                      /* axis that a convolution or product sums over; -1: no such weight */
    bool alone;                      /* one product reads it, as it is or transposed, and nothing else does */
    int64_t low_rank;                /* 0: it is whole */
    double share;                    /* of low rank: of its multiply-adds */
    int64_t stride[2];               /* of the convolution that reads it */
    bool taps;                       /* of low rank: by factor_conv.c */
    wick_tensor *factors[3];         /* of low rank: states of the smaller model, in its place; copy is NULL then */
    bool scales;                     /* batch norm's gamma */
    float *gradient;                 /* of the last batch; NULL: none was asked for */
} pruned_state;

typedef struct prunable_layer {
    const char *name, *stays;
    int axis, first, n; /* its classes */
    int64_t channels;
} prunable_layer;

/* Multiply-adds of a node: `rest` times how many of each list are left. */
typedef struct multiply_adds {
    double rest;
    int state; /* its weight, number of p->states, whose two axes are the last lists; -1: it has none */
    int n;
    int64_t counts[4];
    int32_t *classes[4];
} multiply_adds;

/* Classes of an axis of which one has to stay. */
typedef struct whole_axis {
    int64_t n;
    int32_t *classes;
} whole_axis;

/* A batch norm: the elementwise node that takes the mean off, and its states. */
typedef struct norm_state {
    int mean, var; /* numbers of p->states */
    double *sums[2];
} norm_state;

struct wick_pruner {
    wick_context *ctx;
    wick_model *source, *model;
    wick_function fn;
    void *user;
    int n_in, n_out;
    wick_spec *in;
    wick_arena arena;
    pruned_state *states;
    int n_states;
    channel_class *classes;
    int n_classes;
    prunable_layer *layers;
    int n_layers, n_free;
    multiply_adds *macs;
    int n_macs;
    whole_axis *axes;
    int n_axes;
    norm_state *norms;
    int n_norms;
    wick_plan *observing, *weighing;
    wick_workspace *observer, *weigher;
    void **seen;
    int64_t observed, weighed;
    bool has_scales;
    double energy, budget; /* of wick_pruning; 0: weights stay whole */
    wick_filters filters;
    int64_t multiple;
};

static inline wick_status pruner_out_of_memory(wick_context *ctx) {
    return wick_msg_set(&ctx->msg, WICK_ERR_NOMEM, "out of memory pruning");
}
int64_t wick_pruner_left(const wick_pruner *p, const int32_t *classes, int64_t n); /* NULL: all */
/* The state that a value is, as a number of p->states; -1: none. */
int wick_pruner_state_of(const wick_pruner *p, const wick_subject *s, const wick_value *v);
/* The state at the beginning of a chain of reshapes. */
int wick_pruner_state_behind(const wick_pruner *p, const wick_subject *s, const wick_value *v);

/* ---- statistics.c ------------------------------------------------------------------------------------------------ */

void wick_pruner_drop_observer(wick_pruner *p); /* and what it has seen */

/* ---- factor.c ---------------------------------------------------------------------------------------------------- */

/* Makes w, which is what is left of s, a product of two states where that gains something: s->low_rank. */
wick_status wick_pruner_factor(wick_pruner *p, pruned_state *s, wick_tensor *w, const char *name);
/* What the node gives, whose weight is such a state; turned: the transpose of it. */
wick_tensor *wick_pruner_factored(const pruned_state *s, const wick_node *node, wick_tensor *const *in, bool turned);

/* The least rank with the energy, of the first `most` singular values, up to a multiple; at most `most`. */
int64_t wick_pruner_energy_rank(const wick_pruner *p, const float *s, int64_t most);
/* r down to a multiple, where there is one above 0. */
int64_t wick_pruner_whole_rank(const wick_pruner *p, double r);
/* s->factors[which], a parameter of the smaller model: name and end. */
wick_status wick_pruner_keep_factor(wick_pruner *p, pruned_state *s, int which, const char *name, const char *end,
                                    wick_tensor *made);

/* ---- factor_conv.c ----------------------------------------------------------------------------------------------- */

/* The same of a convolution of several taps: three convolutions, or two. */
wick_status wick_pruner_factor_conv(wick_pruner *p, pruned_state *s, wick_tensor *w, const char *name);
wick_tensor *wick_pruner_factored_conv(const pruned_state *s, const wick_node *node, wick_tensor *const *in);

/* ---- shrunk.c ---------------------------------------------------------------------------------------------------- */

/* The states of the smaller model. */
wick_status wick_pruner_make_model(wick_pruner *p);
/* Statistics of each batch norm, mean and variance in turn: a wick_function, whose user is the pruner. */
wick_status wick_pruner_record_statistics(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user);
/* The node that takes the mean off: sub(x, mean), where mean is one of p->norms. -1: it isn't one. */
int wick_pruner_norm_at(const wick_pruner *p, const wick_subject *s, const wick_node *node);
#endif
