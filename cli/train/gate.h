/* gate.h: what the commands that make a classifier smaller share: which images it is made by and judged by, the drop in
 * accuracy and its bound, training of what is made, its time, and the ONNX file. */
#ifndef WICK_CLI_GATE_H
#define WICK_CLI_GATE_H

#include "classifier.h"

/* What a model makes of the images that judge it. */
typedef struct judgement {
    int64_t n, correct;
    double loss;
    bool *right; /* of each image */
} judgement;

typedef struct gate {
    const cli_options *o; /* images, judge, seed, epochs, lr, max_drop, out */
    wick_context *ctx;
    classifier c;
    wick_dataset *all, *observed, *judged;
    wick_dataset *held;        /* what the training held out, which judges; NULL: a part of all does */
    wick_dataset *learned;     /* all but judged; NULL: nothing is trained */
    wick_transform *transform; /* of its samples; NULL: none */
    bool needs_logits;         /* an ONNX file that ends in a softmax is refused; set by the command before gate_open */
    wick_function made;        /* the smaller network, of classifier_network_spec */
    void *made_user;
    wick_model *model; /* its states, to write; set by the command */
    judgement before, after;
    double seconds[2]; /* of one image: before, after */
    double predicted[2]; /* the same by the plans' model */
    double flops[2];     /* of the same plans */
    int64_t arena[2];    /* bytes that such a plan takes besides the weights it was given: its arena, and scratch */
    int64_t bytes[2];  /* of the weights before, of the file */
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

const char *gate_judged(const gate *g);           /* which images judge, in words */
int gate_judge(gate *g, bool made, judgement *j); /* what was made, or the whole network */
/* Images that only one of the two has right. */
void gate_flips(const gate *g, int64_t *lost, int64_t *won);
double gate_drop(const gate *g, double *bound); /* in points; the true drop is below bound with 95 % */
bool gate_is_good(const gate *g);               /* within --max-drop */

/* How the smaller network is trained: towards the labels, and what the whole one says. */
typedef struct gate_training {
    wick_model *model; /* its parameters */
    wick_function fn;
    void *user;
    wick_status (*stepped)(void *owner, int64_t step, int64_t steps); /* after each step; NULL: nothing */
    wick_status (*finish)(void *owner); /* before it is judged, and when the best parameters are back; NULL: nothing */
    void *owner;
    double lr;        /* where --lr is 0 */
    const char *kind; /* "int8", for what is said */
    bool last_only;   /* the last epoch counts, since those before it train another thing; else the best one, or none */
} gate_training;
int gate_train(gate *g, const gate_training *how);

int gate_time(gate *g);
int gate_write(gate *g);
#endif
