/* The loader with threads: the same batches for any number of them, places, shards, buckets, weights, faults,
 * cancelling, memory. */
#include "base/counting_alloc.h"
#include "loader_set.h"

static const double *some_weights(void) {
    static double weights[SAMPLES];
    for (int i = 0; i < SAMPLES; i++) weights[i] = i % 4 ? i % 9 : 0.5;
    return weights;
}

/* Ways to load, each with all the rest as it is. */
static wick_loader_options way(int i) {
    switch (i) {
    case 0:
        return (wick_loader_options){
            .batch = 8, .shuffle = true, .seed = 5, .mean = 0.3, .deviation = 0.4, .flip = true, .crop = 2};
    case 1: return (wick_loader_options){.batch = 7, .drop_last = true, .raw = true, .pad = {0, 0, -1.5}};
    case 2:
        return (wick_loader_options){
            .batch = 6, .shuffle = true, .seed = 9, .buckets = {4, 9, 20}, .bucket_field = 2, .pad = {0, 0, 7}};
    case 3: return (wick_loader_options){.batch = 16, .seed = 1, .balanced = true, .draws = 150};
    case 4:
        return (wick_loader_options){
            .batch = 5, .shuffle = true, .seed = 3, .rank = 1, .ranks = 3, .on_fault = WICK_FAULT_SUBSTITUTE};
    case 5:
        return (wick_loader_options){.batch = 9,
                                     .shuffle = true,
                                     .drop_last = true,
                                     .seed = 2,
                                     .buckets = {3, 8, 17},
                                     .bucket_field = 2,
                                     .rank = 0,
                                     .ranks = 2,
                                     .on_fault = WICK_FAULT_SKIP};
    default: return (wick_loader_options){.batch = 300, .seed = 4, .weights = some_weights()};
    }
}
enum { WAYS = 7 };
static const int crews[] = {0, 1, 2, 5};

TEST(any_number_of_workers_makes_the_same_batches) {
    for (int w = 0; w < WAYS; w++) {
        SETUP(.bad_every = w == 4 || w == 5 ? 10 : 0, .slow = true);
        static uint64_t want[MAX_BATCHES], got[MAX_BATCHES];
        int n = 0;
        for (int c = 0; c < 4; c++)
            for (int prefetch = 0; prefetch < 6; prefetch += 5) {
                wick_loader_options o = way(w);
                o.workers = crews[c];
                o.prefetch = prefetch;
                CHECK_MSG(wick_loader_new(ctx, set, &o, &loader) == WICK_OK, "%s", wick_context_error(ctx));
                REQUIRE(loader);
                const int m = hash_all(loader, 3, c || prefetch ? got : want);
                if (!c && !prefetch) n = m;
                CHECK_MSG(m == n && m > 3, "way %d: %d of %d batches", w, m, n);
                if (c || prefetch)
                    CHECK_MSG(memcmp(want, got, (size_t)n * sizeof *want) == 0, "way %d, %d workers, %d ahead", w,
                              crews[c], prefetch);
                test_count("batches that are the same for any number of workers", n);
                wick_loader_free(&loader);
            }
        TEARDOWN;
    }
}

TEST(a_loader_resumed_anywhere_with_other_workers_continues) {
    for (int w = 0; w < WAYS; w++) {
        SETUP(.bad_every = w == 4 || w == 5 ? 10 : 0);
        static uint64_t want[MAX_BATCHES], got[MAX_BATCHES];
        wick_loader_options o = way(w);
        REQUIRE(wick_loader_new(ctx, set, &o, &loader) == WICK_OK);
        const int n = hash_all(loader, 3, want);
        wick_loader_free(&loader);
        for (int at = 0; at < n; at += 7) {
            int64_t epoch, sample;
            o.workers = crews[at % 4];
            REQUIRE(wick_loader_new(ctx, set, &o, &loader) == WICK_OK);
            for (int i = 0; i < at; i++) CHECK(wick_loader_take(loader, &b) == WICK_OK);
            const wick_loader_place there = wick_loader_position(loader);
            epoch = there.epoch, sample = there.sample;
            wick_loader_free(&loader);
            o.workers = crews[(at + 1) % 4];
            REQUIRE(wick_loader_new(ctx, set, &o, &loader) == WICK_OK);
            if (at % 2) CHECK(wick_loader_take(loader, &b) == WICK_OK); /* wherever it was */
            CHECK(wick_loader_seek(loader, epoch, sample) == WICK_OK);
            const int m = hash_all(loader, 3 - (int)epoch, got);
            CHECK_MSG(m == n - at && memcmp(want + at, got, (size_t)m * sizeof *got) == 0,
                      "way %d at batch %d: %d of %d", w, at, m, n - at);
            wick_loader_free(&loader);
        }
        TEARDOWN;
    }
}

