/* subject.h: what a function records, as a graph that is simplified, to be recorded again with other nodes in it. All
 * of it happens while a function is being compiled or recorded. */
#ifndef WICK_COMPRESS_SUBJECT_H
#define WICK_COMPRESS_SUBJECT_H

#include "graph/graph.h"
#include "wick/nn.h"

typedef struct wick_subject {
    wick_context *ctx;
    wick_arena arena;
    wick_graph *graph; /* nodes and values are numbered */
    uint32_t n_values;
    wick_tensor **leaf;    /* of data and input nodes, by slot[0]; of inputs what the caller has given */
    const uint64_t *slots; /* bits of run-time numbers, by slot[0] of their nodes */
    bool *fixed;           /* by value: it follows from constants and states alone */
} wick_subject;

/* fn of inputs like in[]; in[] stand where it reads them. who: for errors, which the context has. fold_scales: scales
 * behind products, such as batch norm's, go into their weights. After a failure, too, wick_subject_free is called. */
wick_status wick_subject_record(wick_subject *s, wick_context *ctx, const char *who, wick_function fn, void *user,
                                int n_in, wick_tensor *const *in, int n_out, bool fold_scales);
void wick_subject_free(wick_subject *s);

/* The node again, on these inputs. */
void wick_subject_again(const wick_subject *s, const wick_node *node, wick_tensor *const *in, wick_tensor **out);
/* The name of the model's state that a value is, or is made of: one beside `near`, "conv1.bias" of "conv1.weight", or
 * the largest. NULL: none. */
const char *wick_subject_state_name(const wick_subject *s, const wick_model *model, const wick_value *v,
                                    const char *near);
#endif
