/* classifier_data.c: the data sets that a classifier looks at: opened as it learned to read its own, and checked to fit
 * it. */
#include "classifier_parts.h"

#include "class_folders.h"
#include "identity.h"
#include "source_kinds.h"
#include "../options.h"
#include "../paths.h"
#include "../onnx/ports.h"
#include "../term/log.h"

#include <stdlib.h>
#include <string.h>

int classifier_transform(const classifier *c, const wick_dataset *dataset, wick_transform **out) {
    *out = NULL;
    if (!c->transform) return CLI_OK;
    const wick_transform_options options = {.still = true, .rate = (double)wick_dataset_rate(dataset)};
    const wick_status status = wick_transform_new(c->ctx, c->transform, &options, wick_dataset_field(dataset, 0), out);
    return status == WICK_OK ? CLI_OK
                             : log_fail(log_code(status, CLI_USAGE), "--transform: %s", log_why(c->ctx, status));
}

/* Dims of a sample as the network gets it. */
int classifier_sample_dims(const classifier *c, const wick_dataset *dataset, int *rank, int64_t dims[WICK_MAX_DIMS],
                           int64_t *pixels) {
    wick_transform *t;
    const int code = classifier_transform(c, dataset, &t);
    if (code != CLI_OK) return code;
    const wick_spec spec = t ? *wick_transform_output(t) : *wick_dataset_field(dataset, 0);
    wick_transform_free(&t);
    *rank = spec.rank;
    *pixels = 1;
    for (int i = 0; i < spec.rank; i++) *pixels *= dims[i] = spec.dims[i];
    if (spec.rank && spec.dims[0] < 0)
        return log_fail(CLI_USAGE, "the samples have lengths of their own, and the network takes one: --transform "
                                   "with fit=N or window=N makes them alike");
    return CLI_OK;
}

/* A set whose classes are only numbered may be a set of anything: fashion-mnist's model would measure mnist. */
static void note_names(const classifier *c, const wick_dataset *dataset, const char *name) {
    if (!c->class_names) return;
    for (int64_t k = 0; k < wick_dataset_classes(dataset); k++) {
        const char *theirs = wick_dataset_class_name(dataset, k), *ours = c->class_names[k];
        if (strcmp(theirs, ours) == 0) continue;
        log_note("class %lld is '%s' in %s, and '%s' to the model: they are matched by their numbers", (long long)k,
                 theirs, name, ours);
        return;
    }
}

/* An ONNX file by itself takes the images of any set that can be made what it takes. */
static void take_images(classifier *c, const wick_dataset *dataset) {
    classifier as = *c;
    as.rank = wick_dataset_rank(dataset), as.pixels = 1;
    for (int i = 0; i < as.rank; i++) as.pixels *= as.dims[i] = wick_dataset_dims(dataset)[i];
    if (!c->onnx || c->data[0] || !as.pixels) return;
    if (wick_dataset_field(dataset, 0)->dtype == WICK_F32) { /* numbers are given as they are */
        c->floats = as.pixels == c->pixels && as.rank == c->rank;
        return;
    }
    if (as.pixels == c->pixels) {
        as.last = as.rank == 3 && c->rank == 3 && classifier_is_turned(c->dims, as.dims);
        if (as.last) *c = as;
    } else if (classifier_can_be_resized(&as, c->rank, c->dims)) {
        *c = as;
        classifier_tell_resized(c);
    }
}

int classifier_take(classifier *c, const wick_dataset *dataset, const char *name) {
    take_images(c, dataset);
    classifier_size_boxes(c, dataset);
    return classifier_check_dataset(c, dataset, name);
}

/* ---- how pictures are read --------------------------------------------------------------------------------------- */

int classifier_read_size(const char *text, const char *whose, int blame, int64_t size[2]) {
    char *end = (char *)text;
    size[0] = size[1] = 0;
    if (!*text) return CLI_OK;
    size[0] = size[1] = strtoll(text, &end, 10);
    if (end != text && (*end == 'x' || *end == ',')) {
        const char *width = end + 1;
        size[1] = strtoll(width, &end, 10);
        if (end == width) size[1] = 0;
    }
    if (*end || size[0] < 1 || size[1] < 1 || size[0] > CLASSIFIER_MOST_PIXELS / size[1])
        return log_fail(blame, "%s--image-size '%s' is no height and width in pixels, such as 224x224", whose, text);
    return CLI_OK;
}

