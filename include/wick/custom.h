/* wick/custom.h: ops of your own, in C: a rule for shapes, a kernel, a gradient. Registered at run time, they are nodes
 * like any other: planned, scheduled, run by threads, differentiated, shown by wick_plan_format and `wick explain`.
 * docs/custom.md walks through one.
 *
 * An op is known by its name and version: plans are made for that pair. Who changes what an op computes gives it
 * another version. */
#ifndef WICK_CUSTOM_H
#define WICK_CUSTOM_H

#include "wick/plan.h"

#ifdef __cplusplus
extern "C" {
#endif

#define WICK_CUSTOM_INPUTS  16 /* at most */
#define WICK_CUSTOM_RESULTS 8

/* What an op does besides computing its results from inputs and attributes; bits. An op without any may be merged with
 * an equal node, left out where nobody reads it, and run again. */
typedef enum wick_custom_effects {
    WICK_CUSTOM_VARIES = 1, /* equal inputs may give other results: never merged with an equal node */
    /* does something that the host sees: each node is pending as an assignment is, and runs also where nobody reads its
       results */
    WICK_CUSTOM_ACTS = 2,
    /* the kernel may refuse: then the run fails with WICK_ERR_INVALID and commits no assignment */
    WICK_CUSTOM_FAILS = 4
} wick_custom_effects;

/* What a kernel works on. Inputs and results are row-major, results do not overlap inputs or each other. */
typedef struct wick_custom_work {
    int n_in, n_out;
    const wick_spec *in, *out;  /* dtypes and shapes; names are NULL */
    const void *const *in_data; /* n_in pointers to the elements */
    void *const *out_data;      /* n_out */
    const void *attr;           /* as recorded; NULL where the op has none */
    void *scratch;              /* scratch_bytes of this thread's own, aligned to 64 bytes; not kept between calls */
    void *user;
} wick_custom_work;

/* Gradients: sets gin[i] for each i with need[i] (NULL stays: zero), in the dtype and shape of in[i], by ops over in,
 * out and gout; gout[k] is NULL where no gradient arrives at result k. Called when a plan is made, in another graph
 * than the recording, as a gradient rule of wick_custom_gradient. */
typedef struct wick_custom_gradients {
    int n_in, n_out;
    wick_tensor *const *in, *const *out, *const *gout;
    const bool *need;
    wick_tensor **gin;
    const void *attr;
    void *user;
} wick_custom_gradients;

/* Functions get `user`, are called from any thread that uses the context (kernel: from any thread of its pool), and may
 * not use the context, but for gradient. All but shape and kernel may be NULL. */
typedef struct wick_custom_def {
    const char *name; /* [a-z][a-z0-9_]*, fewer than 64 bytes; not that of a built-in op. Copied */
    const char *doc;  /* one line, or NULL. Copied */
    unsigned version;
    int min_inputs, max_inputs; /* 0 <= min <= max <= WICK_CUSTOM_INPUTS */
    int results;                /* 1 to WICK_CUSTOM_RESULTS */
    unsigned effects;           /* wick_custom_effects */
    /* bytes of attributes, which are copied and compared as bytes: no padding, or cleared; at most 4096 */
    size_t attr_size;
    size_t scratch_bytes;       /* that the kernel needs in each thread */
    void *user;                 /* must outlive the context */
    /* Sets dtype, rank and dims of every out[k], or returns what is wrong with a text for it in error (at most
     * error_size bytes, with the 0): it becomes "name(f32[2,3]): text". Nothing is computed in dtypes for storage (f8,
     * i4 ...): inputs are never of such, and results may not be. */
    wick_status (*shape)(void *user, const void *attr, int n_in, const wick_spec *in, int n_out, wick_spec *out,
                         char *error, size_t error_size);
    /* Computes parts [begin, end) of all results; returns -1, or with WICK_CUSTOM_FAILS a number from 0 on, which the
     * error names. The calling thread's denormals are flushed to zero. */
    int64_t (*kernel)(const wick_custom_work *work, int64_t begin, int64_t end);
    /* Into how many parts the work may be cut, which threads take: by the shapes alone, so that bits depend on nothing
     * else. NULL: 1, on the calling thread. */
    int64_t (*parts)(void *user, const void *attr, int n_in, const wick_spec *in, int n_out, const wick_spec *out);
    /* Arithmetic operations of a run, for costs; a multiply-add counts 2. NULL: one for each element of the first
     * result. */
    double (*flops)(void *user, const void *attr, int n_in, const wick_spec *in, int n_out, const wick_spec *out);
    void (*gradient)(const wick_custom_gradients *g); /* NULL: no gradient flows */
} wick_custom_def;

typedef struct wick_custom_op wick_custom_op;

/* *op belongs to the context and lives as long. The same definition again gives the same op; another one of the same
 * name and version is WICK_ERR_INVALID. On failure *op is NULL and the context has the error. */
WICK_API WICK_MUST_CHECK wick_status wick_custom_register(wick_context *ctx, const wick_custom_def *def,
                                                          const wick_custom_op **op);
/* The registered op of that name and version, or NULL. */
WICK_API const wick_custom_op *wick_custom_find(wick_context *ctx, const char *name, unsigned version);

/* Records the op over in[0..n_in): sets all its results, out[0..results). attr: attr_size bytes, copied; NULL: zeros.
 * Tensors are poisoned as those of built-in ops: by wrong numbers of inputs, by what `shape` refuses, by poisoned
 * inputs. */
WICK_API void wick_custom_record(const wick_custom_op *op, const void *attr, int n_in, wick_tensor *const *in,
                                 wick_tensor **out);
/* The first result alone. */
WICK_API wick_tensor *wick_custom_call(const wick_custom_op *op, const void *attr, int n_in, wick_tensor *const *in);

#ifdef __cplusplus
}
#endif
#ifndef WICK_NO_SITES /* errors name the caller's line */
#define wick_custom_register(...) WICK_STATUS_HERE(wick_custom_register(__VA_ARGS__))
#define wick_custom_record(...) WICK_VOID_HERE(wick_custom_record(__VA_ARGS__))
#define wick_custom_call(...) WICK_TENSOR_HERE(wick_custom_call(__VA_ARGS__))
#endif
#endif
