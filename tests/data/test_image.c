/* Pictures: every type of PNG and JPEG against other decoders, hostile files, and other sizes against PyTorch's. */
#include <dirent.h>

#include "base/counting_alloc.h"
#define SAMPLES "images"
#include "data/decode.h"
#include "golden/golden.h"

/* A file in memory of exact size, so that a sanitizer sees a read beyond. */
static uint8_t *read_file(const char *path, size_t *size) {
    FILE *f = fopen(path, "rb");
    if (!f) return NULL;
    static uint8_t whole[1 << 16];
    *size = fread(whole, 1, sizeof whole, f);
    fclose(f);
    uint8_t *copy = malloc(*size);
    memcpy(copy, whole, *size);
    return copy;
}

/* Whether the library that reads the picture is here; else the message must name its package. */
static bool have(wick_context *ctx, const char *name, const char *package) {
    wick_image *m;
    if (wick_image_open(ctx, path_of(name), 0, &m) == WICK_ERR_UNSUPPORTED) {
        CHECK_STR_HAS(wick_context_error(ctx), package);
        return false;
    }
    wick_image_free(&m);
    return true;
}
#define NEED(name, package)            \
    do {                               \
        if (!have(ctx, name, package)) { \
            wick_context_free(&ctx);   \
            SKIP("no " package " here"); \
        }                              \
    } while (0)
#define NEED_PNG  NEED("grey8.png", "libspng0")
#define NEED_JPEG NEED("grey.jpg", "libturbojpeg0")

/* The largest difference of pixels; -1: other dims. */
static double distance(const wick_image *m, const golden *g) {
    double worst = 0;
    for (int i = 0; i < 3; i++)
        if (g->rank != 3 || wick_image_dims(m)[i] != g->dims[i]) return -1;
    for (int64_t i = 0; i < g->count; i++) worst = fmax(worst, fabs(wick_image_pixels(m, 0)[i] - g->values[i]));
    return worst;
}

static int check_all(wick_context *ctx, const char *ending, double most) {
    golden *first = golden_load("images.txt");
    int count = 0;
    for (const golden *g = first; g; g = g->next) {
        wick_image *m;
        if (strlen(g->name) < 4 || strcmp(g->name + strlen(g->name) - 4, ending) != 0) continue;
        const wick_status status = wick_image_open(ctx, path_of(g->name), 0, &m);
        CHECK_MSG(status == WICK_OK, "%s: %s", g->name, wick_context_error(ctx));
        if (status != WICK_OK) continue;
        const double d = distance(m, g);
        CHECK_MSG(d >= 0 && d <= most, "%s: %g", g->name, d);
        CHECK(wick_image_count(m) == 1 && !wick_image_pixels(m, 1) && !wick_image_pixels(m, -1));
        wick_image_free(&m);
        CHECK(!m);
        count++;
    }
    golden_free(first);
    return count;
}

TEST(every_type_of_png_is_read) {
    wick_context *ctx = new_context(.threads = 1);
    REQUIRE(ctx);
    NEED_PNG;
    CHECK_INT(check_all(ctx, ".png", 0), 12);
    wick_context_free(&ctx);
}

TEST(jpeg_is_read_as_others_read_it) {
    wick_context *ctx = new_context(.threads = 1);
    REQUIRE(ctx);
    NEED_JPEG;
    CHECK_INT(check_all(ctx, ".jpg", 1), 4); /* decoders may round differently */
    wick_image *m;
    CHECK_INT(wick_image_open(ctx, path_of("cmyk.jpg"), 0, &m), WICK_ERR_UNSUPPORTED);
    CHECK_STR_HAS(wick_context_error(ctx), "cmyk.jpg");
    CHECK_STR_HAS(wick_context_error(ctx), "CMYK");
    wick_context_free(&ctx);
}

