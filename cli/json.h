/* json.h: writes one JSON value to a stream, piece by piece; commas and escapes are its business. */
#ifndef WICK_CLI_JSON_H
#define WICK_CLI_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef struct json {
    FILE *out;
    bool comma; /* the next value follows another one */
} json;

/* `key` is NULL inside an array and for the outermost value. */
void json_open(json *j, const char *key, char bracket);      /* '{' or '[' */
void json_close(json *j, char bracket);                      /* '}' or ']' */
void json_text(json *j, const char *key, const char *value); /* NULL: null. Bytes that are not UTF-8 become U+FFFD */
void json_bytes(json *j, const char *key, const char *value, size_t size); /* the same, not terminated */
void json_integer(json *j, const char *key, int64_t value);
void json_real(json *j, const char *key, double value, int digits); /* NaN and Inf, which JSON lacks: null */
void json_bool(json *j, const char *key, bool value);
void json_raw(json *j, const char *key, const char *value); /* a whole JSON value, written elsewhere */

#endif
