/* Products of bf16 and f16: every tier, with dot products and without, against sums in a wider type; the same bits in
 * any order of tasks, on tiers with fused multiply-add, and whether the CPU has dot products or not. */
#include "base/cpu.h"
#include "kernels/convert/convert.h"
#include "kernels/kernels.h"
#include "test.h"

enum { GUARD = 32, FILL = 0xA5 };
enum { ROWS, COLUMNS, PADDED_ROWS, PADDED_COLUMNS, NEGATIVE, STRIDED, BROADCAST_ROW, BROADCAST_COL, LAYOUTS };

/* One operand: `count` elements that every index of its strides stays within, counted from `origin`. */
typedef struct operand {
    int64_t row, col, origin, count;
    uint16_t *data; /* of exact size, so that a sanitizer sees reads past it */
    float *wide;
} operand;

typedef struct product {
    wick_gemm g;
    operand a, b;
    void *bias;
    float *wide_bias;
    size_t elem; /* of C */
    int64_t c_count;
} product;

static void *memory(size_t size) {
    void *p = malloc(size + !size);
    if (!p) abort();
    return p;
}
static wick_convert_fn load_of(int dtype) { return wick_convert_table_ref.load[dtype]; }
static wick_convert_fn store_of(int dtype) { return wick_convert_table_ref.store[dtype]; }

static operand operand_make(int dtype, int layout, int64_t rows, int64_t cols, double lo, double hi) {
    const int64_t pad = test_rand_int(1, 20);
    operand o = {.row = cols, .col = 1};
    if (layout == COLUMNS) o.row = 1, o.col = rows;
    if (layout == PADDED_ROWS) o.row = cols + pad;
    if (layout == PADDED_COLUMNS) o.row = 1, o.col = rows + pad;
    if (layout == NEGATIVE) o.row = -(cols + pad), o.col = pad & 1 ? 1 : -1;
    if (layout == STRIDED) o.row = 3 * cols + pad, o.col = 3;
    if (layout == BROADCAST_ROW) o.row = 0, o.col = 1;
    if (layout == BROADCAST_COL) o.row = 1, o.col = 0;
    const int64_t r = rows ? (rows - 1) * o.row : 0, c = cols ? (cols - 1) * o.col : 0;
    o.origin = -((r < 0 ? r : 0) + (c < 0 ? c : 0));
    o.count = rows && cols ? o.origin + (r > 0 ? r : 0) + (c > 0 ? c : 0) + 1 : 0;
    o.data = memory(2 * (size_t)o.count);
    o.wide = memory(4 * (size_t)o.count);
    for (int64_t i = 0; i < o.count; i++) o.wide[i] = (float)test_rand_real(lo, hi);
    store_of(dtype)(o.data, o.wide, (size_t)o.count);
    load_of(dtype)(o.wide, o.data, (size_t)o.count);
    return o;
}

static product product_make(int dtype, int64_t m, int64_t n, int64_t k, int a_layout, int b_layout) {
    product p = {.a = operand_make(dtype, a_layout, m, k, -1, 1), .b = operand_make(dtype, b_layout, k, n, -1, 1)};
    p.g = (wick_gemm){.type = WICK_CF32,
                      .narrow = (uint8_t)dtype,
                      .result = (uint8_t)(test_rand_int(0, 2) ? dtype : WICK_F32),
                      .m = m,
                      .n = n,
                      .k = k,
                      .a_row = p.a.row,
                      .a_col = p.a.col,
                      .b_row = p.b.row,
                      .b_col = p.b.col,
                      .c_row = n + (test_rand() & 1 ? test_rand_int(0, 9) : 0),
                      .keep = test_rand() & 1,
                      .bias = (int8_t)test_rand_int(0, 2),
                      .relu = test_rand_int(0, 3) == 0};
    p.elem = p.g.result == WICK_F32 ? 4 : 2;
    p.c_count = m && n ? (m - 1) * p.g.c_row + n : 0;
    const size_t count = (size_t)(p.g.bias == 1 ? n : m);
    p.wide_bias = memory(4 * count);
    p.bias = memory(p.elem * count);
    for (size_t i = 0; i < count; i++) p.wide_bias[i] = (float)test_rand_int(-64, 64) / 64;
    if (p.elem == 4) memcpy(p.bias, p.wide_bias, 4 * count);
    else store_of(dtype)(p.bias, p.wide_bias, count);
    return p;
}
static void product_free(product *p) {
    free(p->a.data), free(p->a.wide), free(p->b.data), free(p->b.wide);
    free(p->bias), free(p->wide_bias);
}

