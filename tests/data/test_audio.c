/* Recordings: every sort of WAV against libsndfile, hostile files, and what is refused. */
#include <dirent.h>
#include <math.h>

#include "base/counting_alloc.h"
#define SAMPLES "audio"
#include "data/decode.h"
#include "golden/golden.h"

TEST(every_sort_of_wav_is_read_as_libsndfile_reads_it) {
    wick_context *ctx = new_context(.threads = 1);
    golden *first = golden_load("audio.txt");
    REQUIRE(ctx && first);
    int count = 0;
    for (const golden *g = first; g; g = g->next, count++) {
        wick_audio *a;
        const wick_status status = wick_audio_open(ctx, path_of(g->name), 0, &a);
        CHECK_MSG(status == WICK_OK, "%s: %s", g->name, wick_context_error(ctx));
        if (status != WICK_OK) continue;
        CHECK(g->rank == 2 && wick_audio_channels(a) == g->dims[0] && wick_audio_length(a) == g->dims[1]);
        CHECK_INT(wick_audio_rate(a), 8000 * g->dims[0]);
        CHECK(!wick_audio_samples(a, -1) && !wick_audio_samples(a, g->dims[0]));
        for (int64_t i = 0; i < g->count; i++) {
            const float got = wick_audio_samples(a, i / g->dims[1])[i % g->dims[1]];
            CHECK_MSG(got == (float)g->values[i], "%s: sample %lld is %.9g, not %.9g", g->name, (long long)i,
                      (double)got, g->values[i]);
        }
        wick_audio_free(&a);
        CHECK(!a);
    }
    CHECK_INT(count, 18);
    golden_free(first);
    wick_context_free(&ctx);
}

/* ---- files made here --------------------------------------------------------------------------------------------- */

typedef struct file {
    uint8_t bytes[256];
    size_t size;
} file;
static void number(file *f, uint32_t v, int bytes) {
    for (; bytes > 0; bytes--, v >>= 8) f->bytes[f->size++] = (uint8_t)v;
}
static void text(file *f, const char *four) {
    memcpy(f->bytes + f->size, four, 4);
    f->size += 4;
}
/* The head of a file up to its first chunk; the size of it all is a lie, as many programs leave it. */
static file head(void) {
    file f = {.size = 0};
    text(&f, "RIFF"), number(&f, 0, 4), text(&f, "WAVE");
    return f;
}
static void format(file *f, uint32_t kind, uint32_t channels, uint32_t rate, uint32_t bits) {
    text(f, "fmt "), number(f, 16, 4);
    number(f, kind, 2), number(f, channels, 2), number(f, rate, 4);
    number(f, rate * channels * bits / 8, 4), number(f, channels * bits / 8, 2), number(f, bits, 2);
}
/* Two 16-bit samples of two channels: 1 and -1, 16384 and -32768. */
static void samples(file *f, uint32_t said) {
    text(f, "data"), number(f, said, 4), number(f, 0xFFFF0001u, 4), number(f, 0x80004000u, 4);
}
/* Decodes from memory of exact size, so that a sanitizer sees a read beyond. */
static wick_status decode(wick_context *ctx, const file *f, int64_t channels, wick_audio **a) {
    uint8_t *copy = malloc(f->size + !f->size);
    memcpy(copy, f->bytes, f->size);
    const wick_status status = wick_audio_decode(ctx, copy, f->size, "x.wav", channels, a);
    free(copy);
    return status;
}

TEST(channels_are_kept_apart_or_mixed) {
    wick_context *ctx = new_context(.threads = 1);
    REQUIRE(ctx);
    wick_audio *a;
    file f = head();
    format(&f, 1, 2, 44100, 16), samples(&f, 8);
    REQUIRE(decode(ctx, &f, 2, &a) == WICK_OK);
    CHECK_INT(wick_audio_length(a), 2);
    CHECK_INT(wick_audio_rate(a), 44100);
    CHECK(wick_audio_samples(a, 0)[0] == 0x1p-15F && wick_audio_samples(a, 0)[1] == 0.5F);
    CHECK(wick_audio_samples(a, 1)[0] == -0x1p-15F && wick_audio_samples(a, 1)[1] == -1);
    wick_audio_free(&a);
    REQUIRE(decode(ctx, &f, 1, &a) == WICK_OK);
    CHECK_INT(wick_audio_channels(a), 1);
    CHECK(wick_audio_samples(a, 0)[0] == 0 && wick_audio_samples(a, 0)[1] == -0.25F);
    wick_audio_free(&a);
    CHECK_INT(decode(ctx, &f, 3, &a), WICK_ERR_INVALID);
    CHECK_STR_HAS(wick_context_error(ctx), "x.wav: 3 channels asked for; it has 2");
    CHECK_INT(decode(ctx, &f, -1, &a), WICK_ERR_INVALID);
    CHECK(!a);
    wick_audio_free(&a);
    wick_audio_free(NULL);
    wick_context_free(&ctx);
}

