/* map.c: a file mapped for reading. Its size is taken once, when it is opened: readers check every length against that.
 * A file that another process truncates while it is mapped raises SIGBUS on access, as with every mapping. */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"

wick_status wick_map_open(wick_map *map, const char *path, wick_msg *msg) {
    *map = (wick_map){0};
    if (!path) return wick_msg_set(msg, WICK_ERR_INVALID, "no path given to read");
    int fd;
    do /* O_NONBLOCK: opening a FIFO must not wait for a writer */
        fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    while (fd < 0 && errno == EINTR);
    if (fd < 0) return wick_msg_set(msg, WICK_ERR_IO, "%s: cannot open: %s", path, strerror(errno));
    const wick_status status = wick_map_descriptor(map, fd, path, msg);
    close(fd);
    return status;
}

wick_status wick_map_descriptor(wick_map *map, int fd, const char *path, wick_msg *msg) {
    static const uint8_t nothing[1] = {0};
    *map = (wick_map){0};
    struct stat st;
    wick_status status = WICK_OK;
    if (fstat(fd, &st) != 0) {
        status = wick_msg_set(msg, WICK_ERR_IO, "%s: cannot read its size: %s", path, strerror(errno));
    } else if (S_ISDIR(st.st_mode)) {
        status = wick_msg_set(msg, WICK_ERR_IO, "%s: cannot read: %s", path, strerror(EISDIR));
    } else if (!S_ISREG(st.st_mode)) {
        status = wick_msg_set(msg, WICK_ERR_IO, "%s: cannot read: not a regular file", path);
    } else if ((uintmax_t)st.st_size > PTRDIFF_MAX) {
        status = wick_msg_set(msg, WICK_ERR_IO, "%s: cannot map: %s", path, strerror(EFBIG));
    } else if (st.st_size == 0) {
        map->data = nothing;
    } else {
        void *at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (at == MAP_FAILED)
            status = wick_msg_set(msg, errno == ENOMEM ? WICK_ERR_NOMEM : WICK_ERR_IO, "%s: cannot map: %s", path, strerror(errno));
        else
            *map = (wick_map){at, (size_t)st.st_size, true};
    }
    return status;
}

void wick_map_close(wick_map *map) {
    if (map->mapped) munmap((void *)(uintptr_t)map->data, map->size);
    *map = (wick_map){0};
}
