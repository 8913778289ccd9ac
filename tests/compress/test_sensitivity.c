/* Which layers get which numbers: the knapsack against trying all, the Fisher information against central differences
 * in f64, and what is chosen under a budget. */
#include "base/base.h"
#include "base/counting_alloc.h"
#include "compress/knapsack.h"
#include "compress/quantizer.h"
#include "test.h"
#include "wick/wick.h"

/* ---- the knapsack ------------------------------------------------------------------------------------------------ */

enum { ITEMS = 7 };
static void draw_items(wick_knapsack_item *items, int n, int64_t most) {
    for (int i = 0; i < n; i++) {
        items[i].n = 1 + (int)test_rand_int(0, WICK_KNAPSACK_CHOICES - 1);
        for (int k = 0; k < items[i].n; k++) {
            items[i].bytes[k] = test_rand_int(0, most);
            items[i].cost[k] = (double)test_rand_int(0, 20) / 4; /* sums are exact, and there are ties */
        }
    }
}
static void sums(const wick_knapsack_item *items, int n, const int *chosen, int64_t *bytes, double *cost) {
    *bytes = 0, *cost = 0;
    for (int i = 0; i < n; i++) *bytes += items[i].bytes[chosen[i]], *cost += items[i].cost[chosen[i]];
}
/* The best of all combinations: within the budget the least cost, then the fewest bytes. false: none is within it. */
static bool try_all(const wick_knapsack_item *items, int n, int64_t budget, int64_t *bytes, double *cost) {
    int at[ITEMS] = {0};
    bool found = false;
    for (;;) {
        int64_t b;
        double c;
        sums(items, n, at, &b, &c);
        if (b <= budget && (!found || c < *cost || (c == *cost && b < *bytes))) *bytes = b, *cost = c, found = true;
        int i = 0;
        while (i < n && ++at[i] == items[i].n) at[i++] = 0;
        if (i == n) return found;
    }
}
TEST(the_knapsack_is_what_trying_all_finds) {
    wick_knapsack_item items[ITEMS];
    for (int round = 0; round < 400; round++) {
        const int n = (int)test_rand_int(0, ITEMS);
        draw_items(items, n, round % 3 ? 12 : 1000000);
        const int64_t budget = test_rand_int(0, round % 3 ? 12 * ITEMS : 1000000 * ITEMS);
        int chosen[ITEMS];
        int64_t bytes, want_bytes = 0;
        double cost, want_cost = 0;
        REQUIRE(wick_knapsack(NULL, n, items, budget, chosen) == WICK_OK);
        sums(items, n, chosen, &bytes, &cost);
        if (try_all(items, n, budget, &want_bytes, &want_cost)) {
            CHECK_MSG(bytes == want_bytes && cost == want_cost, "%lld bytes for %g, not %lld for %g", (long long)bytes,
                      cost, (long long)want_bytes, want_cost);
        } else { /* the smallest there is */
            for (int i = 0; i < n; i++)
                for (int k = 0; k < items[i].n; k++) CHECK(items[i].bytes[chosen[i]] <= items[i].bytes[k]);
        }
    }
}
/* Of more combinations than a list holds: within the budget, and hardly above what choices by rate have, of which at
 * most one item is cut short. */
