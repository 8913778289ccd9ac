/* Measuring what --task detect finds: everything with a score of a hundredth and more, at most a hundred of a class in
 * a picture, by COCO's rules. */
#include "detect.h"

#include "../evaluate.h"
#include "../../term/log.h"

#include <stdlib.h>
#include <string.h>

int detect_begin(evaluator *e) {
    detect_log *l = e->own ? e->own : calloc(1, sizeof *l);
    e->own = l;
    if (l && !l->each) l->each = calloc((size_t)e->c->classes, sizeof *l->each);
    if (!l || !l->each) return log_fail(CLI_FAILED, "out of memory");
    l->n_found = l->n_truth = 0;
    return CLI_OK;
}

void detect_drop(evaluator *e) {
    detect_log *l = e->own;
    free(l->found);
    free(l->truth);
    free(l->each);
    free(l);
    e->own = NULL;
}

static bool reserve(void **list, int64_t n, int64_t *room, size_t size) {
    if (n <= *room) return true;
    const int64_t more = n + *room + 64;
    void *grown = realloc(*list, (size_t)more * size);
    if (grown) *list = grown, *room = more;
    return grown != NULL;
}

static int add_truth(detect_log *l, const float *boxes, int64_t most, int64_t picture) {
    for (int64_t k = 0; k < most; k++, boxes += BOX_WIDTH) {
        if (boxes[4] < 0) continue;
        void *list = l->truth;
        const bool ok = reserve(&list, l->n_truth + 1, &l->room_truth, sizeof *l->truth);
        l->truth = list;
        if (!ok) return log_fail(CLI_FAILED, "out of memory");
        box_truth *t = &l->truth[l->n_truth++];
        *t = (box_truth){.picture = picture, .class = (int)boxes[4]};
        memcpy(t->at, boxes, sizeof t->at);
    }
    return CLI_OK;
}

int detect_count(evaluator *e, const void *target, int64_t n) {
    detect_log *l = e->own;
    box_found *found;
    int64_t n_found;
    int code = detect_select(e->c, e->logits, n, e->count, DETECT_LEAST, DETECT_OVERLAP, &found, &n_found);
    if (code != CLI_OK) return code;
    void *list = l->found;
    const bool ok = reserve(&list, l->n_found + n_found, &l->room_found, sizeof *l->found);
    l->found = list;
    if (ok && n_found) memcpy(l->found + l->n_found, found, (size_t)n_found * sizeof *found);
    if (ok) l->n_found += n_found;
    free(found);
    if (!ok) return log_fail(CLI_FAILED, "out of memory");
    const int64_t most = wick_dataset_field(e->dataset, 1)->dims[0];
    for (int64_t i = 0; i < n && code == CLI_OK; i++)
        code = add_truth(l, (const float *)target + i * most * BOX_WIDTH, most, e->count + i);
    return code;
}

int detect_measure(const evaluator *e, evaluation *r) {
    detect_log *l = e->own;
    if (!l->n_truth)
        return log_fail(CLI_BAD_FILE, "no picture of %s has a box: there is nothing to measure by", e->c->data);
    if (!box_scores_of(l->found, l->n_found, l->truth, l->n_truth, (int)e->c->classes, l->each, &l->mean))
        return log_fail(CLI_FAILED, "out of memory");
    evaluation_add(r, "map50", "mAP50", l->mean.ap50, true);
    evaluation_add(r, "map", "mAP50:95", l->mean.ap, true);
    evaluation_add(r, "map75", "mAP75", l->mean.ap75, true);
    evaluation_add(r, "mean_recall", "mean recall at IoU 0.5", l->mean.recall, true);
    return CLI_OK;
}

void detect_print(const evaluator *e) {
    const detect_log *l = e->own;
    int wide = 5;
    for (int64_t k = 0; k < e->c->classes; k++)
        if ((int)strlen(e->c->class_names[k]) > wide) wide = (int)strlen(e->c->class_names[k]);
    printf("\n%-*s  %9s  %9s  %9s  %9s  %8s\n", wide, "class", "AP50", "AP50:95", "AP75", "recall", "boxes");
    for (int64_t k = 0; k < e->c->classes; k++) {
        const box_score *s = &l->each[k];
        if (!s->there) continue; /* it has no score */
        log_print("%-*s  %7.2f %%  %7.2f %%  %7.2f %%  %7.2f %%  %8lld\n", wide, e->c->class_names[k], 100 * s->ap50,
                  100 * s->ap, 100 * s->ap75, 100 * s->recall, (long long)s->there);
    }
}

void detect_print_json(const evaluator *e, json *j) {
    const detect_log *l = e->own;
    json_open(j, "classes", '[');
    for (int64_t k = 0; k < e->c->classes; k++) {
        const box_score *s = &l->each[k];
        json_open(j, NULL, '{');
        json_text(j, "name", e->c->class_names[k]);
        json_integer(j, "boxes", s->there);
        json_integer(j, "found", s->found);
        json_real(j, "ap50", s->ap50, 9);
        json_real(j, "ap", s->ap, 9);
        json_real(j, "ap75", s->ap75, 9);
        json_real(j, "recall", s->recall, 9);
        json_close(j, '}');
    }
    json_close(j, ']');
}
