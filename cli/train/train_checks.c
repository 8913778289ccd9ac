/* What the options of wick train say together. */
#include "augment.h"
#include "../options.h"
#include "../paths.h"
#include "../term/log.h"
#include "training.h"

#include "wick/remote.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Options are the command line's, "", or those that the resumed checkpoint keeps. */
const char training_of_file[] = "the checkpoint's ";
static int blame(const char *whose) { return *whose ? CLI_BAD_FILE : CLI_USAGE; }

/* The text of the network: --net, or --arch alone when it says all, else with --hidden and --dropout. */
int training_arch(wick_context *ctx, const cli_options *o, const char *whose, char *text, size_t size) {
    wick_network network;
    if (!*o->weights && (*o->of_train.rename || o->of_train.fit))
        return log_fail(blame(whose), "%s--%s is for --weights", whose, o->of_train.fit ? "fit" : "rename");
    if (*o->of_train.onnx) {
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
        snprintf(dropout, sizeof dropout, "%.9f", o->of_train.dropout); /* no exponent: the form has none */
        size_t end = strlen(dropout);
        while (dropout[end - 1] == '0') end--;
        dropout[dropout[end - 1] == '.' ? end - 1 : end] = '\0';
        length = (size_t)snprintf(text, size, "%s:%s,dropout=%s", o->arch, o->of_train.hidden, dropout);
    }
    if (length >= size) /* what is cut off would be another network */
        return log_fail(blame(whose), "%s--%s is longer than any network", whose, whole ? "arch" : "hidden");
    if (wick_zoo_find(ctx, text, &network) == WICK_OK) return CLI_OK;
    return log_fail(blame(whose), "%s--hidden: %s", whose, wick_context_error(ctx));
}

/* An architecture for sequences is one for texts behind an embedding. */
static int embed_sequence(const training *t, char *text, size_t size) {
    static const char sequence[] = "sequence, ";
    wick_network network;
    if (strncmp(text, "tcn", 3) != 0 && strncmp(text, "transformer", 11) != 0) return CLI_OK;
    if (wick_zoo_find(t->ctx, text, &network) != WICK_OK) return log_fail(CLI_USAGE, "%s", wick_context_error(t->ctx));
    if (network.n_widths) return log_fail(CLI_USAGE, "--arch %s: texts have no channels", text);
    const int length = snprintf(text, size, "net:embed tokens 64, %s", network.net + sizeof sequence - 1);
    return length > 0 && (size_t)length < size ? CLI_OK : log_fail(CLI_USAGE, "--arch is longer than any network");
}

int training_fill_tokens(const training *t, char *text, size_t size) {
    static const char open[] = "embed tokens";
    const bool texts = source_is_text_coding(t->coding);
    const int code = texts ? embed_sequence(t, text, size) : CLI_OK;
    char unknown[SOURCE_INPUT_NAME];
    if (code != CLI_OK) return code;
    if (!source_fill_inputs(t->coding, text, size, unknown))
        return log_fail(CLI_USAGE, "--net: %s%s%s", *unknown ? "there is no input \"" : "is longer than any network",
                        unknown, *unknown ? "\"; --inputs names arrays of the data that are inputs" : "");
    char *at = strstr(text, open), number[32];
    if (!at) return CLI_OK;
    if (!texts)
        return log_fail(CLI_USAGE, "--net: \"embed tokens\" is for texts, and the samples of %s are none", t->o->data);
    const int length = snprintf(number, sizeof number, "%lld", (long long)source_text_tokens(t->coding));
    const size_t rest = strlen(at + sizeof open - 1) + 1, begin = (size_t)(at - text) + strlen("embed ");
    if (length <= 0 || begin + (size_t)length + rest > size)
        return log_fail(CLI_USAGE, "--net is longer than any network");
    memmove(text + begin + length, at + sizeof open - 1, rest);
    memcpy(text + begin, number, (size_t)length);
    return training_fill_tokens(t, text, size);
}

bool training_is_plateau(const cli_options *o) { return strcmp(options_text(o, "schedule"), "plateau") == 0; }

