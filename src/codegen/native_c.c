/* native_c.c: prints programs. Instructions are the rows' own expressions, one scalar per register in one loop, which
 * compilers turn into vectors of the tier. Rows that a tier has in vectors written by hand are called: the loop is cut
 * there, values pass in arrays of CHUNK elements, and bits and speed are the built-in's.
 *
 * Lines of a reduction: down a strip of lanes, some vectors of them, which stay in registers; what is left of a line is
 * done line by line. With calls, as many whole lines as CHUNK_LINES elements have, if they lie one after the other. */
#include "codegen/native_c.h"

#include "codegen/expr_c.h"
#include "codegen/math_c.h"
#include "kernels/fused/fused.h"

enum { CHUNK = 256, CHUNK_LINES = WICK_RED_LINE };

const char *const *wick_native_c_flags(wick_tier tier) {
    static const char *const ref[] = {"-O2", "-fno-tree-vectorize", NULL}, *const base[] = {"-O3", NULL};
#ifdef __x86_64__
    static const char *const avx2[] = {"-O3", "-mavx2", "-mfma", "-mf16c", "-mbmi2", NULL};
    static const char *const avx512[] = {
        "-O3",        "-mavx512f", "-mavx512bw", "-mavx512cd", "-mavx512dq",
        "-mavx512vl", "-mfma",     "-mf16c",     "-mbmi2",     "-mprefer-vector-width=512",
        NULL};
    if (tier == WICK_TIER_AVX2) return avx2;
    if (tier == WICK_TIER_AVX512) return avx512;
#endif
    return tier == WICK_TIER_REF ? ref : base;
}

/* Whether the tier has kernels of its own for the row: those that elementwise/ew_tier.c, vec256.h and vec512.h
 * name. */
static bool is_called(wick_tier tier, const wick_fused_instr *in) {
    if (in->op == WICK_FUSED_CAST || tier == WICK_TIER_REF) return false;
    switch (in->op) {
    case WICK_EW_fmod:
    case WICK_EW_remainder:
    case WICK_EW_floor_divide:
    case WICK_EW_sin:
    case WICK_EW_cos:
    case WICK_EW_tan:
        return in->type == WICK_CF32 || in->type == WICK_CF64;
    case WICK_EW_exp:
    case WICK_EW_expm1:
    case WICK_EW_sigmoid:
    case WICK_EW_silu:
    case WICK_EW_gelu_tanh:
    case WICK_EW_tanh:
        return tier >= WICK_TIER_AVX2 && in->type == WICK_CF32;
    case WICK_EW_gelu:
    case WICK_EW_log:
        return tier == WICK_TIER_AVX512 && in->type == WICK_CF32;
    default:
        return false;
    }
}

bool wick_native_c_is_call(const wick_native_program *p) {
    return p->n_instr == 1 && is_called((wick_tier)p->tier, &p->instr[0]);
}

typedef struct printing {
    wick_text *out;
    const wick_native_program *p;
    wick_c_uses uses;
    bool cut;                         /* there are calls: registers are passed in arrays */
    int segment[WICK_FUSED_MAX_REGS]; /* that makes it; inputs: -1 */
    bool kept[WICK_FUSED_MAX_REGS];   /* other segments, or calls, read it */
    wick_ctype type[WICK_FUSED_MAX_REGS];
    const char *x, *t; /* the index of the element at hand, of inputs and of arrays between loops */
} printing;

/* Segments: loops between calls, each call one of its own, and the last that stores. */
static int find_segments(printing *w) {
    const wick_native_program *p = w->p;
    int segment = 0;
    for (int i = 0; i < p->n_in; i++) w->segment[i] = -1, w->type[i] = (wick_ctype)p->type[i];
    for (int i = 0; i < p->n_instr; i++) {
        const bool called = is_called((wick_tier)p->tier, &p->instr[i]),
                   before = i && is_called((wick_tier)p->tier, &p->instr[i - 1]);
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
        for (int k = 0; k < wick_fused_arity(in); k++)
            w->kept[in->src[k]] |= w->segment[in->src[k]] >= 0 ? called || w->segment[in->src[k]] != w->segment[in->dst]
                                                               : called && p->kind[in->src[k]] != 'A';
    }
    for (int o = 0; o < p->n_out; o++) w->kept[p->out[o]] |= w->segment[p->out[o]] != last;
    return last;
}