TEST(other_chunks_are_passed_over_and_streams_go_to_the_end) {
    wick_context *ctx = new_context(.threads = 1);
    REQUIRE(ctx);
    wick_audio *a;
    file f = head();
    text(&f, "LIST"), number(&f, 3, 4), number(&f, 0x64636261, 4); /* 3 bytes and the one that makes them even */
    format(&f, 1, 2, 8000, 16);
    text(&f, "odd "), number(&f, 0, 4);
    samples(&f, 8);
    const size_t end = f.size;
    text(&f, "LIST"), number(&f, 1000, 4); /* whatever follows the samples */
    REQUIRE(decode(ctx, &f, 0, &a) == WICK_OK);
    CHECK_INT(wick_audio_length(a), 2);
    wick_audio_free(&a);
    f.size = end;
    for (size_t i = 0; i < 4; i++) f.bytes[end - 12 + i] = 0xFF; /* a stream's size */
    REQUIRE(decode(ctx, &f, 0, &a) == WICK_OK);
    CHECK_INT(wick_audio_length(a), 2);
    wick_audio_free(&a);
    f.size--; /* cut within a frame */
    REQUIRE(decode(ctx, &f, 0, &a) == WICK_OK);
    CHECK_INT(wick_audio_length(a), 1);
    wick_audio_free(&a);
    f = head();
    format(&f, 1, 1, 8000, 16), text(&f, "data"), number(&f, 0, 4);
    REQUIRE(decode(ctx, &f, 0, &a) == WICK_OK);
    CHECK_INT(wick_audio_length(a), 0);
    wick_audio_free(&a);
    wick_context_free(&ctx);
}

/* Lengths that writers into a pipe leave: all that is there is samples, and the file says that it didn't know. What is
 * shorter than it says is cut off. */
TEST(recordings_that_do_not_say_how_long_they_are) {
    wick_context *ctx = new_context(.threads = 1);
    REQUIRE(ctx);
    static const struct {
        uint32_t said;
        int64_t length; /* -1: refused */
    } rows[] = {{0xFFFFFFFF, 4}, {0x7FFFF000, 4},  {0x7FFFFFFF, 4}, {0x80000000, 4},  {0xFFFFF000, 4},
                {0, 4},          {0x7FFFEFFE, -1}, {10, -1},        {0x10000000, -1}, {8, 4}};
    wick_audio *a, *other;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        file f = head();
        format(&f, 1, 1, 8000, 16), text(&f, "data"), number(&f, rows[i].said, 4), number(&f, 0x40000001, 4),
            number(&f, 0xC0003FFF, 4);
        const wick_status status = decode(ctx, &f, 0, &a);
        CHECK_MSG((status == WICK_OK) == (rows[i].length >= 0), "0x%x: %s", rows[i].said, wick_context_error(ctx));
        if (status != WICK_OK) continue;
        CHECK_INT(wick_audio_length(a), rows[i].length);
        CHECK_MSG(wick_audio_unmeasured(a) == (rows[i].said != 8), "0x%x", rows[i].said);
        REQUIRE(wick_audio_resample(ctx, a, 16000, &other) == WICK_OK);
        CHECK(wick_audio_unmeasured(other) == wick_audio_unmeasured(a));
        wick_audio_free(&other);
        wick_audio_free(&a);
    }
    file f = head(); /* none, and then another chunk */
    format(&f, 1, 1, 8000, 16), text(&f, "data"), number(&f, 0, 4), text(&f, "LIST"), number(&f, 4, 4),
        text(&f, "INFO");
    REQUIRE(decode(ctx, &f, 0, &a) == WICK_OK);
    CHECK(wick_audio_length(a) == 0 && !wick_audio_unmeasured(a));
    wick_audio_free(&a);
    wick_context_free(&ctx);
}

