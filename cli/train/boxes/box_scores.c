#include "box_scores.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

double box_overlap(const float a[4], const float b[4]) {
    const double wide = fmin((double)a[2], (double)b[2]) - fmax((double)a[0], (double)b[0]),
                 high = fmin((double)a[3], (double)b[3]) - fmax((double)a[1], (double)b[1]);
    if (!(wide > 0 && high > 0)) return 0;
    const double first = (double)(a[2] - a[0]) * (double)(a[3] - a[1]),
                 second = (double)(b[2] - b[0]) * (double)(b[3] - b[1]), both = wide * high;
    return both / (first + second - both);
}

typedef struct rated {
    int64_t order;
    float score;
    uint16_t right; /* a bit for each share */
} rated;
static int by_score(const void *a, const void *b) {
    const rated *x = a, *y = b;
    if (x->score != y->score) return x->score > y->score ? -1 : 1;
    return (x->order > y->order) - (x->order < y->order);
}

/* Those of one class in one picture: each in turn takes the box that it overlaps most, of those that none has taken. */
static void match(const box_found *found, const int64_t *mine, int64_t n, const box_truth *truth, const int64_t *theirs,
                  int64_t m, uint16_t *taken, rated *to) {
    memset(taken, 0, (size_t)m * sizeof *taken);
    for (int64_t i = 0; i < n; i++) {
        double best[BOX_OVERLAPS];
        int64_t at[BOX_OVERLAPS];
        for (int t = 0; t < BOX_OVERLAPS; t++) best[t] = 0.5 + 0.05 * t, at[t] = -1;
        for (int64_t k = 0; k < m; k++) {
            const double overlap = box_overlap(found[mine[i]].at, truth[theirs[k]].at);
            for (int t = 0; t < BOX_OVERLAPS; t++)
                if (!(taken[k] >> t & 1) && overlap >= best[t]) best[t] = overlap, at[t] = k;
        }
        to[i].right = 0;
        for (int t = 0; t < BOX_OVERLAPS; t++) {
            if (at[t] < 0) continue;
            taken[at[t]] = (uint16_t)(taken[at[t]] | 1u << t);
            to[i].right = (uint16_t)(to[i].right | 1u << t);
        }
    }
}

/* The mean of the precisions at the recalls; room: [n]. */
static double average(const rated *r, int64_t n, int64_t there, int share, double *room, double *precision,
                      double *recall) {
    int64_t right = 0;
    for (int64_t i = 0; i < n; i++) {
        right += r[i].right >> share & 1;
        room[i] = (double)right / (double)(i + 1);
    }
    *recall = (double)right / (double)there;
    for (int64_t i = n - 1; i > 0; i--) room[i - 1] = fmax(room[i - 1], room[i]);
    double sum = 0;
    right = 0;
    for (int64_t k = 0, i = 0; k < BOX_RECALLS; k++) {
        while (i < n) { /* the first at which so much is found */
            const int64_t now = right + (r[i].right >> share & 1);
            if ((double)now / (double)there >= 0.01 * (double)k) break; /* rounded as pycocotools has it */
            right = now, i++;
        }
        precision[k] = i < n ? room[i] : 0;
        sum += precision[k];
    }
    return sum / BOX_RECALLS;
}

static void measure(const rated *r, int64_t n, double *room, box_score *s) {
    double other[BOX_RECALLS], recall;
    s->ap = 0;
    for (int t = 0; t < BOX_OVERLAPS; t++) {
        const double ap = average(r, n, s->there, t, room, t ? other : s->precision, &recall);
        s->ap += ap / BOX_OVERLAPS;
        if (t == 0) s->ap50 = ap, s->recall = recall;
        if (t == 5) s->ap75 = ap;
    }
}

typedef struct work {
    int64_t *mine, *theirs; /* of the class at hand */
    uint16_t *taken;
    rated *rated;
    double *room;
} work;

static void measure_class(const box_found *found, int64_t n_found, const box_truth *truth, int64_t n_truth, int class,
                          const work *w, box_score *s) {
    int64_t n = 0, m = 0;
    for (int64_t i = 0; i < n_found; i++)
        if (found[i].class == class) w->mine[n++] = i;
    for (int64_t i = 0; i < n_truth; i++)
        if (truth[i].class == class) w->theirs[m++] = i;
    for (int64_t i = 0, k = 0; i < n;) {
        const int64_t picture = found[w->mine[i]].picture;
        int64_t end = i, last;
        while (end < n && found[w->mine[end]].picture == picture) end++;
        while (k < m && truth[w->theirs[k]].picture < picture) k++;
        for (last = k; last < m && truth[w->theirs[last]].picture == picture;) last++;
        match(found, w->mine + i, end - i, truth, w->theirs + k, last - k, w->taken, w->rated + i);
        i = end, k = last;
    }
    for (int64_t i = 0; i < n; i++) w->rated[i].order = i, w->rated[i].score = found[w->mine[i]].score;
    *s = (box_score){.there = m, .found = n, .ap = NAN, .ap50 = NAN, .ap75 = NAN, .recall = NAN};
    if (!m) return;
    qsort(w->rated, (size_t)n, sizeof *w->rated, by_score);
    measure(w->rated, n, w->room, s);
}

bool box_scores_of(const box_found *found, int64_t n_found, const box_truth *truth, int64_t n_truth, int classes,
                   box_score *each, box_score *mean) {
    const size_t n = (size_t)n_found + 1, m = (size_t)n_truth + 1;
    work w = {malloc(n * sizeof *w.mine), malloc(m * sizeof *w.theirs), malloc(m * sizeof *w.taken),
              malloc(n * sizeof *w.rated), malloc(n * sizeof *w.room)};
    const bool ok = w.mine && w.theirs && w.taken && w.rated && w.room;
    int there = 0;
    *mean = (box_score){0};
    for (int k = 0; ok && k < classes; k++) {
        box_score *s = &each[k];
        measure_class(found, n_found, truth, n_truth, k, &w, s);
        mean->there += s->there, mean->found += s->found;
        if (!s->there) continue;
        there++;
        mean->ap += s->ap, mean->ap50 += s->ap50, mean->ap75 += s->ap75, mean->recall += s->recall;
        for (int i = 0; i < BOX_RECALLS; i++) mean->precision[i] += s->precision[i];
    }
    const double by = there ? there : NAN;
    mean->ap /= by, mean->ap50 /= by, mean->ap75 /= by, mean->recall /= by;
    for (int i = 0; i < BOX_RECALLS; i++) mean->precision[i] /= by;
    free(w.mine), free(w.theirs), free(w.taken), free(w.rated), free(w.room);
    return ok;
}
