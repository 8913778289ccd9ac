/* classifier.h: a model together with what its checkpoint says about it: the network, the samples it takes and how they
 * are normalised, and what it learned of them (its task). Most are classifiers; those that are not have `task` say what
 * their numbers mean. */
#ifndef WICK_CLI_CLASSIFIER_H
#define WICK_CLI_CLASSIFIER_H

#include "../cli.h"
#include "meta.h"
#include "source.h"
#include "tasks/task.h"

#include "wick/data.h"
#include "wick/io.h"
#include "wick/onnx.h"
#include "wick/zoo.h"

/* The parts of data by which samples are told apart: learned from, tested, and chosen by where those lie apart. */
enum { CLASSIFIER_PARTS = 3 };
/* Metadata of an ONNX file of a table: as the coding and the names, with tabs between, of a checkpoint; of a regression
 * also as its loss, and a mean and a deviation for each target. */
#define CLASSIFIER_META_CODING "wick.coding"
#define CLASSIFIER_META_NAMES  "wick.classes"
#define CLASSIFIER_META_LOSS   "wick.loss"
#define CLASSIFIER_META_TARGET "wick.target"
#define CLASSIFIER_IDENTITY "identity."                      /* and a part, in metadata */
extern const char *const classifier_parts[CLASSIFIER_PARTS]; /* "train", "test", "val" */

typedef struct classifier {
    wick_context *ctx;
    wick_model *model;
    wick_shared_arena *arena; /* in which its compiled steps take turns; made with the first of them */
    wick_model *kept; /* has what classifier_state gives, where another model is trained; NULL: model */
    char *arch; /* as wick_zoo_find reads it, or "onnx:FILE" or "onnx:FILE,head" (with another head than the file's),
                   FILE beside the checkpoint */
    wick_onnx *onnx; /* that file, which then has the model; or NULL */
    bool last;       /* of images [C, H, W], the ONNX file takes [H, W, C] */
    int64_t net[3];  /* C, H, W that the ONNX file takes, where the images have others: they are resized, and a single
                        channel is given for each; 0: as they are */
    bool bounded;    /* set before classifier_adapt_onnx: what makes probabilities at its end stays */
    wick_network network;
    wick_function instead; /* what logits are in place of classifier_network; or NULL */
    void *instead_user;
    struct classifier *beside; /* another one that `instead` has a part of, prepared with this one; NULL: none */
    int rank; /* of one image */
    int64_t dims[WICK_MAX_DIMS];
    int64_t pixels;
    const task *task; /* never NULL */
    int64_t classes;  /* how many classes, targets, labels, or numbers of a sample there are; the network gives a number
                         for each, and of boxes five more */
    int64_t grid[2];  /* of boxes and points: rows and columns of what the network gives */
    int64_t boxes;    /* how many a sample of the data at hand has room for */
    bool letterbox;   /* pictures of another size keep their shape, with bars */
    double least, overlap; /* what is shown of boxes: those of a higher score, that overlap no likelier one by more */
    char *loss;    /* of regression, as --loss; else NULL */
    bool standard; /* each number of a sample has mean 0 and deviation 1 within the model, by the training samples */
    int64_t window, horizon; /* of a table in order of time, as --window and --horizon; 0: each row is a sample */
    double validation; /* the share of the training samples that was held out to choose the best epoch; 0: none, or they
                          are elsewhere */
    uint32_t onnx_crc; /* of the file that the network is of, and those beside it */
    double mean, deviation;
    bool as_stored;  /* pictures are not turned as their EXIF orientation says */
    bool floats;     /* samples are f32, as they are or as `transform` makes them; else pixels, by mean and deviation */
    char *transform; /* of floats; without chance where the model is tested or used. NULL: none */
    int64_t limit;   /* samples of each split that it was trained and chosen with; 0: all, or not known */
    int64_t rate; /* of recordings, samples a second: those that it is used on are resampled to it; 0: samples are none,
                     or stay as they are */
    char *label;  /* the column or tensor of the data that is the class, as --label; NULL: one of the usual */
    char *coding; /* what was learned of a table or of tensors, as source_open gives it; NULL: nothing */
    char separator, decimal; /* of a table, where the training was told; 0: found */
    bool no_header;
    char *names;              /* of the classes, targets or labels, with tabs between; "" of the others */
    const char **class_names; /* each by itself; NULL: there are none */
    struct heads *heads;      /* of several heads, which numbers are whose (heads.h); NULL: one thing is learned */
    const float *weights;     /* of the classes of places, while a step of the training is recorded; NULL: all are 1 */
    const char *text;         /* that is predicted at hand, or what it should be; NULL: none */
    int64_t steps;            /* of ctc: what the network gives */
    int64_t longest;          /* of ctc: how many characters a text of the data at hand has at most */
    int64_t beams;            /* of ctc, as --beams */
    int64_t embedding;        /* of embed, while it is made: as --embedding */
    int64_t identities;       /* of embed: how many it learned from */
    double margin;            /* of embed, while a step of the training is recorded: as --margin */
    const struct enrolled *enrolled; /* of embed: who is known; NULL: nobody */
    int64_t picture[2];       /* height and width of the picture at hand in its file; 0: as the network takes it */
    char *data;               /* the set it was trained on, as --data takes it */
    /* what identity_of said of that, by part, with a @ before where the part lies elsewhere; NULL: nobody knows */
    char *identities_of[CLASSIFIER_PARTS];
    bool changed;                          /* what was opened is that set, and no longer what it was */
} classifier;

