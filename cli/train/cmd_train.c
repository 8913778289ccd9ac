/* wick train: the training loop, with checkpoints, a log, and a way out of every failure. */
#include "class_folders.h"
#include "augment.h"
#include "curves.h"
#include "evaluate.h"
#include "../interrupt.h"
#include "../options.h"
#include "../paths.h"
#include "../profiling.h"
#include "progress.h"
#include "run.h"
#include "source.h"
#include "steplog.h"
#include "../term/log.h"
#include "trainer.h"
#include "../tuned.h"
#include "weights.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef struct training {
    cli_options *o;
    const char *folder;
    wick_context *ctx;
    wick_dataset *train, *test; /* test may be NULL */
    char *coding;               /* what was learned of a table or tensors; NULL: nothing */
    wick_transform *transform;  /* NULL: --augment says it */
    classifier c;
    teachers teachers;
    trainer t;
    evaluator e;
    profiling profile;
    curves curves;
    run r;
    steplog log;
    progress p;
    wick_optim_options optim;
    param_groups groups; /* that optim points to */
    int64_t steps;   /* of the whole run */
    int64_t samples; /* this process has trained on */
    double seconds;  /* that took */
} training;

/* ---- before ------------------------------------------------------------------------------------------------------ */

/* Options are the command line's, "", or those that the resumed checkpoint keeps. */
static const char of_file[] = "the checkpoint's ";
static int blame(const char *whose) { return *whose ? CLI_BAD_FILE : CLI_USAGE; }

/* The text of the network: --net, or --arch alone when it says all, else with --hidden and --dropout. */
static int whole_arch(wick_context *ctx, const cli_options *o, const char *whose, char *text, size_t size) {
    wick_network network;
    if (!*o->weights && (*o->rename || o->fit))
        return log_fail(blame(whose), "%s--%s is for --weights", whose, o->fit ? "fit" : "rename");
    if (*o->onnx) {
        static const char *const others[] = {"arch", "net", "hidden", "dropout"};
        for (int i = 0; i < 4; i++)
            if (options_given(o, others[i]))
                return log_fail(CLI_USAGE, "--model has its network; it takes no --%s beside it", others[i]);
        snprintf(text, size, "%s", "onnx:" CLASSIFIER_ONNX);
        return CLI_OK;
    }
    if (o->head) return log_fail(blame(whose), "%s--head is for a --model", whose);
    if (*o->net) {
        if (options_given(o, "arch") || options_given(o, "hidden") || options_given(o, "dropout"))
            return log_fail(CLI_USAGE, "--net says all; it takes no --arch, --hidden or --dropout beside it");
        if ((size_t)snprintf(text, size, "net:%s", o->net) >= size)
            return log_fail(blame(whose), "%s--net is longer than any network", whose);
        if (wick_zoo_find(ctx, text, &network) == WICK_OK) return CLI_OK;
        return log_fail(blame(whose), "%s--%s", whose, wick_context_error(ctx)); /* which begins with "net: column" */
    }
    if (wick_zoo_find(ctx, o->arch, &network) != WICK_OK)
        return log_fail(blame(whose), "%s--arch: %s", whose, wick_context_error(ctx));
    bool whole = strpbrk(o->arch, ":,") || network.net;
    if (whole && (options_given(o, "hidden") || options_given(o, "dropout")))
        return log_fail(CLI_USAGE, "--arch %s says all; it takes no --hidden or --dropout beside it", o->arch);
    size_t length;
    if (whole) {
        length = (size_t)snprintf(text, size, "%s", o->arch);
    } else {
        char dropout[32];
        snprintf(dropout, sizeof dropout, "%.9f", o->dropout); /* no exponent: the form has none */
        size_t end = strlen(dropout);
        while (dropout[end - 1] == '0') end--;
        dropout[dropout[end - 1] == '.' ? end - 1 : end] = '\0';
        length = (size_t)snprintf(text, size, "%s:%s,dropout=%s", o->arch, o->hidden, dropout);
    }
    if (length >= size) /* what is cut off would be another network */
        return log_fail(blame(whose), "%s--%s is longer than any network", whose, whole ? "arch" : "hidden");
    if (wick_zoo_find(ctx, text, &network) == WICK_OK) return CLI_OK;
    return log_fail(blame(whose), "%s--hidden: %s", whose, wick_context_error(ctx));
}

static bool is_plateau(const cli_options *o) { return strcmp(options_text(o, "schedule"), "plateau") == 0; }

