/* Transforms of recordings and sensors' readings: against NumPy, SciPy and PyTorch, from texts right and wrong, without
 * chance, in a loader. */
#include "io/safetensors.h"

#include "base/counting_alloc.h"
#include "context.h"
#include "test.h"
#include "wick/wick.h"

static bool open_goldens(wick_safetensors *file) {
    wick_msg msg;
    const wick_status status = wick_safetensors_open(file, WICK_SOURCE_DIR "/tests/golden/signals.safetensors", &msg);
    CHECK_MSG(status == WICK_OK, "%s", msg.text);
    return status == WICK_OK;
}

/* Floats of files lie anywhere. */
static float *copy_of(const wick_safetensors_tensor *t) {
    float *x = wick_alloc(NULL, t->bytes);
    if (x) memcpy(x, t->data, t->bytes);
    return x;
}

/* Each case as samples of a fixed and of a varying length, on every tier. */
TEST(transforms_give_what_numpy_scipy_and_pytorch_give) {
    wick_safetensors file;
    wick_context *ctx = new_context(.threads = 1);
    REQUIRE(ctx && open_goldens(&file));
    const wick_safetensors_tensor *noises = wick_safetensors_find(&file, "noise");
    float *noise = copy_of(noises);
    wick_dataset *noise_set;
    const wick_spec noise_field = {"audio", WICK_F32, 1, {noises->dims[1]}};
    REQUIRE(wick_dataset_of_arrays(ctx, noises->dims[0], 1, &noise_field, (const void *[]){noise}, -1, 0, &noise_set) ==
            WICK_OK);
    for (size_t i = 0; i < (size_t)file.count; i++) {
        const wick_safetensors_tensor *in = &file.tensors[i];
        char text[200], name[240];
        unsigned long long seed, epoch;
        long long sample, rate;
        const char *bar = strchr(in->name, '|');
        if (!strstr(in->name, "/in")) continue;
        REQUIRE(bar && sscanf(bar, "|%lld|%llu|%llu|%lld", &rate, &seed, &epoch, &sample) == 4);
        snprintf(text, sizeof text, "%.*s", (int)(bar - in->name), in->name);
        snprintf(name, sizeof name, "%.*s/out", (int)(strlen(in->name) - 3), in->name);
        const wick_safetensors_tensor *want = wick_safetensors_find(&file, name);
        REQUIRE(want);
        float *x = copy_of(in), *expected = copy_of(want), *out = wick_alloc(NULL, want->bytes);
        for (int varies = 0; varies < 2; varies++) {
            wick_spec spec = {"x", WICK_F32, in->rank, {varies ? -1 : in->dims[0], in->rank > 1 ? in->dims[1] : 0}};
            wick_transform *t;
            const wick_transform_options options = {.rate = (double)rate, .noise = text[0] == '+' ? noise_set : NULL};
            CHECK_MSG(wick_transform_new(ctx, text + (text[0] == '+'), &options, &spec, &t) == WICK_OK, "%s",
                      wick_context_error(ctx));
            REQUIRE(t);
            const wick_spec *made = wick_transform_output(t);
            CHECK_MSG(made->rank == want->rank && wick_transform_rows(t, in->dims[0]) == want->dims[0] &&
                          (want->rank == 1 || made->dims[1] == want->dims[1]),
                      "%s", in->name);
            CHECK(made->dims[0] == (varies && !strstr(text, "fit=") && !strstr(text, "window=") ? -1 : want->dims[0]));
            for (int tier = 0; tier < WICK_TIER_COUNT; tier++) {
                if (!wick_tier_force((wick_tier)tier)) continue;
                /* A Fourier transform is planned for its tier. */
                wick_transform *own;
                wick_fault fault;
                REQUIRE(wick_transform_new(ctx, text + (text[0] == '+'), &options, &spec, &own) == WICK_OK);
                void *bench = wick_alloc(NULL, wick_transform_scratch(own, in->dims[0]));
                memset(bench, 0xFF, wick_transform_scratch(own, in->dims[0]));
                memset(out, 0xFF, want->bytes); /* NaN, where something is read that was not written */
                CHECK(wick_transform_run(own, seed, epoch, sample, x, in->dims[0], out, bench, &fault) == WICK_OK);
                double most = 0;
                for (size_t k = 0; k < want->bytes / sizeof(float); k++) {
                    const double off = fabs((double)out[k] - (double)expected[k]) / fmax(1, fabs((double)expected[k]));
                    most = off <= most ? most : off; /* NaN stays */
                }
                CHECK_MSG(most < (strstr(text, "logmel") || strstr(text, "mfcc") ? 3e-5 : 1e-6),
                          "%s, tier %s: off by %g", in->name, wick_tier_name((wick_tier)tier), most);
                test_count("signals transformed on a tier", 1);
                wick_release(NULL, bench, wick_transform_scratch(own, in->dims[0]));
                wick_transform_free(&own);
            }
            (void)wick_tier_force(wick_tier_best());
            wick_transform_free(&t);
        }
        wick_release(NULL, x, in->bytes), wick_release(NULL, expected, want->bytes),
            wick_release(NULL, out, want->bytes);
    }
    wick_dataset_free(&noise_set);
    wick_release(NULL, noise, noises->bytes);
    wick_safetensors_close(&file);
    wick_context_free(&ctx);
}

