/* bench_loader.c: what a loader of pictures and its set hold while they work: RssAnon beside the loader's own account,
 * over 20 epochs.   Usage: bench_loader SET [WORKERS [by-number|stream]], SET as wick_files_open takes it, or with a
 * third argument a shard in WebDataset's layout */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wick/datasets.h"
#include "wick/wick.h"

static long anonymous(void) { /* KB */
    char line[256];
    long kb = -1;
    FILE *f = fopen("/proc/self/status", "r");
    while (f && fgets(line, sizeof line, f))
        if (strncmp(line, "RssAnon:", 8) == 0) kb = atol(line + 8);
    if (f) fclose(f);
    return kb;
}

#define CHECK(call) if ((call) != WICK_OK) return fprintf(stderr, "%s\n", wick_context_error(ctx)), 1

int main(int argc, char **argv) {
    wick_context *ctx;
    wick_dataset *set;
    wick_transform *list;
    wick_loader *loader;
    wick_loader_stats stats;
    wick_batch b;
    if (argc < 2 || wick_context_new(&(wick_context_options){.threads = 1}, &ctx) != WICK_OK)
        return fprintf(stderr, "usage: bench_loader SET [WORKERS]\n"), 2;
    const bool shard = argc > 3, stream = shard && strcmp(argv[3], "stream") == 0;
    const long empty = anonymous();
    const char *const path = argv[1];
    CHECK(stream ? wick_dataset_of_shard_stream(
                       ctx, 1, &path, &(wick_shard_stream_options){.stream = {.shuffle = 1024}, .most = 1 << 16}, &set)
          : shard ? wick_dataset_of_shards(ctx, 1, &path, &set)
                  : wick_dataset_of_files(ctx, path, &(wick_files_options){.split = "test"}, &set));
    CHECK(wick_transform_new(ctx, "crop=4,flip,normalise", &(wick_transform_options){.mean = 0.5, .deviation = 0.25},
                             wick_dataset_field(set, 0), &list));
    const long before = anonymous();
    printf("the set: RssAnon %ld KB\n", before - empty);
    CHECK(wick_loader_new(
        ctx, set,
        &(wick_loader_options){
            .batch = 64, .shuffle = !stream, .transform = list, .workers = argc > 2 ? atoi(argv[2]) : 0},
        &loader));
    wick_loader_get_stats(loader, &stats);
    printf("the loader's account: %zu KB\n", stats.memory / 1024);
    for (int epoch = 1; epoch <= 20; epoch++) {
        do CHECK(wick_loader_take(loader, &b));
        while (b.count);
        wick_loader_get_stats(loader, &stats);
        if (epoch == 1 || epoch % 10 == 0)
            printf("epoch %d: RssAnon %ld KB above that before the loader; %.0f samples/s\n", epoch,
                   anonymous() - before, stats.samples_per_second);
    }
    wick_loader_free(&loader), wick_transform_free(&list), wick_dataset_free(&set), wick_context_free(&ctx);
    return 0;
}