/* What the options say together; the library would name its own fields, or nothing at all. */
static int check_optim(const cli_options *o, const char *whose, int64_t steps) {
    const option_use *use;
    for (int i = 0; (use = trainer_use(i)); i++)
        if (options_given(o, use->name) && !trainer_uses(use, o))
            return log_fail(CLI_USAGE, "--%s is for --%s %s; this is %s", use->name, use->by, use->choices,
                            options_text(o, use->by));
    param_groups groups;
    const wick_optim_options optim = trainer_optim(o, steps, &groups);
    const wick_schedule *s = &optim.schedule;
    const bool ends = s->kind == WICK_SCHEDULE_COSINE || s->kind == WICK_SCHEDULE_POLYNOMIAL;
    const double peak = trainer_peak(&optim);
    char error[512];
    if (!groups_read(&groups, o->group, o->freeze, peak, error, sizeof error))
        return log_fail(blame(whose), "%s%s", whose, error);
    int64_t milestones[WICK_MILESTONES];
    if (o->accumulate > steps)
        return log_fail(blame(whose), "%s--accumulate %lld: the run has %lld step%s, so nothing would be learned",
                         whose, (long long)o->accumulate, (long long)steps, plural(steps));
    if (ends && s->warmup >= s->total)
        return log_fail(
            blame(whose),
            "%s--warmup %lld leaves nothing of the run's %lld update%s to the %s schedule; take fewer, or "
            "more --epochs",
            whose, (long long)s->warmup, (long long)s->total, plural(s->total), options_text(o, "schedule"));
    if (s->kind == WICK_SCHEDULE_ONE_CYCLE && s->warmup > 0)
        return log_fail(blame(whose), "%s--warmup: the rise of onecycle is --lr-rise, a part of the run", whose);
    if (s->kind == WICK_SCHEDULE_ONE_CYCLE && !(o->lr_rise * (double)s->total > 1))
        return log_fail(blame(whose), "%s--lr-rise %g of the run's %lld update%s is none", whose, o->lr_rise,
                        (long long)s->total, plural(s->total));
    if (s->kind == WICK_SCHEDULE_MULTI_STEP && !trainer_milestones(o->lr_at, milestones))
        return log_fail(blame(whose),
                        "%s--schedule multistep needs --lr-at with 1 to %d ascending numbers of updates, not '%s'",
                        whose, WICK_MILESTONES, o->lr_at);
    if ((ends || s->kind == WICK_SCHEDULE_RESTARTS || is_plateau(o)) && s->lr_min > peak)
        return log_fail(blame(whose), "%s--lr-min %g is above the peak of the learning rate, --lr %g", whose,
                         s->lr_min, peak);
    const bool gamma =
        s->kind == WICK_SCHEDULE_STEP || s->kind == WICK_SCHEDULE_MULTI_STEP || s->kind == WICK_SCHEDULE_EXPONENTIAL;
    if ((gamma || is_plateau(o)) && !(s->gamma > 0))
        return log_fail(blame(whose), "%s--lr-gamma must be above 0", whose);
    if (is_plateau(o) && s->gamma >= 1) return log_fail(blame(whose), "%s--lr-gamma of plateau must be below 1", whose);
    double value;
    const char *below = trainer_below_zero(o, &value);
    if (below) return log_fail(blame(whose), "%s--%s %g is below 0", whose, below, value);
    const bool moves = optim.kind != WICK_ADAGRAD && optim.kind != WICK_ADADELTA &&
                       ((optim.kind != WICK_SGD && optim.kind != WICK_RMSPROP) || optim.momentum > WICK_ZERO);
    if (o->cycle_momentum && !moves)
        return log_fail(blame(whose),
                        "%s--cycle-momentum: there is no momentum here; give --momentum, or another --optimizer",
                        whose);
    if (o->nesterov && o->momentum == 0)
        return log_fail(blame(whose), "%s--nesterov needs sgd with a --momentum above 0", whose);
    return CLI_OK;
}

/* What --augment says, and whether the images can be changed so. */
static int read_augment(const training *t, const cli_options *o, const char *whose, wick_loader_options *loading) {
    const int rank = wick_dataset_rank(t->train);
    const int64_t *dims = wick_dataset_dims(t->train);
    const bool floats = wick_dataset_field(t->train, 0)->dtype == WICK_F32;
    if (floats && strcmp(o->augment, "none") != 0)
        return log_fail(blame(whose), "%s--augment is for pictures; these samples take a --transform", whose);
    if (!augment_read(o->augment, loading))
        return log_fail(blame(whose), "%s--augment '%s' is not none, flip, crop=N, or a list of them like flip,crop=4",
                        whose, o->augment);
    if ((loading->flip || loading->crop) && rank < 2)
        return log_fail(blame(whose), "%s--augment %s is for images of height and width; those of %s have %d dim%s",
                        whose, o->augment, o->data, rank, plural(rank));
    if (loading->crop && (loading->crop >= dims[rank - 2] || loading->crop >= dims[rank - 1]))
        return log_fail(blame(whose), "%s--augment %s pads by more than the images have: %lld x %lld pixels", whose,
                        o->augment, (long long)dims[rank - 2], (long long)dims[rank - 1]);
    return CLI_OK;
}

/* What --transform says. The network is tested with the images as they are, normalised by its own numbers, so those of
 * training are normalised by them too, and keep their size. */
