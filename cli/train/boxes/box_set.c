#include "box_set.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void box_set_free(box_set *s) {
    for (int64_t i = 0; i < s->n; i++) {
        free(s->pictures[i].path);
        free(s->pictures[i].name);
        free(s->pictures[i].from);
    }
    free(s->pictures);
    free(s->boxes);
    free(s->classes);
    free(s->from);
    *s = (box_set){0};
}

wick_status box_out_of_memory(wick_context *ctx, const char *path) {
    return wick_context_fail(ctx, WICK_ERR_NOMEM, "%s: out of memory", path);
}

/* Room for one more. */
static bool grow(void **list, int64_t n, int64_t *room, size_t size) {
    if (n < *room) return true;
    const int64_t more = *room ? 2 * *room : 64;
    void *grown = realloc(*list, (size_t)more * size);
    if (grown) *list = grown, *room = more;
    return grown != NULL;
}

wick_status box_set_picture(wick_context *ctx, box_set *s, const char *path, const char *name, const char *from,
                            int64_t *number) {
    void *list = s->pictures;
    const bool grown = grow(&list, s->n, &s->room, sizeof *s->pictures);
    s->pictures = list;
    if (!grown) return box_out_of_memory(ctx, path);
    box_picture p = {.path = strdup(path), .name = strdup(name), .from = from ? strdup(from) : NULL};
    if (!p.path || !p.name || (from && !p.from)) {
        free(p.path), free(p.name), free(p.from);
        return box_out_of_memory(ctx, path);
    }
    *number = s->n;
    s->pictures[s->n++] = p;
    return WICK_OK;
}

const char *box_set_from(const box_set *s, int64_t i) {
    return s->pictures[i].from ? s->pictures[i].from : s->from ? s->from : s->pictures[i].path;
}

wick_status box_set_add(wick_context *ctx, box_set *s, const box *b) {
    void *list = s->boxes;
    const bool grown = grow(&list, s->n_boxes, &s->room_boxes, sizeof *s->boxes);
    s->boxes = list;
    if (!grown) return box_out_of_memory(ctx, box_set_from(s, b->picture));
    s->boxes[s->n_boxes++] = *b;
    return WICK_OK;
}

/* ---- classes ----------------------------------------------------------------------------------------------------- */

static int find_class(const box_set *s, const char *name) {
    for (int k = 0; k < s->n_classes; k++)
        if (strcmp(s->classes[k], name) == 0) return k;
    return -1;
}

static wick_status add_class(wick_context *ctx, box_set *s, const char *name, const char *file) {
    enum { STEP = 32 };
    if (s->n_classes % STEP == 0) {
        void *more = realloc(s->classes, (size_t)(s->n_classes + STEP) * sizeof *s->classes);
        if (!more) return box_out_of_memory(ctx, file);
        s->classes = more;
    }
    memset(s->classes[s->n_classes], 0, BOX_NAME);
    memcpy(s->classes[s->n_classes++], name, strlen(name));
    return WICK_OK;
}

wick_status box_set_class(wick_context *ctx, box_set *s, const char *name, const char *file, int64_t line, int *class) {
    if (!*name || strlen(name) >= BOX_NAME || strpbrk(name, "\t\n\r"))
        return wick_context_fail(ctx, WICK_ERR_FORMAT,
                                 "%s, line %lld: the class \"%.80s\" is no name of 1 to %d bytes without tabs", file,
                                 (long long)line, name, BOX_NAME - 1);
    *class = find_class(s, name);
    if (*class >= 0) return WICK_OK;
    if (s->fixed)
        return wick_context_fail(ctx, WICK_ERR_MISMATCH,
                                 "%s, line %lld: the class \"%s\" is none of the %d that are known (%s%s%s ...)", file,
                                 (long long)line, name, s->n_classes, s->classes[0], s->n_classes > 1 ? ", " : "",
                                 s->n_classes > 1 ? s->classes[1] : "");
    if (s->n_classes == BOX_MOST_CLASSES)
        return wick_context_fail(ctx, WICK_ERR_FORMAT, "%s, line %lld: more than %d classes", file, (long long)line,
                                 BOX_MOST_CLASSES);
    *class = s->n_classes;
    return add_class(ctx, s, name, file);
}

wick_status box_set_fix(wick_context *ctx, box_set *s, int n, const char *const *names) {
    for (int k = 0; k < n; k++) {
        int class;
        if (find_class(s, names[k]) >= 0)
            return wick_context_fail(ctx, WICK_ERR_FORMAT, "the class \"%.63s\" is named twice", names[k]);
        const wick_status status = box_set_class(ctx, s, names[k], "the list of classes", k + 1, &class);
        if (status != WICK_OK) return status;
    }
    s->fixed = n > 0;
    return WICK_OK;
}

static bool is_number(const char *name) {
    const char *at = name;
    while (isdigit((unsigned char)*at)) at++;
    return !*at && at - name < 10;
}

/* ---- order ------------------------------------------------------------------------------------------------------- */

typedef struct named {
    const char *name;
    int was;
    bool by_number;
} named;
static int by_name(const void *a, const void *b) {
    const named *x = a, *y = b;
    const long p = x->by_number ? strtol(x->name, NULL, 10) : 0, q = x->by_number ? strtol(y->name, NULL, 10) : 0;
    return p != q ? (p > q) - (p < q) : strcmp(x->name, y->name);
}

