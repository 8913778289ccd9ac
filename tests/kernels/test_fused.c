/* test_fused.c: random programs against a naive interpreter that takes one element at a time, for every tier: dtypes,
 * strides (broadcast, permuted, with gaps, negative), ranks 0 to 8, in place; reductions against the order that fused.h
 * states; the same bits for any split of the tasks; nothing written outside. */
#include "test.h"

#include "kernels/convert/convert.h"
#include "kernels/elementwise/ew.h"
#include "kernels/fused/fused.h"
#include "kernels/tuning.h"

enum { GUARD = 64, MAX_ITEMS = 6000 };
static const wick_tuning *tuning; /* that programs are laid out by; NULL: the default */

/* One operand's memory: guard | bytes that the strides reach | guard. */
typedef struct area {
    uint8_t *bytes, *was; /* was: before the run */
    size_t size;
    int64_t origin; /* element of index 0 */
    int elem;
} area;

static void area_make(area *a, int rank, const int64_t *dims, const int64_t *strides, wick_dtype dtype) {
    int64_t low = 0, high = 0;
    bool empty = false;
    for (int d = 0; d < rank; d++) {
        if (dims[d] == 0)
            empty = true;
        else if (strides[d] < 0)
            low += strides[d] * (dims[d] - 1);
        else
            high += strides[d] * (dims[d] - 1);
    }
    a->elem = (int)wick_dtype_size(dtype);
    a->origin = empty ? 0 : -low;
    a->size = 2 * GUARD + (empty ? 0 : (size_t)(high - low + 1) * (size_t)a->elem);
    a->bytes = aligned_alloc(64, (a->size + 127) / 64 * 64);
    a->was = malloc(a->size);
    for (size_t i = 0; i < a->size; i++) a->bytes[i] = (uint8_t)(0xA0 + i % 32);
    for (size_t i = 0; !empty && i < (size_t)(high - low + 1); i++) {
        uint8_t *at = a->bytes + GUARD + i * (size_t)a->elem;
        double x = test_rand_int(0, 3) ? test_rand_real(-4, 4) : test_rand_int(-2, 2);
        if (test_rand_int(0, 200) == 0) x = (double[]){NAN, INFINITY, -INFINITY, -0.0}[test_rand_int(0, 3)];
        float f = (float)x;
        uint64_t raw = test_rand();
        if (dtype == WICK_F32)
            memcpy(at, &f, 4);
        else if (dtype == WICK_F64)
            memcpy(at, &x, 8);
        else if (dtype == WICK_BOOL)
            *at = raw & 1;
        else if (dtype == WICK_F16 || dtype == WICK_BF16)
            wick_convert_kernels(WICK_TIER_REF)->store[dtype](at, &f, 1);
        else if (test_rand_int(0, 1))
            memcpy(at, &raw, (size_t)a->elem);
        else {
            int64_t small = (int64_t)(raw % 9) - 4;
            memcpy(at, &small, (size_t)a->elem);
        }
    }
    memcpy(a->was, a->bytes, a->size);
}
static void area_free(area *a) {
    free(a->bytes);
    free(a->was);
}
static uint8_t *area_at(const area *a, int64_t offset, bool was) {
    return (was ? a->was : a->bytes) + GUARD + (a->origin + offset) * a->elem;
}

/* A layout for dims: a random order of dims in memory, gaps, signs; zero: broadcast dims allowed. */
static void random_strides(int rank, const int64_t *dims, int64_t *strides, bool zero) {
    int order[WICK_MAX_DIMS], style = test_rand_int(0, 5);
    int64_t step = 1;
    for (int d = 0; d < rank; d++) order[d] = rank - 1 - d;
    if (style == 0)
        for (int d = rank - 1; d > 0; d--) {
            int k = test_rand_int(0, d), t = order[d];
            order[d] = order[k], order[k] = t;
        }
    for (int d = 0; d < rank; d++) {
        if (style == 1 && test_rand_int(0, 2) == 0) step *= test_rand_int(2, 3);
        strides[order[d]] = step;
        step *= dims[order[d]] ? dims[order[d]] : 1;
        if (style == 2 && test_rand_int(0, 1)) step += test_rand_int(0, 3);
    }
    for (int d = 0; d < rank; d++) {
        if (style == 3 && test_rand_int(0, 1)) strides[d] = -strides[d];
        if (zero && style == 4 && test_rand_int(0, 1)) strides[d] = 0;
    }
    if (zero && style == 5) /* a row, a column or a scalar */
        for (int d = 0, cut = test_rand_int(0, rank), head = test_rand_int(0, 1); d < rank; d++)
            if ((d < cut) == head) strides[d] = 0;
}

static const wick_dtype all_dtypes[] = {WICK_F32, WICK_F64, WICK_F16, WICK_BF16, WICK_I8,  WICK_I16, WICK_I32,
                                        WICK_I64, WICK_U8,  WICK_U16, WICK_U32,  WICK_U64, WICK_BOOL};
static wick_dtype dtype_in(void) { return test_rand_int(0, 1) ? WICK_F32 : all_dtypes[test_rand_int(0, 12)]; }
static wick_dtype dtype_of(wick_ctype t) {
    for (;;) {
        wick_dtype d = all_dtypes[test_rand_int(0, 12)];
        if (wick_ctype_of(d) == t) return d;
    }
}
static wick_ctype native_of(const wick_fused *f, int reg) {
    return reg < f->n_in ? wick_ctype_of((wick_dtype)f->in[reg].dtype) : (wick_ctype)f->instr[reg - f->n_in].to;
}
static int reg_of_type(const wick_fused *f, wick_ctype t) {
    int found = -1, seen = 0;
    for (int r = 0; r < f->n_in + f->n_instr; r++)
        if (native_of(f, r) == t && test_rand_int(0, seen++) == 0) found = r;
    return found;
}

