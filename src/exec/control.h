/* control.h: what the files of loops and branches share: control.c (shapes, definitions), control_record.c,
 * control_lower.c, control_grad.c. */
#ifndef WICK_EXEC_CONTROL_H
#define WICK_EXEC_CONTROL_H

#include "exec/exec.h"

typedef struct control_attr {
    int32_t n_state, n_x, n_y, n_captured;
    int64_t rounds;
    uint32_t reverse;
    /* the first input is the condition, the region's first result the next one, the last result the count */
    uint8_t conditional;
    uint8_t counted;     /* the first input is the number of rounds */
    uint8_t zero[2];
    wick_type out[]; /* of all results */
} control_attr;

static inline size_t wick_control_attr_bytes(int n_out) {
    return sizeof(control_attr) + (size_t)n_out * sizeof(wick_type);
}
/* Inputs before the states: the condition or the count. */
static inline int wick_control_lead(const control_attr *a) { return a->conditional || a->counted; }
static inline bool wick_is_flag(const wick_type *t, wick_dtype dtype) { return t->rank == 0 && t->dtype == dtype; }

/* Parameter `index` of a region: recorded, or in the graph that the context writes to. */
wick_tensor *wick_control_param(wick_context *ctx, const wick_type *type, int64_t index);
wick_status wick_lower_scan(wick_lower *l, wick_node *node);
wick_status wick_lower_if(wick_lower *l, wick_node *node);
void wick_grad_scan(wick_gradient *g);
void wick_grad_if(wick_gradient *g);

#endif
