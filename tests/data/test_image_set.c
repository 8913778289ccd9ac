/* Sets of pictures: folders and archives of classes, CIFAR-10 where it is installed, and what is refused. */
#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/counting_alloc.h"
#include "context.h"
#include "test.h"
#include "wick/wick.h"

static char folder[64];

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at) {
    (void)st, (void)type, (void)at;
    return remove(path);
}
static void folder_remove(void) { nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS); }
static bool folder_make(void) {
    strcpy(folder, "/tmp/wick-test-XXXXXX");
    return mkdtemp(folder) != NULL;
}

/* A picture of the golden ones: [3, 9, 13], or as its name says. */
static size_t read_picture(const char *name, uint8_t *to) {
    char path[1024];
    snprintf(path, sizeof path, "%s/tests/golden/images/%s", WICK_SOURCE_DIR, name);
    FILE *f = fopen(path, "rb");
    const size_t n = f ? fread(to, 1, 4096, f) : 0;
    if (f) fclose(f);
    return n;
}

/* FOLDER/split/class/file, with the bytes of the golden picture. */
static void put(const char *file, const char *picture) {
    char path[512];
    uint8_t bytes[4096];
    snprintf(path, sizeof path, "%s/%s", folder, file);
    for (char *p = path + strlen(folder) + 1; (p = strchr(p, '/')); *p++ = '/') {
        *p = 0;
        mkdir(path, 0755);
    }
    FILE *f = fopen(path, "wb");
    if (!f) return;
    fwrite(bytes, 1, read_picture(picture, bytes), f);
    fclose(f);
}

static FILE *tar;
static void tar_begin(const char *name) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    tar = fopen(path, "wb");
}
static void tar_put(const char *file, const char *picture) {
    uint8_t block[512] = {0}, bytes[4608] = {0};
    const size_t n = read_picture(picture, bytes);
    unsigned sum = 8 * ' ';
    strcpy((char *)block, file);
    snprintf((char *)block + 124, 12, "%011o", (unsigned)n);
    memcpy(block + 257, "ustar\0" "00", 8);
    block[156] = '0';
    for (int i = 0; i < 512; i++) sum += block[i];
    snprintf((char *)block + 148, 8, "%06o", sum);
    fwrite(block, 1, 512, tar);
    fwrite(bytes, 1, (n + 511) / 512 * 512, tar);
}
static void tar_end(void) {
    static const uint8_t zeros[1024];
    fwrite(zeros, 1, sizeof zeros, tar);
    fclose(tar);
}

static bool have(wick_context *ctx, const char *picture) {
    char path[1024];
    wick_image *m;
    snprintf(path, sizeof path, "%s/tests/golden/images/%s", WICK_SOURCE_DIR, picture);
    const bool here = wick_image_open(ctx, path, 0, &m) == WICK_OK;
    wick_image_free(&m);
    return here;
}
#define SETUP(n)                                                                                                       \
    wick_context *ctx = new_context(.threads = n);                                                                     \
    wick_dataset *d = NULL;                                                                                            \
    REQUIRE(ctx != NULL);                                                                                              \
    if (!have(ctx, "rgb8.png")) {                                                                                      \
        wick_context_free(&ctx);                                                                                       \
        SKIP("libspng (Debian: libspng0) is not on this machine");                                                     \
    }                                                                                                                  \
    REQUIRE(folder_make())
#define TEARDOWN            \
    wick_dataset_free(&d);  \
    folder_remove();        \
    wick_context_free(&ctx)
#define OPEN(split) CHECK_MSG(wick_dataset_open(ctx, folder, split, &d) == WICK_OK, "%s", wick_context_error(ctx))
#define REFUSED(split, status, text)                                   \
    do {                                                               \
        CHECK_INT(wick_dataset_open(ctx, folder, split, &d), status);  \
        CHECK(d == NULL);                                              \
        CHECK_STR_HAS(wick_context_error(ctx), text);                  \
    } while (0)

/* Whether sample i is the golden picture. */
static bool same(wick_context *ctx, const wick_dataset *d, int64_t i, const char *picture) {
    char path[1024];
    wick_image *m;
    snprintf(path, sizeof path, "%s/tests/golden/images/%s", WICK_SOURCE_DIR, picture);
    if (wick_image_open(ctx, path, 3, &m) != WICK_OK) return false;
    const bool equal = memcmp(wick_image_pixels(m, 0), wick_dataset_sample(d, i), 3 * 9 * 13) == 0;
    wick_image_free(&m);
    return equal;
}

