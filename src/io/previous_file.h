/* previous_file.h: keeps the file that a save is about to replace, as PATH.prev. */
#ifndef WICK_IO_PREVIOUS_FILE_H
#define WICK_IO_PREVIOUS_FILE_H

#include "base/base.h"

/*   hold:  the file at PATH gets a second name beside it, "PATH.prev.tmp-<pid>-<n>"
 *   (the new file takes the name PATH in one step)
 *   keep:  the second name becomes PATH.prev in one step | drop: it is removed, PATH.prev stays what it was
 *
 * So a whole file is at PATH all the time. On a file system without hard links, hold renames PATH to PATH.prev instead
 * and drop renames it back: between the two, PATH.prev is the whole one. */
typedef struct wick_previous_file {
    char *path, *held, *prev; /* in one block; NULL: there was nothing to keep */
    size_t block;
    const wick_allocator *alloc;
    bool moved; /* no hard links here: the file is at prev already */
} wick_previous_file;

/* alloc must outlive it. A path where no regular file stands holds nothing. On failure nothing has changed. */
WICK_MUST_CHECK wick_status wick_previous_file_hold(wick_previous_file *f, const char *path,
                                                    const wick_allocator *alloc, wick_msg *msg);
/* after the new file is in place */
WICK_MUST_CHECK wick_status wick_previous_file_keep(wick_previous_file *f, wick_msg *msg);
/* when it could not be written */
void wick_previous_file_drop(wick_previous_file *f);

#endif
