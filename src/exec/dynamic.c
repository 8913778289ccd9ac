/* dynamic.c: one function for many shapes: its dims, the cache of plans by their extents, and the runners that use
 * them. */
#include "exec/dynamic.h"

#include <stdio.h>

enum { PLANS = 64, PROBES = 24 };
#define CACHE_BYTES ((size_t)256 << 20)

/* ---- dims -------------------------------------------------------------------------------------------------------- */

static int64_t step_of(const wick_dim *dim) { return WICK_MAX(dim->multiple, 1); }
static int64_t first_of(const wick_dim *dim) { return dim->min / step_of(dim) + (dim->min % step_of(dim) != 0); }
int64_t wick_dim_values(const wick_dim *dim) { return dim->max / step_of(dim) - first_of(dim) + 1; }
int64_t wick_dim_value(const wick_dim *dim, int64_t i) { return (first_of(dim) + i) * step_of(dim); }

void wick_dynamic_say(wick_str *s, const wick_dynamic *d, const int64_t *extents) {
    for (int k = 0; k < d->n_dims; k++)
        wick_str_add(s, "%s%s=%lld", k ? ", " : "", d->dims[k].name, (long long)extents[k]);
}

void wick_dynamic_draw(const wick_dynamic *d, uint64_t *state, int64_t *extents) {
    for (int k = 0; k < d->n_dims; k++) {
        *state = *state * 6364136223846793005u + 1442695040888963407u; /* Knuth's MMIX */
        const int64_t n = wick_dim_values(&d->dims[k]);
        const uint64_t random = *state >> 17;
        extents[k] = wick_dim_value(&d->dims[k], random % 8 == 0 ? (random & 8 ? n - 1 : 0)
                                                                 : (int64_t)((random >> 4) % (uint64_t)n));
    }
}

static const char *name_of(const wick_dynamic_input *in) { return in->name && *in->name ? in->name : "?"; }

wick_status wick_dim_guard(const wick_dim *dim, int64_t value, const char *input, int axis, wick_msg *msg) {
    if (value >= dim->min && value <= dim->max && value % step_of(dim) == 0) return WICK_OK;
    char where[160], multiple[64] = "";
    if (input) snprintf(where, sizeof where, "input %.80s: dim %d (%.60s)", input, axis, dim->name);
    else snprintf(where, sizeof where, "dim %.60s", dim->name);
    if (dim->multiple > 1) snprintf(multiple, sizeof multiple, ", multiples of %lld", (long long)dim->multiple);
    return wick_msg_set(msg, WICK_ERR_SHAPE, "%s is %lld, the range is %lld..%lld%s", where, (long long)value,
                        (long long)dim->min, (long long)dim->max, multiple);
}

wick_status wick_dynamic_specs(const wick_dynamic *d, const int64_t *extents, int64_t *values, wick_spec *specs,
                               wick_msg *msg) {
    for (int k = 0; k < d->n_dims; k++) WICK_TRY(wick_dim_guard(&d->dims[k], extents[k], NULL, 0, msg));
    return wick_dynamic_specs_at(d, extents, values, specs, msg);
}

wick_status wick_dynamic_specs_at(const wick_dynamic *d, const int64_t *extents, int64_t *values, wick_spec *specs,
                                  wick_msg *msg) {
    if (!wick_extents_eval(&d->expressions, extents, values))
        return wick_msg_set(msg, WICK_ERR_SHAPE, "an extent of an input is too large");
    for (int i = 0; i < d->n_in; i++) {
        specs[i] = (wick_spec){.name = d->in[i].name, .dtype = d->in[i].dtype, .rank = d->in[i].rank};
        for (int a = 0; a < d->in[i].rank; a++)
            if ((specs[i].dims[a] = values[d->extents[i][a]]) < 0)
                return wick_msg_set(msg, WICK_ERR_SHAPE, "input %s: dim %d (%s) becomes %lld", name_of(&d->in[i]), a,
                                    d->in[i].dims[a], (long long)specs[i].dims[a]);
    }
    return WICK_OK;
}

