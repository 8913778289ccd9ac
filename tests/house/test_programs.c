/* Programs that are compiled ahead, kernels/fused/programs_table.h: which they are is said here, by the rules of
 * optimizers and by graphs that they come from, and how they go is read off the plans of these. With --write this
 * writes the table: run it when the lists below, a rule, or the order of what plans are made of has changed. */
#include <ctype.h>
#include <stdarg.h>

#include "exec/exec.h"
#include "kernels/fused/programs.h"
#include "ops/lowering/steps.h"
#include "test.h"
#include "wick/wick.h"

/* ---- updates of optimizers --------------------------------------------------------------------------------------- */

typedef struct rule {
    const char *name;
    wick_optim_options options;
    const char *loops; /* by option: a letter of below */
} rule;
typedef struct option {
    const char *name;
    wick_optim_options more; /* what is not 0 is added to the rule's */
    wick_dtype dtype;        /* of the weights */
    wick_precision precision;
} option;

static const option options[] = {
    {"plain", {0}, WICK_F32, 0},
    {"decay", {.weight_decay = 0.1}, WICK_F32, 0},
    {"decoupled decay", {.weight_decay = 0.1, .decoupled = true}, WICK_F32, 0},
    {"clipping", {.clip_norm = 1}, WICK_F32, 0},
    {"EMA", {.average = {.kind = WICK_AVERAGE_EMA}}, WICK_F32, 0},
    {"SWA", {.average = {.kind = WICK_AVERAGE_SWA}}, WICK_F32, 0},
    {"accumulation", {.accumulate = 2}, WICK_F32, 0},
    {"cycled momentum",
     {.schedule = {.kind = WICK_SCHEDULE_ONE_CYCLE, .total = 100, .cycle_momentum = true}},
     WICK_F32,
     0},
    {"decay, clipping", {.weight_decay = 0.1, .clip_norm = 1}, WICK_F32, 0},
    {"decay, EMA", {.weight_decay = 0.1, .average = {.kind = WICK_AVERAGE_EMA}}, WICK_F32, 0},
    {"clipping, EMA", {.clip_norm = 1, .average = {.kind = WICK_AVERAGE_EMA}}, WICK_F32, 0},
    {"decay, clipping, EMA", {.weight_decay = 0.1, .clip_norm = 1, .average = {.kind = WICK_AVERAGE_EMA}}, WICK_F32, 0},
    {"loss scaling", {.loss_scale = {.initial = 65536}}, WICK_F32, 0},
    {"bf16 weights", {0}, WICK_BF16, 0},
    {"bf16 gradients", {0}, WICK_F32, WICK_PRECISION_BF16},
    {"f64", {0}, WICK_F64, 0},
};

/* +  one loop, compiled ahead.
 * .  None: it is seldom asked for, and each costs some KB of every tier. With machine code at run time (docs/jit.md) it
 *    is one loop too.
 * d  None: loops that are compiled ahead take f32 and bool.
 * s  None: the update is several programs. After a bad gradient each state is put back by a select of its own (loss
 *    scaling), and LAMB needs a norm of its step before it takes it.
 * -  The optimizer refuses the option. */
static const rule rules[] = {
    {"SGD", {.kind = WICK_SGD}, "+......-....sddd"},
    {"SGD with momentum", {.kind = WICK_SGD, .momentum = 0.9}, "++.....+....sddd"},
    {"Nesterov", {.kind = WICK_SGD, .momentum = 0.9, .nesterov = true}, ".+..........sddd"},
    {"Adam", {.kind = WICK_ADAM}, "+.++...+....sddd"},
    {"Adam, AMSGrad", {.kind = WICK_ADAM, .amsgrad = true}, "............sddd"},
    {"AdamW", {.kind = WICK_ADAMW}, "++++...+++..sddd"},
    {"AdamW, AMSGrad", {.kind = WICK_ADAMW, .amsgrad = true}, "............sddd"},
    {"Adamax", {.kind = WICK_ADAMAX}, "+......+....sddd"},
    {"NAdam", {.kind = WICK_NADAM}, "............sddd"},
    {"RAdam", {.kind = WICK_RADAM}, "............sddd"},
    {"RMSProp", {.kind = WICK_RMSPROP}, "+......-....sddd"},
    {"RMSProp with momentum", {.kind = WICK_RMSPROP, .momentum = 0.9}, "............sddd"},
    {"RMSProp, centered", {.kind = WICK_RMSPROP, .centered = true}, ".......-....sddd"},
    {"Adagrad", {.kind = WICK_ADAGRAD}, "+......-....sddd"},
    {"Adadelta", {.kind = WICK_ADADELTA}, ".......-....sddd"},
    {"LAMB", {.kind = WICK_LAMB}, "sssssssssssssddd"},
    {"Lion", {.kind = WICK_LION}, "+++....+....sddd"},
};

