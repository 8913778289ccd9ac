/* wick predict: shows samples and what the model says of them: the probability that it gives each class, or what its
 * task learned. */
#include "../file_types.h"
#include "../options.h"
#include "../paths.h"
#include "../term/picture.h"
#include "../step.h"
#include "boxes/box_fit.h"
#include "class_folders.h"
#include "evaluate.h"
#include "predict_shared.h"
#include "source.h"
#include "tasks/embed.h"
#include "tasks/task_draw.h"
#include "../term/log.h"
#include "../context.h"

#include "wick/data.h"
#include "wick/transform.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { BAR_WIDTH = 30, MOST_IMAGES = 100000, FIRST_OF_FILE = 16 /* without --index */ };

static wick_status record(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx;
    const classifier *c = user;
    wick_tensor *y = classifier_predictions(user, in[0]);
    out[0] = c->task->kind == TASK_CLASSIFY ? wick_softmax(y, 1) : y;
    return WICK_OK;
}

/* Reads "3,7,20-24" piece by piece: the next range, or false when the list is over, or wrong where it points. */
static bool next_range(const char **list, int64_t *first, int64_t *last) {
    const char *s = *list;
    char *end;
    if (*s < '0' || *s > '9') return false;
    errno = 0;
    *first = *last = strtoll(s, &end, 10);
    if (*end == '-') {
        s = end + 1;
        if (*s < '0' || *s > '9') return false;
        *last = strtoll(s, &end, 10);
    }
    if (errno || *last < *first || (*end != ',' && *end != '\0') || (*end == ',' && end[1] == '\0')) return false;
    *list = *end ? end + 1 : end;
    return true;
}

typedef struct viewer {
    const cli_options *o;
    classifier *c;
    const wick_dataset *dataset; /* NULL: files */
    const char *split;
    bool drawn; /* images of this shape can be shown */
    int64_t shape[3];
    step step;
    float *x, *probability; /* of other tasks its predictions */
    float *sample;          /* room for one */
    float *target;          /* what they should be, where somebody says */
    uint8_t *mask;          /* room for one */
    uint8_t *fitted;        /* room for a picture with bars beside it */
    const char *url;        /* of the file at hand, where it is another machine's; NULL: it is not */
    char **texts;           /* of the file at hand, as they are written there; NULL: none */
    int64_t n_texts;
    enrolled known; /* --enrolled */
    bool enrolling; /* what is looked at now is what becomes known */
    int64_t *order; /* classes as they are shown */
    dealt *dealt;   /* which of what is looked at this rank shows, and what it has shown */
    json json;      /* held back in memory until the last image: a failure prints another object instead */
    char *text;
    size_t text_size;
} viewer;

static const float *by_probability; /* qsort has no argument for it */
static int likelier(const void *a, const void *b) {
    float p = by_probability[*(const int64_t *)a], q = by_probability[*(const int64_t *)b];
    return (p < q) - (p > q);
}

/* An image to look at. */
typedef struct subject {
    const uint8_t *pixels; /* NULL: `sample` has floats */
    const float *sample;   /* as the network takes it */
    const char *file;      /* NULL: it is of the data set */
    int64_t index, label;  /* label -1: nobody says */
    bool alone;            /* in its file */
    const float *target;   /* of numbers; NULL: nobody says */
    const uint8_t *whole;  /* the picture as its file has it, [channels, height, width]; NULL: `pixels` are that */
    int64_t height, width; /* of whole */
} subject;

static void show(viewer *v, const subject *s, int64_t best, int64_t shown) {
    const char *const *names = v->c->class_names;
    bool color = log_color(stdout);
    if (s->file) log_print("%s", s->file);
    if (!s->alone) printf("%s#%lld", s->file ? " " : "", (long long)s->index);
    if (v->c->text) log_print(" \"%.200s\"", v->c->text);
    if (s->label >= 0)
        log_print(": %s, taken for %s%s\n", names[s->label], names[best], best == s->label ? "" : " (wrong)");
    else
        log_print(": taken for %s\n", names[best]);
    if (v->drawn && s->pixels) picture_print(stdout, s->pixels, v->shape, color);
    for (int64_t i = 0; i < shown; i++) {
        int64_t k = v->order[i];
        log_print("%16s %6.2f %%  ", names[k], 100 * (double)v->probability[k]);
        picture_bar(stdout, (double)v->probability[k], BAR_WIDTH, color);
        fputc('\n', stdout);
    }
    fputc('\n', stdout);
}

