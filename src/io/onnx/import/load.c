/* load.c: a model file opened, asked about, recorded, compiled. */
#define WICK_NO_SITES
#include "io/onnx/onnx.h"

#include <stdlib.h>
#include <unistd.h>

enum { NEWEST_IR = 14, NEWEST_OPSET = 28 };
/* What a run may execute by default: each node takes more than a byte of the file, and loops have some rounds. What
 * models run is below 2000 nodes, the most of those known. */
enum { NODES_LEAST = 200000, NODES_MOST = 10000000 };
enum { WEIGHT_WORK = 1 << 10 }; /* of a weight, as a watch counts, besides its bytes */

/* ---- opening ----------------------------------------------------------------------------------------------------- */

wick_watch wick_onnx_begin(wick_onnx *onnx) {
    return wick_context_watch(onnx->ctx, wick_now_ns() + (uint64_t)(onnx->limits.seconds * 1e9));
}
wick_status wick_onnx_late(wick_onnx *onnx, size_t units, const char *where) {
    wick_watch *w = &onnx->ctx->watch;
    if (WICK_LIKELY(wick_watch_spend(w, units))) return WICK_OK;
    if (w->over == WICK_ERR_CANCELLED) return wick_msg_set(&onnx->msg, w->over, "%s: cancelled by the host", where);
    return wick_msg_set(&onnx->msg, w->over, "%s: takes longer than the limit of %g seconds", where,
                        onnx->limits.seconds);
}

static const char *terminated(wick_onnx *onnx, wick_bytes b) {
    char *s = wick_arena_alloc(&onnx->arena, b.size + 1);
    if (!s) return NULL;
    if (b.size) memcpy(s, b.at, b.size);
    s[b.size] = 0;
    return s;
}

/* Inputs that are numbers of the formula and not weights: bit i is input i. */
static const struct {
    const char *op;
    unsigned inputs;
} fixed_inputs[] = {
    {"BatchNormalization", 1u << 3 | 1u << 4}, /* the statistics: see wick_onnx_model */
    {"Resize", ~1u},
    {"Upsample", ~1u},
    {"Clip", ~1u},
    {"Pad", ~1u},
    {"Pow", ~1u},
    {"Dropout", ~1u},
    {"OneHot", ~0u},
    {"Range", ~0u},
    {"QuantizeLinear", ~1u},
    {"DequantizeLinear", ~1u},
    {"QLinearConv", ~0u},
    {"QLinearMatMul", ~0u},
    {"ConvInteger", ~0u},
    {"MatMulInteger", ~0u},
    {"NonMaxSuppression", ~0u},
    {"Where", 1u},
    {"STFT", ~1u},
    {"MelWeightMatrix", ~0u},
};
bool wick_onnx_is_fixed_input(const onnx_step *step, int input) {
    for (size_t i = 0; i < WICK_COUNTOF(fixed_inputs); i++)
        if (wick_bytes_are(step->node->op, fixed_inputs[i].op))
            return fixed_inputs[i].inputs >> WICK_MIN(input, 31) & 1;
    return false;
}

/* Notes in read[] the slots of the block `up` levels outward that a step reads as weights. */
static void note_read(const onnx_block *b, int32_t up, bool *read) {
    for (size_t i = 0; i < b->n; i++) {
        const onnx_step *step = &b->steps[i];
        for (int k = 0; k < step->n_in; k++)
            if (step->in[k].slot >= 0 && step->in[k].up == up && !wick_onnx_is_fixed_input(step, k))
                read[step->in[k].slot] = true;
        for (size_t a = 0; step->bodies && a < step->node->attrs.n; a++)
            if (step->bodies[a]) note_read(step->bodies[a], up + 1, read);
    }
}

/* The tensor's name in the model, where it can have one: NULL where not. */
static wick_status adopt(wick_onnx *onnx, wick_bytes name, wick_tensor *t, bool trained, const char **state) {
    const char *text = terminated(onnx, name);
    if (!text) return WICK_ERR_NOMEM;
    const wick_status status =
        wick_model_adopt(onnx->model, text, trained && wick_onnx_is_float(t) ? WICK_ROLE_PARAM : WICK_ROLE_BUFFER, t);
    if (status == WICK_ERR_NOMEM) return status;
    if (status == WICK_OK) *state = text;
    wick_context_clear_error(onnx->ctx);
    return WICK_OK;
}

/* The tensor of a Constant, which is a weight too: some exporters write them all so. */
static wick_status read_constant(wick_onnx *onnx, onnx_step *step, const bool *read) {
    const onnx_node *node = step->node;
    if (!step->op || !wick_bytes_are(node->op, "Constant") || node->attrs.n != 1 || node->out.n != 1) return WICK_OK;
    const onnx_attr *a = &node->attrs.at[0];
    if (!a->t || a->reference.size || !wick_bytes_are(a->name, "value")) return WICK_OK;
    wick_onnx_value value = {0}; /* what fails is not the step's */
    WICK_TRY(wick_onnx_read_tensor(onnx, a->t, &value, &onnx->arena, &onnx->msg));
    step->constant.v = value;
    if (value.kind != WICK_VALUE_TENSOR) return WICK_OK;
    wick_tensor *t = wick_retain(value.tensor); /* freed with the model */
    if (read && adopt(onnx, node->out.at[0], t, wick_tensor_rank(t) > 1 && step->out[0] >= 0 && read[step->out[0]],
                      &step->state) != WICK_OK)
        return wick_msg_set(&onnx->msg, WICK_ERR_NOMEM, "%s: out of memory", onnx->path);
    return WICK_OK;
}

/* Those of the block and of the bodies in it. read: which slots of the main graph are read as weights; NULL: it is not
 * the main graph. */
