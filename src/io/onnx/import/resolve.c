/* resolve.c: names become slots. Every graph, and every function's body, becomes a block: its steps know their rows,
 * and where their inputs lie. */
#include "io/onnx/onnx.h"

#include <stdlib.h>

static const onnx_family *const families[] = {&wick_onnx_math,
                                              &wick_onnx_shape,
                                              &wick_onnx_nn,
                                              &wick_onnx_reduce,
                                              &wick_onnx_host_values,
                                              &wick_onnx_image,
                                              &wick_onnx_loss,
                                              &wick_onnx_control,
                                              &wick_onnx_attention,
                                              &wick_onnx_preview,
                                              &wick_onnx_recurrent,
                                              &wick_onnx_signal,
                                              &wick_onnx_quant,
                                              &wick_onnx_ml,
                                              &wick_onnx_looked_up,
                                              &wick_onnx_training,
                                              &wick_onnx_trees,
                                              &wick_onnx_classifiers,
                                              &wick_onnx_contrib,
                                              &wick_onnx_contrib_quant,
                                              &wick_onnx_contrib_attention,
                                              &wick_onnx_older};

wick_onnx_row wick_onnx_row_at(int i) {
    size_t at = i < 0 ? SIZE_MAX : (size_t)i;
    for (size_t f = 0; f < WICK_COUNTOF(families) && at != SIZE_MAX; at -= families[f++]->n) {
        if (at >= families[f]->n) continue;
        const onnx_op *op = &families[f]->ops[at];
        return (wick_onnx_row){families[f]->domain, op->name, op->since, op->until};
    }
    return (wick_onnx_row){0};
}

/* ---- rows by name ------------------------------------------------------------------------------------------------ */

typedef struct row {
    const char *domain;
    const onnx_op *op;
} row;
enum { ROWS = 1024 }; /* a power of two, well above the number of all rows */

typedef struct rows {
    row at[ROWS];
} rows;

static void index_rows(rows *table) {
    memset(table, 0, sizeof *table);
    for (size_t f = 0; f < WICK_COUNTOF(families); f++)
        for (size_t i = 0; i < families[f]->n; i++) {
            const onnx_op *op = &families[f]->ops[i];
            size_t at = wick_hash(op->name, strlen(op->name), 0) % ROWS;
            while (table->at[at].op) at = (at + 1) % ROWS;
            table->at[at] = (row){families[f]->domain, op};
        }
}

static const onnx_op *find_row(const rows *table, wick_bytes domain, wick_bytes name, int64_t opset) {
    for (size_t at = wick_hash(name.at, name.size, 0) % ROWS; table->at[at].op; at = (at + 1) % ROWS) {
        const row *r = &table->at[at];
        if (wick_bytes_are(name, r->op->name) && wick_bytes_are(domain, r->domain) && opset >= r->op->since &&
            (!r->op->until || opset <= r->op->until))
            return r->op;
    }
    return NULL;
}

bool wick_onnx_call_as(onnx_call *c, const char *name, int opset, int n, wick_tensor *const *in) {
    const onnx_op *op = NULL;
    for (size_t f = 0; f < WICK_COUNTOF(families) && !op; f++)
        for (size_t i = 0; i < families[f]->n && !*families[f]->domain; i++) {
            const onnx_op *at = &families[f]->ops[i];
            if (!strcmp(at->name, name) && opset >= at->since && (!at->until || opset <= at->until)) op = at;
        }
    onnx_value *values = wick_onnx_alloc(c, (size_t)n, sizeof *values);
    const onnx_value **args = values ? wick_onnx_alloc(c, (size_t)n, sizeof(onnx_value *)) : NULL;
    if (!args) return false;
    if (!op) return wick_onnx_fail(c, WICK_ERR_INTERNAL, "there is no row %s-%d", name, opset);
    for (int i = 0; i < n; i++) {
        if (!in[i]) continue;
        values[i] = (onnx_value){{.kind = WICK_VALUE_TENSOR, .tensor = in[i]}, c->dynamic};
        args[i] = &values[i];
    }
    const onnx_call was = *c;
    onnx_step step = *c->step;
    step.op = op;
    c->step = &step, c->in = args, c->n_in = n, c->opset = opset;
    op->fn(c);
    c->step = was.step, c->in = was.in, c->n_in = was.n_in, c->opset = was.opset;
    return c->status == WICK_OK;
}

