/* extents.c: expressions of extents: made, found, read, printed and evaluated. */
#include "graph/extents.h"

static int64_t *values_of(const wick_extents *x, int32_t e) { return x->values + (size_t)e * (size_t)x->n_points; }

/* Rounded down, as shapes of windows are; by >= 1. */
static int64_t quotient(int64_t a, int64_t by) { return a / by - (a % by < 0); }

/* One at a point; v has those before it. */
static bool value_of(const wick_extent *e, const int64_t *point, const int64_t *v, int64_t *out, size_t stride,
                     size_t at) {
#define OF(k) v[(size_t)(k) * stride + at]
    switch (e->kind) {
    case WICK_EXTENT_NUMBER: *out = e->number; return true;
    case WICK_EXTENT_DIM: *out = point[e->a]; return true;
    case WICK_EXTENT_SUM: return !wick_add_overflows(OF(e->a), OF(e->b), out);
    case WICK_EXTENT_PRODUCT: return !wick_mul_overflows(OF(e->a), OF(e->b), out);
    case WICK_EXTENT_MIN: *out = WICK_MIN(OF(e->a), OF(e->b)); return true;
    case WICK_EXTENT_MAX: *out = WICK_MAX(OF(e->a), OF(e->b)); return true;
    case WICK_EXTENT_SEEN: return false;
    default: *out = quotient(OF(e->a), e->number); return true;
    }
#undef OF
}

bool wick_extents_eval(const wick_extents *x, const int64_t *point, int64_t *out) {
    for (int32_t i = 0; i < x->n; i++)
        if (!value_of(&x->at[i], point, out, &out[i], 1, 0)) return false;
    return true;
}

/* ---- making ------------------------------------------------------------------------------------------------------ */

static size_t row_bytes(const wick_extents *x) { return (size_t)x->n_points * sizeof(int64_t); }

static uint32_t slot_of(const wick_extents *x, const int64_t *values) {
    uint32_t at = (uint32_t)wick_hash(values, row_bytes(x), 0) & (x->slots - 1);
    while (x->table[at] >= 0 && memcmp(values_of(x, x->table[at]), values, row_bytes(x)) != 0)
        at = (at + 1) & (x->slots - 1);
    return at;
}

static void fill_table(wick_extents *x);
static bool more_room(wick_extents *x) {
    const int32_t cap = x->cap ? 2 * x->cap : 64;
    wick_extent *at = wick_arena_alloc(x->arena, (size_t)cap * sizeof *at);
    int64_t *values = wick_arena_alloc(x->arena, (size_t)cap * row_bytes(x) + 1);
    int32_t *table = wick_arena_alloc(x->arena, 2 * (size_t)cap * sizeof *table);
    if (!at || !values || !table) return !(x->nomem = true);
    if (x->n) memcpy(at, x->at, (size_t)x->n * sizeof *at), memcpy(values, x->values, (size_t)x->n * row_bytes(x));
    x->at = at, x->values = values, x->table = table, x->cap = cap, x->slots = 2 * (uint32_t)cap;
    fill_table(x);
    return true;
}

/* The number, where a dim has its values. */
static int32_t same_number(const wick_extents *x, int64_t number) {
    int32_t i = x->n - 1;
    while (i >= 0 && (x->at[i].kind != WICK_EXTENT_NUMBER || x->at[i].number != number)) i--;
    return i;
}
/* Dims and numbers are made even where another has their values; all else is the first with its values. */
static int32_t add(wick_extents *x, wick_extent e) {
    const uint32_t slot = slot_of(x, values_of(x, x->n));
    const int32_t there = x->table[slot];
    if (there >= 0 && e.kind == WICK_EXTENT_NUMBER && x->at[there].kind != WICK_EXTENT_NUMBER) {
        const int32_t same = same_number(x, e.number);
        if (same >= 0) return same;
    } else if (there >= 0 && e.kind != WICK_EXTENT_DIM) return there;
    if (there < 0) x->table[slot] = x->n;
    x->at[x->n] = e;
    return x->n++;
}
static int32_t make(wick_extents *x, wick_extent e) {
    if (x->nomem || (x->n == x->cap && !more_room(x))) return -1;
    int64_t *values = values_of(x, x->n);
    for (int p = 0; p < x->n_points; p++)
        if (!value_of(&e, x->points + (size_t)p * (size_t)x->n_dims, x->values, &values[p], (size_t)x->n_points,
                      (size_t)p))
            return -1;
    return add(x, e);
}

