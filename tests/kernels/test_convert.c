/* test_convert.c: all halves up, many floats down against an implementation that searches, casts against rules spelled
 * out, strided copies against a naive loop; in every tier, with and without flushed denormals. */
#include "test.h"

#include "kernels/convert/convert.h"

/* ---- halves ------------------------------------------------------------------------------------------------------ */

static uint32_t bits(float x) {
    uint32_t u;
    memcpy(&u, &x, 4);
    return u;
}
static float from_bits(uint32_t u) {
    float x;
    memcpy(&x, &u, 4);
    return x;
}

/* The value of a half by the definition of the format: sign, e exponent bits, m fraction bits. */
static double half_value(unsigned h, int e, int m) {
    int exponent = (int)(h >> m) & ((1 << e) - 1), fraction = (int)h & ((1 << m) - 1), bias = (1 << (e - 1)) - 1;
    double sign = h >> 15 ? -1 : 1;
    if (exponent == (1 << e) - 1) return fraction ? NAN : sign * INFINITY;
    if (exponent == 0) return sign * ldexp(fraction, 1 - bias - m);
    return sign * ldexp(fraction + (1 << m), exponent - bias - m);
}

/* The nearest half, ties to the even code: a search among all of them. Codes of one sign grow with the value. */
static unsigned half_nearest(float x, int e, int m) {
    double a = fabs((double)x), top = half_value((unsigned)(((1 << e) - 1) << m) - 1, e, m);
    unsigned low = 0, high = (unsigned)((1 << e) - 1) << m, sign = bits(x) >> 31 << 15;
    if (a >= top + (top - half_value(high - 2, e, m)) / 2) return sign | high;
    while (high - low > 1) {
        unsigned mid = (low + high) / 2;
        if (half_value(mid, e, m) <= a)
            low = mid;
        else
            high = mid;
    }
    double below = a - half_value(low, e, m), above = half_value(low + 1, e, m) - a;
    if (isinf(above)) above = top - half_value(low - 1, e, m) - below;
    return sign | (above < below || (above == below && (low & 1)) ? low + 1 : low);
}

static const struct {
    wick_dtype dtype;
    int e, m;
} formats[] = {{WICK_F16, 5, 10}, {WICK_BF16, 8, 7}};

TEST(all_halves_load_exactly_and_store_back) {
    static uint16_t in[65536], back[65536];
    static float up[65536];
    for (int i = 0; i < 65536; i++) in[i] = (uint16_t)i;
    for (int flush = 0; flush < 2; flush++)
        for (int tier = 0; tier <= (int)wick_tier_best(); tier++)
            for (size_t k = 0; k < WICK_COUNTOF(formats); k++) {
                const wick_convert_table *t = wick_convert_kernels((wick_tier)tier);
                uint64_t word = flush ? wick_fp_enter() : 0;
                t->load[formats[k].dtype](up, in, 65536);
                t->store[formats[k].dtype](back, up, 65536);
                if (flush) wick_fp_restore(word);
                for (unsigned i = 0; i < 65536; i++) {
                    double want = half_value(i, formats[k].e, formats[k].m);
                    if (want != want) { /* quiet, sign and payload kept */
                        unsigned quiet = i | 1u << (formats[k].m - 1);
                        CHECK_MSG(up[i] != up[i] && back[i] == quiet, "%s %s NaN %04x -> %08x -> %04x",
                                  wick_tier_name((wick_tier)tier), wick_dtype_name(formats[k].dtype), i, bits(up[i]),
                                  back[i]);
                    } else
                        CHECK_MSG(bits(up[i]) == bits((float)want) && back[i] == i, "%s %s %04x -> %g -> %04x",
                                  wick_tier_name((wick_tier)tier), wick_dtype_name(formats[k].dtype), i, (double)up[i],
                                  back[i]);
                }
            }
}

