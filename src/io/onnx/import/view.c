/* view.c: the main graph as others may look at it: nodes, the values between them, and what these are. */
#define WICK_NO_SITES
#include "io/onnx/onnx.h"

/* Zeroed, of the model; NULL: out of memory, or beyond what a file may cost. */
static void *take(wick_onnx *onnx, size_t n, size_t size) {
    size_t bytes;
    const size_t max = onnx->limits.memory;
    if (wick_mul_overflows(n, size, &bytes) || onnx->arena.bytes > max || bytes > max - onnx->arena.bytes) return NULL;
    return wick_arena_zalloc(&onnx->arena, bytes ? bytes : 1);
}

static const char *text_of(wick_onnx *onnx, wick_bytes b) {
    if (!b.size) return "";
    char *s = take(onnx, b.size + 1, 1);
    if (s) memcpy(s, b.at, b.size);
    return s;
}

static bool view_node(wick_onnx *onnx, const onnx_step *step, wick_onnx_node *n) {
    int32_t *in = take(onnx, (size_t)step->n_in, sizeof *in), *out = take(onnx, (size_t)step->n_out, sizeof *out);
    *n = (wick_onnx_node){.domain = text_of(onnx, wick_onnx_domain(step->node->domain)),
                          .op = text_of(onnx, step->node->op),
                          .name = text_of(onnx, step->node->name),
                          .place = step->place,
                          .supported = step->op || step->function,
                          .n_in = step->n_in,
                          .n_out = step->n_out,
                          .in = in,
                          .out = out};
    if (!in || !out || !n->domain || !n->op || !n->name) return false;
    for (int i = 0; i < step->n_in; i++) in[i] = step->in[i].slot; /* nothing is outside of the main graph */
    for (int i = 0; i < step->n_out; i++) out[i] = step->out[i];
    for (size_t a = 0; step->bodies && a < step->node->attrs.n; a++) n->bodies += step->bodies[a] != NULL;
    return true;
}

static void see(wick_onnx_wire *w, const onnx_value *v) {
    if (v->v.kind != WICK_VALUE_TENSOR) return;
    w->spec.dtype = wick_tensor_dtype(v->v.tensor);
    w->spec.rank = wick_tensor_rank(v->v.tensor);
    memcpy(w->spec.dims, wick_tensor_dims(v->v.tensor), (size_t)w->spec.rank * sizeof *w->spec.dims);
}

static bool view_wires(wick_onnx *onnx, wick_onnx_wire *wires) {
    const onnx_block *b = onnx->main;
    bool good = true;
    for (int i = 0; i < b->n_in && good; i++)
        good = (wires[b->in[i]].name = text_of(onnx, b->graph->in.at[i].name)) != NULL;
    for (size_t i = 0; i < b->n && good; i++)
        for (int k = 0; k < b->steps[i].n_out && good; k++) {
            if (b->steps[i].out[k] < 0) continue;
            wick_onnx_wire *w = &wires[b->steps[i].out[k]];
            w->from = (int64_t)i;
            good = (w->name = text_of(onnx, b->steps[i].node->out.at[k])) != NULL;
            see(w, &b->steps[i].constant);
        }
    for (size_t i = 0; i < b->n_weights && good; i++) {
        const struct onnx_weight *weight = &b->weights[i];
        wick_onnx_wire *w = &wires[weight->slot];
        w->from = -2;
        see(w, &weight->value);
        if (w->name) continue;
        w->name = weight->tensor   ? text_of(onnx, weight->tensor->name)
                  : weight->sparse ? text_of(onnx, weight->sparse->values->name)
                                   : weight->state;
        good = w->name != NULL;
    }
    return good;
}

