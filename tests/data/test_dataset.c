/* Data sets of the host's: what a maker may supply, what is checked before it is asked, arrays in memory. */
#include <limits.h>

#include "base/counting_alloc.h"
#include "context.h"
#include "test.h"
#include "wick/wick.h"

/* Sample i: i % 4 + 1 rows of 2 numbers 10 i, 10 i + 1, ..., and the class i % 3. Sample 7 cannot be read. */
typedef struct rows {
    int asked, freed;
} rows;
static int64_t rows_length(void *user, int64_t index, int field) { return (void)user, (void)field, index % 4 + 1; }
static int64_t rows_label(void *user, int64_t index) { return (void)user, index % 3; }
static const char *rows_name(void *user, int64_t label) {
    return (void)user, (const char *const[]){"red", "green", "blue"}[label];
}
static void rows_cache(void *user, uint64_t *hits, uint64_t *misses, size_t *bytes) {
    (void)user, *hits = 3, *misses = 4, *bytes = 5;
}
static void rows_free(void *user) { ((rows *)user)->freed++; }
static wick_status rows_get(void *user, int64_t index, void *const *out, wick_fault *fault) {
    ((rows *)user)->asked++;
    if (index == 7) return wick_fault_set(fault, WICK_ERR_FORMAT, "rows.bin: record %d at offset %d is damaged", 7, 70);
    for (int64_t k = 0; out[0] && k < 2 * rows_length(user, index, 0); k++)
        ((int32_t *)out[0])[k] = (int32_t)(10 * index + k);
    if (out[1]) *(int64_t *)out[1] = index % 3;
    return WICK_OK;
}
static wick_dataset_source rows_source(rows *r) {
    return (wick_dataset_source){.count = 9,
                                 .n_fields = 2,
                                 .fields = {{"rows", WICK_I32, 2, {-1, 2}}, {"label", WICK_I64, 0, {0}}},
                                 .get = rows_get,
                                 .length = rows_length,
                                 .label = rows_label,
                                 .classes = 3,
                                 .class_name = rows_name,
                                 .cache = rows_cache,
                                 .free = rows_free,
                                 .user = r};
}

TEST(a_set_of_callbacks_is_asked_with_checked_numbers) {
    wick_context *ctx = new_context(.threads = 1);
    rows r = {0};
    const wick_dataset_source s = rows_source(&r);
    wick_dataset *d;
    REQUIRE(ctx && wick_dataset_new(ctx, &s, &d) == WICK_OK);
    CHECK(wick_dataset_count(d) == 9 && wick_dataset_fields(d) == 2 && wick_dataset_classes(d) == 3);
    CHECK(strcmp(wick_dataset_field(d, 0)->name, "rows") == 0 && !wick_dataset_field(d, 2) &&
          !wick_dataset_field(d, -1));
    CHECK(wick_dataset_length(d, 5, 0) == 2 && wick_dataset_length(d, 5, 1) == -1 &&
          wick_dataset_length(d, 9, 0) == -1 && wick_dataset_length(d, 0, 2) == -1);
    CHECK(wick_dataset_bytes(d, 5, 0) == 16 && wick_dataset_bytes(d, 5, 1) == 8 &&
          wick_dataset_bytes(d, -1, 0) == SIZE_MAX);
    CHECK(wick_dataset_label(d, 8) == 2 && wick_dataset_label(d, 9) == -1 &&
          strcmp(wick_dataset_class_name(d, 1), "green") == 0 && strcmp(wick_dataset_class_name(d, 3), "?") == 0);
    CHECK(!wick_dataset_at(d, 0, 0) && !wick_dataset_sample(d, 0)); /* not in memory */
    int32_t x[8];
    int64_t y;
    wick_fault fault = {""};
    CHECK(wick_dataset_get(d, 5, (void *[]){x, &y}, &fault) == WICK_OK && x[0] == 50 && x[3] == 53 && y == 2);
    CHECK(wick_dataset_get(d, 4, (void *[]){NULL, &y}, NULL) == WICK_OK && y == 1);
    const int asked = r.asked;
    CHECK_INT(wick_dataset_get(d, 9, (void *[]){x, &y}, &fault), WICK_ERR_INDEX);
    CHECK_STR_HAS(fault.text, "sample 9 of 9");
    CHECK_INT(wick_dataset_get(d, -1, (void *[]){x, &y}, NULL), WICK_ERR_INDEX);
    CHECK_INT(wick_dataset_get(d, INT64_MAX, (void *[]){x, &y}, NULL), WICK_ERR_INDEX);
    CHECK_INT(r.asked, asked);
    CHECK_INT(wick_dataset_get(d, 7, (void *[]){x, &y}, &fault), WICK_ERR_FORMAT);
    CHECK_STR_HAS(fault.text, "offset 70");
    CHECK_INT(wick_dataset_get(d, 7, (void *[]){x, &y}, NULL), WICK_ERR_FORMAT);
    uint64_t hits, misses;
    size_t bytes;
    CHECK(wick_dataset_cache(d, &hits, &misses, &bytes) && hits == 3 && misses == 4 && bytes == 5);
    double m, v;
    CHECK_INT(wick_dataset_moments(ctx, d, &m, &v), WICK_ERR_DTYPE);
    /* limits go through the maker's numbers, also one after another */
    CHECK(wick_dataset_limit(ctx, d, 6) == WICK_OK && wick_dataset_count(d) == 6);
    int64_t kept[6];
    for (int i = 0; i < 6; i++) {
        x[0] = 70; /* what cannot be read is sample 7 */
        CHECK(wick_dataset_get(d, i, (void *[]){x, NULL}, NULL) == WICK_OK || i > 2);
        kept[i] = x[0] / 10;
    }
    CHECK(wick_dataset_limit(ctx, d, 3) == WICK_OK && wick_dataset_count(d) == 3);
    for (int i = 0; i < 3; i++) {
        if (wick_dataset_get(d, i, (void *[]){x, &y}, NULL) != WICK_OK) continue;
        CHECK(x[0] / 10 == kept[2 * i] || x[0] / 10 == kept[2 * i + 1]);
        CHECK(y == x[0] / 10 % 3 && wick_dataset_label(d, i) == y && wick_dataset_length(d, i, 0) == x[0] / 10 % 4 + 1);
    }
    wick_dataset_free(&d);
    CHECK(r.freed == 1 && !d);
    wick_dataset_free(&d);
    wick_context_free(&ctx);
}

