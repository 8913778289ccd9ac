/* einsum.c: sums of products by NumPy's notation, as an expression of other ops, whose gradients it has:
 *
 *   1. the text gives every axis of every operand a label, and the labels of the result;
 *   2. repeated labels become diagonals; labels of one operand that the result lacks are summed;
 *   3. an order of pairs is chosen: exact by dynamic programming over subsets up to EXACT operands, greedy beyond;
 *   4. each pair becomes one matmul over [batch..., free, summed] x [batch..., summed, free], or one multiplication
 *   where
 *      no more than one operand has free axes and nothing is summed, or neither has; permutes and reshapes around it
 *      are views where strides allow. */
#include <math.h>

#include "ops/ops.h"
#include "wick/linalg.h"
#include "wick/ops.h"

enum {
    LETTERS = 52,                     /* labels 0 to 51 are A-Z, a-z, in the order of their codes */
    LABELS = LETTERS + WICK_MAX_DIMS, /* then the axes that an ellipsis stands for, the last one last */
    OPERANDS = 32,
    EXACT = 8,
};

/* Axes by label. */
typedef struct term {
    int n;
    uint8_t label[WICK_MAX_DIMS];
} term;

typedef struct einsum {
    const char *text;
    wick_context *ctx;
    int n;
    term in[OPERANDS], out;
    wick_tensor *x[OPERANDS];
    int64_t extent[LABELS];
    int count[LABELS];   /* operands' axes that have it */
    int ellipsis;        /* axes that it stands for, at most */
    wick_tensor *poison; /* set when something is wrong */
} einsum;

static uint64_t bit(int label) { return (uint64_t)1 << label; }
static uint64_t mask_of(const term *t) {
    uint64_t mask = 0;
    for (int i = 0; i < t->n; i++) mask |= bit(t->label[i]);
    return mask;
}

/* An error at a place of the text. */
static bool WICK_PRINTF(3, 4) refuse(einsum *e, const char *at, const char *fmt, ...) {
    wick_msg what;
    va_list args;
    va_start(args, fmt);
    wick_msg_setv(&what, WICK_ERR_SHAPE, fmt, args);
    va_end(args);
    e->poison = wick_poison(e->ctx, WICK_ERR_SHAPE, "einsum \"%s\": %s, at character %d (\"%.8s\")", e->text, what.text,
                            (int)(at - e->text) + 1, *at ? at : "end");
    return false;
}

static int letter(char c) { return c >= 'A' && c <= 'Z' ? c - 'A' : c >= 'a' && c <= 'z' ? 26 + c - 'a' : -1; }

/* Reads labels up to a comma, an arrow or the end. before: how many come before the ellipsis, or -1: there is none. */
static const char *read_term(einsum *e, const char *p, int label[64], const char *place[64], int *n, int *before) {
    *n = 0;
    *before = -1;
    for (; *p && *p != ',' && *p != '-'; p++) {
        if (*p == ' ') continue;
        if (*p == '.') {
            if (p[1] != '.' || p[2] != '.') return refuse(e, p, "an ellipsis has three dots"), NULL;
            if (*before >= 0) return refuse(e, p, "a second ellipsis in one term"), NULL;
            *before = *n;
            p += 2;
            continue;
        }
        const int l = letter(*p);
        if (l < 0) {
            return refuse(e, p, "'%c' is no label: those are letters", *p), NULL;
        }
        if (*n == 64) return refuse(e, p, "too many labels"), NULL;
        place[*n] = p;
        label[(*n)++] = l;
    }
    if (*p == '-' && p[1] != '>') return refuse(e, p, "an arrow is \"->\""), NULL;
    return p;
}

static bool give_extent(einsum *e, const char *at, int label, int64_t extent) {
    int64_t *have = &e->extent[label];
    if (*have == extent || extent == 1) return true;
    if (*have != 1) {
        if (label >= LETTERS)
            return refuse(e, at, "axes of an ellipsis do not broadcast: %lld here and %lld before", (long long)extent,
                          (long long)*have);
        return refuse(e, at, "label '%c' has extent %lld here and %lld before", *at, (long long)extent,
                      (long long)*have);
    }
    *have = extent;
    return true;
}