/* ---- names of a block -------------------------------------------------------------------------------------------- */

typedef struct scope {
    const struct scope *parent;
    const onnx_block *block;
    struct name {
        wick_bytes text;
        int32_t slot;
        bool used;
    } * names;
    size_t cap; /* a power of two */
    const onnx_opset *opsets;
    size_t n_opsets;
    wick_watch *watch;
} scope;

typedef struct resolver {
    wick_onnx *onnx;
    const rows *rows;
    wick_str missing; /* ops without a row */
} resolver;

/* A file may have chosen names of one hash: each look past the first counts. */
static struct name *look(const scope *s, wick_bytes text) {
    size_t at = wick_hash(text.at, text.size, 1) & (s->cap - 1), n = 1;
    for (; s->names[at].used && !wick_bytes_equal(s->names[at].text, text); n++) at = (at + 1) & (s->cap - 1);
    wick_watch_spend(s->watch, 4 * n);
    return &s->names[at];
}

/* A slot of its own for the name; -1: it has one. */
static int32_t define(const scope *s, onnx_block *b, wick_bytes text) {
    struct name *n = look(s, text);
    if (n->used) return -1;
    *n = (struct name){text, b->n_slots, true};
    return b->n_slots++;
}

static bool find(const scope *s, wick_bytes text, onnx_ref *out) {
    for (int32_t up = 0; s; s = s->parent, up++) {
        const struct name *n = look(s, text);
        if (n->used) return *out = (onnx_ref){up, n->slot}, true;
    }
    return false;
}

enum { SHOWN = 80 };
static const char *show(char buf[SHOWN], wick_bytes b) {
    size_t n = WICK_MIN(b.size, (size_t)SHOWN - 1);
    for (size_t i = 0; i < n; i++) buf[i] = (unsigned char)b.at[i] < 32 || b.at[i] == 127 ? '?' : b.at[i];
    buf[n] = 0;
    if (n < b.size) memcpy(buf + n - 3, "...", 3);
    return buf;
}

static wick_status fail(const resolver *r, size_t place, wick_status status, const char *what, wick_bytes name,
                        const char *why) {
    char shown[SHOWN];
    return wick_msg_set(&r->onnx->msg, status, "%s: %s \"%s\" (byte %zu): %s", r->onnx->path, what, show(shown, name),
                        place, why);
}

static wick_status no_memory(const resolver *r) {
    return wick_msg_set(&r->onnx->msg, WICK_ERR_NOMEM, "%s: out of memory", r->onnx->path);
}

static void *take(const resolver *r, size_t n, size_t size) {
    size_t bytes;
    const size_t max = r->onnx->limits.memory;
    if (wick_mul_overflows(n, size, &bytes) || bytes > max || r->onnx->arena.bytes > max - bytes) return NULL;
    return wick_arena_zalloc(&r->onnx->arena, bytes);
}

static int64_t opset_of(const scope *s, wick_bytes domain) {
    for (; s; s = s->parent)
        for (size_t i = 0; i < s->n_opsets && wick_watch_spend(s->watch, 2); i++) {
            if (wick_bytes_equal(wick_onnx_domain(s->opsets[i].domain), domain)) return s->opsets[i].version;
        }
    return 0;
}

static wick_status resolve_block(resolver *r, onnx_block *b, scope *s, size_t n_names, const onnx_node *nodes,
                                 size_t n);

/* The bodies among the node's attributes. */
static wick_status resolve_bodies(resolver *r, onnx_step *step, const scope *s, int depth) {
    const onnx_node *node = step->node;
    for (size_t i = 0; i < node->attrs.n; i++) {
        const onnx_graph *g = node->attrs.at[i].g;
        if (!g) continue;
        if (!step->bodies && !(step->bodies = take(r, node->attrs.n, sizeof *step->bodies))) return no_memory(r);
        if (depth >= r->onnx->limits.depth)
            return fail(r, g->head.place, WICK_ERR_UNSUPPORTED, "graph", g->name,
                        "graphs lie within each other deeper than the limit");
        onnx_block *body = take(r, 1, sizeof *body);
        if (!body) return no_memory(r);
        step->bodies[i] = body;
        body->graph = g;
        body->parent = s->block;
        scope inner = {.parent = s, .block = body, .watch = s->watch};
        WICK_TRY(resolve_block(r, body, &inner, 0, g->nodes.at, g->nodes.n));
    }
    return WICK_OK;
}

