/* classifier_onnx.c: a classifier whose network is an ONNX file: what its input takes, the head that it gets, and the
 * copy that a run keeps. */
#include "classifier_parts.h"

#include "../onnx/numbers.h"
#include "../paths.h"
#include "../onnx/ports.h"
#include "../term/log.h"

#include "wick/reduce.h"
#include "wick/shape.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int onnx_failed(const classifier *c, wick_status status, int blame) {
    return log_fail(log_code(status, blame), "%s", log_why(c->ctx, status));
}

/* Opens the file, which has to be a function of one batch of images. */
static int open_onnx(classifier *c, const char *path, const wick_onnx_limits *limits, int blame) {
    wick_status status = wick_onnx_open(c->ctx, path, limits, &c->onnx);
    if (status != WICK_OK) return onnx_failed(c, status, CLI_BAD_FILE);
    c->model = wick_onnx_model(c->onnx);
    c->onnx_crc = wick_onnx_checksum(c->onnx);
    const char *missing = wick_onnx_unsupported(c->onnx);
    if (*missing) return log_fail(blame, "%s: has ops that Wick lacks: %s", path, missing);
    const wick_onnx_port port = wick_onnx_input(c->onnx, 0);
    wick_dtype dtype;
    if (wick_onnx_inputs(c->onnx) != 1 || port.kind != WICK_VALUE_TENSOR || !wick_onnx_elem_dtype(port.elem, &dtype) ||
        port.rank < 2)
        return log_fail(blame, "%s: takes no batch of images: it has %d input%s", path, wick_onnx_inputs(c->onnx),
                        plural(wick_onnx_inputs(c->onnx)));
    return CLI_OK;
}

/* ---- an input of integers ---------------------------------------------------------------------------------------- */

/* Whether the file's input holds integers; *least and *most: from where to where. */
bool classifier_takes_integers(const classifier *c, int64_t *least, uint64_t *most) {
    wick_dtype dtype;
    return c->onnx && wick_onnx_elem_dtype(wick_onnx_input(c->onnx, 0).elem, &dtype) &&
           number_range(dtype, least, most);
}

/* Integers get the pixels as they are: of 0 to 1, which floats get, they would hold almost nothing. */
static void take_bytes(classifier *c) {
    int64_t least;
    uint64_t most;
    if (classifier_takes_integers(c, &least, &most)) c->mean = 0, c->deviation = 1.0 / 255;
}

/* Whether an integer input can have the pixels as mean and deviation make them: every step between them is a whole
 * number, and so is the lowest. */
static bool makes_integers(const classifier *c) {
    const double step = 1 / (255 * c->deviation), low = -c->mean / c->deviation;
    return c->deviation > 0 && step > 0.5 && fabs(step - round(step)) < 1e-9 * step && fabs(low - round(low)) < 1e-6;
}

/* No range that an integer input can't hold. text: as the user wrote it, or "" */
static int check_range(const classifier *c, const char *text, const char *whose, int blame) {
    int64_t least;
    uint64_t most;
    char type[256];
    if (c->floats || !classifier_takes_integers(c, &least, &most) || (strcmp(text, "auto") != 0 && makes_integers(c)))
        return CLI_OK;
    const wick_onnx_port port = wick_onnx_input(c->onnx, 0);
    port_type(&port, type, sizeof type);
    if (!*text)
        return log_fail(
            blame, "%sits pixels are scaled to fractions, and the input %s is %s, which can't hold them: train again",
            whose, port.name, type);
    return log_fail(
        blame, "%s--input-range %s: the input %s is %s, and can't hold the fractions that this makes of pixels: %s",
        whose, text, port.name, type,
        least < 0 && most < 255 ? "-128,127 makes whole numbers" : "0,255 leaves them as bytes");
}

