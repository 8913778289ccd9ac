/* kernels.c: what is known of a plan's steps before they run, as rows that their times go to. A kernel that computes
 * several ops, or takes others along, has a part for each, by the cost model. */
#include "ops/lowering/cost.h"
#include "ops/ops.h"
#include "profile/profile.h"

#include <ctype.h>
#include <stdio.h>

/* Twice as many places as texts: open addressing. */
static bool make_room(wick_profile *p) {
    if (2 * (p->n_texts + 1) <= p->text_slots) return true;
    const size_t slots = p->text_slots ? 2 * p->text_slots : 256;
    const char **texts = wick_calloc(&p->alloc, slots * sizeof *texts);
    if (!texts) return false;
    for (size_t i = 0; i < p->text_slots; i++) {
        if (!p->texts[i]) continue;
        size_t at = wick_hash(p->texts[i], strlen(p->texts[i]), 0) & (slots - 1);
        while (texts[at]) at = (at + 1) & (slots - 1);
        texts[at] = p->texts[i];
    }
    wick_release(&p->alloc, p->texts, p->text_slots * sizeof *texts);
    p->texts = texts;
    p->text_slots = slots;
    return true;
}

const char *profile_intern(wick_profile *p, const char *text, size_t n) {
    if (!make_room(p)) return "";
    size_t at = wick_hash(text, n, 0) & (p->text_slots - 1);
    for (; p->texts[at]; at = (at + 1) & (p->text_slots - 1))
        if (strncmp(p->texts[at], text, n) == 0 && !p->texts[at][n]) return p->texts[at];
    char *copy = wick_arena_alloc(&p->arena, n + 1);
    if (!copy) return "";
    memcpy(copy, text, n);
    copy[n] = 0;
    p->n_texts++;
    return p->texts[at] = copy;
}

/* Of an ONNX file's node, "net.onnx: Conv \"block/conv1\"": its name where that says something by itself, else "Conv
 * 251", or "Conv". */
static const char *read_node(wick_profile *p, const char *site) {
    const char *colon = strstr(site, ": "), *open = colon ? strchr(colon, '"') : NULL,
               *end = open ? strrchr(open, '"') : NULL;
    if (!colon || (open && end <= open)) return NULL;
    if (!open) return profile_intern(p, colon + 2, strlen(colon + 2));
    const size_t n = (size_t)(end - open - 1);
    if (memchr(open + 1, '/', n) || memchr(open + 1, '.', n)) return profile_intern(p, open + 1, n);
    char text[256];
    wick_str s = wick_str_on(text, sizeof text);
    wick_str_add(&s, "%.*s%.*s", (int)(open - colon - 2), colon + 2, (int)n, open + 1);
    return profile_intern(p, text, s.len);
}

/* "net.c:12 conv1" has both; a place without a line is a layer's name. */
static void read_site(wick_profile *p, const char *site, const char **layer, const char **line) {
    *layer = *line = "";
    if (!site) return;
    const char *blank = strchr(site, ' '), *colon = NULL;
    for (const char *at = site; *at && (!blank || at < blank); at++)
        if (*at == ':') colon = at;
    const bool numbered = colon && isdigit((unsigned char)colon[1]);
    const size_t length = numbered && blank ? (size_t)(blank - site) : strlen(site);
    if (numbered) *line = profile_intern(p, site, length);
    if (numbered && blank) *layer = profile_intern(p, blank + 1, strlen(blank + 1));
    static const char word[] = "layer "; /* as models say it */
    if (!numbered && strncmp(site, word, sizeof word - 1) == 0) site += sizeof word - 1;
    const char *node = numbered ? NULL : read_node(p, site);
    if (!numbered) *layer = node ? node : profile_intern(p, site, strlen(site));
}

/* ---- parts ------------------------------------------------------------------------------------------------------- */

/* What a node weighs beside others of its kernel: its elements, times what an op on one costs. */
static double weight_of(const wick_context *ctx, const wick_node *node) {
    const wick_value *of = node->op->flags & WICK_OP_REDUCE && node->n_in ? node->in[0]
                           : node->n_out                                  ? &node->out[0]
                                                                          : NULL;
    const double n = of ? (double)wick_type_count(&of->type) : 1, light = 1 / (double)ctx->tuning.cost_light_rate;
    if (node->op->flags & WICK_OP_REDUCE) return n / (double)ctx->tuning.cost_reduce_rate;
    return n * (wick_op_is_light(node->op->ew) ? light : 1 / (double)ctx->tuning.cost_heavy_rate);
}