/* What the options say together; the library would name its own fields, or nothing at all. */
int training_check_optim(const cli_options *o, const char *whose, int64_t steps) {
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
    if (!groups_read(&groups, o->update.group, o->freeze, peak, error, sizeof error))
        return log_fail(blame(whose), "%s%s", whose, error);
    int64_t milestones[WICK_MILESTONES];
    if (o->of_train.accumulate > steps)
        return log_fail(blame(whose), "%s--accumulate %lld: the run has %lld step%s, so nothing would be learned",
                        whose, (long long)o->of_train.accumulate, (long long)steps, plural(steps));
    if (ends && s->warmup >= s->total)
        return log_fail(blame(whose),
                        "%s--warmup %lld leaves nothing of the run's %lld update%s to the %s schedule; take fewer, or "
                        "more --epochs",
                        whose, (long long)s->warmup, (long long)s->total, plural(s->total),
                        options_text(o, "schedule"));
    if (s->kind == WICK_SCHEDULE_ONE_CYCLE && s->warmup > 0)
        return log_fail(blame(whose), "%s--warmup: the rise of onecycle is --lr-rise, a part of the run", whose);
    if (s->kind == WICK_SCHEDULE_ONE_CYCLE && !(o->of_train.lr_rise * (double)s->total > 1))
        return log_fail(blame(whose), "%s--lr-rise %g of the run's %lld update%s is none", whose, o->of_train.lr_rise,
                        (long long)s->total, plural(s->total));
    if (s->kind == WICK_SCHEDULE_MULTI_STEP && !trainer_milestones(o->of_train.lr_at, milestones))
        return log_fail(blame(whose),
                        "%s--schedule multistep needs --lr-at with 1 to %d ascending numbers of updates, not '%s'",
                        whose, WICK_MILESTONES, o->of_train.lr_at);
    if ((ends || s->kind == WICK_SCHEDULE_RESTARTS || training_is_plateau(o)) && s->lr_min > peak)
        return log_fail(blame(whose), "%s--lr-min %g is above the peak of the learning rate, --lr %g", whose, s->lr_min,
                        peak);
    const bool gamma =
        s->kind == WICK_SCHEDULE_STEP || s->kind == WICK_SCHEDULE_MULTI_STEP || s->kind == WICK_SCHEDULE_EXPONENTIAL;
    if ((gamma || training_is_plateau(o)) && !(s->gamma > 0))
        return log_fail(blame(whose), "%s--lr-gamma must be above 0", whose);
    if (training_is_plateau(o) && s->gamma >= 1)
        return log_fail(blame(whose), "%s--lr-gamma of plateau must be below 1", whose);
    if (o->adaptive && !o->of_train.workers && !options_given(o, "workers"))
        return log_fail(blame(whose), "%s--adaptive is for --workers, of which there are none", whose);
    if (o->update.lr > 0 && (float)o->update.lr == 0)
        return log_fail(blame(whose), "%s--lr %g is 0 in f32, and nothing would be learned", whose, o->update.lr);
    double value;
    const char *below = trainer_below_zero(o, &value);
    if (below) return log_fail(blame(whose), "%s--%s %g is below 0", whose, below, value);
    const bool moves = optim.kind != WICK_ADAGRAD && optim.kind != WICK_ADADELTA &&
                       ((optim.kind != WICK_SGD && optim.kind != WICK_RMSPROP) || optim.momentum > WICK_ZERO);
    if (o->of_train.cycle_momentum && !moves)
        return log_fail(blame(whose),
                        "%s--cycle-momentum: there is no momentum here; give --momentum, or another --optimizer",
                        whose);
    if (o->update.nesterov && o->update.momentum == 0)
        return log_fail(blame(whose), "%s--nesterov needs sgd with a --momentum above 0", whose);
    return CLI_OK;
}

int training_powersgd(const cli_options *o) {
    static const char name[] = "powersgd:";
    char *end;
    if (!strcmp(o->of_train.wire, "f32") || !strcmp(o->of_train.wire, "bf16")) return 0;
    if (strncmp(o->of_train.wire, name, sizeof name - 1) != 0) return -1;
    const char *text = o->of_train.wire + sizeof name - 1;
    const long columns = *text >= '0' && *text <= '9' ? strtol(text, &end, 10) : 0;
    return columns < 1 || columns > WICK_POWERSGD_RANK_MAX || *end ? -1 : (int)columns;
}

int training_check_leaves(const cli_options *o, const char *whose, int64_t batch) {
    const long long n = o->leaves;
    if (!n && o->shard_optimizer)
        return log_fail(blame(whose),
                        "%s--shard-optimizer is for ranks that share the --leaves of a batch: give those too", whose);
    if (o->of_train.sum_mode && o->shard_optimizer)
        return log_fail(
            blame(whose),
            "%s--shard-optimizer keeps the bits of the sum along the tree, which --mode fast gives up: one of "
            "them",
            whose);
    if (!n && options_given(o, "shares"))
        return log_fail(blame(whose), "%s--shares are those of --leaves: give those too", whose);
    if (!n && o->of_train.sum_mode)
        return log_fail(blame(whose), "%s--mode fast says how leaves are summed: it needs --leaves", whose);
    if (o->of_train.sum_mode && training_powersgd(o) < 0) {
        const bool gpus = !strcmp(o->of_train.wire, "nccl");
        return log_fail(blame(whose), "%s--wire %s: f32, bf16, or powersgd:RANK with a RANK of 1 to %d%s", whose,
                        o->of_train.wire, WICK_POWERSGD_RANK_MAX,
                        gpus ? "; NCCL moves the memory of GPUs, and this build computes on CPUs" : "");
    }
    if (!n) return CLI_OK;
    if (n & (n - 1)) return log_fail(blame(whose), "%s--leaves %lld is no power of two", whose, n);
    if (o->of_train.accumulate > 1)
        return log_fail(blame(whose),
                        "%s--leaves and --accumulate: one of them; --leaves adds up gradients within a batch, so take "
                        "a larger --batch",
                        whose);
    if (batch % n)
        return log_fail(blame(whose), "%s--leaves %lld does not divide the batch of %lld sample%s%s", whose, n,
                        (long long)batch, plural(batch),
                        batch < o->batch ? ", which are all that there are: give a smaller --batch" : "");
    return CLI_OK;
}

