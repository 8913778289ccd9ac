/* page.c: the results as one HTML page, the roofline and a table for each suite; and the tables in Markdown. */
#include "results.h"

#include "../report/chart.h"
#include "../report/html.h"
#include "../term/log.h"

#include <math.h>
#include <string.h>

enum { WIDTH = 1000, HEIGHT = 420, LEFT = 60, RIGHT = 990, TOP = 14, BOTTOM = 372 };

/* log-log: x in FLOP a byte, y in FLOP a second. */
typedef struct plane {
    double x0, x1, y0, y1;
} plane;
static double at_x(const plane *p, double x) { return LEFT + (log2(x) - p->x0) / (p->x1 - p->x0) * (RIGHT - LEFT); }
static double at_y(const plane *p, double y) { return BOTTOM - (log2(y) - p->y0) / (p->y1 - p->y0) * (BOTTOM - TOP); }

static bool on_roof(const bench_result *r, int threads) {
    return !*r->why && r->threads == threads && r->flops > 0 && r->read + r->written > 0;
}

/* The roof of f32 arithmetic over each level of memory, and a dot for each row. */
static void draw_roofline(FILE *out, const bench_results *all, const roof *c) {
    const double peak = c->compute[CEILING_F32];
    plane p = {.x0 = -4, .x1 = 8, .y1 = log2(peak) + 1.5};
    p.y0 = p.y1 - 14;
    svg_open(out, WIDTH, HEIGHT, "Roofline",
             "Arithmetic a second of each row over its arithmetic for each byte that it must read or write, below what "
             "the machine can do");
    for (int i = (int)p.x0; i <= (int)p.x1; i += 2) {
        const double x = at_x(&p, exp2(i));
        fprintf(out,
                "<line class=\"grid\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\"/><text class=\"tick mid\" x=\"%.1f\" "
                "y=\"%d\">%g</text>\n",
                x, x, TOP, BOTTOM, x, BOTTOM + 18, exp2(i));
    }
    for (double y = exp2(ceil(p.y0)); log2(y) < p.y1; y *= 4) {
        chart_text text;
        fprintf(out,
                "<line class=\"grid\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/><text class=\"tick end\" x=\"%d\" "
                "y=\"%.1f\">%s</text>\n",
                LEFT, RIGHT, at_y(&p, y), at_y(&p, y), LEFT - 6, at_y(&p, y) + 4, text_si(text, y));
    }
    fprintf(out,
            "<text class=\"tick mid\" x=\"%d\" y=\"%d\">FLOP for each byte</text><text class=\"tick\" x=\"%d\" "
            "y=\"%d\">FLOP/s</text>\n",
            (LEFT + RIGHT) / 2, BOTTOM + 38, LEFT + 4, TOP + 10);
    for (int i = 0; i < c->n_levels; i++) {
        const double rate = c->level[i].rate[CEILING_READ], ridge = peak / rate;
        const double from = fmax(exp2(p.x0), exp2(p.y0) / rate);
        fprintf(out,
                "<polyline class=\"line c\" points=\"%.1f,%.1f %.1f,%.1f %d,%.1f\"/><text x=\"%.1f\" "
                "y=\"%.1f\">%s</text>\n",
                at_x(&p, from), at_y(&p, from * rate), at_x(&p, ridge), at_y(&p, peak), RIGHT, at_y(&p, peak),
                at_x(&p, from) + 4, at_y(&p, from * rate) - 8, c->level[i].name);
    }
    for (int i = 0; i < all->n; i++) {
        const bench_result *r = &all->at[i];
        if (!on_roof(r, c->threads)) continue;
        const double speed = r->flops / stats_quantile(&r->times.seconds, 0.5),
                     intensity = r->flops / (r->read + r->written);
        fprintf(out, "<circle class=\"dot a\" cx=\"%.1f\" cy=\"%.1f\" r=\"5\"><title>",
                at_x(&p, fmin(exp2(p.x1), fmax(exp2(p.x0), intensity))), at_y(&p, fmax(exp2(p.y0), speed)));
        html_print(out, "%s: %.1f GFLOP/s, %.3g FLOP for each byte", r->key, 1e-9 * speed, intensity);
        fputs("</title></circle>\n", out);
    }
    svg_close(out);
}

