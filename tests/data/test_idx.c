/* The IDX reader: every type, plain and gzip, hostile files, and MNIST itself. */
#include <unistd.h>

#include "data/formats/gzip.h"
#include "data/formats/idx.h"
#include "test.h"

static wick_msg msg;

/* Parses a copy of exact size, so that a sanitizer sees a read beyond. */
static wick_status parse(const void *file, size_t size, wick_idx *out) {
    uint8_t *copy = malloc(size + !size);
    memcpy(copy, file, size);
    msg = (wick_msg){0};
    const wick_status status = wick_idx_parse(out, copy, size, "x.idx", NULL, &msg);
    CHECK((status == WICK_OK) == (msg.text[0] == 0) && (status == WICK_OK) == (out->data != NULL));
    free(copy);
    return status;
}
static wick_status refuse(const void *file, size_t size) {
    wick_idx idx;
    const wick_status status = parse(file, size, &idx);
    CHECK(status != WICK_OK);
    wick_idx_free(&idx);
    return status;
}

/* CRC-32 of gzip, RFC 1952, section 8, bit by bit. */
static uint32_t crc32_of(const uint8_t *p, size_t n) {
    uint32_t c = ~0u;
    for (size_t i = 0; i < n; i++) {
        c ^= p[i];
        for (int k = 0; k < 8; k++) c = c & 1 ? 0xEDB88320u ^ c >> 1 : c >> 1;
    }
    return ~c;
}

/* A gzip file of one stored block (n < 65536); returns its size. */
static size_t gzip_of(const uint8_t *p, size_t n, uint8_t *out) {
    static const uint8_t head[10] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255};
    const uint32_t crc = crc32_of(p, n);
    memcpy(out, head, 10);
    out[10] = 1;
    out[11] = (uint8_t)n, out[12] = (uint8_t)(n >> 8), out[13] = (uint8_t)~n, out[14] = (uint8_t)(~n >> 8);
    memcpy(out + 15, p, n);
    for (int i = 0; i < 4; i++)
        out[15 + n + (size_t)i] = (uint8_t)(crc >> 8 * i), out[19 + n + (size_t)i] = (uint8_t)(n >> 8 * i);
    return n + 23;
}

static bool have_zlib(void) {
    uint8_t gz[64];
    wick_gzip *g = NULL;
    const bool have = wick_gzip_open(&g, gz, gzip_of((const uint8_t *)"x", 1, gz), "x", &msg) == WICK_OK;
    if (!have) CHECK_STR_HAS(msg.text, "zlib");
    wick_gzip_close(&g);
    return have;
}

static const uint8_t small[] = {0, 0, 0x08, 2, 0, 0, 0, 2, 0, 0, 0, 3, 10, 11, 12, 13, 14, 255};

static void check_small(const wick_idx *idx) {
    CHECK(idx->dtype == WICK_U8 && idx->rank == 2 && idx->dims[0] == 2 && idx->dims[1] == 3 && idx->bytes == 6);
    CHECK((uintptr_t)idx->data % WICK_ALIGN == 0 && !memcmp(idx->data, small + 12, 6));
}

TEST(every_type_comes_in_the_byte_order_of_the_machine) {
    static const struct {
        uint8_t code;
        wick_dtype dtype;
        uint8_t bytes[16]; /* two elements */
        double want[2];
    } rows[] = {
        {0x08, WICK_U8, {200, 1}, {200, 1}},
        {0x09, WICK_I8, {200, 1}, {-56, 1}},
        {0x0B, WICK_I16, {0xFF, 0xFE, 0x01, 0x02}, {-2, 258}},
        {0x0C, WICK_I32, {0xFF, 0xFF, 0xFF, 0xFD, 1, 2, 3, 4}, {-3, 0x01020304}},
        {0x0D, WICK_F32, {0xC0, 0x20, 0, 0, 0x3F, 0x80, 0, 0}, {-2.5, 1}},
        {0x0E, WICK_F64, {0x40, 0x09, 0x21, 0xFB, 0x54, 0x44, 0x2D, 0x18, 0xBF, 0xF0, 0, 0, 0, 0, 0, 0}, {M_PI, -1}},
    };
    for (size_t i = 0; i < WICK_COUNTOF(rows); i++) {
        uint8_t file[32] = {0, 0, rows[i].code, 1, 0, 0, 0, 2};
        const size_t bytes = 2 * wick_dtype_size(rows[i].dtype);
        wick_idx idx;
        memcpy(file + 8, rows[i].bytes, bytes);
        REQUIRE(parse(file, 8 + bytes, &idx) == WICK_OK);
        CHECK(idx.dtype == rows[i].dtype && idx.rank == 1 && idx.dims[0] == 2 && idx.bytes == bytes);
        for (int k = 0; k < 2; k++) {
            double got = 0;
            switch (idx.dtype) {
            case WICK_U8:
                got = ((uint8_t *)idx.data)[k];
                break;
            case WICK_I8:
                got = ((int8_t *)idx.data)[k];
                break;
            case WICK_I16:
                got = ((int16_t *)idx.data)[k];
                break;
            case WICK_I32:
                got = ((int32_t *)idx.data)[k];
                break;
            case WICK_F32:
                got = (double)((float *)idx.data)[k];
                break;
            default:
                got = ((double *)idx.data)[k];
            }
            CHECK_MSG(got == rows[i].want[k], "type %02x: %.17g", rows[i].code, got);
        }
        wick_idx_free(&idx);
        wick_idx_free(&idx);
        CHECK(!idx.data);
    }
}

