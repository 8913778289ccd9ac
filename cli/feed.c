#include "feed.h"

#include "options.h"
#include "ports.h"
#include "talk.h"

#include "wick/data.h"
#include "wick/io.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool has_end(const char *name, const char *end) {
    const size_t n = strlen(name), m = strlen(end);
    return n >= m && strcasecmp(name + n - m, end) == 0;
}

static wick_dtype dtype_of(const wick_onnx_port *p) {
    wick_dtype dtype;
    return wick_onnx_elem_dtype(p->elem, &dtype) ? dtype : WICK_F32;
}

static bool is_float(wick_dtype d) { return d == WICK_F32 || d == WICK_F64 || d == WICK_F16 || d == WICK_BF16; }

/* Floats in [0, 1); bytes of any value; other integers 0 or 1, which are safe as indices and lengths too; bools. */
static wick_status random_value(const cli_options *o, wick_context *ctx, const wick_onnx_port *p, const char *dims_text, wick_tensor **out) {
    int64_t dims[WICK_MAX_DIMS] = {0};
    int rank = p->rank > 0 ? p->rank : 0;
    for (int i = 0; i < rank; i++) dims[i] = port_extent(o, p, i, 1);
    if (*dims_text) {
        rank = 0;
        for (const char *s = dims_text; s; rank++) {
            char *end;
            errno = 0;
            if (rank == WICK_MAX_DIMS || (dims[rank] = strtoll(s, &end, 10)) < 0 || errno || end == s || (*end && *end != ','))
                return wick_context_fail(ctx, WICK_ERR_INVALID, "--input %s=random:%s: after random: stand extents, as in random:1,3,224,224", p->name,
                                         dims_text);
            s = *end ? end + 1 : NULL;
        }
    }
    const wick_dtype dtype = dtype_of(p);
    if (is_float(dtype)) *out = wick_cast(wick_random_uniform(ctx, WICK_F32, rank, dims), dtype);
    else *out = wick_random_integers(ctx, dtype, rank, dims, dtype == WICK_I8 ? -128 : 0, dtype == WICK_I8 ? 128 : dtype == WICK_U8 ? 256 : 2);
    return WICK_OK;
}

/* ---- pictures ------------------------------------------------------------------------------------------------------------------------------------ */

/* "0.5" or "1/255" */
static bool read_number(const char **text, double *value) {
    char *end;
    *value = strtod(*text, &end);
    if (end == *text) return false;
    if (*end == '/') {
        const char *below = end + 1;
        const double by = strtod(below, &end);
        if (end == below || by == 0) return false;
        *value /= by;
    }
    *text = end;
    return true;
}

/* Up to 3 numbers between commas, how many; 0: it is no such list. */
static int read_numbers(const char *text, double value[3]) {
    int n = 0;
    while (n < 3 && read_number(&text, &value[n])) {
        n++;
        if (!*text) return n;
        if (*text++ != ',') return 0;
    }
    return 0;
}

/* A tensor of 1 or `channels` numbers that broadcasts over [1, C, H, W]. */
static wick_status per_channel(wick_context *ctx, const char *option, const char *text, int64_t channels, wick_tensor **out) {
    double value[3];
    float v[3];
    const int n = read_numbers(text, value);
    for (int i = 0; i < n; i++)
        if (value[i] == 0 && strcmp(option, "std") == 0) return wick_context_fail(ctx, WICK_ERR_INVALID, "--std %s: nothing can be divided by 0", text);
    if (!n || (n > 1 && n != channels))
        return wick_context_fail(ctx, WICK_ERR_INVALID, "--%s %s: one number, or one for each of %lld channel%s, with commas between", option, text,
                                 (long long)channels, plural(channels));
    for (int i = 0; i < n; i++) v[i] = (float)value[i];
    *out = wick_from(ctx, WICK_F32, 4, (int64_t[]){1, n, 1, 1}, v);
    return WICK_OK;
}

/* Where an input has its channels, rows and columns; -1: not. */
typedef struct layout {
    int c, h, w;
} layout;

static layout layout_of(const cli_options *o, const wick_onnx_port *p) {
    const int r = p->rank;
    if (r < 2 || r > 4) return (layout){1, 2, 3}; /* as of rank 4 */
    if (r == 2) return (layout){-1, 0, 1};
    const int first = r - 3, last = r - 1;
    const bool few_first = p->dims[first] == 1 || p->dims[first] == 3, few_last = p->dims[last] == 1 || p->dims[last] == 3;
    const bool hwc = strcmp(o->layout, "nhwc") == 0 || (strcmp(o->layout, "auto") == 0 && few_last && !few_first);
    return hwc ? (layout){last, first, first + 1} : (layout){first, first + 1, first + 2};
}