/* Of a port [N, C, H, W] or [N, H, W, C], or without C. */
static bool port_size(const wick_onnx_port *p, int64_t size[2]) {
    const int r = p->rank;
    if (p->kind != WICK_VALUE_TENSOR || r < 3 || r > 4) return false;
    const bool last = r == 4 && (p->dims[3] == 1 || p->dims[3] == 3) && p->dims[1] != 1 && p->dims[1] != 3;
    size[0] = p->dims[last ? 1 : r - 2], size[1] = p->dims[last ? 2 : r - 1];
    return size[0] > 0 && size[1] > 0 && size[0] <= CLASSIFIER_MOST_PIXELS / size[1];
}

bool classifier_onnx_size(wick_context *ctx, const char *path, int64_t size[2]) {
    wick_onnx *onnx;
    if (wick_onnx_open(ctx, path, NULL, &onnx) != WICK_OK) return false;
    const wick_onnx_port p = wick_onnx_inputs(onnx) == 1 ? wick_onnx_input(onnx, 0) : (wick_onnx_port){.rank = -1};
    const bool known = port_size(&p, size);
    wick_onnx_free(&onnx);
    return known;
}

/* An ONNX file by itself resizes in its graph what has one size. */
void classifier_set_pictures(const classifier *c) {
    wick_pictures how = wick_context_pictures(c->ctx);
    how.as_stored |= c->as_stored;
    if (c->data[0] && c->rank == 3 && !c->floats) how.height = c->dims[1], how.width = c->dims[2];
    wick_context_set_pictures(c->ctx, how);
}

int classifier_pictures_of(classifier *c, const cli_options *o) {
    static const char *const of_files[] = {"as-stored", "image-size"};
    for (int i = 0; i < 2 && c->data[0]; i++)
        if (options_given(o, of_files[i]))
            return log_fail(CLI_USAGE, "--%s is for an ONNX file: %s says itself how pictures are read", of_files[i],
                            o->model);
    int64_t size[2];
    const int code = classifier_read_size(o->image_size, "", CLI_USAGE, size);
    wick_context_set_pictures(c->ctx, (wick_pictures){.as_stored = o->as_stored, .height = size[0], .width = size[1]});
    if (code == CLI_OK) classifier_set_pictures(c);
    return code;
}

bool classifier_has_own(const classifier *c, const char *data) {
    return c->data[0] && (strcmp(c->data, data) == 0 || path_same(c->data, data));
}

/* ---- whether they are what they were ------------------------------------------------------------------------------
 */

const char *const classifier_parts[CLASSIFIER_PARTS] = {"train", "test", "val"};

int classifier_identify(classifier *c, const char *data, const char *chosen) {
    const char *places[CLASSIFIER_PARTS];
    const wick_status status = source_place(c->ctx, data, &places[0]);
    if (status != WICK_OK) return log_fail(log_code(status, CLI_BAD_FILE), "%s", log_why(c->ctx, status));
    places[1] = places[2] = places[0];
    const char *part = source_validation_part(c->ctx, places[0]);
    if (chosen && strcmp(chosen, "test") != 0 && !(part && strcmp(chosen, part) == 0)) {
        const char *place;
        if (source_place(c->ctx, chosen, &place) == WICK_OK && path_exists(place)) places[2] = place;
    }
    for (int i = 0; i < CLASSIFIER_PARTS; i++) {
        const bool none = i == 2 && places[2] == places[0] && !part;
        free(c->identities_of[i]);
        c->identities_of[i] = none ? NULL : identity_of(places[i], classifier_parts[i]);
    }
    if (places[2] != places[0] && c->identities_of[2]) {
        char *plain = c->identities_of[2];
        if (asprintf(&c->identities_of[2], "@%s", plain) < 0) c->identities_of[2] = NULL;
        free(plain);
    }
    return CLI_OK;
}

