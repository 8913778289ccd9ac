/* How much stack Wick needs: that of a small thread. musl gives a thread 128 KB. */
#include <pthread.h>
#include <unistd.h>

#include "test.h"
#include "wick/wick.h"

enum { STACK = 64 << 10 };

static char path[64];
static const char *failed;
#define NEED(call) \
    if (call) return (void)(failed = #call), NULL

/* Recording, planning and running steps of training, a checkpoint, a model that is exported, read and compiled. */
static wick_status network(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx;
    wick_model *model = user;
    out[0] = wick_nn_linear(model, "b", wick_relu(wick_nn_linear(model, "a", in[0], 8)), 3);
    return WICK_OK;
}
static void *train(void *unused) {
    wick_context *ctx;
    wick_model *model;
    wick_optimizer *optimizer;
    wick_onnx *onnx;
    wick_plan *plan;
    static float x[40];
    (void)unused;
    NEED(wick_context_new(&(wick_context_options){.threads = 2}, &ctx));
    NEED(wick_model_new(ctx, &model));
    NEED(wick_optimizer_new(model, NULL, &optimizer));
    for (int i = 0; i < 3; i++) {
        wick_scope *scope = wick_scope_open(ctx);
        wick_tensor *in = wick_from(ctx, WICK_F32, WICK_DIMS(4, 10), x), *y, *loss;
        NEED(network(ctx, &in, &y, model));
        loss = wick_mean(wick_square(y), WICK_ALL_AXES, false);
        NEED(wick_optimizer_step(optimizer, loss));
        NEED(wick_eval(ctx, 1, &loss, NULL));
        wick_scope_close(&scope);
    }
    NEED(wick_save(model, path, NULL));
    unlink(path);
    const wick_spec spec = {.name = "x", .dtype = WICK_F32, .rank = 2, .dims = {4, 10}};
    strcat(path, ".onnx");
    NEED(wick_onnx_save(model, network, model, 1, &spec, 1, path, NULL));
    NEED(wick_onnx_open(ctx, path, NULL, &onnx));
    NEED(wick_onnx_compile(onnx, &spec, NULL, &plan));
    unlink(path);
    wick_plan_free(&plan);
    wick_onnx_free(&onnx);
    wick_optimizer_free(&optimizer);
    wick_model_free(&model);
    wick_context_free(&ctx);
    return NULL;
}

TEST(training_needs_less_than_64_kb_of_stack) {
    if (TEST_SANITIZED) SKIP("sanitizers need more stack");
    pthread_attr_t attr;
    pthread_t thread;
    snprintf(path, sizeof path, "/tmp/wick-stack-%ld", (long)getpid());
    REQUIRE(pthread_attr_init(&attr) == 0 && pthread_attr_setstacksize(&attr, STACK) == 0);
    REQUIRE(pthread_create(&thread, &attr, train, NULL) == 0); /* behind its stack lies a page that ends the process */
    pthread_join(thread, NULL);
    CHECK_MSG(!failed, "%s", failed);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