TEST(as_ready_hands_out_each_batch_once_also_when_resumed) {
    SETUP(.slow = true);
    wick_loader_options o = {.batch = 4, .shuffle = true, .seed = 8, .workers = 3, .prefetch = 9, .as_ready = true};
    for (int stop = 0; stop < 50; stop += 7) {
        int seen[SAMPLES] = {0};
        wick_loader_place place = {0, 0, 0};
        for (int part = 0; part < 2; part++) {
            o.workers = part ? 2 : 3;
            REQUIRE(wick_loader_new(ctx, set, &o, &loader) == WICK_OK && wick_loader_return(loader, place) == WICK_OK);
            for (int i = 0; part || i < stop; i++) {
                REQUIRE(wick_loader_take(loader, &b) == WICK_OK);
                if (!b.count) break;
                for (int64_t k = 0; k < b.count; k++) {
                    seen[b.samples[k]]++;
                    CHECK(((int64_t *)b.fields[3])[k] == b.samples[k]);
                }
            }
            place = wick_loader_position(loader);
            wick_loader_free(&loader);
        }
        CHECK(place.epoch == 1 && place.sample == 0 && place.ahead == 0);
        for (int i = 0; i < SAMPLES; i++) CHECK_MSG(seen[i] == 1, "sample %d: %d times", i, seen[i]);
    }
    TEARDOWN;
}

TEST(shards_hold_each_sample_once) {
    SETUP(.slow = false);
    for (int ranks = 1; ranks < 6; ranks++)
        for (int shuffle = 0; shuffle < 2; shuffle++)
            for (int buckets = 0; buckets < 2; buckets++) {
                int seen[SAMPLES] = {0};
                for (int rank = 0; rank < ranks; rank++) {
                    wick_loader_options o = {
                        .batch = 10, .shuffle = shuffle, .rank = rank, .ranks = ranks, .workers = rank % 3};
                    if (buckets) o.buckets[0] = 9, o.buckets[1] = 17, o.bucket_field = 2;
                    REQUIRE(wick_loader_new(ctx, set, &o, &loader) == WICK_OK);
                    int64_t batches = 0;
                    while (wick_loader_take(loader, &b) == WICK_OK && b.count) {
                        batches++;
                        for (int64_t k = 0; k < b.count; k++) seen[b.samples[k]]++;
                        if (batches == 1) CHECK(wick_loader_batches(loader) >= SAMPLES / ranks / 10);
                    }
                    wick_loader_free(&loader);
                }
                for (int i = 0; i < SAMPLES; i++) CHECK_INT(seen[i], 1);
            }
    TEARDOWN;
}

/* Of each batch of both loaders, places begin to end - 1; true: the epoch goes on. */
static bool same_part(wick_loader *whole, wick_loader *part, int64_t begin, int64_t end) {
    wick_batch a, b;
    const bool taken = wick_loader_take(whole, &a) == WICK_OK && wick_loader_take(part, &b) == WICK_OK;
    CHECK(taken);
    if (!taken) return false;
    CHECK_INT(a.count, b.count);
    if (!a.count) return false;
    CHECK(memcmp(a.samples, b.samples, (size_t)a.count * sizeof *a.samples) == 0);
    const int64_t last = end < a.count ? end : a.count;
    for (int k = 0; k < 4 && last > begin; k++) {
        const wick_spec *f = wick_loader_field(whole, k);
        size_t row = wick_dtype_size(f->dtype);
        for (int d = 1; d < f->rank; d++) row *= (size_t)(f->dims[d] < 0 ? a.padded[k] : f->dims[d]);
        CHECK_INT(a.padded[k], b.padded[k]);
        CHECK_MSG(memcmp((char *)a.fields[k] + (size_t)begin * row, (char *)b.fields[k] + (size_t)begin * row,
                         (size_t)(last - begin) * row) == 0,
                  "field %d, places %d to %d", k, (int)begin, (int)end);
    }
    return true;
}

TEST(a_part_of_each_batch_is_made_as_in_the_whole) {
    SETUP(.slow = false);
    static const int64_t parts[][2] = {{0, 3}, {3, 4}, {2, 100}, {200, 300}};
    for (int i = 0; i < WAYS; i++)
        for (size_t p = 0; p < WICK_COUNTOF(parts) && i != 5; p++) { /* way 5 leaves samples out */
            wick_loader *part = NULL;
            wick_loader_options o = way(i);
            REQUIRE(wick_loader_new(ctx, set, &o, &loader) == WICK_OK);
            o.part_begin = parts[p][0], o.part_end = parts[p][1], o.workers = (int)p;
            REQUIRE(wick_loader_new(ctx, set, &o, &part) == WICK_OK);
            while (same_part(loader, part, o.part_begin, o.part_end)) continue;
            wick_loader_stats whole, own;
            wick_loader_get_stats(loader, &whole);
            wick_loader_get_stats(part, &own);
            CHECK(own.samples < whole.samples && own.batches == whole.batches);
            wick_loader_free(&part);
            wick_loader_free(&loader);
        }
    wick_loader_options o = way(0);
    o.part_end = 4;
    o.on_fault = WICK_FAULT_SKIP;
    CHECK_INT(wick_loader_new(ctx, set, &o, &loader), WICK_ERR_UNSUPPORTED);
    o.on_fault = WICK_FAULT_STOP;
    o.part_begin = 4;
    CHECK_INT(wick_loader_new(ctx, set, &o, &loader), WICK_ERR_INVALID);
    CHECK(strstr(wick_context_error(ctx), "samples 4 to 3 of each batch are no part") != NULL);
    TEARDOWN;
}

