/* Convolutions of all three kinds, every tier, against one loop over every product that there is. */
#include "kernels/elements.h"
#include "kernels/tuning.h"
#include "test.h"

/* x, w and y with their sizes in elements; which is computed. */
typedef struct use {
    wick_convolution c;
    int64_t size[3];
    size_t elem;
    void *at[3], *bias;
    double *want, *magnitude; /* of the computed one: its sums, and of absolute values */
} use;

static const wick_tuning *tuning; /* that convolutions are laid out by; NULL: the default */

static int made(const use *u) { return u->c.what == WICK_CONV_FORWARD ? 2 : u->c.what == WICK_CONV_DATA ? 0 : 1; }

/* Places and taps outside, channels inside: where a tap of a place lies is worked out once. */
static void oracle(use *u) {
    const wick_convolution *c = &u->c;
    const int64_t in = product(c->in), out = product(c->out), taps = product(c->kernel);
    const int m = made(u), a = m == 0 ? 1 : 0, b = m == 2 ? 1 : 2; /* what is computed, of what */
    double *v[3] = {0};
    for (int t = 0; t < 3; t++) {
        if (t == m) continue;
        v[t] = malloc(((size_t)u->size[t] + 1) * sizeof(double));
        for (int64_t i = 0; i < u->size[t]; i++) v[t][i] = get(c->type, u->at[t], i);
    }
    for (int64_t n = 0; n < c->batch; n++)
        for (int64_t p = 0; p < out; p++)
            for (int64_t k = 0; k < taps; k++) {
                const int64_t pp[3] = {p / c->out[2] / c->out[1], p / c->out[2] % c->out[1], p % c->out[2]};
                const int64_t kk[3] = {k / c->kernel[2] / c->kernel[1], k / c->kernel[2] % c->kernel[1],
                                       k % c->kernel[2]};
                int64_t at = 0;
                bool inside = true;
                for (int d = 0; d < 3; d++) {
                    const int64_t x = pp[d] * c->stride[d] + kk[d] * c->dilation[d] - c->pad[d];
                    inside &= x >= 0 && x < c->in[d];
                    at = at * c->in[d] + x;
                }
                for (int64_t o = 0; inside && o < c->groups * c->co; o++)
                    for (int64_t i = 0; i < c->ci; i++) {
                        const int64_t index[3] = {(n * in + at) * c->groups * c->ci + o / c->co * c->ci + i,
                                                  (o * c->ci + i) * taps + k, (n * out + p) * c->groups * c->co + o};
                        const double term = v[a][index[a]] * v[b][index[b]];
                        u->want[index[m]] += term;
                        u->magnitude[index[m]] += fabs(term);
                    }
            }
    for (int t = 0; t < 3; t++) free(v[t]);
    for (int64_t i = 0; c->what == WICK_CONV_FORWARD && i < u->size[2]; i++) {
        if (u->bias) u->want[i] += get(c->type, u->bias, i % (c->groups * c->co));
        if (c->relu && u->want[i] < 0) u->want[i] = 0;
    }
}

/* Fills in out, sizes and inputs; false: no such convolution. */
static bool use_make(use *u) {
    wick_convolution *c = &u->c;
    for (int d = 0; d < 3; d++) {
        const int64_t room =
            c->in[d] + c->pad[d] + test_rand_int(0, (int)c->pad[d]) - (c->kernel[d] - 1) * c->dilation[d] - 1;
        if (room < 0) return false;
        c->out[d] = room / c->stride[d] + 1;
    }
    u->size[0] = c->batch * c->groups * c->ci * product(c->in);
    u->size[1] = c->groups * c->co * c->ci * product(c->kernel);
    u->size[2] = c->batch * c->groups * c->co * product(c->out);
    u->elem = wick_ctype_size(c->type);
    for (int t = 0; t < 3; t++) {
        /* exactly: sanitizers see what reads past it */
        if (posix_memalign(&u->at[t], 64, (size_t)u->size[t] * u->elem + 1) != 0) return false;
        for (int64_t i = 0; i < u->size[t]; i++) set(c->type, u->at[t], i, test_rand_real(-1, 1));
    }
    if (c->bias) {
        u->bias = malloc((size_t)(c->groups * c->co) * u->elem);
        for (int64_t i = 0; i < c->groups * c->co; i++) set(c->type, u->bias, i, test_rand_real(-1, 1));
    }
    u->want = calloc((size_t)u->size[made(u)] + 1, sizeof(double));
    u->magnitude = calloc((size_t)u->size[made(u)] + 1, sizeof(double));
    oracle(u);
    return true;
}
static void use_free(use *u) {
    for (int t = 0; t < 3; t++) free(u->at[t]);
    free(u->bias);
    free(u->want);
    free(u->magnitude);
}

/* An image of channels last, row-major, or back. */
static void *transposed(const use *u, int t, bool back) {
    const wick_convolution *c = &u->c;
    const int64_t pixels = product(t ? c->out : c->in), channels = c->groups * (t ? c->co : c->ci);
    char *to = malloc((size_t)u->size[t] * u->elem + 1), *from = u->at[t];
    for (int64_t n = 0; n < c->batch; n++)
        for (int64_t p = 0; p < pixels; p++)
            for (int64_t k = 0; k < channels; k++) {
                const int64_t last = (n * pixels + p) * channels + k, first = (n * channels + k) * pixels + p;
                memcpy(to + (size_t)(back ? last : first) * u->elem, from + (size_t)(back ? first : last) * u->elem,
                       u->elem);
            }
    return to;
}

