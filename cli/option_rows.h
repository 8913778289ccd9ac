/* option_rows.h: the rows of the commands' tables of options. Each command has a table of its own in the folder of its
 * source (FOLDER_options.c), in the order of help; a row that several commands have is written once, as a macro: here,
 * or in the file of the folder where nobody else has it. */
#ifndef WICK_CLI_OPTION_ROWS_H
#define WICK_CLI_OPTION_ROWS_H

#include "cli.h"

#include "wick/context.h"
#include "wick/loader.h"

/* Of a CHOICE the field holds the number, of a WORD the text. A LIST may be given several times: its texts are joined
 * by ;. EACH may too, and stays apart, whatever is in the texts: a cli_list. BYTES are a number with K, M or G behind
 * it, 1024 each. */
typedef enum value_kind { FLAG, INTEGER, BYTES, REAL, TEXT, CHOICE, WORD, LIST, EACH } value_kind;

struct option_row {
    const char *name;     /* NULL: a heading of help, whose text is doc */
    const char *argument; /* shown in --help; of a CHOICE or WORD the choices, joined by '|' */
    value_kind kind;
    const char *fallback;
    size_t offset; /* into cli_options */
    double low, high;
    const char *doc; /* NULL: the end */
};
/* The tables, which main.c puts beside the commands. */
extern const option_row cmd_train_options[], cmd_eval_options[], cmd_predict_options[], cmd_report_options[],
    cmd_compare_options[], cmd_run_options[], cmd_inspect_options[], cmd_verify_options[], cmd_convert_options[],
    cmd_info_options[], cmd_ops_options[], cmd_plan_options[], cmd_explain_options[],
    cmd_profile_options[], cmd_graph_options[],
    cmd_compile_options[], cmd_doctor_options[], cmd_bench_options[], cmd_tune_options[], cmd_data_options[],
    cmd_zoo_options[], cmd_launch_options[],
    cmd_completions_options[], cmd_quantize_options[], cmd_prune_options[], cmd_shrink_options[];

#define AT(field)     offsetof(cli_options, field)
#define MANY          9007199254740992.0 /* 2^53: every whole number up to here is a double */
#define HEADING(text) {.name = NULL, .doc = text}
#define OPTIONS_END   {.name = NULL, .doc = NULL}

