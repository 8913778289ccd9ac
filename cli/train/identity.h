/* identity.h: by what data are known again, wherever they lie. */
#ifndef WICK_CLI_IDENTITY_H
#define WICK_CLI_IDENTITY_H

/* A text that says what the files of a part ("train", "test", "val") hold, malloc'ed; NULL: there are none, or no
 * memory. place: a file, a folder, or the name of a set. Of a file it is of all bytes, up to 64 MiB, else of its size
 * and of pieces that are spread over it. Of a folder it is of names and sizes, and of the bytes in the same way where
 * there are at most 1024 files. Files whose path names another part do not count, nor do hidden ones and what runs
 * write; those that name no part count where none names this one. Pictures that a table names do not count. Of more
 * than a million files nothing is known. */
char *identity_of(const char *place, const char *part);

#endif