static void random_program(wick_fused *f, int n_instr) {
    f->n_instr = 0;
    for (int tries = 0; f->n_instr < n_instr && tries < 1000; tries++) {
        wick_fused_instr *in = &f->instr[f->n_instr];
        wick_ctype t = native_of(f, test_rand_int(0, f->n_in + f->n_instr - 1));
        in->dst = (uint8_t)(f->n_in + f->n_instr);
        in->type = (uint8_t)t;
        in->src[0] = in->src[1] = in->src[2] = 0;
        if (test_rand_int(0, 5) == 0) {
            in->op = WICK_FUSED_CAST;
            in->to = (uint8_t)test_rand_int(0, WICK_CTYPE_COUNT - 1);
            in->src[0] = (uint8_t)reg_of_type(f, t);
            f->n_instr++;
            continue;
        }
        wick_ew op = (wick_ew)test_rand_int(0, WICK_EW_COUNT - 1);
        if (!wick_ew_has(op, t)) continue;
        in->op = (uint16_t)op;
#define RESULT(name, arity, types, result, ...) RESULT_##result,
        enum { RESULT_SAME, RESULT_PLAIN = RESULT_SAME, RESULT_BOOL };
        static const uint8_t results[] = {WICK_EW_TABLE(RESULT)};
        in->to = results[op] == RESULT_BOOL ? WICK_CBOOL : (uint8_t)t;
        for (int k = 0; k < 3; k++) in->src[k] = (uint8_t)reg_of_type(f, t);
        if (op == WICK_EW_where) {
            int cond = reg_of_type(f, WICK_CBOOL);
            if (cond < 0) continue;
            in->src[0] = (uint8_t)cond;
        }
        f->n_instr++;
    }
    f->n_reg = f->n_in + f->n_instr;
}

/* Offset of linear position i under the dims as the caller gave them. */
static int64_t offset_of(const wick_fused *f, const int64_t *strides, int64_t i) {
    int64_t o = 0;
    for (int d = f->rank - 1; d >= 0; d--) {
        o += i % f->dims[d] * strides[d];
        i /= f->dims[d];
    }
    return o;
}
static int64_t count(const wick_fused *f, int from, int to) {
    int64_t n = 1;
    for (int d = from; d < to; d++) n *= f->dims[d];
    return n;
}

/* All registers of element i, by kernels called with n = 1 on memory as it was before. */
static void naive_element(const wick_fused *f, wick_tier tier, area *in, int64_t i, uint64_t *reg) {
    const wick_convert_table *convert = wick_convert_kernels(tier);
    for (int k = 0; k < f->n_in; k++) {
        const uint8_t *at = area_at(&in[k], offset_of(f, f->in[k].strides, i), true);
        wick_convert_fn load = convert->load[f->in[k].dtype];
        if (load)
            load(&reg[k], at, 1);
        else
            memcpy(&reg[k], at, (size_t)in[k].elem);
    }
    for (int k = 0; k < f->n_instr; k++) {
        const wick_fused_instr *op = &f->instr[k];
        if (op->op != WICK_FUSED_CAST)
            (*wick_ew_kernels(tier))[op->op][op->type](&reg[op->dst], &reg[op->src[0]], &reg[op->src[1]],
                                                       &reg[op->src[2]], 1);
        else if (op->type == op->to)
            reg[op->dst] = reg[op->src[0]];
        else
            convert->cast[op->type][op->to](&reg[op->dst], &reg[op->src[0]], 1);
    }
}

static bool same_value(wick_dtype t, const uint8_t *a, const uint8_t *b) {
    if (memcmp(a, b, wick_dtype_size(t)) == 0) return true;
    float fa, fb;
    double da, db;
    const wick_convert_table *ref = wick_convert_kernels(WICK_TIER_REF);
    switch (t) { /* any NaN is as good as another: compilers swap the operands of + and * */
    case WICK_F32:
        memcpy(&fa, a, 4), memcpy(&fb, b, 4);
        return fa != fa && fb != fb;
    case WICK_F64:
        memcpy(&da, a, 8), memcpy(&db, b, 8);
        return da != da && db != db;
    case WICK_F16:
    case WICK_BF16:
        ref->load[t](&fa, a, 1), ref->load[t](&fb, b, 1);
        return fa != fa && fb != fb;
    default:
        return false;
    }
}
static void store_naive(wick_tier tier, wick_dtype t, uint8_t *to, const uint64_t *value) {
    wick_convert_fn store = wick_convert_kernels(tier)->store[t];
    if (store)
        store(to, value, 1);
    else
        memcpy(to, value, wick_dtype_size(t));
}

/* Runs a prepared program: style 0 all tasks at once, 1 one by one backwards, 2 in random pieces. */
static void run_program(const wick_fused *f, void *const *ptr, int style) {
    uint8_t *scratch = aligned_alloc(64, (f->scratch + 127) / 64 * 64), *partials = malloc(f->partials + 1);
    memset(scratch, 0xFF, f->scratch);
    for (int stage = 0; stage < 2; stage++) {
        int64_t tasks = stage ? f->tasks2 : f->tasks;
        if (style == 0)
            wick_fused_run(f, stage, 0, tasks, ptr, partials, scratch);
        else if (style == 1)
            for (int64_t t = tasks - 1; t >= 0; t--) wick_fused_run(f, stage, t, t + 1, ptr, partials, scratch);
        else
            for (int64_t t = 0, e; t < tasks; t = e) {
                e = t + test_rand_int(1, 3);
                if (e > tasks) e = tasks;
                wick_fused_run(f, stage, t, e, ptr, partials, scratch);
            }
    }
    free(scratch);
    free(partials);
}

static void random_dims(wick_fused *f, bool zeros) {
    f->rank = test_rand_int(0, 8);
    int64_t total = 1, limit = test_rand_int(0, 3) ? 300 : MAX_ITEMS;
    for (int d = 0; d < f->rank; d++) {
        int64_t dim = test_rand_int(1, test_rand_int(0, 1) ? 4 : 40);
        if (test_rand_int(0, 5) == 0) dim = test_rand_int(100, 1500);
        if (total * dim > limit) dim = 1;
        if (zeros && test_rand_int(0, 60) == 0) dim = 0;
        f->dims[d] = dim;
        total *= dim ? dim : 1;
    }
}

