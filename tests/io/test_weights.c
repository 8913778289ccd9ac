/* Named tensors in files of many kinds: read, written, loaded by name, refused. */
#include <sys/stat.h>
#include <unistd.h>

#include "library.h"
#include "io/zip.h"
#include "scratch.h"

#ifndef WICK_SOURCE_DIR
#define WICK_SOURCE_DIR "."
#endif
#define GOLDEN WICK_SOURCE_DIR "/tests/golden/weights/"

static bool set_up(void) { return scratch_context(&(wick_context_options){.threads = 1}); }
static uint8_t *slurp(const char *path, size_t *n) {
    wick_map map;
    if (wick_map_open(&map, path, NULL) != WICK_OK) return NULL;
    uint8_t *copy = malloc(map.size + !map.size);
    memcpy(copy, map.data, *n = map.size);
    wick_map_close(&map);
    return copy;
}
static void copy_file(const char *from, const char *to) {
    size_t n;
    uint8_t *bytes = slurp(from, &n);
    if (bytes) put(to, bytes, n);
    free(bytes);
}

/* Refused, with that in the message. */
static void refused(const char *path, wick_status want, const char *part) {
    wick_weights *w;
    const wick_status status = wick_weights_open(ctx, path, &w);
    CHECK_INT(status, want);
    CHECK(!w);
    CHECK_STR_HAS(wick_context_error(ctx), part);
    wick_weights_free(&w);
}

/* The tensors of make_weights.py. */
static void check_golden(const char *path) {
    wick_weights *w = NULL;
    CHECK_MSG(wick_weights_open(ctx, path, &w) == WICK_OK, "%s: %s", path, wick_context_error(ctx));
    if (!w) return;
    CHECK_INT(wick_weights_count(w), 7);
    CHECK_INT(wick_weights_find(w, "nothing"), -1);
    double x[1000];
    const struct {
        const char *name;
        wick_dtype dtype;
        int rank;
        int64_t dims[2];
    } want[] = {{"fc1.weight", WICK_F32, 2, {3, 4}}, {"fc1.bias", WICK_F16, 1, {3}},
                {"fc2.weight", WICK_F64, 2, {2, 3}}, {"counts", WICK_I64, 2, {2, 3}},
                {"mask", WICK_BOOL, 1, {3}},         {"empty", WICK_F32, 2, {0, 3}},
                {"long", WICK_I32, 1, {1000}}};
    wick_tensor *kept = NULL;
    for (size_t i = 0; i < 7; i++) {
        const int k = wick_weights_find(w, want[i].name);
        CHECK_MSG(k >= 0, "%s: %s", path, want[i].name);
        if (k < 0) continue;
        const wick_spec s = wick_weights_at(w, k);
        wick_tensor *t = wick_weights_tensor(w, k);
        CHECK(s.dtype == want[i].dtype && s.rank == want[i].rank &&
              !memcmp(s.dims, want[i].dims, (size_t)s.rank * sizeof *s.dims) && !strcmp(s.name, want[i].name));
        CHECK(wick_tensor_dtype(t) == s.dtype && wick_tensor_rank(t) == s.rank &&
              !memcmp(wick_tensor_dims(t), s.dims, (size_t)s.rank * sizeof *s.dims));
        const int64_t n = wick_tensor_count(t);
        CHECK_MSG(wick_read(wick_cast(t, WICK_F64), x, (size_t)n * sizeof *x) == WICK_OK, "%s: %s: %s", path,
                  want[i].name, wick_context_error(ctx));
        static const double bias[] = {0.25, -1.5, 2};
        for (int64_t j = 0; j < n; j++)
            CHECK(x[j] == (i == 0   ? (double)j / 8 - 0.5
                           : i == 1 ? bias[j]
                           : i == 4 ? (double)(j % 2 == 0)
                           : i == 6 ? (double)(j % 50)
                                    : (double)j));
        if (i == 0) kept = wick_retain(t);
    }
    wick_weights_free(&w);
    CHECK(!w);
    /* outlives the file */
    CHECK(wick_read(kept, x, 12 * sizeof(float)) == WICK_OK && ((float *)x)[11] == 11.0f / 8 - 0.5f);
    wick_tensor_free(&kept);
}

/* The same arrays as in stored.npz, where they can be read. */
static const char *deflated_file(void) {
    return have_library("libz.so.1") ? GOLDEN "deflated.npz" : GOLDEN "stored.npz";
}

TEST(numpy_and_shards_are_read) {
    REQUIRE(set_up());
    check_golden(GOLDEN "stored.npz");
    check_golden(deflated_file());
    check_golden(GOLDEN "model.safetensors.index.json");
    check_golden(WICK_SOURCE_DIR "/tests/golden/weights");
    wick_context_free(&ctx);
}

