/* The safetensors reader and writer: files of the format's own package, round trips, and hostile files. */
#include <dirent.h>
#include <unistd.h>

#include "io/safetensors.h"
#include "test.h"

#ifndef WICK_SOURCE_DIR
#define WICK_SOURCE_DIR "."
#endif

static wick_msg msg;

/* Parses a copy of exact size, so that a sanitizer sees a read beyond. */
static wick_status parse_copy(const void *bytes, size_t size, void (*look)(const wick_safetensors *)) {
    uint8_t *copy = malloc(size + !size);
    memcpy(copy, bytes, size);
    wick_safetensors f;
    msg = (wick_msg){0};
    const wick_status status = wick_safetensors_parse(&f, copy, size, "x.safetensors", &msg);
    CHECK((status != WICK_OK) == (msg.text[0] != 0));
    if (status == WICK_OK) {
        unsigned sum = 0; /* every byte that the reader vouches for can be read */
        for (size_t i = 0; i < f.count; i++) {
            CHECK(f.tensors[i].rank >= 0 && f.tensors[i].rank <= WICK_MAX_DIMS && strlen(f.tensors[i].name) < size);
            for (size_t b = 0; b < f.tensors[i].bytes; b++) sum += ((const uint8_t *)f.tensors[i].data)[b];
        }
        CHECK(sum < ~0u);
        if (look) look(&f);
    } else {
        CHECK(!f.tensors && !f.count);
    }
    wick_safetensors_close(&f);
    free(copy);
    return status;
}

/* A file of that header and `data` bytes 0, 1, 2 ... */
static wick_status parse_text(const char *header, size_t data, void (*look)(const wick_safetensors *)) {
    uint8_t file[2048];
    const size_t n = strlen(header);
    for (int i = 0; i < 8; i++) file[i] = (uint8_t)(n >> 8 * i);
    memcpy(file + 8, header, n);
    for (size_t i = 0; i < data; i++) file[8 + n + i] = (uint8_t)i;
    return parse_copy(file, 8 + n + data, look);
}

static const char *temp_path(const char *name) {
    static char path[256];
    snprintf(path, sizeof path, "/tmp/wick-test-%ld-%s", (long)getpid(), name);
    return path;
}

static uint8_t *slurp(const char *path, size_t *size) {
    wick_map map;
    if (wick_map_open(&map, path, NULL) != WICK_OK) return NULL;
    uint8_t *copy = malloc(map.size + !map.size);
    memcpy(copy, map.data, map.size);
    *size = map.size;
    wick_map_close(&map);
    return copy;
}

/* ---- files made by the safetensors package of Python (tests/golden/make_safetensors.py) -------------------------- */

