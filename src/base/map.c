/* map.c: a file's bytes, mapped or copied. Its size is taken once, when it is opened: readers check every length
 * against that. A file that another process truncates while it is mapped raises SIGBUS on access, as with every
 * mapping. The address sanitizer is told where the file ends in its last page, which it would take for all of it. */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"

#if WICK_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
static size_t tail(const wick_map *map) { return (size_t)-map->size % (size_t)sysconf(_SC_PAGESIZE); }
static void poison(const wick_map *map) { __asan_poison_memory_region(map->data + map->size, tail(map)); }
static void unpoison(const wick_map *map) { __asan_unpoison_memory_region(map->data + map->size, tail(map)); }
#else
static void poison(const wick_map *map) { (void)map; }
static void unpoison(const wick_map *map) { (void)map; }
#endif

static const uint8_t nothing[1];

/* Its size, once it is known to be a file that has one. */
static wick_status check(int fd, const char *path, size_t *size, wick_msg *msg) {
    struct stat st;
    if (fstat(fd, &st) != 0)
        return wick_msg_set(msg, WICK_ERR_IO, "%s: cannot read its size: %s", path, strerror(errno));
    if (S_ISDIR(st.st_mode)) return wick_msg_set(msg, WICK_ERR_IO, "%s: cannot read: %s", path, strerror(EISDIR));
    if (!S_ISREG(st.st_mode)) return wick_msg_set(msg, WICK_ERR_IO, "%s: cannot read: not a regular file", path);
    if ((uintmax_t)st.st_size > PTRDIFF_MAX)
        return wick_msg_set(msg, WICK_ERR_IO, "%s: cannot map: %s", path, strerror(EFBIG));
    *size = (size_t)st.st_size;
    return WICK_OK;
}

wick_status wick_map_descriptor(wick_map *map, int fd, const char *path, wick_msg *msg) {
    size_t size = 0;
    *map = (wick_map){.data = nothing};
    wick_status status = check(fd, path, &size, msg);
    if (status != WICK_OK) return *map = (wick_map){0}, status;
    if (!size) return WICK_OK;
    void *at = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
    *map = at == MAP_FAILED ? (wick_map){0} : (wick_map){at, size, .mapped = true};
    if (!map->mapped)
        return wick_msg_set(msg, errno == ENOMEM ? WICK_ERR_NOMEM : WICK_ERR_IO, "%s: cannot map: %s", path,
                            strerror(errno));
    poison(map);
    return WICK_OK;
}

static wick_status read_descriptor(wick_map *map, int fd, const char *path, wick_msg *msg) {
    size_t size = 0;
    wick_status status = check(fd, path, &size, msg);
    if (status != WICK_OK) return status;
    uint8_t *to = size ? wick_alloc(NULL, size) : NULL;
    *map = to ? (wick_map){to, size, .copied = true} : (wick_map){.data = nothing};
    if (size && !to) status = wick_msg_set(msg, WICK_ERR_NOMEM, "%s: out of memory: %zu bytes", path, size);
    for (size_t have = 0; have < size && status == WICK_OK;) {
        const ssize_t n = read(fd, to + have, WICK_MIN(size - have, (size_t)1 << 30));
        if (n > 0) have += (size_t)n;
        else if (n == 0)
            status = wick_msg_set(msg, WICK_ERR_IO, "%s: was cut off to %zu of its %zu bytes while it was read", path,
                                  have, size);
        else if (errno != EINTR) status = wick_msg_set(msg, WICK_ERR_IO, "%s: cannot read: %s", path, strerror(errno));
    }
    if (status != WICK_OK) wick_map_close(map);
    return status;
}

static wick_status open_to_read(int *fd, const char *path, wick_msg *msg) {
    if (!path) return wick_msg_set(msg, WICK_ERR_INVALID, "no path given to read");
    do /* O_NONBLOCK: opening a FIFO must not wait for a writer */
        *fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    while (*fd < 0 && errno == EINTR);
    return *fd < 0 ? wick_msg_set(msg, WICK_ERR_IO, "%s: cannot open: %s", path, strerror(errno)) : WICK_OK;
}

wick_status wick_file_open(int *fd, size_t *size, const char *path, wick_msg *msg) {
    *fd = -1;
    WICK_TRY(open_to_read(fd, path, msg));
    const wick_status status = check(*fd, path, size, msg);
    if (status != WICK_OK) close(*fd), *fd = -1;
    return status;
}

wick_status wick_read_at(int fd, uint64_t at, void *to, size_t n, const char *path, wick_msg *msg) {
    for (size_t have = 0; have < n;) {
        const ssize_t got = pread(fd, (uint8_t *)to + have, WICK_MIN(n - have, (size_t)1 << 30), (off_t)(at + have));
        if (got > 0) have += (size_t)got;
        else if (got == 0)
            return wick_msg_set(msg, WICK_ERR_IO, "%s: byte %llu: the file was cut off while it was read", path,
                                (unsigned long long)(at + have));
        else if (errno != EINTR)
            return wick_msg_set(msg, WICK_ERR_IO, "%s: byte %llu: cannot read: %s", path,
                                (unsigned long long)(at + have), strerror(errno));
    }
    return WICK_OK;
}

static wick_status open_by(wick_status (*get)(wick_map *, int, const char *, wick_msg *), wick_map *map,
                           const char *path, wick_msg *msg) {
    *map = (wick_map){0};
    int fd;
    WICK_TRY(open_to_read(&fd, path, msg));
    const wick_status status = get(map, fd, path, msg);
    close(fd);
    return status;
}

wick_status wick_map_open(wick_map *map, const char *path, wick_msg *msg) {
    return open_by(wick_map_descriptor, map, path, msg);
}
wick_status wick_map_read(wick_map *map, const char *path, wick_msg *msg) {
    return open_by(read_descriptor, map, path, msg);
}

void wick_map_close(wick_map *map) {
    if (map->mapped) {
        unpoison(map);
        munmap((void *)(uintptr_t)map->data, map->size);
    }
    if (map->copied) wick_release(NULL, (void *)(uintptr_t)map->data, map->size);
    *map = (wick_map){0};
}
