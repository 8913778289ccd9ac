/* attributes.c: what attributes may be: of which type, between which bounds, which texts. Rows of the op tables read
 * them after this, so that a file that says something else is refused by name instead of being taken for what it is
 * not. Only what the rows themselves would not notice is here. Sources: the ONNX operator specifications. */
#define WICK_NO_SITES
#include <math.h>

#include "io/onnx/onnx.h"

enum { OPTIONAL, REQUIRED };
typedef struct rule {
    const char *ops, *names; /* each a list with blanks between */
    int type;
    const char *texts; /* of a string: what it may be, each with | behind it; NULL: anything */
    double least, most; /* of a number; both 0: anything */
    int required;
} rule;

#define CONVS "Conv ConvTranspose ConvInteger QLinearConv DeformConv"
#define POOLS "AveragePool MaxPool LpPool"
#define RECURRENT "LSTM GRU RNN"
#define REDUCTIONS                                                                                                     \
    "ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum "              \
    "ReduceSumSquare"
static const rule rules[] = {
    {CONVS, "group", ONNX_ATTR_INT, NULL, 1, INT32_MAX, OPTIONAL},
    {CONVS, "kernel_shape", ONNX_ATTR_INTS, NULL, 0, 0, OPTIONAL},
    {CONVS " " POOLS, "auto_pad", ONNX_ATTR_STRING, "|NOTSET|SAME_UPPER|SAME_LOWER|VALID|", 0, 0, OPTIONAL},
    {POOLS " MaxUnpool", "kernel_shape", ONNX_ATTR_INTS, NULL, 0, 0, REQUIRED},
    {POOLS, "ceil_mode", ONNX_ATTR_INT, NULL, 0, 1, OPTIONAL},
    {"AveragePool", "count_include_pad", ONNX_ATTR_INT, NULL, 0, 1, OPTIONAL},
    {"MaxPool", "storage_order", ONNX_ATTR_INT, NULL, 0, 1, OPTIONAL},
    {"BatchNormalization", "training_mode", ONNX_ATTR_INT, NULL, 0, 1, OPTIONAL},
    {"GroupNormalization", "num_groups", ONNX_ATTR_INT, NULL, 1, INT32_MAX, REQUIRED},
    {"GroupNormalization LayerNormalization RMSNormalization", "stash_type", ONNX_ATTR_INT, NULL, 0, 0, OPTIONAL},
    {"LpNormalization", "p", ONNX_ATTR_INT, NULL, 1, 2, OPTIONAL},
    {"Dropout", "seed", ONNX_ATTR_INT, NULL, 0, 0, OPTIONAL},
    {"Dropout", "ratio", ONNX_ATTR_FLOAT, NULL, 0, 0, OPTIONAL},
    {RECURRENT, "hidden_size", ONNX_ATTR_INT, NULL, 1, INT32_MAX, OPTIONAL},
    {RECURRENT, "layout", ONNX_ATTR_INT, NULL, 0, 1, OPTIONAL},
    {RECURRENT, "direction", ONNX_ATTR_STRING, "forward|reverse|bidirectional|", 0, 0, OPTIONAL},
    {RECURRENT, "clip", ONNX_ATTR_FLOAT, NULL, 0x1p-126, INFINITY, OPTIONAL}, /* Wick's 0 is none */
    {"GRU LSTM", "linear_before_reset input_forget", ONNX_ATTR_INT, NULL, 0, 1, OPTIONAL},
    {RECURRENT, "activation_alpha activation_beta", ONNX_ATTR_FLOATS, NULL, 0, 0, OPTIONAL},
    {"Attention", "q_num_heads kv_num_heads qk_matmul_output_mode softmax_precision", ONNX_ATTR_INT, NULL, 0, 0,
     OPTIONAL},
    {"Attention", "softcap", ONNX_ATTR_FLOAT, NULL, 0, INFINITY, OPTIONAL},
    {"Attention", "is_causal", ONNX_ATTR_INT, NULL, 0, 1, OPTIONAL},
    {"RotaryEmbedding", "num_heads", ONNX_ATTR_INT, NULL, 0, INT32_MAX, OPTIONAL},
    {"RotaryEmbedding", "interleaved", ONNX_ATTR_INT, NULL, 0, 1, OPTIONAL},
    {"Gemm", "transA transB", ONNX_ATTR_INT, NULL, 0, 1, OPTIONAL},
    {"BitShift", "direction", ONNX_ATTR_STRING, "LEFT|RIGHT|", 0, 0, REQUIRED},
    {"CumSum CumProd", "exclusive reverse", ONNX_ATTR_INT, NULL, 0, 1, OPTIONAL},
    {"Mod", "fmod", ONNX_ATTR_INT, NULL, 0, 1, OPTIONAL},
    {"Gelu", "approximate", ONNX_ATTR_STRING, "none|tanh|", 0, 0, OPTIONAL},
    {"DFT STFT", "inverse onesided", ONNX_ATTR_INT, NULL, 0, 1, OPTIONAL},
    {REDUCTIONS " ArgMax ArgMin", "keepdims", ONNX_ATTR_INT, NULL, 0, 1, OPTIONAL},
    {REDUCTIONS, "noop_with_empty_axes", ONNX_ATTR_INT, NULL, 0, 1, OPTIONAL},
    {"ArgMax ArgMin", "select_last_index", ONNX_ATTR_INT, NULL, 0, 1, OPTIONAL},
    {"TopK", "largest sorted", ONNX_ATTR_INT, NULL, 0, 1, OPTIONAL},
    {"QuantizeLinear", "saturate precision", ONNX_ATTR_INT, NULL, 0, 0, OPTIONAL},
    {"QuantizeLinear DequantizeLinear", "block_size", ONNX_ATTR_INT, NULL, 0, 0x1p62, OPTIONAL},
    {"Reshape", "allowzero", ONNX_ATTR_INT, NULL, 0, 1, OPTIONAL},
    {"Split", "num_outputs", ONNX_ATTR_INT, NULL, 1, INT32_MAX, OPTIONAL},
    {"SplitToSequence", "keepdims", ONNX_ATTR_INT, NULL, 0, 1, OPTIONAL},
    {"DepthToSpace", "mode", ONNX_ATTR_STRING, "DCR|CRD|", 0, 0, OPTIONAL},
    {"TensorScatter", "mode", ONNX_ATTR_STRING, "linear|circular|", 0, 0, OPTIONAL},
    {"ConstantOfShape", "value", ONNX_ATTR_TENSOR, NULL, 0, 0, OPTIONAL},
    {"NonMaxSuppression", "center_point_box", ONNX_ATTR_INT, NULL, 0, 1, OPTIONAL},
    {"RegexFullMatch", "pattern", ONNX_ATTR_STRING, NULL, 0, 0, REQUIRED},
    {"StringNormalizer", "case_change_action", ONNX_ATTR_STRING, "NONE|LOWER|UPPER|", 0, 0, OPTIONAL},
    {"StringNormalizer", "is_case_sensitive", ONNX_ATTR_INT, NULL, 0, 1, OPTIONAL},
    {"StringNormalizer", "stopwords", ONNX_ATTR_STRINGS, NULL, 0, 0, OPTIONAL},
    {"StringNormalizer", "locale", ONNX_ATTR_STRING, NULL, 0, 0, OPTIONAL},
    {"TfIdfVectorizer", "min_gram_length max_gram_length", ONNX_ATTR_INT, NULL, 1, INT32_MAX, REQUIRED},
    {"TfIdfVectorizer", "max_skip_count", ONNX_ATTR_INT, NULL, 0, 0x1p62, REQUIRED},
    {"TfIdfVectorizer", "mode", ONNX_ATTR_STRING, "TF|IDF|TFIDF|", 0, 0, REQUIRED},
    {"TfIdfVectorizer", "ngram_counts ngram_indexes", ONNX_ATTR_INTS, NULL, 0, 0, REQUIRED},
    {"TfIdfVectorizer", "pool_strings", ONNX_ATTR_STRINGS, NULL, 0, 0, OPTIONAL},
    {"TfIdfVectorizer", "pool_int64s", ONNX_ATTR_INTS, NULL, 0, 0, OPTIONAL},
    {"LabelEncoder", "keys_int64s values_int64s", ONNX_ATTR_INTS, NULL, 0, 0, OPTIONAL},
    {"LabelEncoder", "keys_floats values_floats", ONNX_ATTR_FLOATS, NULL, 0, 0, OPTIONAL},
    {"LabelEncoder", "keys_strings values_strings", ONNX_ATTR_STRINGS, NULL, 0, 0, OPTIONAL},
    {"LabelEncoder", "keys_tensor values_tensor default_tensor", ONNX_ATTR_TENSOR, NULL, 0, 0, OPTIONAL},
    {"LabelEncoder", "default_int64", ONNX_ATTR_INT, NULL, 0, 0, OPTIONAL},
    {"LabelEncoder", "default_float", ONNX_ATTR_FLOAT, NULL, 0, 0, OPTIONAL},
    {"LabelEncoder", "default_string", ONNX_ATTR_STRING, NULL, 0, 0, OPTIONAL},
    {"TreeEnsemble", "tree_roots", ONNX_ATTR_INTS, NULL, 0, 0, REQUIRED},
    {"TreeEnsemble", "membership_values", ONNX_ATTR_TENSOR, NULL, 0, 0, OPTIONAL},
};

