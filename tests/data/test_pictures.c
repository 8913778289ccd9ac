/* Pictures of the kinds that came later, and those that say how they are to be turned: against Pillow, cut, and
 * damaged. */
#include <dirent.h>

#define SAMPLES "pictures"
#include "data/decode.h"
#include "golden/golden.h"

static uint8_t *read_file(const char *path, size_t *size) {
    FILE *f = fopen(path, "rb");
    if (!f) return NULL;
    static uint8_t whole[1 << 16];
    *size = fread(whole, 1, sizeof whole, f);
    fclose(f);
    uint8_t *copy = malloc(*size); /* of exact size, so that a sanitizer sees a read beyond */
    if (copy) memcpy(copy, whole, *size);
    return copy;
}

static bool ends(const char *name, const char *end) {
    const size_t n = strlen(name), m = strlen(end);
    return n > m && strcmp(name + n - m, end) == 0;
}

/* What reads a file of that name; NULL: Wick itself. The message must name it where it is missing. */
static const char *package_of(const char *name) {
    static const struct {
        const char *end, *package;
    } packages[] = {{".tif", "libtiff6"},      {".jp2", "libopenjp2-7"}, {".j2k", "libopenjp2-7"},
                    {".jpg", "libturbojpeg0"}, {".png", "libspng0"},     {".webp", "libwebp7"}};
    for (size_t i = 0; i < sizeof packages / sizeof packages[0]; i++)
        if (ends(name, packages[i].end)) return packages[i].package;
    return NULL;
}

/* Whether the picture can be read here; else the message names the package. */
static bool have(wick_context *ctx, const char *name) {
    wick_image *m;
    if (!package_of(name) || wick_image_open(ctx, path_of(name), 0, &m) != WICK_ERR_UNSUPPORTED) {
        if (package_of(name)) wick_image_free(&m);
        return true;
    }
    CHECK_STR_HAS(wick_context_error(ctx), package_of(name));
    return false;
}

/* Names that end so; how many were read. -1: none could be, for want of the library. */
static int check_all(const char *end) {
    wick_context *ctx = new_context(.threads = 1);
    golden *first = golden_load("pictures.txt");
    int count = 0;
    for (const golden *g = first; g && ctx; g = g->next) {
        wick_image *m;
        if (!ends(g->name, end) || strncmp(g->name, "turn", 4) == 0) continue;
        if (!have(ctx, g->name)) {
            count = -1;
            break;
        }
        const wick_status status = wick_image_open(ctx, path_of(g->name), 0, &m);
        CHECK_MSG(status == WICK_OK, "%s: %s", g->name, wick_context_error(ctx));
        if (status != WICK_OK) continue;
        const int64_t *dims = wick_image_dims(m), channels = g->dims[0] > dims[0] ? dims[0] : g->dims[0];
        CHECK_MSG(g->rank == 3 && dims[1] == g->dims[1] && dims[2] == g->dims[2] && wick_image_count(m) == 1,
                  "%s: %lld x %lld", g->name, (long long)dims[1], (long long)dims[2]);
        for (int64_t i = 0; i < channels * dims[1] * dims[2]; i++)
            CHECK_MSG(fabs(wick_image_pixels(m, 0)[i] - g->values[i]) <= (strcmp(g->name, "deep.tif") == 0),
                      "%s: value %lld is %d, not %g", g->name, (long long)i, wick_image_pixels(m, 0)[i],
                      g->values[i]); /* libtiff takes the upper 8 of 16 bits */
        wick_image_free(&m);
        count++;
    }
    golden_free(first);
    wick_context_free(&ctx);
    return count;
}
#define ALL(end, n)                              \
    do {                                         \
        const int count = check_all(end);        \
        if (count < 0) SKIP("no library for " end " here"); \
        CHECK_INT(count, n);                     \
    } while (0)

TEST(portable_pixmaps_are_read_as_text_and_as_bytes) {
    ALL(".ppm", 3);
    ALL(".pgm", 2);
    ALL(".pbm", 2);
}
TEST(the_first_picture_of_a_gif_is_read) { ALL(".gif", 5); }
TEST(tiffs_are_read) { ALL(".tif", 10); }
TEST(jpeg_2000_is_read) {
    ALL(".jp2", 6);
    ALL(".j2k", 1);
}

