/* export_extents.c: open extents. A function in C works with numbers, so it is recorded at many lists of extents, and
 * what is written has to hold at all of them.
 *
 *   an extent is   the same number everywhere           -> that number
 *                  one that an input has by its symbol   -> Shape of the input
 *                  what an op that was written gives      -> Shape of its result: ONNX's op finds it by itself
 *                  made of these                         -> Add, Mul, Div, Min, Max
 *                  none of this                          -> the export is refused, with axis and op
 *
 * Where the points leave open which of two expressions it is, that is refused too. Where the function records other ops
 * than elsewhere, the written model is run there (export_check.c). */
#define WICK_NO_SITES
#include "io/onnx/export/export.h"

#include <stdio.h>

/* ---- points ------------------------------------------------------------------------------------------------------ */

static int find_symbol(const onnx_export *e, const char *name) {
    int s = 0;
    while (s < e->n_symbols && strcmp(e->symbols[s], name) != 0) s++;
    return s;
}

/* What the options say that the symbol is for, by its name or INPUT.axis. */
static wick_status read_range(onnx_export *e, const wick_onnx_symbol *x, int s) {
    char place[300];
    snprintf(place, sizeof place, "%.250s.%d", e->in[x->input].name ? e->in[x->input].name : "", x->axis);
    for (int i = 0; i < e->options->n_ranges; i++) {
        const wick_dim *range = &e->options->ranges[i];
        if (!range->name || (strcmp(range->name, x->name) != 0 && strcmp(range->name, place) != 0)) continue;
        const int64_t by = WICK_MAX(range->multiple, 1), least = (WICK_MAX(range->min, 1) + by - 1) / by * by,
                      most = range->max / by * by;
        if (range->min < 0 || range->multiple < 0 || most > INT32_MAX || least > most)
            return wick_context_fail(e->ctx, WICK_ERR_INVALID,
                                     "export: symbol %s: there is nothing in %lld..%lld, multiples of %lld", x->name,
                                     (long long)range->min, (long long)range->max, (long long)by);
        e->least[s] = least, e->most[s] = most, e->multiple[s] = by;
    }
    return WICK_OK;
}

wick_status wick_export_symbols(onnx_export *e) {
    const wick_onnx_save_options *o = e->options;
    for (int i = 0; i < o->n_symbols; i++) {
        const wick_onnx_symbol *x = &o->symbols[i];
        if (!x->name || !*x->name || x->input < 0 || x->input >= e->n_in || x->axis < 0 ||
            x->axis >= e->in[x->input].rank)
            return wick_context_fail(e->ctx, WICK_ERR_INVALID,
                                     "export: symbol %d, %s, is at axis %d of input %d, which is not there", i,
                                     x->name ? x->name : "without a name", x->axis, x->input);
        const int s = find_symbol(e, x->name);
        if (s == ONNX_MOST_SYMBOLS)
            return wick_context_fail(e->ctx, WICK_ERR_INVALID, "export: more than %d symbols", ONNX_MOST_SYMBOLS);
        if (s == e->n_symbols) {
            e->symbols[e->n_symbols++] = x->name;
            e->symbol_input[s] = x->input, e->symbol_axis[s] = x->axis;
            e->least[s] = e->multiple[s] = 1, e->most[s] = INT32_MAX;
        }
        WICK_TRY(read_range(e, x, s));
    }
    return WICK_OK;
}

static int64_t *point(const onnx_export *e, int r) { return e->points + (size_t)r * (size_t)e->n_symbols; }

void wick_export_specs(const onnx_export *e, const int64_t *extents, wick_spec *in) {
    for (int i = 0; i < e->n_in; i++) in[i] = e->in[i];
    for (int i = 0; i < e->options->n_symbols; i++) {
        const wick_onnx_symbol *x = &e->options->symbols[i];
        in[x->input].dims[x->axis] = extents[find_symbol(e, x->name)];
    }
}

double wick_export_elements(const onnx_export *e, const int64_t *extents, wick_spec *in) {
    double most = 0;
    wick_export_specs(e, extents, in);
    for (int i = 0; i < e->n_in; i++) {
        double n = 1;
        for (int d = 0; d < in[i].rank; d++) n *= (double)in[i].dims[d];
        most += n;
    }
    return most;
}

