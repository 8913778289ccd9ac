/* plan.c: plans as files of C: what is known already is computed, weights that kernels would pack are left as they
 * are, memory is laid out anew for the steps that are left, and aot.c prints them. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <strings.h>
#include <sys/stat.h>

#include "codegen/expr_c.h"
#include "aot/plan.h"

enum { MOST_NAME = 64 };

wick_status wick_c_no_memory(wick_c_writing *w) {
    return wick_msg_set(w->msg, WICK_ERR_NOMEM, "out of memory writing C");
}

/* ---- names ------------------------------------------------------------------------------------------------------- */

static bool is_identifier(const char *name) {
    bool good = *name && !isdigit((unsigned char)*name);
    for (const char *p = name; *p; p++) good &= (isalnum((unsigned char)*p) && (unsigned char)*p < 128) || *p == '_';
    return good && strlen(name) < MOST_NAME;
}

/* Words that the file has for itself. */
static bool is_taken(const wick_c_writing *w, const char *name, int before) {
    static const char *const words[] = {
        "arena",  "weights",  "bytes",    "auto",     "break",    "case",     "char",   "const",  "continue", "default",
        "do",     "double",   "else",     "enum",     "extern",   "float",    "for",    "goto",   "if",       "inline",
        "int",    "long",     "register", "restrict", "return",   "short",    "signed", "sizeof", "static",   "struct",
        "switch", "typedef",  "union",    "unsigned", "void",     "volatile", "while",  "asm",    "memcpy",   "KEEP",
        "NAN",    "INFINITY", "vec",      "vec_at",   "vec_bits", "ALL",      "FUSED"};

    for (size_t i = 0; i < WICK_COUNTOF(words); i++)
        if (strcmp(name, words[i]) == 0) return true;
    for (int i = 0; i < before; i++)
        if (strcasecmp(name, w->ports[i].name) == 0) return true; /* macros have them in capitals */
    /* w0, s0, conv_1: constants, states and functions */
    const size_t n = strlen(name), digits = strspn(name + strcspn(name, "0123456789"), "0123456789");
    const bool numbered = digits && n == strcspn(name, "0123456789") + digits;
    return numbered && (name[0] == 'w' || (name[0] == 's' && n == digits + 1) || strchr(name, '_'));
}

static wick_status name_port(wick_c_writing *w, int i, const char *wanted, const char *fallback, int number) {
    char name[MOST_NAME], text[MOST_NAME];
    size_t n = 0;
    for (const char *p = wanted ? wanted : ""; *p && n < sizeof name - 8; p++)
        name[n++] = isalnum((unsigned char)*p) && (unsigned char)*p < 128 ? *p : '_';
    name[n] = 0;
    if (!n) snprintf(name, sizeof name, "%s%d", fallback, number);
    if (isdigit((unsigned char)name[0])) {
        snprintf(text, sizeof text, "_%.60s", name);
        memcpy(name, text + 0, sizeof name);
    }
    for (int k = 2; is_taken(w, name, i); k++) {
        snprintf(text, sizeof text, "%.50s_%c", name, 'a' + k % 26);
        memcpy(name, text, sizeof name);
    }
    return (w->ports[i].name = wick_arena_strdup(&w->arena, name)) ? WICK_OK : wick_c_no_memory(w);
}

/* ---- what is known ----------------------------------------------------------------------------------------------- */

/* What the plan assigns is to be named, and to stay. */
static wick_status find_states(wick_c_writing *w, const wick_plan *p) {
    for (size_t i = 0; i < p->n_leaves; i++) {
        const wick_tensor *state = p->bindings[i].state;
        int known = 0;
        if (!p->bindings[i].assigned) continue;
        while (known < w->n_named && w->named[known].tensor != state) known++;
        if (known == w->n_named)
            return wick_msg_set(w->msg, WICK_ERR_UNSUPPORTED,
                                "a plan that assigns states which the options don't name cannot be written as C");
        w->state_of[known] = state;
    }
    return WICK_OK;
}

