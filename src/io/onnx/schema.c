/* schema.c: which field of ONNX's messages goes where. The order of a table's rows is that of the bits in head.has. */
#include "io/onnx/schema.h"

/* clang-format off */
#define ONE(number, name, kind, field)              {number, WICK_PROTO_##kind, false, offsetof(M, field), name, NULL}
#define MANY(number, name, kind, field)             {number, WICK_PROTO_##kind, true, offsetof(M, field), name, NULL}
#define MESSAGE(number, name, field, message)       {number, WICK_PROTO_MESSAGE, false, offsetof(M, field), name, &message}
#define MESSAGES(number, name, field, message)      {number, WICK_PROTO_MESSAGE, true, offsetof(M, field), name, &message}
#define OF(text, fields) {text, sizeof(M), (int)WICK_COUNTOF(fields), fields}

static const wick_proto_message type_message, graph_message; /* they contain each other */

#define M onnx_pair
static const wick_proto_field pair_fields[] = {
    ONE(1, "key", BYTES, key),
    ONE(2, "value", BYTES, value),
};
static const wick_proto_message pair_message = OF("StringStringEntryProto", pair_fields);
#undef M

#define M onnx_opset
static const wick_proto_field opset_fields[] = {
    ONE(1, "domain", BYTES, domain),
    ONE(2, "version", INT, version),
};
static const wick_proto_message opset_message = OF("OperatorSetIdProto", opset_fields);
#undef M

#define M onnx_dim
static const wick_proto_field dim_fields[] = {
    ONE(1, "dim_value", INT, value),
    ONE(2, "dim_param", BYTES, name),
};
static const wick_proto_message dim_message = OF("Dimension", dim_fields);
#undef M

#define M onnx_shape
static const wick_proto_field shape_fields[] = {
    MESSAGES(1, "dim", dims, dim_message),
};
static const wick_proto_message shape_message = OF("TensorShapeProto", shape_fields);
#undef M

#define M onnx_tensor_type
static const wick_proto_field tensor_type_fields[] = {
    ONE(1, "elem_type", INT, elem),
    MESSAGE(2, "shape", shape, shape_message),
};
static const wick_proto_message tensor_type_message = OF("TypeProto.Tensor", tensor_type_fields);
#undef M

#define M onnx_elem_type
static const wick_proto_field elem_type_fields[] = {
    MESSAGE(1, "elem_type", elem, type_message),
};
static const wick_proto_message elem_type_message = OF("TypeProto.Sequence", elem_type_fields);
#undef M

#define M onnx_map_type
static const wick_proto_field map_type_fields[] = {
    ONE(1, "key_type", INT, key),
    MESSAGE(2, "value_type", value, type_message),
};
static const wick_proto_message map_type_message = OF("TypeProto.Map", map_type_fields);
#undef M

#define M onnx_type
static const wick_proto_field type_fields[] = {
    MESSAGE(1, "tensor_type", tensor, tensor_type_message),
    MESSAGE(4, "sequence_type", sequence, elem_type_message),
    MESSAGE(5, "map_type", map, map_type_message),
    MESSAGE(8, "sparse_tensor_type", sparse, tensor_type_message),
    MESSAGE(9, "optional_type", optional, elem_type_message),
};
static const wick_proto_message type_message = OF("TypeProto", type_fields);
#undef M

#define M onnx_value_info
static const wick_proto_field value_info_fields[] = {
    ONE(1, "name", BYTES, name),
    MESSAGE(2, "type", type, type_message),
};
static const wick_proto_message value_info_message = OF("ValueInfoProto", value_info_fields);
#undef M

#define M onnx_tensor
static const wick_proto_field tensor_fields[] = {
    MANY(1, "dims", INT, dims),
    ONE(2, "data_type", INT, type),
    ONE(14, "data_location", INT, location),
    MANY(4, "float_data", FLOAT, floats),
    MANY(5, "int32_data", INT, int32s),
    MANY(6, "string_data", BYTES, strings),
    MANY(7, "int64_data", INT, int64s),
    MANY(10, "double_data", DOUBLE, doubles),
    MANY(11, "uint64_data", INT, uint64s),
    ONE(8, "name", BYTES, name),
    ONE(9, "raw_data", BYTES, raw),
    MESSAGES(13, "external_data", external, pair_message),
    ONE(3, "segment", BYTES, segment),
};
const wick_proto_message wick_onnx_tensor_message = OF("TensorProto", tensor_fields);
#undef M

#define M onnx_sparse
static const wick_proto_field sparse_fields[] = {
    MESSAGE(1, "values", values, wick_onnx_tensor_message),
    MESSAGE(2, "indices", indices, wick_onnx_tensor_message),
    MANY(3, "dims", INT, dims),
};
static const wick_proto_message sparse_message = OF("SparseTensorProto", sparse_fields);
#undef M

