/* ops_host.c: strings, sequences and optionals, which live on the host. */
#define WICK_NO_SITES
#include <stdio.h>
#include <stdlib.h>

#include "io/onnx/onnx.h"
#include "io/onnx/import/regex.h"
#include "wick/data.h"
#include "wick/shape.h"

/* ---- casts ------------------------------------------------------------------------------------------------------- */

enum { PRINT_WORK = 256 }; /* of a number printed or read, as a watch counts */

bool wick_onnx_parse(const wick_text *s, double *out) {
    char text[64], *end;
    if (!s->size || s->size >= sizeof text) return false;
    memcpy(text, s->at, s->size);
    text[s->size] = 0;
    *out = strtod(text, &end);
    return !*end;
}

static void from_text(onnx_call *c, const wick_onnx_value *v, wick_dtype dtype) {
    const bool whole = dtype == WICK_I64 || dtype == WICK_U64;
    double *numbers = wick_onnx_alloc(c, v->n, sizeof *numbers);
    int64_t *integers = numbers ? wick_onnx_alloc(c, v->n, sizeof *integers) : NULL;
    if (!integers) return;
    for (size_t i = 0; i < v->n; i++) {
        if (!wick_onnx_spend(c, PRINT_WORK)) return;
        if (!wick_onnx_parse(&v->texts[i], &numbers[i])) {
            wick_onnx_fail(c, WICK_ERR_INVALID, "text %zu is no number: \"%.*s\"", i,
                           (int)WICK_MIN(v->texts[i].size, (size_t)60), v->texts[i].at);
            return;
        }
        char text[64] = {0};
        memcpy(text, v->texts[i].at, v->texts[i].size);
        integers[i] = whole ? (int64_t)strtoll(text, NULL, 10) : 0;
    }
    wick_onnx_set(c, 0,
                  wick_cast(wick_from(c->ctx, whole ? WICK_I64 : WICK_F64, v->rank, v->dims,
                                      whole ? (void *)integers : (void *)numbers),
                            dtype));
}

/* Shortest text that reads back the same, as NumPy prints it. */
void wick_onnx_print(double x, wick_dtype dtype, char text[32]) {
    const bool single = dtype != WICK_F64;
    if (!wick_dtype_is_float(dtype)) {
        snprintf(text, 32, "%.0f", x);
        return;
    }
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(text, 32, "%.*g", digits, x);
        if (single ? strtof(text, NULL) == (float)x : strtod(text, NULL) == x) break;
    }
    if (x == x && x - x == 0 && !strpbrk(text, ".e")) strcat(text, ".0");
    if (x != x) strcpy(text, "NaN");
    else if (x - x != 0) strcpy(text, x > 0 ? "INF" : "-INF");
}

void wick_onnx_cast_text(onnx_call *c, int64_t type) {
    const onnx_value *v = wick_onnx_in(c, 0);
    wick_dtype dtype;
    if (!v) return;
    if (v->v.kind == WICK_VALUE_STRINGS) {
        if (type == ONNX_STRING) wick_onnx_set_value(c, 0, v->v, v->dynamic);
        else if (wick_onnx_dtype(type, &dtype)) from_text(c, &v->v, dtype);
        else wick_onnx_fail(c, WICK_ERR_UNSUPPORTED, "from text to %s", wick_onnx_type_name(type));
        return;
    }
    onnx_host h;
    wick_tensor *x = wick_onnx_tensor(c, 0);
    if (!x || !wick_onnx_host(c, 0, &h)) return;
    const wick_dtype from = wick_tensor_dtype(x);
    const bool whole = !wick_onnx_is_float(x);
    wick_text *texts = wick_onnx_alloc(c, (size_t)h.n, sizeof *texts);
    for (int64_t i = 0; i < h.n && texts; i++) {
        char *text = wick_onnx_alloc(c, 32, 1);
        if (!text || !wick_onnx_spend(c, PRINT_WORK)) return;
        if (whole) snprintf(text, 32, "%lld", (long long)h.ints[i]);
        else wick_onnx_print(h.floats[i], from, text);
        texts[i] = (wick_text){text, strlen(text)};
    }
    wick_onnx_value y = {.kind = WICK_VALUE_STRINGS, .rank = h.rank, .n = (size_t)h.n, .texts = texts};
    memcpy(y.dims, h.dims, sizeof y.dims);
    if (texts) wick_onnx_set_value(c, 0, y, c->dynamic);
}

