/* handle.c: tensors as handles, scopes, poison. */
#include <stdio.h>

#include "tensor/op.h"

/* Where the public calls in progress stand in the caller's source, the innermost at `depth`: an argument may be a call
 * itself. What is deeper than the ring costs the places of what it lies in: their slots are empty then, since a text of
 * a deeper call may be gone. What was left by an exception or a jump costs a wrong line in an error, no more. */
static _Thread_local const char *sites[32];
static _Thread_local unsigned depth;
#define SITE sites[depth % WICK_COUNTOF(sites)]

void wick_here(const char *where) { SITE = where; }
const char *wick_site(void) { return SITE; }
void wick_enter(const char *where) {
    depth++;
    SITE = where;
}
void wick_leave(void) {
    SITE = NULL;
    depth--;
}
wick_tensor *wick_leave_tensor(wick_tensor *result) {
    wick_leave();
    return result;
}
wick_status wick_leave_status(wick_status result) {
    wick_leave();
    return result;
}

const char *wick_intern(wick_context *ctx, const char *text) {
    const size_t length = strlen(text);
    if (2 * (ctx->texts.n + 1) > ctx->texts.slots) {
        const size_t slots = ctx->texts.slots ? 2 * ctx->texts.slots : 64;
        const char **table = wick_calloc(&ctx->alloc, slots * sizeof *table);
        if (!table) return NULL;
        for (size_t i = 0; i < ctx->texts.slots; i++) {
            const char *old = ctx->texts.table[i];
            size_t at = old ? wick_hash(old, strlen(old), 0) : 0;
            while (old && table[at & (slots - 1)]) at++;
            if (old) table[at & (slots - 1)] = old;
        }
        if (!ctx->texts.slots) wick_arena_init(&ctx->texts.arena, &ctx->alloc, 1024);
        wick_release(&ctx->alloc, ctx->texts.table, ctx->texts.slots * sizeof *table);
        ctx->texts.table = table;
        ctx->texts.slots = slots;
    }
    size_t at = wick_hash(text, length, 0);
    for (const char *there; (there = ctx->texts.table[at & (ctx->texts.slots - 1)]); at++)
        if (strcmp(there, text) == 0) return there;
    const char *copy = wick_arena_strdup(&ctx->texts.arena, text);
    if (!copy) return NULL;
    ctx->texts.n++;
    return ctx->texts.table[at & (ctx->texts.slots - 1)] = copy;
}

const char *wick_site_of(wick_context *ctx, const char *site, const char *what) {
    if (!ctx->frame->trace || !site) return site;
    char text[1024];
    snprintf(text, sizeof text, "%.500s %.500s", site, what);
    const char *made = wick_intern(ctx, text);
    return made ? made : site;
}

/* ---- errors ------------------------------------------------------------------------------------------------------ */

static wick_error *error_new(wick_context *ctx, wick_status status, const char *text) {
    size_t size = sizeof(wick_error) + strlen(text) + 1;
    wick_error *e = wick_alloc(&ctx->alloc, size);
    if (!e) return NULL;
    e->refs = 1;
    e->status = status;
    e->size = size;
    memcpy(e->text, text, size - sizeof *e);
    return e;
}

static void error_unref(wick_context *ctx, wick_error *e) {
    if (e && e != ctx->nomem_error && --e->refs == 0) wick_release(&ctx->alloc, e, e->size);
}

/* ---- handles ----------------------------------------------------------------------------------------------------- */

static wick_tensor *handle_new(wick_context *ctx) {
    wick_tensor *t = wick_slab_alloc(&ctx->slab, sizeof *t);
    if (!t) return NULL;
    wick_scope *scope = ctx->scope;
    *t = (wick_tensor){.ctx = ctx, .scope = scope, .next = scope->first, .refs = 1};
    if (scope->first) scope->first->prev = t;
    scope->first = t;
    return t;
}

