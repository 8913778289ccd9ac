#include "planned.h"

#include "../budget.h"
#include "../file_types.h"
#include "../options.h"
#include "../onnx/ports.h"
#include "../term/log.h"
#include "../train/trainer.h"

#include "wick/registry.h"

#include <stdlib.h>
#include <string.h>

/* ---- what the compiler says -------------------------------------------------------------------------------------- */

/* Room for one more of `size` bytes behind n of them, in steps of powers of two. NULL: out of memory. */
static void *grown(planned *p, void *list, size_t n, size_t size) {
    if (n & (n - 1) || p->out_of_memory) return p->out_of_memory ? NULL : list;
    void *more = realloc(list, (n ? 2 * n : 1) * size);
    p->out_of_memory |= !more;
    return more;
}

static char *copied(planned *p, const char *text) {
    char *copy = text ? strdup(text) : NULL;
    p->out_of_memory |= text && !copy;
    return copy;
}

static void hear_remark(void *user, const char *pass, const char *node, const char *place, const char *text) {
    planned *p = user;
    planned_remark *more = grown(p, p->remarks, p->n_remarks, sizeof *more);
    if (!more) return;
    p->remarks = more;
    p->remarks[p->n_remarks++] = (planned_remark){
        .pass = copied(p, pass), .node = copied(p, node), .place = copied(p, place), .text = copied(p, text)};
}

static void hear_graph(void *user, const char *pass, const char *text) {
    planned *p = user;
    planned_graph *more = grown(p, p->graphs, p->n_graphs, sizeof *more);
    if (!more) return;
    p->graphs = more;
    p->graphs[p->n_graphs++] = (planned_graph){copied(p, pass), copied(p, text)};
}

static wick_compile_options compiling(planned *p) {
    return (wick_compile_options){.without = *p->o->without ? p->o->without : NULL,
                                  .memory_budget = (size_t)p->o->memory_budget,
                                  .precision = (wick_precision)p->o->precision,
                                  .wide = p->o->wide,
                                  .on_pass = p->keeps_graphs ? hear_graph : NULL,
                                  .on_remark = p->keeps_remarks ? hear_remark : NULL,
                                  .user = p};
}

/* Whether all names of a list with commas are of passes that no plan needs, or of decisions, of which the compiler
 * knows whether they are. */
static bool can_be_left_out(const char *names) {
    for (size_t length; *names; names += length + (names[length] == ',')) {
        length = strcspn(names, ",");
        bool known = memchr(names, ':', length), required = false;
        for (int i = 0; i < wick_pass_count(); i++) {
            const wick_pass_info pass = wick_pass_at(i);
            if (strlen(pass.name) == length && memcmp(pass.name, names, length) == 0)
                known = true, required |= pass.required;
        }
        if (!known || required) return false;
    }
    return true;
}

static int too_little(const planned *p, const char *option, wick_status status) {
    return log_fail(CLI_USAGE, "--%s: %s", option, log_why(p->ctx, status));
}

/* A name in --without that is none is the command line's fault, and anything else the model's. */
static int failed(const planned *p, wick_status status) {
    const char *why = log_why(p->ctx, status);
    const wick_compile_options options = {.memory_budget = (size_t)p->o->memory_budget, .wide = p->o->wide};
    const char *option = log_compiling(p->ctx, status, &options);
    if (option) return log_fail(CLI_USAGE, "--%s: %s", option, why);
    if (strstr(why, "no parameter is in the group")) return log_fail(CLI_USAGE, "%s", why); /* of --freeze or --group */
    return !can_be_left_out(p->o->without) || strstr(why, "to leave out")
               ? log_fail(CLI_USAGE, "--without: %s", why)
               : log_fail(log_code(status, p->o->model ? CLI_BAD_FILE : CLI_USAGE), "%s", why);
}

/* ---- ONNX files -------------------------------------------------------------------------------------------------- */

