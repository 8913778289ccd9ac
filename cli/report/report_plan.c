/* The plan of the training step: memory while it runs, and where its time goes. */
#include "report.h"

#include "chart.h"
#include "html.h"
#include "../plan/plan_memory.h"
#include "../term/log.h"

#include <stdlib.h>

enum { ALIVE = 8, SLOWEST = 16 };

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static int larger(const void *a, const void *b) {
    const wick_plan_buffer *x = a, *y = b;
    if (x->bytes != y->bytes) return x->bytes < y->bytes ? 1 : -1;
    return (x->offset > y->offset) - (x->offset < y->offset);
}

static bool write_alive(FILE *out, const wick_plan *plan) {
    const wick_plan_info info = wick_plan_get_info(plan);
    const int peak = plan_peak(plan);
    wick_plan_buffer *alive = malloc(((size_t)info.buffers + 1) * sizeof *alive);
    if (!alive) return false;
    int n = 0;
    double rest = 0;
    for (int i = 0; i < info.buffers; i++) {
        wick_plan_buffer b = wick_plan_buffer_at(plan, i);
        if (b.bytes && b.first <= peak && peak <= b.last) alive[n++] = b;
    }
    qsort(alive, (size_t)n, sizeof *alive, larger);
    fputs("<h3 style=\"margin-top:18px\">Alive at the peak</h3><p>u8 of all its bytes is scratch: packed operands, "
          "partial sums, values in another "
          "order.</p><table><thead><tr><th class=\"n\">bytes</th><th></th><th>holds</th><th>made by</th><th "
          "class=\"n\">from kernel</th>"
          "<th class=\"n\">to</th></tr></thead><tbody>\n",
          out);
    chart_text bytes;
    for (int i = 0; i < n; i++) {
        if (i >= ALIVE) {
            rest += (double)alive[i].bytes;
            continue;
        }
        char shape[128], title[64];
        plan_type_text(shape, sizeof shape, alive[i].value);
        fprintf(out, "<tr><td class=\"n\">%s</td><td style=\"width:20%%\">", text_bytes(bytes, (double)alive[i].bytes));
        snprintf(title, sizeof title, "%.1f" NBSP "%% of the peak",
                 100 * (double)alive[i].bytes / (double)info.live_bytes);
        chart_bar(out, (double)alive[i].bytes / (double)info.live_bytes, "b", title);
        fputs("</td><td><code>", out);
        html_text(out, shape);
        fputs("</code></td><td><code>", out);
        const wick_plan_kernel maker = wick_plan_kernel_at(plan, alive[i].first);
        html_text(out, maker.ops);
        fputs("</code> <small>", out);
        html_text(out, maker.name);
        fprintf(out, "</small></td><td class=\"n\">%d</td><td class=\"n\">%d</td></tr>\n", alive[i].first,
                alive[i].last);
    }
    if (n > ALIVE)
        fprintf(
            out,
            "<tr class=\"total\"><td class=\"n\">%s</td><td></td><td>%d more</td><td></td><td></td><td></td></tr>\n",
            text_bytes(bytes, rest), n - ALIVE);
    fputs("</tbody></table>\n", out);
    free(alive);
    return true;
}

static bool write_memory(FILE *out, const wick_plan *plan) {
    const wick_plan_info info = wick_plan_get_info(plan);
    if (info.arena_bytes == 0) return true;
    double apart = 0; /* bytes, if no two intermediates shared any */
    for (int i = 0; i < info.buffers; i++) apart += (double)wick_plan_buffer_at(plan, i).bytes;
    chart_text peak, arena, unshared, scratch, sum;
    fputs("<details class=\"card wide\" id=\"memory\"><summary>Memory over time</summary><p>", out);
    html_print(out,
               "At the peak %s of intermediates are alive; their arena has %s, known before the step first runs, where "
               "without sharing it would be %s. ",
               text_bytes(peak, (double)info.live_bytes), text_bytes(arena, (double)info.arena_bytes),
               text_bytes(unshared, apart));
    html_print(out, "With %s of scratch, for the threads, that is the %s above.",
               text_bytes(scratch, (double)info.scratch_bytes),
               text_bytes(sum, (double)(info.arena_bytes + info.scratch_bytes)));
    fputs("</p>\n", out);
    plan_memory_draw(out, plan, "Memory of the training step over time", false);
    const bool ok = write_alive(out, plan);
    fputs("</details>\n", out);
    return ok;
}