enum { BATCH = 8, ROWS = 48, COLS = 32 };
typedef struct training {
    wick_context *ctx;
    wick_model *model;
    wick_optimizer *optimizer;
    wick_plan *plan;
    wick_dtype dtype;
} training;

static wick_status step(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx;
    const training *t = user;
    wick_tensor *w =
        wick_model_state(t->model, "w", WICK_ROLE_PARAM, t->dtype, WICK_DIMS(ROWS, COLS), wick_init_constant(1));
    out[0] = wick_mean(wick_square(wick_matmul(in[0], w)), WICK_ALL_AXES, false);
    return wick_optimizer_step(t->optimizer, out[0]);
}

static wick_optim_options with(wick_optim_options o, const wick_optim_options *more) {
    if (more->weight_decay > 0) o.weight_decay = more->weight_decay;
    if (more->clip_norm > 0) o.clip_norm = more->clip_norm;
    if (more->accumulate) o.accumulate = more->accumulate;
    o.decoupled |= more->decoupled;
    o.average = more->average;
    o.schedule = more->schedule;
    o.loss_scale = more->loss_scale;
    return o;
}

static const wick_fused *program_of(const wick_step *step) {
    return step->kind == WICK_STEP_PROGRAM ? &((const wick_step_program *)step->args)->fused : NULL;
}
/* An update goes over as many elements as the weights have; the rest of a step has others, or reduces. */
static const wick_fused *update_of(const wick_step *step) {
    const wick_fused *f = program_of(step);
    return f && !f->reduces && f->layout.total == ROWS * COLS ? f : NULL;
}

static char letter_of(const wick_plan *plan) {
    int programs = 0, loops = 0, other = 0;
    for (size_t i = 0; i < plan->n_steps; i++) {
        const wick_fused *f = update_of(&plan->steps[i]);
        if (!f) continue;
        programs++;
        loops += f->layout.program != 0;
        for (int k = 0; k < f->n_in; k++) other |= f->in[k].dtype != WICK_F32 && f->in[k].dtype != WICK_BOOL;
    }
    return programs == 1 && loops == 1 ? '+' : other ? 'd' : programs > 1 ? 's' : programs ? '.' : '?';
}

/* The optimizer refuses the option: the plan is NULL. False: it failed otherwise. */
static bool training_open(training *t, const rule *r, const option *o) {
    *t = (training){.dtype = o->dtype};
    if (wick_context_new(&(wick_context_options){.threads = 1}, &t->ctx) != WICK_OK ||
        wick_model_new(t->ctx, &t->model) != WICK_OK)
        return false;
    const wick_optim_options all = with(r->options, &o->more);
    const wick_spec in = {"x", o->dtype, 2, {BATCH, ROWS}};
    const wick_status status = wick_optimizer_new(t->model, &all, &t->optimizer);
    if (status != WICK_OK) return status == WICK_ERR_INVALID;
    return wick_compile(t->ctx, step, t, 1, &in, 1, &(wick_compile_options){.precision = o->precision}, &t->plan) ==
           WICK_OK;
}
static void training_close(training *t) {
    wick_plan_free(&t->plan);
    wick_optimizer_free(&t->optimizer);
    wick_model_free(&t->model);
    wick_context_free(&t->ctx);
}

