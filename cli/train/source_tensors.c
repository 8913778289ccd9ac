/* Tensors of a .npz or safetensors file: one is learned from, one is the class; texts may be the classes, or their
 * names. */
#include "source_kinds.h"
#include "../term/log.h"

#include "wick/weights.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* What of the file is what; -1: none. */
typedef struct parts {
    const wick_weights *file;
    const char *path;
    const char
        *split; /* of a file that has several by the names of its tensors, the one that is taken; NULL: it has none */
    bool quiet;
    int x, y;                 /* tensors */
    const char *inputs;       /* names of arrays, with commas between, that are the inputs; NULL: one is, x */
    wick_texts labels, names; /* texts that are the classes, or their names; texts NULL: none */
} parts;

enum { BASE = SOURCE_BASE };

#define say(p, ...) ((p)->quiet ? (void)0 : log_note(__VA_ARGS__))

static bool is_usual(const char *name) {
    static const char *const usual[] = {"x", "data", "images", "features", "audio"};
    for (size_t k = 0; k < sizeof usual / sizeof *usual; k++)
        if (strcasecmp(name, usual[k]) == 0) return true;
    return false;
}

/* The name without its split: "x" of x_train, "images" of train_images. false: it is not of that split. */
static bool strip_split(const char *name, const char *split, char base[BASE]) {
    const size_t n = strlen(name), m = strlen(split);
    if (n < m + 2 || n - m > BASE) return false;
    const bool before = strncasecmp(name, split, m) == 0 && name[m] == '_',
               behind = strcasecmp(name + n - m, split) == 0 && name[n - m - 1] == '_';
    if (before || behind) snprintf(base, BASE, "%.*s", (int)(n - m - 1), before ? name + m + 1 : name);
    return before || behind;
}

static bool has_split(const wick_weights *file, const char *split) {
    char base[BASE];
    for (int i = 0; i < wick_weights_count(file); i++)
        if (strip_split(wick_weights_at(file, i).name, split, base) && is_usual(base)) return true;
    return false;
}

/* Whether it has samples and labels of that split. */
static bool has_pair(const wick_weights *file, const char *split) {
    char base[BASE];
    wick_texts texts;
    bool label = false;
    for (int i = 0; i < wick_weights_count(file); i++)
        label |= strip_split(wick_weights_at(file, i).name, split, base) && source_is_label(base, NULL);
    for (int i = 0; wick_weights_texts_at(file, i, &texts); i++)
        label |= strip_split(texts.name, split, base) && source_is_label(base, NULL);
    return label && has_split(file, split);
}

/* A name within the split that is taken, NULL: it is of another one, or of none. */
static const char *name_within(const parts *p, const char *name, char base[BASE]) {
    return !p->split ? name : strip_split(name, p->split, base) ? base : NULL;
}

static bool has_no_split(const char *name) {
    char base[BASE];
    return !strip_split(name, "train", base) && !strip_split(name, "test", base) && !strip_split(name, "val", base);
}

static const char *label_name(const parts *p) {
    return p->y >= 0 ? wick_weights_at(p->file, p->y).name : p->labels.name;
}

/* What is passed over of a file with splits is said once, when the first of them is read. */
static void tell_unused(const parts *p) {
    char base[BASE];
    for (int i = 0; i < wick_weights_count(p->file); i++) {
        const char *name = wick_weights_at(p->file, i).name;
        const bool val = strip_split(name, "val", base) && has_pair(p->file, "val"); /* chooses the best epoch */
        if (!val && !strip_split(name, "train", base) && !strip_split(name, "test", base))
            say(p, "%s: \"%s\" is neither of train nor of test, and passed over", p->path, name);
    }
}

