/* digits.h: the Free Spoken Digit Dataset (https://github.com/Jakobovski/free-spoken-digit-dataset, CC-BY-SA-4.0) for
 * keyword.c and ctc_digits.c: 8 kHz recordings of six speakers, DIGIT_SPEAKER_TAKE.wav. Takes 0 to 9 are kept for tests
 * (the set's own test takes are 0 to 4), the others train. Where the folder holds none, the programs say so and exit
 * with 1, as for any error. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wick/wick.h>

enum {
    RATE = 8000,
    DIGITS = 10,
    SPEAKERS = 6,
    TEST_TAKES = 10,
    ALL_TAKES = 50,
    RECORDINGS = DIGITS * SPEAKERS * ALL_TAKES
};
enum { TRAIN, TEST };

typedef struct recording {
    wick_audio *audio;
    int64_t digit;
} recording;
static recording recordings[2][RECORDINGS];
static int counts[2];

/* What is there of takes 0 to takes - 1. */
static wick_status load_digits(wick_context *ctx, const char *folder, int takes) {
    static const char *const speakers[SPEAKERS] = {"george", "jackson", "lucas", "nicolas", "theo", "yweweler"};
    for (int take = 0; take < takes && take < ALL_TAKES; take++)
        for (int i = 0; i < DIGITS * SPEAKERS; i++) {
            const int set = take < TEST_TAKES ? TEST : TRAIN, digit = i % DIGITS;
            char path[4096];
            wick_audio *audio;
            snprintf(path, sizeof path, "%s/%d_%s_%d.wav", folder, digit, speakers[i / DIGITS], take);
            const wick_status status = wick_audio_open(ctx, path, 1, &audio);
            if (status == WICK_ERR_IO) continue; /* the set may lack some */
            if (status != WICK_OK) return status;
            if (wick_audio_rate(audio) != RATE)
                return wick_context_fail(ctx, WICK_ERR_FORMAT, "%s: not at 8000 Hz", path);
            recordings[set][counts[set]++] = (recording){audio, digit};
        }
    if (counts[TRAIN] && counts[TEST]) return WICK_OK;
    return wick_context_fail(ctx, WICK_ERR_IO, "%s: no recordings to train and to test with, named like 7_theo_12.wav",
                             folder);
}

static uint64_t dice = 1;
static double uniform(void) { /* [0, 1): Knuth's MMIX generator */
    dice = dice * 6364136223846793005u + 1442695040888963407u;
    return (double)(dice >> 11) * 0x1p-53;
}
#define STOP_IF(failed, why) do { if (failed) return fprintf(stderr, "%s\n", why), 1; } while (0)
#define CHECK(call) STOP_IF((call) != WICK_OK, wick_context_error(ctx))
#define RUN(plan, in, out) STOP_IF(wick_run(work[plan], in, out) != WICK_OK, wick_workspace_error(work[plan]))
