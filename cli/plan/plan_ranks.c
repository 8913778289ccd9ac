#include "plan_ranks.h"

#include "../options.h"
#include "../term/log.h"

#include "wick/dist.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double OVERHEAD = 0.5e-6; /* of a message, where --link doesn't say */

/* ---- what is asked for ------------------------------------------------------------------------------------------- */

typedef struct unit {
    const char *name;
    double factor;
} unit;
static const unit times[] = {{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}, {NULL, 0}};
static const unit rates[] = {{"GB/s", 1e9},       {"MB/s", 1e6},       {"KB/s", 1e3},
                             {"Gbit/s", 0.125e9}, {"Mbit/s", 0.125e6}, {NULL, 0}};

/* A number with a unit, up to a comma or the end, where *text is put. */
static bool read_quantity(const char **text, const unit *units, bool may_be_zero, double *out) {
    char *end;
    const double value = strtod(*text, &end);
    const size_t n = strcspn(end, ",");
    if (end == *text || !(value >= 0 && value < 1e12) || (!may_be_zero && value == 0)) return false;
    while (units->name && (strlen(units->name) != n || strncmp(units->name, end, n) != 0)) units++;
    *out = value * units->factor;
    *text = end + n + (end[n] == ',');
    return units->name && (end[n] != ',' || **text);
}

static int read_link(rank_link *link, const char *text) {
    static const char tcp[] = ",tcp";
    char room[64];
    const size_t length = strlen(text), tail = sizeof tcp - 1;
    link->tcp = length > tail && strcmp(text + length - tail, tcp) == 0;
    snprintf(room, sizeof room, "%.*s", (int)(link->tcp ? length - tail : length), text);
    const char *at = room;
    link->overhead = OVERHEAD;
    if (length < sizeof room && read_quantity(&at, times, true, &link->latency) &&
        read_quantity(&at, rates, false, &link->bandwidth) &&
        (!*at || read_quantity(&at, times, true, &link->overhead)) && !*at)
        return CLI_OK;
    return log_fail(CLI_USAGE,
                    "--link '%s': the latency and the bandwidth between ranks, such as 2us,12GB/s or 50us,1Gbit/s,tcp; "
                    "and behind them what a message costs its sender, if that is not 0.5us",
                    text);
}

int plan_ranks_read(rank_table *t, cli_options *o) {
    const char *const others[] = {"leaves", "link", "shard-optimizer"};
    for (int i = 0; i < 3 && !o->of_plan.rank_count; i++)
        if (options_given(o, others[i]))
            return log_fail(CLI_USAGE, "--%s has no effect here: it is for --ranks N", others[i]);
    if (!o->of_plan.rank_count) return CLI_OK;
    if (!o->train) return log_fail(CLI_USAGE, "--ranks is of a step of training: it needs --train");
    if (o->max_batch) return log_fail(CLI_USAGE, "--ranks cuts --batch into leaves; it takes no --max-batch");
    if (!*o->of_plan.link) return log_fail(CLI_USAGE, "--ranks needs --link LATENCY,BANDWIDTH, such as 2us,12GB/s");
    int code = read_link(&t->link, o->of_plan.link);
    if (code != CLI_OK) return code;
    t->leaves = o->leaves;
    t->batch = o->batch;
    t->sharded = o->shard_optimizer;
    for (int64_t v = 1; !o->leaves && t->leaves < o->of_plan.rank_count; v *= 2) t->leaves = v;
    if (t->leaves & (t->leaves - 1)) return log_fail(CLI_USAGE, "--leaves %lld: a power of two", (long long)t->leaves);
    if (t->leaves < o->of_plan.rank_count)
        return log_fail(CLI_USAGE, "--leaves %lld are too few for %lld ranks: each needs one", (long long)t->leaves,
                        (long long)o->of_plan.rank_count);
    if (t->batch % t->leaves)
        return log_fail(CLI_USAGE, "--batch %lld is no multiple of %lld leaves", (long long)t->batch,
                        (long long)t->leaves);
    for (int r = 1; r < o->of_plan.rank_count; r *= 2) t->rows[t->n++].ranks = r;
    t->rows[t->n++].ranks = (int)o->of_plan.rank_count;
    o->batch /= t->leaves;
    return CLI_OK;
}

/* ---- the prediction ---------------------------------------------------------------------------------------------- */

