#include "meta.h"

#include "../term/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool meta_add(meta *list, const char *key, const char *format, ...) {
    if (list->count == list->room) {
        int room = list->room ? 2 * list->room : 32;
        wick_meta *pairs = realloc(list->pairs, (size_t)room * sizeof *pairs);
        if (!pairs) return false;
        list->pairs = pairs;
        list->room = room;
    }
    char *name = strdup(key), *value = NULL;
    va_list args;
    va_start(args, format);
    int length = vasprintf(&value, format, args);
    va_end(args);
    if (!name || length < 0) {
        free(name);
        if (length >= 0) free(value);
        return false;
    }
    list->pairs[list->count++] = (wick_meta){name, value};
    return true;
}

void meta_free(meta *list) {
    for (int i = 0; i < list->count; i++) {
        free((char *)list->pairs[i].key);
        free((char *)list->pairs[i].value);
    }
    free(list->pairs);
    *list = (meta){0};
}

bool meta_is_covered(const wick_checkpoint *file) {
    const char *format = wick_checkpoint_meta(file, "wick.format");
    return !format || strcmp(format, "1") != 0;
}

void meta_note(const wick_checkpoint *file, const char *path) {
    if (!meta_is_covered(file))
        log_note("%s was written by an older Wick: its metadata has no checksum, and damage to it would not be seen",
                 path);
}
