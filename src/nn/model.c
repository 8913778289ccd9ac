/* model.c: named state. States are found by name through a table of their hashes, and listed in order of creation. */
#include <math.h>
#include <stdio.h>

#include "nn/nn.h"
#include "ops/ops.h"
#include "wick/compare.h"

enum { PUSH_MAX = 32 };

typedef struct model_entry {
    const char *name; /* in the model's arena */
    uint64_t hash;
    wick_role role;
    wick_tensor *tensor; /* retained */
    const wick_state_part *part; /* that the tensor is, in the model's arena; NULL: it is the whole state */
    bool frozen;
} model_entry;

typedef struct model_alias {
    const char *name; /* in the model's arena */
    uint32_t entry;
} model_alias;

struct wick_model {
    wick_context *ctx;
    wick_allocator alloc;
    bool training, averaged, some_frozen; /* false: certainly none */
    wick_init_rule rule; /* of the weights of layers, or NULL */
    wick_arena names;
    model_entry *entries;
    size_t n, cap;
    model_alias *aliases; /* few: looked through after the table */
    size_t n_aliases, aliases_cap;
    uint32_t *table; /* open addressing by hash: entry + 1, or 0; a power of two of slots, at most half used */
    size_t slots;
    char path[WICK_NAME_MAX]; /* "block1.attention." */
    size_t path_len, pushed[PUSH_MAX];
    int depth;
    wick_layer_log *log; /* of the summary being made, or NULL */
    wick_layer_watch watch;
    void *watch_user;
    /* where the layer that records now was called, and that with the layer's name; NULL: none does */
    const char *outside, *inside;
    int64_t numbers, limit; /* elements of all states, and how many there may be; 0: any number */
};

wick_status wick_model_new(wick_context *ctx, wick_model **out) {
    if (!out) return wick_context_fail(ctx, WICK_ERR_INVALID, "model_new: out is NULL");
    *out = NULL;
    wick_model *m = wick_calloc(&ctx->alloc, sizeof *m);
    if (!m) return wick_context_fail(ctx, WICK_ERR_NOMEM, "out of memory making a model");
    m->ctx = ctx;
    m->alloc = ctx->alloc;
    m->training = true;
    wick_arena_init(&m->names, &m->alloc, 4096);
    *out = m;
    return WICK_OK;
}

void wick_model_free(wick_model **model) {
    wick_model *m = model ? *model : NULL;
    if (!m) return;
    *model = NULL;
    for (size_t i = 0; i < m->n; i++) wick_tensor_free(&m->entries[i].tensor);
    wick_arena_free(&m->names);
    wick_allocator alloc = m->alloc;
    wick_release(&alloc, m->entries, m->cap * sizeof *m->entries);
    wick_release(&alloc, m->aliases, m->aliases_cap * sizeof *m->aliases);
    wick_release(&alloc, m->table, m->slots * sizeof *m->table);
    wick_release(&alloc, m, sizeof *m);
}

wick_context *wick_model_context(const wick_model *model) { return model->ctx; }
void wick_model_set_training(wick_model *model, bool training) { model->training = training; }
bool wick_model_training(const wick_model *model) { return model->training; }
void wick_model_set_averaged(wick_model *model, bool averaged) { model->averaged = averaged; }
bool wick_model_averaged(const wick_model *model) { return model->averaged; }
void wick_model_set_log(wick_model *model, wick_layer_log *log) { model->log = log; }
wick_layer_log *wick_model_log(const wick_model *model) { return model->log; }
const char *wick_model_path(const wick_model *model) { return model->path; }
void wick_model_watch(wick_model *model, wick_layer_watch fn, void *user) {
    model->watch = fn;
    model->watch_user = user;
}
wick_tensor *wick_layer_seen(wick_model *model, const char *name, wick_tensor *y) {
    if (!model->watch || !y || y->error) return y;
    char full[2 * WICK_NAME_MAX];
    snprintf(full, sizeof full, "%s%s", model->path, name);
    model->watch(model->watch_user, full, y);
    return y;
}
wick_tensor *wick_model_tell(wick_model *model, const char *name, wick_tensor *y) {
    return model && name ? wick_layer_seen(model, name, y) : y;
}
void wick_model_set_init(wick_model *model, wick_init_rule rule) { model->rule = rule; }

