/* Programs that are compiled ahead give the bits of their instructions, in place and not, in every tier; numbers are
 * the same everywhere, or change from one run of elements to the next. They are found by what they make: in any order
 * of inputs, instructions and results, and not with operands in another order. */
#include "kernels/fused/programs.h"
#include "test.h"

typedef struct step {
    uint16_t op;
    uint8_t dst, a, b, c, to;
} step;
typedef struct result {
    uint8_t dtype, reg;
} result;

#define A(r) 'A',
#define M(r) 'M',
#define S(r) 'S',
#define I1(r, row, a) {WICK_EW_##row, r, a, a, a, WICK_CF32},
#define I2(r, row, a, b) {WICK_EW_##row, r, a, b, a, WICK_CF32},
#define I3(r, row, a, b, c) {WICK_EW_##row, r, a, b, c, WICK_CF32},
#define C2(r, row, a, b) {WICK_EW_##row, r, a, b, a, WICK_CBOOL},
#define O(i, r) {WICK_F32, r},
#define B(i, r) {WICK_BOOL, r},
#define FILL(name, n_in_, inputs, instructions, outputs)                                                    \
    static void fill_##name(wick_fused *f, int64_t runs, int64_t n) {                                       \
        static const char kinds[] = {inputs};                                                               \
        static const step steps[] = {instructions};                                                         \
        static const result outs[] = {outputs};                                                            \
        fill(f, runs, n, kinds, (int)sizeof kinds, steps, (int)WICK_COUNTOF(steps), outs, (int)WICK_COUNTOF(outs)); \
    }

/* n elements; runs: of how many a number is the same, 1: of all. */
static void fill(wick_fused *f, int64_t runs, int64_t n, const char *kinds, int n_in, const step *steps, int n_steps,
                 const result *outs, int n_out) {
    memset(f, 0, sizeof *f);
    f->rank = 2;
    f->dims[0] = runs;
    f->dims[1] = n / runs;
    f->scale = 1;
    f->n_in = n_in;
    f->n_out = n_out;
    f->n_instr = n_steps;
    f->n_reg = n_in + n_steps;
    for (int i = 0; i < n_in; i++) {
        f->in[i].reg = (uint8_t)i;
        f->in[i].dtype = kinds[i] == 'M' ? WICK_BOOL : WICK_F32;
        f->in[i].strides[0] = kinds[i] != 'S' ? n / runs : runs > 1;
        f->in[i].strides[1] = kinds[i] != 'S';
    }
    for (int i = 0; i < n_out; i++) {
        f->out[i].dtype = outs[i].dtype;
        f->out[i].reg = outs[i].reg;
        f->out[i].strides[0] = n / runs;
        f->out[i].strides[1] = 1;
    }
    for (int i = 0; i < n_steps; i++)
        f->instr[i] = (wick_fused_instr){.op = steps[i].op,
                                         .type = WICK_CF32,
                                         .to = steps[i].to,
                                         .dst = steps[i].dst,
                                         .src = {steps[i].a, steps[i].b, steps[i].c}};
    wick_fused_prepare(f, NULL);
}
WICK_PROGRAMS(FILL)

#define MAX 5000
static float inputs[WICK_FUSED_MAX_IO][MAX], results[2][WICK_FUSED_MAX_IO][MAX];
static _Alignas(64) char scratch[256 * 1024];