static int read_transform(training *t, wick_loader_options *loading) {
    const cli_options *o = t->o;
    const wick_spec *image = wick_dataset_field(t->train, 0);
    if (!*o->transform) return CLI_OK;
    if (strcmp(o->augment, "none") != 0)
        return log_fail(CLI_USAGE, "--transform says all; it takes no --augment beside it");
    if (t->c.floats) {
        const wick_transform_options options = {.rate = (double)wick_dataset_rate(t->train)};
        const wick_status status = wick_transform_new(t->ctx, o->transform, &options, image, &t->transform);
        loading->transform = t->transform;
        return status == WICK_OK ? CLI_OK
                                 : log_fail(log_code(status, CLI_USAGE), "--transform: %s", log_why(t->ctx, status));
    }
    bool normalises = false;
    for (const char *at = o->transform; *at; at += strcspn(at, ","), at += *at == ',')
        normalises |= strcspn(at, ",") == 9 && memcmp(at, "normalise", 9) == 0;
    const wick_transform_options options = {.mean = t->c.mean, .deviation = t->c.deviation};
    const wick_status status = wick_transform_new(t->ctx, o->transform, &options, image, &t->transform);
    if (status != WICK_OK) return log_fail(log_code(status, CLI_USAGE), "--transform: %s", log_why(t->ctx, status));
    if (!normalises)
        return log_fail(CLI_USAGE,
                        "--transform %s: \"normalise\" belongs to it, without numbers: by --input-range, as when the "
                        "network is tested",
                        o->transform);
    const wick_spec *made = wick_transform_output(t->transform);
    for (int d = 0; d < image->rank; d++)
        if (made->dims[d] != image->dims[d])
            return log_fail(
                CLI_USAGE,
                "--transform %s: makes images of %lld x %lld of those of %lld x %lld, which the network is tested with",
                o->transform, (long long)made->dims[made->rank - 2], (long long)made->dims[made->rank - 1],
                (long long)image->dims[image->rank - 2], (long long)image->dims[image->rank - 1]);
    loading->transform = t->transform;
    return CLI_OK;
}

/* The list of --teacher likewise. */
static int fix_teachers(cli_options *o) {
    char *list = strdup(o->teacher), *rest = list, *fixed = list ? strdup("") : NULL;
    for (const char *path; fixed && (path = strsep(&rest, ";"));) {
        char *whole = path_absolute(path), *more = NULL;
        if (!whole && *path && errno != ENOMEM) {
            const int code = log_fail(CLI_BAD_FILE, "--teacher %s: %s", path, strerror(errno));
            free(list);
            free(fixed);
            return code;
        }
        if (*path && whole && asprintf(&more, "%s%s%s", fixed, *fixed ? ";" : "", whole) < 0) more = NULL;
        if (*path) free(fixed), fixed = more;
        free(whole);
    }
    const bool ok = fixed && (!*fixed || options_replace(o, "teacher", fixed));
    free(list);
    free(fixed);
    return ok ? CLI_OK : log_fail(CLI_FAILED, "out of memory");
}

static bool is_stream(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode);
}

/* Paths are kept from the root: a run may be resumed in another folder. That of a stream, as /dev/fd/63, stays what it
 * is: what /dev/fd leads to has the number of this process in it. */
static int fix_paths(cli_options *o) {
    const char *const names[] = {"data", "log", "model", "weights"}, *const values[] = {o->data, o->log, o->onnx,
                                                                                        o->weights};
    for (int i = 0; i < 4; i++) {
        bool path = values[i][0] && (i >= 1 || strchr(values[i], '/') || path_exists(values[i]));
        if (!path || (i == 1 && values[i][0] == '/' && is_stream(values[i]))) continue;
        char *whole = i == 1 ? path_placed(values[i])
                             : path_absolute(values[i]); /* a log that is a link is refused, not followed */
        if (!whole)
            return log_fail(i != 1 && errno != ENOMEM ? CLI_BAD_FILE : CLI_FAILED, "--%s %s: %s", names[i], values[i],
                             strerror(errno));
        bool ok = options_replace(o, names[i], whole);
        free(whole);
        if (!ok) return log_fail(CLI_FAILED, "out of memory");
    }
    return fix_teachers(o);
}

/* The test's classes are those of the training. */
static wick_status match_classes(const training *t, wick_dataset **test) {
    const int64_t n = wick_dataset_classes(t->train);
    const char **names = malloc((size_t)n * sizeof *names);
    if (!names) return wick_context_fail(t->ctx, WICK_ERR_NOMEM, "%s: out of memory", t->o->data);
    for (int64_t k = 0; k < n; k++) names[k] = wick_dataset_class_name(t->train, k);
    const wick_status status = source_match_classes(t->ctx, t->o->data, names, n, test);
    free(names);
    if (status != WICK_OK) wick_dataset_free(test);
    return status;
}

static wick_status open_split(training *t, const char *split, wick_dataset **out) {
    /* what is tested is as what is learned from */
    const int64_t rate = t->o->rate ? t->o->rate : t->train ? wick_dataset_rate(t->train) : 0;
    source_options so;
    if (source_read_options(t->o, &so) != CLI_OK) return WICK_ERR_INVALID; /* checked before */
    so.rate = rate;
    so.coding = t->coding;
    so.told = t->coding != NULL;
    so.classes = t->train ? wick_dataset_classes(t->train) : 0;
    wick_status status = source_open(t->ctx, t->o->data, split, &so, t->train ? NULL : &t->coding, out);
    if (status == WICK_OK && t->train) status = match_classes(t, out);
    if (status == WICK_OK && source_is_audio(*out) && !wick_dataset_rate(*out)) {
        wick_dataset_free(out);
        return wick_context_fail(
            t->ctx, WICK_ERR_FORMAT,
            "%s: its recordings have different numbers of samples a second: --rate HZ resamples them", t->o->data);
    }
    if (status == WICK_OK && *wick_dataset_note(*out)) talk("%s, %s: %s", t->o->data, split, wick_dataset_note(*out));
    if (status == WICK_OK && t->o->limit > 0) status = wick_dataset_limit(t->ctx, *out, t->o->limit);
    return status;
}