/* ---- the table --------------------------------------------------------------------------------------------------- */

static model_entry *find(const wick_model *m, const char *name, uint64_t hash) {
    for (size_t at = hash; m->slots; at++) {
        uint32_t i = m->table[at & (m->slots - 1)];
        if (!i) break;
        model_entry *e = &m->entries[i - 1];
        if (e->hash == hash && strcmp(e->name, name) == 0) return e;
    }
    for (size_t i = 0; i < m->n_aliases; i++)
        if (strcmp(m->aliases[i].name, name) == 0) return &m->entries[m->aliases[i].entry];
    return NULL;
}

static void table_put(uint32_t *table, size_t slots, uint64_t hash, size_t entry) {
    size_t at = hash;
    while (table[at & (slots - 1)]) at++;
    table[at & (slots - 1)] = (uint32_t)entry + 1;
}

/* Room for one more entry, in the list and in the table. */
static bool reserve(wick_model *m) {
    if (!wick_grow(&m->alloc, (void **)&m->entries, &m->cap, m->n + 1, sizeof *m->entries)) return false;
    if (2 * (m->n + 1) <= m->slots) return true;
    size_t slots = m->slots ? 2 * m->slots : 64;
    uint32_t *table = wick_calloc(&m->alloc, slots * sizeof *table);
    if (!table) return false;
    for (size_t i = 0; i < m->n; i++) table_put(table, slots, m->entries[i].hash, i);
    wick_release(&m->alloc, m->table, m->slots * sizeof *m->table);
    m->table = table;
    m->slots = slots;
    return true;
}

void wick_model_set_limit(wick_model *model, int64_t numbers) { model->limit = numbers; }
int wick_model_count(const wick_model *model) { return (int)model->n; }

wick_named wick_model_at(const wick_model *model, int i) {
    if (i < 0 || (size_t)i >= model->n) return (wick_named){NULL, WICK_ROLE_BUFFER, NULL, false};
    const model_entry *e = &model->entries[i];
    return (wick_named){e->name, e->role, e->tensor, e->frozen};
}

wick_tensor *wick_model_find(const wick_model *model, const char *name) {
    const model_entry *e = name ? find(model, name, wick_hash(name, strlen(name), 0)) : NULL;
    return e && !e->part ? e->tensor : NULL;
}

bool wick_model_part(const wick_model *model, const char *name, wick_state_part *part) {
    const model_entry *e = name ? find(model, name, wick_hash(name, strlen(name), 0)) : NULL;
    if (!e || !e->part) return false;
    *part = *e->part;
    return true;
}

/* Why name cannot name a state, or NULL. What is refused here could not be written to a file and read back. */
static const char *bad_name(const char *name) {
    if (!name || !*name) return "is empty";
    for (const char *c = name; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 127) return "has a control character";
    return strcmp(name, "__metadata__") == 0 ? "is reserved by the safetensors format" : NULL;
}

wick_status wick_model_alias(wick_model *m, const char *alias, const char *name) {
    const char *bad = bad_name(alias);
    if (!bad && strlen(alias) >= WICK_NAME_MAX) bad = "is too long";
    if (bad) return wick_context_fail(m->ctx, WICK_ERR_INVALID, "the alias of a state %s", bad);
    const model_entry *e = name ? find(m, name, wick_hash(name, strlen(name), 0)) : NULL;
    if (!e || e->role == WICK_ROLE_OPTIM)
        return wick_context_fail(m->ctx, WICK_ERR_INVALID,
                                 "alias \"%s\": the model has no state \"%s\"; build the layer that makes it first",
                                 alias, name ? name : "");
    const model_entry *is = find(m, alias, wick_hash(alias, strlen(alias), 0));
    if (is == e) return WICK_OK;
    if (is)
        return wick_context_fail(
            m->ctx, WICK_ERR_INVALID,
            "alias \"%s\": that is a state of its own; give aliases before the layers that share are built", alias);
    const char *kept = wick_arena_strdup(&m->names, alias);
    if (!kept || !wick_grow(&m->alloc, (void **)&m->aliases, &m->aliases_cap, m->n_aliases + 1, sizeof *m->aliases))
        return wick_context_fail(m->ctx, WICK_ERR_NOMEM, "alias: out of memory");
    m->aliases[m->n_aliases++] = (model_alias){kept, (uint32_t)(e - m->entries)};
    return WICK_OK;
}
bool wick_model_alias_at(const wick_model *m, int i, const char **alias, const char **name) {
    if (i < 0 || (size_t)i >= m->n_aliases) return false;
    *alias = m->aliases[i].name;
    *name = m->entries[m->aliases[i].entry].name;
    return true;
}

