#include "vocabulary.h"
#include "subwords.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RESERVED = 2, UNKNOWN = 1, PARTS = 4, LONGEST = 64, AFFIX = 3, BYTES = 256, COMMON_WORDS = 50000 };

typedef struct entry {
    char *text;
    int64_t count, number; /* number 0: none */
} entry;
struct vocabulary {
    vocabulary_kind kind;
    int64_t n, room; /* entries; slots, a power of two */
    entry *entries;  /* in the order in which they were met */
    int64_t *slots;  /* entry + 1; 0: free */
    int64_t fixed;   /* how many have numbers: the first ones, in order */
};

int vocabulary_rows(vocabulary_kind kind) { return kind == VOCABULARY_TAGS ? PARTS : 1; }

vocabulary *vocabulary_new(vocabulary_kind kind) {
    vocabulary *v = calloc(1, sizeof *v);
    if (v) v->kind = kind;
    return v;
}
void vocabulary_free(vocabulary *v) {
    if (!v) return;
    for (int64_t i = 0; i < v->n; i++) free(v->entries[i].text);
    free(v->entries);
    free(v->slots);
    free(v);
}

/* FNV-1a. */
static uint64_t hash_of(const char *s) {
    uint64_t h = 0xcbf29ce484222325u;
    for (; *s; s++) h = (h ^ (unsigned char)*s) * 0x100000001b3u;
    return h;
}
/* The slot of the text, or the free one where it belongs. */
static int64_t *slot_of(const vocabulary *v, const char *text) {
    uint64_t at = hash_of(text);
    for (;; at++) {
        int64_t *slot = &v->slots[at & (uint64_t)(v->room - 1)];
        if (!*slot || strcmp(v->entries[*slot - 1].text, text) == 0) return slot;
    }
}
static bool grow(vocabulary *v) {
    const int64_t room = v->room ? 2 * v->room : 1024;
    int64_t *slots = calloc((size_t)room, sizeof *slots);
    entry *entries = realloc(v->entries, (size_t)room * sizeof *entries);
    if (entries) v->entries = entries;
    if (!slots || !entries) return free(slots), false;
    free(v->slots);
    v->slots = slots, v->room = room;
    for (int64_t i = 0; i < v->n; i++) *slot_of(v, v->entries[i].text) = i + 1;
    return true;
}
static bool add(vocabulary *v, const char *text) {
    if (2 * v->n >= v->room && !grow(v)) return false;
    int64_t *slot = slot_of(v, text);
    if (!*slot) {
        char *copy = strdup(text);
        if (!copy) return false;
        v->entries[v->n] = (entry){.text = copy};
        *slot = ++v->n;
    }
    v->entries[*slot - 1].count++;
    return true;
}

/* ---- tokens of a text -------------------------------------------------------------------------------------------- */

static const char blanks[] = " \t\r\n";

static bool is_letter(char c) { return isalnum((unsigned char)c) || (unsigned char)c >= 0x80; }
static bool goes_on(char c) { return ((unsigned char)c & 0xC0) == 0x80; } /* within a character of UTF-8 */

/* The next place from *at on: its begin, and *at behind it; false: there is none. Of subwords a whole word, or as much
 * of a long one as subwords_split takes. */
static bool next_place(vocabulary_kind kind, const char **at, const char **begin) {
    if (kind == VOCABULARY_BYTES) return *begin = *at, **at ? (*at)++, true : false;
    const size_t blank = strspn(*at, blanks);
    *begin = *at;
    *at += blank;
    if (!**at) return false;
    if (kind == VOCABULARY_CHARACTERS) {
        if (blank) return true;
        do (*at)++;
        while (goes_on(**at));
        return true;
    }
    *begin = *at;
    if (kind == VOCABULARY_TAGS) return *at += strcspn(*at, blanks), true;
    if (!is_letter(**at)) return (*at)++, true;
    const char *most = kind == VOCABULARY_SUBWORDS ? *at + SUBWORDS_LONGEST - 8 : NULL;
    while (is_letter(**at) && (!most || *at < most || goes_on(**at))) (*at)++;
    return true;
}

bool vocabulary_word(const char *text, int64_t k, const char **begin, int64_t *length) {
    while (next_place(VOCABULARY_TAGS, &text, begin))
        if (k-- == 0) return *length = text - *begin, true;
    return false;
}

