/* graph_text.h: graphs as wick_compile_options.on_pass gives them, one node a line, read back for who draws or compares
 * them. */
#ifndef WICK_CLI_GRAPH_TEXT_H
#define WICK_CLI_GRAPH_TEXT_H

#include "wick/onnx.h"

#include <stdio.h>

/* The nodes of the outermost graph, as draw_graph takes them; names are the layers that recorded them. Outputs are
 * results, without new values of states. */
typedef struct graph_text {
    wick_onnx_graph graph;
    int n_outputs;
    char *text; /* a copy, that names point into */
    wick_onnx_node *nodes;
    wick_onnx_wire *wires;
    int32_t *ends; /* of nodes' inputs and outputs, and the graph's outputs */
} graph_text;

/* in: specs of the inputs by number, for their names. False: out of memory, or no such text. */
bool graph_text_read(graph_text *g, const char *text, int n_in, const wick_spec *in);
void graph_text_free(graph_text *g);

/* In Graphviz's language. */
void graph_text_dot(FILE *out, const graph_text *g, const char *title);
/* Lines of `before` that `after` lacks, behind "- ", those it has more, behind "+ ", and some that both have around
 * them. Numbers of values have no say, since every pass counts anew. False: out of memory. */
bool graph_text_difference(FILE *out, const char *before, const char *after);

#endif
