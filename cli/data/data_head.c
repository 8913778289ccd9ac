/* wick data head: the first of a set: pictures drawn in the terminal, recordings as their loudness over time, arrays as
 * their first numbers. */
#include "data.h"
#include "../report/sound.h"
#include "../term/picture.h"
#include "../term/log.h"

#include "wick/io.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 64, NUMBERS = 16 };

/* Element i of an array, of the dtypes that IDX and record files have. */
static double element(wick_dtype dtype, const void *data, size_t i) {
    switch (dtype) {
    case WICK_U8:
    case WICK_BOOL:
        return ((const uint8_t *)data)[i];
    case WICK_I8:
        return ((const int8_t *)data)[i];
    case WICK_I16:
        return ((const int16_t *)data)[i];
    case WICK_U16:
        return ((const uint16_t *)data)[i];
    case WICK_I32:
        return ((const int32_t *)data)[i];
    case WICK_U32:
        return ((const uint32_t *)data)[i];
    case WICK_I64:
        return (double)((const int64_t *)data)[i];
    case WICK_U64:
        return (double)((const uint64_t *)data)[i];
    case WICK_F32:
        return (double)((const float *)data)[i];
    case WICK_F64:
        return ((const double *)data)[i];
    default:
        return NAN;
    }
}

/* Half as many lines as columns of loudness: the peak of each stretch, as a block of eighths; characters without
 * colour. */
static void draw_loudness(const float *x, int64_t n, bool color) {
    static const char shades[] = " .:-=+*#@";
    printf("  ");
    for (int c = 0; c < COLUMNS; c++) {
        float peak = 0;
        for (int64_t i = n * c / COLUMNS; i < n * (c + 1) / COLUMNS; i++) peak = fmaxf(peak, fabsf(x[i]));
        const int level = (int)fminf(8, ceilf(peak * 8));
        if (color && level)
            printf("\xE2\x96%c", 0x80 + level); /* U+2581 to U+2588 */
        else
            putchar(color ? ' ' : shades[level]);
    }
    putchar('\n');
}

typedef struct head {
    data_job *d;
    json j;
    bool drawn;     /* the --svg is written */
    char why[1024]; /* it is not; "" nothing went wrong with it */
    int code;
} head;

static int columns(void) {
    const int wide = log_columns(stdout);
    return wide > 2 ? wide - 1 : COLUMNS;
}

static void show_pixels(const uint8_t *pixels, const int64_t shape[3]) {
    picture_print(stdout, pixels, shape, log_color(stdout));
}

static wick_status show_picture(head *h, const wick_file *file) {
    wick_context *ctx = h->d->ctx;
    wick_image *image, *small;
    wick_status status = wick_image_decode(ctx, file->data, file->size, file->name, 0, &image);
    if (status != WICK_OK) return status;
    const int64_t *dims = wick_image_dims(image), wide = columns();
    if (h->d->o->json) {
        json_open(&h->j, "dims", '[');
        for (int k = 0; k < 3; k++) json_integer(&h->j, NULL, dims[k]);
        json_close(&h->j, ']');
    } else {
        printf(", %lld x %lld%s\n", (long long)dims[2], (long long)dims[1], dims[0] == 1 ? " grey" : "");
        if (dims[2] > wide) {
            const int64_t high = dims[1] * wide / dims[2];
            status = wick_image_resize(ctx, image, high > 0 ? high : 1, wide, &small);
            wick_image_free(&image);
            if (status != WICK_OK) return status;
            image = small;
        }
        show_pixels(wick_image_pixels(image, 0), wick_image_dims(image));
    }
    wick_image_free(&image);
    return WICK_OK;
}

static wick_status show_recording(head *h, const wick_file *file) {
    wick_context *ctx = h->d->ctx;
    wick_audio *audio;
    wick_status status = wick_audio_decode(ctx, file->data, file->size, file->name, 1, &audio);
    if (status != WICK_OK) return status;
    const int64_t length = wick_audio_length(audio), rate = wick_audio_rate(audio);
    if (h->d->o->json) {
        json_integer(&h->j, "rate", rate);
        json_integer(&h->j, "samples", length);
    } else {
        printf(", %.2f s at %lld Hz\n", (double)length / (double)rate, (long long)rate);
        draw_loudness(wick_audio_samples(audio, 0), length, log_color(stdout));
    }
    const char *path = h->d->o->svg;
    if (*path && !h->drawn) {
        char *text = NULL;
        size_t size = 0;
        FILE *out = open_memstream(&text, &size);
        status = out ? sound_draw(out, ctx, wick_audio_samples(audio, 0), length, rate, file->name, true) : WICK_OK;
        const bool whole = out && !ferror(out), drawn = out && fclose(out) == 0 && whole;
        if (status == WICK_OK && !drawn)
            snprintf(h->why, sizeof h->why, "out of memory");
        else if (status == WICK_OK && wick_file_write(ctx, path, text, size) != WICK_OK)
            snprintf(h->why, sizeof h->why, "%s", wick_context_error(ctx));
        else if (status == WICK_OK)
            h->drawn = true;
        free(text);
    }
    wick_audio_free(&audio);
    return status;
}

