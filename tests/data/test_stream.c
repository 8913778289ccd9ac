/* Streams: samples that come one after the other, as a data set for loaders. */
#include <stdatomic.h>

#include "base/counting_alloc.h"
#include "context.h"
#include "test.h"
#include "wick/wick.h"

/* Sample i is made of its number: x has 3 floats, of i; y is i; z, where it is asked for, has i % 4 + 1 numbers i. */
typedef struct numbers {
    int64_t at, count; /* of an epoch; where it ends */
    int64_t epoch;
    int64_t broken, bad; /* `next` and `get` fail there; -1: nowhere */
    bool no_beginning;
    int begun, freed;
    _Atomic int reading; /* no two threads at once */
    int overlaps;
} numbers;

static wick_status next(void *user, void *record, bool *end, wick_fault *fault) {
    numbers *s = user;
    if (atomic_fetch_add(&s->reading, 1)) s->overlaps++;
    wick_status status = WICK_OK;
    if (s->at == s->broken) status = wick_fault_set(fault, WICK_ERR_IO, "the line broke at %lld", (long long)s->at);
    else if (s->at == s->count) *end = true;
    else *(int64_t *)record = s->at++;
    atomic_fetch_sub(&s->reading, 1);
    return status;
}
static wick_status begin(void *user, int64_t epoch, wick_fault *fault) {
    numbers *s = user;
    if (s->no_beginning) return wick_fault_set(fault, WICK_ERR_IO, "no beginning");
    s->at = 0;
    s->epoch = epoch;
    s->begun++;
    return WICK_OK;
}
static wick_status get(void *user, const void *record, void *const *out, wick_fault *fault) {
    const numbers *s = user;
    const int64_t i = *(const int64_t *)record;
    if (i == s->bad) return wick_fault_set(fault, WICK_ERR_FORMAT, "record %lld is no sample", (long long)i);
    for (int k = 0; k < 3 && out[0]; k++) ((float *)out[0])[k] = (float)(i * 3 + k);
    if (out[1]) *(int64_t *)out[1] = i;
    for (int64_t k = 0; out[2] && k < i % 4 + 1; k++) ((int64_t *)out[2])[k] = i;
    return WICK_OK;
}
static int64_t length(void *user, const void *record, int field) {
    return (void)user, (void)field, *(const int64_t *)record % 4 + 1;
}
static void end_of(void *user) { ((numbers *)user)->freed++; }

static wick_stream_source source_of(numbers *s) {
    return (wick_stream_source){.n_fields = 3,
                                .fields = {{"x", WICK_F32, 1, {3}}, {"y", WICK_I64, 0, {0}}, {"z", WICK_I64, 1, {-1}}},
                                .longest = {0, 0, 4},
                                .classes = 0,
                                .record = sizeof(int64_t),
                                .next = next,
                                .begin = begin,
                                .get = get,
                                .length = length,
                                .free = end_of,
                                .user = s};
}
static numbers numbers_to(int64_t count) { return (numbers){.count = count, .broken = -1, .bad = -1}; }

enum { MOST = 4000 };
typedef struct taken {
    int64_t n, numbers[MOST], batches;
    bool right; /* all fields are those of their numbers */
    wick_status status;
} taken;

/* What is handed over up to the end of an epoch, at most so many batches. */
static void take(wick_loader *l, int64_t batches, taken *t) {
    wick_batch b;
    t->n = t->batches = 0;
    t->right = true;
    while (t->batches < batches && (t->status = wick_loader_take(l, &b)) == WICK_OK && b.count) {
        for (int64_t i = 0; i < b.count && t->n < MOST; i++) {
            const int64_t y = ((const int64_t *)b.fields[1])[i], *z = (const int64_t *)b.fields[2] + i * b.padded[2];
            for (int k = 0; k < 3; k++)
                t->right = t->right && ((const float *)b.fields[0])[3 * i + k] == (float)(y * 3 + k);
            t->right = t->right && b.lengths[2][i] == y % 4 + 1;
            for (int64_t k = 0; k < b.padded[2]; k++) t->right = t->right && z[k] == (k < y % 4 + 1 ? y : 0);
            t->numbers[t->n++] = y;
        }
        t->batches++;
    }
}
static bool same(const taken *a, const taken *b) {
    return a->n == b->n && memcmp(a->numbers, b->numbers, (size_t)a->n * sizeof *a->numbers) == 0;
}
static bool in_order(const taken *t, int64_t from, int64_t step) {
    for (int64_t i = 0; i < t->n; i++)
        if (t->numbers[i] != from + i * step) return false;
    return true;
}