TEST(recordings_of_other_kinds_are_named) {
    wick_context *ctx = new_context(.threads = 1);
    REQUIRE(ctx);
    wick_audio *a;
    CHECK_INT(wick_audio_decode(ctx, "FORM\0\0\1\0AIFFCOMM", 16, "x.wav", 0, &a), WICK_ERR_FORMAT);
    CHECK_STR_HAS(
        wick_context_error(ctx),
        "x.wav: is an AIFF recording, not a WAV file that is read; ffmpeg -i x.wav new.wav makes a WAV of it");
    CHECK_INT(wick_audio_decode(ctx, "fLaC\0\0\0\42", 8, "x.flac", 0, &a), WICK_ERR_FORMAT);
    CHECK_STR_HAS(wick_context_error(ctx), "a FLAC recording");
    wick_context_free(&ctx);
}

TEST(what_cannot_be_read_is_named) {
    wick_context *ctx = new_context(.threads = 1);
    REQUIRE(ctx);
    static const struct {
        uint32_t kind, channels, rate, bits;
        wick_status status;
        const char *why;
    } formats[] = {{6, 1, 8000, 8, WICK_ERR_UNSUPPORTED, "x.wav: samples of kind 6 (A-law)"},
                   {7, 1, 8000, 8, WICK_ERR_UNSUPPORTED, "(mu-law)"},
                   {0x55, 1, 8000, 8, WICK_ERR_UNSUPPORTED, "kind 85; PCM (1) and floats (3) are read"},
                   {1, 1, 8000, 12, WICK_ERR_UNSUPPORTED, "PCM samples of 12 bits"},
                   {1, 1, 8000, 0, WICK_ERR_UNSUPPORTED, "PCM samples of 0 bits"},
                   {1, 1, 8000, 64, WICK_ERR_UNSUPPORTED, "PCM samples of 64 bits"},
                   {3, 1, 8000, 16, WICK_ERR_UNSUPPORTED, "floats of 16 bits"},
                   {1, 0, 8000, 16, WICK_ERR_FORMAT, "0 channels at 8000 Hz"},
                   {1, 1, 0, 16, WICK_ERR_FORMAT, "1 channels at 0 Hz"},
                   {1, 65535, 8000, 32, WICK_ERR_FORMAT, "65535 channels of 4"},
                   {1, 3, 8000, 16, WICK_ERR_FORMAT, "8 bytes of samples are no number of frames of 6"},
                   {0xFFFE, 1, 8000, 16, WICK_ERR_FORMAT, "an extensible format chunk of 16 bytes"}};
    wick_audio *a;
    file f;
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        f = head();
        format(&f, formats[i].kind, formats[i].channels, formats[i].rate, formats[i].bits), samples(&f, 8);
        CHECK_MSG(decode(ctx, &f, 0, &a) == formats[i].status && !a, "row %zu", i);
        CHECK_STR_HAS(wick_context_error(ctx), formats[i].why);
    }
    f = head(), samples(&f, 8);
    CHECK_INT(decode(ctx, &f, 0, &a), WICK_ERR_FORMAT);
    CHECK_STR_HAS(wick_context_error(ctx), "x.wav: samples at byte 12 before their format");
    f = head(), format(&f, 1, 1, 8000, 16);
    CHECK_INT(decode(ctx, &f, 0, &a), WICK_ERR_FORMAT);
    CHECK_STR_HAS(wick_context_error(ctx), "ends before its samples");
    samples(&f, 10);
    CHECK_INT(decode(ctx, &f, 0, &a), WICK_ERR_FORMAT);
    CHECK_STR_HAS(wick_context_error(ctx), "x.wav: the chunk at byte 36 promises 10 bytes; 8 are left");
    f = head(), text(&f, "LIST"), number(&f, 0xFFFFFFFF, 4);
    CHECK_INT(decode(ctx, &f, 0, &a), WICK_ERR_FORMAT);
    f = head(), text(&f, "fmt "), number(&f, 4, 4), number(&f, 1, 4), samples(&f, 8);
    CHECK_INT(decode(ctx, &f, 0, &a), WICK_ERR_FORMAT);
    CHECK_STR_HAS(wick_context_error(ctx), "a format chunk of 4 bytes");
    f = head(), memcpy(f.bytes, "RF64", 4);
    CHECK_INT(decode(ctx, &f, 0, &a), WICK_ERR_UNSUPPORTED);
    CHECK_STR_HAS(wick_context_error(ctx), "RF64");
    CHECK_INT(wick_audio_open(ctx, path_of("none.wav"), 0, &a), WICK_ERR_IO);
    CHECK_STR_HAS(wick_context_error(ctx), "none.wav");
    CHECK_INT(wick_audio_open(ctx, path_of(""), 0, &a), WICK_ERR_IO);
    CHECK_INT(wick_audio_decode(ctx, "", 0, NULL, 0, &a), WICK_ERR_FORMAT);
    CHECK_STR_HAS(wick_context_error(ctx), "a recording in memory: not a WAV file of 0 bytes");
    wick_context_free(&ctx);
}