/* "h = 3 (axis 2 of x), w = 5 (axis 3 of x)" */
void wick_export_say_point(const onnx_export *e, wick_str *s, const int64_t *extents) {
    for (int k = 0; k < e->n_symbols; k++)
        wick_str_add(s, "%s%s = %lld (axis %d of %s)", k ? ", " : "", e->symbols[k], (long long)extents[k],
                     e->symbol_axis[k], e->ports[e->symbol_input[k]]->text);
}

/* ---- recordings -------------------------------------------------------------------------------------------------- */

/* Are the graphs one but for extents? *differs: the first node that is not. */
static bool same_graphs(const wick_graph *a, const wick_graph *b, const wick_node **differs) {
    for (size_t i = 0; i < a->n; i++) {
        const wick_node *x = *differs = a->nodes[i], *y = i < b->n ? b->nodes[i] : NULL;
        if (!y || x->op != y->op || x->n_in != y->n_in || x->n_out != y->n_out || x->n_regions != y->n_regions)
            return false;
        for (int k = 0; k < x->n_in; k++)
            if (x->in[k]->id != y->in[k]->id) return false;
        for (int k = 0; k < x->n_out; k++)
            if (x->out[k].type.rank != y->out[k].type.rank || x->out[k].type.dtype != y->out[k].type.dtype)
                return false;
        for (int k = 0; k < x->n_regions; k++) {
            wick_graph_number(x->regions[k]), wick_graph_number(y->regions[k]);
            if (!same_graphs(x->regions[k], y->regions[k], differs)) return false;
        }
    }
    return a->n == b->n;
}

/* Of all that same_graphs compares. */
static uint64_t hash_graph(const wick_graph *g, uint64_t hash) {
    for (size_t i = 0; i < g->n; i++) {
        const wick_node *x = g->nodes[i];
        hash = wick_hash(&x->op, sizeof(wick_op *), hash);
        for (int k = 0; k < x->n_in; k++) hash = wick_hash(&x->in[k]->id, sizeof x->in[k]->id, hash);
        for (int k = 0; k < x->n_out; k++)
            hash = wick_hash((uint8_t[]){x->out[k].type.rank, x->out[k].type.dtype}, 2, hash);
        for (int k = 0; k < x->n_regions; k++) {
            wick_graph_number(x->regions[k]);
            hash = hash_graph(x->regions[k], hash);
        }
    }
    return wick_hash(&g->n, sizeof g->n, hash);
}

/* Where the function goes another way, from `node` on: kept for export_check.c, two points of each graph. */
static void keep_odd(onnx_export *e, const int64_t *extents, double elements, const wick_graph *g,
                     const wick_node *node) {
    const uint64_t hash = hash_graph(g, 0);
    int i = 0;
    while (i < e->n_odd && e->odd[i].hash != hash) i++;
    onnx_odd *odd = &e->odd[i];
    const bool fresh = i == e->n_odd;
    for (int most = 0; most < 2; most++) {
        if (!fresh && (most ? elements <= odd->elements[1] : elements >= odd->elements[0])) continue;
        memcpy(odd->extents[most], extents, (size_t)e->n_symbols * sizeof *extents);
        odd->elements[most] = elements;
    }
    if (!fresh) return;
    wick_str s = wick_str_on(odd->why, sizeof odd->why);
    wick_str_add(&s, "%s%s%s", node ? node->op->name : "the end", node && node->site ? " at " : "",
                 node && node->site ? node->site : "");
    odd->hash = hash;
    e->n_odd++;
}

static const double MOST_ELEMENTS = 0x1p22; /* of all inputs, but at the first points */

