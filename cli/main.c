/* wick: the command. Finds the subcommand, reads its options and runs it. */
#include "options.h"
#include "talk.h"

#include "wick/zoo.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const cli_command cli_commands[CMD_COUNT] = {
    [CMD_TRAIN] = {"train", "", "train a classifier of images, with checkpoints", false, cmd_train},
    [CMD_EVAL] = {"eval", "MODEL", "measure a trained model on labelled images", true, cmd_eval},
    [CMD_PREDICT] = {"predict", "MODEL", "show images and what a model takes them for", true, cmd_predict},
    [CMD_INFO] = {"info", "[MODEL]", "what this build is, or what a checkpoint holds", false, cmd_info},
    [CMD_OPS] = {"ops", "", "list the ops", false, cmd_ops},
    [CMD_DOCTOR] = {"doctor", "", "what of this machine Wick uses, how fast it is, and what would help", false, cmd_doctor},
};

static const struct {
    int code;
    const char *doc;
} exit_codes[] = {
    {CLI_OK, "done, or nothing was left to do"},
    {CLI_FAILED, "it failed while running: a write, memory, another training in the folder, an internal error"},
    {CLI_USAGE, "the command line is wrong"},
    {CLI_BAD_FILE, "a file that was to be read is missing, damaged, of another version or of another model"},
    {CLI_NOT_FINITE, "the training met NaN or Inf; the step and the op are named, the last checkpoint is whole"},
    {CLI_INTERRUPTED, "interrupted (Ctrl-C, SIGTERM); train has saved its place and printed how to go on"},
};

static void exit_code_help(FILE *out) {
    fprintf(out, "\nExit codes:\n");
    for (size_t i = 0; i < sizeof exit_codes / sizeof exit_codes[0]; i++)
        fprintf(out, "  %3d  %s\n", exit_codes[i].code, exit_codes[i].doc);
}

static void general_help(FILE *out) {
    fprintf(out, "wick: train, measure and look into models\n\n");
    for (int i = 0; i < CMD_COUNT; i++) {
        char left[64];
        snprintf(left, sizeof left, "wick %s %s", cli_commands[i].name, cli_commands[i].arguments);
        fprintf(out, "  %-22s %s\n", left, cli_commands[i].doc);
    }
    fprintf(out, "\nMODEL is a checkpoint, or the folder of a run: then its best.safetensors.\n"
                 "wick help COMMAND lists the options, wick help net the layers of networks; wick --version prints the version.\n");
    exit_code_help(out);
}

/* What --net and --arch take. */
static void net_help(FILE *out) {
    fprintf(out, "A network as text is a list of layers between commas, for example\n\n"
                 "  wick train --net \"conv 32 3, relu, maxpool 2, flatten, linear 128, relu, linear classes\"\n\n"
                 "Options of a layer, in brackets here, come in any order; \"same\" pads so that the output has ceil(extent / stride).\n\n");
    for (int i = 0; i < wick_net_layers(); i++) fprintf(out, "  %s\n      %s\n", wick_net_layer_form(i), wick_net_layer_doc(i));
    fprintf(out, "\nNetworks by name, for --arch:\n\n");
    for (int i = 0; i < wick_zoo_count(); i++) fprintf(out, "  %-28s %s\n", wick_zoo_at(i)->form, wick_zoo_at(i)->doc);
}

static void command_help(cli_command_id command) {
    options_help(command, stdout);
    exit_code_help(stdout);
}

/* Errors keep to --json wherever it stands, also behind the word that is wrong. */
static bool wants_json(int argc, char **argv) {
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--json") == 0) return true;
    return false;
}

/* The library takes the best tier for a name that it doesn't know (base/cpu.c), since it never prints. */
static void check_isa(void) {
    const char *isa = getenv("WICK_ISA");
    if (!isa || !*isa) return;
    for (int i = 0; i < wick_isa_count(); i++)
        if (strcmp(isa, wick_isa_at(i).name) == 0) return;
    fprintf(stderr, "wick: WICK_ISA=%s is ignored; the tiers are", isa);
    for (int i = 0; i < wick_isa_count(); i++) fprintf(stderr, "%s %s", i ? "," : "", wick_isa_at(i).name);
    fputc('\n', stderr);
}

static const char *command_name(int i, const void *user) {
    (void)user;
    return cli_commands[i].name;
}

static int run_command(int argc, char **argv) {
    const char *word = argc > 1 ? argv[1] : "--help";
    bool as_json = wants_json(argc, argv);
    cli_options options = {.program = argv[0], .command = CMD_COUNT, .json = as_json};
    talk_setup(&options);
    check_isa();
    if (strcmp(word, "--version") == 0) {
        printf("wick %s\n", wick_version());
        return CLI_OK;
    }
    bool help = strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0;
    if (help && (argc < 3 || argv[2][0] == '-')) {
        general_help(argc > 1 ? stdout : stderr);
        return argc > 1 ? CLI_OK : CLI_USAGE;
    }
    if (help) word = argv[2];
    if (help && strcmp(word, "net") == 0) {
        net_help(stdout);
        return CLI_OK;
    }
    for (int i = 0; i < CMD_COUNT; i++)
        if (strcmp(word, cli_commands[i].name) == 0) options.command = (cli_command_id)i;
    if (options.command == CMD_COUNT && word[0] == '-')
        return talk_fail(CLI_USAGE, "%s before a command: options follow it (see wick --help)", word);
    if (options.command == CMD_COUNT) {
        const char *near = nearest_name(word, CMD_COUNT, command_name, NULL);
        return talk_fail(CLI_USAGE,
                         near ? "unknown command '%s'; did you mean %s?" : "unknown command '%s' (see wick --help)",
                         word, near);
    }
    if (help) {
        command_help(options.command);
        return CLI_OK;
    }

    char error[512];
    int code = options_parse(&options, argc, argv, 2, error, sizeof error);
    if (code != CLI_OK) options.json = as_json;
    talk_setup(&options);
    if (code != CLI_OK) {
        talk_fail(code, code == CLI_USAGE ? "%s (see wick %s --help)" : "%s", error,
                  cli_commands[options.command].name);
    } else if (options.help) {
        command_help(options.command);
    } else {
        code = cli_commands[options.command].run(&options);
    }
    options_free(&options);
    return code;
}

int main(int argc, char **argv) {
    int code = run_command(argc, argv);
    /* Results that never reached their file are a failure. */
    if ((fflush(stdout) != 0 || ferror(stdout)) && code == CLI_OK) {
        fprintf(stderr, "wick: writing to standard output: %s\n", strerror(errno));
        code = CLI_FAILED;
    }
    return code;
}
