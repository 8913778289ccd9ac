#include "stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool samples_add(samples *s, double value) {
    if ((size_t)s->n == s->room) {
        const size_t room = s->room ? 2 * s->room : 256;
        double *more = realloc(s->at, room * sizeof *more);
        if (!more) return false;
        s->at = more;
        if (!(more = realloc(s->sorted, room * sizeof *more))) return false;
        s->sorted = more;
        s->room = room;
    }
    s->at[s->n++] = value;
    return true;
}

void samples_free(samples *s) {
    free(s->at);
    free(s->sorted);
    *s = (samples){0};
}

static int by_value(const void *a, const void *b) {
    return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b);
}

void samples_sort(samples *s) {
    if (!s->n) return;
    memcpy(s->sorted, s->at, (size_t)s->n * sizeof *s->at);
    qsort(s->sorted, (size_t)s->n, sizeof *s->sorted, by_value);
}

static double rank_of(const double *sorted, int64_t n, double q) {
    const int64_t at = (int64_t)ceil(q * (double)n) - 1;
    return n ? sorted[at < 0 ? 0 : at >= n ? n - 1 : at] : 0;
}

double stats_quantile(const samples *s, double q) { return rank_of(s->sorted, s->n, q); }

void stats_median_interval(const samples *s, double *low, double *high) {
    const double half = 0.98 * sqrt((double)s->n);
    const int64_t from = (int64_t)floor((double)s->n / 2 - half), to = (int64_t)ceil((double)s->n / 2 + half);
    *low = s->n ? s->sorted[from < 0 ? 0 : from] : 0;
    *high = s->n ? s->sorted[to >= s->n ? s->n - 1 : to] : 0;
}

double stats_mad(const samples *s) {
    const double median = stats_quantile(s, 0.5);
    double *far = malloc((size_t)(s->n + 1) * sizeof *far);
    if (!far) return NAN;
    for (int64_t i = 0; i < s->n; i++) far[i] = fabs(s->at[i] - median);
    qsort(far, (size_t)s->n, sizeof *far, by_value);
    const double mad = rank_of(far, s->n, 0.5);
    free(far);
    return mad;
}

/* SplitMix64 (Steele, Lea, Flood 2014). */
static uint64_t draw(uint64_t *state) {
    uint64_t z = *state += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

static double median_of_draws(const samples *s, double *room, uint64_t *state) {
    for (int64_t i = 0; i < s->n; i++) room[i] = s->at[draw(state) % (uint64_t)s->n];
    qsort(room, (size_t)s->n, sizeof *room, by_value);
    return rank_of(room, s->n, 0.5);
}

double stats_ratio(const samples *a, const samples *b, double *low, double *high) {
    enum { DRAWS = 1000 };
    const double ratio = stats_quantile(a, 0.5) / stats_quantile(b, 0.5);
    double ratios[DRAWS], *room = malloc((size_t)(a->n > b->n ? a->n : b->n) * sizeof *room);
    uint64_t state = 1;
    *low = *high = ratio;
    if (!room || !a->n || !b->n) {
        free(room);
        return ratio;
    }
    for (int i = 0; i < DRAWS; i++) {
        const double of_a = median_of_draws(a, room, &state);
        ratios[i] = of_a / median_of_draws(b, room, &state);
    }
    free(room);
    qsort(ratios, DRAWS, sizeof *ratios, by_value);
    *low = rank_of(ratios, DRAWS, 0.025);
    *high = rank_of(ratios, DRAWS, 0.975);
    return ratio;
}

double stats_same(const samples *a, const samples *b) {
    const double n = (double)a->n, m = (double)b->n, all = n + m;
    if (a->n < 4 || b->n < 4) return 1;
    /* Both in order: the ranks of a's values, of equal ones their mean. */
    double ranks = 0, ties = 0;
    int64_t i = 0, j = 0;
    while (i < a->n || j < b->n) {
        const double value = j >= b->n || (i < a->n && a->sorted[i] < b->sorted[j]) ? a->sorted[i] : b->sorted[j];
        const int64_t before = i + j, of_a = i;
        while (i < a->n && a->sorted[i] == value) i++;
        while (j < b->n && b->sorted[j] == value) j++;
        const double equal = (double)(i + j - before);
        ranks += (double)(i - of_a) * ((double)before + (equal + 1) / 2);
        ties += equal * equal * equal - equal;
    }
    const double u = ranks - n * (n + 1) / 2, far = fabs(u - n * m / 2) - 0.5;
    const double variance = n * m / 12 * (all + 1 - ties / (all * (all - 1)));
    return variance > 0 && far > 0 ? erfc(far / sqrt(2 * variance)) : 1;
}