/* Records at one more list of extents. Failing there is no failure of the export: the function is none for them. */
static wick_status record(onnx_export *e, const onnx_source *source, const int64_t *extents) {
    if (e->n_recordings == e->most_recordings || e->tried++ > 3 * e->most_recordings) return WICK_OK;
    for (int r = 0; r < e->n_recordings; r++)
        if (!memcmp(point(e, r), extents, (size_t)e->n_symbols * sizeof *extents)) return WICK_OK;
    wick_spec *in = wick_export_alloc(e, (size_t)e->n_in + 1, sizeof *in);
    wick_recording *to = &e->recordings[e->n_recordings];
    if (!in) return wick_context_fail(e->ctx, WICK_ERR_NOMEM, "export: out of memory");
    const double elements = wick_export_elements(e, extents, in); /* who records may need inputs, of zeros */
    if (elements > MOST_ELEMENTS && e->n_recordings > e->n_symbols) return e->large = true, WICK_OK;
    wick_arena *arena = &e->arenas[e->n_recordings];
    wick_arena_free(arena);
    wick_arena_init(arena, NULL, 1 << 14);
    wick_status status = source->before ? source->before(source->user, in) : WICK_OK;
    if (status == WICK_OK)
        status = wick_recording_make(e->ctx, source->fn, source->user, e->n_in, in, e->n_out, arena, to);
    if (status != WICK_OK) return status;
    wick_graph_number(to->graph);
    const wick_node *node = NULL;
    e->assigns = to->assigns;
    if (!e->assigns && (!e->n_recordings || same_graphs(e->recordings[0].graph, to->graph, &node))) {
        e->at[e->n_recordings] = to->graph;
        memcpy(point(e, e->n_recordings++), extents, (size_t)e->n_symbols * sizeof *extents);
        return WICK_OK;
    }
    if (e->assigns)
        status = wick_context_fail(
            e->ctx, WICK_ERR_UNSUPPORTED,
            "export: the function assigns states, which ONNX can't say: export what evaluates, not what trains");
    else {
        keep_odd(e, extents, elements, to->graph, node);
        e->grown = to->graph->n > e->recordings[0].graph->n;
    }
    wick_recording_drop(to);
    *to = (wick_recording){0};
    return status;
}

/* The next of the symbol's range. */
static int64_t within(const onnx_export *e, int s, int64_t extent) {
    const int64_t by = e->multiple[s];
    return WICK_MIN(WICK_MAX((extent + by - 1) / by * by, e->least[s]), e->most[s]);
}

enum { SMALL = 32 };
static wick_status try_point(onnx_export *e, const onnx_source *source, int64_t *extents) {
    int64_t most = 0;
    for (int s = 0; s < e->n_symbols; s++) {
        if (extents[s] < e->least[s] || extents[s] > e->most[s] || extents[s] % e->multiple[s] ||
            extents[s] > e->enough[s])
            return WICK_OK;
        most = WICK_MAX(most, extents[s]);
    }
    e->large = e->grown = false;
    const wick_status status = record(e, source, extents);
    const bool grows = e->large || e->grown, fails = status != WICK_OK;
    for (int s = 0; s < e->n_symbols && (grows || fails);
         s++) /* its loops are unrolled, or it needs too much: no further that way */
        if (extents[s] > point(e, 0)[s] && extents[s] > SMALL) e->enough[s] = extents[s];
    if (!fails || e->assigns || (status == WICK_ERR_NOMEM && most <= SMALL) || status == WICK_ERR_CANCELLED ||
        status == WICK_ERR_DEADLINE)
        return status;
    return wick_context_clear_error(e->ctx), WICK_OK;
}

/* One symbol moved, or all: to that extent, and to as many steps or multiples. */
static wick_status move(onnx_export *e, const onnx_source *source, int s, int64_t to, int64_t step) {
    int64_t extents[ONNX_MOST_SYMBOLS];
    memcpy(extents, point(e, 0), (size_t)e->n_symbols * sizeof *extents);
    bool other = false;
    for (int many = 0; many < 2; many++) {
        for (int k = 0; k < e->n_symbols; k++) {
            const int64_t each = many ? WICK_MAX(step, e->multiple[k]) : 1;
            if (s < 0 || k == s) extents[k] = to * each, other |= each > 1;
        }
        if (!many || other) WICK_TRY(try_point(e, source, extents));
    }
    return WICK_OK;
}

enum { MOST_NUMBERS = 32 };
/* Numbers that the ops have as parameters or extents: where they cut, what they put together. Something may change
 * there. */
static int collect_numbers(const onnx_export *e, const onnx_source *source, int64_t *numbers) {
    const wick_graph *g = e->recordings[0].graph;
    int n = source->numbers ? source->numbers(source->user, numbers, MOST_NUMBERS / 2) : 0;
    for (size_t i = 0; i < g->n; i++) {
        const wick_node *node = g->nodes[i];
        const bool leaf = node->op->flags & WICK_OP_LEAF;
        const int64_t *attr = node->op->flags & WICK_OP_POINTERS || leaf ? NULL : node->attr;
        const int n_attr = attr ? (int)WICK_MIN(node->attr_size / sizeof *attr, (size_t)16) : 0,
                  rank = leaf ? node->out[0].type.rank : 0;
        for (int k = 0; k < n_attr + rank; k++) {
            const int64_t x = k < n_attr ? attr[k] : node->out[0].type.dims[k - n_attr];
            bool known = x < 5 || x > 1 << 20;
            for (int l = 0; l < n && !known; l++) known = numbers[l] == x;
            if (known) continue;
            if (n < MOST_NUMBERS) numbers[n++] = x;
        }
    }
    return n;
}