static int open_data(training *t) {
    const char *data = t->o->data;
    source_options so;
    const int code = source_read_options(t->o, &so);
    if (code != CLI_OK) return code;
    talk("reading %s", data);
    wick_pictures how = {.as_stored = t->o->as_stored};
    int64_t size[2];
    const int sized = classifier_read_size(t->o->image_size, "", CLI_USAGE, size);
    if (sized != CLI_OK) return sized;
    /* Those of class folders are decoded when they are asked for: a network's size can't wait for the first that
     * differs. */
    if (!size[0] && *t->o->onnx && class_folders_are(t->ctx, data) && !classifier_onnx_size(t->ctx, t->o->onnx, size))
        size[0] = size[1] = 0;
    how.height = size[0], how.width = size[1];
    wick_context_set_pictures(t->ctx, how);
    wick_status status = open_split(t, "train", &t->train);
    if (status == WICK_ERR_SHAPE && !how.height) {
        char first[1024];
        snprintf(first, sizeof first, "%s", log_why(t->ctx, status));
        if (!*t->o->onnx || !classifier_onnx_size(t->ctx, t->o->onnx, size))
            return log_fail(CLI_BAD_FILE, "%s: --image-size HxW makes pictures alike", first);
        how.height = size[0], how.width = size[1];
        wick_context_set_pictures(t->ctx, how);
        status = open_split(t, "train", &t->train);
    }
    const bool chosen = options_given(t->o, "data") || *t->o->resume;
    if (status != WICK_OK)
        return log_fail(log_code(status, CLI_BAD_FILE), "%s%s", log_why(t->ctx, status),
                         chosen ? "" : "; --data takes another set: a folder, an archive, a table (.csv)");
    if (wick_dataset_count(t->train) == 0)
        return log_fail(CLI_BAD_FILE, "%s holds no %ss", data, source_noun(t->train));
    if (t->o->rate && !source_is_audio(t->train))
        return log_fail(CLI_USAGE, "--rate is for recordings; %s holds none", data);
    const wick_spec *sample = wick_dataset_field(t->train, 0);
    for (int i = 0; i < sample->rank; i++)
        if (sample->dims[i] == 0) return log_fail(CLI_BAD_FILE, "%s: its images have no pixels", data);
    status = open_split(t, "test", &t->test);
    if (status == WICK_ERR_IO) {
        talk("%s has no test %ss: the best epoch is that of the best training accuracy", data, source_noun(t->train));
        return CLI_OK;
    }
    if (status == WICK_OK) return CLI_OK;
    return log_fail(log_code(status, CLI_BAD_FILE), "%s", log_why(t->ctx, status));
}

/* The file that --model names; a run that goes on has a copy of it. */
static int from_onnx(training *t, const cli_options *kept) {
    const cli_options *o = t->o;
    char *copy = kept ? path_join(t->folder, CLASSIFIER_ONNX) : NULL;
    if (kept && !copy) return log_fail(CLI_FAILED, "out of memory");
    const int code = classifier_for_onnx(&t->c, t->ctx, t->train, o->data, kept ? copy : o->onnx, o->head,
                                         kept ? CLI_BAD_FILE : CLI_USAGE);
    free(copy);
    if (code != CLI_OK || strcmp(o->input_range, "auto") != 0) return code;
    const wick_status status = wick_dataset_moments(t->ctx, t->train, &t->c.mean, &t->c.deviation);
    return status == WICK_OK ? CLI_OK : log_fail(log_code(status, CLI_BAD_FILE), "%s", log_why(t->ctx, status));
}

/* What other data will be read by. */
static int keep_coding(training *t) {
    source_options so;
    const int code = source_read_options(t->o, &so);
    t->c.separator = so.separator;
    t->c.decimal = so.decimal;
    t->c.no_header = so.no_header;
    return code != CLI_OK || (t->c.coding = strdup(t->coding)) ? code : log_fail(CLI_FAILED, "out of memory");
}

