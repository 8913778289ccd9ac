/* onnx_mutate.c: changes ONNX files by their structure (proto_tree.h), and repairs most of what it breaks: names that
 * nothing makes, names that are taken, weights whose bytes don't fit their dims. What opens goes deeper than what is
 * refused at once. Parts of other inputs that opened are spliced in: the last ones are kept. */
#include <stdio.h>

#include "proto_tree.h"

/* Fields by number, as onnx.proto has them. */
enum {
    MODEL_IR = 1, MODEL_GRAPH = 7, MODEL_OPSET = 8, MODEL_FUNCTION = 25, OPSET_VERSION = 2,
    GRAPH_NODE = 1, GRAPH_WEIGHT = 5, GRAPH_IN = 11, GRAPH_OUT = 12, GRAPH_SPARSE = 15, VALUE_NAME = 1,
    NODE_IN = 1, NODE_OUT = 2, NODE_OP = 4, NODE_ATTR = 5, NODE_DOMAIN = 7,
    ATTR_NAME = 1, ATTR_F = 2, ATTR_I = 3, ATTR_S = 4, ATTR_G = 6, ATTR_FLOATS = 7, ATTR_INTS = 8, ATTR_TYPE = 20,
    FUNCTION_NAME = 1, FUNCTION_IN = 4, FUNCTION_OUT = 5, FUNCTION_NODE = 7, FUNCTION_DOMAIN = 10,
    TENSOR_DIMS = 1, TENSOR_TYPE = 2, TENSOR_NAME = 8, TENSOR_RAW = 9, TENSOR_EXTERNAL = 13, TENSOR_LOCATION = 14
};

static const char *const attributes[] = {"axis",
                                         "axes",
                                         "keepdims",
                                         "perm",
                                         "pads",
                                         "strides",
                                         "dilations",
                                         "kernel_shape",
                                         "group",
                                         "auto_pad",
                                         "ceil_mode",
                                         "count_include_pad",
                                         "storage_order",
                                         "output_padding",
                                         "output_shape",
                                         "alpha",
                                         "beta",
                                         "transA",
                                         "transB",
                                         "epsilon",
                                         "momentum",
                                         "mode",
                                         "training_mode",
                                         "to",
                                         "saturate",
                                         "value",
                                         "value_int",
                                         "value_ints",
                                         "value_float",
                                         "value_floats",
                                         "body",
                                         "then_branch",
                                         "else_branch",
                                         "num_scan_inputs",
                                         "scan_input_axes",
                                         "scan_output_axes",
                                         "scan_input_directions",
                                         "scan_output_directions",
                                         "equation",
                                         "largest",
                                         "sorted",
                                         "select_last_index",
                                         "exclusive",
                                         "reverse",
                                         "blocksize",
                                         "batch_dims",
                                         "reduction",
                                         "ignore_index",
                                         "num_outputs",
                                         "split",
                                         "size",
                                         "lambd",
                                         "bias",
                                         "k",
                                         "dtype",
                                         "high",
                                         "low",
                                         "mean",
                                         "scale",
                                         "seed",
                                         "sample_size",
                                         "shape",
                                         "hidden_size",
                                         "direction",
                                         "layout",
                                         "linear_before_reset",
                                         "input_forget",
                                         "clip",
                                         "activations",
                                         "coordinate_transformation_mode",
                                         "nearest_mode",
                                         "cubic_coeff_a",
                                         "exclude_outside",
                                         "extrapolation_value",
                                         "antialias",
                                         "keep_aspect_ratio_policy",
                                         "align_corners",
                                         "padding_mode",
                                         "center_point_box",
                                         "sampling_ratio",
                                         "spatial_scale",
                                         "output_height",
                                         "output_width",
                                         "max_gram_length",
                                         "min_gram_length",
                                         "max_skip_count",
                                         "pool_int64s",
                                         "ngram_counts",
                                         "ngram_indexes",
                                         "weights",
                                         "block_size",
                                         "detect_negative",
                                         "fmod",
                                         "approximate",
                                         "upper",
                                         "num_groups",
                                         "stash_type",
                                         "start",
                                         "end",
                                         "starts",
                                         "ends",
                                         "inverse",
                                         "onesided",
                                         "keys_strings",
                                         "values_floats",
                                         "default_float",
                                         "nodes_featureids",
                                         "is_causal",
                                         "softcap",
                                         "q_num_heads",
                                         "kv_num_heads",
                                         "qk_matmul_output_mode",
                                         "new_axis",
                                         "delimiter",
                                         "maxsplit",
                                         "case_change_action",
                                         "stopwords",
                                         "noop_with_empty_axes",
                                         "allowzero",
                                         "p",
                                         "to_device"};
