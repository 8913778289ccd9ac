/* Pooling: every tier against the reference, exactly for maxima and their gradients, over the edges of rows and
 * vectors, ties and NaN. */
#include "kernels/elements.h"
#include "test.h"

typedef struct results {
    void *max, *mean, *pick, *put, *share;
} results;

static void run(const wick_windows *w, int64_t planes, const void *x, const void *v, const void *g, results *r) {
    const size_t elem = wick_ctype_size(w->type) * (size_t)WICK_MAX(w->channels, 1);
    const size_t in = (size_t)(planes * product(w->in)) * elem, out = (size_t)(planes * product(w->out)) * elem;
    void **all[5] = {&r->max, &r->mean, &r->pick, &r->put, &r->share};
    for (int i = 0; i < 5; i++) { /* of exactly their size: sanitizers see what reads or writes past it */
        const size_t size = i < 3 ? out : in;
        *all[i] = malloc(size + 1);
        memset(*all[i], 0xFF, size);
    }
    void *scratch = aligned_alloc(64, WICK_ALIGN_UP(wick_windows_scratch(w), 64));
    REQUIRE(scratch != NULL);
    const int64_t half = planes / 2; /* in two parts, the later first */
    for (int part = 1; part >= 0; part--) {
        const int64_t begin = part ? half : 0, end = part ? planes : half;
        wick_windows_max(w, begin, end, x, r->max, scratch);
        wick_windows_mean(w, begin, end, x, r->mean, scratch);
        wick_windows_pick(w, begin, end, x, v, r->pick);
        wick_windows_put(w, begin, end, x, g, r->put);
        wick_windows_share(w, begin, end, g, r->share);
    }
    free(scratch);
}
static void release(results *r) { free(r->max), free(r->mean), free(r->pick), free(r->put), free(r->share); }

static void check_same(const wick_windows *w, const char *what, int64_t n, const void *a, const void *b,
                       double tolerance) {
    for (int64_t i = 0; i < n; i++) {
        const double x = get(w->type, a, i), y = get(w->type, b, i);
        if ((x != x && y != y) || x == y || fabs(x - y) <= tolerance) continue;
        CHECK_MSG(false, "%s f%d in %dx%dx%d kernel %d,%d stride %d,%d tier %d: element %d is %g, not %g", what,
                  w->type == WICK_CF64 ? 64 : 32, (int)w->in[0], (int)w->in[1], (int)w->in[2], (int)w->kernel[1],
                  (int)w->kernel[2], (int)w->stride[1], (int)w->stride[2], (int)wick_tier_current(), (int)i, x, y);
        return;
    }
}

/* The same with the channels last: the planes are one image's. */
static void check_channels(const wick_windows *planes_of, int64_t planes, const void *x, const void *v, const void *g,
                           const results *want, bool odd_values) {
    wick_windows w = *planes_of;
    const size_t elem = wick_ctype_size(w.type);
    const int64_t in = product(w.in), out = product(w.out), sizes[8] = {in, in, out, out, out, out, in, in};
    results have;
    const void *given[3] = {x, v, g}, *wanted[5] = {want->max, want->mean, want->pick, want->put, want->share};
    void *transposed[8];
    for (int k = 0; k < 8; k++) {
        transposed[k] = malloc((size_t)(planes * sizes[k]) * elem + 1);
        for (int64_t p = 0; p < planes; p++)
            for (int64_t i = 0; i < sizes[k]; i++)
                set(w.type, transposed[k], i * planes + p,
                    get(w.type, k < 3 ? given[k] : wanted[k - 3], p * sizes[k] + i));
    }
    w.channels = planes;
    run(&w, 1, transposed[0], transposed[1], transposed[2], &have);
    check_same(&w, "channels' max", planes * out, have.max, transposed[3], 0);
    check_same(&w, "channels' pick", planes * out, have.pick, transposed[5], 0);
    check_same(&w, "channels' put", planes * in, have.put, transposed[6], 0);
    check_same(&w, "channels' share", planes * in, have.share, transposed[7], 0);
    if (!odd_values) check_same(&w, "channels' mean", planes * out, have.mean, transposed[4], 0);
    release(&have);
    for (int k = 0; k < 8; k++) free(transposed[k]);
}

