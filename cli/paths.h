/* paths.h: names of files, and folders on the way to them. */
#ifndef WICK_CLI_PATHS_H
#define WICK_CLI_PATHS_H

#include <stdbool.h>
#include <stddef.h>

/* "folder/name", malloc'ed; NULL: out of memory. */
char *path_join(const char *folder, const char *name);
bool path_is_folder(const char *path);
bool path_exists(const char *path);
/* Whether both name one file that is there. */
bool path_same(const char *a, const char *b);
/* The first bytes of a regular file: how many, up to size; -1: errno says why. It never waits, as opening a pipe would.
 */
int path_head(const char *path, unsigned char *head, size_t size);
/* All of a file, also of a pipe, malloc'ed, with a '\0' behind it; NULL: errno says why. At most 64 MiB. */
char *path_read(const char *path, size_t *size);
/* Makes the folder and those above it. False: errno says why. */
bool path_make_folder(const char *path);
/* The path from the root, malloc'ed, also of a file that is yet to be made; NULL: errno says why. */
char *path_absolute(const char *path);
/* The same where the file itself, should it be a link, is not followed. */
char *path_placed(const char *path);
/* Writes text so that a shell reads one word. */
void path_quote(char *out, size_t size, const char *text);

#endif
