/* wick quantize: a trained classifier in 8 bits, as ONNX, with what that costs in accuracy on images that the ranges
 * were not taken from. */
#include "../onnx/convert.h"
#include "evaluate.h"
#include "../term/log.h"
#include "../options.h"
#include "../paths.h"
#include "source.h"
#include "trainer.h"
#include "../tuned.h"

#include "wick/compress.h"
#include "wick/datasets.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { BATCH = 32, TRAINING_BATCH = 64, SENSITIVITY_IMAGES = 128, TIMED_ROUNDS = 41 };

/* What a model makes of the images that judge it. */
typedef struct judgement {
    int64_t n, correct;
    double loss;
    bool *right; /* of each image */
} judgement;

typedef struct quantizing {
    const cli_options *o;
    wick_context *ctx;
    classifier c;
    wick_dataset *all, *observed, *judged, *few; /* few: of observed, for sensitivity */
    wick_dataset *held;                          /* what the training held out, which judges; NULL: part of all does */
    wick_dataset *learned;                       /* all but judged */
    wick_transform *transform;                   /* of its samples; NULL: none */
    wick_quantizer *q;
    judgement floats, integers;
    int n_kept;          /* by sensitivity */
    double *sensitivity; /* by layer: mean square of what it changes in the logits; NULL: not measured */
    double seconds[2];   /* of one image: in floats, in integers */
    int64_t bytes[2];    /* of the weights in floats, of the file */
} quantizing;

static int failed(const quantizing *w, wick_status status, int blame) {
    return log_fail(log_code(status, blame), "%s", log_why(w->ctx, status));
}

/* ---- which images ------------------------------------------------------------------------------------------------ */

/* Numbers of all images in an order drawn by the seed (Fisher and Yates; splitmix64, Steele et al. 2014). */
static int64_t *shuffled(int64_t n, uint64_t seed) {
    int64_t *order = step_buffer(n, sizeof *order);
    for (int64_t i = 0; order && i < n; i++) order[i] = i;
    for (int64_t i = n - 1; order && i > 0; i--) {
        uint64_t z = seed += 0x9E3779B97F4A7C15u;
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
        z = (z ^ z >> 27) * 0x94D049BB133111EBu;
        const int64_t j = (int64_t)((z ^ z >> 31) % (uint64_t)(i + 1)), was = order[i];
        order[i] = order[j], order[j] = was;
    }
    return order;
}

/* What the training held out judges; the images that it learned from are for ranges. */
static int choose_from_both(quantizing *w) {
    const int64_t n = wick_dataset_count(w->all), held = wick_dataset_count(w->held),
                  observed = w->o->images < n ? w->o->images : n, judged = w->o->judge < held ? w->o->judge : held,
                  few = observed < SENSITIVITY_IMAGES ? observed : SENSITIVITY_IMAGES;
    int64_t *order = shuffled(n, (uint64_t)w->o->seed), *others = shuffled(held, (uint64_t)w->o->seed);
    wick_status status = order && others ? WICK_OK : wick_context_fail(w->ctx, WICK_ERR_NOMEM, "out of memory");
    if (status == WICK_OK) status = wick_dataset_subset(w->ctx, w->all, observed, order, &w->observed);
    if (status == WICK_OK) status = wick_dataset_subset(w->ctx, w->all, few, order, &w->few);
    if (status == WICK_OK) status = wick_dataset_subset(w->ctx, w->held, judged, others, &w->judged);
    if (status == WICK_OK && w->o->epochs) status = wick_dataset_subset(w->ctx, w->all, n, order, &w->learned);
    free(order);
    free(others);
    if (status != WICK_OK) return failed(w, status, CLI_BAD_FILE);
    return w->learned ? classifier_transform(&w->c, w->learned, &w->transform) : CLI_OK;
}