TEST(the_knapsack_of_many_items_keeps_to_its_budget) {
    enum { N = 120 };
    static wick_knapsack_item items[N];
    int64_t all = 0;
    double spent = 0, largest = 0;
    for (int i = 0; i < N; i++) {
        items[i] = (wick_knapsack_item){.n = 2, .bytes = {0, test_rand_int(1, 1000000)}};
        items[i].cost[0] = test_rand_real(0, 1);
        all += items[i].bytes[1];
    }
    const int64_t budget = all / 3;
    int chosen[N], order[N];
    int64_t bytes, left = budget;
    double cost, greedy = 0;
    for (int i = 0; i < N; i++) order[i] = i;
    for (int i = 0; i < N; i++)
        for (int k = i + 1; k < N; k++) {
            const wick_knapsack_item *a = &items[order[i]], *b = &items[order[k]];
            if (b->cost[0] / (double)b->bytes[1] <= a->cost[0] / (double)a->bytes[1]) continue;
            const int was = order[i];
            order[i] = order[k], order[k] = was;
        }
    for (int i = 0; i < N; i++) {
        const wick_knapsack_item *item = &items[order[i]];
        if (item->bytes[1] <= left)
            left -= item->bytes[1];
        else
            greedy += item->cost[0];
        spent += item->cost[0], largest = fmax(largest, item->cost[0]);
    }
    REQUIRE(wick_knapsack(NULL, N, items, budget, chosen) == WICK_OK);
    sums(items, N, chosen, &bytes, &cost);
    CHECK(bytes <= budget && bytes > budget - 1000000);
    CHECK_MSG(cost <= greedy + 1e-3 * spent, "%g, by rate %g", cost, greedy);
}

/* ---- the Fisher information -------------------------------------------------------------------------------------- */

enum { IN = 6, HIDDEN = 5, OUT = 3, BATCH = 4, BATCHES = 3 };
static wick_context *ctx;
static wick_model *model;
static wick_status network(wick_context *c, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)c, (void)user;
    wick_tensor *h = wick_tanh(wick_nn_linear(model, "a", in[0], HIDDEN));
    h = wick_tanh(wick_nn_linear(model, "b", h, HIDDEN));
    out[0] = wick_nn_linear(model, "c", h, OUT);
    return WICK_OK;
}
static const char *const names[] = {"a", "b", "c"};
static const int wide[] = {HIDDEN, HIDDEN, OUT}, deep[] = {IN, HIDDEN, HIDDEN};
static double weights[3][HIDDEN * IN], biases[3][HIDDEN];
static float x[BATCHES][BATCH * IN];
static int64_t labels[BATCHES][BATCH];

static bool set_up(void) {
    if (wick_context_new(&(wick_context_options){.threads = 1, .seed = 5}, &ctx) != WICK_OK ||
        wick_model_new(ctx, &model) != WICK_OK)
        return false;
    wick_scope *scope = wick_scope_open(ctx);
    wick_tensor *y, *in = wick_random_normal(ctx, WICK_F32, WICK_DIMS(BATCH, IN));
    bool good = network(ctx, &in, &y, NULL) == WICK_OK && wick_eval(ctx, 1, &y, NULL) == WICK_OK;
    wick_scope_close(&scope);
    wick_model_set_training(model, false);
    for (int l = 0; l < 3 && good; l++) {
        char name[16];
        const void *data;
        for (int k = 0; k < 2 && good; k++) {
            snprintf(name, sizeof name, "%s.%s", names[l], k ? "bias" : "weight");
            const wick_tensor *t = wick_model_find(model, name);
            good = t && wick_data((wick_tensor *)t, &data) == WICK_OK;
            for (int64_t i = 0; good && i < wick_tensor_count(t); i++)
                *(k ? &biases[l][i] : &weights[l][i]) = (double)((const float *)data)[i];
        }
    }
    for (int b = 0; b < BATCHES; b++)
        for (int i = 0; i < BATCH; i++) {
            for (int k = 0; k < IN; k++) x[b][i * IN + k] = (float)test_rand_real(-2, 2);
            labels[b][i] = test_rand_int(0, OUT - 1);
        }
    return good;
}
static void tear_down(void) {
    wick_model_free(&model);
    wick_context_free(&ctx);
}
static const wick_spec spec = {.name = "x", .dtype = WICK_F32, .rank = 2, .dims = {BATCH, IN}};

