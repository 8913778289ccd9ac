/* Which updates of optimizers are one loop that is compiled ahead (kernels/fused/programs.h): every rule with every
 * option, as its plan has it. */
#include "exec/exec.h"
#include "kernels/fused/fused.h"
#include "ops/steps.h"
#include "test.h"
#include "wick/wick.h"

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

/* Muon's matrices are updated by products; what it does with the rest is AdamW's. */
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

/* What letter the programs over as many elements as the weights have make; the rest of a step is none of its update. */
static char letter_of(const wick_plan *plan) {
    int programs = 0, loops = 0, other = 0;
    for (size_t i = 0; i < plan->n_steps; i++) {
        if (plan->steps[i].kind != WICK_STEP_PROGRAM) continue;
        const wick_fused *f = &((const wick_step_program *)plan->steps[i].args)->fused;
        if (f->reduces || f->layout.total != ROWS * COLS) continue;
        programs++;
        loops += f->layout.program != 0;
        for (int k = 0; k < f->n_in; k++) other |= f->in[k].dtype != WICK_F32 && f->in[k].dtype != WICK_BOOL;
    }
    return programs == 1 && loops == 1 ? '+' : other ? 'd' : programs > 1 ? 's' : programs ? '.' : '?';
}

static char letter(const rule *r, const option *o) {
    training t = {.dtype = o->dtype};
    char letter = '?';
    wick_plan *plan = NULL;
    if (wick_context_new(&t.ctx, &(wick_context_options){.threads = 1}) == WICK_OK &&
        wick_model_new(t.ctx, &t.model) == WICK_OK) {
        const wick_optim_options all = with(r->options, &o->more);
        const wick_spec in = {"x", o->dtype, 2, {BATCH, ROWS}};
        const wick_status status = wick_optimizer_new(t.model, &all, &t.optimizer);
        letter = status == WICK_ERR_INVALID ? '-' : '?';
        if (status == WICK_OK && wick_compile(t.ctx, step, &t, 1, &in, 1,
                                              &(wick_compile_options){.precision = o->precision}, &plan) == WICK_OK)
            letter = letter_of(plan);
    }
    wick_plan_free(&plan);
    wick_optimizer_free(&t.optimizer);
    wick_model_free(&t.model);
    wick_context_free(&t.ctx);
    return letter;
}

TEST(every_rule_with_every_option_is_one_loop_or_the_list_says_why_not) {
    bool seen[WICK_OPTIM_KINDS] = {[WICK_MUON] = true};
    for (size_t r = 0; r < WICK_COUNTOF(rules); r++) {
        char got[WICK_COUNTOF(options) + 1] = {0};
        seen[rules[r].options.kind] = true;
        for (size_t k = 0; k < WICK_COUNTOF(options); k++) got[k] = letter(&rules[r], &options[k]);
        for (size_t k = 0; k < WICK_COUNTOF(options); k++)
            CHECK_MSG(got[k] == rules[r].loops[k], "%s with %s is %c, not %c (%s)", rules[r].name, options[k].name,
                      got[k], rules[r].loops[k], got);
    }
    for (int k = 0; k < WICK_OPTIM_KINDS; k++) CHECK_MSG(seen[k], "kind %d has no row", k);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