static wick_status read_weights(wick_onnx *onnx, onnx_block *b, const bool *read) {
    for (size_t i = 0; i < b->n_weights; i++) {
        struct onnx_weight *w = &b->weights[i];
        WICK_TRY(wick_onnx_late(onnx, WEIGHT_WORK, onnx->path));
        wick_onnx_value value = {0}; /* what fails is not the weight's */
        WICK_TRY(w->tensor ? wick_onnx_read_tensor(onnx, w->tensor, &value, &onnx->arena, &onnx->msg)
                           : wick_onnx_read_sparse(onnx, w->sparse, &value, &onnx->arena, &onnx->msg));
        w->value.v = value;
        if (value.kind != WICK_VALUE_TENSOR) continue;
        wick_tensor *t = wick_retain(value.tensor); /* freed with the model */
        if (read && adopt(onnx, w->tensor ? w->tensor->name : w->sparse->values->name, t,
                          wick_tensor_rank(t) > 0 && read[w->slot], &w->state) != WICK_OK)
            return wick_msg_set(&onnx->msg, WICK_ERR_NOMEM, "%s: out of memory", onnx->path);
    }
    for (size_t i = 0; i < b->n; i++) {
        WICK_TRY(wick_onnx_late(onnx, 16, onnx->path));
        WICK_TRY(read_constant(onnx, &b->steps[i], read));
    }
    for (size_t i = 0; i < b->n; i++)
        for (size_t k = 0; b->steps[i].bodies && k < b->steps[i].node->attrs.n; k++)
            if (b->steps[i].bodies[k])
                WICK_TRY(read_weights(onnx, (onnx_block *)(uintptr_t)b->steps[i].bodies[k], NULL));
    return WICK_OK;
}

static void drop_weights(onnx_block *b) {
    if (!b) return;
    for (size_t i = 0; i < b->n_weights; i++) wick_tensor_free(&b->weights[i].value.v.tensor);
    for (size_t i = 0; i < b->n; i++) wick_onnx_drop_step(&b->steps[i]);
}
void wick_onnx_drop_step(onnx_step *step) {
    wick_tensor_free(&step->constant.v.tensor);
    for (int k = 0; k < ONNX_KEPT; k++) wick_tensor_free(&step->kept[k]);
    for (size_t k = 0; step->bodies && k < step->node->attrs.n; k++)
        drop_weights((onnx_block *)(uintptr_t)step->bodies[k]);
}

static wick_status make_ports(wick_onnx *onnx);
static wick_status make_counts(wick_onnx *onnx);

/* The versions are ones that there are, and a domain has one. Of domains that Wick does not know, nothing but that they
 * are above 0. */
static wick_status check_opsets(wick_onnx *onnx, const onnx_opset *list, size_t n) {
    static const struct {
        const char *domain;
        int newest;
    } known[] = {{"", NEWEST_OPSET},
                 {"ai.onnx.ml", 5},
                 {"ai.onnx.training", 1},
                 {"ai.onnx.preview.training", 1},
                 {"com.microsoft", 1}};
    for (size_t i = 0; i < n; i++) {
        const wick_bytes domain = wick_onnx_domain(list[i].domain);
        const long long version = (long long)list[i].version;
        const int shown = (int)WICK_MIN(domain.size, (size_t)80);
        WICK_TRY(wick_onnx_late(onnx, 16 + 4 * i, onnx->path));
        const char *of = domain.size ? " of the domain " : "";
        if (version < 1)
            return wick_msg_set(&onnx->msg, WICK_ERR_VERSION, "%s: opset %lld%s%.*s: the first is 1", onnx->path,
                                version, of, shown, domain.at);
        for (size_t k = 0; k < WICK_COUNTOF(known); k++)
            if (wick_bytes_are(domain, known[k].domain) && version > known[k].newest)
                return wick_msg_set(&onnx->msg, WICK_ERR_VERSION, "%s: opset %lld%s%.*s is newer than %d", onnx->path,
                                    version, of, shown, domain.at, known[k].newest);
        for (size_t k = 0; k < i; k++)
            if (wick_bytes_equal(wick_onnx_domain(list[k].domain), domain) && list[k].version != list[i].version)
                return wick_msg_set(&onnx->msg, WICK_ERR_FORMAT,
                                    "%s: opset_import names two opsets%s%.*s, %lld and %lld", onnx->path, of, shown,
                                    domain.at, (long long)list[k].version, version);
    }
    return WICK_OK;
}

