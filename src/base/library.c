#include "base/library.h"

#include <dlfcn.h>

/* ISO C has no conversion from void * to a function pointer; POSIX promises that copying the bits works. */
static bool find(void *handle, const wick_symbol *symbol) {
    void *at = dlsym(handle, symbol->name);
    memcpy(symbol->function, &at, sizeof at);
    return at != NULL;
}

wick_status wick_library_open(void **handle, const wick_library *library, int n, const wick_symbol *symbols,
                              const char *name, wick_msg *msg) {
    *handle = NULL;
    for (size_t i = 0; i < WICK_COUNTOF(library->files) && !*handle; i++)
        if (library->files[i]) *handle = dlopen(library->files[i], RTLD_NOW | RTLD_LOCAL);
    if (!*handle)
        return wick_msg_set(msg, WICK_ERR_UNSUPPORTED, "%s: %s needs %s, which is not on this machine", name,
                            library->purpose, library->package);
    for (int i = 0; i < n; i++) {
        if (find(*handle, &symbols[i])) continue;
        dlclose(*handle);
        *handle = NULL;
        return wick_msg_set(msg, WICK_ERR_UNSUPPORTED, "%s: %s needs %s; the one of this machine lacks %s", name,
                            library->purpose, library->package, symbols[i].name);
    }
    return WICK_OK;
}
