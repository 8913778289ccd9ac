/* task.h: what is learned of a sample. A task has its head (what the network's numbers mean), its loss, its scores, and
 * what eval, predict and report show of it: one file each, and a line in task.c. The training step, checkpoints, ONNX
 * and C know a task by this table alone. Classes have scores of their own in evaluate.h. */
#ifndef WICK_CLI_TASK_H
#define WICK_CLI_TASK_H

#include "../../json.h"
#include "../source.h"

struct classifier;
struct evaluator;
struct evaluation;

/* What a noun has behind it for n of them: classes, numbers. */
#define TASK_PLURAL(task, n) ((task)->classes && (n) != 1 ? "es" : (n) != 1 ? "s" : "")

typedef struct task {
    task_kind kind;
    const char *name;                /* as --task */
    const char *learned;             /* "a regression of %lld target%s": what report says, of its outputs */
    const char *output;              /* what an ONNX file calls its predictions ... */
    const char *doc;                 /* ... and what they are */
    const char *loss;                /* what it is called in a chart */
    const char *score, *score_title; /* the one that is followed over a run: its key in JSON, and for people */
    bool classes;                    /* what is learned are classes */
    bool by_score;                   /* the best epoch is that of the highest score, not of the lowest loss */
    bool percent;                    /* a score is a share, from 0 to 1 */
    bool lower;                      /* of that score less is better */
    /* of the network's output y [n, outputs], what people want: [n, width]. x: the samples that the network got */
    wick_tensor *(*predictions)(struct classifier *c, wick_tensor *x, wick_tensor *y);
    /* the loss of each sample, [n] */
    wick_tensor *(*rows)(struct classifier *c, wick_tensor *x, wick_tensor *y, wick_tensor *target);
    int64_t (*width)(const struct classifier *c);
    /* Of tasks whose predictions are too many to keep: counts those of n samples, which are in e->logits. e->count is
     * how many came before. An exit code. NULL: all are kept */
    int (*count)(struct evaluator *e, const void *target, int64_t n);
    /* Of tasks that count into memory of their own, e->own: begins a round, and frees it. NULL: it counts classes */
    int (*begin)(struct evaluator *e);
    void (*drop)(struct evaluator *e);
    /* Fills in the scores of a round. An exit code; what went wrong has been said. */
    int (*measure)(const struct evaluator *e, struct evaluation *result);
    /* Keeps in the model what follows from a round on the samples that the best epoch is chosen by, before it is saved.
     * An exit code. NULL: nothing does */
    int (*settle)(const struct evaluator *e);
    /* wick eval, below the loss and the scores */
    void (*print)(const struct evaluator *e);
    void (*print_json)(const struct evaluator *e, json *j);
    /* wick predict, of one sample: predictions [width], and target as the data have it, NULL: nobody says; or its
     * label, -1: none */
    void (*show)(const struct classifier *c, const float *predictions, const float *target, int64_t label);
    void (*show_json)(const struct classifier *c, const float *predictions, const float *target, int64_t label,
                      json *j);
    /* wick predict --csv: the header of its table, and the lines of a sample called `name`. NULL: it makes none */
    void (*csv)(const struct classifier *c);
    void (*show_csv)(const struct classifier *c, const float *predictions, const char *name);
    /* wick predict --draw: writes files whose names begin with stem. pixels: the picture as it is in its file,
     * [channels, height, width]. An exit code. NULL: there is nothing to draw */
    int (*draw)(const struct classifier *c, const float *predictions, const uint8_t *pixels, int64_t height,
                int64_t width, const char *stem);
    /* wick predict in a terminal: what is found, over the picture as the network takes it, [dims[1], dims[2], 3].
     * Without color as greys that differ. NULL: the picture is shown as it is. false: it failed, which has been said */
    bool (*paint)(const struct classifier *c, const float *predictions, bool color, uint8_t *rgb);
    /* wick report: what the round says, as a section of its page. false: out of memory */
    bool (*report)(FILE *out, const struct evaluator *e);
} task;

extern const task task_classify, task_regress, task_multi_label, task_autoencode, task_segment, task_tag, task_detect,
    task_keypoints, task_heads, task_ctc, task_embed, task_dense, task_track;
const task *task_of(task_kind kind);      /* AUTO is none: NULL */
const task *task_named(const char *name); /* NULL: none; "auto" is none */
/* Whether the network has steps enough for each text of the set; else says, with an exit code, which one needs more. */
int ctc_check_texts(const struct classifier *c, const wick_dataset *dataset);
/* Whether it learns classes; else says, with an exit code, that `what` is for those. */
int task_check_classes(const struct classifier *c, const char *what);

#endif
