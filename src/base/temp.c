/* temp.c: temporary files. A name says which process made the file, so that a later process can tell and remove what a
 * killed one left. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/base.h"
#include "base/temp.h"

enum { NAME_TRIES = 64 };
static _Atomic unsigned serial; /* the next n */

void wick_temp_name(char *to, const char *name) {
    const unsigned n = atomic_fetch_add_explicit(&serial, 1, memory_order_relaxed);
    sprintf(to, "%s.tmp-%ld-%u", name, (long)getpid(), n); /* at most WICK_TEMP_SUFFIX longer than name */
}

int wick_temp_create(int folder, const char *name, char *temp) {
    int fd = -1;
    for (int i = 0; i < NAME_TRIES && fd < 0; i++) {
        wick_temp_name(temp, name);
        do fd = openat(folder, temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
        while (fd < 0 && errno == EINTR);
        if (fd < 0 && errno != EEXIST) break; /* EEXIST: left behind by a process of the same number */
    }
    if (fd >= 0)
        (void)flock(
            fd,
            LOCK_EX |
                LOCK_NB); /* so that a process of another container, which knows nothing of this one, leaves it alone */
    return fd;
}

/* "<pid>-<n>" of a process that is gone: no other has the number, or this one has and has not come to n. */
static bool is_of_the_dead(const char *text) {
    static const char digits[] = "0123456789";
    const size_t pid = strspn(text, digits), n = text[pid] == '-' ? strspn(text + pid + 1, digits) : 0;
    if (!pid || pid > 9 || !n || n > 9 || text[pid + 1 + n]) return false;
    const pid_t maker = (pid_t)atoi(text);
    if (maker == getpid()) return (unsigned)atoi(text + pid + 1) >= atomic_load_explicit(&serial, memory_order_relaxed);
    return kill(maker, 0) != 0 && errno == ESRCH;
}

static bool is_locked(int folder, const char *name) {
    const int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0) return true; /* not for this user to remove */
    /* Where there are no locks, another machine may be at work with it: what is left stays. */
    const bool locked = flock(fd, LOCK_EX | LOCK_NB) != 0;
    close(fd);
    return locked;
}

void wick_temp_clean(int folder, const char *name) {
    const size_t length = strlen(name);
    const int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    if (!dir && fd >= 0) close(fd);
    for (struct dirent *e; dir && (e = readdir(dir));) {
        if (strncmp(e->d_name, name, length) != 0) continue;
        const char *rest = e->d_name + length;
        if (strncmp(rest, ".prev", 5) == 0) rest += 5;
        if (strncmp(rest, ".tmp-", 5) != 0 || !is_of_the_dead(rest + 5) || is_locked(folder, e->d_name)) continue;
        if (unlinkat(folder, e->d_name, 0) != 0) wick_remove_tree(folder, e->d_name);
    }
    if (dir) closedir(dir);
}

void wick_remove_tree(int above, const char *name) {
    const int fd = openat(above, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    if (!dir && fd >= 0) close(fd);
    for (struct dirent *e; dir && (e = readdir(dir));) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) continue;
        if (unlinkat(fd, e->d_name, 0) != 0) wick_remove_tree(fd, e->d_name);
    }
    if (dir) closedir(dir);
    unlinkat(above, name, AT_REMOVEDIR);
}
