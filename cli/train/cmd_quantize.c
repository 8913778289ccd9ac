/* wick quantize: a trained model in 8 bits, as ONNX, with what that costs by what its task is judged by, on samples
 * that the ranges were not taken from. */
#include "../options.h"
#include "../term/log.h"
#include "evaluate.h"
#include "gate.h"

#include "wick/compress.h"
#include "wick/datasets.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 32, SENSITIVITY_IMAGES = 128 };

typedef struct quantizing {
    gate g;
    wick_dataset *few; /* of those observed, for sensitivity */
    wick_quantizer *q;
    char made[32];       /* "in int8" */
    int n_kept;          /* by sensitivity */
    double *sensitivity; /* by layer: mean square of what it changes in the outputs; NULL: not measured */
    int *bits;           /* by layer, of what was judged last; NULL: layers aren't chosen */
    bool too_large;      /* nothing is as small as --max-kb */
} quantizing;

/* Activations stay in floats. */
static bool weights_alone(const cli_options *o) { return o->of_quantize.block || o->of_quantize.weights_only; }
static const char *kind_of(const cli_options *o) {
    if (o->of_quantize.weights_only) return o->of_quantize.weights_only == WICK_WEIGHTS_F8 ? "f8" : "int8";
    static const char *const bits[] = {"w2", "w3", "w4", "w5", "w6", "w7", "int8"};
    if (o->of_quantize.activations) return "int16x8";
    return o->of_quantize.block ? "int4" : bits[o->of_quantize.weight_bits - 2];
}

static int failed(const quantizing *w, wick_status status, int blame) { return gate_failed(&w->g, status, blame); }

/* ---- making ------------------------------------------------------------------------------------------------------ */

static wick_status observe(void *user, const void *const *in, const int64_t *labels) {
    (void)labels;
    return wick_quantizer_observe(user, in);
}
/* --weight-bits of a network that has no layer but the first and the last, which have 8 bits by themselves. */
static int check_bits(const quantizing *w) {
    const cli_options *o = w->g.o;
    const int n = wick_quantizer_layers(w->q);
    if (weights_alone(o) || o->of_quantize.weight_bits == 8 || *o->of_quantize.wide_layers || o->gate.max_kb > 0)
        return CLI_OK;
    for (int i = 0; i < n; i++)
        if (wick_quantizer_layer_at(w->q, i).bits < 7) return CLI_OK;
    if (w->g.guest) {
        log_note("weights have 8 bits, not %lld: there is no layer but the first and the last",
                 (long long)o->of_quantize.weight_bits);
        return CLI_OK;
    }
    return log_fail(CLI_USAGE,
                    "--weight-bits %lld: the first and the last layer have 8 bits, and there is no other: "
                    "--wide-layers none gives all of them %lld",
                    (long long)o->of_quantize.weight_bits, (long long)o->of_quantize.weight_bits);
}

