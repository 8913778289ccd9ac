/* class_folders.h: a folder of classes without train/ and test/. */
#ifndef WICK_CLI_CLASS_FOLDERS_H
#define WICK_CLI_CLASS_FOLDERS_H

#include "wick/dataset.h"

/* Whether data is a folder of two or more classes, and of no splits. */
bool class_folders_are(wick_context *ctx, const char *data);
/* A fifth of each class, those whose names have the lowest hashes, is "test", the rest "train", both are "all": the
 * same ones every time, whatever files are added to other classes. *whole is what *part is of: free *part first.
 * WICK_ERR_IO: data is no folder of two or more classes, and nothing has been said. */
wick_status class_folders_open(wick_context *ctx, const char *data, const char *split, int64_t rate,
                               wick_dataset **whole, wick_dataset **part);

#endif
