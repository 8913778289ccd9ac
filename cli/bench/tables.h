/* tables.h: what the rows come to: beside published figures, and beside the goals that kernels have. */
#ifndef WICK_CLI_BENCH_TABLES_H
#define WICK_CLI_BENCH_TABLES_H

#include <stdio.h>

#include "../json.h"
#include "results.h"

/* "targets" and "goals" stand for the rows that such a table is made of: whether row "gemm/f32_64x64x64", or
 * "images/max_pool 64K", is one. */
bool tables_want(const char *pattern, const char *key);
unsigned tables_named(const char *pattern); /* a bit set of bench_table_id: none or one */

/* A table as text. Cells that are too long for their column widen it. */
enum { TABLE_COLUMNS = 8, TABLE_ROWS = 160 };
typedef struct bench_table {
    const char *title, *note;
    const char *heads[TABLE_COLUMNS];
    int columns, n;
    char cells[TABLE_ROWS][TABLE_COLUMNS][96];
} bench_table;

typedef enum bench_table_id { TABLE_TARGETS, TABLE_GOALS, TABLES } bench_table_id;
/* NULL: it wasn't asked for, or no row that it needs was measured. Valid until the next call. */
const bench_table *tables_fill(bench_table_id which, const bench_results *all);
void table_print(const bench_table *t); /* NULL: nothing */
/* The same as an array of objects, for programs. */
void tables_write_json(bench_table_id which, json *j, const bench_results *all);

/* The two of them. */
bool targets_want(const char *key);
bool goals_want(const char *key);
void targets_fill(bench_table *t, const bench_results *all);
void goals_fill(bench_table *t, const bench_results *all);
void targets_write_json(json *j, const bench_results *all);
void goals_write_json(json *j, const bench_results *all);

#endif