/* The points at which everything has to hold: small ones one by one, about powers of two and the numbers in the graph,
 * primes, large ones; one by one and together. */
static wick_status record_more(onnx_export *e, const onnx_source *source, int64_t step) {
    static const int64_t marks[] = {1,   2,   5,   34,  131, 515,  4099, 65537, 3,   4,   6,   7,   8,   9,   511,
                                    512, 513, 127, 128, 129, 1023, 1024, 1025,  255, 256, 257, 63,  64,  65,  31,
                                    32,  33,  15,  16,  17,  10,   11,   12,    13,  14,  97,  211, 499, 997, 10007};
    enum { FIRST = 8, TOGETHER = 24 };
    int64_t numbers[MOST_NUMBERS], extents[ONNX_MOST_SYMBOLS];
    const int n = collect_numbers(e, source, numbers), marked = WICK_COUNTOF(marks);
    uint64_t state = 7;
    for (int i = 0; i < FIRST; i++)
        for (int s = e->n_symbols > 1 ? -1 : 0; s < e->n_symbols; s++) {
            WICK_TRY(move(e, source, s, marks[i], step));
        }
    for (int i = 0; i < (e->n_symbols > 1 ? TOGETHER : 0); i++) {
        for (int s = 0; s < e->n_symbols; s++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            extents[s] = within(e, s, (1 + (int64_t)(state >> 40) % (i % 2 ? 40 : 2000)) * (i % 4 < 2 ? 1 : step));
        }
        WICK_TRY(try_point(e, source, extents));
    }
    for (int i = 0; i < n; i++)
        for (int64_t more = 1; more >= -1; more--)
            for (int s = 0; s < e->n_symbols; s++) WICK_TRY(move(e, source, s, numbers[i] + more, 1));
    for (int i = FIRST; i < marked; i++)
        for (int s = 0; s < e->n_symbols; s++) {
            WICK_TRY(move(e, source, s, marks[i], step));
        }
    for (int64_t v = 18; v <= 100; v++)
        for (int s = 0; s < e->n_symbols; s++) WICK_TRY(move(e, source, s, v, step));
    return WICK_OK;
}

static wick_status record_first(onnx_export *e, const onnx_source *source, int64_t least, int64_t step) {
    int64_t base[ONNX_MOST_SYMBOLS] = {0}, extents[ONNX_MOST_SYMBOLS] = {0};
    for (int s = 0; s < e->n_symbols; s++) {
        const int64_t given = e->in[e->symbol_input[s]].dims[e->symbol_axis[s]];
        base[s] = within(e, s, WICK_MAX((given + step - 1) / step * step, least));
        e->enough[s] = INT32_MAX;
    }
    WICK_TRY(record(e, source, base));
    for (int s = 0; s < e->n_symbols; s++) { /* expressions are found by what moves with one alone */
        memcpy(extents, base, sizeof extents);
        const int64_t by = WICK_MAX(step, e->multiple[s]);
        extents[s] = within(e, s, base[s] + by);
        if (extents[s] == base[s]) extents[s] = WICK_MAX(base[s] - by, e->least[s]);
        WICK_TRY(record(e, source, extents));
        if (!e->n_odd) continue;
        return wick_context_fail(
            e->ctx, WICK_ERR_UNSUPPORTED,
            "export: for another %s (axis %d of %s) the function records other ops, first %s: give it a number",
            e->symbols[s], e->symbol_axis[s], e->ports[e->symbol_input[s]]->text, e->odd[0].why);
    }
    return WICK_OK;
}

/* Nodes of all recordings together, which bounds their memory. */
enum { MOST_NODES = 400000, FEWEST = 24 };

