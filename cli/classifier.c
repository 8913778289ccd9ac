#include "classifier.h"

#include "class_folders.h"
#include "kinds.h"
#include "numbers.h"
#include "options.h"
#include "paths.h"
#include "ports.h"
#include "talk.h"

#include "wick/image.h"
#include "wick/reduce.h"
#include "wick/shape.h"

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

int classifier_transform(const classifier *c, const wick_dataset *dataset, wick_transform **out) {
    *out = NULL;
    if (!c->transform) return CLI_OK;
    const wick_transform_options options = {.still = true, .rate = (double)wick_dataset_rate(dataset)};
    const wick_status status = wick_transform_new(c->ctx, c->transform, &options, wick_dataset_field(dataset, 0), out);
    return status == WICK_OK ? CLI_OK : talk_fail(talk_code(status, CLI_USAGE), "--transform: %s", talk_why(c->ctx, status));
}

/* Dims of a sample as the network gets it. */
static int sample_dims(const classifier *c, const wick_dataset *dataset, int *rank, int64_t dims[WICK_MAX_DIMS], int64_t *pixels) {
    wick_transform *t;
    const int code = classifier_transform(c, dataset, &t);
    if (code != CLI_OK) return code;
    const wick_spec spec = t ? *wick_transform_output(t) : *wick_dataset_field(dataset, 0);
    wick_transform_free(&t);
    *rank = spec.rank;
    *pixels = 1;
    for (int i = 0; i < spec.rank; i++) *pixels *= dims[i] = spec.dims[i];
    if (spec.rank && spec.dims[0] < 0) return talk_fail(CLI_USAGE, "the samples have lengths of their own, and the network takes one: --transform with fit=N or window=N makes them alike");
    return CLI_OK;
}

/* What a data set says of its samples and classes. */
static int describe(classifier *c, wick_context *ctx, const wick_dataset *dataset, const char *data, const char *transform, const char *label, const char *arch) {
    *c = (classifier){.ctx = ctx, .deviation = 1, .floats = wick_dataset_field(dataset, 0)->dtype == WICK_F32};
    if (!c->floats && wick_dataset_field(dataset, 0)->dtype != WICK_U8)
        return talk_fail(CLI_BAD_FILE, "%s: its samples are %s; they may be u8 or f32", data, wick_dtype_name(wick_dataset_field(dataset, 0)->dtype));
    if ((c->floats && *transform && !(c->transform = strdup(transform))) || (*label && !(c->label = strdup(label)))) return out_of_memory();
    int code = sample_dims(c, dataset, &c->rank, c->dims, &c->pixels);
    if (code != CLI_OK) return code;
    c->classes = wick_dataset_classes(dataset);
    if (source_is_audio(dataset)) c->rate = wick_dataset_rate(dataset);
    const wick_status status = c->floats ? WICK_OK : wick_dataset_moments(ctx, dataset, &c->mean, &c->deviation);
    if (status == WICK_ERR_SHAPE)
        return talk_fail(CLI_BAD_FILE, "%s: --image-size HxW makes pictures alike", talk_why(ctx, status));
    if (status != WICK_OK) return talk_fail(talk_code(status, CLI_BAD_FILE), "%s", talk_why(ctx, status));
    bool fits;
    code = join_names(c, dataset);
    if (code == CLI_OK) code = split_names(c, &fits);
    if (code == CLI_OK && !fits) code = talk_fail(CLI_BAD_FILE, "%s: the name of a class has a tab in it", data);
    if (code != CLI_OK) return code;
    c->arch = strdup(arch);
    c->data = strdup(data);
    return c->arch && c->data ? CLI_OK : out_of_memory();
}

int classifier_for_dataset(classifier *c, wick_context *ctx, const wick_dataset *dataset, const char *data, const char *transform, const char *label, const char *arch, int blame) {
    int code = describe(c, ctx, dataset, data, transform, label, arch);
    if (code != CLI_OK) return code;
    if (wick_model_new(ctx, &c->model) != WICK_OK) return out_of_memory();
    wick_status status = wick_zoo_find(ctx, c->arch, &c->network);
    if (status != WICK_OK) return talk_fail(blame, "%s", talk_why(ctx, status));
    return make_parameters(c, c->arch, blame);
}

/* ---- ONNX files ---------------------------------------------------------------------------------------------------------------------------------- */

static int onnx_failed(const classifier *c, wick_status status, int blame) { return talk_fail(talk_code(status, blame), "%s", talk_why(c->ctx, status)); }

