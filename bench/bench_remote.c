/* bench_remote.c: samples a second of a stream of shards, WebDataset's layout, from a disk or by URLs; a hash of all
 * samples, by which two ways of reading are told to give the same; and how much the folder that keeps what was fetched
 * ever had. bench/remote.py runs it against servers that fail.
 *
 *   bench_remote FOLDER BYTES EPOCHS WORKERS SHARD...
 *
 * FOLDER, of BYTES at most, keeps what is fetched. A line for each epoch, and one of JSON at the end. */
#include <dirent.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/base.h"
#include "wick/datasets.h"
#include "wick/wick.h"

static const char *folder;
static atomic_bool done;
static unsigned long long most; /* bytes that the folder had */

/* What counts against its budget: contents, those too that are being fetched. */
static unsigned long long bytes_of_folder(void) {
    unsigned long long n = 0;
    DIR *d = opendir(folder);
    for (struct dirent *e; d && (e = readdir(d));) {
        char path[4096];
        struct stat st;
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        if (stat(path, &st) == 0 && S_ISREG(st.st_mode) && !strstr(e->d_name, ".from"))
            n += (unsigned long long)st.st_size;
    }
    if (d) closedir(d);
    return n;
}
static void *watch(void *user) {
    while (!atomic_load(&done)) {
        /* a file that gets its name meanwhile is seen twice */
        const unsigned long long one = bytes_of_folder(), other = bytes_of_folder(), n = one < other ? one : other;
        if (n > most) most = n;
        nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    }
    return user;
}

static double seconds(void) { return (double)wick_now_ns() * 1e-9; }
#define CHECK(call)                                                                                                    \
    if ((call) != WICK_OK) return fprintf(stderr, "%s\n", wick_context_error(ctx)), 1

int main(int argc, char **argv) {
    wick_context *ctx;
    wick_remote *remote;
    wick_dataset *set;
    wick_transform *list;
    wick_loader *loader;
    wick_batch b;
    pthread_t watcher;
    if (argc < 6 || wick_context_new(&(wick_context_options){.threads = 1}, &ctx) != WICK_OK)
        return fprintf(stderr, "usage: bench_remote FOLDER BYTES EPOCHS WORKERS SHARD...\n"), 2;
    folder = argv[1];
    CHECK(wick_remote_open(
        ctx, &(wick_remote_options){.folder = folder, .bytes = strtoull(argv[2], NULL, 10), .patience = 5}, &remote));
    if (pthread_create(&watcher, NULL, watch, NULL) != 0) return 1;
    const double start = seconds();
    CHECK(wick_dataset_of_shard_stream(
        ctx, argc - 5, (const char *const *)(argv + 5),
        &(wick_shard_stream_options){
            .stream = {.shuffle = 256, .window = 256, .seed = 3}, .most = 1 << 18, .remote = remote},
        &set));
    CHECK(wick_transform_new(ctx, "crop=4,flip,normalise", &(wick_transform_options){.mean = 0.5, .deviation = 0.25},
                             wick_dataset_field(set, 0), &list));
    CHECK(wick_loader_new(ctx, set, &(wick_loader_options){.batch = 64, .transform = list, .workers = atoi(argv[4])},
                          &loader));
    uint64_t hash = 1;
    double best = 0, from = start;
    int64_t all = 0;
    const int epochs = atoi(argv[3]);
    for (int epoch = 1; epoch <= epochs; epoch++) {
        int64_t n = 0;
        for (;;) {
            CHECK(wick_loader_take(loader, &b));
            if (!b.count) break;
            n += b.count;
            hash = wick_hash(b.fields[0], (size_t)b.count * wick_spec_bytes(wick_transform_output(list)), hash);
        }
        const double now = seconds(), rate = (double)n / (now - from);
        printf("epoch %d: %.0f samples/s\n", epoch, rate);
        if (rate > best) best = rate;
        all += n, from = now;
    }
    wick_remote_stats is;
    wick_remote_get_stats(remote, &is);
    atomic_store(&done, true);
    pthread_join(watcher, NULL);
    printf("{\"hash\": \"%016llx\", \"samples\": %lld, \"per_second\": %.1f, \"best\": %.1f, \"requests\": %llu, "
           "\"retries\": %llu, \"received\": %llu, \"evicted\": %llu, \"folder\": %llu}\n",
           (unsigned long long)hash, (long long)all, (double)all / (from - start), best,
           (unsigned long long)is.requests, (unsigned long long)is.retries, (unsigned long long)is.received,
           (unsigned long long)is.evicted, most);
    wick_loader_free(&loader), wick_transform_free(&list), wick_dataset_free(&set), wick_remote_free(&remote);
    wick_context_free(&ctx);
    return 0;
}
