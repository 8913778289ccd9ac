/* text.h: text that grows. Once memory is out, what is added is dropped, and the flag stays: whoever prints asks once,
 * at the end. */
#ifndef WICK_CODEGEN_TEXT_H
#define WICK_CODEGEN_TEXT_H

#include "base/base.h"

typedef struct wick_text {
    const wick_allocator *alloc; /* NULL: the default */
    char *at;                    /* with a zero behind it; NULL: empty */
    size_t len, cap;
    bool failed;
} wick_text;
void wick_text_add(wick_text *t, const char *fmt, ...) WICK_PRINTF(2, 3);
void wick_text_bytes(wick_text *t, const char *bytes, size_t n);
/* `text` with every `from` in it as `to`. */
void wick_text_replaced(wick_text *t, const char *text, size_t n, const char *const (*pairs)[2], int n_pairs);
void wick_text_free(wick_text *t);

#endif