static int make_quantizer(quantizing *w) {
    static const wick_calibration how[] = {WICK_CALIBRATE_MSE, WICK_CALIBRATE_MINMAX, WICK_CALIBRATE_PERCENTILE,
                                           WICK_CALIBRATE_ENTROPY, WICK_CALIBRATE_MOVING};
    const cli_options *o = w->g.o;
    classifier *c = &w->g.c;
    const int64_t count = wick_dataset_count(w->g.observed), batch = count < BATCH ? count : BATCH;
    const int64_t few = count < SENSITIVITY_IMAGES ? count : SENSITIVITY_IMAGES;
    int64_t first[SENSITIVITY_IMAGES];
    const wick_spec spec = classifier_network_spec(c, batch);
    const wick_quantizer_options options = {
        .calibration = how[o->of_quantize.calibration],
        .percentile = o->of_quantize.percentile,
        .block = o->of_quantize.block,
        .weights_only = (wick_weights_only)o->of_quantize.weights_only,
        .equalise = o->of_quantize.equalise,
        .awq = o->of_quantize.awq,
        .learn_steps = o->of_quantize.learn_steps,
        .smooth = o->of_quantize.smooth,
        .rounding = (wick_weight_rounding)o->of_quantize.rounding,
        .per_tensor = o->of_quantize.per_tensor,
        .reduce_range = o->of_quantize.reduce_range,
        .correct_bias = o->of_quantize.correct_bias || (o->of_quantize.weight_bits <= 6 && !weights_alone(o)),
        .weight_bits = weights_alone(o) ? 0 : (int)o->of_quantize.weight_bits,
        .activation_bits = o->of_quantize.activations ? 16 : 0,
        .wide = !*o->of_quantize.wide_layers                      ? NULL
                : strcmp(o->of_quantize.wide_layers, "none") == 0 ? ""
                                                                  : o->of_quantize.wide_layers,
        .keep = o->gate.keep[0] ? o->gate.keep : NULL};
    for (int64_t i = 0; i < few; i++) first[i] = i;
    wick_status status = wick_dataset_subset(w->g.ctx, w->g.observed, few, first, &w->few);
    if (status == WICK_OK) status = classifier_prepare(c, batch);
    if (status == WICK_OK)
        status = wick_quantizer_new(w->g.ctx, c->model, gate_record_network, c, 1, &spec, 1, &options, &w->q);
    if (status != WICK_OK) return failed(w, status, CLI_USAGE);
    int code = check_bits(w);
    if (code == CLI_OK) code = gate_show(&w->g, batch, observe, w->q);
    if (code == CLI_OK && o->of_quantize.smooth > 0) { /* then of what the images are in the smoothed network */
        if ((status = wick_quantizer_smooth(w->q)) != WICK_OK) return failed(w, status, CLI_FAILED);
        code = gate_show(&w->g, batch, observe, w->q);
    }
    if (code != CLI_OK) return code;
    w->g.made = wick_quantizer_apply;
    w->g.made_user = w->q;
    status = wick_quantizer_finish(w->q);
    return status == WICK_OK ? CLI_OK : failed(w, status, CLI_BAD_FILE);
}

/* Trains with activations and weights rounded, towards the labels and what the network says in floats. */
static wick_status finish(void *q) { return wick_quantizer_finish(q); }
static int train(quantizing *w) {
    const wick_status status = wick_quantizer_start_training(w->q);
    if (status != WICK_OK) return failed(w, status, CLI_FAILED);
    return gate_train(&w->g, &(gate_training){.model = wick_quantizer_trained(w->q),
                                              .fn = wick_quantizer_apply_trained,
                                              .user = w->q,
                                              .finish = finish,
                                              .owner = w->q,
                                              .lr = 1e-4,
                                              .kind = w->made});
}

/* ---- layers that stay in floats ---------------------------------------------------------------------------------- */

/* What a network gives for the few, batch behind batch. */
typedef struct outputs {
    wick_workspace *workspace;
    float *x;
    int64_t n, room, each; /* numbers there are, and of a batch */
} outputs;
static wick_status note_outputs(void *user, const void *const *in, const int64_t *labels) {
    (void)labels;
    outputs *l = user;
    if (l->room - l->n < l->each) return WICK_OK;
    const wick_status status = wick_run(l->workspace, in, (void *[]){l->x + l->n});
    l->n += l->each;
    return status;
}
static int outputs_of(quantizing *w, bool integers, outputs *l) {
    const int64_t count = wick_dataset_count(w->few), batch = count < BATCH ? count : BATCH;
    const wick_spec spec = classifier_network_spec(&w->g.c, batch);
    wick_plan *plan = NULL;
    wick_status status = classifier_prepare(&w->g.c, batch);
    if (status == WICK_OK)
        status = wick_compile(w->g.ctx, integers ? w->g.made : gate_record_network, integers ? w->g.made_user : &w->g.c,
                              1, &spec, 1, NULL, &plan);
    if (status == WICK_OK) status = wick_workspace_new(plan, &l->workspace);
    if (status == WICK_OK && !l->x) {
        const wick_spec gives = wick_plan_output(plan, 0);
        l->each = (int64_t)(wick_spec_bytes(&gives) / sizeof(float));
        l->room = count / batch * l->each;
        if (!(l->x = step_buffer(l->room, sizeof *l->x)))
            status = wick_context_fail(w->g.ctx, WICK_ERR_NOMEM, "out of memory");
    }
    l->n = 0;
    const int code =
        status == WICK_OK ? gate_show_set(&w->g, w->few, batch, note_outputs, l) : failed(w, status, CLI_FAILED);
    wick_workspace_free(&l->workspace);
    wick_plan_free(&plan);
    return code;
}

