/* Ranks that are threads of one process, with seats of the same host: what a thread sanitizer can look at. */
#include <pthread.h>

#include "base/base.h"
#include "context.h"
#include "test.h"
#include "tree.h"
#include "wick/dist.h"

enum { RANKS = 4, LEAVES = 8, COUNT = 100003, STEPS = 5 };

typedef struct seat {
    const wick_group_host *host;
    int rank;
    char text[600];
    int bad; /* the line that failed */
} seat;

static float want[STEPS][COUNT];

#define MUST(cond)                                                                                                     \
    if (!s->bad && !(cond)) {                                                                                          \
        s->bad = __LINE__;                                                                                             \
        snprintf(s->text, sizeof s->text, "%s", g ? wick_group_error(g) : wick_context_error(ctx));                    \
    }

static void *train(void *arg) {
    seat *s = arg;
    wick_context *ctx = new_context(.threads = 2);
    wick_group *g = NULL;
    int first = 0, end = 0;
    float *v = malloc(sizeof(float) * COUNT), *sum = malloc(sizeof(float) * COUNT);
    MUST(wick_group_open(ctx, &(wick_group_options){.host = s->host, .rank = s->rank, .timeout = 60}, &g) == WICK_OK);
    MUST(wick_group_rank(g) == s->rank && wick_group_size(g) == RANKS && !strcmp(wick_group_transport(g), "local"));
    for (int step = 0; step < STEPS && !s->bad; step++) {
        MUST(wick_group_leaves(g, LEAVES, &first, &end) == WICK_OK && wick_group_begin(g, LEAVES, COUNT) == WICK_OK);
        for (int leaf = first; leaf < end && !s->bad; leaf++) {
            fill_leaf(v, COUNT, leaf, step);
            MUST(wick_group_add(g, leaf, v) == WICK_OK);
        }
        MUST(wick_group_finish(g, sum) == WICK_OK);
        MUST(memcmp(sum, want[step], sizeof want[step]) == 0);
        MUST(wick_group_broadcast(g, step % RANKS, v, sizeof(float) * COUNT) == WICK_OK);
        MUST(wick_group_agree(g, "the last gradient", v, sizeof(float) * COUNT) == WICK_OK);
    }
    wick_group_close(&g);
    wick_context_free(&ctx);
    free(v), free(sum);
    return NULL;
}

TEST(threads_with_seats_of_one_host_are_a_group) {
    wick_context *ctx = new_context(.threads = 1);
    wick_group_host *host = NULL;
    pthread_t threads[RANKS];
    seat seats[RANKS];
    for (int step = 0; step < STEPS; step++) tree_of_leaves(want[step], COUNT, 0, LEAVES, step);
    REQUIRE(wick_group_host_new(ctx, RANKS, &host) == WICK_OK);
    for (int r = 0; r < RANKS; r++) {
        seats[r] = (seat){.host = host, .rank = r};
        REQUIRE(pthread_create(&threads[r], NULL, train, &seats[r]) == 0);
    }
    for (int r = 0; r < RANKS; r++) {
        pthread_join(threads[r], NULL);
        CHECK_MSG(!seats[r].bad, "rank %d, line %d: %s", r, seats[r].bad, seats[r].text);
    }
    wick_group *g = NULL;
    CHECK(wick_group_open(ctx, &(wick_group_options){.host = host, .rank = 1}, &g) == WICK_ERR_INVALID);
    CHECK_STR_HAS(wick_context_error(ctx), "rank 1 was opened before");
    CHECK(wick_group_open(ctx, &(wick_group_options){.host = host, .rank = RANKS}, &g) == WICK_ERR_INVALID);
    wick_group_host_free(&host);
    wick_context_free(&ctx);
}

static void *tell(void *arg) {
    seat *s = arg;
    wick_context *ctx = new_context(.threads = 1);
    wick_group *g = NULL;
    MUST(wick_group_open(ctx, &(wick_group_options){.host = s->host, .rank = s->rank}, &g) == WICK_OK);
    if (s->rank == 0) wick_group_close(&g); /* leaves; the other waits for it */
    if (g) {
        MUST(wick_group_barrier(g) == WICK_ERR_IO);
        MUST(strstr(wick_group_error(g), "barrier: rank 0 has left the group"));
    }
    wick_group_close(&g);
    wick_context_free(&ctx);
    return NULL;
}
TEST(a_thread_that_leaves_is_named) {
    wick_context *ctx = new_context(.threads = 1);
    wick_group_host *host = NULL;
    pthread_t threads[2];
    seat seats[2];
    REQUIRE(wick_group_host_new(ctx, 2, &host) == WICK_OK);
    for (int r = 0; r < 2; r++) {
        seats[r] = (seat){.host = host, .rank = r};
        REQUIRE(pthread_create(&threads[r], NULL, tell, &seats[r]) == 0);
    }
    for (int r = 0; r < 2; r++) {
        pthread_join(threads[r], NULL);
        CHECK_MSG(!seats[r].bad, "rank %d, line %d: %s", r, seats[r].bad, seats[r].text);
    }
    wick_group_host_free(&host);
    wick_context_free(&ctx);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
