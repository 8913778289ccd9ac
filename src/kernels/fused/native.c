/* native.c: which programs may be one loop of machine code. */
#include "kernels/fused/native.h"

#include "kernels/fused/fused.h"

/* Fewer elements are done before anything else could help. */
#define LEAST_ELEMENTS 256
/* Shorter rows are reduced several at a time, lane by lane. */
#define LEAST_ROW      49

static bool all_zero(const int64_t *strides, int from, int to) {
    while (from < to && strides[from] == 0) from++;
    return from == to;
}
static bool contiguous(const wick_fused *f, const int64_t *strides, int from) {
    int64_t run = 1;
    for (int d = f->rank - 1; d >= from; run *= f->dims[d--])
        if (strides[d] != run) return false;
    return true;
}

/* Of unit and line of fused.h: each line a row of columns, or of rows and columns that lie one after the other. */
static uint8_t reach_of(const wick_fused *f, int i) {
    const wick_fused_layout *l = &f->layout;
    const int64_t *strides = f->in[i].strides;
    const int unit = l->n_unit, cols = unit + f->n_red;
    const bool native = wick_fused_native((wick_dtype)f->in[i].dtype);
    if (all_zero(strides, unit, f->rank))
        return native || l->mode != WICK_FUSED_SHORT || l->in_kind[i] == WICK_FUSED_SAME ? WICK_REACH_NUMBER : 0;
    if (native) {
        if (l->lane_rows == 1 && f->n_red <= 1 && contiguous(f, strides, cols)) return WICK_REACH_LINES;
        if (l->lane_rows == 1 && f->n_red == 1 && all_zero(strides, cols, f->rank)) return WICK_REACH_ROW_NUMBER;
        if (l->tiles == 1 && contiguous(f, strides, unit)) return WICK_REACH_LINES;
    }
    const bool still = l->in_kind[i] == WICK_FUSED_STILL;
    return still && (l->mode == WICK_FUSED_SHORT || l->in_run[i] % (l->lane_rows * l->cols)) ? 0 : WICK_REACH_BLOCKS;
}

const char *wick_native_reach(wick_fused *f) {
    wick_fused_layout *l = &f->layout;
    memset(l->reach, 0, sizeof l->reach);
    if (!f->tasks || l->mode == WICK_FUSED_EMPTY) return "there is nothing to read";
    if (f->n_instr == 0 || f->out[0].reg < f->n_in) return "there is nothing but the reduction";
    if (l->planes) return "a line is a few elements of one column";
    if (l->mode == WICK_FUSED_SHORT && l->cols == 1 && l->reduced < LEAST_ROW)
        return "rows are so short that several are reduced at a time";
    for (int i = 0; i < f->n_in; i++)
        if (l->in_kind[i] != WICK_FUSED_UNUSED && !(l->reach[i] = reach_of(f, i))) {
            memset(l->reach, 0, sizeof l->reach);
            return "a number changes within a line, or is converted for each of many results";
        }
    return NULL;
}

static bool has_lines(const wick_fused *f) {
    for (int i = 0; i < f->n_in; i++)
        if (f->layout.reach[i]) return true;
    return false;
}
const char *wick_native_lines_refused(const wick_fused *f) {
    wick_fused again = *f;
    return f->reduces && f->n_instr ? wick_native_reach(&again) : NULL;
}

bool wick_native_program_of(const wick_fused *f, wick_native_program *p) {
    const wick_fused_layout *l = &f->layout;
    if (l->program || l->mode == WICK_FUSED_EMPTY || f->tasks == 0) return false;
    const bool lines = f->reduces && has_lines(f);
    if (f->n_instr < (lines ? 1 : 2)) return false;
    int64_t total = 1;
    for (int d = 0; d < f->rank; d++) total *= f->dims[d];
    if (total < LEAST_ELEMENTS) return false;
    for (int o = 0; o < f->n_out; o++) { /* each its own place, which is no input */
        if (f->out[o].reg < f->n_in) return false;
        for (int k = 0; k < o; k++)
            if (f->out[k].reg == f->out[o].reg) return false;
    }
    memset(p, 0, sizeof *p);
    p->tier = (uint8_t)wick_tier_current();
    p->n_in = (uint8_t)f->n_in, p->n_out = (uint8_t)f->n_out, p->n_instr = (uint8_t)f->n_instr;
    if (lines) p->lines = l->lane_rows == WICK_RED_LANES ? WICK_NATIVE_ROWS : WICK_NATIVE_COLS, p->red = f->red;
    for (int i = 0; i < f->n_in; i++) {
        p->kind[i] = lines                                ? (l->reach[i] != WICK_REACH_BLOCKS    ? l->reach[i]
                                                             : l->in_kind[i] == WICK_FUSED_STILL ? 'S'
                                                                                                 : 'A')
                     : l->in_kind[i] == WICK_FUSED_UNUSED ? 0
                     : l->in_kind[i] == WICK_FUSED_SAME || l->in_kind[i] == WICK_FUSED_STILL ? 'S'
                                                                                             : 'A';
        p->type[i] = (uint8_t)wick_ctype_of((wick_dtype)f->in[i].dtype);
    }
    for (int o = 0; o < f->n_out; o++) p->out[o] = f->out[o].reg;
    for (int i = 0; i < f->n_instr; i++) {
        const wick_fused_instr *in = &f->instr[i];
        p->instr[i] = (wick_fused_instr){.op = in->op, .type = in->type, .to = in->to, .dst = in->dst};
        for (int k = 0; k < wick_fused_arity(in); k++) p->instr[i].src[k] = in->src[k];
    }
    return true;
}

void wick_native_fused(const wick_native_program *p, int64_t rows, int64_t n, wick_fused *f) {
    static const uint8_t dtype[WICK_CTYPE_COUNT] = {
        [WICK_CF32] = WICK_F32, [WICK_CF64] = WICK_F64, [WICK_CI32] = WICK_I32,
        [WICK_CI64] = WICK_I64, [WICK_CU64] = WICK_U64, [WICK_CBOOL] = WICK_BOOL};
    memset(f, 0, sizeof *f);
    f->rank = 2, f->dims[0] = rows, f->dims[1] = n, f->scale = 1;
    f->reduces = p->lines != WICK_NATIVE_ELEMENTS, f->red = p->red, f->n_red = f->reduces,
    f->n_keep = p->lines == WICK_NATIVE_ROWS;
    f->n_in = p->n_in, f->n_out = p->n_out, f->n_instr = p->n_instr, f->n_reg = p->n_in + p->n_instr;
    for (int i = 0; i < f->n_in; i++)
        f->in[i] = (wick_fused_io){.dtype = dtype[p->type[i]],
                                   .reg = (uint8_t)i,
                                   .strides = {p->kind[i] == 'A' ? n : p->kind[i] == 'R', p->kind[i] == 'A'}};
    memcpy(f->instr, p->instr, sizeof f->instr);
    for (int o = 0; o < f->n_out; o++) {
        int made = 0;
        while (p->instr[made].dst != p->out[o]) made++;
        f->out[o] = (wick_fused_io){.dtype = dtype[p->instr[made].to],
                                    .reg = p->out[o],
                                    .strides = {p->lines == WICK_NATIVE_COLS ? 0
                                                : p->lines                   ? 1
                                                                             : n,
                                                p->lines != WICK_NATIVE_ROWS}};
    }
    wick_fused_prepare(f, NULL);
}