int32_t wick_extents_seen(wick_extents *x, const int64_t *values) {
    if (x->nomem || (x->n == x->cap && !more_room(x))) return -1;
    memcpy(values_of(x, x->n), values, row_bytes(x));
    return add(x, (wick_extent){.kind = WICK_EXTENT_SEEN});
}

static bool is_number(const wick_extents *x, const int64_t *values) {
    int p = 1;
    while (p < x->n_points && values[p] == values[0]) p++;
    return p >= x->n_points && x->n_points;
}
int32_t wick_extents_known(wick_extents *x, const int64_t *values) {
    if (x->nomem || (x->n == x->cap && !more_room(x))) return -1;
    return is_number(x, values) ? wick_extents_number(x, values[0]) : x->table[slot_of(x, values)];
}

static void fill_table(wick_extents *x) {
    memset(x->table, -1, x->slots * sizeof *x->table);
    for (int32_t i = 0; i < x->n; i++) {
        const uint32_t slot = slot_of(x, values_of(x, i));
        if (x->table[slot] < 0) x->table[slot] = i;
    }
}
void wick_extents_cut(wick_extents *x, int32_t n) {
    if (n >= x->n || !x->table) return;
    x->n = n;
    fill_table(x);
}

bool wick_extents_init(wick_extents *x, wick_arena *arena, int n_dims, const char *const *names, int n_points,
                       const int64_t *points) {
    *x = (wick_extents){.arena = arena, .n_dims = n_dims, .n_points = n_points, .names = names, .points = points};
    for (int s = 0; s < n_dims; s++) make(x, (wick_extent){.kind = WICK_EXTENT_DIM, .a = s});
    return !x->nomem;
}
int32_t wick_extents_number(wick_extents *x, int64_t number) {
    return make(x, (wick_extent){.kind = WICK_EXTENT_NUMBER, .number = number});
}
int32_t wick_extents_sum(wick_extents *x, int32_t a, int32_t b) {
    if (a < 0 || b < 0) return -1;
    const wick_extent left = x->at[a];
    int64_t number;
    if (x->at[b].kind == WICK_EXTENT_NUMBER && left.kind == WICK_EXTENT_SUM &&
        x->at[left.b].kind == WICK_EXTENT_NUMBER &&
        !wick_add_overflows(x->at[left.b].number, x->at[b].number, &number)) {
        a = left.a;
        if (!number) return a;
        b = wick_extents_number(x, number);
    }
    return b < 0 ? -1 : make(x, (wick_extent){.kind = WICK_EXTENT_SUM, .a = a, .b = b});
}
int32_t wick_extents_product(wick_extents *x, int32_t a, int32_t b) {
    return a < 0 || b < 0 ? -1 : make(x, (wick_extent){.kind = WICK_EXTENT_PRODUCT, .a = a, .b = b});
}
/* Of a quotient, and a number: floor((floor(w / p) + c) / q) is floor((w + p c) / (p q)). */
int32_t wick_extents_quotient(wick_extents *x, int32_t a, int64_t by) {
    if (a < 0) return -1;
    const bool sum = x->at[a].kind == WICK_EXTENT_SUM && x->at[x->at[a].b].kind == WICK_EXTENT_NUMBER;
    const wick_extent inner = x->at[sum ? x->at[a].a : a];
    int64_t more = sum ? x->at[x->at[a].b].number : 0, both;
    if (inner.kind == WICK_EXTENT_QUOTIENT && !wick_mul_overflows(more, inner.number, &more) &&
        !wick_mul_overflows(by, inner.number, &both)) {
        const int32_t w = more ? wick_extents_sum(x, inner.a, wick_extents_number(x, more)) : inner.a;
        if (w >= 0) a = w, by = both;
    }
    return make(x, (wick_extent){.kind = WICK_EXTENT_QUOTIENT, .a = a, .number = by});
}

