/* schema.h: the messages of ONNX (github.com/onnx/onnx, onnx/onnx.proto and onnx-data.proto, IR version 13) as structs.
 * What Wick does not use (documentation, denotations, device configurations, metadata but the model's, training
 * information) is left out. */
#ifndef WICK_IO_ONNX_SCHEMA_H
#define WICK_IO_ONNX_SCHEMA_H

#include "io/onnx/proto.h"

/* TensorProto.DataType */
enum {
    ONNX_UNDEFINED,
    ONNX_FLOAT,
    ONNX_UINT8,
    ONNX_INT8,
    ONNX_UINT16,
    ONNX_INT16,
    ONNX_INT32,
    ONNX_INT64,
    ONNX_STRING,
    ONNX_BOOL,
    ONNX_FLOAT16,
    ONNX_DOUBLE,
    ONNX_UINT32,
    ONNX_UINT64,
    ONNX_COMPLEX64,
    ONNX_COMPLEX128,
    ONNX_BFLOAT16,
    ONNX_FLOAT8E4M3FN,
    ONNX_FLOAT8E4M3FNUZ,
    ONNX_FLOAT8E5M2,
    ONNX_FLOAT8E5M2FNUZ,
    ONNX_UINT4,
    ONNX_INT4,
    ONNX_FLOAT4E2M1,
    ONNX_FLOAT8E8M0,
    ONNX_UINT2,
    ONNX_INT2,
    ONNX_TYPES
};

/* AttributeProto.AttributeType */
enum {
    ONNX_ATTR_UNDEFINED,
    ONNX_ATTR_FLOAT,
    ONNX_ATTR_INT,
    ONNX_ATTR_STRING,
    ONNX_ATTR_TENSOR,
    ONNX_ATTR_GRAPH,
    ONNX_ATTR_FLOATS,
    ONNX_ATTR_INTS,
    ONNX_ATTR_STRINGS,
    ONNX_ATTR_TENSORS,
    ONNX_ATTR_GRAPHS,
    ONNX_ATTR_SPARSE_TENSOR,
    ONNX_ATTR_SPARSE_TENSORS,
    ONNX_ATTR_TYPE_PROTO,
    ONNX_ATTR_TYPE_PROTOS,
    ONNX_ATTR_KINDS
};

#define WICK_LIST(type) struct { type *at; size_t n; }

typedef struct onnx_pair { /* StringStringEntryProto */
    wick_proto_head head;
    wick_bytes key, value;
} onnx_pair;

typedef struct onnx_opset { /* OperatorSetIdProto */
    wick_proto_head head;
    wick_bytes domain;
    int64_t version;
} onnx_opset;

typedef struct onnx_dim { /* TensorShapeProto.Dimension; neither value nor name: unknown */
    wick_proto_head head;
    int64_t value;
    wick_bytes name;
} onnx_dim;
enum { ONNX_DIM_HAS_VALUE = 1, ONNX_DIM_HAS_NAME = 2 };

typedef struct onnx_shape {
    wick_proto_head head;
    WICK_LIST(onnx_dim) dims;
} onnx_shape;

typedef struct onnx_tensor_type {
    wick_proto_head head;
    int64_t elem;
    onnx_shape *shape; /* NULL: of unknown rank */
} onnx_tensor_type;

typedef struct onnx_type { /* TypeProto: one of them */
    wick_proto_head head;
    onnx_tensor_type *tensor, *sparse;
    struct onnx_elem_type *sequence, *optional;
    struct onnx_map_type *map;
} onnx_type;

typedef struct onnx_elem_type {
    wick_proto_head head;
    onnx_type *elem;
} onnx_elem_type;

typedef struct onnx_map_type {
    wick_proto_head head;
    int64_t key;
    onnx_type *value;
} onnx_map_type;

typedef struct onnx_value_info {
    wick_proto_head head;
    wick_bytes name;
    onnx_type *type;
} onnx_value_info;