/* The values of the dims that these inputs have; all else has to follow. */
static wick_status solve(const wick_dynamic *d, const wick_spec *in, int64_t *extents, int64_t *values, wick_msg *msg) {
    for (int i = 0; i < d->n_in; i++) {
        if (in[i].dtype != d->in[i].dtype)
            return wick_msg_set(msg, WICK_ERR_DTYPE, "input %s: it is %s, not %s", name_of(&d->in[i]),
                                wick_dtype_name(in[i].dtype), wick_dtype_name(d->in[i].dtype));
        if (in[i].rank != d->in[i].rank)
            return wick_msg_set(msg, WICK_ERR_SHAPE, "input %s: it has %d dims, not %d", name_of(&d->in[i]), in[i].rank,
                                d->in[i].rank);
    }
    for (int k = 0; k < d->n_dims; k++) {
        const int i = d->source[k].input, a = d->source[k].axis;
        extents[k] = in[i].dims[a];
        WICK_TRY(wick_dim_guard(&d->dims[k], extents[k], name_of(&d->in[i]), a, msg));
    }
    if (!wick_extents_eval(&d->expressions, extents, values))
        return wick_msg_set(msg, WICK_ERR_SHAPE, "an extent of an input is too large");
    for (int i = 0; i < d->n_in; i++)
        for (int a = 0; a < d->in[i].rank; a++) {
            const int64_t wanted = values[d->extents[i][a]];
            if (in[i].dims[a] == wanted) continue;
            char text[256];
            wick_str s = wick_str_on(text, sizeof text);
            wick_dynamic_say(&s, d, extents);
            return wick_msg_set(msg, WICK_ERR_SHAPE, "input %s: dim %d (%s) is %lld, but %s makes it %lld",
                                name_of(&d->in[i]), a, d->in[i].dims[a], (long long)in[i].dims[a], text,
                                (long long)wanted);
        }
    return WICK_OK;
}

static wick_status read_dims(wick_dynamic *d, const wick_dim *dims, wick_msg *msg) {
    for (int k = 0; k < d->n_dims; k++) {
        const wick_dim *dim = &dims[k];
        if (!dim->name || !*dim->name) return wick_msg_set(msg, WICK_ERR_INVALID, "dynamic: dim %d has no name", k);
        for (int l = 0; l < k; l++)
            if (strcmp(dims[l].name, dim->name) == 0)
                return wick_msg_set(msg, WICK_ERR_INVALID, "dynamic: two dims are called %s", dim->name);
        if (dim->min < 0 || dim->max < dim->min || dim->max == INT64_MAX || dim->multiple < 0 ||
            wick_dim_values(dim) < 1)
            return wick_msg_set(msg, WICK_ERR_INVALID,
                                "dynamic: dim %s: there is nothing in %lld..%lld, multiples of %lld", dim->name,
                                (long long)dim->min, (long long)dim->max, (long long)step_of(dim));
        d->dims[k] = *dim;
        d->names[k] = d->dims[k].name = wick_arena_strdup(&d->arena, dim->name);
        if (!d->names[k]) return wick_msg_set(msg, WICK_ERR_NOMEM, "out of memory");
        d->source[k].input = -1;
    }
    return WICK_OK;
}

static wick_status read_inputs(wick_dynamic *d, const wick_dynamic_input *in, wick_msg *msg) {
    for (int i = 0; i < d->n_in; i++) {
        d->in[i] = (wick_dynamic_input){.dtype = in[i].dtype,
                                        .rank = in[i].rank,
                                        .name = in[i].name ? wick_arena_strdup(&d->arena, in[i].name) : NULL};
        if (in[i].rank < 0 || in[i].rank > WICK_MAX_DIMS || (unsigned)in[i].dtype >= WICK_DTYPE_COUNT)
            return wick_msg_set(msg, WICK_ERR_INVALID, "dynamic: input %d (%s) has an impossible dtype or rank", i,
                                name_of(&in[i]));
        for (int a = 0; a < in[i].rank; a++) {
            const char *text = in[i].dims[a];
            const int32_t e = text ? wick_extents_parse(&d->expressions, text) : -1;
            if (e < 0)
                return wick_msg_set(msg, d->expressions.nomem ? WICK_ERR_NOMEM : WICK_ERR_INVALID,
                                    "dynamic: input %s: dim %d, \"%s\", is no number, dim or expression of dims",
                                    name_of(&in[i]), a, text ? text : "");
            d->extents[i][a] = e;
            d->in[i].dims[a] = wick_arena_strdup(&d->arena, text);
            if (e < d->n_dims && d->source[e].input < 0) d->source[e].input = i, d->source[e].axis = a;
            if (!d->in[i].dims[a]) return wick_msg_set(msg, WICK_ERR_NOMEM, "out of memory");
        }
    }
    for (int k = 0; k < d->n_dims; k++)
        if (d->source[k].input < 0)
            return wick_msg_set(msg, WICK_ERR_INVALID,
                                "dynamic: dim %s is no extent of an input by itself: its value could not be read",
                                d->dims[k].name);
    return WICK_OK;
}

