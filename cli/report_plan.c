/* The plan of the training step: memory while it runs, and where its time goes. */
#include "report.h"

#include "chart.h"
#include "html.h"
#include "talk.h"

#include <stdlib.h>

enum { WIDTH = 1060, LEFT = 62, RIGHT = 16, LIVE_TOP = 30, LIVE_BOTTOM = 190, MAP_TOP = 224, MAP_BOTTOM = 414, ALIVE = 8, SLOWEST = 16 };

static void type_text(char *text, size_t size, wick_spec s) {
    size_t n = (size_t)snprintf(text, size, "%s[", wick_dtype_name(s.dtype));
    for (int i = 0; i < s.rank && n < size; i++) n += (size_t)snprintf(text + n, size - n, "%s%lld", i ? "," : "", (long long)s.dims[i]);
    if (n < size) snprintf(text + n, size - n, "]");
}

/* "max_pool f32[128,16,14,14]" */
static void kernel_text(char *text, size_t size, const wick_plan_kernel *k) {
    size_t n = (size_t)snprintf(text, size, "%s ", k->ops);
    if (n < size) type_text(text + n, size - n, k->result);
}

/* ---- memory -------------------------------------------------------------------------------------------------------------------- */

typedef struct memory {
    const wick_plan *plan;
    wick_plan_info info;
    int peak;       /* the first kernel at which live_bytes is largest */
    double unit;    /* of the axes, in bytes */
    const char *unit_name;
    axis x, live, place;
    double unshared; /* bytes, if no two intermediates shared any */
} memory;

static memory memory_of(const wick_plan *plan) {
    memory m = {.plan = plan, .info = wick_plan_get_info(plan), .unit = 1024, .unit_name = NBSP "KiB"};
    size_t most = 0;
    for (int i = 0; i < m.info.kernels; i++) {
        size_t live = wick_plan_kernel_at(plan, i).live_bytes;
        if (live > most) most = live, m.peak = i;
    }
    for (int i = 0; i < m.info.buffers; i++) m.unshared += (double)wick_plan_buffer_at(plan, i).bytes;
    if (m.info.arena_bytes >= 1 << 20) m.unit = 1 << 20, m.unit_name = NBSP "MiB";
    double top = (double)m.info.arena_bytes / m.unit;
    m.x = (axis){0, m.info.kernels, 1, LEFT, WIDTH - RIGHT};
    m.live = axis_around(0, top, 5, LIVE_BOTTOM, LIVE_TOP);
    m.place = axis_around(0, top, 5, MAP_BOTTOM, MAP_TOP);
    return m;
}

static void draw_live(FILE *out, const memory *m) {
    axis_draw_y(out, &m->live, LEFT, WIDTH - RIGHT, m->unit_name);
    fprintf(out, "<text class=\"key\" x=\"%d\" y=\"16\">in use while each kernel runs</text>\n<path class=\"area\" d=\"M%d %d", LEFT, LEFT, LIVE_BOTTOM);
    for (int i = 0; i < m->info.kernels; i++)
        fprintf(out, "V%.1fH%.1f", axis_at(&m->live, (double)wick_plan_kernel_at(m->plan, i).live_bytes / m->unit), axis_at(&m->x, i + 1));
    fprintf(out, "V%dZ\"/>\n", LIVE_BOTTOM);
    chart_text text;
    double x = axis_at(&m->x, m->peak + 0.5), y = axis_at(&m->live, (double)m->info.live_bytes / m->unit);
    bool right = x > (LEFT + WIDTH) / 2.0;
    fprintf(out, "<path class=\"mark\" d=\"M%.1f %.1fV%d\"/><circle class=\"dot b\" r=\"4\" cx=\"%.1f\" cy=\"%.1f\"/>", x, y, MAP_BOTTOM, x, y);
    fprintf(out, "<text class=\"strong%s\" x=\"%.1f\" y=\"%.1f\">peak %s, kernel %d</text>\n", right ? " end" : "", x + (right ? -9 : 9), y - 7,
            text_bytes(text, (double)m->info.live_bytes), m->peak);
}