/* Operand i: its labels from the text, the extents from x. */
static const char *read_operand(einsum *e, const char *p, int i) {
    int label[64], n, before;
    const char *place[64], *start = p;
    if (!(p = read_term(e, p, label, place, &n, &before))) return NULL;
    const int rank = wick_tensor_rank(e->x[i]), dots = rank - n;
    const int64_t *dims = wick_tensor_dims(e->x[i]);
    if (dots < 0 || (before < 0 && dots)) {
        return refuse(e, start, "term %d has %d labels for a %d-d tensor", i + 1, n, rank), NULL;
    }
    term *t = &e->in[i];
    if (before >= 0) e->ellipsis = WICK_MAX(e->ellipsis, dots);
    for (int k = 0, from = 0; k < rank; k++) {
        const bool dot = before >= 0 && k >= before && k < before + dots;
        const int l = dot ? LABELS - dots + k - before : label[from];
        const char *at = dot ? start : place[from];
        for (int other = 0; other < t->n; other++) {
            if (t->label[other] == l && dims[other] != dims[k]) {
                return refuse(e, at, "label '%c' is repeated for axes of %lld and %lld", *at, (long long)dims[other],
                              (long long)dims[k]),
                       NULL;
            }
        }
        t->label[t->n++] = (uint8_t)l;
        e->count[l]++;
        if (!give_extent(e, at, l, dims[k])) return NULL;
        from += !dot;
    }
    return p;
}

static bool read_text(einsum *e) {
    const char *p = e->text;
    for (int i = 0; i < LABELS; i++) e->extent[i] = 1;
    for (int i = 0; i < e->n; i++) {
        if (!(p = read_operand(e, p, i))) return false;
        const bool more = *p == ',';
        if (more == (i == e->n - 1)) {
            return refuse(e, p, more ? "a term more than the %d operands" : "only %d terms", more ? e->n : i + 1);
        }
        p += more;
    }
    if (!*p) { /* implicit: the ellipsis, then what appears once, in order */
        for (int l = LABELS - e->ellipsis; l < LABELS; l++) e->out.label[e->out.n++] = (uint8_t)l;
        for (int l = 0; l < LETTERS; l++) {
            if (e->count[l] != 1) continue;
            if (e->out.n == WICK_MAX_DIMS) return refuse(e, p, "the result has more than 8 dims");
            e->out.label[e->out.n++] = (uint8_t)l;
        }
        return true;
    }
    int label[64], n, before;
    const char *place[64], *end = read_term(e, p + 2, label, place, &n, &before);
    if (!end) return false;
    if (*end) return refuse(e, end, "nothing may follow the result");
    if (n + (before >= 0 ? e->ellipsis : 0) > WICK_MAX_DIMS) return refuse(e, p, "the result has more than 8 dims");
    uint64_t seen = 0;
    for (int k = 0; k <= n; k++) {
        if (k == before)
            for (int l = LABELS - e->ellipsis; l < LABELS; l++) e->out.label[e->out.n++] = (uint8_t)l;
        if (k == n) break;
        if (!e->count[label[k]] || seen & bit(label[k]))
            return refuse(e, place[k], "label '%c' of the result is %s", *place[k],
                          e->count[label[k]] ? "there twice" : "in no operand");
        seen |= bit(label[k]);
        e->out.label[e->out.n++] = (uint8_t)label[k];
    }
    return true;
}

/* ---- one operand ------------------------------------------------------------------------------------------------- */

typedef struct part {
    wick_tensor *x;
    term t;
} part;

static wick_tensor *sum_as_is(wick_tensor *x, int n, const int *axes) { /* integers stay what they are: they wrap */
    return wick_as(wick_sum(x, n, axes, false), wick_tensor_dtype(x));
}

/* Takes the axes out that are in `drop`: summed; those of extent 1 are just left away. */
static void sum_out(part *p, uint64_t drop) {
    int axes[WICK_MAX_DIMS], n = 0, kept = 0;
    for (int i = 0; i < p->t.n; i++) {
        if (drop & bit(p->t.label[i]))
            axes[n++] = i;
        else
            p->t.label[kept++] = p->t.label[i];
    }
    p->t.n = kept;
    if (n) p->x = sum_as_is(p->x, n, axes);
}

static void permute_to(part *p, const term *order) {
    int axes[WICK_MAX_DIMS];
    bool same = true;
    for (int i = 0; i < order->n; i++) {
        for (int k = 0; k < p->t.n; k++)
            if (p->t.label[k] == order->label[i]) axes[i] = k;
        same &= axes[i] == i;
    }
    if (!same) p->x = wick_permute(p->x, order->n, axes);
    p->t = *order;
}