TEST(every_rule_with_every_option_is_one_loop_or_the_list_says_why_not) {
    bool seen[WICK_OPTIM_KINDS] = {[WICK_MUON] = true}; /* of matrices products, of the rest AdamW */
    for (size_t r = 0; r < WICK_COUNTOF(rules); r++) {
        seen[rules[r].options.kind] = true;
        for (size_t k = 0; k < WICK_COUNTOF(options); k++) {
            training t;
            REQUIRE(training_open(&t, &rules[r], &options[k]));
            const char got = t.plan ? letter_of(t.plan) : '-';
            CHECK_MSG(got == rules[r].loops[k], "%s, %s is %c, not %c", rules[r].name, options[k].name, got,
                      rules[r].loops[k]);
            training_close(&t);
        }
    }
    for (int k = 0; k < WICK_OPTIM_KINDS; k++) CHECK_MSG(seen[k], "kind %d has no row", k);
}

/* All states after some steps, one after the other. Without loops: instruction by instruction. */
static size_t train(const rule *r, const option *o, bool loops, float *states, size_t most) {
    training t;
    wick_workspace *ws = NULL;
    size_t n = 0;
    bool good = training_open(&t, r, o) && t.plan && wick_workspace_new(t.plan, &ws) == WICK_OK;
    for (size_t i = 0; good && !loops && i < t.plan->n_steps; i++) {
        wick_step_program *a = (wick_step_program *)(uintptr_t)t.plan->steps[i].args; /* the plan is this test's own */
        if (program_of(&t.plan->steps[i]) && a->fused.layout.program)
            a->fused.layout.program = 0, a->fused.layout.mode = WICK_FUSED_PLAIN;
    }
    for (int i = 0; i < 3 && good; i++) {
        float x[BATCH * ROWS], loss;
        test_seed = (uint64_t)i + 1;
        for (int k = 0; k < BATCH * ROWS; k++) x[k] = (float)test_rand_real(-1, 1);
        good = wick_run(ws, (const void *[]){x}, (void *[]){&loss}) == WICK_OK;
    }
    for (int i = 0; i < wick_model_count(t.model) && good; i++) {
        wick_tensor *state = wick_model_at(t.model, i).tensor;
        const size_t count = (size_t)wick_tensor_count(state);
        if (wick_tensor_dtype(state) != WICK_F32 || n + count > most) continue;
        good = wick_read(state, states + n, count * sizeof *states) == WICK_OK;
        n += count;
    }
    wick_workspace_free(&ws);
    training_close(&t);
    return good ? n : 0;
}

TEST(training_has_the_same_bits_without_loops) {
    static float states[2][5 * ROWS * COLS];
    for (size_t r = 0; r < WICK_COUNTOF(rules); r++)
        for (size_t k = 0; k < WICK_COUNTOF(options); k++) {
            if (rules[r].loops[k] != '+') continue;
            const size_t n = train(&rules[r], &options[k], true, states[0], WICK_COUNTOF(states[0]));
            CHECK(n >= ROWS * COLS && n == train(&rules[r], &options[k], false, states[1], WICK_COUNTOF(states[1])));
            CHECK_MSG(!memcmp(states[0], states[1], n * sizeof(float)), "%s, %s", rules[r].name, options[k].name);
        }
}

/* ---- programs of graphs ------------------------------------------------------------------------------------------ */

static wick_model *model; /* of the graph at hand */
#define GRAPH(name) static wick_tensor *name(wick_tensor *const *in)

GRAPH(batch_norm) {
    wick_model_set_training(model, false);
    return wick_nn_batch_norm(model, "norm", in[0]);
}
GRAPH(batch_norm_relu) { return wick_relu(batch_norm(in)); }

/* The sum, with its gradient in what the graph adds to the model first. */
static wick_tensor *trained(wick_tensor *y) {
    wick_tensor *w = wick_model_at(model, 0).tensor, *g;
    wick_tensor *loss = wick_sum(wick_square(y), WICK_ALL_AXES, false);
    wick_grad(loss, 1, &w, &g);
    return g;
}
static wick_tensor *conv(const char *name, wick_tensor *x, int64_t channels) {
    return wick_nn_conv(model, name, x, channels, 3, &(wick_nn_conv_options){.same = true});
}
static wick_tensor *norm(const char *name, wick_tensor *x) { return wick_nn_batch_norm(model, name, x); }

