/* libfuzzer.c: one target, named by WICK_FUZZ_TARGET, run by libFuzzer (llvm.org/docs/LibFuzzer.html). At the end it
 * says how many inputs opened. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "fuzz.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max);

static const fuzz_target *target;
static unsigned long long runs, opened;

static void report(void) { fprintf(stderr, "opened: %llu of %llu\n", opened, runs); }

int LLVMFuzzerInitialize(int *argc, char ***argv) {
    (void)argc, (void)argv;
    const char *name = getenv("WICK_FUZZ_TARGET");
    target = name ? fuzz_find(name) : NULL;
    if (!target) {
        fprintf(stderr, "WICK_FUZZ_TARGET names none of:");
        for (size_t i = 0; i < fuzz_n_targets; i++) fprintf(stderr, " %s", fuzz_targets[i].name);
        fprintf(stderr, "\n");
        exit(2);
    }
    /* stay here, or every file would load them anew */
    static const char *const libraries[] = {"libz.so.1",    "libzstd.so.1",      "liblz4.so.1",
                                            "libspng.so.0", "libturbojpeg.so.0", "libwebp.so.7"};
    for (size_t i = 0; i < WICK_COUNTOF(libraries); i++) dlopen(libraries[i], RTLD_NOW);
    fuzz_bytes = LLVMFuzzerMutate;
    fuzz_folder();
    atexit(report);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    runs++;
    opened += target->run(data, size) != 0;
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed) {
    fuzz_random r = {seed};
    if (!target->mutate || fuzz_chance(&r, 3)) return LLVMFuzzerMutate(data, size, max);
    return target->mutate(data, size, max, &r);
}
