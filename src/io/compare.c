/* compare.c: the layers of a network beside a file of what they gave elsewhere, and the tensors of a file beside those
 * of another. */
#include "wick/compare.h"

#include <math.h>
#include <stdio.h>

#include "io/safetensors.h"
#include "kernels/kernels.h"
#include "tensor/tensor.h"

struct wick_comparison {
    wick_allocator alloc;
    wick_arena arena; /* names */
    wick_difference *rows;
    size_t n, cap;
    double tolerance, rtol, atol;
    const char *pattern; /* the caller's, while it is made */
};

/* ---- two tensors ------------------------------------------------------------------------------------------------- */

/* A tensor of either side; data need not be aligned. */
typedef struct side {
    wick_spec spec;
    const void *data;
} side;

static side of_file(const wick_safetensors_tensor *t) {
    side s = {.spec = {.name = t->name, .dtype = t->dtype, .rank = t->rank}, .data = t->data};
    memcpy(s.spec.dims, t->dims, (size_t)t->rank * sizeof *t->dims);
    return s;
}

enum { BLOCK = 512 };
/* Elements [at, at + n) as f64. */
static void read_block(const side *s, int64_t at, int64_t n, double *values) {
    uint64_t aligned[BLOCK];
    const wick_copy copy = {
        .rank = 1, .dims = {n}, .src_strides = {1}, .dst_strides = {1}, .src = s->spec.dtype, .dst = WICK_F64};
    /* a block is whole bytes */
    memcpy(aligned, (const char *)s->data + wick_dtype_bytes(s->spec.dtype, at), wick_dtype_bytes(s->spec.dtype, n));
    wick_copy_run(&copy, 0, wick_copy_tasks(&copy), aligned, values);
}

static int64_t count_of(const side *s) {
    int64_t n = 1;
    for (int i = 0; i < s->spec.rank; i++) n *= s->spec.dims[i];
    return n;
}

static double distance(double a, double b) {
    const double off = a == b || (isnan(a) && isnan(b)) ? 0 : fabs(a - b);
    return isnan(off) ? INFINITY : off;
}

/* Elements [at, at + n) of both, and how far apart they are. f64 cannot tell all integers of 64 bits apart. */
typedef struct block {
    double ours[BLOCK], theirs[BLOCK], off[BLOCK];
} block;
static void read_pair(const side *ours, const side *theirs, int64_t at, int64_t n, block *k) {
    const wick_dtype dtype = ours->spec.dtype;
    const bool wide = dtype == theirs->spec.dtype && (dtype == WICK_I64 || dtype == WICK_U64);
    read_block(ours, at, n, k->ours);
    read_block(theirs, at, n, k->theirs);
    for (int64_t i = 0; i < n; i++) {
        k->off[i] = distance(k->ours[i], k->theirs[i]);
        if (!wide) continue;
        uint64_t a, b;
        memcpy(&a, (const char *)ours->data + (at + i) * 8, 8);
        memcpy(&b, (const char *)theirs->data + (at + i) * 8, 8);
        const bool above = dtype == WICK_I64 ? (int64_t)a > (int64_t)b : a > b;
        k->off[i] = (double)(above ? a - b : b - a);
    }
}

static void measure(const wick_comparison *c, wick_difference *d, const side *ours, const side *theirs) {
    const int64_t count = count_of(theirs);
    block k;
    double largest = 0;
    if (!count || (ours->spec.dtype == theirs->spec.dtype &&
                   !memcmp(ours->data, theirs->data, wick_dtype_bytes(ours->spec.dtype, count))))
        return;
    for (int64_t at = 0; at < count; at += BLOCK) {
        const int64_t n = WICK_MIN(count - at, BLOCK);
        read_pair(ours, theirs, at, n, &k);
        for (int64_t i = 0; i < n; i++) {
            if (isfinite(k.theirs[i])) largest = fmax(largest, fabs(k.theirs[i]));
            if (!(k.off[i] > d->worst) && at + i > 0) continue;
            d->worst = k.off[i];
            d->element = at + i, d->our_value = k.ours[i], d->their_value = k.theirs[i];
        }
    }
    d->relative = d->worst / fmax(largest, 1e-30);
    const double allowed = c->atol + c->tolerance * largest;
    if (d->worst == 0 || (c->rtol == 0 && d->worst <= allowed)) return;
    for (int64_t at = 0; at < count; at += BLOCK) {
        const int64_t n = WICK_MIN(count - at, BLOCK);
        read_pair(ours, theirs, at, n, &k);
        for (int64_t i = 0; i < n; i++)
            d->differing +=
                k.off[i] > 0 && !(k.off[i] <= allowed + (isfinite(k.theirs[i]) ? c->rtol * fabs(k.theirs[i]) : 0));
    }
    if (d->differing) d->kind = WICK_DIFFERS;
}

