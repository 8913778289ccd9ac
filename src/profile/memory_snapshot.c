/* memory_snapshot.c: snapshots of a context's memory are taken, written as text and read again.
 *
 *   wick memory<TAB>1
 *   all<TAB>bytes<TAB>peak<TAB>blocks
 *   use<TAB>name<TAB>bytes<TAB>peak<TAB>blocks                 each use once, in the order of wick_memory_use_at
 *   course<TAB>ns of a point
 *   point<TAB>bytes of each use, in that order
 *   row<TAB>bytes<TAB>blocks<TAB>use<TAB>place
 *   region<TAB>bytes<TAB>bytes in use<TAB>blocks<TAB>cells
 *   end */
#include "profile/memory_snapshot.h"

#include <errno.h>
#include <stdlib.h>

#include "profile/timeline.h"

#define HEAD "wick memory\t1\n"

/* ---- taking ------------------------------------------------------------------------------------------------------ */

/* Between blocks: what malloc keeps beside each is no hole; so much more is another region. */
enum { BESIDE = 64, APART = 4 << 20 };

typedef struct piece {
    uintptr_t at;
    size_t size;
} piece;

static int by_address(const void *a, const void *b) {
    const piece *x = a, *y = b;
    return x->at < y->at ? -1 : x->at > y->at;
}
static int by_region(const void *a, const void *b) {
    const snapshot_region *x = a, *y = b;
    return x->bytes != y->bytes ? (x->bytes > y->bytes ? -1 : 1) : memcmp(x->cells, y->cells, SNAPSHOT_CELLS);
}

/* Of pieces [0, n), in order. */
static snapshot_region region_of(const piece *p, size_t n) {
    snapshot_region r = {.bytes = p[n - 1].at + p[n - 1].size - p->at, .blocks = n};
    double used[SNAPSHOT_CELLS] = {0};
    const double cell = (double)r.bytes / SNAPSHOT_CELLS;
    for (size_t i = 0; i < n; i++) {
        const size_t gap = i + 1 < n ? p[i + 1].at - p[i].at - p[i].size : 0;
        const size_t size = p[i].size + (gap <= BESIDE ? gap : 0);
        const double from = (double)(p[i].at - p->at), to = from + (double)size;
        r.used += size;
        for (int c = (int)(from / cell); c < SNAPSHOT_CELLS && c * cell < to; c++)
            used[c] += WICK_MAX(WICK_MIN(to, (c + 1) * cell) - WICK_MAX(from, c * cell), 0.0);
    }
    for (int c = 0; c < SNAPSHOT_CELLS; c++) r.cells[c] = (char)('0' + (int)(WICK_MIN(used[c] / cell, 1.0) * 9 + 0.5));
    return r;
}

static void add_region(wick_memory_snapshot *s, snapshot_region r) {
    if (s->n_regions < SNAPSHOT_REGIONS)
        s->regions[s->n_regions++] = r;
    else { /* in place of the smallest */
        int least = 0;
        for (int i = 1; i < SNAPSHOT_REGIONS; i++)
            if (s->regions[i].bytes < s->regions[least].bytes) least = i;
        if (s->regions[least].bytes < r.bytes) s->regions[least] = r;
    }
}

static bool take_regions(wick_memory_snapshot *s, wick_tracker *t) {
    size_t n = 0, cap = 0;
    piece *p = NULL;
    wick_tracker_lock(t);
    wick_course_look(t);
    if (t->course) {
        s->width = t->course->width;
        s->n_points = t->course->n;
        memcpy(s->points, t->course->at, (size_t)s->n_points * sizeof *s->points);
    }
    const bool room = wick_grow(NULL, (void **)&p, &cap, WICK_MAX(t->used, 1), sizeof *p);
    for (size_t i = 0; i < t->slots && room; i++)
        if (t->table[i].at) p[n++] = (piece){(uintptr_t)t->table[i].at, t->table[i].size};
    wick_tracker_unlock(t);
    if (n) qsort(p, n, sizeof *p, by_address);
    for (size_t i = 0, from = 0; i < n; i++)
        if (i + 1 == n || p[i + 1].at - p[i].at - p[i].size > APART) {
            add_region(s, region_of(p + from, i + 1 - from));
            from = i + 1;
        }
    qsort(s->regions, (size_t)s->n_regions, sizeof *s->regions, by_region);
    wick_release(NULL, p, cap * sizeof *p);
    return room;
}

