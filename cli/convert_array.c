/* convert_array.c: wick convert's rows for files of arrays. */
#include "convert.h"
#include "talk.h"

#include "wick/io.h"

int convert_npy_to_npy(wick_context *ctx, const cli_options *o) {
    const wick_status status = wick_npy_write(ctx, o->files[0], wick_npy_read(ctx, o->model));
    return status == WICK_OK ? CLI_OK : talk_fail(talk_code(status, CLI_BAD_FILE), "%s", talk_why(ctx, status));
}