/* A row of what there is of either side; NULL: it is not there. */
static wick_status add_row(wick_comparison *c, wick_context *ctx, const char *name, const side *ours,
                           const side *theirs) {
    if (c->pattern && !wick_glob(c->pattern, name)) return WICK_OK;
    wick_difference d = {.name = wick_arena_strdup(&c->arena, name), .ours.rank = -1, .theirs.rank = -1};
    if (ours) d.ours = ours->spec;
    if (theirs) d.theirs = theirs->spec;
    d.ours.name = d.theirs.name = d.name;
    if (!ours || !theirs)
        d.kind = ours ? WICK_ONLY_OURS : WICK_ONLY_THEIRS;
    else if (d.ours.rank != d.theirs.rank ||
             memcmp(d.ours.dims, d.theirs.dims, (size_t)d.ours.rank * sizeof *d.ours.dims) != 0)
        d.kind = WICK_OTHER_SHAPE;
    else
        measure(c, &d, ours, theirs);
    if (!d.name || !wick_grow(&c->alloc, (void **)&c->rows, &c->cap, c->n + 1, sizeof *c->rows))
        return wick_context_fail(ctx, WICK_ERR_NOMEM, "compare: out of memory");
    c->rows[c->n++] = d;
    return WICK_OK;
}

/* ---- the comparison ---------------------------------------------------------------------------------------------- */

static wick_status make(wick_context *ctx, const wick_compare_options *options, wick_comparison **out) {
    const wick_compare_options o = options ? *options : (wick_compare_options){0};
    *out = NULL;
    if (!(o.tolerance >= 0 && o.rtol >= 0 && o.atol >= 0))
        return wick_context_fail(ctx, WICK_ERR_INVALID, "compare: a tolerance is negative");
    if (o.exact && (o.tolerance > 0 || o.rtol > 0 || o.atol > 0))
        return wick_context_fail(ctx, WICK_ERR_INVALID, "compare: exact excludes tolerances");
    wick_comparison *c = wick_calloc(&ctx->alloc, sizeof *c);
    if (!c) return wick_context_fail(ctx, WICK_ERR_NOMEM, "compare: out of memory");
    const bool none = !o.exact && o.tolerance == 0 && o.rtol == 0 && o.atol == 0;
    c->alloc = ctx->alloc;
    c->tolerance = none ? 1e-5 : o.tolerance;
    c->rtol = o.rtol;
    c->atol = o.atol;
    c->pattern = o.pattern;
    wick_arena_init(&c->arena, &c->alloc, 4096);
    *out = c;
    return WICK_OK;
}

static void shape_text(char text[160], const wick_spec *spec) {
    wick_type type = {.dtype = (uint8_t)spec->dtype, .rank = (uint8_t)spec->rank};
    wick_str s = wick_str_on(text, 160);
    memcpy(type.dims, spec->dims, sizeof spec->dims);
    wick_type_print(&s, &type);
}

