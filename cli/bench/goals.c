/* goals.c: what kernels are to reach, by kind of work, and how far the measured rows are. */
#include "tables.h"

#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct goal {
    const char *work;
    /* patterns of rows, with their sizes: "images/max_pool 64K"; "!" before one leaves its rows out */
    const char *rows;
    const char *peer;          /* whose time by Wick's is meant; NULL: the fastest one's of each row */
    /* geometric mean of these times, the least of them, geometric mean of the shares of the ceilings; 0: no goal */
    double mean, worst, share;
    bool needs_amx;            /* a goal of machines that have it; others show what there is */
} goal;

/* clang-format off */
#define NETS  "gemm/f32_64x10x128,gemm/f32_64x128x784,gemm/f32_256x512x512"
#define LARGE "gemm/f32_512x512x512,gemm/f32_1024x1024x1024,gemm/f32_2048x2048x2048"
#define TWO(name) name " 64K," name " 16M"
static const goal goals[] = {
    {"GEMM f32, 64 to 2048, and of small networks", "gemm/f32_64x64x64,gemm/f32_128x128x128,gemm/f32_256x256x256," LARGE "," NETS, NULL, 1.0, 0.9, 0, false},
    {"GEMM f32, from 256 up", "gemm/f32_256x256x256,gemm/f32_256x512x512," LARGE, NULL, 0, 0, 0.85, false},
    {"GEMM f32, from 512 up, split into bf16", LARGE, NULL, 1.6, 0, 0, true},
    {"one row times a matrix, 512 and 4096", "gemm/f32_*1x512x512,gemm/f32_*1x4096x4096", NULL, 0, 0, 0.85, false},
    {"GEMM bf16", "gemm/bf16_*", "oneDNN", 1.0, 0, 0, false},
    {"GEMM bf16 at 1024", "gemm/bf16_1024x1024x1024", NULL, 0, 0, 0.6, true},
    {"GEMM int8", "gemm/u8_i8_*,gemm/i8_i8_*", "oneDNN", 1.0, 0, 0, false},
    {"convolutions of ResNet-18, N = 1", "conv/*_n1,!conv/*_backward_*,!conv/depthwise_*", "oneDNN", 1.0, 0, 0, false},
    {"the same, N = 16", "conv/*_n16,!conv/*_backward_*,!conv/depthwise_*", "oneDNN", 1.0, 0, 0, false},
    {"backward, N = 1", "conv/*_backward_n1,!conv/depthwise_*", "oneDNN", 1.0, 0, 0, false},
    {"backward, N = 16", "conv/*_backward_n16,!conv/depthwise_*", "oneDNN", 1.0, 0, 0, false},
    {"depthwise 3x3", "conv/depthwise_*,!*_backward_*", "oneDNN", 1.0, 0, 0, false},
    {"depthwise 3x3, backward", "conv/depthwise_*_backward_*", "oneDNN", 1.0, 0, 0, false},
    {"depthwise 3x3, forward and backward", "conv/depthwise_*", "PyTorch", 3.0, 0, 0, false},
    {"max-pool, tanh, gelu, batch-norm in training, softmax, layer-norm, sum, transpose",
     TWO("images/max_pool") "," TWO("elementwise/tanh") "," TWO("elementwise/gelu") "," TWO("norms/batch_norm_training") "," TWO("norms/softmax") "," TWO("norms/layer_norm") ","
     TWO("reduce/sum") "," TWO("moving/transpose"), "PyTorch", 2.0, 0.95, 0, false},
    {"one pass over 1M: relu(a*b+c), gelu, Adam", "fused/relu_mul_add_1M,fused/gelu_1M,update/adam", NULL, 0, 0, 0.85, false},
    {"attention, 8 heads of 64, length 1024, forward and backward", "attention/1x8x1024x64*", "PyTorch", 1.2, 0, 0.8, false},
    {"training of small networks", "train/mlp_*,train/cnn_*,train/resnet8_*,train/lstm_*", "PyTorch", 2.0, 0, 0.6, false},
};
/* clang-format on */
enum { N_GOALS = sizeof goals / sizeof goals[0] };

static bool of_goal(const goal *g, const char *key) {
    bool in = false;
    for (const char *s = g->rows; *s; s += strcspn(s, ","), s += *s == ',') {
        char pattern[96];
        const bool out = *s == '!';
        snprintf(pattern, sizeof pattern, "%.*s", (int)strcspn(s, ",") - out, s + out);
        if (fnmatch(pattern, key, 0) == 0) in = !out;
    }
    return in;
}
bool goals_want(const char *key) {
    bool want = false;
    for (int i = 0; i < N_GOALS; i++) want |= of_goal(&goals[i], key);
    return want;
}

typedef struct reached {
    const goal *goal;
    int threads, rows, raced; /* rows that ran, and those with the peer */
    double mean, low, high, worst, share, worst_share;
    const char *worst_key, *worst_share_key;
} reached;

static const peer_times *rival(const goal *g, const bench_result *r) {
    const peer_times *best = NULL;
    for (int p = 0; p < r->n_peers; p++) {
        const peer_times *peer = &r->peers[p];
        if (!peer->times.seconds.n || (g->peer && strcmp(g->peer, peer->name) != 0)) continue;
        if (!best || peer->ratio < best->ratio) best = peer;
    }
    return best;
}