static void draw_map(FILE *out, const memory *m) {
    axis_draw_y(out, &m->place, LEFT, WIDTH - RIGHT, m->unit_name);
    fprintf(out, "<text class=\"key\" x=\"%d\" y=\"%d\">the arena: each intermediate, its place and its life; orange: alive at the peak</text>\n", LEFT,
            MAP_TOP - 10);
    for (int i = 0; i < m->info.buffers; i++) {
        wick_plan_buffer b = wick_plan_buffer_at(m->plan, i);
        if (!b.bytes) continue;
        double x0 = axis_at(&m->x, b.first), x1 = axis_at(&m->x, b.last + 1), bottom = axis_at(&m->place, (double)b.offset / m->unit);
        double top = axis_at(&m->place, (double)(b.offset + b.bytes) / m->unit);
        if (bottom - top < 0.3) continue; /* not to be seen */
        char shape[128];
        chart_text bytes;
        type_text(shape, sizeof shape, b.value);
        fprintf(out, "<rect class=\"slab %s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"><title>",
                b.first <= m->peak && m->peak <= b.last ? "b" : "a", x0, top, x1 - x0, bottom - top);
        html_print(out, "%s, kernels %d to %d\n%s made by %s", text_bytes(bytes, (double)b.bytes), b.first, b.last, shape,
                   wick_plan_kernel_at(m->plan, b.first).ops);
        fputs("</title></rect>\n", out);
    }
    axis ticks = axis_around(0, m->info.kernels, 10, LEFT, WIDTH - RIGHT);
    ticks.high = ticks.step * (int)((m->info.kernels + 1e-9) / ticks.step); /* the last kernel is where the chart ends */
    ticks.to = axis_at(&m->x, ticks.high);
    axis_draw_x(out, &ticks, MAP_BOTTOM, "kernel, in the order they run");
}

/* Tooltips of the upper chart. */
static void draw_hovers(FILE *out, const memory *m) {
    for (int i = 0; i < m->info.kernels; i++) {
        wick_plan_kernel k = wick_plan_kernel_at(m->plan, i);
        char text[160];
        chart_text bytes;
        kernel_text(text, sizeof text, &k);
        fprintf(out, "<rect class=\"hover\" x=\"%.2f\" y=\"%d\" width=\"%.2f\" height=\"%d\"><title>", axis_at(&m->x, i), LIVE_TOP,
                axis_at(&m->x, i + 1) - axis_at(&m->x, i), LIVE_BOTTOM - LIVE_TOP);
        html_print(out, "kernel %d: %s\n%s in use", i, text, text_bytes(bytes, (double)k.live_bytes));
        fputs("</title></rect>\n", out);
    }
}

static int larger(const void *a, const void *b) {
    const wick_plan_buffer *x = a, *y = b;
    if (x->bytes != y->bytes) return x->bytes < y->bytes ? 1 : -1;
    return (x->offset > y->offset) - (x->offset < y->offset);
}

