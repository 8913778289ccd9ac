/* wick/optim.h: optimizers and schedules, as graph expressions that end in assignments: forward, backward and update
 * are one plan. All state lives in the model under "optim." names, so a checkpoint of the model has it. */
#ifndef WICK_OPTIM_H
#define WICK_OPTIM_H

#include "wick/nn.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The update rules, PyTorch's where it has them (docs/nn.md names the papers). Default rates are in wick_optim_options.
 */
typedef enum wick_optim_kind {
    WICK_SGD,
    WICK_ADAM,
    WICK_ADAMW,
    /* parameters of 2 and more dims, as matrices [out, the rest], by their orthogonalised momentum; the others by AdamW
     */
    WICK_MUON,
    WICK_ADAMAX,
    WICK_NADAM,
    WICK_RADAM,
    WICK_RMSPROP,
    WICK_ADAGRAD,
    WICK_ADADELTA,
    WICK_LAMB, /* You et al. 2020; each parameter's step is as long as the parameter, times lr */
    WICK_LION, /* Chen et al. 2023 */
    WICK_OPTIM_KINDS
} wick_optim_kind;
typedef enum wick_schedule_kind {
    WICK_SCHEDULE_CONSTANT,
    WICK_SCHEDULE_STEP, /* lr gamma^floor(t / every) */
    /* from lr at t = warmup to lr_min at t = total, along half a cosine (Loshchilov, Hutter 2017) */
    WICK_SCHEDULE_COSINE,
    WICK_SCHEDULE_MULTI_STEP,  /* lr gamma^k, k milestones being reached */
    WICK_SCHEDULE_EXPONENTIAL, /* lr gamma^t */
    /* such cosines again and again: of every steps, every mult, every mult^2 ...; the first begins at t = warmup */
    WICK_SCHEDULE_RESTARTS,
    /* up from lr / div to lr at t = rise total - 1, down to lr / div / final_div at t = total - 1 (Smith, Topin 2018)
     */
    WICK_SCHEDULE_ONE_CYCLE,
    /* lr_min + (lr - lr_min) (1 - x)^power, where x goes from 0 at t = warmup to 1 at t = total */
    WICK_SCHEDULE_POLYNOMIAL,
    WICK_SCHEDULE_LINEAR,   /* lr (from + (to - from) x) */
    WICK_SCHEDULE_CHAINED,  /* lr times the factors of all parts */
    WICK_SCHEDULE_SEQUENCE, /* part i from milestones[i - 1] on; each counts from 0 */
    WICK_SCHEDULE_KINDS
} wick_schedule_kind;

/* Learning rate at optimizer step t (from 0): PyTorch's schedulers in closed form, stepped once a step. All are
 * multiplied by a linear warm-up (t + 1) / warmup, up to 1; step, multi-step and exponential count from 0 through it.
 */
enum { WICK_MILESTONES = 8 };
typedef struct wick_schedule {
    wick_schedule_kind kind;
    int64_t warmup, total, every;
    double gamma, lr_min;
    int64_t milestones[WICK_MILESTONES]; /* ascending; 0 ends the list */
    double power;                /* 0: 1 */
    double from, to;             /* 0: 1/3, 1 */
    double mult;                 /* whole; 0: 1 */
    double rise, div, final_div; /* 0: 0.3, 25, 10^4 */
    bool three_phases;           /* one cycle: down as long as up, to lr / div, then to the end */
    bool linear;                 /* one cycle: straight lines in place of cosines */
    bool cycle_momentum; /* one cycle: momentum (SGD, Muon, RMSProp) or beta1 (the others; Adagrad and Adadelta have
                            neither) goes from momentum_most down to momentum_least as the rate rises, and back:
                            PyTorch's default, at the top of a schedule only */
    double momentum_least, momentum_most; /* 0: 0.85, 0.95 */
    int n_parts;                 /* of chained and sequential ones */
    const struct wick_schedule *parts;
} wick_schedule;

/* Lowers the rate when a metric that the host reports (wick_optimizer_metric) has not become better for a while:
 * PyTorch's ReduceLROnPlateau, on top of any schedule. */
typedef struct wick_plateau {
    double factor;         /* of each drop, in (0, 1); 0: none of all this */
    int64_t patience;      /* metrics without a better one that are put up with; 0: 10, below 0: none */
    int64_t cooldown;      /* metrics after a drop that are not counted */
    double threshold;      /* how much better counts, as part of the best; 0: 10^-4 */
    bool absolute;         /* threshold is a difference */
    bool largest;          /* the largest metric is the best */
    double lr_min;         /* no drop of lr below it */
} wick_plateau;

