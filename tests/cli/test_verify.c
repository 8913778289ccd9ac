/* Broken models: wick verify and wick run refuse the same ones, in the same words, and wick inspect says those too. A
 * model is a line of text here. */
#include <sys/wait.h>
#include <unistd.h>

#include "io/pb.h"
#include "io/scratch.h"

#ifndef WICK_COMMAND /* it is not built */
#define WICK_COMMAND ""
#endif

/* ---- models from text -------------------------------------------------------------------------------------------- */

/* name: float[dims], bool for "c", a condition, of which "N" is an open one called so; none: of any shape */
static pb port(const char *name, const char *dims) {
    pb v = {0}, type = {0}, tensor = {0}, shape = {0};
    pb_int(&tensor, 1, *name == 'c' ? 9 : 1);
    for (const char *at = dims; at && *at; at += strcspn(at, ","), at += *at == ',') {
        pb dim = {0};
        if (*at >= 'A') pb_blob(&dim, 2, at, strcspn(at, ","));
        else pb_int(&dim, 1, strtoll(at, NULL, 10));
        pb_message(&shape, 1, &dim);
    }
    if (dims) pb_message(&tensor, 2, &shape);
    pb_message(&type, 1, &tensor);
    pb_text(&v, 1, name);
    pb_message(&v, 2, &type);
    return v;
}

/* "axis=1", "perm=1,0," (a list), "mode='edge", "scale=0.5" */
static void attribute(pb *node, const char *text, size_t length) {
    char all[80];
    snprintf(all, sizeof all, "%.*s", (int)length, text);
    char *value = strchr(all, '=');
    *value++ = 0;
    pb a = {0};
    pb_text(&a, 1, all);
    const bool list = strchr(value, ',') != NULL, string = *value == '\'', real = strchr(value, '.') != NULL;
    const float f = strtof(value, NULL);
    if (string) pb_text(&a, 4, value + 1);
    else if (real) pb_varint(&a, 2 << 3 | 5), pb_bytes(&a, &f, sizeof f);
    for (char *s = value; !string && !real && *s; s += *s == ',') pb_int(&a, list ? 8 : 3, strtoll(s, &s, 10));
    pb_int(&a, 20, string ? 3 : real ? 1 : list ? 7 : 2);
    pb_message(node, 5, &a);
}

/* A graph of one node. inputs, in the node's order: "x[2,6]" and "c[1]" the graph's, "w[4,6]" a weight of zeros,
 * "s{1,-1}" a weight of these integers, "-" none. */
static pb one_node(const char *op, const char *inputs, const char *attributes) {
    pb node = {0}, graph = {0};
    for (const char *at = inputs; *at; at += strcspn(at, " "), at += *at == ' ') {
        char name[8] = {*at}, dims[40] = "";
        const char *last = at + strcspn(at, "]} ");
        if (*at != '-') snprintf(dims, sizeof dims, "%.*s", (int)(last - at - 2), at + 2);
        pb_text(&node, 1, *at == '-' ? "" : name);
        if (*at == '-') continue;
        if (*name == 'x' || *name == 'c') {
            pb p = port(name, dims);
            pb_message(&graph, 11, &p);
            continue;
        }
        int64_t numbers[8], n = 0, count = 1;
        for (char *s = dims; *s && n < 8; s += *s == ',') numbers[n] = strtoll(s, &s, 10), count *= numbers[n++];
        float *zeros = calloc((size_t)(count > 0 ? count : 1), sizeof *zeros);
        pb t = at[1] == '{' ? pb_tensor(name, 7, 1, &n, numbers, (size_t)n * 8)
                            : pb_tensor(name, 1, (int)n, numbers, zeros, (size_t)count * 4);
        free(zeros);
        pb_message(&graph, 5, &t);
    }
    pb_text(&node, 2, "y");
    pb_text(&node, 4, op);
    for (const char *at = attributes; *at; at += strcspn(at, " "), at += *at == ' ')
        attribute(&node, at, strcspn(at, " "));
    pb_message(&graph, 1, &node);
    pb y = port("y", NULL);
    pb_message(&graph, 12, &y);
    return graph;
}