/* ---- sequences --------------------------------------------------------------------------------------------------- */

static const wick_onnx_value *sequence(onnx_call *c, int i) {
    const onnx_value *v = wick_onnx_in(c, i);
    if (v && v->v.kind == WICK_VALUE_SEQUENCE) return &v->v;
    if (v) wick_onnx_fail(c, WICK_ERR_FORMAT, "input %d is no sequence", i);
    return NULL;
}

static void set_sequence(onnx_call *c, size_t n, wick_onnx_value *items) {
    wick_onnx_set_value(c, 0, (wick_onnx_value){.kind = WICK_VALUE_SEQUENCE, .n = n, .items = items}, c->dynamic);
}

/* The place that input i names in a sequence of n, or n where the input is not there; -1: the call failed. */
static int64_t place(onnx_call *c, int i, size_t n, bool insert, int64_t otherwise) {
    onnx_host h;
    if (!wick_onnx_has(c, i)) return otherwise;
    if (!wick_onnx_host(c, i, &h)) return -1;
    const int64_t at = h.n != 1 ? INT64_MAX : h.ints[0] < 0 ? h.ints[0] + (int64_t)n : h.ints[0];
    if (at >= 0 && at < (int64_t)n + insert) return at;
    wick_onnx_fail(c, WICK_ERR_INDEX, "place %lld of a sequence of %zu", h.n == 1 ? (long long)h.ints[0] : 0LL, n);
    return -1;
}

