/* draw_graph.h: the graph of a model as an SVG that needs nothing but itself, in light and dark. */
#ifndef WICK_CLI_DRAW_GRAPH_H
#define WICK_CLI_DRAW_GRAPH_H

#include "wick/onnx.h"

#include <stdio.h>

enum { DRAW_MOST_NODES = 20000 };

typedef struct drawing {
    const wick_onnx_graph *graph;
    int n_outputs;
    const double *flops; /* of each node; NULL: not known */
    double total;        /* of all */
    const char *title, *subtitle;
} drawing;

/* Layers from top to bottom. Nodes in a row without branches share a box; long ones are folded. false: out of memory,
 * or more nodes than DRAW_MOST_NODES. */
bool draw_graph(FILE *out, const drawing *d);

#endif