static void look_at_mixed(const wick_safetensors *f) {
    CHECK_INT(f->count, 20);
    CHECK_INT(f->meta_count, 2);
    const char *format = wick_safetensors_get_meta(f, "format"), *note = wick_safetensors_get_meta(f, "note");
    CHECK(format && !strcmp(format, "pt"));
    CHECK(note && !strcmp(note, "tab\t quote\" snow\xe2\x98\x83"));
    CHECK(!wick_safetensors_get_meta(f, "none"));
    /* the package that wrote the file lacks e8m0, the format integers below 8 bits */
    for (int d = 0; d < WICK_F8_E8M0; d++) {
        char name[32];
        snprintf(name, sizeof name, "all.%s", wick_safetensors_dtype_name((wick_dtype)d));
        const wick_safetensors_tensor *t = wick_safetensors_find(f, name);
        CHECK_MSG(t, "%s", name);
        if (!t) continue;
        const size_t size = wick_dtype_size((wick_dtype)d);
        CHECK(t->dtype == (wick_dtype)d && t->rank == 2 && t->dims[0] == 2 && t->dims[1] == 3 && t->bytes == 6 * size);
        static const uint16_t halves[2][6] = {{0, 0x3C00, 0x4000, 0x4200, 0x4400, 0x4500},
                                              {0, 0x3F80, 0x4000, 0x4040, 0x4080, 0x40A0}};
        for (int i = 0; i < 6; i++) {
            uint64_t got = 0, want = (uint64_t)i;
            memcpy(&got, (const char *)t->data + (size_t)i * size, size);
            if (d == WICK_F32) memcpy(&want, &(float){(float)i}, 4);
            if (d == WICK_F64) memcpy(&want, &(double){i}, 8);
            if (d == WICK_F16 || d == WICK_BF16) want = halves[d == WICK_BF16][i];
            static const uint8_t eighths[4][6] = {{0, 0x38, 0x40, 0x44, 0x48, 0x4A}, {0, 0x40, 0x48, 0x4C, 0x50, 0x52},
                                                  {0, 0x3C, 0x40, 0x42, 0x44, 0x45}, {0, 0x40, 0x44, 0x46, 0x48, 0x49}};
            if (d >= WICK_F8_E4M3FN && d <= WICK_F8_E5M2FNUZ) want = eighths[d - WICK_F8_E4M3FN][i];
            if (d == WICK_BOOL) want = (uint64_t)i % 2;
            CHECK_MSG(got == want, "%s[%d]", name, i);
        }
    }
    const wick_safetensors_tensor *scalar = wick_safetensors_find(f, "scalar"),
                                  *empty = wick_safetensors_find(f, "empty");
    const wick_safetensors_tensor *odd = wick_safetensors_find(f, "gr\xc3\xb6\xc3\x9f"
                                                                  "e \xe2\x86\x92 \"\xf0\x9f\x98\x80\"\n");
    REQUIRE(scalar && empty && odd);
    CHECK(scalar->rank == 0 && scalar->bytes == 8 && !memcmp(scalar->data, &(double){3.5}, 8));
    CHECK(empty->rank == 2 && empty->dims[0] == 0 && empty->dims[1] == 3 && empty->bytes == 0);
    CHECK(odd->dtype == WICK_I8 && *(const int8_t *)odd->data == -1);
    CHECK(!wick_safetensors_find(f, "none") && !wick_safetensors_find(f, ""));
}

TEST(files_of_the_python_package_are_read) {
    wick_safetensors f;
    const wick_status status = wick_safetensors_open(&f, WICK_SOURCE_DIR "/tests/golden/mixed.safetensors", &msg);
    CHECK_MSG(status == WICK_OK, "%s", msg.text);
    if (status == WICK_OK) look_at_mixed(&f);
    wick_safetensors_close(&f);
    REQUIRE(wick_safetensors_open(&f, WICK_SOURCE_DIR "/tests/golden/empty.safetensors", &msg) == WICK_OK);
    CHECK(f.count == 0 && f.meta_count == 0 && f.data_bytes == 0 && !wick_safetensors_find(&f, "x"));
    wick_safetensors_close(&f);
    wick_safetensors_close(&f);
}

TEST(what_is_written_reads_back_and_is_the_same_again) {
    size_t size = 0, again = 0;
    wick_safetensors f, g;
    REQUIRE(wick_safetensors_open(&f, WICK_SOURCE_DIR "/tests/golden/mixed.safetensors", &msg) == WICK_OK);
    const char *path = temp_path("a.safetensors");
    CHECK_MSG(wick_safetensors_write(path, f.tensors, f.count, f.meta, f.meta_count, &msg) == WICK_OK, "%s", msg.text);
    REQUIRE(wick_safetensors_open(&g, path, &msg) == WICK_OK);
    look_at_mixed(&g);
    CHECK_INT((g.data - g.map.data) % WICK_ALIGN, 0);
    uint8_t *first = slurp(path, &size);
    CHECK(wick_safetensors_write(path, g.tensors, g.count, g.meta, g.meta_count, &msg) ==
          WICK_OK); /* over its own source */
    uint8_t *second = slurp(path, &again);
    CHECK(first && second && size == again && !memcmp(first, second, size));
    free(first), free(second);
    wick_safetensors_close(&f);
    wick_safetensors_close(&g);
    CHECK(wick_safetensors_write(path, NULL, 0, NULL, 0, &msg) == WICK_OK);
    REQUIRE(wick_safetensors_open(&f, path, &msg) == WICK_OK);
    CHECK(f.count == 0 && f.data_bytes == 0 && f.map.size == 64);
    wick_safetensors_close(&f);
    unlink(path);
}

