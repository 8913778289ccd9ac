/* flame.c: stacks of what the threads that run plans did, and what they took in ns, and a drawing of them.
 *
 *   main;run;res1;conv1;conv 1234
 *
 * Layers are split at dots and slashes, as modules lie within each other. A kernel's ns go to its parts by their
 * shares, rounded so that they sum to the kernel's; what a run has beyond its kernels is "between kernels". */
#include "profile/profile.h"

#include <stdlib.h>

/* A frame; children in the order they came. */
typedef struct frame {
    const char *name;
    uint64_t own, total; /* ns */
    struct frame *first, *last, *next;
} frame;

typedef struct flame {
    wick_profile *p;
    wick_arena arena;
    frame root;
    bool failed;
} flame;

static frame *child(flame *f, frame *of, const char *name) {
    if (!of) return NULL;
    for (frame *c = of->first; c; c = c->next)
        if (c->name == name) return c;
    frame *c = wick_arena_zalloc(&f->arena, sizeof *c);
    if (!c) {
        f->failed = true;
        return NULL;
    }
    c->name = name;
    *(of->last ? &of->last->next : &of->first) = c;
    of->last = c;
    return c;
}

/* No name has what separates them. */
static const char *clean(flame *f, const char *text, size_t n) {
    char copy[128];
    n = WICK_MIN(n, sizeof copy - 1);
    for (size_t i = 0; i < n; i++) copy[i] = text[i] == ';' || (unsigned char)text[i] < 32 ? '_' : text[i];
    return profile_intern(f->p, copy, n);
}

/* Below `of`, the frames of a layer, "res1.conv1" or "/block/0/Conv". */
static frame *layer_frame(flame *f, frame *of, const profile_part *part) {
    if (!*part->layer) return *part->line ? child(f, of, clean(f, part->line, strlen(part->line))) : of;
    for (const char *at = part->layer; *at;) {
        const size_t n = strcspn(at, "./");
        if (n) of = child(f, of, clean(f, at, n));
        at += n + (at[n] != 0);
    }
    return of;
}

static void add_kernel(flame *f, frame *run, const profile_kernel *k) {
    uint64_t left = k->total;
    double share = 0;
    for (int i = 0; i < k->n_parts; i++) {
        const profile_part *q = &k->parts[i];
        share += q->share;
        const double until = (double)k->total * WICK_MIN(share, 1.0);
        const uint64_t rest = i + 1 == k->n_parts ? 0 : k->total - WICK_MIN((uint64_t)until, k->total),
                       ns = left - WICK_MIN(rest, left);
        left -= ns;
        char op[128];
        wick_str s = wick_str_on(op, sizeof op);
        wick_str_add(&s, "%s%s", q->op, q->backward ? ", backward" : "");
        frame *to = child(f, layer_frame(f, run, q), clean(f, op, s.len));
        if (to) to->own += ns;
    }
}

static uint64_t sum(frame *f) {
    f->total = f->own;
    for (frame *c = f->first; c; c = c->next) f->total += sum(c);
    return f->total;
}

/* Under the recorder's lock. */
static void build(flame *f) {
    wick_profile *p = f->p;
    frame *top = child(f, &f->root, clean(f, "main", 4));
    frame *run = child(f, top, clean(f, "run", 3));
    uint64_t steps = 0;
    for (size_t i = 0; i <= p->n_kernels; i++) {
        const profile_kernel *k = i < p->n_kernels ? p->kernels[i] : p->others;
        if (k->step < 0 || (i < p->n_kernels && k == p->others) || !k->total || !k->n_parts) continue;
        add_kernel(f, run, k);
        steps += k->total;
    }
    const uint64_t whole = p->spans[WICK_SPAN_RUN].total;
    frame *between = whole > steps ? child(f, run, clean(f, "between kernels", 15)) : NULL;
    if (between) between->own += whole - steps;
    static const uint32_t others[] = {WICK_SPAN_COMPILE, WICK_SPAN_RECORD, WICK_SPAN_WAIT};
    for (size_t i = 0; i < WICK_COUNTOF(others); i++) {
        const char *name = wick_span_text(others[i]);
        frame *to = p->spans[others[i]].total ? child(f, top, clean(f, name, strlen(name))) : NULL;
        if (to) to->own += p->spans[others[i]].total;
    }
    (void)sum(&f->root);
}

static flame *flame_new(wick_profile *p) {
    flame *f = wick_calloc(NULL, sizeof *f);
    if (!f) return NULL;
    f->p = p;
    wick_arena_init(&f->arena, NULL, 0);
    profile_look(p);
    pthread_mutex_lock(&p->recorder.lock);
    build(f);
    pthread_mutex_unlock(&p->recorder.lock);
    return f;
}
static void flame_free(flame *f) {
    wick_arena_free(&f->arena);
    wick_release(NULL, f, sizeof *f);
}

/* ---- folded stacks ----------------------------------------------------------------------------------------------- */