static void plain_case(wick_tier tier) {
    wick_fused f = {.scale = 1};
    area in[WICK_FUSED_MAX_IO], out[WICK_FUSED_MAX_IO], *out_at[WICK_FUSED_MAX_IO];
    void *ptr[2 * WICK_FUSED_MAX_IO];
    bool taken[WICK_FUSED_MAX_IO] = {false};
    random_dims(&f, true);
    f.n_in = test_rand_int(1, 5);
    for (int k = 0; k < f.n_in; k++) {
        f.in[k].dtype = (uint8_t)dtype_in();
        f.in[k].reg = (uint8_t)k;
        random_strides(f.rank, f.dims, f.in[k].strides, true);
        area_make(&in[k], f.rank, f.dims, f.in[k].strides, (wick_dtype)f.in[k].dtype);
        ptr[k] = area_at(&in[k], 0, false);
    }
    random_program(&f, test_rand_int(0, test_rand_int(0, 3) ? 6 : 40));
    f.n_out = test_rand_int(1, 3);
    for (int k = 0; k < f.n_out; k++) {
        f.out[k].reg =
            (uint8_t)test_rand_int(test_rand_int(0, 3) ? f.n_reg - 1 - (f.n_instr > 2 ? 2 : 0) : 0, f.n_reg - 1);
        wick_ctype t = native_of(&f, f.out[k].reg);
        f.out[k].dtype = (uint8_t)(test_rand_int(0, 1) ? dtype_of(t)
                                                       : (wick_dtype[]){WICK_F32, WICK_F64, WICK_I32, WICK_I64,
                                                                        WICK_U64, WICK_BOOL}[t]);
        out_at[k] = NULL;
        for (int i = 0; i < f.n_in && test_rand_int(0, 1);
             i++) { /* in place, over an input that has an element for each index */
            bool fits = f.in[i].dtype == f.out[k].dtype && !taken[i];
            for (int d = 0; d < f.rank; d++) fits &= f.in[i].strides[d] != 0 || f.dims[d] == 1;
            if (!fits) continue;
            taken[i] = true;
            memcpy(f.out[k].strides, f.in[i].strides, sizeof f.in[i].strides);
            out_at[k] = &in[i];
            break;
        }
        if (!out_at[k]) {
            random_strides(f.rank, f.dims, f.out[k].strides, false);
            area_make(&out[k], f.rank, f.dims, f.out[k].strides, (wick_dtype)f.out[k].dtype);
            out_at[k] = &out[k];
        } else
            out[k].bytes = NULL;
        ptr[f.n_in + k] = area_at(out_at[k], 0, false);
    }
    /* What memory must be afterwards; bytes between and around elements stay. */
    uint8_t *want[WICK_FUSED_MAX_IO];
    for (int k = 0; k < f.n_out; k++) {
        want[k] = malloc(out_at[k]->size);
        memcpy(want[k], out_at[k]->was, out_at[k]->size);
    }
    for (int64_t i = 0; i < count(&f, 0, f.rank); i++) {
        uint64_t reg[WICK_FUSED_MAX_REGS] = {0};
        naive_element(&f, tier, in, i, reg);
        for (int k = 0; k < f.n_out; k++) {
            int64_t at = out_at[k]->origin + offset_of(&f, f.out[k].strides, i);
            store_naive(tier, (wick_dtype)f.out[k].dtype, want[k] + GUARD + at * out_at[k]->elem, &reg[f.out[k].reg]);
        }
    }
    wick_fused p = f;
    wick_fused_prepare(&p, tuning);
    for (int style = 0; style < 3; style++) {
        for (int k = 0; k < f.n_out; k++) memcpy(out_at[k]->bytes, out_at[k]->was, out_at[k]->size);
        run_program(&p, ptr, style);
        for (int k = 0; k < f.n_out; k++) {
            const size_t elem = (size_t)out_at[k]->elem, n = (out_at[k]->size - 2 * GUARD) / elem;
            CHECK(memcmp(out_at[k]->bytes, want[k], GUARD) == 0);
            CHECK(memcmp(out_at[k]->bytes + GUARD + n * elem, want[k] + GUARD + n * elem, GUARD) == 0);
            for (size_t i = 0; i < n; i++)
                CHECK_MSG(same_value((wick_dtype)f.out[k].dtype, out_at[k]->bytes + GUARD + i * elem,
                                     want[k] + GUARD + i * elem),
                          "%s: rank %d, %d instr, output %d of %s, element %zu of %zu, style %d", wick_tier_name(tier),
                          f.rank, f.n_instr, k, wick_dtype_name((wick_dtype)f.out[k].dtype), i, n, style);
        }
    }
    for (int k = 0; k < f.n_out; k++) {
        free(want[k]);
        if (out[k].bytes) area_free(&out[k]);
    }
    for (int k = 0; k < f.n_in; k++) area_free(&in[k]);
}

TEST(random_programs_equal_a_naive_interpreter) {
    for (int tier = 0; tier <= (int)wick_tier_best(); tier++) {
        REQUIRE(wick_tier_force((wick_tier)tier));
        for (int i = 0; i < 400; i++) plain_case((wick_tier)tier);
    }
}

/* ---- reductions -------------------------------------------------------------------------------------------------- */

static uint64_t combine(wick_ctype t, wick_red red, uint64_t a, uint64_t b) {
    static const wick_ew ops[] = {WICK_EW_add, WICK_EW_mul, WICK_EW_maximum, WICK_EW_minimum};
    uint64_t r = 0;
    if (t == WICK_CBOOL) return red == WICK_RED_MAX ? (a & 255) | (b & 255) : (a & 255) & (b & 255);
    (*wick_ew_kernels(WICK_TIER_REF))[ops[red]][t](&r, &a, &b, NULL, 1);
    return r;
}
/* Pairwise as a binary counter: equal to combining neighbours, then neighbours of those. */
static uint64_t pairwise(wick_ctype t, wick_red red, const uint64_t *x, int64_t n) {
    uint64_t level[64];
    int depth = 0;
    for (int64_t i = 0; i < n; i++) {
        level[depth++] = x[i];
        for (int64_t c = i + 1; c % 2 == 0; c /= 2)
            depth--, level[depth - 1] = combine(t, red, level[depth - 1], level[depth]);
    }
    while (depth > 1) depth--, level[depth - 1] = combine(t, red, level[depth - 1], level[depth]);
    return level[0];
}
/* x[r * cols] for r < n in the order of fused.h, lane by lane. */
static uint64_t reduce_naive(wick_ctype t, wick_red red, const uint64_t *x, int64_t n, int64_t cols) {
    int64_t lane_rows = 1;
    while (lane_rows * cols < 64) lane_rows *= 2;
    uint64_t *chunks = malloc(sizeof *chunks * (size_t)(n / (lane_rows * 128) + 2)), result;
    int64_t n_chunks = 0;
    for (int64_t first = 0; first < n; first += lane_rows * 128) {
        int64_t end = first + lane_rows * 128 < n ? first + lane_rows * 128 : n;
        uint64_t lane[64];
        int64_t width = end - first < lane_rows ? end - first : lane_rows;
        for (int64_t l = 0; l < width; l++) {
            uint64_t runs[8], acc = 0;
            int n_runs = 0, in_run = 0;
            for (int64_t r = first + l; r < end; r += lane_rows) {
                acc = in_run ? combine(t, red, acc, x[r * cols]) : x[r * cols];
                if (++in_run == 16) runs[n_runs++] = acc, in_run = 0;
            }
            if (in_run) runs[n_runs++] = acc;
            lane[l] = pairwise(t, red, runs, n_runs);
        }
        for (int64_t h = lane_rows / 2; h > 0; h /= 2)
            for (int64_t l = 0; l < h && h + l < width; l++) lane[l] = combine(t, red, lane[l], lane[h + l]);
        chunks[n_chunks++] = lane[0];
    }
    result = pairwise(t, red, chunks, n_chunks);
    free(chunks);
    return result;
}

