/* layers.h: the table of a network's layers: outputs, parameters and costs. */
#ifndef WICK_CLI_LAYERS_H
#define WICK_CLI_LAYERS_H

#include "classifier.h"
#include "../json.h"

/* "16, 32, 32": a layer's output without the batch. */
enum { LAYER_SHAPE = WICK_MAX_DIMS * 24 };
void layer_shape(const wick_spec *spec, char *text, size_t size);
/* For one image. An exit code; what went wrong has been said. blame: the code when the network is what is wrong. */
int layers_of(classifier *c, int blame, wick_summary **out);
void layers_print(const classifier *c, const wick_summary *layers);
void layers_json(const classifier *c, const wick_summary *layers, json *j); /* as "network" */

#endif
