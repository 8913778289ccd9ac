#include "leaf_shares.h"

#include "trainer.h"

#include "wick/profile.h"

#include <stdlib.h>
#include <string.h>

enum { RANKS_SHOWN = 64 /* one by one: a line of the log has at most 4 KB */ };

/* ---- the shares -------------------------------------------------------------------------------------------------- */

static wick_status read_shares(leaf_cut *v) {
    leaf_shares *b = &v->shares;
    const int rank = wick_group_rank(v->group);
    const wick_status status = wick_group_shares(v->group, (int)v->n, b->first);
    v->first = b->first[rank];
    v->end = b->first[rank + 1];
    return status;
}

wick_status leaf_shares_new(trainer *t, int kind) {
    leaf_cut *v = &t->leaves;
    const int ranks = wick_group_size(v->group);
    if (ranks == 1) return WICK_OK;
    v->shares = (leaf_shares){.kind = kind, .ranks = ranks};
    v->shares.first = malloc(((size_t)ranks + 1) * sizeof *v->shares.first);
    return v->shares.first ? read_shares(v) : WICK_ERR_NOMEM;
}

void leaf_shares_free(leaf_shares *b) {
    free(b->first);
    *b = (leaf_shares){0};
}

/* Any shares, each of them at least one leaf: a function of the step, so that ranks need not talk. */
static void draw_shares(const leaf_cut *v, int64_t number, int *first) {
    const int ranks = v->shares.ranks;
    uint64_t x = (uint64_t)number * 0x9E3779B97F4A7C15u + 1;
    for (int r = 1; r < ranks; r++) {
        const int low = first[r - 1] + 1, high = (int)v->n - (ranks - r);
        x = x * 6364136223846793005u + 1442695040888963407u;
        first[r] = low + (int)((x >> 33) % (uint64_t)(high - low + 1));
    }
}

static wick_status follow(trainer *t, int64_t number, int64_t n) {
    leaf_cut *v = &t->leaves;
    leaf_shares *b = &v->shares;
    if (b->kind == SHARES_SHUFFLED) {
        draw_shares(v, number, b->first);
        b->moved = true;
        return wick_group_set_shares(v->group, (int)v->n, b->first);
    }
    if (n < t->batch) return WICK_OK; /* leaves differ in size */
    const wick_status status =
        wick_group_balance(v->group, (int)v->n, (t->mixed ? 0 : b->load) + b->seconds, NULL, &b->now);
    b->moved = status == WICK_OK && b->now.moved;
    return status;
}

wick_status leaf_shares_step(trainer *t, int64_t number, int64_t n) {
    leaf_cut *v = &t->leaves;
    leaf_shares *b = &v->shares;
    b->moved = false;
    if (!b->ranks || b->kind == SHARES_EVEN) return WICK_OK;
    wick_status status = follow(t, number, n);
    if (status == WICK_OK && !b->moved) return WICK_OK;
    wick_profile_begin(t->c->ctx, "leaves move");
    if (status == WICK_OK) status = read_shares(v);
    b->moves++;
    const char *error = status == WICK_OK ? "" : wick_group_error(v->group);
    if (status == WICK_OK && !t->mixed) {
        status = wick_loader_set_part(t->loader, v->first * v->size, v->end * v->size);
        error = status == WICK_OK ? "" : wick_context_error(t->c->ctx);
    }
    wick_profile_end(t->c->ctx);
    if (status != WICK_OK) snprintf(v->error, sizeof v->error, "%s", error);
    return status;
}

/* ---- what is said of them ---------------------------------------------------------------------------------------- */

static void extremes(const leaf_shares *b, int *least, int *most) {
    *least = *most = b->first[1];
    for (int r = 1; r < b->ranks; r++) {
        const int n = b->first[r + 1] - b->first[r];
        *least = n < *least ? n : *least;
        *most = n > *most ? n : *most;
    }
}

void leaf_shares_text(const leaf_shares *b, char *text, size_t size) {
    int least, most;
    size_t used = 0;
    extremes(b, &least, &most);
    for (int r = 0; r < b->ranks && b->ranks <= RANKS_SHOWN && used < size; r++)
        used += (size_t)snprintf(text + used, size - used, "%s%d", r ? " " : "", b->first[r + 1] - b->first[r]);
    if (!used || used >= size) snprintf(text, size, "%d to %d", least, most);
}

void leaf_shares_json(const leaf_shares *b, json *j) {
    if (b->ranks > RANKS_SHOWN) {
        int least, most;
        extremes(b, &least, &most);
        json_integer(j, "least_share", least);
        json_integer(j, "most_share", most);
        json_integer(j, "slowest_rank", b->now.slowest);
        return;
    }
    json_open(j, "shares", '[');
    for (int r = 0; r < b->ranks; r++) json_integer(j, NULL, b->first[r + 1] - b->first[r]);
    json_close(j, ']');
    if (!b->now.seconds) return;
    json_open(j, "leaf_seconds", '[');
    for (int r = 0; r < b->ranks; r++) json_real(j, NULL, b->now.seconds[r], 4);
    json_close(j, ']');
}
