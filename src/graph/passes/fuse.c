/* fuse.c: elementwise nodes of one shape become a single node that runs them block by block, so that what lies between
 * them never leaves L1; a reduction joins the group that makes its input.
 *
 * Groups grow greedily in graph order: a node joins the group of a producer, or of a sibling that reads the same value,
 * if the merged group can still run at one point of time (no path leaves the group and comes back) and fits the limits
 * of a program. Values of dtypes narrower than their registers are rounded by a store, so a group does not look through
 * them.
 *
 * Two groups become one where the model of kernels/cost.h says that this is no slower. It is slower where a program of
 * many registers would work in small blocks on data that are in cache anyway, and where a reduction of wide rows to
 * columns would start its program again for each part of a row. */
#include <stdio.h>
#include <stdlib.h>

#include "graph/passes/rewrite.h"
#include "ops/lowering/cost.h"

#define NONE UINT32_MAX
#define MAX_OPS 48
#define SIBLINGS 16 /* tried for one input, the nearest: a value that thousands read must not cost thousands squared */
#define SEARCH 512 /* nodes looked at before a cycle check gives up and says no */

/* Nodes are named by position. A group is named by one of its members; a node that is in none has of == NONE. */
typedef struct fuser {
    wick_graph *graph;
    wick_node **nodes;
    uint32_t n;
    uint32_t *of;                   /* group of a node */
    uint32_t *next, *tail;          /* members of a group: a list from the node that names it */
    uint32_t *first;                /* of a group: its earliest member */
    /* of a position: itself if no group reaches across it, else one further down to look at */
    uint32_t *cut;
    uint32_t *size;                 /* of a group */
    uint32_t *stack;
    uint32_t *readers_at, *readers; /* who reads a node's results: compressed rows */
    bool *is_output, *closed;       /* of a node; of a group: ends in a reduction */
    /* of a group: has a node that is not of the backward pass, one that makes something again for it */
    bool *early, *recomputed;
    float *ns, *bytes;              /* of a group: what the model says, and what it moves, when it last grew */
    double said;                    /* for remarks: the time that was compared, and how it is told */
    char text[96];
} fuser;

/* What a group is as a program. */
typedef struct extent {
    int ops, light, n_in, n_out;
    double bytes;
} extent;

static double program_ns(const fuser *f, const extent *e, double n, const wick_node *reduction) {
    const wick_tuning *t = &f->graph->ctx->tuning;
    wick_program_shape p = {.n = n,
                            .light = e->light,
                            .heavy = e->ops - e->light,
                            .registers = e->ops + e->n_in,
                            .reduces = reduction != NULL,
                            .cols = 1,
                            .results = 1};
    wick_work w = {.bytes = e->bytes};
    if (reduction) {
        const wick_type *in = &reduction->in[0]->type;
        const uint32_t axes = ((const wick_reduce_attr *)reduction->attr)->axes;
        for (int d = in->rank; d-- > 0 && !(axes >> d & 1);) p.cols *= (double)in->dims[d];
        p.results = (double)wick_type_count(&reduction->out[0].type);
        w.bytes += (double)wick_type_bytes(&reduction->out[0].type);
    }
    wick_work_program(&w, t, &p);
    return wick_work_ns(t, &w, 0, 1);
}

/* A time that the model gave for moving `bytes` alone, where they are among `around` bytes. */
static double ns_among(const fuser *f, double ns, double bytes, double around) {
    const wick_tuning *t = &f->graph->ctx->tuning;
    return around > bytes ? ns - wick_bytes_ns(t, bytes, bytes) + wick_bytes_ns(t, bytes, around) : ns;
}

static void add_op(extent *e, const wick_node *node) { e->ops++, e->light += wick_op_is_light(node->op->ew); }

/* Of a node alone. */
static extent extent_of(const wick_node *node) {
    extent e = {.n_in = node->n_in, .n_out = 1, .bytes = (double)wick_type_bytes(&node->out[0].type)};
    add_op(&e, node);
    for (int k = 0; k < node->n_in; k++) e.bytes += (double)wick_type_bytes(&node->in[k]->type);
    return e;
}
/* The time of a node alone; *bytes (or NULL): what it moves. */
static double alone_ns(const fuser *f, const wick_node *node, float *bytes) {
    if (bytes) *bytes = 0;
    if (!wick_type_is_static(&node->out[0].type)) return 0;
    extent e = extent_of(node);
    const bool reduces = node->op->flags & WICK_OP_REDUCE;
    if (reduces) e = (extent){.n_in = 1, .bytes = (double)wick_type_bytes(&node->in[0]->type)};
    if (bytes) *bytes = (float)e.bytes;
    const wick_type *space = reduces ? &node->in[0]->type : &node->out[0].type;
    return program_ns(f, &e, (double)wick_type_count(space), reduces ? node : NULL);
}

