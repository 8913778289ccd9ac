/* wick: the command. Finds the subcommand, reads its options and runs it. */
#include "plan/profile_command.h"
#include "cutoff.h"
#include "environment.h"
#include "help.h"
#include "hints.h"
#include "option_rows.h"
#include "options.h"
#include "outputs.h"
#include "term/streams.h"
#include "term/log.h"
#include "tuned.h"

#include "wick/context.h"

#include <stdlib.h>
#include <string.h>

const cli_command cli_commands[CMD_COUNT] = {
    [CMD_TRAIN] = {"train", "",
                   "learn classes, numbers or labels of images, recordings or table rows, with checkpoints", false,
                   false, cmd_train, cmd_train_options, false},
    [CMD_EVAL] = {"eval", "MODEL", "measure a trained model on data with labels", true, false, cmd_eval,
                  cmd_eval_options, false},
    [CMD_PREDICT] = {"predict", "MODEL [FILE...]",
                     "say what the model learned to say of pictures, recordings or table rows, and how sure it is",
                     true, true, cmd_predict, cmd_predict_options, false},
    [CMD_REPORT] = {"report", "RUN", "draw a run: curves, mistakes, filters, memory and time, as one HTML page", true,
                    false, cmd_report, cmd_report_options, false},
    [CMD_COMPARE] = {"compare", "A B",
                     "what differs between two safetensors files, or between a model's layers and a file of what they "
                     "gave elsewhere",
                     true, true, cmd_compare, cmd_compare_options, false},
    [CMD_RUN] = {"run", "MODEL.onnx", "run an ONNX model on inputs from files, or check the outputs it gives", true,
                 false, cmd_run, cmd_run_options, false},
    [CMD_INSPECT] =
        {"inspect", "FILE",
         "what an ONNX model is: inputs, outputs, ops, cost, what Wick lacks of it; or what tensors a file holds", true,
         false, cmd_inspect, cmd_inspect_options, false},
    [CMD_VERIFY] = {"verify", "FILE",
                    "whether a model or another file that Wick reads is sound, wherever it comes from; exit 3 if not",
                    true, false, cmd_verify, cmd_verify_options, false},
    [CMD_CONVERT] = {"convert", "A B", "make a file of another kind: the ends of the names say from what and to what",
                     true, true, cmd_convert, cmd_convert_options, false},
    [CMD_QUANTIZE] = {"quantize", "MODEL",
                      "a trained classifier in 8 bits, as ONNX, and what that costs in accuracy, bytes and time", true,
                      false, cmd_quantize, cmd_quantize_options, false},
    [CMD_PRUNE] = {"prune", "MODEL",
                   "a trained classifier with fewer channels or sparse weights, as ONNX, and what that costs", true,
                   false, cmd_prune, cmd_prune_options, false},
    [CMD_SHRINK] = {"shrink", "MODEL",
                    "a trained classifier made smaller in all ways that there are, until it meets a budget, as ONNX",
                    true, false, cmd_shrink, cmd_shrink_options, false},
    [CMD_INFO] = {"info", "[MODEL]", "what this build is, a checkpoint holds, or a network costs", false, false,
                  cmd_info, cmd_info_options, false},
    [CMD_OPS] = {"ops", "[OP]", "list the ops, or tell about one", false, false, cmd_ops, cmd_ops_options, false},
    [CMD_PLAN] =
        {"plan", "[MODEL]",
         "the kernels that a model runs as, in order: memory over time, arithmetic, bytes, and the least time for each",
         false, false, cmd_plan, cmd_plan_options, false},
    [CMD_EXPLAIN] = {"explain", "[MODEL]",
                     "the same, run and timed, with what was fused or not, which kernels were chosen, and why", false,
                     false, cmd_explain, cmd_explain_options, false},
    [CMD_PROFILE] = {"profile", "[MODEL | -- COMMAND...]",
                     "where the time of runs goes, by kernel, op and layer, what bounds it, and what to change", false,
                     false, cmd_profile, cmd_profile_options, false},
    [CMD_GRAPH] = {"graph", "[MODEL]", "the graph of a model as text or drawn, before and after each pass", false,
                   false, cmd_graph, cmd_graph_options, false},
    [CMD_COMPILE] =
        {"compile", "[MODEL]",
         "write a model as C11 that needs no library: one source file, one header, weights, one static arena", false,
         false, cmd_compile, cmd_compile_options, false},
    [CMD_DOCTOR] = {"doctor", "", "what of this machine Wick uses, how fast it is, and what would help", false, false,
                    cmd_doctor, cmd_doctor_options, false},
    [CMD_BENCH] = {"bench", "[ROW...]",
                   "how fast it is here, beside what the machine can do: rows by name, by suite, or by a pattern such "
                   "as gemm/f32_*",
                   false, true, cmd_bench, cmd_bench_options, false},
    [CMD_TUNE] =
        {"tune", "[batch MODEL]",
         "measure which sizes of tasks and blocks are fastest here, and keep them: time changes, results don't; or "
         "which batch a model is fastest with",
         false, true, cmd_tune, cmd_tune_options, false},
    [CMD_DATA] = {"data", "ACTION PATH [TO]",
                  "look at a set of pictures, recordings or arrays, check it, split it, and pack it into a record file "
                  "or out of it",
                  true, true, cmd_data, cmd_data_options, false},
    [CMD_ZOO] = {"zoo", "ZOO-ACTION [NAME...]",
                 "small networks by name: list, prepare, train, eval, bench and report them, on public data",
                 true, true, cmd_zoo, cmd_zoo_options, false},
    [CMD_LAUNCH] = {"launch", "COMMAND [ARGUMENT...]",
                    "start several processes of a command on this machine, which train one model together", true, true,
                    cmd_launch, cmd_launch_options, true},
    [CMD_COMPLETIONS] = {"completions", "SHELL", "print what teaches bash, zsh or fish to complete wick", true, false,
                         cmd_completions, cmd_completions_options, false},
};