/* Batches ahead were made for another part when this one is asked for. */
TEST(a_part_that_moves_with_every_batch_is_made_as_in_the_whole) {
    SETUP(.slow = true);
    static const int64_t parts[][2] = {{0, 3}, {3, 7}, {1, 6}, {0, 100}, {2, 3}, {200, 300}, {5, 8}};
    for (int i = 0; i < WAYS; i++)
        for (size_t w = 0; w < WICK_COUNTOF(crews) && i != 5; w++) {
            wick_loader *part = NULL;
            wick_loader_options o = way(i);
            REQUIRE(wick_loader_new(ctx, set, &o, &loader) == WICK_OK);
            o.part_begin = 2, o.part_end = 5, o.workers = crews[w], o.prefetch = 4;
            REQUIRE(wick_loader_new(ctx, set, &o, &part) == WICK_OK);
            bool goes_on = true;
            for (size_t n = 0; goes_on; n++) {
                const int64_t *p = parts[(n + n / 3) % WICK_COUNTOF(parts)];
                REQUIRE(wick_loader_set_part(part, p[0], p[1]) == WICK_OK);
                goes_on = same_part(loader, part, p[0], p[1]);
            }
            CHECK_INT(wick_loader_set_part(part, 3, 3), WICK_ERR_INVALID);
            CHECK_INT(wick_loader_set_part(part, 0, 0), WICK_OK); /* all */
            CHECK(same_part(loader, part, 0, 300));
            wick_loader_free(&part);
            wick_loader_free(&loader);
        }
    TEARDOWN;
}

