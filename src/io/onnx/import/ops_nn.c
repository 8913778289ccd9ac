/* ops_nn.c: products, convolutions, pooling, normalisation. */
#define WICK_NO_SITES
#include <math.h>

#include "io/onnx/onnx.h"
#include "ops/ops.h"
#include "wick/image.h"
#include "wick/index.h"
#include "wick/linalg.h"
#include "wick/pointwise.h"
#include "wick/reduce.h"
#include "wick/sequence.h"
#include "wick/shape.h"

/* v [C] as [C, 1, ...], to go with axis 1 of x. */
static wick_tensor *by_channel(wick_tensor *v, wick_tensor *x) {
    int64_t dims[WICK_MAX_DIMS] = {wick_tensor_count(v), 1, 1, 1, 1, 1, 1, 1};
    return wick_reshape(v, WICK_MAX(wick_tensor_rank(x) - 1, 1), dims);
}

/* ---- products ---------------------------------------------------------------------------------------------------- */

static void matmul(onnx_call *c) {
    wick_tensor *a = wick_onnx_tensor(c, 0), *b = a ? wick_onnx_tensor(c, 1) : NULL;
    if (b) wick_onnx_set(c, 0, wick_matmul(a, b));
}

static wick_tensor *scaled(wick_tensor *x, double by) {
    return by == 1 ? x
                   : wick_cast(wick_mul(x, wick_constant(wick_tensor_context(x),
                                                         wick_onnx_is_float(x) ? wick_tensor_dtype(x) : WICK_F64, by)),
                               wick_tensor_dtype(x));
}

static void gemm(onnx_call *c) {
    wick_tensor *a = wick_onnx_tensor(c, 0), *b = a ? wick_onnx_tensor(c, 1) : NULL, *add = wick_onnx_optional(c, 2);
    if (!b) return;
    if (wick_onnx_int(c, "transA", 0)) a = wick_transpose(a, 0, 1);
    if (wick_onnx_int(c, "transB", 0)) b = wick_transpose(b, 0, 1);
    wick_tensor *y = scaled(wick_matmul(a, b), wick_onnx_float(c, "alpha", 1));
    const double beta = wick_onnx_float(c, "beta", 1);
    if (add && beta != 0) y = wick_add(y, scaled(add, beta));
    wick_onnx_set(c, 0, y);
}

static void einsum(onnx_call *c) {
    wick_tensor **xs = wick_onnx_alloc(c, (size_t)c->n_in, sizeof(wick_tensor *));
    for (int i = 0; i < c->n_in && xs; i++)
        if (!(xs[i] = wick_onnx_tensor(c, i))) return;
    const wick_bytes text = wick_onnx_text(c, "equation", "");
    char equation[256];
    if (!xs) return;
    if (text.size >= sizeof equation || memchr(text.at, 0, text.size)) {
        wick_onnx_fail(c, WICK_ERR_FORMAT, "equation of %zu bytes", text.size);
        return;
    }
    memcpy(equation, text.at, text.size);
    equation[text.size] = 0;
    wick_onnx_set(c, 0, wick_einsum(equation, c->n_in, xs));
}

static void det(onnx_call *c) {
    wick_tensor *x = wick_onnx_tensor(c, 0);
    if (x) wick_onnx_set(c, 0, wick_det(x));
}

/* ---- windows: what convolutions and pooling share ---------------------------------------------------------------- */

typedef struct window {
    int n; /* dims */
    int64_t in[3], kernel[3], stride[3], dilation[3], before[3], after[3], out[3];
} window;

static bool numbers(onnx_call *c, const char *name, int n, int64_t out[3], int64_t otherwise, int64_t least) {
    int have;
    const int64_t *list = wick_onnx_ints(c, name, &have);
    if (list && have != n) return wick_onnx_fail(c, WICK_ERR_SHAPE, "%s has %d values, not %d", name, have, n);
    for (int i = 0; i < n; i++) {
        out[i] = list ? list[i] : otherwise;
        if (out[i] < least || out[i] > (int64_t)1 << 40)
            return wick_onnx_fail(c, WICK_ERR_SHAPE, "%s[%d] is %lld", name, i, (long long)out[i]);
    }
    return true;
}