static void write_suite(FILE *out, const bench_results *all, const char *suite) {
    int peers = 0;
    bool memory = false, instructions = false;
    for (int i = 0; i < all->n; i++) {
        const bench_result *r = &all->at[i];
        if (strcmp(r->row->suite, suite) != 0) continue;
        if (r->n_peers > peers) peers = r->n_peers;
        memory |= r->memory > 0;
        instructions |= r->instructions > 0;
    }
    const int after = memory + instructions + (peers > 0); /* columns behind the ceiling's */
    fputs("<h2>", out);
    html_text(out, suite);
    fputs(
        "</h2><div class=\"card wide\"><table><thead><tr><th>row</th><th class=\"n\">threads</th><th "
        "class=\"n\">median</th><th class=\"n\">&#177; 95 %</th>"
        "<th class=\"n\">p95</th><th class=\"n\">GFLOP/s</th><th class=\"n\">GB/s</th><th></th><th>of its ceiling</th>",
        out);
    if (memory) fputs("<th class=\"n\">MB, planned and measured</th>", out);
    if (instructions) fputs("<th class=\"n\">instructions</th>", out);
    if (peers) fputs("<th>others' time by Wick's</th>", out);
    fputs("</tr></thead><tbody>\n", out);
    for (int i = 0; i < all->n; i++) {
        const bench_result *r = &all->at[i];
        if (strcmp(r->row->suite, suite) != 0) continue;
        fputs("<tr><td style=\"white-space:nowrap\"><code>", out);
        html_text(out, r->key + strlen(suite) + 1);
        fprintf(out, "</code></td><td class=\"n\">%d</td>", r->threads);
        if (*r->why) {
            fputs("<td colspan=\"7\">not run: ", out);
            html_text(out, r->why);
            fprintf(out, "</td>%s</tr>\n",
                    (const char *const[]){"", "<td></td>", "<td></td><td></td>", "<td></td><td></td><td></td>"}[after]);
            continue;
        }
        const samples *s = &r->times.seconds;
        const double median = stats_quantile(s, 0.5), share = result_share(r);
        double low, high;
        time_text a, b;
        stats_median_interval(s, &low, &high);
        fprintf(out, "<td class=\"n\">%s</td><td class=\"n\">%.1f %%</td><td class=\"n\">%s</td>", text_time(a, median),
                50 * (high - low) / median, text_time(b, stats_quantile(s, 0.95)));
        if (r->flops > 0) fprintf(out, "<td class=\"n\">%.1f</td>", 1e-9 * r->flops / median);
        else fputs("<td></td>", out);
        if (r->read + r->written > 0)
            fprintf(out, "<td class=\"n\">%.1f</td><td style=\"width:14%%\">", 1e-9 * (r->read + r->written) / median);
        else fputs("<td></td><td>", out);
        if (share == share) {
            char title[64];
            snprintf(title, sizeof title, "%.0f %% of %s", 100 * share, r->floor.bound);
            chart_bar(out, share, share < 0.5 ? "b" : "a", title);
            fputs("</td><td>", out);
            html_text(out, title);
        } else {
            fputs("</td><td>", out);
        }
        fputs("</td>", out);
        if (memory) fputs("<td class=\"n\">", out);
        if (r->memory > 0 && r->planned > 0) fprintf(out, "%.1f, ", 1e-6 * r->planned);
        if (r->memory > 0) fprintf(out, "%.1f", 1e-6 * r->memory);
        if (memory) fputs("</td>", out);
        if (instructions) fputs("<td class=\"n\">", out);
        if (r->instructions > 0) fprintf(out, "%.4g", r->instructions);
        if (instructions) fputs("</td>", out);
        if (peers) fputs("<td style=\"white-space:nowrap\">", out);
        for (int p = 0; p < r->n_peers; p++) {
            if (p) fputs("<br>", out);
            html_print(out, "%s %.2f (%.2f .. %.2f)", r->peers[p].name, r->peers[p].ratio, r->peers[p].low,
                       r->peers[p].high);
            if (r->peers[p].memory > 0) fprintf(out, " in %.1f MB", 1e-6 * r->peers[p].memory);
        }
        fprintf(out, "%s</tr>\n", peers ? "</td>" : "");
    }
    fputs("</tbody></table></div>\n", out);
}

