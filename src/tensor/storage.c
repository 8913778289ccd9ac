#include "tensor/tensor.h"

uint64_t wick_version_next(void) {
    static _Atomic uint64_t last;
    return atomic_fetch_add_explicit(&last, 1, memory_order_relaxed) + 1;
}

wick_storage *wick_storage_new(wick_context *ctx, size_t size) {
    const wick_tag was = wick_tag_set(WICK_TAG_TENSORS);
    wick_storage *s = wick_calloc(&ctx->alloc, sizeof *s);
    if (s) s->data = wick_alloc(&ctx->alloc, size);
    wick_tag_set(was);
    if (!s) return NULL;
    if (!s->data) {
        wick_release(&ctx->alloc, s, sizeof *s);
        return NULL;
    }
    atomic_init(&s->refs, 1);
    s->owned = true;
    s->version = wick_version_next();
    s->size = size;
    s->alloc = ctx->alloc;
    s->held = &ctx->tensor_bytes;
    atomic_fetch_add(s->held, size);
    return s;
}

void wick_storage_unref(wick_storage *s) {
    if (!s || atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) != 1) return;
    if (s->owned) {
        atomic_fetch_sub(s->held, s->size);
        wick_release(&s->alloc, s->data, s->size);
    }
    if (s->map.mapped || s->map.data) wick_map_close(&s->map);
    if (s->release) s->release(s->user);
    wick_release(&s->alloc, s, sizeof *s);
}

wick_array *wick_array_new(wick_context *ctx, wick_storage *storage, const wick_layout *layout) {
    const wick_tag was = wick_tag_set(WICK_TAG_TENSORS);
    wick_array *a = storage ? wick_alloc(&ctx->alloc, sizeof *a) : NULL;
    wick_tag_set(was);
    if (!a) {
        wick_storage_unref(storage);
        return NULL;
    }
    atomic_init(&a->refs, 1);
    a->storage = storage;
    a->layout = *layout;
    a->alloc = ctx->alloc;
    return a;
}

wick_array *wick_array_contiguous(wick_context *ctx, const wick_type *type) {
    wick_layout layout;
    wick_layout_contiguous(&layout, type);
    return wick_array_new(ctx, wick_storage_new(ctx, wick_type_bytes(type)), &layout);
}

void wick_array_unref(wick_array *a) {
    if (!a || atomic_fetch_sub_explicit(&a->refs, 1, memory_order_acq_rel) != 1) return;
    wick_storage_unref(a->storage);
    wick_release(&a->alloc, a, sizeof *a);
}