/* m * a + b */
static int32_t line(wick_extents *x, int64_t m, int32_t a, int64_t b) {
    if (m != 1) a = wick_extents_product(x, wick_extents_number(x, m), a);
    return b ? wick_extents_sum(x, a, wick_extents_number(x, b)) : a;
}

/* ---- finding ----------------------------------------------------------------------------------------------------- */

typedef struct search {
    wick_extents *x;
    const int64_t *v; /* wanted */
    int64_t *w;       /* a candidate's */
} search;

/* v = m w + b at all points. */
static bool is_line(const search *s, const int64_t *w, int64_t *m, int64_t *b) {
    const int n = s->x->n_points;
    int p = 1;
    while (p < n && w[p] == w[0]) p++;
    int64_t dv, dw, product;
    if (p == n || wick_sub_overflows(s->v[p], s->v[0], &dv) || wick_sub_overflows(w[p], w[0], &dw) || !dw || dv % dw)
        return false;
    *m = dv / dw;
    if (!*m || wick_mul_overflows(*m, w[0], &product) || wick_sub_overflows(s->v[0], product, b)) return false;
    for (int i = 0; i < n; i++)
        if (wick_mul_overflows(*m, w[i], &product) || wick_add_overflows(product, *b, &product) || product != s->v[i])
            return false;
    return true;
}

/* v = (w + b) / by rounded down, at all points, for b from *least to *most. */
static bool is_quotient(const search *s, const int64_t *w, int64_t by, int64_t *least, int64_t *most) {
    *least = INT64_MIN, *most = INT64_MAX;
    for (int i = 0; i < s->x->n_points; i++) {
        int64_t low, high;
        if (wick_mul_overflows(s->v[i], by, &low) || wick_sub_overflows(low, w[i], &low) ||
            wick_add_overflows(low, by - 1, &high))
            return false;
        *least = WICK_MAX(*least, low);
        *most = WICK_MIN(*most, high);
        if (*least > *most) return false;
    }
    return true;
}

static bool multiply(const search *s, int64_t *out, const int64_t *a, const int64_t *b) {
    for (int i = 0; i < s->x->n_points; i++)
        if (wick_mul_overflows(a[i], b[i], &out[i])) return false;
    return true;
}

static int32_t affine(const search *s) {
    wick_extents *x = s->x;
    int64_t rest = s->v[0];
    int32_t sum = -1;
    for (int d = 0; d < x->n_dims; d++) {
        const int64_t *base = x->points,
                      *moved = 1 + d < x->n_points ? x->points + (size_t)(1 + d) * (size_t)x->n_dims : base;
        const int64_t step = moved[d] - base[d], more = step ? s->v[1 + d] - s->v[0] : 0;
        if (!more) continue;
        int64_t part;
        if (more % step || wick_mul_overflows(more / step, base[d], &part) || wick_sub_overflows(rest, part, &rest))
            return -1;
        const int32_t term = line(x, more / step, d, 0);
        sum = sum < 0 ? term : wick_extents_sum(x, sum, term);
        if (sum < 0) return -1;
    }
    if (sum < 0) sum = wick_extents_number(x, rest);
    else if (rest) sum = wick_extents_sum(x, sum, wick_extents_number(x, rest));
    return sum >= 0 && memcmp(values_of(x, sum), s->v, row_bytes(x)) == 0 ? sum : -1;
}