int classifier_check_samples(const classifier *c, const float *x, int64_t n) {
    int64_t least;
    uint64_t most;
    char type[256];
    if (!classifier_takes_integers(c, &least, &most)) return CLI_OK;
    const wick_onnx_port port = wick_onnx_input(c->onnx, 0);
    const double low = fmax((double)least, -0x1p24),
                 high = fmin((double)most, 0x1p24); /* beyond which f32 doesn't tell integers apart */
    if (!c->floats && -c->mean / c->deviation >= low - 0.5 && (1 - c->mean) / c->deviation <= high + 0.5) return CLI_OK;
    for (int64_t i = 0; i < n * c->pixels; i++) {
        const double v = c->floats ? (double)x[i] : round((double)x[i]);
        if (v >= low && v <= high && v == trunc(v)) continue;
        port_type(&port, type, sizeof type);
        if (c->floats)
            return log_fail(CLI_BAD_FILE, "the samples have %.9g, and the input %s of the network, %s, can't hold that",
                            v, port.name, type);
        return log_fail(CLI_USAGE,
                        "a pixel is %.9g, and the input %s of the network, %s, can't hold that: --input-range "
                        "%lld,%llu scales them",
                        v, port.name, type, (long long)least,
                        least < 0 ? (unsigned long long)(255 + least) : (unsigned long long)most);
    }
    return CLI_OK;
}

/* Its input for a batch of n, as the file has it: [n, H, W, C] where c->last. */
wick_spec classifier_onnx_spec(const classifier *c, int64_t n) {
    wick_spec spec = {.name = "images", .rank = c->rank + 1, .dims = {n}};
    const int64_t *dims = c->net[0] ? c->net : c->dims;
    wick_onnx_elem_dtype(wick_onnx_input(c->onnx, 0).elem, &spec.dtype);
    for (int i = 0; i < c->rank; i++) spec.dims[i + 1] = dims[c->last ? (i + 1) % c->rank : i];
    return spec;
}

const char *classifier_extents(int rank, const int64_t *dims, char text[WICK_MAX_DIMS * 24]) {
    size_t n = 0;
    for (int i = 0; i < rank; i++)
        n += (size_t)snprintf(text + n, WICK_MAX_DIMS * 24 - n, "%s%lld", i ? ", " : "", (long long)dims[i]);
    return text;
}

/* Whether images [C, H, W], or [H, W], which are [1, H, W] then, can be made what the file takes, [C, H, W] or [H, W,
 * C] of these extents. */
bool classifier_can_be_resized(classifier *c, int rank, const int64_t *dims) {
    const int64_t channels = c->rank == 3 ? c->dims[0] : 1;
    for (int last = 0; last < 2 && (c->rank == 2 || c->rank == 3) && rank == 3; last++) {
        const int64_t net[3] = {dims[last ? 2 : 0], dims[last ? 0 : 1], dims[last ? 1 : 2]};
        if (net[0] != channels && !(channels == 1 && net[0] == 3)) continue;
        memcpy(c->net, net, sizeof net);
        if (c->rank == 2) c->dims[2] = c->dims[1], c->dims[1] = c->dims[0], c->dims[0] = 1, c->rank = 3;
        return c->last = last, true;
    }
    return false;
}

void classifier_tell_resized(const classifier *c) {
    char ours[WICK_MAX_DIMS * 24], theirs[WICK_MAX_DIMS * 24];
    log_note("images of [%s] are made [%s], which the network takes", classifier_extents(3, c->dims, ours),
             classifier_extents(3, c->net, theirs));
}

/* Whether a, [H, W, C], is b, [C, H, W], turned. */
bool classifier_is_turned(const int64_t *a, const int64_t *b) {
    return a[0] == b[1] && a[1] == b[2] && a[2] == b[0] && memcmp(a, b, 3 * sizeof *a) != 0;
}