/* How Muon's rate is made from lr for a matrix of `rows` x `cols`. */
typedef enum wick_muon_rate {
    /* 0.2 sqrt(max(rows, cols)) lr: steps as large as AdamW's, so that one lr suits both (Liu et al. 2025) */
    WICK_MUON_MATCH_ADAMW,
    WICK_MUON_ORIGINAL     /* sqrt(max(1, rows / cols)) lr: PyTorch's default (Jordan 2024) */
} wick_muon_rate;

/* A mean of the weights over the steps, kept beside them: wick_model_set_averaged says what then reads it. */
typedef enum wick_average_kind {
    WICK_AVERAGE_NONE,
    WICK_AVERAGE_EMA, /* a + (1 - decay) (w - a), the first one being w itself */
    WICK_AVERAGE_SWA  /* the plain mean (Izmailov et al. 2018) */
} wick_average_kind;
/* As torch.optim.swa_utils.AveragedModel, one count for all. It is made with the first step recorded, and is 0 until
 * that runs. */
typedef struct wick_average {
    wick_average_kind kind;
    double decay;         /* EMA; 0: 0.999 */
    int64_t start, every; /* after step `start` (from 0) and each `every` ones more; 0: the first, 1 */
    /* also of BUFFER states, batch norm's running statistics; otherwise those of now go with the mean */
    bool buffers;
} wick_average;

/* Stands for 0 where 0 means the default: .beta1 = WICK_ZERO. It is 0, told apart by its sign. */
#define WICK_ZERO (-0.0)

struct wick_optim_options;
/* Parameters whose names match a pattern (as wick_model_freeze's) and what is different about them. The first group
 * that matches counts. */
typedef struct wick_param_group {
    const char *pattern;
    bool freeze;         /* not trained by this optimizer */
    double lr_scale;     /* of lr; 0: 1 */
    double weight_decay; /* 0: the optimizer's; WICK_ZERO: none */
    const struct wick_optim_options *rule; /* kind, lr and numbers in place of the optimizer's; NULL: those. The rest
                                              (schedule, clipping ...) is for all parameters together */
} wick_param_group;

/* For gradients in f16 (wick_compile_options.precision), which fall below 6e-8: the loss counts `scale` times, and
 * gradients in f32 are divided by it (Micikevicius et al. 2018; torch.amp.GradScaler, whose defaults these are). Where
 * a gradient is NaN or Inf the step changes nothing but the scale, which is multiplied by backoff; after `interval`
 * good steps one after another it is multiplied by growth. The scale is a state of the model, "optim.scale", with
 * "optim.scale.good" (good steps so far) and "optim.skipped" (steps skipped in all), so checkpoints have it. Powers of
 * two change no bit of gradients that are within range. */
typedef struct wick_loss_scale {
    double initial;   /* 0: no scaling; 65536 is usual */
    double growth;    /* 0: 2 */
    double backoff;   /* 0: 0.5 */
    int64_t interval; /* 0: 2000 */
} wick_loss_scale;

/* Of several processes that train one model each is a rank, and has moments and averages of a part of the parameters
 * alone, which it updates (wick_optimizer_update_part). */
typedef struct wick_shard {
    int rank, ranks; /* of 0 or 1: there is none */
} wick_shard;

typedef struct wick_optim_options {
    wick_optim_kind kind;
    /* Of a number 0 is the default, WICK_ZERO is 0. Below, "Adam" is every rule of moments: Adam, AdamW, Muon's AdamW,
     * Adamax, NAdam, RAdam, LAMB. */
    /* SGD, Muon, RMSProp, Adagrad 0.01; Adamax, NAdam 0.002; Adadelta 1; Lion 0.0001; the others 0.001 */
    double lr;
    double momentum;        /* SGD, RMSProp 0; Muon 0.95 */
    bool nesterov;          /* SGD, with momentum; Muon's always is */
    double beta1;           /* Adam, Lion: 0.9 */
    /* of the squares: Adam 0.999, Lion 0.99, RMSProp (its alpha) 0.99, Adadelta (its rho) 0.9 */
    double beta2;
    double eps;             /* Adam, RMSProp 1e-8; LAMB, Adadelta 1e-6; Adagrad 1e-10 */
    double weight_decay;    /* 0; added to the gradient, or decoupled: always of AdamW, Muon, LAMB and Lion */
    bool decoupled;         /* weights are scaled by 1 - lr weight_decay instead (Loshchilov, Hutter 2019) */
    bool amsgrad;           /* Adam, AdamW: the largest square so far (Reddi et al. 2018) */
    bool centered;          /* RMSProp: by the variance */
    double momentum_decay;  /* NAdam: 0.004 */
    double lr_decay;        /* Adagrad: lr / (1 + lr_decay (t - 1)) */
    double accumulator;     /* Adagrad: the first sum of squares */
    wick_muon_rate muon_rate;
    wick_average average;
    double clip_norm;       /* > 0: the gradients' global L2 norm is scaled down to it */
    int accumulate;         /* micro-batches per step; 0 or 1: none */
    wick_loss_scale loss_scale;
    wick_schedule schedule; /* zero: constant */
    wick_plateau plateau;
    wick_shard shard;
    int n_groups;
    const wick_param_group *groups;
} wick_optim_options;

