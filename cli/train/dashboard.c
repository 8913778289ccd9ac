#include "dashboard.h"

#include "../interrupt.h"
#include "../term/log.h"
#include "../term/utf8.h"

#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define ENTER  "\x1b[?1049h\x1b[?25l\x1b[2J" /* the other screen, no cursor, cleared */
#define LEAVE  "\x1b[0m\x1b[?25h\x1b[?1049l"
#define FRAMES 0.1 /* seconds between them, at least */

enum { LEAST_COLUMNS = 40, LEAST_ROWS = 12, MOST_COLUMNS = 240, MOST_ROWS = 100 };

/* ---- the terminal ------------------------------------------------------------------------------------------------ */

/* Signals that end or stop the process: the terminal is given back first. All calls here are async-signal-safe. */
static const int deadly[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGQUIT, SIGTSTP};
static volatile sig_atomic_t come_back; /* stopped, and continued since: the screen is to be taken again */

static void on_end(int number) {
    const ssize_t ignored = write(STDERR_FILENO, LEAVE, sizeof LEAVE - 1);
    (void)ignored;
    raise(number); /* the handler is gone: what the signal does by itself */
    if (number != SIGTSTP) return;
    struct sigaction again = {.sa_handler = on_end, .sa_flags = (int)(SA_RESETHAND | SA_NODEFER) | SA_RESTART};
    sigaction(SIGTSTP, &again, NULL);
    come_back = 1;
}

static void watch(bool on) {
    struct sigaction mine = {.sa_handler = on_end, .sa_flags = (int)(SA_RESETHAND | SA_NODEFER) | SA_RESTART},
                     system = {.sa_handler = SIG_DFL}, before;
    for (size_t i = 0; i < sizeof deadly / sizeof *deadly; i++) {
        if (sigaction(deadly[i], NULL, &before) != 0) continue;
        if (on && before.sa_handler == SIG_DFL) sigaction(deadly[i], &mine, NULL);
        if (!on && before.sa_handler == on_end) sigaction(deadly[i], &system, NULL);
    }
    interrupt_last_words(on ? LEAVE : NULL);
}

static bool measure(dashboard *d) {
    struct winsize size;
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0) return false;
    d->columns = size.ws_col < MOST_COLUMNS ? size.ws_col : MOST_COLUMNS;
    d->rows = size.ws_row < MOST_ROWS ? size.ws_row : MOST_ROWS;
    return d->columns >= LEAST_COLUMNS && d->rows >= LEAST_ROWS;
}

static bool speaks_utf8(void) {
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *value = getenv(names[i]);
        if (value && *value) return strstr(value, "UTF-8") || strstr(value, "utf8") || strstr(value, "utf-8");
    }
    return false;
}

/* ---- a frame ----------------------------------------------------------------------------------------------------- */

typedef struct frame {
    char *text;
    size_t length;
    FILE *out;
    int row, columns, rows;
} frame;

/* The text of one row, cut to the columns: what follows it there goes. Hidden characters become "?". */
static void put_row(frame *f, const char *style, const char *text) {
    if (f->row >= f->rows) return;
    fprintf(f->out, "\x1b[%d;1H%s", ++f->row, style);
    int columns = 0;
    for (const unsigned char *s = (const unsigned char *)text; *s && columns < f->columns - 1; columns++) {
        const int found = utf8_length(s), n = found ? found : 1;
        if (utf8_hidden(s, found) || *s == '\t')
            fputc('?', f->out);
        else
            fwrite(s, 1, (size_t)n, f->out);
        s += n;
    }
    fprintf(f->out, "%s\x1b[K", *style ? "\x1b[0m" : "");
}
WICK_PRINTF(3, 4) static void put_text(frame *f, const char *style, const char *format, ...) {
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    put_row(f, style, text);
}

/* ---- curves ------------------------------------------------------------------------------------------------------ */

static void curve_add(dashboard_curve *c, double value) {
    if (isnan(value)) return;
    if (!c->stride) c->stride = 1;
    if (c->n == DASHBOARD_POINTS) {
        for (int i = 0; i < DASHBOARD_POINTS / 2; i++) c->at[i] = (c->at[2 * i] + c->at[2 * i + 1]) / 2;
        c->n /= 2;
        c->stride *= 2;
    }
    c->sum += value;
    if (++c->in_last < c->stride) return;
    c->at[c->n++] = c->sum / (double)c->stride;
    c->sum = 0;
    c->in_last = 0;
}

/* Cells of 2 x 4 dots, as braille has them; without UTF-8 a cell with any dot is a star. */
typedef struct canvas {
    int width, height; /* cells */
    unsigned char dots[MOST_COLUMNS * MOST_ROWS];
} canvas;

