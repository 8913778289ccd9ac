/* bench_ahead.c: an epoch over a record file of pictures that lies on a disk and not in its cache: samples a second
 * when workers read for themselves, when the loader tells the system what the next batches need (wick_dataset_ahead),
 * and when threads of their own read it before. In turn, medians; and the same where all is in the cache.   Usage:
 * bench_ahead FILE.wrec [BATCH], of some 10,000 JPEGs; it is only read */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "wick/datasets.h"
#include "wick/wick.h"

enum { TURNS = 5, READERS = 4, QUEUE = 1 << 14, SAMPLES = 6000 };
typedef enum way { WORKERS_READ, SYSTEM_READS, THREADS_READ, WAYS } way;
static const char *const ways[] = {"workers read", "told ahead", "threads read ahead"};

static wick_context *ctx;
static const char *path;
static int file;

/* The set, and how what is ahead is read. */
static wick_dataset *inner;
static wick_records *records;
static way how;
static int64_t queue[QUEUE];
static int64_t first, last; /* of the queue, under the lock */
static bool quit;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t more = PTHREAD_COND_INITIALIZER;

static wick_status get(void *user, int64_t i, void *const *out, wick_fault *fault) {
    return (void)user, wick_dataset_get(inner, i, out, fault);
}
static int64_t label(void *user, int64_t i) { return (void)user, wick_dataset_label(inner, i); }
static void ahead(void *user, const int64_t *indices, int64_t n) {
    (void)user;
    if (how == SYSTEM_READS) wick_dataset_ahead(inner, indices, n);
    if (how != THREADS_READ) return;
    pthread_mutex_lock(&lock);
    for (int64_t i = 0; i < n && last - first < QUEUE; i++) queue[last++ % QUEUE] = indices[i];
    pthread_cond_broadcast(&more);
    pthread_mutex_unlock(&lock);
}
static void *reader(void *arg) {
    static _Thread_local char room[1 << 16];
    (void)arg;
    for (;;) {
        pthread_mutex_lock(&lock);
        while (first == last && !quit) pthread_cond_wait(&more, &lock);
        const int64_t i = first < last ? queue[first++ % QUEUE] : -1;
        pthread_mutex_unlock(&lock);
        if (i < 0) return NULL;
        wick_record_entry e;
        if (wick_records_at(records, i, &e) == WICK_OK &&
            pread(file, room, e.stored < sizeof room ? e.stored : sizeof room, (off_t)e.offset) < 0)
            exit(1);
    }
}

#define CHECK(call) if ((call) != WICK_OK) fprintf(stderr, "%s\n", wick_context_error(ctx)), exit(1)

static double run(way what, int workers, int64_t batch, bool cold) {
    wick_dataset *set;
    wick_transform *list;
    wick_loader *loader;
    wick_batch b;
    pthread_t threads[READERS];
    struct timespec t0, t1;
    how = what;
    CHECK(wick_dataset_of_files(ctx, path, &(wick_files_options){.copy = true}, &inner));
    wick_dataset_source source = {.count = wick_dataset_count(inner),
                                  .n_fields = 2,
                                  .fields = {*wick_dataset_field(inner, 0), *wick_dataset_field(inner, 1)},
                                  .get = get,
                                  .ahead = what == WORKERS_READ ? NULL : ahead,
                                  .label = label,
                                  .classes = wick_dataset_classes(inner)};
    CHECK(wick_dataset_new(ctx, &source, &set));
    CHECK(wick_transform_new(ctx, "crop=4,flip,normalise", NULL, wick_dataset_field(set, 0), &list));
    CHECK(wick_loader_new(
        ctx, set,
        &(wick_loader_options){
            .batch = batch, .shuffle = true, .seed = 3, .transform = list, .workers = workers, .prefetch = 4},
        &loader));
    if (cold && posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED) != 0) exit(1);
    quit = false;
    for (int i = 0; i < READERS && what == THREADS_READ; i++)
        if (pthread_create(&threads[i], NULL, reader, NULL) != 0) exit(1);
    clock_gettime(CLOCK_MONOTONIC, &t0);
    int64_t n = 0;
    do {
        CHECK(wick_loader_take(loader, &b));
        n += b.count;
    } while (b.count && n < SAMPLES);
    clock_gettime(CLOCK_MONOTONIC, &t1);
    wick_loader_free(&loader);
    pthread_mutex_lock(&lock);
    quit = true;
    first = last;
    pthread_cond_broadcast(&more);
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < READERS && what == THREADS_READ; i++) pthread_join(threads[i], NULL);
    wick_transform_free(&list), wick_dataset_free(&set), wick_dataset_free(&inner);
    return (double)n / ((double)(t1.tv_sec - t0.tv_sec) + (double)(t1.tv_nsec - t0.tv_nsec) * 1e-9);
}

static int by_value(const void *a, const void *b) {
    const double p = *(const double *)a, q = *(const double *)b;
    return (p > q) - (p < q);
}

int main(int argc, char **argv) {
    static const int workers[] = {1, 2, 4, 8};
    const int64_t batch = argc > 2 ? atoll(argv[2]) : 64;
    if (argc < 2 || wick_context_new(&(wick_context_options){.threads = 1}, &ctx) != WICK_OK ||
        (file = open(path = argv[1], O_RDONLY)) < 0)
        return fprintf(stderr, "usage: bench_ahead FILE.wrec [BATCH]\n"), 2;
    CHECK(wick_records_open(ctx, path, &(wick_records_options){.copy = true}, &records));
    printf("| samples a second | workers |");
    for (int w = 0; w < WAYS; w++) printf(" %s |", ways[w]);
    printf("\n|---|---|---|---|---|\n");
    for (int cold = 1; cold >= 0; cold--)
        for (size_t k = 0; k < sizeof workers / sizeof *workers; k++) {
            double speed[WAYS][TURNS];
            for (int t = 0; t < TURNS; t++)
                for (int w = 0; w < WAYS; w++) speed[w][t] = run((way)w, workers[k], batch, cold);
            printf("| %s | %d |", cold ? "from the disk" : "from the cache", workers[k]);
            for (int w = 0; w < WAYS; w++) {
                qsort(speed[w], TURNS, sizeof **speed, by_value);
                printf(" %.0f |", speed[w][TURNS / 2]);
            }
            printf("\n");
            fflush(stdout);
        }
    wick_records_free(&records);
    wick_context_free(&ctx);
    return 0;
}
