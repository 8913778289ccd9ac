/* packed_weights.c: results of kept steps, outside of arenas. All workspaces of a plan share them, and so do all plans
 * that make the same of the same states: their steps, with arguments, are equal byte by byte, and so are the sources.
 * Steps that hand intermediates to each other make one pack, which holds all that they leave.
 *
 * A pack is made by the run that needs it first, and again when a state that it depends on has another version. No
 * other run can be reading the old one then. Readers of a state hold it, and who writes it holds it alone: every run
 * that began after the write sees the new version and waits for the new pack. */
#include "exec/exec.h"
#include "ops/lowering/steps.h"

typedef struct wick_pack {
    struct wick_pack *next;
    void *key; /* what is done to what; NULL: no other plan's */
    size_t n_key;
    uint64_t hash;
    char *data; /* NULL: nobody has run with it */
    size_t bytes;
    int plans;
    atomic_bool made;
    uint32_t n_leaves;
    _Atomic uint64_t versions[]; /* of the leaves that it was made from */
} wick_pack;

void wick_packed_weights_init(wick_packed_weights *p, const wick_allocator *alloc) {
    *p = (wick_packed_weights){.alloc = alloc};
    pthread_mutex_init(&p->list, NULL);
    pthread_mutex_init(&p->making, NULL);
}
void wick_packed_weights_free(wick_packed_weights *p) { /* plans have left */
    pthread_mutex_destroy(&p->list);
    pthread_mutex_destroy(&p->making);
}
size_t wick_packed_weights_bytes(wick_packed_weights *p) {
    pthread_mutex_lock(&p->list);
    const size_t bytes = p->bytes;
    pthread_mutex_unlock(&p->list);
    return bytes;
}

/* ---- finding them in a plan -------------------------------------------------------------------------------------- */

#define NONE UINT32_MAX

static uint32_t root_of(uint32_t *of, uint32_t b) {
    while (of[b] != b) b = of[b] = of[of[b]];
    return b;
}
/* The group of the step's intermediates; it has some. */
static uint32_t group_of(const wick_lower *l, uint32_t *of, const wick_step *s) {
    for (int k = 0; k < s->n_refs; k++)
        if (l->buffers[s->refs[k].buffer].kind == WICK_BUFFER_TEMP) return root_of(of, s->refs[k].buffer);
    return 0;
}

wick_status wick_packed_weights_find(wick_plan *plan, wick_lower *l, const bool *stays) {
    uint32_t *of = wick_arena_alloc(&plan->arena, (2 * l->n_buffers + 1) * sizeof *of),
             *number = of ? of + l->n_buffers : NULL, n = 0;
    if (!of) return wick_msg_set(l->msg, WICK_ERR_NOMEM, "out of memory while planning");
    for (uint32_t b = 0; b < l->n_buffers; b++) of[b] = b, number[b] = NONE;
    for (size_t i = 0; i < l->n_steps; i++) {
        const wick_step *s = &l->steps[i];
        for (int k = 0; s->kept && k < s->n_refs; k++)
            if (l->buffers[s->refs[k].buffer].kind == WICK_BUFFER_TEMP)
                of[root_of(of, s->refs[k].buffer)] = group_of(l, of, s);
    }
    for (uint32_t b = 0; b < l->n_buffers; b++)
        if (stays[b] && number[root_of(of, b)] == NONE) number[root_of(of, b)] = n++;
    plan->packings = wick_arena_zalloc(&plan->arena, (n + 1) * sizeof *plan->packings);
    if (!plan->packings) return wick_msg_set(l->msg, WICK_ERR_NOMEM, "out of memory while planning");
    plan->n_packings = n;
    for (size_t i = 0; i < l->n_steps; i++) {
        const uint32_t g = l->steps[i].kept ? number[group_of(l, of, &l->steps[i])] : NONE;
        if (g == NONE) continue; /* nobody reads what it gives */
        plan->packings[g].n_steps++;
        plan->packings[g].n_leaves += (uint32_t)l->steps[i].n_refs; /* at most */
    }
    for (uint32_t b = 0; b < l->n_buffers; b++)
        plan->packings[number[root_of(of, b)] == NONE ? n : number[root_of(of, b)]].n_buffers += stays[b];
    for (uint32_t g = 0; g < n; g++) {
        wick_packing *p = &plan->packings[g];
        p->steps = wick_arena_alloc(&plan->arena, p->n_steps * sizeof *p->steps);
        p->buffers = wick_arena_alloc(&plan->arena, p->n_buffers * sizeof *p->buffers);
        p->leaves = wick_arena_alloc(&plan->arena, p->n_leaves * sizeof *p->leaves);
        if (!p->steps || !p->buffers || !p->leaves)
            return wick_msg_set(l->msg, WICK_ERR_NOMEM, "out of memory while planning");
        p->n_steps = p->n_buffers = p->n_leaves = 0;
    }
    for (size_t i = 0; i < l->n_steps; i++) {
        const wick_step *s = &l->steps[i];
        const uint32_t g = s->kept ? number[group_of(l, of, s)] : NONE;
        if (g == NONE) continue;
        wick_packing *p = &plan->packings[g];
        p->steps[p->n_steps++] = (uint32_t)i;
        for (int k = 0; k < s->n_refs; k++) {
            const wick_buffer *b = &l->buffers[s->refs[k].buffer];
            uint32_t at = 0;
            while (b->kind == WICK_BUFFER_LEAF && at < p->n_leaves && p->leaves[at] != b->index) at++;
            if (b->kind == WICK_BUFFER_LEAF && at == p->n_leaves) p->leaves[p->n_leaves++] = b->index;
        }
    }
    for (uint32_t b = 0; b < l->n_buffers; b++) {
        if (!stays[b]) continue;
        wick_packing *p = &plan->packings[number[root_of(of, b)]];
        wick_buffer *at = &l->buffers[b];
        p->buffers[p->n_buffers++] = b;
        at->first = -1; /* it has no place in the arena, but one in the pack */
        at->offset = p->bytes;
        p->bytes += WICK_ALIGN_UP(WICK_MAX(at->size, 1), WICK_ALIGN);
    }
    return WICK_OK;
}

