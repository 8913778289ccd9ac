/* meta.h: a growing list of string pairs for a checkpoint. */
#ifndef WICK_CLI_META_H
#define WICK_CLI_META_H

#include "wick/io.h"

typedef struct meta {
    wick_meta *pairs;
    int count, room;
} meta;

/* False: out of memory. */
WICK_PRINTF(3, 4) bool meta_add(meta *list, const char *key, const char *format, ...);
void meta_free(meta *list);

#endif
