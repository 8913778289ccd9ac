/* Gather, and reads and writes along an axis, against loops over single elements. */
#include "kernels/kernels.h"
#include "test.h"

enum { MAX = 1 << 16 };
static unsigned char src[MAX], dst[MAX + 8], want[MAX + 8];
static int64_t index_of[512];

/* outer, n, inner, count */
static const int64_t shapes[][4] = {{1, 1, 1, 1}, {1, 10, 1, 33}, {3, 7, 5, 11}, {2, 50, 16, 40}, {4, 3, 64, 2},
                                    {1, 5, 7, 0}, {0, 5, 7, 3},   {2, 4, 0, 3},  {5, 9, 3, 9}};

static void fill_index(int64_t n, int64_t count) {
    for (int64_t i = 0; i < count; i++) index_of[i] = (int64_t)(test_rand() % (uint64_t)(2 * n)) - n;
}

/* dst[o][index[i]][inner] += src[o][i][inner] for o in [begin, end), tasks last to first. */
static int64_t scatter_add(wick_ctype type, int64_t begin, int64_t end, int64_t n, int64_t inner, int64_t count,
                           const void *from, const int64_t *index, void *to) {
    wick_along a = {.rank = 3,
                    .axis = 1,
                    .n = n,
                    .elem = wick_ctype_size(type),
                    .type = type,
                    .how = WICK_ALONG_ADD,
                    .dim = {{.n = end - begin, .data = n * inner, .other = count * inner},
                            {.n = count, .data = inner, .index = 1, .other = inner},
                            {.n = inner, .data = 1, .other = 1}}};
    wick_along_prepare(&a);
    int64_t first = -1;
    for (int64_t task = a.tasks - 1; task >= 0; task--) {
        const int64_t bad = wick_along_run(&a, task, task + 1, (char *)to + (size_t)(begin * n * inner) * a.elem, index,
                                           (char *)(uintptr_t)from + (size_t)(begin * count * inner) * a.elem);
        if (bad >= 0 && (first < 0 || bad < first)) first = bad;
    }
    return first;
}

TEST(gather_copies_what_the_index_names_for_every_element_size) {
    static const size_t elems[] = {1, 2, 4, 8, 3, 16};
    for (size_t i = 0; i < MAX; i++) src[i] = (unsigned char)test_rand();
    for (size_t s = 0; s < WICK_COUNTOF(shapes); s++)
        for (size_t e = 0; e < WICK_COUNTOF(elems); e++) {
            const int64_t outer = shapes[s][0], n = shapes[s][1], inner = shapes[s][2], count = shapes[s][3];
            const size_t elem = elems[e], slice = elem * (size_t)inner;
            fill_index(n, count);
            memset(dst, 0xa5, sizeof dst);
            memset(want, 0xa5, sizeof want);
            for (int64_t o = 0; o < outer; o++)
                for (int64_t i = 0; i < count; i++) {
                    const int64_t at = index_of[i] < 0 ? index_of[i] + n : index_of[i];
                    memcpy(want + (size_t)(o * count + i) * slice, src + (size_t)(o * n + at) * slice, slice);
                }
            CHECK_INT(wick_gather_rows(elem, 0, outer, n, inner, count, src, index_of, dst, elem == 4), -1);
            CHECK_MSG(!memcmp(dst, want, sizeof dst), "shape %zu, element %zu", s, elem);
            /* one outer row at a time, backwards */
            memset(dst, 0xa5, sizeof dst);
            for (int64_t o = outer; o > 0; o--)
                wick_gather_rows(elem, o - 1, o, n, inner, count, src, index_of, dst, elem == 4);
            CHECK_MSG(!memcmp(dst, want, sizeof dst), "shape %zu, element %zu, in parts", s, elem);
        }
}

/* A table that no near cache holds, whose rows are asked for ahead; results in caches and past them. */
TEST(gather_from_a_large_table_reports_the_first_bad_index_too) {
    enum { ROWS = 20000, COUNT = 300, LONGEST = 48 };
    static float table[ROWS * LONGEST], to[COUNT * LONGEST + 2];
    static int64_t at[COUNT];
    for (int i = 0; i < ROWS * LONGEST; i++) table[i] = (float)i;
    for (int round = 0; round < 40; round++) {
        const int inner = round % 4 == 3 ? 15 : 16 * (1 + round % 3), count = test_rand_int(1, COUNT),
                  bad = round % 5 ? -1 : test_rand_int(0, count - 1);
        const int shift = round & 1;
        for (int i = 0; i < count; i++) at[i] = test_rand_int(-ROWS, ROWS - 1);
        if (bad >= 0) at[bad] = round & 8 ? INT64_MIN : ROWS;
        for (int i = 0; i < COUNT * LONGEST + 2; i++) to[i] = -1;
        CHECK_INT(wick_gather_rows(4, 0, 1, ROWS, inner, count, table, at, to + shift, round & 2), bad);
        for (int i = 0; i < count; i++)
            for (int c = 0; c < inner; c++)
                CHECK(to[shift + i * inner + c] ==
                      (i == bad ? 0 : table[(at[i] < 0 ? at[i] + ROWS : at[i]) * inner + c]));
        CHECK(to[shift + count * inner] == -1 && (!shift || to[0] == -1));
    }
}

