#include "classifier.h"

#include "paths.h"
#include "talk.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_PIXELS = 1 << 24, MOST_CLASSES = 1 << 20 };

static int out_of_memory(void) { return talk_fail(CLI_FAILED, "out of memory"); }

/* All that follows has room for [n, classes]. `whose` is named: the network's text, or the file it is of. */
static int check_logits(const classifier *c, const wick_tensor *logits, const char *whose, int blame) {
    const int rank = wick_tensor_rank(logits);
    if (rank == 2 && wick_tensor_dim(logits, 1) == c->classes) return CLI_OK;
    if (rank == 2)
        return talk_fail(blame, "%s: the network gives %lld number%s an image, the data has %lld class%s: end it with \"linear classes\"", whose,
                         (long long)wick_tensor_dim(logits, 1), plural(wick_tensor_dim(logits, 1)), (long long)c->classes, c->classes == 1 ? "" : "es");
    char shape[WICK_MAX_DIMS * 24] = "";
    for (int d = 1, n = 0; d < rank; d++) n += snprintf(shape + n, sizeof shape - (size_t)n, "%s%lld", d > 1 ? ", " : "", (long long)wick_tensor_dim(logits, d));
    return talk_fail(blame, "%s: the network gives [%s] an image, not the %lld numbers of its classes: \"flatten\" or \"globalpool\" belongs before \"linear classes\"",
                     whose, shape, (long long)c->classes);
}

/* Makes the parameters: recording the network once is what creates them. */
static int make_parameters(classifier *c, const char *whose, int blame) {
    const bool training = wick_model_training(c->model);
    wick_model_set_training(c->model, false); /* one image is no batch */
    wick_scope *scope = wick_scope_open(c->ctx);
    if (!scope) return out_of_memory();
    int64_t dims[WICK_MAX_DIMS] = {1};
    memcpy(dims + 1, c->dims, (size_t)c->rank * sizeof *dims);
    const char *text;
    wick_tensor *logits = classifier_logits(c, wick_zeros(c->ctx, WICK_F32, c->rank + 1, dims));
    wick_status status = wick_tensor_error(logits, &text);
    int code = status == WICK_OK ? check_logits(c, logits, whose, blame) : talk_fail(talk_code(status, blame), "%s: %s", whose, text);
    wick_scope_close(&scope);
    wick_model_set_training(c->model, training);
    return code;
}

/* c->names becomes c->class_names; false: there are not as many as classes. */
static int split_names(classifier *c, bool *fits) {
    char *copy = strdup(c->names);
    c->class_names = calloc((size_t)c->classes, sizeof *c->class_names);
    int64_t count = 0;
    for (char *at = copy, *next = copy; c->class_names && at; at = next) {
        next = strchr(at, '\t');
        if (next) *next++ = '\0';
        if (count < c->classes) c->class_names[count] = at;
        count++;
    }
    *fits = count == c->classes;
    if (copy && c->class_names) return CLI_OK;
    free(copy);
    return out_of_memory();
}

/* Joined by tabs: those of the data set, or numbers. */
static int join_names(classifier *c, const wick_dataset *dataset) {
    size_t size;
    FILE *out = open_memstream(&c->names, &size);
    if (!out) return out_of_memory();
    for (int64_t k = 0; k < c->classes; k++) {
        if (k) fputc('\t', out);
        if (dataset) fputs(wick_dataset_class_name(dataset, k), out);
        else fprintf(out, "%lld", (long long)k);
    }
    bool whole = !ferror(out);
    return fclose(out) == 0 && whole ? CLI_OK : out_of_memory();
}

