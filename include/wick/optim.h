/* wick/optim.h: optimizers and schedules, as graph expressions that end in assignments: forward, backward and update are one
 * plan. All state lives in the model under "optim." names, so a checkpoint of the model has it. */
#ifndef WICK_OPTIM_H
#define WICK_OPTIM_H

#include "wick/nn.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum wick_optim_kind { WICK_SGD, WICK_ADAM, WICK_ADAMW } wick_optim_kind;
typedef enum wick_schedule_kind { WICK_SCHEDULE_CONSTANT, WICK_SCHEDULE_STEP, WICK_SCHEDULE_COSINE } wick_schedule_kind;

/* Learning rate at optimizer step t (from 0), after a linear warm-up from 0 over `warmup` steps (t + 1) / warmup:
 *   step:   lr * gamma^floor(t / every)
 *   cosine: lr_min + (lr - lr_min) * (1 + cos(pi * min(1, (t - warmup) / (total - warmup)))) / 2  (Loshchilov, Hutter 2017) */
typedef struct wick_schedule {
    wick_schedule_kind kind;
    int64_t warmup, total, every;
    double gamma, lr_min;
} wick_schedule;

typedef struct wick_optim_options {
    wick_optim_kind kind;
    double lr;              /* 0: 0.01 for SGD, 0.001 for Adam */
    double momentum;        /* SGD */
    bool nesterov;          /* SGD, with momentum */
    double beta1, beta2;    /* Adam; 0: 0.9, 0.999 */
    double eps;             /* Adam; 0: 1e-8 */
    double weight_decay;    /* SGD, Adam: added to the gradient; AdamW: decoupled (Loshchilov, Hutter 2019) */
    double clip_norm;       /* > 0: the gradients' global L2 norm is scaled down to it */
    int accumulate;         /* micro-batches per step; 0 or 1: none */
    wick_schedule schedule; /* zero: constant */
} wick_optim_options;

typedef struct wick_optimizer wick_optimizer;
/* Of the model's parameters that exist and are not frozen when the first step is recorded. The update rules are PyTorch's. options is copied. */
WICK_API WICK_MUST_CHECK wick_status wick_optimizer_new(wick_model *model, const wick_optim_options *options,
                                                        wick_optimizer **out);
WICK_API void wick_optimizer_free(wick_optimizer **optimizer);
/* Records: gradients of loss, check that loss is finite, update, step count + 1. Parameters that the loss does not depend on stay as
 * they are, and so do their moments. With accumulate = k, loss counts 1/k and the
 * sum of the earlier micro-batches is added and cleared. */
WICK_API WICK_MUST_CHECK wick_status wick_optimizer_step(wick_optimizer *optimizer, wick_tensor *loss);
/* Records a micro-batch that only accumulates. */
WICK_API WICK_MUST_CHECK wick_status wick_optimizer_accumulate(wick_optimizer *optimizer, wick_tensor *loss);
/* The learning rate of the step about to be recorded, a 0-d f64 expression of the step count: ask before recording it. */
WICK_API wick_tensor *wick_optimizer_lr(wick_optimizer *optimizer);
/* The same formula in plain C, for logs. */
WICK_API double wick_optim_lr_at(const wick_optim_options *options, int64_t step);

#ifdef __cplusplus
}
#endif

#ifndef WICK_NO_SITES
#define wick_optimizer_step(...) WICK_STATUS_HERE(wick_optimizer_step(__VA_ARGS__))
#define wick_optimizer_accumulate(...) WICK_STATUS_HERE(wick_optimizer_accumulate(__VA_ARGS__))
#endif
#endif
