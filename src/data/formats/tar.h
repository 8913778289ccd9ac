/* tar.h: reads the files of a tar archive from front to back: POSIX.1-2017 "pax Interchange Format" and "ustar", with
 * GNU's long names and sizes. The archive is in memory, plain or behind gzip, and not trusted. */
#ifndef WICK_DATA_TAR_H
#define WICK_DATA_TAR_H

#include "data/formats/source.h"

#define WICK_TAR_NAME_MAX 4096

typedef struct wick_tar {
    wick_source source;
    uint64_t offset;              /* in the unpacked archive, for messages */
    uint64_t left, padding;       /* bytes of the present file that were not read, and those that fill its last block */
    size_t size;                  /* of the present file */
    char name[WICK_TAR_NAME_MAX]; /* of the present file */
} wick_tar;

/* data and name must stay until close. On failure there is nothing to close. */
WICK_MUST_CHECK wick_status wick_tar_open(wick_tar *t, const void *data, size_t size, const char *name, wick_msg *msg);
/* The same of an open file, plain, which stays open: what is passed over is not read. */
void wick_tar_open_file(wick_tar *t, int fd, size_t size, const char *name);
/* Goes to the next regular file; links, folders and devices are passed over. *more false: the archive is over, and
 * whole. A size that the archive cannot hold is refused here, so that `size` bytes may be allocated. */
WICK_MUST_CHECK wick_status wick_tar_next(wick_tar *t, bool *more, wick_msg *msg);
/* All `size` bytes of the present file; once. */
WICK_MUST_CHECK wick_status wick_tar_read(wick_tar *t, void *to, wick_msg *msg);
void wick_tar_close(wick_tar *t);

#endif