static void sequence_empty(onnx_call *c) { set_sequence(c, 0, NULL); }
static void sequence_construct(onnx_call *c) {
    wick_onnx_value *items = wick_onnx_alloc(c, (size_t)c->n_in, sizeof *items);
    for (int i = 0; i < c->n_in && items; i++) {
        const onnx_value *v = wick_onnx_in(c, i);
        if (!v) return;
        items[i] = v->v;
    }
    if (items) set_sequence(c, (size_t)c->n_in, items);
}
static void sequence_at(onnx_call *c) {
    const wick_onnx_value *s = sequence(c, 0);
    const int64_t at = s ? place(c, 1, s->n, false, -1) : -1;
    if (at >= 0) wick_onnx_set_value(c, 0, s->items[at], c->in[0]->dynamic);
}
static void sequence_insert(onnx_call *c) {
    const wick_onnx_value *s = sequence(c, 0);
    const onnx_value *v = s ? wick_onnx_in(c, 1) : NULL;
    const int64_t at = v ? place(c, 2, s->n, true, (int64_t)s->n) : -1;
    wick_onnx_value *items = at >= 0 ? wick_onnx_alloc(c, s->n + 1, sizeof *items) : NULL;
    if (!items) return;
    for (size_t i = 0; i < s->n; i++) items[i + (i >= (size_t)at)] = s->items[i];
    items[at] = v->v;
    set_sequence(c, s->n + 1, items);
}
static void sequence_erase(onnx_call *c) {
    const wick_onnx_value *s = sequence(c, 0);
    const int64_t at = s ? place(c, 1, s->n, false, (int64_t)s->n - 1) : -1;
    wick_onnx_value *items = at >= 0 ? wick_onnx_alloc(c, s->n, sizeof *items) : NULL;
    if (!items) return;
    for (size_t i = 0, k = 0; i < s->n; i++)
        if (i != (size_t)at) items[k++] = s->items[i];
    set_sequence(c, s->n - 1, items);
}
static void sequence_length(onnx_call *c) {
    const wick_onnx_value *s = sequence(c, 0);
    if (s) wick_onnx_set_static(c, 0, wick_from(c->ctx, WICK_I64, WICK_SCALAR, &(int64_t){(int64_t)s->n}));
}
static void concat_from_sequence(onnx_call *c) {
    const wick_onnx_value *s = sequence(c, 0);
    wick_tensor **xs = s ? wick_onnx_alloc(c, s->n, sizeof(wick_tensor *)) : NULL;
    if (!xs) return;
    for (size_t i = 0; i < s->n; i++)
        if (s->items[i].kind != WICK_VALUE_TENSOR || !(xs[i] = s->items[i].tensor)) {
            wick_onnx_fail(c, WICK_ERR_FORMAT, "item %zu is no tensor of numbers", i);
            return;
        }
    const bool fresh = wick_onnx_int(c, "new_axis", 0);
    int axis;
    if (!s->n) wick_onnx_fail(c, WICK_ERR_SHAPE, "the sequence is empty");
    else if (wick_onnx_axis(c, wick_onnx_int(c, "axis", 0), wick_tensor_rank(xs[0]) + fresh, &axis))
        wick_onnx_set(c, 0, fresh ? wick_stack((int)s->n, xs, axis) : wick_concat((int)s->n, xs, axis));
}
static void split_to_sequence(onnx_call *c) {
    wick_tensor *x = wick_onnx_tensor(c, 0);
    onnx_host h = {0};
    int axis;
    if (!x || !wick_onnx_axis(c, wick_onnx_int(c, "axis", 0), wick_tensor_rank(x), &axis) ||
        (wick_onnx_has(c, 1) && !wick_onnx_host(c, 1, &h)))
        return;
    const bool given = wick_onnx_has(c, 1), vector = given && h.rank == 1;
    const int64_t extent = wick_tensor_dim(x, axis), each = given && !vector ? h.ints[0] : 1;
    if (given && !vector && each <= 0) {
        wick_onnx_fail(c, WICK_ERR_SHAPE, "parts of %lld places", (long long)each);
        return;
    }
    const int64_t n = vector ? h.n : (extent + each - 1) / each;
    wick_onnx_value *items = wick_onnx_alloc(c, (size_t)n, sizeof *items);
    int64_t at = 0;
    for (int64_t i = 0; i < n && items; i++) {
        const int64_t len = vector ? h.ints[i] : WICK_MIN(each, extent - at);
        if (len < 0 || len > extent - at) {
            wick_onnx_fail(c, WICK_ERR_SHAPE, "part %lld of %lld places does not fit an axis of %lld", (long long)i,
                           (long long)len, (long long)extent);
            return;
        }
        wick_tensor *part = wick_slice(x, axis, at, at + len, 1);
        if (!given && !wick_onnx_int(c, "keepdims", 1)) part = wick_squeeze(part, axis);
        items[i] = (wick_onnx_value){.kind = WICK_VALUE_TENSOR, .tensor = part};
        at += len;
    }
    if (items) set_sequence(c, (size_t)n, items);
}

/* ---- optionals --------------------------------------------------------------------------------------------------- */

static void optional(onnx_call *c) {
    if (wick_onnx_has(c, 0)) wick_onnx_set_value(c, 0, c->in[0]->v, c->in[0]->dynamic);
}
static void optional_get(onnx_call *c) {
    if (wick_onnx_has(c, 0)) wick_onnx_set_value(c, 0, c->in[0]->v, c->in[0]->dynamic);
    else wick_onnx_fail(c, WICK_ERR_INVALID, "the optional is empty");
}
static void optional_has(onnx_call *c) {
    wick_onnx_set_static(c, 0, wick_from(c->ctx, WICK_BOOL, WICK_SCALAR, &(bool){wick_onnx_has(c, 0)}));
}

/* ---- texts ------------------------------------------------------------------------------------------------------- */

static const wick_onnx_value *texts(onnx_call *c, int i) {
    const onnx_value *v = wick_onnx_in(c, i);
    if (v && v->v.kind == WICK_VALUE_STRINGS) return &v->v;
    if (v) wick_onnx_fail(c, WICK_ERR_FORMAT, "input %d is no tensor of strings", i);
    return NULL;
}

