#include "draw_graph.h"

#include "../report/html.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* In units of the picture; characters of its small text are about 6.7 wide. */
enum {
    ROW = 21,
    HEAD = 18,
    PAD = 7,
    GAP_X = 22,
    GAP_BENDS = 8,
    GAP_Y = 34,
    MARGIN = 24,
    TOP = 84,
    DUMMY = 2,
    WIDEST = 460,
    LEGEND = 660,
    LONGEST = 14,
    SHOWN = 6,
    SWEEPS = 12,
    MOST_CELLS = 200000
};
#define CHARACTER 6.7

/* What a node is drawn in. */
static const struct {
    const char *style, *ops;
} families[] = {
    {"heavy", " Conv ConvTranspose ConvInteger QLinearConv FusedConv Gemm MatMul QLinearMatMul MatMulInteger "
              "MatMulNBits LSTM GRU RNN Attention MultiHeadAttention "
              "Einsum DeformConv conv conv_data conv_weight matmul int8_matmul int8_conv "
              "int4_linear int8_linear lstm gru rnn lstm_grad "
              "gru_grad rnn_grad attention attention_grad "},
    {"norm", " BatchNormalization InstanceNormalization LayerNormalization GroupNormalization RMSNormalization LRN "
             "LpNormalization SkipLayerNormalization Softmax "
             "LogSoftmax Hardmax MeanVarianceNormalization softmax log_softmax layer_norm rms_norm cross_entropy "},
    {"pool", " MaxPool AveragePool GlobalAveragePool GlobalMaxPool LpPool GlobalLpPool MaxRoiPool RoiAlign Resize "
             "Upsample ReduceMean ReduceSum ReduceMax ReduceMin "
             "ReduceL1 ReduceL2 ReduceProd ReduceLogSum ReduceLogSumExp ReduceSumSquare ArgMax ArgMin TopK max_pool "
             "max_pool_pick max_pool_put avg_pool avg_pool_share resample "
             "sum mean max min prod argmax argmin topk "},
    {"shape", " Reshape Transpose Concat Slice Gather GatherElements GatherND ScatterND ScatterElements Squeeze "
              "Unsqueeze Shape Size Cast CastLike Split Flatten Pad "
              "Expand Identity Tile Range ConstantOfShape DepthToSpace SpaceToDepth QuantizeLinear DequantizeLinear "
              "reshape permute slice expand concat gather scatter_add cast one_hot "
              "update_slice quantize dequantize "},
    {"flow", " If Loop Scan SequenceMap if scan assign check_finite "},
};

static const char *style_of(const wick_onnx_node *n) {
    char word[80];
    if (!n->supported) return "lacking";
    const char *more = strstr(n->op, " + "); /* what was fused into it */
    snprintf(word, sizeof word, " %.*s ", (int)(more ? more - n->op : 70), n->op);
    for (size_t i = 0; i < sizeof families / sizeof families[0]; i++)
        if (strstr(families[i].ops, word)) return families[i].style;
    return "plain";
}

/* ---- boxes ------------------------------------------------------------------------------------------------------- */

/* A box with rows, an input, an output, or a bend of an edge that passes through a layer. */
typedef struct cell {
    enum { BOX, INPUT, OUTPUT, BEND } kind;
    int64_t first; /* node of a box, chained by next[]; wire of an input or output */
    int64_t last;
    int64_t rows;
    int layer, order;
    double x, y, w, h; /* x: of the middle */
    double wish, floor; /* floor: where the layer ends */
} cell;

typedef struct link {
    int from, to; /* cells of neighbouring layers */
    int32_t wire;
} link;

typedef struct facts {
    const drawing *d;
    cell *cells;
    size_t n_cells, room_cells;
    link *links;
    size_t n_links, room_links;
    int64_t *next;  /* by node: the one behind it in its box, -1 */
    int *box;       /* by node: its cell, -1: it is not fed */
    /* by node: whether an input, or chance, has a say in it; what is made of weights alone has none, and is not drawn
     */
    bool *fed;
    int64_t n_left_out; /* of those, constants aside */
    int *source;    /* by wire: the cell that makes it, -1 */
    int n_layers;
    int *sorted;    /* cells by layer and order ... */
    size_t *starts; /* ... from here on, by layer; and the links down from a layer */
    size_t *link_starts;
    bool good;
} facts;