/* The ops, whose gradients exist, and the transform are one definition. */
TEST(log_mel_is_that_of_the_op) {
    enum { N = 3000 };
    static float x[N], out[64 * 40];
    wick_context *ctx = new_context(.threads = 1);
    wick_transform *t;
    wick_fault fault;
    for (int i = 0; i < N; i++) x[i] = (float)test_rand_real(-0.5, 0.5);
    const wick_spec spec = {"audio", WICK_F32, 1, {N}};
    for (int mfcc = 0; mfcc < 2; mfcc++) {
        const wick_mel_options o = {.stft = {.n_fft = 200, .hop = 80},
                                    .sample_rate = 8000,
                                    .n_mels = 40,
                                    .n_mfcc = 13,
                                    .log = mfcc ? WICK_LOG_DB : WICK_LOG_NATURAL};
        REQUIRE(wick_transform_new(ctx, mfcc ? "mfcc=13:40:200:80" : "logmel=40:200:80",
                                   &(wick_transform_options){.rate = 8000}, &spec, &t) == WICK_OK);
        void *scratch = wick_alloc(NULL, wick_transform_scratch(t, N));
        CHECK(wick_transform_run(t, 1, 2, 3, x, N, out, scratch, &fault) == WICK_OK);
        wick_tensor *recording = wick_from(ctx, WICK_F32, 1, &spec.dims[0], x),
                    *y = mfcc ? wick_mfcc(recording, &o) : wick_log_mel(recording, &o);
        const void *data;
        REQUIRE(wick_data(y, &data) == WICK_OK);
        const int64_t columns = wick_tensor_dim(y, 0), rows = wick_tensor_dim(y, 1);
        CHECK(rows == wick_transform_output(t)->dims[0] && columns == wick_transform_output(t)->dims[1]);
        for (int64_t r = 0; r < rows; r++)
            for (int64_t c = 0; c < columns; c++)
                CHECK(fabsf(((const float *)data)[c * rows + r] - out[r * columns + c]) <
                      1e-4f * fmaxf(1, fabsf(out[r * columns + c])));
        wick_release(NULL, scratch, wick_transform_scratch(t, N));
        wick_transform_free(&t);
    }
    wick_context_free(&ctx);
}

