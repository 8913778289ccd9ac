/* wick/context.h: a context owns everything: thread pool, seed, plan cache, the graph being recorded and the last
 * error. One context is used by one thread at a time. Compiled plans may be run by many threads, each in its own
 * workspace. */
#ifndef WICK_CONTEXT_H
#define WICK_CONTEXT_H

#include "wick/tuning.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct wick_context wick_context;
typedef struct wick_tensor wick_tensor;
typedef struct wick_scope wick_scope;

/* How products of f32 matrices may be computed: the error in units of |A||B|, about; docs/numerics.md has measured
 * ones. What a machine has no faster way for stays with multiply-adds. PyTorch's names (set_float32_matmul_precision).
 */
typedef enum wick_f32_precision {
    WICK_F32_HIGHEST, /* multiply-adds of f32: 2^-24 for each */
    /* or, with AMX, as six products of bf16: operands become sums of three parts. About the errors of multiply-adds, or
       less; docs/numerics.md has them */
    WICK_F32_SPLIT,
    WICK_F32_HIGH,  /* or as three, of two parts: 2^-15 */
    WICK_F32_MEDIUM /* or as one, operands rounded to bf16: 2^-7 */
} wick_f32_precision;

/* Machine code for fused programs, by the system's C compiler (docs/jit.md). The same bits as without. */
typedef enum wick_jit_mode {
    WICK_JIT_OFF,  /* no process is started, no file written */
    WICK_JIT_ON,   /* a program that is new is compiled in the background, at idle priority, for plans made later */
    WICK_JIT_WAIT, /* a plan waits until its programs are compiled */
} wick_jit_mode;

typedef struct wick_pictures {
    bool as_stored; /* leave them as they are stored; without it they are turned as their EXIF orientation says */
    int64_t height, width; /* of data sets: each is resized to that, by wick_image_resize's formula; 0: as it is, and
                              all of a set must have one size */
} wick_pictures;

enum { WICK_THREADS_MAX = 1024 };

/* Where threads run: each of the pool's threads on one CPU of those that the process may use (its affinity mask).
 * Thread 0 is the one that calls: it is never pinned, since whatever it starts would inherit that, and the system puts
 * it where the others are not. With more threads than CPUs the order begins again. */
typedef enum wick_pin {
    WICK_PIN_NONE,    /* where the system puts them */
    WICK_PIN_COMPACT, /* near each other: a core's hardware threads, then the next core, then the next NUMA node */
    WICK_PIN_SCATTER, /* far from each other: nodes in turn, and all cores once before any hardware thread twice */
    WICK_PIN_LIST     /* on the CPUs of `cpus` */
} wick_pin;

/* On which NUMA nodes the pages of blocks of 1 MiB or more are, from when they are first written (Linux's mbind). */
typedef enum wick_numa {
    WICK_NUMA_NONE,        /* as the process has it */
    WICK_NUMA_BIND,        /* on `nodes` alone; the system ends a process for which they have too little */
    WICK_NUMA_INTERLEAVE,  /* on `nodes`, page by page in turn */
    WICK_NUMA_FIRST_TOUCH, /* on the node of the thread that writes a page first, whatever the process has */
} wick_numa;

/* Time, never bits. What the system refuses, or does not have, is left out and noted: wick_context_placement_note. */
typedef struct wick_placement {
    wick_pin pin;
    const char *cpus; /* of WICK_PIN_LIST: "0-3,8", in the order of their numbers. Read, not kept */
    wick_numa numa;
    const char *nodes; /* "0,1", read, not kept; NULL: those of the CPUs that the process may use */
    /* Threads' shares of a step's tasks follow their measured speeds: for CPUs that aren't equally fast, or that others
     * use too. Without it shares are equal, and a thread that is done takes from those of others. Costs two looks at a
     * clock by each thread in a step that threads share. The context's own threads alone */
    bool balance;
} wick_placement;