static bool is_elementwise(const wick_node *n) { return wick_node_fuses(n); }

/* May a value stay in a register between producer and consumer? */
static bool registers_hold(const wick_type *t) {
    return wick_ctype_size(wick_ctype_of((wick_dtype)t->dtype)) == wick_dtype_size((wick_dtype)t->dtype);
}

/* A group runs as one, so an early member waits for what a late one needs. Only where no group has members on both
 * sides of a position is it certain that nothing before it waits for anything after it. */
static uint32_t cut_below(const fuser *f, uint32_t position) {
    while (f->cut[position] != position) position = f->cut[position] = f->cut[f->cut[position]];
    return position;
}
/* A group reaches from `first` to `last`. */
static void cover(fuser *f, uint32_t first, uint32_t last) {
    for (uint32_t p = cut_below(f, last); p > first; p = cut_below(f, p)) f->cut[p] = p - 1;
}

/* Puts what `node` reads on the stack, unless it is too early to matter, was met, or is of group h. true: it reads a
 * member of g. */
static bool push_inputs(fuser *f, uint32_t g, uint32_t h, const wick_node *node, uint32_t walk, uint32_t *depth,
                        bool direct_counts) {
    uint32_t cut = cut_below(f, f->first[g]);
    for (int k = 0; k < node->n_in; k++) {
        wick_node *in = node->in[k]->node;
        if (f->of[in->position] == g) {
            if (direct_counts) return true;
            continue;
        }
        if (in->position < cut || in->mark == walk || f->of[in->position] == h) continue;
        in->mark = walk;
        f->stack[(*depth)++] = in->position;
    }
    return false;
}

/* Does a path lead from a member of g to `node`, a member of h, through nodes that are in neither? */
static bool path_outside(fuser *f, uint32_t g, uint32_t h, const wick_node *node) {
    uint32_t walk = ++f->graph->ctx->walk, depth = 0, looked = 0;
    push_inputs(f, g, h, node, walk, &depth, false);
    while (depth) {
        uint32_t at = f->stack[--depth], other = f->of[at];
        if (++looked > SEARCH) return true;
        if (other == NONE) {
            if (push_inputs(f, g, h, f->nodes[at], walk, &depth, true)) return true;
            continue;
        }
        for (uint32_t m = other; m != NONE; m = f->next[m]) { /* a group runs as one: what any member needs counts */
            f->nodes[m]->mark = walk;
            if (push_inputs(f, g, h, f->nodes[m], walk, &depth, true)) return true;
        }
    }
    return false;
}

/* Would g with all of the group h fit a program? What passes between members must keep its bits in a register. Counts
 * distinct inputs from outside, and members seen from outside. What is made again for gradients and stored is stored
 * for as short as it can be: not with other results. */
static bool fits(const fuser *f, uint32_t g, uint32_t h, extent *e) {
    const wick_value *in[WICK_FUSED_MAX_IO];
    int n_in = 0, n_out = 0;
    bool recomputed = false, others = false;
    *e = (extent){0};
    for (int part = 0; part < 2; part++) {
        for (uint32_t m = part ? h : g; m != NONE; m = f->next[m]) {
            const wick_node *node = f->nodes[m];
            add_op(e, node);
            for (int k = 0; k < node->n_in; k++) {
                uint32_t p = f->of[node->in[k]->node->position];
                if ((p == g || p == h) && p != NONE) {
                    if (!registers_hold(&node->in[k]->type)) return false;
                    continue;
                }
                int i = 0;
                while (i < n_in && in[i] != node->in[k]) i++;
                if (i < n_in) continue;
                if (n_in == WICK_FUSED_MAX_IO) return false;
                in[n_in++] = node->in[k];
                e->bytes += (double)wick_type_bytes(&node->in[k]->type);
            }
            bool seen = f->is_output[m];
            for (uint32_t r = f->readers_at[m]; !seen && r < f->readers_at[m + 1]; r++) {
                uint32_t reader = f->of[f->readers[r]];
                seen = reader == NONE ? f->readers[r] != h : reader != g && reader != h;
            }
            n_out += seen;
            if (seen) e->bytes += (double)wick_type_bytes(&node->out[0].type);
            recomputed |= seen && node->flags & WICK_NODE_RECOMPUTED;
            others |= !(node->flags & WICK_NODE_RECOMPUTED);
        }
    }
    e->n_in = n_in, e->n_out = n_out;
    return n_out <= WICK_FUSED_MAX_IO && !(recomputed && others);
}