enum { IN_ORDER, BACKWARDS_ONE_BY_ONE, RANDOM_RANGES };

/* Prepares for the current tier and extensions; C as it came out. */
static uint8_t *product_run(product *p, int order) {
    wick_gemm *g = &p->g;
    wick_gemm_prepare(g, NULL);
    const size_t size = (size_t)p->c_count * p->elem;
    uint8_t *c = memory(size + 2 * GUARD);
    memset(c, FILL, size + 2 * GUARD);
    void *packed = aligned_alloc(64, WICK_ALIGN_UP(g->packed, 64) + 64),
         *scratch = aligned_alloc(64, WICK_ALIGN_UP(g->scratch, 64) + 64);
    if (!packed || !scratch) abort();
    memset((char *)packed + g->packed, FILL, 32);
    for (int stage = 0; stage < 2; stage++) {
        const int64_t tasks = stage ? g->tasks : g->tasks_pack;
        for (int64_t done = 0, step; done < tasks; done += step) {
            step = order == IN_ORDER               ? tasks
                   : order == BACKWARDS_ONE_BY_ONE ? 1
                                                   : test_rand_int(1, (int)(tasks - done));
            const int64_t begin = order == IN_ORDER ? 0 : tasks - done - step;
            memset(scratch, 0xFF, g->scratch); /* NaN: what is left in scratch must not matter */
            memset((char *)scratch + g->scratch, FILL, 32);
            if (stage)
                wick_gemm_run(g, begin, begin + step, p->a.data + p->a.origin, p->b.data + p->b.origin,
                              g->bias ? p->bias : NULL, c + GUARD, packed, scratch);
            else wick_gemm_pack(g, begin, begin + step, p->b.data + p->b.origin, packed);
            for (int i = 0; i < 32; i++)
                CHECK_MSG(((uint8_t *)scratch)[g->scratch + (size_t)i] == FILL, "%s wrote behind its scratch",
                          wick_gemm_name(g));
        }
    }
    for (int i = 0; i < GUARD; i++)
        CHECK_MSG(c[i] == FILL && c[GUARD + size + (size_t)i] == FILL, "%s wrote around C", wick_gemm_name(g));
    for (int i = 0; i < 32; i++)
        CHECK_MSG(((uint8_t *)packed)[g->packed + (size_t)i] == FILL, "%s wrote behind what it packs",
                  wick_gemm_name(g));
    free(packed), free(scratch);
    memmove(c, c + GUARD, size);
    return c;
}

static double result_at(const product *p, const uint8_t *c, int64_t i) {
    float x;
    if (p->elem == 4) memcpy(&x, c + 4 * i, 4);
    else load_of(p->g.narrow)(&x, c + 2 * i, 1);
    return (double)x;
}

/* |c - exact| <= (k + 4) u (|A||B| + |bias|) with u of f32, and what rounding to the result's dtype (twice with a bias)
 * adds. */
static void product_check(const product *p, const uint8_t *c) {
    const wick_gemm *g = &p->g;
    const double rounding = p->elem == 4 ? 0 : g->narrow == WICK_BF16 ? 0x1p-8 : 0x1p-11;
    for (int64_t i = 0; i < g->m; i++)
        for (int64_t j = 0; j < g->c_row && i * g->c_row + j < p->c_count; j++) {
            if (j >= g->n) {
                for (size_t b = 0; b < p->elem; b++)
                    CHECK_MSG(c[(size_t)(i * g->c_row + j) * p->elem + b] == FILL, "%s changed the gap between rows",
                              wick_gemm_name(g));
                continue;
            }
            double sum = 0, size = 0;
            for (int64_t q = 0; q < g->k; q++) {
                const double xy = (double)p->a.wide[p->a.origin + i * g->a_row + q * g->a_col] *
                                  (double)p->b.wide[p->b.origin + q * g->b_row + j * g->b_col];
                sum += xy;
                size += fabs(xy);
            }
            double places = fabs(sum);
            if (g->bias) {
                const double x = (double)p->wide_bias[g->bias == 1 ? j : i];
                sum += x;
                size += fabs(x);
                places += fabs(sum);
            }
            if (g->relu && sum < 0) sum = 0;
            const double got = result_at(p, c, i * g->c_row + j);
            CHECK_MSG(fabs(got - sum) <= ((double)g->k + 4) * 0x1p-23 * size + 1.01 * rounding * places + 0x1p-25,
                      "%s m %d n %d k %d strides %d,%d / %d,%d how %u bias %d relu %d keep %d: c[%d,%d] = %.9g, "
                      "expected %.9g",
                      wick_gemm_name(g), (int)g->m, (int)g->n, (int)g->k, (int)g->a_row, (int)g->a_col, (int)g->b_row,
                      (int)g->b_col, g->how, g->bias, g->relu, g->keep, (int)i, (int)j, got, sum);
        }
}