static void check_set(wick_context *ctx, const wick_dataset *d) {
    static const char *const names[] = {"ant", "bee", "cat-2", "cow"};
    static const struct {
        int label;
        const char *picture;
    } samples[] = {{0, "rgb8.png"}, {0, "grey8.png"}, {1, "palette4.png"}, {3, "rgb8.png"}, {3, "rgba8.png"}};
    REQUIRE(wick_dataset_count(d) == 5 && wick_dataset_rank(d) == 3 && wick_dataset_classes(d) == 4);
    CHECK(wick_dataset_dims(d)[0] == 3 && wick_dataset_dims(d)[1] == 9 && wick_dataset_dims(d)[2] == 13);
    for (int i = 0; i < 4; i++) CHECK(strcmp(wick_dataset_class_name(d, i), names[i]) == 0);
    for (int i = 0; i < 5; i++) {
        CHECK_INT(wick_dataset_label(d, i), samples[i].label);
        CHECK_MSG(same(ctx, d, i, samples[i].picture), "sample %d", i);
    }
    CHECK(!wick_dataset_sample(d, 5) && wick_dataset_label(d, 5) == -1 && !strcmp(wick_dataset_class_name(d, 4), "?"));
}

TEST(a_folder_of_classes_is_read_in_sorted_order) {
    SETUP(1);
    put("train/cow/b.PNG", "rgba8.png"); /* made in another order */
    put("train/cow/a.png", "rgb8.png");
    put("train/bee/x.png", "palette4.png");
    put("train/ant/2.png", "grey8.png");
    put("train/ant/10.png", "rgb8.png");
    put("train/ant/notes.txt", "grey1.png"); /* no pictures by their names */
    put("train/ant/.hidden.png", "cmyk.jpg");
    put("train/ant/deeper/z.png", "cmyk.jpg");
    put("train/README.md", "grey1.png");
    put("train/.hid/0.png", "grey1.png");
    put("test/bee/1.png", "rgb8.png");
    put("test/cat-2/1.png", "rgb8.png");
    OPEN("train");
    if (d) check_set(ctx, d);
    wick_dataset_free(&d);
    OPEN("test"); /* has no ant: the others keep their numbers */
    REQUIRE(d && wick_dataset_count(d) == 2 && wick_dataset_classes(d) == 4);
    CHECK(wick_dataset_label(d, 0) == 1 && wick_dataset_label(d, 1) == 2);
    TEARDOWN;
}

TEST(archives_are_read_in_their_order) {
    SETUP(1);
    tar_begin("train.tar");
    tar_put("./set/train/ant/1.png", "rgb8.png");
    tar_put("train/ant/2.png", "grey8.png");
    tar_put("README", "grey1.png");
    tar_put("train/ant/._2.png", "grey1.png");
    tar_put(".hid/0.png", "grey1.png"); /* hidden folders are no classes here either */
    tar_put("train/.cache/ant/3.png", "grey1.png");
    tar_put("../bee/1.png", "palette4.png");
    tar_put("train/cow/1.png", "rgb8.png");
    tar_put("train/cow/0.png", "rgba8.png");
    tar_end();
    tar_begin("test.tar");
    tar_put("test/cat-2/1.png", "rgb8.png");
    tar_end();
    OPEN("train");
    if (d) check_set(ctx, d);
    wick_dataset_free(&d);
    OPEN("test");
    CHECK(d && wick_dataset_label(d, 0) == 2);
    TEARDOWN;
}