/* Ranges of --dim: what they need at most, and the extents for which they do, into p->in. */
static int plan_range(planned *p) {
    const cli_options *o = p->o;
    wick_dim dims[WICK_MAX_NAMED_DIMS];
    int n_named, n = 0;
    /* all that are open: without a --dim they are 1, as elsewhere */
    int code = ports_dims(o, p->onnx, &p->named, &n_named);
    for (int k = 0; k < n_named && code == CLI_OK; k++) {
        if (p->named[k].formula) continue;
        if (n == WICK_MAX_NAMED_DIMS)
            return log_fail(CLI_USAGE, "--dim: ranges are for models of up to %d open dims", WICK_MAX_NAMED_DIMS);
        dims[n++] = p->named[k].range;
    }
    if (code != CLI_OK) return code;
    const wick_dynamic_options options = {.compile = compiling(p)};
    wick_dynamic_options silent = options; /* of the many plans nothing is gathered */
    silent.compile.on_pass = NULL, silent.compile.on_remark = NULL;
    wick_status status = wick_onnx_dynamic(p->onnx, n, dims, &silent, &p->dynamic);
    if (status == WICK_OK) status = wick_dynamic_find_shapes(p->dynamic, &p->shapes);
    if (status == WICK_OK) log_note("making up to %lld plans to bound their memory", (long long)o->of_plan.plans);
    if (status == WICK_OK) status = wick_dynamic_prove(p->dynamic, o->of_plan.plans, &p->bound);
    if (status != WICK_OK) return failed(p, status);
    wick_runner *r = NULL;
    status = wick_runner_new(p->dynamic, &r);
    if (status == WICK_OK) status = wick_runner_bind_dims(r, p->bound.at);
    if (status != WICK_OK) {
        code = log_fail(log_code(status, CLI_BAD_FILE), "%s", r ? wick_runner_error(r) : "out of memory");
        wick_runner_free(&r);
        return code;
    }
    for (int i = 0; i < p->n_in; i++) p->in[i] = wick_runner_input(r, i);
    wick_runner_free(&r);
    size_t at = (size_t)snprintf(p->title, sizeof p->title, "%.160s,", o->model);
    for (int k = 0; k < n && at < sizeof p->title; k++)
        at += (size_t)snprintf(p->title + at, sizeof p->title - at, "%s %.60s=%lld", k ? "," : "", dims[k].name,
                               (long long)p->bound.at[k]);
    return CLI_OK;
}

static int plan_onnx(planned *p) {
    const cli_options *o = p->o;
    if (o->train)
        return log_fail(CLI_USAGE,
                        "--train is for networks of wick train; an ONNX file becomes one by wick train --model %s",
                        o->model);
    if (o->max_batch) return log_fail(CLI_USAGE, "--max-batch is for networks of wick train");
    if (options_given(o, "batch"))
        return log_fail(CLI_USAGE,
                        "--batch is for networks of wick train; --dim NAME=N sets an open extent of an ONNX file");
    const wick_onnx_limits limits = budget_limits(o);
    wick_status status = wick_onnx_open(p->ctx, o->model, &limits, &p->onnx);
    if (status != WICK_OK) return log_fail(log_code(status, CLI_BAD_FILE), "%s", log_why(p->ctx, status));
    int code = ports_check_dims(o, p->onnx);
    if (code == CLI_OK) code = ports_fix_inputs(o, p->onnx);
    if (code != CLI_OK) return code;
    p->n_in = wick_onnx_inputs(p->onnx);
    p->in = calloc((size_t)p->n_in + 1, sizeof *p->in);
    if (!p->in) return log_fail(CLI_FAILED, "out of memory");
    char open[256] = "";
    const bool range = ports_have_range(o);
    if (!ports_specs(o, p->onnx, -1, p->in))
        return log_fail(CLI_BAD_FILE, "%s: its inputs are not all tensors of known rank: there is no one plan",
                        o->model);
    ports_open(p->onnx, p->in, open, sizeof open);
    ports_specs(o, p->onnx, 1, p->in);
    if (range && (code = plan_range(p)) != CLI_OK) return code;
    if (!range && options_given(o, "plans")) return log_fail(CLI_USAGE, "--plans is for ranges of --dim");
    const wick_compile_options options = compiling(p);
    status = wick_onnx_compile(p->onnx, p->in, &options, &p->plan);
    if (status != WICK_OK && *open && !range)
        log_note("%s: open extents are 1 here (%s); --dim NAME=N says another", o->model, open);
    if (status != WICK_OK) return failed(p, status);
    if (!range)
        snprintf(p->title, sizeof p->title, "%.200s%s%.80s%s", o->model, *open ? ", open extents 1 (" : "", open,
                 *open ? ")" : "");
    return CLI_OK;
}

/* ---- networks ---------------------------------------------------------------------------------------------------- */

static wick_status record(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx;
    planned *p = user;
    classifier *c = &p->c;
    out[0] = p->optimizer ? NULL : classifier_predictions(c, in[0]);
    if (!p->optimizer) return WICK_OK;
    wick_tensor *x = classifier_prepared(c, in[0]);
    out[0] = classifier_outputs(c, x);
    wick_here("loss");
    if (c->task->kind != TASK_CLASSIFY)
        out[0] = wick_mean(c->task->rows(c, x, out[0], in[1]), WICK_ALL_AXES, false);
    else
        out[0] = p->o->of_compile.loss
                     ? wick_mse(out[0], in[1])
                     : wick_cross_entropy_with(out[0], in[1],
                                               &(wick_cross_entropy_options){.smoothing = p->o->label_smoothing});
    wick_here("update");
    return wick_optimizer_step(p->optimizer, out[0]);
}