/* ---- time -------------------------------------------------------------------------------------------------------- */

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
    snprintf(text, sizeof(chart_text), ns >= 1e6 ? "%.2f" NBSP "ms" : "%.1f" NBSP "\xC2\xB5s",
             ns >= 1e6 ? ns / 1e6 : ns / 1e3);
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
    plan_type_text(shape, sizeof shape, k.result);
    fputs("<tr><td><code>", out);
    html_text(out, k.ops);
    fputs("</code> <small>", out);
    html_text(out, k.name);
    fputs("</small></td><td><small><code>", out);
    html_text(out, shape);
    fprintf(out, "</code></small></td><td style=\"width:20%%\">");
    snprintf(title, sizeof title, "%.1f" NBSP "%% of the step", 100 * t->ns / total);
    chart_bar(out, t->ns / longest, "a", title);
    fprintf(out, "</td><td class=\"n\">%.1f %%</td><td class=\"n\">%s</td>", 100 * t->ns / total,
            time_text(time, t->ns));
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
    fputs("<details class=\"card wide\" id=\"time\"><summary>Time per kernel</summary><p>", out);
    html_print(out,
               "A step of %lld %s%s takes %s in %d kernel%s: %.3g" NBSP "GFLOP at %.3g" NBSP
               "GFLOP/s, %s moved at %.3g" NBSP "GB/s. ",
               (long long)r->t.batch, report_noun(r), plural(r->t.batch), time_text(text, total), info.kernels,
               plural(info.kernels), info.flops / 1e9, total > 0 ? info.flops / total : 0,
               text_bytes(bytes, info.bytes), total > 0 ? info.bytes / total : 0);
    html_print(out, "Times are each kernel's median of %lld steps, on %d thread%s.", (long long)r->timed,
               wick_context_threads(r->ctx), plural(wick_context_threads(r->ctx)));
    wick_loader_stats loading; /* of the evaluation: all samples, once */
    chart_text got, made;
    wick_loader_get_stats(r->e.loader, &loading);
    fputs("</p><p id=\"loading\">", out);
    html_print(out,
               "The loader of the evaluation took %s to read a sample and %s to make numbers of it (p95 %s), in %s of "
               "memory. %s",
               time_text(got, loading.get.mean * 1e9), time_text(made, loading.transform.mean * 1e9),
               time_text(text, loading.transform.p95 * 1e9), text_bytes(bytes, (double)loading.memory_peak),
               loading.advice);
    fputs("</p><table><thead><tr><th>ops</th><th>result</th><th></th><th class=\"n\">share</th><th "
          "class=\"n\">time</th><th class=\"n\">GFLOP/s</th>"
          "<th class=\"n\">GB/s</th></tr></thead><tbody>\n",
          out);
    double rest = total;
    for (int i = 0; i < info.kernels && i < SLOWEST && total > 0; i++) {
        write_kernel(out, plan, &times[i], total, times[0].ns);
        rest -= times[i].ns;
    }
    if (info.kernels > SLOWEST && total > 0)
        fprintf(out,
                "<tr class=\"total\"><td>%d more</td><td></td><td></td><td class=\"n\">%.1f %%</td><td "
                "class=\"n\">%s</td><td></td><td></td></tr>\n",
                info.kernels - SLOWEST, 100 * rest / total, time_text(text, rest));
    fputs("</tbody></table></details>\n", out);
    free(times);
    return true;
}

bool report_plan(FILE *out, const report *r) {
    fputs("<section id=\"plan\"><h2>The training step</h2>\n<p>Forward, backward and update are one plan: kernels in "
          "order, with their memory.</p>\n",
          out);
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
