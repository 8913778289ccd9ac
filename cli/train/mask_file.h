/* mask_file.h: a picture of which each pixel says a class, as its file has it. */
#ifndef WICK_CLI_MASK_FILE_H
#define WICK_CLI_MASK_FILE_H

#include "wick/data.h"

typedef struct mask_file {
    int64_t height, width;
    bool colours;    /* values are [height, width, 3], red, green, blue; else [height, width], numbers */
    uint8_t *values; /* malloc'ed */
} mask_file;

/* Of a PNG with a palette the numbers of its colours, not the colours; of a grey one the numbers as they are written,
 * also of 1, 2 and 4 bits. WICK_ERR_UNSUPPORTED: JPEG, which changes numbers; 16 bits; transparency. Else as
 * wick_image_open. */
wick_status mask_read(wick_context *ctx, const char *path, mask_file *out);

#endif
