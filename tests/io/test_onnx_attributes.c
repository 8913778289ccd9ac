/* Attributes that are none, and shapes that do not go with them: each is refused by node, op and name, and the same
 * node as it should be runs. What is refused is what ONNX's checker or ONNX Runtime refuse. */
#include <ctype.h>
#include <unistd.h>

#include "onnx_test.h"

static bool set_up(void) { return set_up_with(&(wick_context_options){.threads = 1}); }

/* "f2,3" and the like: f float, i int64, u uint8, h int8, s int32, b bool, d double; without dims: a scalar. Values 0,
 * 1, 2 ... (of a float: and a half). After '=': these. */
static void add_input(pb *g, const char *name, const char *spec) {
    static const char letters[] = "fiuhsbd";
    static const int types[] = {1, 7, 2, 3, 6, 9, 11};
    static const size_t sizes[] = {4, 8, 1, 1, 4, 1, 8};
    const size_t k = (size_t)(strchr(letters, *spec) - letters);
    const char *values = strchr(spec, '=');
    int64_t dims[8], n = 1;
    int rank = 0;
    char *at = (char *)(uintptr_t)spec + 1;
    while (isdigit((unsigned char)*at)) {
        dims[rank] = strtoll(at, &at, 10);
        n *= dims[rank++];
        at += *at == ',';
    }
    unsigned char data[4096] = {0};
    char *next = (char *)(uintptr_t)values;
    for (int64_t i = 0; i < n; i++) {
        const double v = next ? strtod(next + 1, &next) : (double)i + (k ? 0 : 0.5);
        const float f = (float)v;
        const int64_t l = (int64_t)v;
        memcpy(data + (size_t)i * sizes[k],
               letters[k] == 'd' ? (const void *)&v
               : k               ? (const void *)&l
                                 : (const void *)&f,
               sizes[k]);
    }
    pb t = pb_tensor(name, types[k], rank, dims, data, (size_t)n * sizes[k]);
    pb_message(g, 5, &t);
}

/* "group=i0 kernel_shape=I3,3 mode=sDCR clip=f0.5 of=F1,2 is=S": of the type that the letter after = says. */
static void add_attribute(pb *node, const char *text) {
    pb a = {0};
    char name[64];
    const char *value = strchr(text, '=') + 1;
    snprintf(name, sizeof name, "%.*s", (int)(value - 1 - text), text);
    pb_text(&a, 1, name);
    const char kind = *value++;
    const int types[] = {['f'] = 1, ['i'] = 2, ['s'] = 3, ['F'] = 6, ['I'] = 7, ['S'] = 8};
    if (kind == 'i') pb_int(&a, 3, strtoll(value, NULL, 10));
    if (kind == 's') pb_text(&a, 4, value);
    for (char *at = (char *)(uintptr_t)value; strchr("fFI", kind) && *at; at += *at == ',') {
        const double v = strtod(at, &at);
        const float f = (float)v;
        if (kind == 'I') pb_int(&a, 8, (int64_t)v);
        else pb_varint(&a, kind == 'f' ? 2 << 3 | 5 : 7 << 3 | 5), pb_bytes(&a, &f, 4);
    }
    if (kind == 'S') pb_text(&a, 9, value);
    pb_int(&a, 20, types[(unsigned char)kind]);
    pb_message(node, 5, &a);
}

static void each_word(const char *list, char *words, size_t size, char *out[16], int *n) {
    snprintf(words, size, "%s", list);
    *n = 0;
    for (char *w = strtok(words, " "); w && *n < 16; w = strtok(NULL, " ")) out[(*n)++] = w;
}

