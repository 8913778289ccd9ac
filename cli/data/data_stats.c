/* wick data stats and verify: every one of a set is read and decoded: how many of each class, how large, mean and
 * deviation of each channel, and what is broken. */
#include "data.h"
#include "../term/picture.h"
#include "../term/facts.h"
#include "../term/log.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BROKEN_SHOWN = 100, BAR_WIDTH = 30 };

typedef struct broken {
    int64_t index;
    char *name, *why;
} broken;

/* Sums of whole numbers are exact, whatever the order: of 8-bit values, and their squares. */
typedef struct survey {
    int64_t count, pictures, recordings, arrays, others, unlabelled;
    int64_t *classes;
    uint64_t bytes, smallest, largest;
    int64_t low[2], high[2]; /* height, width of pictures */
    uint64_t sum[3], squares[3], pixels;
    bool color;
    double seconds, shortest, longest;
    int64_t rate, rates; /* the first, and how often another one comes */
    int64_t n_broken;
    broken broken[BROKEN_SHOWN];
} survey;

static void add_pixels(survey *s, const uint8_t *p, int64_t channels, int64_t n) {
    s->pixels += (uint64_t)n;
    s->color |= channels == 3;
    for (int c = 0; c < 3; c++) {
        const uint8_t *plane = p + (channels == 3 ? c * n : 0);
        for (int64_t i = 0; i < n;) {
            uint32_t sum = 0, squares = 0;
            /* 255^2 2^16 < 2^32 */
            for (const int64_t end = i + 65536 < n ? i + 65536 : n; i < end; i++)
                sum += plane[i], squares += (uint32_t)plane[i] * plane[i];
            s->sum[c] += sum;
            s->squares[c] += squares;
        }
    }
}

static void add_size(survey *s, const int64_t size[2]) {
    for (int k = 0; k < 2; k++) {
        if (!s->pictures || size[k] < s->low[k]) s->low[k] = size[k];
        if (size[k] > s->high[k]) s->high[k] = size[k];
    }
    s->pictures++;
}

static wick_status look(data_job *d, survey *s, const wick_file *file) {
    const char *what = data_what(d, file);
    wick_status status = WICK_OK;
    if (!strcmp(what, "picture")) {
        wick_image *image;
        status = wick_image_decode(d->ctx, file->data, file->size, file->name, 0, &image);
        if (status != WICK_OK) return status;
        const int64_t *dims = wick_image_dims(image);
        add_size(s, dims + 1);
        add_pixels(s, wick_image_pixels(image, 0), dims[0], dims[1] * dims[2]);
        wick_image_free(&image);
    } else if (!strcmp(what, "recording")) {
        wick_audio *audio;
        status = wick_audio_decode(d->ctx, file->data, file->size, file->name, 0, &audio);
        if (status != WICK_OK) return status;
        const double seconds = (double)wick_audio_length(audio) / (double)wick_audio_rate(audio);
        if (!s->recordings) s->shortest = seconds, s->rate = wick_audio_rate(audio);
        s->shortest = fmin(s->shortest, seconds);
        s->longest = fmax(s->longest, seconds);
        s->seconds += seconds;
        s->rates += wick_audio_rate(audio) != s->rate;
        s->recordings++;
        wick_audio_free(&audio);
    } else if (!strcmp(what, "array")) {
        int64_t shape[3];
        s->arrays++;
        if (data_is_picture(wick_files_array(d->f), shape)) add_pixels(s, file->data, shape[0], shape[1] * shape[2]);
    } else s->others++;
    return status;
}

static void note(data_job *d, survey *s, int64_t i, const char *name, wick_status status) {
    if (s->n_broken++ >= BROKEN_SHOWN) return;
    broken *b = &s->broken[s->n_broken - 1];
    b->index = i;
    b->name = strdup(name);
    b->why = strdup(log_why(d->ctx, status));
}