static wick_status open_file(wick_onnx *onnx, const char *path, const wick_map *taken) {
    wick_map map = *taken;
    if (!map.data) WICK_TRY(wick_map_open(&map, path, &onnx->msg));
    onnx->own_pages = wick_onnx_pages_new(&map, "");
    if (!onnx->own_pages) {
        wick_map_close(&map);
        return wick_msg_set(&onnx->msg, WICK_ERR_NOMEM, "%s: out of memory", path);
    }
    if (map.size >= 2 && (!memcmp(map.data, "PK", 2) || map.data[0] == 0x80))
        return wick_msg_set(&onnx->msg, WICK_ERR_FORMAT,
                            "%s: not an ONNX file, but a pickle or archive as PyTorch writes: torch.onnx.export(model, "
                            "...) makes ONNX of a model",
                            path);
    if (!onnx->limits.nodes) onnx->limits.nodes = (int64_t)WICK_MIN(NODES_MOST, NODES_LEAST + map.size);
    const wick_proto_limits limits = {.memory = onnx->limits.memory, .watch = &onnx->ctx->watch};
    const wick_status status = wick_proto_decode(&wick_onnx_model_message, map.data, map.size, &limits, &onnx->arena,
                                                 &onnx->proto, &onnx->msg);
    if (status != WICK_OK) return wick_msg_prefix(&onnx->msg, "%s: ", path);
    const onnx_model *m = &onnx->proto;
    if (!m->graph) return wick_msg_set(&onnx->msg, WICK_ERR_FORMAT, "%s: not an ONNX model: it has no graph", path);
    if (m->ir_version > NEWEST_IR)
        return wick_msg_set(&onnx->msg, WICK_ERR_VERSION, "%s: ir_version %lld is newer than %d", path,
                            (long long)m->ir_version, NEWEST_IR);
    if (m->ir_version < 0)
        return wick_msg_set(&onnx->msg, WICK_ERR_FORMAT, "%s: ir_version %lld: the first is 1", path,
                            (long long)m->ir_version);
    if (!m->opsets.n && m->ir_version != 1 && m->ir_version != 2) /* those have opset 1 */
        return wick_msg_set(&onnx->msg, WICK_ERR_FORMAT,
                            "%s: opset_import is missing: the file does not say which version its ops are of", path);
    WICK_TRY(check_opsets(onnx, m->opsets.at, m->opsets.n));
    for (size_t i = 0; i < m->functions.n; i++)
        WICK_TRY(check_opsets(onnx, m->functions.at[i].opsets.at, m->functions.at[i].opsets.n));
    WICK_TRY(wick_onnx_resolve(onnx));
    WICK_TRY(make_ports(onnx));
    bool *read = wick_calloc(&onnx->ctx->alloc, (size_t)onnx->main->n_slots + 1);
    if (!read) return wick_msg_set(&onnx->msg, WICK_ERR_NOMEM, "%s: out of memory", path);
    note_read(onnx->main, 0, read);
    const wick_status weights = read_weights(onnx, onnx->main, read);
    wick_release(&onnx->ctx->alloc, read, (size_t)onnx->main->n_slots + 1);
    WICK_TRY(weights);
    for (size_t i = 0; i < m->functions.n; i++) WICK_TRY(read_weights(onnx, onnx->function_blocks[i], NULL));
    WICK_TRY(make_counts(onnx));
    return wick_onnx_view_texts(onnx);
}

wick_status wick_onnx_open(wick_context *ctx, const char *path, const wick_onnx_limits *limits, wick_onnx **out) {
    return wick_onnx_open_map(ctx, path, NULL, limits, out);
}

wick_status wick_onnx_open_map(wick_context *ctx, const char *path, const wick_map *bytes,
                               const wick_onnx_limits *limits, wick_onnx **out) {
    if (!out) return wick_context_fail(ctx, WICK_ERR_INVALID, "onnx_open: out is NULL");
    *out = NULL;
    if (!path) return wick_context_fail(ctx, WICK_ERR_INVALID, "no path given to read");
    wick_map taken = bytes ? *bytes : (wick_map){0};
    wick_onnx *onnx = wick_calloc(&ctx->alloc, sizeof *onnx);
    if (!onnx) return wick_map_close(&taken), wick_context_fail(ctx, WICK_ERR_NOMEM, "%s: out of memory", path);
    onnx->ctx = ctx;
    onnx->folder = -1;
    onnx->unsupported = "";
    if (limits) onnx->limits = *limits;
    if (onnx->limits.nodes < 0 || onnx->limits.depth < 0 || !(onnx->limits.seconds >= 0)) {
        wick_release(&ctx->alloc, onnx, sizeof *onnx);
        wick_map_close(&taken);
        return wick_context_fail(ctx, WICK_ERR_INVALID,
                                 "%s: limits of nodes, depth and seconds are at least 0, which is the default", path);
    }
    if (!onnx->limits.memory) onnx->limits.memory = (size_t)1 << 30;
    if (!onnx->limits.tensor_bytes) onnx->limits.tensor_bytes = (size_t)8 << 30;
    if (!onnx->limits.depth) onnx->limits.depth = 64;
    onnx->limits.depth = WICK_MIN(onnx->limits.depth, 1000); /* each takes some of the stack */
    if (!onnx->limits.output_bytes) onnx->limits.output_bytes = (size_t)8 << 30;
    if (onnx->limits.seconds == 0) onnx->limits.seconds = 3600;
    onnx->limits.seconds = WICK_MIN(onnx->limits.seconds, 1e9);
    const wick_watch was = wick_onnx_begin(onnx);
    wick_arena_init(&onnx->arena, &ctx->alloc, 1 << 16);
    wick_scope *scope = wick_scope_open(ctx);
    wick_status status = wick_model_new(ctx, &onnx->model);
    onnx->path = wick_arena_strdup(&onnx->arena, path);
    if (status == WICK_OK && onnx->path && scope) status = open_file(onnx, path, &taken);
    else wick_map_close(&taken), status = wick_msg_set(&onnx->msg, WICK_ERR_NOMEM, "%s: out of memory", path);
    wick_scope_close(&scope);
    wick_context_unwatch(ctx, &was);
    if (status != WICK_OK) {
        wick_context_fail(ctx, status, "%s", onnx->msg.text);
        wick_onnx_free(&onnx);
        return status;
    }
    *out = onnx;
    return WICK_OK;
}

static void free_run(onnx_run *run) {
    if (run->onnx) wick_release(&run->onnx->ctx->alloc, run->answers, run->cap_answers * sizeof *run->answers);
    wick_arena_free(&run->arena);
}

static void free_prepared(onnx_prepared *p, int n_in) {
    const wick_allocator *alloc = p->arena.alloc;
    wick_arena_free(&p->arena);
    wick_release(alloc, p->answers, p->cap_answers * sizeof *p->answers);
    wick_release(alloc, p->in, (size_t)(n_in + 1) * sizeof *p->in);
    wick_release(alloc, p, sizeof *p);
}

