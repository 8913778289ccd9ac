/* resume.c: how a command goes on after its ranks were lost. */
#include "launch.h"

#include "../options.h"
#include "../paths.h"

#include <stdlib.h>
#include <string.h>

static bool is_training(char **command) {
    const char *slash = command[0] ? strrchr(command[0], '/') : NULL, *name = slash ? slash + 1 : command[0];
    return name && strcmp(name, "wick") == 0 && command[1] && strcmp(command[1], "train") == 0;
}

/* The option of wick train that the word is, "--out" or "--out=DIR"; false: none. */
static bool find_option(const char *word, option_view *option) {
    if (strcmp(word, "-o") == 0) word = "--out";
    const size_t n = strcspn(word, "=");
    if (strncmp(word, "--", 2) != 0) return false;
    for (int i = 0; options_at(CMD_TRAIN, i, option); i++)
        if (strlen(option->name) == n - 2 && strncmp(option->name, word + 2, n - 2) == 0) return true;
    return false;
}

static bool has_checkpoint(const char *folder) {
    static const char *const names[] = {"last.safetensors", "last.safetensors.prev"};
    bool has = false;
    for (int i = 0; i < 2 && !has; i++) {
        char *path = path_join(folder, names[i]);
        has = path && path_exists(path);
        free(path);
    }
    return has;
}

/* Copies the command to `to`, without what a resumed run doesn't take where `resumes`; returns the folder of its run.
 */
static const char *copy(char **command, char **to, bool resumes, bool *resumed) {
    const char *folder = "wick-run";
    int n = 0;
    for (int i = 0; command[i]; i++) {
        option_view option;
        const bool known = i > 1 && find_option(command[i], &option),
                   apart = known && !option.flag && !strchr(command[i], '=');
        const char *value = known && !apart ? strchr(command[i], '=') : NULL;
        value = apart ? command[i + 1] : value ? value + 1 : "";
        const bool is_out = known && strcmp(option.name, "out") == 0,
                   is_resume = known && strcmp(option.name, "resume") == 0;
        if (value && *value && (is_out || is_resume)) folder = value;
        *resumed = *resumed || is_resume;
        const bool left_out =
            resumes && (is_out || (known && (!strcmp(option.name, "force") || !strcmp(option.name, "config"))));
        if (!left_out) to[n++] = command[i];
        if (apart && command[i + 1] && !left_out) to[n++] = command[i + 1];
        i += apart && command[i + 1];
    }
    to[n] = NULL;
    return folder;
}

char **launch_again(char **command, const char **folder) {
    size_t n = 0;
    while (command[n]) n++;
    char **again = calloc(n + 3, sizeof *again);
    bool resumed = false;
    *folder = NULL;
    if (!again) return NULL;
    memcpy(again, command, n * sizeof *again);
    if (!is_training(command)) return again;
    const char *run = copy(command, again, false, &resumed);
    if (!has_checkpoint(run)) return again;
    *folder = run;
    if (resumed) return again;
    copy(command, again, true, &resumed);
    for (n = 0; again[n]; n++) continue;
    again[n] = (char *)(uintptr_t) "--resume"; /* execvp takes no const, and writes nothing */
    again[n + 1] = (char *)(uintptr_t)run;
    again[n + 2] = NULL;
    return again;
}
