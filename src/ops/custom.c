/* custom.c: ops from outside. A definition becomes a wick_op of the context's own, whose functions ask it; plans know
 * the op by that address, one for each name and version. */
#include "ops/ops.h"
#include "wick/custom.h"

struct wick_custom_op {
    wick_op op; /* first: what nodes point to */
    wick_custom_def def;
    wick_context *ctx;
    wick_custom_op *next;
    size_t size;
    char texts[]; /* name, doc */
};

static const wick_custom_op *custom_of(const wick_op *op) { return (const wick_custom_op *)(const void *)op; }
static const void *attr_of(const wick_custom_op *c, const void *attr) { return c->def.attr_size ? attr : NULL; }

static wick_spec spec_of(const wick_type *t) {
    wick_spec s = {.dtype = (wick_dtype)t->dtype, .rank = t->rank};
    memcpy(s.dims, t->dims, sizeof s.dims);
    return s;
}

/* Specs of a node's inputs and results. */
typedef struct ports {
    wick_spec in[WICK_CUSTOM_INPUTS], out[WICK_CUSTOM_RESULTS];
} ports;
static void ports_of(const wick_node *node, ports *p) {
    for (int i = 0; i < node->n_in; i++) p->in[i] = spec_of(&node->in[i]->type);
    for (int k = 0; k < node->n_out; k++) p->out[k] = spec_of(&node->out[k].type);
}

static wick_status infer_custom(wick_infer *i) {
    const wick_custom_op *c = custom_of(i->op);
    wick_spec in[WICK_CUSTOM_INPUTS], out[WICK_CUSTOM_RESULTS];
    for (int k = 0; k < i->n_in; k++) {
        if (!wick_type_is_static(i->in[k]))
            return wick_infer_fail(i, WICK_ERR_UNSUPPORTED, "a custom op needs shapes that are known");
        in[k] = spec_of(i->in[k]);
    }
    memset(out, 0, sizeof out);
    char text[256] = "";
    const wick_status status =
        c->def.shape(c->def.user, attr_of(c, i->attr), i->n_in, in, i->n_out, out, text, sizeof text);
    text[sizeof text - 1] = 0;
    if (status != WICK_OK) return wick_infer_fail(i, status, "%s", text[0] ? text : "its shape rule refuses");
    for (int k = 0; k < i->n_out; k++) {
        const uint16_t device = i->out[k].device;
        if ((unsigned)out[k].dtype >= WICK_DTYPE_COUNT ||
            !wick_type_make(&i->out[k], out[k].dtype, out[k].rank, out[k].dims))
            return wick_infer_fail(i, WICK_ERR_SHAPE, "its shape rule gives result %d no valid shape and dtype", k);
        i->out[k].device = device;
    }
    return WICK_OK;
}

static double flops_custom(const wick_node *node) {
    const wick_custom_op *c = custom_of(node->op);
    if (!c->def.flops) return (double)wick_type_count(&node->out[0].type);
    ports p;
    ports_of(node, &p);
    return c->def.flops(c->def.user, attr_of(c, node->attr), node->n_in, p.in, node->n_out, p.out);
}

static void grad_custom_op(wick_gradient *g) {
    const wick_custom_op *c = custom_of(g->node->op);
    const wick_custom_gradients asked = {.n_in = g->n_in,
                                         .n_out = g->n_out,
                                         .in = g->in,
                                         .out = g->out,
                                         .gout = g->gout,
                                         .need = g->need,
                                         .gin = g->gin,
                                         .attr = attr_of(c, g->node->attr),
                                         .user = c->def.user};
    c->def.gradient(&asked);
    for (int i = 0; i < g->n_in; i++) {
        const wick_tensor *gx = g->gin[i];
        const wick_type *x = &g->node->in[i]->type;
        if (gx && !gx->error && (!wick_same_dims(&gx->value->type, x) || gx->value->type.dtype != x->dtype))
            g->gin[i] =
                wick_poison(gx->ctx, WICK_ERR_SHAPE, "%s: gradient %d is %s, which is not its input's shape and dtype",
                            g->node->op->name, i, wick_shown_of(gx).text);
    }
}

/* What a step knows, in the plan's arena; so does the node, whose attributes these are. */
typedef struct custom_args {
    const wick_custom_op *op;
    const void *attr;
    int n_in, n_out;
    ports at;
} custom_args;

static int64_t run_custom(const void *args, void *const *ptr, int64_t begin, int64_t end, void *scratch) {
    const custom_args *a = args;
    const wick_custom_def *def = &a->op->def;
    const void *in[WICK_CUSTOM_INPUTS];
    for (int i = 0; i < a->n_in; i++) in[i] = ptr[i];
    const wick_custom_work work = {.n_in = a->n_in,
                                   .n_out = a->n_out,
                                   .in = a->at.in,
                                   .out = a->at.out,
                                   .in_data = in,
                                   .out_data = ptr + a->n_in,
                                   .attr = a->attr,
                                   .scratch = def->scratch_bytes ? scratch : NULL,
                                   .user = def->user};
    const int64_t fault = def->kernel(&work, begin, end);
    return def->effects & WICK_CUSTOM_FAILS ? fault : -1;
}

