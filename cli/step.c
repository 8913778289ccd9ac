#include "step.h"

#include <stdlib.h>

wick_status step_compile(step *s, classifier *c, wick_function fn, void *user, int64_t n, int n_in, int n_out,
                         bool mixed, uint64_t seed, uint64_t stream, const wick_compile_options *options) {
    wick_spec specs[2];
    classifier_specs(c, n, specs);
    if (mixed) specs[1] = (wick_spec){.name = specs[1].name, .dtype = WICK_F32, .rank = 2, .dims = {n, c->classes}};
    *s = (step){0};
    wick_status status = classifier_prepare(c, n);
    wick_context_set_random(c->ctx, seed, stream);
    if (status == WICK_OK) status = wick_compile(c->ctx, fn, user, n_in, specs, n_out, options, &s->plan);
    if (status == WICK_OK && !c->arena) status = wick_shared_arena_new(c->ctx, &c->arena);
    if (status == WICK_OK) status = wick_workspace_new_in(c->arena, s->plan, &s->workspace);
    if (status != WICK_OK) step_free(s);
    return status;
}

void step_free(step *s) {
    wick_workspace_free(&s->workspace);
    wick_plan_free(&s->plan);
}

void *step_buffer(int64_t count, size_t size) {
    size_t bytes;
    if (__builtin_mul_overflow((size_t)count, size, &bytes) || bytes > PTRDIFF_MAX) return NULL;
    return aligned_alloc(64, (bytes + 63) / 64 * 64);
}
