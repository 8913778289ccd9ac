/* helpers.c: files, contexts and numbers for the targets. */
#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/inflate.h"
#include "fuzz.h"

int64_t fuzz_integer(fuzz_random *r) {
    static const uint8_t widths[] = {7, 8, 15, 16, 31, 32, 62, 63};
    const int64_t small = (int64_t)fuzz_below(r, 9) - 3;
    switch (fuzz_below(r, 8)) {
    case 0: {
        const int64_t end = (int64_t)(UINT64_C(1) << widths[fuzz_below(r, sizeof widths)]);
        return (fuzz_chance(r, 50) ? end : -end) + small;
    }
    case 1: return (int64_t)(UINT64_C(1) << fuzz_below(r, 64));
    case 2: return (int64_t)fuzz_below(r, 1000);
    default: return small;
    }
}

double fuzz_real(fuzz_random *r) {
    static const double special[] = {0,     -0.0,  1,        -1,        0.5, 1e-45,        1e-310, 1e38,
                                     -3e38, 1e300, INFINITY, -INFINITY, NAN, 2147483648.0, 9.3e18, -9.3e18};
    const size_t k = fuzz_below(r, 2 * WICK_COUNTOF(special));
    return k < WICK_COUNTOF(special) ? special[k] : (double)fuzz_integer(r) / 4;
}

/* Where there is no libFuzzer: a byte or a few, changed, put in or taken out. */
static size_t plain_bytes(uint8_t *data, size_t size, size_t max) {
    static fuzz_random r = {1};
    const size_t at = fuzz_below(&r, size);
    switch (fuzz_below(&r, 3)) {
    case 0:
        if (size) data[at] ^= (uint8_t)(1u << fuzz_below(&r, 8));
        return size;
    case 1:
        if (size < 2) return size;
        memmove(data + at, data + at + 1, size - at - 1);
        return size - 1;
    default:
        if (size >= max) return size;
        memmove(data + at + 1, data + at, size - at);
        data[at] = (uint8_t)fuzz_next(&r);
        return size + 1;
    }
}
size_t (*fuzz_bytes)(uint8_t *data, size_t size, size_t max) = plain_bytes;

static wick_context *context;
static unsigned uses;
void fuzz_context_drop(void) { wick_context_free(&context); }
wick_context *fuzz_context(void) {
    enum { USES = 64 };
    if (context && ++uses % USES == 0) fuzz_context_drop();
    if (!context &&
        wick_context_new(&(wick_context_options){.threads = 1, .plan_cache_bytes = 4 << 20}, &context) != WICK_OK)
        abort();
    wick_context_clear_error(context);
    return context;
}

static char folder[64];
static void remove_folder(void) {
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    if (system(command)) {
    }
}
const char *fuzz_folder(void) {
    if (*folder) return folder;
    snprintf(folder, sizeof folder, "%s/wick-fuzz-XXXXXX", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    if (!mkdtemp(folder)) abort();
    atexit(remove_folder);
    return folder;
}
const char *fuzz_file(const char *name, const uint8_t *data, size_t size) {
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", fuzz_folder(), name);
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size) abort();
    close(fd);
    return path;
}

void fuzz_broken(const char *what, const char *file, int line) {
    fprintf(stderr, "%s:%d: a promise is broken: %s\n", file, line, what);
    abort();
}
void fuzz_touch(const void *data, size_t size) {
    static volatile uint8_t sink;
    uint8_t all = 0;
    for (size_t i = 0; i < size; i++) all ^= ((const uint8_t *)data)[i];
    sink = all;
    (void)sink;
}

void fuzz_put(fuzz_buffer *b, const void *data, size_t n) {
    if (n > b->max - b->n) b->full = true;
    if (b->full) return;
    if (n) memcpy(b->at + b->n, data, n);
    b->n += n;
}
void fuzz_print(fuzz_buffer *b, const char *fmt, ...) {
    char text[1024];
    va_list args;
    va_start(args, fmt);
    const int n = vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    fuzz_put(b, text, (size_t)WICK_MIN(n, (int)sizeof text - 1));
}
void fuzz_fill(fuzz_buffer *b, size_t n, fuzz_random *r) {
    if (n > b->max - b->n) b->full = true;
    for (size_t i = 0; i < n && !b->full; i++) b->at[b->n++] = (uint8_t)(fuzz_next(r) & 1);
}

void fuzz_little(fuzz_buffer *b, uint64_t v, int bytes) {
    for (; bytes--; v >>= 8) fuzz_put(b, &(uint8_t){(uint8_t)v}, 1);
}
void fuzz_big(fuzz_buffer *b, uint64_t v, int bytes) {
    while (bytes--) fuzz_put(b, &(uint8_t){(uint8_t)(bytes < 8 ? v >> 8 * bytes : 0)}, 1);
}
void fuzz_deflate(fuzz_buffer *b, int bits, const void *data, size_t n) {
    uint8_t *packed;
    size_t size, room;
    if (wick_deflate(bits, &(wick_bytes){data, n}, 1, &packed, &size, &room, "", "", NULL) != WICK_OK) abort();
    fuzz_put(b, packed, size);
    wick_release(NULL, packed, room);
}