/* clang-format off */
#define OPT_SEPARATOR {"separator", "CHAR", TEXT, "", AT(table.separator), 0, 0, "what is between the cells of a table: a character, or tab; without it, found"}
#define OPT_DECIMAL {"decimal", "auto|point|comma", WORD, "auto", AT(table.decimal), 0, 0, "of a table: what is before the decimals of its numbers; auto: found"}
#define OPT_NO_HEADER {"no-header", "", FLAG, "", AT(table.no_header), 0, 0, "of a table: the first line has values, not names"}
#define OPT_DATA {"data", "SET", TEXT, "", AT(data), 0, 0, "other data, of any kind that wick train --data takes; without it, what the model was trained on"}
#define OPT_AS_STORED {"as-stored", "", FLAG, "", AT(as_stored), 0, 0, "leave pictures as they are stored; without it they are turned as their EXIF orientation says, or as in the training"}
#define OPT_FREEZE {"freeze", "PATTERN", LIST, "", AT(freeze), 0, 0, "parameters of such names are not trained: \"*.bias|conv1*\"; of those that no --group matches; may be given again"}
#define OPT_CLASSES {"classes", "N", INTEGER, "10", AT(classes), 1, 1 << 20, "how many the network tells apart"}
#define OPT_MEMORY_BUDGET {"memory-budget", "BYTES", BYTES, "0", AT(memory_budget), 0, 0, "the most that a step's intermediates may take, 64M: what gradients need is made again instead of kept where it must be, for the same bits; 0: no limit"}
#define OPT_PRECISION {"precision", "f32|bf16|f16", CHOICE, "f32", AT(precision), 0, 0, "what products take and give, with sums, weights and all else in f32; f16 of train scales the loss, and skips steps whose gradients overflow"}
#define OPT_WIDE {"wide", "OPS", TEXT, "", AT(wide), 0, 0, "with --precision: ops that stay in f32 all the same, by name with commas between: attention,conv"}
#define OPT_OPTIMIZER {"optimizer", "sgd|adam|adamw|muon|adamax|nadam|radam|rmsprop|adagrad|adadelta|lamb|lion", CHOICE, "adam", AT(update.optimizer), 0, 0, "update rule of the weights"}
#define OPT_LR {"lr", "RATE", REAL, "0", AT(update.lr), 0, 1e30, "peak learning rate; 0: the optimizer's own, 0.001 for most, 0.01 for sgd and muon"}
#define OPT_MOMENTUM {"momentum", "M", REAL, "-1", AT(update.momentum), -1, 0.9999, "momentum of sgd, muon and rmsprop; -1: 0.9 for sgd, 0.95 for muon, 0 for rmsprop"}
#define OPT_NESTEROV {"nesterov", "", FLAG, "", AT(update.nesterov), 0, 0, "Nesterov momentum for sgd"}
#define OPT_BETA1 {"beta1", "B", REAL, "-1", AT(update.beta1), -1, 0.9999999, "decay of the mean of gradients, of adam and its kin; -1: 0.9"}
#define OPT_BETA2 {"beta2", "B", REAL, "-1", AT(update.beta2), -1, 0.9999999, "decay of the mean of squares; -1: the optimizer's own, 0.999 for most"}
#define OPT_AMSGRAD {"amsgrad", "", FLAG, "", AT(update.amsgrad), 0, 0, "adam, adamw: by the largest mean of squares so far"}
#define OPT_WEIGHT_DECAY {"weight-decay", "W", REAL, "0", AT(update.weight_decay), 0, 1e30, "pull of the weights to zero"}
#define OPT_GROUP {"group", "GROUP", LIST, "", AT(update.group), 0, 0, "parameters by name, and what is different about them: \"*.bias|bn*:decay=0\", \"conv*:lr=0.1x\" (or lr=RATE), \"fc1.*:freeze\"; the first that " "matches counts; may be given again"}
#define OPT_CLIP {"clip", "NORM", REAL, "0", AT(update.clip), 0, 1e30, "largest norm of all gradients together; 0: no limit"}
#define OPT_ARCH {"arch", "NET", TEXT, "", AT(arch), 0, 0, "instead of MODEL: this network, mlp:256,128, resnet8, ... (with --input)"}
#define OPT_NET {"net", "LAYERS", TEXT, "", AT(net), 0, 0, "instead of MODEL: a network as text, or @FILE that has it; wick help net lists the layers"}
#define OPT_INPUT_OF_PLAN {"input", "DIMS|NAME=N", EACH, "", AT(inputs), 0, 0, "--arch, --net: extents of an image, 28,28 or 3,32,32. Of a .onnx: an input that becomes a constant, N everywhere"}
#define OPT_TRAIN {"train", "", FLAG, "", AT(train), 0, 0, "the whole step of training instead: forward, backward, and Adam's update"}
#define OPT_WITHOUT {"without", "PASSES", TEXT, "", AT(without), 0, 0, "leave passes out, by name with commas between: fuse,epilogue; or single decisions that explain numbers: fuse:3"}
#define OPT_DIM {"dim", "NAME=N", EACH, "", AT(dims), 0, 0, "extent of an open dim, by its name or as INPUT.axis (x.2=224), where no file says it; else 1"}
#define OPT_PROFILE {"profile", "FILE", EACH, "", AT(recording.profiles), 0, 0, "also record where the time goes: .pftrace a timeline for ui.perfetto.dev, .html one that a browser shows, .trace.json one of Chrome's events, .otlp.jsonl OpenTelemetry's spans, .svg a flame graph, .folded its stacks, .txt tables, .json all of it; may be given again"}
#define OPTS_MEMORY {"memory", "FILE", EACH, "", AT(recording.memory_files), 0, 0, "also record what memory is for, over time: .svg a drawing, .html a page with it and the lines it came from, .tsv to compare a later run with; may be given again"}, \
    {"memory-before", "FILE", TEXT, "", AT(recording.memory_before), 0, 0, "with --memory: a .tsv of another run, whose course and differences are drawn too"}
