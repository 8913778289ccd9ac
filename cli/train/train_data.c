/* The samples of wick train: training, validation and test; and the task that they show. */
#include "class_folders.h"
#include "heads.h"
#include "../options.h"
#include "../paths.h"
#include "source.h"
#include "source_kinds.h"
#include "../term/log.h"
#include "training.h"

#include "wick/datasets.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

static task_kind task_asked(const cli_options *o) {
    const task *asked = task_named(o->of_train.task);
    if (!asked && *o->of_train.heads) return TASK_HEADS;
    return asked ? asked->kind : TASK_AUTO;
}

/* data: where, as --data. */
static wick_status open_split(training *t, const char *data, const char *split, wick_dataset **out) {
    /* what is tested is as what is learned from */
    const int64_t rate = t->o->rate ? t->o->rate : t->train ? wick_dataset_rate(t->train) : 0;
    source_options so;
    if (source_read_options(t->o, &so) != CLI_OK) return WICK_ERR_INVALID; /* checked before */
    so.rate = rate;
    so.task = t->o->of_train.window ? TASK_REGRESS : task_asked(t->o);
    if (t->train) so.task = source_task(t->train, so.task);
    so.window = t->o->of_train.window, so.horizon = t->o->of_train.horizon;
    so.pictures = t->train && wick_dataset_field(t->train, 0)->dtype == WICK_U8;
    so.coding = t->coding;
    so.told = t->coding != NULL;
    so.classes = t->train ? wick_dataset_classes(t->train) : 0;
    const bool again = so.task == TASK_AUTOENCODE ||
                       so.task == TASK_EMBED; /* whose classes are others, or no part of what is learned */
    so.unlabelled = t->coding && again;
    const char *place;
    wick_status status = source_place(t->ctx, data, &place);
    if (status == WICK_OK) status = source_open(t->ctx, place, split, &so, t->train ? NULL : &t->coding, out);
    if (status == WICK_OK && t->train && !again) status = match_classes(t, out);
    if (status == WICK_OK && source_is_audio(*out) && !wick_dataset_rate(*out)) {
        wick_dataset_free(out);
        return wick_context_fail(
            t->ctx, WICK_ERR_FORMAT,
            "%s: its recordings have different numbers of samples a second: --rate HZ resamples them", t->o->data);
    }
    if (status == WICK_OK && *wick_dataset_note(*out)) log_note("%s, %s: %s", data, split, wick_dataset_note(*out));
    if (status == WICK_OK && t->o->of_train.limit > 0) status = wick_dataset_limit(t->ctx, *out, t->o->of_train.limit);
    return status;
}

