/* planned.h: the plan of a MODEL, for the commands that look into plans: of an ONNX file, of what wick train leaves, or
 * of a network that
 * --arch or --net name, in evaluation or, with --train, the whole step of training. */
#ifndef WICK_CLI_PLANNED_H
#define WICK_CLI_PLANNED_H

#include "../train/classifier.h"
#include "../cli.h"
#include "../train/groups.h"

#include "wick/dynamic.h"
#include "wick/optim.h"

/* What a pass, or the choice of a kernel, said of a node: texts of its own. */
typedef struct planned_remark {
    char *pass, *node, *place, *text; /* place may be NULL */
    bool measured; /* by explain: what the decision saves */
    double saved_seconds, saved_by_model; /* by its plan and the one without it */
} planned_remark;

/* The graph as text behind a pass; pass "" is as recorded. */
typedef struct planned_graph {
    char *pass, *text;
} planned_graph;

typedef struct planned {
    const cli_options *o;
    wick_context *ctx;
    wick_onnx *onnx; /* of an ONNX file; otherwise there is a classifier */
    classifier c;
    wick_optimizer *optimizer; /* of --train */
    param_groups groups;       /* of its parameters, for compile */
    wick_plan *plan;
    wick_plan *run; /* of compile --train: the network itself, for one image */
    double rate;    /* of that: the learning rate at first */
    wick_batch_fit fit; /* of --max-batch */
    struct port_dim *named; /* the open dims of ports.h */
    wick_dynamic *dynamic; /* of ranges of --dim: the plan is the one that takes most */
    wick_dynamic_bound bound;
    wick_shapes *shapes;
    wick_spec *in;
    int n_in;
    char title[320]; /* "resnet8, 64 images f32 [64, 3, 32, 32], a step of training" */
    bool keeps_remarks, keeps_graphs; /* set before planned_open: whether they are gathered */
    planned_remark *remarks;
    size_t n_remarks;
    planned_graph *graphs;
    size_t n_graphs;
    bool out_of_memory;
} planned;

/* Opens the model that the options name, and compiles. An exit code; what went wrong has been said. */
int planned_open(planned *p, const cli_options *o, wick_context *ctx);
void planned_free(planned *p);

#endif