static wick_tier tier_saved;
/* Tiers, and of the best one with extensions and without. */
#define FOR_WAYS(t)                                                                                                    \
    tier_saved = wick_tier_current();                                                                                  \
    for (int t = 0; t <= WICK_TIER_COUNT || !(wick_extensions_mask(~0u), wick_tier_force(tier_saved)); t++)            \
        if (wick_extensions_mask(t == WICK_TIER_COUNT ? 0 : ~0u),                                                      \
            wick_tier_force((wick_tier)(t == WICK_TIER_COUNT ? WICK_TIER_COUNT - 1 : t)))

static void product_try(product *p) {
    uint8_t *first[2] = {NULL, NULL};
    const size_t size = (size_t)p->c_count * p->elem;
    FOR_WAYS(way) {
        uint8_t *c = product_run(p, IN_ORDER);
        product_check(p, c);
        for (int order = 1; order < 3; order++) {
            uint8_t *again = product_run(p, order);
            CHECK_MSG(!memcmp(c, again, size), "%s: order of tasks changes bits", wick_gemm_name(&p->g));
            free(again);
        }
        uint8_t **same = &first[way >= WICK_TIER_AVX2];
        if (!*same) {
            *same = c;
            continue;
        }
        CHECK_MSG(!memcmp(c, *same, size), "%s m %d n %d k %d result %d: bits differ from the way before",
                  wick_gemm_name(&p->g), (int)p->g.m, (int)p->g.n, (int)p->g.k, p->g.result);
        free(c);
        test_count("narrow products", 1);
    }
    free(first[0]), free(first[1]);
}

static const int odd_sizes[] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,   13,  14,  15, 16,
                                17, 31, 32, 33, 47, 48, 63, 64, 65, 127, 128, 130, 200};
static int random_size(void) {
    return test_rand() & 1 ? odd_sizes[test_rand_int(0, (int)WICK_COUNTOF(odd_sizes) - 1)] : test_rand_int(1, 80);
}
static int either(void) { return test_rand() & 1 ? WICK_BF16 : WICK_F16; }

TEST(random_shapes_and_layouts_match_the_wide_sum_in_every_way) {
    for (int i = 0; i < 400; i++) {
        product p = product_make(either(), random_size(), random_size(), random_size(), test_rand_int(0, LAYOUTS - 1),
                                 test_rand_int(0, LAYOUTS - 1));
        product_try(&p);
        product_free(&p);
    }
}

TEST(every_small_height_by_every_small_width) {
    for (int m = 1; m <= 16; m++)
        for (int n = 1; n <= 34; n++) {
            product p = product_make(WICK_BF16, m, n, test_rand_int(1, 9), test_rand_int(0, 1), test_rand_int(0, 1));
            product_try(&p);
            product_free(&p);
        }
}

TEST(sizes_that_take_several_blocks_and_tasks) {
    static const struct {
        int m, n, k, a, b;
    } shapes[] = {
        {29, 70, 2100, ROWS, COLUMNS},
        {64, 128, 784, ROWS, COLUMNS},
        {300, 33, 1200, COLUMNS, ROWS},
        {290, 40, 1031, ROWS, COLUMNS},
        {300, 600, 20, ROWS, ROWS},
        {1, 700, 1900, ROWS, COLUMNS},
        {130, 200, 100, STRIDED, PADDED_COLUMNS},
        {2, 300, 2050, ROWS, ROWS},
        {4, 700, 1100, ROWS, ROWS},
        {700, 1, 900, ROWS, ROWS},
        {6, 512, 1025, COLUMNS, COLUMNS},
        {30, 64, 2048, PADDED_ROWS, ROWS},
    };
    for (size_t i = 0; i < WICK_COUNTOF(shapes); i++)
        for (int half = 0; half < 2; half++) {
            product p = product_make(half ? WICK_F16 : WICK_BF16, shapes[i].m, shapes[i].n, shapes[i].k, shapes[i].a,
                                     shapes[i].b);
            product_try(&p);
            product_free(&p);
        }
}