static int open_samples(training *t) {
    const char *data = t->o->data;
    source_options so;
    const int code = source_read_options(t->o, &so);
    if (code != CLI_OK) return code;
    log_note("reading %s", data);
    wick_pictures how = {.as_stored = t->o->as_stored};
    int64_t size[2];
    const int sized = classifier_read_size(t->o->image_size, "", CLI_USAGE, size);
    if (sized != CLI_OK) return sized;
    /* Those of class folders are decoded when they are asked for: a network's size can't wait for the first that
     * differs. */
    if (!size[0] && *t->o->of_train.onnx && class_folders_are(t->ctx, data) &&
        !classifier_onnx_size(t->ctx, t->o->of_train.onnx, size))
        size[0] = size[1] = 0;
    how.height = size[0], how.width = size[1];
    wick_context_set_pictures(t->ctx, how);
    wick_status status = open_split(t, data, "train", &t->train);
    if (status == WICK_ERR_SHAPE && !how.height) {
        char first[1024];
        snprintf(first, sizeof first, "%s", log_why(t->ctx, status));
        if (!*t->o->of_train.onnx || !classifier_onnx_size(t->ctx, t->o->of_train.onnx, size))
            return log_fail(CLI_BAD_FILE, "%s: --image-size HxW makes pictures alike", first);
        how.height = size[0], how.width = size[1];
        wick_context_set_pictures(t->ctx, how);
        status = open_split(t, data, "train", &t->train);
    }
    const bool chosen = options_given(t->o, "data") || *t->o->of_train.resume;
    if (status != WICK_OK)
        return log_fail(log_code(status, CLI_BAD_FILE), "%s%s", log_why(t->ctx, status),
                        chosen ? "" : "; --data takes another set: a folder, an archive, a table (.csv)");
    if (wick_dataset_count(t->train) == 0)
        return log_fail(CLI_BAD_FILE, "%s holds no %ss", data, source_noun(t->train));
    if (t->o->rate && !source_is_audio(t->train))
        return log_fail(CLI_USAGE, "--rate is for recordings; %s holds none", data);
    const wick_spec *sample = wick_dataset_field(t->train, 0);
    for (int i = 0; i < sample->rank; i++)
        if (sample->dims[i] == 0)
            return log_fail(CLI_BAD_FILE, "%s: its samples are empty: there is nothing to learn from", data);
    status = open_split(t, data, "test", &t->test);
    if (status == WICK_ERR_IO)
        log_note("%s has no test %ss", data, source_noun(t->train));
    else if (status != WICK_OK)
        return log_fail(log_code(status, CLI_BAD_FILE), "%s", log_why(t->ctx, status));
    if (t->test && !wick_dataset_count(t->test)) {
        const int64_t n = wick_dataset_count(t->train);
        log_note("%s: %lld %s%s %s too few to hold any out as test", data, (long long)n, source_noun(t->train),
                 plural(n), n == 1 ? "is" : "are");
        wick_dataset_free(&t->test);
    }
    return CLI_OK;
}

/* ---- validation -------------------------------------------------------------------------------------------------- */

/* A part of the training samples; too few of them leave none. */
static int hold_out(training *t, double share) {
    wick_dataset *parts[2];
    const char *noun = source_noun(t->train);
    const int64_t window = t->o->of_train.window;
    const bool embed = task_asked(t->o) == TASK_EMBED;
    if (embed && source_identities(t->train) < 4) {
        log_note("%lld identities are too few to hold any out for validation: the model will have no threshold",
                 (long long)source_identities(t->train));
        return CLI_OK;
    }
    wick_status status = source_cut(t->ctx, t->train, share,
                                    window                                ? t->o->of_train.horizon - 1
                                    : embed                               ? SOURCE_BY_CLASS
                                    : task_asked(t->o) == TASK_AUTOENCODE ? SOURCE_MIXED
                                                                          : SOURCE_NO_ORDER,
                                    parts);
    if (status != WICK_OK) return log_fail(log_code(status, CLI_BAD_FILE), "%s", log_why(t->ctx, status));
    const long long held = wick_dataset_count(parts[1]), left = wick_dataset_count(parts[0]);
    if (!held || !left) {
        wick_dataset_free(&parts[0]);
        wick_dataset_free(&parts[1]);
        if (options_given(t->o, "validation"))
            return log_fail(CLI_USAGE, "--validation %s of %lld %s%s leaves none %s", t->o->of_train.validation,
                            held + left, noun, plural(held + left), held ? "to learn from" : "to choose by");
        log_note("%lld %s%s are too few to hold any out for validation", held + left, noun, plural(held + left));
        return CLI_OK;
    }
    t->whole = t->train;
    t->train = parts[0], t->valid = parts[1];
    if (embed)
        log_note(
            "%lld of the %lld training identities are held out for validation, which chooses the best epoch and the "
            "threshold",
            (long long)wick_dataset_classes(parts[1]), (long long)source_identities(t->whole));
    log_note(window ? "the last %lld of the %lld training %ss are held out for validation, which chooses the best epoch"
                    : "%lld of the %lld training %ss are held out for validation, which chooses the best epoch",
             held, (long long)wick_dataset_count(t->whole), noun);
    return CLI_OK;
}

