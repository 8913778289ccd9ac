/* sparsify.c: single weights that are set to 0, the smallest of each tensor (magnitude pruning: Han et al. 2015), or of
 * each few neighbours (N:M: Mishra et al. 2021, "Accelerating sparse deep neural networks"). */
#define WICK_NO_SITES
#include "compress/pruner.h"

enum { DIGIT = 11, DIGITS = 1 << DIGIT };

static uint32_t magnitude(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits & 0x7fffffff; /* ordered as |x| is */
}

/* Sets the `count` smallest in magnitude to 0, of equal ones the first. The largest of them is found digit by digit. */
static void zero_smallest(float *w, int64_t n, int64_t count) {
    static const int shifts[] = {22, 11, 0};
    uint32_t prefix = 0;
    int64_t below = 0, counts[DIGITS];
    if (count < 1) return;
    for (int d = 0; d < 3; d++) {
        const uint32_t above = d ? ~0u << (shifts[d] + DIGIT) : 0;
        memset(counts, 0, sizeof counts);
        for (int64_t i = 0; i < n; i++) {
            const uint32_t m = magnitude(w[i]);
            if ((m & above) == (prefix & above)) counts[m >> shifts[d] & (DIGITS - 1)]++;
        }
        uint32_t digit = 0;
        while (below + counts[digit] < count) below += counts[digit++];
        prefix |= digit << shifts[d];
    }
    int64_t equal = count - below;
    for (int64_t i = 0; i < n; i++) {
        const uint32_t m = magnitude(w[i]);
        if (m < prefix || (m == prefix && equal-- > 0)) w[i] = 0;
    }
}

/* Leaves n of m neighbours along an axis of `extent` places, `inner` apart: the largest, of equal ones the first. */
static void keep_n_of_m(float *w, int64_t outer, int64_t extent, int64_t inner, int n, int m) {
    for (int64_t o = 0; o < outer; o++)
        for (int64_t i = 0; i < inner; i++)
            for (int64_t k = 0; k + m <= extent; k += m) {
                float *group = w + (o * extent + k) * inner + i;
                uint64_t stay = 0;
                for (int c = 0; c < n; c++) {
                    int best = -1;
                    for (int j = 0; j < m; j++)
                        if (!(stay >> j & 1) &&
                            (best < 0 || magnitude(group[j * inner]) > magnitude(group[best * inner])))
                            best = j;
                    stay |= (uint64_t)1 << best;
                }
                for (int j = 0; j < m; j++)
                    if (!(stay >> j & 1)) group[j * inner] = 0;
            }
}

static bool is_sparse(const pruned_state *s) {
    return s->copy && s->summed >= 0 && s->source->value->type.dtype == WICK_F32;
}
wick_status wick_pruner_sparsify(wick_pruner *p, double sparsity, int n, int m) {
    if (!p) return WICK_ERR_INVALID;
    if (!p->model || !(sparsity >= 0 && sparsity < 1) || m < 0 || m > 64 || (m && (n < 1 || n > m)))
        return wick_context_fail(p->ctx, WICK_ERR_INVALID,
                                 p->model
                                     ? "pruner: sparsity %g is not from 0 to below 1, or %d of %d is no pattern of "
                                       "at most 64"
                                     : "pruner: wick_pruner_cut comes before it",
                                 sparsity, n, m);
    for (int i = 0; i < p->n_states; i++) {
        const pruned_state *s = &p->states[i];
        const void *data;
        if (!is_sparse(s)) continue;
        const wick_type *t = &s->copy->value->type;
        const int64_t count = wick_type_count(t);
        WICK_TRY(wick_data(s->copy, &data));
        float *w = wick_alloc(&p->ctx->alloc, wick_type_bytes(t) + 1);
        if (!w) return pruner_out_of_memory(p->ctx);
        memcpy(w, data, wick_type_bytes(t));
        if (m) {
            int64_t outer = 1, inner = 1;
            for (int d = 0; d < t->rank; d++) *(d < s->summed ? &outer : &inner) *= d == s->summed ? 1 : t->dims[d];
            keep_n_of_m(w, outer, t->dims[s->summed], inner, n, m);
        } else {
            zero_smallest(w, count, (int64_t)(sparsity * (double)count));
        }
        const wick_status status = wick_write(s->copy, w, wick_type_bytes(t));
        wick_release(&p->ctx->alloc, w, wick_type_bytes(t) + 1);
        WICK_TRY(status);
    }
    return WICK_OK;
}
double wick_pruner_sparsity(wick_pruner *p) {
    int64_t zeros = 0, all = 0;
    for (int i = 0; p && i < p->n_states; i++) {
        const pruned_state *s = &p->states[i];
        const void *data;
        if (!is_sparse(s) || wick_data(s->copy, &data) != WICK_OK) continue;
        const int64_t n = wick_type_count(&s->copy->value->type);
        for (int64_t k = 0; k < n; k++) zeros += !magnitude(((const float *)data)[k]);
        all += n;
    }
    return all ? (double)zeros / (double)all : 0;
}