static void string_concat(onnx_call *c) {
    const wick_onnx_value *a = texts(c, 0), *b = a ? texts(c, 1) : NULL;
    if (!b) return;
    wick_onnx_value y = {.kind = WICK_VALUE_STRINGS, .rank = WICK_MAX(a->rank, b->rank), .n = 1};
    int64_t step[2][WICK_MAX_DIMS] = {{0}}, run[2] = {1, 1};
    const wick_onnx_value *v[2] = {a, b};
    for (int i = y.rank - 1; i >= 0; i--) {
        int64_t dims[2];
        for (int k = 0; k < 2; k++) {
            const int own = i - (y.rank - v[k]->rank);
            dims[k] = own < 0 ? 1 : v[k]->dims[own];
            step[k][i] = dims[k] == 1 ? 0 : run[k];
            run[k] *= dims[k];
        }
        if (dims[0] != dims[1] && dims[0] != 1 && dims[1] != 1) {
            wick_onnx_fail(c, WICK_ERR_SHAPE, "shapes do not broadcast");
            return;
        }
        y.dims[i] = dims[0] == 1 ? dims[1] : dims[0];
        if (wick_mul_overflows(y.n, (size_t)y.dims[i], &y.n)) y.n = SIZE_MAX / 64;
    }
    wick_text *out = wick_onnx_alloc(c, y.n, sizeof *out);
    for (size_t i = 0; i < y.n && out; i++) {
        if (!wick_onnx_spend(c, 16)) return;
        int64_t at[2] = {0, 0};
        size_t rest = i;
        for (int d = y.rank - 1; d >= 0; d--) {
            for (int k = 0; k < 2; k++) at[k] += (int64_t)(rest % (size_t)y.dims[d]) * step[k][d];
            rest /= (size_t)y.dims[d];
        }
        const wick_text *s = &a->texts[at[0]], *t = &b->texts[at[1]];
        char *text = wick_onnx_alloc(c, s->size + t->size, 1);
        if (!text) return;
        memcpy(text, s->at, s->size);
        memcpy(text + s->size, t->at, t->size);
        out[i] = (wick_text){text, s->size + t->size};
    }
    y.texts = out;
    if (out) wick_onnx_set_value(c, 0, y, c->dynamic);
}

static bool is_space(char ch) { return ch == ' ' || (ch >= '\t' && ch <= '\r'); }

/* Parts of s between separators, or "": between white space. n parts at most, the last with the rest; 0: any number.
 * Counts where out is NULL. */
static size_t split_text(wick_text s, wick_bytes by, size_t most, wick_text *out) {
    size_t n = 0, at = 0;
    if (!by.size) {
        for (;;) {
            while (at < s.size && is_space(s.at[at])) at++;
            if (at == s.size) return n;
            size_t end = at;
            if (most && n + 1 == most) end = s.size;
            while (end < s.size && !is_space(s.at[end])) end++;
            if (most && n + 1 == most)
                while (end > at && is_space(s.at[end - 1])) end--;
            if (out) out[n] = (wick_text){s.at + at, end - at};
            n++;
            at = end;
        }
    }
    for (;;) {
        size_t end = at;
        const bool rest = most && n + 1 == most;
        const char *found = rest || at == s.size ? NULL : memmem(s.at + at, s.size - at, by.at, by.size);
        const bool last = !found;
        if (found) end = (size_t)(found - s.at);
        if (last) end = s.size;
        if (out) out[n] = (wick_text){s.at + at, end - at};
        n++;
        if (last) return n;
        at = end + by.size;
    }
}