void wick_onnx_forget_prepared(wick_onnx *onnx) {
    for (onnx_prepared *p = onnx->prepared, *next; p; p = next) {
        next = p->next;
        free_prepared(p, onnx->n_in);
    }
    onnx->prepared = NULL;
}

void wick_onnx_free(wick_onnx **onnx) {
    if (!onnx || !*onnx) return;
    wick_onnx *o = *onnx;
    drop_weights(o->main);
    for (size_t i = 0; o->function_blocks && i < o->proto.functions.n; i++) drop_weights(o->function_blocks[i]);
    wick_model_free(&o->model);
    if (o->last) free_run(o->last);
    wick_release(&o->ctx->alloc, o->last, sizeof *o->last);
    wick_onnx_forget_prepared(o);
    for (wick_onnx_pages *p = o->pages, *next; p; p = next) {
        next = p->next;
        wick_onnx_pages_drop(p);
    }
    wick_onnx_pages_drop(o->own_pages);
    if (o->folder >= 0) close(o->folder);
    wick_release(&o->ctx->alloc, o->op_counts, o->cap_op_counts * sizeof *o->op_counts);
    wick_arena_free(&o->arena);
    const wick_allocator *alloc = &o->ctx->alloc;
    wick_release(alloc, o, sizeof *o);
    *onnx = NULL;
}

wick_model *wick_onnx_model(wick_onnx *onnx) { return onnx->model; }
const char *wick_onnx_unsupported(const wick_onnx *onnx) { return onnx->unsupported; }

/* ---- ports ------------------------------------------------------------------------------------------------------- */

static bool make_port(wick_onnx *onnx, const onnx_value_info *info, wick_onnx_port *p) {
    *p = (wick_onnx_port){.name = terminated(onnx, info->name), .kind = WICK_VALUE_TENSOR, .rank = -1};
    const onnx_type *type = info->type;
    if (type && type->optional) p->optional = true, type = type->optional->elem;
    if (type && type->sequence) p->kind = WICK_VALUE_SEQUENCE, type = type->sequence->elem;
    if (type && type->optional) type = type->optional->elem;
    if (type && type->map && p->kind == WICK_VALUE_TENSOR) p->kind = WICK_VALUE_MAP;
    const onnx_tensor_type *t = type ? type->tensor ? type->tensor : type->sparse : NULL;
    if (t) {
        p->elem = t->elem > 0 && t->elem < ONNX_TYPES ? (int)t->elem : 0;
        if (p->elem == ONNX_STRING && p->kind == WICK_VALUE_TENSOR) p->kind = WICK_VALUE_STRINGS;
    }
    if (t && t->shape && t->shape->dims.n <= WICK_MAX_DIMS) {
        p->rank = (int)t->shape->dims.n;
        for (int i = 0; i < p->rank; i++) {
            const onnx_dim *d = &t->shape->dims.at[i];
            p->dims[i] = d->head.has & ONNX_DIM_HAS_VALUE ? d->value : -1;
            if (d->head.has & ONNX_DIM_HAS_NAME && d->name.size && !(p->dim_names[i] = terminated(onnx, d->name)))
                return false;
        }
    }
    return p->name != NULL;
}

static wick_status make_ports(wick_onnx *onnx) {
    const onnx_graph *g = onnx->proto.graph;
    onnx->in_ports = wick_arena_zalloc(&onnx->arena, (g->in.n + 1) * sizeof *onnx->in_ports);
    onnx->in_slots = wick_arena_zalloc(&onnx->arena, (g->in.n + 1) * sizeof *onnx->in_slots);
    onnx->out_ports = wick_arena_zalloc(&onnx->arena, (g->out.n + 1) * sizeof *onnx->out_ports);
    onnx->default_ports = wick_arena_zalloc(&onnx->arena, (g->in.n + 1) * sizeof *onnx->default_ports);
    onnx->default_slots = wick_arena_zalloc(&onnx->arena, (g->in.n + 1) * sizeof *onnx->default_slots);
    bool good = onnx->in_ports && onnx->in_slots && onnx->out_ports && onnx->default_ports && onnx->default_slots;
    bool *weight = good ? wick_calloc(&onnx->ctx->alloc, (size_t)onnx->main->n_slots + 1) : NULL;
    good = weight != NULL;
    for (size_t i = 0; good && i < onnx->main->n_weights; i++) weight[onnx->main->weights[i].slot] = true;
    for (size_t i = 0; good && i < g->in.n; i++) {
        if (weight[onnx->main->in[i]] && onnx->proto.ir_version >= 4) {
            onnx->default_slots[onnx->n_defaults] = (int)i;
            good = make_port(onnx, &g->in.at[i], &onnx->default_ports[onnx->n_defaults]);
            onnx->default_ports[onnx->n_defaults++].optional = true;
        }
        if (weight[onnx->main->in[i]]) continue; /* IR below 4 lists all weights among the inputs */
        onnx->in_slots[onnx->n_in] = (int)i;
        good = make_port(onnx, &g->in.at[i], &onnx->in_ports[onnx->n_in++]);
    }
    for (size_t i = 0; good && i < g->out.n; i++)
        good = make_port(onnx, &g->out.at[i], &onnx->out_ports[onnx->n_out++]);
    if (weight) wick_release(&onnx->ctx->alloc, weight, (size_t)onnx->main->n_slots + 1);
    return good ? WICK_OK : wick_msg_set(&onnx->msg, WICK_ERR_NOMEM, "%s: out of memory", onnx->path);
}

int wick_onnx_inputs(const wick_onnx *onnx) { return onnx->n_in; }
int wick_onnx_outputs(const wick_onnx *onnx) { return onnx->n_out; }
wick_onnx_port wick_onnx_input(const wick_onnx *onnx, int i) {
    return i >= 0 && i < onnx->n_in ? onnx->in_ports[i] : (wick_onnx_port){0};
}
wick_onnx_port wick_onnx_output(const wick_onnx *onnx, int i) {
    return i >= 0 && i < onnx->n_out ? onnx->out_ports[i] : (wick_onnx_port){0};
}