static void show_json(viewer *v, const subject *s, int64_t best, int64_t shown) {
    const char *const *names = v->c->class_names;
    json *j = &v->json;
    json_open(j, NULL, '{');
    if (s->file) json_text(j, "file", s->file);
    json_integer(j, "index", s->index);
    if (v->c->text) json_text(j, "text", v->c->text);
    if (s->label >= 0) {
        json_integer(j, "label", s->label);
        json_text(j, "label_name", names[s->label]);
    }
    json_integer(j, "predicted", best);
    json_text(j, "predicted_name", names[best]);
    json_open(j, "probabilities", '{');
    for (int64_t i = 0; i < shown; i++) json_real(j, names[v->order[i]], (double)v->probability[v->order[i]], 7);
    json_close(j, '}');
    json_close(j, '}');
}

/* --draw: files named as the picture's, or by its number. */
static int draw(const viewer *v, const subject *s) {
    const classifier *c = v->c;
    char name[256], number[32] = "";
    const char *file = s->file ? s->file : "", *slash = strrchr(file, '/');
    snprintf(name, sizeof name, "%.200s", slash ? slash + 1 : file);
    char *dot = strrchr(name, '.');
    if (dot && dot > name) *dot = '\0';
    if (!s->alone) snprintf(number, sizeof number, "%s%lld", *name ? "-" : "", (long long)s->index);
    strncat(name, number, sizeof name - strlen(name) - 1);
    char *stem = path_join(v->o->of_predict.draw, name);
    if (!stem) return log_fail(CLI_FAILED, "out of memory");
    const bool pair = c->task->kind == TASK_TRACK && !s->whole; /* the second is drawn */
    const int code = pair ? c->task->draw(c, v->probability, s->pixels + c->pixels / 2, c->dims[1], c->dims[2], stem)
                     : s->whole ? c->task->draw(c, v->probability, s->whole, s->height, s->width, stem)
                                : c->task->draw(c, v->probability, s->pixels, v->shape[1], v->shape[2], stem);
    free(stem);
    return code;
}

/* The picture in the terminal, with what is found in it. */
static int print_picture(const viewer *v, const subject *s) {
    const classifier *c = v->c;
    const bool color = log_color(stdout);
    const int64_t height = v->shape[1], width = v->shape[2], n = height * width;
    if (!c->task->paint) return picture_print(stdout, s->pixels, v->shape, color), CLI_OK;
    uint8_t *rgb = step_buffer(n, 3), *planes = step_buffer(n, 3);
    int code = rgb && planes ? CLI_OK : log_fail(CLI_FAILED, "out of memory");
    if (code == CLI_OK) {
        task_rgb(s->pixels, v->shape[0], height, width, rgb);
        if (!c->task->paint(c, v->probability, color, rgb)) code = CLI_FAILED;
    }
    if (code == CLI_OK) {
        for (int64_t i = 0; i < 3 * n; i++) planes[i % 3 * n + i / 3] = rgb[i];
        picture_print(stdout, planes, (const int64_t[3]){3, height, width}, color);
    }
    free(rgb);
    free(planes);
    return code;
}

/* What other tasks than classes say. */
static int show_task(viewer *v, const subject *s) {
    const classifier *c = v->c;
    if (v->o->json) {
        json *j = &v->json;
        json_open(j, NULL, '{');
        if (s->file) json_text(j, "file", s->file);
        json_integer(j, "index", s->index);
        c->task->show_json(c, v->probability, s->target, s->label, j);
        json_close(j, '}');
        return CLI_OK;
    }
    if (v->o->of_predict.csv) {
        char name[4096];
        snprintf(name, sizeof name,
                 s->alone                    ? "%s"
                 : *(s->file ? s->file : "") ? "%s#%lld"
                                             : "%s%lld",
                 s->file ? s->file : "", (long long)s->index);
        c->task->show_csv(c, v->probability, name);
        return CLI_OK;
    }
    if (s->file) log_print("%s", s->file);
    if (!s->alone) printf("%s#%lld", s->file ? " " : "", (long long)s->index);
    c->task->show(c, v->probability, s->target, s->label);
    return v->drawn && s->pixels ? print_picture(v, s) : CLI_OK;
}

static int look(viewer *v, const subject *s) {
    const classifier *c = v->c;
    double deviation = c->deviation > 0 ? c->deviation : 1;
    for (int64_t i = 0; i < c->pixels; i++)
        v->x[i] = s->sample ? s->sample[i] : (float)((s->pixels[i] / 255.0 - c->mean) / deviation);
    const int fits = classifier_check_samples(c, v->x, 1);
    if (fits != CLI_OK) return fits;
    if (wick_run(v->step.workspace, (const void *[]){v->x}, (void *[]){v->probability}) != WICK_OK)
        return log_fail(CLI_FAILED, "%s", wick_workspace_error(v->step.workspace));
    if (v->enrolling) return CLI_OK;
    if (*v->o->of_predict.draw && s->pixels) {
        const int drawn = draw(v, s);
        if (drawn != CLI_OK) return drawn;
    }
    if (c->task->kind != TASK_CLASSIFY) return show_task(v, s);
    int64_t best = 0;
    for (int64_t k = 0; k < c->classes; k++) {
        v->order[k] = k;
        if (v->probability[k] > v->probability[best]) best = k;
    }
    int64_t shown = v->o->top > 0 && v->o->top < c->classes ? v->o->top : c->classes;
    if (v->o->top > 0) {
        by_probability = v->probability;
        qsort(v->order, (size_t)c->classes, sizeof *v->order, likelier);
    }
    if (v->o->json)
        show_json(v, s, best, shown);
    else
        show(v, s, best, shown);
    return CLI_OK;
}