static void reduction_case(wick_tier tier, const wick_fused *shape) {
    wick_fused f = {.scale = 1, .reduces = true, .red = (uint8_t)test_rand_int(0, 3)};
    area in[WICK_FUSED_MAX_IO], out;
    void *ptr[2 * WICK_FUSED_MAX_IO];
    if (shape) {
        f.rank = shape->rank, f.n_keep = shape->n_keep, f.n_red = shape->n_red;
        memcpy(f.dims, shape->dims, sizeof f.dims);
    } else {
        random_dims(&f, false);
        f.n_keep = test_rand_int(0, f.rank);
        f.n_red = test_rand_int(0, f.rank - f.n_keep);
        for (int d = 0; d < f.rank; d++)
            if (test_rand_int(0, 80) == 0 && (f.red < 2 || d < f.n_keep)) f.dims[d] = 0;
    }
    f.n_in = test_rand_int(1, 3);
    for (int k = 0; k < f.n_in; k++) {
        f.in[k].dtype = (uint8_t)dtype_in();
        f.in[k].reg = (uint8_t)k;
        random_strides(f.rank, f.dims, f.in[k].strides, true);
        area_make(&in[k], f.rank, f.dims, f.in[k].strides, (wick_dtype)f.in[k].dtype);
        ptr[k] = area_at(&in[k], 0, false);
    }
    random_program(&f, test_rand_int(0, 1) ? 0 : test_rand_int(1, 5));
    f.n_out = 1;
    f.out[0].reg = (uint8_t)(test_rand_int(0, 1) ? f.n_reg - 1 : test_rand_int(0, f.n_reg - 1));
    wick_ctype t = native_of(&f, f.out[0].reg);
    if (t == WICK_CBOOL && f.red < 2) f.red = WICK_RED_MAX;
    if (t < WICK_CI32 && test_rand_int(0, 3) == 0) f.scale = 0.125;
    f.out[0].dtype = (uint8_t)dtype_of(t);
    const int first = f.n_keep, last = f.n_keep + f.n_red;
    int64_t kept_dims[WICK_MAX_DIMS] = {0}, kept[WICK_MAX_DIMS];
    int n_kept = 0;
    for (int d = 0; d < f.rank; d++)
        if (d < first || d >= last) kept_dims[n_kept++] = f.dims[d];
    random_strides(n_kept, kept_dims, kept, false);
    for (int d = 0, k = 0; d < f.rank; d++) f.out[0].strides[d] = d < first || d >= last ? kept[k++] : 0;
    area_make(&out, f.rank, f.dims, f.out[0].strides, (wick_dtype)f.out[0].dtype);
    if (count(&f, 0, first) * count(&f, last, f.rank) > 0 &&
        count(&f, first, last) == 0) { /* dims of 0 that are not the output's */
        area_free(&out);
        area_make(&out, n_kept, kept_dims, kept, (wick_dtype)f.out[0].dtype);
    }
    ptr[f.n_in] = area_at(&out, 0, false);

    const int64_t units = count(&f, 0, first), n = count(&f, first, last), cols = count(&f, last, f.rank);
    const bool refused = n == 0 && f.red >= 2; /* the largest of nothing */
    uint64_t *x = malloc(sizeof *x * (size_t)(units * n * cols + 1));
    uint8_t *want = malloc(out.size);
    memcpy(want, out.was, out.size);
    for (int64_t i = 0; i < units * n * cols; i++) {
        uint64_t reg[WICK_FUSED_MAX_REGS] = {0};
        naive_element(&f, tier, in, i, reg);
        x[i] = reg[f.out[0].reg];
    }
    for (int64_t u = 0; u < units && !refused; u++)
        for (int64_t c = 0; c < cols; c++) {
            uint64_t value = 0;
            const double one = 1;
            if (n > 0)
                value = reduce_naive(t, (wick_red)f.red, x + u * n * cols + c, n, cols);
            else if (f.red == WICK_RED_PROD && t == WICK_CF64)
                memcpy(&value, &one, 8);
            else if (f.red == WICK_RED_PROD)
                t == WICK_CF32 ? (value = 0x3f800000) : (value = 1);
            float v32;
            double v64;
            memcpy(&v32, &value, 4), memcpy(&v64, &value, 8);
            v32 *= (float)f.scale, v64 *= f.scale;
            if (f.scale != 1) t == WICK_CF32 ? memcpy(&value, &v32, 4) : memcpy(&value, &v64, 8);
            int64_t at = 0, rest = u * cols + c;
            for (int d = n_kept - 1; d >= 0; d--) at += rest % kept_dims[d] * kept[d], rest /= kept_dims[d];
            store_naive(tier, (wick_dtype)f.out[0].dtype, want + GUARD + (out.origin + at) * out.elem, &value);
        }
    wick_fused p = f;
    wick_fused_prepare(&p, tuning);
    for (int style = 0; style < 3 && !refused; style++) {
        memcpy(out.bytes, out.was, out.size);
        run_program(&p, ptr, style);
        const size_t elem = (size_t)out.elem, items = (out.size - 2 * GUARD) / elem;
        CHECK(memcmp(out.bytes, want, GUARD) == 0);
        CHECK(memcmp(out.bytes + GUARD + items * elem, want + GUARD + items * elem, GUARD) == 0);
        for (size_t i = 0; i < items; i++)
            CHECK_MSG(same_value((wick_dtype)f.out[0].dtype, out.bytes + GUARD + i * elem, want + GUARD + i * elem),
                      "%s: [%lld %lld %lld] red %d, %d instr, %s, element %zu of %zu, style %d, mode %d",
                      wick_tier_name(tier), (long long)units, (long long)n, (long long)cols, f.red, f.n_instr,
                      wick_dtype_name((wick_dtype)f.out[0].dtype), i, items, style, p.layout.mode);
    }
    free(x);
    free(want);
    area_free(&out);
    for (int k = 0; k < f.n_in; k++) area_free(&in[k]);
}

