/* What the model takes for something else, and the filters of its first layer. */
#include "report.h"

#include "chart.h"
#include "html.h"
#include "../term/picture.h"
#include "png.h"
#include "../term/log.h"

#include <math.h>
#include <stdlib.h>

enum {
    NARROW_MATRIX = 12 /* fits beside the table */,
    MOST_MATRIX = 200,
    PAIRS = 6,
    SHOTS = 4,
    MOST_FILTERS = 64,
    MOST_SIDE = 128
};

/* How the numbers of an image lie that picture.h can draw, or of a filter for such images. */
typedef struct layout {
    int64_t height, width, row_step, pixel_step, channel_step;
    int channels;
} layout;
static bool layout_of(int rank, const int64_t *dims, layout *l) {
    int64_t shape[3];
    if (!picture_shape(rank, dims, shape)) return false;
    *l = (layout){shape[1], shape[2], shape[2], 1, shape[1] * shape[2], (int)shape[0]};
    /* Of larger ones every second, third ... row and pixel: the page stays small. */
    int64_t longest = l->height > l->width ? l->height : l->width, every = (longest + MOST_SIDE - 1) / MOST_SIDE;
    l->height = (l->height + every - 1) / every;
    l->width = (l->width + every - 1) / every;
    l->row_step *= every;
    l->pixel_step *= every;
    return true;
}

bool report_picture(FILE *out, const wick_dataset *dataset, int64_t i, const char *text) {
    layout l;
    if (!layout_of(wick_dataset_rank(dataset), wick_dataset_dims(dataset), &l)) return true;
    const uint8_t *from = wick_dataset_sample(dataset, i);
    if (!from) return true;
    uint8_t *image = malloc((size_t)(l.height * l.width * l.channels));
    if (!image) return false;
    uint8_t *to = image;
    for (int64_t y = 0; y < l.height; y++)
        for (int64_t x = 0; x < l.width; x++)
            for (int k = 0; k < l.channels; k++) *to++ = from[y * l.row_step + x * l.pixel_step + k * l.channel_step];
    fputs("<img alt=\"", out);
    html_text(out, text);
    fputs("\" src=\"", out);
    bool ok = png_data_uri(out, image, l.height, l.width, l.channels);
    fputs("\">", out);
    free(image);
    return ok;
}

/* ---- mistakes ---------------------------------------------------------------------------------------------------- */

static const char *name_of(int64_t k, const void *user) { return report_class(user, k); }

static void write_scores(FILE *out, const char *name, class_scores s, int64_t support, const char *row) {
    fprintf(out, "<tr%s><td>", row);
    html_text(out, name);
    fprintf(out,
            "</td><td class=\"n\">%.1f</td><td class=\"n\">%.1f</td><td class=\"n\">%.1f</td><td style=\"width:22%%\">",
            100 * s.precision, 100 * s.recall, 100 * s.f1);
    char title[64];
    snprintf(title, sizeof title, "F1 %.1f" NBSP "%%", 100 * s.f1);
    chart_bar(out, s.f1, "a", title);
    chart_text count;
    fprintf(out, "</td><td class=\"n\">%s</td></tr>\n", text_count(count, support));
}

static void write_classes(FILE *out, const report *r) {
    const bool many = r->c.classes > NARROW_MATRIX * 2; /* as many rows are unfolded by who wants them */
    fputs(many ? "<details class=\"card wide\"><summary>Scores of the classes</summary>"
               : "<div class=\"card wide\"><h3>Scores of the classes</h3>",
          out);
    fputs("<p>In per cent; the bars are F1.</p><table><thead><tr><th>class</th><th class=\"n\">precision</th>"
          "<th class=\"n\">recall</th><th class=\"n\">F1</th><th></th><th class=\"n\">", out);
    html_print(out, "%ss", report_noun(r));
    fputs("</th></tr></thead><tbody>\n", out);
    for (int64_t k = 0; k < r->c.classes; k++)
        if (r->e.classes[k].support || r->e.classes[k].predicted)
            write_scores(out, report_class(r, k), scores_of(r->e.classes[k]), r->e.classes[k].support, "");
    write_scores(out, "mean of the classes", scores_macro(r->e.classes, r->c.classes), r->result.count,
                 " class=\"total\"");
    fputs(many ? "</tbody></table></details>\n" : "</tbody></table></div>\n", out);
}