/* An exit code: CLI_OK also where some are broken. */
static int read_all(data_job *d, survey *s) {
    const int64_t n = wick_files_count(d->f);
    s->classes = calloc((size_t)wick_files_classes(d->f) + 1, sizeof *s->classes);
    if (!s->classes) return log_fail(CLI_FAILED, "out of memory");
    bool more = true;
    for (int64_t i = 0; more; i++) {
        wick_file file;
        wick_status status = wick_files_next(d->f, &file, &more);
        if (status == WICK_OK && !more) break;
        if (status == WICK_OK) {
            if (file.label >= 0 && file.label < wick_files_classes(d->f)) s->classes[file.label]++;
            else s->unlabelled++;
            s->bytes += file.size;
            if (!s->count || file.size < s->smallest) s->smallest = file.size;
            if (file.size > s->largest) s->largest = file.size;
            status = look(d, s, &file);
        }
        s->count++;
        /* no fault of the file's */
        if (status == WICK_ERR_NOMEM || status == WICK_ERR_UNSUPPORTED) return data_failed(d, status, CLI_FAILED);
        if (status != WICK_OK) note(d, s, i, file.name, status);
        data_progress(d, "reading", i + 1, n);
    }
    data_progress_end(d);
    return CLI_OK;
}

static void release(survey *s) {
    for (int64_t i = 0; i < s->n_broken && i < BROKEN_SHOWN; i++) free(s->broken[i].name), free(s->broken[i].why);
    free(s->classes);
}

static void tell_broken(data_job *d, json *j, const survey *s) {
    const bool as_json = d->o->json;
    if (as_json) json_integer(j, "n_broken", s->n_broken), json_open(j, "broken", '[');
    for (int64_t i = 0; i < s->n_broken && i < BROKEN_SHOWN; i++) {
        const broken *b = &s->broken[i];
        if (as_json) {
            json_open(j, NULL, '{');
            json_integer(j, "index", b->index);
            json_text(j, "name", b->name);
            json_text(j, "why", b->why);
            json_close(j, '}');
        } else
            log_print("broken: #%lld %s%s%s\n", (long long)b->index, b->name ? b->name : "",
                      b->name && *b->name ? ": " : "", b->why ? b->why : "");
    }
    if (as_json) json_close(j, ']');
    else if (s->n_broken > BROKEN_SHOWN) printf("and %lld more\n", (long long)s->n_broken - BROKEN_SHOWN);
}

static void tell_tail(const data_job *d) {
    const wick_records *r = wick_files_records(d->f);
    if (r && wick_records_tail(r)) log_note("%s: %s", wick_files_path(d->f), wick_records_tail_reason(r));
}

int data_verify(data_job *d) {
    survey s = {0};
    int code = read_all(d, &s);
    const wick_records *r = wick_files_records(d->f);
    const bool salvaged = d->o->of_data.salvage && r && wick_records_tail(r);
    if (code == CLI_OK) {
        code = s.n_broken ? CLI_BAD_FILE : CLI_OK;
        tell_tail(d);
        json j = {0};
        if (d->o->json) {
            j = log_json_open();
            data_json_ok(d, &j, s.n_broken, s.count);
            json_text(&j, "form", wick_files_form(d->f));
            json_integer(&j, "count", s.count);
            json_integer(&j, "tail", r ? (int64_t)wick_records_tail(r) : 0);
        }
        tell_broken(d, &j, &s);
        if (d->o->json) log_json_close(&j);
        else if (!s.n_broken)
            log_print("%s: all %lld are sound%s\n", wick_files_path(d->f), (long long)s.count,
                      salvaged ? ", of what could be salvaged" : "");
        else
            log_print("%s: %lld of %lld are broken\n", wick_files_path(d->f), (long long)s.n_broken,
                      (long long)s.count);
    }
    release(&s);
    return code;
}

static void tell_channels(facts *t, const survey *s) {
    char text[160];
    if (!s->pixels) return;
    const int n = s->color ? 3 : 1;
    double mean[3], deviation[3];
    for (int c = 0; c < n; c++) {
        mean[c] = (double)s->sum[c] / (double)s->pixels;
        deviation[c] = sqrt(fmax(0, (double)s->squares[c] / (double)s->pixels - mean[c] * mean[c])) / 255;
        mean[c] /= 255;
    }
    for (int k = 0; k < 2; k++) {
        const double *v = k ? deviation : mean;
        if (t->as_json) {
            json_open(&t->j, k ? "std" : "mean", '[');
            for (int c = 0; c < n; c++) json_real(&t->j, NULL, v[c], 9);
            json_close(&t->j, ']');
        } else {
            int at = snprintf(text, sizeof text, "%.4f", v[0]);
            for (int c = 1; c < n; c++) at += snprintf(text + at, sizeof text - (size_t)at, ", %.4f", v[c]);
            snprintf(text + at, sizeof text - (size_t)at, k ? " (of pixels from 0 to 1)" : "");
            facts_text(t, k ? "std" : "mean", NULL, text);
        }
    }
}

