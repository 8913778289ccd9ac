/* compiled.h: printed C as a library of this process, by the compiler that the system has: with the warnings that it
 * promises to be free of. */
#ifndef WICK_TESTS_CODEGEN_COMPILED_H
#define WICK_TESTS_CODEGEN_COMPILED_H

#include <dlfcn.h>
#include <unistd.h>

#include "test.h"

#define COMPILED_FLAGS "-std=c11 -Wall -Wextra -Werror -pedantic -O2 -fwrapv"

/* The compiler and its level. Printed C has the same bits by all of these that are installed; compilers drop calls and
 * make wrong vectors at one level and not at another. */
typedef struct compiled_way {
    const char *cc, *level;
} compiled_way;
static const compiled_way compiled_ways[] = {{"gcc", "-O2"}, {"gcc", "-O3"}, {"clang", "-O2"}, {"clang", "-O3"}};
enum { COMPILED_WAYS = sizeof compiled_ways / sizeof *compiled_ways, COMPILED_BY_CC = -1 };
static compiled_way compiled_by = {"cc", "-O2"};

static inline bool compiled_has(const char *cc) {
    char command[100];
    snprintf(command, sizeof command, "%s --version > /dev/null 2>&1", cc);
    return system(command) == 0;
}
static inline bool compiled_possible(void) { return compiled_has("cc"); }
/* Variants for AVX2 and AVX-512 have one printer: where the CPU has both, each case of a list is one or the other. */
#define compiled_in_turn(i, tier)                                                                                      \
    (test_long() || (tier) < WICK_TIER_AVX2 || wick_tier_best() < WICK_TIER_AVX512 || ((i) + (size_t)(tier)) % 2 == 0)
/* From now on that one, or cc at its level where it isn't here. false: others cover its cases. */
static inline bool compiled_with(int way) {
    compiled_by = compiled_ways[way];
    const bool here = compiled_has(compiled_by.cc);
    if (!here) compiled_by.cc = "cc";
    return here || !test_long() || way < 2;
}
/* Case i of a list: by cc in any case, and by one of the ways, which take turns; by all of them in a long run. Under a
 * sanitizer it is another one, at -O1: it looks at who prints, not at who compiles. */
static inline bool compiled_goes(size_t i, int way) {
    if (test_long() || way == COMPILED_BY_CC) return true;
    return way == (int)((i + (TEST_SANITIZED ? 2 : 0)) % COMPILED_WAYS);
}
static inline void compiled_with_cc(void) { compiled_by = (compiled_way){"cc", "-O2"}; }

/* A folder of this test's own below $TMPDIR. */
static inline bool compiled_folder(char *path, size_t size) {
    const char *tmp = getenv("TMPDIR");
    /* mkdtemp(3) writes a name of its own over the last six letters */
    snprintf(path, size, "%s/wick-codegen-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    return mkdtemp(path) != NULL;
}
static inline void compiled_remove(const char *folder) {
    char command[700];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    if (system(command)) printf("  %s stays\n", folder);
}

/* What is looked at under a sanitizer is who prints: one file of eight is compiled there, unless there are hours. */
static inline bool compiled_wanted(void) {
    static unsigned files;
    return !TEST_SANITIZED || test_long() || files++ % 8 == 0;
}

/* Reading <immintrin.h> is nine tenths of compiling a small net. Of files that follow each other and are compiled
 * alike, in one folder, all but the first find it compiled: the first says that a file includes what it needs. */
static inline void compiled_header(const char *folder, const char *options, char *include, size_t size) {
    static char last[1024];
    char key[1024], command[2400];
    *include = '\0';
    if (!strstr(options, "-mavx")) return;
    snprintf(key, sizeof key, "%s %s", folder, options);
    if (strcmp(key, last)) {
        strcpy(last, key);
        snprintf(command, sizeof command,
                 "echo '#include <immintrin.h>' > '%s/vendor.h' && %s -fPIC -x c-header -o '%s/vendor.h.gch' "
                 "'%s/vendor.h'",
                 folder, options, folder, folder);
        if (system(command)) printf("  no compiled <immintrin.h>\n");
        return;
    }
    snprintf(include, size, "-include '%s/vendor.h'", folder);
}

/* folder/name.c as a library; NULL: the compiler said something. */
static inline void *compiled_load(const char *folder, const char *name, const char *flags) {
    char command[2400], options[400], include[600], path[700];
    snprintf(path, sizeof path, "%s/%s.so", folder, name);
    snprintf(options, sizeof options, "%s " COMPILED_FLAGS " %s %s %s", compiled_by.cc, compiled_by.level, flags,
             TEST_SANITIZED && !test_long() ? "-O1" : "");
    compiled_header(folder, options, include, sizeof include);
    snprintf(command, sizeof command, "%s %s -fPIC -shared -o '%s' '%s/%s.c' -lm", options, include, path, folder,
             name);
    if (system(command)) return NULL;
    return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

#endif