TEST(the_writer_refuses_what_no_reader_would_take) {
    const float x[4] = {1, 2, 3, 4};
    const wick_safetensors_tensor ok = {.name = "a", .dtype = WICK_F32, .rank = 1, .dims = {4}, .data = x};
    const struct {
        wick_safetensors_tensor t[2];
        wick_safetensors_meta m[2];
        const char *says;
    } rows[] = {
        {{ok, ok}, {{"k", "v"}, {"l", "v"}}, "tensor \"a\" is given twice"},
        {{ok, {.name = "__metadata__", .data = x}}, {{"k", "v"}, {"l", "v"}}, "__metadata__"},
        {{ok, {.name = "b\xff", .rank = 1, .dims = {4}, .data = x}}, {{"k", "v"}, {"l", "v"}}, "UTF-8"},
        {{ok, {.name = "b", .dtype = (wick_dtype)77, .data = x}}, {{"k", "v"}, {"l", "v"}}, "dtype"},
        {{ok, {.name = "b", .rank = 1, .dims = {-1}, .data = x}}, {{"k", "v"}, {"l", "v"}}, "shape"},
        {{ok, {.name = "b", .rank = 9, .data = x}}, {{"k", "v"}, {"l", "v"}}, "shape"},
        {{ok, {.name = "b", .rank = 3, .dims = {1 << 30, 1 << 30, 1 << 30}, .data = x}},
         {{"k", "v"}, {"l", "v"}},
         "shape"},
        {{ok, {.name = "b", .data = x}}, {{"k", "v"}, {"k", "w"}}, "metadata key \"k\" is given twice"},
        {{ok, {.name = "b", .data = x}}, {{"k", "v"}, {"l", "\xc0\x80"}}, "UTF-8"},
    };
    const char *path = temp_path("no.safetensors");
    for (size_t i = 0; i < WICK_COUNTOF(rows); i++) {
        msg = (wick_msg){0};
        CHECK_MSG(wick_safetensors_write(path, rows[i].t, 2, rows[i].m, 2, &msg) == WICK_ERR_INVALID, "row %zu", i);
        CHECK_STR_HAS(msg.text, rows[i].says);
        CHECK_STR_HAS(msg.text, path);
        CHECK(access(path, F_OK) != 0);
    }
    CHECK(wick_safetensors_write("/nowhere/x.safetensors", &ok, 1, NULL, 0, &msg) == WICK_ERR_IO);
}

/* ---- lies -------------------------------------------------------------------------------------------------------- */

#define T(name, dtype, shape, begin, end)                                                                              \
    "\"" name "\":{\"dtype\":\"" dtype "\",\"shape\":[" shape "],\"data_offsets\":[" begin "," end "]}"

TEST(sound_headers_are_read) {
    static const struct {
        const char *header;
        size_t data;
    } rows[] = {
        {"{}", 0},
        {"{}     ", 0},
        {"{" T("a", "F32", "2", "0", "8") "}", 8},
        {"{" T("b", "U8", "3", "8", "11") "," T("a", "F32", "2", "0", "8") "}  ", 11},
        {"{" T("a", "U8", "", "0", "1") "," T("z", "F64", "0,5", "1", "1") "," T("b", "I8", "1,1", "1", "2") "}", 2},
        {"{" T("z", "U8", "0", "0", "0") "," T("y", "U8", "0", "0", "0") "}", 0},
        {"{" T("a", "U8", "1,1,1,1,1,1,1,1", "0", "1") "}", 1},
        {"{\"__metadata__\":{}," T("a", "U8", "1", "0", "1") "}", 1},
        {"{\"a\":{\"shape\":[1],\"data_offsets\":[0,1],\"dtype\":\"BOOL\"}}", 1},
    };
    for (size_t i = 0; i < WICK_COUNTOF(rows); i++)
        CHECK_MSG(parse_text(rows[i].header, rows[i].data, NULL) == WICK_OK, "%s: %s", rows[i].header, msg.text);
}

