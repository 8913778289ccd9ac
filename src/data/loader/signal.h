/* signal.h: transforms of recordings and of what sensors read: rows one after another, each of some columns. */
#ifndef WICK_DATA_SIGNAL_H
#define WICK_DATA_SIGNAL_H

#include "data/loader/transform.h"

typedef struct wick_signal wick_signal;

/* As wick_transform_new, which says which inputs there are; *out_spec is what comes of them. */
WICK_MUST_CHECK wick_status wick_signal_new(wick_context *ctx, const char *text, const wick_transform_options *options,
                                            const wick_spec *in, wick_spec *out_spec, wick_signal **out);
void wick_signal_free(wick_signal **signal);
int64_t wick_signal_rows(const wick_signal *s, int64_t rows);
size_t wick_signal_scratch(const wick_signal *s, int64_t rows);
wick_status wick_signal_run(const wick_signal *s, const wick_draws *draws, const float *in, int64_t rows, float *out,
                            void *scratch, wick_fault *fault);

#endif