TEST(every_kind_becomes_every_other) {
    REQUIRE(set_up());
    static const char *const ends[] = {"a.npz", "b.safetensors", "c.safetensors.index.json", "d.npz"};
    const char *from = GOLDEN "stored.npz";
    for (size_t i = 0; i < 4; i++) {
        wick_weights *w;
        wick_named_tensor named[7];
        REQUIRE(wick_weights_open(ctx, from, &w) == WICK_OK);
        for (int k = 0; k < 7; k++)
            named[k] = (wick_named_tensor){wick_weights_at(w, k).name, wick_weights_tensor(w, k)};
        CHECK_MSG(wick_weights_write(ctx, at(ends[i]), 7, named, &(wick_weights_write_options){.max_shard = 60}) ==
                      WICK_OK,
                  "%s", wick_context_error(ctx));
        wick_weights_free(&w);
        from = at(ends[i]);
        check_golden(from);
    }
    CHECK(access(at("c-00001-of-00004.safetensors"), R_OK) == 0 &&
          access(at("c-00004-of-00004.safetensors"), R_OK) == 0);
    /* Those of a .npz can be read in place. */
    size_t n;
    uint8_t *bytes = slurp(at("d.npz"), &n);
    wick_arena arena;
    wick_arena_init(&arena, NULL, 4096);
    wick_zip_entry *e;
    size_t count;
    CHECK(bytes && wick_zip_parse(&arena, bytes, n, "d", &e, &count, NULL) == WICK_OK && count == 7);
    for (size_t i = 0; bytes && i < count; i++) CHECK_INT((e[i].data - bytes) % 64, 0);
    wick_arena_free(&arena);
    free(bytes);
    wick_tensor *x = wick_zeros(ctx, WICK_BF16, WICK_DIMS(2));
    const wick_named_tensor two[] = {{"x", x}, {"x", x}};
    CHECK(wick_weights_write(ctx, at("e.npz"), 1, two, NULL) == WICK_ERR_UNSUPPORTED);
    CHECK_STR_HAS(wick_context_error(ctx), "bf16");
    CHECK(wick_weights_write(ctx, at("e.safetensors"), 2, two, NULL) == WICK_ERR_INVALID);
    CHECK_STR_HAS(wick_context_error(ctx), "given twice");
    CHECK(wick_weights_write(ctx, at("e.npy"), 2, two, NULL) == WICK_ERR_INVALID);
    CHECK(wick_weights_write(ctx, at("e.zip"), 1, two, NULL) == WICK_ERR_INVALID);
    CHECK(access(at("e.npz"), F_OK) != 0 && access(at("e.safetensors"), F_OK) != 0);
    wick_context_free(&ctx);
}

/* As numpy.savez_compressed: what becomes shorter is deflated, the rest stored. tests/cli/convert.sh has Python read
 * them. */
TEST(archives_may_be_compressed) {
    NEEDS_ZLIB;
    REQUIRE(set_up());
    wick_weights *w;
    wick_named_tensor named[7];
    REQUIRE(wick_weights_open(ctx, GOLDEN "stored.npz", &w) == WICK_OK);
    for (int k = 0; k < 7; k++) named[k] = (wick_named_tensor){wick_weights_at(w, k).name, wick_weights_tensor(w, k)};
    uint8_t noise[4000];
    for (size_t i = 0; i < sizeof noise; i++) noise[i] = (uint8_t)test_rand();
    const int long_one = wick_weights_find(w, "long");
    REQUIRE(long_one >= 0);
    const wick_weights_write_options compress = {.compress = true};
    CHECK_INT(wick_weights_write(ctx, at("plain.npz"), 7, named, NULL), WICK_OK);
    CHECK_INT(wick_weights_write(ctx, at("small.npz"), 7, named, &compress), WICK_OK);
    check_golden(at("small.npz"));
    size_t plain = 0, small = 0, again = 0;
    uint8_t *a = slurp(at("plain.npz"), &plain), *b = slurp(at("small.npz"), &small);
    CHECK_MSG(small < plain, "%zu of %zu bytes", small, plain);
    CHECK_INT(wick_weights_write(ctx, at("small2.npz"), 7, named, &compress), WICK_OK);
    uint8_t *c = slurp(at("small2.npz"), &again);
    CHECK(again == small && !memcmp(b, c, small));
    wick_arena arena;
    wick_arena_init(&arena, NULL, 4096);
    wick_zip_entry *e;
    size_t count;
    REQUIRE(wick_zip_parse(&arena, b, small, "small", &e, &count, NULL) == WICK_OK && count == 7);
    CHECK(e[long_one].deflated && e[long_one].packed < e[long_one].size);
    wick_arena_free(&arena);
    /* Noise can't become shorter, but its header of text can; without a header there is nothing to gain. */
    wick_msg msg = {0};
    CHECK_INT(
        wick_zip_write(
            at("noise.zip"),
            (wick_zip_piece[]){{"x", "", noise, 0, sizeof noise}, {"y", "", "", 0, 0}, {"z", noise, noise, 2000, 2000}},
            3, true, &msg),
        WICK_OK);
    wick_arena_init(&arena, NULL, 4096);
    free(c), c = slurp(at("noise.zip"), &again);
    REQUIRE(wick_zip_parse(&arena, c, again, "noise", &e, &count, NULL) == WICK_OK && count == 3);
    CHECK(!e[0].deflated && !e[1].deflated && e[2].deflated && e[2].packed < 2600); /* the same 2000 bytes twice */
    uint8_t back[4000];
    CHECK(wick_zip_read(&e[2], "noise", back, 4000, &msg) == WICK_OK && !memcmp(back, noise, 2000) &&
          !memcmp(back + 2000, noise, 2000));
    CHECK(wick_zip_read(&e[0], "noise", back, 4000, &msg) == WICK_OK && !memcmp(back, noise, 4000));
    wick_arena_free(&arena);
    free(a), free(b), free(c);
    wick_weights_free(&w);
    wick_context_free(&ctx);
}

