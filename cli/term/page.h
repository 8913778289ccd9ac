/* page.h: help in a terminal: rows of two columns and paragraphs, wrapped to its width. */
#ifndef WICK_CLI_PAGE_H
#define WICK_CLI_PAGE_H

#include <stdio.h>

typedef struct page {
    FILE *out;
    int width, left; /* columns in all, and before the right ones of rows */
} page;

/* As wide as the terminal, within reason; 80 columns where there is none. */
page page_on(FILE *out);
/* "  LEFT   RIGHT"; a left text that is too long stands above. */
void page_row(const page *p, const char *left, const char *right);
/* A paragraph behind so many blanks; lines of the text begin new ones. */
void page_text(const page *p, int indent, const char *text);
/* A line for a shell, broken with backslashes between its words. */
void page_line(const page *p, const char *line);

#endif