/* The register as a scalar of this loop, read where it lies if another segment made it. */
static void print_read(printing *w, bool *read, int reg) {
    if (read[reg]) return;
    read[reg] = true;
    const char *type = wick_c_type(w->type[reg]);
    if (reg >= w->p->n_in)
        wick_text_add(w->out, "        const %s r%d = t%d[%s];\n", type, reg, reg, w->t);
    else if (w->p->kind[reg] == 'A')
        wick_text_add(w->out, "        const %s r%d = x%d[%s];\n", type, reg, reg, w->x);
    else
        wick_text_add(w->out, "        const %s r%d = s%d;\n", type, reg, reg);
}

/* What becomes of the results in the loop. */
typedef enum ends { ENDS_KEPT /* nothing */, ENDS_STORED, ENDS_FIRST /* in lanes acc, */, ENDS_ADDED } ends;

/* acc[i] becomes what the reduction makes of it and the value: as reduce_tier.c has it. */
static void print_added(printing *w) {
    static const char *const values[WICK_RED_COUNT] = {
        [WICK_RED_SUM] = "acc[i] + v",
        [WICK_RED_PROD] = "acc[i] * v",
        [WICK_RED_MAX] = "(acc[i] > v) | (acc[i] != acc[i]) ? acc[i] : v",
        [WICK_RED_MIN] = "(acc[i] < v) | (acc[i] != acc[i]) ? acc[i] : v"};
    const int reg = w->p->out[0];
    const char *type = wick_c_type(w->type[reg]);
    wick_text_add(w->out, "        const %s v = r%d;\n        acc[i] = (%s)(%s);\n", type, reg, type,
                  values[w->p->red]);
}

