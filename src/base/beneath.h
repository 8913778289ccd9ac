/* beneath.h: files that another file names, by links too. */
#ifndef WICK_BASE_BENEATH_H
#define WICK_BASE_BENEATH_H

#include "base/base.h"

/* As wick_map_beneath, for a file `name` that the file at `path` refers to; `folder` is the open folder of path. A
 * symbolic link is followed if it ends beneath that folder, or, where path is itself a link, beneath the folder in
 * which path ends. Models and their weights are such links in the cache of the Hugging Face hub. */
wick_status wick_map_beside(wick_map *map, const char *path, int folder, const char *name, wick_msg *msg);

#endif
