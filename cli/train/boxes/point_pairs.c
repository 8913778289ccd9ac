#include "point_pairs.h"

#include "point_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static int64_t find_name(const char *name, size_t length, int64_t points, const char *const *names) {
    for (int64_t k = 0; k < points; k++)
        if (strlen(names[k]) == length && memcmp(names[k], name, length) == 0) return k;
    return -1;
}

static bool is_paired(const point_pairs *p, int64_t k) {
    for (int64_t i = 0; i < p->n; i++)
        if (p->at[i][0] == k || p->at[i][1] == k) return true;
    return false;
}

/* The name of the point on the other side that belongs to this one, on the left or on the right; false: it isn't there.
 */
static bool name_of_other(const char *name, bool right, char other[POINT_NAME + 8]) {
    static const char *const words[] = {"left", "right"}, *const begins[] = {"l_", "r_"}, *const ends[] = {"_l", "_r"};
    const size_t n = strlen(name);
    const char *side = strcasestr(name, words[right]);
    if (side)
        snprintf(other, POINT_NAME + 8, "%.*s%s%s", (int)(side - name), name, words[!right],
                 side + strlen(words[right]));
    else if (n > 2 && strncasecmp(name, begins[right], 2) == 0)
        snprintf(other, POINT_NAME + 8, "%s%s", begins[!right], name + 2);
    else if (n > 2 && strcasecmp(name + n - 2, ends[right]) == 0)
        snprintf(other, POINT_NAME + 8, "%.*s%s", (int)n - 2, name, ends[!right]);
    else
        return false;
    return true;
}

static bool pair_names(int64_t points, const char *const *names, point_pairs *out, char *error, size_t size) {
    char name[POINT_NAME + 8];
    for (int64_t k = 0; k < points; k++) {
        int64_t other = 0;
        if (!name_of_other(names[k], false, name)) continue;
        while (other < points && (other == k || strcasecmp(names[other], name) != 0)) other++;
        if (other == points || is_paired(out, other)) {
            snprintf(error, size, "there is no point %s beside %s", name, names[k]);
            return false;
        }
        out->at[out->n][0] = k, out->at[out->n++][1] = other;
    }
    for (int64_t k = 0; k < points; k++)
        if (!is_paired(out, k) && name_of_other(names[k], true, name)) {
            snprintf(error, size, "there is no point %s beside %s", name, names[k]);
            return false;
        }
    return true;
}

static bool pair_listed(const char *text, int64_t points, const char *const *names, point_pairs *out, char *error,
                        size_t size) {
    for (const char *at = text; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
        const size_t n = strcspn(at, ","), first = strcspn(at, ":,");
        const size_t lengths[] = {first, first < n ? n - first - 1 : 0};
        int64_t pair[2];
        for (int side = 0; side < 2; side++) {
            const char *name = at + (side ? first + 1 : 0);
            if (first == n) {
                snprintf(error, size, "\"%.*s\" is no pair, as %s:%s is", (int)n, at, names[0], names[1]);
                return false;
            }
            pair[side] = find_name(name, lengths[side], points, names);
            if (pair[side] >= 0 && !is_paired(out, pair[side]) && !(side && pair[1] == pair[0])) continue;
            snprintf(error, size, pair[side] < 0 ? "there is no point \"%.*s\"" : "point %.*s is there twice",
                     (int)lengths[side], name);
            return false;
        }
        memcpy(out->at[out->n++], pair, sizeof pair);
    }
    return true;
}

bool point_pairs_read(const char *text, int64_t points, const char *const *names, point_pairs *out, char *error,
                      size_t size) {
    *out = (point_pairs){.at = calloc((size_t)points + 1, sizeof *out->at)};
    if (!out->at) return snprintf(error, size, "out of memory"), false;
    if (strcmp(text, "none") == 0) return true;
    if (*text ? pair_listed(text, points, names, out, error, size) : pair_names(points, names, out, error, size))
        return true;
    free(out->at);
    *out = (point_pairs){0};
    return false;
}