TEST(floats_round_to_the_nearest_half_ties_to_even) {
    enum { N = 60000 };
    static float x[N];
    static uint16_t got[N], first[N];
    for (size_t k = 0; k < WICK_COUNTOF(formats); k++) {
        for (int i = 0; i < N; i++) {
            switch (i % 4) {
            case 0:
                x[i] = from_bits((uint32_t)test_rand());
                break;
            case 1:
                x[i] = (float)(ldexp(test_rand_real(-1, 1), test_rand_int(-30, 17)));
                break;
            default: { /* at and beside the middle between two neighbours */
                unsigned h = (unsigned)test_rand_int(0, formats[k].m == 10 ? 0x7bfe : 0x7f7e);
                float mid = (float)((half_value(h, formats[k].e, formats[k].m) +
                                     half_value(h + 1, formats[k].e, formats[k].m)) /
                                    2);
                x[i] = from_bits(bits(mid) + (uint32_t)test_rand_int(-1, 1) * (mid != 0)) * (i % 4 == 2 ? 1.0f : -1.0f);
            }
            }
        }
        const float edges[] = {65519.996f, 65520,        65504,        0x1p-25f,      0x1.000002p-25f, 0x1p-24f,
                               0x1p-14f,   0x1.ffcp-15f, 0x1.ffep-15f, 3.4028235e38f, 0x1.fep127f,     0x1.ffp127f,
                               0.0f,       -0.0f,        INFINITY,     -INFINITY};
        memcpy(x, edges, sizeof edges);
        for (int tier = 0; tier <= (int)wick_tier_best(); tier++)
            for (int flush = 0; flush < 2; flush++) {
                uint64_t word = flush ? wick_fp_enter() : 0;
                wick_convert_kernels((wick_tier)tier)->store[formats[k].dtype](got, x, N);
                if (flush) wick_fp_restore(word);
                if (tier == 0 && !flush) memcpy(first, got, sizeof got);
                CHECK(memcmp(first, got, sizeof got) == 0);
            }
        for (int i = 0; i < N; i++) {
            if (x[i] != x[i]) continue; /* NaN: the same in all tiers, checked above */
            unsigned want = half_nearest(x[i], formats[k].e, formats[k].m);
            CHECK_MSG(first[i] == want, "%s of %.9g: %04x, want %04x", wick_dtype_name(formats[k].dtype), (double)x[i],
                      first[i], want);
        }
    }
}

/* ---- casts ------------------------------------------------------------------------------------------------------- */

/* Element i of an array of a ctype as long double, which holds all of them. */
static long double value_of(wick_ctype t, const void *p, int i) {
    switch (t) {
    case WICK_CF32:
        return (long double)((const float *)p)[i];
    case WICK_CF64:
        return (long double)((const double *)p)[i];
    case WICK_CI32:
        return ((const int32_t *)p)[i];
    case WICK_CI64:
        return ((const int64_t *)p)[i];
    case WICK_CU64:
        return ((const uint64_t *)p)[i];
    default:
        return ((const uint8_t *)p)[i];
    }
}
static long double cast_oracle(wick_ctype from, wick_ctype to, const void *p, int i) {
    long double x = value_of(from, p, i);
    if (to == WICK_CBOOL) return x != 0;
    if (to == WICK_CF32) return (long double)(float)x;
    if (to == WICK_CF64) return (long double)(double)x;
    if (from != WICK_CF32 && from != WICK_CF64) { /* wraps */
        uint64_t u = from == WICK_CU64 ? (uint64_t)x : (uint64_t)(int64_t)x;
        return to == WICK_CI32 ? (long double)(int32_t)u : to == WICK_CI64 ? (long double)(int64_t)u : (long double)u;
    }
    long double low = to == WICK_CI32   ? -0x1p31L
                      : to == WICK_CI64 ? -0x1p63L
                                        : 0,
                high = to == WICK_CI32   ? 0x1p31L
                       : to == WICK_CI64 ? 0x1p63L
                                         : 0x1p64L;
    return x != x ? 0 : x <= low ? low : x >= high ? high - 1 : truncl(x);
}

