/* conv_parts.h: what the files of convolutions' control flow share: conv.c plans, conv_geometry.c knows which outputs
 * read what, conv_pack.c lays out weights, conv_correlate.c makes outputs (FORWARD, DATA) and conv_weight.c gradients
 * of weights. */
#ifndef WICK_KERNELS_CONV_CONV_PARTS_H
#define WICK_KERNELS_CONV_CONV_PARTS_H

#include "kernels/conv/conv.h"
#include "kernels/gemm/gemm.h"
#include "kernels/gemm/gemm_tuning.h"

static inline int64_t conv_product(const int64_t *x) { return x[0] * x[1] * x[2]; }

/* Elements of weights that are transposed at once, on the stack. */
enum { CONV_TURN = 4096 };

static inline int64_t conv_phases_of(const wick_convolution *c) {
    return c->what == WICK_CONV_DATA ? conv_product(c->stride) : 1;
}
static inline int64_t conv_source_channels(const wick_convolution *c) {
    return c->groups * (c->what == WICK_CONV_DATA ? c->co : c->ci);
}

/* ---- boxes ------------------------------------------------------------------------------------------------------- */

/* A box of outputs of one phase, or of all, and the box of the source that they read. */
typedef struct conv_box {
    wick_conv_axis axis[3];
    int64_t first[3], n[3];   /* outputs */
    int64_t lo[3], extent[3]; /* of the source */
    int64_t pixels, taps;
    bool inside; /* of the source: nothing to pad */
} conv_box;

/* Of all phases of a dim together, without dilation: outputs are the first input of every stride. */
wick_conv_axis wick_conv_whole_axis_of(const wick_convolution *c, int d);
/* Slab number `slab` of a phase, of all if it is conv_phases_of(c); pixels is 0 when there is nothing. */
conv_box wick_conv_box_of(const wick_convolution *c, int64_t phase, int64_t slab);

/* Where the outputs of row (z, y) of the box start, in pixels of the destination. */
static inline int64_t conv_row_pixel(const wick_convolution *c, const conv_box *b, int64_t row) {
    const int64_t *dims = c->what == WICK_CONV_DATA ? c->in : c->out, j[3] = {row / b->n[1], row % b->n[1], 0};
    int64_t at = 0;
    for (int d = 0; d < 3; d++) at = at * dims[d] + b->axis[d].dst0 + (b->first[d] + j[d]) * b->axis[d].dst_step;
    return at;
}

/* ---- blocks ------------------------------------------------------------------------------------------------------ */

/* Consecutive pieces of a list of equally long ones, together a block of a product's inner dim; or a part of a piece
 * too long for one. */
typedef struct conv_block {
    int64_t first, n, from, k;
} conv_block;

static inline int64_t conv_pieces_of_block(int64_t length) {
    return length > WICK_GEMM_KC ? 1 : WICK_GEMM_KC / WICK_MAX(length, 1);
}

/* From {0}: the next block, of `most` pieces (1, of those that are too long); false: there is none. */
static inline bool conv_next_block(conv_block *b, int64_t pieces, int64_t length, int64_t most) {
    if (b->n && b->from + b->k < length) {
        b->from += b->k;
        b->k = WICK_MIN(length - b->from, WICK_GEMM_KC);
        return true;
    }
    b->first += b->n;
    b->from = 0;
    if (b->first >= pieces) return false;
    b->k = WICK_MIN(length, WICK_GEMM_KC);
    b->n = WICK_MIN(most, pieces - b->first);
    return true;
}

/* ---- states ------------------------------------------------------------------------------------------------------ */

/* What a unit works on, kept while phase and slab stay. Offsets are in elements from the first pixel that an output
 * reads. */
typedef struct conv_state {
    int64_t phase, slab;
    conv_box box;
    int64_t pixel, line, plane; /* of the source: elements from one to the next */
    int64_t n_taps, *taps, run; /* where taps are read; neighbours in a row are one, of `run` elements */
    int64_t n_rows, *rows;      /* rows of outputs */
    char *copy, *panel;         /* scratch: the box, and y in panels where it can't be read in place */
    const char *next;           /* what the next box reads, of next_bytes; NULL: it need not be asked for */
    int64_t next_bytes;
} conv_state;
conv_state wick_conv_state_in(const wick_convolution *c, char *scratch);
void wick_conv_state_move(const wick_convolution *c, conv_state *s, int64_t phase, int64_t slab);
/* The first pixel that the outputs of the box read, in an image or in the copy that this makes. */
const char *wick_conv_state_source(const wick_convolution *c, conv_state *s, const char *image);

/* ---- all phases at once ------------------------------------------------------------------------------------------ */

/* Columns: a panel of whole vectors. */
int64_t wick_conv_whole_width(const wick_convolution *c);
/* Rows of taps that make a block; 0: there is no such number. */
int64_t wick_conv_whole_block(const wick_convolution *c);
/* Why they are not computed so; NULL: they are. */
const char *wick_conv_whole_refused(const wick_convolution *c);

/* ---- packed weights ---------------------------------------------------------------------------------------------- */

/* Output channels of a group in panels of nr, the last one of whole vectors: elements of the panels before `panel`, for
 * k = 1. */
static inline int64_t conv_panels_of(const wick_convolution *c) {
    return wick_ceil_div(c->what == WICK_CONV_DATA ? c->ci : c->co, c->gemm->nr);
}
static inline int64_t conv_panel_width(const wick_convolution *c, int64_t panel) {
    const int64_t outputs = c->what == WICK_CONV_DATA ? c->ci : c->co;
    return (int64_t)WICK_ALIGN_UP(WICK_MIN(c->gemm->nr, outputs - panel * c->gemm->nr), c->gemm->lanes);
}
static inline int64_t conv_panels_width(const wick_convolution *c) {
    return (conv_panels_of(c) - 1) * c->gemm->nr + conv_panel_width(c, conv_panels_of(c) - 1);
}
/* Where panel 0 of a group and phase starts, in elements. */
int64_t wick_conv_panels_at(const wick_convolution *c, int64_t group, int64_t phase);

/* ---- stages of wick_conv_run ------------------------------------------------------------------------------------- */

void wick_conv_run_pack(const wick_convolution *c, int64_t begin, int64_t end, const char *w, char *packed);
void wick_conv_run_correlation(const wick_convolution *c, int64_t begin, int64_t end, const char *src,
                               const char *packed, const char *bias, char *dst, char *scratch);
void wick_conv_run_weight(const wick_convolution *c, int64_t begin, int64_t end, const char *x, const char *y,
                          char *partials, char *scratch);
/* Tasks [begin, end) of those that add up the partial sums of chunks. */
void wick_conv_run_sums(const wick_convolution *c, int64_t begin, int64_t end, const void *partials, void *dst);

#endif