/* The images that the file declares, beside those that are known already (c->rank 0: none). */
static int onnx_dims(classifier *c, const char *path, int blame) {
    const wick_onnx_port port = wick_onnx_input(c->onnx, 0);
    const int rank = port.rank - 1;
    const int64_t known = c->rank ? c->pixels : 0;
    int64_t dims[WICK_MAX_DIMS], pixels = 1;
    bool same = c->rank == rank, last = c->rank == 3 && rank == 3;
    for (int i = 0; i < rank; i++) {
        dims[i] = port.dims[i + 1];
        if (dims[i] < 0 && c->rank == rank) dims[i] = c->dims[i]; /* the file leaves it open */
        if (dims[i] < 1 || dims[i] > CLASSIFIER_MOST_PIXELS / pixels)
            return log_fail(blame, "%s: dim %d of its input \"%s\" has no extent, and images are not known to have one",
                            path, i + 1, port.name);
        pixels *= dims[i];
        same = same && dims[i] == c->dims[i];
        last = last && dims[i] == c->dims[(i + 1) % 3];
    }
    char theirs[WICK_MAX_DIMS * 24], ours[WICK_MAX_DIMS * 24];
    if (known && pixels != known) {
        if (!classifier_can_be_resized(c, rank, dims))
            return log_fail(blame, "%s: takes images of [%s], those of %s are [%s]", path,
                            classifier_extents(rank, dims, theirs), c->data,
                            classifier_extents(c->rank, c->dims, ours));
        classifier_tell_resized(c);
        return CLI_OK;
    }
    c->last = last && !same;
    if (c->last) return CLI_OK;
    c->rank = rank;
    c->pixels = pixels;
    memcpy(c->dims, dims, sizeof c->dims);
    return CLI_OK;
}

/* With the head that it gets (classes 0: its own), for batches of any size. */
static int adapt_onnx(classifier *c, int64_t classes, bool head, int blame, bool *bounded) {
    const wick_spec spec = classifier_onnx_spec(c, 1);
    wick_status status = WICK_OK;
    *bounded = !c->bounded && wick_onnx_drop_softmax(c->onnx);
    if (head) status = wick_onnx_replace_head(c->onnx, classes, &spec);
    if (status == WICK_OK) status = wick_onnx_rebatch(c->onnx, &spec);
    return status == WICK_OK ? CLI_OK : onnx_failed(c, status, blame);
}

/* Losses take logits. What gives numbers between 0 and 1 for everything makes probabilities of them in a way that is
 * not known here. */
static void note_bounded(const classifier *c, const char *path) {
    enum { SAMPLES = 8 };
    const wick_spec spec = classifier_onnx_spec(c, SAMPLES);
    wick_scope *scope = wick_scope_open(c->ctx);
    int64_t n = 1;
    for (int d = 0; d < spec.rank; d++) n *= spec.dims[d];
    wick_tensor *x = wick_cast(
        wick_reshape(wick_sin(wick_linspace(c->ctx, WICK_F32, 0, (double)n, n)), spec.rank, spec.dims), spec.dtype);
    wick_tensor *y = wick_cast(wick_onnx_forward(c->onnx, x), WICK_F32),
                *edges[2] = {wick_min(y, WICK_ALL_AXES, false), wick_max(y, WICK_ALL_AXES, false)};
    double low = -1, high = 2;
    if (wick_item(edges[0], &low) != WICK_OK || wick_item(edges[1], &high) != WICK_OK)
        wick_context_clear_error(c->ctx);
    else if (low >= 0 && high <= 1 && high > 0)
        log_note("%s: all that it gives lies between 0 and 1, as probabilities do, and the loss takes logits: it will "
                 "hardly learn; cut the file off before what makes probabilities of them",
                 path);
    wick_scope_close(&scope);
}