/* Runs f; out[i] lies over the last inputs when in_place, as an optimizer's states do. */
static void run(const wick_fused *f, int which, bool in_place, int64_t n) {
    static float work[WICK_FUSED_MAX_IO][MAX];
    void *ptr[2 * WICK_FUSED_MAX_IO];
    memcpy(work, inputs, sizeof work);
    int arrays[WICK_FUSED_MAX_IO], n_arrays = 0;
    for (int i = 0; i < f->n_in; i++) {
        ptr[i] = work[i];
        /* of one element they all are alike */
        if (f->in[i].dtype == WICK_F32 && (!f->rank || f->in[i].strides[f->rank - 1])) arrays[n_arrays++] = i;
    }
    for (int o = 0; o < f->n_out; o++)
        ptr[f->n_in + o] = in_place && f->out[o].dtype == WICK_F32 ? work[arrays[n_arrays - 1 - o]] : results[which][o];
    wick_fused tasks = *f; /* of one block, the last first */
    tasks.layout.task_items = f->block;
    for (int64_t t = (f->layout.total + f->block - 1) / f->block; t-- > 0;)
        wick_fused_run(&tasks, 0, t, t + 1, ptr, NULL, scratch);
    for (int o = 0; o < f->n_out && in_place; o++)
        if (f->out[o].dtype == WICK_F32) memcpy(results[which][o], ptr[f->n_in + o], (size_t)n * sizeof(float));
}

typedef void make_fn(wick_fused *f, int64_t runs, int64_t n);

/* The same program with its inputs, instructions and results in another order. */
static void shuffle(wick_fused *f) {
    const wick_fused was = *f;
    uint8_t now[WICK_FUSED_MAX_REGS]; /* by what registers were */
    bool made[WICK_FUSED_MAX_REGS] = {false};
    int order[WICK_FUSED_MAX_IO];
    for (int i = 0; i < f->n_in; i++) order[i] = i;
    for (int i = f->n_in - 1; i > 0; i--) {
        const int k = test_rand_int(0, i), other = order[k];
        order[k] = order[i], order[i] = other;
    }
    for (int i = 0; i < f->n_in; i++) {
        f->in[i] = was.in[order[i]];
        f->in[i].reg = now[order[i]] = (uint8_t)i;
        made[order[i]] = true;
    }
    for (int done = 0; done < f->n_instr;) {
        const wick_fused_instr *in = &was.instr[test_rand_int(0, f->n_instr - 1)];
        if (made[in->dst] || !made[in->src[0]] || !made[in->src[1]] || !made[in->src[2]]) continue;
        now[in->dst] = (uint8_t)(f->n_in + done);
        made[in->dst] = true;
        f->instr[done] = *in;
        f->instr[done].dst = now[in->dst];
        for (int k = 0; k < 3; k++) f->instr[done].src[k] = now[in->src[k]];
        done++;
    }
    const int first = test_rand_int(0, f->n_out - 1);
    for (int o = 0; o < f->n_out; o++) {
        f->out[o] = was.out[(first + o) % f->n_out];
        f->out[o].reg = now[f->out[o].reg];
    }
    wick_fused_prepare(f, NULL);
}

/* The bits of the loop, and of its instructions one by one. */
static void compare_bits(const wick_fused *program, int64_t n, const char *name) {
    wick_fused f = *program;
    REQUIRE(f.scratch <= sizeof scratch);
    for (int in_place = 0; in_place < 2; in_place++) {
        for (int i = 0; i < f.n_in; i++)
            for (int j = 0; j < MAX; j++) inputs[i][j] = (float)test_rand_real(0.01, 2);
        if (f.in[0].dtype == WICK_F32) inputs[0][n / 2] = NAN;
        for (int i = 0; i < f.n_in; i++)
            for (int j = 0; j < MAX && f.in[i].dtype == WICK_BOOL; j++)
                ((uint8_t *)inputs[i])[j] = (uint8_t)test_rand_int(0, 1);
        f = *program;
        run(&f, 0, in_place, n);
        f.layout.program = 0, f.layout.mode = WICK_FUSED_PLAIN;
        run(&f, 1, in_place, n);
        for (int o = 0; o < f.n_out; o++)
            CHECK_MSG(!memcmp(results[0][o], results[1][o], (size_t)n * wick_dtype_size((wick_dtype)f.out[o].dtype)),
                      "%s, %s, n = %d, result %d", name, wick_tier_name(wick_tier_current()), (int)n, o);
    }
}