/* Opens the file, which has to be a function of one batch of images. */
static int open_onnx(classifier *c, const char *path, const wick_onnx_limits *limits, int blame) {
    wick_status status = wick_onnx_open(c->ctx, path, limits, &c->onnx);
    if (status != WICK_OK) return onnx_failed(c, status, CLI_BAD_FILE);
    c->model = wick_onnx_model(c->onnx);
    c->onnx_crc = wick_onnx_checksum(c->onnx);
    const char *missing = wick_onnx_unsupported(c->onnx);
    if (*missing) return talk_fail(blame, "%s: has ops that Wick lacks: %s", path, missing);
    const wick_onnx_port port = wick_onnx_input(c->onnx, 0);
    wick_dtype dtype;
    if (wick_onnx_inputs(c->onnx) != 1 || port.kind != WICK_VALUE_TENSOR || !wick_onnx_elem_dtype(port.elem, &dtype) || port.rank < 2)
        return talk_fail(blame, "%s: takes no batch of images: it has %d input%s", path, wick_onnx_inputs(c->onnx), plural(wick_onnx_inputs(c->onnx)));
    return CLI_OK;
}

/* ---- an input of integers ---------------------------------------------------------------------------------------- */

/* Whether the file's input holds integers; *least and *most: from where to where. */
static bool takes_integers(const classifier *c, int64_t *least, uint64_t *most) {
    wick_dtype dtype;
    return c->onnx && wick_onnx_elem_dtype(wick_onnx_input(c->onnx, 0).elem, &dtype) &&
           number_range(dtype, least, most);
}

/* Integers get the pixels as they are: of 0 to 1, which floats get, they would hold almost nothing. */
static void take_bytes(classifier *c) {
    int64_t least;
    uint64_t most;
    if (takes_integers(c, &least, &most)) c->mean = 0, c->deviation = 1.0 / 255;
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
    if (c->floats || !takes_integers(c, &least, &most) || (strcmp(text, "auto") != 0 && makes_integers(c)))
        return CLI_OK;
    const wick_onnx_port port = wick_onnx_input(c->onnx, 0);
    port_type(&port, type, sizeof type);
    if (!*text)
        return talk_fail(
            blame, "%sits pixels are scaled to fractions, and the input %s is %s, which can't hold them: train again",
            whose, port.name, type);
    return talk_fail(
        blame, "%s--input-range %s: the input %s is %s, and can't hold the fractions that this makes of pixels: %s",
        whose, text, port.name, type,
        least < 0 && most < 255 ? "-128,127 makes whole numbers" : "0,255 leaves them as bytes");
}

int classifier_check_samples(const classifier *c, const float *x, int64_t n) {
    int64_t least;
    uint64_t most;
    char type[256];
    if (!takes_integers(c, &least, &most)) return CLI_OK;
    const wick_onnx_port port = wick_onnx_input(c->onnx, 0);
    const double low = fmax((double)least, -0x1p24),
                 high = fmin((double)most, 0x1p24); /* beyond which f32 doesn't tell integers apart */
    if (!c->floats && -c->mean / c->deviation >= low - 0.5 && (1 - c->mean) / c->deviation <= high + 0.5) return CLI_OK;
    for (int64_t i = 0; i < n * c->pixels; i++) {
        const double v = c->floats ? (double)x[i] : round((double)x[i]);
        if (v >= low && v <= high && v == trunc(v)) continue;
        port_type(&port, type, sizeof type);
        if (c->floats)
            return talk_fail(CLI_BAD_FILE,
                             "the samples have %.9g, and the input %s of the network, %s, can't hold that", v,
                             port.name, type);
        return talk_fail(CLI_USAGE,
                         "a pixel is %.9g, and the input %s of the network, %s, can't hold that: --input-range "
                         "%lld,%llu scales them",
                         v, port.name, type, (long long)least,
                         least < 0 ? (unsigned long long)(255 + least) : (unsigned long long)most);
    }
    return CLI_OK;
}

/* Its input for a batch of n, as the file has it: [n, H, W, C] where c->last. */
static wick_spec onnx_spec(const classifier *c, int64_t n) {
    wick_spec spec = {.name = "images", .rank = c->rank + 1, .dims = {n}};
    const int64_t *dims = c->net[0] ? c->net : c->dims;
    wick_onnx_elem_dtype(wick_onnx_input(c->onnx, 0).elem, &spec.dtype);
    for (int i = 0; i < c->rank; i++) spec.dims[i + 1] = dims[c->last ? (i + 1) % c->rank : i];
    return spec;
}

