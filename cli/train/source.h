/* source.h: whatever a network can be trained on and tested with. */
#ifndef WICK_CLI_SOURCE_H
#define WICK_CLI_SOURCE_H

#include "../cli.h"

#include "wick/data.h"

/* What is learned of a sample: its class; numbers; which of several labels it has; the sample itself; the class of
 * each pixel, or of each word; a number for each pixel; where in a second picture is what the
 * first shows; where things are in it, as boxes or points; several of these at once; the text that it
 * shows; or who it is, among those that were never learned. */
typedef enum task_kind {
    TASK_AUTO,
    TASK_CLASSIFY,
    TASK_REGRESS,
    TASK_MULTI_LABEL,
    TASK_AUTOENCODE,
    TASK_SEGMENT,
    TASK_TAG,
    TASK_DETECT,
    TASK_KEYPOINTS,
    TASK_HEADS,
    TASK_CTC,
    TASK_EMBED,
    TASK_DENSE,
    TASK_TRACK
} task_kind;

/* How the samples are read, beyond where they are. Zero: as they say themselves. */
typedef struct source_options {
    const char *label; /* the column or tensor that is the class; NULL or "": "label", "labels", "class", "target" or
                          "y", or of a table the last one */
    int64_t rate;      /* of recordings, what they are resampled to; 0: they stay as they are */
    const char *skip;  /* columns of a table that are left out, a pattern; NULL or "": none */
    char separator, decimal; /* of a table; 0: found */
    bool no_header;
    const char *layout; /* of tensors of pictures, "nchw" or "nhwc"; NULL, "" or "auto": found */
    const char *coding; /* what source_open gave of the data that the model learned from: these are read as those were.
                           NULL: they are what is learned from */
    int64_t classes;    /* with a coding, how many the model knows; 0: as many as there are */
    bool unlabelled;    /* with a coding: samples need no class, which is -1 then */
    task_kind task;     /* AUTO: as the data look, which is said: classes, or numbers */
    const char *heads;  /* as --heads: several things that are learned at once; NULL or "": `target` says them */
    const char *target; /* columns of a table that are to be learned, with commas between, or a tensor; NULL or "": the
                           one that `label` says */
    bool pictures;      /* with a coding of a table: the model learned from pictures that a column names */
    int64_t window, horizon; /* of a table in order of time: so many rows are a sample, and the targets of so many rows
                                behind them are learned; 0: each row is a sample */
    const char *text, *tokens;  /* of texts, the column, and what is a token, as --text and --tokens */
    int64_t vocabulary, length; /* how many tokens are known, and of a text; 0: found */
    const char *inputs;         /* of tensors, as --inputs: those that a sample is made of; NULL or "": one */
    bool letterbox;             /* pictures that get another size keep their shape, with bars; without a coding */
    bool told;                  /* of a file that is no part of a folder: what is worth telling of it has been told */
} source_options;

/* What the options of a command say of it. An exit code; what went wrong has been said. */
int source_read_options(const cli_options *o, source_options *so);

/* Where data are on this machine: *place is `data` itself, or of a URL (http://, https://, s3://) its file. That is
 * fetched once a process, into the folder that wick/remote.h keeps files in. {a,b} and {000..127} in a URL stand for
 * several files, of which the place is a folder. It lives as long as the process. A failure is the context's error. */
wick_status source_place(wick_context *ctx, const char *data, const char **place);