static wick_memory_snapshot *snapshot_new(void) {
    wick_memory_snapshot *s = wick_calloc(NULL, sizeof *s);
    if (s) wick_arena_init(&s->arena, NULL, 0);
    return s;
}
void wick_memory_snapshot_free(wick_memory_snapshot **slot) {
    wick_memory_snapshot *s = slot ? *slot : NULL;
    if (!s) return;
    *slot = NULL;
    wick_arena_free(&s->arena);
    wick_release(NULL, s, sizeof *s);
}

wick_status wick_memory_record(wick_context *ctx) {
    wick_tracker *t = wick_memory_tracker(ctx);
    if (!t) return wick_context_fail(ctx, WICK_ERR_INVALID, "memory: this context was made without track_memory");
    const wick_status status = wick_tracker_record(t);
    return status == WICK_OK ? status : wick_context_fail(ctx, status, "memory: out of memory for its course");
}

wick_status wick_memory_snapshot_take(wick_context *ctx, wick_memory_snapshot **out) {
    if (!out) return wick_context_fail(ctx, WICK_ERR_INVALID, "memory_snapshot_take: out is NULL");
    *out = NULL;
    const int n = wick_memory_rows(ctx);
    if (n < 0) return ctx->msg.status;
    wick_memory_snapshot *s = snapshot_new();
    bool good = s && take_regions(s, wick_memory_tracker(ctx));
    if (good) s->rows = wick_arena_alloc(&s->arena, (size_t)WICK_MAX(n, 1) * sizeof *s->rows);
    good = good && s->rows;
    for (int i = 0; good && i < n; i++, s->n_rows++) {
        s->rows[i] = wick_memory_row_at(ctx, i);
        good = (s->rows[i].place = wick_arena_strdup(&s->arena, s->rows[i].place)) != NULL;
    }
    if (!good) {
        wick_memory_snapshot_free(&s);
        return wick_context_fail(ctx, WICK_ERR_NOMEM, "memory: out of memory for a snapshot");
    }
    s->all = wick_memory_all(ctx);
    for (int i = 0; i < WICK_TAGS; i++) s->uses[i] = wick_memory_use_at(ctx, i);
    *out = s;
    return WICK_OK;
}

/* ---- asking ------------------------------------------------------------------------------------------------------ */

size_t snapshot_course_peak(const wick_memory_snapshot *s) {
    size_t most = 0;
    for (int i = 0; i < s->n_points; i++) most = WICK_MAX(most, s->points[i].all);
    return most;
}

wick_memory_snapshot_info wick_memory_snapshot_get_info(const wick_memory_snapshot *s) {
    if (!s) return (wick_memory_snapshot_info){0};
    wick_memory_snapshot_info info = {.bytes = s->all.bytes,
                                      .peak = s->all.peak,
                                      .blocks = s->all.blocks,
                                      .seconds = (double)s->n_points * (double)s->width * 1e-9,
                                      .points = s->n_points,
                                      .course_peak = snapshot_course_peak(s),
                                      .regions = s->n_regions};
    for (int i = 0; i < s->n_regions; i++) {
        info.extent += s->regions[i].bytes;
        info.holes += s->regions[i].bytes - s->regions[i].used;
    }
    return info;
}

static const wick_memory_row *same_row(const wick_memory_snapshot *s, const wick_memory_row *r) {
    for (size_t i = 0; s && i < s->n_rows; i++)
        if (strcmp(s->rows[i].place, r->place) == 0 && strcmp(s->rows[i].use, r->use) == 0) return &s->rows[i];
    return NULL;
}