TEST(gather_reports_the_first_bad_index_and_leaves_zeros) {
    static const int64_t wrong[] = {4, -5, INT64_MAX, INT64_MIN};
    for (size_t w = 0; w < WICK_COUNTOF(wrong); w++)
        for (int64_t inner = 1; inner < 4; inner++) {
            const int64_t idx[] = {3, -4, wrong[w], 0, wrong[w], -1};
            int32_t from[2 * 4 * 3], to[2 * 6 * 3];
            for (int i = 0; i < 24; i++) from[i] = i + 1;
            memset(to, 0xa5, sizeof to);
            CHECK_INT(wick_gather_rows(4, 0, 2, 4, inner, 6, from, idx, to, false), 2);
            for (int64_t o = 0; o < 2; o++)
                for (int64_t i = 0; i < 6; i++)
                    for (int64_t l = 0; l < inner; l++) {
                        const int64_t at = idx[i] < 0 ? idx[i] + 4 : idx[i];
                        CHECK_INT(to[(o * 6 + i) * inner + l], i == 2 || i == 4 ? 0 : from[(o * 4 + at) * inner + l]);
                    }
        }
}

TEST(indexing_nothing_finds_every_index_bad) {
    const int64_t idx[] = {0, -1};
    float to[2] = {1, 1}, from[1] = {1};
    CHECK_INT(wick_gather_rows(4, 0, 1, 0, 1, 2, from, idx, to, false), 0);
    CHECK(to[0] == 0 && to[1] == 0);
    CHECK_INT(scatter_add(WICK_CF32, 0, 1, 0, 1, 2, to, idx, from), 0);
    CHECK(from[0] == 1);
}

TEST(scatter_add_sums_in_the_order_of_the_index) {
    /* 1 + 2^24 - 2^24 in f32 depends on the order: ((1 + 2^24) - 2^24) is 0, (2^24 - 2^24) + 1 is 1 */
    const float parts[] = {1, 0x1p24f, -0x1p24f, 0x1p24f, -0x1p24f, 1};
    const int64_t idx[] = {0, 0, 0, -1, -1, 1};
    float sums[2] = {0, 0};
    CHECK_INT(scatter_add(WICK_CF32, 0, 1, 2, 1, 6, parts, idx, sums), -1);
    CHECK(sums[0] == 0 && sums[1] == 1);
}

TEST(scatter_add_agrees_with_a_loop_in_every_type) {
    static const wick_ctype types[] = {WICK_CF32, WICK_CF64, WICK_CI32, WICK_CI64, WICK_CU64};
    for (size_t s = 0; s < WICK_COUNTOF(shapes); s++)
        for (size_t k = 0; k < WICK_COUNTOF(types); k++) {
            const int64_t outer = shapes[s][0], n = shapes[s][1], inner = shapes[s][2], count = shapes[s][3];
            const wick_ctype type = types[k];
            const size_t size = type == WICK_CF32 || type == WICK_CI32 ? 4 : 8;
            fill_index(n, count);
            for (int64_t i = 0; i < MAX / 8; i++) {
                const int64_t v = test_rand_int(-1000, 1000);
                switch (type) {
                case WICK_CF32:
                    ((float *)src)[i] = (float)v / 8;
                    break;
                case WICK_CF64:
                    ((double *)src)[i] = (double)v / 8;
                    break;
                case WICK_CI32:
                    ((int32_t *)src)[i] = (int32_t)(v * 4000000);
                    break; /* wraps */
                default:
                    ((int64_t *)src)[i] = v * ((int64_t)1 << 53);
                }
            }
            memcpy(dst, src + 64, MAX - 64); /* something to add to */
            memcpy(want, dst, sizeof want);
            for (int64_t o = 0; o < outer; o++)
                for (int64_t i = 0; i < count; i++)
                    for (int64_t l = 0; l < inner; l++) {
                        const int64_t from = (o * count + i) * inner + l;
                        const int64_t to = (o * n + (index_of[i] < 0 ? index_of[i] + n : index_of[i])) * inner + l;
                        switch (type) {
                        case WICK_CF32:
                            ((float *)want)[to] += ((float *)src)[from];
                            break;
                        case WICK_CF64:
                            ((double *)want)[to] += ((double *)src)[from];
                            break;
                        case WICK_CI32:
                            ((uint32_t *)want)[to] += ((uint32_t *)src)[from];
                            break;
                        default:
                            ((uint64_t *)want)[to] += ((uint64_t *)src)[from];
                        }
                    }
            for (int64_t o = 0; o < outer; o++)
                CHECK_INT(scatter_add(type, o, o + 1, n, inner, count, src, index_of, dst), -1);
            CHECK_MSG(!memcmp(dst, want, sizeof dst), "shape %zu, type %d, element %zu bytes", s, type, size);
        }
}