/* Planes lie together: no convolution is near, before which channels come last. */
GRAPH(batch_norm_trained) {
    wick_tensor *w = wick_model_state(model, "w", WICK_ROLE_PARAM, WICK_F32, wick_tensor_rank(in[0]),
                                      wick_tensor_dims(in[0]), wick_init_constant(1));
    return trained(wick_max_pool(norm("norm", w), &(wick_pool_options){.kernel = {2, 2}}));
}
/* Two residual blocks: past the first one x goes as it is, past the second one through a norm. */
GRAPH(residual_trained) {
    wick_tensor *x = wick_relu(norm("n1", conv("c1", in[0], 8))), *y, *z;
    y = wick_relu(norm("n2", conv("c2", x, 8)));
    x = wick_relu(wick_add(norm("n3", conv("c3", y, 8)), x));
    y = wick_relu(norm("n4", conv("c4", x, 8)));
    z = norm("n6", conv("c6", x, 8));
    x = wick_relu(wick_add(norm("n5", conv("c5", y, 8)), z));
    return trained(conv("c7", x, 4));
}
GRAPH(layer_norm_trained) {
    wick_tensor *x = wick_nn_linear(model, "before", in[0], 256);
    return trained(wick_nn_linear(model, "after", wick_nn_layer_norm(model, "norm", x), 8));
}

GRAPH(add_number) { return wick_add(in[0], in[1]); }
GRAPH(sub_number) { return wick_sub(in[0], in[1]); }
GRAPH(mul_number) { return wick_mul(in[0], in[1]); }
GRAPH(number_mul) { return wick_mul(in[1], in[0]); }
GRAPH(mul_add) { return wick_add(wick_mul(in[0], in[1]), in[2]); }
GRAPH(mul_add_relu) { return wick_relu(mul_add(in)); }
GRAPH(addcmul) { return wick_addcmul(in[0], in[1], in[2], 0.5); }
GRAPH(clip) { return wick_clip(in[0], -1, 1); }
GRAPH(elu) { return wick_elu(in[0], 1.5); }
GRAPH(leaky_relu) { return wick_leaky_relu(in[0], 0.1); }
GRAPH(softshrink) { return wick_softshrink(in[0], 0.1); }
GRAPH(hardshrink) { return wick_hardshrink(in[0], 0.1); }
GRAPH(nan_to_num) { return wick_nan_to_num(in[0], 0, 1, -1); }

#define IMAGES                                                                                                         \
    {                                                                                                                  \
        "x", WICK_F32, 4, { 4, 8, 32, 32 }                                                                             \
    }
#define MATRIX                                                                                                         \
    {                                                                                                                  \
        "x", WICK_F32, 2, { 128, 256 }                                                                                 \
    }
#define NUMBER                                                                                                         \
    {                                                                                                                  \
        "x", WICK_F32, 0, { 0 }                                                                                        \
    }
enum { ELEMENTS = 4 * 8 * 32 * 32 }; /* of images, and of matrices: programs over others are not meant */
static const struct graph {
    const char *name;
    wick_tensor *(*record)(wick_tensor *const *in);
    int programs, n_in;
    wick_spec in[3];
} graphs[] = {
    {"norm_planes", batch_norm, 1, 1, {IMAGES}},
    {"norm_planes_relu", batch_norm_relu, 1, 1, {IMAGES}},
    {"norm_planes_trained", batch_norm_trained, 3, 1, {IMAGES}},
    {"norm_channels", batch_norm, 1, 1, {MATRIX}},
    {"norm_channels_relu", batch_norm_relu, 1, 1, {MATRIX}},
    {"residual_trained", residual_trained, 6, 1, {IMAGES}},
    {"layer_norm_trained", layer_norm_trained, 2, 1, {MATRIX}},
    {"add_number", add_number, 1, 2, {MATRIX, NUMBER}},
    {"sub_number", sub_number, 1, 2, {MATRIX, NUMBER}},
    {"mul_number", mul_number, 1, 2, {MATRIX, NUMBER}},
    {"number_mul", number_mul, 1, 2, {MATRIX, NUMBER}},
    {"mul_add", mul_add, 1, 3, {MATRIX, MATRIX, MATRIX}},
    {"mul_add_numbers", mul_add, 1, 3, {MATRIX, NUMBER, NUMBER}},
    {"mul_add_relu", mul_add_relu, 1, 3, {MATRIX, MATRIX, MATRIX}},
    {"addcmul", addcmul, 1, 3, {MATRIX, MATRIX, MATRIX}},
    {"clip", clip, 1, 1, {MATRIX}},
    {"elu", elu, 1, 1, {MATRIX}},
    {"leaky_relu", leaky_relu, 1, 1, {MATRIX}},
    {"softshrink", softshrink, 1, 1, {MATRIX}},
    {"hardshrink", hardshrink, 1, 1, {MATRIX}},
    {"nan_to_num", nan_to_num, 1, 1, {MATRIX}},
};

