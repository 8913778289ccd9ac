/* bench_loader.c: what a loader of pictures holds while it works: RssAnon beside its own account, over 20 epochs.   Usage: bench_loader SET [WORKERS], SET as wick_files_open takes it */
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
    if (argc < 2 || wick_context_new(&ctx, &(wick_context_options){.threads = 1}) != WICK_OK) return fprintf(stderr, "usage: bench_loader SET [WORKERS]\n"), 2;
    CHECK(wick_dataset_of_files(ctx, argv[1], &(wick_files_options){.split = "test"}, &set));
    CHECK(wick_transform_new(ctx, "crop=4,flip,normalise", &(wick_transform_options){.mean = 0.5, .deviation = 0.25}, wick_dataset_field(set, 0), &list));
    const long before = anonymous();
    CHECK(wick_loader_new(ctx, set, &(wick_loader_options){.batch = 64, .shuffle = true, .transform = list, .workers = argc > 2 ? atoi(argv[2]) : 0}, &loader));
    wick_loader_get_stats(loader, &stats);
    printf("the loader's account: %zu KB\n", stats.memory / 1024);
    for (int epoch = 1; epoch <= 20; epoch++) {
        do CHECK(wick_loader_take(loader, &b));
        while (b.count);
        if (epoch == 1 || epoch % 10 == 0) printf("epoch %d: RssAnon %ld KB above that before the loader\n", epoch, anonymous() - before);
    }
    wick_loader_free(&loader), wick_transform_free(&list), wick_dataset_free(&set), wick_context_free(&ctx);
    return 0;
}
