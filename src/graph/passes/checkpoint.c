/* checkpoint.c: activation checkpointing (Griewank, Walther 2000; Chen et al. 2016, "Training Deep Nets with Sublinear
 * Memory Cost"). What gradients need of the forward pass is made again when they need it, instead of kept until then.
 * Copies of nodes read copies of what is not kept either, down to what is. The same arithmetic on the same numbers,
 * random ones too (a copy has its node's stream and offset): the bits stay.
 *
 * Which values those are: all between the ends of a segment (wick_recompute), whose inputs and results are kept; and
 * under a limit of wick_compile_options.memory_budget those of least arithmetic for the bytes that they free, chosen
 * one by one on a model of what is in use when each node runs. The model is rough (it guesses what fusion will keep in
 * registers); the plan is exact, so build.c asks again with another target until the plan fits. */
#include "graph/passes/rewrite.h"
#include "ops/lowering/cost.h"

#define NONE UINT32_MAX
enum {
    /* results of reductions so many times smaller than their input are always kept: making them again reads all of it
     */
    REDUCED = 8,
    CHAIN = 24, /* cheap ops one after the other that are made again for each reader */
    SMALL = 256 /* under a budget, what is so many times smaller than the largest value stays */
};

typedef struct saver {
    wick_graph *graph;
    wick_node **nodes;
    uint32_t n;
    uint32_t *readers_at, *readers;   /* who reads a node's results: compressed rows */
    uint32_t *root;                   /* of a view: the node whose memory it shows */
    uint32_t *stack;
    /* of a node: when its copy is made, NONE: not at all; when it and its copy are last read */
    uint32_t *copy_at, *until, *copy_until;
    uint32_t *list;                   /* nodes of a choice, with what it brings along */
    int64_t *change;                  /* by time: bytes more or less in use */
    bool *drop;                       /* is not kept; of a view: what it shows is not */
    bool *stays;                      /* can't be made again, or is always kept */
    bool *result;                     /* of the graph: its memory is not the arena's */
    bool *transient;                  /* in the forward pass it is handed on in a register */
    bool *banned;                     /* dropping it did not help */
    bool *cheap;                      /* each reader gets a copy of its own, which need not be stored; of a view: too */
    bool *needed;                     /* by the backward pass, as it is or for copies */
    size_t n_list;
    int64_t peak;
} saver;

static bool is_late(const wick_node *node) { return node->flags & WICK_NODE_BACKWARD; }
static bool is_view(const wick_node *node) { return node->op->flags & WICK_OP_VIEW && node->n_in; }
static int64_t bytes_of(const wick_node *node) {
    int64_t bytes = 0;
    for (int k = 0; k < node->n_out; k++) bytes += (int64_t)wick_type_bytes(&node->out[k].type);
    return bytes;
}

/* Would a reader take node's result from a register? */
static bool fuses_with(const saver *s, const wick_node *node, const wick_node *reader) {
    if (!wick_node_fuses(node)) return false;
    if (reader->op->flags & WICK_OP_REDUCE)
        return s->readers_at[node->position + 1] == s->readers_at[node->position] + 1;
    return wick_node_fuses(reader) && wick_same_dims(&node->out[0].type, &reader->out[0].type);
}

static bool is_cheap(const wick_node *node) { return wick_node_fuses(node) && wick_op_is_light(node->op->ew); }

static bool shrinks(const wick_node *node) {
    return node->op->flags & WICK_OP_REDUCE && REDUCED * bytes_of(node) <= (int64_t)wick_type_bytes(&node->in[0]->type);
}

