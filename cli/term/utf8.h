/* utf8.h: names that come from files may be any bytes. */
#ifndef WICK_CLI_UTF8_H
#define WICK_CLI_UTF8_H

#include <stdbool.h>
#include <stdint.h>

/* Length of the well-formed UTF-8 sequence at s (Unicode 15, table 3-7), or 0. */
int utf8_length(const unsigned char *s);
/* Whether the sequence at s, of that length, is shown as an escape: what a terminal takes for a command (C0 but tabs,
 * DEL, C1), for a new line or for text in another direction, and what nobody sees. 0, no sequence, is hidden too. */
bool utf8_hidden(const unsigned char *s, int length);
/* The code point of the sequence. */
uint32_t utf8_code(const unsigned char *s, int length);

#endif
