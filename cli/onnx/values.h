/* values.h: what a model gives, shown and as JSON: tensors, texts, maps and sequences of those. */
#ifndef WICK_CLI_VALUES_H
#define WICK_CLI_VALUES_H

#include "../json.h"

#include "wick/onnx.h"

/* "f32 [2, 3]", "string [2]", "map of 3", "sequence of 2". */
const char *value_type(const wick_onnx_value *v, char *text, size_t size);
/* Its contents, which end in a line break; long ones are shortened. */
void value_print(const wick_onnx_value *v);
/* How many numbers and texts there are in all, keys not counted. */
int64_t value_count(const wick_onnx_value *v);
/* Nested lists of numbers, bools and texts; a map is an object. NaN and Inf, which JSON lacks, are "NaN", "Infinity"
 * and "-Infinity". A status of reading. */
wick_status value_json(json *j, const char *key, const wick_onnx_value *v);
/* The likeliest keys of a map whose values are floats, or of each map of a sequence: a line each, and "top". */
bool value_is_scores(const wick_onnx_value *v);
void value_print_top(const wick_onnx_value *v, int64_t top);
void value_json_top(json *j, const wick_onnx_value *v, int64_t top);

#endif
