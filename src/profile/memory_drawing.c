/* memory_drawing.c: a snapshot of memory as SVG, alone or in a page: the course by use as stacked areas, and below it
 * where blocks lie. */
#include "profile/memory_snapshot.h"

enum {
    WIDTH = 1000,
    LEFT = 80,
    PLOT_WIDTH = 660,
    TOP = 44,
    PLOT_HEIGHT = 300,
    LEGEND = LEFT + PLOT_WIDTH + 20,
    ROW = 18,
    STRIPS = 12, /* regions that are drawn */
    PAGE_ROWS = 60
};

/* Colours of the uses: Okabe and Ito's, which people with any kind of sight tell apart. */
static const char *const colours[WICK_TAGS] = {
    [WICK_TAG_OTHER] = "#999999",   [WICK_TAG_TENSORS] = "#0072b2",    [WICK_TAG_NODES] = "#56b4e9",
    [WICK_TAG_PLANS] = "#cc79a7",   [WICK_TAG_WORKSPACES] = "#e69f00", [WICK_TAG_PACKS] = "#009e73",
    [WICK_TAG_BUFFERS] = "#d55e00", [WICK_TAG_DATA] = "#f0e442"};

static void escape(wick_text *out, const char *text) {
    static const char *const pairs[][2] = {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}};
    wick_text_replaced(out, text, strlen(text), pairs, WICK_COUNTOF(pairs));
}

/* 1, 2 or 5 times a power of ten: about a fifth of `most`. */
static double nice_step(double most) {
    double step = 1;
    while (step * 10 < most / 5) step *= 10;
    return step * 5 <= most / 4 ? step * 5 : step * 2 <= most / 4 ? step * 2 : step;
}

typedef struct scale {
    double bytes, ns; /* at the upper and right end */
} scale;
static double x_of(const scale *s, double ns) { return LEFT + PLOT_WIDTH * ns / s->ns; }
static double y_of(const scale *s, double bytes) { return TOP + PLOT_HEIGHT * (1 - bytes / s->bytes); }

static void draw_axes(const scale *s, wick_text *out) {
    const double step = nice_step(s->bytes), unit = s->bytes >= 1e9 ? 1e9 : s->bytes >= 1e6 ? 1e6 : 1e3;
    for (double v = 0; v <= s->bytes; v += step)
        wick_text_add(out,
                      "<path d=\"M%d %.1fh%d\" stroke=\"currentColor\" stroke-opacity=\".15\"/>"
                      "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%g %s</text>\n",
                      LEFT, y_of(s, v), PLOT_WIDTH, LEFT - 6, y_of(s, v) + 4, v / unit,
                      unit > 1e6   ? "GB"
                      : unit > 1e3 ? "MB"
                                   : "kB");
    const double span = s->ns >= 1e9 ? 1e9 : 1e6, wide = nice_step(s->ns / span * 1000) / 1000;
    for (double v = 0; v * span <= s->ns; v += wide)
        wick_text_add(out, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%g %s</text>\n", x_of(s, v * span),
                      TOP + PLOT_HEIGHT + 16, v, span > 1e6 ? "s" : "ms");
}

/* One use, on top of those below it. */
static void draw_use(const wick_memory_snapshot *s, const scale *sc, int use, wick_text *out) {
    size_t most = 0;
    for (int i = 0; i < s->n_points; i++) most = WICK_MAX(most, s->points[i].bytes[use]);
    if (!most) return;
    wick_text_add(out, "<path fill=\"%s\" d=\"M%.1f %.1f", colours[use], x_of(sc, 0), y_of(sc, 0));
    for (int i = 0; i < s->n_points; i++) {
        size_t to = 0;
        for (int u = 0; u <= use; u++) to += s->points[i].bytes[u];
        wick_text_add(out, "V%.1fH%.1f", y_of(sc, (double)to), x_of(sc, (double)(i + 1) * (double)s->width));
    }
    for (int i = s->n_points; i-- > 0;) {
        size_t from = 0;
        for (int u = 0; u < use; u++) from += s->points[i].bytes[u];
        wick_text_add(out, "V%.1fH%.1f", y_of(sc, (double)from), x_of(sc, (double)i * (double)s->width));
    }
    wick_text_add(out, "Z\"><title>%s: at most %.6g MB in the course</title></path>\n", s->uses[use].name,
                  (double)most * 1e-6);
}