/* What each layer takes, added to for differences. */
static double moved[3][HIDDEN + IN];
/* The cross-entropy of one sample in f64; a weight lies [out, in]. */
static double loss_of(const float *from, int64_t label) {
    double h[HIDDEN + IN], y[HIDDEN];
    for (int k = 0; k < IN; k++) h[k] = (double)from[k];
    for (int l = 0; l < 3; l++) {
        for (int o = 0; o < wide[l]; o++) {
            y[o] = biases[l][o];
            for (int k = 0; k < deep[l]; k++) y[o] += weights[l][o * deep[l] + k] * (h[k] + moved[l][k]);
        }
        for (int o = 0; o < wide[l]; o++) h[o] = l < 2 ? tanh(y[o]) : y[o];
    }
    double sum = 0;
    for (int o = 0; o < OUT; o++) sum += exp(h[o]);
    return log(sum) - h[label];
}
static double difference(double *at, const float *from, int64_t label) {
    const double was = *at, h = 1e-5;
    *at = was + h;
    const double up = loss_of(from, label);
    *at = was - h;
    const double down = loss_of(from, label);
    *at = was;
    return (up - down) / (2 * h);
}

TEST(squared_gradients_are_those_of_central_differences) {
    REQUIRE(set_up());
    wick_quantizer *q = NULL;
    REQUIRE(wick_quantizer_new(ctx, model, network, NULL, 1, &spec, 1, NULL, &q) == WICK_OK);
    for (int b = 0; b < BATCHES; b++) REQUIRE(wick_quantizer_weigh(q, (const void *[]){x[b]}, labels[b]) == WICK_OK);
    REQUIRE(q->n_layers == 3 && q->weighed == BATCH * BATCHES);
    for (int l = 0; l < 3; l++) {
        double taken = 0;
        for (int b = 0; b < BATCHES; b++)
            for (int i = 0; i < BATCH; i++)
                for (int k = 0; k < deep[l]; k++) {
                    const double d = difference(&moved[l][k], &x[b][i * IN], labels[b][i]);
                    taken += d * d;
                }
        CHECK_MSG(fabs(q->layers[l].input_fisher / taken - 1) < 1e-4, "%s takes %g, not %g", names[l],
                  q->layers[l].input_fisher, taken);
        for (int o = 0; o < wide[l]; o++)
            for (int k = 0; k < deep[l]; k++) {
                double want = 0;
                for (int b = 0; b < BATCHES; b++)
                    for (int i = 0; i < BATCH; i++) {
                        const double d = difference(&weights[l][o * deep[l] + k], &x[b][i * IN], labels[b][i]);
                        want += d * d;
                    }
                const double got = q->layers[l].fisher[k * wide[l] + o]; /* as the product reads it */
                CHECK_MSG(fabs(got - want) <= 1e-4 * want + 1e-9, "%s %d %d: %g, not %g", names[l], o, k, got, want);
            }
    }
    /* the cost is half of them times squared errors, a mean over the samples, and of what is taken step^2 / 12 */
    for (int b = 0; b < BATCHES; b++) REQUIRE(wick_quantizer_observe(q, (const void *[]){x[b]}) == WICK_OK);
    REQUIRE(wick_quantizer_finish(q) == WICK_OK);
    for (int l = 0; l < 3; l++) {
        const layer *of = &q->layers[l];
        const void *bytes, *scales;
        REQUIRE(wick_data(of->q, &bytes) == WICK_OK && wick_data(of->scale, &scales) == WICK_OK);
        const double step = q->sites[of->site].scale;
        double want = of->input_fisher * step * step / 12;
        for (int k = 0; k < deep[l]; k++)
            for (int o = 0; o < wide[l]; o++) {
                const int at = k * wide[l] + o;
                const double e =
                    (double)of->weights[at] - (double)((const float *)scales)[o] * ((const int8_t *)bytes)[at];
                want += of->fisher[at] * e * e;
            }
        want /= 2 * BATCH * BATCHES;
        const double got = wick_quantizer_layer_at(q, l).cost;
        CHECK_MSG(want > 0 && fabs(got / want - 1) < 1e-9, "%g, not %g", got, want);
    }
    wick_quantizer_free(&q);
    tear_down();
}