/* A node named "it", all of whose inputs are weights, recorded and evaluated. */
static wick_status run_node(const char *op, int opset, const char *inputs, const char *attributes, int n_out) {
    pb g = {0}, node = {0};
    char words[512], *list[16];
    int n;
    each_word(inputs, words, sizeof words, list, &n);
    for (int i = 0; i < n; i++) {
        char name[16];
        snprintf(name, sizeof name, "i%d", i);
        if (strcmp(list[i], "-")) add_input(&g, name, list[i]);
        pb_text(&node, 1, strcmp(list[i], "-") ? name : "");
    }
    for (int i = 0; i < n_out; i++) {
        char name[16];
        snprintf(name, sizeof name, "o%d", i);
        pb_text(&node, 2, name);
        pb p = pb_value(name, -1);
        pb_message(&g, 12, &p);
    }
    pb_text(&node, 3, "it");
    pb_text(&node, 4, op);
    each_word(attributes, words, sizeof words, list, &n);
    for (int i = 0; i < n; i++) add_attribute(&node, list[i]);
    if (!strcmp(op, "LabelEncoder")) pb_text(&node, 7, "ai.onnx.ml");
    if (!strcmp(op, "FusedConv")) pb_text(&node, 7, "com.microsoft");
    pb_message(&g, 1, &node);
    pb m = pb_model(&g, opset);
    wick_onnx_value out[16];
    wick_tensor *tensors[16];
    wick_onnx *onnx = open_model(&m, NULL);
    if (!onnx) return wick_context_status(ctx);
    wick_scope *scope = wick_scope_open(ctx);
    wick_status status = wick_onnx_apply(onnx, NULL, out);
    int n_tensors = 0;
    for (int i = 0; i < n_out && status == WICK_OK; i++)
        if (out[i].kind == WICK_VALUE_TENSOR) tensors[n_tensors++] = out[i].tensor;
    if (status == WICK_OK) status = wick_eval(ctx, n_tensors, tensors, NULL);
    wick_scope_close(&scope);
    wick_onnx_free(&onnx);
    return status;
}