/* (pixel * scale - mean) / std, of the input's size, channels and layout. Pixels are 0 to 255. */
static wick_status picture(const cli_options *o, wick_context *ctx, const wick_onnx_port *p, const char *path, wick_tensor **out) {
    wick_image *image = NULL, *sized = NULL;
    const layout at = layout_of(o, p);
    const bool known = p->rank >= 2 && p->rank <= 4;
    const int64_t channels = !known ? 3 : at.c < 0 ? 1 : p->dims[at.c] == 1 ? 1 : 3;
    if (known && at.c >= 0 && p->dims[at.c] >= 0 && p->dims[at.c] != channels) {
        char text[256];
        return wick_context_fail(ctx, WICK_ERR_INVALID, "%s: a picture has 1 or 3 channels, and the input %s is %s", path, p->name,
                                 port_type(p, text, sizeof text));
    }
    wick_status status = wick_image_open(ctx, path, channels, &image);
    if (status != WICK_OK) return status;
    int64_t size[2] = {wick_image_dims(image)[1], wick_image_dims(image)[2]};
    for (int i = 0; i < 2 && known; i++) {
        const int d = i ? at.w : at.h;
        const bool open = p->dims[d] < 0;
        const int64_t extent = port_extent(o, p, d, 1);
        if (!open || extent != 1) size[i] = extent;
    }
    if (size[0] != wick_image_dims(image)[1] || size[1] != wick_image_dims(image)[2]) {
        talk("%s: %lld x %lld is resized to %lld x %lld", path, (long long)wick_image_dims(image)[2], (long long)wick_image_dims(image)[1],
             (long long)size[1], (long long)size[0]);
        status = wick_image_resize(ctx, image, size[0], size[1], &sized);
        wick_image_free(&image);
        if (status != WICK_OK) return status;
        image = sized;
    }
    wick_tensor *x = wick_from(ctx, WICK_U8, 4, (int64_t[]){1, channels, size[0], size[1]}, wick_image_pixels(image, 0)), *mean, *deviation;
    wick_image_free(&image);
    double scale;
    const char *scale_text = o->scale;
    if (!read_number(&scale_text, &scale) || *scale_text) return wick_context_fail(ctx, WICK_ERR_INVALID, "--scale %s is no number, as 1/255 is one", o->scale);
    status = per_channel(ctx, "mean", o->mean, channels, &mean);
    if (status == WICK_OK) status = per_channel(ctx, "std", o->std, channels, &deviation);
    if (status != WICK_OK) return status;
    if (o->bgr) x = wick_flip(x, 1, (int[]){1});
    if (scale != 1 || strcmp(o->mean, "0") != 0 || strcmp(o->std, "1") != 0)
        x = wick_div(wick_sub(wick_mul(wick_cast(x, WICK_F32), wick_constant(ctx, WICK_F32, scale)), mean), deviation);
    if (known && at.c == p->rank - 1) x = wick_permute(x, 4, (int[]){0, 2, 3, 1});
    if (p->rank == 3) x = wick_squeeze(x, 0);
    if (p->rank == 2) x = wick_reshape(x, 2, size);
    *out = wick_cast(x, dtype_of(p));
    return WICK_OK;
}

/* ---- recordings ---------------------------------------------------------------------------------------------------------------------------------- */

/* Samples in [-1, 1] as [1, samples], or of the rank that the input has. Where its last extent is fixed they are cut or filled with silence; of a
 * sequence (--state) they are cut into steps, [steps, ...]. */
static wick_status recording(const cli_options *o, wick_context *ctx, const wick_onnx_port *p, const char *path, wick_tensor **out) {
    wick_audio *audio;
    wick_status status = wick_audio_open(ctx, path, 1, &audio);
    if (status != WICK_OK) return status;
    const int64_t length = wick_audio_length(audio), rate = wick_audio_rate(audio), wanted = p->rank > 0 ? port_extent(o, p, p->rank - 1, 1) : 1;
    if (o->rate && o->rate != rate)
        status = wick_context_fail(ctx, WICK_ERR_INVALID, "%s has %lld samples a second, not %lld: resample it, for example with sox %s -r %lld out.wav",
                                   path, (long long)rate, (long long)o->rate, path, (long long)o->rate);
    else {
        const int64_t each = wanted > 1 ? wanted : length, steps = *o->state && each ? (length + each - 1) / each : 1;
        int64_t dims[WICK_MAX_DIMS + 1] = {0};
        const int rank = (p->rank < 0 ? 2 : p->rank) + (steps > 1);
        for (int d = 0; d + 1 < rank; d++) dims[d] = d || steps == 1 ? 1 : steps;
        if (rank) dims[rank - 1] = each;
        *out = wick_from(ctx, WICK_F32, 1, &length, wick_audio_samples(audio, 0));
        if (each * steps != length) {
            if (steps == 1)
                talk("%s has %lld samples, and the input %s takes %lld: %s", path, (long long)length, p->name, (long long)each,
                     each < length ? "the rest is left out" : "silence follows");
            *out = each * steps < length ? wick_slice(*out, 0, 0, each * steps, 1)
                                         : wick_pad(*out, 1, (int64_t[]){0}, (int64_t[]){each * steps - length}, 0);
        }
        *out = wick_cast(wick_reshape(*out, rank, dims), dtype_of(p));
    }
    wick_audio_free(&audio);
    return status;
}

