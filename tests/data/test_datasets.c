/* Data sets made of others and of files: lists, sums, caches and products against what they are made of; folders,
 * archives and record files against each other; batches of them. */
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/counting_alloc.h"
#include "library.h"
#include "context.h"
#include "test.h"
#include "wick/wick.h"

/* ---- a set that counts: sample i is "x", i32 [2], {10 i, i}, "rows", u8 [-1], i % 4 bytes of i, and the
 * class i % 3 ---- */

typedef struct source {
    int64_t asked;
    int64_t bad; /* cannot be read */
    pthread_mutex_t lock;
} source;
static int64_t length(void *user, int64_t i, int field) { return (void)user, (void)field, i % 4; }
static int64_t label(void *user, int64_t i) { return (void)user, i % 3; }
static wick_status get(void *user, int64_t i, void *const *out, wick_fault *fault) {
    source *s = user;
    pthread_mutex_lock(&s->lock);
    s->asked++;
    pthread_mutex_unlock(&s->lock);
    if (i == s->bad) return wick_fault_set(fault, WICK_ERR_FORMAT, "sample %lld is damaged", (long long)i);
    if (out[0]) ((int32_t *)out[0])[0] = (int32_t)(10 * i), ((int32_t *)out[0])[1] = (int32_t)i;
    if (out[1]) memset(out[1], (int)i, (size_t)(i % 4));
    if (out[2]) *(int64_t *)out[2] = i % 3;
    return WICK_OK;
}
static wick_dataset *counting_set(wick_context *ctx, source *s, int64_t n) {
    wick_dataset *d = NULL;
    *s = (source){.bad = -1};
    pthread_mutex_init(&s->lock, NULL);
    const wick_dataset_source made = {
        .count = n,
        .n_fields = 3,
        .fields = {{"x", WICK_I32, 1, {2}}, {"rows", WICK_U8, 1, {-1}}, {"label", WICK_I64, 0, {0}}},
        .get = get,
        .length = length,
        .label = label,
        .classes = 3,
        .user = s};
    CHECK(wick_dataset_new(ctx, &made, &d) == WICK_OK);
    return d;
}
/* Which sample of the counting set sample i is; -1 where any of its parts says otherwise. */
static int64_t which(const wick_dataset *d, int64_t i) {
    int32_t x[2] = {-1, -1};
    uint8_t rows[4] = {0};
    int64_t y = -1;
    if (wick_dataset_get(d, i, (void *[]){x, rows, &y}, NULL) != WICK_OK) return -1;
    const int64_t k = x[1], n = wick_dataset_length(d, i, 1);
    bool good = x[0] == 10 * k && n == k % 4 && y == k % 3 && wick_dataset_label(d, i) == y &&
                wick_dataset_bytes(d, i, 1) == (size_t)n;
    for (int64_t j = 0; j < n; j++) good &= rows[j] == (uint8_t)k;
    return good ? k : -1;
}

TEST(subset_concat_repeat_and_filter_are_lists) {
    wick_context *ctx = new_context(.threads = 1);
    source s;
    wick_dataset *d = counting_set(ctx, &s, 10), *sub, *cat, *rep, *none;
    REQUIRE(d && wick_dataset_subset(ctx, d, 4, (int64_t[]){7, 0, 7, 3}, &sub) == WICK_OK);
    CHECK(wick_dataset_count(sub) == 4 && wick_dataset_classes(sub) == 3 &&
          strcmp(wick_dataset_class_name(sub, 1), "1") == 0);
    CHECK(which(sub, 0) == 7 && which(sub, 1) == 0 && which(sub, 2) == 7 && which(sub, 3) == 3 && which(sub, 4) == -1);
    REQUIRE(wick_dataset_concat(ctx, 3, (const wick_dataset *[]){sub, d, sub}, &cat) == WICK_OK);
    CHECK(wick_dataset_count(cat) == 18 && which(cat, 3) == 3 && which(cat, 4) == 0 && which(cat, 13) == 9 &&
          which(cat, 14) == 7);
    REQUIRE(wick_dataset_repeat(ctx, sub, 3, &rep) == WICK_OK && wick_dataset_count(rep) == 12);
    for (int64_t i = 0; i < 12; i++) CHECK_INT(which(rep, i), which(sub, i % 4));
    CHECK(wick_dataset_repeat(ctx, sub, 0, &none) == WICK_OK && wick_dataset_count(none) == 0);
    wick_dataset_free(&none);
    CHECK(wick_dataset_subset(ctx, d, 0, NULL, &none) == WICK_OK && wick_dataset_count(none) == 0 &&
          wick_dataset_get(none, 0, (void *[]){NULL, NULL, NULL}, NULL) == WICK_ERR_INDEX);
    wick_dataset_free(&none);
    CHECK_INT(wick_dataset_subset(ctx, d, 2, (int64_t[]){1, 10}, &none), WICK_ERR_INDEX);
    CHECK_STR_HAS(wick_context_error(ctx), "number 1 of a subset is 10");
    CHECK_INT(wick_dataset_repeat(ctx, d, -1, &none), WICK_ERR_INVALID);
    CHECK_INT(wick_dataset_repeat(ctx, d, INT64_MAX, &none), WICK_ERR_INVALID);
    CHECK(!none);
    wick_dataset_free(&rep);
    wick_dataset_free(&cat);
    wick_dataset_free(&sub);
    wick_dataset_free(&d);
    wick_context_free(&ctx);
}

static bool is_even(void *user, const wick_dataset *d, int64_t i, wick_status *status) {
    int64_t *calls = user;
    if (++*calls > 10) *status = WICK_ERR_CANCELLED;
    return which(d, i) % 2 == 0;
}
TEST(filter_asks_once_and_may_fail) {
    wick_context *ctx = new_context(.threads = 1);
    source s;
    wick_dataset *d = counting_set(ctx, &s, 10), *large = counting_set(ctx, &s, 11), *even;
    int64_t calls = 0;
    REQUIRE(wick_dataset_filter(ctx, d, is_even, &calls, &even) == WICK_OK);
    CHECK(calls == 10 && wick_dataset_count(even) == 5 && which(even, 4) == 8);
    wick_dataset_free(&even);
    calls = 0;
    CHECK(wick_dataset_filter(ctx, large, is_even, &calls, &even) == WICK_ERR_CANCELLED && !even);
    wick_dataset_free(&d);
    wick_dataset_free(&large);
    wick_context_free(&ctx);
}

TEST(split_is_stratified_disjoint_and_follows_the_seed) {
    wick_context *ctx = new_context(.threads = 1);
    source s;
    wick_dataset *d = counting_set(ctx, &s, 1000), *part[3], *again[3];
    const double shares[] = {0.7, 0.2, 0.1};
    REQUIRE(wick_dataset_split(ctx, d, 3, shares, 5, part) == WICK_OK &&
            wick_dataset_split(ctx, d, 3, shares, 5, again) == WICK_OK);
    int seen[1000] = {0};
    for (int k = 0; k < 3; k++) {
        int64_t classes[3] = {0}, last = -1;
        CHECK_INT(wick_dataset_count(part[k]), wick_dataset_count(again[k]));
        for (int64_t i = 0; i < wick_dataset_count(part[k]); i++) {
            const int64_t n = which(part[k], i);
            REQUIRE(n > last);
            CHECK_INT(which(again[k], i), n);
            seen[n]++;
            classes[n % 3]++;
            last = n;
        }
        for (int c = 0; c < 3; c++) CHECK(fabs((double)classes[c] - shares[k] * (c == 0 ? 334 : 333)) <= 1);
        wick_dataset_free(&again[k]);
    }
    for (int i = 0; i < 1000; i++) CHECK_INT(seen[i], 1);
    REQUIRE(wick_dataset_split(ctx, d, 1, (double[]){0.7}, 6, again) == WICK_OK);
    int64_t same = 0;
    for (int64_t i = 0; i < wick_dataset_count(again[0]); i++) same += which(again[0], i) == which(part[0], i);
    CHECK(same < wick_dataset_count(again[0]));
    wick_dataset_free(&again[0]);
    for (int k = 0; k < 3; k++) wick_dataset_free(&part[k]);
    CHECK_INT(wick_dataset_split(ctx, d, 2, (double[]){0.7, 0.4}, 5, part), WICK_ERR_INVALID);
    CHECK_INT(wick_dataset_split(ctx, d, 1, (double[]){-0.1}, 5, part), WICK_ERR_INVALID);
    CHECK_INT(wick_dataset_split(ctx, d, 1, (double[]){NAN}, 5, part), WICK_ERR_INVALID);
    wick_dataset_free(&d);
    wick_context_free(&ctx);
}

