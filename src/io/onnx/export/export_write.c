/* export_write.c: the ONNX graph as a file, with weights in it or in a safetensors file beside it. Large data are
 * written from where they lie; both files replace older ones only when they are whole, the weights first. */
#define WICK_NO_SITES
#include "io/onnx/export/export.h"

#include <stdio.h>
#include <stdlib.h>

#include "io/seal.h"
#include "wick/io.h"

enum { MODEL_IR = 1, MODEL_PRODUCER, MODEL_VERSION, MODEL_DOC = 6, MODEL_GRAPH, MODEL_OPSET, MODEL_META = 14 };
enum { GRAPH_NODE = 1, GRAPH_NAME, GRAPH_INITIALIZER = 5, GRAPH_DOC = 10, GRAPH_IN, GRAPH_OUT };
enum { NODE_IN = 1, NODE_OUT, NODE_NAME, NODE_OP, NODE_DOMAIN = 7 };
enum { TENSOR_DIM = 1, TENSOR_TYPE, TENSOR_NAME = 8, TENSOR_RAW, TENSOR_EXTERNAL = 13, TENSOR_LOCATION };
#define MOST_BYTES ((size_t)INT32_MAX) /* of a protocol buffer */

static int ir_version(int opset) { /* of the first release with the opset (onnx.helper.VERSION_TABLE) */
    static const int by_opset[] = {[13] = 7, 7, 8, 8, 8, 8, 9, 9, 10, 10, 11, 12, 13, 13, 13, 13};
    return opset < (int)WICK_COUNTOF(by_opset) ? by_opset[opset] : 13;
}

/* ---- parts ------------------------------------------------------------------------------------------------------- */

static void put_nodes(const onnx_made *first, wick_proto_out *into);
/* A graph as an attribute. */
static void put_body(const onnx_body *b, wick_proto_out *node) {
    enum { ATTR_NAME = 1, ATTR_G = 6, ATTR_TYPE = 20, NODE_ATTR = 5 };
    wick_proto_out graph = {0}, attribute = {0};
    put_nodes(b->first, &graph);
    wick_proto_put_text(&graph, GRAPH_NAME, b->attribute);
    wick_proto_append(&graph, b->ports.at, b->ports.n);
    wick_proto_put_text(&attribute, ATTR_NAME, b->attribute);
    wick_proto_put_message(&attribute, ATTR_G, &graph);
    wick_proto_put_int(&attribute, ATTR_TYPE, ONNX_ATTR_GRAPH);
    wick_proto_put_message(node, NODE_ATTR, &attribute);
    wick_proto_drop(&graph), wick_proto_drop(&attribute);
}
static void put_node(const onnx_made *m, wick_proto_out *into, wick_proto_out *node) {
    for (int i = 0; i < m->n_in; i++) wick_proto_put_text(node, NODE_IN, m->in[i]->text);
    /* Results of loops and branches all have names, as ONNX Runtime 1.31 needs: it crashes where the state of a Loop
     * has none. */
    const bool all = m->bodies[0] || !strcmp(m->op, "TopK"); /* other operators' outputs but the first are optional */
    for (int i = 0; i < m->n_out; i++)
        wick_proto_put_text(node, NODE_OUT, i && !m->out[i]->used && !all ? "" : m->out[i]->text);
    wick_proto_put_text(node, NODE_NAME, m->out[0]->text);
    const char *colon = strchr(m->op, ':'); /* DOMAIN:OP */
    wick_proto_put_text(node, NODE_OP, colon ? colon + 1 : m->op);
    if (colon) {
        char domain[32];
        snprintf(domain, sizeof domain, "%.*s", (int)(colon - m->op), m->op);
        wick_proto_put_text(node, NODE_DOMAIN, domain);
    }
    wick_proto_append(node, m->attrs, m->attr_bytes);
    for (int b = 0; b < 2; b++)
        if (m->bodies[b]) put_body(m->bodies[b], node);
    wick_proto_put_message(into, GRAPH_NODE, node);
}
/* Those that somebody reads. */
static void put_nodes(const onnx_made *first, wick_proto_out *into) {
    wick_proto_out node = {0};
    for (const onnx_made *m = first; m; m = m->next) {
        bool used = false;
        for (int k = 0; k < m->n_out; k++) used |= m->out[k]->used;
        if (used) put_node(m, into, &node);
    }
    wick_proto_drop(&node);
}

