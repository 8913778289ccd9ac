/* child.h: does something in a process of its own, so that it can neither harm nor hold up this one. */
#ifndef WICK_CLI_CHILD_H
#define WICK_CLI_CHILD_H

#include <stddef.h>

/* What fn writes to standard output, its first size - 1 bytes at most; "" when there is none. The child has no standard
 * input and no standard error, and ends when fn returns or after two seconds. To be called before the process has
 * threads. */
void child_output(char *text, size_t size, void (*fn)(const void *arg), const void *arg);

#endif
