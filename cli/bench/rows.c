#include "rows.h"
#include "../tuned.h"

#include <math.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

/* ---- rows that are functions ------------------------------------------------------------------------------------- */

static wick_status new_context(wick_context *ctx) {
    wick_context *another;
    const wick_status status =
        wick_context_new(&(wick_context_options){.tuning = tuned(), .threads = wick_context_threads(ctx)}, &another);
    wick_context_free(&another);
    return status;
}

static wick_status first_result(wick_context *ctx) {
    wick_context *another;
    double value;
    wick_status status =
        wick_context_new(&(wick_context_options){.tuning = tuned(), .threads = wick_context_threads(ctx)}, &another);
    if (status == WICK_OK)
        status = wick_item(wick_add(wick_scalar(another, WICK_F32, 1), wick_scalar(another, WICK_F32, 2)), &value);
    wick_context_free(&another);
    return status;
}

extern char **environ;
static wick_status new_process(wick_context *ctx) {
    pid_t child;
    int code = -1;
    posix_spawn_file_actions_t quiet;
    char *words[] = {"wick", "--version", NULL};
    if (posix_spawn_file_actions_init(&quiet) != 0) return WICK_ERR_NOMEM;
    posix_spawn_file_actions_addopen(&quiet, 1, "/dev/null", 1 /* O_WRONLY */, 0);
    const int error = posix_spawn(&child, "/proc/self/exe", &quiet, NULL, words, environ);
    posix_spawn_file_actions_destroy(&quiet);
    if (error == 0 && waitpid(child, &code, 0) == child && code == 0) return WICK_OK;
    return wick_context_fail(ctx, WICK_ERR_IO, "wick --version could not be started or failed");
}

static wick_status compile(wick_context *ctx, wick_function fn, void *user, int n_in, const wick_spec *in) {
    wick_plan *plan;
    const wick_status status = wick_compile(ctx, fn, user, n_in, in, 1, NULL, &plan);
    wick_plan_free(&plan);
    return status;
}

static wick_status record_chain(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx, (void)user;
    wick_tensor *x = in[0];
    for (int i = 0; i < 1000; i++)
        x = i % 3 == 0 ? wick_matmul(x, in[0]) : i % 3 == 1 ? wick_tanh(x) : wick_add(x, in[0]);
    out[0] = x;
    return WICK_OK;
}
static wick_status compile_chain(wick_context *ctx) {
    return compile(ctx, record_chain, NULL, 1, &(wick_spec){"x", WICK_F32, 2, {16, 16}});
}

/* What follows such a prefix; NULL: the network is another. */
static const char *network_of(const subject *s, const char *prefix) {
    const size_t n = strlen(prefix);
    return strncmp(s->row->network, prefix, n) == 0 ? s->row->network + n : NULL;
}
/* x [batch, ...]; of "lstm:UNITS" [steps, batch, features]; of "encoder:LAYERS" and "encoder:LAYERS,SEGMENT", whose
 * every SEGMENT layers are made again backward, [batch, length, width] -> scores of ten classes. */
