/* augment.h: what --augment says. */
#ifndef WICK_CLI_AUGMENT_H
#define WICK_CLI_AUGMENT_H

#include "wick/data.h"

/* Reads "none", or a list of "flip" and "crop=N", N from 1, each once, into flip and crop. False: it is none of these.
 */
bool augment_read(const char *text, wick_loader_options *options);

#endif
