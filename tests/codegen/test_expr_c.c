/* Printed programs give the bits of the base tier's kernels: every row of the table, casts, and programs that end in
 * sums. */
#include "base/base.h"
#include "codegen/compiled.h"
#include "codegen/expr_c.h"
#include "codegen/math_c.h"
#include "kernels/elementwise/ew.h"
#include "kernels/fused/fused.h"

/* A whole file of functions behind `text`. */
static bool write_source(const char *folder, const char *name, const wick_text *text, const wick_c_uses *uses) {
    wick_text out = {0}, rows = {0};
    wick_c_used(&rows, uses);
    wick_text_add(&out, "#include <math.h>\n#include <stdint.h>\n#include <string.h>\n#define WICK_FMAF(a, b, c) ((a) "
                        "* (b) + (c))\n#define WICK_FMA(a, b, c) ((a) * (b) + (c))\n");
    bool good = !rows.at || wick_c_math(&out, rows.at);
    if (rows.at) wick_text_bytes(&out, rows.at, rows.len);
    wick_text_bytes(&out, text->at, text->len);
    char path[600];
    snprintf(path, sizeof path, "%s/%s.c", folder, name);
    FILE *f = fopen(path, "w");
    good = good && f && !out.failed && fwrite(out.at, 1, out.len, f) == out.len;
    if (f) good &= fclose(f) == 0;
    wick_text_free(&out);
    wick_text_free(&rows);
    return good;
}

enum { N = 512 };
static const double edges[] = {
    0,     -0.0, 1,        -1,           0.5,           2,    3,     88.8,     -88,       1e-30,
    -1e30, 1e30, 16777217, 2147483648.0, -2147483649.0, 1e19, -1e19, INFINITY, -INFINITY, NAN};

static void fill(wick_ctype type, void *x, double lo, double hi, uint64_t salt) {
    for (int i = 0; i < N; i++) {
        const bool edge = i < 2 * (int)WICK_COUNTOF(edges);
        const double v = edge ? edges[(uint64_t)(i + 7 * (int)salt) % WICK_COUNTOF(edges)] : test_rand_real(lo, hi);
        switch (type) {
        case WICK_CF32: ((float *)x)[i] = (float)v; break;
        case WICK_CF64: ((double *)x)[i] = v; break;
        case WICK_CI32: ((int32_t *)x)[i] = edge && i % 2 ? (int32_t)test_rand() : test_rand_int(-9, 9); break;
        case WICK_CI64: ((int64_t *)x)[i] = edge && i % 2 ? (int64_t)test_rand() : test_rand_int(-9, 9); break;
        case WICK_CU64: ((uint64_t *)x)[i] = edge && i % 2 ? test_rand() : (uint64_t)test_rand_int(0, 18); break;
        default: ((uint8_t *)x)[i] = test_rand() & 1; break;
        }
    }
}

/* Equal bits, or both NaN: their payloads are nobody's promise. */
static bool same(wick_ctype type, const void *a, const void *b, int i) {
    const size_t size = wick_ctype_size(type);
    if (memcmp((const char *)a + (size_t)i * size, (const char *)b + (size_t)i * size, size) == 0) return true;
    if (type == WICK_CF32) return isnan(((const float *)a)[i]) && isnan(((const float *)b)[i]);
    return type == WICK_CF64 && isnan(((const double *)a)[i]) && isnan(((const double *)b)[i]);
}

static wick_dtype dtype_of(wick_ctype type) {
    static const wick_dtype of[] = {WICK_F32, WICK_F64, WICK_I32, WICK_I64, WICK_U64, WICK_BOOL};
    return of[type];
}