typedef struct part_list {
    profile_part at[64];
    int n;
} part_list;

static void add_part(wick_profile *p, part_list *l, const wick_node *node, const char *site, double weight) {
    profile_part part = {.op = profile_intern(p, node->op->name, strlen(node->op->name)),
                         .backward = node->flags & WICK_NODE_BACKWARD};
    read_site(p, site, &part.layer, &part.line);
    for (int i = 0; i < l->n; i++) {
        profile_part *q = &l->at[i];
        const bool same =
            q->op == part.op && q->layer == part.layer && q->line == part.line && q->backward == part.backward;
        if (same || i + 1 == (int)WICK_COUNTOF(l->at)) { /* beyond 64: with the last one */
            q->share += weight;
            return;
        }
    }
    part.share = weight;
    l->at[l->n++] = part;
}

/* Those of a node, of all of which the weight is `whole`. */
static void add_node(wick_profile *p, part_list *l, const wick_node *node, double whole) {
    double sum = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (int r = 0; r < node->n_regions; r++) {
            const wick_graph *body = node->regions[r];
            for (size_t i = 0; i < body->n; i++) {
                const wick_node *inner = body->nodes[i];
                if (inner->op->flags & WICK_OP_LEAF) continue;
                if (pass)
                    add_part(p, l, inner, inner->site ? inner->site : node->site,
                             whole * weight_of(p->ctx, inner) / sum);
                else
                    sum += weight_of(p->ctx, inner);
            }
        }
        if (!(sum > 0)) break;
    }
    if (!(sum > 0)) add_part(p, l, node, node->site, whole);
}

/* What a step's own arithmetic takes on one thread; of an epilogue only that: its operands are in cache. */
static double alone_ns(const wick_plan *plan, const wick_step *s) {
    wick_work w = wick_step_work(&plan->ctx->tuning, s, plan->buffers);
    if (s->rides) w.bytes = w.far_bytes = 0;
    return wick_work_ns(&plan->ctx->tuning, &w, 0, 1) - (s->rides ? (double)plan->ctx->tuning.cost_step_ns : 0);
}

/* The step that does what step i, an epilogue, is for: the one that has its program, or the nearest before it. */
static size_t host_of(const wick_plan *plan, size_t i) {
    size_t nearest = SIZE_MAX;
    for (size_t h = i; h-- > 0;) {
        const wick_step *s = &plan->steps[h];
        if (s->rides) continue;
        if (nearest == SIZE_MAX) nearest = h;
        const wick_epilogue *e = s->kind == WICK_STEP_CONV   ? &((const wick_step_conv *)s->args)->epilogue
                                 : s->kind == WICK_STEP_GEMM ? &((const wick_step_gemm *)s->args)->epilogue
                                                             : NULL;
        if (e && e->program && (const void *)e->program == plan->steps[i].args) return h;
    }
    return nearest;
}

