/* programs.c: finds the program that a fused one is, by comparing what it does, instruction by instruction. */
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

static bool is(const wick_fused *f, const shape *p) {
    if (f->n_in != p->n_in || f->n_instr != p->n_steps || f->n_out != p->n_out) return false;
    for (int i = 0; i < f->n_in; i++)
        if (f->in[i].dtype != (p->kinds[i] == 'M' ? WICK_BOOL : WICK_F32) ||
            (f->layout.in_kind[i] == WICK_FUSED_SAME || f->layout.in_kind[i] == WICK_FUSED_STILL) !=
                (p->kinds[i] == 'S'))
            return false;
    for (int i = 0; i < f->n_out; i++)
        if (f->out[i].dtype != p->outs[i].dtype || f->out[i].reg != p->outs[i].reg) return false;
    for (int i = 0; i < f->n_instr; i++) {
        const wick_fused_instr *in = &f->instr[i];
        const step *s = &p->steps[i];
        if (in->op != s->op || in->type != WICK_CF32 || in->to != s->to || in->dst != s->dst || in->src[0] != s->a)
            return false;
        if ((wick_fused_arity(in) > 1 && in->src[1] != s->b) || (wick_fused_arity(in) > 2 && in->src[2] != s->c))
            return false;
    }
    return true;
}

int wick_program_find(const wick_fused *f) {
    for (int i = 0; i < WICK_PROGRAM_COUNT && (!f->reduces || f->layout.planes); i++)
        if (is(f, &shapes[i])) return i;
    return -1;
}

static const wick_program_fn *const tiers[WICK_TIER_COUNT] = {WICK_TIER_ENTRIES(wick_program_table)};

wick_program_fn wick_program_kernel(wick_tier tier, int program) { return tiers[tier][program]; }