/* Points that tell expressions of inputs apart: the ends of the range, each dim by itself, and others. */
static const int64_t *probes(wick_dynamic *d) {
    int64_t *points = wick_arena_zalloc(&d->arena, ((size_t)PROBES * (size_t)d->n_dims + 1) * sizeof *points);
    uint64_t state = 1;
    for (int p = 0; points && p < PROBES; p++) wick_dynamic_draw(d, &state, points + (size_t)p * (size_t)d->n_dims);
    return points;
}

static wick_status set_up(wick_dynamic *d, const wick_dim *dims, const wick_dynamic_input *in, wick_msg *msg) {
    d->dims = wick_arena_zalloc(&d->arena, ((size_t)d->n_dims + 1) * sizeof *d->dims);
    d->names = wick_arena_zalloc(&d->arena, ((size_t)d->n_dims + 1) * sizeof *d->names);
    d->in = wick_arena_zalloc(&d->arena, ((size_t)d->n_in + 1) * sizeof *d->in);
    d->extents = wick_arena_zalloc(&d->arena, ((size_t)d->n_in + 1) * sizeof *d->extents);
    d->n_buckets = 16;
    while (d->n_buckets < 2 * (uint32_t)d->options.plans && d->n_buckets < 1u << 20) d->n_buckets *= 2;
    d->buckets = wick_arena_zalloc(&d->arena, d->n_buckets * sizeof *d->buckets);
    if (!d->dims || !d->names || !d->in || !d->extents || !d->buckets)
        return wick_msg_set(msg, WICK_ERR_NOMEM, "out of memory");
    WICK_TRY(read_dims(d, dims, msg));
    const int64_t *points = probes(d);
    if (!points || !wick_extents_init(&d->expressions, &d->arena, d->n_dims, d->names, PROBES, points))
        return wick_msg_set(msg, WICK_ERR_NOMEM, "out of memory");
    WICK_TRY(read_inputs(d, in, msg));
    d->values = wick_arena_alloc(&d->arena, ((size_t)d->expressions.n + 1) * sizeof *d->values);
    return d->values ? WICK_OK : wick_msg_set(msg, WICK_ERR_NOMEM, "out of memory");
}

wick_status wick_dynamic_new(wick_context *ctx, wick_function fn, void *user, int n_dims, const wick_dim *dims,
                             int n_in, const wick_dynamic_input *in, int n_out, const wick_dynamic_options *options,
                             wick_dynamic **out) {
    if (!out) return wick_context_fail(ctx, WICK_ERR_INVALID, "dynamic_new: out is NULL");
    *out = NULL;
    if (!fn || n_dims < 0 || n_dims > WICK_MAX_NAMED_DIMS || n_in < 0 || n_out < 0 || (n_dims && !dims) ||
        (n_in && !in))
        return wick_msg_set(&ctx->msg, WICK_ERR_INVALID, "dynamic: needs a function, its inputs, and at most %d dims",
                            WICK_MAX_NAMED_DIMS);
    wick_dynamic *d = wick_calloc(&ctx->alloc, sizeof *d);
    if (!d) return wick_msg_set(&ctx->msg, WICK_ERR_NOMEM, "out of memory");
    d->ctx = ctx, d->fn = fn, d->user = user, d->n_dims = n_dims, d->n_in = n_in, d->n_out = n_out;
    if (options) d->options = *options;
    if (d->options.plans < 1) d->options.plans = PLANS;
    if (!d->options.cache_bytes) d->options.cache_bytes = CACHE_BYTES;
    d->limit = d->options.memory_limit ? d->options.memory_limit : SIZE_MAX;
    wick_arena_init(&d->arena, &ctx->alloc, 4096);
    wick_packed_weights_init(&d->packs, &ctx->alloc);
    wick_status status = set_up(d, dims, in, &ctx->msg);
    if (status != WICK_OK) {
        wick_packed_weights_free(&d->packs);
        wick_arena_free(&d->arena);
        wick_release(&ctx->alloc, d, sizeof *d);
        return status;
    }
    pthread_mutex_init(&d->compiler, NULL);
    pthread_mutex_init(&d->cache, NULL);
    pthread_cond_init(&d->made, NULL);
    *out = d;
    return WICK_OK;
}

