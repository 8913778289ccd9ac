/* sound.h: recordings as pictures. */
#ifndef WICK_CLI_SOUND_H
#define WICK_CLI_SOUND_H

#include "wick/data.h"

#include <stdbool.h>
#include <stdio.h>

/* n samples over time, and their spectrogram, as SVG. alone: a file of its own, which has the page's colours in it. */
wick_status sound_draw(FILE *out, wick_context *ctx, const float *samples, int64_t n, int64_t rate, const char *title,
                       bool alone);

#endif
