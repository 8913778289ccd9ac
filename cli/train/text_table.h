/* text_table.h: texts and what is said of them, from tables, files of lines, and files of a token a line. */
#ifndef WICK_CLI_TEXT_TABLE_H
#define WICK_CLI_TEXT_TABLE_H

#include "wick/context.h"

typedef struct text_row {
    const char *text, *label; /* label NULL: there is none */
    int64_t line;             /* where it begins, from 1 on */
} text_row;
typedef struct text_table {
    text_row *rows;
    int64_t n;
    bool parted;      /* a column called split says which rows these are */
    char others[256]; /* columns of a table that are neither text, label nor split, by name; "": none */
    char *data;       /* what the texts are parts of */
} text_table;

/* Which columns. NULL or "": the first of the usual names that is there. */
typedef struct text_columns {
    const char *text, *label;
    bool tags;      /* the label has a tag for each word */
    bool no_label;  /* it may be missing */
    bool files;     /* the text is the name of a file beside the table, and the label is a text, which may be empty */
    char separator; /* of a .csv; 0: the one that the first line has most of */
} text_columns;

/* FILE.tsv (tabs, without quotes), FILE.csv (quotes as RFC 4180 has them), with a header; with `tags` any other file of
 * "word ... tag" lines with an empty one between sentences (CoNLL's), but a .txt where labels may be missing; such, and
 * without `tags` all others, are a text a line, without labels. split: which rows of a column "split": "train", "test",
 * "validation" (also val, valid, dev) or "all". WICK_ERR_IO: it can't be read, or has no such rows; WICK_ERR_FORMAT
 * names the line; WICK_ERR_NOMEM. With `files` a table of two columns may have no header: its first cell is a file. */
wick_status text_table_read(wick_context *ctx, const char *path, const char *split, const text_columns *columns,
                            text_table *out);
void text_table_free(text_table *table);
/* Keeps a fifth, by a hash of each text (of its label, where the texts are names of files), or all but that. */
void text_table_take_fifth(text_table *table, const text_columns *columns, bool test);
/* Into path, of `size` bytes: a file beside the table. False: it lies elsewhere, as an absolute path does. */
bool text_table_place(const char *table, const char *name, char *path, size_t size);
/* Whether a table has a column of files, the first of which is there, and one of texts, and none of classes. */
bool text_table_has_files(wick_context *ctx, const char *path);
/* Whether a table has a column of texts by name, or one of the usual names. */
bool text_table_is(const char *path, const char *name);

#endif
