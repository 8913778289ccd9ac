/* Transforms of pictures: against NumPy and PyTorch, on every tier, from texts right and wrong, in a loader. */
#include "io/safetensors.h"

#include "base/counting_alloc.h"
#include "kernels/pixels/pixels.h"
#include "context.h"
#include "test.h"
#include "wick/wick.h"

static bool open_goldens(wick_safetensors *file) {
    wick_msg msg;
    const wick_status status =
        wick_safetensors_open(file, WICK_SOURCE_DIR "/tests/golden/transforms.safetensors", &msg);
    CHECK_MSG(status == WICK_OK, "%s", msg.text);
    return status == WICK_OK;
}

/* Values are some f32 roundings off, which a division by 0.2 makes larger. */
TEST(transforms_give_what_pytorch_and_numpy_give_on_every_tier) {
    wick_safetensors file;
    wick_context *ctx = new_context(.threads = 1);
    REQUIRE(ctx && open_goldens(&file));
    double worst = 0;
    for (size_t i = 0; i < (size_t)file.count; i++) {
        const wick_safetensors_tensor *in = &file.tensors[i];
        char text[200], name[240];
        unsigned long long seed, epoch;
        long long sample;
        const char *bar = strchr(in->name, '|');
        if (!strstr(in->name, "/in")) continue;
        REQUIRE(bar && sscanf(bar, "|%llu|%llu|%lld/in", &seed, &epoch, &sample) == 3);
        snprintf(text, sizeof text, "%.*s", (int)(bar - in->name), in->name);
        snprintf(name, sizeof name, "%.*s/out", (int)(strlen(in->name) - 3), in->name);
        const wick_safetensors_tensor *want = wick_safetensors_find(&file, name);
        wick_spec spec = {"image", WICK_U8, in->rank, {0}};
        memcpy(spec.dims, in->dims, (size_t)in->rank * sizeof *spec.dims);
        wick_transform *t;
        CHECK_MSG(wick_transform_new(ctx, text, NULL, &spec, &t) == WICK_OK, "%s", wick_context_error(ctx));
        REQUIRE(t && want && wick_transform_output(t)->rank == want->rank &&
                memcmp(wick_transform_output(t)->dims, want->dims, (size_t)want->rank * sizeof *want->dims) == 0);
        const size_t bytes = wick_spec_bytes(wick_transform_output(t)), n = bytes / sizeof(float);
        float *first = wick_alloc(NULL, bytes), *out = wick_alloc(NULL, bytes);
        void *scratch = wick_alloc(NULL, wick_transform_scratch(t, 0));
        for (int tier = 0; tier < WICK_TIER_COUNT; tier++) {
            if (!wick_tier_force((wick_tier)tier)) continue;
            memset(scratch, 0xFF, wick_transform_scratch(t, 0)); /* NaN, where something is read that was not written */
            memset(out, 0xFF, bytes);
            wick_transform_apply(t, seed, epoch, sample, in->data, out, scratch);
            if (!tier) memcpy(first, out, bytes);
            CHECK_MSG(memcmp(first, out, bytes) == 0, "%s: tier %s has other bits", in->name,
                      wick_tier_name((wick_tier)tier));
            test_count("pictures transformed on a tier", 1);
        }
        double most = 0;
        for (size_t k = 0; k < n; k++) {
            float expected;
            memcpy(&expected, (const char *)want->data + k * sizeof expected, sizeof expected);
            const double off = fabs((double)first[k] - (double)expected) / fmax(1, fabs((double)expected));
            most = off <= most ? most : off; /* NaN stays */
        }
        CHECK_MSG(most < 5e-6, "%s: off by %g", in->name, most);
        worst = fmax(worst, most);
        wick_release(NULL, first, bytes), wick_release(NULL, out, bytes),
            wick_release(NULL, scratch, wick_transform_scratch(t, 0));
        wick_transform_free(&t);
    }
    (void)wick_tier_force(wick_tier_best());
    wick_safetensors_close(&file);
    wick_context_free(&ctx);
    CHECK(worst > 0); /* something was compared */
}

