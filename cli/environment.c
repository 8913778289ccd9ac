#include "environment.h"

#include "paths.h"
#include "term/log.h"

#include "wick/context.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The library never prints: what it doesn't know it ignores. */
static void isa(const char *value) {
    if (wick_isa_known(value)) return;
    char tiers[256] = "", extensions[256] = "";
    for (int i = 0, n = 0; i < wick_isa_count(); i++)
        n += snprintf(tiers + n, sizeof tiers - (size_t)n, "%s %s", i ? "," : "", wick_isa_at(i).name);
    for (int i = 0, n = 0; i < wick_isa_extension_count(); i++)
        n += snprintf(extensions + n, sizeof extensions - (size_t)n, "%s %s", i ? "," : "",
                      wick_isa_extension_at(i).name);
    log_warn("WICK_ISA=%s is ignored; the tiers are%s; behind one, or alone, a minus leaves out one of%s", value,
              tiers, extensions);
}

static void data(const char *value) {
    if (!path_is_folder(value)) log_warn("WICK_DATA=%s is no folder: no set of data is found there", value);
}

static void compiler(const char *value) {
    if (strchr(value, '/') && access(value, X_OK) != 0)
        log_warn("WICK_CC=%s can't be run: kernels are not compiled", value);
}

static void number_of_threads(const char *value) {
    char *end;
    const long n = strtol(value, &end, 10);
    if (*end || n < 1 || n > WICK_THREADS_MAX)
        log_warn("WICK_THREADS=%s is ignored; it may be 1 to %d", value, WICK_THREADS_MAX);
}

/* Each has a list of values, or a check. WICK_TUNING is a file, which says itself what is wrong with it. */
static const struct {
    const char *name, *values; /* separated by blanks */
    void (*check)(const char *value);
} variables[] = {
    {"WICK_ISA", NULL, isa},        {"WICK_F32", "highest split high medium", NULL},
    {"WICK_JIT", "0 1 wait", NULL}, {"WICK_EAGER", "0 1", NULL},
    {"WICK_VERIFY", "0 1", NULL},   {"WICK_DATA", NULL, data},
    {"WICK_CC", NULL, compiler},    {"WICK_THREADS", NULL, number_of_threads},
};

static bool is_one_of(const char *value, const char *list) {
    const size_t n = strlen(value);
    for (; *list; list += strcspn(list, " "), list += *list == ' ')
        if (strcspn(list, " ") == n && strncmp(list, value, n) == 0) return true;
    return false;
}

void environment_check(void) {
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++) {
        const char *value = getenv(variables[i].name);
        if (!value || !*value) continue;
        if (variables[i].check) variables[i].check(value);
        else if (!is_one_of(value, variables[i].values))
            log_warn("%s=%s is ignored; it may be one of: %s", variables[i].name, value, variables[i].values);
    }
}
