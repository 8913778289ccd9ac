/* Kernels from formulas: what they compute, and what is refused, where. */
#include <locale.h>

#include "test.h"
#include "wick/wick.h"

#define SETUP                                                                                                          \
    wick_context *ctx;                                                                                                 \
    wick_kernel *k = NULL;                                                                                             \
    (void)k;                                                                                                           \
    REQUIRE(wick_context_new(&(wick_context_options){.threads = 1}, &ctx) == WICK_OK)

/* The value at x, y, z as f64, or NaN and a failed check. */
static double at(wick_context *ctx, const char *text, double x, double y, double z) {
    wick_kernel *k;
    double v = NAN;
    const wick_status status = wick_kernel_from_expr(ctx, text, &k);
    CHECK_MSG(status == WICK_OK, "%s: %s", text, wick_context_error(ctx));
    if (status) return v;
    wick_tensor *in[16];
    for (int i = 0; i < wick_kernel_inputs(k); i++) {
        const char c = wick_kernel_input(k, i)[0];
        in[i] = wick_scalar(ctx, WICK_F64, c == 'x' ? x : c == 'y' ? y : z);
    }
    CHECK_MSG(wick_item(wick_kernel_call(k, wick_kernel_inputs(k), in), &v) == WICK_OK, "%s: %s", text,
              wick_context_error(ctx));
    wick_kernel_free(&k);
    return v;
}

TEST(operators_bind_as_in_c_and_powers_as_in_python) {
    SETUP;
#define SAME(expression, text)                                                                                         \
    CHECK_MSG(at(ctx, text, x, y, z) == (double)(expression), "%s gives %.17g, not %.17g", text,                       \
              at(ctx, text, x, y, z), (double)(expression))
    const double x = 3, y = -2, z = 0.5;
    SAME(x + y * 2.0, "x + y * 2.0");
    SAME((x + y) * 2.0, "(x + y) * 2.0");
    SAME(x - y - z, "x - y - z");
    SAME(x / y / z, "x / y / z");
    SAME(-x, "-x");
    SAME(- -x, "--x");
    SAME(x - -y, "x - -y");
    SAME(-(x * x), "-x ** 2");
    SAME(0.5 * 0.5 * 0.5 * 0.5 * 0.5 * 0.5 * 0.5 * 0.5, "z ** 2 ** x");
    SAME(1 / (x * x), "x ** -2");
    SAME(x - 2 * floor(x / 2), "x % 2");
    SAME(1, "y % x"); /* the sign of the divisor */
    SAME(x < y, "x < y");
    SAME(x >= y && y < z, "x >= y && y < z");
    SAME(x == y || z != y, "x == y || z != y");
    SAME(!(x > y), "!(x > y)");
    SAME(x > 0 ? y : z, "x > 0 ? y : z");
    SAME(x < 0 ? y : z > 0 ? 7 : 8, "x < 0 ? y : z > 0 ? 7 : 8");
    SAME(x <= 3, "x <= 3");
    SAME(fabs(y) + sqrt(z * 2), "abs(y) + sqrt(z * 2)");
    SAME(x, "max(x, y)");
    SAME(y, "min( x ,y )");
    SAME(1, "clamp(x, z, 1)");
    SAME(x * 1.5e3 + .25 - 1., "x*1.5e3+.25-1.");
    SAME(x + 2 * 3 - 8.0 / 4, "x + 2 * 3 - 8.0 / 4");
    SAME(x * 3.14159265358979323846, "x * pi");
    SAME(INFINITY, "x * inf");
    SAME(y, "where(x > z, y, x)");
    wick_context_free(&ctx);
}

TEST(every_function_of_the_table_can_be_called) {
    SETUP;
    int tried = 0;
    for (int i = 0; i < wick_op_count(); i++) {
        const wick_op_info op = wick_op_at(i);
        if (!op.elementwise || !strcmp(op.name, "cast")) continue;
        char text[128];
        snprintf(text, sizeof text, "%s(%s)", op.name,
                 op.max_inputs == 1   ? "x"
                 : op.max_inputs == 2 ? "x, x"
                                      : "x, x, x");
        CHECK_MSG(wick_kernel_from_expr(ctx, text, &k) == WICK_OK, "%s: %s", text, wick_context_error(ctx));
        if (!k) continue;
        char shown[128];
        wick_kernel_format(k, shown, sizeof shown);
        wick_kernel *again = NULL;
        CHECK_MSG(wick_kernel_from_expr(ctx, shown, &again) == WICK_OK, "%s: %s", shown, wick_context_error(ctx));
        wick_kernel_free(&again);
        wick_kernel_free(&k);
        tried++;
    }
    CHECK(tried > 80);
    wick_context_free(&ctx);
}