/* Of results that are numbers the squares of v^T J have the mean diag(J^T J): of many samples alike. */
TEST(without_labels_it_is_that_of_normal_distributions) {
    enum { TIMES = 400 };
    REQUIRE(set_up());
    wick_quantizer *q = NULL;
    REQUIRE(wick_quantizer_new(ctx, model, network, NULL, 1, &spec, 1, NULL, &q) == WICK_OK);
    for (int t = 0; t < TIMES; t++) REQUIRE(wick_quantizer_weigh(q, (const void *[]){x[0]}, NULL) == WICK_OK);
    /* of the last layer J is what it takes, for each result: the sum over k and o is OUT times the sum of h^2 */
    double want = 0, got = 0;
    for (int i = 0; i < BATCH; i++) {
        double h[2][HIDDEN] = {{0}, {0}};
        for (int o = 0; o < HIDDEN; o++) {
            double y = biases[0][o];
            for (int k = 0; k < IN; k++) y += weights[0][o * IN + k] * (double)x[0][i * IN + k];
            h[0][o] = tanh(y);
        }
        for (int o = 0; o < HIDDEN; o++) {
            double y = biases[1][o];
            for (int k = 0; k < HIDDEN; k++) y += weights[1][o * HIDDEN + k] * h[0][k];
            h[1][o] = tanh(y);
            want += OUT * h[1][o] * h[1][o];
        }
    }
    for (int k = 0; k < HIDDEN * OUT; k++) got += q->layers[2].fisher[k] / TIMES;
    CHECK_MSG(fabs(got / want - 1) < 0.1, "%g, not %g", got, want);
    CHECK(wick_quantizer_weigh(q, (const void *[]){x[0]}, labels[0]) == WICK_ERR_INVALID);
    CHECK(strstr(wick_context_error(ctx), "weighed without labels before"));
    wick_quantizer_free(&q);
    tear_down();
}

/* ---- choosing ---------------------------------------------------------------------------------------------------- */