/* Data of its own: a part of --data, or what --validation names. */
static int open_other(training *t, const char *part) {
    const cli_options *o = t->o;
    const char *place = o->of_train.validation;
    wick_status status = part ? WICK_OK : source_place(t->ctx, o->of_train.validation, &place);
    const bool whole = source_is_file(place) || class_folders_are(t->ctx, place);
    if (status == WICK_OK)
        status = part ? open_split(t, o->data, part, &t->valid)
                      : open_split(t, o->of_train.validation, whole ? "all" : "test", &t->valid);
    if (status != WICK_OK) return log_fail(log_code(status, CLI_BAD_FILE), "%s", log_why(t->ctx, status));
    const long long count = wick_dataset_count(t->valid);
    if (!count) return log_fail(CLI_BAD_FILE, "--validation: there is no %s", source_noun(t->train));
    if (part)
        log_note("%s has %lld %s%s for validation (%s), which chooses the best epoch", o->data, count,
                 source_noun(t->valid), plural(count), part);
    return CLI_OK;
}

/* --validation becomes what was done, so that a run that goes on does it again. */
static int open_validation(training *t) {
    enum { FEWEST = 50 }; /* samples that choose an epoch: one more or less right is 2 % */
    cli_options *o = t->o;
    char *end;
    const double share = strtod(o->of_train.validation, &end);
    const bool number = end != o->of_train.validation && !*end, given = options_given(o, "validation"),
               again = *o->of_train.resume != 0;
    const char *place, *part = NULL;
    if (source_place(t->ctx, o->data, &place) == WICK_OK) part = source_validation_part(t->ctx, place);
    const bool named = part && strcmp(o->of_train.validation, part) == 0;
    t->by_test = strcmp(o->of_train.validation, "test") == 0;
    if (t->by_test && t->test) log_note("the test set chooses the best epoch, so its figure is no test");
    if (part && !named && given)
        log_note("%s has a part for validation (%s), which is passed over for --validation", o->data, part);
    if (t->by_test || (number && share == 0)) return CLI_OK;
    if (number && !(share > 0 && share < 1))
        return log_fail(CLI_USAGE, "--validation %s is no part of the training samples, such as 0.1",
                        o->of_train.validation);
    if (named || (part && !given && !again))
        return options_replace(o, "validation", part) ? open_other(t, part) : log_fail(CLI_FAILED, "out of memory");
    if (!number) return open_other(t, NULL);
    const int64_t count = wick_dataset_count(t->train);
    const bool asked = given || again || o->of_train.patience || training_is_plateau(o) || task_asked(o) == TASK_EMBED;
    if (asked || share * (double)count >= FEWEST) return hold_out(t, share);
    log_note("%lld training %s%s: a part that is held out would be too few to choose by; --validation %s does",
             (long long)count, source_noun(t->train), plural(count), o->of_train.validation);
    return options_replace(o, "validation", "0") ? CLI_OK : log_fail(CLI_FAILED, "out of memory");
}

/* What several heads go with. */
static int check_heads(const cli_options *o) {
    const bool several = task_asked(o) == TASK_HEADS;
    char error[512];
    if (*o->of_train.heads && !several)
        return log_fail(CLI_USAGE, "--heads are several things that are learned, and --task %s is one",
                        o->of_train.task);
    if (*o->of_train.heads && options_given(o, "target"))
        return log_fail(CLI_USAGE, "--heads says what is learned; it takes no --target beside it");
    if (!several) return CLI_OK;
    if (!*o->of_train.heads && !*o->of_train.target)
        return log_fail(CLI_USAGE, "--task heads: --heads says what is learned, as \"rhythm=classes*0.5, hr=number, "
                                   "tags=labels\"");
    if (options_given(o, "label"))
        return log_fail(CLI_USAGE, "--label is one class; of several heads --heads or --target names the columns");
    if (options_given(o, "text"))
        return log_fail(CLI_USAGE, "--text is for one class, or tags, of texts, and not for several heads");
    if (o->of_train.window) return log_fail(CLI_USAGE, "--window forecasts numbers, and not several heads");
    struct heads *read = heads_read(*o->of_train.heads ? o->of_train.heads : o->of_train.target, *o->of_train.heads,
                                    error, sizeof error);
    if (!read) return log_fail(CLI_USAGE, "--%s: %s", *o->of_train.heads ? "heads" : "target", error);
    heads_free(&read);
    return CLI_OK;
}

