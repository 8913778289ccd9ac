/* make.c: tensors from data, memory, files and numbers. */
#include "kernels/kernels.h"
#include "tensor/op.h"

/* ---- leaves ------------------------------------------------------------------------------------------------------ */

static wick_status infer_attr_type(wick_infer *i) { /* every leaf's attributes start with its type */
    memcpy(i->out, i->attr, sizeof *i->out);
    return WICK_OK;
}
static void print_number(wick_str *s, const wick_node *node) {
    const wick_constant_attr *c = node->attr;
    wick_copy to_f64 = {.rank = 0, .src = (wick_dtype)c->type.dtype, .dst = WICK_F64};
    double value;
    wick_copy_run(&to_f64, 0, 1, &c->bits, &value);
    wick_str_add(s, "value=%.9g", value);
}
static void print_index(wick_str *s, const wick_node *node) {
    wick_str_add(s, "index=%lld", (long long)((const wick_input_attr *)node->attr)->index);
}
static wick_status infer_assign(wick_infer *i) {
    *i->out = *i->in[0];
    if (!wick_same_dims(i->in[0], i->in[1]))
        return wick_infer_fail(i, WICK_ERR_SHAPE, "the state and its new value have different shapes");
    if (i->in[0]->dtype != i->in[1]->dtype)
        return wick_infer_fail(i, WICK_ERR_DTYPE, "the state and its new value have different dtypes; cast the value");
    return WICK_OK;
}
static void grad_assign(wick_gradient *g) { g->gin[1] = g->gout[0]; }

const wick_op wick_op_data = {
    .name = "data", .doc = "a value in memory", .n_out = 1, .flags = WICK_OP_LEAF, .infer = infer_attr_type};
const wick_op wick_op_slot = {
    .name = "slot", .doc = "a number given at run time", .n_out = 1, .flags = WICK_OP_LEAF, .infer = infer_attr_type};
const wick_op wick_op_constant = {.name = "constant",
                                  .doc = "a number known when planning",
                                  .n_out = 1,
                                  .flags = WICK_OP_LEAF,
                                  .infer = infer_attr_type,
                                  .print = print_number};
const wick_op wick_op_input = {.name = "input", .doc = "an argument of a compiled function or a region", .n_out = 1,
                               .flags = WICK_OP_LEAF, .infer = infer_attr_type, .print = print_index};
const wick_op wick_op_assign = {.name = "assign", .doc = "a state's new version", .min_in = 2, .max_in = 2, .n_out = 1,
                                .flags = WICK_OP_MOVES | WICK_OP_WHOLE, .infer = infer_assign, .grad = grad_assign};

wick_tensor *wick_leaf(wick_context *ctx, const wick_type *type, wick_array *array) {
    if (!array) return wick_poison(ctx, WICK_ERR_NOMEM, "out of memory for %zu bytes of tensor", wick_type_bytes(type));
    wick_graph *target = ctx->target;
    ctx->target = NULL; /* memory belongs to the context, whatever is being rewritten */
    wick_node *node = wick_node_new(ctx, &wick_op_data, 0, NULL, 1, type, NULL, 0);
    ctx->target = target;
    if (!node) {
        wick_array_unref(array);
        return &ctx->nomem;
    }
    node->out[0].array = array;
    wick_tensor *t = wick_tensor_new(ctx, &node->out[0]);
    if (t != &ctx->nomem) node->cell = t;
    return t;
}

static wick_tensor *bad_type(wick_context *ctx, const char *what, wick_dtype dtype, int rank, const int64_t *dims) {
    if (!wick_dtype_bits(dtype))
        return wick_poison(ctx, WICK_ERR_INVALID, "%s: there is no dtype %d", what, (int)dtype);
    if (rank < 0 || rank > WICK_MAX_DIMS)
        return wick_poison(ctx, WICK_ERR_INVALID, "%s: %d dims; there may be %d", what, rank, WICK_MAX_DIMS);
    if (rank && !dims) return wick_poison(ctx, WICK_ERR_INVALID, "%s: dims is NULL", what);
    for (int i = 0; i < rank; i++)
        if (dims[i] < 0) return wick_poison(ctx, WICK_ERR_INVALID, "%s: dim %d is %lld", what, i, (long long)dims[i]);
    return wick_poison(ctx, WICK_ERR_INVALID, "%s: the size of the tensor cannot be counted", what);
}

