/* gate.h: what the commands that make a model smaller share: which samples it is made by and judged by, the drop and
 * its bound (gate_judge.c), training of what is made, its time, and the ONNX file. */
#ifndef WICK_CLI_GATE_H
#define WICK_CLI_GATE_H

#include "evaluate.h"

/* How a drop and its bound follow from what two models make of the same samples. */
typedef enum gate_way {
    GATE_PAIRS,   /* classes: the samples that one of the two has right (McNemar 1947) */
    GATE_SQUARES, /* numbers: differences of squared errors, sample by sample, make that of R2 */
    GATE_RANKS,   /* anomaly scores: AUC against --anomalies (DeLong, DeLong and Clarke-Pearson 1988) */
    GATE_MEANS,   /* anomaly scores where nobody gave anomalies: their mean, as RMSE */
    GATE_GROUPS   /* all other tasks: the score of groups of samples, in pairs */
} gate_way;

/* What a model makes of the samples that judge it. */
typedef struct judgement {
    int64_t n;
    int64_t correct; /* of classes */
    double score;    /* what counts, by gate_metric_of */
    evaluation all;  /* and what else the task measures */
    /* Numbers whose differences between two models say how sure the drop is: of samples or groups (n_each[0]), and of
     * anomalies behind them (n_each[1]). Either part's mean is the score, but that of groups */
    double *each;
    int64_t n_each[2];
} judgement;
/* What it is judged by. */
typedef struct gate_metric {
    const char *key, *title; /* "r2", "R2" */
    bool percent;            /* a share: differences are in points */
    bool lower;              /* less is better */
} gate_metric;

typedef struct gate {
    const cli_options *o; /* images, judge, anomalies, seed, epochs, lr, max_drop, keep_score, out */
    double max_drop;      /* in gate_unit, as --max-drop or --keep-score says; below 0: no limit */
    wick_context *ctx;
    classifier c;
    gate_way way;
    wick_dataset *all, *observed, *judged;
    wick_dataset *given, *odd; /* of --anomalies all, and those that are some; NULL: none */
    wick_dataset *held;        /* what the training held out, which judges; NULL: a part of all does */
    wick_dataset *learned;     /* all but judged; NULL: nothing is trained */
    wick_transform *transform; /* of its samples; NULL: none */
    const wick_loader_options *loading; /* how samples of the training are changed; NULL: as `transform` says */
    const char *says;          /* which samples judge, in words; NULL: `judging` */
    char judging[80];          /* which samples judge, in words, as they were chosen */
    bool guest;                /* ctx is somebody else's */
    bool needs_logits;         /* an ONNX file that ends in a softmax is refused; set by the command before gate_open */
    wick_function made;        /* the smaller network, of classifier_network_spec */
    void *made_user;
    wick_model *model; /* its states, to write; set by the command */
    judgement before, after;
    double seconds[2];   /* of one image: before, after */
    double predicted[2]; /* the same by the plans' model */
    double flops[2];     /* of the same plans */
    int64_t arena[2];    /* bytes that such a plan takes besides the weights it was given: its arena, and scratch */
    int64_t bytes[2];    /* of the weights before, of the file */
} gate;

int gate_failed(const gate *g, wick_status status, int blame);
/* Opens the model and its training images, and takes two parts of these that share none. what: "quantised", for
 * errors, command: "wick quantize". g->o is set; whatever this returns, gate_free is called. */
int gate_open(gate *g, const char *command, const char *what);
void gate_free(gate *g);

/* A wick_function of the classifier's network, whose user is g->c. */
wick_status gate_record_network(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user);
/* Shows all batches of the observed images, as the network takes them, but a last one that isn't full. */
typedef wick_status (*gate_show_fn)(void *user, const void *const *in, const int64_t *labels);
int gate_show(gate *g, int64_t batch, gate_show_fn show, void *user);
int gate_show_set(gate *g, const wick_dataset *set, int64_t batch, gate_show_fn show, void *user); /* or of others */

/* ---- gate_judge.c ------------------------------------------------------------------------------------------------ */

/* How it is judged follows from the task, and from --anomalies, whose samples are opened. */
int gate_choose_way(gate *g, const source_options *form);
gate_metric gate_metric_of(const gate *g);
const char *gate_unit(const gate *g);                             /* of a drop: "points", "R2" */
void gate_score_text(const gate *g, double score, char text[32]); /* "63.60 %", or "0.9123" */
const char *gate_judged(const gate *g);                           /* which samples judge, in words */
int gate_judge(gate *g, bool made, judgement *j);                 /* what was made, or the whole network */
/* The whole network, into g->before; from then on --keep-score is a drop. share: of the score, where neither that nor
 * --max-drop is given; 0: any drop will do. */
int gate_judge_whole(gate *g, double share);
bool gate_is_worse(const gate *g, double score, double than);
/* Of classes, the samples that only one of the two has right. */
void gate_flips(const gate *g, int64_t *lost, int64_t *won);
double gate_drop(const gate *g, double *bound); /* in gate_unit; the true drop is below bound with 95 % */
bool gate_is_good(const gate *g);               /* within g->max_drop */
void gate_say_missed(const gate *g); /* that it isn't */
/* What both came to: lines for people, or keys whose names end in what they are of ("f32", "int8"). */
void gate_print(const gate *g, const char *before, const char *after);
/* within: all limits that were given are kept */
void gate_json(const gate *g, json *j, bool within, const char *before, const char *after);

/* How the smaller network is trained: towards the labels, and what the whole one says. */
typedef struct gate_training {
    wick_model *model; /* its parameters */
    wick_function fn;
    void *user;
    wick_status (*stepped)(void *owner, int64_t number, int64_t steps); /* after each step; NULL: nothing */
    wick_status (*finish)(void *owner); /* before it is judged, and when the best parameters are back; NULL: nothing */
    void *owner;
    double lr;        /* where --lr is 0 */
    const char *kind; /* "int8", for what is said */
    bool last_only;   /* the last epoch counts, since those before it train another thing; else the best one, or none */
} gate_training;
int gate_train(gate *g, const gate_training *how);

/* wick train --quantize (cmd_quantize.c): trains the best weights of the run in `folder` on with rounded numbers, and
 * writes them beside those. loading: how the run changed its samples. */
typedef struct quantized {
    char path[4096];
    gate_metric metric;
    double score[2], drop, bound; /* in floats, in integers; gate_unit */
    int64_t epochs, bytes;
} quantized;
int quantize_run(wick_context *ctx, const cli_options *train, const wick_loader_options *loading, const char *folder,
                 quantized *out);

int gate_time(gate *g);
int gate_write(gate *g);
#endif
