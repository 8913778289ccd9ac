#include "groups.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The next part of a list, which ends it with a NUL; NULL: there is none. */
static char *part(char **rest, char by) {
    char *at = *rest;
    if (!at) return NULL;
    *rest = strchr(at, by);
    if (*rest) *(*rest)++ = '\0';
    return at;
}

/* A number of at least 0, with an x behind it if it is a factor. */
static bool read_number(const char *text, double *value, bool *factor) {
    char *end;
    *value = strtod(text, &end);
    *factor = end != text && *end == 'x';
    return end != text && !end[*factor] && isfinite(*value) && *value >= 0;
}

/* 0 where 0 is meant. */
static double zero(double value) { return value == 0 ? WICK_ZERO : value; }

static const char *read_setting(wick_param_group *g, const char *text, double lr) {
    const char *value = strchr(text, '=');
    const size_t length = value ? (size_t)(value - text) : strlen(text);
    double number;
    bool factor;
    if (!value && !strcmp(text, "freeze")) {
        g->freeze = true;
        return NULL;
    }
    if (length == 2 && value && !memcmp(text, "lr", 2)) {
        if (!read_number(value + 1, &number, &factor) || number == 0)
            return "lr needs a rate above 0, or a factor like 0.1x; freeze trains nothing";
        g->lr_scale = factor ? number : number / lr;
        return NULL;
    }
    if (length == 5 && value && !memcmp(text, "decay", 5)) {
        if (!read_number(value + 1, &number, &factor) || factor) return "decay needs a number from 0 on";
        g->weight_decay = zero(number);
        return NULL;
    }
    return "after the pattern and a : there are lr=RATE, lr=FACTORx, decay=W and freeze, with commas between";
}

static bool add_group(param_groups *groups, char *one, char *settings, double lr, const char *option, char *error,
                      size_t size) {
    char shown[200];
    const char *bad = NULL;
    snprintf(shown, sizeof shown, "%s", one);
    if (groups->n == MOST_GROUPS) bad = "is one group too many";
    if (!bad && !*option) {
        wick_param_group *g = &groups->list[groups->n++];
        g->pattern = one;
        g->freeze = true;
        return true;
    }
    if (!bad && (!settings || settings == one || !settings[1])) bad = "the form is PATTERN:lr=0.1x,decay=0";
    if (!bad) {
        wick_param_group *g = &groups->list[groups->n++];
        *settings++ = '\0';
        g->pattern = one;
        for (char *setting; !bad && (setting = part(&settings, ','));) bad = read_setting(g, setting, lr);
    }
    if (bad) snprintf(error, size, "--%s '%s': %s", *option ? option : "freeze", shown, bad);
    return !bad;
}

bool groups_read(param_groups *groups, const char *text, const char *freeze, double lr, char *error, size_t size) {
    *groups = (param_groups){0};
    if (strlen(text) + strlen(freeze) + 2 > sizeof groups->text) {
        snprintf(error, size, "--group and --freeze are longer than %zu bytes", sizeof groups->text - 2);
        return false;
    }
    char *rest = strcpy(groups->text, text), *frozen = strcpy(groups->text + strlen(text) + 1, freeze);
    for (char *one; *text && (one = part(&rest, ';'));)
        if (!add_group(groups, one, strrchr(one, ':'), lr, "group", error, size)) return false;
    for (char *one; *freeze && (one = part(&frozen, ';'));)
        if (!add_group(groups, one, NULL, lr, "", error, size)) return false;
    return true;
}