/* Errors keep to --json wherever it stands, also behind the word that is wrong; that of a command that is launched is
 * its own. */
static bool wants_json(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], cli_commands[CMD_LAUNCH].name) == 0) return false;
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--json") == 0) return true;
    return false;
}

/* CMD_COUNT: there is none of that name. */
static cli_command_id find_command(const char *name) {
    int i = 0;
    while (i < CMD_COUNT && strcmp(name, cli_commands[i].name) != 0) i++;
    return (cli_command_id)i;
}

static int run_command(int argc, char **argv) {
    const int behind = profile_command_at(argc, argv);
    if (behind) return profile_command(argc, argv, behind, run_command);
    const char *word = argc > 1 ? argv[1] : "--help";
    bool as_json = wants_json(argc, argv);
    cli_options options = {.program = argv[0], .command = CMD_COUNT, .json = as_json};
    log_setup(&options);
    environment_check();
    if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0) {
        printf("wick %s\n", wick_version());
        return CLI_OK;
    }
    bool help = strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0;
    bool man = help && argc > 2 && strcmp(argv[2], "--man") == 0;
    if (man && argc == 3) {
        man_page(CMD_COUNT, stdout);
        return CLI_OK;
    }
    if (help && !man && (argc < 3 || argv[2][0] == '-')) {
        help_general(argc > 1 ? stdout : stderr);
        return argc > 1 ? CLI_OK : CLI_USAGE;
    }
    if (help) word = argv[2 + man];
    if (help && !man && strcmp(word, "net") == 0) {
        help_net(stdout);
        return CLI_OK;
    }
    if (man && strcmp(word, "net") == 0)
        return log_fail(CLI_USAGE,
                        "the layers have no man page of their own: wick help net shows them, wick help --man has them");
    options.command = find_command(word);
    if (options.command == CMD_COUNT && word[0] == '-')
        return log_fail(CLI_USAGE, "%s before a command: options follow it (see wick --help)", word);
    if (options.command == CMD_COUNT) {
        char hint[300];
        hint_command(word, hint, sizeof hint);
        return log_fail(CLI_USAGE, "unknown command '%s'%s%s (see wick --help)", word, *hint ? "; " : "", hint);
    }
    if (help) {
        (man ? man_page : help_command)(options.command, stdout);
        return CLI_OK;
    }

    char error[512];
    int code = options_parse(&options, argc, argv, 2, error, sizeof error);
    if (code != CLI_OK) options.json = as_json;
    log_setup(&options);
    if (code != CLI_OK) {
        log_fail(code, code == CLI_USAGE ? "%s (see wick %s --help)" : "%s", error, cli_commands[options.command].name);
    } else if (options.help) {
        help_command(options.command, stdout);
    } else if ((code = outputs_check(&options)) == CLI_OK) {
        /* What wick compile writes is planned for a tier of its own, the same on every machine; whatever asks for the
         * tier comes after. */
        if (options.command == CMD_COMPILE)
            setenv("WICK_ISA", strncmp(options.isa, "avx", 3) == 0 ? options.isa : "base", 1);
        if (options.command == CMD_BENCH && strcmp(options.isa, "any") != 0) setenv("WICK_ISA", options.isa, 1);
        if (*tuned_trouble()) log_note("tuning is not used: %s (wick tune measures again)", tuned_trouble());
        code = cli_commands[options.command].run(&options);
    }
    options_free(&options);
    return code;
}

int main(int argc, char **argv) {
    streams_setup();
    cutoff_watch();
    return streams_end(run_command(argc, argv));
}