/* Without a list of its own: the row before which exactly i lie, ordered by change, then by text. */
static bool lies_before(const wick_memory_row *a, const wick_memory_row *b) {
    const uint64_t x = a->grown < 0 ? 0 - (uint64_t)a->grown : (uint64_t)a->grown,
                   y = b->grown < 0 ? 0 - (uint64_t)b->grown : (uint64_t)b->grown;
    if (x != y) return x > y;
    const int place = strcmp(a->place, b->place);
    return place ? place < 0 : strcmp(a->use, b->use) < 0;
}
static bool candidate(const wick_memory_snapshot *now, const wick_memory_snapshot *before, size_t k,
                      wick_memory_row *out) {
    if (k < now->n_rows) {
        *out = now->rows[k];
        const wick_memory_row *was = same_row(before, out);
        out->grown = (int64_t)out->bytes - (was ? (int64_t)was->bytes : 0);
        return true;
    }
    *out = before->rows[k - now->n_rows];
    if (same_row(now, out)) return false;
    out->grown = -(int64_t)out->bytes;
    out->bytes = 0;
    out->blocks = 0;
    return true;
}
bool wick_memory_snapshot_change(const wick_memory_snapshot *now, const wick_memory_snapshot *before, int i,
                                 wick_memory_row *out) {
    if (!out) return false;
    *out = (wick_memory_row){.place = "", .use = ""};
    if (!now) return false;
    const size_t n = now->n_rows + (before ? before->n_rows : 0);
    wick_memory_row last = {.place = "", .use = ""}, best, r;
    for (int turn = 0; turn <= i; turn++) {
        bool found = false;
        for (size_t k = 0; k < n; k++)
            if (candidate(now, before, k, &r) && (turn == 0 || lies_before(&last, &r)) &&
                (!found || lies_before(&r, &best)))
                best = r, found = true;
        if (!found) return false;
        last = best;
    }
    if (i < 0) return false;
    *out = last;
    return true;
}

/* ---- text -------------------------------------------------------------------------------------------------------- */

/* A place is a file's name and a line: what would end a field is '_'. */
static void add_place(wick_text *out, const char *place) {
    for (const char *p = place; *p; p++) wick_text_bytes(out, (unsigned char)*p < 32 ? "_" : p, 1);
}

static void print(const wick_memory_snapshot *s, const wick_memory_snapshot *before, wick_text *out) {
    (void)before;
    wick_text_add(out, HEAD "all\t%zu\t%zu\t%llu\n", s->all.bytes, s->all.peak, (unsigned long long)s->all.blocks);
    for (int i = 0; i < WICK_TAGS; i++)
        wick_text_add(out, "use\t%s\t%zu\t%zu\t%llu\n", s->uses[i].name, s->uses[i].bytes, s->uses[i].peak,
                      (unsigned long long)s->uses[i].blocks);
    if (s->n_points) wick_text_add(out, "course\t%llu\n", (unsigned long long)s->width);
    for (int i = 0; i < s->n_points; i++) {
        wick_text_add(out, "point");
        for (int u = 0; u < WICK_TAGS; u++) wick_text_add(out, "\t%zu", s->points[i].bytes[u]);
        wick_text_add(out, "\n");
    }
    for (size_t i = 0; i < s->n_rows; i++) {
        const wick_memory_row *r = &s->rows[i];
        wick_text_add(out, "row\t%zu\t%llu\t%s\t", r->bytes, (unsigned long long)r->blocks, r->use);
        add_place(out, r->place);
        wick_text_add(out, "\n");
    }
    for (int i = 0; i < s->n_regions; i++) {
        const snapshot_region *r = &s->regions[i];
        wick_text_add(out, "region\t%zu\t%zu\t%llu\t%s\n", r->bytes, r->used, (unsigned long long)r->blocks, r->cells);
    }
    wick_text_add(out, "end\n");
}

enum { FIELDS = WICK_TAGS + 2 };
typedef struct line {
    char *field[FIELDS];
    int n;
} line;

