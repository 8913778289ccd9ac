#include "chart.h"

#include "html.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- pieces ------------------------------------------------------------------------------------------------------ */

void svg_open(FILE *out, double width, double height, const char *title, const char *description) {
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" style=\"max-width:%.0fpx\" viewBox=\"0 0 %g "
            "%g\"><title>",
            1.25 * width, width, height);
    html_text(out, title);
    fputs("</title><desc>", out);
    html_text(out, description);
    fputs("</desc>\n", out);
}

void svg_close(FILE *out) { fputs("</svg>\n", out); }

axis axis_around(double low, double high, int ticks, double from, double to) {
    /* Beyond these the arithmetic below would overflow, or its power of ten be 0; what lies outside is drawn at the
     * edge. */
    const double most = 1e30, least = 1e-30;
    low = fmax(-most, fmin(most, low)), high = fmax(-most, fmin(most, high));
    /* Also when there is no value at all. */
    if (!(high - low > fmax(least, 1e-12 * fabs(high)))) high = low + (fabs(low) > least ? fabs(low) : 1);
    double rough = (high - low) / ticks, power = pow(10, floor(log10(rough))), digit = rough / power;
    double step = power * (digit <= 1 ? 1 : digit <= 2 ? 2 : digit <= 5 ? 5 : 10);
    /* A hair of tolerance, or rounding adds an empty step. */
    return (axis){step * floor(low / step + 1e-9), step * ceil(high / step - 1e-9), step, from, to};
}

/* Up to the axis's own length beyond its ends. */
static double axis_beyond(const axis *a, double value) {
    double share = (value - a->low) / (a->high - a->low);
    return a->from + (a->to - a->from) * fmin(2, fmax(-1, share));
}

double axis_at(const axis *a, double value) { return axis_beyond(a, fmin(a->high, fmax(a->low, value))); }

static int tick_count(const axis *a) { return (int)lround((a->high - a->low) / a->step); }

static const char *tick_text(chart_text text, const axis *a, double value) {
    double largest = fmax(fabs(a->low), fabs(a->high));
    if (largest >= 1e4) return text_si(text, value);
    int decimals = (int)fmax(0, -floor(log10(a->step) + 1e-9));
    if (fabs(value) < a->step / 2) value = 0; /* no -0 */
    snprintf(text, sizeof(chart_text), "%.*f", decimals < 9 ? decimals : 9, value);
    return text;
}

void axis_draw_y(FILE *out, const axis *a, double x0, double x1, const char *unit) {
    for (int i = 0; i <= tick_count(a); i++) {
        chart_text text;
        double value = a->low + i * a->step, y = axis_at(a, value);
        fprintf(out, "<path class=\"%s\" d=\"M%.1f %.1fH%.1f\"/><text class=\"tick end\" x=\"%.1f\" y=\"%.1f\">",
                i ? "grid" : "axis", x0, y, x1, x0 - 8, y + 4);
        html_print(out, "%s%s", tick_text(text, a, value), unit);
        fputs("</text>\n", out);
    }
}

void axis_draw_x(FILE *out, const axis *a, double y, const char *name) {
    for (int i = 0; i <= tick_count(a); i++) {
        chart_text text;
        double value = a->low + i * a->step;
        fprintf(out, "<text class=\"tick mid\" x=\"%.1f\" y=\"%.1f\">%s</text>\n", axis_at(a, value), y + 17,
                tick_text(text, a, value));
    }
    fprintf(out, "<text class=\"tick mid\" x=\"%.1f\" y=\"%.1f\">", (a->from + a->to) / 2, y + 34);
    html_text(out, name);
    fputs("</text>\n", out);
}

const char *text_si(chart_text text, double value) {
    static const char prefixes[][4] = {"", NBSP "k", NBSP "M", NBSP "G", NBSP "T", NBSP "P"};
    int k = 0;
    while (k < 5 && fabs(value) >= 999.5) {
        value /= 1000;
        k++;
    }
    snprintf(text, sizeof(chart_text), "%.3g%s", value, prefixes[k]);
    return text;
}

const char *text_count(chart_text text, int64_t n) {
    char digits[24];
    int length = snprintf(digits, sizeof digits, "%lld", (long long)n), at = 0;
    for (int i = 0; i < length; i++) {
        text[at++] = digits[i];
        if ((length - 1 - i) % 3 == 0 && i < length - 1 && digits[i] != '-') text[at++] = ',';
    }
    text[at] = '\0';
    return text;
}

const char *text_bytes(chart_text text, double bytes) {
    static const char units[][4] = {"B", "KiB", "MiB", "GiB", "TiB"};
    int k = 0;
    while (k < 4 && bytes >= 999.5) {
        bytes /= 1024;
        k++;
    }
    snprintf(text, sizeof(chart_text), "%.3g" NBSP "%s", bytes, units[k]);
    return text;
}

