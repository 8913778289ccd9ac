/* rows.c: views of what was counted: sums by op, layer and line of the parts of kernels, and quantiles over them. */
#include "profile/profile.h"

#include <stdlib.h>

/* A kernel, as far as it belongs to a row. */
typedef struct share {
    const profile_kernel *kernel;
    double part;
} share;

/* A row in the making. */
typedef struct making {
    wick_profile_row row;
    share *of;
    size_t n, cap;
    double floor_ns;
    double by[3]; /* ns by bound: arithmetic, memory, overhead */
} making;

typedef struct view_list {
    making *at;
    size_t n, cap;
    bool failed;
} view_list;

static const char *const bounds[] = {"arithmetic", "memory", "overhead"};

/* Seconds at a weight, of a histogram's bucket. */
typedef struct weighed {
    double seconds;
    uint64_t count;
} weighed;
static int by_seconds(const void *a, const void *b) {
    const double x = ((const weighed *)a)->seconds, y = ((const weighed *)b)->seconds;
    return x < y ? -1 : x > y;
}

/* Quantiles of the runs of all kernels of a row, each as long as its part. */
static void time_row(const wick_allocator *alloc, making *m) {
    wick_timing *t = &m->row.time;
    if (m->n == 1 && m->of[0].part == 1) {
        wick_time_histogram *times = m->of[0].kernel->times;
        *t = wick_time_histogram_timing(&times, 1);
        return;
    }
    size_t n = 0, cap = 0;
    weighed *w = NULL;
    for (size_t i = 0; i < m->n; i++) {
        const profile_kernel *k = m->of[i].kernel;
        const wick_timing own = wick_time_histogram_timing((wick_time_histogram *[]){k->times}, 1);
        if (!own.count) continue;
        t->min = t->count ? WICK_MIN(t->min, own.min * m->of[i].part) : own.min * m->of[i].part;
        t->max = WICK_MAX(t->max, own.max * m->of[i].part);
        t->count += own.count;
        t->total += own.total * m->of[i].part;
        for (int b = 0; b < WICK_TIME_HISTOGRAM_BUCKETS; b++) {
            const uint64_t count = atomic_load_explicit(&k->times->buckets[b], memory_order_relaxed);
            if (!count || !wick_grow(alloc, (void **)&w, &cap, n + 1, sizeof *w)) continue;
            w[n++] = (weighed){wick_time_histogram_middle(b) * 1e-9 * m->of[i].part, count};
        }
    }
    if (t->count) t->mean = t->total / (double)t->count;
    if (n) qsort(w, n, sizeof *w, by_seconds);
    double *const to[] = {&t->median, &t->p95, &t->p99};
    const double part[] = {0.5, 0.95, 0.99};
    uint64_t seen = 0;
    for (size_t i = 0, next = 0; i < n; i++) {
        seen += w[i].count;
        for (; next < 3 && (double)seen >= part[next] * (double)t->count; next++)
            *to[next] = WICK_MIN(t->max, WICK_MAX(t->min, w[i].seconds));
    }
    wick_release(alloc, w, cap * sizeof *w);
}

static making *row_of(const wick_allocator *alloc, view_list *l, const char *name, const char *suffix,
                      wick_profile *p) {
    if (*suffix) {
        char text[256];
        wick_str s = wick_str_on(text, sizeof text);
        wick_str_add(&s, "%s%s", name, suffix);
        name = profile_intern(p, text, s.len);
    }
    for (size_t i = 0; i < l->n; i++)
        if (l->at[i].row.name == name) return &l->at[i];
    if (!wick_grow(alloc, (void **)&l->at, &l->cap, l->n + 1, sizeof *l->at)) {
        l->failed = true;
        return NULL;
    }
    l->at[l->n] = (making){.row = {.name = name, .ops = "", .layer = "", .line = ""}};
    return &l->at[l->n++];
}

/* Parts of one kernel that go to one row are one share of it. */
static void add_share(const wick_allocator *alloc, making *m, const profile_kernel *k, double part, int threads) {
    if (m->n && m->of[m->n - 1].kernel == k) {
        m->of[m->n - 1].part += part;
    } else {
        if (!wick_grow(alloc, (void **)&m->of, &m->cap, m->n + 1, sizeof *m->of)) return;
        m->of[m->n++] = (share){k, part};
        m->row.shared += k->shared;
    }
    const double count = (double)k->count * part, idle = (double)k->shared_total * threads - (double)k->busy;
    m->row.flops += k->flops * count;
    m->row.bytes += k->bytes * count;
    m->row.busy += (double)k->busy * part * 1e-9;
    m->row.tail += (double)k->tail * part * 1e-9;
    m->row.idle += WICK_MAX(idle, 0.0) * part * 1e-9;
    m->floor_ns += k->floor_ns * count;
    for (int b = 0; b < 3; b++) m->by[b] += strcmp(k->bound, bounds[b]) == 0 ? (double)k->total * part : 0;
}

