/* sheet.h: facts in sections, printed as aligned text or as JSON by the same calls. */
#ifndef WICK_CLI_SHEET_H
#define WICK_CLI_SHEET_H

#include "talk.h"

typedef struct sheet {
    bool as_json, color;
    json j;
} sheet;

void sheet_open(sheet *s, bool as_json);
void sheet_close(sheet *s);
void sheet_section(sheet *s, const char *key, const char *title);
void sheet_section_end(sheet *s);
/* A fact: its key in JSON, its label in text (NULL: the key), its value and how people read that. */
void sheet_text(sheet *s, const char *key, const char *label, const char *value); /* NULL or "": unknown */
void sheet_integer(sheet *s, const char *key, const char *label, int64_t value, const char *shown);
void sheet_real(sheet *s, const char *key, const char *label, double value, const char *shown); /* below 0: unknown */
/* null in JSON. */
void sheet_none(sheet *s, const char *key, const char *label, const char *shown);
/* "1.5 GiB" */
const char *format_bytes(char text[32], uint64_t bytes);

#endif
