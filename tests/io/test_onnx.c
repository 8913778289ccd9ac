/* The ONNX reader: what it says of bad files, and that none of them hurts. */
#include <fcntl.h>
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/onnx/proto.h"
#include "io/onnx/schema.h"
#include "onnx_test.h"

static bool set_up(void) { return set_up_with(&(wick_context_options){.threads = 1}); }
/* It is refused, with this in the message. */
static void refused(pb *m, wick_status want, const char *part) {
    wick_onnx *onnx = open_model(m, NULL);
    CHECK_MSG(!onnx, "%s", part);
    if (!onnx) CHECK_INT(wick_context_status(ctx), want);
    CHECK_STR_HAS(wick_context_error(ctx), part);
    CHECK_STR_HAS(wick_context_error(ctx), "model.onnx");
    wick_onnx_free(&onnx);
}

static wick_status run(wick_onnx *onnx, wick_tensor *x, wick_onnx_value *out) {
    return wick_onnx_apply(onnx, &(wick_onnx_value){.kind = WICK_VALUE_TENSOR, .tensor = x}, out);
}

/* y = x + w, w [2] */
static pb add_graph(pb *weight) {
    pb g = {0}, x = pb_value("x", 2), y = pb_value("y", 2), n = pb_node("Add", "x", "w", "y");
    pb_message(&g, 1, &n);
    if (weight) pb_message(&g, 5, weight);
    pb_message(&g, 11, &x);
    pb_message(&g, 12, &y);
    return g;
}
static const int64_t two[] = {2};
static const float w[] = {10, 20};

TEST(a_model_is_read_and_run) {
    REQUIRE(set_up());
    pb t = pb_tensor("w", ONNX_FLOAT, 1, two, w, sizeof w), g = add_graph(&t), m = pb_model(&g, 13);
    wick_onnx *onnx = open_model(&m, NULL);
    REQUIRE(onnx);
    CHECK_INT(wick_onnx_inputs(onnx), 1);
    CHECK_INT(wick_onnx_outputs(onnx), 1);
    const wick_onnx_port port = wick_onnx_input(onnx, 0);
    CHECK(!strcmp(port.name, "x") && port.rank == 1 && port.dims[0] == 2 && port.elem == ONNX_FLOAT &&
          port.kind == WICK_VALUE_TENSOR);
    CHECK(wick_onnx_input(onnx, 1).name == NULL);
    CHECK(!strcmp(wick_onnx_unsupported(onnx), ""));
    CHECK(wick_model_find(wick_onnx_model(onnx), "w") != NULL);
    wick_onnx_value out;
    float y[2];
    CHECK(run(onnx, wick_from(ctx, WICK_F32, WICK_DIMS(2), (float[]){1, 2}), &out) == WICK_OK);
    CHECK(wick_read(out.tensor, y, sizeof y) == WICK_OK && y[0] == 11 && y[1] == 22);
    wick_plan *plan;
    wick_workspace *ws;
    const wick_spec spec = {"x", WICK_F32, 1, {2}};
    CHECK_MSG(wick_onnx_compile(onnx, &spec, NULL, &plan) == WICK_OK, "%s", wick_context_error(ctx));
    REQUIRE(plan && wick_workspace_new(plan, &ws) == WICK_OK);
    CHECK(wick_run(ws, (const void *[]){(float[]){3, 4}}, (void *[]){y}) == WICK_OK && y[0] == 13 && y[1] == 24);
    wick_workspace_free(&ws);
    wick_plan_free(&plan);
    wick_onnx_free(&onnx);
    wick_context_free(&ctx);
}

