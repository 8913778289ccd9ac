/* chart.h: charts as inline SVG. Colours are classes and variables of the page's style sheet (html.c), so that one
 * drawing suits light and dark; tooltips are <title> elements. Nothing here knows what is drawn. Names are escaped. */
#ifndef WICK_CLI_CHART_H
#define WICK_CLI_CHART_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* ---- pieces ------------------------------------------------------------------------------------------------------ */

/* A picture of width x height units that scales to the page; title and description are for those who don't see it. */
void svg_open(FILE *out, double width, double height, const char *title, const char *description);
void svg_close(FILE *out);

/* Values from low to high, at positions from..to. Steps of 1, 2 or 5 times a power of ten lie in between. */
typedef struct axis {
    double low, high, step, from, to;
} axis;
/* The least axis of about `ticks` round steps around the values. */
axis axis_around(double low, double high, int ticks, double from, double to);
double axis_at(const axis *a, double value); /* the position; inside, also for values outside */
/* Ticks with numbers, `unit` behind each. Of a y axis also lines across, from x0 to x1. */
void axis_draw_y(FILE *out, const axis *a, double x0, double x1, const char *unit);
void axis_draw_x(FILE *out, const axis *a, double y, const char *name);

#define NBSP "\xC2\xA0" /* between a number and its unit, which stay on one line */

/* "1.23 M" with three digits and a prefix of ten's powers; "41.7 MiB"; "60,000". */
typedef char chart_text[48];
const char *text_count(chart_text text, int64_t n);
const char *text_si(chart_text text, double value);
const char *text_bytes(chart_text text, double bytes);

/* ---- charts ------------------------------------------------------------------------------------------------------ */

/* Points in order of x. NaN in y is a gap. */
typedef struct chart_line {
    const char *name;  /* in the legend and tooltips */
    const char *style; /* "a", "b" or "c": the class of its colour */
    const double *x, *y;
    int64_t n;
    bool faint; /* a backdrop: no legend, no tooltips; the axis holds the others and cuts it off */
    bool dots;
} chart_line;

typedef struct chart {
    const char *id; /* one of the page's, for what lies outside the axes */
    const char *title, *description;
    const char *x_name, *unit; /* unit: behind numbers of y, "" or NBSP "%" */
    double width, height;
    bool from_zero; /* y */
    int n;
    const chart_line *lines;
} chart;
/* A legend tells lines apart where there are several. Returns how many points of faint lines lie beyond the axis. */
int64_t chart_draw(FILE *out, const chart *c);

enum { CHART_SMOOTH = 300 };
/* The mean around each of CHART_SMOOTH places, over a fiftieth of the n points; NaN is no part of it. Returns how many
 * points there are in sx and sy. */
int64_t chart_smooth(const double *x, const double *y, size_t n, double *sx, double *sy);

/* counts[n * n] of rows (what it is) and columns (what it was taken for): the diagonal in one colour and the rest in
 * another, each as strong as its share of the row. name(i, user). */
void chart_matrix(FILE *out, int64_t n, const int64_t *counts, const char *(*name)(int64_t i, const void *user),
                  const void *user);

/* share in [0, 1] as a bar, for cells of tables. */
void chart_bar(FILE *out, double share, const char *style, const char *title);

#endif
