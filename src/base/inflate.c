#include "base/inflate.h"

#include <dlfcn.h>

wick_status wick_inflate_start(wick_inflate *z, int bits, const char *purpose, const char *name, wick_msg *msg) {
    const wick_library zlib = {purpose, "zlib (libz.so.1; Debian: zlib1g)", {"libz.so.1", "libz.so", "libz.1.dylib"}};
    int (*init)(wick_zstream *, int bits, const char *version, int size);
    const wick_symbol symbols[] = {{"inflateInit2_", &init}, {"inflate", &z->inflate}, {"inflateReset", &z->reset}, {"inflateEnd", &z->end}};
    *z = (wick_inflate){0};
    WICK_TRY(wick_library_open(&z->library, &zlib, WICK_COUNTOF(symbols), symbols, name, msg));
    const int code = init(&z->stream, bits, "1.2.0", (int)sizeof z->stream);
    z->started = code == WICK_Z_OK;
    if (z->started) return WICK_OK;
    return code == WICK_Z_MEM_ERROR ? wick_msg_set(msg, WICK_ERR_NOMEM, "%s: out of memory in zlib", name)
                                    : wick_msg_set(msg, WICK_ERR_UNSUPPORTED, "%s: the zlib of this machine is not version 1", name);
}

void wick_inflate_stop(wick_inflate *z) {
    if (z->started) z->end(&z->stream);
    if (z->library) dlclose(z->library);
    *z = (wick_inflate){0};
}
