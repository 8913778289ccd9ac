/* arrays.c: arrays of the host's as a data set: samples stay where they are. */
#include "data/sets/dataset.h"

typedef struct arrays {
    wick_allocator alloc;
    int fields, label;
    wick_dtype label_dtype;
    struct { const uint8_t *data; size_t bytes; } field[WICK_DATASET_FIELDS];
} arrays;

static const void *at(void *user, int64_t index, int field) {
    const arrays *a = user;
    return a->field[field].data + (size_t)index * a->field[field].bytes;
}

static int64_t label_at(const arrays *a, int64_t index) {
    const uint8_t *data = a->field[a->label].data;
    return a->label_dtype == WICK_U8 ? data[index] : ((const int64_t *)(const void *)data)[index];
}
static int64_t label(void *user, int64_t index) { return label_at(user, index); }

static wick_status get(void *user, int64_t index, void *const *out, wick_fault *fault) {
    (void)fault;
    const arrays *a = user;
    for (int k = 0; k < a->fields; k++)
        if (out[k]) memcpy(out[k], at(user, index, k), a->field[k].bytes);
    return WICK_OK;
}

static void release(void *user) {
    arrays *a = user;
    wick_allocator alloc = a->alloc;
    wick_release(&alloc, a, sizeof *a);
}

static wick_status check(wick_context *ctx, const arrays *a, int64_t count, const wick_spec *fields,
                         const void *const *data, int64_t classes) {
    for (int k = 0; k < a->fields; k++) {
        size_t all;
        const size_t bytes = wick_spec_bytes(&fields[k]);
        for (int d = 0; d < fields[k].rank && d < WICK_MAX_DIMS; d++)
            if (fields[k].dims[d] < 0)
                return wick_context_fail(ctx, WICK_ERR_INVALID, "dataset: array \"%s\": dim %d is %lld", fields[k].name,
                                         d, (long long)fields[k].dims[d]);
        if (wick_mul_overflows(bytes, (size_t)count, &all) || all > PTRDIFF_MAX || (!data[k] && all))
            return wick_context_fail(ctx, WICK_ERR_INVALID, "dataset: array \"%s\" of %lld samples cannot be",
                                     fields[k].name ? fields[k].name : "", (long long)count);
    }
    if (a->label < 0)
        return classes ? wick_context_fail(ctx, WICK_ERR_INVALID, "dataset: %lld classes, and no field is the label",
                                           (long long)classes)
                       : WICK_OK;
    if (a->label >= a->fields || fields[a->label].rank ||
        (fields[a->label].dtype != WICK_I64 && fields[a->label].dtype != WICK_U8))
        return wick_context_fail(ctx, WICK_ERR_INVALID,
                                 "dataset: a label is a field of i64 or u8 without dims; field %d is none", a->label);
    for (int64_t i = 0; i < count; i++)
        if (label_at(a, i) < 0 || label_at(a, i) >= classes)
            return wick_context_fail(ctx, WICK_ERR_INVALID,
                                     "dataset: the label of sample %lld is %lld, of %lld classes", (long long)i,
                                     (long long)label_at(a, i), (long long)classes);
    return WICK_OK;
}

wick_status wick_dataset_of_arrays(wick_context *ctx, int64_t count, int n_fields, const wick_spec *fields,
                                   const void *const *data, int label_field, int64_t classes, wick_dataset **out) {
    if (!out) return wick_context_fail(ctx, WICK_ERR_INVALID, "dataset_of_arrays: out is NULL");
    *out = NULL;
    if (count < 0 || n_fields < 1 || n_fields > WICK_DATASET_FIELDS || !fields || !data)
        return wick_context_fail(ctx, WICK_ERR_INVALID, "dataset: %lld samples of %d arrays", (long long)count,
                                 n_fields);
    arrays *a = wick_calloc(&ctx->alloc, sizeof *a);
    if (!a) return wick_context_fail(ctx, WICK_ERR_NOMEM, "dataset: out of memory");
    *a = (arrays){.alloc = ctx->alloc, .fields = n_fields, .label = label_field};
    wick_dataset_source s = {
        .count = count, .n_fields = n_fields, .get = get, .at = at, .classes = classes, .free = release, .user = a};
    if (label_field >= 0 && label_field < n_fields) s.label = label, a->label_dtype = fields[label_field].dtype;
    for (int k = 0; k < n_fields; k++) {
        s.fields[k] = fields[k];
        a->field[k].data = data[k];
        a->field[k].bytes = wick_spec_bytes(&fields[k]);
    }
    wick_status status = check(ctx, a, count, fields, data, classes);
    if (status == WICK_OK) status = wick_dataset_new(ctx, &s, out);
    if (status != WICK_OK) release(a);
    return status;
}