/* How many numbers the file gives for an image; 0: what went wrong has been said. */
static int64_t onnx_width(classifier *c, const char *path, int blame) {
    const wick_spec spec = classifier_onnx_spec(c, 1);
    wick_scope *scope = wick_scope_open(c->ctx);
    if (!scope) return classifier_out_of_memory(), 0;
    wick_tensor *y = wick_onnx_forward(c->onnx, wick_zeros(c->ctx, spec.dtype, spec.rank, spec.dims));
    const char *text;
    const wick_status status = wick_tensor_error(y, &text);
    const int64_t width = status == WICK_OK ? wick_tensor_count(y) : 0;
    char dims[WICK_MAX_DIMS * 24];
    if (status != WICK_OK)
        log_fail(log_code(status, blame), "%s (for an image of [%s])", text,
                 classifier_extents(spec.rank - 1, spec.dims + 1, dims));
    else if (width < 1 || width > CLASSIFIER_MOST_CLASSES)
        log_fail(blame, "%s: gives %lld numbers for an image, which are no classes", path, (long long)width);
    wick_scope_close(&scope);
    return width > 0 && width <= CLASSIFIER_MOST_CLASSES ? width : 0;
}

int classifier_for_onnx(classifier *c, wick_context *ctx, const wick_dataset *dataset, const char *data,
                        const char *path, bool head, int blame) {
    int code = classifier_describe(c, ctx, dataset, data, "", "", "onnx:" CLASSIFIER_ONNX);
    if (code == CLI_OK) code = open_onnx(c, path, NULL, blame);
    if (code == CLI_OK) code = onnx_dims(c, path, blame);
    if (code != CLI_OK) return code;
    c->mean = 0, c->deviation = 1;
    take_bytes(c);
    const int64_t width = onnx_width(c, path, blame);
    if (!width) return blame;
    const bool fresh = head || width != c->classes;
    bool bounded;
    code = adapt_onnx(c, c->classes, fresh, blame, &bounded);
    if (code != CLI_OK) return code;
    if (bounded)
        log_note(
            "%s: what makes probabilities of its numbers at the end (Softmax, Sigmoid) is left out: the loss takes "
            "logits",
            path);
    note_bounded(c, path);
    if (fresh) {
        free(c->arch);
        if (!(c->arch = strdup("onnx:" CLASSIFIER_ONNX ",head"))) return classifier_out_of_memory();
        log_note("a fresh head of %lld classes; the file's had %lld", (long long)c->classes, (long long)width);
    }
    return classifier_make_parameters(c, path, blame);
}

int classifier_open_onnx(classifier *c, wick_context *ctx, const char *path, const wick_onnx_limits *limits) {
    *c = (classifier){.ctx = ctx, .task = &task_classify, .deviation = 1, .data = strdup("")};
    const int code = c->data ? open_onnx(c, path, limits, CLI_BAD_FILE) : classifier_out_of_memory();
    if (code == CLI_OK) take_bytes(c);
    return code;
}

static const char *meta_of(const classifier *c, const char *key) {
    const char *name, *value;
    for (int i = 0; wick_onnx_meta_at(c->onnx, i, &name, &value); i++)
        if (strcmp(name, key) == 0) return value;
    return NULL;
}

/* "MEAN DEVIATION ..." of the targets. */
static int take_scales(classifier *c, const char *path, const char *text) {
    float *all = calloc((size_t)c->classes * 2, sizeof *all);
    if (!all) return classifier_out_of_memory();
    bool fits = true;
    for (int64_t k = 0; k < 2 * c->classes && fits; k++) {
        char *end;
        const float x = strtof(text, &end);
        fits = end != text && isfinite(x) && (k % 2 == 0 || x > 0);
        all[k % 2 * c->classes + k / 2] = x;
        text = end;
    }
    fits = fits && !*text;
    const size_t bytes = (size_t)c->classes * sizeof *all;
    wick_status status = WICK_OK;
    for (int i = 0; i < 2 && fits && status == WICK_OK; i++)
        status = wick_write(classifier_state(c, i ? STATE_TARGET_DEVIATION : STATE_TARGET_MEAN), all + i * c->classes,
                            bytes);
    free(all);
    if (status != WICK_OK) return onnx_failed(c, status, CLI_BAD_FILE);
    return fits ? CLI_OK
                : log_fail(CLI_BAD_FILE, "%s: its metadata wick.target are no means and deviations of %lld targets",
                           path, (long long)c->classes);
}

