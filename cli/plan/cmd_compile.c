/* wick compile: a model, or a step of its training, as C that needs no library, and how large it is. */
#include "object_size.h"
#include "../options.h"
#include "planned.h"
#include "../onnx/ports.h"
#include "../term/log.h"
#include "../train/trainer.h"

#include "wick/codegen.h"

#include <stdlib.h>
#include <string.h>

/* Of inputs (or outputs), in the file's words, or NULL: a network of wick train has one of each. */
static const char **port_names(const planned *p, bool outputs) {
    const int n = outputs ? wick_plan_get_info(p->plan).outputs : p->n_in;
    const char **names = calloc((size_t)n + 1, sizeof *names);
    for (int i = 0; names && i < n; i++) {
        if (p->onnx)
            names[i] = outputs ? wick_onnx_output(p->onnx, i).name : wick_onnx_input(p->onnx, i).name;
        else
            names[i] = outputs ? "scores" : i ? "label" : "image";
    }
    return names;
}

/* The options of --train alone. */
static const char *without_train(const cli_options *o) {
    static const char *const names[] = {
        "loss",  "label-smoothing", "optimizer",    "lr",    "momentum", "nesterov", "beta1",
        "beta2", "amsgrad",         "weight-decay", "group", "clip",     "freeze",   "head"};
    for (size_t i = 0; i < sizeof names / sizeof *names && !o->train; i++)
        if (options_given(o, names[i])) return names[i];
    return NULL;
}

/* What is trained, then what the optimizer keeps. NULL: out of memory. */
static wick_c_state *make_states(const planned *p, int *n) {
    const int count = wick_model_count(p->c.model);
    wick_c_state *states = calloc((size_t)count + 1, sizeof *states);
    *n = 0;
    for (int param = 1; param >= 0 && states; param--)
        for (int i = 0; i < count; i++) {
            const wick_named s = wick_model_at(p->c.model, i);
            if ((s.role != WICK_ROLE_OPTIM) == (param == 1))
                states[(*n)++] = (wick_c_state){s.name, s.tensor, param == 1};
        }
    return states;
}

/* The step of training and the network, in one file. */
static wick_status write_trained(planned *p, wick_c_options *options, wick_c_info *info) {
    wick_tensor *rate = wick_model_find(p->c.model, "optim.plateau.scale");
    wick_c_state *states = make_states(p, &options->n_states);
    wick_status status = states ? wick_write(rate, &p->rate, sizeof p->rate) : WICK_ERR_NOMEM;
    const wick_c_entry entries[] = {
        {.plan = p->plan,
         .verb = "train",
         .inputs = (const char *[]){"image", p->o->of_compile.loss ? "target" : "label"},
         .outputs = (const char *[]){"loss"}},
        {.plan = p->run, .verb = "run", .inputs = (const char *[]){"image"}, .outputs = (const char *[]){"scores"}}};
    options->states = states;
    options->rate = rate;
    if (status == WICK_OK) status = wick_plans_write_c(2, entries, p->o->out, options, info);
    free(states);
    return status;
}

static void print_size(const char *what, int64_t bytes, const char *of) {
    printf("%-6s %9lld bytes  %s\n", what, (long long)bytes, of);
}

static void report(const cli_options *o, const planned *p, const wick_c_info *info) {
    char path[4096];
    object_size size = {0};
    snprintf(path, sizeof path, "%s/%s.c", o->out, o->of_compile.name);
    const bool compiled = object_size_compiled(o->of_compile.cc, path, &size);
    if (o->json) {
        json j = log_json_open();
        json_bool(&j, "ok", true);
        json_text(&j, "model", p->title);
        json_text(&j, "source", path);
        json_integer(&j, "source_bytes", (int64_t)info->source_bytes);
        json_integer(&j, "kernels", info->kernels);
        json_integer(&j, "folded", info->folded);
        json_integer(&j, "const_bytes", (int64_t)info->const_bytes);
        json_integer(&j, "arena_bytes", (int64_t)info->arena_bytes);
        json_integer(&j, "state_bytes", (int64_t)info->state_bytes);
        json_text(&j, "cc", compiled ? o->of_compile.cc : NULL);
        if (compiled) {
            json_integer(&j, "object_code_bytes", size.code);
            json_integer(&j, "object_const_bytes", size.constant);
            json_integer(&j, "object_ram_bytes", size.ram);
        }
        log_json_close(&j);
        return;
    }
    log_print("%s\n", p->title);
    log_print("%s: %d kernels", path, info->kernels);
    if (info->folded) printf(", %d more computed now", info->folded);
    printf("\n");
    if (compiled) print_size("code", size.code, o->of_compile.cc);
    print_size("const",
               compiled && size.constant > (int64_t)info->const_bytes ? size.constant : (int64_t)info->const_bytes,
               "weights and other constants");
    print_size("RAM", compiled ? size.ram : (int64_t)(info->arena_bytes + info->state_bytes),
               info->state_bytes ? "static: the arena of intermediates, weights, and what the optimizer keeps"
                                 : "static: the arena of intermediates");
    if (info->state_bytes)
        print_size("states", (int64_t)info->state_bytes, "of these: weights, and what the optimizer keeps");
    if (!compiled)
        log_note("%s doesn't compile it here: the bytes of code are not known; --cc COMMAND names another compiler",
                 o->of_compile.cc);
}