static int add_cell(facts *s, cell c) {
    if (s->n_cells == MOST_CELLS) s->good = false;
    if (s->good && s->n_cells == s->room_cells) {
        const size_t room = s->room_cells ? 2 * s->room_cells : 256;
        cell *more = realloc(s->cells, room * sizeof *more);
        if (more) s->cells = more, s->room_cells = room;
        else s->good = false;
    }
    if (!s->good) return 0;
    s->cells[s->n_cells] = c;
    return (int)s->n_cells++;
}
static void add_link(facts *s, int from, int to, int32_t wire) {
    if (s->good && s->n_links == s->room_links) {
        const size_t room = s->room_links ? 2 * s->room_links : 256;
        link *more = realloc(s->links, room * sizeof *more);
        if (more) s->links = more, s->room_links = room;
        else s->good = false;
    }
    if (s->good) s->links[s->n_links++] = (link){from, to, wire};
}

static bool is_constant(const wick_onnx_node *n) { return strcmp(n->op, "Constant") == 0 && !*n->domain; }

/* Whether wire i carries data, and is no weight. */
static bool carries(const facts *s, int32_t i) {
    const wick_onnx_wire *w = &s->d->graph->wires[i];
    return w->from == -1 || (w->from >= 0 && s->fed[w->from]);
}

/* Where nothing is fed, all is. */
static void find_fed(facts *s) {
    const wick_onnx_graph *g = s->d->graph;
    for (int64_t v = 0; v < g->n_nodes; v++) {
        const wick_onnx_node *n = &g->nodes[v];
        if (is_constant(n)) continue;
        s->fed[v] = n->n_in == 0 || n->bodies; /* which may read more than is listed */
        for (int i = 0; i < n->n_in && !s->fed[v]; i++) s->fed[v] = n->in[i] >= 0 && carries(s, n->in[i]);
        s->n_left_out += !s->fed[v];
    }
    bool any = false;
    for (int64_t v = 0; v < g->n_nodes; v++) any |= s->fed[v];
    for (int64_t v = 0; v < g->n_nodes && !any; v++) s->fed[v] = !is_constant(&g->nodes[v]), s->n_left_out = 0;
}

/* The only node that v's data come from, if it gives them to nobody else; -1: there is none such. */
static int64_t only_maker(const facts *s, const int64_t *readers, int64_t v) {
    const wick_onnx_graph *g = s->d->graph;
    const wick_onnx_node *n = &g->nodes[v];
    int64_t maker = -1;
    for (int i = 0; i < n->n_in; i++) {
        if (n->in[i] < 0 || !carries(s, n->in[i])) continue;
        const int64_t from = g->wires[n->in[i]].from;
        if (from < 0 || (maker >= 0 && from != maker)) return -1;
        maker = from;
    }
    if (maker < 0) return -1;
    int64_t all = 0, mine = 0;
    for (int k = 0; k < g->nodes[maker].n_out; k++)
        if (g->nodes[maker].out[k] >= 0) all += readers[g->nodes[maker].out[k]];
    for (int i = 0; i < n->n_in; i++) mine += n->in[i] >= 0 && g->wires[n->in[i]].from == maker;
    return all == mine ? maker : -1;
}

static void make_boxes(facts *s) {
    const wick_onnx_graph *g = s->d->graph;
    int64_t *readers = calloc((size_t)g->n_wires + 1, sizeof *readers); /* by wire; those of outputs too */
    s->good = readers != NULL;
    for (int64_t v = 0; s->good && v < g->n_nodes; v++)
        for (int i = 0; i < g->nodes[v].n_in; i++)
            if (g->nodes[v].in[i] >= 0) readers[g->nodes[v].in[i]]++;
    for (int i = 0; s->good && i < s->d->n_outputs; i++)
        if (g->outputs[i] >= 0) readers[g->outputs[i]] += INT32_MAX; /* another reader than any node */
    for (int64_t v = 0; s->good && v < g->n_nodes; v++) {
        s->next[v] = -1, s->box[v] = -1;
        if (!s->fed[v]) continue;
        const int64_t maker = only_maker(s, readers, v);
        if (maker >= 0 && s->next[maker] < 0 && s->cells[s->box[maker]].last == maker) {
            s->box[v] = s->box[maker];
            s->next[maker] = v;
            s->cells[s->box[v]].last = v;
            s->cells[s->box[v]].rows++;
        } else s->box[v] = add_cell(s, (cell){.kind = BOX, .first = v, .last = v, .rows = 1});
        for (int k = 0; k < g->nodes[v].n_out; k++)
            if (g->nodes[v].out[k] >= 0) s->source[g->nodes[v].out[k]] = s->box[v];
    }
    /* Inputs that somebody reads. */
    for (int32_t w = 0; s->good && w < g->n_wires; w++)
        if (g->wires[w].from == -1 && readers[w]) s->source[w] = add_cell(s, (cell){.kind = INPUT, .first = w});
    free(readers);
}