/* How it ends: made and with the first difference as the error, or gone. names: of the two sides, in messages. */
static wick_status finish(wick_comparison *c, wick_context *ctx, wick_status status, const char *ours,
                          const char *theirs, wick_comparison **out) {
    if (status != WICK_OK) {
        wick_comparison_free(&c);
        return status;
    }
    const size_t length = c->pattern ? strlen(c->pattern) : 0;
    char a[160], b[160], pattern[160] = "";
    if (length) snprintf(pattern, sizeof pattern, " of the names \"%.100s\"", c->pattern);
    c->pattern = NULL;
    *out = c;
    const int first = wick_comparison_first(c);
    if (!c->n) return wick_context_fail(ctx, WICK_ERR_MISMATCH, "%s: there is nothing to compare%s", theirs, pattern);
    if (first < 0) return WICK_OK;
    const wick_difference *d = &c->rows[first];
    if (d->kind == WICK_ONLY_OURS || d->kind == WICK_ONLY_THEIRS)
        return wick_context_fail(ctx, WICK_ERR_MISMATCH, "%s has no \"%s\"", d->kind == WICK_ONLY_OURS ? theirs : ours,
                                 d->name);
    if (d->kind == WICK_OTHER_SHAPE) {
        shape_text(a, &d->ours);
        shape_text(b, &d->theirs);
        return wick_context_fail(ctx, WICK_ERR_MISMATCH, "%s: \"%s\" has another shape there: %s, not %s", theirs,
                                 d->name, b, a);
    }
    return wick_context_fail(ctx, WICK_ERR_MISMATCH,
                             "%s: \"%s\" is the first to differ: element %lld is %.9g here and %.9g there", theirs,
                             d->name, (long long)d->element, d->our_value, d->their_value);
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

static wick_status open_file(wick_context *ctx, const char *path, wick_safetensors *file) {
    wick_msg msg;
    const wick_status status = wick_safetensors_open(file, path, &msg);
    return status == WICK_OK ? WICK_OK : wick_context_fail(ctx, status, "%s", msg.text);
}

static wick_status compare_tensors(wick_comparison *c, wick_context *ctx, const wick_safetensors *ours,
                                   const wick_safetensors *theirs) {
    for (size_t i = 0; i < ours->count; i++) {
        const wick_safetensors_tensor *t = wick_safetensors_find(theirs, ours->tensors[i].name);
        const side a = of_file(&ours->tensors[i]), b = t ? of_file(t) : (side){0};
        WICK_TRY(add_row(c, ctx, ours->tensors[i].name, &a, t ? &b : NULL));
    }
    for (size_t i = 0; i < theirs->count; i++) {
        const side b = of_file(&theirs->tensors[i]);
        if (!wick_safetensors_find(ours, b.spec.name)) WICK_TRY(add_row(c, ctx, b.spec.name, NULL, &b));
    }
    return WICK_OK;
}

wick_status wick_compare_files(wick_context *ctx, const char *ours, const char *theirs,
                               const wick_compare_options *options, wick_comparison **out) {
    if (!out) return wick_context_fail(ctx, WICK_ERR_INVALID, "compare_files: out is NULL");
    wick_safetensors file[2];
    wick_comparison *c;
    *out = NULL;
    if (!ours || !theirs) return wick_context_fail(ctx, WICK_ERR_INVALID, "compare: needs two files");
    WICK_TRY(make(ctx, options, &c));
    memset(file, 0, sizeof file);
    wick_status status = open_file(ctx, ours, &file[0]);
    if (status == WICK_OK) status = open_file(ctx, theirs, &file[1]);
    if (status == WICK_OK) status = compare_tensors(c, ctx, &file[0], &file[1]);
    for (int i = 0; i < 2; i++) wick_safetensors_close(&file[i]);
    return finish(c, ctx, status, ours, theirs, out);
}

/* ---- layers ------------------------------------------------------------------------------------------------------ */

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

/* A layer that was recorded twice: the first time counts. */
static wick_status compare_layers(wick_comparison *c, wick_context *ctx, const wick_safetensors *file,
                                  const watcher *w) {
    for (size_t i = 0; i < w->n; i++) {
        const wick_safetensors_tensor *t = wick_safetensors_find(file, w->list[i].name);
        wick_tensor *y = w->list[i].y;
        bool again = false;
        for (size_t k = 0; k < i && t && !again; k++) again = !strcmp(w->list[k].name, w->list[i].name);
        if (!t || again) continue;
        side ours = {.spec = {.dtype = wick_tensor_dtype(y), .rank = wick_tensor_rank(y)}}, theirs = of_file(t);
        memcpy(ours.spec.dims, wick_tensor_dims(y), (size_t)ours.spec.rank * sizeof *ours.spec.dims);
        WICK_TRY(wick_data(y, &ours.data));
        WICK_TRY(add_row(c, ctx, t->name, &ours, &theirs));
    }
    for (size_t i = 0; i < file->count; i++) {
        const side theirs = of_file(&file->tensors[i]);
        bool found = !strcmp(theirs.spec.name, "input");
        for (size_t k = 0; k < w->n && !found; k++) found = !strcmp(w->list[k].name, theirs.spec.name);
        if (!found) WICK_TRY(add_row(c, ctx, theirs.spec.name, NULL, &theirs));
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

wick_status wick_compare_layers(wick_model *model, wick_function fn, void *user, wick_tensor *const *in,
                                const char *path, const wick_compare_options *options, wick_comparison **out) {
    if (!out) return wick_context_fail(wick_model_context(model), WICK_ERR_INVALID, "compare_layers: out is NULL");
    wick_context *ctx = wick_model_context(model);
    wick_safetensors file;
    wick_comparison *c;
    *out = NULL;
    if (!fn || !path)
        return wick_context_fail(ctx, WICK_ERR_INVALID,
                                 "compare: needs the function that builds the network, and a file");
    WICK_TRY(make(ctx, options, &c));
    memset(&file, 0, sizeof file);
    wick_status status = open_file(ctx, path, &file);
    wick_scope *scope = wick_scope_open(ctx);
    watcher w = {.alloc = &c->alloc, .arena = &c->arena};
    if (status == WICK_OK)
        status =
            scope ? record(model, fn, user, in, &w) : wick_context_fail(ctx, WICK_ERR_NOMEM, "compare: out of memory");
    if (status == WICK_OK) status = compare_layers(c, ctx, &file, &w);
    for (size_t i = 0; i < w.n; i++) wick_tensor_free(&w.list[i].y);
    wick_release(&c->alloc, w.list, w.cap * sizeof *w.list);
    wick_scope_close(&scope);
    wick_safetensors_close(&file);
    return finish(c, ctx, status, "the network", path, out);
}

/* ---- asked for --------------------------------------------------------------------------------------------------- */

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
wick_difference wick_comparison_at(const wick_comparison *c, int i) {
    return i >= 0 && (size_t)i < c->n ? c->rows[i] : (wick_difference){0};
}
int wick_comparison_first(const wick_comparison *c) {
    for (size_t i = 0; i < c->n; i++)
        if (c->rows[i].kind != WICK_SAME) return (int)i;
    return -1;
}
size_t wick_comparison_format(const wick_comparison *c, char *buffer, size_t size) {
    if (!buffer) size = 0;
    size_t length = 0;
    if (size) buffer[0] = 0;
    for (size_t i = 0; i < c->n; i++) {
        const wick_difference *d = &c->rows[i];
        char text[768], a[160] = "", b[160] = "";
        wick_str s = wick_str_on(text, sizeof text);
        if (d->ours.rank >= 0) shape_text(a, &d->ours);
        if (d->theirs.rank >= 0) shape_text(b, &d->theirs);
        wick_str_add(&s, "%s %-40s ", d->kind == WICK_SAME ? " " : "!", d->name);
        switch (d->kind) {
        case WICK_ONLY_OURS: wick_str_add(&s, "only here: %s\n", a); break;
        case WICK_ONLY_THEIRS: wick_str_add(&s, "only there: %s\n", b); break;
        case WICK_OTHER_SHAPE: wick_str_add(&s, "%s here, %s there\n", a, b); break;
        case WICK_SAME:
        case WICK_DIFFERS:
            wick_str_add(&s, "off by %.3g (%.3g of the largest), element %lld: %.9g, there %.9g\n", d->worst,
                         d->relative, (long long)d->element, d->our_value, d->their_value);
        }
        if (length < size) {
            const size_t part = WICK_MIN(s.len, size - 1 - length);
            memcpy(buffer + length, text, part);
            buffer[length + part] = 0;
        }
        length += s.len;
    }
    return length;
}