static const wick_type *space_of(const fuser *f, uint32_t g) { return &f->nodes[g]->out[0].type; }

/* Groups a and b one after the other. b reads what a made, so all that both move has to stay in a cache. */
static double apart_ns(const fuser *f, uint32_t a, uint32_t b, const extent *both) {
    return ns_among(f, (double)f->ns[a], (double)f->bytes[a], both->bytes) +
           ns_among(f, (double)f->ns[b], (double)f->bytes[b], both->bytes);
}

/* Does the model say that as one, of extent e, they take longer than apart? Not asked where memory is short, nor of
 * shapes that aren't known. */
static bool loses(const fuser *f, uint32_t g, const extent *e, const wick_node *reduction, double apart,
                  double *together) {
    const wick_type *space = space_of(f, g);
    if (!wick_type_is_static(space)) return *together = 0, false;
    *together = program_ns(f, e, (double)wick_type_count(space), reduction);
    return *together > apart && !wick_live_target(f->graph->planning);
}

/* Group b becomes part of group a, if it may. No node after `at` is in a group yet. */
static bool try_merge(fuser *f, uint32_t a, uint32_t b, uint32_t at) {
    if (f->closed[a] || f->closed[b] || f->size[a] + f->size[b] > MAX_OPS) return false;
    /* it would be made at once, and kept */
    if ((f->early[a] && f->recomputed[b]) || (f->early[b] && f->recomputed[a])) return false;
    extent e;
    double ns;
    if (!wick_same_dims(space_of(f, a), space_of(f, b)) || !fits(f, a, b, &e) ||
        loses(f, a, &e, NULL, apart_ns(f, a, b, &e), &ns))
        return false;
    for (uint32_t m = b; m != NONE; m = f->next[m])
        if (path_outside(f, a, b, f->nodes[m])) return false;
    for (uint32_t m = a; m != NONE; m = f->next[m])
        if (path_outside(f, b, a, f->nodes[m])) return false;
    for (uint32_t m = b; m != NONE; m = f->next[m]) f->of[m] = a;
    f->next[f->tail[a]] = b;
    f->tail[a] = f->tail[b];
    f->first[a] = WICK_MIN(f->first[a], f->first[b]);
    f->size[a] += f->size[b];
    f->ns[a] = (float)ns;
    f->bytes[a] = (float)e.bytes;
    f->early[a] |= f->early[b];
    f->recomputed[a] |= f->recomputed[b];
    cover(f, f->first[a], at);
    return true;
}

/* Is p's value stored whatever becomes of its group: as a result, or for who is no elementwise node? */
static bool is_stored(const fuser *f, uint32_t p) {
    bool stored = f->is_output[p];
    for (uint32_t r = f->readers_at[p]; r < f->readers_at[p + 1] && !stored; r++)
        stored = !is_elementwise(f->nodes[f->readers[r]]);
    return stored;
}

/* Whether node, an elementwise function of p's value and of numbers by row or channel, is better computed in its one
 * reader than in p's group. It is where the reader has to wait for more of p anyway, as gradients of norms do for sums:
 * node's result would be stored for it, and p's value can be read instead. Not bools, which take fewer bytes than p's
 * value. */
static bool can_wait(fuser *f, const wick_node *node, uint32_t p) {
    const uint32_t at = node->position, *readers = f->readers + f->readers_at[at];
    if (f->is_output[at] || f->readers_at[at + 1] != f->readers_at[at] + 1 || !is_stored(f, p)) return false;
    if (!registers_hold(&node->out[0].type) || 2 * wick_dtype_size((wick_dtype)node->out[0].type.dtype) <=
                                                   wick_dtype_size((wick_dtype)f->nodes[p]->out[0].type.dtype))
        return false;
    const wick_node *reader = f->nodes[*readers];
    if (!is_elementwise(reader) || !wick_same_dims(&reader->out[0].type, &node->out[0].type)) return false;
    for (int k = 0; k < node->n_in; k++)
        if (node->in[k]->node->position != p && wick_same_dims(&node->in[k]->type, &node->out[0].type)) return false;
    return path_outside(f, f->of[p], f->of[at], reader);
}

