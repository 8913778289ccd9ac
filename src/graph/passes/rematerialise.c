/* rematerialise.c: a value that costs little more to compute than to store and read, by the model of kernels/cost.h, is
 * computed again for each of its readers. It then stays in a register of each and is never stored. A gradient that
 * needs x - mean, or where(mask, g, 0), computes it from x, or from mask and g. Only large elementwise values are
 * considered, and only where all readers are elementwise ops and reductions: others have to be stored anyway. The same
 * arithmetic on the same numbers gives the same bits. Copies that meet in one fused node become one again there. */
#include "graph/passes/rewrite.h"
#include "ops/lowering/cost.h"

/* elements of values that are not worth it; copies of one node, of a cast that widens */
enum { SMALL = 4096, READERS = 4, MOST = 16 };

/* A cast to f32 of what mixed precision narrowed: it comes along with whoever reads it element by element. */
static bool widens(const wick_node *node) { return node->op == &wick_op_cast && node->segment == WICK_SEGMENT_WIDENED; }

static bool is_cheap(const wick_node *node) {
    if (!(node->op->flags & WICK_OP_ELEMENTWISE) || node->n_out != 1) return false;
    if (!wick_op_is_light(node->op->ew) || (node->op->ew == WICK_FUSED_CAST && !widens(node))) return false;
    const wick_type *t = &node->out[0].type;
    if (!wick_type_is_static(t) || wick_type_count(t) < SMALL) return false;
    size_t bytes = 0; /* that each copy reads */
    for (int k = 0; k < node->n_in; k++) {
        const wick_value *v = node->in[k];
        bool seen = false;
        for (int j = 0; j < k; j++) seen |= node->in[j] == v;
        if (!seen) bytes += wick_type_bytes(&v->type);
    }
    return 2 * bytes <= 3 * wick_type_bytes(t);
}

/* What reads node's result: node numbers in linked lists, one entry for each time. */
typedef struct remake {
    wick_graph *graph;
    uint32_t *head, *copies;         /* of a node: its first reader's entry + 1; its first copy, 0: none */
    uint32_t *next_copy;             /* of a copy: the next one of the same node */
    uint32_t *entry_of, *entry_next; /* of an entry: who reads; the next entry + 1 */
    uint32_t n_entries;
} remake;

static void reads(remake *r, uint32_t reader) {
    const wick_node *node = r->graph->nodes[reader];
    for (int k = 0; k < node->n_in; k++) {
        const uint32_t from = node->in[k]->node->position;
        r->entry_of[r->n_entries] = reader;
        r->entry_next[r->n_entries] = r->head[from];
        r->head[from] = ++r->n_entries;
    }
}

/* The input made last is an elementwise value that nobody else reads: it comes along in a register, and copies would
 * have to store it. */
static bool continues(const remake *r, const wick_node *node) {
    const wick_node *last = node->in[0]->node;
    for (int k = 1; k < node->n_in; k++)
        if (node->in[k]->node->position > last->position) last = node->in[k]->node;
    const wick_dtype dtype = (wick_dtype)last->out[0].type.dtype;
    /* a store rounds it: it is there to read */
    if (wick_ctype_size(wick_ctype_of(dtype)) != wick_dtype_size(dtype)) return false;
    if (!(last->op->flags & WICK_OP_ELEMENTWISE) || !wick_same_dims(&last->out[0].type, &node->out[0].type))
        return false;
    for (uint32_t e = r->head[last->position]; e; e = r->entry_next[e - 1])
        if (r->graph->nodes[r->entry_of[e - 1]] != node) return false;
    return true;
}

/* The distinct readers of a node that should have a copy each; fewer than 2: it shouldn't be copied. */
static int readers_of(const remake *r, uint32_t at, uint32_t list[MOST]) {
    const wick_node *node = r->graph->nodes[at];
    int n = 0;
    for (uint32_t e = r->head[at]; e; e = r->entry_next[e - 1]) {
        const uint32_t reader = r->entry_of[e - 1];
        const wick_node *by = r->graph->nodes[reader];
        const bool elementwise =
            by->op->flags & WICK_OP_ELEMENTWISE && wick_same_dims(&by->out[0].type, &node->out[0].type);
        if (!elementwise && !(by->op->flags & WICK_OP_REDUCE)) {
            if (widens(node)) continue; /* they share what is stored */
            return 0;
        }
        int i = 0;
        while (i < n && list[i] != reader) i++;
        if (i < n) continue;
        if (n == (widens(node) ? MOST : READERS)) return 0;
        list[n++] = reader;
    }
    return n;
}

/* What it saves that `readers` of a value have a copy each, in ns: against it being written by the kernel of the first
 * and read by the others. Copies read what the value is made of where their reader doesn't anyway. */