/* kernel is set by the caller. Rounding up as in ONNX: a window that begins in the padding behind is left out. */
static bool read_window(onnx_call *c, wick_tensor *x, window *w) {
    const int rank = wick_tensor_rank(x);
    if (rank < 3 || rank > 5) return wick_onnx_fail(c, WICK_ERR_UNSUPPORTED, "%d dims; 3 to 5 are", rank);
    w->n = rank - 2;
    const bool ceil_mode = wick_onnx_int(c, "ceil_mode", 0);
    if (!numbers(c, "strides", w->n, w->stride, 1, 1) || !numbers(c, "dilations", w->n, w->dilation, 1, 1))
        return false;
    int n;
    const int64_t *pads = wick_onnx_ints(c, "pads", &n);
    if (pads && n != 2 * w->n) return wick_onnx_fail(c, WICK_ERR_SHAPE, "pads has %d values, not %d", n, 2 * w->n);
    const wick_bytes mode = wick_onnx_text(c, "auto_pad", "NOTSET");
    const bool upper = wick_bytes_are(mode, "SAME_UPPER"), lower = wick_bytes_are(mode, "SAME_LOWER"),
               valid = wick_bytes_are(mode, "VALID");
    for (int i = 0; i < w->n; i++) {
        const int64_t in = w->in[i] = wick_tensor_dim(x, i + 2), span = w->dilation[i] * (w->kernel[i] - 1) + 1;
        w->before[i] = pads && !upper && !lower && !valid ? pads[i] : 0;
        w->after[i] = pads && !upper && !lower && !valid ? pads[w->n + i] : 0;
        if (w->before[i] < 0 || w->after[i] < 0 || w->before[i] > (int64_t)1 << 40 || w->after[i] > (int64_t)1 << 40)
            return wick_onnx_fail(c, WICK_ERR_SHAPE, "pads are out of range");
        if (upper || lower) {
            const int64_t out = (in + w->stride[i] - 1) / w->stride[i],
                          total = WICK_MAX((out - 1) * w->stride[i] + span - in, 0);
            w->before[i] = lower ? total - total / 2 : total / 2;
            w->after[i] = total - w->before[i];
        }
        const int64_t room = in + w->before[i] + w->after[i] - span;
        if (room < 0 && ceil_mode && room > -w->stride[i]) { /* one window, which reaches out of the end */
            w->out[i] = 1;
            continue;
        }
        if (room < 0)
            return wick_onnx_fail(c, WICK_ERR_SHAPE,
                                  "the kernel covers %lld places of axis %d, which has %lld with padding",
                                  (long long)span, i + 2, (long long)(room + span));
        w->out[i] = room / w->stride[i] + 1;
        if (ceil_mode && room % w->stride[i]) {
            w->out[i]++;
            if ((w->out[i] - 1) * w->stride[i] >= in + w->before[i]) w->out[i]--;
        }
    }
    return true;
}

static wick_conv_options conv_options(const window *w, int64_t groups) {
    wick_conv_options o = {.groups = groups};
    for (int i = 0; i < w->n; i++) {
        o.stride[i] = w->stride[i];
        o.dilation[i] = w->dilation[i];
        o.pad[i] = w->before[i];
        o.pad_end[i] = w->after[i] - w->before[i];
    }
    return o;
}

/* Whether kernel_shape, if it is there, is what W [out, in, kernel ...] says. */
static bool kernel_fits(onnx_call *c, wick_tensor *w) {
    int n;
    const int64_t *kernel = wick_onnx_ints(c, "kernel_shape", &n);
    if (!kernel) return c->status == WICK_OK;
    if (n != wick_tensor_rank(w) - 2)
        return wick_onnx_fail(c, WICK_ERR_SHAPE, "kernel_shape has %d values, W %d dims", n, wick_tensor_rank(w));
    for (int i = 0; i < n; i++)
        if (kernel[i] != wick_tensor_dim(w, i + 2))
            return wick_onnx_fail(c, WICK_ERR_SHAPE, "kernel_shape[%d] is %lld, but W has %lld there", i,
                                  (long long)kernel[i], (long long)wick_tensor_dim(w, i + 2));
    return true;
}

bool wick_onnx_conv_options(onnx_call *c, wick_tensor *x, wick_tensor *w, wick_conv_options *out, int64_t size[3]) {
    window win = {0};
    if (wick_tensor_rank(w) != wick_tensor_rank(x) || wick_tensor_rank(x) < 3 || wick_tensor_rank(x) > 5)
        return wick_onnx_fail(c, WICK_ERR_SHAPE, "x has %d dims, W %d; both must have the same, 3 to 5",
                              wick_tensor_rank(x), wick_tensor_rank(w));
    for (int i = 0; i < wick_tensor_rank(w) - 2; i++) win.kernel[i] = wick_tensor_dim(w, i + 2);
    if (!kernel_fits(c, w) || !read_window(c, x, &win)) return false;
    if (size) memcpy(size, win.out, sizeof win.out);
    *out = conv_options(&win, wick_onnx_int(c, "group", 1));
    /* also of com.microsoft */
    if (out->groups < 1)
        return wick_onnx_fail(c, WICK_ERR_FORMAT, "attribute \"group\" is %lld", (long long)out->groups);
    return true;
}

static void conv(onnx_call *c) {
    wick_tensor *x = wick_onnx_tensor(c, 0), *w = x ? wick_onnx_tensor(c, 1) : NULL, *b = wick_onnx_optional(c, 2);
    wick_conv_options o;
    if (w && wick_onnx_conv_options(c, x, w, &o, NULL)) wick_onnx_set(c, 0, wick_conv(x, w, b, &o));
}