static void print_loop(printing *w, int segment, ends end) {
    const wick_native_program *p = w->p;
    bool read[WICK_FUSED_MAX_REGS] = {false};
    wick_text_add(w->out, "    WICK_VECTORS for (size_t i = 0; i < m; i++) {\n");
    for (int i = 0; i < p->n_instr; i++) {
        const wick_fused_instr *in = &p->instr[i];
        if (w->segment[in->dst] != segment) continue;
        for (int k = 0; k < wick_fused_arity(in); k++) print_read(w, read, in->src[k]);
        wick_text_add(w->out, "        const %s r%d = (%s)(", wick_c_type((wick_ctype)in->to), in->dst,
                      wick_c_type((wick_ctype)in->to));
        wick_c_instr(w->out, in, &w->uses);
        wick_text_add(w->out, ");\n");
        read[in->dst] = true;
    }
    for (int i = 0; i < p->n_instr; i++)
        if (w->segment[p->instr[i].dst] == segment && w->kept[p->instr[i].dst])
            wick_text_add(w->out, "        t%d[i] = r%d;\n", p->instr[i].dst, p->instr[i].dst);
    for (int o = 0; o < p->n_out && end != ENDS_KEPT; o++) print_read(w, read, p->out[o]);
    if (end == ENDS_FIRST) wick_text_add(w->out, "        acc[i] = r%d;\n", p->out[0]);
    if (end == ENDS_ADDED) print_added(w);
    for (int o = 0; o < p->n_out && end == ENDS_STORED; o++)
        wick_text_add(w->out, "        y%d[at + i] = r%d;\n", o, p->out[o]);
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

/* The segments in turn, but for the end of the last. */
static void print_segments(printing *w, int last, ends end) {
    const wick_native_program *p = w->p;
    for (int i = 0, done = -1; i < p->n_instr; i++) {
        const int segment = w->segment[p->instr[i].dst];
        if (is_called((wick_tier)p->tier, &p->instr[i]))
            print_call(w, i);
        else if (segment != done && (segment != last || end == ENDS_STORED))
            print_loop(w, segment, segment == last ? end : ENDS_KEPT);
        done = segment;
    }
    if (is_called((wick_tier)p->tier, &p->instr[p->n_instr - 1]) && end == ENDS_STORED) print_loop(w, last, end);
}
static void print_arrays(printing *w, int elements) {
    for (int r = 0; r < w->p->n_in + w->p->n_instr; r++)
        if (w->kept[r]) wick_text_add(w->out, "    _Alignas(64) %s t%d[%d];\n", wick_c_type(w->type[r]), r, elements);
}

static void print_function(printing *w) {
    const wick_native_program *p = w->p;
    const int last = find_segments(w);
    wick_text_add(w->out,
                  "__attribute__((visibility(\"default\"))) void " WICK_NATIVE_C_FUNCTION
                  "(const void *const *in, void *const *out, size_t n, const wick_row *rows) {\n    (void)rows;\n");
    for (int i = 0; i < p->n_in; i++) {
        const char *type = wick_c_type((wick_ctype)p->type[i]);
        if (p->kind[i] == 'A') wick_text_add(w->out, "    const %s *const x%d = in[%d];\n", type, i, i);
        if (p->kind[i] == 'S') wick_text_add(w->out, "    const %s s%d = *(const %s *)in[%d];\n", type, i, type, i);
    }
    for (int o = 0; o < p->n_out; o++)
        wick_text_add(w->out, "    %s *const y%d = out[%d];\n", wick_c_type(w->type[p->out[o]]), o, o);
    if (!w->cut) {
        wick_text_add(w->out, "    const size_t at = 0, m = n;\n");
        print_loop(w, 0, ENDS_STORED);
        wick_text_add(w->out, "}\n");
        return;
    }
    print_arrays(w, CHUNK);
    for (int r = 0; r < p->n_in; r++)
        if (w->kept[r]) wick_text_add(w->out, "    for (int i = 0; i < %d; i++) t%d[i] = s%d;\n", CHUNK, r, r);
    wick_text_add(w->out,
                  "    for (size_t at = 0; at < n; at += %d) {\n    const size_t m = n - at < %d ? n - at : %d;\n",
                  CHUNK, CHUNK, CHUNK);
    print_segments(w, last, ENDS_STORED);
    wick_text_add(w->out, "    }\n}\n");
}

/* ---- lines of a reduction ---------------------------------------------------------------------------------------- */

/* Lanes of a strip: four vectors of AVX-512, eight of others, whose registers are half as many and as wide as cache
 * lines or less. Any strip has the same bits. */
static int strip_of(const printing *w) {
    size_t widest = 4;
    for (int r = 0; r < w->p->n_in + w->p->n_instr; r++) widest = WICK_MAX(widest, wick_ctype_size(w->type[r]));
    return (int)((w->p->tier >= WICK_TIER_AVX2 ? 256 : 128) / widest);
}

/* The inputs as arguments: of the loop over a part of a line, or of what calls it, `lane` lanes on in line `line`. */
static void print_parameters(printing *w) {
    for (int i = 0; i < w->p->n_in; i++)
        if (w->p->kind[i])
            wick_text_add(w->out, w->p->kind[i] == 'A' ? ", const %s *x%d" : ", const %s s%d", wick_c_type(w->type[i]),
                          i);
}
static void print_arguments(printing *w, const char *lane, const char *line) {
    for (int i = 0; i < w->p->n_in; i++) {
        if (w->p->kind[i] == 'A') wick_text_add(w->out, ", b%d + (%s) + (ptrdiff_t)(%s) * step[%d]", i, lane, line, i);
        if (w->p->kind[i] == 'R') wick_text_add(w->out, ", b%d[(ptrdiff_t)(%s) * step[%d]]", i, line, i);
        if (w->p->kind[i] == 'S') wick_text_add(w->out, ", s%d", i);
    }
}

/* Without calls: the loop over a part of a line as a function, and strips. */
static void print_strip_loop(printing *w) {
    const char *type = wick_c_type(w->type[w->p->out[0]]);
    w->x = "i";
    wick_text_add(w->out, "static inline __attribute__((always_inline)) void line(%s *restrict acc", type);
    print_parameters(w);
    wick_text_add(w->out, ", size_t m, bool cont) {\n    if (!cont)\n");
    print_loop(w, 0, ENDS_FIRST);
    wick_text_add(w->out, "    else\n");
    print_loop(w, 0, ENDS_ADDED);
    wick_text_add(w->out, "}\nstatic WICK_APART void part(%s *restrict acc", type);
    print_parameters(w);
    wick_text_add(w->out, ", size_t m, bool cont) {\n    line(acc");
    for (int i = 0; i < w->p->n_in; i++)
        if (w->p->kind[i]) wick_text_add(w->out, w->p->kind[i] == 'A' ? ", x%d" : ", s%d", i);
    wick_text_add(w->out, ", m, cont);\n}\n");
}
static void print_strips(printing *w) {
    const char *type = wick_c_type(w->type[w->p->out[0]]);
    const int strip = strip_of(w);
    wick_text_add(w->out,
                  "    size_t l = 0;\n    for (; lines && l + %d <= lanes; l += %d) {\n    _Alignas(64) %s s[%d];\n    "
                  "size_t r = 0;\n    if (cont)\n        memcpy(s, acc + l, sizeof s);\n    else\n        line(s",
                  strip, strip, type, strip);
    print_arguments(w, "l", "0");
    wick_text_add(w->out, ", %d, false), r = 1;\n    for (; r < lines; r++) line(s", strip);
    print_arguments(w, "l", "r");
    wick_text_add(w->out,
                  ", %d, true);\n    memcpy(acc + l, s, sizeof s);\n    }\n    for (size_t r = 0; r < lines && l < "
                  "lanes; r++) part(acc + l",
                  strip);
    print_arguments(w, "l", "r");
    wick_text_add(w->out, ", lanes - l, cont || r);\n    if (rest) part(acc");
    print_arguments(w, "0", "lines");
    wick_text_add(w->out, ", rest, cont || lines);\n");
}

/* With them: pieces of whole lines, or of one, and its values from there to their lanes. */
static void print_pieces(printing *w, int last) {
    const wick_native_program *p = w->p;
    print_arrays(w, CHUNK_LINES);
    wick_text_add(w->out, "    size_t per = lanes <= %d ? %d / lanes : 1;\n", CHUNK_LINES, CHUNK_LINES);
    for (int i = 0; i < p->n_in; i++) {
        if (p->kind[i] == 'A') wick_text_add(w->out, "    if (step[%d] != (int64_t)lanes) per = 1;\n", i);
        if (p->kind[i] == 'R') wick_text_add(w->out, "    per = 1;\n");
        if (p->kind[i] == 'S' && w->kept[i])
            wick_text_add(w->out, "    for (int i = 0; i < %d; i++) t%d[i] = s%d;\n", CHUNK_LINES, i, i);
    }
    wick_text_add(w->out,
                  "    for (size_t r = 0; r < lines + (rest > 0); r += per) {\n    const size_t left = (lines - r) * "
                  "lanes + rest, m = r < lines && left > per * lanes ? per * lanes : left, at = 0;\n    (void)at;\n");
    for (int i = 0; i < p->n_in; i++) {
        const char *type = wick_c_type(w->type[i]);
        if (p->kind[i] == 'A')
            wick_text_add(w->out, "    const %s *const x%d = b%d + (ptrdiff_t)r * step[%d];\n", type, i, i, i);
        if (p->kind[i] == 'R')
            wick_text_add(w->out, "    const %s s%d = b%d[(ptrdiff_t)r * step[%d]];\n", type, i, i, i);
        if (p->kind[i] == 'R' && w->kept[i])
            wick_text_add(w->out, "    for (size_t i = 0; i < m; i++) t%d[i] = s%d;\n", i, i);
    }
    w->x = w->t = "i";
    print_segments(w, last, ENDS_ADDED);
    w->x = w->t = "q + i";
    wick_text_add(w->out, "    const size_t all = m;\n    for (size_t q = 0; q < all; q += lanes) {\n    const size_t "
                          "m = all - q < lanes ? all - q : lanes;\n    if (cont || r || q)\n");
    print_loop(w, last, ENDS_ADDED);
    wick_text_add(w->out, "    else\n");
    print_loop(w, last, ENDS_FIRST);
    wick_text_add(w->out, "    }\n    }\n");
}

static void print_units(printing *w) {
    const wick_native_program *p = w->p;
    const char *result = wick_c_type(w->type[p->out[0]]);
    const bool rows = p->lines == WICK_NATIVE_ROWS;
    wick_text_add(
        w->out,
        "__attribute__((visibility(\"default\"))) void " WICK_NATIVE_C_UNITS
        "(void *to, size_t units, size_t cols, const int64_t *unit_step, const void *const *in, const int64_t *step, "
        "size_t lines, size_t lanes, size_t rest, "
        "const wick_row *rows, void (*fold)(void *, size_t, size_t, size_t)) {\n    _Alignas(64) %s acc[%d];\n    %s "
        "*y = to;\n    const void *at[%d];\n    for (size_t u = 0; u < units; u++, y += cols) {\n",
        result, WICK_RED_LINE, result, p->n_in);
    for (int i = 0; i < p->n_in; i++)
        if (p->kind[i])
            wick_text_add(w->out, "    at[%d] = (const %s *)in[%d] + (ptrdiff_t)u * unit_step[%d];\n", i,
                          wick_c_type(w->type[i]), i, i);
    wick_text_add(w->out,
                  "    add_lines(acc, at, step, lines, lanes, rest, false, rows);\n    fold(acc, lines ? lanes : rest, "
                  "%s, cols);\n    %s\n    }\n}\n",
                  rows ? "lanes" : "lanes / cols",
                  rows ? "y[0] = acc[0];" : "for (size_t i = 0; i < cols; i++) y[i] = acc[i];");
}

static void print_lines(printing *w) {
    const wick_native_program *p = w->p;
    const int last = find_segments(w);
    const char *result = wick_c_type(w->type[p->out[0]]);
    if (!w->cut) print_strip_loop(w);
    wick_text_add(w->out,
                  "static inline %svoid add_lines(%s *restrict const acc, const void *const *in, const int64_t *step, "
                  "size_t lines, size_t lanes_, size_t rest, bool cont, const wick_row *rows) {\n"
                  "    (void)rows, (void)step, (void)lanes_;\n",
                  p->lines == WICK_NATIVE_ROWS ? "__attribute__((always_inline)) " : "", result);
    if (p->lines == WICK_NATIVE_ROWS)
        wick_text_add(w->out, "    enum { lanes = %d };\n", WICK_RED_LANES);
    else
        wick_text_add(w->out, "    const size_t lanes = lanes_;\n");
    for (int i = 0; i < p->n_in; i++) {
        const char *type = wick_c_type(w->type[i]);
        if (p->kind[i] == 'A' || p->kind[i] == 'R')
            wick_text_add(w->out, "    const %s *const b%d = in[%d];\n", type, i, i);
        if (p->kind[i] == 'S') wick_text_add(w->out, "    const %s s%d = *(const %s *)in[%d];\n", type, i, type, i);
    }
    if (w->cut)
        print_pieces(w, last);
    else
        print_strips(w);
    wick_text_add(w->out, "}\n__attribute__((visibility(\"default\"))) void " WICK_NATIVE_C_FUNCTION
                          "(void *acc, const void *const *in, const int64_t *step, size_t lines, size_t lanes, size_t "
                          "rest, bool cont, const wick_row *rows) {\n"
                          "    add_lines(acc, in, step, lines, lanes, rest, cont, rows);\n}\n");
    print_units(w);
}

/* Under which names debuggers and profilers show the file's functions: "wick_jit_mul_add_relu", those of lines with
 * "_lines" or "_units" behind. */
static void print_name(wick_text *out, const wick_native_program *p) {
    enum { NAMED = 6 };
    wick_text_add(out, "wick_jit");
    for (int i = 0; i < WICK_MIN(p->n_instr, NAMED); i++) wick_text_add(out, "_%s", wick_c_op(&p->instr[i]));
    if (p->n_instr > NAMED) wick_text_add(out, "_and_%d_more", p->n_instr - NAMED);
    if (!p->n_instr) wick_text_add(out, "_copy");
}

static const struct {
    const char *function, *end;
} named[] = {{WICK_NATIVE_C_FUNCTION, ""}, {"add_lines", "_lines"}, {WICK_NATIVE_C_UNITS, "_units"}};

/* Before the functions: they get those names. Behind: what the library looks for is a weak alias, so that tools that
 * show one name of an address take the other. */
static void print_names(wick_text *out, const wick_native_program *p, bool behind) {
    const size_t n = p->lines ? WICK_COUNTOF(named) : 1;
    wick_text_add(out, "#ifdef __ELF__\n");
    for (size_t i = 0; i < n; i++) {
        if (behind && strcmp(named[i].function, "add_lines") == 0) continue;
        wick_text_add(out, behind ? "#undef %s\nextern __typeof__(" : "#define %s ", named[i].function);
        print_name(out, p);
        wick_text_add(out, "%s", named[i].end);
        if (behind) {
            wick_text_add(out, ") %s __attribute__((weak, visibility(\"default\"), alias(\"", named[i].function);
            print_name(out, p);
            wick_text_add(out, "%s\")));", named[i].end);
        }
        wick_text_add(out, "\n");
    }
    wick_text_add(out, "#endif\n");
}

bool wick_native_c(wick_text *out, const wick_native_program *p) {
    wick_text loop = {.alloc = out->alloc}, rows = {.alloc = out->alloc};
    printing w = {.out = &loop, .p = p, .x = "at + i", .t = "i"};
    (p->lines ? print_lines : print_function)(&w);
    wick_c_used(&rows, &w.uses);
#ifdef __aarch64__
    const bool fuses = p->tier > WICK_TIER_REF;
#else
    const bool fuses = p->tier >= WICK_TIER_AVX2;
#endif
    wick_text_add(
        out,
        "#include <math.h>\n#include <stdbool.h>\n#include <stddef.h>\n#include <stdint.h>\n#include <string.h>\n");
    wick_text_add(
        out, fuses ? "#define WICK_FMAF(a, b, c) __builtin_fmaf((a), (b), (c))\n#define WICK_FMA(a, b, c) "
                     "__builtin_fma((a), (b), (c))\n"
                   : "#define WICK_FMAF(a, b, c) ((a) * (b) + (c))\n#define WICK_FMA(a, b, c) ((a) * (b) + (c))\n");
    wick_text_add(out, "#ifdef __clang__\n#define WICK_VECTORS _Pragma(\"clang loop "
                       "vectorize(assume_safety)\")\n#else\n#define WICK_VECTORS _Pragma(\"GCC ivdep\")\n#endif\n"
                       /* No clones of it: gcc 12.2 -O2 drops calls of some (aot.c). */
                       "#if __has_attribute(noipa)\n#define WICK_APART __attribute__((noipa))\n#else\n#define "
                       "WICK_APART __attribute__((noinline))\n#endif\n");
    wick_text_add(out, "typedef void (*wick_row)(void *, const void *, const void *, const void *, size_t);\n");
    const bool good = !rows.failed && !loop.failed && wick_c_math_gnu(out, rows.at ? rows.at : "");
    if (good) {
        wick_text_add(out, "%s", rows.at ? rows.at : "");
        print_names(out, p, false);
        wick_text_add(out, "%s", loop.at);
        print_names(out, p, true);
    }
    out->failed = out->failed || !good;
    wick_text_free(&loop);
    wick_text_free(&rows);
    return !out->failed;
}
