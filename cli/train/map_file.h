/* map_file.h: a number for each pixel of a picture, as a file has them. */
#ifndef WICK_CLI_MAP_FILE_H
#define WICK_CLI_MAP_FILE_H

#include "wick/context.h"

typedef struct map_file {
    int64_t height, width;
    float *values; /* [height, width], malloc'ed; of a PNG whole numbers from 0 on; NaN: not known */
} map_file;

/* A grey PNG of 8 or 16 bits, by libspng, or a .npy of numbers [height, width] or [1, height, width]. The context's
 * error names the file. */
wick_status map_read(wick_context *ctx, const char *path, map_file *out);

#endif