static const onnx_function *find_function(const resolver *r, wick_bytes domain, wick_bytes name, wick_bytes overload,
                                          size_t *index) {
    for (size_t i = 0; i < r->onnx->proto.functions.n && wick_watch_spend(&r->onnx->ctx->watch, 2); i++) {
        const onnx_function *f = &r->onnx->proto.functions.at[i];
        if (wick_bytes_equal(f->name, name) && wick_bytes_equal(wick_onnx_domain(f->domain), domain) &&
            wick_bytes_equal(f->overload, overload))
            return *index = i, f;
    }
    return NULL;
}

static void note_missing(resolver *r, wick_bytes domain, wick_bytes op, int64_t opset) {
    char a[SHOWN], b[SHOWN], text[2 * SHOWN + 32];
    wick_str one = wick_str_on(text, sizeof text);
    wick_str_add(&one, "%s%s%s-%lld", show(a, domain), domain.size ? "::" : "", show(b, op), (long long)opset);
    for (const char *at = r->missing.at; (at = strstr(at, text)); at++) {
        const char end = at[one.len];
        if ((at == r->missing.at || at[-1] == ' ') && (!end || end == ',')) return;
    }
    wick_str_add(&r->missing, "%s%s", r->missing.len ? ", " : "", text);
}

static const char *place_of(resolver *r, const onnx_node *node) {
    char a[SHOWN], b[SHOWN], text[2 * SHOWN + 300];
    wick_str s = wick_str_on(text, sizeof text);
    const char *file = strrchr(r->onnx->path, '/');
    wick_str_add(&s, "%s: %s", file ? file + 1 : r->onnx->path, show(a, node->op));
    wick_bytes name = node->name.size || !node->out.n ? node->name : node->out.at[0];
    wick_str_add(&s, " \"%s\"", show(b, name));
    return wick_arena_strdup(&r->onnx->arena, text);
}

static wick_status resolve_step(resolver *r, onnx_block *b, onnx_step *step, const scope *s, int depth) {
    const onnx_node *node = step->node;
    const wick_bytes domain = wick_onnx_domain(node->domain);
    if (!node->op.size) return fail(r, node->head.place, WICK_ERR_FORMAT, "node", node->name, "has no op_type");
    step->place = place_of(r, node);
    step->n_in = (int)WICK_MIN(node->in.n, (size_t)INT32_MAX);
    step->n_out = (int)WICK_MIN(node->out.n, (size_t)INT32_MAX);
    step->in = take(r, node->in.n, sizeof *step->in);
    step->out = take(r, node->out.n, sizeof *step->out);
    if (!step->in || !step->out || !step->place) return no_memory(r);
    for (int i = 0; i < step->n_in; i++) {
        step->in[i] = (onnx_ref){0, -1};
        if (node->in.at[i].size && !find(s, node->in.at[i], &step->in[i]))
            return fail(r, node->head.place, WICK_ERR_FORMAT, "node input", node->in.at[i],
                        "is made by nothing before the node");
    }
    WICK_TRY(resolve_bodies(r, step, s, depth));
    for (int i = 0; i < step->n_out; i++) {
        step->out[i] = -1;
        if (node->out.at[i].size && (step->out[i] = define(s, b, node->out.at[i])) < 0)
            return fail(r, node->head.place, WICK_ERR_FORMAT, "node output", node->out.at[i],
                        "has a name that is taken");
    }
    const int64_t opset = opset_of(s, domain);
    step->opset = (int)WICK_MAX(1, WICK_MIN(opset, 1000000));
    step->types = wick_onnx_types_of(node, step->opset);
    size_t index;
    if ((step->decl = find_function(r, domain, node->op, node->overload, &index)))
        step->function = r->onnx->function_blocks[index];
    else if (!(step->op = find_row(r->rows, domain, node->op, step->opset)))
        note_missing(r, domain, node->op, step->opset);
    else if (!opset &&
             !wick_bytes_are(domain, "com.microsoft")) /* which has no versions, and which some tools do not name */
        return fail(r, node->head.place, WICK_ERR_FORMAT, "node",
                    node->name.size || !node->out.n ? node->name : node->out.at[0],
                    domain.size ? "is of a domain that opset_import does not name"
                                : "is an op of ONNX, of no opset: opset_import names other domains alone");
    return WICK_OK;
}