static void conv_transpose(onnx_call *c) {
    wick_tensor *x = wick_onnx_tensor(c, 0), *w = x ? wick_onnx_tensor(c, 1) : NULL, *b = wick_onnx_optional(c, 2);
    if (!w) return;
    const int n = wick_tensor_rank(x) - 2;
    if (n < 1 || n > 3 || wick_tensor_rank(w) != n + 2) {
        wick_onnx_fail(c, WICK_ERR_SHAPE, "x has %d dims, W %d; both must have the same, 3 to 5", wick_tensor_rank(x),
                       wick_tensor_rank(w));
        return;
    }
    wick_conv_options o = {.groups = wick_onnx_int(c, "group", 1)};
    int64_t stride[3], dilation[3], extra[3];
    if (!kernel_fits(c, w) || !numbers(c, "strides", n, stride, 1, 1) || !numbers(c, "dilations", n, dilation, 1, 1) ||
        !numbers(c, "output_padding", n, extra, 0, 0))
        return;
    int n_pads, n_shape;
    const int64_t *pads = wick_onnx_ints(c, "pads", &n_pads), *want = wick_onnx_ints(c, "output_shape", &n_shape);
    if (pads && n_pads != 2 * n) {
        wick_onnx_fail(c, WICK_ERR_SHAPE, "pads has %d values, not %d", n_pads, 2 * n);
        return;
    }
    if (want && n_shape != n && n_shape != n + 2) { /* also with those of batch and channels */
        wick_onnx_fail(c, WICK_ERR_SHAPE, "output_shape has %d values, not %d", n_shape, n);
        return;
    }
    const wick_bytes mode = wick_onnx_text(c, "auto_pad", "NOTSET");
    const bool upper = wick_bytes_are(mode, "SAME_UPPER"), lower = wick_bytes_are(mode, "SAME_LOWER"),
               valid = wick_bytes_are(mode, "VALID");
    int64_t crop[2][WICK_MAX_DIMS] = {{0}};
    bool cropped = false;
    for (int i = 0; i < n; i++) {
        const int64_t in = wick_tensor_dim(x, i + 2), span = dilation[i] * (wick_tensor_dim(w, i + 2) - 1) + 1,
                      full = stride[i] * (in - 1) + extra[i] + span;
        int64_t before = pads && !valid ? pads[i] : 0, after = pads && !valid ? pads[n + i] : 0;
        const int64_t *dims = want ? want + (n_shape - n) : NULL;
        if (dims || upper || lower) {
            /* The odd one lies in front unless SAME_UPPER says otherwise. What is longer than all windows reach is
             * longer at its end, as in ONNX Runtime. */
            const int64_t out = dims ? dims[i] : in * stride[i], total = full - out;
            before = total < 0 ? 0 : upper ? total / 2 : total - total / 2;
            after = total - before;
        }
        o.stride[i] = stride[i];
        o.dilation[i] = dilation[i];
        if (extra[i] < stride[i]) {
            o.output_pad[i] = extra[i];
            o.pad[i] = WICK_MAX(before, 0);
            o.pad_end[i] = WICK_MAX(after, 0) - o.pad[i];
            crop[0][i + 2] = before < 0 ? -before : 0;
            crop[1][i + 2] = after < 0 ? -after : 0;
        } else {
            crop[0][i + 2] = -before;
            crop[1][i + 2] = extra[i] - after;
        }
        cropped |= crop[0][i + 2] || crop[1][i + 2];
    }
    wick_tensor *y = wick_conv_transpose(x, w, cropped ? NULL : b, &o);
    if (cropped) {
        y = wick_pad(y, n + 2, crop[0], crop[1], 0);
        if (b) y = wick_add(y, by_channel(b, y));
    }
    wick_onnx_set(c, 0, y);
}

/* ---- pooling ----------------------------------------------------------------------------------------------------- */

/* x with its padding made, so that windows lie inside of it; what no window sees is cut off. */
static wick_tensor *padded(wick_tensor *x, const window *w, double value) {
    int64_t before[WICK_MAX_DIMS] = {0}, after[WICK_MAX_DIMS] = {0};
    for (int i = 0; i < w->n; i++) {
        before[i + 2] = w->before[i];
        after[i + 2] =
            (w->out[i] - 1) * w->stride[i] + w->dilation[i] * (w->kernel[i] - 1) + 1 - w->in[i] - w->before[i];
    }
    return wick_pad(x, wick_tensor_rank(x), before, after, value);
}

/* Whether Wick's pooling says these windows itself; and how, then. The largest passes over padding, so that there may
 * be as much as the last window needs. */
static bool plain(const window *w, bool max, wick_pool_options *o) {
    *o = (wick_pool_options){0};
    for (int i = 0; i < w->n; i++) {
        const int64_t span = w->dilation[i] * (w->kernel[i] - 1) + 1,
                      end = (w->out[i] - 1) * w->stride[i] + span - w->in[i] - w->before[i];
        const int64_t after = max ? WICK_MAX(end, 0) : w->after[i], room = w->in[i] + w->before[i] + after - span;
        if (w->before[i] > w->kernel[i] / 2 || (after > w->before[i] && after >= span) || room < 0) return false;
        if (w->out[i] != room / w->stride[i] + 1) o->ceil_mode = true;
        o->kernel[i] = w->kernel[i];
        o->stride[i] = w->stride[i];
        o->dilation[i] = w->dilation[i];
        o->pad[i] = w->before[i];
        o->pad_end[i] = after - w->before[i];
    }
    return true;
}