/* Every beginning of every file is refused; changed bits are refused or read, and never more than that. */
TEST(cut_and_damaged_files_are_refused_or_read) {
    wick_context *ctx = new_context(.threads = 1);
    DIR *dir = opendir(path_of(""));
    REQUIRE(ctx && dir);
    int count = 0;
    for (struct dirent *entry; (entry = readdir(dir));) {
        const char *name = entry->d_name;
        if (name[0] == '.') continue;
        static uint8_t whole[1 << 12];
        wick_audio *a;
        FILE *f = fopen(path_of(name), "rb");
        REQUIRE(f);
        const size_t size = fread(whole, 1, sizeof whole, f);
        fclose(f);
        REQUIRE(wick_audio_decode(ctx, whole, size, name, 0, &a) == WICK_OK);
        size_t end = 12; /* of the samples; libsndfile adds chunks behind */
        while (memcmp(whole + end, "data", 4) != 0) end += 8 + whole[end + 4];
        end += 8 + whole[end + 4] + 256 * (size_t)whole[end + 5];
        wick_audio_free(&a);
        for (size_t cut = 0; cut < end; cut++) {
            uint8_t *part = malloc(cut + !cut);
            memcpy(part, whole, cut);
            CHECK_MSG(wick_audio_decode(ctx, part, cut, name, 0, &a) == WICK_ERR_FORMAT, "%s cut to %zu of %zu bytes",
                      name, cut, size);
            CHECK_STR_HAS(wick_context_error(ctx), name);
            free(part);
        }
        for (int round = 0; round < 2000; round++) {
            uint8_t *changed = malloc(size);
            memcpy(changed, whole, size);
            for (int flips = test_rand_int(1, 4); flips > 0; flips--)
                changed[test_rand() % WICK_MIN(size, 100)] ^= (uint8_t)(1 << test_rand_int(0, 7));
            if (wick_audio_decode(ctx, changed, size, name, round % 2, &a) == WICK_OK)
                CHECK(wick_audio_length(a) <= (int64_t)size);
            wick_audio_free(&a);
            free(changed);
        }
        count++;
    }
    closedir(dir);
    CHECK_INT(count, 18);
    wick_context_free(&ctx);
}

/* n samples of sin(2 pi hertz t) from a WAV file of f32; of channel c it is (c + 1) times as loud. */
static wick_audio *tone(wick_context *ctx, int64_t rate, double hertz, int64_t n, int channels) {
    const size_t size = 44 + (size_t)(n * channels) * 4;
    uint8_t *bytes = malloc(size);
    file f = head();
    format(&f, 3, (uint32_t)channels, (uint32_t)rate, 32);
    text(&f, "data"), number(&f, (uint32_t)(n * channels * 4), 4);
    memcpy(bytes, f.bytes, f.size);
    for (int64_t i = 0; i < n * channels; i++) {
        const float v = (float)((1 + i % channels) *
                                sin(2 * 3.14159265358979323846 * hertz * (double)(i / channels) / (double)rate));
        memcpy(bytes + f.size + 4 * i, &v, 4);
    }
    wick_audio *a = NULL;
    CHECK(f.size == 44 && wick_audio_decode(ctx, bytes, size, "tone.wav", 0, &a) == WICK_OK);
    free(bytes);
    return a;
}

