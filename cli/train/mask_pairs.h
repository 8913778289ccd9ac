/* mask_pairs.h: pictures and the masks that belong to them, by the names of files. */
#ifndef WICK_CLI_MASK_PAIRS_H
#define WICK_CLI_MASK_PAIRS_H

#include "wick/data.h"

typedef struct mask_pair {
    char *picture, *mask; /* paths; mask NULL: the picture has none */
} mask_pair;
typedef struct mask_pairs {
    mask_pair *list; /* in the order of the names' bytes */
    int64_t n, masks;
    bool whole; /* the data have no parts: these are all of them */
} mask_pairs;

/* Those of a part of the data, in one of these folders, by the first that is there:
 *
 *   SPLIT/images/NAME.jpg   SPLIT/masks/NAME.png      (also called labels, annotations, img, ...)
 *   images/SPLIT/NAME.jpg   masks/SPLIT/NAME.png
 *   SPLIT/NAME.jpg          SPLIT/NAME.png, or SPLIT/NAME_mask.png for any kind of picture
 *   the same without SPLIT: all of them
 *
 * WICK_ERR_IO: there is no such folder, or it has no mask. WICK_ERR_NOMEM. */
wick_status mask_pairs_find(wick_context *ctx, const char *data, const char *split, mask_pairs *out);
/* The same of maps, numbers for pixels: folders called depth, maps, dense or disparity, names with _depth, _map ...
 * behind them, PNG or .npy. */
wick_status mask_pairs_find_maps(wick_context *ctx, const char *data, const char *split, mask_pairs *out);
void mask_pairs_free(mask_pairs *pairs);

#endif
