#include "data/formats/codecs.h"
#include "data/sets/folder.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static int by_bytes(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

static wick_status out_of_memory(const char *path, wick_msg *msg) {
    return wick_msg_set(msg, WICK_ERR_NOMEM, "%s: out of memory", path);
}

static wick_status add(wick_folder *f, const char *path, const char *class, const char *name, wick_msg *msg) {
    char file[WICK_PATH_BYTES];
    if (snprintf(file, sizeof file, "%s/%s", class, name) >= (int)sizeof file)
        return wick_msg_set(msg, WICK_ERR_UNSUPPORTED, "%s: a path of more than %d bytes", path, WICK_PATH_BYTES - 1);
    if (!wick_grow(f->alloc, (void **)&f->files, &f->cap, f->count + 1, sizeof *f->files))
        return out_of_memory(path, msg);
    if (!(f->files[f->count] = wick_arena_strdup(&f->arena, file))) return out_of_memory(path, msg);
    f->count++;
    return WICK_OK;
}

/* NULL and WICK_OK: there is no such folder. */
static wick_status open_folder(DIR **dir, const char *path, wick_msg *msg) {
    *dir = opendir(path);
    if (*dir || errno == ENOENT || errno == ENOTDIR) return WICK_OK;
    return wick_msg_set(msg, errno == ENOMEM ? WICK_ERR_NOMEM : WICK_ERR_IO, "%s: cannot list: %s", path,
                        strerror(errno));
}

/* Calls itself for what is below `path`: class is NULL at the top, and the name of a class below it. */
static wick_status list(wick_folder *f, const char *path, const char *class, wick_msg *msg) {
    DIR *dir;
    wick_status status = open_folder(&dir, path, msg);
    if (status != WICK_OK || !dir) return status;
    for (struct dirent *entry; status == WICK_OK && (errno = 0, entry = readdir(dir));) {
        const char *name = entry->d_name;
        char below[WICK_PATH_BYTES];
        if (name[0] == '.') continue;
        if (class) {
            if (wick_picture_named(name)) status = add(f, path, class, name, msg);
        } else if (snprintf(below, sizeof below, "%s/%s", path, name) >= (int)sizeof below) {
            status =
                wick_msg_set(msg, WICK_ERR_UNSUPPORTED, "%s: a path of more than %d bytes", path, WICK_PATH_BYTES - 1);
        } else {
            status = list(f, below, name, msg);
        }
    }
    if (status == WICK_OK && errno)
        status = wick_msg_set(msg, WICK_ERR_IO, "%s: cannot list: %s", path, strerror(errno));
    closedir(dir);
    return status;
}

wick_status wick_folder_list(wick_folder *f, const char *path, const wick_allocator *alloc, wick_msg *msg) {
    *f = (wick_folder){.alloc = alloc};
    wick_arena_init(&f->arena, alloc, 1 << 14);
    const wick_status status = list(f, path, NULL, msg);
    if (status != WICK_OK)
        wick_folder_free(f);
    else if (f->count)
        qsort(f->files, f->count, sizeof *f->files, by_bytes);
    return status;
}

void wick_folder_free(wick_folder *f) {
    wick_release(f->alloc, f->files, f->cap * sizeof *f->files);
    wick_arena_free(&f->arena);
    *f = (wick_folder){0};
}
