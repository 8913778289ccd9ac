/* How the loader keeps pace: what waiting is, batches that follow a latency, workers that follow the caller, samples
 * taken many at once. */
#include "loader_set.h"

/* Samples that sleep: the time is real, and no CPU's. */
static wick_status sleepy(void *user, int64_t index, void *const *out, wick_fault *fault) {
    usleep(2000);
    return get(user, index, (void *const[]){out[0], out[1], NULL, NULL}, fault);
}
TEST(waiting_is_told_from_computing) {
    for (int workers = 0; workers < 3; workers += 2) {
        source s = {0};
        wick_context *ctx;
        wick_loader *loader;
        wick_loader_stats stats;
        wick_batch b;
        wick_dataset *set;
        const wick_dataset_source d = {
            .count = 40,
            .n_fields = 2,
            .fields = {{"image", WICK_U8, 3, {1, HEIGHT, WIDTH}}, {"label", WICK_I64, 0, {0}}},
            .get = sleepy,
            .user = &s};
        REQUIRE(wick_context_new(&(wick_context_options){.threads = 1}, &ctx) == WICK_OK &&
                wick_dataset_new(ctx, &d, &set) == WICK_OK);
        REQUIRE(wick_loader_new(ctx, set, &(wick_loader_options){.batch = 8, .workers = workers}, &loader) == WICK_OK);
        wick_loader_get_stats(loader, &stats);
        CHECK(stats.cpu == 0 && stats.io_wait == 0);
        do REQUIRE(wick_loader_take(loader, &b) == WICK_OK);
        while (b.count);
        wick_loader_get_stats(loader, &stats);
        CHECK_MSG(stats.io_wait > 0.5 && stats.io_wait <= 1 && stats.cpu > 0 && stats.cpu < 0.5 * (workers + 1),
                  "io_wait %g, cpu %g", stats.io_wait, stats.cpu);
        wick_loader_free(&loader);
        wick_dataset_free(&set);
        wick_context_free(&ctx);
    }
}

TEST(a_batch_follows_a_latency_and_the_order_stays) {
    SETUP(.slow = false);
    CHECK_INT(wick_batch_follow(64, 0.2, 0.1, 100), 48);
    CHECK_INT(wick_batch_follow(1, 0.2, 0.1, 100), 1);
    CHECK_INT(wick_batch_follow(2, 0.2, 0.1, 100), 1);
    CHECK_INT(wick_batch_follow(64, 0.1, 0.1, 100), 64);
    CHECK_INT(wick_batch_follow(64, 0.05, 0.1, 100), 64);
    CHECK_INT(wick_batch_follow(64, 0.04, 0.1, 100), 80);
    CHECK_INT(wick_batch_follow(1, 0.04, 0.1, 100), 2);
    CHECK_INT(wick_batch_follow(90, 0.04, 0.1, 100), 100);
    for (int workers = 0; workers < 3; workers++) {
        wick_loader_options o = {.batch = 32, .shuffle = true, .seed = 4, .flip = true, .workers = workers};
        int64_t order[2 * SAMPLES], at = 0, smallest = 32, largest = 0, middle = 0;
        static float pixels[2 * SAMPLES][HEIGHT * WIDTH];
        REQUIRE(wick_loader_new(ctx, set, &o, &loader) == WICK_OK);
        for (int epochs = 0; epochs < 2; at += b.count) {
            REQUIRE(wick_loader_take(loader, &b) == WICK_OK);
            epochs += !b.count;
            memcpy(order + at, b.samples ? b.samples : order, (size_t)b.count * sizeof *order);
            memcpy(pixels + at, b.fields[0] ? b.fields[0] : pixels, (size_t)b.count * sizeof *pixels);
        }
        wick_loader_free(&loader);
        o.latency = 1e-3;
        REQUIRE(wick_loader_new(ctx, set, &o, &loader) == WICK_OK);
        /* At first each batch takes too long, then hardly any time: sizes go down to 1 and grow again. */
        for (int64_t k = 0, epochs = 0; epochs < 2; k += b.count) {
            REQUIRE(wick_loader_take(loader, &b) == WICK_OK);
            epochs += !b.count;
            REQUIRE(k + b.count <= 2 * SAMPLES);
            CHECK(!b.count || (memcmp(order + k, b.samples, (size_t)b.count * sizeof *order) == 0 &&
                               memcmp(pixels + k, b.fields[0], (size_t)b.count * sizeof *pixels) == 0));
            if (b.count && k < SAMPLES) smallest = WICK_MIN(smallest, b.count), usleep(2000);
            if (b.count && k >= SAMPLES) largest = WICK_MAX(largest, b.count);
            /* a place in the middle is a number of samples, whatever the batches were */
            if (!middle && k > 100 && epochs == 0) {
                int64_t epoch, sample;
                wick_loader *other;
                wick_batch next;
                middle = k + b.count;
                wick_loader_position(loader, &epoch, &sample);
                CHECK(epoch == 0 && sample == middle);
                REQUIRE(wick_loader_new(ctx, set,
                                        &(wick_loader_options){.batch = 7, .shuffle = true, .seed = 4, .flip = true},
                                        &other) == WICK_OK);
                CHECK(wick_loader_seek(other, epoch, sample) == WICK_OK && wick_loader_take(other, &next) == WICK_OK &&
                      next.samples[0] == order[middle]);
                wick_loader_free(&other);
            }
        }
        /* those that were made ahead keep their size */
        CHECK_MSG(smallest <= (workers ? 24 : 1) && largest > 1 && middle, "batches from %lld to %lld",
                  (long long)smallest, (long long)largest);
        CHECK(wick_loader_set_batch(loader, 32) == WICK_OK && wick_loader_set_batch(loader, 33) == WICK_ERR_INVALID &&
              wick_loader_set_batch(loader, 0) == WICK_ERR_INVALID);
        wick_loader_free(&loader);
    }
    CHECK_INT(wick_loader_new(ctx, set, &(wick_loader_options){.batch = 4, .latency = 1, .as_ready = true}, &loader),
              WICK_ERR_INVALID);
    CHECK_INT(wick_loader_new(ctx, set, &(wick_loader_options){.batch = 4, .latency = NAN}, &loader), WICK_ERR_INVALID);
    TEARDOWN;
}