TEST(casts_truncate_saturate_and_wrap) {
    enum { N = 2053 };
    static _Alignas(64) uint8_t src[N * 8], dst[N * 8 + 8];
    static const double edges[] = {0.0,
                                   -0.0,
                                   0.5,
                                   -0.5,
                                   1.9,
                                   -1.9,
                                   0x1p31,
                                   -0x1p31,
                                   -0x1.00000002p31,
                                   0x1.fffffffcp30,
                                   0x1p32,
                                   0x1p63,
                                   -0x1p63,
                                   0x1.fffffffffffffp62,
                                   -0x1.0000000000001p63,
                                   0x1p64,
                                   0x1.fffffffffffffp63,
                                   1e300,
                                   -1e300,
                                   INFINITY,
                                   -INFINITY,
                                   NAN,
                                   1e-300};
    for (int tier = 0; tier <= (int)wick_tier_best(); tier++)
        for (int from = 0; from < WICK_CTYPE_COUNT; from++)
            for (int to = 0; to < WICK_CTYPE_COUNT; to++) {
                wick_convert_fn cast = wick_convert_kernels((wick_tier)tier)->cast[from][to];
                CHECK((cast == NULL) == (from == to));
                if (!cast) continue;
                for (int i = 0; i < N; i++) {
                    double x =
                        i < (int)WICK_COUNTOF(edges) ? edges[i] : ldexp(test_rand_real(-1, 1), test_rand_int(-2, 70));
                    uint64_t u = i % 3 ? test_rand() : (uint64_t)(int64_t)test_rand_int(-2, 2);
                    if (from == WICK_CF32)
                        ((float *)src)[i] = (float)x;
                    else if (from == WICK_CF64)
                        ((double *)src)[i] = x;
                    else if (from == WICK_CI32)
                        ((int32_t *)src)[i] = (int32_t)u;
                    else if (from == WICK_CBOOL)
                        src[i] = u & 1;
                    else
                        ((uint64_t *)src)[i] = u;
                }
                const size_t size = wick_ctype_size((wick_ctype)to);
                memset(dst, 0x5A, sizeof dst);
                cast(dst, src, N);
                for (size_t k = 0; k < 8; k++) CHECK(dst[N * size + k] == 0x5A);
                for (int i = 0; i < N; i++) {
                    long double want = cast_oracle((wick_ctype)from, (wick_ctype)to, src, i),
                                got = value_of((wick_ctype)to, dst, i);
                    CHECK_MSG(got == want || (got != got && want != want), "%s %d -> %d: %Lg gives %Lg, want %Lg",
                              wick_tier_name((wick_tier)tier), from, to, value_of((wick_ctype)from, src, i), got, want);
                }
            }
}

TEST(narrow_integers_load_exactly_and_store_wrapped) {
    static uint8_t in[65536 * 4];
    static uint64_t wide[65536];
    for (int tier = 0; tier <= (int)wick_tier_best(); tier++)
        for (int d = 0; d < WICK_I4; d++) { /* packed ones: below */
            const wick_convert_table *t = wick_convert_kernels((wick_tier)tier);
            const wick_ctype c = wick_ctype_of((wick_dtype)d);
            const size_t elem = wick_dtype_size((wick_dtype)d);
            CHECK((t->load[d] == NULL) == (wick_ctype_size(c) == elem) &&
                  (t->store[d] == NULL) == (t->load[d] == NULL));
            if (!t->load[d] || c == WICK_CF32) continue;
            for (unsigned i = 0; i < 65536; i++) {
                uint32_t u = elem == 4 ? i * 65537u * 7u : i;
                memcpy(in + i * elem, &u, elem);
            }
            t->load[d](wide, in, 65536);
            for (int i = 0; i < 65536; i++) {
                int64_t want = 0; /* little endian: the low bytes come first */
                memcpy(&want, in + (size_t)i * elem, elem);
                if (d == WICK_I8) want = (int8_t)want;
                if (d == WICK_I16) want = (int16_t)want;
                CHECK(value_of(c, wide, i) == (long double)want);
            }
            static uint8_t back[65536 * 4];
            for (int i = 0; i < 65536; i++) { /* what lies above the narrow type is dropped */
                if (c == WICK_CU64)
                    wide[i] += (uint64_t)i << 32;
                else
                    ((int32_t *)wide)[i] += (int32_t)((uint32_t)i << (8 * elem));
            }
            t->store[d](back, wide, 65536);
            CHECK(memcmp(back, in, 65536 * elem) == 0);
        }
}

/* ---- strided copies ---------------------------------------------------------------------------------------------- */