typedef struct wick_optimizer wick_optimizer;
/* Of the model's parameters that exist and are not frozen when the first step is recorded. options is copied, with all
 * it points to. That a group matches no parameter is an error of the first step. */
WICK_API WICK_MUST_CHECK wick_status wick_optimizer_new(wick_model *model, const wick_optim_options *options,
                                                        wick_optimizer **out);
WICK_API void wick_optimizer_free(wick_optimizer **optimizer);
/* Records: gradients of loss, check that loss is finite, update, step count + 1. Parameters that the loss does not
 * depend on stay as they are, and so do their moments. With accumulate = k, loss counts 1/k and the sum of the earlier
 * micro-batches is added and cleared. */
WICK_API WICK_MUST_CHECK wick_status wick_optimizer_step(wick_optimizer *optimizer, wick_tensor *loss);
/* Records a micro-batch that only accumulates. */
WICK_API WICK_MUST_CHECK wick_status wick_optimizer_accumulate(wick_optimizer *optimizer, wick_tensor *loss);
/* The two halves of wick_optimizer_step apart, for who sums gradients in between: over parts of a batch, or over
 * processes. Both are for options.accumulate of 0 or 1.
 *
 * The first records the gradients of loss and the check that it is finite, and assigns nothing. *out is one vector, of
 * the caller's scope: the gradients of all parameters that the loss depends on, in the model's order, each row-major;
 * f32, or f64 where one of the parameters is. It is divided by the loss scale, if there is one. Later losses depend on
 * the same parameters (WICK_ERR_INVALID). On failure *out is NULL. */
WICK_API WICK_MUST_CHECK wick_status wick_optimizer_gradients(wick_optimizer *optimizer, wick_tensor *loss,
                                                              wick_tensor **out);
/* The first with a vector for each parameter, which are done one after another while the backward pass runs
 * (wick_workspace_on_output): out[i] is that of the i-th of the model's parameters that are trained, of 0 numbers where
 * the loss doesn't depend on it; behind each other they are the vector. On failure all are NULL. */
WICK_API WICK_MUST_CHECK wick_status wick_optimizer_gradients_apart(wick_optimizer *optimizer, wick_tensor *loss,
                                                                    wick_tensor **out);
/* How many there are: the model's of now, as the first recording takes them. WICK_ERR_INVALID: none, WICK_ERR_NOMEM. */
WICK_API WICK_MUST_CHECK wick_status wick_optimizer_parameters(wick_optimizer *optimizer, int *n);
/* The i-th parameter whose gradients are in the vector, after the first half was recorded; NULL past the last. */
WICK_API const wick_tensor *wick_optimizer_parameter(const wick_optimizer *optimizer, int i);
/* The second records all that a step does with gradients (loss scale, clipping, rules, averages, step count + 1), from
 * such a vector: that of one loss, with the bits of wick_optimizer_step, or the sum of those of k losses divided by k.
 * The first half has to be recorded before: it says what the vector holds (WICK_ERR_INVALID, WICK_ERR_DTYPE,
 * WICK_ERR_SHAPE). */
WICK_API WICK_MUST_CHECK wick_status wick_optimizer_update(wick_optimizer *optimizer, wick_tensor *gradients);