int wick_onnx_defaults(const wick_onnx *onnx) { return onnx->n_defaults; }
wick_onnx_port wick_onnx_default_at(const wick_onnx *onnx, int i) {
    return i >= 0 && i < onnx->n_defaults ? onnx->default_ports[i] : (wick_onnx_port){0};
}

/* The initializer stays among the weights: wick_onnx_block takes it where the input is not given. */
wick_status wick_onnx_open_default(wick_onnx *onnx, int i) {
    if (i < 0 || i >= onnx->n_defaults)
        return wick_context_fail(onnx->ctx, WICK_ERR_INVALID, "%s: there is no default %d", onnx->path, i);
    wick_onnx_forget_prepared(onnx);
    onnx->in_ports[onnx->n_in] = onnx->default_ports[i];
    onnx->in_slots[onnx->n_in++] = onnx->default_slots[i];
    onnx->n_defaults--;
    memmove(&onnx->default_ports[i], &onnx->default_ports[i + 1],
            (size_t)(onnx->n_defaults - i) * sizeof *onnx->default_ports);
    memmove(&onnx->default_slots[i], &onnx->default_slots[i + 1],
            (size_t)(onnx->n_defaults - i) * sizeof *onnx->default_slots);
    return WICK_OK;
}

wick_spec wick_onnx_input_spec(const wick_onnx *onnx, int i) {
    const wick_onnx_port p = wick_onnx_input(onnx, i);
    wick_spec spec = {.name = p.name, .rank = p.rank};
    if (p.kind != WICK_VALUE_TENSOR || !wick_onnx_elem_dtype(p.elem, &spec.dtype)) spec.rank = -1;
    for (int d = 0; d < spec.rank; d++) spec.dims[d] = p.dims[d] >= 0 ? p.dims[d] : 1;
    return spec;
}

wick_status wick_onnx_fix_input(wick_onnx *onnx, int i, wick_tensor *value) {
    if (i < 0 || i >= onnx->n_in || !value || wick_tensor_error(value, NULL) != WICK_OK)
        return wick_context_fail(onnx->ctx, WICK_ERR_INVALID, "%s: there is no input %d, or no value for it",
                                 onnx->path, i);
    onnx_block *b = onnx->main;
    struct onnx_weight *weights = wick_arena_zalloc(&onnx->arena, (b->n_weights + 1) * sizeof *weights);
    if (!weights) return wick_context_fail(onnx->ctx, WICK_ERR_NOMEM, "%s: out of memory", onnx->path);
    if (b->n_weights) memcpy(weights, b->weights, b->n_weights * sizeof *weights);
    weights[b->n_weights++] = (struct onnx_weight){
        .slot = b->in[onnx->in_slots[i]], .value = {.v = {.kind = WICK_VALUE_TENSOR, .tensor = wick_retain(value)}}};
    b->weights = weights;
    wick_onnx_forget_prepared(onnx);
    onnx->n_in--;
    memmove(&onnx->in_ports[i], &onnx->in_ports[i + 1], (size_t)(onnx->n_in - i) * sizeof *onnx->in_ports);
    memmove(&onnx->in_slots[i], &onnx->in_slots[i + 1], (size_t)(onnx->n_in - i) * sizeof *onnx->in_slots);
    return WICK_OK;
}

/* ---- what it is -------------------------------------------------------------------------------------------------- */

static size_t bytes_of(const onnx_value *v) {
    return v->v.kind == WICK_VALUE_TENSOR
               ? wick_dtype_bytes(wick_tensor_dtype(v->v.tensor), wick_tensor_count(v->v.tensor))
               : 0;
}

/* Ops, and bytes of weights, of a block and of what lies in it. */
static bool count_ops(wick_onnx *onnx, const onnx_block *b, size_t *cap) {
    for (size_t i = 0; i < b->n_weights; i++) onnx->info.weight_bytes += bytes_of(&b->weights[i].value);
    for (size_t i = 0; i < b->n; i++) {
        const onnx_node *node = b->steps[i].node;
        int k = 0;
        while (k < onnx->n_op_counts && !(wick_bytes_are(node->op, onnx->op_counts[k].name) &&
                                          wick_bytes_are(node->domain, onnx->op_counts[k].domain)))
            k++;
        if (wick_onnx_late(onnx, (size_t)k + 1, onnx->path) != WICK_OK) return false;
        if (k == onnx->n_op_counts) {
            if (k == 1024) continue; /* more distinct ones than there are: a file that nobody runs */
            if (!wick_grow(&onnx->ctx->alloc, (void **)&onnx->op_counts, cap, (size_t)k + 1, sizeof *onnx->op_counts))
                return false;
            onnx->op_counts[k] = (wick_onnx_op){terminated(onnx, node->domain), terminated(onnx, node->op), 0,
                                                b->steps[i].op || b->steps[i].function};
            if (!onnx->op_counts[k].domain || !onnx->op_counts[k].name) return false;
            onnx->n_op_counts++;
        }
        onnx->op_counts[k].count++;
        onnx->info.weight_bytes += bytes_of(&b->steps[i].constant);
        for (size_t a = 0; b->steps[i].bodies && a < node->attrs.n; a++)
            if (b->steps[i].bodies[a] && !count_ops(onnx, b->steps[i].bodies[a], cap)) return false;
    }
    return true;
}
static int by_count(const void *a, const void *b) {
    const wick_onnx_op *x = a, *y = b;
    return x->count != y->count ? (x->count < y->count) - (x->count > y->count) : strcmp(x->name, y->name);
}
static wick_status make_counts(wick_onnx *onnx) {
    bool good = count_ops(onnx, onnx->main, &onnx->cap_op_counts);
    for (size_t i = 0; good && i < onnx->proto.functions.n; i++)
        good = count_ops(onnx, onnx->function_blocks[i], &onnx->cap_op_counts);
    WICK_TRY(wick_onnx_late(onnx, 0, onnx->path));
    if (!good) return wick_msg_set(&onnx->msg, WICK_ERR_NOMEM, "%s: out of memory", onnx->path);
    if (onnx->n_op_counts) qsort(onnx->op_counts, (size_t)onnx->n_op_counts, sizeof *onnx->op_counts, by_count);
    const onnx_model *m = &onnx->proto;
    onnx->info = (wick_onnx_info){.ir_version = m->ir_version,
                                  .producer = terminated(onnx, m->producer),
                                  .producer_version = terminated(onnx, m->producer_version),
                                  .graph = terminated(onnx, m->graph->name),
                                  .nodes = (int64_t)onnx->steps,
                                  .functions = (int64_t)m->functions.n,
                                  .weight_bytes = onnx->info.weight_bytes,
                                  .ops = onnx->n_op_counts};
    for (size_t i = 0; i < m->opsets.n; i++)
        if (!wick_onnx_domain(m->opsets.at[i].domain).size) onnx->info.opset = m->opsets.at[i].version;
    for (int i = 0; i < wick_model_count(onnx->model); i++) {
        const wick_named state = wick_model_at(onnx->model, i);
        if (state.role == WICK_ROLE_PARAM) onnx->info.parameters += wick_tensor_count(state.tensor);
    }
    return onnx->info.producer && onnx->info.producer_version && onnx->info.graph
               ? WICK_OK
               : wick_msg_set(&onnx->msg, WICK_ERR_NOMEM, "%s: out of memory", onnx->path);
}

