/* ml.h: what the rows of ai.onnx.ml share: lists in attributes, labels of classes, and scores as they are wanted. */
#ifndef WICK_IO_ONNX_ML_H
#define WICK_IO_ONNX_ML_H

#include "io/onnx/onnx.h"

/* Integers, floats or texts on the host. */
typedef struct onnx_list {
    enum { ONNX_LIST_NONE, ONNX_LIST_INTS, ONNX_LIST_FLOATS, ONNX_LIST_STRINGS } kind;
    size_t n;
    const int64_t *ints;
    const double *floats;
    const wick_text *texts;
    wick_dtype dtype; /* of numbers */
} onnx_list;

/* PREFIX and one of four suffixes: "_int64s", "_floats", "_strings", "_tensor"; kind NONE: none is there. */
bool wick_onnx_list(onnx_call *c, const char *prefix, onnx_list *out);
/* The default of that kind: "default_tensor", else "default_int64", "default_float" or "default_string"; kind NONE: it
 * is not there. */
bool wick_onnx_default(onnx_call *c, int kind, onnx_list *out);
/* One attribute, of integers, floats, strings or a tensor; another's name may be tried. */
bool wick_onnx_list_attr(onnx_call *c, const char *name, onnx_list *out);
/* NAME_as_tensor, which may be double, or NAME. */
bool wick_onnx_numbers(onnx_call *c, const char *name, onnx_list *out);
bool wick_onnx_list_of(onnx_call *c, const wick_onnx_value *v, bool dynamic, onnx_list *out);
wick_tensor *wick_onnx_list_tensor(onnx_call *c, const onnx_list *l, wick_dtype dtype, int rank, const int64_t *dims);

/* The attributes classlabels_ints or _int64s and classlabels_strings. */
bool wick_onnx_class_labels(onnx_call *c, onnx_list *out);
/* Output 0 is the labels at the places index [N]; without labels the places themselves. */
void wick_onnx_set_labels(onnx_call *c, const onnx_list *labels, wick_tensor *index);

typedef enum onnx_post {
    ONNX_POST_NONE,
    ONNX_POST_SOFTMAX,
    ONNX_POST_LOGISTIC,
    ONNX_POST_SOFTMAX_ZERO,
    ONNX_POST_PROBIT
} onnx_post;
bool wick_onnx_post(onnx_call *c, onnx_post *out); /* of the text post_transform */
wick_tensor *wick_onnx_post_transform(wick_tensor *scores, onnx_post post);
/* Both scores [N, 2] of two classes from that of the second [N, 1]: positive: a probability; else it lies around 0. */
wick_tensor *wick_onnx_second_class(wick_tensor *score, bool positive, onnx_post post);

#endif
