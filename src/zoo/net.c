/* net.c: networks as a line of text. It is read anew each time its graph is built, which costs microseconds. One table
 * of layers serves the reader, the builder and the help. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "zoo/zoo.h"
#include "wick/compare.h"
#include "wick/image.h"
#include "wick/index.h"
#include "wick/pointwise.h"
#include "wick/transformer.h"

enum { LAYERS_MAX = 256, DEPTH_MAX = 8, NUMBER_MAX = 1 << 24, NAMES_MAX = 32, NAME_LENGTH = 24 };

/* "3", of every dim of space, or "1x9", one for each, outermost first; n 0: not said. */
typedef struct extents {
    int64_t at[3];
    int n;
} extents;
/* A layer as read: its numbers, in the order of the table's form. */
typedef struct layer {
    int kind;
    int64_t n[2]; /* channels or width and others; CLASSES: as many as asked for */
    extents kernel, stride, pad, dilation;
    int64_t groups, expand;
    double p;
    bool same, no_bias, smooth, both, causal;
    int place; /* of save, concat, add, upsample NAME: which of the names, from 1 on; 0: none */
    int end;   /* residual: one past the last layer inside */
} layer;
enum { CLASSES = -1, TOKENS = -2 /* what only the data say: how many tokens, or where an input is */ };

/* What follows a layer's name. */
enum {
    KEY_STRIDE = 1,
    KEY_PAD = 2,
    KEY_DILATION = 4,
    KEY_GROUPS = 8,
    KEY_EXPAND = 16,
    FLAG_SAME = 32,
    FLAG_NO_BIAS = 64,
    FLAG_SMOOTH = 128,
    FLAG_BOTH = 256,
    FLAG_CAUSAL = 512,
};
static const struct {
    const char *word;
    unsigned bit;
} words[] = {{"stride", KEY_STRIDE}, {"pad", KEY_PAD},       {"dilation", KEY_DILATION}, {"groups", KEY_GROUPS},
             {"expand", KEY_EXPAND}, {"same", FLAG_SAME},    {"nobias", FLAG_NO_BIAS},   {"smooth", FLAG_SMOOTH},
             {"both", FLAG_BOTH},    {"causal", FLAG_CAUSAL}};
enum {
    WORDS = (int)(sizeof words / sizeof words[0]),
    FLAGS = FLAG_SAME | FLAG_NO_BIAS | FLAG_SMOOTH | FLAG_BOTH | FLAG_CAUSAL
};

typedef struct builder {
    const layer *layers;
    wick_model *model;
    int64_t classes;
    /* layers of a kind so far, for their names; blocks are a level below the deepest residual */
    int depth, count[DEPTH_MAX + 2][48];
    wick_tensor *saved[NAMES_MAX + 1], *samples;
    const char (*names)[NAME_LENGTH];
} builder;

static wick_tensor *build_range(builder *b, int begin, int end, wick_tensor *x);

/* "conv2": the second of its kind. */
static void name_of(builder *b, int kind, const char *prefix, char name[32]) {
    snprintf(name, 32, "%s%d", prefix, ++b->count[b->depth][kind]);
}
/* Of the dim; `otherwise` where the text doesn't say. */
static int64_t extent_at(const extents *e, int dim, int64_t otherwise) {
    return e->n == 0 ? otherwise : e->at[e->n > 1 ? dim : 0];
}
/* NULL: what is said of a dim each is said of as many dims as x has, else why not. */
static wick_tensor *check_extents(const builder *b, const layer *l, const wick_tensor *x) {
    const extents *of[] = {&l->kernel, &l->stride, &l->pad, &l->dilation};
    static const char *const what[] = {"kernel", "stride", "pad", "dilation"};
    const int dims = wick_tensor_rank(x) - 2;
    for (int i = 0; i < 4; i++)
        if (of[i]->n > 1 && of[i]->n != dims)
            return wick_poison(wick_model_context(b->model), WICK_ERR_SHAPE,
                               "net: the %s has %d extents, and samples here have %d dims beside their channels",
                               what[i], of[i]->n, dims);
    return NULL;
}

static wick_nn_conv_options conv_options(const layer *l) {
    wick_nn_conv_options o = {.groups = l->groups, .same = l->same, .no_bias = l->no_bias};
    for (int d = 0; d < 3; d++) {
        o.kernels[d] = extent_at(&l->kernel, d, 0), o.strides[d] = extent_at(&l->stride, d, 0);
        o.dilations[d] = extent_at(&l->dilation, d, 0), o.pads[d] = extent_at(&l->pad, d, 0);
    }
    return o;
}
static wick_pool_options pool_options(const layer *l, const wick_tensor *x) {
    wick_pool_options o = {.exclude_pad = true};
    for (int d = 0; d < wick_tensor_rank(x) - 2 && d < 3; d++) {
        o.kernel[d] = extent_at(&l->kernel, d, 0), o.stride[d] = extent_at(&l->stride, d, 0);
        o.pad[d] = extent_at(&l->pad, d, 0);
    }
    return o;
}

