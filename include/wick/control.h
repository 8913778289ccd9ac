/* wick/control.h: loops and branches inside graphs. A body is a function that records with the public ops, as for
 * wick_compile; what it made outside uses is captured by value, once for all rounds. It becomes a region of one node: a
 * plan holds its kernels once, with static memory, whatever the number of rounds. Gradients flow through; the states
 * before each round are kept for them, the rest of a round is computed again.
 *
 * Bodies may nest. They may not assign, tap or ask for values, nor draw random numbers (draw them before, one row for
 * each round). */
#ifndef WICK_CONTROL_H
#define WICK_CONTROL_H

#include "wick/plan.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct wick_scan_options {
    int n_state, n_x, n_y;
    wick_tensor *const *state; /* first states */
    wick_tensor *const *x;     /* [rounds, ...]: round t sees x[t], without axis 0 */
    int64_t rounds;            /* where there is no x */
    bool reverse;              /* the last row of x first; y[t] still belongs to x[t] */
} wick_scan_options;
/* body: in: states, then rows of x. out: new states, of the same types, then rows of y. out here: n_state last states,
 * then n_y results [rounds, ...]. On an error every out is poisoned. */
WICK_API void wick_scan_loop(wick_context *ctx, wick_function body, void *user, const wick_scan_options *options,
                             wick_tensor **out);

/* While: as wick_scan_loop, but the body's first out, before the new states, is a bool of 0 dims: is there another
 * round? options->rounds is the most there are (0: the rows of x); more are not run. condition: is there a first round?
 * bool, 0-d, or NULL: there is. Rows of y after the last round are 0. *count (or NULL): how many rounds ran, i64, 0-d.
 * Memory is that of all rounds. */
WICK_API void wick_while_loop(wick_context *ctx, wick_tensor *condition, wick_function body, void *user,
                              const wick_scan_options *options, wick_tensor **out, wick_tensor **count);

/* out[0..n): what then_body sets where condition (bool, 0-d) is true, else what else_body sets: the same types. Bodies
 * have no inputs: they capture. Only one of them runs. */
WICK_API void wick_if(wick_context *ctx, wick_tensor *condition, wick_function then_body, wick_function else_body,
                      void *user, int n, wick_tensor **out);

#ifdef __cplusplus
}
#endif

#ifndef WICK_NO_SITES
/* clang-format off */
#define wick_scan_loop(...) WICK_VOID_HERE(wick_scan_loop(__VA_ARGS__))
#define wick_while_loop(...) WICK_VOID_HERE(wick_while_loop(__VA_ARGS__))
#define wick_if(...) WICK_VOID_HERE(wick_if(__VA_ARGS__))
/* clang-format on */
#endif
#endif