static void draw_before(const wick_memory_snapshot *b, const scale *sc, wick_text *out) {
    wick_text_add(out, "<path fill=\"none\" stroke=\"currentColor\" stroke-dasharray=\"4 3\" d=\"M%.1f %.1f",
                  x_of(sc, 0), y_of(sc, 0));
    for (int i = 0; i < b->n_points; i++)
        wick_text_add(out, "V%.1fH%.1f", y_of(sc, (double)b->points[i].all),
                      x_of(sc, (double)(i + 1) * (double)b->width));
    wick_text_add(out, "\"><title>before: at most %.6g MB in the course</title></path>\n",
                  (double)snapshot_course_peak(b) * 1e-6);
}

static void draw_legend(const wick_memory_snapshot *s, const wick_memory_snapshot *before, wick_text *out) {
    int y = TOP + 8;
    wick_text_add(out, "<text x=\"%d\" y=\"%d\">MB at the end, at most%s</text>\n", LEGEND, y,
                  before ? ", change" : "");
    for (int i = WICK_TAGS; i-- > 0;) {
        const wick_memory_use *u = &s->uses[i];
        const size_t was = before ? before->uses[i].bytes : 0;
        if (!u->peak && !was) continue;
        y += ROW;
        wick_text_add(out,
                      "<rect x=\"%d\" y=\"%d\" width=\"11\" height=\"11\" fill=\"%s\"/>"
                      "<text x=\"%d\" y=\"%d\">%s %.4g, %.4g",
                      LEGEND, y - 10, colours[i], LEGEND + 16, y, u->name, (double)u->bytes * 1e-6,
                      (double)u->peak * 1e-6);
        if (before) wick_text_add(out, ", %+.4g", ((double)u->bytes - (double)was) * 1e-6);
        wick_text_add(out, "</text>\n");
    }
    if (before && before->n_points)
        wick_text_add(out,
                      "<path d=\"M%d %dh11\" stroke=\"currentColor\" stroke-dasharray=\"4 3\"/>"
                      "<text x=\"%d\" y=\"%d\">all of it, before</text>\n",
                      LEGEND, y + ROW - 4, LEGEND + 16, y + ROW);
}

static void draw_regions(const wick_memory_snapshot *s, int y, wick_text *out) {
    const wick_memory_snapshot_info info = wick_memory_snapshot_get_info(s);
    wick_text_add(out,
                  "<text x=\"%d\" y=\"%d\">where blocks lie: %d range%s of addresses, %.4g MB, of these %.4g MB in "
                  "holes; the darker, the fuller</text>\n",
                  LEFT, y, s->n_regions, s->n_regions == 1 ? "" : "s", (double)info.extent * 1e-6,
                  (double)info.holes * 1e-6);
    for (int i = 0; i < WICK_MIN(s->n_regions, (int)STRIPS); i++) {
        const snapshot_region *r = &s->regions[i];
        y += ROW;
        wick_text_add(out,
                      "<g><title>%.6g MB, %llu blocks, %.6g MB in holes</title><text x=\"%d\" y=\"%d\" "
                      "text-anchor=\"end\">%.4g MB</text>",
                      (double)r->bytes * 1e-6, (unsigned long long)r->blocks, (double)(r->bytes - r->used) * 1e-6,
                      LEFT - 6, y, (double)r->bytes * 1e-6);
        for (int c = 0, end; c < SNAPSHOT_CELLS; c = end) { /* equal neighbours are one */
            for (end = c; end < SNAPSHOT_CELLS && r->cells[end] == r->cells[c];) end++;
            const double cell = (double)(WIDTH - 2 * LEFT) / SNAPSHOT_CELLS;
            wick_text_add(out,
                          "<rect x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"13\" fill=\"#0072b2\" "
                          "fill-opacity=\"%.2f\"/>",
                          LEFT + c * cell, y - 11, (end - c) * cell, 0.08 + 0.92 * (r->cells[c] - '0') / 9);
        }
        wick_text_add(out, "</g>\n");
    }
}