/* Whether the list has that word; `between` is the character behind each word but maybe the last. */
static bool has_word(const char *list, char between, wick_bytes word) {
    for (const char *at = list; *at;) {
        const char *end = strchr(at, between);
        const size_t n = end ? (size_t)(end - at) : strlen(at);
        if (n == word.size && (!n || !memcmp(at, word.at, n))) return true;
        if (!end) break;
        at = end + 1;
    }
    return false;
}

static bool check(onnx_call *c, const rule *r, const char *name) {
    static const char *const types[] = {[ONNX_ATTR_FLOAT] = "a float",
                                        [ONNX_ATTR_INT] = "an integer",
                                        [ONNX_ATTR_STRING] = "a string",
                                        [ONNX_ATTR_TENSOR] = "a tensor",
                                        [ONNX_ATTR_FLOATS] = "a list of floats",
                                        [ONNX_ATTR_INTS] = "a list of integers",
                                        [ONNX_ATTR_STRINGS] = "a list of strings"};
    const onnx_attr *a = wick_onnx_attr(c, name);
    if (!a) return !r->required || wick_onnx_fail(c, WICK_ERR_FORMAT, "attribute \"%s\" is missing", name);
    if (a->type && a->type != r->type)
        return wick_onnx_fail(c, WICK_ERR_FORMAT, "attribute \"%s\" is not %s", name, types[r->type]);
    if (r->texts && !has_word(r->texts, '|', a->s))
        return wick_onnx_fail(c, WICK_ERR_FORMAT, "attribute \"%s\" is \"%.*s\", not one of %.*s", name,
                              (int)WICK_MIN(a->s.size, (size_t)40), a->s.at,
                              (int)strlen(r->texts) - 1 - (r->texts[0] == '|'), r->texts + (r->texts[0] == '|'));
    if (r->least == 0 && r->most == 0) return true;
    if (r->type == ONNX_ATTR_FLOAT)
        return ((double)a->f >= r->least && (double)a->f <= r->most) ||
               wick_onnx_fail(c, WICK_ERR_FORMAT, "attribute \"%s\" is %g, out of range", name, (double)a->f);
    if ((double)a->i >= r->least && (double)a->i <= r->most) return true;
    return wick_onnx_fail(c, WICK_ERR_FORMAT,
                          r->most == 1 || r->most == 2 ? "attribute \"%s\" is %lld, not %g or %g"
                                                       : "attribute \"%s\" is %lld, out of range",
                          name, (long long)a->i, r->least, r->most);
}

bool wick_onnx_check_attributes(onnx_call *c) {
    const onnx_node *node = c->step->node;
    if (c->step->checked) return true;
    bool own = true; /* none is the caller's, who may give others the next time */
    for (size_t i = 0; i < node->attrs.n; i++) own &= !node->attrs.at[i].reference.size;
    const wick_bytes domain = wick_onnx_domain(node->domain);
    for (size_t i = 0; i < WICK_COUNTOF(rules) && (!domain.size || wick_bytes_are(domain, "ai.onnx.ml")); i++) {
        if (!has_word(rules[i].ops, ' ', node->op)) continue;
        for (const char *at = rules[i].names; *at;) {
            char name[64];
            const size_t n = strcspn(at, " ");
            memcpy(name, at, n);
            name[n] = 0;
            if (!check(c, &rules[i], name)) return false;
            at += n + (at[n] != 0);
        }
    }
    if (own) ((onnx_step *)(uintptr_t)c->step)->checked = true;
    return true;
}
