/* export.c: what a function records, and the ONNX graph made of it. */
#define WICK_NO_SITES
#include "io/onnx/export/export.h"

#include <math.h>
#include <stdio.h>

enum { OLDEST_OPSET = 13, USUAL_OPSET = 18, NEWEST_OPSET = 28 };

onnx_name wick_export_absent = {.text = "", .given = true};

void *wick_export_alloc(onnx_export *e, size_t n, size_t size) {
    size_t bytes;
    void *at = wick_mul_overflows(n, size, &bytes) ? NULL : wick_arena_zalloc(&e->arena, bytes + 1);
    if (at) return at;
    e->nomem = true;
    return !wick_mul_overflows(n, size, &bytes) && bytes <= sizeof e->spare ? memset(e->spare, 0, sizeof e->spare)
                                                                            : NULL;
}

/* ---- names ------------------------------------------------------------------------------------------------------- */

/* Puts text among the names that are taken; false: it was. */
static bool take_name(onnx_export *e, const char *text) {
    if (2 * e->n_taken >= e->cap_taken) {
        const size_t cap = e->cap_taken ? 2 * e->cap_taken : 256;
        const char **old = e->taken, **taken = wick_export_alloc(e, cap, sizeof *taken);
        if (!taken || e->nomem) return e->nomem = true;
        for (size_t i = 0; i < e->cap_taken; i++) {
            if (!old[i]) continue;
            size_t at = wick_hash(old[i], strlen(old[i]), 0) & (cap - 1);
            while (taken[at]) at = (at + 1) & (cap - 1);
            taken[at] = old[i];
        }
        e->taken = taken;
        e->cap_taken = cap;
    }
    size_t at = wick_hash(text, strlen(text), 0) & (e->cap_taken - 1);
    for (; e->taken[at]; at = (at + 1) & (e->cap_taken - 1))
        if (strcmp(e->taken[at], text) == 0) return false;
    e->taken[at] = text;
    e->n_taken++;
    return true;
}

/* A value called text, which lives as long as e. */
static onnx_name *named(onnx_export *e, const char *text) {
    onnx_name *name = wick_export_alloc(e, 1, sizeof *name);
    name->text = text;
    return name;
}
static const char *keep_text(onnx_export *e, const char *text) {
    const char *kept = wick_arena_strdup(&e->arena, text);
    if (!kept) e->nomem = true;
    return kept ? kept : "";
}
onnx_name *wick_export_name(onnx_export *e, const char *what) {
    char text[128];
    do snprintf(text, sizeof text, "%.100s_%d", what, ++e->made);
    while (e->taken && !e->nomem && !take_name(e, keep_text(e, text)));
    return named(e, keep_text(e, text));
}

/* ---- what is missing --------------------------------------------------------------------------------------------- */

void wick_export_unsupported(onnx_export *e, const wick_node *node, const char *why) {
    if (e->n_unsupported++ < 40)
        wick_str_add(&e->lacking, "%s%s%s%s%s%s", e->n_unsupported > 1 ? ", " : "", node->op->name,
                     node->site ? " at " : "", node->site ? node->site : "", why ? ": " : "", why ? why : "");
    for (int k = 0; k < node->n_out; k++) wick_export_set(e, node, k, &wick_export_absent);
}

/* ---- attributes -------------------------------------------------------------------------------------------------- */

enum { NODE_IN = 1, NODE_OUT, NODE_NAME, NODE_OP, NODE_ATTR };
enum { ATTR_NAME = 1, ATTR_F, ATTR_I, ATTR_S, ATTR_T, ATTR_G, ATTR_FLOATS, ATTR_INTS, ATTR_STRINGS, ATTR_TYPE = 20 };

static void queue(onnx_export *e, wick_proto_out *a, int type) {
    wick_proto_put_int(a, ATTR_TYPE, type);
    wick_proto_put_message(&e->attrs, NODE_ATTR, a);
    wick_proto_drop(a);
}
void wick_export_int(onnx_export *e, const char *name, int64_t value) {
    wick_proto_out a = {0};
    wick_proto_put_text(&a, ATTR_NAME, name);
    wick_proto_put_int(&a, ATTR_I, value);
    queue(e, &a, ONNX_ATTR_INT);
}
void wick_export_float(onnx_export *e, const char *name, double value) {
    wick_proto_out a = {0};
    wick_proto_put_text(&a, ATTR_NAME, name);
    wick_proto_put_float(&a, ATTR_F, (float)value);
    queue(e, &a, ONNX_ATTR_FLOAT);
}
void wick_export_text(onnx_export *e, const char *name, const char *text) {
    wick_proto_out a = {0};
    wick_proto_put_text(&a, ATTR_NAME, name);
    wick_proto_put_text(&a, ATTR_S, text);
    queue(e, &a, ONNX_ATTR_STRING);
}
void wick_export_ints(onnx_export *e, const char *name, int n, const int64_t *values) {
    wick_proto_out a = {0};
    wick_proto_put_text(&a, ATTR_NAME, name);
    for (int i = 0; i < n; i++) wick_proto_put_int(&a, ATTR_INTS, values[i]);
    queue(e, &a, ONNX_ATTR_INTS);
}
void wick_export_floats(onnx_export *e, const char *name, int n, const float *values) {
    wick_proto_out a = {0};
    wick_proto_put_text(&a, ATTR_NAME, name);
    for (int i = 0; i < n; i++) wick_proto_put_float(&a, ATTR_FLOATS, values[i]);
    queue(e, &a, ONNX_ATTR_FLOATS);
}
void wick_export_texts(onnx_export *e, const char *name, int n, const char *const *texts) {
    wick_proto_out a = {0};
    wick_proto_put_text(&a, ATTR_NAME, name);
    for (int i = 0; i < n; i++) wick_proto_put_text(&a, ATTR_STRINGS, texts[i]);
    queue(e, &a, ONNX_ATTR_STRINGS);
}