/* Keeps the layers that this says so of, and makes the others integers. */
static int keep(quantizing *w, const bool *kept) {
    for (int i = 0; i < wick_quantizer_layers(w->q); i++) wick_quantizer_keep(w->q, i, kept[i]);
    const wick_status status = wick_quantizer_finish(w->q);
    return status == WICK_OK ? CLI_OK : failed(w, status, CLI_BAD_FILE);
}

/* How much each layer alone changes what the network gives. */
static int measure_sensitivity(quantizing *w, const bool *fixed) {
    const int n = wick_quantizer_layers(w->q);
    outputs floats = {0}, integers = {0};
    bool *kept = step_buffer(n, sizeof *kept);
    w->sensitivity = step_buffer(n, sizeof *w->sensitivity);
    int code = kept && w->sensitivity ? outputs_of(w, false, &floats) : log_fail(CLI_FAILED, "out of memory");
    log_note("which layers it comes from: each of %d alone, on %lld %ss", n, (long long)wick_dataset_count(w->few),
             source_noun(w->few));
    for (int i = 0; i < n && code == CLI_OK; i++) {
        w->sensitivity[i] = 0;
        if (fixed[i]) continue;
        for (int k = 0; k < n; k++) kept[k] = k != i;
        code = keep(w, kept);
        if (code == CLI_OK) code = outputs_of(w, true, &integers);
        for (int64_t k = 0; k < floats.n && code == CLI_OK; k++) {
            const double d = (double)floats.x[k] - (double)integers.x[k];
            w->sensitivity[i] += d * d / (double)floats.n;
        }
    }
    free(floats.x);
    free(integers.x);
    free(kept);
    return code;
}

/* With the n most sensitive layers in floats, besides those that --keep names. */
static int keep_most_sensitive(quantizing *w, const bool *fixed, int n) {
    const int layers = wick_quantizer_layers(w->q);
    bool *kept = step_buffer(layers, sizeof *kept);
    if (!kept) return log_fail(CLI_FAILED, "out of memory");
    memcpy(kept, fixed, (size_t)layers * sizeof *kept);
    for (int k = 0; k < n; k++) {
        int most = -1;
        for (int i = 0; i < layers; i++)
            if (!kept[i] && (most < 0 || w->sensitivity[i] > w->sensitivity[most])) most = i;
        if (most >= 0) kept[most] = true;
    }
    const int code = keep(w, kept);
    free(kept);
    w->n_kept = n;
    return code == CLI_OK ? gate_judge(&w->g, true, &w->g.after) : code;
}

/* The fewest layers in floats that --max-drop allows, by what each changes in the outputs. */
static int keep_by_outputs(quantizing *w) {
    const int n = wick_quantizer_layers(w->q);
    int free_layers = 0, low = 0, high;
    bool *fixed = step_buffer(n, sizeof *fixed);
    if (!fixed) return log_fail(CLI_FAILED, "out of memory");
    for (int i = 0; i < n; i++) fixed[i] = wick_quantizer_layer_at(w->q, i).kept, free_layers += !fixed[i];
    high = free_layers - 1; /* one is quantised at least */
    int code = measure_sensitivity(w, fixed);
    if (code == CLI_OK) code = keep_most_sensitive(w, fixed, high);
    if (code == CLI_OK && gate_is_good(&w->g)) {
        while (high - low > 1 && code == CLI_OK) { /* of `low` it is not good, of `high` it is */
            const int middle = low + (high - low) / 2;
            code = keep_most_sensitive(w, fixed, middle);
            if (code == CLI_OK) *(gate_is_good(&w->g) ? &high : &low) = middle;
        }
    }
    if (code == CLI_OK && w->n_kept != high) code = keep_most_sensitive(w, fixed, high);
    free(fixed);
    return code;
}

/* ---- layers by what they add to the loss ------------------------------------------------------------------------- */

