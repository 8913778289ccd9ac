/* mixup and cutmix: against PyTorch and NumPy, on every tier, for any number of workers, with samples that cannot be
 * read, from texts right and wrong. */
#include "io/safetensors.h"

#include "base/counting_alloc.h"
#include "context.h"
#include "test.h"
#include "wick/wick.h"

enum { COUNT = 47, CLASSES = 4, H = 6, W = 5, PIXELS = 3 * H * W };

static double off(const float *x, const wick_safetensors_tensor *want) {
    double most = 0;
    for (size_t k = 0; k < want->bytes / sizeof(float); k++) {
        float y;
        memcpy(&y, (const char *)want->data + k * sizeof y, sizeof y);
        const double d = fabs((double)x[k] - (double)y) / fmax(1, fabs((double)y));
        most = d <= most ? most : d; /* NaN stays */
    }
    return most;
}

TEST(batches_are_mixed_as_pytorch_mixes_them) {
    wick_safetensors file;
    wick_msg msg;
    wick_context *ctx = new_context(.threads = 1);
    REQUIRE(ctx && wick_safetensors_open(&file, WICK_SOURCE_DIR "/tests/golden/mix.safetensors", &msg) == WICK_OK);
    int mixed = 0, cut = 0, left = 0;
    for (size_t i = 0; i < (size_t)file.count; i++) {
        static const char *const keys[] = {"label", "x", "y", "share"};
        const wick_safetensors_tensor *in = &file.tensors[i], *other[4];
        char text[200], name[240];
        unsigned long long seed, epoch;
        const char *bar = strchr(in->name, '|');
        if (!strstr(in->name, "/in")) continue;
        REQUIRE(bar && sscanf(bar, "|%llu|%llu|", &seed, &epoch) == 2);
        snprintf(text, sizeof text, "%.*s", (int)(bar - in->name), in->name);
        for (int k = 0; k < 4; k++) {
            snprintf(name, sizeof name, "%.*s%s", (int)(strlen(in->name) - 2), in->name, keys[k]);
            REQUIRE((other[k] = wick_safetensors_find(&file, name)) != NULL);
        }
        const int64_t count = in->dims[0];
        wick_spec fields[] = {{"image", WICK_U8, in->rank - 1, {0}}, {"label", WICK_I64, 0, {0}}};
        memcpy(fields[0].dims, in->dims + 1, (size_t)(in->rank - 1) * sizeof *in->dims);
        wick_dataset *set;
        wick_transform *t;
        int64_t *labels = malloc(other[0]->bytes);
        REQUIRE(labels && memcpy(labels, other[0]->data, other[0]->bytes));
        REQUIRE(wick_dataset_of_arrays(ctx, count, 2, fields, (const void *[]){in->data, labels}, 1, 5, &set) ==
                WICK_OK);
        CHECK_MSG(wick_transform_new(ctx, text, NULL, &fields[0], &t) == WICK_OK, "%s", wick_context_error(ctx));
        REQUIRE(t && wick_transform_mixes(t));
        for (int64_t k = 0; k < count && count > 1; k++) {
            const wick_mix mix = wick_transform_mix(t, seed, epoch, k);
            double share;
            memcpy(&share, (const char *)other[3]->data + (size_t)k * sizeof share, sizeof share);
            CHECK_MSG(fabs(mix.own - share) < 1e-12, "%s: sample %lld keeps %.17g, not %.17g", in->name, (long long)k,
                      mix.own, share);
            mixed += !mix.cut && mix.own < 1, cut += mix.cut, left += mix.own == 1;
        }
        float *first = malloc(other[1]->bytes);
        for (int tier = 0; tier < WICK_TIER_COUNT; tier++) {
            if (!wick_tier_force((wick_tier)tier)) continue;
            wick_loader *loader;
            wick_batch b;
            CHECK_MSG(wick_loader_new(ctx, set, &(wick_loader_options){.batch = count, .seed = seed, .transform = t},
                                      &loader) == WICK_OK,
                      "%s", wick_context_error(ctx));
            REQUIRE(loader);
            CHECK(wick_loader_field(loader, 1)->dtype == WICK_F32 && wick_loader_field(loader, 1)->rank == 2 &&
                  wick_loader_field(loader, 1)->dims[1] == 5);
            REQUIRE(wick_loader_seek(loader, (int64_t)epoch, 0) == WICK_OK && wick_loader_take(loader, &b) == WICK_OK &&
                    b.count == count);
            CHECK_MSG(off(b.fields[0], other[1]) < 2e-6, "%s: pixels off by %g", in->name, off(b.fields[0], other[1]));
            if (!tier) memcpy(first, b.fields[0], other[1]->bytes);
            CHECK_MSG(memcmp(first, b.fields[0], other[1]->bytes) == 0, "%s: tier %s has other bits", in->name,
                      wick_tier_name((wick_tier)tier));
            CHECK_MSG(off(b.fields[1], other[2]) < 1e-6, "%s: classes off by %g", in->name, off(b.fields[1], other[2]));
            wick_loader_free(&loader);
            test_count("batches mixed on a tier", 1);
        }
        wick_transform_free(&t);
        wick_dataset_free(&set);
        free(labels), free(first);
    }
    (void)wick_tier_force(wick_tier_best());
    wick_safetensors_close(&file);
    wick_context_free(&ctx);
    CHECK_MSG(mixed > 40 && cut > 40 && left > 10, "%d, %d, %d", mixed, cut, left);
}