/* Points and boxes to f32's precision; of masks all but pixels whose middle comes from an edge between two. */
TEST(points_boxes_and_masks_go_where_the_picture_goes) {
    wick_safetensors file;
    wick_context *ctx = new_context(.threads = 1);
    REQUIRE(ctx && open_goldens(&file));
    int cases = 0;
    int64_t pixels = 0, wrong = 0;
    for (size_t i = 0; i < (size_t)file.count; i++) {
        static const char *const keys[] = {"points", "points-out", "boxes", "boxes-out", "mask-out"};
        const wick_safetensors_tensor *mask = &file.tensors[i], *other[5];
        char text[200], name[240];
        unsigned long long seed, epoch;
        long long sample;
        const size_t length = strlen(mask->name);
        const char *bar = strchr(mask->name, '|');
        if (length < 5 || strcmp(mask->name + length - 5, "/mask") != 0) continue;
        REQUIRE(bar && sscanf(bar, "|%llu|%llu|%lld", &seed, &epoch, &sample) == 3);
        snprintf(text, sizeof text, "%.*s", (int)(bar - mask->name), mask->name);
        for (int k = 0; k < 5; k++) {
            snprintf(name, sizeof name, "%.*s%s", (int)length - 4, mask->name, keys[k]);
            REQUIRE((other[k] = wick_safetensors_find(&file, name)) != NULL);
        }
        wick_transform *t;
        const wick_spec spec = {"image", WICK_U8, 3, {3, mask->dims[0], mask->dims[1]}};
        REQUIRE(wick_transform_new(ctx, text, NULL, &spec, &t) == WICK_OK);
        const int64_t *dims = wick_transform_output(t)->dims + 1, n = dims[0] * dims[1];
        uint8_t out[64 * 64];
        REQUIRE(n <= (int64_t)sizeof out && other[4]->dims[0] == dims[0] && other[4]->dims[1] == dims[1]);
        wick_transform_mask(t, seed, epoch, sample, mask->data, 255, out);
        for (int64_t k = 0; k < n; k++) wrong += out[k] != ((const uint8_t *)other[4]->data)[k];
        pixels += n;
        for (int k = 0; k < 4; k += 2) {
            float values[64], want[64];
            REQUIRE(other[k]->bytes <= sizeof values && other[k]->bytes == other[k + 1]->bytes);
            memcpy(values, other[k]->data, other[k]->bytes), memcpy(want, other[k + 1]->data, other[k]->bytes);
            if (k) wick_transform_boxes(t, seed, epoch, sample, other[k]->dims[0], values);
            else wick_transform_points(t, seed, epoch, sample, other[k]->dims[0], values);
            for (size_t v = 0; v < other[k]->bytes / sizeof(float); v++)
                CHECK_MSG(fabsf(values[v] - want[v]) < 2e-5f * fmaxf(1, fabsf(want[v])), "%s: %s %zu: %g, not %g",
                          mask->name, keys[k], v, (double)values[v], (double)want[v]);
        }
        cases++;
        wick_transform_free(&t);
    }
    CHECK_MSG(cases > 15 && wrong * 10000 <= pixels, "%lld of %lld pixels of %d masks differ", (long long)wrong,
              (long long)pixels, cases);
    wick_safetensors_close(&file);
    wick_context_free(&ctx);
}

