/* zoo.h: small networks by name, each with the data it learns from, the options that train it, and what it has to
 * reach. A model is a row of models.c; a set is prepared once from its public file into what wick train reads. Training
 * is wick train itself, in a process of its own. */
#ifndef WICK_CLI_ZOO_H
#define WICK_CLI_ZOO_H

#include "../train/evaluate.h"

/* How a model is judged, on the held-out part. */
typedef enum zoo_metric {
    ZOO_ACCURACY, /* the share of samples that are right; baseline: the commonest class of the training */
    ZOO_RECALL,   /* the mean of the classes' recalls; baseline: one class for all, 1 / classes */
    ZOO_F1,       /* of class 1, of two; baseline: everything is of class 1 */
    ZOO_MIOU,     /* of pixels; baseline: the commonest class of each place of the training's pictures */
    ZOO_AUC,      /* area under the ROC curve of class 1, of two; baseline: one score for all, 0.5 */
    ZOO_SI_SDR,   /* of waveforms, in dB above that of the noisy input; baseline: the input as it is, 0 */
    ZOO_ROUGE,    /* ROUGE-1 of the sentence that is picked beside the summary; baseline: the first sentence */
    ZOO_SPAN_F1,  /* of the tags of words; baseline: the commonest tag that the word has in the training */
    ZOO_MAP50,    /* of boxes, COCO's; baseline: the mean box of each place, as likely as boxes are there */
    ZOO_DELTA,    /* of depth, the share of pixels within 1.25 times; baseline: the training's mean of each place */
    ZOO_IOU,      /* of the box in each pair of pictures, the mean; baseline: the training's mean box */
    ZOO_HEADS,    /* of several heads, the least share of what is wanted of each; baseline: the training's mean */
    ZOO_PCK,      /* of points, the share within a fifth of the box around them; baseline: the training's means */
    ZOO_MSE,      /* of a forecast, in squares of each target's deviation in the training; baseline: the last value */
    ZOO_CER,      /* of texts, in percent: edits of characters over characters; baseline: nothing is read */
    ZOO_MAPE,     /* of a forecast, in percent; baseline: the same time a day before */
    ZOO_NME       /* of points, mean distance in percent of that of the outer corners of the eyes; baseline: the mean
                     face of the training */
} zoo_metric;
extern const char *const zoo_metrics[]; /* their names */
bool zoo_lower_is_better(zoo_metric metric);

struct zoo_prep;
#define ZOO_MADE "made here" /* as a file: there is none, prepare makes the samples */
struct wick_file;
enum { ZOO_SOURCES = 3 };
/* A public data set, as its home has it or reduced (docs/zoo.md says how). */
typedef struct zoo_set {
    const char *file; /* below --data */
    const char *home, *licence;
    bool free; /* whether the licence, and that of sets with it, says that anyone may use it for anything */
    int (*prepare)(struct zoo_prep *p); /* NULL: no model learns from it yet */
} zoo_set;
extern const zoo_set zoo_set_skab, zoo_set_etth1, zoo_set_elecdemand, zoo_set_cwru, zoo_set_falls, zoo_set_activities,
    zoo_set_clothing, zoo_set_signs, zoo_set_digits, zoo_set_esc10, zoo_set_emodb, zoo_set_faces, zoo_set_intents,
    zoo_set_sentiment, zoo_set_languages, zoo_set_names, zoo_set_gait, zoo_set_health, zoo_set_streets, zoo_set_cells,
    zoo_set_words, zoo_set_voices, zoo_set_activity, zoo_set_enhancement, zoo_set_tunes, zoo_set_packages,
    zoo_set_scenes, zoo_set_clothes, zoo_set_numerals, zoo_set_figures, zoo_set_rooms, zoo_set_tracks;
/* Set i of those that one is made of, itself the first; NULL: there is none. */
const zoo_set *zoo_set_of(const zoo_set *set, int i);