/* ---- the table --------------------------------------------------------------------------------------------------- */

enum { MOST = 128, TEXT = 4096, WIDTH = 116 };
static char table[1 << 16], rows[MOST][TEXT]; /* rows: what is in the table, to have each once */
static size_t length;
static int n_rows, column;

static void add(const char *fmt, ...) WICK_PRINTF(1, 2);
static void add(const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    const int n = vsnprintf(table + length, sizeof table - length, fmt, args);
    va_end(args);
    length = WICK_MIN(length + (size_t)WICK_MAX(n, 0), sizeof table - 1);
}
/* The words of the text, in lines that go on. */
static void add_words(const char *text) {
    while (*text) {
        const int n = (int)strcspn(text, " ");
        if (column + 1 + n > WIDTH) add(" \\\n     "), column = 5;
        add(" %.*s", n, text);
        column += 1 + n;
        text += n + (text[n] == ' ');
    }
}

/* As programs.h says. false: it is none of those that can be compiled ahead. */
static bool row_of(const wick_fused *f, char text[TEXT]) {
#define NAME(name, ...) #name,
    static const char *const ops[] = {WICK_EW_TABLE(NAME)};
#undef NAME
    size_t n = (size_t)snprintf(text, TEXT, "%d,", f->n_in);
#define PUT(...) n += (size_t)snprintf(text + n, TEXT - n, __VA_ARGS__)
    bool good = true;
    for (int i = 0; i < f->n_in; i++) {
        const uint8_t kind = f->layout.in_kind[i];
        const bool number = kind == WICK_FUSED_SAME || kind == WICK_FUSED_STILL, mask = f->in[i].dtype == WICK_BOOL;
        good &= f->in[i].dtype == WICK_F32 || (mask && !number);
        PUT(" %c(%d)", number ? 'S' : mask ? 'M' : 'A', f->in[i].reg);
    }
    PUT(",");
    for (int i = 0; i < f->n_instr; i++) {
        const wick_fused_instr *in = &f->instr[i];
        good &= in->op != WICK_FUSED_CAST && in->type == WICK_CF32 && (in->to == WICK_CF32 || in->to == WICK_CBOOL);
        if (!good) return false;
        PUT(" %c%d(%d,%s", in->to == WICK_CBOOL ? 'C' : 'I', wick_fused_arity(in), in->dst, ops[in->op]);
        for (int k = 0; k < wick_fused_arity(in); k++) PUT(",%d", in->src[k]);
        PUT(")");
    }
    PUT(",");
    for (int o = 0; o < f->n_out; o++) {
        good &= f->out[o].dtype == WICK_F32 || f->out[o].dtype == WICK_BOOL;
        PUT(" %c(%d,%d)", f->out[o].dtype == WICK_BOOL ? 'B' : 'O', o, f->out[o].reg);
    }
    return good && n < TEXT - 1;
}

/* number: of those with the name; 0: it is the only one. */
static void add_program(const wick_fused *f, const char *name, int number) {
    char text[TEXT];
    REQUIRE(row_of(f, text));
    for (int i = 0; i < n_rows; i++)
        if (!strcmp(rows[i], text)) return;
    REQUIRE(n_rows < MOST);
    memcpy(rows[n_rows++], text, TEXT);
    const size_t from = length;
    add(" \\\n    P(");
    for (const char *c = name; *c; c++)
        if (isalnum((unsigned char)*c) || *c == '_')
            add("%c", tolower((unsigned char)*c));
        else if (*c == ' ')
            add("_");
    if (number) add("_%d", number);
    add(",");
    column = (int)(length - from) - 3;
    add_words(text);
    add(")");
}

