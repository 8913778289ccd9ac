#include "classifier_parts.h"

#include "heads.h"
#include "tasks/dense.h"
#include "tasks/embed.h"
#include "../file_types.h"
#include "../paths.h"
#include "../step.h"
#include "../term/log.h"
#include "boxes/point_table.h"
#include "tasks/detect.h"

#include "wick/image.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

int classifier_out_of_memory(void) { return log_fail(CLI_FAILED, "out of memory"); }

/* Tasks whose networks give more than a vector a sample: numbers for each step, word, pixel or cell. */
static bool gives_maps(task_kind kind) {
    return kind == TASK_CTC || kind == TASK_TAG || kind == TASK_SEGMENT || kind == TASK_DENSE ||
           kind == TASK_KEYPOINTS || kind == TASK_TRACK || kind == TASK_DETECT;
}
static int check_maps(classifier *c, const wick_tensor *logits, const char *whose, int blame) {
    const int rank = wick_tensor_rank(logits);
    if (c->task->kind == TASK_CTC) {
        char gives[WICK_MAX_DIMS * 24];
        c->steps = rank == 3 ? wick_tensor_dim(logits, 2) : 0;
        if (rank == 3 && wick_tensor_dim(logits, 1) == c->classes && c->steps > 0) return CLI_OK;
        return log_fail(
            blame,
            "%s: the network gives [%s] a sample, not [%lld, steps] of the symbols at each step: end it with "
            "\"conv classes 1\" behind \"columns\" (of pictures, from left to right) or \"rows\" (of "
            "spectrograms, whose rows are moments)",
            whose, classifier_extents(rank - 1, wick_tensor_dims(logits) + 1, gives), (long long)c->classes);
    }
    if (c->task->kind == TASK_TAG) {
        const int64_t words = c->dims[c->rank - 1];
        if (rank == 3 && wick_tensor_dim(logits, 1) == c->classes && wick_tensor_dim(logits, 2) == words) return CLI_OK;
        char gives[WICK_MAX_DIMS * 24];
        return log_fail(blame,
                        "%s: the network gives [%s] a text, not the [%lld, %lld] of the tags of its words: end it with "
                        "\"conv classes 1\", and let it keep its length",
                        whose, classifier_extents(rank - 1, wick_tensor_dims(logits) + 1, gives), (long long)c->classes,
                        (long long)words);
    }
    if (c->task->kind == TASK_SEGMENT) {
        const int64_t high = c->dims[c->rank - 2], wide = c->dims[c->rank - 1];
        if (rank == 4 && wick_tensor_dim(logits, 1) == c->classes && wick_tensor_dim(logits, 2) == high &&
            wick_tensor_dim(logits, 3) == wide)
            return CLI_OK;
        char gives[WICK_MAX_DIMS * 24];
        return log_fail(blame,
                        "%s: the network gives [%s] a picture, not the [%lld, %lld, %lld] of the classes of its "
                        "pixels: end it with \"conv classes 1\", after as many \"upsample\" as it shrinks",
                        whose, classifier_extents(rank - 1, wick_tensor_dims(logits) + 1, gives), (long long)c->classes,
                        (long long)high, (long long)wide);
    }
    if (c->task->kind == TASK_DENSE) {
        const int64_t high = c->dims[c->rank - 2], wide = c->dims[c->rank - 1];
        if (rank == 4 && wick_tensor_dim(logits, 1) == 1 && wick_tensor_dim(logits, 2) == high &&
            wick_tensor_dim(logits, 3) == wide)
            return CLI_OK;
        char gives[WICK_MAX_DIMS * 24];
        return log_fail(blame,
                        "%s: the network gives [%s] a picture, not the [1, %lld, %lld] of a number for each of its "
                        "pixels: end it with \"conv classes 1\", after as many \"upsample\" as it shrinks",
                        whose, classifier_extents(rank - 1, wick_tensor_dims(logits) + 1, gives), (long long)high,
                        (long long)wide);
    }
    if (c->task->kind == TASK_KEYPOINTS) {
        if (rank == 4 && wick_tensor_dim(logits, 1) == c->classes && wick_tensor_dim(logits, 2) >= 2 &&
            wick_tensor_dim(logits, 3) >= 2)
            return CLI_OK;
        char gives[WICK_MAX_DIMS * 24];
        return log_fail(blame,
                        "%s: the network gives [%s] a picture, not [%lld, rows, columns] of a heatmap for each of the "
                        "%lld points, with two of each at least: end it with \"conv classes 1\"",
                        whose, classifier_extents(rank - 1, wick_tensor_dims(logits) + 1, gives), (long long)c->classes,
                        (long long)c->classes);
    }
    if (c->task->kind == TASK_TRACK) {
        if (rank == 4 && wick_tensor_dim(logits, 1) == 3 && wick_tensor_dim(logits, 2) >= 2 &&
            wick_tensor_dim(logits, 3) >= 2)
            return CLI_OK;
        char gives[WICK_MAX_DIMS * 24];
        return log_fail(blame,
                        "%s: the network gives [%s] a pair, not [3, rows, columns] of a grid over the second picture, "
                        "with two of each at least: end it with \"conv classes 1\"",
                        whose, classifier_extents(rank - 1, wick_tensor_dims(logits) + 1, gives));
    }
    const int64_t outputs = classifier_network_outputs(c);
    if (rank == 4 && wick_tensor_dim(logits, 1) == outputs && wick_tensor_dim(logits, 2) <= c->dims[c->rank - 2] &&
        wick_tensor_dim(logits, 3) <= c->dims[c->rank - 1])
        return CLI_OK;
    char gives[WICK_MAX_DIMS * 24];
    return log_fail(
        blame,
        "%s: the network gives [%s] a picture, not [%lld, rows, columns] of a grid over it, five "
        "numbers for each cell's box and one for each of the %lld classes: end it with \"conv classes 1\"",
        whose, classifier_extents(rank - 1, wick_tensor_dims(logits) + 1, gives), (long long)outputs,
        (long long)c->classes);
}