static bool write_alive(FILE *out, const memory *m) {
    wick_plan_buffer *alive = malloc(((size_t)m->info.buffers + 1) * sizeof *alive);
    if (!alive) return false;
    int n = 0;
    double rest = 0;
    for (int i = 0; i < m->info.buffers; i++) {
        wick_plan_buffer b = wick_plan_buffer_at(m->plan, i);
        if (b.bytes && b.first <= m->peak && m->peak <= b.last) alive[n++] = b;
    }
    qsort(alive, (size_t)n, sizeof *alive, larger);
    fputs("<div class=\"card wide\"><h3>Alive at the peak</h3><p>u8 of all its bytes is scratch: packed operands, partial sums, values in another "
          "order.</p><table><thead><tr><th class=\"n\">bytes</th><th></th><th>holds</th><th>made by</th><th class=\"n\">from kernel</th>"
          "<th class=\"n\">to</th></tr></thead><tbody>\n",
          out);
    chart_text bytes;
    for (int i = 0; i < n; i++) {
        if (i >= ALIVE) {
            rest += (double)alive[i].bytes;
            continue;
        }
        char shape[128], title[64];
        type_text(shape, sizeof shape, alive[i].value);
        fprintf(out, "<tr><td class=\"n\">%s</td><td style=\"width:20%%\">", text_bytes(bytes, (double)alive[i].bytes));
        snprintf(title, sizeof title, "%.1f" NBSP "%% of the peak", 100 * (double)alive[i].bytes / (double)m->info.live_bytes);
        chart_bar(out, (double)alive[i].bytes / (double)m->info.live_bytes, "b", title);
        fputs("</td><td><code>", out);
        html_text(out, shape);
        fputs("</code></td><td><code>", out);
        const wick_plan_kernel maker = wick_plan_kernel_at(m->plan, alive[i].first);
        html_text(out, maker.ops);
        fputs("</code> <small>", out);
        html_text(out, maker.name);
        fprintf(out, "</small></td><td class=\"n\">%d</td><td class=\"n\">%d</td></tr>\n", alive[i].first, alive[i].last);
    }
    if (n > ALIVE) fprintf(out, "<tr class=\"total\"><td class=\"n\">%s</td><td></td><td>%d more</td><td></td><td></td><td></td></tr>\n", text_bytes(bytes, rest), n - ALIVE);
    fputs("</tbody></table></div>\n", out);
    free(alive);
    return true;
}

static bool write_memory(FILE *out, const wick_plan *plan) {
    const memory m = memory_of(plan);
    if (m.info.arena_bytes == 0) return true;
    chart_text peak, arena, unshared, scratch, sum;
    fputs("<figure class=\"card wide\" style=\"margin:14px 0 0\" id=\"memory\"><h3>Memory over time</h3><p>", out);
    html_print(out, "At the peak %s of intermediates are alive; their arena has %s, known before the step first runs, where without sharing it would be %s. ",
               text_bytes(peak, (double)m.info.live_bytes), text_bytes(arena, (double)m.info.arena_bytes), text_bytes(unshared, m.unshared));
    html_print(out, "With %s of scratch, for the threads, that is the %s above.", text_bytes(scratch, (double)m.info.scratch_bytes),
               text_bytes(sum, (double)(m.info.arena_bytes + m.info.scratch_bytes)));
    fputs("</p>\n", out);
    svg_open(out, WIDTH, MAP_BOTTOM + 42, "Memory of the training step over time",
             "Above, the bytes of intermediates in use while each kernel runs; below, where each intermediate lies in the arena and for how long.");
    draw_live(out, &m);
    draw_map(out, &m);
    draw_hovers(out, &m);
    svg_close(out);
    fputs("</figure>\n", out);
    return write_alive(out, &m);
}

/* ---- time ---------------------------------------------------------------------------------------------------------------------- */

typedef struct timing {
    int kernel;
    double ns; /* the median of the steps timed */
} timing;

static int slower(const void *a, const void *b) {
    const timing *x = a, *y = b;
    if (x->ns != y->ns) return x->ns < y->ns ? 1 : -1;
    return x->kernel - y->kernel;
}

