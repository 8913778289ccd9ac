/* data.h: what the actions of wick data share (cmd_data.c). */
#ifndef WICK_CLI_DATA_H
#define WICK_CLI_DATA_H

#include "../cli.h"
#include "../json.h"

#include <stdio.h>

#include "wick/data.h"
#include "wick/files.h"
#include "wick/kinds.h"

typedef struct data_job {
    const cli_options *o;
    wick_context *ctx;
    wick_files *f;
    const char *path, *to; /* to: of actions that write; else NULL */
    double shown;          /* when the last line of progress was */
    bool live;             /* it stands on a terminal */
} data_job;

/* Each is an exit code; what went wrong has been said. */
int data_info(data_job *d);
int data_head(data_job *d);
int data_stats(data_job *d);
int data_verify(data_job *d);
int data_pack(data_job *d);
int data_unpack(data_job *d);
int data_split(data_job *d);
int data_bench(data_job *d); /* which opens the path by itself: d->f is not looked at */
int data_boxes(data_job *d); /* likewise, without d->f */

/* A table or tensors, which are no set of files: the path, or SPLIT.csv and so on of the folder, malloc'ed; NULL: it is
 * something else. What an action does with them. */
char *data_find_table(const char *path, const char *split);
int data_table(data_job *d, const char *action);

/* What a file's own bytes are: "picture", "recording" or "file"; of arrays "array". */
const char *data_what(const data_job *d, const wick_file *file);
/* Whether an array can be drawn, as [channels, height, width]. */
bool data_is_picture(const wick_spec *array, int64_t shape[3]);
/* How far it is, on standard error: live on a terminal, elsewhere a line every ten seconds. False: interrupted. */
bool data_progress(data_job *d, const char *doing, int64_t done, int64_t of);
void data_progress_end(data_job *d);
/* "ok", and of broken files "exit" and "error" too, as every failure has. */
void data_json_ok(const data_job *d, json *j, int64_t broken, int64_t count);
int data_failed(data_job *d, wick_status status, int blame);

#endif