wick_tensor *wick_tensor_new(wick_context *ctx, wick_value *value) {
    wick_tensor *t = handle_new(ctx);
    if (!t) {
        wick_node_unref(ctx, value->node);
        return &ctx->nomem;
    }
    t->value = value;
    value->handles++;
    return t;
}

wick_tensor *wick_poison_like(wick_context *ctx, wick_error *error) {
    wick_tensor *t = error ? handle_new(ctx) : NULL;
    if (!t) return &ctx->nomem;
    if (error != ctx->nomem_error) error->refs++;
    t->error = error;
    return t;
}

wick_tensor *wick_poison(wick_context *ctx, wick_status status, const char *fmt, ...) {
    char text[WICK_MSG_MAX];
    va_list args;
    va_start(args, fmt);
    wick_msg msg;
    wick_msg_setv(&msg, status, fmt, args);
    va_end(args);
    wick_str s = wick_str_on(text, sizeof text);
    wick_str_add(&s, "%s", msg.text);
    if (wick_site()) wick_str_add(&s, " (at %s)", wick_site());
    wick_error *e = error_new(ctx, status, text);
    if (!e) return &ctx->nomem;
    wick_tensor *t = wick_poison_like(ctx, e);
    error_unref(ctx, e);
    return t;
}

wick_status wick_fail_poison(wick_context *ctx, const wick_tensor *x) {
    if (!x) return wick_msg_set(&ctx->msg, WICK_ERR_INVALID, "a tensor that is NULL was used");
    const wick_error *e = x->error ? x->error : ctx->nomem_error;
    return wick_msg_set(&ctx->msg, e->status, "%s", e->text);
}

static void handle_unlink(wick_tensor *t) {
    if (!t->scope) return;
    if (t->prev)
        t->prev->next = t->next;
    else
        t->scope->first = t->next;
    if (t->next) t->next->prev = t->prev;
    t->prev = t->next = NULL;
    t->scope = NULL;
}

/* Nobody names a result of node any more: what it was computed from is forgotten, or a loop that frees its old values
 * would still drag all of them along as history. */
static void forget_unnamed(wick_context *ctx, wick_node *node) {
    if (!(node->flags & WICK_NODE_EVALUATED)) return;
    for (int i = 0; i < node->n_out; i++)
        if (node->out[i].handles) return;
    wick_node_forget(ctx, node);
}

static void handle_release_value(wick_tensor *t) {
    wick_value *v = t->value;
    if (!v) return;
    if (v->node->cell == t) v->node->cell = NULL;
    v->handles--;
    t->value = NULL;
    forget_unnamed(t->ctx, v->node);
    wick_node_unref(t->ctx, v->node);
}

static void handle_unref(wick_tensor *t) {
    if (--t->refs) return;
    handle_unlink(t);
    handle_release_value(t);
    error_unref(t->ctx, t->error);
    wick_slab_release(&t->ctx->slab, t, sizeof *t);
}

void wick_tensor_set_value(wick_tensor *t, wick_value *value) {
    wick_value *old = t->value;
    value->handles++;
    t->value = value;
    if (old) {
        old->handles--;
        wick_node_unref(t->ctx, old->node);
    }
}

wick_tensor *wick_retain(wick_tensor *t) {
    if (t && t != &t->ctx->nomem) t->refs++;
    return t;
}

void wick_tensor_free(wick_tensor **handle) {
    wick_tensor *t = handle ? *handle : NULL;
    if (!t) return;
    *handle = NULL;
    if (t == &t->ctx->nomem) return;
    handle_unref(t);
}

/* A computed value that leaves its scope is data from here on: its history must not grow with the loop around. */
static void handle_leave_scope(wick_tensor *t) {
    if (t->value && t->value->node->flags & WICK_NODE_EVALUATED) wick_node_forget(t->ctx, t->value->node);
}