wick_status wick_export_record(onnx_export *e, const onnx_source *source, int64_t least, int64_t step) {
    const size_t n = ONNX_MOST_RECORDINGS;
    e->points = wick_export_alloc(e, n * (size_t)e->n_symbols + 1, sizeof *e->points);
    e->odd = wick_export_alloc(e, e->n_symbols ? 3 * n + 2 : 1, sizeof *e->odd); /* so many points are tried */
    e->recordings = wick_export_alloc(e, n, sizeof *e->recordings);
    e->at = wick_export_alloc(e, n, sizeof *e->at);
    e->arenas = wick_export_alloc(e, n, sizeof *e->arenas);
    for (int i = 0; i < 2; i++) e->rows[i] = wick_export_alloc(e, n, sizeof *e->rows[i]);
    if (e->nomem) return wick_context_fail(e->ctx, WICK_ERR_NOMEM, "export: out of memory");
    e->most_recordings = ONNX_MOST_RECORDINGS;
    if (!e->n_symbols) return record(e, source, e->points);
    WICK_TRY(record_first(e, source, least, step));
    const size_t nodes = WICK_MAX(e->recordings[0].graph->n, (size_t)1);
    e->most_recordings = (int)WICK_MIN(WICK_MAX(MOST_NODES / nodes, (size_t)FEWEST), n);
    WICK_TRY(record_more(e, source, step));
    if (!wick_extents_init(&e->extents, &e->arena, e->n_symbols, e->symbols, e->n_recordings, e->points))
        return wick_context_fail(e->ctx, WICK_ERR_NOMEM, "export: out of memory");
    return WICK_OK;
}

/* ---- extents ----------------------------------------------------------------------------------------------------- */

/* v in recording r. */
static const wick_value *twin(const onnx_export *e, const wick_value *v, int r) {
    return &e->at[r]->nodes[v->node->position]->out[v->index];
}

/* The extent in all recordings; whether it is always the same. */
static bool extents_of(const onnx_export *e, const wick_value *v, int dim, int64_t *row) {
    bool same = true;
    for (int r = 0; r < e->n_recordings; r++) row[r] = twin(e, v, r)->type.dims[dim], same &= row[r] == row[0];
    return same;
}

onnx_extent wick_export_follow(onnx_export *e, const wick_node *node, const int64_t *values) {
    enum { NEAR = 24 };
    int32_t near[NEAR];
    int n = 0;
    for (int r = 1; r <= e->n_recordings; r++) {
        if (r == e->n_recordings) return (onnx_extent){.kind = ONNX_EXTENT_FIXED, .number = values[0]};
        if (values[r] != values[0]) break;
    }
    for (int k = 0; k < node->n_in; k++)
        for (int d = 0; d < node->in[k]->type.rank && n < NEAR; d++) {
            if (extents_of(e, node->in[k], d, e->rows[1])) continue;
            const int32_t known = wick_extents_known(&e->extents, e->rows[1]);
            if (known >= 0) near[n++] = known;
        }
    const int32_t found = wick_extents_find(&e->extents, values, n, near);
    e->nomem |= e->extents.nomem;
    if (found < 0 || !wick_extents_settled(&e->extents, found)) return (onnx_extent){.kind = ONNX_EXTENT_UNKNOWN};
    return (onnx_extent){.kind = ONNX_EXTENT_OPEN, .expression = found};
}

onnx_extent wick_export_extent(onnx_export *e, const wick_value *v, int dim) {
    if (extents_of(e, v, dim, e->rows[0])) return (onnx_extent){.kind = ONNX_EXTENT_FIXED, .number = e->rows[0][0]};
    return wick_export_follow(e, v->node, e->rows[0]);
}
bool wick_export_same_extent(onnx_export *e, const wick_value *a, int dim, const wick_value *b, int other) {
    extents_of(e, a, dim, e->rows[0]), extents_of(e, b, other, e->rows[1]);
    return !memcmp(e->rows[0], e->rows[1], (size_t)e->n_recordings * sizeof *e->rows[0]);
}
bool wick_export_is_fixed_at(onnx_export *e, const wick_value *v, int dim) { return extents_of(e, v, dim, e->rows[0]); }
bool wick_export_is_one(onnx_export *e, const wick_value *v, int dim) {
    return extents_of(e, v, dim, e->rows[0]) && e->rows[0][0] == 1;
}
bool wick_export_is_fixed(onnx_export *e, const wick_value *v) {
    for (int d = 0; d < v->type.rank; d++)
        if (!extents_of(e, v, d, e->rows[0])) return false;
    return true;
}

