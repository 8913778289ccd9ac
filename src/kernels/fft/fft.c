/* fft.c: how a transform is cut into passes, and the constants they take. */
#include "kernels/fft/fft.h"

#include "kernels/elementwise/math.h"

static const wick_fft_kernels *const fft_tiers[WICK_TIER_COUNT] = {WICK_TIER_ENTRIES(&wick_fft_kernels)};

/* ---- the plan ---------------------------------------------------------------------------------------------------- */

static int64_t round_up(int64_t n, int64_t lanes) { return (n + lanes - 1) / lanes * lanes; }

static bool is_smooth(int64_t n) {
    for (int64_t p = 2; p <= WICK_FFT_PRIME; p++)
        while (n % p == 0) n /= p;
    return n == 1;
}

bool wick_fft_takes_columns(int64_t n) { return n > 0 && n <= WICK_FFT_BATCH && is_smooth(n); }

/* Radices of a smooth n: eights first, since later passes have the longer runs of columns. */
static void choose_radices(wick_fft_passes *p, int64_t n) {
    int twos = 0;
    p->n = n;
    p->n_radix = 0;
    for (; n % 2 == 0; n /= 2) twos++;
    for (; twos >= 5 || twos == 3; twos -= 3) p->radix[p->n_radix++] = 8;
    for (; twos >= 2; twos -= 2) p->radix[p->n_radix++] = 4;
    if (twos) p->radix[p->n_radix++] = 2;
    for (int r = 3; r <= WICK_FFT_PRIME; r += 2)
        for (; n % r == 0; n /= r) p->radix[p->n_radix++] = r;
}
/* Elements of a transform's twiddles: w^(p k) by pass for p < m and 0 < k < r, and cosines and sines of odd radices. */
static int64_t count_twiddles(const wick_fft_passes *p) {
    int64_t count = 0;
    for (int64_t i = 0, n = p->n; i < p->n_radix; n /= p->radix[i++])
        count += 2 * (n / p->radix[i] * (p->radix[i] - 1) + p->radix[i]);
    return count;
}

/* What two steps with rows of whole vectors make of n: elements they pass over. */
static int64_t padded(int64_t n, int64_t first, int64_t lanes) {
    return first * round_up(n / first, lanes) + n / first * round_up(first, lanes);
}