TEST(empty_and_full_rank_files_are_read) {
    wick_idx idx;
    static const uint8_t none[] = {0, 0, 0x0D, 2, 0, 0, 0, 0, 0, 0, 0, 5};
    REQUIRE(parse(none, sizeof none, &idx) == WICK_OK);
    CHECK(idx.bytes == 0 && idx.dims[0] == 0 && idx.dims[1] == 5);
    wick_idx_free(&idx);
    uint8_t deep[4 + 32 + 1] = {0, 0, 0x08, 8};
    for (int d = 0; d < 8; d++) deep[4 + 4 * d + 3] = 1;
    REQUIRE(parse(deep, sizeof deep, &idx) == WICK_OK);
    CHECK(idx.rank == 8 && idx.bytes == 1);
    wick_idx_free(&idx);
}

TEST(broken_headers_are_refused) {
    uint8_t file[64];
    memcpy(file, small, sizeof small);
    for (int v = 0; v < 256; v++) {
        file[2] = (uint8_t)v; /* types that need more bytes than there are, and types that are none */
        if (v != 0x08 && v != 0x09) CHECK_INT(refuse(file, sizeof small), WICK_ERR_FORMAT);
        file[2] = 8;
        file[3] = (uint8_t)v;
        if (v != 2) CHECK_INT(refuse(file, sizeof small), v > 8 ? WICK_ERR_UNSUPPORTED : WICK_ERR_FORMAT);
        file[3] = 2;
    }
    file[0] = 1;
    CHECK_INT(refuse(file, sizeof small), WICK_ERR_FORMAT);
    CHECK_STR_HAS(msg.text, "x.idx: not an IDX file");
    file[0] = 0;
    CHECK_INT(refuse(file, sizeof small + 1), WICK_ERR_FORMAT); /* something behind */
    CHECK_STR_HAS(msg.text, "1 byte too many");
}

TEST(dims_that_lie_are_refused_before_anything_is_allocated) {
    static const uint32_t dims[][3] = {{UINT32_MAX, UINT32_MAX, UINT32_MAX},
                                       {UINT32_MAX, UINT32_MAX, 1},
                                       {UINT32_MAX, UINT32_MAX, 0},
                                       {UINT32_MAX, 1, 1},
                                       {1 << 31, 1 << 31, 4},
                                       {2, 2, 2}};
    for (size_t i = 0; i < WICK_COUNTOF(dims); i++)
        for (int type = 0x08; type <= 0x0E; type += 6) {
            uint8_t file[16 + 7] = {0, 0, (uint8_t)type, 3}, gz[64];
            for (int d = 0; d < 3; d++)
                for (int b = 0; b < 4; b++) file[4 + 4 * d + b] = (uint8_t)(dims[i][d] >> (24 - 8 * b));
            CHECK_INT(refuse(file, sizeof file), WICK_ERR_FORMAT);
            if (have_zlib()) CHECK_INT(refuse(gz, gzip_of(file, sizeof file, gz)), WICK_ERR_FORMAT);
        }
}

TEST(no_truncation_is_taken_for_a_file) {
    uint8_t gz[64];
    const size_t n = gzip_of(small, sizeof small, gz);
    for (size_t i = 0; i < sizeof small; i++) CHECK_INT(refuse(small, i), WICK_ERR_FORMAT);
    if (!have_zlib()) SKIP("no zlib on this machine");
    for (size_t i = 0; i < n; i++) CHECK_MSG(refuse(gz, i) == WICK_ERR_FORMAT, "%zu bytes: %s", i, msg.text);
}

TEST(gzip_files_are_read_and_checked_to_the_last_byte) {
    uint8_t gz[128], longer[sizeof small + 1] = {0};
    wick_idx idx;
    if (!have_zlib()) SKIP("no zlib on this machine");
    const size_t n = gzip_of(small, sizeof small, gz);
    REQUIRE(parse(gz, n, &idx) == WICK_OK);
    check_small(&idx);
    wick_idx_free(&idx);
    gz[n] = 0;
    CHECK_INT(refuse(gz, n + 1), WICK_ERR_FORMAT); /* something behind */
    CHECK_STR_HAS(msg.text, "1 byte too many");
    memcpy(longer, small, sizeof small);
    CHECK_INT(refuse(gz, gzip_of(longer, sizeof longer, gz)), WICK_ERR_FORMAT);
    CHECK_STR_HAS(msg.text, "longer");
    gzip_of(small, sizeof small, gz);
    for (size_t i = n - 8; i < n; i++) { /* checksum and length */
        gz[i] ^= 0x10;
        CHECK_INT(refuse(gz, n), WICK_ERR_FORMAT);
        CHECK_STR_HAS(msg.text, "damaged");
        gz[i] ^= 0x10;
    }
}