static void write_model(pb *m) {
    CHECK(put(at("m.onnx"), m->at, m->n));
    free(m->at);
    *m = (pb){0};
}
static pb with_opset(pb *graph, int64_t ir, const char *domain, int64_t opset) {
    pb m = {0}, set = {0};
    pb_int(&m, 1, ir);
    pb_text(&set, 1, domain);
    pb_int(&set, 2, opset);
    pb_message(&m, 8, &set);
    pb_message(&m, 7, graph);
    return m;
}

/* ---- the command ------------------------------------------------------------------------------------------------- */

typedef struct answer {
    int code;
    char out[4096], err[2048];
} answer;

static void read_back(const char *name, char *text, size_t size) {
    FILE *f = fopen(at(name), "rb");
    text[f ? fread(text, 1, size - 1, f) : 0] = 0;
    if (f) fclose(f);
}
static answer wick(const char *arguments) {
    char line[1024];
    answer a = {.code = -1};
    snprintf(line, sizeof line, "cd %s && '%s' %s >out 2>err", folder, WICK_COMMAND, arguments);
    const int status = system(line);
    if (WIFEXITED(status)) a.code = WEXITSTATUS(status);
    read_back("out", a.out, sizeof a.out);
    read_back("err", a.err, sizeof a.err);
    return a;
}
/* What the command says went wrong: its last line without "wick COMMAND: ". */
static const char *reason(const answer *a) {
    const char *at = NULL;
    for (const char *s = a->err; (s = strstr(s, "wick ")); s += 5)
        if (s == a->err || s[-1] == '\n') at = s;
    return at && strstr(at, ": ") ? strstr(at, ": ") + 2 : "";
}

/* verify, run and inspect of m.onnx. */
static void check_refused(const char *what, const char *says) {
    const answer verify = wick("verify m.onnx"), run = wick("run m.onnx --input random"),
                 inspect = wick("inspect m.onnx");
    test_count("broken models", 1);
    CHECK_MSG(verify.code == 3 && run.code == 3, "%s: verify %d, run %d", what, verify.code, run.code);
    CHECK_MSG(strcmp(reason(&verify), reason(&run)) == 0, "%s: verify says %s run says %s", what, verify.err, run.err);
    CHECK_MSG(strstr(verify.err, says) != NULL, "%s: %s lacks %s", what, verify.err, says);
    const bool lacks = strstr(says, "Wick does not have") != NULL; /* that is no fault to inspect */
    CHECK_MSG(inspect.code == (lacks ? 0 : 3) && (lacks || strcmp(reason(&inspect), reason(&verify)) == 0),
              "%s: inspect %d, %s", what, inspect.code, inspect.err);
}

static bool ready(void) {
    static bool made;
    if (*WICK_COMMAND && !made) made = mkdtemp(folder) != NULL;
    return made;
}

/* ---- */