static int64_t first_leaf(int64_t leaves, int rank, int ranks) { return leaves * rank / ranks; }

/* Complete subtrees that the leaves first to end - 1 are made of. */
static int subtrees(int64_t first, int64_t end) {
    int n = 0;
    while (first < end) {
        int64_t size = 1;
        while (first % (2 * size) == 0 && first + 2 * size <= end) size *= 2;
        first += size;
        n++;
    }
    return n;
}

static double moved(const roof *ceilings, double read, double written) {
    return roof_floor(ceilings, CEILING_F32, 0, 0, read, written).seconds;
}

/* What messages by TCP over an Ethernet get: of messages of at least so many bytes, the share of its bandwidth, and how
 * many times its latency. Found on a cluster with 1 Gbit/s (Bedaride et al., "Toward Better Simulation of MPI
 * Applications on Ethernet/TCP Networks", 2013: the defaults of SMPI's bw-factor and lat-factor in SimGrid 3.32). */
static const struct {
    double bytes, bandwidth, latency;
} by_tcp[] = {{65472, 0.940694, 11.6436}, {15424, 0.697866, 3.48845}, {9376, 0.58729, 2.59299},
              {5776, 1.08739, 2.18796},   {3484, 0.77493, 1.88101},   {1426, 0.608902, 1.61075},
              {732, 0.341987, 1.9503},    {257, 0.338112, 1.95341},   {0, 0.812084, 2.01467}};

/* The link for messages of so many bytes. */
static rank_link link_for(const rank_link *link, double bytes) {
    rank_link l = *link;
    size_t i = 0;
    if (!l.tcp) return l;
    while (bytes < by_tcp[i].bytes) i++;
    l.bandwidth *= by_tcp[i].bandwidth;
    l.latency *= by_tcp[i].latency;
    return l;
}

static void choose_bound(rank_row *r) {
    const struct {
        const char *name;
        double seconds;
    } parts[] = {{"leaves", r->compute}, {"uneven leaves", r->idle},  {"adding", r->adding},
                 {"update", r->update},  {"bandwidth", r->bandwidth}, {"latency", r->latency}};
    size_t best = 0;
    for (size_t i = 1; i < sizeof parts / sizeof *parts; i++)
        if (parts[i].seconds > parts[best].seconds) best = i;
    r->bound = parts[best].name;
}

/* The whole one of each rank; or a part, from weights, states and gradients to states and a vector of weights, of which
 * those of all ranks then become the weights. */
static double update_of(const rank_table *t, int ranks, const roof *ceilings) {
    const double n = 4 * (double)t->summed, states = t->weights + t->states;
    if (!t->sharded || ranks == 1) return moved(ceilings, n + states + t->shared, states + t->shared);
    return moved(ceilings, (n + states) / ranks + t->shared, states / ranks + t->shared) +
           moved(ceilings, t->weights, t->weights);
}

static void predict_row(const rank_table *t, rank_row *r, const roof *ceilings) {
    const double n = 4 * (double)t->summed, ranks = r->ranks, part = n / ranks;
    int all = 0, most = 0, least = INT32_MAX;
    for (int k = 0; k < r->ranks; k++) {
        const int64_t first = first_leaf(t->leaves, k, r->ranks), end = first_leaf(t->leaves, k + 1, r->ranks);
        const int own = subtrees(first, end);
        all += own;
        if (own > most) most = own;
        if (own < least) least = own;
        if (end - first > r->leaves) r->leaves = (int)(end - first);
    }
    const double sent = most * (ranks - 1) * part, received = (all - least) * part, k = r->leaves;
    r->compute = (double)t->leaves / ranks * t->leaf;
    r->idle = k * t->leaf - r->compute;
    r->update = update_of(t, r->ranks, ceilings);
    r->states = t->states / (t->sharded ? r->ranks : 1) + t->shared;
    r->adding =
        k * moved(ceilings, 2 * n, n) + (r->ranks > 1 ? moved(ceilings, all * part, part) : moved(ceilings, n, n));
    if (r->ranks > 1) {
        const rank_link link = link_for(&t->link, part);
        const int gathers = t->sharded ? 2 : 1; /* what all ranks look at, apart from weights */
        r->bandwidth = ((sent > received ? sent : received) + (ranks - 1) * part) / link.bandwidth;
        r->latency = (1 + gathers) * link.latency + (most + gathers) * (ranks - 1) * link.overhead;
    }
    r->step = r->compute + r->idle + r->adding + r->update + r->bandwidth + r->latency;
    choose_bound(r);
}

