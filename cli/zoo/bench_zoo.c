/* wick zoo bench: how long one sample takes a model, by itself on one core. It starts a process for each, so that what
 * starting costs and how much memory is taken are those of that model alone. */
#include "zoo.h"

#include "../json_read.h"
#include "../paths.h"
#include "../term/log.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { WARM = 10 };

static wick_status record(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx;
    out[0] = classifier_predictions(user, in[0]);
    return WICK_OK;
}

static int by_size(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}
/* Of sorted numbers, the least that a share of them does not exceed. */
static double percentile(const double *sorted, int64_t n, double share) {
    const int64_t i = (int64_t)ceil(share * (double)n) - 1;
    return sorted[i < 0 ? 0 : i >= n ? n - 1 : i];
}

/* Since the system started, as the parent counts too. */
static double clock_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int measure(step *s, const float *x, float *y, int64_t trials) {
    double *ms = malloc((size_t)trials * sizeof *ms), first = 0;
    if (!ms) return zoo_out_of_memory();
    for (int64_t i = -1 - WARM; i < trials; i++) {
        const double start = clock_ms();
        if (wick_run(s->workspace, (const void *[]){x}, (void *[]){y}) != WICK_OK)
            return free(ms), log_fail(CLI_FAILED, "%s", wick_workspace_error(s->workspace));
        if (i == -1 - WARM) first = clock_ms();
        if (i >= 0) ms[i] = clock_ms() - start;
    }
    qsort(ms, (size_t)trials, sizeof *ms, by_size);
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    json j = log_json_open();
    json_real(&j, "first_at", first, 15);
    json_real(&j, "p50_ms", percentile(ms, trials, 0.5), 6);
    json_real(&j, "p99_ms", percentile(ms, trials, 0.99), 6);
    json_integer(&j, "rss", (int64_t)usage.ru_maxrss * 1024);
    log_json_close(&j);
    free(ms);
    return CLI_OK;
}

int zoo_first(zoo_job *z) {
    classifier c = {0};
    step s = {0};
    char *folder = zoo_run_folder(z->o, z->models[0], z->o->seed);
    int code = folder ? classifier_load(&c, z->ctx, folder) : zoo_out_of_memory();
    float *x = NULL, *y = NULL;
    const bool texts = strncmp(z->models[0]->net, "embed ", 6) == 0; /* whose samples are numbers of tokens */
    if (code == CLI_OK) {
        wick_model_set_training(c.model, false);
        x = step_buffer(c.pixels, sizeof *x);
        y = step_buffer(c.task->width(&c), sizeof *y);
        if (!x || !y) code = zoo_out_of_memory();
    }
    if (code == CLI_OK && step_compile(&s, &c, record, &c, 1, 1, 1, false, 0, 0, NULL) != WICK_OK)
        code = log_fail(CLI_FAILED, "%s", wick_context_error(z->ctx));
    for (int64_t i = 0; code == CLI_OK && i < c.pixels; i++) x[i] = texts ? (float)(i % 17) : (float)(i % 17) / 8 - 1;
    if (code == CLI_OK) code = measure(&s, x, y, z->o->repeat);
    step_free(&s);
    free(x), free(y), free(folder);
    classifier_free(&c);
    return code;
}

/* ---- for each ---------------------------------------------------------------------------------------------------- */

static char *times_path(const cli_options *o, const zoo_model *m) {
    char name[96];
    snprintf(name, sizeof name, "%s/bench.json", m->name);
    return path_join(o->out, name);
}

static bool read_times(const char *text, double *first_at, zoo_times *t) {
    json_in j = {.at = text};
    char key[64];
    double rss = 0, bytes = 0;
    const struct {
        const char *key;
        double *value;
    } numbers[] = {{"first_at", first_at},         {"p50_ms", &t->p50}, {"p99_ms", &t->p99},
                   {"first_output_ms", &t->first}, {"rss", &rss},       {"bytes", &bytes}};
    for (json_enter(&j, '{'); json_key(&j, key, sizeof key);) {
        size_t i = 0;
        while (i < sizeof numbers / sizeof *numbers && strcmp(numbers[i].key, key) != 0) i++;
        if (i < sizeof numbers / sizeof *numbers)
            json_number(&j, numbers[i].value);
        else
            json_skip(&j);
    }
    t->rss = (int64_t)rss, t->bytes = (int64_t)bytes;
    return t->there = !j.bad;
}

