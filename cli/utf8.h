/* utf8.h: names that come from files may be any bytes. */
#ifndef WICK_CLI_UTF8_H
#define WICK_CLI_UTF8_H

/* Length of the well-formed UTF-8 sequence at s (Unicode 15, table 3-7), or 0. */
int utf8_length(const unsigned char *s);

#endif