static const struct {
    const char *name;
    double lo, hi;
    int arity;
    bool is_bool, selects;
} rows[] = {
#define TYPES_ARE_SELECT(types) (sizeof(#types) == sizeof("SELECT") && #types[1] == 'E')
#define ROW(name, arity, types, result, expression, gradients, lo, hi, ...)                                            \
    {#name, lo, hi, arity, #result[0] == 'B', TYPES_ARE_SELECT(types)},
    WICK_EW_TABLE(ROW)};

static void test_program(wick_fused *f, wick_ew op, wick_ctype type) {
    memset(f, 0, sizeof *f);
    f->rank = 1;
    f->dims[0] = N;
    f->scale = 1;
    f->n_in = rows[op].arity;
    f->n_out = f->n_instr = 1;
    f->n_reg = f->n_in + 1;
    f->instr[0] = (wick_fused_instr){.op = (uint16_t)op,
                                     .type = (uint8_t)type,
                                     .to = (uint8_t)(rows[op].is_bool ? WICK_CBOOL : type),
                                     .dst = (uint8_t)f->n_in,
                                     .src = {0, 1, 2}};
    for (int k = 0; k < f->n_in; k++)
        f->in[k] = (wick_fused_io){.dtype = (uint8_t)dtype_of(k == 0 && rows[op].selects ? WICK_CBOOL : type),
                                   .reg = (uint8_t)k,
                                   .strides = {1}};
    f->out[0] = (wick_fused_io){
        .dtype = (uint8_t)dtype_of((wick_ctype)f->instr[0].to), .reg = (uint8_t)f->n_in, .strides = {1}};
    wick_fused_prepare(f, NULL);
}

TEST(every_row_is_printed_with_the_bits_of_the_base_tier) {
    if (!compiled_possible()) SKIP("there is no compiler named cc");
    char folder[512];
    REQUIRE(compiled_folder(folder, sizeof folder));
    const wick_tier before = wick_tier_current();
    REQUIRE(wick_tier_force(WICK_TIER_BASE));
    wick_text text = {0};
    wick_c_uses uses;
    memset(&uses, 0, sizeof uses);
    wick_fused f;
    for (int op = 0; op < WICK_EW_COUNT; op++)
        for (int type = 0; type < WICK_CTYPE_COUNT; type++) {
            if (!wick_ew_has((wick_ew)op, (wick_ctype)type)) continue;
            char name[96];
            const char *why;
            snprintf(name, sizeof name, "map_%s_%s", rows[op].name, wick_c_suffix((wick_ctype)type));
            test_program(&f, (wick_ew)op, (wick_ctype)type);
            CHECK(wick_c_program(&text, &f, name, &uses, &why));
            wick_text_add(&text, "void go_%s_%s(void *const *p) { %s(", rows[op].name, wick_c_suffix((wick_ctype)type),
                          name);
            for (int k = 0; k <= f.n_in; k++) wick_text_add(&text, "%sp[%d]", k ? ", " : "", k);
            wick_text_add(&text, "); }\n");
        }
    CHECK(write_source(folder, "rows", &text, &uses));
    wick_text_free(&text);
    void *library = compiled_load(folder, "rows", "-O1");
    CHECK(library);
    _Alignas(64) static double in[3][N], want[N], got[N];
    for (int op = 0; library && op < WICK_EW_COUNT; op++)
        for (int type = 0; type < WICK_CTYPE_COUNT; type++) {
            if (!wick_ew_has((wick_ew)op, (wick_ctype)type)) continue;
            char name[96];
            snprintf(name, sizeof name, "go_%s_%s", rows[op].name, wick_c_suffix((wick_ctype)type));
            void (*go)(void *const *) = (void (*)(void *const *))(uintptr_t)dlsym(library, name);
            CHECK_MSG(go, "%s", name);
            if (!go) continue;
            for (int k = 0; k < 3; k++)
                fill(k == 0 && rows[op].selects ? WICK_CBOOL : (wick_ctype)type, in[k], rows[op].lo, rows[op].hi,
                     (uint64_t)k);
            (*wick_ew_kernels(WICK_TIER_BASE))[op][type](want, in[0], in[1], in[2], N);
            void *const ptr[4] = {in[0], rows[op].arity > 1 ? in[1] : got, rows[op].arity > 2 ? in[2] : got, got};
            go(ptr);
            const wick_ctype result = rows[op].is_bool ? WICK_CBOOL : (wick_ctype)type;
            for (int i = 0; i < N; i++)
                CHECK_MSG(same(result, want, got, i), "%s of element %d: %g, %g, %g", name, i,
                          type == WICK_CF32 ? (double)((float *)in[0])[i] : in[0][i],
                          type == WICK_CF32 ? (double)((float *)want)[i] : want[i],
                          type == WICK_CF32 ? (double)((float *)got)[i] : got[i]);
            test_count("printed rows", 1);
        }
    if (library) dlclose(library);
    compiled_remove(folder);
    wick_tier_force(before);
}

/* A random program over a space of some dims, perhaps with a reduction. */
static void random_program(wick_fused *f, bool reduces) {
    static const wick_ew ops[] = {WICK_EW_add,  WICK_EW_mul,     WICK_EW_sub,     WICK_EW_tanh,
                                  WICK_EW_relu, WICK_EW_sigmoid, WICK_EW_maximum, WICK_EW_exp};
    memset(f, 0, sizeof *f);
    f->rank = test_rand_int(1, 3);
    for (int d = 0; d < f->rank; d++) f->dims[d] = test_rand_int(1, reduces && test_rand() % 3 == 0 ? 90 : 9);
    if (reduces && test_rand() % 4 == 0) f->dims[test_rand_int(0, f->rank - 1)] = test_rand_int(1000, 9000);
    f->scale = 1;
    f->n_in = f->n_reg = test_rand_int(1, 3);
    f->n_out = 1;
    for (int k = 0; k < f->n_in; k++) {
        int64_t stride = 1;
        f->in[k].dtype = WICK_F32;
        f->in[k].reg = (uint8_t)k;
        for (int d = f->rank - 1; d >= 0; d--) {
            f->in[k].strides[d] = k && test_rand() % 3 == 0 ? 0 : stride;
            stride *= f->dims[d];
        }
    }
    f->n_instr = test_rand_int(reduces ? 0 : 1, 5);
    for (int i = 0; i < f->n_instr; i++) {
        wick_fused_instr *in = &f->instr[i];
        in->op = (uint16_t)ops[test_rand() % WICK_COUNTOF(ops)];
        in->type = in->to = WICK_CF32;
        in->dst = (uint8_t)f->n_reg;
        for (int k = 0; k < 3; k++) in->src[k] = (uint8_t)(test_rand() % (uint64_t)f->n_reg);
        if (i + 1 == f->n_instr) in->src[0] = (uint8_t)(f->n_reg - 1);
        f->n_reg++;
    }
    f->out[0].dtype = WICK_F32;
    f->out[0].reg = (uint8_t)(f->n_reg - 1);
    int64_t stride = 1;
    if (reduces) {
        f->reduces = true;
        f->red = (uint8_t)(test_rand() % WICK_RED_COUNT);
        if (f->red == WICK_RED_PROD) f->red = WICK_RED_SUM;
        f->n_keep = test_rand_int(0, f->rank - 1);
        f->n_red = test_rand_int(1, f->rank - f->n_keep);
        if (f->red == WICK_RED_SUM && test_rand() % 2) f->scale = 1.0 / 7;
    }
    for (int d = f->rank - 1; d >= 0; d--) {
        const bool reduced = f->reduces && d >= f->n_keep && d < f->n_keep + f->n_red;
        f->out[0].strides[d] = reduced ? 0 : stride;
        if (!reduced) stride *= f->dims[d];
    }
    wick_fused_prepare(f, NULL);
}

static int64_t result_count(const wick_fused *f) {
    int64_t most = 0;
    for (int d = 0; d < f->rank; d++) most += (f->dims[d] - 1) * f->out[0].strides[d];
    return most + 1;
}

TEST(programs_and_reductions_are_printed_with_the_bits_of_the_base_tier) {
    enum { PROGRAMS = 120, MOST = 9000 * 90 * 9 };
    if (!compiled_possible()) SKIP("there is no compiler named cc");
    char folder[512];
    REQUIRE(compiled_folder(folder, sizeof folder));
    const wick_tier before = wick_tier_current();
    REQUIRE(wick_tier_force(WICK_TIER_BASE));
    wick_fused *f = calloc(PROGRAMS, sizeof *f);
    float *in[3];
    for (int k = 0; k < 3; k++) {
        in[k] = calloc(MOST, sizeof *in[k]);
        for (int i = 0; in[k] && i < MOST; i++) in[k][i] = (float)test_rand_real(-1, 1);
    }
    wick_text text = {0};
    wick_c_uses uses;
    memset(&uses, 0, sizeof uses);
    for (int i = 0; f && i < PROGRAMS; i++) {
        const char *why;
        char name[32];
        do random_program(&f[i], i % 3 != 0);
        while (f[i].layout.total > MOST);
        snprintf(name, sizeof name, "program_%d", i);
        CHECK(wick_c_program(&text, &f[i], name, &uses, &why));
        wick_text_add(&text, "void go_%d(void *const *p) { %s(", i, name);
        for (int k = 0; k <= f[i].n_in; k++) wick_text_add(&text, "%sp[%d]", k ? ", " : "", k);
        wick_text_add(&text, "); }\n");
    }
    CHECK(text.at && write_source(folder, "programs", &text, &uses));
    wick_text_free(&text);
    void *library = compiled_load(folder, "programs", "");
    CHECK(library);
    for (int i = 0; library && i < PROGRAMS; i++) {
        char name[32];
        snprintf(name, sizeof name, "go_%d", i);
        void (*go)(void *const *) = (void (*)(void *const *))(uintptr_t)dlsym(library, name);
        const int64_t n = result_count(&f[i]);
        float *want = aligned_alloc(64, WICK_ALIGN_UP((size_t)n * 4 + 1, 64)), *got = malloc((size_t)n * 4 + 1);
        void *scratch = aligned_alloc(64, WICK_ALIGN_UP(f[i].scratch + 1, 64)),
             *partials = aligned_alloc(64, WICK_ALIGN_UP(f[i].partials + 1, 64)), *ptr[4];
        for (int k = 0; k < f[i].n_in; k++) ptr[k] = in[k];
        ptr[f[i].n_in] = want;
        wick_fused_run(&f[i], 0, 0, f[i].tasks, ptr, partials, scratch);
        if (f[i].tasks2) wick_fused_run(&f[i], 1, 0, f[i].tasks2, ptr, partials, scratch);
        ptr[f[i].n_in] = got;
        go(ptr);
        int64_t bad = 0;
        while (bad < n && same(WICK_CF32, want + bad, got + bad, 0)) bad++;
        CHECK_MSG(bad == n, "program %d (reduces %d, reduced %lld, cols %lld): element %lld of %lld is %a, not %a", i,
                  f[i].reduces, (long long)f[i].layout.reduced, (long long)f[i].layout.cols, (long long)bad,
                  (long long)n, (double)got[bad < n ? bad : 0], (double)want[bad < n ? bad : 0]);
        test_count("printed programs", 1);
        free(want), free(got), free(scratch), free(partials);
    }
    if (library) dlclose(library);
    for (int k = 0; k < 3; k++) free(in[k]);
    free(f);
    compiled_remove(folder);
    wick_tier_force(before);
}

TEST(what_has_no_text_is_named) {
    wick_fused f;
    wick_text text = {0};
    wick_c_uses uses;
    const char *why = NULL;
    memset(&uses, 0, sizeof uses);
    test_program(&f, WICK_EW_neg, WICK_CF32);
    f.in[0].dtype = WICK_F8_E5M2;
    CHECK(!wick_c_program(&text, &f, "x", &uses, &why));
    CHECK(why && strcmp(why, "f8_e5m2") == 0);
    CHECK(!text.at);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