/* How many samples of each class. */
static void count_classes(const wick_dataset *d, int64_t classes, int64_t *of) {
    for (int64_t i = 0; d && i < wick_dataset_count(d); i++) {
        const int64_t k = wick_dataset_label(d, i);
        if (k >= 0 && k < classes) of[k]++;
    }
}

/* Of classes that are learned: that there is but one, or that one is looked for and was never seen. */
static int tell_classes(const training *t) {
    const int64_t n = wick_dataset_classes(t->train);
    int64_t *of = calloc((size_t)(2 * n + !n), sizeof *of), seen = 0, first = -1, never = 0;
    if (!of) return log_fail(CLI_FAILED, "out of memory");
    int64_t *judged = of + n;
    count_classes(t->train, n, of);
    count_classes(t->valid, n, judged);
    count_classes(t->test, n, judged);
    for (int64_t k = n; k-- > 0;) {
        seen += of[k] > 0;
        if (of[k] || !judged[k]) continue;
        never++, first = k;
    }
    if (never)
        log_warn("%s: class \"%s\"%s no training sample, and %lld that %s looked at for validation or as test: what "
                 "was never seen can't be told",
                 t->o->data, wick_dataset_class_name(t->train, first), never > 1 ? " and others have" : " has",
                 (long long)judged[first], judged[first] == 1 ? "is" : "are");
    if (seen == 1) {
        for (first = 0; first < n && !of[first];) first++;
        log_warn("%s: all training samples are of one class, \"%s\": there is nothing to tell apart", t->o->data,
                 wick_dataset_class_name(t->train, first));
    }
    free(of);
    return CLI_OK;
}

int training_open_data(training *t) {
    const cli_options *o = t->o;
    const task_kind asked = task_asked(o);
    int code = check_heads(o);
    if (code != CLI_OK) return code;
    if (o->of_train.letterbox && !*o->image_size) return log_fail(CLI_USAGE, "--letterbox is for --image-size");
    if (options_given(o, "horizon") && !o->of_train.window) return log_fail(CLI_USAGE, "--horizon is for --window");
    if (o->of_train.window && asked != TASK_AUTO && asked != TASK_REGRESS)
        return log_fail(CLI_USAGE, "--window forecasts numbers, and --task %s learns none", o->of_train.task);
    code = open_samples(t);
    return code == CLI_OK ? open_validation(t) : code;
}

/* What the best epoch is chosen by; NULL: the training. */
const wick_dataset *training_chooser(const training *t) { return t->by_test ? t->test : t->valid; }

/* ---- the task ---------------------------------------------------------------------------------------------------- */

static bool are_rows(const wick_dataset *d) {
    const wick_spec *f = wick_dataset_field(d, 0);
    return f->dtype == WICK_F32 && f->rank == 1 && f->dims[0] > 0;
}

/* Whether a list of transforms mirrors pictures. */
static bool has_flip(const char *list) {
    for (const char *at = list; *at; at += strcspn(at, ","), at += *at == ',') {
        const size_t n = strcspn(at, ",=");
        if ((n == 4 && strncmp(at, "flip", n) == 0) || (n == 5 && strncmp(at, "vflip", n) == 0)) return true;
    }
    return false;
}