TEST(random_reductions_follow_the_stated_order) {
    for (int tier = 0; tier <= (int)wick_tier_best(); tier++) {
        REQUIRE(wick_tier_force((wick_tier)tier));
        for (int i = 0; i < 400; i++) reduction_case((wick_tier)tier, NULL);
    }
}

TEST(large_reductions_of_every_mode_follow_the_stated_order) {
    static const int64_t shapes[][3] = {{1, 300007, 1}, {2, 200003, 1}, {1, 30001, 10}, {3, 9001, 7},  {1, 2000, 129},
                                        {1, 700, 1301}, {40, 1025, 1},  {300, 128, 1},  {1000, 10, 1}, {2, 17, 3001},
                                        {64, 1, 64},    {5, 33, 63},    {1, 8192, 64},  {1, 8193, 64}, {1, 1, 100000}};
    for (int tier = 0; tier <= (int)wick_tier_best(); tier++) {
        if (tier == WICK_TIER_BASE) continue; /* the same sources as its neighbours; the random cases cover it */
        REQUIRE(wick_tier_force((wick_tier)tier));
        for (size_t s = 0; s < WICK_COUNTOF(shapes); s++) {
            wick_fused shape = {.rank = 3, .n_keep = 1, .n_red = 1, .dims = {shapes[s][0], shapes[s][1], shapes[s][2]}};
            reduction_case((wick_tier)tier, &shape);
        }
    }
}

/* ---- promises one by one ----------------------------------------------------------------------------------------- */

static void sum_of(const float *x, int64_t n, bool square, float *result) {
    wick_fused f = {.rank = 1,
                    .dims = {n},
                    .n_in = 1,
                    .n_out = 1,
                    .n_instr = square,
                    .n_reg = 1 + square,
                    .reduces = true,
                    .n_red = 1,
                    .scale = 1};
    f.in[0] = (wick_fused_io){.dtype = WICK_F32, .strides = {1}};
    f.instr[0] = (wick_fused_instr){.op = WICK_EW_mul, .type = WICK_CF32, .to = WICK_CF32, .dst = 1, .src = {0, 0, 0}};
    f.out[0] = (wick_fused_io){.dtype = WICK_F32, .reg = (uint8_t)square};
    wick_fused_prepare(&f, tuning);
    run_program(&f, (void *[]){(void *)(uintptr_t)x, result}, 0);
}

/* The sum over images and pixels of x, (x - mean)^2, g (x - mean) or |x|, channels being the last dim, wherever they
 * lie in memory. */
static void image_program(wick_fused *f, int what, int64_t images, int64_t pixels, int64_t channels, bool planes) {
    const int64_t strides[3] = {pixels * channels, planes ? 1 : channels, planes ? pixels : 1};
    *f = (wick_fused){.rank = 3,
                      .n_red = 2,
                      .dims = {images, pixels, channels},
                      .scale = 0.5,
                      .reduces = true,
                      .red = WICK_RED_SUM,
                      .n_out = 1};
    f->n_in = what == 0 || what == 3 ? 1 : what + 1;
    for (int i = 0; i < f->n_in; i++) {
        f->in[i].reg = (uint8_t)i;
        if (i == 1) f->in[i].strides[2] = 1;
        else memcpy(f->in[i].strides, strides, sizeof strides);
    }
    const uint8_t n = (uint8_t)f->n_in;
    if (what == 1 || what == 2) f->instr[f->n_instr++] = (wick_fused_instr){.op = WICK_EW_sub, .dst = n, .src = {0, 1}};
    if (what == 1) f->instr[f->n_instr++] = (wick_fused_instr){.op = WICK_EW_square, .dst = 3, .src = {2}};
    if (what == 2) f->instr[f->n_instr++] = (wick_fused_instr){.op = WICK_EW_mul, .dst = 4, .src = {2, 3}};
    if (what == 3) f->instr[f->n_instr++] = (wick_fused_instr){.op = WICK_EW_abs, .dst = 1, .src = {0}};
    f->n_reg = n + f->n_instr;
    f->out[0] = (wick_fused_io){.reg = (uint8_t)(f->n_reg - 1), .strides = {0, 0, 1}};
    wick_fused_prepare(f, tuning);
}

TEST(channels_have_the_same_sums_as_planes_and_as_pixels) {
    enum { MOST = 300000 };
    static const int64_t sizes[][3] = {{1, 2048, 8}, {3, 700, 9},  {4, 1024, 16}, {2, 1030, 17}, {1, 513, 33},
                                       {6, 49, 70},  {16, 32, 64}, {3, 2100, 40}, {2, 131, 600}, {2, 18000, 8}};
    float *x[2][3], *got[2];
    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < 3; i++) x[k][i] = malloc(sizeof(float) * MOST);
        got[k] = malloc(sizeof(float) * 600);
    }
    for (size_t s = 0; s < WICK_COUNTOF(sizes); s++) {
        const int64_t images = sizes[s][0], pixels = sizes[s][1], channels = sizes[s][2];
        REQUIRE(images * pixels * channels <= MOST);
        for (int64_t c = 0; c < channels; c++) x[0][1][c] = x[1][1][c] = (float)test_rand_real(-1, 1);
        for (int i = 0; i < 3; i += 2)
            for (int64_t b = 0; b < images; b++)
                for (int64_t p = 0; p < pixels; p++)
                    for (int64_t c = 0; c < channels; c++)
                        x[0][i][(b * pixels + p) * channels + c] = x[1][i][(b * channels + c) * pixels + p] =
                            (float)test_rand_real(-1, 1);
        for (int tier = 0; tier <= (int)wick_tier_best(); tier++) {
            REQUIRE(wick_tier_force((wick_tier)tier));
            for (int what = 0; what < 4; what++)
                for (int style = 0; style < 3; style++) {
                    for (int k = 0; k < 2; k++) {
                        wick_fused f;
                        image_program(&f, what, images, pixels, channels, k);
                        CHECK(f.layout.planes == k);
                        void *ptr[4] = {x[k][0]};
                        for (int i = 1; i < f.n_in; i++) ptr[i] = x[k][i];
                        ptr[f.n_in] = got[k];
                        run_program(&f, ptr, style);
                    }
                    CHECK_MSG(memcmp(got[0], got[1], sizeof(float) * (size_t)channels) == 0,
                              "%s: program %d, %lld x %lld x %lld", wick_tier_name((wick_tier)tier), what,
                              (long long)images, (long long)pixels, (long long)channels);
                }
        }
    }
    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < 3; i++) free(x[k][i]);
        free(got[k]);
    }
}