#define OPT_THREADS {"threads", "N", INTEGER, "0", AT(threads), -1, WICK_THREADS_MAX, "at most 1024; 0: every CPU this process may use; -1: all but one. Results don't depend on it"}
#define OPT_BALANCE {"balance", "", FLAG, "", AT(placement.balance), 0, 0, "threads' shares of the work follow their measured speeds: for CPUs that aren't equally fast, or that others use too. Results don't depend on it"}
#define OPT_PIN {"pin", "none|compact|scatter|LIST", TEXT, "", AT(placement.pin), 0, 0, "keep each thread on one CPU: compact, near each other; scatter, over NUMA nodes and cores; or on those of a list, 0-3,8. Results don't depend on it"}
#define OPT_HUGE_PAGES {"huge-pages", "", FLAG, "", AT(placement.huge_pages), 0, 0, "the pool takes pages of 2 MiB that the machine keeps (hugetlbfs, sysctl vm.nr_hugepages), as long as there are some, and ordinary ones after that"}
#define OPT_MEMORY_POOL {"memory-pool", "BYTES", BYTES, "0", AT(placement.memory_pool), 0, 0, "take memory from a pool of at most so many, 4G, beyond which it is out; 0: from malloc"}
#define OPT_NUMA {"numa", "none|bind|interleave|first-touch", TEXT, "", AT(placement.numa), 0, 0, "NUMA nodes of large blocks of memory: bind, to the nodes of the CPUs, or bind:0; interleave, over all in turn, or interleave:0,1; first-touch, where a thread writes first"}
#define OPT_SVG {"svg", "FILE", TEXT, "", AT(svg), 0, 0, "draw the graph"}
#define OPT_OPSET {"opset", "N", INTEGER, "18", AT(opset), 13, 28, "version of the ops of an ONNX model that is written"}
#define OPT_MAX_MEMORY {"max-memory", "MB", INTEGER, "", AT(limits.max_memory), 1, 1 << 24, "memory that it may take besides the file's own pages; without it what this machine has, of that 1024 for what a file describes and a run records of it"}
#define OPT_MAX_TENSOR {"max-tensor", "MB", INTEGER, "8192", AT(limits.max_tensor), 1, 1 << 24, "the largest tensor that it may make"}
#define OPT_MAX_OUTPUT {"max-output", "MB", INTEGER, "8192", AT(limits.max_output), 1, 1 << 24, "all outputs of a run together"}
#define OPT_MAX_NODES {"max-nodes", "N", INTEGER, "", AT(limits.max_nodes), 1, MANY, "nodes that a run may execute, those of loops and functions each time; without it 200000, and one for each byte of the file, up to 10000000"}
#define OPT_MAX_DEPTH {"max-depth", "N", INTEGER, "64", AT(limits.max_depth), 1, 1000, "how deep graphs and functions may lie within each other"}
#define OPT_MAX_SECONDS {"max-seconds", "S", REAL, "", AT(limits.max_seconds), 0.001, 1e6, "end with an error after that time; without it inspect and verify after 120, while in run opening a file may take an hour, and its graph too"}
/* of commands that read or run what a file describes */
#define OPTS_LIMITS HEADING("Limits"), OPT_MAX_MEMORY, OPT_MAX_TENSOR, OPT_MAX_OUTPUT, OPT_MAX_NODES, OPT_MAX_DEPTH, OPT_MAX_SECONDS
#define OPT_ADAPTIVE {"adaptive", "", FLAG, "", AT(adaptive), 0, 0, "--workers (and --prefetch) are the most; how many are used follows how long is waited for batches, which have the same bits"}
#define OPT_COLOR {"color", "auto|always|never", CHOICE, "auto", AT(color), 0, 0, "auto: on a terminal, unless NO_COLOR is set"}
#define OPT_JSON {"json", "", FLAG, "", AT(json), 0, 0, "print one JSON object on standard output instead"}
#define OPT_QUIET {"quiet", "", FLAG, "", AT(quiet), 0, 0, "no talk on standard error but what went wrong; results stay"}
#define OPT_HELP {"help", "", FLAG, "", AT(help), 0, 0, "this text"}
/* clang-format on */

#endif