typedef wick_tensor *build_fn(builder *b, const layer *l, const char *name, wick_tensor *x);
/* Zeros in front of the last dim, and none behind: what comes later is not seen. */
static wick_tensor *before(const layer *l, wick_tensor *x) {
    const int rank = wick_tensor_rank(x), d = rank - 3;
    int64_t first[WICK_MAX_DIMS] = {0}, none[WICK_MAX_DIMS] = {0};
    if (!l->causal || rank < 3) return x;
    first[rank - 1] = (extent_at(&l->kernel, d, 1) - 1) * extent_at(&l->dilation, d, 1);
    return wick_pad(x, rank, first, none, 0);
}
static wick_tensor *build_conv(builder *b, const layer *l, const char *name, wick_tensor *x) {
    wick_nn_conv_options o = conv_options(l);
    wick_tensor *wrong = check_extents(b, l, x);
    if (wrong) return wrong;
    return wick_nn_conv(b->model, name, before(l, x), l->n[0] == CLASSES ? b->classes : l->n[0], 0, &o);
}
static wick_tensor *build_dwconv(builder *b, const layer *l, const char *name, wick_tensor *x) {
    wick_nn_conv_options o = conv_options(l);
    wick_tensor *wrong = check_extents(b, l, x);
    o.groups = wick_tensor_dim(x, 1);
    return wrong ? wrong : wick_nn_conv(b->model, name, before(l, x), o.groups, 0, &o);
}
static wick_tensor *build_maxpool(builder *b, const layer *l, const char *name, wick_tensor *x) {
    wick_pool_options o = pool_options(l, x);
    wick_tensor *wrong = check_extents(b, l, x);
    o.exclude_pad = false;
    return (void)name, wrong ? wrong : wick_max_pool(x, &o);
}
static wick_tensor *build_avgpool(builder *b, const layer *l, const char *name, wick_tensor *x) {
    wick_pool_options o = pool_options(l, x);
    wick_tensor *wrong = check_extents(b, l, x);
    return (void)name, wrong ? wrong : wick_avg_pool(x, &o);
}
static wick_tensor *build_globalpool(builder *b, const layer *l, const char *name, wick_tensor *x) {
    return (void)b, (void)l, (void)name, wick_flatten(wick_adaptive_avg_pool(x, NULL), 1);
}
static wick_tensor *build_flatten(builder *b, const layer *l, const char *name, wick_tensor *x) {
    return (void)b, (void)l, (void)name, wick_flatten(x, 1);
}
static wick_tensor *build_linear(builder *b, const layer *l, const char *name, wick_tensor *x) {
    return wick_nn_linear(b->model, name, x, l->n[0] == CLASSES ? b->classes : l->n[0]);
}
static wick_tensor *build_bn(builder *b, const layer *l, const char *name, wick_tensor *x) {
    return (void)l, wick_nn_batch_norm(b->model, name, x);
}
static wick_tensor *build_layernorm(builder *b, const layer *l, const char *name, wick_tensor *x) {
    return (void)l, wick_nn_layer_norm(b->model, name, x);
}
static wick_tensor *build_dropout(builder *b, const layer *l, const char *name, wick_tensor *x) {
    return (void)name, wick_nn_dropout(b->model, x, l->p);
}
#define BUILD_ACTIVATION(fn)                                                                                           \
    static wick_tensor *build_##fn(builder *b, const layer *l, const char *name, wick_tensor *x) {                     \
        return (void)b, (void)l, (void)name, wick_##fn(x);                                                             \
    }
BUILD_ACTIVATION(relu)
BUILD_ACTIVATION(gelu)
BUILD_ACTIVATION(silu)
BUILD_ACTIVATION(tanh)
BUILD_ACTIVATION(sigmoid)
static wick_tensor *build_relu6(builder *b, const layer *l, const char *name, wick_tensor *x) {
    return (void)b, (void)l, (void)name, wick_clip(x, 0, 6);
}

static wick_tensor *pushed(builder *b, const char *name, wick_tensor *x,
                           wick_tensor *(*inside)(builder *, const layer *, wick_tensor *), const layer *l) {
    wick_context *ctx = wick_model_context(b->model);
    wick_status status = wick_model_push(b->model, name);
    if (status != WICK_OK) return wick_poison(ctx, status, "%s", wick_context_error(ctx));
    b->depth++;
    memset(b->count[b->depth], 0, sizeof b->count[0]);
    wick_tensor *y = inside(b, l, x);
    b->depth--;
    wick_model_pop(b->model);
    return wick_model_tell(b->model, name, y);
}

/* He et al. 2016: y + x; where the shapes differ x goes through a 1x1 convolution of the stride that makes them agree.
 */
static wick_tensor *inside_residual(builder *b, const layer *l, wick_tensor *x) {
    const int self = (int)(l - b->layers);
    wick_tensor *y = build_range(b, self + 1, l->end, x);
    bool same = wick_tensor_rank(x) == wick_tensor_rank(y);
    for (int d = 0; same && d < wick_tensor_rank(x); d++) same = wick_tensor_dim(x, d) == wick_tensor_dim(y, d);
    if (!same && wick_tensor_rank(x) > 2 && wick_tensor_rank(y) == wick_tensor_rank(x)) {
        const int64_t in = wick_tensor_dim(x, 2), out = wick_tensor_dim(y, 2);
        const wick_nn_conv_options o = {.stride = out > 0 ? (in + out - 1) / out : 1, .no_bias = true};
        x = wick_nn_batch_norm(b->model, "shortcut_bn",
                               wick_nn_conv(b->model, "shortcut", x, wick_tensor_dim(y, 1), 1, &o));
    }
    return wick_add(y, x);
}
static wick_tensor *build_residual(builder *b, const layer *l, const char *name, wick_tensor *x) {
    return pushed(b, name, x, inside_residual, l);
}

