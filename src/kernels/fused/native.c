/* native.c: which programs may be one loop of machine code. */
#include "kernels/fused/native.h"

#include "kernels/fused/fused.h"

/* Fewer elements are done before anything else could help. */
#define LEAST_ELEMENTS 256

bool wick_native_program_of(const wick_fused *f, wick_native_program *p) {
    const wick_fused_layout *l = &f->layout;
    if (f->n_instr < 2 || l->program || l->mode == WICK_FUSED_EMPTY || f->tasks == 0) return false;
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
    for (int i = 0; i < f->n_in; i++) {
        p->kind[i] = l->in_kind[i] == WICK_FUSED_UNUSED ? 0 : l->in_kind[i] == WICK_FUSED_SAME || l->in_kind[i] == WICK_FUSED_STILL ? 'S' : 'A';
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

void wick_native_fused(const wick_native_program *p, int64_t n, wick_fused *f) {
    static const uint8_t dtype[WICK_CTYPE_COUNT] = {[WICK_CF32] = WICK_F32, [WICK_CF64] = WICK_F64, [WICK_CI32] = WICK_I32, [WICK_CI64] = WICK_I64, [WICK_CU64] = WICK_U64, [WICK_CBOOL] = WICK_BOOL};
    memset(f, 0, sizeof *f);
    f->rank = 1, f->dims[0] = n, f->scale = 1;
    f->n_in = p->n_in, f->n_out = p->n_out, f->n_instr = p->n_instr, f->n_reg = p->n_in + p->n_instr;
    for (int i = 0; i < f->n_in; i++) f->in[i] = (wick_fused_io){.dtype = dtype[p->type[i]], .reg = (uint8_t)i, .strides = {p->kind[i] == 'A'}};
    memcpy(f->instr, p->instr, sizeof f->instr);
    for (int o = 0; o < f->n_out; o++) {
        int made = 0;
        while (p->instr[made].dst != p->out[o]) made++;
        f->out[o] = (wick_fused_io){.dtype = dtype[p->instr[made].to], .reg = p->out[o], .strides = {1}};
    }
    wick_fused_prepare(f);
}