static void random_layout(int rank, const int64_t *dims, int64_t *strides, bool zero, int64_t *low, int64_t *items) {
    int order[WICK_MAX_DIMS], style = test_rand_int(0, 4);
    int64_t step = 1, high = 0;
    for (int d = 0; d < rank; d++) order[d] = rank - 1 - d;
    if (style < 2)
        for (int d = rank - 1; d > 0; d--) {
            int k = test_rand_int(0, d), t = order[d];
            order[d] = order[k], order[k] = t;
        }
    for (int d = 0; d < rank; d++) {
        if (style == 2) step *= test_rand_int(1, 2);
        strides[order[d]] = step;
        step *= dims[order[d]] ? dims[order[d]] : 1;
    }
    *low = 0;
    for (int d = 0; d < rank; d++) {
        if (style == 3 && test_rand_int(0, 1)) strides[d] = -strides[d];
        if (zero && style == 4 && test_rand_int(0, 1)) strides[d] = 0;
        if (dims[d] == 0) continue;
        if (strides[d] < 0)
            *low += strides[d] * (dims[d] - 1);
        else
            high += strides[d] * (dims[d] - 1);
    }
    *items = high - *low + 1;
}

static void copy_case(wick_tier tier, const wick_copy *shape) {
    wick_copy c = *shape;
    int64_t src_low, src_items, dst_low, dst_items, total = 1;
    random_layout(c.rank, c.dims, c.src_strides, true, &src_low, &src_items);
    random_layout(c.rank, c.dims, c.dst_strides, false, &dst_low, &dst_items);
    for (int d = 0; d < c.rank; d++) total *= c.dims[d];
    const size_t se = wick_dtype_size(c.src), de = wick_dtype_size(c.dst);
    uint8_t *src = malloc((size_t)src_items * se), *dst = malloc((size_t)dst_items * de + 128),
            *want = malloc((size_t)dst_items * de + 128);
    for (size_t i = 0; i < (size_t)src_items * se; i++) src[i] = (uint8_t)test_rand() & (c.src == WICK_BOOL ? 1 : 255);
    memset(want, 0x77, (size_t)dst_items * de + 128);
    const wick_convert_table *t = wick_convert_kernels(tier);
    for (int64_t i = 0; i < total; i++) {
        int64_t s = -src_low, o = -dst_low, rest = i;
        for (int d = c.rank - 1; d >= 0; d--)
            s += rest % c.dims[d] * c.src_strides[d], o += rest % c.dims[d] * c.dst_strides[d], rest /= c.dims[d];
        uint64_t a = 0, b = 0;
        if (c.src == c.dst) {
            memcpy(want + 64 + (size_t)o * de, src + (size_t)s * se, se);
            continue;
        }
        const wick_ctype ft = wick_ctype_of(c.src), tt = wick_ctype_of(c.dst);
        if (t->load[c.src])
            t->load[c.src](&a, src + (size_t)s * se, 1);
        else
            memcpy(&a, src + (size_t)s * se, se);
        if (ft != tt)
            t->cast[ft][tt](&b, &a, 1);
        else
            b = a;
        if (t->store[c.dst])
            t->store[c.dst](want + 64 + (size_t)o * de, &b, 1);
        else
            memcpy(want + 64 + (size_t)o * de, &b, de);
    }
    for (int backwards = 0; backwards < 2; backwards++) {
        const int64_t tasks = wick_copy_tasks(&c);
        CHECK((tasks == 0) == (total == 0));
        memset(dst, 0x77, (size_t)dst_items * de + 128);
        const void *from = src - src_low * (int64_t)se;
        void *to = dst + 64 - dst_low * (int64_t)de;
        if (backwards)
            for (int64_t k = tasks - 1; k >= 0; k--) wick_copy_run(&c, k, k + 1, from, to);
        else
            wick_copy_run(&c, 0, tasks, from, to);
        CHECK_MSG(memcmp(dst, want, (size_t)dst_items * de + 128) == 0, "%s: %s to %s, rank %d, %lld elements",
                  wick_tier_name(tier), wick_dtype_name(c.src), wick_dtype_name(c.dst), c.rank, (long long)total);
    }
    free(src);
    free(dst);
    free(want);
}

TEST(copies_equal_a_naive_loop) {
    for (int tier = 0; tier <= (int)wick_tier_best(); tier++) {
        REQUIRE(wick_tier_force((wick_tier)tier));
        for (int i = 0; i < 1500; i++) {
            wick_copy c = {.rank = test_rand_int(0, 8), .src = (wick_dtype)test_rand_int(0, WICK_I4 - 1)};
            c.dst = test_rand_int(0, 1) ? c.src : (wick_dtype)test_rand_int(0, WICK_I4 - 1);
            for (int64_t d = 0, total = 1; d < c.rank; d++) {
                c.dims[d] = test_rand_int(1, 40);
                if (total * c.dims[d] > 3000) c.dims[d] = 1;
                if (test_rand_int(0, 80) == 0) c.dims[d] = 0;
                total *= c.dims[d] ? c.dims[d] : 1;
            }
            copy_case((wick_tier)tier, &c);
        }
    }
}

