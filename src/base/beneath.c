/* beneath.c: files that another file names, which must lie in its folder or below: every part of the path is opened
 * beneath the descriptor of the folder before it, so that neither "..", nor an absolute path, nor a symbolic link leads
 * out; a file with a second hard link is refused. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/beneath.h"

int wick_folder_of(const char *path) {
    char folder[4096];
    const char *slash = strrchr(path, '/');
    const size_t n = slash ? (size_t)(slash - path) + 1 : 0;
    if (n >= sizeof folder) return errno = ENAMETOOLONG, -1;
    memcpy(folder, path, n);
    memcpy(folder + n, n ? "" : ".", n ? 1 : 2);
    return open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static bool is_link(int folder, const char *name) {
    const int was = errno;
    struct stat st;
    const bool link = fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode);
    errno = was;
    return link;
}

/* Opens a path beneath the folder, a part at a time, following no link; -1 with a reason. */
static int open_beneath(int folder, const char *path, const char **why, bool *link) {
    char part[256];
    int at = folder, fd = -1;
    *link = false;
    *why = "is no path below the model's folder";
    if (*path == '/' || !*path || strchr(path, '\\')) return -1;
    for (const char *p = path;;) {
        const size_t n = strcspn(p, "/");
        const bool last = !p[n];
        fd = -1;
        if (!n || n >= sizeof part || (n == 2 && p[0] == '.' && p[1] == '.')) break;
        memcpy(part, p, n);
        part[n] = 0;
        fd = openat(at, part, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | (last ? 0 : O_DIRECTORY));
        if (fd < 0) *why = (*link = is_link(at, part)) ? "is a symbolic link" : strerror(errno);
        if (at != folder) close(at);
        at = fd;
        if (fd < 0 || last) return fd;
        p += n + 1;
    }
    if (at != folder && at >= 0) close(at);
    return -1;
}

static wick_status map_file(wick_map *map, int folder, const char *path, bool *link, wick_msg *msg) {
    const char *why;
    struct stat st;
    *map = (wick_map){0};
    const int fd = open_beneath(folder, path, &why, link);
    if (fd < 0) return wick_msg_set(msg, WICK_ERR_IO, "\"%.200s\" %s", path, why);
    wick_status status = WICK_OK;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_nlink != 1)
        status = wick_msg_set(msg, WICK_ERR_FORMAT, "\"%.200s\" is no regular file with one name", path);
    else status = wick_map_descriptor(map, fd, path, msg);
    close(fd);
    return status;
}

wick_status wick_map_beneath(wick_map *map, int folder, const char *path, wick_msg *msg) {
    bool link;
    return map_file(map, folder, path, &link, msg);
}

/* ---- links ------------------------------------------------------------------------------------------------------- */

/* Where a path leads in the end: in `to`, without its last part if `parent`. */
static bool lead(const char *path, bool parent, char to[PATH_MAX]) {
    if (!realpath(path, to)) return false;
    char *slash = parent ? strrchr(to, '/') : NULL;
    if (slash) slash[slash == to] = 0;
    return true;
}

/* The file, if it lies beneath this folder, none of whose parts is a link: opened again from there. */
static bool map_resolved(wick_map *map, const char *folder, const char *file, wick_status *status, wick_msg *msg) {
    const size_t n = strcmp(folder, "/") ? strlen(folder) : 0;
    if (strncmp(file, folder, n) != 0 || file[n] != '/') return false;
    const int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    bool link;
    if (fd < 0) return false;
    *status = map_file(map, fd, file + n + 1, &link, msg);
    close(fd);
    return true;
}

typedef struct paths {
    char named[2 * PATH_MAX], file[PATH_MAX], folder[PATH_MAX];
} paths;

wick_status wick_map_beside(wick_map *map, const char *path, int folder, const char *name, wick_msg *msg) {
    bool link;
    wick_status status = map_file(map, folder, name, &link, msg);
    if (status == WICK_OK || !link) return status;
    const char *slash = strrchr(path, '/');
    const int n = slash ? (int)(slash - path) + 1 : 0;
    paths *p = n < PATH_MAX && strlen(name) < PATH_MAX ? wick_alloc(NULL, sizeof *p) : NULL;
    if (!p) return wick_msg_set(msg, WICK_ERR_NOMEM, "\"%.200s\": its path is too long, or there is no memory", name);
    snprintf(p->named, sizeof p->named, "%.*s%s", n, path, name);
    status = wick_msg_set(msg, WICK_ERR_IO,
                          "\"%.200s\" is a symbolic link that leads out of the folder, or nowhere: put a copy of the "
                          "file itself there (cp -L; of the Hugging Face cache: download to a local_dir)",
                          name);
    if (lead(p->named, false, p->file) &&
        !(lead(path, true, p->folder) && map_resolved(map, p->folder, p->file, &status, msg))) {
        snprintf(p->named, sizeof p->named, "%.*s", n ? n : 1, n ? path : ".");
        if (lead(p->named, false, p->folder)) map_resolved(map, p->folder, p->file, &status, msg);
    }
    wick_release(NULL, p, sizeof *p);
    return status;
}