/* ValueInfoProto of v under its port's name. dims: of an input; NULL: v's own. */
static void put_port(onnx_export *e, const char *name, const wick_value *v, const wick_spec *spec, int input,
                     wick_proto_out *into, uint32_t field) {
    wick_proto_out dim = {0}, shape = {0}, tensor = {0}, type = {0}, info = {0};
    const int rank = spec ? spec->rank : v->type.rank;
    for (int d = 0; d < rank; d++) {
        onnx_extent x = {.kind = ONNX_EXTENT_FIXED, .number = spec ? spec->dims[d] : 0};
        const char *symbol = NULL;
        if (!spec) x = wick_export_extent(e, v, d);
        if (x.kind == ONNX_EXTENT_OPEN && x.expression < e->n_symbols) symbol = e->symbols[x.expression];
        for (int i = 0; i < e->options->n_symbols && spec; i++)
            if (e->options->symbols[i].input == input && e->options->symbols[i].axis == d)
                symbol = e->options->symbols[i].name;
        if (symbol && *symbol) wick_proto_put_text(&dim, 2, symbol);
        else if (x.kind == ONNX_EXTENT_FIXED) wick_proto_put_int(&dim, 1, x.number);
        wick_proto_put_message(&shape, 1, &dim);
    }
    wick_proto_put_int(&tensor, 1, wick_onnx_type(spec ? spec->dtype : (wick_dtype)v->type.dtype));
    wick_proto_put_message(&tensor, 2, &shape);
    wick_proto_put_message(&type, 1, &tensor);
    wick_proto_put_text(&info, 1, name);
    wick_proto_put_message(&info, 2, &type);
    wick_proto_put_message(into, field, &info);
    wick_proto_drop(&dim), wick_proto_drop(&shape), wick_proto_drop(&tensor), wick_proto_drop(&type),
        wick_proto_drop(&info);
}

static void put_pair(wick_proto_out *into, uint32_t field, const char *key, const char *value) {
    wick_proto_out pair = {0};
    wick_proto_put_text(&pair, 1, key);
    wick_proto_put_text(&pair, 2, value);
    wick_proto_put_message(into, field, &pair);
    wick_proto_drop(&pair);
}

/* TensorProto without its data. file: where those are, at offset; NULL: they follow. */
static void put_tensor(const onnx_constant *c, const char *file, size_t offset, wick_proto_out *tensor) {
    for (int d = 0; d < c->type.rank; d++) wick_proto_put_int(tensor, TENSOR_DIM, c->type.dims[d]);
    wick_proto_put_int(tensor, TENSOR_TYPE, wick_onnx_type((wick_dtype)c->type.dtype));
    wick_proto_put_text(tensor, TENSOR_NAME, c->name->text);
    if (!file) {
        wick_proto_put_head(tensor, TENSOR_RAW, wick_type_bytes(&c->type));
        return;
    }
    char text[32];
    put_pair(tensor, TENSOR_EXTERNAL, "location", file);
    snprintf(text, sizeof text, "%zu", offset);
    put_pair(tensor, TENSOR_EXTERNAL, "offset", text);
    snprintf(text, sizeof text, "%zu", wick_type_bytes(&c->type));
    put_pair(tensor, TENSOR_EXTERNAL, "length", text);
    wick_proto_put_int(tensor, TENSOR_LOCATION, 1);
}

/* ---- weights beside the model ------------------------------------------------------------------------------------ */

/* The path of a file beside path. */
static char *beside(onnx_export *e, const char *path, const char *name) {
    const char *slash = strrchr(path, '/');
    const size_t folder = slash ? (size_t)(slash - path) + 1 : 0, size = folder + strlen(name) + 1;
    char *out = wick_export_alloc(e, size, 1);
    if (out) snprintf(out, size, "%.*s%s", (int)folder, path, name);
    return out;
}

typedef struct weights {
    onnx_constant **list; /* wider elements first, so that each is aligned */
    wick_safetensors_tensor *tensors;
    size_t n, first; /* where in the file the data begin */
} weights;