/* "an extent follows h (axis 2 of x), w (axis 3 of x)": those whose move alone moves it. */
const char *wick_export_why(onnx_export *e, const char *what, const int64_t *values) {
    char text[512];
    wick_str s = wick_str_on(text, sizeof text);
    int n = 0;
    wick_str_add(&s, "%s ", what);
    for (int k = 0; k < e->n_symbols; k++) {
        if (values && k + 1 < e->n_recordings && values[k + 1] == values[0]) {
            bool moves = false; /* alone, at another place */
            for (int r = 1; r < e->n_recordings && !moves; r++) {
                bool alone = values[r] != values[0];
                for (int l = 0; l < e->n_symbols && alone; l++) alone = (l == k) == (point(e, r)[l] != point(e, 0)[l]);
                moves = alone;
            }
            if (!moves) continue;
        }
        wick_str_add(&s, "%s%s (axis %d of %s)", n++ ? ", " : "", e->symbols[k], e->symbol_axis[k],
                     e->ports[e->symbol_input[k]]->text);
    }
    if (!n) wick_str_add(&s, "the open extents");
    const char *kept = wick_arena_strdup(&e->arena, text);
    if (!kept) e->nomem = true;
    return kept ? kept : what;
}

const char *wick_export_why_varies(onnx_export *e, const wick_node *node) {
    for (int r = 0; r < e->n_recordings; r++) { /* 0 and 1 tell as much */
        const wick_node *other = e->at[r]->nodes[node->position];
        e->rows[0][r] = other->attr_size != node->attr_size ||
                        (node->attr_size && memcmp(other->attr, node->attr, node->attr_size));
    }
    return wick_export_why(e, "its parameters follow", e->rows[0]);
}

/* What is known of a node's results: their own extents, where nothing else says them. */
void wick_export_see(onnx_export *e, const wick_node *node) {
    if (!e->n_symbols) return;
    for (int k = 0; k < node->n_out; k++) {
        const wick_value *v = &node->out[k];
        onnx_name *name = e->names[v->id];
        for (int d = 0; d < v->type.rank && name && name != &wick_export_absent; d++) {
            if (extents_of(e, v, d, e->rows[0]) || wick_extents_known(&e->extents, e->rows[0]) >= 0) continue;
            const int32_t i = wick_extents_seen(&e->extents, e->rows[0]);
            onnx_said *said = wick_export_said(e, i);
            if (said) said->of = name, said->axis = d;
        }
    }
}

/* ---- nodes that give them ---------------------------------------------------------------------------------------- */

onnx_said *wick_export_said(onnx_export *e, int32_t i) {
    if (i < 0) return NULL;
    if (i >= e->cap_said) {
        const int32_t cap = WICK_MAX(2 * e->cap_said, i + 64);
        onnx_said *more = wick_export_alloc(e, (size_t)cap, sizeof *more);
        if (!more || e->nomem) return NULL;
        if (e->cap_said) memcpy(more, e->said, (size_t)e->cap_said * sizeof *more);
        e->said = more, e->cap_said = cap;
    }
    return &e->said[i];
}

static onnx_name *shape_at(onnx_export *e, onnx_name *x, int64_t axis) {
    if (e->opset < 15) return wick_export_slice(e, ONNX(e, "Shape", x), 0, axis, axis + 1, 1);
    wick_export_int(e, "start", axis);
    wick_export_int(e, "end", axis + 1);
    return ONNX(e, "Shape", x);
}

/* Never below 0? */
static bool is_positive(const wick_extents *x, int32_t i) {
    const wick_extent *e = &x->at[i];
    switch (e->kind) {
    case WICK_EXTENT_NUMBER: return e->number >= 0;
    case WICK_EXTENT_DIM:
    case WICK_EXTENT_SEEN: return true;
    case WICK_EXTENT_QUOTIENT: return is_positive(x, e->a);
    case WICK_EXTENT_MAX: return is_positive(x, e->a) || is_positive(x, e->b);
    default: return is_positive(x, e->a) && is_positive(x, e->b);
    }
}

static onnx_name *say(onnx_export *e, int32_t i);

/* ONNX's Div rounds to 0. */
static onnx_name *quotient(onnx_export *e, const wick_extent *x) {
    onnx_name *a = say(e, x->a), *by = wick_export_list(e, 1, &x->number);
    return ONNX(e, "Div", is_positive(&e->extents, x->a) ? a : ONNX(e, "Sub", a, ONNX(e, "Mod", a, by)), by);
}

