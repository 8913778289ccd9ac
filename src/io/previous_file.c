#include "io/previous_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SUFFIX_MAX = WICK_TEMP_SUFFIX + 8 };

static wick_status former_error(wick_msg *msg, const char *path, int error) {
    return wick_msg_set(msg, WICK_ERR_IO, "%s: cannot keep the former file: %s", path, strerror(error));
}

static void former_free(wick_previous_file *f) {
    wick_release(f->alloc, f->path, f->block);
    f->path = NULL;
}

wick_status wick_previous_file_hold(wick_previous_file *f, const char *path, const wick_allocator *alloc,
                                    wick_msg *msg) {
    *f = (wick_previous_file){.alloc = alloc};
    struct stat st;
    if (stat(path, &st) != 0 || !S_ISREG(st.st_mode)) return WICK_OK; /* what is wrong with it the writer will say */
    const size_t len = strlen(path);
    if (wick_mul_overflows(len, 3, &f->block) || wick_add_overflows(f->block, 2 * SUFFIX_MAX + 1, &f->block))
        return wick_msg_set(msg, WICK_ERR_INVALID, "the path is too long");
    f->path = wick_alloc(alloc, f->block);
    if (!f->path) return wick_msg_set(msg, WICK_ERR_NOMEM, "%s: out of memory", path);
    f->prev = f->path + len + 1;
    f->held = f->prev + len + SUFFIX_MAX;
    memcpy(f->path, path, len + 1);
    sprintf(f->prev, "%s.prev", path);
    wick_temp_name(f->held, f->prev);
    if (link(path, f->held) == 0) return WICK_OK;
    if (errno == EEXIST && unlink(f->held) == 0 && link(path, f->held) == 0)
        return WICK_OK; /* of a process of the same number */
    int error = errno;
    if (error == EPERM || error == EOPNOTSUPP || error == ENOSYS || error == EMLINK) {
        f->moved = rename(path, f->prev) == 0;
        if (f->moved) return WICK_OK;
        error = errno;
    }
    former_free(f);
    return former_error(msg, path, error);
}

/* Best effort: not every file system syncs folders, and the names are in order without it. */
static void sync_folder(wick_previous_file *f) {
    char *slash = strrchr(f->path, '/');
    if (slash) slash[slash == f->path] = 0; /* path is of no further use */
    const int folder = open(slash ? f->path : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) return;
    (void)fsync(folder);
    close(folder);
}

wick_status wick_previous_file_keep(wick_previous_file *f, wick_msg *msg) {
    if (!f->path) return WICK_OK;
    wick_status status = WICK_OK;
    if (!f->moved && rename(f->held, f->prev) != 0) {
        status = former_error(msg, f->path, errno);
        unlink(f->held);
    } else {
        unlink(f->held); /* rename leaves both names of one file, which prev is when two savers held the same */
        sync_folder(f);
    }
    former_free(f);
    return status;
}

void wick_previous_file_drop(wick_previous_file *f) {
    if (!f->path) return;
    if (f->moved)
        (void)!rename(f->prev, f->path);
    else
        unlink(f->held);
    former_free(f);
}
