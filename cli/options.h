/* options.h: the table of a command gives its options: parsing, defaults and --help. What a checkpoint keeps of wick
 * train is in a list of its own. */
#ifndef WICK_CLI_OPTIONS_H
#define WICK_CLI_OPTIONS_H

#include "cli.h"

/* Defaults first, then argv[first..]. An exit code; anything but CLI_OK leaves one line in `error`. */
int options_parse(cli_options *options, int argc, char **argv, int first, char *error, size_t size);
/* Options of a file as if the command line had given them, unless it did: a line for each, "name = value", "name" of a
 * flag; # begins a comment at the start of a line. An exit code; anything but CLI_OK leaves one line in `error`, which
 * names file and line. */
int options_read(cli_options *options, const char *path, char *error, size_t size);
/* The options that are kept and no defaults, as such lines; malloc'ed, NULL: out of memory. */
char *options_lines(const cli_options *options);
void options_free(cli_options *options);
/* Whether the command line, rather than a default or a checkpoint, gave the option; it must be one of the command's. */
bool options_given(const cli_options *options, const char *name);
/* What an option is for: it has an effect in the cases `when`, a bit set of the caller's. */
typedef struct option_case {
    const char *name;
    unsigned when;
    const char *what; /* "--name has no effect here: it is for ..." */
} option_case;
/* The first of the n options that the command line gave, and that has no effect in any of the cases `now`; NULL: none.
 */
const option_case *options_idle(const cli_options *options, const option_case *uses, int n, unsigned now);
/* The value of an option as it was written; "" when it has none. */
const char *options_text(const cli_options *options, const char *name);
/* The text that was given to a TEXT option (k is 0), or the k-th of one that may be given again and keeps its texts
 * apart, or (k is 0) all those of a list with ; between; NULL: there is none, the command lacks the option, or what it
 * has is no text. */
const char *options_nth(const cli_options *options, const char *name, int k);
/* The letter that stands for an option of that name: -o for --out, -n for --ranks; 0: none does. */
char option_letter(const char *name);
/* Option i of a command as help shows it; false past the last. */
typedef struct option_view {
    const char *name, *argument, *fallback, *doc; /* argument: "" of a flag, "a|b|c" of choices */
    const char *heading;                          /* that help shows it under */
    bool flag, choices;
} option_view;
bool options_at(cli_command_id command, int i, option_view *out);

/* Options of wick train that its checkpoints keep, in their order; the last has no name. */
typedef struct kept_option {
    const char *name;
    bool changes;              /* a resumed run may be given another value */
    const char *value, *means; /* what a value stands for that is none itself: 0, "no limit" */
} kept_option;
extern const kept_option train_kept[];
/* The option that a run keeps in its checkpoints as number i: its name and its text; NULL past the last. */
const char *options_kept(const cli_options *options, int i, const char **text);
const char *options_fallback(int i); /* its default */
/* Sets kept option i from a checkpoint, unless the command line gave one that may change between runs. CLI_USAGE, with
 * one line in `error`: the text is invalid, or the command line asks for another value of an option that a run can't
 * change. */
int options_restore(cli_options *options, int i, const char *text, char *error, size_t size);
/* Replaces the text of an option, as for a path made absolute. False: out of memory. */
bool options_replace(cli_options *options, const char *name, const char *text);

/* The nearest of n names by edit distance, or NULL when none is near; name(i) gives them. */
const char *nearest_name(const char *wanted, int n, const char *(*name)(int i, const void *user), const void *user);

#endif
