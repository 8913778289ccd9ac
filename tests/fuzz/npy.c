/* npy.c: NumPy's files. Most mutants have a header made anew with as many elements as it says, the others one that is
 * changed as a text. */
#include <stdio.h>

#include "fuzz.h"

FUZZ_TARGET(npy) {
    wick_context *ctx = fuzz_context();
    wick_scope *scope = wick_scope_open(ctx);
    const char *path = fuzz_file("a.npy", data, size), *text;
    wick_tensor *t = wick_npy_read(ctx, path);
    const bool good = wick_tensor_error(t, &text) == WICK_OK;
    if (good) {
        const void *at;
        char again[300];
        snprintf(again, sizeof again, "%s/b.npy", fuzz_folder());
        if (wick_data(t, &at) == WICK_OK) {
            fuzz_touch(at, wick_dtype_bytes(wick_tensor_dtype(t), wick_tensor_count(t)));
            FUZZ_PROMISE(wick_npy_write(ctx, again, t) == WICK_OK);
            wick_tensor *u = wick_npy_read(ctx, again);
            FUZZ_PROMISE(wick_tensor_error(u, NULL) == WICK_OK && wick_tensor_count(u) == wick_tensor_count(t));
        }
    } else FUZZ_PROMISE(strstr(text, path));
    wick_scope_close(&scope);
    return good;
}

size_t fuzz_make_npy(uint8_t *to, size_t max, fuzz_random *r) {
    static const char *const descr[] = {"<f4", "<f8", "<f2", "<i8", "<i4", "<i2", "|i1", "|u1", "<u2",
                                        "<u4", "<u8", "|b1", ">f4", ">i8", ">f8", ">u2", "=f4"};
    const char *d = descr[fuzz_below(r, WICK_COUNTOF(descr))];
    fuzz_buffer b = {to, 0, max, false};
    const int version = 1 + (int)fuzz_below(r, 3);
    size_t bytes = (size_t)(d[2] - '0');
    char text[400];
    int n = snprintf(text, sizeof text, "{'descr': '%s', 'fortran_order': %s, 'shape': (", d,
                     fuzz_chance(r, 50) ? "False" : "True");
    const int rank = (int)fuzz_below(r, WICK_MAX_DIMS + 1);
    for (int i = 0; i < rank; i++) {
        const int extent = (int)fuzz_below(r, i < 3 ? 5 : 2) + (i >= 3);
        bytes *= (size_t)extent;
        n += snprintf(text + n, sizeof text - (size_t)n, "%d,", extent);
    }
    n += snprintf(text + n, sizeof text - (size_t)n, "), }%*s\n", (int)fuzz_below(r, 64), "");
    const uint8_t head[12] = {0x93, 'N', 'U', 'M', 'P', 'Y', (uint8_t)version, 0, (uint8_t)n, (uint8_t)(n >> 8), 0, 0};
    fuzz_put(&b, head, version == 1 ? 10 : 12);
    fuzz_put(&b, text, (size_t)n);
    fuzz_fill(&b, bytes, r);
    return b.full ? 0 : b.n;
}

FUZZ_MUTATOR(npy) {
    const size_t made = fuzz_chance(r, 60) ? fuzz_make_npy(data, max, r) : 0;
    if (made) size = made;
    if (made && fuzz_chance(r, 90)) return size;
    if (size < 10 || fuzz_chance(r, 10)) return fuzz_bytes(data, size, max);
    const size_t first = data[6] == 1 ? 10 : 12;
    size_t length = data[8] | (size_t)data[9] << 8;
    if (size < first || length > size - first) return fuzz_bytes(data, size, max);
    char text[2048];
    if (length > 1024) return fuzz_bytes(data, size, max);
    memcpy(text, data + first, length);
    const size_t rest = size - first - length,
                 now = fuzz_json_text(text, length, WICK_MIN(sizeof text, max - first - rest), r);
    memmove(data + first + now, data + first + length, rest);
    memcpy(data + first, text, now);
    data[8] = (uint8_t)now, data[9] = (uint8_t)(now >> 8);
    return first + now + rest;
}