/* ---- lines ------------------------------------------------------------------------------------------------------- */

enum { LEFT = 54, RIGHT = 14, TOP = 30, BOTTOM = 42, HOVERS = 60 };

/* More points than pixels make a large page and no better line: of each group of neighbours the least and the largest
 * stay. */
static void draw_path(FILE *out, const chart *c, const chart_line *l, const axis *x, const axis *y) {
    const int64_t most = 600, group = l->n > 2 * most ? (l->n + most - 1) / most : 1;
    bool down = false;
    fprintf(out, "<path clip-path=\"url(#%s)\" class=\"line %s%s\" d=\"", c->id, l->style, l->faint ? " faint" : "");
    for (int64_t first = 0; first < l->n; first += group) {
        int64_t end = first + group < l->n ? first + group : l->n, low = -1, high = -1;
        for (int64_t i = first; i < end; i++) {
            if (!isfinite(l->y[i])) continue;
            if (low < 0 || l->y[i] < l->y[low]) low = i;
            if (high < 0 || l->y[i] > l->y[high]) high = i;
        }
        const int64_t points[2] = {low < high ? low : high, low < high ? high : low};
        for (int k = 0; k < 2 && low >= 0; k++) {
            if (k == 1 && points[0] == points[1]) break;
            fprintf(out, "%c%.1f %.1f", down ? 'L' : 'M', axis_at(x, l->x[points[k]]), axis_beyond(y, l->y[points[k]]));
            down = true;
        }
        if (low < 0) down = false;
    }
    fputs("\"/>\n", out);
    for (int64_t i = 0; l->dots && i < l->n && l->n <= HOVERS; i++)
        if (isfinite(l->y[i]))
            fprintf(out, "<circle class=\"dot %s\" r=\"4\" cx=\"%.1f\" cy=\"%.1f\"/>\n", l->style, axis_at(x, l->x[i]),
                    axis_at(y, l->y[i]));
}

static void draw_legend(FILE *out, const chart *c) {
    double x = LEFT;
    int lines = 0;
    for (int i = 0; i < c->n; i++) lines += !c->lines[i].faint && c->lines[i].n;
    if (lines < 2) return;
    for (int i = 0; i < c->n; i++) {
        const chart_line *l = &c->lines[i];
        if (l->faint || !l->n) continue;
        fprintf(out, "<path class=\"line %s\" d=\"M%.1f 13h16\"/>", l->style, x);
        if (l->dots) fprintf(out, "<circle class=\"dot %s\" r=\"4\" cx=\"%.1f\" cy=\"13\"/>", l->style, x + 8);
        fprintf(out, "<text class=\"key\" x=\"%.1f\" y=\"17\">", x + 22);
        html_text(out, l->name);
        fputs("</text>\n", out);
        x += 22 + 7.0 * (double)strlen(l->name) + 22;
    }
}

/* The point of l nearest to x that has a value, or -1. */
static int64_t nearest_point(const chart_line *l, double x) {
    int64_t best = -1;
    for (int64_t i = 0; i < l->n; i++)
        if (isfinite(l->y[i]) && (best < 0 || fabs(l->x[i] - x) < fabs(l->x[best] - x))) best = i;
    return best;
}

/* Upright bands that say the values where the pointer is. */
static void draw_hovers(FILE *out, const chart *c, const axis *x, double bottom) {
    double width = (x->to - x->from) / HOVERS;
    for (int k = 0; k < HOVERS; k++) {
        double at = x->low + (x->high - x->low) * (k + 0.5) / HOVERS;
        bool any = false;
        for (int i = 0; i < c->n; i++) {
            const chart_line *l = &c->lines[i];
            int64_t p = l->faint ? -1 : nearest_point(l, at);
            /* A line says nothing beyond its ends. */
            if (p < 0 ||
                fabs(axis_at(x, l->x[p]) - axis_at(x, at)) > (l->dots ? (x->to - x->from) / (double)l->n : width))
                continue;
            if (!any)
                fprintf(out, "<rect class=\"hover\" x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%.1f\"><title>",
                        x->from + k * width, TOP, width, bottom - TOP);
            any = true;
            html_print(out, "%s %.4g%s (%s %.4g)\n", l->name, l->y[p], c->unit, c->x_name, l->x[p]);
        }
        if (any) fputs("</title></rect>\n", out);
    }
}

