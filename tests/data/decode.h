/* decode.h: what the tests of decoders share. Define SAMPLES, a folder below tests/golden, before. */
#ifndef WICK_TESTS_DATA_DECODE_H
#define WICK_TESTS_DATA_DECODE_H

#include <stdio.h>

#include "wick/wick.h"

static wick_context *new_context(const wick_allocator *allocator) {
    wick_context *ctx = NULL;
    const wick_status status = wick_context_new(&ctx, &(wick_context_options){.threads = 1, .allocator = allocator});
    return status == WICK_OK ? ctx : NULL;
}

static const char *path_of(const char *name) {
    static char path[1024];
    snprintf(path, sizeof path, "%s/tests/golden/" SAMPLES "/%s", WICK_SOURCE_DIR, name);
    return path;
}

#endif