static const char *extents(int rank, const int64_t *dims, char text[WICK_MAX_DIMS * 24]) {
    size_t n = 0;
    for (int i = 0; i < rank; i++) n += (size_t)snprintf(text + n, WICK_MAX_DIMS * 24 - n, "%s%lld", i ? ", " : "", (long long)dims[i]);
    return text;
}

/* Whether images [C, H, W], or [H, W], which are [1, H, W] then, can be made what the file takes, [C, H, W] or [H, W, C] of these extents. */
static bool can_be_resized(classifier *c, int rank, const int64_t *dims) {
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

static void tell_resized(const classifier *c) {
    char ours[WICK_MAX_DIMS * 24], theirs[WICK_MAX_DIMS * 24];
    talk("images of [%s] are made [%s], which the network takes", extents(3, c->dims, ours), extents(3, c->net, theirs));
}

/* Whether a, [H, W, C], is b, [C, H, W], turned. */
static bool is_turned(const int64_t *a, const int64_t *b) { return a[0] == b[1] && a[1] == b[2] && a[2] == b[0] && memcmp(a, b, 3 * sizeof *a) != 0; }

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
        if (dims[i] < 1 || dims[i] > MOST_PIXELS / pixels)
            return talk_fail(blame, "%s: dim %d of its input \"%s\" has no extent, and images are not known to have one", path, i + 1, port.name);
        pixels *= dims[i];
        same = same && dims[i] == c->dims[i];
        last = last && dims[i] == c->dims[(i + 1) % 3];
    }
    char theirs[WICK_MAX_DIMS * 24], ours[WICK_MAX_DIMS * 24];
    if (known && pixels != known) {
        if (!can_be_resized(c, rank, dims))
            return talk_fail(blame, "%s: takes images of [%s], those of %s are [%s]", path, extents(rank, dims, theirs), c->data, extents(c->rank, c->dims, ours));
        tell_resized(c);
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
    const wick_spec spec = onnx_spec(c, 1);
    wick_status status = WICK_OK;
    *bounded = wick_onnx_drop_softmax(c->onnx);
    if (head) status = wick_onnx_replace_head(c->onnx, classes, &spec);
    if (status == WICK_OK) status = wick_onnx_rebatch(c->onnx, &spec);
    return status == WICK_OK ? CLI_OK : onnx_failed(c, status, blame);
}

/* Losses take logits. What gives numbers between 0 and 1 for everything makes probabilities of them in a way that is
 * not known here. */
static void note_bounded(const classifier *c, const char *path) {
    enum { SAMPLES = 8 };
    const wick_spec spec = onnx_spec(c, SAMPLES);
    wick_scope *scope = wick_scope_open(c->ctx);
    int64_t n = 1;
    for (int d = 0; d < spec.rank; d++) n *= spec.dims[d];
    wick_tensor *x = wick_cast(
        wick_reshape(wick_sin(wick_linspace(c->ctx, WICK_F32, 0, (double)n, n)), spec.rank, spec.dims), spec.dtype);
    wick_tensor *y = wick_cast(wick_onnx_forward(c->onnx, x), WICK_F32),
                *edges[2] = {wick_min(y, WICK_ALL_AXES, false), wick_max(y, WICK_ALL_AXES, false)};
    double low = -1, high = 2;
    if (wick_item(edges[0], &low) != WICK_OK || wick_item(edges[1], &high) != WICK_OK) wick_context_clear_error(c->ctx);
    else if (low >= 0 && high <= 1 && high > 0)
        talk("%s: all that it gives lies between 0 and 1, as probabilities do, and the loss takes logits: it will "
             "hardly learn; cut the file off before what makes probabilities of them",
             path);
    wick_scope_close(&scope);
}

/* How many numbers the file gives for an image; 0: what went wrong has been said. */
static int64_t onnx_width(classifier *c, const char *path, int blame) {
    const wick_spec spec = onnx_spec(c, 1);
    wick_scope *scope = wick_scope_open(c->ctx);
    if (!scope) return out_of_memory(), 0;
    wick_tensor *y = wick_onnx_forward(c->onnx, wick_zeros(c->ctx, spec.dtype, spec.rank, spec.dims));
    const char *text;
    const wick_status status = wick_tensor_error(y, &text);
    const int64_t width = status == WICK_OK ? wick_tensor_count(y) : 0;
    char dims[WICK_MAX_DIMS * 24];
    if (status != WICK_OK) talk_fail(talk_code(status, blame), "%s (for an image of [%s])", text, extents(spec.rank - 1, spec.dims + 1, dims));
    else if (width < 1 || width > MOST_CLASSES) talk_fail(blame, "%s: gives %lld numbers for an image, which are no classes", path, (long long)width);
    wick_scope_close(&scope);
    return width > 0 && width <= MOST_CLASSES ? width : 0;
}