wick_tensor *wick_keep(wick_tensor *t) {
    if (!t || !t->scope || !t->scope->parent) return t;
    wick_scope *to = t->scope->parent;
    handle_leave_scope(t);
    handle_unlink(t);
    t->scope = to;
    t->next = to->first;
    if (to->first) to->first->prev = t;
    to->first = t;
    return t;
}

/* ---- scopes ------------------------------------------------------------------------------------------------------ */

wick_scope *wick_scope_open(wick_context *ctx) {
    wick_scope *s = wick_slab_alloc(&ctx->slab, sizeof *s);
    if (!s) {
        wick_msg_set(&ctx->msg, WICK_ERR_NOMEM, "out of memory opening a scope");
        return NULL;
    }
    *s = (wick_scope){ctx, ctx->scope, NULL};
    ctx->scope = s;
    return s;
}

static void scope_close_innermost(wick_context *ctx) {
    wick_scope *s = ctx->scope;
    while (s->first) {
        wick_tensor *t = s->first;
        if (t->refs > 1) handle_leave_scope(t); /* retained elsewhere: it lives on */
        handle_unlink(t);
        handle_unref(t);
    }
    ctx->scope = s->parent;
    wick_slab_release(&ctx->slab, s, sizeof *s);
}

void wick_scope_close(wick_scope **scope) {
    wick_scope *s = scope ? *scope : NULL;
    if (!s) return;
    *scope = NULL;
    wick_context *ctx = s->ctx;
    while (ctx->scope != s) scope_close_innermost(ctx);
    scope_close_innermost(ctx);
}

void wick_context_release_all(wick_context *ctx) {
    wick_frame_clear(ctx, &ctx->root_frame);
    wick_release(&ctx->alloc, ctx->root_frame.effects, ctx->root_frame.cap_effects * sizeof(wick_effect));
    ctx->root_frame.effects = NULL;
    while (ctx->scope) scope_close_innermost(ctx);
}

/* ---- asking ------------------------------------------------------------------------------------------------------ */

static const int64_t no_dims[WICK_MAX_DIMS];

wick_context *wick_tensor_context(const wick_tensor *t) { return t ? t->ctx : NULL; }
wick_dtype wick_tensor_dtype(const wick_tensor *t) {
    return t && t->value ? (wick_dtype)t->value->type.dtype : WICK_F32;
}
int wick_tensor_rank(const wick_tensor *t) { return t && t->value ? t->value->type.rank : 0; }
const int64_t *wick_tensor_dims(const wick_tensor *t) { return t && t->value ? t->value->type.dims : no_dims; }
int64_t wick_tensor_count(const wick_tensor *t) { return t && t->value ? wick_type_count(&t->value->type) : 0; }
bool wick_tensor_ready(const wick_tensor *t) { return t && t->value && t->value->array; }

int64_t wick_tensor_dim(const wick_tensor *t, int axis) {
    int rank = wick_tensor_rank(t);
    if (axis < 0) axis += rank;
    return axis >= 0 && axis < rank ? wick_tensor_dims(t)[axis] : 0;
}

wick_status wick_tensor_error(const wick_tensor *t, const char **text) {
    static const char null[] = "a tensor that is NULL was used";
    wick_status status = !t ? WICK_ERR_INVALID : t->error ? t->error->status : WICK_OK;
    if (text) *text = !t ? null : t->error ? t->error->text : "";
    return status;
}

/* ---- states in use ----------------------------------------------------------------------------------------------- */

bool wick_state_lock(wick_tensor *state, bool alone) {
    int seen = atomic_load(&state->lock);
    do {
        if (alone ? seen != 0 : seen < 0) return false;
    } while (!atomic_compare_exchange_weak(&state->lock, &seen, alone ? -1 : seen + 1));
    return true;
}

void wick_state_unlock(wick_tensor *state, bool alone) {
    wick_array *a = alone && state->value ? state->value->array : NULL;
    /* whoever had it alone may have written it */
    if (a && a->storage->owned) a->storage->version = wick_version_next();
    atomic_fetch_add(&state->lock, alone ? 1 : -1);
}