/* What wick_dataset_open takes, images u8 in memory; else, as samples of two fields, what is learned from and "label",
 * i64 (of regression and several labels "target", f32 [n], whose names are those of the classes):
 *
 *   tables     FILE.csv or .tsv, or a folder with SPLIT.csv: "features", f32 [n]
 *   tensors    FILE.npz or .safetensors, or a folder with SPLIT.npz: one of them is the label, the other is learned
 *              from
 *   shards     a folder with SPLIT-*.tar, also .tar.gz and .tar.zst, as WebDataset lays them out
 *   files      a folder SPLIT/CLASS/NAME of recordings, f32 [-1], or pictures that are decoded when they are asked for;
 *              an archive or a record file of such
 *   texts      a table with a column of texts, or lines: "tokens", f32 [K, L]; with --task tag "tags", u8 [L]
 *   heads      a table or tensors of which several things are learned: "heads", f32 [n] (heads.h)
 *   lines      a table with a column of names of pictures or recordings beside it, and one of their texts: "image", u8
 *              [C, H, W], or "audio", f32 [-1], and "text", i64 [L]: symbols of the model, from 1 on, and behind them
 *              SOURCE_NO_LETTER; a character that is none of them is SOURCE_UNKNOWN less its code point
 *   masks      a folder of pictures and their masks (mask_pairs.h): "mask", u8 [H, W], in place of the label
 *   maps       a folder of pictures and a number for each of their pixels (source_maps.c): "map", f32 [H, W]
 *   pairs      a table of two pictures each (source_pairs.c): "image", u8 [2 C, H, W], and "box", f32 [1, 4]
 *   boxes      pictures and the boxes in them (boxes/box_set.h): "boxes", f32 [M, 5], in place of the label, and behind
 *              it "size", i64 [2], height and width as the picture's file has them
 *   points     a table, or COCO's JSON, of pictures and the points in them (boxes/point_table.h): "points", f32 [K, 3],
 *              and "size"
 *
 * A file that is no part of a folder has both splits: those of tensors x_train and x_test, or train_images and
 * test_images; else a fifth is "test": of a table the rows that their hashes choose (source_rows.c), of tensors a fifth
 * of each class, the same ones every time; "all" is all of it. *coding, malloc'ed,
 * is what was learned of a table or of tensors, NULL of others; it may be NULL. *out owns all that it is made of. A
 * failure is the context's error; WICK_ERR_IO: there is no such split. */
wick_status source_open(wick_context *ctx, const char *data, const char *split, const source_options *options,
                        char **coding, wick_dataset **out);
/* The task of such samples: what was asked for, or what they look like. */
task_kind source_task(const wick_dataset *dataset, task_kind asked);
/* Of samples that are all in one set, those that are held out for validation, a share of them, or the others: the same
 * ones every time, as many of each class. *set becomes that part; gap: as of source_cut. */
wick_status source_hold_out(wick_context *ctx, const char *data, double share, int64_t gap, bool held,
                            wick_dataset **set);
/* The two of them, which need the set; gap: of windows in order of time, how many between the parts belong to neither,
 * so that no row is on both sides of what is learned (the last ones are held out); SOURCE_NO_ORDER: samples in no
 * order; SOURCE_BY_CLASS: whole classes are held out, and numbered anew; SOURCE_MIXED: in no order, and where too few
 * are of each class, without regard to classes. */
enum { SOURCE_NO_ORDER = -1, SOURCE_BY_CLASS = -2, SOURCE_MIXED = -3 };
int64_t source_identities(const wick_dataset *set); /* how many classes have samples */
wick_status source_cut(wick_context *ctx, wick_dataset *set, double share, int64_t gap, wick_dataset *parts[2]);
/* The part of the data that is there to choose by, beside train and test; NULL: there is none. */
const char *source_validation_part(wick_context *ctx, const char *data);
/* Whether samples are pictures with masks; and whether data are such, without parts. */
bool source_is_masked(const wick_dataset *dataset);
bool source_masks_are_whole(wick_context *ctx, const char *data);
/* The same of pictures with maps, a number for each pixel; whether a coding is of such; and the unit of the numbers,
 * with a blank before it, "" where it has none. */
enum { SOURCE_UNIT = 40 };
bool source_is_mapped(const wick_dataset *dataset);
bool source_maps_are_whole(wick_context *ctx, const char *data);
bool source_is_map_coding(const char *coding);
const char *source_map_unit(const char *coding, char unit[SOURCE_UNIT]);
/* Whether samples are pairs of pictures with a box; and whether a coding is of such. */
bool source_is_paired(const wick_dataset *dataset);
bool source_is_pair_coding(const char *coding);
bool source_has_pairs(const char *data, const char *split, char separator);
/* Whether samples are pictures with boxes; whether data have such, and without parts. */
bool source_is_boxed(const wick_dataset *dataset);
bool source_has_boxes(const char *data, const char *split, char separator);
bool source_boxes_are_whole(const char *data, char separator);
enum { BOX_WIDTH = 5 /* numbers of a box */ };
/* The same of points; the coding says how pictures are fitted. */
bool source_is_pointed(const wick_dataset *dataset);
bool source_has_points(const char *data, const char *split, char separator);
bool source_has_coco_points(const char *data, const char *split); /* in COCO's JSON of keypoints */
/* Whether the file of the boxes is such a one. */
bool source_boxes_have_points(const char *data, const char *split, char separator);
bool source_points_are_whole(const char *data, char separator);
bool source_read_point_coding(const char *coding, bool *letterbox);
/* Of what source_open gave of boxes: how pictures are fitted, and how many boxes one has at most. False: it is of other
 * data. */