/* False: none of its rows ran. */
static bool reach(const goal *g, const bench_results *all, int threads, reached *found) {
    const samples **theirs = calloc((size_t)all->n + 1, sizeof(samples *)),
                  **ours = calloc((size_t)all->n + 1, sizeof(samples *));
    double logs = 0;
    int shares = 0;
    *found = (reached){.goal = g, .threads = threads, .mean = NAN, .share = NAN};
    for (int i = 0; theirs && ours && i < all->n; i++) {
        const bench_result *r = &all->at[i];
        if (r->threads != threads || *r->why || !r->times.seconds.n || !of_goal(g, r->key)) continue;
        const double share = result_share(r);
        const peer_times *peer = rival(g, r);
        found->rows++;
        if (share == share) {
            logs += log(share);
            if (!shares++ || share < found->worst_share) found->worst_share = share, found->worst_share_key = r->key;
        }
        if (!peer) continue;
        if (!found->raced || peer->ratio < found->worst) found->worst = peer->ratio, found->worst_key = r->key;
        theirs[found->raced] = &peer->times.seconds;
        ours[found->raced++] = &r->times.seconds;
    }
    if (shares) found->share = exp(logs / shares);
    if (found->raced) found->mean = stats_mean_ratio(found->raced, theirs, ours, &found->low, &found->high);
    free(theirs);
    free(ours);
    return found->rows > 0;
}

static bool has_amx(void) {
    bool has = false;
    for (int i = 0; i < wick_isa_count(); i++) has |= wick_isa_at(i).chosen && strcmp(wick_isa_at(i).name, "amx") == 0;
    return has;
}
/* "yes", "no", "" where there is no telling. */
static const char *verdict(const reached *r) {
    const goal *g = r->goal;
    if (g->needs_amx && !has_amx()) return "needs AMX";
    if ((g->mean > 0 || g->worst > 0) && !r->raced) return "";
    if (g->share > 0 && r->share != r->share) return "";
    const bool yes = !(g->mean > 0 && r->mean < g->mean) && !(g->worst > 0 && r->worst < g->worst) &&
                     !(g->share > 0 && r->share < g->share);
    return yes ? "yes" : "no";
}

void goals_fill(bench_table *out, const bench_results *all) {
    static const char *const heads[] = {"work",      "threads",        "rows", "times as fast as",
                                        "worst row", "of the ceiling", "goal", "reached"};
    out->note = "Geometric means over a group's rows, and the 95 % interval of the mean by bootstrap over all samples. "
                "The best: the fastest peer of each row. In parentheses the row that is furthest behind.";
    out->columns = (int)(sizeof heads / sizeof *heads);
    memcpy(out->heads, heads, sizeof heads);
    for (int k = 0; k < all->n_roofs; k++)
        for (int i = 0; i < N_GOALS && out->n < TABLE_ROWS; i++) {
            reached r;
            if (!reach(&goals[i], all, all->roofs[k].threads, &r)) continue;
            const goal *g = &goals[i];
            char(*cells)[96] = out->cells[out->n++];
            snprintf(cells[0], sizeof *cells, "%s", g->work);
            snprintf(cells[1], sizeof *cells, "%d", r.threads);
            snprintf(cells[2], sizeof *cells, "%d", r.rows);
            if (r.raced) {
                snprintf(cells[3], sizeof *cells, "%s: %.2f (%.2f .. %.2f)", g->peer ? g->peer : "the best", r.mean,
                         r.low, r.high);
                snprintf(cells[4], sizeof *cells, "%.2f (%s)", r.worst, r.worst_key);
            }
            if (r.share == r.share)
                snprintf(cells[5], sizeof *cells, "%.0f %% (%.0f %%: %s)", 100 * r.share, 100 * r.worst_share,
                         r.worst_share_key);
            int n = 0;
            if (g->mean > 0) n += snprintf(cells[6] + n, sizeof *cells - (size_t)n, "%.1f times", g->mean);
            if (g->worst > 0) n += snprintf(cells[6] + n, sizeof *cells - (size_t)n, ", none below %.3g", g->worst);
            if (g->share > 0)
                snprintf(cells[6] + n, sizeof *cells - (size_t)n, "%s%.0f %%", n ? ", " : "", 100 * g->share);
            snprintf(cells[7], sizeof *cells, "%s", verdict(&r));
        }
}

void goals_write_json(json *j, const bench_results *all) {
    for (int k = 0; k < all->n_roofs; k++)
        for (int i = 0; i < N_GOALS; i++) {
            reached r;
            if (!reach(&goals[i], all, all->roofs[k].threads, &r)) continue;
            json_open(j, NULL, '{');
            json_text(j, "work", goals[i].work);
            json_integer(j, "threads", r.threads);
            json_integer(j, "rows", r.rows);
            json_text(j, "peer", goals[i].peer ? goals[i].peer : "best");
            if (r.raced) {
                json_real(j, "ratio", r.mean, 4);
                json_real(j, "ratio_low", r.low, 4);
                json_real(j, "ratio_high", r.high, 4);
                json_real(j, "worst", r.worst, 4);
                json_text(j, "worst_row", r.worst_key);
            }
            if (r.share == r.share) {
                json_real(j, "share", r.share, 4);
                json_real(j, "worst_share", r.worst_share, 4);
                json_text(j, "worst_share_row", r.worst_share_key);
            }
            if (goals[i].mean > 0) json_real(j, "goal_ratio", goals[i].mean, 4);
            if (goals[i].worst > 0) json_real(j, "goal_worst", goals[i].worst, 4);
            if (goals[i].share > 0) json_real(j, "goal_share", goals[i].share, 4);
            json_text(j, "reached", verdict(&r));
            json_close(j, '}');
        }
}