/* The file's pages go and come again, under a plan too. */
TEST(pages_of_weights_go_when_told) {
    enum { N = 1 << 19 };
    static const int64_t many[] = {N};
    REQUIRE(set_up());
    float *big = malloc(N * sizeof *big), *y = malloc(N * sizeof *y), *x = calloc(N, sizeof *x);
    REQUIRE(big && y && x);
    for (int i = 0; i < N; i++) big[i] = (float)i;
    pb t = pb_tensor("w", ONNX_FLOAT, 1, many, big, N * sizeof *big), g = {0}, in = pb_value("x", N),
       out = pb_value("y", N), n = pb_node("Add", "x", "w", "y");
    pb_message(&g, 1, &n);
    pb_message(&g, 5, &t);
    pb_message(&g, 11, &in);
    pb_message(&g, 12, &out);
    pb m = pb_model(&g, 13);
    wick_onnx *onnx = open_model(&m, NULL);
    wick_plan *plan;
    wick_workspace *ws;
    const wick_spec spec = {"x", WICK_F32, 1, {N}};
    REQUIRE(onnx && wick_onnx_compile(onnx, &spec, NULL, &plan) == WICK_OK && wick_workspace_new(plan, &ws) == WICK_OK);
    size_t all = 0, left = 0;
    for (int round = 0; round < 2; round++) {
        CHECK(wick_run(ws, (const void *[]){x}, (void *[]){y}) == WICK_OK && !memcmp(y, big, N * sizeof *y));
        const bool told = wick_onnx_resident(onnx, &all);
        CHECK(!told || all >= N * sizeof *big);
        CHECK_INT(wick_onnx_advise(onnx, WICK_WEIGHTS_DONE), WICK_OK);
        CHECK(wick_onnx_resident(onnx, &left) == told && left <= all / 8);
    }
    for (int use = WICK_WEIGHTS_NORMAL; use <= WICK_WEIGHTS_SOON; use++)
        CHECK_INT(wick_onnx_advise(onnx, (wick_weights_use)use), WICK_OK);
    CHECK_INT(wick_onnx_advise(onnx, (wick_weights_use)9), WICK_ERR_INVALID);
    CHECK(!wick_onnx_resident(onnx, NULL));
    wick_workspace_free(&ws);
    wick_plan_free(&plan);
    wick_onnx_free(&onnx);
    wick_context_free(&ctx);
    free(big), free(y), free(x);
}

/* A node with an attribute that is a whole number. */
static pb node_with(const char *op, const char *in, const char *out, const char *name, int64_t value) {
    pb n = pb_node(op, in, NULL, out), a = {0};
    pb_text(&a, 1, name);
    pb_int(&a, 3, value);
    pb_int(&a, 20, 2);
    pb_message(&n, 5, &a);
    return n;
}
/* One op rounds once, however many steps it is of. */
TEST(reductions_of_halves_are_rounded_once) {
    static const char *const ops[] = {"ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSum", "ReduceLogSumExp"};
    enum { N = 400 };
    float x[N];
    REQUIRE(set_up());
    for (int k = 0; k < 50; k++) {
        const size_t op = (size_t)k % WICK_COUNTOF(ops);
        double sum = 0, want;
        for (int i = 0; i < N; i++) {
            x[i] = (float)test_rand_int(1, 1 << 10) / (op == 4 ? 128 : 1024); /* a half as it is */
            sum += op == 0 || op == 3 ? (double)x[i] : op == 4 ? exp((double)x[i]) : (double)x[i] * (double)x[i];
        }
        want = op == 1 ? sqrt(sum) : op >= 3 ? log(sum) : sum;
        pb g = {0}, in = pb_value("x", N), out = pb_value("y", 1), to = node_with("Cast", "x", "h", "to", ONNX_FLOAT16),
           n = node_with(ops[op], "h", "r", "keepdims", 1), back = node_with("Cast", "r", "y", "to", ONNX_FLOAT);
        pb_message(&g, 1, &to);
        pb_message(&g, 1, &n);
        pb_message(&g, 1, &back);
        pb_message(&g, 11, &in);
        pb_message(&g, 12, &out);
        pb m = pb_model(&g, 13);
        wick_onnx *onnx = open_model(&m, NULL);
        REQUIRE(onnx);
        wick_onnx_value value;
        float y;
        CHECK(run(onnx, wick_from(ctx, WICK_F32, WICK_DIMS(N), x), &value) == WICK_OK);
        CHECK(wick_read(value.tensor, &y, sizeof y) == WICK_OK);
        CHECK_MSG(fabs((double)y - want) <= 0.505 * exp2(floor(log2(want)) - 10), "%s: %.9g, not %.9g", ops[op],
                  (double)y, want);
        wick_onnx_free(&onnx);
    }
    wick_context_free(&ctx);
}

/* Inputs are read and outputs written where the program has them: the plan has no memory of its own to copy them to,
 * and a run calls the allocator not once. Two workspaces of one plan work on different buffers. */
