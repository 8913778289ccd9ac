/* Random faults: a transport that fails, delays, loses and reorders what a rank exchanges, over the one of this
 * machine. Ranks train: w becomes w - sum / 2, step by step. Whatever happens, all of them come to an end in time,
 * either all with the right weights or all with an error that names a rank; and weights are at every moment, also after
 * a failure, those of a whole number of steps, of which ranks differ by one at most. In half of the runs sums travel in
 * pieces while the last leaf is computed, so that faults strike the thread that carries them.
 *
 * WICK_FAULTS=N in the environment: so many runs (scripts/campaign makes 1,000). A failure prints the seed of its run,
 * which WICK_FAULTS_SEED repeats. */
#include <pthread.h>
#include <unistd.h>

#include "context.h"
#include "dist/group.h"
#include "test.h"
#include "tree.h"

enum { RANKS_MOST = 6, LEAVES_MOST = 16, COUNT_MOST = 600, STEPS = 4, USUAL = 60, WAVE = 20 };
enum { PARCELS_MOST = 128, PIECES_MOST = 9 };

/* What happens to one rank at its exchange number `when`: it fails before it sends anything, or half-way; it leaves; it
 * sleeps for longer than the others wait; one of its messages is lost; it is late; or nothing. */
typedef enum fault { FAILS, FAILS_HALFWAY, LEAVES, HANGS, LOSES, DELAYS, NOTHING, FAULT_KINDS } fault;
static const char *const fault_names[] = {"fails", "fails half-way", "leaves", "hangs", "loses", "delays", "nothing"};

typedef struct seat {
    const struct trial *of;
    int rank, calls; /* exchanges so far */
    bool struck, open;
    uint64_t random; /* of its exchanges */
    uint64_t pace;   /* of its leaves */
    double seconds;
    wick_status status;
    char text[600];
    int done;  /* steps */
    int wrong; /* the line that found other weights */
    float weights[COUNT_MOST];
    const wick_transport *below;
    void *self;
} seat;

typedef struct trial {
    uint64_t seed;
    wick_group_host *host;
    int ranks, leaves, victim, when;
    int pieces; /* 0: sums are late */
    size_t count;
    fault what;
    double timeout;
    float want[STEPS + 1][COUNT_MOST]; /* weights after so many steps */
    seat seats[RANKS_MOST];
    pthread_t threads[RANKS_MOST];
} trial;

static uint64_t draw(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}
static int draw_int(uint64_t *state, int low, int high) {
    return low + (int)(draw(state) % (uint64_t)(high - low + 1));
}

/* Swaps neighbours that are of different pairs of ranks, which nobody promised an order for. */
static void reorder(seat *s, int n, const wick_parcel *list, wick_parcel *out) {
    memcpy(out, list, (size_t)n * sizeof *out);
    for (int i = 0; i < 2 * n && n > 1; i++) {
        const int k = draw_int(&s->random, 0, n - 2);
        const wick_parcel a = out[k];
        if (a.peer == out[k + 1].peer) continue;
        out[k] = out[k + 1];
        out[k + 1] = a;
    }
}

static wick_status exchange(void *self, const wick_exchange *x, wick_msg *msg) {
    seat *s = self;
    const trial *t = s->of;
    wick_parcel in[PARCELS_MOST], out[PARCELS_MOST];
    wick_exchange other = *x;
    if (x->n_in > PARCELS_MOST || x->n_out > PARCELS_MOST) return WICK_ERR_INTERNAL;
    const bool sends = t->what == LOSES || t->what == FAILS_HALFWAY; /* at one that has something to send */
    const bool now = s->rank == t->victim && !s->struck && s->calls >= t->when && s->open && (!sends || x->n_out);
    s->calls++;
    reorder(s, x->n_in, x->in, in);
    reorder(s, x->n_out, x->out, out);
    other.in = in, other.out = out;
    s->struck |= now;
    if (now && t->what == HANGS) usleep((useconds_t)(3e6 * t->timeout));
    if (now && t->what == DELAYS) usleep((useconds_t)draw_int(&s->random, 0, 20000));
    if (now && t->what == LOSES) other.n_out--;
    if (now && t->what == FAILS_HALFWAY) {
        other.n_in = 0, other.n_out /= 2;
        wick_msg ignored;
        (void)!s->below->exchange(s->self, &other, &ignored);
    }
    if (now && (t->what == FAILS || t->what == FAILS_HALFWAY))
        return wick_msg_set(msg, WICK_ERR_IO, "group: %s: rank %d failed", x->what, s->rank);
    return s->below->exchange(s->self, &other, msg);
}
static void close_below(void *self, bool broken) {
    seat *s = self;
    s->below->close(s->self, broken);
}
static const wick_transport faulty = {"faulty", exchange, NULL, NULL, close_below};

