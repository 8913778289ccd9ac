/* numbers.h: numbers that a command is given, as an input of a model holds them: integers exactly, floats rounded. */
#ifndef WICK_CLI_NUMBERS_H
#define WICK_CLI_NUMBERS_H

#include "../cli.h"

#include "wick/onnx.h"
#include "wick/tensor.h"

/* "0.5" or "1/255" at *text, which moves on. */
bool number_read(const char **text, double *value);
/* A tensor of the input's dtype with the number `text` everywhere. `what` stands in messages. WICK_ERR_MISMATCH: the
 * dtype can't hold it; no double is between the text and an integer. */
wick_status number_fill(wick_context *ctx, const wick_onnx_port *p, const char *what, const char *text, int rank,
                        const int64_t *dims, wick_tensor **out);
/* Makes *t the input's dtype. WICK_ERR_MISMATCH, with the first element and its place: integers and bools must be held
 * exactly; floats may be rounded (*rounded: some integer was), but none becomes infinite. */
wick_status number_convert(wick_context *ctx, const wick_onnx_port *p, const char *what, wick_tensor **t,
                           bool *rounded);
/* Whether a dtype holds integers; *least and *most: from where to where. */
bool number_range(wick_dtype dtype, int64_t *least, uint64_t *most);

#endif