static void run_as_it_lies(use *u, bool backwards);
/* Images are channels last here, whatever the kernel is given. */
static void run(use *u, bool backwards) {
    wick_convolution *c = &u->c;
    const bool asked[2] = {c->planes[0], c->planes[1]};
    const int which[2] = {c->what == WICK_CONV_DATA ? 2 : 0, c->what == WICK_CONV_DATA ? 0 : 2};
    void *kept[3] = {u->at[0], u->at[1], u->at[2]};
    for (int k = 0; k < 2; k++) {
        c->planes[k] = asked[k] && wick_conv_takes_planes(c, k);
        if (c->planes[k]) u->at[which[k]] = transposed(u, which[k], false);
    }
    run_as_it_lies(u, backwards);
    for (int k = 0; k < 2; k++) {
        if (!c->planes[k]) continue;
        const int t = which[k];
        void *result = t == made(u) ? transposed(u, t, true) : NULL;
        if (result) memcpy(kept[t], result, (size_t)u->size[t] * u->elem);
        free(result);
        free(u->at[t]);
        u->at[t] = kept[t];
    }
    for (int k = 0; k < 2; k++) c->planes[k] = asked[k];
}

/* Runs it, in one piece or task by task from the last. Scratch starts as garbage. */
static void run_as_it_lies(use *u, bool backwards) {
    wick_convolution *c = &u->c;
    wick_conv_prepare(c, tuning);
    wick_rejected rejected[WICK_REJECTED]; /* what was not taken has a reason */
    for (int i = wick_conv_rejected(c, tuning, rejected); i-- > 0;)
        CHECK_MSG(rejected[i].kernel && rejected[i].why, "way %d", i);
    memset(u->at[made(u)], 0xFF, (size_t)u->size[made(u)] * u->elem);
    void *shared = aligned_alloc(64, WICK_ALIGN_UP(c->shared, 64) + 64),
         *scratch = aligned_alloc(64, WICK_ALIGN_UP(c->scratch, 64) + 64);
    REQUIRE(shared && scratch);
    memset(shared, 0xFF, c->shared);
    const void *a = u->at[made(u) == 0 ? 2 : 0], *b = u->at[made(u) == 1 ? 2 : 1];
    for (int stage = 0; stage < 3; stage++) {
        memset(scratch, 0xFF, c->scratch);
        if (!backwards && c->tasks[stage])
            wick_conv_run(c, stage, 0, c->tasks[stage], a, b, u->bias, u->at[made(u)], shared, scratch);
        for (int64_t t = c->tasks[stage]; backwards && t-- > 0;)
            wick_conv_run(c, stage, t, t + 1, a, b, u->bias, u->at[made(u)], shared, scratch);
    }
    free(shared);
    free(scratch);
}

static void describe(const wick_convolution *c, char *text, size_t size) {
    snprintf(text, size,
             "planes %d%d what %d f%d batch %d groups %d ci %d co %d in %dx%dx%d kernel %dx%dx%d stride %d,%d,%d "
             "dilation %d,%d,%d pad %d,%d,%d, tier %d",
             c->planes[0], c->planes[1], (int)c->what, c->type == WICK_CF64 ? 64 : 32, (int)c->batch, (int)c->groups,
             (int)c->ci, (int)c->co, (int)c->in[0], (int)c->in[1], (int)c->in[2], (int)c->kernel[0], (int)c->kernel[1],
             (int)c->kernel[2], (int)c->stride[0], (int)c->stride[1], (int)c->stride[2], (int)c->dilation[0],
             (int)c->dilation[1], (int)c->dilation[2], (int)c->pad[0], (int)c->pad[1], (int)c->pad[2],
             (int)wick_tier_current());
}

static int64_t products(const wick_convolution *c) {
    return c->batch * c->groups * c->co * c->ci * product(c->out) * product(c->kernel);
}
static void check_use(use *u) {
    const double eps = u->c.type == WICK_CF64 ? 0x1p-52 : 0x1p-23;
    for (int tier = 0; tier < WICK_TIER_COUNT; tier++) {
        if (!wick_tier_force((wick_tier)tier)) continue;
        run(u, false);
        char text[256];
        describe(&u->c, text, sizeof text);
        const int64_t n = u->size[made(u)];
        int bad = 0;
        for (int64_t i = 0; i < n; i++) {
            const double have = get(u->c.type, u->at[made(u)], i);
            /* sums of n terms in any order: within n eps of the sum of magnitudes; blocks make it from_dram less */
            if (!(fabs(have - u->want[i]) <= 16 * eps * (u->magnitude[i] + 1)) && !bad++)
                CHECK_MSG(false, "%s: element %d is %.9g, not %.9g", text, (int)i, have, u->want[i]);
        }
        /* The reference goes place by place, and slowly: small uses say what order does to it. */
        if (tier == WICK_TIER_REF && products(&u->c) > 1 << 18) continue;
        void *first = malloc((size_t)n * u->elem + 1);
        memcpy(first, u->at[made(u)], (size_t)n * u->elem);
        run(u, true);
        CHECK_MSG(!memcmp(first, u->at[made(u)], (size_t)n * u->elem), "%s: bits depend on the order of tasks", text);
        if (wick_conv_takes_planes(&u->c, 0)) {
            u->c.planes[0] ^= true;
            run(u, false);
            CHECK_MSG(!memcmp(first, u->at[made(u)], (size_t)n * u->elem), "%s: bits depend on how the source lies",
                      text);
            u->c.planes[0] ^= true;
        }
        free(first);
    }
    wick_tier_force(wick_tier_best());
}

TEST(random_convolutions_of_every_kind_agree) {
    int uses = 0;
    while (uses < 400) {
        use u;
        memset(&u, 0, sizeof u);
        wick_convolution *c = &u.c;
        c->type = test_rand_int(0, 1) ? WICK_CF64 : WICK_CF32;
        c->what = (wick_conv_what)test_rand_int(0, 2);
        c->batch = test_rand_int(1, 3);
        c->groups = test_rand_int(0, 2) ? 1 : test_rand_int(1, 4);
        c->ci = test_rand_int(0, 2) ? test_rand_int(1, 5) : 1;
        c->co = test_rand_int(0, 2) ? test_rand_int(1, 18) : c->ci;
        const int rank = test_rand_int(1, 3), big = rank == 3 ? 6 : rank == 2 ? 20 : 80;
        for (int d = 0; d < 3; d++) {
            const bool there = d >= 3 - rank;
            c->in[d] = there ? test_rand_int(1, big) : 1;
            c->kernel[d] = there ? test_rand_int(1, 4) : 1;
            c->stride[d] = there && test_rand_int(0, 1) ? test_rand_int(1, 4) : 1;
            c->dilation[d] = there && !test_rand_int(0, 2) ? test_rand_int(1, 4) : 1;
            c->pad[d] = there ? test_rand_int(0, test_rand_int(0, 3) ? 2 : 6) : 0; /* also larger than the kernel */
        }
        c->bias = c->what == WICK_CONV_FORWARD && test_rand_int(0, 1);
        c->relu = c->what == WICK_CONV_FORWARD && test_rand_int(0, 1);
        if (!test_rand_int(0, 3)) c->ci = c->co = 1, c->groups = test_rand_int(1, 70);
        c->planes[0] = test_rand_int(0, 1);
        c->planes[1] = test_rand_int(0, 1);
        if (!use_make(&u)) continue;
        check_use(&u);
        use_free(&u);
        uses++;
    }
}

