/* wick data boxes: a set of boxes in another form, checked against its pictures. */
#include "data.h"
#include "../options.h"
#include "../term/log.h"
#include "../train/boxes/box_set.h"
#include "../train/source.h"

#include <stdlib.h>
#include <string.h>

/* The form by --form, or TO's ending. BOX_NONE: it says none. */
static box_form form_of(const cli_options *o, const char *to) {
    static const char *const names[] = {"", "csv", "coco", "yolo", "voc"};
    const char *dot = strrchr(to, '.');
    for (int k = BOX_CSV; k <= BOX_VOC; k++)
        if (strcmp(o->of_data.box_form, names[k]) == 0) return (box_form)k;
    return dot && strcmp(dot, ".csv") == 0 ? BOX_CSV : dot && strcmp(dot, ".json") == 0 ? BOX_COCO : BOX_NONE;
}

/* Sizes of all pictures, by which boxes are checked. */
static wick_status check(data_job *d, box_set *s, int64_t (*sizes)[2], int64_t *cut) {
    wick_status status = WICK_OK;
    for (int64_t i = 0; i < s->n && status == WICK_OK; i++) {
        wick_image *image;
        if (!data_progress(d, "looking", i, s->n)) return WICK_ERR_CANCELLED;
        status = wick_image_open(d->ctx, s->pictures[i].path, 0, &image);
        if (status != WICK_OK) return status;
        sizes[i][0] = wick_image_dims(image)[1], sizes[i][1] = wick_image_dims(image)[2];
        wick_image_free(&image);
        status = box_set_place(d->ctx, s, i, sizes[i][0], sizes[i][1], cut);
    }
    s->shares = false;
    return status;
}

/* Pictures below the folder of a file that is written are named from there, so that they are found again. */
static bool name_from(box_set *s, const char *to) {
    const char *slash = strrchr(to, '/');
    const size_t n = slash ? (size_t)(slash - to + 1) : 0;
    for (int64_t i = 0; i < s->n; i++) {
        box_picture *p = &s->pictures[i];
        if ((n && strncmp(p->path, to, n) != 0) || p->path[n] == '/') continue;
        char *name = strdup(p->path + n);
        if (!name) return false;
        free(p->name);
        p->name = name;
    }
    return true;
}

static int told(data_job *d, const box_set *s, int64_t cut) {
    data_progress_end(d);
    if (d->o->json) {
        json j = log_json_open();
        json_bool(&j, "ok", true);
        json_text(&j, "wrote", d->to);
        json_integer(&j, "pictures", s->n);
        json_integer(&j, "boxes", s->n_boxes);
        json_integer(&j, "classes", s->n_classes);
        json_integer(&j, "cut_off", cut);
        json_integer(&j, "crowds_left_out", s->crowds);
        log_json_close(&j);
        return CLI_OK;
    }
    log_note("wrote %s: %lld pictures with %lld boxes of %d class%s", d->to, (long long)s->n, (long long)s->n_boxes,
             s->n_classes, s->n_classes == 1 ? "" : "es");
    if (s->crowds) log_note("%lld boxes around crowds are left out", (long long)s->crowds);
    if (cut) log_note("%lld boxes reached out of their pictures by up to a pixel, and are cut off", (long long)cut);
    return CLI_OK;
}

int data_boxes(data_job *d) {
    const box_form form = form_of(d->o, d->to);
    source_options so;
    box_place *place = malloc(sizeof *place);
    box_set s = {0};
    int64_t(*sizes)[2] = NULL, cut = 0;
    int code = place ? source_read_options(d->o, &so) : log_fail(CLI_FAILED, "out of memory");
    if (code == CLI_OK && form == BOX_NONE)
        code =
            log_fail(CLI_USAGE, "%s is neither .csv nor .json (COCO): --form yolo or voc makes a folder of it", d->to);
    if (code == CLI_OK && !box_find(d->path, d->o->split, so.separator, place))
        code = log_fail(CLI_BAD_FILE, "%s: has no boxes for %s", d->path, d->o->split);
    const char *part = code == CLI_OK && place->whole && !options_given(d->o, "split") ? "all" : d->o->split;
    wick_status status = WICK_OK;
    if (code == CLI_OK) status = box_read(d->ctx, d->path, part, place, so.separator, 0, NULL, &s);
    if (code == CLI_OK && status == WICK_OK && !(sizes = calloc((size_t)s.n + 1, sizeof *sizes)))
        status = box_out_of_memory(d->ctx, d->path);
    if (code == CLI_OK && status == WICK_OK) status = check(d, &s, sizes, &cut);
    if (code == CLI_OK && status == WICK_OK && (form == BOX_CSV || form == BOX_COCO) && !name_from(&s, d->to))
        status = box_out_of_memory(d->ctx, d->path);
    if (code == CLI_OK && status != WICK_OK) code = data_failed(d, status, CLI_BAD_FILE);
    if (code == CLI_OK) {
        status = box_write(d->ctx, &s, (const int64_t(*)[2])sizes, form, d->to);
        code = status == WICK_OK ? told(d, &s, cut) : data_failed(d, status, CLI_FAILED);
    }
    box_set_free(&s);
    free(sizes);
    free(place);
    return code;
}