TEST(sources_that_make_no_sense_are_refused_and_stay_the_callers) {
    wick_context *ctx = new_context(.threads = 1);
    rows r = {0};
    wick_dataset *d;
    static const struct {
        wick_dataset_source s; /* what is missing is as in `good` */
        const char *text;
    } bad[] = {
        {{.count = -1}, "a count"},
        {{.n_fields = -1}, "-1 fields"},
        {{.n_fields = 9}, "9 fields"},
        {{.fields = {{NULL, WICK_F32, 1, {2}}}}, "no name"},
        {{.n_fields = 2, .fields = {{"x", WICK_F32, 1, {1}}, {"x", WICK_F32, 1, {1}}}}, "two fields"},
        {{.fields = {{"x", WICK_I4, 1, {2}}}}, "i4"},
        {{.fields = {{"x", WICK_F32, 8, {1, 1, 1, 1, 1, 1, 1, 1}}}}, "8 dims"},
        {{.fields = {{"x", WICK_F32, 1, {-1}}}}, "no `length`"},
        {{.fields = {{"x", WICK_F32, 2, {2, -1}}}, .length = rows_length}, "dim 1 is -1"},
        {{.fields = {{"x", WICK_F32, 2, {INT64_C(1) << 40, INT64_C(1) << 40}}}}, "63 bits"},
        {{.fields = {{"x", WICK_F64, 1, {INT64_MAX / 4}}}}, "63 bits"},
        {{.classes = 3}, "no `label`"},
        {{.classes = -1}, "-1 classes"},
    };
    REQUIRE(ctx);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        wick_dataset_source t = bad[i].s;
        if (!t.n_fields) t.n_fields = 1;
        if (!t.fields[0].rank) t.fields[0] = (wick_spec){"x", WICK_F32, 1, {2}};
        t.get = rows_get, t.free = rows_free, t.user = &r;
        CHECK_MSG(wick_dataset_new(ctx, &t, &d) != WICK_OK && !d, "%s", bad[i].text);
        CHECK_STR_HAS(wick_context_error(ctx), bad[i].text);
    }
    CHECK_INT(wick_dataset_new(ctx, NULL, &d), WICK_ERR_INVALID);
    /* no get */
    CHECK_INT(wick_dataset_new(ctx, &(wick_dataset_source){.n_fields = 1, .fields = {{"x", WICK_F32, 1, {2}}}}, &d),
              WICK_ERR_INVALID);
    CHECK_INT(r.freed, 0);
    wick_context_free(&ctx);
}