static int build(training *t) {
    const cli_options *o = t->o, *kept = o->resume[0] ? &t->r.kept : NULL;
    char arch[4096];
    int code = kept ? whole_arch(t->ctx, kept, of_file, arch, sizeof arch) : CLI_OK;
    if (code == CLI_OK) code = whole_arch(t->ctx, o, "", arch, sizeof arch);
    wick_profile_begin(t->ctx, "open data");
    if (code == CLI_OK) code = open_data(t);
    wick_profile_end(t->ctx);
    if (code != CLI_OK) return code;
    wick_loader_options loading = {.seed = (uint64_t)o->seed};
    if (kept) code = read_augment(t, kept, of_file, &loading);
    if (code == CLI_OK) code = read_augment(t, o, "", &loading);
    if (code != CLI_OK) return code;
    /* The first weights depend on the seed and their names. */
    wick_context_set_random(t->ctx, (uint64_t)o->seed, 0);
    int64_t count = wick_dataset_count(t->train), batch = o->batch < count ? o->batch : count;
    int64_t batches = (count + batch - 1) / batch;
    t->steps = batches * o->epochs;
    loading.batch = batch;
    loading.workers = (int)o->workers;
    loading.adaptive = o->adaptive;
    t->optim = trainer_optim(o, t->steps, &t->groups);
    if (kept) code = check_optim(kept, of_file, batches * kept->epochs);
    if (code == CLI_OK) code = check_optim(o, "", t->steps);
    if (code == CLI_OK && *o->onnx) code = from_onnx(t, kept);
    else if (code == CLI_OK)
        code = classifier_for_dataset(&t->c, t->ctx, t->train, o->data, o->transform, o->label, arch,
                                      kept && !options_given(o, "arch") && !options_given(o, "net") ? CLI_BAD_FILE
                                                                                                    : CLI_USAGE);
    if (code == CLI_OK && t->coding) code = keep_coding(t);
    if (code == CLI_OK) t->c.as_stored = o->as_stored;
    if (code == CLI_OK && kept) code = classifier_set_range(&t->c, kept->input_range, of_file, CLI_BAD_FILE);
    if (code == CLI_OK) code = classifier_set_range(&t->c, o->input_range, "", CLI_USAGE);
    const wick_compile_options compiling = trainer_compiling(o);
    if (code == CLI_OK) code = read_transform(t, &loading);
    if (code == CLI_OK) code = teachers_open(&t->teachers, o, &t->c, t->train);
    if (code == CLI_OK)
        code = trainer_new(&t->t, &t->c, t->train, &t->optim, o->label_smoothing, &t->teachers, &loading, &compiling);
    if (code == CLI_OK && !kept && *o->weights) code = weights_load(t->c.model, o);
    if (code == CLI_OK && t->test) code = classifier_check_dataset(&t->c, t->test, o->data);
    if (code == CLI_OK && t->test) code = evaluator_new(&t->e, &t->c, t->test);
    return code;
}

static int go_on(training *t) {
    int code = run_load(&t->r);
    if (code != CLI_OK) return code;
    trainer_resumed(&t->t);
    const run_state *state = &t->r.state;
    if (wick_loader_seek(t->t.loader, state->epoch, state->sample) != WICK_OK)
        return log_fail(CLI_BAD_FILE, "the checkpoint's place: %s", wick_context_error(t->ctx));
    int64_t batches = t->steps / t->o->epochs, batch = t->t.batch;
    if (state->step != state->epoch * batches + (state->sample + batch - 1) / batch)
        return log_fail(CLI_BAD_FILE, "the checkpoint's place: step %lld is not at image %lld after %lld epoch%s",
                         (long long)state->step, (long long)state->sample, (long long)state->epoch,
                         plural(state->epoch));
    talk("going on after step %lld of %lld, in epoch %lld of %lld", (long long)state->step, (long long)t->steps,
         (long long)(state->epoch + 1), (long long)t->o->epochs);
    return CLI_OK;
}

/* ---- during ------------------------------------------------------------------------------------------------------ */

/* By default in the folder and not in its options, so that the folder may be moved. */
static const char *log_path(const training *t) { return t->o->log[0] ? t->o->log : t->r.log; }

/* The log first: a checkpoint claims no steps that the log lacks, unless the log can't be written, which is no reason
 * to lose what was trained. */
static int checkpoint(training *t) {
    const int error = steplog_sync(&t->log) ? 0 : errno, shown = curves_flush(&t->curves);
    wick_profile_begin(t->ctx, "checkpoint");
    const int saved = run_save_last(&t->r), code = saved != CLI_OK ? saved : shown;
    wick_profile_end(t->ctx);
    return error && code == CLI_OK ? log_fail(CLI_FAILED, "could not write %s: %s; step %lld is saved", t->log.path,
                                               strerror(error), (long long)t->r.state.step)
                                   : code;
}

static void log_step(training *t, int64_t n, const trainer_result *result) {
    const run_state *state = &t->r.state;
    json j = steplog_begin(&t->log, state->step);
    json_integer(&j, "epoch", state->epoch + 1);
    json_real(&j, "loss", (double)result->loss, 9);
    json_real(&j, "accuracy", (double)result->correct / (double)n, 9);
    json_real(&j, "lr", wick_optim_lr_at(&t->optim, (state->step - 1) / t->t.accumulate) * t->t.scale, 9);
    json_integer(&j, "samples", n);
    json_real(&j, "seconds", state->seconds, 6);
    steplog_end(&t->log, &j);
}