typedef struct given {
    wick_context *ctx;
    wick_dataset *set;
    wick_loader *loader;
} given;
static bool open_as(given *g, numbers *s, const wick_stream_options *o, const wick_loader_options *lo) {
    const wick_stream_source source = source_of(s);
    g->loader = NULL, g->set = NULL;
    if (!(g->ctx = new_context(.threads = 2))) return false;
    if (wick_dataset_of_stream(g->ctx, &source, o, &g->set) == WICK_OK &&
        wick_loader_new(g->ctx, g->set, lo, &g->loader) == WICK_OK)
        return true;
    fprintf(stderr, "%s\n", wick_context_error(g->ctx));
    return false;
}
static void close_all(given *g) {
    wick_loader_free(&g->loader);
    wick_dataset_free(&g->set);
    wick_context_free(&g->ctx);
}

static const int workers[] = {0, 1, 2, 5};

TEST(batches_are_the_same_for_any_number_of_workers) {
    static taken first, t;
    for (size_t w = 0; w < WICK_COUNTOF(workers); w++)
        for (int known = 0; known < 2; known++)
            for (int64_t shuffle = 0; shuffle <= 50; shuffle += 50) {
                numbers s = numbers_to(known ? 5000 : 1003);
                given g;
                REQUIRE(open_as(&g, &s,
                                &(wick_stream_options){.count = known ? 1003 : 0, .shuffle = shuffle, .seed = 7},
                                &(wick_loader_options){.batch = 16, .workers = workers[w]}));
                CHECK_INT(wick_dataset_count(g.set), known ? 1003 : -1);
                CHECK_INT(wick_loader_batches(g.loader), known ? 63 : -1);
                for (int epoch = 0; epoch < 3; epoch++) {
                    take(g.loader, MOST, &t);
                    CHECK(t.status == WICK_OK && t.right);
                    CHECK_INT(t.n, 1003);
                    CHECK_INT(t.batches, 63);
                    CHECK_INT(shuffle ? 0 : !in_order(&t, 0, 1), 0);
                    if (shuffle && !known) { /* each once */
                        static bool seen[1003];
                        memset(seen, 0, sizeof seen);
                        for (int64_t i = 0; i < t.n; i++) {
                            CHECK(t.numbers[i] >= 0 && t.numbers[i] < 1003 && !seen[t.numbers[i]]);
                            seen[t.numbers[i]] = true;
                        }
                        CHECK(!in_order(&t, 0, 1));
                    }
                    if (shuffle && epoch == 1) CHECK(!same(&t, &first)); /* as in epoch 0 it isn't */
                    if (epoch == 0) first = t;
                }
                CHECK_INT(s.overlaps, 0);
                close_all(&g);
                CHECK_INT(s.freed, 1);
            }
    for (size_t w = 0; w < WICK_COUNTOF(workers); w++) { /* and shuffled alike */
        numbers s = numbers_to(1003);
        given g;
        REQUIRE(open_as(&g, &s, &(wick_stream_options){.shuffle = 50, .seed = 7},
                        &(wick_loader_options){.batch = 16, .workers = workers[w]}));
        take(g.loader, MOST, &t);
        take(g.loader, MOST, w ? &t : &first);
        CHECK(same(w ? &t : &first, &first));
        close_all(&g);
    }
}

