#include "progress.h"

#include "../term/log.h"

#include <math.h>
#include <string.h>

void progress_setup(progress *p, bool quiet, int64_t samples_done, double seconds_done) {
    double now = now_seconds();
    *p = (progress){
        .on = !quiet,
        .live = log_live(stderr),
        .color = log_color(stderr),
        .printed = now,
        .mark_seconds = seconds_done,
        .mark_samples = samples_done,
    };
}

void format_duration(char *text, int size, double seconds) {
    int64_t s = seconds > 0 && seconds < 1e12 ? (int64_t)(seconds + 0.5) : 0;
    if (s >= 3600)
        snprintf(text, (size_t)size, "%d:%02d:%02d", (int)(s / 3600), (int)(s / 60 % 60), (int)(s % 60));
    else
        snprintf(text, (size_t)size, "%d:%02d", (int)(s / 60), (int)(s % 60));
}

/* Speed of the steps since the last line, mixed with what was known, so that it is a mean of about MEAN_SECONDS and the
 * time left stays calm. */
static void measure(progress *p, const progress_view *view) {
    enum { MEAN_SECONDS = 5 };
    double seconds = view->seconds - p->mark_seconds;
    if (!(seconds > 0)) return;
    double rate = (double)(view->samples - p->mark_samples) / seconds, weight = seconds / (seconds + MEAN_SECONDS);
    p->rate = p->rate > 0 ? (1 - weight) * p->rate + weight * rate : rate;
    p->mark_seconds = view->seconds;
    p->mark_samples = view->samples;
}

/* How long a line may be: less than the width, since after the last column some terminals wrap. */
static size_t columns(void) {
    int width = log_columns(stderr);
    return width > 1 ? (size_t)width - 1 : 79;
}

/* The words in full; fewer; and the numbers that speak for themselves. */
enum { FORMS = 3 };
static size_t write_line(char *line, size_t size, int form, const progress_view *v, double rate) {
    char left[32], epoch[64], step[64];
    double percent = v->accuracy * 100;
    format_duration(left, sizeof left, (double)(v->total - v->samples) / rate);
    snprintf(epoch, sizeof epoch, "%lld/%lld", (long long)v->epoch, (long long)v->epochs);
    snprintf(step, sizeof step, "%lld/%lld", (long long)v->step, (long long)v->steps);
    if (isnan(v->accuracy)) /* no sample is right or wrong */
        return (size_t)(form == 0 ? snprintf(line, size, "epoch %s  step %s  loss %.4f  %.0f samples/s  %s left", epoch,
                                             step, v->loss, rate, left)
                                  : snprintf(line, size, "%s %s %.4f %s", epoch, step, v->loss, left));
    int n = form == 0 ? snprintf(line, size, "epoch %s  step %s  loss %.4f  accuracy %.2f %%  %.0f samples/s  %s left",
                                 epoch, step, v->loss, percent, rate, left)
            : form == 1 ? snprintf(line, size, "%s  step %s  loss %.4f  %.2f %%  %.0f/s  %s left", epoch, step, v->loss,
                                   percent, rate, left)
                        : snprintf(line, size, "%s %s %.4f %.1f %% %s", epoch, step, v->loss, percent, left);
    return (size_t)n;
}

void progress_step(progress *p, const progress_view *view) {
    if (!p->on) return;
    double now = now_seconds(), since = now - p->printed;
    int tenth = view->epoch_size > 0 ? (int)(view->epoch_samples * 10 / view->epoch_size) : 0;
    bool due = p->live ? since >= 0.1 : since >= 10 || (since >= 1 && tenth != p->tenth);
    if (!due) return;
    measure(p, view);
    p->printed = now;
    p->tenth = tenth;

    char line[256];
    size_t most = p->live ? columns() : sizeof line;
    if (p->width != most) p->form = 0;
    p->width = most;
    while (write_line(line, sizeof line, p->form, view, p->rate) > most && p->form < FORMS - 1) p->form++;
    if (!p->live) {
        fprintf(stderr, "%s\n", line);
        return;
    }
    /* A line that wraps can't be taken back by \r, so it is cut. */
    if (strlen(line) > most) line[most] = '\0';
    fprintf(stderr, p->color ? "\r\x1b[2K\x1b[36m%s\x1b[0m" : "\r\x1b[2K%s", line);
    fflush(stderr);
    p->shown = true;
}

void progress_clear(progress *p) {
    if (!p->shown) return;
    fputs("\r\x1b[2K", stderr);
    p->shown = false;
}