/* All that follows has room for [n, classes]. `whose` is named: the network's text, or the file it is of. */
static int check_logits(classifier *c, const wick_tensor *logits, const char *whose, int blame) {
    const int rank = wick_tensor_rank(logits);
    if (gives_maps(c->task->kind)) return check_maps(c, logits, whose, blame);
    if (rank == 2 && wick_tensor_dim(logits, 1) == c->classes) return CLI_OK;
    if (c->task->kind == TASK_AUTOENCODE)
        return log_fail(
            blame,
            "%s: the network gives %lld numbers a sample, and a sample has %lld, which it is to make again: "
            "end it with \"linear classes\"",
            whose, (long long)wick_tensor_count(logits), (long long)c->classes);
    if (rank == 2 && c->task->kind != TASK_CLASSIFY)
        return log_fail(blame,
                        "%s: the network gives %lld number%s a sample, and %lld are learned: end it with \"linear "
                        "classes\"",
                        whose, (long long)wick_tensor_dim(logits, 1), plural(wick_tensor_dim(logits, 1)),
                        (long long)c->classes);
    if (rank == 2)
        return log_fail(
            blame,
            "%s: the network gives %lld number%s an image, the data has %lld class%s: end it with \"linear classes\"",
            whose, (long long)wick_tensor_dim(logits, 1), plural(wick_tensor_dim(logits, 1)), (long long)c->classes,
            c->classes == 1 ? "" : "es");
    char shape[WICK_MAX_DIMS * 24] = "";
    for (int d = 1, n = 0; d < rank; d++)
        n += snprintf(shape + n, sizeof shape - (size_t)n, "%s%lld", d > 1 ? ", " : "",
                      (long long)wick_tensor_dim(logits, d));
    return log_fail(blame,
                    "%s: the network gives [%s] an image, not the %lld numbers of its classes: \"flatten\" or "
                    "\"globalpool\" belongs before \"linear classes\"",
                    whose, shape, (long long)c->classes);
}

/* Makes the parameters: recording the network once is what creates them. */
int classifier_make_parameters(classifier *c, const char *whose, int blame) {
    const bool training = wick_model_training(c->model);
    wick_model_set_training(c->model, false); /* one image is no batch */
    wick_scope *scope = wick_scope_open(c->ctx);
    if (!scope) return classifier_out_of_memory();
    int64_t dims[WICK_MAX_DIMS] = {1};
    memcpy(dims + 1, c->dims, (size_t)c->rank * sizeof *dims);
    const char *text;
    const bool grid = c->task->kind == TASK_DETECT || c->task->kind == TASK_KEYPOINTS || c->task->kind == TASK_TRACK;
    if (grid && (c->rank != 3 || c->floats)) {
        wick_scope_close(&scope);
        return log_fail(blame, "%s: a sample is no picture, and so has no boxes or points", whose);
    }
    if ((c->task->kind == TASK_SEGMENT || c->task->kind == TASK_DENSE) && c->rank < 2) {
        wick_scope_close(&scope);
        return log_fail(blame, "%s: a sample has no height and width, and so no pixels", whose);
    }
    wick_tensor *logits = classifier_logits(c, wick_zeros(c->ctx, WICK_F32, c->rank + 1, dims));
    if (c->task->kind == TASK_EMBED) (void)embed_prototypes(c), (void)embed_threshold(c);
    if (c->task->kind == TASK_REGRESS || c->task->kind == TASK_HEADS || c->task->kind == TASK_DENSE)
        (void)classifier_state(c, STATE_TARGET_MEAN), (void)classifier_state(c, STATE_TARGET_DEVIATION);
    wick_status status = wick_tensor_error(logits, &text);
    int code = status == WICK_OK ? check_logits(c, logits, whose, blame)
                                 : log_fail(log_code(status, blame), "%s: %s", whose, text);
    if (code == CLI_OK && grid) c->grid[0] = wick_tensor_dim(logits, 2), c->grid[1] = wick_tensor_dim(logits, 3);
    wick_scope_close(&scope);
    wick_model_set_training(c->model, training);
    return code;
}

/* c->names becomes c->class_names; false: there are not as many as classes. */
int classifier_split_names(classifier *c, bool *fits) {
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
    return classifier_out_of_memory();
}

/* Whether its numbers have names. */
static bool has_names(const classifier *c) { return c->task->kind != TASK_AUTOENCODE && c->task->kind != TASK_EMBED; }

/* Joined by tabs: those of the data set, or numbers. */
int classifier_join_names(classifier *c, const wick_dataset *dataset) {
    size_t size;
    FILE *out = open_memstream(&c->names, &size);
    if (!out) return classifier_out_of_memory();
    for (int64_t k = 0; k < c->classes && has_names(c); k++) {
        if (k) fputc('\t', out);
        if (dataset)
            fputs(wick_dataset_class_name(dataset, k), out);
        else
            fprintf(out, "%lld", (long long)k);
    }
    bool whole = !ferror(out);
    return fclose(out) == 0 && whole ? CLI_OK : classifier_out_of_memory();
}