static void check_windows(wick_windows *w, bool odd_values) {
    const int64_t planes = test_rand_int(0, 3) ? 3 : 70, in = planes * product(w->in), out = planes * product(w->out);
    const size_t elem = wick_ctype_size(w->type);
    void *x = malloc((size_t)in * elem + 1), *v = malloc((size_t)in * elem + 1), *g = malloc((size_t)out * elem + 1);
    for (int64_t i = 0; i < in; i++) {
        double value = test_rand_real(-1, 1);
        /* ties, NaN */
        if (odd_values)
            value = test_rand_int(0, 6) ? test_rand_int(-1, 1) : test_rand_int(0, 1) ? (double)NAN : (double)INFINITY;
        set(w->type, x, i, value);
        set(w->type, v, i, test_rand_real(-1, 1));
    }
    for (int64_t i = 0; i < out; i++) set(w->type, g, i, test_rand_real(-1, 1));
    results want, have;
    wick_tier_force(WICK_TIER_REF);
    run(w, planes, x, v, g, &want);
    for (int tier = 1; tier < WICK_TIER_COUNT; tier++) {
        if (!wick_tier_force((wick_tier)tier)) continue;
        run(w, planes, x, v, g, &have);
        check_same(w, "max", out, have.max, want.max, 0);
        check_same(w, "pick", out, have.pick, want.pick, 0);
        check_same(w, "put", in, have.put, want.put, 0);
        check_same(w, "share", in, have.share, want.share, 0);
        if (!odd_values) check_same(w, "mean", out, have.mean, want.mean, w->type == WICK_CF64 ? 1e-15 : 1e-6);
        check_channels(w, planes, x, v, g, &have, odd_values);
        release(&have);
    }
    wick_tier_force(WICK_TIER_REF);
    check_channels(w, planes, x, v, g, &want, odd_values);
    release(&want);
    wick_tier_force(wick_tier_best());
    free(x), free(v), free(g);
}

TEST(windows_side_by_side_agree_at_every_width) {
    for (int width = 2; width <= 40; width++)
        for (int k = 0; k < 4; k++) {
            wick_windows w = {.type = k % 2 ? WICK_CF64 : WICK_CF32,
                              .in = {2, 2 + width % 5, width},
                              .kernel = {1, 2, 2},
                              .stride = {1, 2, 2},
                              .dilation = {1, 1, 1}};
            w.out[0] = 2, w.out[1] = w.in[1] / 2, w.out[2] = width / 2;
            check_windows(&w, k > 1);
        }
}

TEST(random_windows_agree) {
    for (int use = 0; use < 500; use++) {
        wick_windows w = {.type = test_rand_int(0, 1) ? WICK_CF64 : WICK_CF32,
                          .adaptive = !test_rand_int(0, 3),
                          .inside = test_rand_int(0, 1),
                          .from_dram = test_rand_int(0, 1)};
        bool fits = true;
        for (int d = 0; d < 3; d++) {
            w.in[d] = d ? test_rand_int(1, 40) : test_rand_int(1, 3);
            w.kernel[d] = test_rand_int(1, d ? 5 : 3);
            w.stride[d] = test_rand_int(1, d ? 4 : 3);
            w.dilation[d] = w.adaptive ? 1 : test_rand_int(1, 2);
            w.pad[d] = w.adaptive ? 0 : test_rand_int(0, (int)w.kernel[d] / 2);
            w.pad_end[d] = w.adaptive ? 0 : test_rand_int(0, (int)w.kernel[d] - 1);
            const int64_t room = w.in[d] + w.pad[d] + w.pad_end[d] - w.dilation[d] * (w.kernel[d] - 1) - 1;
            fits &= w.adaptive || room >= 0;
            w.out[d] = w.adaptive ? test_rand_int(1, (int)w.in[d] + 1) : room / w.stride[d] + 1;
        }
        if (fits) check_windows(&w, use % 2);
    }
}

int main(int argc, char **argv) { return test_main(argc, argv); }
