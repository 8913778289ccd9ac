/* transform.c: lists of transforms, and those of pictures; signal.c has the others.
 *
 * All steps that move pixels are folded into one description:
 *
 *   a rectangle of the picture ──resized──► high x wide ──window──► out, mirrored, upturned
 *
 * Crops and mirrors, wherever they stand in the list, then cost nothing, and only pixels of the result are computed.
 * An affine map, changes of colours and a blur follow, where they are asked for. */
#include "data/loader/transform.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "data/sets/dataset.h"
#include "data/loader/mix.h"
#include "data/loader/signal.h"
#include "kernels/pixels/pixels.h"

enum {
    MOST_STEPS = WICK_TRANSFORM_STEPS,
    MOST_CHANNELS = 4,
    MOST_SIDE = WICK_TRANSFORM_SIDE,
    BLOCK = 1024,
    TRIES = 10,
    MOST_BLUR = 99
};

typedef enum kind {
    CROP,
    CUT,
    CENTER,
    FLIP,
    VFLIP,
    RESIZE,
    RESIZED_CROP,
    AFFINE,
    JITTER,
    GREY,
    BLUR,
    NORMALISE,
    ERASE,
    KINDS
} kind;

static const wick_transform_form kinds[KINDS] = {
    [CROP] = {"crop", false, 1, 1},
    [CUT] = {"cut", true, 0, 0},
    [CENTER] = {"center", true, 0, 0},
    [FLIP] = {"flip", false, 0, 1},
    [VFLIP] = {"vflip", false, 0, 1},
    [RESIZE] = {"resize", true, 0, 0},
    [RESIZED_CROP] = {"resizedcrop", true, 0, 2},
    [AFFINE] = {"affine", false, 1, 5},
    [JITTER] = {"jitter", false, 1, 4},
    [BLUR] = {"blur", false, 1, 3},
    [GREY] = {"grey", false, 0, 1},
    [NORMALISE] = {"normalise", false, 0, 8},
    [ERASE] = {"erase", false, 0, 1},
};

typedef wick_transform_step step;

struct wick_transform {
    wick_allocator alloc;
    wick_mixing mixing;
    wick_signal *signal; /* NULL: pictures, of which the rest is */
    bool still;
    int n;
    step steps[MOST_STEPS];
    wick_spec in, out;
    int64_t channels, height, width; /* of the input; of the output: */
    int64_t out_height, out_width;
    bool resizes, warps, blurs;
    bool later; /* pixels are from 0 to 1 first, and normalised behind colours and blur */
    double mean[MOST_CHANNELS], deviation[MOST_CHANNELS];
    wick_pixel_map maps[MOST_CHANNELS]; /* of bytes to what is next: colours from 0 to 1, or the end */
    int64_t taps_high, taps_wide;       /* the most of a resize */
    int64_t reach;                      /* of a blur, to each side */
    size_t warp_at, blur_at, scratch;   /* places in the scratch, and its size */
};

