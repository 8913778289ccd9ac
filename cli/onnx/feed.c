#include "feed.h"

#include "../file_types.h"
#include "numbers.h"
#include "../options.h"
#include "../paths.h"
#include "ports.h"
#include "../term/log.h"
#include "values.h"

#include "wick/io.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool is_random(const char *what) { return strncmp(what, "random", 6) == 0 && (!what[6] || what[6] == ':'); }

wick_dtype feed_dtype(const wick_onnx_port *p) {
    wick_dtype dtype;
    return wick_onnx_elem_dtype(p->elem, &dtype) ? dtype : WICK_F32;
}

bool feed_is_float(wick_dtype d) { return d == WICK_F32 || d == WICK_F64 || d == WICK_F16 || d == WICK_BF16; }

/* dims_text: NULL, or "1,3,224,224". Floats in [0, 1); bytes of any value; other integers 0 or 1, which are safe as
 * indices and lengths too; bools. */
static wick_status random_value(const cli_options *o, wick_context *ctx, const wick_onnx_port *p, const char *dims_text,
                                wick_tensor **out) {
    int64_t dims[WICK_MAX_DIMS] = {0};
    int rank = p->rank > 0 ? p->rank : 0;
    for (int i = 0; i < rank; i++) dims[i] = port_extent(o, p, i, 1);
    if (dims_text) {
        rank = 0;
        for (const char *s = dims_text; s; rank++) {
            char *end;
            errno = 0;
            if (rank == WICK_MAX_DIMS || (dims[rank] = strtoll(s, &end, 10)) < 0 || errno || end == s ||
                (*end && *end != ','))
                return wick_context_fail(ctx, WICK_ERR_INVALID,
                                         "--input %s=random:%s: after random: stand extents, as in random:1,3,224,224",
                                         p->name, dims_text);
            s = *end ? end + 1 : NULL;
        }
    }
    const wick_dtype dtype = feed_dtype(p);
    if (feed_is_float(dtype)) *out = wick_cast(wick_random_uniform(ctx, WICK_F32, rank, dims), dtype);
    else
        *out = wick_random_integers(ctx, dtype, rank, dims, dtype == WICK_I8 ? -128 : 0,
                                    dtype == WICK_I8   ? 128
                                    : dtype == WICK_U8 ? 256
                                                       : 2);
    return WICK_OK;
}

static bool is_number(const char *what) {
    double number;
    return number_read(&what, &number) && !*what;
}

/* ---- any of them ------------------------------------------------------------------------------------------------- */

/* What tells nothing of itself may be a TensorProto; where it is none, its fields say nothing to a person. */
static wick_status read_proto(wick_context *ctx, wick_onnx *onnx, const wick_onnx_port *p, const char *what,
                              const file_kind *kind, wick_onnx_value *out) {
    const bool unknown = strcmp(kind->name, KIND_UNKNOWN) == 0;
    const wick_status status = wick_onnx_read_value(onnx, p, what, out);
    if (status != WICK_ERR_FORMAT || !unknown) return status;
    char why[1024];
    snprintf(why, sizeof why, "%s", wick_context_error(ctx));
    return wick_context_fail(ctx, status,
                             "%s is " KIND_UNKNOWN
                             ", and not an input: that is a .npy, .pb, .wav or a picture (as a TensorProto: %s)",
                             what, why);
}

/* For an input of texts: those of a file, or the text itself where there is no such file. */
static wick_status read_texts(const cli_options *o, wick_context *ctx, wick_onnx *onnx, const wick_onnx_port *p,
                              const char *what, wick_onnx_value *out) {
    int64_t dims[WICK_MAX_DIMS] = {0};
    char declared[256];
    if (path_exists(what)) return wick_onnx_read_value(onnx, p, what, out);
    if (is_random(what))
        return wick_context_fail(ctx, WICK_ERR_INVALID, "the input %s, %s, has no random values", p->name,
                                 port_type(p, declared, sizeof declared));
    for (int d = 0; d < p->rank; d++) dims[d] = port_extent(o, p, d, 1);
    log_note("the input %s is the text \"%s\": there is no file of this name", p->name, what);
    return wick_onnx_fill_texts(onnx, what, p->rank > 0 ? p->rank : 0, dims, out);
}