TEST(a_loader_moves_what_belongs_to_a_picture_with_it) {
    enum { COUNT = 11, H = 12, W = 10, POINTS = 3 };
    static uint8_t pixels[COUNT][H][W], masks[COUNT][H][W];
    static float points[COUNT][POINTS][2], boxes[COUNT][2][5];
    wick_context *ctx = new_context(.threads = 1);
    wick_dataset *set;
    wick_transform *t;
    /* A mask of what is bright, a point in the middle of a pixel that is the only one of its value, and a box around
     * it. */
    for (int i = 0; i < COUNT; i++) {
        for (int k = 0; k < H * W; k++)
            pixels[i][k / W][k % W] = (uint8_t)(test_rand() % 200),
                                 masks[i][k / W][k % W] = pixels[i][k / W][k % W] > 100;
        for (int k = 0; k < POINTS; k++) {
            const int y = test_rand_int(3, H - 4), x = test_rand_int(3, W - 4);
            points[i][k][0] = (float)x + 0.5f, points[i][k][1] = (float)y + 0.5f;
            pixels[i][y][x] = (uint8_t)(253 + k), masks[i][y][x] = 1;
            if (k < 2)
                boxes[i][k][0] = (float)x, boxes[i][k][1] = (float)y, boxes[i][k][2] = (float)x + 1,
                boxes[i][k][3] = (float)y + 1, boxes[i][k][4] = (float)(i + k); /* and what stays */
        }
    }
    const wick_spec fields[] = {{"image", WICK_U8, 2, {H, W}},
                                {"points", WICK_F32, 2, {POINTS, 2}},
                                {"mask", WICK_U8, 2, {H, W}},
                                {"boxes", WICK_F32, 2, {2, 5}}};
    REQUIRE(ctx && wick_dataset_of_arrays(ctx, COUNT, 4, fields, (const void *[]){pixels, points, masks, boxes}, -1, 0,
                                          &set) == WICK_OK);
    REQUIRE(wick_transform_new(ctx, "crop=3,flip,vflip", NULL, &fields[0], &t) == WICK_OK);
    wick_loader_options o = {.batch = 4,
                             .shuffle = true,
                             .seed = 2,
                             .transform = t,
                             .joint = {0, WICK_JOINT_POINTS, WICK_JOINT_MASK, WICK_JOINT_BOXES},
                             .pad = {0, 0, 7}};
    int seen = 0;
    for (o.workers = 0; o.workers < 3; o.workers += 2) {
        wick_loader *loader;
        wick_batch b;
        REQUIRE(wick_loader_new(ctx, set, &o, &loader) == WICK_OK);
        for (int epochs = 0; epochs < 3;) {
            REQUIRE(wick_loader_take(loader, &b) == WICK_OK);
            epochs += !b.count;
            for (int64_t i = 0; i < b.count; i++) {
                const float *x = (const float *)b.fields[0] + i * H * W,
                            *p = (const float *)b.fields[1] + i * POINTS * 2,
                            *box = (const float *)b.fields[3] + i * 10;
                const uint8_t *m = (const uint8_t *)b.fields[2] + i * H * W;
                for (int k = 0; k < H * W; k++) CHECK(m[k] == (x[k] > 100.5f / 255) || (m[k] == 7 && x[k] == 0));
                for (int k = 0; k < POINTS; k++) {
                    const int px = (int)floorf(p[2 * k]), py = (int)floorf(p[2 * k + 1]);
                    const float want =
                        (float)pixels[b.samples[i]][(int)points[b.samples[i]][k][1]][(int)points[b.samples[i]][k][0]] /
                        255;
                    REQUIRE(px >= 0 && px < W && py >= 0 && py < H);
                    CHECK(fabsf(x[py * W + px] - want) < 1e-6f);
                    if (k < 2)
                        CHECK(box[5 * k] == (float)px && box[5 * k + 1] == (float)py &&
                              box[5 * k + 2] == (float)px + 1 && box[5 * k + 3] == (float)py + 1 &&
                              box[5 * k + 4] == (float)(b.samples[i] + k));
                    seen++;
                }
            }
        }
        wick_loader_free(&loader);
    }
    CHECK_INT(seen, 2 * 3 * COUNT * POINTS);
    wick_loader *none;
    const wick_loader_options wrong[] = {{.batch = 4, .joint = {0, WICK_JOINT_POINTS}},
                                         {.batch = 4, .transform = t, .joint = {WICK_JOINT_MASK}},
                                         {.batch = 4, .transform = t, .joint = {0, WICK_JOINT_BOXES}},
                                         {.batch = 4, .transform = t, .joint = {0, WICK_JOINT_MASK}},
                                         {.batch = 4, .transform = t, .joint = {0, 0, 0, 0, WICK_JOINT_POINTS}}};
    for (size_t i = 0; i < WICK_COUNTOF(wrong); i++) {
        CHECK_INT(wick_loader_new(ctx, set, &wrong[i], &none), WICK_ERR_INVALID);
        CHECK(strstr(wick_context_error(ctx), "joint is for") || strstr(wick_context_error(ctx), "boxes are f32") ||
              strstr(wick_context_error(ctx), "a mask is u8"));
    }
    wick_transform_free(&t);
    wick_dataset_free(&set);
    wick_context_free(&ctx);
}