TEST(faults_are_refused_and_name_the_file) {
    SETUP(3);
    REFUSED("train", WICK_ERR_IO, "train.tar.gz");
    mkdir(strcat(strcpy((char[128]){0}, folder), "/train"), 0755);
    REFUSED("train", WICK_ERR_FORMAT, "holds no picture");
    put("train/a/1.png", "rgb8.png");
    put("train/a/2.jpg", "grey4.png"); /* what it is counts, not its name */
    OPEN("train");
    wick_dataset_free(&d);
    put("train/b/1.png", "make_images.py"); /* empty: no such picture */
    REFUSED("train", WICK_ERR_FORMAT,
            "train/b/1.png: no picture that is read (JPEG, PNG, BMP, WebP, GIF, PNM, TIFF, JPEG 2000): 0 bytes");
    put("train/b/1.png", "color420.jpg");
    if (have(ctx, "grey.jpg"))
        REFUSED("train", WICK_ERR_SHAPE, "train/b/1.png: is 37 x 50 pixels; the pictures before it are 9 x 13");
    put("train/b/1.png", "rgb8.png");
    char path[128];
    snprintf(path, sizeof path, "%s/train/b/1.png", folder);
    REQUIRE(truncate(path, 300) == 0);
    REFUSED("train", WICK_ERR_FORMAT, "train/b/1.png: damaged PNG");

    tar_begin("train.tar"); /* goes before the folder */
    tar_put("a/1.png", "rgb8.png");
    tar_put("1.png", "rgb8.png");
    tar_end();
    REFUSED("train", WICK_ERR_FORMAT, "train.tar: 1.png: is in no folder");
    tar_begin("train.tar");
    tar_put("../1.png", "rgb8.png");
    tar_end();
    REFUSED("train", WICK_ERR_FORMAT, "train.tar: ../1.png: is in no folder");
    tar_begin("train.tar");
    tar_put("a/1.png", "rgb8.png");
    tar_put("a\n/1.png", "rgb8.png");
    tar_end();
    REFUSED("train", WICK_ERR_FORMAT, "control character");
    tar_begin("train.tar");
    tar_put("a/1.png", "rgb8.png");
    fclose(tar);
    REFUSED("train", WICK_ERR_FORMAT, "cut off");
    TEARDOWN;
}

TEST(the_classes_of_a_known_set_are_known) {
    SETUP(1);
    char sub[128], base[64];
    const char *kept = getenv("WICK_DATA");
    strcpy(base, folder);
    snprintf(sub, sizeof sub, "%s/cifar10", folder);
    mkdir(sub, 0755);
    put("cifar10/test/ship/1.png", "rgb8.png");
    setenv("WICK_DATA", base, 1);
    CHECK_MSG(wick_dataset_open(ctx, "cifar10", "test", &d) == WICK_OK, "%s", wick_context_error(ctx));
    CHECK(d && wick_dataset_classes(d) == 10 && wick_dataset_label(d, 0) == 8 &&
          !strcmp(wick_dataset_class_name(d, 9), "truck"));
    wick_dataset_free(&d);
    put("cifar10/test/submarine/1.png", "rgb8.png");
    CHECK_INT(wick_dataset_open(ctx, "cifar10", "test", &d), WICK_ERR_FORMAT);
    CHECK_STR_HAS(wick_context_error(ctx), "cifar10 has no class \"submarine\"");
    if (kept)
        setenv("WICK_DATA", kept, 1);
    else
        unsetenv("WICK_DATA");
    TEARDOWN;
}

/* More files than are decoded at a time; the first fault is the one that is told, at any number of threads. */
TEST(many_pictures_are_the_same_at_any_number_of_threads) {
    static const char *const pictures[] = {"rgb8.png", "grey8.png", "palette4.png", "rgba8.png", "interlaced.png"};
    enum { MANY = 1200 };
    for (int threads = 1; threads <= 3; threads += 2) {
        SETUP(threads);
        tar_begin("train.tar");
        for (int i = 0; i < MANY; i++) {
            char name[64];
            snprintf(name, sizeof name, "train/%d/%d.png", i % 7, i);
            tar_put(name, pictures[i % 5]);
        }
        tar_end();
        OPEN("train");
        REQUIRE(d && wick_dataset_count(d) == MANY);
        for (int i = 0; i < MANY; i++) CHECK(same(ctx, d, i, pictures[i % 5]) && wick_dataset_label(d, i) == i % 7);
        wick_dataset_free(&d);
        char path[128];
        snprintf(path, sizeof path, "%s/train.tar", folder);
        FILE *f = fopen(path, "r+b");
        for (int i = 0; f && i < 2; i++) { /* in the pixels of two rgb8.png; five files take 5632 bytes */
            fseek(f, (i ? 700 : 600) / 5 * 5632L + 512 + 400, SEEK_SET);
            fputc(0x55, f);
        }
        if (f) fclose(f);
        CHECK_INT(wick_dataset_open(ctx, folder, "train", &d), WICK_ERR_FORMAT);
        CHECK_STR_HAS(wick_context_error(ctx), "train.tar: train/5/600.png: damaged PNG");
        TEARDOWN;
    }
}