/* In plans denormals are flushed; vdpbf16ps does so by itself. */
TEST(tiny_huge_and_special_numbers_have_the_same_bits_in_every_way) {
    static const uint16_t special[] = {0x0001, 0x8001, 0x007f, 0x0080, 0x8080, 0x0000, 0x8000,
                                       0x7f7f, 0xff7f, 0x1f80, 0x2000, 0x9fc0, 0x3f80};
    const uint64_t control = wick_fp_enter();
    for (int i = 0; i < 100; i++) {
        const int m = test_rand_int(1, 20), n = test_rand_int(1, 40), k = test_rand_int(1, 30);
        product p = product_make(WICK_BF16, m, n, k, ROWS, i & 1);
        for (int j = 0; j < m * k; j++) p.a.data[j] = special[test_rand_int(0, (int)WICK_COUNTOF(special) - 1)];
        for (int j = 0; j < k * n; j++) p.b.data[j] = special[test_rand_int(0, (int)WICK_COUNTOF(special) - 1)];
        uint8_t *first = NULL;
        FOR_WAYS(way) {
            if (way < WICK_TIER_AVX2) continue;
            uint8_t *c = product_run(&p, IN_ORDER);
            if (!first) {
                first = c;
                continue;
            }
            for (int64_t j = 0; j < p.c_count; j++) {
                if (j % p.g.c_row >= n) continue;
                const double x = result_at(&p, c, j), y = result_at(&p, first, j);
                CHECK_MSG(x == y || (isnan(x) && isnan(y)), "%s m %d n %d k %d: %a, but %a before",
                          wick_gemm_name(&p.g), m, n, k, x, y);
            }
            free(c);
        }
        free(first);
        product_free(&p);
    }
    wick_fp_restore(control);
}

TEST(nan_and_inf_reach_their_rows_and_columns_only) {
    for (int i = 0; i < 60; i++) {
        const int m = test_rand_int(1, 40), n = test_rand_int(1, 150), k = test_rand_int(1, 30),
                  row = test_rand_int(0, m - 1), col = test_rand_int(0, n - 1), in = test_rand_int(0, k - 1),
                  dtype = either();
        product p = product_make(dtype, m, n, k, test_rand_int(0, 1), test_rand_int(0, 1));
        if (i & 1) p.a.data[row * p.g.a_row + in * p.g.a_col] = 0x7fff;
        else p.b.data[in * p.g.b_row + col * p.g.b_col] = 0x7fff;
        FOR_WAYS(way) {
            uint8_t *c = product_run(&p, IN_ORDER);
            for (int y = 0; y < m; y++)
                for (int x = 0; x < n; x++)
                    CHECK_MSG(isnan(result_at(&p, c, y * p.g.c_row + x)) == (i & 1 ? y == row : x == col),
                              "%s m %d n %d k %d: [%d,%d]", wick_gemm_name(&p.g), m, n, k, y, x);
            free(c);
        }
        product_free(&p);
    }
}

TEST(zero_sizes_and_names) {
    FOR_WAYS(way) {
        for (int what = 0; what < 3; what++) {
            wick_gemm g = {.type = WICK_CF32,
                           .narrow = WICK_BF16,
                           .result = WICK_BF16,
                           .m = what == 0 ? 0 : 5,
                           .n = what == 1 ? 0 : 20,
                           .k = 4,
                           .a_row = 4,
                           .a_col = 1,
                           .b_row = 20,
                           .b_col = 1,
                           .c_row = 20};
            wick_gemm_prepare(&g, NULL);
            CHECK_INT(g.tasks > 0, what == 2);
            CHECK_INT(g.tasks_pack, 0);
            CHECK_STR_HAS(wick_gemm_name(&g), "gemm_bf16_nn");
        }
    }
}

int main(int argc, char **argv) { return test_main(argc, argv); }