static void string_split(onnx_call *c) {
    const wick_onnx_value *x = texts(c, 0);
    if (!x) return;
    const wick_bytes by = wick_onnx_text(c, "delimiter", "");
    const int64_t maxsplit = wick_onnx_int(c, "maxsplit", -1);
    const size_t most = maxsplit < 0 ? 0 : (size_t)maxsplit + 1;
    size_t widest = 0;
    int64_t *counts = wick_onnx_alloc(c, x->n, sizeof *counts);
    for (size_t i = 0; i < x->n && counts; i++) {
        if (!wick_onnx_spend(c, 8 + x->texts[i].size)) return;
        counts[i] = (int64_t)split_text(x->texts[i], by, most, NULL);
        widest = WICK_MAX(widest, (size_t)counts[i]);
    }
    wick_text *out = counts ? wick_onnx_alloc(c, x->n * widest, sizeof *out) : NULL;
    if (!out) return;
    for (size_t i = 0; i < x->n * widest; i++) out[i].at = "";
    for (size_t i = 0; i < x->n; i++) split_text(x->texts[i], by, most, out + i * widest);
    wick_onnx_value y = {.kind = WICK_VALUE_STRINGS, .rank = x->rank + 1, .n = x->n * widest, .texts = out};
    if (x->rank == WICK_MAX_DIMS) {
        wick_onnx_fail(c, WICK_ERR_UNSUPPORTED, "more than %d dims", WICK_MAX_DIMS);
        return;
    }
    memcpy(y.dims, x->dims, sizeof y.dims);
    y.dims[x->rank] = (int64_t)widest;
    wick_onnx_set_value(c, 0, y, c->dynamic);
    wick_onnx_set(c, 1, wick_from(c->ctx, WICK_I64, x->rank, x->dims, counts));
}

static bool same_text(onnx_call *c, wick_text a, wick_bytes b, bool fold) {
    if (a.size != b.size || !wick_onnx_spend(c, a.size)) return false;
    for (size_t i = 0; i < a.size; i++) {
        char x = a.at[i], y = b.at[i];
        if (fold && x >= 'A' && x <= 'Z') x |= 32;
        if (fold && y >= 'A' && y <= 'Z') y |= 32;
        if (x != y) return false;
    }
    return true;
}

/* Stop words removed and letters changed; ASCII letters only. */
static void string_normalizer(onnx_call *c) {
    const wick_onnx_value *x = texts(c, 0);
    if (!x) return;
    const wick_bytes change = wick_onnx_text(c, "case_change_action", "NONE");
    const bool lower = wick_bytes_are(change, "LOWER"), upper = wick_bytes_are(change, "UPPER"),
               fold = !wick_onnx_int(c, "is_case_sensitive", 0);
    const onnx_attr *stop = wick_onnx_attr(c, "stopwords");
    wick_text *out = wick_onnx_alloc(c, x->n + 1, sizeof *out);
    size_t n = 0;
    for (size_t i = 0; i < x->n && out; i++) {
        bool dropped = false;
        if (!wick_onnx_spend(c, 8 + (stop ? stop->strings.n : 0))) return;
        for (size_t k = 0; stop && k < stop->strings.n; k++)
            dropped |= same_text(c, x->texts[i], stop->strings.at[k], fold);
        if (dropped) continue;
        char *text = wick_onnx_alloc(c, x->texts[i].size, 1);
        if (!text) return;
        for (size_t k = 0; k < x->texts[i].size; k++) {
            const char ch = x->texts[i].at[k];
            text[k] = lower && ch >= 'A' && ch <= 'Z'   ? (char)(ch | 32)
                      : upper && ch >= 'a' && ch <= 'z' ? (char)(ch & ~32)
                                                        : ch;
        }
        out[n++] = (wick_text){text, x->texts[i].size};
    }
    if (!out) return;
    if (x->rank > 2 || (x->rank == 2 && x->dims[0] != 1)) {
        wick_onnx_fail(c, WICK_ERR_SHAPE, "texts must be [C] or [1, C]");
        return;
    }
    if (!n) out[n++] = (wick_text){"", 0}; /* nothing left is one empty text */
    wick_onnx_value y = {.kind = WICK_VALUE_STRINGS, .rank = x->rank, .n = n, .texts = out, .dims = {1}};
    if (x->rank) y.dims[x->rank - 1] = (int64_t)n;
    wick_onnx_set_value(c, 0, y, c->dynamic);
}

/* Whether the whole of each text matches. Steps are texts' bytes times the expression's size: what takes long ends at
 * the limit of time. */
