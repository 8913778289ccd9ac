/* Samples of two pictures: a table with a column for each, and the box in the second of what the first shows:
 *
 *   template,search,xmin,ymin,xmax,ymax       in pixels of the second; also x0, y0, x1, y1
 *
 * Both become one sample, "image", u8 [2 C, H, W], the first one's channels before the second's; "box" is f32 [1, 4],
 * x0, y0, x1, y1 as shares of the second's width and height, so that what it is resized to makes no difference. */
#include "source_kinds.h"

#include "boxes/table_lines.h"
#include "../paths.h"
#include "../term/log.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIDES = 4, FILE_NAME = 4096 };
static const char coding[] = "\"pairs\"";

typedef struct pairs {
    int64_t n, room, dims[3]; /* of one picture */
    uint8_t *pixels;          /* [n, 2, dims] */
    float *boxes;             /* [n, 4] */
} pairs;
typedef struct columns {
    int n, first, second, box[SIDES];
} columns;

static size_t picture_bytes(const pairs *p) { return (size_t)(p->dims[0] * p->dims[1] * p->dims[2]); }
static const void *at(void *user, int64_t i, int field) {
    const pairs *p = user;
    return field ? (const void *)(p->boxes + SIDES * i) : (const void *)(p->pixels + 2 * (size_t)i * picture_bytes(p));
}
static wick_status get(void *user, int64_t i, void *const *out, wick_fault *fault) {
    (void)fault;
    if (out[0]) memcpy(out[0], at(user, i, 0), 2 * picture_bytes(user));
    if (out[1]) memcpy(out[1], at(user, i, 1), SIDES * sizeof(float));
    return WICK_OK;
}
static void drop(void *user) {
    pairs *p = user;
    if (!p) return;
    free(p->pixels);
    free(p->boxes);
    free(p);
}

static bool find_columns(char *const *cells, int n, columns *c) {
    static const char *const firsts[] = {"template", "first", "reference", NULL},
                             *const seconds[] = {"search", "second", "frame", NULL},
                             *const names[][SIDES] = {{"xmin", "ymin", "xmax", "ymax"}, {"x0", "y0", "x1", "y1"}};
    *c = (columns){.n = n, .first = table_column_of(cells, n, firsts), .second = table_column_of(cells, n, seconds)};
    for (int way = 0; way < 2; way++) {
        bool all = true;
        for (int k = 0; k < SIDES; k++) all &= (c->box[k] = table_column(cells, n, names[way][k])) >= 0;
        if (all) return c->first >= 0 && c->second >= 0;
    }
    return false;
}

static wick_status fail(wick_context *ctx, const char *path, int64_t line, const char *what, const char *cell) {
    return wick_context_fail(ctx, WICK_ERR_FORMAT, "%s, line %lld: %s: \"%.60s\"", path, (long long)line, what, cell);
}

/* A picture of the row, as pixels at `to`, or (to NULL) into *p's first room; size: its own. */
static wick_status take_picture(wick_context *ctx, const char *path, int64_t line, const char *name, int which,
                                pairs *p, int64_t size[2]) {
    const char *slash = strrchr(path, '/');
    char file[FILE_NAME];
    wick_image *image;
    if (!*name || *name == '/' || strncmp(name, "../", 3) == 0 || strstr(name, "/../") ||
        snprintf(file, sizeof file, "%.*s%s", slash ? (int)(slash - path + 1) : 0, path, name) >= (int)sizeof file)
        return fail(ctx, path, line, "is no file below the table's folder", name);
    if (!path_exists(file)) return fail(ctx, path, line, "the picture is not there", file);
    wick_status status = source_read_sized(ctx, file, p->n || which ? p->dims[0] : 0, size, &image);
    if (status != WICK_OK) return status;
    const int64_t *d = wick_image_dims(image);
    if (!p->n && !which) memcpy(p->dims, d, sizeof p->dims);
    if (memcmp(p->dims, d, sizeof p->dims) != 0)
        status =
            wick_context_fail(ctx, WICK_ERR_SHAPE, "%s: %lld x %lld pixels, and the first picture has %lld x %lld",
                              file, (long long)d[1], (long long)d[2], (long long)p->dims[1], (long long)p->dims[2]);
    if (status == WICK_OK && p->n == p->room) {
        const size_t room = p->room ? 2 * (size_t)p->room : 64;
        uint8_t *pixels =
            room < SIZE_MAX / 4 / picture_bytes(p) ? realloc(p->pixels, room * 2 * picture_bytes(p)) : NULL;
        if (pixels) p->pixels = pixels;
        float *boxes = realloc(p->boxes, room * SIDES * sizeof *boxes);
        if (boxes) p->boxes = boxes;
        if (pixels && boxes)
            p->room = (int64_t)room;
        else
            status = wick_context_fail(ctx, WICK_ERR_NOMEM, "%s: out of memory", path);
    }
    if (status == WICK_OK)
        memcpy(p->pixels + (2 * (size_t)p->n + (size_t)which) * picture_bytes(p), wick_image_pixels(image, 0),
               picture_bytes(p));
    wick_image_free(&image);
    return status;
}

