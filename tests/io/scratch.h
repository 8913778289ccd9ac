/* scratch.h: a folder of a test program's own, and paths in it. */
#ifndef WICK_TESTS_IO_SCRATCH_H
#define WICK_TESTS_IO_SCRATCH_H

#include <stdio.h>
#include <stdlib.h>

#include "test.h"
#include "wick/wick.h"

static char folder[] = "/tmp/wick-test-XXXXXX"; /* mkdtemp(3) writes a name of its own over the last six letters */
static wick_context *ctx;

/* The folder, made at the first call, and a fresh context. */
static inline bool scratch_context(const wick_context_options *options) {
    static bool made;
    if (!made && !mkdtemp(folder)) return false;
    made = true;
    return wick_context_new(options, &ctx) == WICK_OK;
}

/* The path of a name in the folder; the eight last ones stay. */
static inline const char *at(const char *name) {
    static char paths[8][256];
    static int k;
    char *path = paths[k = (k + 1) % 8];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}
static inline bool put(const char *path, const void *data, size_t n) {
    FILE *f = fopen(path, "wb");
    const bool good = f && (!n || fwrite(data, 1, n, f) == n);
    return f && fclose(f) == 0 && good;
}

#endif