/* ---- an update of which each rank does a part --------------------------------------------------------------------
 *
 * Moments and averages of a model are two or three times as large as it is. With options.shard a rank has those of a
 * part of the vector of gradients, a run of it that begins and ends anywhere (Rajbhandari et al. 2020, ZeRO: stages 1
 * and 2). A step then is, with a group of wick/dist.h:
 *
 *   sum of gradients of all ranks' losses, each rank its part: begin to needed      wick_group_finish_parts
 *   plan of wick_optimizer_norms; norms of all ranks to all                         wick_group_collect
 *   plan of wick_optimizer_update_part; weights of all ranks to all                 wick_group_collect
 *   plan of wick_optimizer_set_weights
 *
 * Weights and states have the bits of wick_optimizer_update with any number of ranks. Runs are such that the rank that
 * has most bytes of states has as few as can be: within an element of all / ranks where every rule is elementwise; Muon
 * and LAMB take parameters as a whole, which are not cut then. States that are no parameter's, and averages of buffers,
 * all ranks have. Each state is a part of the model's (wick_model_state_part). */
typedef struct wick_optim_part {
    int64_t begin, end; /* the numbers of the vector that the rank updates are begin to end - 1 */
    int64_t needed; /* it needs gradients from begin to needed - 1, for norms of parameters that begin in its part */
    int64_t first_norm, end_norm; /* of all norms, those that it finds */
} wick_optim_part;
/* After the first gradients were recorded, without which it is WICK_ERR_INVALID, as it is without options.shard. */
WICK_API WICK_MUST_CHECK wick_status wick_optimizer_part(wick_optimizer *optimizer, int rank, wick_optim_part *part);
/* Records this rank's norms, f64 [end_norm - first_norm], from its gradients, [needed - begin]. Nothing is assigned. Of
 * the caller's scope. Without options.clip_norm and loss_scale there are none. */
WICK_API WICK_MUST_CHECK wick_status wick_optimizer_norms(wick_optimizer *optimizer, wick_tensor *gradients,
                                                          wick_tensor **out);
/* Records the update of this rank's states, by its gradients and the norms of all ranks, f64 (NULL where there are
 * none). The parameters stay as they are: *weights, [end - begin], of the caller's scope, is what they are to be. */
WICK_API WICK_MUST_CHECK wick_status wick_optimizer_update_part(wick_optimizer *optimizer, wick_tensor *gradients,
                                                                wick_tensor *norms, wick_tensor **weights);
/* Records that the parameters become what all ranks' weights say, a vector as that of gradients. */
WICK_API WICK_MUST_CHECK wick_status wick_optimizer_set_weights(wick_optimizer *optimizer, wick_tensor *weights);

/* The learning rate of the step about to be recorded, a 0-d f64 expression of the step count: ask before recording it.
 */
WICK_API wick_tensor *wick_optimizer_lr(wick_optimizer *optimizer);
/* For options.plateau: what was measured just now. At once, so the next run of a plan has the new rate. */
WICK_API WICK_MUST_CHECK wick_status wick_optimizer_metric(wick_optimizer *optimizer, double metric);
/* By what the schedule's rate is multiplied after the metrics so far; 1 without plateau. */
WICK_API double wick_optimizer_plateau(wick_optimizer *optimizer);
/* What the loss is multiplied by now, and the steps skipped so far; 1 and 0 without options.loss_scale. */
WICK_API WICK_MUST_CHECK wick_status wick_optimizer_scale(wick_optimizer *optimizer, double *scale, int64_t *skipped);
/* The schedule's formula in plain C, for logs; without plateau. */
WICK_API double wick_optim_lr_at(const wick_optim_options *options, int64_t step);

#ifdef __cplusplus
}
#endif

#ifndef WICK_NO_SITES
#define wick_optimizer_step(...) WICK_STATUS_HERE(wick_optimizer_step(__VA_ARGS__))
#define wick_optimizer_gradients(...) WICK_STATUS_HERE(wick_optimizer_gradients(__VA_ARGS__))
#define wick_optimizer_update(...) WICK_STATUS_HERE(wick_optimizer_update(__VA_ARGS__))
#define wick_optimizer_norms(...)       WICK_STATUS_HERE(wick_optimizer_norms(__VA_ARGS__))
#define wick_optimizer_update_part(...) WICK_STATUS_HERE(wick_optimizer_update_part(__VA_ARGS__))
#define wick_optimizer_set_weights(...) WICK_STATUS_HERE(wick_optimizer_set_weights(__VA_ARGS__))
#define wick_optimizer_accumulate(...) WICK_STATUS_HERE(wick_optimizer_accumulate(__VA_ARGS__))
#endif
#endif