TEST(the_text_that_is_shown_is_the_same_kernel) {
    SETUP;
    REQUIRE(wick_kernel_from_expr(ctx, "relu(x*scale + 0.1) ** 2.0 - (1e30 > x ? 3 : 1)", &k) == WICK_OK);
    char text[200], again[200];
    CHECK_INT(wick_kernel_format(k, NULL, 0), wick_kernel_format(k, text, sizeof text));
    CHECK_MSG(!strcmp(text, "((relu(((x * scale) + 0.1)) ** 2.0) - where((1e+30 > x), 3, 1))"), "%s", text);
    CHECK(wick_kernel_inputs(k) == 2 && !strcmp(wick_kernel_input(k, 1), "scale") && !wick_kernel_input(k, 2) &&
          !wick_kernel_input(k, -1));
    wick_kernel_free(&k);
    REQUIRE(wick_kernel_from_expr(ctx, text, &k) == WICK_OK);
    wick_kernel_format(k, again, sizeof again);
    CHECK(!strcmp(text, again));
    wick_kernel_free(&k);
    wick_kernel_free(&k);
    wick_context_free(&ctx);
}

TEST(mistakes_name_the_column) {
    SETUP;
    static const struct {
        const char *text, *error;
    } wrong[] = {
        {"", "column 1: the expression ends"},
        {"x +", "column 4: the expression ends"},
        {"x + * y", "column 5: a value must stand here, not \"*\""},
        {"(x", "column 3: \")\" must follow"},
        {"x)", "column 2: \")\" is not expected"},
        {"x y", "column 3: \"y\" is not expected"},
        {"1 + 2", "column 1: the expression names no input"},
        {"foo(x)", "column 1: there is no elementwise function foo"},
        {"x + exp(x, y)", "column 12: exp takes 1 argument"},
        {"x + clamp(x, y)", "column 5: clamp takes 3 arguments, not 2"},
        {"exp()", "column 1: exp takes 1 argument, not 0"},
        {"exp(x", "column 6: \",\" or \")\" must follow"},
        {"x < y < z", "column 7: comparisons don't chain"},
        {"x ? y", "column 6: \":\" must follow"},
        {"1.2.3 * x", "column 4: a number ends before \".\""},
        {"1e * x", "column 2: an exponent has digits"},
        {". + x", "column 1: a number has digits"},
        {"2x", "column 2: a number ends before \"x\""},
        {"x = 3", "column 3: \"=\" is not expected"},
        {"x & y", "column 3: \"&\" is not expected"},
        {"x \x01", "column 3: byte 1"},
        {"matmul(x, y)", "column 1: there is no elementwise function matmul"},
        {"a_name_that_has_thirty_two_bytes1 + 1", "column 1: a name of 33 characters is too long"},
        {"a+b+c+d+e+f+g+h+i+j+k+l+m+n+o+p+q", "column 33: q is one input too many: there may be 16"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        CHECK_INT(wick_kernel_from_expr(ctx, wrong[i].text, &k), WICK_ERR_INVALID);
        CHECK_MSG(strstr(wick_context_error(ctx), wrong[i].error) != NULL, "%s: \"%s\", not \"%s\"", wrong[i].text,
                  wick_context_error(ctx), wrong[i].error);
        CHECK(k == NULL);
    }
    CHECK_INT(wick_kernel_from_expr(ctx, NULL, &k), WICK_ERR_INVALID);
    wick_context_free(&ctx);
}

/* `open` n times, x, `close` n times. */
static wick_status nested(wick_context *ctx, const char *open, int n, const char *close) {
    static char text[20000];
    size_t at = 0;
    for (int i = 0; i < n; i++) at += (size_t)snprintf(text + at, sizeof text - at, "%s", open);
    at += (size_t)snprintf(text + at, sizeof text - at, "x");
    for (int i = 0; i < n; i++) at += (size_t)snprintf(text + at, sizeof text - at, "%s", close);
    wick_kernel *k;
    const wick_status status = wick_kernel_from_expr(ctx, text, &k);
    wick_kernel_free(&k);
    return status;
}
TEST(depth_length_and_number_are_bounded) {
    SETUP;
    CHECK_INT(nested(ctx, "(", 64, ")"), WICK_OK);
    CHECK_INT(nested(ctx, "(", 65, ")"), WICK_ERR_INVALID);
    CHECK_STR_HAS(wick_context_error(ctx), "nested deeper than 64");
    CHECK_INT(nested(ctx, "-", 64, ""), WICK_OK);
    CHECK_INT(nested(ctx, "-", 65, ""), WICK_ERR_INVALID);
    CHECK_INT(nested(ctx, "x ** ", 65, ""), WICK_ERR_INVALID);
    CHECK_INT(nested(ctx, "exp(", 65, ")"), WICK_ERR_INVALID);
    CHECK_INT(nested(ctx, "x ? x : ", 65, ""), WICK_ERR_INVALID);
    CHECK_INT(nested(ctx, "", 255, "+x"), WICK_OK); /* 511 nodes */
    CHECK_INT(nested(ctx, "", 256, "+x"), WICK_ERR_INVALID);
    CHECK_STR_HAS(wick_context_error(ctx), "more than 512");
    CHECK_INT(nested(ctx, " ", 4095, ""), WICK_OK);
    CHECK_INT(nested(ctx, " ", 4096, ""), WICK_ERR_INVALID);
    CHECK_STR_HAS(wick_context_error(ctx), "longer");
    wick_context_free(&ctx);
}

TEST(any_text_is_read_or_refused) {
    SETUP;
    static const char *const parts[] = {"x",  "y",  "1",  "2.5",  "+",      "-",    "*", "**", "/",   "%",
                                        "(",  ")",  ",",  "exp(", "where(", "max(", "<", "<=", "==",  "!",
                                        "!=", "&&", "||", "?",    ":",      " ",    ".", "e",  "\xff"};
    int good = 0;
    for (int i = 0; i < 20000; i++) {
        char text[256] = "";
        for (int n = test_rand_int(1, 12), j = 0; j < n; j++)
            strcat(text, parts[test_rand() % (sizeof parts / sizeof *parts)]);
        const wick_status status = wick_kernel_from_expr(ctx, text, &k);
        CHECK_MSG(status == WICK_OK ||
                      (status == WICK_ERR_INVALID && strstr(wick_context_error(ctx), "kernel: column ")),
                  "%s", text);
        if (!k) continue;
        good++;
        char shown[4096], again[4096];
        wick_kernel_format(k, shown, sizeof shown);
        wick_kernel_free(&k);
        CHECK_MSG(wick_kernel_from_expr(ctx, shown, &k) == WICK_OK, "%s: %s: %s", text, shown, wick_context_error(ctx));
        if (!k) continue;
        wick_kernel_format(k, again, sizeof again);
        CHECK_MSG(!strcmp(shown, again), "%s: %s: %s", text, shown, again);
        wick_kernel_free(&k);
    }
    CHECK_MSG(good > 100, "%d", good);
    wick_context_free(&ctx);
}

static wick_dtype dtype_of(wick_context *ctx, const char *text, wick_dtype x, wick_dtype y) {
    wick_kernel *k;
    if (wick_kernel_from_expr(ctx, text, &k)) return WICK_DTYPE_COUNT;
    wick_tensor *in[2] = {wick_ones(ctx, x, WICK_DIMS(2)), wick_ones(ctx, y, WICK_DIMS(2))};
    const wick_dtype d = wick_tensor_dtype(wick_kernel_call(k, wick_kernel_inputs(k), in));
    wick_kernel_free(&k);
    return d;
}
TEST(numbers_take_the_dtype_of_what_they_stand_with) {
    SETUP;
    CHECK_INT(dtype_of(ctx, "x * 2.0", WICK_F16, WICK_F32), WICK_F16);
    CHECK_INT(dtype_of(ctx, "x * 2.0", WICK_F64, WICK_F32), WICK_F64);
    CHECK_INT(dtype_of(ctx, "x * 2", WICK_I64, WICK_F32), WICK_I64);
    CHECK_INT(dtype_of(ctx, "x * 2.5", WICK_I64, WICK_F32), WICK_F32);
    CHECK_INT(dtype_of(ctx, "x + 1", WICK_BOOL, WICK_F32), WICK_I32);
    CHECK_INT(dtype_of(ctx, "x * sqrt(2)", WICK_F64, WICK_F32), WICK_F64);
    CHECK_INT(dtype_of(ctx, "x > 0 ? 1 : 0", WICK_F64, WICK_F32), WICK_F64);
    CHECK_INT(dtype_of(ctx, "x + y", WICK_F16, WICK_F32), WICK_F32);
    CHECK_INT(dtype_of(ctx, "x < y", WICK_F16, WICK_F32), WICK_BOOL);
    wick_context_free(&ctx);
}

TEST(inputs_broadcast_and_calls_are_tensors_like_any_other) {
    SETUP;
    REQUIRE(wick_kernel_from_expr(ctx, "x * y + exp(-x)", &k) == WICK_OK);
    wick_tensor *in[2] = {wick_from(ctx, WICK_F64, WICK_DIMS(2, 1), (double[]){1, 2}),
                          wick_from(ctx, WICK_F64, WICK_DIMS(3), (double[]){1, -1, 4})},
                *g;
    wick_tensor *v = wick_kernel_call(k, 2, in);
    CHECK(wick_tensor_rank(v) == 2 && wick_tensor_dim(v, 0) == 2 && wick_tensor_dim(v, 1) == 3);
    wick_grad(wick_sum(v, WICK_ALL_AXES, false), 1, in, &g);
    double gx[2];
    REQUIRE(wick_read(g, gx, sizeof gx) == WICK_OK);
    CHECK(fabs(gx[0] - (4 - 3 * exp(-1))) < 1e-14 && fabs(gx[1] - (4 - 3 * exp(-2))) < 1e-14);
    const char *error;
    CHECK(wick_tensor_error(wick_kernel_call(k, 1, in), &error) == WICK_ERR_INVALID);
    CHECK_STR_HAS(error, "kernel: takes 2 inputs, not 1");
    CHECK(wick_tensor_error(wick_kernel_call(k, 2, (wick_tensor *[]){in[0], NULL}), &error) == WICK_ERR_INVALID);
    CHECK_STR_HAS(error, "input y is NULL");
    CHECK(wick_tensor_error(wick_kernel_call(k, 2, NULL), NULL) == WICK_ERR_INVALID);
    wick_kernel_free(&k);
    wick_context_free(&ctx);
}

TEST(compiled_kernels_are_one_fused_program_with_the_bits_of_the_ops) {
    SETUP;
    REQUIRE(wick_kernel_from_expr(ctx, "tanh(x * 0.5 + y) * (x > 0 ? x : (x + y) / 3)", &k) == WICK_OK);
    enum { ROWS = 37, COLS = 1001 };
    const wick_spec specs[2] = {{.name = "x", .dtype = WICK_F32, .rank = 2, .dims = {ROWS, COLS}},
                                {.name = "y", .dtype = WICK_F32, .rank = 1, .dims = {COLS}}};
    static float x[ROWS * COLS], y[COLS], out[ROWS * COLS], want[ROWS * COLS];
    for (size_t i = 0; i < sizeof x / sizeof *x; i++) x[i] = (float)test_rand_real(-3, 3);
    for (size_t i = 0; i < COLS; i++) y[i] = (float)test_rand_real(-3, 3);
    wick_plan *plan;
    wick_workspace *ws;
    CHECK_INT(wick_kernel_compile(k, 2, (wick_spec[2]){specs[1], specs[0]}, NULL, &plan), WICK_ERR_INVALID);
    CHECK_STR_HAS(wick_context_error(ctx), "input 0 is x, not y");
    CHECK_INT(wick_kernel_compile(k, 1, specs, NULL, &plan), WICK_ERR_INVALID);
    REQUIRE(wick_kernel_compile(k, 2, specs, NULL, &plan) == WICK_OK);
    wick_kernel_free(&k);
    CHECK_INT(wick_plan_get_info(plan).kernels, 1);
    REQUIRE(wick_workspace_new(plan, &ws) == WICK_OK);
    CHECK(wick_run(ws, (const void *[]){x, y}, (void *[]){out}) == WICK_OK);
    wick_tensor *tx = wick_from(ctx, WICK_F32, WICK_DIMS(ROWS, COLS), x),
                *ty = wick_from(ctx, WICK_F32, WICK_DIMS(COLS), y);
    wick_tensor *t = wick_tanh(wick_add(wick_mul(tx, wick_like(tx, 0.5)), ty));
    t = wick_mul(t, wick_where(wick_gt(tx, wick_like(tx, 0)), tx, wick_div(wick_add(tx, ty), wick_like(ty, 3))));
    CHECK(wick_read(t, want, sizeof want) == WICK_OK && memcmp(out, want, sizeof out) == 0);
    CHECK(fabs(out[5] - tanh(x[5] * 0.5 + y[5]) * (x[5] > 0 ? x[5] : (x[5] + y[5]) / 3)) < 1e-5);
    wick_workspace_free(&ws);
    wick_plan_free(&plan);
    wick_context_free(&ctx);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
