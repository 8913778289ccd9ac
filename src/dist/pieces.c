/* pieces.c: sums of which a part travels while the rest is computed. The vector is cut into pieces, which become whole
 * one after another in the last leaf of a rank; a thread of the group, the courier, exchanges them in rounds. In one
 * the parts of a piece go to those who sum them, and the sums of the piece before come back:
 *
 *   last leaf    forward |  piece 0  |  piece 1  |  piece 2  |        finish        |
 *   courier                          | round 0: 0 out | 1: 1 out, 0 back | 2 ... | 3: 2 back |
 *
 * What is added, and in which order, is the same. The courier has the group while pieces are under way: sequence,
 * message, wire, and the sum's room for parts. The rank's own thread touches the pieces behind them alone. */
#include "dist/group.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

typedef struct courier {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t moved;
    int posted, done; /* of the sum under way: pieces, and rounds; the last piece is worth two */
    bool stop;
    wick_status status; /* of the first that failed; the group has its text */
} courier;

static wick_status go_round(wick_group *g, wick_pool *pool, int k) {
    const group_pieces *p = &g->pieces;
    const wick_range nothing = {0};
    return wick_group_sum_round(g, pool, k ? p->list[k - 1] : nothing, k < p->n ? p->list[k] : nothing,
                                g->sum.vectors[0]);
}

/* ---- the thread -------------------------------------------------------------------------------------------------- */

