/* beneath.c: files that another file names, which must lie in its folder or below: every part of the path is opened beneath the descriptor of the folder before it, so that
 * neither "..", nor an absolute path, nor a symbolic link leads out; a file with a second hard link is refused. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"

int wick_folder_of(const char *path) {
    char folder[4096];
    const char *slash = strrchr(path, '/');
    const size_t n = slash ? (size_t)(slash - path) + 1 : 0;
    if (n >= sizeof folder) return errno = ENAMETOOLONG, -1;
    memcpy(folder, path, n);
    memcpy(folder + n, n ? "" : ".", n ? 1 : 2);
    return open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* Opens a path beneath the folder, a part at a time, following no link; -1 with a reason. */
static int open_beneath(int folder, const char *path, const char **why) {
    char part[256];
    int at = folder, fd = -1;
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
        if (fd < 0) *why = errno == ELOOP ? "is a symbolic link" : strerror(errno);
        if (at != folder) close(at);
        at = fd;
        if (fd < 0 || last) return fd;
        p += n + 1;
    }
    if (at != folder && at >= 0) close(at);
    return -1;
}

wick_status wick_map_beneath(wick_map *map, int folder, const char *path, wick_msg *msg) {
    const char *why;
    struct stat st;
    *map = (wick_map){0};
    const int fd = open_beneath(folder, path, &why);
    if (fd < 0) return wick_msg_set(msg, WICK_ERR_IO, "\"%.200s\" %s", path, why);
    wick_status status = WICK_OK;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_nlink != 1)
        status = wick_msg_set(msg, WICK_ERR_FORMAT, "\"%.200s\" is no regular file with one name", path);
    else status = wick_map_descriptor(map, fd, path, msg);
    close(fd);
    return status;
}