static wick_pool_options pool_options(const window *w) { /* of what is padded already */
    wick_pool_options o = {0};
    for (int i = 0; i < w->n; i++) {
        o.kernel[i] = w->kernel[i];
        o.stride[i] = w->stride[i];
        o.dilation[i] = w->dilation[i];
    }
    return o;
}

static bool pool_window(onnx_call *c, wick_tensor *x, window *w) {
    *w = (window){0};
    const int n = wick_tensor_rank(x) - 2;
    if (n < 1 || n > 3) return wick_onnx_fail(c, WICK_ERR_UNSUPPORTED, "%d dims; 3 to 5 are", n + 2);
    if (!numbers(c, "kernel_shape", n, w->kernel, 0, 1) || !read_window(c, x, w)) return false;
    for (int i = 0; i < n; i++) {
        const int64_t span = w->dilation[i] * (w->kernel[i] - 1) + 1;
        if (WICK_MAX(w->before[i], w->after[i]) >= span)
            return wick_onnx_fail(c, WICK_ERR_SHAPE,
                                  "axis %d is padded by %lld and %lld, which hold all of a window of %lld", i + 2,
                                  (long long)w->before[i], (long long)w->after[i], (long long)span);
    }
    return true;
}

static void max_pool(onnx_call *c) {
    wick_tensor *x = wick_onnx_tensor(c, 0);
    window w;
    if (!x || !pool_window(c, x, &w)) return;
    const wick_dtype dtype = wick_tensor_dtype(x);
    wick_tensor *values = wick_onnx_is_float(x) ? x : wick_cast(x, WICK_F32); /* int8 and uint8, exactly */
    wick_pool_options o;
    const bool direct = plain(&w, true, &o);
    if (!direct) o = pool_options(&w);
    wick_tensor *p = direct ? values : padded(values, &w, -INFINITY);
    wick_onnx_set(c, 0, wick_as(wick_max_pool(p, &o), dtype));
    if (!wick_onnx_wants(c, 1)) return;

    /* Places in the padded dims become places in x's, and those of the whole tensor; column by column if so ordered. */
    wick_tensor *at = wick_max_pool_indices(p, &o), *place = NULL;
    const bool columns = wick_onnx_int(c, "storage_order", 0);
    int64_t factor[3], rows = 1;
    for (int i = 0; i < w.n; i++) {
        const int k = columns ? i : w.n - 1 - i;
        factor[k] = rows;
        rows *= w.in[k];
    }
    for (int i = w.n - 1; i >= 0; i--) {
        const double extent = (double)wick_tensor_dim(p, i + 2);
        wick_tensor *here = i ? wick_remainder(at, wick_like(at, extent)) : at;
        if (!direct) here = wick_sub(here, wick_like(here, (double)w.before[i]));
        here = wick_mul(here, wick_like(here, (double)factor[i]));
        place = place ? wick_add(place, here) : here;
        at = wick_floor_divide(at, wick_like(at, extent));
    }
    const int64_t images = wick_tensor_dim(x, 0) * wick_tensor_dim(x, 1);
    int64_t dims[WICK_MAX_DIMS] = {wick_tensor_dim(x, 0), wick_tensor_dim(x, 1), 1, 1, 1};
    wick_tensor *base = wick_reshape(wick_arange(c->ctx, WICK_I64, 0, (double)rows, images), w.n + 2, dims);
    wick_onnx_set(c, 1, wick_add(place, base));
}

/* How many places each window counts, [1, 1, out ...]: without padding, or with what was asked for, but never what
 * rounding up added. */
static wick_tensor *window_counts(onnx_call *c, const window *w, bool with_pads, wick_dtype dtype) {
    wick_tensor *all = NULL;
    for (int i = 0; i < w->n; i++) {
        double *counts = wick_onnx_alloc(c, (size_t)w->out[i], sizeof *counts);
        if (!counts) return NULL;
        const int64_t low = with_pads ? -w->before[i] : 0, high = w->in[i] + (with_pads ? w->after[i] : 0);
        for (int64_t o = 0; o < w->out[i]; o++) { /* k of the kernel's places with low <= at + k dilation < high */
            const int64_t at = o * w->stride[i] - w->before[i], step = w->dilation[i];
            const int64_t first = at < low ? (low - at + step - 1) / step : 0,
                          end = at < high ? (high - at + step - 1) / step : 0;
            counts[o] = (double)WICK_MAX(WICK_MIN(end, w->kernel[i]) - first, 0);
        }
        int64_t dims[WICK_MAX_DIMS] = {1, 1, 1, 1, 1};
        dims[i + 2] = w->out[i];
        wick_tensor *one = wick_from(c->ctx, WICK_F64, w->n + 2, dims, counts);
        all = all ? wick_mul(all, one) : one;
    }
    return wick_cast(all, dtype);
}