/* ---- the cache --------------------------------------------------------------------------------------------------- */

static wick_variant *find(const wick_dynamic *d, const int64_t *extents, uint64_t hash) {
    wick_variant *v = d->buckets[hash & (d->n_buckets - 1)];
    while (v && (v->hash != hash || memcmp(v->extents, extents, (size_t)d->n_dims * sizeof *extents) != 0)) v = v->next;
    return v;
}

static void take_out(wick_dynamic *d, wick_variant *v) { /* of the order of use */
    *(v->newer ? &v->newer->older : &d->newest) = v->older;
    *(v->older ? &v->older->newer : &d->oldest) = v->newer;
}
static void put_first(wick_dynamic *d, wick_variant *v) {
    v->newer = NULL, v->older = d->newest;
    *(d->newest ? &d->newest->newer : &d->oldest) = v;
    d->newest = v;
}
static void take_from_bucket(wick_dynamic *d, const wick_variant *v) {
    wick_variant **at = &d->buckets[v->hash & (d->n_buckets - 1)];
    while (*at != v) at = &(*at)->next;
    *at = v->next;
}

static void free_version(wick_dynamic *d, wick_variant *v) { /* under `compiler`, out of the list */
    for (wick_idle *idle = v->idle; idle;) {
        wick_idle *next = idle->next;
        wick_workspace_free(&idle->workspace);
        wick_release(&d->ctx->alloc, idle, sizeof *idle);
        idle = next;
    }
    wick_plan_free(&v->plan);
    wick_release(&d->ctx->alloc, v->in, ((size_t)d->n_in + 1) * sizeof *v->in);
    wick_release(&d->ctx->alloc, v, sizeof *v);
}

static wick_workspace *take_idle(wick_dynamic *d, wick_variant *v) {
    wick_idle *idle = v->idle;
    if (!idle) return NULL;
    wick_workspace *ws = idle->workspace;
    v->idle = idle->next;
    d->kept -= v->each;
    wick_release(&d->ctx->alloc, idle, sizeof *idle);
    return ws;
}

/* One of so many bytes or more, or NULL; under `cache`. */
static wick_room *take_room(wick_dynamic *d, size_t bytes) {
    wick_room **at = &d->rooms, *room;
    while (*at && (*at)->bytes < bytes) at = &(*at)->next;
    if (!(room = *at)) return NULL;
    *at = room->next;
    d->kept -= room->bytes;
    return room;
}

/* Rooms and workspaces beyond the budget go, those of plans that were used longest ago first; under `cache`, as their
 * plans must not go meanwhile. */
static void trim(wick_dynamic *d) {
    while (d->rooms && d->kept > d->options.cache_bytes) {
        wick_room *room = take_room(d, 0);
        wick_release(&d->ctx->alloc, room, room->bytes);
    }
    for (wick_variant *v = d->oldest; v && d->kept > d->options.cache_bytes; v = v->newer)
        while (v->idle && d->kept > d->options.cache_bytes) {
            wick_workspace *ws = take_idle(d, v);
            wick_workspace_free(&ws);
        }
}

/* Plans that nobody uses go until the rest is within the limits; under `compiler` and `cache`. The list of them, by
 * `next`. but: stays. */