/* Two parts of the training images that share none: for ranges, and to judge. */
static int choose_images(quantizing *w) {
    if (w->held) return choose_from_both(w);
    const int64_t n = wick_dataset_count(w->all);
    int64_t observed = w->o->images, judged = w->o->judge;
    if (n < 2) return log_fail(CLI_BAD_FILE, "there are not enough images: %lld", (long long)n);
    if (observed > n / 2) observed = n / 2;
    if (judged > n - observed) judged = n - observed;
    int64_t *order = shuffled(n, (uint64_t)w->o->seed);
    if (!order) return log_fail(CLI_FAILED, "out of memory");
    const int64_t few = observed < SENSITIVITY_IMAGES ? observed : SENSITIVITY_IMAGES;
    wick_status status = wick_dataset_subset(w->ctx, w->all, observed, order, &w->observed);
    if (status == WICK_OK) status = wick_dataset_subset(w->ctx, w->all, judged, order + observed, &w->judged);
    if (status == WICK_OK) status = wick_dataset_subset(w->ctx, w->all, few, order, &w->few);
    /* those behind the judged ones, and then the observed ones */
    if (status == WICK_OK && w->o->epochs) {
        memmove(order + observed, order + observed + judged, (size_t)(n - observed - judged) * sizeof *order);
        status = wick_dataset_subset(w->ctx, w->all, n - judged, order, &w->learned);
    }
    free(order);
    if (status != WICK_OK) return failed(w, status, CLI_BAD_FILE);
    return w->learned ? classifier_transform(&w->c, w->learned, &w->transform) : CLI_OK;
}

/* ---- observing --------------------------------------------------------------------------------------------------- */

static wick_status record_network(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx;
    out[0] = classifier_network(user, in[0]);
    return WICK_OK;
}
static wick_status record_prepared(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx;
    out[0] = classifier_prepared(user, in[0]);
    return WICK_OK;
}

/* Shows the quantizer all images that are for ranges. */
static int observe(quantizing *w, wick_loader *loader, const step *prepared, void *x) {
    for (;;) {
        wick_batch b;
        wick_status status = wick_loader_take(loader, &b);
        if (status != WICK_OK) return failed(w, status, CLI_BAD_FILE);
        if (!b.count) return CLI_OK;
        const int fits = classifier_check_samples(&w->c, b.fields[0], b.count);
        if (fits != CLI_OK) return fits;
        const void *in = b.fields[0];
        if (prepared->plan) {
            status = wick_run(prepared->workspace, (const void *[]){in, NULL}, (void *[]){x});
            if (status != WICK_OK) return log_fail(CLI_FAILED, "%s", wick_workspace_error(prepared->workspace));
            in = x;
        }
        if ((status = wick_quantizer_observe(w->q, &in)) != WICK_OK) return failed(w, status, CLI_BAD_FILE);
    }
}

static int make_quantizer(quantizing *w) {
    static const wick_calibration how[] = {WICK_CALIBRATE_MSE, WICK_CALIBRATE_MINMAX, WICK_CALIBRATE_PERCENTILE,
                                           WICK_CALIBRATE_ENTROPY, WICK_CALIBRATE_MOVING};
    classifier *c = &w->c;
    const int64_t count = wick_dataset_count(w->observed), batch = count < BATCH ? count : BATCH;
    const wick_spec spec = classifier_network_spec(c, batch);
    const wick_quantizer_options options = {.calibration = how[w->o->calibration],
                                            .percentile = w->o->percentile,
                                            .block = w->o->block,
                                            .per_tensor = w->o->per_tensor,
                                            .reduce_range = w->o->reduce_range,
                                            .keep = w->o->keep[0] ? w->o->keep : NULL};
    wick_status status = classifier_prepare(c, batch);
    if (status == WICK_OK)
        status = wick_quantizer_new(w->ctx, c->model, record_network, c, 1, &spec, 1, &options, &w->q);
    if (status != WICK_OK) return failed(w, status, CLI_USAGE);
    wick_transform *transform;
    wick_loader *loader = NULL;
    step prepared = {0};
    int code = classifier_transform(c, w->observed, &transform);
    wick_loader_options loading = {.batch = batch, .drop_last = true, .transform = transform};
    if (!c->floats) loading.mean = c->mean, loading.deviation = c->deviation;
    void *x = step_buffer((int64_t)wick_spec_bytes(&spec), 1);
    if (code == CLI_OK && !x) code = log_fail(CLI_FAILED, "out of memory");
    if (code == CLI_OK && (status = wick_loader_new(w->ctx, w->observed, &loading, &loader)) != WICK_OK)
        code = failed(w, status, CLI_BAD_FILE);
    if (code == CLI_OK && (c->onnx || c->standard) &&
        (status = step_compile(&prepared, c, record_prepared, c, batch, 1, 1, false, 0, 0, NULL)) != WICK_OK)
        code = failed(w, status, CLI_BAD_FILE);
    if (code == CLI_OK) code = observe(w, loader, &prepared, x);
    if (code == CLI_OK && (status = wick_quantizer_finish(w->q)) != WICK_OK) code = failed(w, status, CLI_BAD_FILE);
    step_free(&prepared);
    wick_loader_free(&loader);
    wick_transform_free(&transform);
    free(x);
    return code;
}