static void look(saver *s) {
    for (int i = 0; i < s->graph->n_outputs; i++) {
        const uint32_t at = s->root[s->graph->outputs[i]->node->position];
        s->result[at] = s->stays[at] = true;
    }
    for (uint32_t i = 0; i < s->n; i++) {
        const wick_node *node = s->nodes[i];
        s->stays[i] |= is_late(node) || node->op->flags & (WICK_OP_LEAF | WICK_OP_EFFECT) || node->n_regions ||
                       is_view(node) || shrinks(node);
        bool handed_on = wick_node_fuses(node) && !s->result[i];
        for (uint32_t r = s->readers_at[i]; r < s->readers_at[i + 1]; r++) {
            const wick_node *reader = s->nodes[s->readers[r]];
            if (is_late(reader) == is_late(node)) handed_on &= fuses_with(s, node, reader);
        }
        s->transient[i] = handed_on;
        /* A chain of cheap ones ends somewhere: what a thousand additions make is stored now and then. */
        uint32_t *depth = s->until;
        depth[i] = 0;
        for (int k = 0; k < node->n_in; k++) depth[i] = WICK_MAX(depth[i], depth[s->root[node->in[k]->node->position]]);
        depth[i] = is_cheap(node) ? (depth[i] + 1) % CHAIN : is_view(node) ? depth[i] : 0;
        s->cheap[i] = is_view(node) || depth[i];
    }
}

static bool is_widened(const wick_node *node) { return node->segment == WICK_SEGMENT_WIDENED; }
static uint32_t segment_of(const wick_node *node) {
    return is_widened(node) ? node->in[0]->node->segment : node->segment;
}

/* Values within segments: those that the forward pass hands to nodes of other segments, or of none, are kept. */
static void drop_segments(saver *s) {
    bool *kept = s->banned; /* cleared below */
    for (uint32_t i = s->n; i-- > 0;) {
        const wick_node *node = s->nodes[i];
        for (uint32_t r = s->readers_at[i]; r < s->readers_at[i + 1]; r++) {
            const wick_node *reader = s->nodes[s->readers[r]];
            if (is_late(reader)) continue;
            kept[i] |= segment_of(reader) != segment_of(node) ||
                       ((is_view(reader) || is_widened(reader)) && kept[reader->position]);
        }
        if (node->segment && (!kept[i] || is_widened(node)) && !s->stays[i]) s->drop[i] = true;
    }
    memset(kept, 0, s->n);
}

/* Views show copies where what they show is not kept. */
static void settle_views(saver *s) {
    for (uint32_t i = 0; i < s->n; i++)
        if (is_view(s->nodes[i]) && !is_late(s->nodes[i])) s->drop[i] = s->drop[s->root[i]];
}

/* ---- the model --------------------------------------------------------------------------------------------------- */

static bool has_late_reader(const saver *s, uint32_t i) {
    for (uint32_t r = s->readers_at[i]; r < s->readers_at[i + 1]; r++) {
        const wick_node *reader = s->nodes[s->readers[r]];
        if (is_late(reader) || (is_view(reader) && has_late_reader(s, reader->position))) return true;
    }
    return false;
}

static bool takes_from_register(const wick_node *node, const wick_node *reader) {
    return reader->op->flags & WICK_OP_REDUCE ||
           (wick_node_fuses(reader) && wick_same_dims(&node->out[0].type, &reader->out[0].type));
}
static void store_for_now(saver *s, const wick_node *node, uint32_t now) {
    s->change[now] += bytes_of(node);
    s->change[now + 1] -= bytes_of(node);
}

static void read_inputs(saver *s, const wick_node *node, bool late, uint32_t now) {
    for (int k = 0; k < node->n_in; k++) {
        const uint32_t at = s->root[node->in[k]->node->position];
        if (late) s->needed[at] = true;
        if (!late || !s->drop[at]) s->until[at] = now;
        else if (!s->cheap[at]) s->copy_until[at] = now;
        else if (!takes_from_register(s->nodes[at], node)) store_for_now(s, s->nodes[at], now);
    }
}