/* That numbers are learned, and by which loss. */
static int take_regression(classifier *c, const char *path) {
    const char *loss = meta_of(c, CLASSIFIER_META_LOSS), *scales = meta_of(c, CLASSIFIER_META_TARGET);
    static const char *const losses[] = {"mse", "mae", "huber", "snr"};
    bool known = false;
    if (!loss || !scales) return CLI_OK;
    for (size_t i = 0; i < sizeof losses / sizeof *losses; i++) known |= strcmp(loss, losses[i]) == 0;
    if (!known) return log_fail(CLI_BAD_FILE, "%s: its metadata wick.loss is '%.40s', which is no loss", path, loss);
    if (!(c->loss = strdup(loss))) return classifier_out_of_memory();
    c->task = task_of(TASK_REGRESS);
    return take_scales(c, path, scales);
}

/* What wick convert wrote of a table's columns, and of its classes or targets. */
static int take_coding(classifier *c, const char *path) {
    const char *coding = meta_of(c, CLASSIFIER_META_CODING), *names = meta_of(c, CLASSIFIER_META_NAMES);
    if (!coding || !names || strncmp(coding, "\"table\"", 7) != 0) return CLI_OK;
    char *kept = strdup(names);
    if (!kept || !(c->coding = strdup(coding))) return free(kept), classifier_out_of_memory();
    free(c->names);
    c->names = kept;
    c->floats = true;
    return take_regression(c, path);
}

/* Nobody but what wick convert wrote says what its classes are called. */
int classifier_adapt_onnx(classifier *c, const char *path, int64_t classes, bool head) {
    int code = onnx_dims(c, path, CLI_BAD_FILE);
    const int64_t width = code != CLI_OK ? 0 : onnx_width(c, path, CLI_BAD_FILE);
    if (!width) return CLI_BAD_FILE;
    c->classes = classes ? classes : width;
    const bool fresh = head || width != c->classes;
    bool bounded;
    code = adapt_onnx(c, c->classes, fresh, CLI_BAD_FILE, &bounded);
    if (code != CLI_OK) return code;
    if (fresh)
        log_note("a fresh head of %lld class%s; the file's had %lld", (long long)c->classes,
                 c->classes == 1 ? "" : "es", (long long)width);
    bool fits;
    wick_model_set_training(c->model, false);
    c->arch = strdup(path);
    if (!c->arch) return classifier_out_of_memory();
    code = classifier_join_names(c, NULL);
    if (code == CLI_OK && !fresh) code = take_coding(c, path);
    if (code == CLI_OK) code = classifier_split_names(c, &fits);
    return code == CLI_OK && !fits
               ? log_fail(CLI_BAD_FILE, "%s: gives %lld numbers, and its metadata name other classes", path,
                          (long long)c->classes)
               : code;
}

/* "onnx:FILE[,head]" of a checkpoint: a file of that name in its folder, and nowhere else. */
int classifier_build_onnx(classifier *c, const char *checkpoint, const char *crc) {
    const char *name = c->arch + strlen("onnx:"), *comma = strchr(name, ',');
    const size_t length = comma ? (size_t)(comma - name) : strlen(name);
    const bool head = comma != NULL;
    if (!length || name[0] == '.' || memchr(name, '/', length) || (head && strcmp(comma, ",head") != 0))
        return log_fail(CLI_BAD_FILE, "%s: bad arch '%s'", checkpoint, c->arch);
    const char *slash = strrchr(checkpoint, '/');
    char *path;
    if (asprintf(&path, "%.*s%.*s", slash ? (int)(slash - checkpoint + 1) : 0, checkpoint, (int)length, name) < 0)
        return classifier_out_of_memory();
    bool bounded;
    int code = open_onnx(c, path, NULL, CLI_BAD_FILE);
    char is[16] = "";
    if (code == CLI_OK) snprintf(is, sizeof is, "%08lx", (unsigned long)c->onnx_crc);
    if (code == CLI_OK && crc && strcmp(crc, is) != 0)
        code = log_fail(CLI_BAD_FILE,
                        "%s: damaged, or not the file that %s was made of: its checksum is %s, and should be %s", path,
                        checkpoint, is, crc);
    if (code == CLI_OK) code = onnx_dims(c, path, CLI_BAD_FILE);
    if (code == CLI_OK) code = adapt_onnx(c, c->classes, head, CLI_BAD_FILE, &bounded);
    char whose[4200];
    snprintf(whose, sizeof whose, "%.4096s: ", checkpoint);
    if (code == CLI_OK) code = check_range(c, "", whose, CLI_BAD_FILE);
    free(path);
    return code;
}