/* Only those that a plan assigns, in the order of their names. */
static wick_status make_states(wick_c_writing *w, int *n_params, int *rate, const wick_tensor *rate_of) {
    *n_params = 0;
    *rate = -1;
    for (int i = 0; i < w->n_named; i++) {
        const wick_tensor *state = w->named[i].tensor;
        const wick_array *array = state->value ? state->value->array : NULL;
        if (!w->state_of[i] && state != rate_of) continue;
        const wick_type *type = &state->value->type;
        if (!array)
            return wick_msg_set(w->msg, WICK_ERR_INVALID, "%s has no value: it has a pending assignment",
                                w->named[i].name);
        if (!wick_layout_is_contiguous(&array->layout, type) || !wick_c_memory((wick_dtype)type->dtype))
            return wick_msg_set(w->msg, WICK_ERR_UNSUPPORTED, "%s cannot be written as C: it lies strided, or is of %s",
                                w->named[i].name, wick_dtype_name((wick_dtype)type->dtype));
        if (state == rate_of) *rate = w->n_states;
        *n_params += w->named[i].param;
        w->states[w->n_states] =
            (wick_c_variable){.name = w->named[i].name, .type = *type, .data = wick_array_data(array, type)};
        w->state_of[w->n_states++] = state;
    }
    if (*rate >= 0 && (w->states[*rate].type.dtype != WICK_F64 || w->states[*rate].type.rank))
        return wick_msg_set(w->msg, WICK_ERR_INVALID, "the rate must be one f64");
    return WICK_OK;
}

/* What a function's random numbers come from, or -1: a seed, and how often it ran, as a workspace counts it. */
static wick_status make_random(wick_c_writing *w, const wick_c_entry *e, int *number) {
    *number = -1;
    const wick_step_random *first = NULL;
    for (size_t i = 0; i < e->plan->n_lowered && !first; i++)
        if (e->plan->lowered[i].kind == WICK_STEP_RANDOM) first = e->plan->lowered[i].args;
    if (!first) return WICK_OK;
    char *name = wick_arena_alloc(&w->arena, strlen(e->verb) + sizeof ".random");
    uint64_t *data = wick_arena_zalloc(&w->arena, 2 * sizeof *data);
    if (!name || !data) return wick_c_no_memory(w);
    sprintf(name, "%s.random", e->verb);
    data[0] = first->seed;
    *number = w->n_states++;
    w->states[*number] =
        (wick_c_variable){.name = name, .type = {.dtype = WICK_U64, .rank = 1, .dims = {2}}, .data = data};
    return WICK_OK;
}

/* What steps use as they were lowered: the plan's own may have become fewer. */
static wick_status place_buffers(wick_c_writing *w) {
    const wick_plan *p = w->plan;
    bool *used = wick_arena_zalloc(&w->arena, p->n_buffers + 1);
    if (!used) return wick_c_no_memory(w);
    for (size_t i = 0; i < p->n_lowered; i++)
        for (int k = 0; k < p->lowered[i].n_refs; k++) used[p->lowered[i].refs[k].buffer] = true;
    for (size_t i = 0; i < p->n_buffers; i++) {
        const wick_buffer *b = &p->buffers[i];
        wick_c_buffer *c = &w->buffers[i];
        *c = (wick_c_buffer){.size = b->size, .index = b->index};
        if (!used[i]) continue;
        switch (b->kind) {
        case WICK_BUFFER_TEMP:
            c->place = WICK_C_ARENA;
            break;
        case WICK_BUFFER_OUTPUT:
            c->place = WICK_C_OUTPUT;
            break;
        case WICK_BUFFER_CONST:
        case WICK_BUFFER_SLOT:
            c->place = WICK_C_DATA;
            c->data = b->kind == WICK_BUFFER_CONST ? b->data : (const void *)p->slots[b->index];
            /* the data are of other runs, but for the stream */
            if (b->kind == WICK_BUFFER_SLOT && p->slot_is_random[b->index]) c->place = WICK_C_NOWHERE;
            break;
        case WICK_BUFFER_LEAF: {
            const wick_binding *leaf = &p->bindings[b->index];
            const wick_array *array = leaf->state ? leaf->state->value ? leaf->state->value->array : NULL : leaf->array;
            if (leaf->input >= 0) {
                c->place = WICK_C_INPUT;
                c->index = (uint32_t)leaf->input;
                break;
            }
            for (int k = 0; leaf->state && k < w->n_states; k++)
                if (w->state_of[k] == leaf->state) c->place = WICK_C_STATE, c->index = (uint32_t)k;
            if (c->place == WICK_C_STATE) break;
            if (!array)
                return wick_msg_set(w->msg, WICK_ERR_INVALID,
                                    "a captured tensor has no value: it has a pending assignment, or was freed");
            if (!wick_layout_is_contiguous(&array->layout, &leaf->type))
                return wick_msg_set(w->msg, WICK_ERR_UNSUPPORTED, "weights that lie strided cannot be written as C");
            c->place = WICK_C_DATA;
            c->data = wick_array_data(array, &leaf->type);
            break;
        }
        }
    }
    return WICK_OK;
}

