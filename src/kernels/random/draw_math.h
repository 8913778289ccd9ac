/* draw_math.h: one deviate that takes a number of random words which nobody knows before, or one row of them: a
 * function of its random bits and parameters alone, in double. Generated C has these functions, too (codegen/math_c.h).
 */
#ifndef WICK_KERNELS_DRAW_MATH_H
#define WICK_KERNELS_DRAW_MATH_H

#include "base/philox.h"
#include "kernels/elementwise/math.h"

/* A Philox stream whose key is the element's 64 bits, read 64 bits at a time, the low word first: a block is two of
 * them. */
typedef struct wick_draws {
    uint32_t key[2], block, kind;
    uint64_t next; /* of the block before, if .more */
    int more;
} wick_draws;
static wick_draws wick_draws_of(uint64_t bits, uint32_t kind) {
    return (wick_draws){.key = {(uint32_t)bits, (uint32_t)(bits >> 32)}, .kind = kind};
}
static uint64_t wick_draws_bits(wick_draws *s) {
    if (s->more) {
        s->more = 0;
        return s->next;
    }
    const uint32_t counter[4] = {s->block++, 0, s->kind, 0};
    uint32_t words[4];
    wick_philox_words(counter, s->key, words);
    s->next = words[2] | (uint64_t)words[3] << 32;
    s->more = 1;
    return words[0] | (uint64_t)words[1] << 32;
}
/* in (0, 1) */
static double wick_draws_inside(wick_draws *s) { return ((double)(wick_draws_bits(s) >> 11) + 0.5) * 0x1p-53; }
/* Box and Muller 1958; one of the pair */
static double wick_draws_normal(wick_draws *s) {
    const double u = wick_draws_inside(s),
                 t = ((double)(wick_draws_bits(s) >> 11) - 0x1p52) * (3.14159265358979323846 * 0x1p-52);
    return wick_sqrt_f64(-2.0 * wick_log_f64(u)) * wick_cos_f64(t);
}

/* Tries before a deviate settles for a number in the middle. Each is taken with a chance above 0.45: 2^-55 are left
 * after 64. */
#define WICK_DRAW_TRIES 64

/* Marsaglia, Tsang: A simple method for generating gamma variables, 2000: with d = alpha - 1/3 and c = 1 / sqrt(9 d), d
 * (1 + c x)^3 of a normal x is taken where log u < x^2 / 2 + d - d v + d log v. Below 1: gamma of alpha + 1 times
 * u^(1/alpha). */
static double wick_gamma_of(double alpha, wick_draws s) {
    if (!(alpha > 0)) return alpha == 0 ? 0 : (double)NAN;
    if (alpha > 1e300) return alpha;
    const double boost = alpha < 1 ? wick_log_f64(wick_draws_inside(&s)) / alpha : 0,
                 d = (alpha < 1 ? alpha + 1 : alpha) - 1.0 / 3, c = 1 / wick_sqrt_f64(9 * d);
    double v = 1;
    for (int try = 0; try < WICK_DRAW_TRIES; try++) {
        const double x = wick_draws_normal(&s), u = wick_draws_inside(&s), root = 1 + c * x;
        v = root > 0 ? root * root * root : 0;
        /* What the first, cheaper bound takes (their section 4), the second one would. */
        if (root > 0 &&
            (u < 1 - 0.0331 * (x * x) * (x * x) || wick_log_f64(u) < 0.5 * x * x + d - d * v + d * wick_log_f64(v)))
            break;
        v = 1;
    }
    return alpha < 1 ? wick_exp_f64(wick_log_f64(d * v) + boost) : d * v;
}

/* A normal number within [a, b], a < b. Robert: Simulation of truncated normal variables, 1995: by the whole normal
 * where much of it lies inside, uniformly where the interval is short, and in a tail by an exponential of the best
 * rate. */
static double wick_truncated_of(double a, double b, wick_draws s) {
    if (b < 0) return -wick_truncated_of(-b, -a, s); /* mirrored: from here on the mode of the part is 0 or a > 0 */
    const double near = a > 0 ? a : 0;
    if (a <= 0 && b - a > 2.5) {
        for (int try = 0; try < WICK_DRAW_TRIES; try++) {
            const double x = wick_draws_normal(&s);
            if (x >= a && x <= b) return x;
        }
        return near;
    }
    const double root = wick_sqrt_f64(near * near + 4), rate = 0.5 * (near + root);
    if (a > 0 && b - a > wick_exp_f64(0.5 + 0.25 * (a * a - a * root)) / rate) {
        for (int try = 0; try < WICK_DRAW_TRIES; try++) {
            const double x = a - wick_log_f64(wick_draws_inside(&s)) / rate, far = x - rate;
            if (x <= b && wick_log_f64(wick_draws_inside(&s)) <= -0.5 * far * far) return x;
        }
        return near;
    }
    for (int try = 0; try < WICK_DRAW_TRIES; try++) {
        const double x = a + (b - a) * wick_draws_inside(&s);
        if (wick_log_f64(wick_draws_inside(&s)) <= 0.5 * (near * near - x * x)) return x;
    }
    return near;
}