/* x[unit][n] x y[unit][n] + b[unit], its sum or largest by unit, where elements of a unit lie together and where units
 * lie beside each other. */
TEST(units_beside_each_other_reduce_to_the_same_bits) {
    static const struct {
        int64_t outer, units, n;
        bool transposed;
    } cases[] = {{1, 200, 1100, true},
                 {1, 33, 1025, true},
                 {3, 17, 2000, true},
                 {2, 40, 4096, true},
                 {1, 34, 4097, false} /* more than is turned */};
    for (size_t c = 0; c < WICK_COUNTOF(cases); c++) {
        const int64_t outer = cases[c].outer, units = cases[c].units, n = cases[c].n, total = outer * units * n;
        float *x[2][2], *b = malloc(sizeof *b * (size_t)units), *got[2];
        for (int k = 0; k < 4; k++) x[k / 2][k % 2] = malloc(sizeof(float) * (size_t)total);
        for (int k = 0; k < 2; k++) got[k] = malloc(sizeof(float) * (size_t)(outer * units));
        for (int64_t u = 0; u < units; u++) b[u] = (float)test_rand_real(-1, 1);
        for (int64_t i = 0; i < total; i++)
            for (int k = 0; k < 2; k++)
                x[1][k][(i / (units * n) * n + i % n) * units + i / n % units] = x[0][k][i] =
                    (float)test_rand_real(-1, 1);
        for (int tier = 0; tier <= (int)wick_tier_best(); tier++) {
            REQUIRE(wick_tier_force((wick_tier)tier));
            for (int what = 0; what < 4; what++) { /* of x, of the program; the sum, the largest */
                for (int across = 0; across < 2; across++) {
                    const int64_t strides[3] = {units * n, across ? 1 : n, across ? units : 1};
                    wick_fused f = {.rank = 3,
                                    .n_keep = 2,
                                    .n_red = 1,
                                    .dims = {outer, units, n},
                                    .scale = 1,
                                    .reduces = true,
                                    .red = what & 1 ? WICK_RED_MAX : WICK_RED_SUM,
                                    .n_in = 1,
                                    .n_out = 1};
                    memcpy(f.in[0].strides, strides, sizeof strides);
                    if (what & 2) {
                        f.n_in = 3, f.n_instr = 2;
                        f.in[1].reg = 1, f.in[2].reg = 2;
                        memcpy(f.in[1].strides, strides, sizeof strides);
                        f.in[2].strides[1] = 1;
                        f.instr[0] = (wick_fused_instr){.op = WICK_EW_mul, .dst = 3, .src = {0, 1}};
                        f.instr[1] = (wick_fused_instr){.op = WICK_EW_add, .dst = 4, .src = {3, 2}};
                    }
                    f.n_reg = f.n_in + f.n_instr;
                    f.out[0] = (wick_fused_io){.reg = (uint8_t)(f.n_reg - 1), .strides = {units, 1, 0}};
                    wick_fused_prepare(&f, tuning);
                    CHECK_MSG((f.layout.transposed != 0) == (across && cases[c].transposed), "%d of %lld, %d, mode %d",
                              what, (long long)n, across, f.layout.mode);
                    void *ptr[4] = {x[across][0], x[across][1], b};
                    ptr[f.n_in] = got[across];
                    run_program(&f, ptr, what % 3);
                }
                CHECK_MSG(memcmp(got[0], got[1], sizeof(float) * (size_t)(outer * units)) == 0,
                          "%s: %d of %lld x %lld x %lld", wick_tier_name((wick_tier)tier), what, (long long)outer,
                          (long long)units, (long long)n);
            }
        }
        for (int k = 0; k < 4; k++) free(x[k / 2][k % 2]);
        for (int k = 0; k < 2; k++) free(got[k]);
        free(b);
    }
}

TEST(a_sum_of_ten_million_keeps_six_digits) {
    enum { N = 10000000 };
    float *x = malloc(sizeof *x * N), got;
    for (int kind = 0; kind < 3; kind++) {
        double want = 0, size = 0;
        for (int i = 0; i < N; i++) {
            x[i] = kind == 0 ? 0.1f : (float)test_rand_real(kind == 1 ? 0 : -1, 1);
            want += x[i];
            size += fabs((double)x[i]);
        }
        sum_of(x, N, false, &got);
        CHECK_MSG(fabs(got - want) < 1e-6 * size, "kind %d: %.9g, want %.9g", kind, (double)got, want);
    }
    free(x);
}

TEST(a_fused_sum_has_the_bits_of_an_unfused_one) {
    enum { N = 100003 };
    float *x = malloc(sizeof *x * N), *sq = malloc(sizeof *sq * N), fused, unfused;
    for (int i = 0; i < N; i++) {
        x[i] = (float)test_rand_real(-1, 1);
        sq[i] = x[i] * x[i];
    }
    sum_of(x, N, true, &fused);
    sum_of(sq, N, false, &unfused);
    CHECK(memcmp(&fused, &unfused, sizeof fused) == 0);
    free(x);
    free(sq);
}

/* Squares, products, and numbers without NaN are summed without being written first: one result, long rows and short
 * ones, parts of lines at their ends. */