static _Atomic long allocations;
static void *counted_alloc(void *user, size_t size, size_t align) {
    (void)user;
    allocations++;
    void *p = NULL;
    return posix_memalign(&p, align, size ? size : 1) == 0 ? p : NULL;
}
static void counted_release(void *user, void *ptr, size_t size) {
    (void)user, (void)size;
    free(ptr);
}
TEST(buffers_of_the_program_are_used_in_place) {
    enum { N = 1 << 20 };
    REQUIRE(set_up());
    wick_context_free(&ctx);
    REQUIRE(
        wick_context_new(
            &(wick_context_options){.threads = 1, .allocator = &(wick_allocator){NULL, counted_alloc, counted_release}},
            &ctx) == WICK_OK);
    pb g = {0}, x = pb_value("x", N), y = pb_value("y", N), n = pb_node("Relu", "x", NULL, "y");
    pb_message(&g, 1, &n);
    pb_message(&g, 11, &x);
    pb_message(&g, 12, &y);
    pb m = pb_model(&g, 13);
    wick_onnx *onnx = open_model(&m, NULL);
    REQUIRE(onnx);
    const wick_spec spec = wick_onnx_input_spec(onnx, 0);
    CHECK(spec.rank == 1 && spec.dims[0] == N && spec.dtype == WICK_F32 && !strcmp(spec.name, "x"));
    CHECK(wick_onnx_input_spec(onnx, 1).rank <= 0 && wick_spec_bytes(&spec) == N * sizeof(float));
    CHECK(wick_spec_bytes(&(wick_spec){.dtype = WICK_F32, .rank = 2, .dims = {INT64_MAX, 2}}) == SIZE_MAX &&
          wick_spec_bytes(&(wick_spec){.rank = -1}) == 0);
    wick_plan *plan;
    wick_workspace *ws[2];
    REQUIRE(wick_onnx_compile(onnx, &spec, NULL, &plan) == WICK_OK && wick_workspace_new(plan, &ws[0]) == WICK_OK &&
            wick_workspace_new(plan, &ws[1]) == WICK_OK);
    const wick_plan_info info = wick_plan_get_info(plan);
    CHECK_INT(info.arena_bytes, 0);
    CHECK(info.scratch_bytes < N / 16); /* blocks of the kernel, which do not grow with N */
    CHECK_INT(info.bytes, 2.0 * N * sizeof(float)); /* read once, written once */
    float *in[2], *out[2];
    for (int k = 0; k < 2; k++) {
        in[k] = malloc(N * sizeof(float)), out[k] = malloc((N + 1) * sizeof(float));
        for (int i = 0; i < N; i++) in[k][i] = (float)(i % 7 - 3) * (float)(k + 1);
        out[k][N] = 77;
    }
    CHECK(wick_run(ws[0], (const void *[]){in[0]}, (void *[]){out[0]}) == WICK_OK);
    const long before = allocations;
    CHECK(before > 0);
    for (int k = 0; k < 2; k++) {
        in[k][5] = 100 + (float)k; /* seen by the next run: nobody kept a copy */
        CHECK(wick_run(ws[k], (const void *[]){in[k]}, (void *[]){out[k]}) == WICK_OK);
    }
    CHECK_INT(allocations - before, 0);
    for (int k = 0; k < 2; k++) {
        CHECK(out[k][5] == 100 + (float)k && out[k][6] == 3 * (float)(k + 1) && out[k][0] == 0 && out[k][N] == 77);
        free(in[k]), free(out[k]);
        wick_workspace_free(&ws[k]);
    }
    wick_plan_free(&plan);
    wick_onnx_free(&onnx);
    wick_context_free(&ctx);
}

/* y = Expand(x, c): compiled once c is a constant. */
TEST(an_input_can_be_fixed) {
    REQUIRE(set_up());
    pb g = {0}, x = pb_value("x", 2), c = pb_value("c", 1), y = pb_value("y", 2), n = pb_node("Expand", "x", "s", "y"),
       cast = pb_node("Cast", "c", NULL, "s"), to = {0};
    pb_text(&to, 1, "to");
    pb_int(&to, 3, ONNX_INT64);
    pb_int(&to, 20, 2);
    pb_message(&cast, 5, &to);
    pb_message(&g, 1, &cast);
    pb_message(&g, 1, &n);
    pb_message(&g, 11, &c);
    pb_message(&g, 11, &x);
    pb_message(&g, 12, &y);
    pb m = pb_model(&g, 13);
    wick_onnx *onnx = open_model(&m, NULL);
    REQUIRE(onnx);
    wick_spec specs[2] = {wick_onnx_input_spec(onnx, 0), wick_onnx_input_spec(onnx, 1)};
    wick_plan *plan;
    CHECK_INT(wick_onnx_compile(onnx, specs, NULL, &plan), WICK_ERR_UNSUPPORTED);
    CHECK_INT(wick_onnx_fix_input(onnx, 2, wick_full(ctx, WICK_F32, WICK_DIMS(1), 2)), WICK_ERR_INVALID);
    CHECK_INT(wick_onnx_fix_input(onnx, 0, NULL), WICK_ERR_INVALID);
    wick_tensor *two_of = wick_full(ctx, WICK_F32, WICK_DIMS(1), 2);
    CHECK(wick_onnx_fix_input(onnx, 0, two_of) == WICK_OK);
    CHECK_INT(wick_onnx_inputs(onnx), 1);
    CHECK(!strcmp(wick_onnx_input(onnx, 0).name, "x"));
    REQUIRE(wick_onnx_compile(onnx, &specs[1], NULL, &plan) == WICK_OK);
    wick_workspace *ws;
    float out[2] = {0};
    REQUIRE(wick_workspace_new(plan, &ws) == WICK_OK);
    CHECK(wick_run(ws, (const void *[]){(float[]){3, 4}}, (void *[]){out}) == WICK_OK && out[0] == 3 && out[1] == 4);
    wick_workspace_free(&ws);
    wick_plan_free(&plan);
    wick_onnx_free(&onnx);
    wick_context_free(&ctx);
}