static wick_status weigh(void *user, const void *const *in, const int64_t *labels) {
    const quantizing *w = user;
    const classifier *c = &w->g.c;
    /* an ONNX file may end in probabilities, which are no logits */
    const bool by_labels = c->task->kind == TASK_CLASSIFY && !(c->onnx && !c->data[0]);
    return wick_quantizer_weigh(w->q, in, by_labels ? labels : NULL);
}
static int weigh_layers(quantizing *w) {
    const int64_t count = wick_dataset_count(w->g.observed), batch = count < BATCH ? count : BATCH;
    const int n = wick_quantizer_layers(w->q);
    if (!(w->bits = step_buffer(n, sizeof *w->bits))) return log_fail(CLI_FAILED, "out of memory");
    log_note("what rounding of each of %d layers adds to the loss: gradients of %lld samples", n,
             (long long)(count / batch * batch));
    wick_status status = classifier_prepare(&w->g.c, 1);
    int code = status == WICK_OK ? gate_show(&w->g, batch, weigh, w) : failed(w, status, CLI_FAILED);
    if (code != CLI_OK) return code;
    status = wick_quantizer_finish(w->q);
    if (status != WICK_OK) code = failed(w, status, CLI_FAILED);
    for (int i = 0; i < n; i++) w->bits[i] = wick_quantizer_layer_at(w->q, i).bits;
    return code;
}
static int64_t layer_bytes(const quantizing *w) {
    int64_t sum = 0;
    for (int i = 0; i < wick_quantizer_layers(w->q); i++) sum += wick_quantizer_layer_at(w->q, i).bytes;
    return sum;
}
/* Those of so many bytes. *other: they are others than those that were judged last. */
static int choose(quantizing *w, int64_t bytes, bool *other) {
    wick_status status = wick_quantizer_choose(w->q, bytes, NULL);
    *other = false;
    for (int i = 0; i < wick_quantizer_layers(w->q); i++) *other |= wick_quantizer_layer_at(w->q, i).bits != w->bits[i];
    if (status == WICK_OK) status = wick_quantizer_finish(w->q);
    return status == WICK_OK ? CLI_OK : failed(w, status, CLI_FAILED);
}
static int choose_and_judge(quantizing *w, int64_t bytes) {
    bool other;
    const int code = choose(w, bytes, &other);
    for (int i = 0; i < wick_quantizer_layers(w->q); i++) w->bits[i] = wick_quantizer_layer_at(w->q, i).bits;
    return code == CLI_OK && other ? gate_judge(&w->g, true, &w->g.after) : code;
}

/* The fewest bytes with which the bound holds, by bisection; one layer is quantised at least. */
static int choose_to_bound(quantizing *w) {
    enum { ROUNDS = 10 };
    bool other;
    int code = choose(w, INT64_MAX, &other); /* all in floats */
    int64_t low = 0, high = code == CLI_OK ? layer_bytes(w) - 1 : 0;
    if (code == CLI_OK) code = choose(w, 0, &other);
    if (code == CLI_OK) low = layer_bytes(w);
    if (code == CLI_OK) code = choose_and_judge(w, high);
    const bool any = code == CLI_OK && gate_is_good(&w->g);
    for (int i = 0; i < ROUNDS && any && code == CLI_OK && high - low > 1; i++) {
        const int64_t now = low + (high - low) / 2;
        code = choose_and_judge(w, now);
        if (code != CLI_OK) return code;
        if (gate_is_good(&w->g))
            high = layer_bytes(w); /* what was chosen may take less than it could */
        else
            low = now;
    }
    return code == CLI_OK ? choose_and_judge(w, high) : code;
}

/* --max-drop: which layers have more bits. What is trained has the bits that it was trained with. */
static int keep_to_bound(quantizing *w) {
    enum { BY_LOSS, BY_OUTPUTS };
    if (w->g.o->of_quantize.sensitivity == BY_OUTPUTS || w->g.o->epochs) return keep_by_outputs(w);
    const int code = weigh_layers(w);
    return code == CLI_OK ? choose_to_bound(w) : code;
}

