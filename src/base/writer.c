/* writer.c: the atomic writer. The new file grows beside its target under another name and takes the target's name in
 * one step, so a reader or a crash sees the old file or the new one, whole.
 *
 *   open:   folder opened, what killed writers of the name left in it removed, "<name>.tmp-<pid>-<n>" created
 *   write:  64 KiB buffer -> temporary
 *   commit: rest of buffer, fsync, close, rename, fsync of the folder
 *
 * The folder is held open, so a chdir between open and commit changes nothing. A target that is a symbolic link is
 * replaced by the new file; what the link named stays.
 *
 * A file that is extended in place has no temporary. Its old bytes stay, and its format has to say where the valid part
 * ends: those bytes are patched last, when all others are on the disk. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"
#include "base/temp.h"

#ifndef O_PATH
#define O_PATH O_RDONLY
#endif

enum { BUFFER = 65536 };

struct wick_writer {
    size_t size;      /* of this block */
    int folder, file; /* -1: closed */
    bool sync_folder;
    bool in_place; /* no temporary, no folder */
    off_t keep;    /* in place: where abort cuts the file off; -1: not known yet */
    int error;        /* errno of the first failed write: a file with a hole is never committed */
    const char *path; /* as given, for messages; name: its part in the folder */
    const char *name;
    char *temp; /* name of the temporary in the folder */
    size_t used;
    uint8_t buffer[BUFFER];
};

static wick_status io_error(wick_msg *msg, const char *path, const char *what, int error) {
    static const char limit[] = ", beyond what ulimit -f or the file system allows";
    return wick_msg_set(msg, WICK_ERR_IO, "%s: %s: %s%s", path, what, strerror(error), error == EFBIG ? limit : "");
}

static void writer_free(wick_writer *w) {
    if (w->file >= 0) close(w->file);
    if (w->folder >= 0) close(w->folder);
    wick_release(NULL, w, w->size);
}

static wick_writer *writer_new(const char *path) {
    size_t len = strlen(path), size;
    if (wick_mul_overflows(len, 2, &size) ||
        wick_add_overflows(size, sizeof(wick_writer) + 1 + WICK_TEMP_SUFFIX, &size))
        return NULL;
    wick_writer *w = wick_alloc(NULL, size);
    if (!w) return NULL;
    char *copy = (char *)(w + 1), *slash;
    memcpy(copy, path, len + 1);
    w->size = size;
    w->folder = w->file = -1;
    w->sync_folder = true;
    w->in_place = false;
    w->keep = -1;
    w->error = 0;
    w->path = copy;
    slash = strrchr(copy, '/');
    w->name = slash ? slash + 1 : copy;
    w->temp = copy + len + 1;
    w->used = 0;
    return w;
}

