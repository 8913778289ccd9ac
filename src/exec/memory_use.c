/* memory_use.c: what the tracker of a context knows, by use and by place. */
#include "wick/memory.h"

#include <stdlib.h>

#include "exec/exec.h"

/* Rows of one time; beside the tracker, whose blocks they are none of. */
typedef struct use_rows {
    wick_memory_row *at;
    size_t n, cap;
    bool failed;
} use_rows;
struct wick_memory_uses {
    wick_tracker tracker;
    use_rows rows, mark;
};

wick_status wick_memory_uses_new(wick_context *ctx) {
    wick_memory_uses *u = wick_calloc(NULL, sizeof *u);
    if (!u) return WICK_ERR_NOMEM;
    const wick_status status = wick_tracker_init(&u->tracker, &ctx->alloc, wick_site);
    if (status != WICK_OK) {
        wick_release(NULL, u, sizeof *u);
        return status;
    }
    ctx->alloc = wick_tracker_allocator(&u->tracker);
    ctx->uses = u;
    return WICK_OK;
}

void wick_memory_uses_free(wick_memory_uses *u) {
    if (!u) return;
    wick_tracker_free(&u->tracker);
    wick_release(NULL, u->rows.at, u->rows.cap * sizeof *u->rows.at);
    wick_release(NULL, u->mark.at, u->mark.cap * sizeof *u->mark.at);
    wick_release(NULL, u, sizeof *u);
}

wick_tracker *wick_memory_tracker(const wick_context *ctx) { return ctx->uses ? &ctx->uses->tracker : NULL; }

static wick_memory_use use_of(wick_tracker *t, const char *name, const wick_tag_sum *sum) {
    wick_tracker_lock(t);
    const wick_memory_use use = {.name = name, .bytes = sum->bytes, .peak = sum->peak, .blocks = sum->blocks};
    wick_tracker_unlock(t);
    return use;
}

wick_memory_use wick_memory_use_at(const wick_context *ctx, int i) {
    if (i < 0 || i >= WICK_TAGS) return (wick_memory_use){0};
    const char *name = wick_tag_name((wick_tag)i);
    return ctx->uses ? use_of(&ctx->uses->tracker, name, &ctx->uses->tracker.sums[i]) : (wick_memory_use){.name = name};
}
wick_memory_use wick_memory_all(const wick_context *ctx) {
    return ctx->uses ? use_of(&ctx->uses->tracker, "all", &ctx->uses->tracker.all) : (wick_memory_use){.name = "all"};
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static wick_memory_row *find(use_rows *r, const char *place, const char *use) {
    for (size_t i = 0; i < r->n; i++)
        if (r->at[i].use == use && (r->at[i].place == place || strcmp(r->at[i].place, place) == 0)) return &r->at[i];
    return NULL;
}

static void add_block(use_rows *r, const wick_tracked *b) {
    const char *place = b->site ? b->site : "", *use = wick_tag_name((wick_tag)b->tag);
    wick_memory_row *row = find(r, place, use);
    if (!row) {
        if (!wick_grow(NULL, (void **)&r->at, &r->cap, r->n + 1, sizeof *r->at)) {
            r->failed = true;
            return;
        }
        row = &r->at[r->n++];
        *row = (wick_memory_row){.place = place, .use = use};
    }
    row->bytes += b->size;
    row->blocks++;
}

static int gather(wick_context *ctx, use_rows *r) {
    wick_memory_uses *u = ctx->uses;
    if (!u) {
        (void)wick_msg_set(&ctx->msg, WICK_ERR_INVALID, "memory: this context was made without track_memory");
        return -1;
    }
    r->n = 0;
    r->failed = false;
    wick_tracker_lock(&u->tracker);
    for (size_t i = 0; i < u->tracker.slots; i++)
        if (u->tracker.table[i].at) add_block(r, &u->tracker.table[i]);
    wick_tracker_unlock(&u->tracker);
    if (!r->failed) return 0;
    (void)wick_msg_set(&ctx->msg, WICK_ERR_NOMEM, "memory: out of memory for the rows");
    return -1;
}

static int by_bytes(const void *a, const void *b) {
    const wick_memory_row *x = a, *y = b;
    return x->bytes != y->bytes ? (x->bytes > y->bytes ? -1 : 1) : strcmp(x->place, y->place);
}
static int by_growth(const void *a, const void *b) {
    const wick_memory_row *x = a, *y = b;
    return x->grown != y->grown ? (x->grown > y->grown ? -1 : 1) : strcmp(x->place, y->place);
}

static void compare(wick_memory_uses *u) {
    for (size_t i = 0; i < u->rows.n && u->mark.at; i++) {
        const wick_memory_row *before = find(&u->mark, u->rows.at[i].place, u->rows.at[i].use);
        u->rows.at[i].grown = (int64_t)u->rows.at[i].bytes - (before ? (int64_t)before->bytes : 0);
    }
}

int wick_memory_rows(wick_context *ctx) {
    if (gather(ctx, ctx->uses ? &ctx->uses->rows : NULL) != 0) return -1;
    use_rows *r = &ctx->uses->rows;
    compare(ctx->uses);
    if (r->n) qsort(r->at, r->n, sizeof *r->at, by_bytes);
    return (int)r->n;
}

wick_memory_row wick_memory_row_at(const wick_context *ctx, int i) {
    return ctx->uses && i >= 0 && (size_t)i < ctx->uses->rows.n ? ctx->uses->rows.at[i]
                                                                : (wick_memory_row){.place = "", .use = ""};
}

wick_status wick_memory_mark(wick_context *ctx) {
    return gather(ctx, ctx->uses ? &ctx->uses->mark : NULL) == 0 ? WICK_OK : ctx->msg.status;
}

int wick_memory_growth(wick_context *ctx, size_t threshold) {
    if (gather(ctx, ctx->uses ? &ctx->uses->rows : NULL) != 0) return -1;
    use_rows *r = &ctx->uses->rows;
    compare(ctx->uses);
    size_t n = 0;
    for (size_t i = 0; i < r->n; i++)
        if (r->at[i].grown > 0 && (uint64_t)r->at[i].grown >= threshold) r->at[n++] = r->at[i];
    r->n = n;
    if (n) qsort(r->at, n, sizeof *r->at, by_growth);
    return (int)n;
}
