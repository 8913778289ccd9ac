/* wick/events.h: curves for TensorBoard: scalars, histograms, pictures, texts and graphs in an event file of its
 * format.
 *
 *   wick_events_open(ctx, "runs/1", 0, &e);
 *   wick_events_scalar(e, "train/loss", step, loss);
 *   wick_events_close(&e);
 *
 * and `tensorboard --logdir runs`. A file is appended to, so that what was written before a crash is readable. */
#ifndef WICK_EVENTS_H
#define WICK_EVENTS_H

#include "wick/plan.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct wick_events wick_events;

/* A new file, events.out.tfevents.TIME.HOST.PID.N, in the folder, which is made if it isn't there. step: where the run
 * goes on; what earlier files of the folder have from that step on is taken back (0: all of it). WICK_ERR_IO. */
WICK_API WICK_MUST_CHECK wick_status wick_events_open(wick_context *ctx, const char *folder, int64_t step,
                                                      wick_events **out);
/* Writes what is left. Null-safe, nulls. WICK_ERR_IO: not all of it could be written, also earlier; errors are in the
 * context that it was opened with, which has to be there. */
WICK_API wick_status wick_events_close(wick_events **events);

/* Each adds a point to the curve of that tag; slashes in tags make groups. Values are f32 in the file. */
WICK_API WICK_MUST_CHECK wick_status wick_events_scalar(wick_events *events, const char *tag, int64_t step,
                                                        double value);
/* Of n finite numbers how many lie between bounds that grow by a tenth; others are left out. */
WICK_API WICK_MUST_CHECK wick_status wick_events_histogram(wick_events *events, const char *tag, int64_t step,
                                                           const float *values, int64_t n);
/* A picture as PNG or JPEG has it; height and width are those of the picture. */
WICK_API WICK_MUST_CHECK wick_status wick_events_picture(wick_events *events, const char *tag, int64_t step,
                                                         int64_t height, int64_t width, const void *bytes, size_t size);
WICK_API WICK_MUST_CHECK wick_status wick_events_text(wick_events *events, const char *tag, int64_t step,
                                                      const char *text);
/* The nodes that a plan has after its passes, for the page "Graphs": "layer/op_number", in groups by the dots of
 * layers' names, with the shapes of their results. One a folder: TensorBoard shows the last. */
WICK_API WICK_MUST_CHECK wick_status wick_events_graph(wick_events *events, const wick_plan *plan);
/* What was added reaches the file. It does so by itself when a second has passed since the last time. */
WICK_API WICK_MUST_CHECK wick_status wick_events_flush(wick_events *events);

#ifdef __cplusplus
}
#endif
#endif
