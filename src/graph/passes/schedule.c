/* schedule.c: which nodes commit state, and the order of the rest. Three orders are tried, and the one with the lowest
 * peak of memory stays:
 *   the given one;
 *   a greedy one, which always runs the ready node that adds least to the memory in use;
 *   the given one, but a node that frees more than it adds runs as soon as it can: the gradient of a weight, which is
 *   the last reader of an activation, before the gradient of that activation. */
#include "graph/passes/rewrite.h"

/* A node is of the commit phase if it cannot fail, and all its results only become state or feed such nodes. Nothing
 * that can fail runs after it, so a failed run has changed no state. */
static void find_commits(wick_graph *g) {
    uint32_t walk = ++g->ctx->walk; /* value mark: read by someone who is not in the commit phase, or returned */
    for (size_t i = 0; i < g->n; i++) g->nodes[i]->phase = 0;
    for (int i = 0; i < g->n_outputs; i++) {
        if (!g->output_leaf || g->output_leaf[i] < 0)
            g->outputs[i]->mark = walk;
        else
            g->outputs[i]->node->phase = 1; /* a candidate */
    }
    for (size_t i = g->n; i-- > 0;) {
        wick_node *n = g->nodes[i];
        bool commits = n->phase && n->op->flags & WICK_OP_ELEMENTWISE;
        if (n->phase && n->op == &wick_op_fused)
            commits = !(n->regions[0]->nodes[n->regions[0]->n - 1]->op->flags & WICK_OP_REDUCE);
        for (int k = 0; k < n->n_out; k++) commits &= n->out[k].mark != walk;
        n->phase = commits;
        if (!commits)
            for (int k = 0; k < n->n_in; k++) n->in[k]->mark = walk;
    }
}

/* Memory in use over time, when nodes run in this order. Views share their input's memory; leaves and outputs are not
 * the arena's. */
typedef struct liveness {
    wick_graph *graph;
    uint32_t *root; /* value id -> value whose memory it shows */
    int64_t *bytes; /* root -> bytes, 0 when not ours */
    uint32_t *left; /* root -> readers that have not run */
} liveness;

static void liveness_fill(liveness *l) {
    wick_graph *g = l->graph;
    uint32_t returned = ++g->ctx->walk;
    for (int i = 0; i < g->n_outputs; i++) g->outputs[i]->mark = returned;
    for (size_t i = 0; i < g->n; i++) {
        const wick_node *n = g->nodes[i];
        for (int k = 0; k < n->n_out; k++) {
            uint32_t id = n->out[k].id;
            bool view = n->op->flags & WICK_OP_VIEW;
            l->root[id] = view ? l->root[n->in[0]->id] : id;
            bool ours = !view && !(n->op->flags & WICK_OP_LEAF) && n->out[k].mark != returned;
            l->bytes[id] = ours ? (int64_t)wick_type_bytes(&n->out[k].type) : 0;
        }
    }
}
static void liveness_count(liveness *l) {
    wick_graph *g = l->graph;
    for (size_t i = 0; i < g->n; i++)
        for (int k = 0; k < g->nodes[i]->n_out; k++) l->left[g->nodes[i]->out[k].id] = 0;
    for (size_t i = 0; i < g->n; i++)
        for (int k = 0; k < g->nodes[i]->n_in; k++) l->left[l->root[g->nodes[i]->in[k]->id]]++;
}
/* What running n adds to the memory in use; with commit, counts its readings as done. The most in use while it runs is
 * what it adds before anything is freed. */
static int64_t run_node(liveness *l, const wick_node *n, int64_t *adds) {
    *adds = 0;
    for (int k = 0; k < n->n_out; k++) *adds += l->bytes[n->out[k].id];
    int64_t change = *adds;
    for (int k = 0; k < n->n_in; k++) {
        uint32_t root = l->root[n->in[k]->id];
        if (--l->left[root] == 0) change -= l->bytes[root];
    }
    for (int k = 0; k < n->n_out; k++)
        if (l->left[l->root[n->out[k].id]] == 0 && l->root[n->out[k].id] == n->out[k].id)
            change -= l->bytes[n->out[k].id];
    return change;
}
static int64_t peak_of(liveness *l, wick_node *const *order, size_t n) {
    liveness_count(l);
    int64_t now = 0, peak = 0;
    for (size_t i = 0; i < n; i++) {
        int64_t adds, change = run_node(l, order[i], &adds);
        peak = WICK_MAX(peak, now + adds);
        now += change;
    }
    return peak;
}

#define WINDOW 32 /* ready nodes compared at each step: bounds the work on wide graphs */

/* Who waits for whom. Positions are those in the graph. */
typedef struct queue {
    liveness l;
    uint32_t *waits;        /* inputs that have not run */
    uint32_t *at, *readers; /* of a node: compressed rows */
    uint32_t *ready;
} queue;