TEST(a_sum_of_one_instruction_has_the_bits_of_a_sum_of_its_results) {
    enum { N = 100003 };
    static const int64_t shapes[][2] = {{1, N},     {1, 40},   {3, 20001}, {40, 2048},
                                        {500, 200}, {900, 64}, {700, 31},  {90, 1000}};
    static const int ops[] = {WICK_EW_square, WICK_EW_mul, WICK_EW_replace_nan, WICK_EW_replace_nan};
    static float x[N], y[N], made[N], got[1000], want[1000];
    static const float number[] = {0, 0, 0, 1.5f};
    for (int i = 0; i < N; i++) x[i] = (float)test_rand_real(-1, 1), y[i] = (float)test_rand_real(-1, 1);
    for (int tier = 0; tier <= (int)wick_tier_best(); tier++) {
        REQUIRE(wick_tier_force((wick_tier)tier));
        for (int k = 0; k < (int)WICK_COUNTOF(ops); k++)
            for (size_t c = 0; c < WICK_COUNTOF(shapes); c++) {
                const int64_t rows = shapes[c][0], cols = shapes[c][1];
                for (int64_t i = 0; i < rows * cols; i++) {
                    x[i] = k >= 2 && i % 7 == 3 ? (float)NAN : isnan(x[i]) ? 0.25f : x[i];
                    made[i] = k == 0 ? x[i] * x[i] : k == 1 ? x[i] * y[i] : isnan(x[i]) ? number[k] : x[i];
                }
                wick_fused f = {.rank = 2,
                                .dims = {rows, cols},
                                .n_keep = 1,
                                .n_red = 1,
                                .reduces = true,
                                .red = WICK_RED_SUM,
                                .n_in = 1 + (k > 0),
                                .n_out = 1,
                                .n_instr = 1,
                                .scale = 1};
                f.n_reg = f.n_in + 1;
                f.in[0] = (wick_fused_io){.dtype = WICK_F32, .reg = 0, .strides = {cols, 1}};
                f.in[1] = (wick_fused_io){.dtype = WICK_F32, .reg = 1, .strides = {k == 1 ? cols : 0, k == 1}};
                f.out[0] = (wick_fused_io){.dtype = WICK_F32, .reg = (uint8_t)f.n_in, .strides = {1, 0}};
                f.instr[0] = (wick_fused_instr){.op = (uint16_t)ops[k],
                                                .type = WICK_CF32,
                                                .to = WICK_CF32,
                                                .dst = (uint8_t)f.n_in,
                                                .src = {0, (uint8_t)(f.n_in - 1), 0}};
                wick_fused plain = f;
                plain.n_in = 1, plain.n_instr = 0, plain.n_reg = 1, plain.out[0].reg = 0;
                wick_fused_prepare(&f, tuning);
                wick_fused_prepare(&plain, tuning);
                void *const other = k == 1 ? (void *)y : (void *)(uintptr_t)&number[k];
                if (f.n_in == 2) run_program(&f, (void *[]){x, other, got}, (int)c % 3);
                else run_program(&f, (void *[]){x, got}, (int)c % 3);
                run_program(&plain, (void *[]){made, want}, 0);
                CHECK_MSG(!memcmp(got, want, sizeof(float) * (size_t)rows), "%s: op %d, %lld rows of %lld",
                          wick_tier_name((wick_tier)tier), k, (long long)rows, (long long)cols);
            }
    }
}

TEST(sums_have_the_same_bits_in_every_tier) {
    enum { N = 50021 };
    float *x = malloc(sizeof *x * N), first = 0, got;
    for (int i = 0; i < N; i++) x[i] = (float)test_rand_real(-1, 1);
    for (int tier = 0; tier <= (int)wick_tier_best(); tier++) {
        REQUIRE(wick_tier_force((wick_tier)tier));
        sum_of(x, N, false, &got);
        if (tier == 0) first = got;
        CHECK(memcmp(&first, &got, sizeof got) == 0);
    }
    free(x);
}

TEST(an_output_over_an_input_that_is_read_later_waits) {
    /* p' = p - g; q = p + p' : p' replaces p in memory, and p is still needed */
    enum { N = 1000 };
    float p[N], g[N], q[N];
    for (int i = 0; i < N; i++) p[i] = (float)i, g[i] = 0.5f;
    wick_fused f = {.rank = 1, .dims = {N}, .n_in = 2, .n_out = 2, .n_instr = 2, .n_reg = 4, .scale = 1};
    f.in[0] = (wick_fused_io){.dtype = WICK_F32, .reg = 0, .strides = {1}};
    f.in[1] = (wick_fused_io){.dtype = WICK_F32, .reg = 1, .strides = {1}};
    f.instr[0] = (wick_fused_instr){.op = WICK_EW_sub, .type = WICK_CF32, .to = WICK_CF32, .dst = 2, .src = {0, 1, 0}};
    f.instr[1] = (wick_fused_instr){.op = WICK_EW_add, .type = WICK_CF32, .to = WICK_CF32, .dst = 3, .src = {0, 2, 0}};
    f.out[0] = (wick_fused_io){.dtype = WICK_F32, .reg = 2, .strides = {1}};
    f.out[1] = (wick_fused_io){.dtype = WICK_F32, .reg = 3, .strides = {1}};
    wick_fused_prepare(&f, tuning);
    run_program(&f, (void *[]){p, g, p, q}, 0);
    for (int i = 0; i < N; i++) CHECK(p[i] == (float)i - 0.5f && q[i] == 2 * (float)i - 0.5f);
}

/* Outputs that no cache holds are stored nontemporally: the same bits at any alignment, nothing around them touched,
 * and not over an input. */