static const struct {
    const char *op, *inputs, *attributes, *says;
} broken[] = {
    /* shapes */
    {"Conv", "x[1,3,8,8] w[4,5,3,3]", "", "3 input channels"},
    {"Conv", "x[1,3,8,8] w[4,3,3]", "", "Conv \"y\""},
    {"Conv", "x[1,3,8,8] w[4,3,3,3] b[5]", "", "Conv \"y\""},
    {"Conv", "x[1,3,8,8] w[4,3,9,9]", "", "the kernel covers 9 places"},
    {"Conv", "x[1,3,8,8]", "", "input 1 is not there"},
    {"ConvTranspose", "x[1,3,8,8] w[4,3,3,3]", "", "ConvTranspose \"y\""},
    {"MatMul", "x[2,6] w[5,4]", "", "MatMul \"y\""},
    {"Gemm", "x[2,6] w[6,4] b[3]", "", "Gemm \"y\""},
    {"Add", "x[2,6] w[5]", "", "do not broadcast"},
    {"Reshape", "x[2,6] s{5,5}", "", "12 elements"},
    {"Reshape", "x[2,6] s{-1,-1}", "", "Reshape \"y\""},
    {"Reshape", "x[2,6] s{-2,6}", "", "Reshape \"y\""},
    {"Expand", "x[2,6] s{2,5}", "", "Expand \"y\""},
    {"Concat", "x[2,6] w[3,5]", "axis=0", "Concat \"y\""},
    {"BatchNormalization", "x[1,3,4,4] s[4] b[4] m[4] v[4]", "", "BatchNormalization \"y\""},
    {"LayerNormalization", "x[2,6] s[5]", "", "LayerNormalization \"y\""},
    {"PRelu", "x[2,6] s[5]", "", "PRelu \"y\""},
    {"Einsum", "x[2,6] w[5,4]", "equation='ij,jk->ik", "Einsum \"y\""},
    {"DepthToSpace", "x[1,3,8,8]", "blocksize=2", "DepthToSpace \"y\""},
    {"LSTM", "x[2,1,6] w[1,16,5] r[1,16,4]", "hidden_size=4", "LSTM \"y\""},
    {"Pad", "x[2,6] p{1,1,1}", "", "Pad \"y\""},
    {"Pad", "x[2,6] p{-9,0,0,0}", "", "Pad \"y\""},
    {"Tile", "x[2,6] p{2}", "", "Tile \"y\""},
    {"Slice", "x[2,6] s{0} e{1} a{0,1}", "", "Slice \"y\""},
    {"Resize", "x[1,3,8,8] - k[2]", "", "Resize \"y\""},
    {"MaxPool", "x[1,3,8,8]", "kernel_shape=20,20,", "the kernel covers 20 places"},
    /* axes */
    {"Softmax", "x[2,6]", "axis=5", "axis 5 of a tensor with 2 dims"},
    {"Flatten", "x[2,6]", "axis=9", "Flatten \"y\""},
    {"Transpose", "x[2,6]", "perm=0,0,", "Transpose \"y\""},
    {"Transpose", "x[2,6]", "perm=0,7,", "Transpose \"y\""},
    {"Squeeze", "x[2,6] a{1}", "", "Squeeze \"y\""},
    {"Unsqueeze", "x[2,6] a{9}", "", "axis 9 of a tensor with 3 dims"},
    {"ReduceMean", "x[2,6] a{4}", "", "axis 4 of a tensor with 2 dims"},
    {"ReduceSum", "x[2,6] a{0,-2}", "", "is named twice"},
    {"Gather", "x[2,6] i{0}", "axis=3", "axis 3 of a tensor with 2 dims"},
    {"GatherND", "x[2,6] i{0,0,0}", "", "GatherND \"y\""},
    {"ArgMax", "x[2,6]", "axis=2", "axis 2 of a tensor with 2 dims"},
    {"TopK", "x[2,6] k{77}", "", "TopK \"y\""},
    {"CumSum", "x[2,6] a{5}", "", "CumSum \"y\""},
    {"Slice", "x[2,6] s{0} e{1} a{5}", "", "Slice \"y\""},
    {"Slice", "x[2,6] s{0} e{1} a{0} t{0}", "", "Slice \"y\""},
    {"Split", "x[2,6] s{3,4}", "axis=1", "Split \"y\""},
    {"Concat", "x[2,6] w[2,6]", "axis=7", "axis 7 of a tensor with 2 dims"},
    /* attributes and inputs */
    {"Concat", "x[2,6] w[2,6]", "", "attribute \"axis\" is missing"},
    {"Concat", "", "axis=0", "has no inputs"},
    {"Sum", "", "", "Sum \"y\""},
    {"Conv", "x[1,3,8,8] w[4,3,3,3]", "strides=0,1,", "Conv \"y\""},
    {"Conv", "x[1,3,8,8] w[4,3,3,3]", "strides=1,1,1,", "Conv \"y\""},
    {"Conv", "x[1,3,8,8] w[4,3,3,3]", "dilations=0,0,", "Conv \"y\""},
    {"Conv", "x[1,3,8,8] w[4,3,3,3]", "group=0", "attribute \"group\""},
    {"Conv", "x[1,3,8,8] w[4,3,3,3]", "auto_pad='MAYBE", "not one of"},
    {"Conv", "x[1,3,8,8] w[4,3,3,3]", "kernel_shape=5,5,", "Conv \"y\""},
    {"MaxPool", "x[1,3,8,8]", "", "attribute \"kernel_shape\" is missing"},
    {"Pad", "x[2,6] p{1,1,1,1}", "mode='mirror", "Pad \"y\""},
    {"Cast", "x[2,6]", "", "Cast \"y\""},
    {"Cast", "x[2,6]", "to=99", "Cast \"y\""},
    {"Einsum", "x[2,6]", "", "Einsum \"y\""},
    {"Softmax", "x[2,6]", "axis='one", "is not an integer"},
    {"LeakyRelu", "x[2,6]", "alpha=3", "is not a float"},
    {"Add", "x[2,6]", "", "input 1 is not there"},
    {"LSTM", "x[2,1,6] w[1,16,6] r[1,16,4]", "hidden_size=4 direction='sideways", "not one of"},
    {"If", "x[1]", "", "input 0 is of f32, not bool"},
    {"If", "c[1]", "", "attribute \"then_branch\""},
    /* ops */
    {"Bogus", "x[2,6]", "", "uses what Wick does not have: Bogus-18"},
    {"relu", "x[2,6]", "", "uses what Wick does not have: relu-18"},
};