static wick_variant *evict(wick_dynamic *d, const wick_variant *but) {
    wick_variant *gone = NULL;
    for (wick_variant *v = d->oldest, *newer;
         v && (d->n_versions > d->options.plans || d->kept > d->options.cache_bytes); v = newer) {
        newer = v->newer;
        if (v == but || v->held || !v->plan) continue;
        take_out(d, v);
        take_from_bucket(d, v);
        d->n_versions--;
        for (const wick_idle *idle = v->idle; idle; idle = idle->next) d->kept -= v->each;
        d->kept -= v->bytes;
        d->counts.evicted++;
        v->next = gone;
        gone = v;
    }
    return gone;
}
static void free_versions(wick_dynamic *d, wick_variant *v) {
    while (v) {
        wick_variant *next = v->next;
        free_version(d, v);
        v = next;
    }
}

void wick_dynamic_free(wick_dynamic **dynamic) {
    wick_dynamic *d = dynamic ? *dynamic : NULL;
    if (!d) return;
    *dynamic = NULL;
    while (d->newest) {
        wick_variant *v = d->newest;
        take_out(d, v);
        free_version(d, v);
    }
    for (wick_room *room; (room = take_room(d, 0));) wick_release(&d->ctx->alloc, room, room->bytes);
    wick_packed_weights_free(&d->packs);
    pthread_mutex_destroy(&d->compiler);
    pthread_mutex_destroy(&d->cache);
    pthread_cond_destroy(&d->made);
    wick_arena_free(&d->arena);
    wick_allocator alloc = d->ctx->alloc;
    wick_release(&alloc, d, sizeof *d);
}

wick_dynamic_info wick_dynamic_get_info(const wick_dynamic *dynamic) {
    wick_dynamic *d = (wick_dynamic *)(uintptr_t)dynamic; /* its locks */
    pthread_mutex_lock(&d->cache);
    wick_dynamic_info info = d->counts;
    info.plans = d->n_versions, info.cached_bytes = d->kept;
    pthread_mutex_unlock(&d->cache);
    info.packed_bytes = wick_packed_weights_bytes(&d->packs);
    info.dims = d->n_dims, info.inputs = d->n_in, info.outputs = d->n_out;
    return info;
}
wick_dim wick_dynamic_dim(const wick_dynamic *d, int i) { return i >= 0 && i < d->n_dims ? d->dims[i] : (wick_dim){0}; }

/* ---- making plans: under `compiler` ------------------------------------------------------------------------------ */

wick_status wick_dynamic_prepare(wick_dynamic *d, const wick_spec *specs) {
    wick_context_clear_error(d->ctx);
    return d->options.prepare ? d->options.prepare(d->user, specs) : WICK_OK;
}
wick_status wick_dynamic_compile(wick_dynamic *d, const wick_spec *specs, wick_plan **plan) {
    *plan = NULL;
    WICK_TRY(wick_dynamic_prepare(d, specs));
    return wick_compile_among(d->ctx, d->fn, d->user, d->n_in, specs, d->n_out, &d->options.compile, &d->packs, plan);
}

static wick_status make_plan(wick_dynamic *d, wick_variant *v, wick_plan **plan, wick_msg *msg) {
    char text[256];
    wick_str s = wick_str_on(text, sizeof text);
    wick_dynamic_say(&s, d, v->extents);
    WICK_TRY(wick_dynamic_specs(d, v->extents, d->values, v->in, msg));
    const wick_status status = wick_dynamic_compile(d, v->in, plan);
    if (status != WICK_OK) {
        const char *why = wick_context_error(d->ctx);
        return wick_msg_set(msg, status, "with %s: %s", text, *why ? why : wick_status_name(status));
    }
    const wick_plan_info info = wick_plan_get_info(*plan);
    v->each = wick_workspace_bytes(*plan);
    v->room = WICK_MAX(wick_workspace_room(*plan), sizeof(wick_room));
    const size_t run = info.arena_bytes + info.scratch_bytes;
    v->bytes = (*plan)->arena.bytes + wick_packed_weights_own(*plan);
    if (run <= d->limit) return WICK_OK;
    wick_plan_free(plan);
    return wick_msg_set(msg, WICK_ERR_NOMEM, "with %s: a run takes %zu bytes, more than the limit of %zu", text, run,
                        d->limit);
}