/* bits of 2^64 parts, scaled to n: the upper half of a product. A bias of n / 2^64 is left. */
static uint64_t wick_bits_below(uint64_t bits, uint64_t n) {
    const uint64_t a = bits >> 32, b = bits & 0xffffffffu, c = n >> 32, d = n & 0xffffffffu,
                   middle = a * d + (b * d >> 32), other = b * c + (middle & 0xffffffffu);
    return a * c + (middle >> 32) + (other >> 32);
}

/* An order of 0 to n - 1. Fisher and Yates, as Durstenfeld (1964) does it. */
static void wick_permutation_of(int64_t n, wick_draws s, int64_t *p) {
    for (int64_t i = 0; i < n; i++) {
        const int64_t other = (int64_t)wick_bits_below(wick_draws_bits(&s), (uint64_t)i + 1);
        p[i] = p[other];
        p[other] = i;
    }
}

/* Places of a row's weights, which it overwrites, each by a uniform number; 0: a weight is negative, NaN or Inf, or too
 * few are above 0. */
static int wick_choices_of(int64_t n, int64_t count, double *row, const double *uniform, int64_t *places) {
    int64_t last = -1; /* with a weight: a product that was rounded up to the sum goes there */
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        if (!(row[i] >= 0 && row[i] < (double)INFINITY)) return 0;
        if (row[i] > 0) last = i;
        row[i] = sum += row[i];
    }
    if (last < 0) return 0;
    for (int64_t k = 0; k < count; k++) {
        const double at = uniform[k] * sum;
        int64_t low = 0, high = last; /* the first whose sum is above `at` */
        while (low < high) {
            const int64_t middle = low + (high - low) / 2;
            if (row[middle] > at)
                high = middle;
            else
                low = middle + 1;
        }
        places[k] = low;
    }
    return 1;
}

/* The element that is drawn last is on top of a heap. */
static int wick_is_drawn_later(const double *keys, int64_t a, int64_t b) {
    return keys[a] > keys[b] || (keys[a] == keys[b] && a > b);
}
static void wick_sift_drawn(int64_t *heap, int64_t size, const double *keys, int64_t at) {
    for (int64_t child; (child = 2 * at + 1) < size; at = child) {
        if (child + 1 < size && wick_is_drawn_later(keys, heap[child + 1], heap[child])) child++;
        if (!wick_is_drawn_later(keys, heap[child], heap[at])) return;
        const int64_t was = heap[at];
        heap[at] = heap[child];
        heap[child] = was;
    }
}
/* The same without one twice, by a uniform number for each weight. Efraimidis, Spirakis: Weighted random sampling with
 * a reservoir, 2006: exponential numbers over the weights are times of arrival; the first `count` to arrive are drawn,
 * in their order. A heap keeps them, the last on top. */
static int wick_distinct_of(int64_t n, int64_t count, double *row, const double *uniform, int64_t *places) {
    int64_t above = 0;
    for (int64_t i = 0; i < n; i++) {
        if (!(row[i] >= 0 && row[i] < (double)INFINITY)) return 0;
        above += row[i] > 0;
        row[i] = row[i] > 0 ? -wick_log_f64(1 - uniform[i]) / row[i] : (double)INFINITY;
    }
    if (above < count) return 0;
    for (int64_t i = 0; i < count; i++) places[i] = i;
    for (int64_t i = count / 2; i-- > 0;) wick_sift_drawn(places, count, row, i);
    for (int64_t i = count; i < n && count; i++)
        if (wick_is_drawn_later(row, places[0], i)) {
            places[0] = i;
            wick_sift_drawn(places, count, row, 0);
        }
    for (int64_t size = count; size-- > 1;) { /* sorted */
        const int64_t was = places[0];
        places[0] = places[size];
        places[size] = was;
        wick_sift_drawn(places, size, row, 0);
    }
    return 1;
}

#endif
