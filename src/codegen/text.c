/* text.c: text that grows. */
#include "codegen/text.h"

#include <stdarg.h>
#include <stdio.h>

static bool reserve(wick_text *t, size_t more) {
    size_t need;
    void *at = t->at;
    t->failed = t->failed || wick_add_overflows(t->len, more, &need) || wick_add_overflows(need, 1, &need) ||
                !wick_grow(t->alloc, &at, &t->cap, need, 1);
    if (!t->failed) t->at = at;
    return !t->failed;
}

void wick_text_bytes(wick_text *t, const char *bytes, size_t n) {
    if (!reserve(t, n)) return;
    memcpy(t->at + t->len, bytes, n);
    t->at[t->len += n] = 0;
}

void wick_text_add(wick_text *t, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    const int n = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    if (n < 0) t->failed = true;
    if (n < 0 || !reserve(t, (size_t)n)) return;
    va_start(args, fmt);
    vsnprintf(t->at + t->len, (size_t)n + 1, fmt, args);
    va_end(args);
    t->len += (size_t)n;
}

void wick_text_replaced(wick_text *t, const char *text, size_t n, const char *const (*pairs)[2], int n_pairs) {
    size_t from = 0;
    for (size_t i = 0; i < n;) {
        int hit = 0;
        while (hit < n_pairs &&
               (strlen(pairs[hit][0]) > n - i || memcmp(text + i, pairs[hit][0], strlen(pairs[hit][0])) != 0))
            hit++;
        if (hit == n_pairs) {
            i++;
            continue;
        }
        wick_text_bytes(t, text + from, i - from);
        wick_text_bytes(t, pairs[hit][1], strlen(pairs[hit][1]));
        from = i += strlen(pairs[hit][0]);
    }
    wick_text_bytes(t, text + from, n - from);
}

void wick_text_free(wick_text *t) {
    wick_release(t->alloc, t->at, t->cap);
    *t = (wick_text){.alloc = t->alloc};
}