static int open_folder(wick_writer *w) {
    /* w->temp is as long as the path, and not yet in use. */
    size_t len = (size_t)(w->name - w->path);
    memcpy(w->temp, len ? w->path : "./", len ? len : 2);
    w->temp[len ? len : 2] = 0;
    w->folder = open(w->temp, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (w->folder < 0 && errno == EACCES) { /* a folder may be writable and not readable; then it cannot be synced */
        w->folder = open(w->temp, O_PATH | O_DIRECTORY | O_CLOEXEC);
        w->sync_folder = false;
    }
    return w->folder < 0 ? errno : 0;
}

/* Why the target cannot be replaced; NULL: it can. */
static const char *refusal(const wick_writer *w) {
    struct stat st;
    if (!*w->name) return strerror(EISDIR);
    if (fstatat(w->folder, w->name, &st, 0) != 0 || S_ISREG(st.st_mode)) return NULL;
    /* Renaming over /dev/null would replace the device. */
    return S_ISDIR(st.st_mode) ? strerror(EISDIR) : "not a regular file";
}

static int create_temp(wick_writer *w) {
    wick_temp_clean(w->folder, w->name);
    w->file = wick_temp_create(w->folder, w->name, w->temp);
    return w->file < 0 ? errno : 0;
}

wick_status wick_writer_open(wick_writer **out, const char *path, wick_msg *msg) {
    *out = NULL;
    if (!path || !*path) return wick_msg_set(msg, WICK_ERR_INVALID, "no path given to write");
    wick_writer *w = writer_new(path);
    if (!w) return wick_msg_set(msg, WICK_ERR_NOMEM, "%s: out of memory", path);

    wick_status status = WICK_OK;
    const char *why;
    int error = open_folder(w);
    if (error) {
        status = io_error(msg, path, "cannot open its folder", error);
    } else if ((why = refusal(w)) != NULL) {
        status = wick_msg_set(msg, WICK_ERR_IO, "%s: cannot write: %s", path, why);
    } else if ((error = create_temp(w)) != 0) {
        status = io_error(msg, path, "cannot create a temporary file beside it", error);
    }
    if (status != WICK_OK)
        writer_free(w);
    else
        *out = w;
    return status;
}

/* Writes all of it, or notes the error. */
static void put(wick_writer *w, const uint8_t *at, size_t size) {
    while (size && !w->error) {
        /* One call moves at most 0x7ffff000 bytes on Linux; asking for more than SSIZE_MAX is undefined. */
        ssize_t n = write(w->file, at, WICK_MIN(size, (size_t)1 << 30));
        if (n > 0)
            at += n, size -= (size_t)n;
        else if (n == 0)
            w->error = ENOSPC; /* a regular file takes at least one byte, or says why not */
        else if (errno != EINTR)
            w->error = errno;
    }
}

static void flush(wick_writer *w) {
    put(w, w->buffer, w->used);
    w->used = 0;
}

wick_status wick_writer_write(wick_writer *w, const void *data, size_t size, wick_msg *msg) {
    if (size > BUFFER - w->used) {
        flush(w);
        if (size >= BUFFER) {
            put(w, data, size);
            size = 0;
        }
    }
    if (w->error) return io_error(msg, w->path, "cannot write", w->error);
    if (size) memcpy(w->buffer + w->used, data, size);
    w->used += size;
    return WICK_OK;
}

static int sync_fd(int fd) {
    int rc;
    do rc = fsync(fd);
    while (rc != 0 && errno == EINTR);
    return rc == 0 ? 0 : errno;
}

wick_status wick_writer_patch(wick_writer *w, uint64_t at, const void *data, size_t size, wick_msg *msg) {
    flush(w);
    if (!w->error) w->error = sync_fd(w->file);
    for (const uint8_t *from = data; size && !w->error;) {
        const ssize_t n = pwrite(w->file, from, size, (off_t)at);
        if (n > 0) from += n, at += (uint64_t)n, size -= (size_t)n;
        else if (n == 0) w->error = ENOSPC;
        else if (errno != EINTR) w->error = errno;
    }
    return w->error ? io_error(msg, w->path, "cannot write", w->error) : WICK_OK;
}

/* 0, or an errno. */
static int cut(wick_writer *w) {
    int rc;
    do rc = ftruncate(w->file, w->keep);
    while (rc != 0 && errno == EINTR);
    return rc == 0 ? 0 : errno;
}

wick_status wick_writer_extend(wick_writer **out, const char *path, wick_map *map, wick_msg *msg) {
    *out = NULL;
    *map = (wick_map){0};
    if (!path || !*path) return wick_msg_set(msg, WICK_ERR_INVALID, "no path given to write");
    wick_writer *w = writer_new(path);
    if (!w) return wick_msg_set(msg, WICK_ERR_NOMEM, "%s: out of memory", path);
    w->in_place = true;
    do w->file = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW);
    while (w->file < 0 && errno == EINTR);
    wick_status status = WICK_OK;
    if (w->file < 0 && errno == ELOOP)
        status = wick_msg_set(msg, WICK_ERR_IO, "%s: is a symbolic link: name the file that it leads to", path);
    else if (w->file < 0) status = io_error(msg, path, "cannot open to write", errno);
    else if (flock(w->file, LOCK_EX | LOCK_NB) != 0 &&
             errno == EWOULDBLOCK) /* a file system without locks has none to respect */
        status = wick_msg_set(msg, WICK_ERR_BUSY, "%s: another writer has it open", path);
    else status = wick_map_descriptor(map, w->file, path, msg);
    if (status != WICK_OK) writer_free(w);
    else *out = w;
    return status;
}

wick_status wick_writer_keep(wick_writer *w, uint64_t keep, wick_msg *msg) {
    w->keep = (off_t)keep;
    if (!w->error) w->error = cut(w);
    if (!w->error && lseek(w->file, w->keep, SEEK_SET) < 0) w->error = errno;
    return w->error ? io_error(msg, w->path, "cannot write", w->error) : WICK_OK;
}

wick_status wick_writer_commit(wick_writer **slot, wick_msg *msg) {
    wick_writer *w = *slot;
    if (!w) return wick_msg_set(msg, WICK_ERR_INVALID, "nothing to commit: the writer is not open");
    *slot = NULL;
    flush(w);
    int error = w->error ? w->error : sync_fd(w->file);
    if (close(w->file) != 0 && !error) error = errno; /* network file systems report a full disk here */
    w->file = -1;
    if (!error && !w->in_place && renameat(w->folder, w->temp, w->folder, w->name) != 0) error = errno;
    wick_status status = WICK_OK;
    if (error) {
        if (!w->in_place) unlinkat(w->folder, w->temp, 0);
        status = io_error(msg, w->path, "cannot write", error);
    } else if (w->sync_folder && !w->in_place) {
        error = sync_fd(w->folder);
        if (error && error != EINVAL && error != ENOTSUP) /* those: a file system whose folders need no sync */
            status = io_error(msg, w->path, "written, but its folder could not be synced", error);
    }
    writer_free(w);
    return status;
}

void wick_writer_abort(wick_writer **slot) {
    wick_writer *w = *slot;
    if (!w) return;
    *slot = NULL;
    if (!w->in_place) unlinkat(w->folder, w->temp, 0);
    else if (w->keep >= 0) cut(w);
    writer_free(w);
}