/* Options that say how data of one kind are read have no effect on those of another. */
static int check_kind(const training *t) {
    enum { ARRAYS = 1, TEXTS = 2, IMAGES = 4 };
    static const option_case cases[] = {
        {"inputs", ARRAYS, "a file of tensors"},
        {"layout", ARRAYS, "a file of tensors"},
        {"tokens", TEXTS, "texts"},
        {"vocabulary", TEXTS, "texts"},
        {"length", TEXTS, "texts"},
        {"image-size", IMAGES, "pictures"},
        {"as-stored", IMAGES, "pictures"},
        {"input-range", IMAGES, "pictures"},
    };
    const bool texts = source_is_text_coding(t->coding);
    char *file = source_find_file(t->o->data, "train");
    const bool table = file && (source_ends(file, ".csv") || source_ends(file, ".tsv") || source_is_relation(file));
    free(file);
    const unsigned now =
        (table ? 0 : ARRAYS) | (texts ? TEXTS : 0) | (texts || (table && are_rows(t->train)) ? 0 : IMAGES);
    const option_case *idle = options_idle(t->o, cases, sizeof cases / sizeof *cases, now);
    if (!idle) return CLI_OK;
    return log_fail(CLI_USAGE, "--%s has no effect on %s: it is for %s", idle->name, t->o->data, idle->what);
}

/* Options that are of other tasks than this one. */
static int check_task(const training *t, const task *is) {
    const cli_options *o = t->o;
    static const struct {
        const char *name;
        task_kind kind;
    } uses[] = {{"loss", TASK_REGRESS},
                {"noise", TASK_AUTOENCODE},
                {"embedding", TASK_EMBED},
                {"margin", TASK_EMBED},
                {"label-smoothing", TASK_CLASSIFY},
                {"teacher", TASK_CLASSIFY},
                {"model", TASK_CLASSIFY},
                {"head", TASK_CLASSIFY},
                {"class-weights", TASK_CLASSIFY},
                {"pairs", TASK_KEYPOINTS},
                {"letterbox", TASK_DETECT}};
    const bool fitted = is->kind == TASK_KEYPOINTS;
    const bool places = is->kind == TASK_SEGMENT || is->kind == TASK_TAG;
    for (size_t i = 0; i < sizeof uses / sizeof *uses; i++)
        if (options_given(o, uses[i].name) && is->kind != uses[i].kind &&
            !(places && strcmp(uses[i].name, "class-weights") == 0) &&
            !(fitted && strcmp(uses[i].name, "letterbox") == 0) &&
            !(is->kind == TASK_DENSE && strcmp(uses[i].name, "loss") == 0))
            return log_fail(CLI_USAGE, "--%s is for --task %s; this is %s", uses[i].name, task_of(uses[i].kind)->name,
                            is->name);
    if (options_given(o, "loss") && strcmp(o->of_train.loss_name, is->kind == TASK_DENSE ? "snr" : "silog") == 0)
        return log_fail(CLI_USAGE, "--loss %s is for %s", o->of_train.loss_name,
                        is->kind == TASK_DENSE ? "waveforms, and not for maps" : "--task dense");
    static const char *const columns[] = {"label", "target", "tokens", "vocabulary", "length"};
    for (size_t i = 0; i < sizeof columns / sizeof *columns && is->kind == TASK_CTC; i++)
        if (options_given(o, columns[i]))
            return log_fail(CLI_USAGE,
                            "--%s has no meaning for --task ctc, whose texts are in the column that --text names",
                            columns[i]);
    if (is->kind == TASK_CTC && (has_flip(o->transform) || has_flip(o->of_train.augment)))
        return log_fail(CLI_USAGE, "flip mirrors a text, which then says something else");
    if (options_given(o, "no-standardise") && (!are_rows(t->train) || *o->transform))
        return log_fail(CLI_USAGE, "--no-standardise is for rows of numbers, which those of %s are not", o->data);
    return CLI_OK;
}

/* Sets options that the command line left, where it gave none of `given`; *text: what was set, for people. */
typedef struct chosen_option {
    const char *name;
    char value[512];
} chosen_option;
static bool choose(cli_options *o, const char *const *given, const chosen_option *chosen, int n, char *text,
                   size_t size) {
    for (int i = 0; given[i]; i++)
        if (options_given(o, given[i])) return true;
    for (int i = 0; i < n; i++) {
        if (!options_replace(o, chosen[i].name, chosen[i].value)) return false;
        const size_t at = strlen(text);
        snprintf(text + at, size - at, strchr(chosen[i].value, ' ') ? " --%s \"%s\"" : " --%s %s", chosen[i].name,
                 chosen[i].value);
    }
    return true;
}

