/* library.h: shared libraries that are loaded when they are needed. What is used of their interfaces is declared by
 * hand, so their headers are not needed to build Wick. */
#ifndef WICK_BASE_LIBRARY_H
#define WICK_BASE_LIBRARY_H

#include "base/base.h"

typedef struct wick_library {
    const char *purpose; /* "reading gzip" */
    const char *package; /* "zlib (libz.so.1; Debian: zlib1g)" */
    const char *files[3];
} wick_library;

/* A function of the library, and the pointer that gets it. */
typedef struct wick_symbol {
    const char *name;
    void *function;
} wick_symbol;

/* *handle is for dlclose, and NULL on failure: WICK_ERR_UNSUPPORTED, which names the package; `name` is the file that
 * needs it. */
WICK_MUST_CHECK wick_status wick_library_open(void **handle, const wick_library *library, int n,
                                              const wick_symbol *symbols, const char *name, wick_msg *msg);

#endif
