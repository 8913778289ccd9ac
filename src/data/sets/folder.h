/* folder.h: the pictures of a folder of classes, as a sorted list, whatever order the file system has. */
#ifndef WICK_DATA_FOLDER_H
#define WICK_DATA_FOLDER_H

#include "base/base.h"

#define WICK_PATH_BYTES 4096

typedef struct wick_folder {
    wick_arena arena;
    char **files; /* "CLASS/NAME" */
    size_t count, cap;
    const wick_allocator *alloc;
} wick_folder;

/* Files CLASS/NAME below `path` whose names end as those of pictures do (wick_picture_named), sorted by their bytes;
 * hidden ones are left out. A path that is no folder gives none. alloc must stay. On failure there is nothing to free.
 */
WICK_MUST_CHECK wick_status wick_folder_list(wick_folder *f, const char *path, const wick_allocator *alloc,
                                             wick_msg *msg);
void wick_folder_free(wick_folder *f); /* an empty one is fine */

#endif