/* Under `cache`, which it lets go meanwhile: a version with a plan, held once by the caller. */
static wick_status make_version(wick_dynamic *d, const int64_t *extents, uint64_t hash, wick_variant **out,
                                wick_msg *msg) {
    wick_variant *v = wick_calloc(&d->ctx->alloc, sizeof *v);
    if (v) v->in = wick_calloc(&d->ctx->alloc, ((size_t)d->n_in + 1) * sizeof *v->in);
    if (!v || !v->in) {
        wick_release(&d->ctx->alloc, v, sizeof *v);
        return wick_msg_set(msg, WICK_ERR_NOMEM, "out of memory");
    }
    memcpy(v->extents, extents, (size_t)d->n_dims * sizeof *extents);
    v->hash = hash;
    wick_variant **bucket = &d->buckets[hash & (d->n_buckets - 1)];
    v->next = *bucket;
    *bucket = v;
    put_first(d, v);
    d->n_versions++;
    d->counts.misses++;
    pthread_mutex_unlock(&d->cache);

    wick_plan *plan = NULL;
    pthread_mutex_lock(&d->compiler);
    const wick_status status = make_plan(d, v, &plan, msg);
    pthread_mutex_lock(&d->cache);
    v->plan = plan;
    wick_variant *gone = NULL;
    if (status == WICK_OK) {
        v->held = 1;
        d->kept += v->bytes;
        trim(d);
        gone = evict(d, v);
    } else {
        take_out(d, v);
        take_from_bucket(d, v);
        d->n_versions--;
        v->next = NULL;
        gone = v;
    }
    pthread_cond_broadcast(&d->made);
    pthread_mutex_unlock(&d->cache);
    free_versions(d, gone);
    pthread_mutex_unlock(&d->compiler);
    pthread_mutex_lock(&d->cache);
    *out = v;
    return status;
}

/* ---- runners ----------------------------------------------------------------------------------------------------- */

wick_status wick_runner_new(wick_dynamic *d, wick_runner **out) {
    if (!out) return wick_context_fail(d->ctx, WICK_ERR_INVALID, "runner_new: out is NULL");
    wick_runner *r = *out = wick_calloc(&d->ctx->alloc, sizeof *r);
    if (r) r->values = wick_alloc(&d->ctx->alloc, ((size_t)d->expressions.n + 1) * sizeof *r->values);
    if (r && r->values) {
        r->dynamic = d;
        atomic_fetch_add(&d->runners, 1);
        return WICK_OK;
    }
    wick_release(&d->ctx->alloc, r, sizeof *r);
    *out = NULL;
    return WICK_ERR_NOMEM;
}

/* Gives back what it holds. */
static void unbind(wick_runner *r) {
    wick_dynamic *d = r->dynamic;
    wick_variant *v = r->version;
    if (!v) return;
    wick_idle *idle = r->workspace ? wick_alloc(&d->ctx->alloc, sizeof *idle) : NULL;
    if (!idle) wick_workspace_free(&r->workspace);
    pthread_mutex_lock(&d->cache);
    v->held--;
    if (idle) {
        *idle = (wick_idle){r->workspace, v->idle};
        v->idle = idle;
        d->kept += v->each;
        trim(d);
    }
    pthread_mutex_unlock(&d->cache);
    r->version = NULL, r->workspace = NULL;
}

void wick_runner_free(wick_runner **runner) {
    wick_runner *r = runner ? *runner : NULL;
    if (!r) return;
    *runner = NULL;
    unbind(r);
    wick_dynamic *d = r->dynamic;
    if (r->room) {
        pthread_mutex_lock(&d->cache);
        wick_room *room = (wick_room *)(void *)r->room;
        *room = (wick_room){d->rooms, r->room_bytes};
        d->rooms = room;
        d->kept += room->bytes;
        trim(d);
        pthread_mutex_unlock(&d->cache);
    }
    wick_release(&d->ctx->alloc, r->values, ((size_t)d->expressions.n + 1) * sizeof *r->values);
    wick_release(&d->ctx->alloc, r, sizeof *r);
    atomic_fetch_sub(&d->runners, 1);
}

/* Memory that its workspace can run in: what it has, what another runner left, or new. Where it has to grow it grows by
 * a quarter at least, but not beyond a bound that is known: extents may come in order. */
