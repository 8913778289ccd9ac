/* library.h: whether a library that Wick opens when it needs it is on this machine. What is optional for Wick is
 * optional for its tests. */
#ifndef WICK_TESTS_LIBRARY_H
#define WICK_TESTS_LIBRARY_H

#include <dlfcn.h>
#include <stdbool.h>

static inline bool have_library(const char *file) {
    void *library = dlopen(file, RTLD_LAZY | RTLD_LOCAL);
    if (library) dlclose(library);
    return library != NULL;
}
#define NEEDS_ZLIB \
    if (!have_library("libz.so.1")) SKIP("no zlib on this machine")

#endif
