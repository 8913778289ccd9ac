/* html.h: the frame of a page that needs nothing but itself, in light and dark; and text that is no markup. */
#ifndef WICK_CLI_HTML_H
#define WICK_CLI_HTML_H

#include <stdio.h>

/* Escapes what HTML and SVG give a meaning, for text and for attributes in quotes. Bytes that are not UTF-8 and control
 * characters become U+FFFD. */
void html_text(FILE *out, const char *text);
/* printf whose result is escaped. */
__attribute__((format(printf, 2, 3))) void html_print(FILE *out, const char *format, ...);

/* The style sheet, for what lies in a page or in an SVG by itself. */
void html_style(FILE *out);
/* Everything up to the content of <main>, and what follows it. The policy in the head keeps a browser from fetching. */
void html_begin(FILE *out, const char *title);
void html_end(FILE *out);

#endif
