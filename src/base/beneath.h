/* beneath.h: files that another file names, by links too. */
#ifndef WICK_BASE_BENEATH_H
#define WICK_BASE_BENEATH_H

#include "base/base.h"

/* As wick_map_beneath, for a file that the one at `path` names, whose folder is open as `folder`. A symbolic link is
 * followed where it ends beneath that folder, or beneath the one in which `path` ends, if that is a link too: so lie
 * models and their data in the cache of the Hugging Face hub. */
wick_status wick_map_beside(wick_map *map, const char *path, int folder, const char *name, wick_msg *msg);

#endif