/* The copies that a late node needs, inputs first; returns the time after them. */
static uint32_t make_copies(saver *s, const wick_node *late, uint32_t now) {
    uint32_t depth = 0;
    s->stack[depth++] = late->position;
    while (depth) {
        const uint32_t at = s->stack[depth - 1];
        const wick_node *node = s->nodes[at];
        uint32_t need = NONE;
        for (int k = 0; k < node->n_in && need == NONE; k++) {
            const uint32_t from = s->root[node->in[k]->node->position];
            if (s->drop[from] && (s->cheap[from] ? s->copy_at[from] != late->position : s->copy_at[from] == NONE))
                need = from;
        }
        if (need != NONE) {
            s->stack[depth++] = need;
            continue;
        }
        depth--;
        if (node == late) break;
        s->copy_at[at] = s->cheap[at] ? late->position : now;
        s->copy_until[at] = now;
        read_inputs(s, node, true, now);
        now += !s->cheap[at];
    }
    return now;
}

/* Sets peak; returns by how much the bytes in use exceed the target, summed over time. */
static double simulate(saver *s, int64_t target) {
    uint32_t now = 0;
    for (uint32_t i = 0; i < s->n; i++) s->copy_at[i] = NONE;
    memset(s->change, 0, (2 * (size_t)s->n + 2) * sizeof *s->change);
    memset(s->needed, 0, s->n);
    uint32_t *made = s->list + s->n; /* when nodes run */
    for (uint32_t i = 0; i < s->n; i++) {
        const wick_node *node = s->nodes[i];
        if (is_late(node)) now = make_copies(s, node, now);
        made[i] = s->until[i] = now;
        if (is_view(node)) {
            if (is_late(node)) read_inputs(s, node, true, now);
            continue;
        }
        read_inputs(s, node, is_late(node), now++);
    }
    for (uint32_t i = 0; i < s->n; i++) {
        const wick_node *node = s->nodes[i];
        if (node->op->flags & WICK_OP_LEAF || is_view(node) || s->result[i]) continue;
        const int64_t bytes = bytes_of(node);
        const bool stored = !s->transient[i] || (!is_late(node) && !s->drop[i] && s->needed[i]);
        if (stored) s->change[made[i]] += bytes, s->change[s->until[i] + 1] -= bytes;
        if (s->copy_at[i] == NONE || s->cheap[i]) continue;
        bool handed_on = wick_node_fuses(node);
        for (uint32_t r = s->readers_at[i]; r < s->readers_at[i + 1] && handed_on; r++) {
            const wick_node *reader = s->nodes[s->readers[r]];
            if (is_late(reader) || s->copy_at[s->readers[r]] != NONE) handed_on = fuses_with(s, node, reader);
        }
        if (!handed_on) s->change[s->copy_at[i]] += bytes, s->change[s->copy_until[i] + 1] -= bytes;
    }
    int64_t live = 0;
    double excess = 0;
    s->peak = 0;
    for (uint32_t t = 0; t < now; t++) {
        live += s->change[t];
        s->peak = WICK_MAX(s->peak, live);
        if (live > target) excess += (double)(live - target);
    }
    return excess;
}

/* ---- the choice -------------------------------------------------------------------------------------------------- */

/* Lists i, and what has to be made again with it since the forward pass does not store it. Returns the arithmetic, and
 * bytes written, of all. */
static double gather(saver *s, uint32_t i) {
    double cost = 0;
    s->n_list = 0;
    s->list[s->n_list++] = i;
    s->drop[i] = true;
    for (size_t at = 0; at < s->n_list; at++) {
        const wick_node *node = s->nodes[s->list[at]];
        cost += wick_node_flops(node) + (double)bytes_of(node);
        for (int k = 0; k < node->n_in; k++) {
            const uint32_t from = s->root[node->in[k]->node->position];
            if (s->drop[from] || s->stays[from] || !s->transient[from] || s->needed[from]) continue;
            s->drop[from] = true;
            s->list[s->n_list++] = from;
        }
    }
    return cost;
}
static void put_back(saver *s) {
    for (size_t k = 0; k < s->n_list; k++) s->drop[s->list[k]] = false;
}