TEST(samples_are_padded_to_their_buckets_or_to_the_longest) {
    SETUP(.slow = false);
    for (int buckets = 0; buckets < 2; buckets++) {
        wick_loader_options o = {.batch = 8, .shuffle = true, .pad = {0, 0, -2}, .workers = 2};
        if (buckets) o.buckets[0] = 5, o.buckets[1] = 11, o.buckets[2] = 30, o.bucket_field = 2;
        REQUIRE(wick_loader_new(ctx, set, &o, &loader) == WICK_OK);
        CHECK(wick_loader_field(loader, 2)->rank == 3 && wick_loader_field(loader, 2)->dims[1] == -1 &&
              !wick_loader_field(loader, 4));
        int total = 0;
        while (wick_loader_take(loader, &b) == WICK_OK && b.count) {
            const float *x = b.fields[2];
            int64_t longest = 0;
            for (int64_t i = 0; i < b.count; i++) longest = WICK_MAX(longest, length_of(NULL, b.samples[i], 2));
            const int64_t bound = longest <= 5 ? 5 : longest <= 11 ? 11 : 30;
            CHECK_INT(b.padded[2], buckets ? bound : longest);
            CHECK(((uintptr_t)b.fields[2] & 63) == 0 && ((uintptr_t)b.fields[0] & 63) == 0);
            for (int64_t i = 0; i < b.count; i++, x += 2 * b.padded[2]) {
                const int64_t length = length_of(NULL, b.samples[i], 2);
                CHECK_INT(b.lengths[2][i], length);
                if (buckets) CHECK(length > (bound == 5 ? 0 : bound == 11 ? 5 : 11));
                for (int64_t k = 0; k < 2 * b.padded[2]; k++)
                    CHECK(x[k] == (k < 2 * length ? (float)(b.samples[i] * 100 + k) : -2));
            }
            total += (int)b.count;
        }
        CHECK_INT(total, SAMPLES);
        wick_loader_free(&loader);
    }
    const wick_loader_options bad[] = {{.batch = 4, .buckets = {5, 9}, .bucket_field = 2},
                                       {.batch = 4, .buckets = {9, 5}, .bucket_field = 2},
                                       {.batch = 4, .buckets = {9}},
                                       {.batch = 4, .buckets = {9}, .bucket_field = 4},
                                       {.batch = 4, .pad = {0, 0.5}},
                                       {.batch = 4, .pad = {0, NAN}},
                                       {.batch = 4, .pad = {0, 0x1p63}},
                                       {.batch = 4, .pad = {256}},
                                       {.batch = 4, .pad = {-1}}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CHECK_INT(wick_loader_new(ctx, set, &bad[i], &loader), WICK_ERR_INVALID);
    TEARDOWN;
}

TEST(draws_follow_the_weights) {
    SETUP(.slow = false);
    enum { DRAWS = 40000 };
    for (int balanced = 0; balanced < 2; balanced++) {
        const wick_loader_options o = {.batch = 400,
                                       .draws = DRAWS,
                                       .seed = 12,
                                       .balanced = balanced,
                                       .weights = balanced ? NULL : some_weights(),
                                       .workers = 2};
        REQUIRE(wick_loader_new(ctx, set, &o, &loader) == WICK_OK);
        static int64_t counts[SAMPLES];
        double classes[CLASSES] = {0}, sum = 0, chi = 0;
        int kinds = 0;
        memset(counts, 0, sizeof counts);
        while (wick_loader_take(loader, &b) == WICK_OK && b.count)
            for (int64_t k = 0; k < b.count; k++) counts[b.samples[k]]++, classes[label_of(NULL, b.samples[k])]++;
        for (int i = 0; i < SAMPLES; i++) sum += some_weights()[i];
        for (int i = 0; !balanced && i < SAMPLES; i++) {
            const double want = some_weights()[i] / sum * DRAWS;
            if (want == 0) CHECK_INT(counts[i], 0);
            else chi += pow((double)counts[i] - want, 2) / want, kinds++;
        }
        for (int k = 0; balanced && k < CLASSES; k++)
            chi += pow(classes[k] - DRAWS / CLASSES, 2) / (DRAWS / CLASSES), kinds++;
        const double freedom = kinds - 1;
        CHECK_MSG(chi < freedom + 4 * sqrt(2 * freedom), "chi-square %g of %d", chi, kinds);
        wick_loader_free(&loader);
    }
    static double none[SAMPLES], odd[SAMPLES] = {1, -1};
    const wick_loader_options bad[] = {{.batch = 4, .weights = none},
                                       {.batch = 4, .weights = odd},
                                       {.batch = 4, .draws = 5},
                                       {.batch = 4, .draws = -5, .balanced = true},
                                       {.batch = 4, .rank = 2, .ranks = 2},
                                       {.batch = 4, .rank = -1},
                                       {.batch = 4, .workers = -1},
                                       {.batch = 4, .workers = 1000},
                                       {.batch = 4, .prefetch = 61},
                                       {.batch = 4, .raw = true, .flip = true}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CHECK_INT(wick_loader_new(ctx, set, &bad[i], &loader), WICK_ERR_INVALID);
    TEARDOWN;
}

TEST(a_sample_that_cannot_be_read_is_reported_skipped_or_replaced) {
    for (int c = 0; c < 4; c++) {
        SETUP(.bad_every = 10);
        wick_loader_stats stats;
        wick_loader_options o = {.batch = 16, .workers = crews[c]};
        REQUIRE(wick_loader_new(ctx, set, &o, &loader) == WICK_OK);
        for (int i = 0; i < 3; i++) { /* the batch is tried again, and its first bad sample is named again */
            CHECK_INT(wick_loader_take(loader, &b), WICK_ERR_FORMAT);
            CHECK_STR_HAS(wick_context_error(ctx), "sample 3, in epoch 0: pictures.bin: record 3 is damaged");
            CHECK(b.count == 0);
            const wick_loader_place there = wick_loader_position(loader);
            const int64_t epoch = there.epoch, sample = there.sample;
            CHECK(epoch == 0 && sample == 0);
        }
        CHECK(wick_loader_seek(loader, 0, 4) == WICK_OK);
        CHECK_INT(wick_loader_take(loader, &b), WICK_ERR_FORMAT);
        CHECK_STR_HAS(wick_context_error(ctx), "sample 13");
        int64_t n = 77;
        CHECK(wick_loader_next(loader, NULL, NULL, &n) == WICK_ERR_FORMAT && n == 0);
        s.bad_every = 0; /* mended: it goes on where it was */
        CHECK(wick_loader_take(loader, &b) == WICK_OK && b.count == 16 && b.samples[0] == 4);
        wick_loader_free(&loader);

        s.bad_every = 10;
        o.on_fault = WICK_FAULT_SKIP;
        REQUIRE(wick_loader_new(ctx, set, &o, &loader) == WICK_OK);
        int64_t next = 0;
        while (wick_loader_take(loader, &b) == WICK_OK && b.count)
            for (int64_t k = 0; k < b.count; k++, next++) {
                next += is_bad(&s, next);
                CHECK(b.samples[k] == next && ((int64_t *)b.fields[3])[k] == next &&
                      ((float *)b.fields[2])[2 * k * b.padded[2]] == (float)(next * 100) &&
                      b.lengths[2][k] == length_of(NULL, next, 2));
            }
        CHECK_INT(next, SAMPLES);
        wick_loader_get_stats(loader, &stats);
        CHECK(stats.skipped == 20 && stats.substituted == 0 && stats.samples == SAMPLES - 20);
        wick_loader_free(&loader);
        o.batch = 1; /* batches of which nothing is left are passed over */
        REQUIRE(wick_loader_new(ctx, set, &o, &loader) == WICK_OK);
        int batches = 0;
        while (wick_loader_take(loader, &b) == WICK_OK && b.count) batches += b.count == 1 && !is_bad(&s, b.samples[0]);
        CHECK_INT(batches, SAMPLES - 20);
        wick_loader_free(&loader);

        o.batch = 16;
        o.on_fault = WICK_FAULT_SUBSTITUTE;
        REQUIRE(wick_loader_new(ctx, set, &o, &loader) == WICK_OK);
        next = 0;
        while (wick_loader_take(loader, &b) == WICK_OK && b.count)
            for (int64_t k = 0; k < b.count; k++, next++)
                CHECK(!is_bad(&s, b.samples[k]) && (is_bad(&s, next) || b.samples[k] == next) &&
                      ((int64_t *)b.fields[3])[k] == b.samples[k] &&
                      b.lengths[2][k] == length_of(NULL, b.samples[k], 2));
        CHECK_INT(next, SAMPLES);
        wick_loader_get_stats(loader, &stats);
        /* of the next epoch, too, some have been made */
        CHECK(stats.skipped == 0 && stats.substituted >= 20 && stats.samples == SAMPLES);
        wick_loader_free(&loader);
        TEARDOWN;
    }
}

TEST(a_loader_may_be_left_at_any_moment) {
    SETUP(.slow = false);
    enum { TIMES = 1000 };
    for (int i = 0; i < TIMES; i++) {
        s.slow = test_rand() & 1;
        s.bad_every = test_rand() % 4 ? 0 : 40;
        const wick_loader_options o = {.batch = test_rand_int(1, 30),
                                       .shuffle = true,
                                       .seed = test_rand(),
                                       .workers = test_rand_int(0, 4),
                                       .prefetch = test_rand_int(0, 6),
                                       .as_ready = test_rand() & 1,
                                       .adaptive = test_rand() & 1};
        REQUIRE(wick_loader_new(ctx, set, &o, &loader) == WICK_OK);
        for (int k = test_rand_int(0, 12); k > 0; k--) {
            if (test_rand() % 8 == 0)
                CHECK(wick_loader_seek(loader, test_rand_int(0, 3), test_rand_int(0, SAMPLES)) == WICK_OK);
            const wick_status status = wick_loader_take(loader, &b);
            CHECK(status == WICK_OK || (s.bad_every && status == WICK_ERR_FORMAT));
            for (int64_t j = 0; j < b.count; j++) CHECK(((int64_t *)b.fields[3])[j] == b.samples[j]);
        }
        if (test_rand() & 1) usleep((useconds_t)test_rand_int(0, 200));
        wick_loader_free(&loader);
    }
    test_count("loaders left in the middle", TIMES);
    TEARDOWN;
}

TEST(a_batch_costs_no_allocation_and_all_memory_is_accounted_for) {
    counting memory = {.fail_at = -1};
    const wick_allocator allocator = counting_allocator(&memory);
    wick_context *ctx;
    REQUIRE(wick_context_new(&(wick_context_options){.threads = 1, .allocator = &allocator}, &ctx) == WICK_OK);
    for (int w = 0; w < WAYS; w++) {
        source s = {.bad_every = w == 4 || w == 5 ? 10 : 0};
        wick_dataset *set = new_set(ctx, &s, SAMPLES);
        wick_loader *loader;
        wick_loader_options o = way(w);
        wick_loader_stats stats;
        wick_batch b;
        o.workers = w % 3;
        const int64_t bytes = memory.live_bytes;
        REQUIRE(set && wick_loader_new(ctx, set, &o, &loader) == WICK_OK);
        wick_loader_get_stats(loader, &stats);
        CHECK_INT(stats.memory, memory.live_bytes - bytes);
        CHECK_INT(stats.memory_peak, stats.memory);
        const int64_t calls = memory.calls;
        for (int i = 0; i < 200; i++) CHECK(wick_loader_take(loader, &b) == WICK_OK);
        CHECK_INT(memory.calls, calls);
        wick_loader_free(&loader);
        CHECK_INT(memory.live_bytes, bytes);
        wick_dataset_free(&set);
    }
    /* every allocation in turn is refused */
    source s = {0};
    wick_dataset *set = new_set(ctx, &s, SAMPLES);
    wick_loader_options o = way(2);
    o.workers = 2;
    o.balanced = true;
    int failed = 0;
    const int64_t live = memory.live;
    for (int limit = 0; limit < 200; limit++) {
        wick_loader *loader;
        memory.fail_at = memory.calls + limit;
        const wick_status status = wick_loader_new(ctx, set, &o, &loader);
        memory.fail_at = -1;
        if (status == WICK_OK) {
            wick_loader_free(&loader);
            break;
        }
        CHECK_INT(status, WICK_ERR_NOMEM);
        CHECK(!loader && memory.live == live);
        failed++;
    }
    CHECK_MSG(failed > 20 && failed < 200, "%d", failed);
    wick_dataset_free(&set);
    wick_context_free(&ctx);
    CHECK_INT(memory.live, 0);
}

static wick_status one_number(void *user, int64_t index, void *const *out, wick_fault *fault) {
    (void)user, (void)fault;
    if (out[0]) *(int64_t *)out[0] = index;
    return WICK_OK;
}
TEST(what_it_costs_is_told) {
    SETUP(.slow = true);
    wick_loader_stats stats;
    for (int workers = 0; workers < 3; workers++) {
        const wick_loader_options o = {.batch = 10, .workers = workers, .mean = 0.5};
        REQUIRE(wick_loader_new(ctx, set, &o, &loader) == WICK_OK);
        wick_loader_get_stats(loader, &stats);
        CHECK(stats.samples == 0 && stats.get.count == 0 && strstr(stats.advice, "Too few"));
        for (int i = 0; i < 43; i++) CHECK(wick_loader_take(loader, &b) == WICK_OK);
        wick_loader_get_stats(loader, &stats);
        CHECK_INT(stats.samples, 2 * SAMPLES);
        CHECK_INT(stats.batches, 42);
        const wick_timing *spans[] = {&stats.get, &stats.transform, &stats.collate, &stats.make, &stats.wait};
        for (int k = 0; k < 5; k++) {
            const wick_timing *t = spans[k];
            CHECK_MSG(t->count >= 42 && t->min <= t->median && t->median <= t->p95 && t->p95 <= t->p99 &&
                          t->p99 <= t->max && t->mean >= t->min && t->mean <= t->max &&
                          fabs(t->total - t->mean * (double)t->count) <= 1e-9 * t->total + 1e-12,
                      "span %d: %llu, %g %g %g %g %g", k, (unsigned long long)t->count, t->min, t->median, t->p95,
                      t->p99, t->max);
        }
        CHECK(stats.samples_per_second > 0 && stats.batches_per_second > 0 && stats.waiting >= 0 &&
              stats.waiting <= 1 && stats.full >= 0);
        CHECK(fabs(stats.efficiency - stats.samples_per_second * (1 - fmin(stats.make.p95, 0.5)) *
                                          (1 - fmin((double)stats.memory_peak / 2e9, 0.5))) < 1e-6 * stats.efficiency);
        CHECK(stats.workers == workers && stats.prefetch == (workers ? WICK_MAX(2, workers + 1) : 0) && *stats.advice);
        if (!workers) CHECK_STR_HAS(stats.advice, "add workers");
        wick_loader_free(&loader);
    }
    TEARDOWN;
}

TEST(a_cache_is_timed_also_below_sets_made_of_others) {
    SETUP(.slow = true);
    wick_dataset *image, *kept, *other, *twice, *both;
    wick_loader_stats stats;
    const wick_dataset_source plain = {
        .count = SAMPLES, .n_fields = 1, .fields = {{"one", WICK_I64, 0, {0}}}, .get = one_number, .user = &s};
    REQUIRE(wick_dataset_new(ctx, &plain, &image) == WICK_OK &&
            wick_dataset_cached(ctx, set, 1 << 20, &kept) == WICK_OK &&
            wick_dataset_cached(ctx, image, 1 << 20, &other) == WICK_OK);
    REQUIRE(wick_dataset_zip(ctx, 2, (const wick_dataset *const[]){kept, other}, &both) == WICK_OK &&
            wick_dataset_repeat(ctx, both, 3, &twice) == WICK_OK);
    for (int workers = 0; workers < 3; workers += 2) {
        REQUIRE(wick_loader_new(ctx, twice, &(wick_loader_options){.batch = 10, .workers = workers}, &loader) ==
                WICK_OK);
        do CHECK(wick_loader_take(loader, &b) == WICK_OK);
        while (b.count);
        wick_loader_free(&loader);
        /* the stats are the sets' */
        REQUIRE(wick_loader_new(ctx, twice, &(wick_loader_options){.batch = 10, .workers = 0}, &loader) == WICK_OK);
        wick_loader_get_stats(loader, &stats);
        const uint64_t asked = 2 * (uint64_t)(workers ? 2 : 1) * 3 * SAMPLES;
        const uint64_t counted = stats.cache_hits + stats.cache_misses; /* workers begin the next epoch, too */
        CHECK((workers ? counted >= asked : counted == asked) && stats.cache_misses >= 2 * SAMPLES &&
              stats.cache_misses < asked / 2 && stats.cache_bytes > 0);
        const wick_timing *spans[] = {&stats.cache_hit, &stats.cache_miss};
        const uint64_t counts[] = {stats.cache_hits, stats.cache_misses};
        for (int k = 0; k < 2; k++) {
            const wick_timing *t = spans[k];
            CHECK_MSG(t->count == counts[k] && t->min > 0 && t->min <= t->median && t->median <= t->p95 &&
                          t->p95 <= t->p99 && t->p99 <= t->max &&
                          fabs(t->total - t->mean * (double)t->count) <= 1e-9 * t->total,
                      "span %d: %llu of %llu", k, (unsigned long long)t->count, (unsigned long long)counts[k]);
        }
        wick_loader_free(&loader);
    }
    wick_dataset_free(&twice), wick_dataset_free(&both), wick_dataset_free(&other), wick_dataset_free(&kept),
        wick_dataset_free(&image);
    TEARDOWN;
}

/* Which samples are said to come, and when. */
static _Atomic int64_t said[SAMPLES];
static void note_ahead(void *user, const int64_t *indices, int64_t n) {
    (void)user;
    for (int64_t i = 0; i < n; i++) said[indices[i]]++;
}
static wick_status image_alone(void *user, int64_t index, void *const *out, wick_fault *fault) {
    return get(user, index, (void *const[]){out[0], NULL, NULL, NULL}, fault);
}
TEST(what_is_ahead_is_said_once_to_sets_made_of_others_too) {
    SETUP(.slow = false);
    wick_dataset *plain, *part, *both;
    const wick_dataset_source d = {.count = SAMPLES,
                                   .n_fields = 1,
                                   .fields = {{"image", WICK_U8, 3, {1, HEIGHT, WIDTH}}},
                                   .get = image_alone,
                                   .ahead = note_ahead,
                                   .user = &s};
    const int64_t odd[] = {1, 3, 5, 7, 9, 11};
    REQUIRE(wick_dataset_new(ctx, &d, &plain) == WICK_OK && wick_dataset_subset(ctx, plain, 6, odd, &part) == WICK_OK &&
            wick_dataset_concat(ctx, 2, (const wick_dataset *const[]){part, plain}, &both) == WICK_OK);
    wick_dataset_ahead(both, (const int64_t[]){0, 5, -1, 6, 6 + SAMPLES, 200}, 6);
    int64_t total = 0;
    for (int i = 0; i < SAMPLES; i++) total += said[i];
    CHECK(total == 4 && said[1] == 1 && said[11] == 1 && said[0] == 1 && said[194] == 1);
    wick_dataset_ahead(set, odd, 6); /* a set that can't begin */
    CHECK(wick_dataset_limit(ctx, plain, 10) == WICK_OK);
    for (int i = 0; i < SAMPLES; i++) said[i] = 0;
    wick_dataset_ahead(plain, (const int64_t[]){0, 9, 10}, 3);
    for (int i = total = 0; i < SAMPLES; i++) total += said[i];
    CHECK_INT(total, 2);
    /* A loader says its first batch; the next ones as long as a disk is read. */
    for (int i = 0; i < SAMPLES; i++) said[i] = 0;
    REQUIRE(wick_loader_new(ctx, plain, &(wick_loader_options){.batch = 4, .workers = 1}, &loader) == WICK_OK &&
            wick_loader_take(loader, &b) == WICK_OK);
    for (int i = total = 0; i < SAMPLES; i++) total += said[i];
    CHECK(total >= 4 && total <= 10);
    wick_loader_free(&loader);
    wick_dataset_free(&both), wick_dataset_free(&part), wick_dataset_free(&plain);
    TEARDOWN;
}

/* A buffer as others make it: full of what comes first, one of it drawn, the next one in its stead. What is drawn is a
 * number of the order's; here only what can be drawn is checked, and how often. */
TEST(a_shuffle_buffer_draws_from_what_is_near) {
    SETUP(.slow = false);
    for (int64_t buffer = 1; buffer <= 2 * SAMPLES; buffer = 3 * buffer + 1) {
        int first[SAMPLES] = {0};
        const int64_t n = WICK_MIN(buffer, SAMPLES);
        uint64_t hashes[2][MAX_BATCHES];
        for (int workers = 0; workers < 3; workers += 2) {
            REQUIRE(wick_loader_new(
                        ctx, set,
                        &(wick_loader_options){
                            .batch = 16, .shuffle = true, .seed = 7, .shuffle_buffer = buffer, .workers = workers},
                        &loader) == WICK_OK);
            CHECK(hash_all(loader, 2, hashes[workers > 0]) == 2 * ((SAMPLES + 15) / 16 + 1));
            wick_loader_free(&loader);
        }
        CHECK(memcmp(hashes[0], hashes[1], 2 * ((SAMPLES + 15) / 16 + 1) * sizeof **hashes) == 0);
        REQUIRE(
            wick_loader_new(ctx, set,
                            &(wick_loader_options){
                                .batch = SAMPLES, .shuffle = true, .seed = 9, .shuffle_buffer = buffer, .raw = true},
                            &loader) == WICK_OK);
        enum { EPOCHS = 2000 };
        for (int e = 0; e < EPOCHS; e++) {
            bool gone[SAMPLES] = {false};
            REQUIRE(wick_loader_seek(loader, e, 0) == WICK_OK && wick_loader_take(loader, &b) == WICK_OK &&
                    b.count == SAMPLES);
            first[b.samples[0]]++;
            for (int64_t i = 0; i < SAMPLES; i++) {
                CHECK(b.samples[i] < i + buffer && !gone[b.samples[i]]);
                gone[b.samples[i]] = true;
            }
        }
        /* The first one is uniform over the buffer: chi^2 within 5 deviations of its mean. */
        double chi = 0;
        for (int64_t i = 0; i < n; i++)
            chi +=
                (first[i] - (double)EPOCHS / (double)n) * (first[i] - (double)EPOCHS / (double)n) * (double)n / EPOCHS;
        CHECK_MSG(fabs(chi - (double)(n - 1)) <= 5 * sqrt(2.0 * (double)n), "a buffer of %lld: chi^2 is %g",
                  (long long)buffer, chi);
        wick_loader_free(&loader);
    }
    CHECK_INT(wick_loader_new(ctx, set, &(wick_loader_options){.batch = 4, .shuffle_buffer = 8}, &loader),
              WICK_ERR_INVALID);
    CHECK_INT(
        wick_loader_new(ctx, set, &(wick_loader_options){.batch = 4, .shuffle = true, .shuffle_buffer = -1}, &loader),
        WICK_ERR_INVALID);
    CHECK_INT(wick_loader_new(
                  ctx, set, &(wick_loader_options){.batch = 4, .shuffle = true, .balanced = true, .shuffle_buffer = 8},
                  &loader),
              WICK_ERR_INVALID);
    TEARDOWN;
}

/* A step with a hidden layer, whose memory grows with the batch. */
static wick_status hidden_step(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    wick_tensor *const *w = user;
    (void)ctx;
    wick_tensor *x = wick_reshape(in[0], 2, (const int64_t[]){wick_tensor_dim(in[0], 0), HEIGHT * WIDTH});
    out[0] = wick_cross_entropy(wick_matmul(wick_relu(wick_matmul(x, w[0])), w[1]), in[1]);
    return WICK_OK;
}
TEST(the_largest_batch_is_what_loader_and_step_have_memory_for_together) {
    SETUP(.slow = false);
    const int64_t hidden[] = {HEIGHT * WIDTH, 32}, classes[] = {32, CLASSES};
    wick_tensor *w[] = {wick_random_normal(ctx, WICK_F32, 2, hidden), wick_random_normal(ctx, WICK_F32, 2, classes)};
    const wick_spec open[] = {{"x", WICK_F32, 4, {WICK_BATCH, 1, HEIGHT, WIDTH}}, {"y", WICK_I64, 1, {WICK_BATCH}}};
    const wick_loader_step step = {hidden_step, w, 2, open, 1, NULL};
    int bounded = 0;
    for (int workers = 0; workers < 3; workers++)
        for (size_t bytes = (size_t)1 << 15; bytes <= (size_t)1 << 18; bytes += bytes / 2) {
            wick_loader_options o = {.batch = 150, .shuffle = true, .seed = 3, .workers = workers, .latency = 1e-9};
            wick_batch_fit fit;
            wick_loader_stats stats;
            const wick_status status = wick_loader_max_batch(ctx, set, &o, &step, bytes, &fit);
            if (status == WICK_ERR_NOMEM) {
                CHECK_STR_HAS(wick_context_error(ctx), "one sample takes");
                continue;
            }
            CHECK_MSG(status == WICK_OK && fit.batch >= 1 && fit.batch <= 150 && fit.bytes <= bytes, "%s",
                      wick_context_error(ctx));
            CHECK(fit.batch == 150 ? fit.next_bytes == 0 : fit.next_bytes > bytes);
            bounded += fit.batch < 150;
            /* That is what both take. */
            size_t both[2];
            for (int more = 0; more < 2; more++) {
                wick_plan *plan;
                wick_spec specs[2] = {open[0], open[1]};
                o.batch = specs[0].dims[0] = specs[1].dims[0] = fit.batch + more;
                REQUIRE(wick_compile(ctx, hidden_step, w, 2, specs, 1, NULL, &plan) == WICK_OK &&
                        wick_loader_new(ctx, set, &o, &loader) == WICK_OK);
                const wick_plan_info i = wick_plan_get_info(plan);
                for (int k = 0; k < 20 && !more; k++)
                    CHECK(wick_loader_take(loader, &b) == WICK_OK && b.count <= fit.batch);
                wick_loader_get_stats(loader, &stats);
                both[more] = i.arena_bytes + i.scratch_bytes + i.output_bytes + i.state_bytes + stats.memory_peak;
                wick_loader_free(&loader);
                wick_plan_free(&plan);
            }
            CHECK_INT(both[0], fit.bytes);
            if (fit.next_bytes) CHECK_INT(both[1], fit.next_bytes);
        }
    CHECK_MSG(bounded > 3, "%d", bounded);
    wick_batch_fit fit;
    CHECK_INT(wick_loader_max_batch(ctx, set, &(wick_loader_options){.workers = 1}, &step, (size_t)1 << 30, &fit),
              WICK_OK);
    CHECK_INT(fit.batch, SAMPLES); /* no more than there are */
    CHECK_INT(wick_loader_max_batch(ctx, set, &(wick_loader_options){.workers = -1}, &step, (size_t)1 << 30, &fit),
              WICK_ERR_INVALID);
    CHECK_INT(wick_loader_max_batch(ctx, set, NULL, &step, (size_t)1 << 30, &fit), WICK_ERR_INVALID);
    TEARDOWN;
}

int main(int argc, char **argv) { return test_main(argc, argv); }
