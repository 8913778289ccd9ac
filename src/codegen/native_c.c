/* native_c.c: prints programs. Instructions are the rows' own expressions, one scalar per register in one loop, which compilers turn into vectors of the tier. Rows
 * that a tier has in vectors written by hand are called: the loop is cut there, values pass in arrays of CHUNK elements, and bits and speed are the built-in's. */
#include "codegen/native_c.h"

#include "codegen/expr_c.h"
#include "codegen/math_c.h"
#include "kernels/fused/fused.h"

enum { CHUNK = 256 };

const char *const *wick_native_c_flags(wick_tier tier) {
    static const char *const ref[] = {"-O2", "-fno-tree-vectorize", NULL}, *const base[] = {"-O3", NULL};
#ifdef __x86_64__
    static const char *const avx2[] = {"-O3", "-mavx2", "-mfma", "-mf16c", "-mbmi2", NULL};
    static const char *const avx512[] = {"-O3",    "-mavx512f", "-mavx512bw", "-mavx512cd", "-mavx512dq", "-mavx512vl", "-mfma", "-mf16c", "-mbmi2", "-mprefer-vector-width=512",
                                         NULL};
    if (tier == WICK_TIER_AVX2) return avx2;
    if (tier == WICK_TIER_AVX512) return avx512;
#endif
    return tier == WICK_TIER_REF ? ref : base;
}

/* Whether the tier has kernels of its own for the row: those that elementwise/ew_tier.c and vec512.h name. */
static bool is_called(wick_tier tier, const wick_fused_instr *in) {
    if (in->op == WICK_FUSED_CAST || tier == WICK_TIER_REF) return false;
    switch (in->op) {
    case WICK_EW_fmod:
    case WICK_EW_remainder:
    case WICK_EW_floor_divide:
        return in->type == WICK_CF32 || in->type == WICK_CF64;
    case WICK_EW_exp:
    case WICK_EW_expm1:
    case WICK_EW_sigmoid:
    case WICK_EW_silu:
    case WICK_EW_gelu:
    case WICK_EW_gelu_tanh:
    case WICK_EW_tanh:
    case WICK_EW_log:
        return tier == WICK_TIER_AVX512 && in->type == WICK_CF32;
    default:
        return false;
    }
}

typedef struct printing {
    wick_text *out;
    const wick_native_program *p;
    wick_c_uses uses;
    bool cut;                              /* there are calls: registers are passed in arrays */
    int segment[WICK_FUSED_MAX_REGS];      /* that makes it; inputs: -1 */
    bool kept[WICK_FUSED_MAX_REGS];        /* other segments, or calls, read it */
    wick_ctype type[WICK_FUSED_MAX_REGS];
} printing;

/* Segments: loops between calls, each call one of its own, and the last that stores. */
static int find_segments(printing *w) {
    const wick_native_program *p = w->p;
    int segment = 0;
    for (int i = 0; i < p->n_in; i++) w->segment[i] = -1, w->type[i] = (wick_ctype)p->type[i];
    for (int i = 0; i < p->n_instr; i++) {
        const bool called = is_called((wick_tier)p->tier, &p->instr[i]), before = i && is_called((wick_tier)p->tier, &p->instr[i - 1]);
        if (i && (called || before)) segment++;
        w->segment[p->instr[i].dst] = segment;
        w->type[p->instr[i].dst] = (wick_ctype)p->instr[i].to;
        w->cut |= called;
    }
    const int last = is_called((wick_tier)p->tier, &p->instr[p->n_instr - 1]) ? segment + 1 : segment;
    for (int i = 0; i < p->n_instr; i++) {
        const wick_fused_instr *in = &p->instr[i];
        const bool called = is_called((wick_tier)p->tier, in);
        w->kept[in->dst] |= called;
        for (int k = 0; k < wick_fused_arity(in); k++) w->kept[in->src[k]] |= w->segment[in->src[k]] >= 0 ? called || w->segment[in->src[k]] != w->segment[in->dst] : called && p->kind[in->src[k]] == 'S';
    }
    for (int o = 0; o < p->n_out; o++) w->kept[p->out[o]] |= w->segment[p->out[o]] != last;
    return last;
}

/* The register as a scalar of this loop, read where it lies if another segment made it. */
static void print_read(printing *w, bool *read, int reg) {
    if (read[reg]) return;
    read[reg] = true;
    const char *type = wick_c_type(w->type[reg]);
    if (reg < w->p->n_in)
        wick_text_add(w->out, w->p->kind[reg] == 'S' ? "        const %s r%d = s%d;\n" : "        const %s r%d = x%d[at + i];\n", type, reg, reg);
    else
        wick_text_add(w->out, "        const %s r%d = t%d[i];\n", type, reg, reg);
}