wick_onnx_info wick_onnx_get_info(const wick_onnx *onnx) { return onnx->info; }
wick_onnx_op wick_onnx_op_at(const wick_onnx *onnx, int i) {
    return i >= 0 && i < onnx->n_op_counts ? onnx->op_counts[i] : (wick_onnx_op){0};
}

/* ---- recording --------------------------------------------------------------------------------------------------- */

/* Bytes of the value's tensors, besides what there is; a sequence's items are tensors. false: they cannot be counted.
 */
static bool add_bytes(const wick_onnx_value *v, size_t *total) {
    const bool many = v->kind == WICK_VALUE_SEQUENCE;
    for (size_t i = 0; i < (many ? v->n : 1); i++) {
        const wick_onnx_value *one = many ? &v->items[i] : v;
        if (one->kind == WICK_VALUE_TENSOR && wick_tensor_count(one->tensor) > 0 && /* below: symbols */
            wick_add_overflows(*total, wick_dtype_bytes(wick_tensor_dtype(one->tensor), wick_tensor_count(one->tensor)),
                               total))
            return false;
    }
    return true;
}

wick_status wick_onnx_record(onnx_run *run, const wick_onnx_value *in, wick_onnx_value *out) {
    wick_onnx *onnx = run->onnx;
    const onnx_block *b = onnx->main;
    const size_t bytes = ((size_t)b->n_in + (size_t)b->n_out + 1) * sizeof(onnx_value);
    onnx_value *values = wick_calloc(&onnx->ctx->alloc, bytes), *results = values ? values + b->n_in : NULL;
    if (!values) return wick_context_fail(onnx->ctx, WICK_ERR_NOMEM, "%s: out of memory", onnx->path);
    for (int i = 0; i < onnx->n_in; i++) values[onnx->in_slots[i]] = (onnx_value){in[i], true};
    run->ctx = onnx->ctx;
    run->steps_left = onnx->limits.nodes;
    run->recorded = onnx->ctx->slab.bytes;
    run->next_answer = 0;
    run->batch = 0;
    wick_status status = WICK_OK;
    for (int i = 0; i < onnx->n_in && status == WICK_OK; i++) {
        const char *text = "it is NULL";
        if (in[i].kind != WICK_VALUE_TENSOR) continue;
        if (!in[i].tensor || wick_tensor_error(in[i].tensor, &text) != WICK_OK)
            status = wick_msg_set(&onnx->msg, WICK_ERR_INVALID, "%s: input \"%s\": %s", onnx->path,
                                  onnx->in_ports[i].name, text);
        else if (!run->batch && wick_tensor_rank(in[i].tensor)) run->batch = wick_tensor_dim(in[i].tensor, 0);
    }
    const size_t outer = onnx->ctx->result_max;
    const wick_watch was = wick_onnx_begin(onnx); /* of what is evaluated, too */
    onnx->ctx->result_max = onnx->limits.tensor_bytes; /* of what ops are made of, too */
    if (status == WICK_OK) status = wick_onnx_block(run, b, NULL, NULL, b->n_in, values, results, &onnx->msg);
    onnx->ctx->result_max = outer;
    wick_context_unwatch(onnx->ctx, &was);
    size_t total = 0;
    for (int i = 0; i < b->n_out && status == WICK_OK; i++)
        if (!add_bytes(&results[i].v, &total) || total > onnx->limits.output_bytes)
            status = wick_msg_set(&onnx->msg, WICK_ERR_UNSUPPORTED,
                                  "%s: output \"%s\": the outputs have more bytes than the limit of %zu (--max-output)",
                                  onnx->path, onnx->out_ports[i].name, onnx->limits.output_bytes);
    for (int i = 0; i < b->n_out && status == WICK_OK; i++) out[i] = results[i].v;
    wick_release(&onnx->ctx->alloc, values, bytes);
    return status == WICK_OK ? status : wick_context_fail(onnx->ctx, status, "%s", onnx->msg.text);
}

