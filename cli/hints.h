/* hints.h: what people type that is called otherwise here: words of other tools, and near misses. */
#ifndef WICK_CLI_HINTS_H
#define WICK_CLI_HINTS_H

#include "cli.h"

/* What to do instead of the command `word`, as a clause: "did you mean train?"; "": nothing is near. Returns text. */
const char *hint_command(const char *word, char *text, size_t size);
/* The same of an option of a command that has none of that name, without its dashes. */
const char *hint_option(cli_command_id command, const char *name, char *text, size_t size);

#endif