static void print_loop(printing *w, int segment, bool stores) {
    const wick_native_program *p = w->p;
    bool read[WICK_FUSED_MAX_REGS] = {false};
    wick_text_add(w->out, "    WICK_VECTORS for (size_t i = 0; i < m; i++) {\n");
    for (int i = 0; i < p->n_instr; i++) {
        const wick_fused_instr *in = &p->instr[i];
        if (w->segment[in->dst] != segment) continue;
        for (int k = 0; k < wick_fused_arity(in); k++) print_read(w, read, in->src[k]);
        wick_text_add(w->out, "        const %s r%d = (%s)(", wick_c_type((wick_ctype)in->to), in->dst, wick_c_type((wick_ctype)in->to));
        wick_c_instr(w->out, in, &w->uses);
        wick_text_add(w->out, ");\n");
        read[in->dst] = true;
    }
    for (int i = 0; i < p->n_instr; i++)
        if (w->segment[p->instr[i].dst] == segment && w->kept[p->instr[i].dst]) wick_text_add(w->out, "        t%d[i] = r%d;\n", p->instr[i].dst, p->instr[i].dst);
    for (int o = 0; o < p->n_out && stores; o++) print_read(w, read, p->out[o]);
    for (int o = 0; o < p->n_out && stores; o++) wick_text_add(w->out, "        y%d[at + i] = r%d;\n", o, p->out[o]);
    wick_text_add(w->out, "    }\n");
}

static void print_call(printing *w, int i) {
    const wick_fused_instr *in = &w->p->instr[i];
    wick_text_add(w->out, "    rows[%d](t%d", i, in->dst);
    for (int k = 0; k < 3; k++) {
        const int reg = in->src[k];
        if (k >= wick_fused_arity(in))
            wick_text_add(w->out, ", 0");
        else
            wick_text_add(w->out, w->segment[reg] < 0 && w->p->kind[reg] == 'A' ? ", x%d + at" : ", t%d", reg);
    }
    wick_text_add(w->out, ", m);\n");
}

static void print_function(printing *w) {
    const wick_native_program *p = w->p;
    const int last = find_segments(w);
    wick_text_add(w->out, "typedef void (*wick_row)(void *, const void *, const void *, const void *, size_t);\n"
                          "__attribute__((visibility(\"default\"))) void " WICK_NATIVE_C_FUNCTION "(const void *const *in, void *const *out, size_t n, const wick_row *rows) {\n    (void)rows;\n");
    for (int i = 0; i < p->n_in; i++) {
        const char *type = wick_c_type((wick_ctype)p->type[i]);
        if (p->kind[i] == 'A') wick_text_add(w->out, "    const %s *const x%d = in[%d];\n", type, i, i);
        if (p->kind[i] == 'S') wick_text_add(w->out, "    const %s s%d = *(const %s *)in[%d];\n", type, i, type, i);
    }
    for (int o = 0; o < p->n_out; o++) wick_text_add(w->out, "    %s *const y%d = out[%d];\n", wick_c_type(w->type[p->out[o]]), o, o);
    if (!w->cut) {
        wick_text_add(w->out, "    const size_t at = 0, m = n;\n");
        print_loop(w, 0, true);
        wick_text_add(w->out, "}\n");
        return;
    }
    for (int r = 0; r < p->n_in + p->n_instr; r++)
        if (w->kept[r]) wick_text_add(w->out, "    _Alignas(64) %s t%d[%d];\n", wick_c_type(w->type[r]), r, CHUNK);
    for (int r = 0; r < p->n_in; r++)
        if (w->kept[r]) wick_text_add(w->out, "    for (int i = 0; i < %d; i++) t%d[i] = s%d;\n", CHUNK, r, r);
    wick_text_add(w->out, "    for (size_t at = 0; at < n; at += %d) {\n    const size_t m = n - at < %d ? n - at : %d;\n", CHUNK, CHUNK, CHUNK);
    for (int i = 0, done = -1; i < p->n_instr; i++) {
        const int segment = w->segment[p->instr[i].dst];
        if (is_called((wick_tier)p->tier, &p->instr[i]))
            print_call(w, i);
        else if (segment != done)
            print_loop(w, segment, segment == last);
        done = segment;
    }
    if (is_called((wick_tier)p->tier, &p->instr[p->n_instr - 1])) print_loop(w, last, true);
    wick_text_add(w->out, "    }\n}\n");
}

bool wick_native_c(wick_text *out, const wick_native_program *p) {
    wick_text loop = {.alloc = out->alloc}, rows = {.alloc = out->alloc};
    printing w = {.out = &loop, .p = p};
    print_function(&w);
    wick_c_used(&rows, &w.uses);
#ifdef __aarch64__
    const bool fuses = p->tier > WICK_TIER_REF;
#else
    const bool fuses = p->tier >= WICK_TIER_AVX2;
#endif
    wick_text_add(out, "#include <math.h>\n#include <stddef.h>\n#include <stdint.h>\n#include <string.h>\n");
    wick_text_add(out, fuses ? "#define WICK_FMAF(a, b, c) __builtin_fmaf((a), (b), (c))\n#define WICK_FMA(a, b, c) __builtin_fma((a), (b), (c))\n"
                             : "#define WICK_FMAF(a, b, c) ((a) * (b) + (c))\n#define WICK_FMA(a, b, c) ((a) * (b) + (c))\n");
    wick_text_add(out, "#ifdef __clang__\n#define WICK_VECTORS _Pragma(\"clang loop vectorize(assume_safety)\")\n#else\n#define WICK_VECTORS _Pragma(\"GCC ivdep\")\n#endif\n");
    const bool good = !rows.failed && !loop.failed && wick_c_math_gnu(out, rows.at ? rows.at : "");
    if (good) wick_text_add(out, "%s%s", rows.at ? rows.at : "", loop.at);
    out->failed = out->failed || !good;
    wick_text_free(&loop);
    wick_text_free(&rows);
    return !out->failed;
}