TEST(grey_and_color_become_each_other) {
    wick_context *ctx = new_context(.threads = 1);
    REQUIRE(ctx);
    NEED_JPEG;
    wick_image *m, *grey;
    golden *first = golden_load("images.txt");
    REQUIRE(wick_image_open(ctx, path_of("color444.jpg"), 1, &m) == WICK_OK);
    const double d = distance(m, golden_find(first, "color444.jpg/grey"));
    CHECK_MSG(d >= 0 && d <= 1, "%g", d);
    wick_image_free(&m);
    REQUIRE(wick_image_open(ctx, path_of("grey.jpg"), 3, &m) == WICK_OK &&
            wick_image_open(ctx, path_of("grey.jpg"), 0, &grey) == WICK_OK);
    CHECK(wick_image_dims(m)[0] == 3 && wick_image_dims(grey)[0] == 1);
    const int64_t n = wick_image_dims(m)[1] * wick_image_dims(m)[2];
    for (int c = 0; c < 3; c++)
        CHECK(memcmp(wick_image_pixels(m, 0) + c * n, wick_image_pixels(grey, 0), (size_t)n) == 0);
    wick_image_free(&m);
    wick_image_free(&grey);
    CHECK_INT(wick_image_open(ctx, path_of("grey.jpg"), 2, &m), WICK_ERR_INVALID);
    golden_free(first);
    wick_context_free(&ctx);
}

TEST(other_sizes_are_as_torch_makes_them) {
    wick_context *ctx = new_context(.threads = 1);
    REQUIRE(ctx);
    NEED_JPEG;
    golden *first = golden_load("images.txt");
    wick_image *m, *other;
    int count = 0;
    REQUIRE(wick_image_open(ctx, path_of("color420.jpg"), 0, &m) == WICK_OK);
    const bool same = distance(m, golden_find(first, "color420.jpg")) == 0; /* as torch had it */
    for (const golden *g = first; g; g = g->next) {
        if (strncmp(g->name, "color420.jpg/", 13) != 0) continue;
        REQUIRE(wick_image_resize(ctx, m, g->dims[1], g->dims[2], &other) == WICK_OK);
        const double d = distance(other, g);
        CHECK_MSG(d >= 0 && d <= (same ? 0.5001 : 1.5), "%s: %g", g->name, d);
        wick_image_free(&other);
        count++;
    }
    CHECK_INT(count, 6);
    CHECK_INT(wick_image_resize(ctx, m, 0, 5, &other), WICK_ERR_INVALID);
    CHECK_INT(wick_image_resize(ctx, m, 5, -1, &other), WICK_ERR_INVALID);
    CHECK_INT(wick_image_resize(ctx, m, INT64_MAX, INT64_MAX, &other), WICK_ERR_INVALID);
    wick_image_free(&m);
    golden_free(first);
    wick_context_free(&ctx);
}

TEST(a_part_of_a_picture_has_its_pixels) {
    static const char text[] = "P3 4 3 255 " /* R, G and B of pixel (y, x) are 10 y + x, and 100 and 200 more */
                               "0 100 200 1 101 201 2 102 202 3 103 203 10 110 210 11 111 211 12 112 212 13 113 213 "
                               "20 120 220 21 121 221 22 122 222 23 123 223 ";
    static const int64_t wrong[][4] = {{0, 0, 0, 1}, {0, 0, 1, 0},  {-1, 0, 1, 1},         {0, -1, 1, 1}, {0, 0, 4, 1},
                                       {0, 0, 1, 5}, {2, 0, 2, 1},  {0, 3, 1, 2},          {3, 0, 1, 1},  {0, 4, 1, 1},
                                       {1, 1, 1, -1}, {1, 1, INT64_MAX, 1}, {1, 1, 1, INT64_MAX}};
    wick_context *ctx = new_context(.threads = 1);
    wick_image *m, *part;
    REQUIRE(ctx && wick_image_decode(ctx, text, sizeof text - 1, "a.ppm", 0, &m) == WICK_OK);
    REQUIRE(wick_image_crop(ctx, m, 1, 2, 2, 2, &part) == WICK_OK);
    const int64_t *d = wick_image_dims(part);
    CHECK(d[0] == 3 && d[1] == 2 && d[2] == 2 && wick_image_count(part) == 1);
    const uint8_t *p = wick_image_pixels(part, 0);
    for (int c = 0; c < 3; c++)
        for (int y = 0; y < 2; y++)
            for (int x = 0; x < 2; x++) CHECK_INT(p[(c * 2 + y) * 2 + x], 100 * c + 10 * (y + 1) + x + 2);
    wick_image_free(&part);
    for (size_t i = 0; i < WICK_COUNTOF(wrong); i++) {
        const int64_t *w = wrong[i];
        CHECK_INT(wick_image_crop(ctx, m, w[0], w[1], w[2], w[3], &part), WICK_ERR_INVALID);
        CHECK(!part && strstr(wick_context_error(ctx), "are not within 3 x 4"));
    }
    CHECK_INT(wick_image_crop(ctx, m, 0, 0, 1, 1, NULL), WICK_ERR_INVALID);
    wick_image_free(&m);
    wick_context_free(&ctx);
}

