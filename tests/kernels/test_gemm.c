/* Matrix products: every tier against sums in a wider type, and the promise that bits do not depend on tiles and tasks.
 */
#include "kernels/packing.h"
#include "test.h"

enum { GUARD = 64, FILL = 0xA5 };

/* A buffer between guard bytes. */
typedef struct buffer {
    uint8_t *block;
    size_t size;
    void *at;
} buffer;

static buffer buffer_make(size_t size) {
    buffer b = {.size = size};
    const size_t whole = WICK_ALIGN_UP(size + 2 * GUARD, 64);
    b.block = aligned_alloc(64, whole);
    if (!b.block) abort();
    memset(b.block, FILL, whole);
    b.at = b.block + GUARD;
    return b;
}
static bool buffer_intact(const buffer *b) {
    for (size_t i = 0; i < GUARD; i++)
        if (b->block[i] != FILL || b->block[GUARD + b->size + i] != FILL) return false;
    return true;
}
static void buffer_free(buffer *b) { free(b->block); }

/* One operand: `count` elements that every index of its strides stays within, counted from `origin`. */
typedef struct operand {
    int64_t row, col, origin, count;
} operand;

enum {
    ROWS,
    COLUMNS,
    PADDED_ROWS,
    PADDED_COLUMNS,
    NEGATIVE,
    STRIDED,
    BROADCAST_ROW,
    BROADCAST_COL,
    BROADCAST_BOTH,
    LAYOUTS
};

static operand operand_make(int layout, int64_t rows, int64_t cols) {
    operand o = {0};
    const int64_t pad = test_rand_int(1, 20);
    switch (layout) {
    case ROWS:
        o.row = cols, o.col = 1;
        break;
    case COLUMNS:
        o.row = 1, o.col = rows;
        break;
    case PADDED_ROWS:
        o.row = cols + pad, o.col = 1;
        break;
    case PADDED_COLUMNS:
        o.row = 1, o.col = rows + pad;
        break;
    case NEGATIVE:
        o.row = -(cols + pad), o.col = pad & 1 ? 1 : -1;
        break;
    case STRIDED:
        o.row = 3 * cols + pad, o.col = 3;
        break;
    case BROADCAST_ROW:
        o.row = 0, o.col = 1;
        break;
    case BROADCAST_COL:
        o.row = 1, o.col = 0;
        break;
    default:
        o.row = 0, o.col = 0;
        break;
    }
    const int64_t r = rows ? (rows - 1) * o.row : 0, c = cols ? (cols - 1) * o.col : 0;
    o.origin = -((r < 0 ? r : 0) + (c < 0 ? c : 0));
    o.count = rows && cols ? o.origin + (r > 0 ? r : 0) + (c > 0 ? c : 0) + 1 : 0;
    return o;
}

/* A product with its data. Exact-size allocations, so that a sanitizer sees reads past an operand. */
typedef struct product {
    wick_gemm g;
    operand a, b;
    void *a_data, *b_data, *bias;
    size_t elem;
    int64_t c_count;
    void *c_before;
} product;

static void *elements(wick_ctype type, int64_t count, double lo, double hi) {
    const size_t elem = wick_ctype_size(type);
    void *data = malloc(elem * (size_t)count + !count);
    if (!data) abort();
    for (int64_t i = 0; i < count; i++) {
        const double x = test_rand_real(lo, hi);
        if (type == WICK_CF32)
            ((float *)data)[i] = (float)x;
        else
            ((double *)data)[i] = x;
    }
    return data;
}