static void add_parts(wick_profile *p, view_list *l, wick_profile_view view, const profile_kernel *k, int threads) {
    for (int i = 0; i < k->n_parts; i++) {
        const profile_part *q = &k->parts[i];
        const char *name = view == WICK_PROFILE_OPS ? q->op : view == WICK_PROFILE_LINES ? q->line : profile_layer(q);
        if (!*name) name = profile_intern(p, "unknown", 7);
        making *m = row_of(&p->alloc, l, name, view == WICK_PROFILE_OPS && q->backward ? ", backward" : "", p);
        if (m) add_share(&p->alloc, m, k, q->share, threads);
    }
}

static void add_span(wick_profile *p, view_list *l, uint32_t name) {
    profile_span *s = &p->spans[name];
    making *m = s->count ? row_of(&p->alloc, l, wick_span_text(name), "", p) : NULL;
    if (!m) return;
    m->row.time = wick_time_histogram_timing((wick_time_histogram *[]){&s->times}, 1);
    m->row.share = m->row.time.total / WICK_MAX(profile_wall(p) * profile_callers(p), 1e-12);
}

static void add_own(wick_profile *p, view_list *l, const profile_kernel *k) {
    making *m = k->step == PROFILE_OWN && k->count ? row_of(&p->alloc, l, k->text, "", p) : NULL;
    if (!m) return;
    wick_time_histogram *times = k->times;
    m->row.time = wick_time_histogram_timing(&times, 1);
    m->row.share = m->row.time.total / WICK_MAX(profile_wall(p) * profile_callers(p), 1e-12);
}

static void gather(wick_profile *p, view_list *l, wick_profile_view view) {
    const int threads = wick_context_threads(p->ctx);
    for (size_t i = 0; i <= p->n_kernels; i++) {
        const profile_kernel *k = i < p->n_kernels ? p->kernels[i] : p->others;
        if (k->step < 0 || (i < p->n_kernels && k == p->others) || !k->count || !k->n_parts) continue;
        if (view != WICK_PROFILE_KERNELS) {
            add_parts(p, l, view, k, threads);
            continue;
        }
        if (!wick_grow(&p->alloc, (void **)&l->at, &l->cap, l->n + 1, sizeof *l->at)) {
            l->failed = true;
            return;
        }
        making *m = &l->at[l->n++];
        *m = (making){.row = {.name = k->name, .ops = k->ops, .layer = k->layer, .line = k->line}};
        add_share(&p->alloc, m, k, 1, threads);
    }
}

static int by_time(const void *a, const void *b) {
    const wick_profile_row *x = a, *y = b;
    if (x->time.total != y->time.total) return x->time.total > y->time.total ? -1 : 1;
    return strcmp(x->name, y->name);
}

static void finish_row(const wick_allocator *alloc, making *m, double whole) {
    wick_profile_row *r = &m->row;
    time_row(alloc, m);
    r->share = whole > 0 ? r->time.total / whole : 0;
    r->ceiling = r->time.total > 0 ? m->floor_ns * 1e-9 / r->time.total : 0;
    r->estimated = false;
    for (size_t i = 0; i < m->n; i++) r->estimated |= m->of[i].part < 1 - 1e-9;
    int most = 0;
    for (int b = 1; b < 3; b++)
        if (m->by[b] > m->by[most]) most = b;
    r->bound = m->by[most] > 0 ? bounds[most] : "";
}

int wick_profile_rows(wick_profile *p, wick_profile_view view) {
    if ((unsigned)view > WICK_PROFILE_SPANS) return 0;
    view_list l = {0};
    profile_look(p);
    pthread_mutex_lock(&p->recorder.lock);
    if (view == WICK_PROFILE_SPANS)
        for (size_t i = 0; i < WICK_SPAN_NAMES + p->n_kernels; i++)
            if (i < WICK_SPAN_NAMES)
                add_span(p, &l, (uint32_t)i);
            else
                add_own(p, &l, p->kernels[i - WICK_SPAN_NAMES]);
    else
        gather(p, &l, view);
    const double whole = (double)p->spans[WICK_SPAN_RUN].total * 1e-9;
    wick_profile_row *rows = wick_alloc(&p->alloc, (l.n + 1) * sizeof *rows);
    for (size_t i = 0; i < l.n; i++) {
        if (view != WICK_PROFILE_SPANS) finish_row(&p->alloc, &l.at[i], whole);
        if (!l.at[i].row.bound) l.at[i].row.bound = "";
        if (rows) rows[i] = l.at[i].row;
        wick_release(&p->alloc, l.at[i].of, l.at[i].cap * sizeof *l.at[i].of);
    }
    pthread_mutex_unlock(&p->recorder.lock);
    wick_release(&p->alloc, l.at, l.cap * sizeof *l.at);
    wick_release(&p->alloc, p->rows[view], 1);
    p->rows[view] = rows;
    p->n_rows[view] = rows && !l.failed ? l.n : 0;
    if (!rows || l.failed) return wick_msg_set(&p->msg, WICK_ERR_NOMEM, "profile: out of memory"), 0;
    qsort(rows, l.n, sizeof *rows, by_time);
    return (int)l.n;
}

wick_profile_row wick_profile_row_at(const wick_profile *p, wick_profile_view view, int i) {
    const bool there = (unsigned)view <= WICK_PROFILE_SPANS && i >= 0 && (size_t)i < p->n_rows[view];
    return there ? p->rows[view][i] : (wick_profile_row){.name = "", .ops = "", .layer = "", .line = "", .bound = ""};
}
