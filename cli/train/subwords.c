#include "subwords.h"
#include "vocabulary.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The length of the character of UTF-8 that begins here, which is not the end. */
static size_t character(const char *s) {
    size_t n = 1;
    while (((unsigned char)s[n] & 0xC0) == 0x80) n++;
    return n;
}

/* ---- taking apart ------------------------------------------------------------------------------------------------ */

typedef struct parts {
    char text[SUBWORDS_LONGEST + 1];
    int n, begin[SUBWORDS_LONGEST + 1]; /* begin[n] is the end of the text */
    int64_t (*number_of)(const void *user, const char *token);
    const void *user;
} parts;

/* The number of the token that parts i to i + count - 1 make; 0: none. */
static int64_t together(const parts *p, int i, int count) {
    char token[SUBWORDS_LONGEST + 1];
    if (i < 0 || i + count > p->n) return 0;
    const int length = p->begin[i + count] - p->begin[i];
    memcpy(token, p->text + p->begin[i], (size_t)length);
    token[length] = '\0';
    return p->number_of(p->user, token);
}

int subwords_split(const char *word, int64_t (*number_of)(const void *user, const char *token), const void *user,
                   int64_t numbers[SUBWORDS_LONGEST]) {
    parts p = {.number_of = number_of, .user = user};
    int64_t pair[SUBWORDS_LONGEST + 1]; /* of parts i and i + 1 */
    snprintf(p.text, sizeof p.text, "%s%s", VOCABULARY_BLANK, word);
    for (const char *s = p.text; *s; s += character(s)) p.begin[p.n++] = (int)(s - p.text);
    p.begin[p.n] = (int)strlen(p.text);
    for (int i = 0; i < p.n; i++) pair[i] = together(&p, i, 2);
    for (;;) {
        int at = -1;
        for (int i = 0; i + 1 < p.n; i++)
            if (pair[i] && (at < 0 || pair[i] < pair[at])) at = i;
        if (at < 0) break;
        memmove(p.begin + at + 1, p.begin + at + 2, (size_t)(p.n - at - 1) * sizeof *p.begin);
        memmove(pair + at, pair + at + 1, (size_t)(p.n - at - 1) * sizeof *pair);
        p.n--;
        pair[at] = together(&p, at, 2);
        if (at) pair[at - 1] = together(&p, at - 1, 2);
    }
    for (int i = 0; i < p.n; i++) numbers[i] = together(&p, i, 1);
    return p.n;
}

/* ---- learning ---------------------------------------------------------------------------------------------------- */

/* Words as numbers of tokens: word w has symbol[begin[w]] to symbol[begin[w] + length[w] - 1]; -1: no token. */
typedef struct corpus {
    int64_t n, *begin;
    int32_t *length, *symbol;
    const subword_count *words;
} corpus;

typedef struct pair {
    int32_t a, b; /* tokens; a < 0: the slot is free */
    int64_t count;
} pair;
/* How often tokens stand side by side: open addressing, room is a power of two. */
typedef struct pairs {
    pair *slot;
    int64_t n, room;
} pairs;

static pair *slot_of(const pairs *p, int32_t a, int32_t b) {
    uint64_t at = ((uint64_t)(uint32_t)a << 32 | (uint32_t)b) * 0x9E3779B97F4A7C15u >> 20;
    for (;; at++) {
        pair *s = &p->slot[at & (uint64_t)(p->room - 1)];
        if (s->a < 0 || (s->a == a && s->b == b)) return s;
    }
}
static bool grow(pairs *p) {
    pairs more = {.room = p->room ? 2 * p->room : 4096};
    if (!(more.slot = malloc((size_t)more.room * sizeof *more.slot))) return false;
    for (int64_t i = 0; i < more.room; i++) more.slot[i].a = -1;
    for (int64_t i = 0; i < p->room; i++)
        if (p->slot[i].a >= 0 && p->slot[i].count > 0)
            *slot_of(&more, p->slot[i].a, p->slot[i].b) = p->slot[i], more.n++;
    free(p->slot);
    *p = more;
    return true;
}
/* Counts the pairs of word w `times` its own count. */
static bool count_pairs(pairs *p, const corpus *c, int64_t w, int64_t times) {
    const int32_t *s = c->symbol + c->begin[w];
    for (int32_t i = 0; i + 1 < c->length[w]; i++) {
        if (s[i] < 0 || s[i + 1] < 0) continue;
        if (2 * p->n >= p->room && !grow(p)) return false;
        pair *to = slot_of(p, s[i], s[i + 1]);
        if (to->a < 0) *to = (pair){s[i], s[i + 1], 0}, p->n++;
        to->count += times * c->words[w].count;
    }
    return true;
}
/* The pair that is met most often; of equals the one whose tokens were learned first. */
static pair most_common(const pairs *p) {
    pair best = {-1, -1, 0};
    for (int64_t i = 0; i < p->room; i++) {
        const pair *s = &p->slot[i];
        if (s->a < 0 || s->count < best.count || !s->count) continue;
        if (s->count > best.count || s->a < best.a || (s->a == best.a && s->b < best.b)) best = *s;
    }
    return best;
}

static bool has_pair(const corpus *c, int64_t w, const pair *of) {
    const int32_t *s = c->symbol + c->begin[w];
    for (int32_t i = 0; i + 1 < c->length[w]; i++)
        if (s[i] == of->a && s[i + 1] == of->b) return true;
    return false;
}
static bool merge(corpus *c, pairs *p, const pair *of, int32_t token) {
    for (int64_t w = 0; w < c->n; w++) {
        if (!has_pair(c, w, of)) continue;
        if (!count_pairs(p, c, w, -1)) return false;
        int32_t *s = c->symbol + c->begin[w], n = 0;
        for (int32_t i = 0; i < c->length[w]; i++)
            if (i + 1 < c->length[w] && s[i] == of->a && s[i + 1] == of->b)
                s[n++] = token, i++;
            else
                s[n++] = s[i];
        c->length[w] = n;
        if (!count_pairs(p, c, w, 1)) return false;
    }
    return true;
}

