/* Pascal VOC's XML: a file for each picture, <annotation> with <size> and an <object> for each box, with <name> and
 * <bndbox>. Pixels count from 1, and those of xmax and ymax belong to the box (VOC2012 development kit). Of the XML
 * only what these files have is read: elements, texts, comments and the five named characters. */
#include "box_set.h"

#include "../../paths.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_DEPTH = 16, MOST_TEXT = 256 };

typedef struct xml {
    wick_context *ctx;
    const char *path, *at;
    int64_t line;
    char names[MOST_DEPTH][32]; /* elements that are open */
    int depth;
    char text[MOST_TEXT]; /* of the innermost one, so far */
} xml;

static wick_status fail(const xml *x, const char *what) {
    return wick_context_fail(x->ctx, WICK_ERR_FORMAT, "%s, line %lld: %s", x->path, (long long)x->line, what);
}

static void step(xml *x, size_t n) {
    for (; n && *x->at; n--, x->at++) x->line += *x->at == '\n';
}

/* Over a comment, a declaration or an instruction; false: there is none here. */
static bool pass_over(xml *x) {
    static const char *const begins[] = {"<!--", "<?", "<!"}, *const ends[] = {"-->", "?>", ">"};
    for (int k = 0; k < 3; k++) {
        if (strncmp(x->at, begins[k], strlen(begins[k])) != 0) continue;
        const char *end = strstr(x->at, ends[k]);
        step(x, end ? (size_t)(end - x->at) + strlen(ends[k]) : strlen(x->at));
        return true;
    }
    return false;
}

static void add_character(xml *x) {
    static const char *const named[] = {"&lt;", "&gt;", "&amp;", "&quot;", "&apos;"};
    size_t n = strlen(x->text), length = 1;
    char c = *x->at;
    for (int k = 0; k < 5 && c == '&'; k++)
        if (strncmp(x->at, named[k], strlen(named[k])) == 0) c = "<>&\"'"[k], length = strlen(named[k]);
    if (n + 1 < MOST_TEXT) x->text[n] = c, x->text[n + 1] = '\0';
    step(x, length);
}

typedef enum event { OPENED, CLOSED, ENDED, BROKEN } event;
/* The next tag; of one that closes, its name is names[depth], and its text that without blanks around it. */
static event next(xml *x, const char **why) {
    for (;;) {
        if (!*x->at) return *why = "the file ends within an element", x->depth ? BROKEN : ENDED;
        if (*x->at != '<') {
            add_character(x);
            continue;
        }
        if (pass_over(x)) continue;
        const bool closes = x->at[1] == '/';
        const char *name = x->at + 1 + closes, *end = strchr(name, '>');
        const size_t n = strcspn(name, " \t\r\n/>");
        if (!end || !n || n >= sizeof x->names[0]) return *why = "is no tag", BROKEN;
        const bool empty = end[-1] == '/' && !closes;
        if (closes) {
            if (!x->depth || strlen(x->names[x->depth - 1]) != n || memcmp(x->names[x->depth - 1], name, n) != 0)
                return *why = "closes an element that is not open", BROKEN;
            x->depth--;
            size_t length = strlen(x->text), begin = strspn(x->text, " \t\r\n");
            while (length > begin && strchr(" \t\r\n", x->text[length - 1])) x->text[--length] = '\0';
            memmove(x->text, x->text + begin, length - begin + 1);
        } else if (!empty) {
            if (x->depth == MOST_DEPTH) return *why = "elements lie too deep within each other", BROKEN;
            memcpy(x->names[x->depth], name, n);
            x->names[x->depth++][n] = '\0';
        }
        step(x, (size_t)(end - x->at) + 1);
        if (empty) continue;
        if (!closes) x->text[0] = '\0';
        return closes ? CLOSED : OPENED;
    }
}

static bool is_at(const xml *x, int depth, const char *name) {
    return x->depth > depth && strcmp(x->names[depth], name) == 0;
}

