#include "kernels/cost.h"

#include <stddef.h>

#include "kernels/fused/fused.h"

static const size_t rates[WICK_RATES] = {
#define AT(family, field) [WICK_RATE_##family] = offsetof(wick_tuning, cost_##field##_rate),
    AT(LIGHT, light) AT(HEAVY, heavy) AT(REDUCE, reduce) AT(GEMM, gemm) AT(CONV, conv) AT(WINOGRAD, winograd)
        AT(DEPTHWISE, depthwise) AT(POOL, pool) AT(ROWS, rows) AT(ATTENTION, attention) AT(RECURRENT, recurrent)
            AT(INT8, int8) AT(OTHER, other)
#undef AT
};

bool wick_op_is_light(int ew) {
    switch (ew) {
    case WICK_FUSED_CAST:
    case WICK_EW_add:
    case WICK_EW_sub:
    case WICK_EW_mul:
    case WICK_EW_neg:
    case WICK_EW_abs:
    case WICK_EW_square:
    case WICK_EW_relu:
    case WICK_EW_where:
    case WICK_EW_maximum:
    case WICK_EW_minimum:
    case WICK_EW_gt:
    case WICK_EW_ge:
    case WICK_EW_lt:
    case WICK_EW_le:
    case WICK_EW_eq:
    case WICK_EW_ne:
        return true;
    default: return false;
    }
}

void wick_work_program(wick_work *w, const wick_tuning *t, const wick_program_shape *p) {
    const double block = (double)t->fused_block_bytes / (4.0 * WICK_MAX(p->registers, 1)); /* elements */
    const int n_ops = p->light + p->heavy;
    w->ops[WICK_RATE_LIGHT] += p->n * p->light;
    w->ops[WICK_RATE_HEAVY] += p->n * p->heavy;
    w->overhead += (double)t->cost_block_ns * n_ops * (1 + p->n / block);
    if (!p->reduces) return;
    w->ops[WICK_RATE_REDUCE] += p->n;
    w->overhead += (double)t->cost_row_ns * p->results / WICK_MIN(p->cols, 16.0);
    /* blocks are columns, whose rows lie apart */
    if (n_ops && p->cols > WICK_RED_LINE) w->overhead += (double)t->cost_piece_ns * p->n / WICK_RED_LINE;
}

/* ns a byte in what `bytes` fit into; between one and two sizes of a cache part of them are found there. */
static double byte_ns(const wick_tuning *t, double bytes, double sharing) {
    const double of_l2 = WICK_MIN(WICK_MAX(2 - bytes / (double)t->cost_l2_bytes, 0.0), 1.0),
                 of_l3 = WICK_MIN(WICK_MAX(2 - bytes / (double)t->cost_l3_bytes, 0.0), 1.0);
    return 1e3 *
           (of_l2 / (double)t->cost_l2_rate / sharing +
            (1 - of_l2) * (of_l3 / (double)t->cost_l3_rate / sharing + (1 - of_l3) / (double)t->cost_memory_rate));
}

double wick_bytes_ns(const wick_tuning *t, double bytes, double around) { return bytes * byte_ns(t, around, 1); }

/* What a work's parts take: of programs and of other kernels on one thread, of bytes on those that share it. */
typedef struct parts {
    double sharing, program, arithmetic, memory;
} parts;
static parts parts_of(const wick_tuning *t, const wick_work *w, double footprint, int threads) {
    parts p = {.sharing = WICK_MAX(WICK_MIN((double)threads, w->tasks), 1.0)};
    for (int i = 0; i < WICK_RATES; i++)
        if (w->ops[i] > 0)
            *(i <= WICK_RATE_REDUCE ? &p.program : &p.arithmetic) +=
                1e3 * w->ops[i] / (double)*(const int64_t *)((const char *)t + rates[i]);
    p.memory = w->bytes * byte_ns(t, w->bytes, p.sharing) +
               w->far_bytes * byte_ns(t, WICK_MAX(footprint, w->far_bytes), p.sharing);
    return p;
}

double wick_work_ns(const wick_tuning *t, const wick_work *w, double footprint, int threads) {
    const parts p = parts_of(t, w, footprint, threads);
    /* a program loads a block, and then works on it: that adds up, and does not overlap */
    return (double)t->cost_step_ns + (p.sharing > 1 ? (double)t->cost_wake_ns : 0) +
           (w->overhead + p.program) / p.sharing + WICK_MAX(p.arithmetic / p.sharing, p.memory);
}

double wick_work_floor_ns(const wick_tuning *t, const wick_work *w, double footprint, int threads, bool *memory) {
    const parts p = parts_of(t, w, footprint, threads);
    const double arithmetic = (p.program + p.arithmetic) / p.sharing;
    *memory = p.memory > arithmetic;
    return WICK_MAX(arithmetic, p.memory);
}
