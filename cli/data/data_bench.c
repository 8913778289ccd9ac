/* wick data bench: how fast batches of a set can be made, with so many workers, and what holds them up. */
#include "data.h"
#include "../interrupt.h"
#include "../paths.h"
#include "../term/log.h"

#include "wick/datasets.h"

#include <stdlib.h>
#include <time.h>

enum { MOST_COUNTS = 16 };

/* "0,1,2" */
static int read_counts(const char *text, int counts[MOST_COUNTS]) {
    int n = 0;
    for (;;) {
        char *end;
        const long value = *text >= '0' && *text <= '9' ? strtol(text, &end, 10) : -1;
        if (value < 0 || value > WICK_WORKERS_MAX || n == MOST_COUNTS) return 0;
        counts[n++] = (int)value;
        if (!*end) return n;
        if (*end != ',') return 0;
        text = end + 1;
    }
}

/* Files in folders and in record files are decoded by the workers; sets that wick train takes otherwise are in memory.
 */
static wick_status open_set(data_job *d, wick_dataset **set) {
    char *split = path_join(d->path, d->o->split);
    if (!split) return WICK_ERR_NOMEM;
    wick_status status;
    const wick_files_options options = {
        .split = d->o->split, .salvage = d->o->of_data.salvage, .all = d->o->of_data.all, .rate = d->o->rate};
    status = path_is_folder(split) ? WICK_ERR_IO : wick_dataset_open(d->ctx, d->path, d->o->split, set);
    if (status == WICK_ERR_IO) status = wick_dataset_of_files(d->ctx, d->path, &options, set);
    free(split);
    return status;
}

static void put_timing(json *j, const char *key, const wick_timing *t) {
    json_open(j, key, '{');
    json_integer(j, "count", (int64_t)t->count);
    json_real(j, "total", t->total, 6);
    json_real(j, "min", t->min, 6);
    json_real(j, "max", t->max, 6);
    json_real(j, "mean", t->mean, 6);
    json_real(j, "median", t->median, 6);
    json_real(j, "p95", t->p95, 6);
    json_real(j, "p99", t->p99, 6);
    json_close(j, '}');
}

/* What came of it, by the clock and by the time that this process computed. */
typedef struct speeds {
    double real, cpu; /* samples a second */
} speeds;

static void put_row(json *j, const wick_loader_stats *s, speeds speed) {
    json_open(j, NULL, '{');
    json_integer(j, "workers", s->workers);
    json_integer(j, "prefetch", s->prefetch);
    json_integer(j, "at_once", s->at_once);
    json_real(j, "samples_per_second", speed.real, 6);
    json_real(j, "samples_per_cpu_second", speed.cpu, 6);
    json_real(j, "samples_per_second_lately", s->samples_per_second, 6);
    json_real(j, "batches_per_second", s->batches_per_second, 6);
    json_real(j, "waiting", s->waiting, 4);
    json_real(j, "cpu", s->cpu, 4);
    json_real(j, "io_wait", s->io_wait, 4);
    json_real(j, "ready", s->full, 4);
    json_integer(j, "samples", (int64_t)s->samples);
    json_integer(j, "batches", (int64_t)s->batches);
    json_integer(j, "skipped", (int64_t)s->skipped);
    json_integer(j, "stolen", (int64_t)s->stolen);
    json_integer(j, "memory", (int64_t)s->memory);
    json_integer(j, "memory_peak", (int64_t)s->memory_peak);
    json_integer(j, "cache_hits", (int64_t)s->cache_hits);
    json_integer(j, "cache_misses", (int64_t)s->cache_misses);
    json_integer(j, "cache_bytes", (int64_t)s->cache_bytes);
    json_real(j, "efficiency", s->efficiency, 6);
    put_timing(j, "get", &s->get);
    put_timing(j, "transform", &s->transform);
    put_timing(j, "collate", &s->collate);
    put_timing(j, "make", &s->make);
    put_timing(j, "wait", &s->wait);
    put_timing(j, "cache_hit", &s->cache_hit);
    put_timing(j, "cache_miss", &s->cache_miss);
    json_text(j, "advice", s->advice);
    json_close(j, '}');
}