TEST(verify_refuses_what_run_refuses_in_the_same_words) {
    if (!ready()) SKIP("no command");
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        char what[200];
        snprintf(what, sizeof what, "%s of %s with %s", broken[i].op, broken[i].inputs, broken[i].attributes);
        pb graph = one_node(broken[i].op, broken[i].inputs, broken[i].attributes), m = with_opset(&graph, 9, "", 18);
        write_model(&m);
        check_refused(what, broken[i].says);
        CHECK_INT(wick("verify m.onnx --shallow").code, 0); /* the file's form is right */
    }
}

TEST(opsets_that_are_none_are_refused) {
    static const struct {
        const char *domain;
        int64_t opset;
        const char *says;
    } cases[] = {
        {"", -1, "opset -1: the first is 1"},
        {"", 0, "opset 0: the first is 1"},
        {"", -((int64_t)1 << 62), "the first is 1"},
        {"", 29, "opset 29 is newer than 28"},
        {"", (int64_t)1 << 40, "is newer than 28"},
        {"ai.onnx.ml", 3, "opset_import names other domains alone"},
        {"com.acme", -4, "opset -4 of the domain com.acme: the first is 1"},
        {"ai.onnx.ml", 99, "opset 99 of the domain ai.onnx.ml is newer than 5"},
        {"com.microsoft", 2, "opset 2 of the domain com.microsoft is newer than 1"},
    };
    if (!ready()) SKIP("no command");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pb graph = one_node("Relu", "x[2,6]", ""), m = with_opset(&graph, 9, cases[i].domain, cases[i].opset);
        write_model(&m);
        check_refused(cases[i].says, cases[i].says);
        CHECK_INT(wick("verify m.onnx --shallow").code, 3);
    }
    for (int ir = 1; ir < 10; ir += 8) { /* before IR 3 there were no opsets */
        pb graph = one_node("Relu", "x[2,6]", ""), m = {0};
        pb_int(&m, 1, ir);
        pb_message(&m, 7, &graph);
        write_model(&m);
        if (ir == 1) CHECK_INT(wick("verify m.onnx").code, 0);
        else check_refused("no opset", "opset_import is missing");
    }
}

TEST(a_domain_that_no_row_knows_is_refused) {
    static const struct {
        const char *domain, *says;
    } cases[] = {{"not.a.domain", "uses what Wick does not have: not.a.domain::Normalizer-1"},
                 {"ai.onnx.ml", "is of a domain that opset_import does not name"}};
    if (!ready()) SKIP("no command");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pb graph = {0}, node = pb_node("Normalizer", "x", NULL, "y"), x = port("x", "2,6"), y = port("y", NULL);
        pb_text(&node, 7, cases[i].domain);
        pb_message(&graph, 1, &node);
        pb_message(&graph, 11, &x);
        pb_message(&graph, 12, &y);
        pb m = with_opset(&graph, 9, "", 18);
        write_model(&m);
        check_refused(cases[i].domain, cases[i].says);
    }
}