/* ---- layers ------------------------------------------------------------------------------------------------------ */

/* Data go down: a box is one layer below the lowest that it reads from. What reads nothing stands right above its first
 * reader. */
static void make_layers(facts *s) {
    const wick_onnx_graph *g = s->d->graph;
    for (int64_t v = 0; v < g->n_nodes; v++) {
        const int to = s->box[v];
        if (to < 0 || s->cells[to].first != v) continue;
        for (int i = 0; i < g->nodes[v].n_in; i++) {
            const int32_t w = g->nodes[v].in[i];
            if (w >= 0 && s->source[w] >= 0 && carries(s, w) && s->cells[s->source[w]].layer >= s->cells[to].layer)
                s->cells[to].layer = s->cells[s->source[w]].layer + 1;
        }
    }
    for (size_t c = 0; c < s->n_cells; c++) s->cells[c].order = -1; /* the highest reader's layer, here */
    for (int64_t v = 0; v < g->n_nodes; v++)
        for (int i = 0; s->box[v] >= 0 && i < g->nodes[v].n_in; i++) {
            const int32_t w = g->nodes[v].in[i];
            if (w < 0 || s->source[w] < 0 || s->source[w] == s->box[v]) continue;
            cell *from = &s->cells[s->source[w]];
            if (from->order < 0 || s->cells[s->box[v]].layer < from->order) from->order = s->cells[s->box[v]].layer;
        }
    for (size_t c = 0; c < s->n_cells; c++) {
        cell *at = &s->cells[c];
        if ((at->kind == INPUT || at->layer == 0) && at->order > 0) at->layer = at->order - 1;
    }
    for (int i = 0; s->good && i < s->d->n_outputs; i++) {
        const int32_t w = g->outputs[i];
        if (w < 0) continue;
        const int from = s->source[w],
                  to = add_cell(s,
                                (cell){.kind = OUTPUT, .first = w, .layer = from >= 0 ? s->cells[from].layer + 1 : 0});
        if (s->good && from >= 0) add_link(s, from, to, w);
    }
}

/* Edges between neighbouring layers: a long one bends once in each layer that it passes, and all that leave one cell
 * with one wire share their bends. */
static void make_links(facts *s) {
    const wick_onnx_graph *g = s->d->graph;
    int *deepest = calloc((size_t)g->n_wires + 1, sizeof *deepest),
        *bend = calloc((size_t)g->n_wires + 1, sizeof *bend);
    s->good &= deepest && bend;
    for (int64_t v = 0; s->good && v < g->n_nodes; v++)
        for (int i = 0; s->box[v] >= 0 && i < g->nodes[v].n_in; i++) {
            const int32_t w = g->nodes[v].in[i];
            if (w >= 0 && s->source[w] >= 0 && s->source[w] != s->box[v] && s->cells[s->box[v]].layer > deepest[w])
                deepest[w] = s->cells[s->box[v]].layer;
        }
    size_t bends = 0;
    for (int32_t w = 0; s->good && w < g->n_wires; w++)
        if (s->source[w] >= 0 && deepest[w] > s->cells[s->source[w]].layer + 1)
            bends += (size_t)(deepest[w] - s->cells[s->source[w]].layer - 1);
    const bool straight = s->n_cells + bends >= MOST_CELLS; /* then edges pass behind boxes */
    for (int32_t w = 0; s->good && !straight && w < g->n_wires; w++) {
        if (s->source[w] < 0) continue;
        int from = s->source[w];
        bend[w] = (int)s->n_cells;
        for (int layer = s->cells[from].layer + 1; s->good && layer < deepest[w]; layer++) {
            const int at = add_cell(s, (cell){.kind = BEND, .first = w, .layer = layer});
            add_link(s, from, at, w);
            from = at;
        }
    }
    for (int64_t v = 0; s->good && v < g->n_nodes; v++)
        for (int i = 0; s->box[v] >= 0 && i < g->nodes[v].n_in; i++) {
            const int32_t w = g->nodes[v].in[i];
            bool again = false;
            if (w < 0 || s->source[w] < 0 || s->source[w] == s->box[v]) continue;
            /* lists without end are not searched whole */
            for (int k = i > 64 ? i - 64 : 0; k < i && !again; k++) again = g->nodes[v].in[k] == w;
            const int gap = s->cells[s->box[v]].layer - s->cells[s->source[w]].layer;
            if (!again && gap > 0) add_link(s, gap == 1 || straight ? s->source[w] : bend[w] + gap - 2, s->box[v], w);
        }
    free(deepest);
    free(bend);
}