/* [N, 2 C, ...] as [2 N, C, ...] and back: what is one sample's lies together, so nothing moves. */
static wick_tensor *as_halves(wick_tensor *x, bool back) {
    int64_t dims[WICK_MAX_DIMS];
    const int rank = wick_tensor_rank(x);
    for (int d = 0; d < rank; d++) dims[d] = wick_tensor_dim(x, d);
    if (rank < 2 || dims[back ? 0 : 1] % 2)
        return wick_poison(wick_tensor_context(x), WICK_ERR_SHAPE,
                           "twins takes samples of two halves, channels [2 C, ...]; these are of rank %d with %lld",
                           rank - 1, rank < 2 ? 0LL : (long long)dims[1]);
    dims[0] = back ? dims[0] / 2 : 2 * dims[0];
    dims[1] = back ? 2 * dims[1] : dims[1] / 2;
    return wick_reshape(x, rank, dims);
}
/* Bromley et al. 1993: one network for two inputs. */
static wick_tensor *inside_twins(builder *b, const layer *l, wick_tensor *x) {
    x = as_halves(x, false);
    if (wick_tensor_error(x, NULL) != WICK_OK) return x;
    x = build_range(b, (int)(l - b->layers) + 1, l->end, x);
    return wick_tensor_error(x, NULL) == WICK_OK ? as_halves(x, true) : x;
}
static wick_tensor *build_twins(builder *b, const layer *l, const char *name, wick_tensor *x) {
    return pushed(b, name, x, inside_twins, l);
}

/* Pixel by pixel (Yan et al. 2021, arXiv 2012.06815, section 3): a channel for each place of the first picture, its
 * product with each place of the second; behind those the second's own channels. */
static wick_tensor *build_correlate(builder *b, const layer *l, const char *name, wick_tensor *x) {
    (void)l, (void)name;
    if (wick_tensor_rank(x) != 4 || wick_tensor_dim(x, 1) % 2)
        return wick_poison(wick_model_context(b->model), WICK_ERR_SHAPE,
                           "correlate takes two pictures' channels, [2 C, H, W], as twins gives them");
    const int64_t n = wick_tensor_dim(x, 0), c = wick_tensor_dim(x, 1) / 2, high = wick_tensor_dim(x, 2),
                  wide = wick_tensor_dim(x, 3), flat[] = {n, c, high * wide}, grid[] = {n, high * wide, high, wide};
    wick_tensor *first = wick_slice(x, 1, 0, c, 1), *second = wick_slice(x, 1, c, 2 * c, 1),
                *alike = wick_matmul(wick_transpose(wick_reshape(first, 3, flat), 1, 2), wick_reshape(second, 3, flat));
    wick_tensor *parts[] = {wick_reshape(wick_mul(alike, wick_like(alike, 1 / sqrt((double)c))), 4, grid), second};
    return wick_concat(2, parts, 1);
}

/* Hu et al. 2018: channels weighed by what all of the image says. */
static wick_tensor *inside_se(builder *b, const layer *l, wick_tensor *x) {
    const int64_t channels = wick_tensor_dim(x, 1), hidden = channels / l->n[0] > 0 ? channels / l->n[0] : 1;
    wick_tensor *s = wick_adaptive_avg_pool(x, NULL);
    s = wick_relu(wick_nn_conv(b->model, "down", s, hidden, 1, NULL));
    return wick_mul(x, wick_sigmoid(wick_nn_conv(b->model, "up", s, channels, 1, NULL)));
}
static wick_tensor *build_se(builder *b, const layer *l, const char *name, wick_tensor *x) {
    return pushed(b, name, x, inside_se, l);
}

/* Sandler et al. 2018: 1x1 up, depthwise, 1x1 down; x is added where the shapes agree. */
static wick_tensor *inside_invres(builder *b, const layer *l, wick_tensor *x) {
    const int64_t in = wick_tensor_dim(x, 1), wide = in * (l->expand ? l->expand : 6);
    const wick_nn_conv_options plain = {.no_bias = true};
    wick_nn_conv_options depthwise = conv_options(l);
    depthwise.groups = wide, depthwise.same = depthwise.no_bias = true;
    bool same = l->n[0] == in;
    for (int d = 0; d < 3; d++) same = same && extent_at(&l->stride, d, 1) == 1;
    wick_tensor *y = x;
    if (wide != in)
        y = wick_relu(wick_nn_batch_norm(b->model, "bn1", wick_nn_conv(b->model, "up", y, wide, 1, &plain)));
    y = wick_relu(wick_nn_batch_norm(b->model, "bn2", wick_nn_conv(b->model, "depthwise", y, wide, 0, &depthwise)));
    y = wick_nn_batch_norm(b->model, "bn3", wick_nn_conv(b->model, "down", y, l->n[0], 1, &plain));
    return same ? wick_add(y, x) : y;
}
static wick_tensor *build_invres(builder *b, const layer *l, const char *name, wick_tensor *x) {
    wick_tensor *wrong = check_extents(b, l, x);
    return wrong ? wrong : pushed(b, name, x, inside_invres, l);
}

/* ---- skip connections -------------------------------------------------------------------------------------------- */