static void place(fuser *f, wick_node *node) {
    uint32_t at = node->position;
    const wick_type *space = &node->out[0].type;
    f->of[at] = f->first[at] = f->tail[at] = at;
    f->size[at] = 1;
    f->ns[at] = (float)alone_ns(f, node, &f->bytes[at]);
    f->early[at] = !(node->flags & WICK_NODE_BACKWARD);
    f->recomputed[at] = node->flags & WICK_NODE_RECOMPUTED;
    /* What only a reduction reads joins that, and not those that others read too: it is then never stored. */
    const uint32_t *readers = f->readers + f->readers_at[at];
    const bool reduced =
        f->readers_at[at + 1] == f->readers_at[at] + 1 && f->nodes[*readers]->op->flags & WICK_OP_REDUCE;
    for (int k = 0; k < node->n_in; k++) { /* producers first */
        uint32_t p = node->in[k]->node->position;
        bool others = f->is_output[p];
        for (uint32_t r = f->readers_at[p]; r < f->readers_at[p + 1]; r++) others |= f->readers[r] != at;
        if (reduced && others) continue;
        if (!is_elementwise(f->nodes[p]) || !wick_same_dims(&node->in[k]->type, space) ||
            !registers_hold(&node->in[k]->type))
            continue;
        if (f->of[p] != f->of[at] && !can_wait(f, node, p)) try_merge(f, f->of[p], f->of[at], at);
    }
    /* Then siblings that read the same full-size value, which saves a pass over it. Not for values of the arena: both
     * results would be alive at once. */
    for (int k = 0; k < node->n_in && f->is_output[at] && f->size[f->of[at]] == 1; k++) {
        if (!wick_same_dims(&node->in[k]->type, space)) continue;
        uint32_t p = node->in[k]->node->position;
        uint32_t begin = f->readers_at[p], end = begin;
        while (end < f->readers_at[p + 1] && f->readers[end] < at) end++;
        for (uint32_t r = end - begin > SIBLINGS ? end - SIBLINGS : begin; r < end; r++)
            if (is_elementwise(f->nodes[f->readers[r]]) && try_merge(f, f->of[f->readers[r]], f->of[at], at)) break;
    }
}

static bool reduction_loses(const fuser *f, uint32_t g, const wick_node *node, double *together) {
    extent e;
    fits(f, g, NONE, &e);
    e.bytes -= (double)wick_type_bytes(&node->in[0]->type); /* it is not stored */
    return loses(f, g, &e, node, (double)f->ns[g] + alone_ns(f, node, NULL), together);
}

/* A reduction joins the group of its input when nothing else is seen of that group: then its input is never stored. */
static void place_reduction(fuser *f, wick_node *node) {
    wick_value *in = node->in[0];
    uint32_t at = node->position, p = in->node->position, g = f->of[p];
    if (!is_elementwise(in->node) || !registers_hold(&in->type) || f->closed[g] || f->size[g] + 1 > MAX_OPS) return;
    if (f->early[g] && node->flags & WICK_NODE_RECOMPUTED) return;
    for (uint32_t m = g; m != NONE; m = f->next[m]) {
        if (f->is_output[m]) return;
        for (uint32_t r = f->readers_at[m]; r < f->readers_at[m + 1]; r++)
            if (f->readers[r] != at && f->of[f->readers[r]] != g) return;
    }
    double ns;
    if (reduction_loses(f, g, node, &ns)) return;
    f->of[at] = g;
    f->next[f->tail[g]] = at;
    f->tail[g] = at;
    f->size[g]++;
    f->ns[g] = (float)ns;
    f->closed[g] = true;
    cover(f, f->first[g], at);
}

/* ---- building the fused nodes ------------------------------------------------------------------------------------ */