static void average_pool(onnx_call *c) {
    wick_tensor *x = wick_onnx_tensor(c, 0);
    window w;
    if (!x || !pool_window(c, x, &w)) return;
    const bool with_pads = wick_onnx_int(c, "count_include_pad", 0);
    bool dilated = false;
    double area = 1;
    for (int i = 0; i < w.n; i++) dilated |= w.dilation[i] != 1, area *= (double)w.kernel[i];
    wick_pool_options o;
    if (plain(&w, false, &o) && !dilated) {
        o.exclude_pad = !with_pads;
        wick_onnx_set(c, 0, wick_avg_pool(x, &o));
        return;
    }
    wick_tensor *sum = padded(x, &w, 0), *counts = window_counts(c, &w, with_pads, wick_tensor_dtype(x));
    if (!counts) return;
    if (!dilated) {
        o = pool_options(&w);
        sum = wick_mul(wick_avg_pool(sum, &o), wick_like(sum, area));
    } else
        for (int i = 0; i < w.n; i++) {
            const int axis = i + 2, last = wick_tensor_rank(sum);
            sum = wick_sum(wick_sliding_window(sum, axis, w.kernel[i], w.stride[i], w.dilation[i]), 1, &last, false);
        }
    wick_onnx_set(c, 0, wick_div(sum, counts));
}

static void lp_pool(onnx_call *c) {
    wick_tensor *x = wick_onnx_tensor(c, 0);
    window w;
    if (!x || !pool_window(c, x, &w)) return;
    const wick_pool_options o = pool_options(&w);
    const double p = c->opset < 2 ? wick_onnx_float(c, "p", 2) : (double)wick_onnx_int(c, "p", 2);
    bool dilated = false;
    for (int i = 0; i < w.n; i++) dilated |= w.dilation[i] != 1;
    x = padded(x, &w, 0);
    if (!dilated) {
        wick_onnx_set(c, 0, wick_lp_pool(x, p, &o));
        return;
    }
    x = wick_pow(wick_abs(x), wick_like(x, p));
    for (int i = 0; i < w.n; i++)
        x = wick_sum(wick_sliding_window(x, i + 2, w.kernel[i], w.stride[i], w.dilation[i]), 1, &(int){-1}, false);
    wick_onnx_set(c, 0, wick_pow(x, wick_like(x, 1 / p)));
}

static wick_tensor *over_places(onnx_call *c, wick_tensor *x,
                                wick_tensor *(*f)(wick_tensor *, int, const int *, bool)) {
    int axes[WICK_MAX_DIMS], n = 0;
    for (int i = 2; i < wick_tensor_rank(x); i++) axes[n++] = i;
    if (!n) return wick_onnx_fail(c, WICK_ERR_SHAPE, "%d dims; 3 and more are pooled", wick_tensor_rank(x)), NULL;
    return f(x, n, axes, true);
}
static void global_average_pool(onnx_call *c) {
    wick_tensor *x = wick_onnx_tensor(c, 0);
    if (x) wick_onnx_set(c, 0, over_places(c, x, wick_mean));
}
static void global_max_pool(onnx_call *c) {
    wick_tensor *x = wick_onnx_tensor(c, 0);
    if (x) wick_onnx_set(c, 0, over_places(c, x, wick_max));
}
static void global_lp_pool(onnx_call *c) {
    wick_tensor *x = wick_onnx_tensor(c, 0);
    if (!x) return;
    int axes[WICK_MAX_DIMS], n = 0;
    for (int i = 2; i < wick_tensor_rank(x); i++) axes[n++] = i;
    wick_onnx_set(
        c, 0,
        wick_norm(x, c->opset < 2 ? wick_onnx_float(c, "p", 2) : (double)wick_onnx_int(c, "p", 2), n, axes, true));
}

/* Indices are places of whole tensors with the extents that the windows make; output_shape may ask for larger ones. */
static void max_unpool(onnx_call *c) {
    wick_tensor *x = wick_onnx_tensor(c, 0), *at = x ? wick_onnx_tensor(c, 1) : NULL;
    const int n = at ? wick_tensor_rank(x) - 2 : 0;
    int64_t kernel[3], stride[3], made[3], size[3], places = 1;
    int n_pads;
    onnx_host want = {0};
    if (!at || (wick_onnx_has(c, 2) && !wick_onnx_host(c, 2, &want))) return;
    const int64_t *pads = wick_onnx_ints(c, "pads", &n_pads);
    if (n < 1 || n > 3 || (pads && n_pads != 2 * n) || (want.n && want.n != n + 2)) {
        wick_onnx_fail(c, WICK_ERR_SHAPE, "%d dims (3 to 5 are), %d pads, %lld extents asked for", n + 2, n_pads,
                       (long long)want.n);
        return;
    }
    if (!numbers(c, "kernel_shape", n, kernel, 1, 1) || !numbers(c, "strides", n, stride, 1, 1)) return;
    bool same = true;
    for (int i = 0; i < n; i++) {
        made[i] = (wick_tensor_dim(x, i + 2) - 1) * stride[i] + kernel[i] - (pads ? pads[i] + pads[n + i] : 0);
        size[i] = want.n ? want.ints[i + 2] : made[i];
        if (made[i] < 1 || size[i] < 1) {
            wick_onnx_fail(c, WICK_ERR_SHAPE, "axis %d would have %lld places of %lld", i + 2, (long long)made[i],
                           (long long)size[i]);
            return;
        }
        same &= size[i] == made[i];
        places *= made[i];
    }
    /* Places of the one image; what is not of this image is -1, an error when it runs. */
    const int64_t images = wick_tensor_dim(x, 0) * wick_tensor_dim(x, 1);
    int64_t dims[WICK_MAX_DIMS] = {wick_tensor_dim(x, 0), wick_tensor_dim(x, 1), 1, 1, 1};
    wick_tensor *rest =
                    wick_sub(at, wick_reshape(wick_arange(c->ctx, WICK_I64, 0, (double)places, images), n + 2, dims)),
                *to = same ? rest : NULL;
    wick_tensor *inside =
        wick_logical_and(wick_ge(rest, wick_like(rest, 0)), wick_lt(rest, wick_like(rest, (double)places)));
    int64_t factor = 1;
    for (int i = n - 1; i >= 0 && !same; factor *= size[i--]) { /* rows of one lie in the other */
        wick_tensor *here =
            wick_mul(wick_remainder(rest, wick_like(rest, (double)made[i])), wick_like(rest, (double)factor));
        to = to ? wick_add(to, here) : here;
        rest = wick_floor_divide(rest, wick_like(rest, (double)made[i]));
    }
    wick_onnx_set(c, 0, wick_max_unpool(x, wick_where(inside, to, wick_like(to, -1)), size));
}