static const char *const texts[] = {"SAME_UPPER", "SAME_LOWER",   "VALID",
                                    "NOTSET",     "constant",     "reflect",
                                    "edge",       "wrap",         "linear",
                                    "nearest",    "cubic",        "align_corners",
                                    "asymmetric", "half_pixel",   "tf_crop_and_resize",
                                    "floor",      "ceil",         "round_prefer_floor",
                                    "add",        "mul",          "max",
                                    "min",        "none",         "mean",
                                    "sum",        "bilinear",     "border",
                                    "ij,jk->ik",  "...ij->...ji", "ii->i",
                                    "forward",    "reverse",      "bidirectional",
                                    "Tanh",       "LeakyRelu",    "DCR",
                                    "CRD",        "TF",           "TFIDF",
                                    "LOWER",      "tanh",         ""};
static const char *const locations[] = {
    "w.bin", "sub/w.bin", "../out.bin", "link.bin", "hard.bin", "up/out.bin",  "sub/../../out.bin", "/etc/passwd",
    ".",     "./w.bin",   "sub//w.bin", "pipe",     "sub",      "in/../w.bin", "nowhere",           ""};
static const char *const lengths[] = {
    "0", "8",  "16",  "252", "256", "257", "-1", "18446744073709551615", "18446744073709551600", "9223372036854775807",
    "",  " 8", "0x8", "8.0"};

typedef struct mutator {
    wick_arena *arena;
    fuzz_random *r;
    tree_message *root, *donor; /* donor: NULL or another input's tree */
    tree_places places;
} mutator;

#define PICK(r, list) ((list)[fuzz_below(r, WICK_COUNTOF(list))])
static bool is(const tree_message *m, const char *type) { return !strcmp(m->type->name, type); }
static bool field_is(const tree_field *f, const char *name) { return f->field && !strcmp(f->field->name, name); }
static tree_field text(mutator *u, const tree_message *m, uint32_t number, const char *s) {
    return tree_bytes(u->arena, m, number, s, strlen(s));
}
static void set(mutator *u, tree_message *m, tree_field f) {
    tree_field *old = tree_get(m, f.number, 0);
    if (old) *old = f;
    else tree_add(u->arena, m, m->n, f);
}

static const onnx_op *any_op(fuzz_random *r, const char **domain) {
    static const onnx_family *const families[] = {
        &wick_onnx_math,      &wick_onnx_shape,       &wick_onnx_nn,      &wick_onnx_reduce,
        &wick_onnx_quant,     &wick_onnx_host_values, &wick_onnx_control, &wick_onnx_signal,
        &wick_onnx_loss,      &wick_onnx_attention,   &wick_onnx_image,   &wick_onnx_ml,
        &wick_onnx_looked_up, &wick_onnx_training,    &wick_onnx_preview, &wick_onnx_recurrent};
    size_t all = 0;
    for (size_t i = 0; i < WICK_COUNTOF(families); i++) all += families[i]->n;
    size_t k = fuzz_below(r, all);
    for (size_t i = 0;; k -= families[i++]->n)
        if (k < families[i]->n) return *domain = families[i]->domain, &families[i]->ops[k];
}

/* ---- parts of other inputs --------------------------------------------------------------------------------------- */

