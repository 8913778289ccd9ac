/* golden.h: reads the values that another framework computed. A golden file is text, one array a line:
 *
 *   name rank dim ... value value ...
 *
 * Values are doubles in 17 digits, row-major. Lines that start with # are comments. */
#ifndef WICK_TESTS_GOLDEN_H
#define WICK_TESTS_GOLDEN_H

#include "test.h"

typedef struct golden {
    char name[64];
    int rank;
    int64_t dims[8], count;
    double *values;
    struct golden *next;
} golden;

/* NULL: unreadable. file stands beside this header. */
static inline golden *golden_load(const char *file) {
    char path[1024];
    const char *here = __FILE__, *slash = strrchr(here, '/');
    snprintf(path, sizeof path, "%.*s%s", slash ? (int)(slash - here + 1) : 0, here, file);
    FILE *f = fopen(path, "r");
    if (!f) return NULL;
    golden *first = NULL;
    char name[64];
    int c;
    bool ok = true;
    while (ok && (c = fgetc(f)) != EOF) {
        if (c == '#' || c == '\n') {
            while (c != '\n' && c != EOF) c = fgetc(f);
            continue;
        }
        ungetc(c, f);
        golden *g = calloc(1, sizeof *g);
        g->next = first;
        first = g;
        ok = fscanf(f, "%63s %d", name, &g->rank) == 2 && g->rank >= 0 && g->rank <= 8;
        if (!ok) break;
        memcpy(g->name, name, sizeof name);
        g->count = 1;
        for (int i = 0; ok && i < g->rank; i++) {
            long long d;
            ok = fscanf(f, "%lld", &d) == 1 && d >= 0;
            g->count *= g->dims[i] = d;
        }
        g->values = calloc((size_t)g->count + 1, sizeof(double));
        for (int64_t i = 0; ok && i < g->count; i++) ok = fscanf(f, "%lf", &g->values[i]) == 1;
    }
    fclose(f);
    if (ok) return first;
    fprintf(stderr, "%s: malformed\n", path);
    return NULL;
}

static inline const golden *golden_find(const golden *first, const char *name) {
    for (; first; first = first->next)
        if (strcmp(first->name, name) == 0) return first;
    return NULL;
}

static inline void golden_free(golden *first) {
    while (first) {
        golden *next = first->next;
        free(first->values);
        free(first);
        first = next;
    }
}

/* The largest |a - b| / max(1e-3, |b|): relative, with a floor for values that cancel to nothing. */
static inline double golden_distance(const golden *g, const double *values) {
    double worst = 0;
    for (int64_t i = 0; i < g->count; i++) {
        double d = fabs(values[i] - g->values[i]) / fmax(1e-3, fabs(g->values[i]));
        if (!(d <= worst)) worst = d; /* a NaN counts as the worst */
    }
    return worst;
}

/* Numbers without a file, by the formula that make_curves.py and its kin have too: exact in both. */
static inline uint32_t golden_hash(const char *text) { /* FNV-1a */
    uint32_t h = 2166136261u;
    for (; *text; text++) h = (h ^ (unsigned char)*text) * 16777619u;
    return h;
}
static inline uint32_t golden_number(uint32_t seed, uint32_t i) {
    static const uint32_t factors[2] = {2246822519u, 3266489917u};
    uint32_t h = seed + i * 2654435761u;
    for (int k = 0; k < 2; k++) h = (h ^ h >> 15) * factors[k];
    return h ^ h >> 16;
}

#endif
