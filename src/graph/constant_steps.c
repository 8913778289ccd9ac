/* constant_steps.c: steps that give the same in each run: executed plans run those once, printed ones not at all. */
#include "graph/graph.h"

/* Buffers hold one value: written before it is read, and not by what a jump leaves out. */
static void find_renewed(const wick_step *steps, size_t n_steps, bool *read, uint32_t *written, bool *stays) {
    uint32_t jumps = 1; /* so far */
    for (size_t i = 0; i < n_steps; i++) {
        const wick_step *s = &steps[i];
        for (int k = 0; k < s->n_refs; k++) read[s->refs[k].buffer] |= !s->refs[k].write;
        for (int k = 0; k < s->n_refs; k++) {
            const uint32_t b = s->refs[k].buffer;
            if (!s->refs[k].write) continue;
            if (read[b] || (written[b] && written[b] != jumps)) stays[b] = false;
            written[b] = jumps;
        }
        jumps += s->jump != 0;
    }
}

bool wick_constant_steps(wick_arena *arena, const wick_step *steps, size_t n_steps, size_t n_buffers, bool *stays,
                         bool *same) {
    bool *read = wick_arena_zalloc(arena, n_buffers + 1), *seen = wick_arena_zalloc(arena, n_steps + 1), more = true;
    uint32_t *written = wick_arena_zalloc(arena, (n_buffers + 1) * sizeof *written);
    if (!read || !seen || !written) return false;
    find_renewed(steps, n_steps, read, written, stays);
    while (more) { /* what one step changes, others that write there can't keep */
        more = false;
        for (size_t i = 0; i < n_steps; i++) {
            const wick_step *s = &steps[i];
            same[i] &= !s->fault && !s->tap && !s->jump && !s->commits;
            for (int k = 0; same[i] && k < s->n_refs; k++) same[i] = stays[s->refs[k].buffer];
            if (same[i] || seen[i]) continue;
            seen[i] = more = true;
            for (int k = 0; k < s->n_refs; k++) stays[s->refs[k].buffer] &= !s->refs[k].write;
        }
    }
    return true;
}