TEST(texts_that_make_no_sense_are_refused_with_their_column) {
    static const struct {
        const char *text, *why;
        int rank;
    } bad[] = {
        {"", "column 1", 1},
        {"flip", "none of resample", 1},
        {"gain", "column 1", 1},
        {"gain=3:1", "LOW:HIGH", 1},
        {"noise=3", "column 1", 1},
        {"noise=9:3", "LOW:HIGH", 1},
        {"noise=3:9:2", "probability", 1},
        {"shift=2", "0 to 1", 1},
        {"fit=0", "whole number", 1},
        {"window=2.5", "whole number", 1},
        {"window=1e9", "whole number", 1},
        {"jitter=-1", "from 0", 1},
        {"rotate", "threes", 1},
        {"rotate=200", "180", 2},
        {"resample=10", "1000 to", 1},
        {"resample=8000", "for recordings", 2},
        {"logmel=40", "for recordings", 2},
        {"resample=8000,resample=9000", "twice", 1},
        {"logmel=0", "512 mels", 1},
        {"logmel=40:1", "512 mels", 1},
        {"logmel=40:200:0", "512 mels", 1},
        {"mfcc=50", "no more coefficients", 1},
        {"mfcc=13:12", "no more coefficients", 1},
        {"logmel=4,logmel=4", "before the one", 1},
        {"logmel=4,gain=1", "before the one", 1},
        {"specaugment=1:1", "behind logmel", 1},
        {"logmel=4,specaugment=5:1", "not above", 1},
        {"logmel=4,specaugment=1:1:16", "15 masks", 1},
        {"normalise=1/0", "above 0", 1},
        {"normalise=1:2/1:2", "means/deviations", 1},
        {"normalise=1", "means/deviations", 1},
        {"gain=1,", "column 8", 1},
        {"gain= 1", "column 1", 1},
        {"gain=nan", "column 1", 1},
        {"gain=1,gain=1,gain=1,gain=1,gain=1,gain=1,gain=1,gain=1,gain=1,gain=1,gain=1,gain=1,gain=1,gain=1,gain=1,"
         "gain=1,gain=1",
         "16 steps", 1},
    };
    wick_context *ctx = new_context(.threads = 1);
    wick_transform *t;
    REQUIRE(ctx);
    for (size_t i = 0; i < WICK_COUNTOF(bad); i++) {
        const wick_spec spec = {"x", WICK_F32, bad[i].rank, {-1, 6}};
        CHECK_MSG(wick_transform_new(ctx, bad[i].text, NULL, &spec, &t) == WICK_ERR_INVALID && !t, "\"%s\"",
                  bad[i].text);
        CHECK_STR_HAS(wick_context_error(ctx), bad[i].why);
    }
    const wick_spec odd[] = {{"x", WICK_F32, 0, {0}},     {"x", WICK_F32, 3, {4, 4, 4}}, {"x", WICK_F32, 1, {0}},
                             {"x", WICK_F32, 2, {4, -1}}, {"x", WICK_F32, 2, {4, 5000}}, {"x", WICK_F64, 1, {4}}};
    for (size_t i = 0; i < WICK_COUNTOF(odd); i++)
        CHECK_INT(wick_transform_new(ctx, "gain=1", NULL, &odd[i], &t), WICK_ERR_INVALID);
    const wick_spec good = {"x", WICK_F32, 1, {-1}};
    CHECK_INT(wick_transform_new(ctx, "gain=1", &(wick_transform_options){.rate = 10}, &good, &t), WICK_ERR_INVALID);
    CHECK_INT(wick_transform_new(ctx, "gain=1", &(wick_transform_options){.rate = NAN}, &good, &t), WICK_ERR_INVALID);
    wick_context_free(&ctx);
}

TEST(any_text_and_any_length_is_refused_or_gives_numbers) {
    static const char *const parts[] = {
        "resample=", "gain=", "noise=",       "shift=",    "fit=", "window=", "jitter=", "scale=", "rotate",
        "logmel=",   "mfcc=", "specaugment=", "normalise", ",",    ",",       "=",       ":",      "/",
        "1",         "2",     "0.5",          "8",         "20",   "8000",    "-",       "e",      " "};
    static float x[100 * 3];
    wick_context *ctx = new_context(.threads = 1);
    REQUIRE(ctx);
    int good = 0;
    for (int i = 0; i < 300; i++) x[i] = (float)test_rand_real(0, 1);
    for (int i = 0; i < 20000; i++) {
        char text[256] = "";
        for (int k = test_rand_int(0, 10); k > 0; k--)
            strcat(text, parts[test_rand_int(0, (int)WICK_COUNTOF(parts) - 1)]);
        const wick_spec in = {"x", WICK_F32, test_rand_int(1, 2), {-1, 3}};
        wick_transform *t;
        if (wick_transform_new(ctx, text, NULL, &in, &t) != WICK_OK) continue;
        good++;
        const int64_t rows = test_rand_int(0, 100), made = wick_transform_rows(t, rows),
                      columns = wick_transform_output(t)->rank == 2 ? wick_transform_output(t)->dims[1] : 1;
        const size_t room = wick_transform_scratch(t, rows), bytes = (size_t)(made * columns) * sizeof(float);
        if (made >= 0 && bytes < 1 << 20 && room && room < 1 << 24) {
            float *out = wick_alloc(NULL, bytes + 1);
            void *scratch = wick_alloc(NULL, room);
            wick_fault fault;
            CHECK(wick_transform_run(t, 1, 2, i, x, rows, out, scratch, &fault) == WICK_OK);
            for (size_t k = 0; k < bytes / sizeof *out; k++) REQUIRE(!isnan(out[k]));
            wick_release(NULL, out, bytes + 1), wick_release(NULL, scratch, room);
        }
        wick_transform_free(&t);
    }
    CHECK_MSG(good > 100, "%d", good);
    wick_context_free(&ctx);
}