static void find_readers(queue *q) {
    wick_graph *g = q->l.graph;
    for (size_t i = 0; i < g->n; i++)
        for (int j = 0; j < g->nodes[i]->n_in; j++) q->at[g->nodes[i]->in[j]->node->position + 1]++;
    for (size_t i = 0; i < g->n; i++) q->at[i + 1] += q->at[i];
    for (size_t i = g->n; i-- > 0;) /* waits counts what is filled */
        for (int j = 0; j < g->nodes[i]->n_in; j++) {
            uint32_t p = g->nodes[i]->in[j]->node->position;
            q->readers[q->at[p] + q->waits[p]++] = (uint32_t)i;
        }
}

/* Leaves and views first, then always the ready node that adds least to the memory in use, those that add something all
 * alike if `patient`; ties go to the given order. Commits are last, in the given order. False: the time is over. */
static bool order_greedily(queue *q, bool patient, wick_node **order) {
    wick_graph *g = q->l.graph;
    size_t n_ready = 0, done = 0;
    bool late = false;
    for (size_t i = 0; i < g->n; i++) {
        q->waits[i] = g->nodes[i]->n_in;
        if (!q->waits[i] && !g->nodes[i]->phase) q->ready[n_ready++] = (uint32_t)i;
    }
    liveness_count(&q->l);
    while (n_ready && !late) {
        size_t best = 0;
        int64_t best_cost = INT64_MAX;
        for (size_t r = n_ready > WINDOW ? n_ready - WINDOW : 0; r < n_ready; r++) {
            const wick_node *node = g->nodes[q->ready[r]];
            int64_t cost = 0;
            late |= !wick_watch_spend(&g->ctx->watch, node->n_in); /* nodes that read much may wait long */
            for (int j = 0; j < node->n_out; j++) cost += q->l.bytes[node->out[j].id];
            for (int j = 0; j < node->n_in; j++)
                if (q->l.left[q->l.root[node->in[j]->id]] == 1) cost -= q->l.bytes[q->l.root[node->in[j]->id]];
            if (patient) cost = WICK_MIN(cost, 0);
            if (node->op->flags & (WICK_OP_LEAF | WICK_OP_VIEW)) cost = INT64_MIN; /* no work, no memory */
            if (cost < best_cost || (cost == best_cost && q->ready[r] < q->ready[best])) best = r, best_cost = cost;
        }
        const uint32_t i = q->ready[best];
        q->ready[best] = q->ready[--n_ready];
        int64_t adds;
        run_node(&q->l, g->nodes[i], &adds);
        order[done++] = g->nodes[i];
        for (uint32_t r = q->at[i]; r < q->at[i + 1]; r++)
            if (--q->waits[q->readers[r]] == 0 && !g->nodes[q->readers[r]]->phase) q->ready[n_ready++] = q->readers[r];
    }
    for (size_t i = 0; i < g->n && !late; i++)
        if (g->nodes[i]->phase) order[done++] = g->nodes[i];
    return !late;
}

wick_status wick_pass_schedule(wick_graph *g, wick_msg *msg) {
    if (!g->n) return WICK_OK;
    find_commits(g);
    uint32_t values = wick_graph_number(g);
    const size_t n = g->n;
    size_t words = 3 * values + 4 * n + 1, bytes = words * sizeof(uint64_t) + 3 * n * sizeof(wick_node *);
    for (size_t i = 0; i < n; i++) bytes += g->nodes[i]->n_in * sizeof(uint32_t);
    char *memory = wick_calloc(&g->ctx->alloc, bytes);
    if (!memory) return wick_msg_set(msg, WICK_ERR_NOMEM, "out of memory ordering the graph");
    wick_node **orders[3];
    for (int i = 0; i < 3; i++) orders[i] = (wick_node **)memory + (size_t)i * n;
    int64_t *words_at = (int64_t *)((wick_node **)memory + 3 * n);
    queue q = {.l = {.graph = g,
                     .bytes = words_at,
                     .root = (uint32_t *)(words_at + values),
                     .left = (uint32_t *)(words_at + 2 * values)}};
    q.waits = (uint32_t *)(words_at + 3 * values), q.ready = q.waits + n, q.at = q.ready + n, q.readers = q.at + n + 1;
    liveness_fill(&q.l);
    find_readers(&q);

    size_t k = 0; /* the given order: leaves first, commits last */
    for (int rank = 0; rank < 3; rank++)
        for (size_t i = 0; i < n; i++) {
            wick_node *node = g->nodes[i];
            int r = node->op->flags & WICK_OP_LEAF ? 0 : node->phase ? 2 : 1;
            if (r == rank) orders[0][k++] = node;
        }
    const bool in_time = order_greedily(&q, false, orders[1]) && order_greedily(&q, true, orders[2]);
    int best = 0;
    int64_t least = INT64_MAX;
    for (int i = 0; i < 3 && in_time; i++) {
        const int64_t peak = peak_of(&q.l, orders[i], n);
        if (peak < least) least = peak, best = i;
    }
    if (in_time) memcpy(g->nodes, orders[best], n * sizeof *g->nodes);
    wick_release(&g->ctx->alloc, memory, bytes);
    if (!in_time) return wick_context_spend(g->ctx, 0, msg);
    wick_graph_number(g);
    return WICK_OK;
}
