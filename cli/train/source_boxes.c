/* Pictures with boxes: "image", u8 [C, H, W], "boxes", f32 [M, 5], left, top, right and bottom in its pixels and the
 * number of the class, -1 where there is no further box, and "size", i64 [2], the height and width of its file's
 * picture. What was learned is the way pictures are fitted, how many boxes one has at most, and the classes. */
#include "source_kinds.h"

#include "boxes/box_fit.h"
#include "boxes/box_set.h"
#include "../term/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct boxed {
    int64_t n, most, dims[3];
    uint8_t *pixels; /* [n, dims] */
    float *boxes;    /* [n, most, 5] */
    int64_t *sizes;  /* [n, 2] */
} boxed;

static size_t picture_bytes(const boxed *b) { return (size_t)(b->dims[0] * b->dims[1] * b->dims[2]); }
static const void *at(void *user, int64_t i, int field) {
    const boxed *b = user;
    if (field == 1) return b->boxes + i * b->most * BOX_WIDTH;
    if (field == 2) return b->sizes + 2 * i;
    return b->pixels + (size_t)i * picture_bytes(b);
}
static wick_status get(void *user, int64_t i, void *const *out, wick_fault *fault) {
    const boxed *b = user;
    (void)fault;
    if (out[0]) memcpy(out[0], at(user, i, 0), picture_bytes(b));
    if (out[1]) memcpy(out[1], at(user, i, 1), (size_t)b->most * BOX_WIDTH * sizeof *b->boxes);
    if (out[2]) memcpy(out[2], at(user, i, 2), 2 * sizeof *b->sizes);
    return WICK_OK;
}
static void drop(void *user) {
    boxed *b = user;
    if (!b) return;
    free(b->pixels);
    free(b->boxes);
    free(b->sizes);
    free(b);
}

/* ---- the coding: "boxes" stretch|letterbox MOST, a tab, and the classes with tabs between ------------------------ */

static const char prefix[] = "\"boxes\" ";

static char *write_coding(const box_set *s, bool letterbox, int64_t most) {
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out) return NULL;
    fprintf(out, "%s%s %lld", prefix, letterbox ? "letterbox" : "stretch", (long long)most);
    for (int k = 0; k < s->n_classes; k++) fprintf(out, "\t%s", s->classes[k]);
    if (fclose(out) == 0) return text;
    free(text);
    return NULL;
}

bool source_read_box_coding(const char *coding, bool *letterbox, int64_t *most) {
    if (!coding || strncmp(coding, prefix, sizeof prefix - 1) != 0) return false;
    const char *text = coding + sizeof prefix - 1;
    *letterbox = strncmp(text, "letterbox ", 10) == 0;
    if (!*letterbox && strncmp(text, "stretch ", 8) != 0) return false;
    char *end;
    *most = strtoll(text + (*letterbox ? 10 : 8), &end, 10);
    return *end == '\t' && *most >= 1 && *most <= BOX_MOST;
}

