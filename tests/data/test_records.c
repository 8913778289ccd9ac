/* Record files: what is written comes back, by any compression and either way of reading; files of Python's; hostile,
 * cut and changed ones; appends that stop anywhere; reads and writes that fail. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/counting_alloc.h"
#include "data/formats/records.h"
#include "test.h"
#include "wick/wick.h"
#define SAMPLES "records"
#include "data/decode.h"

/* ---- reads that fail: the program's own pread, which the library calls ------------------------------------------- */

static enum { HONEST, INTERRUPTED, SHORT, FAILING, ENDING } reads;
static long reads_until; /* failing: so many succeed first */
ssize_t pread(int fd, void *to, size_t n, off_t at);
ssize_t pread(int fd, void *to, size_t n, off_t at) {
    static unsigned turn;
    if (reads == INTERRUPTED && turn++ % 2) return errno = EINTR, -1;
    if (reads == SHORT && n > 1) n = 1 + turn++ % 3 % n;
    if ((reads == FAILING || reads == ENDING) && reads_until-- <= 0) return reads == ENDING ? 0 : (errno = EIO, -1);
    return syscall(SYS_pread64, fd, to, n, at);
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

static char folder[64];
static char path[96];
static wick_context *ctx;
static uint8_t *file; /* its bytes, as load() found them */
static size_t file_size;

static bool begin(void) {
    static bool made;
    /* every write waits for the disk; mkdtemp(3) names the last six letters */
    if (!made)
        snprintf(folder, sizeof folder, "%s/wick-records-XXXXXX", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    if (made ? mkdir(folder, 0700) != 0 : !mkdtemp(folder)) return false;
    made = true;
    reads = HONEST;
    snprintf(path, sizeof path, "%s/a.wrec", folder);
    ctx = new_context(.threads = 1);
    return ctx != NULL;
}
static void end(void) {
    wick_context_free(&ctx);
    unlink(path);
    rmdir(folder);
    free(file);
    file = NULL;
}

enum { MOST = 400000 };
/* Record i: of sizes around nothing, some that pack well, some that don't. */
static size_t make(int64_t i, uint8_t *to) {
    static const size_t sizes[] = {0, 1, 63, 64, 65, 1000, 7000, 200000};
    const size_t n = sizes[i % 8] + (size_t)i / 8;
    for (size_t k = 0; k < n; k++)
        to[k] = i % 3 == 0 ? (uint8_t)(k % 7 + (size_t)i) : i % 3 == 1 ? (uint8_t)test_rand() : (uint8_t)(k / 100);
    return n;
}
static int32_t label_of(int64_t i) { return i % 5 == 4 ? -1 : (int32_t)(i % 5); }
static uint8_t want[MOST], have[MOST];

static wick_status add_range(wick_records_writer *w, int64_t first, int64_t last) {
    wick_status status = WICK_OK;
    for (int64_t i = first; i < last && status == WICK_OK; i++) {
        test_seed = 77 + (uint64_t)i;
        const size_t n = make(i, want);
        status = wick_records_add(w, want, n, label_of(i));
    }
    return status;
}
static bool write_file(const wick_records_write_options *o, int64_t n) {
    wick_records_writer *w;
    wick_status status = wick_records_create(ctx, path, o, &w);
    if (status == WICK_OK) status = add_range(w, 0, n);
    if (status == WICK_OK) CHECK_INT(wick_records_added(w), n);
    if (status == WICK_OK) status = wick_records_commit(&w);
    else wick_records_abort(&w);
    CHECK_MSG(status == WICK_OK || strstr(wick_context_error(ctx), "not on this machine"), "%s",
              wick_context_error(ctx));
    return status == WICK_OK;
}
static void check_range(const wick_records *r, int64_t first, int64_t last) {
    for (int64_t i = first; i < last; i++) {
        size_t size;
        wick_record_entry e;
        test_seed = 77 + (uint64_t)i;
        const size_t n = make(i, want);
        const wick_status status = wick_records_get(r, i, have, sizeof have, &size);
        CHECK_MSG(status == WICK_OK && size == n && memcmp(want, have, n) == 0, "record %lld: %s", (long long)i,
                  wick_context_error(ctx));
        CHECK(wick_records_at(r, i, &e) == WICK_OK && e.size == n && e.label == label_of(i) && e.stored <= n);
    }
}

static bool load(const char *from) {
    FILE *f = fopen(from, "rb");
    free(file);
    file = malloc(4 << 20);
    file_size = f && file ? fread(file, 1, 4 << 20, f) : 0;
    if (f) fclose(f);
    return file_size > 0;
}
static void store(const uint8_t *data, size_t n) {
    FILE *f = fopen(path, "wb");
    CHECK(f && fwrite(data, 1, n, f) == n);
    if (f) fclose(f);
}
static wick_status open_file(const wick_records_options *o, wick_records **r) {
    const wick_status status = wick_records_open(ctx, path, o, r);
    CHECK((status == WICK_OK) == (*r != NULL));
    if (status != WICK_OK) CHECK_STR_HAS(wick_context_error(ctx), path);
    return status;
}

/* ---- tests ------------------------------------------------------------------------------------------------------- */

TEST(what_is_written_comes_back_by_any_compression_and_either_way_of_reading) {
    REQUIRE(begin());
    uint8_t dictionary[4096];
    for (size_t i = 0; i < sizeof dictionary; i++) dictionary[i] = (uint8_t)(i / 100);
    const wick_records_write_options kinds[] = {
        {.meta = "kind bytes\n"},
        {.compression = WICK_LZ4},
        {.compression = WICK_LZ4, .level = 9},
        {.compression = WICK_ZSTD, .meta = "x"},
        {.compression = WICK_ZSTD, .level = 9, .dictionary = dictionary, .dictionary_bytes = sizeof dictionary},
        {.compression = WICK_ZSTD, .train_dictionary = 1024}};
    for (size_t k = 0; k < WICK_COUNTOF(kinds); k++) {
        if (!write_file(&kinds[k], 40)) continue;
        for (int copy = 0; copy < 2; copy++) {
            wick_records *r;
            REQUIRE(open_file(&(wick_records_options){.copy = copy}, &r) == WICK_OK);
            CHECK_INT(wick_records_count(r), 40);
            CHECK_INT(wick_records_compression(r), kinds[k].compression);
            CHECK_INT(wick_records_tail(r), 0);
            CHECK_INT(wick_records_parts(r), 1);
            CHECK(strcmp(wick_records_meta(r), kinds[k].meta ? kinds[k].meta : "") == 0);
            CHECK((wick_records_dictionary(r) > 0) == (kinds[k].dictionary_bytes || kinds[k].train_dictionary));
            check_range(r, 0, 40);
            const void *at;
            size_t size;
            wick_record_entry e;
            for (int64_t i = 0; i < 40; i++) {
                CHECK(wick_records_at(r, i, &e) == WICK_OK && (kinds[k].compression || e.stored == e.size));
                const wick_status status = wick_records_view(r, i, &at, &size);
                CHECK_INT(status, copy || e.stored != e.size ? WICK_ERR_UNSUPPORTED : WICK_OK);
                if (status == WICK_OK)
                    CHECK(wick_records_get(r, i, have, sizeof have, NULL) == WICK_OK && size == e.size &&
                          memcmp(at, have, size) == 0);
            }
            test_count("records read back", 40);
            wick_records_free(&r);
        }
    }
    end();
}

TEST(wrong_uses_are_refused_with_a_text) {
    REQUIRE(begin());
    wick_records *r;
    wick_records_writer *w;
    size_t size;
    CHECK_INT(wick_records_create(ctx, path,
                                  &(wick_records_write_options){.compression = WICK_LZ4, .train_dictionary = 100}, &w),
              WICK_ERR_INVALID);
    CHECK_INT(wick_records_create(ctx, path, &(wick_records_write_options){.compression = (wick_compression)3}, &w),
              WICK_ERR_INVALID);
    CHECK(!w && access(path, F_OK) != 0);
    CHECK_INT(wick_records_create(ctx, "", NULL, &w), WICK_ERR_INVALID);
    CHECK_INT(wick_records_append(ctx, path, 0, &w), WICK_ERR_IO);
    CHECK_INT(open_file(NULL, &r), WICK_ERR_IO);
    REQUIRE(write_file(NULL, 8) && open_file(NULL, &r) == WICK_OK);
    CHECK_INT(wick_records_get(r, 8, have, sizeof have, &size), WICK_ERR_INDEX);
    CHECK_INT(wick_records_get(r, -1, have, sizeof have, &size), WICK_ERR_INDEX);
    CHECK_INT(wick_records_get(r, 5, have, 999, &size), WICK_ERR_INVALID);
    CHECK_INT(size, 1000);
    wick_records_free(&r);
    REQUIRE(open_file(&(wick_records_options){.max_record = 999}, &r) == WICK_OK);
    CHECK(wick_records_get(r, 4, have, sizeof have, &size) == WICK_OK &&
          wick_records_get(r, 5, have, sizeof have, &size) == WICK_ERR_FORMAT);
    CHECK_STR_HAS(wick_context_error(ctx), "at most 999");
    wick_records_free(&r);
    wick_records_free(&r);
    wick_records_abort(&w);
    end();
}

TEST(files_that_python_wrote_are_read) { /* tests/golden/make_records.py, from the page's description alone */
    static const char *const names[] = {"plain.wrec",      "lz4.wrec",      "zstd.wrec",
                                        "dictionary.wrec", "appended.wrec", "torn.wrec"};
    REQUIRE(begin());
    for (size_t k = 0; k < WICK_COUNTOF(names); k++) {
        wick_records *r;
        const wick_status status = wick_records_open(ctx, path_of(names[k]), NULL, &r);
        if (status == WICK_ERR_UNSUPPORTED) continue;
        CHECK_MSG(status == WICK_OK, "%s: %s", names[k], wick_context_error(ctx));
        if (status != WICK_OK) continue;
        CHECK_INT(wick_records_count(r), 12);
        CHECK((wick_records_tail(r) > 0) == (k == 5));
        CHECK_STR_HAS(wick_records_meta(r), "class b");
        for (int64_t i = 0; i < wick_records_count(r); i++) {
            size_t size;
            wick_record_entry e;
            CHECK_MSG(wick_records_get(r, i, have, sizeof have, &size) == WICK_OK, "%s", wick_context_error(ctx));
            CHECK(wick_records_at(r, i, &e) == WICK_OK && e.label == i % 3 - 1);
            CHECK_INT(size, i * i * 10);
            for (size_t j = 0; j < size; j++) CHECK_INT(have[j], ((size_t)i + j / 16) % 251);
        }
        test_count("records of Python's files", 12);
        wick_records_free(&r);
    }
    end();
}

TEST(an_append_adds_and_leaves_open_readers_alone) {
    REQUIRE(begin());
    for (int zstd = 0; zstd < 2; zstd++) {
        wick_records *before, *after;
        wick_records_writer *w, *second;
        if (!write_file(&(wick_records_write_options){.compression = zstd ? WICK_ZSTD : WICK_STORED,
                                                      .train_dictionary = zstd ? 512 : 0,
                                                      .meta = "m"},
                        20))
            continue;
        REQUIRE(open_file(NULL, &before) == WICK_OK);
        for (int turn = 0; turn < 3; turn++) { /* the second adds nothing */
            REQUIRE(wick_records_append(ctx, path, 0, &w) == WICK_OK);
            CHECK_INT(wick_records_append(ctx, path, 0, &second), WICK_ERR_BUSY);
            CHECK(add_range(w, turn ? 30 : 20, turn == 2 ? 44 : 30) == WICK_OK);
            if (turn == 1) wick_records_abort(&w);
            else CHECK(wick_records_commit(&w) == WICK_OK && !w);
        }
        /* a part of nothing */
        REQUIRE(wick_records_append(ctx, path, 0, &w) == WICK_OK && wick_records_commit(&w) == WICK_OK);
        REQUIRE(open_file(NULL, &after) == WICK_OK);
        CHECK(wick_records_count(before) == 20 && wick_records_count(after) == 44 && wick_records_parts(after) == 4);
        check_range(before, 0, 20);
        check_range(after, 0, 44);
        wick_records_free(&before);
        wick_records_free(&after);
    }
    end();
}

TEST(an_append_that_stops_anywhere_leaves_the_old_part_whole) {
    REQUIRE(begin() && write_file(NULL, 7) && load(path));
    const size_t old = file_size;
    wick_records_writer *w;
    wick_records *r;
    REQUIRE(wick_records_append(ctx, path, 0, &w) == WICK_OK && add_range(w, 7, 13) == WICK_OK &&
            wick_records_commit(&w) == WICK_OK && load(path));
    const size_t whole = file_size;
    uint8_t head[64];
    memcpy(head, file + old, 64);
    memset(file + old, 0, 64); /* as it is until the last write */
    const size_t step = TEST_SANITIZED ? 997 : 61;
    for (size_t n = old; n <= whole; n += n < old + 200 || n + 200 > whole ? 1 : step) {
        store(file, n);
        REQUIRE(open_file(NULL, &r) == WICK_OK);
        CHECK(wick_records_count(r) == 7 && wick_records_tail(r) == n - old &&
              (n == old) == !*wick_records_tail_reason(r));
        if (n % 8 == 0) check_range(r, 0, 7);
        wick_records_free(&r);
        test_count("appends cut off", 1);
    }
    /* takes its place */
    REQUIRE(wick_records_append(ctx, path, 0, &w) == WICK_OK && add_range(w, 7, 9) == WICK_OK &&
            wick_records_commit(&w) == WICK_OK);
    REQUIRE(open_file(NULL, &r) == WICK_OK);
    CHECK(wick_records_count(r) == 9 && wick_records_tail(r) == 0);
    check_range(r, 0, 9);
    wick_records_free(&r);
    /* With the head there, what is missing is damage; what comes before can be salvaged. */
    memcpy(file + old, head, 64);
    for (size_t n = old + 1; n < whole; n += n < old + 200 || n + 200 > whole ? 1 : step) {
        store(file, n);
        CHECK_INT(open_file(NULL, &r), WICK_ERR_FORMAT);
        CHECK_STR_HAS(wick_context_error(ctx), "records 0 to 6 before it are whole");
        CHECK_STR_HAS(wick_context_error(ctx), "(byte ");
        CHECK_INT(wick_records_append(ctx, path, 0, &w), WICK_ERR_FORMAT);
        REQUIRE(open_file(&(wick_records_options){.salvage = true}, &r) == WICK_OK);
        CHECK(wick_records_count(r) == 7 && wick_records_tail(r) == n - old && *wick_records_tail_reason(r));
        wick_records_free(&r);
    }
    end();
}

/* Whether all that opens and is read without an error is what was written. */
static bool nothing_is_silently_wrong(const wick_records_options *o, int64_t n) {
    wick_records *r;
    if (wick_records_open(ctx, path, o, &r) != WICK_OK) return strstr(wick_context_error(ctx), path) != NULL;
    bool right = wick_records_count(r) == n;
    for (int64_t i = 0; i < wick_records_count(r) && right; i++) {
        size_t size;
        test_seed = 77 + (uint64_t)i;
        const size_t was = make(i, want);
        if (wick_records_get(r, i, have, sizeof have, &size) != WICK_OK)
            right = strstr(wick_context_error(ctx), "record ") && strstr(wick_context_error(ctx), "(byte ");
        else right = size == was && memcmp(have, want, size) == 0;
    }
    wick_records_free(&r);
    return right;
}

TEST(no_changed_byte_goes_unseen) {
    REQUIRE(begin());
    for (int c = WICK_STORED; c <= WICK_ZSTD; c++) {
        if (!write_file(&(wick_records_write_options){.compression = (wick_compression)c, .meta = "some text"}, 7) ||
            !load(path))
            continue;
        for (size_t at = 0; at < file_size; at += TEST_SANITIZED ? 23 : 1) {
            file[at] ^= (uint8_t)(1u << at % 8);
            store(file, file_size);
            CHECK_MSG(nothing_is_silently_wrong(&(wick_records_options){.copy = at % 2}, 7), "byte %zu", at);
            file[at] ^= (uint8_t)(1u << at % 8);
            test_count("record files with a changed byte", 1);
        }
    }
    end();
}

/* ---- files that lie, with sums that fit -------------------------------------------------------------------------- */

static void set(uint8_t *p, uint64_t v, int bytes) {
    for (int i = 0; i < bytes; i++) p[i] = (uint8_t)(v >> 8 * i);
}
static void seal(uint8_t *block) { set(block + 60, wick_crc32c(0, block, 60), 4); }
/* The head of the first part of a file without meta and dictionary, and its index, whose sum is made right. */
static uint8_t *const_head(void) { return file + 64; }
static uint64_t get64(const uint8_t *p) {
    uint64_t v = 0;
    for (int i = 7; i >= 0; i--) v = v << 8 | p[i];
    return v;
}
static uint8_t *index_of(void) { return const_head() + 64 + ((get64(const_head() + 32) + 63) & ~(uint64_t)63); }
static void seal_index(void) {
    set(const_head() + 40, wick_crc32c(0, index_of(), get64(const_head() + 24) * 24), 4);
    seal(const_head());
}

TEST(headers_that_lie_are_refused) {
    static const struct {
        size_t at;
        int bytes;
        uint64_t value;
        wick_status status;
        const char *says;
    } lies[] = {
        {0, 1, 'w', WICK_ERR_FORMAT, "not a record file"},
        {8, 4, 2, WICK_ERR_VERSION, "version (byte 8): 2"},
        {8, 4, 0, WICK_ERR_VERSION, "version (byte 8): 0"},
        {32, 8, 1, WICK_ERR_VERSION, "flags"},
        {12, 4, 9, WICK_ERR_VERSION, "compression (byte 12): 9"},
        {16, 4, 0xFFFFFFFF, WICK_ERR_FORMAT, "(byte 16)"},
        {16, 4, 5, WICK_ERR_FORMAT, "meta (byte 64)"},
        {24, 4, 0xFFFFFFFF, WICK_ERR_FORMAT, "(byte 16)"},
        {24, 4, 5, WICK_ERR_FORMAT, "dictionary (byte 24)"},
        {64 + 0, 1, 'x', WICK_ERR_FORMAT, "part 0 (byte 64)"},
        {64 + 8, 8, 128, WICK_ERR_FORMAT, "of another place"},
        {64 + 16, 8, 1, WICK_ERR_FORMAT, "of another place"},
        {64 + 24, 8, 1 << 20, WICK_ERR_FORMAT, "cut off"},
        {64 + 24, 8, UINT64_MAX / 24, WICK_ERR_FORMAT, "cut off"},
        {64 + 24, 8, (UINT64_MAX / 24 + 1) & ~UINT64_C(63), WICK_ERR_FORMAT, "cut off"},
        {64 + 24, 8, 5, WICK_ERR_FORMAT, "index of part 0"},
        {64 + 32, 8, UINT64_MAX, WICK_ERR_FORMAT, "cut off"},
        {64 + 32, 8, UINT64_MAX - 63, WICK_ERR_FORMAT, "cut off"},
        {64 + 32, 8, 1 << 20, WICK_ERR_FORMAT, "cut off"},
    };
    REQUIRE(begin() && write_file(NULL, 6));
    for (size_t k = 0; k < WICK_COUNTOF(lies); k++) {
        REQUIRE(load(path));
        uint8_t *block = file + (lies[k].at < 64 ? 0 : 64);
        set(file + lies[k].at, lies[k].value, lies[k].bytes);
        seal(block);
        char was[sizeof path];
        memcpy(was, path, sizeof path);
        snprintf(path, sizeof path, "%s/lie.wrec", folder);
        store(file, file_size);
        wick_records *r = NULL;
        for (int copy = 0; copy < 2; copy++) {
            const wick_status status = open_file(&(wick_records_options){.copy = copy}, &r);
            CHECK_MSG(status == lies[k].status && strstr(wick_context_error(ctx), lies[k].says), "lie %zu: %d: %s", k,
                      (int)status, wick_context_error(ctx));
            wick_records_free(&r);
        }
        unlink(path);
        memcpy(path, was, sizeof path);
    }
    end();
}

TEST(index_entries_that_lie_are_refused_before_anything_is_allocated) {
    static const struct {
        int field, bytes; /* of the entry of record 5, 1000 bytes */
        uint64_t value;
        bool compressed_too; /* also where sizes may differ */
    } lies[] = {{0, 8, 0, true},          {0, 8, 127, true},   {0, 8, UINT64_MAX, true}, {0, 8, UINT64_MAX - 900, true},
                {8, 4, 0xFFFFFFFF, true}, {12, 4, 999, false}, {12, 4, 1001, false},     {12, 4, 0, true},
                {12, 4, 0xFFFFFFFF, true}};
    REQUIRE(begin());
    for (int c = WICK_STORED; c <= WICK_ZSTD; c++) {
        if (!write_file(&(wick_records_write_options){.compression = (wick_compression)c}, 6)) continue;
        for (size_t k = 0; k < WICK_COUNTOF(lies); k++) {
            wick_records *r;
            wick_record_entry e;
            REQUIRE(write_file(&(wick_records_write_options){.compression = (wick_compression)c}, 6) && load(path));
            set(index_of() + 5 * 24 + lies[k].field, lies[k].value, lies[k].bytes);
            seal_index();
            store(file, file_size);
            REQUIRE(open_file(NULL, &r) == WICK_OK);
            const bool refused = wick_records_at(r, 5, &e) == WICK_ERR_FORMAT;
            CHECK_MSG(refused || !(c == WICK_STORED || lies[k].compressed_too), "compression %d, lie %zu", c, k);
            CHECK(!refused || (e.size == 0 && strstr(wick_context_error(ctx), "record 5 (byte ")));
            /* too, where only unpacking shows it */
            CHECK_INT(wick_records_get(r, 5, have, sizeof have, NULL), WICK_ERR_FORMAT);
            CHECK_STR_HAS(wick_context_error(ctx), "record 5 (byte ");
            wick_records_free(&r);
        }
    }
    end();
}

TEST(a_bomb_is_no_larger_than_its_bytes_can_be) {
    REQUIRE(begin());
    static uint8_t zeros[MOST];
    for (int c = WICK_LZ4; c <= WICK_ZSTD; c++) {
        wick_records_writer *w;
        wick_records *r;
        if (wick_records_create(ctx, path, &(wick_records_write_options){.compression = (wick_compression)c}, &w) !=
            WICK_OK)
            continue;
        REQUIRE(wick_records_add(w, zeros, sizeof zeros, -1) == WICK_OK && wick_records_commit(&w) == WICK_OK &&
                load(path));
        const uint64_t honest = sizeof zeros;
        for (uint64_t size = 1; size < UINT64_C(1) << 32; size = size * 3 + 1) {
            set(index_of() + 12, size == 1 ? honest : size, 4);
            seal_index();
            store(file, file_size);
            wick_record_entry e;
            REQUIRE(open_file(NULL, &r) == WICK_OK);
            if (wick_records_at(r, 0, &e) == WICK_OK) {
                CHECK(e.size <= (uint64_t)e.stored << 15 && e.size <= 256 << 20);
                uint8_t *to = malloc(e.size); /* of exactly that size: the sanitizer sees a byte more */
                CHECK_INT(wick_records_get(r, 0, to, e.size, NULL), size == 1 ? WICK_OK : WICK_ERR_FORMAT);
                free(to);
            }
            wick_records_free(&r);
        }
    }
    end();
}

/* ---- what fails below -------------------------------------------------------------------------------------------- */

TEST(reads_that_are_interrupted_or_short_go_on_and_others_are_errors) {
    REQUIRE(begin());
    for (int c = WICK_STORED; c <= WICK_ZSTD; c += 2) {
        if (!write_file(&(wick_records_write_options){.compression = (wick_compression)c, .meta = "m"}, 10)) continue;
        wick_records *r;
        for (int k = INTERRUPTED; k <= SHORT; k++) {
            reads = k;
            REQUIRE(open_file(&(wick_records_options){.copy = true}, &r) == WICK_OK);
            check_range(r, 0, k == SHORT ? 7 : 10);
            wick_records_free(&r);
        }
        for (int k = FAILING; k <= ENDING; k++)
            for (long n = 0; n < 40; n++) {
                reads = k, reads_until = n;
                wick_status status = wick_records_open(ctx, path, &(wick_records_options){.copy = true}, &r);
                for (int64_t i = 0; i < 10 && status == WICK_OK; i++)
                    status = wick_records_get(r, i, have, sizeof have, NULL);
                CHECK_MSG(status == (reads_until < 0 ? WICK_ERR_IO : WICK_OK), "%ld: %d", n, (int)status);
                if (status != WICK_OK)
                    CHECK_STR_HAS(wick_context_error(ctx), k == FAILING ? "Input/output error" : "cut off");
                reads = HONEST;
                if (status == WICK_ERR_IO && r) check_range(r, 0, 10); /* the next try is as good as any */
                wick_records_free(&r);
                test_count("reads that fail", 1);
            }
        reads = HONEST;
    }
    end();
}

TEST(a_full_disk_leaves_what_was_there) {
    REQUIRE(begin() && write_file(NULL, 7) && load(path));
    const size_t old = file_size;
    struct rlimit was, few;
    REQUIRE(getrlimit(RLIMIT_FSIZE, &was) == 0);
    signal(SIGXFSZ, SIG_IGN);
    for (size_t more = 0; more < 220000; more += more < 300 ? 37 : 70001) {
        wick_records_writer *w;
        wick_records *r;
        few = (struct rlimit){old + more, was.rlim_max};
        REQUIRE(wick_records_append(ctx, path, 0, &w) == WICK_OK);
        REQUIRE(setrlimit(RLIMIT_FSIZE, &few) == 0);
        wick_status status = add_range(w, 7, 9);
        if (status == WICK_OK) status = wick_records_commit(&w);
        else CHECK_INT(wick_records_commit(&w), WICK_ERR_INVALID);
        setrlimit(RLIMIT_FSIZE, &was);
        const bool enough = more > 209000;
        CHECK_INT(status, enough ? WICK_OK : WICK_ERR_IO);
        REQUIRE(open_file(NULL, &r) == WICK_OK);
        CHECK(wick_records_count(r) == (enough ? 9 : 7) && wick_records_tail(r) == 0);
        check_range(r, 0, 7);
        wick_records_free(&r);
        if (enough) break;
        struct stat st;
        CHECK(stat(path, &st) == 0 && (size_t)st.st_size == old);
    }
    /* A new file that does not fit leaves the old one. */
    wick_records_writer *w;
    few = (struct rlimit){1000, was.rlim_max};
    REQUIRE(load(path) && wick_records_create(ctx, path, NULL, &w) == WICK_OK && setrlimit(RLIMIT_FSIZE, &few) == 0);
    wick_status status = add_range(w, 0, 8);
    if (status == WICK_OK) status = wick_records_commit(&w);
    else wick_records_abort(&w);
    setrlimit(RLIMIT_FSIZE, &was);
    CHECK_INT(status, WICK_ERR_IO);
    const size_t before = file_size;
    CHECK(load(path) && file_size == before);
    end();
}

TEST(memory_that_runs_out_is_an_error_and_leaks_nothing) {
    REQUIRE(begin());
    counting c = {.fail_at = -1};
    const wick_allocator allocator = counting_allocator(&c);
    wick_context *own = new_context(.threads = 1, .allocator = &allocator);
    REQUIRE(own);
    for (int kind = 0; kind < 2; kind++) {
        bool done = false;
        for (int64_t k = 0; k < 200 && !done; k++) {
            wick_records *r = NULL;
            wick_records_writer *w = NULL;
            const int64_t live = c.live;
            c.fail_at = c.calls + k;
            wick_status status =
                wick_records_create(own, path,
                                    &(wick_records_write_options){.compression = kind ? WICK_ZSTD : WICK_STORED,
                                                                  .train_dictionary = kind ? 256 : 0},
                                    &w);
            if (status == WICK_OK) status = add_range(w, 0, 12);
            if (status == WICK_OK) status = wick_records_commit(&w);
            else wick_records_abort(&w);
            if (status == WICK_OK) status = wick_records_append(own, path, 0, &w);
            if (status == WICK_OK) status = add_range(w, 12, 14);
            if (w && status == WICK_OK) status = wick_records_commit(&w);
            else wick_records_abort(&w);
            if (status == WICK_OK) status = wick_records_open(own, path, &(wick_records_options){.copy = true}, &r);
            for (int64_t i = 0; i < 14 && status == WICK_OK; i++)
                status = wick_records_get(r, i, have, sizeof have, NULL);
            wick_records_free(&r);
            done = status == WICK_OK || status == WICK_ERR_UNSUPPORTED;
            CHECK_MSG(done || status == WICK_ERR_NOMEM, "%lld: %s", (long long)k, wick_context_error(own));
            c.fail_at = -1;
            wick_context_clear_error(own);
            CHECK_INT(c.live, live);
        }
        CHECK(done);
    }
    wick_context_free(&own);
    CHECK_INT(c.live, 0);
    end();
}

static const wick_records *shared;
static void *read_some(void *arg) {
    const uint64_t seed = (uint64_t)(uintptr_t)arg;
    uint8_t *to = malloc(MOST);
    uintptr_t wrong = 0;
    for (uint64_t k = 0; k < 200; k++) {
        wick_msg msg = {0};
        wick_record_entry e;
        const int64_t i = (int64_t)((k * 7 + seed) % 40);
        wrong += wick_records_find(shared, i, &e, &msg) != WICK_OK ||
                 wick_records_read(shared, i, to, MOST, NULL, &msg) != WICK_OK;
        wrong += (e.size > 3 && i % 3 == 0 && to[3] != (uint8_t)(3 + i)); /* as make() has it */
    }
    free(to);
    return (void *)wrong;
}
TEST(threads_read_one_file_at_once) {
    enum { THREADS = 4 };
    REQUIRE(begin());
    for (int c = WICK_STORED; c <= WICK_ZSTD; c++) {
        wick_records *r;
        if (!write_file(&(wick_records_write_options){.compression = (wick_compression)c,
                                                      .train_dictionary = c == WICK_ZSTD ? 512 : 0},
                        40))
            continue;
        REQUIRE(open_file(&(wick_records_options){.copy = c == WICK_LZ4}, &r) == WICK_OK);
        shared = r;
        pthread_t threads[THREADS];
        for (uintptr_t i = 0; i < THREADS; i++) REQUIRE(pthread_create(&threads[i], NULL, read_some, (void *)i) == 0);
        for (int i = 0; i < THREADS; i++) {
            void *wrong;
            pthread_join(threads[i], &wrong);
            CHECK(!wrong);
        }
        wick_records_free(&r);
    }
    end();
}

int main(int argc, char **argv) { return test_main(argc, argv); }