/* ---- nodes ------------------------------------------------------------------------------------------------------- */

void wick_export_nodes(onnx_export *e, const char *op, int n_in, onnx_name *const *in, int n_out, onnx_name **out) {
    onnx_made *m = wick_export_alloc(e, 1, sizeof *m);
    m->op = op;
    while (n_in && in[n_in - 1] == &wick_export_absent) n_in--; /* ones at the end are left out */
    m->n_in = n_in;
    m->n_out = n_out;
    m->in = wick_export_alloc(e, (size_t)n_in + 1, sizeof *m->in);
    m->out = wick_export_alloc(e, (size_t)n_out, sizeof *m->out);
    for (int i = 0; i < n_in && m->in; i++) m->in[i] = in[i];
    const char *colon = strchr(op, ':');
    e->contrib |= colon != NULL;
    for (int i = 0; i < n_out && m->out; i++) out[i] = m->out[i] = wick_export_name(e, colon ? colon + 1 : op);
    void *attrs = wick_export_alloc(e, e->attrs.n, 1);
    if (attrs && e->attrs.n) memcpy(attrs, e->attrs.at, e->attrs.n);
    m->attrs = attrs;
    m->attr_bytes = attrs ? e->attrs.n : 0;
    e->nomem |= e->attrs.nomem;
    e->attrs.n = 0;
    if (e->nomem) return;
    m->prev = e->last;
    *(e->last ? &e->last->next : &e->first) = m;
    e->last = m;
}
onnx_name *wick_export_node(onnx_export *e, const char *op, int n_in, onnx_name *const *in) {
    onnx_name *out = &wick_export_absent;
    wick_export_nodes(e, op, n_in, in, 1, &out);
    return out;
}

/* ---- initializers ------------------------------------------------------------------------------------------------ */

static onnx_constant *add_constant(onnx_export *e, onnx_name *name, const wick_type *type, const void *data) {
    onnx_constant *c = wick_export_alloc(e, 1, sizeof *c);
    name->given = true;
    *c = (onnx_constant){name, *type, data, false, e->constants};
    if (!e->nomem) e->constants = c;
    return c;
}
onnx_name *wick_export_array(onnx_export *e, wick_dtype dtype, int rank, const int64_t *dims, const void *data) {
    wick_type type;
    if (!wick_type_make(&type, dtype, rank, dims)) return e->nomem = true, &wick_export_absent;
    for (onnx_constant *c = e->constants; c; c = c->next) /* small ones are shared */
        if (!c->state && wick_type_equal(&c->type, &type) && wick_type_bytes(&type) <= 64 &&
            !memcmp(c->data, data, wick_type_bytes(&type)))
            return c->name;
    return add_constant(e, wick_export_name(e, "constant"), &type, data)->name;
}
onnx_name *wick_export_bits(onnx_export *e, wick_dtype dtype, uint64_t bits) {
    uint64_t *kept = wick_export_alloc(e, 1, sizeof *kept);
    if (!kept) return &wick_export_absent;
    *kept = bits;
    return wick_export_array(e, dtype, 0, NULL, kept);
}
onnx_name *wick_export_scalar(onnx_export *e, wick_dtype dtype, double value) {
    return wick_export_bits(e, dtype, wick_number_bits(dtype, value));
}
onnx_name *wick_export_list(onnx_export *e, int n, const int64_t *values) {
    int64_t *kept = wick_export_alloc(e, (size_t)n + 1, sizeof *kept);
    if (!kept) return &wick_export_absent;
    for (int i = 0; i < n; i++) kept[i] = values[i];
    return wick_export_array(e, WICK_I64, 1, &(int64_t){n}, kept);
}

/* ---- common nodes ------------------------------------------------------------------------------------------------ */

