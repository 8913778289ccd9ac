#include "data/sets/walk.h"

#include "data/formats/codecs.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static bool find(char path[WICK_PATH_BYTES], bool *is_archive, const char *folder, const char *split) {
    static const char *const endings[] = {".tar.gz", ".tar", ""};
    for (size_t i = 0; i < WICK_COUNTOF(endings); i++) {
        struct stat st;
        const int n = snprintf(path, WICK_PATH_BYTES, "%s/%s%s", folder, split, endings[i]);
        *is_archive = *endings[i] != 0;
        if (n < WICK_PATH_BYTES && stat(path, &st) == 0 && (*is_archive ? !S_ISDIR(st.st_mode) : S_ISDIR(st.st_mode)))
            return true;
    }
    return false;
}

bool wick_walk_exists(const char *folder, const char *split) {
    char path[WICK_PATH_BYTES];
    bool is_archive;
    return find(path, &is_archive, folder, split);
}

wick_status wick_walk_open(wick_walk *w, const char *folder, const char *split, const wick_allocator *alloc,
                           wick_msg *msg) {
    *w = (wick_walk){0};
    w->found = find(w->path, &w->is_archive, folder, split);
    if (!w->found) return WICK_OK;
    if (!w->is_archive) return wick_folder_list(&w->folder, w->path, alloc, msg);
    WICK_TRY(wick_map_open(&w->map, w->path, msg));
    const wick_status status = wick_tar_open(&w->tar, w->map.data, w->map.size, w->path, msg);
    if (status != WICK_OK) wick_map_close(&w->map);
    return status;
}

/* "." or "..", as a part of a path. */
static bool is_dots(const char *part, size_t n) { return n <= 2 && strspn(part, ".") >= n; }

/* The class is the folder that the file is in. */
static wick_status take_class(wick_walk *w, const char *file, wick_msg *msg) {
    const char *end = strrchr(file, '/'), *begin = end;
    while (begin && begin > file && begin[-1] != '/') begin--;
    const size_t n = begin ? (size_t)(end - begin) : 0;
    if (n == 0 || is_dots(begin, n))
        return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: is in no folder, which would be its class", w->name);
    if (n >= sizeof w->class_name)
        return wick_msg_set(msg, WICK_ERR_UNSUPPORTED, "%s: the name of a class has at most 255 bytes", w->name);
    memcpy(w->class_name, begin, n);
    w->class_name[n] = 0;
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)begin[i] < ' ' || begin[i] == 127)
            return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: byte %zu of the name of its class is a control character",
                                w->path, i);
    return WICK_OK;
}

/* What is hidden, or in a hidden folder, is passed over as in a folder; macOS puts a file "._NAME" beside each in an
 * archive. */
static bool is_wanted(const char *file) {
    for (const char *part = file;; part += strcspn(part, "/") + 1) {
        const size_t n = strcspn(part, "/");
        if (*part == '.' && !is_dots(part, n)) return false;
        if (!part[n]) return wick_picture_named(part);
    }
}

static wick_status next_of_archive(wick_walk *w, bool *more, wick_msg *msg) {
    do WICK_TRY(wick_tar_next(&w->tar, more, msg));
    while (*more && !is_wanted(w->tar.name));
    if (!*more) return WICK_OK;
    snprintf(w->name, sizeof w->name, "%s: %s", w->path, w->tar.name);
    w->size = w->tar.size;
    return take_class(w, w->tar.name, msg);
}

static wick_status next_of_folder(wick_walk *w, bool *more, wick_msg *msg) {
    wick_map_close(&w->map);
    *more = w->next < w->folder.count;
    if (!*more) return WICK_OK;
    const char *file = w->folder.files[w->next++];
    snprintf(w->name, sizeof w->name, "%s/%s", w->path, file);
    WICK_TRY(take_class(w, file, msg));
    WICK_TRY(wick_map_read(&w->map, w->name, msg));
    w->size = w->map.size;
    return WICK_OK;
}

wick_status wick_walk_next(wick_walk *w, bool *more, wick_msg *msg) {
    *more = false;
    if (!w->found) return WICK_OK;
    return w->is_archive ? next_of_archive(w, more, msg) : next_of_folder(w, more, msg);
}

wick_status wick_walk_read(wick_walk *w, void *to, wick_msg *msg) {
    if (w->is_archive) return wick_tar_read(&w->tar, to, msg);
    memcpy(to, w->map.data, w->size);
    return WICK_OK;
}

void wick_walk_close(wick_walk *w) {
    wick_tar_close(&w->tar);
    wick_map_close(&w->map);
    wick_folder_free(&w->folder);
}
