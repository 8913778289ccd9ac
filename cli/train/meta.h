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

/* Says it where a checkpoint's metadata has no checksum. */
void meta_note(const wick_checkpoint *file, const char *path);
bool meta_is_covered(const wick_checkpoint *file); /* by a checksum; also a file of another program, which has none */

#endif