/* stacked: the tensor has the steps of a sequence along one more axis. */
static wick_status read_any(const cli_options *o, wick_context *ctx, wick_onnx *onnx, const wick_onnx_port *p,
                            const char *what, wick_onnx_value *out, bool *stacked) {
    char why[4096];
    wick_status status = WICK_OK;
    *out = (wick_onnx_value){.kind = WICK_VALUE_TENSOR};
    *stacked = false;
    if (p->kind == WICK_VALUE_STRINGS) return read_texts(o, ctx, onnx, p, what, out);
    if (is_random(what)) {
        status = random_value(o, ctx, p, what[6] ? what + 7 : NULL, &out->tensor);
    } else if (is_number(what)) {
        int64_t dims[WICK_MAX_DIMS] = {0};
        for (int d = 0; d < p->rank; d++) dims[d] = port_extent(o, p, d, 1);
        snprintf(why, sizeof why, "%s=%s", p->name, what);
        status = number_fill(ctx, p, why, what, p->rank > 0 ? p->rank : 0, dims, &out->tensor);
    } else {
        const file_kind *kind = kind_of(what);
        if (!kind)
            return wick_context_fail(ctx, WICK_ERR_IO,
                                     "%s: cannot be read: %s; an input is a file, a number, random or random:DIMS",
                                     what, strerror(errno));
        if (strcmp(kind->format, "npy") == 0) {
            out->tensor = wick_npy_read(ctx, what);
            *stacked = p->rank >= 0 && wick_tensor_error(out->tensor, NULL) == WICK_OK &&
                       wick_tensor_rank(out->tensor) == p->rank + 1;
        } else if (kind->as & AS_ARRAY) return read_proto(ctx, onnx, p, what, kind, out);
        else if (*o->transform && kind->as & (AS_RECORDING | AS_PICTURE))
            status = feed_transformed(o, ctx, p, what, (kind->as & AS_RECORDING) != 0, &out->tensor);
        else if (kind->as & AS_RECORDING) status = feed_recording(o, ctx, p, what, &out->tensor, stacked);
        else if (kind->as & AS_PICTURE) status = feed_picture(o, ctx, p, what, &out->tensor);
        else
            return wick_context_fail(
                ctx, WICK_ERR_FORMAT, "%s",
                kind_why(what, kind, "an input: that is a .npy, .pb, .wav or a picture", why, sizeof why));
    }
    return status == WICK_OK ? wick_eval(ctx, 1, &out->tensor, NULL) : status;
}

wick_status feed_read(const cli_options *o, wick_context *ctx, wick_onnx *onnx, const wick_onnx_port *p,
                      const char *what, wick_onnx_value *out) {
    bool stacked;
    return read_any(o, ctx, onnx, p, what, out, &stacked);
}

/* Texts of the extents that the model declares, and nothing where it declares numbers. */
static wick_status fit_texts(const cli_options *o, wick_context *ctx, const wick_onnx_port *p, const char *what,
                             const wick_onnx_value *v) {
    char declared[256], given[256];
    bool fits = p->kind == v->kind && (p->rank < 0 || p->rank == v->rank);
    const char *said;
    for (int d = 0; d < p->rank && fits; d++) fits = port_suits(o, p, d, v->dims[d], &said);
    if (fits) return WICK_OK;
    return wick_context_fail(ctx, WICK_ERR_MISMATCH, "%s holds %s, and the input %s is %s", what,
                             value_type(v, given, sizeof given), p->name, port_type(p, declared, sizeof declared));
}

