/* walk.h: the pictures of one split, one after another, from an archive or a folder. */
#ifndef WICK_DATA_WALK_H
#define WICK_DATA_WALK_H

#include "data/sets/folder.h"
#include "data/formats/tar.h"

typedef struct wick_walk {
    char path[WICK_PATH_BYTES];               /* of the archive or folder */
    bool found, is_archive;                   /* not found: there are no pictures */
    wick_map map;                             /* of the archive, or of the present file */
    wick_tar tar;
    wick_folder folder;
    size_t next;                              /* in folder.files */
    char name[2 * WICK_PATH_BYTES + 2];          /* of the present picture, for messages */
    char class_name[256];                     /* the folder it is in */
    size_t size;                              /* of it, in bytes */
} wick_walk;

/* FOLDER/SPLIT.tar.gz or .tar, else FOLDER/SPLIT with its classes; on failure there is nothing to close. w must stay
 * where it is. */
WICK_MUST_CHECK wick_status wick_walk_open(wick_walk *w, const char *folder, const char *split,
                                           const wick_allocator *alloc, wick_msg *msg);
bool wick_walk_exists(const char *folder, const char *split);
/* Goes to the next picture; *more false: there are none left. Other files are passed over. */
WICK_MUST_CHECK wick_status wick_walk_next(wick_walk *w, bool *more, wick_msg *msg);
/* The `size` bytes of the present picture; once. */
WICK_MUST_CHECK wick_status wick_walk_read(wick_walk *w, void *to, wick_msg *msg);
void wick_walk_close(wick_walk *w);

#endif