TEST(pickles_are_refused_with_the_line_that_converts_them) {
    REQUIRE(set_up());
    refused(GOLDEN "archive.pt", WICK_ERR_UNSUPPORTED, "weights_only=True");
    refused(GOLDEN "legacy.pt", WICK_ERR_UNSUPPORTED, "weights_only=True");
    refused(GOLDEN "objects.npz", WICK_ERR_FORMAT, "pickle");
    wick_checkpoint *c;
    CHECK(wick_checkpoint_open(ctx, GOLDEN "archive.pt", &c) == WICK_ERR_UNSUPPORTED);
    CHECK_STR_HAS(wick_context_error(ctx), "safetensors.torch");
    wick_context_free(&ctx);
}

static wick_model *mlp(void) {
    wick_model *m = NULL;
    if (wick_model_new(ctx, &m) != WICK_OK) return NULL;
    wick_tensor *x = wick_zeros(ctx, WICK_F32, WICK_DIMS(1, 4));
    wick_nn_linear(m, "fc2", wick_nn_linear(m, "fc1", x, 3), 2);
    return m;
}
static float first(wick_model *m, const char *name) {
    const void *data = NULL;
    return wick_data(wick_model_find(m, name), &data) == WICK_OK ? *(const float *)data : -99;
}

/* ---- hostile ----------------------------------------------------------------------------------------------------- */

static void put_index(const char *text) {
    copy_file(GOLDEN "model-00001-of-00002.safetensors", at("s1.safetensors"));
    put(at("x.safetensors.index.json"), text, strlen(text));
}
TEST(an_index_leads_nowhere_else) {
    REQUIRE(set_up());
    const char *index = "x.safetensors.index.json";
#define ALL "{\"fc1.weight\": \"s1.safetensors\", \"fc1.bias\": \"s1.safetensors\", \"long\": \"s1.safetensors\"}"
    wick_weights *w;
    put_index("{\"metadata\": {\"total_size\": 4054}, \"weight_map\": " ALL "}");
    CHECK_MSG(wick_weights_open(ctx, at(index), &w) == WICK_OK, "%s", wick_context_error(ctx));
    wick_weights_free(&w);
    put_index("{\"metadata\": {\"total_size\": 4055}, \"weight_map\": " ALL "}");
    refused(at(index), WICK_ERR_FORMAT, "total_size (byte 28)");
    put_index("{\"weight_map\": {\"fc1.weight\": \"s1.safetensors\", \"fc1.bias\": \"s1.safetensors\"}}");
    refused(at(index), WICK_ERR_FORMAT, "\"long\" is not in the index");
    put_index("{\"weight_map\": {\"more\": \"s1.safetensors\", \"fc1.weight\": \"s1.safetensors\", \"fc1.bias\": "
              "\"s1.safetensors\", \"long\": \"s1.safetensors\"}}");
    refused(at(index), WICK_ERR_FORMAT, "\"more\" (byte 24): is not in the shard");
    static const char *const places[] = {
        "../s1.safetensors",   "/etc/s1.safetensors", "sub/s1.safetensors", ".s1.safetensors", "s1.bin", "",
        "..\\\\s1.safetensors"};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        char text[256];
        snprintf(text, sizeof text, "{\"weight_map\": {\"fc1.weight\": \"%s\"}}", places[i]);
        put_index(text);
        refused(at(index), WICK_ERR_FORMAT, "names no .safetensors file in the folder of the index");
    }
    put_index("{\"weight_map\": {\"fc1.weight\": \"link.safetensors\", \"fc1.bias\": \"link.safetensors\", \"long\": "
              "\"link.safetensors\"}}");
    CHECK(symlink("s1.safetensors", at("link.safetensors")) == 0);
    CHECK_MSG(wick_weights_open(ctx, at(index), &w) == WICK_OK, "%s",
              wick_context_error(ctx)); /* it stays in the folder */
    wick_weights_free(&w);
    CHECK(unlink(at("link.safetensors")) == 0 && symlink("/etc/passwd", at("link.safetensors")) == 0);
    refused(at(index), WICK_ERR_IO, "is a symbolic link that leads out");
    put_index("{\"weight_map\": {\"x\": \"hard.safetensors\"}}");
    CHECK(link(at("s1.safetensors"), at("hard.safetensors")) == 0);
    refused(at(index), WICK_ERR_FORMAT, "no regular file with one name");
    CHECK(unlink(at("hard.safetensors")) == 0 && unlink(at("link.safetensors")) == 0);
    put_index("{\"weight_map\": {\"x\": \"fifo.safetensors\"}}");
    CHECK(mkfifo(at("fifo.safetensors"), 0600) == 0);
    refused(at(index), WICK_ERR_FORMAT, "no regular file");
    put_index("{\"weight_map\": {\"x\": \"none.safetensors\"}}");
    refused(at(index), WICK_ERR_IO, "none.safetensors");
    put_index("{\"weight_map\": {\"x\": 1}}");
    refused(at(index), WICK_ERR_FORMAT, "is not the name of a file");
    put_index("{\"weight_map\": {\"x\": \"s1.safetensors\", \"x\": \"s1.safetensors\"}}");
    refused(at(index), WICK_ERR_FORMAT, "x.safetensors.index.json");
    put_index("{\"weights\": {}}");
    refused(at(index), WICK_ERR_FORMAT, "weight_map is missing");
    put_index("{\"weight_map\": []}");
    refused(at(index), WICK_ERR_FORMAT, "weight_map is an array");
    refused(folder, WICK_ERR_IO, "without model.safetensors");
    wick_context_free(&ctx);
}

