/* How the loader keeps pace: what waiting is, batches that follow a latency, workers that follow the caller, samples
 * taken many at once. */
#include "data/loader/loader_state.h"
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
                const wick_loader_place there = wick_loader_position(loader);
                epoch = there.epoch, sample = there.sample;
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

/* 8 batches in 8 ms of the test's own clock, of which the caller waited `percent`; `ready` of 4 were made. Whether the
 * workers changed at the last one, as they never do before it. */
static uint64_t clock_ns = 1;
static bool look(wick_pace *p, int percent, int ready) {
    for (int i = 0; i < 8; i++) {
        const int before = p->workers;
        const bool changed = wick_pace_follow(p, clock_ns += 1000000, (uint64_t)percent * 10000, ready, 4);
        CHECK(changed == (p->workers != before) && (i == 7 || !changed));
        if (i == 7) return changed;
    }
    return false;
}

TEST(workers_and_batches_ahead_follow_waiting) {
    wick_pace p = {.workers = 1, .most_workers = 3, .ahead = 2, .most_ahead = 4};
    CHECK(!wick_pace_follow(&p, clock_ns, 1000000000, 0, 4)); /* from here on */
    /* more than 5 % is waiting: workers first, then batches ahead, as far as there are any */
    static const int grows[][2] = {{2, 2}, {3, 2}, {3, 3}, {3, 4}, {3, 4}};
    CHECK(!look(&p, 5, 0) && p.workers == 1 && p.ahead == 2);
    for (size_t i = 0; i < WICK_COUNTOF(grows); i++) {
        CHECK(look(&p, 6, 0) == (i < 2));
        CHECK_MSG(p.workers == grows[i][0] && p.ahead == grows[i][1], "look %zu: %d workers, %d ahead", i, p.workers,
                  p.ahead);
    }
    /* less than 1 % twice in a row, while three in four are ready: one worker less */
    CHECK(!look(&p, 0, 4) && !look(&p, 1, 4) && !look(&p, 0, 3) && !look(&p, 0, 2) && !look(&p, 0, 4));
    CHECK(look(&p, 0, 3) && p.workers == 2);
    CHECK(!look(&p, 0, 4) && look(&p, 0, 4) && p.workers == 1);
    CHECK(!look(&p, 0, 4) && !look(&p, 0, 4) && !look(&p, 0, 4) && p.workers == 1);
    /* with one it waits: two are the fewest from then on */
    CHECK(look(&p, 50, 0) && p.workers == 2);
    for (int i = 0; i < 6; i++) CHECK(!look(&p, 0, 4) && p.workers == 2 && p.ahead == 4);
    CHECK(look(&p, 50, 0) && p.workers == 3);
    for (int i = 0; i < 6; i++) CHECK(!look(&p, 0, 4) && p.workers == 3);
    CHECK_INT(wick_pace_at_once(64, 0), 1);
    CHECK_INT(wick_pace_at_once(0, 1000), 1);
    CHECK_INT(wick_pace_at_once(64, 64 * 20001), 1);
    CHECK_INT(wick_pace_at_once(64, 64 * 10000), 2);
    CHECK_INT(wick_pace_at_once(64, 64 * 50), 400);
}

/* How long the caller has waited by the loader's own histogram, which is not the pace's sum. */
static uint64_t waited(wick_loader *l) {
    wick_loader_stats stats;
    wick_loader_get_stats(l, &stats);
    return (uint64_t)llround(stats.wait.total * 1e9);
}

/* Two looks, made up, in which all was ready: one worker less. */
static void need_none(wick_loader *l) {
    l->pace.look = (struct wick_pace_look){0};
    l->pace.floor = l->pace.quiet = 0;
    for (int i = 0; i < 17; i++) wick_loader_waited(l, 1 + (uint64_t)i * 1000000, 0, 1, 1);
    l->pace.look = (struct wick_pace_look){0};
}

/* What is measured gets to the decision, and the decision to the workers; no look here depends on how long it took. */
TEST(a_loader_follows_what_its_caller_waits_for) {
    SETUP(.late = false);
    source waits = {.late = true};
    wick_dataset *slow = new_set(ctx, &waits, SAMPLES);
    const wick_loader_options plain = {.batch = 6, .shuffle = true, .seed = 8}, adaptive = {.batch = 6,
                                                                                            .shuffle = true,
                                                                                            .seed = 8,
                                                                                            .workers = 4,
                                                                                            .prefetch = 6,
                                                                                            .adaptive = true};
    wick_loader_stats stats;
    uint64_t want[64], got[64];
    REQUIRE(slow != NULL && wick_loader_new(ctx, set, &plain, &loader) == WICK_OK);
    const int n = hash_all(loader, 1, want);
    wick_loader_free(&loader);
    REQUIRE(n == 35 && wick_loader_new(ctx, slow, &adaptive, &loader) == WICK_OK);
    wick_loader_get_stats(loader, &stats);
    CHECK(stats.workers == 1 && stats.prefetch == 2);
    /* the first batch begins a look, and the ninth ends it */
    uint64_t first = 0;
    for (int i = 0; i < 9; i++) {
        CHECK_INT(wick_loader_take(loader, &b), WICK_OK);
        CHECK_INT(loader->pace.look.batches, i % 8);
        CHECK_INT(loader->pace.look.since == loader->handed, i == 0 || i == 8);
        if (i == 0) first = waited(loader);
        if (i < 8) CHECK_INT(loader->pace.look.waited, waited(loader) - first);
    }
    /* a caller that only takes gets all of both, when other programs let it take */
    const _Atomic uint64_t *last = &loader->scratches[4].real; /* ns that the fourth worker has made samples for */
    CHECK_INT(atomic_load(last), 0);
    for (int i = 0; i < 20000 && (stats.workers < 4 || stats.prefetch < 6 || !atomic_load(last)); i++) {
        CHECK_INT(wick_loader_take(loader, &b), WICK_OK);
        wick_loader_get_stats(loader, &stats);
        CHECK(stats.workers >= 1 && stats.workers <= 4 && stats.prefetch >= 2 && stats.prefetch <= 6);
    }
    CHECK_MSG(stats.workers == 4 && stats.prefetch == 6 && atomic_load(last), "%d workers, %d ahead", stats.workers,
              stats.prefetch);
    /* with fewer the others rest, and the batches are the same */
    for (int workers = 3; workers >= 1; workers--) {
        uint64_t rest = 0;
        while (loader->pace.workers > workers) need_none(loader);
        REQUIRE(loader->pace.workers == workers && wick_loader_seek(loader, 0, 0) == WICK_OK);
        for (int w = workers + 1; w <= 4; w++) rest -= atomic_load(&loader->scratches[w].real);
        for (int i = 0; i < 7; i++) /* before the next look's end */
            CHECK(wick_loader_take(loader, &b) == WICK_OK && hash_batch(loader, &b) == want[i]);
        for (int w = workers + 1; w <= 4; w++) rest += atomic_load(&loader->scratches[w].real);
        CHECK_INT(rest, 0);
        wick_loader_get_stats(loader, &stats);
        CHECK_INT(stats.workers, workers);
        CHECK(wick_loader_seek(loader, 0, 0) == WICK_OK && hash_all(loader, 1, got) == n &&
              memcmp(want, got, (size_t)n * sizeof *want) == 0);
    }
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
