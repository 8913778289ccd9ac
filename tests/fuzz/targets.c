/* targets.c: the targets of fuzz.h as a table. */
#include "fuzz.h"

#define ROW(name) {#name, fuzz_run_##name, fuzz_mutate_##name},
const fuzz_target fuzz_targets[] = {FUZZ_TARGETS(ROW)};
const size_t fuzz_n_targets = WICK_COUNTOF(fuzz_targets);

const fuzz_target *fuzz_find(const char *name) {
    for (size_t i = 0; i < fuzz_n_targets; i++)
        if (!strcmp(fuzz_targets[i].name, name)) return &fuzz_targets[i];
    return NULL;
}