/* What the sample's text should be, malloc'ed; NULL: nobody says. */
static char *text_of(const viewer *v, const wick_dataset *d, int64_t index) {
    const int64_t n = wick_dataset_field(d, 1)->dims[0];
    int64_t *labels = step_buffer(n, sizeof *labels);
    char *text = NULL;
    if (labels && wick_dataset_get(d, index, (void *[WICK_DATASET_FIELDS]){NULL, labels}, NULL) == WICK_OK)
        text = source_line_text(labels, n, v->c->class_names);
    free(labels);
    return text;
}

static int look_at_sound(viewer *v, const float *samples, int64_t length, const subject *of);

/* Sample `index` of a data set; file: where it is from, NULL: --data. */
static int look_at_index(viewer *v, const wick_dataset *d, const char *file, int64_t index) {
    if (!dealt_mine(v->dealt)) return CLI_OK;
    const int64_t count = wick_dataset_count(d);
    const bool floats = wick_dataset_field(d, 0)->dtype == WICK_F32;
    const wick_spec *second = wick_dataset_field(d, 1);
    const bool boxed = source_is_boxed(d) || source_is_pointed(d);
    if (boxed &&
        (index < 0 || index >= count ||
         wick_dataset_get(d, index, (void *[WICK_DATASET_FIELDS]){NULL, NULL, v->c->picture}, NULL) != WICK_OK))
        v->c->picture[0] = v->c->picture[1] = 0;
    const bool numbers = second && second->dtype == WICK_F32 && index >= 0 && index < count &&
                         wick_dataset_get(d, index, (void *[WICK_DATASET_FIELDS]){NULL, v->target}, NULL) == WICK_OK;
    uint8_t *mask = v->mask; /* its classes as numbers */
    const bool masked = (source_is_masked(d) || source_is_tagged(d)) && index >= 0 && index < count &&
                        wick_dataset_get(d, index, (void *[WICK_DATASET_FIELDS]){NULL, mask}, NULL) == WICK_OK;
    for (int64_t i = 0; masked && i < second->dims[0] * (second->rank > 1 ? second->dims[1] : 1); i++)
        v->target[i] = mask[i];
    const float *sample = floats ? wick_dataset_at(d, index, 0) : NULL;
    wick_fault fault = {0};
    if (floats && !sample && index < count) { /* a window is put together when it is asked for */
        if (wick_dataset_get(d, index, (void *[WICK_DATASET_FIELDS]){v->sample}, &fault) != WICK_OK)
            return log_fail(CLI_BAD_FILE, "%s", fault.text);
        sample = v->sample;
    }
    const subject s = {.pixels = wick_dataset_sample(d, index),
                       .target = numbers || masked ? v->target : NULL,
                       .sample = sample,
                       .file = file,
                       .index = index,
                       .label = wick_dataset_label(d, index)};
    char *text = v->texts && index < v->n_texts && v->texts[index] ? strdup(v->texts[index])
                 : s.sample && source_is_text_coding(v->c->coding) ? source_text_words(v->c->coding, s.sample)
                 : source_is_lined(d) && (s.pixels || s.sample)    ? text_of(v, d, index)
                                                                   : NULL;
    v->c->text = text;
    const int code = s.sample && source_is_audio(d) ? look_at_sound(v, s.sample, wick_dataset_length(d, index, 0), &s)
                     : s.pixels || s.sample         ? look(v, &s)
                                                    : CLI_OK;
    v->c->text = NULL;
    free(text);
    if (s.pixels || s.sample) return code;
    return log_fail(CLI_USAGE, "--index %lld: %s has %s 0 to %lld", (long long)index, file ? file : "the data",
                    floats ? "samples" : "images", (long long)count - 1);
}