enum { KEPT = 64, KEPT_SIZE = 1 << 13 };
static struct {
    uint8_t data[KEPT_SIZE];
    size_t size;
} kept[KEPT];
static void keep(const uint8_t *data, size_t size, fuzz_random *r) {
    if (size > KEPT_SIZE) return;
    const size_t i = fuzz_below(r, KEPT);
    memcpy(kept[i].data, data, size);
    kept[i].size = size;
}

/* ---- changes ----------------------------------------------------------------------------------------------------- */

static tree_place any(mutator *u) {
    return u->places.n ? u->places.at[fuzz_below(u->r, u->places.n)] : (tree_place){u->root, SIZE_MAX};
}
static bool holds(tree_place p) { return p.i < p.in->n; }
/* A place with a message of that type, or of any for NULL. */
static tree_message *any_of(mutator *u, const char *type) {
    tree_message *found = NULL;
    size_t n = 0;
    for (size_t i = 0; i < u->places.n; i++) {
        const tree_place p = u->places.at[i];
        if (holds(p) && p.in->at[p.i].message && is(p.in->at[p.i].message, type) && !fuzz_below(u->r, ++n))
            found = p.in->at[p.i].message;
    }
    return found;
}
/* A field of that name somewhere: in the donor half of the time. */
static tree_field *some_field(mutator *u, const tree_field *like) {
    tree_places list = {0};
    tree_list(u->arena, u->donor && fuzz_chance(u->r, 50) ? u->donor : u->root, &list);
    tree_field *found = NULL;
    size_t n = 0;
    for (size_t i = 0; i < list.n; i++) {
        tree_field *f = &list.at[i].in->at[list.at[i].i];
        const bool fits = like->message ? f->message && f->message->type == like->message->type
                                        : !f->message && f->field == like->field;
        if (fits && f != like && !fuzz_below(u->r, ++n)) found = f;
    }
    return found;
}

static void change_bytes(mutator *u, tree_message *in, tree_field *f) {
    fuzz_random *r = u->r;
    const char *domain;
    if (field_is(f, "op_type")) {
        const onnx_op *op = any_op(r, &domain);
        *f = text(u, in, f->number, op->name);
        set(u, in, text(u, in, NODE_DOMAIN, domain));
    } else if (is(in, "AttributeProto") && field_is(f, "name")) *f = text(u, in, f->number, PICK(r, attributes));
    else if (is(in, "AttributeProto") && field_is(f, "s")) *f = text(u, in, f->number, PICK(r, texts));
    else if (is(in, "StringStringEntryProto")) {
        static const char *const keys[] = {"location", "offset", "length", "checksum"};
        *f = text(u, in, f->number,
                  f->number == 1       ? PICK(r, keys)
                  : fuzz_chance(r, 50) ? PICK(r, locations)
                                       : PICK(r, lengths));
    } else if (field_is(f, "input") || field_is(f, "output") || field_is(f, "name")) {
        const tree_field *other = some_field(u, f);
        if (other && fuzz_chance(r, 80)) f->data = other->data, f->size = other->size;
        else f->size = 0;
    } else {
        uint8_t *copy = wick_arena_alloc(u->arena, f->size + 64);
        if (!copy) abort();
        if (f->size) memcpy(copy, f->data, f->size);
        if (f->size >= 8 && fuzz_chance(r, 50)) { /* a number in raw_data */
            const int64_t v = fuzz_integer(r);
            const float x = (float)fuzz_real(r);
            if (fuzz_chance(r, 50)) memcpy(copy + fuzz_below(r, f->size / 8) * 8, &v, 8);
            else memcpy(copy + fuzz_below(r, f->size / 4) * 4, &x, 4);
        } else f->size = fuzz_bytes(copy, f->size, f->size + 64);
        f->data = copy;
    }
}