static const cell *compared; /* qsort has no argument for it */
static int by_wish(const void *a, const void *b) {
    const cell *x = &compared[*(const int *)a], *y = &compared[*(const int *)b];
    if (x->layer != y->layer) return x->layer - y->layer;
    if (x->wish != y->wish) return (x->wish > y->wish) - (x->wish < y->wish);
    return *(const int *)a - *(const int *)b;
}

static void sort_cells(facts *s) {
    compared = s->cells;
    qsort(s->sorted, s->n_cells, sizeof *s->sorted, by_wish);
    size_t at = 0;
    for (int layer = 0; layer <= s->n_layers; layer++) {
        while (at < s->n_cells && s->cells[s->sorted[at]].layer < layer) at++;
        s->starts[layer] = at;
    }
    for (int layer = 0; layer < s->n_layers; layer++)
        for (size_t i = s->starts[layer]; i < s->starts[layer + 1]; i++)
            s->cells[s->sorted[i]].order = (int)(i - s->starts[layer]);
}

/* Where a cell stands in its layer, from 0 to 1. */
static double share_of(const facts *s, const cell *c) {
    return (c->order + 0.5) / (double)(s->starts[c->layer + 1] - s->starts[c->layer]);
}

/* Sets wish to the mean of places, or of shares, over the neighbours above (down) or below; what has none keeps its
 * own. In one layer, or in all: -1. */
static void wish_for(facts *s, int layer, bool down, bool places, int *count) {
    const size_t from = layer < 0 ? 0 : s->starts[layer], to = layer < 0 ? s->n_cells : s->starts[layer + 1];
    for (size_t i = from; i < to; i++) s->cells[s->sorted[i]].wish = 0, count[s->sorted[i]] = 0;
    const int upper = down ? layer - 1 : layer; /* links are sorted by the layer of their upper end */
    const size_t first = layer < 0   ? 0
                         : upper < 0 ? s->n_links
                                     : s->link_starts[upper],
                 last = layer < 0   ? s->n_links
                        : upper < 0 ? s->n_links
                                    : s->link_starts[upper + 1];
    for (size_t i = first; i < last; i++) {
        const int at = down ? s->links[i].to : s->links[i].from, other = down ? s->links[i].from : s->links[i].to;
        s->cells[at].wish += places ? s->cells[other].x : share_of(s, &s->cells[other]);
        count[at]++;
    }
    for (size_t i = from; i < to; i++) {
        cell *c = &s->cells[s->sorted[i]];
        c->wish = count[s->sorted[i]] ? c->wish / count[s->sorted[i]] : places ? c->x : share_of(s, c);
    }
}

static const cell *linked;
static int by_upper(const void *a, const void *b) {
    const link *x = a, *y = b;
    if (linked[x->from].layer != linked[y->from].layer) return linked[x->from].layer - linked[y->from].layer;
    return x->from != y->from ? x->from - y->from : x->to != y->to ? x->to - y->to : x->wire - y->wire;
}

static void sort_links(facts *s) {
    linked = s->cells;
    if (s->n_links) qsort(s->links, s->n_links, sizeof *s->links, by_upper);
    size_t at = 0;
    for (int layer = 0; layer <= s->n_layers; layer++) {
        while (at < s->n_links && s->cells[s->links[at].from].layer < layer) at++;
        s->link_starts[layer] = at;
    }
}

/* Between the middles of neighbours. */
static double apart(const cell *a, const cell *b) {
    return (a->w + b->w) / 2 + (a->kind == BEND && b->kind == BEND ? GAP_BENDS : GAP_X);
}

/* Cells of a layer as near to their wishes as their order and widths allow: the mean of what comes out from the left
 * and from the right. */
static void place_layer(facts *s, int layer, double *left) {
    const size_t from = s->starts[layer], to = s->starts[layer + 1];
    for (size_t i = from; i < to; i++) {
        const cell *c = &s->cells[s->sorted[i]];
        left[i] = c->wish;
        if (i > from) left[i] = fmax(left[i], left[i - 1] + apart(&s->cells[s->sorted[i - 1]], c));
    }
    double right = INFINITY;
    for (size_t i = to; i-- > from;) {
        cell *c = &s->cells[s->sorted[i]];
        right = i + 1 < to ? fmin(c->wish, right - apart(c, &s->cells[s->sorted[i + 1]])) : c->wish;
        c->x = (left[i] + right) / 2;
    }
}

