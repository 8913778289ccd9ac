/* utf8.h: where a character of UTF-8 ends. */
#ifndef WICK_BASE_UTF8_H
#define WICK_BASE_UTF8_H

#include <stddef.h>

/* Bytes of the UTF-8 sequence at p (RFC 3629: no overlong forms, no surrogates, at most U+10FFFF), or 0. */
size_t wick_utf8_next(const unsigned char *p, size_t left);

#endif