/* A left hand and a right one, and a nose between them: in a mirror the hands change places in their list too. */
TEST(points_that_are_pairs_change_places_in_a_mirror) {
    enum { N = 24, WIDTH = 3, H = 9, W = 12, POINTS = 3 };
    static const struct {
        const char *text;
        int mirrors; /* -1: by chance */
    } cases[] = {{"flip=1", 1}, {"vflip=1", 1}, {"flip=1,vflip=1", 0}, {"flip=0", 0}, {"flip", -1}};
    static const int64_t pairs[][2] = {{0, 2}};
    static uint8_t pixels[N][H][W];
    static float points[N][POINTS][WIDTH];
    wick_context *ctx = new_context(.threads = 1);
    wick_dataset *set;
    for (int i = 0; i < N; i++)
        for (int k = 0; k < POINTS; k++)
            points[i][k][0] = (float)(2 + 3 * k), points[i][k][1] = (float)(1 + k), points[i][k][2] = (float)(k + 7);
    const wick_spec fields[] = {{"image", WICK_U8, 2, {H, W}}, {"points", WICK_F32, 2, {POINTS, WIDTH}}};
    REQUIRE(ctx &&
            wick_dataset_of_arrays(ctx, N, 2, fields, (const void *[]){pixels, points}, -1, 0, &set) == WICK_OK);
    wick_loader_options o = {
        .batch = 5, .seed = 3, .joint = {0, WICK_JOINT_POINTS}, .pairs = pairs, .n_pairs = WICK_COUNTOF(pairs)};
    wick_loader *loader;
    for (size_t c = 0; c < WICK_COUNTOF(cases); c++) {
        wick_transform *t;
        wick_batch b;
        int mirrored = 0, seen = 0;
        REQUIRE(wick_transform_new(ctx, cases[c].text, NULL, &fields[0], &t) == WICK_OK);
        o.transform = t;
        REQUIRE(wick_loader_new(ctx, set, &o, &loader) == WICK_OK);
        for (;;) {
            REQUIRE(wick_loader_take(loader, &b) == WICK_OK);
            if (!b.count) break;
            for (int64_t i = 0; i < b.count; i++) {
                const float *p = (const float *)b.fields[1] + i * POINTS * WIDTH;
                const bool mirrors = wick_transform_mirrors(t, o.seed, 0, b.samples[i]);
                for (int k = 0; k < POINTS; k++) { /* whole rows are exchanged, and no other */
                    const int from = mirrors && k != 1 ? 2 - k : k;
                    CHECK(p[k * WIDTH + 2] == (float)(from + 7));
                }
                /* hands keep their order from left to right where the picture itself was mirrored so */
                if (c == 0) CHECK(p[0] == (float)W - points[0][2][0] && p[2 * WIDTH] == (float)W - points[0][0][0]);
                if (c == 1) CHECK(p[1] == (float)H - points[0][2][1] && p[0] == points[0][2][0]);
                mirrored += mirrors, seen++;
            }
        }
        CHECK_INT(seen, N);
        CHECK(cases[c].mirrors < 0 ? mirrored > 3 && mirrored < N - 3 : mirrored == N * cases[c].mirrors);
        wick_loader_free(&loader);
        wick_transform_free(&t);
    }
    static const int64_t same[][2] = {{1, 1}}, twice[][2] = {{0, 1}, {2, 0}}, outside[][2] = {{0, POINTS}};
    const int64_t(*const wrong[])[2] = {same, twice, outside};
    wick_transform *t;
    REQUIRE(wick_transform_new(ctx, "flip", NULL, &fields[0], &t) == WICK_OK);
    o.transform = t;
    for (size_t k = 0; k < WICK_COUNTOF(wrong); k++) {
        o.pairs = wrong[k], o.n_pairs = k == 1 ? 2 : 1;
        CHECK_INT(wick_loader_new(ctx, set, &o, &loader), WICK_ERR_INVALID);
        CHECK(strstr(wick_context_error(ctx), k < 2 ? "is in a pair already" : "is not among the points"));
    }
    o.joint[1] = WICK_JOINT_NONE;
    CHECK_INT(wick_loader_new(ctx, set, &o, &loader), WICK_ERR_INVALID);
    CHECK(strstr(wick_context_error(ctx), "pairs are for a joint field"));
    wick_transform_free(&t);
    wick_dataset_free(&set);
    wick_context_free(&ctx);
}

