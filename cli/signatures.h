/* signatures.h: the functions of the public headers, as they look in C: written by signatures.cmake. */
#ifndef WICK_CLI_SIGNATURES_H
#define WICK_CLI_SIGNATURES_H

typedef struct signature {
    const char *name, *header, *text; /* "wick_relu", "wick/elementwise.h", "wick_tensor *wick_relu(wick_tensor *a)" */
} signature;
extern const signature signatures[]; /* of all headers; the last is cleared */

#endif