/* How a word is written: a letter for each run of capitals, small letters, digits and others. */
static void shape_of(const char *word, size_t length, char out[8]) {
    int n = 0;
    for (size_t i = 0; i < length && n < 6; i++) {
        const unsigned char c = (unsigned char)word[i];
        const char is = isupper(c) ? 'X' : islower(c) || c >= 0x80 ? 'x' : isdigit(c) ? 'd' : '.';
        if (!n || out[n - 1] != is)
            out[n++] = is;
        else if (is == 'X' && n == 1 && i == 1)
            out[n++] = 'X'; /* USA is not A */
    }
    out[n] = '\0';
}

/* Token `part` of a place; a letter says which part it is. Whole characters of UTF-8 are cut off. */
static void token_of(vocabulary_kind kind, const char *begin, size_t length, int part, char out[LONGEST + 2]) {
    static const char marks[PARTS] = {'w', 's', 'p', 'e'};
    size_t n = 0;
    char shape[8];
    if (part == 1) {
        shape_of(begin, length, shape);
        begin = shape, length = strlen(shape);
    }
    if (part >= 2) {
        size_t at = part == 2 ? 0 : length;
        for (int k = 0; k < AFFIX; k++) {
            if (part == 2 && at < length) do
                    at++;
                while (at < length && goes_on(begin[at]));
            if (part == 3 && at > 0) do
                    at--;
                while (at > 0 && goes_on(begin[at]));
        }
        if (part == 2)
            length = at;
        else
            begin += at, length -= at;
    }
    if (kind == VOCABULARY_TAGS) out[n++] = marks[part];
    if (kind == VOCABULARY_CHARACTERS && strchr(blanks, *begin)) begin = VOCABULARY_BLANK, length = strlen(begin);
    for (size_t i = 0; i < length && n < LONGEST; i++)
        out[n++] = part == 0 && kind != VOCABULARY_CHARACTERS ? (char)tolower((unsigned char)begin[i]) : begin[i];
    while (n && length > LONGEST - 1 && goes_on(out[n - 1])) n--; /* no half of a character */
    if (n && length > LONGEST - 1 && (unsigned char)out[n - 1] >= 0xC0) n--;
    out[n] = '\0';
}

bool vocabulary_count(vocabulary *v, const char *text) {
    char token[LONGEST + 2];
    for (const char *begin; v->kind != VOCABULARY_BYTES && next_place(v->kind, &text, &begin);)
        for (int k = 0; k < vocabulary_rows(v->kind); k++) {
            token_of(v->kind, begin, (size_t)(text - begin), k, token);
            if (!add(v, token)) return false;
        }
    return true;
}

static int by_count(const void *a, const void *b) {
    const entry *x = a, *y = b;
    return x->count != y->count ? (x->count < y->count) - (x->count > y->count) : strcmp(x->text, y->text);
}

/* The words that were counted, entries in order, give way to their parts. */
static bool learn_subwords(vocabulary *v, int64_t most) {
    const int64_t n = v->n < COMMON_WORDS ? v->n : COMMON_WORDS;
    subword_count *words = malloc((size_t)(n + 1) * sizeof *words);
    if (!words) return false;
    for (int64_t i = 0; i < n; i++) words[i] = (subword_count){v->entries[i].text, v->entries[i].count};
    int64_t parts = 0;
    char **tokens = subwords_learn(words, n, most, &parts);
    free(words);
    if (!tokens) return false;
    for (int64_t i = 0; i < v->n; i++) free(v->entries[i].text);
    v->n = 0;
    if (v->room) memset(v->slots, 0, (size_t)v->room * sizeof *v->slots);
    bool ok = true;
    for (int64_t i = 0; i < parts; i++) {
        ok = ok && add(v, tokens[i]);
        if (ok) v->entries[i].number = RESERVED + i;
        free(tokens[i]);
    }
    free(tokens);
    v->fixed = v->n;
    return ok;
}