/* The least cost that fits into a file of --max-kb. */
static int choose_to_size(quantizing *w) {
    enum { ROUNDS = 6 };
    const int64_t most = (int64_t)(1e3 * w->g.o->gate.max_kb);
    bool other;
    int code = choose(w, 0, &other);
    int64_t room = 0;
    for (int i = 0; i < ROUNDS && code == CLI_OK; i++) {
        w->g.model = wick_quantizer_model(w->q);
        code = gate_write(&w->g);
        const int64_t over = w->g.bytes[1] - most;
        if (code != CLI_OK || (i && over <= 0)) break;
        if (!i && over > 0) {
            w->too_large = true;
            break;
        }
        /* at first what the smallest leaves over; then less, where more layers need more of other things */
        room = i ? room - over : layer_bytes(w) - over;
        code = choose(w, i == ROUNDS - 2 ? 0 : room, &other);
    }
    return code == CLI_OK ? gate_judge(&w->g, true, &w->g.after) : code;
}

/* ---- what comes of it ------------------------------------------------------------------------------------------ */

static void report_text(const quantizing *w) {
    printf("%-28s %-7s %9s %4s  %22s  %8s%s%s\n", "layer", "op", "weights", "bits", "range of its input", "SQNR",
           w->sensitivity ? "  outputs" : "", w->bits ? "    loss" : "");
    for (int i = 0; i < wick_quantizer_layers(w->q); i++) {
        const wick_quantizer_layer l = wick_quantizer_layer_at(w->q, i);
        log_print("%-28s %-7s %9lld %4d  ", l.name, l.op, (long long)l.weights, l.bits);
        if (l.kept)
            printf("%22s  %8s", "stays f32", "");
        else if (weights_alone(w->g.o))
            printf("%22s  %5.1f dB", "f32", l.weight_sqnr);
        else
            printf("%10.4g .. %8.4g  %5.1f dB", (double)l.low, (double)l.high, l.weight_sqnr);
        if (w->sensitivity) printf("  %6.2g", sqrt(w->sensitivity[i]));
        if (w->bits && l.cost == l.cost) printf("  %6.2g", l.cost);
        printf("\n");
    }
    gate_print(&w->g, "in f32", w->made);
    printf("size      %.1f KB of weights in f32, %.1f KB of file\n", (double)w->g.bytes[0] / 1e3,
           (double)w->g.bytes[1] / 1e3);
    printf("time      %.4g ms, %.4g ms an image: %.2f times as fast\n", 1e3 * w->g.seconds[0], 1e3 * w->g.seconds[1],
           w->g.seconds[0] / w->g.seconds[1]);
}

static void report_json(const quantizing *w) {
    char name[32];
    json j = log_json_open();
    json_bool(&j, "ok", true);
    gate_json(&w->g, &j, !w->too_large && gate_is_good(&w->g), "f32", kind_of(w->g.o));
    json_integer(&j, "weight_bytes_f32", w->g.bytes[0]);
    json_integer(&j, "file_bytes", w->g.bytes[1]);
    json_real(&j, "seconds_f32", w->g.seconds[0], 6);
    snprintf(name, sizeof name, "seconds_%s", kind_of(w->g.o));
    json_real(&j, name, w->g.seconds[1], 6);
    json_open(&j, "layers", '[');
    for (int i = 0; i < wick_quantizer_layers(w->q); i++) {
        const wick_quantizer_layer l = wick_quantizer_layer_at(w->q, i);
        json_open(&j, NULL, '{');
        json_text(&j, "name", l.name);
        json_text(&j, "op", l.op);
        json_bool(&j, "kept", l.kept);
        json_integer(&j, "weights", l.weights);
        json_integer(&j, "bits", l.bits);
        json_real(&j, "low", (double)l.low, 9);
        json_real(&j, "high", (double)l.high, 9);
        json_real(&j, "weight_sqnr_db", l.weight_sqnr, 6);
        if (w->sensitivity) json_real(&j, "logits_rms", sqrt(w->sensitivity[i]), 6);
        if (w->bits) json_real(&j, "expected_loss", l.cost, 6);
        json_close(&j, '}');
    }
    json_close(&j, ']');
    log_json_close(&j);
}

