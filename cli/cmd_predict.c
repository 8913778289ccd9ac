/* wick predict: shows images and the probability that the model gives each class. */
#include "picture.h"
#include "step.h"
#include "talk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { BAR_WIDTH = 30, MOST_IMAGES = 100000 };

static wick_status record(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx;
    out[0] = wick_softmax(classifier_logits(user, in[0]), 1);
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
    const wick_dataset *dataset;
    step step;
    float *x, *probability;
    int64_t *order; /* classes as they are shown */
    json json;      /* held back in memory until the last image: a failure prints another object instead */
    char *text;
    size_t text_size;
} viewer;

static const float *by_probability; /* qsort has no argument for it */
static int likelier(const void *a, const void *b) {
    float p = by_probability[*(const int64_t *)a], q = by_probability[*(const int64_t *)b];
    return (p < q) - (p > q);
}

static void show(viewer *v, int64_t index, int64_t best, int64_t shown) {
    const wick_dataset *d = v->dataset;
    int64_t label = wick_dataset_label(d, index);
    bool color = talk_color(stdout);
    printf("#%lld: %s, taken for %s%s\n", (long long)index, wick_dataset_class_name(d, label),
           wick_dataset_class_name(d, best), best == label ? "" : " (wrong)");
    const int64_t *dims = wick_dataset_dims(d);
    if (wick_dataset_rank(d) == 2) picture_print(stdout, wick_dataset_sample(d, index), dims[0], dims[1], color);
    for (int64_t i = 0; i < shown; i++) {
        int64_t k = v->order[i];
        const char *name = wick_dataset_class_name(d, k);
        printf("%16s %6.2f %%  ", name ? name : "?", 100 * (double)v->probability[k]);
        picture_bar(stdout, (double)v->probability[k], BAR_WIDTH, color);
        fputc('\n', stdout);
    }
    fputc('\n', stdout);
}

static void show_json(viewer *v, int64_t index, int64_t best, int64_t shown) {
    const wick_dataset *d = v->dataset;
    json *j = &v->json;
    int64_t label = wick_dataset_label(d, index);
    json_open(j, NULL, '{');
    json_integer(j, "index", index);
    json_integer(j, "label", label);
    json_text(j, "label_name", wick_dataset_class_name(d, label));
    json_integer(j, "predicted", best);
    json_text(j, "predicted_name", wick_dataset_class_name(d, best));
    json_open(j, "probabilities", '{');
    for (int64_t i = 0; i < shown; i++) {
        char number[24];
        snprintf(number, sizeof number, "%lld", (long long)v->order[i]);
        const char *name = wick_dataset_class_name(d, v->order[i]);
        json_real(j, name ? name : number, (double)v->probability[v->order[i]], 7);
    }
    json_close(j, '}');
    json_close(j, '}');
}

static int look(viewer *v, int64_t index) {
    const classifier *c = v->c;
    const uint8_t *pixels = wick_dataset_sample(v->dataset, index);
    if (!pixels)
        return talk_fail(CLI_USAGE, "--index %lld: the data have images 0 to %lld", (long long)index,
                         (long long)wick_dataset_count(v->dataset) - 1);
    double deviation = c->deviation > 0 ? c->deviation : 1;
    for (int64_t i = 0; i < c->pixels; i++) v->x[i] = (float)((pixels[i] / 255.0 - c->mean) / deviation);
    if (wick_run(v->step.workspace, (const void *[]){v->x}, (void *[]){v->probability}) != WICK_OK)
        return talk_fail(CLI_FAILED, "%s", wick_workspace_error(v->step.workspace));
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
        show_json(v, index, best, shown);
    else
        show(v, index, best, shown);
    return CLI_OK;
}

static int check_list(const char *list) {
    int64_t first, last, total = 0;
    const char *s = list;
    while (*s || s == list) {
        if (!next_range(&s, &first, &last))
            return talk_fail(CLI_USAGE, "--index '%s' is not a list like 3,7,20-24", list);
        total += last - first < MOST_IMAGES ? last - first + 1 : MOST_IMAGES + 1;
        if (total > MOST_IMAGES)
            return talk_fail(CLI_USAGE, "--index '%s' asks for more than %d images", list, MOST_IMAGES);
    }
    return CLI_OK;
}

static int look_at_all(viewer *v) {
    classifier *c = v->c;
    v->x = step_buffer(c->pixels, sizeof *v->x);
    v->probability = step_buffer(c->classes, sizeof *v->probability);
    v->order = step_buffer(c->classes, sizeof *v->order);
    if (!v->x || !v->probability || !v->order) return talk_fail(CLI_FAILED, "out of memory");
    wick_status status = step_compile(&v->step, c, record, c, 1, 1, 1, 0, 0, NULL);
    if (status != WICK_OK) return talk_fail(CLI_FAILED, "%s", talk_why(c->ctx, status));
    if (v->o->json) json_open(&v->json, NULL, '[');
    const char *list = v->o->index;
    int64_t first, last;
    int code = CLI_OK;
    while (code == CLI_OK && next_range(&list, &first, &last))
        for (int64_t i = first; i <= last && code == CLI_OK; i++) code = look(v, i);
    if (v->o->json) json_close(&v->json, ']');
    return code;
}

static int look_in_json(viewer *v) {
    v->json.out = open_memstream(&v->text, &v->text_size);
    if (!v->json.out) return talk_fail(CLI_FAILED, "out of memory");
    int code = look_at_all(v);
    bool whole = fclose(v->json.out) == 0;
    if (code == CLI_OK && !whole) code = talk_fail(CLI_FAILED, "out of memory");
    if (code == CLI_OK) {
        json j = talk_json_open();
        json_bool(&j, "ok", true);
        json_text(&j, "model", v->o->model);
        json_raw(&j, "images", v->text);
        talk_json_close(&j);
    }
    free(v->text);
    return code;
}

int cmd_predict(cli_options *o) {
    wick_context *ctx;
    classifier c = {0};
    viewer v = {.o = o, .c = &c};
    wick_dataset *dataset = NULL;
    int code = check_list(o->index);
    if (code != CLI_OK) return code;
    if (wick_context_new(&ctx, &(wick_context_options){.threads = (int)o->threads}) != WICK_OK)
        return talk_fail(CLI_FAILED, "could not start: out of memory or threads");
    code = classifier_load(&c, ctx, o->model);
    if (code == CLI_OK) code = classifier_open_data(&c, o->data, o->split, &dataset);
    v.dataset = dataset;
    if (code == CLI_OK && !o->json && wick_dataset_rank(dataset) != 2)
        talk("no pictures: an image has %d dim%s here, and only 2 can be drawn", wick_dataset_rank(dataset),
             plural(wick_dataset_rank(dataset)));
    if (code == CLI_OK) code = o->json ? look_in_json(&v) : look_at_all(&v);
    step_free(&v.step);
    free(v.x);
    free(v.probability);
    free(v.order);
    classifier_free(&c);
    wick_dataset_free(&dataset);
    wick_context_free(&ctx);
    return code;
}
