/* wick zoo: trains, judges, times and shows the small networks of models.c. */
#include "zoo.h"

#include "../options.h"
#include "../term/log.h"
#include "../tuned.h"

#include <stdlib.h>
#include <string.h>

static int show_recipe(zoo_job *z) {
    for (int i = 0; i < z->n; i++) zoo_write_recipe(stdout, z->models[i], NULL);
    return CLI_OK;
}

enum { LIST = 1, TRAIN = 2, EVAL = 4, BENCH = 8, FIRST = 16, REPORT = 32, RECIPE = 64, PREPARE = 128 };
static const struct {
    const char *name;
    unsigned bit;
    bool named; /* its models are to be named: there is no "all" without a word */
    int (*run)(zoo_job *z);
} actions[] = {{"list", LIST, false, zoo_list},       {"prepare", PREPARE, true, zoo_prepare_all},
               {"train", TRAIN, true, zoo_train},
               {"eval", EVAL, false, zoo_eval},       {"bench", BENCH, false, zoo_bench},
               {"report", REPORT, false, zoo_report}, {"recipe", RECIPE, true, show_recipe},
               {"first", FIRST, true, zoo_first}};
enum { ACTIONS = (int)(sizeof actions / sizeof *actions) };
const char *zoo_action(int i) { return i < ACTIONS ? actions[i].name : NULL; }
static const char *action_at(int i, const void *user) {
    (void)user;
    return actions[i].name;
}

static const option_case cases[] = {
    {"shuffle-labels", TRAIN | EVAL, "train and eval"},
    {"runs", TRAIN | EVAL, "train and eval"},
    {"force", TRAIN, "train"},
    {"verbose", TRAIN, "train"},
    {"trials", BENCH | FIRST, "bench"},
    {"data", PREPARE | TRAIN, "prepare and train"},
    {"seed", TRAIN | EVAL | BENCH | FIRST | REPORT, "what has runs"},
};

/* ---- list -------------------------------------------------------------------------------------------------------- */

static const char *status_of(const zoo_model *m, char *text, size_t size) {
    snprintf(text, size, "%s %s %g", zoo_metrics[m->metric], zoo_lower_is_better(m->metric) ? "at most" : "at least",
             m->demand);
    return text;
}

static void list_text(const zoo_model *m, int64_t parameters) {
    char text[128];
    printf("%-4s %-24s %-18s -> %-10s %7lld  %s\n", m->id, m->name, m->input, m->output, (long long)parameters,
           status_of(m, text, sizeof text));
    printf("     %s", m->doc);
    for (int i = 0; zoo_set_of(m->set, i); i++)
        printf("; %s, %s", zoo_set_of(m->set, i)->file, zoo_set_of(m->set, i)->licence);
    printf("\n");
}

static void list_json(json *j, const zoo_model *m, int64_t parameters) {
    json_open(j, NULL, '{');
    json_text(j, "id", m->id);
    json_text(j, "name", m->name);
    json_text(j, "doc", m->doc);
    json_text(j, "input", m->input);
    json_text(j, "output", m->output);
    json_text(j, "data", m->set->file);
    json_text(j, "home", m->set->home);
    json_text(j, "licence", m->set->licence);
    if (zoo_set_of(m->set, 1)) {
        json_open(j, "with", '[');
        for (int i = 1; zoo_set_of(m->set, i); i++) {
            json_open(j, NULL, '{');
            json_text(j, "data", zoo_set_of(m->set, i)->file);
            json_text(j, "home", zoo_set_of(m->set, i)->home);
            json_text(j, "licence", zoo_set_of(m->set, i)->licence);
            json_close(j, '}');
        }
        json_close(j, ']');
    }
    json_bool(j, "free", m->set->free);
    json_text(j, "held_out", m->split);
    json_text(j, "metric", zoo_metrics[m->metric]);
    json_real(j, "demand", m->demand, 9);
    json_text(j, "network_input", m->dims);
    json_integer(j, "outputs", m->outputs);
    json_integer(j, "parameters", parameters);
    json_text(j, "net", m->net);
    json_close(j, '}');
}

int zoo_list(zoo_job *z) {
    int64_t parameters[64] = {0};
    int code = CLI_OK;
    for (int i = 0; code == CLI_OK && i < z->n; i++)
        code = zoo_parameters(z->ctx, z->models[i], &parameters[i]);
    if (code != CLI_OK) return code;
    json j = {0};
    if (z->o->json) {
        j = log_json_open();
        json_bool(&j, "ok", true);
        json_open(&j, "models", '[');
    }
    for (int i = 0; i < z->n; i++) {
        if (z->o->json)
            list_json(&j, z->models[i], parameters[i]);
        else
            list_text(z->models[i], parameters[i]);
    }
    if (z->o->json) {
        json_close(&j, ']');
        log_json_close(&j);
    }
    return CLI_OK;
}

/* ---- which models ------------------------------------------------------------------------------------------------ */

/* Those that are named; or all. */
static int choose(zoo_job *z) {
    const cli_options *o = z->o;
    const bool all = o->n_files == 0 || (o->n_files == 1 && strcmp(o->files[0], "all") == 0);
    for (int i = 0; all && zoo_models[i].id; i++) {
        const zoo_model *m = &zoo_models[i];
        if (o->of_zoo.free_only && !m->set->free) continue;
        z->models[z->n++] = m;
    }
    if (!all && o->n_files > (int)(sizeof z->models / sizeof *z->models))
        return log_fail(CLI_USAGE, "%d models are more than the zoo has", o->n_files);
    for (int i = 0; !all && i < o->n_files; i++) {
        const zoo_model *m = zoo_find(o->files[i]);
        if (!m) return CLI_USAGE;
        if (o->of_zoo.free_only && !m->set->free)
            return log_fail(CLI_USAGE, "--free: the data of %s, %s, have no free licence (%s)", m->name, m->set->file,
                            m->set->licence);
        z->models[z->n++] = m;
    }
    return CLI_OK;
}

int cmd_zoo(cli_options *o) {
    int i = 0;
    while (i < ACTIONS && strcmp(o->model, actions[i].name) != 0) i++;
    if (i == ACTIONS) {
        const char *near = nearest_name(o->model, ACTIONS, action_at, NULL);
        return log_fail(CLI_USAGE, "wick zoo can't %s%s%s; it has list, prepare, train, eval, bench, report and recipe",
                        o->model, near ? "; did you mean " : "", near ? near : "");
    }
    if (actions[i].named && !o->n_files)
        return log_fail(CLI_USAGE, "wick zoo %s needs the name of a model, or all", actions[i].name);
    const option_case *idle = options_idle(o, cases, sizeof cases / sizeof *cases, actions[i].bit);
    if (idle) return log_fail(CLI_USAGE, "--%s has no effect here: it is for %s", idle->name, idle->what);
    zoo_job z = {.o = o};
    int code = choose(&z);
    if (code != CLI_OK) return code;
    /* bench measures one free core */
    const bool one = actions[i].bit == FIRST;
    if (wick_context_new(&(wick_context_options){.tuning = tuned(),
                                                 .threads = one ? 1 : (int)o->threads,
                                                 .jit = one ? WICK_JIT_OFF : WICK_JIT_ON},
                         &z.ctx) != WICK_OK)
        return log_fail(CLI_FAILED, "could not start: out of memory or threads");
    code = actions[i].run(&z);
    wick_context_free(&z.ctx);
    return code;
}
