/* heads.h: several things that are learned of a sample at once, each a head: its kind, its weight in the loss, and
 * which of the network's numbers are its own. The targets of a sample are laid out as those numbers are: of classes 1
 * for the one that it is and 0 for the others, of labels 1 for those that are there, and NaN where nobody says. */
#ifndef WICK_CLI_HEADS_H
#define WICK_CLI_HEADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { MOST_HEADS = 64 };
typedef enum head_kind {
    HEAD_AUTO,    /* as the data look */
    HEAD_CLASSES, /* one of several: cross entropy */
    HEAD_NUMBERS, /* one or several numbers: mean of squares, of targets with deviation 1 */
    HEAD_LABELS   /* any of several: binary cross entropy, the mean over them */
} head_kind;
extern const char *const head_kinds[]; /* as --heads and the coding have them */

typedef struct head {
    char *name; /* the column or array, or a pattern that several columns match */
    head_kind kind;
    double weight;    /* of its loss in the sum */
    int64_t first, n; /* of the network's numbers */
    char **outputs;   /* [n] what they are called: classes, labels or columns; NULL: not known */
} head;
typedef struct heads {
    head list[MOST_HEADS];
    int n;
    int64_t outputs; /* of all heads */
} heads;
void heads_free(heads **h); /* null-safe, nulls */

/* Reads "rhythm=classes*0.5, hr=number, tags*=labels, age", or, without `kinds`, names alone as --target has them.
 * malloc'ed; NULL, with a line in `error`: it is wrong. */
heads *heads_read(const char *text, bool kinds, char *error, size_t size);
/* Whether `name` is what a pattern says, in which * is any text. */
bool heads_match(const char *pattern, const char *name);

/* What was learned of data is kept as a text (source.h); behind that of the samples it has the heads, a line each:
 *
 *   "heads"
 *   "classes","rhythm","0.5","afib","normal"          kind, name, weight, what its numbers are called
 *
 * with a form feed before it. This is where that begins in the text, NULL: it has none. */
const char *heads_in(const char *coding);
/* Reads what heads_in finds, which is as little trusted as any file; NULL: it is wrong, or out of memory. */
heads *heads_read_coding(const char *at);
/* Writes it. */
void heads_write(FILE *out, const heads *h);

#endif