static wick_tensor *apply_network(const subject *s, wick_tensor *x) {
    const char *lstm = network_of(s, "lstm:"), *encoder = network_of(s, "encoder:");
    if (encoder) {
        const int64_t width = wick_tensor_dim(x, 2);
        const char *segment = strchr(encoder, ',');
        wick_tensor *y = wick_nn_encoder(s->model, "encoder", x, atoi(encoder),
                                         &(wick_nn_transformer_options){.feedforward = 4 * width,
                                                                        .gelu = true,
                                                                        .pre_norm = true,
                                                                        .checkpoint = segment ? atoi(segment + 1) : 0,
                                                                        .attention = {.heads = 8}});
        return wick_nn_linear(s->model, "linear", wick_mean(y, WICK_AXES(1), false), 10);
    }
    if (!lstm) return wick_zoo_build(&s->network, s->model, x, 10);
    wick_tensor *y = wick_nn_lstm(s->model, "lstm", x, atoll(lstm), NULL, NULL, NULL);
    const int64_t steps = wick_tensor_dim(y, 0);
    return wick_nn_linear(s->model, "linear", wick_squeeze(wick_slice(y, 0, steps - 1, steps, 1), 0), 10);
}
static wick_status find_network(subject *s) {
    if (network_of(s, "lstm:") || network_of(s, "encoder:")) return WICK_OK;
    return wick_zoo_find(s->ctx, s->row->network, &s->network);
}
static wick_status record_network(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx;
    const subject *s = user;
    out[0] = apply_network(s, in[0]);
    if (!s->optimizer) return WICK_OK;
    out[0] = wick_cross_entropy(out[0], in[1]);
    return wick_optimizer_step(s->optimizer, out[0]);
}
static wick_status compile_resnet8(wick_context *ctx, bool training, int64_t batch) {
    const bench_row row = {.network = "resnet8"};
    subject s = {.ctx = ctx, .row = &row};
    const wick_spec in[] = {{"x", WICK_F32, 4, {batch, 3, 32, 32}}, {"labels", WICK_I64, 1, {batch}}};
    wick_status status = wick_model_new(ctx, &s.model);
    if (status == WICK_OK && training)
        status = wick_optimizer_new(s.model, &(wick_optim_options){.kind = WICK_SGD, .lr = 0.01, .momentum = 0.9},
                                    &s.optimizer);
    if (status == WICK_OK) status = find_network(&s);
    if (status == WICK_OK) wick_model_set_training(s.model, training);
    if (status == WICK_OK) status = compile(ctx, record_network, &s, training ? 2 : 1, in);
    wick_optimizer_free(&s.optimizer);
    wick_model_free(&s.model);
    return status;
}
static wick_status compile_resnet8_training(wick_context *ctx) { return compile_resnet8(ctx, true, 64); }
static wick_status compile_resnet8_inference(wick_context *ctx) { return compile_resnet8(ctx, false, 1); }

/* The product that everyone writes first. */
static void multiply_naive(int n, const float *x, const float *a, float *y) {
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            float sum = 0;
            for (int k = 0; k < n; k++) sum += x[i * n + k] * a[k * n + j];
            y[i * n + j] = sum;
        }
}
static wick_status naive_1000(wick_context *ctx) {
    enum { N = 1000 };
    static float at[3 * N * N];
    volatile float sink;
    for (int i = 0; at[0] == 0 && i < 2 * N * N; i++)
        at[i] = (float)((uint32_t)i * 2654435761u % 1000003) / 500001.5f - 0.999f;
    multiply_naive(N, at, at + N * N, at + 2 * N * N);
    sink = at[3 * N * N - 1];
    return sink == sink ? WICK_OK : wick_context_fail(ctx, WICK_ERR_INTERNAL, "no number");
}

static wick_tensor *chain_1000(wick_tensor *x, wick_tensor *a) {
    for (int i = 0; i < 500; i++) x = wick_tanh(wick_matmul(x, a));
    return x;
}

/* 64 ops, each of whose results is a tensor of its own until the end, as where ops run one by one;
 * memory/chain_64_in_arena is the same in a plan. */
enum { CHAIN = 64 };
static wick_tensor *chain_64(wick_tensor *x) {
    for (int i = 0; i < CHAIN; i++) x = wick_tanh(x);
    return x;
}
static wick_status chain_64_allocating(wick_context *ctx) {
    wick_scope *scope = wick_scope_open(ctx);
    wick_status status = scope ? WICK_OK : WICK_ERR_NOMEM;
    wick_tensor *x = wick_random_uniform(ctx, WICK_F32, WICK_DIMS(256, 256));
    for (int i = 0; i < CHAIN && status == WICK_OK; i++) {
        x = wick_tanh(x);
        status = wick_eval(ctx, 1, &x, NULL);
    }
    wick_scope_close(&scope);
    return status;
}

/* As a published program of this kind does: an item after the other goes through a relu, a product and a softmax. Each
 * result has memory of its own until the end, or all of them are a plan's. */