/* ---- judging ----------------------------------------------------------------------------------------------------- */

static void note_right(const evaluator *e, int64_t first, int64_t n, void *user) {
    const judgement *j = user;
    for (int64_t i = 0; i < n; i++) j->right[first + i] = e->predicted[i] == e->y[i];
}

/* In integers, or in floats. */
static int judge(quantizing *w, bool integers, judgement *j) {
    evaluator e;
    evaluation result;
    free(j->right);
    *j = (judgement){.n = wick_dataset_count(w->judged)};
    j->right = step_buffer(j->n, sizeof *j->right);
    if (!j->right) return log_fail(CLI_FAILED, "out of memory");
    w->c.quantizer = integers ? w->q : NULL;
    int code = evaluator_new(&e, &w->c, w->judged);
    e.look = note_right;
    e.user = j;
    if (code == CLI_OK) code = evaluator_run(&e, &result);
    if (code == CLI_OK) j->correct = result.correct, j->loss = result.loss;
    evaluator_free(&e);
    w->c.quantizer = NULL;
    return code;
}

/* Images that only one of the two has right. */
static void flips(const quantizing *w, int64_t *lost, int64_t *won) {
    *lost = *won = 0;
    for (int64_t i = 0; i < w->floats.n; i++) {
        *lost += w->floats.right[i] && !w->integers.right[i];
        *won += !w->floats.right[i] && w->integers.right[i];
    }
}
/* The drop in points, and a bound that it is below with 95 % (one side): both judge the same images, so that only those
 * that differ count: the variance of their difference is (lost + won - (lost - won)^2 / n) / n^2 (McNemar 1947). */
static double drop_of(const quantizing *w, double *bound) {
    int64_t lost, won;
    flips(w, &lost, &won);
    const double n = (double)w->floats.n, difference = (double)(lost - won);
    *bound = 100 * (difference + 1.645 * sqrt((double)(lost + won) - difference * difference / n)) / n;
    return 100 * difference / n;
}
static bool is_good(const quantizing *w) {
    double bound;
    (void)drop_of(w, &bound);
    return w->o->max_drop < 0 || bound <= w->o->max_drop;
}

/* ---- layers that stay in floats ---------------------------------------------------------------------------------- */

typedef struct logits {
    float *x;
    int64_t n;
} logits;
static void note_logits(const evaluator *e, int64_t first, int64_t n, void *user) {
    const logits *l = user;
    memcpy(l->x + first * e->c->classes, e->logits, (size_t)(n * e->c->classes) * sizeof *l->x);
}
static int logits_of(quantizing *w, bool integers, logits *l) {
    evaluator e;
    evaluation result;
    w->c.quantizer = integers ? w->q : NULL;
    int code = evaluator_new(&e, &w->c, w->few);
    e.look = note_logits;
    e.user = l;
    if (code == CLI_OK) code = evaluator_run(&e, &result);
    evaluator_free(&e);
    w->c.quantizer = NULL;
    return code;
}