/* Of one other: a line, or a line rounded down. b is free where the points don't tell: the one nearest to 0. */
static int32_t of_one(const search *s, int32_t a) {
    enum { MOST_TIMES = 8, MOST_BY = 1024 };
    wick_extents *x = s->x;
    int64_t m, b, least, most;
    if (is_line(s, values_of(x, a), &m, &b)) return line(x, m, a, b);
    /* The slope tells the divisor, nearly: v is about w times / by. */
    const int64_t *w = values_of(x, a);
    int high = 0, low = 0;
    for (int i = 1; i < x->n_points; i++) {
        if (w[i] > w[high]) high = i;
        if (w[i] < w[low]) low = i;
    }
    const double dw = (double)w[high] - (double)w[low], dv = (double)s->v[high] - (double)s->v[low];
    if (dw <= 0 || dv < 0) return -1;
    for (int64_t times = 1; times <= MOST_TIMES; times++) {
        const double from = dw * (double)times / (dv + 1), to = dv > 1 ? dw * (double)times / (dv - 1) : MOST_BY;
        for (int i = 0; i < x->n_points; i++)
            if (wick_mul_overflows(w[i], times, &s->w[i])) return -1;
        for (int64_t by = WICK_MAX(2, (int64_t)from); by <= MOST_BY && (double)by <= to + 1; by++) {
            if (!is_quotient(s, s->w, by, &least, &most)) continue;
            b = least > 0 ? least : most < 0 ? most : 0;
            const int32_t e = wick_extents_quotient(x, line(x, times, a, b), by);
            if (e >= 0 && x->at[e].kind == WICK_EXTENT_QUOTIENT && !x->at[e].least && !x->at[e].most) {
                const int64_t scale = x->at[e].number / by; /* of what quotients became one */
                x->at[e].least = (least - b) * scale, x->at[e].most = (most - b) * scale;
                for (int64_t more = by + 1; more <= MOST_BY && (double)more <= to + 1 && !x->at[e].other.by; more++)
                    if (is_quotient(s, s->w, more, &least, &most))
                        x->at[e].other.of = a, x->at[e].other.times = times, x->at[e].other.by = more,
                        x->at[e].other.add = least > 0  ? least
                                             : most < 0 ? most
                                                        : 0;
            }
            return e;
        }
    }
    return -1;
}

/* m a b, and what divides that evenly; a + b + m, a - b + m. */
static int32_t of_two(const search *s, int32_t a, int32_t b) {
    enum { MOST_BY = 64 };
    wick_extents *x = s->x;
    const int64_t *va = values_of(x, a), *vb = values_of(x, b);
    int64_t m, add, least, most;
    if (multiply(s, s->w, va, vb)) {
        if (is_line(s, s->w, &m, &add) && !add) return line(x, m, wick_extents_product(x, a, b), 0);
        const int64_t by = s->v[0] > 0 ? s->w[0] / s->v[0] : 0;
        if (by > 1 && by <= MOST_BY && is_quotient(s, s->w, by, &least, &most) && least <= 0 && most >= 0)
            return wick_extents_quotient(x, wick_extents_product(x, a, b), by);
    }
    for (int sign = 1; sign >= -1; sign -= 2) {
        for (int i = 0; i < x->n_points; i++)
            if (wick_add_overflows(va[i], sign * vb[i], &s->w[i])) return -1;
        if (is_line(s, s->w, &m, &add) && m == 1) return line(x, 1, wick_extents_sum(x, a, line(x, sign, b, 0)), add);
    }
    return -1;
}

static int32_t of_three(const search *s, int32_t a, int32_t b, int32_t c) {
    wick_extents *x = s->x;
    int64_t m, add;
    if (!multiply(s, s->w, values_of(x, a), values_of(x, b)) || !multiply(s, s->w, s->w, values_of(x, c)) ||
        !is_line(s, s->w, &m, &add) || add)
        return -1;
    return line(x, m, wick_extents_product(x, wick_extents_product(x, a, b), c), 0);
}

/* The lesser of a + p and b + q, or the greater: p and q are as tight as the points let them be. b -1: of a + p and a
 * number. */
