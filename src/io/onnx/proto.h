/* proto.h: a reader of protocol buffers (protobuf.dev, "Encoding") for hostile input, driven by tables. A message
 * becomes a struct in an arena; texts and bytes stay where they are in the input.
 *
 * Stricter than the format asks: groups, a field of another wire type than its table says, and a second value of a
 * field that is not repeated are refused. */
#ifndef WICK_IO_ONNX_PROTO_H
#define WICK_IO_ONNX_PROTO_H

#include "base/base.h"

/* Bytes of the input; not terminated. Those of a field that is absent are "". */
typedef struct wick_bytes {
    const char *at;
    size_t size;
} wick_bytes;

/* What every message's struct begins with. */
typedef struct wick_proto_head {
    size_t place; /* byte of the input where the message begins */
    uint32_t has; /* bit i: field i of the table was there */
} wick_proto_head;

typedef enum wick_proto_kind {
    WICK_PROTO_INT,    /* int64_t: every varint */
    WICK_PROTO_FLOAT,  /* float */
    WICK_PROTO_DOUBLE, /* double */
    WICK_PROTO_BYTES,  /* wick_bytes */
    WICK_PROTO_MESSAGE /* pointer to its struct; NULL: absent */
} wick_proto_kind;

/* Where a field goes. A repeated one is a pointer to an array (of structs for messages), then its size_t length. */
typedef struct wick_proto_field {
    uint32_t number;
    uint8_t kind;
    bool repeated;
    size_t offset;
    const char *name;
    const struct wick_proto_message *message;
} wick_proto_field;

typedef struct wick_proto_message {
    const char *name;
    size_t size; /* of the struct */
    int n;       /* fields, at most 32 */
    const wick_proto_field *fields;
} wick_proto_message;

/* 0 means the default, which is given. */
typedef struct wick_proto_limits {
    size_t memory; /* for structs and arrays: 1 GiB */
    int depth;     /* of messages within each other: 100, as in protobuf's own readers */
    wick_watch *watch; /* over the time that it takes; NULL: as long as it takes */
} wick_proto_limits;

/* Decodes the input into *out, a struct of the message's size, and all below it into the arena. Time and memory grow
 * with the input alone, and nothing recurses. WICK_ERR_FORMAT: "graph.node[3].attribute[0] (byte 17): ...";
 * WICK_ERR_UNSUPPORTED: a limit; WICK_ERR_NOMEM; what the watch says. */
WICK_MUST_CHECK wick_status wick_proto_decode(const wick_proto_message *message, const void *input, size_t size,
                                              const wick_proto_limits *limits, wick_arena *arena, void *out,
                                              wick_msg *msg);

#endif