TEST(a_place_is_come_back_to_with_another_number_of_workers) {
    static taken all, t;
    for (int64_t shuffle = 0; shuffle <= 30; shuffle += 30) {
        const wick_stream_options o = {.shuffle = shuffle, .seed = 3};
        for (int64_t stop = 7, epoch, place; stop < 26; stop += 7) {
            numbers s = numbers_to(201), again = numbers_to(201);
            given g, h;
            REQUIRE(open_as(&g, &s, &o, &(wick_loader_options){.batch = 8, .workers = workers[stop % 4]}));
            take(g.loader, MOST, &all); /* epoch 0 */
            take(g.loader, stop, &t);
            const wick_loader_place there = wick_loader_position(g.loader);
            epoch = there.epoch, place = there.sample;
            CHECK(epoch == 1 && place == stop * 8);
            REQUIRE(open_as(&h, &again, &o, &(wick_loader_options){.batch = 8, .workers = workers[(stop + 1) % 4]}));
            REQUIRE(wick_loader_seek(h.loader, epoch, place) == WICK_OK);
            take(g.loader, MOST, &all);
            take(h.loader, MOST, &t);
            CHECK(t.status == WICK_OK && t.right && same(&t, &all));
            CHECK_INT(t.n, 201 - place);
            REQUIRE(wick_loader_seek(h.loader, epoch, place) == WICK_OK); /* back, in one that has read on */
            take(h.loader, MOST, &t);
            CHECK(t.status == WICK_OK && same(&t, &all));
            close_all(&g);
            close_all(&h);
        }
    }
}

TEST(ranks_share_a_stream) {
    static taken t;
    for (int rank = 0; rank < 3; rank++) {
        numbers s = numbers_to(100);
        given g;
        REQUIRE(open_as(&g, &s, NULL, &(wick_loader_options){.batch = 4, .workers = 2, .rank = rank, .ranks = 3}));
        for (int epoch = 0; epoch < 2; epoch++) {
            take(g.loader, MOST, &t);
            CHECK(t.right && in_order(&t, rank, 3));
            CHECK_INT(t.n, rank ? 33 : 34);
        }
        close_all(&g);
    }
}

TEST(the_last_batch_is_dropped_when_asked) {
    static taken t;
    numbers s = numbers_to(35);
    given g;
    REQUIRE(open_as(&g, &s, NULL, &(wick_loader_options){.batch = 8, .workers = 1, .drop_last = true}));
    for (int epoch = 0; epoch < 3; epoch++) {
        take(g.loader, MOST, &t);
        CHECK(t.status == WICK_OK && in_order(&t, 0, 1));
        CHECK_INT(t.n, 32);
    }
    close_all(&g);
}

TEST(an_empty_stream_has_epochs_without_batches) {
    static taken t;
    for (size_t w = 0; w < WICK_COUNTOF(workers); w++) {
        numbers s = numbers_to(0);
        given g;
        REQUIRE(open_as(&g, &s, NULL, &(wick_loader_options){.batch = 8, .workers = workers[w]}));
        for (int epoch = 0; epoch < 3; epoch++) {
            take(g.loader, MOST, &t);
            CHECK(t.status == WICK_OK && t.n == 0);
        }
        close_all(&g);
    }
}

TEST(what_cannot_begin_anew_is_read_once_or_goes_on) {
    static taken t;
    numbers s = numbers_to(40);
    wick_stream_source source = source_of(&s);
    given g = {new_context(.threads = 2), NULL, NULL};
    REQUIRE(g.ctx != NULL);
    source.begin = NULL;
    REQUIRE(wick_dataset_of_stream(g.ctx, &source, NULL, &g.set) == WICK_OK);
    REQUIRE(wick_loader_new(g.ctx, g.set, &(wick_loader_options){.batch = 16, .workers = 2}, &g.loader) == WICK_OK);
    take(g.loader, MOST, &t);
    CHECK(t.status == WICK_OK && t.n == 40 && in_order(&t, 0, 1));
    take(g.loader, MOST, &t);
    CHECK(t.status == WICK_ERR_UNSUPPORTED && t.n == 0);
    CHECK_STR_HAS(wick_context_error(g.ctx), "read once");
    wick_loader_free(&g.loader);
    wick_dataset_free(&g.set);
    for (int drop = 0; drop < 2; drop++) { /* epochs of a source without an end */
        s = numbers_to(INT64_MAX);
        REQUIRE(wick_dataset_of_stream(g.ctx, &source, &(wick_stream_options){.count = 21}, &g.set) == WICK_OK);
        REQUIRE(wick_loader_new(g.ctx, g.set, &(wick_loader_options){.batch = 8, .workers = 2, .drop_last = drop},
                                &g.loader) == WICK_OK);
        for (int64_t epoch = 0; epoch < 4; epoch++) {
            take(g.loader, MOST, &t);
            CHECK(t.status == WICK_OK && in_order(&t, epoch * 21, 1));
            CHECK_INT(t.n, drop ? 16 : 21);
        }
        take(g.loader, 1, &t);
        CHECK(t.status == WICK_OK && in_order(&t, 4 * 21, 1));
        REQUIRE(wick_loader_seek(g.loader, 4, 0) == WICK_OK); /* what was there is gone: an error, not other samples */
        take(g.loader, 1, &t);
        CHECK(t.status == WICK_ERR_UNSUPPORTED && t.n == 0);
        wick_loader_free(&g.loader);
        wick_dataset_free(&g.set);
    }
    close_all(&g);
}