/* ---- the characters ---------------------------------------------------------------------------------------------- */

typedef struct letter {
    char text[5];
    int32_t number; /* of its token; -1: none */
    int64_t count;
} letter;

static int by_text(const void *a, const void *b) {
    return strcmp(((const letter *)a)->text, ((const letter *)b)->text);
}
static int by_count(const void *a, const void *b) {
    const letter *x = a, *y = b;
    return x->count != y->count ? (x->count < y->count) - (x->count > y->count) : strcmp(x->text, y->text);
}

/* The characters of all words and the blank, as often as they occur, the most common first; NULL: no memory. */
static letter *letters_of(const corpus *c, int64_t *count) {
    int64_t n = 0, kinds = 0;
    for (int64_t w = 0; w < c->n; w++) n += c->length[w];
    letter *list = calloc((size_t)n + 1, sizeof *list);
    if (!list) return NULL;
    n = 0;
    for (int64_t w = 0; w < c->n; w++) {
        list[n++] = (letter){VOCABULARY_BLANK, -1, c->words[w].count};
        for (const char *s = c->words[w].word; *s; s += character(s), n++) {
            snprintf(list[n].text, sizeof list[n].text, "%.*s", (int)character(s), s);
            list[n].number = -1, list[n].count = c->words[w].count;
        }
    }
    if (n) qsort(list, (size_t)n, sizeof *list, by_text);
    for (int64_t i = 0; i < n; i++)
        if (kinds && strcmp(list[kinds - 1].text, list[i].text) == 0)
            list[kinds - 1].count += list[i].count;
        else
            list[kinds++] = list[i];
    if (kinds) qsort(list, (size_t)kinds, sizeof *list, by_count);
    *count = kinds;
    return list;
}

/* Letters in the order of their texts. */
static void number_words(corpus *c, const letter *list, int64_t n) {
    for (int64_t w = 0; w < c->n; w++) {
        const char *s = VOCABULARY_BLANK;
        for (int32_t i = 0; i < c->length[w]; i++) {
            letter key;
            snprintf(key.text, sizeof key.text, "%.*s", (int)character(s), s);
            const letter *found = bsearch(&key, list, (size_t)n, sizeof *list, by_text);
            c->symbol[c->begin[w] + i] = found->number;
            s = i ? s + character(s) : c->words[w].word;
        }
    }
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

static bool open_corpus(corpus *c, const subword_count *words, int64_t n) {
    *c = (corpus){.n = n, .words = words};
    c->begin = malloc((size_t)(n + 1) * sizeof *c->begin);
    c->length = malloc((size_t)(n + 1) * sizeof *c->length);
    if (!c->begin || !c->length) return false;
    int64_t symbols = 0;
    for (int64_t w = 0; w < n; w++) {
        c->begin[w] = symbols, c->length[w] = 1;
        for (const char *s = words[w].word; *s; s += character(s)) c->length[w]++;
        symbols += c->length[w];
    }
    return (c->symbol = malloc((size_t)(symbols + 1) * sizeof *c->symbol)) != NULL;
}

/* Which token has this text; -1: none. */
static int32_t find(char *const *tokens, int64_t n, const char *text) {
    for (int64_t k = 0; k < n; k++)
        if (strcmp(tokens[k], text) == 0) return (int32_t)k;
    return -1;
}

/* Tokens of two, until there are `most` or no pair is met twice. */
static bool learn_pairs(corpus *c, char **tokens, int64_t most, int64_t *n) {
    pairs p = {0};
    bool ok = true;
    for (int64_t w = 0; ok && w < c->n; w++) ok = count_pairs(&p, c, w, 1);
    while (ok && *n < most) {
        const pair best = most_common(&p);
        if (best.count < 2) break;
        char *text;
        ok = asprintf(&text, "%s%s", tokens[best.a], tokens[best.b]) >= 0;
        if (!ok) break;
        int32_t token = find(tokens, *n, text); /* the same by other parts */
        if (token >= 0)
            free(text);
        else
            token = (int32_t)*n, tokens[(*n)++] = text;
        ok = merge(c, &p, &best, token);
    }
    free(p.slot);
    return ok;
}

char **subwords_learn(const subword_count *words, int64_t n, int64_t most, int64_t *count) {
    corpus c;
    int64_t letters = 0;
    char **tokens = calloc((size_t)most + 1, sizeof *tokens);
    letter *list = open_corpus(&c, words, n) ? letters_of(&c, &letters) : NULL;
    bool ok = tokens && list;
    *count = 0;
    while (ok && *count < letters && *count < most && list[*count].count > 1) {
        list[*count].number = (int32_t)*count;
        ok = (tokens[*count] = strdup(list[*count].text)) != NULL;
        *count += ok;
    }
    if (ok && letters) {
        qsort(list, (size_t)letters, sizeof *list, by_text);
        number_words(&c, list, letters);
    }
    ok = ok && learn_pairs(&c, tokens, most, count);
    free(list);
    free(c.begin), free(c.length), free(c.symbol);
    if (ok) return tokens;
    for (int64_t i = 0; tokens && i < *count; i++) free(tokens[i]);
    free(tokens);
    return NULL;
}
