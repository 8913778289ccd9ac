/* cli.h: what the files of the command share: exit codes, the commands and their options. The command uses the public
 * headers of Wick only. */
#ifndef WICK_CLI_H
#define WICK_CLI_H

#include "bench/bench_values.h"
#include "data/data_values.h"
#include "launch/launch_values.h"
#include "onnx/onnx_values.h"
#include "plan/plan_values.h"
#include "shared_values.h"
#include "train/train_values.h"
#include "zoo/zoo_values.h"

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

/* The values of options; those that a command lacks are zero. Filled from the command's table. What only one command
 * has is in a struct of its own, in the header of its folder: FOLDER/FOLDER_values.h. */
typedef struct cli_options {
    const char *program; /* argv[0] */
    cli_command_id command;
    const char *model;  /* the first positional argument, or NULL */
    const char **files; /* the others, of commands that take them */
    int n_files;

    bool force, json, quiet, verbose, help;
    int color, precision; /* which of the choices, in the table's order */
    int64_t threads, seed;
    placement_values placement;
    recording_values recording;

    /* networks, and what they are given */
    const char *arch, *net, *weights, *wide, *without, *isa;
    cli_list inputs, dims;
    int64_t batch, classes, opset, memory_budget, max_batch;
    bool train; /* the whole step of training */
    limits_values limits;

    /* data */
    const char *data, *split, *transform, *layout, *input, *input_range, *image_size;
    table_values table;
    int64_t rate;
    bool as_stored, head;

    /* training, and what is made of a trained network */
    int64_t epochs, leaves, top, beams;
    double label_smoothing;
    const char *freeze;
    bool shard_optimizer, adaptive;
    update_values update;
    gate_values gate;

    /* measuring, and results */
    int64_t repeat, runs;
    double time, rtol, atol;
    const char *out, *html, *svg;
    bool onnx_ops; /* of ops */

    bench_values of_bench;
    compare_values of_compare;
    compile_values of_compile;
    convert_values of_convert;
    data_values of_data;
    doctor_values of_doctor;
    graph_values of_graph;
    launch_values of_launch;
    plan_values of_plan;
    predict_values of_predict;
    profile_values of_profile;
    prune_values of_prune;
    quantize_values of_quantize;
    run_values of_run;
    shrink_values of_shrink;
    train_values of_train;
    tune_values of_tune;
    verify_values of_verify;
    zoo_values of_zoo;

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