/* Shapes of networks, large enough for many tasks, blocks of k, slabs and parts of the batch. */
TEST(convolutions_of_many_tasks_agree) {
    static const struct {
        int batch, groups, ci, co, in, kernel, stride, pad;
    } shapes[] = {{9, 1, 1, 32, 28, 3, 1, 0},   {5, 1, 32, 64, 26, 3, 1, 0}, {3, 1, 16, 33, 32, 3, 2, 1},
                  {2, 1, 64, 40, 9, 1, 1, 0},   {2, 1, 70, 20, 16, 1, 2, 0}, {4, 40, 1, 1, 25, 3, 1, 1},
                  {4, 40, 1, 1, 25, 3, 2, 1},   {1, 1, 2, 20, 30, 20, 1, 0}, {1, 1, 2, 3, 72, 70, 1, 0},
                  {2, 2, 1, 1, 72, 70, 1, 0},   {1, 66, 1, 1, 50, 3, 1, 1},  {1, 33, 1, 1, 70, 5, 2, 2},
                  {1, 33, 1, 1, 52, 3, 1, 1},   {1, 1, 3, 8, 96, 7, 2, 3},   {2, 2, 60, 24, 7, 3, 1, 1},
                  {3, 1, 16, 48, 13, 3, 1, 1},  {2, 1, 32, 16, 7, 3, 1, 3},  {2, 1, 64, 32, 58, 3, 1, 0},
                  {1, 1, 200, 130, 5, 3, 1, 1}, {1, 1, 2, 3, 130, 5, 3, 2},  {0, 1, 3, 4, 8, 3, 1, 1}};
    for (size_t i = 0; i < WICK_COUNTOF(shapes); i++)
        for (int what = 0; what < 3; what++) {
            use u;
            if (!test_sampled(i + (size_t)what)) continue;
            memset(&u, 0, sizeof u);
            u.c = (wick_convolution){.type = WICK_CF32,
                                     .what = (wick_conv_what)what,
                                     .batch = shapes[i].batch,
                                     .groups = shapes[i].groups,
                                     .ci = shapes[i].ci,
                                     .co = shapes[i].co};
            u.c.planes[0] = i % 2;
            u.c.planes[1] = i / 2 % 2;
            for (int d = 0; d < 3; d++) {
                u.c.in[d] = d ? shapes[i].in : 1;
                u.c.kernel[d] = d ? shapes[i].kernel : 1;
                u.c.stride[d] = d ? shapes[i].stride : 1;
                u.c.pad[d] = d ? shapes[i].pad : 0;
                u.c.dilation[d] = 1;
            }
            CHECK(use_make(&u));
            check_use(&u);
            use_free(&u);
        }
}

/* Where a block of a sum is of one column of taps, outputs that find it in the padding pass over it: they have the bits
 * of zeros written around the image. */
TEST(columns_of_padding_have_the_bits_of_zeros) {
    static const struct {
        int ci, co, in, kernel, stride, pad;
    } shapes[] = {{512, 20, 7, 3, 1, 1}, {512, 33, 7, 3, 2, 1},  {600, 16, 5, 3, 1, 1}, {1024, 4, 4, 3, 1, 2},
                  {512, 8, 2, 5, 1, 2},  {200, 16, 16, 3, 1, 1}, {512, 20, 1, 3, 1, 1}};
    for (size_t i = 0; i < WICK_COUNTOF(shapes); i++)
        for (int odd = 0; odd < 2; odd++) { /* a weight that is not finite: nothing is passed over in its panel */
            use u[2];
            for (int k = 1; k >= 0;) {
                memset(&u[k], 0, sizeof u[k]);
                u[k].c = (wick_convolution){.type = WICK_CF32,
                                            .what = WICK_CONV_FORWARD,
                                            .batch = 2,
                                            .groups = 1,
                                            .ci = shapes[i].ci,
                                            .co = shapes[i].co,
                                            .bias = i % 2,
                                            .relu = i % 3 == 0};
                for (int d = 0; d < 3; d++) {
                    u[k].c.in[d] = d ? shapes[i].in + 2 * k * shapes[i].pad : 1;
                    u[k].c.kernel[d] = d ? shapes[i].kernel : 1;
                    u[k].c.stride[d] = d ? shapes[i].stride : 1;
                    u[k].c.pad[d] = d && !k ? shapes[i].pad : 0;
                    u[k].c.dilation[d] = 1;
                }
                if (!use_make(&u[k])) continue; /* how much padding lies behind the image is a matter of chance */
                if (k == 0 && u[0].size[2] != u[1].size[2]) use_free(&u[0]);
                else k--;
            }
            if (odd) ((float *)u[0].at[1])[test_rand_int(0, (int)u[0].size[1] - 1)] = INFINITY;
            const int n = shapes[i].in, pad = shapes[i].pad, wide = n + 2 * pad;
            memset(u[1].at[0], 0, (size_t)u[1].size[0] * sizeof(float));
            for (int b = 0; b < 2; b++)
                for (int y = 0; y < n; y++)
                    memcpy((float *)u[1].at[0] + ((b * wide + y + pad) * wide + pad) * shapes[i].ci,
                           (float *)u[0].at[0] + (b * n + y) * n * shapes[i].ci,
                           (size_t)(n * shapes[i].ci) * sizeof(float));
            memcpy(u[1].at[1], u[0].at[1], (size_t)u[0].size[1] * sizeof(float));
            if (u[0].c.bias) memcpy(u[1].bias, u[0].bias, (size_t)shapes[i].co * sizeof(float));
            for (int tier = WICK_TIER_BASE; tier < WICK_TIER_COUNT; tier++) {
                if (!wick_tier_force((wick_tier)tier)) continue;
                for (int k = 0; k < 2; k++) run(&u[k], false);
                CHECK_MSG(memcmp(u[0].at[2], u[1].at[2], (size_t)u[0].size[2] * sizeof(float)) == 0,
                          "shape %d, tier %d", (int)i, tier);
            }
            wick_tier_force(wick_tier_best());
            for (int k = 0; k < 2; k++) use_free(&u[k]);
        }
}