TEST(a_long_thin_picture_is_resized_in_linear_time) {
    /* one pass over the row for each output row would be 10^11 steps: the test's time limit */
    enum { LONG = 1 << 24, SIDE = 2048 };
    wick_context *ctx = new_context(.threads = 1);
    REQUIRE(ctx);
    uint8_t *file = malloc(12 + LONG);
    REQUIRE(file);
    for (int i = 0; i < LONG; i++) file[12 + i] = (uint8_t)((uint32_t)i * 2654435761u >> 24);
    for (int tall = 0; tall < 2; tall++) {
        /* big-endian: 1 << 24 is 1 0 0 0 */
        const uint8_t head[12] = {0, 0, 8, 2, (uint8_t)tall, 0, 0, (uint8_t)!tall, (uint8_t)!tall, 0, 0, (uint8_t)tall};
        wick_image *m, *thin, *square;
        memcpy(file, head, sizeof head);
        REQUIRE(wick_image_decode(ctx, file, 12 + LONG, "long.idx", 0, &m) == WICK_OK);
        REQUIRE(wick_image_resize(ctx, m, tall ? SIDE : 1, tall ? 1 : SIDE, &thin) == WICK_OK);
        REQUIRE(wick_image_resize(ctx, m, SIDE, SIDE, &square) == WICK_OK);
        const uint8_t *line = wick_image_pixels(thin, 0), *pixels = wick_image_pixels(square, 0);
        int wrong = 0;
        for (int i = 0; i < SIDE * SIDE; i++) wrong += pixels[i] != line[tall ? i / SIDE : i % SIDE];
        CHECK_INT(wrong, 0);
        wick_image_free(&m);
        wick_image_free(&thin);
        wick_image_free(&square);
    }
    free(file);
    wick_context_free(&ctx);
}

TEST(idx_files_hold_many_pictures) {
    wick_context *ctx = new_context(.threads = 1);
    REQUIRE(ctx);
    wick_image *m;
    uint8_t file[64] = {0, 0, 8, 4, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 1, 0, 0, 0, 2};
    for (int i = 0; i < 12; i++) file[20 + i] = (uint8_t)(20 * i);
    REQUIRE(wick_image_decode(ctx, file, 32, "x.idx", 0, &m) == WICK_OK);
    CHECK_INT(wick_image_count(m), 2);
    CHECK(wick_image_dims(m)[0] == 3 && wick_image_dims(m)[1] == 1 && wick_image_dims(m)[2] == 2);
    CHECK(memcmp(wick_image_pixels(m, 1), file + 26, 6) == 0);
    wick_image_free(&m);
    REQUIRE(wick_image_decode(ctx, file, 32, "x.idx", 1, &m) == WICK_OK);
    CHECK_INT(wick_image_pixels(m, 0)[0], (0 * 299 + 40 * 587 + 80 * 114 + 500) / 1000); /* R, G, B: 0, 40, 80 */
    wick_image_free(&m);
    file[11] = 2; /* two channels */
    CHECK_INT(wick_image_decode(ctx, file, 28, "x.idx", 0, &m), WICK_ERR_FORMAT);
    CHECK_STR_HAS(wick_context_error(ctx), "x.idx");
    file[7] = 0;
    CHECK_INT(wick_image_decode(ctx, file, 20, "x.idx", 0, &m), WICK_ERR_FORMAT);
    CHECK_INT(wick_image_decode(ctx, file, 31, "x.idx", 0, &m), WICK_ERR_FORMAT);
    wick_context_free(&ctx);
}

/* A bitmap of 3 x 2 pixels, rows from the bottom: file header, header of 40 bytes, then `more` (masks, palette), then
 * rows. */
static size_t make_bmp(uint8_t *file, int bits, int packing, int colors, const uint8_t *more, size_t n_more,
                       const uint8_t *rows, size_t n_rows, int height) {
    const size_t begin = 54 + n_more;
    memset(file, 0, 54);
    file[0] = 'B', file[1] = 'M', file[10] = (uint8_t)begin, file[14] = 40, file[18] = 3, file[28] = (uint8_t)bits,
    file[30] = (uint8_t)packing, file[46] = (uint8_t)colors;
    memcpy(file + 22, &(int32_t){height}, 4);
    memcpy(file + 54, more, n_more);
    memcpy(file + begin, rows, n_rows);
    return begin + n_rows;
}