wick_tensor *wick_from(wick_context *ctx, wick_dtype dtype, int rank, const int64_t *dims, const void *data) {
    wick_type type;
    if (!wick_type_make(&type, dtype, rank, dims)) return bad_type(ctx, "from", dtype, rank, dims);
    if (!data && wick_type_count(&type)) return wick_poison(ctx, WICK_ERR_INVALID, "from: data is NULL");
    wick_array *array = wick_array_contiguous(ctx, &type);
    if (array && data) {
        memcpy(array->storage->data, data, wick_type_bytes(&type));
        wick_elements_end(dtype, array->storage->data, wick_type_count(&type));
    }
    return wick_leaf(ctx, &type, array);
}

wick_tensor *wick_wrap(wick_context *ctx, wick_dtype dtype, int rank, const int64_t *dims, const int64_t *strides,
                       const void *data, void (*release)(void *user), void *user) {
    wick_type type;
    wick_tensor *error = NULL;
    if (!wick_type_make(&type, dtype, rank, dims))
        error = bad_type(ctx, "wrap", dtype, rank, dims);
    else if (!data && wick_type_count(&type))
        error = wick_poison(ctx, WICK_ERR_INVALID, "wrap: data is NULL");
    else if ((uintptr_t)data % WICK_MAX(wick_dtype_size(dtype), 1))
        error = wick_poison(ctx, WICK_ERR_INVALID, "wrap: data is not aligned to its elements of %zu bytes",
                            wick_dtype_size(dtype));
    wick_layout layout;
    wick_layout_contiguous(&layout, &type);
    for (int i = 0; !error && strides && i < rank; i++) layout.strides[i] = strides[i];
    if (!error && wick_dtype_is_packed(dtype) && !wick_layout_is_contiguous(&layout, &type))
        error = wick_poison(ctx, WICK_ERR_INVALID, "wrap: %s is packed: it has no strides", wick_dtype_name(dtype));
    wick_storage *s = error ? NULL : wick_calloc(&ctx->alloc, sizeof *s);
    if (!s) {
        if (release) release(user);
        return error ? error : &ctx->nomem;
    }
    atomic_init(&s->refs, 1);
    s->data = (void *)(uintptr_t)data; /* read-only: never written, since it is not owned */
    s->size = wick_type_bytes(&type);
    s->alloc = ctx->alloc;
    s->release = release;
    s->user = user;
    return wick_leaf(ctx, &type, wick_array_new(ctx, s, &layout));
}

wick_tensor *wick_map_file(wick_context *ctx, const char *path, size_t offset, wick_dtype dtype, int rank,
                           const int64_t *dims) {
    wick_type type;
    if (!wick_type_make(&type, dtype, rank, dims)) return bad_type(ctx, "map", dtype, rank, dims);
    wick_map map;
    wick_msg msg;
    wick_status status = wick_map_open(&map, path, &msg);
    if (status != WICK_OK) return wick_poison(ctx, status, "map: %s", msg.text);
    size_t size = wick_type_bytes(&type);
    wick_tensor *error = NULL;
    if (offset > map.size || size > map.size - offset)
        error = wick_poison(ctx, WICK_ERR_FORMAT, "map: %s has %zu bytes; %zu at offset %zu do not fit", path, map.size,
                            size, offset);
    else if (offset % WICK_MAX(wick_dtype_size(dtype), 1))
        error = wick_poison(ctx, WICK_ERR_INVALID, "map: offset %zu is not a multiple of the element size", offset);
    wick_storage *s = error ? NULL : wick_calloc(&ctx->alloc, sizeof *s);
    if (!s) {
        wick_map_close(&map);
        return error ? error : &ctx->nomem;
    }
    atomic_init(&s->refs, 1);
    s->data = (void *)(uintptr_t)(map.data + offset);
    s->size = size;
    s->alloc = ctx->alloc;
    s->map = map;
    s->version = wick_version_next();
    wick_layout layout;
    wick_layout_contiguous(&layout, &type);
    return wick_leaf(ctx, &type, wick_array_new(ctx, s, &layout));
}