int classifier_for_dataset(classifier *c, wick_context *ctx, const wick_dataset *dataset, const char *data,
                           const char *arch, int blame) {
    *c = (classifier){.ctx = ctx, .rank = wick_dataset_rank(dataset), .pixels = 1};
    for (int i = 0; i < c->rank; i++) {
        c->dims[i] = wick_dataset_dims(dataset)[i];
        c->pixels *= c->dims[i];
    }
    c->classes = wick_dataset_classes(dataset);
    wick_dataset_moments(dataset, &c->mean, &c->deviation);
    bool fits;
    int code = join_names(c, dataset);
    if (code == CLI_OK) code = split_names(c, &fits);
    if (code != CLI_OK) return code;
    c->arch = strdup(arch);
    c->data = strdup(data);
    if (!c->arch || !c->data || wick_model_new(ctx, &c->model) != WICK_OK) return out_of_memory();
    wick_status status = wick_zoo_find(ctx, c->arch, &c->network);
    if (status != WICK_OK) return talk_fail(blame, "%s", talk_why(ctx, status));
    return make_parameters(c, c->arch, blame);
}

void classifier_free(classifier *c) {
    wick_model_free(&c->model);
    free(c->arch);
    free(c->data);
    free(c->names);
    if (c->class_names) free((char *)c->class_names[0]); /* the others are parts of it */
    free(c->class_names);
    c->arch = c->data = c->names = NULL;
    c->class_names = NULL;
}

int64_t classifier_parameters(const classifier *c) {
    int64_t count = 0;
    for (int i = 0; i < wick_model_count(c->model); i++) {
        wick_named state = wick_model_at(c->model, i);
        if (state.role == WICK_ROLE_PARAM) count += wick_tensor_count(state.tensor);
    }
    return count;
}

bool classifier_add_meta(const classifier *c, meta *list) {
    char dims[WICK_MAX_DIMS * 24] = "";
    for (int i = 0, n = 0; i < c->rank; i++)
        n += snprintf(dims + n, sizeof dims - (size_t)n, "%s%lld", i ? "," : "", (long long)c->dims[i]);
    return meta_add(list, "arch", "%s", c->arch) && meta_add(list, "dims", "%s", dims) &&
           meta_add(list, "classes", "%lld", (long long)c->classes) && meta_add(list, "names", "%s", c->names) && meta_add(list, "mean", "%.17g", c->mean) &&
           meta_add(list, "deviation", "%.17g", c->deviation) && meta_add(list, "data", "%s", c->data);
}

static bool read_dims(classifier *c, const char *text) {
    c->rank = 0;
    c->pixels = 1;
    for (const char *s = text;; s++) {
        char *end;
        long long extent = strtoll(s, &end, 10);
        if (end == s || extent < 1 || extent > MOST_PIXELS / c->pixels || c->rank == WICK_MAX_DIMS - 1) return false;
        c->dims[c->rank++] = extent;
        c->pixels *= extent;
        if (*end == '\0') return true;
        if (*end != ',') return false;
        s = end;
    }
}

static bool read_real(double *value, const char *text) {
    char *end;
    *value = strtod(text, &end);
    return end != text && *end == '\0' && isfinite(*value);
}

enum { ARCH, DIMS, CLASSES, MEAN, DEVIATION, DATA, KEYS };
static const char *const keys[KEYS] = {"arch", "dims", "classes", "mean", "deviation", "data"};

bool classifier_is_in(const wick_checkpoint *file) {
    bool all = true;
    for (int i = 0; i < KEYS; i++) all &= wick_checkpoint_meta(file, keys[i]) != NULL;
    return all;
}

/* Fills in what the metadata says; it is as little trusted as any file. */
static int read_meta(classifier *c, const wick_checkpoint *file, const char *path) {
    const char *value[KEYS];
    for (int i = 0; i < KEYS; i++) {
        value[i] = wick_checkpoint_meta(file, keys[i]);
        if (!value[i])
            return talk_fail(CLI_BAD_FILE, "%s has no '%s' in its metadata: not a model that wick train wrote", path,
                             keys[i]);
    }
    double classes;
    c->arch = strdup(value[ARCH]);
    if (!c->arch) return out_of_memory();
    if (wick_zoo_find(c->ctx, c->arch, &c->network) != WICK_OK)
        return talk_fail(CLI_BAD_FILE, "%s: %s", path, wick_context_error(c->ctx));
    if (!read_dims(c, value[DIMS])) return talk_fail(CLI_BAD_FILE, "%s: bad dims '%s'", path, value[DIMS]);
    if (!read_real(&classes, value[CLASSES]) || !(classes >= 1 && classes <= MOST_CLASSES) || classes != floor(classes))
        return talk_fail(CLI_BAD_FILE, "%s: bad classes '%s'", path, value[CLASSES]);
    c->classes = (int64_t)classes;
    if (!read_real(&c->mean, value[MEAN]) || !read_real(&c->deviation, value[DEVIATION]) || c->deviation < 0)
        return talk_fail(CLI_BAD_FILE, "%s: bad mean '%s' or deviation '%s'", path, value[MEAN], value[DEVIATION]);
    c->data = strdup(value[DATA]);
    if (!c->data) return out_of_memory();
    const char *names = wick_checkpoint_meta(file, "names"); /* not in the first files that were written */
    bool fits = false;
    int code = CLI_OK;
    if (!names) code = join_names(c, NULL);
    else if (!(c->names = strdup(names))) code = out_of_memory();
    if (code == CLI_OK) code = split_names(c, &fits);
    if (code == CLI_OK && !fits) code = talk_fail(CLI_BAD_FILE, "%s: 'names' are not those of %lld classes", path, (long long)c->classes);
    return code;
}

