/* compiled.h: printed C as a library of this process, by the compiler that the system has: with the warnings that it promises to be free of. */
#ifndef WICK_TESTS_CODEGEN_COMPILED_H
#define WICK_TESTS_CODEGEN_COMPILED_H

#include <dlfcn.h>
#include <unistd.h>

#include "test.h"

#define COMPILED_FLAGS "-std=c11 -Wall -Wextra -Werror -pedantic -O2 -fwrapv"

static inline bool compiled_possible(void) { return system("cc --version > /dev/null 2>&1") == 0; }

/* A folder of this test's own below $TMPDIR. */
static inline bool compiled_folder(char *path, size_t size) {
    const char *tmp = getenv("TMPDIR");
    snprintf(path, size, "%s/wick-codegen-XXXXXX", tmp && *tmp ? tmp : "/tmp"); /* mkdtemp(3) writes a name of its own over the last six letters */
    return mkdtemp(path) != NULL;
}
static inline void compiled_remove(const char *folder) {
    char command[700];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    if (system(command)) printf("  %s stays\n", folder);
}

/* folder/name.c as a library; NULL: the compiler said something. */
static inline void *compiled_load(const char *folder, const char *name, const char *flags) {
    char command[1400], path[700];
    snprintf(path, sizeof path, "%s/%s.so", folder, name);
    snprintf(command, sizeof command, "cc " COMPILED_FLAGS " %s -fPIC -shared -o '%s' '%s/%s.c' -lm", flags, path, folder, name);
    if (system(command)) return NULL;
    return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

#endif