/* Which part a split is of, where its samples are told by their places: those held out of the training are of it. */
static int part_of(const classifier *c, const char *split) {
    if (strcmp(split, "test") == 0) return 1;
    return strcmp(split, "train") == 0 || strcmp(split, "all") == 0 || c->validation > 0 ? 0 : 2;
}

bool classifier_note_changed(classifier *c, const char *data, const char *split) {
    const int part = part_of(c, split);
    const char *then = c->identities_of[part], *place;
    if (!then || *then == '@' || !classifier_has_own(c, data) || source_place(c->ctx, data, &place) != WICK_OK)
        return false;
    char *now = identity_of(place, classifier_parts[part]);
    const bool changed = now && strcmp(then, now) != 0,
               apart = part == 1 && c->identities_of[0] && strcmp(c->identities_of[0], then) != 0;
    free(now);
    if (changed && !c->changed)
        log_warn(apart
                     ? "%s has changed since the training: its test samples are not those of the training"
                     : "%s has changed since the training: what was held out then is not what is held out now, and "
                       "samples that the model learned from may be among those that are measured. Figures of data that "
                       "it never saw need a file of their own (--data)",
                 data);
    c->changed |= changed;
    return changed;
}

/* An ONNX file that keeps the coding of a table takes rows that are coded already, too: as tensors. */
static const char *coding_for(const classifier *c, const char *place, const char *split) {
    if (!c->onnx || c->data[0] || !c->coding) return c->coding;
    char *file = source_find_file(place, split);
    const bool tensors = file && (source_ends(file, ".npz") || source_ends(file, ".safetensors"));
    free(file);
    return tensors ? NULL : c->coding;
}

static wick_status open_part(const classifier *c, const char *data, const char *split, const source_options *form,
                             wick_dataset **out) {
    source_options so = form ? *form : (source_options){0};
    const char *place;
    wick_status status = source_place(c->ctx, data, &place);
    if (status != WICK_OK) return status;
    so.label = c->label;
    so.rate = c->rate;
    so.coding = coding_for(c, place, split);
    so.classes = c->classes;
    so.task = c->task->kind;
    so.window = c->window, so.horizon = c->horizon;
    so.pictures = !c->floats && c->coding && strncmp(c->coding, "\"table\"", 7) == 0;
    so.unlabelled = (so.unlabelled || c->task->kind == TASK_AUTOENCODE) && so.coding;
    if (!so.separator) so.separator = c->separator;
    if (!so.decimal) so.decimal = c->decimal;
    so.no_header |= c->no_header;
    classifier_set_pictures(c);
    wick_pictures how = wick_context_pictures(c->ctx);
    int64_t size[2];
    if (!how.height && c->onnx &&
        class_folders_are(c->ctx,
                          data)) { /* decoded when they are asked for: the size can't wait for the first that differs */
        const wick_onnx_port p = wick_onnx_input(c->onnx, 0);
        if (port_size(&p, size)) how.height = size[0], how.width = size[1];
        wick_context_set_pictures(c->ctx, how);
    }
    status = source_open(c->ctx, place, split, &so, NULL, out);
    if (status == WICK_ERR_SHAPE &&
        !how.height) { /* pictures of several sizes: they get the one that an ONNX file takes */
        const wick_onnx_port p = c->onnx ? wick_onnx_input(c->onnx, 0) : (wick_onnx_port){.rank = -1};
        char why[1024];
        snprintf(why, sizeof why, "%s", wick_context_error(c->ctx));
        if (!port_size(&p, size))
            return wick_context_fail(c->ctx, WICK_ERR_FORMAT, "%s: --image-size HxW makes pictures alike", why);
        how.height = size[0], how.width = size[1];
        wick_context_set_pictures(c->ctx, how);
        status = source_open(c->ctx, place, split, &so, NULL, out);
    }
    if (status == WICK_OK && c->class_names)
        status = source_match_classes(c->ctx, data, c->class_names, c->classes, out);
    if (status != WICK_OK) wick_dataset_free(out);
    return status;
}