void wick_sample_words(uint64_t seed, uint64_t epoch, int64_t sample, uint32_t block, uint32_t word[4]) {
    const uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    const uint32_t counter[4] = {(uint32_t)sample, (1u << 31) + block, (uint32_t)epoch, (uint32_t)(epoch >> 32)};
    wick_philox(counter, key, word);
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static bool read_size(const char **at, int64_t *height, int64_t *width) {
    char *end;
    if (**at < '0' || **at > '9') return false;
    *height = *width = strtoll(*at, &end, 10);
    if (*end == 'x' && end[1] >= '0' && end[1] <= '9') *width = strtoll(end + 1, &end, 10);
    *at = end;
    return *height >= 1 && *width >= 1 && *height <= MOST_SIDE && *width <= MOST_SIDE;
}

bool wick_transform_read(const char **at, const wick_transform_form *forms, int n, int listed, wick_transform_step *s) {
    *at += strspn(*at, " "); /* "crop=4, flip" */
    const size_t length = strcspn(*at, "=,");
    *s = (step){.kind = n};
    for (int k = 0; k < n; k++)
        if (strlen(forms[k].name) == length && memcmp(forms[k].name, *at, length) == 0) s->kind = k;
    if (s->kind == n) return false;
    *at += length;
    bool more = **at == '=';
    if (more) ++*at;
    if (forms[s->kind].sized) {
        if (!more || !read_size(at, &s->height, &s->width)) return false;
        more = **at == ':';
        if (more) ++*at;
    }
    while (more) {
        char *end;
        /* strtod would pass over blanks */
        if (s->n == WICK_TRANSFORM_NUMBERS || strchr(" \t\n+,:/", **at)) return false;
        const double value = strtod(*at, &end);
        if (end == *at || !isfinite(value)) return false;
        s->number[s->n++] = value;
        *at = end;
        more = **at == ':' || (s->kind == listed && **at == '/' && !s->height && s->n <= WICK_TRANSFORM_NUMBERS / 2);
        if (**at == '/') s->height = s->n; /* as many means */
        if (more) ++*at;
    }
    return (!**at || **at == ',') && s->n >= forms[s->kind].least && s->n <= forms[s->kind].most;
}

wick_status wick_transform_wrong(wick_context *ctx, const char *text, const char *at, const char *why) {
    return wick_context_fail(ctx, WICK_ERR_INVALID, "transform: \"%.200s\", column %d: %s", text, (int)(at - text) + 1,
                             why);
}

/* Numbers that make no sense for a step. */
static const char *check_numbers(const step *s, int64_t channels) {
    const double *x = s->number;
    switch ((kind)s->kind) {
    case CROP:
        return x[0] >= 1 && x[0] <= MOST_SIDE && x[0] == floor(x[0]) ? NULL
                                                                     : "crop is a whole number of pixels, from 1";
    case FLIP:
    case VFLIP:
    case GREY:
    case ERASE:
        return !s->n || (x[0] >= 0 && x[0] <= 1) ? NULL : "a probability is from 0 to 1";
    case RESIZED_CROP:
        return !s->n || (s->n == 2 && x[0] > 0 && x[0] <= x[1] && x[1] <= 1)
                   ? NULL
                   : "resizedcrop takes a part of LOW:HIGH of the area, above 0, up to 1";
    case AFFINE:
        if (x[0] < 0 || x[0] > 180 || x[1] < 0 || x[1] > 1 || x[4] < 0 || x[4] >= 90)
            return "affine turns by up to 180 degrees, moves by up to 1 of the size, and shears by less than 90";
        return s->n < 3 || (s->n != 3 && x[2] > 0 && x[2] <= x[3] && x[3] <= 100)
                   ? NULL
                   : "affine scales from LOW:HIGH, above 0, up to 100";
    case BLUR:
        if (!(x[0] >= 3 && x[0] <= MOST_BLUR && fmod(x[0], 2) == 1))
            return "blur is over an odd number of pixels, 3 to 99";
        return s->n == 1 || (s->n == 3 && x[1] > 0 && x[1] <= x[2])
                   ? NULL
                   : "blur has a deviation from LOW:HIGH pixels, above 0";
    case JITTER:
        for (int i = 0; i < s->n; i++)
            if (x[i] < 0 || (i == 3 && x[i] > 0.5)) return "jitter takes numbers from 0, of hue up to 0.5";
        return NULL;
    case NORMALISE:
        if (s->n && (s->n != 2 * s->height || (s->height != 1 && s->height != channels)))
            return "normalise takes means/deviations, one of each or one a channel: 0.5:0.5:0.5/0.2:0.2:0.2";
        for (int i = (int)s->height; i < s->n; i++)
            if (!(x[i] > 0)) return "a deviation is above 0";
        return NULL;
    default: return NULL;
    }
}

/* Without chance: what may or may not be done is not, but where it always is. Random places are the middle
 * (find_place). */
static bool is_left_out(const wick_transform *t, const step *s) {
    switch ((kind)s->kind) {
    case FLIP: case VFLIP: case GREY: return t->still && !(s->n && s->number[0] == 1);
    case CROP: case AFFINE: case JITTER: case BLUR: case ERASE: return t->still;
    default: return false;
    }
}

typedef struct shape {
    int64_t height, width;
    bool placed, resized, flipped, upturned, normalised, erased, padded, warped, coloured, blurred;
} shape;

/* What a step makes of the picture's size, and whether it may stand here. */
static const char *fold_shape(wick_transform *t, const step *s, shape *h) {
    if (h->erased) return "erase comes last";
    if (h->normalised && s->kind != ERASE) return "normalise comes last but erase";
    if (h->blurred && s->kind < NORMALISE)
        return s->kind == BLUR ? "blurs twice" : "blur comes behind what moves pixels or changes colours";
    if (h->warped && s->kind <= AFFINE)
        return s->kind == AFFINE ? "there is one affine" : "affine comes behind crops, mirrors and resizes";
    switch ((kind)s->kind) {
    case CROP:
        if (h->placed) return "there is one crop, cut or resizedcrop";
        h->placed = h->padded = true;
        return s->number[0] < (double)WICK_MIN(h->height, h->width) ? NULL : "crop pads by less than height and width";
    case CUT:
        if (h->placed) return "there is one crop, cut or resizedcrop";
        h->placed = true;
        __attribute__((fallthrough));
    case CENTER:
        if (s->height > h->height || s->width > h->width) return "cuts out more than there is";
        break;
    case FLIP: return h->flipped ? "flips twice" : (h->flipped = true, NULL);
    case VFLIP: return h->upturned ? "flips twice" : (h->upturned = true, NULL);
    case RESIZED_CROP:
        if (h->placed) return "there is one crop, cut or resizedcrop";
        h->placed = true;
        __attribute__((fallthrough));
    case RESIZE:
        if (h->resized) return "there is one resize";
        if (h->padded) return "crop comes after a resize";
        h->resized = true;
        t->taps_high = 2 * (h->height / s->height + 1) + 2;
        t->taps_wide = 2 * (h->width / s->width + 1) + 2;
        break;
    case JITTER: case GREY:
        if (t->channels != 3 && (s->kind == GREY || s->n > 2))
            return "saturation, hue and grey are for pictures of 3 channels";
        h->coloured = true;
        if (!is_left_out(t, s)) t->later = true;
        return NULL;
    case AFFINE:
        if (h->coloured) return "affine comes before colours are changed";
        h->warped = true;
        if (!t->still) t->warps = t->later = true;
        return NULL;
    case BLUR:
        if ((int64_t)s->number[0] / 2 >= WICK_MIN(h->height, h->width)) return "blur reaches over all of the picture";
        h->blurred = true;
        if (!t->still) t->blurs = t->later = true, t->reach = (int64_t)s->number[0] / 2;
        return NULL;
    case NORMALISE:
        h->normalised = true;
        for (int64_t c = 0; c < WICK_MIN(t->channels, MOST_CHANNELS) && s->n; c++) {
            t->mean[c] = s->number[s->height == 1 ? 0 : c];
            t->deviation[c] = s->number[s->height + (s->height == 1 ? 0 : c)];
        }
        return NULL;
    default: h->erased = true; return NULL;
    }
    h->height = s->height;
    h->width = s->width;
    return NULL;
}

/* What the loader does with a batch, not with a sample. */
static wick_status add_mixing(wick_context *ctx, wick_transform *t, const char *text, const char *tail, bool still) {
    const char *at = tail, *why = *tail ? wick_mixing_read(tail, &t->mixing, &at) : NULL;
    if (!why && wick_field_varies(&t->out) && *tail)
        why = "mixes signals of one length: fit=N or window=N comes before";
    if (!why && t->signal && t->mixing.alpha[WICK_CUTMIX] > 0) why = "cutmix is for pictures";
    if (still) t->mixing = (wick_mixing){0};
    return why ? wick_transform_wrong(ctx, text, at, why) : WICK_OK;
}

static wick_status of_signals(wick_context *ctx, const char *text, const wick_transform_options *options,
                              const wick_spec *in, wick_transform **out) {
    wick_transform *t = wick_calloc(&ctx->alloc, sizeof *t);
    if (!t) return wick_context_fail(ctx, WICK_ERR_NOMEM, "transform: out of memory");
    t->alloc = ctx->alloc;
    t->in = *in;
    const wick_status status = wick_signal_new(ctx, text, options, in, &t->out, &t->signal);
    if (status == WICK_OK) *out = t;
    else wick_transform_free(&t);
    return status;
}

static wick_status of_samples(wick_context *ctx, const char *text, const wick_transform_options *options,
                              const wick_spec *in, wick_transform **out) {
    if (!in) return wick_context_fail(ctx, WICK_ERR_INVALID, "transform: no samples");
    const double mean = options ? options->mean : 0,
                 deviation = options && options->deviation != 0 ? options->deviation : 1;
    if (options && !(isfinite(options->rate) && options->rate >= 0))
        return wick_context_fail(ctx, WICK_ERR_INVALID, "transform: recordings of %g samples a second", options->rate);
    if (!(deviation > 0) || !isfinite(mean) || !isfinite(deviation))
        return wick_context_fail(ctx, WICK_ERR_INVALID, "transform: mean %g and deviation %g cannot normalise", mean,
                                 deviation);
    if (in->dtype == WICK_F32) return of_signals(ctx, text, options, in, out);
    const int rank = in->rank;
    if (in->dtype != WICK_U8 || rank < 2 || rank > 3 || in->dims[rank - 1] < 1 || in->dims[rank - 2] < 1 ||
        in->dims[0] < 1 || (rank == 3 && in->dims[0] > MOST_CHANNELS) || in->dims[rank - 1] > MOST_SIDE ||
        in->dims[rank - 2] > MOST_SIDE)
        return wick_context_fail(ctx, WICK_ERR_INVALID,
                                 "transform: is for pictures, u8 [C, H, W] of at most %d channels, or [H, W], of sides "
                                 "up to %d, and for signals, f32; this is %s of %d dims",
                                 MOST_CHANNELS, MOST_SIDE, wick_dtype_name(in->dtype), rank);
    wick_transform *t = wick_calloc(&ctx->alloc, sizeof *t);
    if (!t) return wick_context_fail(ctx, WICK_ERR_NOMEM, "transform: out of memory");
    *t = (wick_transform){.alloc = ctx->alloc,
                          .still = options && options->still,
                          .in = *in,
                          .out = *in,
                          .channels = rank == 3 ? in->dims[0] : 1,
                          .height = in->dims[rank - 2],
                          .width = in->dims[rank - 1]};
    shape h = {.height = t->height, .width = t->width};
    const char *at = text, *why = NULL, *start = text;
    while (!why) {
        start = at;
        step *s = &t->steps[t->n];
        if (t->n == MOST_STEPS) why = "has more than 16 steps";
        else if (!wick_transform_read(&at, kinds, KINDS, NORMALISE, s))
            why = "none of crop=N, cut=HxW, center=HxW, flip, vflip, resize=HxW, resizedcrop=HxW, affine=DEGREES, "
                  "jitter=B:C:S:H, grey, blur=N, normalise, erase";
        else why = check_numbers(s, t->channels);
        if (!why && s->kind == NORMALISE)
            for (int c = 0; c < MOST_CHANNELS; c++) t->mean[c] = mean, t->deviation[c] = deviation;
        if (!why) why = fold_shape(t, s, &h);
        if (why || !is_left_out(t, s)) t->n++;
        if (!why && !*at) break;
        if (!why) at++;
    }
    if (why) {
        const wick_status status = wick_transform_wrong(ctx, text, start, why);
        wick_transform_free(&t);
        return status;
    }
    if (!h.normalised)
        for (int c = 0; c < MOST_CHANNELS; c++) t->deviation[c] = 1;
    for (int c = 0; c < MOST_CHANNELS; c++)
        wick_pixel_map_make(&t->maps[c], t->later ? 0 : t->mean[c], t->later ? 1 : t->deviation[c]);
    t->resizes = h.resized;
    t->out_height = h.height;
    t->out_width = h.width;
    t->out.dtype = WICK_F32;
    t->out.dims[rank - 2] = h.height;
    t->out.dims[rank - 1] = h.width;
    /* a mixed row; where columns begin; weights of rows and columns. Then what is warped, and for a blur a row and a
     * plane with what is mirrored at its edges. */
    const int64_t most_taps = WICK_MAX(t->taps_high, t->taps_wide), r = 2 * t->reach;
    if (t->resizes)
        t->scratch = (size_t)(t->width + most_taps + t->out_width + most_taps + 2 * t->out_width * t->taps_wide + 64) *
                     sizeof(float);
    t->warp_at = t->scratch = WICK_ALIGN_UP(t->scratch, WICK_ALIGN);
    if (t->warps)
        t->scratch += WICK_ALIGN_UP((size_t)(t->channels * t->out_height * t->out_width) * sizeof(float), WICK_ALIGN);
    t->blur_at = t->scratch;
    if (t->blurs) t->scratch += (size_t)(t->out_width + r + (t->out_height + r) * t->out_width) * sizeof(float);
    *out = t;
    return WICK_OK;
}

wick_status wick_transform_new(wick_context *ctx, const char *text, const wick_transform_options *options,
                               const wick_spec *in, wick_transform **out) {
    if (!out) return wick_context_fail(ctx, WICK_ERR_INVALID, "transform_new: out is NULL");
    *out = NULL;
    const size_t size = text ? strlen(text) + 1 : 0, mixes = text ? wick_mixing_find(text) : 0;
    if (!size || mixes + 1 == size)
        return size ? of_samples(ctx, text, options, in, out)
                    : wick_context_fail(ctx, WICK_ERR_INVALID, "transform: no text");
    char *own = wick_alloc(&ctx->alloc, size);
    if (!own) return wick_context_fail(ctx, WICK_ERR_NOMEM, "transform: out of memory");
    memcpy(own, text, size);
    if (mixes) own[mixes - 1] = 0;
    /* which changes nothing: pixels are from 0 to 1 without it */
    wick_status status = of_samples(ctx, mixes ? own : "normalise=0/1", options, in, out);
    if (status == WICK_OK) status = add_mixing(ctx, *out, text, text + mixes, options && options->still);
    if (status != WICK_OK) wick_transform_free(out);
    wick_release(&ctx->alloc, own, size);
    return status;
}

void wick_transform_free(wick_transform **transform) {
    wick_transform *t = transform ? *transform : NULL;
    if (!t) return;
    *transform = NULL;
    wick_allocator alloc = t->alloc;
    wick_signal_free(&t->signal);
    wick_release(&alloc, t, sizeof *t);
}

bool wick_transform_mixes(const wick_transform *t) { return wick_mixing_any(&t->mixing); }
wick_mix wick_transform_mix(const wick_transform *t, uint64_t seed, uint64_t epoch, int64_t sample) {
    const wick_draws d = {seed, epoch, sample};
    return wick_mixing_draw(&t->mixing, &d, t->out_height, t->out_width);
}
const wick_spec *wick_transform_output(const wick_transform *t) { return &t->out; }
const wick_spec *wick_transform_input(const wick_transform *t) { return &t->in; }
size_t wick_transform_scratch(const wick_transform *t, int64_t rows) {
    return t->signal ? wick_signal_scratch(t->signal, rows) : t->scratch;
}
int64_t wick_transform_rows(const wick_transform *t, int64_t rows) {
    return t->signal ? wick_signal_rows(t->signal, rows) : t->out.dims[0];
}

/* ---- where pixels come from -------------------------------------------------------------------------------------- */

typedef struct place {
    double top, left, high, wide;           /* of the picture; whole numbers */
    int64_t height, width;                  /* what it is resized to, if it is */
    int64_t out_top, out_left, out_height, out_width; /* the window */
    bool mirrored, upturned;
    /* output (x, y) of an affine map is what was at (w0 x + w1 y + w2, w3 x + w4 y + w5); pixel i reaches from i to i +
     * 1 */
    double warp[6];
} place;

typedef struct draws {
    wick_draws of;
    uint32_t place[4]; /* words of block 0: of crop and flip */
} draws;

static bool chance(uint32_t word, const step *s, double usual) {
    return word >= (1 - (s->n ? s->number[0] : usual)) * 0x1p32;
}

/* A window of the window, as it is seen, after mirroring. */
static void cut(place *p, int64_t top, int64_t left, int64_t height, int64_t width) {
    p->out_left += p->mirrored ? p->out_width - left - width : left;
    p->out_top += p->upturned ? p->out_height - top - height : top;
    p->out_height = height;
    p->out_width = width;
}

/* What is in the window now becomes the rectangle that is resized. */
static void resize(place *p, int64_t height, int64_t width) {
    p->top += (double)p->out_top;
    p->left += (double)p->out_left;
    p->high = (double)p->out_height;
    p->wide = (double)p->out_width;
    p->out_top = p->out_left = 0;
    p->height = p->out_height = height;
    p->width = p->out_width = width;
}

/* torchvision's RandomResizedCrop: area and ratio until they fit, else, and without chance, the middle. */
static void resized_crop(place *p, const step *s, const draws *d, uint32_t block, bool still) {
    const double area = (double)p->out_height * (double)p->out_width, low = s->n ? s->number[0] : 0.08,
                 high = s->n ? s->number[1] : 1;
    for (uint32_t t = 0; t < (still ? 0 : TRIES); t++) {
        uint32_t word[4];
        wick_draw(&d->of, block + t, word);
        const double part = area * wick_draw_between(word[0], low, high),
                     ratio = exp(wick_draw_between(word[1], log(3.0 / 4), log(4.0 / 3)));
        const int64_t width = (int64_t)rint(sqrt(part * ratio)), height = (int64_t)rint(sqrt(part / ratio));
        if (width < 1 || height < 1 || width > p->out_width || height > p->out_height) continue;
        cut(p, wick_draw_below(word[2], p->out_height - height + 1), wick_draw_below(word[3], p->out_width - width + 1),
            height, width);
        resize(p, s->height, s->width);
        return;
    }
    const double ratio = (double)p->out_width / (double)p->out_height;
    int64_t width = p->out_width, height = p->out_height;
    if (ratio < 3.0 / 4) height = WICK_MIN(height, (int64_t)rint((double)width / (3.0 / 4)));
    else if (ratio > 4.0 / 3) width = WICK_MIN(width, (int64_t)rint((double)height * (4.0 / 3)));
    cut(p, (p->out_height - height) / 2, (p->out_width - width) / 2, height, width);
    resize(p, s->height, s->width);
}

/* torchvision's RandomAffine, about the middle: shear along x, rotation, scale, translation. The map is written as the
 * one back. */
static void find_warp(place *p, const step *s, const draws *d, uint32_t block) {
    const double *x = s->number, degree = 3.14159265358979323846 / 180, width = (double)p->out_width,
                 height = (double)p->out_height;
    uint32_t word[4], more[4];
    wick_draw(&d->of, block, word);
    wick_draw(&d->of, block + 1, more);
    const double angle = wick_draw_between(word[0], -x[0], x[0]) * degree,
                 right = rint(wick_draw_between(word[1], -x[1], x[1]) * width),
                 down = rint(wick_draw_between(word[2], -x[1], x[1]) * height);
    const double scale = s->n > 2 ? wick_draw_between(word[3], x[2], x[3]) : 1,
                 lean = tan(wick_draw_between(more[0], -x[4], x[4]) * degree), co = cos(angle), si = sin(angle);
    /* Forth: [co, -co lean - si; si, -si lean + co] scale, whose determinant is scale^2. */
    double *w = p->warp;
    w[0] = (co - si * lean) / scale, w[1] = (co * lean + si) / scale;
    w[3] = -si / scale, w[4] = co / scale;
    w[2] = width / 2 - w[0] * (width / 2 + right) - w[1] * (height / 2 + down);
    w[5] = height / 2 - w[3] * (width / 2 + right) - w[4] * (height / 2 + down);
}

static place find_place(const wick_transform *t, const draws *d) {
    place p = {.high = (double)t->height,
               .wide = (double)t->width,
               .height = t->height,
               .width = t->width,
               .out_height = t->height,
               .out_width = t->width};
    for (int i = 0; i < t->n; i++) {
        const step *s = &t->steps[i];
        switch (s->kind == CUT && t->still ? CENTER : (kind)s->kind) {
        case CROP: {
            const int64_t n = (int64_t)s->number[0], range = 2 * n + 1;
            cut(&p, wick_draw_below(d->place[0], range) - n, wick_draw_below(d->place[1], range) - n, p.out_height,
                p.out_width);
            break;
        }
        case CUT:
            cut(&p, wick_draw_below(d->place[0], p.out_height - s->height + 1),
                wick_draw_below(d->place[1], p.out_width - s->width + 1), s->height, s->width);
            break;
        case CENTER:
            cut(&p, (int64_t)rint((double)(p.out_height - s->height) / 2),
                (int64_t)rint((double)(p.out_width - s->width) / 2), s->height, s->width);
            break;
        case FLIP: p.mirrored ^= chance(d->place[2], s, 0.5); break;
        case VFLIP: p.upturned ^= chance(d->place[3], s, 0.5); break;
        case RESIZE: resize(&p, s->height, s->width); break;
        case RESIZED_CROP: resized_crop(&p, s, d, wick_draw_block(i), t->still); break;
        case AFFINE: find_warp(&p, s, d, wick_draw_block(i)); break;
        default: break;
        }
    }
    return p;
}

/* ---- pixels ------------------------------------------------------------------------------------------------------ */

/* Output o, of `to` of the rectangle's `from` places from `begin` on: weights of inputs from *first on, which are never
 * outside; their number, 0 where o is not among the outputs: black, which a crop behind a resize pads with. */
static int64_t weigh(double begin, double from, int64_t to, int64_t o, float *weights, int64_t stride, int64_t most,
                     int64_t *first) {
    const double ratio = from / (double)to, scale = WICK_MAX(1, ratio), centre = ((double)o + 0.5) * ratio;
    const int64_t low = WICK_MAX(0, (int64_t)ceil(centre - scale - 0.5)),
                  high = WICK_MIN((int64_t)from - 1, (int64_t)floor(centre + scale - 0.5));
    double sum = 0;
    const int64_t n = WICK_MIN(high - low + 1, most);
    *first = 0;
    if (o < 0 || o >= to) return 0;
    for (int64_t i = 0; i < n; i++) sum += WICK_MAX(0, 1 - fabs((double)(low + i) + 0.5 - centre) / scale);
    for (int64_t i = 0; i < n; i++)
        weights[i * stride] = (float)(WICK_MAX(0, 1 - fabs((double)(low + i) + 0.5 - centre) / scale) / sum);
    *first = (int64_t)begin + low;
    return n;
}

/* Rows first, all columns at a time, then the columns of the one row that came of it, which is in the cache. */
static void resample(const wick_transform *t, const place *p, const uint8_t *in, float *out, float *scratch) {
    const wick_pixels_table *k = wick_pixels_kernels();
    const int64_t width = p->out_width, taps = t->taps_wide, left = (int64_t)p->left, wide = (int64_t)p->wide;
    float *row = scratch, *tall = row + t->width + WICK_MAX(t->taps_high, taps),
          *weights = tall + WICK_MAX(t->taps_high, taps);
    int32_t *first = (int32_t *)(void *)(weights + width * taps);
    int64_t used = 1;
    memset(weights, 0, (size_t)(width * taps) * sizeof *weights);
    memset(row + wide, 0, (size_t)taps * sizeof *row); /* what has no weight is read too, and must be a number */
    for (int64_t x = 0; x < width; x++) {
        int64_t begin;
        const int64_t o = p->out_left + (p->mirrored ? width - 1 - x : x);
        used = WICK_MAX(used, weigh(0, p->wide, p->width, o, weights + x, width, taps, &begin));
        first[x] = (int32_t)begin;
    }
    for (int64_t y = 0; y < p->out_height; y++) {
        int64_t from;
        const int64_t n = weigh(p->top, p->high, p->height, p->out_top + (p->upturned ? p->out_height - 1 - y : y),
                                tall, 1, t->taps_high, &from);
        for (int64_t c = 0; c < t->channels; c++) {
            const float scale = (float)(t->later ? 1 / 255.0 : 1 / (255 * t->deviation[c])),
                        shift = (float)(t->later ? 0 : -t->mean[c] / t->deviation[c]);
            if (n == 0) memset(row, 0, (size_t)wide * sizeof *row);
            else k->mix(wide, n, tall, in + (c * t->height + from) * t->width + left, t->width, row);
            k->pick(width, used, first, weights, row, scale, shift, out + (c * p->out_height + y) * width);
        }
    }
}

static void move(const wick_transform *t, const place *p, const uint8_t *in, float *out, void *scratch) {
    if (t->resizes) {
        resample(t, p, in, out, scratch);
        return;
    }
    const wick_pixel_window w = {t->height,     t->width,     p->out_top,  p->out_left,
                                 p->out_height, p->out_width, p->mirrored, p->upturned};
    for (int64_t c = 0; c < t->channels; c++)
        wick_pixels_window(&t->maps[c], &w, in + c * t->height * t->width, out + c * w.height * w.width);
}

static void warp(const wick_transform *t, const place *p, const float *in, float *out) {
    const double *w = p->warp;
    for (int64_t y = 0; y < t->out_height; y++) {
        const double row = (double)y + 0.5;
        wick_pixels_kernels()->warp(t->out_width, w[0] * 0.5 + w[1] * row + w[2] - 0.5,
                                    w[3] * 0.5 + w[4] * row + w[5] - 0.5, w[0], w[3], t->channels, t->out_height,
                                    t->out_width, in, out + y * t->out_width);
    }
}

/* One thing that is done to colours, with what was drawn for it. */
typedef struct colour {
    enum { BRIGHTNESS, CONTRAST, SATURATION, HUE, ALL_GREY } kind;
    float by;
} colour;

static int list_colours(const wick_transform *t, const draws *d, colour list[4 * MOST_STEPS]) {
    int n = 0;
    for (int i = 0; i < t->n; i++) {
        const step *s = &t->steps[i];
        if (s->kind != JITTER && s->kind != GREY) continue;
        uint32_t word[4];
        wick_draw(&d->of, wick_draw_block(i), word);
        if (s->kind == GREY && chance(word[0], s, 0.1)) list[n++] = (colour){ALL_GREY, 0};
        for (int j = 0; s->kind == JITTER && j < s->n; j++) {
            if (s->number[j] == 0) continue;
            const double by = j < 3 ? wick_draw_between(word[j], WICK_MAX(0, 1 - s->number[j]), 1 + s->number[j])
                                    : wick_draw_between(word[j], -s->number[j], s->number[j]);
            list[n++] = (colour){BRIGHTNESS + j, (float)(by < 0 && j == 3 ? by + 1 : by)};
        }
    }
    return n;
}

/* And normalised, unless a blur follows. */
static void apply_colours(const wick_transform *t, const draws *d, float *out) {
    const wick_pixels_table *k = wick_pixels_kernels();
    colour list[4 * MOST_STEPS];
    const int n = list_colours(t, d, list);
    const int64_t size = t->out_height * t->out_width;
    const bool rgb = t->channels == 3;
    float mean = 0;
    /* Passes: up to the first contrast, and from each to the next, which needs the mean of all that is before it. */
    for (int from = 0, to = 0, pass = 0;; from = to, pass++) {
        to = from + (pass > 0);
        while (to < n && list[to].kind != CONTRAST) to++;
        const bool last = to == n;
        double sum = 0;
        for (int64_t at = 0; at < size; at += BLOCK) {
            const int64_t m = WICK_MIN(BLOCK, size - at);
            float *r = out + at, *g = rgb ? r + size : NULL, *b = rgb ? g + size : NULL;
            for (int i = from; i < to; i++) {
                const float by = list[i].by;
                for (int64_t c = 0; c < t->channels && list[i].kind == BRIGHTNESS; c++)
                    k->brighten(m, by, r + c * size);
                for (int64_t c = 0; c < t->channels && list[i].kind == CONTRAST; c++)
                    k->blend(m, by, mean, r + c * size);
                if (list[i].kind == SATURATION || list[i].kind == ALL_GREY) k->saturate(m, by, r, g, b);
                if (list[i].kind == HUE) k->turn(m, by, r, g, b);
            }
            if (!last) sum += k->sum(m, r, g, b);
            for (int64_t c = 0; c < t->channels && last && !t->blurs; c++)
                k->affine(m, (float)(1 / t->deviation[c]), (float)(-t->mean[c] / t->deviation[c]), r + c * size);
        }
        if (last) return;
        mean = (float)(sum / (double)size);
    }
}

/* torchvision's GaussianBlur: rows, then columns, normalised on the way; behind an edge the picture is mirrored without
 * the edge itself. */
static void blur(const wick_transform *t, const draws *d, float *out, float *scratch) {
    const wick_pixels_table *k = wick_pixels_kernels();
    int i = 0;
    while (t->steps[i].kind != BLUR) i++;
    const step *s = &t->steps[i];
    uint32_t word[4];
    float weights[MOST_BLUR];
    wick_draw(&d->of, wick_draw_block(i), word);
    const double deviation = wick_draw_between(word[0], s->n > 1 ? s->number[1] : 0.1, s->n > 1 ? s->number[2] : 2);
    const int64_t r = t->reach, taps = 2 * r + 1, h = t->out_height, w = t->out_width;
    double sum = 0;
    for (int64_t j = -r; j <= r; j++) sum += exp(-0.5 * (double)(j * j) / (deviation * deviation));
    for (int64_t j = -r; j <= r; j++)
        weights[j + r] = (float)(exp(-0.5 * (double)(j * j) / (deviation * deviation)) / sum);
    float *row = scratch, *plane = row + w + 2 * r, *inner = plane + r * w;
    for (int64_t c = 0; c < t->channels; c++, out += h * w) {
        for (int64_t y = 0; y < h; y++) {
            memcpy(row + r, out + y * w, (size_t)w * sizeof *row);
            for (int64_t j = 1; j <= r; j++) row[r - j] = row[r + j], row[r + w - 1 + j] = row[r + w - 1 - j];
            k->smooth(w, taps, weights, row, 1, 1, 0, inner + y * w);
        }
        for (int64_t j = 1; j <= r; j++) {
            memcpy(inner - j * w, inner + j * w, (size_t)w * sizeof *row);
            memcpy(inner + (h - 1 + j) * w, inner + (h - 1 - j) * w, (size_t)w * sizeof *row);
        }
        for (int64_t y = 0; y < h; y++)
            k->smooth(w, taps, weights, plane + y * w, w, (float)(1 / t->deviation[c]),
                      (float)(-t->mean[c] / t->deviation[c]), out + y * w);
    }
}

/* torchvision's RandomErasing: area and ratio until they fit; else nothing. */
static void erase(const wick_transform *t, const step *s, const draws *d, uint32_t block, float *out) {
    uint32_t word[4];
    wick_draw(&d->of, block, word);
    if (!chance(word[0], s, 0.5)) return;
    for (uint32_t i = 1; i <= TRIES; i++) {
        wick_draw(&d->of, block + i, word);
        const double area = (double)t->out_height * (double)t->out_width * wick_draw_between(word[0], 0.02, 0.33),
                     ratio = exp(wick_draw_between(word[1], log(0.3), log(3.3)));
        const int64_t height = (int64_t)rint(sqrt(area * ratio)), width = (int64_t)rint(sqrt(area / ratio));
        if (height >= t->out_height || width >= t->out_width) continue;
        const int64_t top = wick_draw_below(word[2], t->out_height - height + 1),
                      left = wick_draw_below(word[3], t->out_width - width + 1);
        for (int64_t c = 0; c < t->channels; c++)
            for (int64_t y = top; y < top + height; y++)
                memset(out + (c * t->out_height + y) * t->out_width + left, 0, (size_t)width * sizeof *out);
        return;
    }
}

static place place_of(const wick_transform *t, draws *d, uint64_t seed, uint64_t epoch, int64_t sample) {
    *d = (draws){.of = {seed, epoch, sample}};
    wick_draw(&d->of, 0, d->place);
    return find_place(t, d);
}

void wick_transform_apply(const wick_transform *t, uint64_t seed, uint64_t epoch, int64_t sample, const uint8_t *in,
                          float *out, void *scratch) {
    if (!in || !out) return;
    draws d;
    const place p = place_of(t, &d, seed, epoch, sample);
    float *moved = t->warps ? (float *)(void *)((char *)scratch + t->warp_at) : out;
    move(t, &p, in, moved, scratch);
    if (t->warps) warp(t, &p, moved, out);
    if (t->later) apply_colours(t, &d, out);
    if (t->blurs) blur(t, &d, out, (float *)(void *)((char *)scratch + t->blur_at));
    if (t->n && t->steps[t->n - 1].kind == ERASE) erase(t, &t->steps[t->n - 1], &d, wick_draw_block(t->n - 1), out);
}

wick_status wick_transform_run(const wick_transform *t, uint64_t seed, uint64_t epoch, int64_t sample, const void *in,
                               int64_t rows, float *out, void *scratch, wick_fault *fault) {
    if (!in || !out) return wick_fault_set(fault, WICK_ERR_INVALID, "transform_run: in or out is NULL");
    if (t->signal) return wick_signal_run(t->signal, &(wick_draws){seed, epoch, sample}, in, rows, out, scratch, fault);
    wick_transform_apply(t, seed, epoch, sample, in, out, scratch);
    return WICK_OK;
}

/* ---- what belongs to pictures: places in them, rectangles, masks ------------------------------------------------- */

static void move_point(const wick_transform *t, const place *p, double *x, double *y) {
    *x = (*x - p->left) * (double)p->width / p->wide - (double)p->out_left;
    *y = (*y - p->top) * (double)p->height / p->high - (double)p->out_top;
    if (p->mirrored) *x = (double)p->out_width - *x;
    if (p->upturned) *y = (double)p->out_height - *y;
    if (!t->warps) return;
    const double *w = p->warp, by = 1 / (w[0] * w[4] - w[1] * w[3]), u = *x - w[2], v = *y - w[5];
    *x = (w[4] * u - w[1] * v) * by;
    *y = (w[0] * v - w[3] * u) * by;
}

void wick_transform_wide_points(const wick_transform *t, uint64_t seed, uint64_t epoch, int64_t sample, int64_t n,
                                int64_t width, float *points) {
    if (!points) return;
    draws d;
    if (t->signal) return;
    const place p = place_of(t, &d, seed, epoch, sample);
    for (int64_t i = 0; i < n; i++, points += width) {
        double x = (double)points[0], y = (double)points[1];
        move_point(t, &p, &x, &y);
        points[0] = (float)x, points[1] = (float)y;
    }
}
bool wick_transform_mirrors(const wick_transform *t, uint64_t seed, uint64_t epoch, int64_t sample) {
    draws d;
    if (t->signal) return false;
    const place p = place_of(t, &d, seed, epoch, sample);
    return p.mirrored != p.upturned;
}
void wick_transform_points(const wick_transform *t, uint64_t seed, uint64_t epoch, int64_t sample, int64_t n,
                           float *points) {
    wick_transform_wide_points(t, seed, epoch, sample, n, 2, points);
}

static float within(double x, int64_t most) { return (float)(x < 0 ? 0 : x > (double)most ? (double)most : x); }

void wick_transform_wide_boxes(const wick_transform *t, uint64_t seed, uint64_t epoch, int64_t sample, int64_t n,
                               int64_t width, float *boxes) {
    if (!boxes) return;
    draws d;
    if (t->signal) return;
    const place p = place_of(t, &d, seed, epoch, sample);
    for (int64_t i = 0; i < n; i++, boxes += width) {
        double low[2] = {INFINITY, INFINITY}, high[2] = {-INFINITY, -INFINITY};
        for (int corner = 0; corner < 4; corner++) {
            double x = (double)boxes[corner & 1 ? 2 : 0], y = (double)boxes[corner & 2 ? 3 : 1];
            move_point(t, &p, &x, &y);
            low[0] = WICK_MIN(low[0], x), high[0] = WICK_MAX(high[0], x);
            low[1] = WICK_MIN(low[1], y), high[1] = WICK_MAX(high[1], y);
        }
        boxes[0] = within(low[0], t->out_width), boxes[1] = within(low[1], t->out_height);
        boxes[2] = within(high[0], t->out_width), boxes[3] = within(high[1], t->out_height);
    }
}
void wick_transform_boxes(const wick_transform *t, uint64_t seed, uint64_t epoch, int64_t sample, int64_t n,
                          float *boxes) {
    wick_transform_wide_boxes(t, seed, epoch, sample, n, 4, boxes);
}

void wick_transform_mask(const wick_transform *t, uint64_t seed, uint64_t epoch, int64_t sample, const uint8_t *in,
                         uint8_t outside, uint8_t *out) {
    if (!in || !out) return;
    draws d;
    if (t->signal) return;
    const place p = place_of(t, &d, seed, epoch, sample);
    for (int64_t row = 0; row < t->out_height; row++)
        for (int64_t column = 0; column < t->out_width; column++, out++) {
            double x = (double)column + 0.5, y = (double)row + 0.5;
            if (t->warps) {
                const double *w = p.warp, u = w[0] * x + w[1] * y + w[2], v = w[3] * x + w[4] * y + w[5];
                x = u, y = v;
                if (!(x >= 0 && x < (double)t->out_width && y >= 0 && y < (double)t->out_height)) {
                    *out = outside;
                    continue;
                }
            }
            if (p.mirrored) x = (double)p.out_width - x;
            if (p.upturned) y = (double)p.out_height - y;
            x = floor((x + (double)p.out_left) * p.wide / (double)p.width);
            y = floor((y + (double)p.out_top) * p.high / (double)p.height);
            const bool there = x >= 0 && x < p.wide && y >= 0 && y < p.high;
            *out = there ? in[((int64_t)y + (int64_t)p.top) * t->width + (int64_t)x + (int64_t)p.left] : outside;
        }
}
