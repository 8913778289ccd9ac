/* json_read.h: reads a JSON text piece by piece, as the program expects it: what it does not ask for is passed over. */
#ifndef WICK_CLI_JSON_READ_H
#define WICK_CLI_JSON_READ_H

#include <stdbool.h>
#include <stddef.h>

typedef struct json_in {
    const char *at; /* the rest of the text, which ends in '\0' */
    bool first;     /* of an object or array that was entered */
    bool bad;       /* it is no JSON, or not of the shape asked for; all further calls answer false */
} json_in;

/* for (json_enter(j, '{'); json_key(j, key, sizeof key);) one of: json_number, json_string, json_skip, or such a loop.
 * for (json_enter(j, '['); json_item(j);) the same. */
bool json_enter(json_in *j, char bracket);
bool json_key(json_in *j, char *key, size_t size); /* false: the object ended. Of long keys the beginning */
bool json_item(json_in *j);                        /* false: the array ended */
bool json_number(json_in *j, double *value);       /* null is NaN */
/* as UTF-8. Of long texts the beginning */
bool json_string(json_in *j, char *text, size_t size);
bool json_truth(json_in *j, bool *value);
bool json_skip(json_in *j); /* any value */

#endif
