/* ctc_decode.c: the label sequence that log-probabilities of a CTC model say, on the host: best path, and prefix beam
 * search. */
#include <math.h>
#include <stdlib.h>

#include "nn/nn.h"
#include "wick/sequence.h"

int64_t wick_ctc_greedy(int64_t steps, int64_t classes, const float *log_probs, int64_t blank, int64_t *labels) {
    int64_t n = 0, was = -1;
    for (int64_t t = 0; t < steps; t++, log_probs += classes) {
        int64_t best = 0;
        for (int64_t k = 1; k < classes; k++)
            if (log_probs[k] > log_probs[best]) best = k;
        if (best != was && best != blank) labels[n++] = best;
        was = best;
    }
    return n;
}

/* ---- prefix beam search ---------------------------------------------------------------------------------------------
 *
 * Prefixes are nodes of a tree, each there once. A beam is a node with the log-probabilities of all alignments so far
 * that give its prefix and end in a blank, or do not. */
typedef struct prefix {
    int32_t parent, label, child, sibling;
} prefix;
typedef struct beam {
    int32_t node;          /* -1: not made yet */
    int32_t parent, label; /* of the node to be made */
    double blank, other, score;
} beam;

static double log_add(double a, double b) {
    const double most = a > b ? a : b, least = a > b ? b : a;
    return least == -INFINITY ? most : most + log1p(exp(least - most));
}
static int by_score(const void *a, const void *b) {
    const beam *x = a, *y = b;
    if (x->score != y->score) return x->score < y->score ? 1 : -1;
    if (x->parent != y->parent) return x->parent < y->parent ? -1 : 1; /* ties: the same order everywhere */
    return x->label < y->label ? -1 : x->label > y->label;
}
static int32_t child_of(const prefix *tree, int32_t node, int32_t label) {
    int32_t at = tree[node].child;
    while (at >= 0 && tree[at].label != label) at = tree[at].sibling;
    return at;
}

wick_status wick_ctc_beam(wick_context *ctx, int64_t steps, int64_t classes, const float *log_probs, int64_t blank,
                          int64_t width, int64_t *labels, int64_t *count, double *score) {
    if (!log_probs) return wick_context_fail(ctx, WICK_ERR_INVALID, "ctc_beam: log_probs is NULL");
    if (!count) return wick_context_fail(ctx, WICK_ERR_INVALID, "ctc_beam: count is NULL");
    const int64_t w = width ? width : 16;
    if (steps < 0 || classes < 1 || blank < 0 || blank >= classes || w < 1 || w > 4096 || classes > INT32_MAX / 2 / w ||
        steps > INT32_MAX / 2 / w)
        return wick_context_fail(ctx, WICK_ERR_INVALID,
                                 "ctc_beam: %lld steps, %lld classes, blank %lld, width %lld (up to 4096)",
                                 (long long)steps, (long long)classes, (long long)blank, (long long)width);
    const size_t nodes = (size_t)(1 + steps * w), room = (size_t)(w * (classes + 1));
    const size_t bytes = nodes * sizeof(prefix) + (room + (size_t)w) * sizeof(beam) + nodes * sizeof(int32_t);
    beam *beams = wick_alloc(&ctx->alloc, bytes), *next = beams + w;
    if (!beams) return wick_context_fail(ctx, WICK_ERR_NOMEM, "out of memory decoding");
    prefix *tree = (prefix *)(next + room);
    int32_t *place = (int32_t *)(tree + nodes); /* of a node among the next beams, or -1 */
    int32_t n_tree = 1;
    int64_t n = 1;
    tree[0] = (prefix){-1, -1, -1, -1};
    place[0] = -1;
    beams[0] = (beam){.node = 0, .parent = -1, .label = -1, .blank = 0, .other = -INFINITY};
    for (int64_t t = 0; t < steps; t++, log_probs += classes) {
        int64_t m = 0;
        for (int64_t i = 0; i < n; i++) { /* prefixes that stay as they are */
            const beam *b = &beams[i];
            const double all = log_add(b->blank, b->other);
            place[b->node] = (int32_t)m;
            next[m++] = (beam){.node = b->node,
                               .parent = b->parent,
                               .label = b->label,
                               .blank = all + (double)log_probs[blank],
                               .other = b->label < 0 ? -INFINITY : b->other + (double)log_probs[b->label]};
        }
        for (int64_t i = 0; i < n; i++) /* prefixes with one label more */
            for (int64_t k = 0; k < classes; k++) {
                if (k == blank) continue;
                const beam *b = &beams[i];
                const double p = (double)log_probs[k] + (k == b->label ? b->blank : log_add(b->blank, b->other));
                if (p == -INFINITY) continue;
                const int32_t node = child_of(tree, b->node, (int32_t)k);
                if (node >= 0 && place[node] >= 0)
                    next[place[node]].other = log_add(next[place[node]].other, p);
                else
                    next[m++] =
                        (beam){.node = node, .parent = b->node, .label = (int32_t)k, .blank = -INFINITY, .other = p};
            }
        for (int64_t i = 0; i < n; i++) place[beams[i].node] = -1;
        for (int64_t i = 0; i < m; i++) next[i].score = log_add(next[i].blank, next[i].other);
        qsort(next, (size_t)m, sizeof *next, by_score);
        n = m < w ? m : w;
        memcpy(beams, next, (size_t)n * sizeof *beams);
        for (int64_t i = 0; i < n; i++) {
            beam *b = &beams[i];
            if (b->node >= 0) continue;
            tree[n_tree] = (prefix){b->parent, b->label, -1, tree[b->parent].child};
            place[n_tree] = -1;
            tree[b->parent].child = b->node = n_tree++;
        }
    }
    int64_t length = 0;
    for (int32_t at = beams[0].node; tree[at].parent >= 0; at = tree[at].parent) length++;
    *count = length;
    for (int32_t at = beams[0].node; tree[at].parent >= 0; at = tree[at].parent) labels[--length] = tree[at].label;
    if (score) *score = log_add(beams[0].blank, beams[0].other);
    wick_release(&ctx->alloc, beams, bytes);
    return WICK_OK;
}