#define CONV "f1,2,5,5 f2,2,3,3"
#define LSTM "f3,2,4 f1,12,4 f1,12,3"
#define GRU "f3,2,4 f1,9,4 f1,9,3"
#define RNN "f3,2,4 f1,3,4 f1,3,3"
#define DEFORM "f1,1,3,3 f1,1,2,2 f1,8,2,2"
static const struct {
    const char *op;
    int opset;
    const char *inputs, *good, *bad, *says;
    int n_out; /* 0: 1 */
} cases[] = {
    {"Conv", 13, CONV, "group=i1", "group=i0", "attribute \"group\" is 0", 0},
    {"Conv", 13, CONV, "group=i1", "group=i-1", "attribute \"group\" is -1", 0},
    {"Conv", 13, CONV, "group=i1", "group=f1", "attribute \"group\" is not an integer", 0},
    {"Conv", 13, CONV, "kernel_shape=I3,3", "kernel_shape=I2,3", "kernel_shape[0] is 2, but W has 3", 0},
    {"Conv", 13, CONV, "kernel_shape=I3,3", "kernel_shape=I3", "kernel_shape has 1 values", 0},
    {"Conv", 13, CONV, "kernel_shape=I3,3", "kernel_shape=s3", "attribute \"kernel_shape\" is not a list of integers",
     0},
    {"Conv", 13, CONV, "auto_pad=sVALID", "auto_pad=sSAME", "attribute \"auto_pad\" is \"SAME\", not one of NOTSET|",
     0},
    {"FusedConv", 13, CONV, "group=i1", "group=i0", "attribute \"group\" is 0", 0},
    {"ConvInteger", 13, "u1,2,5,5 u2,2,3,3", "kernel_shape=I3,3", "kernel_shape=I4,3", "kernel_shape[0] is 4", 0},
    {"ConvTranspose", 13, CONV, "group=i1", "group=i0", "attribute \"group\" is 0", 0},
    {"ConvTranspose", 13, CONV, "kernel_shape=I3,3", "kernel_shape=I3,4", "kernel_shape[1] is 4, but W has 3", 0},
    {"ConvTranspose", 13, CONV, "auto_pad=sVALID", "auto_pad=sbogus", "attribute \"auto_pad\" is \"bogus\"", 0},
    {"ConvTranspose", 13, CONV, "output_shape=I7,7", "output_shape=I7", "output_shape has 1 values", 0},
    {"DeformConv", 19, DEFORM, "kernel_shape=I2,2", "pads=I1,1,1,1",
     "offset is [1, .., 2, 2], but its windows make [1, .., 4, 4]", 0},
    {"MaxPool", 13, "f1,1,4,4", "kernel_shape=I2,2", "", "attribute \"kernel_shape\" is missing", 0},
    {"MaxPool", 13, "f1,1,4,4", "kernel_shape=I2,2 pads=I1,1,1,1", "kernel_shape=I2,2 pads=I2,0,0,0",
     "hold all of a window", 0},
    {"MaxPool", 13, "f1,1,4,4", "kernel_shape=I2,2 ceil_mode=i1", "kernel_shape=I2,2 ceil_mode=i2",
     "attribute \"ceil_mode\" is 2, not 0 or 1", 0},
    {"MaxPool", 13, "f1,1,2,2", "kernel_shape=I3,3 strides=I2,2 ceil_mode=i1",
     "kernel_shape=I4,4 strides=I2,2 ceil_mode=i1", "the kernel covers 4 places", 0},
    {"MaxUnpool", 11, "f1,2,1,1 i1,2,1,1=0,7", "kernel_shape=I2,2", "", "attribute \"kernel_shape\" is missing", 0},
    {"BatchNormalization", 15, "f1,2,3 f2 f2 f2 f2", "training_mode=i1", "training_mode=i0",
     "has 3 outputs, but training_mode is 0", 3},
    {"BatchNormalization", 15, "f1,2,3 f2 f2 f2 f2", "training_mode=i1", "training_mode=i2",
     "attribute \"training_mode\" is 2", 3},
    {"GroupNormalization", 21, "f1,2,3 f2 f2", "num_groups=i1", "", "attribute \"num_groups\" is missing", 0},
    {"LpNormalization", 13, "f2,3", "p=i1", "p=i3", "attribute \"p\" is 3, not 1 or 2", 0},
    {"LSTM", 13, LSTM, "hidden_size=i3", "hidden_size=i4", "hidden_size is 4, but R has 3", 3},
    {"LSTM", 13, LSTM, "hidden_size=i3", "hidden_size=i0", "attribute \"hidden_size\" is 0", 3},
    {"LSTM", 13, LSTM, "clip=f2", "clip=f0", "attribute \"clip\" is 0", 3},
    {"LSTM", 13, LSTM, "direction=sreverse", "direction=sbackward", "not one of forward|reverse|bidirectional", 3},
    {"GRU", 13, GRU, "hidden_size=i3", "hidden_size=i2", "hidden_size is 2, but R has 3", 2},
    {"GRU", 14, GRU, "layout=i0", "layout=i2", "attribute \"layout\" is 2", 2},
    {"RNN", 13, RNN, "hidden_size=i3", "hidden_size=i5", "hidden_size is 5, but R has 3", 2},
    {"RNN", 13, RNN, "direction=sforward", "direction=s", "attribute \"direction\" is \"\"", 2},
    {"RNN", 13, RNN, "activation_alpha=F1", "activation_alpha=I1",
     "attribute \"activation_alpha\" is not a list of floats", 2},
    {"Attention", 23, "f1,1,2,4 f1,1,2,4 f1,1,2,4", "softcap=f1", "softcap=f-1", "attribute \"softcap\" is -1", 0},
    {"RotaryEmbedding", 23, "f1,1,2,8 f1,2,4 f1,2,4", "rotary_embedding_dim=i8", "rotary_embedding_dim=i2",
     "must have 1 numbers for each place", 0},
    {"BitShift", 13, "u2 u2", "direction=sLEFT", "", "attribute \"direction\" is missing", 0},
    {"BitShift", 13, "u2 u2", "direction=sRIGHT", "direction=sUP", "not one of LEFT|RIGHT", 0},
    {"CumSum", 14, "f3 i", "exclusive=i1", "exclusive=i2", "attribute \"exclusive\" is 2, not 0 or 1", 0},
    {"Mod", 13, "f2=1,2 f2=2,2", "fmod=i1", "fmod=i-1", "attribute \"fmod\" is -1", 0},
    {"Gelu", 20, "f2", "approximate=stanh", "approximate=ssigmoid", "not one of none|tanh", 0},
    {"DFT", 17, "f1,4,2", "inverse=i0", "onesided=i1", "onesided is 1, but the input is complex", 0},
    {"ReduceSum", 13, "f2,3", "keepdims=i0", "keepdims=i7", "attribute \"keepdims\" is 7", 0},
    {"ReduceSum", 13, "f2,3 i1=1", "noop_with_empty_axes=i1", "noop_with_empty_axes=f1",
     "attribute \"noop_with_empty_axes\" is not an integer", 0},
    {"QuantizeLinear", 21, "f2,4 f u", "block_size=i0", "block_size=i2", "does not have a number for each 2 places", 0},
    {"QuantizeLinear", 21, "f2,4 f2,2 u2,2", "block_size=i2", "block_size=i3 axis=i0",
     "does not have a number for each 3 places", 0},
    {"QuantizeLinear", 21, "f2,4 f u", "output_dtype=i2", "output_dtype=i3",
     "output_dtype is int8, the zero point uint8", 0},
    {"DequantizeLinear", 21, "u2,4 f2,2", "block_size=i2", "", "block_size is not given", 0},
    {"DequantizeLinear", 21, "u2,4 f2,2", "block_size=i2", "block_size=i1", "does not have a number for each 1 places",
     0},
    {"DequantizeLinear", 21, "u2,4 f2,2", "block_size=i2", "block_size=i-2", "attribute \"block_size\" is -2", 0},
    {"DequantizeLinear", 23, "u2,4 f", "output_dtype=i1", "output_dtype=i2", "output_dtype is uint8, which is no float",
     0},
    {"Split", 18, "f6", "num_outputs=i2", "num_outputs=i3", "num_outputs is 3 for 2 outputs", 2},
    {"Split", 18, "f6", "num_outputs=i2", "num_outputs=i0", "attribute \"num_outputs\" is 0", 2},
    {"Split", 18, "f6", "num_outputs=i2", "", "has neither an input split nor num_outputs", 2},
    {"Split", 18, "f5,2", "num_outputs=i2 axis=i1", "num_outputs=i4", "num_outputs is 4 for 2 outputs", 2},
    {"Split", 11, "f6", "split=I2,4", "split=I2,3", "its parts have 5 places together, the axis 6", 2},
    {"Split", 11, "f3,2", "axis=i1", "axis=i0", "an axis of 3 in 2 parts", 2},
    {"CenterCropPad", 18, "f2,3 i2=4,4", "axes=I0,1", "axes=I1,-1", "axis -1 is named twice", 0},
    {"Reshape", 14, "f2 i1=2", "allowzero=i1", "allowzero=i2", "attribute \"allowzero\" is 2", 0},
    {"DepthToSpace", 13, "f1,4,1,1", "blocksize=i2 mode=sCRD", "blocksize=i2 mode=sRCD", "not one of DCR|CRD", 0},
    {"TopK", 13, "f4 i1=2", "sorted=i1", "sorted=s1", "attribute \"sorted\" is not an integer", 2},
    {"LabelEncoder", 13, "i3", "keys_int64s=I1,2 values_int64s=I3,4",
     "keys_int64s=I1,2 values_int64s=I3,4 values_floats=F1,2",
     "attribute \"values_floats\" is there besides another list", 0},
    {"LabelEncoder", 13, "i3", "keys_int64s=I1,2 values_int64s=I3,4 default_float=f1",
     "keys_int64s=I1,2 values_int64s=I3,4 default_float=i1", "attribute \"default_float\" is not a float", 0},
};

