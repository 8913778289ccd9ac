/* programs.c: finds the program that a fused one is: the same results, made by the same ops from inputs of the same
 * kinds. Which numbers registers have, and in which order instructions, inputs and results stand, does not matter. */
#include "kernels/fused/programs.h"

typedef struct step {
    uint16_t op;
    uint8_t dst, a, b, c, to; /* to: the ctype of what it makes */
} step;
typedef struct result {
    uint8_t dtype, reg;
} result;
typedef struct shape {
    const uint8_t *kinds; /* of inputs: 'A', 'M' or 'S' */
    const step *steps;
    const result *outs;
    int n_in, n_steps, n_out;
} shape;

#define A(r) 'A',
#define M(r) 'M',
#define S(r) 'S',
#define I1(r, row, a) {WICK_EW_##row, r, a, a, a, WICK_CF32},
#define I2(r, row, a, b) {WICK_EW_##row, r, a, b, a, WICK_CF32},
#define I3(r, row, a, b, c) {WICK_EW_##row, r, a, b, c, WICK_CF32},
#define C2(r, row, a, b) {WICK_EW_##row, r, a, b, a, WICK_CBOOL},
#define O(i, r) {WICK_F32, r},
#define B(i, r) {WICK_BOOL, r},
#define TABLES(name, n_in, inputs, instructions, outputs)                 \
    static const uint8_t kinds_##name[] = {inputs};                 \
    static const step steps_##name[] = {instructions};              \
    static const result outs_##name[] = {outputs};
WICK_PROGRAMS(TABLES)
#define SHAPE(name, ...)                                                                                               \
    {kinds_##name,                                                                                                     \
     steps_##name,                                                                                                     \
     outs_##name,                                                                                                      \
     (int)WICK_COUNTOF(kinds_##name),                                                                                  \
     (int)WICK_COUNTOF(steps_##name),                                                                                  \
     (int)WICK_COUNTOF(outs_##name)},
static const shape shapes[] = {WICK_PROGRAMS(SHAPE)};

/* Registers of a fused program by those of a shape and back, NONE where there is none so far. */
enum { NONE = 255 };
typedef struct match {
    uint8_t of[WICK_FUSED_MAX_REGS], back[WICK_FUSED_MAX_REGS];
    int n;
} match;

static bool is_number(const wick_fused *f, int input) {
    const uint8_t kind = f->layout.in_kind[input];
    return kind == WICK_FUSED_SAME || kind == WICK_FUSED_STILL;
}

/* Whether register `reg` of f is made as r of the shape is, from inputs of the same kinds. Each register of the one is
 * only ever one of the other. */
static bool made_alike(match *m, const wick_fused *f, const shape *p, int r, int reg) {
    if (m->of[r] != NONE || m->back[reg] != NONE) return m->of[r] == reg && m->back[reg] == r;
    if ((r < p->n_in) != (reg < f->n_in)) return false;
    m->of[r] = (uint8_t)reg;
    m->back[reg] = (uint8_t)r;
    m->n++;
    if (r < p->n_in)
        return f->in[reg].dtype == (p->kinds[r] == 'M' ? WICK_BOOL : WICK_F32) &&
               is_number(f, reg) == (p->kinds[r] == 'S');
    const wick_fused_instr *in = &f->instr[reg - f->n_in];
    const step *s = &p->steps[r - p->n_in];
    if (in->dst != reg || in->op != s->op || in->type != WICK_CF32 || in->to != s->to) return false;
    const uint8_t from[] = {s->a, s->b, s->c};
    for (int k = 0; k < wick_fused_arity(in); k++)
        if (!made_alike(m, f, p, from[k], in->src[k])) return false;
    return true;
}

/* Pairs the shape's results from `at` on with those of f that are left. */
static bool results_alike(match *m, const wick_fused *f, const shape *p, int at, uint32_t left) {
    if (at == p->n_out) return m->n == f->n_in + f->n_instr;
    for (int o = 0; o < f->n_out; o++) {
        match tried = *m;
        if (!(left >> o & 1) || f->out[o].dtype != p->outs[at].dtype ||
            !made_alike(&tried, f, p, p->outs[at].reg, f->out[o].reg) ||
            !results_alike(&tried, f, p, at + 1, left & ~(1u << o)))
            continue;
        *m = tried;
        return true;
    }
    return false;
}

int wick_program_find(wick_fused *f) {
    wick_fused_layout *l = &f->layout;
    for (int i = 0; i < WICK_PROGRAM_COUNT && (!f->reduces || l->planes); i++) {
        const shape *p = &shapes[i];
        if (f->n_in != p->n_in || f->n_instr != p->n_steps || f->n_out != p->n_out) continue;
        match m = {.n = 0};
        memset(m.of, NONE, sizeof m.of);
        memset(m.back, NONE, sizeof m.back);
        if (!results_alike(&m, f, p, 0, (1u << f->n_out) - 1)) continue;
        for (int k = 0; k < f->n_in; k++) {
            l->whole_in[k] = m.back[k];
            l->reordered |= m.back[k] != k;
        }
        for (int o = 0; o < f->n_out; o++)
            while (p->outs[l->whole_out[o]].reg != m.back[f->out[o].reg]) l->whole_out[o]++;
        return i;
    }
    return -1;
}

static const wick_program_fn *const tiers[WICK_TIER_COUNT] = {WICK_TIER_ENTRIES(wick_program_table)};

wick_program_fn wick_program_kernel(wick_tier tier, int program) { return tiers[tier][program]; }