TEST(lying_headers_are_refused_by_name_and_field) {
    static const struct {
        const char *header;
        size_t data;
        const char *says[3];
        wick_status status; /* 0: WICK_ERR_FORMAT */
    } rows[] = {
        {"{" T("a", "F32", "2", "0", "8") "}", 7, {"\"a\"", "data_offsets", "beyond the end"}, 0},
        {"{" T("a", "F32", "2", "0", "8") "}", 9, {"end at byte", "", ""}, 0},
        {"{" T("a", "F32", "3", "0", "8") "}", 8, {"\"a\"", "data_offsets", "shape and dtype"}, 0},
        {"{" T("a", "F32", "2", "8", "0") "}", 8, {"\"a\"", "data_offsets", "before"}, 0},
        {"{" T("a", "U8", "2", "1", "3") "}", 3, {"\"a\"", "data_offsets", "hole"}, 0},
        {"{" T("a", "U8", "2", "0", "2") "," T("b", "U8", "2", "3", "5") "}", 5, {"\"b\"", "data_offsets", "hole"}, 0},
        {"{" T("a", "U8", "4", "0", "4") "," T("b", "U8", "4", "2", "6") "}",
         6,
         {"\"b\"", "data_offsets", "inside"},
         0},
        {"{" T("a", "U8", "4", "0", "4") "," T("b", "U8", "4", "0", "4") "}",
         4,
         {"\"b\"", "data_offsets", "inside"},
         0},
        {"{" T("z", "U8", "0", "2", "2") "," T("a", "U8", "4", "0", "4") "}",
         4,
         {"\"z\"", "data_offsets", "inside"},
         0},
        {"{" T("a", "U8", "1", "0", "1") "," T("a", "U8", "1", "1", "2") "}", 2, {"\"a\"", "twice", ""}, 0},
        {"{" T("a", "F32", "-2", "0", "8") "}", 8, {"\"a\"", "shape", ""}, 0},
        {"{" T("a", "F32", "2.0", "0", "8") "}", 8, {"\"a\"", "shape", ""}, 0},
        {"{" T("a", "F32", "\"2\"", "0", "8") "}", 8, {"\"a\"", "shape", ""}, 0},
        {"{" T("a", "F32", "9223372036854775807", "0", "8") "}", 8, {"\"a\"", "shape", "2^63"}, 0},
        {"{" T("a", "F32", "9223372036854775808", "0", "8") "}", 8, {"\"a\"", "shape", ""}, 0},
        {"{" T("a", "U8", "4294967296,4294967296", "0", "0") "}", 0, {"\"a\"", "shape", "2^63"}, 0},
        {"{" T("a", "U8", "0,4294967296,4294967296", "0", "0") "}", 0, {"\"a\"", "shape", "2^63"}, 0},
        {"{" T("a", "U8", "1,1,1,1,1,1,1,1,1", "0", "1") "}", 1, {"\"a\"", "shape", "8 dims"}, WICK_ERR_UNSUPPORTED},
        {"{" T("a", "U8", "1", "-1", "0") "}", 1, {"\"a\"", "data_offsets", ""}, 0},
        {"{" T("a", "U8", "1", "0", "1,2") "}", 1, {"\"a\"", "data_offsets", ""}, 0},
        {"{" T("a", "U8", "1", "0", "9223372036854775807") "}", 1, {"\"a\"", "data_offsets", ""}, 0},
        {"{" T("a", "U8", "1", "0", "1e0") "}", 1, {"\"a\"", "data_offsets", ""}, 0},
        {"{" T("a", "F6_E2M3", "1", "0", "1") "}", 1, {"\"a\"", "dtype", "F6_E2M3"}, WICK_ERR_UNSUPPORTED},
        {"{" T("a", "f32", "2", "0", "8") "}", 8, {"\"a\"", "dtype", ""}, WICK_ERR_UNSUPPORTED},
        {"{\"a\":{\"dtype\":7,\"shape\":[1],\"data_offsets\":[0,1]}}", 1, {"\"a\"", "dtype", "a number"}, 0},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":1,\"data_offsets\":[0,1]}}", 1, {"\"a\"", "shape", "a number"}, 0},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":{}}}", 1, {"\"a\"", "data_offsets", "an object"}, 0},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[]}}", 1, {"\"a\"", "data_offsets", ""}, 0},
        {"{\"a\":{\"shape\":[1],\"data_offsets\":[0,1]}}", 1, {"\"a\"", "dtype", "missing"}, 0},
        {"{\"a\":{\"dtype\":\"U8\",\"data_offsets\":[0,1]}}", 1, {"\"a\"", "shape", "missing"}, 0},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[1]}}", 1, {"\"a\"", "data_offsets", "missing"}, 0},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1],\"x\":1}}", 1, {"\"a\"", "besides", ""}, 0},
        {"{\"a\":[]}", 0, {"\"a\"", "object", ""}, 0},
        {"{\"__metadata__\":[]}", 0, {"__metadata__", "object", ""}, 0},
        {"{\"__metadata__\":{\"k\":1}}", 0, {"__metadata__", "\"k\"", "string"}, 0},
        {"{\"__metadata__\":{\"k\":\"1\",\"k\":\"2\"}}", 0, {"\"k\"", "twice", ""}, 0},
        {"{" T("a", "BOOL", "3", "0", "3") "}", 3, {"\"a\"", "BOOL", ""}, 0},
        {" {}", 0, {"byte 8", "", ""}, 0},
        {"[]", 0, {"byte 8", "", ""}, 0},
        {"", 0, {"byte 8", "", ""}, 0},
        {"{}x", 0, {"byte 2", "", ""}, 0},
        {"{\"a\":", 4, {"header", "byte 5", ""}, 0},
    };
    for (size_t i = 0; i < WICK_COUNTOF(rows); i++) {
        const wick_status want = rows[i].status ? rows[i].status : WICK_ERR_FORMAT,
                          status = parse_text(rows[i].header, rows[i].data, NULL);
        CHECK_MSG(status == want, "%s: %d \"%s\"", rows[i].header, (int)status, msg.text);
        for (int k = 0; k < 3; k++) CHECK_STR_HAS(msg.text, rows[i].says[k]);
        CHECK_STR_HAS(msg.text, "x.safetensors: ");
    }
}

