/* Every reader of a path, given what is no file of its kind, or one that changes while it is read: an error that names
 * the path, and no waiting. */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <unistd.h>

#include "data/formats/idx.h"
#include "io/safetensors.h"
#include "scratch.h"

static bool set_up(void) { return scratch_context(&(wick_context_options){.threads = 1}); }

/* ---- readers: the status, and the text of an error in the context ------------------------------------------------ */

static wick_status of_tensor(wick_tensor *t) {
    const char *text = "";
    const wick_status status = wick_tensor_error(t, &text);
    return status == WICK_OK ? status : wick_context_fail(ctx, status, "%s", text);
}
static wick_status npy(const char *path) { return of_tensor(wick_npy_read(ctx, path)); }
static wick_status map_file(const char *path) { return of_tensor(wick_map_file(ctx, path, 0, WICK_F32, WICK_DIMS(1))); }
static wick_status weights(const char *path) {
    wick_weights *w;
    const wick_status status = wick_weights_open(ctx, path, &w);
    wick_weights_free(&w);
    return status;
}
static wick_status checkpoint(const char *path) {
    wick_checkpoint *c;
    const wick_status status = wick_checkpoint_open(ctx, path, &c);
    wick_checkpoint_free(&c);
    return status;
}
static wick_status onnx(const char *path) {
    wick_onnx *m;
    const wick_status status = wick_onnx_open(ctx, path, NULL, &m);
    wick_onnx_free(&m);
    return status;
}
static wick_status image(const char *path) {
    wick_image *m;
    const wick_status status = wick_image_open(ctx, path, 0, &m);
    wick_image_free(&m);
    return status;
}
static wick_status audio(const char *path) {
    wick_audio *a;
    const wick_status status = wick_audio_open(ctx, path, 0, &a);
    wick_audio_free(&a);
    return status;
}
static wick_status idx(const char *path) {
    wick_idx x;
    wick_msg msg = {0};
    const wick_status status = wick_idx_read(&x, path, NULL, &msg);
    wick_idx_free(&x);
    return status == WICK_OK ? status : wick_context_fail(ctx, status, "%s", msg.text);
}
static wick_status safetensors(const char *path) {
    wick_safetensors f;
    wick_msg msg = {0};
    const wick_status status = wick_safetensors_open(&f, path, &msg);
    if (status == WICK_OK) wick_safetensors_close(&f);
    return status == WICK_OK ? status : wick_context_fail(ctx, status, "%s", msg.text);
}
static const struct {
    const char *name;
    wick_status (*read)(const char *path);
} readers[] = {
    {"npy", npy},     {"map_file", map_file}, {"weights", weights}, {"checkpoint", checkpoint},  {"onnx", onnx},
    {"image", image}, {"audio", audio},       {"idx", idx},         {"safetensors", safetensors}};

TEST(no_reader_takes_or_waits_for_what_is_no_file) {
    REQUIRE(set_up());
    REQUIRE(mkdir(at("folder"), 0755) == 0 && mkfifo(at("fifo"), 0644) == 0 && put(at("empty"), "", 0) &&
            put(at("byte"), "x", 1));
    alarm(60); /* a reader that waits ends the program */
    const char *const paths[] = {at("none"),  at("folder"), at("fifo"), "/dev/zero",
                                 "/dev/null", at("empty"),  at("byte")};
    for (size_t i = 0; i < WICK_COUNTOF(readers); i++)
        for (size_t k = 0; k < WICK_COUNTOF(paths); k++) {
            wick_scope *scope = wick_scope_open(ctx);
            const wick_status status = readers[i].read(paths[k]);
            CHECK_MSG(status == (k < 5 ? WICK_ERR_IO : WICK_ERR_FORMAT), "%s of %s: %s: %s", readers[i].name, paths[k],
                      wick_status_name(status), wick_context_error(ctx));
            CHECK_STR_HAS(wick_context_error(ctx), paths[k]);
            wick_scope_close(&scope);
            wick_context_clear_error(ctx);
        }
    alarm(0);
    test_count("readers given what is no file of theirs", (long)(WICK_COUNTOF(readers) * WICK_COUNTOF(paths)));
    wick_context_free(&ctx);
}

