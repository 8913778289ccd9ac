#include "tuned.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static wick_tuning tuning;
static char path[1024], trouble[512];
static bool known, used;

const wick_tuning *tuned(void) {
    if (known) return used ? &tuning : NULL;
    known = true;
    const char *named = getenv("WICK_TUNING");
    if (named && strcmp(named, "off") == 0) return NULL;
    if (named && *named)
        snprintf(path, sizeof path, "%s", named);
    else if (!wick_tuning_path(path, sizeof path) || access(path, F_OK) != 0)
        return NULL;
    used = wick_tuning_load(path, &tuning, trouble, sizeof trouble) == WICK_OK;
    return used ? &tuning : NULL;
}

const char *tuned_from(void) { return tuned() ? path : NULL; }

const char *tuned_trouble(void) {
    tuned();
    return trouble;
}