/* What algorithms with sums of inputs, or with products that a place has not, would spread stays where it belongs. */
TEST(nan_infinity_and_the_largest_numbers_reach_only_their_neighbours) {
    for (int what = 0; what < 3; what++)
        for (int odd = 0; odd < 4; odd++) {
            use u;
            memset(&u, 0, sizeof u);
            const bool few = what == 2; /* channels, and a stride: all of its phases at once */
            u.c = (wick_convolution){.type = WICK_CF32,
                                     .what = what ? WICK_CONV_DATA : WICK_CONV_FORWARD,
                                     .batch = 2,
                                     .groups = 1,
                                     .ci = few ? 3 : 32,
                                     .co = 16,
                                     .bias = what == 0,
                                     .relu = what == 0 && odd > 1};
            for (int d = 0; d < 3; d++)
                u.c.in[d] = d ? few ? 30 : 11 : 1, u.c.kernel[d] = d ? few ? 7 : 3 : 1,
                u.c.pad[d] = d ? few ? 3 : 1 : 0, u.c.stride[d] = d && few ? 2 : 1, u.c.dilation[d] = 1;
            CHECK(use_make(&u));
            const int source = what ? 2 : 0, result = made(&u);
            const float strange[4] = {NAN, INFINITY, -INFINITY, 3e38f};
            for (int i = 0; i < 3; i++)
                ((float *)u.at[source])[test_rand_int(0, (int)u.size[source] - 1)] = strange[odd];
            memset(u.want, 0, (size_t)u.size[result] * sizeof(double));
            oracle(&u);
            for (int tier = 0; tier < WICK_TIER_COUNT; tier++) {
                if (!wick_tier_force((wick_tier)tier)) continue;
                run(&u, false);
                if (few && tier > WICK_TIER_BASE) CHECK(u.c.whole);
                int bad = 0;
                for (int64_t i = 0; i < u.size[result]; i++) {
                    const double want = u.want[i], have = get(WICK_CF32, u.at[result], i);
                    const bool alike = isnan(want) ? isnan(have)
                                       : isinf(want)
                                           ? have == want
                                           : fabs(have - want) <= 1e-5 * fabs(want) + 1e-4 || fabs(want) > 1e38;
                    if (!alike && !bad++)
                        CHECK_MSG(false, "what %d, %g, tier %d: element %d is %g, not %g", what, (double)strange[odd],
                                  tier, (int)i, have, want);
                }
            }
            wick_tier_force(wick_tier_best());
            use_free(&u);
        }
}

/* One number that is not finite makes phases go one by one: what it does not reach has the bits of all at once. Whether
 * they went so. */
static bool same_bits_phase_by_phase(use *u) {
    run(u, false);
    if (!u->c.whole) return false;
    const size_t bytes = (size_t)u->size[0] * u->elem;
    char *first = malloc(bytes);
    memcpy(first, u->at[0], bytes);
    set(u->c.type, u->at[2], test_rand_int(0, (int)u->size[2] - 1), INFINITY);
    run(u, false);
    int64_t other = 0, reached = 0;
    for (int64_t i = 0; i < u->size[0]; i++) {
        const bool finite = isfinite(get(u->c.type, u->at[0], i));
        reached += !finite;
        other += finite && memcmp(first + (size_t)i * u->elem, (char *)u->at[0] + (size_t)i * u->elem, u->elem) != 0;
    }
    char text[256];
    describe(&u->c, text, sizeof text);
    CHECK_MSG(other == 0 && reached <= u->c.ci * product(u->c.kernel),
              "%s: %d elements have other bits, %d are not finite", text, (int)other, (int)reached);
    free(first);
    return true;
}

/* Few input channels and a stride: phases that kernels do not reach, or of fewer taps, rows and columns that end in the
 * middle of a stride. */
TEST(gradients_of_few_channels_with_a_stride_agree) {
    int whole = 0;
    for (int ci = 1; ci <= 5; ci++)
        for (int stride = 2; stride <= 3; stride++)
            for (int kernel = 1; kernel <= 7; kernel++)
                for (int more = 0; more < 3; more++) {
                    use u;
                    if (!test_sampled((size_t)(ci + stride + kernel + more))) continue;
                    memset(&u, 0, sizeof u);
                    u.c = (wick_convolution){.type = (kernel + more) % 3 ? WICK_CF32 : WICK_CF64,
                                             .what = WICK_CONV_DATA,
                                             .batch = 2,
                                             .groups = 1,
                                             .ci = ci,
                                             .co = 1 + 45 * ((ci + kernel + more) % 3)};
                    for (int d = 0; d < 3; d++) {
                        u.c.in[d] = d ? 11 + 3 * d + more : more == 2 ? 3 : 1;
                        u.c.kernel[d] = d ? d == 1 && more == 1 ? 3 : kernel : more == 2 ? 2 : 1;
                        u.c.pad[d] = d ? (kernel + more) / 2 : 0;
                        u.c.stride[d] = d ? stride : 1;
                        u.c.dilation[d] = 1;
                    }
                    if (!use_make(&u)) continue;
                    check_use(&u);
                    whole += same_bits_phase_by_phase(&u);
                    use_free(&u);
                }
    CHECK(whole > (test_sampled(1) ? 10 : 3) || wick_tier_best() < WICK_TIER_AVX2);
}