static product product_make(wick_ctype type, int64_t m, int64_t n, int64_t k, int a_layout, int b_layout) {
    product p = {.a = operand_make(a_layout, m, k), .b = operand_make(b_layout, k, n), .elem = wick_ctype_size(type)};
    const int64_t c_row = n + (test_rand() & 1 ? test_rand_int(0, 9) : 0);
    p.g = (wick_gemm){.type = type,
                      .m = m,
                      .n = n,
                      .k = k,
                      .a_row = p.a.row,
                      .a_col = p.a.col,
                      .b_row = p.b.row,
                      .b_col = p.b.col,
                      .c_row = c_row,
                      .accumulate = test_rand() & 1,
                      .b_constant = test_rand() & 1,
                      .bias = (int8_t)test_rand_int(0, 2),
                      .relu = test_rand_int(0, 3) == 0};
    p.a_data = elements(type, p.a.count, -1, 1);
    p.b_data = elements(type, p.b.count, -1, 1);
    p.bias = elements(type, p.g.bias == 1 ? n : m, -1, 1);
    p.c_count = m && n ? (m - 1) * c_row + n : 0;
    p.c_before = elements(type, p.c_count, -1, 1);
    return p;
}
static void product_free(product *p) {
    free(p->a_data);
    free(p->b_data);
    free(p->bias);
    free(p->c_before);
}

static double at(const product *p, const void *data, int64_t i) {
    return p->elem == 4 ? (double)((const float *)data)[i] : ((const double *)data)[i];
}

enum { IN_ORDER, BACKWARDS_ONE_BY_ONE, RANDOM_RANGES };

/* Prepares for the current tier and computes into a copy of c_before; the caller frees the result. */
static void *product_run(product *p, int order) {
    wick_gemm *g = &p->g;
    wick_gemm_prepare(g, NULL);
    if (test_rand() & 1) wick_gemm_pack_in_tasks(g, NULL); /* no bit depends on it */
    wick_rejected rejected[WICK_REJECTED]; /* what was not taken has a reason: the tests that chose say it */
    for (int i = wick_gemm_rejected(g, NULL, rejected); i-- > 0;)
        CHECK_MSG(rejected[i].kernel && rejected[i].why, "%lldx%lldx%lld: way %d", (long long)g->m, (long long)g->n,
                  (long long)g->k, i);
    buffer c = buffer_make((size_t)p->c_count * p->elem), packed = buffer_make(g->packed),
           scratch = buffer_make(g->scratch);
    if (p->c_count) memcpy(c.at, p->c_before, c.size);
    const char *a = (const char *)p->a_data + p->a.origin * (int64_t)p->elem;
    const char *b = (const char *)p->b_data + p->b.origin * (int64_t)p->elem;
    for (int stage = 0; stage < 2; stage++) {
        const int64_t tasks = stage ? g->tasks : g->tasks_pack;
        for (int64_t done = 0, step; done < tasks; done += step) {
            step = order == IN_ORDER               ? tasks
                   : order == BACKWARDS_ONE_BY_ONE ? 1
                                                   : test_rand_int(1, (int)(tasks - done));
            const int64_t begin = order == IN_ORDER ? 0 : tasks - done - step;
            memset(scratch.at, 0xFF, g->scratch); /* NaN: what is left in scratch must not matter */
            if (stage)
                wick_gemm_run(g, begin, begin + step, a, b, g->bias ? p->bias : NULL, c.at, packed.at, scratch.at);
            else
                wick_gemm_pack(g, begin, begin + step, b, packed.at);
        }
    }
    CHECK_MSG(buffer_intact(&c), "%s wrote around C, m %d n %d k %d", wick_gemm_name(g), (int)g->m, (int)g->n,
              (int)g->k);
    CHECK_MSG(buffer_intact(&packed) && buffer_intact(&scratch), "%s wrote around packed or scratch, m %d n %d k %d",
              wick_gemm_name(g), (int)g->m, (int)g->n, (int)g->k);
    void *out = malloc(c.size + !c.size);
    if (!out) abort();
    if (c.size) memcpy(out, c.at, c.size);
    buffer_free(&c);
    buffer_free(&packed);
    buffer_free(&scratch);
    return out;
}