static void change_field(mutator *u, tree_place p) {
    tree_field *f = &p.in->at[p.i];
    fuzz_random *r = u->r;
    if (f->message) {
        const tree_field *other = some_field(u, f);
        if (other) f->message = tree_copy(u->arena, other->message);
    } else if (f->wire == TREE_DELIMITED) change_bytes(u, p.in, f);
    else if (f->wire == TREE_VARINT) f->value = (uint64_t)fuzz_integer(r);
    else if (f->wire == TREE_FIXED64) {
        const double x = fuzz_real(r);
        memcpy(&f->value, &x, 8);
    } else {
        const float x = (float)fuzz_real(r);
        f->value = 0;
        memcpy(&f->value, &x, 4);
    }
}

static void retype_tensor(mutator *u, tree_message *t) {
    for (size_t i = t->n; i--;)
        if (t->at[i].number == TENSOR_DIMS && fuzz_chance(u->r, 60)) tree_remove(t, i);
    for (size_t n = fuzz_below(u->r, 4); n--;)
        tree_add(u->arena, t, 0, tree_int(t, TENSOR_DIMS, (int64_t)fuzz_below(u->r, 6)));
    if (fuzz_chance(u->r, 50)) set(u, t, tree_int(t, TENSOR_TYPE, 1 + (int64_t)fuzz_below(u->r, ONNX_TYPES - 1)));
    if (!tree_get(t, TENSOR_RAW, 0) && fuzz_chance(u->r, 30)) set(u, t, tree_bytes(u->arena, t, TENSOR_RAW, "", 0));
}

static void make_external(mutator *u, tree_message *t) {
    tree_field *old;
    for (size_t i = t->n; i--;)
        if (t->at[i].number == TENSOR_EXTERNAL || t->at[i].number == TENSOR_RAW) tree_remove(t, i);
    if ((old = tree_get(t, TENSOR_LOCATION, 0))) old->value = 1;
    else tree_add(u->arena, t, t->n, tree_int(t, TENSOR_LOCATION, 1));
    static const char *const keys[] = {"location", "offset", "length"};
    for (int k = 0; k < 3; k++) {
        if (k && fuzz_chance(u->r, 70)) continue;
        tree_field e = tree_empty(u->arena, t, TENSOR_EXTERNAL);
        tree_add(u->arena, e.message, 0, text(u, e.message, 1, keys[k]));
        tree_add(u->arena, e.message, 1, text(u, e.message, 2, k ? PICK(u->r, lengths) : PICK(u->r, locations)));
        tree_add(u->arena, t, t->n, e);
    }
}

static void add_attribute(mutator *u, tree_message *node) {
    fuzz_random *r = u->r;
    tree_field a = tree_empty(u->arena, node, NODE_ATTR);
    static const int types[] = {ONNX_ATTR_FLOAT,  ONNX_ATTR_INT, ONNX_ATTR_STRING, ONNX_ATTR_INTS,
                                ONNX_ATTR_FLOATS, ONNX_ATTR_INT, ONNX_ATTR_INTS};
    const int type = PICK(r, types);
    tree_message *m = a.message;
    tree_add(u->arena, m, 0, text(u, m, ATTR_NAME, PICK(r, attributes)));
    tree_add(u->arena, m, 1, tree_int(m, ATTR_TYPE, type));
    const float x = (float)fuzz_real(r);
    tree_field f = {.wire = TREE_FIXED32};
    memcpy(&f.value, &x, 4);
    if (type == ONNX_ATTR_FLOAT || type == ONNX_ATTR_FLOATS)
        f.number = type == ONNX_ATTR_FLOAT ? ATTR_F : ATTR_FLOATS, tree_add(u->arena, m, 2, f);
    if (type == ONNX_ATTR_INT) tree_add(u->arena, m, 2, tree_int(m, ATTR_I, fuzz_integer(r)));
    if (type == ONNX_ATTR_STRING) tree_add(u->arena, m, 2, text(u, m, ATTR_S, PICK(r, texts)));
    for (size_t n = fuzz_below(r, 5); type == ONNX_ATTR_INTS && n--;)
        tree_add(u->arena, m, 2, tree_int(m, ATTR_INTS, fuzz_integer(r)));
    tree_add(u->arena, node, node->n, a);
}

