/* source_kinds.h: what the files of source.h share. */
#ifndef WICK_CLI_SOURCE_KINDS_H
#define WICK_CLI_SOURCE_KINDS_H

#include "source.h"

#include "wick/datasets.h"
#include "wick/weights.h"

/* A data set with all that it is made of; field `label` is the label. */
typedef struct owned {
    wick_dataset *set, *whole, *rest, *base; /* set is asked; the others it is made of */
    wick_csv *csv;
    int label;
    char *coding; /* what was learned of it; moves to the caller */
    char *names;  /* of classes, each with a zero behind it; NULL: the set's own */
    const char **class_names;
    int64_t *classes; /* what the set's classes become; NULL: they stay */
    bool divided;     /* the names in the file say what is training and what is test, and set is the one asked for */
    int64_t known;    /* how many classes there are with class_names */
    bool masks;       /* field `label` is a mask, a map, tags, boxes, points or a text */
    bool headed;      /* field `label` is of several heads */
    int size;         /* the field that says how large pictures are in their files; 0: none */
    bool targets;     /* field `label`, 0 where there is none, is of numbers, as many as class_names */
    uint64_t *hashes; /* of rows of a table, by which parts are drawn; NULL: by their places */
} owned;

/* Takes *o over where it succeeds. bare: there need be no label, or targets. */
wick_status source_wrap(wick_context *ctx, const owned *o, const char *path, bool bare, wick_dataset **out);
void source_drop(owned *o);

bool source_ends(const char *name, const char *end);
/* By which parts are drawn: the same for a name wherever it stands. */
uint64_t source_hash(const char *name);
/* Whether a column or tensor of that name is the class. label: --label, or NULL or "". */
bool source_is_label(const char *name, const char *label);
/* Training and test. */
wick_status source_split(wick_context *ctx, const wick_dataset *set, task_kind task, wick_dataset *parts[2]);
/* The same of rows of a table, by their hashes (source_rows.c). */
wick_status source_split_rows(wick_context *ctx, const uint64_t *hashes, const wick_dataset *set, task_kind task,
                              wick_dataset *parts[2]);
/* Makes o->hashes of the table's rows, unless the model, whose coding this is, was trained where they were split by
 * place. NULL: it is learned from. */
wick_status source_take_hashes(wick_context *ctx, const char *path, const wick_csv *csv, const char *coding, owned *o);
/* What should be classes: how many of them there are, and whether all are numbers, from low to high, and whole ones. */
typedef struct class_look {
    int64_t samples, classes;
    bool numbers, whole;
    double low, high;
} class_look;
/* Whether they are targets of a regression. */
bool source_are_targets(const class_look *look);
/* That they are taken so; asked: as --task says. */
void source_tell_targets(const char *path, const char *column, const class_look *look);
/* WICK_ERR_FORMAT, the context's error: they are as many as names are. */
wick_status source_check_names(wick_context *ctx, const char *path, const char *column, const class_look *look);
/* Numbers of rows from `first` on that are to be learned, [n, k]: each is finite, or of labels 0 or 1; else the
 * context's error names the place. */
wick_status source_check_targets(wick_context *ctx, const char *path, const char *const *names, const float *targets,
                                 int64_t first, int64_t n, int64_t k, bool labels);
/* Copies of the names, for as long as the set lives. */
wick_status source_keep_names(wick_context *ctx, const char *path, const char *const *names, int64_t n, owned *o);

/* Of a table whose rows lie in order of time: *o's set becomes that of its windows, or of the part that split says. */
wick_status source_make_windows(wick_context *ctx, const char *path, const char *split, const source_options *so,
                                bool parted, owned *o);
wick_status source_cut_identities(wick_context *ctx, const wick_dataset *set, double share, wick_dataset *parts[2]);
wick_status source_cut_in_time(wick_context *ctx, wick_dataset *all, double share, int64_t gap, wick_dataset *parts[2]);
/* Whether a column of the table, whose name column becomes, has names of pictures beside it. */
bool source_has_pictures(wick_context *ctx, const char *path, wick_csv_options form, char column[64]);
/* *o's set, of the table's rows, becomes that of their pictures. */
wick_status source_make_pictures(wick_context *ctx, const char *path, wick_csv_options form, const char *column,
                                 owned *o);