/* Rows of a table, or samples of tensors, read as the model's own were. */
static int look_at_rows(viewer *v, const char *file) {
    wick_dataset *d = NULL;
    source_options form;
    const char *split = source_is_divided(v->c->ctx, file) ? v->split : "all";
    int64_t first, last;
    int code = source_read_options(v->o, &form);
    if (code == CLI_OK && !path_exists(file)) code = log_fail(CLI_BAD_FILE, "%s: cannot open: no such file", file);
    form.unlabelled = true;
    if (code == CLI_OK) code = classifier_open_data(v->c, file, &split, true, &form, &d);
    const int64_t count = code == CLI_OK ? wick_dataset_count(d) : 0;
    if (code == CLI_OK && source_is_text_coding(v->c->coding))
        v->texts = source_texts(v->c->ctx, file, v->c->coding, form.separator, &v->n_texts);
    const bool chosen = options_given(v->o, "index");
    char few[32];
    snprintf(few, sizeof few, "0-%lld", (long long)(count < FIRST_OF_FILE ? count : FIRST_OF_FILE) - 1);
    const char *list = chosen ? v->o->of_predict.index : few;
    while (code == CLI_OK && next_range(&list, &first, &last))
        for (int64_t i = first; i <= last && code == CLI_OK; i++) code = look_at_index(v, d, v->url ? v->url : file, i);
    if (code == CLI_OK && !chosen && count > FIRST_OF_FILE)
        log_note("%s has %lld samples; these are the first %d, --index chooses others", file, (long long)count,
                 FIRST_OF_FILE);
    for (int64_t i = 0; v->texts && i < v->n_texts; i++) free(v->texts[i]);
    free(v->texts);
    v->texts = NULL, v->n_texts = 0;
    wick_dataset_free(&d);
    return code;
}

/* Whether it learned from recordings. */
static bool hears(const classifier *c) { return c->rate && c->transform; }

/* A recording at the rate of those that the model learned from. */
static wick_status open_recording(viewer *v, const char *file, wick_audio **out) {
    wick_context *ctx = v->c->ctx;
    wick_audio *other;
    wick_status status = wick_audio_open(ctx, file, 1, out);
    if (status != WICK_OK) return status;
    const int64_t rate = wick_audio_rate(*out);
    if (wick_audio_unmeasured(*out))
        log_note(
            "%s: doesn't say how long it is, as what was written into a pipe: all samples that are there are taken",
            file);
    if (rate == v->c->rate) return WICK_OK;
    log_note("%s: %lld samples a second are resampled to %lld, as the model learned from", file, (long long)rate,
             (long long)v->c->rate);
    status = wick_audio_resample(ctx, *out, v->c->rate, &other);
    wick_audio_free(out);
    *out = status == WICK_OK ? other : NULL;
    return status;
}

/* What the run's --transform makes of a recording, without chance. */
static int look_at_sound(viewer *v, const float *samples, int64_t length, const subject *of) {
    const classifier *c = v->c;
    const char *file = of->file ? of->file : c->data;
    const wick_spec in = {"audio", WICK_F32, 1, {-1}};
    wick_transform *t = NULL;
    wick_fault fault = {0};
    int code = CLI_OK;
    const wick_status status = wick_transform_new(
        c->ctx, c->transform, &(wick_transform_options){.still = true, .rate = (double)c->rate}, &in, &t);
    if (status != WICK_OK) code = log_fail(log_code(status, CLI_BAD_FILE), "%s", log_why(c->ctx, status));
    const size_t scratch = code == CLI_OK ? wick_transform_scratch(t, length) : 0;
    if (code == CLI_OK && !length) code = log_fail(CLI_BAD_FILE, "%s: has no sample", file);
    int64_t count = code == CLI_OK ? wick_transform_rows(t, length) : 0;
    for (int d = 1; code == CLI_OK && d < wick_transform_output(t)->rank; d++)
        count *= wick_transform_output(t)->dims[d];
    void *work = scratch ? aligned_alloc(64, (scratch + 63) / 64 * 64) : NULL;
    float *sample = step_buffer(c->pixels, sizeof *sample);
    if (code == CLI_OK && (!sample || (scratch && !work))) code = log_fail(CLI_FAILED, "out of memory");
    if (code == CLI_OK && count != c->pixels)
        code = log_fail(CLI_BAD_FILE, "%s: becomes %lld numbers, and the model takes %lld", file, (long long)count,
                        (long long)c->pixels);
    if (code == CLI_OK && wick_transform_run(t, 0, 0, 0, samples, length, sample, work, &fault) != WICK_OK)
        code = log_fail(CLI_BAD_FILE, "%s: %s", file, fault.text);
    subject made = *of;
    made.sample = sample;
    if (code == CLI_OK) code = look(v, &made);
    free(sample);
    free(work);
    wick_transform_free(&t);
    return code;
}