/* A node more: its inputs get names when the graph is repaired, and the graph's output may become its own. */
static void add_node(mutator *u, tree_message *g) {
    const char *domain;
    const onnx_op *op = any_op(u->r, &domain);
    char name[32];
    snprintf(name, sizeof name, "n%x", (unsigned)fuzz_next(u->r));
    tree_field f = tree_empty(u->arena, g, GRAPH_NODE);
    tree_message *m = f.message;
    for (size_t n = fuzz_below(u->r, 4) + (fuzz_chance(u->r, 80) ? 1 : 0); n--;)
        tree_add(u->arena, m, 0, text(u, m, NODE_IN, "?"));
    tree_add(u->arena, m, m->n, text(u, m, NODE_OUT, name));
    tree_add(u->arena, m, m->n, text(u, m, NODE_OP, op->name));
    if (*domain) tree_add(u->arena, m, m->n, text(u, m, NODE_DOMAIN, domain));
    for (size_t n = fuzz_below(u->r, 3); n--;) add_attribute(u, m);
    size_t at = 0; /* behind some of the nodes */
    for (size_t i = 0; i < g->n; i++)
        if (g->at[i].number == GRAPH_NODE && fuzz_chance(u->r, 80)) at = i + 1;
    tree_add(u->arena, g, at, f);
    tree_field *out = tree_get(g, GRAPH_OUT, 0);
    if (out && out->message && fuzz_chance(u->r, 50)) {
        for (size_t i = out->message->n; i--;) tree_remove(out->message, i);
        tree_add(u->arena, out->message, 0, text(u, out->message, VALUE_NAME, name));
    }
}

static void change(mutator *u, bool external) {
    u->places.n = 0;
    tree_list(u->arena, u->root, &u->places);
    fuzz_random *r = u->r;
    const tree_place p = any(u);
    tree_message *m;
    if (!holds(p)) return;
    const tree_field f = p.in->at[p.i];
    if (external && fuzz_chance(r, 40) && (m = any_of(u, "TensorProto"))) {
        make_external(u, m);
        return;
    }
    switch (fuzz_below(r, 14)) {
    case 0: tree_remove(p.in, p.i); break;
    case 1: {
        tree_field copy = f;
        if (f.message) copy.message = tree_copy(u->arena, f.message);
        tree_add(u->arena, p.in, p.i + 1, copy);
        break;
    }
    case 2: {
        const size_t other = fuzz_below(r, p.in->n);
        p.in->at[p.i] = p.in->at[other];
        p.in->at[other] = f;
        break;
    }
    case 3: { /* from elsewhere, beside it */
        const tree_field *other = some_field(u, &f);
        if (!other) break;
        tree_field copy = *other;
        if (copy.message) copy.message = tree_copy(u->arena, copy.message);
        tree_add(u->arena, p.in, p.i + fuzz_below(r, 2), copy);
        break;
    }
    case 4: if ((m = any_of(u, "TensorProto"))) retype_tensor(u, m); break;
    case 5: if ((m = any_of(u, "NodeProto"))) add_attribute(u, m); break;
    case 6: if ((m = any_of(u, "GraphProto"))) add_node(u, m); break;
    case 7:
        if ((m = any_of(u, "NodeProto"))) {
            const char *domain;
            const onnx_op *op = any_op(r, &domain);
            set(u, m, text(u, m, NODE_OP, op->name));
            set(u, m, text(u, m, NODE_DOMAIN, domain));
        }
        break;
    case 8:
        if ((m = any_of(u, "NodeProto")))
            tree_add(u->arena, m, fuzz_below(r, m->n + 1), text(u, m, NODE_IN, fuzz_chance(r, 30) ? "" : "?"));
        break;
    case 9:
        if (is(u->root, "ModelProto") && (m = any_of(u, "OperatorSetIdProto")))
            set(u, m, tree_int(m, OPSET_VERSION, (int64_t)fuzz_below(r, 29)));
        break;
    case 10: if ((m = any_of(u, "Dimension"))) set(u, m, tree_int(m, 1, (int64_t)fuzz_below(r, 5))); break;
    default: change_field(u, p); break;
    }
}