static wick_tensor *build_save(builder *b, const layer *l, const char *name, wick_tensor *x) {
    (void)name;
    return b->saved[l->place] = wick_model_tell(b->model, b->names[l->place - 1], x);
}
/* What was saved there and x agree in all dims but, where `apart` is 1, that one; NULL: they do, else why not. */
static wick_tensor *check_saved(const builder *b, const layer *l, const wick_tensor *x, int apart) {
    const wick_tensor *y = b->saved[l->place];
    bool same = wick_tensor_rank(x) == wick_tensor_rank(y);
    for (int d = 0; same && d < wick_tensor_rank(x); d++)
        same = d == apart || wick_tensor_dim(x, d) == wick_tensor_dim(y, d);
    if (same) return NULL;
    return wick_poison(wick_model_context(b->model), WICK_ERR_SHAPE,
                       "net: %s: the extents there and here differ: \"upsample %s\" in front makes these as those",
                       b->names[l->place - 1], b->names[l->place - 1]);
}
static wick_tensor *build_concat(builder *b, const layer *l, const char *name, wick_tensor *x) {
    wick_tensor *wrong = check_saved(b, l, x, 1);
    return (void)name, wrong ? wrong : wick_concat(2, (wick_tensor *const[]){b->saved[l->place], x}, 1);
}
static wick_tensor *build_add(builder *b, const layer *l, const char *name, wick_tensor *x) {
    wick_tensor *wrong = check_saved(b, l, x, -1);
    return (void)name, wrong ? wrong : wick_add(b->saved[l->place], x);
}
/* Numbers of the samples, all of whose dims are one here. */
static wick_tensor *build_input(builder *b, const layer *l, const char *name, wick_tensor *x) {
    wick_tensor *all = wick_flatten(b->samples, 1);
    int64_t dims[4] = {wick_tensor_dim(all, 0)}, count = 1;
    (void)name, (void)x;
    if (wick_tensor_error(all, NULL) != WICK_OK) return all;
    if (l->n[0] == TOKENS)
        return wick_poison(wick_model_context(b->model), WICK_ERR_INVALID,
                           "net: input NAME: where that is in a sample, data of several inputs say");
    for (int d = 0; d < l->kernel.n; d++) count *= dims[d + 1] = l->kernel.at[d];
    if (l->n[0] + count > wick_tensor_dim(all, 1))
        return wick_poison(wick_model_context(b->model), WICK_ERR_SHAPE,
                           "net: input: takes numbers %lld to %lld, and samples have %lld", (long long)l->n[0],
                           (long long)(l->n[0] + count - 1), (long long)wick_tensor_dim(all, 1));
    return wick_reshape(wick_slice(all, 1, l->n[0], l->n[0] + count, 1), l->kernel.n + 1, dims);
}
static wick_tensor *build_from(builder *b, const layer *l, const char *name, wick_tensor *x) {
    return (void)name, (void)x, b->saved[l->place];
}
static wick_tensor *build_upsample(builder *b, const layer *l, const char *name, wick_tensor *x) {
    (void)name;
    const int n = wick_tensor_rank(x) - 2;
    const wick_tensor *like = l->place ? b->saved[l->place] : x;
    if (n < 1 || n > 3 || wick_tensor_rank(like) != n + 2)
        return wick_poison(wick_model_context(b->model), WICK_ERR_SHAPE,
                           "net: upsample: takes [batch, channels, 1 to 3 dims], and this has %d dims", n + 2);
    int64_t size[3];
    for (int d = 0; d < n; d++) size[d] = wick_tensor_dim(like, d + 2) * (l->place ? 1 : l->n[0]);
    const wick_interpolate_options nearest = {.mode = WICK_NEAREST,
                                              .coordinates = WICK_ASYMMETRIC,
                                              .rounding = WICK_ROUND_FLOOR},
                                   smooth = {.mode = WICK_LINEAR};
    return wick_interpolate(x, n, NULL, size, l->smooth ? &smooth : &nearest);
}

/* ---- texts and series -------------------------------------------------------------------------------------------- */

/* Numbers of tokens [B, L], or [B, K, L] of which those at a place add up, are rows of a matrix; 0 is padding, a row of
 * zeros. */
static wick_tensor *build_embed(builder *b, const layer *l, const char *name, wick_tensor *x) {
    wick_context *ctx = wick_model_context(b->model);
    const int rank = wick_tensor_rank(x);
    if (l->n[0] == TOKENS)
        return wick_poison(ctx, WICK_ERR_INVALID, "net: embed tokens: how many tokens there are, data of texts say");
    if (rank != 2 && rank != 3)
        return wick_poison(ctx, WICK_ERR_SHAPE, "net: embed: takes tokens [batch, length], and this has %d dims", rank);
    char weight[40];
    snprintf(weight, sizeof weight, "%s.weight", name);
    wick_tensor *ids = wick_cast(x, WICK_I64);
    wick_tensor *table =
        wick_model_state(b->model, weight, WICK_ROLE_PARAM, WICK_F32, 2, l->n, wick_init_truncated(0, 0.3));
    wick_tensor *e = wick_embedding(table, ids, 0);
    wick_tensor *there = wick_cast(wick_ne(ids, wick_like(ids, 0)), WICK_F32);
    e = wick_mul(e, wick_unsqueeze(there, rank));
    if (rank == 3) e = wick_sum(e, 1, (const int[]){1}, false);
    return wick_permute(e, 3, (const int[]){0, 2, 1});
}
static wick_tensor *recurrent(builder *b, const layer *l, const char *name, wick_tensor *x, bool gru) {
    if (wick_tensor_rank(x) != 3)
        return wick_poison(wick_model_context(b->model), WICK_ERR_SHAPE,
                           "net: %s: takes [batch, channels, length], and this has %d dims", gru ? "gru" : "lstm",
                           wick_tensor_rank(x));
    const wick_nn_rnn_options o = {.bidirectional = l->both};
    x = wick_permute(x, 3, (const int[]){2, 0, 1});
    wick_tensor *y = gru ? wick_nn_gru(b->model, name, x, l->n[0], &o, NULL)
                         : wick_nn_lstm(b->model, name, x, l->n[0], &o, NULL, NULL);
    return wick_permute(y, 3, (const int[]){1, 2, 0});
}
static wick_tensor *build_lstm(builder *b, const layer *l, const char *name, wick_tensor *x) {
    return recurrent(b, l, name, x, false);
}
static wick_tensor *build_gru(builder *b, const layer *l, const char *name, wick_tensor *x) {
    return recurrent(b, l, name, x, true);
}
/* [n, channels, height, width]: what lies above each other at a place along the width, or side by side at one along the
 * height, become the channels of that place (Shi et al. 2015). */
