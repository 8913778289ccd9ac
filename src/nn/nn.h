/* nn.h: what the files of src/nn share. */
#ifndef WICK_NN_INTERNAL_H
#define WICK_NN_INTERNAL_H

#include "kernels/kernels.h"
#include "tensor/tensor.h"
#include "wick/nn.h"
#include "wick/sequence.h"

/* Bytes of a state's name, terminator included. The optimizer's states carry a parameter's whole name behind a prefix.
 */
enum { WICK_NAME_MAX = 256, WICK_OPTIM_NAME_MAX = WICK_NAME_MAX + 32 };

/* A data tensor in the innermost scope, filled as init says. Poisoned on error. */
wick_tensor *wick_init_make(wick_context *ctx, const wick_init *init, const char *name, const wick_type *type);

/* The state "LAYER.PART". */
wick_tensor *wick_layer_state(wick_model *model, const char *layer, const char *part, wick_role role, wick_dtype dtype,
                              int rank, const int64_t *dims, wick_init init);

/* Of a model being summarised: its layers in the order of their calls. */
typedef struct wick_layer_call {
    const char *kind, *name; /* in the log's arena: with the model's path */
    wick_tensor *x, *y; /* retained */
    int64_t parameters;
    double flops;
} wick_layer_call;
typedef struct wick_layer_log {
    const wick_allocator *alloc;
    wick_arena *arena;
    wick_layer_call *calls;
    size_t n, cap;
    bool nomem;
} wick_layer_log;
void wick_model_set_log(wick_model *model, wick_layer_log *log);
wick_layer_log *wick_model_log(const wick_model *model); /* NULL: nobody wants to know */
const char *wick_model_path(const wick_model *model);    /* what was pushed: "res1." */
/* The ops of wick/sequence.h by wick_scan_loop: of what they know, what layers need. w_hr [D, P, H] projects an LSTM's
 * h, or is NULL. */
wick_tensor *wick_nn_recurrent_scan(wick_cell kind, wick_tensor *x, const wick_rnn_inputs *in, wick_tensor *w_hr,
                                    const wick_rnn_options *o, wick_tensor **h_n, wick_tensor **c_n);

/* The layer that asked for states is done: what comes is recorded where it was called. wick_layer_done calls it. */
void wick_layer_left(wick_model *model);

/* Says that a layer made y of x, for the summary; returns y. What it recorded between is the layer's. */
wick_tensor *wick_layer_done(wick_model *model, const char *kind, const char *name, wick_tensor *x, wick_tensor *y);

/* The same for what is made of layers that say so themselves: only watchers hear of it. */
wick_tensor *wick_layer_seen(wick_model *model, const char *name, wick_tensor *y);

/* Whether wick_model_freeze froze this state of the model. */
bool wick_model_is_frozen(const wick_model *model, const wick_tensor *state);

#endif
