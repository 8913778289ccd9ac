/* Serves a network whose inputs have any batch and any length: a classifier of sequences, [batch, seq, 16] -> [batch,
 * 4], by attention within each. Threads share one dynamic function; a request finds the plan for its extents, or is the
 * first to have it made.
 *
 *     serve_dynamic [THREADS [REQUESTS]]
 *
 * Before the first request it is known how much memory any of them takes. Each answer is compared with that of a plan
 * compiled for these extents alone. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wick/wick.h>

enum { WIDTH = 16, CLASSES = 4, MOST_BATCH = 6, MOST_LENGTH = 24, MOST_THREADS = 64 };

static wick_dynamic *dynamic;
static wick_tensor *q, *w;
static float numbers[MOST_BATCH * MOST_LENGTH * WIDTH];
static float answers[MOST_BATCH + 1][MOST_LENGTH + 1][MOST_BATCH * CLASSES]; /* by batch and length */
static atomic_long next_request;
static long total;

/* h = softmax(x q x^T / 4) x, its mean over the sequence, and a linear layer. Sizes are those of x: the function is
 * recorded for each. */
static wick_status classify(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx, (void)user;
    wick_tensor *x = in[0], *scores = wick_matmul(wick_matmul(x, q), wick_transpose(x, 1, 2));
    wick_tensor *h = wick_matmul(wick_softmax(wick_mul(scores, wick_like(scores, 0.25)), -1), x);
    out[0] = wick_linear(wick_mean(h, 1, (int[]){1}, false), w, NULL);
    return WICK_OK;
}

static wick_tensor *random_weights(wick_context *ctx, int64_t rows, int64_t columns, unsigned seed) {
    float data[WIDTH * WIDTH];
    for (int64_t i = 0; i < rows * columns; i++) {
        seed = seed * 1664525u + 1013904223u;
        data[i] = (float)(seed >> 8) / (1 << 24) - 0.5f;
    }
    return wick_from(ctx, WICK_F32, 2, (int64_t[]){rows, columns}, data);
}

typedef struct server {
    pthread_t thread;
    long served, wrong;
    char error[256];
} server;

static void *serve(void *user) {
    server *s = user;
    wick_runner *runner = NULL;
    if (wick_runner_new(dynamic, &runner)) return snprintf(s->error, sizeof s->error, "no runner"), NULL;
    for (long k; !s->error[0] && (k = next_request++) < total; s->served++) {
        const uint32_t random = (uint32_t)k * 2654435761u; /* Knuth's multiplicative hash */
        const int64_t batch = 1 + (random >> 8) % MOST_BATCH, length = 1 + (random >> 16) % MOST_LENGTH;
        float y[MOST_BATCH * CLASSES];
        if (wick_runner_bind(runner, &(wick_spec){"x", WICK_F32, 3, {batch, length, WIDTH}}) ||
            wick_runner_run(runner, (const void *[]){numbers}, (void *[]){y}))
            snprintf(s->error, sizeof s->error, "%s", wick_runner_error(runner));
        else s->wrong += memcmp(y, answers[batch][length], (size_t)batch * CLASSES * sizeof *y) != 0;
    }
    wick_runner_free(&runner);
    return NULL;
}

static int failed(wick_context *ctx, const char *what) {
    return fprintf(stderr, "serve_dynamic: %s: %s\n", what, wick_context_error(ctx)), 1;
}

/* What each request is to give: by a plan of its own. */
static wick_status make_answers(wick_context *ctx) {
    for (int64_t batch = 1; batch <= MOST_BATCH; batch++)
        for (int64_t length = 1; length <= MOST_LENGTH; length++) {
            const wick_spec x = {"x", WICK_F32, 3, {batch, length, WIDTH}};
            wick_plan *plan = NULL;
            wick_workspace *space = NULL;
            wick_status status = wick_compile(ctx, classify, NULL, 1, &x, 1, NULL, &plan);
            if (status == WICK_OK) status = wick_workspace_new(plan, &space);
            if (status == WICK_OK)
                status = wick_run(space, (const void *[]){numbers}, (void *[]){answers[batch][length]});
            wick_workspace_free(&space);
            wick_plan_free(&plan);
            if (status != WICK_OK) return status;
        }
    return WICK_OK;
}

int main(int argc, char **argv) {
    const int n = argc > 1 ? atoi(argv[1]) : 2;
    total = argc > 2 ? atol(argv[2]) : 1000;
    wick_context *ctx = NULL;
    if (n < 1 || n > MOST_THREADS || wick_context_new(&(wick_context_options){.threads = 1}, &ctx))
        return fprintf(stderr, "serve_dynamic [THREADS [REQUESTS]]\n"), 1;
    q = random_weights(ctx, WIDTH, WIDTH, 1), w = random_weights(ctx, CLASSES, WIDTH, 2);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        numbers[i] = (float)(i * 2654435761u % 1000) / 500 - 1;
    if (make_answers(ctx)) return failed(ctx, "answers");

    /* The dims, the input in their terms, and at most 100 plans at a time. */
    const wick_dim dims[] = {{"batch", 1, MOST_BATCH, 0}, {"seq", 1, MOST_LENGTH, 0}};
    const wick_dynamic_input input = {"x", WICK_F32, 3, {"batch", "seq", "16"}};
    if (wick_dynamic_new(ctx, classify, NULL, 2, dims, 1, &input, 1, &(wick_dynamic_options){.plans = 100}, &dynamic))
        return failed(ctx, "dynamic");
    wick_dynamic_bound bound;
    if (wick_dynamic_prove(dynamic, 1000, &bound)) return failed(ctx, "prove");
    printf("any request takes at most %zu bytes, as batch=%lld seq=%lld does: %s, by %lld plans\n", bound.bytes,
           (long long)bound.at[0], (long long)bound.at[1], bound.proven ? "proven" : "kept", (long long)bound.planned);

    server servers[MOST_THREADS] = {0};
    long served = 0, wrong = 0;
    int code = 0;
    for (int i = 0; i < n; i++)
        if (pthread_create(&servers[i].thread, NULL, serve, &servers[i]))
            return fprintf(stderr, "serve_dynamic: no thread\n"), 1;
    for (int i = 0; i < n; i++) {
        pthread_join(servers[i].thread, NULL);
        served += servers[i].served, wrong += servers[i].wrong;
        if (servers[i].error[0]) code = 1, fprintf(stderr, "serve_dynamic: %s\n", servers[i].error);
    }
    const wick_dynamic_info info = wick_dynamic_get_info(dynamic);
    printf("%ld requests by %d threads, %ld with other bits; %llu plans made, %d kept in %zu bytes, found %llu times\n",
           served, n, wrong, (unsigned long long)info.misses, info.plans, info.cached_bytes,
           (unsigned long long)info.hits);

    wick_runner *runner = NULL; /* what is out of range is refused, by name */
    if (wick_runner_new(dynamic, &runner)) return 1;
    if (wick_runner_bind(runner, &(wick_spec){"x", WICK_F32, 3, {2, 25, WIDTH}}) == WICK_ERR_SHAPE)
        printf("refused: %s\n", wick_runner_error(runner));
    else code = 1;
    wick_runner_free(&runner);
    wick_dynamic_free(&dynamic);
    wick_context_free(&ctx);
    return code || wrong || served != total;
}