TEST(texts_that_make_no_sense_are_refused_with_their_column) {
    static const struct {
        const char *text, *why;
    } bad[] = {
        {"", "column 1"},
        {"flip,", "column 6"},
        {"flip,blur", "column 6"},
        {"crop", "none of crop=N"},
        {"crop=0", "from 1"},
        {"crop=1.5", "whole number"},
        {"crop=12", "less than height"},
        {"crop=2,cut=3", "one crop"},
        {"cut=13x4", "more than there is"},
        {"center=3y4", "column 1"},
        {"flip=2", "from 0 to 1"},
        {"flip=-1", "from 0 to 1"},
        {"flip,flip", "twice"},
        {"vflip,vflip", "twice"},
        {"resize=0x4", "column 1"},
        {"resize=4,resize=5", "one resize"},
        {"crop=1,resize=4", "comes after"},
        {"resize=40000", "column 1"},
        {"resizedcrop=4:0.5", "LOW:HIGH"},
        {"resizedcrop=4:0.9:0.5", "LOW:HIGH"},
        {"jitter", "column 1"},
        {"jitter=-1", "from 0"},
        {"jitter=0:0:0:0.6", "up to 0.5"},
        {"jitter=1:1:1:0:1", "column 1"},
        {"normalise=0.5", "means/deviations"},
        {"normalise=1:2/1:2", "means/deviations"},
        {"normalise=0.5/0", "above 0"},
        {"normalise=nan/1", "column 1"},
        {"normalise=inf/1", "column 1"},
        {"normalise,flip", "last but erase"},
        {"normalise,normalise", "last but erase"},
        {"erase,flip", "erase comes last"},
        {"crop= 2", "column 1"},
        {"flip flip", "column 1"},
        {"crop=2,,flip", "column 8"},
        {"normalise=1/", "column 1"},
        {"affine=200", "180 degrees"},
        {"affine=10:2", "of the size"},
        {"affine=10:0:1", "LOW:HIGH"},
        {"affine=10:0:2:1", "LOW:HIGH"},
        {"affine=10:0:1:1:90", "less than 90"},
        {"affine", "column 1"},
        {"affine=1,flip", "behind crops"},
        {"affine=1,affine=1", "one affine"},
        {"jitter=1,affine=1", "before colours"},
        {"blur=4", "odd"},
        {"blur=1", "odd"},
        {"blur=101", "3 to 99"},
        {"blur=3:1", "LOW:HIGH"},
        {"blur=3:0:1", "above 0"},
        {"blur=25", "all of the picture"},
        {"blur=3,grey", "blur comes behind"},
        {"blur=3,blur=3", "twice"},
        {"blur=3,flip", "blur comes behind"},
        {"grey,grey,grey,grey,grey,grey,grey,grey,grey,grey,grey,grey,grey,grey,grey,grey,grey", "16 steps"},
    };
    wick_context *ctx = new_context(.threads = 1);
    const wick_spec rgb = {"x", WICK_U8, 3, {3, 12, 14}}, grey = {"x", WICK_U8, 2, {12, 14}};
    wick_transform *t;
    REQUIRE(ctx);
    for (size_t i = 0; i < WICK_COUNTOF(bad); i++) {
        CHECK_MSG(wick_transform_new(ctx, bad[i].text, NULL, &rgb, &t) == WICK_ERR_INVALID && !t, "\"%s\"",
                  bad[i].text);
        CHECK_STR_HAS(wick_context_error(ctx), bad[i].why);
    }
    for (int i = 0; i < 2; i++) {
        CHECK_INT(wick_transform_new(ctx, i ? "grey" : "jitter=0:0:1", NULL, &grey, &t), WICK_ERR_INVALID);
        CHECK_STR_HAS(wick_context_error(ctx), "3 channels");
    }
    const wick_spec odd[] = {{"x", WICK_F32, 3, {3, 4, 4}},      {"x", WICK_U8, 1, {4}},
                             {"x", WICK_U8, 3, {5, 4, 4}},       {"x", WICK_U8, 3, {3, 0, 4}},
                             {"x", WICK_U8, 3, {3, 4, 1 << 20}}, {"x", WICK_U8, 3, {-1, 4, 4}}};
    for (size_t i = 0; i < WICK_COUNTOF(odd); i++)
        CHECK_INT(wick_transform_new(ctx, "flip", NULL, &odd[i], &t), WICK_ERR_INVALID);
    CHECK_INT(wick_transform_new(ctx, "flip", &(wick_transform_options){.deviation = -1}, &rgb, &t), WICK_ERR_INVALID);
    CHECK_INT(wick_transform_new(ctx, NULL, NULL, &rgb, &t), WICK_ERR_INVALID);
    wick_context_free(&ctx);
}