TEST(bitmaps_of_every_depth_are_read_and_cut_ones_are_refused) {
    static const uint8_t palette[] = {3, 2, 1, 0, 30, 20, 10, 0},
                         masks[] = {0, 0xf8, 0, 0, 0xe0, 7, 0, 0, 0x1f, 0, 0, 0};
    static const struct {
        const char *what;
        int bits, packing, colors, height;
        const uint8_t *more;
        size_t n_more, n_rows;
        uint8_t rows[24], want[18]; /* R of both rows, G, B */
    } cases[] = {
        {"24 bits",
         24,
         0,
         0,
         2,
         NULL,
         0,
         24,
         {1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 0, 0, 11, 12, 13, 14, 15, 16, 17, 18, 19},
         {13, 16, 19, 3, 6, 9, 12, 15, 18, 2, 5, 8, 11, 14, 17, 1, 4, 7}},
        {"from the top",
         24,
         0,
         0,
         -2,
         NULL,
         0,
         24,
         {1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 0, 0, 11, 12, 13, 14, 15, 16, 17, 18, 19},
         {3, 6, 9, 13, 16, 19, 2, 5, 8, 12, 15, 18, 1, 4, 7, 11, 14, 17}},
        {"1 bit",
         1,
         0,
         2,
         2,
         palette,
         8,
         8,
         {0x40, 0, 0, 0, 0xa0},
         {10, 1, 10, 1, 10, 1, 20, 2, 20, 2, 20, 2, 30, 3, 30, 3, 30, 3}},
        {"4 bits",
         4,
         0,
         2,
         2,
         palette,
         8,
         8,
         {0x01, 0, 0, 0, 0x10, 0x10},
         {10, 1, 10, 1, 10, 1, 20, 2, 20, 2, 20, 2, 30, 3, 30, 3, 30, 3}},
        {"8 bits",
         8,
         0,
         2,
         2,
         palette,
         8,
         8,
         {0, 1, 0, 0, 1, 0, 1},
         {10, 1, 10, 1, 10, 1, 20, 2, 20, 2, 20, 2, 30, 3, 30, 3, 30, 3}},
        {"16 bits",
         16,
         0,
         0,
         2,
         NULL,
         0,
         16,
         {0xff, 0x7f, 0, 0x7c, 0xe0, 3, 0, 0, 0x1f, 0, 1},
         {0, 0, 0, 255, 255, 0, 0, 0, 0, 255, 0, 255, 255, 8, 0, 255, 0, 0}},
        {"masks",
         16,
         3,
         0,
         2,
         masks,
         12,
         16,
         {0xff, 0xff, 0, 0xf8, 0xe0, 7, 0, 0, 0x1f, 0, 1},
         {0, 0, 0, 255, 255, 0, 0, 0, 0, 255, 0, 255, 255, 8, 0, 255, 0, 0}},
        {"32 bits",
         32,
         0,
         0,
         2,
         NULL,
         0,
         24,
         {1, 2, 3, 9, 4, 5, 6, 9, 7, 8, 9, 9, 11, 12, 13, 9, 14, 15, 16, 9, 17, 18, 19, 9},
         {13, 16, 19, 3, 6, 9, 12, 15, 18, 2, 5, 8, 11, 14, 17, 1, 4, 7}},
    };
    wick_context *ctx = new_context(.threads = 1);
    REQUIRE(ctx);
    uint8_t file[128];
    wick_image *m;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const size_t n =
            make_bmp(file, cases[i].bits, cases[i].packing, cases[i].colors, cases[i].more ? cases[i].more : palette,
                     cases[i].n_more, cases[i].rows, cases[i].n_rows, cases[i].height);
        for (size_t cut = 0; cut < n; cut++)
            CHECK_MSG(wick_image_decode(ctx, file, cut, "x.bmp", 3, &m) == WICK_ERR_FORMAT, "%s: %zu bytes",
                      cases[i].what, cut);
        REQUIRE(wick_image_decode(ctx, file, n, "x.bmp", 3, &m) == WICK_OK);
        CHECK(wick_image_dims(m)[0] == 3 && wick_image_dims(m)[1] == 2 && wick_image_dims(m)[2] == 3);
        CHECK_MSG(!memcmp(wick_image_pixels(m, 0), cases[i].want, 18), "%s", cases[i].what);
        wick_image_free(&m);
    }
    size_t n = make_bmp(file, 8, 0, 1, palette, 8, cases[4].rows, 8, 2);
    CHECK_INT(wick_image_decode(ctx, file, n, "x.bmp", 3, &m), WICK_ERR_FORMAT);
    CHECK_STR_HAS(wick_context_error(ctx), "color 1 of 1");
    n = make_bmp(file, 8, 1, 2, palette, 8, cases[4].rows, 8, 2);
    CHECK_INT(wick_image_decode(ctx, file, n, "x.bmp", 3, &m), WICK_ERR_UNSUPPORTED);
    CHECK_STR_HAS(wick_context_error(ctx), "compression 1");
    n = make_bmp(file, 24, 0, 0, palette, 0, cases[0].rows, 24, INT32_MIN);
    CHECK_INT(wick_image_decode(ctx, file, n, "x.bmp", 3, &m), WICK_ERR_FORMAT);
    wick_context_free(&ctx);
}

