/* arch.h: the networks that the command can build, named by a string that a checkpoint keeps: "mlp:256,128", "linear". */
#ifndef WICK_CLI_ARCH_H
#define WICK_CLI_ARCH_H

#include "wick/nn.h"

enum { ARCH_MAX_LAYERS = 16, ARCH_TEXT = 320 };

typedef struct arch {
    int kind; /* row of the table in arch.c */
    int n_hidden;
    int64_t hidden[ARCH_MAX_LAYERS];
} arch;

/* text: "NAME:SIZES", or "NAME", which then takes `sizes` if it has hidden layers (NULL: an error). False, with one line in
 * `error`. */
bool arch_parse(arch *a, const char *text, const char *sizes, char *error, size_t size);
void arch_format(const arch *a, char text[ARCH_TEXT]);
/* How many weights it has, biases aside; a double, since a checkpoint may ask for more than fits. */
double arch_weights(const arch *a, int64_t pixels, int64_t classes);
/* Records the network: x [n, ...] -> logits [n, classes]. */
wick_tensor *arch_logits(const arch *a, wick_model *model, wick_tensor *x, int64_t classes, double dropout);

#endif
