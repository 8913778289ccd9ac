/* train_values.h: the values of options that one of these commands has: train, predict, quantize, prune, shrink. */
#ifndef WICK_CLI_TRAIN_VALUES_H
#define WICK_CLI_TRAIN_VALUES_H

#include "../shared_values.h"

/* Of wick train. */
typedef struct train_values {
    const char *label, *augment, *hidden, *resume, *log, *lr_at, *text_column, *tokens, *arrays, *onnx, *rename,
        *teacher, *tensorboard, *metrics, *task, *heads, *target, *validation, *loss_name, *class_weights, *config,
        *skip_columns, *hint, *pairs, *wire;
    int64_t limit, workers, accumulate, warmup, lr_every, lr_mult, lr_patience, patience, save_every, vocabulary,
        length, embedding, quantize_epochs, window, horizon;
    double dropout, lr_min, lr_gamma, lr_power, lr_rise, ema, margin, temperature, alpha, noise, hint_weight;
    int schedule, sum_mode, quantize, shares, sums, hint_kind;
    bool cycle_momentum, dry_run, dashboard, no_standardise, letterbox, fit;
} train_values;

/* Of wick predict. */
typedef struct predict_values {
    const char *index, *draw, *enrolled;
    bool csv;
    double score, overlap;
} predict_values;

/* Of wick quantize. */
typedef struct quantize_values {
    int64_t weight_bits, block;
    int activations, calibration, weights_only, rounding, sensitivity;
    const char *wide_layers;
    double percentile, smooth;
    bool per_tensor, reduce_range, correct_bias, equalise, awq, learn_steps;
} quantize_values;

/* What wick quantize, prune and shrink judge by. */
typedef struct gate_values {
    int64_t images, judge;
    double max_drop, keep_score, max_kb;
    const char *keep, *anomalies;
} gate_values;

/* Of wick prune. */
typedef struct prune_values {
    int importance, filters;
    double ratio, macs, sparsity, energy, low_rank;
    int64_t multiple;
    bool global;
    const char *pattern;
} prune_values;

/* Of wick shrink. */
typedef struct shrink_values {
    double max_us, max_ram, mhz;
    int preset, machine;
} shrink_values;

#endif
