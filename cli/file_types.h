/* file_types.h: what a file is, by first bytes (wick/kinds.h) and not by names, for all commands: what a kind is
 * called, what it can serve as, and which command takes it. */
#ifndef WICK_CLI_FILE_TYPES_H
#define WICK_CLI_FILE_TYPES_H

#include "cli.h"

/* What a kind of file can be to a command. */
enum {
    AS_MODEL = 1 /* ONNX */,
    AS_RUN = 2 /* what wick train leaves: a checkpoint, or its folder */,
    AS_TENSORS = 4,
    AS_ARRAY = 8,
    AS_PICTURE = 16,
    AS_RECORDING = 32
};

typedef struct file_kind {
    const char *format; /* as --json says it: "png" */
    const char *name;   /* "a PNG picture" */
    unsigned as;        /* a bit set of the above; 0: Wick does not read it */
    /* what takes it, or how it becomes something that Wick reads; %s stands for the file's name. NULL: nobody knows */
    const char *advice;
} file_kind;

#define KIND_UNKNOWN "of no kind that its first bytes tell"
/* NULL: it can't be read, errno says why. What tells nothing of itself (KIND_UNKNOWN) may be anything: its reader says.
 * Valid until the next call. */
const file_kind *kind_of(const char *path);
/* "photo.png is a PNG picture, not a model; wick ...". wanted: "a model". Returns text. */
const char *kind_why(const char *path, const file_kind *kind, const char *wanted, char *text, size_t size);
/* Says that, or of NULL what errno says; an exit code. */
int kind_refuse(const char *path, const file_kind *kind, const char *wanted);
/* CLI_OK if the file can be one of `as`; else an exit code, and it has been said. */
int kind_check(const char *path, unsigned as, const char *wanted);

#endif