void plan_ranks_predict(rank_table *t, const planned *p, const roof *ceilings) {
    const wick_plan_info info = wick_plan_get_info(p->plan);
    t->summed = 0;
    t->states = t->shared = t->weights = 0;
    for (int i = 0; i < wick_model_count(p->c.model); i++) {
        const wick_named state = wick_model_at(p->c.model, i);
        const int64_t count = wick_tensor_count(state.tensor);
        const double bytes = (double)count * (double)wick_dtype_size(wick_tensor_dtype(state.tensor));
        const bool optim = state.role == WICK_ROLE_OPTIM;
        t->summed += optim ? 0 : count;
        *(optim && wick_tensor_rank(state.tensor) ? &t->states : optim ? &t->shared : &t->weights) += bytes;
    }
    const double update = update_of(t, 1, ceilings);
    t->leaf = info.predicted_seconds > update ? info.predicted_seconds - update : 0;
    for (int i = 0; i < t->n; i++) {
        rank_row *r = &t->rows[i];
        predict_row(t, r, ceilings);
        r->speedup = t->rows[0].step / r->step;
        r->efficiency = r->speedup / r->ranks;
    }
}

/* ---- what it came to --------------------------------------------------------------------------------------------- */

void plan_ranks_print(const rank_table *t) {
    printf("on ranks: a batch of %lld in %lld leaves, %.4g MB summed, %.4g us and %.4g GB/s between ranks%s, %.3g us a "
           "message\n",
           (long long)t->batch, (long long)t->leaves, 4e-6 * (double)t->summed, t->link.latency * 1e6,
           t->link.bandwidth * 1e-9, t->link.tcp ? " by TCP" : "", t->link.overhead * 1e6);
    printf("%8s %7s %10s %10s %10s %10s %10s %10s %12s %8s %10s  %s\n", "ranks", "leaves", "states MB", "leaves ms",
           "idle ms", "adding ms", "wire ms", "step ms", "samples/s", "speedup", "efficiency", "bound by");
    for (int i = 0; i < t->n; i++) {
        const rank_row *r = &t->rows[i];
        printf("%8d %7d %10.4g %10.4g %10.4g %10.4g %10.4g %10.4g %12.4g %8.2f %9.0f%%  %s\n", r->ranks, r->leaves,
               r->states * 1e-6, r->compute * 1e3, r->idle * 1e3, (r->adding + r->update) * 1e3,
               (r->bandwidth + r->latency) * 1e3, r->step * 1e3, (double)t->batch / r->step, r->speedup,
               100 * r->efficiency, r->bound);
    }
    printf("\n");
}

void plan_ranks_json(const rank_table *t, json *j) {
    json_integer(j, "leaves", t->leaves);
    json_integer(j, "batch", t->batch);
    json_integer(j, "summed_bytes", 4 * t->summed);
    json_real(j, "leaf_seconds", t->leaf, 6);
    json_real(j, "latency_seconds", t->link.latency, 6);
    json_real(j, "bandwidth", t->link.bandwidth, 6);
    json_real(j, "overhead_seconds", t->link.overhead, 6);
    json_bool(j, "tcp", t->link.tcp);
    json_open(j, "ranks", '[');
    for (int i = 0; i < t->n; i++) {
        const rank_row *r = &t->rows[i];
        json_open(j, NULL, '{');
        json_integer(j, "ranks", r->ranks);
        json_integer(j, "leaves_of_rank", r->leaves);
        json_real(j, "optimizer_bytes", r->states, 17);
        json_real(j, "leaves_seconds", r->compute, 6);
        json_real(j, "idle_seconds", r->idle, 6);
        json_real(j, "adding_seconds", r->adding, 6);
        json_real(j, "update_seconds", r->update, 6);
        json_real(j, "bandwidth_seconds", r->bandwidth, 6);
        json_real(j, "message_seconds", r->latency, 6);
        json_real(j, "step_seconds", r->step, 6);
        json_real(j, "samples_per_second", (double)t->batch / r->step, 6);
        json_real(j, "speedup", r->speedup, 6);
        json_real(j, "efficiency", r->efficiency, 6);
        json_text(j, "bound_by", r->bound);
        json_close(j, '}');
    }
    json_close(j, ']');
}
