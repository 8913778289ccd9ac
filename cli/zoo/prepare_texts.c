/* Texts: a table becomes TO/PART.tsv of texts with their class, or with a tag for each word. A text of the training
 * that is held out too, letters and digits compared, is left out of the training. */
#include "zoo.h"

#include "../paths.h"
#include "../term/log.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { ASIDE = ZOO_PARTS, NO_PART, GROUP_COLUMNS = 2, MOST_COLUMNS = 16 };

/* How the table of a set is read. */
typedef struct form {
    const zoo_set *set;
    const char *text, *label;         /* columns */
    const char *skip;                 /* a label that is no class, whose test part is kept in aside.tsv; NULL: none */
    const char *aside;                /* a source whose test part is kept there; NULL: none */
    const char *group[GROUP_COLUMNS]; /* columns whose texts belong together; NULL: each text is by itself */
    const char *groups;
} form;
static const form forms[] = {
    {.set = &zoo_set_sentiment,
     .text = "text",
     .label = "label",
     .group = {"source", "group"},
     .groups = "articles, films, products and tweets"},
    {.set = &zoo_set_languages, .text = "text", .label = "lang", .groups = "texts, by a hash"},
    {.set = &zoo_set_names, .text = "words", .label = "tags", .aside = "wnut17", .groups = "texts, by a hash"},
    {.set = &zoo_set_intents, .text = "text", .label = "intent", .skip = "oos", .groups = "texts, by a hash"},
};

typedef struct row {
    const char *text, *label;
    uint64_t hash; /* of the letters and digits */
    int part;
    bool known; /* a later part has it too */
    char group[ZOO_GROUP];
} row;

/* FNV-1a of letters and digits, small; of a text without any, of all of it. */
static uint64_t hash_of(const char *text) {
    uint64_t hash = 0xcbf29ce484222325u, all = hash;
    bool any = false;
    for (const unsigned char *s = (const unsigned char *)text; *s; s++) {
        all = (all ^ *s) * 0x100000001b3u;
        if (!isalnum(*s) && *s < 0x80) continue;
        any = true;
        hash = (hash ^ (uint64_t)tolower(*s)) * 0x100000001b3u;
    }
    return any ? hash : all;
}

static int part_of(const char *cell) {
    if (strcmp(cell, "train") == 0) return ZOO_TRAIN;
    if (strcmp(cell, "val") == 0 || strcmp(cell, "validation") == 0) return ZOO_VALIDATION;
    return strcmp(cell, "test") == 0 ? ZOO_TEST : NO_PART;
}

/* The cells of a line, which is cut at its tabs; how many. */
static int cut(char *line, char **cells) {
    int n = 0;
    for (char *s = line; s && n < MOST_COLUMNS; n++) {
        cells[n] = s;
        s = strchr(s, '\t');
        if (s) *s++ = '\0';
    }
    return n;
}
static int column(char *const *head, int columns, const char *name) {
    int k = columns - 1;
    while (k >= 0 && strcmp(head[k], name) != 0) k--;
    return k;
}

/* The columns of a form within the table. */
typedef struct places {
    int columns, text, label, split, source, group[GROUP_COLUMNS];
} places;

static int find_columns(const zoo_prep *p, const form *f, char *head, places *at) {
    char *names[MOST_COLUMNS];
    at->columns = cut(head, names);
    const struct {
        const char *name;
        int *at;
    } wanted[] = {{f->text, &at->text},         {f->label, &at->label},
                  {"split", &at->split},        {f->aside ? "source" : NULL, &at->source},
                  {f->group[0], &at->group[0]}, {f->group[1], &at->group[1]}};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        *wanted[i].at = wanted[i].name ? column(names, at->columns, wanted[i].name) : -1;
        if (wanted[i].name && *wanted[i].at < 0)
            return log_fail(CLI_BAD_FILE, "%s: has no column \"%s\"", p->source, wanted[i].name);
    }
    return CLI_OK;
}

static int read_row(const zoo_prep *p, const form *f, const places *at, char *line, int64_t number, row *r) {
    char *cells[MOST_COLUMNS];
    const int n = cut(line, cells);
    if (n != at->columns)
        return log_fail(CLI_BAD_FILE, "%s: line %lld has %d cells, and the columns are %d", p->source,
                        (long long)number, n, at->columns);
    r->text = cells[at->text], r->label = cells[at->label];
    r->hash = hash_of(r->text);
    r->part = part_of(cells[at->split]);
    if (r->part == NO_PART)
        return log_fail(CLI_BAD_FILE, "%s: line %lld: the split is train, val, validation or test, not \"%.40s\"",
                        p->source, (long long)number, cells[at->split]);
    if (f->aside && r->part == ZOO_TEST && strcmp(cells[at->source], f->aside) == 0) r->part = ASIDE;
    if (f->skip && strcmp(r->label, f->skip) == 0) r->part = r->part == ZOO_TEST ? ASIDE : NO_PART;
    if (f->group[0])
        snprintf(r->group, sizeof r->group, "%s/%s", cells[at->group[0]], cells[at->group[1]]);
    else
        snprintf(r->group, sizeof r->group, "%016llx", (unsigned long long)r->hash);
    return CLI_OK;
}