/* Componentwise: |c - exact| <= (k + 4) u (|A||B| + |C| + |bias|), Higham, Accuracy and Stability, section 3.5. */
static void product_check(const product *p, const void *c) {
    const wick_gemm *g = &p->g;
    const double u = p->elem == 4 ? 0x1p-24 : 0x1p-53;
    for (int64_t i = 0; i < g->m; i++) {
        for (int64_t j = 0; j < g->c_row && i * g->c_row + j < p->c_count; j++) {
            const double got = at(p, c, i * g->c_row + j), before = at(p, p->c_before, i * g->c_row + j);
            if (j >= g->n) {
                CHECK_MSG(got == before, "%s changed the gap between rows", wick_gemm_name(g));
                continue;
            }
            long double sum = g->accumulate ? before : 0, size = fabsl(sum);
            for (int64_t q = 0; q < g->k; q++) {
                const long double x = at(p, p->a_data, p->a.origin + i * g->a_row + q * g->a_col);
                const long double y = at(p, p->b_data, p->b.origin + q * g->b_row + j * g->b_col);
                sum += x * y;
                size += fabsl(x * y);
            }
            if (g->bias) {
                const long double x = at(p, p->bias, g->bias == 1 ? j : i);
                sum += x;
                size += fabsl(x);
            }
            if (g->relu && sum < 0) sum = 0;
            CHECK_MSG(
                fabsl(got - sum) <= ((double)g->k + 4) * u * (double)size,
                "%s m %d n %d k %d layout %d,%d / %d,%d how %u acc %d bias %d relu %d: c[%d,%d] = %.9g, expected %.9Lg",
                wick_gemm_name(g), (int)g->m, (int)g->n, (int)g->k, (int)g->a_row, (int)g->a_col, (int)g->b_row,
                (int)g->b_col, g->how, g->accumulate, g->bias, g->relu, (int)i, (int)j, got, sum);
        }
    }
}

static const int odd_sizes[] = {0,  1,  2,  3,  4,  5,  7,  8,  9,  10, 13, 14,  15,
                                16, 17, 27, 31, 32, 33, 47, 48, 63, 64, 65, 100, 130};

static int random_size(void) {
    if (test_rand() & 1) return odd_sizes[test_rand_int(0, (int)WICK_COUNTOF(odd_sizes) - 1)];
    return test_rand_int(1, 80);
}

#if defined(__aarch64__)
enum { FUSES = WICK_TIER_BASE }; /* the first tier whose multiply-adds round once */
#else
enum { FUSES = WICK_TIER_AVX2 };
#endif
static wick_tier tier_saved;
#define FOR_TIERS(t)                                                                                                   \
    tier_saved = wick_tier_current();                                                                                  \
    for (int t = WICK_TIER_REF; t < WICK_TIER_COUNT || !wick_tier_force(tier_saved); t++)                              \
        if (wick_tier_force((wick_tier)t))

/* Each tier of a product, checked against the wider sum, in three orders of tasks with the same bits. Tiers with fused
 * multiply-add agree to the bit with each other, and so do those without. */
static void product_try(product *p) {
    void *first[2] = {NULL, NULL};
    FOR_TIERS(tier) {
        void *c = product_run(p, IN_ORDER);
        product_check(p, c);
        const size_t size = (size_t)p->c_count * p->elem;
        for (int order = 1; order < 3; order++) {
            void *again = product_run(p, order);
            CHECK_MSG(!memcmp(c, again, size), "%s: order of tasks changes bits", wick_gemm_name(&p->g));
            free(again);
        }
        void **same = &first[tier >= FUSES];
        if (!*same) {
            *same = c;
            continue;
        }
        CHECK_MSG(!memcmp(c, *same, size), "%s m %d n %d k %d: bits differ from the tier below", wick_gemm_name(&p->g),
                  (int)p->g.m, (int)p->g.n, (int)p->g.k);
        free(c);
    }
    free(first[0]);
    free(first[1]);
}

TEST(random_shapes_and_layouts_match_the_wide_sum_on_every_tier) {
    for (int i = 0; i < (TEST_SANITIZED ? 150 : 600); i++) {
        product p = product_make(test_rand() & 1 ? WICK_CF32 : WICK_CF64, random_size(), random_size(), random_size(),
                                 test_rand_int(0, LAYOUTS - 1), test_rand_int(0, LAYOUTS - 1));
        product_try(&p);
        product_free(&p);
    }
}

TEST(every_pair_of_layouts) {
    for (int a = 0; a < LAYOUTS; a++) {
        for (int b = 0; b < LAYOUTS; b++) {
            product p = product_make((a + b) & 1 ? WICK_CF64 : WICK_CF32, 37, 71, 29, a, b);
            product_try(&p);
            product_free(&p);
        }
    }
}