typedef struct zoo_model {
    const char *id, *name, *doc;
    const char *input, *output; /* shapes, for people */
    const zoo_set *set;
    const char *split; /* what is held out */
    zoo_metric metric;
    double demand;
    const char *dims;   /* what the network takes, as --input of wick info */
    int64_t outputs;    /* classes or numbers; of boxes the network has five more */
    const char *net;    /* as --net */
    const char *recipe; /* lines of a file of options, as wick train --config reads it; without data and net */
} zoo_model;
extern const zoo_model zoo_models[]; /* the last has no id */
/* By id or name, whatever the case; NULL, and says so: there is none. */
const zoo_model *zoo_find(const char *name);
enum { ZOO_MOST_PARAMETERS = 100000 };
/* The parameters of its network, built for its shapes. An exit code; what went wrong has been said. */
int zoo_parameters(wick_context *ctx, const zoo_model *m, int64_t *parameters);

/* ---- preparing a set --------------------------------------------------------------------------------------------- */

enum { ZOO_PARTS = 3, ZOO_GROUP = 48 };
/* Who or what samples belong to: a person, a recording, a file, a stretch of time. */
typedef struct zoo_part {
    const char *name; /* "train", "validation", "test" */
    int64_t samples, n, room;
    char (*groups)[ZOO_GROUP]; /* n different ones */
} zoo_part;
typedef struct zoo_prep {
    wick_context *ctx;
    const zoo_set *set;
    const char *source;         /* the public file or folder */
    char *sources[ZOO_SOURCES]; /* that and those of the sets with it; NULL: none */
    const char *to;             /* the folder that wick train will read */
    const char *groups;         /* what a group is, for the manifest; the set's to fill in */
    bool shuffle;               /* labels of the training are dealt at random: nothing is to be learned */
    zoo_part parts[ZOO_PARTS];
} zoo_prep;
enum { ZOO_TRAIN, ZOO_VALIDATION, ZOO_TEST };
/* A sample of that part and group. An exit code; what went wrong has been said. */
int zoo_count_in(zoo_prep *p, int part, const char *group);
/* The group alone: of a sample that has several, all but the one that it is counted with. */
int zoo_group_in(zoo_prep *p, int part, const char *group);
uint64_t zoo_random(uint64_t *state);
double zoo_uniform(uint64_t *state); /* from 0 to 1, without it */
double zoo_between(uint64_t *state, double low, double high);
int64_t zoo_below(uint64_t *state, int64_t n); /* from 0 to n - 1 */
/* order[0..n-1] becomes a random order of them, the same one every time. */
void zoo_deal(int64_t *order, int64_t n);
/* A file of the prepared set. An exit code; what went wrong has been said. */
int zoo_put(const char *path, const void *data, size_t size);
/* What a library call came to, as an exit code, said. */
int zoo_checked(const zoo_prep *p, wick_status status);
int zoo_out_of_memory(void);
/* Prepares the set, unless the folder has it: *folder, malloc'ed. Refuses parts that share a group. */
int zoo_prepare(wick_context *ctx, const cli_options *o, const zoo_model *m, char **folder);

/* A table as its lines, which are cut within the text. Empty ones are passed over. */
typedef struct zoo_table {
    char *text;
    const char *head, **lines;
    int64_t n;
} zoo_table;
int zoo_read_table(const char *path, zoo_table *t); /* an exit code; what went wrong has been said */
void zoo_free_table(zoo_table *t);

/* prepare functions, by kind of file */
int zoo_prepare_folders(zoo_prep *p); /* archives and folders of pictures and recordings, with a class each */
int zoo_prepare_faces(zoo_prep *p);
int zoo_prepare_activity(zoo_prep *p);    /* speech with noise, and noise alone */
int zoo_prepare_enhancement(zoo_prep *p); /* speech with noise, and the same without */
int zoo_prepare_tunes(zoo_prep *p);       /* notes, which are played */
int zoo_prepare_packages(zoo_prep *p);    /* descriptions, sentence by sentence */
/* Where a file of such a set belongs, and whose it is, by its name; false: it is no part of the set. */
bool zoo_place(const zoo_set *set, const struct wick_file *file, int *part, char group[ZOO_GROUP]);
int zoo_prepare_streets(zoo_prep *p); /* pictures with masks */
int zoo_prepare_cells(zoo_prep *p);   /* and with boxes */
int zoo_prepare_etth1(zoo_prep *p);
int zoo_prepare_elecdemand(zoo_prep *p);
int zoo_prepare_skab(zoo_prep *p);
int zoo_prepare_cwru(zoo_prep *p);
int zoo_prepare_falls(zoo_prep *p);
int zoo_prepare_activities(zoo_prep *p);
int zoo_prepare_health(zoo_prep *p); /* of no file: hearts that are made */
int zoo_prepare_gait(zoo_prep *p);   /* several heads of each window */
int zoo_prepare_rooms(zoo_prep *p);  /* rooms, seen by a camera, and how far each pixel is */
int zoo_prepare_tracks(zoo_prep *p); /* stamps that move over photographs */
int zoo_prepare_poses(zoo_prep *p);  /* figures over photos */
int zoo_prepare_scenes(zoo_prep *p); /* places with things in them */
int zoo_prepare_words(zoo_prep *p);  /* words, drawn in fonts */
int zoo_prepare_texts(zoo_prep *p);  /* tables of texts, each with a class or with a tag for each word */