/* Pairs that lie together on both sides move as one, wherever the arrays begin; of each element two may be made. Tasks
 * in any order. */
TEST(pairs_and_repeats_are_copied_as_a_naive_loop_does) {
    enum { MOST = 40 * 40 * 2 + 8 };
    static const wick_dtype dtypes[] = {WICK_U8, WICK_BF16, WICK_F32, WICK_F64};
    static uint64_t src[MOST], dst[MOST], want[MOST];
    for (int tier = 0; tier <= (int)wick_tier_best(); tier++) {
        REQUIRE(wick_tier_force((wick_tier)tier));
        for (int round = 0; round < 600; round++) {
            const int64_t a = test_rand_int(1, 40), b = test_rand_int(1, 40), gap = 2 * test_rand_int(0, 2),
                          from = test_rand_int(0, 3), to = test_rand_int(0, 3);
            const bool repeats = round % 3 == 0, transposed = test_rand() % 2;
            wick_copy c = {.rank = 3,
                           .dims = {a, b, 2},
                           .dst_strides = {transposed ? 2 : 2 * b, transposed ? 2 * a : 2, 1},
                           .src = dtypes[round % 4],
                           .dst = dtypes[round % 4]};
            c.src_strides[0] = repeats ? b : 2 * b, c.src_strides[1] = repeats ? 1 : 2, c.src_strides[2] = !repeats;
            if (!repeats && a * (2 * b + gap) < MOST - 8) c.src_strides[0] += gap;
            const size_t elem = wick_dtype_size(c.src);
            for (int i = 0; i < MOST; i++) src[i] = test_rand(), dst[i] = want[i] = 0x7777777777777777;
            for (int64_t i = 0; i < a * b * 2; i++) {
                const int64_t k[3] = {i / 2 / b, i / 2 % b, i % 2};
                int64_t s = from, d = to;
                for (int n = 0; n < 3; n++) s += k[n] * c.src_strides[n], d += k[n] * c.dst_strides[n];
                memcpy((char *)want + (size_t)d * elem, (const char *)src + (size_t)s * elem, elem);
            }
            for (int64_t k = wick_copy_tasks(&c) - 1; k >= 0; k--)
                wick_copy_run(&c, k, k + 1, (const char *)src + (size_t)from * elem, (char *)dst + (size_t)to * elem);
            CHECK_MSG(memcmp(dst, want, sizeof dst) == 0, "%s: %lld x %lld, from %lld to %lld, repeats %d",
                      wick_tier_name((wick_tier)tier), (long long)a, (long long)b, (long long)from, (long long)to,
                      repeats);
        }
    }
}

TEST(large_transposes_and_conversions_are_cut_into_tasks) {
    static const int64_t dims[][3] = {{1, 301, 517}, {3, 130, 257}, {70001, 1, 1}, {2, 40000, 3}};
    for (size_t s = 0; s < WICK_COUNTOF(dims); s++)
        for (int i = 0; i < 8; i++) {
            wick_copy c = {.rank = 3,
                           .dims = {dims[s][0], dims[s][1], dims[s][2]},
                           .src = (wick_dtype)test_rand_int(0, WICK_I4 - 1)};
            c.dst = i % 4 ? c.src : (wick_dtype)test_rand_int(0, WICK_I4 - 1);
            copy_case(wick_tier_current(), &c);
        }
}