TEST(the_members_of_a_gzip_file_are_one) {
    /* the last lacks bytes; some members are empty */
    static const size_t ends[][3] = {{7, 7, 18}, {0, 12, 18}, {12, 18, 18}, {1, 2, 3}};
    uint8_t gz[128];
    wick_idx idx;
    if (!have_zlib()) SKIP("no zlib on this machine");
    for (size_t i = 0; i < WICK_COUNTOF(ends); i++) {
        size_t n = 0, begin = 0;
        for (int k = 0; k < 3; begin = ends[i][k++]) n += gzip_of(small + begin, ends[i][k] - begin, gz + n);
        if (i == 3) {
            CHECK_INT(refuse(gz, n), WICK_ERR_FORMAT);
            CHECK_STR_HAS(msg.text, "ends after 3 bytes");
            continue;
        }
        REQUIRE(parse(gz, n, &idx) == WICK_OK);
        check_small(&idx);
        wick_idx_free(&idx);
        gz[n] = 0x1f;
        CHECK_INT(refuse(gz, n + 1), WICK_ERR_FORMAT); /* something behind that is no member */
        CHECK_STR_HAS(msg.text, "1 byte too many");
        gz[n - 8] ^= 1; /* the checksum of the last */
        CHECK_INT(refuse(gz, n), WICK_ERR_FORMAT);
        gz[n - 8] ^= 1;
        gz[n] = 0x1f, gz[n + 1] = 0x8b;
        CHECK_INT(refuse(gz, n + 2), WICK_ERR_FORMAT);
        CHECK_STR_HAS(msg.text, "cut off after 18 bytes");
    }
}

TEST(no_flipped_bit_makes_the_reader_stumble) {
    uint8_t file[64];
    wick_idx idx;
    const bool zlib = have_zlib();
    for (int packed = 0; packed < (zlib ? 2 : 1); packed++) {
        size_t n = sizeof small;
        memcpy(file, small, n);
        if (packed) n = gzip_of(small, sizeof small, file);
        for (size_t i = 0; i < n; i++)
            for (int bit = 0; bit < 8; bit++) {
                file[i] ^= (uint8_t)(1 << bit);
                if (parse(file, n, &idx) == WICK_OK) CHECK(idx.bytes <= 6);
                wick_idx_free(&idx);
                file[i] ^= (uint8_t)(1 << bit);
            }
    }
}

/* ---- MNIST ------------------------------------------------------------------------------------------------------- */

static wick_status read_mnist(const char *name, wick_idx *idx) {
    char path[512];
    const char *env = getenv("WICK_DATA");
    if (!env) return WICK_ERR_IO;
    snprintf(path, sizeof path, "%s/mnist/%s", env, name);
    return access(path, R_OK) == 0 ? wick_idx_read(idx, path, NULL, &msg) : WICK_ERR_IO;
}

TEST(mnist_is_read) {
    static const struct {
        const char *name;
        int rank;
        int64_t count;
        uint32_t crc; /* of the elements, by Python's zlib.crc32 */
    } rows[] = {
        {"train-images-idx3-ubyte.gz", 3, 60000, 0xf3639b56},
        {"train-labels-idx1-ubyte.gz", 1, 60000, 0xba07e8ef},
        {"t10k-images-idx3-ubyte.gz", 3, 10000, 0xe4ca5f57},
        {"t10k-labels-idx1-ubyte.gz", 1, 10000, 0xee8604d9},
    };
    static const uint8_t first[] = {5, 0, 4, 1, 9, 2, 1, 3, 1, 4};
    wick_idx idx;
    if (!have_zlib()) SKIP("no zlib on this machine");
    for (size_t i = 0; i < WICK_COUNTOF(rows); i++) {
        const wick_status status = read_mnist(rows[i].name, &idx);
        if (status == WICK_ERR_IO) SKIP("no MNIST: set WICK_DATA");
        CHECK_MSG(status == WICK_OK, "%s", msg.text);
        if (status != WICK_OK) continue;
        CHECK(idx.dtype == WICK_U8 && idx.rank == rows[i].rank && idx.dims[0] == rows[i].count);
        if (idx.rank == 3) CHECK(idx.dims[1] == 28 && idx.dims[2] == 28);
        if (i == 1) CHECK(!memcmp(idx.data, first, sizeof first));
        CHECK_INT(crc32_of(idx.data, idx.bytes), rows[i].crc);
        wick_idx_free(&idx);
    }
}

TEST(a_missing_file_is_an_io_error) {
    wick_idx idx;
    CHECK(wick_idx_read(&idx, "/nowhere/x.idx", NULL, &msg) == WICK_ERR_IO);
    CHECK_STR_HAS(msg.text, "/nowhere/x.idx");
    wick_idx_free(&idx);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