/* The images of a cell of the matrix that the model was surest of. */
static int surest(const report *r, int64_t label, int64_t predicted, int64_t *images) {
    int found = 0;
    for (int64_t i = 0; i < wick_dataset_count(r->measured); i++) {
        if (wick_dataset_label(r->measured, i) != label || r->predicted[i] != predicted) continue;
        if (found == SHOTS && r->probability[images[found - 1]] >= r->probability[i]) continue;
        int at = found < SHOTS ? found++ : SHOTS - 1;
        for (; at > 0 && r->probability[images[at - 1]] < r->probability[i]; at--) images[at] = images[at - 1];
        images[at] = i;
    }
    return found;
}

static bool write_pair(FILE *out, const report *r, int64_t label, int64_t predicted) {
    int64_t count = r->e.confusion[label * r->c.classes + predicted], images[SHOTS];
    fputs("<div class=\"card\"><h3>", out);
    html_text(out, report_class(r, label));
    fputs(" <span style=\"color:var(--muted);font-weight:450\">taken for</span> ", out);
    html_text(out, report_class(r, predicted));
    chart_text mistakes, support;
    fprintf(out, "</h3><p>%s of %s; surest first</p><ul class=\"shots\">\n", text_count(mistakes, count),
            text_count(support, r->e.classes[label].support));
    int n = surest(r, label, predicted, images);
    bool ok = true;
    for (int i = 0; i < n && ok; i++) {
        char text[64];
        snprintf(text, sizeof text, "%s %lld", report_noun(r), (long long)images[i]);
        fputs("<li>", out);
        ok = report_picture(out, r->measured, images[i], text);
        fprintf(out, "#%lld<br>%.1f" NBSP "%%</li>\n", (long long)images[i], 100 * (double)r->probability[images[i]]);
    }
    fputs("</ul></div>\n", out);
    return ok;
}

bool report_mistakes(FILE *out, const report *r) {
    const int64_t n = r->c.classes;
    fputs("<section id=\"mistakes\"><h2>Predictions</h2>\n", out);
    if (r->measured != r->test) {
        fputs("<p>", out);
        html_print(out, "The data have no test %ss: this is measured on those it was trained on.", report_noun(r));
        fputs("</p>\n", out);
    }
    fputs(n <= NARROW_MATRIX ? "<div class=\"two\">\n" : "<div>\n", out);
    if (n <= MOST_MATRIX) {
        fputs("<figure class=\"card wide small\" style=\"margin:14px 0 0\"><h3>Confusion matrix</h3><p>Blue: right. "
              "Orange: mistakes, the strongest where the "
              "largest share of a row goes.</p>\n",
              out);
        chart_matrix(out, n, r->e.confusion, name_of, r);
        fputs("</figure>\n", out);
    } else {
        fprintf(out,
                "<div class=\"card\"><p>%lld classes are too many for a picture of the confusion matrix; <code>wick "
                "eval --json</code> has it.</p></div>\n",
                (long long)n);
    }
    write_classes(out, r);
    fputs("</div>\n", out);
    int64_t cells[PAIRS];
    int found = r->e.confusion ? largest_mistakes(r->e.confusion, n, PAIRS, cells) : 0;
    bool ok = true;
    if (found) {
        fputs("<h3 style=\"margin-top:26px\">The most confused pairs</h3><p>", out);
        html_print(out, "Of each %s its number and the probability of the wrong answer.", report_noun(r));
        fputs("</p><div class=\"pairs\">\n", out);
        for (int i = 0; i < found && ok; i++) ok = write_pair(out, r, cells[i] / n, cells[i] % n);
        fputs("</div>\n", out);
    }
    fputs("</section>\n", out);
    return ok;
}

/* ---- filters ----------------------------------------------------------------------------------------------------- */

/* The first weights that look at pixels: of a convolution [O, C, h, w], or of a linear layer [O, pixels] a row as an
 * image. */
typedef struct filters {
    const char *name;
    const float *values;
    int64_t count, channels, size; /* size: numbers of one */
    layout layout;
} filters;