static int depth_of(const onnx_block *b) {
    int depth = 0;
    while ((b = b->parent)) depth++;
    return depth;
}

/* `s` has the block's parameters already where it is a function's. n_names: of those. */
static wick_status resolve_block(resolver *r, onnx_block *b, scope *s, size_t n_names, const onnx_node *nodes,
                                 size_t n) {
    const onnx_graph *g = b->graph;
    size_t most = n_names;
    if (g) most += g->in.n + g->initializers.n + g->sparse.n;
    for (size_t i = 0; i < n; i++) most += nodes[i].out.n;
    if (most > INT32_MAX / 4) return no_memory(r);
    if (g) {
        for (s->cap = 16; s->cap < 2 * most; s->cap *= 2) {
        }
        s->names = wick_calloc(&r->onnx->ctx->alloc, s->cap * sizeof *s->names);
        if (!s->names) return no_memory(r);
    }
    wick_status status = WICK_OK;
    b->most_in = b->most_out = 1;
    b->steps = take(r, n, sizeof *b->steps);
    b->weights = g ? take(r, g->initializers.n + g->sparse.n, sizeof *b->weights) : NULL;
    if (g) b->in = take(r, g->in.n, sizeof *b->in), b->out = take(r, g->out.n, sizeof *b->out);
    if (!b->steps || (g && (!b->weights || !b->in || !b->out))) status = no_memory(r);
    for (size_t i = 0; g && status == WICK_OK && i < g->in.n; i++) {
        b->in[i] = define(s, b, g->in.at[i].name);
        if (b->in[i] < 0)
            status = fail(r, g->in.at[i].head.place, WICK_ERR_FORMAT, "graph input", g->in.at[i].name,
                          "has a name that is taken");
        b->n_in = (int)i + 1;
    }
    for (size_t i = 0; g && status == WICK_OK && i < g->initializers.n + g->sparse.n; i++) {
        const bool dense = i < g->initializers.n;
        const onnx_tensor *t = dense ? &g->initializers.at[i] : NULL;
        const onnx_sparse *sparse = dense ? NULL : &g->sparse.at[i - g->initializers.n];
        if (sparse && !sparse->values) {
            status =
                fail(r, sparse->head.place, WICK_ERR_FORMAT, "sparse_initializer", (wick_bytes){0}, "has no values");
            break;
        }
        const wick_bytes name = dense ? t->name : sparse->values->name;
        const struct name *known = look(s, name);
        const bool was_used = known->used; /* inputs may have initializers: their defaults */
        const int32_t slot = was_used ? known->slot : define(s, b, name);
        if (was_used && slot >= b->n_in)
            status = fail(r, dense ? t->head.place : sparse->head.place, WICK_ERR_FORMAT, "initializer", name,
                          "is there twice");
        b->weights[b->n_weights++] = (struct onnx_weight){.slot = slot, .tensor = t, .sparse = sparse};
    }
    for (size_t i = 0; status == WICK_OK && i < n; i++) {
        b->steps[i].node = &nodes[i];
        b->most_in = WICK_MAX(b->most_in, nodes[i].in.n);
        b->most_out = WICK_MAX(b->most_out, nodes[i].out.n);
        status = wick_onnx_late(r->onnx, 256, r->onnx->path);
        if (status == WICK_OK) status = resolve_step(r, b, &b->steps[i], s, depth_of(b) + 1);
        b->n = i + 1;
        r->onnx->steps++;
    }
    for (size_t i = 0; g && status == WICK_OK && i < g->out.n; i++) {
        if (!g->out.at[i].name.size) b->out[i] = (onnx_ref){0, -1};
        else if (!find(s, g->out.at[i].name, &b->out[i]))
            status = fail(r, g->out.at[i].head.place, WICK_ERR_FORMAT, "graph output", g->out.at[i].name,
                          "is made by nothing");
        b->n_out = (int)i + 1;
    }
    if (g) wick_release(&r->onnx->ctx->alloc, s->names, s->cap * sizeof *s->names);
    return status;
}

