/* files.h: what a record file that files were packed into says of them: the lines of its meta, and the name before each
 * file's bytes. docs/data.md, "Packed files". */
#ifndef WICK_DATA_FILES_H
#define WICK_DATA_FILES_H

#define WICK_NO_SITES
#include "base/base.h"
#include "tensor/tensor.h" /* the context's allocator */
#include "wick/files.h"

enum { WICK_FILE_NAME_MAX = 4096, WICK_FILE_CLASSES_MAX = 65536 };

typedef enum wick_packed { WICK_PACKED_OTHER, WICK_PACKED_FILES, WICK_PACKED_ARRAY } wick_packed;
typedef struct wick_packed_meta {
    wick_packed kind;
    wick_spec spec;      /* WICK_PACKED_ARRAY */
    int64_t classes;
    const char **names;  /* of classes, in the arena */
} wick_packed_meta;

/* name stands in messages. Lines that are not known are passed over. WICK_ERR_FORMAT, WICK_ERR_NOMEM. */
WICK_MUST_CHECK wick_status wick_packed_read(wick_packed_meta *m, const char *text, wick_arena *arena, const char *name,
                                             wick_msg *msg);
/* What precedes the bytes of a file in its record, and its name, which has no zero behind it. WICK_ERR_FORMAT: the
 * record has none. */
WICK_MUST_CHECK wick_status wick_packed_name(const uint8_t *record, size_t size, char name[WICK_FILE_NAME_MAX],
                                             size_t *before, const char *path, int64_t i, wick_msg *msg);

/* Of class names in the order of their bytes; -1: it is not among them. */
int64_t wick_class_find(const char *const *names, int64_t n, const char *name);
/* The folder that a file lies in; "": in none. WICK_ERR_FORMAT: a control character in it; WICK_ERR_UNSUPPORTED: it is
 * longer than 255 bytes. */
WICK_MUST_CHECK wick_status wick_class_of(const char *name, char class_name[256], const char *path, wick_msg *msg);

/* wick_files_next with a message instead of the context's error. */
WICK_MUST_CHECK wick_status wick_files_take(wick_files *f, wick_file *out, bool *more, wick_msg *msg);
wick_context *wick_files_context(const wick_files *f);

/* One file by number, for any number of threads; not of archives and IDX. It is read to *own, of *room bytes from
 * `alloc`, which the caller releases in any case. `name` is for messages: where the file is. */
typedef struct wick_file_bytes {
    uint8_t *own;
    size_t room;
    const uint8_t *data;
    size_t size;
    int64_t label;
    char name[2 * WICK_FILE_NAME_MAX + 2];
} wick_file_bytes;
/* Its label, and of a record its bytes too (else 0): what the index or its name says, without a byte of it. */
WICK_MUST_CHECK wick_status wick_files_label(const wick_files *f, int64_t i, int64_t *label, size_t *size,
                                             wick_msg *msg);
/* Of a record file, those of these files that are on a disk begin to be read. */
void wick_files_ahead(const wick_files *f, const int64_t *files, int64_t n);
WICK_MUST_CHECK wick_status wick_files_bytes(const wick_files *f, int64_t i, const wick_allocator *alloc,
                                             wick_file_bytes *out, wick_msg *msg);

#endif