/* Finds steps that depend on nothing but constants and weights, and are printed otherwise; bytes of scratch of each. */
static bool find_folded(wick_c_writing *w, size_t *scratch) {
    const wick_plan *p = w->plan;
    bool *known = wick_arena_zalloc(&w->arena, p->n_buffers + 1);
    if (!known) return false;
    for (size_t i = 0; i < p->n_buffers; i++)
        known[i] = w->buffers[i].place == WICK_C_DATA || w->buffers[i].place == WICK_C_ARENA;
    for (size_t i = 0; i < p->n_lowered; i++)
        w->folded[i] = wick_c_is_printed(&p->lowered[i]) && !wick_c_step_printer_of(&p->lowered[i])->packs;
    if (!wick_constant_steps(&w->arena, p->lowered, p->n_lowered, p->n_buffers, known, w->folded)) return false;
    *scratch = 0;
    for (size_t i = 0; i < p->n_lowered; i++)
        if (w->folded[i]) *scratch = WICK_MAX(*scratch, p->lowered[i].scratch);
    return true;
}

/* A folded step makes what an earlier one made, since many nodes use a weight: it is the same bytes. */
static bool is_made(wick_c_writing *w, const wick_step *s) {
    if (!w->plan->same_as) return false;
    for (int k = 0; k < s->n_refs; k++) {
        const uint32_t into = s->refs[k].buffer, from = w->plan->same_as[into];
        if (!s->refs[k].write || from == into || w->buffers[from].place != WICK_C_DATA) continue;
        w->buffers[into].place = WICK_C_DATA;
        w->buffers[into].data = w->buffers[from].data;
        return true;
    }
    return false;
}

/* Runs the steps that give the same each time. */
static wick_status fold(wick_c_writing *w) {
    const wick_plan *p = w->plan;
    size_t bytes;
    char *scratch = find_folded(w, &bytes) ? wick_arena_alloc(&w->arena, bytes + 2 * WICK_ALIGN) : NULL;
    if (!scratch) return wick_c_no_memory(w);
    scratch += (WICK_ALIGN - (uintptr_t)scratch % WICK_ALIGN) % WICK_ALIGN;
    for (size_t i = 0; i < p->n_lowered; i++) {
        const wick_step *s = &p->lowered[i];
        if (!w->folded[i]) continue;
        w->n_folded++;
        if (is_made(w, s)) continue;
        void *ptr[WICK_STEP_BUFFERS];
        for (int k = 0; k < s->n_refs; k++) {
            wick_c_buffer *b = &w->buffers[s->refs[k].buffer];
            if (b->place == WICK_C_ARENA) {
                char *data = wick_arena_zalloc(&w->arena, b->size + 2 * WICK_ALIGN);
                if (!data) return wick_c_no_memory(w);
                b->data = data + (WICK_ALIGN - (uintptr_t)data % WICK_ALIGN) % WICK_ALIGN;
                b->place = WICK_C_DATA;
            }
            ptr[k] = (char *)(uintptr_t)b->data + s->refs[k].offset;
        }
        const uint64_t word = wick_fp_enter();
        s->run(s->args, ptr, 0, s->tasks, scratch);
        wick_fp_restore(word);
    }
    return WICK_OK;
}