int64_t chart_draw(FILE *out, const chart *c) {
    double x0 = INFINITY, x1 = -INFINITY, y0 = c->from_zero ? 0 : INFINITY, y1 = -INFINITY;
    for (int i = 0; i < c->n; i++)
        for (int64_t k = 0; k < c->lines[i].n; k++) {
            if (!isfinite(c->lines[i].y[k])) continue;
            x0 = fmin(x0, c->lines[i].x[k]);
            x1 = fmax(x1, c->lines[i].x[k]);
        }
    if (!(x0 <= x1)) x0 = 0, x1 = 1;
    for (int i = 0; i < c->n; i++)
        for (int64_t k = 0; k < c->lines[i].n; k++) {
            if (c->lines[i].faint || !isfinite(c->lines[i].y[k])) continue;
            y0 = fmin(y0, c->lines[i].y[k]);
            y1 = fmax(y1, c->lines[i].y[k]);
        }
    if (!(y0 <= y1)) y0 = 0, y1 = 1;
    double bottom = c->height - BOTTOM;
    axis x = axis_around(fmin(x0, 0), x1, 6, LEFT, c->width - RIGHT), y = axis_around(y0, y1, 5, bottom, TOP);
    svg_open(out, c->width, c->height, c->title, c->description);
    axis_draw_y(out, &y, LEFT, c->width - RIGHT, c->unit);
    axis_draw_x(out, &x, bottom, c->x_name);
    fprintf(out, "<clipPath id=\"%s\"><rect x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"%.1f\"/></clipPath>", c->id, LEFT,
            TOP - 2, c->width - RIGHT - LEFT + 2, bottom - TOP + 3);
    for (int i = 0; i < c->n; i++) draw_path(out, c, &c->lines[i], &x, &y);
    draw_legend(out, c);
    draw_hovers(out, c, &x, bottom);
    svg_close(out);
    int64_t cut = 0;
    for (int i = 0; i < c->n; i++)
        for (int64_t k = 0; c->lines[i].faint && k < c->lines[i].n; k++)
            cut += c->lines[i].y[k] < y.low || c->lines[i].y[k] > y.high;
    return cut;
}

/* ---- matrix ------------------------------------------------------------------------------------------------------ */

/* The first characters of a name, for labels beside rows and columns. Returns how many; out may be NULL. */
static int print_label(FILE *out, const char *name) {
    enum { MOST = 16 };
    char text[4 * MOST + 4];
    size_t length = 0;
    int characters = 0;
    const char *s = name;
    for (; *s && (characters < MOST || (*s & 0xC0) == 0x80) && length + 4 < sizeof text; s++) {
        characters += (*s & 0xC0) != 0x80;
        text[length++] = *s;
    }
    if (*s) memcpy(text + length, "\xE2\x80\xA6", 3), length += 3; /* an ellipsis */
    text[length] = '\0';
    if (out) html_text(out, text);
    return characters + (*s != '\0');
}

/* The page's colours, light and dark: html.c. */
static const uint8_t cells[2][3][3] = {{{0xf4, 0xf3, 0xef}, {0x2a, 0x70, 0xc8}, {0xd9, 0x60, 0x1f}},
                                       {{0x24, 0x24, 0x22}, {0x4b, 0x93, 0xea}, {0xec, 0x7d, 0x3c}}};
/* Relative luminance (WCAG 2.2) of a colour of that opacity over the empty cell's. */
static double luminance(bool dark, bool mistake, double opacity) {
    static const double weights[3] = {0.2126, 0.7152, 0.0722};
    double sum = 0;
    for (int k = 0; k < 3; k++) {
        const double c = (cells[dark][0][k] + (cells[dark][1 + mistake][k] - cells[dark][0][k]) * opacity) / 255;
        sum += weights[k] * (c <= 0.04045 ? c / 12.92 : pow((c + 0.055) / 1.055, 2.4));
    }
    return sum;
}
/* Black on a cell, or white: the one that differs more. Either has a contrast of 4.58 at least where the other has
 * less. */
static bool is_dark(double luminance) { return 1.05 / (luminance + 0.05) > (luminance + 0.05) / 0.05; }