/* Parts of vectors, pairs of pixels in one vector, rows that are all edge: each channel on its own, and images of one
 * column. */
TEST(depthwise_rows_of_every_width_and_columns_agree) {
    static const int channels[] = {1, 2, 3, 4, 5, 7, 8, 9, 12, 16, 17, 24, 40},
                     widths[] = {1, 2, 3, 5, 8, 9, 10, 19, 26, 37};
    for (size_t i = 0; i < WICK_COUNTOF(channels); i++)
        for (size_t k = 0; k < WICK_COUNTOF(widths); k++) {
            use u;
            memset(&u, 0, sizeof u);
            const int kernel = (i + k) % 4 == 0 ? 5 : 3, column = i % 5 == 4;
            u.c = (wick_convolution){.type = k % 3 == 2 ? WICK_CF64 : WICK_CF32,
                                     .what = (i + k) % 3 == 2 ? WICK_CONV_WEIGHT
                                             : k % 4 == 3     ? WICK_CONV_DATA
                                                              : WICK_CONV_FORWARD,
                                     .batch = 2,
                                     .groups = channels[i],
                                     .ci = 1,
                                     .co = 1};
            if (column) u.c.groups = 1, u.c.ci = channels[i], u.c.co = 6;
            u.c.bias = u.c.what == WICK_CONV_FORWARD && k % 2;
            u.c.relu = u.c.bias && i % 2;
            for (int d = 0; d < 3; d++) {
                const bool there = column ? d == 1 : d > 0;
                u.c.in[d] = there ? d == 2 || column ? widths[k] + kernel / 2 : 4 : 1;
                u.c.kernel[d] = there ? kernel : 1;
                u.c.stride[d] = there && (i + k) % 3 == 2 ? 2 : 1;
                u.c.pad[d] = there ? kernel / 2 : 0;
                u.c.dilation[d] = there && k % 5 == 4 ? 2 : 1;
            }
            if (k % 5 == 4)
                for (int d = 0; d < 3; d++) u.c.pad[d] *= 2;
            if (!use_make(&u)) continue; /* it doesn't fit */
            check_use(&u);
            use_free(&u);
        }
}

/* Whether both phases of a row go at once. */
static bool goes_by_both(const wick_convolution *c) {
    wick_rejected rejected[WICK_REJECTED];
    for (int i = wick_conv_rejected(c, tuning, rejected); i-- > 0;)
        if (strncmp(rejected[i].kernel, "both", 4) == 0) return false;
    return true;
}

/* A weight that is not finite makes phases of a row go one by one: channels that it is not of have the bits of both at
 * once. */
TEST(depthwise_gradients_of_both_phases_of_a_row_have_the_bits_of_each) {
    static const int channels[] = {1, 5, 8, 16, 19, 32, 40, 130}, widths[] = {2, 3, 4, 5, 8, 9, 15, 18, 23};
    int both = 0;
    for (size_t i = 0; i < WICK_COUNTOF(channels); i++)
        for (size_t k = 0; k < WICK_COUNTOF(widths); k++) {
            use u;
            memset(&u, 0, sizeof u);
            u.c = (wick_convolution){.type = WICK_CF32,
                                     .what = WICK_CONV_DATA,
                                     .batch = 2,
                                     .groups = channels[i],
                                     .ci = 1,
                                     .co = 1,
                                     .planes = {k % 2, i % 2}};
            for (int d = 0; d < 3; d++) {
                const bool there = d > 0 || k % 3 == 2;
                u.c.in[d] = d == 2 ? widths[k] : there ? 3 + (int)(i + k) % 4 : 1;
                u.c.kernel[d] = d == 2 ? 3 : there ? 1 + (int)(i + k) % 3 : 1;
                u.c.stride[d] = d == 2 ? 2 : there ? 1 + (int)k % 2 : 1;
                u.c.pad[d] = d == 2 || u.c.kernel[d] == 3;
                u.c.dilation[d] = 1;
            }
            if (!use_make(&u)) continue;
            check_use(&u);
            for (int tier = WICK_TIER_BASE; tier < WICK_TIER_COUNT; tier++) {
                if (!wick_tier_force((wick_tier)tier)) continue;
                run(&u, false);
                both += goes_by_both(&u.c);
                float *first = malloc((size_t)u.size[0] * sizeof *first), *const now = u.at[0], *const w = u.at[1];
                memcpy(first, now, (size_t)u.size[0] * sizeof *first);
                const int64_t at = test_rand_int(0, (int)u.size[1] - 1), channel = at / product(u.c.kernel);
                const float was = w[at];
                w[at] = INFINITY;
                run(&u, false);
                int bad = 0;
                for (int64_t j = 0; j < u.size[0]; j++)
                    bad += j % channels[i] != channel && memcmp(first + j, now + j, sizeof *first) != 0;
                char text[256];
                describe(&u.c, text, sizeof text);
                CHECK_MSG(!bad, "%s: %d elements have other bits", text, bad);
                w[at] = was;
                free(first);
            }
            wick_tier_force(wick_tier_best());
            use_free(&u);
        }
    CHECK(both > 100);
}

/* Whether so many pixels of v have the bits of those of u from `from` on, in their first channels. */
static bool same_pixels(const use *u, int64_t from, const use *v, int64_t pixels, int64_t channels) {
    const int64_t in_u = u->c.groups * u->c.co, in_v = v->c.groups * v->c.co;
    for (int64_t p = 0; p < pixels; p++)
        if (memcmp((char *)u->at[2] + (size_t)((from + p) * in_u) * u->elem,
                   (char *)v->at[2] + (size_t)(p * in_v) * u->elem, (size_t)channels * u->elem))
            return false;
    return true;
}

