/* cli.h: what the files of the command share: exit codes, the commands and their options. The command uses the public
 * headers of Wick only. */
#ifndef WICK_CLI_H
#define WICK_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    CLI_OK = 0,
    CLI_FAILED = 1,
    CLI_USAGE = 2,
    CLI_BAD_FILE = 3,
    CLI_NOT_FINITE = 4,
    CLI_DIFFERENT = 5,
    CLI_MISSED = 6,
    CLI_INTERRUPTED = 130, /* 128 + SIGINT, as shells count */
    CLI_UNREAD = 141       /* 128 + SIGPIPE: who read the results is gone */
};

typedef enum cli_command_id {
    CMD_TRAIN,
    CMD_EVAL,
    CMD_PREDICT,
    CMD_REPORT,
    CMD_COMPARE,
    CMD_RUN,
    CMD_INSPECT,
    CMD_VERIFY,
    CMD_CONVERT,
    CMD_QUANTIZE,
    CMD_PRUNE,
    CMD_SHRINK,
    CMD_INFO,
    CMD_OPS,
    CMD_PLAN,
    CMD_EXPLAIN,
    CMD_PROFILE,
    CMD_GRAPH,
    CMD_COMPILE,
    CMD_DOCTOR,
    CMD_BENCH,
    CMD_TUNE,
    CMD_DATA,
    CMD_ZOO,
    CMD_LAUNCH,
    CMD_COMPLETIONS,
    CMD_COUNT
} cli_command_id;

enum { CLI_MAX_OPTIONS = 128 };

/* What an option that may be given several times was given, in order. */
typedef struct cli_list {
    const char **items; /* of the command line */
    int n;
} cli_list;