/* However few bytes it takes. */
TEST(blank_pictures_of_any_size_are_read) {
    static const char *const names[] = {"blank.tif", "blank.jp2", "blank.webp"};
    wick_context *ctx = new_context(.threads = 1);
    REQUIRE(ctx);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        wick_image *m;
        if (!have(ctx, names[i])) continue;
        CHECK_MSG(wick_image_open(ctx, path_of(names[i]), 0, &m) == WICK_OK, "%s: %s", names[i],
                  wick_context_error(ctx));
        if (!m) continue;
        const int64_t *dims = wick_image_dims(m);
        CHECK(dims[1] == 4096 && dims[2] == 4096 && wick_image_pixels(m, 0)[4096 * 4096 - 1] == 255);
        wick_image_free(&m);
    }
    wick_context_free(&ctx);
}

/* The context's option leaves them as they are stored, which is what turn1 is. */
TEST(pictures_are_turned_as_they_say) {
    static const char *const kinds[] = {".jpg", ".png", ".webp", ".tif"};
    wick_context *ctx = new_context(.threads = 1);
    golden *first = golden_load("pictures.txt");
    REQUIRE(ctx && first);
    int counts[4] = {0}, kind;
    for (const golden *g = first; g; g = g->next) {
        wick_image *m;
        if (strncmp(g->name, "turn", 4) != 0 || !have(ctx, g->name)) continue;
        for (kind = 0; !ends(g->name, kinds[kind]); kind++) continue;
        for (int as_stored = 0; as_stored < 2; as_stored++) {
            wick_context_set_pictures(ctx, (wick_pictures){.as_stored = as_stored});
            CHECK_MSG(wick_image_open(ctx, path_of(g->name), 3, &m) == WICK_OK, "%s: %s", g->name,
                      wick_context_error(ctx));
            const int64_t *dims = wick_image_dims(m);
            const bool across = g->name[4] >= '5';
            CHECK_MSG(dims[1] == (across && !as_stored ? 11 : 7) && dims[2] == (across && !as_stored ? 7 : 11),
                      "%s: %lld x %lld", g->name, (long long)dims[1], (long long)dims[2]);
            for (int64_t i = 0; i < g->count && !as_stored; i++)
                CHECK_MSG(wick_image_pixels(m, 0)[i] == g->values[i], "%s: value %lld is %d, not %g", g->name,
                          (long long)i, wick_image_pixels(m, 0)[i], g->values[i]);
            wick_image_free(&m);
        }
        wick_context_set_pictures(ctx, (wick_pictures){0});
        counts[kind]++;
    }
    golden_free(first);
    wick_context_free(&ctx);
    CHECK(counts[0] == 8 || counts[0] == 0);
    for (kind = 1; kind < 4; kind++) CHECK(counts[kind] == 2 || counts[kind] == 0);
    if (!counts[0]) SKIP("no libturbojpeg0 here");
}

TEST(what_is_wrong_with_a_pixmap_or_a_gif_is_said) {
    static const struct {
        const char *bytes;
        size_t size;
        const char *why;
    } rows[] = {
#define ROW(bytes, why) {bytes, sizeof bytes - 1, why}
        ROW("P5 2 2 255\n123", "rows of 2 bytes are cut off: 3 are left"),
        ROW("P5 2 2 0\n1234", "largest value of 1 to 65535"),
        ROW("P5 2 2 65536\n1234", "largest value of 1 to 65535"),
        ROW("P5 0 2 255\n", "a picture of 2 x 0 pixels"),
        ROW("P5 99999999 99999999 255\n", "damaged PNM"),
        ROW("P2 2 2 15\n1 2 3 16", "no sample of 0 to 15"),
        ROW("P2 2 2 15\n1 2 3", "no sample of 0 to 15"),
        ROW("P5 2 2 3\n\1\2\3\4", "no sample of 0 to 3"),
        ROW("P1 2 2\n0 1 2 1", "no sample of 0 to 1"),
        ROW("GIF89a\1\0\1\0\0\0\0;", "no picture at byte 13"),
        ROW("GIF89a\1\0\1\0\0\0\0,\0\0\0\0\1\0\1\0\0\2", "it has no colors"),
        ROW("GIF89a\1\0\1\0\x80\0\0\1\2\3\4\5\6,\0\0\0\0\1\0\1\0\0\2\1\x3c\0;", "a code that stands for nothing"),
        ROW("GIF89a\1\0\1\0\x80\0\0\1\2\3\4\5\6,\0\0\0\0\1\0\1\0\0\2\1\x1a\0;", "color 2 of 2"),
        ROW("GIF89a\1\0\1\0\x80\0\0\1\2\3\4\5\6,\0\0\0\0\1\0\1\0\0\2\1\x2c\0;", "0 pixels of 1"),
        ROW("GIF89a\1\0\1\0\x80\0\0\1\2\3\4\5\6,\0\0\0\0\1\0\1\0\0\x09\1\x1a\0;", "codes of 9 bits"),
        ROW("GIF89a\xff\xff\xff\xff\x80\0\0\1\2\3\4\5\6,\0\0\0\0\1\0\1\0\0\2\1\x0c\0;", "more than the limit"),
    };
    wick_context *ctx = new_context(.threads = 1);
    REQUIRE(ctx);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        wick_image *m;
        CHECK_MSG(wick_image_decode(ctx, rows[i].bytes, rows[i].size, "x", 0, &m) != WICK_OK, "row %zu was read", i);
        CHECK_MSG(strstr(wick_context_error(ctx), rows[i].why), "row %zu: %s", i, wick_context_error(ctx));
        wick_image_free(&m);
    }
    wick_context_free(&ctx);
}