TEST(scatter_add_skips_bad_indices_and_reports_the_first) {
    const int64_t idx[] = {1, 2, -3, 0, INT64_MIN};
    const int64_t add[] = {10, 20, 30, 40, 50};
    int64_t sums[2] = {1, 2};
    CHECK_INT(scatter_add(WICK_CI64, 0, 1, 2, 1, 5, add, idx, sums), 1);
    CHECK(sums[0] == 41 && sums[1] == 12);
}

/* Random shapes and strides, tasks in any order, against the definition. */
TEST(reads_and_writes_along_an_axis_agree_with_a_loop_over_places) {
    int compared = 0;
    for (int round = 0; round < 600; round++) {
        wick_along a = {.rank = test_rand_int(1, 4),
                        .elem = 8,
                        .type = WICK_CF64,
                        .how = (uint8_t)test_rand_int(WICK_ALONG_SET, WICK_ALONG_MIN),
                        .reads = test_rand() % 2};
        a.axis = test_rand_int(0, a.rank - 1);
        a.n = test_rand_int(1, 9);
        int64_t total = 1, data = 1, index_size = 1, strides[4][3];
        for (int d = a.rank - 1; d >= 0; d--) {
            wick_along_dim *x = &a.dim[d];
            x->n = test_rand() % 8 == 0 ? test_rand_int(20, 60) : test_rand_int(1, 5);
            if (total * x->n > 400) x->n = 1;
            x->data = data * (data < 100 ? test_rand_int(1, 2) : 1);
            x->index = test_rand() % 4 ? index_size : 0; /* the same along a dim, or not */
            x->other = total;
            data = x->data * (d == a.axis ? a.n : x->n);
            index_size *= x->index ? x->n : 1;
            total *= x->n;
            strides[d][0] = x->data, strides[d][1] = x->index, strides[d][2] = x->n;
        }
        if (data * 8 > MAX) continue; /* few */
        compared++;
        static double values[MAX / 8], expected[MAX / 8], other[MAX / 8], read[MAX / 8];
        static int64_t index[4096];
        for (int64_t i = 0; i < MAX / 8; i++)
            values[i] = expected[i] = test_rand_int(-3, 3), other[i] = read[i] = test_rand_int(-3, 3);
        for (int64_t i = 0; i < index_size; i++) index[i] = (int64_t)(test_rand() % (uint64_t)(2 * a.n)) - a.n;
        for (int64_t i = 0; i < total; i++) { /* in row-major order, hence that of the axis */
            int64_t left = i, at = 0, from = 0, along = 0;
            for (int d = a.rank - 1; d >= 0; d--) {
                const int64_t k = left % strides[d][2];
                left /= strides[d][2];
                from += k * strides[d][1];
                if (d == a.axis)
                    along = strides[d][0];
                else
                    at += k * strides[d][0];
            }
            at += (index[from] < 0 ? index[from] + a.n : index[from]) * along;
            double *e = &expected[at], v = other[i];
            if (a.reads)
                read[i] = values[at];
            else
                *e = a.how == WICK_ALONG_SET   ? v
                     : a.how == WICK_ALONG_ADD ? *e + v
                     : a.how == WICK_ALONG_MUL ? *e * v
                     : a.how == WICK_ALONG_MAX ? fmax(*e, v)
                                               : fmin(*e, v);
        }
        wick_along_prepare(&a);
        for (int64_t task = a.tasks - 1; task >= 0; task--)
            CHECK_INT(wick_along_run(&a, task, task + 1, values, index, other), -1);
        CHECK_MSG(!memcmp(values, expected, sizeof values) && (!a.reads || !memcmp(other, read, sizeof other)),
                  "round %d: rank %d, axis %d, how %d", round, a.rank, a.axis, a.how);
    }
    CHECK(compared > 400);
}

