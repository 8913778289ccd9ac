/* proto_write.c: the writer of protocol buffers. */
#include "io/onnx/export/proto_write.h"

enum { VARINT = 0, BYTES = 2, FIXED32 = 5 };

static void put(wick_proto_out *o, const void *data, size_t size) {
    size_t need;
    if (o->nomem || !size) return;
    if (wick_add_overflows(o->n, size, &need) || !wick_grow(NULL, (void **)&o->at, &o->cap, need, 1)) {
        o->nomem = true;
        return;
    }
    memcpy(o->at + o->n, data, size);
    o->n = need;
}

static void put_varint(wick_proto_out *o, uint64_t v) {
    uint8_t bytes[10];
    size_t n = 0;
    for (; v >= 0x80; v >>= 7) bytes[n++] = (uint8_t)(v | 0x80);
    bytes[n++] = (uint8_t)v;
    put(o, bytes, n);
}
static void put_tag(wick_proto_out *o, uint32_t field, int wire) {
    put_varint(o, (uint64_t)field << 3 | (uint64_t)wire);
}

void wick_proto_put_int(wick_proto_out *o, uint32_t field, int64_t value) {
    put_tag(o, field, VARINT);
    put_varint(o, (uint64_t)value);
}
void wick_proto_put_float(wick_proto_out *o, uint32_t field, float value) {
    uint32_t bits;
    uint8_t bytes[4];
    memcpy(&bits, &value, sizeof bits);
    for (int i = 0; i < 4; i++) bytes[i] = (uint8_t)(bits >> 8 * i);
    put_tag(o, field, FIXED32);
    put(o, bytes, sizeof bytes);
}
void wick_proto_put_head(wick_proto_out *o, uint32_t field, size_t size) {
    put_tag(o, field, BYTES);
    put_varint(o, size);
}
void wick_proto_put_bytes(wick_proto_out *o, uint32_t field, const void *data, size_t size) {
    wick_proto_put_head(o, field, size);
    put(o, data, size);
}
void wick_proto_put_text(wick_proto_out *o, uint32_t field, const char *text) {
    wick_proto_put_bytes(o, field, text, strlen(text));
}
void wick_proto_put_message(wick_proto_out *o, uint32_t field, wick_proto_out *message) {
    o->nomem |= message->nomem;
    wick_proto_put_bytes(o, field, message->at, message->n);
    message->n = 0;
}
void wick_proto_append(wick_proto_out *o, const void *fields, size_t size) { put(o, fields, size); }
void wick_proto_drop(wick_proto_out *o) {
    wick_release(NULL, o->at, o->cap);
    *o = (wick_proto_out){0};
}
