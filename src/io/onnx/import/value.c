/* value.c: values in files of their own, and whether two values agree. */
#define WICK_NO_SITES
#include <math.h>

#include "io/onnx/onnx.h"
#include "kernels/kernels.h"

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static wick_status no_memory(wick_onnx *onnx) {
    return wick_msg_set(&onnx->msg, WICK_ERR_NOMEM, "%s: out of memory", onnx->path);
}

static wick_status read_sequence(wick_onnx *onnx, const onnx_sequence *s, wick_onnx_value *out);

/* A MapProto: its values are a sequence of one tensor, or of a number each. */
static wick_status read_map(wick_onnx *onnx, const onnx_map *m, wick_onnx_value *out) {
    wick_onnx_value *items = wick_arena_zalloc(&onnx->arena, 2 * sizeof *items), values = {0};
    const bool texts = m->string_keys.n != 0;
    const size_t n = texts ? m->string_keys.n : m->keys.n;
    if (!items) return no_memory(onnx);
    if (!m->values || (texts && m->keys.n))
        return wick_msg_set(&onnx->msg, WICK_ERR_FORMAT, "map (byte %zu): has no values, or keys of two kinds",
                            m->head.place);
    WICK_TRY(read_sequence(onnx, m->values, &values));
    for (size_t i = 0; i < values.n; i++)
        if (values.items[i].kind != WICK_VALUE_TENSOR ||
            (values.n > 1 && wick_tensor_count(values.items[i].tensor) != 1))
            return wick_msg_set(&onnx->msg, WICK_ERR_UNSUPPORTED, "map (byte %zu): its values are no numbers",
                                m->head.place);
    wick_tensor **parts = wick_arena_zalloc(&onnx->arena, (values.n + 1) * sizeof(wick_tensor *));
    if (!parts) return no_memory(onnx);
    for (size_t i = 0; i < values.n; i++) parts[i] = wick_reshape(values.items[i].tensor, 1, &(int64_t){-1});
    items[1] = (wick_onnx_value){.kind = WICK_VALUE_TENSOR,
                                 .tensor = values.n ? wick_concat((int)values.n, parts, 0)
                                                    : wick_zeros(onnx->ctx, WICK_F32, 1, &(int64_t){0})};
    const char *why;
    if (wick_tensor_error(items[1].tensor, &why) != WICK_OK)
        return wick_msg_set(&onnx->msg, WICK_ERR_FORMAT, "map (byte %zu): %s", m->head.place, why);
    if ((size_t)wick_tensor_count(items[1].tensor) != n)
        return wick_msg_set(&onnx->msg, WICK_ERR_FORMAT, "map (byte %zu): %zu keys and %lld values", m->head.place, n,
                            (long long)wick_tensor_count(items[1].tensor));
    items[0] = (wick_onnx_value){.kind = WICK_VALUE_STRINGS, .rank = 1, .dims = {(int64_t)n}, .n = n};
    if (texts) {
        wick_text *all = wick_arena_alloc(&onnx->arena, n * sizeof *all);
        if (!all) return no_memory(onnx);
        for (size_t i = 0; i < n; i++) all[i] = (wick_text){m->string_keys.at[i].at, m->string_keys.at[i].size};
        items[0].texts = all;
    } else
        items[0] = (wick_onnx_value){.kind = WICK_VALUE_TENSOR,
                                     .tensor = wick_from(onnx->ctx, WICK_I64, 1, &(int64_t){(int64_t)n}, m->keys.at)};
    *out = (wick_onnx_value){.kind = WICK_VALUE_MAP, .n = n, .items = items};
    return WICK_OK;
}

/* A SequenceProto of tensors, sequences or maps; depth is bounded by the decoder's. */
static wick_status read_sequence(wick_onnx *onnx, const onnx_sequence *s, wick_onnx_value *out) {
    if (s->optionals.n)
        return wick_msg_set(&onnx->msg, WICK_ERR_UNSUPPORTED, "sequence (byte %zu): of optionals, which are not read",
                            s->head.place);
    *out = (wick_onnx_value){.kind = WICK_VALUE_SEQUENCE, .n = s->tensors.n + s->sequences.n + s->maps.n};
    wick_onnx_value *items = wick_arena_zalloc(&onnx->arena, (out->n + 1) * sizeof *items);
    if (!items) return no_memory(onnx);
    for (size_t i = 0; i < s->tensors.n; i++)
        WICK_TRY(wick_onnx_read_tensor(onnx, &s->tensors.at[i], &items[i], &onnx->arena, &onnx->msg));
    for (size_t i = 0; i < s->sequences.n; i++)
        WICK_TRY(read_sequence(onnx, &s->sequences.at[i], &items[s->tensors.n + i]));
    for (size_t i = 0; i < s->maps.n; i++)
        WICK_TRY(read_map(onnx, &s->maps.at[i], &items[s->tensors.n + s->sequences.n + i]));
    out->items = items;
    return WICK_OK;
}

