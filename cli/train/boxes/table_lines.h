/* table_lines.h: tables that are read line by line, so that what is wrong is named by its line. */
#ifndef WICK_CLI_TABLE_LINES_H
#define WICK_CLI_TABLE_LINES_H

#include <stdbool.h>

enum { TABLE_COLUMNS = 1024 };

/* A line as its cells, within the line. False: a quote is not closed in it, or there are too many. */
bool table_cut_line(char *line, char separator, char *cells[TABLE_COLUMNS], int *n);
char table_separator(const char *line); /* the one that it has most of */
/* The next line of *rest, without its end; NULL: there is none. */
char *table_next_line(char **rest);
/* Where a column is, whatever the case of its name; the first of names, NULL at the end. -1: nowhere */
int table_column(char *const *cells, int n, const char *name);
int table_column_of(char *const *cells, int n, const char *const *names);
/* What columns of pictures' names, and of the part that a row is of, are called. */
extern const char *const table_of_pictures[], *const table_of_parts[];
/* Whether a cell of that column names the part; all of them are of "all". */
bool table_is_part(const char *cell, const char *split);

#endif