static int by_position(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

static bool same_node(const wick_node *a, const wick_node *b, wick_value *const *in) {
    return a->op == b->op && a->n_in == b->n_in && a->attr_size == b->attr_size &&
           !memcmp(a->attr, b->attr, a->attr_size) && !memcmp(a->in, in, a->n_in * sizeof *in);
}

static bool build(fuser *f, uint32_t g) {
    wick_graph *graph = f->graph;
    uint32_t members[MAX_OPS + 1], n = 0;
    for (uint32_t m = g; m != NONE; m = f->next[m]) members[n++] = m;
    qsort(members, n, sizeof *members, by_position);

    wick_graph *body = wick_graph_new(graph->ctx, graph->arena);
    wick_value *in[WICK_FUSED_MAX_IO], *out[WICK_FUSED_MAX_IO];
    wick_type types[WICK_FUSED_MAX_IO];
    int n_in = 0, n_out = 0;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t m = members[i];
        const wick_node *node = f->nodes[m];
        for (int k = 0; k < node->n_in; k++) {
            wick_value *v = wick_resolve(node->in[k]);
            int p = f->of[node->in[k]->node->position] == g ? n_in : 0;
            while (p < n_in && in[p] != v) p++;
            if (f->of[node->in[k]->node->position] != g && p == n_in) in[n_in++] = v;
        }
        bool seen = f->is_output[m];
        for (uint32_t r = f->readers_at[m]; r < f->readers_at[m + 1]; r++) seen |= f->of[f->readers[r]] != g;
        if (seen) out[n_out++] = &f->nodes[m]->out[0];
    }
    wick_value *params = wick_arena_zalloc(graph->arena, ((size_t)n_in + 1) * sizeof *params);
    wick_graph **regions = wick_arena_alloc(graph->arena, sizeof *regions);
    if (!body || !params || !regions) return false;
    body->inputs = wick_arena_alloc(graph->arena, ((size_t)n_in + 1) * sizeof *body->inputs);
    body->outputs = wick_arena_alloc(graph->arena, ((size_t)n_out + 1) * sizeof *body->outputs);
    body->nodes = wick_arena_alloc(graph->arena, n * sizeof *body->nodes);
    if (!body->inputs || !body->outputs || !body->nodes) return false;
    body->cap = n;
    for (int p = 0; p < n_in; p++) {
        params[p].type = in[p]->type;
        body->inputs[p] = &params[p];
    }

    for (uint32_t i = 0; i < n; i++) {
        wick_node *node = f->nodes[members[i]];
        wick_value *mapped[3];
        for (int k = 0; k < node->n_in; k++) {
            wick_value *v = node->in[k];
            if (f->of[v->node->position] == g) {
                mapped[k] = v->forward; /* its copy in the body */
                continue;
            }
            v = wick_resolve(v);
            int p = 0;
            while (in[p] != v) p++;
            mapped[k] = &params[p];
        }
        wick_node *copy = NULL; /* the same may be there already, rematerialised */
        for (size_t b = 0; b < body->n && !copy; b++)
            if (same_node(body->nodes[b], node, mapped)) copy = body->nodes[b];
        if (!copy) copy = wick_graph_copy_node(body, node, mapped);
        if (!copy) return false;
        node->out[0].forward = &copy->out[0];
    }
    for (int k = 0; k < n_out; k++) {
        types[k] = out[k]->type;
        body->outputs[k] = out[k]->forward;
    }
    body->n_inputs = n_in;
    body->n_outputs = n_out;
    graph->ctx->target = graph;
    wick_node *fused = wick_node_new(graph->ctx, &wick_op_fused, n_in, in, n_out, types, NULL, 0);
    graph->ctx->target = NULL;
    if (!fused) return false;
    fused->site = f->nodes[members[n - 1]]->site;
    regions[0] = body;
    fused->regions = regions;
    fused->n_regions = 1;
    for (int i = 0; i < n_out; i++) out[i]->forward = &fused->out[i];
    return true;
}

/* The first node that unit u (a group or a lone node) needs and that is not placed yet, or NONE. */
static uint32_t missing(const fuser *f, uint32_t u, uint32_t placed) {
    for (uint32_t m = u; m != NONE; m = f->of[u] == NONE ? NONE : f->next[m])
        for (int k = 0; k < f->nodes[m]->n_in; k++) {
            const wick_node *in = f->nodes[m]->in[k]->node;
            if (in->mark != placed && (f->of[u] == NONE || f->of[in->position] != f->of[u])) return in->position;
        }
    return NONE;
}

