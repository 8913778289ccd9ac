/* Random faults: a transport that fails, delays and reorders what a rank exchanges. Whatever happens, all ranks come to
 * an end in time, what they say names a rank, and a sum that succeeded has the right bits. */
#include <pthread.h>
#include <unistd.h>

#include "context.h"
#include "dist/group.h"
#include "test.h"
#include "tree.h"

enum { RANKS = 3, LEAVES = 8, COUNT = 257, STEPS = 4, FAULTS = 1000, PARCELS_MOST = 64 };

/* What happens to a rank at its exchange number `when`. */
typedef enum fault { FAILS, LEAVES_GROUP, HANGS, DELAYS, FAULT_KINDS } fault;

typedef struct seat {
    const wick_group_host *host;
    int rank;
    fault what;
    int when, calls; /* calls: so far; when -1: nothing happens to this rank */
    uint64_t random;
    double seconds;
    wick_status status;
    char text[600];
    int wrong; /* a sum with other bits */
    const wick_transport *below;
    void *self;
} seat;

static float want[STEPS][COUNT];

static uint64_t draw(seat *s) {
    s->random = s->random * 6364136223846793005u + 1442695040888963407u;
    return s->random >> 33;
}

/* Swaps neighbours that are of different pairs of ranks, which nobody promised an order for. */
static void reorder(seat *s, int n, const wick_parcel *list, wick_parcel *out) {
    memcpy(out, list, (size_t)n * sizeof *out);
    for (int i = 0; i < 2 * n && n > 1; i++) {
        const int k = (int)(draw(s) % (uint64_t)(n - 1));
        const wick_parcel a = out[k];
        if (a.peer == out[k + 1].peer) continue;
        out[k] = out[k + 1];
        out[k + 1] = a;
    }
}

static wick_status exchange(void *self, const wick_exchange *x, wick_msg *msg) {
    seat *s = self;
    wick_parcel in[PARCELS_MOST], out[PARCELS_MOST];
    wick_exchange other = *x;
    const bool now = s->calls++ == s->when;
    if (now && s->what == FAILS) return wick_msg_set(msg, WICK_ERR_IO, "group: %s: rank %d failed", x->what, s->rank);
    if (now && s->what == HANGS) usleep(3000000);
    if (now && s->what == DELAYS) usleep((useconds_t)(draw(s) % 20000));
    if (x->n_in > PARCELS_MOST || x->n_out > PARCELS_MOST) return WICK_ERR_INTERNAL;
    reorder(s, x->n_in, x->in, in);
    reorder(s, x->n_out, x->out, out);
    other.in = in, other.out = out;
    return s->below->exchange(s->self, &other, msg);
}
static void close_below(void *self, bool broken) {
    seat *s = self;
    s->below->close(s->self, broken);
}
static const wick_transport faulty = {"faulty", exchange, close_below};

static wick_status step(seat *s, wick_group *g, int number) {
    float v[COUNT], sum[COUNT];
    int first, end;
    WICK_TRY(wick_group_leaves(g, LEAVES, &first, &end));
    WICK_TRY(wick_group_begin(g, LEAVES, COUNT));
    for (int leaf = first; leaf < end; leaf++) {
        fill_leaf(v, COUNT, leaf, number);
        WICK_TRY(wick_group_add(g, leaf, v));
    }
    WICK_TRY(wick_group_finish(g, sum));
    s->wrong += memcmp(sum, want[number], sizeof sum) != 0;
    WICK_TRY(wick_group_broadcast(g, number % RANKS, v, sizeof v));
    return wick_group_agree(g, "the step", &number, sizeof number);
}

static void *train(void *arg) {
    seat *s = arg;
    wick_context *ctx = new_context(.threads = 1);
    wick_group *g = NULL;
    const wick_group_options options = {.host = s->host, .rank = s->rank, .timeout = 2, .start_timeout = 20};
    if (!ctx || wick_group_open(ctx, &options, &g) != WICK_OK) {
        s->status = WICK_ERR_INTERNAL;
        wick_context_free(&ctx);
        return NULL;
    }
    s->below = g->wire.transport, s->self = g->wire.self;
    g->wire = (wick_wire){&faulty, s, g->wire.rank, g->wire.size};
    const uint64_t began = wick_now_ns();
    for (int i = 0; i < STEPS && s->status == WICK_OK; i++) {
        if (s->what == LEAVES_GROUP && s->when >= 0 && i == s->when % STEPS) break;
        s->status = step(s, g, i);
    }
    s->seconds = (double)(wick_now_ns() - began) * 1e-9;
    snprintf(s->text, sizeof s->text, "%s", wick_group_error(g));
    wick_group_close(&g);
    wick_context_free(&ctx);
    return NULL;
}

static void check(const seat *seats, int victim) {
    const fault what = seats[victim].what;
    for (int r = 0; r < RANKS; r++) {
        const seat *s = &seats[r];
        CHECK_MSG(!s->wrong && s->seconds < 10, "fault %d of rank %d at %d: rank %d: %d wrong, %.1f s", (int)what,
                  victim, s->when, r, s->wrong, s->seconds);
        CHECK_MSG(s->status != WICK_ERR_INTERNAL && s->status != WICK_ERR_MISMATCH, "rank %d: %d %s", r, (int)s->status,
                  s->text);
        if (what == DELAYS) CHECK_MSG(s->status == WICK_OK, "a delay: rank %d: %s", r, s->text);
        if (s->status != WICK_OK) CHECK_STR_HAS(s->text, "rank");
    }
}

TEST(a_thousand_random_faults_end_in_time_with_right_sums_or_errors) {
    wick_context *ctx = new_context(.threads = 1);
    const int n = TEST_SANITIZED && !test_long() ? FAULTS / 10 : FAULTS;
    for (int i = 0; i < STEPS; i++) tree_of_leaves(want[i], COUNT, 0, LEAVES, i);
    for (int i = 0; i < n; i++) {
        wick_group_host *host = NULL;
        pthread_t threads[RANKS];
        seat seats[RANKS];
        const int victim = test_rand_int(0, RANKS - 1), when = test_rand_int(0, 4 * STEPS);
        fault what = (fault)test_rand_int(0, FAULT_KINDS - 1);
        if (what == HANGS && i % 50) what = FAILS; /* which take their time */
        REQUIRE(wick_group_host_new(ctx, RANKS, &host) == WICK_OK);
        for (int r = 0; r < RANKS; r++) {
            seats[r] =
                (seat){.host = host, .rank = r, .what = what, .when = r == victim ? when : -1, .random = test_rand()};
            REQUIRE(pthread_create(&threads[r], NULL, train, &seats[r]) == 0);
        }
        for (int r = 0; r < RANKS; r++) pthread_join(threads[r], NULL);
        check(seats, victim);
        wick_group_host_free(&host);
    }
    test_count("random faults", n);
    wick_context_free(&ctx);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