static void regex_full_match(onnx_call *c) {
    const wick_onnx_value *x = texts(c, 0);
    const wick_bytes pattern = wick_onnx_text(c, "pattern", "");
    wick_msg msg = {0};
    wick_regex *regex;
    if (!x || c->status != WICK_OK) return;
    bool *out = wick_onnx_alloc(c, x->n, 1);
    if (!out) return;
    const wick_status status = wick_regex_new(pattern.at ? pattern.at : "", pattern.size, &regex, &msg);
    if (status != WICK_OK) {
        wick_onnx_fail(c, status, "%s", msg.text);
        return;
    }
    bool good = true;
    for (size_t i = 0; i < x->n && (good = wick_onnx_spend(c, wick_regex_size(regex))); i++)
        out[i] = wick_regex_full_match(regex, x->texts[i].at, x->texts[i].size, &c->ctx->watch);
    good = good && wick_onnx_spend(c, 0);
    wick_regex_free(&regex);
    if (good) wick_onnx_set(c, 0, wick_from(c->ctx, WICK_BOOL, x->rank, x->dims, out));
}

/* Encoded pictures that are known when the graph is recorded: [height, width, channels], as they are stored: the text
 * knows no EXIF. */
static void image_decoder(onnx_call *c) {
    wick_tensor *x = wick_onnx_tensor(c, 0);
    onnx_host h;
    if (!x || !wick_onnx_host(c, 0, &h)) return;
    const wick_bytes format = wick_onnx_text(c, "pixel_format", "RGB");
    const bool grey = wick_bytes_are(format, "Grayscale"), bgr = wick_bytes_are(format, "BGR");
    uint8_t *bytes = wick_onnx_alloc(c, (size_t)h.n, 1);
    wick_image *image;
    for (int64_t i = 0; i < h.n && bytes; i++) bytes[i] = (uint8_t)h.ints[i];
    if (!bytes) return;
    const wick_pictures was = c->ctx->options.pictures;
    c->ctx->options.pictures.as_stored = true;
    const wick_status status = wick_image_decode(c->ctx, bytes, (size_t)h.n, NULL, grey ? 1 : 3, &image);
    c->ctx->options.pictures = was;
    if (status != WICK_OK) {
        wick_onnx_fail(
            c, wick_context_status(c->ctx) == WICK_ERR_FORMAT ? WICK_ERR_UNSUPPORTED : wick_context_status(c->ctx),
            "%s", wick_context_error(c->ctx));
        return;
    }
    wick_tensor *y = wick_from(c->ctx, WICK_U8, 3, wick_image_dims(image), wick_image_pixels(image, 0));
    wick_image_free(&image);
    if (bgr) y = wick_flip(y, 1, &(int){0});
    wick_onnx_set(c, 0, wick_move_axis(y, 0, 2));
}

static const onnx_op ops[] = {
    {"RegexFullMatch", 20, 0, regex_full_match, {0}},
    {"ImageDecoder", 20, 0, image_decoder, {0}},           {"SequenceEmpty", 11, 0, sequence_empty, {0}},
    {"SequenceConstruct", 11, 0, sequence_construct, {0}}, {"SequenceAt", 11, 0, sequence_at, {0}},
    {"SequenceInsert", 11, 0, sequence_insert, {0}},       {"SequenceErase", 11, 0, sequence_erase, {0}},
    {"SequenceLength", 11, 0, sequence_length, {0}},       {"ConcatFromSequence", 11, 0, concat_from_sequence, {0}},
    {"SplitToSequence", 11, 0, split_to_sequence, {0}},    {"Optional", 15, 0, optional, {0}},
    {"OptionalGetElement", 15, 0, optional_get, {0}},      {"OptionalHasElement", 15, 0, optional_has, {0}},
    {"StringConcat", 20, 0, string_concat, {0}},           {"StringSplit", 20, 0, string_split, {0}},
    {"StringNormalizer", 10, 0, string_normalizer, {0}},
};
const onnx_family wick_onnx_host_values = {"", ops, WICK_COUNTOF(ops)};