TEST(any_text_is_read_or_refused) {
    static const char *const parts[] = {"crop=",   "cut=", "center=",   "flip",  "vflip",   "resize=", "resizedcrop=",
                                        "jitter=", "grey", "normalise", "erase", "affine=", "blur=",   "mixup=",
                                        "cutmix=", ",",    "=",         ":",     "/",       "x",       "1",
                                        "2",       "0.5",  "9",         "-",     "e",       " ",       "nan"};
    wick_context *ctx = new_context(.threads = 1);
    REQUIRE(ctx);
    int good = 0;
    for (int i = 0; i < 40000; i++) {
        char text[256] = "";
        for (int k = test_rand_int(0, 12); k > 0; k--)
            strcat(text, parts[test_rand_int(0, (int)WICK_COUNTOF(parts) - 1)]);
        const wick_spec in = {"x", WICK_U8, 3, {test_rand_int(1, 4), test_rand_int(1, 20), test_rand_int(1, 20)}};
        wick_transform *t;
        if (wick_transform_new(ctx, text, NULL, &in, &t) != WICK_OK) continue;
        good++;
        static uint8_t pixels[4 * 20 * 20];
        const size_t bytes = wick_spec_bytes(wick_transform_output(t));
        if (bytes < 1 << 22) {
            float *out = wick_alloc(NULL, bytes);
            void *scratch = wick_alloc(NULL, wick_transform_scratch(t, 0));
            for (int e = 0; e < 3; e++) wick_transform_apply(t, 1, (uint64_t)e, i, pixels, out, scratch);
            for (size_t k = 0; k < bytes / sizeof *out; k++) REQUIRE(isfinite(out[k]));
            wick_release(NULL, out, bytes), wick_release(NULL, scratch, wick_transform_scratch(t, 0));
        }
        wick_transform_free(&t);
    }
    CHECK_MSG(good > 300, "%d", good);
    wick_context_free(&ctx);
}