static void installed(const char *split, int64_t count, double mean, double deviation, uint64_t sum,
                      const uint8_t last[3]) {
    wick_context *ctx = new_context(.threads = 2);
    wick_dataset *d;
    REQUIRE(ctx != NULL);
    const wick_status status = wick_dataset_open(ctx, "cifar10", split, &d);
    if (status != WICK_OK) {
        CHECK(status == WICK_ERR_IO || status == WICK_ERR_UNSUPPORTED);
        static char why[WICK_MSG_MAX];
        snprintf(why, sizeof why, "%s", wick_context_error(ctx));
        wick_context_free(&ctx);
        SKIP(why);
    }
    CHECK_INT(wick_dataset_count(d), count);
    CHECK(wick_dataset_rank(d) == 3 && wick_dataset_dims(d)[0] == 3 && wick_dataset_dims(d)[1] == 32 &&
          wick_dataset_dims(d)[2] == 32);
    CHECK_INT(wick_dataset_classes(d), 10);
    int64_t counts[10] = {0};
    uint64_t total = 0;
    for (int64_t i = 0; i < count; i++) {
        counts[wick_dataset_label(d, i)]++;
        for (int k = 0; k < 3072; k++) total += wick_dataset_sample(d, i)[k];
    }
    for (int k = 0; k < 10; k++) CHECK_INT(counts[k], count / 10);
    double m, s;
    CHECK(wick_dataset_moments(ctx, d, &m, &s) == WICK_OK);
    CHECK_MSG(fabs(m - mean) < 1e-6 && fabs(s - deviation) < 1e-6, "%.9f %.9f", m, s);
    /* decoders may round differently */
    CHECK_MSG(llabs((long long)(total - sum)) < count, "%llu", (unsigned long long)total);
    for (int c = 0; c < 3; c++) CHECK(abs(wick_dataset_sample(d, count - 1)[c * 1024 + 31 * 32 + 30] - last[c]) <= 1);
    wick_dataset_free(&d);
    wick_context_free(&ctx);
}
/* Numbers of Pillow 13 and NumPy on the same archives. */
TEST(cifar10_for_training_is_as_known) {
    installed("train", 45000, 0.47337236562159585, 0.2506143215005024, 16686943935u, (const uint8_t[]){216, 222, 218});
}
TEST(cifar10_for_testing_is_as_known) {
    installed("test", 5000, 0.48001826848447715, 0.2499805708670466, 1880135554u, (const uint8_t[]){233, 223, 255});
}

TEST(running_out_of_memory_is_an_error) {
    counting memory = {.fail_at = -1};
    const wick_allocator allocator = counting_allocator(&memory);
    wick_context *ctx;
    wick_dataset *d;
    REQUIRE(folder_make());
    put("train/a/1.png", "rgb8.png");
    put("train/b/1.png", "grey8.png");
    put("test/c/1.png", "grey8.png");
    REQUIRE(wick_context_new(&(wick_context_options){.threads = 1, .allocator = &allocator}, &ctx) == WICK_OK);
    if (!have(ctx, "rgb8.png")) {
        folder_remove();
        wick_context_free(&ctx);
        SKIP("libspng (Debian: libspng0) is not on this machine");
    }
    const int64_t live = memory.live;
    int failed = 0;
    for (int limit = 0; limit < 100; limit++) {
        memory.fail_at = memory.calls + limit;
        const wick_status status = wick_dataset_open(ctx, folder, "train", &d);
        memory.fail_at = -1;
        CHECK((status == WICK_OK) == (d != NULL));
        wick_dataset_free(&d);
        CHECK_INT(memory.live, live);
        if (status == WICK_OK) break;
        CHECK_INT(status, WICK_ERR_NOMEM);
        failed++;
    }
    CHECK_MSG(failed > 8 && failed < 100, "%d failed", failed);
    folder_remove();
    wick_context_free(&ctx);
    CHECK_INT(memory.live, 0);
}