/* ---- normalisation ----------------------------------------------------------------------------------------------- */

static wick_tensor *mixed(wick_tensor *was, wick_tensor *now, double momentum) {
    return wick_cast(wick_add(scaled(was, momentum), scaled(now, 1 - momentum)), wick_tensor_dtype(was));
}

/* spatial 0: each element of a sample by itself, with statistics over the samples. t: x, scale, bias, mean, variance,
 * all but x of a sample's shape. */
static void by_element(onnx_call *c, wick_tensor *t[5], bool training) {
    wick_tensor *x = t[0];
    const int rank = wick_tensor_rank(x), first = 0;
    if (rank < 1) {
        wick_onnx_fail(c, WICK_ERR_SHAPE, "X has no axis of samples");
        return;
    }
    for (int i = 1; i < 5; i++) t[i] = wick_reshape(t[i], rank - 1, wick_tensor_dims(x) + 1);
    wick_tensor *mean = t[3], *var = t[4];
    if (training) {
        mean = wick_mean(x, 1, &first, false), var = wick_var(x, 1, &first, 0, false);
        wick_onnx_set(c, 1, mixed(t[3], mean, wick_onnx_float(c, "momentum", 0.9f)));
        wick_onnx_set(c, 2, mixed(t[4], var, wick_onnx_float(c, "momentum", 0.9f)));
    }
    wick_tensor *inv = wick_rsqrt(wick_add(var, wick_like(var, wick_onnx_float(c, "epsilon", 1e-5f))));
    wick_onnx_set(c, 0, wick_add(wick_mul(wick_mul(wick_sub(x, mean), inv), t[1]), t[2]));
}

static void batch_norm(onnx_call *c) {
    wick_tensor *t[5];
    for (int i = 0; i < 5; i++)
        if (!(t[i] = wick_onnx_tensor(c, i))) return;
    wick_tensor *x = t[0], *mean = t[3], *var = t[4];
    const double eps = wick_onnx_float(c, "epsilon", 1e-5f), momentum = wick_onnx_float(c, "momentum", 0.9f);
    const bool training = c->opset >= 14 ? wick_onnx_int(c, "training_mode", 0) != 0
                                         : c->opset < 7 && !wick_onnx_int(c, "is_test", 0) && c->n_out > 1;
    if (c->opset < 9 && !wick_onnx_int(c, "spatial", 1)) {
        by_element(c, t, training);
        return;
    }
    if (c->opset >= 14 && !training && (wick_onnx_wants(c, 1) || wick_onnx_wants(c, 2))) {
        wick_onnx_fail(c, WICK_ERR_FORMAT, "has %d outputs, but training_mode is 0", c->n_out);
        return;
    }
    if (training) {
        int axes[WICK_MAX_DIMS], n = 0;
        for (int i = 0; i < wick_tensor_rank(x); i++)
            if (i != 1) axes[n++] = i;
        wick_tensor *m = wick_mean(x, n, axes, false), *v = wick_var(x, n, axes, 0, false);
        wick_onnx_set(c, 1, mixed(mean, m, momentum));
        wick_onnx_set(c, 2, mixed(var, v, momentum));
        mean = m, var = v;
    }
    wick_onnx_set(c, 0, wick_batch_norm(x, mean, var, t[1], t[2], eps));
}

static void instance_norm(onnx_call *c) {
    wick_tensor *x = wick_onnx_tensor(c, 0), *w = x ? wick_onnx_tensor(c, 1) : NULL,
                *b = w ? wick_onnx_tensor(c, 2) : NULL;
    if (b) wick_onnx_set(c, 0, wick_instance_norm(x, w, b, wick_onnx_float(c, "epsilon", 1e-5f)));
}