static void log_epoch(training *t) {
    const run_state *state = &t->r.state;
    json j = steplog_begin(&t->log, state->step);
    json_integer(&j, "epoch", state->epoch);
    json_real(&j, "train_loss", state->train_loss, 9);
    json_real(&j, "train_accuracy", state->train_accuracy, 9);
    json_real(&j, "test_loss", state->test_loss, 9);
    json_real(&j, "test_accuracy", state->test_accuracy, 9);
    steplog_end(&t->log, &j);
}

static void show_progress(training *t) {
    const run_state *state = &t->r.state;
    int64_t size = wick_dataset_count(t->train);
    progress_step(&t->p, &(progress_view){
                             .epoch = state->epoch + 1,
                             .epochs = t->o->epochs,
                             .step = state->step,
                             .steps = t->steps,
                             .epoch_samples = state->seen,
                             .epoch_size = size,
                             .samples = state->epoch * size + state->seen,
                             .seconds = state->seconds,
                             .total = t->o->epochs * size,
                             .loss = state->loss_sum / (double)state->seen,
                             .accuracy = (double)state->correct / (double)state->seen,
                         });
}

/* The step's failure, and for NaN or Inf which op made it. */
static int step_failed(training *t, wick_status status, const char *error, int64_t n) {
    int64_t number = t->r.state.step;
    progress_clear(&t->p);
    if (status != WICK_ERR_NOT_FINITE) return log_fail(CLI_FAILED, "step %lld: %s", (long long)number + 1, error);
    char why[1024], first[1024];
    snprintf(first, sizeof first, "%s", error);
    trainer_explain(&t->t, number, n, why, sizeof why);
    return log_fail(CLI_NOT_FINITE,
                     "step %lld met NaN or Inf (%s); first: %s. A smaller --lr or --clip may help. The last "
                     "checkpoint is %s",
                     (long long)number + 1, first, why, t->r.last);
}

static int one_step(training *t, int64_t n, double start) {
    run_state *state = &t->r.state;
    trainer_result result;
    const char *error;
    wick_status status = trainer_step(&t->t, state->step, n, &result, &error);
    if (status != WICK_OK) return step_failed(t, status, error, n);
    double seconds = now_seconds() - start;
    t->samples += n;
    t->seconds += seconds;
    state->seconds += seconds;
    state->step++;
    state->loss_sum += (double)result.loss * (double)n;
    state->correct += result.correct;
    state->seen += n;
    log_step(t, n, &result);
    const double rate = wick_optim_lr_at(&t->optim, (state->step - 1) / t->t.accumulate) * t->t.scale;
    const int shown = curves_step(&t->curves, state->step, n, (double)result.loss,
                                  (double)result.correct / (double)n, rate);
    if (shown != CLI_OK) return shown;
    wick_loader_position(t->t.loader, &state->epoch, &state->sample);
    show_progress(t);
    bool due = t->o->save_every > 0 && state->step % t->o->save_every == 0;
    return due ? checkpoint(t) : CLI_OK;
}

/* How the images came, and who waited for whom. */
static void log_loader(const wick_loader *loader) {
    wick_loader_stats s;
    wick_loader_get_stats(loader, &s);
    talk("  data: %.0f images/s, %.1f batches/s, %d worker%s; an image: get %.1f us, transform %.1f us (p95 %.1f, "
         "%.1f); wait for a batch: mean %.3f ms, p95 %.3f ms; %.1f MB",
         s.samples_per_second, s.batches_per_second, s.workers, plural(s.workers), s.get.mean * 1e6,
         s.transform.mean * 1e6, s.get.p95 * 1e6, s.transform.p95 * 1e6, s.wait.mean * 1e3, s.wait.p95 * 1e3,
         (double)s.memory / 1e6);
    talk("  %s", s.advice);
}

static int end_epoch(training *t) {
    run_state *state = &t->r.state;
    wick_loader_position(t->t.loader, &state->epoch, &state->sample);
    state->train_loss = state->loss_sum / (double)state->seen;
    state->train_accuracy = (double)state->correct / (double)state->seen;
    state->loss_sum = 0;
    state->correct = state->seen = 0;
    double accuracy = state->train_accuracy, loss = state->train_loss;
    if (t->test) {
        evaluation result;
        wick_profile_begin(t->ctx, "evaluate");
        int measured = evaluator_run(&t->e, &result);
        wick_profile_end(t->ctx);
        if (measured != CLI_OK) return measured;
        state->test_loss = loss = result.loss;
        state->test_accuracy = accuracy = (double)result.correct / (double)result.count;
    }
    int code = trainer_note_loss(&t->t, loss);
    if (code != CLI_OK) return code;
    bool best = accuracy > state->best || (accuracy == state->best && loss < state->best_loss);
    if (best) {
        state->best = accuracy;
        state->best_loss = loss;
        state->best_epoch = state->epoch;
        state->stale = 0;
        code = run_save_best(&t->r);
        if (code != CLI_OK) return code;
    } else {
        state->stale++;
    }
    log_epoch(t);
    code = curves_epoch(&t->curves, state->step, t->c.model, state->train_loss, state->train_accuracy,
                        t->test ? state->test_loss : NAN, t->test ? state->test_accuracy : NAN);
    if (code != CLI_OK) return code;
    progress_clear(&t->p);
    char tested[64] = "";
    if (t->test) snprintf(tested, sizeof tested, "  test %.2f %%", state->test_accuracy * 100);
    talk("epoch %lld/%lld  loss %.4f  accuracy %.2f %%%s%s  %.1f s", (long long)state->epoch, (long long)t->o->epochs,
         state->train_loss, state->train_accuracy * 100, tested, best ? "  best" : "", state->seconds);
    if (t->o->verbose) log_loader(t->t.loader);
    return checkpoint(t);
}

