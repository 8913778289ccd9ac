/* What needs no network: of pixels the commonest class of each place, of words the commonest tag of each. */
#include "zoo.h"

#include "../paths.h"
#include "../term/log.h"
#include "../train/tasks/places.h"

#include <stdlib.h>
#include <string.h>

/* The class that most of the pictures have at each place. */
static bool find_prior(const wick_dataset *train, int64_t places, int64_t classes, int64_t *counts, uint8_t *y,
                       uint8_t *prior) {
    for (int64_t i = 0; i < wick_dataset_count(train); i++) {
        if (wick_dataset_get(train, i, (void *[WICK_DATASET_FIELDS]){NULL, y}, NULL) != WICK_OK) return false;
        for (int64_t k = 0; k < places; k++)
            if (y[k] < classes) counts[k * classes + y[k]]++;
    }
    for (int64_t k = 0; k < places; k++) {
        prior[k] = 0;
        for (int64_t c = 1; c < classes; c++)
            if (counts[k * classes + c] > counts[k * classes + prior[k]]) prior[k] = (uint8_t)c;
    }
    return true;
}

int zoo_place_baseline(const evaluator *e, const wick_dataset *train, const wick_dataset *test, double *baseline) {
    const int64_t places = places_of(e->c), classes = e->c->classes;
    int64_t *counts = calloc((size_t)(places * classes), sizeof *counts);
    uint8_t *y = malloc((size_t)places), *prior = malloc((size_t)places);
    class_counts *of = calloc((size_t)classes, sizeof *of);
    int code = counts && y && prior && of ? CLI_OK : zoo_out_of_memory();
    bool read = code == CLI_OK && find_prior(train, places, classes, counts, y, prior);
    for (int64_t i = 0; read && i < wick_dataset_count(test); i++) {
        read = wick_dataset_get(test, i, (void *[WICK_DATASET_FIELDS]){NULL, y}, NULL) == WICK_OK;
        for (int64_t k = 0; read && k < places; k++) {
            if (y[k] >= classes) continue;
            of[y[k]].support++;
            of[prior[k]].predicted++;
            of[y[k]].correct += y[k] == prior[k];
        }
    }
    if (code == CLI_OK && !read) code = log_fail(CLI_BAD_FILE, "%s: its samples cannot be read", e->c->data);
    if (code == CLI_OK) *baseline = scores_macro(of, classes).iou;
    free(counts), free(y), free(prior), free(of);
    return code;
}

/* ---- words ------------------------------------------------------------------------------------------------------- */

typedef struct tagged {
    const char *word;
    int length;
    uint8_t tag;
} tagged;
static int by_word(const void *a, const void *b) {
    const tagged *x = a, *y = b;
    const int order = memcmp(x->word, y->word, (size_t)(x->length < y->length ? x->length : y->length));
    return order ? order : x->length - y->length;
}

static uint8_t tag_of(const classifier *c, const char *tag, int length) {
    for (int64_t k = 0; k < c->classes; k++)
        if ((int)strlen(c->class_names[k]) == length && memcmp(c->class_names[k], tag, (size_t)length) == 0)
            return (uint8_t)k;
    return PLACES_IGNORED;
}

/* The words of a line "WORDS tab TAGS", with blanks between; at most so many. */
static int64_t read_line(const classifier *c, const char *line, tagged *to, int64_t most) {
    const char *word = line, *tag = strchr(line, '\t');
    int64_t n = 0;
    for (tag = tag ? tag + 1 : ""; *word && *word != '\t' && *tag && n < most; n++) {
        const int length = (int)strcspn(tag, " ");
        to[n] = (tagged){.word = word, .length = (int)strcspn(word, " \t"), .tag = tag_of(c, tag, length)};
        word += to[n].length, tag += length;
        word += *word == ' ', tag += *tag == ' ';
    }
    return n;
}

static int read_part(const classifier *c, const char *name, zoo_table *t, tagged **words) {
    char *path = path_join(c->data, name);
    int code = path ? zoo_read_table(path, t) : zoo_out_of_memory();
    int64_t room = 1;
    for (int64_t i = 0; code == CLI_OK && i < t->n; i++) room += (int64_t)strlen(t->lines[i]);
    if (code == CLI_OK && !(*words = malloc((size_t)room * sizeof **words))) code = zoo_out_of_memory();
    free(path);
    return code;
}

/* Words that follow each other in order become one each, with their commonest tag; how many. */
static int64_t keep_commonest(tagged *words, int64_t n) {
    int64_t kept = 0;
    for (int64_t i = 0, end; i < n; i = end) {
        int64_t counts[256] = {0};
        uint8_t most = words[i].tag;
        for (end = i; end < n && by_word(&words[i], &words[end]) == 0; end++) counts[words[end].tag]++;
        for (int k = 0; k < PLACES_IGNORED; k++)
            if (counts[k] > counts[most]) most = (uint8_t)k;
        words[kept] = words[i];
        words[kept++].tag = most;
    }
    return kept;
}

static int count_test(const classifier *c, const zoo_table *t, const tagged *known, int64_t n, tagged *words,
                      class_counts *spans) {
    size_t longest = 1;
    for (int64_t i = 0; i < t->n; i++) longest = strlen(t->lines[i]) > longest ? strlen(t->lines[i]) : longest;
    uint8_t *labels = malloc(longest), *tags = malloc(longest);
    const uint8_t outside = tag_of(c, "O", 1);
    for (int64_t i = 0; labels && tags && i < t->n; i++) {
        const int64_t m = read_line(c, t->lines[i], words, (int64_t)longest);
        for (int64_t k = 0; k < m; k++) {
            const tagged *found = bsearch(&words[k], known, (size_t)n, sizeof *known, by_word);
            labels[k] = words[k].tag;
            tags[k] = found ? found->tag : outside;
        }
        tag_count_spans(c, labels, tags, m, spans);
    }
    const bool ok = labels && tags;
    free(labels), free(tags);
    return ok ? CLI_OK : zoo_out_of_memory();
}

int zoo_tag_baseline(const evaluator *e, double *baseline) {
    const classifier *c = e->c;
    zoo_table train = {0}, test = {0};
    tagged *known = NULL, *words = NULL;
    class_counts spans = {0};
    int64_t n = 0;
    int code = read_part(c, "train.tsv", &train, &known);
    if (code == CLI_OK) code = read_part(c, "test.tsv", &test, &words);
    if (code == CLI_OK && tag_of(c, "O", 1) == PLACES_IGNORED)
        code = log_fail(CLI_BAD_FILE, "%s: no tag is O, outside of spans", c->data);
    if (code == CLI_OK) {
        for (int64_t i = 0; i < train.n; i++)
            n += read_line(c, train.lines[i], known + n, (int64_t)strlen(train.lines[i]));
        qsort(known, (size_t)n, sizeof *known, by_word);
        n = keep_commonest(known, n);
        code = count_test(c, &test, known, n, words, &spans);
    }
    if (code == CLI_OK) *baseline = scores_of(spans).f1;
    free(known), free(words);
    zoo_free_table(&train), zoo_free_table(&test);
    return code;
}