static void set(uint8_t *to, int bytes, uint64_t v) {
    for (int i = 0; i < bytes; i++) to[i] = (uint8_t)(v >> 8 * i);
}
/* Where the nth of these four bytes are. */
static uint8_t *find(uint8_t *bytes, size_t n, const char *magic, int nth) {
    for (size_t i = 0; i + 4 <= n; i++)
        if (!memcmp(bytes + i, magic, 4) && nth-- == 0) return bytes + i;
    return NULL;
}
/* A change to the golden .npz: `bytes` at `offset` behind the nth header of that kind. */
static void changed(const char *from, const char *magic, int nth, int offset, int bytes, uint64_t v, const char *part) {
    size_t n;
    uint8_t *file = slurp(from, &n), *place = file ? find(file, n, magic, nth) : NULL;
    CHECK(place != NULL);
    if (place) {
        set(place + offset, bytes, v);
        put(at("bad.npz"), file, n);
        refused(at("bad.npz"),
                strstr(part, "encrypted") || strstr(part, "neither") ? WICK_ERR_UNSUPPORTED : WICK_ERR_FORMAT, part);
    }
    free(file);
}
TEST(archives_are_not_believed) {
    REQUIRE(set_up());
    static const char local[] = "PK\3\4", central[] = "PK\1\2", end[] = "PK\5\6";
    const char *stored = GOLDEN "stored.npz", *deflated = GOLDEN "deflated.npz";
    changed(stored, end, 0, 10, 2, 8, "several parts");
    changed(stored, end, 0, 8, 4, 0x00080008, "no entry of the directory");
    changed(stored, end, 0, 8, 4, 0x00060006, "more bytes than entries");
    changed(stored, end, 0, 12, 4, 1 << 20, "not where it says");
    changed(stored, end, 0, 16, 4, 0xFFFFFFF0, "not where it says");
    changed(stored, end, 0, 20, 2, 5, "no end of a central directory");
    changed(stored, central, 0, 8, 2, 1, "encrypted");
    changed(stored, central, 0, 10, 2, 12, "neither stored nor deflated");
    changed(stored, central, 0, 24, 4, 999, "larger than its bytes");
    changed(deflated, central, 6, 24, 4, 0x7FFFFFFF, "larger than its bytes");
    changed(stored, central, 1, 42, 4, 0, "another one where its data are");
    changed(stored, central, 1, 42, 4, 0x7FFFFFFF, "not where the directory says");
    changed(stored, central, 0, 20, 8, 0x7FFFFFFF7FFFFFFF, "larger than its bytes");
    changed(stored, central, 0, 28, 2, 60000, "reaches beyond");
    changed(stored, local, 0, 26, 2, 60000, "another one where its data are");
    changed(stored, local, 0, 28, 2, 60000, "another one");
    changed(stored, local, 6, 28, 2, 300, "reach beyond");
    changed(stored, local, 0, 28, 2, 400, "lies within another");
    wick_weights *w;
    size_t n;
    uint8_t *file = slurp(stored, &n);
    REQUIRE(file);
    *(find(file, n, central, 0) - 1) ^=
        1; /* the last element of the last array: its checksum finds it, when it is asked for */
    put(at("bad.npz"), file, n);
    free(file);
    REQUIRE(wick_weights_open(ctx, at("bad.npz"), &w) == WICK_OK);
    const char *text = "";
    CHECK_INT(wick_tensor_error(wick_weights_tensor(w, 5), NULL), WICK_OK);
    CHECK_INT(wick_tensor_error(wick_weights_tensor(w, 6), &text), WICK_ERR_FORMAT);
    CHECK_STR_HAS(text, "checksum");
    wick_weights_free(&w);
    wick_context_free(&ctx);
}