TEST(lying_header_lengths_are_refused) {
    static const uint64_t lengths[] = {
        0, 1, 3, 11, 100000000, 100000001, (uint64_t)1 << 32, INT64_MAX, UINT64_MAX, UINT64_MAX - 7};
    for (size_t i = 0; i < WICK_COUNTOF(lengths); i++) {
        uint8_t file[18] = {0};
        for (int b = 0; b < 8; b++) file[b] = (uint8_t)(lengths[i] >> 8 * b);
        memcpy(file + 8, "{}        ", 10);
        CHECK_INT(parse_copy(file, sizeof file, NULL), WICK_ERR_FORMAT);
    }
}

TEST(a_header_beyond_the_limit_is_refused_unread) {
    const size_t size = 8 + 100000001;
    uint8_t *file = calloc(size, 1);
    for (int b = 0; b < 8; b++) file[b] = (uint8_t)((size - 8) >> 8 * b);
    file[8] = '{';
    wick_safetensors f;
    CHECK(wick_safetensors_parse(&f, file, size, "big", &msg) == WICK_ERR_UNSUPPORTED);
    CHECK_STR_HAS(msg.text, "big: header length");
    free(file);
}

TEST(no_truncation_is_taken_for_a_file) {
    size_t size = 0;
    uint8_t *file = slurp(WICK_SOURCE_DIR "/tests/golden/mixed.safetensors", &size);
    REQUIRE(file && size > 100);
    for (size_t n = 0; n < size; n++) CHECK_MSG(parse_copy(file, n, NULL) == WICK_ERR_FORMAT, "%zu bytes", n);
    CHECK(parse_copy(file, size, look_at_mixed) == WICK_OK);
    uint8_t *more = calloc(size + 1, 1);
    memcpy(more, file, size);
    CHECK(parse_copy(more, size + 1, NULL) == WICK_ERR_FORMAT);
    free(more);
    free(file);
}