static void *carry(void *arg) {
    wick_group *g = arg;
    courier *c = g->pieces.courier;
    pthread_mutex_lock(&c->lock);
    while (!c->stop) {
        if (c->done == c->posted) {
            pthread_cond_wait(&c->moved, &c->lock);
            continue;
        }
        const int k = c->done;
        const bool fine = c->status == WICK_OK;
        pthread_mutex_unlock(&c->lock);
        const wick_status status = fine ? go_round(g, NULL, k) : WICK_OK;
        pthread_mutex_lock(&c->lock);
        if (status != WICK_OK) c->status = status;
        c->done++;
        pthread_cond_broadcast(&c->moved);
    }
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

/* Signals are the host's threads'. */
static bool start(wick_group *g, courier *c) {
    sigset_t all, before;
    sigfillset(&all);
    if (pthread_sigmask(SIG_SETMASK, &all, &before) != 0) return false;
    const bool started = pthread_create(&c->thread, NULL, carry, g) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started;
}

/* NULL: pieces travel when the sum is finished. */
static courier *courier_of(wick_group *g) {
    const wick_transport *t = g->wire.transport;
    if (g->pieces.courier || (t->any_thread && !t->any_thread(g->wire.self))) return g->pieces.courier;
    courier *c = wick_calloc(&g->ctx->alloc, sizeof *c);
    if (!c) return NULL;
    if (pthread_mutex_init(&c->lock, NULL) != 0) {
        wick_release(&g->ctx->alloc, c, sizeof *c);
        return NULL;
    }
    if (pthread_cond_init(&c->moved, NULL) == 0) {
        g->pieces.courier = c;
        if (start(g, c)) return c;
        g->pieces.courier = NULL;
        pthread_cond_destroy(&c->moved);
    }
    pthread_mutex_destroy(&c->lock);
    wick_release(&g->ctx->alloc, c, sizeof *c);
    return NULL;
}

static void dismiss(wick_group *g) {
    courier *c = g->pieces.courier;
    if (!c) return;
    pthread_mutex_lock(&c->lock);
    c->stop = true;
    pthread_cond_broadcast(&c->moved);
    pthread_mutex_unlock(&c->lock);
    pthread_join(c->thread, NULL);
    pthread_cond_destroy(&c->moved);
    pthread_mutex_destroy(&c->lock);
    wick_release(&g->ctx->alloc, c, sizeof *c);
    g->pieces.courier = NULL;
}

/* ---- what sum.c asks --------------------------------------------------------------------------------------------- */

void wick_group_send_piece(wick_group *g, int k) {
    courier *c = courier_of(g);
    if (!c) return;
    pthread_mutex_lock(&c->lock);
    c->posted = k + 1 + (k + 1 == g->pieces.n);
    pthread_cond_broadcast(&c->moved);
    pthread_mutex_unlock(&c->lock);
}

bool wick_group_pieces_travel(const wick_group *g) {
    courier *c = g->pieces.courier;
    if (!c) return false;
    pthread_mutex_lock(&c->lock);
    const bool travel = c->done < c->posted;
    pthread_mutex_unlock(&c->lock);
    return travel;
}

void wick_group_await_pieces(wick_group *g) {
    courier *c = g->pieces.courier;
    if (!c) return;
    pthread_mutex_lock(&c->lock);
    while (c->done < c->posted) pthread_cond_wait(&c->moved, &c->lock);
    pthread_mutex_unlock(&c->lock);
}

void wick_group_forget_pieces(wick_group *g) {
    courier *c = g->pieces.courier;
    if (!c) return;
    wick_group_await_pieces(g);
    pthread_mutex_lock(&c->lock);
    c->posted = c->done = 0, c->status = WICK_OK;
    pthread_mutex_unlock(&c->lock);
}

wick_status wick_group_finish_pieces(wick_group *g) {
    wick_group_await_pieces(g);
    courier *c = g->pieces.courier;
    wick_status status = WICK_OK;
    int sent = 0;
    if (c) { /* which rests now */
        pthread_mutex_lock(&c->lock);
        sent = c->done, status = c->status;
        pthread_mutex_unlock(&c->lock);
    }
    wick_group_forget_pieces(g);
    for (int k = sent; k <= g->pieces.n && status == WICK_OK; k++) status = go_round(g, g->ctx->pool, k);
    return status;
}

void wick_group_pieces_free(wick_group *g) {
    group_pieces *p = &g->pieces;
    wick_group_await_pieces(g);
    dismiss(g);
    wick_release(&g->ctx->alloc, p->list, (size_t)p->n * sizeof *p->list);
    *p = (group_pieces){0};
}

/* ---- the cut ----------------------------------------------------------------------------------------------------- */

static int by_begin(const void *a, const void *b) {
    const wick_range *x = a, *y = b;
    return x->begin < y->begin ? -1 : x->begin > y->begin;
}

/* That pieces, in any order, make up a vector of *count floats. `sorted` has room for them. */
static wick_status check_pieces(wick_group *g, int n, const wick_range *pieces, wick_range *sorted, size_t *count) {
    memcpy(sorted, pieces, (size_t)n * sizeof *sorted);
    qsort(sorted, (size_t)n, sizeof *sorted, by_begin);
    *count = 0;
    for (int k = 0; k < n; k++) {
        if (sorted[k].begin != *count || sorted[k].end <= sorted[k].begin)
            return wick_group_fail(g, WICK_ERR_INVALID,
                                   "group_set_pieces: a piece is %zu to %zu, where %zu floats are in the pieces before",
                                   sorted[k].begin, sorted[k].end, *count);
        *count = sorted[k].end;
    }
    return WICK_OK;
}

wick_status wick_group_set_pieces(wick_group *g, int n, const wick_range *pieces) {
    WICK_TRY(wick_group_usable(g));
    if (n < 0 || n > WICK_PIECES_MAX || (n && !pieces))
        return wick_group_fail(g, WICK_ERR_INVALID, "group_set_pieces: %d pieces at %p: 0 to %d", n,
                               (const void *)pieces, WICK_PIECES_MAX);
    const size_t bytes = (size_t)n * sizeof *pieces;
    wick_range *list = n ? wick_alloc(&g->ctx->alloc, bytes) : NULL;
    size_t count = 0;
    if (n && !list) return wick_group_fail(g, WICK_ERR_NOMEM, "group_set_pieces: out of memory");
    wick_status status = n ? check_pieces(g, n, pieces, list, &count) : WICK_OK;
    if (status == WICK_OK) status = wick_group_agree(g, "pieces of sums", n ? (const void *)pieces : "", bytes);
    if (status != WICK_OK) {
        wick_release(&g->ctx->alloc, list, bytes);
        return status;
    }
    if (n) memcpy(list, pieces, bytes);
    wick_group_pieces_free(g);
    wick_group_sum_free(g); /* one that was begun goes by other pieces */
    g->pieces = (group_pieces){.n = n, .list = list, .count = count};
    return WICK_OK;
}