/* Every cut, and changes all over: read or refused, and nothing else (sanitizers look). */
TEST(cut_and_changed_files_are_read_or_refused) {
    REQUIRE(set_up());
    const char *const files[] = {GOLDEN "stored.npz", deflated_file()};
    for (int k = 0; k < 2; k++) {
        size_t n;
        uint8_t *file = slurp(files[k], &n);
        REQUIRE(file);
        uint64_t random = 7;
        int read = 0;
        for (int i = 0; i < 600; i++) {
            uint8_t *copy = malloc(n);
            memcpy(copy, file, n);
            size_t length = n;
            if (i < 150) length = n * (size_t)i / 150;
            else
                for (int c = 0; c < 1 + i % 3; c++) {
                    random = random * 6364136223846793005u + 1442695040888963407u;
                    copy[(random >> 33) % n] = (uint8_t)(random >> 20);
                }
            put(at("bad.npz"), copy, length);
            free(copy);
            wick_weights *w;
            if (wick_weights_open(ctx, at("bad.npz"), &w) != WICK_OK) continue;
            read++;
            wick_scope *scope = wick_scope_open(ctx);
            for (int t = 0; t < wick_weights_count(w); t++) (void)!wick_tensor_error(wick_weights_tensor(w, t), NULL);
            wick_scope_close(&scope);
            wick_weights_free(&w);
        }
        CHECK(read > 0 && read < 590);
        free(file);
    }
    wick_context_free(&ctx);
}

TEST(a_bomb_is_refused_before_memory_is_taken) {
    REQUIRE(set_up());
    char header[128] = {0};
    snprintf(header, sizeof header, "{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000000,), }");
    const size_t length = strlen(header) + 10;
    uint8_t npy[160] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, (uint8_t)strlen(header), 0};
    memcpy(npy + 10, header, strlen(header));
    wick_msg msg;
    CHECK(wick_zip_write(at("bomb.npz"), &(wick_zip_piece){"x.npy", npy, "", length, 0}, 1, false, &msg) == WICK_OK);
    refused(at("bomb.npz"), WICK_ERR_FORMAT, "0 bytes of elements");
    CHECK(wick_zip_write(at("other.npz"), &(wick_zip_piece){"readme.txt", "x", "", 1, 0}, 1, false, &msg) == WICK_OK);
    refused(at("other.npz"), WICK_ERR_UNSUPPORTED, "is no array");
    wick_context_free(&ctx);
}

/* ---- into a model ------------------------------------------------------------------------------------------------ */

static char said[1024];
static void note(void *user, wick_weights_trouble what, const char *name, const char *text) {
    (void)user, (void)name;
    snprintf(said + strlen(said), sizeof said - strlen(said), "%d:%s|", (int)what, text);
}
TEST(troubles_are_listed_all_at_once) {
    REQUIRE(set_up());
    wick_model *m = mlp();
    wick_load_report r;
    said[0] = 0;
    const float before = first(m, "fc1.weight");
    const wick_rename rules[] = {{"fc2.weight", "fc1.bias"}, {"fc1.bias", "fc3.bias"}};
    wick_weights_options o = {.n_rename = 2, .rename = rules, .trouble = note};
    CHECK_INT(wick_model_load_weights(m, GOLDEN "stored.npz", &o, &r), WICK_ERR_MISMATCH);
    CHECK_STR_HAS(wick_context_error(ctx), "2 missing: fc2.weight, fc2.bias");
    CHECK_STR_HAS(wick_context_error(ctx), "5 unexpected: fc3.bias (fc1.bias there), counts, mask, empty, long");
    CHECK_STR_HAS(wick_context_error(ctx), "1 of another shape or dtype: fc1.bias is f64[2,3] there and f32[3] here");
    CHECK_STR_HAS(said, "0:fc2.weight|");
    CHECK_STR_HAS(said, "2:fc1.bias is f64[2,3] there and f32[3] here|");
    CHECK(first(m, "fc1.weight") == before);
    o.fitting = true;
    CHECK_INT(wick_model_load_weights(m, GOLDEN "stored.npz", &o, &r), WICK_OK);
    CHECK(r.loaded == 1 && r.kept == 3 && r.unused == 6 && first(m, "fc1.weight") == -0.5f);
    CHECK_STR_HAS(r.differs, "2 missing");
    o = (wick_weights_options){.fitting = true, .exact = true};
    CHECK_INT(wick_model_load_weights(m, deflated_file(), &o, &r), WICK_OK);
    CHECK(r.loaded == 1); /* the bias is f16, fc2.weight f64 */
    o.exact = false;
    CHECK_INT(wick_model_load_weights(m, GOLDEN "model.safetensors.index.json", &o, &r), WICK_OK);
    CHECK(r.loaded == 3 && first(m, "fc1.bias") == 0.25f && first(m, "fc2.weight") == 0);
    o.only = "*.zzz";
    CHECK_INT(wick_model_load_weights(m, deflated_file(), &o, &r), WICK_ERR_MISMATCH);
    CHECK_STR_HAS(wick_context_error(ctx), "nothing would be loaded");
    wick_model_free(&m);
    REQUIRE(wick_model_new(ctx, &m) == WICK_OK);
    CHECK_INT(wick_model_load_weights(m, deflated_file(), NULL, NULL), WICK_ERR_MISMATCH);
    CHECK_STR_HAS(wick_context_error(ctx), "no states yet");
    wick_model_free(&m);
    wick_context_free(&ctx);
}