TEST(texts_of_any_characters_are_written_and_read_as_they_are) {
    /* the last two are no UTF-8 */
    static const char *const texts[] = {"", "a", "\u00e9\u20ac\U0001f600", "\xed\xa0\x80", "\xc3"};
    REQUIRE(set_up());
    pb t = pb_tensor("w", ONNX_FLOAT, 1, two, w, sizeof w), g = add_graph(&t), m = pb_model(&g, 13);
    wick_onnx *onnx = open_model(&m, NULL);
    REQUIRE(onnx);
    const wick_onnx_port port = {.kind = WICK_VALUE_STRINGS, .rank = -1};
    char to[300];
    snprintf(to, sizeof to, "%s", at("texts.npy"));
    for (size_t i = 0; i < WICK_COUNTOF(texts); i++) {
        wick_onnx_value v, back = {0};
        CHECK(wick_onnx_fill_texts(onnx, texts[i], 0, NULL, &v) == WICK_OK);
        CHECK_INT(v.rank, 0);
        CHECK_INT(v.n, 1);
        CHECK_MSG(wick_onnx_write_texts(ctx, &v, to) == WICK_OK &&
                      wick_onnx_read_value(onnx, &port, to, &back) == WICK_OK,
                  "%s", wick_context_error(ctx));
        CHECK(back.n == 1 && back.texts[0].size == strlen(texts[i]) &&
              memcmp(back.texts[0].at, texts[i], back.texts[0].size) == 0);
    }
    wick_onnx_free(&onnx);
    wick_context_free(&ctx);
}
TEST(bad_models_are_refused_by_name_and_place) {
    REQUIRE(set_up());
    pb m = {0}, g, t, x;
    refused(&m, WICK_ERR_FORMAT, "no graph");
    pb_text(&m, 2, "a producer and nothing else");
    refused(&m, WICK_ERR_FORMAT, "no graph");
    pb_bytes(&m, "\x80\x02}q", 4);
    refused(&m, WICK_ERR_FORMAT, "torch.onnx.export");
    pb_bytes(&m, "\x3a\xff\xff\xff\xff\x0f", 6); /* a graph longer than the file */
    refused(&m, WICK_ERR_FORMAT, "(byte 0)");
    pb_bytes(&m, "\x3b", 1); /* a group */
    refused(&m, WICK_ERR_FORMAT, "wire type");
    pb_int(&m, 7, 5); /* the graph as a number */
    refused(&m, WICK_ERR_FORMAT, "wrong wire type");
    g = add_graph(NULL), m = pb_model(&g, 13);
    refused(&m, WICK_ERR_FORMAT, "node input \"w\"");
    g = add_graph(NULL), m = pb_model(&g, 99);
    refused(&m, WICK_ERR_VERSION, "opset 99");
    t = pb_tensor("w", ONNX_FLOAT, 1, two, w, 7), g = add_graph(&t), m = pb_model(&g, 13);
    refused(&m, WICK_ERR_FORMAT, "raw_data: 7 bytes, dims and type make 8");
    t = pb_tensor("w", ONNX_FLOAT, 1, (int64_t[]){-2}, w, 8), g = add_graph(&t), m = pb_model(&g, 13);
    refused(&m, WICK_ERR_FORMAT, "dims[0]: -2");
    t = pb_tensor("w", ONNX_FLOAT, 3, (int64_t[]){INT64_C(1) << 32, INT64_C(1) << 32, 2}, w, 8), g = add_graph(&t),
    m = pb_model(&g, 13);
    refused(&m, WICK_ERR_FORMAT, "63 bits");
    t = pb_tensor("w", 77, 1, two, w, 8), g = add_graph(&t), m = pb_model(&g, 13);
    refused(&m, WICK_ERR_FORMAT, "data_type: 77");
    t = pb_tensor("w", ONNX_BOOL, 1, two, "\1\2", 2), g = add_graph(&t), m = pb_model(&g, 13);
    refused(&m, WICK_ERR_FORMAT, "neither 0 nor 1");
    t = pb_tensor("w", ONNX_FLOAT, 1, two, w, 8);
    pb_blob(&t, 3, "\x08\x01", 2);
    g = add_graph(&t), m = pb_model(&g, 13);
    refused(&m, WICK_ERR_UNSUPPORTED, "segment");
    t = pb_tensor("w", ONNX_FLOAT, 1, two, NULL, 0), g = add_graph(&t), m = pb_model(&g, 13);
    refused(&m, WICK_ERR_FORMAT, "0 values, dims make 2");
    t = pb_tensor("w", ONNX_FLOAT, 1, two, w, 8), g = add_graph(&t);
    t = pb_tensor("w", ONNX_FLOAT, 1, two, w, 8);
    pb_message(&g, 5, &t);
    m = pb_model(&g, 13);
    refused(&m, WICK_ERR_FORMAT, "initializer \"w\"");
    t = pb_tensor("w", ONNX_FLOAT, 1, two, w, 8), g = add_graph(&t), x = pb_node("Relu", "x", NULL, "y");
    pb_message(&g, 1, &x);
    m = pb_model(&g, 13);
    refused(&m, WICK_ERR_FORMAT, "node output \"y\"");
    wick_context_free(&ctx);
}