static double spec_elements(wick_spec spec) {
    double elements = 1;
    for (int i = 0; i < spec.rank; i++) elements *= (double)spec.dims[i];
    return elements;
}

int classifier_build(classifier *c, wick_context *ctx, const wick_checkpoint *file, const char *path) {
    *c = (classifier){.ctx = ctx};
    int code = read_meta(c, file, path);
    if (code != CLI_OK) return code;
    /* A small file can't make us reserve the memory of a giant network. */
    double elements = 0;
    for (int i = 0; i < wick_checkpoint_count(file); i++) elements += spec_elements(wick_checkpoint_tensor(file, i));
    if (wick_model_new(c->ctx, &c->model) != WICK_OK) return out_of_memory();
    wick_model_set_limit(c->model, (int64_t)fmax(1, fmin(elements, 0x1p62)));
    wick_model_set_training(c->model, false);
    return make_parameters(c, path, CLI_BAD_FILE);
}

static int load_from(classifier *c, const wick_checkpoint *file, const char *path) {
    int code = classifier_build(c, c->ctx, file, path);
    if (code != CLI_OK) return code;
    wick_status status = wick_checkpoint_load(file, c->model, false);
    if (status == WICK_OK) return CLI_OK;
    return talk_fail(talk_code(status, CLI_BAD_FILE), "%s: %s", path, talk_why(c->ctx, status));
}

int classifier_for_arch(classifier *c, wick_context *ctx, const char *arch, const char *dims, int64_t classes) {
    *c = (classifier){.ctx = ctx, .classes = classes};
    if (!read_dims(c, dims)) return talk_fail(CLI_USAGE, "--input needs the extents of an image, 28,28 or 3,32,32, not '%s'", dims);
    c->arch = strdup(arch);
    if (!c->arch || wick_model_new(ctx, &c->model) != WICK_OK) return out_of_memory();
    if (wick_zoo_find(ctx, c->arch, &c->network) != WICK_OK) return talk_fail(CLI_USAGE, "%s", wick_context_error(ctx));
    return CLI_OK;
}

/* Why a model can't be opened; in the folder of a run without a whole epoch, what can be. */
static int not_opened(wick_context *ctx, wick_status status, const char *model, const char *path) {
    char *last = path_is_folder(model) && !path_exists(path) ? path_join(model, "last.safetensors") : NULL;
    int code = last && path_exists(last)
                   ? talk_fail(CLI_BAD_FILE, "%s: no epoch is done yet; the weights so far are in %s", model, last)
                   : talk_fail(talk_code(status, CLI_BAD_FILE), "%s", talk_why(ctx, status));
    free(last);
    return code;
}

int model_open(wick_context *ctx, const char *model, wick_checkpoint **file, char **path) {
    *file = NULL;
    *path = path_is_folder(model) ? path_join(model, "best.safetensors") : strdup(model);
    if (!*path) return out_of_memory();
    wick_status status = wick_checkpoint_open(ctx, *path, file);
    if (status == WICK_OK) return CLI_OK;
    int code = not_opened(ctx, status, model, *path);
    free(*path);
    *path = NULL;
    return code;
}

