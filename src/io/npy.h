/* npy.h: arrays in NumPy's form, in files of their own and in .npz archives. */
#ifndef WICK_IO_NPY_H
#define WICK_IO_NPY_H

#include "tensor/tensor.h"

typedef struct wick_npy_header {
    wick_dtype dtype;
    bool swapped, fortran; /* bytes in the other order; columns first */
    int rank;
    int64_t dims[WICK_MAX_DIMS];
    size_t offset, bytes; /* of the elements: where they begin, and how many bytes they have */
    char texts;           /* 'U': its elements are texts of UCS-4, 'S': of bytes; 0: numbers */
    size_t width;         /* bytes of a text, filled up with zeros */
} wick_npy_header;

/* Of an array of `size` bytes, whose first `have` ones are at data: all that is needed are those before the elements.
 */
WICK_MUST_CHECK wick_status wick_npy_parse(const uint8_t *data, size_t have, size_t size, const char *name,
                                           wick_npy_header *h, wick_msg *msg);
/* The elements at data as a tensor, in place where they can be read so. release(user) is called once, when nothing
 * needs data any more. */
wick_tensor *wick_npy_tensor(wick_context *ctx, const wick_npy_header *h, const uint8_t *data, const char *name,
                             void (*release)(void *user), void *user);

/* The texts at data, which lie in C order, as UTF-8 in the arena. WICK_ERR_FORMAT: one is not Unicode. */
WICK_MUST_CHECK wick_status wick_npy_texts(wick_arena *arena, const wick_npy_header *h, const uint8_t *data,
                                           const char *name, const char ***out, size_t *n, wick_msg *msg);

enum { WICK_NPY_HEADER = 512 };
/* What stands before elements of a descr such as "<f4"; its length. */
size_t wick_npy_make_header_of(char text[WICK_NPY_HEADER], const char *descr, int rank, const int64_t *dims);
/* Of a dtype; 0: NumPy has none such. */
size_t wick_npy_make_header(char text[WICK_NPY_HEADER], wick_dtype dtype, int rank, const int64_t *dims);

#endif
