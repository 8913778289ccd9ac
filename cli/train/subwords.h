/* subwords.h: parts of words by byte-pair encoding (Sennrich, Haddow and Birch 2016). A word begins with a blank
 * (VOCABULARY_BLANK) and is taken apart into characters of UTF-8; of two neighbours that make a token together those
 * with the lowest number become one, again and again, until none do. So the list of tokens, in the order in which they
 * were learned, is all that a reader needs. */
#ifndef WICK_CLI_SUBWORDS_H
#define WICK_CLI_SUBWORDS_H

#include <stdint.h>

/* Bytes of a word with the blank in front of it, at most; longer ones are cut by who calls. */
enum { SUBWORDS_LONGEST = 64 };

typedef struct subword_count {
    const char *word;
    int64_t count;
} subword_count;

/* The tokens of n words, at most `most`: characters that occur twice or more, the most common first, then pairs of
 * tokens, each time the one that is met most often, at least twice. malloc'ed, as is each of them; NULL: no memory. */
char **subwords_learn(const subword_count *words, int64_t n, int64_t most, int64_t *count);

/* The numbers of the parts of a word of at most SUBWORDS_LONGEST - 3 bytes, 0 for what is no token; how many. */
int subwords_split(const char *word, int64_t (*number_of)(const void *user, const char *token), const void *user,
                   int64_t numbers[SUBWORDS_LONGEST]);

#endif
