/* wick completions: a script that teaches a shell the commands, the options and what their values may be. */
#include "option_rows.h"
#include "options.h"
#include "term/log.h"

#include "wick/data.h"
#include "wick/registry.h"
#include "wick/zoo.h"

#include <stdlib.h>
#include <string.h>

/* clang-format off */
const option_row cmd_completions_options[] = {
    HEADING("Output"),
    OPT_HELP,
    OPTIONS_END
};
/* clang-format on */

/* What may stand in an argument: words, files, folders, or what nobody can guess. */
typedef struct guess {
    char words[16384]; /* between blanks */
    bool files, folders;
} guess;

static const char *shell_name(int i) {
    static const char *const names[] = {"bash", "zsh", "fish"};
    return i < 3 ? names[i] : NULL;
}

static const char *op_name(int i) { return wick_op_at(i).name; }
static const char *network_name(int i) { return i < wick_zoo_count() ? wick_zoo_at(i)->name : NULL; }
static const char *topic_name(int i) { return i < CMD_COUNT ? cli_commands[i].name : i == CMD_COUNT ? "net" : NULL; }

/* By the name of the argument, as --help shows it. */
static const struct {
    const char *argument;
    const char *(*word)(int i);
    bool files, folders;
} guesses[] = {
    {"SET", wick_dataset_known, false, true},
    {"NET", network_name, false, false},
    {"DIR", NULL, false, true},
    {"RUN", NULL, false, true},
    {"FILE", NULL, true, false},
    {"MODEL", NULL, true, false},
    {"MODEL.onnx", NULL, true, false},
    {"SHELL", shell_name, false, false},
    {"OP", op_name, false, false},
    {"ACTION", data_action, true, false},
    {"ZOO-ACTION", zoo_action, false, false},
    {"A", NULL, true, false},
};

static void add_word(guess *g, const char *word, size_t length) {
    size_t used = strlen(g->words);
    snprintf(g->words + used, sizeof g->words - used, "%s%.*s", used ? " " : "", (int)length, word);
}

static guess guess_argument(const char *argument, bool choices) {
    guess g = {0};
    argument += argument[0] == '['; /* "[MODEL]" */
    size_t length = strcspn(argument, " ]");
    for (const char *s = argument; choices;) {
        size_t n = strcspn(s, "|");
        add_word(&g, s, n);
        if (!s[n]) return g;
        s += n + 1;
    }
    for (size_t i = 0; i < sizeof guesses / sizeof guesses[0]; i++) {
        if (strlen(guesses[i].argument) != length || memcmp(guesses[i].argument, argument, length) != 0) continue;
        g.files = guesses[i].files;
        g.folders = guesses[i].folders;
        const char *word;
        for (int k = 0; guesses[i].word && (word = guesses[i].word(k)); k++) add_word(&g, word, strlen(word));
    }
    return g;
}

static guess guess_topic(void) {
    guess g = {0};
    for (int i = 0; topic_name(i); i++) add_word(&g, topic_name(i), strlen(topic_name(i)));
    return g;
}

/* The text inside '...' of a shell; in fish a backslash escapes there too. `also` gets a backslash before it, as zsh's
 * _arguments needs. */
static void quoted(const char *s, const char *quote, const char *also) {
    for (; *s; s++) {
        if (*s == '\'')
            fputs(quote, stdout);
        else
            printf("%s%c", strchr(also, *s) ? "\\" : "", *s);
    }
}

/* ---- bash -------------------------------------------------------------------------------------------------------- */

static void bash_words(const char *words) {
    printf("COMPREPLY+=($(compgen -W '%s' -- \"$cur\")); ", words);
}

static void bash_guess(const guess *g) {
    if (g->words[0]) bash_words(g->words);
    if (g->files || g->folders)
        printf("compopt -o filenames 2>/dev/null; IFS=$'\\n'; COMPREPLY+=($(compgen %s -- \"$cur\")); ",
               g->files ? "-f" : "-d");
}

static void bash(void) {
    option_view option;
    guess topics = guess_topic(), commands = {.words = "help --help --version"};
    for (int c = 0; c < CMD_COUNT; c++) add_word(&commands, cli_commands[c].name, strlen(cli_commands[c].name));
    printf("_wick() {\n"
           "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} IFS=$' \\t\\n'\n"
           "    COMPREPLY=()\n"
           "    # --option=value comes as three words\n"
           "    if [ \"$cur\" = = ]; then cur=; elif [ \"$prev\" = = ]; then prev=${COMP_WORDS[COMP_CWORD - 2]}; fi\n"
           "    if [ \"$COMP_CWORD\" = 1 ]; then\n        ");
    bash_words(commands.words);
    printf("return\n    fi\n    case \"${COMP_WORDS[1]} $prev\" in\n");
    for (int c = 0; c < CMD_COUNT; c++)
        for (int i = 0; options_at((cli_command_id)c, i, &option); i++) {
            if (option.flag) continue;
            guess g = guess_argument(option.argument, option.choices);
            printf("    '%s --%s') ", cli_commands[c].name, option.name);
            bash_guess(&g);
            printf("return ;;\n");
        }
    printf("    esac\n    case \"${COMP_WORDS[1]}\" in\n");
    for (int c = 0; c < CMD_COUNT; c++) {
        printf("    %s)\n        case \"$cur\" in\n        -*) ", cli_commands[c].name);
        printf("COMPREPLY=($(compgen -W '");
        for (int i = 0; options_at((cli_command_id)c, i, &option); i++) printf("%s--%s", i ? " " : "", option.name);
        printf("' -- \"$cur\")) ;;\n        *) ");
        guess g = guess_argument(cli_commands[c].arguments, false);
        bash_guess(&g);
        printf(";;\n        esac ;;\n");
    }
    printf("    help) ");
    bash_words(topics.words);
    bash_words("--man");
    printf(";;\n    esac\n}\ncomplete -F _wick wick\n");
}