/* With still the same text says what testing and using do. */
TEST(without_chance_nothing_is_drawn) {
    static float x[90], a[90], b[90];
    static uint8_t pixels[12 * 10];
    static float p[8 * 6], q[8 * 6];
    wick_context *ctx = new_context(.threads = 1);
    wick_fault fault;
    for (int i = 0; i < 90; i++) x[i] = (float)i;
    for (int i = 0; i < 120; i++) pixels[i] = (uint8_t)(i * 2);
    static const char *const texts[][2] = {
        {"gain=-9:9,noise=0:1,shift=0.5,window=10,jitter=1,scale=1,rotate", "fit=20"}, {"gain=6,window=30", "gain=6"}};
    for (int i = 0; i < 2; i++) {
        const wick_spec spec = {"x", WICK_F32, 2, {i ? 30 : 20, 3}};
        wick_transform *still, *plain;
        REQUIRE(wick_transform_new(ctx, texts[i][0], &(wick_transform_options){.still = true}, &spec, &still) ==
                    WICK_OK &&
                wick_transform_new(ctx, texts[i][1], NULL, &spec, &plain) == WICK_OK);
        void *scratch = wick_alloc(NULL, wick_transform_scratch(plain, 30));
        CHECK(wick_transform_run(still, 1, 2, 3, x, spec.dims[0], a, scratch, &fault) == WICK_OK &&
              wick_transform_run(plain, 4, 5, 6, x, spec.dims[0], b, scratch, &fault) == WICK_OK);
        CHECK(memcmp(a, b + (i ? 0 : 15), (i ? 90 : 30) * sizeof *a) == 0); /* the middle 10 rows of 20 */
        wick_release(NULL, scratch, wick_transform_scratch(plain, 30));
        wick_transform_free(&still), wick_transform_free(&plain);
    }
    static const char *const pictures[][2] = {
        {"flip,vflip=1,cut=8x6,jitter=0.5,normalise,erase", "vflip=1,center=8x6,normalise"},
        {"flip=1,resizedcrop=8x6,affine=30:0.1,blur=3,normalise", "flip=1,resize=8x6,normalise"},
        {"flip", "flip=0"}};
    for (int i = 0; i < 3; i++) {
        const wick_spec spec = {"x", WICK_U8, 2, {12, 10}}, small = {"x", WICK_U8, 2, {8, 6}};
        const wick_transform_options still = {.mean = 0.3, .deviation = 0.2, .still = true},
                                     plain = {.mean = 0.3, .deviation = 0.2};
        wick_transform *s, *t;
        REQUIRE(wick_transform_new(ctx, pictures[i][0], &still, i == 2 ? &small : &spec, &s) == WICK_OK &&
                wick_transform_new(ctx, pictures[i][1], &plain, i == 2 ? &small : &spec, &t) == WICK_OK);
        void *scratch = wick_alloc(NULL, wick_transform_scratch(t, 0));
        wick_transform_apply(s, 1, 2, 3, pixels, p, scratch);
        wick_transform_apply(t, 4, 5, 6, pixels, q, scratch);
        CHECK_MSG(memcmp(p, q, sizeof p) == 0, "%s", pictures[i][0]);
        wick_release(NULL, scratch, wick_transform_scratch(t, 0));
        wick_transform_free(&s), wick_transform_free(&t);
    }
    wick_context_free(&ctx);
}

/* Recordings of lengths of their own: those of the batch are padded to the longest spectrogram. */
typedef struct tones { int64_t count; } tones;
static int64_t tone_length(void *user, int64_t i, int field) { return (void)user, field ? -1 : 300 + i * 37 % 500; }
static wick_status tone_get(void *user, int64_t i, void *const *out, wick_fault *fault) {
    (void)fault;
    if (out[0])
        for (int64_t k = 0; k < tone_length(user, i, 0); k++)
            ((float *)out[0])[k] = sinf((float)k * 0.01f * (float)(i + 1));
    if (out[1]) *(int64_t *)out[1] = i % 3;
    return WICK_OK;
}
static int64_t tone_label(void *user, int64_t i) { return (void)user, i % 3; }