wick_status wick_model_freeze(wick_model *model, const char *pattern, bool frozen) {
    size_t found = 0;
    if (!model) return WICK_ERR_INVALID;
    for (size_t i = 0; i < model->n && pattern; i++) {
        model_entry *e = &model->entries[i];
        if (e->role == WICK_ROLE_OPTIM || !wick_glob(pattern, e->name)) continue;
        e->frozen = frozen;
        model->some_frozen |= frozen;
        found++;
    }
    if (found) return WICK_OK;
    return wick_context_fail(model->ctx, WICK_ERR_INVALID, "freeze: none of the model's %zu states matches \"%s\"%s",
                             model->n, pattern ? pattern : "", model->n ? "" : ": record its network once first");
}

/* ---- states ------------------------------------------------------------------------------------------------------ */

static const char *role_name(wick_role role) {
    static const char *const names[] = {"parameter", "buffer", "optimizer state"};
    return (unsigned)role < WICK_COUNTOF(names) ? names[role] : "?";
}

/* The state as it was made, if it is what is asked for now. */
static wick_tensor *found(wick_context *ctx, const model_entry *e, wick_role role, const wick_type *type) {
    const wick_type *is = &e->tensor->value->type;
    if (e->role != role)
        return wick_poison(ctx, WICK_ERR_INVALID, "state \"%s\" is a %s, and is asked for as a %s", e->name,
                           role_name(e->role), role_name(role));
    if (is->dtype == type->dtype && wick_same_dims(is, type)) return e->tensor;
    char text[2][160];
    wick_str s[2] = {wick_str_on(text[0], sizeof text[0]), wick_str_on(text[1], sizeof text[1])};
    wick_type_print(&s[0], is);
    wick_type_print(&s[1], type);
    return wick_poison(ctx, is->dtype != type->dtype ? WICK_ERR_DTYPE : WICK_ERR_SHAPE,
                       "state \"%s\" is %s, and is asked for as %s", e->name, text[0], text[1]);
}

/* What a network reads of a state: the mean of its values where there is one and the model says so. */
static wick_tensor *read_state(const wick_model *model, wick_tensor *state, const char *name) {
    char average[WICK_OPTIM_NAME_MAX];
    if (!model->averaged) return state;
    snprintf(average, sizeof average, WICK_AVERAGE_OF "%s", name);
    wick_tensor *mean = wick_model_find(model, average);
    if (!mean) return state;
    return wick_as(mean, wick_tensor_dtype(state));
}

/* In room that is reserved. The name is kept by the model. */
static void add(wick_model *model, const char *kept, uint64_t hash, wick_role role, wick_tensor *t,
                const wick_state_part *part) {
    model->entries[model->n] = (model_entry){kept, hash, role, wick_retain(t), part, false};
    table_put(model->table, model->slots, hash, model->n);
    model->n++;
    model->numbers += wick_tensor_count(t);
}

static bool same_part(const wick_state_part *a, const wick_state_part *b) {
    if (!a || !b) return a == b;
    bool same = a->rank == b->rank && a->begin == b->begin && a->end == b->end;
    for (int d = 0; same && d < a->rank; d++) same = a->dims[d] == b->dims[d];
    return same;
}