/* ---- any of them ---------------------------------------------------------------------------------------------------------------------------------- */

wick_status feed_read(const cli_options *o, wick_context *ctx, wick_onnx *onnx, const wick_onnx_port *p, const char *what, wick_onnx_value *out) {
    if (has_end(what, ".pb")) return wick_onnx_read_value(onnx, p, what, out);
    *out = (wick_onnx_value){.kind = WICK_VALUE_TENSOR};
    const char *rest = what;
    double number;
    wick_status status = WICK_OK;
    if (strncmp(what, "random", 6) == 0 && (!what[6] || what[6] == ':')) status = random_value(o, ctx, p, what[6] ? what + 7 : "", &out->tensor);
    else if (has_end(what, ".npy")) out->tensor = wick_npy_read(ctx, what);
    else if (has_end(what, ".wav")) status = recording(o, ctx, p, what, &out->tensor);
    else if (read_number(&rest, &number) && !*rest) {
        int64_t dims[WICK_MAX_DIMS] = {0};
        for (int d = 0; d < p->rank; d++) dims[d] = port_extent(o, p, d, 1);
        out->tensor = wick_full(ctx, dtype_of(p), p->rank > 0 ? p->rank : 0, dims, number);
    } else status = picture(o, ctx, p, what, &out->tensor);
    return status == WICK_OK ? wick_eval(ctx, 1, &out->tensor, NULL) : status;
}

/* Of --input: the dtype that the model declares, and its extents where they are fixed. */
static wick_status fit(wick_context *ctx, const wick_onnx_port *p, const char *what, bool stacked, wick_onnx_value *v) {
    wick_dtype dtype;
    if (v->kind != WICK_VALUE_TENSOR) return WICK_OK;
    const int rank = wick_tensor_rank(v->tensor) - stacked;
    const int64_t *dims = wick_tensor_dims(v->tensor) + stacked;
    bool fits = p->rank < 0 || rank == p->rank;
    for (int d = 0; fits && d < p->rank; d++) fits = p->dims[d] < 0 || p->dims[d] == dims[d];
    if (!fits && p->rank == 0 && rank == 1 && dims[0] == 1) fits = true; /* [1] for a number: as others take it */
    if (!fits) {
        char declared[256], given[256];
        return wick_context_fail(ctx, WICK_ERR_MISMATCH, "%s holds %s, and the input %s is %s", what,
                                 spec_text(wick_tensor_dtype(v->tensor), rank, dims, given, sizeof given), p->name, port_type(p, declared, sizeof declared));
    }
    if (!wick_onnx_elem_dtype(p->elem, &dtype) || dtype == wick_tensor_dtype(v->tensor)) return WICK_OK;
    talk("%s holds %s: converted to %s for the input %s", what, wick_dtype_name(wick_tensor_dtype(v->tensor)), wick_dtype_name(dtype), p->name);
    v->tensor = wick_cast(v->tensor, dtype);
    return wick_eval(ctx, 1, &v->tensor, NULL);
}

wick_status feed_slice(wick_tensor *x, int64_t i, wick_tensor **out) {
    const void *data;
    const wick_status status = wick_data(x, &data);
    if (status != WICK_OK) return status;
    const int64_t n = wick_tensor_dim(x, 0), each = n ? wick_tensor_count(x) / n : 0;
    const wick_dtype dtype = wick_tensor_dtype(x);
    *out = wick_from(wick_tensor_context(x), dtype, wick_tensor_rank(x) - 1, wick_tensor_dims(x) + 1,
                     (const char *)data + (size_t)i * wick_dtype_bytes(dtype, each));
    return WICK_OK;
}

static bool is_stacked(const wick_onnx_port *p, const char *what, const wick_onnx_value *v) {
    return (has_end(what, ".npy") || has_end(what, ".wav")) && p->rank >= 0 && v->kind == WICK_VALUE_TENSOR && wick_tensor_rank(v->tensor) == p->rank + 1;
}