static void dot(canvas *c, int x, int y) {
    static const unsigned char bits[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
    if (x >= 0 && y >= 0 && x < 2 * c->width && y < 4 * c->height)
        c->dots[y / 4 * c->width + x / 2] |= bits[y % 4][x % 2];
}

/* The curve over the whole width: column x has the mean of the points there. Dots between neighbours are filled up. */
static void draw_curve(canvas *c, const dashboard_curve *curve, double low, double high) {
    const int across = 2 * c->width, down = 4 * c->height;
    int before = -1;
    for (int x = 0; x < across && curve->n; x++) {
        const double at = curve->n > 1 ? (double)x * (curve->n - 1) / (across - 1) : 0;
        const int i = (int)at, k = i + 1 < curve->n ? i + 1 : i;
        const double value = curve->at[i] + (at - i) * (curve->at[k] - curve->at[i]);
        if (!isfinite(value)) continue;
        const int y = high > low ? (int)((high - value) / (high - low) * (down - 1) + 0.5) : down / 2;
        const int step = before < 0 || before == y ? 0 : before < y ? 1 : -1;
        for (int k2 = before; step && k2 != y; k2 += step) dot(c, x, k2);
        dot(c, x, y);
        before = y;
    }
}

static void range_of(const dashboard_curve *c, double *low, double *high) {
    *low = INFINITY, *high = -INFINITY;
    for (int i = 0; i < c->n; i++)
        if (isfinite(c->at[i])) *low = fmin(*low, c->at[i]), *high = fmax(*high, c->at[i]);
}

static void write_cell(char **at, const canvas *c, int row, int column, bool utf8) {
    const unsigned char bits = c->dots[row * c->width + column];
    if (!bits || !utf8) {
        *(*at)++ = bits ? '*' : ' ';
        return;
    }
    *(*at)++ = (char)0xE2; /* U+2800 + bits */
    *(*at)++ = (char)(0xA0 + (bits >> 6));
    *(*at)++ = (char)(0x80 + (bits & 0x3F));
}

/* Both curves side by side, each below its name and with its range at the left. */
static void put_curves(frame *f, const dashboard *d, int height) {
    enum { MARGIN = 9 };
    const dashboard_curve *curves[] = {&d->loss, &d->judged};
    const char *const names[] = {"loss", d->score};
    const int n = d->judged.n ? 2 : 1, width = (f->columns - 1) / n - MARGIN - 1;
    static canvas canvases[2];
    double low[2], high[2];
    char line[8 * MOST_COLUMNS], *at = line;
    if (width < 4 || height < 2) return;
    for (int i = 0; i < n; i++) {
        canvases[i] = (canvas){.width = width, .height = height - 1};
        range_of(curves[i], &low[i], &high[i]);
        draw_curve(&canvases[i], curves[i], low[i], high[i]);
        at += snprintf(at, (size_t)(line + sizeof line - at), "%*s%-*.*s ", MARGIN, "", width, width, names[i]);
    }
    put_row(f, d->colour ? "\x1b[1m" : "", line);
    for (int row = 0; row < height - 1; row++) {
        at = line;
        for (int i = 0; i < n; i++) {
            const bool top = row == 0, bottom = row == height - 2;
            if (isfinite(low[i]) && (top || bottom))
                at += snprintf(at, 32, "%*.4g ", MARGIN - 1, top ? high[i] : low[i]);
            else
                at += snprintf(at, 32, "%*s", MARGIN, "");
            for (int x = 0; x < width; x++) write_cell(&at, &canvases[i], row, x, d->utf8);
            *at++ = ' ';
        }
        *at = '\0';
        put_row(f, d->colour ? "\x1b[36m" : "", line);
    }
}

/* ---- what is shown ----------------------------------------------------------------------------------------------- */

static void put_bar(frame *f, const dashboard *d, const progress_view *v, double rate) {
    const double part = v->total > 0 ? fmin((double)v->samples / (double)v->total, 1) : 0;
    char left[32] = "?", bar[MOST_COLUMNS + 1];
    if (rate > 0) format_duration(left, sizeof left, (double)(v->total - v->samples) / rate);
    const int width = f->columns - 28 > 4 ? f->columns - 28 : 4, full = (int)(part * width);
    memset(bar, '.', sizeof bar);
    memset(bar, '#', (size_t)full);
    bar[width] = '\0';
    put_text(f, d->colour ? "\x1b[32m" : "", "[%s] %3.0f %%  %s left", bar, 100 * part, left);
}

static void draw(dashboard *d, const progress_view *v, double loss, wick_monitor *monitor, const wick_loader *loader) {
    frame f = {.columns = d->columns, .rows = d->rows};
    wick_monitor_stats m;
    wick_loader_stats l;
    wick_monitor_get_stats(monitor, &m);
    wick_loader_get_stats(loader, &l);
    f.out = open_memstream(&f.text, &f.length);
    if (!f.out) return;
    put_text(&f, d->colour ? "\x1b[1m" : "", "%s   epoch %lld/%lld   step %lld/%lld", d->title, (long long)v->epoch,
             (long long)v->epochs, (long long)v->step, (long long)v->steps);
    put_bar(&f, d, v, m.samples_per_second);
    put_curves(&f, d, d->rows - 2 - 5 - DASHBOARD_LINES);
    char accuracy[48] = "";
    if (!isnan(v->accuracy)) snprintf(accuracy, sizeof accuracy, "   accuracy %.2f %%", 100 * v->accuracy);
    put_text(&f, "", "loss        %.5g, mean of the epoch %.5g%s   rate %.3g", loss, v->loss, accuracy, d->lr);
    put_text(&f, "", "throughput  %.0f samples/s   step %.3g ms, p95 %.3g ms", m.samples_per_second,
             1e3 * m.latency.median, 1e3 * m.latency.p95);
    put_text(&f, "", "memory      %.4g MB, at most %.4g MB   CPUs %.2f, %d thread%s", (double)m.memory * 1e-6,
             (double)m.memory_peak * 1e-6, m.cpu, d->threads, plural(d->threads));
    put_text(&f, "", "queue       %.1f of %d batches ready, %d worker%s   waiting for data %.0f %%", l.full, l.prefetch,
             l.workers, plural(l.workers), 100 * l.waiting);
    put_row(&f, "", "");
    const int first = d->said > DASHBOARD_LINES ? d->said - DASHBOARD_LINES : 0;
    for (int i = first; i < d->said; i++) put_row(&f, d->colour ? "\x1b[2m" : "", d->lines[i % DASHBOARD_LINES]);
    while (f.row < f.rows) put_row(&f, "", "");
    fclose(f.out);
    fflush(stderr);
    for (size_t done = 0; f.text && done < f.length;) {
        const ssize_t n = write(STDERR_FILENO, f.text + done, f.length - done);
        if (n <= 0) break; /* a terminal that is gone: the training goes on */
        done += (size_t)n;
    }
    free(f.text);
}

/* ---- the calls --------------------------------------------------------------------------------------------------- */

static void say(void *user, const char *line) {
    dashboard *d = user;
    snprintf(d->lines[d->said++ % DASHBOARD_LINES], DASHBOARD_LINE, "%s", line);
}
static void give_way(void *user) { dashboard_close(user); }

bool dashboard_open(dashboard *d, const char *title, const char *score, int threads) {
    *d = (dashboard){.title = title, .score = score, .threads = threads, .colour = log_color(stderr)};
    if (!log_live(stderr)) {
        log_note("--dashboard: standard error is no terminal, so there are lines instead");
        return false;
    }
    if (!measure(d)) {
        log_note("--dashboard: the terminal is smaller than %d x %d, so there is a line instead", LEAST_COLUMNS,
                 LEAST_ROWS);
        return false;
    }
    d->utf8 = speaks_utf8();
    d->on = true;
    watch(true);
    fputs(ENTER, stderr);
    fflush(stderr);
    log_divert(say, give_way, d);
    return true;
}

void dashboard_step(dashboard *d, const progress_view *v, double loss, double lr, wick_monitor *monitor,
                    const wick_loader *loader) {
    if (!d->on) return;
    const double now = now_seconds();
    curve_add(&d->loss, loss);
    d->lr = lr;
    if (now - d->drawn < FRAMES) return;
    d->drawn = now;
    const int columns = d->columns, rows = d->rows;
    if (!measure(d)) return; /* nothing is drawn while the terminal is too small */
    if (come_back || columns != d->columns || rows != d->rows) {
        come_back = 0;
        fputs(ENTER, stderr);
    }
    draw(d, v, loss, monitor, loader);
}

void dashboard_epoch(dashboard *d, double score) { curve_add(&d->judged, score); }

void dashboard_close(dashboard *d) {
    if (!d->on) return;
    d->on = false;
    log_divert(NULL, NULL, NULL);
    fputs(LEAVE, stderr);
    fflush(stderr);
    watch(false);
    for (int i = d->said > DASHBOARD_LINES ? d->said - DASHBOARD_LINES : 0; i < d->said; i++)
        log_note("%s", d->lines[i % DASHBOARD_LINES]);
}