static int look_at_recording(viewer *v, const char *file) {
    wick_audio *audio = NULL;
    if (!v->enrolling && !dealt_mine(v->dealt)) return CLI_OK;
    int code = kind_check(file, AS_RECORDING, "a recording, as those that the model learned from");
    if (code != CLI_OK) return code;
    const wick_status status = open_recording(v, file, &audio);
    if (status != WICK_OK) code = log_fail(log_code(status, CLI_BAD_FILE), "%s", log_why(v->c->ctx, status));
    const subject s = {.file = v->url ? v->url : file, .label = -1, .alone = true};
    if (code == CLI_OK) code = look_at_sound(v, wick_audio_samples(audio, 0), wick_audio_length(audio), &s);
    wick_audio_free(&audio);
    return code;
}

/* A picture of another size keeps its shape. */
static int fit_picture(viewer *v, const wick_image *whole, int64_t i, subject *s) {
    const int64_t *d = wick_image_dims(whole);
    const box_fit fit = box_fit_of(true, d[1], d[2], v->shape[1], v->shape[2]);
    const wick_status status = box_fit_picture(v->c->ctx, whole, i, &fit, v->fitted);
    s->pixels = v->fitted;
    return status == WICK_OK ? CLI_OK : log_fail(CLI_FAILED, "%s", log_why(v->c->ctx, status));
}

/* The pictures of a file, made what the model takes: grey or RGB, and of its size. */
static int look_at_file(viewer *v, const char *file) {
    wick_context *ctx = v->c->ctx;
    wick_image *image, *other, *whole = NULL;
    if (!v->enrolling && !dealt_mine(v->dealt)) return CLI_OK;
    int code = kind_check(file, AS_PICTURE, "a picture");
    if (code != CLI_OK) return code;
    wick_status status = wick_image_open(ctx, file, v->shape[0], &image);
    const bool line = v->c->task->kind == TASK_CTC; /* keeps its proportions */
    uint8_t *fitted = line ? step_buffer(v->shape[0] * v->shape[1] * v->shape[2], 1) : NULL;
    if (line && !fitted) code = log_fail(CLI_FAILED, "out of memory");
    if (status == WICK_OK && !line && memcmp(wick_image_dims(image), v->shape, sizeof v->shape) != 0) {
        status = wick_image_resize(ctx, image, v->shape[1], v->shape[2], &other);
        whole = image;
        image = other;
    }
    if (status != WICK_OK) {
        wick_image_free(&whole);
        free(fitted);
        return log_fail(log_code(status, CLI_BAD_FILE), "%s", log_why(ctx, status));
    }
    const int64_t count = wick_image_count(image);
    const bool chosen = options_given(v->o, "index");
    char few[32];
    snprintf(few, sizeof few, "0-%lld", (long long)(count < FIRST_OF_FILE ? count : FIRST_OF_FILE) - 1);
    const char *list = chosen ? v->o->of_predict.index : few;
    int64_t first, last;
    v->c->picture[0] = whole ? wick_image_dims(whole)[1] : 0;
    v->c->picture[1] = whole ? wick_image_dims(whole)[2] : 0;
    while (code == CLI_OK && next_range(&list, &first, &last))
        for (int64_t i = first; i <= last && code == CLI_OK; i++) {
            if (line && i < count) {
                status = source_fit_line(ctx, image, i, v->shape[1], v->shape[2], fitted);
                if (status != WICK_OK) code = log_fail(log_code(status, CLI_BAD_FILE), "%s", log_why(ctx, status));
                if (code != CLI_OK) break;
            }
            subject s = {.pixels = line ? fitted : wick_image_pixels(image, i),
                         .file = v->url ? v->url : file,
                         .index = i,
                         .label = -1,
                         .alone = count == 1,
                         .whole = whole ? wick_image_pixels(whole, i) : NULL,
                         .height = whole ? wick_image_dims(whole)[1] : 0,
                         .width = whole ? wick_image_dims(whole)[2] : 0};
            if (whole && v->c->letterbox && i < count) code = fit_picture(v, whole, i, &s);
            if (code != CLI_OK) break;
            code = i < count ? look(v, &s)
                             : log_fail(CLI_USAGE, "--index %lld: %s has %lld image%s, counted from 0", (long long)i,
                                        file, (long long)count, plural(count));
        }
    wick_image_free(&image);
    wick_image_free(&whole);
    free(fitted);
    if (code == CLI_OK && !chosen && count > FIRST_OF_FILE)
        log_note("%s has %lld images; these are the first %d, --index chooses others", file, (long long)count,
                 FIRST_OF_FILE);
    return code;
}