/* Diagonals of repeated labels; axes of 1 that others broadcast go away. */
static void settle(const einsum *e, part *p) {
    for (int i = 0; i < p->t.n; i++)
        for (int k = i + 1; k < p->t.n; k++) {
            if (p->t.label[k] != p->t.label[i]) continue;
            const uint8_t label = p->t.label[i];
            p->x = wick_diagonal(p->x, 0, i, k); /* they become the last axis */
            int kept = 0;
            for (int j = 0; j < p->t.n; j++)
                if (j != i && j != k) p->t.label[kept++] = p->t.label[j];
            p->t.label[kept++] = label;
            p->t.n = kept;
            i = -1; /* from the start: a label may be there three times */
            break;
        }
    int64_t dims[WICK_MAX_DIMS];
    int kept = 0;
    const int64_t *have = wick_tensor_dims(p->x);
    if (p->x->error) return;
    for (int i = 0; i < p->t.n; i++) {
        if (have[i] == 1 && e->extent[p->t.label[i]] != 1) continue;
        dims[kept] = have[i];
        p->t.label[kept++] = p->t.label[i];
    }
    if (kept != p->t.n) p->x = wick_reshape(p->x, kept, dims);
    p->t.n = kept;
}

/* ---- two operands ------------------------------------------------------------------------------------------------ */

/* The labels of `from` that are in `which`, at the end of `to`. */
static void append(term *to, const term *from, uint64_t which) {
    for (int i = 0; i < from->n; i++)
        if (which & bit(from->label[i])) to->label[to->n++] = from->label[i];
}
static int64_t extents(const einsum *e, uint64_t labels) {
    int64_t n = 1;
    for (int l = 0; l < LABELS; l++)
        if (labels & bit(l) && wick_mul_overflows(n, e->extent[l], &n)) return INT64_MAX;
    return n;
}

/* p as [batch..., rows, cols] of its labels in those groups. */
static wick_tensor *as_matrices(const einsum *e, part p, const term *batch, const term *rows, const term *cols) {
    term order = *batch;
    append(&order, rows, ~(uint64_t)0);
    append(&order, cols, ~(uint64_t)0);
    permute_to(&p, &order);
    int64_t dims[WICK_MAX_DIMS];
    for (int i = 0; i < batch->n; i++) dims[i] = e->extent[batch->label[i]];
    dims[batch->n] = extents(e, mask_of(rows));
    dims[batch->n + 1] = extents(e, mask_of(cols));
    return rows->n == 1 && cols->n == 1 ? p.x : wick_reshape(p.x, batch->n + 2, dims);
}

/* a times b, with all but the labels in keep summed. */
static part contract(const einsum *e, part a, part b, uint64_t keep) {
    const uint64_t in_a = mask_of(&a.t), in_b = mask_of(&b.t), both = in_a & in_b, summed = both & ~keep;
    sum_out(&a, in_a & ~in_b & ~keep);
    sum_out(&b, in_b & ~in_a & ~keep);
    const uint64_t free_a = in_a & ~in_b & keep, free_b = in_b & ~in_a & keep;
    /* The result in the order that the final one has: the operand with its first free label comes first. */
    for (int i = 0; i < e->out.n; i++) {
        const uint64_t l = bit(e->out.label[i]);
        if (l & free_a) break;
        if (l & free_b) {
            const part other = a;
            a = b, b = other;
            return contract(e, a, b, keep);
        }
    }
    part r = {.x = NULL};
    term batch = {0}, rows = {0}, cols = {0}, inner = {0};
    append(&batch, &a.t, both & keep);
    append(&rows, &a.t, free_a);
    append(&cols, &b.t, free_b);
    append(&inner, wick_tensor_count(a.x) >= wick_tensor_count(b.x) ? &a.t : &b.t, summed);
    r.t = batch;
    append(&r.t, &rows, ~(uint64_t)0);
    append(&r.t, &cols, ~(uint64_t)0);
    const bool wide_a = extents(e, free_a) != 1, wide_b = extents(e, free_b) != 1;
    /* nothing summed: an outer product, for which a product of depth 1 is the fastest */
    if (summed ? wide_a || wide_b : wide_a && wide_b) {
        r.x = wick_matmul(as_matrices(e, a, &batch, &rows, &inner), as_matrices(e, b, &batch, &inner, &cols));
        int64_t dims[WICK_MAX_DIMS];
        for (int i = 0; i < r.t.n; i++) dims[i] = e->extent[r.t.label[i]];
        if (rows.n != 1 || cols.n != 1) r.x = wick_reshape(r.x, r.t.n, dims);
        return r;
    }
    /* Elementwise: both with the axes of the result in its order, then the summed ones; 1 where they have none. */
    term order = {0};
    append(&order, &e->out, mask_of(&r.t));
    append(&order, &r.t, ~mask_of(&order));
    r.t = order;
    append(&order, &inner, ~(uint64_t)0);
    part *parts[2] = {&a, &b};
    for (int k = 0; k < 2; k++) {
        term own = {0};
        int64_t dims[WICK_MAX_DIMS];
        const uint64_t mask = mask_of(&parts[k]->t);
        append(&own, &order, mask);
        permute_to(parts[k], &own);
        for (int i = 0; i < order.n; i++) dims[i] = mask & bit(order.label[i]) ? e->extent[order.label[i]] : 1;
        if (own.n != order.n) parts[k]->x = wick_reshape(parts[k]->x, order.n, dims);
    }
    r.x = wick_mul(a.x, b.x);
    int axes[WICK_MAX_DIMS];
    for (int i = 0; i < inner.n; i++) axes[i] = r.t.n + i;
    if (inner.n) r.x = sum_as_is(r.x, inner.n, axes);
    return r;
}