/* Vectors of half the length have the bits of whole ones. */
TEST(few_output_channels_have_the_bits_that_they_have_beside_many) {
    for (int co = 1; co <= 9; co++)
        for (int kernel = 1; kernel <= 5; kernel += 2)
            for (int stride = 1; stride <= 2; stride++) {
                use u, v;
                memset(&u, 0, sizeof u);
                u.c = (wick_convolution){.type = WICK_CF32,
                                         .what = WICK_CONV_FORWARD,
                                         .batch = 1,
                                         .groups = 1,
                                         .ci = 1 + (co * kernel) % 7,
                                         .co = co,
                                         .bias = true,
                                         .relu = co % 2};
                for (int d = 0; d < 3; d++)
                    u.c.in[d] = d ? 13 + 4 * d + co : 1, u.c.kernel[d] = d ? kernel : 1, u.c.stride[d] = d ? stride : 1,
                    u.c.pad[d] = d ? kernel / 2 : 0, u.c.dilation[d] = 1;
                v = u;
                v.c.co = co + 24;
                REQUIRE(use_make(&u));
                do {
                    REQUIRE(use_make(&v));
                    if (v.size[2] / v.c.co == u.size[2] / u.c.co) break;
                    use_free(&v);
                } while (true); /* padding at the end is random */
                memcpy(v.at[0], u.at[0], (size_t)u.size[0] * u.elem);
                memcpy(v.at[1], u.at[1], (size_t)u.size[1] * u.elem);
                memcpy(v.bias, u.bias, (size_t)co * u.elem);
                for (int tier = 0; tier < WICK_TIER_COUNT; tier++) {
                    if (!wick_tier_force((wick_tier)tier)) continue;
                    run(&u, false);
                    run(&v, false);
                    CHECK_MSG(same_pixels(&u, 0, &v, product(u.c.out), co), "%d outputs, kernel %d, stride %d, tier %d",
                              co, kernel, stride, tier);
                }
                wick_tier_force(wick_tier_best());
                use_free(&u);
                use_free(&v);
            }
}

/* Few channels to few outputs, from planes: lines that end anywhere in a vector, more of them than are laid out at
 * once, padding wider than the kernel. */
TEST(pictures_as_they_lie_have_the_bits_of_channels_last) {
    int few = 0;
    for (int co = 1; co <= 8; co++)
        for (int k = 0; k < 12; k++) {
            use u;
            memset(&u, 0, sizeof u);
            u.c = (wick_convolution){.type = WICK_CF32,
                                     .what = WICK_CONV_FORWARD,
                                     .batch = 1 + k % 2,
                                     .groups = 1,
                                     .ci = 1 + (co + k) % 4,
                                     .co = co,
                                     .bias = k % 3 > 0,
                                     .relu = k % 3 > 1,
                                     .planes = {true}};
            for (int d = 0; d < 3; d++) {
                u.c.in[d] = d == 2 ? 14 + 11 * ((k * co) % 9) : d ? 3 + (17 * k + co) % 40 : 1;
                u.c.kernel[d] = d ? 1 + (k + d * co) % 5 : 1;
                u.c.stride[d] = d ? 1 + (k / d + co) % 2 : 1;
                u.c.dilation[d] = d ? 1 + (k % 5 == d) * 2 : 1;
                u.c.pad[d] = d ? k == 7 ? 8 + d : test_rand_int(0, 2) : 0;
            }
            if (!use_make(&u)) continue;
            check_use(&u);
            if (k % 4 == 3) { /* what is not finite meets zeros of the padding too */
                ((float *)u.at[1])[test_rand_int(0, (int)u.size[1] - 1)] = k == 3 ? INFINITY : NAN;
                for (int tier = WICK_TIER_BASE; tier < WICK_TIER_COUNT; tier++) {
                    if (!wick_tier_force((wick_tier)tier)) continue;
                    run(&u, false);
                    float *const now = u.at[2], *first = malloc((size_t)u.size[2] * sizeof *first);
                    memcpy(first, now, (size_t)u.size[2] * sizeof *first);
                    u.c.planes[0] = false;
                    run(&u, false);
                    u.c.planes[0] = true;
                    int bad = 0;
                    for (int64_t i = 0; i < u.size[2]; i++)
                        bad += isnan(first[i]) ? !isnan(now[i]) : memcmp(first + i, now + i, sizeof *now) != 0;
                    CHECK_MSG(!bad, "%d outputs, case %d, tier %d: %d elements differ", co, k, tier, bad);
                    free(first);
                }
                wick_tier_force(wick_tier_best());
            }
            run(&u, false);
            few += u.c.few;
            use_free(&u);
        }
    if (wick_tier_best() == WICK_TIER_AVX512) CHECK_MSG(few > 50, "%d", few);
}

/* Of few weights tiles of Winograd's algorithm go through L1, of many through products of matrices: any number of
 * tiles, with padding on all sides. */
TEST(winograds_tiles_have_the_bits_that_they_have_beside_many_outputs) {
    for (int width = 3; width <= 20; width += 1 + width / 6)
        for (int height = 4; height <= 8; height++) {
            use u, v;
            memset(&u, 0, sizeof u);
            u.c = (wick_convolution){.type = WICK_CF32,
                                     .what = WICK_CONV_FORWARD,
                                     .batch = 1,
                                     .groups = 1,
                                     .ci = 16,
                                     .co = 16,
                                     .bias = width % 2,
                                     .relu = height % 2};
            for (int d = 0; d < 3; d++)
                u.c.in[d] = d == 2 ? width
                            : d    ? height
                                   : 1,
                u.c.kernel[d] = d ? 3 : 1, u.c.pad[d] = d ? 1 + (width + height) % 2 : 0,
                u.c.stride[d] = u.c.dilation[d] = 1;
            v = u;
            v.c.co = 272;
            REQUIRE(use_make(&u));
            do {
                REQUIRE(use_make(&v));
                if (!memcmp(v.c.out, u.c.out, sizeof u.c.out)) break;
                use_free(&v);
            } while (true); /* padding at the end is random */
            check_use(&u);
            memcpy(v.at[0], u.at[0], (size_t)u.size[0] * u.elem);
            memcpy(v.at[1], u.at[1], (size_t)u.size[1] * u.elem);
            if (u.bias) memcpy(v.bias, u.bias, (size_t)u.c.co * u.elem);
            for (int tier = WICK_TIER_BASE; tier < WICK_TIER_COUNT; tier++) {
                if (!wick_tier_force((wick_tier)tier)) continue;
                run(&u, false);
                run(&v, false);
                CHECK_MSG(u.c.winograd && v.c.winograd && same_pixels(&u, 0, &v, product(u.c.out), u.c.co),
                          "%d x %d, tier %d", height, width, tier);
            }
            wick_tier_force(wick_tier_best());
            use_free(&u);
            use_free(&v);
        }
}