/* What a step sees becomes channels, and both directions of what is around it are known. */
#define LINE_NET(turn)                                                                                                 \
    "conv 16 3 same nobias, bn, relu, maxpool 2, conv 32 3 same nobias, bn, relu, maxpool 2, conv 48 3 same nobias, "  \
    "bn, relu, " turn ", conv 96 1 nobias, bn, relu, gru 64 both, dropout 0.2, conv classes 1"
/* A grid of an eighth of the picture's height and width. */
#define DETECTOR                                                                                                       \
    "conv 16 3 stride 2 same nobias, bn, relu, conv 32 3 stride 2 same nobias, bn, relu, conv 32 3 same nobias, bn, "  \
    "relu, conv 64 3 stride 2 same nobias, bn, relu, conv 64 3 same nobias, bn, relu, conv 64 3 same nobias, bn, "     \
    "relu, conv classes 1"

/* Both pictures by the same layers, a grid of an eighth of their height and width, and each place of the first beside
 * each of the second. */
#define TRACKER                                                                                                        \
    "twins(conv 16 3 stride 2 same nobias, bn, relu, conv 32 3 stride 2 same nobias, bn, relu, conv 32 3 same "        \
    "nobias, "                                                                                                         \
    "bn, relu, conv 48 3 stride 2 same nobias, bn, relu, conv 48 3 same), correlate, conv 48 1 nobias, bn, relu, "     \
    "conv "                                                                                                            \
    "32 3 same nobias, bn, relu, conv classes 1"

/* The defaults are for thousands of pictures. Few rows of numbers take a small network that forgets (AdamW's decay of 1
 * was the best of 0.3 to 3 on iris, wine, breast cancer and diabetes), small batches, and about 2,000 updates. An
 * autoencoder gets a narrow place. */