TEST(a_mixture_draws_by_weight_and_takes_each_set_in_turn) {
    wick_context *ctx = new_context(.threads = 1);
    source s, t;
    wick_dataset *a = counting_set(ctx, &s, 7), *b = counting_set(ctx, &t, 1000), *empty, *mix, *again;
    REQUIRE(wick_dataset_subset(ctx, a, 0, NULL, &empty) == WICK_OK);
    const wick_dataset *sets[] = {a, empty, b};
    REQUIRE(wick_dataset_mix(ctx, 3, sets, (double[]){1, 0, 3}, 4000, 9, &mix) == WICK_OK &&
            wick_dataset_mix(ctx, 3, sets, (double[]){1, 0, 3}, 4000, 9, &again) == WICK_OK);
    wick_dataset *offset;
    for (int64_t i = 0; i < 4000; i++) CHECK(which(mix, i) >= 0 && which(mix, i) == which(again, i));
    /* Beside a set of other numbers the parts can be told apart. */
    int64_t numbers[500];
    for (int64_t i = 0; i < 500; i++) numbers[i] = 500 + i;
    REQUIRE(wick_dataset_subset(ctx, b, 500, numbers, &offset) == WICK_OK);
    wick_dataset_free(&mix);
    REQUIRE(wick_dataset_mix(ctx, 2, (const wick_dataset *[]){a, offset}, (double[]){1, 3}, 4000, 9, &mix) == WICK_OK);
    int64_t turns[2] = {0};
    for (int64_t i = 0; i < 4000; i++) {
        const int64_t n = which(mix, i);
        const int k = n >= 500;
        CHECK_INT(n, k ? 500 + turns[1] % 500 : turns[0] % 7);
        turns[k]++;
    }
    /* 4.4 deviations of 27.4 */
    CHECK_MSG(turns[0] > 880 && turns[0] < 1120, "%lld of 4000 at a quarter", (long long)turns[0]);
    wick_dataset *none;
    CHECK_INT(wick_dataset_mix(ctx, 3, sets, (double[]){1, 1, 3}, 10, 9, &none), WICK_ERR_INVALID);
    CHECK_INT(wick_dataset_mix(ctx, 3, sets, (double[]){0, 0, 0}, 10, 9, &none), WICK_ERR_INVALID);
    CHECK_INT(wick_dataset_mix(ctx, 3, sets, (double[]){1, 0, NAN}, 10, 9, &none), WICK_ERR_INVALID);
    wick_dataset_free(&offset);
    wick_dataset_free(&mix);
    wick_dataset_free(&again);
    wick_dataset_free(&empty);
    wick_dataset_free(&a);
    wick_dataset_free(&b);
    wick_context_free(&ctx);
}

TEST(sets_that_do_not_fit_are_not_joined) {
    wick_context *ctx = new_context(.threads = 1);
    source s;
    wick_dataset *a = counting_set(ctx, &s, 4), *b, *out;
    const int32_t x[8] = {0};
    const uint8_t y[4] = {0, 1, 2, 0};
    const wick_spec fields[] = {{"x", WICK_I32, 1, {2}}, {"y", WICK_U8, 0, {0}}};
    REQUIRE(wick_dataset_of_arrays(ctx, 4, 2, fields, (const void *[]){x, y}, 1, 3, &b) == WICK_OK);
    CHECK_INT(wick_dataset_concat(ctx, 2, (const wick_dataset *[]){a, b}, &out), WICK_ERR_INVALID);
    CHECK_STR_HAS(wick_context_error(ctx), "set 1 has 2 fields");
    CHECK_INT(wick_dataset_zip(ctx, 2, (const wick_dataset *[]){a, b}, &out), WICK_ERR_INVALID);
    CHECK_STR_HAS(wick_context_error(ctx), "two fields are named \"x\"");
    CHECK_INT(wick_dataset_concat(ctx, 0, NULL, &out), WICK_ERR_INVALID);
    wick_dataset_free(&a);
    wick_dataset_free(&b);
    wick_context_free(&ctx);
}

TEST(zip_puts_fields_side_by_side) {
    wick_context *ctx = new_context(.threads = 1);
    source s;
    wick_dataset *a = counting_set(ctx, &s, 4), *b, *out, *other;
    const float z[12] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
    const int64_t w[4] = {9, 8, 7, 6};
    const wick_spec fields[] = {{"z", WICK_F32, 1, {3}}, {"w", WICK_I64, 0, {0}}};
    REQUIRE(wick_dataset_of_arrays(ctx, 4, 2, fields, (const void *[]){z, w}, -1, 0, &b) == WICK_OK);
    REQUIRE(wick_dataset_zip(ctx, 2, (const wick_dataset *[]){b, a}, &out) == WICK_OK);
    CHECK(wick_dataset_fields(out) == 5 && wick_dataset_classes(out) == 3 && wick_dataset_label(out, 2) == 2 &&
          wick_dataset_at(out, 1, 0) == z + 3 && !wick_dataset_at(out, 1, 2));
    float got[3];
    int64_t v, y;
    int32_t x[2];
    uint8_t rows[4];
    CHECK(wick_dataset_get(out, 3, (void *[]){got, &v, x, rows, &y}, NULL) == WICK_OK && got[2] == 11 && v == 6 &&
          x[0] == 30 && rows[2] == 3 && y == 0);
    CHECK(wick_dataset_length(out, 3, 3) == 3 && wick_dataset_length(out, 3, 0) == 3);
    REQUIRE(wick_dataset_subset(ctx, a, 1, (int64_t[]){0}, &other) == WICK_OK);
    wick_dataset *none;
    CHECK_INT(wick_dataset_zip(ctx, 2, (const wick_dataset *[]){b, other}, &none), WICK_ERR_INVALID);
    CHECK_STR_HAS(wick_context_error(ctx), "set 1 has 1 samples, set 0 has 4");
    wick_dataset_free(&other);
    wick_dataset_free(&out);
    wick_dataset_free(&a);
    wick_dataset_free(&b);
    wick_context_free(&ctx);
}