/* [rows, cols] to [cols, rows], both sides with a step of their own, the bytes between and around left alone. */
static void transpose_case(int elem, int64_t rows, int64_t cols, int64_t s_step, int64_t d_step, size_t shift,
                           bool nontemporal) {
    const size_t s_bytes = (size_t)(s_step * cols * elem), d_bytes = (size_t)(d_step * rows * elem);
    uint8_t *src = malloc(s_bytes), *all = aligned_alloc(64, (d_bytes + 255) & ~(size_t)63), *dst = all + 64 + shift;
    for (size_t i = 0; i < s_bytes; i++) src[i] = (uint8_t)test_rand();
    memset(all, 0x77, (d_bytes + 255) & ~(size_t)63);
    wick_convert_kernels(wick_tier_current())->transpose(elem, src, s_step, dst, d_step, rows, cols, nontemporal);
    wick_stream_end();
    bool good = true;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t k = 0; k < d_step; k++) {
            uint8_t other[8];
            memset(other, 0x77, sizeof other);
            good &=
                !memcmp(dst + (i * d_step + k) * elem, k < cols ? src + (i + k * s_step) * elem : other, (size_t)elem);
        }
    for (size_t i = 0; i < 64 + shift; i++) good &= all[i] == 0x77;
    for (size_t i = 64 + shift + d_bytes; i < ((d_bytes + 255) & ~(size_t)63); i++) good &= all[i] == 0x77;
    CHECK_MSG(good, "%s: %d bytes, %lld x %lld, steps %lld and %lld, shift %zu, past %d",
              wick_tier_name(wick_tier_current()), elem, (long long)rows, (long long)cols, (long long)s_step,
              (long long)d_step, shift, nontemporal);
    free(src);
    free(all);
}

TEST(transposes_of_all_small_sizes) {
    for (int tier = 0; tier <= (int)wick_tier_best(); tier++) {
        REQUIRE(wick_tier_force((wick_tier)tier));
        for (int elem = 1; elem <= 8; elem *= 2) {
            const int64_t most_rows = WICK_MAX(17, 16 / elem + 1), most_cols = WICK_MAX(64 / elem, 16) + 1;
            for (int64_t rows = 1; rows <= most_rows; rows++)
                for (int64_t cols = 1; cols <= most_cols; cols++) {
                    transpose_case(elem, rows, cols, rows, cols, 0, false);
                    transpose_case(elem, rows, cols, rows + 3, (cols + 63) & ~63,
                                   (rows + cols) % 3 == 0 ? (size_t)elem : 0, true);
                }
        }
    }
    REQUIRE(wick_tier_force(wick_tier_best()));
}

TEST(transposes_past_the_caches) {
    for (int i = 0; i < 2; i++) { /* 17 MB: whole lines, and not */
        wick_copy c = {.rank = 2,
                       .dims = {1040 + i, 4096 + i},
                       .src_strides = {1, 1040 + i},
                       .dst_strides = {4096 + i, 1},
                       .src = WICK_F32,
                       .dst = WICK_F32};
        const int64_t n = c.dims[0] * c.dims[1];
        float *x = aligned_alloc(64, ((size_t)n * 4 + 63) & ~(size_t)63),
              *y = aligned_alloc(64, ((size_t)n * 4 + 63) & ~(size_t)63);
        for (int64_t k = 0; k < n; k++) x[k] = (float)k;
        for (int64_t k = wick_copy_tasks(&c) - 1; k >= 0; k--) wick_copy_run(&c, k, k + 1, x, y);
        int64_t wrong = 0;
        for (int64_t row = 0; row < c.dims[0]; row++)
            for (int64_t col = 0; col < c.dims[1]; col++)
                wrong += y[row * c.dims[1] + col] != (float)(row + col * c.dims[0]);
        CHECK_INT(wrong, 0);
        free(x);
        free(y);
    }
}

/* ---- packed dtypes ----------------------------------------------------------------------------------------------- */

static const wick_dtype packed[] = {WICK_I4, WICK_U4, WICK_I2, WICK_U2};
static int code_value(wick_dtype d, unsigned code) {
    const int bits = wick_dtype_bits(d);
    return (d == WICK_I4 || d == WICK_I2) && code >> (bits - 1) ? (int)code - (1 << bits) : (int)code;
}

TEST(large_copies_past_the_caches) {
    enum { N = (32 << 20) / 4 + 5003 };
    const wick_copy c = {
        .rank = 1, .dims = {N}, .src_strides = {1}, .dst_strides = {1}, .src = WICK_F32, .dst = WICK_F32};
    uint32_t *x = malloc(sizeof *x * N), *y = malloc(sizeof *y * (N + 2));
    REQUIRE(x && y);
    for (uint32_t i = 0; i < N; i++) x[i] = i * 2654435761u;
    for (int tier = 0; tier <= (int)wick_tier_best(); tier++) {
        REQUIRE(wick_tier_force((wick_tier)tier));
        memset(y, 0x77, sizeof *y * (N + 2));
        for (int64_t k = wick_copy_tasks(&c) - 1; k >= 0; k--) wick_copy_run(&c, k, k + 1, x, y + 1);
        CHECK_MSG(!memcmp(x, y + 1, sizeof *x * N) && y[0] == 0x77777777 && y[N + 1] == 0x77777777, "%s",
                  wick_tier_name((wick_tier)tier));
    }
    free(x), free(y);
}

