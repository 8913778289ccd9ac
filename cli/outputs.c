#include "outputs.h"

#include "options.h"
#include "paths.h"
#include "term/log.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Options that name a file which is written, and those that name one which is read. */
static const char *const written[] = {"out", "log", "metrics", "profile", "memory", "svg", "dot", "html", "markdown"};
static const char *const read_from[] = {"data",          "validation", "model",  "weights",  "teacher",  "labels",
                                        "memory-before", "against",    "config", "enrolled", "anomalies"};
/* Files of a run's folder. */
static const char *const of_run[] = {"best.safetensors", "last.safetensors", "last.safetensors.prev", "options.txt",
                                     "log.jsonl"};

static bool is_regular(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* Whether what would be written is the file `from`, which then is there. */
static bool is_read(const char *path, const char *from) { return is_regular(path) && path_same(path, from); }

/* Whether both name one file, which may be yet to be made. What is no regular file, as /dev/null, is never one. */
static bool same(const char *a, const char *b) {
    if (path_exists(a)) return is_read(a, b);
    char *whole_a = path_absolute(a), *whole_b = path_absolute(b);
    const bool is = strcmp(whole_a ? whole_a : a, whole_b ? whole_b : b) == 0;
    free(whole_a);
    free(whole_b);
    return is;
}

/* Whether `path` is a file that the run in `folder` keeps. */
static bool is_of_run(const char *folder, const char *path, const char *option) {
    bool is = false;
    for (size_t i = 0; i < sizeof of_run / sizeof *of_run && !is; i++) {
        char *kept =
            strcmp(option, "log") == 0 && strcmp(of_run[i], "log.jsonl") == 0 ? NULL : path_join(folder, of_run[i]);
        is = kept && same(path, kept);
        free(kept);
    }
    return is;
}

/* The same of any of the paths that a list has, with ; between. */
static bool is_read_of(const char *path, const char *list) {
    if (*list && is_read(path, list)) return true;
    char *parts = strchr(list, ';') ? strdup(list) : NULL, *rest = parts, *from;
    bool is = false;
    while (!is && (from = strsep(&rest, ";"))) is = *from && is_read(path, from);
    free(parts);
    return is;
}

static int check_inputs(const cli_options *o, const char *option, const char *path) {
    if (o->model && is_read(path, o->model)) return log_fail(CLI_USAGE, "--%s %s is the model itself", option, path);
    for (int i = 0; i < o->n_files; i++)
        if (is_read(path, o->files[i]))
            return log_fail(CLI_USAGE, "--%s %s would be written over what is read", option, path);
    for (size_t i = 0; i < sizeof read_from / sizeof *read_from; i++) {
        const char *from;
        for (int k = 0; (from = options_nth(o, read_from[i], k)); k++)
            if (is_read_of(path, from))
                return log_fail(CLI_USAGE, "--%s %s would be written over what --%s reads", option, path, read_from[i]);
    }
    const char *const folders[] = {o->model && path_is_folder(o->model) ? o->model : NULL, options_nth(o, "resume", 0),
                                   o->command == CMD_TRAIN ? options_nth(o, "out", 0) : NULL};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        if (folders[i] && *folders[i] && is_of_run(folders[i], path, option))
            return log_fail(CLI_USAGE, "--%s %s is a file that the run in %s keeps", option, path, folders[i]);
    return CLI_OK;
}

static int check_outputs(const cli_options *o, size_t at, int nth, const char *path) {
    for (size_t i = 0; i <= at; i++) {
        const char *other;
        for (int k = 0; (i < at || k < nth) && (other = options_nth(o, written[i], k)); k++)
            if (*other && same(path, other))
                return log_fail(CLI_USAGE, "--%s %s is what --%s writes too", written[at], path, written[i]);
    }
    return CLI_OK;
}

int outputs_check(const cli_options *o) {
    int code = CLI_OK;
    for (size_t i = 0; i < sizeof written / sizeof *written; i++) {
        const char *path;
        for (int k = 0; code == CLI_OK && (path = options_nth(o, written[i], k)); k++) {
            if (!*path) continue;
            code = check_inputs(o, written[i], path);
            if (code == CLI_OK) code = check_outputs(o, i, k, path);
        }
    }
    return code;
}