/* Strips of some outputs go down all lines of an image. */
TEST(depthwise_lines_have_the_bits_of_each_alone) {
    static const int channels[] = {3, 8, 16, 24, 64}, widths[] = {1, 2, 5, 8, 14, 17, 31};
    for (size_t i = 0; i < WICK_COUNTOF(channels); i++)
        for (size_t k = 0; k < WICK_COUNTOF(widths); k++)
            for (int stride = 1; stride <= 2; stride++) {
                use u, v;
                memset(&u, 0, sizeof u);
                u.c = (wick_convolution){.type = WICK_CF32,
                                         .what = WICK_CONV_FORWARD,
                                         .batch = 1,
                                         .groups = channels[i],
                                         .ci = 1,
                                         .co = 1,
                                         .bias = k % 2,
                                         .relu = k % 2};
                for (int d = 0; d < 3; d++)
                    u.c.in[d] = d == 2 ? widths[k] + 2
                                : d    ? 14
                                       : 1,
                    u.c.kernel[d] = d ? 3 : 1, u.c.stride[d] = d ? stride : 1, u.c.dilation[d] = 1;
                v = u;
                v.c.in[1] = 3;
                REQUIRE(use_make(&u) && use_make(&v));
                u.c.pad[2] = v.c.pad[2] = 1; /* a column of padding on either side instead of one more of the image */
                u.c.in[2] = v.c.in[2] = widths[k];
                memcpy(v.at[1], u.at[1], (size_t)u.size[1] * u.elem);
                if (u.bias) memcpy(v.bias, u.bias, (size_t)channels[i] * u.elem);
                for (int tier = 0; tier < WICK_TIER_COUNT; tier++) {
                    if (!wick_tier_force((wick_tier)tier)) continue;
                    run(&u, false);
                    for (int64_t y = 0; y < u.c.out[1]; y++) {
                        const int64_t line = u.c.in[2] * channels[i];
                        memcpy(v.at[0], (char *)u.at[0] + (size_t)(y * stride * line) * u.elem,
                               (size_t)(3 * line) * u.elem);
                        run(&v, false);
                        CHECK_MSG(same_pixels(&u, y * u.c.out[2], &v, u.c.out[2], channels[i]),
                                  "%d channels, width %d, stride %d, tier %d: line %d", channels[i], widths[k], stride,
                                  tier, (int)y);
                    }
                }
                wick_tier_force(wick_tier_best());
                use_free(&u);
                use_free(&v);
            }
}

/* Results that are written by nontemporal stores, from the smallest on that a tuning lets be: with the bits of those
 * that stay in them. */
TEST(depthwise_results_that_no_cache_would_keep_agree) {
    static const int channels[] = {8, 16, 24, 32, 48, 128};
    const wick_tuning small = wick_tuning_whole(&(wick_tuning){.stream_bytes = 1});
    tuning = &small;
    int nontemporal = 0;
    for (size_t i = 0; i < WICK_COUNTOF(channels); i++)
        for (int k = 0; k < 7; k++) {
            use u;
            memset(&u, 0, sizeof u);
            u.c = (wick_convolution){.type = k == 5 ? WICK_CF64 : WICK_CF32,
                                     .what = (wick_conv_what)((k + (int)i) % 3),
                                     .batch = 3,
                                     .groups = channels[i],
                                     .ci = 1,
                                     .co = 1};
            u.c.bias = u.c.relu = k % 2 && u.c.what == WICK_CONV_FORWARD;
            for (int d = 0; d < 3; d++)
                u.c.in[d] = d ? k == 6 ? 28 : 23 + 2 * k : 1, u.c.kernel[d] = d ? 3 : 1,
                u.c.stride[d] = d && k > 3 ? 2 : 1, u.c.pad[d] = d > 0, u.c.dilation[d] = 1;
            REQUIRE(use_make(&u));
            check_use(&u);
            nontemporal += u.c.nontemporal;
            const size_t bytes = (size_t)u.size[made(&u)] * u.elem;
            void *first = malloc(bytes);
            for (int tier = 0; tier < WICK_TIER_COUNT; tier++) {
                if (!wick_tier_force((wick_tier)tier)) continue;
                run(&u, false);
                memcpy(first, u.at[made(&u)], bytes);
                tuning = NULL;
                run(&u, false);
                tuning = &small;
                CHECK_MSG(!memcmp(first, u.at[made(&u)], bytes), "%d channels, what %d, k %d, tier %d: other bits",
                          channels[i], (int)u.c.what, k, tier);
            }
            wick_tier_force(wick_tier_best());
            free(first);
            use_free(&u);
        }
    tuning = NULL;
    CHECK(nontemporal > 20);
}

/* Images that L2 doesn't keep go by strips of columns: with the bits of rows, which are taken from the smallest on that
 * a tuning lets be memory's. */