onnx_name *wick_export_reshape(onnx_export *e, const wick_node *node, onnx_name *x, const wick_value *like) {
    onnx_name *shape = wick_export_shape(e, node, like, true);
    if (!shape) return &wick_export_absent;
    bool zero = false;
    int open = 0;
    for (int d = 0; d < like->type.rank; d++)
        zero |= like->type.dims[d] == 0, open += !wick_export_is_fixed_at(e, like, d);
    if ((zero || open > 1) && e->opset >= 14) wick_export_int(e, "allowzero", 1);
    return ONNX(e, "Reshape", x, shape);
}
onnx_name *wick_export_unsqueeze(onnx_export *e, onnx_name *x, int n, const int64_t *axes) {
    return ONNX(e, "Unsqueeze", x, wick_export_list(e, n, axes));
}
onnx_name *wick_export_squeeze(onnx_export *e, onnx_name *x, int n, const int64_t *axes) {
    return ONNX(e, "Squeeze", x, wick_export_list(e, n, axes));
}
onnx_name *wick_export_cast(onnx_export *e, onnx_name *x, wick_dtype dtype) {
    wick_export_int(e, "to", wick_onnx_type(dtype));
    return ONNX(e, "Cast", x);
}
onnx_name *wick_export_transpose(onnx_export *e, onnx_name *x, int rank, const int64_t *axes) {
    bool moves = false;
    for (int i = 0; i < rank; i++) moves |= axes[i] != i;
    if (!moves) return x;
    wick_export_ints(e, "perm", rank, axes);
    return ONNX(e, "Transpose", x);
}
onnx_name *wick_export_reduce(onnx_export *e, const char *op, onnx_name *x, int n, const int64_t *axes, bool keepdims) {
    const bool input = e->opset >= 18 || strcmp(op, "ReduceSum") == 0;
    wick_export_int(e, "keepdims", keepdims);
    if (input) return ONNX(e, op, x, wick_export_list(e, n, axes));
    wick_export_ints(e, "axes", n, axes);
    return ONNX(e, op, x);
}
onnx_name *wick_export_slice(onnx_export *e, onnx_name *x, int64_t axis, int64_t start, int64_t end, int64_t step) {
    return ONNX(e, "Slice", x, wick_export_list(e, 1, &start), wick_export_list(e, 1, &end),
                wick_export_list(e, 1, &axis), wick_export_list(e, 1, &step));
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

bool wick_export_varies(const onnx_export *e, const wick_node *node) {
    if (node->op->flags & WICK_OP_POINTERS) return false;
    for (int r = 1; r < e->n_recordings; r++) {
        const wick_node *other = e->at[r]->nodes[node->position];
        if (other->attr_size != node->attr_size ||
            (node->attr_size && memcmp(other->attr, node->attr, node->attr_size)))
            return true;
    }
    return false;
}

static bool is_number(const wick_node *node) { return node->op == &wick_op_slot || node->op == &wick_op_constant; }
/* Of a slot or constant, in recording r. */
static uint64_t bits_at(const onnx_export *e, const wick_node *node, int r) {
    const wick_node *other = e->at[r]->nodes[node->position];
    return node->op == &wick_op_slot ? e->recordings[r].slots[other->slot[0]]
                                     : ((const wick_constant_attr *)other->attr)->bits;
}
static double number_of(wick_dtype dtype, uint64_t bits) {
    double number = 0;
    const wick_copy to_f64 = {.rank = 0, .src = dtype, .dst = WICK_F64};
    wick_copy_run(&to_f64, 0, 1, &bits, &number);
    return number;
}
static bool number_bits(const onnx_export *e, const wick_node *node, uint64_t *bits) {
    if (!is_number(node)) return false;
    *bits = bits_at(e, node, 0);
    for (int r = 1; r < e->n_recordings; r++)
        if (bits_at(e, node, r) != *bits) return false; /* a number that the function worked out from an extent */
    return true;
}
bool wick_export_number(const onnx_export *e, const wick_value *v, double *number) {
    uint64_t bits = 0;
    while (v->node->op == &wick_op_expand || v->node->op == &wick_op_reshape) v = v->node->in[0];
    if (!number_bits(e, v->node, &bits)) return false;
    *number = number_of((wick_dtype)v->type.dtype, bits);
    return true;
}

/* A whole number that the function worked out from extents, as an expression of them; or NULL. */
static onnx_name *following(onnx_export *e, const wick_value *v) {
    const wick_dtype dtype = (wick_dtype)v->type.dtype;
    int64_t *values = wick_export_alloc(e, (size_t)e->n_recordings, sizeof *values);
    bool whole = values && is_number(v->node) && !wick_dtype_is_packed(dtype) && wick_dtype_size(dtype);
    for (int r = 0; r < e->n_recordings && whole; r++) {
        const double number = number_of(dtype, bits_at(e, v->node, r));
        whole = fabs(number) < 0x1p53 && number == floor(number);
        if (whole) values[r] = (int64_t)number;
    }
    const onnx_extent x = whole ? wick_export_follow(e, v->node, values) : (onnx_extent){.kind = ONNX_EXTENT_UNKNOWN};
    if (x.kind == ONNX_EXTENT_OPEN)
        return wick_export_cast(e, wick_export_squeeze(e, wick_export_extent_value(e, &x), 1, &(int64_t){0}), dtype);
    for (int r = 0; values && is_number(v->node) && r < e->n_recordings; r++)
        values[r] = (int64_t)bits_at(e, v->node, r);
    wick_export_unsupported(e, v->node, wick_export_why(e, "a number depends on", values));
    return NULL;
}

/* A constant or run-time number: the same everywhere. */
static onnx_name *uniform(onnx_export *e, wick_value *v, bool whole) {
    uint64_t bits = 0;
    const wick_proto_out queued = e->attrs; /* of the node that reads it */
    e->attrs = (wick_proto_out){0};
    onnx_name *one =
        number_bits(e, v->node, &bits) ? wick_export_bits(e, (wick_dtype)v->type.dtype, bits) : following(e, v);
    if (one && whole && v->type.rank) {
        onnx_name *shape = wick_export_shape(e, v->node, v, false);
        one = shape ? ONNX(e, "Expand", one, shape) : NULL;
    }
    wick_proto_drop(&e->attrs);
    e->attrs = queued;
    return one ? one : &wick_export_absent;
}

static onnx_name *list_of(onnx_export *e, const wick_value *v), *count_of(onnx_export *e, wick_value *v);
static bool counts_up(onnx_export *e, const wick_node *node);

onnx_name *wick_export_value(onnx_export *e, wick_value *v) {
    if (!e->names[v->id] && v->node->op == &wick_op_data) {
        const wick_proto_out queued = e->attrs; /* of the node that reads it */
        e->attrs = (wick_proto_out){0};
        onnx_name *list = counts_up(e, v->node) ? count_of(e, v) : list_of(e, v);
        e->names[v->id] = list ? list : &wick_export_absent;
        wick_proto_drop(&e->attrs);
        e->attrs = queued;
    }
    if (!e->names[v->id]) e->names[v->id] = uniform(e, v, true);
    if (e->names[v->id] == &wick_export_absent && !e->n_unsupported)
        wick_export_unsupported(e, v->node, "one of its results, which is for gradients");
    return e->names[v->id];
}
onnx_name *wick_export_in(onnx_export *e, const wick_node *node, int k) { return wick_export_value(e, node->in[k]); }
onnx_name *wick_export_thin(onnx_export *e, wick_value *v, wick_type *type) {
    if (v->node->op == &wick_op_expand) v = v->node->in[0];
    *type = v->type;
    if (v->node->op != &wick_op_slot && v->node->op != &wick_op_constant) return wick_export_value(e, v);
    type->rank = 0;
    return uniform(e, v, false);
}
void wick_export_set(onnx_export *e, const wick_node *node, int k, onnx_name *name) {
    e->names[node->out[k].id] = name;
}

/* ---- leaves ------------------------------------------------------------------------------------------------------ */

/* The name of the state that the leaf is; NULL: of none. */
static const char *state_name(const wick_model *model, const wick_recorded_leaf *leaf) {
    const size_t prefix = sizeof WICK_AVERAGE_OF - 1;
    for (int i = 0; leaf->state && i < wick_model_count(model); i++) {
        const wick_named s = wick_model_at(model, i);
        if (s.tensor == leaf->state || (s.tensor->value && s.tensor->value->array == leaf->array))
            return strncmp(s.name, WICK_AVERAGE_OF, prefix) ? s.name : s.name + prefix;
    }
    return NULL;
}

/* The leaf's numbers, row by row. */
static const void *leaf_data(onnx_export *e, const wick_recorded_leaf *leaf, const wick_type *type) {
    if (wick_layout_is_contiguous(&leaf->array->layout, type))
        return wick_dtype_is_packed((wick_dtype)type->dtype) ? leaf->array->storage->data
                                                             : wick_array_data(leaf->array, type);
    const size_t elem = wick_dtype_size((wick_dtype)type->dtype);
    char *out = wick_export_alloc(e, wick_type_bytes(type), 1);
    const char *from = wick_array_data(leaf->array, type);
    const int64_t n = wick_type_count(type);
    for (int64_t i = 0; i < n && out; i++) {
        int64_t at = 0, rest = i;
        for (int d = type->rank - 1; d >= 0; d--) {
            at += rest % type->dims[d] * leaf->array->layout.strides[d];
            rest /= type->dims[d];
        }
        memcpy(out + (size_t)i * elem, from + at * (int64_t)elem, elem);
    }
    return out;
}

/* Is it what it is in the first recording? *shaped: it has that type, at least. */
static bool same_leaf(onnx_export *e, const wick_node *node, int r, const void *data, bool *shaped) {
    const wick_node *other = e->at[r]->nodes[node->position];
    const wick_recorded_leaf *there = &e->recordings[r].leaves[other->slot[0]];
    const wick_type *type = &node->out[0].type;
    if (there->array == e->recordings[0].leaves[node->slot[0]].array) return true;
    const void *same = wick_type_equal(type, &other->out[0].type) ? leaf_data(e, there, type) : NULL;
    *shaped &= same && data;
    return same && data && !memcmp(data, same, wick_type_bytes(type));
}
/* A few whole numbers in a row. */
static bool is_list(const wick_type *type) {
    return type->dtype == WICK_I64 && type->rank <= 1 && wick_type_count(type) <= WICK_MAX_DIMS;
}

/* 0, 1, 2 ... in all recordings, however long they are there? */
static bool counts_up(onnx_export *e, const wick_node *node) {
    const wick_type *first = &node->out[0].type;
    for (int r = 0; r < e->n_recordings; r++) {
        const wick_node *other = e->at[r]->nodes[node->position];
        const wick_type *type = &other->out[0].type;
        if (type->rank != 1 || type->dtype != first->dtype || e->depth) return false;
        const void *data = leaf_data(e, &e->recordings[r].leaves[other->slot[0]], type);
        for (int64_t i = 0; i < type->dims[0]; i++) {
            const bool same = !data                      ? false
                              : type->dtype == WICK_I64 ? ((const int64_t *)data)[i] == i
                              : type->dtype == WICK_I32 ? ((const int32_t *)data)[i] == i
                              : type->dtype == WICK_F32 ? ((const float *)data)[i] == (float)i && i < 1 << 24
                              : type->dtype == WICK_F64 ? ((const double *)data)[i] == (double)i
                                                        : false;
            if (!same) return false;
        }
    }
    return true;
}
static onnx_name *count_of(onnx_export *e, wick_value *v) {
    const onnx_extent extent = wick_export_extent(e, v, 0);
    onnx_name *n = wick_export_extents(e, v->node, 1, &extent);
    if (!n) return NULL;
    n = ONNX(e, "Range", wick_export_scalar(e, WICK_I64, 0), wick_export_squeeze(e, n, 1, &(int64_t){0}),
             wick_export_scalar(e, WICK_I64, 1));
    return v->type.dtype == WICK_I64 ? n : wick_export_cast(e, n, (wick_dtype)v->type.dtype);
}

/* Such a tensor that is another one for other extents, as the shape that an importer asked for: each number as an
 * expression; or NULL. */
static onnx_name *list_of(onnx_export *e, const wick_value *v) {
    const wick_node *node = v->node;
    const int n = (int)wick_type_count(&v->type);
    onnx_extent extents[WICK_MAX_DIMS];
    int64_t *values = wick_export_alloc(e, (size_t)e->n_recordings, sizeof *values);
    if (!values || e->depth || !is_list(&v->type))
        return wick_export_unsupported(e, node, "its numbers follow the open extents"), NULL;
    for (int k = 0; k < n; k++) {
        for (int r = 0; r < e->n_recordings; r++) {
            const int64_t *data =
                leaf_data(e, &e->recordings[r].leaves[e->at[r]->nodes[node->position]->slot[0]], &v->type);
            if (!data || !wick_type_equal(&v->type, &e->at[r]->nodes[node->position]->out[0].type))
                return wick_export_unsupported(e, node, "its numbers follow the open extents"), NULL;
            values[r] = data[k];
        }
        extents[k] = wick_export_follow(e, node, values);
    }
    onnx_name *list = wick_export_extents(e, node, n, extents);
    return list && !v->type.rank ? wick_export_squeeze(e, list, 1, &(int64_t){0}) : list;
}

static wick_status add_leaves(onnx_export *e, const wick_model *model) {
    const wick_recording *base = &e->recordings[0];
    for (size_t i = 0; i < e->at[0]->n; i++) {
        wick_node *node = e->at[0]->nodes[i];
        if (node->op == &wick_op_input)
            wick_export_set(e, node, 0, e->ports[((const wick_input_attr *)node->attr)->index]);
        if (node->op != &wick_op_data) continue;
        const wick_recorded_leaf *leaf = &base->leaves[node->slot[0]];
        const wick_type *type = &node->out[0].type;
        const void *data = leaf_data(e, leaf, type);
        int r = 1;
        bool shaped = true;
        while (r < e->n_recordings && same_leaf(e, node, r, data, &shaped)) r++;
        if (r < e->n_recordings && ((shaped && is_list(type)) || counts_up(e, node)))
            continue; /* numbers made of extents: said where they are read */
        if (r < e->n_recordings) {
            const char *why = wick_export_why(e, "a tensor that the function makes depends on", NULL);
            return wick_context_fail(e->ctx, WICK_ERR_UNSUPPORTED,
                                     "export: %s%s%s; make it with ops, or give the extent a number", why,
                                     node->site ? " at " : "", node->site ? node->site : "");
        }
        const char *state = state_name(model, leaf);
        if (state && !take_name(e, keep_text(e, state))) state = NULL; /* an input has its name */
        onnx_constant *c =
            add_constant(e, state ? named(e, keep_text(e, state)) : wick_export_name(e, "constant"), type, data);
        c->state = state != NULL;
        wick_export_set(e, node, 0, c->name);
    }
    return WICK_OK;
}

/* ---- the walk ---------------------------------------------------------------------------------------------------- */

static const onnx_export_row *row_of(const wick_op *op) {
    static const onnx_export_rows *const all[] = {
        &wick_export_shape_rows,     &wick_export_index_rows,  &wick_export_nn_rows,
        &wick_export_recurrent_rows, &wick_export_signal_rows, &wick_export_control_rows,
        &wick_export_quant_rows,     &wick_export_more_rows,   &wick_export_chosen_rows};
    for (size_t f = 0; f < WICK_COUNTOF(all); f++)
        for (size_t i = 0; i < all[f]->n; i++)
            if (all[f]->rows[i].op == op) return &all[f]->rows[i];
    return NULL;
}

/* The first opset with tensors of a dtype. */
static int dtype_since(int dtype) {
    return dtype == WICK_U2 || dtype == WICK_I2   ? 25
           : dtype == WICK_F8_E8M0                ? 24
           : dtype == WICK_F4_E2M1                ? 23
           : dtype == WICK_U4 || dtype == WICK_I4 ? 21
           : wick_onnx_is_f8((wick_dtype)dtype)   ? 19
                                                  : 0;
}
static bool has_dtypes(const onnx_export *e, const wick_node *node) {
    int since = 0;
    for (int k = 0; k < node->n_in; k++) since = WICK_MAX(since, dtype_since(node->in[k]->type.dtype));
    for (int k = 0; k < node->n_out; k++) since = WICK_MAX(since, dtype_since(node->out[k].type.dtype));
    return since <= e->opset;
}

void wick_export_graph(onnx_export *e) {
    for (size_t i = 0; i < e->at[0]->n && !e->nomem; i++) {
        const wick_node *node = e->at[0]->nodes[i];
        if (node->op->flags & WICK_OP_LEAF) continue;
        const onnx_export_row *row = node->op->flags & WICK_OP_ELEMENTWISE ? NULL : row_of(node->op);
        if (!has_dtypes(e, node)) wick_export_unsupported(e, node, "of this dtype; a later opset it has");
        else if (node->op->flags & WICK_OP_ELEMENTWISE) wick_export_elementwise(e, node);
        else if (!row) wick_export_unsupported(e, node, NULL);
        else if (!row->shaped && wick_export_varies(e, node))
            wick_export_unsupported(e, node, wick_export_why_varies(e, node));
        else row->fn(e, node);
        wick_export_see(e, node);
    }
}

/* Results under the names that were asked for. */
static void name_outputs(onnx_export *e) {
    for (int i = 0; i < e->n_out; i++) {
        onnx_name *port = e->ports[e->n_in + i], *made = wick_export_value(e, e->at[0]->outputs[i]);
        bool taken = made->given || e->n_unsupported;
        for (int k = 0; k < i; k++) taken |= e->ports[e->n_in + k] == made;
        if (taken) made = ONNX(e, "Identity", made);
        made->text = port->text;
        e->ports[e->n_in + i] = made;
    }
    for (int i = 0; i < e->n_out; i++) e->ports[e->n_in + i]->used = e->ports[e->n_in + i]->given = true;
    wick_export_mark(e->last);
}

void wick_export_mark(onnx_made *last) {
    for (onnx_made *m = last; m; m = m->prev) {
        bool used = false;
        for (int k = 0; k < m->n_out; k++) used |= m->out[k]->used;
        for (int k = 0; k < m->n_in && used; k++) m->in[k]->used = true;
        for (int b = 0; b < 2 && used; b++) {
            if (!m->bodies[b]) continue;
            for (int k = 0; k < m->bodies[b]->n_out; k++) m->bodies[b]->out[k]->used = true;
            wick_export_mark(m->bodies[b]->last);
        }
    }
}

/* ---- the entry --------------------------------------------------------------------------------------------------- */

static wick_status name_ports(onnx_export *e) {
    const wick_onnx_save_options *o = e->options;
    e->ports = wick_export_alloc(e, (size_t)(e->n_in + e->n_out) + 1, sizeof *e->ports);
    if (!e->ports) return wick_context_fail(e->ctx, WICK_ERR_NOMEM, "export: out of memory");
    for (int i = 0; i < e->n_in + e->n_out; i++) {
        const bool in = i < e->n_in;
        const int k = in ? i : i - e->n_in;
        const char *given = in ? e->in[k].name : o->outputs ? o->outputs[k] : NULL, *usual = in ? "input" : "output";
        char numbered[32];
        snprintf(numbered, sizeof numbered, "%s%.0d", usual, k);
        e->ports[i] = named(e, keep_text(e, given && *given ? given : numbered));
        e->ports[i]->given = in;
        if (!take_name(e, e->ports[i]->text))
            return wick_context_fail(e->ctx, WICK_ERR_INVALID, "export: two inputs or outputs are called \"%s\"",
                                     e->ports[i]->text);
    }
    return WICK_OK;
}

static wick_status run_export(onnx_export *e, const onnx_source *source, const char *path, int64_t least,
                              int64_t step) {
    const int asked = e->options->opset;
    if (asked && (asked < OLDEST_OPSET || asked > NEWEST_OPSET))
        return wick_context_fail(e->ctx, WICK_ERR_INVALID, "export: opset %d; from %d to %d are written", asked,
                                 OLDEST_OPSET, NEWEST_OPSET);
    e->opset = asked ? asked : USUAL_OPSET;
    e->lacking = wick_str_on(e->unsupported, sizeof e->unsupported);
    WICK_TRY(wick_export_symbols(e));
    WICK_TRY(name_ports(e));
    WICK_TRY(wick_export_record(e, source, least, step));
    e->names = wick_export_alloc(e, wick_graph_number(e->at[0]) + 1, sizeof *e->names);
    if (e->names) {
        WICK_TRY(add_leaves(e, source->model));
        wick_export_graph(e);
        if (!e->n_unsupported) name_outputs(e);
    }
    if (!e->names || e->nomem) return wick_context_fail(e->ctx, WICK_ERR_NOMEM, "export: out of memory");
    if (e->n_unsupported)
        return wick_context_fail(e->ctx, WICK_ERR_UNSUPPORTED, "export: ONNX (opset %d) has no %s%s", e->opset,
                                 e->unsupported, e->n_unsupported > 40 || e->lacking.cut ? ", ..." : "");
    WICK_TRY(wick_export_check(e, source));
    return wick_export_write(e, path);
}

static wick_status export_at(const onnx_source *source, int n_in, const wick_spec *in, int n_out, const char *path,
                             const wick_onnx_save_options *options, int64_t least, int64_t step) {
    wick_context *ctx = wick_model_context(source->model);
    onnx_export *e = wick_calloc(NULL, sizeof *e);
    if (!e) return wick_context_fail(ctx, WICK_ERR_NOMEM, "export: out of memory");
    e->ctx = ctx;
    e->options = options;
    e->n_in = n_in, e->n_out = n_out, e->in = in;
    e->opened = source->fn == wick_onnx_function;
    wick_arena_init(&e->arena, NULL, 1 << 16);
    const wick_status status = run_export(e, source, path, least, step);
    for (int r = 0; r < ONNX_MOST_RECORDINGS && e->arenas; r++) {
        if (r < e->n_recordings) wick_recording_drop(&e->recordings[r]);
        wick_arena_free(&e->arenas[r]);
    }
    wick_proto_drop(&e->attrs);
    wick_arena_free(&e->arena);
    wick_release(NULL, e, sizeof *e);
    return status;
}

/* Rather than what an op says of the extents that were tried. */
static bool is_own(const wick_msg *msg) { return strncmp(msg->text, "export: ", 8) == 0; }

/* 1 broadcasts, and would not be told from a 1 that stays; where things are few, functions may go another way than with
 * many; and images may have to be multiples of what a network halves five times. */
static wick_status export_source(const onnx_source *source, int n_in, const wick_spec *in, int n_out, const char *path,
                                 const wick_onnx_save_options *options) {
    static const wick_onnx_save_options none;
    static const struct {
        int64_t least, step;
    } tries[] = {{3, 1}, {17, 1}, {65, 1}, {64, 32}, {1100, 1}};
    wick_context *ctx = wick_model_context(source->model);
    if (!path || !*path) return wick_context_fail(ctx, WICK_ERR_INVALID, "export: no path");
    if (n_in < 0 || n_out < 1 || (n_in && !in))
        return wick_context_fail(ctx, WICK_ERR_INVALID, "export: needs specs of the inputs, and an output");
    const int n_meta = options ? options->n_meta : 0;
    bool bad = n_meta < 0 || (n_meta && !options->meta);
    for (int64_t i = 0; i < 2 * (int64_t)n_meta && !bad; i++) bad = !options->meta[i];
    if (bad) return wick_context_fail(ctx, WICK_ERR_INVALID, "export: %d metadata, of which some are NULL", n_meta);
    wick_msg first = {0};
    for (size_t i = 0; i < WICK_COUNTOF(tries); i++) {
        const wick_status status =
            export_at(source, n_in, in, n_out, path, options ? options : &none, tries[i].least, tries[i].step);
        const bool other = status == WICK_ERR_UNSUPPORTED || status == WICK_ERR_SHAPE ||
                           status == WICK_ERR_INVALID; /* it may be the extents */
        if (status == WICK_OK && i) wick_context_clear_error(ctx);
        if (!other || !options || !options->n_symbols) return status;
        if (!i || (!is_own(&first) && is_own(&ctx->msg))) first = ctx->msg;
        wick_context_clear_error(ctx);
    }
    return wick_context_fail(ctx, first.status, "%s", first.text);
}

wick_status wick_onnx_save(wick_model *model, wick_function fn, void *user, int n_in, const wick_spec *in, int n_out,
                           const char *path, const wick_onnx_save_options *options) {
    const bool training = wick_model_training(model);
    wick_model_set_training(model, false);
    const wick_status status = export_source(&(onnx_source){model, fn, user, options ? options->prepare : NULL, NULL},
                                             n_in, in, n_out, path, options);
    wick_model_set_training(model, training);
    return status;
}

/* ---- models that were opened ------------------------------------------------------------------------------------- */

static wick_status prepare(void *user, const wick_spec *in) { return wick_onnx_prepare(user, in); }

/* Small whole numbers among the file's constants. */
static int constants(void *user, int64_t *numbers, int most) {
    const wick_onnx *onnx = user;
    const onnx_block *b = onnx->main;
    int n = 0;
    for (size_t i = 0; i < b->n_weights + b->n && n < most; i++) {
        const onnx_value *v = i < b->n_weights ? &b->weights[i].value : &b->steps[i - b->n_weights].constant;
        int64_t few[4];
        if (v->v.kind != WICK_VALUE_TENSOR || !wick_dtype_is_integer(wick_tensor_dtype(v->v.tensor)) ||
            wick_tensor_count(v->v.tensor) > 4)
            continue;
        if (wick_onnx_elements(v->v.tensor, WICK_I64, few) != WICK_OK) continue;
        for (int64_t k = 0; k < wick_tensor_count(v->v.tensor) && n < most; k++) {
            const int64_t x = few[k] < 0 ? -few[k] : few[k];
            bool known = x < 5 || x > 1 << 20 || few[k] == INT64_MIN;
            for (int l = 0; l < n && !known; l++) known = numbers[l] == x;
            if (!known) numbers[n++] = x;
        }
    }
    return n;
}

/* Extents of -1 as symbols, under the file's names or INPUT_axis, and as 1 in `in`. tie: the first one of each input
 * gets the name of the very first. Returns how many; -1: out of memory. *tied: whether tying gives any another name. */
static int open_extents(const wick_onnx *onnx, wick_spec *in, bool tie, wick_onnx_symbol *symbols, wick_arena *arena,
                        bool *tied) {
    int n = 0;
    const char *shared = NULL;
    for (int i = 0; i < onnx->n_in; i++) {
        const wick_onnx_port *p = &onnx->in_ports[i];
        bool first = true;
        for (int d = 0; d < in[i].rank; d++) {
            if (in[i].dims[d] >= 0) continue;
            const size_t size = strlen(p->name) + 24;
            char *numbered = wick_arena_alloc(arena, size);
            if (!numbered) return -1;
            snprintf(numbered, size, "%s_%d", p->name, d);
            const char *name = d < p->rank && p->dim_names[d] && *p->dim_names[d] ? p->dim_names[d] : numbered;
            if (!shared) shared = name;
            *tied |= first && strcmp(shared, name) != 0;
            symbols[n++] = (wick_onnx_symbol){first && tie ? shared : name, i, d};
            in[i].dims[d] = 1;
            first = false;
        }
    }
    return n;
}

/* As wick_onnx_resave, with names as open_extents gives them. */
static wick_status resave(wick_onnx *onnx, const wick_spec *in, const char *path, wick_onnx_save_options o, bool tie,
                          wick_arena *arena, bool *tied) {
    wick_context *ctx = onnx->ctx;
    wick_spec *specs = wick_arena_zalloc(arena, (size_t)(onnx->n_in + 1) * sizeof *specs);
    const char **outputs = wick_arena_zalloc(arena, (size_t)(onnx->n_out + 1) * sizeof *outputs);
    wick_onnx_symbol *symbols = wick_arena_zalloc(arena, (size_t)(onnx->n_in + 1) * WICK_MAX_DIMS * sizeof *symbols);
    if (!specs || !outputs || !symbols) return wick_context_fail(ctx, WICK_ERR_NOMEM, "export: out of memory");
    for (int i = 0; i < onnx->n_out; i++) outputs[i] = onnx->out_ports[i].name;
    o.outputs = outputs;
    for (int i = 0; i < onnx->n_in; i++) {
        const wick_onnx_port *p = &onnx->in_ports[i];
        specs[i] = in ? in[i] : wick_onnx_input_spec(onnx, i);
        specs[i].name = p->name;
        if (specs[i].rank < 0)
            return wick_context_fail(ctx, WICK_ERR_UNSUPPORTED,
                                     "export: %s: input \"%s\" is no tensor of numbers with known dims: give specs",
                                     onnx->path, p->name);
        if (!in) memcpy(specs[i].dims, p->dims, sizeof specs[i].dims);
    }
    const int n = open_extents(onnx, specs, tie, symbols, arena, tied);
    if (n < 0) return wick_context_fail(ctx, WICK_ERR_NOMEM, "export: out of memory");
    if (!o.n_symbols) o.symbols = symbols, o.n_symbols = n;
    return export_source(&(onnx_source){onnx->model, wick_onnx_function, onnx, prepare, constants}, onnx->n_in, specs,
                         onnx->n_out, path, &o);
}

wick_status wick_onnx_resave(wick_onnx *onnx, const wick_spec *in, const char *path,
                             const wick_onnx_save_options *options) {
    const wick_onnx_save_options o = options ? *options : (wick_onnx_save_options){0};
    wick_arena arena;
    bool tied = false;
    wick_arena_init(&arena, NULL, 1 << 12);
    wick_status status = resave(onnx, in, path, o, false, &arena, &tied);
    /* it may be the extents */
    const bool other = status == WICK_ERR_UNSUPPORTED || status == WICK_ERR_SHAPE || status == WICK_ERR_INVALID;
    if (other && tied && !o.n_symbols) { /* two inputs may be of one batch without the file saying so */
        const wick_msg first = onnx->ctx->msg;
        wick_context_clear_error(onnx->ctx);
        if (resave(onnx, in, path, o, true, &arena, &tied) == WICK_OK) status = WICK_OK;
        else wick_context_clear_error(onnx->ctx), status = wick_context_fail(onnx->ctx, first.status, "%s", first.text);
    }
    wick_arena_free(&arena);
    return status;
}