/* ---- repairs ----------------------------------------------------------------------------------------------------- */

typedef struct names {
    wick_bytes at[1024];
    size_t n, first; /* first: of the innermost graph */
} names;
static bool has(const names *s, size_t from, wick_bytes b) {
    for (size_t i = s->n; i-- > from;)
        if (wick_bytes_equal(s->at[i], b)) return true;
    return false;
}
static void define(mutator *u, names *s, tree_message *m, tree_field *f) {
    if (has(s, s->first, (wick_bytes){(const char *)f->data, f->size}) || !f->size) {
        char fresh[32];
        snprintf(fresh, sizeof fresh, "r%x", (unsigned)fuzz_next(u->r));
        *f = tree_bytes(u->arena, m, f->number, fresh, strlen(fresh));
    }
    if (s->n < WICK_COUNTOF(s->at)) s->at[s->n++] = (wick_bytes){(const char *)f->data, f->size};
}
static void refer(mutator *u, const names *s, tree_field *f) {
    if (!f->size || has(s, 0, (wick_bytes){(const char *)f->data, f->size})) return;
    const wick_bytes other = s->n ? s->at[fuzz_below(u->r, s->n)] : (wick_bytes){"", 0};
    f->data = (const uint8_t *)other.at, f->size = other.size;
}

static void repair_tensor(mutator *u, tree_message *t) {
    enum { BYTES_MAX = 2048 };
    tree_field *type = tree_get(t, TENSOR_TYPE, 0), *raw = tree_get(t, TENSOR_RAW, 0);
    if (!type) type = tree_add(u->arena, t, 0, tree_int(t, TENSOR_TYPE, 1));
    if (!type->value || type->value >= ONNX_TYPES) type->value = 1;
    const uint64_t elem = type->value;
    wick_dtype dtype = WICK_F32;
    const bool plain = wick_onnx_dtype((int64_t)elem, &dtype);
    const tree_field *location = tree_get(t, TENSOR_LOCATION, 0);
    if ((location && location->value == 1) || (!plain && elem != ONNX_STRING)) return;
    size_t n = 1, rank = 0;
    for (size_t i = 0; i < t->n; i++) {
        tree_field *f = &t->at[i];
        if (f->number != TENSOR_DIMS || f->wire != TREE_VARINT) continue;
        if (rank++ >= WICK_MAX_DIMS || f->value > BYTES_MAX || n * f->value > BYTES_MAX) f->value = 1;
        n *= f->value;
    }
    raw = tree_get(t, TENSOR_RAW, 0);
    uint32_t typed = elem == ONNX_FLOAT                           ? 4
                     : elem == ONNX_STRING                        ? 6
                     : elem == ONNX_INT64                         ? 7
                     : elem == ONNX_DOUBLE                        ? 10
                     : elem == ONNX_UINT32 || elem == ONNX_UINT64 ? 11
                                                                  : 5;
    const size_t bytes = plain ? wick_dtype_bytes(dtype, (int64_t)n) : 0;
    if (raw && plain) {
        uint8_t *to = wick_arena_zalloc(u->arena, bytes + 1);
        if (!to) abort();
        memcpy(to, raw->data, WICK_MIN(bytes, raw->size));
        for (size_t i = 0; i < bytes && elem == ONNX_BOOL; i++) to[i] &= 1;
        raw->data = to, raw->size = bytes;
        typed = 0;
    }
    const size_t want = plain && !wick_dtype_size(dtype) ? bytes : n;
    size_t have = 0;
    for (size_t i = t->n; i--;) {
        const uint32_t k = t->at[i].number;
        if (k < 4 || (k > 7 && k != 10 && k != 11 && k != 9)) continue;
        if (k == 9 ? typed != 0 : k != typed || have == want) tree_remove(t, i);
        else if (k == typed) have++;
    }
    for (; typed && have < want; have++) {
        if (typed == 6) tree_add(u->arena, t, t->n, text(u, t, 6, "a"));
        else
            tree_add(u->arena, t, t->n,
                     (tree_field){.number = typed,
                                  .wire = typed == 4    ? TREE_FIXED32
                                          : typed == 10 ? TREE_FIXED64
                                                        : TREE_VARINT,
                                  .value = have & 1});
    }
}