/* ---- training and judging ---------------------------------------------------------------------------------------- */

/* Of one model and seed, OUT/NAME/seed-N/result.json. */
typedef struct zoo_result {
    double score, baseline, seconds;
    int64_t seed, samples, parameters, bytes;
    int64_t outside; /* texts of none of the classes; 0: there are none */
    double outside_auc; /* how well the probability of the likeliest class tells those of the test from them */
    bool there, met, shuffled;
} zoo_result;
char *zoo_run_folder(const cli_options *o, const zoo_model *m, int64_t seed); /* malloc'ed, NULL: out of memory */
/* The options of its training, as wick train --config reads them. data: the folder, or NULL */
void zoo_write_recipe(FILE *out, const zoo_model *m, const char *data);
/* The model at path on the held-out part. An exit code; what went wrong has been said. */
int zoo_score(wick_context *ctx, const zoo_model *m, const char *path, zoo_result *r);
/* Of texts, those put aside that are of no class, beside the n of the test. */
int zoo_score_outside(evaluator *test, int64_t n, zoo_result *r);
/* Of several heads, each beside what is wanted of it. */
int zoo_score_heads(const zoo_model *m, const evaluator *e, const wick_dataset *train, zoo_result *r);
/* What the trivial way reaches, of tasks that learn a class for each pixel or word. An exit code; said. */
int zoo_place_baseline(const evaluator *e, const wick_dataset *train, const wick_dataset *test, double *baseline);
int zoo_box_baseline(const evaluator *e, const wick_dataset *train, double *baseline);
int zoo_map_baseline(const evaluator *e, const wick_dataset *train, const wick_dataset *test, double *baseline);
int zoo_track_baseline(const evaluator *e, const wick_dataset *train, double *baseline);
int zoo_tag_baseline(const evaluator *e, double *baseline);
bool zoo_meets(const zoo_model *m, double score);
int zoo_read_result(const char *folder, zoo_result *r); /* r->there: whether it is there */
int zoo_write_result(wick_context *ctx, const char *folder, const zoo_model *m, const zoo_result *r);
/* Starts this program again with these arguments, NULL at the end; its standard output goes to the descriptor, and
 * *seconds is what it took. Its exit code; -1: it could not be started, which has been said. */
int zoo_start(const char *const *arguments, int out, double *seconds);

/* OUT/NAME/bench.json: times in milliseconds. */
typedef struct zoo_times {
    double p50, p99, first; /* first: from the start of a process to its first output */
    int64_t rss, bytes;     /* of that process at most, and of the weights' file */
    bool there;
} zoo_times;
int zoo_read_times(const cli_options *o, const zoo_model *m, zoo_times *t);

typedef struct zoo_job {
    cli_options *o;
    wick_context *ctx;
    const zoo_model *models[64]; /* those that the command line names, or all */
    int n;
} zoo_job;
int zoo_list(zoo_job *z);
int zoo_prepare_all(zoo_job *z); /* the data of each, without training on them */
int zoo_train(zoo_job *z);
int zoo_eval(zoo_job *z);
int zoo_bench(zoo_job *z);
int zoo_first(zoo_job *z); /* in the process that bench starts */
int zoo_report(zoo_job *z);

#endif