void chart_matrix(FILE *out, int64_t n, const int64_t *counts, const char *(*name)(int64_t i, const void *user),
                  const void *user) {
    const double size = n <= 12 ? 36 : n <= 24 ? 27 : fmax(6, 640.0 / (double)n), top = 24;
    const bool labels = size >= 12, numbers = size >= 26;
    double strongest = 0; /* of the mistakes */
    int longest = 0;
    int64_t *rows = calloc((size_t)n, sizeof *rows);
    for (int64_t i = 0; i < n * n && rows; i++) rows[i / n] += counts[i];
    for (int64_t i = 0; i < n * n && rows; i++)
        if (i / n != i % n && rows[i / n]) strongest = fmax(strongest, (double)counts[i] / (double)rows[i / n]);
    for (int64_t i = 0; i < n && labels; i++) {
        int length = print_label(NULL, name(i, user));
        if (length > longest) longest = length;
    }
    /* A character is about 6.8 wide; below the columns the names lean by 40 degrees. */
    const double left = fmax(56, 6.8 * longest + 14), right = left + size * (double)n, bottom = top + size * (double)n;
    svg_open(out, right + 8, bottom + (labels ? 4.4 * longest + 20 : 4), "Confusion matrix",
             "Rows are what the samples are, columns what they were taken for; the table of classes has the scores.");
    fprintf(out,
            "<text class=\"tick end\" x=\"%.1f\" y=\"14\">is \xE2\x86\x93</text><text class=\"tick\" x=\"%.1f\" "
            "y=\"14\">taken for \xE2\x86\x92</text>\n",
            left - 10, left + 2);
    for (int64_t i = 0; i < n && labels; i++) {
        double middle = size * ((double)i + 0.5);
        fprintf(out, "<text class=\"key end\" x=\"%.1f\" y=\"%.1f\">", left - 10, top + middle + 4);
        print_label(out, name(i, user));
        fprintf(out, "</text><text class=\"key end\" transform=\"translate(%.1f %.1f) rotate(-40)\">",
                left + middle + 5, bottom + 13);
        print_label(out, name(i, user));
        fputs("</text>\n", out);
    }
    const double corner = fmin(3, size / 6), gap = size < 12 ? 0 : 1;
    if (!numbers)
        fprintf(out, "<rect class=\"empty\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>\n", left, top,
                right - left, bottom - top);
    for (int64_t i = 0; i < n * n && rows; i++) {
        int64_t row = i / n, k = i % n;
        if (!counts[i] && !numbers) continue;
        double share = rows[row] ? (double)counts[i] / (double)rows[row] : 0, strength = row == k ? share
                                                                                         : strongest > 0
                                                                                             ? share / strongest
                                                                                             : 0;
        double x = left + size * (double)k, y = top + size * (double)row;
        fputs("<g class=\"cell\"><title>", out);
        html_print(out, "%s taken for ", name(row, user));
        html_print(out, "%s: %lld of %lld (%.1f" NBSP "%%)", name(k, user), (long long)counts[i], (long long)rows[row],
                   100 * share);
        fputs("</title>", out);
        const double side = size - 2 * gap;
        if (numbers)
            fprintf(out, "<rect class=\"empty\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"%.1f\"/>",
                    x + gap, y + gap, side, side, corner);
        const double opacity = 0.06 + 0.94 * strength;
        if (counts[i])
            fprintf(out,
                    "<rect class=\"%s\" fill-opacity=\"%.3f\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" "
                    "rx=\"%.1f\"/>",
                    row == k ? "a" : "b", opacity, x + gap, y + gap, side, side, corner);
        char digits[16];
        snprintf(digits, sizeof digits, "on%d%d", is_dark(luminance(false, row != k, opacity)),
                 is_dark(luminance(true, row != k, opacity)));
        if (numbers)
            fprintf(out, "<text class=\"mid %s\" x=\"%.1f\" y=\"%.1f\">%lld</text>", counts[i] ? digits : "zero",
                    x + size / 2, y + size / 2 + 4, (long long)counts[i]);
        fputs("</g>\n", out);
    }
    svg_close(out);
    free(rows);
}

void chart_bar(FILE *out, double share, const char *style, const char *title) {
    fputs("<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"bar\" role=\"img\" viewBox=\"0 0 100 10\" "
          "preserveAspectRatio=\"none\"><title>",
          out);
    html_text(out, title);
    fprintf(out,
            "</title><rect class=\"empty\" width=\"100\" height=\"10\" rx=\"1\"/><rect class=\"%s\" width=\"%.2f\" "
            "height=\"10\" rx=\"1\"/></svg>",
            style, 100 * fmin(1, fmax(0, share)));
}

int64_t chart_smooth(const double *x, const double *y, size_t n, double *sx, double *sy) {
    size_t half = n / 100, wanted = n < CHART_SMOOTH ? n : CHART_SMOOTH;
    for (size_t k = 0; k < wanted; k++) {
        size_t i = wanted > 1 ? k * (n - 1) / (wanted - 1) : 0;
        double sum = 0, count = 0;
        for (size_t j = i < half ? 0 : i - half; j <= i + half && j < n; j++)
            if (isfinite(y[j])) sum += y[j], count++;
        sx[k] = x[i];
        sy[k] = count > 0 ? sum / count : NAN;
    }
    return (int64_t)wanted;
}