TEST(packed_elements_load_and_store_at_every_length) {
    for (int tier = 0; tier <= (int)wick_tier_best(); tier++)
        for (size_t k = 0; k < WICK_COUNTOF(packed); k++)
            for (size_t n = 0; n < 300; n += n < 70 ? 1 : 37) {
                const wick_dtype d = packed[k];
                const wick_convert_table *t = wick_convert_kernels((wick_tier)tier);
                const size_t bytes = wick_dtype_bytes(d, (int64_t)n);
                uint8_t in[160], back[160];
                int32_t wide[301];
                for (size_t i = 0; i < sizeof in; i++) in[i] = (uint8_t)test_rand();
                memset(wide, 0x5a, sizeof wide), memset(back, 0x77, sizeof back);
                t->load[d](wide, in, n);
                for (size_t i = 0; i < n; i++)
                    CHECK(wide[i] == code_value(d, (unsigned)wick_element_get(d, in, (int64_t)i)));
                CHECK(wide[n] == 0x5a5a5a5a);
                /* dropped */
                for (size_t i = 0; i < n; i++) wide[i] += (int32_t)((uint32_t)test_rand() << wick_dtype_bits(d));
                t->store[d](back, wide, n);
                wick_elements_end(d, in, (int64_t)n);
                CHECK(memcmp(back, in, bytes) == 0 && back[bytes] == 0x77);
            }
}

/* Between packed and every dtype, a task at a time and last to first: the bytes of a naive loop, and none beyond. */
TEST(packed_copies_equal_a_naive_loop_in_any_order_of_tasks) {
    static const int64_t counts[] = {0, 1, 2, 3, 7, 511, 512, 513, 1027, 32768, 100003};
    enum { MOST = 100003 };
    uint8_t *src = malloc(MOST * 8 + 64), *dst = malloc(MOST * 8 + 64);
    for (size_t k = 0; k < WICK_COUNTOF(packed); k++)
        for (int other = 0; other < WICK_DTYPE_COUNT; other++)
            for (int back = 0; back < 2; back++)
                for (size_t s = 0; s < WICK_COUNTOF(counts); s++) {
                    const int64_t n = counts[s];
                    wick_copy c = {.rank = 1,
                                   .dims = {n},
                                   .src_strides = {1},
                                   .dst_strides = {1},
                                   .src = back ? (wick_dtype)other : packed[k],
                                   .dst = back ? packed[k] : (wick_dtype)other};
                    if (n % 3 == 0)
                        c = (wick_copy){.rank = 2,
                                        .dims = {n / 3, 3},
                                        .src_strides = {3, 1},
                                        .dst_strides = {3, 1},
                                        .src = c.src,
                                        .dst = c.dst};
                    const size_t bytes = wick_dtype_bytes(c.dst, n);
                    for (size_t i = 0; i < wick_dtype_bytes(c.src, n) + 1; i++)
                        src[i] = (uint8_t)test_rand() & (c.src == WICK_BOOL ? 1 : 255);
                    memset(dst, 0x77, bytes + 1);
                    for (int64_t task = wick_copy_tasks(&c) - 1; task >= 0; task--)
                        wick_copy_run(&c, task, task + 1, src, dst);
                    CHECK(dst[bytes] == 0x77);
                    bool same = true;
                    for (int64_t i = 0; i < n; i++) {
                        const wick_copy one = {.rank = 0, .src = c.src, .dst = c.dst};
                        const uint64_t from = wick_element_get(c.src, src, i);
                        uint64_t want = 0;
                        wick_copy_run(&one, 0, 1, &from, &want);
                        same &= wick_element_get(c.dst, dst, i) == want;
                    }
                    if (n && wick_dtype_is_packed(c.dst)) {
                        uint8_t last = dst[bytes - 1];
                        wick_elements_end(c.dst, dst, n);
                        same &= last == dst[bytes - 1];
                    }
                    CHECK_MSG(same, "%s to %s, %lld elements", wick_dtype_name(c.src), wick_dtype_name(c.dst),
                              (long long)n);
                }
    free(src), free(dst);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