/* Samples that take time, but no CPU's: a caller that waits gets all workers, and one that does not keeps one. The
 * batches are the same. */
TEST(workers_follow_what_the_caller_waits_for) {
    SETUP(.late = false);
    source waits = {.late = true};
    wick_dataset *slow = new_set(ctx, &waits, SAMPLES);
    wick_loader_stats stats;
    uint64_t want[64], got[64];
    REQUIRE(slow != NULL);
    REQUIRE(wick_loader_new(ctx, set, &(wick_loader_options){.batch = 6, .shuffle = true, .seed = 8}, &loader) ==
            WICK_OK);
    const int n = hash_all(loader, 1, want);
    wick_loader_free(&loader);
    REQUIRE(n == 35 &&
            wick_loader_new(ctx, slow,
                            &(wick_loader_options){
                                .batch = 6, .shuffle = true, .seed = 8, .workers = 4, .prefetch = 6, .adaptive = true},
                            &loader) == WICK_OK);
    wick_loader_get_stats(loader, &stats);
    CHECK(stats.workers == 1 && stats.prefetch == 2);
    CHECK(hash_all(loader, 1, got) == n && memcmp(want, got, (size_t)n * sizeof *want) == 0);
    for (int epochs = 0; epochs < 2; epochs += !b.count) CHECK(wick_loader_take(loader, &b) == WICK_OK);
    wick_loader_get_stats(loader, &stats);
    CHECK_MSG(stats.workers == 4 && stats.prefetch > 2 && stats.prefetch <= 6, "%d workers, %d ahead", stats.workers,
              stats.prefetch);
    for (int i = 0; i < 400 && stats.workers > 2; i++) {
        CHECK(wick_loader_take(loader, &b) == WICK_OK);
        usleep(15000);
        wick_loader_get_stats(loader, &stats);
    }
    CHECK_MSG(stats.workers <= 2, "%d workers", stats.workers);
    CHECK(wick_loader_seek(loader, 0, 0) == WICK_OK && hash_all(loader, 1, got) == n &&
          memcmp(want, got, (size_t)n * sizeof *want) == 0);
    wick_loader_free(&loader);
    wick_dataset_free(&slow);
    TEARDOWN;
}

/* Whether at some look a worker took `least` to `most` samples at once: others may have had the CPU meanwhile. */
static bool takes_at_once(wick_loader *l, int looks, int64_t least, int64_t most) {
    wick_batch b;
    wick_loader_stats stats = {0};
    for (int i = 0; i < looks; i++) {
        CHECK(wick_loader_take(l, &b) == WICK_OK);
        wick_loader_get_stats(l, &stats);
        if (i > 8 && stats.at_once >= least && stats.at_once <= most) return true;
    }
    CHECK_MSG(false, "%lld samples at once", (long long)stats.at_once);
    return false;
}

TEST(quick_samples_are_taken_many_at_once) {
    SETUP(.late = false);
    source waits = {.late = true};
    static const uint8_t numbers[4096] = {1, 2, 3};
    wick_dataset *quick, *slow = new_set(ctx, &waits, SAMPLES);
    wick_loader_stats stats;
    const wick_spec field = {.name = "n", .dtype = WICK_U8, .rank = 0};
    REQUIRE(wick_dataset_of_arrays(ctx, 4096, 1, &field, (const void *[]){numbers}, -1, 0, &quick) == WICK_OK);
    REQUIRE(slow != NULL);
    for (int workers = 0; workers < 3; workers++) {
        const wick_loader_options o = {.batch = 64, .raw = true, .workers = workers};
        REQUIRE(wick_loader_new(ctx, quick, &o, &loader) == WICK_OK);
        wick_loader_get_stats(loader, &stats);
        CHECK_INT(stats.at_once, 1); /* before anything is known */
        takes_at_once(loader, 20000, 8, INT64_MAX);
        wick_loader_free(&loader);
    }
    /* 0.4 ms each, or more */
    REQUIRE(wick_loader_new(ctx, slow, &(wick_loader_options){.batch = 4, .raw = true, .workers = 2}, &loader) ==
            WICK_OK);
    takes_at_once(loader, 200, 1, 1);
    wick_loader_free(&loader);
    wick_dataset_free(&slow);
    wick_dataset_free(&quick);
    TEARDOWN;
}

int main(int argc, char **argv) { return test_main(argc, argv); }