static wick_status find_parts(wick_context *ctx, const source_options *so, parts *p) {
    const int n = wick_weights_count(p->file);
    int others = 0;
    bool usual = false;
    char base[BASE], of_label[BASE];
    const char *label = so->target && *so->target ? so->target : so->label, *name;
    wick_texts texts;
    const bool heads = so->task == TASK_HEADS; /* which are read by themselves */
    p->x = p->y = -1;
    if (p->split && label && (strip_split(label, "train", of_label) || strip_split(label, "test", of_label)))
        label = of_label;
    for (int i = 0; i < n; i++)
        if (!heads && (name = name_within(p, wick_weights_at(p->file, i).name, base)) && source_is_label(name, label))
            p->y = i;
    for (int i = 0; !heads && wick_weights_texts_at(p->file, i, &texts); i++) {
        name = name_within(p, texts.name, base);
        if (!name && !has_no_split(texts.name)) continue;
        if (p->y < 0 && name && source_is_label(name, label))
            p->labels = texts;
        else if (!p->names.texts && texts.rank == 1)
            p->names = texts;
        else
            say(p, "%s: \"%s\" is an array of texts, and passed over", p->path, texts.name);
    }
    for (int i = 0; i < n; i++) {
        name = name_within(p, wick_weights_at(p->file, i).name, base);
        if (i == p->y || !name) continue;
        others++;
        if (p->x < 0 || is_usual(name)) p->x = i, usual = is_usual(name);
    }
    if (p->split) tell_unused(p);
    if (p->y < 0 && !p->labels.texts && !so->unlabelled && so->task != TASK_AUTOENCODE && !heads)
        return wick_context_fail(ctx, WICK_ERR_FORMAT,
                                 "%s: has no tensor \"%s%s%s\": --label names the one that is the class", p->path,
                                 label && *label ? label : "label", p->split ? "_" : "", p->split ? p->split : "");
    if (p->inputs) return WICK_OK;
    if (p->x < 0)
        return wick_context_fail(ctx, WICK_ERR_FORMAT, "%s: has no tensor beside \"%s\"", p->path,
                                 label_name(p) ? label_name(p) : "");
    if (others == 1 || usual) return WICK_OK;
    if (heads)
        return wick_context_fail(ctx, WICK_ERR_FORMAT,
                                 "%s: has %d arrays, none of them called x, data, images, features or audio, which "
                                 "would be learned from",
                                 p->path, others);
    return wick_context_fail(ctx, WICK_ERR_FORMAT,
                             "%s: has %d tensors beside \"%s\", none of them called x, data, images, features or audio",
                             p->path, others, label_name(p) ? label_name(p) : "");
}

/* ---- what is learned from ---------------------------------------------------------------------------------------- */

static bool is_channels(int64_t n) { return n == 1 || n == 3; }

/* Whether samples [H, W, C] are to be turned to [C, H, W], which is said. learned: dims of a sample that the model
 * knows, all 0: it knows none. */
static bool is_last(const parts *p, const source_options *so, const wick_spec *x, const int64_t learned[3]) {
    const int64_t *d = x->dims + 1;
    const bool asked = so->layout && strcmp(so->layout, "nhwc") == 0,
               left = so->layout && strcmp(so->layout, "nchw") == 0;
    if (x->rank != 4) return false;
    if (asked || left) return asked;
    const bool as_is = memcmp(d, learned, 3 * sizeof *d) == 0,
               turned = d[2] == learned[0] && d[0] == learned[1] && d[1] == learned[2];
    const bool known = as_is != turned, first = is_channels(d[0]), last = is_channels(d[2]);
    const bool turn = known                                                   ? turned
                      : so->coding && strncmp(so->coding, "tensors ", 8) == 0 ? strncmp(so->coding + 8, "nhwc", 4) == 0
                                                                              : last && !first;
    if (turn)
        say(p,
            "%s: samples of \"%s\" are [%lld, %lld, %lld], with the channels last: they are turned to [%lld, %lld, "
            "%lld]; --layout nchw leaves them",
            p->path, x->name, (long long)d[0], (long long)d[1], (long long)d[2], (long long)d[2], (long long)d[0],
            (long long)d[1]);
    else if (!known && first == last)
        say(p,
            "%s: samples of \"%s\" are [%lld, %lld, %lld], taken as %lld channel%s of %lld x %lld; --layout nhwc takes "
            "the last extent for the channels",
            p->path, x->name, (long long)d[0], (long long)d[1], (long long)d[2], (long long)d[0], plural(d[0]),
            (long long)d[1], (long long)d[2]);
    return turn;
}