/* Drops one value after the other, that of most bytes for its cost first, until the model keeps to the target. */
static wick_status choose(saver *s, int64_t target, wick_msg *msg) {
    int64_t largest = 0;
    for (uint32_t i = 0; i < s->n; i++) largest = WICK_MAX(largest, s->stays[i] ? 0 : bytes_of(s->nodes[i]));
    for (uint32_t i = 0; i < s->n; i++) {
        const wick_node *node = s->nodes[i];
        s->stays[i] |= bytes_of(node) < largest / SMALL;
        /* What was in a register goes first: x - mean from x, which is there in many cases anyway. Not what is smaller
         * than x: masks. */
        bool wide = true;
        for (int k = 0; k < node->n_in; k++) wide &= bytes_of(node) >= (int64_t)wick_type_bytes(&node->in[k]->type);
        if (wide && s->transient[i] && !s->stays[i] && has_late_reader(s, i)) gather(s, i);
    }
    double excess = simulate(s, target);
    while (excess > 0) {
        uint32_t best = NONE;
        double most = 0;
        for (uint32_t i = 0; i < s->n; i++) {
            if (s->stays[i] || s->drop[i] || s->banned[i] || !s->needed[i]) continue;
            const double score = (double)bytes_of(s->nodes[i]) / gather(s, i);
            put_back(s);
            if (score > most) most = score, best = i;
        }
        if (best == NONE) break;
        WICK_TRY(wick_context_spend(s->graph->ctx, 8 * (size_t)s->n, msg));
        gather(s, best);
        const double now = simulate(s, target);
        if (now < excess) {
            excess = now;
            memset(s->banned, 0, s->n); /* with this one gone, others may help */
        } else {
            s->banned[best] = true;
            put_back(s);
            simulate(s, target); /* for what is needed */
        }
    }
    return WICK_OK;
}

/* ---- copies ------------------------------------------------------------------------------------------------------ */

typedef struct copier {
    saver *s;
    wick_node **copy; /* by node */
    uint32_t now;     /* the node that cheap copies are made for: copy_at says for which they were */
    double flops;
    uint32_t made;
} copier;

static bool has_copy(const copier *c, uint32_t at) {
    return c->copy[at] && (!c->s->cheap[at] || c->s->copy_at[at] == c->now);
}

static bool copy_node(copier *c, uint32_t at) {
    saver *s = c->s;
    const wick_node *node = s->nodes[at];
    wick_value *small[8], **in = node->n_in <= 8 ? small : wick_arena_alloc(s->graph->arena, node->n_in * sizeof *in);
    if (!in) return false;
    for (int k = 0; k < node->n_in; k++) {
        const wick_value *v = node->in[k];
        const wick_node *other = c->copy[v->node->position];
        in[k] = s->drop[v->node->position] ? (wick_value *)(uintptr_t)&other->out[v->index] : node->in[k];
    }
    wick_node *copy = wick_graph_copy_node(s->graph, node, in);
    if (!copy) return false;
    copy->flags |= WICK_NODE_BACKWARD | WICK_NODE_RECOMPUTED;
    c->copy[at] = copy;
    s->copy_at[at] = c->now;
    if (is_view(node)) return true;
    c->flops += wick_node_flops(node);
    c->made++;
    if (!s->transient[at])
        wick_remark(s->graph->planning, "checkpoint", node,
                    "not kept for gradients but made again: %lld bytes less, %.4g MFLOP more",
                    (long long)bytes_of(node), wick_node_flops(node) * 1e-6);
    return true;
}

static bool copy_all(copier *c, const wick_node *late) {
    saver *s = c->s;
    uint32_t depth = 0;
    c->now = late->position;
    s->stack[depth++] = late->position;
    while (depth) {
        const uint32_t at = s->stack[depth - 1];
        const wick_node *node = s->nodes[at];
        uint32_t need = NONE;
        for (int k = 0; k < node->n_in && need == NONE; k++) {
            const uint32_t from = node->in[k]->node->position;
            if (s->drop[from] && !has_copy(c, from)) need = from;
        }
        if (need != NONE) {
            s->stack[depth++] = need;
            continue;
        }
        depth--;
        if (node != late && !copy_node(c, at)) return false;
    }
    return true;
}