/* Of its own training samples those that it learned from, or those that were held out. */
wick_status classifier_open_split(const classifier *c, const char *data, const char *split, const source_options *form,
                                  wick_dataset **out) {
    const bool held = strcmp(split, "validation") == 0, parted = c->validation > 0 && classifier_has_own(c, data);
    *out = NULL;
    if (held && !parted) {
        const char *place, *part = NULL;
        if (source_place(c->ctx, data, &place) == WICK_OK) part = source_validation_part(c->ctx, place);
        return part ? open_part(c, data, part, form, out)
                    : wick_context_fail(c->ctx, WICK_ERR_INVALID,
                                        "%s has no validation part, and of other data the model held none out", data);
    }
    if (!parted || (!held && strcmp(split, "train") != 0)) return open_part(c, data, split, form, out);
    wick_status status = open_part(c, data, "train", form, out);
    const int64_t gap = c->window                          ? c->horizon - 1
                        : c->task->kind == TASK_EMBED      ? SOURCE_BY_CLASS
                        : c->task->kind == TASK_AUTOENCODE ? SOURCE_MIXED
                                                           : SOURCE_NO_ORDER;
    if (status == WICK_OK && c->limit > 0) status = wick_dataset_limit(c->ctx, *out, c->limit);
    if (status == WICK_OK) status = source_hold_out(c->ctx, data, c->validation, gap, held, out);
    if (status != WICK_OK) wick_dataset_free(out);
    return status;
}

bool classifier_has_copy(const classifier *c, const char *place, bool *test) {
    char *now = c->identities_of[0] && source_is_file(place) ? identity_of(place, classifier_parts[0]) : NULL;
    const bool same = now && strcmp(now, c->identities_of[0]) == 0;
    *test = same && c->identities_of[1] && strcmp(now, c->identities_of[1]) == 0;
    free(now);
    return same;
}

/* Whether it is a table, and of no pictures. */
static bool is_table_of_numbers(const classifier *c, const char *place, const char *split, const source_options *form) {
    char *file = source_find_file(place, split), column[64];
    const bool table = file && (source_ends(file, ".csv") || source_ends(file, ".tsv") || source_is_relation(file));
    wick_csv_options how = {.separator = form ? form->separator : 0,
                            .decimal = form ? form->decimal : 0,
                            .no_header = form && form->no_header};
    if (table && !how.separator && source_is_tabbed(file)) how.separator = '\t';
    const bool numbers = table && !source_has_pictures(c->ctx, file, how, column);
    wick_context_clear_error(c->ctx);
    free(file);
    return numbers;
}