/* What a thread did of the steps that threads shared, since it was started. Thread 0 is whoever calls. */
typedef struct wick_worker_stats {
    uint64_t regions; /* steps of which it did a part */
    uint64_t tasks;   /* that it did */
    uint64_t steals;  /* of these, tasks of other threads' shares */
    double seconds;   /* that it worked on them; counted with placement.balance, and while the context is profiled */
    double speed;     /* with placement.balance: tasks a second, by the mean of all threads; else 1 */
    double share;     /* of a step's tasks, 0 to 1: of all threads it is 1 */
} wick_worker_stats;

struct wick_memory_pool_options; /* wick/memory.h */

typedef struct wick_context_options {
    /* 0: of placement.cpus each that this process may use, else WICK_THREADS of the environment, else every CPU that it
     * may; -1: all but one. At most WICK_THREADS_MAX */
    int threads;
    uint64_t seed;                   /* of all random streams */
    /* NULL: malloc. Then, without max_memory, up to 256 MiB of freed blocks of 4 MiB or more wait to be used again; the
     * system may take their pages. Copied */
    const wick_allocator *allocator;
    const wick_executor *executor;   /* NULL: Wick's own threads. Copied */
    bool eager;                      /* run op by op without passes; WICK_EAGER=1 in the environment does the same */
    wick_f32_precision f32_precision; /* WICK_F32=split, high or medium in the environment where this is 0 */
    size_t plan_cache_bytes;         /* 0: 64 MiB, or a quarter of max_memory */
    /* bytes that tensors, plans and workspaces may take together; beyond it memory is out. 0: no limit */
    size_t max_memory;
    /* nodes recorded since the last evaluation at which the context evaluates by itself; 0: 1,000,000 */
    size_t max_pending;
    /* polled between kernels, and while plans are made; true stops the run with WICK_ERR_CANCELLED */
    bool (*cancel)(void *user);
    void *cancel_user;
    void (*log)(void *user, const char *text); /* remarks worth a developer's eye; the library itself never prints */
    void *log_user;
    bool track_memory; /* keep a list of all blocks, by what they are for and where from (wick/memory.h) */
    wick_jit_mode jit;         /* WICK_JIT=0, 1 or wait in the environment decides instead */
    /* where compiled programs are kept; NULL: wick/jit below $XDG_CACHE_HOME, or ~/.cache. Copied */
    const char *jit_folder;
    wick_pictures pictures;    /* how pictures are read */
    /* memory comes from a pool of the context's own; NULL: wick_memory_pool_set_default's, or none. Beside
     * `allocator`, WICK_ERR_INVALID. Copied */
    const struct wick_memory_pool_options *memory_pool;
    /* where threads and memory are. A list that is none is WICK_ERR_INVALID */
    wick_placement placement;
    const wick_tuning *tuning; /* how work is cut (wick/tuning.h): time, never bits. NULL: the defaults. Copied */
} wick_context_options;

/* options may be NULL. On failure *out is NULL. */
WICK_API WICK_MUST_CHECK wick_status wick_context_new(const wick_context_options *options, wick_context **out);
/* Frees the context and every tensor that is still open in it; plans must be freed before. Null-safe, nulls. */
WICK_API void wick_context_free(wick_context **context);

/* The text and status of the last failure; "" and 0 when there was none. Valid until the next failing call. */
WICK_API const char *wick_context_error(const wick_context *context);
WICK_API wick_status wick_context_status(const wick_context *context);
WICK_API void wick_context_clear_error(wick_context *context);
/* For layers above the core: stores an error as the context's last failure and returns `status`. */
WICK_API wick_status wick_context_fail(wick_context *context, wick_status status, const char *fmt, ...)
    WICK_PRINTF(3, 4);

/* The tiers of kernels by instruction set, "ref" (plain C), "base" (the architecture's own vectors), "avx2", "avx512";
 * each is a superset of the one before. WICK_ISA in the environment names the one to use, as far as the CPU and the
 * build (cmake's WICK_TIERS) have it. Behind the tier, or alone, it may leave out extensions that some CPUs of a tier
 * have: "avx512-vnni", "-avxvnni". They change speed, never bits. */