static int choose_defaults(training *t) {
    enum { FEW = 4096, UPDATES = 2000, MOST_EPOCHS = 200 };
    static const char *const network[] = {"arch", "net", "hidden", "dropout", "model", NULL},
                             *const update[] = {"optimizer", "lr",    "weight-decay", "momentum",
                                                "beta1",     "beta2", "group",        NULL},
                             *const of_batch[] = {"batch", NULL}, *const of_epochs[] = {"epochs", NULL};
    cli_options *o = t->o;
    const wick_spec *f = wick_dataset_field(t->train, 0);
    const int64_t count = wick_dataset_count(t->train);
    const bool pixels = t->c.task->kind == TASK_SEGMENT || t->c.task->kind == TASK_DENSE,
               texts = source_is_text_coding(t->coding), tags = t->c.task->kind == TASK_TAG,
               few = are_rows(t->train) && count < FEW, again = t->c.task->kind == TASK_AUTOENCODE,
               lines = t->c.task->kind == TASK_CTC;
    char text[768] = "";
    bool ok = true;
    if (*o->of_train.resume) return CLI_OK;
    if (again) {
        int64_t n = 1;
        for (int d = 0; d < f->rank; d++) n *= f->dims[d] > 0 ? f->dims[d] : 1;
        const long long narrow = n < 8 ? 2 : n > 256 ? 64 : n / 4, wide = n < 8 ? 16 : n > 128 ? 256 : 2 * n;
        chosen_option net = {"net", ""};
        snprintf(net.value, sizeof net.value,
                 "flatten, linear %lld, relu, linear %lld, linear %lld, relu, linear classes", wide, narrow, wide);
        ok = choose(o, network, &net, 1, text, sizeof text);
    } else if (pixels) {
        ok =
            choose(o, network, &(chosen_option){"arch", "unet"}, 1, text, sizeof text) &&
            choose(o, update, (const chosen_option[]){{"optimizer", "adamw"}, {"lr", "0.003"}}, 2, text, sizeof text) &&
            choose(o, of_batch, &(chosen_option){"batch", "16"}, 1, text, sizeof text);
    } else if (t->c.task->kind == TASK_DETECT || t->c.task->kind == TASK_KEYPOINTS || t->c.task->kind == TASK_TRACK) {
        chosen_option net = {"net", ""};
        snprintf(net.value, sizeof net.value, "%s", t->c.task->kind == TASK_TRACK ? TRACKER : DETECTOR);
        ok =
            choose(o, network, &net, 1, text, sizeof text) &&
            choose(o, update, (const chosen_option[]){{"optimizer", "adamw"}, {"lr", "0.003"}}, 2, text, sizeof text) &&
            choose(o, of_batch, &(chosen_option){"batch", "16"}, 1, text, sizeof text);
    } else if (texts) {
        const char *net = tags ? "embed tokens 64, dropout 0.3, lstm 64 both, dropout 0.3, conv classes 1"
                               : "embed tokens 64, dropout 0.3, conv 128 3 same, relu, globalmaxpool, dropout 0.5, "
                                 "linear classes";
        chosen_option chosen = {"net", ""};
        snprintf(chosen.value, sizeof chosen.value, "%s", net);
        ok =
            choose(o, network, &chosen, 1, text, sizeof text) &&
            choose(o, update, (const chosen_option[]){{"optimizer", "adamw"}, {"lr", "0.003"}}, 2, text, sizeof text) &&
            choose(o, of_batch, &(chosen_option){"batch", "32"}, 1, text, sizeof text);
    } else if (lines) {
        const bool sound = source_is_audio(t->train);
        chosen_option net = {"net", ""};
        snprintf(net.value, sizeof net.value, sound ? LINE_NET("rows") : LINE_NET("columns"));
        ok =
            choose(o, network, &net, 1, text, sizeof text) &&
            choose(o, update, (const chosen_option[]){{"optimizer", "adamw"}, {"lr", "0.003"}}, 2, text, sizeof text) &&
            choose(o, of_batch, &(chosen_option){"batch", "32"}, 1, text, sizeof text);
    } else if (few) {
        ok = choose(o, network, (const chosen_option[]){{"hidden", "64"}, {"dropout", "0.3"}}, 2, text, sizeof text) &&
             choose(o, update, (const chosen_option[]){{"optimizer", "adamw"}, {"lr", "0.003"}, {"weight-decay", "1"}},
                    3, text, sizeof text);
    }
    if (few) {
        chosen_option one = {"batch", ""};
        snprintf(one.value, sizeof one.value, "%d", count < 512 ? 16 : count < 2048 ? 32 : 64);
        ok = ok && choose(o, of_batch, &one, 1, text, sizeof text);
        const int64_t steps = (count + o->batch - 1) / o->batch, wanted = (UPDATES + steps - 1) / steps;
        one.name = "epochs";
        snprintf(one.value, sizeof one.value, "%lld",
                 (long long)(wanted > MOST_EPOCHS ? MOST_EPOCHS
                             : wanted < o->epochs ? o->epochs
                                                  : wanted));
        ok = ok && choose(o, of_epochs, &one, 1, text, sizeof text);
    }
    if (*text) log_note("for %lld %s%s:%s", (long long)count, source_noun(t->train), plural(count), text);
    return ok ? CLI_OK : log_fail(CLI_FAILED, "out of memory");
}