/* part NULL: the whole state; else the type is that of the part. */
static wick_tensor *state(wick_model *model, const char *name, wick_role role, wick_dtype dtype, int rank,
                          const int64_t *dims, const wick_state_part *part, wick_init init) {
    if (!model) return NULL;
    wick_context *ctx = model->ctx;
    const char *bad = bad_name(name);
    if (bad) return wick_poison(ctx, WICK_ERR_INVALID, "the name of a state %s", bad);
    if ((unsigned)role > WICK_ROLE_OPTIM)
        return wick_poison(ctx, WICK_ERR_INVALID, "state \"%s\": no such role: %d", name, role);

    /* Optimizer states name a parameter by its whole path, wherever the layers stand just now. */
    char full[WICK_OPTIM_NAME_MAX];
    const char *path = role == WICK_ROLE_OPTIM ? "" : model->path;
    const size_t most = role == WICK_ROLE_OPTIM ? WICK_OPTIM_NAME_MAX : WICK_NAME_MAX;
    if (strlen(path) + strlen(name) >= most)
        return wick_poison(ctx, WICK_ERR_INVALID, "the name of a state has at most %zu bytes: \"%s%.64s...\"", most - 1,
                           path, name);
    snprintf(full, sizeof full, "%s%s", path, name);

    wick_type type;
    if (!wick_type_make(&type, dtype, rank, dims))
        return wick_poison(ctx, WICK_ERR_INVALID, "state \"%s\": no tensor has dtype %d and %d dims of these sizes",
                           full, (int)dtype, rank);
    const uint64_t hash = wick_hash(full, strlen(full), 0);
    const model_entry *e = find(model, full, hash);
    if (e) {
        if (!same_part(e->part, part))
            return wick_poison(ctx, WICK_ERR_MISMATCH, "the model has another part of the state \"%s\"", e->name);
        wick_tensor *is = found(ctx, e, role, &type);
        return is->error || role == WICK_ROLE_OPTIM ? is : read_state(model, is, e->name);
    }

    const int64_t count = wick_type_count(&type);
    if (model->limit && count > model->limit - model->numbers)
        return wick_poison(ctx, WICK_ERR_MISMATCH,
                           "state \"%s\" would make more than the %lld numbers that this model may hold", full,
                           (long long)model->limit);
    const char *kept = reserve(model) ? wick_arena_strdup(&model->names, full) : NULL;
    wick_state_part *kept_part = kept && part ? wick_arena_alloc(&model->names, sizeof *part) : NULL;
    if (!kept || (part && !kept_part))
        return wick_poison(ctx, WICK_ERR_NOMEM, "out of memory making state \"%s\"", full);
    if (part) *kept_part = *part;
    wick_tensor *t = wick_init_make(ctx, &init, full, &type);
    if (wick_tensor_error(t, NULL) != WICK_OK) return t;
    add(model, kept, hash, role, t, kept_part);
    return t;
}

wick_tensor *wick_model_state(wick_model *model, const char *name, wick_role role, wick_dtype dtype, int rank,
                              const int64_t *dims, wick_init init) {
    return state(model, name, role, dtype, rank, dims, NULL, init);
}

wick_tensor *wick_model_state_part(wick_model *model, const char *name, wick_dtype dtype, int rank, const int64_t *dims,
                                   int64_t begin, int64_t end, wick_init init) {
    wick_type type;
    if (!model) return NULL;
    if (!wick_type_make(&type, dtype, rank, dims) || begin < 0 || begin > end || end > wick_type_count(&type))
        return wick_poison(model->ctx, WICK_ERR_INVALID, "state \"%.64s\": it has no elements %lld to %lld",
                           name ? name : "", (long long)begin, (long long)end);
    wick_state_part part = {.rank = rank, .begin = begin, .end = end};
    for (int d = 0; d < rank; d++) part.dims[d] = dims[d];
    return state(model, name, WICK_ROLE_OPTIM, dtype, 1, (const int64_t[]){end - begin}, &part, init);
}