/* ---- of the loader ----------------------------------------------------------------------------------------------- */

typedef struct source {
    int bad_every, odd; /* samples that cannot be read; one whose class is none */
} source;
static int64_t label_of(void *user, int64_t index) { return (void)user, index % CLASSES; }
static wick_status get(void *user, int64_t index, void *const *out, wick_fault *fault) {
    const source *s = user;
    if (s->bad_every && index % s->bad_every == 3)
        return wick_fault_set(fault, WICK_ERR_FORMAT, "sample %lld is damaged", (long long)index);
    for (int k = 0; out[0] && k < PIXELS; k++) ((uint8_t *)out[0])[k] = (uint8_t)(index * 31 + k * 7);
    if (out[1]) *(int64_t *)out[1] = s->odd && index == s->odd ? CLASSES : label_of(user, index);
    return WICK_OK;
}
static wick_dataset *new_set(wick_context *ctx, source *s, int64_t classes) {
    const wick_dataset_source d = {.count = COUNT,
                                   .n_fields = 2,
                                   .fields = {{"image", WICK_U8, 3, {3, H, W}}, {"label", WICK_I64, 0, {0}}},
                                   .get = get,
                                   .label = label_of,
                                   .classes = classes,
                                   .user = s};
    wick_dataset *set = NULL;
    return wick_dataset_new(ctx, &d, &set) == WICK_OK ? set : NULL;
}

TEST(any_number_of_workers_mixes_the_same_batches_also_of_what_can_be_read) {
    static const char text[] = "crop=2,flip,normalise=0.5/0.25, mixup=0.3, cutmix=1:0.8",
                      plain[] = "crop=2,flip,normalise=0.5/0.25";
    static float x[COUNT][PIXELS];
    wick_context *ctx = new_context(.threads = 1);
    source s = {0};
    wick_dataset *set = new_set(ctx, &s, CLASSES);
    wick_transform *t, *t0;
    const wick_spec *image = wick_dataset_field(set, 0);
    REQUIRE(wick_transform_new(ctx, text, NULL, image, &t) == WICK_OK &&
            wick_transform_new(ctx, plain, NULL, image, &t0) == WICK_OK && !wick_transform_mixes(t0));
    int seen = 0;
    for (int policy = 0; policy < 3; policy++)
        for (int workers = 0; workers < 4; workers++) {
            wick_loader *loader, *before;
            wick_batch b, c;
            s.bad_every = policy ? 7 : 0;
            wick_loader_options o = {.batch = 6,
                                     .shuffle = true,
                                     .seed = 3,
                                     .transform = t,
                                     .workers = workers,
                                     .on_fault = (wick_on_fault)policy},
                                o0 = o;
            o0.transform = t0, o0.workers = 0;
            REQUIRE(wick_loader_new(ctx, set, &o, &loader) == WICK_OK &&
                    wick_loader_new(ctx, set, &o0, &before) == WICK_OK);
            for (int epoch = 0; epoch < 3;) {
                REQUIRE(wick_loader_take(loader, &b) == WICK_OK && wick_loader_take(before, &c) == WICK_OK &&
                        b.count == c.count);
                if (!b.count) epoch++;
                for (int64_t i = 0; i < b.count; i++, seen++) {
                    const int64_t j = i ? i - 1 : b.count - 1;
                    const wick_mix mix =
                        b.count > 1 ? wick_transform_mix(t, 3, (uint64_t)epoch, b.samples[i]) : (wick_mix){.own = 1};
                    const float own = (float)mix.own, rest = (float)(1 - mix.own),
                                *mine = (float *)c.fields[0] + i * PIXELS, *other = (float *)c.fields[0] + j * PIXELS;
                    float y[CLASSES] = {0};
                    CHECK(b.samples[i] == c.samples[i]);
                    for (int k = 0; k < PIXELS; k++) {
                        const int row = k / W % H, column = k % W;
                        const bool inside = row >= mix.top && row < mix.top + mix.height && column >= mix.left &&
                                            column < mix.left + mix.width;
                        x[i][k] = mix.cut       ? (inside ? other[k] : mine[k])
                                  : mix.own < 1 ? own * mine[k] + rest * other[k]
                                                : mine[k];
                    }
                    y[b.samples[i] % CLASSES] += own, y[b.samples[j] % CLASSES] += rest;
                    CHECK(memcmp(x[i], (float *)b.fields[0] + i * PIXELS, sizeof x[i]) == 0);
                    for (int k = 0; k < CLASSES; k++)
                        CHECK(fabsf(y[k] - ((float *)b.fields[1])[i * CLASSES + k]) < 1e-6f);
                }
            }
            wick_loader_stats stats;
            wick_loader_get_stats(loader, &stats);
            CHECK(policy != WICK_FAULT_SKIP || stats.skipped > 0);
            wick_loader_free(&loader), wick_loader_free(&before);
        }
    CHECK(seen > 1000);
    wick_transform_free(&t), wick_transform_free(&t0);
    wick_dataset_free(&set);
    wick_context_free(&ctx);
}