static int32_t of_either(const search *s, int32_t a, int32_t b, bool lesser) {
    wick_extents *x = s->x;
    const int64_t *va = values_of(x, a), *vb = b < 0 ? NULL : values_of(x, b);
    int64_t p = 0, q = 0;
    for (int i = 0; i < x->n_points; i++) {
        int64_t da, db;
        if (wick_sub_overflows(s->v[i], va[i], &da) || wick_sub_overflows(s->v[i], vb ? vb[i] : 0, &db)) return -1;
        if (!i || (lesser ? da > p : da < p)) p = da;
        if (!i || (lesser ? db > q : db < q)) q = db;
    }
    for (int i = 0; i < x->n_points; i++) {
        int64_t wa, wb;
        if (wick_add_overflows(va[i], p, &wa) || wick_add_overflows(vb ? vb[i] : 0, q, &wb) ||
            s->v[i] != (lesser ? WICK_MIN(wa, wb) : WICK_MAX(wa, wb)))
            return -1;
    }
    const int32_t first = line(x, 1, a, p), second = b < 0 ? wick_extents_number(x, q) : line(x, 1, b, q);
    return first < 0 || second < 0
               ? -1
               : make(x, (wick_extent){.kind = lesser ? WICK_EXTENT_MIN : WICK_EXTENT_MAX, .a = first, .b = second});
}

/* m times a quotient of one of the list, plus or minus one of the list, plus a number: "8*floor((n + 7) / 8) - n" fills
 * n up to eights. */
static int32_t of_steps(const search *s, int n, const int32_t *list) {
    enum { MOST = 6 };
    wick_extents *x = s->x;
    const int count = x->n_points;
    int64_t *rest = wick_arena_alloc(x->arena, row_bytes(x));
    if (!rest) return x->nomem = true, -1;
    n = WICK_MIN(n, MOST);
    for (int i = -1; i < 2 * n; i++) {
        const int32_t w = i < 0 ? -1 : list[i / 2];
        const int64_t sign = i % 2 ? 1 : -1;
        int64_t m = 0;
        bool good = true;
        for (int p = 0; p < count && good; p++) {
            int64_t more = 0;
            if (w >= 0) good = !wick_mul_overflows(sign, values_of(x, w)[p], &more);
            good = good && !wick_sub_overflows(s->v[p], more, &rest[p]) &&
                   !wick_sub_overflows(rest[p], rest[0], &more) && more != INT64_MIN;
            if (good) m = wick_common_divisor(m, more);
        }
        if (!good || m < 2) continue;
        const int64_t add = rest[0] % m;
        for (int p = 0; p < count; p++) rest[p] = (rest[p] - add) / m;
        const search inner = {x, rest, s->w};
        for (int k = 0; k < n; k++) {
            const int32_t e = of_one(&inner, list[k]);
            if (e < 0) continue;
            const int32_t whole = line(x, m, e, w < 0 ? add : 0);
            return w < 0 ? whole : line(x, 1, wick_extents_sum(x, whole, line(x, sign, w, 0)), add);
        }
    }
    return -1;
}

enum { LOOKED_AT = 32, NEAREST = 12 }; /* expressions tried for one, and in products of three */