static wick_status read_value(wick_onnx *onnx, const wick_onnx_port *port, const wick_map *map, wick_onnx_value *out) {
    const wick_proto_limits limits = {.memory = onnx->limits.memory, .watch = &onnx->ctx->watch};
    if (port->optional) { /* its one field tells what it is; a bare tensor or sequence is one too */
        onnx_optional *o = wick_arena_zalloc(&onnx->arena, sizeof *o);
        if (!o) return no_memory(onnx);
        if (wick_proto_decode(&wick_onnx_optional_message, map->data, map->size, &limits, &onnx->arena, o,
                              &onnx->msg) == WICK_OK) {
            if (o->tensor) return wick_onnx_read_tensor(onnx, o->tensor, out, &onnx->arena, &onnx->msg);
            if (o->sequence) return read_sequence(onnx, o->sequence, out);
            if (o->map) return read_map(onnx, o->map, out);
            if (o->optional)
                return wick_msg_set(&onnx->msg, WICK_ERR_UNSUPPORTED,
                                    "optional (byte 0): of an optional, which is not read");
            *out = (wick_onnx_value){0};
            return WICK_OK;
        }
    }
    if (port->kind == WICK_VALUE_MAP) {
        onnx_map *m = wick_arena_zalloc(&onnx->arena, sizeof *m);
        if (!m) return no_memory(onnx);
        WICK_TRY(wick_proto_decode(&wick_onnx_map_message, map->data, map->size, &limits, &onnx->arena, m, &onnx->msg));
        return read_map(onnx, m, out);
    }
    if (port->kind == WICK_VALUE_SEQUENCE) {
        onnx_sequence *s = wick_arena_zalloc(&onnx->arena, sizeof *s);
        if (!s) return no_memory(onnx);
        WICK_TRY(
            wick_proto_decode(&wick_onnx_sequence_message, map->data, map->size, &limits, &onnx->arena, s, &onnx->msg));
        return read_sequence(onnx, s, out);
    }
    onnx_tensor *t = wick_arena_zalloc(&onnx->arena, sizeof *t);
    if (!t) return no_memory(onnx);
    WICK_TRY(wick_proto_decode(&wick_onnx_tensor_message, map->data, map->size, &limits, &onnx->arena, t, &onnx->msg));
    return wick_onnx_read_tensor(onnx, t, out, &onnx->arena, &onnx->msg);
}

wick_status wick_onnx_read_value(wick_onnx *onnx, const wick_onnx_port *port, const char *path, wick_onnx_value *out) {
    if (!out) return wick_context_fail(onnx->ctx, WICK_ERR_INVALID, "onnx_read_value: out is NULL");
    wick_map map;
    *out = (wick_onnx_value){0};
    wick_status status = wick_map_open(&map, path, &onnx->msg);
    if (status != WICK_OK) return wick_context_fail(onnx->ctx, status, "%s", onnx->msg.text);
    wick_onnx_pages *pages = wick_onnx_pages_new(&map, path);
    if (!pages) {
        wick_map_close(&map);
        return wick_context_fail(onnx->ctx, WICK_ERR_NOMEM, "%s: out of memory", path);
    }
    pages->next = onnx->pages; /* texts lie in it */
    onnx->pages = pages;
    const wick_watch was = wick_onnx_begin(onnx);
    const bool texts = port->kind == WICK_VALUE_STRINGS && map.size >= 6 && !memcmp(map.data, "\x93NUMPY", 6);
    if (texts) {
        status = wick_onnx_read_npy_texts(onnx, &map, path, out);
        wick_context_unwatch(onnx->ctx, &was);
        return status == WICK_OK ? status : wick_context_fail(onnx->ctx, status, "%s", onnx->msg.text);
    }
    status = read_value(onnx, port, &map, out);
    wick_context_unwatch(onnx->ctx, &was);
    return status == WICK_OK ? status : wick_context_fail(onnx->ctx, status, "%s: %s", path, onnx->msg.text);
}

wick_status wick_onnx_elements(wick_tensor *t, wick_dtype dtype, void *out) {
    const void *data;
    /* packed: elements without addresses */
    if (!wick_dtype_size(wick_tensor_dtype(t)))
        t = wick_cast(t, wick_dtype_is_integer(wick_tensor_dtype(t)) ? WICK_I8 : WICK_F32);
    WICK_TRY(wick_data(t, &data));
    const wick_copy copy = {.rank = 1,
                            .src = wick_tensor_dtype(t),
                            .dst = dtype,
                            .dims = {wick_tensor_count(t)},
                            .src_strides = {1},
                            .dst_strides = {1}};
    wick_copy_run(&copy, 0, wick_copy_tasks(&copy), data, out);
    return WICK_OK;
}

/* ---- comparing --------------------------------------------------------------------------------------------------- */

static const char *const kind_names[] = {"an empty optional", "a tensor", "a tensor of strings", "a sequence", "a map"};