TEST(sizes_that_take_several_blocks_and_tasks) {
    static const struct {
        int m, n, k, a, b;
    } shapes[] = {
        {29, 70, 1100, ROWS, COLUMNS},         {64, 128, 784, ROWS, COLUMNS}, {300, 33, 600, COLUMNS, ROWS},
        {290, 40, 530, ROWS, COLUMNS},         {300, 600, 20, ROWS, ROWS},    {130, 200, 100, STRIDED, PADDED_COLUMNS},
        {64, 256, 1024, ROWS, COLUMNS},        {1, 700, 900, ROWS, COLUMNS},  {700, 1, 900, ROWS, ROWS},
        {100, 1, 513, STRIDED, BROADCAST_COL}, {513, 3, 64, COLUMNS, ROWS},   {10, 512, 64, COLUMNS, ROWS},
        {173, 150, 1024, ROWS, ROWS},          {131, 200, 601, COLUMNS, COLUMNS}, /* worth many tasks, with A packed */
    };
    for (size_t i = 0; i < WICK_COUNTOF(shapes); i++) {
        for (int type = WICK_CF32; type <= WICK_CF64; type++) {
            product p = product_make((wick_ctype)type, shapes[i].m, shapes[i].n, shapes[i].k, shapes[i].a, shapes[i].b);
            product_try(&p);
            product_free(&p);
        }
    }
}

/* Few rows go over B in place: from near, from far (by rows from 1 MiB on, by columns from 8, from 2 where they share
 * sets of L1, and from 8 then in a way of their own), and with each rest of columns. */
TEST(few_rows_read_b_in_place) {
    for (int m = 1; m <= 13; m++) {
        static const int cols[] = {1, 3, 4, 7, 8, 9, 15, 17, 24, 33, 65, 127, 129, 131, 250, 300, 391};
        for (size_t i = 0; i < WICK_COUNTOF(cols); i++) {
            const bool transposed = test_rand() & 1; /* a narrow C goes as its transpose */
            product p = product_make(test_rand() & 1 ? WICK_CF32 : WICK_CF64, transposed ? cols[i] : m,
                                     transposed ? m : cols[i], test_rand_int(1, 90),
                                     test_rand_int(ROWS, PADDED_COLUMNS), test_rand_int(ROWS, PADDED_COLUMNS));
            product_try(&p);
            product_free(&p);
        }
        product p = product_make(m & 1 ? WICK_CF32 : WICK_CF64, m, 531, m & 1 ? 601 : 301, ROWS, PADDED_ROWS);
        product_try(&p);
        product_free(&p);
    }
    for (int m = 1; m <= 4; m += 3) {
        product p = product_make(WICK_CF32, m, 2005, 1061, ROWS, COLUMNS);
        product_try(&p);
        product_free(&p);
        p = product_make(WICK_CF32, m, 517, 1024, ROWS, COLUMNS);
        product_try(&p);
        product_free(&p);
        p = product_make(m > 1 ? WICK_CF64 : WICK_CF32, m, 2061, 1024, ROWS, COLUMNS);
        product_try(&p);
        product_free(&p);
    }
}

TEST(panels_that_are_kept_are_not_cut) {
    static const int shapes[][3] = {{128, 512, 512}, {16, 64, 4000}, {100, 96, 1000}};
    for (size_t i = 0; i < WICK_COUNTOF(shapes); i++) {
        product p = product_make(WICK_CF32, shapes[i][0], shapes[i][1], shapes[i][2], ROWS, i % 2 ? ROWS : COLUMNS);
        p.g.keep = true;
        product_try(&p);
        product_free(&p);
    }
}

