/* wick/optim.h: optimizers and schedules, as graph expressions that end in assignments: forward, backward and update are one
 * plan. All state lives in the model under "optim." names, so a checkpoint of the model has it. */
#ifndef WICK_OPTIM_H
#define WICK_OPTIM_H

#include "wick/nn.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The update rules, PyTorch's where it has them (docs/nn.md names the papers). Default rates are in wick_optim_options. */
typedef enum wick_optim_kind {
    WICK_SGD,
    WICK_ADAM,
    WICK_ADAMW,
    WICK_MUON, /* parameters of 2 and more dims, as matrices [out, the rest], by their orthogonalised momentum; the others by AdamW */
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
typedef enum wick_schedule_kind { WICK_SCHEDULE_CONSTANT, WICK_SCHEDULE_STEP, WICK_SCHEDULE_COSINE } wick_schedule_kind;

/* Learning rate at optimizer step t (from 0), after a linear warm-up from 0 over `warmup` steps (t + 1) / warmup:
 *   step:   lr * gamma^floor(t / every)
 *   cosine: lr_min + (lr - lr_min) * (1 + cos(pi * min(1, (t - warmup) / (total - warmup)))) / 2  (Loshchilov, Hutter 2017) */
typedef struct wick_schedule {
    wick_schedule_kind kind;
    int64_t warmup, total, every;
    double gamma, lr_min;
} wick_schedule;

/* How Muon's rate is made from lr for a matrix of `rows` x `cols`. */
typedef enum wick_muon_rate {
    WICK_MUON_MATCH_ADAMW, /* 0.2 sqrt(max(rows, cols)) lr: steps as large as AdamW's, so that one lr suits both (Liu et al. 2025) */
    WICK_MUON_ORIGINAL     /* sqrt(max(1, rows / cols)) lr: PyTorch's default (Jordan 2024) */
} wick_muon_rate;

/* A mean of the weights over the steps, kept beside them: wick_model_set_averaged says what then reads it. */
typedef enum wick_average_kind {
    WICK_AVERAGE_NONE,
    WICK_AVERAGE_EMA, /* a + (1 - decay) (w - a), the first one being w itself */
    WICK_AVERAGE_SWA  /* the plain mean (Izmailov et al. 2018) */
} wick_average_kind;
/* As torch.optim.swa_utils.AveragedModel, one count for all. It is made with the first step recorded, and is 0 until that runs. */
typedef struct wick_average {
    wick_average_kind kind;
    double decay;         /* EMA; 0: 0.999 */
    int64_t start, every; /* after step `start` (from 0) and each `every` ones more; 0: the first, 1 */
    bool buffers;         /* also of BUFFER states, batch norm's running statistics; otherwise those of now go with the mean */
} wick_average;

/* Stands for exactly 0 where 0 means the default: .beta1 = WICK_ZERO. It is the smallest normal number. */
#define WICK_ZERO 2.2250738585072014e-308

typedef struct wick_optim_options {
    wick_optim_kind kind;
    /* Of a number 0 is the default, WICK_ZERO is 0. Below, "Adam" is every rule of moments: Adam, AdamW, Muon's AdamW, Adamax, NAdam, RAdam, LAMB. */
    double lr;              /* SGD, RMSProp, Adagrad 0.01; Adamax, NAdam 0.002; Adadelta 1; Lion 0.0001; the others 0.001 */
    double momentum;        /* SGD, RMSProp 0; Muon 0.95 */
    bool nesterov;          /* SGD, with momentum; Muon's always is */
    double beta1;           /* Adam, Lion: 0.9 */
    double beta2;           /* of the squares: Adam 0.999, Lion 0.99, RMSProp (its alpha) 0.99, Adadelta (its rho) 0.9 */
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