static wick_status twice(void *user, int64_t i, const void *const *in, const int64_t *lengths, void *const *out,
                         wick_fault *fault) {
    (void)user;
    if (i == 5) return wick_fault_set(fault, WICK_ERR_INVALID, "the fifth has no twin");
    if ((uintptr_t)in[0] % 64 || (uintptr_t)in[1] % 64) return wick_fault_set(fault, WICK_ERR_INTERNAL, "not aligned");
    const uint8_t *rows = in[1];
    if (out[0]) *(float *)out[0] = (float)((const int32_t *)in[0])[0] / 4;
    for (int64_t k = 0; out[1] && k < 2 * lengths[1]; k++) ((uint8_t *)out[1])[k] = rows[k / 2];
    return WICK_OK;
}
static int64_t twice_length(void *user, int64_t i, int field, int64_t was) {
    return (void)user, (void)field, (void)was, 2 * (i % 4);
}
TEST(map_makes_others_of_samples) {
    wick_context *ctx = new_context(.threads = 1);
    source s;
    wick_dataset *d = counting_set(ctx, &s, 9), *out, *none;
    REQUIRE(
        wick_dataset_map(ctx, d,
                         &(wick_dataset_mapping){.n_fields = 2,
                                                 .fields = {{"quarter", WICK_F32, 0, {0}}, {"pairs", WICK_U8, 1, {-1}}},
                                                 .map = twice,
                                                 .length = twice_length},
                         &out) == WICK_OK);
    float x;
    uint8_t pairs[8];
    wick_fault fault = {""};
    CHECK(wick_dataset_count(out) == 9 && wick_dataset_classes(out) == 3 && wick_dataset_label(out, 7) == 1 &&
          wick_dataset_length(out, 7, 1) == 6);
    CHECK(wick_dataset_get(out, 7, (void *[]){&x, pairs}, &fault) == WICK_OK && x == 17.5f && pairs[5] == 7);
    CHECK(wick_dataset_get(out, 8, (void *[]){&x, NULL}, &fault) == WICK_OK && x == 20);
    CHECK_INT(wick_dataset_get(out, 5, (void *[]){&x, pairs}, &fault), WICK_ERR_INVALID);
    CHECK_STR_HAS(fault.text, "the fifth");
    s.bad = 2;
    CHECK_INT(wick_dataset_get(out, 2, (void *[]){&x, pairs}, &fault), WICK_ERR_FORMAT);
    CHECK_STR_HAS(fault.text, "sample 2 is damaged");
    CHECK_INT(wick_dataset_map(ctx, d, &(wick_dataset_mapping){.n_fields = 1, .map = twice}, &none), WICK_ERR_INVALID);
    CHECK_INT(wick_dataset_map(ctx, d, NULL, &none), WICK_ERR_INVALID);
    wick_dataset_free(&out);
    wick_dataset_free(&d);
    wick_context_free(&ctx);
}

TEST(a_cache_keeps_what_was_asked_for_last_within_its_budget) {
    wick_context *ctx = new_context(.threads = 1);
    source s;
    wick_dataset *d = counting_set(ctx, &s, 100), *c;
    uint64_t hits, misses;
    size_t bytes, each;
    REQUIRE(wick_dataset_cached(ctx, d, 1 << 20, &c) == WICK_OK && which(c, 3) == 3);
    CHECK(wick_dataset_cache(c, &hits, &misses, &each) && hits == 0 && misses == 1 && each > 0);
    CHECK(which(c, 3) == 3 && s.asked == 1 && wick_dataset_cache(c, &hits, &misses, &bytes) && hits == 1 &&
          misses == 1 && bytes == each);
    wick_dataset_free(&c);
    /* Room for five: of 0 to 6 the last five stay, and those that are asked for again are the last. */
    REQUIRE(wick_dataset_cached(ctx, d, 5 * each, &c) == WICK_OK);
    for (int64_t i = 0; i < 5; i++) CHECK_INT(which(c, i), i);
    CHECK_INT(which(c, 0), 0);
    CHECK_INT(which(c, 5), 5); /* in the place of 1 */
    s.asked = 0;
    for (int64_t i = 2; i < 6; i++) CHECK_INT(which(c, i), i);
    CHECK(which(c, 0) == 0 && s.asked == 0);
    CHECK(which(c, 1) == 1 && s.asked == 1);
    wick_dataset_cache(c, &hits, &misses, &bytes);
    CHECK(bytes <= 5 * each && hits == 6 && misses == 7);
    s.bad = 50; /* what fails is not kept */
    CHECK(which(c, 50) == -1 && which(c, 50) == -1 && s.asked == 3);
    s.bad = -1;
    CHECK_INT(which(c, 50), 50);
    wick_dataset_free(&c);
    REQUIRE(wick_dataset_cached(ctx, d, 10, &c) == WICK_OK); /* no room for any */
    CHECK(which(c, 1) == 1 && which(c, 1) == 1 && wick_dataset_cache(c, &hits, &misses, &bytes) && hits == 0 &&
          bytes == 0);
    wick_dataset_free(&c);
    wick_dataset_free(&d);
    wick_context_free(&ctx);
}

static const wick_dataset *shared;
static void *ask(void *arg) {
    uint64_t state = (uintptr_t)arg;
    uintptr_t wrong = 0;
    for (int k = 0; k < 3000; k++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        const int64_t i = (int64_t)(state >> 33) % 100;
        wrong += which(shared, i) != i;
    }
    return (void *)wrong;
}
TEST(threads_share_a_cache) {
    enum { THREADS = 4 };
    wick_context *ctx = new_context(.threads = 1);
    source s;
    wick_dataset *d = counting_set(ctx, &s, 100), *c;
    REQUIRE(wick_dataset_cached(ctx, d, 40 * 384, &c) == WICK_OK);
    shared = c;
    pthread_t threads[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++) REQUIRE(pthread_create(&threads[i], NULL, ask, (void *)(i + 1)) == 0);
    for (int i = 0; i < THREADS; i++) {
        void *wrong;
        pthread_join(threads[i], &wrong);
        CHECK(!wrong);
    }
    uint64_t hits, misses;
    size_t bytes;
    wick_dataset_cache(c, &hits, &misses, &bytes);
    CHECK(hits + misses == 4 * 3000 && hits > 1000 && bytes <= 40 * 384 && (int64_t)misses == s.asked);
    wick_dataset_free(&c);
    wick_dataset_free(&d);
    wick_context_free(&ctx);
}

/* ---- of files ---------------------------------------------------------------------------------------------------- */

