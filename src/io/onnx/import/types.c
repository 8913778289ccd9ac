/* types.c: what dtypes the inputs of a node may have, where Wick's own ops would take more: they promote, and read any
 * number as a condition, an index or a length. A file that ONNX's checker and ONNX Runtime refuse for its types is
 * refused here too, by node and input. Sources: the type constraints of the ONNX operator specifications. */
#define WICK_NO_SITES
#include <stdio.h>

#include "io/onnx/onnx.h"

/* A letter for each input. Capitals have one dtype: T any, F a float, N a number, S a number with a sign, I an integer,
 * U one without a sign. Small letters stand for themselves: f a float, n a number, b bool, l i64, x i64 or i32, '.'
 * anything. '*': all that follow are like the one before. */
typedef struct rule {
    int since; /* the first opset that it holds for */
    const char *in, *ops; /* ops: with a blank before and behind each */
} rule;

static const rule rules[] = {
    {1, "F",
     " Acos Acosh Asin Asinh Atan Atanh AveragePool Ceil Celu Cos Cosh Elu Erf Exp Floor Gelu GlobalAveragePool "
     "GlobalMaxPool HardSigmoid HardSwish Hardmax LeakyRelu Log LogSoftmax "
     "LpNormalization Mish Reciprocal Round Selu Sigmoid Sin Sinh Softmax Softplus Softsign Sqrt Swish Tan Tanh "
     "ThresholdedRelu LRN Det IsNaN IsInf "},
    {1, "S", " Neg Relu "},
    {1, "N", " Abs Sign Shrink ArgMax ArgMin MaxPool "},
    {1, "I", " BitwiseNot "},
    {1, "b", " Not If "},
    {1, "bb", " And Or Xor "},
    {1, "NN", " Add Sub Mul Div Mod Less LessOrEqual Greater GreaterOrEqual MatMul PRelu "},
    {1, "TT", " Equal "},
    {1, "UU", " BitShift "},
    {1, "II", " BitwiseAnd BitwiseOr BitwiseXor "},
    {1, "Nn", " Pow "},
    {1, "F*", " Sum Mean "},
    {1, "N*", " Max Min Einsum "},
    {1, "NNN", " Clip Gemm Range "},
    {1, "FFF", " Conv ConvTranspose GroupNormalization InstanceNormalization LayerNormalization "},
    {1, "fffff", " BatchNormalization "},
    {1, ".f", " GridSample "},
    {1, "Tll", " Col2Im "},
    {1, "x", " BlackmanWindow HammingWindow HannWindow "},
    {1, "bTT", " Where "},
    {1, "lb", " Loop "},
    {1, "Nl", " ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMean ReduceProd ReduceSum ReduceSumSquare TopK "},
    {1, "Tl", " Expand GatherND ReduceMax ReduceMin Reshape ReverseSequence Squeeze Trilu Unsqueeze "},
    {2, "Tl", " Split "},
    {6, "Tl", " Tile "},
    {2, "TlTx", " Pad "},
    {1, "TlT", " ScatterND "},
    {1, "Tx", " CenterCropPad CumProd CumSum Gather GatherElements "},
    {1, "TxT", " ScatterElements Scatter "},
    {1, "Txxxx", " Slice "},
    {1, "Tb", " Compress "},
    {1, "l", " ConstantOfShape "},
};

const char *wick_onnx_types_of(const onnx_node *node, int opset) {
    char word[64];
    if (wick_onnx_domain(node->domain).size || node->op.size > sizeof word - 3) return NULL;
    snprintf(word, sizeof word, " %.*s ", (int)node->op.size, node->op.at);
    const char *found = NULL;
    for (size_t i = 0; i < WICK_COUNTOF(rules); i++)
        if (opset >= rules[i].since && strstr(rules[i].ops, word)) found = rules[i].in;
    return found;
}

static bool is_float(wick_dtype d) { return wick_dtype_is_float(d) || wick_onnx_is_f8(d); }
static bool is_signed(wick_dtype d) { return is_float(d) || (d >= WICK_I8 && d <= WICK_I64); }
static bool is_unsigned(wick_dtype d) { return d >= WICK_U8 && d <= WICK_U64; }
static bool is_number(wick_dtype d) { return is_signed(d) || is_unsigned(d); }

static bool fits(char letter, wick_dtype d) {
    switch (letter) {
    case 'f':
    case 'F': return is_float(d);
    case 'n':
    case 'N': return is_number(d);
    case 'S': return is_signed(d);
    case 'I': return is_number(d) && !is_float(d);
    case 'U': return is_unsigned(d);
    case 'b': return d == WICK_BOOL;
    case 'l': return d == WICK_I64;
    case 'x': return d == WICK_I64 || d == WICK_I32;
    default: return true;
    }
}

static const char *name_of(char letter) {
    switch (letter) {
    case 'f':
    case 'F': return "a float";
    case 'S': return "a float or an integer with a sign";
    case 'I': return "an integer";
    case 'U': return "an integer without a sign";
    case 'b': return "bool";
    case 'l': return "i64";
    case 'x': return "i64 or i32";
    default: return "a number";
    }
}

bool wick_onnx_check_types(onnx_call *c) {
    const char *at = c->step->types;
    int first = -1; /* the first input of the dtype that capitals share */
    wick_dtype shared = WICK_F32;
    for (int i = 0; at && *at && i < c->n_in; i++) {
        const char letter = *at;
        if (at[1] != '*') at++;
        if (!c->in[i] || c->in[i]->v.kind != WICK_VALUE_TENSOR) continue; /* rows refuse kinds themselves */
        const wick_dtype d = wick_tensor_dtype(c->in[i]->v.tensor);
        if (!fits(letter, d))
            return wick_onnx_fail(c, WICK_ERR_FORMAT, "input %d is of %s, not %s", i, wick_dtype_name(d),
                                  name_of(letter));
        if (letter < 'A' || letter > 'Z') continue;
        if (first < 0) first = i, shared = d;
        else if (d != shared)
            return wick_onnx_fail(c, WICK_ERR_FORMAT,
                                  "input %d is of %s, input %d of %s: the op takes them of one type; Cast one of them",
                                  i, wick_dtype_name(d), first, wick_dtype_name(shared));
    }
    return true;
}