/* Opens, quantises, judges, trains where there are epochs, keeps layers by --max-drop, and writes. */
static int make(quantizing *w) {
    gate *g = &w->g;
    const cli_options *o = g->o;
    snprintf(w->made, sizeof w->made, "in %s", kind_of(o));
    int code = gate_open(g, "wick quantize", "quantised");
    if (code == CLI_OK && !o->of_quantize.weights_only)
        log_note(o->of_quantize.block ? "rounded for %lld %ss" : "ranges of %lld %ss",
                 (long long)wick_dataset_count(g->observed), source_noun(g->observed));
    if (code == CLI_OK) code = make_quantizer(w);
    if (code == CLI_OK) log_note("judged on %lld %s", (long long)wick_dataset_count(g->judged), gate_judged(g));
    if (code == CLI_OK) code = gate_judge_whole(g, 0);
    if (code == CLI_OK) code = gate_judge(g, true, &g->after);
    if (code == CLI_OK && o->gate.max_kb > 0) {
        code = weigh_layers(w);
        if (code == CLI_OK) code = choose_to_size(w);
    }
    if (code == CLI_OK && o->epochs) code = train(w);
    if (code == CLI_OK && !gate_is_good(g) && wick_quantizer_layers(w->q) > 1 && !(o->gate.max_kb > 0))
        code = keep_to_bound(w);
    g->model = wick_quantizer_model(w->q);
    return code == CLI_OK ? gate_write(g) : code;
}
static void drop(quantizing *w) {
    free(w->sensitivity);
    free(w->bits);
    wick_quantizer_free(&w->q);
    wick_dataset_free(&w->few);
    gate_free(&w->g);
}

int quantize_run(wick_context *ctx, const cli_options *train_, const wick_loader_options *loading, const char *folder,
                 quantized *out) {
    const bool int4 = train_->of_train.quantize == 2;
    const int64_t part = train_->epochs / 5 > 1 ? train_->epochs / 5 : 1;
    const cli_options o = {.command = train_->command,
                           .model = folder,
                           .out = out->path,
                           .data = "",
                           .table.separator = "",
                           .table.decimal = "auto",
                           .layout = "auto",
                           .image_size = "",
                           .input_range = "",
                           .gate.keep = "",
                           .of_quantize.wide_layers = "",
                           .gate.anomalies = "",
                           .gate.images = 512,
                           .gate.judge = 10000000, /* all that was held out */
                           .of_quantize.percentile = 99.999,
                           .gate.max_drop = -1,
                           .of_quantize.weight_bits = int4 ? 4 : 8,
                           .of_quantize.learn_steps = true,
                           .epochs = train_->of_train.quantize_epochs ? train_->of_train.quantize_epochs : part,
                           .opset = int4 ? 21 : 18,
                           .seed = train_->seed,
                           .threads = train_->threads};
    quantizing w = {.g = {.o = &o, .needs_logits = true, .ctx = ctx, .guest = true, .loading = loading}};
    *out->path = 0;
    const int length = snprintf(out->path, sizeof out->path, "%s/%s.onnx", folder, int4 ? "int4" : "int8");
    if (length < 0 || (size_t)length >= sizeof out->path) return log_fail(CLI_USAGE, "--out %s: too long", folder);
    log_note("%lld epoch%s with numbers of %s", (long long)o.epochs, plural(o.epochs),
             int4 ? "4 and 8 bits" : "8 bits");
    const int code = make(&w);
    if (code == CLI_OK) {
        out->metric = gate_metric_of(&w.g);
        out->score[0] = w.g.before.score, out->score[1] = w.g.after.score;
        out->drop = gate_drop(&w.g, &out->bound);
        out->epochs = o.epochs, out->bytes = w.g.bytes[1];
        char before[32], after[32];
        gate_score_text(&w.g, out->score[0], before);
        gate_score_text(&w.g, out->score[1], after);
        log_note("%s %s in floats, %s %s, of %lld %s: drop %.4g %s, below %.4g with 95 %%", out->metric.title, before,
                 after, w.made, (long long)w.g.before.n, gate_judged(&w.g), out->drop, gate_unit(&w.g), out->bound);
    }
    drop(&w);
    return code;
}

