/* Checkpoints: what was saved comes back to the bit; what is damaged, newer or another model's is refused; a crash
 * leaves a whole file. */
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/counting_alloc.h"
#include "io/seal.h"
#include "test.h"
#include "wick/wick.h"

static char folder[64];

static const char *in_folder(const char *name) {
    static char paths[4][160];
    static int turn;
    char *path = paths[turn++ & 3];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static bool folder_make(void) {
    strcpy(folder, "/tmp/wick-test-XXXXXX");
    return mkdtemp(folder) != NULL;
}

static void folder_remove(void) {
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    if (system(command) != 0) printf("  %s stays\n", folder);
}

/* ---- a small network, trained a little --------------------------------------------------------------------------- */

typedef struct net {
    wick_context *ctx;
    wick_model *model;
    wick_optimizer *optimizer;
} net;

static wick_tensor *net_forward(net *n, wick_tensor *x) {
    x = wick_relu(wick_nn_batch_norm(n->model, "bn", wick_nn_linear(n->model, "fc1", x, 5)));
    return wick_nn_linear(n->model, "fc2", wick_nn_dropout(n->model, x, 0.2), 3);
}

static wick_tensor *net_input(net *n) {
    float x[28];
    for (int i = 0; i < 28; i++) x[i] = (float)test_rand_real(-1, 1);
    return wick_from(n->ctx, WICK_F32, WICK_DIMS(7, 4), x);
}

static bool net_open(net *n, uint64_t seed, bool build) {
    *n = (net){0};
    wick_optim_options options = {.kind = WICK_ADAM, .lr = 0.01};
    if (wick_context_new(&(wick_context_options){.threads = 1, .seed = seed}, &n->ctx) != WICK_OK) return false;
    if (wick_model_new(n->ctx, &n->model) != WICK_OK) return false;
    if (wick_optimizer_new(n->model, &options, &n->optimizer) != WICK_OK) return false;
    if (!build) return true;
    wick_model_set_training(n->model, false);
    wick_status status = wick_tensor_error(net_forward(n, wick_zeros(n->ctx, WICK_F32, WICK_DIMS(2, 4))), NULL);
    wick_model_set_training(n->model, true);
    return status == WICK_OK;
}

static void net_close(net *n) {
    wick_optimizer_free(&n->optimizer);
    wick_model_free(&n->model);
    wick_context_free(&n->ctx);
}

static bool net_train(net *n, int steps) {
    const int64_t labels[] = {0, 1, 2, 0, 1, 2, 1};
    for (int i = 0; i < steps; i++) {
        wick_scope *scope = wick_scope_open(n->ctx);
        wick_tensor *loss =
            wick_cross_entropy(net_forward(n, net_input(n)), wick_from(n->ctx, WICK_I64, WICK_DIMS(7), labels));
        bool ok = wick_optimizer_step(n->optimizer, loss) == WICK_OK && wick_eval(n->ctx, 0, NULL, NULL) == WICK_OK;
        wick_scope_close(&scope);
        if (!ok) return false;
    }
    return true;
}

/* Checks that every state of a that b has is bit for bit b's; returns how many those are. */
static int check_same(net *a, net *b) {
    int same = 0;
    for (int i = 0; i < wick_model_count(a->model); i++) {
        wick_named s = wick_model_at(a->model, i);
        wick_tensor *t = wick_model_find(b->model, s.name);
        if (!t) continue;
        static char x[2][4096];
        size_t size = wick_dtype_bytes(wick_tensor_dtype(s.tensor), wick_tensor_count(s.tensor));
        CHECK(size <= sizeof x[0] && wick_read(s.tensor, x[0], size) == WICK_OK && wick_read(t, x[1], size) == WICK_OK);
        CHECK_MSG(memcmp(x[0], x[1], size) == 0, "%s differs", s.name);
        same++;
    }
    return same;
}

static wick_status load(net *n, const char *path, bool with_optimizer) {
    wick_checkpoint *c;
    wick_status status = wick_checkpoint_open(n->ctx, path, &c);
    if (status != WICK_OK) return status;
    status = wick_checkpoint_load(c, n->model, with_optimizer);
    wick_checkpoint_free(&c);
    return status;
}

#define SETUP                                                                                                          \
    net a, b;                                                                                                          \
    REQUIRE(folder_make());                                                                                            \
    REQUIRE(net_open(&a, 1, true) && net_open(&b, 2, true));                                                           \
    bool trained = net_train(&a, 3);                                                                                   \
    CHECK_MSG(trained, "%s", wick_context_error(a.ctx))
#define TEARDOWN                                                                                                       \
    net_close(&a);                                                                                                     \
    net_close(&b);                                                                                                     \
    folder_remove()

/* ---- there and back ---------------------------------------------------------------------------------------------- */

TEST(a_checkpoint_comes_back_to_the_bit) {
    SETUP;
    const char *path = in_folder("model.safetensors");
    const wick_meta meta[] = {{"epoch", "7"}, {"note", "quotes \" and \\ and \xc3\xa9\n"}};
    CHECK_MSG(wick_save(a.model, path, &(wick_save_options){.n_meta = 2, .meta = meta}) == WICK_OK, "%s",
              wick_context_error(a.ctx));
    wick_checkpoint *c;
    wick_status status = wick_checkpoint_open(b.ctx, path, &c);
    CHECK_MSG(status == WICK_OK, "%s", wick_context_error(b.ctx));
    REQUIRE(status == WICK_OK);
    CHECK_INT(wick_checkpoint_count(c), wick_model_count(a.model));
    const char *note = wick_checkpoint_meta(c, "note"), *epoch = wick_checkpoint_meta(c, "epoch");
    CHECK(note && strcmp(note, meta[1].value) == 0);
    CHECK(epoch && strcmp(epoch, "7") == 0);
    CHECK(wick_checkpoint_meta(c, "absent") == NULL);
    const char *const own[] = {"wick.format", "wick.crc32c", "wick.numerics", "wick.seed", "wick.stream"};
    for (int i = 0; i < 5; i++) CHECK_MSG(wick_checkpoint_meta(c, own[i]) != NULL, "%s", own[i]);
    CHECK(strcmp(wick_checkpoint_meta(c, "wick.format"), "2") == 0);
    const char *key = NULL, *value = NULL;
    int entries = 0;
    while (wick_checkpoint_meta_at(c, entries, &key, &value)) {
        const char *same = wick_checkpoint_meta(c, key);
        CHECK(same && strcmp(same, value) == 0);
        entries++;
    }
    CHECK_INT(entries, 7);
    CHECK(!wick_checkpoint_meta_at(c, -1, &key, &value));
    bool found = false;
    for (int i = 0; i < wick_checkpoint_count(c); i++) {
        wick_spec s = wick_checkpoint_tensor(c, i);
        if (strcmp(s.name, "fc1.weight") != 0) continue;
        found = s.dtype == WICK_F32 && s.rank == 2 && s.dims[0] == 5 && s.dims[1] == 4;
    }
    CHECK(found);
    CHECK(wick_checkpoint_tensor(c, -1).name == NULL &&
          wick_checkpoint_tensor(c, wick_checkpoint_count(c)).name == NULL);
    CHECK_MSG(wick_checkpoint_load(c, b.model, true) == WICK_OK, "%s", wick_context_error(b.ctx));
    wick_checkpoint_free(&c);
    CHECK(c == NULL);
    wick_checkpoint_free(&c);
    wick_checkpoint_free(NULL);
    CHECK_INT(check_same(&a, &b), wick_model_count(a.model));
    CHECK_INT(wick_model_count(b.model), wick_model_count(a.model));

    /* and training goes on the same way: weights, moments, dropout's numbers */
    uint64_t seed = test_seed;
    CHECK(net_train(&a, 3));
    test_seed = seed;
    CHECK(net_train(&b, 3));
    CHECK_INT(check_same(&a, &b), wick_model_count(a.model));
    TEARDOWN;
}

TEST(a_weights_only_file_has_no_optimizer_and_is_loaded_without) {
    SETUP;
    CHECK(wick_save(a.model, in_folder("w"), &(wick_save_options){.weights_only = true}) == WICK_OK);
    wick_checkpoint *c;
    REQUIRE(wick_checkpoint_open(b.ctx, in_folder("w"), &c) == WICK_OK);
    CHECK_INT(wick_checkpoint_count(c), 8);
    for (int i = 0; i < wick_checkpoint_count(c); i++)
        CHECK(strncmp(wick_checkpoint_tensor(c, i).name, "optim.", 6) != 0);
    CHECK(wick_checkpoint_load(c, b.model, false) == WICK_OK);
    CHECK(wick_checkpoint_load(c, b.model, true) == WICK_OK);
    wick_checkpoint_free(&c);
    CHECK_INT(check_same(&b, &a), 8);
    CHECK_INT(wick_model_count(b.model), 8);
    TEARDOWN;
}

TEST(loading_weights_leaves_optimizer_and_random_state_alone) {
    SETUP;
    REQUIRE(wick_save(a.model, in_folder("c"), NULL) == WICK_OK);
    uint64_t seed, stream, seed2, stream2;
    wick_context_random(b.ctx, &seed, &stream);
    CHECK(load(&b, in_folder("c"), false) == WICK_OK);
    wick_context_random(b.ctx, &seed2, &stream2);
    CHECK(seed == seed2 && stream == stream2);
    CHECK_INT(wick_model_count(b.model), 8);
    wick_context_random(a.ctx, &seed, &stream);
    CHECK(load(&b, in_folder("c"), true) == WICK_OK);
    wick_context_random(b.ctx, &seed2, &stream2);
    CHECK(seed == seed2 && stream == stream2);
    TEARDOWN;
}

TEST(every_dtype_and_odd_shape_comes_back) {
    net a, b;
    REQUIRE(folder_make() && net_open(&a, 1, false) && net_open(&b, 2, false));
    for (int n = 0; n < 2; n++)
        for (int d = 0; d < WICK_DTYPE_COUNT; d++) {
            net *to = n ? &b : &a;
            char name[32];
            for (int k = 0; k < 4; k++) {
                const int64_t dims[4][3] = {{3, 1, 5}, {0, 2}, {0}, {7}};
                const int ranks[] = {3, 2, 0, 1};
                snprintf(name, sizeof name, "%s.%d", wick_dtype_name((wick_dtype)d), k);
                wick_tensor *t = wick_model_state(to->model, name, k & 1 ? WICK_ROLE_BUFFER : WICK_ROLE_PARAM,
                                                  (wick_dtype)d, ranks[k], dims[k], wick_init_constant(0));
                REQUIRE(wick_tensor_error(t, NULL) == WICK_OK);
                if (n) continue;
                uint8_t bytes[256];
                size_t size = wick_dtype_bytes((wick_dtype)d, wick_tensor_count(t));
                for (size_t i = 0; i < size; i++)
                    bytes[i] = (uint8_t)(d == WICK_BOOL ? test_rand() & 1 : test_rand()); /* NaNs too */
                CHECK(wick_write(t, bytes, size) == WICK_OK);
            }
        }
    CHECK_MSG(wick_save(a.model, in_folder("d"), NULL) == WICK_OK, "%s", wick_context_error(a.ctx));
    CHECK_MSG(load(&b, in_folder("d"), false) == WICK_OK, "%s", wick_context_error(b.ctx));
    CHECK_INT(check_same(&a, &b), 4 * WICK_DTYPE_COUNT);
    TEARDOWN;
}

TEST(a_file_is_replaced_as_a_whole_or_not_at_all) {
    REQUIRE(folder_make());
    wick_context *ctx = NULL;
    REQUIRE(wick_context_new(&(wick_context_options){.threads = 1}, &ctx) == WICK_OK);
    const char *path = in_folder("page.html");
    char text[16] = "";
    CHECK_INT(wick_file_write(ctx, path, "first", 5), WICK_OK);
    CHECK_INT(wick_file_write(ctx, path, "second", 6), WICK_OK);
    FILE *f = fopen(path, "rb");
    CHECK(f && fread(text, 1, sizeof text - 1, f) == 6 && strcmp(text, "second") == 0);
    if (f) fclose(f);
    CHECK_INT(wick_file_write(ctx, in_folder("nowhere/page.html"), "x", 1), WICK_ERR_IO);
    CHECK_STR_HAS(wick_context_error(ctx), "nowhere/page.html");
    CHECK_INT(wick_file_write(ctx, folder, "x", 1), WICK_ERR_IO);
    CHECK_INT(wick_file_write(ctx, NULL, "x", 1), WICK_ERR_INVALID);
    CHECK_INT(wick_file_write(ctx, path, NULL, 0), WICK_OK); /* an empty file */
    f = fopen(path, "rb");
    CHECK(f && fgetc(f) == EOF);
    if (f) fclose(f);
    wick_context_free(&ctx);
    folder_remove();
}

TEST(an_empty_model_makes_an_empty_file) {
    net a, b;
    REQUIRE(folder_make() && net_open(&a, 1, false) && net_open(&b, 2, false));
    CHECK(wick_save(a.model, in_folder("e"), NULL) == WICK_OK);
    CHECK(load(&b, in_folder("e"), true) == WICK_OK);
    TEARDOWN;
}

TEST(pending_assignments_are_saved_as_assigned) {
    SETUP;
    wick_tensor *w = wick_model_find(a.model, "fc1.weight");
    CHECK(wick_assign(w, wick_mul(w, wick_like(w, 3))) == WICK_OK);
    CHECK(wick_save(a.model, in_folder("p"), NULL) == WICK_OK);
    CHECK(load(&b, in_folder("p"), false) == WICK_OK);
    check_same(&a, &b);
    TEARDOWN;
}

TEST(what_is_loaded_comes_after_pending_assignments) {
    SETUP;
    REQUIRE(wick_save(a.model, in_folder("p"), NULL) == WICK_OK);
    wick_tensor *w = wick_model_find(b.model, "fc1.weight");
    CHECK(wick_assign(w, wick_mul(w, wick_like(w, 3))) == WICK_OK);
    CHECK(load(&b, in_folder("p"), false) == WICK_OK);
    CHECK(wick_eval(b.ctx, 0, NULL, NULL) == WICK_OK);
    CHECK_INT(check_same(&b, &a), 8);
    TEARDOWN;
}

/* ---- other models ------------------------------------------------------------------------------------------------ */

TEST(mismatches_list_the_names_and_change_nothing) {
    SETUP;
    REQUIRE(wick_save(a.model, in_folder("m"), NULL) == WICK_OK);
    net c;
    REQUIRE(net_open(&c, 3, false));
    wick_tensor *x = wick_zeros(c.ctx, WICK_F32, WICK_DIMS(2, 4));
    wick_tensor *h = wick_nn_linear(c.model, "fc1", x, 5); /* the same */
    h = wick_nn_linear(c.model, "fc2", h, 9);              /* other shapes */
    h = wick_nn_linear(c.model, "extra", h, 2);            /* not in the file */
    REQUIRE(wick_tensor_error(h, NULL) == WICK_OK);        /* bn.* is only in the file */
    float before[20], after[20];
    wick_tensor *w = wick_model_find(c.model, "fc1.weight");
    CHECK(wick_read(w, before, sizeof before) == WICK_OK);
    CHECK_INT(load(&c, in_folder("m"), true), WICK_ERR_MISMATCH);
    const char *const names[] = {"fc2.weight", "fc2.bias",        "extra.weight",   "extra.bias", "bn.weight",
                                 "bn.bias",    "bn.running_mean", "bn.running_var", "f32[9,5]",   "f32[3,5]"};
    for (int i = 0; i < 10; i++) CHECK_STR_HAS(wick_context_error(c.ctx), names[i]);
    CHECK(strstr(wick_context_error(c.ctx), "fc1") == NULL && strstr(wick_context_error(c.ctx), "optim.") == NULL);
    CHECK(wick_read(w, after, sizeof after) == WICK_OK && memcmp(before, after, sizeof after) == 0);
    CHECK_INT(wick_model_count(c.model), 6);
    net_close(&c);
    TEARDOWN;
}

/* A file of fc1, bn and fc2 [3, 5] for a model of fc1, fc2 [9, 5] and extra. */
TEST(parts_of_the_weights_are_loaded_as_selected) {
    SETUP;
    REQUIRE(net_train(&a, 2) && wick_save(a.model, in_folder("m"), NULL) == WICK_OK);
    const struct {
        wick_load_options options;
        wick_status status;
        int loaded, kept, unused;
        const char *says; /* in the report, or in the error */
    } cases[] = {
        {{0}, WICK_ERR_MISMATCH, 0, 0, 0, "fc2.weight is f32[3,5] there and f32[9,5] here"},
        {{.skip = "fc2.*"}, WICK_ERR_MISMATCH, 0, 0, 0, "extra.weight is not there"},
        {{.only = "fc*", .skip = "fc2.*"}, WICK_OK, 2, 4, 6, ""},
        {{.only = "fc1.weight"}, WICK_OK, 1, 5, 7, ""},
        {{.fitting = true}, WICK_OK, 2, 4, 6, "bn.running_var is only there"},
        {{.fitting = true, .skip = "bn.*"}, WICK_OK, 2, 4, 6, "extra.bias is not there"},
        {{.fitting = true, .skip = "fc1.*"}, WICK_ERR_MISMATCH, 0, 0, 0, "fc2.bias is f32[3] there and f32[9] here"},
        {{.only = "nothing"}, WICK_ERR_MISMATCH, 0, 0, 0, "none that the model has is selected"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        net d;
        wick_checkpoint *file = NULL;
        wick_load_report report;
        memset(&report, 9, sizeof report);
        REQUIRE(net_open(&d, 3, false));
        wick_tensor *h = wick_nn_linear(d.model, "fc1", wick_zeros(d.ctx, WICK_F32, WICK_DIMS(2, 4)), 5);
        h = wick_nn_linear(d.model, "extra", wick_nn_linear(d.model, "fc2", h, 9), 2);
        REQUIRE(wick_tensor_error(h, NULL) == WICK_OK && wick_checkpoint_open(d.ctx, in_folder("m"), &file) == WICK_OK);
        float before[3][45], after[3][45], saved[20];
        const char *const names[] = {"fc1.weight", "fc2.weight", "extra.weight"};
        const size_t bytes[] = {80, 180, 72};
        for (int k = 0; k < 3; k++)
            CHECK(wick_read(wick_model_find(d.model, names[k]), before[k], bytes[k]) == WICK_OK);
        CHECK(wick_read(wick_model_find(a.model, "fc1.weight"), saved, sizeof saved) == WICK_OK);
        const wick_status status = wick_checkpoint_load_some(file, d.model, &cases[i].options, &report);
        CHECK_MSG(status == cases[i].status, "case %d: %s", (int)i, wick_context_error(d.ctx));
        CHECK_STR_HAS(status == WICK_OK ? report.differs : wick_context_error(d.ctx), cases[i].says);
        for (int k = 0; k < 3; k++) CHECK(wick_read(wick_model_find(d.model, names[k]), after[k], bytes[k]) == WICK_OK);
        CHECK_MSG(memcmp(after[0], status == WICK_OK ? saved : before[0], sizeof saved) == 0, "case %d", (int)i);
        CHECK(!memcmp(before[1], after[1], bytes[1]) && !memcmp(before[2], after[2], bytes[2]));
        if (status == WICK_OK) {
            CHECK_INT(report.loaded, cases[i].loaded);
            CHECK_INT(report.kept, cases[i].kept);
            CHECK_INT(report.unused, cases[i].unused);
            CHECK(wick_model_find(d.model, "optim.step") == NULL);
        }
        wick_checkpoint_free(&file);
        net_close(&d);
    }
    TEARDOWN;
}

TEST(one_state_that_differs_is_one_state) {
    SETUP;
    (void)wick_model_state(a.model, "more", WICK_ROLE_PARAM, WICK_F32, WICK_DIMS(2), wick_init_constant(1));
    REQUIRE(wick_save(a.model, in_folder("m"), NULL) == WICK_OK);
    CHECK_INT(load(&b, in_folder("m"), false), WICK_ERR_MISMATCH);
    CHECK_STR_HAS(wick_context_error(b.ctx), "1 state differs: more is only there");
    TEARDOWN;
}

TEST(a_network_that_was_not_recorded_is_named_as_the_reason) {
    SETUP;
    net c;
    REQUIRE(wick_save(a.model, in_folder("m"), NULL) == WICK_OK);
    REQUIRE(net_open(&c, 3, false));
    (void)wick_model_state(c.model, "optim.step", WICK_ROLE_OPTIM, WICK_I64, WICK_SCALAR, wick_init_constant(0));
    for (int with_optimizer = 0; with_optimizer < 2; with_optimizer++) {
        CHECK_INT(load(&c, in_folder("m"), with_optimizer), WICK_ERR_MISMATCH);
        CHECK_STR_HAS(wick_context_error(c.ctx), "record its network once");
        CHECK(strstr(wick_context_error(c.ctx), "fc1") == NULL);
    }
    net_close(&c);
    TEARDOWN;
}

TEST(another_dtype_is_a_mismatch) {
    net a, b;
    REQUIRE(folder_make() && net_open(&a, 1, false) && net_open(&b, 2, false));
    (void)wick_model_state(a.model, "w", WICK_ROLE_PARAM, WICK_F32, WICK_DIMS(2), wick_init_constant(1));
    (void)wick_model_state(b.model, "w", WICK_ROLE_PARAM, WICK_I32, WICK_DIMS(2), wick_init_constant(1));
    CHECK(wick_save(a.model, in_folder("t"), NULL) == WICK_OK);
    CHECK_INT(load(&b, in_folder("t"), false), WICK_ERR_MISMATCH);
    CHECK_STR_HAS(wick_context_error(b.ctx), "i32[2]");
    TEARDOWN;
}

/* ---- files of other programs ------------------------------------------------------------------------------------- */

TEST(weights_of_another_float_dtype_are_cast_and_a_resume_is_exact) {
    static const wick_dtype floats[] = {WICK_F32, WICK_F64, WICK_F16, WICK_BF16};
    static const double values[] = {1.0 / 3, -2049.5, 1e-6, 1e5, 1e-40, -0.0, INFINITY, 1 + 0x1p-11 + 0x1p-40};
    for (int from = 0; from < 4; from++)
        for (int to = 0; to < 4; to++) {
            net a, b;
            REQUIRE(folder_make() && net_open(&a, 1, false) && net_open(&b, 2, false));
            wick_tensor *w =
                wick_model_state(a.model, "w", WICK_ROLE_PARAM, floats[from], WICK_DIMS(2, 4), wick_init_constant(0));
            wick_tensor *there =
                wick_model_state(b.model, "w", WICK_ROLE_PARAM, floats[to], WICK_DIMS(2, 4), wick_init_constant(0));
            wick_tensor *x = wick_cast(wick_from(a.ctx, WICK_F64, WICK_DIMS(2, 4), values), floats[from]);
            CHECK(wick_assign(w, x) == WICK_OK && wick_save(a.model, in_folder("w"), NULL) == WICK_OK);
            CHECK_INT(load(&b, in_folder("w"), true), from == to ? WICK_OK : WICK_ERR_MISMATCH);
            CHECK_MSG(load(&b, in_folder("w"), false) == WICK_OK, "%s", wick_context_error(b.ctx));
            uint8_t want[64], is[64];
            const size_t size = 8 * wick_dtype_size(floats[to]);
            CHECK(wick_read(wick_cast(x, floats[to]), want, size) == WICK_OK);
            CHECK(wick_read(there, is, size) == WICK_OK && memcmp(want, is, size) == 0);
            TEARDOWN;
        }
}

/* "NAME" of the network has (i + strlen(NAME)) / 10 there, in a float of `bits` of precision. */
static void check_golden_state(net *n, const char *name, int bits) {
    wick_tensor *t = wick_model_find(n->model, name);
    const float *x = NULL;
    REQUIRE(t && wick_data(t, (const void **)&x) == WICK_OK);
    for (int64_t i = 0; i < wick_tensor_count(t); i++) {
        const double want = ((double)i + (double)strlen(name)) / 10;
        CHECK_MSG(fabs(x[i] - want) <= ldexp(want, -bits), "%s[%d] is %.9g", name, (int)i, x[i]);
    }
}

TEST(a_state_dict_of_pytorch_is_loaded_as_weights) {
    const char *path = WICK_SOURCE_DIR "/tests/golden/state_dict.safetensors";
    net n;
    REQUIRE(net_open(&n, 1, true));
    CHECK_MSG(load(&n, path, false) == WICK_OK, "%s", wick_context_error(n.ctx));
    static const char *const names[] = {"fc1.weight",      "fc1.bias",       "bn.weight",  "bn.bias",
                                        "bn.running_mean", "bn.running_var", "fc2.weight", "fc2.bias"};
    for (int i = 0; i < 8; i++) check_golden_state(&n, names[i], i < 2 ? 24 : i < 6 ? 11 : 8);
    CHECK_INT(load(&n, path, true), WICK_ERR_MISMATCH);
    CHECK_STR_HAS(wick_context_error(n.ctx), "bn.num_batches_tracked is only there");
    net_close(&n);
}

/* Names, dtypes and an order of creation that no other program would write them in. */
static bool golden_states(net *n, double scale) {
    static const struct {
        const char *name;
        wick_role role;
        wick_dtype dtype;
        int rank;
    } rows[] = {{"fc.weight", WICK_ROLE_PARAM, WICK_F32, 2},
                {"fc.bias", WICK_ROLE_PARAM, WICK_F32, 1},
                {"a.half", WICK_ROLE_PARAM, WICK_F16, 1},
                {"a.bytes", WICK_ROLE_BUFFER, WICK_U8, 1},
                {"none", WICK_ROLE_BUFFER, WICK_F64, 3},
                {"gr\xc3\xb6\xc3\x9f"
                 "e",
                 WICK_ROLE_PARAM, WICK_F64, 1},
                {"optim.step", WICK_ROLE_OPTIM, WICK_I64, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        wick_tensor *t = wick_model_state(n->model, rows[i].name, rows[i].role, rows[i].dtype, rows[i].rank,
                                          (const int64_t[]){3, 2, 0}, wick_init_constant(0));
        wick_tensor *x =
            wick_full(n->ctx, rows[i].dtype, rows[i].rank, (const int64_t[]){3, 2, 0}, scale * (double)(i + 1));
        if (wick_assign(t, x) != WICK_OK) return false;
    }
    return true;
}

TEST(a_checkpoint_rewritten_by_python_is_whole) {
    const char *const paths[] = {WICK_SOURCE_DIR "/tests/golden/checkpoint.safetensors",
                                 WICK_SOURCE_DIR "/tests/golden/rewritten.safetensors",
                                 WICK_SOURCE_DIR "/tests/golden/checkpoint2.safetensors",
                                 WICK_SOURCE_DIR "/tests/golden/rewritten2.safetensors"}; /* by wick.format */
    const char *golden =
        getenv("WICK_GOLDEN"); /* where to write the one of today's format, before the script rewrites it */
    net a, b;
    REQUIRE(net_open(&a, 77, false) && net_open(&b, 2, false));
    REQUIRE(golden_states(&a, 1) && golden_states(&b, 0));
    const wick_meta note = {"note", "kept"};
    if (golden) CHECK(wick_save(a.model, golden, &(wick_save_options){.n_meta = 1, .meta = &note}) == WICK_OK);
    char order[4][256] = {""};
    for (int k = 0; k < 4; k++) {
        REQUIRE(golden_states(&b, 0));
        wick_checkpoint *c;
        wick_status status = wick_checkpoint_open(b.ctx, paths[k], &c);
        CHECK_MSG(status == WICK_OK, "%s", wick_context_error(b.ctx));
        REQUIRE(status == WICK_OK);
        for (int i = 0; i < wick_checkpoint_count(c); i++) {
            strcat(order[k], wick_checkpoint_tensor(c, i).name);
            strcat(order[k], " ");
        }
        const char *text = wick_checkpoint_meta(c, "note");
        CHECK(text && strcmp(text, "kept") == 0);
        CHECK_MSG(wick_checkpoint_load(c, b.model, true) == WICK_OK, "%s", wick_context_error(b.ctx));
        wick_checkpoint_free(&c);
        CHECK_INT(check_same(&a, &b), 7);
        uint64_t seed, stream;
        wick_context_random(b.ctx, &seed, &stream);
        CHECK_INT(seed, 77);
    }
    for (int k = 0; k < 4; k += 2)
        CHECK_MSG(strcmp(order[k], order[k + 1]) != 0, "both are in the order %s",
                  order[k]); /* or nothing was tested */
    net_close(&a);
    net_close(&b);
}

/* ---- damaged files ----------------------------------------------------------------------------------------------- */

static uint8_t bytes[1 << 16];
static size_t read_bytes(const char *path) {
    FILE *f = fopen(path, "rb");
    size_t n = f ? fread(bytes, 1, sizeof bytes, f) : 0;
    if (f) fclose(f);
    return n;
}
static void write_bytes(const char *path, size_t n) {
    FILE *f = fopen(path, "wb");
    if (!f) return;
    fwrite(bytes, 1, n, f);
    fclose(f);
}

static wick_status open_only(net *n, const char *path) {
    wick_checkpoint *c;
    wick_status status = wick_checkpoint_open(n->ctx, path, &c);
    wick_checkpoint_free(&c);
    return status;
}

TEST(a_file_cut_anywhere_is_refused) {
    SETUP;
    REQUIRE(wick_save(a.model, in_folder("whole"), NULL) == WICK_OK);
    size_t n = read_bytes(in_folder("whole"));
    REQUIRE(n > 100 && n < sizeof bytes);
    for (size_t cut = 0; cut < n; cut += cut < 64 ? 1 : 37) {
        write_bytes(in_folder("cut"), cut);
        CHECK_MSG(open_only(&b, in_folder("cut")) != WICK_OK, "%zu of %zu bytes", cut, n);
    }
    write_bytes(in_folder("cut"), n - 1);
    CHECK(open_only(&b, in_folder("cut")) != WICK_OK);
    CHECK_STR_HAS(wick_context_error(b.ctx), "cut"); /* names the file */
    memset(bytes + n, 0, 16);
    write_bytes(in_folder("cut"), n + 8);
    CHECK(open_only(&b, in_folder("cut")) != WICK_OK); /* or too long */
    CHECK_INT(open_only(&b, in_folder("absent")), WICK_ERR_IO);
    TEARDOWN;
}

/* Whether the bytes would be read. */
static bool is_sound(size_t n) {
    wick_safetensors f;
    wick_msg msg;
    if (wick_safetensors_parse(&f, bytes, n, "file", &msg) != WICK_OK) return false;
    const bool sound = wick_seal_check(&f, "file", &msg) == WICK_OK;
    wick_safetensors_close(&f);
    return sound;
}

/* Every byte of the file, the length and the blanks behind the header too: as each of its bits, and as the bytes that
 * JSON might take for the same. */
TEST(no_changed_byte_is_accepted) {
    static const uint8_t as[] = {0, ' ', '\t', '\n', '\r', '"', '0', '1', 'A', 'f', 0xFF};
    SETUP;
    const wick_meta meta[] = {{"mean", "0.28604"}, {"note", "a \x1f control, \"quotes\"\nand \xc3\xa9"}};
    REQUIRE(wick_save(a.model, in_folder("whole"), &(wick_save_options){.n_meta = 2, .meta = meta}) == WICK_OK);
    const size_t n = read_bytes(in_folder("whole"));
    uint64_t header;
    memcpy(&header, bytes, 8);
    REQUIRE(8 + header < n && bytes[7 + header] == ' ' && is_sound(n)); /* there are blanks to change */
    for (size_t at = 0; at < n; at++) {
        const uint8_t was = bytes[at];
        for (size_t k = 0; k < 8 + sizeof as; k++) {
            bytes[at] = k < 8 ? (uint8_t)(was ^ 1 << k) : as[k - 8];
            CHECK_MSG(bytes[at] == was || !is_sound(n), "byte %zu: %02x became %02x", at, was, bytes[at]);
        }
        bytes[at] = was;
    }
    bytes[n - 1] ^= 1;
    write_bytes(in_folder("changed"), n);
    CHECK_INT(open_only(&b, in_folder("changed")), WICK_ERR_FORMAT);
    CHECK_STR_HAS(wick_context_error(b.ctx), "its checksum is");
    CHECK_STR_HAS(wick_context_error(b.ctx), "another program changed it");
    CHECK_STR_HAS(wick_context_error(b.ctx), "without the metadata wick.format and wick.crc32c");
    TEARDOWN;
}

/* The same of what the readers of named tensors are given, in one file and in shards. */
TEST(no_changed_byte_of_written_weights_is_accepted) {
    const char *const files[] = {"w.safetensors", "s-00001-of-00001.safetensors"}, *const opened[] = {
                                                                                       "w.safetensors",
                                                                                       "s.safetensors.index.json"};
    REQUIRE(folder_make());
    wick_context *ctx = NULL;
    REQUIRE(wick_context_new(&(wick_context_options){.threads = 1}, &ctx) == WICK_OK);
    const float values[] = {1, 2, 3};
    const wick_named_tensor named = {"layer.weight", wick_from(ctx, WICK_F32, WICK_DIMS(3), values)};
    const wick_meta meta[] = {{"wick.format", "1"},
                              {"wick.crc32c", "00000000"},
                              {"note", "kept"}}; /* as of an older file that is converted */
    for (int i = 0; i < 2; i++) {
        REQUIRE(wick_weights_write(ctx, in_folder(opened[i]), 1, &named,
                                   &(wick_weights_write_options){.n_meta = 3, .meta = meta}) == WICK_OK);
        const size_t n = read_bytes(in_folder(files[i]));
        for (size_t at = 0; at <= n; at++) {
            wick_weights *w = NULL;
            if (at < n) bytes[at] ^= 4;
            write_bytes(in_folder(files[i]), n);
            const wick_status status = wick_weights_open(ctx, in_folder(opened[i]), &w);
            CHECK_MSG((status == WICK_OK) == (at == n), "%s: byte %zu of %zu: %s", files[i], at, n,
                      wick_context_error(ctx));
            wick_weights_free(&w);
            if (at < n) bytes[at] ^= 4;
        }
    }
    wick_context_free(&ctx);
    folder_remove();
}

/* Puts `to` over `from` in the header. */
static void patched(const char *from, const char *to) {
    size_t n = read_bytes(in_folder("whole")), len = strlen(from);
    for (size_t i = 0; i + len <= n; i++)
        if (memcmp(bytes + i, from, len) == 0) {
            memcpy(bytes + i, to, strlen(to));
            write_bytes(in_folder("patched"), n);
            return;
        }
    CHECK_MSG(false, "no %s in the header", from);
}

TEST(a_newer_format_is_refused_and_a_changed_file_needs_no_checksum) {
    SETUP;
    REQUIRE(wick_save(a.model, in_folder("whole"), NULL) == WICK_OK);
    patched("\"wick.format\":\"2\"", "\"wick.format\":\"3\"");
    CHECK_INT(open_only(&b, in_folder("patched")), WICK_ERR_VERSION);
    CHECK_STR_HAS(wick_context_error(b.ctx), "patched");
    static const char *const damaged[][2] = {{"\"wick.format\":\"2\"", "\"wick.format\":\"x\""},
                                             {"\"wick.format\":\"2\"", "\"wick.format\":\"1\""},
                                             {"wick.crc32c\":\"", "wick.crc32c\":\"x"},
                                             {"wick.crc32c", "wick.crcXXX"},
                                             {"wick.format", "were.format"},
                                             {"optim.m.fc1.weight", "optim.m.fc3.weight"},
                                             {"wick.seed", "wick.sXXX"}};
    for (size_t i = 0; i < sizeof damaged / sizeof *damaged; i++) {
        patched(damaged[i][0], damaged[i][1]);
        CHECK_MSG(open_only(&b, in_folder("patched")) == WICK_ERR_FORMAT, "%s", damaged[i][1]);
    }
    patched("wick.format", "were.format");
    rename(in_folder("patched"), in_folder("whole"));
    patched("wick.crc32c", "were.crc32c"); /* another program's file */
    CHECK(load(&b, in_folder("patched"), true) == WICK_OK);
    TEARDOWN;
}

/* Format 1: a checksum of the tensors, or none where somebody took it away. */
TEST(files_of_the_older_format_are_read) {
    REQUIRE(folder_make());
    net n;
    REQUIRE(net_open(&n, 1, false) && golden_states(&n, 0));
    const char *const golden = WICK_SOURCE_DIR "/tests/golden/checkpoint.safetensors";
    const size_t size = read_bytes(golden);
    uint64_t header;
    memcpy(&header, bytes, 8);
    REQUIRE(size > 8 + header);
    write_bytes(in_folder("whole"), size);
    CHECK_INT(load(&n, in_folder("whole"), true), WICK_OK);
    patched("wick.crc32c", "wick.crcXXX");
    CHECK_INT(load(&n, in_folder("patched"), true), WICK_OK);
    patched("wick.seed", "wick.sXXX");
    CHECK_INT(open_only(&n, in_folder("patched")), WICK_OK);
    CHECK_INT(load(&n, in_folder("patched"), true), WICK_ERR_FORMAT);
    read_bytes(golden);
    bytes[8 + header] ^= 1;
    write_bytes(in_folder("patched"), size);
    CHECK_INT(open_only(&n, in_folder("patched")), WICK_ERR_FORMAT);
    net_close(&n);
    folder_remove();
}

/* ---- failing to write -------------------------------------------------------------------------------------------- */

/* A safetensors file of two f32: a parameter "w", and one of that name. */
static bool write_two(const char *path, const char *name) {
    char header[1024];
    int length = snprintf(header, sizeof header,
                          "{\"w\": {\"dtype\": \"F32\", \"shape\": [1], \"data_offsets\": [0, 4]}, "
                          "\"%s\": {\"dtype\": \"F32\", \"shape\": [1], \"data_offsets\": [4, 8]}}",
                          name);
    uint64_t size = (uint64_t)length;
    FILE *f = fopen(path, "wb");
    if (!f) return false;
    bool ok = fwrite(&size, sizeof size, 1, f) == 1 && fputs(header, f) >= 0 && fwrite("\0\0\0?\0\0\0?", 8, 1, f) == 1;
    return fclose(f) == 0 && ok;
}

TEST(a_state_that_no_model_can_have_is_the_fault_of_the_file) {
    char long_name[400] = "optim.", shown[400];
    memset(long_name + 6, 'x', 350);
    static const char newline[] = "optim.x\\n\\u001b[1m";
    const char *const names[] = {newline, long_name};
    REQUIRE(folder_make());
    for (int i = 0; i < 2; i++) {
        net n;
        REQUIRE(net_open(&n, 1, false) && write_two(in_folder("x"), names[i]));
        wick_model_state(n.model, "w", WICK_ROLE_PARAM, WICK_F32, WICK_DIMS(1), wick_init_constant(0));
        CHECK_INT(load(&n, in_folder("x"), true), WICK_ERR_FORMAT);
        snprintf(shown, sizeof shown, "%s", wick_context_error(n.ctx));
        CHECK_STR_HAS(shown, i == 0 ? "optim.x??[1m" : "optim.xxx");
        CHECK_INT(load(&n, in_folder("x"), false), WICK_OK);
        net_close(&n);
    }
    folder_remove();
}

TEST(an_unwritable_folder_is_an_error_and_the_old_file_stays) {
    SETUP;
    REQUIRE(wick_save(a.model, in_folder("keep"), NULL) == WICK_OK);
    CHECK_INT(wick_save(a.model, in_folder("no/such/folder"), NULL), WICK_ERR_IO);
    CHECK_STR_HAS(wick_context_error(a.ctx), "no/such/folder");
    CHECK_INT(wick_save(a.model, folder, NULL), WICK_ERR_IO); /* a folder itself */
    CHECK(wick_save(a.model, "", NULL) != WICK_OK);
    CHECK(wick_save(a.model, NULL, NULL) != WICK_OK);
    CHECK(load(&b, in_folder("keep"), false) == WICK_OK);
    if (geteuid() != 0) {
        chmod(folder, 0555);
        CHECK_INT(wick_save(a.model, in_folder("keep"), &(wick_save_options){.keep_previous = true}), WICK_ERR_IO);
        chmod(folder, 0755);
        CHECK(load(&b, in_folder("keep"), false) == WICK_OK);
    }
    TEARDOWN;
}

TEST(bad_metadata_is_refused) {
    SETUP;
    const wick_meta bad[] = {{"wick.format", "9"}, {NULL, "x"}, {"k", NULL}, {"", "x"}, {"twice", "1"}};
    for (int i = 0; i < 4; i++)
        CHECK_INT(wick_save(a.model, in_folder("x"), &(wick_save_options){.n_meta = 1, .meta = &bad[i]}),
                  WICK_ERR_INVALID);
    const wick_meta twice[] = {bad[4], bad[4]};
    CHECK_INT(wick_save(a.model, in_folder("x"), &(wick_save_options){.n_meta = 2, .meta = twice}), WICK_ERR_INVALID);
    CHECK(access(in_folder("x"), F_OK) != 0);
    TEARDOWN;
}

static void check_folder(const char *names) {
    char list[4096] = "", command[128];
    snprintf(command, sizeof command, "LC_ALL=C ls -A '%s'", folder);
    FILE *ls = popen(command, "r");
    REQUIRE(ls != NULL);
    size_t n = fread(list, 1, sizeof list - 1, ls);
    list[n] = 0;
    pclose(ls);
    CHECK_MSG(strcmp(list, names) == 0, "there are: %s", list);
}

TEST(the_former_file_is_kept_when_asked) {
    SETUP;
    const wick_save_options keep = {.keep_previous = true};
    const char *path = in_folder("run");
    net c;
    REQUIRE(net_open(&c, 4, true));
    CHECK_MSG(wick_save(a.model, path, &keep) == WICK_OK, "%s", wick_context_error(a.ctx)); /* no former file yet */
    CHECK(access(in_folder("run.prev"), F_OK) != 0);
    CHECK(load(&c, path, true) == WICK_OK); /* c: the first state */
    for (int round = 0; round < 2; round++) {
        CHECK(load(&b, path, true) == WICK_OK); /* b: the state before this round */
        CHECK(net_train(&a, 1));
        CHECK_MSG(wick_save(a.model, path, &keep) == WICK_OK, "%s", wick_context_error(a.ctx));
        CHECK(load(&c, in_folder("run.prev"), true) == WICK_OK);
        check_same(&b, &c);
        CHECK(load(&c, path, true) == WICK_OK);
        check_same(&a, &c);
    }
    CHECK(wick_save(a.model, path, NULL) == WICK_OK); /* not asked: the older one stays as it is */
    CHECK(load(&c, in_folder("run.prev"), true) == WICK_OK);
    check_same(&b, &c);
    check_folder("run\nrun.prev\n");
    net_close(&c);
    TEARDOWN;
}

TEST(a_crash_at_any_moment_leaves_a_whole_checkpoint) {
    SETUP;
    const char *path = in_folder("run");
    REQUIRE(wick_save(a.model, path, NULL) == WICK_OK);
    for (int round = 0; round < 30; round++) {
        fflush(stdout);
        pid_t child = fork();
        REQUIRE(child >= 0);
        if (child == 0)
            for (;;)
                if (wick_save(a.model, path, &(wick_save_options){.keep_previous = true}) != WICK_OK) _exit(1);
        usleep((useconds_t)test_rand_int(500, 20000));
        kill(child, SIGKILL);
        int state;
        CHECK(waitpid(child, &state, 0) == child && WIFSIGNALED(state));
        wick_status first = load(&b, path, true);
        if (first != WICK_OK)
            CHECK_MSG(load(&b, in_folder("run.prev"), true) == WICK_OK, "%s", wick_context_error(b.ctx));
        check_same(&a, &b);
    }
    CHECK(wick_save(a.model, path, &(wick_save_options){.keep_previous = true}) == WICK_OK);
    check_folder("run\nrun.prev\n");
    TEARDOWN;
}

TEST(a_save_removes_temporaries_of_dead_processes_only) {
    SETUP;
    pid_t dead = fork();
    REQUIRE(dead >= 0);
    if (dead == 0) _exit(0);
    CHECK(waitpid(dead, NULL, 0) == dead);
    static const char *const gone[] = {"run.tmp-%d-0", "run.tmp-%d-17", "run.prev.tmp-%d-3"};
    static const char *const stay[] = {"run.prev-tmp-%d-3", "run.tmp-%d",     "run.tmp-%d-",  "run.tmp-%d-1x",
                                       "run.tmp-x%d-1",     "other.tmp-%d-1", "xrun.tmp-%d-1"};
    char name[64];
    for (int i = 0; i < 3; i++) snprintf(name, sizeof name, gone[i], (int)dead), write_bytes(in_folder(name), 1);
    for (int i = 0; i < 7; i++) snprintf(name, sizeof name, stay[i], (int)dead), write_bytes(in_folder(name), 1);
    snprintf(name, sizeof name, "run.tmp-%d-9", (int)getppid()); /* alive */
    write_bytes(in_folder(name), 1);
    CHECK(access(in_folder(name), F_OK) == 0);
    CHECK_INT(wick_save(a.model, in_folder("run/x"), NULL), WICK_ERR_IO); /* a save that fails removes nothing */
    CHECK(wick_save(a.model, in_folder("run"), NULL) == WICK_OK);
    CHECK(access(in_folder(name), F_OK) == 0);
    for (int i = 0; i < 3; i++) {
        snprintf(name, sizeof name, gone[i], (int)dead);
        CHECK_MSG(access(in_folder(name), F_OK) != 0, "%s", name);
    }
    for (int i = 0; i < 7; i++) {
        snprintf(name, sizeof name, stay[i], (int)dead);
        CHECK_MSG(access(in_folder(name), F_OK) == 0, "%s", name);
    }
    TEARDOWN;
}

TEST(running_out_of_memory_is_an_error_and_loses_nothing) {
    counting memory = {.fail_at = -1};
    const wick_allocator allocator = counting_allocator(&memory);
    REQUIRE(folder_make());
    net n = {0};
    wick_optim_options options = {.kind = WICK_ADAM};
    REQUIRE(wick_context_new(&(wick_context_options){.threads = 1, .allocator = &allocator}, &n.ctx) == WICK_OK);
    REQUIRE(wick_model_new(n.ctx, &n.model) == WICK_OK &&
            wick_optimizer_new(n.model, &options, &n.optimizer) == WICK_OK);
    REQUIRE(net_train(&n, 1));
    const char *path = in_folder("run");
    REQUIRE(wick_save(n.model, path, NULL) == WICK_OK);
    for (int what = 0; what < 2; what++) {
        int failed = 0;
        bool ok = false;
        for (int limit = 0; limit < 1000 && !ok; limit++) {
            memory.fail_at = memory.calls + limit;
            wick_status status =
                what ? load(&n, path, true) : wick_save(n.model, path, &(wick_save_options){.keep_previous = true});
            memory.fail_at = -1;
            ok = status == WICK_OK;
            failed += !ok;
            if (!ok) CHECK_MSG(status == WICK_ERR_NOMEM, "limit %d: %s", limit, wick_context_error(n.ctx));
            CHECK(open_only(&n, path) == WICK_OK);
        }
        CHECK_MSG(ok && failed > 0, "%d failed", failed);
    }
    net_close(&n);
    CHECK_INT(memory.live, 0);
    folder_remove();
}

int main(int argc, char **argv) { return test_main(argc, argv); }
