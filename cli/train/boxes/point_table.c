#include "point_table.h"
#include "table_lines.h"

#include "../../paths.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

typedef struct header {
    int picture, part, n;
    int at[POINT_MOST][POINT_WIDTH]; /* columns of x, y and whether it is there; of the last -1 */
} header;

/* The name of the point whose x a column is; "": it is none. */
static void name_of(const char *column, char name[POINT_NAME]) {
    const size_t n = strlen(column);
    name[0] = '\0';
    if (n >= POINT_NAME || n < 2) return;
    if (n > 2 && (column[n - 1] == 'x' || column[n - 1] == 'X') && strchr("_.- ", column[n - 2]))
        snprintf(name, POINT_NAME, "%.*s", (int)n - 2, column);
    else if (column[0] == 'x' || column[0] == 'X')
        snprintf(name, POINT_NAME, "%s", column + 1 + (n > 2 && strchr("_.-", column[1]) != NULL));
}

/* The column beside that of x, with another letter in its place; -1: there is none. */
static int beside(char *const *cells, int n, const char *column, char letter) {
    char other[POINT_NAME];
    const size_t length = strlen(column);
    snprintf(other, sizeof other, "%s", column);
    const bool behind = length > 2 && (column[length - 1] == 'x' || column[length - 1] == 'X') &&
                        strchr("_.- ", column[length - 2]) != NULL;
    other[behind ? length - 1 : 0] = letter;
    return table_column(cells, n, other);
}

static bool is_taken(const header *h, int points, int column) {
    for (int k = 0; k < points; k++)
        for (int i = 0; i < POINT_WIDTH; i++)
            if (h->at[k][i] == column) return true;
    return false;
}