static void repair_once(tree_message *m) { /* what is not repeated is there once */
    for (size_t i = m->n; i--;)
        if (m->at[i].field && !m->at[i].field->repeated && tree_get(m, m->at[i].number, 1)) tree_remove(m, i);
}

static void repair_nodes(mutator *u, names *s, tree_message *g, uint32_t number, int depth);
static void repair_graph(mutator *u, names *s, tree_message *g, int depth) {
    const size_t n = s->n, first = s->first;
    s->first = s->n;
    for (size_t i = 0; i < g->n; i++) {
        tree_field *f = &g->at[i];
        if (f->number != GRAPH_IN || !f->message) continue;
        repair_once(f->message);
        tree_field *name = tree_get(f->message, VALUE_NAME, 0);
        if (!name) name = tree_add(u->arena, f->message, 0, text(u, f->message, VALUE_NAME, ""));
        define(u, s, f->message, name);
    }
    const size_t inputs = s->n;
    for (size_t i = 0; i < g->n; i++) {
        tree_field *f = &g->at[i];
        if (f->number != GRAPH_WEIGHT || !f->message) continue;
        tree_field *name = tree_get(f->message, TENSOR_NAME, 0);
        if (!name) name = tree_add(u->arena, f->message, 0, text(u, f->message, TENSOR_NAME, ""));
        const wick_bytes b = {(const char *)name->data, name->size};
        bool input = false;
        for (size_t k = s->first; k < inputs; k++) input |= wick_bytes_equal(s->at[k], b);
        if (!input || has(s, inputs, b)) define(u, s, f->message, name);
    }
    repair_nodes(u, s, g, GRAPH_NODE, depth);
    for (size_t i = 0; i < g->n; i++) {
        tree_field *f = &g->at[i];
        tree_field *name = f->number == GRAPH_OUT && f->message ? tree_get(f->message, VALUE_NAME, 0) : NULL;
        if (name) refer(u, s, name);
    }
    s->n = n, s->first = first;
}
static void repair_nodes(mutator *u, names *s, tree_message *g, uint32_t number, int depth) {
    for (size_t i = 0; i < g->n; i++) {
        tree_message *node = g->at[i].number == number ? g->at[i].message : NULL;
        if (!node) continue;
        for (size_t k = 0; k < node->n; k++)
            if (node->at[k].number == NODE_IN && node->at[k].wire == TREE_DELIMITED) refer(u, s, &node->at[k]);
        for (size_t k = 0; k < node->n && depth < 12; k++)
            if (node->at[k].number == NODE_ATTR && node->at[k].message) {
                tree_field *body = tree_get(node->at[k].message, ATTR_G, 0);
                if (body && body->message) repair_graph(u, s, body->message, depth + 1);
            }
        for (size_t k = 0; k < node->n; k++)
            if (node->at[k].number == NODE_OUT && node->at[k].wire == TREE_DELIMITED && node->at[k].size)
                define(u, s, node, &node->at[k]);
        if (!tree_get(node, NODE_OP, 0)) tree_add(u->arena, node, 0, text(u, node, NODE_OP, "Identity"));
    }
}

