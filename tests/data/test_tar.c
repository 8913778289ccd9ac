/* The tar reader: archives of Python's tarfile in three formats, and hostile ones. */
#include "data/formats/tar.h"
#include "test.h"

static wick_msg msg;
static uint8_t archive[1 << 17];
static size_t archive_size;

static bool load(const char *kind) {
    char path[1024];
    snprintf(path, sizeof path, "%s/tests/golden/tars/%s.tar.gz", WICK_SOURCE_DIR, kind);
    FILE *f = fopen(path, "rb");
    archive_size = f ? fread(archive, 1, sizeof archive, f) : 0;
    if (f) fclose(f);
    return archive_size > 0;
}
/* The archive without its gzip; false: no zlib here. */
static bool unpack(const char *kind) {
    static uint8_t plain[sizeof archive];
    wick_gzip *g;
    if (!load(kind)) return false;
    if (wick_gzip_open(&g, archive, archive_size, kind, &msg) != WICK_OK) return false;
    size_t n = 0;
    while (n < sizeof plain && wick_gzip_read(g, plain + n, 512, &msg) == WICK_OK) n += 512;
    wick_gzip_close(&g);
    memcpy(archive, plain, n);
    archive_size = n;
    return true;
}

/* Reads all of a copy of exact size; counts files and bytes. */
static wick_status walk(const uint8_t *data, size_t size, int *files, size_t *bytes) {
    uint8_t *copy = malloc(size + !size);
    memcpy(copy, data, size);
    wick_tar *t = malloc(sizeof *t);
    bool more = true;
    *files = 0, *bytes = 0;
    msg = (wick_msg){0};
    wick_status status = wick_tar_open(t, copy, size, "x.tar", &msg);
    if (status == WICK_OK) {
        while ((status = wick_tar_next(t, &more, &msg)) == WICK_OK && more) {
            CHECK(t->size <= size * 1032 && memchr(t->name, 0, sizeof t->name));
            uint8_t *to = malloc(t->size + 1);
            if (*files % 2 == 0 && (status = wick_tar_read(t, to, &msg)) != WICK_OK) more = false;
            free(to);
            if (status != WICK_OK) break;
            ++*files, *bytes += t->size;
        }
        wick_tar_close(t);
    }
    CHECK((status == WICK_OK) == (msg.text[0] == 0));
    if (status != WICK_OK) CHECK_STR_HAS(msg.text, "x.tar");
    free(t);
    free(copy);
    return status;
}

static void check_archive(const char *kind, bool all) {
    static char names[6][512];
    strcpy(names[0], "./top/a.txt"), strcpy(names[1], "top/empty"), strcpy(names[4], "top/\xc3\xa4"),
        strcpy(names[5], "top/last");
    snprintf(names[2], sizeof names[2], "top/%090d/%060d", 0, 0);
    for (char *p = names[2] + 4; *p; p++)
        if (*p == '0') *p = p < names[2] + 94 ? 'd' : 'n';
    strcpy(names[3], "top/");
    for (int i = 0; i < 70; i++) strcat(names[3], "long");
    for (int i = 0; i < 20; i++) strcat(names[3], "/x");
    static wick_tar t;
    REQUIRE(wick_tar_open(&t, archive, archive_size, kind, &msg) == WICK_OK);
    bool more;
    for (int k = 0; k < 6; k++) {
        if (k == 3 && !all) continue;
        const wick_status status = wick_tar_next(&t, &more, &msg);
        CHECK_MSG(status == WICK_OK && more, "%s: file %d: %s", kind, k, msg.text);
        if (status != WICK_OK) break;
        const size_t size = k == 1 ? 0 : (size_t)k * 300;
        CHECK_MSG(strcmp(t.name, names[k]) == 0, "%s: file %d is %s", kind, k, t.name);
        CHECK_INT(t.size, size);
        if (k == 4) continue; /* what is not read is passed over */
        uint8_t data[2048];
        REQUIRE(t.size == size && wick_tar_read(&t, data, &msg) == WICK_OK);
        for (size_t i = 0; i < size; i++) CHECK_INT(data[i], ((size_t)k + i) % 251);
    }
    CHECK(wick_tar_next(&t, &more, &msg) == WICK_OK && !more);
    wick_tar_close(&t);
}

TEST(archives_of_every_format_are_read) {
    static const char *const kinds[] = {"ustar", "gnu", "pax"};
    for (int i = 0; i < 3; i++) {
        if (!unpack(kinds[i])) SKIP("no zlib here");
        check_archive(kinds[i], i > 0);
        REQUIRE(load(kinds[i]));
        check_archive(kinds[i], i > 0);
    }
}