static wick_tensor *item(wick_tensor *x, wick_tensor *a) { return wick_softmax(wick_matmul(wick_relu(x), a), 1); }
static wick_tensor *items_64(wick_tensor *x, wick_tensor *a) {
    for (int i = 0; i < CHAIN; i++) x = item(x, a);
    return x;
}
static wick_status items_64_allocating(wick_context *ctx) {
    wick_scope *scope = wick_scope_open(ctx);
    wick_status status = scope ? WICK_OK : WICK_ERR_NOMEM;
    wick_tensor *x = wick_random_uniform(ctx, WICK_F32, WICK_DIMS(64, 64)), *a = x;
    for (int i = 0; i < CHAIN && status == WICK_OK; i++) {
        wick_tensor *steps[3] = {wick_relu(x)};
        status = wick_eval(ctx, 1, &steps[0], NULL);
        steps[1] = wick_matmul(steps[0], a);
        if (status == WICK_OK) status = wick_eval(ctx, 1, &steps[1], NULL);
        steps[2] = wick_softmax(steps[1], 1);
        if (status == WICK_OK) status = wick_eval(ctx, 1, &steps[2], NULL);
        x = steps[2];
    }
    wick_scope_close(&scope);
    return status;
}

/* Made one after the other, each freed before the next but one. */
static wick_status make_tensors(wick_context *ctx) {
    wick_scope *scope = wick_scope_open(ctx);
    wick_tensor *before = NULL;
    wick_status status = scope ? WICK_OK : WICK_ERR_NOMEM;
    static const float zeros[1024];
    for (int i = 0; i < 1000 && status == WICK_OK; i++) {
        wick_tensor *x = wick_from(ctx, WICK_F32, WICK_DIMS(1024), zeros);
        status = wick_tensor_error(x, NULL);
        wick_tensor_free(&before);
        before = x;
    }
    wick_scope_close(&scope);
    return status;
}

/* Recorded, found in the cache of plans, and run. */
static wick_status record_64(wick_context *ctx) {
    wick_scope *scope = wick_scope_open(ctx);
    wick_tensor *x = chain_64(wick_scalar(ctx, WICK_F32, 0.5));
    const wick_status status = scope ? wick_eval(ctx, 1, &x, NULL) : WICK_ERR_NOMEM;
    wick_scope_close(&scope);
    return status;
}

/* ---- inputs ------------------------------------------------------------------------------------------------------ */

typedef struct filling {
    wick_context *ctx;
    int rank;
    int64_t dims[WICK_MAX_DIMS];
} filling;

static wick_tensor *uniform(const filling *f, wick_dtype dtype, double low, double high) {
    wick_tensor *x = wick_random_uniform(f->ctx, dtype == WICK_F64 ? WICK_F64 : WICK_F32, f->rank, f->dims);
    wick_dtype computed = wick_tensor_dtype(x);
    return wick_cast(
        wick_add(wick_mul(x, wick_constant(f->ctx, computed, high - low)), wick_constant(f->ctx, computed, low)),
        dtype);
}
static wick_tensor *below(const filling *f, int64_t high) {
    return wick_cast(wick_floor(uniform(f, WICK_F64, 0, (double)high)), WICK_I64);
}
static wick_tensor *diagonal(wick_tensor *x, double value) {
    wick_context *ctx = wick_tensor_context(x);
    const int64_t n = wick_tensor_dim(x, -1);
    return wick_add(x, wick_mul(wick_eye(ctx, WICK_F32, n, n, 0), wick_constant(ctx, WICK_F32, value)));
}
/* Symmetric, and all eigenvalues positive. */
static wick_tensor *definite(const filling *f) {
    wick_tensor *x = wick_random_normal(f->ctx, WICK_F32, f->rank, f->dims);
    return diagonal(wick_mul(wick_matmul(x, wick_transpose(x, -2, -1)),
                             wick_constant(f->ctx, WICK_F32, 1 / (double)f->dims[f->rank - 1])),
                    1);
}
static wick_tensor *complex_of(const filling *f) {
    filling pairs = *f;
    pairs.dims[pairs.rank++] = 2;
    return uniform(&pairs, WICK_F32, -3, 3);
}
static wick_tensor *hann(const filling *f) {
    return wick_window(f->ctx, WICK_WINDOW_HANN, WICK_F32, f->dims[0], false, 0);
}

#define KIND(name, small, middle, large, value) \
    static wick_tensor *fill_##name(const filling *f) { return value; }
#include "inputs.h"
#undef KIND

static const struct {
    const char *name, *dims[BENCH_SIZES];
    wick_tensor *(*fill)(const filling *f);
} kinds[] = {
#define KIND(name, small, middle, large, value) {#name, {small, middle, large}, fill_##name},
#include "inputs.h"
#undef KIND
};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

