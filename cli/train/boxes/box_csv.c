/* Tables of boxes. The header decides how a box is said:
 *
 *   xmin ymin xmax ymax, x1 y1 x2 y2, x0 y0 x1 y1, left top right bottom    corners
 *   x y w h, x y width height, left top width height                        a corner and the size
 *   cx cy w h, x_center y_center width height                               the middle and the size
 *
 * in pixels. A row whose four cells are empty is a picture without a box. */
#include "box_set.h"
#include "table_lines.h"

#include "../../paths.h"
#include "../../term/log.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { CORNERS = 0, SIZE = 1, MIDDLE = 2 };

static const struct {
    const char *names[4];
    int kind;
} conventions[] = {{{"xmin", "ymin", "xmax", "ymax"}, CORNERS},
                   {{"x_min", "y_min", "x_max", "y_max"}, CORNERS},
                   {{"x1", "y1", "x2", "y2"}, CORNERS},
                   {{"x0", "y0", "x1", "y1"}, CORNERS},
                   {{"left", "top", "right", "bottom"}, CORNERS},
                   {{"cx", "cy", "w", "h"}, MIDDLE},
                   {{"cx", "cy", "width", "height"}, MIDDLE},
                   {{"x_center", "y_center", "width", "height"}, MIDDLE},
                   {{"x", "y", "w", "h"}, SIZE},
                   {{"x", "y", "width", "height"}, SIZE},
                   {{"left", "top", "width", "height"}, SIZE}};
enum { CONVENTIONS = sizeof conventions / sizeof *conventions };
static const char *const of_classes[] = {"class", "label", "name", "class_name", "category", NULL};

typedef struct header {
    int picture, class, part, at[4], kind, n;
    char others[256];
} header;

/* False: it is no header of boxes. */
static bool read_header(char *const *cells, int n, header *h) {
    *h = (header){.picture = table_column_of(cells, n, table_of_pictures),
                  .class = table_column_of(cells, n, of_classes),
                  .part = table_column_of(cells, n, table_of_parts),
                  .n = n,
                  .at = {-1}};
    bool found = false;
    for (int k = 0; k < CONVENTIONS && !found; k++) {
        found = true;
        for (int i = 0; i < 4; i++) found &= (h->at[i] = table_column(cells, n, conventions[k].names[i])) >= 0;
        h->kind = conventions[k].kind;
        /* of more points than two they are points */
        for (int i = 0; i < 4 && found; i++)
            found = strlen(conventions[k].names[i]) != 2 || !isdigit((unsigned char)conventions[k].names[i][1]) ||
                    table_column(cells, n, k == 2 ? "x3" : "x2") < 0;
    }
    for (int c = 0; found && c < n; c++) {
        if (c == h->picture || c == h->class || c == h->part || c == h->at[0] || c == h->at[1] || c == h->at[2] ||
            c == h->at[3])
            continue;
        const size_t at = strlen(h->others);
        snprintf(h->others + at, sizeof h->others - at, "%s%s", at ? ", " : "", cells[c]);
    }
    return found && h->picture >= 0;
}