/* What is learned, and what follows from it. */
int training_settle_task(training *t) {
    cli_options *o = t->o;
    const task *is = task_of(o->of_train.window ? TASK_REGRESS : source_task(t->train, task_asked(o)));
    int code = check_task(t, is);
    if (code == CLI_OK) code = check_kind(t);
    if (code != CLI_OK) return code;
    t->c.task = is;
    if (is->kind == TASK_CLASSIFY) {
        const int told = tell_classes(t);
        if (told != CLI_OK) return told;
    }
    t->c.embedding = o->of_train.embedding;
    t->c.window = o->of_train.window, t->c.horizon = o->of_train.window ? o->of_train.horizon : 0;
    if (is->kind == TASK_DENSE && !options_given(o, "loss") && !*o->of_train.resume &&
        !options_replace(o, "loss", "mae"))
        return log_fail(CLI_FAILED, "out of memory");
    if ((is->kind == TASK_REGRESS || is->kind == TASK_DENSE) && !(t->c.loss = strdup(o->of_train.loss_name)))
        return log_fail(CLI_FAILED, "out of memory");
    if (is->kind == TASK_DETECT || is->kind == TASK_KEYPOINTS) t->c.letterbox = o->of_train.letterbox;
    if (is->kind == TASK_KEYPOINTS && *o->of_train.target)
        return log_fail(CLI_USAGE, "--target is for numbers; --task keypoints takes all points of the table");
    t->c.standard = are_rows(t->train) && !*o->transform && !o->of_train.no_standardise;
    if (!task_named(o->of_train.task) && !*o->of_train.heads && is->kind != TASK_CLASSIFY)
        log_note("--task %s, as the data look", is->name);
    return choose_defaults(t);
}

/* n numbers with commas between. */
static bool read_weights(const char *text, int64_t n, float *weights) {
    bool any = false;
    for (int64_t k = 0; k < n; k++) {
        char *end;
        weights[k] = strtof(text, &end);
        if (end == text || !(weights[k] >= 0) || isinf(weights[k]) || *end != (k + 1 < n ? ',' : '\0')) return false;
        any |= weights[k] > 0;
        text = end + 1;
    }
    return any;
}

/* How many pixels, or words, of each class the training has. */
static int count_places(const training *t, int64_t *of) {
    const wick_spec *f = wick_dataset_field(t->train, 1);
    const int64_t places = f->dims[0] * (f->rank > 1 ? f->dims[1] : 1);
    uint8_t *labels = malloc((size_t)places);
    int code = labels ? CLI_OK : log_fail(CLI_FAILED, "out of memory");
    wick_fault fault = {0};
    for (int64_t i = 0; i < wick_dataset_count(t->train) && code == CLI_OK; i++) {
        if (wick_dataset_get(t->train, i, (void *[WICK_DATASET_FIELDS]){NULL, labels}, &fault) != WICK_OK)
            code = log_fail(CLI_BAD_FILE, "%s", fault.text);
        for (int64_t k = 0; k < places && code == CLI_OK; k++)
            if (labels[k] < t->c.classes) of[labels[k]]++;
    }
    free(labels);
    return code;
}

int training_weigh_classes(training *t) {
    const char *text = t->o->of_train.class_weights;
    const int64_t n = t->c.classes, count = wick_dataset_count(t->train);
    if (!*text) return CLI_OK;
    t->class_weights = calloc((size_t)n, sizeof *t->class_weights);
    if (!t->class_weights) return log_fail(CLI_FAILED, "out of memory");
    if (strcmp(text, "balanced") != 0)
        return read_weights(text, n, t->class_weights)
                   ? CLI_OK
                   : log_fail(CLI_USAGE, "--class-weights '%s' is not balanced, nor %lld numbers with commas between",
                              text, (long long)n);
    int64_t *of = calloc((size_t)n, sizeof *of), all = 0;
    int code = of ? CLI_OK : log_fail(CLI_FAILED, "out of memory");
    if (code == CLI_OK && t->c.task->by_score) code = count_places(t, of);
    for (int64_t i = 0; i < count && code == CLI_OK && !t->c.task->by_score; i++) of[wick_dataset_label(t->train, i)]++;
    for (int64_t k = 0; k < n && code == CLI_OK; k++) all += of[k];
    /* as scikit-learn's class_weight="balanced": samples / (classes times those of the class) */
    for (int64_t k = 0; k < n && code == CLI_OK; k++)
        t->class_weights[k] = of[k] > 0 ? (float)all / ((float)n * (float)of[k]) : 1;
    free(of);
    return code;
}