/* Keeps the layers that this says so of, and makes the others integers. */
static int keep(quantizing *w, const bool *kept) {
    for (int i = 0; i < wick_quantizer_layers(w->q); i++) wick_quantizer_keep(w->q, i, kept[i]);
    const wick_status status = wick_quantizer_finish(w->q);
    return status == WICK_OK ? CLI_OK : failed(w, status, CLI_BAD_FILE);
}

/* How much each layer alone changes the logits. */
static int measure_sensitivity(quantizing *w, const bool *fixed) {
    const int n = wick_quantizer_layers(w->q);
    const int64_t count = wick_dataset_count(w->few) * w->c.classes;
    logits floats = {step_buffer(count, sizeof(float)), count}, integers = {step_buffer(count, sizeof(float)), count};
    bool *kept = step_buffer(n, sizeof *kept);
    w->sensitivity = step_buffer(n, sizeof *w->sensitivity);
    int code = floats.x && integers.x && kept && w->sensitivity ? logits_of(w, false, &floats)
                                                                : log_fail(CLI_FAILED, "out of memory");
    talk("which layers it comes from: each of %d alone, on %lld images", n, (long long)wick_dataset_count(w->few));
    for (int i = 0; i < n && code == CLI_OK; i++) {
        w->sensitivity[i] = 0;
        if (fixed[i]) continue;
        for (int k = 0; k < n; k++) kept[k] = k != i;
        code = keep(w, kept);
        if (code == CLI_OK) code = logits_of(w, true, &integers);
        for (int64_t k = 0; k < count && code == CLI_OK; k++) {
            const double d = (double)floats.x[k] - (double)integers.x[k];
            w->sensitivity[i] += d * d / (double)count;
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
    return code == CLI_OK ? judge(w, true, &w->integers) : code;
}

/* The fewest layers in floats that --max-drop allows. */
static int keep_to_bound(quantizing *w) {
    const int n = wick_quantizer_layers(w->q);
    int free_layers = 0, low = 0, high;
    bool *fixed = step_buffer(n, sizeof *fixed);
    if (!fixed) return log_fail(CLI_FAILED, "out of memory");
    for (int i = 0; i < n; i++) fixed[i] = wick_quantizer_layer_at(w->q, i).kept, free_layers += !fixed[i];
    high = free_layers - 1; /* one is quantised at least */
    int code = measure_sensitivity(w, fixed);
    if (code == CLI_OK) code = keep_most_sensitive(w, fixed, high);
    if (code == CLI_OK && is_good(w)) {
        while (high - low > 1 && code == CLI_OK) { /* of `low` it is not good, of `high` it is */
            const int middle = low + (high - low) / 2;
            code = keep_most_sensitive(w, fixed, middle);
            *(is_good(w) ? &high : &low) = middle;
        }
    }
    if (code == CLI_OK && w->n_kept != high) code = keep_most_sensitive(w, fixed, high);
    free(fixed);
    return code;
}

/* ---- training ---------------------------------------------------------------------------------------------------- */

/* Copies the parameters to `to`, one behind the other, or back; to NULL: nothing. Returns their bytes; 0: it failed. */
static size_t copy_parameters(wick_model *m, char *to, bool back) {
    size_t at = 0;
    for (int i = 0; i < wick_model_count(m); i++) {
        const wick_named state = wick_model_at(m, i);
        const void *data;
        if (state.role != WICK_ROLE_PARAM) continue;
        const size_t n = wick_dtype_bytes(wick_tensor_dtype(state.tensor), wick_tensor_count(state.tensor));
        if (to && back && wick_write(state.tensor, to + at, n) != WICK_OK) return 0;
        if (to && !back && wick_data(state.tensor, &data) != WICK_OK) return 0;
        if (to && !back) memcpy(to + at, data, n);
        at += n;
    }
    return at;
}

/* One epoch over the images that judge nothing. */
static int train_epoch(trainer *t, int64_t *number, double *loss) {
    int64_t n, images = 0;
    *loss = 0;
    for (;;) {
        trainer_result result;
        const char *error;
        const int code = trainer_load(t, &n);
        if (code != CLI_OK || !n) {
            *loss /= images ? (double)images : 1;
            return code;
        }
        const wick_status status = trainer_step(t, *number, n, &result, &error);
        if (status != WICK_OK) return log_fail(CLI_FAILED, "training: %s", error);
        ++*number;
        *loss += (double)result.loss * (double)n, images += n;
    }
}

/* Trains with activations and weights rounded, towards the labels and what the network says in floats; the best epoch
 * counts, or none. */
static int train(quantizing *w) {
    const cli_options *o = w->o;
    const int64_t count = wick_dataset_count(w->learned), batch = count < TRAINING_BATCH ? count : TRAINING_BATCH,
                  steps = (count + batch - 1) / batch * o->epochs;
    const wick_optim_options optim = {
        .kind = WICK_ADAM, .lr = o->lr > 0 ? o->lr : 1e-4, .schedule = {.kind = WICK_SCHEDULE_COSINE, .total = steps}};
    const wick_loader_options loading = {.batch = batch, .seed = (uint64_t)o->seed, .transform = w->transform};
    wick_status status = wick_quantizer_start_training(w->q);
    if (status != WICK_OK) return failed(w, status, CLI_FAILED);
    teachers floats = {.n = 1, .temperature = 2, .alpha = 0.7};
    classifier c = w->c;
    floats.c[0] = w->c;
    c.model = wick_quantizer_trained(w->q);
    c.quantizer = w->q;
    c.trained = true;
    trainer t = {0};
    int64_t number = 0, best = w->integers.correct;
    char *kept = step_buffer((int64_t)copy_parameters(c.model, NULL, false), 1);
    const wick_compile_options compiling = {0};
    int code = kept && copy_parameters(c.model, kept, false)
                   ? trainer_new(&t, &c, w->learned, &optim, (trainer_loss){0}, &floats, &loading, &compiling)
                   : log_fail(CLI_FAILED, "out of memory");
    for (int64_t epoch = 0; epoch < o->epochs && code == CLI_OK; epoch++) {
        double loss;
        code = train_epoch(&t, &number, &loss);
        if (code == CLI_OK && (status = wick_quantizer_finish(w->q)) != WICK_OK) code = failed(w, status, CLI_FAILED);
        if (code == CLI_OK) code = judge(w, true, &w->integers);
        if (code != CLI_OK) break;
        talk("epoch %lld/%lld  loss %.4f  accuracy %.2f %% in int8%s", (long long)epoch + 1, (long long)o->epochs, loss,
             100 * (double)w->integers.correct / (double)w->integers.n, w->integers.correct >= best ? "  best" : "");
        if (w->integers.correct < best) continue;
        best = w->integers.correct;
        if (!copy_parameters(c.model, kept, false)) code = log_fail(CLI_FAILED, "out of memory");
    }
    if (code == CLI_OK && !copy_parameters(c.model, kept, true)) code = log_fail(CLI_FAILED, "out of memory");
    if (code == CLI_OK && (status = wick_quantizer_finish(w->q)) != WICK_OK) code = failed(w, status, CLI_FAILED);
    if (code == CLI_OK) code = judge(w, true, &w->integers);
    trainer_free(&t);
    free(kept);
    return code;
}

/* ---- what comes of it -------------------------------------------------------------------------------------------- */

static int by_size(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}
static wick_status record_logits(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx;
    out[0] = classifier_logits(user, in[0]);
    return WICK_OK;
}
/* Medians of one image, in turn. */
static int measure_time(quantizing *w) {
    step s[2] = {{0}, {0}};
    double times[2][TIMED_ROUNDS];
    wick_spec specs[2];
    classifier_specs(&w->c, 1, specs);
    float *x = step_buffer(w->c.pixels, sizeof *x), *y = step_buffer(w->c.classes, sizeof *y);
    wick_status status = x && y ? WICK_OK : WICK_ERR_NOMEM;
    if (x) memset(x, 0, (size_t)w->c.pixels * sizeof *x);
    for (int k = 0; k < 2 && status == WICK_OK; k++) {
        w->c.quantizer = k ? w->q : NULL;
        status = step_compile(&s[k], &w->c, record_logits, &w->c, 1, 1, 1, false, 0, 0, NULL);
    }
    w->c.quantizer = NULL;
    for (int round = -3; round < TIMED_ROUNDS && status == WICK_OK; round++)
        for (int k = 0; k < 2 && status == WICK_OK; k++) {
            const double start = now_seconds();
            status = wick_run(s[k].workspace, (const void *[]){x}, (void *[]){y});
            if (round >= 0) times[k][round] = now_seconds() - start;
        }
    for (int k = 0; k < 2; k++) {
        if (status == WICK_OK) qsort(times[k], TIMED_ROUNDS, sizeof(double), by_size);
        w->seconds[k] = status == WICK_OK ? times[k][TIMED_ROUNDS / 2] : (double)NAN;
        step_free(&s[k]);
    }
    free(x);
    free(y);
    return status == WICK_OK ? CLI_OK : failed(w, status, CLI_FAILED);
}

static wick_status prepare_onnx(void *user, const wick_spec *in) {
    const classifier *c = user;
    return wick_onnx_prepare(c->onnx, in);
}
static wick_status record_onnx(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    classifier *c = user;
    return wick_quantizer_apply(ctx, in, out, c->quantizer);
}
/* An ONNX file, with the input and output that it has. */
static wick_status write_onnx(quantizing *w) {
    const wick_onnx_port in = wick_onnx_input(w->c.onnx, 0), out = wick_onnx_output(w->c.onnx, 0);
    wick_spec spec = classifier_network_spec(&w->c, 1);
    spec.name = in.name;
    const wick_onnx_symbol batch = {in.dim_names[0] ? in.dim_names[0] : "N", 0, 0};
    const wick_onnx_save_options options = {.opset = (int)w->o->opset,
                                            .outputs = (const char *const[]){out.name},
                                            .n_symbols = in.dims[0] < 0,
                                            .symbols = &batch,
                                            .graph = wick_onnx_get_info(w->c.onnx).graph,
                                            .prepare = prepare_onnx};
    return wick_onnx_save(wick_quantizer_model(w->q), record_onnx, &w->c, 1, &spec, 1, w->o->out, &options);
}

static int write(quantizing *w) {
    int code = CLI_OK;
    w->c.quantizer = w->q;
    if (w->c.onnx && !w->c.data[0]) {
        const wick_status status = write_onnx(w);
        if (status != WICK_OK) code = failed(w, status, CLI_FAILED);
    } else {
        code = convert_classifier_to_onnx(&w->c, wick_quantizer_model(w->q), w->o->opset, NULL, w->o->out);
    }
    w->c.quantizer = NULL;
    struct stat s;
    w->bytes[0] = 0;
    for (int i = 0; i < wick_model_count(w->c.model); i++) {
        const wick_named state = wick_model_at(w->c.model, i);
        if (state.role != WICK_ROLE_OPTIM)
            w->bytes[0] += (int64_t)wick_dtype_bytes(wick_tensor_dtype(state.tensor), wick_tensor_count(state.tensor));
    }
    w->bytes[1] = code == CLI_OK && stat(w->o->out, &s) == 0 ? (int64_t)s.st_size : 0;
    return code;
}

static void report_text(const quantizing *w) {
    int64_t lost, won;
    double bound;
    flips(w, &lost, &won);
    const double drop = drop_of(w, &bound), n = (double)w->floats.n;
    printf("%-28s %-7s %9s  %22s  %8s%s\n", "layer", "op", "weights", "range of its input", "SQNR",
           w->sensitivity ? "  logits" : "");
    for (int i = 0; i < wick_quantizer_layers(w->q); i++) {
        const wick_quantizer_layer l = wick_quantizer_layer_at(w->q, i);
        log_print("%-28s %-7s %9lld  ", l.name, l.op, (long long)l.weights);
        if (l.kept)
            printf("%22s  %8s", "stays f32", "");
        else if (w->o->block)
            printf("%22s  %5.1f dB", "f32", l.weight_sqnr);
        else
            printf("%10.4g .. %8.4g  %5.1f dB", (double)l.low, (double)l.high, l.weight_sqnr);
        if (w->sensitivity) printf("  %6.2g", sqrt(w->sensitivity[i]));
        printf("\n");
    }
    printf("\naccuracy  %.2f %% in f32, %.2f %% in %s, of %lld %s\n", 100 * (double)w->floats.correct / n,
           100 * (double)w->integers.correct / n, w->o->block ? "int4" : "int8", (long long)w->floats.n,
           w->held ? "images that the training held out" : "training images that gave no ranges");
    printf("drop      %.2f points, below %.2f with 95 %%: %lld images lost, %lld won\n", drop, bound, (long long)lost,
           (long long)won);
    printf("loss      %.4f, %.4f\n", w->floats.loss, w->integers.loss);
    printf("size      %.1f KB of weights in f32, %.1f KB of file\n", (double)w->bytes[0] / 1e3,
           (double)w->bytes[1] / 1e3);
    printf("time      %.4g ms, %.4g ms an image: %.2f times as fast\n", 1e3 * w->seconds[0], 1e3 * w->seconds[1],
           w->seconds[0] / w->seconds[1]);
}

static void report_json(const quantizing *w) {
    int64_t lost, won;
    double bound;
    flips(w, &lost, &won);
    const double drop = drop_of(w, &bound), n = (double)w->floats.n;
    json j = log_json_open();
    json_bool(&j, "ok", true);
    json_bool(&j, "within", is_good(w));
    json_text(&j, "model", w->o->model);
    json_text(&j, "out", w->o->out);
    json_integer(&j, "observed", wick_dataset_count(w->observed));
    json_integer(&j, "judged", w->floats.n);
    json_real(&j, "accuracy_f32", (double)w->floats.correct / n, 9);
    json_real(&j, w->o->block ? "accuracy_int4" : "accuracy_int8", (double)w->integers.correct / n, 9);
    json_real(&j, "loss_f32", w->floats.loss, 9);
    json_real(&j, w->o->block ? "loss_int4" : "loss_int8", w->integers.loss, 9);
    json_real(&j, "drop_points", drop, 9);
    json_real(&j, "drop_bound_points", bound, 9);
    json_integer(&j, "lost", lost);
    json_integer(&j, "won", won);
    json_integer(&j, "weight_bytes_f32", w->bytes[0]);
    json_integer(&j, "file_bytes", w->bytes[1]);
    json_real(&j, "seconds_f32", w->seconds[0], 6);
    json_real(&j, w->o->block ? "seconds_int4" : "seconds_int8", w->seconds[1], 6);
    json_open(&j, "layers", '[');
    for (int i = 0; i < wick_quantizer_layers(w->q); i++) {
        const wick_quantizer_layer l = wick_quantizer_layer_at(w->q, i);
        json_open(&j, NULL, '{');
        json_text(&j, "name", l.name);
        json_text(&j, "op", l.op);
        json_bool(&j, "kept", l.kept);
        json_integer(&j, "weights", l.weights);
        json_real(&j, "low", (double)l.low, 9);
        json_real(&j, "high", (double)l.high, 9);
        json_real(&j, "weight_sqnr_db", l.weight_sqnr, 6);
        if (w->sensitivity) json_real(&j, "logits_rms", sqrt(w->sensitivity[i]), 6);
        json_close(&j, '}');
    }
    json_close(&j, ']');
    log_json_close(&j);
}

static int open_model(quantizing *w) {
    const cli_options *o = w->o;
    const size_t length = strlen(o->model);
    int code;
    if (length > 5 && strcmp(o->model + length - 5, ".onnx") == 0) {
        code = classifier_open_onnx(&w->c, w->ctx, o->model, NULL);
        w->c.bounded = true;
        if (code == CLI_OK && wick_onnx_outputs(w->c.onnx) != 1)
            code = log_fail(CLI_BAD_FILE, "%s has %d outputs; those with one are quantised", o->model,
                            wick_onnx_outputs(w->c.onnx));
        if (code == CLI_OK) code = classifier_adapt_onnx(&w->c, o->model, 0, false);
    } else {
        code = classifier_load(&w->c, w->ctx, o->model);
    }
    if (code == CLI_OK) code = task_check_classes(&w->c, "wick quantize");
    if (code == CLI_OK) code = classifier_pictures_of(&w->c, o);
    if (code == CLI_OK && options_given(o, "input-range") && w->c.data[0])
        code = log_fail(CLI_USAGE, "--input-range is for an ONNX file: %s says itself how pixels are scaled", o->model);
    if (code == CLI_OK) code = classifier_set_range(&w->c, o->input_range, "", CLI_USAGE);
    return code;
}

int cmd_quantize(cli_options *o) {
    quantizing w = {.o = o};
    source_options form;
    const size_t end = strlen(o->out);
    const char *split = "train",
               *of_activations[] = {"calibration", "percentile", "per-tensor", "reduce-range", "epochs"};
    for (int i = 0; i < 5; i++)
        if (o->block && options_given(o, of_activations[i]))
            return log_fail(CLI_USAGE, "--%s is for 8 bits: --block leaves activations as they are", of_activations[i]);
    if (o->block & (o->block - 1)) return log_fail(CLI_USAGE, "--block %lld is no power of 2", (long long)o->block);
    if (end <= 5 || strcmp(o->out + end - 5, ".onnx") != 0)
        return log_fail(CLI_USAGE, "--out %s: the name of what is written ends in .onnx", o->out);
    if (path_same(o->out, o->model)) return log_fail(CLI_USAGE, "--out %s is the model itself", o->out);
    if (wick_context_new(&w.ctx, &(wick_context_options){
                                     .tuning = tuned(), .threads = (int)o->threads, .jit = WICK_JIT_ON}) != WICK_OK)
        return log_fail(CLI_FAILED, "could not start: out of memory or threads");
    int code = open_model(&w);
    if (code == CLI_OK) code = source_read_options(o, &form);
    if (code == CLI_OK) code = classifier_open_data(&w.c, o->data, &split, true, &form, &w.all);
    if (code == CLI_OK && w.c.validation > 0 && !o->data[0]) {
        const wick_status status = classifier_open_split(&w.c, w.c.data, "validation", &form, &w.held);
        if (status != WICK_OK) code = failed(&w, status, CLI_BAD_FILE);
    }
    if (code == CLI_OK) wick_model_set_training(w.c.model, false);
    if (code == CLI_OK) code = choose_images(&w);
    if (code == CLI_OK)
        talk(o->block ? "rounded for %lld images" : "ranges of %lld images", (long long)wick_dataset_count(w.observed));
    if (code == CLI_OK) code = make_quantizer(&w);
    if (code == CLI_OK)
        talk(w.held ? "judged on %lld that the training held out" : "judged on %lld others",
             (long long)wick_dataset_count(w.judged));
    if (code == CLI_OK) code = judge(&w, false, &w.floats);
    if (code == CLI_OK) code = judge(&w, true, &w.integers);
    if (code == CLI_OK && o->epochs) code = train(&w);
    if (code == CLI_OK && !is_good(&w) && wick_quantizer_layers(w.q) > 1) code = keep_to_bound(&w);
    if (code == CLI_OK) code = write(&w);
    if (code == CLI_OK) code = measure_time(&w);
    if (code == CLI_OK) (o->json ? report_json : report_text)(&w);
    if (code == CLI_OK && !is_good(&w)) {
        talk("%s is written, and loses more than --max-drop %g allows", o->out, o->max_drop);
        code = CLI_MISSED;
    }
    free(w.floats.right);
    free(w.integers.right);
    free(w.sensitivity);
    wick_quantizer_free(&w.q);
    classifier_free(&w.c);
    wick_transform_free(&w.transform);
    wick_dataset_free(&w.learned);
    wick_dataset_free(&w.few);
    wick_dataset_free(&w.judged);
    wick_dataset_free(&w.observed);
    wick_dataset_free(&w.held);
    wick_dataset_free(&w.all);
    wick_context_free(&w.ctx);
    return code;
}
