/* proto_write.h: a writer of protocol buffers (protobuf.dev, "Encoding"). A message is built in memory and then put
 * into the one around it. */
#ifndef WICK_IO_ONNX_PROTO_WRITE_H
#define WICK_IO_ONNX_PROTO_WRITE_H

#include "base/base.h"

typedef struct wick_proto_out {
    uint8_t *at;
    size_t n, cap;
    bool nomem; /* something is missing */
} wick_proto_out;

void wick_proto_put_int(wick_proto_out *o, uint32_t field, int64_t value);
void wick_proto_put_float(wick_proto_out *o, uint32_t field, float value);
void wick_proto_put_bytes(wick_proto_out *o, uint32_t field, const void *data, size_t size);
void wick_proto_put_text(wick_proto_out *o, uint32_t field, const char *text);
void wick_proto_put_message(wick_proto_out *o, uint32_t field, wick_proto_out *message); /* which is emptied */
void wick_proto_append(wick_proto_out *o, const void *fields, size_t size); /* encoded already */
/* What comes before `size` bytes that are written elsewhere. */
void wick_proto_put_head(wick_proto_out *o, uint32_t field, size_t size);
void wick_proto_drop(wick_proto_out *o);

#endif