static bool number(const char *text, uint64_t *out) {
    char *end;
    if (*text < '0' || *text > '9') return false;
    errno = 0;
    *out = strtoull(text, &end, 10);
    return !*end && errno == 0 && *out <= SIZE_MAX / 4;
}
static bool size_in(const char *text, size_t *out) {
    uint64_t v;
    const bool good = number(text, &v);
    if (good) *out = (size_t)v;
    return good;
}
static const char *use_named(const char *name) {
    for (int i = 0; i < WICK_TAGS; i++)
        if (strcmp(name, wick_tag_name((wick_tag)i)) == 0) return wick_tag_name((wick_tag)i);
    return NULL;
}

typedef struct reading {
    wick_memory_snapshot *s;
    int uses;
    size_t cap;
    bool all, ended, nomem;
} reading;

static bool read_region(reading *r, const line *l) {
    snapshot_region region = {0};
    if (l->n != 5 || r->s->n_regions == SNAPSHOT_REGIONS || !size_in(l->field[1], &region.bytes) ||
        !size_in(l->field[2], &region.used) || region.used > region.bytes || !number(l->field[3], &region.blocks) ||
        strlen(l->field[4]) != SNAPSHOT_CELLS || l->field[4][strspn(l->field[4], "0123456789")])
        return false;
    memcpy(region.cells, l->field[4], SNAPSHOT_CELLS);
    r->s->regions[r->s->n_regions++] = region;
    return true;
}

static bool read_row(reading *r, const line *l) {
    wick_memory_snapshot *s = r->s;
    wick_memory_row row = {.place = l->field[4]};
    if (l->n != 5 || !size_in(l->field[1], &row.bytes) || !number(l->field[2], &row.blocks) ||
        !(row.use = use_named(l->field[3])))
        return false;
    if (s->n_rows == r->cap) {
        const size_t cap = r->cap ? 2 * r->cap : 64;
        wick_memory_row *rows = wick_arena_alloc(&s->arena, cap * sizeof *rows);
        if (!rows) return !(r->nomem = true);
        if (s->n_rows) memcpy(rows, s->rows, s->n_rows * sizeof *rows);
        s->rows = rows;
        r->cap = cap;
    }
    s->rows[s->n_rows++] = row;
    return true;
}

static bool read_line(reading *r, const line *l) {
    wick_memory_snapshot *s = r->s;
    const char *what = l->field[0];
    if (r->ended) return false;
    if (strcmp(what, "all") == 0) {
        s->all.name = "all";
        return l->n == 4 && !r->all && (r->all = true) && size_in(l->field[1], &s->all.bytes) &&
               size_in(l->field[2], &s->all.peak) && number(l->field[3], &s->all.blocks);
    }
    if (strcmp(what, "use") == 0) {
        if (l->n != 5 || r->uses == WICK_TAGS || strcmp(l->field[1], wick_tag_name((wick_tag)r->uses)) != 0)
            return false;
        wick_memory_use *u = &s->uses[r->uses];
        u->name = wick_tag_name((wick_tag)r->uses++);
        return size_in(l->field[2], &u->bytes) && size_in(l->field[3], &u->peak) && number(l->field[4], &u->blocks);
    }
    if (strcmp(what, "course") == 0) return l->n == 2 && number(l->field[1], &s->width) && s->width;
    if (strcmp(what, "point") == 0) {
        if (l->n != WICK_TAGS + 1 || !s->width || s->n_points == WICK_COURSE_POINTS) return false;
        wick_course_point *p = &s->points[s->n_points++];
        for (int i = 0; i < WICK_TAGS; i++) {
            if (!size_in(l->field[i + 1], &p->bytes[i]) || wick_add_overflows(p->all, p->bytes[i], &p->all))
                return false;
        }
        return true;
    }
    if (strcmp(what, "row") == 0) return read_row(r, l);
    if (strcmp(what, "region") == 0) return read_region(r, l);
    return strcmp(what, "end") == 0 && l->n == 1 && (r->ended = true);
}