TEST(names_are_changed_by_rules_and_matrices_turned) {
    REQUIRE(set_up());
    wick_model *m = mlp();
    wick_load_report r;
    const wick_rename flax[] = {{"*/kernel", "*.weight"}, {"*/bias", "*.bias"}};
    const wick_rename dense[] = {{"dense/kernel", "fc1.weight"}, {"dense/*", "fc1.*"}};
    wick_weights_options o = {
        .n_rename = 2, .rename = dense, .prefix = "params/", .transpose = "*.weight", .fitting = true};
    CHECK_MSG(wick_model_load_weights(m, GOLDEN "linear.safetensors", &o, &r) == WICK_OK, "%s",
              wick_context_error(ctx));
    CHECK(r.loaded == 2 && r.unused == 0);
    float w[12];
    CHECK(wick_read(wick_model_find(m, "fc1.weight"), w, sizeof w) == WICK_OK);
    for (int i = 0; i < 12; i++) CHECK(w[i] == (float)i / 8 - 0.5f);
    o.transpose = NULL;
    CHECK_INT(wick_model_load_weights(
                  m, GOLDEN "linear.safetensors",
                  &(wick_weights_options){.n_rename = 2, .rename = dense, .prefix = "params/", .only = "fc1.*"}, &r),
              WICK_ERR_MISMATCH);
    CHECK_STR_HAS(wick_context_error(ctx), "fc1.weight is f32[4,3] there and f32[3,4] here");
    o.rename = flax, o.prefix = "params/dense";
    /* they become ".weight" and ".bias" */
    CHECK_INT(wick_model_load_weights(m, GOLDEN "linear.safetensors", &o, &r), WICK_ERR_MISMATCH);
    CHECK_STR_HAS(wick_context_error(ctx), ".weight (params/dense/kernel there)");
    /* two tensors for one state; prefixes by a dot; stars in order */
    const wick_rename both[] = {{"fc2.weight", "fc1.weight"}};
    CHECK_INT(wick_model_load_weights(m, GOLDEN "stored.npz",
                                      &(wick_weights_options){.n_rename = 1, .rename = both, .only = "fc1.*"}, &r),
              WICK_ERR_MISMATCH);
    CHECK_STR_HAS(wick_context_error(ctx), "fc2.weight for fc1.weight, which fc1.weight is too");
    const wick_rename swap[] = {{"fc1.", "fc9."}, {"fc*.*", "fc1.*"}};
    CHECK_INT(wick_model_load_weights(m, GOLDEN "stored.npz",
                                      &(wick_weights_options){.n_rename = 2, .rename = swap, .fitting = true}, &r),
              WICK_ERR_MISMATCH);
    CHECK_STR_HAS(wick_context_error(ctx), "fc9.weight (fc1.weight there)");
    CHECK_STR_HAS(wick_context_error(ctx), "fc1.2 (fc2.weight there)"); /* the first star is "2" */
    static const wick_rename wrong[] = {{"", "x"}, {"a", "*"}, {"a**", "b"}, {"*.*.*.*.*.*.*.*.*", "x"}};
    for (int i = 0; i < 4; i++)
        CHECK_INT(wick_model_load_weights(m, GOLDEN "stored.npz",
                                          &(wick_weights_options){.n_rename = 1, .rename = &wrong[i]}, &r),
                  WICK_ERR_INVALID);
    wick_model_free(&m);
    wick_context_free(&ctx);
}