int classifier_for_onnx(classifier *c, wick_context *ctx, const wick_dataset *dataset, const char *data, const char *path, bool head, int blame) {
    int code = describe(c, ctx, dataset, data, "", "", "onnx:" CLASSIFIER_ONNX);
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
        talk("%s: what makes probabilities of its numbers at the end (Softmax, Sigmoid) is left out: the loss takes "
             "logits",
             path);
    note_bounded(c, path);
    if (fresh) {
        free(c->arch);
        if (!(c->arch = strdup("onnx:" CLASSIFIER_ONNX ",head"))) return out_of_memory();
        talk("a fresh head of %lld classes; the file's had %lld", (long long)c->classes, (long long)width);
    }
    return make_parameters(c, path, blame);
}

int classifier_open_onnx(classifier *c, wick_context *ctx, const char *path, const wick_onnx_limits *limits) {
    *c = (classifier){.ctx = ctx, .deviation = 1, .data = strdup("")};
    const int code = c->data ? open_onnx(c, path, limits, CLI_BAD_FILE) : out_of_memory();
    if (code == CLI_OK) take_bytes(c);
    return code;
}

/* Nobody says what its classes are called. */
int classifier_adapt_onnx(classifier *c, const char *path, int64_t classes, bool head) {
    int code = onnx_dims(c, path, CLI_BAD_FILE);
    const int64_t width = code != CLI_OK ? 0 : onnx_width(c, path, CLI_BAD_FILE);
    if (!width) return CLI_BAD_FILE;
    c->classes = classes ? classes : width;
    const bool fresh = head || width != c->classes;
    bool bounded;
    code = adapt_onnx(c, c->classes, fresh, CLI_BAD_FILE, &bounded);
    if (code != CLI_OK) return code;
    if (fresh) talk("a fresh head of %lld class%s; the file's had %lld", (long long)c->classes, c->classes == 1 ? "" : "es", (long long)width);
    bool fits;
    wick_model_set_training(c->model, false);
    c->arch = strdup(path);
    if (!c->arch) return out_of_memory();
    code = join_names(c, NULL);
    return code == CLI_OK ? split_names(c, &fits) : code;
}