/* Lists the graph anew: each group stands where all it needs is done; where values are made again for gradients, as
 * late as it may, so that they don't come sooner than they are needed. */
static bool rebuild(fuser *f) {
    uint32_t placed = ++f->graph->ctx->walk;
    f->graph->nodes = NULL;
    f->graph->n = f->graph->cap = 0;
    uint32_t *last = f->tail; /* of a group, which grows no more */
    for (uint32_t i = 0; i < f->n; i++)
        if (f->of[i] != NONE) last[f->of[i]] = i;
    for (uint32_t i = 0; i < f->n; i++) {
        uint32_t depth = 0;
        if (f->nodes[i]->mark == placed || (f->graph->recomputed && f->of[i] != NONE && i < last[f->of[i]])) continue;
        f->stack[depth++] = i;
        while (depth) {
            uint32_t at = f->stack[depth - 1], unit = f->of[at] == NONE ? at : f->of[at];
            uint32_t need = f->nodes[at]->mark == placed ? NONE : missing(f, unit, placed);
            if (need != NONE) {
                f->stack[depth++] = need;
                continue;
            }
            depth--;
            if (f->nodes[at]->mark == placed) continue;
            if (f->of[at] == NONE || f->size[unit] == 1) {
                wick_resolve_inputs(f->nodes[at]);
                f->nodes[at]->mark = placed;
                /* Positions name nodes of the old list until the end. */
                uint32_t position = f->nodes[at]->position;
                if (!wick_graph_push(f->graph, f->nodes[at])) return false;
                f->nodes[at]->position = position;
                continue;
            }
            for (uint32_t m = unit; m != NONE; m = f->next[m]) f->nodes[m]->mark = placed;
            if (!build(f, unit)) return false;
        }
    }
    return true;
}

static const char *model_says(fuser *f, double apart) {
    snprintf(f->text, sizeof f->text, "predicted %.3g us together, %.3g apart", f->said * 1e-3, apart * 1e-3);
    return f->text;
}

/* Why what `from` makes is stored, and not handed on in a register to `to`, that could run element by element with it.
 * NULL: it isn't. */
static const char *why_apart(fuser *f, uint32_t from, uint32_t to) {
    const wick_node *a = f->nodes[from], *b = f->nodes[to];
    const bool reduces = b->op->flags & WICK_OP_REDUCE;
    const uint32_t g = f->of[from], h = f->of[to];
    if (!is_elementwise(a) || !(reduces || is_elementwise(b)) || (g == h && g != NONE)) return NULL;
    if (!registers_hold(&a->out[0].type)) return "it is rounded to its dtype by a store";
    if (reduces && f->closed[g]) return "a kernel ends in one reduction";
    if (reduces)
        return reduction_loses(f, g, b, &f->said) ? model_says(f, (double)f->ns[g] + alone_ns(f, b, NULL))
                                                  : "the reduction's input is seen by others too";
    if (!wick_same_dims(&a->out[0].type, &b->out[0].type))
        return "it is broadcast: computing it for each element it goes to would repeat it";
    if (f->closed[g]) return "a kernel ends in one reduction";
    if ((f->early[g] && f->recomputed[h]) || (f->early[h] && f->recomputed[g]))
        return "one of them is made again, later, so that it need not be kept";
    if (f->size[g] + f->size[h] > MAX_OPS) return "together they have too many ops for one kernel";
    extent e;
    if (!fits(f, g, h, &e))
        return "together they have too many inputs or results for one kernel, or one is made again for others too";
    for (uint32_t m = h; m != NONE; m = f->next[m])
        if (path_outside(f, g, h, f->nodes[m])) return "something between them has to run first";
    for (uint32_t m = g; m != NONE; m = f->next[m])
        if (path_outside(f, h, g, f->nodes[m])) return "something between them has to run first";
    const double apart = apart_ns(f, g, h, &e);
    if (loses(f, g, &e, NULL, apart, &f->said)) return model_says(f, apart);
    return "it is a result, or is read elsewhere too";
}

/* Members of group g are kernels of their own again. */
static void take_apart(fuser *f, uint32_t g) {
    for (uint32_t m = g, then; m != NONE; m = then) {
        then = f->next[m];
        f->of[m] = is_elementwise(f->nodes[m]) ? m : NONE;
        f->first[m] = f->tail[m] = m;
        f->next[m] = NONE;
        f->size[m] = 1;
        f->closed[m] = false;
        f->ns[m] = (float)alone_ns(f, f->nodes[m], &f->bytes[m]);
    }
}