static wick_status lower_custom(wick_lower *l, wick_node *node) {
    const wick_custom_op *c = custom_of(node->op);
    custom_args a;
    memset(&a, 0, sizeof a);
    a = (custom_args){.op = c, .attr = attr_of(c, node->attr), .n_in = node->n_in, .n_out = node->n_out};
    ports_of(node, &a.at);
    wick_ref refs[WICK_CUSTOM_INPUTS + WICK_CUSTOM_RESULTS];
    double bytes = 0;
    for (int i = 0; i < node->n_in; i++) {
        wick_operand in;
        WICK_TRY(wick_lower_in_contiguous(l, node, i, &in));
        refs[i] = wick_lower_ref(&in, false);
        bytes += (double)wick_type_bytes(in.type);
    }
    for (int k = 0; k < node->n_out; k++) {
        wick_operand out;
        WICK_TRY(wick_lower_out(l, node, k, &out));
        refs[node->n_in + k] = wick_lower_ref(&out, true);
        bytes += (double)wick_type_bytes(out.type);
    }
    int64_t parts = 1;
    if (c->def.parts) parts = c->def.parts(c->def.user, a.attr, a.n_in, a.at.in, a.n_out, a.at.out);
    if (parts < 0) return wick_lower_fail(l, WICK_ERR_INVALID, "its work is cut into %lld parts", (long long)parts);
    wick_step step = {.name = c->op.name,
                      .run = run_custom,
                      .tasks = parts,
                      .scratch = c->def.scratch_bytes,
                      .flops = flops_custom(node),
                      .bytes = bytes};
    if (c->def.effects & WICK_CUSTOM_FAILS)
        step.fault = WICK_ERR_INVALID, step.fault_text = "its kernel refused (%lld)";
    return wick_lower_step(l, &step, &a, sizeof a, refs, node->n_in + node->n_out);
}

static void print_custom(wick_str *s, const wick_node *node) {
    wick_str_add(s, "version=%u", custom_of(node->op)->def.version);
}

/* ---- registering ------------------------------------------------------------------------------------------------- */

static bool is_name(const char *name) {
    size_t n = 0;
    for (; name && name[n] && n < 64; n++)
        if (!(name[n] >= 'a' && name[n] <= 'z') && !(n && (name[n] == '_' || (name[n] >= '0' && name[n] <= '9'))))
            return false;
    return n > 0 && n < 64;
}

/* What is wrong with it, or NULL. */
static const char *fault_of(const wick_custom_def *d) {
    if (!is_name(d->name))
        return "a name has letters a to z, digits and _, begins with a letter and has fewer than 64 bytes";
    for (int i = 0; i < wick_ops_count(); i++)
        if (!strcmp(wick_ops_at(i)->name, d->name)) return "a built-in op has that name";
    if (!d->shape || !d->kernel) return "it needs a shape rule and a kernel";
    if (d->min_inputs < 0 || d->max_inputs < d->min_inputs || d->max_inputs > WICK_CUSTOM_INPUTS)
        return "it may have 0 to 16 inputs";
    if (d->results < 1 || d->results > WICK_CUSTOM_RESULTS) return "it must have 1 to 8 results";
    if (d->effects & ~(unsigned)(WICK_CUSTOM_VARIES | WICK_CUSTOM_ACTS | WICK_CUSTOM_FAILS))
        return "it has an effect that there is not";
    if (d->attr_size > 4096) return "its attributes have more than 4096 bytes";
    if (d->scratch_bytes > (size_t)1 << 30) return "its scratch memory is more than 1 GiB";
    return NULL;
}

static bool same_definition(const wick_custom_def *a, const wick_custom_def *b) {
    return a->min_inputs == b->min_inputs && a->max_inputs == b->max_inputs && a->results == b->results &&
           a->effects == b->effects && a->attr_size == b->attr_size && a->scratch_bytes == b->scratch_bytes &&
           a->user == b->user && a->shape == b->shape && a->kernel == b->kernel && a->parts == b->parts &&
           a->flops == b->flops && a->gradient == b->gradient;
}

const wick_custom_op *wick_custom_find(wick_context *ctx, const char *name, unsigned version) {
    const wick_custom_op *c = ctx && name ? ctx->customs : NULL;
    while (c && (c->def.version != version || strcmp(c->def.name, name) != 0)) c = c->next;
    return c;
}

