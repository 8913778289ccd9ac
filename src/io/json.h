/* json.h: a strict JSON reader (RFC 8259) for hostile input, and a writer onto a growable buffer.
 *
 * Stricter than the RFC where C or safety asks for it: a byte order mark, U+0000 inside a string, an equal key twice in
 * one object, and numbers beyond the range of f64 are refused. */
#ifndef WICK_IO_JSON_H
#define WICK_IO_JSON_H

#include "base/base.h"
#include "base/utf8.h"

typedef enum wick_json_type {
    WICK_JSON_NULL,
    WICK_JSON_BOOL,
    WICK_JSON_NUMBER,
    WICK_JSON_STRING,
    WICK_JSON_ARRAY,
    WICK_JSON_OBJECT,
} wick_json_type;
const char *wick_json_type_name(wick_json_type type); /* "null", "a number", "an array", ... */

typedef struct wick_json {
    uint8_t type;    /* wick_json_type */
    bool is_integer; /* a number without fraction and exponent that fits int64 */
    bool boolean;
    uint32_t count;         /* of children */
    size_t offset;          /* byte of the input where the value begins */
    const char *key;        /* when a member of an object: UTF-8, terminated */
    struct wick_json *next; /* the next child of the same parent, in the input's order */
    union {
        const char *text; /* UTF-8, terminated, without escapes */
        double number;
        struct wick_json *child; /* first */
    };
    union {
        int64_t integer;
        struct wick_json **by_key; /* of an object: its children, sorted */
    };
} wick_json;

/* 0 means the default, which is given. They bound memory at about 100 bytes a value plus the text. */
typedef struct wick_json_limits {
    size_t bytes;  /* of input: 128 MiB */
    size_t values; /* 4 Mi */
    int depth;     /* of arrays and objects within each other: 64 */
} wick_json_limits;

/* Parses one value with nothing but white space around it. The tree lives in the arena; the input may go away.
 * WICK_ERR_FORMAT with the byte offset, WICK_ERR_NOMEM, or WICK_ERR_UNSUPPORTED beyond a limit. */
WICK_MUST_CHECK wick_status wick_json_parse(wick_arena *arena, const void *input, size_t size,
                                            const wick_json_limits *limits, const wick_json **out, wick_msg *msg);

/* The member of that key, or NULL; NULL too when `object` is NULL or no object. */
const wick_json *wick_json_get(const wick_json *object, const char *key);

/* For messages: the text cut to fit, control characters replaced. Returns buf. */
enum { WICK_JSON_SHOWN = 80 };
const char *wick_json_show(char buf[WICK_JSON_SHOWN], const char *text);

/* ---- writer ---------------------------------------------------------------------------------------------------------
 * Commas and colons come by themselves. The first failure sticks: calls after it do nothing, and finish returns it. */
enum { WICK_JSON_WRITER_DEPTH = 64 };
typedef struct wick_json_writer {
    const wick_allocator *alloc;
    char *at;
    size_t len, cap;
    wick_status status;
    int depth;
    char open[WICK_JSON_WRITER_DEPTH]; /* '{' or '[' */
    bool comma, after_key;
} wick_json_writer;

void wick_json_writer_init(wick_json_writer *w, const wick_allocator *alloc);
void wick_json_writer_free(wick_json_writer *w);
void wick_json_open(wick_json_writer *w, char bracket); /* '{' or '[' */
void wick_json_close(wick_json_writer *w);
void wick_json_key(wick_json_writer *w, const char *key);
void wick_json_string(wick_json_writer *w, const char *text); /* must be UTF-8 */
void wick_json_integer(wick_json_writer *w, int64_t value);
void wick_json_number(wick_json_writer *w, double value); /* shortest text that reads back the same; must be finite */
void wick_json_boolean(wick_json_writer *w, bool value);
void wick_json_null(wick_json_writer *w);
/* WICK_OK when the text at w->at (w->len bytes, not terminated) is one whole value; WICK_ERR_NOMEM; WICK_ERR_INVALID
 * for text that is not UTF-8, a number that is not finite, or calls out of place. */
WICK_MUST_CHECK wick_status wick_json_finish(const wick_json_writer *w);

#endif