static void place(facts *s) {
    int *count = calloc(s->n_cells + 1, sizeof *count);
    double *left = calloc(s->n_cells + 1, sizeof *left);
    s->sorted = calloc(s->n_cells + 1, sizeof *s->sorted);
    for (size_t c = 0; c < s->n_cells; c++)
        if (s->cells[c].layer >= s->n_layers) s->n_layers = s->cells[c].layer + 1;
    s->starts = calloc((size_t)s->n_layers + 2, sizeof *s->starts);
    s->link_starts = calloc((size_t)s->n_layers + 2, sizeof *s->link_starts);
    s->good &= count && left && s->sorted && s->starts && s->link_starts;
    if (s->good) {
        for (size_t c = 0; c < s->n_cells; c++) s->sorted[c] = (int)c, s->cells[c].wish = (double)c;
        sort_cells(s);
        sort_links(s);
        for (int sweep = 0; sweep < SWEEPS; sweep++) wish_for(s, -1, sweep % 2 == 0, false, count), sort_cells(s);
        for (int sweep = 0; sweep <= SWEEPS; sweep++) {
            const bool down = sweep % 2 == 0;
            for (int k = 0; k < s->n_layers; k++) {
                const int layer = down ? k : s->n_layers - 1 - k;
                wish_for(s, layer, down, true, count);
                place_layer(s, layer, left);
            }
        }
        double y = TOP;
        for (int layer = 0; layer < s->n_layers; layer++) {
            double highest = 0;
            for (size_t i = s->starts[layer]; i < s->starts[layer + 1]; i++)
                highest = fmax(highest, s->cells[s->sorted[i]].h);
            for (size_t i = s->starts[layer]; i < s->starts[layer + 1]; i++)
                s->cells[s->sorted[i]].y = y, s->cells[s->sorted[i]].floor = y + highest;
            y += highest + GAP_Y;
        }
    }
    free(count);
    free(left);
}

/* ---- text -------------------------------------------------------------------------------------------------------- */

static void spec_short(char *text, size_t size, const wick_spec *s) {
    if (s->rank < 0) {
        snprintf(text, size, "?");
        return;
    }
    size_t n = s->dtype == WICK_F32 ? 0 : (size_t)snprintf(text, size, "%s ", wick_dtype_name(s->dtype));
    if (s->rank == 0 && n < size) snprintf(text + n, size - n, "scalar");
    for (int i = 0; i < s->rank && n < size; i++)
        n += (size_t)snprintf(text + n, size - n, "%s%lld", i ? "\xC3\x97" : "", (long long)s->dims[i]);
}

/* Bytes in place of characters: near enough for widths. */
static double width_of(const char *text) {
    size_t n = 0;
    for (const char *s = text; *s; s++) n += ((unsigned char)*s & 0xC0) != 0x80;
    return (double)n * CHARACTER;
}

/* "Conv  w 16x3x3x3" and "1x16x30x30  41 %" */
static void row_text(const facts *s, int64_t v, char *op, char *weight, char *shape, char *share, size_t size) {
    const wick_onnx_graph *g = s->d->graph;
    const wick_onnx_node *n = &g->nodes[v];
    snprintf(op, size, "%s%s%.60s%s", n->domain, *n->domain ? "::" : "", n->op, n->bodies ? " {\xE2\x80\xA6}" : "");
    weight[0] = shape[0] = share[0] = 0;
    for (int i = 0; i < n->n_in && !weight[0]; i++) {
        if (n->in[i] < 0 || carries(s, n->in[i])) continue;
        const wick_spec *w = &g->wires[n->in[i]].spec;
        int64_t count = 1;
        for (int d = 0; d < w->rank; d++) count *= w->dims[d];
        if (w->rank > 0 && count > 1 && w->dtype != WICK_I64) spec_short(weight, size, w);
    }
    if (n->n_out && n->out[0] >= 0) spec_short(shape, size, &g->wires[n->out[0]].spec);
    const double part = s->d->flops && s->d->total > 0 ? s->d->flops[v] / s->d->total : 0;
    if (part >= 0.005) snprintf(share, size, "%.0f\xC2\xA0%%", 100 * part);
}