static void repair(mutator *u) {
    tree_message *m = u->root;
    repair_once(m);
    u->places.n = 0;
    tree_list(u->arena, m, &u->places);
    for (size_t i = 0; i < u->places.n; i++) { /* places move: messages are collected first */
        const tree_place p = u->places.at[i];
        u->places.at[i].in = holds(p) ? p.in->at[p.i].message : NULL;
    }
    for (size_t i = 0; i < u->places.n; i++) {
        tree_message *x = u->places.at[i].in;
        if (!x) continue;
        repair_once(x);
        if (is(x, "TensorProto")) repair_tensor(u, x);
    }
    if (is(m, "TensorProto")) repair_tensor(u, m);
    if (!is(m, "ModelProto")) return;
    for (size_t i = 0; i < m->n; i++) {
        tree_field *f = &m->at[i];
        if (f->number == MODEL_IR && f->value > 13) f->value = 8;
        tree_field *version = f->number == MODEL_OPSET && f->message ? tree_get(f->message, OPSET_VERSION, 0) : NULL;
        if (version && version->value > 28) version->value = fuzz_below(u->r, 28) + 1;
        static names s;
        s.n = s.first = 0;
        if (f->number == MODEL_GRAPH && f->message) repair_graph(u, &s, f->message, 0);
        if (f->number != MODEL_FUNCTION || !f->message) continue;
        for (size_t k = 0; k < f->message->n; k++)
            if (f->message->at[k].number == FUNCTION_IN && f->message->at[k].wire == TREE_DELIMITED)
                define(u, &s, f->message, &f->message->at[k]);
        repair_nodes(u, &s, f->message, FUNCTION_NODE, 0);
        for (size_t k = 0; k < f->message->n; k++)
            if (f->message->at[k].number == FUNCTION_OUT && f->message->at[k].wire == TREE_DELIMITED)
                refer(u, &s, &f->message->at[k]);
    }
    if (!tree_get(m, MODEL_GRAPH, 0)) tree_add(u->arena, m, m->n, tree_empty(u->arena, m, MODEL_GRAPH));
}

/* ---- the mutators ------------------------------------------------------------------------------------------------ */

static size_t mutate(const wick_proto_message *type, uint8_t *data, size_t size, size_t max, fuzz_random *r,
                     bool external) {
    wick_arena arena;
    wick_arena_init(&arena, NULL, 1 << 16);
    mutator u = {.arena = &arena, .r = r, .root = tree_read(&arena, type, data, size)};
    const size_t other = fuzz_below(r, KEPT);
    if (kept[other].size) u.donor = tree_read(&arena, type, kept[other].data, kept[other].size);
    if (u.root) {
        if (fuzz_chance(r, 20)) keep(data, size, r);
        for (size_t n = 1 + fuzz_below(r, 4); n--;) change(&u, external);
        if (!fuzz_chance(r, 12)) repair(&u);
        fuzz_buffer out = {wick_arena_alloc(&arena, max), 0, max, false};
        if (!out.at) abort();
        tree_write(u.root, fuzz_chance(r, 50), &out);
        if (!out.full) memcpy(data, out.at, size = out.n);
        else u.root = NULL;
    }
    if (!u.root) size = fuzz_bytes(data, size, max);
    wick_arena_free(&arena);
    return size;
}

FUZZ_MUTATOR(onnx) { return mutate(&wick_onnx_model_message, data, size, max, r, false); }
FUZZ_MUTATOR(external) { return mutate(&wick_onnx_model_message, data, size, max, r, true); }
FUZZ_MUTATOR(value) {
    static const wick_proto_message *const types[] = {&wick_onnx_tensor_message, &wick_onnx_sequence_message,
                                                      &wick_onnx_tensor_message};
    if (!size) return fuzz_bytes(data, size, max);
    if (fuzz_chance(r, 5)) data[0] = (uint8_t)fuzz_next(r) & 7;
    const wick_proto_message *type =
        data[0] & 4 && fuzz_chance(r, 50) ? &wick_onnx_optional_message : types[(data[0] & 3) % 3];
    return 1 + mutate(type, data + 1, size - 1, max - 1, r, false);
}