static wick_status write_weights(onnx_export *e, const char *path, const char *name, weights *w) {
    size_t most = 0;
    for (const onnx_constant *c = e->constants; c; c = c->next) most++;
    w->list = wick_export_alloc(e, most + 1, sizeof(onnx_constant *));
    w->tensors = wick_export_alloc(e, most + 1, sizeof *w->tensors);
    char *file = beside(e, path, name);
    if (!w->list || !w->tensors || !file) return wick_context_fail(e->ctx, WICK_ERR_NOMEM, "export: out of memory");
    if (strchr(name, '/') || !*name || *name == '.')
        return wick_context_fail(e->ctx, WICK_ERR_INVALID,
                                 "export: weights \"%s\" are not the name of a file beside the model", name);
    for (size_t width = 8; width; width /= 2)
        for (onnx_constant *c = e->constants; c; c = c->next) {
            const wick_dtype d = (wick_dtype)c->type.dtype;
            if (!c->state || !c->name->used || WICK_MAX(wick_dtype_size(d), 1) != width) continue;
            wick_safetensors_tensor *t = &w->tensors[w->n];
            *t = (wick_safetensors_tensor){.name = c->name->text, .dtype = d, .rank = c->type.rank, .data = c->data};
            memcpy(t->dims, c->type.dims, sizeof t->dims);
            w->list[w->n++] = c;
        }
    wick_msg msg = {0};
    const wick_safetensors_meta meta = {"format", "pt"};
    if (wick_seal_write(file, w->tensors, w->n, &meta, 1, &msg) != WICK_OK)
        return wick_context_fail(e->ctx, msg.status, "export: %s", msg.text);
    wick_safetensors f; /* where the data begin says the file itself */
    if (wick_safetensors_open(&f, file, &msg) != WICK_OK)
        return wick_context_fail(e->ctx, msg.status, "export: %s", msg.text);
    w->first = (size_t)(f.data - (const uint8_t *)f.map.data);
    wick_safetensors_close(&f);
    return WICK_OK;
}

/* ---- the file ---------------------------------------------------------------------------------------------------- */

typedef struct file {
    wick_proto_out head, nodes, ports; /* of the model; of the graph, around the initializers */
    wick_proto_out *tensors;                /* by initializer */
    size_t n;
    weights w;
} file;

static bool is_written(const onnx_constant *c) { return c->name->used; }

static wick_status build(onnx_export *e, const char *path, const char *beside_it, file *f) {
    const wick_onnx_save_options *o = e->options;
    if (beside_it) WICK_TRY(write_weights(e, path, beside_it, &f->w));
    size_t n = 0, graph = 0;
    for (const onnx_constant *c = e->constants; c; c = c->next) n++;
    f->tensors = wick_export_alloc(e, n + 1, sizeof *f->tensors);
    if (!f->tensors) return wick_context_fail(e->ctx, WICK_ERR_NOMEM, "export: out of memory");
    put_nodes(e->first, &f->nodes);
    wick_proto_put_text(&f->nodes, GRAPH_NAME, o->graph && *o->graph ? o->graph : "wick");
    for (int i = 0; i < e->n_in; i++) put_port(e, e->ports[i]->text, NULL, &e->in[i], i, &f->ports, GRAPH_IN);
    for (int i = 0; i < e->n_out; i++)
        put_port(e, e->ports[e->n_in + i]->text, e->at[0]->outputs[i], NULL, -1, &f->ports, GRAPH_OUT);
    bool nomem = f->nodes.nomem || f->ports.nomem;
    for (const onnx_constant *c = e->constants; c; c = c->next, f->n++) {
        if (!is_written(c)) continue;
        size_t at = f->w.first, k = 0;
        while (k < f->w.n && f->w.list[k] != c) at += wick_type_bytes(&f->w.list[k++]->type);
        const bool outside = k < f->w.n;
        wick_proto_out *t = &f->tensors[f->n], head = {0};
        put_tensor(c, outside ? beside_it : NULL, at, t);
        const size_t size = t->n + (outside ? 0 : wick_type_bytes(&c->type));
        wick_proto_put_head(&head, GRAPH_INITIALIZER, size);
        nomem |= t->nomem || head.nomem || wick_add_overflows(graph, head.n + size, &graph);
        wick_proto_drop(&head);
        if (graph > MOST_BYTES)
            return wick_context_fail(e->ctx, WICK_ERR_UNSUPPORTED,
                                     "export: the model would have more than the 2 GiB that a file of ONNX holds: put "
                                     "the weights into a file of their own");
    }
    graph += f->nodes.n + f->ports.n;
    wick_proto_put_int(&f->head, MODEL_IR, o->ir_version ? o->ir_version : ir_version(e->opset));
    wick_proto_put_text(&f->head, MODEL_PRODUCER, "wick");
    wick_proto_put_text(&f->head, MODEL_VERSION, wick_version());
    if (o->doc && *o->doc) wick_proto_put_text(&f->head, MODEL_DOC, o->doc);
    wick_proto_out opset = {0};
    wick_proto_put_text(&opset, 1, "");
    wick_proto_put_int(&opset, 2, e->opset);
    wick_proto_put_message(&f->head, MODEL_OPSET, &opset);
    if (e->contrib) {
        char domain[] = WICK_ONNX_CONTRIB;
        domain[sizeof domain - 2] = '\0';
        wick_proto_put_text(&opset, 1, domain);
        wick_proto_put_int(&opset, 2, 1);
        wick_proto_put_message(&f->head, MODEL_OPSET, &opset);
    }
    wick_proto_drop(&opset);
    wick_proto_out pair = {0};
    for (int i = 0; i < o->n_meta; i++) {
        wick_proto_put_text(&pair, 1, o->meta[2 * i]);
        wick_proto_put_text(&pair, 2, o->meta[2 * i + 1]);
        wick_proto_put_message(&f->head, MODEL_META, &pair);
    }
    wick_proto_drop(&pair);
    wick_proto_put_head(&f->head, MODEL_GRAPH, graph);
    if (nomem || f->head.nomem) return wick_context_fail(e->ctx, WICK_ERR_NOMEM, "export: out of memory");
    if (graph > MOST_BYTES)
        return wick_context_fail(e->ctx, WICK_ERR_UNSUPPORTED,
                                 "export: the model would have more than the 2 GiB that a file of ONNX holds: put the "
                                 "weights into a file of their own");
    return WICK_OK;
}