int32_t wick_extents_find(wick_extents *x, const int64_t *values, int n_near, const int32_t *near) {
    if (x->nomem || (x->n == x->cap && !more_room(x))) return -1;
    int32_t found = wick_extents_known(x, values), list[LOOKED_AT];
    int n = 0;
    search s = {x, values, wick_arena_alloc(x->arena, row_bytes(x))};
    if (found >= 0) return found;
    if (!s.w) return x->nomem = true, -1;
    if ((found = affine(&s)) >= 0) return found;
    const int32_t known = x->n;
    for (int i = 0; i < n_near + x->n_dims + known && n < LOOKED_AT; i++) { /* those near, the dims, then the newest */
        const int32_t e = i < n_near               ? near[i]
                          : i < n_near + x->n_dims ? i - n_near
                                                   : known - 1 - (i - n_near - x->n_dims);
        bool seen = e < 0 || x->at[e].kind == WICK_EXTENT_NUMBER;
        for (int k = 0; k < n && !seen; k++) seen = list[k] == e;
        if (!seen) list[n++] = e;
    }
    for (int i = 0; i < n; i++)
        if ((found = of_one(&s, list[i])) >= 0) return found;
    for (int i = 0; i < n; i++)
        for (int k = 0; k <= i; k++)
            if ((found = of_two(&s, list[k], list[i])) >= 0) return found;
    for (int i = 0; i < n; i++) /* a - b the other way round */
        for (int k = 0; k < i; k++)
            if ((found = of_two(&s, list[i], list[k])) >= 0) return found;
    for (int lesser = 1; lesser >= 0; lesser--)
        for (int i = 0; i < n; i++)
            for (int k = -1; k < i; k++)
                if ((found = of_either(&s, list[i], k < 0 ? -1 : list[k], lesser)) >= 0) return found;
    for (int i = 0; i < n && i < NEAREST; i++)
        for (int k = 0; k <= i; k++)
            for (int l = 0; l <= k; l++)
                if ((found = of_three(&s, list[l], list[k], list[i])) >= 0) return found;
    return of_steps(&s, n, list);
}

/* The numbers that x can rise by: a multiple of this. */
static int64_t step_of(const wick_extents *x, int32_t i) {
    const wick_extent *e = &x->at[i];
    int64_t m;
    switch (e->kind) {
    case WICK_EXTENT_NUMBER: return 0;
    case WICK_EXTENT_SUM: return wick_common_divisor(step_of(x, e->a), step_of(x, e->b));
    case WICK_EXTENT_PRODUCT:
        if (x->at[e->a].kind != WICK_EXTENT_NUMBER || wick_mul_overflows(x->at[e->a].number, step_of(x, e->b), &m))
            return 1;
        return m < 0 ? -m : m;
    default: return 1;
    }
}
bool wick_extents_settled(const wick_extents *x, int32_t i) {
    const wick_extent *e = i >= 0 ? &x->at[i] : NULL;
    if (!e || e->kind == WICK_EXTENT_NUMBER || e->kind == WICK_EXTENT_DIM || e->kind == WICK_EXTENT_SEEN) return true;
    if (e->kind != WICK_EXTENT_QUOTIENT) return wick_extents_settled(x, e->a) && wick_extents_settled(x, e->b);
    /* Numbers b of (x + b) / by go in groups, where all that x can be are multiples of something that it has in common
     * with by. */
    return !e->other.by && e->most - e->least < WICK_MAX(wick_common_divisor(step_of(x, e->a), e->number), 1) &&
           wick_extents_settled(x, e->a);
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

typedef struct reader {
    wick_extents *x;
    const char *at;
    int depth;
} reader;

static bool is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '.' || (c >= '0' && c <= '9');
}
static char next(reader *r) {
    while (*r->at == ' ') r->at++;
    return *r->at;
}

static int32_t read_sum(reader *r);
static int32_t read_one(reader *r) {
    enum { DEEPEST = 32 };
    const char c = next(r);
    int64_t number = 0;
    if (c == '(') {
        if (++r->depth > DEEPEST) return -1;
        r->at++;
        const int32_t inner = read_sum(r);
        r->depth--;
        return next(r) == ')' ? r->at++, inner : -1;
    }
    if (c >= '0' && c <= '9') {
        for (; *r->at >= '0' && *r->at <= '9'; r->at++)
            if (wick_mul_overflows(number, 10, &number) || wick_add_overflows(number, *r->at - '0', &number)) return -1;
        return is_word(*r->at) ? -1 : wick_extents_number(r->x, number);
    }
    size_t length = 0;
    while (is_word(r->at[length])) length++;
    for (int d = 0; d < r->x->n_dims && length; d++)
        if (strlen(r->x->names[d]) == length && memcmp(r->x->names[d], r->at, length) == 0) return r->at += length, d;
    return -1;
}
static int32_t read_product(reader *r) {
    int32_t all = read_one(r);
    for (char c = next(r); all >= 0 && (c == '*' || c == '/'); c = next(r)) {
        r->at++;
        const int32_t more = read_one(r);
        if (more < 0) return -1;
        if (c == '*') all = wick_extents_product(r->x, all, more);
        else if (r->x->at[more].kind != WICK_EXTENT_NUMBER || r->x->at[more].number < 1) return -1;
        else all = wick_extents_quotient(r->x, all, r->x->at[more].number);
    }
    return all;
}
static int32_t read_sum(reader *r) {
    int32_t all = read_product(r);
    for (char c = next(r); all >= 0 && (c == '+' || c == '-'); c = next(r)) {
        r->at++;
        const int32_t more = read_product(r);
        all = wick_extents_sum(r->x, all,
                               c == '-' ? wick_extents_product(r->x, wick_extents_number(r->x, -1), more) : more);
    }
    return all;
}