wick_status feed_open(const cli_options *o, wick_context *ctx, wick_onnx *onnx, const wick_onnx_port *p, const char *what, feed *out) {
    *out = (feed){0};
    const wick_status status = feed_read(o, ctx, onnx, p, what, &out->value);
    if (status != WICK_OK) return status;
    out->stacked = is_stacked(p, what, &out->value);
    out->steps = out->stacked ? wick_tensor_dim(out->value.tensor, 0) : 1;
    return WICK_OK;
}

wick_status feed_at(const cli_options *o, wick_context *ctx, wick_onnx *onnx, const wick_onnx_port *p, const feed *f, int64_t step, wick_onnx_value *out) {
    *out = f->value;
    if (f->files) {
        const wick_status status = feed_read(o, ctx, onnx, p, f->files[step], out);
        return status == WICK_OK ? fit(ctx, p, f->files[step], false, out) : status;
    }
    return !f->stacked ? WICK_OK : feed_slice(f->value.tensor, step, &out->tensor);
}

void feed_free(feed *f) {
    for (int64_t i = 0; f->files && i < f->steps; i++) free(f->files[i]);
    free(f->files);
    *f = (feed){0};
}

int feed_failed(const wick_context *ctx, wick_status status) {
    return talk_fail(talk_code(status, status == WICK_ERR_INVALID || status == WICK_ERR_MISMATCH ? CLI_USAGE : CLI_BAD_FILE), "%s", talk_why(ctx, status));
}

/* ---- --input -------------------------------------------------------------------------------------------------------------------------------------- */

/* One more file for an input that has some. */
static bool add_file(feed *f, const char *what) {
    char **more = realloc(f->files, (size_t)(f->steps + 1) * sizeof *more);
    if (!more) return false;
    f->files = more;
    if (!(f->files[f->steps] = strdup(what))) return false;
    f->steps++;
    return true;
}

static const char *input_name(int i, const void *user) { return wick_onnx_input(user, i).name; }

/* The input that NAME=FILE is for, and the FILE; -1: none, and it has been said. */
static int find_input(wick_onnx *onnx, char *item, const char **what) {
    const int n = wick_onnx_inputs(onnx);
    for (char *equals = strchr(item, '='); equals; equals = strchr(equals + 1, '=')) { /* names may have = too */
        for (int i = 0; i < n; i++) {
            const char *name = wick_onnx_input(onnx, i).name;
            if (strlen(name) == (size_t)(equals - item) && memcmp(name, item, strlen(name)) == 0) return *what = equals + 1, i;
        }
    }
    if (n == 1 && !strchr(item, '=')) return *what = item, 0; /* the only one needs no name */
    const char *equals = strchr(item, '=');
    if (!equals || !n) {
        talk_fail(CLI_USAGE, n ? "--input \"%s\" is not NAME=FILE, for example %s=FILE" : "--input \"%s\": the model has no inputs", item,
                  n ? wick_onnx_input(onnx, 0).name : "");
        return -1;
    }
    char wanted[256];
    snprintf(wanted, sizeof wanted, "%.*s", (int)(equals - item), item);
    const char *near = nearest_name(wanted, n, input_name, onnx);
    talk_fail(CLI_USAGE, near ? "--input: the model has no input \"%s\"; did you mean %s?" : "--input: the model has no input \"%s\"; it has %s", wanted,
              near ? near : wick_onnx_input(onnx, 0).name);
    return -1;
}

int feeds_open(const cli_options *o, wick_context *ctx, wick_onnx *onnx, feed *feeds, bool *others) {
    char *list = strdup(o->input), *rest = list;
    int code = list ? CLI_OK : talk_fail(CLI_FAILED, "out of memory");
    *others = false;
    for (char *item; code == CLI_OK && (item = strsep(&rest, ";"));) {
        const char *what;
        if (!*item) continue;
        if (strcmp(item, "random") == 0) {
            *others = true;
            continue;
        }
        const int at = find_input(onnx, item, &what);
        if (at < 0) code = CLI_USAGE;
        else if (!add_file(&feeds[at], what)) code = talk_fail(CLI_FAILED, "out of memory");
    }
    free(list);
    for (int i = 0; i < wick_onnx_inputs(onnx) && code == CLI_OK; i++) {
        if (feeds[i].steps != 1) continue; /* several are read one at a time, each at its step */
        const wick_onnx_port port = wick_onnx_input(onnx, i);
        feed one;
        wick_status status = feed_open(o, ctx, onnx, &port, feeds[i].files[0], &one);
        if (status == WICK_OK) status = fit(ctx, &port, feeds[i].files[0], one.stacked, &one.value);
        if (status != WICK_OK) code = feed_failed(ctx, status);
        feed_free(&feeds[i]);
        feeds[i] = one;
    }
    return code;
}