TEST(failures_follow_the_policy) {
    static taken t;
    wick_loader_stats stats;
    for (size_t w = 0; w < WICK_COUNTOF(workers); w++) {
        numbers s = numbers_to(50);
        given g;
        s.bad = 21;
        REQUIRE(open_as(&g, &s, NULL, &(wick_loader_options){.batch = 8, .workers = workers[w]}));
        take(g.loader, MOST, &t);
        CHECK(t.status == WICK_ERR_FORMAT && t.n == 16);
        CHECK_STR_HAS(wick_context_error(g.ctx), "sample 21, in epoch 0: record 21 is no sample");
        s.bad = -1; /* it has been mended: the batch comes whole */
        take(g.loader, MOST, &t);
        CHECK(t.status == WICK_OK && t.n == 34 && in_order(&t, 16, 1));
        close_all(&g);

        s = numbers_to(50);
        s.bad = 49;
        REQUIRE(open_as(&g, &s, NULL,
                        &(wick_loader_options){.batch = 8, .workers = workers[w], .on_fault = WICK_FAULT_SKIP}));
        for (int epoch = 0; epoch < 2; epoch++) {
            take(g.loader, MOST, &t);
            CHECK(t.status == WICK_OK && t.n == 49 && in_order(&t, 0, 1));
        }
        wick_loader_get_stats(g.loader, &stats);
        CHECK_INT(stats.skipped, 2);
        CHECK_INT(stats.samples, 98);
        close_all(&g);

        s = numbers_to(50);
        s.broken = 20;
        REQUIRE(open_as(&g, &s, NULL,
                        &(wick_loader_options){.batch = 8, .workers = workers[w], .on_fault = WICK_FAULT_SKIP}));
        take(g.loader, MOST, &t);
        CHECK(t.status == WICK_ERR_IO && t.n == 16);
        CHECK_STR_HAS(wick_context_error(g.ctx), "the line broke at 20");
        take(g.loader, MOST, &t); /* and again: nothing hangs, nothing is made up */
        CHECK(t.status == WICK_ERR_IO && t.n == 0);
        s.broken = -1;
        take(g.loader, MOST, &t);
        CHECK(t.status == WICK_OK && in_order(&t, 16, 1) && t.n == 34);
        close_all(&g);

        s = numbers_to(50);
        s.no_beginning = true;
        REQUIRE(open_as(&g, &s, NULL, &(wick_loader_options){.batch = 8, .workers = workers[w]}));
        take(g.loader, MOST, &t);
        CHECK(t.status == WICK_ERR_IO && t.n == 0);
        CHECK_STR_HAS(wick_context_error(g.ctx), "no beginning");
        close_all(&g);

        s = numbers_to(37); /* of 50 that were promised */
        REQUIRE(open_as(&g, &s, &(wick_stream_options){.count = 50},
                        &(wick_loader_options){.batch = 8, .workers = workers[w]}));
        take(g.loader, MOST, &t);
        CHECK(t.status == WICK_ERR_FORMAT && t.n == 32);
        CHECK_STR_HAS(wick_context_error(g.ctx), "ended after 37 of 50 samples");
        close_all(&g);
    }
}

static wick_status twice(void *user, int64_t index, const void *const *in, const int64_t *lengths, void *const *out,
                         wick_fault *fault) {
    (void)user, (void)index, (void)lengths, (void)fault;
    if (out[0]) *(int64_t *)out[0] = 2 * *(const int64_t *)in[1];
    return WICK_OK;
}