int classifier_open_data(classifier *c, const char *name, const char **split, bool chosen, const source_options *form,
                         wick_dataset **out) {
    if (c->onnx && !name[0] && !c->data[0])
        return log_fail(CLI_USAGE, "an ONNX file says nothing of data: give --data");
    const char *data = name[0] ? name : c->data, *other = strcmp(*split, "test") == 0 ? "train" : "test";
    const char *place;
    const wick_status there_is = source_place(c->ctx, data, &place);
    if (there_is != WICK_OK) return log_fail(log_code(there_is, CLI_BAD_FILE), "%s", log_why(c->ctx, there_is));
    const bool is_file = source_is_file(place),
               whole = (is_file && !source_is_divided(c->ctx, place)) || class_folders_are(c->ctx, place) ||
                       (c->task->kind == TASK_SEGMENT && source_masks_are_whole(c->ctx, place)) ||
                       (c->task->kind == TASK_DENSE && source_maps_are_whole(c->ctx, place)) ||
                       (c->task->kind == TASK_DETECT &&
                        source_boxes_are_whole(place, form ? form->separator : c->separator)) ||
                       (c->task->kind == TASK_KEYPOINTS &&
                        source_points_are_whole(place, form ? form->separator
                                                            : c->separator)); /* whole: has no parts of its own */
    if (strcmp(*split, "all") == 0 && !whole)
        return log_fail(
            CLI_USAGE,
            "--split all is for tables and tensors in a file of their own, and folders of classes; %s is none", data);
    if (c->onnx && !c->data[0] && !c->coding && is_table_of_numbers(c, place, *split, form))
        return log_fail(
            CLI_BAD_FILE,
            "%s: is a table, and wick doesn't find in this ONNX file how columns become numbers, nor what was "
            "learned of them: give the run that it was made of in its place, or, of classes, the rows as "
            "numbers (.npz with x, and y from 0 on)",
            data);
    log_note("reading %s", data);
    if (whole && !chosen && c->onnx && c->coding && !c->data[0])
        log_note("of %s is taken what a training on it would have held out; --split all takes all", data);
    if (whole && !chosen && c->data[0] && !classifier_has_own(c, data)) {
        bool test;
        const bool copy = classifier_has_copy(c, place, &test);
        if (!test) *split = "all";
        if (copy && !test)
            log_warn("all of %s was learned from: its test lay elsewhere, and figures of these are none of a test",
                     data);
        else
            log_note(
                copy ? "%s holds what the model was trained on: what was held out as test is taken; --split all takes "
                       "all"
                     : "%s is not what the model was trained on: all of it is taken; --split test takes a fifth",
                data);
    }
    classifier_note_changed(c, data, *split);
    if (is_file && !c->coding)
        log_note("the model keeps nothing of how columns are coded: those of %s are coded by themselves", data);
    wick_status status = classifier_open_split(c, data, *split, form, out);
    if (status == WICK_OK) {
        if (*wick_dataset_note(*out)) log_note("%s: %s", data, wick_dataset_note(*out));
        int code = classifier_take(c, *out, data);
        if (code == CLI_OK) note_names(c, *out, data);
        return code;
    }
    char why[2048];
    snprintf(why, sizeof why, "%s", log_why(c->ctx, status));
    wick_dataset *there;
    if (status != WICK_ERR_IO || is_file || classifier_open_split(c, data, other, form, &there) != WICK_OK)
        return log_fail(log_code(status, CLI_BAD_FILE), "%s", why);
    wick_dataset_free(&there);
    return log_fail(CLI_BAD_FILE, "%s has no %s images; for the others give --split %s (%s)", data, *split, other, why);
}

/* Extents but those of 1. */
static int real_extents(int rank, const int64_t *dims, int64_t out[WICK_MAX_DIMS]) {
    int n = 0;
    for (int i = 0; i < rank; i++)
        if (dims[i] != 1) out[n++] = dims[i];
    return n;
}

/* [28, 28] is [1, 28, 28], and what is flat has no shape; [8, 8, 3] is not [3, 8, 8], though it has as many numbers. */
static bool same_extents(const classifier *c, int rank, const int64_t *dims) {
    int64_t ours[WICK_MAX_DIMS], theirs[WICK_MAX_DIMS];
    const int n = real_extents(c->rank, c->dims, ours), m = real_extents(rank, dims, theirs);
    return n <= 1 || m <= 1 || (n == m && memcmp(ours, theirs, (size_t)n * sizeof *ours) == 0);
}