static wick_status take_row(wick_context *ctx, const char *path, int64_t line, char *const *cells, const columns *c,
                            pairs *p) {
    static const char *const called[] = {"xmin", "ymin", "xmax", "ymax"};
    int64_t size[2];
    wick_status status = take_picture(ctx, path, line, cells[c->first], 0, p, size);
    if (status == WICK_OK) status = take_picture(ctx, path, line, cells[c->second], 1, p, size);
    if (status != WICK_OK) return status;
    float *box = p->boxes + SIDES * p->n;
    for (int k = 0; k < SIDES; k++) {
        char *end;
        const char *cell = cells[c->box[k]];
        const double v = strtod(cell, &end);
        if (end == cell || *end || !isfinite(v)) {
            char what[64];
            snprintf(what, sizeof what, "%s is no number", called[k]);
            return fail(ctx, path, line, what, cell);
        }
        box[k] = (float)(v / (double)size[k % 2 ? 0 : 1]);
    }
    if (!(box[0] < box[2] && box[1] < box[3]) || box[2] <= 0 || box[3] <= 0 || box[0] >= 1 || box[1] >= 1)
        return fail(ctx, path, line, "the box has no area, or lies outside of its picture", cells[c->second]);
    p->n++;
    return WICK_OK;
}

static wick_status read_table(wick_context *ctx, const char *path, char *text, char separator, pairs *p) {
    char *rest = text, *cells[TABLE_COLUMNS], *line = table_next_line(&rest);
    columns c;
    int n;
    if (line && strncmp(line, "\xEF\xBB\xBF", 3) == 0) line += 3;
    if (line && !separator) separator = table_separator(line);
    if (!line || !table_cut_line(line, separator, cells, &n) || !find_columns(cells, n, &c))
        return wick_context_fail(ctx, WICK_ERR_FORMAT,
                                 "%s, line 1: is no header of pairs: template, search, xmin, ymin, xmax, ymax", path);
    for (int64_t at_ = 2; rest; at_++) {
        line = table_next_line(&rest);
        if (!line || !*line) continue;
        if (!table_cut_line(line, separator, cells, &n) || n != c.n)
            return wick_context_fail(ctx, WICK_ERR_FORMAT, "%s, line %lld: has not the %d cells of the header", path,
                                     (long long)at_, c.n);
        const wick_status status = take_row(ctx, path, at_, cells, &c, p);
        if (status != WICK_OK) return status;
    }
    return p->n ? WICK_OK : wick_context_fail(ctx, WICK_ERR_FORMAT, "%s: has no row", path);
}

static char *find_table(const char *data, const char *split) {
    char *file = source_find_file(data, split);
    if (file && (source_ends(file, ".csv") || source_ends(file, ".tsv"))) return file;
    free(file);
    return NULL;
}

bool source_is_paired(const wick_dataset *d) {
    const wick_spec *f = wick_dataset_field(d, 1);
    return f && f->dtype == WICK_F32 && f->rank == 2 && strcmp(f->name, "box") == 0;
}
bool source_is_pair_coding(const char *text) { return text && strcmp(text, coding) == 0; }

bool source_has_pairs(const char *data, const char *split, char separator) {
    enum { HEAD = 4096 };
    char *file = find_table(data, split), *first = malloc(HEAD), *rest = first, *cells[TABLE_COLUMNS];
    const int got = file && first ? path_head(file, (unsigned char *)first, HEAD - 1) : 0;
    columns c;
    int n;
    if (got > 0) first[got] = '\0';
    char *line = got > 0 && strchr(first, '\n') ? table_next_line(&rest) : NULL;
    if (line && strncmp(line, "\xEF\xBB\xBF", 3) == 0) line += 3;
    const bool has = line && table_cut_line(line, separator ? separator : table_separator(line), cells, &n) &&
                     find_columns(cells, n, &c);
    free(first);
    free(file);
    return has;
}

wick_status source_open_pairs(wick_context *ctx, const char *data, const char *split, const source_options *so,
                              owned *o, bool *whole) {
    char *path = find_table(data, split);
    if (!path)
        return wick_context_fail(ctx, WICK_ERR_IO,
                                 "%s: has no table of pairs for %s: %s.csv of template, search, xmin, ymin, xmax, ymax",
                                 data, split, split);
    size_t size;
    char *text = path_read(path, &size);
    pairs *p = calloc(1, sizeof *p);
    *whole = strcmp(path, data) == 0;
    wick_status status =
        !p      ? wick_context_fail(ctx, WICK_ERR_NOMEM, "%s: out of memory", path)
        : !text ? wick_context_fail(ctx, WICK_ERR_IO, "%s: %s", path, strerror(errno))
        : strlen(text) != size
            ? wick_context_fail(ctx, WICK_ERR_FORMAT, "%s: has a byte 0 in it, and is no table", path)
        : so->coding && !source_is_pair_coding(so->coding)
            ? wick_context_fail(ctx, WICK_ERR_MISMATCH,
                                "%s: has pairs of pictures, and the model learned from other data", path)
            : read_table(ctx, path, text, so->separator, p);
    if (status == WICK_OK && !so->coding && !so->told)
        log_note("%s: %lld pairs of pictures, with the box in the second of what the first shows", path,
                 (long long)p->n);
    static const char *const names[] = {"place", "width", "height"};
    if (status == WICK_OK) status = source_keep_names(ctx, path, names, 3, o);
    if (status == WICK_OK && !(o->coding = strdup(coding)))
        status = wick_context_fail(ctx, WICK_ERR_NOMEM, "%s: out of memory", path);
    free(text);
    free(path);
    if (status != WICK_OK) return drop(p), status;
    const wick_dataset_source source = {
        .count = p->n,
        .n_fields = 2,
        .fields = {{"image", WICK_U8, 3, {2 * p->dims[0], p->dims[1], p->dims[2]}}, {"box", WICK_F32, 2, {1, SIDES}}},
        .get = get,
        .at = at,
        .free = drop,
        .user = p};
    status = wick_dataset_new(ctx, &source, &o->set);
    if (status != WICK_OK) drop(p);
    return status;
}