typedef struct object {
    char name[MOST_TEXT];
    double at[4];
    int sides; /* a bit for each that was there */
} object;

static wick_status close_object(xml *x, object *o, int64_t picture, box_set *s) {
    static const char *const sides[] = {"xmin", "ymin", "xmax", "ymax"};
    char why[64];
    for (int k = 0; k < 4; k++)
        if (!(o->sides >> k & 1)) {
            snprintf(why, sizeof why, "an <object> has no <%s> in its <bndbox>", sides[k]);
            return fail(x, why);
        }
    if (!o->name[0]) return fail(x, "an <object> has no <name>");
    box b = {.at = {o->at[0] - 1, o->at[1] - 1, o->at[2], o->at[3]}, .picture = picture, .line = x->line};
    wick_status status = box_check(x->ctx, x->path, x->line, b.at);
    if (status == WICK_OK) status = box_set_class(x->ctx, s, o->name, x->path, x->line, &b.class);
    return status == WICK_OK ? box_set_add(x->ctx, s, &b) : status;
}

static wick_status read_number(const xml *x, const char *name, double *value) {
    char *end, why[MOST_TEXT + 64];
    *value = strtod(x->text, &end);
    if (end != x->text && !*end) return WICK_OK;
    snprintf(why, sizeof why, "<%.80s> is \"%.40s\", which is no number", name, x->text);
    return fail(x, why);
}

/* The element that has just closed, names[depth]. */
static wick_status take(xml *x, object *o, int64_t picture, box_set *s) {
    static const char *const sides[] = {"xmin", "ymin", "xmax", "ymax"};
    const char *name = x->names[x->depth];
    double value;
    if (x->depth == 1 && strcmp(name, "object") == 0) return close_object(x, o, picture, s);
    if (x->depth == 2 && is_at(x, 1, "object") && strcmp(name, "name") == 0)
        return snprintf(o->name, sizeof o->name, "%s", x->text), WICK_OK;
    for (int k = 0; k < 4; k++) {
        if (x->depth != 3 || !is_at(x, 1, "object") || !is_at(x, 2, "bndbox") || strcmp(name, sides[k]) != 0) continue;
        o->sides |= 1 << k;
        return read_number(x, name, &o->at[k]);
    }
    const bool height = strcmp(name, "height") == 0, width = strcmp(name, "width") == 0;
    if (x->depth != 2 || !is_at(x, 1, "size") || !(height || width)) return WICK_OK;
    const wick_status status = read_number(x, name, &value);
    if (status == WICK_OK && value >= 1 && value < 1e6)
        *(height ? &s->pictures[picture].height : &s->pictures[picture].width) = (int64_t)value;
    return status;
}

wick_status box_read_voc(wick_context *ctx, const char *path, int64_t picture, box_set *s) {
    size_t size;
    char *text = path_read(path, &size);
    if (!text) return wick_context_fail(ctx, WICK_ERR_IO, "%s: %s", path, strerror(errno));
    xml x = {.ctx = ctx, .path = path, .at = text, .line = 1};
    object o = {0};
    const char *why = "";
    bool root = false;
    wick_status status = WICK_OK;
    for (event e = OPENED; status == WICK_OK && e != ENDED;) {
        e = next(&x, &why);
        if (e == BROKEN) status = fail(&x, why);
        if (e == OPENED && x.depth == 1) root |= strcmp(x.names[0], "annotation") == 0;
        if (e == OPENED && x.depth == 2 && is_at(&x, 1, "object")) o = (object){0};
        if (e == CLOSED) status = take(&x, &o, picture, s);
    }
    if (status == WICK_OK && !root)
        status = wick_context_fail(ctx, WICK_ERR_FORMAT, "%s: has no <annotation>, as Pascal VOC's files have", path);
    const box_picture *p = &s->pictures[picture];
    if (status == WICK_OK && !p->height != !p->width) s->pictures[picture].height = s->pictures[picture].width = 0;
    free(text);
    return status;
}