wick_status wick_custom_register(wick_context *ctx, const wick_custom_def *def, const wick_custom_op **op) {
    if (!op) return wick_context_fail(ctx, WICK_ERR_INVALID, "custom_register: op is NULL");
    *op = NULL;
    if (!def) return wick_msg_set(&ctx->msg, WICK_ERR_INVALID, "custom op: no definition");
    const char *fault = fault_of(def);
    if (fault)
        return wick_msg_set(&ctx->msg, WICK_ERR_INVALID, "custom op %.64s: %s", is_name(def->name) ? def->name : "",
                            fault);
    const wick_custom_op *known = wick_custom_find(ctx, def->name, def->version);
    if (known && !same_definition(&known->def, def))
        return wick_msg_set(&ctx->msg, WICK_ERR_INVALID,
                            "custom op %s: version %u is registered with another definition", def->name, def->version);
    if ((*op = known)) return WICK_OK;
    const char *doc = def->doc ? def->doc : "a custom op";
    const size_t name_size = strlen(def->name) + 1, doc_size = strlen(doc) + 1,
                 size = sizeof(wick_custom_op) + name_size + doc_size;
    wick_custom_op *c = wick_calloc(&ctx->alloc, size);
    if (!c) return wick_msg_set(&ctx->msg, WICK_ERR_NOMEM, "out of memory registering custom op %s", def->name);
    c->ctx = ctx;
    c->size = size;
    c->def = *def;
    c->def.name = memcpy(c->texts, def->name, name_size);
    c->def.doc = memcpy(c->texts + name_size, doc, doc_size);
    uint32_t flags = WICK_OP_POINTERS;
    if (def->effects & WICK_CUSTOM_VARIES) flags |= WICK_OP_VARIES;
    if (def->effects & WICK_CUSTOM_ACTS) flags |= WICK_OP_EFFECT;
    if (def->effects & WICK_CUSTOM_FAILS) flags |= WICK_OP_FAULTS;
    c->op = (wick_op){.name = c->def.name,
                      .doc = c->def.doc,
                      .min_in = (uint8_t)def->min_inputs,
                      .max_in = (uint8_t)def->max_inputs,
                      .n_out = (uint8_t)def->results,
                      .flags = flags,
                      .infer = infer_custom,
                      .grad = def->gradient ? grad_custom_op : NULL,
                      .flops = flops_custom,
                      .lower = lower_custom,
                      .print = print_custom};
    c->next = ctx->customs;
    ctx->customs = c;
    *op = c;
    return WICK_OK;
}

void wick_customs_free(wick_context *ctx) {
    while (ctx->customs) {
        wick_custom_op *c = ctx->customs;
        ctx->customs = c->next;
        wick_release(&ctx->alloc, c, c->size);
    }
}

/* ---- recording --------------------------------------------------------------------------------------------------- */

void wick_custom_record(const wick_custom_op *c, const void *attr, int n_in, wick_tensor *const *in,
                        wick_tensor **out) {
    if (!out) return;
    if (!c) {
        out[0] = n_in > 0 && in && in[0] ? wick_poison(in[0]->ctx, WICK_ERR_INVALID, "custom op: it is NULL") : NULL;
        return;
    }
    static const _Alignas(16) char zeros[4096];
    wick_tensor *wrong = n_in < 0 || n_in > WICK_CUSTOM_INPUTS || (n_in && !in)
                             ? wick_poison(c->ctx, WICK_ERR_INVALID, "%s: takes %d to %d inputs, not %d", c->op.name,
                                           c->def.min_inputs, c->def.max_inputs, in || n_in <= 0 ? n_in : 0)
                             : NULL;
    for (int k = 0; k < c->def.results && wrong; k++) out[k] = k ? wick_poison_like(c->ctx, wrong->error) : wrong;
    if (wrong) return;
    wick_record_n(c->ctx, &c->op, n_in, in, attr ? attr : zeros, c->def.attr_size, c->def.results, out);
    if (c->op.flags & WICK_OP_EFFECT && !c->ctx->target && !out[0]->error &&
        wick_effect_push(c->ctx, out[0]->value->node, NULL, NULL) != WICK_OK)
        for (int k = 0; k < c->def.results; k++) {
            wick_tensor *was = out[k];
            out[k] = k ? wick_poison_like(c->ctx, out[0]->error)
                       : wick_poison(c->ctx, c->ctx->msg.status, "%s", c->ctx->msg.text);
            wick_tensor_free(&was);
        }
}

wick_tensor *wick_custom_call(const wick_custom_op *c, const void *attr, int n_in, wick_tensor *const *in) {
    wick_tensor *out[WICK_CUSTOM_RESULTS] = {NULL};
    wick_custom_record(c, attr, n_in, in, out);
    for (int k = 1; c && k < c->def.results; k++) wick_tensor_free(&out[k]);
    return out[0];
}