TEST(what_is_no_picture_is_named) {
    wick_context *ctx = new_context(.threads = 1);
    REQUIRE(ctx);
    wick_image *m;
    CHECK_INT(wick_image_open(ctx, path_of("none.png"), 0, &m), WICK_ERR_IO);
    CHECK_STR_HAS(wick_context_error(ctx), "none.png");
    CHECK_INT(wick_image_open(ctx, path_of(""), 0, &m), WICK_ERR_IO);
    CHECK_INT(wick_image_decode(ctx, "\0\0\0\030ftypheic", 12, "x.heic", 0, &m), WICK_ERR_FORMAT);
    CHECK_STR_HAS(
        wick_context_error(ctx),
        "x.heic: is a HEIC picture, as phones take them, not a picture that is read; heif-convert x.heic new.png");
    CHECK_INT(wick_image_decode(ctx, "", 0, "empty", 0, &m), WICK_ERR_FORMAT);
    CHECK_INT(wick_image_decode(ctx, "", 0, NULL, 0, &m), WICK_ERR_FORMAT);
    CHECK_STR_HAS(wick_context_error(ctx), "a picture in memory");
    CHECK(!m);
    wick_image_free(&m);
    wick_image_free(NULL);
    wick_context_free(&ctx);
}

/* A PNG's size is in bytes 16 to 23, guarded by the CRC of its header. */
static uint32_t crc_of(const uint8_t *p, size_t n) {
    uint32_t c = ~0u;
    for (size_t i = 0; i < n; i++) {
        c ^= p[i];
        for (int k = 0; k < 8; k++) c = c & 1 ? 0xEDB88320u ^ c >> 1 : c >> 1;
    }
    return ~c;
}
static void put(uint8_t *at, uint32_t v) {
    for (int i = 0; i < 4; i++) at[i] = (uint8_t)(v >> (24 - 8 * i));
}

TEST(a_size_that_lies_allocates_nothing) {
    counting memory = {.fail_at = -1};
    const wick_allocator allocator = counting_allocator(&memory);
    wick_context *ctx = new_context(.threads = 1, .allocator = &allocator);
    REQUIRE(ctx);
    NEED_PNG;
    static const struct {
        uint32_t width, height;
        wick_status status;
        const char *why;
    } rows[] = {{0x7FFFFFFF, 0x7FFFFFFF, WICK_ERR_FORMAT, "PNG"},
                {1 << 14, (1 << 12) + 1, WICK_ERR_UNSUPPORTED, "limit"},
                {1 << 13, 1 << 13, WICK_ERR_FORMAT, "cannot hold"},
                {0, 5, WICK_ERR_FORMAT, "PNG"},
                {13, 10, WICK_ERR_FORMAT, "PNG"}};
    size_t size = 0;
    uint8_t *file = read_file(path_of("rgb8.png"), &size);
    for (size_t i = 0; i < WICK_COUNTOF(rows); i++) {
        put(file + 16, rows[i].width);
        put(file + 20, rows[i].height);
        put(file + 29, crc_of(file + 12, 17));
        const int64_t calls = memory.calls;
        wick_image *m;
        CHECK_INT(wick_image_decode(ctx, file, size, "liar.png", 0, &m), rows[i].status);
        CHECK_STR_HAS(wick_context_error(ctx), "liar.png");
        CHECK_STR_HAS(wick_context_error(ctx), rows[i].why);
        CHECK(memory.calls == calls || i == 4);
    }
    free(file);
    wick_context_free(&ctx);
    CHECK_INT(memory.live, 0);
}

