/* page.h: pages of docs/ that tests write and compare. */
#ifndef WICK_TESTS_PAGE_H
#define WICK_TESTS_PAGE_H

#include <stdarg.h>

#include "test.h"
#include "wick/registry.h"

static char page[1 << 18];
static size_t length;

static void add(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static void add(const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(page + length, sizeof page - length, fmt, args);
    va_end(args);
    length += n > 0 ? (size_t)n : 0;
}

/* The dtypes of an op, the usual sets by name. */
static const char *dtypes_of(int i) {
    static char text[256];
    char set[WICK_DTYPE_COUNT + 1] = "";
    size_t n = 0;
    for (int d = 0; d < WICK_DTYPE_COUNT; d++) set[d] = wick_op_takes(i, (wick_dtype)d) ? '1' : '0';
    static const struct {
        wick_dtype from, to;
        const char *name;
    } sets[] = {{WICK_F32, WICK_BOOL, "all"},         {WICK_F32, WICK_U64, "numbers"},
                {WICK_F32, WICK_BF16, "floats"},      {WICK_I8, WICK_U64, "integers"},
                {WICK_F8_E4M3FN, WICK_F8_E8M0, "f8"}, {WICK_I4, WICK_F4_E2M1, "packed"}};
    text[0] = 0;
    for (size_t k = 0; k < sizeof sets / sizeof sets[0]; k++) {
        bool whole = true;
        for (int d = (int)sets[k].from; d <= (int)sets[k].to; d++) whole &= set[d] == '1';
        if (!whole) continue;
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%s", n ? ", " : "", sets[k].name);
        for (int d = (int)sets[k].from; d <= (int)sets[k].to; d++) set[d] = '0';
    }
    for (int d = 0; d < WICK_DTYPE_COUNT; d++)
        if (set[d] == '1')
            n += (size_t)snprintf(text + n, sizeof text - n, "%s%s", n ? ", " : "", wick_dtype_name((wick_dtype)d));
    return text;
}

#endif