int32_t wick_extents_parse(wick_extents *x, const char *text) {
    for (int d = 0; d < x->n_dims; d++) /* any text may be a name */
        if (strcmp(x->names[d], text) == 0) return d;
    reader r = {x, text, 0};
    const int32_t e = read_sum(&r);
    return next(&r) ? -1 : e;
}

/* ---- printing ---------------------------------------------------------------------------------------------------- */

enum { IN_SUM, IN_PRODUCT };
static void print(wick_str *s, const wick_extents *x, int32_t i, int place);

/* The product's number, and what else there is: -1 * a prints as a subtraction. */
static void print_term(wick_str *s, const wick_extents *x, int32_t i, bool first) {
    const wick_extent *e = &x->at[i];
    const bool number = e->kind == WICK_EXTENT_NUMBER,
               scaled = e->kind == WICK_EXTENT_PRODUCT && x->at[e->a].kind == WICK_EXTENT_NUMBER;
    const int64_t m = number ? e->number : scaled ? x->at[e->a].number : 1;
    if (first || m >= 0) {
        if (!first) wick_str_add(s, " + ");
        print(s, x, i, IN_SUM);
        return;
    }
    wick_str_add(s, " - ");
    if (number) wick_str_add(s, "%llu", 0 - (unsigned long long)m);
    else if (m != -1) wick_str_add(s, "%llu*", 0 - (unsigned long long)m);
    if (!number) print(s, x, e->b, IN_PRODUCT);
}

static void print(wick_str *s, const wick_extents *x, int32_t i, int place) {
    const wick_extent *e = &x->at[i];
    switch (e->kind) {
    case WICK_EXTENT_NUMBER: wick_str_add(s, "%lld", (long long)e->number); break;
    case WICK_EXTENT_DIM: wick_str_add(s, "%s", x->names[e->a]); break;
    case WICK_EXTENT_SEEN: wick_str_add(s, "?"); break;
    case WICK_EXTENT_SUM:
        if (place != IN_SUM) wick_str_add(s, "(");
        print_term(s, x, e->a, true);
        print_term(s, x, e->b, false);
        if (place != IN_SUM) wick_str_add(s, ")");
        break;
    case WICK_EXTENT_PRODUCT:
        print(s, x, e->a, IN_PRODUCT);
        wick_str_add(s, "*");
        print(s, x, e->b, IN_PRODUCT);
        break;
    case WICK_EXTENT_MIN:
    case WICK_EXTENT_MAX:
        wick_str_add(s, e->kind == WICK_EXTENT_MIN ? "min(" : "max(");
        print(s, x, e->a, IN_SUM);
        wick_str_add(s, ", ");
        print(s, x, e->b, IN_SUM);
        wick_str_add(s, ")");
        break;
    default:
        wick_str_add(s, "floor(");
        print(s, x, e->a, IN_PRODUCT);
        wick_str_add(s, " / %lld)", (long long)e->number);
    }
}

void wick_extents_print(wick_str *s, const wick_extents *x, int32_t e) {
    if (e < 0) wick_str_add(s, "?");
    else print(s, x, e, IN_SUM);
}