/* Two files: what is looked for, and where. */
static int look_at_pair(viewer *v, const char *first, const char *second) {
    classifier *c = v->c;
    const size_t bytes = (size_t)(c->pixels / 2);
    wick_image *image = NULL, *fitted = NULL;
    const uint8_t *whole = NULL;
    int code = CLI_OK;
    for (int k = 0; k < 2 && code == CLI_OK; k++) {
        wick_image_free(&image);
        wick_pictures how = wick_context_pictures(c->ctx);
        how.height = how.width = 0;
        wick_context_set_pictures(c->ctx, how);
        wick_status status = wick_image_open(c->ctx, k ? second : first, c->dims[0] / 2, &image);
        if (status == WICK_OK) status = wick_image_resize(c->ctx, image, c->dims[1], c->dims[2], &fitted);
        if (status != WICK_OK) code = log_fail(log_code(status, CLI_BAD_FILE), "%s", log_why(c->ctx, status));
        if (code == CLI_OK) memcpy(v->fitted + (size_t)k * bytes, wick_image_pixels(fitted, 0), bytes);
        wick_image_free(&fitted);
    }
    if (code == CLI_OK) {
        c->picture[0] = wick_image_dims(image)[1], c->picture[1] = wick_image_dims(image)[2];
        whole = wick_image_pixels(image, 0);
        const subject s = {.pixels = v->fitted,
                           .file = second,
                           .label = -1,
                           .alone = true,
                           .whole = whole,
                           .height = c->picture[0],
                           .width = c->picture[1]};
        code = look(v, &s);
    }
    wick_image_free(&image);
    return code;
}

static int check_list(const char *list) {
    int64_t first, last, total = 0;
    const char *s = list;
    while (*s || s == list) {
        if (!next_range(&s, &first, &last))
            return log_fail(CLI_USAGE, "--index '%s' is not a list like 3,7,20-24", list);
        total += last - first < MOST_IMAGES ? last - first + 1 : MOST_IMAGES + 1;
        if (total > MOST_IMAGES)
            return log_fail(CLI_USAGE, "--index '%s' asks for more than %d images", list, MOST_IMAGES);
    }
    return CLI_OK;
}

/* --enrolled: a file, or a folder with one for each identity. */
static int enrol(viewer *v, const char *path) {
    classifier *c = v->c;
    wick_dataset *set = NULL;
    evaluator e = {0};
    evaluation none;
    int code;
    if (!path_is_folder(path)) {
        v->enrolling = true;
        code = hears(c) ? look_at_recording(v, path) : look_at_file(v, path);
        v->enrolling = false;
        if (code != CLI_OK) return code;
        v->known.means = step_buffer(c->classes, sizeof *v->known.means);
        v->known.names = calloc(1, sizeof *v->known.names);
        if (!v->known.means || !v->known.names || !(v->known.names[0] = strdup(path)))
            return log_fail(CLI_FAILED, "out of memory");
        memcpy(v->known.means, v->probability, (size_t)c->classes * sizeof *v->known.means);
        v->known.n = 1;
    } else {
        const char *split = class_folders_are(c->ctx, path) ? "all" : "train";
        code = classifier_open_data(c, path, &split, true, NULL, &set);
        if (code == CLI_OK) code = evaluator_new(&e, c, set);
        e.bare = true;
        if (code == CLI_OK) code = evaluator_run(&e, &none);
        if (code == CLI_OK) code = enrolled_of(&e, &v->known);
        evaluator_free(&e);
        wick_dataset_free(&set);
    }
    c->enrolled = &v->known;
    return code;
}

/* find_images has fetched those of other machines. */
static const char *place_of(const viewer *v, const char *file) {
    const char *place;
    return source_place(v->c->ctx, file, &place) == WICK_OK ? place : file;
}