/* What the names of a box's nodes begin with, up to a / or a point; "": they have nothing in common. */
static void module_of(const facts *s, const cell *c, char *text, size_t size) {
    const wick_onnx_graph *g = s->d->graph;
    snprintf(text, size, "%s", g->nodes[c->first].name);
    for (int64_t v = s->next[c->first]; v >= 0; v = s->next[v]) {
        size_t i = 0;
        while (text[i] && text[i] == g->nodes[v].name[i]) i++;
        text[i] = 0;
    }
    size_t n = strlen(text);
    while (n && text[n - 1] != '/' && text[n - 1] != '.') n--;
    while (n && (text[n - 1] == '/' || text[n - 1] == '.')) n--;
    text[n] = 0;
    memmove(text, text + (text[0] == '/'), strlen(text + (text[0] == '/')) + 1);
}

static bool folded(const cell *c) { return c->rows > LONGEST; }

/* Widths and heights, of what is drawn in each cell. */
static void measure(facts *s) {
    char op[160], weight[160], shape[160], share[160], module[160];
    for (size_t i = 0; i < s->n_cells; i++) {
        cell *c = &s->cells[i];
        if (c->kind == BEND) {
            c->w = DUMMY;
            continue;
        }
        if (c->kind != BOX) {
            const wick_onnx_wire *w = &s->d->graph->wires[c->first];
            spec_short(shape, sizeof shape, &w->spec);
            c->w = fmin(WIDEST, fmax(width_of(w->name ? w->name : ""), width_of(shape)) + 4 * PAD);
            c->h = 2 * ROW - 4;
            continue;
        }
        module_of(s, c, module, sizeof module);
        c->w = fmin(WIDEST, width_of(module) + 2 * PAD);
        c->h = (module[0] ? HEAD : 0) + (double)(folded(c) ? 2 * SHOWN + 1 : c->rows) * ROW;
        for (int64_t v = c->first; v >= 0; v = s->next[v]) {
            row_text(s, v, op, weight, shape, share, sizeof op);
            c->w =
                fmin(WIDEST, fmax(c->w, width_of(op) + width_of(weight) + width_of(shape) + width_of(share) + 8 * PAD));
        }
    }
}

/* ---- drawing ----------------------------------------------------------------------------------------------------- */

/* Cut to what fits in `width`. */
static void draw_text(FILE *out, double x, double y, const char *style, const char *text, double width) {
    const size_t most = width > 3 * CHARACTER ? (size_t)(width / CHARACTER) : 3;
    fprintf(out, "<text class=\"%s\" x=\"%.1f\" y=\"%.1f\">", style, x, y);
    size_t bytes = 0, n = 0;
    while (text[bytes] && n < most) {
        bytes++;
        while (((unsigned char)text[bytes] & 0xC0) == 0x80) bytes++;
        n++;
    }
    html_print(out, "%.*s%s", (int)bytes, text, text[bytes] ? "\xE2\x80\xA6" : "");
    fputs("</text>", out);
}

static void draw_row(FILE *out, const facts *s, const cell *c, int64_t v, double y) {
    const wick_onnx_graph *g = s->d->graph;
    const wick_onnx_node *n = &g->nodes[v];
    char op[160], weight[160], shape[160], share[160], text[200];
    const double left = c->x - c->w / 2, right = c->x + c->w / 2;
    row_text(s, v, op, weight, shape, share, sizeof op);
    fprintf(out, "<g class=\"row\"><title>");
    html_print(out, "%s %s", op, n->name);
    for (int i = 0; i < n->n_in && i < 12; i++) {
        if (n->in[i] < 0) continue;
        spec_short(text, sizeof text, &g->wires[n->in[i]].spec);
        html_print(out, "\n%s %s: %s", g->wires[n->in[i]].from == -2 ? "weight" : "in",
                   g->wires[n->in[i]].name ? g->wires[n->in[i]].name : "", text);
    }
    for (int i = 0; i < n->n_out && i < 12; i++) {
        if (n->out[i] < 0) continue;
        spec_short(text, sizeof text, &g->wires[n->out[i]].spec);
        html_print(out, "\nout %s: %s", g->wires[n->out[i]].name ? g->wires[n->out[i]].name : "", text);
    }
    if (s->d->flops && s->d->flops[v] > 0) html_print(out, "\n%.4g MFLOP", s->d->flops[v] * 1e-6);
    if (!n->supported) html_print(out, "\nWick has no such op");
    fprintf(out, "</title><rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%d\"/>", style_of(n), left,
            y, c->w, ROW);
    const double room = c->w - width_of(shape) - width_of(share) - 6 * PAD;
    draw_text(out, left + PAD, y + 14.5, "op", op, room);
    if (weight[0]) draw_text(out, left + PAD + width_of(op) + 2 * PAD, y + 14.5, "small", weight, room - width_of(op));
    draw_text(out, right - PAD - (share[0] ? width_of("100 %") : 0), y + 14.5, "small end", shape, c->w);
    if (share[0]) draw_text(out, right - PAD, y + 14.5, "share end", share, c->w);
    fputs("</g>\n", out);
}