static bool find_room(wick_runner *r) {
    wick_dynamic *d = r->dynamic;
    if (r->room_bytes >= r->version->room) return true;
    const size_t bytes = WICK_MAX(r->version->room, WICK_MIN(r->room_bytes + r->room_bytes / 4, d->limit));
    wick_release(&d->ctx->alloc, r->room, r->room_bytes);
    pthread_mutex_lock(&d->cache);
    wick_room *room = take_room(d, r->version->room);
    pthread_mutex_unlock(&d->cache);
    r->room_bytes = room ? room->bytes : bytes;
    r->room = room ? (char *)room : wick_alloc(&d->ctx->alloc, bytes);
    if (!r->room) r->room_bytes = 0;
    return r->room != NULL;
}

static bool is_bound_to(const wick_runner *r, const int64_t *extents) {
    return r->version && memcmp(r->version->extents, extents, (size_t)r->dynamic->n_dims * sizeof *extents) == 0;
}

static wick_status bind(wick_runner *r, const int64_t *extents) {
    wick_dynamic *d = r->dynamic;
    if (is_bound_to(r, extents)) return WICK_OK;
    unbind(r);
    const uint64_t hash = wick_hash(extents, (size_t)d->n_dims * sizeof *extents, 0);
    wick_status status = WICK_OK;
    pthread_mutex_lock(&d->cache);
    wick_variant *v = find(d, extents, hash);
    while (v && !v->plan) { /* another thread is making it; it may fail, and then it is gone */
        pthread_cond_wait(&d->made, &d->cache);
        v = find(d, extents, hash);
    }
    if (v) {
        v->held++;
        d->counts.hits++;
        take_out(d, v);
        put_first(d, v);
    } else {
        status = make_version(d, extents, hash, &v, &r->msg);
    }
    r->workspace = status == WICK_OK ? take_idle(d, v) : NULL;
    pthread_mutex_unlock(&d->cache);
    if (status != WICK_OK) return status;
    r->version = v;
    if ((!r->workspace && wick_workspace_bare(v->plan, &r->workspace) != WICK_OK) || !find_room(r)) {
        unbind(r);
        return wick_msg_set(&r->msg, WICK_ERR_NOMEM, "out of memory for a run");
    }
    wick_workspace_place(r->workspace, r->room);
    return WICK_OK;
}

wick_status wick_runner_bind_dims(wick_runner *r, const int64_t *extents) {
    if (!extents) return wick_msg_set(&r->msg, WICK_ERR_INVALID, "runner_bind_dims: extents is NULL");
    if (is_bound_to(r, extents)) return WICK_OK;
    for (int k = 0; k < r->dynamic->n_dims; k++) {
        const wick_status status = wick_dim_guard(&r->dynamic->dims[k], extents[k], NULL, 0, &r->msg);
        if (status != WICK_OK) return unbind(r), status;
    }
    return bind(r, extents);
}

wick_status wick_runner_bind(wick_runner *r, const wick_spec *in) {
    if (!in) return wick_msg_set(&r->msg, WICK_ERR_INVALID, "runner_bind: in is NULL");
    int64_t extents[WICK_MAX_NAMED_DIMS];
    const wick_status status = solve(r->dynamic, in, extents, r->values, &r->msg);
    if (status != WICK_OK) return unbind(r), status;
    return bind(r, extents);
}

const wick_plan *wick_runner_plan(const wick_runner *r) { return r->version ? r->version->plan : NULL; }
wick_spec wick_runner_input(const wick_runner *r, int i) {
    return r->version && i >= 0 && i < r->dynamic->n_in ? r->version->in[i] : (wick_spec){.rank = -1};
}

wick_status wick_runner_run(wick_runner *r, const void *const *in, void *const *out) {
    if (!r->version) return wick_msg_set(&r->msg, WICK_ERR_INVALID, "run: the runner is not bound to extents");
    wick_workspace_set_offset(r->workspace, r->offset);
    const wick_status status = wick_run(r->workspace, in, out);
    r->offset = wick_workspace_offset(r->workspace);
    return status == WICK_OK ? status : wick_msg_set(&r->msg, status, "%s", wick_workspace_error(r->workspace));
}

const char *wick_runner_error(const wick_runner *r) { return r->msg.text; }
uint64_t wick_runner_offset(const wick_runner *r) { return r->offset; }
void wick_runner_set_offset(wick_runner *r, uint64_t offset) { r->offset = offset; }