static double saves_ns(const remake *r, uint32_t at, const uint32_t *list, int readers, int others, double *stored) {
    const wick_node *node = r->graph->nodes[at];
    const wick_tuning *t = &r->graph->ctx->tuning;
    const double size = (double)wick_type_bytes(&node->out[0].type), around = size * (readers + others);
    wick_work again = {0};
    const wick_program_shape p = {
        .n = (double)wick_type_count(&node->out[0].type), .light = 1, .registers = node->n_in + 1};
    wick_work_program(&again, t, &p);
    const double arithmetic = wick_work_ns(t, &again, 0, 1) - (double)t->cost_step_ns;
    double made = 0;
    for (int i = 1 - (others > 0); i < readers; i++) {
        const wick_node *by = r->graph->nodes[list[i]];
        made += arithmetic;
        for (int k = 0; k < node->n_in; k++) {
            bool has = false;
            for (int j = 0; j < by->n_in; j++) has |= by->in[j] == node->in[k];
            if (!has) made += wick_bytes_ns(t, (double)wick_type_bytes(&node->in[k]->type), around);
        }
    }
    *stored = wick_bytes_ns(t, size * readers, around);
    return *stored - made;
}

static bool copy_for(remake *r, uint32_t at, uint32_t reader) {
    wick_graph *graph = r->graph;
    wick_node *node = graph->nodes[at], *copy = wick_graph_copy_node(graph, node, node->in);
    if (!copy) return false;
    const uint32_t number = (uint32_t)graph->n - 1;
    copy->position = number;
    wick_node *by = graph->nodes[reader];
    for (int k = 0; k < by->n_in; k++)
        if (by->in[k] == &node->out[0]) by->in[k] = &copy->out[0];
    reads(r, number);
    r->next_copy[number] = r->copies[at];
    r->copies[at] = number;
    return true;
}

static bool run(remake *r, size_t n, bool *is_output, wick_node **order) {
    wick_graph *graph = r->graph;
    for (size_t i = 0; i < n; i++) reads(r, (uint32_t)i);
    for (int i = 0; i < graph->n_outputs; i++) is_output[graph->outputs[i]->node->position] = true;
    for (uint32_t i = (uint32_t)n; i-- > 0;) {
        uint32_t list[MOST];
        if (is_output[i] || !is_cheap(graph->nodes[i]) || continues(r, graph->nodes[i])) continue;
        const int readers = readers_of(r, i, list);
        int others = 0; /* that read it whole: the node itself is theirs */
        for (uint32_t e = r->head[i]; e && widens(graph->nodes[i]); e = r->entry_next[e - 1]) {
            bool listed = false;
            for (int k = 0; k < readers; k++) listed |= list[k] == r->entry_of[e - 1];
            others += !listed;
        }
        if (readers + (others > 0) < 2 || graph->n + (size_t)readers > 2 * n) continue;
        double stored, saved = saves_ns(r, i, list, readers, others, &stored);
        /* memory is worth something, too: no more than storing takes */
        if (saved < -stored && !wick_live_target(graph->planning)) {
            wick_remark(graph->planning, "rematerialise", graph->nodes[i],
                        "stored for %d readers: making it again for each is predicted to take %.3g us more", readers,
                        -saved * 1e-3);
            continue;
        }
        wick_remark(graph->planning, "rematerialise", graph->nodes[i],
                    "made again for each of %d readers instead of stored: predicted to save %.3g us of %.3g", readers,
                    saved * 1e-3, stored * 1e-3);
        for (int k = others == 0; k < readers; k++)
            if (!copy_for(r, i, list[k])) return false;
    }
    size_t m = 0;
    for (size_t i = 0; i < n; i++) {
        order[m++] = graph->nodes[i];
        for (uint32_t c = r->copies[i]; c; c = r->next_copy[c]) order[m++] = graph->nodes[c];
    }
    memcpy(graph->nodes, order, m * sizeof *order);
    return true;
}

wick_status wick_pass_rematerialise(wick_graph *graph, wick_msg *msg) {
    const size_t n = graph->n;
    if (n == 0) return WICK_OK;
    wick_graph_number(graph);
    size_t entries = 3 * n; /* of copies, which have at most 3 inputs; and of what is there */
    for (size_t i = 0; i < n; i++) entries += graph->nodes[i]->n_in;
    const size_t words = 5 * n + 2 * entries, bytes = 2 * n * sizeof(wick_node *) + words * sizeof(uint32_t) + n;
    wick_node **order = wick_calloc(&graph->ctx->alloc, bytes);
    if (!order) return wick_msg_set(msg, WICK_ERR_NOMEM, "out of memory rematerialising");
    uint32_t *memory = (uint32_t *)(order + 2 * n);
    remake r = {.graph = graph,
                .head = memory,
                .next_copy = memory + 2 * n,
                .copies = memory + 4 * n,
                .entry_of = memory + 5 * n,
                .entry_next = memory + 5 * n + entries};
    const bool good = run(&r, n, (bool *)(memory + words), order);
    wick_release(&graph->ctx->alloc, order, bytes);
    return good ? WICK_OK : wick_msg_set(msg, WICK_ERR_NOMEM, "out of memory rematerialising");
}