static int look_at_all(viewer *v) {
    classifier *c = v->c;
    v->x = step_buffer(c->pixels, sizeof *v->x);
    v->probability = step_buffer(c->task->width(c), sizeof *v->probability);
    v->order = step_buffer(c->classes, sizeof *v->order);
    v->sample = step_buffer(c->pixels, sizeof *v->sample);
    v->target = step_buffer(classifier_target_width(c) + c->pixels + c->boxes * BOX_WIDTH, sizeof *v->target);
    v->fitted = step_buffer(c->pixels, sizeof *v->fitted);
    v->mask = step_buffer(c->pixels, sizeof *v->mask);
    if (!v->fitted || !v->mask || !v->x || !v->probability || !v->order || !v->target || !v->sample)
        return log_fail(CLI_FAILED, "out of memory");
    wick_status status = step_compile(&v->step, c, record, c, 1, 1, 1, false, 0, 0, NULL);
    if (status != WICK_OK) return log_fail(CLI_FAILED, "%s", log_why(c->ctx, status));
    if (*v->o->of_predict.enrolled) {
        const int known = enrol(v, v->o->of_predict.enrolled);
        if (known != CLI_OK) return known;
    }
    if (v->o->json) json_open(&v->json, NULL, '[');
    if (v->o->of_predict.csv && !shared_follows(v->dealt->group)) c->task->csv(c);
    const int begun = dealt_begin(v->dealt, v->o->json ? &v->json.out : NULL);
    if (begun != CLI_OK) return begun;
    const char *list = v->o->of_predict.index;
    int64_t first, last;
    int code = CLI_OK;
    /* A file that can't be read leaves the others to be shown; with --json there is one object, of all or of the
     * failure. */
    int failed = CLI_OK;
    const bool tracks = c->task->kind == TASK_TRACK && v->o->n_files && !source_is_file(v->o->files[0]);
    if (tracks && v->o->n_files % 2)
        return log_fail(CLI_USAGE, "%s takes two pictures each: what is looked for, and where", v->o->model);
    for (int i = 0; tracks && i < v->o->n_files && code == CLI_OK; i += 2)
        code = look_at_pair(v, place_of(v, v->o->files[i]), place_of(v, v->o->files[i + 1]));
    for (int i = 0; !tracks && i < v->o->n_files && code == CLI_OK; i++) {
        const char *file = place_of(v, v->o->files[i]);
        v->url = file == v->o->files[i] ? NULL : v->o->files[i];
        code = source_is_file(file) || source_is_text_coding(v->c->coding) ? look_at_rows(v, file)
               : hears(v->c)                                               ? look_at_recording(v, file)
                                                                           : look_at_file(v, file);
        v->url = NULL;
        if (code == CLI_OK || code == CLI_FAILED || v->o->json) continue;
        if (failed == CLI_OK) failed = code;
        code = CLI_OK;
    }
    if (code == CLI_OK) code = failed;
    while (!v->o->n_files && code == CLI_OK && next_range(&list, &first, &last))
        for (int64_t i = first; i <= last && code == CLI_OK; i++) code = look_at_index(v, v->dataset, NULL, i);
    code = dealt_end(v->dealt, code);
    if (v->o->json) json_close(&v->json, ']');
    return code;
}

static int look_in_json(viewer *v) {
    v->json.out = open_memstream(&v->text, &v->text_size);
    if (!v->json.out) return log_fail(CLI_FAILED, "out of memory");
    int code = look_at_all(v);
    bool whole = fclose(v->json.out) == 0;
    if (code == CLI_OK && !whole) code = log_fail(CLI_FAILED, "out of memory");
    if (code == CLI_OK && !shared_follows(v->dealt->group)) {
        json j = log_json_open();
        json_bool(&j, "ok", true);
        json_text(&j, "model", v->o->model);
        json_raw(&j, "images", v->text);
        log_json_close(&j);
    }
    free(v->text);
    return code;
}

/* The images are those of files, or of a data set. */
static int find_images(viewer *v, wick_dataset **dataset) {
    const cli_options *o = v->o;
    classifier *c = v->c;
    if (o->n_files) {
        bool rows = true;
        v->drawn = picture_shape(c->rank, c->dims, v->shape);
        for (int i = 0; i < o->n_files; i++) {
            const char *file;
            const wick_status status = source_place(c->ctx, o->files[i], &file);
            if (status != WICK_OK) return log_fail(log_code(status, CLI_BAD_FILE), "%s", log_why(c->ctx, status));
            rows &= source_is_file(file) || source_is_text_coding(c->coding);
        }
        if (hears(c)) return CLI_OK;
        for (int i = 0; i < o->n_files && !rows && c->floats && !c->onnx; i++)
            if (!path_exists(place_of(v, o->files[i])))
                return log_fail(CLI_BAD_FILE, "%s: cannot open: no such file", o->files[i]);
        if (rows && c->floats && c->transform)
            return log_fail(CLI_BAD_FILE,
                            "wick predict looks at samples as they are, and those of %s go through a --transform: "
                            "wick eval measures the model on all of them",
                            o->model);
        if (!rows && c->floats && !c->onnx)
            return log_fail(CLI_BAD_FILE,
                            "%s learned from numbers, not from pictures, of which it doesn't know the scale: give "
                            "samples as those of %s",
                            o->model, c->data);
        if (v->drawn || rows || c->task->kind == TASK_TRACK) return CLI_OK;
        return log_fail(CLI_BAD_FILE,
                        "%s takes no pictures: an image has %d dim%s to it, not [H, W], [1, H, W] or [3, H, W]",
                        o->model, c->rank, plural(c->rank));
    }
    source_options form;
    int code = source_read_options(o, &form);
    form.unlabelled = true;
    if (code == CLI_OK) code = classifier_open_data(c, o->data, &v->split, options_given(o, "split"), &form, dataset);
    if (code != CLI_OK) return code;
    v->dataset = *dataset;
    const bool floats = c->floats && !c->transform && (c->window || wick_dataset_at(*dataset, 0, 0));
    if (floats) return CLI_OK;
    const char *noun = source_noun(*dataset), *data = o->data[0] ? o->data : c->data;
    if (!wick_dataset_sample(*dataset, 0) && strcmp(noun, "image") == 0)
        return log_fail(CLI_BAD_FILE,
                        "wick predict looks at pixels in memory, and those of %s are not: wick eval measures the "
                        "model on all of them",
                        data);
    if (!wick_dataset_sample(*dataset, 0))
        return log_fail(CLI_BAD_FILE,
                        "wick predict shows pictures and rows, not %ss as those of %s: wick eval measures the model "
                        "on all of them, wick convert makes ONNX of it, which wick run gives files to",
                        noun, data);
    const int rank = wick_dataset_rank(*dataset);
    v->drawn = picture_shape(rank, wick_dataset_dims(*dataset), v->shape);
    if (!o->json && !v->drawn && c->task->kind != TASK_TRACK)
        log_note("no pictures: an image has %d dim%s here, and only grey and RGB ones can be drawn", rank,
                 plural(rank));
    return CLI_OK;
}