/* Numbers the groups that became kernels. */
static void number_all(fuser *f) {
    for (uint32_t i = 0; i < f->n; i++) {
        if (f->of[i] != i || f->size[i] < 2) continue;
        uint32_t number;
        const bool out = wick_left_out(f->graph->planning, WICK_CHOOSES_FUSE, &number);
        if (wick_remarks(f->graph->planning)) {
            double apart = 0;
            for (uint32_t m = i; m != NONE; m = f->next[m]) apart += alone_ns(f, f->nodes[m], NULL);
            wick_remark(f->graph->planning, "fuse", f->nodes[i],
                        "%s fuse:%u: one kernel for it and %u more; predicted to save %.3g us of %.3g",
                        out ? "left out, as asked for:" : "taken as", number, f->size[i] - 1,
                        (apart - (double)f->ns[i]) * 1e-3, apart * 1e-3);
        }
        if (out) take_apart(f, i);
    }
}

static void remark_apart(fuser *f) {
    for (uint32_t i = 0; i < f->n; i++) {
        for (uint32_t r = f->readers_at[i]; r < f->readers_at[i + 1]; r++) {
            const char *why = why_apart(f, i, f->readers[r]);
            if (why)
                wick_remark(f->graph->planning, "fuse", f->nodes[i], "not with %s (%s): %s",
                            f->nodes[f->readers[r]]->op->name,
                            f->nodes[f->readers[r]]->site ? f->nodes[f->readers[r]]->site : "?", why);
        }
    }
}

wick_status wick_pass_fuse(wick_graph *graph, wick_msg *msg) {
    wick_graph_number(graph);
    size_t n = graph->n, edges = 0;
    for (size_t i = 0; i < n; i++) edges += graph->nodes[i]->n_in;
    size_t words = 9 * n + (n + 1) + edges, bytes = words * sizeof(uint32_t) + 4 * n;
    uint32_t *memory = wick_calloc(&graph->ctx->alloc, bytes);
    if (!memory) return wick_msg_set(msg, WICK_ERR_NOMEM, "out of memory fusing");
    fuser f = {.graph = graph,
               .nodes = graph->nodes,
               .n = (uint32_t)n,
               .of = memory,
               .next = memory + n,
               .tail = memory + 2 * n,
               .first = memory + 3 * n,
               .size = memory + 4 * n,
               .stack = memory + 5 * n,
               .cut = memory + 6 * n,
               .ns = (float *)(memory + 7 * n),
               .bytes = (float *)(memory + 8 * n),
               .readers_at = memory + 9 * n,
               .readers = memory + 10 * n + 1};
    f.is_output = (bool *)(memory + words);
    f.closed = f.is_output + n;
    f.early = f.closed + n;
    f.recomputed = f.early + n;
    for (size_t i = 0; i < n; i++) {
        f.of[i] = f.next[i] = NONE;
        f.cut[i] = (uint32_t)i;
        for (int k = 0; k < graph->nodes[i]->n_in; k++) f.readers_at[graph->nodes[i]->in[k]->node->position + 1]++;
    }
    for (size_t i = 0; i < n; i++) f.readers_at[i + 1] += f.readers_at[i];
    for (size_t i = 0; i < n; i++) f.stack[i] = f.readers_at[i];
    for (size_t i = 0; i < n; i++)
        for (int k = 0; k < graph->nodes[i]->n_in; k++)
            f.readers[f.stack[graph->nodes[i]->in[k]->node->position]++] = (uint32_t)i;
    for (int i = 0; i < graph->n_outputs; i++) f.is_output[graph->outputs[i]->node->position] = true;

    for (size_t i = 0; i < n; i++) {
        if (is_elementwise(graph->nodes[i]))
            place(&f, graph->nodes[i]);
        else if (graph->nodes[i]->op->flags & WICK_OP_REDUCE)
            place_reduction(&f, graph->nodes[i]);
    }
    number_all(&f);
    if (wick_remarks(graph->planning)) remark_apart(&f);
    bool good = rebuild(&f);
    wick_release(&graph->ctx->alloc, memory, bytes);
    wick_resolve_outputs(graph);
    return good ? WICK_OK : wick_msg_set(msg, WICK_ERR_NOMEM, "out of memory fusing");
}