/* What a run's network takes, which a file of C can't say by itself: it has the network, without what the training did
 * to samples before. */
static void tell_samples(const planned *p) {
    const classifier *c = &p->c;
    if (p->onnx || !p->o->model || !*p->o->model) return;
    if (!c->floats)
        log_note(
            "image: (pixel / 255 - %.9g) / %.9g, as the training made it; wick convert makes ONNX that has this in it",
            c->mean, c->deviation > 0 ? c->deviation : 1.0);
    else if (c->transform)
        log_note("image: what --transform \"%s\" makes of a sample", c->transform);
    else if (c->coding && strncmp(c->coding, "\"table\"", 7) == 0)
        log_note("image: the %lld numbers that rows of the table are coded as", (long long)c->pixels);
}

static const char *compiler_for(const char *isa) {
    return strcmp(isa, "cortex-m") == 0 ? "arm-none-eabi-gcc -mcpu=cortex-m4 -mthumb -mfloat-abi=hard "
                                          "-mfpu=fpv4-sp-d16 -O2"
           : strcmp(isa, "avx2") == 0   ? "cc -O3 -mavx2 -mfma"
           : strcmp(isa, "avx512") == 0 ? "cc -O3 -mavx512f -mfma"
                                        : "cc -O2";
}

int cmd_compile(cli_options *o) {
    const char *stray = without_train(o);
    if (!*o->out) return log_fail(CLI_USAGE, "needs --out DIR");
    if (stray) return log_fail(CLI_USAGE, "--%s is for --train", stray);
    double value;
    const char *below = trainer_below_zero(o, &value);
    if (below) return log_fail(CLI_USAGE, "--%s %g is below 0", below, value);
    if (o->of_compile.loss && options_given(o, "label-smoothing"))
        return log_fail(CLI_USAGE, "--label-smoothing is for cross-entropy, and not for --loss mse");
    if (!options_given(o, "cc")) o->of_compile.cc = compiler_for(o->isa);
    param_groups groups;
    char error[160];
    if (o->train && !groups_read(&groups, o->update.group, o->freeze, 1, error, sizeof error))
        return log_fail(CLI_USAGE, "%s", error);
    wick_context *ctx;
    const wick_tuning any = wick_tuning_of_any_machine(); /* the files are the same on all of one architecture */
    if (wick_context_new(&(wick_context_options){.threads = (int)o->threads, .tuning = &any}, &ctx) != WICK_OK)
        return log_fail(CLI_FAILED, "could not start: out of memory or threads");
    planned p = {0};
    int code = planned_open(&p, o, ctx);
    const char **in = code == CLI_OK ? port_names(&p, false) : NULL, **out = in ? port_names(&p, true) : NULL;
    if (code == CLI_OK && !out) code = log_fail(CLI_FAILED, "out of memory");
    if (code == CLI_OK) {
        const char *slash = strrchr(p.title, '/'); /* the files are the same whatever folder the model is in */
        wick_c_options options = {.name = o->of_compile.name,
                                  .title = slash ? slash + 1 : p.title,
                                  .inputs = in,
                                  .outputs = out,
                                  .weights_apart = strcmp(o->weights, "file") == 0,
                                  .lanes = (int)o->of_compile.lanes,
                                  .isa = strcmp(o->isa, "plain") == 0 ? NULL : o->isa};
        wick_c_info info;
        const wick_status status =
            o->train ? write_trained(&p, &options, &info) : wick_plan_write_c(p.plan, o->out, &options, &info);
        if (status == WICK_OK) {
            report(o, &p, &info);
            tell_samples(&p);
        } else
            code = log_fail(status == WICK_ERR_INVALID       ? CLI_USAGE
                            : status == WICK_ERR_UNSUPPORTED ? CLI_BAD_FILE
                                                             : log_code(status, CLI_FAILED),
                            "%s", log_why(ctx, status));
    }
    free(in);
    free(out);
    planned_free(&p);
    wick_context_free(&ctx);
    return code;
}