/* JPEG: the frame header of a baseline file, ff c0, has its height and width at 5 and 7. */
TEST(a_jpeg_that_lies_is_refused) {
    wick_context *ctx = new_context(.threads = 1);
    REQUIRE(ctx);
    NEED_JPEG;
    size_t size = 0;
    uint8_t *file = read_file(path_of("color420.jpg"), &size);
    size_t at = 0;
    while (at + 9 < size && !(file[at] == 0xff && file[at + 1] == 0xc0)) at++;
    REQUIRE(at + 9 < size);
    wick_image *m;
    /* libjpeg-turbo says that its header is good */
    CHECK_INT(wick_image_decode(ctx, "\xff\xd8\xff", 3, "short.jpg", 0, &m), WICK_ERR_FORMAT);
    CHECK_STR_HAS(wick_context_error(ctx), "short.jpg: damaged JPEG");
    for (int i = 5; i < 9; i++) file[at + (size_t)i] = 0xff;
    CHECK(wick_image_decode(ctx, file, size, "liar.jpg", 0, &m) != WICK_OK); /* libjpeg's own limit is 65500 */
    file[at + 5] = file[at + 7] = 0x3f; /* 16383 x 16383 */
    CHECK_INT(wick_image_decode(ctx, file, size, "liar.jpg", 0, &m), WICK_ERR_UNSUPPORTED);
    CHECK_STR_HAS(wick_context_error(ctx), "16383 x 16383 pixels are more than the limit");
    file[at + 5] = file[at + 7] = 0x1f; /* 8191 x 8191 */
    CHECK_INT(wick_image_decode(ctx, file, size, "liar.jpg", 0, &m), WICK_ERR_FORMAT);
    CHECK_STR_HAS(wick_context_error(ctx), "liar.jpg");
    file[at + 5] = file[at + 7] = 0; /* 255 x 255: as many bits as pixels, but they end too soon */
    CHECK_INT(wick_image_decode(ctx, file, size, "liar.jpg", 0, &m), WICK_ERR_FORMAT);
    free(file);
    wick_context_free(&ctx);
}

/* Every beginning of every picture is refused; changed bits are refused or read, and never more than that. */
static void abuse(wick_context *ctx, const char *name) {
    size_t size = 0;
    uint8_t *file = read_file(path_of(name), &size);
    wick_image *m;
    REQUIRE(file);
    /* libspng leaves the checksum of the empty last chunk alone */
    const size_t end = memcmp(file, "\x89PNG", 4) == 0 ? 4 : 0;
    for (size_t cut = 0; cut < size - end; cut++) {
        uint8_t *part = malloc(cut + !cut);
        memcpy(part, file, cut);
        CHECK_MSG(wick_image_decode(ctx, part, cut, name, 0, &m) != WICK_OK, "%s cut to %zu of %zu bytes was read",
                  name, cut, size);
        CHECK_STR_HAS(wick_context_error(ctx), name);
        wick_image_free(&m);
        free(part);
    }
    for (int round = 0; round < 400; round++) {
        uint8_t *changed = malloc(size);
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
    REQUIRE(ctx);
    NEED_PNG;
    NEED_JPEG;
    DIR *dir = opendir(path_of(""));
    REQUIRE(dir);
    int count = 0;
    for (struct dirent *entry; (entry = readdir(dir));)
        if (entry->d_name[0] != '.') {
            abuse(ctx, entry->d_name);
            count++;
        }
    closedir(dir);
    CHECK_INT(count, 17);
    wick_context_free(&ctx);
}

TEST(running_out_of_memory_is_an_error) {
    counting memory = {.fail_at = -1};
    const wick_allocator allocator = counting_allocator(&memory);
    wick_context *ctx = new_context(.threads = 1, .allocator = &allocator);
    REQUIRE(ctx);
    NEED_PNG;
    wick_image *m, *other;
    const int64_t live = memory.live;
    int failed = 0;
    for (int limit = 0; limit < 20; limit++) {
        memory.fail_at = memory.calls + limit;
        other = NULL;
        wick_status status = wick_image_open(ctx, path_of("rgb8.png"), 0, &m);
        if (status == WICK_OK) status = wick_image_resize(ctx, m, 4, 4, &other);
        memory.fail_at = -1;
        wick_image_free(&m);
        wick_image_free(&other);
        CHECK_INT(memory.live, live);
        if (status == WICK_OK) break;
        CHECK_INT(status, WICK_ERR_NOMEM);
        failed++;
    }
    CHECK_INT(failed, 5);
    wick_context_free(&ctx);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