void results_write_page(FILE *out, const bench_results *all) {
    html_begin(out, "wick bench");
    fprintf(out,
            "<h1>wick bench</h1><p>Wick %s. A median's interval holds it with 95 %%. A row's ceiling is the least time "
            "in which this machine could do its arithmetic, or read and "
            "write its inputs and results once, measured in the same run.</p>\n",
            wick_version());
    for (int i = 0; i < all->n_roofs; i++) {
        const roof *c = &all->roofs[i];
        fprintf(out, "<h2>What the machine can do, %d thread%s</h2><div class=\"card wide\">", c->threads,
                plural(c->threads));
        draw_roofline(out, all, c);
        fputs("<table><thead><tr><th></th><th class=\"n\">read</th><th class=\"n\">written</th><th "
              "class=\"n\">copied</th></tr></thead><tbody>\n",
              out);
        for (int k = 0; k < c->n_levels; k++)
            fprintf(out,
                    "<tr><td>%s</td><td class=\"n\">%.1f GB/s</td><td class=\"n\">%.1f GB/s</td><td class=\"n\">%.1f "
                    "GB/s</td></tr>\n",
                    c->level[k].name, 1e-9 * c->level[k].rate[CEILING_READ], 1e-9 * c->level[k].rate[CEILING_WRITE],
                    1e-9 * c->level[k].rate[CEILING_COPY]);
        for (int k = 0; k < CEILING_COMPUTES; k++)
            if (c->compute[k] > 0)
                fprintf(out, "<tr><td>%s</td><td class=\"n\">%.1f %s</td><td colspan=\"2\">%s</td></tr>\n",
                        ceiling_compute_name((ceiling_compute)k), 1e-9 * c->compute[k],
                        ceiling_compute_unit((ceiling_compute)k), ceiling_compute_how((ceiling_compute)k, c->tier));
        fputs("</tbody></table></div>\n", out);
    }
    for (int i = 0; i < all->n; i++) {
        bool before = false;
        for (int k = 0; k < i; k++) before |= strcmp(all->at[k].row->suite, all->at[i].row->suite) == 0;
        if (!before) write_suite(out, all, all->at[i].row->suite);
    }
    html_end(out);
}

static bool any_memory(const bench_results *all) {
    bool any = false;
    for (int i = 0; i < all->n; i++) any |= all->at[i].memory > 0;
    return any;
}

/* Peers by the order in which rows first have them. */
static int peer_names(const bench_results *all, const char *names[BENCH_PEERS]) {
    int n = 0;
    for (int i = 0; i < all->n; i++)
        for (int p = 0; p < all->at[i].n_peers; p++) {
            int k = 0;
            while (k < n && strcmp(names[k], all->at[i].peers[p].name) != 0) k++;
            if (k == n && n < BENCH_PEERS) names[n++] = all->at[i].peers[p].name;
        }
    return n;
}

void results_write_markdown(FILE *out, const bench_results *all) {
    const char *names[BENCH_PEERS];
    const int n = peer_names(all, names);
    for (int i = 0; i < all->n_roofs; i++) {
        const roof *c = &all->roofs[i];
        fprintf(out, "Ceilings, %d thread%s:", c->threads, plural(c->threads));
        for (int k = 0; k < CEILING_COMPUTES; k++)
            if (c->compute[k] > 0)
                fprintf(out, " %s %.0f %s,", ceiling_compute_name((ceiling_compute)k), 1e-9 * c->compute[k],
                        ceiling_compute_unit((ceiling_compute)k));
        for (int k = 0; k < c->n_levels; k++)
            fprintf(out, "%s %s %.0f/%.0f/%.0f", k ? "," : " read/written/copied in GB/s:", c->level[k].name,
                    1e-9 * c->level[k].rate[CEILING_READ], 1e-9 * c->level[k].rate[CEILING_WRITE],
                    1e-9 * c->level[k].rate[CEILING_COPY]);
        fprintf(out, ".\n\n");
    }
    const bool memory = any_memory(all);
    fprintf(out, "| row | threads | median | of its ceiling |%s", memory ? " MB by the plan / measured |" : "");
    for (int p = 0; p < n; p++) fprintf(out, " %s |", names[p]);
    fprintf(out, "\n|---|---|---|---|%s", memory ? "---|" : "");
    for (int p = 0; p < n; p++) fprintf(out, "---|");
    fprintf(out, "\n");
    for (int i = 0; i < all->n; i++) {
        const bench_result *r = &all->at[i];
        const double share = result_share(r);
        time_text text;
        if (*r->why) continue;
        fprintf(out, "| %s | %d | %s | ", r->key, r->threads, text_time(text, stats_quantile(&r->times.seconds, 0.5)));
        if (share == share) fprintf(out, "%.0f %% of %s ", 100 * share, r->floor.bound);
        if (memory) fputs("| ", out);
        if (r->planned > 0 && r->memory > 0) fprintf(out, "%.1f / %.1f ", 1e-6 * r->planned, 1e-6 * r->memory);
        else if (r->memory > 0) fprintf(out, "%.1f ", 1e-6 * r->memory);
        for (int k = 0; k < n; k++) {
            fprintf(out, "|");
            for (int p = 0; p < r->n_peers; p++) {
                const peer_times *peer = &r->peers[p];
                if (strcmp(names[k], peer->name) != 0) continue;
                fprintf(out, " %.2f (%.2f .. %.2f)%s", peer->ratio, peer->low, peer->high,
                        peer->differs ? ", another result" : "");
                if (peer->memory > 0) fprintf(out, "; %.1f MB", 1e-6 * peer->memory);
                fputc(' ', out);
            }
        }
        fprintf(out, "|\n");
    }
}
