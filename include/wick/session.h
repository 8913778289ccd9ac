/* wick/session.h: a model in an ONNX file, by the names of its inputs and outputs: for who wants its results and
 * nothing else.
 *
 *   wick_session *s;
 *   wick_session_open(ctx, "net.onnx", NULL, &s);
 *   wick_session_set(s, "image", WICK_F32, WICK_DIMS(1, 3, 32, 32), pixels);
 *   wick_session_run(s);
 *   const float *scores = wick_session_get(s, "logits", &spec);
 *
 * A plan is made for each list of extents that is run, and kept (wick/dynamic.h). Another thread has a session of its
 * own on the same model, by wick_session_fork: weights and plans are there once. */
#ifndef WICK_SESSION_H
#define WICK_SESSION_H

#include "wick/onnx.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct wick_session wick_session;

typedef struct wick_session_options {
    const wick_onnx_limits *limits;      /* what the file may cost; NULL: the defaults */
    const wick_dynamic_options *dynamic; /* how plans are made, and how many are kept; NULL: the defaults */
} wick_session_options;

/* The context has the error; it must outlive the session and its forks, and while they run in other threads, nobody
 * else may use it. WICK_ERR_UNSUPPORTED: the file has ops that Wick lacks, which are named, or inputs or outputs that
 * are no tensors (wick_onnx_apply takes these). options may be NULL. */
WICK_API WICK_MUST_CHECK wick_status wick_session_open(wick_context *ctx, const char *path,
                                                       const wick_session_options *options, wick_session **out);
/* The same model for another thread, with nothing set. From any thread; errors are in `session`. */
WICK_API WICK_MUST_CHECK wick_status wick_session_fork(wick_session *session, wick_session **out);
/* In any order with its forks; the model goes with the last. Null-safe, nulls. */
WICK_API void wick_session_free(wick_session **session);

/* Names and dims as the file declares them, -1 where an extent is open. rank -1: there is no such input or output. */
WICK_API int wick_session_inputs(const wick_session *session);
WICK_API int wick_session_outputs(const wick_session *session);
WICK_API wick_spec wick_session_input(const wick_session *session, int i);
WICK_API wick_spec wick_session_output(const wick_session *session, int i);

/* What that input is in the next runs: row-major, borrowed until it is set again or the session is freed. NULL takes it
 * back. WICK_ERR_INVALID: no such input, and which there are; WICK_ERR_DTYPE, WICK_ERR_SHAPE: not what the file
 * declares. */
WICK_API WICK_MUST_CHECK wick_status wick_session_set(wick_session *session, const char *name, wick_dtype dtype,
                                                      int rank, const int64_t *dims, const void *data);
/* WICK_ERR_INVALID: an input was not set, which is named. WICK_ERR_UNSUPPORTED: sizes within depend on values
 * (wick_onnx_apply runs it). After a failure there are no outputs. */
WICK_API WICK_MUST_CHECK wick_status wick_session_run(wick_session *session);
/* That output of the last run, row-major, until the next one; spec (may be NULL): dtype and dims. NULL: there is no
 * such output, or nothing was run. */
WICK_API const void *wick_session_get(wick_session *session, const char *name, wick_spec *spec);
/* Of the last call that failed; "" before. */
WICK_API const char *wick_session_error(const wick_session *session);

#ifdef __cplusplus
}
#endif
#endif
