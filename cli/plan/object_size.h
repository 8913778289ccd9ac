/* object_size.h: what an object file takes of a machine, from the sections of its ELF header. */
#ifndef WICK_CLI_OBJECT_SIZE_H
#define WICK_CLI_OBJECT_SIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct object_size {
    int64_t code, constant, ram; /* bytes: instructions; what is read only; what is written, or zero at first */
} object_size;
/* Of the bytes of an ELF file of 32 or 64 bits in little-endian order; false: they are none. */
bool object_size_read(const uint8_t *data, size_t size, object_size *out);
/* Compiles `source` by the shell command `cc`, with -std=c11 -c, to a file beside it that is removed again. false: it
 * failed, or what it wrote is no ELF file. */
bool object_size_compiled(const char *cc, const char *source, object_size *out);

#endif