TEST(no_flipped_bit_makes_the_reader_stumble) {
    size_t size = 0;
    uint8_t *file = slurp(WICK_SOURCE_DIR "/tests/golden/mixed.safetensors", &size);
    REQUIRE(file && size > 100);
    const size_t header = 8 + (file[0] | (size_t)file[1] << 8);
    int refused = 0, taken = 0;
    for (size_t i = 0; i < header; i++)
        for (int bit = 0; bit < 8; bit++) {
            file[i] ^= (uint8_t)(1 << bit);
            const wick_status status = parse_copy(file, size, NULL);
            CHECK(status == WICK_OK || status == WICK_ERR_FORMAT || status == WICK_ERR_UNSUPPORTED);
            status == WICK_OK ? taken++ : refused++;
            file[i] ^= (uint8_t)(1 << bit);
        }
    CHECK_MSG(refused > taken && taken > 0, "%d refused, %d taken", refused,
              taken); /* a changed letter of a name is fine */
    /* every value of the bytes that hold the length */
    for (size_t i = 0; i < 8; i++)
        for (int v = 0; v < 256; v++) {
            const uint8_t old = file[i];
            file[i] = (uint8_t)v;
            CHECK((parse_copy(file, size, NULL) == WICK_OK) == (v == old));
            file[i] = old;
        }
    free(file);
}

/* ---- files of others --------------------------------------------------------------------------------------------- */

static const char *models(void) {
    const char *env = getenv("WICK_MODELS");
    return env ? env : WICK_SOURCE_DIR "/../shared/models";
}

/* Calls look for every file of a folder; returns how many. */
static int each_file(const char *folder, void (*look)(const char *path)) {
    char dir[512], path[1024];
    int n = 0;
    snprintf(dir, sizeof dir, "%s/%s", models(), folder);
    DIR *d = opendir(dir);
    if (!d) return 0;
    for (struct dirent *e = readdir(d); e; e = readdir(d)) {
        if (e->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
        look(path);
        n++;
    }
    closedir(d);
    return n;
}

static void must_be_refused(const char *path) {
    wick_safetensors f;
    CHECK_MSG(wick_safetensors_open(&f, path, &msg) != WICK_OK, "%s", path);
}

TEST(malformed_files_of_other_formats_are_refused) {
    if (each_file("malformed/gguf_fuzz_corpus", must_be_refused) + each_file("malformed/onnx_ort", must_be_refused) ==
        0)
        SKIP("no malformed files: set WICK_MODELS");
}

static void must_be_read_and_survive_a_copy(const char *path) {
    wick_safetensors f, g;
    const wick_status status = wick_safetensors_open(&f, path, &msg);
    CHECK_MSG(status == WICK_OK && f.count > 0, "%s", msg.text);
    if (status != WICK_OK) return;
    const char *copy = temp_path("copy.safetensors");
    CHECK(wick_safetensors_write(copy, f.tensors, f.count, f.meta, f.meta_count, &msg) == WICK_OK);
    if (wick_safetensors_open(&g, copy, &msg) == WICK_OK) {
        CHECK(f.count == g.count && f.data_bytes == g.data_bytes && !memcmp(f.data, g.data, f.data_bytes));
        for (size_t i = 0; i < f.count; i++) CHECK(!strcmp(f.tensors[i].name, g.tensors[i].name));
        wick_safetensors_close(&g);
    } else {
        CHECK_MSG(false, "%s", msg.text);
    }
    unlink(copy);
    wick_safetensors_close(&f);
}

TEST(real_models_are_read) {
    if (each_file("safetensors", must_be_read_and_survive_a_copy) == 0) SKIP("no models: set WICK_MODELS");
}

TEST(a_missing_file_is_an_io_error) {
    wick_safetensors f;
    CHECK(wick_safetensors_open(&f, "/nowhere/x.safetensors", &msg) == WICK_ERR_IO);
    wick_safetensors_close(&f);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
