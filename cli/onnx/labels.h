/* labels.h: the likeliest classes of an output that has a score for each. */
#ifndef WICK_CLI_LABELS_H
#define WICK_CLI_LABELS_H

#include "../cli.h"
#include "../json.h"

#include "wick/tensor.h"

typedef struct labels {
    int64_t top; /* how many to show; 0: none */
    char *text;  /* --labels FILE, its lines ended by NULs */
    const char **names;
    int64_t n;
} labels;

/* --topk K and --labels FILE, a name a line. An exit code; what went wrong has been said. */
int labels_open(labels *l, const cli_options *o);
void labels_free(labels *l);
/* Whether x is a vector of floats, but for extents of 1 in front: scores of classes. */
bool labels_fit(wick_tensor *x);
/* The highest scores with their names, or numbers where names are not as many as classes: a line each, and "top":
 * [{"class", "label", "score"}]. */
void labels_print(const labels *l, wick_tensor *x);
void labels_json(json *j, const labels *l, wick_tensor *x);

#endif