TEST(what_is_packed_for_one_time_is_packed_by_tasks_where_columns_make_enough_of_them) {
    static const struct {
        int m, n, k;
        bool alone;
    } shapes[] = {{64, 128, 784, true},
                  {64, 512, 784, true},
                  {256, 512, 512, true},
                  {600, 512, 512, false},
                  {200, 96, 1000, false}};
    FOR_TIERS(tier) {
        for (size_t i = 0; i < WICK_COUNTOF(shapes); i++) {
            wick_gemm g = {.type = WICK_CF32,
                           .m = shapes[i].m,
                           .n = shapes[i].n,
                           .k = shapes[i].k,
                           .a_row = shapes[i].k,
                           .a_col = 1,
                           .b_row = 1,
                           .b_col = shapes[i].k,
                           .c_row = shapes[i].n};
            wick_gemm_prepare(&g, NULL);
            const int64_t before = g.tasks_pack;
            wick_gemm_pack_in_tasks(&g, NULL);
            if (tier != WICK_TIER_AVX512) continue; /* others have panels of other widths */
            CHECK_MSG(before > 0 && (g.tasks_pack == 0) == shapes[i].alone && (g.packed == 0) == shapes[i].alone,
                      "%d x %d x %d", shapes[i].m, shapes[i].n, shapes[i].k);
        }
    }
}

/* Every shape up to a tile plus one. */
TEST(small_shapes) {
    for (int m = 1; m <= 15; m++)
        for (int n = 1; n <= 33; n++) {
            product p = product_make((m + n) & 1 ? WICK_CF32 : WICK_CF64, m, n, test_rand_int(1, 20),
                                     test_rand_int(ROWS, COLUMNS), test_rand_int(ROWS, COLUMNS));
            product_try(&p);
            product_free(&p);
        }
}

TEST(zero_sizes) {
    for (int tasks = 0; tasks < 3; tasks++) {
        product p = product_make(WICK_CF32, tasks == 0 ? 0 : 5, tasks == 1 ? 0 : 20, 4, ROWS, ROWS);
        FOR_TIERS(tier) {
            wick_gemm_prepare(&p.g, NULL);
            CHECK_INT(p.g.tasks > 0, tasks == 2);
            CHECK_INT(p.g.tasks_pack, 0);
        }
        product_free(&p);
    }
}

TEST(no_inner_dim_gives_zeros_or_leaves_c) {
    for (int mode = 0; mode < 8; mode++) {
        product p = product_make(WICK_CF32, 17, 45, 0, ROWS, COLUMNS);
        p.g.accumulate = mode & 1;
        p.g.bias = mode & 2 ? 2 : 0;
        p.g.relu = (mode & 4) != 0;
        if (p.g.bias) {
            free(p.bias);
            p.bias = elements(WICK_CF32, 17, -1, 1);
        }
        product_try(&p);
        if (mode == 1) {
            void *c = product_run(&p, IN_ORDER);
            CHECK(!memcmp(c, p.c_before, (size_t)p.c_count * p.elem));
            free(c);
        }
        product_free(&p);
    }
}

/* Special values reach exactly the elements that depend on them: zeros are not skipped, padding does not leak. */
TEST(nan_and_inf_reach_their_rows_and_columns_only) {
    static const struct {
        int m, n, k, a, b;
    } shapes[] = {{15, 33, 9, ROWS, ROWS},      {15, 33, 9, ROWS, COLUMNS}, {29, 10, 40, ROWS, COLUMNS},
                  {29, 10, 40, COLUMNS, ROWS},  {40, 1, 20, ROWS, COLUMNS}, {1, 50, 20, STRIDED, COLUMNS},
                  {20, 65, 3, STRIDED, STRIDED}};
    for (size_t s = 0; s < WICK_COUNTOF(shapes); s++) {
        for (int what = 0; what < 4; what++) {
            const int m = shapes[s].m, n = shapes[s].n, k = shapes[s].k;
            product p = product_make(WICK_CF32, m, n, k, shapes[s].a, shapes[s].b);
            p.g.accumulate = false;
            p.g.bias = 0;
            p.g.relu = s % 2;
            float *a = (float *)p.a_data + p.a.origin, *b = (float *)p.b_data + p.b.origin;
            const int row = test_rand_int(0, m - 1), col = test_rand_int(0, n - 1), in = test_rand_int(0, k - 1);
            if (what == 0) a[row * p.g.a_row + in * p.g.a_col] = NAN;
            if (what == 1) b[in * p.g.b_row + col * p.g.b_col] = NAN;
            if (what == 2) { /* Inf times zero is NaN, Inf times a positive number is Inf */
                a[row * p.g.a_row + in * p.g.a_col] = INFINITY;
                for (int j = 0; j < n; j++) b[in * p.g.b_row + j * p.g.b_col] = j == col ? 0 : 1;
            }
            if (what == 3) a[row * p.g.a_row + in * p.g.a_col] = -INFINITY, b[in * p.g.b_row + col * p.g.b_col] = NAN;
            FOR_TIERS(tier) {
                float *c = product_run(&p, IN_ORDER);
                for (int i = 0; i < m; i++) {
                    for (int j = 0; j < n; j++) {
                        const float x = c[i * p.g.c_row + j];
                        const bool nan = what == 0   ? i == row
                                         : what == 2 ? i == row && j == col
                                         : what == 1 ? j == col
                                                     : j == col;
                        CHECK_MSG(isnan(x) == nan, "%s shape %d case %d c[%d,%d] = %g", wick_gemm_name(&p.g), (int)s,
                                  what, i, j, x);
                        if (what == 2 && i == row && j != col) CHECK(x == INFINITY);
                        if (what != 3 && what != 2 && !nan) CHECK(isfinite(x));
                    }
                }
                free(c);
            }
            product_free(&p);
        }
    }
}