TEST(an_unknown_op_is_listed_and_fails_where_it_runs) {
    REQUIRE(set_up());
    pb g = {0}, x = pb_value("x", 2), y = pb_value("y", 2), n = pb_node("Frobnicate", "x", NULL, "y"), m;
    pb_message(&g, 1, &n);
    pb_message(&g, 11, &x);
    pb_message(&g, 12, &y);
    m = pb_model(&g, 13);
    wick_onnx *onnx = open_model(&m, NULL);
    REQUIRE(onnx);
    CHECK(!strcmp(wick_onnx_unsupported(onnx), "Frobnicate-13"));
    wick_onnx_value out;
    CHECK(run(onnx, wick_ones(ctx, WICK_F32, WICK_DIMS(2)), &out) == WICK_ERR_UNSUPPORTED);
    CHECK_STR_HAS(wick_context_error(ctx), "model.onnx: Frobnicate \"y\"");
    wick_onnx_free(&onnx);
    wick_context_free(&ctx);
}

TEST(broken_maps_are_refused) {
    REQUIRE(set_up());
    pb t = pb_tensor("w", ONNX_FLOAT, 1, two, w, sizeof w), g = add_graph(&t), m = pb_model(&g, 13), map = {0},
       sequence = {0}, optional = {0};
    wick_onnx *onnx = open_model(&m, NULL);
    REQUIRE(onnx);
    wick_onnx_value v;
    char file[256];
    snprintf(file, sizeof file, "%s/value.pb", folder);
    pb_int(&map, 2, ONNX_INT64);
    pb_message(&sequence, 6, &map);
    write_file("value.pb", sequence.at, sequence.n);
    CHECK_INT(wick_onnx_read_value(onnx, &(wick_onnx_port){.kind = WICK_VALUE_SEQUENCE}, file, &v), WICK_ERR_FORMAT);
    CHECK_STR_HAS(wick_context_error(ctx), "value.pb: map (byte 2): has no values");
    pb_int(&map, 2, ONNX_INT64);
    pb_message(&optional, 6, &map);
    write_file("value.pb", optional.at, optional.n);
    CHECK_INT(wick_onnx_read_value(onnx, &(wick_onnx_port){.optional = true}, file, &v), WICK_ERR_FORMAT);
    CHECK_STR_HAS(wick_context_error(ctx), "has no values");
    free(sequence.at);
    free(optional.at);
    wick_onnx_free(&onnx);
    wick_context_free(&ctx);
}

/* ---- external data ----------------------------------------------------------------------------------------------- */

static pb external(const char *location, const char *offset, const char *length) {
    pb t = pb_tensor("w", ONNX_FLOAT, 1, two, NULL, 0), e = {0};
    const char *pairs[][2] = {{"location", location}, {"offset", offset}, {"length", length}};
    for (int i = 0; i < 3; i++) {
        if (!pairs[i][1]) continue;
        pb_text(&e, 1, pairs[i][0]);
        pb_text(&e, 2, pairs[i][1]);
        pb_message(&t, 13, &e);
    }
    pb_int(&t, 14, 1);
    pb g = add_graph(&t);
    return pb_model(&g, 13);
}

