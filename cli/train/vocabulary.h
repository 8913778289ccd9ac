/* vocabulary.h: texts as numbers of tokens, for networks that begin with "embed". 0 is padding, 1 what the training did
 * not have; the others are numbered by how often the training has them. */
#ifndef WICK_CLI_VOCABULARY_H
#define WICK_CLI_VOCABULARY_H

#include <stdbool.h>
#include <stdint.h>

/* words: runs of letters and digits (all of UTF-8 beyond ASCII are letters), and each other character; ASCII in small
 * letters. bytes: each byte b is token b + 2. tags: words between blanks, each as four tokens: itself in small
 * letters, how it is written (capitals, digits ...), its first and its last three characters. characters: those of
 * UTF-8, as they are; a run of blanks is one, written as U+2581. subwords: parts of words by a byte-pair vocabulary
 * (subwords.h). */
typedef enum vocabulary_kind {
    VOCABULARY_WORDS,
    VOCABULARY_BYTES,
    VOCABULARY_TAGS,
    VOCABULARY_CHARACTERS,
    VOCABULARY_SUBWORDS,
    VOCABULARY_KINDS
} vocabulary_kind;

/* What stands for blanks in tokens of characters and subwords: U+2581, of three bytes. */
#define VOCABULARY_BLANK "\xe2\x96\x81"

typedef struct vocabulary vocabulary;

/* How many tokens stand at a place: 4 of tags, else 1. */
int vocabulary_rows(vocabulary_kind kind);
vocabulary *vocabulary_new(vocabulary_kind kind); /* NULL: out of memory */
void vocabulary_free(vocabulary *v);
/* Counts the tokens of a text; false: out of memory. */
bool vocabulary_count(vocabulary *v, const char *text);
/* The most common tokens, at most `most`, each at least twice in what was counted, get their numbers; subwords are
 * learned here. False: out of memory. */
bool vocabulary_fix(vocabulary *v, int64_t most);
int64_t vocabulary_size(const vocabulary *v); /* with padding and unknown */
/* How many places a text takes; of subwords, once they are fixed. */
int64_t vocabulary_length(const vocabulary *v, const char *text);
/* Writes the tokens of places first to first + length, [rows, length], padded with 0; how many places were not 0. */
int64_t vocabulary_encode(const vocabulary *v, const char *text, int64_t first, int64_t length, float *out);
/* The token as text; of one that isn't known "?". Valid as long as the vocabulary. */
const char *vocabulary_token(const vocabulary *v, int64_t number);
/* Word k of a text whose words get tags, its bytes; false: there are fewer. */
bool vocabulary_word(const char *text, int64_t k, const char **begin, int64_t *length);

/* As text, malloc'ed, and back; NULL: out of memory, or not such a text. */
char *vocabulary_write(const vocabulary *v);
vocabulary *vocabulary_read(vocabulary_kind kind, const char *text);

#endif