static void add_updates(void) {
    for (size_t r = 0; r < WICK_COUNTOF(rules); r++)
        for (size_t k = 0; k < WICK_COUNTOF(options); k++) {
            training t;
            char name[96];
            if (rules[r].loops[k] != '+') continue;
            REQUIRE(training_open(&t, &rules[r], &options[k]) && t.plan);
            snprintf(name, sizeof name, k ? "%s %s" : "%s", rules[r].name, options[k].name);
            for (size_t i = 0; i < t.plan->n_steps; i++)
                if (update_of(&t.plan->steps[i])) add_program(update_of(&t.plan->steps[i]), name, 0);
            training_close(&t);
        }
}

static wick_status record(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx;
    out[0] = ((const struct graph *)user)->record(in);
    return WICK_OK;
}
/* Elementwise over all elements, not one op on arrays alone; or a reduction of planes, which makes of an element what
 * it sums. */
static bool is_meant(const wick_fused *f) {
    char text[TEXT];
    if (f->layout.total != ELEMENTS || f->n_instr == 0 || (f->reduces && !f->layout.planes)) return false;
    return row_of(f, text) && (f->n_instr > 1 || strchr(text, 'S'));
}
static void add_graphs(void) {
    /* what becomes one program is a matter of costs: those of a CPU with wide vectors, whatever the tier at hand */
    static const wick_tuning wide = {.cost_light_rate = 60000, .cost_heavy_rate = 5000, .cost_reduce_rate = 40000};
    for (size_t g = 0; g < WICK_COUNTOF(graphs); g++) {
        wick_context *ctx;
        wick_plan *plan;
        REQUIRE(wick_context_new(&(wick_context_options){.threads = 1, .tuning = &wide}, &ctx) == WICK_OK);
        REQUIRE(wick_model_new(ctx, &model) == WICK_OK);
        REQUIRE(wick_compile(ctx, record, (void *)(uintptr_t)&graphs[g], graphs[g].n_in, graphs[g].in, 1, NULL,
                             &plan) == WICK_OK);
        const int before = n_rows;
        for (size_t i = 0; i < plan->n_steps; i++) {
            const wick_fused *f = program_of(&plan->steps[i]);
            if (f && is_meant(f)) add_program(f, graphs[g].name, graphs[g].programs > 1 ? n_rows - before + 1 : 0);
        }
        CHECK_MSG(n_rows - before == graphs[g].programs, "%s: %d programs", graphs[g].name, n_rows - before);
        wick_plan_free(&plan);
        wick_model_free(&model);
        wick_context_free(&ctx);
    }
}

static void make_table(void) {
    length = 0, n_rows = 0;
    add("/* programs_table.h: the programs of programs.h, which says how to read them. Written by\n"
        " * `test_house_programs --write` from the plans of optimizers and graphs that are listed there. */\n"
        "#ifndef WICK_KERNELS_FUSED_PROGRAMS_TABLE_H\n"
        "#define WICK_KERNELS_FUSED_PROGRAMS_TABLE_H\n\n"
        "/* clang-format off */\n"
        "#define WICK_PROGRAMS(P)");
    add_updates();
    add_graphs();
    add("\n/* clang-format on */\n\n#endif\n");
}

#define TABLE WICK_SOURCE_DIR "/src/kernels/fused/programs_table.h"
TEST(the_table_is_what_plans_are_made_of) {
    static char have[sizeof table];
    make_table();
    FILE *f = fopen(TABLE, "rb");
    REQUIRE(f);
    const size_t n = fread(have, 1, sizeof have - 1, f);
    fclose(f);
    CHECK_MSG(n == length && !memcmp(have, table, n), "%s is out of date: run test_house_programs --write", TABLE);
}

int main(int argc, char **argv) {
    if (argc < 2 || strcmp(argv[1], "--write")) return test_main(argc, argv);
    make_table();
    if (test_fails) return 1;
    FILE *f = fopen(TABLE, "wb");
    if (!f || fwrite(table, 1, length, f) != length) return perror(TABLE), 1;
    return fclose(f) != 0;
}