/* Long rows, whose tasks take some of the places each; in the order of the index, which f32 shows. */
TEST(long_rows_are_added_by_places_in_the_order_of_the_index) {
    enum { OUTER = 2, N = 300, INNER = 1030, COUNT = 400 };
    float *sums = malloc(sizeof(float) * OUTER * N * INNER), *expected = malloc(sizeof(float) * OUTER * N * INNER),
          *from = malloc(sizeof(float) * OUTER * COUNT * INNER);
    CHECK(sums && expected && from);
    for (int i = 0; i < OUTER * N * INNER; i++) sums[i] = expected[i] = (float)test_rand_int(-999, 999) / 7;
    for (int i = 0; i < OUTER * COUNT * INNER; i++) from[i] = (float)test_rand_int(-999, 999) / 3;
    fill_index(N, COUNT);
    for (int o = 0; o < OUTER; o++)
        for (int i = 0; i < COUNT; i++)
            for (int c = 0; c < INNER; c++)
                expected[(o * N + (index_of[i] + N) % N) * INNER + c] += from[(o * COUNT + i) * INNER + c];
    CHECK_INT(scatter_add(WICK_CF32, 0, OUTER, N, INNER, COUNT, from, index_of, sums), -1);
    CHECK(memcmp(sums, expected, sizeof(float) * OUTER * N * INNER) == 0);
    index_of[17] = N, index_of[30] = -N - 1; /* the first of all tasks */
    CHECK_INT(scatter_add(WICK_CF32, 0, OUTER, N, INNER, COUNT, from, index_of, sums), 17);
    free(sums), free(expected), free(from);
}

/* Rows longer than the blocks that are looked at together: with indices from the end, with one that names nothing
 * anywhere, next to each other in places. Extremes meet NaN. */
TEST(long_last_axes_agree_with_a_loop_whatever_a_block_names) {
    enum { N = 90, LONGEST = 200 };
    static float data[N], expected[N], other[LONGEST], read[LONGEST];
    static int64_t at[LONGEST];
    for (int round = 0; round < 2000; round++) {
        const int64_t count = test_rand_int(1, LONGEST), n = test_rand_int(1, N);
        const int64_t wrong = round % 3 ? -1 : test_rand_int(0, (int)count - 1);
        wick_along a = {.rank = 1,
                        .n = n,
                        .elem = 4,
                        .type = WICK_CF32,
                        .how = (uint8_t)test_rand_int(WICK_ALONG_SET, WICK_ALONG_MIN),
                        .reads = test_rand() % 2,
                        .dim = {{.n = count, .data = 1, .index = 1, .other = 1}}};
        for (int64_t i = 0; i < N; i++) data[i] = expected[i] = test_rand() % 8 ? (float)test_rand_int(-9, 9) / 3 : NAN;
        for (int64_t i = 0; i < count; i++) {
            other[i] = read[i] = test_rand() % 8 ? (float)test_rand_int(-9, 9) / 3 : NAN;
            at[i] = (int64_t)(test_rand() % (uint64_t)n) - (round % 2 && test_rand() % 64 == 0 ? n : 0);
        }
        if (wrong >= 0) at[wrong] = test_rand() % 2 ? n : test_rand() % 2 ? -n - 1 : INT64_MIN;
        for (int64_t i = 0; i < count; i++) {
            float *e = &expected[i == wrong ? 0 : at[i] < 0 ? at[i] + n : at[i]];
            const float v = other[i];
            if (a.reads) read[i] = i == wrong ? 0 : *e;
            else if (i != wrong && a.how == WICK_ALONG_SET) *e = v;
            else if (i != wrong && a.how == WICK_ALONG_ADD) *e += v;
            else if (i != wrong && a.how == WICK_ALONG_MUL) *e *= v;
            else if (i != wrong && (isnan(v) || (a.how == WICK_ALONG_MAX ? v > *e : v < *e))) *e = v;
        }
        wick_along_prepare(&a);
        CHECK_INT(wick_along_run(&a, 0, a.tasks, data, at, other), wrong);
        for (int64_t i = 0; i < n; i++)
            CHECK_MSG(data[i] == expected[i] || (isnan(data[i]) && isnan(expected[i])),
                      "round %d: how %d, place %lld: %g, not %g", round, a.how, (long long)i, (double)data[i],
                      (double)expected[i]);
        for (int64_t i = 0; i < count; i++)
            CHECK_MSG(other[i] == read[i] || (isnan(other[i]) && isnan(read[i])), "round %d: element %lld", round,
                      (long long)i);
    }
}

int main(int argc, char **argv) { return test_main(argc, argv); }
