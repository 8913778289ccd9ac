/* wick zoo train and eval: each model and seed is a run of wick train, in OUT/NAME/seed-N. */
#include "zoo.h"

#include "../json_read.h"
#include "../paths.h"
#include "../term/log.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

int zoo_start(const char *const *arguments, int out, double *seconds) {
    posix_spawn_file_actions_t actions;
    pid_t child;
    const bool self = strcmp(arguments[0], "wick") == 0;
    const double start = now_seconds();
    if (posix_spawn_file_actions_init(&actions) != 0) return zoo_out_of_memory(), -1;
    int failed = posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    if (!failed)
        failed = (self ? posix_spawn : posix_spawnp)(&child, self ? "/proc/self/exe" : arguments[0], &actions, NULL,
                                                     (char *const *)(uintptr_t)arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (failed) return log_fail(CLI_FAILED, "%s: cannot be started: %s", arguments[0], strerror(failed)), -1;
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
    *seconds = now_seconds() - start;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

char *zoo_run_folder(const cli_options *o, const zoo_model *m, int64_t seed) {
    char name[96];
    snprintf(name, sizeof name, "%s/%sseed-%lld", m->name, o->of_zoo.shuffle_labels ? "shuffled-" : "",
             (long long)seed);
    return path_join(o->out, name);
}

void zoo_write_recipe(FILE *out, const zoo_model *m, const char *data) {
    fprintf(out, "# %s, %s: %s\n", m->id, m->name, m->doc);
    if (data) fprintf(out, "data = %s\n", data);
    fprintf(out, "net = %s\n%s", m->net, m->recipe);
}

/* *text, malloc'ed: the recipe; *same: the file has it already, so that what is beside it was trained by it. */
static int make_recipe(const zoo_model *m, const char *data, const char *path, char **text, bool *same) {
    size_t size = 0;
    FILE *out = open_memstream(text, &size);
    if (!out) return zoo_out_of_memory();
    zoo_write_recipe(out, m, data);
    if (fclose(out) != 0 || !*text) return zoo_out_of_memory();
    char *before = path_exists(path) ? path_read(path, &size) : NULL;
    *same = before && strcmp(before, *text) == 0;
    free(before);
    return CLI_OK;
}

static char *result_path(const char *folder) { return path_join(folder, "result.json"); }

int zoo_write_result(wick_context *ctx, const char *folder, const zoo_model *m, const zoo_result *r) {
    char *text = NULL, *path = result_path(folder);
    size_t size = 0;
    FILE *out = path ? open_memstream(&text, &size) : NULL;
    if (!out) return free(path), zoo_out_of_memory();
    json j = {.out = out};
    json_open(&j, NULL, '{');
    json_text(&j, "model", m->name);
    json_integer(&j, "seed", r->seed);
    json_text(&j, "metric", zoo_metrics[m->metric]);
    json_real(&j, "score", r->score, 9);
    json_real(&j, "baseline", r->baseline, 9);
    json_real(&j, "demand", m->demand, 9);
    json_bool(&j, "met", r->met);
    json_bool(&j, "labels_shuffled", r->shuffled);
    json_integer(&j, "samples", r->samples);
    if (r->outside) json_integer(&j, "outside", r->outside), json_real(&j, "outside_auc", r->outside_auc, 9);
    json_integer(&j, "parameters", r->parameters);
    json_integer(&j, "bytes", r->bytes);
    json_real(&j, "seconds", r->seconds, 6);
    json_close(&j, '}');
    fputc('\n', out);
    int code = fclose(out) == 0 && text ? CLI_OK : zoo_out_of_memory();
    if (code == CLI_OK && wick_file_write(ctx, path, text, size) != WICK_OK)
        code = log_fail(CLI_FAILED, "%s", wick_context_error(ctx));
    free(text), free(path);
    return code;
}

int zoo_read_result(const char *folder, zoo_result *r) {
    char *path = result_path(folder), *text, key[64];
    *r = (zoo_result){0};
    if (!path) return zoo_out_of_memory();
    if (!path_exists(path)) return free(path), CLI_OK;
    size_t size;
    text = path_read(path, &size);
    json_in j = {.at = text ? text : ""};
    double seed = 0, samples = 0, parameters = 0, bytes = 0, outside = 0;
    const struct {
        const char *key;
        double *value;
    } numbers[] = {{"score", &r->score},  {"baseline", &r->baseline},  {"seconds", &r->seconds}, {"seed", &seed},
                   {"samples", &samples}, {"parameters", &parameters}, {"bytes", &bytes},
                   {"outside", &outside}, {"outside_auc", &r->outside_auc}};
    for (json_enter(&j, '{'); json_key(&j, key, sizeof key);) {
        size_t i = 0;
        while (i < sizeof numbers / sizeof *numbers && strcmp(numbers[i].key, key) != 0) i++;
        if (i < sizeof numbers / sizeof *numbers)
            json_number(&j, numbers[i].value);
        else if (strcmp(key, "met") == 0)
            json_truth(&j, &r->met);
        else if (strcmp(key, "labels_shuffled") == 0)
            json_truth(&j, &r->shuffled);
        else
            json_skip(&j);
    }
    r->there = !j.bad;
    r->seed = (int64_t)seed, r->samples = (int64_t)samples, r->outside = (int64_t)outside;
    r->parameters = (int64_t)parameters, r->bytes = (int64_t)bytes;
    const int code = j.bad ? log_fail(CLI_BAD_FILE, "%s: is no result of wick zoo", path) : CLI_OK;
    free(text), free(path);
    return code;
}

/* One line of what is printed; with --json an object of the list. */
static void show(const cli_options *o, json *j, const zoo_model *m, const zoo_result *r) {
    if (!o->json) {
        printf("%-4s %-24s seed %-3lld %-12s %9.4g  baseline %9.4g  demand %6.4g  %s\n", m->id, m->name,
               (long long)r->seed, zoo_metrics[m->metric], r->score, r->baseline, m->demand,
               r->shuffled ? "labels shuffled"
               : r->met    ? "met"
                           : "not met");
        if (r->outside)
            printf("     AUC %.4f: the probability of the likeliest class tells the test's from %lld of no class\n",
                   r->outside_auc, (long long)r->outside);
        fflush(stdout);
        return;
    }
    json_open(j, NULL, '{');
    json_text(j, "id", m->id);
    json_text(j, "name", m->name);
    json_integer(j, "seed", r->seed);
    json_text(j, "metric", zoo_metrics[m->metric]);
    json_real(j, "score", r->score, 9);
    json_real(j, "baseline", r->baseline, 9);
    json_real(j, "demand", m->demand, 9);
    json_bool(j, "met", r->met);
    json_bool(j, "labels_shuffled", r->shuffled);
    json_integer(j, "samples", r->samples);
    if (r->outside) json_integer(j, "outside", r->outside), json_real(j, "outside_auc", r->outside_auc, 9);
    json_integer(j, "parameters", r->parameters);
    json_real(j, "seconds", r->seconds, 6);
    json_close(j, '}');
}

/* What the run's last epoch reaches on the held-out part. */
static int judge(zoo_job *z, const zoo_model *m, const char *folder, zoo_result *r) {
    char *last = path_join(folder, "last.safetensors"), *best = path_join(folder, "best.safetensors");
    struct stat st;
    int code = last && best ? CLI_OK : zoo_out_of_memory();
    if (code == CLI_OK && !path_exists(last))
        code = log_fail(CLI_BAD_FILE, "%s: is not trained; wick zoo train %s trains it", folder, m->name);
    if (code == CLI_OK) code = zoo_score(z->ctx, m, last, r);
    if (code == CLI_OK && stat(best, &st) == 0) r->bytes = (int64_t)st.st_size;
    r->shuffled = z->o->of_zoo.shuffle_labels;
    if (code == CLI_OK) code = zoo_write_result(z->ctx, folder, m, r);
    free(last), free(best);
    return code;
}

/* wick train by the recipe in the folder. */
static int run_training(const zoo_job *z, const zoo_model *m, const char *folder, const char *recipe, zoo_result *r) {
    const cli_options *o = z->o;
    char seed[24], threads[24], *said = path_join(folder, "train.json");
    const int out = said ? open(said, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666) : -1;
    int code = out >= 0 ? CLI_OK : log_fail(CLI_FAILED, "%s: %s", said ? said : folder, strerror(errno));
    if (code == CLI_OK) {
        snprintf(seed, sizeof seed, "%lld", (long long)r->seed);
        snprintf(threads, sizeof threads, "%lld", (long long)o->threads);
        log_note("training %s %s, seed %s: %s", m->id, m->name, seed, folder);
        code = zoo_start((const char *const[]){"wick", "train", "--config", recipe, "--seed", seed, "--out", folder,
                                               "--threads", threads, "--force", "--json", o->verbose ? NULL : "--quiet",
                                               NULL},
                         out, &r->seconds);
        if (code < 0)
            code = CLI_FAILED;
        else if (code != CLI_OK)
            log_fail(code, "%s: wick train ended with %d; its options are in %s", m->name, code, recipe);
        close(out);
    }
    free(said);
    return code;
}

static int train_one(zoo_job *z, const zoo_model *m, int64_t seed, zoo_result *r) {
    const cli_options *o = z->o;
    if (o->of_zoo.shuffle_labels && (m->metric == ZOO_MSE || m->metric == ZOO_MAPE))
        return log_fail(CLI_USAGE, "--shuffle-labels: %s forecasts a series, whose labels are its own later values",
                        m->name);
    char *data = NULL, *text = NULL, *folder = zoo_run_folder(o, m, seed),
         *recipe = folder ? path_join(folder, "recipe.txt") : NULL, *result = folder ? result_path(folder) : NULL;
    bool same = false;
    int code = recipe && result ? zoo_prepare(z->ctx, o, m, &data) : zoo_out_of_memory();
    if (code == CLI_OK) code = make_recipe(m, data, recipe, &text, &same);
    if (code == CLI_OK) code = zoo_read_result(folder, r);
    if (code == CLI_OK && (!r->there || !same || o->force)) {
        *r = (zoo_result){.seed = seed};
        unlink(result);
        if (!path_make_folder(folder)) code = log_fail(CLI_FAILED, "%s: cannot make the folder", folder);
        if (code == CLI_OK && wick_file_write(z->ctx, recipe, text, strlen(text)) != WICK_OK)
            code = log_fail(CLI_FAILED, "%s", wick_context_error(z->ctx));
        if (code == CLI_OK) code = run_training(z, m, folder, recipe, r);
        if (code == CLI_OK) code = judge(z, m, folder, r);
    }
    free(data), free(text), free(folder), free(recipe), free(result);
    return code;
}

static int eval_one(zoo_job *z, const zoo_model *m, int64_t seed, zoo_result *r) {
    char *folder = zoo_run_folder(z->o, m, seed);
    int code = folder ? zoo_read_result(folder, r) : zoo_out_of_memory();
    r->seed = seed;
    if (code == CLI_OK) code = judge(z, m, folder, r);
    free(folder);
    return code;
}

typedef int each_fn(zoo_job *z, const zoo_model *m, int64_t seed, zoo_result *r);
/* Of several models one that fails leaves the others to be done, and the exit code is that of the first such; with
 * --json it ends the command, whose one object says why. */
static int each(zoo_job *z, each_fn *one) {
    const cli_options *o = z->o;
    const int64_t most = z->n * o->runs;
    zoo_result *results = calloc((size_t)most + 1, sizeof *results);
    int code = CLI_OK;
    if (!results) return zoo_out_of_memory();
    for (int64_t i = 0; i < most && code != CLI_INTERRUPTED && !(o->json && code != CLI_OK); i++) {
        const zoo_model *m = z->models[i / o->runs];
        const int got = one(z, m, o->seed + i % o->runs, &results[i]);
        if (got == CLI_OK && !o->json) show(o, NULL, m, &results[i]);
        if (got == CLI_INTERRUPTED || (got != CLI_OK && code == CLI_OK)) code = got;
    }
    if (o->json && code == CLI_OK) {
        json j = log_json_open();
        json_bool(&j, "ok", true);
        json_open(&j, "results", '[');
        for (int64_t i = 0; i < most; i++) show(o, &j, z->models[i / o->runs], &results[i]);
        json_close(&j, ']');
        log_json_close(&j);
    }
    free(results);
    return code;
}
int zoo_prepare_all(zoo_job *z) {
    char *folders[64] = {NULL};
    int code = CLI_OK;
    for (int i = 0; i < z->n && code == CLI_OK; i++) {
        code = zoo_prepare(z->ctx, z->o, z->models[i], &folders[i]);
        if (code == CLI_OK && !z->o->json) printf("%-4s %-24s %s\n", z->models[i]->id, z->models[i]->name, folders[i]);
    }
    if (z->o->json && code == CLI_OK) {
        json j = log_json_open();
        json_bool(&j, "ok", true);
        json_open(&j, "models", '[');
        for (int i = 0; i < z->n; i++) {
            json_open(&j, NULL, '{');
            json_text(&j, "id", z->models[i]->id);
            json_text(&j, "name", z->models[i]->name);
            json_text(&j, "data", folders[i]);
            json_close(&j, '}');
        }
        json_close(&j, ']');
        log_json_close(&j);
    }
    for (int i = 0; i < z->n; i++) free(folders[i]);
    return code;
}
int zoo_train(zoo_job *z) { return each(z, train_one); }
int zoo_eval(zoo_job *z) { return each(z, eval_one); }
