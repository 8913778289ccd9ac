/* log.h: what the command says. Results go to standard output, everything said about them to standard error.
 * Control characters in texts, but for tabs, and those that turn the direction of text are shown as \xNN: a file's name
 * or contents give a terminal no commands. */
#ifndef WICK_CLI_LOG_H
#define WICK_CLI_LOG_H

#include "../cli.h"
#include "../json.h"

#include "wick/plan.h"

/* Before the options are read, with .command CMD_COUNT, and once they are. */
void log_setup(const cli_options *options);
/* This process is one of several: what goes wrong is said to be of that rank. */
void log_rank(int rank);
/* A remark; nothing with --quiet. One line, without its newline. */
WICK_PRINTF(1, 2) void log_note(const char *format, ...);
/* Remarks go to `line` from now on, which has the whole terminal. Before anything else is written to standard error
 * `leave` is called, which calls this with NULL. */
void log_divert(void (*line)(void *user, const char *text), void (*leave)(void *user), void *user);
/* As a line of its own on standard error, also with --quiet, and before the options are read. */
WICK_PRINTF(1, 2) void log_warn(const char *format, ...);
/* A part of the result, on standard output, that holds texts of files. Newlines stay where the format ends with them.
 */
WICK_PRINTF(1, 2) void log_print(const char *format, ...);
/* The same of whole lines, whose newlines stay. */
void log_lines(const char *text);
/* What went wrong, as one line on standard error, and with --json as an object on standard output. Returns code. */
WICK_PRINTF(2, 3) int log_fail(int code, const char *format, ...);
/* What goes wrong from now on is put into text[size] instead, in the line of the first; NULL: as it was. For what may
 * go wrong without harm. */
void log_catch(char *text, size_t size);
/* The exit code for a status: `blame`, unless it was memory, the machine or Wick itself that failed. */
int log_code(wick_status status, int blame);
/* What went wrong: the context's text, or the status's name where it has none, as when memory ran out. */
const char *log_why(const wick_context *ctx, wick_status status);
/* The option that a plan could not be made for; NULL: another cause. */
const char *log_compiling(const wick_context *ctx, wick_status status, const wick_compile_options *options);
/* Whether the stream is a terminal that can take a line back (TERM=dumb can't). */
bool log_live(FILE *stream);
/* Whether colours suit this stream: --color, NO_COLOR (no-color.org), TERM=dumb, a terminal. */
bool log_color(FILE *stream);
/* The width of the terminal behind a stream; 0: it is none. */
int log_columns(FILE *stream);
/* The outermost object of --json, on standard output. */
json log_json_open(void);
void log_json_close(json *j);

const char *plural(int64_t n); /* "s" unless n is 1 */
double now_seconds(void);      /* monotonic */

#endif