uint64_t wick_number_bits(wick_dtype dtype, double value) {
    uint64_t bits = 0;
    int64_t least, most;
    if (wick_narrow_range(dtype, &least, &most))
        value = value < (double)least ? (double)least : value > (double)most ? (double)most : value;
    wick_copy copy = {.rank = 0, .src = WICK_F64, .dst = dtype};
    wick_copy_run(&copy, 0, 1, &value, &bits);
    return bits;
}

static wick_tensor *filled(wick_context *ctx, const char *what, wick_dtype dtype, int rank, const int64_t *dims,
                           double start, double step) {
    wick_type type;
    if (!wick_type_make(&type, dtype, rank, dims)) return bad_type(ctx, what, dtype, rank, dims);
    if (ctx->result_max && wick_type_bytes(&type) > ctx->result_max)
        return wick_poison(ctx, WICK_ERR_UNSUPPORTED, "%s: %zu bytes, more than the limit of %zu", what,
                           wick_type_bytes(&type), ctx->result_max);
    wick_array *array = wick_array_contiguous(ctx, &type);
    int64_t n = wick_type_count(&type);
    uint64_t bits = wick_number_bits(dtype, start);
    for (int64_t i = 0; array && i < n; i++) {
        if (step != 0) bits = wick_number_bits(dtype, start + step * (double)i);
        wick_element_put(dtype, array->storage->data, i, bits);
    }
    return wick_leaf(ctx, &type, array);
}

wick_tensor *wick_full(wick_context *ctx, wick_dtype dtype, int rank, const int64_t *dims, double value) {
    return filled(ctx, "full", dtype, rank, dims, value, 0);
}
wick_tensor *wick_zeros(wick_context *ctx, wick_dtype dtype, int rank, const int64_t *dims) {
    return filled(ctx, "zeros", dtype, rank, dims, 0, 0);
}
wick_tensor *wick_ones(wick_context *ctx, wick_dtype dtype, int rank, const int64_t *dims) {
    return filled(ctx, "ones", dtype, rank, dims, 1, 0);
}
wick_tensor *wick_arange(wick_context *ctx, wick_dtype dtype, double start, double step, int64_t count) {
    return filled(ctx, "arange", dtype, 1, &count, start, step);
}

wick_tensor *wick_scalar(wick_context *ctx, wick_dtype dtype, double value) {
    wick_type type;
    if (!wick_type_make(&type, dtype, 0, NULL)) return bad_type(ctx, "scalar", dtype, 0, NULL);
    return wick_record_slots(ctx, &wick_op_slot, &type, sizeof type, wick_number_bits(dtype, value), 0);
}

wick_tensor *wick_constant(wick_context *ctx, wick_dtype dtype, double value) {
    wick_constant_attr attr;
    memset(&attr, 0, sizeof attr);
    if (!wick_type_make(&attr.type, dtype, 0, NULL)) return bad_type(ctx, "constant", dtype, 0, NULL);
    attr.bits = wick_number_bits(dtype, value);
    return wick_record(ctx, &wick_op_constant, 0, NULL, &attr, sizeof attr);
}

wick_tensor *wick_like(wick_tensor *x, double value) {
    if (!x) return NULL;
    if (x->error) return wick_poison_like(x->ctx, x->error);
    return wick_constant(x->ctx, (wick_dtype)x->value->type.dtype, value);
}