static void update(float *weights, const float *sum, size_t n) {
    for (size_t i = 0; i < n; i++) {
        const volatile float half = 0.5f * sum[i], left = weights[i] - half;
        weights[i] = left;
    }
}

/* From the last one to the first, as gradients come. */
static wick_status cut(const trial *t, wick_group *g) {
    wick_range list[PIECES_MOST];
    const size_t n = (size_t)t->pieces;
    for (size_t k = 0; k < n; k++) list[n - 1 - k] = (wick_range){t->count * k / n, t->count * (k + 1) / n};
    return wick_group_set_pieces(g, t->pieces, list);
}

static wick_status add(seat *s, wick_group *g, int leaf, bool last, const float *v) {
    if (!last || !s->of->pieces) return wick_group_add(g, leaf, v);
    for (int k = 0; k < s->of->pieces; k++) {
        if (draw_int(&s->pace, 0, 3) == 0) usleep((useconds_t)draw_int(&s->pace, 0, 500));
        WICK_TRY(wick_group_add_piece(g, leaf, v));
    }
    return WICK_OK;
}

static wick_status step(seat *s, wick_group *g) {
    const trial *t = s->of;
    float v[COUNT_MOST], sum[COUNT_MOST];
    int first, end, number = s->done;
    WICK_TRY(wick_group_leaves(g, t->leaves, &first, &end));
    WICK_TRY(wick_group_begin(g, t->leaves, t->count));
    for (int leaf = first; leaf < end; leaf++) {
        fill_leaf(v, t->count, leaf, number);
        WICK_TRY(add(s, g, leaf, leaf == end - 1, v));
    }
    WICK_TRY(wick_group_finish(g, sum));
    update(s->weights, sum, t->count);
    s->done++;
    if (memcmp(s->weights, t->want[s->done], t->count * sizeof *sum) != 0) s->wrong = __LINE__;
    WICK_TRY(wick_group_broadcast(g, number % t->ranks, v, sizeof v));
    return wick_group_agree(g, "the step", &number, sizeof number);
}

static void *train(void *arg) {
    seat *s = arg;
    const trial *t = s->of;
    wick_context *ctx = new_context(.threads = 1);
    wick_group *g = NULL;
    const wick_group_options options = {.host = t->host, .rank = s->rank, .timeout = t->timeout, .start_timeout = 60};
    s->status = ctx ? wick_group_open(ctx, &options, &g) : WICK_ERR_NOMEM;
    if (s->status != WICK_OK) {
        snprintf(s->text, sizeof s->text, "open: %s", ctx ? wick_context_error(ctx) : "out of memory");
        s->status = WICK_ERR_INTERNAL;
        wick_context_free(&ctx);
        return NULL;
    }
    s->below = g->wire.transport, s->self = g->wire.self;
    g->wire = (wick_wire){&faulty, s, g->wire.rank, g->wire.size};
    if (t->pieces) s->status = cut(t, g);
    s->open = true;
    const uint64_t began = wick_now_ns();
    while (s->done < STEPS && s->status == WICK_OK) {
        if (s->rank == t->victim && t->what == LEAVES && s->done == t->when % STEPS) {
            s->struck = true;
            break;
        }
        s->status = step(s, g);
    }
    wick_group_await_pieces(g);
    s->open =
        false; /* the end, where all hear whether all came to it, is spared: no last message can be sure to come */
    if (s->status == WICK_OK && !(s->struck && t->what == LEAVES)) s->status = wick_group_barrier(g);
    if (memcmp(s->weights, t->want[s->done], t->count * sizeof(float)) != 0) s->wrong = __LINE__;
    s->seconds = (double)(wick_now_ns() - began) * 1e-9;
    snprintf(s->text, sizeof s->text, "%s", wick_group_error(g));
    wick_group_close(&g);
    wick_context_free(&ctx);
    return NULL;
}

static void prepare(trial *t, uint64_t seed) {
    float sum[COUNT_MOST];
    uint64_t random = seed * 0x9E3779B97F4A7C15u + 1;
    *t = (trial){.seed = seed};
    t->ranks = draw_int(&random, 2, RANKS_MOST);
    t->leaves = draw_int(&random, 0, 1) ? LEAVES_MOST : 8;
    t->count = (size_t)draw_int(&random, 1, COUNT_MOST);
    t->victim = draw_int(&random, 0, t->ranks - 1);
    t->when = draw_int(&random, 0, 5 * STEPS);
    t->what = (fault)draw_int(&random, 0, FAULT_KINDS - 1);
    /* The others find out by waiting, where nothing else can tell them: then there is no need to wait for long. */
    t->timeout = t->what == HANGS || t->what == LOSES ? 0.2 : 60;
    for (int i = 0; i < STEPS; i++) {
        memcpy(t->want[i + 1], t->want[i], sizeof t->want[i]);
        tree_of_leaves(sum, t->count, 0, t->leaves, i);
        update(t->want[i + 1], sum, t->count);
    }
    for (int r = 0; r < t->ranks; r++) t->seats[r] = (seat){.of = t, .rank = r, .random = draw(&random)};
    t->pieces = draw_int(&random, 0, 1) ? draw_int(&random, 1, (int)WICK_MIN(t->count, (size_t)PIECES_MOST)) : 0;
    if (t->pieces) t->when = draw_int(&random, 0, STEPS * (t->pieces + 4)); /* a step has more exchanges */
    for (int r = 0; r < t->ranks; r++) t->seats[r].pace = draw(&random);
}