bool source_read_box_coding(const char *coding, bool *letterbox, int64_t *most);
/* Whether samples are texts with a tag for each word. */
bool source_is_tagged(const wick_dataset *dataset);
/* Whether several things are learned of each sample, which field 1, "heads", has. */
bool source_is_headed(const wick_dataset *dataset);
/* Of samples that are lines of text, and of what source_open gave of them: whether they are such; the longest text; a
 * text as it is, malloc'ed, names being those of the symbols, NULL: nobody says it, or out of memory. */
enum { SOURCE_NO_LETTER = -1, SOURCE_NO_TEXT = -2, SOURCE_UNKNOWN = -16 };
#define SOURCE_BLANK "(blank)" /* the name of symbol 0 */
bool source_is_lined(const wick_dataset *dataset);
bool source_is_line_coding(const char *coding);
int64_t source_line_longest(const char *coding);
char *source_line_text(const int64_t *labels, int64_t n, const char *const *names);
/* Picture i in [channels, height, width], as high as that and with its own proportions, or narrower where it is too
 * long; what is left at the right is as its top right pixel. */
wick_status source_fit_line(wick_context *ctx, const wick_image *image, int64_t i, int64_t height, int64_t width,
                            uint8_t *to);
/* One of several inputs: numbers first to first + count - 1 of a sample, in this shape. */
enum { SOURCE_MOST_INPUTS = 8, SOURCE_INPUT_NAME = 48, SOURCE_INPUT_DIMS = 3, SOURCE_MOST_NUMBERS = 1 << 24 };
typedef struct source_input {
    char name[SOURCE_INPUT_NAME];
    int tensor, rank; /* of the file; of a sample */
    int64_t first, count, dims[SOURCE_INPUT_DIMS];
} source_input;
/* The inputs that a coding of source_open tells of; 0: there is one, without a name. */
int source_read_inputs(const char *coding, source_input list[SOURCE_MOST_INPUTS]);
/* "input NAME" in the text of a network, in room for `size`, becomes the layer that takes it. False: there is no such
 * input, whose name is in `unknown`, or (then it is "") no room. */
bool source_fill_inputs(const char *coding, char *text, size_t size, char unknown[SOURCE_INPUT_NAME]);
/* Of what source_open gave of texts: whether it is that; how many tokens there are; the words of a sample, malloc'ed,
 * those that are not known as "?", NULL: out of memory. */
bool source_is_text_coding(const char *coding);
int64_t source_text_tokens(const char *coding);
char *source_text_words(const char *coding, const float *tokens);
/* The texts of a file's samples as they are written there, each malloc'ed, and so is the list; NULL: they can't be
 * read. */
char **source_texts(wick_context *ctx, const char *path, const char *coding, char separator, int64_t *n);
/* Whether it is the name of a file that is read as a table or as tensors. */
bool source_is_relation(const char *path); /* .arff or .ts: tables that say their own types */
bool source_is_file(const char *data);
/* Whether it is a file of tensors with a training and a test set in it, as x_train and x_test. */
bool source_is_divided(wick_context *ctx, const char *path);
/* That file, or SPLIT.csv and so on of the folder; malloc'ed, NULL: none. */
char *source_find_file(const char *data, const char *split);
bool source_is_tabbed(const char *path); /* by its name, a table with tabs */
/* Makes the classes of *dataset those of the model, by their names. Numbers are taken as they are. A class that the
 * model does not know, and of which there is a sample, is an error. */
wick_status source_match_classes(wick_context *ctx, const char *data, const char *const *names, int64_t classes,
                                 wick_dataset **dataset);
/* Whether the samples are recordings. */
bool source_is_audio(const wick_dataset *dataset);
/* What a sample is: "image", "recording", "row", "window" or "sample". */
const char *source_noun(const wick_dataset *dataset);

#endif
