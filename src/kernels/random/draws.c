/* draws.c: deviates that take a number of random words which nobody knows before. Every element has 64 random bits of its own: they are the key
 * of a Philox stream, from which it draws for as long as it has to. So an element is a function of its bits and parameters alone.
 *
 * Plain C in double: rejection is branches. Where tiers have loops for the first try of all elements, it comes from those. */
#include "kernels/elementwise/math.h"
#include "kernels/random/random.h"

/* Tries before a deviate settles for a number in the middle. Each is taken with a chance above 0.45: 2^-55 are left after 64. */
enum { TRIES = 64 };

typedef struct stream {
    uint32_t key[2], block, kind, left, words[4];
} stream;
static stream stream_of(uint64_t bits, uint32_t kind) { return (stream){.key = {(uint32_t)bits, (uint32_t)(bits >> 32)}, .kind = kind}; }
static uint32_t word(stream *s) {
    if (!s->left) {
        wick_philox((const uint32_t[4]){s->block++, 0, s->kind, 0}, s->key, s->words);
        s->left = 4;
    }
    return s->words[4 - s->left--];
}
static uint64_t two_words(stream *s) {
    const uint64_t low = word(s);
    return low | (uint64_t)word(s) << 32;
}
static double inside(stream *s) { return ((double)(two_words(s) >> 11) + 0.5) * 0x1p-53; } /* in (0, 1) */
static double normal(stream *s) {                                                          /* Box and Muller 1958; one of the pair */
    const double u = inside(s), t = ((double)(two_words(s) >> 11) - 0x1p52) * (3.14159265358979323846 * 0x1p-52);
    return wick_sqrt_f64(-2.0 * wick_log_f64(u)) * wick_cos_f64(t);
}

/* Marsaglia, Tsang: A simple method for generating gamma variables, 2000: with d = alpha - 1/3 and c = 1 / sqrt(9 d), d (1 + c x)^3 of a normal x
 * is taken where log u < x^2 / 2 + d - d v + d log v. Below 1: gamma of alpha + 1 times u^(1/alpha). */
static double gamma_of(double alpha, uint64_t bits) {
    if (!(alpha > 0)) return alpha == 0 ? 0 : (double)NAN;
    if (alpha > 1e300) return alpha;
    stream s = stream_of(bits, WICK_GAMMA_STREAM);
    const double boost = alpha < 1 ? wick_log_f64(inside(&s)) / alpha : 0, d = (alpha < 1 ? alpha + 1 : alpha) - 1.0 / 3, c = 1 / wick_sqrt_f64(9 * d);
    double v = 1;
    for (int try = 0; try < TRIES; try++) {
        const double x = normal(&s), u = inside(&s), root = 1 + c * x;
        v = root > 0 ? root * root * root : 0;
        /* What the first, cheaper bound takes (their section 4), the second one would. */
        if (root > 0 && (u < 1 - 0.0331 * (x * x) * (x * x) || wick_log_f64(u) < 0.5 * x * x + d - d * v + d * wick_log_f64(v))) break;
        v = 1;
    }
    return alpha < 1 ? wick_exp_f64(wick_log_f64(d * v) + boost) : d * v;
}
void wick_draw_gamma(wick_ctype type, int64_t begin, int64_t end, const void *alpha, const uint64_t *bits, void *dst) {
    const wick_random_table *table = wick_random_kernels();
    double a[WICK_GAMMA_GROUP], y[WICK_GAMMA_GROUP];
    uint64_t taken[WICK_GAMMA_GROUP] = {0};
    for (int64_t at = begin; at < end; at += WICK_GAMMA_GROUP) {
        const size_t n = (size_t)WICK_MIN(end - at, WICK_GAMMA_GROUP);
        for (size_t i = 0; i < n; i++) a[i] = type == WICK_CF64 ? ((const double *)alpha)[at + (int64_t)i] : (double)((const float *)alpha)[at + (int64_t)i];
        if (table->gamma_first) table->gamma_first(n, a, bits + at, y, taken);
        for (size_t i = 0; i < n; i++) {
            const double x = taken[i] ? y[i] : gamma_of(a[i], bits[at + (int64_t)i]);
            if (type == WICK_CF64)
                ((double *)dst)[at + (int64_t)i] = x;
            else
                ((float *)dst)[at + (int64_t)i] = (float)x;
        }
    }
}