static void draw_cell(FILE *out, const facts *s, const cell *c) {
    const double left = c->x - c->w / 2;
    char text[200];
    if (c->kind == BEND) return;
    if (c->kind != BOX) {
        const wick_onnx_wire *w = &s->d->graph->wires[c->first];
        spec_short(text, sizeof text, &w->spec);
        fprintf(out, "<g><rect class=\"port\" rx=\"18\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>", left,
                c->y, c->w, c->h);
        draw_text(out, c->x, c->y + 16, "op mid", w->name ? w->name : "", c->w - 2 * PAD);
        draw_text(out, c->x, c->y + 31, "small mid", text, c->w - 2 * PAD);
        fputs("</g>\n", out);
        return;
    }
    char module[160];
    double y = c->y;
    module_of(s, c, module, sizeof module);
    if (module[0]) {
        draw_text(out, left + 2, y + 13, "module", module, c->w);
        y += HEAD;
    }
    fprintf(out, "<rect class=\"shadow\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>\n", left, y, c->w,
            c->y + c->h - y);
    int64_t i = 0;
    for (int64_t v = c->first; v >= 0; v = s->next[v], i++) {
        if (folded(c) && i >= SHOWN && i < c->rows - SHOWN) {
            if (i > SHOWN) continue;
            fputs("<g class=\"row\"><title>", out);
            int64_t k = i;
            for (int64_t u = v; u >= 0 && k < c->rows - SHOWN && k < i + 60; u = s->next[u], k++)
                html_print(out, "%s%s %s", k > i ? "\n" : "", s->d->graph->nodes[u].op, s->d->graph->nodes[u].name);
            fprintf(out, "</title><rect class=\"fold\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%d\"/>", left, y,
                    c->w, ROW);
            snprintf(text, sizeof text, "\xE2\x8B\xAE %lld more", (long long)(c->rows - 2 * SHOWN));
            draw_text(out, c->x, y + 14.5, "small mid", text, c->w);
            fputs("</g>\n", out);
        } else draw_row(out, s, c, v, y);
        y += ROW;
    }
}

static void draw_links(FILE *out, const facts *s) {
    for (size_t i = 0; i < s->n_links; i++) {
        const cell *a = &s->cells[s->links[i].from], *b = &s->cells[s->links[i].to];
        const double y0 = a->floor, y1 = b->y, bow = fmax(GAP_Y / 2.0, (y1 - y0) / 2);
        fprintf(out, "<path class=\"link%s\" d=\"M%.1f %.1fV%.1fC%.1f %.1f %.1f %.1f %.1f %.1f",
                b->kind == BEND ? "" : " arrow", a->x, a->y + a->h, y0, a->x, y0 + bow, b->x, y1 - bow, b->x, y1);
        if (b->kind == BEND) fprintf(out, "V%.1f", b->floor);
        fputs("\"/>\n", out);
    }
}

static const char style[] =
    "svg{--card:#fff;--ink:#14130f;--ink2:#55534c;--line:#9a978e;--edge:#c9c6bd;--heavy:#cfe0f7;--norm:#fbe3c8;--pool:#"
    "d5eddd;--shape:#ecebe6;--flow:#e6dcf5;"
    "--plain:#fbf6d6;--lacking:#f8cfcf;font:12px ui-monospace,SFMono-Regular,Menlo,Consolas,\"DejaVu Sans "
    "Mono\",monospace;background:#f7f6f3}\n"
    "@media(prefers-color-scheme:dark){svg{--card:#1a1a19;--ink:#f3f2ee;--ink2:#bdbab1;--line:#77756d;--edge:#45433e;--"
    "heavy:#1f3a5f;--norm:#5b3d1a;--pool:#1f4a33;"
    "--shape:#2f2e2b;--flow:#41305f;--plain:#494318;--lacking:#6b2323;background:#101010}}\n"
    "text{fill:var(--ink)}.op{font-weight:600;font-size:11px}.small{fill:var(--ink2);font-size:11px}.share{font-size:"
    "11px;font-weight:600}.module{fill:var(--ink2);font-size:11px}"
    ".end{text-anchor:end}.mid{text-anchor:middle}.title{font-size:17px;font-weight:650}\n"
    ".shadow{fill:var(--card);stroke:var(--edge);stroke-width:2}.port{fill:var(--card);stroke:var(--line)}.fold{fill:"
    "var(--card);stroke:var(--edge);stroke-dasharray:3 3}\n"
    ".row rect{stroke:var(--edge)}.row:hover "
    "rect{stroke:var(--ink)}.link{fill:none;stroke:var(--line);stroke-width:1.3}.arrow{marker-end:url(#tip)}#tip "
    "path{fill:var(--line)}\n"
    ".heavy{fill:var(--heavy)}.norm{fill:var(--norm)}.pool{fill:var(--pool)}.shape{fill:var(--shape)}.flow{fill:var(--"
    "flow)}.plain{fill:var(--plain)}.lacking{fill:var(--lacking)}\n";