/* Whether the file is read as texts, by its columns and what is asked for; and whether it has a part to choose by. */
bool source_is_text(const char *path, const source_options *so);
bool source_text_has_val(wick_context *ctx, const char *path);
/* parted: it has training and test in it. */
wick_status source_open_text(wick_context *ctx, const char *path, const char *split, const source_options *so,
                             bool parted, owned *o);
/* Whether the table is of lines of text, by its columns and what is asked for. parted: it has training and test. */
bool source_has_lines(wick_context *ctx, const char *path, const source_options *so);
wick_status source_open_lines(wick_context *ctx, const char *path, const char *split, const source_options *so,
                              bool parted, owned *o);
/* Whether the data, or that part of them, are pictures with masks. */
bool source_has_masks(wick_context *ctx, const char *data, const char *split);
/* whole: they have no parts, and these are all of them. */
wick_status source_open_masks(wick_context *ctx, const char *data, const char *split, const source_options *so,
                              owned *o, bool *whole);
/* The same of maps. */
bool source_has_maps(wick_context *ctx, const char *data, const char *split);
wick_status source_open_maps(wick_context *ctx, const char *data, const char *split, const source_options *so, owned *o,
                             bool *whole);
/* The same of pairs of pictures. */
wick_status source_open_pairs(wick_context *ctx, const char *data, const char *split, const source_options *so,
                              owned *o, bool *whole);
/* A picture, of the height and width that the context asks for, or its own; size: its own. */
wick_status source_read_sized(wick_context *ctx, const char *file, int64_t channels, int64_t size[2], wick_image **out);
/* Picture i of several that have one size: the first one's, which it sets dims [channels, height, width] to. Of another
 * size: WICK_ERR_SHAPE. */
wick_status source_read_alike(wick_context *ctx, const char *file, int64_t i, int64_t dims[3], int64_t size[2],
                              wick_image **out);
wick_status source_open_boxes(wick_context *ctx, const char *data, const char *split, const source_options *so,
                              owned *o, bool *whole);
/* Whether there are boxes, or points, of that part, apart from others. */
bool source_boxes_have_part(wick_context *ctx, const char *data, const char *split);
bool source_points_have_part(wick_context *ctx, const char *data, const char *split);
wick_status source_open_points(wick_context *ctx, const char *data, const char *split, const source_options *so,
                               owned *o, bool *whole);
int64_t source_test_rows(int64_t rows); /* how many of such a table are forecast in the test: the last ones */
/* parted: the file has training and test in it. */
wick_status source_open_table(wick_context *ctx, const char *path, const source_options *so, bool parted, owned *o);
/* The same where several things are learned of each sample (source_heads.h); and whether columns that --target names
 * are of more than one kind, so that they are. */
wick_status source_open_headed_table(wick_context *ctx, const char *path, const source_options *so, bool parted,
                                     owned *o);
wick_status source_open_headed_tensors(wick_context *ctx, const char *path, const char *split, const source_options *so,
                                       bool parted, owned *o);
bool source_targets_differ(wick_context *ctx, const char *path, const source_options *so);
enum { SOURCE_BASE = 64 };
/* The name of an array without its split: "x" of x_train, "images" of train_images. false: it is not of that split. */
bool source_strip_split(const char *name, const char *split, char base[SOURCE_BASE]);
/* The split that names of arrays have, as close to the one asked for as there is; NULL: they have none. */
const char *source_split_named(const wick_weights *file, const char *split, bool *divided);
/* Whether a file of tensors has x_val and y_val beside those of train and test. */
bool source_has_val(wick_context *ctx, const char *path);
/* Several inputs: the arrays of the file that `names` lists with commas between, as a tensor [n, numbers], in which
 * they lie one behind the other. */
wick_status source_take_inputs(wick_context *ctx, const wick_weights *file, const char *path, const char *split,
                               const char *names, source_input list[SOURCE_MOST_INPUTS], int *n, wick_tensor **out);
/* As a coding of tensors; malloc'ed, NULL: out of memory. */
char *source_write_inputs(const source_input *list, int n);
wick_status source_open_tensors(wick_context *ctx, const char *path, const char *split, const source_options *so,
                                bool parted, owned *o);

#endif