static void read_dims(const char *text, filling *f) {
    for (char *end; f->rank < WICK_MAX_DIMS; text = end + 1) {
        const long long n = strtoll(text, &end, 10);
        if (end == text) break;
        f->dims[f->rank++] = n;
        if (*end != ',') break;
    }
}

/* so many percent of zeros */
static wick_tensor *with_zeros(const filling *f, wick_tensor *x, double percent) {
    wick_tensor *kept = wick_lt(uniform(f, WICK_F32, 0, 100), wick_constant(f->ctx, WICK_F32, 100 - percent));
    return wick_mul(x, wick_cast(kept, wick_tensor_dtype(x)));
}

/* "f32[64,784]", "f32[512,512]*0.1", "f32[64,64]%90" (zeros), "i64[64]<10", or a kind of the table. Poisoned, or
 * NULL: it is none of them, which a test of all rows finds. */
static wick_tensor *fill(wick_context *ctx, const char *text, size_t length, int size) {
    filling f = {.ctx = ctx};
    const char *bracket = memchr(text, '[', length);
    if (bracket) {
        char dtype[16];
        snprintf(dtype, sizeof dtype, "%.*s", (int)(bracket - text), text);
        const wick_dtype of = wick_dtype_from_name(dtype);
        const char *most = memchr(text, '<', length), *scale = memchr(text, '*', length),
                   *zeros = memchr(text, '%', length);
        const double high = scale ? atof(scale + 1) : 1;
        read_dims(bracket + 1, &f);
        if (of == WICK_U8 || of == WICK_I8)
            return uniform(&f, of, of == WICK_U8 ? 0 : -127.9, of == WICK_U8 ? 255.9 : 127.9);
        if (zeros) return with_zeros(&f, uniform(&f, of, -high, high), atof(zeros + 1));
        return of == WICK_I64 ? below(&f, most ? atoll(most + 1) : 2) : uniform(&f, of, -high, high);
    }
    for (int i = 0; i < KINDS; i++)
        if (strlen(kinds[i].name) == length && memcmp(kinds[i].name, text, length) == 0)
            return read_dims(kinds[i].dims[size], &f), kinds[i].fill(&f);
    return NULL;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

#define dim(x, axis) wick_tensor_dim(x, axis)
/* Images that lie with their channels last, as ops take them, and back. Functions: the text for peers has their names.
 */
static wick_tensor *nchw(wick_tensor *x) { return wick_permute(x, 4, (int[]){0, 3, 1, 2}); }
static wick_tensor *nhwc(wick_tensor *x) { return wick_permute(x, 4, (int[]){0, 2, 3, 1}); }
#define UNUSED       __attribute__((unused))
#undef isnan /* math.h's macros would be spelled out in the text for peers */
#undef isfinite
#define ROW(suite, id, inputs, ours, ...)                                                                              \
    static wick_tensor *build_##suite##_##id(const subject *s, wick_tensor *const *in, UNUSED wick_tensor **second) {  \
        UNUSED wick_context *ctx = s->ctx;                                                                             \
        UNUSED wick_model *model = s->model;                                                                           \
        UNUSED wick_tensor *x = in[0], *a = in[1], *b = in[2], *c = in[3], *d = in[4], *e = in[5], *f = in[6];         \
        return ours;                                                                                                   \
    }
#define PLAIN ROW
#define PAIR ROW
#define GRAD ROW
#define INFER(...)
#define TRAIN(...)
#define TRAIN_IN(...)
#define UPDATE(...)
#define CALL(...)
#define PROCESS(...)
#include "ops.h"
#include "suites.h"
#undef ROW
#undef PLAIN
#undef PAIR
#undef GRAD
#undef INFER
#undef TRAIN
#undef TRAIN_IN
#undef UPDATE
#undef CALL
#undef PROCESS