static wick_quantizer *weighed(const wick_quantizer_options *options) {
    wick_quantizer *q = NULL;
    bool good = wick_quantizer_new(ctx, model, network, NULL, 1, &spec, 1, options, &q) == WICK_OK;
    for (int b = 0; b < BATCHES && good; b++)
        good = wick_quantizer_weigh(q, (const void *[]){x[b]}, labels[b]) == WICK_OK &&
               wick_quantizer_observe(q, (const void *[]){x[b]}) == WICK_OK;
    return good ? q : NULL;
}
TEST(what_is_chosen_costs_least_under_the_budget) {
    REQUIRE(set_up());
    wick_knapsack_item items[3];
    /* the costs of all layers in 4 bits, in 8, and in floats */
    for (int way = 0; way < 3; way++) {
        wick_quantizer *q = weighed(&(wick_quantizer_options){.weight_bits = way ? 8 : 4, .wide = way ? NULL : ""});
        REQUIRE(q);
        for (int l = 0; l < 3 && way == 2; l++) wick_quantizer_keep(q, l, true);
        REQUIRE(wick_quantizer_finish(q) == WICK_OK);
        for (int l = 0; l < 3; l++) {
            const wick_quantizer_layer of = wick_quantizer_layer_at(q, l);
            CHECK(of.bits == (way == 2 ? 32 : way ? 8 : 4) && (way == 2 || of.cost > 0));
            items[l].n = 3, items[l].bytes[way] = of.bytes, items[l].cost[way] = way == 2 ? 0 : of.cost;
        }
        wick_quantizer_free(&q);
    }
    wick_quantizer *q = weighed(&(wick_quantizer_options){.weight_bits = 4});
    REQUIRE(q);
    int64_t all = 0;
    for (int l = 0; l < 3; l++) all += items[l].bytes[2];
    for (int64_t budget = 0; budget <= all + 8; budget += 8) {
        int64_t bytes, want_bytes = 0;
        double cost, want;
        REQUIRE(wick_quantizer_choose(q, budget, &cost) == WICK_OK && wick_quantizer_finish(q) == WICK_OK);
        bytes = 0;
        for (int l = 0; l < 3; l++) bytes += wick_quantizer_layer_at(q, l).bytes;
        if (!try_all(items, 3, budget, &want_bytes, &want)) {
            for (int l = 0; l < 3; l++) CHECK(wick_quantizer_layer_at(q, l).bits == 4);
            continue;
        }
        CHECK_MSG(bytes == want_bytes && fabs(cost - want) <= 1e-12 * want, "under %lld: %lld for %g, not %lld for %g",
                  (long long)budget, (long long)bytes, cost, (long long)want_bytes, want);
    }
    wick_quantizer_free(&q);
    /* by name: what stays f32 stays so, and wide layers have 8 bits at least */
    q = weighed(&(wick_quantizer_options){.weight_bits = 4, .keep = "b.*", .wide = "c.*"});
    REQUIRE(q && wick_quantizer_choose(q, 0, NULL) == WICK_OK && wick_quantizer_finish(q) == WICK_OK);
    CHECK(wick_quantizer_layer_at(q, 0).bits == 4 && wick_quantizer_layer_at(q, 1).bits == 32 &&
          wick_quantizer_layer_at(q, 2).bits == 8);
    wick_quantizer_free(&q);
    /* 7 bits take the bytes of 8, which round less */
    q = weighed(&(wick_quantizer_options){.weight_bits = 7, .wide = ""});
    REQUIRE(q && wick_quantizer_finish(q) == WICK_OK);
    int64_t as_now = 0;
    double cost = 0, now = 0;
    for (int l = 0; l < 3; l++) {
        const wick_quantizer_layer of = wick_quantizer_layer_at(q, l);
        as_now += of.bytes, now += of.cost;
    }
    REQUIRE(wick_quantizer_choose(q, as_now, &cost) == WICK_OK && wick_quantizer_finish(q) == WICK_OK && cost < now);
    for (int l = 0; l < 3; l++) CHECK(wick_quantizer_layer_at(q, l).bits == 8);
    wick_quantizer_free(&q);
    /* weights alone, in blocks of 4 bits too */
    q = weighed(&(wick_quantizer_options){.block = 16});
    REQUIRE(q && wick_quantizer_choose(q, 0, NULL) == WICK_OK && wick_quantizer_finish(q) == WICK_OK);
    CHECK(wick_quantizer_layer_at(q, 1).bits == 4 && wick_quantizer_layer_at(q, 1).cost > 0);
    REQUIRE(wick_quantizer_choose(q, 1 << 20, NULL) == WICK_OK && wick_quantizer_finish(q) == WICK_OK);
    CHECK(wick_quantizer_layer_at(q, 1).bits == 32);
    wick_quantizer_free(&q);
    tear_down();
}

TEST(choosing_wants_samples_that_are_numbers) {
    REQUIRE(set_up());
    wick_quantizer *q = NULL;
    REQUIRE(wick_quantizer_new(ctx, model, network, NULL, 1, &spec, 1, NULL, &q) == WICK_OK);
    CHECK(wick_quantizer_choose(q, 100, NULL) == WICK_ERR_INVALID &&
          strstr(wick_context_error(ctx), "nothing was weighed"));
    CHECK(wick_quantizer_weigh(q, NULL, labels[0]) == WICK_ERR_INVALID);
    x[0][IN + 1] = NAN; /* of the second sample: the first counts */
    CHECK(wick_quantizer_weigh(q, (const void *[]){x[0]}, labels[0]) == WICK_ERR_INVALID && q->weighed == 1);
    CHECK(strstr(wick_context_error(ctx), "the gradient of a.weight is NaN or Inf"));
    CHECK(wick_quantizer_choose(q, 100, NULL) == WICK_ERR_INVALID &&
          strstr(wick_context_error(ctx), "nothing was observed"));
    labels[1][0] = OUT;
    CHECK(wick_quantizer_weigh(q, (const void *[]){x[1]}, labels[1]) != WICK_OK);
    CHECK(wick_quantizer_weigh(NULL, NULL, NULL) == WICK_ERR_INVALID &&
          wick_quantizer_choose(NULL, 1, NULL) == WICK_ERR_INVALID);
    wick_quantizer_free(&q);
    tear_down();
}

