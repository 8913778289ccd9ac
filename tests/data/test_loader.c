/* Datasets and loaders: folders of IDX files, the named sets where they are installed, and the loader's promises. */
#include <sys/stat.h>
#include <unistd.h>

#include "base/counting_alloc.h"
#include "library.h"
#include "context.h"
#include "test.h"
#include "wick/wick.h"

/* ---- a folder of IDX files --------------------------------------------------------------------------------------- */

static char folder[64];

static const char *in_folder(const char *name) {
    static char path[160];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static bool folder_make(void) {
    strcpy(folder, "/tmp/wick-test-XXXXXX");
    return mkdtemp(folder) != NULL;
}

static void folder_remove(void) {
    static const char *const names[] = {"train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte",
                                        "t10k-labels-idx1-ubyte"};
    for (size_t i = 0; i < WICK_COUNTOF(names); i++) unlink(in_folder(names[i]));
    rmdir(folder);
}

/* An IDX file of bytes: value(i) for every element. `lost` bytes are missing at the end. */
static void write_idx(const char *name, int rank, const int *dims, int (*value)(int), int lost) {
    FILE *f = fopen(in_folder(name), "wb");
    if (!f) return;
    int count = 1;
    fputc(0, f), fputc(0, f), fputc(8, f), fputc(rank, f);
    for (int i = 0; i < rank; i++) {
        fputc(dims[i] >> 24, f), fputc(dims[i] >> 16 & 255, f), fputc(dims[i] >> 8 & 255, f), fputc(dims[i] & 255, f);
        count *= dims[i];
    }
    for (int i = 0; i < count - lost; i++) fputc(value(i) & 255, f);
    fclose(f);
}

/* Sample i of 2 x 3 pixels: pixel k is 10 i + k, modulo 256; its label is i % 4. */
static int pixel_value(int i) { return 10 * (i / 6) + i % 6; }
static int label_value(int i) { return i % 4; }
static int big_label(int i) { return i == 5 ? 17 : 3; }

static void write_split(const char *prefix, int count) {
    char name[64];
    snprintf(name, sizeof name, "%s-images-idx3-ubyte", prefix);
    write_idx(name, 3, (int[]){count, 2, 3}, pixel_value, 0);
    snprintf(name, sizeof name, "%s-labels-idx1-ubyte", prefix);
    write_idx(name, 1, (int[]){count}, label_value, 0);
}

TEST(a_folder_is_read) {
    wick_context *ctx = new_context(.threads = 1);
    wick_dataset *d;
    REQUIRE(ctx != NULL && folder_make());
    write_split("train", 11);
    write_split("t10k", 3);
    wick_status status = wick_dataset_open(ctx, folder, "train", &d);
    CHECK_MSG(status == WICK_OK, "%s", wick_context_error(ctx));
    REQUIRE(status == WICK_OK);
    CHECK_INT(wick_dataset_count(d), 11);
    CHECK_INT(wick_dataset_rank(d), 2);
    CHECK(wick_dataset_dims(d)[0] == 2 && wick_dataset_dims(d)[1] == 3);
    CHECK_INT(wick_dataset_classes(d), 4);
    CHECK(strcmp(wick_dataset_class_name(d, 3), "3") == 0);
    CHECK(wick_dataset_class_name(d, 4) != NULL && wick_dataset_class_name(d, -1) != NULL);
    for (int i = 0; i < 11; i++) {
        const uint8_t *x = wick_dataset_sample(d, i);
        REQUIRE(x != NULL);
        for (int k = 0; k < 6; k++) CHECK_INT(x[k], 10 * i + k);
        CHECK_INT(wick_dataset_label(d, i), i % 4);
    }
    CHECK(wick_dataset_sample(d, 11) == NULL && wick_dataset_sample(d, -1) == NULL);
    CHECK(wick_dataset_label(d, 11) == -1 && wick_dataset_label(d, -1) == -1);
    double mean, deviation, sum = 0, squares = 0;
    CHECK(wick_dataset_moments(ctx, d, &mean, &deviation) == WICK_OK);
    for (int i = 0; i < 66; i++) sum += pixel_value(i) / 255.0, squares += pow(pixel_value(i) / 255.0, 2);
    CHECK(fabs(mean - sum / 66) < 1e-14);
    CHECK(fabs(deviation - sqrt(squares / 66 - sum / 66 * (sum / 66))) < 1e-12);
    wick_dataset_free(&d);
    CHECK(d == NULL);
    REQUIRE(wick_dataset_open(ctx, folder, "test", &d) == WICK_OK);
    CHECK_INT(wick_dataset_count(d), 3);
    wick_dataset_free(&d);
    wick_dataset_free(&d);
    wick_dataset_free(NULL);
    folder_remove();
    wick_context_free(&ctx);
}

TEST(the_number_of_dims_in_a_name_may_be_any) {
    static const char *const endings[] = {"", ".gz"};
    wick_context *ctx = new_context(.threads = 1);
    wick_dataset *d;
    char from[160], name[64];
    REQUIRE(ctx != NULL && folder_make());
    for (int n = 1; n <= 8; n++)
        for (int gz = 0; gz < 2; gz++) {
            write_split("train", 11);
            snprintf(from, sizeof from, "%s", in_folder("train-images-idx3-ubyte"));
            snprintf(name, sizeof name, "train-images-idx%d-ubyte%s", n, endings[gz]);
            REQUIRE(rename(from, in_folder(name)) == 0);
            CHECK_MSG(wick_dataset_open(ctx, folder, "train", &d) == WICK_OK, "%s: %s", name, wick_context_error(ctx));
            wick_dataset_free(&d);
            unlink(in_folder(name));
        }
    /* what the name says most often goes first */
    write_split("train", 11);
    write_idx("train-images-idx2-ubyte", 3, (int[]){5, 2, 3}, pixel_value, 0);
    CHECK(wick_dataset_open(ctx, folder, "train", &d) == WICK_OK);
    wick_dataset_free(&d);
    unlink(in_folder("train-images-idx2-ubyte"));
    unlink(in_folder("train-images-idx3-ubyte"));
    /* colour: samples of 3 dims */
    write_idx("train-images-idx4-ubyte", 4, (int[]){11, 2, 1, 3}, pixel_value, 0);
    REQUIRE(wick_dataset_open(ctx, folder, "train", &d) == WICK_OK);
    CHECK(wick_dataset_rank(d) == 3 && wick_dataset_dims(d)[0] == 2 && wick_dataset_dims(d)[2] == 3);
    CHECK_INT(wick_dataset_sample(d, 10)[5], 105);
    wick_dataset_free(&d);
    unlink(in_folder("train-images-idx4-ubyte"));
    folder_remove();
    wick_context_free(&ctx);
}

TEST(faults_are_refused_and_name_the_file) {
    wick_context *ctx = new_context(.threads = 1);
    wick_dataset *d;
    REQUIRE(ctx != NULL && folder_make());
    CHECK(wick_dataset_open(ctx, folder, "train", &d) != WICK_OK); /* no files */
    CHECK_STR_HAS(wick_context_error(ctx), "train-images-idx3-ubyte");
    write_split("train", 11);
    CHECK_INT(wick_dataset_open(ctx, folder, "valid", &d), WICK_ERR_INVALID);
    CHECK_STR_HAS(wick_context_error(ctx), "\"train\"");
    CHECK_INT(wick_dataset_open(ctx, folder, NULL, &d), WICK_ERR_INVALID);
    CHECK_INT(wick_dataset_open(ctx, NULL, "train", &d), WICK_ERR_INVALID);

    write_idx("train-labels-idx1-ubyte", 1, (int[]){10}, label_value, 0); /* one label too few */
    CHECK_INT(wick_dataset_open(ctx, folder, "train", &d), WICK_ERR_FORMAT);
    CHECK_STR_HAS(wick_context_error(ctx), "train-labels-idx1-ubyte");
    CHECK_STR_HAS(wick_context_error(ctx), "11");
    write_idx("train-labels-idx1-ubyte", 1, (int[]){11}, label_value, 2); /* cut */
    CHECK_INT(wick_dataset_open(ctx, folder, "train", &d), WICK_ERR_FORMAT);
    CHECK_STR_HAS(wick_context_error(ctx), "train-labels-idx1-ubyte");
    write_idx("train-labels-idx1-ubyte", 2, (int[]){11, 1}, label_value, 0); /* not a list */
    CHECK_INT(wick_dataset_open(ctx, folder, "train", &d), WICK_ERR_FORMAT);
    write_idx("train-labels-idx1-ubyte", 1, (int[]){11}, label_value, 0);
    write_idx("train-images-idx3-ubyte", 3, (int[]){11, 2, 3}, pixel_value, 1);
    CHECK_INT(wick_dataset_open(ctx, folder, "train", &d), WICK_ERR_FORMAT);
    CHECK_STR_HAS(wick_context_error(ctx), "train-images-idx3-ubyte");
    CHECK(d == NULL);
    folder_remove();
    wick_context_free(&ctx);
}

TEST(a_named_set_is_searched_and_its_labels_are_checked) {
    wick_context *ctx = new_context(.threads = 1);
    wick_dataset *d;
    char sub[160];
    REQUIRE(ctx != NULL && folder_make());
    /* a false mnist in $WICK_DATA, which is searched first */
    const char *kept = getenv("WICK_DATA");
    setenv("WICK_DATA", folder, 1);
    snprintf(sub, sizeof sub, "%s", in_folder("mnist"));
    REQUIRE(mkdir(sub, 0755) == 0);
    char base[64];
    strcpy(base, folder);
    strcpy(folder, sub);
    write_split("train", 9);
    CHECK(wick_dataset_open(ctx, "mnist", "train", &d) == WICK_OK);
    CHECK_INT(wick_dataset_count(d), 9);
    CHECK_INT(wick_dataset_classes(d), 10);
    wick_dataset_free(&d);
    char where[160];
    CHECK(wick_dataset_find("mnist", where, sizeof where) && strcmp(where, sub) == 0);
    CHECK(!wick_dataset_find("mnist", where, strlen(sub)) && !*where); /* no room */
    CHECK(!wick_dataset_find("no-such-set", where, sizeof where) && !wick_dataset_find(sub, where, sizeof where) &&
          !*where);
    CHECK(!wick_dataset_find(NULL, where, sizeof where) && !wick_dataset_find("mnist", NULL, 0));
    write_idx("train-labels-idx1-ubyte", 1, (int[]){9}, big_label, 0);
    CHECK_INT(wick_dataset_open(ctx, "mnist", "train", &d), WICK_ERR_FORMAT);
    CHECK_STR_HAS(wick_context_error(ctx), "17");
    CHECK_STR_HAS(wick_context_error(ctx), "train-labels-idx1-ubyte");
    folder_remove();
    strcpy(folder, base);
    folder_remove();
    CHECK(wick_dataset_open(ctx, "mnist", "train", &d) != WICK_OK ||
          *wick_dataset_dims(d) == 28); /* none or installed */
    CHECK(d || (strstr(wick_context_error(ctx), base) && !strstr(wick_context_error(ctx), "shared")));
    wick_dataset_free(&d);
    CHECK(wick_dataset_open(ctx, "no-such-set", "train", &d) != WICK_OK);
    CHECK_STR_HAS(wick_context_error(ctx), "fashion-mnist"); /* what there is */
    if (kept)
        setenv("WICK_DATA", kept, 1);
    else
        unsetenv("WICK_DATA");
    wick_context_free(&ctx);
}

TEST(sets_known_by_name_are_listed) {
    NEEDS_ZLIB; /* for those that are here */
    wick_context *ctx = new_context(.threads = 1);
    wick_dataset *d;
    REQUIRE(ctx != NULL);
    int n = 0;
    for (; wick_dataset_known(n); n++) /* each is opened, or looked for where sets are */
        if (wick_dataset_open(ctx, wick_dataset_known(n), "train", &d) == WICK_OK)
            wick_dataset_free(&d);
        else
            CHECK_STR_HAS(wick_context_error(ctx), "/usr/share/datasets/");
    CHECK(n >= 2 && !wick_dataset_known(-1) && !wick_dataset_known(n + 1));
    wick_context_free(&ctx);
}

static void installed_set(const char *name, double mean, double deviation, const char *nine) {
    NEEDS_ZLIB;
    wick_context *ctx = new_context(.threads = 1);
    wick_dataset *d;
    REQUIRE(ctx != NULL);
    for (int split = 0; split < 2; split++) {
        if (wick_dataset_open(ctx, name, split ? "test" : "train", &d) != WICK_OK) {
            CHECK_STR_HAS(wick_context_error(ctx), "/usr/share/datasets/"); /* it says where it looked */
            wick_context_free(&ctx);
            SKIP("not installed here");
        }
        CHECK_INT(wick_dataset_count(d), split ? 10000 : 60000);
        CHECK(wick_dataset_rank(d) == 2 && wick_dataset_dims(d)[0] == 28 && wick_dataset_dims(d)[1] == 28);
        CHECK_INT(wick_dataset_classes(d), 10);
        CHECK(strcmp(wick_dataset_class_name(d, 9), nine) == 0);
        if (!split) {
            double m, s;
            CHECK(wick_dataset_moments(ctx, d, &m, &s) == WICK_OK);
            CHECK_MSG(fabs(m - mean) < 5e-5 && fabs(s - deviation) < 5e-5, "%g %g", m, s);
        }
        wick_dataset_free(&d);
    }
    wick_context_free(&ctx);
}
TEST(mnist_is_as_known) { installed_set("mnist", 0.1307, 0.3081, "9"); }
TEST(fashion_mnist_is_as_known) { installed_set("fashion-mnist", 0.2860, 0.3530, "Ankle boot"); }

/* ---- the loader -------------------------------------------------------------------------------------------------- */

#define SETUP(count)                                                                                                   \
    wick_context *ctx = new_context(.threads = 1);                                                                     \
    wick_dataset *data = NULL;                                                                                         \
    wick_loader *loader = NULL;                                                                                        \
    REQUIRE(ctx != NULL && folder_make());                                                                             \
    write_split("train", count);                                                                                       \
    REQUIRE(wick_dataset_open(ctx, folder, "train", &data) == WICK_OK);                                                \
    folder_remove()
#define TEARDOWN                                                                                                       \
    wick_loader_free(&loader);                                                                                         \
    wick_dataset_free(&data);                                                                                          \
    wick_context_free(&ctx)

static float x[64 * 6];
static int64_t y[64];

/* Samples of the next batch; -1: a failure. */
static int64_t next_count(wick_loader *loader, void *to, void *labels) {
    int64_t n = 77;
    if (wick_loader_next(loader, to, labels, &n) == WICK_OK) return n;
    CHECK_INT(n, 0);
    return -1;
}
/* Sample numbers of the next batch, told from the first pixel. */
static int64_t next_numbers(wick_loader *loader, int *numbers) {
    int64_t n = next_count(loader, x, y);
    for (int64_t i = 0; i < n; i++) {
        numbers[i] = (int)lrint((double)x[6 * i] * 25.5);
        CHECK_INT(y[i], numbers[i] % 4);
        CHECK(fabs((double)x[6 * i + 5] * 255 - (10 * numbers[i] + 5)) < 1e-3);
    }
    return n;
}

TEST(batches_come_in_order_without_shuffling) {
    SETUP(11);
    REQUIRE(wick_loader_new(ctx, data, &(wick_loader_options){.batch = 4}, &loader) == WICK_OK);
    CHECK_INT(wick_loader_batches(loader), 3);
    int numbers[64], sizes[] = {4, 4, 3, 0};
    for (int epoch = 0; epoch < 2; epoch++)
        for (int b = 0; b < 4; b++) {
            int64_t n = next_numbers(loader, numbers);
            CHECK_INT(n, sizes[b]);
            for (int i = 0; i < n; i++) CHECK_INT(numbers[i], 4 * b + i);
        }
    const wick_loader_place there = wick_loader_position(loader);
    const int64_t epoch = there.epoch, sample = there.sample;
    CHECK(epoch == 2 && sample == 0);
    wick_loader_free(&loader);
    REQUIRE(wick_loader_new(ctx, data, &(wick_loader_options){.batch = 4, .drop_last = true}, &loader) == WICK_OK);
    CHECK_INT(wick_loader_batches(loader), 2);
    CHECK(next_numbers(loader, numbers) == 4 && next_numbers(loader, numbers) == 4 &&
          next_numbers(loader, numbers) == 0);
    CHECK(next_numbers(loader, numbers) == 4 && numbers[0] == 0);
    TEARDOWN;
}

TEST(pixels_are_normalised) {
    SETUP(2);
    REQUIRE(wick_loader_new(ctx, data, &(wick_loader_options){.batch = 2, .mean = 0.25, .deviation = 0.5}, &loader) ==
            WICK_OK);
    CHECK_INT(next_count(loader, x, y), 2);
    for (int i = 0; i < 12; i++) CHECK(x[i] == (float)((pixel_value(i) / 255.0 - 0.25) / 0.5));
    TEARDOWN;
}

TEST(every_epoch_has_every_sample_once_in_its_own_order) {
    SETUP(25);
    int numbers[64], orders[3][25];
    REQUIRE(wick_loader_new(ctx, data, &(wick_loader_options){.batch = 7, .shuffle = true, .seed = 5}, &loader) ==
            WICK_OK);
    for (int epoch = 0; epoch < 3; epoch++) {
        int seen[25] = {0}, at = 0;
        int64_t n;
        while ((n = next_numbers(loader, numbers)) > 0)
            for (int i = 0; i < n; i++) {
                REQUIRE(numbers[i] >= 0 && numbers[i] < 25 && at < 25);
                seen[numbers[i]]++;
                orders[epoch][at++] = numbers[i];
            }
        for (int i = 0; i < 25; i++) CHECK_INT(seen[i], 1);
    }
    CHECK(memcmp(orders[0], orders[1], sizeof orders[0]) != 0 && memcmp(orders[1], orders[2], sizeof orders[0]) != 0);
    /* the same seed gives the same order, another one another; batches of another size cut the same order */
    for (int k = 0; k < 3; k++) {
        wick_loader_free(&loader);
        wick_loader_options options = {.batch = k ? 25 : 4, .shuffle = true, .seed = k < 2 ? 5 : 6};
        REQUIRE(wick_loader_new(ctx, data, &options, &loader) == WICK_OK);
        int again[32], at = 0;
        int64_t n;
        while ((n = next_numbers(loader, again + at)) > 0) at += (int)n;
        CHECK_INT(at, 25);
        CHECK((memcmp(again, orders[0], sizeof orders[0]) == 0) == (k < 2));
    }
    TEARDOWN;
}

TEST(orders_are_unbiased) {
    /* 3 samples have 6 orders: over many epochs each must come equally often (chi-square, 5 degrees of freedom). */
    SETUP(3);
    REQUIRE(wick_loader_new(ctx, data, &(wick_loader_options){.batch = 3, .shuffle = true, .seed = 77}, &loader) ==
            WICK_OK);
    int counts[27] = {0}, numbers[64];
    enum { EPOCHS = 6000 };
    for (int epoch = 0; epoch < EPOCHS; epoch++) {
        REQUIRE(next_numbers(loader, numbers) == 3 && next_count(loader, x, y) == 0);
        counts[9 * numbers[0] + 3 * numbers[1] + numbers[2]]++;
    }
    double chi = 0;
    int kinds = 0;
    for (int i = 0; i < 27; i++) {
        if (!counts[i]) continue;
        kinds++;
        chi += pow(counts[i] - EPOCHS / 6.0, 2) / (EPOCHS / 6.0);
    }
    CHECK_INT(kinds, 6);
    CHECK_MSG(chi < 20.5, "chi-square %g", chi); /* exceeded by chance once in 1,000 seeds */
    TEARDOWN;
}

TEST(seeking_to_any_place_continues_as_if_never_stopped) {
    SETUP(13);
    for (int drop = 0; drop < 2; drop++)
        for (int64_t epoch = 0; epoch < 3; epoch++)
            for (int64_t sample = 0; sample <= 13; sample++) {
                wick_loader_options options = {.batch = 1, .shuffle = true, .seed = 9, .drop_last = drop};
                REQUIRE(wick_loader_new(ctx, data, &options, &loader) == WICK_OK);
                int all[64], rest[64], numbers[64];
                int total = 0, at = 0;
                int64_t n;
                REQUIRE(wick_loader_seek(loader, epoch, 0) == WICK_OK);
                while ((n = next_numbers(loader, all + total)) > 0) total += (int)n;
                CHECK_INT(total, 13);
                wick_loader_free(&loader);

                options.batch = 4;
                REQUIRE(wick_loader_new(ctx, data, &options, &loader) == WICK_OK);
                (void)next_numbers(loader, numbers); /* wherever it was before */
                REQUIRE(wick_loader_seek(loader, epoch, sample) == WICK_OK);
                while ((n = next_numbers(loader, rest + at)) > 0) {
                    at += (int)n;
                    const wick_loader_place there = wick_loader_position(loader);
                    const int64_t e = there.epoch, s = there.sample;
                    CHECK(e == epoch && s == sample + at);
                }
                CHECK_INT(at, drop ? (13 - sample) / 4 * 4 : 13 - sample);
                CHECK(memcmp(rest, all + sample, (size_t)at * sizeof *rest) == 0);
                const wick_loader_place there = wick_loader_position(loader);
                const int64_t e = there.epoch, s = there.sample;
                CHECK(e == epoch + 1 && s == 0);
                wick_loader_free(&loader);
            }
    REQUIRE(wick_loader_new(ctx, data, &(wick_loader_options){.batch = 4}, &loader) == WICK_OK);
    CHECK_INT(wick_loader_seek(loader, -1, 0), WICK_ERR_INVALID);
    CHECK_INT(wick_loader_seek(loader, 0, 14), WICK_ERR_INVALID);
    CHECK_INT(wick_loader_seek(loader, 0, -1), WICK_ERR_INVALID);
    CHECK(wick_loader_seek(loader, INT64_MAX, 13) == WICK_OK);
    TEARDOWN;
}

/* ---- augmentation: samples of 2 x 5 x 4, a channel's row after the other; all of their pixels differ and none
 * is 0 ---- */

enum { HEIGHT = 5, WIDTH = 4, PLANES = 2, SIZE = PLANES * HEIGHT * WIDTH, COUNT = 6 };
static int bright_value(int i) { return 1 + i; } /* 240 pixels */
static void write_pictures(int rank) {
    write_idx("train-images-idx3-ubyte", rank, rank == 4 ? (int[]){COUNT, PLANES, HEIGHT, WIDTH} : (int[]){COUNT, SIZE},
              bright_value, 0);
    write_idx("train-labels-idx1-ubyte", 1, (int[]){COUNT}, label_value, 0);
}

/* What the sample became: the one of all (mirrored, top, left) that explains every pixel; -1: none does. */
static int explain(const float *got, int sample, int crop) {
    for (int mirrored = 0; mirrored < 2; mirrored++)
        for (int top = -crop; top <= crop; top++)
            for (int left = -crop; left <= crop; left++) {
                bool all = true;
                for (int k = 0; k < SIZE && all; k++) {
                    const int plane = k / (HEIGHT * WIDTH), row = k / WIDTH % HEIGHT + top, x0 = k % WIDTH;
                    const int x1 = (mirrored ? WIDTH - 1 - x0 : x0) + left;
                    const bool inside = row >= 0 && row < HEIGHT && x1 >= 0 && x1 < WIDTH;
                    const int pixel =
                        inside ? bright_value(((sample * PLANES + plane) * HEIGHT + row) * WIDTH + x1) : 0;
                    all = got[k] == (float)((pixel / 255.0 - 0.25) / 0.5);
                }
                if (all) return (mirrored * (2 * crop + 1) + top + crop) * (2 * crop + 1) + left + crop;
            }
    return -1;
}

TEST(flips_and_crops_are_drawn_evenly) {
    static const struct {
        bool flip;
        int crop, kinds;
        double chi; /* exceeded by chance once in 1,000 seeds */
    } rows[] = {{true, 0, 2, 10.8}, {false, 1, 9, 26.1}, {true, 1, 18, 40.8}, {true, 3, 98, 144.6}};
    SETUP(1);
    wick_dataset_free(&data);
    REQUIRE(folder_make());
    write_pictures(4);
    REQUIRE(wick_dataset_open(ctx, folder, "train", &data) == WICK_OK);
    folder_remove();
    static float out[COUNT * SIZE];
    for (size_t r = 0; r < WICK_COUNTOF(rows); r++) {
        enum { EPOCHS = 3000 };
        const wick_loader_options options = {
            .batch = COUNT, .seed = 3, .mean = 0.25, .deviation = 0.5, .flip = rows[r].flip, .crop = rows[r].crop};
        REQUIRE(wick_loader_new(ctx, data, &options, &loader) == WICK_OK);
        int counts[98] = {0}, seen = 0;
        for (int epoch = 0; epoch < EPOCHS; epoch++) {
            REQUIRE(wick_loader_seek(loader, epoch, 0) == WICK_OK && next_count(loader, out, y) == COUNT);
            for (int i = 0; i < COUNT; i++) {
                const int k = explain(out + i * SIZE, i, rows[r].crop);
                REQUIRE(k >= 0 && k < 98);
                counts[k]++;
            }
        }
        double chi = 0;
        const double want = (double)EPOCHS * COUNT / rows[r].kinds;
        for (int k = 0; k < 98; k++) {
            if (!counts[k]) continue;
            seen++;
            chi += pow(counts[k] - want, 2) / want;
        }
        CHECK_INT(seen, rows[r].kinds);
        CHECK_MSG(chi < rows[r].chi, "flip %d, crop %d: chi-square %g", rows[r].flip, rows[r].crop, chi);
        wick_loader_free(&loader);
    }
    TEARDOWN;
}

TEST(augmentation_depends_on_seed_epoch_and_sample_alone) {
    SETUP(1);
    wick_dataset_free(&data);
    REQUIRE(folder_make());
    write_pictures(4);
    REQUIRE(wick_dataset_open(ctx, folder, "train", &data) == WICK_OK);
    folder_remove();
    static float whole[COUNT * SIZE], part[COUNT * SIZE], other[COUNT * SIZE];
    int64_t labels[COUNT];
    for (int shuffle = 0; shuffle < 2; shuffle++)
        for (int epoch = 0; epoch < 4; epoch++) {
            wick_loader_options options = {.batch = COUNT, .shuffle = shuffle, .seed = 8, .flip = true, .crop = 2};
            REQUIRE(wick_loader_new(ctx, data, &options, &loader) == WICK_OK);
            REQUIRE(wick_loader_seek(loader, epoch, 0) == WICK_OK && next_count(loader, whole, y) == COUNT);
            wick_loader_free(&loader);
            for (int64_t sample = 0; sample < COUNT; sample++) /* from any place on, in batches of another size */
                for (options.batch = 1; options.batch <= COUNT; options.batch++) {
                    REQUIRE(wick_loader_new(ctx, data, &options, &loader) == WICK_OK);
                    (void)next_count(loader, part, labels);
                    REQUIRE(wick_loader_seek(loader, epoch, sample) == WICK_OK);
                    int64_t n, at = sample;
                    while ((n = next_count(loader, part, labels)) > 0) {
                        CHECK(memcmp(part, whole + at * SIZE, (size_t)n * SIZE * sizeof *part) == 0 &&
                              memcmp(labels, y + at, (size_t)n * sizeof *y) == 0);
                        at += n;
                    }
                    CHECK_INT(at, COUNT);
                    wick_loader_free(&loader);
                }
            options.seed = 9;
            options.batch = COUNT;
            REQUIRE(wick_loader_new(ctx, data, &options, &loader) == WICK_OK);
            REQUIRE(wick_loader_seek(loader, epoch, 0) == WICK_OK && next_count(loader, other, y) == COUNT);
            CHECK(memcmp(other, whole, sizeof whole) != 0);
            wick_loader_free(&loader);
        }
    /* the same samples in the same order: what differs is their place */
    const wick_loader_options plain = {.batch = COUNT, .seed = 8, .flip = true, .crop = 2};
    REQUIRE(wick_loader_new(ctx, data, &plain, &loader) == WICK_OK);
    REQUIRE(next_count(loader, whole, y) == COUNT && next_count(loader, part, y) == 0 &&
            next_count(loader, part, y) == COUNT);
    CHECK(memcmp(whole, part, sizeof whole) != 0);
    TEARDOWN;
}

TEST(a_limited_set_is_spread_over_the_whole) {
    CHECK(folder_make());
    write_split("train", 10);
    wick_context *ctx = new_context(.threads = 1);
    wick_dataset *d = NULL;
    REQUIRE(wick_dataset_open(ctx, folder, "train", &d) == WICK_OK);
    for (int most = -1; most < 12; most += most < 0 ? 11 : 1) CHECK(wick_dataset_limit(ctx, d, most) == WICK_OK);
    CHECK_INT(wick_dataset_count(d), 10);
    CHECK(wick_dataset_limit(ctx, d, 5) == WICK_OK); /* one of 0 and 1, one of 2 and 3, ... */
    CHECK_INT(wick_dataset_count(d), 5);
    int odd = 0;
    for (int i = 0; i < 5; i++) {
        const int from = wick_dataset_sample(d, i)[0] / 10;
        CHECK_INT(from / 2, i);
        CHECK_INT(wick_dataset_label(d, i), label_value(from));
        for (int k = 0; k < 6; k++) CHECK_INT(wick_dataset_sample(d, i)[k], pixel_value(from * 6 + k));
        odd += from % 2;
    }
    CHECK_MSG(odd > 0 && odd < 5, "%d of 5 are odd", odd); /* no stride */
    CHECK(!wick_dataset_sample(d, 5));
    CHECK(wick_dataset_limit(ctx, d, 0) == WICK_OK);
    CHECK_INT(wick_dataset_count(d), 0);
    wick_dataset_free(&d);
    wick_context_free(&ctx);
    folder_remove();
}

TEST(augmentation_is_refused_where_it_makes_no_sense) {
    SETUP(4); /* 2 x 3 pixels */
    const wick_loader_options bad[] = {
        {.batch = 2, .crop = 2}, {.batch = 2, .crop = -1}, {.batch = 2, .crop = INT64_MAX}};
    for (size_t i = 0; i < WICK_COUNTOF(bad); i++) {
        CHECK_INT(wick_loader_new(ctx, data, &bad[i], &loader), WICK_ERR_INVALID);
        CHECK_STR_HAS(wick_context_error(ctx), "2 x 3");
    }
    CHECK(wick_loader_new(ctx, data, &(wick_loader_options){.batch = 2, .crop = 1, .flip = true}, &loader) == WICK_OK);
    wick_loader_free(&loader);
    wick_dataset_free(&data);
    REQUIRE(folder_make());
    write_pictures(2); /* samples of one dim */
    REQUIRE(wick_dataset_open(ctx, folder, "train", &data) == WICK_OK);
    folder_remove();
    CHECK_INT(wick_loader_new(ctx, data, &(wick_loader_options){.batch = 2, .flip = true}, &loader), WICK_ERR_INVALID);
    CHECK_STR_HAS(wick_context_error(ctx), "1 dim");
    CHECK_INT(wick_loader_new(ctx, data, &(wick_loader_options){.batch = 2, .crop = 1}, &loader), WICK_ERR_INVALID);
    TEARDOWN;
}

TEST(options_that_make_no_batch_are_refused) {
    SETUP(5);
    const wick_loader_options bad[] = {{.batch = 0},
                                       {.batch = -3},
                                       {.batch = 6, .drop_last = true},
                                       {.batch = 2, .mean = NAN},
                                       {.batch = 2, .deviation = -1},
                                       {.batch = 2, .deviation = INFINITY}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        CHECK_INT(wick_loader_new(ctx, data, &bad[i], &loader), WICK_ERR_INVALID);
        CHECK(loader == NULL);
    }
    CHECK_INT(wick_loader_new(ctx, NULL, &bad[0], &loader), WICK_ERR_INVALID);
    CHECK_INT(wick_loader_new(ctx, data, NULL, &loader), WICK_ERR_INVALID);
    CHECK(wick_loader_new(ctx, data, &(wick_loader_options){.batch = 100}, &loader) ==
          WICK_OK); /* more than there are */
    CHECK_INT(next_count(loader, x, y), 5);
    TEARDOWN;
}

TEST(running_out_of_memory_is_an_error) {
    counting memory = {.fail_at = -1};
    const wick_allocator allocator = counting_allocator(&memory);
    wick_context *ctx;
    wick_dataset *data;
    wick_loader *loader;
    REQUIRE(folder_make());
    write_split("train", 9);
    REQUIRE(wick_context_new(&(wick_context_options){.threads = 1, .allocator = &allocator}, &ctx) == WICK_OK);
    const int64_t live = memory.live;
    int failed = 0;
    for (int limit = 0; limit < 100; limit++) {
        memory.fail_at = memory.calls + limit;
        wick_status status = wick_dataset_open(ctx, folder, "train", &data);
        if (status == WICK_OK)
            status = wick_loader_new(ctx, data, &(wick_loader_options){.batch = 2, .shuffle = true}, &loader);
        else
            CHECK(data == NULL);
        memory.fail_at = -1;
        if (status == WICK_OK) {
            CHECK_INT(next_count(loader, x, y), 2);
            wick_loader_free(&loader);
        }
        wick_dataset_free(&data);
        CHECK_INT(memory.live, live);
        if (status == WICK_OK) break;
        CHECK_INT(status, WICK_ERR_NOMEM);
        failed++;
    }
    CHECK_MSG(failed > 2 && failed < 100, "%d failed", failed);
    folder_remove();
    wick_context_free(&ctx);
    CHECK_INT(memory.live, 0);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