static void find_parts(wick_profile *p, const wick_plan *plan, size_t step, const size_t *hosts, profile_kernel *k) {
    part_list l = {.n = 0};
    const double whole = WICK_MAX(alone_ns(plan, &plan->steps[step]), 1e-3);
    double riding = 0;
    for (size_t i = step + 1; i < plan->n_steps; i++)
        if (hosts[i] == step) riding += alone_ns(plan, &plan->steps[i]);
    const double squeeze = riding > 0.9 * whole ? 0.9 * whole / riding : 1; /* something is left for its own */
    add_node(p, &l, plan->steps[step].node, 1 - riding * squeeze / whole);
    for (size_t i = step + 1; i < plan->n_steps; i++)
        if (hosts[i] == step) add_node(p, &l, plan->steps[i].node, alone_ns(plan, &plan->steps[i]) * squeeze / whole);
    k->parts = wick_arena_alloc(&p->arena, (size_t)l.n * sizeof *k->parts);
    if (!k->parts) return;
    memcpy(k->parts, l.at, (size_t)l.n * sizeof *k->parts);
    k->n_parts = l.n;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static profile_kernel *new_kernel(wick_profile *p, uint32_t plan, int32_t step) {
    profile_kernel *k = wick_arena_zalloc(&p->arena, sizeof *k);
    if (!k || !(k->times = wick_arena_zalloc(&p->arena, sizeof *k->times))) return NULL;
    k->plan = plan;
    k->step = step;
    k->name = k->text = k->layer = k->line = k->bound = "";
    return k;
}

static double footprint_of(const wick_plan *plan) {
    double sum = (double)plan->arena_bytes;
    for (size_t i = 0; i < plan->n_buffers; i++)
        if (plan->buffers[i].kind != WICK_BUFFER_TEMP) sum += (double)plan->buffers[i].size;
    return sum;
}

static profile_kernel *kernel_of(wick_profile *p, const wick_plan *plan, size_t i, const size_t *hosts,
                                 double footprint) {
    const wick_step *s = &plan->steps[i];
    const wick_tuning *t = &plan->ctx->tuning;
    const int threads = plan->parallel[i] ? wick_context_threads(plan->ctx) : 1;
    profile_kernel *k = new_kernel(p, (uint32_t)p->n_plans, (int32_t)i);
    if (!k) return NULL;
    const wick_plan_kernel known = wick_plan_kernel_at(plan, (int)i);
    memcpy(k->ops, known.ops, sizeof k->ops);
    k->name = profile_intern(p, s->name, strlen(s->name));
    read_site(p, s->node->site, &k->layer, &k->line);
    char text[256];
    const int n = snprintf(text, sizeof text, "%.90s%s%.120s", k->ops, *k->layer || *k->line ? " " : "",
                           *k->layer ? k->layer : k->line);
    k->text = profile_intern(p, text, WICK_MIN((size_t)n, sizeof text - 1));
    k->flops = s->flops;
    k->bytes = s->bytes;
    if (s->rides) return k;
    const wick_work w = wick_step_work(t, s, plan->buffers);
    bool memory;
    k->floor_ns = wick_work_floor_ns(t, &w, footprint, threads, &memory);
    k->predicted_ns = wick_work_ns(t, &w, footprint, threads);
    k->bound = k->floor_ns * 2 < k->predicted_ns ? "overhead" : memory ? "memory" : "arithmetic";
    find_parts(p, plan, i, hosts, k);
    return k;
}

/* Appends a row. Where memory is short, k is NULL and the row is that of all other kernels, so that the table stays
 * complete. */
static void append(wick_profile *p, profile_kernel *k) {
    if (wick_grow(&p->alloc, (void **)&p->kernels, &p->cap_kernels, p->n_kernels + 1, sizeof(profile_kernel *)))
        p->kernels[p->n_kernels++] = k ? k : p->others;
}

uint32_t profile_name(wick_profile *p, const char *name) {
    for (int i = 0; i < p->n_own; i++)
        if (strcmp(p->kernels[p->own[i] - WICK_SPAN_NAMES]->text, name) == 0) return p->own[i];
    const size_t before = p->n_kernels;
    profile_kernel *k = p->n_own < PROFILE_NAMES ? new_kernel(p, 0, PROFILE_OWN) : NULL;
    if (!k) return 0;
    k->name = k->text = profile_intern(p, name, strlen(name));
    append(p, k);
    if (p->n_kernels == before) return 0;
    return p->own[p->n_own++] = (uint32_t)before + WICK_SPAN_NAMES;
}

uint32_t profile_add_plan(void *user, const void *at) {
    wick_profile *p = user;
    const wick_plan *plan = at;
    const size_t first = p->n_kernels;
    const bool room = first + plan->n_steps < (size_t)p->most;
    size_t *hosts = room ? wick_alloc(&p->alloc, (plan->n_steps + 1) * sizeof *hosts) : NULL;
    profile_kernel *whole = hosts ? new_kernel(p, (uint32_t)p->n_plans, PROFILE_RUN) : NULL;
    if (!whole) { /* all of its steps are one row */
        wick_release(&p->alloc, hosts, (plan->n_steps + 1) * sizeof *hosts);
        return PROFILE_OTHERS;
    }
    char text[64];
    const int n = snprintf(text, sizeof text, "run of plan %d", p->n_plans + 1);
    whole->name = whole->text = profile_intern(p, text, (size_t)n);
    append(p, whole);
    const double footprint = footprint_of(plan);
    for (size_t i = 0; i < plan->n_steps; i++) hosts[i] = plan->steps[i].rides ? host_of(plan, i) : SIZE_MAX;
    for (size_t i = 0; i < plan->n_steps; i++) append(p, kernel_of(p, plan, i, hosts, footprint));
    wick_release(&p->alloc, hosts, (plan->n_steps + 1) * sizeof *hosts);
    p->n_plans++;
    return (uint32_t)first + 1 + WICK_SPAN_NAMES;
}