TEST(external_data_stay_inside_the_folder) {
    REQUIRE(set_up());
    char link[256], outside[] = "/tmp/wick-onnx-out-XXXXXX", target[256];
    const int fd = mkstemp(outside);
    REQUIRE(fd >= 0 && write(fd, w, sizeof w) == sizeof w);
    close(fd);
    pb m;
    write_file("w.bin", "________\0\0\x20\x41\0\0\xa0\x41", 16); /* 10 and 20 */
    m = external("w.bin", "8", "8");
    wick_onnx *onnx = open_model(&m, NULL);
    CHECK_MSG(onnx, "%s", wick_context_error(ctx));
    wick_onnx_value out;
    float y[2];
    CHECK(onnx && run(onnx, wick_zeros(ctx, WICK_F32, WICK_DIMS(2)), &out) == WICK_OK &&
          wick_read(out.tensor, y, sizeof y) == WICK_OK && y[0] == 10 && y[1] == 20);
    wick_onnx_free(&onnx);

    m = external("w.bin", "9", NULL), refused(&m, WICK_ERR_FORMAT, "of a file of 16");
    m = external("w.bin", "18446744073709551612", NULL), refused(&m, WICK_ERR_FORMAT, "of a file of 16");
    m = external("w.bin", "-8", NULL), refused(&m, WICK_ERR_FORMAT, "offset is no whole number");
    m = external("w.bin", "0", "12"), refused(&m, WICK_ERR_FORMAT, "length is 12");
    m = external("none.bin", NULL, NULL), refused(&m, WICK_ERR_IO, "No such file");
    m = external(outside, NULL, NULL), refused(&m, WICK_ERR_IO, "no path below");
    m = external("", NULL, NULL), refused(&m, WICK_ERR_IO, "no path below");
    snprintf(target, sizeof target, "../%s", outside + 5);
    m = external(target, NULL, NULL), refused(&m, WICK_ERR_IO, "no path below");
    m = external("a/../../x", NULL, NULL), refused(&m, WICK_ERR_IO, "\"a/../../x\"");
    m = external("..\\x", NULL, NULL), refused(&m, WICK_ERR_IO, "no path below");
    m = external(".", NULL, NULL), refused(&m, WICK_ERR_FORMAT, "no regular file");
    snprintf(link, sizeof link, "%s/link.bin", folder);
    unlink(link);
    REQUIRE(symlink(outside, link) == 0);
    m = external("link.bin", NULL, NULL), refused(&m, WICK_ERR_IO, "symbolic link that leads out");
    unlink(link);
    REQUIRE(symlink("/tmp", link) == 0);
    m = external("link.bin/x", NULL, NULL), refused(&m, WICK_ERR_IO, "external_data");
    unlink(link);
    snprintf(target, sizeof target, "%s/w.bin", folder);
    REQUIRE(linkat(AT_FDCWD, target, AT_FDCWD, link, 0) == 0);
    m = external("w.bin", "8", "8"), refused(&m, WICK_ERR_FORMAT, "no regular file with one name");
    unlink(link);
    REQUIRE(mkfifo(link, 0600) == 0);
    m = external("link.bin", NULL, NULL), refused(&m, WICK_ERR_FORMAT, "no regular file");
    unlink(link);
    unlink(outside);
    wick_context_free(&ctx);
}

/* ---- bombs ------------------------------------------------------------------------------------------------------- */

/* Functions f0 .. f(n-1): each calls the next one twice; the last, itself or Relu. */
static pb function_model(int n, const char *last) {
    pb m = {0}, set = {0}, g = {0}, x = pb_value("x", 2), y = pb_value("y", 2), node = pb_node("f0", "x", NULL, "y");
    pb_text(&node, 7, "bomb");
    pb_message(&g, 1, &node);
    pb_message(&g, 11, &x);
    pb_message(&g, 12, &y);
    m = pb_model(&g, 18);
    pb_text(&set, 1, "bomb");
    pb_int(&set, 2, 1);
    pb_message(&m, 8, &set);
    for (int i = 0; i < n; i++) {
        pb f = {0}, a, b, own = {0};
        char name[16], next[16];
        snprintf(name, sizeof name, "f%d", i);
        if (i + 1 < n) snprintf(next, sizeof next, "f%d", i + 1);
        else snprintf(next, sizeof next, "%s", last);
        pb_text(&f, 1, name);
        pb_text(&f, 4, "a");
        pb_text(&f, 5, "c");
        a = pb_node(next, "a", NULL, "b");
        b = pb_node(next, "b", NULL, "c");
        if (next[0] == 'f') pb_text(&a, 7, "bomb"), pb_text(&b, 7, "bomb");
        pb_message(&f, 7, &a);
        pb_message(&f, 7, &b);
        pb_text(&own, 1, "");
        pb_int(&own, 2, 18);
        pb_message(&f, 9, &own);
        pb_text(&own, 1, "bomb");
        pb_int(&own, 2, 1);
        pb_message(&f, 9, &own);
        pb_text(&f, 10, "bomb");
        pb_message(&m, 25, &f);
    }
    return m;
}

