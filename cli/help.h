/* help.h: what wick help prints, as text and as man pages. One set of tables, with that of the options, feeds both. */
#ifndef WICK_CLI_HELP_H
#define WICK_CLI_HELP_H

#include "cli.h"

#include <stdio.h>

void help_general(FILE *out);
void help_command(cli_command_id command, FILE *out);
void help_net(FILE *out); /* what --net and --arch take */
/* wick.1, or with a command wick-COMMAND.1, in the man macros of roff. CMD_COUNT: wick.1 */
void man_page(cli_command_id command, FILE *out);

/* Rows of two texts; the last has NULLs. */
typedef struct help_row {
    const char *left, *right;
} help_row;
extern const help_row help_environment[], help_files[];

/* What the i-th exit code of a command means, all of it; false past the last. CMD_COUNT: of all commands. */
bool help_exit_code(cli_command_id command, int i, int *code, char *text, size_t size);

typedef struct help_example {
    cli_command_id command;
    const char *line, *doc; /* NULL: past the last */
} help_example;
extern const help_example help_examples[];

const char *help_argument(cli_command_id command); /* what its arguments are; NULL: nothing to say */
extern const char help_model[], help_pair[], help_file[]; /* what MODEL, A, B and FILE are */
/* What wick convert makes of what: `from`, in words, becomes `to`, ends of names; false past the last. */
bool help_conversion(int i, char *to, size_t size, const char **from);

#endif