static int by_hash(const void *a, const void *b) {
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}
/* Marks the rows of each part that a later one has too. */
static int find_known(row *rows, int64_t n) {
    uint64_t *later = malloc((size_t)(n + 1) * sizeof *later);
    if (!later) return zoo_out_of_memory();
    for (int part = ZOO_TRAIN; part < ZOO_TEST; part++) { /* what is aside is later than all */
        int64_t m = 0;
        for (int64_t i = 0; i < n; i++)
            if (rows[i].part > part && rows[i].part != NO_PART) later[m++] = rows[i].hash;
        qsort(later, (size_t)m, sizeof *later, by_hash);
        for (int64_t i = 0; i < n; i++)
            if (rows[i].part == part)
                rows[i].known = bsearch(&rows[i].hash, later, (size_t)m, sizeof *later, by_hash) != NULL;
    }
    free(later);
    return CLI_OK;
}

/* Labels of the training, word by word, in the order in which they are given out. */
typedef struct pool {
    const char **words;
    int64_t *order, n, next;
} pool;
static int fill_pool(const row *rows, int64_t n, pool *l) {
    int64_t room = 1;
    for (int64_t i = 0; i < n; i++) room += (int64_t)strlen(rows[i].label);
    l->words = malloc((size_t)room * sizeof *l->words);
    l->order = malloc((size_t)room * sizeof *l->order);
    if (!l->words || !l->order) return zoo_out_of_memory();
    for (int64_t i = 0; i < n; i++) {
        if (rows[i].part != ZOO_TRAIN || rows[i].known) continue;
        for (const char *s = rows[i].label; *s; s += strspn(s, " ")) l->words[l->n++] = s, s += strcspn(s, " ");
    }
    zoo_deal(l->order, l->n);
    return CLI_OK;
}

static void write_label(FILE *out, const char *label, pool *l) {
    if (!l) {
        fputs(label, out);
        return;
    }
    for (const char *s = label; *s; s += strspn(s, " ")) {
        const char *word = l->words[l->order[l->next++]];
        fprintf(out, "%s%.*s", s == label ? "" : " ", (int)strcspn(word, " "), word);
        s += strcspn(s, " ");
    }
}

static int write_rows(zoo_prep *p, const form *f, const row *rows, int64_t n, int part, pool *l) {
    char path[4200], *text = NULL;
    size_t size = 0;
    int64_t left_out = 0, written = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out) return zoo_out_of_memory();
    const char *name = part == ASIDE ? "aside" : p->parts[part].name;
    const bool labelled = part != ASIDE || !f->skip; /* what is skipped is of no class */
    fprintf(out, labelled ? "%s\t%s\n" : "%s\n", f->text, f->label);
    int code = CLI_OK;
    for (int64_t i = 0; code == CLI_OK && i < n; i++) {
        if (rows[i].part != part) continue;
        left_out += rows[i].known;
        if (rows[i].known) continue;
        fputs(rows[i].text, out);
        if (labelled) fputc('\t', out), write_label(out, rows[i].label, l);
        fputc('\n', out);
        written++;
        if (part != ASIDE) code = zoo_count_in(p, part, rows[i].group);
    }
    if (left_out) log_note("  %s: %lld texts are left out, which are held out too", name, (long long)left_out);
    if (fclose(out) != 0 || !text) code = zoo_out_of_memory();
    snprintf(path, sizeof path, "%s/%s.tsv", p->to, name);
    if (code == CLI_OK && written) code = zoo_checked(p, wick_file_write(p->ctx, path, text, size));
    free(text);
    return code;
}

int zoo_prepare_texts(zoo_prep *p) {
    const form *f = forms;
    while (f->set != p->set) f++;
    p->groups = f->groups;
    zoo_table t = {0};
    places at;
    pool l = {0};
    row *rows = NULL;
    int code = zoo_read_table(p->source, &t);
    if (code == CLI_OK) code = find_columns(p, f, t.text + (t.head - t.text), &at);
    if (code == CLI_OK && !(rows = calloc((size_t)t.n + 1, sizeof *rows))) code = zoo_out_of_memory();
    for (int64_t i = 0; code == CLI_OK && i < t.n; i++)
        code = read_row(p, f, &at, t.text + (t.lines[i] - t.text), i + 2, &rows[i]);
    if (code == CLI_OK) code = find_known(rows, t.n);
    if (code == CLI_OK && p->shuffle) code = fill_pool(rows, t.n, &l);
    for (int part = 0; code == CLI_OK && part <= ASIDE; part++)
        code = write_rows(p, f, rows, t.n, part, p->shuffle && part == ZOO_TRAIN ? &l : NULL);
    free(rows), free(l.words), free(l.order);
    zoo_free_table(&t);
    return code;
}