int zoo_read_times(const cli_options *o, const zoo_model *m, zoo_times *t) {
    char *path = times_path(o, m), *text;
    double first_at;
    size_t size;
    *t = (zoo_times){0};
    if (!path) return zoo_out_of_memory();
    if (!path_exists(path)) return free(path), CLI_OK;
    text = path_read(path, &size);
    const int code = text && read_times(text, &first_at, t)
                         ? CLI_OK
                         : log_fail(CLI_BAD_FILE, "%s: is no result of wick zoo bench", path);
    free(text), free(path);
    return code;
}

static int run_first(zoo_job *z, const zoo_model *m, const char *path, zoo_times *t) {
    char seed[24], trials[24];
    double seconds, first_at = 0;
    snprintf(seed, sizeof seed, "%lld", (long long)z->o->seed);
    snprintf(trials, sizeof trials, "%lld", (long long)z->o->repeat);
    const int out = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (out < 0) return log_fail(CLI_FAILED, "%s: %s", path, strerror(errno));
    const double start = clock_ms();
    int code = zoo_start((const char *const[]){"wick", "zoo", "first", m->name, "--out", z->o->out, "--seed", seed,
                                               "--trials", trials, NULL},
                         out, &seconds);
    close(out);
    size_t size;
    char *text = code == CLI_OK ? path_read(path, &size) : NULL;
    if (code < 0) code = CLI_FAILED;
    if (code == CLI_OK && !(text && read_times(text, &first_at, t)))
        code = log_fail(CLI_FAILED, "%s: its process said nothing", m->name);
    t->first = first_at - start;
    free(text);
    unlink(path);
    return code;
}

static void put_times(json *j, const zoo_model *m, const zoo_times *t) {
    json_text(j, "id", m->id);
    json_text(j, "name", m->name);
    json_real(j, "p50_ms", t->p50, 6);
    json_real(j, "p99_ms", t->p99, 6);
    json_real(j, "first_output_ms", t->first, 6);
    json_integer(j, "rss", t->rss);
    json_integer(j, "bytes", t->bytes);
}

static int bench_one(zoo_job *z, const zoo_model *m, zoo_times *t) {
    char *folder = zoo_run_folder(z->o, m, z->o->seed), *best = folder ? path_join(folder, "best.safetensors") : NULL,
         *path = times_path(z->o, m), *text = NULL;
    struct stat st;
    size_t size = 0;
    int code = best && path ? CLI_OK : zoo_out_of_memory();
    if (code == CLI_OK && stat(best, &st) != 0)
        code = log_fail(CLI_BAD_FILE, "%s: is not there; wick zoo train %s makes it", best, m->name);
    if (code == CLI_OK) code = run_first(z, m, path, t);
    FILE *out = code == CLI_OK ? open_memstream(&text, &size) : NULL;
    if (out) {
        t->bytes = (int64_t)st.st_size;
        json j = {.out = out};
        json_open(&j, NULL, '{');
        put_times(&j, m, t);
        json_close(&j, '}');
        fputc('\n', out);
        code = fclose(out) == 0 && wick_file_write(z->ctx, path, text, size) == WICK_OK
                   ? CLI_OK
                   : log_fail(CLI_FAILED, "%s: cannot be written", path);
    }
    free(folder), free(best), free(path), free(text);
    return code;
}

int zoo_bench(zoo_job *z) {
    zoo_times *times = calloc((size_t)z->n + 1, sizeof *times);
    int code = times ? CLI_OK : zoo_out_of_memory();
    if (code == CLI_OK && !z->o->json)
        printf("%-4s %-24s %9s %9s %9s %10s %9s\n", "", "", "p50 ms", "p99 ms", "first ms", "RSS MB", "weights");
    for (int i = 0; code == CLI_OK && i < z->n; i++) {
        code = bench_one(z, z->models[i], &times[i]);
        if (code == CLI_OK && !z->o->json)
            printf("%-4s %-24s %9.3f %9.3f %9.1f %10.1f %9lld\n", z->models[i]->id, z->models[i]->name, times[i].p50,
                   times[i].p99, times[i].first, (double)times[i].rss / 1e6, (long long)times[i].bytes);
    }
    if (code == CLI_OK && z->o->json) {
        json j = log_json_open();
        json_bool(&j, "ok", true);
        json_open(&j, "times", '[');
        for (int i = 0; i < z->n; i++) {
            json_open(&j, NULL, '{');
            put_times(&j, z->models[i], &times[i]);
            json_close(&j, '}');
        }
        json_close(&j, ']');
        log_json_close(&j);
    }
    free(times);
    return code;
}