/* ---- the order --------------------------------------------------------------------------------------------------- */

/* Better: less beyond the bound first, then fewer multiplications. */
typedef struct cost {
    double beyond, flops;
} cost;
static bool better(cost a, cost b) { return a.beyond < b.beyond || (a.beyond == b.beyond && a.flops < b.flops); }

/* Of one pair; infinite where the intermediate would have too many dims. */
static cost pair_cost(const einsum *e, uint64_t a, uint64_t b, uint64_t keep, double bound) {
    const uint64_t left = (a | b) & keep;
    const bool multiplied = !(a & b & ~keep) || extents(e, a ^ b) == 1; /* elementwise */
    if (__builtin_popcountll(multiplied ? a | b : left) > WICK_MAX_DIMS) return (cost){INFINITY, INFINITY};
    const double size = (double)extents(e, left);
    return (cost){size > bound ? size - bound : 0, (double)extents(e, a | b)};
}

/* Labels that a subset of operands keeps: those that the others or the result have. */
static uint64_t kept_of(int n, const uint64_t *mask, uint64_t out, unsigned subset) {
    uint64_t keep = out, all = 0;
    for (int i = 0; i < n; i++) *(subset >> i & 1 ? &all : &keep) |= mask[i];
    return all & keep;
}

/* Contracts the operands of `subset` in the order of the table of splits. */
static part along(const einsum *e, const part *parts, const uint16_t *split, const uint64_t *mask, uint64_t out,
                  unsigned subset) {
    if (!(subset & (subset - 1))) return parts[__builtin_ctz(subset)];
    part a = along(e, parts, split, mask, out, split[subset]),
         b = along(e, parts, split, mask, out, subset & ~(unsigned)split[subset]);
    return contract(e, a, b, kept_of(e->n, mask, out, subset));
}

static part exact(const einsum *e, const part *parts, double bound) {
    cost best[1 << EXACT];
    uint16_t split[1 << EXACT];
    uint64_t mask[EXACT], kept[1 << EXACT];
    const uint64_t out = mask_of(&e->out);
    const unsigned all = (1u << e->n) - 1;
    for (int i = 0; i < e->n; i++) mask[i] = mask_of(&parts[i].t);
    for (unsigned s = 1; s <= all; s++) {
        kept[s] = s & (s - 1) ? kept_of(e->n, mask, out, s) : mask[__builtin_ctz(s)];
        best[s] = s & (s - 1) ? (cost){INFINITY, INFINITY} : (cost){0, 0};
        split[s] = (uint16_t)(s & -s);
        for (unsigned a = (s - 1) & s; a > (s & ~a); a = (a - 1) & s) { /* each split once */
            const unsigned b = s & ~a;
            cost c = pair_cost(e, kept[a], kept[b], kept[s], s == all ? INFINITY : bound);
            c.beyond = fmax(c.beyond, fmax(best[a].beyond, best[b].beyond));
            c.flops += best[a].flops + best[b].flops;
            if (better(c, best[s])) best[s] = c, split[s] = (uint16_t)a;
        }
    }
    if (isinf(best[all].flops)) return (part){.x = NULL};
    return along(e, parts, split, mask, out, all);
}