static int save_and_leave(training *t) {
    progress_clear(&t->p);
    int code = checkpoint(t);
    if (code != CLI_OK) return code;
    const cli_options *o = t->o;
    char program[1024], folder[4096], command[5400], threads[64] = "";
    path_quote(program, sizeof program, o->program);
    path_quote(folder, sizeof folder, t->folder);
    int length =
        options_given(o, "threads") ? snprintf(threads, sizeof threads, " --threads %lld", (long long)o->threads) : 0;
    if (options_given(o, "workers"))
        snprintf(threads + length, sizeof threads - (size_t)length, " --workers %lld", (long long)o->workers);
    snprintf(command, sizeof command, "%s train --resume %s%s", program, folder, threads);
    fprintf(stderr, "interrupted after step %lld, which is saved; go on with\n  %s\n", (long long)t->r.state.step,
            command);
    if (o->json) {
        json j = log_json_open();
        json_bool(&j, "ok", false);
        json_integer(&j, "exit", CLI_INTERRUPTED);
        json_text(&j, "error", "interrupted");
        json_integer(&j, "step", t->r.state.step);
        json_text(&j, "resume", command);
        log_json_close(&j);
    }
    return CLI_INTERRUPTED;
}

static bool stop_early(const training *t) { return t->o->patience > 0 && t->r.state.stale >= t->o->patience; }
static bool at_end(const training *t) { return t->r.state.epoch >= t->o->epochs || stop_early(t); }

static int loop(training *t) {
    int code = CLI_OK;
    while (code == CLI_OK && !at_end(t)) {
        double start = now_seconds();
        int64_t n;
        curves_begin(&t->curves);
        code = trainer_load(&t->t, &n);
        if (code == CLI_OK) code = n > 0 ? one_step(t, n, start) : end_epoch(t);
        if (code == CLI_OK && interrupted()) return save_and_leave(t);
    }
    progress_clear(&t->p);
    return code;
}

/* ---- after ------------------------------------------------------------------------------------------------------- */

/* How the last steps went. */
static void json_steps(json *j, wick_monitor *m, bool counted) {
    wick_monitor_stats s;
    wick_monitor_get_stats(m, &s);
    json_open(j, "step_seconds", '{');
    json_real(j, "mean", s.latency.mean, 6);
    json_real(j, "p50", s.latency.median, 6);
    json_real(j, "p95", s.latency.p95, 6);
    json_real(j, "p99", s.latency.p99, 6);
    json_close(j, '}');
    json_integer(j, "memory_peak_bytes", (int64_t)s.memory_peak);
    json_real(j, "cpus", s.cpu, 4);
    if (!counted) return; /* null where the machine doesn't count, and why */
    json_real(j, "cycles", s.counters.cycles, 12);
    json_real(j, "instructions", s.counters.instructions, 12);
    json_real(j, "cache_misses", s.counters.cache_misses, 12);
    json_real(j, "branch_misses", s.counters.branch_misses, 12);
    json_text(j, "counters_why", s.counters.why);
}

static void report(const training *t) {
    const run_state *state = &t->r.state;
    double speed = t->seconds > 0 ? (double)t->samples / t->seconds : 0;
    if (stop_early(t))
        talk("stopped early: %lld epoch%s without a better accuracy", (long long)state->stale, plural(state->stale));
    talk("%lld step%s in %.1f s; best accuracy %.2f %% in epoch %lld", (long long)state->step, plural(state->step),
         state->seconds, state->best * 100, (long long)state->best_epoch);
    double scale = 1;
    int64_t skipped = 0;
    const bool scaled = t->o->precision == WICK_PRECISION_F16 && t->t.optimizer &&
                        wick_optimizer_scale(t->t.optimizer, &scale, &skipped) == WICK_OK;
    if (scaled)
        talk("%lld update%s skipped, whose gradients overflowed f16; the loss scale is %g now", (long long)skipped,
             plural(skipped), scale);
    if (!t->o->json) {
        printf("%s\n", t->r.best);
        return;
    }
    json j = log_json_open();
    json_bool(&j, "ok", true);
    json_integer(&j, "epochs", state->epoch);
    json_integer(&j, "steps", state->step);
    json_integer(&j, "parameters", classifier_parameters(&t->c));
    json_text(&j, "arch", t->c.arch);
    json_real(&j, "loss", state->train_loss, 9);
    json_real(&j, "accuracy", state->train_accuracy, 9);
    json_real(&j, "test_loss", state->test_loss, 9);
    json_real(&j, "test_accuracy", state->test_accuracy, 9);
    json_real(&j, "best_accuracy", state->best, 9);
    json_real(&j, "best_loss", state->best_loss, 9);
    json_integer(&j, "best_epoch", state->best_epoch);
    json_bool(&j, "stopped_early", stop_early(t));
    json_real(&j, "seconds", state->seconds, 6);
    json_real(&j, "samples_per_second", speed, 6);
    if (scaled) json_integer(&j, "skipped_updates", skipped), json_real(&j, "loss_scale", scale, 9);
    json_integer(&j, "threads", wick_context_threads(t->ctx));
    if (t->curves.monitor) json_steps(&j, t->curves.monitor, *t->o->metrics);
    json_text(&j, "path", t->r.best);
    json_text(&j, "last", t->r.last);
    json_text(&j, "log", t->log.path);
    log_json_close(&j);
}