/* Batches for some seconds, as fast as they come. */
static int measure(data_job *d, const wick_dataset *set, const wick_loader_options *options, wick_loader_stats *stats,
                   speeds *speed) {
    wick_loader *loader;
    wick_dataset *kept = NULL;
    wick_status status =
        d->o->of_data.cache ? wick_dataset_cached(d->ctx, set, (size_t)d->o->of_data.cache << 20, &kept) : WICK_OK;
    if (status == WICK_OK) status = wick_loader_new(d->ctx, kept ? kept : set, options, &loader);
    if (status != WICK_OK) return wick_dataset_free(&kept), data_failed(d, status, CLI_USAGE);
    const double start = now_seconds();
    const clock_t computed = clock();
    double seconds = 0;
    int64_t samples = 0;
    while (status == WICK_OK && seconds < d->o->time && !interrupted()) {
        wick_batch b;
        status = wick_loader_take(loader, &b);
        samples += b.count;
        seconds = now_seconds() - start;
    }
    wick_loader_get_stats(loader, stats);
    wick_loader_free(&loader);
    wick_dataset_free(&kept);
    const double cpu = (double)(clock() - computed) / CLOCKS_PER_SEC;
    *speed = (speeds){(double)samples / (seconds > 0 ? seconds : 1), (double)samples / (cpu > 0 ? cpu : 1)};
    if (status != WICK_OK) return data_failed(d, status, CLI_BAD_FILE);
    return interrupted() ? log_fail(CLI_INTERRUPTED, "interrupted") : CLI_OK;
}

int data_bench(data_job *d) {
    const cli_options *o = d->o;
    int counts[MOST_COUNTS];
    const int n = read_counts(o->of_data.worker_counts, counts);
    if (!n)
        return log_fail(CLI_USAGE, "--workers takes numbers up to %d, with commas between: 0,1,2; not '%s'",
                        WICK_WORKERS_MAX, o->of_data.worker_counts);
    wick_dataset *set = NULL;
    wick_transform *transform = NULL;
    wick_loader_stats stats[MOST_COUNTS];
    speeds speed[MOST_COUNTS];
    interrupt_watch();
    wick_status status = open_set(d, &set);
    int code = status == WICK_OK ? CLI_OK : data_failed(d, status, CLI_BAD_FILE);
    /* numbers as good as others, for the time they take */
    const wick_transform_options half = {
        .mean = 0.5, .deviation = 0.25, .rate = set ? (double)wick_dataset_rate(set) : 0};
    if (code == CLI_OK && *o->transform &&
        (status = wick_transform_new(d->ctx, o->transform, &half, wick_dataset_field(set, 0), &transform)) != WICK_OK)
        code = data_failed(d, status, CLI_USAGE);
    if (code == CLI_OK && o->rate && wick_dataset_rate(set) != o->rate)
        code = log_fail(CLI_USAGE, "--rate is for recordings; %s holds none", d->path);
    for (int i = 0; i < n && code == CLI_OK; i++) {
        const wick_loader_options options = {.batch = o->batch,
                                             .shuffle = true,
                                             .seed = 1,
                                             .transform = transform,
                                             .workers = counts[i],
                                             .prefetch = (int)o->of_data.prefetch,
                                             .adaptive = o->adaptive,
                                             .on_fault = o->of_data.skip ? WICK_FAULT_SKIP : WICK_FAULT_STOP};
        code = measure(d, set, &options, &stats[i], &speed[i]);
        if (code != CLI_OK) break;
        if (o->json) continue;
        if (!i)
            printf("%8s %12s %10s %8s %8s %8s %8s %9s %9s %12s\n", "workers", "samples/s", "get", "pixels", "batch",
                   "p95", "p99", "waits", "memory", "efficiency");
        const wick_loader_stats *s = &stats[i];
        printf("%8d %12.0f %7.2f us %5.2f us %5.2f ms %5.2f ms %5.2f ms %7.1f %% %6.1f MB %12.0f\n", counts[i],
               speed[i].real, s->get.mean * 1e6, s->transform.mean * 1e6, s->make.mean * 1e3, s->make.p95 * 1e3,
               s->make.p99 * 1e3, s->waiting * 100, (double)s->memory_peak / 1e6, s->efficiency);
        if (o->of_data.cache)
            printf("         cache: %llu hits, %.2f us each; %llu misses, %.2f us each; %.1f MB\n",
                   (unsigned long long)s->cache_hits, s->cache_hit.mean * 1e6, (unsigned long long)s->cache_misses,
                   s->cache_miss.mean * 1e6, (double)s->cache_bytes / 1e6);
        fflush(stdout);
        if (s->skipped) log_note("%llu samples could not be read", (unsigned long long)s->skipped);
    }
    if (code == CLI_OK && !o->json) printf("%s\n", stats[n - 1].advice);
    if (code == CLI_OK && o->json) {
        json j = log_json_open();
        json_bool(&j, "ok", true);
        json_text(&j, "path", d->path);
        json_integer(&j, "samples", wick_dataset_count(set));
        json_integer(&j, "batch", o->batch);
        json_bool(&j, "decoded_on_demand", !wick_dataset_at(set, 0, 0));
        json_text(&j, "transform", o->transform);
        json_open(&j, "rows", '[');
        for (int i = 0; i < n; i++) put_row(&j, &stats[i], speed[i]);
        json_close(&j, ']');
        log_json_close(&j);
    }
    wick_dataset_free(&set);
    wick_transform_free(&transform);
    return code;
}