#define SAID(t, r)                                                                                                     \
    "WICK_FAULTS_SEED=%llu: rank %d of %d %s at exchange %d, %d pieces; rank %d", (unsigned long long)(t)->seed,       \
        (t)->victim, (t)->ranks, fault_names[(t)->what], (t)->when, (t)->pieces, r

static void check(const trial *t) {
    const bool struck = t->seats[t->victim].struck, harmless = !struck || t->what == DELAYS || t->what == NOTHING;
    int least = STEPS, most = 0;
    char who[200];
    for (int r = 0; r < t->ranks; r++) {
        const seat *s = &t->seats[r];
        snprintf(who, sizeof who, SAID(t, r));
        if (s->done < least) least = s->done;
        if (s->done > most) most = s->done;
        CHECK_MSG(!s->wrong, "%s: other weights after %d steps, line %d", who, s->done, s->wrong);
        CHECK_MSG(s->seconds < 20, "%s: ended after %.1f s", who, s->seconds);
        if (harmless) CHECK_MSG(s->status == WICK_OK && s->done == STEPS, "%s: %d steps, %s", who, s->done, s->text);
        if (harmless || (r == t->victim && t->what == LEAVES)) continue;
        CHECK_MSG(s->status == WICK_ERR_IO || s->status == WICK_ERR_DEADLINE ||
                      (s->status == WICK_ERR_MISMATCH && t->what == LOSES),
                  "%s: status %d, %s", who, (int)s->status, s->text);
        CHECK_MSG(strstr(s->text, "rank") != NULL, "%s: %s", who, s->text);
    }
    CHECK_MSG(most - least <= 1, "%s: ranks did %d to %d steps", who, least, most);
}

/* Runs of seeds first to end - 1, all at once. */
static void run_wave(trial *trials, wick_context *ctx, uint64_t first, uint64_t end) {
    int n = 0;
    for (uint64_t seed = first; seed < end; seed++) {
        trial *t = &trials[n];
        prepare(t, seed);
        if (wick_group_host_new(ctx, t->ranks, &t->host) != WICK_OK) break;
        for (int r = 0; r < t->ranks; r++) REQUIRE(pthread_create(&t->threads[r], NULL, train, &t->seats[r]) == 0);
        n++;
    }
    CHECK_MSG(n == (int)(end - first), "%s", wick_context_error(ctx));
    for (int i = 0; i < n; i++) {
        for (int r = 0; r < trials[i].ranks; r++) pthread_join(trials[i].threads[r], NULL);
        check(&trials[i]);
        wick_group_host_free(&trials[i].host);
    }
}

TEST(random_faults_end_in_time_with_the_right_weights_or_an_error_on_every_rank) {
    const char *many = getenv("WICK_FAULTS"), *one = getenv("WICK_FAULTS_SEED");
    const uint64_t first = one ? strtoull(one, NULL, 10) : 1, n = one              ? 1
                                                                  : many           ? strtoull(many, NULL, 10)
                                                                  : TEST_SANITIZED ? USUAL / 3
                                                                                   : USUAL;
    wick_context *ctx = new_context(.threads = 1);
    trial *trials = calloc(WAVE, sizeof *trials);
    alarm(3600); /* a hang ends as a failure */
    REQUIRE(ctx && trials);
    int64_t struck[FAULT_KINDS] = {0}, pieced = 0;
    for (uint64_t seed = first; seed < first + n; seed += WAVE) {
        const uint64_t end = seed + WAVE < first + n ? seed + WAVE : first + n;
        run_wave(trials, ctx, seed, end);
        for (int i = 0; i < (int)(end - seed); i++) {
            const bool hit = trials[i].seats[trials[i].victim].struck;
            struck[trials[i].what] += hit;
            pieced += hit && trials[i].pieces;
        }
    }
    for (int k = 0; k < NOTHING && n >= USUAL; k++) CHECK_MSG(struck[k] > 0, "no rank %s", fault_names[k]);
    CHECK_MSG(pieced > 0 || n < USUAL, "no fault of a run with pieces");
    printf("  seeds %llu to %llu\n", (unsigned long long)first, (unsigned long long)(first + n - 1));
    test_count("random faults", (long)n);
    free(trials);
    wick_context_free(&ctx);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
