/* file.c: any bytes as a whole file. */
#include "wick/io.h"

#include "tensor/tensor.h"

wick_status wick_file_write(wick_context *ctx, const char *path, const void *data, size_t size) {
    wick_writer *w;
    WICK_TRY(wick_writer_open(&w, path, &ctx->msg));
    wick_status status = wick_writer_write(w, data, size, &ctx->msg);
    if (status == WICK_OK) return wick_writer_commit(&w, &ctx->msg);
    wick_writer_abort(&w);
    return status;
}