/* The oracle is the tone itself: away from the ends it comes out as it would have been recorded at the other rate, or
 * not at all beyond its Nyquist frequency. */
TEST(a_tone_at_another_rate_is_the_same_tone) {
    wick_context *ctx = new_context(.threads = 1);
    static const int64_t rates[][2] = {{44100, 16000}, {16000, 48000}, {48000, 16000}, {22050, 8000},
                                       {16000, 16000}, {8000, 44101},  {44101, 8000},  {1000, 768000}};
    for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++) {
        const int64_t from = rates[i][0], to = rates[i][1], n = from == 1000 ? 300 : 9001;
        const double lower = (double)WICK_MIN(from, to) / 2,
                     hertz[] = {0.01 * lower, 0.3 * lower, 0.85 * lower, to < from ? 1.2 * lower : 0.5 * lower};
        for (int k = 0; k < 4; k++) {
            wick_audio *a = tone(ctx, from, hertz[k], n, 2), *b;
            REQUIRE(a && wick_audio_resample(ctx, a, to, &b) == WICK_OK);
            const int64_t length = (n * to + from - 1) / from, edge = 80 * to / WICK_MIN(from, to);
            CHECK_INT(wick_audio_rate(b), to);
            CHECK_INT(wick_audio_length(b), length);
            CHECK_INT(wick_audio_channels(b), 2);
            double worst = 0;
            for (int64_t t = edge; t < length - edge; t++)
                for (int c = 0; c < 2; c++) {
                    const double want =
                        k == 3 && to < from
                            ? 0
                            : (c + 1) * sin(2 * 3.14159265358979323846 * hertz[k] * (double)t / (double)to);
                    worst = fmax(worst, fabs((double)wick_audio_samples(b, c)[t] - want));
                }
            /* the filter ends at 0.95 of the lower Nyquist frequency */
            const double most = from == to ? 1e-6 : k == 2 ? 2e-3 : 2e-4;
            CHECK_MSG(worst < most, "%lld to %lld at %g Hz: off by %g", (long long)from, (long long)to, hertz[k],
                      worst);
            CHECK(edge < length - edge);
            wick_audio_free(&a);
            wick_audio_free(&b);
        }
    }
    wick_audio *a = tone(ctx, 8000, 100, 10, 1), *b;
    CHECK(wick_audio_resample(ctx, a, 999, &b) == WICK_ERR_INVALID && !b &&
          strstr(wick_context_error(ctx), "8000 samples a second to 999"));
    CHECK(wick_audio_resample(ctx, a, 768001, &b) == WICK_ERR_INVALID && !b);
    wick_audio_free(&a);
    a = tone(ctx, 8000, 100, 0, 1);
    CHECK(wick_audio_resample(ctx, a, 16000, &b) == WICK_OK && wick_audio_length(b) == 0);
    wick_audio_free(&a);
    wick_audio_free(&b);
    wick_context_free(&ctx);
}

TEST(running_out_of_memory_is_an_error) {
    counting memory = {.fail_at = -1};
    const wick_allocator allocator = counting_allocator(&memory);
    wick_context *ctx = new_context(.threads = 1, .allocator = &allocator);
    REQUIRE(ctx);
    wick_audio *a;
    const int64_t live = memory.live;
    int failed = 0;
    for (int limit = 0; limit < 10; limit++, failed++) {
        memory.fail_at = memory.calls + limit;
        wick_audio *other = NULL;
        wick_status status = wick_audio_open(ctx, path_of("pcm_16_2.wav"), 0, &a);
        if (status == WICK_OK) status = wick_audio_resample(ctx, a, 8000, &other);
        memory.fail_at = -1;
        wick_audio_free(&other);
        wick_audio_free(&a);
        CHECK_INT(memory.live, live);
        if (status == WICK_OK) break;
        CHECK_INT(status, WICK_ERR_NOMEM);
    }
    CHECK_INT(failed, 5);
    wick_context_free(&ctx);
    CHECK_INT(memory.live, 0);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