/* A normal number within [a, b], a < b. Robert: Simulation of truncated normal variables, 1995: by the whole normal where much of it lies
 * inside, uniformly where the interval is short, and in a tail by an exponential of the best rate. */
static double truncated_of(double a, double b, uint64_t bits) {
    if (b < 0) return -truncated_of(-b, -a, bits); /* mirrored: from here on the mode of the part is 0 or a > 0 */
    stream s = stream_of(bits, WICK_TRUNCATED_STREAM);
    const double near = a > 0 ? a : 0;
    if (a <= 0 && b - a > 2.5) {
        for (int try = 0; try < TRIES; try++) {
            const double x = normal(&s);
            if (x >= a && x <= b) return x;
        }
        return near;
    }
    const double root = wick_sqrt_f64(near * near + 4), rate = 0.5 * (near + root);
    if (a > 0 && b - a > wick_exp_f64(0.5 + 0.25 * (a * a - a * root)) / rate) {
        for (int try = 0; try < TRIES; try++) {
            const double x = a - wick_log_f64(inside(&s)) / rate, far = x - rate;
            if (x <= b && wick_log_f64(inside(&s)) <= -0.5 * far * far) return x;
        }
        return near;
    }
    for (int try = 0; try < TRIES; try++) {
        const double x = a + (b - a) * inside(&s);
        if (wick_log_f64(inside(&s)) <= 0.5 * (near * near - x * x)) return x;
    }
    return near;
}
void wick_draw_truncated(wick_ctype type, double mean, double deviation, double low, double high, int64_t begin, int64_t end, const uint64_t *bits,
                         void *dst) {
    const double a = (low - mean) / deviation, b = (high - mean) / deviation;
    for (int64_t i = begin; i < end; i++) {
        const double x = mean + deviation * (a < b ? truncated_of(a, b, bits[i]) : a), y = x < low ? low : x > high ? high : x;
        if (type == WICK_CF64)
            ((double *)dst)[i] = y;
        else
            ((float *)dst)[i] = (float)y;
    }
}

/* bits of 2^64 parts, scaled to n: the upper half of a product. A bias of n / 2^64 is left. */
static uint64_t below(uint64_t bits, uint64_t n) {
    const uint64_t a = bits >> 32, b = bits & 0xffffffffu, c = n >> 32, d = n & 0xffffffffu, middle = a * d + (b * d >> 32), other = b * c + (middle & 0xffffffffu);
    return a * c + (middle >> 32) + (other >> 32);
}
void wick_draw_integers(int64_t low, uint64_t range, int64_t begin, int64_t end, const uint64_t *bits, int64_t *dst) {
    for (int64_t i = begin; i < end; i++) dst[i] = (int64_t)((uint64_t)low + below(bits[i], range));
}

/* Fisher and Yates, as Durstenfeld (1964) does it. */
void wick_draw_permutations(int64_t n, int64_t begin, int64_t end, const uint64_t *bits, int64_t *dst) {
    for (int64_t r = begin; r < end; r++) {
        stream s = stream_of(bits[r], WICK_PERMUTATION_STREAM);
        int64_t *p = dst + r * n;
        for (int64_t i = 0; i < n; i++) {
            const int64_t other = (int64_t)below(two_words(&s), (uint64_t)i + 1);
            p[i] = p[other];
            p[other] = i;
        }
    }
}

/* ---- choices by weight ---------------------------------------------------------------------------------------------------------------- */

