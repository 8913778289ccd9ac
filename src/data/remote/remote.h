/* remote.h: files by path or by URL, for those that read them. */
#ifndef WICK_DATA_REMOTE_H
#define WICK_DATA_REMOTE_H

#include "base/base.h"
#include "wick/remote.h"

/* As wick_map_open and wick_file_open; a URL is fetched first, unless it is kept. remote: of its context; NULL if the
 * path is no URL. */
WICK_MUST_CHECK wick_status wick_remote_map(wick_remote *remote, wick_map *map, const char *path, wick_msg *msg);
WICK_MUST_CHECK wick_status wick_remote_file(wick_remote *remote, int *fd, size_t *size, const char *path,
                                             wick_msg *msg);

/* A remote for a caller that was given none, where one of the paths is a URL. *own is for wick_remote_free, NULL where
 * none was made. */
WICK_MUST_CHECK wick_status wick_remote_for(wick_context *ctx, int n, const char *const *paths, wick_remote *given,
                                            wick_remote **use, wick_remote **own, wick_msg *msg);

#endif