/* A new one, for the samples of a data set and the task of *c, whose `task` and `loss` are set before. transform and
 * label: as --transform of floats and --label say, or "". Exit codes; what went wrong has been said. blame: the code
 * when the network is. */
int classifier_for_dataset(classifier *c, wick_context *ctx, const wick_dataset *dataset, const char *data,
                           const char *transform, const char *label, const char *arch, int blame);
/* A new one for those images, of an ONNX file at path. It gets a fresh head if it has not as many outputs as there are
 * classes, or head asks for it. */
int classifier_for_onnx(classifier *c, wick_context *ctx, const wick_dataset *dataset, const char *data,
                        const char *path, bool head, int blame);
/* Such a file by itself, to be trained: `classes` of them, or (0) as many as it has outputs. Between the two calls
 * c->rank, dims and pixels may be set to what images are, where the file leaves it open. */
int classifier_open_onnx(classifier *c, wick_context *ctx, const char *path, const wick_onnx_limits *limits);
int classifier_adapt_onnx(classifier *c, const char *path, int64_t classes, bool head);
/* What --input-range says, instead of what the data or the checkpoint say. "" and "auto" change nothing. An input of
 * integers has pixels as bytes, and no range that makes fractions. */
int classifier_set_range(classifier *c, const char *text, const char *whose, int blame);
/* Whether n samples, as the network gets them, are such that its input can hold them, where that is of integers. Exit
 * codes; what went wrong has been said. */
int classifier_check_samples(const classifier *c, const float *x, int64_t n);
/* Puts the ONNX file that it was made of, and the files beside it, into the folder, as classifier_build looks for them.
 */
int classifier_keep_onnx(const classifier *c, const char *path, const char *folder);
/* Before classifier_logits is recorded in a plan for a batch of n. A status of the context. */
wick_status classifier_prepare(classifier *c, int64_t n);
#define CLASSIFIER_ONNX "model.onnx" /* in the folder of a run */
/* A new one, for images of these extents ("3,32,32"), whose pixels and data set nobody knows. It has no parameters yet.
 */
int classifier_for_arch(classifier *c, wick_context *ctx, const char *arch, const char *dims, int64_t classes);
/* Whether a checkpoint says what wick train writes into its own. */
bool classifier_is_in(const wick_checkpoint *file);
/* The network of such a checkpoint, without its weights. */
int classifier_build(classifier *c, wick_context *ctx, const wick_checkpoint *file, const char *path);
/* Opens a checkpoint, or the best one in a run's folder; *path, malloc'ed, is its name. NULLs where it fails. */
int model_open(wick_context *ctx, const char *model, wick_checkpoint **file, char **path);
/* From what model_open opens, or from an ONNX file, which knows no names of classes and no data. */
int classifier_load(classifier *c, wick_context *ctx, const char *path);
void classifier_free(classifier *c);

/* What it keeps of the training samples beside the parameters, as states that travel with them: of each number of a
 * sample, and of each target. */
typedef enum classifier_states {
    STATE_MEAN,
    STATE_DEVIATION,
    STATE_TARGET_MEAN,
    STATE_TARGET_DEVIATION,
    CLASSIFIER_STATES
} classifier_states;
wick_tensor *classifier_state(classifier *c, classifier_states which);
/* What c->coding says of several heads; where the task has none, nothing. */
int classifier_read_heads(classifier *c, const char *whose);
/* Measures them on the samples that are learned from. Before an optimizer is made. Exit codes; what went wrong has been
 * said. */