/* A row of a product has the bits of the product of that row alone: batches of different sizes agree. */
TEST(rows_do_not_depend_on_how_many_there_are) {
    product p = product_make(WICK_CF32, 61, 75, 700, ROWS, COLUMNS);
    FOR_TIERS(tier) {
        float *c = product_run(&p, IN_ORDER);
        product one = p;
        one.g.m = 1;
        one.c_count = p.g.n;
        const float *bias = p.bias;
        for (int i = 0; i < 61; i += 12) {
            one.a.origin = p.a.origin + i * p.g.a_row;
            one.c_before = (float *)p.c_before + i * p.g.c_row;
            if (p.g.bias == 2) one.bias = (void *)(bias + i);
            float *row = product_run(&one, IN_ORDER);
            CHECK(!memcmp(row, c + i * p.g.c_row, (size_t)p.g.n * sizeof(float)));
            free(row);
        }
        free(c);
    }
    product_free(&p);
}

/* The same product with B as it is, its columns contiguous, and with a copy of it by rows. */
static void check_copy_by_rows(int m, int n, int k, wick_ctype type, bool wanted) {
    product p = product_make(type, m, n, k, ROWS, PADDED_COLUMNS);
    p.g.b_constant = false;
    product q = p;
    q.g.b_row = n;
    q.g.b_col = 1;
    q.b.origin = 0;
    q.b_data = malloc((size_t)(p.g.k * n) * p.elem);
    REQUIRE(q.b_data != NULL);
    for (int64_t i = 0; i < p.g.k; i++)
        for (int64_t j = 0; j < n; j++)
            memcpy((char *)q.b_data + (size_t)(i * n + j) * p.elem,
                   (char *)p.b_data + (size_t)(p.b.origin + i * p.b.row + j * p.b.col) * p.elem, p.elem);
    FOR_TIERS(tier) {
        const wick_tuning any = wick_tuning_of_any_machine(); /* larger caches want it of larger products too */
        CHECK_MSG(wick_gemm_wants_rows(&p.g, &any) == (wanted && tier != WICK_TIER_REF) &&
                      !wick_gemm_wants_rows(&q.g, &any),
                  "m %d n %d k %d tier %d", m, n, k, (int)tier);
        void *by_columns = product_run(&p, IN_ORDER), *by_rows = product_run(&q, IN_ORDER);
        CHECK_MSG(!memcmp(by_columns, by_rows, (size_t)p.c_count * p.elem), "m %d n %d k %d tier %d", m, n, k,
                  (int)tier);
        free(by_columns);
        free(by_rows);
    }
    free(q.b_data);
    product_free(&p);
}

