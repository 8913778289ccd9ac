/* sparse_tuning.h: from which share of zeros on sparse weights are packed as such: the page of what was chosen by
 * measuring. wick bench sparse prints the evidence, docs/kernels.md ("Sparse weights") has what was measured where. */
#ifndef WICK_KERNELS_SPARSE_TUNING_H
#define WICK_KERNELS_SPARSE_TUNING_H

/* In percent of k n, the most that may be gone through, by tier (ref, base, avx2, avx512): numbers that are not zero,
 * of the form few together with those that fill its steps. A little less than where both ways take the same, so that no
 * product loses. */
/* clang-format off */
/* Rows of A up to which the form few is taken. */
#define WICK_SPARSE_FEW_ROWS {4, 4, 4, 20}
/* Of it: one row (the dense product is bound by the bytes of B); up to twice WICK_SPARSE_FEW; more. */
#define WICK_SPARSE_MOST_FEW {{30, 30, 30}, {21, 26, 26}, {48, 48, 48}, {65, 65, 45}}
/* Of panels of one vector of rows, of two, whose chains wait for each other; of more. Dense tiles use what they load 6
 * to 14 times. Rows that fill no vector take from these in proportion. */
#define WICK_SPARSE_MOST_PANEL {{30, 30, 30}, {20, 38, 50}, {18, 27, 37}, {15, 27, 28}}
/* clang-format on */

enum {
    WICK_SPARSE_LEAST = 64,         /* columns and k, at least: of less there is little to gain */
    WICK_SPARSE_SAMPLE = 1024,      /* numbers of B that are looked at first: most weights have no zeros */
    WICK_SPARSE_SAMPLE_ZEROS = 460, /* so many of them at least have to be zero */
    WICK_SPARSE_SLACK = 16,         /* room for a 16th more than there is now */
    WICK_SPARSE_TASK_SHARE = 2,     /* a task has this part of the multiply-adds of a dense one, */
    WICK_SPARSE_THIN_COST = 4,      /* or of a few rows this */
    WICK_SPARSE_LAYS_OUT = 24 /* a task lays out its rows of A, which takes as long as so many columns of dense B */
};

#endif