int cmd_quantize(cli_options *o) {
    quantizing w = {.g = {.o = o, .needs_logits = o->epochs > 0}};
    gate *g = &w.g;
    const char *of_activations[] = {"calibration", "percentile",  "epochs",      "reduce-range",    "correct-bias",
                                    "smooth",      "weight-bits", "wide-layers", "activation-bits", "per-tensor"};
    enum { OF_ACTIVATIONS = sizeof of_activations / sizeof *of_activations };
    if (options_given(o, "percentile") && strcmp(options_text(o, "calibration"), "percentile") != 0)
        return log_fail(CLI_USAGE, "--percentile is for --calibration percentile");
    if (o->of_quantize.learn_steps && (!o->epochs || o->of_quantize.per_tensor))
        return log_fail(CLI_USAGE, "--learn-steps is for --epochs, and not with --per-tensor");
    for (int i = 0; i < 2; i++) {
        const char *name = i ? "rounding" : "awq";
        const bool few = i && o->of_quantize.weight_bits <= 6 && !weights_alone(o);
        if (options_given(o, name) && !few && (!o->of_quantize.block || o->of_quantize.weights_only))
            return log_fail(CLI_USAGE, "--%s is for 4 bits: --block without --weights-only%s", name,
                            i ? ", or --weight-bits of at most 6" : "");
        if (few && o->of_quantize.rounding > WICK_ROUND_NEAREST)
            return log_fail(CLI_USAGE, "--weight-bits has --rounding gptq and nearest; %s is for --block",
                            options_text(o, name));
    }
    for (int i = 0; i < OF_ACTIVATIONS && weights_alone(o); i++)
        if (options_given(o, of_activations[i]) && (i < OF_ACTIVATIONS - 1 || o->of_quantize.block))
            return log_fail(CLI_USAGE, "--%s is for 8 bits%s: --%s leaves activations as they are", of_activations[i],
                            o->of_quantize.weights_only ? " of activations" : "",
                            o->of_quantize.block ? "block" : "weights-only");
    if (!o->of_quantize.weights_only && o->of_quantize.block & (o->of_quantize.block - 1))
        return log_fail(CLI_USAGE, "--block %lld is no power of 2", (long long)o->of_quantize.block);
    if (o->of_quantize.weights_only && o->of_quantize.block == 1)
        return log_fail(CLI_USAGE, "--block 1 is a scale for each number");
    if (o->of_quantize.weight_bits <= 6 && o->of_quantize.per_tensor)
        return log_fail(CLI_USAGE, "--weight-bits %lld has a scale for each channel: leave out --per-tensor",
                        (long long)o->of_quantize.weight_bits);
    if (options_given(o, "wide-layers") && o->of_quantize.weight_bits == 8)
        return log_fail(CLI_USAGE, "--wide-layers is for --weight-bits below 8");
    if (options_given(o, "sensitivity") && o->gate.max_drop < 0 && !(o->gate.keep_score > 0) && !(o->gate.max_kb > 0))
        return log_fail(CLI_USAGE, "--sensitivity is for --max-drop and --keep-score");
    if (options_given(o, "sensitivity") && (o->gate.max_kb > 0 || o->epochs))
        return log_fail(CLI_USAGE, o->epochs ? "--sensitivity is not for --epochs: what is trained goes by outputs"
                                             : "--sensitivity is not for --max-kb, which goes by the loss");
    if (o->of_quantize.activations && (o->of_quantize.weight_bits < 8 || o->of_quantize.reduce_range))
        return log_fail(CLI_USAGE, "--activation-bits 16 is for weights of 8 bits");
    if ((o->of_quantize.weight_bits <= 4 || o->of_quantize.activations) && !weights_alone(o) &&
        !options_given(o, "opset"))
        o->opset = 21;                                                                   /* the first with int4 */
    if (o->of_quantize.weights_only == WICK_WEIGHTS_F8 && !options_given(o, "opset"))
        o->opset = 19; /* the first with f8 */
    int code = make(&w);
    if (code == CLI_OK) code = gate_time(g);
    if (code == CLI_OK) (o->json ? report_json : report_text)(&w);
    if (code == CLI_OK && w.too_large) {
        log_note("%s is written, and has more than --max-kb %g: nothing is as small", o->out, o->gate.max_kb);
        code = CLI_MISSED;
    } else if (code == CLI_OK && !gate_is_good(g)) {
        gate_say_missed(g);
        code = CLI_MISSED;
    }
    drop(&w);
    return code;
}
