/* Descriptions of packages: which of its sentences is most like the summary. The sentences of a package become texts
 * with a class, "yes" for the one whose ROUGE-1 beside the summary is the highest. The first word of a text says which
 * sentence it is. test.tsv also has the package and the ROUGE-1 of each. */
#include "zoo.h"

#include "../paths.h"
#include "../term/log.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { PACKAGE, GROUP, SPLIT, SUMMARY, TEXT, COLUMNS, SENTENCES = 8, WORDS = 256 };

/* A run of letters, digits and +, as small letters; of a word beyond 31 bytes its beginning. */
typedef struct word {
    char text[32];
} word;
static int words_of(const char *s, word *to) {
    int n = 0;
    while (*s && n < WORDS) {
        size_t length = 0;
        for (; isalnum((unsigned char)*s) || *s == '+'; s++)
            if (length < sizeof to->text - 1) to[n].text[length++] = (char)tolower((unsigned char)*s);
        if (length)
            to[n++].text[length] = '\0';
        else
            s++;
    }
    return n;
}

/* The F1 of words that both have, each as often as the one that has it less often (Lin 2004). */
static double rouge_1(const word *a, int n, const word *b, int m) {
    bool used[WORDS] = {false};
    int both = 0;
    for (int i = 0; i < n; i++)
        for (int k = 0; k < m; k++)
            if (!used[k] && strcmp(a[i].text, b[k].text) == 0) {
                used[k] = true, both++;
                break;
            }
    return both ? 2.0 * both / (n + m) : 0;
}

typedef struct sentence {
    const char *text;
    double rouge;
    int64_t package;
    int place, part;
    bool best;
} sentence;
typedef struct packages {
    zoo_table t;
    sentence *list;
    int64_t n;
} packages;

/* Cuts the line at its tabs; false: it has other than five cells. */
static bool cut(char *line, char **cells) {
    int n = 0;
    for (char *s = line; s; n++) {
        if (n == COLUMNS) return false;
        cells[n] = s;
        s = strchr(s, '\t');
        if (s) *s++ = '\0';
    }
    return n == COLUMNS;
}

static int wrong_line(const zoo_prep *p, int64_t i, const char *why) {
    return log_fail(CLI_BAD_FILE, "%s: line %lld: %s", p->source, (long long)i + 2, why);
}

static int read_package(zoo_prep *p, packages *all, int64_t i, word *a, word *b) {
    char *cells[COLUMNS];
    if (!cut((char *)(uintptr_t)all->t.lines[i], cells)) return wrong_line(p, i, "has not five cells");
    const int part = strcmp(cells[SPLIT], "train") == 0 ? ZOO_TRAIN : ZOO_TEST;
    if (part == ZOO_TEST && strcmp(cells[SPLIT], "test") != 0) return wrong_line(p, i, "the split is train or test");
    const int n = words_of(cells[SUMMARY], a);
    const int64_t first = all->n;
    double most = 0;
    int code = CLI_OK, place = 0;
    for (char *s = cells[TEXT], *next; code == CLI_OK && s; s = next, place++) {
        next = strstr(s, " || ");
        if (next) *next = '\0', next += 4;
        if (place == SENTENCES) return wrong_line(p, i, "has more than eight sentences");
        const double rouge = rouge_1(a, n, b, words_of(s, b));
        most = rouge > most ? rouge : most;
        all->list[all->n++] = (sentence){.text = s, .rouge = rouge, .package = i, .place = place, .part = part};
        code = zoo_count_in(p, part, cells[GROUP]);
    }
    for (int64_t k = first; k < all->n; k++) all->list[k].best = most > 0 && all->list[k].rouge == most;
    return code;
}

static int shuffle_labels(packages *all) {
    int64_t *at = malloc((size_t)(all->n + 1) * sizeof *at), *order = malloc((size_t)(all->n + 1) * sizeof *order),
            n = 0;
    bool *was = malloc((size_t)all->n + 1);
    const bool ok = at && order && was;
    for (int64_t i = 0; ok && i < all->n; i++)
        if (all->list[i].part == ZOO_TRAIN) was[n] = all->list[i].best, at[n++] = i;
    if (ok) zoo_deal(order, n);
    for (int64_t i = 0; ok && i < n; i++) all->list[at[i]].best = was[order[i]];
    free(at), free(order), free(was);
    return ok ? CLI_OK : zoo_out_of_memory();
}

static int write_part(const zoo_prep *p, const packages *all, int part) {
    char path[4200], *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out) return zoo_out_of_memory();
    fputs(part == ZOO_TEST ? "label\ttext\tpackage\trouge\n" : "label\ttext\n", out);
    for (int64_t i = 0; i < all->n; i++) {
        const sentence *s = &all->list[i];
        if (s->part != part) continue;
        fprintf(out, "%s\tplace%d %s", s->best ? "yes" : "no", s->place, s->text);
        if (part == ZOO_TEST) fprintf(out, "\t%lld\t%.9g", (long long)s->package, s->rouge);
        fputc('\n', out);
    }
    int code = fclose(out) == 0 && text ? CLI_OK : zoo_out_of_memory();
    snprintf(path, sizeof path, "%s/%s.tsv", p->to, p->parts[part].name);
    if (code == CLI_OK) code = zoo_checked(p, wick_file_write(p->ctx, path, text, size));
    free(text);
    return code;
}

int zoo_prepare_packages(zoo_prep *p) {
    packages all = {0};
    word *words = malloc(2 * WORDS * sizeof *words);
    p->groups = "groups of packages, by the beginnings of their names";
    int code = words ? zoo_read_table(p->source, &all.t) : zoo_out_of_memory();
    if (code == CLI_OK && strcmp(all.t.head, "package\tgroup\tsplit\tsummary\ttext") != 0)
        code = log_fail(CLI_BAD_FILE, "%s: its columns are not package, group, split, summary and text", p->source);
    if (code == CLI_OK && !(all.list = malloc((size_t)(all.t.n * SENTENCES + 1) * sizeof *all.list)))
        code = zoo_out_of_memory();
    for (int64_t i = 0; code == CLI_OK && i < all.t.n; i++) code = read_package(p, &all, i, words, words + WORDS);
    if (code == CLI_OK && p->shuffle) code = shuffle_labels(&all);
    if (code == CLI_OK) code = write_part(p, &all, ZOO_TRAIN);
    if (code == CLI_OK) code = write_part(p, &all, ZOO_TEST);
    free(all.list), free(words);
    zoo_free_table(&all.t);
    return code;
}
