/* registry.c: what the library can say about its ops: from their definitions, and the dtypes from their own rules. */
#include "ops/functions.h"
#include "ops/ops.h"
#include "wick/registry.h"

#define FUNCTION(name_, gradient_, doc_, onnx_, torch_)                                                                \
    {.name = #name_,                                                                                                   \
     .doc = doc_,                                                                                                      \
     .onnx = onnx_,                                                                                                    \
     .torch = torch_,                                                                                                  \
     .flops = "its ops'",                                                                                              \
     .differentiable = gradient_,                                                                                      \
     .function = true},
static const wick_op_info functions[] = {WICK_FUNCTION_LIST(FUNCTION)};

static const char *text(const char *s) { return s ? s : ""; }

int wick_op_count(void) { return wick_ops_count() + (int)WICK_COUNTOF(functions); }
wick_op_info wick_op_at(int i) {
    if (i < 0 || i >= wick_op_count()) return (wick_op_info){0};
    if (i >= wick_ops_count()) return functions[i - wick_ops_count()];
    const wick_op *op = wick_ops_at(i);
    const bool elementwise = op->flags & WICK_OP_ELEMENTWISE;
    return (wick_op_info){.name = op->name,
                          .doc = op->doc,
                          .min_inputs = op->min_in,
                          .max_inputs = op->max_in == 255 ? -1 : op->max_in,
                          .results = op->n_out,
                          .elementwise = elementwise,
                          .differentiable = op->grad != NULL,
                          .onnx = text(op->onnx),
                          .torch = text(op->torch),
                          .flops = op->cost       ? op->cost
                                   : !elementwise ? ""
                                   : op->flops    ? "0"
                                                  : "n"};
}

/* SplitMix64 (Steele, Lea, Flood 2014), from the same seed every time. */
static _Thread_local uint64_t state;
static uint64_t draw(void) {
    uint64_t z = state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* Valid uses of the op with the dtype put in place of the first input's, and in those of its dtype: does the op's own
 * rule take one? An elementwise op is asked by its last input: the first of where is a condition. Of ops without
 * inputs: do they make it? */
bool wick_op_takes(int i, wick_dtype dtype) {
    if (i < 0 || i >= wick_ops_count() || (unsigned)dtype >= WICK_DTYPE_COUNT || !wick_ops_at(i)->sample) return false;
    const wick_op *op = wick_ops_at(i);
    state = 1;
    for (int k = 0; k < 32; k++) {
        wick_sample s = {.random = draw};
        op->sample(&s);
        wick_type out[8];
        const wick_type *in[WICK_COUNTOF(s.in)];
        memset(out, 0, sizeof out);
        uint8_t was = s.in[op->flags & WICK_OP_ELEMENTWISE && s.n_in ? s.n_in - 1 : 0].dtype;
        for (int j = 0; j < s.n_in; j++) {
            if (s.in[j].dtype == was) s.in[j].dtype = (uint8_t)dtype;
            in[j] = &s.in[j];
        }
        wick_infer rule = {.op = op, .n_in = s.n_in, .n_out = op->n_out, .in = in, .attr = s.attr, .out = out};
        if (wick_infer_types(&rule) == WICK_OK && (s.n_in || out[0].dtype == dtype)) return true;
    }
    return false;
}
