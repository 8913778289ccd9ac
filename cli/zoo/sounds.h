/* sounds.h: recordings of the public sets, and noises that are made, from which samples are mixed. All are f32 at
 * ZOO_RATE samples a second. */
#ifndef WICK_CLI_ZOO_SOUNDS_H
#define WICK_CLI_ZOO_SOUNDS_H

#include "zoo.h"

enum { ZOO_RATE = 8000 };

typedef struct zoo_sound {
    float *x;
    int64_t n;
    int part;
    char group[ZOO_GROUP]; /* who or what is heard: "speaker theo", "recording 12345" */
} zoo_sound;
typedef struct zoo_sounds {
    zoo_sound *list;
    int64_t n, room;
} zoo_sounds;
/* Adds the recordings of a set, from the first to the last stretch that is heard. An exit code; said. */
int zoo_take_sounds(zoo_prep *p, const zoo_set *set, const char *path, const char *what, zoo_sounds *to);
void zoo_free_sounds(zoo_sounds *s);
/* One of that part, at random; NULL: it has none. */
const zoo_sound *zoo_pick_sound(const zoo_sounds *s, int part, uint64_t *state);

double zoo_power(const float *x, int64_t n); /* the mean square */

/* Noises that are made: a random kind of the part's own, of which it is the name. At most ZOO_RATE samples. */
const char *zoo_make_noise(int part, float *x, int64_t n, uint64_t *state);

/* A file of 16 bits, mono. An exit code; said. */
int zoo_put_wav(const char *path, const float *x, int64_t n, int rate);

#endif