TEST(a_stream_may_be_mapped_and_nothing_else) {
    wick_context *ctx = new_context(.threads = 2);
    numbers s = numbers_to(60);
    const wick_stream_source source = source_of(&s);
    wick_dataset *set, *other;
    wick_loader *l;
    wick_batch b;
    REQUIRE(ctx != NULL && wick_dataset_of_stream(ctx, &source, NULL, &set) == WICK_OK);
    REQUIRE(wick_dataset_map(
                ctx, set, &(wick_dataset_mapping){.n_fields = 1, .fields = {{"twice", WICK_I64, 0, {0}}}, .map = twice},
                &other) == WICK_OK);
    CHECK_INT(wick_dataset_count(other), -1);
    REQUIRE(wick_loader_new(ctx, other, &(wick_loader_options){.batch = 7, .workers = 2}, &l) == WICK_OK);
    int64_t n = 0;
    while (wick_loader_take(l, &b) == WICK_OK && b.count)
        for (int64_t i = 0; i < b.count; i++, n++) CHECK_INT(((const int64_t *)b.fields[0])[i], 2 * n);
    CHECK_INT(n, 60);
    wick_loader_free(&l);
    wick_dataset_free(&other);
    double mean, deviation;
    wick_dataset *parts[2];
    const wick_dataset *sets[] = {set};
    CHECK(wick_dataset_subset(ctx, set, 1, (int64_t[]){0}, &other) == WICK_ERR_UNSUPPORTED);
    CHECK_STR_HAS(wick_context_error(ctx), "the samples of a stream");
    CHECK(wick_dataset_split(ctx, set, 2, (double[]){0.5, 0.5}, 1, parts) == WICK_ERR_UNSUPPORTED);
    CHECK(wick_dataset_concat(ctx, 1, sets, &other) == WICK_ERR_UNSUPPORTED);
    CHECK(wick_dataset_repeat(ctx, set, 2, &other) == WICK_ERR_UNSUPPORTED);
    CHECK(wick_dataset_mix(ctx, 1, sets, (double[]){1}, 10, 1, &other) == WICK_ERR_UNSUPPORTED);
    CHECK(wick_dataset_zip(ctx, 1, sets, &other) == WICK_ERR_UNSUPPORTED);
    CHECK(wick_dataset_cached(ctx, set, 1 << 20, &other) == WICK_ERR_UNSUPPORTED);
    CHECK(wick_dataset_limit(ctx, set, 10) == WICK_ERR_UNSUPPORTED);
    CHECK(wick_dataset_moments(ctx, set, &mean, &deviation) == WICK_ERR_UNSUPPORTED);
    wick_dataset_free(&set);
    wick_context_free(&ctx);
}

