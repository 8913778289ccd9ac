/* wick/zoo.h: architectures by name, for commands, examples and benchmarks: "mlp:256,128,dropout=0.2", "resnet8", or
 * layers as text. */
#ifndef WICK_ZOO_H
#define WICK_ZOO_H

#include "wick/nn.h"

#ifdef __cplusplus
extern "C" {
#endif

#define WICK_ZOO_MAX_WIDTHS 16

typedef struct wick_architecture wick_architecture;

/* One kind of network and its numbers: an architecture with what the text after its name asked for. */
typedef struct wick_network {
    const wick_architecture *architecture;
    int n_widths;
    int64_t widths[WICK_ZOO_MAX_WIDTHS]; /* of the hidden layers */
    double dropout;                      /* after each hidden layer */
    const char *net;                     /* layers as text, a part of what was read; NULL: widths and dropout say it */
} wick_network;

struct wick_architecture {
    const char *name; /* "mlp" */
    const char *form; /* "mlp[:WIDTH,...][,dropout=P]" */
    const char *doc;
    wick_network defaults; /* what a text that only names it means */
    /* x [B, ...] -> logits [B, outputs]; parameters are made in model on the first call. Poisoned on error. */
    wick_tensor *(*build)(const wick_network *network, wick_model *model, wick_tensor *x, int64_t outputs);
};

WICK_API int wick_zoo_count(void);
WICK_API const wick_architecture *wick_zoo_at(int i); /* NULL outside [0, count) */

/* Reads "NAME", "NAME:WIDTH,...,dropout=P" or "net:LAYER, ..." (out->net then points into text). The error says what
 * part is wrong, and lists the names. */
WICK_API WICK_MUST_CHECK wick_status wick_zoo_find(wick_context *ctx, const char *text, wick_network *out);
/* network->architecture->build. */
WICK_API wick_tensor *wick_zoo_build(const wick_network *network, wick_model *model, wick_tensor *x, int64_t outputs);

/* ---- networks as text -------------------------------------------------------------------------------------------- */

/* "conv 32 3, relu, maxpool 2, flatten, linear 128, relu, dropout 0.3, linear classes": layers in order, between
 * commas. A layer is a word, its numbers, then options in any order; residual(...) holds layers. The list of layers
 * with their forms is below; errors name the column and the word. States are named by kind and place, "conv1.weight",
 * "res2.bn1.bias".
 *
 * x [B, ...] through the network; classes is what "linear classes" means. Poisoned on error. */
WICK_API wick_tensor *wick_net(wick_model *model, const char *text, wick_tensor *x, int64_t classes);
/* Reads the text without building anything. */
WICK_API WICK_MUST_CHECK wick_status wick_net_check(wick_context *ctx, const char *text);
/* The layers that a text may name: "conv CHANNELS KERNEL [stride N] ..." and what it is; NULL outside [0,
 * wick_net_layers()). */
WICK_API int wick_net_layers(void);
WICK_API const char *wick_net_layer_form(int i);
WICK_API const char *wick_net_layer_doc(int i);

#ifdef __cplusplus
}
#endif

#ifndef WICK_NO_SITES
#define wick_net(...) WICK_TENSOR_HERE(wick_net(__VA_ARGS__))
#define wick_zoo_build(...) WICK_TENSOR_HERE(wick_zoo_build(__VA_ARGS__))
#endif
#endif