static int check_options(const cli_options *o) {
    static const char *const of_sets[] = {"data", "split"};
    for (size_t i = 0; o->n_files && i < sizeof of_sets / sizeof of_sets[0]; i++)
        if (options_given(o, of_sets[i]))
            return log_fail(CLI_USAGE, "--%s is for images of a data set; %s is a file", of_sets[i], o->files[0]);
    return check_list(o->of_predict.index);
}

int cmd_predict(cli_options *o) {
    wick_context *ctx;
    classifier c = {0};
    dealt shown = {.group = NULL};
    viewer v = {.o = o, .c = &c, .split = o->split, .dealt = &shown};
    wick_dataset *dataset = NULL;
    int code = check_options(o);
    if (code != CLI_OK) return code;
    if ((code = cli_context(&ctx, o, (wick_context_options){.jit = WICK_JIT_ON})) != CLI_OK) return code;
    code = shared_open(ctx, o, &shown.group);
    if (code == CLI_OK) code = classifier_load(&c, ctx, o->model);
    if (code == CLI_OK) code = classifier_pictures_of(&c, o);
    if (code == CLI_OK && options_given(o, "input-range") && c.data[0])
        code = log_fail(CLI_USAGE, "--input-range is for an ONNX file: %s says itself how pixels are scaled", o->model);
    if (code == CLI_OK) code = classifier_set_range(&c, o->input_range, "", CLI_USAGE);
    if (code == CLI_OK && options_given(o, "beams") && c.task->kind != TASK_CTC)
        code = log_fail(CLI_USAGE, "--beams is for --task ctc; this is %s", c.task->name);
    c.beams = o->beams;
    if (code == CLI_OK && *o->of_predict.enrolled && c.task->kind != TASK_EMBED)
        code = log_fail(CLI_USAGE, "--enrolled is for --task embed; this is %s", c.task->name);
    if (code == CLI_OK && options_given(o, "top")) code = task_check_classes(&c, "--top");
    if (code == CLI_OK && *o->of_predict.draw && !c.task->draw)
        code = log_fail(CLI_USAGE,
                        "--draw is for models of pictures' parts (--task segment, dense, detect, keypoints, track); "
                        "this one was trained with "
                        "--task %s",
                        c.task->name);
    static const char *const of_boxes[] = {"csv", "score", "overlap"};
    for (int i = 0; code == CLI_OK && i < 3; i++)
        if (options_given(o, of_boxes[i]) && (i ? c.task->kind != TASK_DETECT : !c.task->csv))
            code = log_fail(CLI_USAGE, "--%s is for --task detect%s; this model was trained with --task %s",
                            of_boxes[i], i ? "" : ", keypoints and heads", c.task->name);
    if (code == CLI_OK && o->of_predict.csv && o->json)
        code = log_fail(CLI_USAGE, "--csv and --json are two ways of saying it");
    c.least = o->of_predict.score, c.overlap = o->of_predict.overlap;
    if (code == CLI_OK && *o->of_predict.draw && !path_make_folder(o->of_predict.draw))
        code = log_fail(CLI_FAILED, "could not make the folder %s: %s", o->of_predict.draw, strerror(errno));
    if (code == CLI_OK) code = find_images(&v, &dataset);
    if (code == CLI_OK) code = shared_agree(shown.group, o, &c, dataset);
    if (code == CLI_OK) code = o->json ? look_in_json(&v) : look_at_all(&v);
    step_free(&v.step);
    free(v.x);
    free(v.probability);
    free(v.target);
    free(v.mask);
    free(v.fitted);
    free(v.sample);
    free(v.order);
    enrolled_free(&v.known);
    classifier_free(&c);
    wick_dataset_free(&dataset);
    wick_group_close(&shown.group);
    wick_context_free(&ctx);
    return code;
}