TEST(attributes_that_are_none_are_refused_by_name) {
    REQUIRE(set_up());
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char where[32];
        const int n_out = cases[i].n_out ? cases[i].n_out : 1;
        snprintf(where, sizeof where, "%s \"it\"", cases[i].op);
        CHECK_MSG(run_node(cases[i].op, cases[i].opset, cases[i].inputs, cases[i].good, n_out) == WICK_OK, "%s %s: %s",
                  cases[i].op, cases[i].good, wick_context_error(ctx));
        wick_context_clear_error(ctx);
        CHECK_MSG(run_node(cases[i].op, cases[i].opset, cases[i].inputs, cases[i].bad, n_out) != WICK_OK, "%s %s",
                  cases[i].op, cases[i].bad);
        CHECK_STR_HAS(wick_context_error(ctx), where);
        CHECK_STR_HAS(wick_context_error(ctx), cases[i].says);
    }
    wick_context_free(&ctx);
}

/* Wick's own ops promote, and take any number for a condition, an index or a length; ONNX's do not. */
TEST(dtypes_that_an_op_does_not_take_are_refused) {
    REQUIRE(set_up());
    static const struct {
        const char *op, *attributes, *good, *bad, *says;
    } types[] = {
        {"Add", "", "f2 f2", "f2 i2", "input 1 is of i64, input 0 of f32"},
        {"Mul", "", "d2 d2", "f2 d2", "input 1 is of f64, input 0 of f32"},
        {"Div", "", "i2=4,6 i2=2,3", "i2=4,6 s2=2,3", "input 1 is of i32, input 0 of i64"},
        {"Sub", "", "u2 u2", "b2 b2", "input 0 is of bool, not a number"},
        {"Equal", "", "b2 b2", "f2 i2", "input 1 is of i64, input 0 of f32"},
        {"Less", "", "i2 i2", "b2 b2", "input 0 is of bool, not a number"},
        {"Not", "", "b2", "f2", "input 0 is of f32, not bool"},
        {"And", "", "b2 b2", "b2 i2", "input 1 is of i64, not bool"},
        {"Where", "", "b2 f2 f2", "f2 f2 f2", "input 0 is of f32, not bool"},
        {"Where", "", "b2 i2 i2", "b2 f2 i2", "input 2 is of i64, input 1 of f32"},
        {"Max", "", "f2 f2 f2", "f2 f2 i2", "input 2 is of i64, input 0 of f32"},
        {"Sum", "", "f2 f2", "i2 i2", "input 0 is of i64, not a float"},
        {"Exp", "", "f2", "i2", "input 0 is of i64, not a float"},
        {"Neg", "", "h2", "u2", "input 0 is of u8, not a float or an integer with a sign"},
        {"Pow", "", "f2 i2", "b2 f2", "input 0 is of bool, not a number"},
        {"BitwiseNot", "", "u2", "b2", "input 0 is of bool, not an integer"},
        {"BitShift", "direction=sLEFT", "u2 u2", "i2 i2", "input 0 is of i64, not an integer without a sign"},
        {"Clip", "", "f2 - f", "f2 - i", "input 2 is of i64, input 0 of f32"},
        {"MatMul", "", "f2,2 f2,2", "f2,2 i2,2", "input 1 is of i64, input 0 of f32"},
        {"ReduceSum", "", "i2,2 i1", "b2,2=1,0,1,0 i1", "input 0 is of bool, not a number"},
        {"Reshape", "", "b4=1,0,1,0 i2=2,2", "b4=1,0,1,0 f2=2,2", "input 1 is of f32, not i64"},
        {"Reshape", "", "f4 i2=2,2", "f4 s2=2,2", "input 1 is of i32, not i64"},
        {"Gather", "", "f4 s2", "f4 f2=0,1", "input 1 is of f32, not i64 or i32"},
        {"Slice", "", "f4 s1=1 s1=3", "f4 f1=1 f1=3", "input 1 is of f32, not i64 or i32"},
        {"BatchNormalization", "", "f1,2,2 f2 f2 f2 f2=1,1", "i1,2,2 f2 f2 f2 f2=1,1",
         "input 0 is of i64, not a float"},
        {"CenterCropPad", "", "f4 s1=2", "f4 f1=2", "input 1 is of f32, not i64 or i32"},
        {"HannWindow", "", "s=4", "f=4", "input 0 is of f32, not i64 or i32"},
        {"Range", "", "i i=4 i=1", "i f=4 i=1", "input 1 is of f32, input 0 of i64"},
        {"ConstantOfShape", "", "i1=2", "s1=2", "input 0 is of i32, not i64"},
    };
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        CHECK_MSG(run_node(types[i].op, 20, types[i].good, types[i].attributes, 1) == WICK_OK, "%s of %s: %s",
                  types[i].op, types[i].good, wick_context_error(ctx));
        wick_context_clear_error(ctx);
        CHECK_MSG(run_node(types[i].op, 20, types[i].bad, types[i].attributes, 1) == WICK_ERR_FORMAT, "%s of %s",
                  types[i].op, types[i].bad);
        CHECK_STR_HAS(wick_context_error(ctx), types[i].op);
        CHECK_STR_HAS(wick_context_error(ctx), types[i].says);
        wick_context_clear_error(ctx);
    }
    wick_context_free(&ctx);
}

/* Places are those of the whole result: one that is not of its own image is an error when it runs. */
TEST(places_outside_of_an_image_are_refused) {
    REQUIRE(set_up());
    static const char *const inputs[] = {"f1,2,1,1 i1,2,1,1=3,7", "f1,2,1,1 i1,2,1,1=3,8", "f1,2,1,1 i1,2,1,1=-1,7",
                                         "f1,2,1,1 i1,2,1,1=4,7", "f1,2,1,1 i1,2,1,1=3,8 i4=1,2,3,3"};
    for (int i = 0; i < 5; i++) {
        CHECK_INT(run_node("MaxUnpool", 11, inputs[i], "kernel_shape=I2,2", 1), i ? WICK_ERR_INDEX : WICK_OK);
        if (i) CHECK_STR_HAS(wick_context_error(ctx), "MaxUnpool \"it\"");
        wick_context_clear_error(ctx);
    }
    wick_context_free(&ctx);
}

int main(int argc, char **argv) {
    const int failed = test_main(argc, argv);
    unlink(path);
    rmdir(folder);
    return failed;
}
