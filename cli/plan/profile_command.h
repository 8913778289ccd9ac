/* profile_command.h: wick profile -- COMMAND ...: another command, with what it runs recorded. */
#ifndef WICK_CLI_PROFILE_COMMAND_H
#define WICK_CLI_PROFILE_COMMAND_H

/* Where the -- is behind which a command stands; 0: this is no such line. */
int profile_command_at(int argc, char **argv);
/* Runs it by `run` with --profile and --memory of this line, and says what bounds it. Its exit code. */
int profile_command(int argc, char **argv, int at, int (*run)(int argc, char **argv));

#endif