/* ---- zsh --------------------------------------------------------------------------------------------------------- */

/* The action of one argument, after its message. */
static void zsh_guess(const guess *g) {
    if (g->words[0] && g->folders)
        printf("{compadd -- %s; _files -/}", g->words);
    else if (g->words[0])
        printf("(%s)", g->words);
    else if (g->files || g->folders)
        printf(g->files ? "_files" : "_files -/");
}

static void zsh(void) {
    option_view option;
    guess topics = guess_topic();
    printf("#compdef wick\n_wick() {\n    local -a commands=(\n");
    for (int c = 0; c < CMD_COUNT; c++) {
        printf("        '%s:", cli_commands[c].name);
        quoted(cli_commands[c].doc, "'\\''", ":\\");
        printf("'\n");
    }
    printf("        'help:explain a command'\n    )\n"
           "    if ((CURRENT == 2)); then\n"
           "        _describe command commands\n"
           "        [[ $PREFIX == -* ]] && compadd -- --help --version\n"
           "        return\n    fi\n"
           "    shift words\n    ((CURRENT--))\n    case $words[1] in\n");
    for (int c = 0; c < CMD_COUNT; c++) {
        printf("    %s) _arguments", cli_commands[c].name);
        for (int i = 0; options_at((cli_command_id)c, i, &option); i++) {
            printf(" \\\n        '--%s%s[", option.name, option.flag ? "" : "=");
            quoted(option.doc, "'\\''", "[]\\");
            printf("]");
            if (!option.flag) {
                guess g = guess_argument(option.argument, option.choices);
                printf(":%s:", option.argument);
                zsh_guess(&g);
            }
            printf("'");
        }
        if (cli_commands[c].arguments[0]) {
            guess g = guess_argument(cli_commands[c].arguments, false);
            printf(" \\\n        '*:");
            quoted(cli_commands[c].arguments, "'\\''", "[]\\:");
            printf(":");
            zsh_guess(&g);
            printf("'");
        }
        printf(" ;;\n");
    }
    printf("    help) _arguments '--man[print the man page]' '1:topic:(%s)' '2:topic:(%s)' ;;\n    esac\n}\n",
           topics.words, topics.words);
    printf("if [[ $funcstack[1] == _wick ]]; then _wick \"$@\"; else compdef _wick wick; fi\n");
}

/* ---- fish -------------------------------------------------------------------------------------------------------- */

static void fish_guess(const guess *g) {
    if (g->words[0] || g->folders) printf(" -a '%s%s'", g->words, g->folders ? " (__fish_complete_directories)" : "");
}

static void fish_doc(const char *doc) {
    printf(" -d '");
    quoted(doc, "\\'", "\\");
    printf("'\n");
}

static void fish(void) {
    option_view option;
    guess topics = guess_topic();
    printf("complete -c wick -f\n");
    printf("complete -c wick -n __fish_use_subcommand -l version -d 'print the version'\n"
           "complete -c wick -n __fish_use_subcommand -a help -d 'explain a command'\n"
           "complete -c wick -n '__fish_seen_subcommand_from help' -a '%s'\n"
           "complete -c wick -n '__fish_seen_subcommand_from help' -l man -d 'print the man page'\n", topics.words);
    for (int c = 0; c < CMD_COUNT; c++) {
        const cli_command *command = &cli_commands[c];
        /* help train is no training */
        char when[128];
        snprintf(when, sizeof when,
                 "complete -c wick -n '__fish_seen_subcommand_from %s; and not __fish_seen_subcommand_from help'",
                 command->name);
        printf("complete -c wick -n __fish_use_subcommand -a %s", command->name);
        fish_doc(command->doc);
        for (int i = 0; options_at((cli_command_id)c, i, &option); i++) {
            printf("%s -l %s", when, option.name);
            if (!option.flag) {
                guess g = guess_argument(option.argument, option.choices);
                printf(g.files ? " -r -F" : " -x");
                fish_guess(&g);
            }
            fish_doc(option.doc);
        }
        guess g = guess_argument(command->arguments, false);
        if (!g.files && !g.folders && !g.words[0]) continue;
        printf("%s", when);
        if (g.files) printf(" -F");
        fish_guess(&g);
        printf("\n");
    }
}

int cmd_completions(cli_options *o) {
    static void (*const write[])(void) = {bash, zsh, fish};
    for (int i = 0; shell_name(i); i++) {
        if (strcmp(o->model, shell_name(i)) != 0) continue;
        /* zsh's first line is a directive */
        if (i != 1)
            printf("# %s completion of wick %s: wick completions %s\n", shell_name(i), wick_version(), shell_name(i));
        write[i]();
        return CLI_OK;
    }
    return log_fail(CLI_USAGE, "no completions for '%s'; the shells are bash, zsh and fish", o->model);
}