static int copy_file(wick_context *ctx, const char *from, const char *to) {
    char *a = realpath(from, NULL), *b = realpath(to, NULL);
    const bool same = a && b && strcmp(a, b) == 0;
    free(a);
    free(b);
    if (same) return CLI_OK;
    FILE *in = fopen(from, "rbe");
    char *bytes = NULL;
    size_t n = 0, room = 0;
    while (in && !feof(in) && !ferror(in)) {
        if (n == room) {
            char *more = realloc(bytes, room = room ? 2 * room : (size_t)1 << 20);
            if (!more) break;
            bytes = more;
        }
        n += fread(bytes + n, 1, room - n, in);
    }
    const bool whole = in && feof(in) && !ferror(in);
    int code =
        whole ? CLI_OK : log_fail(in ? CLI_FAILED : CLI_BAD_FILE, "could not read %s: %s", from, strerror(errno));
    if (in) fclose(in);
    if (code == CLI_OK && wick_file_write(ctx, to, bytes, n) != WICK_OK)
        code = log_fail(CLI_FAILED, "could not save: %s", wick_context_error(ctx));
    free(bytes);
    return code;
}

int classifier_keep_onnx(const classifier *c, const char *path, const char *folder) {
    const char *slash = strrchr(path, '/'), *name;
    int code = CLI_OK;
    for (int i = -1; code == CLI_OK && (name = i < 0 ? CLASSIFIER_ONNX : wick_onnx_file_at(c->onnx, i)); i++) {
        if (strchr(name, '/'))
            return log_fail(CLI_BAD_FILE, "%s: keeps tensors in %s, a folder below its own: put the file beside it",
                            path, name);
        char *from = NULL, *to = path_join(folder, name);
        if (i < 0)
            from = strdup(path);
        else if (asprintf(&from, "%.*s%s", slash ? (int)(slash - path + 1) : 0, path, name) < 0)
            from = NULL;
        code = from && to ? copy_file(c->ctx, from, to) : classifier_out_of_memory();
        free(from);
        free(to);
    }
    return code;
}

wick_status classifier_prepare(classifier *c, int64_t n) {
    const wick_spec spec = c->onnx ? classifier_onnx_spec(c, n) : (wick_spec){0};
    const wick_status status = c->onnx ? wick_onnx_prepare(c->onnx, &spec) : WICK_OK;
    return status == WICK_OK && c->beside ? classifier_prepare(c->beside, n) : status;
}

int classifier_set_range(classifier *c, const char *text, const char *whose, int blame) {
    char *end;
    if (!*text) return CLI_OK;
    if (strcmp(text, "auto") == 0) return check_range(c, text, whose, blame);
    const double low = strtod(text, &end);
    const char *second = *end == ',' ? end + 1 : end;
    const double high = strtod(second, &end);
    if (second == text || second[-1] != ',' || end == second || *end || !isfinite(low) || !isfinite(high) ||
        !(low < high))
        return log_fail(blame, "%s--input-range '%s' is not auto, nor two numbers like 0,255", whose, text);
    c->deviation = 1 / (high - low);
    c->mean = -low / (high - low);
    return check_range(c, text, whose, blame);
}