#define M onnx_attr
static const wick_proto_field attr_fields[] = {
    ONE(1, "name", BYTES, name),
    ONE(21, "ref_attr_name", BYTES, reference),
    ONE(20, "type", INT, type),
    ONE(3, "i", INT, i),
    ONE(2, "f", FLOAT, f),
    ONE(4, "s", BYTES, s),
    MESSAGE(5, "t", t, wick_onnx_tensor_message),
    MESSAGE(6, "g", g, graph_message),
    MESSAGE(22, "sparse_tensor", sparse, sparse_message),
    MESSAGE(14, "tp", tp, type_message),
    MANY(7, "floats", FLOAT, floats),
    MANY(8, "ints", INT, ints),
    MANY(9, "strings", BYTES, strings),
    MESSAGES(10, "tensors", tensors, wick_onnx_tensor_message),
    MESSAGES(11, "graphs", graphs, graph_message),
};
static const wick_proto_message attr_message = OF("AttributeProto", attr_fields);
#undef M

#define M onnx_node
static const wick_proto_field node_fields[] = {
    MANY(1, "input", BYTES, in),
    MANY(2, "output", BYTES, out),
    ONE(3, "name", BYTES, name),
    ONE(4, "op_type", BYTES, op),
    ONE(7, "domain", BYTES, domain),
    ONE(8, "overload", BYTES, overload),
    MESSAGES(5, "attribute", attrs, attr_message),
};
static const wick_proto_message node_message = OF("NodeProto", node_fields);
#undef M

#define M onnx_graph
static const wick_proto_field graph_fields[] = {
    ONE(2, "name", BYTES, name),
    MESSAGES(1, "node", nodes, node_message),
    MESSAGES(5, "initializer", initializers, wick_onnx_tensor_message),
    MESSAGES(15, "sparse_initializer", sparse, sparse_message),
    MESSAGES(11, "input", in, value_info_message),
    MESSAGES(12, "output", out, value_info_message),
    MESSAGES(13, "value_info", info, value_info_message),
};
static const wick_proto_message graph_message = OF("GraphProto", graph_fields);
#undef M

#define M onnx_function
static const wick_proto_field function_fields[] = {
    ONE(1, "name", BYTES, name),
    ONE(10, "domain", BYTES, domain),
    ONE(13, "overload", BYTES, overload),
    MANY(4, "input", BYTES, in),
    MANY(5, "output", BYTES, out),
    MANY(6, "attribute", BYTES, attrs),
    MESSAGES(7, "node", nodes, node_message),
    MESSAGES(11, "attribute_proto", defaults, attr_message),
    MESSAGES(9, "opset_import", opsets, opset_message),
};
static const wick_proto_message function_message = OF("FunctionProto", function_fields);
#undef M

#define M onnx_model
static const wick_proto_field model_fields[] = {
    ONE(1, "ir_version", INT, ir_version),
    ONE(2, "producer_name", BYTES, producer),
    ONE(3, "producer_version", BYTES, producer_version),
    MESSAGES(8, "opset_import", opsets, opset_message),
    MESSAGE(7, "graph", graph, graph_message),
    MESSAGES(14, "metadata_props", meta, pair_message),
    MESSAGES(25, "functions", functions, function_message),
};
const wick_proto_message wick_onnx_model_message = OF("ModelProto", model_fields);
#undef M

#define M onnx_sequence
static const wick_proto_field sequence_fields[] = {
    ONE(1, "name", BYTES, name),
    ONE(2, "elem_type", INT, elem),
    MESSAGES(3, "tensor_values", tensors, wick_onnx_tensor_message),
    MESSAGES(5, "sequence_values", sequences, wick_onnx_sequence_message),
    MESSAGES(6, "map_values", maps, wick_onnx_map_message),
    MESSAGES(7, "optional_values", optionals, wick_onnx_optional_message),
};
const wick_proto_message wick_onnx_sequence_message = OF("SequenceProto", sequence_fields);
#undef M

#define M onnx_map
static const wick_proto_field map_fields[] = {
    ONE(1, "name", BYTES, name),
    ONE(2, "key_type", INT, key_type),
    MANY(3, "keys", INT, keys),
    MANY(4, "string_keys", BYTES, string_keys),
    MESSAGE(5, "values", values, wick_onnx_sequence_message),
};
const wick_proto_message wick_onnx_map_message = OF("MapProto", map_fields);
#undef M

#define M onnx_optional
static const wick_proto_field optional_fields[] = {
    ONE(1, "name", BYTES, name),
    ONE(2, "elem_type", INT, elem),
    MESSAGE(3, "tensor_value", tensor, wick_onnx_tensor_message),
    MESSAGE(5, "sequence_value", sequence, wick_onnx_sequence_message),
    MESSAGE(6, "map_value", map, wick_onnx_map_message),
    MESSAGE(7, "optional_value", optional, wick_onnx_optional_message),
};
const wick_proto_message wick_onnx_optional_message = OF("OptionalProto", optional_fields);
#undef M

/* clang-format on */