int classifier_check_dataset(const classifier *c, const wick_dataset *dataset, const char *name) {
    int64_t pixels = 1, dims[WICK_MAX_DIMS];
    int rank;
    if (c->floats != (wick_dataset_field(dataset, 0)->dtype == WICK_F32))
        return log_fail(CLI_BAD_FILE, "%s: its samples are %s, the model takes %s", name,
                        wick_dtype_name(wick_dataset_field(dataset, 0)->dtype), c->floats ? "f32" : "pixels, u8");
    const int code = classifier_sample_dims(c, dataset, &rank, dims, &pixels);
    if (code != CLI_OK) return code;
    if (wick_dataset_count(dataset) == 0)
        return log_fail(CLI_BAD_FILE, "%s holds no %ss of that part", name, source_noun(dataset));
    if (pixels != c->pixels)
        return log_fail(CLI_BAD_FILE, "the images of %s have %lld pixel%s, the model takes %lld", name,
                        (long long)pixels, plural(pixels), (long long)c->pixels);
    char has[WICK_MAX_DIMS * 24], takes[WICK_MAX_DIMS * 24];
    if (!same_extents(c, rank, dims) && !c->onnx)
        return log_fail(CLI_BAD_FILE, "the samples of %s are [%s], the model takes [%s]", name,
                        classifier_extents(rank, dims, has), classifier_extents(c->rank, c->dims, takes));
    const wick_spec *second = wick_dataset_field(dataset, 1);
    const bool numbers =
                   c->task->kind == TASK_REGRESS || c->task->kind == TASK_MULTI_LABEL || c->task->kind == TASK_HEADS,
               targets = second && second->dtype == WICK_F32 && second->rank == 1;
    const bool boxed = source_is_boxed(dataset);
    if (boxed != (c->task->kind == TASK_DETECT))
        return log_fail(CLI_BAD_FILE, "%s: its samples have %s boxes, and the model learned %s of each", name,
                        boxed ? "" : "no", boxed ? "something else" : "boxes");
    if (source_is_pointed(dataset) != (c->task->kind == TASK_KEYPOINTS))
        return log_fail(CLI_BAD_FILE, "%s: its samples have %s points, and the model learned %s of each", name,
                        source_is_pointed(dataset) ? "" : "no",
                        source_is_pointed(dataset) ? "something else" : "points");
    if (source_is_mapped(dataset) != (c->task->kind == TASK_DENSE))
        return log_fail(CLI_BAD_FILE, "%s: its samples have %s maps, and the model learned %s of each", name,
                        source_is_mapped(dataset) ? "" : "no", source_is_mapped(dataset) ? "something else" : "a map");
    if (source_is_paired(dataset) != (c->task->kind == TASK_TRACK))
        return log_fail(CLI_BAD_FILE, "%s: its samples are %s of pictures, and the model learned from %s", name,
                        source_is_paired(dataset) ? "pairs" : "no pairs",
                        source_is_paired(dataset) ? "others" : "pairs");
    const bool masked = source_is_masked(dataset), masks = c->task->kind == TASK_SEGMENT;
    if (source_is_tagged(dataset) != (c->task->kind == TASK_TAG))
        return log_fail(CLI_BAD_FILE, "%s: its samples have %s tags of words, and those that the model learned from %s",
                        name, source_is_tagged(dataset) ? "" : "no", source_is_tagged(dataset) ? "have none" : "have");
    if (source_is_lined(dataset) != (c->task->kind == TASK_CTC))
        return log_fail(CLI_BAD_FILE, "%s: its samples have %s texts to read, and those that the model learned from %s",
                        name, source_is_lined(dataset) ? "" : "no", source_is_lined(dataset) ? "have none" : "have");
    if (masked != masks)
        return log_fail(CLI_BAD_FILE, "%s: its samples have %s masks, and the model learned %s of each", name,
                        masked ? "" : "no", masks ? "the classes of pixels" : "no masks");
    if (numbers != targets || (targets && second->dims[0] != c->classes))
        return log_fail(CLI_BAD_FILE, "%s: its samples have %s, and the model learned %lld %s of each", name,
                        targets ? "other numbers to learn" : "classes", (long long)c->classes,
                        numbers ? "numbers" : "classes");
    if (!c->class_names || numbers) return CLI_OK; /* its classes, if there are such, are no part of the model */
    if (wick_dataset_classes(dataset) > c->classes)
        return log_fail(CLI_BAD_FILE, "%s has %lld classes, the model knows %lld", name,
                        (long long)wick_dataset_classes(dataset), (long long)c->classes);
    /* Classes that are only numbered, as in IDX files, fit any names. */
    for (int64_t k = 0; k < wick_dataset_classes(dataset); k++) {
        char number[24];
        snprintf(number, sizeof number, "%lld", (long long)k);
        const char *theirs = wick_dataset_class_name(dataset, k), *ours = c->class_names[k];
        if (strcmp(theirs, ours) != 0 && strcmp(theirs, number) != 0 && strcmp(ours, number) != 0)
            return log_fail(CLI_BAD_FILE, "class %lld is '%s' in %s, and '%s' to the model", (long long)k, theirs, name,
                            ours);
    }
    return CLI_OK;
}
