/* wick/registry.h: the ops that this build has. */
#ifndef WICK_REGISTRY_H
#define WICK_REGISTRY_H

#include "wick/types.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct wick_op_info {
    const char *name, *doc;
    int min_inputs, max_inputs; /* max -1: any number */
    int results;                /* 0: as many as recorded with */
    bool elementwise, differentiable;
} wick_op_info;
WICK_API int wick_op_count(void);
WICK_API wick_op_info wick_op_at(int i); /* all zero outside [0, count) */

#ifdef __cplusplus
}
#endif
#endif