static wick_status read_header(wick_context *ctx, const char *path, char *const *cells, int n, header *h,
                               point_table *t) {
    h->picture = table_column_of(cells, n, table_of_pictures);
    h->part = table_column_of(cells, n, table_of_parts);
    h->n = n;
    for (int c = 0; c < n; c++) {
        char name[POINT_NAME];
        name_of(cells[c], name);
        const int y = *name && c != h->picture ? beside(cells, n, cells[c], 'y') : -1;
        if (y < 0) continue;
        if (t->points == POINT_MOST || strpbrk(name, "\t\n"))
            return wick_context_fail(ctx, WICK_ERR_FORMAT, "%s, line 1: more than %d points, or a tab in a name", path,
                                     POINT_MOST);
        for (int k = 0; k < t->points; k++)
            if (strcmp(t->names[k], name) == 0)
                return wick_context_fail(ctx, WICK_ERR_FORMAT, "%s, line 1: two points are called \"%s\"", path, name);
        int *at = h->at[t->points];
        at[0] = c, at[1] = y, at[2] = beside(cells, n, cells[c], 'v');
        snprintf(t->names[t->points++], POINT_NAME, "%s", name);
    }
    if (h->picture < 0 || t->points < 2)
        return wick_context_fail(ctx, WICK_ERR_FORMAT,
                                 "%s, line 1: is no header of points: a column for the picture (path, file, image ...) "
                                 "and two for each of two points or more, x0, y0, x1, y1 or nose_x, nose_y",
                                 path);
    for (int c = 0; c < n; c++) {
        if (c == h->picture || c == h->part || is_taken(h, t->points, c)) continue;
        const size_t at = strlen(t->others);
        snprintf(t->others + at, sizeof t->others - at, "%s%s", at ? ", " : "", cells[c]);
    }
    return WICK_OK;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static wick_status fail(wick_context *ctx, const char *path, int64_t line, const char *what, const char *cell) {
    return wick_context_fail(ctx, WICK_ERR_FORMAT, "%s, line %lld: %s: \"%.60s\"", path, (long long)line, what, cell);
}

static wick_status read_number(wick_context *ctx, const char *path, int64_t line, const char *column, const char *cell,
                               float *value) {
    char *end, what[POINT_NAME + 64];
    *value = strtof(cell, &end);
    if (end != cell && !*end && isfinite(*value)) return WICK_OK;
    snprintf(what, sizeof what, "column %s is no number", column);
    return fail(ctx, path, line, what, cell);
}

static wick_status read_point(wick_context *ctx, const char *path, int64_t line, char *const *cells, const int at[3],
                              const char *name, float to[POINT_WIDTH]) {
    const bool no_x = !cells[at[0]][0], no_y = !cells[at[1]][0];
    char what[2 * POINT_NAME];
    float there = 1;
    wick_status status = WICK_OK;
    to[0] = to[1] = to[2] = 0;
    if (at[2] >= 0 && cells[at[2]][0]) status = read_number(ctx, path, line, name, cells[at[2]], &there);
    if (status != WICK_OK || there == 0 || (no_x && no_y)) return status;
    snprintf(what, sizeof what, "of point %s one of two numbers is missing", name);
    if (no_x || no_y) return fail(ctx, path, line, what, cells[at[no_x]]);
    status = read_number(ctx, path, line, name, cells[at[0]], &to[0]);
    if (status == WICK_OK) status = read_number(ctx, path, line, name, cells[at[1]], &to[1]);
    to[2] = 1;
    return status;
}

static wick_status out_of_memory(wick_context *ctx, const char *path) {
    return wick_context_fail(ctx, WICK_ERR_NOMEM, "%s: out of memory", path);
}

bool point_table_grow(point_table *t) {
    if (t->n < t->room) return true;
    const int64_t room = t->room ? 2 * t->room : 256;
    void *rows = realloc(t->rows, (size_t)room * sizeof *t->rows);
    if (rows) t->rows = rows;
    void *at = realloc(t->at, (size_t)(room * t->points * POINT_WIDTH) * sizeof *t->at);
    if (at) t->at = at;
    if (rows && at) t->room = room;
    return rows && at;
}

static wick_status read_row(wick_context *ctx, const char *path, int64_t line, char *const *cells, const header *h,
                            point_table *t) {
    const char *slash = strrchr(path, '/'), *name = cells[h->picture];
    char file[POINT_PATH];
    if (!*name || *name == '/' || strncmp(name, "../", 3) == 0 || strstr(name, "/../") ||
        snprintf(file, sizeof file, "%.*s%s", slash ? (int)(slash - path + 1) : 0, path, name) >= (int)sizeof file)
        return fail(ctx, path, line, "is no file below the table's folder", name);
    if (!path_exists(file)) return fail(ctx, path, line, "the picture is not there", file);
    if (!point_table_grow(t) || !(t->rows[t->n].path = strdup(file))) return out_of_memory(ctx, path);
    t->rows[t->n].line = line, t->rows[t->n].boxed = false;
    float *to = t->at + t->n++ * t->points * POINT_WIDTH;
    wick_status status = WICK_OK;
    for (int k = 0; k < t->points && status == WICK_OK; k++, to += POINT_WIDTH) {
        status = read_point(ctx, path, line, cells, h->at[k], t->names[k], to);
        t->missing += to[2] == 0;
    }
    return status;
}

static wick_status read_lines(wick_context *ctx, const char *path, char *rest, char separator, const char *split,
                              const header *h, point_table *t) {
    char *cells[TABLE_COLUMNS];
    int n;
    for (int64_t line = 2; rest; line++) {
        char *text = table_next_line(&rest);
        if (!text || !*text) continue;
        if (!table_cut_line(text, separator, cells, &n))
            return wick_context_fail(ctx, WICK_ERR_FORMAT, "%s, line %lld: a quote is not closed, or closed amid text",
                                     path, (long long)line);
        if (n != h->n)
            return wick_context_fail(ctx, WICK_ERR_FORMAT, "%s, line %lld: has %d cells, and the header %d", path,
                                     (long long)line, n, h->n);
        if (h->part >= 0 && !table_is_part(cells[h->part], split)) continue;
        const wick_status status = read_row(ctx, path, line, cells, h, t);
        if (status != WICK_OK) return status;
    }
    if (t->n) return WICK_OK;
    return wick_context_fail(ctx, h->part >= 0 ? WICK_ERR_IO : WICK_ERR_FORMAT, "%s: has no row%s%s", path,
                             h->part >= 0 ? " of the part " : "", h->part >= 0 ? split : "");
}

wick_status point_table_read(wick_context *ctx, const char *path, const char *split, char separator, point_table *t) {
    char *cells[TABLE_COLUMNS];
    int n;
    size_t size;
    *t = (point_table){.names = calloc(POINT_MOST, sizeof *t->names)};
    header *h = malloc(sizeof *h);
    char *text = path_read(path, &size), *rest = text;
    wick_status status = t->names && h ? WICK_OK : out_of_memory(ctx, path);
    if (status == WICK_OK && !text) status = wick_context_fail(ctx, WICK_ERR_IO, "%s: %s", path, strerror(errno));
    if (status == WICK_OK && strlen(text) != size)
        status = wick_context_fail(ctx, WICK_ERR_FORMAT, "%s: has a byte 0 in it, and is no table", path);
    char *line = status == WICK_OK ? table_next_line(&rest) : NULL;
    if (line && strncmp(line, "\xEF\xBB\xBF", 3) == 0) line += 3;
    if (line && !separator) separator = table_separator(line);
    if (line && !table_cut_line(line, separator, cells, &n))
        status =
            wick_context_fail(ctx, WICK_ERR_FORMAT, "%s, line 1: a quote is not closed, or closed amid text", path);
    if (status == WICK_OK) status = read_header(ctx, path, cells, n, h, t);
    if (status == WICK_OK) {
        t->parted = h->part >= 0;
        status = read_lines(ctx, path, rest, separator, split, h, t);
    }
    free(h);
    free(text);
    if (status != WICK_OK) point_table_free(t);
    return status;
}

void point_table_free(point_table *t) {
    for (int64_t i = 0; i < t->n; i++) free(t->rows[i].path);
    free(t->rows);
    free(t->at);
    free(t->names);
    *t = (point_table){0};
}

bool point_table_is(const char *path, char separator, bool *parted) {
    char *first = malloc(1 << 16), *rest = first, *cells[TABLE_COLUMNS];
    int n, pairs = 0;
    const int got = first ? path_head(path, (unsigned char *)first, (1 << 16) - 1) : 0;
    if (got <= 0) return free(first), false;
    first[got] = '\0';
    char *line = strchr(first, '\n') ? table_next_line(&rest) : NULL;
    if (line && strncmp(line, "\xEF\xBB\xBF", 3) == 0) line += 3;
    bool is = line && table_cut_line(line, separator ? separator : table_separator(line), cells, &n) &&
              table_column_of(cells, n, table_of_pictures) >= 0;
    for (int c = 0; is && c < n; c++) {
        char name[POINT_NAME];
        name_of(cells[c], name);
        pairs += *name && beside(cells, n, cells[c], 'y') >= 0;
    }
    if (parted) *parted = is && table_column_of(cells, n, table_of_parts) >= 0;
    free(first);
    return is && pairs >= 2;
}