typedef struct onnx_tensor { /* TensorProto */
    wick_proto_head head;
    WICK_LIST(int64_t) dims;
    int64_t type, location; /* location 1: external */
    WICK_LIST(float) floats;
    WICK_LIST(int64_t) int32s; /* of all types of up to 32 bits, f16 and bf16 */
    WICK_LIST(wick_bytes) strings;
    WICK_LIST(int64_t) int64s;
    WICK_LIST(double) doubles;
    WICK_LIST(int64_t) uint64s; /* u32 and u64 */
    wick_bytes name, raw, segment; /* segment: not read, and refused */
    WICK_LIST(onnx_pair) external;
} onnx_tensor;
enum { ONNX_TENSOR_HAS_RAW = 1 << 10 };

typedef struct onnx_sparse { /* SparseTensorProto */
    wick_proto_head head;
    onnx_tensor *values, *indices;
    WICK_LIST(int64_t) dims;
} onnx_sparse;

typedef struct onnx_attr { /* AttributeProto */
    wick_proto_head head;
    wick_bytes name, reference; /* reference: the name of a function's attribute */
    int64_t type, i;
    float f;
    wick_bytes s;
    onnx_tensor *t;
    struct onnx_graph *g;
    onnx_sparse *sparse;
    onnx_type *tp;
    WICK_LIST(float) floats;
    WICK_LIST(int64_t) ints;
    WICK_LIST(wick_bytes) strings;
    WICK_LIST(onnx_tensor) tensors;
    WICK_LIST(struct onnx_graph) graphs;
} onnx_attr;

typedef struct onnx_node { /* NodeProto */
    wick_proto_head head;
    WICK_LIST(wick_bytes) in, out; /* "": not there */
    wick_bytes name, op, domain, overload;
    WICK_LIST(onnx_attr) attrs;
} onnx_node;

typedef struct onnx_graph { /* GraphProto */
    wick_proto_head head;
    wick_bytes name;
    WICK_LIST(onnx_node) nodes;
    WICK_LIST(onnx_tensor) initializers;
    WICK_LIST(onnx_sparse) sparse;
    WICK_LIST(onnx_value_info) in, out, info;
} onnx_graph;

typedef struct onnx_function { /* FunctionProto */
    wick_proto_head head;
    wick_bytes name, domain, overload;
    WICK_LIST(wick_bytes) in, out, attrs;
    WICK_LIST(onnx_node) nodes;
    WICK_LIST(onnx_attr) defaults; /* attributes that have one */
    WICK_LIST(onnx_opset) opsets;
} onnx_function;

typedef struct onnx_model { /* ModelProto */
    wick_proto_head head;
    int64_t ir_version;
    wick_bytes producer, producer_version;
    WICK_LIST(onnx_opset) opsets;
    onnx_graph *graph;
    WICK_LIST(onnx_function) functions;
    WICK_LIST(onnx_pair) meta;
} onnx_model;

/* Values on their own, as in files of test data. */
typedef struct onnx_sequence { /* SequenceProto: elem is 1 tensor, 2 sparse, 3 sequence, 4 map, 5 optional */
    wick_proto_head head;
    wick_bytes name;
    int64_t elem;
    WICK_LIST(onnx_tensor) tensors;
    WICK_LIST(struct onnx_sequence) sequences;
    WICK_LIST(struct onnx_map) maps;
    WICK_LIST(struct onnx_optional) optionals;
} onnx_sequence;

typedef struct onnx_map { /* MapProto */
    wick_proto_head head;
    wick_bytes name;
    int64_t key_type;
    WICK_LIST(int64_t) keys;
    WICK_LIST(wick_bytes) string_keys;
    onnx_sequence *values;
} onnx_map;

typedef struct onnx_optional { /* OptionalProto */
    wick_proto_head head;
    wick_bytes name;
    int64_t elem;
    onnx_tensor *tensor;
    onnx_sequence *sequence;
    onnx_map *map;
    struct onnx_optional *optional;
} onnx_optional;

extern const wick_proto_message wick_onnx_model_message, wick_onnx_tensor_message, wick_onnx_sequence_message,
    wick_onnx_optional_message, wick_onnx_map_message;

#endif