/* ---- what they are ----------------------------------------------------------------------------------------------- */

typedef struct writer {
    const wick_allocator *alloc;
    char *key;
    size_t n, cap;
} writer;
static bool put(writer *w, const void *data, size_t size) {
    if (w->n + size > w->cap && !wick_grow(w->alloc, (void **)&w->key, &w->cap, w->n + size, 1)) return false;
    if (size) memcpy(w->key + w->n, data, size);
    w->n += size;
    return true;
}

bool wick_step_says_all(const wick_step *s) {
    static const bool says[] = {[WICK_STEP_PACK] = true,    [WICK_STEP_INT8_PACK] = true,   [WICK_STEP_COPY] = true,
                                [WICK_STEP_PROGRAM] = true, [WICK_STEP_PROGRAM_END] = true, [WICK_STEP_JOIN] = true};
    return (size_t)s->kind < WICK_COUNTOF(says) && says[s->kind];
}

/* Writes the key of some steps, in order, each with all that its result depends on. Buffers are named by their order of
 * appearance, states by their identity. *all is false where a step's kind does not say what it depends on. */
static bool write_key(writer *w, const wick_plan *plan, const wick_packing *p, bool *all) {
    enum { MOST = 64 };
    uint32_t seen[MOST], n_seen = 0;
    *all = true;
    for (uint32_t i = 0; i < p->n_steps; i++) {
        const wick_step *s = &plan->steps[p->steps[i]];
        const uint64_t head[4] = {(uint64_t)(uintptr_t)s->run, (uint64_t)s->tasks, s->args_size, (uint64_t)s->n_refs};
        if (!(*all &= wick_step_says_all(s))) return true;
        if (!put(w, head, sizeof head) || !put(w, s->args, s->args_size)) return false;
        for (int k = 0; k < s->n_refs; k++) {
            const wick_ref *r = &s->refs[k];
            const wick_buffer *b = &plan->buffers[r->buffer];
            uint64_t id = 0;
            if (b->kind == WICK_BUFFER_LEAF) {
                const wick_binding *of = &plan->bindings[b->index];
                id = of->state ? (uint64_t)(uintptr_t)of->state : (uint64_t)(uintptr_t)of->array;
            } else if (b->kind == WICK_BUFFER_TEMP) {
                while (id < n_seen && seen[id] != r->buffer) id++;
                if (id == MOST) return *all = false, true;
                if (id == n_seen) seen[n_seen++] = r->buffer;
            }
            const uint64_t about[6] = {
                (uint64_t)b->kind, r->write, (uint64_t)r->offset,
                b->size,           id,       b->kind == WICK_BUFFER_TEMP && b->first < 0 ? b->offset + 1 : 0};
            if (!put(w, about, sizeof about) || (b->kind == WICK_BUFFER_CONST && !put(w, b->data, b->size)))
                return false;
        }
    }
    return true;
}

static wick_status join(wick_plan *plan, wick_packing *p, writer *w) {
    wick_packed_weights *packs = plan->packs;
    bool all;
    w->n = 0;
    if (!write_key(w, plan, p, &all)) return WICK_ERR_NOMEM;
    const uint64_t hash = all ? wick_hash(w->key, w->n, 0) : 0;
    wick_pack *of = all ? packs->first : NULL;
    while (of && !(of->key && of->hash == hash && of->n_key == w->n && !memcmp(of->key, w->key, w->n))) of = of->next;
    if (!of) {
        const size_t size = sizeof *of + p->n_leaves * sizeof *of->versions;
        if (!(of = wick_calloc(packs->alloc, size))) return WICK_ERR_NOMEM;
        of->n_leaves = p->n_leaves;
        of->bytes = p->bytes;
        if (all) {
            if (!(of->key = wick_alloc(packs->alloc, w->n)))
                return wick_release(packs->alloc, of, size), WICK_ERR_NOMEM;
            memcpy(of->key, w->key, of->n_key = w->n);
            of->hash = hash;
        }
        of->next = packs->first;
        packs->first = of;
    }
    of->plans++;
    p->pack = of;
    return WICK_OK;
}