TEST(functions_that_multiply_or_call_themselves_end) {
    REQUIRE(set_up());
    wick_onnx_value out;
    pb m = function_model(3, "Relu");
    wick_onnx *onnx = open_model(&m, NULL);
    REQUIRE(onnx);
    CHECK_MSG(run(onnx, wick_ones(ctx, WICK_F32, WICK_DIMS(2)), &out) == WICK_OK, "%s", wick_context_error(ctx));
    wick_onnx_free(&onnx);
    m = function_model(3, "f0");
    onnx = open_model(&m, NULL);
    REQUIRE(onnx);
    CHECK(run(onnx, wick_ones(ctx, WICK_F32, WICK_DIMS(2)), &out) == WICK_ERR_UNSUPPORTED);
    CHECK_STR_HAS(wick_context_error(ctx), "deeper than the limit");
    wick_onnx_free(&onnx);
    m = function_model(50, "Relu");
    onnx = open_model(&m, &(wick_onnx_limits){.nodes = 20000});
    REQUIRE(onnx);
    CHECK(run(onnx, wick_ones(ctx, WICK_F32, WICK_DIMS(2)), &out) == WICK_ERR_UNSUPPORTED);
    CHECK_STR_HAS(wick_context_error(ctx), "more nodes than the limit");
    wick_onnx_free(&onnx);
    wick_context_free(&ctx);
}

/* ---- trees ------------------------------------------------------------------------------------------------------- */

static void add_ints(pb *node, const char *name, int n, const int64_t *values) {
    pb a = {0};
    pb_text(&a, 1, name);
    for (int i = 0; i < n; i++) pb_int(&a, 8, values[i]);
    pb_int(&a, 20, 7);
    pb_message(node, 5, &a);
}
static void add_floats(pb *node, const char *name, int n, float value) {
    pb a = {0};
    pb_text(&a, 1, name);
    for (int i = 0; i < n; i++) {
        pb_varint(&a, 7 << 3 | 5);
        pb_bytes(&a, &value, 4);
    }
    pb_int(&a, 20, 6);
    pb_message(node, 5, &a);
}

/* A tree of a test and two leaves, with some numbers changed: next nodes, feature, entry's node and target, and how
 * many split values there are. */
static pb tree_model(int64_t yes, int64_t no, int64_t feature, int64_t leaf, int64_t target, int n_splits,
                     int64_t last_id) {
    static const char *const modes[] = {"BRANCH_LEQ", "LEAF", "LEAF"};
    pb g = {0}, x = pb_value("x", -1), y = pb_value("y", -1), n = pb_node("TreeEnsembleRegressor", "x", NULL, "y"),
       a = {0};
    pb_text(&n, 7, "ai.onnx.ml");
    pb_text(&a, 1, "nodes_modes");
    for (int i = 0; i < 3; i++) pb_text(&a, 9, modes[i]);
    pb_int(&a, 20, 8);
    pb_message(&n, 5, &a);
    add_ints(&n, "nodes_treeids", 3, (int64_t[]){0, 0, 0});
    add_ints(&n, "nodes_nodeids", 3, (int64_t[]){0, 1, last_id});
    add_ints(&n, "nodes_featureids", 3, (int64_t[]){feature, 0, 0});
    add_ints(&n, "nodes_truenodeids", 3, (int64_t[]){yes, 0, 0});
    add_ints(&n, "nodes_falsenodeids", 3, (int64_t[]){no, 0, 0});
    add_floats(&n, "nodes_values", n_splits, 0.5f);
    add_ints(&n, "target_treeids", 1, (int64_t[]){0});
    add_ints(&n, "target_nodeids", 1, &leaf);
    add_ints(&n, "target_ids", 1, &target);
    add_floats(&n, "target_weights", 1, 2);
    pb_message(&g, 1, &n);
    pb_message(&g, 11, &x);
    pb_message(&g, 12, &y);
    return pb_model(&g, 13);
}