wick_status wick_model_adopt(wick_model *model, const char *name, wick_role role, wick_tensor *x) {
    if (!model) return WICK_ERR_INVALID;
    wick_context *ctx = model->ctx;
    const char *bad = bad_name(name), *text;
    if (bad) return wick_context_fail(ctx, WICK_ERR_INVALID, "the name of a state %s", bad);
    if (role != WICK_ROLE_PARAM && role != WICK_ROLE_BUFFER)
        return wick_context_fail(ctx, WICK_ERR_INVALID, "state \"%s\": no such role: %d", name, (int)role);
    if (strlen(name) >= WICK_NAME_MAX)
        return wick_context_fail(ctx, WICK_ERR_INVALID, "the name of a state has at most %d bytes: \"%.64s...\"",
                                 WICK_NAME_MAX - 1, name);
    if (!x || wick_tensor_error(x, &text) != WICK_OK || !wick_tensor_ready(x))
        return wick_context_fail(ctx, WICK_ERR_INVALID, "state \"%s\": a state is made of a tensor that holds data",
                                 name);
    const uint64_t hash = wick_hash(name, strlen(name), 0);
    if (find(model, name, hash)) return wick_context_fail(ctx, WICK_ERR_INVALID, "state \"%s\" is there already", name);
    const char *kept = reserve(model) ? wick_arena_strdup(&model->names, name) : NULL;
    if (!kept) return wick_context_fail(ctx, WICK_ERR_NOMEM, "out of memory making state \"%s\"", name);
    add(model, kept, hash, role, x, NULL);
    return WICK_OK;
}

wick_status wick_model_replace(wick_model *model, const char *name, wick_tensor *x) {
    if (!model) return WICK_ERR_INVALID;
    wick_context *ctx = model->ctx;
    model_entry *e = name ? find(model, name, wick_hash(name, strlen(name), 0)) : NULL;
    if (!e || e->role == WICK_ROLE_OPTIM)
        return wick_context_fail(ctx, WICK_ERR_INVALID, "replace: the model has no parameter or buffer \"%s\"",
                                 name ? name : "");
    if (!x || wick_tensor_error(x, NULL) != WICK_OK || !wick_tensor_ready(x))
        return wick_context_fail(ctx, WICK_ERR_INVALID, "state \"%s\": a state is made of a tensor that holds data",
                                 name);
    model->numbers += wick_tensor_count(x) - wick_tensor_count(e->tensor);
    wick_tensor *old = e->tensor;
    e->tensor = wick_retain(x);
    wick_tensor_free(&old);
    return WICK_OK;
}

bool wick_model_remove(wick_model *model, const char *name) {
    model_entry *e = model && name ? find(model, name, wick_hash(name, strlen(name), 0)) : NULL;
    if (!e || e->role == WICK_ROLE_OPTIM) return false;
    const size_t at = (size_t)(e - model->entries);
    size_t n_aliases = 0;
    model->numbers -= wick_tensor_count(e->tensor);
    wick_tensor_free(&e->tensor);
    memmove(e, e + 1, (--model->n - at) * sizeof *e);
    for (size_t i = 0; i < model->n_aliases; i++) {
        model_alias a = model->aliases[i];
        if (a.entry == at) continue;
        a.entry -= a.entry > at;
        model->aliases[n_aliases++] = a;
    }
    model->n_aliases = n_aliases;
    memset(model->table, 0, model->slots * sizeof *model->table);
    for (size_t i = 0; i < model->n; i++) table_put(model->table, model->slots, model->entries[i].hash, i);
    return true;
}

/* What the model's rule says of the weights of a layer, [out, in, kernel ...]; a bias then starts at 0. */
static wick_init by_rule(wick_init_rule rule, int rank, const int64_t *dims) {
    if (rank < 2) return wick_init_constant(0);
    double kernel = 1;
    for (int i = 2; i < rank; i++) kernel *= (double)dims[i];
    return rule((int64_t)fmin((double)dims[1] * kernel, 0x1p62), (int64_t)fmin((double)dims[0] * kernel, 0x1p62));
}