/* NaN and Inf would be everywhere after a step; whole numbers above 2^24 have no place in 32 bits. */
static wick_status check_numbers(wick_context *ctx, const parts *p, wick_tensor *x, wick_tensor *cast) {
    const void *data;
    const wick_status status = wick_data(cast, &data);
    if (status != WICK_OK) return status;
    const int64_t n = wick_tensor_count(cast), rows = wick_tensor_dim(cast, 0), row = rows ? n / rows : 1;
    const char *name = wick_weights_at(p->file, p->x).name;
    const wick_dtype dtype = wick_tensor_dtype(x);
    const float *v = data;
    const void *doubles = NULL; /* in the order of the file */
    bool large = false;
    if (dtype == WICK_F64 && wick_data(x, &doubles) != WICK_OK)
        return wick_context_fail(ctx, WICK_ERR_NOMEM, "%s: out of memory", p->path);
    for (int64_t i = 0; i < n && doubles; i++) {
        const double d = ((const double *)doubles)[i];
        large |= fabs(d) > 0x1p24 && d == floor(d) && d != (double)(float)d;
    }
    for (int64_t i = 0; i < n; i++) {
        if (!isfinite(v[i]))
            return wick_context_fail(
                ctx, WICK_ERR_FORMAT,
                "%s: \"%s\": sample %lld has %s, number %lld of it: what is missing is to be filled in before", p->path,
                name, (long long)(i / row), isnan(v[i]) ? "NaN" : "a number that 32 bits cannot hold",
                (long long)(i % row));
        large |= dtype != WICK_F32 && !doubles && fabsf(v[i]) > 0x1p24f;
    }
    if (large) say(p, "%s: \"%s\" has whole numbers above 2^24, which are rounded to 32-bit floats", p->path, name);
    return WICK_OK;
}

static wick_status take_samples(wick_context *ctx, const parts *p, const source_options *so, const int64_t learned[3],
                                owned *o, wick_tensor **out) {
    const wick_spec spec = wick_weights_at(p->file, p->x);
    wick_tensor *x = wick_weights_tensor(p->file, p->x);
    if (spec.rank < 1)
        return wick_context_fail(ctx, WICK_ERR_FORMAT, "%s: \"%s\" is one number, not samples", p->path, spec.name);
    const bool last = is_last(p, so, &spec, learned);
    if (so->layout && strcmp(so->layout, "nhwc") == 0 && !last)
        return wick_context_fail(ctx, WICK_ERR_FORMAT,
                                 "%s: --layout is for samples of three dims, and those of \"%s\" have %d", p->path,
                                 spec.name, spec.rank - 1);
    wick_tensor *cast = spec.dtype == WICK_U8 ? x : wick_cast(x, WICK_F32);
    if (last) cast = wick_permute(cast, 4, (const int[]){0, 3, 1, 2});
    const wick_status status = spec.dtype == WICK_U8 ? WICK_OK : check_numbers(ctx, p, x, cast);
    if (status != WICK_OK) return status;
    char dims[WICK_MAX_DIMS * 24] = "";
    for (int d = 1, n = 0; d < spec.rank; d++)
        n += snprintf(dims + n, sizeof dims - (size_t)n, " %lld", (long long)wick_tensor_dim(cast, d));
    *out = cast;
    return asprintf(&o->coding, "tensors %s%s", last ? "nhwc" : "nchw", dims) < 0
               ? (o->coding = NULL, wick_context_fail(ctx, WICK_ERR_NOMEM, "%s: out of memory", p->path))
               : WICK_OK;
}

/* ---- classes ----------------------------------------------------------------------------------------------------- */

/* Row i as a number of a class; false: it is none. */
static bool whole_label(wick_dtype dtype, const void *data, int64_t i, double *shown, int64_t *label) {
    if (dtype == WICK_U64) {
        const uint64_t v = ((const uint64_t *)data)[i];
        return *shown = (double)v, *label = (int64_t)v, v <= INT64_MAX;
    }
    if (dtype == WICK_I64) return *label = ((const int64_t *)data)[i], *shown = (double)*label, *label >= 0;
    *shown = ((const double *)data)[i];
    const bool whole = *shown == floor(*shown) && *shown >= 0 && *shown < 0x1p53;
    *label = whole ? (int64_t)*shown : -1;
    return whole;
}

