/* contrib.h: what the rows of com.microsoft share. */
#ifndef WICK_IO_ONNX_CONTRIB_H
#define WICK_IO_ONNX_CONTRIB_H

#include "io/onnx/onnx.h"

/* Self-attention of projections qkv [B, S, 3 features], side by side in parts of these sizes: results 0 and 1 of
 * Attention and QAttention. mask, past and added: numbers of inputs, added -1: none. */
void wick_onnx_self_attention(onnx_call *c, wick_tensor *qkv, const int64_t sizes[3], int mask, int past, int added);
/* DynamicQuantizeLSTM: ops_recurrent.c. */
void wick_onnx_dynamic_quantize_lstm(onnx_call *c);

#endif