/* Of --input: the dtype that the model declares, and its extents where they are fixed, or --dim says them. */
static wick_status fit(const cli_options *o, wick_context *ctx, const wick_onnx_port *p, const char *what, bool stacked,
                       wick_onnx_value *v) {
    wick_dtype dtype;
    if (v->kind == WICK_VALUE_STRINGS || (v->kind == WICK_VALUE_TENSOR && p->kind == WICK_VALUE_STRINGS))
        return fit_texts(o, ctx, p, what, v);
    if (v->kind != WICK_VALUE_TENSOR) return WICK_OK;
    const int rank = wick_tensor_rank(v->tensor) - stacked;
    const int64_t *dims = wick_tensor_dims(v->tensor) + stacked;
    bool fits = p->rank < 0 || rank == p->rank;
    const char *said = NULL;
    int axis = 0;
    while (fits && axis < p->rank && (fits = port_suits(o, p, axis, dims[axis], &said))) axis++;
    if (!fits && p->rank == 0 && rank == 1 && dims[0] == 1) fits = true; /* [1] for a number: as others take it */
    if (!fits) {
        char declared[256], given[256], name[300], against[700] = "";
        if (said)
            snprintf(against, sizeof against, ", with --dim %.300s: dim %d (%s) is %lld", said, axis,
                     port_dim_name(p, axis, name, sizeof name), (long long)dims[axis]);
        return wick_context_fail(ctx, WICK_ERR_MISMATCH, "%s holds %s, and the input %s is %s%s", what,
                                 spec_text(wick_tensor_dtype(v->tensor), rank, dims, given, sizeof given), p->name,
                                 port_type(p, declared, sizeof declared), against);
    }
    if (!wick_onnx_elem_dtype(p->elem, &dtype) || dtype == wick_tensor_dtype(v->tensor)) return WICK_OK;
    const char *was = wick_dtype_name(wick_tensor_dtype(v->tensor));
    bool rounded;
    const wick_status status = number_convert(ctx, p, what, &v->tensor, &rounded);
    if (status != WICK_OK) return status;
    log_note("%s holds %s: converted to %s for the input %s%s", what, was, wick_dtype_name(dtype), p->name,
             rounded ? ", which rounds some of them" : "");
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

wick_status feed_open(const cli_options *o, wick_context *ctx, wick_onnx *onnx, const wick_onnx_port *p,
                      const char *what, feed *out) {
    *out = (feed){0};
    const wick_status status = read_any(o, ctx, onnx, p, what, &out->value, &out->stacked);
    if (status != WICK_OK) return status;
    out->steps = out->stacked ? wick_tensor_dim(out->value.tensor, 0) : 1;
    return WICK_OK;
}

wick_status feed_at(const cli_options *o, wick_context *ctx, wick_onnx *onnx, const wick_onnx_port *p, const feed *f,
                    int64_t step, wick_onnx_value *out) {
    *out = f->value;
    if (f->files) {
        const wick_status status = feed_read(o, ctx, onnx, p, f->files[step], out);
        return status == WICK_OK ? fit(o, ctx, p, f->files[step], false, out) : status;
    }
    return !f->stacked ? WICK_OK : feed_slice(f->value.tensor, step, &out->tensor);
}

void feed_free(feed *f) {
    for (int64_t i = 0; f->files && i < f->steps; i++) free(f->files[i]);
    free(f->files);
    *f = (feed){0};
}

int feed_failed(const wick_context *ctx, wick_status status) {
    return log_fail(
        log_code(status, status == WICK_ERR_INVALID || status == WICK_ERR_MISMATCH ? CLI_USAGE : CLI_BAD_FILE), "%s",
        log_why(ctx, status));
}

/* ---- --input ----------------------------------------------------------------------------------------------------- */

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

/* The input that NAME=FILE is for, and the FILE, which may have any characters; -1: none, and it has been said. */
static int find_input(wick_onnx *onnx, const char *item, const char **what) {
    const int n = wick_onnx_inputs(onnx);
    const char *first = n ? wick_onnx_input(onnx, 0).name : "", *equals = strchr(item, '=');
    for (const char *e = equals; e; e = strchr(e + 1, '=')) { /* names may have = too */
        for (int i = 0; i < n; i++) {
            const char *name = wick_onnx_input(onnx, i).name;
            if (strlen(name) == (size_t)(e - item) && memcmp(name, item, strlen(name)) == 0) return *what = e + 1, i;
        }
    }
    if (n == 1 && (!equals || path_exists(item))) return *what = item, 0; /* the only one needs no name */
    if (!n) log_fail(CLI_USAGE, "--input \"%s\": the model has no inputs", item);
    else if (!equals || path_exists(item))
        log_fail(CLI_USAGE, "--input %s: the model has %d inputs: say which, for example %s=%s", item, n, first, item);
    if (!n || !equals || path_exists(item)) return -1;
    char wanted[256];
    snprintf(wanted, sizeof wanted, "%.*s", (int)(equals - item), item);
    const char *near = nearest_name(wanted, n, input_name, onnx);
    char all[1024] = "";
    for (int i = 0, at = 0; i < n && at < (int)sizeof all; i++)
        at += snprintf(all + at, sizeof all - (size_t)at, "%s%s", i ? ", " : "", wick_onnx_input(onnx, i).name);
    log_fail(CLI_USAGE,
             near ? "--input: the model has no input \"%s\"; did you mean %s?"
                  : "--input: the model has no input \"%s\"; it has %s",
             wanted, near ? near : all);
    return -1;
}

/* Of "NAME=...": whether a default of the model is called so. */
static int find_default(const wick_onnx *onnx, const char *item) {
    for (const char *e = strchr(item, '='); e; e = strchr(e + 1, '='))
        for (int i = 0; i < wick_onnx_defaults(onnx); i++) {
            const char *name = wick_onnx_default_at(onnx, i).name;
            if (strlen(name) == (size_t)(e - item) && memcmp(name, item, strlen(name)) == 0) return i;
        }
    return -1;
}

int feeds_open_defaults(const cli_options *o, wick_context *ctx, wick_onnx *onnx) {
    for (int i = 0; i < o->inputs.n + o->of_run.states.n; i++) {
        const int at =
            find_default(onnx, i < o->inputs.n ? o->inputs.items[i] : o->of_run.states.items[i - o->inputs.n]);
        const wick_status status = at < 0 ? WICK_OK : wick_onnx_open_default(onnx, at);
        if (status != WICK_OK) return feed_failed(ctx, status);
    }
    return CLI_OK;
}

/* What kind of thing it is, for options that are for some kinds only. */
static unsigned has_of(const char *what) {
    if (is_random(what)) return FEED_CHANCE;
    if (is_number(what)) return 0;
    const file_kind *kind = kind_of(what);
    return !kind ? 0 : kind->as & AS_PICTURE ? FEED_PICTURE : kind->as & AS_RECORDING ? FEED_RECORDING : 0;
}

int feeds_list(const cli_options *o, wick_onnx *onnx, feed *feeds, unsigned *has) {
    *has = 0;
    for (int i = 0; i < o->inputs.n; i++) {
        const char *what = o->inputs.items[i];
        if (strcmp(what, "random") == 0) {
            *has |= FEED_CHANCE | FEED_OTHERS;
            continue;
        }
        const int at = find_input(onnx, what, &what);
        if (at < 0) return CLI_USAGE;
        if (!*what)
            return log_fail(CLI_USAGE, "--input %s needs a file, a number or random behind the =", o->inputs.items[i]);
        if (!add_file(&feeds[at], what)) return log_fail(CLI_FAILED, "out of memory");
        *has |= has_of(what);
    }
    return CLI_OK;
}

bool feed_is_shapeless(const feed *f) {
    return f->steps == 1 && f->files && (strcmp(f->files[0], "random") == 0 || is_number(f->files[0]));
}

int feeds_open(const cli_options *o, wick_context *ctx, wick_onnx *onnx, feed *feeds, bool shapeless) {
    int code = CLI_OK;
    for (int i = 0; i < wick_onnx_inputs(onnx) && code == CLI_OK; i++) {
        /* several are read one at a time, each at its step */
        if (feeds[i].steps != 1 || !feeds[i].files || feed_is_shapeless(&feeds[i]) != shapeless) continue;
        const wick_onnx_port port = wick_onnx_input(onnx, i);
        feed one;
        wick_status status = feed_open(o, ctx, onnx, &port, feeds[i].files[0], &one);
        if (status == WICK_OK) status = fit(o, ctx, &port, feeds[i].files[0], one.stacked, &one.value);
        if (status != WICK_OK) code = feed_failed(ctx, status);
        feed_free(&feeds[i]);
        feeds[i] = one;
    }
    return code;
}
