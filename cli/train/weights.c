#include "weights.h"

#include "../term/log.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_RULES = 256 };

/* "FROM=TO;FROM=TO" in text, which is cut up. */
static int read_rules(char *text, wick_rename rules[MOST_RULES], int *n) {
    *n = 0;
    for (char *one; text && *text && (one = strsep(&text, ";"));) {
        char *equals = strchr(one, '=');
        if (!equals || equals == one)
            return log_fail(CLI_USAGE, "--rename '%s': the form is FROM=TO, as in 'module.=' or '*.gamma=*.weight'",
                            one);
        if (*n == MOST_RULES) return log_fail(CLI_USAGE, "--rename: more than %d rules", MOST_RULES);
        *equals = '\0';
        rules[(*n)++] = (wick_rename){one, equals + 1};
    }
    return CLI_OK;
}

static void say(void *user, wick_weights_trouble what, const char *name, const char *text) {
    static const char *const names[] = {"missing in the file", "only in the file", "does not fit"};
    (void)user;
    (void)name;
    log_note("%s: %s", names[what], text);
}

int weights_load(wick_model *model, const cli_options *o) {
    wick_context *ctx = wick_model_context(model);
    wick_rename rules[MOST_RULES];
    wick_load_report report;
    char *text = strdup(o->of_train.rename);
    wick_weights_options options = {.rename = rules, .fitting = o->of_train.fit, .trouble = say};
    int code = text ? read_rules(text, rules, &options.n_rename) : log_fail(CLI_FAILED, "out of memory");
    if (code == CLI_OK) {
        const wick_status status = wick_model_load_weights(model, o->weights, &options, &report);
        if (status != WICK_OK)
            code = log_fail(status == WICK_ERR_INVALID ? CLI_USAGE : log_code(status, CLI_BAD_FILE), "%s",
                            log_why(ctx, status));
        else
            log_note("%d state%s from %s, %d left as they were", report.loaded, plural(report.loaded), o->weights,
                     report.kept);
    }
    free(text);
    return code;
}