/* path: of the frames above, so many bytes of it. */
static void fold(const frame *f, char *path, size_t n, size_t size, wick_text *out) {
    for (const frame *c = f->first; c; c = c->next) {
        const size_t length = strlen(c->name), end = n + (n > 0) + length;
        if (end >= size) continue;
        if (n) path[n] = ';';
        memcpy(path + end - length, c->name, length);
        if (c->own) {
            wick_text_bytes(out, path, end);
            wick_text_add(out, " %llu\n", (unsigned long long)c->own);
        }
        fold(c, path, end, size, out);
    }
}

void profile_folded(wick_profile *p, wick_text *out) {
    char path[4096];
    flame *f = flame_new(p);
    if (f && !f->failed)
        fold(&f->root, path, 0, sizeof path, out);
    else
        out->failed = true;
    if (f) flame_free(f);
}

/* ---- the drawing ------------------------------------------------------------------------------------------------- */

enum { WIDTH = 1200, ROW = 18, MARGIN = 10, HEAD = 34, CHARACTER = 7 };

static void escape(wick_text *out, const char *text, size_t n) {
    for (size_t i = 0; i < n && text[i]; i++) {
        const char *as = text[i] == '<'   ? "&lt;"
                         : text[i] == '>' ? "&gt;"
                         : text[i] == '&' ? "&amp;"
                         : text[i] == '"' ? "&quot;"
                                          : NULL;
        if (as)
            wick_text_bytes(out, as, strlen(as));
        else
            wick_text_bytes(out, text + i, 1);
    }
}

static int depth_of(const frame *f) {
    int most = 0;
    for (const frame *c = f->first; c; c = c->next) most = WICK_MAX(most, depth_of(c));
    return most + 1;
}

static int by_total(const void *a, const void *b) {
    const frame *x = *(const frame *const *)a, *y = *(const frame *const *)b;
    return x->total != y->total ? (x->total > y->total ? -1 : 1) : strcmp(x->name, y->name);
}

/* From x on, `scale` pixels a ns, at depth; the largest first. Frames below a tenth of a pixel are left out. */
static void draw(const frame *f, double x, double scale, int depth, uint64_t whole, wick_text *out) {
    const double width = (double)f->total * scale;
    if (width < 0.1) return;
    const double y = HEAD + depth * ROW;
    const uint64_t hash = wick_hash(f->name, strlen(f->name), 1);
    wick_text_add(out, "<g><title>");
    escape(out, f->name, strlen(f->name));
    wick_text_add(out,
                  ": %.6g ms, %.2f %%</title><rect x=\"%.2f\" y=\"%.0f\" width=\"%.2f\" height=\"%d\" "
                  "fill=\"hsl(%d,%d%%,%d%%)\"/>",
                  (double)f->total * 1e-6, 100 * (double)f->total / (double)whole, x, y, width, ROW - 1,
                  (int)(hash % 50), 70 + (int)(hash / 50 % 20), 58 + (int)(hash / 1000 % 14));
    const size_t fits = width > CHARACTER * 3 ? (size_t)(width / CHARACTER) : 0, length = strlen(f->name);
    if (fits) {
        wick_text_add(out, "<text x=\"%.2f\" y=\"%.0f\">", x + 3, y + ROW - 5);
        escape(out, f->name, WICK_MIN(length, fits));
        wick_text_add(out, "</text>");
    }
    wick_text_add(out, "</g>\n");
    size_t n = 0;
    for (const frame *c = f->first; c; c = c->next) n++;
    const frame **order = n ? wick_alloc(NULL, n * sizeof *order) : NULL;
    if (!order) {
        out->failed |= n > 0;
        return;
    }
    size_t i = 0;
    for (const frame *c = f->first; c; c = c->next) order[i++] = c;
    qsort(order, n, sizeof *order, by_total);
    for (i = 0; i < n; i++) {
        draw(order[i], x, scale, depth + 1, whole, out);
        x += (double)order[i]->total * scale;
    }
    wick_release(NULL, order, n * sizeof *order);
}

void profile_flame(wick_profile *p, wick_text *out) {
    flame *f = flame_new(p);
    if (!f || f->failed || !f->root.first) {
        out->failed = true;
        if (f) flame_free(f);
        return;
    }
    const frame *top = f->root.first;
    const int height = HEAD + depth_of(top) * ROW + MARGIN;
    wick_text_add(out,
                  "<svg wick=\"profile\" xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
                  "height=\"%d\" font-family=\"monospace\" font-size=\"11\">\n"
                  "<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n"
                  "<text x=\"%d\" y=\"20\" font-size=\"13\">%.6g ms in %llu runs, by layer and op; fused kernels are "
                  "split by the cost model</text>\n",
                  WIDTH, height, WIDTH, height, WIDTH, height, MARGIN, (double)top->total * 1e-6,
                  (unsigned long long)p->spans[WICK_SPAN_RUN].count);
    const double scale = top->total ? (WIDTH - 2 * MARGIN) / (double)top->total : 0;
    draw(top, MARGIN, scale, 0, WICK_MAX(top->total, 1), out);
    wick_text_add(out, "</svg>\n");
    flame_free(f);
}