wick_status wick_packed_weights_join(wick_plan *plan) {
    if (!plan->n_packings) return WICK_OK;
    writer w = {.alloc = plan->packs->alloc};
    wick_status status = WICK_OK;
    pthread_mutex_lock(&plan->packs->list);
    for (uint32_t g = 0; g < plan->n_packings && status == WICK_OK; g++) status = join(plan, &plan->packings[g], &w);
    pthread_mutex_unlock(&plan->packs->list);
    wick_release(w.alloc, w.key, w.cap);
    return status;
}

void wick_packed_weights_leave(wick_plan *plan) {
    wick_packed_weights *packs = plan->packs;
    if (!plan->n_packings) return;
    pthread_mutex_lock(&packs->list);
    for (uint32_t g = 0; g < plan->n_packings; g++) {
        wick_pack *of = plan->packings[g].pack, **at = &packs->first;
        if (!of || --of->plans) continue;
        while (*at != of) at = &(*at)->next;
        *at = of->next;
        if (of->data) packs->bytes -= of->bytes;
        wick_release(packs->alloc, of->data, of->bytes);
        wick_release(packs->alloc, of->key, of->n_key);
        wick_release(packs->alloc, of, sizeof *of + of->n_leaves * sizeof *of->versions);
    }
    pthread_mutex_unlock(&packs->list);
}

size_t wick_packed_weights_own(const wick_plan *plan) {
    size_t bytes = 0;
    if (!plan->n_packings) return 0;
    pthread_mutex_lock(&plan->packs->list);
    for (uint32_t g = 0; g < plan->n_packings; g++)
        bytes += plan->packings[g].pack->plans == 1 ? plan->packings[g].bytes : 0;
    pthread_mutex_unlock(&plan->packs->list);
    return bytes;
}

/* ---- running with them ------------------------------------------------------------------------------------------- */

bool wick_packed_weights_place(const wick_plan *plan, char **base) {
    wick_packed_weights *packs = plan->packs;
    bool good = true;
    if (!plan->n_packings) return true;
    pthread_mutex_lock(&packs->list);
    for (uint32_t g = 0; g < plan->n_packings && good; g++) {
        const wick_packing *p = &plan->packings[g];
        const wick_tag was = wick_tag_set(WICK_TAG_PACKS);
        if (!p->pack->data && (p->pack->data = wick_alloc(packs->alloc, p->bytes))) packs->bytes += p->bytes;
        wick_tag_set(was);
        good = p->pack->data != NULL;
        for (uint32_t k = 0; k < p->n_buffers && good; k++)
            base[p->buffers[k]] = p->pack->data + plan->buffers[p->buffers[k]].offset;
    }
    pthread_mutex_unlock(&packs->list);
    return good;
}

/* The versions last: whoever finds them there finds what was made of them. */
static bool is_made(const wick_packing *p, const uint64_t *versions) {
    bool made = atomic_load_explicit(&p->pack->made, memory_order_acquire);
    for (uint32_t k = 0; k < p->n_leaves; k++) {
        const uint64_t version = versions[p->leaves[k]];
        made = made && version && atomic_load_explicit(&p->pack->versions[k], memory_order_acquire) == version;
    }
    return made;
}

wick_status wick_packed_weights_make(wick_execution *e, wick_status (*run)(wick_execution *e, size_t step),
                                     bool *locked) {
    const wick_plan *plan = e->plan;
    wick_status status = WICK_OK;
    uint32_t g = 0;
    *locked = false;
    while (g < plan->n_packings && is_made(&plan->packings[g], e->versions)) g++;
    if (g == plan->n_packings) return WICK_OK;
    pthread_mutex_lock(&plan->packs->making);
    for (; g < plan->n_packings && status == WICK_OK; g++) {
        const wick_packing *p = &plan->packings[g];
        if (is_made(p, e->versions)) continue;
        atomic_store(&p->pack->made, false);
        for (uint32_t i = 0; i < p->n_steps && status == WICK_OK; i++) status = run(e, p->steps[i]);
        for (uint32_t k = 0; k < p->n_leaves && status == WICK_OK; k++) {
            atomic_store_explicit(&p->pack->versions[k], e->versions[p->leaves[k]], memory_order_release);
            *locked |= !e->versions[p->leaves[k]]; /* memory that may change at any time: it is this run's alone */
        }
        if (status == WICK_OK) atomic_store(&p->pack->made, true);
    }
    if (!*locked) pthread_mutex_unlock(&plan->packs->making);
    return status;
}
void wick_packed_weights_done(const wick_plan *plan) { pthread_mutex_unlock(&plan->packs->making); }
