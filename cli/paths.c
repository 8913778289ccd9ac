#include "paths.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

char *path_join(const char *folder, const char *name) {
    char *path;
    size_t length = strlen(folder);
    return asprintf(&path, "%s%s%s", folder, length && folder[length - 1] == '/' ? "" : "/", name) < 0 ? NULL : path;
}

bool path_is_folder(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

bool path_exists(const char *path) { return access(path, F_OK) == 0; }

bool path_same(const char *a, const char *b) {
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

int path_head(const char *path, unsigned char *head, size_t size) {
    struct stat st;
    /* opening a pipe would be seen at its other end */
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)) return errno = ENOTSUP, -1;
    const int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) return -1;
    ssize_t n = fstat(fd, &st);
    if (n == 0 && !S_ISREG(st.st_mode)) n = -1, errno = S_ISDIR(st.st_mode) ? EISDIR : ENOTSUP;
    if (n == 0) n = pread(fd, head, size, 0);
    const int error = errno;
    close(fd);
    errno = error;
    return (int)n;
}

char *path_read(const char *path, size_t *size) {
    enum { MOST = 64 << 20 };
    FILE *f = fopen(path, "rbe");
    char *text = NULL, *more;
    size_t room = 0, n = 0;
    int error = 0;
    while (f && !error) {
        if (n + 1 >= room) {
            if (n >= MOST) error = EFBIG;
            else if (!(more = realloc(text, room = room ? 2 * room : 1 << 16))) error = ENOMEM;
            else text = more;
            if (error) break;
        }
        const size_t got = fread(text + n, 1, room - n - 1, f);
        if (!got) break;
        n += got;
    }
    if (!f || (!error && ferror(f))) error = errno;
    if (f) fclose(f);
    if (!error) return text[*size = n] = '\0', text;
    free(text);
    errno = error;
    return NULL;
}

bool path_make_folder(const char *path) {
    char *copy = strdup(path);
    if (!copy) return false;
    bool ok = true;
    for (char *s = copy + 1; ok && *copy; s++) {
        char c = *s;
        if (c != '/' && c != '\0') continue;
        *s = '\0';
        ok = mkdir(copy, 0777) == 0 || (errno == EEXIST && path_is_folder(copy));
        *s = c;
        if (c == '\0') break;
    }
    if (!*copy) errno = ENOENT, ok = false;
    int error = errno;
    free(copy);
    errno = error;
    return ok;
}

char *path_absolute(const char *path) {
    char *whole = realpath(path, NULL);
    return whole || errno != ENOENT ? whole : path_placed(path);
}

char *path_placed(const char *path) {
    const char *slash = strrchr(path, '/');
    char *folder = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
    char *above = folder ? realpath(folder, NULL) : NULL;
    free(folder);
    if (!above) return NULL;
    char *whole = path_join(above, slash ? slash + 1 : path);
    free(above);
    return whole;
}

void path_quote(char *out, size_t size, const char *text) {
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789@%+=:,./-_";
    size_t n = 0;
    bool bare = *text && text[strspn(text, plain)] == '\0';
    if (!bare && n + 1 < size) out[n++] = '\'';
    for (; *text; text++) {
        const char *piece = *text == '\'' ? "'\\''" : (char[]){*text, '\0'};
        for (; *piece; piece++)
            if (n + 1 < size) out[n++] = *piece;
    }
    if (!bare && n + 1 < size) out[n++] = '\'';
    out[n] = '\0';
}