/* Files of others, wherever they are. */
TEST(real_files_are_read) {
    REQUIRE(set_up());
    const char *models = getenv("WICK_MODELS");
    char path[512];
    wick_weights *w;
    if (!models) SKIP("WICK_MODELS names no folder of models");
    snprintf(path, sizeof path, "%s/safetensors/silero_vad_16k.safetensors", models);
    CHECK(wick_weights_open(ctx, path, &w) == WICK_OK && wick_weights_count(w) > 5);
    wick_weights_free(&w);
    snprintf(path, sizeof path, "%s/npy/test.npz", models);
    CHECK(wick_weights_open(ctx, path, &w) == WICK_OK && wick_weights_count(w) > 0);
    for (int i = 0; w && i < wick_weights_count(w); i++)
        CHECK(wick_tensor_error(wick_weights_tensor(w, i), NULL) == WICK_OK);
    wick_weights_free(&w);
    snprintf(path, sizeof path, "%s/npy/test.npy", models);
    CHECK(wick_weights_open(ctx, path, &w) == WICK_OK && wick_weights_count(w) == 1 &&
          wick_weights_find(w, "test") == 0);
    wick_weights_free(&w);
    static const char *const objects[] = {"py2-objarr.npz", "py3-objarr.npz", "py2-objarr.npy", "py3-objarr.npy",
                                          "py2-np0-objarr.npy"};
    for (size_t i = 0; i < 5; i++) {
        snprintf(path, sizeof path, "%s/npy/numpy/%s", models, objects[i]);
        refused(path, WICK_ERR_FORMAT, "pickle");
    }
    wick_context_free(&ctx);
}

/* A .npy as NumPy writes it; its size. */
static size_t make_npy(char *to, const char *dict, const void *elements, size_t n) {
    const size_t length = (size_t)sprintf(to + 10, "%s\n", dict);
    memcpy(to, "\x93NUMPY\1\0", 8);
    to[8] = (char)length, to[9] = (char)(length >> 8);
    memcpy(to + 10 + length, elements, n);
    return 10 + length + n;
}

TEST(arrays_of_texts_are_read_beside_tensors) {
    static const char ucs4[] = "o\0\0\0n\0\0\0e\0\0\0"
                               "\xe4\0\0\0\0\0\0\0\0\0\0\0"
                               "\x08\xf4\x01\0\0\0\0\0\0\0\0\0",
                      big[] = "\0\0\0o\0\0\0k", bytes[] = "abcd\0\0";
    char npy[4][256];
    wick_msg msg;
    wick_weights *w;
    wick_texts t;
    REQUIRE(set_up());
    const size_t n[] = {make_npy(npy[0], "{'descr': '<U3', 'fortran_order': False, 'shape': (3,), }", ucs4, 36),
                        make_npy(npy[1], "{'descr': '>U2', 'fortran_order': False, 'shape': (1, 1), }", big, 8),
                        make_npy(npy[2], "{'descr': '|S3', 'fortran_order': False, 'shape': (2,), }", bytes, 6),
                        make_npy(npy[3], "{'descr': '|u1', 'fortran_order': False, 'shape': (2,), }", "\1\2", 2)};
    for (int packed = 0; packed < 1 + have_library("libz.so.1"); packed++) {
        const wick_zip_piece pieces[] = {{"names.npy", npy[0], "", n[0], 0},
                                         {"big.npy", npy[1], "", n[1], 0},
                                         {"bytes.npy", npy[2], "", n[2], 0},
                                         {"x.npy", npy[3], "", n[3], 0}};
        CHECK_INT(wick_zip_write(at("texts.npz"), pieces, 4, packed, &msg), WICK_OK);
        REQUIRE(wick_weights_open(ctx, at("texts.npz"), &w) == WICK_OK);
        CHECK(wick_weights_count(w) == 1 && strcmp(wick_weights_at(w, 0).name, "x") == 0 &&
              wick_weights_find(w, "names") == -1);
        CHECK(wick_weights_texts_at(w, 0, &t) && strcmp(t.name, "names") == 0 && t.rank == 1 && t.count == 3 &&
              strcmp(t.texts[0], "one") == 0 && strcmp(t.texts[1], "\xc3\xa4") == 0 &&
              strcmp(t.texts[2], "\xf0\x9f\x90\x88") == 0);
        CHECK(wick_weights_texts_at(w, 1, &t) && t.rank == 2 && t.count == 1 && strcmp(t.texts[0], "ok") == 0);
        CHECK(wick_weights_texts_at(w, 2, &t) && t.count == 2 && strcmp(t.texts[0], "abc") == 0 &&
              strcmp(t.texts[1], "d") == 0);
        CHECK(!wick_weights_texts_at(w, 3, &t) && !wick_weights_texts_at(w, -1, &t));
        wick_weights_free(&w);
    }
    static const struct {
        const char *dict, *says;
        wick_status status;
    } wrong[] = {
        {"{'descr': '<U0', 'fortran_order': False, 'shape': (2,), }", "without a length", WICK_ERR_FORMAT},
        {"{'descr': '<U', 'fortran_order': False, 'shape': (2,), }", "no dtype", WICK_ERR_FORMAT},
        {"{'descr': '<U4294967297', 'fortran_order': False, 'shape': (2,), }", "without a length", WICK_ERR_FORMAT},
        {"{'descr': '<U1', 'fortran_order': False, 'shape': (3,), }", "shape and dtype make 12", WICK_ERR_FORMAT},
        {"{'descr': '<U1', 'fortran_order': False, 'shape': (4611686018427387904,), }", "shape and dtype make",
         WICK_ERR_FORMAT},
        {"{'descr': '<U1', 'fortran_order': False, 'shape': (2,), }", "text 1 (byte", WICK_ERR_FORMAT},
        {"{'descr': '<U1', 'fortran_order': True, 'shape': (1, 2), }", "columns first", WICK_ERR_UNSUPPORTED},
    };
    for (size_t k = 0; k < WICK_COUNTOF(wrong); k++) {
        const size_t size = make_npy(npy[0], wrong[k].dict, "a\0\0\0\0\xd8\0\0", 8);
        CHECK_INT(wick_zip_write(at("texts.npz"), &(wick_zip_piece){"t.npy", npy[0], "", size, 0}, 1, false, &msg),
                  WICK_OK);
        CHECK_MSG(wick_weights_open(ctx, at("texts.npz"), &w) == wrong[k].status &&
                      strstr(wick_context_error(ctx), wrong[k].says),
                  "%s: %s", wrong[k].dict, wick_context_error(ctx));
    }
    wick_context_free(&ctx);
}

