/* int8.h: what printers of products and convolutions of 8-bit integers know of one: loops over columns (int8.c), pairs
 * of 16 bits for Cortex-M (int8_pairs.c). */
#ifndef WICK_AOT_INT8_H
#define WICK_AOT_INT8_H

#include "aot/print.h"

typedef struct int8_print {
    const wick_step *from; /* the step that has B, scales and so on among its refs */
    const wick_step_int8 *m;
    const wick_int8 *p;
    const wick_c_buffer *buffers;
    bool weights_known, columns_known;
    int64_t columns, weights; /* numbers of */
    size_t at_columns, bytes;
    const char *a, *w, *c, *sum; /* types in C */
    wick_dtype w_dtype;
} int8_print;

/* By column, where all of it is known; low, high and the zero point of results. */
typedef struct int8_known {
    float *scale, *bias, bounds[3];
    int32_t *added;
    bool same_scale;
} int8_known;

static inline bool wick_c_int8_quantises(const wick_int8 *p) { return p->result >= WICK_INT8_U8; }
static inline int64_t wick_c_int8_taps(const wick_int8 *p) {
    return p->conv ? p->kernel_dims[0] * p->kernel_dims[1] * p->kernel_dims[2] : 1;
}
/* Number of the constant that has known weights in the order of loops over `lanes` columns: [tap][groups] of depthwise
 * ones, else [group or product][panel][tap][source][lanes], the last panel narrower. */
int wick_c_int8_weights(wick_c_printer *printer, const int8_print *q, int64_t lanes);
/* ---- pairs, in int8_pairs.c -------------------------------------------------------------------------------------- */

/* Can sums go by pairs? All that is known must be: weights of 8 bits without zero points, the zero point of what they
 * are multiplied with. */
bool wick_c_int8_pairs(const int8_print *q, const int8_known *known, int32_t zero);
/* Bytes of scratch, and the whole function with its call. zero: of A; scratch: where these bytes are. */
size_t wick_c_int8_pairs_scratch(const wick_int8 *p);
void wick_c_print_int8_pairs(wick_c_printer *printer, const wick_step *s, const int8_print *q, const int8_known *known,
                             int32_t zero, const wick_ref *scratch);

#endif
