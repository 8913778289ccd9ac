/* trainer.h: the compiled steps of a training run: forward, backward and update in one plan each. A step is a function
 * of the weights, the batch and its own number alone, so a run that goes on from a checkpoint repeats the one it
 * continues. */
#ifndef WICK_CLI_TRAINER_H
#define WICK_CLI_TRAINER_H

#include "../cli.h"
#include "groups.h"
#include "leaves.h"
#include "../step.h"
#include "teachers.h"

#include "wick/optim.h"

typedef struct trainer {
    classifier *c;
    wick_optimizer *optimizer;
    wick_loader *loader;
    int64_t batch, tail; /* images in a step, and in the last one of an epoch; tail 0: none is smaller */
    int accumulate;
    uint64_t seed;
    double smoothing;
    double noise;                   /* deviation of what is added to samples as the network takes them; 0: nothing */
    double margin;                  /* of embed, as --margin */
    const float *class_weights;     /* [classes], the caller's; NULL: all are 1 */
    teachers *teachers;             /* NULL: none */
    bool mixed;                     /* targets are probabilities of classes */
    wick_compile_options compiling; /* of all steps */
    bool plateau;
    double scale;      /* of the rates, by --schedule plateau; else 1 */
    step steps[2][2];  /* [updates the weights][is the last one of an epoch]; with leaves [1] of their gradients */
    leaf_cut leaves; /* of a batch */
    wick_batch loaded; /* the loader's memory, which the steps read in place */
} trainer;

typedef struct trainer_result {
    float loss;      /* mean of the batch */
    int64_t correct; /* of classes; else 0 */
} trainer_result;

/* Options that only some choices of another take: --momentum is for --optimizer sgd or muon. NULL past the last. */
typedef struct option_use {
    const char *name, *by, *choices; /* joined by '|' */
} option_use;
const option_use *trainer_use(int i);
bool trainer_uses(const option_use *use, const cli_options *o); /* whether the choice made takes it */
/* The list of --lr-at, ascending, 0 at the end; false: it is none. */
bool trainer_milestones(const char *list, int64_t at[WICK_MILESTONES]);
/* The option of the optimizer that is below 0 and isn't -1, its default; NULL: none is. */
const char *trainer_below_zero(const cli_options *o, double *value);
double trainer_peak(const wick_optim_options *optim); /* the rate that the schedule scales */
/* What the options of wick train say of the optimizer, for a run of so many steps. It points to groups, which are read
 * here; the text of --group was checked before. */
wick_optim_options trainer_optim(const cli_options *o, int64_t steps, param_groups *groups);
wick_compile_options trainer_compiling(const cli_options *o); /* and of its plans */
/* What a loss is made of beyond the task: smoothing of labels, noise as --noise, weights of classes (NULL: all are 1);
 * and of how many leaves (0: of the batch as a whole), which divide the batch. */
typedef struct trainer_loss {
    double smoothing, noise;
    const float *class_weights;
    int64_t leaves;
    wick_group *group; /* whose ranks run them */
    double margin;     /* of embed */
    bool sharded;      /* each of them updates a part, as the optimizer's options say */
    bool fast;         /* leaves are summed as --mode fast, over this wire */
    wick_wire_type wire;
    int powersgd;      /* columns of it, where wire is that */
    bool overlap;      /* sums travel while leaves are computed */
    int shares;        /* how leaves move between ranks, of shares_kind */
} trainer_loss;
/* Makes the model's parameters and the optimizer's state. taught_by: NULL: nobody. loading
 * says batch, seed, augmentation and workers; the model's normalisation and shuffling are added. Exit codes; what went
 * wrong has been said. */
int trainer_new(trainer *t, classifier *c, const wick_dataset *dataset, const wick_optim_options *optim,
                trainer_loss loss, teachers *taught_by, const wick_loader_options *loading,
                const wick_compile_options *compiling);
void trainer_free(trainer *t);

/* The loss of an epoch, by which --schedule plateau lowers the rate. Nothing to the other schedules. */
int trainer_note_loss(trainer *t, double loss);
void trainer_resumed(trainer *t); /* the model's states are those of a checkpoint now */

/* The next batch of the loader, of *n images; 0 at the end of the epoch. Exit codes; what went wrong has been said. */
int trainer_load(trainer *t, int64_t *n);
/* Step `number`, from 0, on the n images loaded. *error is the text of a failure, which changes no weight. */
wick_status trainer_step(trainer *t, int64_t number, int64_t n, trainer_result *result, const char **error);
/* The plan of a step on a whole batch; of all its leaves together, where there are some: arithmetic and memory. */
wick_plan_info trainer_plan(const trainer *t);
/* For leaves.c: the plan of a batch, or of a leaf; `last`: of the smaller one at the end of an epoch. */
wick_status trainer_compile(trainer *t, bool update, bool last, const wick_compile_options *options, step *s);
/* Runs a step that met NaN or Inf again, op by op, and writes which op made the first one. */
void trainer_explain(trainer *t, int64_t number, int64_t n, char *text, size_t size);

#endif