static wick_tensor *sequence(builder *b, const char *layer_, wick_tensor *x, bool along_height) {
    if (wick_tensor_rank(x) != 4)
        return wick_poison(wick_model_context(b->model), WICK_ERR_SHAPE,
                           "net: %s: takes [batch, channels, height, width], and this has %d dims", layer_,
                           wick_tensor_rank(x));
    if (along_height) x = wick_permute(x, 4, (const int[]){0, 1, 3, 2});
    const int64_t dims[] = {wick_tensor_dim(x, 0), wick_tensor_dim(x, 1) * wick_tensor_dim(x, 2),
                            wick_tensor_dim(x, 3)};
    return wick_reshape(x, 3, dims);
}
static wick_tensor *build_columns(builder *b, const layer *l, const char *name, wick_tensor *x) {
    return (void)l, (void)name, sequence(b, "columns", x, false);
}
static wick_tensor *build_rows(builder *b, const layer *l, const char *name, wick_tensor *x) {
    return (void)l, (void)name, sequence(b, "rows", x, true);
}
/* What is no sequence yet becomes one, [n, channels, length]: numbers in a row, of so many channels one after another;
 * a spectrogram or a picture, whose rows are moments; a series that lies in a picture's only row. */
static wick_tensor *build_sequence(builder *b, const layer *l, const char *name, wick_tensor *x) {
    const int rank = wick_tensor_rank(x);
    const int64_t channels = l->n[0] ? l->n[0] : 1, numbers = rank == 2 ? wick_tensor_dim(x, 1) : 0;
    (void)name;
    if (rank == 3) return x;
    if (rank == 4) return sequence(b, "sequence", x, wick_tensor_dim(x, 2) > 1);
    if (rank != 2 || numbers % channels)
        return wick_poison(wick_model_context(b->model), WICK_ERR_SHAPE,
                           "net: sequence: %lld numbers are not those of %lld channels", (long long)numbers,
                           (long long)channels);
    return wick_reshape(x, 3, (const int64_t[]){wick_tensor_dim(x, 0), channels, numbers / channels});
}

/* [n, channels, length] and [n, length, channels], as attention has it. */
static wick_tensor *swap(wick_tensor *x) { return wick_permute(x, 3, (const int[]){0, 2, 1}); }
static wick_tensor *check_sequence(const builder *b, const char *layer_, const wick_tensor *x) {
    return wick_tensor_rank(x) == 3 ? NULL
                                    : wick_poison(wick_model_context(b->model), WICK_ERR_SHAPE,
                                                  "net: %s: takes [batch, channels, length], and this has %d dims",
                                                  layer_, wick_tensor_rank(x));
}
static wick_tensor *build_positions(builder *b, const layer *l, const char *name, wick_tensor *x) {
    wick_tensor *wrong = check_sequence(b, "positions", x);
    return (void)l, wrong ? wrong : swap(wick_nn_positions(b->model, name, swap(x), wick_tensor_dim(x, 2)));
}
static wick_tensor *build_attention(builder *b, const layer *l, const char *name, wick_tensor *x) {
    wick_tensor *wrong = check_sequence(b, "attention", x);
    if (wrong) return wrong;
    const wick_nn_attention_options o = {.heads = (int)l->n[0], .causal = l->causal};
    x = swap(x);
    return swap(wick_nn_attention(b->model, name, x, x, x, &o));
}
static wick_tensor *build_encoder(builder *b, const layer *l, const char *name, wick_tensor *x) {
    wick_tensor *wrong = check_sequence(b, "encoder", x);
    if (wrong) return wrong;
    const int64_t expand = l->expand ? l->expand : 4;
    const wick_nn_transformer_options o = {.feedforward = expand * wick_tensor_dim(x, 1),
                                           .dropout = l->p,
                                           .pre_norm = true,
                                           .gelu = true,
                                           .attention = {.heads = (int)l->n[0], .causal = l->causal}};
    return swap(wick_nn_encoder_layer(b->model, name, swap(x), &o));
}
static wick_tensor *build_globalmaxpool(builder *b, const layer *l, const char *name, wick_tensor *x) {
    static const int places[] = {2, 3, 4};
    const int n = wick_tensor_rank(x) - 2;
    (void)l, (void)name;
    return n < 1 || n > 3
               ? wick_poison(wick_model_context(b->model), WICK_ERR_SHAPE,
                             "net: globalmaxpool: takes [batch, channels, 1 to 3 dims], and this has %d dims", n + 2)
               : wick_max(x, n, places, false);
}

/* ---- the table --------------------------------------------------------------------------------------------------- */