TEST(what_a_stream_cannot_do_is_refused) {
    wick_context *ctx = new_context(.threads = 2);
    numbers s = numbers_to(60);
    wick_stream_source source = source_of(&s);
    wick_dataset *set;
    wick_loader *l;
    REQUIRE(ctx != NULL && wick_dataset_of_stream(ctx, &source, &(wick_stream_options){.window = 64}, &set) == WICK_OK);
    const double weights[60] = {1};
    const struct { wick_loader_options o; const char *text; } cases[] = {
        {{.batch = 4, .shuffle = true}, "wick_stream_options"},
        {{.batch = 4, .weights = weights, .draws = 10}, "weights"},
        {{.batch = 4, .buckets = {8}, .bucket_field = 2}, "buckets"},
        {{.batch = 4, .on_fault = WICK_FAULT_SUBSTITUTE}, "SUBSTITUTE"},
        {{.batch = 4, .as_ready = true}, "as_ready"},
        {{.batch = 22, .workers = 1, .prefetch = 2}, "3 batches of 22 samples at once"},
        {{.batch = 33, .ranks = 2}, "times 2 ranks"},
    };
    for (size_t i = 0; i < WICK_COUNTOF(cases); i++) {
        CHECK(wick_loader_new(ctx, set, &cases[i].o, &l) != WICK_OK);
        CHECK_STR_HAS(wick_context_error(ctx), cases[i].text);
    }
    REQUIRE(wick_loader_new(ctx, set, &(wick_loader_options){.batch = 21, .workers = 1, .prefetch = 2}, &l) == WICK_OK);
    wick_loader_free(&l);
    wick_fault fault;
    int64_t y = -1;
    void *const out[WICK_DATASET_FIELDS] = {NULL, &y};
    CHECK(wick_dataset_get(set, 0, out, &fault) == WICK_OK && y == 0);
    CHECK(wick_dataset_get(set, 0, out, &fault) == WICK_ERR_INDEX);
    CHECK_STR_HAS(fault.text, "handed over");
    CHECK(wick_dataset_get(set, 59, out, &fault) == WICK_OK && y == 59);
    CHECK(wick_dataset_get(set, 60, out, &fault) == WICK_ERR_INDEX);
    CHECK_STR_HAS(fault.text, "ended after 60 samples");
    wick_dataset_free(&set);
    source.longest[2] = 0;
    CHECK(wick_dataset_of_stream(ctx, &source, NULL, &set) == WICK_ERR_INVALID && set == NULL);
    CHECK_STR_HAS(wick_context_error(ctx), "longest");
    source = source_of(&s);
    CHECK(wick_dataset_of_stream(ctx, &source, &(wick_stream_options){.window = -1}, &set) == WICK_ERR_INVALID);
    source.next = NULL;
    CHECK(wick_dataset_of_stream(ctx, &source, NULL, &set) == WICK_ERR_INVALID);
    CHECK(wick_dataset_of_stream(ctx, NULL, NULL, &set) == WICK_ERR_INVALID);
    source = source_of(&s);
    source.record = SIZE_MAX / 2;
    CHECK(wick_dataset_of_stream(ctx, &source, NULL, &set) == WICK_ERR_NOMEM);
    CHECK_INT(s.freed, 1);
    wick_context_free(&ctx);
}

TEST(known_counts_may_come_as_ready) {
    numbers s = numbers_to(100);
    given g;
    static bool seen[100];
    wick_batch b;
    int64_t n = 0;
    REQUIRE(open_as(&g, &s, &(wick_stream_options){.count = 100},
                    &(wick_loader_options){.batch = 8, .workers = 3, .as_ready = true}));
    while (wick_loader_take(g.loader, &b) == WICK_OK && b.count)
        for (int64_t i = 0; i < b.count; i++, n++) {
            const int64_t y = ((const int64_t *)b.fields[1])[i];
            REQUIRE(y >= 0 && y < 100);
            CHECK(!seen[y]);
            seen[y] = true;
        }
    CHECK_INT(n, 100);
    close_all(&g);
}

TEST(a_loader_may_end_anywhere) {
    wick_batch b;
    for (int i = 0; i < 200; i++) {
        numbers s = numbers_to(300);
        given g;
        REQUIRE(open_as(&g, &s, &(wick_stream_options){.shuffle = i % 2 * 20},
                        &(wick_loader_options){.batch = 4, .workers = i % 6}));
        for (int k = 0; k < i % 9; k++) CHECK(wick_loader_take(g.loader, &b) == WICK_OK);
        close_all(&g);
        CHECK_INT(s.freed, 1);
    }
}

TEST(memory_that_runs_out_is_an_error_and_leaks_nothing) {
    counting c = {.fail_at = -1};
    const wick_allocator allocator = counting_allocator(&c);
    wick_context *ctx = NULL;
    REQUIRE(wick_context_new(&(wick_context_options){.threads = 1, .allocator = &allocator}, &ctx) == WICK_OK);
    const int64_t live = c.live;
    bool done = false;
    for (int64_t k = 0; k < 100 && !done; k++) {
        numbers s = numbers_to(10);
        const wick_stream_source source = source_of(&s);
        wick_dataset *set;
        c.fail_at = c.calls + k;
        const wick_status status = wick_dataset_of_stream(ctx, &source, &(wick_stream_options){.shuffle = 4}, &set);
        done = status == WICK_OK;
        CHECK(status == WICK_OK ? set != NULL : status == WICK_ERR_NOMEM && set == NULL);
        c.fail_at = -1;
        wick_dataset_free(&set);
        CHECK_INT(s.freed, done);
        wick_context_clear_error(ctx);
        CHECK_INT(c.live, live);
    }
    CHECK(done);
    wick_context_free(&ctx);
    CHECK_INT(c.live, 0);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