int classifier_load(classifier *c, wick_context *ctx, const char *path) {
    *c = (classifier){.ctx = ctx};
    wick_checkpoint *file;
    char *file_path;
    int code = model_open(ctx, path, &file, &file_path);
    if (code == CLI_OK) code = load_from(c, file, file_path);
    wick_checkpoint_free(&file);
    free(file_path);
    return code;
}

wick_tensor *classifier_logits(classifier *c, wick_tensor *x) {
    wick_here(WICK_PLACE); /* errors name this line, not the last one that recorded something else */
    return wick_zoo_build(&c->network, c->model, x, c->classes);
}

void classifier_specs(const classifier *c, int64_t n, wick_spec specs[2]) {
    specs[0] = (wick_spec){.name = "images", .dtype = WICK_F32, .rank = c->rank + 1, .dims = {n}};
    memcpy(specs[0].dims + 1, c->dims, (size_t)c->rank * sizeof *c->dims);
    specs[1] = (wick_spec){.name = "labels", .dtype = WICK_I64, .rank = 1, .dims = {n}};
}

/* A set whose classes are only numbered may be a set of anything: fashion-mnist's model would measure mnist. */
static void note_names(const classifier *c, const wick_dataset *dataset, const char *name) {
    for (int64_t k = 0; k < wick_dataset_classes(dataset); k++) {
        const char *theirs = wick_dataset_class_name(dataset, k), *ours = c->class_names[k];
        if (strcmp(theirs, ours) == 0) continue;
        talk("class %lld is '%s' in %s, and '%s' to the model: they are matched by their numbers", (long long)k, theirs, name, ours);
        return;
    }
}

int classifier_open_data(const classifier *c, const char *name, const char *split, wick_dataset **out) {
    const char *data = name[0] ? name : c->data, *other = strcmp(split, "test") == 0 ? "train" : "test";
    talk("reading %s", data);
    wick_status status = wick_dataset_open(c->ctx, data, split, out);
    if (status == WICK_OK) {
        int code = classifier_check_dataset(c, *out, data);
        if (code == CLI_OK) note_names(c, *out, data);
        return code;
    }
    char why[2048];
    snprintf(why, sizeof why, "%s", talk_why(c->ctx, status));
    wick_dataset *there;
    if (status != WICK_ERR_IO || wick_dataset_open(c->ctx, data, other, &there) != WICK_OK)
        return talk_fail(talk_code(status, CLI_BAD_FILE), "%s", why);
    wick_dataset_free(&there);
    return talk_fail(CLI_BAD_FILE, "%s has no %s images; for the others give --split %s (%s)", data, split, other, why);
}

int classifier_check_dataset(const classifier *c, const wick_dataset *dataset, const char *name) {
    int64_t pixels = 1;
    for (int i = 0; i < wick_dataset_rank(dataset); i++) pixels *= wick_dataset_dims(dataset)[i];
    if (wick_dataset_count(dataset) == 0) return talk_fail(CLI_BAD_FILE, "%s holds no images", name);
    if (pixels != c->pixels)
        return talk_fail(CLI_BAD_FILE, "the images of %s have %lld pixel%s, the model takes %lld", name,
                         (long long)pixels, plural(pixels), (long long)c->pixels);
    if (wick_dataset_classes(dataset) > c->classes)
        return talk_fail(CLI_BAD_FILE, "%s has %lld classes, the model knows %lld", name,
                         (long long)wick_dataset_classes(dataset), (long long)c->classes);
    /* Classes that are only numbered, as in IDX files, fit any names. */
    for (int64_t k = 0; k < wick_dataset_classes(dataset); k++) {
        char number[24];
        snprintf(number, sizeof number, "%lld", (long long)k);
        const char *theirs = wick_dataset_class_name(dataset, k), *ours = c->class_names[k];
        if (strcmp(theirs, ours) != 0 && strcmp(theirs, number) != 0 && strcmp(ours, number) != 0)
            return talk_fail(CLI_BAD_FILE, "class %lld is '%s' in %s, and '%s' to the model", (long long)k, theirs, name, ours);
    }
    return CLI_OK;
}