/* What a data set says of its samples and classes. */
int classifier_describe(classifier *c, wick_context *ctx, const wick_dataset *dataset, const char *data,
                        const char *transform, const char *label, const char *arch) {
    *c = (classifier){.ctx = ctx,
                      .deviation = 1,
                      .floats = wick_dataset_field(dataset, 0)->dtype == WICK_F32,
                      .task = c->task ? c->task : &task_classify,
                      .standard = c->standard,
                      .validation = c->validation,
                      .window = c->window,
                      .horizon = c->horizon,
                      .letterbox = c->letterbox,
                      .least = DETECT_SHOWN,
                      .overlap = DETECT_OVERLAP,
                      .loss = c->loss,
                      .embedding = c->embedding};
    if (c->task->kind == TASK_CTC) c->longest = wick_dataset_field(dataset, 1)->dims[0];
    if (!c->floats && wick_dataset_field(dataset, 0)->dtype != WICK_U8)
        return log_fail(CLI_BAD_FILE, "%s: its samples are %s; they may be u8 or f32", data,
                        wick_dtype_name(wick_dataset_field(dataset, 0)->dtype));
    if ((c->floats && *transform && !(c->transform = strdup(transform))) || (*label && !(c->label = strdup(label))))
        return classifier_out_of_memory();
    int code = classifier_sample_dims(c, dataset, &c->rank, c->dims, &c->pixels);
    if (code != CLI_OK) return code;
    c->classes = c->task->kind == TASK_AUTOENCODE ? c->pixels
                 : c->task->kind == TASK_EMBED    ? c->embedding
                                                  : wick_dataset_classes(dataset);
    if (c->task->kind == TASK_EMBED) c->identities = wick_dataset_classes(dataset);
    if (c->classes > CLASSIFIER_MOST_CLASSES)
        return log_fail(CLI_BAD_FILE, "%s: a sample has %lld numbers, more than can be made again", data,
                        (long long)c->classes);
    if (source_is_audio(dataset)) c->rate = wick_dataset_rate(dataset);
    classifier_size_boxes(c, dataset);
    const wick_status status = c->floats ? WICK_OK : wick_dataset_moments(ctx, dataset, &c->mean, &c->deviation);
    if (status == WICK_ERR_SHAPE)
        return log_fail(CLI_BAD_FILE, "%s: --image-size HxW makes pictures alike", log_why(ctx, status));
    if (status != WICK_OK) return log_fail(log_code(status, CLI_BAD_FILE), "%s", log_why(ctx, status));
    bool fits = true;
    code = classifier_join_names(c, dataset);
    if (code == CLI_OK && has_names(c)) code = classifier_split_names(c, &fits);
    if (code == CLI_OK && !fits) code = log_fail(CLI_BAD_FILE, "%s: the name of a class has a tab in it", data);
    if (code != CLI_OK) return code;
    c->arch = strdup(arch);
    c->data = strdup(data);
    return c->arch && c->data ? CLI_OK : classifier_out_of_memory();
}

int classifier_for_dataset(classifier *c, wick_context *ctx, const wick_dataset *dataset, const char *data,
                           const char *transform, const char *label, const char *arch, int blame) {
    int code = classifier_describe(c, ctx, dataset, data, transform, label, arch);
    if (code != CLI_OK) return code;
    if (wick_model_new(ctx, &c->model) != WICK_OK) return classifier_out_of_memory();
    wick_status status = wick_zoo_find(ctx, c->arch, &c->network);
    if (status != WICK_OK) return log_fail(blame, "%s", log_why(ctx, status));
    return classifier_make_parameters(c, c->arch, blame);
}