typedef struct wick_isa {
    const char *name; /* static; NULL outside of the list */
    bool supported;   /* by the CPU, the operating system and this build */
    bool chosen;      /* by this process: one tier is; of the extensions any number */
} wick_isa;
WICK_API int wick_isa_count(void);
WICK_API wick_isa wick_isa_at(int i);
WICK_API int wick_isa_extension_count(void);
WICK_API wick_isa wick_isa_extension_at(int i);
/* Whether WICK_ISA may hold this text; what it may not hold is ignored. */
WICK_API bool wick_isa_known(const char *text);

/* What the operating system lets this process use. */
typedef struct wick_limits {
    int online;          /* CPUs of the machine */
    int affinity;        /* of them, those in the process's affinity mask */
    int quota;           /* CPUs that its cgroup quotas allow, rounded up; 0: no quota */
    uint64_t memory;     /* bytes that its cgroups allow; 0: no limit */
} wick_limits;
WICK_API wick_limits wick_limits_get(void);

WICK_API int wick_context_threads(const wick_context *context);
/* Of thread number `worker` of wick_context_threads. false, and zeros: there is none of that number, or threads are the
 * host's (options.executor). By any thread, also while steps run. */
WICK_API bool wick_context_worker(const wick_context *context, int worker, wick_worker_stats *out);
/* What of options.placement the system refused or does not have, and so isn't done; "" where all is. options.log gets
 * it too. */
WICK_API const char *wick_context_placement_note(const wick_context *context);
/* "tier=avx512;gemm=4;reduce=2;math=3;denormals=flush": what the bits of results depend on besides the graph. */
WICK_API const char *wick_context_numerics(const wick_context *context);

/* The random state: every random op recorded takes the next stream number of the seed. */
WICK_API void wick_context_random(const wick_context *context, uint64_t *seed, uint64_t *next_stream);
WICK_API void wick_context_set_random(wick_context *context, uint64_t seed, uint64_t next_stream);

/* As the option of that name; of pictures and data sets that are opened from now on. */
WICK_API void wick_context_set_pictures(wick_context *context, wick_pictures pictures);
WICK_API wick_pictures wick_context_pictures(const wick_context *context);

typedef struct wick_context_stats {
    uint64_t nodes_recorded, plans_built, plan_hits, evals;
    size_t pending_nodes, plan_cache_bytes, tensor_bytes; /* tensor_bytes: storage held now */
} wick_context_stats;
WICK_API wick_context_stats wick_context_get_stats(const wick_context *context);

/* Scopes nest. A tensor belongs to the innermost open scope and is freed when it closes. The context opens one itself.
 */
WICK_API wick_scope *wick_scope_open(wick_context *context); /* NULL: out of memory */
/* Closes *scope and every scope opened after it. Recorded effects (assignments, taps) stay pending. Null-safe, nulls.
 */
WICK_API void wick_scope_close(wick_scope **scope);

/* The caller's place, put into errors: "file:line", static. Macros with the functions' names supply it, entering the
 * place before the arguments are evaluated and leaving it after the call, so that places nest as calls do. Bindings
 * call wick_here before a function. */
WICK_API void wick_here(const char *where);
WICK_API void wick_enter(const char *where);
WICK_API void wick_leave(void);
WICK_API struct wick_tensor *wick_leave_tensor(struct wick_tensor *result);
WICK_API WICK_MUST_CHECK wick_status wick_leave_status(wick_status result);
#define WICK_STR_(x) #x
#define WICK_STR(x) WICK_STR_(x)
#define WICK_PLACE __FILE__ ":" WICK_STR(__LINE__)
#define WICK_TENSOR_HERE(call) (wick_enter(WICK_PLACE), wick_leave_tensor(call))
#define WICK_STATUS_HERE(call) (wick_enter(WICK_PLACE), wick_leave_status(call))
#define WICK_VOID_HERE(call) (wick_enter(WICK_PLACE), call, wick_leave())

#ifdef __cplusplus
}
#endif
#endif