void wick_fft_prepare(wick_fourier *f) {
    const int wide = f->type == WICK_CF64;
    const int64_t elem = wide ? 8 : 4;
    f->kernel = &fft_tiers[wick_tier_current()]->type[wide];
    const int64_t lanes = f->kernel->lanes;
    const bool halved = f->what != WICK_FFT_COMPLEX && f->n % 2 == 0;
    f->core = halved ? f->n / 2 : f->n;
    double log2 = 0;
    for (int64_t k = f->n; k > 1; k /= 2) log2++;
    f->flops = (f->what == WICK_FFT_COMPLEX ? 5.0 : 2.5) * (double)f->n * (log2 + 1);
    f->places = f->rows;
    if (!lanes) { /* the reference: all roots of 1; the row, its transform, and room for one pass */
        f->unit = 1;
        f->size = f->core = f->n;
        f->table = (size_t)(2 * f->n * elem);
        f->scratch = (size_t)(6 * f->n) * sizeof(double);
        return;
    }
    const bool smooth = is_smooth(f->core);
    f->size = f->core;
    if (!smooth)
        for (f->size = 64; f->size < 2 * f->core - 1;) f->size *= 2;

    /* Two steps where they waste little, else a row each lane. */
    int64_t first = 1;
    for (int64_t d = 2; d * d <= f->size; d++)
        for (int64_t side = 0; side < 2; side++) {
            const int64_t a = side ? f->size / d : d;
            if (f->size % d == 0 && (first == 1 || padded(f->size, a, lanes) <= padded(f->size, first, lanes)))
                first = a;
        }
    const bool wasteful = f->size <= 8 * lanes || 4 * padded(f->size, first, lanes) > 10 * f->size;
    f->batch = first == 1 || f->columns || (smooth && wasteful && f->size <= WICK_FFT_BATCH && f->rows >= lanes / 2);
    f->unit = f->batch ? lanes : 1;
    if (f->columns) f->places = f->rows / f->columns * round_up(f->columns, lanes);
    choose_radices(&f->passes[0], f->batch ? f->size : first);
    choose_radices(&f->passes[1], f->batch ? 1 : f->size / first);
    size_t at = 0;
    f->cap_block = 0;
    for (int i = 0; i < 2; i++) {
        wick_fft_passes *p = &f->passes[i];
        p->block = f->batch ? lanes : WICK_MAX(lanes, WICK_FFT_BLOCK_BYTES / elem / p->n / lanes * lanes);
        p->block = WICK_MIN(p->block, round_up(f->size / p->n, lanes));
        if (f->batch) p->block = lanes;
        p->twiddles = at;
        at += (size_t)count_twiddles(p);
        f->cap_block = WICK_MAX(f->cap_block, (size_t)(round_up(p->n, lanes) * p->block));
    }
    const int64_t rows = round_up(f->passes[0].n, lanes), cols = round_up(f->size / f->passes[0].n, lanes);
    f->cap = (size_t)(rows * cols + 2 * lanes);
    f->at_middle = at;
    if (!f->batch) at += 2 * (size_t)(f->passes[0].n * cols);
    f->at_untangle = at;
    if (halved) at += 2 * (size_t)(f->core + 1);
    f->at_chirp = at;
    if (!smooth) at += 2 * (size_t)f->core;
    f->at_filter = WICK_ALIGN_UP(at, 8);
    /* made in f64, with as much room beside */
    if (!smooth) at = f->at_filter + 2 * (size_t)f->size * (size_t)(8 / elem) * 2;
    f->table = at * (size_t)elem;
    f->scratch = (4 * f->cap + 4 * f->cap_block + (smooth ? 0 : 2 * (size_t)(f->core + lanes))) * (size_t)elem;
}

/* ---- constants --------------------------------------------------------------------------------------------------- */

/* exp(-2 pi i k / n), from the first octant: exact where it can be, symmetric everywhere. */
static void root_of_one(int64_t k, int64_t n, double *re, double *im) {
    static const double two_pi = 0x1.921fb54442d18p+2;
    k %= n;
    const int64_t octant = 8 * k / n;
    /* The distance to the nearer axis, in [0, n / 8], times 8 so that it is whole. */
    const int64_t from = 8 * k - octant * n, near = octant & 1 ? n - from : from;
    const double angle = two_pi * ((double)near / 8 / (double)n), c = wick_cos_f64(angle), s = wick_sin_f64(angle);
    const bool diagonal = octant == 1 || octant == 2 || octant == 5 || octant == 6; /* nearer to the imaginary axis */
    const double x = diagonal ? s : c, y = diagonal ? c : s;
    *re = octant >= 2 && octant < 6 ? -x : x;
    *im = octant < 4 ? -y : y;
}

typedef struct table_writer {
    void *table;
    bool wide;
} table_writer;
static void put(table_writer *w, size_t at, double value) {
    if (w->wide)
        ((double *)w->table)[at] = value;
    else
        ((float *)w->table)[at] = (float)value;
}
/* Element i of a split list of `count` at `at`. */
static void put_root(table_writer *w, size_t at, int64_t count, int64_t i, int64_t k, int64_t n) {
    double re, im;
    root_of_one(k, n, &re, &im);
    put(w, at + (size_t)i, re);
    put(w, at + (size_t)(count + i), im);
}