#define ALONE(...)                         __VA_ARGS__
#define GRAPH(how, of, id, takes, ours, ...)                                                                           \
    {.suite = #of, .name = #id, .form = how, .inputs = #takes, .build = build_##of##_##id, .peer = #__VA_ARGS__},
#define ROW(...)                           GRAPH(ROW_RESULT, __VA_ARGS__)
#define PLAIN(...)                         GRAPH(ROW_PLAIN, __VA_ARGS__)
#define PAIR(...)                          GRAPH(ROW_PAIR, __VA_ARGS__)
#define GRAD(...)                          GRAPH(ROW_GRADIENTS, __VA_ARGS__)
#define INFER(id, takes, text, ...)                                                                                    \
    {.suite = "infer", .name = #id, .form = ROW_INFER, .inputs = #takes, .network = text, .peer = #__VA_ARGS__},
#define TRAIN(id, takes, text, how, ...)                                                                               \
    {.suite = "train",                                                                                                 \
     .name = #id,                                                                                                      \
     .form = ROW_TRAIN,                                                                                                \
     .inputs = #takes,                                                                                                 \
     .network = text,                                                                                                  \
     .optimizer = {ALONE how},                                                                                         \
     .peer = #__VA_ARGS__},
#define TRAIN_IN(id, takes, text, how, plan, ...)                                                                      \
    {.suite = "memory",                                                                                                \
     .name = #id,                                                                                                      \
     .form = ROW_TRAIN,                                                                                                \
     .inputs = #takes,                                                                                                 \
     .network = text,                                                                                                  \
     .optimizer = {ALONE how},                                                                                         \
     .compiling = {ALONE plan},                                                                                        \
     .peer = #__VA_ARGS__},
#define UPDATE(id, how, ...)                                                                                           \
    {.suite = "update",                                                                                                \
     .name = #id,                                                                                                      \
     .form = ROW_UPDATE,                                                                                               \
     .inputs = "(f32[512,512]*0.1, f32[512,512]*0.1, f32[512,512]*0.1, f32[512,512]*0.1)",                             \
     .optimizer = {ALONE how},                                                                                         \
     .peer = #__VA_ARGS__},
#define CALL(of, id, function)                                                                                         \
    {.suite = #of, .name = #id, .form = ROW_CALL, .inputs = "()", .call = function, .peer = ""},
#define PROCESS(of, id, function)                                                                                      \
    {.suite = #of, .name = #id, .form = ROW_PROCESS, .inputs = "()", .call = function, .peer = ""},
static const bench_row rows[] = {
#include "ops.h"
#include "suites.h"
};
enum { ROWS = sizeof rows / sizeof rows[0] };

const bench_row *bench_row_at(int i) { return i >= 0 && i < ROWS ? &rows[i] : NULL; }

/* Input i of a row's text. False past the last. */
static bool input_at(const bench_row *row, int i, const char **text, size_t *length) {
    const char *s = row->inputs + 1;
    for (;; s++, i--) {
        s += strspn(s, " ");
        const size_t word = strcspn(s, "[,)"), n = s[word] == '[' ? word + strcspn(s + word, "]") : word,
                     all = n + strcspn(s + n, ",)");
        if (!all) return false;
        if (i == 0) return *text = s, *length = all, true;
        s += all;
        if (*s == ')') return false;
    }
}

const char *bench_row_size(const bench_row *row, int size) {
    const char *text;
    size_t length;
    bool sized = false;
    for (int i = 0; input_at(row, i, &text, &length); i++) sized |= !memchr(text, '[', length);
    return sized ? size < BENCH_SIZES ? (const char *[]){"1K", "64K", "16M"}[size] : NULL : size == 0 ? "" : NULL;
}

/* ---- subjects ---------------------------------------------------------------------------------------------------- */

/* The gradients of which inputs: floats, but for the last. */
static int differentiable(const subject *s, int at[BENCH_INPUTS]) {
    int n = 0;
    for (int i = 0; i + 1 < s->n_in; i++)
        if (s->in[i].dtype <= WICK_BF16) at[n++] = i;
    return n;
}

/* The gradient of the first tensor is the other tensor, whatever the loss. */
static void given_gradient(void *user, wick_tensor *g, wick_tensor *y, int n, wick_tensor *const *xs,
                           wick_tensor **gx) {
    (void)user, (void)g, (void)y, (void)n;
    gx[0] = xs[1];
}

static wick_status record(wick_context *ctx, wick_tensor *const *given, wick_tensor **out, void *user) {
    const subject *s = user;
    wick_tensor *in[BENCH_INPUTS] = {0}, *wrt[BENCH_INPUTS];
    for (int i = 0, k = 0; i < s->n_in; i++) in[i] = s->kept[i] ? s->kept[i] : given[k++];
    out[0] = s->row->build(s, in, out + 1);
    if (s->row->form != ROW_GRADIENTS) return WICK_OK;
    int at[BENCH_INPUTS];
    const int n = differentiable(s, at);
    for (int i = 0; i < n; i++) wrt[i] = in[at[i]];
    wick_tensor *given_too[] = {out[0], in[s->n_in - 1]};
    wick_grad(wick_custom_gradient(wick_constant(ctx, WICK_F32, 1), 2, given_too, given_gradient, NULL), n, wrt,
              out + 1);
    return WICK_OK;
}

static wick_status record_update(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    const subject *s = user;
    wick_tensor *loss = wick_constant(ctx, WICK_F32, 0);
    for (int i = 0; i < s->n_in; i++) {
        char name[8];
        snprintf(name, sizeof name, "p%d", i);
        wick_tensor *p = wick_model_state(s->model, name, WICK_ROLE_PARAM, s->in[i].dtype, s->in[i].rank, s->in[i].dims,
                                          (wick_init){WICK_INIT_NORMAL, 0, 0.02});
        loss = wick_add(loss, wick_custom_gradient(wick_constant(ctx, WICK_F32, 1), 2, (wick_tensor *[]){p, in[i]},
                                                   given_gradient, NULL));
    }
    out[0] = loss;
    return wick_optimizer_step(s->optimizer, loss);
}
static double state_bytes(const wick_model *model) {
    double bytes = 0;
    for (int i = 0; i < wick_model_count(model); i++) {
        const wick_tensor *x = wick_model_at(model, i).tensor;
        bytes += (double)wick_tensor_count(x) * (double)wick_dtype_size(wick_tensor_dtype(x));
    }
    return bytes;
}

static wick_status make_inputs(subject *s, int size) {
    wick_tensor *made[BENCH_INPUTS];
    bool kept[BENCH_INPUTS + 1];
    const char *text;
    size_t length;
    for (; input_at(s->row, s->n_in, &text, &length); s->n_in++) {
        const int i = s->n_in;
        kept[i] = length > 5 && strncmp(text, "kept ", 5) == 0;
        if (kept[i]) text += 5, length -= 5;
        if (i == BENCH_INPUTS || !(made[i] = fill(s->ctx, text, length, size)))
            return wick_context_fail(s->ctx, WICK_ERR_INTERNAL, "no input %.*s", (int)length, text);
        s->complex[i] = strncmp(text, "complex", 7) == 0;
    }
    wick_status status = wick_eval(s->ctx, s->n_in, made, NULL);
    for (int i = 0; i < s->n_in && status == WICK_OK; i++) {
        status = wick_data(made[i], &s->data[i]);
        s->in[i] = (wick_spec){.dtype = wick_tensor_dtype(made[i]), .rank = wick_tensor_rank(made[i])};
        memcpy(s->in[i].dims, wick_tensor_dims(made[i]), (size_t)s->in[i].rank * sizeof *s->in[i].dims);
        s->read += (double)wick_spec_bytes(&s->in[i]);
        if (kept[i]) {
            s->kept[i] = made[i];
            continue;
        }
        s->given[s->n_given] = s->in[i];
        s->given_data[s->n_given++] = s->data[i];
    }
    return status;
}

/* Of attention, those that are seen. */
static double scores_of(const subject *s) {
    const int64_t *q = s->in[0].dims, queries = q[2], keys = s->in[1].dims[2];
    double seen = (double)queries * (double)keys;
    if (strstr(s->row->name, "causal")) seen = (double)queries * (double)(queries + 1) / 2; /* of as many keys */
    return (double)q[0] * (double)q[1] * seen;
}

static wick_function recorder(const subject *s) {
    const row_form form = s->row->form;
    return form == ROW_INFER || form == ROW_TRAIN ? record_network : form == ROW_UPDATE ? record_update : record;
}

static wick_status make_plan(subject *s) {
    const bench_row *row = s->row;
    int grads[BENCH_INPUTS];
    s->n_out = row->form == ROW_PAIR ? 2 : row->form == ROW_GRADIENTS ? 1 + differentiable(s, grads) : 1;
    /* layers' results have their place in a network's arena */
    s->fresh = !row->network && row->form != ROW_UPDATE && !strstr(row->peer, "out=y") && s->n_given == s->n_in;
    wick_status status = wick_model_new(s->ctx, &s->model);
    if (status == WICK_OK && row->network) status = find_network(s);
    if (status == WICK_OK && (row->form == ROW_TRAIN || row->form == ROW_UPDATE))
        status = wick_optimizer_new(s->model, &row->optimizer, &s->optimizer);
    if (status == WICK_OK) wick_model_set_training(s->model, row->form != ROW_INFER);
    const wick_compile_options plain = {.no_passes = true};
    if (status == WICK_OK)
        status = wick_compile(s->ctx, recorder(s), s, s->n_given, s->given, s->n_out,
                              row->form == ROW_PLAIN ? &plain : &row->compiling, &s->plan);
    if (status == WICK_OK) status = wick_workspace_new(s->plan, &s->space);
    if (status != WICK_OK) return status;
    for (int i = 0; i < s->n_out; i++) {
        s->results[i] = wick_plan_output(s->plan, i);
        const size_t bytes = wick_spec_bytes(&s->results[i]);
        if (!(s->out[i] = wick_buffer_new(s->ctx, bytes))) return WICK_ERR_NOMEM;
        s->written += (double)bytes;
    }
    const wick_plan_info info = wick_plan_get_info(s->plan);
    const double states = state_bytes(s->model);
    s->planned = (double)(info.arena_bytes + info.scratch_bytes) + states + s->written;
    s->read += states;
    if (s->optimizer) s->written += states;
    s->flops = info.flops;
    if (strcmp(row->suite, "attention") == 0) s->exps = scores_of(s) * (row->form == ROW_GRADIENTS ? 2 : 1);
    return WICK_OK;
}

bool subject_open(subject *s, const bench_row *row, int size, int threads) {
    *s = (subject){.row = row};
    wick_status status =
        wick_context_new(&(wick_context_options){.tuning = tuned(), .threads = threads, .seed = 1}, &s->ctx);
    if (status == WICK_OK && !(s->scope = wick_scope_open(s->ctx))) status = WICK_ERR_NOMEM;
    if (status == WICK_OK && !row->call) status = make_inputs(s, size);
    memory_begin(&s->mark);
    if (status == WICK_OK && !row->call) status = make_plan(s);
    if (status == WICK_OK && subject_run(s, 1)) return true;
    if (status != WICK_OK) {
        const char *why = s->ctx ? wick_context_error(s->ctx) : "";
        snprintf(s->why, sizeof s->why, "%s", *why ? why : wick_status_name(status));
    }
    return false;
}

void subject_close(subject *s) {
    wick_workspace_free(&s->space);
    wick_plan_free(&s->plan);
    for (int i = 0; i < s->n_out && s->out[i]; i++)
        wick_buffer_free(s->ctx, s->out[i], wick_spec_bytes(&s->results[i]));
    wick_optimizer_free(&s->optimizer);
    wick_model_free(&s->model);
    wick_scope_close(&s->scope);
    wick_context_free(&s->ctx);
}

bool subject_run(subject *s, int64_t times) {
    wick_status status = WICK_OK;
    for (; times > 0 && status == WICK_OK; times--) {
        if (s->row->call) {
            status = s->row->call(s->ctx);
            continue;
        }
        for (int i = 0; s->fresh && i < s->n_out; i++) {
            const size_t bytes = wick_spec_bytes(&s->results[i]);
            wick_buffer_free(s->ctx, s->out[i], bytes);
            if (!(s->out[i] = wick_buffer_new(s->ctx, bytes)))
                return snprintf(s->why, sizeof s->why, "out of memory"), false;
        }
        status = wick_run(s->space, s->given_data, s->out);
    }
    if (status != WICK_OK)
        snprintf(s->why, sizeof s->why, "%s", s->space ? wick_workspace_error(s->space) : wick_context_error(s->ctx));
    return status == WICK_OK;
}

bool subject_export(subject *s, const char *path) {
    const row_form form = s->row->form;
    if (form != ROW_RESULT && form != ROW_PLAIN && form != ROW_INFER) return false;
    if (form != ROW_INFER && wick_model_count(s->model)) return false; /* layers in training, which ONNX has none of */
    for (int i = 0; i < s->n_in; i++)
        if (s->complex[i]) return false;
    const bool written =
        wick_onnx_save(s->model, recorder(s), s, s->n_given, s->given, s->n_out, path, NULL) == WICK_OK;
    if (!written) wick_context_clear_error(s->ctx);
    return written;
}