TEST(depthwise_strips_of_columns_have_the_bits_of_rows) {
    static const struct {
        int channels, height, width, stride;
        wick_conv_what what;
    } all[] = {{40, 60, 61, 1, WICK_CONV_FORWARD},  {67, 46, 57, 1, WICK_CONV_DATA},
               {128, 200, 6, 1, WICK_CONV_FORWARD}, {64, 57, 66, 2, WICK_CONV_FORWARD},
               {1024, 9, 17, 1, WICK_CONV_DATA},    {12, 2, 6000, 1, WICK_CONV_FORWARD}};
    const wick_tuning small = wick_tuning_whole(&(wick_tuning){.stream_bytes = 1});
    int strips = 0;
    for (size_t i = 0; i < WICK_COUNTOF(all); i++) {
        use u;
        memset(&u, 0, sizeof u);
        u.c = (wick_convolution){
            .type = WICK_CF32, .what = all[i].what, .batch = 1, .groups = all[i].channels, .ci = 1, .co = 1};
        u.c.bias = u.c.relu = i % 2 == 0 && u.c.what == WICK_CONV_FORWARD;
        for (int d = 0; d < 3; d++)
            u.c.in[d] = d == 2 ? all[i].width
                        : d    ? all[i].height
                               : 1,
            u.c.kernel[d] = d ? 3 : 1, u.c.stride[d] = d ? all[i].stride : 1, u.c.pad[d] = d > 0, u.c.dilation[d] = 1;
        REQUIRE(use_make(&u));
        check_use(&u);
        const size_t bytes = (size_t)u.size[made(&u)] * u.elem;
        void *first = malloc(bytes);
        for (int tier = 0; tier < WICK_TIER_COUNT; tier++) {
            if (!wick_tier_force((wick_tier)tier)) continue;
            run(&u, false);
            strips += u.c.cut == 2;
            memcpy(first, u.at[made(&u)], bytes);
            tuning = &small;
            run(&u, false);
            tuning = NULL;
            CHECK_MSG(u.c.cut == 1, "%d: no rows", (int)i);
            CHECK_MSG(!memcmp(first, u.at[made(&u)], bytes), "%d, tier %d: other bits", (int)i, tier);
        }
        wick_tier_force(wick_tier_best());
        free(first);
        use_free(&u);
    }
    CHECK(strips > 5 || wick_tier_best() < WICK_TIER_AVX2);
}

/* Gradients of weights: padding is zeros, which an infinite y makes NaN, in whatever row it lies. */
TEST(gradients_of_depthwise_weights_are_not_finite_where_the_definition_has_it) {
    static const int channels[] = {1, 16, 19, 40}, widths[] = {1, 2, 7, 9, 21};
    for (size_t i = 0; i < WICK_COUNTOF(channels); i++)
        for (size_t k = 0; k < WICK_COUNTOF(widths); k++)
            for (int place = 0; place < 6; place++) {
                use u;
                memset(&u, 0, sizeof u);
                u.c = (wick_convolution){
                    .type = WICK_CF32, .what = WICK_CONV_WEIGHT, .batch = 1, .groups = channels[i], .ci = 1, .co = 1};
                for (int d = 0; d < 3; d++)
                    u.c.in[d] = d == 2 ? widths[k]
                                : d    ? 5
                                       : 1,
                    u.c.kernel[d] = d ? 3 : 1, u.c.stride[d] = d ? 1 + place % 2 : 1, u.c.pad[d] = d > 0,
                    u.c.dilation[d] = 1;
                if (!use_make(&u)) continue; /* no output fits */
                const int64_t row = u.c.out[2] * channels[i], y = place / 2 == 0   ? 0
                                                                  : place / 2 == 1 ? u.c.out[1] / 2
                                                                                   : u.c.out[1] - 1;
                set(u.c.type, u.at[2], y * row + test_rand_int(0, (int)row - 1), place % 3 ? INFINITY : NAN);
                float *const now = u.at[1], want[40 * 9];
                for (int tier = 0; tier < WICK_TIER_COUNT; tier++) {
                    if (!wick_tier_force((wick_tier)tier)) continue;
                    run(&u, false);
                    if (tier == 0) memcpy(want, now, (size_t)u.size[1] * sizeof *now);
                    int bad = 0;
                    for (int64_t j = 0; j < u.size[1]; j++)
                        bad += isnan(now[j]) != isnan(want[j]) || isinf(now[j]) != isinf(want[j]);
                    CHECK_MSG(!bad, "%d channels, width %d, place %d, tier %d: %d elements", channels[i], widths[k],
                              place, tier, bad);
                }
                wick_tier_force(wick_tier_best());
                use_free(&u);
            }
}

/* Layers of DS-CNN, MobileNetV1 0.25 and ResNet-8: images with more numbers than weights are cut into parts of
 * themselves, the same ones from layer to layer. */
TEST(small_convolutions_are_cut_into_equal_parts_of_the_image) {
    static const struct {
        int64_t groups, ci, co, in, kernel, stride, tasks;
        bool by_rows;
    } layers[] = {{64, 1, 1, 11, 3, 1, 2, true},   {1, 64, 64, 11, 1, 1, 2, true},   {128, 1, 1, 6, 3, 1, 2, true},
                  {1, 128, 128, 6, 1, 1, 2, true}, {1, 256, 256, 3, 1, 1, 4, false}, {1, 16, 32, 32, 3, 2, 4, true},
                  {1, 6, 16, 10, 5, 1, 1, true},   {1, 1, 32, 28, 3, 1, 2, true}};
    if (wick_tier_current() == WICK_TIER_REF) return;
    for (size_t i = 0; i < WICK_COUNTOF(layers); i++) {
        use u;
        memset(&u, 0, sizeof u);
        u.c = (wick_convolution){.type = WICK_CF32,
                                 .what = WICK_CONV_FORWARD,
                                 .batch = 1,
                                 .groups = layers[i].groups,
                                 .ci = layers[i].ci,
                                 .co = layers[i].co};
        for (int d = 0; d < 3; d++)
            u.c.in[d] = d ? layers[i].in : 1, u.c.kernel[d] = d ? layers[i].kernel : 1,
            u.c.stride[d] = d ? layers[i].stride : 1, u.c.dilation[d] = 1, u.c.pad[d] = d && layers[i].kernel == 3;
        REQUIRE(use_make(&u));
        wick_conv_prepare(&u.c, NULL);
        CHECK_INT(u.c.tasks[1], layers[i].tasks);
        CHECK((u.c.slabs > 1) == (layers[i].by_rows && layers[i].tasks > 1));
        use_free(&u);
    }
}

int main(int argc, char **argv) { return test_main(argc, argv); }