enum { REAL = 1, BODY = 2, NAME = 4, NAME_OR_NUMBER = 8, KERNEL = 16, MAYBE_NUMBER = 32, MAYBE_REAL = 64 };
static const struct {
    const char *word, *prefix; /* prefix of its states' names; NULL: it has none */
    int numbers;
    unsigned options, what;
    build_fn *build;
    const char *form, *doc;
} kinds[] = {
    {"conv", "conv", 1, KEY_STRIDE | KEY_PAD | KEY_DILATION | KEY_GROUPS | FLAG_SAME | FLAG_CAUSAL | FLAG_NO_BIAS,
     KERNEL, build_conv,
     "conv CHANNELS KERNEL [stride N] [pad N | same | causal] [dilation N] [groups N] [nobias] | conv classes KERNEL "
     "...",
     "convolution; 1x9: a kernel, stride, pad or dilation of these extents; classes: as many channels as the data has "
     "classes; causal: the last dim sees nothing that comes later"},
    {"dwconv", "dwconv", 0, KEY_STRIDE | KEY_PAD | KEY_DILATION | FLAG_SAME | FLAG_CAUSAL | FLAG_NO_BIAS, KERNEL,
     build_dwconv, "dwconv KERNEL [stride N] [pad N | same | causal] [dilation N] [nobias]",
     "convolution of each channel on its own"},
    {"maxpool", NULL, 0, KEY_STRIDE | KEY_PAD, KERNEL, build_maxpool, "maxpool KERNEL [stride N] [pad N]",
     "the largest of each window"},
    {"avgpool", NULL, 0, KEY_STRIDE | KEY_PAD, KERNEL, build_avgpool, "avgpool KERNEL [stride N] [pad N]",
     "the mean of each window, padding apart"},
    {"globalpool", NULL, 0, 0, 0, build_globalpool, "globalpool", "the mean of each channel"},
    {"globalmaxpool", NULL, 0, 0, 0, build_globalmaxpool, "globalmaxpool", "the largest of each channel"},
    {"flatten", NULL, 0, 0, 0, build_flatten, "flatten", "all dims of a sample become one"},
    {"linear", "fc", 1, 0, 0, build_linear, "linear WIDTH | linear classes",
     "fully connected; classes: as many as the data has"},
    {"bn", "bn", 0, 0, 0, build_bn, "bn", "batch norm"},
    {"layernorm", "ln", 0, 0, 0, build_layernorm, "layernorm", "layer norm over the last dim"},
    {"dropout", NULL, 0, 0, REAL, build_dropout, "dropout P", "while training, each number is 0 with probability P"},
    {"relu", NULL, 0, 0, 0, build_relu, "relu", "max(x, 0)"},
    {"relu6", NULL, 0, 0, 0, build_relu6, "relu6", "min(max(x, 0), 6)"},
    {"gelu", NULL, 0, 0, 0, build_gelu, "gelu", "x times the normal distribution's function of x"},
    {"silu", NULL, 0, 0, 0, build_silu, "silu", "x sigmoid(x)"},
    {"tanh", NULL, 0, 0, 0, build_tanh, "tanh", "hyperbolic tangent"},
    {"sigmoid", NULL, 0, 0, 0, build_sigmoid, "sigmoid", "1 / (1 + exp(-x))"},
    {"residual", "res", 0, 0, BODY, build_residual, "residual(LAYERS)", "x is added to what the layers make of it"},
    {"twins", "twin", 0, 0, BODY, build_twins, "twins(LAYERS)",
     "of samples of two pictures, one behind the other in the channels: both through the same layers"},
    {"correlate", NULL, 0, 0, 0, build_correlate, "correlate",
     "of two pictures' channels: how alike each place of the first is to each of the second, a channel for each of the "
     "first, and behind them the second's own"},
    {"se", "se", 1, 0, 0, build_se, "se REDUCTION", "squeeze and excite: channels weighed by their means"},
    {"invres", "block", 1, KEY_STRIDE | KEY_EXPAND, KERNEL, build_invres,
     "invres CHANNELS KERNEL [stride N] [expand N]", "inverted residual block; expand is 6"},
    {"upsample", NULL, 0, FLAG_SMOOTH, NAME_OR_NUMBER, build_upsample, "upsample N | NAME [smooth]",
     "N times as high and wide, or as what was saved: each pixel again; smooth: between neighbours"},
    {"embed", "emb", 2, 0, 0, build_embed, "embed TOKENS WIDTH | embed tokens WIDTH",
     "numbers of tokens become channels, those of one place added up; tokens: as many as the data has"},
    {"lstm", "lstm", 1, FLAG_BOTH, 0, build_lstm, "lstm WIDTH [both]",
     "recurrent along the length; both: also backwards, twice as many channels"},
    {"gru", "gru", 1, FLAG_BOTH, 0, build_gru, "gru WIDTH [both]", "gated recurrent units, likewise"},
    {"columns", NULL, 0, 0, 0, build_columns, "columns",
     "of pictures: the channels of a column, one below the other, become those of a place in a sequence"},
    {"rows", NULL, 0, 0, 0, build_rows, "rows", "likewise of a row, as those of spectrograms, which are moments"},
    {"sequence", NULL, 0, 0, MAYBE_NUMBER, build_sequence, "sequence [CHANNELS]",
     "a sequence of what is none: rows of a picture, or numbers in a row, of so many channels one after another"},
    {"positions", "pos", 0, 0, 0, build_positions, "positions",
     "along the length, learned numbers for each place are added"},
    {"attention", "attn", 1, FLAG_CAUSAL, 0, build_attention, "attention HEADS [causal]",
     "each place of a sequence looks at all, causal: at those before it"},
    {"encoder", "enc", 1, KEY_EXPAND | FLAG_CAUSAL, MAYBE_REAL, build_encoder, "encoder HEADS [P] [expand N] [causal]",
     "a transformer's layer: attention and a feed-forward part 4 times as wide, both added, norms first, dropout P"},
    {"save", NULL, 0, 0, NAME, build_save, "save NAME", "nothing is done; concat and add get it by the name"},
    {"concat", NULL, 0, 0, NAME, build_concat, "concat NAME", "the channels that were saved, and these behind them"},
    {"add", NULL, 0, 0, NAME, build_add, "add NAME", "the sum of what was saved and this"},
    {"from", NULL, 0, 0, NAME, build_from, "from NAME", "goes on from what was saved: a branch"},
    {"input", NULL, 1, 0, KERNEL, build_input, "input NAME | input FIRST SHAPE",
     "goes on from one of several inputs, by the name that the data give it; or from numbers FIRST (from 0) and on of "
     "the sample, in a shape such as 2x1x50"},
};
enum { KINDS = (int)(sizeof kinds / sizeof kinds[0]) };
_Static_assert((int)KINDS <= 48, "builder.count has room for each kind");

