/* wick/kinds.h: what a file is, by its first bytes and not by its name. */
#ifndef WICK_KINDS_H
#define WICK_KINDS_H

#include <stddef.h>

#include "wick/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What Wick can read a file as. */
typedef enum wick_kind_use { WICK_KIND_OTHER, WICK_KIND_PICTURE, WICK_KIND_RECORDING } wick_kind_use;
typedef struct wick_kind {
    const char *format; /* "png" */
    const char *name;   /* "a PNG picture" */
    wick_kind_use use;  /* WICK_KIND_OTHER: neither, or nothing that Wick reads */
    const char *advice; /* of what Wick does not read, what makes something of it that it does; %s stands for the file's
                           name. NULL: nobody knows */
} wick_kind;

#define WICK_KIND_BYTES 512 /* of a file's beginning, that tell all kinds */
/* Of the first `size` bytes of a file. NULL: they don't tell. The result is static. */
WICK_API const wick_kind *wick_kind_of(const void *head, size_t size);

#ifdef __cplusplus
}
#endif
#endif