static void draw_head(FILE *out, const facts *s) {
    const drawing *d = s->d;
    static const char *const names[] = {
        "heavy", "products",         "norm", "normalise", "pool",  "pool, resize, reduce",
        "shape", "shapes and types", "flow", "control",   "plain", "others"};
    draw_text(out, MARGIN, 30, "title", d->title, 1e5);
    char text[240];
    snprintf(text, sizeof text, s->n_left_out ? "%.160s, %lld of them on weights alone: not drawn" : "%.160s",
             d->subtitle, (long long)s->n_left_out);
    draw_text(out, MARGIN, 48, "small", text, 1e5);
    double x = MARGIN;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i += 2) {
        fprintf(out, "<rect class=\"%s\" x=\"%.1f\" y=\"57\" width=\"11\" height=\"11\"/>", names[i], x);
        draw_text(out, x + 16, 67, "small", names[i + 1], 1e5);
        x += 34 + width_of(names[i + 1]);
    }
    fputc('\n', out);
}

bool draw_graph(FILE *out, const drawing *d) {
    const wick_onnx_graph *g = d->graph;
    facts s = {.d = d, .good = g->n_nodes <= DRAW_MOST_NODES};
    if (!s.good) return false;
    s.next = calloc((size_t)g->n_nodes + 1, sizeof *s.next);
    s.box = calloc((size_t)g->n_nodes + 1, sizeof *s.box);
    s.source = calloc((size_t)g->n_wires + 1, sizeof *s.source);
    s.fed = calloc((size_t)g->n_nodes + 1, sizeof *s.fed);
    s.good = s.next && s.box && s.source && s.fed;
    for (int32_t i = 0; s.good && i < g->n_wires; i++) s.source[i] = -1;
    if (s.good) find_fed(&s);
    if (s.good) make_boxes(&s);
    if (s.good) make_layers(&s);
    if (s.good) make_links(&s);
    if (s.good) measure(&s);
    if (s.good) place(&s);
    double low = 0, high = fmax(LEGEND, MARGIN + fmax(width_of(d->title) * 17 / 11, width_of(d->subtitle))),
           bottom = TOP;
    for (size_t i = 0; s.good && i < s.n_cells; i++) {
        const cell *c = &s.cells[i];
        low = i ? fmin(low, c->x - c->w / 2) : c->x - c->w / 2;
    }
    for (size_t i = 0; s.good && i < s.n_cells; i++) {
        s.cells[i].x += MARGIN - low;
        high = fmax(high, s.cells[i].x + s.cells[i].w / 2);
        bottom = fmax(bottom, s.cells[i].y + s.cells[i].h);
    }
    if (s.good) {
        fprintf(out,
                "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" "
                "width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\">\n<title>",
                high + MARGIN, bottom + MARGIN, high + MARGIN, bottom + MARGIN);
        html_text(out, d->title);
        fprintf(out,
                "</title>\n<style>\n%s</style>\n<defs><marker id=\"tip\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" "
                "markerWidth=\"7\" markerHeight=\"7\" orient=\"auto\">"
                "<path d=\"M0 0L8 4L0 8Z\"/></marker></defs>\n",
                style);
        draw_head(out, &s);
        draw_links(out, &s);
        for (size_t i = 0; i < s.n_cells; i++) draw_cell(out, &s, &s.cells[i]);
        fputs("</svg>\n", out);
    }
    free(s.cells);
    free(s.links);
    free(s.next);
    free(s.box);
    free(s.source);
    free(s.fed);
    free(s.sorted);
    free(s.starts);
    free(s.link_starts);
    return s.good;
}