void classifier_free(classifier *c) {
    wick_shared_arena_free(&c->arena);
    if (c->onnx) c->model = NULL; /* is freed with it */
    wick_onnx_free(&c->onnx);
    wick_model_free(&c->model);
    free(c->arch);
    free(c->data);
    free(c->transform);
    free(c->label);
    free(c->coding);
    for (int i = 0; i < CLASSIFIER_PARTS; i++) free(c->identities_of[i]), c->identities_of[i] = NULL;
    heads_free(&c->heads);
    free(c->names);
    free(c->loss);
    if (c->class_names) free((char *)c->class_names[0]); /* the others are parts of it */
    free(c->class_names);
    c->loss = c->arch = c->data = c->names = c->transform = c->label = c->coding = NULL;
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

/* An older Wick knows classes alone, and refuses a file without their number. */
static bool add_task(const classifier *c, meta *list) {
    const bool classes = c->task->kind == TASK_CLASSIFY;
    return (classes || meta_add(list, "task", "%s", c->task->name)) &&
           (!c->window || meta_add(list, "window", "%lld %lld", (long long)c->window, (long long)c->horizon)) &&
           (!c->loss || meta_add(list, "objective", "%s", c->loss)) &&
           (!c->identities || meta_add(list, "identities", "%lld", (long long)c->identities)) &&
           meta_add(list, classes ? "classes" : "outputs", "%lld", (long long)c->classes);
}

static bool add_identities(const classifier *c, meta *list) {
    bool ok = true;
    for (int i = 0; i < CLASSIFIER_PARTS && ok; i++) {
        char key[32];
        snprintf(key, sizeof key, CLASSIFIER_IDENTITY "%s", classifier_parts[i]);
        ok = !c->identities_of[i] || meta_add(list, key, "%s", c->identities_of[i]);
    }
    return ok;
}

bool classifier_add_meta(const classifier *c, meta *list) {
    char dims[WICK_MAX_DIMS * 24] = "";
    for (int i = 0, n = 0; i < c->rank; i++)
        n += snprintf(dims + n, sizeof dims - (size_t)n, "%s%lld", i ? "," : "", (long long)c->dims[i]);
    return meta_add(list, "arch", "%s", c->arch) && meta_add(list, "dims", "%s", dims) && add_task(c, list) &&
           meta_add(list, "names", "%s", c->names) && (!c->standard || meta_add(list, "standardised", "1")) &&
           (!(c->validation > 0) || meta_add(list, "validation", "%.17g", c->validation)) &&
           meta_add(list, "mean", "%.17g", c->mean) && meta_add(list, "deviation", "%.17g", c->deviation) &&
           meta_add(list, "data", "%s", c->data) && (!c->floats || meta_add(list, "floats", "1")) &&
           (!c->as_stored || meta_add(list, "as-stored", "1")) &&
           (!c->transform || meta_add(list, "transform", "%s", c->transform)) &&
           (!c->label || meta_add(list, "label", "%s", c->label)) &&
           (!c->rate || meta_add(list, "rate", "%lld", (long long)c->rate)) &&
           (!c->coding || meta_add(list, "coding", "%s", c->coding)) &&
           (!(c->separator || c->decimal || c->no_header) ||
            meta_add(list, "form", "%d %d %d", c->separator, c->decimal, c->no_header)) &&
           (!c->onnx || meta_add(list, "onnx.crc32c", "%08lx", (unsigned long)c->onnx_crc)) && add_identities(c, list);
}

static bool read_dims(classifier *c, const char *text) {
    c->rank = 0;
    c->pixels = 1;
    for (const char *s = text;; s++) {
        char *end;
        long long extent = strtoll(s, &end, 10);
        if (end == s || extent < 1 || extent > CLASSIFIER_MOST_PIXELS / c->pixels || c->rank == WICK_MAX_DIMS - 1)
            return false;
        c->dims[c->rank++] = extent;
        c->pixels *= extent;
        if (*end == '\0') return true;
        if (*end != ',') return false;
        s = end;
    }
}

/* How the text of a table is to be read: separator, decimal, whether it has no header, as numbers. */
static bool read_form(classifier *c, const char *text) {
    int separator, decimal, no_header, n = 0;
    if (sscanf(text, "%d %d %d%n", &separator, &decimal, &no_header, &n) != 3 || text[n] || separator < -128 ||
        separator > 127 || (decimal && decimal != ',' && decimal != '.'))
        return false;
    c->separator = (char)separator;
    c->decimal = (char)decimal;
    c->no_header = no_header != 0;
    return true;
}

static bool read_real(double *value, const char *text) {
    char *end;
    *value = strtod(text, &end);
    return end != text && *end == '\0' && isfinite(*value);
}

enum { ARCH, DIMS, CLASSES, MEAN, DEVIATION, DATA, KEYS };
static const char *const keys[KEYS] = {"arch", "dims", "classes", "mean", "deviation", "data"};

/* Their number is "classes" where they are such, else "outputs". */
static const char *value_of(const wick_checkpoint *file, int i) {
    const char *value = wick_checkpoint_meta(file, keys[i]);
    return !value && i == CLASSES && wick_checkpoint_meta(file, "task") ? wick_checkpoint_meta(file, "outputs") : value;
}

bool classifier_is_in(const wick_checkpoint *file) {
    bool all = true;
    for (int i = 0; i < KEYS; i++) all &= value_of(file, i) != NULL;
    return all;
}

/* What it learned to say of a sample. */
static int read_task(classifier *c, const wick_checkpoint *file, const char *path) {
    const char *name = wick_checkpoint_meta(file, "task"), *loss = wick_checkpoint_meta(file, "objective"),
               *validation = wick_checkpoint_meta(file, "validation");
    c->task = name ? task_named(name) : &task_classify;
    if (!c->task) return log_fail(CLI_BAD_FILE, "%s: its task is \"%.40s\", which this Wick does not know", path, name);
    if (loss && strcmp(loss, "mse") != 0 && strcmp(loss, "mae") != 0 && strcmp(loss, "huber") != 0 &&
        strcmp(loss, "snr") != 0 && strcmp(loss, "silog") != 0)
        return log_fail(CLI_BAD_FILE, "%s: its loss is '%.40s', which this Wick does not know", path, loss);
    if ((c->task->kind == TASK_REGRESS || c->task->kind == TASK_DENSE) && !(c->loss = strdup(loss ? loss : "mse")))
        return classifier_out_of_memory();
    c->standard = wick_checkpoint_meta(file, "standardised") != NULL;
    const char *window = wick_checkpoint_meta(file, "window");
    long long rows = 0, behind = 0;
    if (window && (sscanf(window, "%lld %lld", &rows, &behind) != 2 || rows < 1 || behind < 1 ||
                   rows > CLASSIFIER_MOST_PIXELS || behind > CLASSIFIER_MOST_CLASSES))
        return log_fail(CLI_BAD_FILE, "%s: bad window '%s'", path, window);
    c->window = rows, c->horizon = behind;
    const char *identities = wick_checkpoint_meta(file, "identities");
    double count = 0;
    if (c->task->kind == TASK_EMBED && !(identities && read_real(&count, identities) && count >= 1 &&
                                         count <= CLASSIFIER_MOST_CLASSES && count == floor(count)))
        return log_fail(CLI_BAD_FILE, "%s: bad identities '%s'", path, identities ? identities : "");
    c->identities = (int64_t)count;
    if (validation && (!read_real(&c->validation, validation) || !(c->validation > 0 && c->validation < 1)))
        return log_fail(CLI_BAD_FILE, "%s: bad validation '%s'", path, validation);
    return CLI_OK;
}

static bool is_onnx(const classifier *c) { return strncmp(c->arch, "onnx:", 5) == 0; }

/* Whether a sample and what is learned of it can be those of windows: columns of that length, among them the targets.
 */
static bool are_windows(const classifier *c) {
    return c->task->kind == TASK_REGRESS && c->floats && c->pixels % c->window == 0 && c->classes % c->horizon == 0 &&
           c->pixels / c->window >= c->classes / c->horizon;
}

/* Fills in what the metadata says; it is as little trusted as any file. */
static int read_meta(classifier *c, const wick_checkpoint *file, const char *path) {
    const char *value[KEYS];
    for (int i = 0; i < KEYS; i++) {
        value[i] = value_of(file, i);
        if (!value[i])
            return log_fail(CLI_BAD_FILE, "%s has no '%s' in its metadata: not a model that wick train wrote", path,
                            keys[i]);
    }
    double classes;
    const int known = read_task(c, file, path);
    if (known != CLI_OK) return known;
    c->arch = strdup(value[ARCH]);
    if (!c->arch) return classifier_out_of_memory();
    if (!is_onnx(c) && wick_zoo_find(c->ctx, c->arch, &c->network) != WICK_OK)
        return log_fail(CLI_BAD_FILE, "%s: %s", path, wick_context_error(c->ctx));
    if (!read_dims(c, value[DIMS])) return log_fail(CLI_BAD_FILE, "%s: bad dims '%s'", path, value[DIMS]);
    if (!read_real(&classes, value[CLASSES]) || !(classes >= 1 && classes <= CLASSIFIER_MOST_CLASSES) ||
        classes != floor(classes))
        return log_fail(CLI_BAD_FILE, "%s: bad classes '%s'", path, value[CLASSES]);
    c->classes = (int64_t)classes;
    if (!read_real(&c->mean, value[MEAN]) || !read_real(&c->deviation, value[DEVIATION]) || c->deviation < 0)
        return log_fail(CLI_BAD_FILE, "%s: bad mean '%s' or deviation '%s'", path, value[MEAN], value[DEVIATION]);
    c->data = strdup(value[DATA]);
    if (!c->data) return classifier_out_of_memory();
    const char *transform = wick_checkpoint_meta(file, "transform"), *label = wick_checkpoint_meta(file, "label");
    const char *rate = wick_checkpoint_meta(file, "rate"), *limit = wick_checkpoint_meta(file, "limit");
    c->limit = limit ? strtoll(limit, NULL, 10) : 0;
    c->floats = wick_checkpoint_meta(file, "floats") != NULL;
    c->as_stored = wick_checkpoint_meta(file, "as-stored") != NULL;
    c->rate = rate ? strtoll(rate, NULL, 10) : 0;
    if (c->rate < 0) return log_fail(CLI_BAD_FILE, "%s: bad rate '%s'", path, rate);
    for (int i = 0; i < CLASSIFIER_PARTS; i++) {
        char key[32];
        snprintf(key, sizeof key, CLASSIFIER_IDENTITY "%s", classifier_parts[i]);
        const char *identity = wick_checkpoint_meta(file, key);
        if (identity && !(c->identities_of[i] = strdup(identity))) return classifier_out_of_memory();
    }
    const char *coding =
        wick_checkpoint_meta(file, "coding"); /* of tables and tensors; not in the first files that were written */
    if ((transform && !(c->transform = strdup(transform))) || (label && !(c->label = strdup(label))) ||
        (coding && !(c->coding = strdup(coding))))
        return classifier_out_of_memory();
    if (c->task->kind == TASK_CTC) {
        if (!source_is_line_coding(c->coding))
            return log_fail(CLI_BAD_FILE, "%s: has no coding of the texts that it reads", path);
        c->longest = source_line_longest(c->coding);
    }
    const char *form = wick_checkpoint_meta(file, "form");
    if (form && !read_form(c, form)) return log_fail(CLI_BAD_FILE, "%s: bad form '%s'", path, form);
    const char *names = wick_checkpoint_meta(file, "names"); /* not in the first files that were written */
    bool fits = !has_names(c);
    int code = CLI_OK;
    if (!names)
        code = classifier_join_names(c, NULL);
    else if (!(c->names = strdup(names)))
        code = classifier_out_of_memory();
    if (code == CLI_OK && has_names(c)) code = classifier_split_names(c, &fits);
    if (code == CLI_OK) code = classifier_read_heads(c, path);
    if (code == CLI_OK && c->task->kind == TASK_AUTOENCODE && c->classes != c->pixels)
        code = log_fail(CLI_BAD_FILE, "%s: bad outputs '%s'", path, value[CLASSES]);
    if (code == CLI_OK && c->task->kind == TASK_DETECT && !source_read_box_coding(c->coding, &c->letterbox, &c->boxes))
        code = log_fail(CLI_BAD_FILE, "%s: bad coding '%.40s' of boxes", path, c->coding ? c->coding : "");
    if (code == CLI_OK && c->task->kind == TASK_KEYPOINTS && !source_read_point_coding(c->coding, &c->letterbox))
        code = log_fail(CLI_BAD_FILE, "%s: bad coding '%.40s' of points", path, c->coding ? c->coding : "");
    if (code == CLI_OK && c->task->kind == TASK_TRACK &&
        !(source_is_pair_coding(c->coding) && c->classes == 3 && c->rank == 3 && c->dims[0] % 2 == 0))
        code = log_fail(CLI_BAD_FILE, "%s: bad coding '%.40s' of pairs", path, c->coding ? c->coding : "");
    if (code == CLI_OK && c->task->kind == TASK_DENSE && !(source_is_map_coding(c->coding) && c->classes == 1))
        code = log_fail(CLI_BAD_FILE, "%s: bad coding '%.40s' of maps", path, c->coding ? c->coding : "");
    if (code == CLI_OK && c->window && !are_windows(c))
        code = log_fail(CLI_BAD_FILE, "%s: bad window '%s'", path, wick_checkpoint_meta(file, "window"));
    if (code == CLI_OK && !fits)
        code = log_fail(CLI_BAD_FILE, "%s: 'names' are not those of %lld classes", path, (long long)c->classes);
    return code;
}

int classifier_read_heads(classifier *c, const char *whose) {
    const char *section = heads_in(c->coding);
    if (c->task->kind != TASK_HEADS) return CLI_OK;
    c->heads = section ? heads_read_coding(section) : NULL;
    if (c->heads && c->heads->outputs == c->classes) return CLI_OK;
    return log_fail(CLI_BAD_FILE, "%s: what it says of its heads is not of %lld numbers", whose, (long long)c->classes);
}

static double spec_elements(wick_spec spec) {
    double elements = 1;
    for (int i = 0; i < spec.rank; i++) elements *= (double)spec.dims[i];
    return elements;
}

int classifier_build(classifier *c, wick_context *ctx, const wick_checkpoint *file, const char *path) {
    *c = (classifier){.ctx = ctx, .task = &task_classify, .least = DETECT_SHOWN, .overlap = DETECT_OVERLAP};
    int code = read_meta(c, file, path);
    if (code != CLI_OK) return code;
    if (is_onnx(c)) {
        code = classifier_build_onnx(c, path, wick_checkpoint_meta(file, "onnx.crc32c"));
        if (code != CLI_OK) return code;
        wick_model_set_training(c->model, false);
        return classifier_make_parameters(c, path, CLI_BAD_FILE);
    }
    /* A small file can't make us reserve the memory of a giant network. */
    double elements = 0;
    for (int i = 0; i < wick_checkpoint_count(file); i++) elements += spec_elements(wick_checkpoint_tensor(file, i));
    if (wick_model_new(c->ctx, &c->model) != WICK_OK) return classifier_out_of_memory();
    wick_model_set_limit(c->model, (int64_t)fmax(1, fmin(elements, 0x1p62)));
    wick_model_set_training(c->model, false);
    code = classifier_make_parameters(c, path, CLI_BAD_FILE);
    wick_model_set_limit(c->model, 0); /* they are all there; an optimizer may add its states */
    return code;
}

/* What --hint made the network learn by is in the file, and not in the network. */
static bool has_hints(const wick_checkpoint *file, const wick_model *model) {
    for (int i = 0; i < wick_checkpoint_count(file); i++) {
        const char *name = wick_checkpoint_tensor(file, i).name;
        if (strncmp(name, "hint.", 5) == 0 && !wick_model_find(model, name)) return true;
    }
    return false;
}
static int load_from(classifier *c, const wick_checkpoint *file, const char *path) {
    int code = classifier_build(c, c->ctx, file, path);
    if (code != CLI_OK) return code;
    wick_status status = has_hints(file, c->model)
                             ? wick_checkpoint_load_some(file, c->model, &(wick_load_options){.skip = "hint.*"}, NULL)
                             : wick_checkpoint_load(file, c->model, false);
    if (status == WICK_OK) return CLI_OK;
    return log_fail(log_code(status, CLI_BAD_FILE), "%s: %s", path, log_why(c->ctx, status));
}

int classifier_for_arch(classifier *c, wick_context *ctx, const char *arch, const char *dims, int64_t classes) {
    *c = (classifier){.ctx = ctx, .task = &task_classify, .classes = classes};
    if (!read_dims(c, dims))
        return log_fail(CLI_USAGE, "--input needs the extents of an image, 28,28 or 3,32,32, not '%s'", dims);
    c->arch = strdup(arch);
    if (!c->arch || wick_model_new(ctx, &c->model) != WICK_OK) return classifier_out_of_memory();
    if (wick_zoo_find(ctx, c->arch, &c->network) != WICK_OK) return log_fail(CLI_USAGE, "%s", wick_context_error(ctx));
    return CLI_OK;
}

/* Why a model can't be opened; in the folder of a run without a whole epoch, what can be. */
static int not_opened(wick_context *ctx, wick_status status, const char *model, const char *path) {
    const bool folder = path_is_folder(model);
    char *last = folder && !path_exists(path) ? path_join(model, "last.safetensors") : NULL;
    int code =
        last && path_exists(last)
            ? log_fail(CLI_BAD_FILE, "%s: no epoch is done yet; the weights so far are in %s", model, last)
        : folder && !path_exists(path)
            ? log_fail(CLI_BAD_FILE, "%s: cannot open: no such file, and %s is no folder of wick train without it",
                       path, model)
            : log_fail(log_code(status, CLI_BAD_FILE), "%s", log_why(ctx, status));
    free(last);
    return code;
}

int model_open(wick_context *ctx, const char *model, wick_checkpoint **file, char **path) {
    *file = NULL;
    *path = path_is_folder(model) ? path_join(model, "best.safetensors") : strdup(model);
    if (!*path) return classifier_out_of_memory();
    const file_kind *kind = kind_of(*path);
    int code = CLI_OK;
    if (kind && !(kind->as & AS_RUN)) { /* what can't be read is told below */
        code = kind_refuse(*path, kind, "a checkpoint of wick train");
        free(*path);
        *path = NULL;
        return code;
    }
    wick_status status = wick_checkpoint_open(ctx, *path, file);
    if (status == WICK_OK) return meta_note(*file, *path), CLI_OK;
    code = not_opened(ctx, status, model, *path);
    free(*path);
    *path = NULL;
    return code;
}

int classifier_load(classifier *c, wick_context *ctx, const char *path) {
    *c = (classifier){.ctx = ctx, .task = &task_classify};
    wick_checkpoint *file;
    char *file_path;
    const size_t length = strlen(path);
    if (length > 5 && strcmp(path + length - 5, ".onnx") == 0) {
        const int opened = classifier_open_onnx(c, ctx, path, NULL);
        return opened == CLI_OK ? classifier_adapt_onnx(c, path, 0, false) : opened;
    }
    int code = model_open(ctx, path, &file, &file_path);
    if (code == CLI_OK) code = load_from(c, file, file_path);
    wick_checkpoint_free(&file);
    free(file_path);
    return code;
}

int64_t classifier_target_width(const classifier *c) {
    if (c->task->kind == TASK_DENSE || c->task->kind == TASK_TRACK) return c->task->width(c);
    return c->task->kind == TASK_KEYPOINTS ? c->classes * POINT_WIDTH : c->classes;
}

int64_t classifier_network_outputs(const classifier *c) {
    return c->task->kind == TASK_DETECT ? c->classes + BOX_WIDTH : c->classes;
}

void classifier_size_boxes(classifier *c, const wick_dataset *dataset) {
    if (source_is_boxed(dataset)) c->boxes = wick_dataset_field(dataset, 1)->dims[0];
}

wick_tensor *classifier_network(classifier *c, wick_tensor *x) {
    wick_here(NULL); /* layers name themselves, and not what was recorded before */
    return c->onnx ? wick_onnx_forward(c->onnx, x)
                   : wick_zoo_build(&c->network, c->model, x, classifier_network_outputs(c));
}
wick_spec classifier_network_spec(const classifier *c, int64_t n) {
    wick_spec specs[2];
    classifier_specs(c, n, specs);
    return c->onnx ? classifier_onnx_spec(c, n) : specs[0];
}
/* [n, classes, 1, 1] is [n, classes]; what has other extents is left, to be refused. */
static wick_tensor *flat(const classifier *c, wick_tensor *y) {
    if (wick_tensor_error(y, NULL) != WICK_OK || wick_tensor_rank(y) <= 2) return y;
    const int64_t n = wick_tensor_dim(y, 0);
    if (c->task->kind == TASK_CTC) /* a row of a picture is a sequence */
        return wick_tensor_rank(y) == 4 && wick_tensor_dim(y, 2) == 1
                   ? wick_reshape(y, 3, (const int64_t[]){n, wick_tensor_dim(y, 1), wick_tensor_dim(y, 3)})
                   : y;
    if ((!c->onnx && c->task->kind != TASK_AUTOENCODE) || wick_tensor_count(y) != n * c->classes) return y;
    return wick_reshape(y, 2, (const int64_t[]){n, c->classes});
}

wick_tensor *classifier_outputs(classifier *c, wick_tensor *x) {
    wick_tensor *y;
    if (!c->instead) return flat(c, classifier_network(c, x));
    const wick_status status = c->instead(c->ctx, &x, &y, c->instead_user);
    if (status == WICK_OK) return flat(c, y);
    char why[1024];
    snprintf(why, sizeof why, "%s", wick_context_error(c->ctx));
    return wick_poison(c->ctx, status, "%s", why);
}

wick_tensor *classifier_samples_of(const classifier *c, const classifier *other, wick_tensor *x) {
    if (c->floats || (c->mean == other->mean && c->deviation == other->deviation)) return x;
    wick_tensor *pixels = wick_add(wick_mul(x, wick_like(x, other->deviation)), wick_like(x, other->mean));
    return wick_div(wick_sub(pixels, wick_like(x, c->mean)), wick_like(x, c->deviation));
}

wick_tensor *classifier_prepared(classifier *c, wick_tensor *x) {
    wick_here(NULL);
    if (c->standard) x = wick_div(wick_sub(x, classifier_state(c, STATE_MEAN)), classifier_state(c, STATE_DEVIATION));
    if (!c->onnx) return x;
    const wick_interpolate_options smooth = {.mode = WICK_LINEAR, .antialias = true};
    if (c->net[0]) {
        x = wick_interpolate(x, 2, NULL, c->net + 1, &smooth);
        if (c->net[0] != c->dims[0])
            x = wick_expand(x, 4, (const int64_t[]){wick_tensor_dim(x, 0), c->net[0], c->net[1], c->net[2]});
    }
    const wick_dtype takes = classifier_onnx_spec(c, 1).dtype;
    int64_t least;
    uint64_t most;
    if (classifier_takes_integers(c, &least, &most)) x = wick_cast(wick_round(x), takes);
    return c->last ? wick_permute(x, 4, (const int[]){0, 2, 3, 1}) : x;
}

wick_tensor *classifier_logits(classifier *c, wick_tensor *x) {
    return classifier_outputs(c, classifier_prepared(c, x));
}

wick_tensor *classifier_predictions(classifier *c, wick_tensor *x) {
    x = classifier_prepared(c, x);
    return c->task->predictions(c, x, classifier_outputs(c, x));
}

void classifier_specs(const classifier *c, int64_t n, wick_spec specs[2]) {
    specs[0] = (wick_spec){.name = "images", .dtype = WICK_F32, .rank = c->rank + 1, .dims = {n}};
    memcpy(specs[0].dims + 1, c->dims, (size_t)c->rank * sizeof *c->dims);
    specs[1] = (wick_spec){.name = "labels", .dtype = WICK_I64, .rank = 1, .dims = {n}};
    if (c->task->kind == TASK_REGRESS || c->task->kind == TASK_MULTI_LABEL || c->task->kind == TASK_HEADS)
        specs[1] = (wick_spec){.name = "targets", .dtype = WICK_F32, .rank = 2, .dims = {n, c->classes}};
    if (c->task->kind == TASK_TAG)
        specs[1] = (wick_spec){.name = "tags", .dtype = WICK_U8, .rank = 2, .dims = {n, c->dims[c->rank - 1]}};
    if (c->task->kind == TASK_CTC)
        specs[1] = (wick_spec){.name = "texts", .dtype = WICK_I64, .rank = 2, .dims = {n, c->longest}};
    if (c->task->kind == TASK_DETECT)
        specs[1] = (wick_spec){.name = "boxes", .dtype = WICK_F32, .rank = 3, .dims = {n, c->boxes, BOX_WIDTH}};
    if (c->task->kind == TASK_KEYPOINTS)
        specs[1] = (wick_spec){.name = "points", .dtype = WICK_F32, .rank = 3, .dims = {n, c->classes, POINT_WIDTH}};
    if (c->task->kind == TASK_TRACK)
        specs[1] = (wick_spec){.name = "boxes", .dtype = WICK_F32, .rank = 3, .dims = {n, 1, 4}};
    if (c->task->kind == TASK_DENSE)
        specs[1] = (wick_spec){
            .name = "maps", .dtype = WICK_F32, .rank = 3, .dims = {n, c->dims[c->rank - 2], c->dims[c->rank - 1]}};
    if (c->task->kind == TASK_SEGMENT)
        specs[1] = (wick_spec){
            .name = "masks", .dtype = WICK_U8, .rank = 3, .dims = {n, c->dims[c->rank - 2], c->dims[c->rank - 1]}};
}

/* ---- what it keeps of the training samples ----------------------------------------------------------------------- */

wick_tensor *classifier_state(classifier *c, classifier_states which) {
    static const char *const of_runs[CLASSIFIER_STATES] = {"standard.mean", "standard.deviation", "target.mean",
                                                           "target.deviation"};
    static const char *const of_files[CLASSIFIER_STATES] = {"wick.standard.mean", "wick.standard.deviation",
                                                            "wick.target.mean", "wick.target.deviation"};
    /* in an ONNX file that was made of a run the others are constants of the graph */
    const char *const *names = c->onnx && !c->data[0] ? of_files : of_runs;
    const int64_t n = which < STATE_TARGET_MEAN ? c->pixels : c->classes;
    const bool deviation = which == STATE_DEVIATION || which == STATE_TARGET_DEVIATION;
    wick_model *model = c->kept ? c->kept : c->model;
    wick_tensor *x = wick_model_state(model, names[which], WICK_ROLE_BUFFER, WICK_F32, 1, &n,
                                      wick_init_constant(deviation ? 1 : 0));
    /* so that no mean of weights is taken of it; it changes no bit where it is frozen already */
    if (wick_tensor_error(x, NULL) == WICK_OK && wick_model_freeze(model, names[which], true) != WICK_OK)
        wick_context_clear_error(c->ctx);
    return x;
}

/* Of n numbers of field `field` of each sample: means and deviations, 1 where all are the same. Of two passes, in f64.
 */
static int moments_of(const classifier *c, const wick_dataset *d, int field, int64_t n, float *mean, float *deviation) {
    const int64_t count = wick_dataset_count(d);
    float *x = step_buffer(n, sizeof *x);
    double *sums = step_buffer(2 * n, sizeof *sums);
    int64_t *there = step_buffer(n, sizeof *there);
    const bool ahead = c->window && field == 1; /* targets of a series count from what they were last */
    float *window = ahead ? step_buffer(c->pixels, sizeof *window) : NULL;
    wick_fault fault = {0};
    int code = x && sums && there && (window || !ahead) ? CLI_OK : classifier_out_of_memory();
    for (int64_t k = 0; k < 2 * n && code == CLI_OK; k++) sums[k] = 0, there[k % n] = 0;
    for (int64_t i = 0; i < 2 * count && code == CLI_OK; i++) {
        void *to[WICK_DATASET_FIELDS] = {NULL};
        to[field] = x;
        if (ahead) to[0] = window;
        if (wick_dataset_get(d, i % count, to, &fault) != WICK_OK) code = log_fail(CLI_BAD_FILE, "%s", fault.text);
        for (int64_t k = 0; k < n && code == CLI_OK; k++) {
            if (ahead)
                x[k] -= window[c->pixels - (c->classes / c->horizon - k / c->horizon) * c->window + c->window - 1];
            const double v = (double)x[k], from = v - sums[k] / (double)there[k];
            if (isnan(v)) continue; /* of a head of which this sample says nothing */
            if (i < count)
                sums[k] += v, there[k]++;
            else
                sums[n + k] += from * from;
        }
    }
    for (int64_t k = 0; k < n && code == CLI_OK; k++) {
        mean[k] = there[k] ? (float)(sums[k] / (double)there[k]) : 0;
        deviation[k] = there[k] ? (float)sqrt(sums[n + k] / (double)there[k]) : 0;
        /* of equal numbers rounding may leave a trace; what has no normal f32 is 0 to a loop */
        if (!(deviation[k] > 1e-7F * fabsf(mean[k])) || deviation[k] < FLT_MIN) deviation[k] = 1;
    }
    free(x);
    free(window);
    free(there);
    free(sums);
    return code;
}

/* Of heads numbers alone are learned with mean 0 and deviation 1. */
static void leave_classes(const heads *h, float *mean, float *deviation) {
    for (int i = 0; i < h->n; i++)
        for (int64_t k = 0; k < h->list[i].n && h->list[i].kind != HEAD_NUMBERS; k++)
            mean[h->list[i].first + k] = 0, deviation[h->list[i].first + k] = 1;
}

static int set_states(classifier *c, const wick_dataset *d, int field, classifier_states first, int64_t n) {
    float *mean = step_buffer(n, sizeof *mean), *deviation = step_buffer(n, sizeof *deviation);
    int code = mean && deviation ? moments_of(c, d, field, n, mean, deviation) : classifier_out_of_memory();
    wick_status status = WICK_OK;
    if (code == CLI_OK && c->heads && field == 1) leave_classes(c->heads, mean, deviation);
    if (code == CLI_OK) status = wick_write(classifier_state(c, first), mean, (size_t)n * sizeof *mean);
    if (code == CLI_OK && status == WICK_OK)
        status = wick_write(classifier_state(c, first + 1), deviation, (size_t)n * sizeof *deviation);
    if (status != WICK_OK) code = log_fail(CLI_FAILED, "%s", log_why(c->ctx, status));
    free(mean);
    free(deviation);
    return code;
}

int classifier_standardise(classifier *c, const wick_dataset *dataset) {
    int code = c->standard ? set_states(c, dataset, 0, STATE_MEAN, c->pixels) : CLI_OK;
    if (code == CLI_OK && (c->task->kind == TASK_REGRESS || c->task->kind == TASK_HEADS))
        code = set_states(c, dataset, 1, STATE_TARGET_MEAN, c->classes);
    if (code == CLI_OK && c->task->kind == TASK_DENSE) code = dense_standardise(c, dataset);
    return code;
}