int classifier_standardise(classifier *c, const wick_dataset *dataset);

int64_t classifier_parameters(const classifier *c); /* how many numbers are trained */
/* how many numbers a sample's targets are, where it has such */
int64_t classifier_target_width(const classifier *c);
int64_t classifier_network_outputs(const classifier *c); /* what "classes" in a network's text is */
/* How many boxes a sample of the data set has room for becomes c->boxes, before a plan for it is made. */
void classifier_size_boxes(classifier *c, const wick_dataset *dataset);
bool classifier_add_meta(const classifier *c, meta *list);
/* [n, dims...] f32 -> [n, classes]: what losses take. */
wick_tensor *classifier_logits(classifier *c, wick_tensor *x);
/* -> [n, width]: what people want, by the task: of classes the same, of regression the targets in their own units. */
wick_tensor *classifier_predictions(classifier *c, wick_tensor *x);
/* Another's samples, normalised as this one's were. */
wick_tensor *classifier_samples_of(const classifier *c, const classifier *other, wick_tensor *x);
/* Of these two parts: samples as the network takes them, standardised, or resized and turned for an ONNX file, and the
 * network, in integers where there is a quantizer. */
wick_tensor *classifier_prepared(classifier *c, wick_tensor *x);
wick_tensor *classifier_outputs(classifier *c, wick_tensor *prepared);
/* The network alone, in floats. */
wick_tensor *classifier_network(classifier *c, wick_tensor *x);
/* What the network takes for a batch of n. */
wick_spec classifier_network_spec(const classifier *c, int64_t n);
/* What a plan takes for a batch of n: images f32, and labels i64 or targets f32. */
void classifier_specs(const classifier *c, int64_t n, wick_spec specs[2]);
/* How the context reads pictures from now on: as the model's were, of its size. */
void classifier_set_pictures(const classifier *c);
/* The same with what eval and predict say of an ONNX file: --as-stored and --image-size. Exit codes. */
int classifier_pictures_of(classifier *c, const cli_options *o);
/* "224x224" or "224" as [height, width]; "" is 0, 0. Exit codes; what went wrong has been said. */
int classifier_read_size(const char *text, const char *whose, int blame, int64_t size[2]);
/* What pictures an ONNX file takes, as [height, width]; false: it doesn't say. */
bool classifier_onnx_size(wick_context *ctx, const char *path, int64_t size[2]);
/* Opens a split that the model is to look at, as it learned to read its own: "" is the data set it was trained on, of
 * which *split is taken; of another file all, which *split is then, unless it was asked for (chosen). form: what the
 * command line says of tables and tensors. An ONNX file by itself takes the images as they are in it from then on. */
int classifier_open_data(classifier *c, const char *name, const char **split, bool chosen, const source_options *form,
                         wick_dataset **out);
/* Is it by its path what the model was trained on? */
bool classifier_has_own(const classifier *c, const char *data);
/* Whether a file elsewhere has the bytes of the training's; *test: and of its test's, which was held out of it. */
bool classifier_has_copy(const classifier *c, const char *place, bool *test);
/* Keeps of data that are learned from by what they are known again. chosen: where samples lie that choose the best
 * epoch; NULL or no path: among the others. Exit codes. */
int classifier_identify(classifier *c, const char *data, const char *chosen);
/* Whether `data`, opened by path as the set that the model was trained on, are no longer what they were, as far as
 * `split` goes: then its samples may be others than those that the training held out. Says so, and sets c->changed. */
bool classifier_note_changed(classifier *c, const char *data, const char *split);
/* As wick_status source_open, by what the model learned, with its classes. "train" of its own data are those that it
 * learned from, "validation" those that were held out of them, or that part of other data. */
wick_status classifier_open_split(const classifier *c, const char *data, const char *split, const source_options *form,
                                  wick_dataset **out);
/* The transform of a data set's samples when they are looked at, *out NULL: none. Exit codes; what went wrong has been
 * said. */
int classifier_transform(const classifier *c, const wick_dataset *dataset, wick_transform **out);
/* From now on it takes the samples of that data set, if they fit: an ONNX file by itself, images that are resized. Exit
 * codes; what went wrong has been said. */
int classifier_take(classifier *c, const wick_dataset *dataset, const char *name);
/* Says, with an exit code, how a data set does not fit the model. */
int classifier_check_dataset(const classifier *c, const wick_dataset *dataset, const char *name);

#endif