/* A resumed run that has come to its end: says so and how to go on, and touches no file. */
static int nothing_left(training *t) {
    const run_state *state = &t->r.state;
    long long epoch = state->epoch, epochs = t->o->epochs, stale = state->stale;
    int code = classifier_load(&t->c, t->ctx, t->r.last);
    if (code != CLI_OK) return code;
    if (epoch >= epochs)
        talk("already trained for %lld epoch%s; --epochs %lld adds nothing: give more than %lld to go on", epoch,
             plural(epoch), epochs, epoch);
    else
        talk("already stopped in epoch %lld of %lld: nothing to do; give --patience above %lld to go on", epoch, epochs,
             stale);
    t->log.path = log_path(t);
    report(t);
    return CLI_OK;
}

static int train(training *t) {
    cli_options *o = t->o;
    bool resuming = o->resume[0] != '\0';
    if (resuming && (options_given(o, "out") || o->force))
        return log_fail(CLI_USAGE, "--resume goes on in its own folder: leave out --out and --force");
    if (wick_context_new(&t->ctx, &(wick_context_options){.tuning = tuned(),
                                                          .threads = (int)o->threads,
                                                          .seed = (uint64_t)o->seed,
                                                          .jit = WICK_JIT_ON}) != WICK_OK)
        return log_fail(CLI_FAILED, "could not start: out of memory or threads");
    t->folder = resuming ? o->resume : o->out;
    int code = run_open(&t->r, o, &t->c, t->folder);
    if (code == CLI_OK) code = fix_paths(o);
    if (code == CLI_OK && resuming) code = run_find(&t->r, t->ctx, o);
    if (code == CLI_OK && resuming && at_end(t)) return nothing_left(t);
    if (code == CLI_OK) code = profiling_begin(&t->profile, o, t->ctx);
    if (code == CLI_OK) code = build(t);
    if (code == CLI_OK) code = resuming ? go_on(t) : run_start(&t->r);
    if (code == CLI_OK && !resuming && *o->onnx) code = classifier_keep_onnx(&t->c, o->onnx, t->folder);
    if (code != CLI_OK) return code;
    if (!steplog_open(&t->log, log_path(t), t->r.state.step, t->r.state.epoch))
        return log_fail(CLI_FAILED, "could not open the log %s: %s", log_path(t), steplog_why(errno));
    interrupt_watch();
    /* At once, so that a folder or disk that can't be written is known before hours of work. */
    if (!resuming && (code = run_save_last(&t->r)) != CLI_OK) return code;
    int64_t parameters = classifier_parameters(&t->c), images = wick_dataset_count(t->train);
    int threads = wick_context_threads(t->ctx);
    talk("%s, %lld parameter%s, %lld %s%s, %d thread%s", t->c.arch, (long long)parameters, plural(parameters),
         (long long)images, source_noun(t->train), plural(images), threads, plural(threads));
    if (o->memory_budget) {
        const wick_plan_info plan = wick_plan_get_info(t->t.steps[1][0].plan);
        talk("a step's intermediates take %.4g MB; %.2f %% of its arithmetic makes values again",
             (double)plan.arena_bytes * 1e-6, 100 * plan.recomputed_flops / plan.flops);
    }
    if ((code = curves_open(&t->curves, o, t->ctx, t->r.state.step > 0 ? t->r.state.step + 1 : 0)) != CLI_OK)
        return code;
    progress_setup(&t->p, o->quiet, t->r.state.epoch * images + t->r.state.seen, t->r.state.seconds);
    code = loop(t);
    if (!steplog_close(&t->log) && code == CLI_OK)
        code = log_fail(CLI_FAILED, "could not write %s: %s", log_path(t), strerror(errno));
    if (code == CLI_OK) report(t);
    return code;
}

int cmd_train(cli_options *o) {
    training t = {.o = o};
    int code = profiling_end(&t.profile, train(&t));
    code = curves_close(&t.curves, code);
    steplog_close(&t.log);
    evaluator_free(&t.e);
    trainer_free(&t.t);
    teachers_free(&t.teachers);
    wick_transform_free(&t.transform);
    run_close(&t.r);
    classifier_free(&t.c);
    wick_dataset_free(&t.test);
    wick_dataset_free(&t.train);
    free(t.coding);
    wick_context_free(&t.ctx);
    return code;
}