/* Every beginning is refused, as long as no pixel is there yet or the format has an end; changed bits are refused or
 * read, and never more than that. */
static void abuse(wick_context *ctx, const char *name) {
    size_t size = 0;
    uint8_t *file = read_file(path_of(name), &size);
    wick_image *m;
    REQUIRE(file);
    for (size_t cut = 0; cut < size / 2; cut++) {
        uint8_t *part = malloc(cut + !cut);
        REQUIRE(part);
        memcpy(part, file, cut);
        CHECK_MSG(wick_image_decode(ctx, part, cut, name, 0, &m) != WICK_OK, "%s cut to %zu of %zu bytes was read",
                  name, cut, size);
        CHECK_STR_HAS(wick_context_error(ctx), name);
        wick_image_free(&m);
        free(part);
    }
    for (int round = 0; round < 100; round++) {
        uint8_t *changed = malloc(size);
        REQUIRE(changed);
        memcpy(changed, file, size);
        for (int flips = test_rand_int(1, 4); flips > 0; flips--)
            changed[test_rand() % size] ^= (uint8_t)(1 << test_rand_int(0, 7));
        if (wick_image_decode(ctx, changed, size, name, 3, &m) == WICK_OK) CHECK(wick_image_dims(m)[0] == 3);
        wick_image_free(&m);
        free(changed);
    }
    free(file);
}

TEST(cut_and_damaged_files_are_refused_or_read) {
    wick_context *ctx = new_context(.threads = 1);
    DIR *dir = opendir(path_of(""));
    REQUIRE(ctx && dir);
    int count = 0;
    for (struct dirent *entry; (entry = readdir(dir));)
        if (entry->d_name[0] != '.' && (strncmp(entry->d_name, "turn", 4) != 0 || entry->d_name[4] == '6') &&
            !ends(entry->d_name, "film.gif") /* of a film half is enough */ &&
            strncmp(entry->d_name, "blank", 5) != 0 /* 16 million pixels each time */ && have(ctx, entry->d_name))
            abuse(ctx, entry->d_name), count++;
    closedir(dir);
    CHECK(count >= 11);
    wick_context_free(&ctx);
}

/* EXIF that lies: offsets and counts beyond the segment, other types. The picture stays as it is stored. */
TEST(damaged_exif_turns_nothing) {
    wick_context *ctx = new_context(.threads = 1);
    REQUIRE(ctx);
    if (!have(ctx, "turn6.jpg")) {
        wick_context_free(&ctx);
        SKIP("no libturbojpeg0 here");
    }
    size_t size = 0;
    uint8_t *file = read_file(path_of("turn6.jpg"), &size);
    REQUIRE(file);
    size_t at = 0;
    while (at + 10 < size && memcmp(file + at, "Exif\0\0", 6) != 0) at++;
    REQUIRE(at + 10 < size);
    int turned = 0;
    for (size_t i = at; i < at + 32 && i < size; i++)
        for (int bit = 0; bit < 8; bit++) {
            wick_image *m;
            file[i] ^= (uint8_t)(1 << bit);
            CHECK_MSG(wick_image_decode(ctx, file, size, "x", 3, &m) == WICK_OK, "byte %zu: %s", i,
                      wick_context_error(ctx));
            turned += m && wick_image_dims(m)[1] == 11;
            wick_image_free(&m);
            file[i] ^= (uint8_t)(1 << bit);
        }
    CHECK(turned < 200); /* of 256 */
    free(file);
    wick_context_free(&ctx);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