/* init, or by the rule where there is one. */
static wick_status reinit(wick_model *model, const char *pattern, const wick_init *init, wick_init_rule rule) {
    wick_status status = WICK_OK;
    size_t found = 0;
    if (!model) return WICK_ERR_INVALID;
    wick_scope *scope = wick_scope_open(model->ctx);
    if (!scope) return wick_context_fail(model->ctx, WICK_ERR_NOMEM, "reinit: out of memory");
    for (size_t i = 0; i < model->n && pattern && status == WICK_OK; i++) {
        const model_entry *e = &model->entries[i];
        const wick_type *type = &e->tensor->value->type;
        if (e->role != WICK_ROLE_PARAM || !wick_glob(pattern, e->name) || (rule && type->rank < 2)) continue;
        const wick_init of = rule ? by_rule(rule, type->rank, type->dims) : *init;
        const char *text;
        const void *data;
        wick_tensor *value = wick_init_make(model->ctx, &of, e->name, type);
        status = wick_tensor_error(value, &text);
        if (status != WICK_OK) wick_context_fail(model->ctx, status, "reinit: %s", text);
        if (status == WICK_OK) status = wick_data(value, &data);
        if (status == WICK_OK) status = wick_write(e->tensor, data, wick_type_bytes(type));
        found++;
    }
    wick_scope_close(&scope);
    if (found || status != WICK_OK) return status;
    return wick_context_fail(model->ctx, WICK_ERR_INVALID, "reinit: no parameter%s matches \"%s\"",
                             rule ? " of two and more dims" : "", pattern ? pattern : "");
}
wick_status wick_model_reinit(wick_model *model, const char *pattern, wick_init init) {
    return reinit(model, pattern, &init, NULL);
}
wick_status wick_model_reinit_by(wick_model *model, const char *pattern, wick_init_rule rule) {
    return reinit(model, pattern, NULL, rule);
}

/* What a layer records while a function is compiled is recorded "at FILE:LINE LAYER", or "at layer LAYER" for callers
 * without lines, from its first state on until wick_layer_left. */
static void enter_layer(wick_model *m, const char *layer) {
    char name[2 * WICK_NAME_MAX];
    if (!m->inside || wick_site() != m->inside) m->outside = wick_site();
    snprintf(name, sizeof name, "%s%s", m->path, layer);
    m->inside = wick_site_of(m->ctx, m->outside || !m->ctx->frame->trace ? m->outside : "layer", name);
    wick_here(m->inside);
}
void wick_layer_left(wick_model *m) {
    if (m->inside && wick_site() == m->inside) wick_here(m->outside);
    m->inside = NULL;
}

wick_tensor *wick_layer_state(wick_model *model, const char *layer, const char *part, wick_role role, wick_dtype dtype,
                              int rank, const int64_t *dims, wick_init init) {
    char name[WICK_NAME_MAX + 32];
    if (!layer || !*layer) return wick_poison(model->ctx, WICK_ERR_INVALID, "the name of a layer is empty");
    if (strlen(layer) >= WICK_NAME_MAX)
        return wick_poison(model->ctx, WICK_ERR_INVALID, "the name of a layer is too long: \"%.64s...\"", layer);
    snprintf(name, sizeof name, "%s.%s", layer, part);
    enter_layer(model, layer);
    if (model->rule && init.kind != WICK_INIT_CONSTANT) init = by_rule(model->rule, rank, dims);
    return wick_model_state(model, name, role, dtype, rank, dims, init);
}

bool wick_model_is_frozen(const wick_model *model, const wick_tensor *state) {
    for (size_t i = 0; i < model->n && model->some_frozen; i++)
        if (model->entries[i].tensor == state) return model->entries[i].frozen;
    return false;
}

/* ---- paths ------------------------------------------------------------------------------------------------------- */

wick_status wick_model_push(wick_model *model, const char *name) {
    const char *bad = bad_name(name);
    if (bad) return wick_context_fail(model->ctx, WICK_ERR_INVALID, "the name to push %s", bad);
    const size_t len = strlen(name);
    if (model->depth == PUSH_MAX || len + 2 > sizeof model->path - model->path_len)
        return wick_context_fail(model->ctx, WICK_ERR_INVALID,
                                 "\"%s%.64s\": names nest %d deep and have %d bytes at most", model->path, name,
                                 PUSH_MAX, WICK_NAME_MAX - 1);
    model->pushed[model->depth++] = model->path_len;
    memcpy(model->path + model->path_len, name, len);
    model->path_len += len;
    memcpy(model->path + model->path_len++, ".", 2);
    return WICK_OK;
}

void wick_model_pop(wick_model *model) {
    if (!model->depth) return;
    model->path_len = model->pushed[--model->depth];
    model->path[model->path_len] = 0;
}
