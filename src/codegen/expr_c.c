/* expr_c.c: elementwise programs as scalar C. The order of a reduction is that of kernels/fused/fused.h: lanes, runs of
 * 16 lines, chunks of 128, all of it from the sizes alone. */
#include "codegen/expr_c.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>

#include "kernels/fused/fused.h"

enum { ROW_SAME, ROW_PLAIN, ROW_BOOL };
static const struct {
    const char *name, *expression;
    uint8_t arity, result;
    bool selects;
} rows[WICK_EW_COUNT] = {
#define IS_SELECT_FLOAT  false
#define IS_SELECT_WIDE   false
#define IS_SELECT_ARITH  false
#define IS_SELECT_ANY    false
#define IS_SELECT_INTS   false
#define IS_SELECT_BITS   false
#define IS_SELECT_LOGIC  false
#define IS_SELECT_SELECT true
#define ROW(name, arity, types, result, expression, ...)                                                               \
    [WICK_EW_##name] = {#name, #expression, arity, ROW_##result, IS_SELECT_##types},
    WICK_EW_TABLE(ROW)};

const char *wick_c_type(wick_ctype type) {
    static const char *const names[WICK_CTYPE_COUNT] = {"float", "double", "int32_t", "int64_t", "uint64_t", "uint8_t"};
    return names[type];
}
const char *wick_c_suffix(wick_ctype type) {
    static const char *const names[WICK_CTYPE_COUNT] = {"f32", "f64", "i32", "i64", "u64", "b8"};
    return names[type];
}
const char *wick_c_memory(wick_dtype dtype) {
    static const char *const names[WICK_DTYPE_COUNT] = {
        [WICK_F32] = "float",    [WICK_F64] = "double",    [WICK_I8] = "int8_t",    [WICK_I16] = "int16_t",
        [WICK_I32] = "int32_t",  [WICK_I64] = "int64_t",   [WICK_U8] = "uint8_t",   [WICK_U16] = "uint16_t",
        [WICK_F16] = "uint16_t", [WICK_BF16] = "uint16_t", [WICK_U32] = "uint32_t", [WICK_U64] = "uint64_t",
        [WICK_BOOL] = "uint8_t"};
    return (unsigned)dtype < WICK_DTYPE_COUNT ? names[dtype] : NULL;
}
const char *wick_c_load(wick_dtype dtype) {
    return dtype == WICK_F16 ? "wick_f16_to_f32" : dtype == WICK_BF16 ? "wick_bf16_to_f32" : "";
}
const char *wick_c_store(wick_dtype dtype) {
    return dtype == WICK_F16 ? "wick_f16_from_f32" : dtype == WICK_BF16 ? "wick_bf16_from_f32" : "";
}

void wick_c_number(wick_text *out, wick_ctype type, double x) {
    char text[64];
    if (x != x || x - x != 0) {
        wick_text_add(out, "%s%s", x != x ? "NAN" : x < 0 ? "-INFINITY" : "INFINITY", "");
        return;
    }
    snprintf(text, sizeof text, "%.*g", type == WICK_CF32 ? 9 : 17, x);
    wick_text_add(out, "%s%s%s", text, strpbrk(text, ".e") ? "" : ".0", type == WICK_CF32 ? "f" : "");
}

/* ---- instructions ------------------------------------------------------------------------------------------------ */

const char *wick_c_op(const wick_fused_instr *in) {
    return in->op == WICK_FUSED_CAST ? "cast" : rows[in->op].name;
}

void wick_c_instr(wick_text *out, const wick_fused_instr *in, wick_c_uses *uses) {
    if (in->op != WICK_FUSED_CAST) {
        uses->row[in->op][in->type] = true;
        wick_text_add(out, "ew_%s_%s(", rows[in->op].name, wick_c_suffix((wick_ctype)in->type));
        for (int k = 0; k < rows[in->op].arity; k++) wick_text_add(out, "%sr%d", k ? ", " : "", in->src[k]);
        wick_text_add(out, ")");
    } else if (in->to == WICK_CBOOL && in->type != WICK_CBOOL) {
        wick_text_add(out, "r%d != 0", in->src[0]);
    } else if (in->type <= WICK_CF64 && in->to > WICK_CF64) {
        uses->cast[in->type][in->to] = true;
        wick_text_add(out, "cast_%s_%s(r%d)", wick_c_suffix((wick_ctype)in->type), wick_c_suffix((wick_ctype)in->to),
                      in->src[0]);
    } else {
        wick_text_add(out, "(%s)r%d", wick_c_type((wick_ctype)in->to), in->src[0]);
    }
}

/* ---- what instructions call -------------------------------------------------------------------------------------- */

/* The expression of a row: K(x) is a cast, M(f) a function of the type. Integers are never NaN, which compilers would
 * warn of. */
static void print_expression(wick_text *out, const char *e, wick_ctype type) {
    wick_text plain = {.alloc = out->alloc};
    static const char *const whole[][2] = {{"(a != a)", "0"}, {"(b != b)", "0"}}, *const natural[][2] = {
                                                                                      {"a < K(0) ? K(0) : a", "a"},
                                                                                      {"(a != a)", "0"},
                                                                                      {"(b != b)", "0"}};
    wick_text_replaced(&plain, e, strlen(e), type == WICK_CU64 ? natural : whole,
                       type <= WICK_CF64   ? 0
                       : type == WICK_CU64 ? 3
                                           : 2);
    out->failed = out->failed || plain.failed;
    for (const char *p = plain.at; p && *p && !plain.failed;) {
        const bool begins = p == plain.at || !(isalnum((unsigned char)p[-1]) || p[-1] == '_');
        if (begins && p[0] == 'K' && p[1] == '(') {
            wick_text_add(out, "(%s)(", wick_c_type(type));
            p += 2;
        } else if (begins && p[0] == 'M' && p[1] == '(') {
            const int n = (int)strcspn(p, ")");
            wick_text_add(out, "wick_%.*s_%s", n - 2, p + 2, wick_c_suffix(type));
            p += n + 1;
        } else {
            wick_text_bytes(out, p++, 1);
        }
    }
    wick_text_free(&plain);
}

static void print_row(wick_text *out, wick_ew op, wick_ctype type) {
    const char *t = wick_c_type(type), *r = rows[op].result == ROW_BOOL ? "uint8_t" : t;
    wick_text_add(out, "static inline %s ew_%s_%s(%s a", r, rows[op].name, wick_c_suffix(type),
                  rows[op].selects ? "uint8_t" : t);
    if (rows[op].arity > 1) wick_text_add(out, ", %s b", t);
    if (rows[op].arity > 2) wick_text_add(out, ", %s c", t);
    wick_text_add(out, ") { return (%s)(", r);
    print_expression(out, rows[op].expression, type);
    wick_text_add(out, "); }\n");
}

/* Floats to integers: truncated, and held to what the type holds; NaN gives 0. Both bounds are floats. */
static void print_cast(wick_text *out, wick_ctype from, wick_ctype to) {
    static const char *const least[] = {[WICK_CI32] = "INT32_MIN", [WICK_CI64] = "INT64_MIN", [WICK_CU64] = "0"},
                             *const most[] = {
                                 [WICK_CI32] = "INT32_MAX", [WICK_CI64] = "INT64_MAX", [WICK_CU64] = "UINT64_MAX"};
    static const char *const low[] = {[WICK_CI32] = "-0x1p31", [WICK_CI64] = "-0x1p63", [WICK_CU64] = "0.0"},
                             *const high[] = {[WICK_CI32] = "0x1p31", [WICK_CI64] = "0x1p63", [WICK_CU64] = "0x1p64"};
    const char *f = from == WICK_CF32 ? "f" : "", *t = wick_c_type(to);
    wick_text_add(
        out, "static inline %s cast_%s_%s(%s x) { return x != x ? 0 : x <= %s%s ? %s : x >= %s%s ? %s : (%s)x; }\n", t,
        wick_c_suffix(from), wick_c_suffix(to), wick_c_type(from), low[to], f, least[to], high[to], f, most[to], t);
}

void wick_c_used(wick_text *out, const wick_c_uses *uses) {
    for (int type = 0; type < WICK_CTYPE_COUNT; type++) {
        for (int to = WICK_CI32; to < WICK_CBOOL; to++)
            if (uses->cast[type][to]) print_cast(out, (wick_ctype)type, (wick_ctype)to);
        for (int op = 0; op < WICK_EW_COUNT; op++)
            if (uses->row[op][type]) print_row(out, (wick_ew)op, (wick_ctype)type);
    }
}

/* ---- programs ---------------------------------------------------------------------------------------------------- */

/* An element's place: "i0 * 24 + i1", "0". */
static void print_index(wick_text *out, const int64_t *strides, int rank) {
    bool any = false;
    for (int d = 0; d < rank; d++) {
        if (!strides[d]) continue;
        wick_text_add(out, "%si%d", any ? " + " : "", d);
        if (strides[d] != 1) wick_text_add(out, " * %lld", (long long)strides[d]);
        any = true;
    }
    if (!any) wick_text_add(out, "0");
}

static void indent(wick_text *out, int depth) { wick_text_add(out, "%*s", 4 * depth, ""); }
static void open_loop(wick_text *out, int depth, int d, int64_t n) {
    indent(out, depth);
    wick_text_add(out, "for (long i%d = 0; i%d < %lld; i%d++) {\n", d, d, (long long)n, d);
}
static void close_loops(wick_text *out, int from, int to) {
    for (int depth = from; depth > to; depth--) {
        indent(out, depth - 1);
        wick_text_add(out, "}\n");
    }
}

/* Which registers results depend on. */
typedef struct wanted {
    bool reg[WICK_FUSED_MAX_REGS];
} wanted;
static wanted find_wanted(const wick_fused *f) {
    wanted w = {{false}};
    for (int o = 0; o < f->n_out; o++) w.reg[f->out[o].reg] = true;
    for (int i = f->n_instr; i-- > 0;)
        for (int k = 0; k < wick_fused_arity(&f->instr[i]); k++) w.reg[f->instr[i].src[k]] |= w.reg[f->instr[i].dst];
    return w;
}

/* Registers of one element. */
static void print_registers(wick_text *out, const wick_fused *f, int depth, wick_c_uses *uses) {
    const wanted w = find_wanted(f);
    for (int i = 0; i < f->n_in; i++) {
        const wick_ctype type = wick_ctype_of((wick_dtype)f->in[i].dtype);
        const char *load = wick_c_load((wick_dtype)f->in[i].dtype);
        if (!w.reg[i]) continue;
        indent(out, depth);
        wick_text_add(out, "const %s r%d = %s%sx%d[", wick_c_type(type), i, load, *load ? "(" : "", i);
        print_index(out, f->in[i].strides, f->rank);
        wick_text_add(out, *load ? "]);\n" : "];\n");
    }
    for (int i = 0; i < f->n_instr; i++) {
        if (!w.reg[f->instr[i].dst]) continue;
        indent(out, depth);
        wick_text_add(out, "const %s r%d = ", wick_c_type((wick_ctype)f->instr[i].to), f->instr[i].dst);
        wick_c_instr(out, &f->instr[i], uses);
        wick_text_add(out, ";\n");
    }
}

static void print_store(wick_text *out, const wick_fused *f, int o, const char *value, int depth) {
    const wick_dtype dtype = (wick_dtype)f->out[o].dtype;
    const char *store = wick_c_store(dtype);
    indent(out, depth);
    wick_text_add(out, "y%d[", o);
    print_index(out, f->out[o].strides, f->rank);
    if (*store)
        wick_text_add(out, "] = %s(%s);\n", store, value);
    else
        wick_text_add(out, "] = %s%s%s%s;\n", wick_fused_native(dtype) ? "" : "(",
                      wick_fused_native(dtype) ? "" : wick_c_memory(dtype), wick_fused_native(dtype) ? "" : ")", value);
}

static void print_plain(wick_text *out, const wick_fused *f, wick_c_uses *uses) {
    char value[32];
    for (int d = 0; d < f->rank; d++) open_loop(out, d + 1, d, f->dims[d]);
    print_registers(out, f, f->rank + 1, uses);
    for (int o = 0; o < f->n_out; o++) {
        snprintf(value, sizeof value, "r%d", f->out[o].reg);
        print_store(out, f, o, value, f->rank + 1);
    }
    close_loops(out, f->rank + 1, 1);
}

static void print_joined(wick_text *out, const wick_fused *f, wick_ctype type, const char *a, const char *b) {
    if (f->red == WICK_RED_SUM || f->red == WICK_RED_PROD)
        wick_text_add(out, "%s %s %s", a, f->red == WICK_RED_SUM ? "+" : "*", b);
    else
        wick_text_add(out, "%s %s %s%s%s%s%s ? %s : %s", a, f->red == WICK_RED_MAX ? ">" : "<", b,
                      type <= WICK_CF64 ? " || " : "", type <= WICK_CF64 ? a : "", type <= WICK_CF64 ? " != " : "",
                      type <= WICK_CF64 ? a : "", a, b);
}

/* Lanes [0, width) of `lanes` are folded by halves. */
static void print_fold(wick_text *out, const wick_fused *f, wick_ctype type, const char *lanes, const char *width,
                       int64_t n, int depth) {
    char a[64], b[64];
    if (n == 1) return;
    snprintf(a, sizeof a, "%s[j]", lanes);
    snprintf(b, sizeof b, "%s[h + j]", lanes);
    indent(out, depth);
    wick_text_add(out, "for (long h = %lld; h > 0; h /= 2)\n", (long long)n / 2);
    indent(out, depth + 1);
    wick_text_add(out, "for (long j = 0; j < h && h + j < %s; j++) %s = ", width, a);
    print_joined(out, f, type, a, b);
    wick_text_add(out, ";\n");
}

/* An element of the reduced dims goes to its lane. One run of lines is added in order; */
static void print_lane(wick_text *out, const wick_fused *f, wick_ctype type, long long lanes, const char *value,
                       int depth) {
    char last[64];
    indent(out, depth);
    wick_text_add(out, "lane[n %% %lld] = n < %lld ? %s : (", lanes, lanes, value);
    snprintf(last, sizeof last, "lane[n %% %lld]", lanes);
    print_joined(out, f, type, last, value);
    wick_text_add(out, ");\n");
    indent(out, depth);
    wick_text_add(out, "n++;\n");
}

/* of more, runs are added pairwise up to a chunk, and chunks pairwise. */
static void print_runs(wick_text *out, const wick_fused *f, wick_ctype type, long long lanes, const char *value,
                       int depth) {
    const long long reduced = (long long)f->layout.reduced, run = WICK_RED_RUN * lanes, chunk = WICK_RED_CHUNK * lanes;
    indent(out, depth);
    wick_text_add(out, "const long in_run = n++ %% %lld, at = in_run %% %lld;\n", run, lanes);
    indent(out, depth);
    wick_text_add(out, "part[parts][at] = in_run < %lld ? %s : (", lanes, value);
    print_joined(out, f, type, "part[parts][at]", value);
    wick_text_add(out, ");\n");
    indent(out, depth);
    wick_text_add(out, "if (n %% %lld != 0 && n != %lld) continue;\n", run, reduced);
    indent(out, depth);
    wick_text_add(out, "width[parts++] = in_run < %lld ? at + 1 : %lld;\n", lanes, lanes);
    indent(out, depth);
    wick_text_add(out, "const int ends = n %% %lld == 0 || n == %lld;\n", chunk, reduced);
    indent(out, depth);
    wick_text_add(out, "for (long k = ++runs; parts > 1 && (ends || k %% 2 == 0); k /= 2) {\n");
    indent(out, depth + 1);
    wick_text_add(out, "parts--;\n");
    indent(out, depth + 1);
    wick_text_add(out, "for (long j = 0; j < width[parts]; j++) part[parts - 1][j] = ");
    print_joined(out, f, type, "part[parts - 1][j]", "part[parts][j]");
    wick_text_add(out, ";\n");
    indent(out, depth);
    wick_text_add(out, "}\n");
    indent(out, depth);
    wick_text_add(out, "if (!ends) continue;\n");
    print_fold(out, f, type, "part[0]", "width[0]", lanes, depth);
    indent(out, depth);
    wick_text_add(out, "sums[n_sums++] = part[0][0];\n");
    indent(out, depth);
    wick_text_add(out, "parts = runs = 0;\n");
    indent(out, depth);
    wick_text_add(out, "for (long k = ++chunks; n_sums > 1 && (n == %lld || k %% 2 == 0); k /= 2) {\n", reduced);
    indent(out, depth + 1);
    wick_text_add(out, "n_sums--;\n");
    indent(out, depth + 1);
    wick_text_add(out, "sums[n_sums - 1] = ");
    print_joined(out, f, type, "sums[n_sums - 1]", "sums[n_sums]");
    wick_text_add(out, ";\n");
    indent(out, depth);
    wick_text_add(out, "}\n");
}

/* The sum of everything, scaled, to the output. */
static void print_total(wick_text *out, const wick_fused *f, wick_ctype type, const char *sum, int depth) {
    wick_text scaled = {.alloc = out->alloc};
    wick_text_add(&scaled, "%s", sum);
    if (f->scale != 1 && type <= WICK_CF64) {
        wick_text_add(&scaled, " * ");
        wick_c_number(&scaled, type, type == WICK_CF32 ? (double)(float)f->scale : f->scale);
    }
    out->failed = out->failed || scaled.failed;
    if (!scaled.failed) {
        const bool narrow = !wick_fused_native((wick_dtype)f->out[0].dtype);
        wick_text in_brackets = {.alloc = out->alloc};
        wick_text_add(&in_brackets, "%s%s%s", narrow ? "(" : "", scaled.at, narrow ? ")" : "");
        if (in_brackets.at) print_store(out, f, 0, in_brackets.at, depth);
        out->failed = out->failed || in_brackets.failed;
        wick_text_free(&in_brackets);
    }
    wick_text_free(&scaled);
}

/* A result at a time: its elements in lanes; up to 16 lines of lanes are added in order, such runs pairwise up to a
 * chunk of 128 lines, lanes by halves, and chunks pairwise. */
static void print_reduction(wick_text *out, const wick_fused *f, wick_c_uses *uses) {
    const wick_fused_layout *l = &f->layout;
    const wick_ctype type = wick_ctype_of((wick_dtype)f->out[0].dtype);
    const char *t = wick_c_type(type);
    const long long lanes = (long long)WICK_MAX(l->lane_rows, 1), reduced = (long long)l->reduced;
    const bool is_short = reduced <= WICK_RED_RUN * lanes;
    char value[32], last[64];
    int depth = 1;
    for (int d = 0; d < f->rank; d++)
        if (d < l->n_unit || d >= l->n_unit + f->n_red) open_loop(out, depth++, d, f->dims[d]);
    snprintf(value, sizeof value, "r%d", f->out[0].reg);
    indent(out, depth);
    if (reduced == 0) {
        wick_text_add(out, "const %s sum = %d;\n", t, f->red == WICK_RED_PROD);
    } else if (is_short) {
        wick_text_add(out, "%s lane[%lld] = {0};\n", t, lanes);
        indent(out, depth);
        wick_text_add(out, "long n = 0;\n");
    } else {
        wick_text_add(out, "%s part[4][%lld] = {{0}}, sums[40] = {0};\n", t, lanes);
        indent(out, depth);
        wick_text_add(out, "long n = 0, width[4] = {0}, parts = 0, runs = 0, n_sums = 0, chunks = 0;\n");
    }
    const int outer = depth;
    for (int d = l->n_unit; d < l->n_unit + f->n_red && reduced; d++) open_loop(out, depth++, d, f->dims[d]);
    if (reduced) print_registers(out, f, depth, uses);
    if (reduced && is_short) print_lane(out, f, type, lanes, value, depth);
    if (reduced && !is_short) print_runs(out, f, type, lanes, value, depth);
    close_loops(out, depth, outer);
    depth = outer;
    if (reduced && is_short) {
        snprintf(last, sizeof last, "%lld", WICK_MIN(lanes, reduced));
        print_fold(out, f, type, "lane", last, lanes, depth);
    }
    print_total(out, f, type, !reduced ? "sum" : is_short ? "lane[0]" : "sums[0]", depth);
    close_loops(out, depth, 1);
}

bool wick_c_program(wick_text *out, const wick_fused *f, const char *name, wick_c_uses *uses, const char **why) {
    for (int i = 0; i < f->n_in + f->n_out; i++) {
        const wick_dtype dtype = (wick_dtype)(i < f->n_in ? f->in[i].dtype : f->out[i - f->n_in].dtype);
        *why = wick_dtype_name(dtype);
        if (!wick_c_memory(dtype)) return false;
    }
    const wanted w = find_wanted(f);
    wick_text_add(out, "static void %s(", name);
    for (int i = 0; i < f->n_in; i++)
        wick_text_add(out, "%sconst %s *x%d", i ? ", " : "", wick_c_memory((wick_dtype)f->in[i].dtype), i);
    for (int i = 0; i < f->n_out; i++)
        wick_text_add(out, "%s%s *y%d", i + f->n_in ? ", " : "", wick_c_memory((wick_dtype)f->out[i].dtype), i);
    wick_text_add(out, ") {\n");
    for (int i = 0; i < f->n_in; i++)
        if (!w.reg[i] || (f->reduces && f->layout.mode == WICK_FUSED_EMPTY)) wick_text_add(out, "    (void)x%d;\n", i);
    if (f->reduces)
        print_reduction(out, f, uses);
    else
        print_plain(out, f, uses);
    wick_text_add(out, "}\n");
    return !out->failed;
}