/* What --augment says, and whether the images can be changed so. */
int training_read_augment(const training *t, const cli_options *o, const char *whose, wick_loader_options *loading) {
    const int rank = wick_dataset_rank(t->train);
    const int64_t *dims = wick_dataset_dims(t->train);
    const bool floats = wick_dataset_field(t->train, 0)->dtype == WICK_F32;
    if (floats && strcmp(o->of_train.augment, "none") != 0)
        return log_fail(blame(whose), "%s--augment is for pictures; these samples take a --transform", whose);
    const bool points = source_is_pointed(t->train);
    if ((source_is_masked(t->train) || source_is_mapped(t->train) || source_is_boxed(t->train) || points) &&
        strcmp(o->of_train.augment, "none") != 0)
        return log_fail(blame(whose),
                        "%s--augment changes pictures and not their %s: --transform \"flip, crop=8, normalise\" does "
                        "both",
                        whose,
                        source_is_masked(t->train)   ? "masks"
                        : source_is_mapped(t->train) ? "maps"
                        : points                     ? "points"
                                                     : "boxes");
    if (source_is_paired(t->train) && strcmp(o->of_train.augment, "none") != 0)
        return log_fail(blame(whose), "%s--augment is for one picture a sample, and --task track has two", whose);
    if (!augment_read(o->of_train.augment, loading))
        return log_fail(blame(whose), "%s--augment '%s' is not none, flip, crop=N, or a list of them like flip,crop=4",
                        whose, o->of_train.augment);
    if ((loading->flip || loading->crop) && rank < 2)
        return log_fail(blame(whose), "%s--augment %s is for images of height and width; those of %s have %d dim%s",
                        whose, o->of_train.augment, o->data, rank, plural(rank));
    if (loading->crop && (loading->crop >= dims[rank - 2] || loading->crop >= dims[rank - 1]))
        return log_fail(blame(whose), "%s--augment %s pads by more than the images have: %lld x %lld pixels", whose,
                        o->of_train.augment, (long long)dims[rank - 2], (long long)dims[rank - 1]);
    return CLI_OK;
}

/* Whether a list of transforms has one that moves pixels. */
static bool moves(const char *list) {
    static const char *const those[] = {"flip", "vflip", "crop", "resize", "resizedcrop", "affine", "centercrop"};
    for (const char *at = list; *at; at += strcspn(at, ","), at += *at == ',', at += strspn(at, " "))
        for (size_t i = 0; i < sizeof those / sizeof *those; i++)
            if (strcspn(at, ",= ") == strlen(those[i]) && memcmp(at, those[i], strlen(those[i])) == 0) return true;
    return false;
}

/* What points become in a mirror: --pairs says it, or their names do. */
static int read_pairs(training *t, wick_loader_options *loading) {
    const cli_options *o = t->o;
    char why[256];
    if (!point_pairs_read(o->of_train.pairs, t->c.classes, t->c.class_names, &t->pairs, why, sizeof why))
        return log_fail(CLI_USAGE, "--pairs%s%s: %s", *o->of_train.pairs ? " " : "", o->of_train.pairs, why);
    if (!*o->of_train.pairs && !t->pairs.n)
        return log_fail(CLI_USAGE,
                        "--transform %s: in a mirror left points are right ones, and their names do not say which; "
                        "--pairs %s:%s says it, --pairs none that all stay what they are",
                        o->transform, t->c.class_names[0], t->c.class_names[1]);
    if (!*o->of_train.pairs)
        log_note("in a mirror %lld pair%s of points change%s places, by their names: %s and %s%s",
                 (long long)t->pairs.n, plural(t->pairs.n), t->pairs.n == 1 ? "s" : "",
                 t->c.class_names[t->pairs.at[0][0]], t->c.class_names[t->pairs.at[0][1]],
                 t->pairs.n > 1 ? " ..." : "");
    loading->pairs = (const int64_t(*)[2])t->pairs.at;
    loading->n_pairs = t->pairs.n;
    return CLI_OK;
}

