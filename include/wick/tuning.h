/* wick/tuning.h: numbers that were chosen by measuring and that another machine may want otherwise: how work is cut
 * into tasks, what is copied before it is used, what is written by nontemporal stores. They change time, never bits. A
 * context takes them as an option (wick/context.h) and plans keep what they were made with. `wick tune` measures them
 * and writes a file; the library reads that file only where it is told to. */
#ifndef WICK_TUNING_H
#define WICK_TUNING_H

#include "wick/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* 0 is the default; what is out of a field's range is taken as its end. wick_tuning_at says what each is, its default
 * and its range. */
typedef struct wick_tuning {
    int64_t parallel_flops, parallel_bytes;
    int64_t gemm_task_work, gemm_block_rows, gemm_share_bytes;
    int64_t fused_task_work, fused_block_bytes, stream_bytes;
    int64_t int8_task_work;
    int64_t steal_tasks, chunk_tasks; /* of the context's threads (wick/context.h) */
    /* What work takes here: plans say by these how long they will run, and passes choose between ways to the same bits
     * (docs/plans.md, "Predicted time"). */
    /* besides work: of a step, of waking threads, and what of parts of a program */
    int64_t cost_step_ns, cost_wake_ns, cost_block_ns, cost_row_ns, cost_piece_ns;
    int64_t cost_l2_bytes, cost_l3_bytes, cost_l2_rate, cost_l3_rate, cost_memory_rate; /* caches, and MB/s */
    /* millions of ops of elements a second */
    int64_t cost_light_rate, cost_heavy_rate, cost_reduce_rate;
    int64_t cost_gemm_rate, cost_conv_rate, cost_winograd_rate, cost_depthwise_rate, cost_pool_rate, cost_rows_rate,
        cost_attention_rate, cost_recurrent_rate, cost_int8_rate, cost_other_rate; /* MFLOP/s */
} wick_tuning;

typedef struct wick_tuning_field {
    const char *name, *doc; /* static; NULL outside [0, wick_tuning_count()) */
    int64_t fallback, low, high; /* the fallback of what work takes is that of the tier in use */
    bool is_cost;                /* it is said of the machine: measured, not tried */
    int64_t *(*of)(wick_tuning *tuning); /* its place */
} wick_tuning_field;
WICK_API int wick_tuning_count(void);
WICK_API wick_tuning_field wick_tuning_at(int i);
/* The defaults of the tier in use where a machine tells nothing of its caches. A context by them makes the same plans
 * on every machine of that tier, as files that are kept want them (wick_plan_write_c); bits are the same by any. */
WICK_API wick_tuning wick_tuning_of_any_machine(void);

/* What measurements are valid for: "AMD EPYC 9R14; avx512 vnni; Wick 0.1.0": CPU, tier and extensions in use, version.
 * Static. */
WICK_API const char *wick_tuning_machine(void);
/* Where they are kept: wick/tuning-HASH.txt, of that text, in $XDG_CACHE_HOME or ~/.cache. false: neither is a path
 * from the root, or it does not fit; path is "". */
WICK_API bool wick_tuning_path(char *path, size_t size);
/* Reads what wick_tuning_save wrote. On failure *out holds zeros and `why`, which may be NULL, a line that names the
 * file: WICK_ERR_IO (also: there is none), WICK_ERR_FORMAT (damaged), WICK_ERR_MISMATCH (of another CPU, tier or
 * version). */
WICK_API WICK_MUST_CHECK wick_status wick_tuning_load(const char *path, wick_tuning *out, char *why, size_t size);
/* Writes it as text, atomically, into a folder that is made where it is missing. WICK_ERR_IO; why as above. */
WICK_API WICK_MUST_CHECK wick_status wick_tuning_save(const char *path, const wick_tuning *tuning, char *why,
                                                      size_t size);

#ifdef __cplusplus
}
#endif
#endif