bool vocabulary_fix(vocabulary *v, int64_t most) {
    if (v->n) qsort(v->entries, (size_t)v->n, sizeof *v->entries, by_count);
    if (v->kind == VOCABULARY_SUBWORDS) return learn_subwords(v, most);
    if (v->room) memset(v->slots, 0, (size_t)v->room * sizeof *v->slots);
    for (int64_t i = 0; i < v->n; i++) {
        *slot_of(v, v->entries[i].text) = i + 1;
        v->entries[i].number = i < most && v->entries[i].count > 1 ? RESERVED + i : 0;
        v->fixed += v->entries[i].number > 0;
    }
    return true;
}

int64_t vocabulary_size(const vocabulary *v) { return RESERVED + (v->kind == VOCABULARY_BYTES ? BYTES : v->fixed); }

/* 0: the vocabulary has no such token. */
static int64_t number_of(const void *user, const char *token) {
    const vocabulary *v = user;
    const int64_t slot = v->room ? *slot_of(v, token) : 0;
    return slot ? v->entries[slot - 1].number : 0;
}

/* The numbers of what stands at a place of the text, `rows` for each; how many places of samples that is: of subwords
 * the parts of a word, else 1. */
static int numbers_at(const vocabulary *v, const char *begin, size_t length, int64_t numbers[SUBWORDS_LONGEST]) {
    char token[LONGEST + 2];
    if (v->kind == VOCABULARY_BYTES) return numbers[0] = RESERVED + (unsigned char)*begin, 1;
    int n = vocabulary_rows(v->kind);
    for (int k = 0; k < n; k++) {
        token_of(v->kind, begin, length, k, token);
        numbers[k] = number_of(v, token);
    }
    if (v->kind == VOCABULARY_SUBWORDS) n = subwords_split(token, number_of, v, numbers);
    for (int k = 0; k < n; k++)
        if (!numbers[k]) numbers[k] = UNKNOWN;
    return v->kind == VOCABULARY_SUBWORDS ? n : 1;
}

int64_t vocabulary_length(const vocabulary *v, const char *text) {
    int64_t n = 0, numbers[SUBWORDS_LONGEST];
    for (const char *begin; next_place(v->kind, &text, &begin);)
        n += v->kind == VOCABULARY_SUBWORDS ? numbers_at(v, begin, (size_t)(text - begin), numbers) : 1;
    return n;
}

int64_t vocabulary_encode(const vocabulary *v, const char *text, int64_t first, int64_t length, float *out) {
    const int rows = vocabulary_rows(v->kind);
    int64_t numbers[SUBWORDS_LONGEST], place = 0;
    memset(out, 0, (size_t)(rows * length) * sizeof *out);
    for (const char *begin; place < first + length && next_place(v->kind, &text, &begin);) {
        const int places = numbers_at(v, begin, (size_t)(text - begin), numbers);
        for (int p = 0; p < places; p++, place++)
            for (int k = 0; k < rows && place >= first && place < first + length; k++)
                out[k * length + place - first] = (float)numbers[p * rows + k];
    }
    const int64_t taken = place - first;
    return taken < 0 ? 0 : taken < length ? taken : length;
}

const char *vocabulary_token(const vocabulary *v, int64_t number) {
    if (v->kind == VOCABULARY_BYTES || number < RESERVED || number >= RESERVED + v->fixed) return "?";
    return v->entries[number - RESERVED].text + (v->kind == VOCABULARY_TAGS);
}

/* ---- as text: a token a line, in the order of their numbers ------------------------------------------------------ */

char *vocabulary_write(const vocabulary *v) {
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out) return NULL;
    for (int64_t i = 0; i < v->fixed; i++) fprintf(out, "%s\n", v->entries[i].text);
    const bool whole = !ferror(out);
    if (fclose(out) == 0 && whole) return text;
    free(text);
    return NULL;
}

vocabulary *vocabulary_read(vocabulary_kind kind, const char *text) {
    vocabulary *v = vocabulary_new(kind);
    char *copy = strdup(text), *rest = copy;
    bool ok = v && copy;
    for (char *line; ok && (line = strsep(&rest, "\n"));) {
        if (!*line) continue;
        const int64_t before = v->n;
        ok = add(v, line) && v->n == before + 1; /* none twice */
        if (ok) v->entries[before].number = RESERVED + before;
    }
    free(copy);
    if (ok) return v->fixed = v->n, v;
    vocabulary_free(v);
    return NULL;
}