TEST(a_run_resumed_within_an_epoch_mixes_what_an_undisturbed_one_mixes) {
    wick_context *ctx = new_context(.threads = 1);
    source s = {0};
    wick_dataset *set = new_set(ctx, &s, CLASSES);
    wick_transform *t;
    wick_loader *whole, *part;
    wick_batch b, c;
    REQUIRE(wick_transform_new(ctx, "mixup=1", NULL, wick_dataset_field(set, 0), &t) == WICK_OK);
    wick_loader_options o = {.batch = 5, .shuffle = true, .seed = 8, .transform = t};
    REQUIRE(wick_loader_new(ctx, set, &o, &whole) == WICK_OK);
    for (int at = 0; at < 2 * (COUNT + 4) / 5; at++) {
        const wick_loader_place there = wick_loader_position(whole);
        const int64_t epoch = there.epoch, sample = there.sample;
        o.workers = at % 3;
        REQUIRE(wick_loader_new(ctx, set, &o, &part) == WICK_OK && wick_loader_seek(part, epoch, sample) == WICK_OK);
        REQUIRE(wick_loader_take(whole, &b) == WICK_OK && wick_loader_take(part, &c) == WICK_OK && b.count == c.count);
        if (b.count)
            CHECK(memcmp(b.fields[0], c.fields[0], (size_t)b.count * PIXELS * sizeof(float)) == 0 &&
                  memcmp(b.fields[1], c.fields[1], (size_t)b.count * CLASSES * sizeof(float)) == 0);
        wick_loader_free(&part);
    }
    wick_loader_free(&whole);
    wick_transform_free(&t);
    wick_dataset_free(&set);
    wick_context_free(&ctx);
}

TEST(signals_of_one_length_are_mixed) {
    static float rows[8][3] = {{1, 2, 3}, {4, 5, 6}, {7, 8, 9}, {1, 1, 1}, {2, 2, 2}, {3, 3, 3}, {9, 9, 9}, {0, 1, 0}};
    static int64_t labels[8] = {0, 1, 0, 1, 0, 1, 0, 1};
    wick_context *ctx = new_context(.threads = 1);
    const wick_spec fields[] = {{"row", WICK_F32, 1, {3}}, {"label", WICK_I64, 0, {0}}},
                    varied = {"audio", WICK_F32, 1, {-1}};
    wick_dataset *set;
    wick_transform *t;
    wick_loader *loader;
    wick_batch b;
    REQUIRE(wick_dataset_of_arrays(ctx, 8, 2, fields, (const void *[]){rows, labels}, 1, 2, &set) == WICK_OK &&
            wick_transform_new(ctx, "mixup=2", NULL, &fields[0], &t) == WICK_OK);
    REQUIRE(wick_loader_new(ctx, set, &(wick_loader_options){.batch = 8, .seed = 4, .transform = t}, &loader) ==
                WICK_OK &&
            wick_loader_take(loader, &b) == WICK_OK && b.count == 8);
    for (int i = 0; i < 8; i++) {
        const double own = wick_transform_mix(t, 4, 0, i).own;
        CHECK(own > 0 && own < 1);
        for (int k = 0; k < 3; k++)
            CHECK(fabs(own * (double)rows[i][k] + (1 - own) * (double)rows[(i + 7) % 8][k] -
                       (double)((float *)b.fields[0])[3 * i + k]) < 1e-5);
        /* neighbours are of different classes */
        CHECK(fabs((labels[i] == 0 ? own : 1 - own) - (double)((float *)b.fields[1])[2 * i]) < 1e-6);
    }
    wick_loader_free(&loader);
    wick_transform_free(&t);
    CHECK_INT(wick_transform_new(ctx, "cutmix=1", NULL, &fields[0], &t), WICK_ERR_INVALID);
    CHECK_STR_HAS(wick_context_error(ctx), "for pictures");
    CHECK_INT(wick_transform_new(ctx, "gain=3,mixup=1", NULL, &varied, &t), WICK_ERR_INVALID);
    CHECK_STR_HAS(wick_context_error(ctx), "column 8: mixes signals of one length");
    CHECK_INT(wick_transform_new(ctx, "fit=4,mixup=1", NULL, &varied, &t), WICK_OK);
    wick_transform_free(&t);
    wick_dataset_free(&set);
    wick_context_free(&ctx);
}