/* The step with a ref of so many bytes of the arena behind its own; NULL: out of memory. */
static const wick_step *with_scratch(wick_c_writing *w, wick_lower *l, const wick_step *s, size_t bytes) {
    wick_step *copy = wick_arena_alloc(&w->arena, sizeof *copy);
    wick_ref *refs = wick_arena_zalloc(&w->arena, ((size_t)s->n_refs + 1) * sizeof *refs);
    if (!copy || !refs) return NULL;
    *copy = *s;
    memcpy(refs, s->refs, (size_t)s->n_refs * sizeof *refs);
    refs[s->n_refs] = (wick_ref){.buffer = (uint32_t)l->n_buffers, .write = true};
    copy->refs = refs;
    copy->n_refs++;
    w->buffers[l->n_buffers] = (wick_c_buffer){.place = WICK_C_ARENA, .size = bytes};
    l->buffers[l->n_buffers++] = (wick_buffer){.kind = WICK_BUFFER_TEMP, .size = bytes, .first = -1, .last = -1};
    return copy;
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

/* The steps that are left, and an arena for them alone. */
static wick_status lay_out(wick_c_writing *w) {
    const wick_plan *p = w->plan;
    wick_lower l = {.ctx = p->ctx, .msg = w->msg, .n_buffers = p->n_buffers};
    l.buffers = wick_arena_alloc(&w->arena, (p->n_buffers + p->n_lowered + 1) * sizeof *l.buffers);
    l.steps = wick_arena_zalloc(&w->arena, (p->n_lowered + 1) * sizeof *l.steps);
    w->steps = wick_arena_alloc(&w->arena, (p->n_lowered + 1) * sizeof *w->steps);
    if (!l.buffers || !l.steps || !w->steps) return wick_c_no_memory(w);
    if (p->n_buffers) memcpy(l.buffers, p->buffers, p->n_buffers * sizeof *l.buffers);
    for (size_t i = 0; i < p->n_buffers; i++) {
        l.buffers[i].first = l.buffers[i].last = -1;
        if (w->buffers[i].place == WICK_C_ARENA) l.buffers[i].size = w->buffers[i].size;
    }
    for (size_t i = 0; i < p->n_lowered; i++) {
        const wick_step *s = wick_c_step_at(w, i);
        if (w->folded[i] || !wick_c_is_printed(s)) continue;
        const wick_c_step_printer *kind = wick_c_step_printer_of(s);
        const size_t own = kind->own_scratch ? kind->own_scratch(s, w->buffers, w->pairs) : 0;
        if (own) s = with_scratch(w, &l, s, own);
        if (!s) return wick_c_no_memory(w);
        for (int k = 0; k < s->n_refs; k++) {
            wick_buffer *b = &l.buffers[s->refs[k].buffer];
            const bool shared = kind->shares && kind->shares(s, k);
            /* nothing is laid out for it */
            if (kind->packed && kind->packed(s) == k && b->first < 0) continue;
            if ((shared && !wick_c_scratch(s, w->buffers, w->isa)) ||
                w->buffers[s->refs[k].buffer].place != WICK_C_ARENA)
                continue;
            if (b->first < 0) b->first = (int32_t)w->n_steps;
            b->last = (int32_t)w->n_steps;
            if (shared) b->size = wick_c_scratch(s, w->buffers, w->isa);
        }
        w->steps[w->n_steps++] = s;
    }
    l.n_steps = w->n_steps;
    size_t live;
    WICK_TRY(wick_plan_memory(&l, &w->arena_bytes, &live));
    for (size_t i = 0; i < l.n_buffers; i++)
        if (w->buffers[i].place == WICK_C_ARENA) w->buffers[i].offset = l.buffers[i].offset;
    return WICK_OK;
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

static wick_status write_file(wick_c_writing *w, const char *folder, const char *name, const char *end,
                              const wick_text *text) {
    char *path = wick_arena_alloc(&w->arena, strlen(folder) + strlen(name) + strlen(end) + 2);
    wick_writer *file;
    if (!path) return wick_c_no_memory(w);
    sprintf(path, "%s/%s%s", folder, name, end);
    WICK_TRY(wick_writer_open(&file, path, w->msg));
    const wick_status status = text->len ? wick_writer_write(file, text->at, text->len, w->msg) : WICK_OK;
    if (status == WICK_OK) return wick_writer_commit(&file, w->msg);
    wick_writer_abort(&file);
    return status;
}

static wick_status write_files(wick_c_writing *w, const char *folder, const wick_c_model *m, const wick_c_text *text) {
    if (!folder) return wick_msg_set(w->msg, WICK_ERR_INVALID, "the folder is NULL");
    if (mkdir(folder, 0777) != 0 && errno != EEXIST)
        return wick_msg_set(w->msg, WICK_ERR_IO, "%s: cannot make the folder: %s", folder, strerror(errno));
    if (m->weights_apart) WICK_TRY(write_file(w, folder, m->name, ".bin", &text->weights));
    WICK_TRY(write_file(w, folder, m->name, ".c", &text->source));
    return write_file(w, folder, m->name, ".h", &text->header);
}

/* Buffers, ports and steps of one function. */
static wick_status make_function(wick_c_writing *w, const wick_c_entry *e, wick_c_function *f) {
    const wick_plan *p = e->plan;
    w->plan = p;
    w->entry = e;
    w->n_steps = 0;
    /* and what steps need besides */
    w->buffers = wick_arena_zalloc(&w->arena, (p->n_buffers + p->n_lowered + 1) * sizeof *w->buffers);
    w->folded = wick_arena_zalloc(&w->arena, p->n_lowered + 1);
    w->changed = wick_arena_zalloc(&w->arena, (p->n_lowered + 1) * sizeof *w->changed);
    w->ports = wick_arena_zalloc(&w->arena, (size_t)(p->n_in + p->n_out + 1) * sizeof *w->ports);
    if (!w->buffers || !w->folded || !w->changed || !w->ports) return wick_c_no_memory(w);
    for (int i = 0; i < p->n_in; i++) WICK_TRY(name_port(w, i, e->inputs ? e->inputs[i] : NULL, "in", i));
    for (int i = 0; i < p->n_out; i++) WICK_TRY(name_port(w, p->n_in + i, e->outputs ? e->outputs[i] : NULL, "out", i));
    for (int i = 0; i < p->n_out; i++) w->ports[p->n_in + i].type = p->graph->outputs[i]->type;
    for (size_t i = 0; i < p->n_leaves; i++)
        if (p->bindings[i].input >= 0) w->ports[p->bindings[i].input].type = p->bindings[i].type;
    for (int i = 0; i < p->n_in + p->n_out; i++)
        if (!wick_c_memory((wick_dtype)w->ports[i].type.dtype))
            return wick_msg_set(w->msg, WICK_ERR_UNSUPPORTED, "%s: elements of %s are not written as C yet",
                                w->ports[i].name, wick_dtype_name((wick_dtype)w->ports[i].type.dtype));
    const size_t most = w->arena_bytes;
    WICK_TRY(place_buffers(w));
    WICK_TRY(fold(w));
    WICK_TRY(wick_c_convert_in_place(w));
    WICK_TRY(lay_out(w));
    w->arena_bytes = WICK_MAX(w->arena_bytes, most);
    *f = (wick_c_function){.verb = e->verb,
                           .steps = w->steps,
                           .n_steps = w->n_steps,
                           .buffers = w->buffers,
                           .in = w->ports,
                           .out = w->ports + p->n_in,
                           .n_in = p->n_in,
                           .n_out = p->n_out};
    return WICK_OK;
}

static wick_status find_variant(wick_c_writing *w, const char *isa) {
    const char *tier = wick_tier_name(wick_tier_current());
    w->pairs = isa && strcmp(isa, "cortex-m") == 0;
    if (!isa || w->pairs) return WICK_OK;
    w->isa = strcmp(isa, "avx512") == 0 ? WICK_C_AVX512 : strcmp(isa, "avx2") == 0 ? WICK_C_AVX2 : WICK_C_PLAIN;
    if (!w->isa)
        return wick_msg_set(w->msg, WICK_ERR_INVALID, "there is no variant of C for \"%s\": avx2, avx512 and cortex-m",
                            isa);
    if (strcmp(isa, tier) != 0)
        return wick_msg_set(w->msg, WICK_ERR_INVALID, "the plan is for tier %s, and not for %s, whose C was asked for",
                            tier, isa);
    return WICK_OK;
}

static wick_status write_c(wick_c_writing *w, int n, const wick_c_entry *entries, const char *folder,
                           const wick_c_options *o, wick_c_info *info) {
    const char *name = o->name ? o->name : "model";
    if (!is_identifier(name))
        return wick_msg_set(w->msg, WICK_ERR_INVALID,
                            "\"%s\" is no name for functions in C: letters, digits and _, at most %d", name,
                            MOST_NAME - 1);
    if (o->lanes < 0 || o->lanes > 64) return wick_msg_set(w->msg, WICK_ERR_INVALID, "%d lanes: 1 to 64", o->lanes);
    wick_c_function *functions = wick_arena_zalloc(&w->arena, (size_t)n * sizeof *functions);
    w->named = o->states;
    w->n_named = o->n_states;
    w->states = wick_arena_zalloc(&w->arena, (size_t)(w->n_named + n) * sizeof *w->states);
    w->state_of = wick_arena_zalloc(&w->arena, (size_t)(w->n_named + n) * sizeof *w->state_of);
    if (!functions || !w->states || !w->state_of) return wick_c_no_memory(w);
    int kernels = 0;
    wick_c_model m = {
        .name = name,
        .title = o->title ? o->title : name,
        .functions = functions,
        .n_functions = n,
        .states = w->states,
        .lanes = o->lanes ? o->lanes : 8,
        .weights_apart = o->weights_apart,
#ifdef __aarch64__
        .fused = true, /* as the base tier there */
#endif
    };
    WICK_TRY(find_variant(w, o->isa));
    m.pairs = w->pairs;
    m.isa = w->isa;
    m.fused = m.fused || w->isa;
    for (int i = 0; i < n; i++) {
        static const char *const taken[] = {"save", "load", "state", "states", "set_rate"};
        const char *verb = entries[i].verb;
        bool good = verb && is_identifier(verb);
        for (size_t k = 0; k < WICK_COUNTOF(taken) && good; k++) good = strcmp(verb, taken[k]) != 0;
        for (int k = 0; k < i && good; k++) good = strcmp(verb, entries[k].verb) != 0;
        if (!good)
            return wick_msg_set(w->msg, WICK_ERR_INVALID, "\"%s\" is no name for one of the functions",
                                verb ? verb : "");
        WICK_TRY(find_states(w, entries[i].plan));
    }
    WICK_TRY(make_states(w, &m.n_params, &m.rate, o->rate));
    int *random = wick_arena_zalloc(&w->arena, (size_t)n * sizeof *random);
    if (!random) return wick_c_no_memory(w);
    for (int i = 0; i < n; i++) WICK_TRY(make_random(w, &entries[i], &random[i]));
    m.n_states = w->n_states;
    for (int i = 0; i < n; i++) {
        WICK_TRY(make_function(w, &entries[i], &functions[i]));
        functions[i].random = random[i];
        for (size_t k = 0; k < functions[i].n_steps; k++)
            kernels += wick_c_prints(functions[i].steps[k], functions[i].buffers, w->isa);
    }
    m.arena_bytes = w->arena_bytes;
    wick_c_text text;
    WICK_TRY(wick_c_print(&m, &text, w->msg));
    const wick_status status = write_files(w, folder, &m, &text);
    size_t state_bytes = 0;
    for (int i = 0; i < w->n_states; i++) state_bytes += wick_type_bytes(&w->states[i].type);
    if (status == WICK_OK && info)
        *info = (wick_c_info){.kernels = kernels,
                              .folded = w->n_folded,
                              .const_bytes = text.const_bytes,
                              .arena_bytes = w->arena_bytes,
                              .state_bytes = state_bytes,
                              .source_bytes = text.source.len};
    wick_c_text_free(&text);
    return status;
}

wick_status wick_plans_write_c(int n, const wick_c_entry *entries, const char *folder, const wick_c_options *options,
                               wick_c_info *info) {
    static const wick_c_options plain;
    if (info) *info = (wick_c_info){0};
    if (n < 1 || !entries || !entries[0].plan) return WICK_ERR_INVALID;
    const wick_plan *plan = entries[0].plan;
    wick_c_writing w = {.msg = &plan->ctx->msg};
    for (int i = 1; i < n; i++)
        if (!entries[i].plan || entries[i].plan->ctx != plan->ctx)
            return wick_msg_set(w.msg, WICK_ERR_INVALID, "the plans to be written as C must be of one context");
    wick_arena_init(&w.arena, &plan->alloc, 64 * 1024);
    const wick_status status = write_c(&w, n, entries, folder, options ? options : &plain, info);
    wick_arena_free(&w.arena);
    return status;
}

wick_status wick_plan_write_c(const wick_plan *plan, const char *folder, const wick_c_options *options,
                              wick_c_info *info) {
    return wick_plans_write_c(1,
                              &(wick_c_entry){.plan = plan,
                                              .verb = "run",
                                              .inputs = options ? options->inputs : NULL,
                                              .outputs = options ? options->outputs : NULL},
                              folder, options, info);
}
