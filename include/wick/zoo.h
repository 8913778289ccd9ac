/* wick/zoo.h: architectures by name, for commands, examples and benchmarks: "mlp", "mlp:256,128,dropout=0.2". */
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

/* Reads "NAME" or "NAME:WIDTH,...,dropout=P". The error says what part is wrong, and lists the names. */
WICK_API WICK_MUST_CHECK wick_status wick_zoo_find(wick_context *ctx, const char *text, wick_network *out);
/* network->architecture->build. */
WICK_API wick_tensor *wick_zoo_build(const wick_network *network, wick_model *model, wick_tensor *x, int64_t outputs);

#ifdef __cplusplus
}
#endif
#endif