/* For compile: the network for one image, which makes its parameters; then an optimizer whose rate is a state of the
 * model. */
static wick_status make_trained(planned *p, const wick_compile_options *options) {
    wick_spec specs[2];
    cli_options o = *p->o;
    o.of_train.accumulate = 1;
    o.of_train.warmup = 0;
    o.of_train.lr_at = "";
    classifier_specs(&p->c, 1, specs);
    wick_model_set_training(p->c.model, false);
    wick_status status = classifier_prepare(&p->c, 1);
    if (status == WICK_OK) status = wick_compile(p->ctx, record, p, 1, specs, 1, options, &p->run);
    if (status != WICK_OK) return status;
    wick_optim_options optim = trainer_optim(&o, 1, &p->groups);
    p->rate = trainer_peak(&optim);
    optim.lr = 1;
    optim.plateau.factor = 0.5; /* the rate is this 1 times a state */
    wick_model_set_training(p->c.model, true);
    return wick_optimizer_new(p->c.model, &optim, &p->optimizer);
}

/* The network that --arch or --net name, of images as --input says. */
static int named_network(planned *p) {
    const cli_options *o = p->o;
    char arch[4096];
    if (*o->arch && *o->net) return log_fail(CLI_USAGE, "--net says all; it takes no --arch beside it");
    if (o->inputs.n != 1)
        return log_fail(CLI_USAGE, "--%s needs --input once, the extents of an image: 28,28 or 3,32,32",
                        *o->net ? "net" : "arch");
    if ((size_t)snprintf(arch, sizeof arch, "%s%s", *o->net ? "net:" : "", *o->net ? o->net : o->arch) >= sizeof arch)
        return log_fail(CLI_USAGE, "the network is longer than any");
    return classifier_for_arch(&p->c, p->ctx, arch, o->inputs.items[0], o->classes);
}

/* For compile --train: the ONNX file as wick train --model has it. */
static int trained_onnx(planned *p) {
    const cli_options *o = p->o;
    classifier *c = &p->c;
    if (o->inputs.n) return log_fail(CLI_USAGE, "--input makes an input a constant, which --train does not take");
    const wick_onnx_limits limits = budget_limits(o);
    int code = classifier_open_onnx(c, p->ctx, o->model, &limits);
    if (code == CLI_OK) code = ports_check_dims(o, c->onnx);
    if (code != CLI_OK) return code;
    const wick_onnx_port port = wick_onnx_input(c->onnx, 0);
    char place[300];
    if (port.dims[0] < 0 && port_extent(o, &port, 0, -1) >= 0)
        return log_fail(CLI_USAGE, "--dim %s: --batch says how many images are in a step",
                        port_dim_name(&port, 0, place, sizeof place));
    c->pixels = 1;
    for (int d = 1; d < port.rank; d++) {
        const int64_t extent = port_extent(o, &port, d, -1), most = (int64_t)1 << 40;
        if (extent < 0)
            return log_fail(CLI_USAGE, "%s: dim %d of its input \"%s\" has no extent: --dim %s=N says it", o->model, d,
                            port.name, port_dim_name(&port, d, place, sizeof place));
        c->dims[c->rank++] = extent;
        c->pixels = extent && c->pixels > most / extent ? most : c->pixels * extent; /* too many are refused then */
    }
    return classifier_adapt_onnx(c, o->model, options_given(o, "classes") ? o->classes : 0, o->head);
}