TEST(trees_that_are_none_are_refused) {
    const struct {
        int64_t yes, no, feature, leaf, target;
        int n_splits;
        int64_t last_id;
        const char *says;
    } cases[] = {
        {1, 2, 1, 1, 0, 3, 2, ""},
        {0, 2, 1, 1, 0, 3, 2, "no root"},
        {1, 1, 1, 1, 0, 3, 2, "lies on a circle, or in two trees"},
        {1, 7, 1, 1, 0, 3, 2, "goes on to a node that does not exist"},
        {1, 2, 5, 1, 0, 3, 2, "asks for feature 5 of 2"},
        {1, 2, -1, 1, 0, 3, 2, "asks for feature -1 of 2"},
        {1, 2, 1, 9, 0, 3, 2, "names node 9 of tree 0"},
        {1, 2, 1, 1, 1, 3, 2, "adds to target 1 of 1"},
        {1, 2, 1, 1, 0, 2, 2, "\"nodes_values\" has 2 entries, not 3"},
        {1, 2, 1, 1, 0, 3, 1, "tree 0 has node 1 twice"},
    };
    REQUIRE(set_up());
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pb m = tree_model(cases[i].yes, cases[i].no, cases[i].feature, cases[i].leaf, cases[i].target,
                          cases[i].n_splits, cases[i].last_id);
        wick_onnx *onnx = open_model(&m, NULL);
        REQUIRE(onnx);
        wick_onnx_value out;
        const bool good = !*cases[i].says;
        const wick_status status = run(onnx, wick_zeros(ctx, WICK_F32, WICK_DIMS(3, 2)), &out);
        CHECK_INT(status, good ? WICK_OK : WICK_ERR_FORMAT);
        if (!good) CHECK_STR_HAS(wick_context_error(ctx), cases[i].says);
        float y[3];
        if (good) CHECK(wick_read(out.tensor, y, sizeof y) == WICK_OK && y[0] == 2);
        wick_onnx_free(&onnx);
    }
    wick_context_free(&ctx);
}

TEST(messages_nest_as_deep_as_the_limit) {
    wick_arena arena;
    wick_msg msg = {0};
    onnx_model model;
    wick_arena_init(&arena, NULL, 4096);
    pb inner = {0};
    for (int i = 0; i < 60; i++) { /* graph in attribute in node in graph ... */
        pb attr = {0}, node = {0}, graph = {0};
        pb_message(&attr, 6, &inner);
        pb_message(&node, 5, &attr);
        pb_message(&graph, 1, &node);
        inner = graph;
    }
    pb m = {0};
    pb_message(&m, 7, &inner);
    CHECK(wick_proto_decode(&wick_onnx_model_message, m.at, m.n, NULL, &arena, &model, &msg) == WICK_ERR_UNSUPPORTED);
    CHECK_STR_HAS(msg.text, "deeper than the limit");
    CHECK_STR_HAS(msg.text, "graph.node[0].attribute[0].g.node[0]");
    CHECK(wick_proto_decode(&wick_onnx_model_message, m.at, m.n, &(wick_proto_limits){.depth = 200}, &arena, &model,
                            &msg) == WICK_OK);
    CHECK(wick_proto_decode(&wick_onnx_model_message, m.at, m.n, &(wick_proto_limits){.depth = 200, .memory = 2000},
                            &arena, &model, &msg) == WICK_ERR_UNSUPPORTED);
    CHECK_STR_HAS(msg.text, "memory");
    free(m.at);
    wick_arena_free(&arena);
}

/* Every prefix, and every byte changed, of a model with most kinds of fields: read or refused, nothing else (run with
 * sanitizers in CI). */
TEST(cut_and_changed_files_are_read_or_refused) {
    REQUIRE(set_up());
    pb t = pb_tensor("w", ONNX_FLOAT, 1, two, w, sizeof w), g = add_graph(&t), m = pb_model(&g, 13);
    unsigned char *bytes = m.at;
    const size_t n = m.n;
    unsigned refusals = 0;
    for (size_t cut = 0; cut <= n; cut++) {
        m = (pb){0};
        pb_bytes(&m, bytes, cut);
        wick_onnx *onnx = open_model(&m, NULL);
        refusals += !onnx;
        wick_onnx_free(&onnx);
    }
    CHECK(refusals > n / 2);
    for (size_t i = 0; i < n; i++)
        for (int bit = 0; bit < 8; bit++) {
            m = (pb){0};
            pb_bytes(&m, bytes, n);
            m.at[i] ^= (unsigned char)(1 << bit);
            wick_onnx *onnx = open_model(&m, &(wick_onnx_limits){.tensor_bytes = 1 << 20});
            wick_onnx_value out;
            wick_scope *scope = wick_scope_open(ctx);
            if (onnx && wick_onnx_inputs(onnx) == 1 && wick_onnx_outputs(onnx) == 1 &&
                run(onnx, wick_ones(ctx, WICK_F32, WICK_DIMS(2)), &out) == WICK_OK && out.kind == WICK_VALUE_TENSOR)
                (void)!wick_eval(ctx, 1, &out.tensor, NULL);
            wick_scope_close(&scope);
            wick_onnx_free(&onnx);
        }
    free(bytes);
    wick_context_free(&ctx);
}

int main(int argc, char **argv) {
    const int failed = test_main(argc, argv);
    char command[64];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    if (strchr(folder, 'X') == NULL && system(command)) return 1;
    return failed;
}
