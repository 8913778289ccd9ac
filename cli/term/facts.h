/* facts.h: facts in sections, printed as aligned text or as JSON by the same calls. */
#ifndef WICK_CLI_FACTS_H
#define WICK_CLI_FACTS_H

#include "log.h"

typedef struct facts {
    bool as_json, color;
    json j;
} facts;

void facts_open(facts *s, bool as_json);
void facts_close(facts *s);
void facts_section(facts *s, const char *key, const char *title);
void facts_section_end(facts *s);
/* A fact: its key in JSON, its label in text (NULL: the key), its value and how people read that. */
void facts_text(facts *s, const char *key, const char *label, const char *value); /* NULL or "": unknown */
void facts_integer(facts *s, const char *key, const char *label, int64_t value, const char *shown);
void facts_real(facts *s, const char *key, const char *label, double value, const char *shown); /* below 0: unknown */
/* null in JSON. */
void facts_none(facts *s, const char *key, const char *label, const char *shown);
/* "1.5 GiB" */
const char *format_bytes(char text[32], uint64_t bytes);

#endif