int wick_net_layers(void) { return KINDS; }
const char *wick_net_layer_form(int i) { return i >= 0 && i < KINDS ? kinds[i].form : NULL; }
const char *wick_net_layer_doc(int i) { return i >= 0 && i < KINDS ? kinds[i].doc : NULL; }

/* ---- reading ----------------------------------------------------------------------------------------------------- */

typedef struct reader {
    wick_context *ctx;
    const char *text, *at;
    const char *word; /* the one at hand, and its length; 0 at the end */
    size_t length;
    layer layers[LAYERS_MAX];
    int n;
    char names[NAMES_MAX][NAME_LENGTH]; /* that were saved */
    int n_names;
} reader;

/* The next word: letters and digits, or one of "(),". */
static void next(reader *r) {
    while (*r->at == ' ' || *r->at == '\t' || *r->at == '\n') r->at++;
    r->word = r->at;
    r->length = strcspn(r->at, " \t\n(),");
    if (!r->length && *r->at) r->length = 1;
    r->at += r->length;
}
static bool is(const reader *r, const char *word) {
    return r->length == strlen(word) && !memcmp(r->word, word, r->length);
}
static bool at_end_of_layer(const reader *r) { return !r->length || is(r, ",") || is(r, ")") || is(r, "("); }

static wick_status wrong(const reader *r, const char *why) {
    if (!r->length) return wick_context_fail(r->ctx, WICK_ERR_INVALID, "net: at the end: %s", why);
    return wick_context_fail(r->ctx, WICK_ERR_INVALID, "net: column %d, \"%.*s\": %s", (int)(r->word - r->text) + 1,
                             r->length > 40 ? 40 : (int)r->length, r->word, why);
}

/* Digits only; false: something else, or too large. */
static bool whole(const reader *r, int64_t least, int64_t *value) {
    *value = 0;
    for (size_t i = 0; i < r->length; i++) {
        if (r->word[i] < '0' || r->word[i] > '9' || *value > NUMBER_MAX) return false;
        *value = *value * 10 + (r->word[i] - '0');
    }
    return r->length && *value >= least && *value <= NUMBER_MAX;
}

/* "3" or "1x9", and so on, of up to three dims. */
static bool extents_of(const reader *r, int64_t least, extents *to) {
    reader part = *r;
    to->n = 0;
    for (size_t begin = 0; begin <= r->length; begin += part.length + 1) {
        part.word = r->word + begin;
        part.length = 0;
        while (begin + part.length < r->length && part.word[part.length] != 'x') part.length++;
        if (to->n == 3 || !whole(&part, least, &to->at[to->n])) return false;
        to->n++;
    }
    return true;
}

static wick_status read_options(reader *r, layer *l) {
    unsigned seen = 0;
    while (!at_end_of_layer(r)) {
        int w = 0;
        while (w < WORDS && !is(r, words[w].word)) w++;
        char why[200];
        snprintf(why, sizeof why, "does not belong here; the form is: %s", kinds[l->kind].form);
        if (w == WORDS || !(kinds[l->kind].options & words[w].bit)) return wrong(r, why);
        if (seen & words[w].bit) return wrong(r, "is given twice");
        seen |= words[w].bit;
        if (words[w].bit & FLAGS) {
            *(words[w].bit == FLAG_SAME     ? &l->same
              : words[w].bit == FLAG_SMOOTH ? &l->smooth
              : words[w].bit == FLAG_BOTH   ? &l->both
              : words[w].bit == FLAG_CAUSAL ? &l->causal
                                            : &l->no_bias) = true;
            next(r);
            continue;
        }
        next(r);
        extents *to = words[w].bit == KEY_STRIDE     ? &l->stride
                      : words[w].bit == KEY_PAD      ? &l->pad
                      : words[w].bit == KEY_DILATION ? &l->dilation
                                                     : NULL;
        snprintf(why, sizeof why, "a whole number%s belongs after \"%s\"", words[w].bit == KEY_PAD ? "" : " from 1 on",
                 words[w].word);
        if (!(to ? extents_of(r, words[w].bit != KEY_PAD, to)
                 : whole(r, 1, words[w].bit == KEY_GROUPS ? &l->groups : &l->expand)))
            return wrong(r, why);
        next(r);
    }
    if (l->same + l->causal + ((seen & KEY_PAD) != 0) > 1) return wrong(r, "pad, same and causal exclude each other");
    if (l->causal && l->stride.n) return wrong(r, "causal layers have no stride");
    return WICK_OK;
}

/* The name at hand: new after save, known after the others. */
static wick_status read_name(reader *r, layer *l, bool is_new) {
    int k = 0;
    if (at_end_of_layer(r)) return wrong(r, "a name belongs here, such as a");
    if (r->length >= NAME_LENGTH) return wrong(r, "is too long for a name (23 letters at most)");
    if (r->word[0] >= '0' && r->word[0] <= '9') return wrong(r, "a name begins with a letter");
    while (k < r->n_names && !is(r, r->names[k])) k++;
    if (is_new && k < r->n_names) return wrong(r, "is saved already");
    if (!is_new && k == r->n_names) return wrong(r, "nothing was saved by this name before");
    if (k == NAMES_MAX) return wrong(r, "is one name too many (32 at most)");
    if (is_new) memcpy(r->names[r->n_names++], r->word, r->length);
    l->place = k + 1;
    next(r);
    return WICK_OK;
}

static wick_status read_list(reader *r, int depth);