/* "onnx:FILE[,head]" of a checkpoint: a file of that name in its folder, and nowhere else. */
static int build_onnx(classifier *c, const char *checkpoint, const char *crc) {
    const char *name = c->arch + strlen("onnx:"), *comma = strchr(name, ',');
    const size_t length = comma ? (size_t)(comma - name) : strlen(name);
    const bool head = comma != NULL;
    if (!length || name[0] == '.' || memchr(name, '/', length) || (head && strcmp(comma, ",head") != 0))
        return talk_fail(CLI_BAD_FILE, "%s: bad arch '%s'", checkpoint, c->arch);
    const char *slash = strrchr(checkpoint, '/');
    char *path;
    if (asprintf(&path, "%.*s%.*s", slash ? (int)(slash - checkpoint + 1) : 0, checkpoint, (int)length, name) < 0) return out_of_memory();
    bool bounded;
    int code = open_onnx(c, path, NULL, CLI_BAD_FILE);
    char is[16] = "";
    if (code == CLI_OK) snprintf(is, sizeof is, "%08lx", (unsigned long)c->onnx_crc);
    if (code == CLI_OK && crc && strcmp(crc, is) != 0)
        code = talk_fail(CLI_BAD_FILE,
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
    int code = whole ? CLI_OK : talk_fail(in ? CLI_FAILED : CLI_BAD_FILE, "could not read %s: %s", from, strerror(errno));
    if (in) fclose(in);
    if (code == CLI_OK && wick_file_write(ctx, to, bytes, n) != WICK_OK) code = talk_fail(CLI_FAILED, "could not save: %s", wick_context_error(ctx));
    free(bytes);
    return code;
}

int classifier_keep_onnx(const classifier *c, const char *path, const char *folder) {
    const char *slash = strrchr(path, '/'), *name;
    int code = CLI_OK;
    for (int i = -1; code == CLI_OK && (name = i < 0 ? CLASSIFIER_ONNX : wick_onnx_file_at(c->onnx, i)); i++) {
        if (strchr(name, '/'))
            return talk_fail(CLI_BAD_FILE, "%s: keeps tensors in %s, a folder below its own: put the file beside it", path, name);
        char *from = NULL, *to = path_join(folder, name);
        if (i < 0) from = strdup(path);
        else if (asprintf(&from, "%.*s%s", slash ? (int)(slash - path + 1) : 0, path, name) < 0) from = NULL;
        code = from && to ? copy_file(c->ctx, from, to) : out_of_memory();
        free(from);
        free(to);
    }
    return code;
}

wick_status classifier_prepare(classifier *c, int64_t n) {
    const wick_spec spec = c->onnx ? onnx_spec(c, n) : (wick_spec){0};
    return c->onnx ? wick_onnx_prepare(c->onnx, &spec) : WICK_OK;
}

int classifier_set_range(classifier *c, const char *text, const char *whose, int blame) {
    char *end;
    if (!*text) return CLI_OK;
    if (strcmp(text, "auto") == 0) return check_range(c, text, whose, blame);
    const double low = strtod(text, &end);
    const char *second = *end == ',' ? end + 1 : end;
    const double high = strtod(second, &end);
    if (second == text || second[-1] != ',' || end == second || *end || !isfinite(low) || !isfinite(high) || !(low < high))
        return talk_fail(blame, "%s--input-range '%s' is not auto, nor two numbers like 0,255", whose, text);
    c->deviation = 1 / (high - low);
    c->mean = -low / (high - low);
    return check_range(c, text, whose, blame);
}

void classifier_free(classifier *c) {
    if (c->onnx) c->model = NULL; /* is freed with it */
    wick_onnx_free(&c->onnx);
    wick_model_free(&c->model);
    free(c->arch);
    free(c->data);
    free(c->transform);
    free(c->label);
    free(c->coding);
    free(c->names);
    if (c->class_names) free((char *)c->class_names[0]); /* the others are parts of it */
    free(c->class_names);
    c->arch = c->data = c->names = c->transform = c->label = c->coding = NULL;
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
           meta_add(list, "classes", "%lld", (long long)c->classes) && meta_add(list, "names", "%s", c->names) &&
           meta_add(list, "mean", "%.17g", c->mean) && meta_add(list, "deviation", "%.17g", c->deviation) &&
           meta_add(list, "data", "%s", c->data) && (!c->floats || meta_add(list, "floats", "1")) &&
           (!c->as_stored || meta_add(list, "as-stored", "1")) &&
           (!c->transform || meta_add(list, "transform", "%s", c->transform)) &&
           (!c->label || meta_add(list, "label", "%s", c->label)) &&
           (!c->rate || meta_add(list, "rate", "%lld", (long long)c->rate)) &&
           (!c->coding || meta_add(list, "coding", "%s", c->coding)) &&
           (!(c->separator || c->decimal || c->no_header) ||
            meta_add(list, "form", "%d %d %d", c->separator, c->decimal, c->no_header)) &&
           (!c->onnx || meta_add(list, "onnx.crc32c", "%08lx", (unsigned long)c->onnx_crc));
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

bool classifier_is_in(const wick_checkpoint *file) {
    bool all = true;
    for (int i = 0; i < KEYS; i++) all &= wick_checkpoint_meta(file, keys[i]) != NULL;
    return all;
}

static bool is_onnx(const classifier *c) { return strncmp(c->arch, "onnx:", 5) == 0; }

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
    if (!is_onnx(c) && wick_zoo_find(c->ctx, c->arch, &c->network) != WICK_OK)
        return talk_fail(CLI_BAD_FILE, "%s: %s", path, wick_context_error(c->ctx));
    if (!read_dims(c, value[DIMS])) return talk_fail(CLI_BAD_FILE, "%s: bad dims '%s'", path, value[DIMS]);
    if (!read_real(&classes, value[CLASSES]) || !(classes >= 1 && classes <= MOST_CLASSES) || classes != floor(classes))
        return talk_fail(CLI_BAD_FILE, "%s: bad classes '%s'", path, value[CLASSES]);
    c->classes = (int64_t)classes;
    if (!read_real(&c->mean, value[MEAN]) || !read_real(&c->deviation, value[DEVIATION]) || c->deviation < 0)
        return talk_fail(CLI_BAD_FILE, "%s: bad mean '%s' or deviation '%s'", path, value[MEAN], value[DEVIATION]);
    c->data = strdup(value[DATA]);
    if (!c->data) return out_of_memory();
    const char *transform = wick_checkpoint_meta(file, "transform"), *label = wick_checkpoint_meta(file, "label");
    const char *rate = wick_checkpoint_meta(file, "rate"), *limit = wick_checkpoint_meta(file, "limit");
    c->limit = limit ? strtoll(limit, NULL, 10) : 0;
    c->floats = wick_checkpoint_meta(file, "floats") != NULL;
    c->as_stored = wick_checkpoint_meta(file, "as-stored") != NULL;
    c->rate = rate ? strtoll(rate, NULL, 10) : 0;
    if (c->rate < 0) return talk_fail(CLI_BAD_FILE, "%s: bad rate '%s'", path, rate);
    const char *coding =
        wick_checkpoint_meta(file, "coding"); /* of tables and tensors; not in the first files that were written */
    if ((transform && !(c->transform = strdup(transform))) || (label && !(c->label = strdup(label))) ||
        (coding && !(c->coding = strdup(coding))))
        return out_of_memory();
    const char *form = wick_checkpoint_meta(file, "form");
    if (form && !read_form(c, form)) return talk_fail(CLI_BAD_FILE, "%s: bad form '%s'", path, form);
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
    if (is_onnx(c)) {
        code = build_onnx(c, path, wick_checkpoint_meta(file, "onnx.crc32c"));
        if (code != CLI_OK) return code;
        wick_model_set_training(c->model, false);
        return make_parameters(c, path, CLI_BAD_FILE);
    }
    /* A small file can't make us reserve the memory of a giant network. */
    double elements = 0;
    for (int i = 0; i < wick_checkpoint_count(file); i++) elements += spec_elements(wick_checkpoint_tensor(file, i));
    if (wick_model_new(c->ctx, &c->model) != WICK_OK) return out_of_memory();
    wick_model_set_limit(c->model, (int64_t)fmax(1, fmin(elements, 0x1p62)));
    wick_model_set_training(c->model, false);
    code = make_parameters(c, path, CLI_BAD_FILE);
    wick_model_set_limit(c->model, 0); /* they are all there; an optimizer may add its states */
    return code;
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
    const bool folder = path_is_folder(model);
    char *last = folder && !path_exists(path) ? path_join(model, "last.safetensors") : NULL;
    int code = last && path_exists(last)
                   ? talk_fail(CLI_BAD_FILE, "%s: no epoch is done yet; the weights so far are in %s", model, last)
               : folder && !path_exists(path)
                   ? talk_fail(CLI_BAD_FILE, "%s: cannot open: no such file, and %s is no folder of wick train without it", path, model)
                   : talk_fail(talk_code(status, CLI_BAD_FILE), "%s", talk_why(ctx, status));
    free(last);
    return code;
}

int model_open(wick_context *ctx, const char *model, wick_checkpoint **file, char **path) {
    *file = NULL;
    *path = path_is_folder(model) ? path_join(model, "best.safetensors") : strdup(model);
    if (!*path) return out_of_memory();
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
    *c = (classifier){.ctx = ctx};
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

wick_tensor *classifier_logits(classifier *c, wick_tensor *x) {
    wick_here(NULL); /* layers name themselves, and not what was recorded before */
    if (c->onnx) {
        const wick_interpolate_options smooth = {.mode = WICK_LINEAR, .antialias = true};
        if (c->net[0]) {
            x = wick_interpolate(x, 2, NULL, c->net + 1, &smooth);
            if (c->net[0] != c->dims[0]) x = wick_expand(x, 4, (const int64_t[]){wick_tensor_dim(x, 0), c->net[0], c->net[1], c->net[2]});
        }
        const wick_dtype takes = onnx_spec(c, 1).dtype;
        int64_t least;
        uint64_t most;
        if (takes_integers(c, &least, &most)) x = wick_cast(wick_round(x), takes);
        wick_tensor *y = wick_onnx_forward(c->onnx, c->last ? wick_permute(x, 4, (const int[]){0, 2, 3, 1}) : x);
        const int64_t n = wick_tensor_dim(x, 0);
        const bool flat = wick_tensor_error(y, NULL) != WICK_OK || wick_tensor_rank(y) == 2 || wick_tensor_count(y) != n * c->classes;
        return flat ? y : wick_reshape(y, 2, (const int64_t[]){n, c->classes}); /* [n, classes, 1, 1] */
    }
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

/* An ONNX file by itself takes the images of any set that can be made what it takes. */
static void take_images(classifier *c, const wick_dataset *dataset) {
    classifier as = *c;
    as.rank = wick_dataset_rank(dataset), as.pixels = 1;
    for (int i = 0; i < as.rank; i++) as.pixels *= as.dims[i] = wick_dataset_dims(dataset)[i];
    if (!c->onnx || c->data[0] || !as.pixels) return;
    if (as.pixels == c->pixels) {
        as.last = as.rank == 3 && c->rank == 3 && is_turned(c->dims, as.dims);
        if (as.last) *c = as;
    } else if (can_be_resized(&as, c->rank, c->dims)) {
        *c = as;
        tell_resized(c);
    }
}

/* ---- how pictures are read --------------------------------------------------------------------------------------- */

int classifier_read_size(const char *text, const char *whose, int blame, int64_t size[2]) {
    char *end = (char *)text;
    size[0] = size[1] = 0;
    if (!*text) return CLI_OK;
    size[0] = size[1] = strtoll(text, &end, 10);
    if (end != text && (*end == 'x' || *end == ',')) {
        const char *width = end + 1;
        size[1] = strtoll(width, &end, 10);
        if (end == width) size[1] = 0;
    }
    if (*end || size[0] < 1 || size[1] < 1 || size[0] > MOST_PIXELS / size[1])
        return talk_fail(blame, "%s--image-size '%s' is no height and width in pixels, such as 224x224", whose, text);
    return CLI_OK;
}

/* Of a port [N, C, H, W] or [N, H, W, C], or without C. */
static bool port_size(const wick_onnx_port *p, int64_t size[2]) {
    const int r = p->rank;
    if (p->kind != WICK_VALUE_TENSOR || r < 3 || r > 4) return false;
    const bool last = r == 4 && (p->dims[3] == 1 || p->dims[3] == 3) && p->dims[1] != 1 && p->dims[1] != 3;
    size[0] = p->dims[last ? 1 : r - 2], size[1] = p->dims[last ? 2 : r - 1];
    return size[0] > 0 && size[1] > 0 && size[0] <= MOST_PIXELS / size[1];
}

bool classifier_onnx_size(wick_context *ctx, const char *path, int64_t size[2]) {
    wick_onnx *onnx;
    if (wick_onnx_open(ctx, path, NULL, &onnx) != WICK_OK) return false;
    const wick_onnx_port p = wick_onnx_inputs(onnx) == 1 ? wick_onnx_input(onnx, 0) : (wick_onnx_port){.rank = -1};
    const bool known = port_size(&p, size);
    wick_onnx_free(&onnx);
    return known;
}

/* An ONNX file by itself resizes in its graph what has one size. */
void classifier_set_pictures(const classifier *c) {
    wick_pictures how = wick_context_pictures(c->ctx);
    how.as_stored |= c->as_stored;
    if (c->data[0] && c->rank == 3 && !c->floats) how.height = c->dims[1], how.width = c->dims[2];
    wick_context_set_pictures(c->ctx, how);
}

int classifier_pictures_of(classifier *c, const cli_options *o) {
    static const char *const of_files[] = {"as-stored", "image-size"};
    for (int i = 0; i < 2 && c->data[0]; i++)
        if (options_given(o, of_files[i]))
            return talk_fail(CLI_USAGE, "--%s is for an ONNX file: %s says itself how pictures are read", of_files[i],
                             o->model);
    int64_t size[2];
    const int code = classifier_read_size(o->image_size, "", CLI_USAGE, size);
    wick_context_set_pictures(c->ctx, (wick_pictures){.as_stored = o->as_stored, .height = size[0], .width = size[1]});
    if (code == CLI_OK) classifier_set_pictures(c);
    return code;
}

wick_status classifier_open_split(const classifier *c, const char *data, const char *split, const source_options *form,
                                  wick_dataset **out) {
    source_options so = form ? *form : (source_options){0};
    so.label = c->label;
    so.rate = c->rate;
    so.coding = c->coding;
    so.classes = c->classes;
    so.unlabelled &= c->coding != NULL;
    if (!so.separator) so.separator = c->separator;
    if (!so.decimal) so.decimal = c->decimal;
    so.no_header |= c->no_header;
    classifier_set_pictures(c);
    wick_pictures how = wick_context_pictures(c->ctx);
    int64_t size[2];
    if (!how.height && c->onnx &&
        class_folders_are(c->ctx,
                          data)) { /* decoded when they are asked for: the size can't wait for the first that differs */
        const wick_onnx_port p = wick_onnx_input(c->onnx, 0);
        if (port_size(&p, size)) how.height = size[0], how.width = size[1];
        wick_context_set_pictures(c->ctx, how);
    }
    wick_status status = source_open(c->ctx, data, split, &so, NULL, out);
    if (status == WICK_ERR_SHAPE &&
        !how.height) { /* pictures of several sizes: they get the one that an ONNX file takes */
        const wick_onnx_port p = c->onnx ? wick_onnx_input(c->onnx, 0) : (wick_onnx_port){.rank = -1};
        char why[1024];
        snprintf(why, sizeof why, "%s", wick_context_error(c->ctx));
        if (!port_size(&p, size))
            return wick_context_fail(c->ctx, WICK_ERR_FORMAT, "%s: --image-size HxW makes pictures alike", why);
        how.height = size[0], how.width = size[1];
        wick_context_set_pictures(c->ctx, how);
        status = source_open(c->ctx, data, split, &so, NULL, out);
    }
    if (status == WICK_OK && c->class_names)
        status = source_match_classes(c->ctx, data, c->class_names, c->classes, out);
    if (status != WICK_OK) wick_dataset_free(out);
    return status;
}

int classifier_open_data(classifier *c, const char *name, const char **split, bool chosen, const source_options *form,
                         wick_dataset **out) {
    if (c->onnx && !name[0] && !c->data[0]) return talk_fail(CLI_USAGE, "an ONNX file says nothing of data: give --data");
    const char *data = name[0] ? name : c->data, *other = strcmp(*split, "test") == 0 ? "train" : "test";
    const bool is_file = source_is_file(data),
               whole = (is_file && !source_is_divided(c->ctx, data)) ||
                       class_folders_are(c->ctx, data); /* whole: has no parts of its own */
    if (strcmp(*split, "all") == 0 && !whole)
        return talk_fail(
            CLI_USAGE,
            "--split all is for tables and tensors in a file of their own, and folders of classes; %s is none", data);
    talk("reading %s", data);
    if (whole && !chosen && c->data[0] && strcmp(c->data, data) != 0 && !path_same(c->data, data)) {
        *split = "all";
        talk("%s is not what the model was trained on: all of it is taken; --split test takes a fifth", data);
    }
    if (is_file && !c->coding)
        talk("the model keeps nothing of how columns are coded: those of %s are coded by themselves", data);
    wick_status status = classifier_open_split(c, data, *split, form, out);
    if (status == WICK_OK) {
        if (*wick_dataset_note(*out)) talk("%s: %s", data, wick_dataset_note(*out));
        take_images(c, *out);
        int code = classifier_check_dataset(c, *out, data);
        if (code == CLI_OK) note_names(c, *out, data);
        return code;
    }
    char why[2048];
    snprintf(why, sizeof why, "%s", talk_why(c->ctx, status));
    wick_dataset *there;
    if (status != WICK_ERR_IO || is_file || classifier_open_split(c, data, other, form, &there) != WICK_OK)
        return talk_fail(talk_code(status, CLI_BAD_FILE), "%s", why);
    wick_dataset_free(&there);
    return talk_fail(CLI_BAD_FILE, "%s has no %s images; for the others give --split %s (%s)", data, *split, other,
                     why);
}

/* Extents but those of 1. */
static int real_extents(int rank, const int64_t *dims, int64_t out[WICK_MAX_DIMS]) {
    int n = 0;
    for (int i = 0; i < rank; i++)
        if (dims[i] != 1) out[n++] = dims[i];
    return n;
}

/* [28, 28] is [1, 28, 28], and what is flat has no shape; [8, 8, 3] is not [3, 8, 8], though it has as many numbers. */
static bool same_extents(const classifier *c, int rank, const int64_t *dims) {
    int64_t ours[WICK_MAX_DIMS], theirs[WICK_MAX_DIMS];
    const int n = real_extents(c->rank, c->dims, ours), m = real_extents(rank, dims, theirs);
    return n <= 1 || m <= 1 || (n == m && memcmp(ours, theirs, (size_t)n * sizeof *ours) == 0);
}

int classifier_check_dataset(const classifier *c, const wick_dataset *dataset, const char *name) {
    int64_t pixels = 1, dims[WICK_MAX_DIMS];
    int rank;
    if (c->floats != (wick_dataset_field(dataset, 0)->dtype == WICK_F32))
        return talk_fail(CLI_BAD_FILE, "%s: its samples are %s, the model takes %s", name, wick_dtype_name(wick_dataset_field(dataset, 0)->dtype), c->floats ? "f32" : "pixels, u8");
    const int code = sample_dims(c, dataset, &rank, dims, &pixels);
    if (code != CLI_OK) return code;
    if (wick_dataset_count(dataset) == 0) return talk_fail(CLI_BAD_FILE, "%s holds no images", name);
    if (pixels != c->pixels)
        return talk_fail(CLI_BAD_FILE, "the images of %s have %lld pixel%s, the model takes %lld", name,
                         (long long)pixels, plural(pixels), (long long)c->pixels);
    char has[WICK_MAX_DIMS * 24], takes[WICK_MAX_DIMS * 24];
    if (!same_extents(c, rank, dims) && !c->onnx)
        return talk_fail(CLI_BAD_FILE, "the samples of %s are [%s], the model takes [%s]", name,
                         extents(rank, dims, has), extents(c->rank, c->dims, takes));
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