static bool rewrite(saver *s, wick_node **copies) {
    wick_graph *graph = s->graph;
    copier c = {.s = s, .copy = copies};
    graph->nodes = NULL;
    graph->n = graph->cap = 0;
    for (uint32_t i = 0; i < s->n; i++) {
        wick_node *node = s->nodes[i];
        if (is_late(node) && !copy_all(&c, node)) return false;
        for (int k = 0; k < node->n_in && is_late(node); k++) {
            const uint32_t from = node->in[k]->node->position;
            if (s->drop[from]) node->in[k] = &c.copy[from]->out[node->in[k]->index];
        }
        const uint32_t position = node->position; /* positions name nodes of the old list until the end */
        if (!wick_graph_push(graph, node)) return false;
        node->position = position;
    }
    graph->recomputed_flops += c.flops;
    graph->recomputed += c.made;
    return true;
}

wick_status wick_pass_checkpoint(wick_graph *graph, wick_msg *msg) {
    const int64_t target = (int64_t)wick_live_target(graph->planning);
    const size_t n = graph->n;
    bool any = false, late = false;
    for (size_t i = 0; i < n; i++) {
        any |= graph->nodes[i]->segment != 0;
        late |= is_late(graph->nodes[i]);
        for (int k = 0; k < graph->nodes[i]->n_out; k++)
            if (!wick_type_is_static(&graph->nodes[i]->out[k].type)) return WICK_OK; /* nothing is known of its size */
    }
    if (!late || !(any || target)) return WICK_OK;
    wick_graph_number(graph);
    size_t edges = 0;
    for (size_t i = 0; i < n; i++) edges += graph->nodes[i]->n_in;
    const size_t wide = (2 * n + 2) * sizeof(int64_t) + n * sizeof(wick_node *), words = 8 * n + 1 + edges,
                 bytes = wide + words * sizeof(uint32_t) + 7 * n;
    char *memory = wick_calloc(&graph->ctx->alloc, bytes);
    if (!memory) return wick_msg_set(msg, WICK_ERR_NOMEM, "out of memory choosing what to keep");
    int64_t *change = (int64_t *)(void *)memory;
    wick_node **copies = (wick_node **)(void *)(change + 2 * n + 2);
    uint32_t *word = (uint32_t *)(void *)(copies + n);
    bool *flags = (bool *)(word + words);
    saver s = {.graph = graph,
               .nodes = graph->nodes,
               .n = (uint32_t)n,
               .change = change,
               .readers_at = word,
               .root = word + n + 1,
               .stack = word + 2 * n + 1,
               .copy_at = word + 3 * n + 1,
               .until = word + 4 * n + 1,
               .copy_until = word + 5 * n + 1,
               .list = word + 6 * n + 1,
               .readers = word + 8 * n + 1,
               .drop = flags,
               .stays = flags + n,
               .result = flags + 2 * n,
               .transient = flags + 3 * n,
               .banned = flags + 4 * n,
               .needed = flags + 5 * n,
               .cheap = flags + 6 * n};
    for (size_t i = 0; i < n; i++) {
        const wick_node *node = graph->nodes[i];
        s.root[i] = is_view(node) ? s.root[node->in[0]->node->position] : (uint32_t)i;
        for (int k = 0; k < node->n_in; k++) s.readers_at[node->in[k]->node->position + 1]++;
    }
    for (size_t i = 0; i < n; i++) s.readers_at[i + 1] += s.readers_at[i];
    for (size_t i = 0; i < n; i++) s.stack[i] = s.readers_at[i];
    for (size_t i = 0; i < n; i++)
        for (int k = 0; k < graph->nodes[i]->n_in; k++)
            s.readers[s.stack[graph->nodes[i]->in[k]->node->position]++] = (uint32_t)i;
    look(&s);
    if (any) drop_segments(&s);
    wick_status status = target ? choose(&s, target, msg) : WICK_OK;
    settle_views(&s);
    if (status == WICK_OK && !rewrite(&s, copies))
        status = wick_msg_set(msg, WICK_ERR_NOMEM, "out of memory making values again");
    wick_release(&graph->ctx->alloc, memory, bytes);
    return status;
}
