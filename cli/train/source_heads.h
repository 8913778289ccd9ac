/* source_heads.h: what the readers of tables and of tensors share where several things are learned of a sample
 * (heads.h). */
#ifndef WICK_CLI_SOURCE_HEADS_H
#define WICK_CLI_SOURCE_HEADS_H

#include "heads.h"
#include "source_kinds.h"

/* What the columns or the array of one head hold. */
typedef struct found {
    int64_t rows;       /* -1: it is not there, which may be */
    int64_t n;          /* numbers of a row */
    float *numbers;     /* [rows, n], NaN: nobody says; NULL: it has texts */
    int64_t *at;        /* [rows] which of the texts, -1: nobody says */
    int64_t k;          /* different texts, in the order of their bytes */
    const char **texts; /* [k] */
    const char **names; /* [n] of numbers, what they are called */
    char *held;         /* what names are parts of, where they need it */
    wick_csv *csv;      /* what texts and names are parts of */
    wick_dataset *set;
} found;
void found_free(found *f);

typedef struct heads_reader {
    wick_context *ctx;
    const char *path;
    const source_options *so;
    heads *heads;
    bool known; /* what they are, by a model; else it is found, and said */
    int64_t rows;
    float *targets; /* [rows, outputs] */
} heads_reader;
/* Finds out which heads are asked for, or known. */
wick_status heads_begin(wick_context *ctx, const char *path, const source_options *so, heads_reader *r);
void heads_end(heads_reader *r);

/* Reads what head h is of: of a known head numbers or texts, as it was learned. */
typedef wick_status heads_fetch(heads_reader *r, const head *h, found *f);
/* Reads all of them: what they are, and the targets of all rows. */
wick_status heads_take(heads_reader *r, heads_fetch *fetch);
/* The targets of head i. *missing: rows without. */
wick_status heads_put(heads_reader *r, int i, found *f, int64_t *missing);
/* *o's set becomes that of its samples and their targets; its coding gets the heads. */
wick_status heads_join(heads_reader *r, owned *o);

#endif