static int plan_network(planned *p, bool onnx) {
    const cli_options *o = p->o;
    if (options_given(o, "plans")) return log_fail(CLI_USAGE, "--plans is for ranges of --dim");
    if (o->dims.n && !onnx)
        return log_fail(CLI_USAGE, "--dim is for open extents of ONNX files; --batch says how many images");
    if (o->model && o->inputs.n && !onnx)
        return log_fail(CLI_USAGE, "--input is for --arch and --net, and for inputs of an ONNX file");
    if (o->command == CMD_COMPILE && o->head && !onnx) return log_fail(CLI_USAGE, "--head is for an ONNX file");
    int code = onnx ? trained_onnx(p) : o->model ? classifier_load(&p->c, p->ctx, o->model) : named_network(p);
    if (code == CLI_OK && o->train && options_given(o, "loss")) code = task_check_classes(&p->c, "--loss");
    if (code != CLI_OK) return code;
    wick_status status = WICK_OK;
    wick_model_set_training(p->c.model, o->train);
    const wick_compile_options options = compiling(p);
    if (o->train && o->command == CMD_COMPILE)
        status = make_trained(p, &options);
    else if (o->train)
        status = wick_optimizer_new(
            p->c.model,
            &(wick_optim_options){.kind = WICK_ADAM,
                                  .loss_scale.initial = o->precision == WICK_PRECISION_F16 ? 65536 : 0},
            &p->optimizer);
    p->in = calloc(2, sizeof *p->in);
    if (!p->in) return log_fail(CLI_FAILED, "out of memory");
    p->n_in = 1 + o->train;
    int64_t batch = o->batch;
    if (o->max_batch && options_given(o, "batch"))
        return log_fail(CLI_USAGE, "--max-batch finds the batch; it takes no --batch beside it");
    if (o->max_batch && p->c.onnx)
        return log_fail(CLI_USAGE,
                        "--max-batch is for networks by name or text, not for runs that began with an ONNX file");
    if (o->max_batch && status == WICK_OK) {
        classifier_specs(&p->c, 1, p->in);
        for (int i = 0; i < p->n_in; i++) p->in[i].dims[0] = WICK_BATCH;
        status = wick_plan_max_batch(p->ctx, record, p, p->n_in, p->in, 1, &options, (size_t)o->max_batch, &p->fit);
        /* not: out of memory */
        if (status == WICK_ERR_NOMEM && strstr(log_why(p->ctx, status), "one sample"))
            return too_little(p, "max-batch", status);
        batch = p->fit.batch;
    }
    classifier_specs(&p->c, batch, p->in);
    if (o->train && o->of_compile.loss)
        p->in[1] = (wick_spec){.name = "targets", .dtype = WICK_F32, .rank = 2, .dims = {batch, p->c.classes}};
    if (status == WICK_OK) status = classifier_prepare(&p->c, batch);
    if (status == WICK_OK) status = wick_compile(p->ctx, record, p, p->n_in, p->in, 1, &options, &p->plan);
    if (status != WICK_OK) return failed(p, status);
    char text[128];
    snprintf(p->title, sizeof p->title, "%.120s, %s%s", p->c.arch,
             spec_text(p->in[0].dtype, p->in[0].rank, p->in[0].dims, text, sizeof text),
             o->train && o->command == CMD_COMPILE ? ", a step of training"
             : o->train                            ? ", a step of training with Adam"
                                                   : "");
    return CLI_OK;
}

int planned_open(planned *p, const cli_options *o, wick_context *ctx) {
    p->o = o;
    p->ctx = ctx;
    const bool named = *o->arch || *o->net;
    if (!o->model && !named)
        return log_fail(CLI_USAGE, "needs MODEL, or --arch or --net with --input (see wick %s --help)",
                        cli_commands[o->command].name);
    if (o->model && named) return log_fail(CLI_USAGE, "MODEL has its network; it takes no --arch or --net beside it");
    int code = o->model ? kind_check(o->model, AS_MODEL | AS_RUN, "a model") : CLI_OK;
    const file_kind *kind = code == CLI_OK && o->model ? kind_of(o->model) : NULL;
    const bool onnx = kind && kind->as & AS_MODEL, trains = onnx && o->train && o->command == CMD_COMPILE;
    if (code == CLI_OK && options_given(o, "classes") && !named && !trains)
        code = log_fail(CLI_USAGE, "--classes is for --arch and --net%s",
                        o->command == CMD_COMPILE ? ", and for --train of an ONNX file" : "");
    if (code == CLI_OK) code = onnx && !trains ? plan_onnx(p) : plan_network(p, trains);
    if (code == CLI_OK && p->out_of_memory) code = log_fail(CLI_FAILED, "out of memory");
    return code;
}

void planned_free(planned *p) {
    for (size_t i = 0; i < p->n_remarks; i++) {
        const planned_remark *r = &p->remarks[i];
        free(r->pass), free(r->node), free(r->place), free(r->text);
    }
    for (size_t i = 0; i < p->n_graphs; i++) free(p->graphs[i].pass), free(p->graphs[i].text);
    free(p->remarks);
    free(p->graphs);
    free(p->named);
    free(p->in);
    wick_plan_free(&p->plan);
    wick_plan_free(&p->run);
    wick_optimizer_free(&p->optimizer);
    wick_shapes_free(&p->shapes);
    wick_dynamic_free(&p->dynamic);
    wick_onnx_free(&p->onnx);
    classifier_free(&p->c);
    *p = (planned){0};
}