static wick_status read_layer(reader *r, int depth) {
    int kind = 0;
    while (kind < KINDS && !is(r, kinds[kind].word)) kind++;
    if (kind == KINDS) {
        char why[512];
        int used = snprintf(why, sizeof why, "is no layer; there are");
        for (int i = 0; i < KINDS && used < (int)sizeof why; i++)
            used += snprintf(why + used, sizeof why - (size_t)used, "%s %s", i ? "," : "", kinds[i].word);
        return wrong(r, why);
    }
    if (r->n == LAYERS_MAX) return wrong(r, "is one layer too many (256 at most)");
    layer *l = &r->layers[r->n++];
    *l = (layer){.kind = kind};
    char why[200];
    snprintf(why, sizeof why, "a number belongs here; the form is: %s", kinds[kind].form);
    next(r);
    if (kinds[kind].build == build_input && !at_end_of_layer(r) && !(r->word[0] >= '0' && r->word[0] <= '9')) {
        l->n[0] = TOKENS;
        next(r);
        return at_end_of_layer(r) && !is(r, "(") ? WICK_OK : wrong(r, "\",\" belongs here");
    }
    for (int i = 0; i < kinds[kind].numbers; i++) {
        if (i == 0 && (kinds[kind].build == build_linear || kinds[kind].build == build_conv) && is(r, "classes"))
            l->n[i] = CLASSES;
        else if (i == 0 && kinds[kind].build == build_embed && is(r, "tokens"))
            l->n[i] = TOKENS;
        else if (at_end_of_layer(r) || !whole(r, kinds[kind].build != build_input, &l->n[i]))
            return wrong(r, why);
        next(r);
    }
    if (kinds[kind].what & KERNEL) {
        if (at_end_of_layer(r) || !extents_of(r, 1, &l->kernel)) return wrong(r, why);
        next(r);
    }
    const bool digit = r->length && ((r->word[0] >= '0' && r->word[0] <= '9') || r->word[0] == '.');
    if (kinds[kind].what & MAYBE_NUMBER && digit) {
        if (!whole(r, 1, &l->n[0])) return wrong(r, why);
        next(r);
    }
    if (kinds[kind].what & REAL || (kinds[kind].what & MAYBE_REAL && digit)) {
        if (!wick_zoo_fraction(r->word, at_end_of_layer(r) ? 0 : r->length, &l->p) || l->p >= 1)
            return wrong(r, "a probability in [0, 1) belongs here, written 0.25");
        next(r);
    }
    if (kinds[kind].what & BODY) {
        const int self = r->n - 1;
        if (!is(r, "(")) return wrong(r, "\"(\" and layers belong here");
        if (depth == DEPTH_MAX) return wrong(r, "is nested too deeply (8 at most)");
        next(r);
        WICK_ZOO_TRY(read_list(r, depth + 1));
        if (!is(r, ")")) return wrong(r, "\")\" or \",\" belongs here");
        r->layers[self].end = r->n;
        next(r);
        return at_end_of_layer(r) && !is(r, "(") ? WICK_OK : wrong(r, "\",\" belongs here");
    }
    const bool number = r->length && r->word[0] >= '0' && r->word[0] <= '9';
    if (kinds[kind].what & NAME_OR_NUMBER && (number || at_end_of_layer(r))) {
        if (!whole(r, 1, &l->n[0])) return wrong(r, why);
        next(r);
    } else if (kinds[kind].what & (NAME | NAME_OR_NUMBER)) {
        WICK_ZOO_TRY(read_name(r, l, kinds[kind].build == build_save));
    }
    WICK_ZOO_TRY(read_options(r, l));
    return is(r, "(") ? wrong(r, "this layer has no layers inside") : WICK_OK;
}

static wick_status read_list(reader *r, int depth) {
    for (;;) {
        if (!r->length || is(r, ",") || is(r, ")")) return wrong(r, "a layer belongs here");
        WICK_ZOO_TRY(read_layer(r, depth));
        if (!is(r, ",")) return WICK_OK;
        next(r);
    }
}

static wick_status read_net(reader *r, wick_context *ctx, const char *text) {
    r->ctx = ctx;
    r->text = r->at = text ? text : "";
    r->n = r->n_names = 0;
    memset(r->names, 0, sizeof r->names);
    next(r);
    WICK_ZOO_TRY(read_list(r, 0));
    return r->length ? wrong(r, "\",\" belongs here") : WICK_OK;
}

/* ---- building ---------------------------------------------------------------------------------------------------- */

static wick_tensor *build_range(builder *b, int begin, int end, wick_tensor *x) {
    for (int i = begin; i < end; i = b->layers[i].end ? b->layers[i].end : i + 1) {
        char name[32] = "";
        const layer *l = &b->layers[i];
        if (kinds[l->kind].prefix) name_of(b, l->kind, kinds[l->kind].prefix, name);
        x = kinds[l->kind].build(b, l, name, x);
        if (wick_tensor_error(x, NULL) != WICK_OK) return x;
    }
    return x;
}

wick_status wick_net_check(wick_context *ctx, const char *text) {
    reader r;
    return read_net(&r, ctx, text);
}

wick_tensor *wick_net(wick_model *model, const char *text, wick_tensor *x, int64_t classes) {
    wick_context *ctx = wick_model_context(model);
    reader r;
    const wick_status status = read_net(&r, ctx, text);
    if (status != WICK_OK) return wick_poison(ctx, status, "%s", wick_context_error(ctx));
    builder b = {.layers = r.layers,
                 .model = model,
                 .classes = classes,
                 .names = (const char(*)[NAME_LENGTH])r.names,
                 .samples = x};
    return build_range(&b, 0, r.n, x);
}
