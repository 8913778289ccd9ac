/* temp.h: what becomes of files in the making (wick_temp_name of base.h) whose process was killed. */
#ifndef WICK_BASE_TEMP_H
#define WICK_BASE_TEMP_H

/* Removes what of the names that are made from `name`, and from "<name>.prev", processes left in the folder that were
 * killed: files, and folders with all that is in them. What belongs to a process that is alive, or is locked (flock),
 * as it is while wick_temp_create's descriptor is open, stays. */
void wick_temp_clean(int folder, const char *name);
/* A folder of the folder `above`, or AT_FDCWD, with all that is in it; links are not followed. */
void wick_remove_tree(int above, const char *name);

#endif
