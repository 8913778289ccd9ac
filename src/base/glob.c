/* glob.c: patterns of names. Not fnmatch(3), whose time for a name out of a hostile file has no good bound, and whose
 * answer depends on the locale. */
#include "base/base.h"

#include <string.h>

/* One alternative, up to a | or the end. */
static bool matches(const char *pattern, const char *name) {
    const char *after = NULL, *from = name; /* the last *, and where the text that it stands for ends */
    while (*name) {
        if (*pattern == '*')
            after = ++pattern, from = name;
        else if (*pattern && *pattern != '|' && (*pattern == '?' || *pattern == *name))
            pattern++, name++;
        else if (after)
            pattern = after, name = ++from;
        else
            return false;
    }
    while (*pattern == '*') pattern++;
    return !*pattern || *pattern == '|';
}

bool wick_glob(const char *pattern, const char *name) {
    for (;; pattern++) {
        if (matches(pattern, name)) return true;
        pattern += strcspn(pattern, "|");
        if (!*pattern) return false;
    }
}