TEST(sets_of_pipes_are_refused) {
    REQUIRE(set_up());
    wick_dataset *d;
    alarm(60);
    REQUIRE(mkdir(at("idx"), 0755) == 0 && mkfifo(at("idx/train-images-idx3-ubyte"), 0644) == 0 &&
            mkfifo(at("idx/train-labels-idx1-ubyte"), 0644) == 0);
    CHECK_INT(wick_dataset_open(ctx, at("idx"), "train", &d), WICK_ERR_IO);
    CHECK_STR_HAS(wick_context_error(ctx), "idx/train-images-idx3-ubyte: cannot read: not a regular file");
    REQUIRE(mkdir(at("tar"), 0755) == 0 && mkfifo(at("tar/train.tar"), 0644) == 0);
    CHECK_INT(wick_dataset_open(ctx, at("tar"), "train", &d), WICK_ERR_IO);
    CHECK_STR_HAS(wick_context_error(ctx), "tar/train.tar: cannot read: not a regular file");
    static const char index[] = "{\"weight_map\": {\"x\": \"w.safetensors\"}}";
    REQUIRE(mkfifo(at("w.safetensors"), 0644) == 0 && put(at("w.safetensors.index.json"), index, sizeof index - 1));
    CHECK_INT(weights(at("w.safetensors.index.json")), WICK_ERR_FORMAT);
    CHECK_STR_HAS(wick_context_error(ctx), "no regular file");
    alarm(0);
    wick_context_free(&ctx);
}

/* ---- files that become shorter and longer again all the time ----------------------------------------------------- */

enum { LARGE = 1 << 20 };
static atomic_bool enough;
static void *shrink(void *path) {
    while (!enough)
        if (truncate(path, 100) != 0 || truncate(path, LARGE) != 0) break;
    return NULL;
}
static void read_while_it_changes(wick_status (*read)(const char *), const char *path, const void *head, size_t n) {
    static uint8_t file[LARGE];
    memset(file, 0, sizeof file);
    memcpy(file, head, n);
    REQUIRE(put(path, file, sizeof file));
    pthread_t other;
    enough = false;
    REQUIRE(pthread_create(&other, NULL, shrink, (void *)(uintptr_t)path) == 0);
    for (int i = 0; i < 300; i++)
        if (read(path) != WICK_OK) CHECK_STR_HAS(wick_context_error(ctx), path);
    enough = true;
    pthread_join(other, NULL);
}
TEST(what_is_decoded_at_once_may_be_cut_off_meanwhile) {
    REQUIRE(set_up());
    /* IDX of 2^20 - 8 bytes; a BMP of 24 bits, 512 x 682; a WAV whose samples are all of the rest. */
    const uint8_t numbers[8] = {0, 0, 8, 1, 0, 15, 255, 248};
    const uint8_t picture[54] = {'B', 'M', [10] = 54, [14] = 40, [18] = 0, 2, 0, 0, 170, 2, 0, 0, 1, 0, 24};
    const uint8_t sound[44] = {'R', 'I', 'F', 'F', 0,  0, 0,   0,   'W', 'A', 'V', 'E', 'f', 'm', 't',
                               ' ', 16,  0,   0,   0,  1, 0,   1,   0,   64,  31,  0,   0,   128, 62,
                               0,   0,   2,   0,   16, 0, 'd', 'a', 't', 'a', 255, 255, 255, 255};
    read_while_it_changes(idx, at("numbers"), numbers, sizeof numbers);
    read_while_it_changes(image, at("picture.bmp"), picture, sizeof picture);
    read_while_it_changes(audio, at("sound.wav"), sound, sizeof sound);
    wick_context_free(&ctx);
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", folder);
    CHECK_INT(system(command), 0);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