static void compare(make_fn *make, const char *name, int number, bool shuffled) {
    for (int tier = 0; tier < WICK_TIER_COUNT; tier++) {
        if (!wick_tier_force((wick_tier)tier)) continue;
        static const struct {
            int64_t runs, n;
        } sizes[] = {{1, 1},   {1, 2},   {1, 15},  {1, 16},   {1, 17},    {1, 447},  {1, 448},  {1, 449}, {1, 1000},
                     {1, MAX}, {2, 256}, {3, 600}, {7, 1001}, {16, 4096}, {2, 2062}, {3, 4800}, {2, MAX}};
        for (size_t k = 0; k < WICK_COUNTOF(sizes); k++) {
            wick_fused f;
            make(&f, sizes[k].runs, sizes[k].n);
            if (shuffled) shuffle(&f);
            /* With one element every input is the same everywhere: nothing is an array, and no program applies. */
            CHECK_MSG(f.layout.program == (sizes[k].n > 1 ? number + 1 : 0), "%s is found as %d at n = %d", name,
                      f.layout.program - 1, (int)sizes[k].n);
            compare_bits(&f, sizes[k].n, name);
        }
    }
    wick_tier_force(wick_tier_best());
}

static const struct {
    make_fn *make;
    const char *name;
} programs[] = {
#define ROW(name, ...) {fill_##name, #name},
    WICK_PROGRAMS(ROW)};

TEST(programs_give_the_bits_of_their_instructions) {
    for (int i = 0; i < WICK_PROGRAM_COUNT; i++) compare(programs[i].make, programs[i].name, i, false);
}

TEST(programs_are_found_in_any_order_of_inputs_instructions_and_results) {
    test_seed = 28;
    for (int i = 0; i < WICK_PROGRAM_COUNT; i++) compare(programs[i].make, programs[i].name, i, true);
}

/* What is no input of the same kind as the other operand can't take its place. */
static bool are_alike(const wick_fused *f, const uint8_t *src) {
    if (src[0] >= f->n_in || src[1] >= f->n_in) return src[0] >= f->n_in && src[1] >= f->n_in;
    return f->in[src[0]].dtype == f->in[src[1]].dtype && f->layout.in_kind[src[0]] == f->layout.in_kind[src[1]];
}
TEST(another_order_of_operands_is_not_the_program) {
    int refused = 0;
    for (int p = 0; p < WICK_PROGRAM_COUNT; p++) {
        wick_fused f;
        programs[p].make(&f, 1, 100);
        const wick_fused was = f;
        for (int i = 0; i < was.n_instr; i++) {
            const uint8_t *src = was.instr[i].src;
            if (wick_fused_arity(&was.instr[i]) != 2 || src[0] == src[1]) continue;
            f = was;
            f.instr[i].src[0] = src[1], f.instr[i].src[1] = src[0];
            wick_fused_prepare(&f, NULL);
            refused += f.layout.program != p + 1;
            CHECK_MSG(are_alike(&was, src) || f.layout.program != p + 1, "%s, op %d", programs[p].name, i);
            if (f.layout.program) compare_bits(&f, 100, programs[p].name);
        }
    }
    CHECK(refused > WICK_PROGRAM_COUNT);
}

/* Of a * b + c: with another op, another result, or an input that is not read. */
TEST(what_makes_something_else_is_not_the_program) {
    wick_fused f;
    fill_mul_add(&f, 1, 100);
    CHECK(f.layout.program);
    wick_fused other = f;
    other.instr[0].op = WICK_EW_sub;
    wick_fused_prepare(&other, NULL);
    CHECK(!other.layout.program);
    other = f;
    other.out[0].reg = f.instr[0].dst;
    wick_fused_prepare(&other, NULL);
    CHECK(!other.layout.program);
    other = f; /* a * a + c: b is never read */
    other.instr[0].src[1] = 0;
    wick_fused_prepare(&other, NULL);
    CHECK(!other.layout.program);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