TEST(few_rows_by_columns_that_lie_together_have_the_bits_of_rows_that_do) {
    for (int m = 1; m <= 13; m++)
        for (int n = 1; n <= 150; n += 37)
            check_copy_by_rows(m, n, 5 + 300 * (m % 5), m % 2 || m > 4 ? WICK_CF32 : WICK_CF64, m <= 3 && n > 1);
    for (int m = 1; m <= 4; m++) check_copy_by_rows(m, 131, 3000 + m, WICK_CF32, m <= 3); /* rows from far */
    check_copy_by_rows(1, 2049, 1024, WICK_CF32, false); /* as large as a copy would cost more than it saves */
}

/* A B of more than a MB that is always the same: up to 8 rows go over panels of it. */
TEST(few_rows_of_a_large_constant_have_the_bits_that_it_gives_where_it_lies) {
    static const int layouts[] = {ROWS, COLUMNS, PADDED_COLUMNS};
    for (int m = 1; m <= 9; m++)
        for (int l = 0; l < 3; l++) {
            const wick_ctype type = (m + l) % 4 ? WICK_CF32 : WICK_CF64;
            product p = product_make(type, m, 470 + 13 * m, 590 + 7 * l, m % 2 ? ROWS : COLUMNS, layouts[l]);
            p.g.b_constant = true;
            product q = p;
            q.g.b_constant = false;
            FOR_TIERS(tier) {
                void *packed = product_run(&p, RANDOM_RANGES), *in_place = product_run(&q, IN_ORDER);
                if (m <= 8) CHECK_MSG((p.g.tasks_pack > 0) == (tier != WICK_TIER_REF), "m %d layout %d", m, l);
                if (m <= 8) CHECK(!wick_gemm_wants_rows(&p.g, NULL));
                CHECK_MSG(!memcmp(packed, in_place, (size_t)p.c_count * p.elem), "m %d layout %d tier %d", m, l,
                          (int)tier);
                if (m == 3) product_check(&p, packed);
                free(packed);
                free(in_place);
            }
            product_free(&p);
        }
}

/* Narrow ones may be computed as their transpose. */
TEST(columns_do_not_depend_on_how_many_there_are) {
    for (int n = 1; n <= 13; n++) {
        product p = product_make(WICK_CF32, 7 + 19 * n, 75, 17 * n + 400, n % 3 ? ROWS : PADDED_COLUMNS,
                                 n % 2 ? ROWS : COLUMNS),
                narrow = p;
        narrow.g.n = n;
        FOR_TIERS(tier) {
            float *all = product_run(&p, IN_ORDER), *few = product_run(&narrow, RANDOM_RANGES);
            for (int64_t i = 0; i < p.g.m; i++)
                CHECK_MSG(!memcmp(all + i * p.g.c_row, few + i * p.g.c_row, (size_t)n * sizeof(float)),
                          "n %d row %d tier %d", n, (int)i, (int)tier);
            free(all);
            free(few);
        }
        product_free(&p);
    }
}

TEST(preparing_is_deterministic_and_names_say_layout_and_tier) {
    FOR_TIERS(tier) {
        wick_gemm g = {.type = WICK_CF32,
                       .m = 64,
                       .n = 128,
                       .k = 784,
                       .a_row = 784,
                       .a_col = 1,
                       .b_row = 1,
                       .b_col = 784,
                       .c_row = 128};
        wick_gemm_prepare(&g, NULL);
        wick_gemm h = g;
        wick_gemm_prepare(&h, NULL);
        CHECK(!memcmp(&g, &h, sizeof g));
        CHECK_STR_HAS(wick_gemm_name(&g), "gemm_f32_nt_");
        CHECK_STR_HAS(wick_gemm_name(&g), wick_tier_name((wick_tier)tier));
        wick_gemm small = {.type = WICK_CF64,
                           .m = 20,
                           .n = 40,
                           .k = 30,
                           .a_row = 1,
                           .a_col = 20,
                           .b_row = 40,
                           .b_col = 1,
                           .c_row = 40};
        wick_gemm_prepare(&small, NULL);
        CHECK_INT(small.tasks, 1);
        CHECK_STR_HAS(wick_gemm_name(&small), "gemm_f64_tn_");
    }
}

int main(int argc, char **argv) { return test_main(argc, argv); }
