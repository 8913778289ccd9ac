/* lines.c: lines of printed C. */
#include <stdarg.h>
#include <stdio.h>

#include "aot/print.h"

void wick_c_line(wick_text *t, int depth, const char *fmt, ...) {
    char text[512];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    wick_text_add(t, "%*s%s\n", 4 * depth, "", text);
}