static void tell_classes(data_job *d, facts *t, const survey *s) {
    const int64_t n = wick_files_classes(d->f);
    int64_t most = 1;
    for (int64_t k = 0; k < n; k++) most = s->classes[k] > most ? s->classes[k] : most;
    if (t->as_json) json_open(&t->j, "classes", '[');
    else if (n) printf("\n");
    for (int64_t k = 0; k < n; k++) {
        if (t->as_json) {
            json_open(&t->j, NULL, '{');
            json_text(&t->j, "name", wick_files_class(d->f, k));
            json_integer(&t->j, "count", s->classes[k]);
            json_close(&t->j, '}');
        } else {
            log_print("%16s %8lld  ", wick_files_class(d->f, k), (long long)s->classes[k]);
            picture_bar(stdout, (double)s->classes[k] / (double)most, BAR_WIDTH, log_color(stdout));
            printf("\n");
        }
    }
    if (t->as_json) json_close(&t->j, ']'), json_integer(&t->j, "unlabelled", s->unlabelled);
    else if (n && s->unlabelled) printf("%16s %8lld\n", "(none)", (long long)s->unlabelled);
}

int data_stats(data_job *d) {
    survey s = {0};
    facts t;
    char text[160], a[32], b[32], c[32];
    int code = read_all(d, &s);
    if (code != CLI_OK) return release(&s), code;
    code = s.n_broken ? CLI_BAD_FILE : CLI_OK;
    if (d->o->json) {
        t = (facts){.as_json = true, .j = log_json_open()};
        data_json_ok(d, &t.j, s.n_broken, s.count);
    } else {
        facts_open(&t, false);
        log_print("%s\n", wick_files_path(d->f));
    }
    snprintf(text, sizeof text, "%lld", (long long)s.count);
    facts_integer(&t, "count", NULL, s.count, text);
    snprintf(text, sizeof text, "%s, each %s to %s", format_bytes(a, s.bytes), format_bytes(b, s.smallest),
             format_bytes(c, s.largest));
    facts_integer(&t, "bytes", NULL, (int64_t)s.bytes, text);
    if (s.pictures) {
        snprintf(text, sizeof text, "%lld", (long long)s.pictures);
        facts_integer(&t, "pictures", NULL, s.pictures, text);
        for (int k = 0; k < 2; k++) {
            snprintf(text, sizeof text, s.low[k] == s.high[k] ? "%lld" : "%lld to %lld", (long long)s.low[k],
                     (long long)s.high[k]);
            if (d->o->json) {
                json_open(&t.j, k ? "width" : "height", '[');
                json_integer(&t.j, NULL, s.low[k]);
                json_integer(&t.j, NULL, s.high[k]);
                json_close(&t.j, ']');
            } else facts_text(&t, k ? "width" : "height", NULL, text);
        }
    }
    tell_channels(&t, &s);
    if (s.recordings) {
        snprintf(text, sizeof text, "%lld, %.2f to %.2f s each, %.1f s together", (long long)s.recordings, s.shortest,
                 s.longest, s.seconds);
        facts_integer(&t, "recordings", NULL, s.recordings, text);
        if (d->o->json) {
            json_real(&t.j, "seconds", s.seconds, 9);
            json_real(&t.j, "shortest", s.shortest, 9);
            json_real(&t.j, "longest", s.longest, 9);
        }
        snprintf(text, sizeof text, s.rates ? "%lld Hz, %lld of another" : "%lld Hz", (long long)s.rate,
                 (long long)s.rates);
        facts_integer(&t, "rate", NULL, s.rate, text);
    }
    tell_classes(d, &t, &s);
    tell_broken(d, &t.j, &s);
    facts_close(&t);
    tell_tail(d);
    release(&s);
    return code;
}
