/* mlp.c: fully connected layers with ReLU between, on flattened samples. */
#include <stdio.h>

#include "zoo/zoo.h"

static wick_tensor *build(const wick_network *network, wick_model *model, wick_tensor *x, int64_t outputs) {
    char name[16];
    if (wick_tensor_rank(x) != 2) x = wick_flatten(x, 1);
    for (int i = 0; i < network->n_widths; i++) {
        snprintf(name, sizeof name, "fc%d", i + 1);
        x = wick_relu(wick_nn_linear(model, name, x, network->widths[i]));
        if (network->dropout > 0) x = wick_nn_dropout(model, x, network->dropout);
    }
    snprintf(name, sizeof name, "fc%d", network->n_widths + 1);
    return wick_nn_linear(model, name, x, outputs);
}

const wick_architecture wick_zoo_mlp = {
    .name = "mlp",
    .form = "mlp[:WIDTH,...][,dropout=P]",
    .doc = "multi-layer perceptron: hidden layers of these widths (512,256) with ReLU",
    .defaults = {.n_widths = 2, .widths = {512, 256}},
    .build = build,
};