static bool is_like(const wick_spec *spec, const wick_onnx_value *v) {
    return v->kind == WICK_VALUE_TENSOR && v->tensor && wick_tensor_error(v->tensor, NULL) == WICK_OK &&
           spec->dtype == wick_tensor_dtype(v->tensor) && spec->rank == wick_tensor_rank(v->tensor) &&
           !memcmp(spec->dims, wick_tensor_dims(v->tensor), (size_t)spec->rank * sizeof *spec->dims);
}
static const onnx_prepared *find_prepared(const wick_onnx *onnx, const wick_onnx_value *in) {
    for (const onnx_prepared *p = onnx->prepared; p; p = p->next) {
        bool like = true;
        for (int i = 0; i < onnx->n_in && like; i++) like = is_like(&p->in[i], &in[i]);
        if (like) return p;
    }
    return NULL;
}

wick_status wick_onnx_apply(wick_onnx *onnx, const wick_onnx_value *in, wick_onnx_value *out) {
    if ((onnx->n_in && !in) || !out)
        return wick_context_fail(onnx->ctx, WICK_ERR_INVALID, "onnx_apply: in or out is NULL");
    if (!onnx->last && !(onnx->last = wick_calloc(&onnx->ctx->alloc, sizeof *onnx->last)))
        return wick_context_fail(onnx->ctx, WICK_ERR_NOMEM, "%s: out of memory", onnx->path);
    free_run(onnx->last);
    *onnx->last = (onnx_run){.onnx = onnx, .mode = ONNX_RUN_LAZY};
    wick_arena_init(&onnx->last->arena, &onnx->ctx->alloc, 1 << 14);
    const onnx_prepared *p = onnx->ctx->frame->trace ? find_prepared(onnx, in) : NULL;
    if (!p) return wick_onnx_record(onnx->last, in, out);
    onnx_run run = {.onnx = onnx, .mode = ONNX_RUN_REPLAY, .answers = p->answers, .n_answers = p->n_answers};
    wick_arena_init(&run.arena, &onnx->ctx->alloc, 1 << 14);
    const wick_status status = wick_onnx_record(&run, in, out);
    onnx->last->arena = run.arena; /* what host values lie in */
    return status;
}

/* ---- compiling --------------------------------------------------------------------------------------------------- */

/* Runs for zeros of these specs: what is asked for on the host is kept. */
static wick_status probe(onnx_run *run, const wick_spec *in) {
    wick_onnx *onnx = run->onnx;
    const size_t bytes = (size_t)(onnx->n_in + onnx->n_out + 1) * sizeof(wick_onnx_value);
    wick_onnx_value *values = wick_calloc(&onnx->ctx->alloc, bytes);
    wick_scope *scope = wick_scope_open(onnx->ctx);
    wick_status status =
        values && scope ? WICK_OK : wick_context_fail(onnx->ctx, WICK_ERR_NOMEM, "%s: out of memory", onnx->path);
    const size_t outer = onnx->ctx->result_max;
    onnx->ctx->result_max = onnx->limits.tensor_bytes;
    for (int i = 0; i < onnx->n_in && status == WICK_OK; i++)
        values[i] = (wick_onnx_value){.kind = WICK_VALUE_TENSOR,
                                      .tensor = wick_zeros(onnx->ctx, in[i].dtype, in[i].rank, in[i].dims)};
    onnx->ctx->result_max = outer;
    if (status == WICK_OK) status = wick_onnx_record(run, values, values + onnx->n_in);
    wick_scope_close(&scope);
    wick_release(&onnx->ctx->alloc, values, bytes);
    return status;
}

wick_status wick_onnx_probe_shapes(wick_onnx *onnx, const wick_spec *in, onnx_run *run) {
    run->onnx = onnx;
    run->mode = ONNX_RUN_LAZY;
    wick_arena_init(&run->arena, &onnx->ctx->alloc, 1 << 14);
    const wick_status status = probe(run, in);
    free_run(run);
    return status;
}

wick_status wick_onnx_prepare(wick_onnx *onnx, const wick_spec *in) {
    if (onnx->n_in && !in) return wick_context_fail(onnx->ctx, WICK_ERR_INVALID, "onnx_prepare: in is NULL");
    enum { KEPT = 16 };
    onnx_run run = {.onnx = onnx, .mode = ONNX_RUN_PROBE};
    onnx_prepared *p = wick_calloc(&onnx->ctx->alloc, sizeof *p);
    if (p) p->in = wick_calloc(&onnx->ctx->alloc, (size_t)(onnx->n_in + 1) * sizeof *p->in);
    if (!p || !p->in) {
        wick_release(&onnx->ctx->alloc, p, sizeof *p);
        return wick_context_fail(onnx->ctx, WICK_ERR_NOMEM, "%s: out of memory", onnx->path);
    }
    memcpy(p->in, in, (size_t)onnx->n_in * sizeof *p->in);
    wick_arena_init(&run.arena, &onnx->ctx->alloc, 1 << 14);
    const wick_status status = probe(&run, in);
    p->arena = run.arena;
    p->answers = run.answers, p->n_answers = run.n_answers, p->cap_answers = run.cap_answers;
    if (status != WICK_OK) {
        free_prepared(p, onnx->n_in);
        return status;
    }
    p->next = onnx->prepared;
    onnx->prepared = p;
    int n = 0;
    for (onnx_prepared **at = &onnx->prepared; *at;) {
        onnx_prepared *old = *at;
        bool same = old != p;
        for (int i = 0; i < onnx->n_in && same; i++)
            same = old->in[i].dtype == in[i].dtype && old->in[i].rank == in[i].rank &&
                   !memcmp(old->in[i].dims, in[i].dims, (size_t)in[i].rank * sizeof *in[i].dims);
        if (!same && ++n <= KEPT) {
            at = &old->next;
            continue;
        }
        *at = old->next;
        free_prepared(old, onnx->n_in);
    }
    return WICK_OK;
}

