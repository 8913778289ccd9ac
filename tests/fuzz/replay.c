/* replay.c: runs targets over files: fuzz_replay [--mutate N] TARGET FILE|FOLDER ... ; of a folder, the files in it.
 * With --mutate, also N changed copies of each. Says how many opened. A finding ends the program as the sanitizers or a
 * signal do. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "fuzz.h"

static long mutants;
static unsigned long long runs, opened, changed, changed_opened;

static bool run_file(const fuzz_target *t, const char *path) {
    enum { MOST = 1 << 20 };
    FILE *f = fopen(path, "rb");
    uint8_t *data = malloc(MOST), *copy = malloc(MOST);
    if (!f || !data || !copy) return fprintf(stderr, "%s: cannot be read\n", path), false;
    const size_t n = fread(data, 1, MOST, f);
    fclose(f);
    fflush(stdout);
    runs++;
    opened += t->run(data, n) != 0;
    for (long i = 0; i < mutants && t->mutate; i++) {
        fuzz_random r = {(uint64_t)i};
        memcpy(copy, data, n);
        const size_t size = t->mutate(copy, n, WICK_MIN(2 * n + 512, (size_t)MOST), &r);
        changed++;
        changed_opened += t->run(copy, size) != 0;
    }
    free(data);
    free(copy);
    return true;
}

static bool run_path(const fuzz_target *t, const char *path) {
    struct stat st;
    if (stat(path, &st) != 0) return fprintf(stderr, "%s: is not there\n", path), false;
    if (!S_ISDIR(st.st_mode)) return run_file(t, path);
    struct dirent **names;
    const int n = scandir(path, &names, NULL, alphasort);
    bool good = n >= 0;
    for (int i = 0; i < n; i++) {
        char full[4096];
        snprintf(full, sizeof full, "%s/%s", path, names[i]->d_name);
        if (stat(full, &st) == 0 && S_ISREG(st.st_mode)) good &= run_file(t, full);
        free(names[i]);
    }
    if (n >= 0) free(names);
    return good;
}

int main(int argc, char **argv) {
    int i = 1;
    if (argc > 2 && !strcmp(argv[1], "--mutate")) mutants = atol(argv[2]), i = 3;
    const fuzz_target *t = i < argc ? fuzz_find(argv[i]) : NULL;
    if (!t) {
        fprintf(stderr, "usage: fuzz_replay [--mutate N] TARGET FILE|FOLDER...\n");
        return 2;
    }
    bool good = true;
    for (i++; i < argc; i++) good &= run_path(t, argv[i]);
    printf("%s: %llu files, %llu opened", t->name, runs, opened);
    if (changed)
        printf("; %llu mutants, %llu opened (%.0f %%)", changed, changed_opened,
               100.0 * (double)changed_opened / (double)changed);
    printf("\n");
    fuzz_context_drop();
    return good ? 0 : 1;
}