static int ascending(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Sorts. n > 0. */
static double median(double *values, int64_t n) {
    qsort(values, (size_t)n, sizeof *values, ascending);
    return (values[(n - 1) / 2] + values[n / 2]) / 2;
}

static const char *time_text(chart_text text, double ns) {
    snprintf(text, sizeof(chart_text), ns >= 1e6 ? "%.2f" NBSP "ms" : "%.1f" NBSP "\xC2\xB5s", ns >= 1e6 ? ns / 1e6 : ns / 1e3);
    return text;
}

/* Nothing for kernels that only move data, or take no time. */
static void write_rate(FILE *out, double amount, double ns) {
    if (amount > 0 && ns > 0)
        fprintf(out, "<td class=\"n\">%.*f</td>", amount / ns < 10 ? 1 : 0, amount / ns);
    else
        fputs("<td></td>", out);
}

static void write_kernel(FILE *out, const wick_plan *plan, const timing *t, double total, double longest) {
    wick_plan_kernel k = wick_plan_kernel_at(plan, t->kernel);
    char shape[128], title[64];
    chart_text time;
    type_text(shape, sizeof shape, k.result);
    fputs("<tr><td><code>", out);
    html_text(out, k.ops);
    fputs("</code> <small>", out);
    html_text(out, k.name);
    fputs("</small></td><td><small><code>", out);
    html_text(out, shape);
    fprintf(out, "</code></small></td><td style=\"width:20%%\">");
    snprintf(title, sizeof title, "%.1f" NBSP "%% of the step", 100 * t->ns / total);
    chart_bar(out, t->ns / longest, "a", title);
    fprintf(out, "</td><td class=\"n\">%.1f %%</td><td class=\"n\">%s</td>", 100 * t->ns / total, time_text(time, t->ns));
    write_rate(out, k.flops, t->ns);
    write_rate(out, k.bytes, t->ns);
    fputs("</tr>\n", out);
}

static bool write_times(FILE *out, const report *r) {
    const wick_plan *plan = r->t.steps[1][0].plan;
    wick_plan_info info = wick_plan_get_info(plan);
    timing *times = malloc(((size_t)info.kernels + 1) * sizeof *times);
    if (!times) return false;
    double total = 0; /* of the medians: an interruption falls into every step, and each time into another kernel */
    for (int i = 0; i < info.kernels; i++) {
        times[i] = (timing){i, median(r->kernel_ns + (int64_t)i * REPORT_STEPS, r->timed)};
        total += times[i].ns;
    }
    qsort(times, (size_t)info.kernels, sizeof *times, slower);
    chart_text text, bytes;
    fputs("<div class=\"card wide\" id=\"time\"><h3>Time per kernel</h3><p>", out);
    html_print(out, "A step of %lld image%s takes %s in %d kernel%s: %.3g" NBSP "GFLOP at %.3g" NBSP "GFLOP/s, %s moved at %.3g" NBSP "GB/s. ",
               (long long)r->t.batch, plural(r->t.batch), time_text(text, total), info.kernels, plural(info.kernels), info.flops / 1e9,
               total > 0 ? info.flops / total : 0, text_bytes(bytes, info.bytes), total > 0 ? info.bytes / total : 0);
    html_print(out, "Times are each kernel's median of %lld steps, on %d thread%s.", (long long)r->timed, wick_context_threads(r->ctx), plural(wick_context_threads(r->ctx)));
    fputs("</p><table><thead><tr><th>ops</th><th>result</th><th></th><th class=\"n\">share</th><th class=\"n\">time</th><th class=\"n\">GFLOP/s</th>"
          "<th class=\"n\">GB/s</th></tr></thead><tbody>\n",
          out);
    double rest = total;
    for (int i = 0; i < info.kernels && i < SLOWEST && total > 0; i++) {
        write_kernel(out, plan, &times[i], total, times[0].ns);
        rest -= times[i].ns;
    }
    if (info.kernels > SLOWEST && total > 0)
        fprintf(out, "<tr class=\"total\"><td>%d more</td><td></td><td></td><td class=\"n\">%.1f %%</td><td class=\"n\">%s</td><td></td><td></td></tr>\n",
                info.kernels - SLOWEST, 100 * rest / total, time_text(text, rest));
    fputs("</tbody></table></div>\n", out);
    free(times);
    return true;
}

bool report_plan(FILE *out, const report *r) {
    fputs("<section id=\"plan\"><h2>The training step</h2>\n<p>Forward, backward and update are one plan: kernels in order, with their memory.</p>\n", out);
    bool ok = true;
    if (r->has_trainer) ok = write_memory(out, r->t.steps[1][0].plan);
    if (ok && r->timed) ok = write_times(out, r);
    if (r->untimed) {
        fputs("<div class=\"card\"><p>", out);
        html_print(out, "There are no times: %s.", r->untimed);
        fputs("</p></div>\n", out);
    }
    fputs("</section>\n", out);
    return ok;
}