static void group_norm(onnx_call *c) {
    wick_tensor *x = wick_onnx_tensor(c, 0), *w = x ? wick_onnx_tensor(c, 1) : NULL,
                *b = w ? wick_onnx_tensor(c, 2) : NULL;
    if (!b) return;
    const int64_t groups = wick_onnx_int(c, "num_groups", 1);
    const double eps = wick_onnx_float(c, "epsilon", 1e-5f);
    /* a weight for each group */
    if (c->opset < 21 && wick_tensor_count(w) == groups && wick_tensor_dim(x, 1) != groups && groups > 0) {
        const int64_t each = wick_tensor_dim(x, 1) / groups;
        w = wick_repeat_interleave(w, each, 0), b = wick_repeat_interleave(b, each, 0);
    }
    wick_onnx_set(c, 0, wick_group_norm(x, groups, w, b, eps));
}

/* Axes from `axis` on are one for the norms. */
static bool norm_axis(onnx_call *c, wick_tensor *x, int axes[WICK_MAX_DIMS], int *n) {
    int axis;
    if (!wick_onnx_axis(c, wick_onnx_int(c, "axis", -1), wick_tensor_rank(x), &axis)) return false;
    for (*n = 0; axis < wick_tensor_rank(x); axis++) axes[(*n)++] = axis;
    return true;
}

static void layer_norm(onnx_call *c) {
    wick_tensor *x = wick_onnx_tensor(c, 0), *w = x ? wick_onnx_tensor(c, 1) : NULL, *b = wick_onnx_optional(c, 2);
    int axes[WICK_MAX_DIMS], n;
    if (!w || !norm_axis(c, x, axes, &n)) return;
    const wick_dtype dtype = wick_tensor_dtype(x);
    const double eps = wick_onnx_float(c, "epsilon", 1e-5f);
    if (n == 1 && !wick_onnx_wants(c, 1) && !wick_onnx_wants(c, 2) && wick_tensor_rank(w) == 1 &&
        (!b || wick_tensor_rank(b) == 1)) {
        wick_onnx_set(c, 0, wick_layer_norm(x, w, b, eps));
        return;
    }
    wick_tensor *f = dtype == WICK_F64 ? x : wick_cast(x, WICK_F32);
    wick_tensor *mean = wick_mean(f, n, axes, true), *d = wick_sub(f, mean),
                *inv = wick_rsqrt(wick_add(wick_mean(wick_square(d), n, axes, true), wick_like(mean, eps)));
    wick_tensor *y = wick_mul(wick_cast(wick_mul(d, inv), dtype), w);
    wick_onnx_set(c, 0, b ? wick_add(y, b) : y);
    wick_onnx_set(c, 1, mean);
    wick_onnx_set(c, 2, inv);
}

static void rms_norm(onnx_call *c) {
    wick_tensor *x = wick_onnx_tensor(c, 0), *w = x ? wick_onnx_tensor(c, 1) : NULL;
    int axes[WICK_MAX_DIMS], n;
    if (!w || !norm_axis(c, x, axes, &n)) return;
    const wick_dtype dtype = wick_tensor_dtype(x);
    const double eps = wick_onnx_float(c, "epsilon", 1e-5f);
    if (n == 1 && wick_tensor_rank(w) == 1) {
        wick_onnx_set(c, 0, wick_rms_norm(x, w, eps));
        return;
    }
    wick_tensor *f = dtype == WICK_F64 ? x : wick_cast(x, WICK_F32);
    wick_tensor *mean = wick_mean(wick_square(f), n, axes, true);
    wick_onnx_set(c, 0, wick_mul(wick_cast(wick_mul(f, wick_rsqrt(wick_add(mean, wick_like(mean, eps)))), dtype), w));
}

static void lrn(onnx_call *c) {
    wick_tensor *x = wick_onnx_tensor(c, 0);
    if (!x) return;
    const int64_t size = wick_onnx_int(c, "size", 0);
    const int channels = 1;
    const bool mirrored = size % 2 == 0; /* of an even size ONNX has one more channel behind, Wick as PyTorch before */
    if (mirrored) x = wick_flip(x, 1, &channels);
    wick_tensor *y = wick_local_response_norm(x, size, wick_onnx_float(c, "alpha", 0.0001f),
                                              wick_onnx_float(c, "beta", 0.75f), wick_onnx_float(c, "bias", 1));
    wick_onnx_set(c, 0, mirrored ? wick_flip(y, 1, &channels) : y);
}

static void lp_norm(onnx_call *c) {
    wick_tensor *x = wick_onnx_tensor(c, 0);
    int axis;
    if (!x || !wick_onnx_axis(c, wick_onnx_int(c, "axis", -1), wick_tensor_rank(x), &axis)) return;
    wick_tensor *n = wick_norm(x, (double)wick_onnx_int(c, "p", 2), 1, &axis, true), *zero = wick_like(n, 0);
    wick_onnx_set(c, 0, wick_where(wick_eq(n, zero), wick_mul(x, zero), wick_div(x, n)));
}