bool box_is_csv(const char *path, char separator, bool *parted) {
    char first[4096], *cells[TABLE_COLUMNS], *rest = first;
    int n;
    header h;
    const int got = path_head(path, (unsigned char *)first, sizeof first - 1);
    if (got <= 0) return false;
    first[got] = '\0';
    if (!strchr(first, '\n')) return false;
    char *line = table_next_line(&rest);
    if (strncmp(line, "\xEF\xBB\xBF", 3) == 0) line += 3;
    const bool is =
        table_cut_line(line, separator ? separator : table_separator(line), cells, &n) && read_header(cells, n, &h);
    if (parted) *parted = is && h.part >= 0;
    return is;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

typedef struct table {
    wick_context *ctx;
    const char *path;
    char folder[BOX_PATH];
    const header *h;
    box_set *s;
    int64_t last;                /* the picture of the row before */
    int64_t *buckets, n_buckets; /* of the hash table of pictures by name */
} table;

static uint64_t hash_of(const char *name) { /* FNV-1a */
    uint64_t hash = 0xcbf29ce484222325u;
    for (; *name; name++) hash = (hash ^ (unsigned char)*name) * 0x100000001b3u;
    return hash;
}

static bool rehash(table *t) {
    const int64_t n = t->n_buckets ? 2 * t->n_buckets : 1024;
    int64_t *buckets = malloc((size_t)n * sizeof *buckets);
    if (!buckets) return false;
    for (int64_t i = 0; i < n; i++) buckets[i] = -1;
    for (int64_t i = 0; i < t->s->n; i++) {
        int64_t at = (int64_t)(hash_of(t->s->pictures[i].name) & (uint64_t)(n - 1));
        while (buckets[at] >= 0) at = (at + 1) & (n - 1);
        buckets[at] = i;
    }
    free(t->buckets);
    t->buckets = buckets, t->n_buckets = n;
    return true;
}

static wick_status find_picture(table *t, const char *name, int64_t line, int64_t *number) {
    char file[BOX_PATH];
    if (t->last >= 0 && strcmp(t->s->pictures[t->last].name, name) == 0) return *number = t->last, WICK_OK;
    if (2 * (t->s->n + 1) > t->n_buckets && !rehash(t)) return box_out_of_memory(t->ctx, t->path);
    int64_t at = (int64_t)(hash_of(name) & (uint64_t)(t->n_buckets - 1));
    for (; t->buckets[at] >= 0; at = (at + 1) & (t->n_buckets - 1))
        if (strcmp(t->s->pictures[t->buckets[at]].name, name) == 0) return *number = t->last = t->buckets[at], WICK_OK;
    if (!*name || *name == '/' || strncmp(name, "../", 3) == 0 || strstr(name, "/../") ||
        snprintf(file, sizeof file, "%s%s", t->folder, name) >= (int)sizeof file)
        return wick_context_fail(t->ctx, WICK_ERR_FORMAT,
                                 "%s, line %lld: \"%.200s\" is no file below the table's folder", t->path,
                                 (long long)line, name);
    if (!path_exists(file))
        return wick_context_fail(t->ctx, WICK_ERR_FORMAT, "%s, line %lld: the picture %s is not there", t->path,
                                 (long long)line, file);
    const wick_status status = box_set_picture(t->ctx, t->s, file, name, NULL, number);
    if (status == WICK_OK) t->buckets[at] = t->last = *number;
    return status;
}

static wick_status read_row(table *t, char *const *cells, int64_t line) {
    const header *h = t->h;
    box b = {.line = line};
    wick_status status = find_picture(t, cells[h->picture], line, &b.picture);
    if (status != WICK_OK) return status;
    int empty = 0;
    for (int k = 0; k < 4; k++) empty += !cells[h->at[k]][0];
    if (empty == 4) return WICK_OK;
    for (int k = 0; k < 4; k++) {
        char *end;
        const char *cell = cells[h->at[k]];
        b.at[k] = strtod(cell, &end);
        if (end == cell || *end)
            return wick_context_fail(t->ctx, WICK_ERR_FORMAT, "%s, line %lld: column %d: \"%.40s\" is no number",
                                     t->path, (long long)line, h->at[k] + 1, cell);
    }
    if (h->kind == MIDDLE) b.at[0] -= b.at[2] / 2, b.at[1] -= b.at[3] / 2;
    if (h->kind != CORNERS) b.at[2] += b.at[0], b.at[3] += b.at[1];
    status = box_check(t->ctx, t->path, line, b.at);
    if (status == WICK_OK)
        status = box_set_class(t->ctx, t->s, h->class >= 0 ? cells[h->class] : "object", t->path, line, &b.class);
    return status == WICK_OK ? box_set_add(t->ctx, t->s, &b) : status;
}

static wick_status read_lines(table *t, char *rest, char separator, const char *split) {
    char *cells[TABLE_COLUMNS];
    int n;
    for (int64_t line = 2; rest; line++) {
        char *text = table_next_line(&rest);
        if (!text || !*text) continue;
        if (!table_cut_line(text, separator, cells, &n))
            return wick_context_fail(t->ctx, WICK_ERR_FORMAT,
                                     "%s, line %lld: a quote is not closed, or closed amid text", t->path,
                                     (long long)line);
        if (n != t->h->n)
            return wick_context_fail(t->ctx, WICK_ERR_FORMAT, "%s, line %lld: has %d cells, and the header %d", t->path,
                                     (long long)line, n, t->h->n);
        if (t->h->part >= 0 && !table_is_part(cells[t->h->part], split)) continue;
        const wick_status status = read_row(t, cells, line);
        if (status != WICK_OK) return status;
    }
    return t->s->n ? WICK_OK
                   : wick_context_fail(t->ctx, t->h->part >= 0 ? WICK_ERR_IO : WICK_ERR_FORMAT, "%s: has no row%s%s",
                                       t->path, t->h->part >= 0 ? " of the part " : "", t->h->part >= 0 ? split : "");
}

wick_status box_read_csv(wick_context *ctx, const char *path, const char *split, char separator, box_set *s) {
    char *cells[TABLE_COLUMNS];
    int n;
    size_t size;
    header h;
    table t = {.ctx = ctx, .path = path, .h = &h, .s = s, .last = -1};
    char *text = path_read(path, &size), *rest = text;
    if (!text) return wick_context_fail(ctx, WICK_ERR_IO, "%s: %s", path, strerror(errno));
    const bool binary = strlen(text) != size;
    char *line = table_next_line(&rest);
    if (strncmp(line, "\xEF\xBB\xBF", 3) == 0) line += 3;
    if (!separator) separator = table_separator(line);
    wick_status status = WICK_OK;
    if (binary)
        status = wick_context_fail(ctx, WICK_ERR_FORMAT, "%s: has a byte 0 in it, and is no table", path);
    else if (!table_cut_line(line, separator, cells, &n) || !read_header(cells, n, &h))
        status =
            wick_context_fail(ctx, WICK_ERR_FORMAT,
                              "%s, line 1: is no header of boxes: a column for the picture (path, file, image ...), "
                              "one for the class, and xmin, ymin, xmax, ymax, or x, y, w, h, or cx, cy, w, h",
                              path);
    const char *slash = strrchr(path, '/');
    snprintf(t.folder, sizeof t.folder, "%.*s", slash ? (int)(slash - path + 1) : 0, path);
    free(s->from);
    s->from = strdup(path);
    if (status == WICK_OK && !s->from) status = box_out_of_memory(ctx, path);
    if (status == WICK_OK) {
        s->parted = h.part >= 0;
        snprintf(s->others, sizeof s->others, "%s", h.others);
        status = read_lines(&t, rest, separator, split);
    }
    free(t.buckets);
    free(text);
    return status;
}