/* A call of my::f, and f, which calls `calls`. */
TEST(functions_are_recorded_to_their_end) {
    static const struct {
        const char *calls, *domain, *attributes, *says;
    } cases[] = {{"f", "my", "", "deeper than the limit"},
                 {"Softmax", "", "axis=8", "axis 8 of a tensor with 2 dims"},
                 {"Bogus", "", "", "uses what Wick does not have: Bogus-18"}};
    if (!ready()) SKIP("no command");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pb graph = {0}, node = pb_node("f", "x", NULL, "y"), x = port("x", "2,6"), y = port("y", NULL), f = {0},
           inner = pb_node(cases[i].calls, "a", NULL, "b"), set = {0};
        pb_text(&node, 7, "my");
        pb_message(&graph, 1, &node);
        pb_message(&graph, 11, &x);
        pb_message(&graph, 12, &y);
        pb m = with_opset(&graph, 9, "", 18);
        pb_text(&set, 1, "my");
        pb_int(&set, 2, 1);
        pb_message(&m, 8, &set);
        pb_text(&f, 1, "f");
        pb_text(&f, 4, "a");
        pb_text(&f, 5, "b");
        pb_text(&inner, 7, cases[i].domain);
        if (*cases[i].attributes) attribute(&inner, cases[i].attributes, strlen(cases[i].attributes));
        pb_message(&f, 7, &inner);
        pb_text(&set, 1, "");
        pb_int(&set, 2, 18);
        pb_message(&f, 9, &set);
        pb_text(&set, 1, "my");
        pb_int(&set, 2, 1);
        pb_message(&f, 9, &set);
        pb_text(&f, 10, "my");
        pb_message(&m, 25, &f);
        write_model(&m);
        check_refused(cases[i].calls, cases[i].says);
    }
}

TEST(open_extents_are_guessed_and_the_guess_is_told) {
    static const struct {
        const char *op, *inputs, *attributes, *arguments;
        int code;
        const char *says;
    } cases[] = {
        {"Relu", "x[N,6]", "", "", 0, "recorded with N as 1"},
        {"MaxPool", "x[N,3,H,W]", "kernel_shape=5,5,", "", 0, "recorded with N, H, W as 1 along first axes and 32"},
        {"MaxPool", "x[N,3,H,W]", "kernel_shape=5,5,", "--dim H=3", 3,
         "MaxPool \"y\": the kernel covers 5 places of axis 2, which has 3"},
        {"MatMul", "x[N,T] w[7,4]", "", "", 0, "not recorded to its end"}, /* T may be 7 */
        {"MatMul", "x[N,T] w[7,4]", "", "--dim T=7", 0, "recorded with N as 1"},
        {"MatMul", "x[N,6] w[7,4]", "", "", 3, "MatMul \"y\""},           /* N may be any number */
        {"Conv", "x[N,3,H,W] w[4,5,3,3]", "", "", 3, "3 input channels"}, /* whatever H and W are */
        {"Softmax", "x[N,T]", "axis=5", "", 3, "axis 5 of a tensor with 2 dims"},
    };
    if (!ready()) SKIP("no command");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char line[200];
        pb graph = one_node(cases[i].op, cases[i].inputs, cases[i].attributes), m = with_opset(&graph, 9, "", 18);
        write_model(&m);
        snprintf(line, sizeof line, "verify m.onnx %s", cases[i].arguments);
        const answer a = wick(line);
        CHECK_MSG(a.code == cases[i].code && strstr(a.code ? a.err : a.out, cases[i].says), "%zu: %d, %s%s", i, a.code,
                  a.out, a.err);
    }
}

TEST(inspect_shows_the_rest_of_a_broken_model) {
    if (!ready()) SKIP("no command");
    pb graph = one_node("Softmax", "x[2,6]", "axis=5"), m = with_opset(&graph, 9, "", 18);
    write_model(&m);
    answer a = wick("inspect m.onnx");
    CHECK_INT(a.code, 3);
    CHECK_STR_HAS(a.out, "input       x  float [2, 6]");
    CHECK_STR_HAS(a.out, "fault       m.onnx: Softmax \"y\": axis 5 of a tensor with 2 dims");
    a = wick("inspect m.onnx --json");
    CHECK_INT(a.code, 3);
    CHECK_STR_HAS(a.out, "{\"ok\": false, \"exit\": 3, \"error\": \"m.onnx: Softmax");
    CHECK_STR_HAS(a.out, "\"inputs\": [{\"name\": \"x\"");
}

int main(int argc, char **argv) { return test_main(argc, argv); }