static bool find_filters(const report *r, filters *f) {
    for (int i = 0; i < wick_model_count(r->c.model); i++) {
        wick_named state = wick_model_at(r->c.model, i);
        int rank = wick_tensor_rank(state.tensor);
        if (state.role != WICK_ROLE_PARAM || rank < 2) continue;
        const int64_t *dims = wick_tensor_dims(state.tensor);
        bool linear = rank == 2 && dims[1] == r->c.pixels && layout_of(r->c.rank, r->c.dims, &f->layout);
        bool conv = rank == 4 && layout_of(3, (int64_t[]){dims[1] == 3 ? 3 : 1, dims[2], dims[3]}, &f->layout);
        const void *data;
        if ((!linear && !conv) || wick_tensor_dtype(state.tensor) != WICK_F32 ||
            wick_data(state.tensor, &data) != WICK_OK)
            return false;
        f->name = state.name;
        f->values = data;
        f->count = dims[0];
        f->channels = conv ? dims[1] : f->layout.channels;
        f->size = wick_tensor_count(state.tensor) / dims[0];
        return f->layout.height * f->layout.width > 1;
    }
    return false;
}

/* A weight in [-1, 1]: orange above 0, blue below, and the further from it the stronger. */
static void two_colours(double w, uint8_t rgb[3]) {
    static const double ends[2][3] = {{42, 112, 200}, {217, 96, 31}}, middle[3] = {244, 243, 239};
    for (int k = 0; k < 3; k++) rgb[k] = (uint8_t)lround(middle[k] + (ends[w > 0][k] - middle[k]) * fmin(1, fabs(w)));
}

static bool write_filter(FILE *out, const filters *f, int64_t number, uint8_t *image) {
    const float *w = f->values + number * f->size;
    const layout *l = &f->layout;
    double most = 0;
    for (int64_t i = 0; i < f->size; i++)
        if (isfinite(w[i])) most = fmax(most, fabs((double)w[i]));
    for (int64_t p = 0; p < l->height * l->width; p++)
        for (int k = 0; k < l->channels; k++) {
            double v = (double)w[p / l->width * l->row_step + p % l->width * l->pixel_step + k * l->channel_step];
            v = most > 0 && isfinite(v) ? v / most : 0;
            if (l->channels == 3)
                image[3 * p + k] = (uint8_t)lround(127.5 + 127.5 * v);
            else
                two_colours(v, image + 3 * p);
        }
    double side = l->height <= 12 ? 52 : 84, width = side * (double)l->width / (double)l->height;
    fprintf(out,
            "<li><img alt=\"filter %lld, weights to %.3g\" title=\"filter %lld, weights to &#177;%.3g\" width=\"%.0f\" "
            "height=\"%.0f\" src=\"",
            (long long)number, most, (long long)number, most, fmin(width, 4 * side), side);
    bool ok = png_data_uri(out, image, l->height, l->width, 3);
    fputs("\"></li>\n", out);
    return ok;
}

bool report_filters(FILE *out, const report *r) {
    filters f;
    if (!find_filters(r, &f)) return true;
    int64_t shown = f.count < MOST_FILTERS ? f.count : MOST_FILTERS;
    uint8_t *image = malloc((size_t)(f.layout.height * f.layout.width) * 3);
    if (!image) return false;
    fputs("<section id=\"filters\"><h2>The first layer</h2><p>", out);
    html_print(out, "%s: ", f.name);
    if (shown < f.count)
        fprintf(out, "the first %lld of %lld filters", (long long)shown, (long long)f.count);
    else
        fprintf(out, "%lld filter%s", (long long)f.count, plural(f.count));
    fprintf(out, " of %lld &#215; %lld, each scaled to its largest weight. ", (long long)f.layout.height,
            (long long)f.layout.width);
    fputs(f.layout.channels == 3 ? "Red, green and blue are the weights of those channels; grey is 0."
                                 : "Orange weights are above 0, blue ones below.",
          out);
    if (f.layout.channels == 1 && f.channels > 1)
        fprintf(out, " Of %lld channels the first is shown.", (long long)f.channels);
    fputs("</p><div class=\"card\"><ul class=\"filters\">\n", out);
    bool ok = true;
    for (int64_t i = 0; i < shown && ok; i++) ok = write_filter(out, &f, i, image);
    fputs("</ul></div></section>\n", out);
    free(image);
    return ok;
}
