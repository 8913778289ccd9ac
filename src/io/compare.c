/* compare.c: the layers of a network beside a file of what they gave elsewhere. */
#include "wick/compare.h"

#include <math.h>

#include "io/safetensors.h"
#include "kernels/kernels.h"
#include "tensor/tensor.h"

struct wick_comparison {
    wick_allocator alloc;
    wick_arena arena; /* names */
    wick_layer_difference *rows;
    size_t n, cap;
    double tolerance;
};
typedef struct watched {
    const char *name;
    wick_tensor *y; /* retained */
} watched;
typedef struct watcher {
    const wick_allocator *alloc;
    wick_arena *arena;
    watched *list;
    size_t n, cap;
    bool nomem;
} watcher;

static void watch(void *user, const char *name, wick_tensor *y) {
    watcher *w = user;
    const char *kept = wick_arena_strdup(w->arena, name);
    if (!kept || !wick_grow(w->alloc, (void **)&w->list, &w->cap, w->n + 1, sizeof *w->list))
        w->nomem = true;
    else
        w->list[w->n++] = (watched){kept, wick_retain(y)};
}

static double as_double(wick_dtype dtype, const void *data, int64_t i) {
    const wick_copy one = {.rank = 0, .src = dtype, .dst = WICK_F64};
    const size_t elem = wick_dtype_size(dtype);
    uint64_t aligned = 0;
    double value;
    memcpy(&aligned, (const char *)data + (size_t)i * elem, elem);
    wick_copy_run(&one, 0, 1, &aligned, &value);
    return value;
}

static bool differs(const wick_comparison *c, const wick_layer_difference *d) { return d->missing || d->other_shape || !(d->relative <= c->tolerance); }

static wick_status measure(wick_layer_difference *d, const wick_safetensors_tensor *t, wick_tensor *y) {
    const wick_type *type = &y->value->type;
    d->other_shape = type->rank != t->rank;
    for (int i = 0; i < t->rank && !d->other_shape; i++) d->other_shape = type->dims[i] != t->dims[i];
    if (d->other_shape) return WICK_OK;
    const void *data;
    WICK_TRY(wick_data(y, &data));
    double largest = 1e-30;
    for (int64_t i = 0, n = wick_type_count(type); i < n; i++) {
        const double ours = as_double((wick_dtype)type->dtype, data, i), theirs = as_double(t->dtype, t->data, i);
        const bool same = ours == theirs || (isnan(ours) && isnan(theirs));
        double off = same ? 0 : fabs(ours - theirs);
        if (isnan(off)) off = INFINITY;
        if (isfinite(theirs)) largest = fmax(largest, fabs(theirs));
        if (i && !(off > d->worst)) continue;
        d->worst = off;
        d->element = i, d->ours = ours, d->theirs = theirs;
    }
    d->relative = d->worst / largest;
    return WICK_OK;
}

static wick_status add_row(wick_comparison *c, wick_context *ctx, const char *name, const wick_safetensors_tensor *t, wick_tensor *y) {
    wick_layer_difference d = {.name = wick_arena_strdup(&c->arena, name), .missing = !y};
    if (y) WICK_TRY(measure(&d, t, y));
    if (!d.name || !wick_grow(&c->alloc, (void **)&c->rows, &c->cap, c->n + 1, sizeof *c->rows)) return wick_context_fail(ctx, WICK_ERR_NOMEM, "compare: out of memory");
    c->rows[c->n++] = d;
    return WICK_OK;
}

/* A layer that was recorded twice: the first time counts, as long as it has the shape. */
static wick_status compare(wick_comparison *c, wick_context *ctx, const wick_safetensors *file, const watcher *w) {
    for (size_t i = 0; i < w->n; i++) {
        const wick_safetensors_tensor *t = wick_safetensors_find(file, w->list[i].name);
        bool again = false;
        for (size_t k = 0; k < i && t && !again; k++) again = !strcmp(w->list[k].name, w->list[i].name);
        if (t && !again) WICK_TRY(add_row(c, ctx, w->list[i].name, t, w->list[i].y));
    }
    for (size_t i = 0; i < file->count; i++) {
        bool found = false;
        for (size_t k = 0; k < w->n && !found; k++) found = !strcmp(w->list[k].name, file->tensors[i].name);
        if (!found) WICK_TRY(add_row(c, ctx, file->tensors[i].name, &file->tensors[i], NULL));
    }
    return WICK_OK;
}