wick_status wick_onnx_get_graph(wick_onnx *onnx, const wick_spec *in, wick_onnx_graph *out) {
    if (!out) return wick_context_fail(onnx->ctx, WICK_ERR_INVALID, "onnx_get_graph: out is NULL");
    const onnx_block *b = onnx->main;
    wick_onnx_node *nodes = take(onnx, b->n, sizeof *nodes);
    wick_onnx_wire *wires = take(onnx, (size_t)b->n_slots, sizeof *wires);
    int32_t *outputs = take(onnx, (size_t)b->n_out, sizeof *outputs);
    bool good = nodes && wires && outputs;
    for (int32_t i = 0; i < b->n_slots && good; i++) wires[i] = (wick_onnx_wire){.from = -1, .spec.rank = -1};
    good = good && view_wires(onnx, wires);
    for (size_t i = 0; i < b->n && good; i++) good = view_node(onnx, &b->steps[i], &nodes[i]);
    for (int i = 0; i < b->n_out && good; i++) outputs[i] = b->out[i].slot;
    wick_spec *seen = good && in ? wick_calloc(&onnx->ctx->alloc, ((size_t)b->n_slots + 1) * sizeof *seen) : NULL;
    if (!good || (in && !seen))
        return wick_context_fail(onnx->ctx, WICK_ERR_NOMEM, "%s: out of memory, or beyond the limit", onnx->path);
    if (in) {
        onnx_run run = {.seen = seen};
        for (int32_t i = 0; i < b->n_slots; i++) seen[i].rank = -1;
        const wick_status status = wick_onnx_probe_shapes(onnx, in, &run);
        if (status == WICK_ERR_DEADLINE || status == WICK_ERR_CANCELLED) {
            wick_release(&onnx->ctx->alloc, seen, ((size_t)b->n_slots + 1) * sizeof *seen);
            return status;
        }
        if (status != WICK_OK) wick_context_clear_error(onnx->ctx); /* what is behind stays unknown */
        for (int32_t i = 0; i < b->n_slots; i++)
            if (wires[i].spec.rank < 0) wires[i].spec = seen[i];
        wick_release(&onnx->ctx->alloc, seen, ((size_t)b->n_slots + 1) * sizeof *seen);
    }
    for (int32_t i = 0; i < b->n_slots; i++) wires[i].spec.name = wires[i].name ? wires[i].name : "";
    *out = (wick_onnx_graph){(int64_t)b->n, b->n_slots, nodes, wires, outputs};
    return WICK_OK;
}

bool wick_onnx_meta_at(const wick_onnx *onnx, int i, const char **key, const char **value) {
    if (i < 0 || (size_t)i >= onnx->proto.meta.n) return false;
    *key = onnx->meta[2 * i], *value = onnx->meta[2 * i + 1];
    return true;
}

bool wick_onnx_opset_at(const wick_onnx *onnx, int i, const char **domain, int64_t *version) {
    if (!domain || !version) return false;
    if (i < 0 || (size_t)i >= onnx->proto.opsets.n) return false;
    *domain = onnx->domains[i], *version = onnx->proto.opsets.at[i].version;
    return true;
}

wick_status wick_onnx_view_texts(wick_onnx *onnx) {
    const onnx_model *m = &onnx->proto;
    onnx->meta = take(onnx, 2 * m->meta.n, sizeof *onnx->meta);
    onnx->domains = take(onnx, m->opsets.n, sizeof *onnx->domains);
    bool good = onnx->meta && onnx->domains;
    for (size_t i = 0; i < m->meta.n && good; i++)
        good = (onnx->meta[2 * i] = text_of(onnx, m->meta.at[i].key)) &&
               (onnx->meta[2 * i + 1] = text_of(onnx, m->meta.at[i].value));
    for (size_t i = 0; i < m->opsets.n && good; i++)
        good = (onnx->domains[i] = text_of(onnx, wick_onnx_domain(m->opsets.at[i].domain))) != NULL;
    return good ? WICK_OK
                : wick_msg_set(&onnx->msg, WICK_ERR_NOMEM, "%s: out of memory, or beyond the limit", onnx->path);
}