TEST(arrays_are_a_set_without_a_copy) {
    wick_context *ctx = new_context(.threads = 1);
    static float x[5][3] = {{1, 2, 3}, {4, 5, 6}, {7, 8, 9}, {10, 11, 12}, {13, 14, 15}};
    static const uint8_t small[5] = {0, 1, 2, 1, 0};
    static const int64_t large[5] = {0, 1, 5, 1, 0};
    const wick_spec fields[] = {{"x", WICK_F32, 1, {3}}, {"y", WICK_U8, 0, {0}}, {"z", WICK_I64, 0, {0}}};
    const void *const data[] = {x, small, large};
    wick_dataset *d;
    REQUIRE(ctx && wick_dataset_of_arrays(ctx, 5, 3, fields, data, 1, 3, &d) == WICK_OK);
    float got[3];
    uint8_t y;
    CHECK(wick_dataset_get(d, 4, (void *[]){got, &y, NULL}, NULL) == WICK_OK && memcmp(got, x[4], sizeof got) == 0 &&
          y == 0);
    CHECK(wick_dataset_at(d, 2, 0) == (const void *)x[2] && wick_dataset_at(d, 5, 0) == NULL &&
          wick_dataset_at(d, 0, 3) == NULL);
    CHECK(wick_dataset_label(d, 2) == 2 && strcmp(wick_dataset_class_name(d, 2), "2") == 0);
    wick_dataset_free(&d);
    CHECK_INT(wick_dataset_of_arrays(ctx, 5, 3, fields, data, 2, 3, &d), WICK_ERR_INVALID);
    CHECK_STR_HAS(wick_context_error(ctx), "label of sample 2 is 5");
    CHECK_INT(wick_dataset_of_arrays(ctx, 5, 3, fields, data, 0, 3, &d), WICK_ERR_INVALID);
    CHECK_INT(wick_dataset_of_arrays(ctx, 5, 3, fields, data, -1, 3, &d), WICK_ERR_INVALID);
    CHECK_INT(wick_dataset_of_arrays(ctx, INT64_MAX, 3, fields, data, -1, 0, &d), WICK_ERR_INVALID);
    CHECK_INT(wick_dataset_of_arrays(ctx, 5, 1, &(wick_spec){"x", WICK_F32, 1, {-1}}, data, -1, 0, &d),
              WICK_ERR_INVALID);
    CHECK(!d);
    wick_context_free(&ctx);
}

TEST(moments_are_of_what_get_gives) {
    wick_context *ctx = new_context(.threads = 1);
    static const uint8_t pixels[4][2] = {{0, 255}, {10, 20}, {30, 40}, {7, 9}};
    wick_dataset *d;
    REQUIRE(ctx && wick_dataset_of_arrays(ctx, 4, 1, &(wick_spec){"x", WICK_U8, 1, {2}}, (const void *[]){pixels}, -1,
                                          0, &d) == WICK_OK);
    double mean, deviation, sum = 0, squares = 0;
    CHECK(wick_dataset_moments(ctx, d, &mean, &deviation) == WICK_OK);
    for (int i = 0; i < 8; i++) sum += pixels[i / 2][i % 2] / 255.0, squares += pow(pixels[i / 2][i % 2] / 255.0, 2);
    CHECK(fabs(mean - sum / 8) < 1e-14 && fabs(deviation - sqrt(squares / 8 - sum / 8 * (sum / 8))) < 1e-12);
    wick_dataset_free(&d);
    wick_context_free(&ctx);
}

TEST(running_out_of_memory_is_an_error) {
    counting memory = {.fail_at = -1};
    const wick_allocator allocator = counting_allocator(&memory);
    static const uint8_t x[6], y[6] = {0, 1, 2, 1, 0, 2};
    const wick_spec fields[] = {{"x", WICK_U8, 0, {0}}, {"y", WICK_U8, 0, {0}}};
    wick_context *ctx;
    wick_dataset *d;
    REQUIRE(wick_context_new(&(wick_context_options){.threads = 1, .allocator = &allocator}, &ctx) == WICK_OK);
    const int64_t live = memory.live;
    int failed = 0;
    for (int limit = 0; limit < 20; limit++) {
        memory.fail_at = memory.calls + limit;
        wick_status status = wick_dataset_of_arrays(ctx, 6, 2, fields, (const void *[]){x, y}, 1, 3, &d);
        if (status == WICK_OK) status = wick_dataset_limit(ctx, d, 4);
        memory.fail_at = -1;
        wick_dataset_free(&d);
        CHECK_INT(memory.live, live);
        if (status == WICK_OK) break;
        CHECK_INT(status, WICK_ERR_NOMEM);
        failed++;
    }
    CHECK_MSG(failed > 2 && failed < 20, "%d failed", failed);
    wick_context_free(&ctx);
    CHECK_INT(memory.live, 0);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