/* The cheapest pair, again and again; size that goes away breaks ties. */
static part greedy(const einsum *e, part *parts, double bound) {
    const uint64_t out = mask_of(&e->out);
    int n = e->n;
    while (n > 1) {
        int a = -1, b = -1;
        cost best = {INFINITY, INFINITY};
        uint64_t best_keep = 0;
        for (int i = 0; i < n; i++)
            for (int k = i + 1; k < n; k++) {
                uint64_t keep = out, mi = mask_of(&parts[i].t), mk = mask_of(&parts[k].t);
                for (int j = 0; j < n; j++)
                    if (j != i && j != k) keep |= mask_of(&parts[j].t);
                cost c = pair_cost(e, mi, mk, (mi | mk) & keep, n == 2 ? INFINITY : bound);
                c.flops += (double)extents(e, (mi | mk) & keep) - (double)extents(e, mi) - (double)extents(e, mk);
                if (better(c, best)) best = c, a = i, b = k, best_keep = keep;
            }
        if (a < 0) return (part){.x = NULL};
        parts[a] = contract(e, parts[a], parts[b], best_keep);
        parts[b] = parts[--n];
    }
    return parts[0];
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

static wick_tensor *run(einsum *e, int64_t max_elements) {
    part parts[OPERANDS];
    const uint64_t out = mask_of(&e->out);
    int64_t most = extents(e, out);
    for (int i = 0; i < e->n; i++) {
        parts[i] = (part){e->x[i], e->in[i]};
        most = WICK_MAX(most, wick_tensor_count(e->x[i]));
        settle(e, &parts[i]);
    }
    for (int i = 0; i < e->n; i++) {
        uint64_t others = out;
        for (int k = 0; k < e->n; k++)
            if (k != i) others |= mask_of(&parts[k].t);
        sum_out(&parts[i], mask_of(&parts[i].t) & ~others);
    }
    const double bound = max_elements > 0 ? (double)max_elements : fmax((double)most, 1 << 26);
    part p = e->n <= EXACT ? exact(e, parts, bound) : greedy(e, parts, bound);
    if (!p.x)
        return wick_poison(e->ctx, WICK_ERR_UNSUPPORTED,
                           "einsum \"%s\": every order has an intermediate of more than 8 dims", e->text);
    term have = {0};
    append(&have, &e->out, mask_of(&p.t));
    permute_to(&p, &have);
    int64_t dims[WICK_MAX_DIMS];
    for (int i = 0; i < e->out.n; i++) dims[i] = e->extent[e->out.label[i]];
    return have.n == e->out.n ? p.x : wick_reshape(p.x, e->out.n, dims);
}

wick_tensor *wick_einsum_within(const char *text, int n, wick_tensor *const *xs, int64_t max_elements) {
    if (n <= 0 || !xs) return NULL;
    einsum e = {.text = text ? text : "", .n = n};
    for (int i = 0; i < n && !e.ctx; i++) e.ctx = xs[i] ? xs[i]->ctx : NULL;
    if (!e.ctx) return NULL;
    if (!text || n > OPERANDS)
        return wick_poison(e.ctx, WICK_ERR_INVALID, "einsum: %s", text ? "more than 32 operands" : "the text is NULL");
    int dtype = -1;
    for (int i = 0; i < n; i++) {
        if (!xs[i]) return wick_poison(e.ctx, WICK_ERR_INVALID, "einsum \"%s\": operand %d is NULL", text, i + 1);
        if (xs[i]->error) return wick_poison_like(e.ctx, xs[i]->error);
        const int own = wick_tensor_dtype(xs[i]),
                  both = dtype < 0 ? own : (int)wick_dtype_promote((wick_dtype)dtype, (wick_dtype)own);
        if (both == WICK_DTYPE_COUNT)
            return wick_poison(e.ctx, WICK_ERR_DTYPE, "einsum \"%s\": %s and %s have no common dtype; cast one of them",
                               text, wick_dtype_name((wick_dtype)dtype), wick_dtype_name((wick_dtype)own));
        dtype = both;
    }
    if (dtype == WICK_BOOL)
        return wick_poison(e.ctx, WICK_ERR_DTYPE, "einsum \"%s\": bool has no arithmetic; cast it", text);
    const bool half = dtype == WICK_F16 || dtype == WICK_BF16; /* computed in f32, rounded once */
    for (int i = 0; i < n; i++) e.x[i] = wick_as(xs[i], half ? WICK_F32 : (wick_dtype)dtype);
    if (!read_text(&e)) return e.poison;
    return wick_as(run(&e, max_elements), (wick_dtype)dtype);
}
wick_tensor *wick_einsum(const char *text, int n, wick_tensor *const *xs) { return wick_einsum_within(text, n, xs, 0); }