static double weight_at(wick_ctype type, const void *weights, int64_t i) {
    return type == WICK_CF64 ? ((const double *)weights)[i] : (double)((const float *)weights)[i];
}
/* The sums of the first weights, and how many are above 0; -1: one is none. */
static int64_t sums_of(wick_ctype type, int64_t n, const void *weights, int64_t first, double *sums) {
    double sum = 0;
    int64_t positive = 0;
    for (int64_t i = 0; i < n; i++) {
        const double w = weight_at(type, weights, first + i);
        if (!(w >= 0 && w < (double)INFINITY)) return -1;
        positive += w > 0;
        sums[i] = sum += w;
    }
    return positive;
}

int64_t wick_draw_choices(wick_ctype type, int64_t begin, int64_t end, int64_t n, int64_t count, const void *weights, const double *uniform, int64_t *dst,
                          double *sums) {
    int64_t bad = -1;
    for (int64_t r = begin; r < end; r++) {
        const int64_t positive = sums_of(type, n, weights, r * n, sums);
        if (positive <= 0 && count) {
            if (bad < 0) bad = r;
            memset(dst + r * count, 0, (size_t)count * sizeof *dst);
            continue;
        }
        int64_t last = n - 1; /* with a weight: a product that was rounded up to the sum goes there */
        while (last > 0 && !(weight_at(type, weights, r * n + last) > 0)) last--;
        for (int64_t k = 0; k < count; k++) {
            const double at = uniform[r * count + k] * sums[n - 1];
            int64_t low = 0, high = last; /* the first whose sum is above `at` */
            while (low < high) {
                const int64_t middle = low + (high - low) / 2;
                if (sums[middle] > at)
                    high = middle;
                else
                    low = middle + 1;
            }
            dst[r * count + k] = low;
        }
    }
    return bad;
}

/* Is element a drawn after b? */
static bool later(const double *keys, int64_t a, int64_t b) { return keys[a] > keys[b] || (keys[a] == keys[b] && a > b); }
static void sift(int64_t *heap, int64_t size, const double *keys, int64_t at) {
    for (int64_t child; (child = 2 * at + 1) < size; at = child) {
        if (child + 1 < size && later(keys, heap[child + 1], heap[child])) child++;
        if (!later(keys, heap[child], heap[at])) return;
        const int64_t was = heap[at];
        heap[at] = heap[child];
        heap[child] = was;
    }
}
/* Efraimidis, Spirakis: Weighted random sampling with a reservoir, 2006: exponential numbers over the weights are times of arrival; the first
 * `count` to arrive are drawn, in their order. A heap keeps them, the last on top. */
int64_t wick_draw_distinct(wick_ctype type, int64_t begin, int64_t end, int64_t n, int64_t count, const void *weights, const double *uniform, int64_t *dst,
                           double *keys) {
    int64_t bad = -1;
    for (int64_t r = begin; r < end; r++) {
        int64_t *heap = dst + r * count;
        if (sums_of(type, n, weights, r * n, keys) < count) {
            if (bad < 0) bad = r;
            memset(heap, 0, (size_t)count * sizeof *heap);
            continue;
        }
        for (int64_t i = 0; i < n; i++) {
            const double w = weight_at(type, weights, r * n + i);
            keys[i] = w > 0 ? -wick_log_f64(1 - uniform[r * n + i]) / w : (double)INFINITY;
        }
        for (int64_t i = 0; i < count; i++) heap[i] = i;
        for (int64_t i = count / 2; i-- > 0;) sift(heap, count, keys, i);
        for (int64_t i = count; i < n && count; i++)
            if (later(keys, heap[0], i)) {
                heap[0] = i;
                sift(heap, count, keys, 0);
            }
        for (int64_t size = count; size-- > 1;) { /* sorted */
            const int64_t was = heap[0];
            heap[0] = heap[size];
            heap[size] = was;
            sift(heap, size, keys, 0);
        }
    }
    return bad;
}