TEST(streamed_outputs_are_the_same) {
    enum { N = (32 << 20) / 4 + 5003 };
    float *a = malloc(sizeof *a * N), *b = malloc(sizeof *b * N), *y = malloc(sizeof *y * (N + 2));
    REQUIRE(a && b && y);
    for (int i = 0; i < N; i++) b[i] = (float)(i % 1013);
    wick_fused f = {.rank = 1, .dims = {N}, .n_in = 2, .n_out = 1, .n_instr = 1, .n_reg = 3, .scale = 1};
    f.in[0] = (wick_fused_io){.dtype = WICK_F32, .reg = 0, .strides = {1}};
    f.in[1] = (wick_fused_io){.dtype = WICK_F32, .reg = 1, .strides = {1}};
    f.instr[0] = (wick_fused_instr){.op = WICK_EW_sub, .type = WICK_CF32, .to = WICK_CF32, .dst = 2, .src = {0, 1, 0}};
    f.out[0] = (wick_fused_io){.dtype = WICK_F32, .reg = 2, .strides = {1}};
    wick_fused_prepare(&f, tuning);
    CHECK(f.layout.streams);
    for (int tier = 0; tier <= (int)wick_tier_best(); tier++) {
        REQUIRE(wick_tier_force((wick_tier)tier));
        for (int i = 0; i < N; i++) a[i] = (float)(i % 4099);
        y[0] = y[N + 1] = 77;
        run_program(&f, (void *[]){a, b, y + 1}, tier % 2);
        int wrong = 0;
        for (int i = 0; i < N; i++) wrong += y[i + 1] != a[i] - b[i];
        CHECK_MSG(wrong == 0 && y[0] == 77 && y[N + 1] == 77, "%s: %d elements", wick_tier_name((wick_tier)tier),
                  wrong);
        run_program(&f, (void *[]){a, b, a}, 0);
        CHECK_MSG(!memcmp(a, y + 1, sizeof *a * N), "%s over its input", wick_tier_name((wick_tier)tier));
    }
    f.dims[0] = 1000;
    wick_fused_prepare(&f, tuning);
    CHECK(!f.layout.streams);

    /* a column, whose value is the same throughout a row */
    enum { COLS = 2053, ROWS = N / COLS };
    wick_fused g = {.rank = 2, .dims = {ROWS, COLS}, .n_in = 2, .n_out = 1, .n_instr = 1, .n_reg = 3, .scale = 1};
    memcpy(g.in, f.in, sizeof g.in), memcpy(g.out, f.out, sizeof g.out), memcpy(g.instr, f.instr, sizeof g.instr);
    g.in[0].strides[0] = g.out[0].strides[0] = COLS, g.in[0].strides[1] = g.out[0].strides[1] = 1;
    g.in[1].strides[0] = 3, g.in[1].strides[1] = 0;
    wick_fused_prepare(&g, NULL);
    CHECK(g.layout.in_kind[1] == WICK_FUSED_STILL && g.layout.streams);
    for (int tier = 0; tier <= (int)wick_tier_best(); tier++) {
        REQUIRE(wick_tier_force((wick_tier)tier));
        for (int i = 0; i < N; i++) a[i] = (float)(i % 4099);
        run_program(&g, (void *[]){a, b, y + 1}, tier % 2);
        int wrong = 0;
        for (int i = 0; i < ROWS * COLS; i++) wrong += y[i + 1] != a[i] - b[i / COLS * 3];
        CHECK_MSG(wrong == 0, "%s: %d elements beside a column", wick_tier_name((wick_tier)tier), wrong);
    }

    /* an input that is converted part by part */
    uint16_t *halves = (uint16_t *)(void *)a;
    for (int i = 0; i < N; i++) {
        const float v = (float)(i % 251);
        uint32_t bits;
        memcpy(&bits, &v, sizeof bits);
        halves[i] = (uint16_t)(bits >> 16);
    }
    f.dims[0] = N;
    f.in[0].dtype = WICK_BF16;
    wick_fused_prepare(&f, tuning);
    CHECK(f.layout.streams);
    for (int tier = 0; tier <= (int)wick_tier_best(); tier++) {
        REQUIRE(wick_tier_force((wick_tier)tier));
        run_program(&f, (void *[]){a, b, y + 1}, tier % 2);
        int wrong = 0;
        for (int i = 0; i < N; i++) wrong += y[i + 1] != (float)(i % 251) - b[i];
        CHECK_MSG(wrong == 0, "%s: %d converted elements", wick_tier_name((wick_tier)tier), wrong);
    }
    free(a), free(b), free(y);
}

/* As if no cache held anything: blocks are shorter, everything is asked for ahead, results are stored nontemporally. */
TEST(what_comes_from_memory_has_the_same_bits) {
    const wick_tuning small = wick_tuning_whole(&(wick_tuning){.stream_bytes = 1});
    tuning = &small;
    random_programs_equal_a_naive_interpreter();
    random_reductions_follow_the_stated_order();
    large_reductions_of_every_mode_follow_the_stated_order();
    channels_have_the_same_sums_as_planes_and_as_pixels();
    a_sum_of_one_instruction_has_the_bits_of_a_sum_of_its_results();
    tuning = NULL;
}

TEST(nothing_to_do_is_no_task) {
    wick_fused f = {.rank = 2, .dims = {0, 5}, .n_in = 1, .n_out = 1, .n_reg = 1, .scale = 1};
    f.in[0] = f.out[0] = (wick_fused_io){.dtype = WICK_F32, .strides = {5, 1}};
    wick_fused_prepare(&f, tuning);
    CHECK_INT(f.tasks, 0);
    wick_fused r = {.rank = 2,
                    .dims = {3, 0},
                    .n_in = 1,
                    .n_out = 1,
                    .n_reg = 1,
                    .scale = 1,
                    .reduces = true,
                    .n_keep = 0,
                    .n_red = 1};
    r.in[0] = (wick_fused_io){.dtype = WICK_F32, .strides = {0, 1}};
    r.out[0] = (wick_fused_io){.dtype = WICK_F32, .strides = {0, 1}};
    wick_fused_prepare(&r, NULL);
    CHECK_INT(r.tasks + r.tasks2, 0);
}

TEST(max_and_min_propagate_nan) {
    for (int tier = 0; tier <= (int)wick_tier_best(); tier++) {
        REQUIRE(wick_tier_force((wick_tier)tier));
        for (int n = 1; n < 400; n += 37)
            for (int red = WICK_RED_MAX; red <= WICK_RED_MIN; red++) {
                float x[400], got = 0;
                for (int i = 0; i < n; i++) x[i] = (float)i;
                x[test_rand_int(0, n - 1)] = NAN;
                wick_fused f = {.rank = 1,
                                .dims = {n},
                                .n_in = 1,
                                .n_out = 1,
                                .n_reg = 1,
                                .reduces = true,
                                .n_red = 1,
                                .scale = 1,
                                .red = (uint8_t)red};
                f.in[0] = (wick_fused_io){.dtype = WICK_F32, .strides = {1}};
                f.out[0] = (wick_fused_io){.dtype = WICK_F32};
                wick_fused_prepare(&f, tuning);
                run_program(&f, (void *[]){x, &got}, 0);
                CHECK(got != got);
            }
    }
}

int main(int argc, char **argv) { return test_main(argc, argv); }