static wick_status sort_classes(wick_context *ctx, box_set *s) {
    const size_t n = (size_t)s->n_classes;
    named *order = malloc((n + 1) * sizeof *order);
    int *to = malloc((n + 1) * sizeof *to);
    char(*names)[BOX_NAME] = malloc((n + 32) * sizeof *names);
    bool numbers = true;
    if (!order || !to || !names) {
        free(order), free(to), free(names);
        return box_out_of_memory(ctx, "boxes");
    }
    for (size_t k = 0; k < n; k++) numbers &= is_number(s->classes[k]);
    for (size_t k = 0; k < n; k++) order[k] = (named){s->classes[k], (int)k, numbers};
    qsort(order, n, sizeof *order, by_name);
    for (size_t k = 0; k < n; k++) {
        memcpy(names[k], order[k].name, BOX_NAME);
        to[order[k].was] = (int)k;
    }
    for (int64_t i = 0; i < s->n_boxes; i++) s->boxes[i].class = to[s->boxes[i].class];
    free(s->classes), free(order), free(to);
    s->classes = names;
    return WICK_OK;
}

/* Boxes of one picture stay in their order. */
wick_status box_set_sort(wick_context *ctx, box_set *s) {
    if (!s->fixed && s->n_classes) {
        const wick_status status = sort_classes(ctx, s);
        if (status != WICK_OK) return status;
    }
    box *sorted = malloc((size_t)(s->n_boxes + 1) * sizeof *sorted);
    if (!sorted) return box_out_of_memory(ctx, "boxes");
    for (int64_t i = 0; i < s->n; i++) s->pictures[i].n = 0;
    for (int64_t i = 0; i < s->n_boxes; i++) s->pictures[s->boxes[i].picture].n++;
    for (int64_t i = 0, at = 0; i < s->n; at += s->pictures[i].n, i++) {
        s->pictures[i].first = at;
        if (s->pictures[i].n <= BOX_MOST) continue;
        free(sorted);
        return wick_context_fail(ctx, WICK_ERR_FORMAT, "%s: %s has %lld boxes; %d are the most", box_set_from(s, i),
                                 s->pictures[i].name, (long long)s->pictures[i].n, BOX_MOST);
    }
    for (int64_t i = 0; i < s->n; i++) s->pictures[i].n = 0;
    for (int64_t i = 0; i < s->n_boxes; i++) {
        box_picture *p = &s->pictures[s->boxes[i].picture];
        sorted[p->first + p->n++] = s->boxes[i];
    }
    free(s->boxes);
    s->boxes = sorted, s->room_boxes = s->n_boxes + 1;
    return WICK_OK;
}

/* ---- checks ------------------------------------------------------------------------------------------------------ */

wick_status box_check(wick_context *ctx, const char *file, int64_t line, const double at[4]) {
    for (int k = 0; k < 4; k++)
        if (!isfinite(at[k]) || fabs(at[k]) > 1e9)
            return wick_context_fail(ctx, WICK_ERR_FORMAT, "%s, line %lld: a side of the box is %g, which is no place",
                                     file, (long long)line, at[k]);
    if (at[2] > at[0] && at[3] > at[1]) return WICK_OK;
    return wick_context_fail(ctx, WICK_ERR_FORMAT,
                             "%s, line %lld: the box from (%g, %g) to (%g, %g) has no area: it is %g wide and %g high",
                             file, (long long)line, at[0], at[1], at[2], at[3], at[2] - at[0], at[3] - at[1]);
}

wick_status box_set_place(wick_context *ctx, box_set *s, int64_t i, int64_t height, int64_t width, int64_t *cut) {
    const box_picture *p = &s->pictures[i];
    const double edge[2] = {(double)width, (double)height};
    if (p->height && (p->height != height || p->width != width))
        return wick_context_fail(ctx, WICK_ERR_FORMAT,
                                 "%s: says that %s has %lld x %lld pixels (height, width), and it has %lld x %lld",
                                 box_set_from(s, i), p->name, (long long)p->height, (long long)p->width,
                                 (long long)height, (long long)width);
    for (box *b = s->boxes + p->first; b < s->boxes + p->first + p->n; b++) {
        double *at = b->at;
        bool out = false, over = false;
        for (int k = 0; k < 4; k++) {
            if (s->shares) at[k] *= edge[k & 1];
            over |= at[k] < -1.001 || at[k] > edge[k & 1] + 1.001;
            if (at[k] < 0 || at[k] > edge[k & 1]) out |= fabs(at[k] < 0 ? at[k] : at[k] - edge[k & 1]) > 1e-3;
        }
        if (over || at[0] >= edge[0] || at[1] >= edge[1] || at[2] <= 0 || at[3] <= 0)
            return wick_context_fail(
                ctx, WICK_ERR_FORMAT,
                "%s, line %lld: the box from (%g, %g) to (%g, %g) lies outside of %s, which is %lld wide and %lld high",
                box_set_from(s, i), (long long)b->line, at[0], at[1], at[2], at[3], p->name, (long long)width,
                (long long)height);
        for (int k = 0; k < 4; k++) at[k] = fmin(fmax(at[k], 0), edge[k & 1]);
        *cut += out;
    }
    return WICK_OK;
}