/* The classes of a coding, *copy malloc'ed with the names in it; how many, 0: there are none. */
static int read_classes(const char *coding, char **copy, const char ***names) {
    int n = 0;
    *copy = strdup(strchr(coding, '\t') ? strchr(coding, '\t') + 1 : "");
    for (const char *s = coding; *s; s++) n += *s == '\t';
    *names = malloc((size_t)(n + 1) * sizeof **names);
    if (!*copy || !*names) return 0;
    char *rest = *copy;
    for (int k = 0; k < n; k++) (*names)[k] = strsep(&rest, "\t");
    return n;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static wick_status make_room(wick_context *ctx, const box_set *s, const char *data, boxed *b) {
    const size_t n = (size_t)b->n, bytes = picture_bytes(b);
    b->most = 1;
    for (int64_t i = 0; i < s->n; i++)
        if (s->pictures[i].n > b->most) b->most = s->pictures[i].n;
    const size_t boxes = (size_t)b->most * BOX_WIDTH;
    if (bytes < SIZE_MAX / 2 / n && boxes < SIZE_MAX / 8 / n) {
        b->pixels = malloc(n * bytes);
        b->boxes = malloc(n * boxes * sizeof *b->boxes);
        b->sizes = malloc(n * 2 * sizeof *b->sizes);
    }
    if (b->pixels && b->boxes && b->sizes) return WICK_OK;
    return wick_context_fail(ctx, WICK_ERR_NOMEM, "%s: out of memory: %zu pictures of %zu bytes", data, n, bytes);
}

/* Picture i, of the size of the first, or that which the context asks for. */
static wick_status take_picture(wick_context *ctx, box_set *s, int64_t i, const char *data, bool letterbox, boxed *b,
                                int64_t *cut) {
    const wick_pictures how = wick_context_pictures(ctx);
    wick_image *image;
    wick_status status = wick_image_open(ctx, s->pictures[i].path, i ? b->dims[0] : 0, &image);
    if (status != WICK_OK) return status;
    const int64_t *d = wick_image_dims(image);
    if (!i) {
        memcpy(b->dims, d, sizeof b->dims);
        if (how.height) b->dims[1] = how.height, b->dims[2] = how.width;
        status = make_room(ctx, s, data, b);
    }
    if (status == WICK_OK && !how.height && (d[1] != b->dims[1] || d[2] != b->dims[2]))
        status = wick_context_fail(ctx, WICK_ERR_SHAPE, "%s: %lld x %lld pixels, and the first picture has %lld x %lld",
                                   s->pictures[i].path, (long long)d[1], (long long)d[2], (long long)b->dims[1],
                                   (long long)b->dims[2]);
    if (status == WICK_OK) status = box_set_place(ctx, s, i, d[1], d[2], cut);
    if (status == WICK_OK) {
        const box_fit fit = box_fit_of(letterbox, d[1], d[2], b->dims[1], b->dims[2]);
        float *to = b->boxes + i * b->most * BOX_WIDTH;
        for (int64_t k = 0; k < b->most; k++, to += BOX_WIDTH) {
            const box *from = k < s->pictures[i].n ? &s->boxes[s->pictures[i].first + k] : NULL;
            for (int side = 0; side < 4; side++) to[side] = from ? (float)from->at[side] : -1;
            to[4] = from ? (float)from->class : -1;
            if (from) box_fit_points(&fit, false, 2, 2, to);
        }
        b->sizes[2 * i] = d[1], b->sizes[2 * i + 1] = d[2];
        status = box_fit_picture(ctx, image, 0, &fit, (uint8_t *)at(b, i, 0));
    }
    wick_image_free(&image);
    return status;
}

static void tell(const char *data, const box_place *place, const box_set *s, const boxed *b, bool letterbox,
                 int64_t cut) {
    int64_t bare = 0, other = 0;
    for (int64_t i = 0; i < s->n; i++) {
        bare += !s->pictures[i].n;
        other += b->sizes[2 * i] != b->dims[1] || b->sizes[2 * i + 1] != b->dims[2];
    }
    log_note("%s: %lld picture%s with %lld box%s of %d class%s, by %s; at most %lld in a picture", data,
             (long long)s->n, plural(s->n), (long long)s->n_boxes, s->n_boxes == 1 ? "" : "es", s->n_classes,
             s->n_classes == 1 ? "" : "es", box_forms[place->form], (long long)b->most);
    if (other)
        log_note("%lld pictures are %s to %lld x %lld pixels, and their boxes with them", (long long)other,
                 letterbox ? "fitted, with grey bars," : "stretched", (long long)b->dims[1], (long long)b->dims[2]);
    if (bare)
        log_note("%lld picture%s no box: nothing is to be found there", (long long)bare, bare == 1 ? " has" : "s have");
    if (s->crowds) log_note("%lld boxes around crowds are left out", (long long)s->crowds);
    if (cut)
        log_note("%lld box%s out of the picture by up to a pixel, and %s cut off at its edge", (long long)cut,
                 cut == 1 ? " reaches" : "es reach", cut == 1 ? "is" : "are");
    if (s->others[0]) log_note("%s: columns that are passed over: %s", place->file, s->others);
}

static wick_status take_pictures(wick_context *ctx, const char *data, const box_place *place, box_set *s,
                                 bool letterbox, bool told, boxed *b) {
    int64_t cut = 0;
    wick_status status = WICK_OK;
    b->n = s->n;
    for (int64_t i = 0; i < s->n && status == WICK_OK; i++) status = take_picture(ctx, s, i, data, letterbox, b, &cut);
    s->shares = false;
    if (status == WICK_OK && !told) tell(data, place, s, b, letterbox, cut);
    return status;
}

bool source_is_boxed(const wick_dataset *d) {
    const wick_spec *f = wick_dataset_field(d, 1);
    return f && f->dtype == WICK_F32 && f->rank == 2 && strcmp(f->name, "boxes") == 0;
}

bool source_has_boxes(const char *data, const char *split, char separator) {
    box_place place;
    return box_find(data, split, separator, &place);
}

/* Whether all of the data is in one place, whose file does not say which part a picture is of. */
bool source_boxes_are_whole(const char *data, char separator) {
    box_place place;
    bool parted = false;
    if (!box_find(data, "test", separator, &place) || !place.whole) return false;
    return place.form != BOX_CSV || (box_is_csv(place.file, separator, &parted) && !parted);
}

bool source_boxes_have_part(wick_context *ctx, const char *data, const char *split) {
    box_place place;
    box_set s;
    bool parted = false;
    if (!box_find(data, split, 0, &place)) return false;
    if (!place.whole) return true;
    if (place.form != BOX_CSV || !box_is_csv(place.file, 0, &parted) || !parted) return false;
    const wick_status status = box_read(ctx, data, split, &place, 0, 0, NULL, &s);
    if (status == WICK_OK)
        box_set_free(&s);
    else
        wick_context_clear_error(ctx);
    return status != WICK_ERR_IO; /* what is wrong with its rows is said where they are read */
}

static wick_status keep_names(wick_context *ctx, const char *data, const box_set *s, owned *o) {
    const char **names = malloc((size_t)(s->n_classes + 1) * sizeof *names);
    if (!names) return box_out_of_memory(ctx, data);
    for (int k = 0; k < s->n_classes; k++) names[k] = s->classes[k];
    const wick_status status = source_keep_names(ctx, data, names, s->n_classes, o);
    free(names);
    return status;
}

static wick_status make_set(wick_context *ctx, const char *data, const char *split, const source_options *so,
                            const box_place *place, box_set *s, owned *o) {
    bool letterbox = so->letterbox;
    int64_t most;
    boxed *b = calloc(1, sizeof *b);
    if (!b) return box_out_of_memory(ctx, data);
    if (so->coding) (void)source_read_box_coding(so->coding, &letterbox, &most);
    wick_status status = take_pictures(ctx, data, place, s, letterbox, so->coding || so->told, b);
    if (status == WICK_OK && !s->n_boxes && !so->coding)
        status = wick_context_fail(ctx, WICK_ERR_FORMAT,
                                   "%s: no picture of \"%s\" has a box: there is nothing to learn", data, split);
    if (status == WICK_OK) status = keep_names(ctx, data, s, o);
    if (status == WICK_OK && !(o->coding = write_coding(s, letterbox, b->most))) status = box_out_of_memory(ctx, data);
    const wick_dataset_source source = {.count = b->n,
                                        .n_fields = 3,
                                        .fields = {{"image", WICK_U8, 3, {b->dims[0], b->dims[1], b->dims[2]}},
                                                   {"boxes", WICK_F32, 2, {b->most, BOX_WIDTH}},
                                                   {"size", WICK_I64, 1, {2}}},
                                        .get = get,
                                        .at = at,
                                        .free = drop,
                                        .user = b};
    if (status == WICK_OK) status = wick_dataset_new(ctx, &source, &o->set);
    if (status != WICK_OK) drop(b);
    return status;
}

/* What is wrong with a table that should have boxes. WICK_ERR_IO: there is no table. */
static wick_status blame_table(wick_context *ctx, const char *data, const char *split, char separator) {
    char *file = source_find_file(data, split);
    box_set s = {0};
    wick_status status = WICK_ERR_IO;
    if (file && (source_ends(file, ".csv") || source_ends(file, ".tsv")))
        status = box_read_csv(ctx, file, split, separator, &s);
    box_set_free(&s);
    free(file);
    return status;
}

wick_status source_open_boxes(wick_context *ctx, const char *data, const char *split, const source_options *so,
                              owned *o, bool *whole) {
    box_place *place = malloc(sizeof *place);
    box_set s = {0};
    char *copy = NULL;
    const char **names = NULL;
    bool letterbox;
    int64_t most;
    if (!place) return box_out_of_memory(ctx, data);
    wick_status status = WICK_OK;
    if (so->coding && !source_read_box_coding(so->coding, &letterbox, &most))
        status =
            wick_context_fail(ctx, WICK_ERR_MISMATCH, "%s: has boxes, and the model learned from other data", data);
    else if (!box_find(data, split, so->separator, place))
        status = blame_table(ctx, data, split, so->separator);
    if (status == WICK_ERR_IO)
        status = wick_context_fail(ctx, WICK_ERR_IO,
                                   "%s: has no boxes for %s: a table %s.csv of path, class, xmin, ymin, xmax, ymax; "
                                   "COCO's %s.json; or a .txt (YOLO) or .xml (VOC) for each picture, in %s/images and "
                                   "%s/labels or beside it",
                                   data, split, split, split, split, split);
    const int n = status == WICK_OK && so->coding ? read_classes(so->coding, &copy, &names) : 0;
    if (status == WICK_OK && so->coding && !n) status = box_out_of_memory(ctx, data);
    if (status == WICK_OK) status = box_read(ctx, data, split, place, so->separator, n, names, &s);
    if (status == WICK_OK) {
        *whole = place->whole && !s.parted;
        status = make_set(ctx, data, split, so, place, &s, o);
    }
    box_set_free(&s);
    free(copy);
    free(names);
    free(place);
    return status;
}