static void show_array(head *h, const wick_file *file) {
    const wick_spec *a = wick_files_array(h->d->f);
    int64_t shape[3];
    if (h->d->o->json) return;
    if (data_is_picture(a, shape) && shape[2] <= columns()) {
        putchar('\n');
        show_pixels(file->data, shape);
        return;
    }
    const size_t n = file->size / wick_dtype_size(a->dtype);
    printf(": ");
    for (size_t i = 0; i < n && i < NUMBERS; i++) printf("%s%.6g", i ? " " : "", element(a->dtype, file->data, i));
    printf(n > NUMBERS ? " ...\n" : "\n");
}

static wick_status show(head *h, int64_t i, const wick_file *file) {
    const char *what = data_what(h->d, file), *class_name = wick_files_class(h->d->f, file->label);
    wick_status status = WICK_OK;
    if (h->d->o->json) {
        json_open(&h->j, NULL, '{');
        json_integer(&h->j, "index", i);
        json_text(&h->j, "name", file->name);
        json_integer(&h->j, "label", file->label);
        json_text(&h->j, "class", class_name);
        json_integer(&h->j, "bytes", (int64_t)file->size);
        json_text(&h->j, "what", what);
    } else {
        log_print("#%lld%s%s%s%s", (long long)i, *file->name ? " " : "", file->name, class_name ? ": " : "",
                  class_name ? class_name : "");
    }
    if (!strcmp(what, "picture"))
        status = show_picture(h, file);
    else if (!strcmp(what, "recording"))
        status = show_recording(h, file);
    else if (!strcmp(what, "array"))
        show_array(h, file);
    else if (!h->d->o->json)
        printf(", %zu bytes\n", file->size);
    if (status != WICK_OK && h->d->o->json) json_text(&h->j, "broken", log_why(h->d->ctx, status));
    if (h->d->o->json) json_close(&h->j, '}');
    return status;
}

int data_head(data_job *d) {
    head h = {.d = d};
    int64_t broken = 0;
    const int64_t n = wick_files_count(d->f), from = d->o->of_data.from,
                  last = d->o->of_data.count < n - from ? from + d->o->of_data.count : n;
    if (from >= n && n)
        return log_fail(CLI_USAGE, "--from %lld: %s has %lld, counted from 0", (long long)from, wick_files_path(d->f),
                        (long long)n);
    if (d->o->json) {
        h.j = log_json_open();
        json_open(&h.j, "items", '[');
    }
    for (int64_t i = from; i < last; i++) {
        wick_file file;
        wick_status status = wick_files_at(d->f, i, &file);
        if (status == WICK_OK)
            status = show(&h, i, &file);
        else if (d->o->json) {
            json_open(&h.j, NULL, '{');
            json_integer(&h.j, "index", i);
            json_text(&h.j, "broken", log_why(d->ctx, status));
            json_close(&h.j, '}');
        }
        if (status == WICK_OK) continue;
        h.code = CLI_BAD_FILE; /* and on with the next */
        broken++;
        if (!d->o->json) log_print("\n#%lld is broken: %s\n", (long long)i, log_why(d->ctx, status));
    }
    int drawing = *h.why && !h.drawn ? CLI_FAILED : CLI_OK; /* a later one may have been written */
    if (!drawing && !h.code && *d->o->svg && !h.drawn) {
        drawing = CLI_USAGE;
        snprintf(h.why, sizeof h.why, "--svg draws recordings, and none of these is one");
    }
    if (d->o->json) {
        json_close(&h.j, ']');
        if (!drawing || broken)
            data_json_ok(d, &h.j, broken, last - from);
        else {
            json_bool(&h.j, "ok", false);
            json_integer(&h.j, "exit", drawing);
            json_text(&h.j, "error", h.why);
        }
        log_json_close(&h.j);
    }
    if (drawing) drawing = log_fail(drawing, "%s", h.why);
    return h.code ? h.code : drawing;
}