TEST(a_loader_applies_them_the_same_for_any_number_of_workers) {
    enum { COUNT = 37, H = 16, W = 15 };
    static uint8_t pixels[COUNT][3][H][W], labels[COUNT];
    static float want[2 * COUNT][3][12][10];
    wick_context *ctx = new_context(.threads = 1);
    wick_dataset *set;
    wick_loader *loader;
    wick_transform *t, *same, *other;
    wick_batch b;
    for (size_t i = 0; i < sizeof pixels; i++) ((uint8_t *)pixels)[i] = (uint8_t)test_rand();
    const wick_spec fields[] = {{"image", WICK_U8, 3, {3, H, W}}, {"label", WICK_U8, 0, {0}}};
    REQUIRE(ctx &&
            wick_dataset_of_arrays(ctx, COUNT, 2, fields, (const void *[]){pixels, labels}, 1, 1, &set) == WICK_OK);
    REQUIRE(wick_transform_new(ctx, "resizedcrop=12x10,flip,jitter=0.4:0.4:0.4:0.1,normalise,erase",
                               &(wick_transform_options){.mean = 0.4, .deviation = 0.3}, &fields[0], &t) == WICK_OK);
    for (int workers = 0; workers < 4; workers++) {
        int64_t at = 0;
        REQUIRE(wick_loader_new(
                    ctx, set,
                    &(wick_loader_options){.batch = 5, .shuffle = true, .seed = 6, .transform = t, .workers = workers},
                    &loader) == WICK_OK);
        CHECK(wick_loader_field(loader, 0)->dtype == WICK_F32 && wick_loader_field(loader, 0)->dims[2] == 12);
        for (int epochs = 0; epochs < 2;) {
            REQUIRE(wick_loader_take(loader, &b) == WICK_OK);
            if (!b.count) epochs++;
            if (!workers) memcpy(want[at], b.fields[0] ? b.fields[0] : want[at], (size_t)b.count * sizeof *want);
            else CHECK(!b.count || memcmp(want[at], b.fields[0], (size_t)b.count * sizeof *want) == 0);
            at += b.count;
        }
        CHECK_INT(at, 2 * COUNT);
        wick_loader_free(&loader);
    }
    CHECK(memcmp(want, want + COUNT, COUNT * sizeof *want) != 0);
    /* crop and flip are those of the loader's options */
    static float plain[COUNT][3][H][W], listed[COUNT][3][H][W];
    REQUIRE(wick_transform_new(ctx, "crop=2,flip,normalise", &(wick_transform_options){.mean = 0.4, .deviation = 0.3},
                               &fields[0], &same) == WICK_OK);
    const wick_loader_options ways[] = {
        {.batch = COUNT, .seed = 3, .mean = 0.4, .deviation = 0.3, .flip = true, .crop = 2},
        {.batch = COUNT, .seed = 3, .transform = same}};
    for (int i = 0; i < 2; i++) {
        REQUIRE(wick_loader_new(ctx, set, &ways[i], &loader) == WICK_OK);
        int64_t n;
        CHECK(wick_loader_next(loader, i ? listed : plain, NULL, &n) == WICK_OK && n == COUNT);
        wick_loader_free(&loader);
    }
    CHECK(memcmp(plain, listed, sizeof plain) == 0);
    REQUIRE(wick_transform_new(ctx, "flip", NULL, &(wick_spec){"x", WICK_U8, 3, {3, W, H}}, &other) == WICK_OK);
    CHECK_INT(wick_loader_new(ctx, set, &(wick_loader_options){.batch = 5, .transform = other}, &loader),
              WICK_ERR_INVALID);
    CHECK_INT(wick_loader_new(ctx, set, &(wick_loader_options){.batch = 5, .transform = t, .flip = true}, &loader),
              WICK_ERR_INVALID);
    CHECK_INT(wick_loader_new(ctx, set, &(wick_loader_options){.batch = 5, .transform = t, .raw = true}, &loader),
              WICK_ERR_INVALID);
    wick_transform_free(&t), wick_transform_free(&same), wick_transform_free(&other);
    wick_dataset_free(&set);
    wick_context_free(&ctx);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