static wick_status resolve_function(resolver *r, const onnx_function *f, onnx_block *b) {
    size_t most = f->in.n;
    for (size_t i = 0; i < f->nodes.n; i++) most += f->nodes.at[i].out.n;
    if (most > INT32_MAX / 4) return no_memory(r);
    scope s = {.block = b, .opsets = f->opsets.at, .n_opsets = f->opsets.n, .watch = &r->onnx->ctx->watch};
    for (s.cap = 16; s.cap < 2 * most; s.cap *= 2) {
    }
    s.names = wick_calloc(&r->onnx->ctx->alloc, s.cap * sizeof *s.names);
    b->in = take(r, f->in.n, sizeof *b->in);
    b->out = take(r, f->out.n, sizeof *b->out);
    wick_status status = s.names && b->in && b->out ? WICK_OK : no_memory(r);
    for (size_t i = 0; status == WICK_OK && i < f->in.n; i++) {
        if ((b->in[i] = define(&s, b, f->in.at[i])) < 0)
            status = fail(r, f->head.place, WICK_ERR_FORMAT, "function", f->name, "has two inputs of one name");
        b->n_in = (int)i + 1;
    }
    if (status == WICK_OK) status = resolve_block(r, b, &s, f->in.n, f->nodes.at, f->nodes.n);
    for (size_t i = 0; status == WICK_OK && i < f->out.n; i++) {
        if (!find(&s, f->out.at[i], &b->out[i]))
            status = fail(r, f->head.place, WICK_ERR_FORMAT, "function output", f->out.at[i], "is made by nothing");
        b->n_out = (int)i + 1;
    }
    wick_release(&r->onnx->ctx->alloc, s.names, s.cap * sizeof *s.names);
    return status;
}

wick_status wick_onnx_resolve(wick_onnx *onnx) {
    enum { MISSING_MAX = 4096 };
    const onnx_model *m = &onnx->proto;
    resolver r = {.onnx = onnx};
    rows *table = wick_alloc(&onnx->ctx->alloc, sizeof *table);
    char *missing = take(&r, 1, MISSING_MAX);
    onnx->function_blocks = take(&r, m->functions.n, sizeof *onnx->function_blocks);
    onnx->main = take(&r, 1, sizeof *onnx->main);
    wick_status status = table && missing && onnx->function_blocks && onnx->main ? WICK_OK : no_memory(&r);
    if (status == WICK_OK) {
        index_rows(table);
        r.rows = table;
        r.missing = wick_str_on(missing, MISSING_MAX);
    }
    for (size_t i = 0; status == WICK_OK && i < m->functions.n; i++)
        if (!(onnx->function_blocks[i] = take(&r, 1, sizeof **onnx->function_blocks))) status = no_memory(&r);
    for (size_t i = 0; status == WICK_OK && i < m->functions.n; i++)
        status = resolve_function(&r, &m->functions.at[i], onnx->function_blocks[i]);
    static const onnx_opset first = {.version = 1};
    const scope s = {.opsets = m->opsets.n ? m->opsets.at : &first,
                     .n_opsets = m->opsets.n ? m->opsets.n : 1,
                     .watch = &onnx->ctx->watch};
    scope main = s;
    main.block = onnx->main;
    onnx->main->graph = m->graph;
    if (status == WICK_OK) status = resolve_block(&r, onnx->main, &main, 0, m->graph->nodes.at, m->graph->nodes.n);
    onnx->unsupported = missing ? missing : "";
    wick_release(&onnx->ctx->alloc, table, sizeof *table);
    return status;
}