static char folder[64];
static void run(const char *command) {
    char line[2048];
    snprintf(line, sizeof line, "cd %s && G=%s/tests/golden && %s", folder, WICK_SOURCE_DIR, command);
    CHECK_MSG(system(line) == 0, "%s", line);
}
static bool begin(void) {
    /* mkdtemp(3) writes a name of its own over the last six letters */
    snprintf(folder, sizeof folder, "%s/wick-datasets-XXXXXX", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    return mkdtemp(folder) != NULL;
}
static void end(void) {
    char line[128];
    snprintf(line, sizeof line, "rm -rf %s", folder);
    if (system(line)) CHECK(false);
}
static const char *in_folder(const char *name) {
    static char path[4][256];
    static int turn;
    char *p = path[turn++ % 4];
    snprintf(p, 256, "%s/%s", folder, name);
    return p;
}
static void pack(wick_context *ctx, const char *from, const char *to, wick_compression c) {
    wick_files *f = NULL;
    CHECK_MSG(wick_files_open(ctx, from, NULL, &f) == WICK_OK &&
                  wick_files_pack(f, to, &(wick_pack_options){.write = {.compression = c}}, NULL) == WICK_OK,
              "%s", wick_context_error(ctx));
    wick_files_free(&f);
}
/* All bytes and labels of two sets. */
static void check_same(const wick_dataset *a, const wick_dataset *b) {
    REQUIRE(wick_dataset_count(a) == wick_dataset_count(b) && wick_dataset_classes(a) == wick_dataset_classes(b) &&
            wick_dataset_count(a) > 0);
    for (int64_t k = 0; k < wick_dataset_classes(a); k++)
        CHECK(strcmp(wick_dataset_class_name(a, k), wick_dataset_class_name(b, k)) == 0);
    for (int64_t i = 0; i < wick_dataset_count(a); i++) {
        const size_t n = wick_dataset_bytes(a, i, 0);
        uint8_t *x = malloc(n + 1), *y = malloc(n + 1);
        wick_fault fault = {""};
        CHECK_INT(wick_dataset_bytes(b, i, 0), n);
        CHECK_MSG(wick_dataset_get(a, i, (void *[WICK_DATASET_FIELDS]){x}, &fault) == WICK_OK &&
                      wick_dataset_get(b, i, (void *[WICK_DATASET_FIELDS]){y}, &fault) == WICK_OK,
                  "%s", fault.text);
        CHECK(memcmp(x, y, n) == 0 && wick_dataset_label(a, i) == wick_dataset_label(b, i));
        free(x);
        free(y);
    }
}

TEST(pictures_are_the_same_from_folders_archives_and_record_files) {
    wick_context *ctx = new_context(.threads = 1);
    wick_dataset *set, *other;
    REQUIRE(ctx && begin());
    run("mkdir -p train/cat train/dog test/cat test/dog && cp $G/images/rgb8.png train/cat/1.png && cp "
        "$G/images/rgba8.png train/cat/2.png && cp $G/images/interlaced.png train/dog/3.png && "
        "cp train/cat/1.png test/dog/4.png && tar -cf train.tar train/cat/1.png train/cat/2.png train/dog/3.png && "
        "gzip -k train.tar");
    wick_image *image;
    if (wick_image_open(ctx, in_folder("train/cat/1.png"), 3, &image) != WICK_OK) {
        end();
        wick_context_free(&ctx);
        SKIP("no libspng");
    }
    const wick_status status = wick_dataset_of_files(ctx, in_folder("train"), NULL, &set);
    if (status == WICK_ERR_FORMAT) { /* they need not be of one size */
        run("cp train/cat/1.png train/cat/2.png && cp train/cat/1.png train/dog/3.png && tar -cf train.tar "
            "train/cat/1.png train/cat/2.png train/dog/3.png");
    }
    CHECK_MSG(status == WICK_OK, "%s", wick_context_error(ctx));
    if (status == WICK_OK) {
        const int64_t *dims = wick_dataset_dims(set);
        CHECK(wick_dataset_count(set) == 3 && wick_dataset_classes(set) == 2 && dims[0] == 3 &&
              dims[1] == wick_image_dims(image)[1] && dims[2] == wick_image_dims(image)[2]);
        uint8_t *x = malloc(wick_dataset_bytes(set, 0, 0));
        int64_t y;
        wick_fault fault = {""};
        CHECK(wick_dataset_get(set, 0, (void *[]){x, &y}, NULL) == WICK_OK &&
              memcmp(x, wick_image_pixels(image, 0), wick_dataset_bytes(set, 0, 0)) == 0 && y == 0);
        for (int64_t i = 0; i < 3; i++) { /* those of another size are named */
            const wick_status one = wick_dataset_get(set, i, (void *[]){x, &y}, &fault);
            CHECK(one == WICK_OK || strstr(fault.text, "the first one is"));
        }
        free(x);
    }
    run("cp train/cat/1.png train/cat/2.png && cp train/cat/1.png train/dog/3.png && tar -cf train.tar train/cat/1.png "
        "train/cat/2.png train/dog/3.png");
    wick_dataset_free(&set);
    REQUIRE(wick_dataset_of_files(ctx, in_folder("train"), NULL, &set) == WICK_OK);
    REQUIRE(wick_dataset_of_files(ctx, in_folder("train.tar"), NULL, &other) == WICK_OK);
    check_same(set, other);
    wick_dataset_free(&other);
    for (int c = WICK_STORED; c <= WICK_ZSTD; c += 2)
        for (int copy = 0; copy < 2; copy++) {
            pack(ctx, in_folder("train"), in_folder("made.wrec"), (wick_compression)c);
            CHECK_MSG(wick_dataset_of_files(ctx, in_folder("made.wrec"), &(wick_files_options){.copy = copy}, &other) ==
                          WICK_OK,
                      "%s", wick_context_error(ctx));
            if (other) check_same(set, other);
            wick_dataset_free(&other);
        }
    /* What wick train takes: SPLIT.wrec, decoded; the same as the folders without it. */
    wick_dataset *plain, *packed;
    REQUIRE(wick_dataset_open(ctx, folder, "test", &plain) == WICK_OK);
    pack(ctx, in_folder("test"), in_folder("test.wrec"), WICK_STORED);
    REQUIRE(wick_dataset_open(ctx, folder, "test", &packed) == WICK_OK);
    CHECK(wick_dataset_sample(packed, 0) != NULL && wick_dataset_count(packed) == 1 &&
          wick_dataset_bytes(packed, 0, 0) == wick_dataset_bytes(plain, 0, 0) &&
          memcmp(wick_dataset_sample(packed, 0), wick_dataset_sample(plain, 0), wick_dataset_bytes(plain, 0, 0)) == 0);
    wick_dataset_free(&plain);
    wick_dataset_free(&packed);
    wick_dataset_free(&set);
    wick_image_free(&image);
    wick_context_free(&ctx);
    end();
}

TEST(recordings_are_as_long_as_they_are_and_batches_pad_them) {
    wick_context *ctx = new_context(.threads = 1);
    wick_dataset *set, *packed;
    REQUIRE(ctx && begin());
    run("mkdir -p a b && cp $G/audio/pcm_16_1.wav a/ && cp $G/audio/float_2.wav b/ && cp $G/audio/pcm_u8_1.wav b/");
    REQUIRE(wick_dataset_of_files(ctx, folder, NULL, &set) == WICK_OK);
    CHECK(wick_dataset_count(set) == 3 && wick_dataset_classes(set) == 2 &&
          wick_dataset_field(set, 0)->dtype == WICK_F32 && wick_dataset_field(set, 0)->dims[0] == -1);
    const char *const files[] = {"a/pcm_16_1.wav", "b/float_2.wav", "b/pcm_u8_1.wav"};
    for (int64_t i = 0; i < 3; i++) {
        wick_audio *audio;
        REQUIRE(wick_audio_open(ctx, in_folder(files[i]), 1, &audio) == WICK_OK);
        CHECK_INT(wick_dataset_length(set, i, 0), wick_audio_length(audio));
        float *x = malloc(wick_dataset_bytes(set, i, 0));
        CHECK(wick_dataset_get(set, i, (void *[]){x, NULL}, NULL) == WICK_OK &&
              memcmp(x, wick_audio_samples(audio, 0), wick_dataset_bytes(set, i, 0)) == 0);
        free(x);
        wick_audio_free(&audio);
    }
    pack(ctx, folder, in_folder("c.wrec"), WICK_STORED);
    REQUIRE(wick_dataset_of_files(ctx, in_folder("c.wrec"), NULL, &packed) == WICK_OK);
    check_same(set, packed);
    wick_loader *loader;
    wick_batch batch;
    REQUIRE(wick_loader_new(ctx, packed, &(wick_loader_options){.batch = 3, .workers = 2}, &loader) == WICK_OK);
    CHECK(wick_loader_take(loader, &batch) == WICK_OK && batch.count == 3 &&
          batch.lengths[0][1] == wick_dataset_length(set, 1, 0));
    wick_loader_free(&loader);
    wick_dataset_free(&packed);
    wick_dataset_free(&set);
    wick_context_free(&ctx);
    end();
}

TEST(damaged_files_are_named_by_whoever_asks_for_them) {
    wick_context *ctx = new_context(.threads = 1);
    wick_dataset *set;
    wick_fault fault = {""};
    REQUIRE(ctx && begin());
    run("mkdir -p a && for i in 1 2 3; do head -c 1000 /dev/zero | tr '\\0' $i >a/$i.bin; done");
    wick_files *f = NULL;
    REQUIRE(wick_files_open(ctx, folder, &(wick_files_options){.all = true}, &f) == WICK_OK &&
            wick_files_pack(f, in_folder("x.wrec"), NULL, NULL) == WICK_OK);
    wick_files_free(&f);
    REQUIRE(wick_dataset_of_files(ctx, in_folder("x.wrec"), NULL, &set) == WICK_OK);
    CHECK(wick_dataset_count(set) == 3 && strcmp(wick_dataset_field(set, 0)->name, "bytes") == 0 &&
          wick_dataset_length(set, 1, 0) == 1000);
    run("printf '\\377' | dd of=x.wrec bs=1 seek=1500 conv=notrunc 2>/dev/null");
    uint8_t x[1000];
    int damaged = 0;
    for (int64_t i = 0; i < 3; i++) {
        const wick_status status = wick_dataset_get(set, i, (void *[]){x, NULL}, &fault);
        damaged += status == WICK_ERR_FORMAT && strstr(fault.text, "x.wrec: record ") && strstr(fault.text, "checksum");
        CHECK(status == WICK_OK ? x[999] == '1' + i : damaged == 1);
    }
    CHECK_INT(damaged, 1);
    /* A loader passes it over, where it is told to. */
    wick_loader *loader;
    wick_batch batch;
    REQUIRE(wick_loader_new(ctx, set, &(wick_loader_options){.batch = 3, .raw = true, .on_fault = WICK_FAULT_SKIP},
                            &loader) == WICK_OK);
    CHECK(wick_loader_take(loader, &batch) == WICK_OK && batch.count == 2);
    wick_loader_free(&loader);
    wick_dataset_free(&set);
    CHECK_INT(wick_dataset_of_files(ctx, in_folder("nowhere"), NULL, &set), WICK_ERR_IO);
    run("rm -rf a x.wrec");
    CHECK_INT(wick_dataset_of_files(ctx, folder, NULL, &set), WICK_ERR_FORMAT);
    wick_context_free(&ctx);
    end();
}

TEST(tensors_are_columns_without_a_copy) {
    wick_context *ctx = new_context(.threads = 1);
    wick_dataset *set, *none;
    const float x[6] = {1, 2, 3, 4, 5, 6};
    const uint8_t y[3] = {2, 0, 1};
    wick_scope *scope = wick_scope_open(ctx);
    wick_tensor *tx = wick_from(ctx, WICK_F32, 2, (int64_t[]){3, 2}, x),
                *ty = wick_from(ctx, WICK_U8, 1, (int64_t[]){3}, y),
                *tz = wick_from(ctx, WICK_F32, 1, (int64_t[]){2}, x);
    REQUIRE(wick_dataset_of_tensors(ctx, 2, (const char *const[]){"x", "y"},
                                    (wick_tensor *const[]){wick_mul(tx, tx), ty}, 1, 3, &set) == WICK_OK);
    CHECK_INT(
        wick_dataset_of_tensors(ctx, 2, (const char *const[]){"x", "z"}, (wick_tensor *const[]){tx, tz}, -1, 0, &none),
        WICK_ERR_SHAPE);
    CHECK_INT(
        wick_dataset_of_tensors(ctx, 2, (const char *const[]){"x", "y"}, (wick_tensor *const[]){tx, ty}, 1, 2, &none),
        WICK_ERR_INVALID);
    CHECK_STR_HAS(wick_context_error(ctx), "row 0 of \"y\" is 2, of 2 classes");
    CHECK_INT(
        wick_dataset_of_tensors(ctx, 2, (const char *const[]){"x", "y"}, (wick_tensor *const[]){tx, ty}, 0, 3, &none),
        WICK_ERR_DTYPE);
    wick_scope_close(&scope); /* the columns stay */
    float row[2];
    int64_t label_of = -1;
    CHECK(wick_dataset_get(set, 1, (void *[]){row, &label_of}, NULL) == WICK_OK && row[0] == 9 && row[1] == 16 &&
          label_of == 0);
    CHECK(wick_dataset_label(set, 0) == 2 && ((const float *)wick_dataset_at(set, 2, 0))[1] == 36 &&
          wick_dataset_at(set, 2, 0) == (const float *)wick_dataset_at(set, 0, 0) + 4);
    wick_dataset_free(&set);
    wick_context_free(&ctx);
}

/* The grey mean of the pixels that each stands for is about what a JPEG scaled while it is decoded has: its cosines are
 * those of the low frequencies. Its colours, which may be stored coarser, are further off. */
TEST(jpegs_are_decoded_at_a_fraction_of_their_size) {
    static const char *const names[] = {"color420.jpg", "color444.jpg", "grey.jpg", "progressive.jpg"};
    wick_context *ctx = new_context(.threads = 1);
    REQUIRE(ctx && begin());
    for (int f = 0; f < 4; f++) {
        char line[256];
        wick_dataset *set;
        wick_image *whole = NULL;
        snprintf(line, sizeof line, "rm -rf one && mkdir one && cp $G/images/%s one", names[f]);
        run(line);
        char path[96];
        snprintf(path, sizeof path, "one/%s", names[f]);
        const wick_status status = wick_image_open(ctx, in_folder(path), 3, &whole);
        if (status == WICK_ERR_UNSUPPORTED) SKIP("no libjpeg-turbo");
        REQUIRE(whole && wick_image_dims(whole)[1] == 37 && wick_image_dims(whole)[2] == 50);
        const uint8_t *from = wick_image_pixels(whole, 0);
        for (int64_t least = 0; least < 60; least++) {
            const int64_t eighths = least == 0 || least > 19 ? 8
                                    : least <= 5             ? 1
                                    : least <= 10            ? 2
                                                             : 4,
                          h = (37 * eighths + 7) / 8, w = (50 * eighths + 7) / 8;
            REQUIRE(wick_dataset_of_files(ctx, in_folder("one"), &(wick_files_options){.least = least}, &set) ==
                    WICK_OK);
            const wick_spec *spec = wick_dataset_field(set, 0);
            CHECK_MSG(spec->dims[1] == h && spec->dims[2] == w, "at least %lld: %lld x %lld", (long long)least,
                      (long long)spec->dims[1], (long long)spec->dims[2]);
            uint8_t x[3 * 37 * 50];
            REQUIRE(wick_dataset_bytes(set, 0, 0) <= sizeof x &&
                    wick_dataset_get(set, 0, (void *[]){x}, NULL) == WICK_OK);
            double sum = 0;
            int64_t n = 0;
            for (int64_t k = 0; k < h * w; k++) {
                static const double parts[3] = {0.299, 0.587, 0.114}; /* of the brightness */
                const int64_t step = 8 / eighths, top = k / w * step, left = k % w * step;
                double off = 0;
                if (top + step > 37 || left + step > 50) continue; /* what lies beyond the edge is the encoder's */
                for (int64_t c = 0; c < 3; c++) {
                    off -= parts[c] * x[c * h * w + k];
                    for (int64_t p = 0; p < step * step; p++)
                        off +=
                            parts[c] * from[(c * 37 + top + p / step) * 50 + left + p % step] / (double)(step * step);
                }
                sum += fabs(off), n++;
            }
            CHECK_MSG(eighths == 8 ? sum < 1e-9 : sum / (double)n < 1.5, "%s at %lld eighths: %g levels off", names[f],
                      (long long)eighths, sum / (double)n);
            wick_dataset_free(&set);
            test_count("JPEGs decoded at a fraction of their size", 1);
        }
        wick_image_free(&whole);
    }
    wick_context_free(&ctx);
    end();
}

/* n samples of PCM, 16 bits, one channel. */
static void write_wav(const char *name, uint32_t rate, uint32_t n) {
    const uint32_t head[] = {0x46464952, 36 + 2 * n, 0x45564157,   0x20746d66, 16,   1 | 1 << 16,
                             rate,       2 * rate,   2 | 16 << 16, 0x61746164, 2 * n};
    FILE *f = fopen(in_folder(name), "wb");
    REQUIRE(f && fwrite(head, sizeof head, 1, f) == 1);
    for (uint32_t i = 0; i < n; i++) {
        const int16_t x = (int16_t)(20000 * sin(i * 440 * 6.283185307 / rate) + (double)(i % 7));
        CHECK(fwrite(&x, 2, 1, f) == 1);
    }
    CHECK(fclose(f) == 0);
}
TEST(recordings_of_several_rates_become_of_one) {
    static const struct {
        const char *name;
        uint32_t rate, n;
    } made[] = {{"set/a/0.wav", 8000, 900},
                {"set/a/1.wav", 16000, 1801},
                {"set/b/2.wav", 44100, 4000},
                {"set/b/3.wav", 7919, 1000},
                {"set/b/4.wav", 8000, 1}};
    wick_context *ctx = new_context(.threads = 1);
    REQUIRE(ctx && begin());
    run("mkdir -p set/a set/b");
    for (int i = 0; i < 5; i++) write_wav(made[i].name, made[i].rate, made[i].n);
    run("tar -cf set.tar set/a/0.wav set/a/1.wav set/b/2.wav set/b/3.wav set/b/4.wav");
    pack(ctx, in_folder("set"), in_folder("set.wrec"), WICK_STORED);
    static const char *const forms[] = {"set", "set.tar", "set.wrec"};
    static const int64_t rates[] = {8000, 16000, 11025};
    for (int form = 0; form < 3; form++) {
        wick_dataset *set;
        wick_fault fault;
        REQUIRE(wick_dataset_of_files(ctx, in_folder(forms[form]), NULL, &set) == WICK_OK);
        CHECK(wick_dataset_rate(set) == 0 && wick_dataset_length(set, 2, 0) == 4000);
        wick_dataset_free(&set);
        for (int r = 0; r < 3; r++) {
            CHECK_MSG(wick_dataset_of_files(ctx, in_folder(forms[form]), &(wick_files_options){.rate = rates[r]},
                                            &set) == WICK_OK,
                      "%s", wick_context_error(ctx));
            REQUIRE(set && wick_dataset_rate(set) == rates[r] && wick_dataset_count(set) == 5);
            for (int64_t i = 0; i < 5; i++) {
                wick_audio *audio, *want;
                REQUIRE(wick_audio_open(ctx, in_folder(made[i].name), 1, &audio) == WICK_OK &&
                        wick_audio_resample(ctx, audio, rates[r], &want) == WICK_OK);
                const int64_t n = wick_dataset_length(set, i, 0);
                float *x = malloc((size_t)n * sizeof *x);
                int64_t y = -1;
                CHECK_MSG(wick_dataset_get(set, i, (void *[]){x, &y}, &fault) == WICK_OK, "%s", fault.text);
                CHECK(n == wick_audio_length(want) && y == (i > 1) &&
                      memcmp(x, wick_audio_samples(want, 0), (size_t)n * sizeof *x) == 0);
                test_count("recordings of a set at another rate", 1);
                free(x);
                wick_audio_free(&audio), wick_audio_free(&want);
            }
            wick_dataset_free(&set);
        }
        CHECK_INT(wick_dataset_of_files(ctx, in_folder(forms[form]), &(wick_files_options){.rate = 999}, &set),
                  WICK_ERR_INVALID);
    }
    /* One that is another file by the time it is asked for. */
    wick_dataset *set;
    wick_fault fault;
    static float x[8000];
    REQUIRE(wick_dataset_of_files(ctx, in_folder("set"), &(wick_files_options){.rate = 16000}, &set) == WICK_OK);
    write_wav(made[1].name, 12000, 1801);
    int64_t y;
    CHECK_INT(wick_dataset_get(set, 1, (void *[]){x, &y}, &fault), WICK_ERR_IO);
    CHECK_STR_HAS(fault.text, "1.wav: has 1801 samples, 12000 a second: it was changed");
    wick_dataset_free(&set);
    write_wav(made[1].name, 500, 20);
    CHECK_INT(wick_dataset_of_files(ctx, in_folder("set"), &(wick_files_options){.rate = 16000}, &set),
              WICK_ERR_UNSUPPORTED);
    CHECK_STR_HAS(wick_context_error(ctx), "1.wav: has 500 samples a second");
    for (int i = 0; i < 17; i++) { /* more rates than are kept ready */
        char name[32];
        snprintf(name, sizeof name, "set/a/%d.wav", 10 + i);
        write_wav(name, (uint32_t)(8000 + i), 50);
    }
    write_wav(made[1].name, 8000, 20);
    CHECK_INT(wick_dataset_of_files(ctx, in_folder("set"), &(wick_files_options){.rate = 16000}, &set),
              WICK_ERR_UNSUPPORTED);
    CHECK_STR_HAS(wick_context_error(ctx), "16 other rates");
    wick_context_free(&ctx);
    end();
}

/* Python's tarfile makes the shards. */
static bool make_shards(const char *ends) {
    static const char program[] =
        "import io, struct, sys, tarfile, wave\n"
        "folder, ends = sys.argv[1], sys.argv[2].split(',')\n"
        "def content(end, i):\n"
        "    if end == 'cls': return b' %d\\n' % (i % 3)\n"
        "    if end == 'json': return b'{\"i\": %d}' % i * (i % 3)\n"
        "    if end == 'wav':\n"
        "        b = io.BytesIO(); w = wave.open(b, 'wb'); w.setnchannels(1); w.setsampwidth(2); w.setframerate(8000)\n"
        "        w.writeframes(struct.pack('<%dh' % (i + 1), *range(i + 1))); w.close(); return b.getvalue()\n"
        "    return open(sys.argv[3] + '/tests/golden/images/rgb8.png', 'rb').read()\n"
        "n = 0\n"
        "for name, mode in ('0.tar', 'w'), ('1.tar.gz', 'w:gz'):\n"
        "    with tarfile.open(folder + '/' + name, mode) as t:\n"
        "        for _ in range(4):\n"
        "            for end in ends:\n"
        "                data = content(end, n); info = tarfile.TarInfo('a/sample%03d.%s' % (n, end)); info.size = "
        "len(data); t.addfile(info, io.BytesIO(data))\n"
        "            info = tarfile.TarInfo('a/sample%03d.extra' % n); n += 1\n"
        "            if n > 1: t.addfile(info, io.BytesIO())\n";
    char path[256], line[1024];
    snprintf(path, sizeof path, "%s/make.py", folder);
    FILE *f = fopen(path, "w");
    if (!f || fwrite(program, 1, sizeof program - 1, f) != sizeof program - 1 || fclose(f) != 0) return false;
    snprintf(line, sizeof line, "python3 %s %s %s %s", path, folder, ends, WICK_SOURCE_DIR);
    return system(line) == 0;
}
TEST(shards_of_pythons_tarfile_are_samples) {
    wick_context *ctx = new_context(.threads = 1);
    wick_dataset *set;
    wick_fault fault = {""};
    if (system("python3 -c 0 2>/dev/null")) SKIP("no python3");
    NEEDS_ZLIB;
    REQUIRE(ctx && begin() && make_shards("cls,json,wav"));
    const char *paths[] = {in_folder("0.tar"), in_folder("1.tar.gz")};
    CHECK_MSG(wick_dataset_of_shards(ctx, 2, paths, &set) == WICK_OK, "%s", wick_context_error(ctx));
    REQUIRE(set);
    CHECK(wick_dataset_count(set) == 8 && wick_dataset_fields(set) == 3 && wick_dataset_classes(set) == 3);
    CHECK(!strcmp(wick_dataset_field(set, 0)->name, "wav") && !strcmp(wick_dataset_field(set, 1)->name, "json") &&
          !strcmp(wick_dataset_field(set, 2)->name, "label"));
    for (int64_t i = 0; i < 8; i++) {
        float x[8];
        char text[64] = "", want[64] = "";
        int64_t y = -1;
        for (int k = 0; k < i % 3; k++) sprintf(want + strlen(want), "{\"i\": %d}", (int)i);
        CHECK(wick_dataset_length(set, i, 0) == i + 1 && wick_dataset_length(set, i, 1) == (int64_t)strlen(want));
        CHECK_MSG(wick_dataset_get(set, i, (void *[]){x, text, &y}, &fault) == WICK_OK, "%s", fault.text);
        CHECK(y == i % 3 && wick_dataset_label(set, i) == y && strcmp(text, want) == 0);
        for (int k = 0; k <= i; k++) CHECK(x[k] == (float)k / 32768);
    }
    wick_dataset_free(&set);
    /* What is missing, twice there or no class is named. */
    run("mkdir s && printf 1 >s/a.cls && printf x >s/a.txt && printf 2 >s/b.cls && tar -cf bad.tar s/a.cls s/a.txt "
        "s/b.cls");
    CHECK_INT(wick_dataset_of_shards(ctx, 1, (const char *[]){in_folder("bad.tar")}, &set), WICK_ERR_FORMAT);
    CHECK_STR_HAS(wick_context_error(ctx), "bad.tar: s/b: has no .txt, which the first sample has");
    run("tar -cf bad.tar s/a.cls s/a.txt && tar -rf bad.tar s/a.cls");
    CHECK_INT(wick_dataset_of_shards(ctx, 1, (const char *[]){in_folder("bad.tar")}, &set), WICK_ERR_FORMAT);
    CHECK_STR_HAS(wick_context_error(ctx), "twice");
    run("printf -- -1 >s/a.cls && tar -cf bad.tar s/a.cls s/a.txt");
    CHECK_INT(wick_dataset_of_shards(ctx, 1, (const char *[]){in_folder("bad.tar")}, &set), WICK_ERR_FORMAT);
    CHECK_STR_HAS(wick_context_error(ctx), "no number of a class");
    run("head -c 700 0.tar >bad.tar");
    CHECK_INT(wick_dataset_of_shards(ctx, 1, (const char *[]){in_folder("bad.tar")}, &set), WICK_ERR_FORMAT);
    CHECK(!set);
    /* Pictures, where there is a library for them. */
    REQUIRE(make_shards("cls,png"));
    paths[0] = in_folder("0.tar"), paths[1] = in_folder("1.tar.gz");
    const wick_status status = wick_dataset_of_shards(ctx, 2, paths, &set);
    CHECK_MSG(status == WICK_OK || status == WICK_ERR_UNSUPPORTED, "%s", wick_context_error(ctx));
    wick_image *image;
    char golden[1024];
    snprintf(golden, sizeof golden, "%s/tests/golden/images/rgb8.png", WICK_SOURCE_DIR);
    if (status == WICK_OK && wick_image_open(ctx, golden, 3, &image) == WICK_OK) {
        const size_t n = wick_dataset_bytes(set, 0, 0);
        uint8_t *x = malloc(n);
        CHECK(wick_dataset_rank(set) == 3 && wick_dataset_get(set, 5, (void *[]){x, NULL}, NULL) == WICK_OK &&
              !memcmp(x, wick_image_pixels(image, 0), n));
        free(x);
        wick_image_free(&image);
    }
    wick_dataset_free(&set);
    wick_context_free(&ctx);
    end();
}

/* How many samples a loader hands over in an epoch, each as the set by number has it (which must be it: the label i %
 * 3, in order unless it is shuffled); *status: how it ended. */
static int64_t read_through(wick_context *ctx, const wick_dataset *stream, const wick_dataset *set, int workers,
                            wick_on_fault policy, wick_status *status) {
    wick_loader *l;
    wick_batch b;
    int64_t n = 0;
    bool seen[8] = {false};
    *status =
        wick_loader_new(ctx, stream, &(wick_loader_options){.batch = 3, .workers = workers, .on_fault = policy}, &l);
    if (*status != WICK_OK) return -1;
    while ((*status = wick_loader_take(l, &b)) == WICK_OK && b.count)
        for (int64_t i = 0; i < b.count; i++, n++) {
            float x[8];
            char text[64] = "";
            int64_t y = -1, which = set ? b.lengths[0][i] - 1 : 0;
            if (!set) continue;
            CHECK(which >= 0 && which < 8 && !seen[which] &&
                  wick_dataset_get(set, which, (void *[]){x, text, &y}, NULL) == WICK_OK);
            seen[which] = true;
            CHECK(memcmp((const float *)b.fields[0] + i * b.padded[0], x, (size_t)(which + 1) * sizeof *x) == 0 &&
                  ((const int64_t *)b.fields[2])[i] == y);
            CHECK(b.lengths[1][i] == (int64_t)strlen(text) &&
                  memcmp((const char *)b.fields[1] + i * b.padded[1], text, strlen(text)) == 0);
        }
    wick_loader_free(&l);
    return n;
}
TEST(shards_read_from_front_to_back_have_the_same_samples) {
    wick_context *ctx = new_context(.threads = 1);
    wick_dataset *set, *stream;
    wick_status status;
    wick_fault fault;
    int64_t y = 0;
    if (system("python3 -c 0 2>/dev/null")) SKIP("no python3");
    NEEDS_ZLIB;
    REQUIRE(ctx && begin() && make_shards("cls,json,wav"));
    const char *paths[] = {in_folder("0.tar"), in_folder("1.tar.gz")};
    REQUIRE(wick_dataset_of_shards(ctx, 2, paths, &set) == WICK_OK);
    for (int shuffle = 0; shuffle <= 4; shuffle += 4) {
        const wick_shard_stream_options o = {
            .stream = {.shuffle = shuffle, .seed = 2}, .most = 400, .longest = 20, .classes = 3};
        CHECK_MSG(wick_dataset_of_shard_stream(ctx, 2, paths, &o, &stream) == WICK_OK, "%s", wick_context_error(ctx));
        REQUIRE(stream);
        CHECK(wick_dataset_count(stream) == -1 && wick_dataset_classes(stream) == 3 &&
              wick_dataset_rate(stream) == 8000 && !strcmp(wick_dataset_field(stream, 1)->name, "json"));
        for (int workers = 0; workers < 3; workers++) {
            CHECK_INT(read_through(ctx, stream, set, workers, WICK_FAULT_STOP, &status), 8);
            CHECK_INT(status, WICK_OK);
        }
        wick_dataset_free(&stream);
    }
    /* What is too long, too large or of another class is a sample that can't be read. */
    const struct { wick_shard_stream_options o; int64_t left; const char *text; } cases[] = {
        {{.longest = 6}, 2, "json: is 8 long; at most 6 are taken"},
        {{.longest = 20, .most = 70}, 5, "sample002: its files have more than the 70 bytes"},
        {{.longest = 20, .classes = 2}, 6, "sample002: class 2 of 2"},
    };
    for (size_t i = 0; i < WICK_COUNTOF(cases); i++) {
        CHECK_MSG(wick_dataset_of_shard_stream(ctx, 2, paths, &cases[i].o, &stream) == WICK_OK, "%s",
                  wick_context_error(ctx));
        const int64_t left = read_through(ctx, stream, set, 2, WICK_FAULT_SKIP, &status);
        CHECK_MSG(left == cases[i].left && status == WICK_OK, "case %zu: %lld", i, (long long)left);
        (void)read_through(ctx, stream, set, 0, WICK_FAULT_STOP, &status);
        CHECK(status != WICK_OK);
        CHECK_STR_HAS(wick_context_error(ctx), cases[i].text);
        wick_dataset_free(&stream);
    }
    CHECK_INT(wick_dataset_of_shard_stream(ctx, 1, paths, &(wick_shard_stream_options){.most = 20}, &stream),
              WICK_ERR_UNSUPPORTED);
    CHECK_INT(wick_dataset_of_shard_stream(ctx, 1, paths, &(wick_shard_stream_options){.longest = -1}, &stream),
              WICK_ERR_INVALID);
    CHECK_INT(wick_dataset_of_shard_stream(ctx, 0, paths, NULL, &stream), WICK_ERR_INVALID);
    CHECK_INT(wick_dataset_of_shard_stream(ctx, 1, (const char *[]){in_folder("nowhere.tar")}, NULL, &stream),
              WICK_ERR_IO);
    wick_dataset_free(&set);
    /* What is missing or no class is the sample's, an archive that is cut off ends the epoch. */
    run("mkdir s && printf 1 >s/a.cls && printf x >s/a.txt && printf 2 >s/b.cls && printf x >s/c.cls && printf x "
        ">s/c.txt && printf 0 >s/d.cls && printf y >s/d.txt && "
        "tar -cf bad.tar s/a.cls s/a.txt s/b.cls s/c.cls s/c.txt s/d.cls s/d.txt && head -c 3000 bad.tar >cut.tar");
    REQUIRE(wick_dataset_of_shard_stream(ctx, 1, (const char *[]){in_folder("bad.tar")}, NULL, &stream) == WICK_OK);
    CHECK_INT(read_through(ctx, stream, NULL, 2, WICK_FAULT_SKIP, &status), 2);
    CHECK_INT(status, WICK_OK);
    wick_dataset_free(&stream);
    REQUIRE(wick_dataset_of_shard_stream(ctx, 1, (const char *[]){in_folder("bad.tar")}, NULL, &stream) == WICK_OK);
    CHECK(wick_dataset_get(stream, 0, (void *[WICK_DATASET_FIELDS]){NULL, &y}, &fault) == WICK_OK && y == 1);
    CHECK_INT(wick_dataset_get(stream, 1, (void *[WICK_DATASET_FIELDS]){NULL, &y}, &fault), WICK_ERR_FORMAT);
    CHECK_STR_HAS(fault.text, "s/b: has no .txt, which the first sample has");
    CHECK_INT(wick_dataset_get(stream, 2, (void *[WICK_DATASET_FIELDS]){NULL, &y}, &fault), WICK_ERR_FORMAT);
    CHECK_STR_HAS(fault.text, "no number of a class");
    CHECK(wick_dataset_get(stream, 3, (void *[WICK_DATASET_FIELDS]){NULL, &y}, &fault) == WICK_OK && y == 0);
    wick_dataset_free(&stream);
    REQUIRE(wick_dataset_of_shard_stream(ctx, 1, (const char *[]){in_folder("cut.tar")}, NULL, &stream) == WICK_OK);
    (void)read_through(ctx, stream, NULL, 1, WICK_FAULT_SKIP, &status);
    CHECK(status == WICK_ERR_FORMAT && strstr(wick_context_error(ctx), "cut.tar"));
    wick_dataset_free(&stream);
    wick_context_free(&ctx);
    end();
}

TEST(lines_come_without_their_ends) {
    wick_context *ctx = new_context(.threads = 1);
    wick_dataset *set;
    REQUIRE(ctx && begin());
    run("printf 'one\\r\\n\\ntwo words\\nend' >a && : >b && printf '\\n' >c");
    REQUIRE(wick_dataset_of_lines(ctx, in_folder("a"), &set) == WICK_OK && wick_dataset_count(set) == 4);
    const char *const want[] = {"one", "", "two words", "end"};
    for (int64_t i = 0; i < 4; i++) {
        char text[16] = "";
        CHECK(wick_dataset_length(set, i, 0) == (int64_t)strlen(want[i]) &&
              wick_dataset_get(set, i, (void *[]){text}, NULL) == WICK_OK && strcmp(text, want[i]) == 0);
    }
    wick_dataset_free(&set);
    CHECK(wick_dataset_of_lines(ctx, in_folder("b"), &set) == WICK_OK && wick_dataset_count(set) == 0);
    wick_dataset_free(&set);
    CHECK(wick_dataset_of_lines(ctx, in_folder("c"), &set) == WICK_OK && wick_dataset_count(set) == 1 &&
          wick_dataset_length(set, 0, 0) == 0);
    wick_dataset_free(&set);
    CHECK_INT(wick_dataset_of_lines(ctx, in_folder("nowhere"), &set), WICK_ERR_IO);
    wick_context_free(&ctx);
    end();
}

TEST(memory_that_runs_out_is_an_error_and_leaks_nothing) {
    counting c = {.fail_at = -1};
    const wick_allocator allocator = counting_allocator(&c);
    wick_context *ctx = new_context(.threads = 1, .allocator = &allocator);
    source s;
    REQUIRE(ctx);
    wick_dataset *d = counting_set(ctx, &s, 20);
    const int64_t live = c.live;
    bool done = false;
    for (int64_t k = 0; k < 100 && !done; k++) {
        wick_dataset *part[2] = {NULL, NULL}, *cat = NULL, *mix = NULL, *cache = NULL;
        c.fail_at = c.calls + k;
        wick_status status = wick_dataset_split(ctx, d, 2, (double[]){0.5, 0.5}, 1, part);
        if (status == WICK_OK) status = wick_dataset_concat(ctx, 2, (const wick_dataset *[]){part[0], part[1]}, &cat);
        if (status == WICK_OK)
            status = wick_dataset_mix(ctx, 2, (const wick_dataset *[]){cat, d}, (double[]){1, 1}, 30, 1, &mix);
        if (status == WICK_OK) status = wick_dataset_cached(ctx, mix, 4000, &cache);
        /* also where nothing can be kept */
        for (int64_t i = 0; i < 30 && status == WICK_OK; i++) CHECK(which(cache, i) >= 0);
        done = status == WICK_OK && c.calls < c.fail_at;
        CHECK_MSG(status == WICK_OK || status == WICK_ERR_NOMEM, "%d: %s", (int)status, wick_context_error(ctx));
        c.fail_at = -1;
        wick_dataset_free(&cache);
        wick_dataset_free(&mix);
        wick_dataset_free(&cat);
        wick_dataset_free(&part[0]);
        wick_dataset_free(&part[1]);
        wick_context_clear_error(ctx);
        CHECK_INT(c.live, live);
    }
    CHECK(done);
    wick_dataset_free(&d);
    wick_context_free(&ctx);
    CHECK_INT(c.live, 0);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