/* ---- pages ------------------------------------------------------------------------------------------------------- */

/* Sums of each of the n tensors of [elements] f32, which are i + 1 throughout. */
static void read_tensors(const wick_weights *w, int n, size_t elements, size_t most) {
    for (int i = 0; i < n; i++) {
        char name[16];
        size_t now = 0;
        double sum = 0;
        snprintf(name, sizeof name, "t%d", i);
        wick_tensor *t = wick_weights_tensor(w, wick_weights_find(w, name));
        const void *x = NULL;
        REQUIRE(wick_data(t, &x) == WICK_OK);
        for (size_t k = 0; k < elements; k++) sum += ((const float *)x)[k];
        CHECK(sum == (double)elements * (i + 1));
        if (wick_weights_resident(w, &now)) CHECK_MSG(now <= most, "%zu bytes of %zu, tensor %d", now, most, i);
    }
}

TEST(pages_of_weights_go_beyond_a_limit_and_come_again) {
    enum { N = 16, ELEMENTS = 1 << 17 }; /* 512 KiB each */
    const size_t one = ELEMENTS * sizeof(float), page = 65536;
    if (!set_up()) return;
    wick_named_tensor named[N];
    char names[N][16];
    const int64_t dims[] = {ELEMENTS};
    for (int i = 0; i < N; i++) {
        snprintf(names[i], sizeof names[i], "t%d", i);
        named[i] = (wick_named_tensor){names[i], wick_full(ctx, WICK_F32, 1, dims, i + 1)};
    }
    REQUIRE(wick_weights_write(ctx, at("pages.safetensors"), N, named, NULL) == WICK_OK);
    wick_weights *w = NULL;
    size_t now = 0;
    REQUIRE(wick_weights_open(ctx, at("pages.safetensors"), &w) == WICK_OK);
    read_tensors(w, N, ELEMENTS, SIZE_MAX);
    if (wick_weights_resident(w, &now)) CHECK(now >= N * one);
    wick_weights_set_limit(w, 4 * one);
    if (wick_weights_resident(w, &now)) CHECK(now == 0);
    /* in the order of the file, and again: the system may read some pages ahead */
    CHECK_INT(wick_weights_advise(w, -1, WICK_WEIGHTS_RANDOM), WICK_OK);
    for (int round = 0; round < 2; round++) read_tensors(w, N, ELEMENTS, 4 * one + 8 * page);
    /* one that is larger than the limit is there alone; an old tensor is still good */
    wick_tensor *old = wick_weights_tensor(w, wick_weights_find(w, "t3"));
    wick_weights_set_limit(w, one / 2);
    read_tensors(w, N, ELEMENTS, one + 8 * page);
    const void *x = NULL;
    CHECK(wick_data(old, &x) == WICK_OK && ((const float *)x)[ELEMENTS - 1] == 4);
    wick_weights_set_limit(w, 0);
    for (int use = WICK_WEIGHTS_NORMAL; use <= WICK_WEIGHTS_DONE; use++) {
        CHECK_INT(wick_weights_advise(w, -1, (wick_weights_use)use), WICK_OK);
        CHECK_INT(wick_weights_advise(w, 5, (wick_weights_use)use), WICK_OK);
        read_tensors(w, N, ELEMENTS, SIZE_MAX);
    }
    CHECK_INT(wick_weights_advise(w, N, WICK_WEIGHTS_DONE), WICK_ERR_INVALID);
    CHECK_INT(wick_weights_advise(w, -2, WICK_WEIGHTS_DONE), WICK_ERR_INVALID);
    CHECK_INT(wick_weights_advise(w, 0, (wick_weights_use)9), WICK_ERR_INVALID);
    CHECK(!wick_weights_resident(w, NULL));
    wick_weights_free(&w);
    wick_context_free(&ctx);
}

int main(int argc, char **argv) {
    const int failed = test_main(argc, argv);
    char command[64];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command) == 0 ? failed : 1;
}
