/* decode.h: what the tests of decoders share. Define SAMPLES, a folder below tests/golden, before. */
#ifndef WICK_TESTS_DATA_DECODE_H
#define WICK_TESTS_DATA_DECODE_H

#include <stdio.h>

#include "context.h"
#include "wick/wick.h"

static const char *path_of(const char *name) {
    static char path[1024];
    snprintf(path, sizeof path, "%s/tests/golden/" SAMPLES "/%s", WICK_SOURCE_DIR, name);
    return path;
}

#endif