TEST(a_folder_decoded_when_asked_for_has_the_same_pictures) {
    SETUP(2);
    char train[160], path[300];
    static const char *const pictures[] = {"rgb8.png", "grey8.png", "palette4.png", "rgba8.png", "rgb16.png"};
    snprintf(train, sizeof train, "%s/train", folder);
    for (int i = 0; i < 60; i++) {
        snprintf(path, sizeof path, "train/%s/%03d.%s",
                 i % 4 == 0   ? "b"
                 : i % 4 == 1 ? "a-b"
                 : i % 4 == 2 ? "a"
                              : "c",
                 i, strrchr(pictures[i % 5], '.') + 1);
        put(path, pictures[i % 5]);
    }
    wick_dataset *lazy;
    OPEN("train");
    CHECK_MSG(wick_dataset_of_files(ctx, train, NULL, &lazy) == WICK_OK, "%s", wick_context_error(ctx));
    REQUIRE(d && lazy && wick_dataset_count(d) == 60 && wick_dataset_count(lazy) == 60 &&
            wick_dataset_classes(lazy) == 4);
    for (int k = 0; k < 4; k++) CHECK(strcmp(wick_dataset_class_name(d, k), wick_dataset_class_name(lazy, k)) == 0);
    CHECK(!wick_dataset_at(lazy, 0, 0));
    for (int i = 0; i < 60; i++) {
        uint8_t x[3 * 9 * 13];
        int64_t y;
        CHECK(wick_dataset_get(lazy, i, (void *[]){x, &y}, NULL) == WICK_OK &&
              memcmp(x, wick_dataset_sample(d, i), sizeof x) == 0 && y == wick_dataset_label(d, i) &&
              wick_dataset_label(lazy, i) == y);
    }
    /* batches of the two, whoever decodes */
    for (int workers = 0; workers < 4; workers++) {
        wick_loader *l[2];
        wick_batch b[2];
        for (int i = 0; i < 2; i++)
            REQUIRE(
                wick_loader_new(ctx, i ? lazy : d,
                                &(wick_loader_options){
                                    .batch = 7, .shuffle = true, .crop = 2, .flip = true, .workers = i ? workers : 0},
                                &l[i]) == WICK_OK);
        do {
            for (int i = 0; i < 2; i++) REQUIRE(wick_loader_take(l[i], &b[i]) == WICK_OK);
            CHECK(b[0].count == b[1].count &&
                  (!b[0].count ||
                   memcmp(b[0].fields[0], b[1].fields[0], (size_t)b[0].count * 3 * 9 * 13 * sizeof(float)) == 0));
        } while (b[0].count);
        wick_loader_free(&l[0]), wick_loader_free(&l[1]);
    }
    /* one that is gone, one that is damaged, one of another size: each named */
    static const struct {
        const char *file, *picture, *why;
    } bad[] = {{"a/002.png", NULL, "cannot open"},
               {"a/006.png", "", "a/006.png: "},
               {"a/014.png", "grey1.png", "pixels; the first one is 9 x 13"}};
    for (int i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/%s", train, bad[i].file);
        wick_fault fault = {""};
        uint8_t x[3 * 9 * 13], bytes[4096];
        int64_t y;
        if (!bad[i].picture) unlink(path);
        else if (!*bad[i].picture) {
            const size_t n = read_picture("grey8.png", bytes);
            FILE *f = fopen(path, "wb");
            fwrite(bytes, 1, n / 2, f);
            fclose(f);
        } else {
            static const uint8_t bmp[] = {'B', 'M', 58, 0, 0, 0, 0, 0, 0,  0, 54, 0, 0, 0, 40, 0, 0, 0, 1, 0,
                                          0,   0,   1,  0, 0, 0, 1, 0, 24, 0, 0,  0, 0, 0, 4,  0, 0, 0, 0, 0,
                                          0,   0,   0,  0, 0, 0, 0, 0, 0,  0, 0,  0, 0, 0, 1,  2, 3, 0};
            FILE *f = fopen(path, "wb"); /* what it is, its first bytes say */
            fwrite(bmp, 1, sizeof bmp, f);
            fclose(f);
        }
        int faults = 0;
        for (int at = 0; at < 60; at++)
            if (wick_dataset_get(lazy, at, (void *[]){x, &y}, &fault) != WICK_OK && strstr(fault.text, bad[i].file)) {
                CHECK_STR_HAS(fault.text, bad[i].why);
                faults++;
            }
        CHECK_INT(faults, 1);
    }
    wick_loader *l;
    wick_batch b;
    wick_loader_stats stats;
    int64_t total = 0;
    REQUIRE(wick_loader_new(ctx, lazy, &(wick_loader_options){.batch = 7, .workers = 2, .on_fault = WICK_FAULT_SKIP},
                            &l) == WICK_OK);
    while (wick_loader_take(l, &b) == WICK_OK && b.count) total += b.count;
    wick_loader_get_stats(l, &stats);
    CHECK(total == 57 && stats.skipped == 3);
    wick_loader_free(&l);
    wick_dataset_free(&lazy);
    CHECK_INT(wick_dataset_of_files(ctx, "/nowhere/at/all", NULL, &lazy), WICK_ERR_IO);
    CHECK_STR_HAS(wick_context_error(ctx), "/nowhere/at/all");
    TEARDOWN;
}

int main(int argc, char **argv) { return test_main(argc, argv); }
