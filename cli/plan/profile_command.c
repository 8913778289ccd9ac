/* wick profile -- COMMAND: the command runs in this process as if it had been called with --profile, so that its exit
 * code, its output and its signals are its own. What bounds it is said at the end, also without a file. */
#include "profile_command.h"
#include "../options.h"
#include "../profiling.h"
#include "../term/log.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static cli_command_id command_named(const char *word) {
    int i = 0;
    while (i < CMD_COUNT && strcmp(word, cli_commands[i].name) != 0) i++;
    return (cli_command_id)i;
}

static bool takes_profile(cli_command_id c) {
    option_view o;
    for (int i = 0; c != CMD_PROFILE && options_at(c, i, &o); i++)
        if (strcmp(o.name, "profile") == 0) return true;
    return false;
}

/* "wick", or a path of this very program. */
static bool is_this(const char *word) {
    struct stat a, b;
    if (strcmp(word, "wick") == 0) return true;
    return strchr(word, '/') && stat(word, &a) == 0 && stat("/proc/self/exe", &b) == 0 && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino;
}

int profile_command_at(int argc, char **argv) {
    if (argc < 2 || strcmp(argv[1], cli_commands[CMD_PROFILE].name) != 0) return 0;
    for (int i = 2; i + 1 < argc; i++)
        if (strcmp(argv[i], "--") == 0) /* one word that is no command is a model */
            return i + 2 < argc || is_this(argv[i + 1]) || command_named(argv[i + 1]) != CMD_COUNT ? i : 0;
    return 0;
}

/* Options before the -- are about what is recorded; all else is the command's. */
static int check_own(const cli_options *o) {
    static const char *const own[] = {"profile", "memory", "memory-before", "quiet", "help"};
    option_view v;
    for (int i = 0; options_at(CMD_PROFILE, i, &v); i++) {
        bool is_own = false;
        for (size_t k = 0; k < sizeof own / sizeof *own; k++) is_own |= strcmp(v.name, own[k]) == 0;
        if (!is_own && options_given(o, v.name))
            return log_fail(CLI_USAGE, "--%s before -- has no effect: options of the command stand behind it", v.name);
    }
    if (o->model) return log_fail(CLI_USAGE, "%s before --: the command stands behind it", o->model);
    return CLI_OK;
}

static int check_command(const char *word, cli_command_id c) {
    char names[256] = "";
    if (c != CMD_COUNT && takes_profile(c)) return CLI_OK;
    for (int i = 0; i < CMD_COUNT; i++)
        if (takes_profile((cli_command_id)i))
            snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", *names ? ", " : "",
                     cli_commands[i].name);
    if (c == CMD_COUNT)
        return log_fail(CLI_USAGE, "-- %s: a command of this wick stands here, one of %s", word, names);
    return log_fail(CLI_USAGE, "wick %s isn't recorded; these are: %s", word, names);
}

/* argv of the command: its name, files to write, and what stands behind it. */
static int run_it(const cli_options *o, int argc, char **argv, int at, int (*run)(int argc, char **argv)) {
    const int n = argc - at - 1, files = o->recording.profiles.n + o->recording.memory_files.n + 1;
    char **line = malloc(((size_t)(n + 2 * files) + 2) * sizeof *line);
    int k = 0;
    if (!line) return log_fail(CLI_FAILED, "out of memory");
    static char profile[] = "--profile", memory[] = "--memory", before[] = "--memory-before";
    line[k++] = argv[0];
    line[k++] = argv[at + 1];
    for (int i = 0; i < o->recording.profiles.n; i++)
        line[k++] = profile, line[k++] = (char *)(uintptr_t)o->recording.profiles.items[i];
    for (int i = 0; i < o->recording.memory_files.n; i++)
        line[k++] = memory, line[k++] = (char *)(uintptr_t)o->recording.memory_files.items[i];
    if (*o->recording.memory_before) line[k++] = before, line[k++] = (char *)(uintptr_t)o->recording.memory_before;
    for (int i = at + 2; i < argc; i++) line[k++] = argv[i];
    line[k] = NULL;
    const int code = run(k, line);
    free(line);
    return code;
}

int profile_command(int argc, char **argv, int at, int (*run)(int argc, char **argv)) {
    cli_options o = {.program = argv[0], .command = CMD_PROFILE};
    char error[512];
    int code = options_parse(&o, at, argv, 2, error, sizeof error);
    log_setup(&o);
    if (code != CLI_OK) {
        log_fail(code, code == CLI_USAGE ? "%s (see wick profile --help)" : "%s", error);
    } else if (o.help) {
        static char word[] = "--help";
        char *help[] = {argv[0], argv[1], word, NULL};
        code = run(3, help);
    } else {
        if (is_this(argv[at + 1]) && at + 2 < argc) at++;
        code = check_own(&o);
        if (code == CLI_OK) code = check_command(argv[at + 1], command_named(argv[at + 1]));
        if (code == CLI_OK) {
            profiling_expect(true);
            code = run_it(&o, argc, argv, at, run);
            log_setup(&o);
            profiling_tell();
        }
    }
    options_free(&o);
    return code;
}
