/* ctc_api.h: connectionist temporal classification (Graves et al. 2006).
 *
 * log_probs [steps, batch, classes] contiguous, f32 or f64; sums in f64. Labels of sample n start at n * most, or, with
 * most < 0, where those of the samples before end. Samples [begin, end): loss[n] = -log P(labels), and, where they are
 * not NULL, dlog_probs gets its gradient. A sample whose lengths or labels are impossible is passed over; -1, or the
 * first. */
#ifndef WICK_KERNELS_CTC_API_H
#define WICK_KERNELS_CTC_API_H

#include "kernels/types.h"

typedef struct wick_ctc {
    wick_ctype type;
    int64_t steps, batch, classes, most, room, blank; /* room: most labels that a sample has */
    bool zero_infinity;
} wick_ctc;
size_t wick_ctc_scratch(const wick_ctc *c);
int64_t wick_ctc_run(const wick_ctc *c, int64_t begin, int64_t end, const void *log_probs, const int64_t *labels,
                     const int64_t *steps_of, const int64_t *labels_of, void *loss, void *dlog_probs, void *scratch);

#endif
