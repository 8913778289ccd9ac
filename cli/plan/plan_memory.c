#include "plan_memory.h"

#include "../report/chart.h"
#include "../report/html.h"

enum { WIDTH = 1060, LEFT = 76, RIGHT = 16, LIVE_TOP = 30, LIVE_BOTTOM = 190, MAP_TOP = 224, MAP_BOTTOM = 414 };

void plan_type_text(char *text, size_t size, wick_spec s) {
    size_t n = (size_t)snprintf(text, size, "%s[", wick_dtype_name(s.dtype));
    for (int i = 0; i < s.rank && n < size; i++)
        n += (size_t)snprintf(text + n, size - n, "%s%lld", i ? "," : "", (long long)s.dims[i]);
    if (n < size) snprintf(text + n, size - n, "]");
}

int plan_peak(const wick_plan *plan) {
    const int kernels = wick_plan_get_info(plan).kernels;
    size_t most = 0;
    int peak = 0;
    for (int i = 0; i < kernels; i++) {
        const size_t live = wick_plan_kernel_at(plan, i).live_bytes;
        if (live > most) most = live, peak = i;
    }
    return peak;
}

/* "max_pool f32[128,16,14,14]" */
static void kernel_text(char *text, size_t size, const wick_plan_kernel *k) {
    size_t n = (size_t)snprintf(text, size, "%s ", k->ops);
    if (n < size) plan_type_text(text + n, size - n, k->result);
}

typedef struct memory {
    const wick_plan *plan;
    wick_plan_info info;
    int peak;       /* the first kernel at which live_bytes is largest */
    double unit;    /* of the axes, in bytes */
    const char *unit_name;
    axis x, live, place;
} memory;

static memory memory_of(const wick_plan *plan) {
    memory m = {
        .plan = plan, .info = wick_plan_get_info(plan), .peak = plan_peak(plan), .unit = 1024, .unit_name = NBSP "KiB"};
    if (m.info.arena_bytes >= 1 << 20) m.unit = 1 << 20, m.unit_name = NBSP "MiB";
    double top = (double)m.info.arena_bytes / m.unit;
    m.x = (axis){0, m.info.kernels, 1, LEFT, WIDTH - RIGHT};
    m.live = axis_around(0, top, 5, LIVE_BOTTOM, LIVE_TOP);
    m.place = axis_around(0, top, 5, MAP_BOTTOM, MAP_TOP);
    return m;
}

static void draw_live(FILE *out, const memory *m) {
    axis_draw_y(out, &m->live, LEFT, WIDTH - RIGHT, m->unit_name);
    fprintf(
        out,
        "<text class=\"key\" x=\"%d\" y=\"16\">in use while each kernel runs</text>\n<path class=\"area\" d=\"M%d %d",
        LEFT, LEFT, LIVE_BOTTOM);
    for (int i = 0; i < m->info.kernels; i++)
        fprintf(out, "V%.1fH%.1f", axis_at(&m->live, (double)wick_plan_kernel_at(m->plan, i).live_bytes / m->unit),
                axis_at(&m->x, i + 1));
    fprintf(out, "V%dZ\"/>\n", LIVE_BOTTOM);
    chart_text text;
    double x = axis_at(&m->x, m->peak + 0.5), y = axis_at(&m->live, (double)m->info.live_bytes / m->unit);
    bool right = x > (LEFT + WIDTH) / 2.0;
    fprintf(out, "<path class=\"mark\" d=\"M%.1f %.1fV%d\"/><circle class=\"dot b\" r=\"4\" cx=\"%.1f\" cy=\"%.1f\"/>",
            x, y, MAP_BOTTOM, x, y);
    fprintf(out, "<text class=\"strong%s\" x=\"%.1f\" y=\"%.1f\">peak %s, kernel %d</text>\n", right ? " end" : "",
            x + (right ? -9 : 9), y - 7, text_bytes(text, (double)m->info.live_bytes), m->peak);
}

static void draw_map(FILE *out, const memory *m) {
    axis_draw_y(out, &m->place, LEFT, WIDTH - RIGHT, m->unit_name);
    fprintf(out,
            "<text class=\"key\" x=\"%d\" y=\"%d\">the arena: each intermediate, its place and its life; orange: alive "
            "at the peak</text>\n",
            LEFT, MAP_TOP - 10);
    for (int i = 0; i < m->info.buffers; i++) {
        wick_plan_buffer b = wick_plan_buffer_at(m->plan, i);
        if (!b.bytes) continue;
        double x0 = axis_at(&m->x, b.first), x1 = axis_at(&m->x, b.last + 1),
               bottom = axis_at(&m->place, (double)b.offset / m->unit);
        double top = axis_at(&m->place, (double)(b.offset + b.bytes) / m->unit);
        if (bottom - top < 0.3) continue; /* not to be seen */
        char shape[128];
        chart_text bytes;
        plan_type_text(shape, sizeof shape, b.value);
        fprintf(out, "<rect class=\"slab %s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"><title>",
                b.first <= m->peak && m->peak <= b.last ? "b" : "a", x0, top, x1 - x0, bottom - top);
        html_print(out, "%s, kernels %d to %d\n%s made by %s", text_bytes(bytes, (double)b.bytes), b.first, b.last,
                   shape, wick_plan_kernel_at(m->plan, b.first).ops);
        fputs("</title></rect>\n", out);
    }
    axis ticks = axis_around(0, m->info.kernels, 10, LEFT, WIDTH - RIGHT);
    /* the last kernel is where the chart ends */
    ticks.high = ticks.step * (int)((m->info.kernels + 1e-9) / ticks.step);
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
        fprintf(out, "<rect class=\"hover\" x=\"%.2f\" y=\"%d\" width=\"%.2f\" height=\"%d\"><title>",
                axis_at(&m->x, i), LIVE_TOP, axis_at(&m->x, i + 1) - axis_at(&m->x, i), LIVE_BOTTOM - LIVE_TOP);
        html_print(out, "kernel %d: %s\n%s in use", i, text, text_bytes(bytes, (double)k.live_bytes));
        fputs("</title></rect>\n", out);
    }
}

void plan_memory_draw(FILE *out, const wick_plan *plan, const char *title, bool alone) {
    const memory m = memory_of(plan);
    svg_open(out, WIDTH, MAP_BOTTOM + 42, title,
             "Above, the bytes of intermediates in use while each kernel runs; below, where each intermediate lies in "
             "the arena and for how long.");
    if (alone) {
        fputs("<style>\n", out);
        html_style(out);
        fputs("svg{background:var(--card);font-family:system-ui,sans-serif}\n</style>\n", out);
    }
    draw_live(out, &m);
    draw_map(out, &m);
    draw_hovers(out, &m);
    svg_close(out);
}
