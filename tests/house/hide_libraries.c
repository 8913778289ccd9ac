/* hide_libraries.c: for LD_PRELOAD: dlopen finds no library whose name begins with one of WICK_HIDDEN_LIBRARIES
 * ("libz.so libspng.so"), as on a machine without them. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

static int is_hidden(const char *file) {
    const char *names = getenv("WICK_HIDDEN_LIBRARIES");
    for (const char *at = names; at && file && *at; at += strspn(at, " ")) {
        const size_t n = strcspn(at, " ");
        if (n && strncmp(file, at, n) == 0) return 1;
        at += n;
    }
    return 0;
}

void *dlopen(const char *file, int flags);
void *dlopen(const char *file, int flags) {
    void *at = dlsym(RTLD_NEXT, "dlopen");
    void *(*next)(const char *, int);
    memcpy(&next, &at, sizeof at); /* ISO C has no conversion from void * to a function pointer; POSIX promises that
                                      copying the bits works */
    return next(is_hidden(file) ? "hidden by a test" : file, flags); /* which is nowhere, and dlerror(3) says so */
}
