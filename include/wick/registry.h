/* wick/registry.h: the ops that this build has, the functions that are built from them, and the passes over graphs. */
#ifndef WICK_REGISTRY_H
#define WICK_REGISTRY_H

#include "wick/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* wick_NAME is the function that records an op, unless it is an internal one. Texts are never NULL; empty ones are
 * none. */
typedef struct wick_op_info {
    const char *name, *doc;
    int min_inputs, max_inputs; /* max -1: any number; both 0 of functions */
    int results;                /* 0: as many as recorded with */
    bool elementwise, differentiable;
    bool function;     /* built from ops: it has no node, hence no inputs, results and dtypes of its own here */
    const char *onnx;  /* ONNX's operator */
    const char *torch; /* PyTorch's function, below torch. */
    /* by n, the elements of the first result, and m, those of the first input; a multiply-add counts 2 */
    const char *flops;
} wick_op_info;
WICK_API int wick_op_count(void);
WICK_API wick_op_info wick_op_at(int i); /* all zero outside [0, count) */
/* Whether op i is computed in dtype: of its first input (elementwise: its last), or of its result when it has no input.
 * Public functions take more and cast. */
WICK_API bool wick_op_takes(int i, wick_dtype dtype);

/* A pass over the graph of a plan, in the order they run; some run more than once. */
typedef struct wick_pass_info {
    const char *name, *doc;
    bool required; /* no plan can do without: `without` of wick_compile_options takes the others */
} wick_pass_info;
WICK_API int wick_pass_count(void);
WICK_API wick_pass_info wick_pass_at(int i); /* all zero outside [0, count) */

#ifdef __cplusplus
}
#endif
#endif