/* What is weighed are weights with the scales that they will have. */
TEST(scales_move_before_anything_is_weighed) {
    REQUIRE(set_up());
    for (int awq = 0; awq < 2; awq++) {
        wick_quantizer *q = NULL;
        const wick_quantizer_options o = {.block = awq ? 16 : 0, .awq = awq, .smooth = awq ? 0 : 0.5};
        const void *in[] = {x[0]};
        REQUIRE(wick_quantizer_new(ctx, model, network, NULL, 1, &spec, 1, &o, &q) == WICK_OK);
        CHECK(wick_quantizer_weigh(q, in, labels[0]) == WICK_ERR_INVALID && !q->weighed);
        CHECK(strstr(wick_context_error(ctx), awq ? "wick_quantizer_finish" : "wick_quantizer_smooth"));
        REQUIRE(wick_quantizer_observe(q, in) == WICK_OK);
        CHECK(wick_quantizer_weigh(q, in, labels[0]) == WICK_ERR_INVALID && !q->weighed);
        REQUIRE((awq ? wick_quantizer_finish(q) : wick_quantizer_smooth(q)) == WICK_OK);
        CHECK(wick_quantizer_weigh(q, in, labels[0]) == WICK_OK && q->weighed == BATCH);
        wick_quantizer_free(&q);
    }
    tear_down();
}

/* Weighs, chooses and looks at the layers before and after. */
static wick_status use_all(void) {
    wick_quantizer *q = NULL;
    wick_layer_errors *e = NULL;
    const wick_function fns[] = {network, wick_quantizer_apply};
    const void *in[] = {x[0]};
    wick_status status =
        wick_quantizer_new(ctx, model, network, NULL, 1, &spec, 1, &(wick_quantizer_options){.weight_bits = 4}, &q);
    if (status == WICK_OK) status = wick_quantizer_weigh(q, in, labels[0]);
    if (status == WICK_OK) status = wick_quantizer_observe(q, in);
    if (status == WICK_OK) status = wick_quantizer_choose(q, 300, NULL);
    if (status == WICK_OK) status = wick_quantizer_finish(q);
    if (status == WICK_OK) status = wick_layer_errors_new(ctx, model, fns, (void *[]){NULL, q}, 1, &spec, &e);
    if (status == WICK_OK) status = wick_layer_errors_observe(e, in);
    wick_layer_errors_free(&e);
    wick_quantizer_free(&q);
    return status;
}
TEST(running_out_of_memory_is_an_error_wherever_it_happens) {
    REQUIRE(set_up()); /* samples and labels */
    tear_down();
    counting c = {.fail_at = -1};
    const wick_allocator allocator = counting_allocator(&c);
    REQUIRE(wick_context_new(&(wick_context_options){.threads = 1, .allocator = &allocator}, &ctx) == WICK_OK &&
            wick_model_new(ctx, &model) == WICK_OK);
    wick_model_set_training(model, false);
    CHECK(use_all() == WICK_OK); /* what the context itself keeps is made now */
    const int64_t before = c.calls;
    CHECK(use_all() == WICK_OK);
    const int64_t calls = c.calls - before, live = c.live;
    int failed = 0;
    for (int64_t k = 0; k < calls; k += 1 + calls / 300) {
        c.fail_at = c.calls + k;
        const wick_status status = use_all();
        failed += status == WICK_ERR_NOMEM;
        CHECK_MSG(status == WICK_ERR_NOMEM || status == WICK_OK, "call %lld: %s: %s", (long long)k,
                  wick_status_name(status), wick_context_error(ctx));
        c.fail_at = -1;
        wick_context_clear_error(ctx);
        CHECK_MSG(c.live <= live + 8, "call %lld: %lld blocks more", (long long)k, (long long)(c.live - live));
    }
    CHECK(calls > 100 && failed > 50);
    CHECK(use_all() == WICK_OK);
    tear_down();
    CHECK_INT(c.live, 0);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