TEST(a_cut_archive_is_refused) {
    int files;
    size_t bytes;
    if (!unpack("gnu")) SKIP("no zlib here");
    REQUIRE(walk(archive, archive_size, &files, &bytes) == WICK_OK && files == 6 && bytes == 15 * 300 - 300);
    size_t end = archive_size; /* of the last file: zeros follow */
    while (!archive[end - 1]) end--;
    for (size_t cut = 0; cut < end; cut += 1 + cut % 37)
        CHECK_MSG(walk(archive, cut, &files, &bytes) != WICK_OK, "cut to %zu", cut);
    REQUIRE(load("gnu"));
    for (size_t cut = 0; cut < archive_size; cut++)
        CHECK_MSG(walk(archive, cut, &files, &bytes) != WICK_OK, "cut to %zu", cut);
}

static void set_checksum(uint8_t *block) {
    unsigned sum = 0;
    memset(block + 148, ' ', 8);
    for (int i = 0; i < 512; i++) sum += block[i];
    snprintf((char *)block + 148, 8, "%06o", sum);
}

TEST(fields_that_lie_are_named) {
    int files;
    size_t bytes;
    if (!unpack("ustar")) SKIP("no zlib here");
    uint8_t *block = archive + 512; /* ./top/a.txt, of 0 bytes; top/link0 follows */
    block[0] ^= 1;
    CHECK_INT(walk(archive, archive_size, &files, &bytes), WICK_ERR_FORMAT);
    CHECK_STR_HAS(msg.text, "x.tar: tar header at byte 512: its checksum is wrong");
    static const struct {
        const char *size, *why;
    } rows[] = {{"77777777777", "promises 8589934591 bytes"},
                {"\x80\0\0\0\x7f\xff\xff\xff\xff\xff\xff\xff", "promises 9223372036854775807 bytes"},
                {"\x80\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff", "promises 18446744073709551615 bytes"},
                {"\x80\0\0\1\0\0\0\0\0\0\0\0", "its size is no number"},
                {"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", "its size is no number"},
                {"12x\0\0\0\0\0\0\0\0", "its size is no number"}};
    for (size_t i = 0; i < WICK_COUNTOF(rows); i++) {
        memcpy(block + 124, rows[i].size, 12);
        set_checksum(block);
        CHECK_INT(walk(archive, archive_size, &files, &bytes), WICK_ERR_FORMAT);
        CHECK_STR_HAS(msg.text, rows[i].why);
        CHECK_STR_HAS(msg.text, "byte 512");
    }
    memset(archive, 7, 512);
    CHECK_INT(walk(archive, archive_size, &files, &bytes), WICK_ERR_FORMAT);
    CHECK_STR_HAS(msg.text, "not a tar archive");
}

/* The text of a pax header, then an empty file. */
static wick_status walk_pax(const char *text, char type) {
    static uint8_t file[2048 + 1024];
    int files;
    size_t bytes;
    memset(file, 0, sizeof file);
    for (int i = 0; i < 2; i++) {
        uint8_t *block = file + 1024 * i;
        strcpy((char *)block, "name");
        snprintf((char *)block + 124, 12, "%011o", i ? 0 : (unsigned)strlen(text));
        memcpy(block + 257, "ustar\0" "00", 8);
        block[156] = (uint8_t)(i ? '0' : type);
        set_checksum(block);
    }
    memcpy(file + 512, text, strlen(text));
    return walk(file, sizeof file, &files, &bytes);
}

TEST(damaged_descriptions_are_refused) {
    CHECK_INT(walk_pax("13 path=some\n", 'x'), WICK_OK);
    static const char *const bad[] = {"",
                                      "14 path=some\n",
                                      "12 path=some\n",
                                      "13 path=some ",
                                      "x",
                                      "13path=some\n\n",
                                      "99999999 path=some\n",
                                      "4 =\n4 \n",
                                      "8 path=\n",
                                      "12 size=1x0\n",
                                      "31 size=99999999999999999999999\n",
                                      "13 size=9999\n"};
    for (size_t i = 1; i < WICK_COUNTOF(bad); i++) CHECK_MSG(walk_pax(bad[i], 'x') == WICK_ERR_FORMAT, "%s", bad[i]);
    CHECK_INT(walk_pax("no end", 'L'), WICK_OK); /* some programs don't count the zero at the end */
    CHECK_INT(walk_pax("", 'L'), WICK_ERR_FORMAT);
}

TEST(changed_bits_are_refused_or_read) {
    static const char *const kinds[] = {"ustar", "gnu", "pax"};
    static uint8_t whole[sizeof archive];
    for (int i = 0; i < 3; i++) {
        if (!unpack(kinds[i])) SKIP("no zlib here");
        memcpy(whole, archive, archive_size);
        for (int round = 0; round < 2000; round++) {
            memcpy(archive, whole, archive_size);
            uint8_t *block = archive + 512 * (test_rand() % (archive_size / 512));
            for (int flips = test_rand_int(1, 3); flips > 0; flips--)
                block[test_rand() % 512] ^= (uint8_t)(1 << test_rand_int(0, 7));
            if (round % 2) set_checksum(block);
            int files;
            size_t bytes;
            (void)walk(archive, archive_size, &files, &bytes);
        }
    }
}

int main(int argc, char **argv) { return test_main(argc, argv); }