TEST(what_cannot_be_mixed_is_refused) {
    static const struct {
        const char *text, *why;
    } bad[] = {{"mixup", "column 1"},
               {"mixup=0", "above 0"},
               {"cutmix=-1", "above 0"},
               {"mixup=1001", "up to 1000"},
               {"flip,mixup=1:2", "column 6: a probability"},
               {"mixup=1,mixup=2", "column 9: mixes twice"},
               {"mixup=1,flip", "column 9: mixup=ALPHA"},
               {"mixup=1,", "column 9"},
               {"mixup=1:1:1", "column 1"},
               {",mixup=1", "none of crop"},
               {"mixup=1 ", "column 1"},
               {"blurs,cutmix=1", "none of crop"},
               {"cutmix=nan", "column 1"}};
    wick_context *ctx = new_context(.threads = 1);
    source s = {0};
    wick_dataset *set = new_set(ctx, &s, CLASSES), *none = new_set(ctx, &s, 0);
    const wick_spec *image = wick_dataset_field(set, 0);
    wick_transform *t;
    wick_loader *loader;
    wick_batch b;
    for (size_t i = 0; i < WICK_COUNTOF(bad); i++) {
        CHECK_MSG(wick_transform_new(ctx, bad[i].text, NULL, image, &t) == WICK_ERR_INVALID && !t, "\"%s\"",
                  bad[i].text);
        CHECK_STR_HAS(wick_context_error(ctx), bad[i].why);
    }
    /* Without chance nothing is mixed. */
    REQUIRE(wick_transform_new(ctx, "flip,mixup=1,cutmix=1", &(wick_transform_options){.still = true}, image, &t) ==
                WICK_OK &&
            !wick_transform_mixes(t) && wick_transform_mix(t, 1, 2, 3).own == 1);
    wick_transform_free(&t);
    REQUIRE(wick_transform_new(ctx, "cutmix=1", NULL, image, &t) == WICK_OK);
    CHECK_INT(wick_loader_new(ctx, none, &(wick_loader_options){.batch = 4, .transform = t}, &loader),
              WICK_ERR_INVALID);
    CHECK_STR_HAS(wick_context_error(ctx), "a data set with classes");
    s.odd = 2; /* its maker says one class and gives another: nothing is written outside of a row */
    REQUIRE(wick_loader_new(ctx, set, &(wick_loader_options){.batch = 4, .transform = t}, &loader) == WICK_OK);
    CHECK_INT(wick_loader_take(loader, &b), WICK_ERR_INDEX);
    CHECK_STR_HAS(wick_context_error(ctx), "sample 2, in epoch 0: class 4 is none of 4");
    wick_loader_free(&loader);
    wick_transform_free(&t);
    /* Memory that runs out. */
    counting memory = {.fail_at = -1};
    const wick_allocator allocator = counting_allocator(&memory);
    wick_context *counted;
    REQUIRE(wick_context_new(&(wick_context_options){.threads = 1, .allocator = &allocator}, &counted) == WICK_OK);
    const int64_t live = memory.live;
    int failed = 0;
    for (int limit = 0; limit < 20; limit++) {
        memory.fail_at = memory.calls + limit;
        const wick_status status = wick_transform_new(counted, "flip,mixup=1", NULL, image, &t);
        memory.fail_at = -1;
        wick_transform_free(&t);
        CHECK(memory.live == live && (status == WICK_OK || status == WICK_ERR_NOMEM));
        failed += status != WICK_OK;
    }
    CHECK_INT(failed, 2);
    wick_context_free(&counted);
    wick_dataset_free(&set), wick_dataset_free(&none);
    wick_context_free(&ctx);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
