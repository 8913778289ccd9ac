/* nn.h: what the files of src/nn share. */
#ifndef WICK_NN_INTERNAL_H
#define WICK_NN_INTERNAL_H

#include "kernels/kernels.h"
#include "tensor/tensor.h"
#include "wick/nn.h"

/* Bytes of a state's name, terminator included. The optimizer's states carry a parameter's whole name behind a prefix.
 */
enum { WICK_NAME_MAX = 256, WICK_OPTIM_NAME_MAX = WICK_NAME_MAX + 32 };

/* A data tensor in the innermost scope, filled as init says. Poisoned on error. */
wick_tensor *wick_init_make(wick_context *ctx, const wick_init *init, const char *name, const wick_type *type);

/* The state "LAYER.PART". */
wick_tensor *wick_layer_state(wick_model *model, const char *layer, const char *part, wick_role role, wick_dtype dtype,
                              int rank, const int64_t *dims, wick_init init);

/* Whether wick_model_freeze froze this state of the model. */
bool wick_model_is_frozen(const wick_model *model, const wick_tensor *state);

#endif