static onnx_name *sum(onnx_export *e, const wick_extent *x) {
    const wick_extent b = e->extents.at[x->b];
    const bool less = b.kind == WICK_EXTENT_PRODUCT && e->extents.at[b.a].kind == WICK_EXTENT_NUMBER &&
                      e->extents.at[b.a].number == -1;
    return less ? ONNX(e, "Sub", say(e, x->a), say(e, b.b)) : ONNX(e, "Add", say(e, x->a), say(e, x->b));
}

/* The expression as i64 [1]. */
static onnx_name *say(onnx_export *e, int32_t i) {
    const onnx_said *known = wick_export_said(e, i);
    if (!known || known->name) return known ? known->name : &wick_export_absent;
    const wick_extent x = e->extents.at[i];
    onnx_name *name = NULL;
    switch (x.kind) {
    case WICK_EXTENT_NUMBER: name = wick_export_list(e, 1, &x.number); break;
    case WICK_EXTENT_DIM: name = shape_at(e, e->ports[e->symbol_input[x.a]], e->symbol_axis[x.a]); break;
    case WICK_EXTENT_SEEN: name = shape_at(e, known->of, known->axis); break;
    case WICK_EXTENT_SUM: name = sum(e, &x); break;
    case WICK_EXTENT_PRODUCT: name = ONNX(e, "Mul", say(e, x.a), say(e, x.b)); break;
    case WICK_EXTENT_MIN: name = ONNX(e, "Min", say(e, x.a), say(e, x.b)); break;
    case WICK_EXTENT_MAX: name = ONNX(e, "Max", say(e, x.a), say(e, x.b)); break;
    default: name = quotient(e, &x);
    }
    onnx_said *said = wick_export_said(e, i);
    if (said) said->name = name;
    return name;
}

onnx_name *wick_export_extent_value(onnx_export *e, const onnx_extent *x) {
    if (x->kind == ONNX_EXTENT_FIXED) return wick_export_list(e, 1, &x->number);
    const wick_proto_out queued = e->attrs; /* of the node that reads it */
    e->attrs = (wick_proto_out){0};
    onnx_name *name = say(e, x->expression);
    wick_proto_drop(&e->attrs);
    e->attrs = queued;
    return name;
}

onnx_name *wick_export_extents(onnx_export *e, const wick_node *node, int n, const onnx_extent *extents) {
    onnx_name *parts[2 * WICK_MAX_DIMS];
    int64_t fixed[WICK_MAX_DIMS];
    int n_parts = 0, n_fixed = 0;
    for (int d = 0; d < n; d++) {
        char what[64];
        wick_str s = wick_str_on(what, sizeof what);
        wick_str_add(&s, "extent %d follows in no simple way", d);
        if (extents[d].kind == ONNX_EXTENT_UNKNOWN)
            return wick_export_unsupported(e, node, wick_export_why(e, what, NULL)), NULL;
    }
    for (int d = 0; d <= n; d++) {
        if (d < n && extents[d].kind == ONNX_EXTENT_FIXED) {
            fixed[n_fixed++] = extents[d].number;
            continue;
        }
        if (n_fixed || !n) parts[n_parts++] = wick_export_list(e, n_fixed, fixed);
        n_fixed = 0;
        if (d < n) parts[n_parts++] = wick_export_extent_value(e, &extents[d]);
    }
    if (n_parts == 1) return parts[0];
    const wick_proto_out queued = e->attrs;
    e->attrs = (wick_proto_out){0};
    wick_export_int(e, "axis", 0);
    onnx_name *all = wick_export_node(e, "Concat", n_parts, parts);
    wick_proto_drop(&e->attrs);
    e->attrs = queued;
    return all;
}

onnx_name *wick_export_shape(onnx_export *e, const wick_node *node, const wick_value *v, bool for_reshape) {
    onnx_extent extents[WICK_MAX_DIMS];
    int open = 0, last = 0;
    bool empty = false;
    for (int d = 0; d < v->type.rank; d++) {
        const bool fixed = extents_of(e, v, d, e->rows[0]);
        extents[d] = (onnx_extent){.kind = ONNX_EXTENT_FIXED, .number = v->type.dims[d]};
        for (int r = 0; r < e->n_recordings; r++) empty |= e->rows[0][r] == 0;
        if (!fixed) open++, last = d;
    }
    for (int d = 0; d < v->type.rank && open; d++)
        if (!(for_reshape && open == 1 && !empty && d == last)) extents[d] = wick_export_extent(e, v, d);
    if (for_reshape && open == 1 && !empty) extents[last].number = -1;
    return wick_export_extents(e, node, v->type.rank, extents);
}