/* The values of all options; those that a command lacks are zero. Filled from the command's table. */
typedef struct cli_options {
    const char *program; /* argv[0] */
    cli_command_id command;
    const char *model;  /* the first positional argument, or NULL */
    const char **files; /* the others, of commands that take them */
    int n_files;

    const char *data, *label, *augment, *transform, *arch, *net, *hidden, *out, *resume, *log, *split, *index, *input,
        *lr_at, *group, *only, *output, *check, *labels, *scale, *mean, *std, *layout, *svg;
    int64_t limit, workers, epochs, batch, accumulate, warmup, lr_every, lr_mult, lr_patience, patience, save_every,
        seed, threads, top, classes, repeat, max_memory, max_tensor, max_output, max_nodes, max_depth, opset, topk,
        values, rate, hop, memory_budget, max_batch, plans;
    double dropout, lr, lr_min, lr_gamma, lr_power, lr_rise, beta1, beta2, momentum, weight_decay, clip,
        label_smoothing, ema, tolerance, rtol, atol, time, max_seconds;
    int optimizer, schedule, color, precision, loss; /* which of the choices, in the table's order */
    bool nesterov, amsgrad, cycle_momentum, force, json, quiet, verbose, help, no_measure, external, fix_open, layers,
        onnx_ops, bench, bgr;

    const char *draw;       /* of predict */
    const char *box_form;   /* of data */
    bool csv;               /* of predict */
    double score, overlap;  /* of predict, of boxes */
    const char *text_column, *tokens, *arrays; /* of train */
    int64_t vocabulary, length, leaves;
    bool shard_optimizer;
    int sum_mode;           /* as its choices stand in the table */
    const char *wire;
    int64_t beams;          /* of eval and predict */
    int64_t embedding;      /* of train */
    double margin;
    const char *enrolled;   /* of predict */
    const char *image_size; /* of train, eval and predict */
    bool as_stored;         /* also of run and data */
    const char *onnx, *input_range, *freeze, *weights, *rename; /* of train; input_range also of eval and predict */
    const char *teacher, *tensorboard, *metrics; /* of train */
    double temperature, alpha;
    const char *dtype; /* of convert */
    int64_t weight_bits; /* of quantize */
    int activations;     /* 1: of 16 bits */
    int quantize;        /* of train */
    int64_t quantize_epochs;
    const char *wide_layers;
    int64_t images, judge, block; /* of quantize; the first two also of prune */
    int shares;             /* of train */
    int sums;               /* of train: auto, early, late */
    int calibration, importance, weights_only, rounding;
    double percentile, max_drop;
    double ratio, macs, sparsity, energy, low_rank; /* of prune */
    int64_t multiple;
    bool global;
    const char *pattern;
    double max_kb, max_us, max_ram, mhz; /* of shrink */
    int preset, machine, filters;
    bool per_tensor, reduce_range, correct_bias, equalise, awq, learn_steps;
    double smooth;
    const char *keep, *anomalies; /* of quantize, prune; the second of shrink too */
    int64_t max_shard;
    cli_list inputs, states, dims; /* --input of run, --state, --dim */
    const char *task, *heads, *target, *validation, *loss_name, *class_weights, *config; /* of train */
    bool dry_run, dashboard;
    double noise;
    int64_t window, horizon;
    bool no_standardise, letterbox;
    cli_list profiles;             /* --profile */
    cli_list memory_files;         /* --memory */
    const char *memory_before;     /* --memory-before */
    const char *pin, *numa;        /* of what runs networks */
    bool balance;
    int64_t memory_pool;
    bool huge_pages;
    bool head, fit, compress;
    const char *separator, *decimal, *skip_columns; /* of tables */
    bool no_header;

    const char *sizes, *thread_counts, *html, *markdown, *against, *peers, *regress; /* of bench */
    bool list, memory, instructions;
    int64_t runs;

    const char *wide; /* of train, plan, explain and graph */
    const char *without, *before, *after, *dot; /* of the last three */
    bool as_text;
    bool train;
    const char *name, *cc, *isa; /* of compile, with out and weights; isa of bench too */
    int64_t lanes;

    const char *root; /* of doctor */
    bool no_race;     /* of profile */
    bool show, reset; /* of tune */
    int64_t most;     /* of tune batch, with train and others of plan */
    double latency, memory_part;

    int64_t level, dictionary, count, from; /* of data */
    int compression;
    bool append;
    bool shallow; /* of verify */
    bool all, salvage, skip, adaptive;
    const char *worker_counts;
    int64_t prefetch, cache;
    cli_list parts;
    bool free_only, shuffle_labels; /* of zoo */
    const char *ranks;              /* of launch */
    int64_t rank_count;             /* of plan, with leaves */
    const char *link;
    int64_t restarts;
    double timeout;

    /* By row of the command's table: the text a value was read from, owned, and whether the command line gave it. */
    char *text[CLI_MAX_OPTIONS];
    bool given[CLI_MAX_OPTIONS];
} cli_options;

typedef struct option_row option_row; /* option_rows.h */
typedef struct cli_command {
    const char *name, *arguments, *doc;
    bool needs_model, takes_files;
    int (*run)(cli_options *options); /* an exit code */
    const option_row *options;        /* its own table */
    bool takes_command; /* its argument begins another command, whose options are not its own */
} cli_command;
extern const cli_command cli_commands[CMD_COUNT];

int cmd_train(cli_options *options);
int cmd_eval(cli_options *options);
int cmd_predict(cli_options *options);
int cmd_report(cli_options *options);
int cmd_compare(cli_options *options);
int cmd_run(cli_options *options);
int cmd_inspect(cli_options *options);
int cmd_verify(cli_options *options);
int cmd_convert(cli_options *options);
int cmd_quantize(cli_options *options);
int cmd_prune(cli_options *options);
int cmd_shrink(cli_options *options);
int cmd_info(cli_options *options);
int cmd_ops(cli_options *options);
int cmd_plan(cli_options *options);
int cmd_explain(cli_options *options);
int cmd_profile(cli_options *options);
int cmd_graph(cli_options *options);
int cmd_compile(cli_options *options);
int cmd_doctor(cli_options *options);
int cmd_bench(cli_options *options);
int cmd_tune(cli_options *options);
int cmd_data(cli_options *options);
const char *data_action(int i); /* of wick data; NULL past the last */
int cmd_zoo(cli_options *options);
const char *zoo_action(int i); /* of wick zoo; NULL past the last */
int cmd_launch(cli_options *options);
int cmd_completions(cli_options *options);

#endif