static void mvn(onnx_call *c) {
    wick_tensor *x = wick_onnx_tensor(c, 0);
    int n, axes[WICK_MAX_DIMS];
    if (!x || !wick_onnx_axes(c, -1, "axes", wick_tensor_rank(x), &n, axes)) return;
    if (n < 0) {
        if (wick_tensor_rank(x) < 4) {
            wick_onnx_fail(c, WICK_ERR_SHAPE, "axes 0, 2 and 3 of %d dims", wick_tensor_rank(x));
            return;
        }
        n = 3, axes[0] = 0, axes[1] = 2, axes[2] = 3;
    }
    wick_tensor *d = wick_sub(x, wick_mean(x, n, axes, true)), *s = wick_sqrt(wick_mean(wick_square(d), n, axes, true));
    wick_onnx_set(c, 0, wick_div(d, wick_add(s, wick_like(s, 1e-9))));
}

static void dropout(onnx_call *c) {
    wick_tensor *x = wick_onnx_tensor(c, 0);
    onnx_host ratio = {0}, training = {0};
    double p = 0;
    if (!x) return;
    if (c->opset >= 12 && wick_onnx_has(c, 2)) {
        if (!wick_onnx_host(c, 2, &training)) return;
        p = 0.5;
        if (wick_onnx_has(c, 1)) {
            if (!wick_onnx_host(c, 1, &ratio)) return;
            p = ratio.n ? ratio.floats[0] : 0;
        }
        if (!training.n || !training.ints[0]) p = 0;
    }
    const int rank = wick_tensor_rank(x);
    if (p == 0) {
        wick_onnx_set(c, 0, x);
        if (wick_onnx_wants(c, 1))
            wick_onnx_set_static(c, 1,
                                 c->opset < 10 ? wick_ones(c->ctx, wick_tensor_dtype(x), rank, wick_tensor_dims(x))
                                               : wick_ones(c->ctx, WICK_BOOL, rank, wick_tensor_dims(x)));
        return;
    }
    wick_tensor *u = wick_random_uniform(c->ctx, WICK_F32, rank, wick_tensor_dims(x)),
                *keep = wick_ge(u, wick_like(u, p));
    wick_onnx_set(c, 0, wick_where(keep, wick_div(x, wick_like(x, 1 - p)), wick_like(x, 0)));
    wick_onnx_set(c, 1, keep);
}

/* Before opset 13 all axes from `axis` (1) on are one. */
static void over_axis(onnx_call *c, wick_tensor *(*f)(wick_tensor *, int)) {
    wick_tensor *x = wick_onnx_tensor(c, 0);
    int axis;
    if (!x) return;
    const int rank = wick_tensor_rank(x);
    if (!wick_onnx_axis(c, wick_onnx_int(c, "axis", c->opset < 13 ? 1 : -1), rank, &axis)) return;
    if (c->opset >= 13 || axis == rank - 1) {
        wick_onnx_set(c, 0, f(x, axis));
        return;
    }
    wick_onnx_set(c, 0, wick_reshape(f(wick_flatten(x, axis), axis), rank, wick_tensor_dims(x)));
}
static wick_tensor *one_hot_max(wick_tensor *x, int axis) {
    if (!wick_tensor_count(x)) return x;
    wick_tensor *hot = wick_one_hot(wick_argmax(x, axis, false), wick_tensor_dim(x, axis), wick_tensor_dtype(x));
    return wick_move_axis(hot, wick_tensor_rank(x) - 1, axis);
}
static void softmax(onnx_call *c) { over_axis(c, wick_softmax); }
static void log_softmax(onnx_call *c) { over_axis(c, wick_log_softmax); }
static void hardmax(onnx_call *c) { over_axis(c, one_hot_max); }

static const onnx_op ops[] = {
    {"MatMul", 1, 0, matmul, {0}},
    {"Gemm", 1, 0, gemm, {0}},
    {"Einsum", 12, 0, einsum, {0}},
    {"Det", 11, 0, det, {0}},
    {"Conv", 1, 0, conv, {0}},
    {"ConvTranspose", 1, 0, conv_transpose, {0}},
    {"MaxPool", 1, 0, max_pool, {0}},
    {"AveragePool", 1, 0, average_pool, {0}},
    {"LpPool", 1, 0, lp_pool, {0}},
    {"GlobalAveragePool", 1, 0, global_average_pool, {0}},
    {"GlobalMaxPool", 1, 0, global_max_pool, {0}},
    {"GlobalLpPool", 1, 0, global_lp_pool, {0}},
    {"MaxUnpool", 9, 0, max_unpool, {0}},
    {"BatchNormalization", 1, 0, batch_norm, {0}},
    {"InstanceNormalization", 1, 0, instance_norm, {0}},
    {"GroupNormalization", 18, 0, group_norm, {0}},
    {"LayerNormalization", 1, 0, layer_norm, {0}},
    {"RMSNormalization", 23, 0, rms_norm, {0}},
    {"LRN", 1, 0, lrn, {0}},
    {"LpNormalization", 1, 0, lp_norm, {0}},
    {"MeanVarianceNormalization", 9, 0, mvn, {0}},
    {"Dropout", 1, 0, dropout, {0}},
    {"Softmax", 1, 0, softmax, {0}},
    {"LogSoftmax", 1, 0, log_softmax, {0}},
    {"Hardmax", 1, 0, hardmax, {0}},
};
const onnx_family wick_onnx_nn = {"", ops, WICK_COUNTOF(ops)};