void snapshot_draw(const wick_memory_snapshot *s, const wick_memory_snapshot *before, wick_text *out) {
    const int below = TOP + PLOT_HEIGHT + 48, height = below + (WICK_MIN(s->n_regions, (int)STRIPS) + 1) * ROW;
    scale sc = {.bytes = (double)WICK_MAX(snapshot_course_peak(s), 1),
                .ns = WICK_MAX((double)s->n_points * (double)s->width, 1.0)};
    if (before) {
        sc.bytes = WICK_MAX(sc.bytes, (double)snapshot_course_peak(before));
        sc.ns = WICK_MAX(sc.ns, (double)before->n_points * (double)before->width);
    }
    sc.bytes *= 1.05;
    wick_text_add(out,
                  "<svg wick=\"memory\" xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
                  "height=\"%d\" font-family=\"sans-serif\" font-size=\"12\" fill=\"currentColor\">\n"
                  "<text x=\"%d\" y=\"22\" font-size=\"14\">Memory: %.6g MB in %llu blocks, at most %.6g MB",
                  WIDTH, height, WIDTH, height, LEFT, (double)s->all.bytes * 1e-6, (unsigned long long)s->all.blocks,
                  (double)s->all.peak * 1e-6);
    if (before)
        wick_text_add(out, "; before: %.6g MB, at most %.6g MB", (double)before->all.bytes * 1e-6,
                      (double)before->all.peak * 1e-6);
    wick_text_add(out, "</text>\n");
    if (s->n_points) {
        draw_axes(&sc, out);
        for (int u = 0; u < WICK_TAGS; u++) draw_use(s, &sc, u, out);
        if (before && before->n_points) draw_before(before, &sc, out);
    } else
        wick_text_add(out, "<text x=\"%d\" y=\"%d\">no course was recorded</text>\n", LEFT, TOP + PLOT_HEIGHT / 2);
    draw_legend(s, before, out);
    draw_regions(s, below, out);
    wick_text_add(out, "</svg>\n");
}

void snapshot_page(const wick_memory_snapshot *s, const wick_memory_snapshot *before, wick_text *out) {
    wick_text_add(out,
                  "<!doctype html><!--wick memory--><html lang=en><meta charset=utf-8><title>Memory</title>\n"
                  "<meta name=viewport content='width=device-width'><style>\n"
                  ":root{color-scheme:light dark}body{margin:16px;font:14px system-ui,sans-serif;max-width:1000px}\n"
                  "svg{max-width:100%%;height:auto}td,th{padding:2px 10px;text-align:left}\n"
                  "td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}\n"
                  "</style><h1>Memory</h1>\n");
    snapshot_draw(s, before, out);
    wick_text_add(out, "<h2>%s</h2><table><tr><th class=n>MB<th class=n>blocks%s<th>use<th>line or layer</tr>\n",
                  before ? "What changed most" : "What is most", before ? "<th class=n>MB more" : "");
    wick_memory_row r;
    for (int i = 0; i < PAGE_ROWS && wick_memory_snapshot_change(s, before, i, &r); i++) {
        if (before && !r.grown) break;
        wick_text_add(out, "<tr><td class=n>%.6g<td class=n>%llu", (double)r.bytes * 1e-6,
                      (unsigned long long)r.blocks);
        if (before) wick_text_add(out, "<td class=n>%+.6g", (double)r.grown * 1e-6);
        wick_text_add(out, "<td>%s<td>", r.use);
        escape(out, *r.place ? r.place : "not known");
        wick_text_add(out, "</tr>\n");
    }
    wick_text_add(out, "</table></html>\n");
}