wick_status wick_onnx_function(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    wick_onnx *onnx = user;
    const int n_in = onnx->n_in, n_out = onnx->n_out;
    wick_onnx_value *values = wick_calloc(&onnx->ctx->alloc, (size_t)(n_in + n_out + 1) * sizeof *values);
    if (!values) return wick_context_fail(ctx, WICK_ERR_NOMEM, "%s: out of memory", onnx->path);
    for (int i = 0; i < n_in; i++) values[i] = (wick_onnx_value){.kind = WICK_VALUE_TENSOR, .tensor = in[i]};
    wick_status status = wick_onnx_apply(onnx, values, values + n_in);
    for (int i = 0; i < n_out && status == WICK_OK; i++) {
        out[i] = values[n_in + i].tensor;
        if (values[n_in + i].kind != WICK_VALUE_TENSOR)
            status = wick_context_fail(
                ctx, WICK_ERR_UNSUPPORTED,
                "%s: output \"%s\" is no tensor of numbers: it can be run, but not compiled or exported", onnx->path,
                onnx->out_ports[i].name);
    }
    wick_release(&onnx->ctx->alloc, values, (size_t)(n_in + n_out + 1) * sizeof *values);
    return status;
}

/* Specs in another order, of other dtypes or ranks would be errors of some node within. */
static wick_status check_specs(const wick_onnx *onnx, const wick_spec *in) {
    for (int i = 0; i < onnx->n_in; i++) {
        const wick_onnx_port *p = &onnx->in_ports[i];
        wick_dtype dtype;
        if (in[i].name && *in[i].name && strcmp(in[i].name, p->name) != 0)
            return wick_context_fail(
                onnx->ctx, WICK_ERR_INVALID,
                "%s: input %d is \"%s\", and its spec is called \"%s\": specs come in the order of the inputs",
                onnx->path, i, p->name, in[i].name);
        if (p->kind == WICK_VALUE_TENSOR && wick_onnx_dtype(p->elem, &dtype) && dtype != in[i].dtype)
            return wick_context_fail(onnx->ctx, WICK_ERR_DTYPE, "%s: input \"%s\" is %s, and its spec %s", onnx->path,
                                     p->name, wick_dtype_name(dtype), wick_dtype_name(in[i].dtype));
        if (p->kind == WICK_VALUE_TENSOR && p->rank >= 0 && p->rank != in[i].rank)
            return wick_context_fail(onnx->ctx, WICK_ERR_SHAPE, "%s: input \"%s\" has %d dims, and its spec %d",
                                     onnx->path, p->name, p->rank, in[i].rank);
    }
    return WICK_OK;
}

wick_status wick_onnx_compile(wick_onnx *onnx, const wick_spec *in, const wick_compile_options *options,
                              wick_plan **plan) {
    if (!plan || (onnx->n_in && !in))
        return wick_context_fail(onnx->ctx, WICK_ERR_INVALID, "onnx_compile: in or plan is NULL");
    *plan = NULL;
    const wick_watch was = wick_onnx_begin(onnx); /* of all its parts together */
    wick_status status = check_specs(onnx, in);
    if (status == WICK_OK) status = wick_onnx_prepare(onnx, in);
    if (status == WICK_OK)
        status = wick_compile(onnx->ctx, wick_onnx_function, onnx, onnx->n_in, in, onnx->n_out, options, plan);
    wick_context_unwatch(onnx->ctx, &was);
    return status;
}

wick_tensor *wick_onnx_forward(wick_onnx *onnx, wick_tensor *x) {
    wick_context *ctx = onnx->ctx;
    if (onnx->n_in != 1 || onnx->in_ports[0].kind != WICK_VALUE_TENSOR || !onnx->n_out)
        return wick_poison(ctx, WICK_ERR_UNSUPPORTED, "%s: is no function of one tensor: it has %d inputs", onnx->path,
                           onnx->n_in);
    if (!x || wick_tensor_error(x, NULL) != WICK_OK) return x;
    const wick_onnx_port *port = &onnx->in_ports[0];
    wick_dtype dtype;
    if (wick_onnx_dtype(port->elem, &dtype) && wick_tensor_dtype(x) != dtype) {
        if (wick_dtype_is_float(wick_tensor_dtype(x)) && !wick_dtype_is_float(dtype))
            return wick_poison(
                ctx, WICK_ERR_DTYPE,
                "%s: its input \"%s\" is %s, and would cut off what is behind the point of %s: round and cast it",
                onnx->path, port->name, wick_dtype_name(dtype), wick_dtype_name(wick_tensor_dtype(x)));
        x = wick_cast(x, dtype);
    }
    wick_onnx_value in = {.kind = WICK_VALUE_TENSOR, .tensor = x},
                    *out = wick_calloc(&onnx->ctx->alloc, (size_t)onnx->n_out * sizeof *out);
    if (!out) return wick_poison(ctx, WICK_ERR_NOMEM, "%s: out of memory", onnx->path);
    const wick_status status = wick_onnx_apply(onnx, &in, out);
    wick_tensor *y =
        status != WICK_OK ? wick_poison(ctx, status, "%s", wick_context_error(ctx))
        : out[0].kind != WICK_VALUE_TENSOR
            ? wick_poison(ctx, WICK_ERR_UNSUPPORTED, "%s: its first output is no tensor of numbers", onnx->path)
            : out[0].tensor;
    wick_release(&onnx->ctx->alloc, out, (size_t)onnx->n_out * sizeof *out);
    return y;
}