static void add_shape(wick_str *s, int rank, const int64_t *dims) {
    for (int i = 0; i < rank; i++) wick_str_add(s, "%s%lld", i ? "," : "", (long long)dims[i]);
}

static wick_status other_shape(wick_context *ctx, int a_rank, const int64_t *a, int b_rank, const int64_t *b) {
    char text[2][160];
    wick_str s = wick_str_on(text[0], sizeof text[0]);
    add_shape(&s, a_rank, a);
    s = wick_str_on(text[1], sizeof text[1]);
    add_shape(&s, b_rank, b);
    return wick_context_fail(ctx, WICK_ERR_MISMATCH, "has shape [%s], not [%s]", text[0], text[1]);
}

static wick_status compare_tensors(wick_context *ctx, wick_tensor *got, wick_tensor *want, double rtol, double atol) {
    const wick_dtype a = wick_tensor_dtype(got), b = wick_tensor_dtype(want);
    if (a != b)
        return wick_context_fail(ctx, WICK_ERR_MISMATCH, "has dtype %s, not %s", wick_dtype_name(a),
                                 wick_dtype_name(b));
    const int ra = wick_tensor_rank(got), rb = wick_tensor_rank(want);
    if (ra != rb || memcmp(wick_tensor_dims(got), wick_tensor_dims(want), (size_t)ra * sizeof(int64_t)))
        return other_shape(ctx, ra, wick_tensor_dims(got), rb, wick_tensor_dims(want));
    const int64_t n = wick_tensor_count(got);
    double *x = wick_alloc(&ctx->alloc, 2 * (size_t)n * sizeof *x), *y = x + n;
    if (!x) return wick_context_fail(ctx, WICK_ERR_NOMEM, "out of memory comparing");
    wick_status status = wick_onnx_elements(got, WICK_F64, x);
    if (status == WICK_OK) status = wick_onnx_elements(want, WICK_F64, y);
    int64_t bad = 0, worst = -1;
    double most = 0;
    for (int64_t i = 0; i < n && status == WICK_OK; i++) {
        if (x[i] == y[i] || (isnan(x[i]) && isnan(y[i]))) continue;
        const double off = fabs(x[i] - y[i]), room = atol + rtol * fabs(y[i]);
        if (off <= room && isfinite(y[i])) continue;
        bad++;
        if (worst < 0 || !(off / room <= most)) worst = i, most = off / room;
    }
    if (bad)
        status = wick_context_fail(ctx, WICK_ERR_MISMATCH, "%lld of %lld differ; worst at %lld: %.9g, not %.9g",
                                   (long long)bad, (long long)n, (long long)worst, x[worst], y[worst]);
    wick_release(&ctx->alloc, x, 2 * (size_t)n * sizeof *x);
    return status;
}

wick_status wick_onnx_value_compare(wick_context *ctx, const wick_onnx_value *got, const wick_onnx_value *want,
                                    double rtol, double atol) {
    if (!got) return wick_context_fail(ctx, WICK_ERR_INVALID, "onnx_value_compare: got is NULL");
    if (!want) return wick_context_fail(ctx, WICK_ERR_INVALID, "onnx_value_compare: want is NULL");
    if (got->kind != want->kind)
        return wick_context_fail(ctx, WICK_ERR_MISMATCH, "is %s, not %s", kind_names[got->kind],
                                 kind_names[want->kind]);
    if (got->kind == WICK_VALUE_TENSOR) return compare_tensors(ctx, got->tensor, want->tensor, rtol, atol);
    if (got->n != want->n) return wick_context_fail(ctx, WICK_ERR_MISMATCH, "has %zu items, not %zu", got->n, want->n);
    if (got->kind == WICK_VALUE_STRINGS) {
        if (got->rank != want->rank || memcmp(got->dims, want->dims, (size_t)got->rank * sizeof *got->dims))
            return other_shape(ctx, got->rank, got->dims, want->rank, want->dims);
        for (size_t i = 0; i < got->n; i++)
            if (got->texts[i].size != want->texts[i].size ||
                memcmp(got->texts[i].at, want->texts[i].at, got->texts[i].size))
                return wick_context_fail(ctx, WICK_ERR_MISMATCH, "text %zu is \"%.*s\", not \"%.*s\"", i,
                                         (int)WICK_MIN(got->texts[i].size, (size_t)60), got->texts[i].at,
                                         (int)WICK_MIN(want->texts[i].size, (size_t)60), want->texts[i].at);
        return WICK_OK;
    }
    const size_t n = got->kind == WICK_VALUE_MAP ? 2 : got->n; /* keys and values */
    for (size_t i = 0; i < n && got->items; i++) {
        const wick_status status = wick_onnx_value_compare(ctx, &got->items[i], &want->items[i], rtol, atol);
        if (status == WICK_OK) continue;
        char text[WICK_MSG_MAX];
        wick_str s = wick_str_on(text, sizeof text);
        wick_str_add(&s, "%s", wick_context_error(ctx));
        return wick_context_fail(ctx, status, "item %zu: %s", i, text);
    }
    return WICK_OK;
}