TEST(a_loader_makes_spectrograms_the_same_for_any_number_of_workers) {
    enum { COUNT = 41 };
    static tones user = {COUNT};
    wick_context *ctx = new_context(.threads = 1);
    wick_dataset *set;
    const wick_dataset_source source = {.count = COUNT,
                                        .n_fields = 2,
                                        .fields = {{"audio", WICK_F32, 1, {-1}}, {"label", WICK_I64, 0, {0}}},
                                        .get = tone_get,
                                        .length = tone_length,
                                        .label = tone_label,
                                        .classes = 3,
                                        .user = &user};
    REQUIRE(ctx && wick_dataset_new(ctx, &source, &set) == WICK_OK);
    for (int fixed = 0; fixed < 2; fixed++) {
        wick_transform *t;
        REQUIRE(wick_transform_new(ctx,
                                   fixed ? "gain=-3:3,noise=5:20,window=400,logmel=12:64:32"
                                         : "resample=4000,shift=0.2,logmel=12:64:32,normalise,specaugment=3:4",
                                   &(wick_transform_options){.mean = -5, .deviation = 4, .rate = 8000},
                                   wick_dataset_field(set, 0), &t) == WICK_OK);
        uint64_t first = 0;
        for (int workers = 0; workers < 4; workers++) {
            wick_loader *loader;
            wick_batch b;
            uint64_t hash = 1469598103934665603u;
            REQUIRE(wick_loader_new(
                        ctx, set,
                        &(wick_loader_options){
                            .batch = 8, .shuffle = true, .seed = 3, .transform = t, .workers = workers, .pad = {-9}},
                        &loader) == WICK_OK);
            const wick_spec *f = wick_loader_field(loader, 0);
            CHECK(f->rank == 3 && f->dims[1] == (fixed ? 400 / 32 + 1 : -1) && f->dims[2] == 12);
            for (int epochs = 0; epochs < 2;) {
                REQUIRE(wick_loader_take(loader, &b) == WICK_OK);
                epochs += !b.count;
                const int64_t rows = fixed ? 13 : b.padded[0];
                for (int64_t i = 0; i < b.count; i++) {
                    const float *x = (const float *)b.fields[0] + i * rows * 12;
                    const int64_t own =
                        fixed ? rows
                              : (tone_length(NULL, b.samples[i], 0) / 2 + tone_length(NULL, b.samples[i], 0) % 2) / 32 +
                                    1;
                    CHECK(fixed || (b.lengths[0][i] == own && own <= rows));
                    for (int64_t k = own * 12; k < rows * 12; k++) CHECK(x[k] == -9);
                    for (const uint8_t *byte = (const uint8_t *)x; byte < (const uint8_t *)(x + rows * 12); byte++)
                        hash = (hash ^ *byte) * 1099511628211u;
                }
            }
            if (!workers) first = hash;
            CHECK(hash == first);
            wick_loader_free(&loader);
        }
        CHECK(first != 0);
        wick_loader *loader;
        CHECK_INT(wick_loader_new(ctx, set, &(wick_loader_options){.batch = 8, .transform = t, .flip = true}, &loader),
                  WICK_ERR_INVALID);
        CHECK_INT(wick_loader_new(ctx, set,
                                  &(wick_loader_options){.batch = 8, .transform = t, .joint = {0, WICK_JOINT_POINTS}},
                                  &loader),
                  WICK_ERR_INVALID);
        wick_transform_free(&t);
    }
    wick_dataset_free(&set);
    wick_context_free(&ctx);
}

TEST(running_out_of_memory_is_an_error) {
    counting memory = {.fail_at = -1};
    const wick_allocator allocator = counting_allocator(&memory);
    wick_context *ctx = NULL;
    wick_transform *t = NULL;
    const wick_spec spec = {"audio", WICK_F32, 1, {-1}};
    REQUIRE(wick_context_new(&(wick_context_options){.threads = 1, .allocator = &allocator}, &ctx) == WICK_OK);
    int failed = 0;
    for (; failed < 1000; failed++) {
        memory.fail_at = memory.calls + failed;
        const wick_status status = wick_transform_new(ctx, "resample=4000,mfcc=13", NULL, &spec, &t);
        memory.fail_at = -1;
        CHECK((status == WICK_OK) == (t != NULL));
        wick_transform_free(&t);
        if (status == WICK_OK) break;
        CHECK_INT(status, WICK_ERR_NOMEM);
    }
    CHECK(failed > 8 && failed < 1000);
    wick_context_free(&ctx);
    CHECK_INT(memory.live, 0);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
