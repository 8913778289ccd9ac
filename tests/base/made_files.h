/* made_files.h: files below a folder that stands for the root of a machine: /sys, /proc and control groups as a test
 * wants them. */
#ifndef WICK_TESTS_MADE_FILES_H
#define WICK_TESTS_MADE_FILES_H

#include <sys/stat.h>

#include "test.h"

static char root[64]; /* the folder */

/* A file of that text at a path from /, with the folders that it lies in. */
static inline void put(const char *path, const char *text) {
    char full[512];
    snprintf(full, sizeof full, "%s%s", root, path);
    for (char *p = full + strlen(root) + 1; (p = strchr(p, '/')) != NULL; *p++ = '/') {
        *p = 0;
        mkdir(full, 0755);
    }
    FILE *f = fopen(full, "w");
    CHECK(f != NULL);
    if (!f) return;
    fputs(text, f);
    fclose(f);
}

#endif
