/* Programs that are compiled ahead give the bits of their instructions, in place and not, in every tier; numbers are
 * the same everywhere, or change from one run of elements to the next. */
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

static void compare(void (*make)(wick_fused *, int64_t, int64_t), const char *name) {
    for (int tier = 0; tier < WICK_TIER_COUNT; tier++) {
        if (!wick_tier_force((wick_tier)tier)) continue;
        static const struct {
            int64_t runs, n;
        } sizes[] = {{1, 1},   {1, 2},   {1, 15},  {1, 16},   {1, 17},    {1, 447},  {1, 448},  {1, 449}, {1, 1000},
                     {1, MAX}, {2, 256}, {3, 600}, {7, 1001}, {16, 4096}, {2, 2062}, {3, 4800}, {2, MAX}};
        for (size_t k = 0; k < WICK_COUNTOF(sizes); k++)
            for (int in_place = 0; in_place < 2; in_place++) {
                const int64_t n = sizes[k].n;
                wick_fused f;
                make(&f, sizes[k].runs, n);
                /* With one element every input is the same everywhere: nothing is an array, and no program applies. */
                CHECK_MSG((f.layout.program != 0) == (n > 1), "%s is not recognised at n = %d", name, (int)n);
                REQUIRE(f.scratch <= sizeof scratch);
                for (int i = 0; i < f.n_in; i++)
                    for (int j = 0; j < MAX; j++) inputs[i][j] = (float)test_rand_real(0.01, 2);
                if (f.in[0].dtype == WICK_F32) inputs[0][n / 2] = NAN;
                for (int i = 0; i < f.n_in; i++)
                    for (int j = 0; j < MAX && f.in[i].dtype == WICK_BOOL; j++)
                        ((uint8_t *)inputs[i])[j] = (uint8_t)test_rand_int(0, 1);
                run(&f, 0, in_place, n);
                f.layout.program = 0, f.layout.mode = WICK_FUSED_PLAIN;
                run(&f, 1, in_place, n);
                for (int o = 0; o < f.n_out; o++)
                    CHECK_MSG(
                        !memcmp(results[0][o], results[1][o], (size_t)n * wick_dtype_size((wick_dtype)f.out[o].dtype)),
                        "%s, %s, n = %d, result %d", name, wick_tier_name((wick_tier)tier), (int)n, o);
            }
    }
    wick_tier_force(wick_tier_best());
}

TEST(programs_give_the_bits_of_their_instructions) {
#define COMPARE(name, ...) compare(fill_##name, #name);
    WICK_PROGRAMS(COMPARE)
}

/* Of the first op that takes two different registers. */
static void swap_operands(void (*make)(wick_fused *, int64_t, int64_t), const char *name) {
    wick_fused f;
    make(&f, 1, 100);
    const int program = f.layout.program;
    for (int i = 0; i < f.n_instr; i++) {
        uint8_t *src = f.instr[i].src, first = src[0];
        if (wick_fused_arity(&f.instr[i]) != 2 || src[0] == src[1]) continue;
        src[0] = src[1], src[1] = first;
        wick_fused_prepare(&f, NULL);
        CHECK_MSG(program && f.layout.program != program, "%s, op %d", name, i);
        return;
    }
}
TEST(another_order_of_operands_is_not_the_program) {
#define SWAP(name, ...) swap_operands(fill_##name, #name);
    WICK_PROGRAMS(SWAP)
}

int main(int argc, char **argv) { return test_main(argc, argv); }