/* In f64 and in place: the transform of the n = 2^b numbers of re and im; room as large. Stockham, radix 2. */
static void transform_f64(int64_t n, double *re, double *im, double *room_re, double *room_im) {
    double *x = re, *xi = im, *y = room_re, *yi = room_im;
    for (int64_t len = n, stride = 1; len > 1; len /= 2, stride *= 2) {
        const int64_t half = len / 2;
        for (int64_t p = 0; p < half; p++) {
            double wr, wi;
            root_of_one(p, len, &wr, &wi);
            for (int64_t q = 0; q < stride; q++) {
                const int64_t a = q + stride * p, b = q + stride * (p + half), c = q + stride * 2 * p, d = c + stride;
                const double dr = x[a] - x[b], di = xi[a] - xi[b];
                y[c] = x[a] + x[b];
                yi[c] = xi[a] + xi[b];
                y[d] = dr * wr - di * wi;
                yi[d] = dr * wi + di * wr;
            }
        }
        double *t = x;
        x = y, y = t;
        t = xi;
        xi = yi, yi = t;
    }
    if (x == re) return;
    memcpy(re, x, (size_t)n * sizeof *re);
    memcpy(im, xi, (size_t)n * sizeof *im);
}

void wick_fft_tables(const wick_fourier *f, void *table) {
    table_writer w = {table, f->type == WICK_CF64};
    if (!f->kernel->lanes) {
        for (int64_t k = 0; k < f->n; k++) put_root(&w, 0, f->n, k, k, f->n);
        return;
    }
    const int64_t lanes = f->kernel->lanes;
    for (int i = 0; i < 2; i++) {
        const wick_fft_passes *p = &f->passes[i];
        size_t at = p->twiddles;
        for (int64_t pass = 0, n = p->n; pass < p->n_radix; n /= p->radix[pass++]) {
            const int64_t r = p->radix[pass], m = n / r;
            for (int64_t a = 0; a < m; a++)
                for (int64_t k = 1; k < r; k++, at += 2) put_root(&w, at, 1, 0, a * k, n); /* pairs */
            for (int64_t k = 0; k < r; k++) put_root(&w, at, r, k, k, r);
            at += 2 * (size_t)r;
        }
    }
    if (!f->batch) {
        const int64_t n1 = f->passes[0].n, n2 = f->passes[1].n, cols = round_up(n2, lanes);
        for (int64_t k = 0; k < n1; k++)
            for (int64_t j = 0; j < cols; j++)
                put_root(&w, f->at_middle, n1 * cols, k * cols + j, k * (j % n2), f->size);
    }
    if (f->core != f->n)
        for (int64_t k = 0; k <= f->core; k++) put_root(&w, f->at_untangle, f->core + 1, k, k, f->n);
    if (f->size == f->core) return;
    /* Bluestein: j k = (j^2 + k^2 - (k - j)^2) / 2, so y[k] = c[k] sum of (x[j] c[j]) conj(c[k - j]) with c[j] =
     * exp(-pi i j^2 / n). */
    const int64_t n = f->core, m = f->size;
    for (int64_t j = 0; j < n; j++) put_root(&w, f->at_chirp, n, j, j * j % (2 * n), 2 * n);
    const size_t elem = w.wide ? 8 : 4;
    double *re = (double *)(void *)((char *)table + f->at_filter * elem), *im = re + m, *room = im + m;
    memset(re, 0, (size_t)(2 * m) * sizeof *re);
    for (int64_t j = 0; j < n; j++) {
        double cr, ci;
        root_of_one(j * j % (2 * n), 2 * n, &cr, &ci);
        re[j] = cr, im[j] = -ci;
        if (j) re[m - j] = cr, im[m - j] = -ci;
    }
    transform_f64(m, re, im, room, room + m);
    /* f32 over what was read already */
    for (int64_t j = 0; j < 2 * m; j++) put(&w, f->at_filter + (size_t)j, re[j] / (double)m);
}

void wick_fft_run(const wick_fourier *f, int64_t begin, int64_t end, const void *x, void *y, const void *table,
                  void *scratch) {
    f->kernel->run(f, begin, end, x, y, table, scratch);
}
const char *wick_fft_name(const wick_fourier *f) { return f->kernel->names[f->size != f->core]; }
