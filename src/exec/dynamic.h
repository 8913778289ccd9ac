/* dynamic.h: functions of many shapes: their dims, and the cache of their plans. */
#ifndef WICK_EXEC_DYNAMIC_H
#define WICK_EXEC_DYNAMIC_H

#include <pthread.h>

#include "exec/exec.h"
#include "graph/extents.h"
#include "wick/dynamic.h"

/* A workspace that waits for the next runner. */
typedef struct wick_idle {
    wick_workspace *workspace;
    struct wick_idle *next;
} wick_idle;

/* Memory for a run, of any plan that needs no more, that waits for the next runner. It begins with this. */
typedef struct wick_room {
    struct wick_room *next;
    size_t bytes;
} wick_room;

/* A plan for one list of extents. */
typedef struct wick_variant {
    int64_t extents[WICK_MAX_NAMED_DIMS];
    uint64_t hash;
    wick_plan *plan; /* NULL: one thread is making it */
    wick_spec *in;
    wick_idle *idle;
    /* of the plan, and of packs that it was the first to have; of a workspace, without memory to run in */
    size_t bytes, each;
    size_t room;                     /* memory that it runs in */
    int held;                        /* workspaces that runners have */
    struct wick_variant *next;       /* of a bucket */
    struct wick_variant *newer, *older; /* by use */
} wick_variant;

/* Two locks, `cache` taken last: `compiler` for the context and for what makes and frees plans, `cache` for the list of
 * versions and all counts. */
struct wick_dynamic {
    wick_context *ctx;
    wick_function fn;
    void *user;
    wick_dynamic_options options;
    wick_arena arena;
    int n_dims, n_in, n_out;
    wick_dim *dims;
    const char **names;
    wick_dynamic_input *in;
    int32_t (*extents)[WICK_MAX_DIMS]; /* of inputs, in `expressions` */
    wick_extents expressions;
    struct {
        int input, axis;
    } source[WICK_MAX_NAMED_DIMS]; /* where a dim's value is read */
    int64_t *values; /* room for evaluating all expressions under `compiler` */
    size_t limit;    /* of a plan's memory; SIZE_MAX: none */

    pthread_mutex_t compiler, cache;
    pthread_cond_t made;
    wick_variant **buckets;
    uint32_t n_buckets;
    wick_variant *newest, *oldest;
    int n_versions;
    wick_room *rooms;
    size_t kept; /* bytes of plans, and of workspaces and rooms that no runner has */
    wick_packed_weights packs;
    atomic_int runners;
    wick_dynamic_info counts;
};

struct wick_runner {
    wick_dynamic *dynamic;
    wick_variant *version; /* NULL: unbound */
    wick_workspace *workspace;
    char *room; /* that its workspaces run in, one after the other: as large as the largest needed */
    size_t room_bytes;
    uint64_t offset;
    int64_t *values; /* of all expressions */
    wick_msg msg;
};

/* The specs of the inputs at these extents. */
wick_status wick_dynamic_specs(const wick_dynamic *d, const int64_t *extents, int64_t *values, wick_spec *specs,
                               wick_msg *msg);
wick_status wick_dynamic_specs_at(const wick_dynamic *d, const int64_t *extents, int64_t *values, wick_spec *specs,
                                  wick_msg *msg); /* in no range */
/* "batch=3, seq=7" */
void wick_dynamic_say(wick_str *s, const wick_dynamic *d, const int64_t *extents);
/* How many values a dim has, and value i of them. */
int64_t wick_dim_values(const wick_dim *dim);
int64_t wick_dim_value(const wick_dim *dim, int64_t i);
/* WICK_ERR_SHAPE: the value is not in its range; the message has the input and the axis that it was read from (input
 * NULL: none). */
wick_status wick_dim_guard(const wick_dim *dim, int64_t value, const char *input, int axis, wick_msg *msg);
/* A list of extents, drawn from the state, which it moves on: uniform, and now and then one of the ends. */
void wick_dynamic_draw(const wick_dynamic *d, uint64_t *state, int64_t *extents);
/* fn's plan at these extents, made anew. The context has the error. */
wick_status wick_dynamic_compile(wick_dynamic *d, const wick_spec *specs, wick_plan **plan);
wick_status wick_dynamic_prepare(wick_dynamic *d, const wick_spec *specs);

#endif