/* Where bytes go: a file, or memory. */
typedef struct sink {
    wick_writer *file;
    uint8_t *at;
    size_t n, size;
} sink;
static wick_status put_bytes(sink *out, const void *data, size_t n, wick_msg *msg) {
    if (out->file) return wick_writer_write(out->file, data, n, msg);
    if (out->at && n <= out->size - out->n && n) memcpy(out->at + out->n, data, n);
    out->n += n;
    return WICK_OK;
}

static wick_status write_all(const onnx_export *e, const file *f, sink *out, wick_msg *msg) {
    WICK_TRY(put_bytes(out, f->head.at, f->head.n, msg));
    WICK_TRY(put_bytes(out, f->nodes.at, f->nodes.n, msg));
    size_t i = 0;
    for (const onnx_constant *c = e->constants; c; c = c->next, i++) {
        if (!is_written(c)) continue;
        bool outside = false;
        for (size_t k = 0; k < f->w.n && !outside; k++) outside = f->w.list[k] == c;
        const size_t bytes = wick_type_bytes(&c->type);
        wick_proto_out head = {0};
        wick_proto_put_head(&head, GRAPH_INITIALIZER, f->tensors[i].n + (outside ? 0 : bytes));
        wick_status status =
            head.nomem ? wick_msg_set(msg, WICK_ERR_NOMEM, "out of memory") : put_bytes(out, head.at, head.n, msg);
        wick_proto_drop(&head);
        if (status == WICK_OK) status = put_bytes(out, f->tensors[i].at, f->tensors[i].n, msg);
        if (status == WICK_OK && !outside && bytes) status = put_bytes(out, c->data, bytes, msg);
        WICK_TRY(status);
    }
    return put_bytes(out, f->ports.at, f->ports.n, msg);
}

static void drop(file *f) {
    for (size_t i = 0; f->tensors && i < f->n + 1; i++) wick_proto_drop(&f->tensors[i]);
    wick_proto_drop(&f->head), wick_proto_drop(&f->nodes), wick_proto_drop(&f->ports);
}

wick_status wick_export_write(onnx_export *e, const char *path) {
    file f = {0};
    wick_msg msg = {0};
    sink out = {0};
    wick_status status = build(e, path, e->options->weights, &f);
    if (status == WICK_OK) {
        status = wick_writer_open(&out.file, path, &msg);
        if (status == WICK_OK) status = write_all(e, &f, &out, &msg);
        if (status == WICK_OK) status = wick_writer_commit(&out.file, &msg);
        else wick_writer_abort(&out.file);
        if (status != WICK_OK) wick_context_fail(e->ctx, status, "export: %s", msg.text);
    }
    drop(&f);
    return status;
}

wick_status wick_export_bytes(onnx_export *e, uint8_t **bytes, size_t *n) {
    file f = {0};
    wick_msg msg = {0};
    sink out = {0};
    wick_status status = build(e, NULL, NULL, &f);
    *bytes = NULL, *n = 0;
    if (status == WICK_OK) status = write_all(e, &f, &out, &msg);
    if (status == WICK_OK) {
        out = (sink){.at = wick_alloc(NULL, out.n), .size = out.n};
        status = out.at ? write_all(e, &f, &out, &msg)
                        : wick_msg_set(&msg, WICK_ERR_NOMEM, "out of memory: %zu bytes", out.size);
        if (status != WICK_OK)
            wick_release(NULL, out.at, out.size), wick_context_fail(e->ctx, status, "export: %s", msg.text);
        else *bytes = out.at, *n = out.size;
    }
    drop(&f);
    return status;
}