/* What --transform says. The network is tested with the images as they are, normalised by its own numbers, so those of
 * training are normalised by them too, and keep their size. */
int training_read_transform(training *t, wick_loader_options *loading) {
    const cli_options *o = t->o;
    const wick_spec *image = wick_dataset_field(t->train, 0);
    if (!*o->transform && *o->of_train.pairs)
        return log_fail(CLI_USAGE, "--pairs is for a --transform with flip or vflip, and there is none");
    if (!*o->transform) return CLI_OK;
    if (t->c.task->kind == TASK_TRACK)
        return log_fail(CLI_USAGE, "--transform is for one picture a sample, and --task track has two");
    if (strcmp(o->of_train.augment, "none") != 0)
        return log_fail(CLI_USAGE, "--transform says all; it takes no --augment beside it");
    if (t->c.floats) {
        const wick_transform_options options = {.rate = (double)wick_dataset_rate(t->train)};
        const wick_status status = wick_transform_new(t->ctx, o->transform, &options, image, &t->transform);
        loading->transform = t->transform;
        return status == WICK_OK ? CLI_OK
                                 : log_fail(log_code(status, CLI_USAGE), "--transform: %s", log_why(t->ctx, status));
    }
    bool normalises = false, mirrors = false;
    for (const char *at = o->transform; *at; at += strcspn(at, ","), at += *at == ',', at += strspn(at, " "))
        normalises |= strcspn(at, ",") == 9 && memcmp(at, "normalise", 9) == 0,
            mirrors |= strncmp(at, "flip", 4) == 0 || strncmp(at, "vflip", 5) == 0;
    if (*o->of_train.pairs && !mirrors)
        return log_fail(CLI_USAGE, "--pairs is for a --transform with flip or vflip, which %s has not", o->transform);
    if (mirrors && t->c.task->kind == TASK_KEYPOINTS) {
        const int code = read_pairs(t, loading);
        if (code != CLI_OK) return code;
    }
    if (t->c.task->kind == TASK_DENSE && moves(o->transform))
        return log_fail(CLI_USAGE,
                        "--transform %s: moves pictures and not the numbers of their pixels; --task dense takes "
                        "jitter, blur, grey, erase and normalise",
                        o->transform);
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
    if (wick_transform_mixes(t->transform) && t->c.task->kind != TASK_CLASSIFY)
        return log_fail(CLI_USAGE, "--transform %s: mixup and cutmix mix classes, and --task %s has none", o->transform,
                        t->c.task->name);
    return CLI_OK;
}

/* The list of --teacher likewise. */
static int fix_teachers(cli_options *o) {
    char *list = strdup(o->of_train.teacher), *rest = list, *fixed = list ? strdup("") : NULL;
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

/* The log from the root, whose folder is made. One that is a link is refused later, not followed. */
static char *place_log(const char *path) {
    const char *slash = strrchr(path, '/');
    char *folder = slash > path ? strndup(path, (size_t)(slash - path)) : NULL;
    const bool made = !folder || path_make_folder(folder);
    free(folder);
    return made ? path_placed(path) : NULL;
}

/* Paths are kept from the root: a run may be resumed in another folder. That of a stream, as /dev/fd/63, stays what it
 * is: what /dev/fd leads to has the number of this process in it. */
int training_fix_paths(cli_options *o) {
    const char *const names[] = {"data", "log", "model", "weights", "validation"}, *const values[] = {
                                                                                       o->data, o->of_train.log,
                                                                                       o->of_train.onnx, o->weights,
                                                                                       o->of_train.validation};
    for (int i = 0; i < 5; i++) {
        const bool may = i == 0 || i == 4; /* it may be a name, or a number */
        bool path = values[i][0] && (!may || strchr(values[i], '/') || path_exists(values[i]));
        if (!path || (may && wick_remote_is_url(values[i])) || (i == 1 && values[i][0] == '/' && is_stream(values[i])))
            continue;
        if (i == 1 && o->of_train.dry_run) continue; /* nothing is written, and its folder may be yet to be made */
        char *whole = i == 1 ? place_log(values[i]) : path_absolute(values[i]);
        if (!whole)
            return log_fail(i != 1 && errno != ENOMEM ? CLI_BAD_FILE : CLI_FAILED, "--%s %s: %s", names[i], values[i],
                            strerror(errno));
        bool ok = options_replace(o, names[i], whole);
        free(whole);
        if (!ok) return log_fail(CLI_FAILED, "out of memory");
    }
    return fix_teachers(o);
}