wick_status wick_memory_snapshot_read(wick_context *ctx, const char *path, wick_memory_snapshot **out) {
    if (!out) return wick_context_fail(ctx, WICK_ERR_INVALID, "memory_snapshot_read: out is NULL");
    *out = NULL;
    wick_map map;
    WICK_TRY(wick_map_read(&map, path, &ctx->msg));
    reading r = {.s = snapshot_new()};
    char *text = r.s ? wick_arena_alloc(&r.s->arena, map.size + 1) : NULL;
    size_t number_of_line = 1;
    wick_status status = text ? WICK_OK : WICK_ERR_NOMEM;
    if (text) {
        memcpy(text, map.data, map.size);
        text[map.size] = 0;
    }
    const size_t head = sizeof HEAD - 1, size = map.size;
    wick_map_close(&map);
    if (status == WICK_OK && (size < head || memcmp(text, HEAD, head) != 0)) status = WICK_ERR_FORMAT;
    for (size_t at = head; status == WICK_OK && at < size;) {
        line l = {.n = 0};
        const char *found = memchr(text + at, '\n', size - at);
        char *end = found ? text + (found - text) : NULL;
        number_of_line++;
        bool good = end && !memchr(text + at, 0, (size_t)(end - (text + at)));
        if (good) *end = 0;
        for (char *p = text + at; good && p && l.n < FIELDS;) {
            l.field[l.n++] = p;
            if ((p = strchr(p, '\t'))) *p++ = 0;
            good = !p || l.n < FIELDS;
        }
        if (!good || !read_line(&r, &l))
            status = r.nomem ? WICK_ERR_NOMEM : WICK_ERR_FORMAT;
        else
            at = (size_t)(end + 1 - text);
    }
    if (status == WICK_OK && (!r.ended || !r.all || r.uses != WICK_TAGS)) status = WICK_ERR_FORMAT, number_of_line++;
    if (status == WICK_OK)
        *out = r.s;
    else
        wick_memory_snapshot_free(&r.s);
    if (status == WICK_ERR_NOMEM) return wick_context_fail(ctx, status, "%s: out of memory", path);
    return status == WICK_OK ? status
                             : wick_context_fail(ctx, status, "%s: line %zu: no snapshot of memory, or it is damaged",
                                                 path, number_of_line);
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

wick_status wick_memory_snapshot_write(wick_context *ctx, const wick_memory_snapshot *s,
                                       const wick_memory_snapshot *before, const char *path) {
    static const struct {
        const char *end;
        void (*make)(const wick_memory_snapshot *s, const wick_memory_snapshot *before, wick_text *out);
    } kinds[] = {{".svg", snapshot_draw}, {".html", snapshot_page}, {".tsv", print}};
    size_t kind = 0;
    if (!s) return wick_context_fail(ctx, WICK_ERR_INVALID, "memory_snapshot_write: snapshot is NULL");
    const size_t length = path ? strlen(path) : 0;
    for (; kind < WICK_COUNTOF(kinds); kind++) {
        const size_t n = strlen(kinds[kind].end);
        if (length > n && strcmp(path + length - n, kinds[kind].end) == 0) break;
    }
    if (kind == WICK_COUNTOF(kinds))
        return wick_context_fail(ctx, WICK_ERR_INVALID, "%s: a snapshot of memory is written as .svg, .html or .tsv",
                                 path ? path : "no path is given");
    WICK_TRY(profile_may_replace(path, &ctx->msg));
    wick_text out = {0};
    kinds[kind].make(s, before, &out);
    wick_writer *w = NULL;
    wick_status status = out.failed ? wick_msg_set(&ctx->msg, WICK_ERR_NOMEM, "%s: out of memory", path)
                                    : wick_writer_open(&w, path, &ctx->msg);
    if (status == WICK_OK) status = wick_writer_write(w, out.at, out.len, &ctx->msg);
    if (status == WICK_OK) status = wick_writer_commit(&w, &ctx->msg);
    wick_writer_abort(&w);
    wick_text_free(&out);
    return status;
}