static int by_number(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Of numbers, how many different ones; false: out of memory, or one is NaN. */
static bool look_at(const double *values, int64_t n, class_look *look) {
    double *sorted = malloc((size_t)(n + !n) * sizeof *sorted);
    *look = (class_look){.samples = n, .numbers = true, .whole = true, .low = INFINITY, .high = -INFINITY};
    bool ok = sorted != NULL;
    for (int64_t i = 0; ok && i < n; i++) {
        ok = !isnan(values[i]);
        look->whole &= values[i] == floor(values[i]);
        look->low = fmin(look->low, values[i]), look->high = fmax(look->high, values[i]);
        sorted[i] = values[i];
    }
    if (ok) qsort(sorted, (size_t)n, sizeof *sorted, by_number);
    for (int64_t i = 0; ok && i < n; i++) look->classes += !i || sorted[i] != sorted[i - 1];
    free(sorted);
    return ok;
}

/* What is wrong with a number that is no class. */
static wick_status refuse_label(wick_context *ctx, const parts *p, double v, int64_t row) {
    const char *name = label_name(p);
    if (isnan(v))
        return wick_context_fail(ctx, WICK_ERR_FORMAT, "%s: \"%s\": row %lld is NaN, and it is the class", p->path,
                                 name, (long long)row);
    if (v < 0 && v == floor(v))
        return wick_context_fail(ctx, WICK_ERR_FORMAT, "%s: \"%s\": row %lld is %.17g: classes are numbered from 0",
                                 p->path, name, (long long)row, v);
    return wick_context_fail(ctx, WICK_ERR_FORMAT,
                             "%s: \"%s\": row %lld is %.9g, which is not whole, as numbers of classes are; --task "
                             "regress learns numbers",
                             p->path, name, (long long)row, v);
}

/* Numbers of classes that have gaps are taken, and told of; where most of them are gaps they are something else. */
static wick_status check_gaps(wick_context *ctx, const parts *p, const int64_t *labels, int64_t n, int64_t classes) {
    enum { MANY = 65536 };
    const char *name = label_name(p);
    int64_t row = 0;
    for (int64_t i = 0; i < n; i++) row = labels[i] == classes - 1 ? i : row;
    if (classes > MANY && classes > n)
        return wick_context_fail(ctx, WICK_ERR_FORMAT,
                                 "%s: \"%s\": row %lld is %lld, and there are %lld rows: classes are numbered from 0 "
                                 "without gaps; numpy.unique(y, return_inverse=True) numbers them",
                                 p->path, name, (long long)row, (long long)classes - 1, (long long)n);
    bool *there = calloc((size_t)classes, sizeof *there);
    if (!there) return wick_context_fail(ctx, WICK_ERR_NOMEM, "%s: out of memory", p->path);
    int64_t different = 0, first = -1;
    for (int64_t i = 0; i < n; i++) different += !there[labels[i]], there[labels[i]] = true;
    for (int64_t k = classes; k-- > 0;) first = there[k] ? first : k;
    int64_t low = 0;
    while (low < classes && !there[low]) low++;
    free(there);
    if (first >= 0)
        say(p, "%s: \"%s\" numbers %lld classes, and %lld of them %s no sample, the first is %lld", p->path, name,
            (long long)classes, (long long)(classes - different), classes - different == 1 ? "has" : "have",
            (long long)first);
    return WICK_OK;
}

/* [n] or [n, 1], as Keras has them, of whole numbers: as i64. */
static wick_status take_numbers(wick_context *ctx, const parts *p, const source_options *so, int64_t *classes,
                                wick_tensor **out) {
    const wick_spec spec = wick_weights_at(p->file, p->y);
    wick_tensor *y = wick_weights_tensor(p->file, p->y);
    if (spec.rank == 2 && spec.dims[1] != 1)
        return wick_context_fail(ctx, WICK_ERR_FORMAT,
                                 "%s: \"%s\" has %lld numbers for each sample, and the class is one: numpy.argmax(y, "
                                 "1) makes it of a row with a 1",
                                 p->path, spec.name, (long long)spec.dims[1]);
    if (spec.rank != 1 && spec.rank != 2)
        return wick_context_fail(ctx, WICK_ERR_FORMAT, "%s: \"%s\" has %d dims, and classes are [n]", p->path,
                                 spec.name, spec.rank);
    if (spec.rank == 2) y = wick_reshape(y, 1, spec.dims);
    const bool floats =
        spec.dtype == WICK_F16 || spec.dtype == WICK_BF16 || spec.dtype == WICK_F32 || spec.dtype == WICK_F64;
    y = floats ? wick_cast(y, WICK_F64) : spec.dtype == WICK_U64 ? y : wick_cast(y, WICK_I64);
    const void *data;
    const wick_status status = wick_data(y, &data);
    if (status != WICK_OK) return status;
    const int64_t n = wick_tensor_count(y);
    int64_t *labels = malloc((size_t)(n + !n) * sizeof *labels);
    if (!labels) return wick_context_fail(ctx, WICK_ERR_NOMEM, "%s: out of memory", p->path);
    wick_status bad = WICK_OK;
    *classes = 1;
    for (int64_t i = 0; i < n && bad == WICK_OK; i++) {
        double shown;
        const bool whole = whole_label(wick_tensor_dtype(y), data, i, &shown, &labels[i]);
        if (!whole && floats)
            bad = refuse_label(ctx, p, shown, i);
        else if (!whole)
            bad = wick_context_fail(ctx, WICK_ERR_FORMAT, "%s: \"%s\": row %lld is %.17g: classes are numbered from 0",
                                    p->path, spec.name, (long long)i, shown);
        else if (so->coding && so->classes && labels[i] >= so->classes)
            bad = wick_context_fail(ctx, WICK_ERR_MISMATCH,
                                    "%s: \"%s\": row %lld is class %lld, and the model knows %lld", p->path, spec.name,
                                    (long long)i, (long long)labels[i], (long long)so->classes);
        else
            *classes = labels[i] >= *classes ? labels[i] + 1 : *classes;
    }
    if (bad == WICK_OK && !so->coding && n) bad = check_gaps(ctx, p, labels, n, *classes);
    if (bad == WICK_OK) *out = wick_from(ctx, WICK_I64, 1, &n, labels);
    free(labels);
    return bad;
}

static int by_text(const void *a, const void *b) { return strcmp(*(const char *const *)a, *(const char *const *)b); }

/* Texts as classes, in the order of their bytes; *names, malloc'ed, are they. */
static wick_status take_texts(wick_context *ctx, const parts *p, const source_options *so, int64_t *classes,
                              const char ***names, wick_tensor **out) {
    const wick_texts *t = &p->labels;
    if (t->rank != 1 && !(t->rank == 2 && t->dims[1] == 1))
        return wick_context_fail(ctx, WICK_ERR_FORMAT, "%s: \"%s\" has %d dims, and classes are [n]", p->path, t->name,
                                 t->rank);
    int64_t *labels = malloc((size_t)(t->count + 1) * sizeof *labels), n = 0;
    *names = malloc((size_t)(t->count + 1) * sizeof **names);
    if (!labels || !*names) return free(labels), wick_context_fail(ctx, WICK_ERR_NOMEM, "%s: out of memory", p->path);
    if (t->count) memcpy(*names, t->texts, (size_t)t->count * sizeof **names);
    qsort(*names, (size_t)t->count, sizeof **names, by_text);
    for (int64_t i = 0; i < t->count; i++)
        if (!i || strcmp((*names)[i], (*names)[n - 1]) != 0) (*names)[n++] = (*names)[i];
    for (int64_t i = 0; i < t->count; i++)
        labels[i] = (const char **)bsearch(&t->texts[i], *names, (size_t)n, sizeof **names, by_text) - *names;
    *classes = n;
    *out = wick_from(ctx, WICK_I64, 1, &t->count, labels);
    free(labels);
    return so->coding ? WICK_OK
                      : source_check_names(ctx, p->path, t->name, &(class_look){.samples = t->count, .classes = n});
}

static wick_status take_classes(wick_context *ctx, const parts *p, const source_options *so, owned *o, int64_t *classes,
                                wick_tensor **y) {
    const char **names = NULL;
    if (p->labels.texts) {
        wick_status status = take_texts(ctx, p, so, classes, &names, y);
        if (status == WICK_OK) status = source_keep_names(ctx, p->path, names, *classes, o);
        free(names);
        return status;
    }
    const wick_status status = take_numbers(ctx, p, so, classes, y);
    if (status != WICK_OK || !p->names.texts) return status;
    if (p->names.count < *classes) {
        say(p, "%s: \"%s\" has %lld texts, and there are %lld classes: it is passed over", p->path, p->names.name,
            (long long)p->names.count, (long long)*classes);
        return WICK_OK;
    }
    *classes = p->names.count;
    say(p, "%s: \"%s\" has the names of the %lld classes", p->path, p->names.name, (long long)*classes);
    return source_keep_names(ctx, p->path, p->names.texts, *classes, o);
}

/* ---- numbers to learn -------------------------------------------------------------------------------------------- */

/* Whether each row has one 1 and zeros, which says a class. */
static bool is_one_hot(const double *y, int64_t n, int64_t k) {
    for (int64_t i = 0; i < n; i++) {
        int64_t ones = 0;
        for (int64_t c = 0; c < k; c++) {
            if (y[i * k + c] != 0 && y[i * k + c] != 1) return false;
            ones += y[i * k + c] == 1;
        }
        if (ones != 1) return false;
    }
    return true;
}

/* Whether the numbers of the label are classes, or are to be learned as they are, which is said. */
static wick_status find_task(const parts *p, const source_options *so, task_kind *task) {
    *task = so->target && *so->target ? TASK_REGRESS : TASK_CLASSIFY;
    if (p->y < 0 || *task == TASK_REGRESS) return WICK_OK;
    const wick_spec spec = wick_weights_at(p->file, p->y);
    const int64_t k = spec.rank == 2 ? spec.dims[1] : 1;
    const void *data;
    class_look look;
    if (spec.rank != 1 && spec.rank != 2) return WICK_OK; /* is refused as classes */
    const wick_status status = wick_data(wick_cast(wick_weights_tensor(p->file, p->y), WICK_F64), &data);
    if (status != WICK_OK) return status;
    if (k > 1 && !is_one_hot(data, spec.dims[0], k)) {
        say(p, "%s: \"%s\" has %lld numbers for each sample: they are learned as such", p->path, spec.name,
            (long long)k);
        *task = TASK_REGRESS;
    } else if (k == 1 && look_at(data, spec.dims[0], &look) && source_are_targets(&look)) {
        if (!p->quiet) source_tell_targets(p->path, spec.name, &look);
        *task = TASK_REGRESS;
    }
    return WICK_OK;
}

/* "y", or of several "y[0]", "y[1]", unless the file has as many texts; they become o's. */
static wick_status name_targets(wick_context *ctx, const parts *p, int64_t k, owned *o) {
    char base[BASE];
    const char *name = wick_weights_at(p->file, p->y).name;
    if (p->split && strip_split(name, p->split, base)) name = base;
    if (p->names.texts && p->names.count == k) return source_keep_names(ctx, p->path, p->names.texts, k, o);
    if (k == 1) return source_keep_names(ctx, p->path, &name, 1, o);
    const size_t room = strlen(name) + 24;
    char *texts = malloc((size_t)k * room);
    const char **names = malloc((size_t)k * sizeof *names);
    wick_status status =
        texts && names ? WICK_OK : wick_context_fail(ctx, WICK_ERR_NOMEM, "%s: out of memory", p->path);
    for (int64_t i = 0; status == WICK_OK && i < k; i++) {
        names[i] = texts + (size_t)i * room;
        snprintf(texts + (size_t)i * room, room, "%s[%lld]", name, (long long)i);
    }
    if (status == WICK_OK) status = source_keep_names(ctx, p->path, names, k, o);
    free(texts);
    free(names);
    return status;
}

/* "0", "1" ... as o's. */
static wick_status number_names(wick_context *ctx, const char *path, int64_t k, owned *o) {
    enum { ROOM = 24 };
    char *texts = malloc((size_t)(k + 1) * ROOM);
    const char **names = malloc((size_t)(k + 1) * sizeof *names);
    wick_status status = texts && names ? WICK_OK : wick_context_fail(ctx, WICK_ERR_NOMEM, "%s: out of memory", path);
    for (int64_t i = 0; status == WICK_OK && i < k; i++) {
        names[i] = texts + i * ROOM;
        snprintf(texts + i * ROOM, ROOM, "%lld", (long long)i);
    }
    if (status == WICK_OK) status = source_keep_names(ctx, path, names, k, o);
    free(texts);
    free(names);
    return status;
}

/* [n] or [n, k] of any numbers, as f32 [n, k]. */
static wick_status take_targets(wick_context *ctx, const parts *p, const source_options *so, task_kind task, owned *o,
                                wick_tensor **out) {
    if (p->y < 0)
        return wick_context_fail(ctx, WICK_ERR_FORMAT, "%s: \"%s\" has texts, and numbers are to be learned", p->path,
                                 label_name(p));
    const wick_spec spec = wick_weights_at(p->file, p->y);
    if ((spec.rank != 1 && spec.rank != 2) || (spec.rank == 2 && spec.dims[1] < 1))
        return wick_context_fail(ctx, WICK_ERR_FORMAT, "%s: \"%s\" has %d dims, and numbers to learn are [n] or [n, k]",
                                 p->path, spec.name, spec.rank);
    const int64_t n = spec.dims[0], k = spec.rank == 2 ? spec.dims[1] : 1;
    const void *data;
    *out = wick_reshape(wick_cast(wick_weights_tensor(p->file, p->y), WICK_F32), 2, (const int64_t[]){n, k});
    wick_status status = wick_data(*out, &data);
    if (status == WICK_OK) status = name_targets(ctx, p, k, o);
    if (status == WICK_OK && !so->unlabelled)
        status = source_check_targets(ctx, p->path, o->class_names, data, 0, n, k, task == TASK_MULTI_LABEL);
    o->targets = true;
    return status;
}

/* ---- all --------------------------------------------------------------------------------------------------------- */

/* Dims of a sample that the model learned from; zeros: not three. */
static wick_status read_coding(wick_context *ctx, const char *path, const char *coding, int64_t dims[3]) {
    char layout[8];
    long long d[3] = {0, 0, 0};
    if (!coding) return WICK_OK;
    if (strncmp(coding, "tensors ", 8) != 0)
        return wick_context_fail(
            ctx, WICK_ERR_MISMATCH,
            "%s: holds tensors, and the model learned from the columns of a table, which have names", path);
    if (sscanf(coding, "tensors %4s %lld %lld %lld", layout, &d[0], &d[1], &d[2]) == 4)
        for (int k = 0; k < 3; k++) dims[k] = d[k];
    return WICK_OK;
}

static wick_status take_inputs(wick_context *ctx, const parts *p, owned *o, wick_tensor **out) {
    source_input list[SOURCE_MOST_INPUTS];
    int n = 0;
    const wick_status status = source_take_inputs(ctx, p->file, p->path, p->split, p->inputs, list, &n, out);
    if (status != WICK_OK) return status;
    for (int k = 0; k < n; k++)
        say(p, "%s: input %s: numbers %lld to %lld of a sample", p->path, list[k].name, (long long)list[k].first,
            (long long)(list[k].first + list[k].count - 1));
    o->coding = source_write_inputs(list, n);
    return o->coding ? WICK_OK : wick_context_fail(ctx, WICK_ERR_NOMEM, "%s: out of memory", p->path);
}

static wick_status take_columns(wick_context *ctx, parts *p, const source_options *so, owned *o) {
    int64_t learned[3] = {0, 0, 0}, classes = 0;
    wick_tensor *tensors[2] = {NULL, NULL};
    wick_status status = read_coding(ctx, p->path, so->coding, learned);
    if (status == WICK_OK) status = find_parts(ctx, so, p);
    if (status == WICK_OK)
        status = p->inputs ? take_inputs(ctx, p, o, &tensors[0]) : take_samples(ctx, p, so, learned, o, &tensors[0]);
    if (status != WICK_OK) return status;
    const char *names[2] = {p->inputs ? "inputs" : wick_weights_at(p->file, p->x).name, "label"};
    task_kind task = so->task;
    if (task == TASK_AUTO) status = find_task(p, so, &task);
    if (status != WICK_OK) return status;
    const bool numbers = task == TASK_REGRESS || task == TASK_MULTI_LABEL;
    if (numbers && p->y < 0 && so->unlabelled) { /* the model knows what they are called */
        o->targets = true;
        status = number_names(ctx, p->path, so->classes, o);
        return status == WICK_OK ? wick_dataset_of_tensors(ctx, 1, names, tensors, -1, 0, &o->set) : status;
    }
    if (numbers) {
        names[1] = "target";
        status = take_targets(ctx, p, so, task, o, &tensors[1]);
        return status == WICK_OK ? wick_dataset_of_tensors(ctx, 2, names, tensors, -1, 0, &o->set) : status;
    }
    if (p->y < 0 && !p->labels.texts) return wick_dataset_of_tensors(ctx, 1, names, tensors, -1, 0, &o->set);
    status = take_classes(ctx, p, so, o, &classes, &tensors[1]);
    if (status != WICK_OK && status != WICK_ERR_NOMEM && task == TASK_AUTOENCODE)
        say(p, "%s: \"%s\" is passed over: it has no classes", p->path, label_name(p));
    if (status != WICK_OK && status != WICK_ERR_NOMEM && (so->unlabelled || task == TASK_AUTOENCODE))
        return wick_dataset_of_tensors(ctx, 1, names, tensors, -1, 0, &o->set);
    return status == WICK_OK ? wick_dataset_of_tensors(ctx, 2, names, tensors, 1, classes, &o->set) : status;
}

/* The split that names of tensors have, as close to the one asked for as there is; NULL: they have none. */
static const char *find_split(const wick_weights *file, const char *split, bool *divided) {
    const bool train = has_split(file, "train"), test = has_split(file, "test");
    *divided = train && test;
    if (*divided && strcmp(split, "val") == 0 && has_pair(file, split)) return "val";
    if (*divided) return strcmp(split, "train") == 0 ? "train" : "test";
    return train ? "train" : test ? "test" : NULL;
}

bool source_strip_split(const char *name, const char *split, char base[SOURCE_BASE]) {
    return strip_split(name, split, base);
}
const char *source_split_named(const wick_weights *file, const char *split, bool *divided) {
    return find_split(file, split, divided);
}

bool source_is_divided(wick_context *ctx, const char *path) {
    wick_weights *file;
    bool divided = false;
    if (!source_is_file(path) || source_ends(path, ".csv") || source_ends(path, ".tsv") || source_is_relation(path) ||
        wick_weights_open(ctx, path, &file) != WICK_OK)
        return false;
    find_split(file, "train", &divided);
    wick_weights_free(&file);
    return divided;
}

bool source_has_val(wick_context *ctx, const char *path) {
    wick_weights *file;
    bool divided = false;
    if (!source_is_divided(ctx, path) || wick_weights_open(ctx, path, &file) != WICK_OK) return false;
    const char *split = find_split(file, "val", &divided);
    const bool has = split && strcmp(split, "val") == 0;
    wick_weights_free(&file);
    return has;
}

wick_status source_open_tensors(wick_context *ctx, const char *path, const char *split, const source_options *so,
                                bool parted, owned *o) {
    wick_weights *file;
    wick_status status = wick_weights_open(ctx, path, &file);
    if (status != WICK_OK) return status;
    parts p = {.file = file, .path = path, .quiet = parted && so->told};
    source_input known[SOURCE_MOST_INPUTS];
    char names[SOURCE_MOST_INPUTS * (SOURCE_INPUT_NAME + 1)] = "";
    const int inputs = so->coding ? source_read_inputs(so->coding, known) : 0;
    for (int k = 0; k < inputs; k++) strcat(strcat(names, k ? "," : ""), known[k].name);
    p.inputs = inputs ? names : !so->coding && so->inputs && *so->inputs ? so->inputs : NULL;
    if (parted) p.split = find_split(file, split, &o->divided);
    if (o->divided && strcmp(split, "all") == 0)
        log_note("%s: has train and test in it: those of test are taken", path);
    wick_scope *scope = wick_scope_open(ctx);
    status = scope ? take_columns(ctx, &p, so, o) : wick_context_fail(ctx, WICK_ERR_NOMEM, "%s: out of memory", path);
    if (scope) wick_scope_close(&scope);
    wick_weights_free(&file);
    return status;
}