static wick_status record(wick_model *model, wick_function fn, void *user, wick_tensor *const *in, watcher *w) {
    wick_context *ctx = wick_model_context(model);
    wick_tensor *out = NULL;
    const bool training = wick_model_training(model);
    wick_model_set_training(model, false);
    wick_model_watch(model, watch, w);
    wick_status status = fn(ctx, in, &out, user);
    wick_model_watch(model, NULL, NULL);
    wick_model_set_training(model, training);
    WICK_TRY(status);
    const char *text = "the function set no result";
    if (!out || wick_tensor_error(out, &text)) return wick_context_fail(ctx, WICK_ERR_INVALID, "compare: %s", text);
    watch(w, "output", out);
    if (w->nomem) return wick_context_fail(ctx, WICK_ERR_NOMEM, "compare: out of memory");
    const size_t size = w->n * sizeof(wick_tensor *);
    wick_tensor **all = wick_alloc(w->alloc, size);
    if (!all) return wick_context_fail(ctx, WICK_ERR_NOMEM, "compare: out of memory");
    for (size_t i = 0; i < w->n; i++) all[i] = w->list[i].y;
    status = wick_eval(ctx, (int)w->n, all, NULL);
    wick_release(w->alloc, all, size);
    return status;
}

wick_status wick_compare_layers(wick_model *model, wick_function fn, void *user, wick_tensor *const *in, const char *path, double tolerance, wick_comparison **out) {
    wick_context *ctx = wick_model_context(model);
    *out = NULL;
    if (!fn || !path) return wick_context_fail(ctx, WICK_ERR_INVALID, "compare: needs the function that builds the network, and a file");
    wick_safetensors file;
    wick_msg msg;
    const wick_status opened = wick_safetensors_open(&file, path, &msg);
    if (opened) return wick_context_fail(ctx, opened, "%s", msg.text);
    wick_comparison *c = wick_calloc(&ctx->alloc, sizeof *c);
    if (!c) {
        wick_safetensors_close(&file);
        return wick_context_fail(ctx, WICK_ERR_NOMEM, "compare: out of memory");
    }
    c->alloc = ctx->alloc;
    c->tolerance = tolerance > 0 ? tolerance : 1e-5;
    wick_arena_init(&c->arena, &c->alloc, 4096);
    wick_scope *scope = wick_scope_open(ctx);
    watcher w = {.alloc = &c->alloc, .arena = &c->arena};
    wick_status status = scope ? record(model, fn, user, in, &w) : wick_context_fail(ctx, WICK_ERR_NOMEM, "compare: out of memory");
    if (status == WICK_OK) status = compare(c, ctx, &file, &w);
    for (size_t i = 0; i < w.n; i++) wick_tensor_free(&w.list[i].y);
    wick_release(&c->alloc, w.list, w.cap * sizeof *w.list);
    wick_scope_close(&scope);
    wick_safetensors_close(&file);
    if (status != WICK_OK) {
        wick_comparison_free(&c);
        return status;
    }
    *out = c;
    const int first = wick_comparison_first(c);
    if (first < 0) return WICK_OK;
    const wick_layer_difference *d = &c->rows[first];
    if (d->missing) return wick_context_fail(ctx, WICK_ERR_MISMATCH, "%s: the network has no layer \"%s\"", path, d->name);
    if (d->other_shape) return wick_context_fail(ctx, WICK_ERR_MISMATCH, "%s: \"%s\" has another shape there", path, d->name);
    return wick_context_fail(ctx, WICK_ERR_MISMATCH, "%s: \"%s\" is the first layer to differ: element %lld is %.9g here and %.9g there", path, d->name,
                             (long long)d->element, d->ours, d->theirs);
}

void wick_comparison_free(wick_comparison **comparison) {
    wick_comparison *c = comparison ? *comparison : NULL;
    if (!c) return;
    *comparison = NULL;
    wick_arena_free(&c->arena);
    wick_allocator alloc = c->alloc;
    wick_release(&alloc, c->rows, c->cap * sizeof *c->rows);
    wick_release(&alloc, c, sizeof *c);
}
int wick_comparison_count(const wick_comparison *c) { return (int)c->n; }
wick_layer_difference wick_comparison_at(const wick_comparison *c, int i) { return i >= 0 && (size_t)i < c->n ? c->rows[i] : (wick_layer_difference){0}; }
int wick_comparison_first(const wick_comparison *c) {
    for (size_t i = 0; i < c->n; i++)
        if (differs(c, &c->rows[i])) return (int)i;
    return -1;
}
size_t wick_comparison_format(const wick_comparison *c, char *buffer, size_t size) {
    size_t length = 0;
    if (size) buffer[0] = 0;
    for (size_t i = 0; i < c->n; i++) {
        const wick_layer_difference *d = &c->rows[i];
        char text[512];
        wick_str s = wick_str_on(text, sizeof text);
        wick_str_add(&s, "%s %-40s ", differs(c, d) ? "!" : " ", d->name);
        if (d->missing)
            wick_str_add(&s, "no such layer\n");
        else if (d->other_shape)
            wick_str_add(&s, "another shape\n");
        else
            wick_str_add(&s, "off by %.3g (%.3g of the largest), element %lld: %.9g, there %.9g\n", d->worst, d->relative, (long long)d->element, d->ours, d->theirs);
        if (length < size) {
            const size_t part = WICK_MIN(s.len, size - 1 - length);
            memcpy(buffer + length, text, part);
            buffer[length + part] = 0;
        }
        length += s.len;
    }
    return length;
}
