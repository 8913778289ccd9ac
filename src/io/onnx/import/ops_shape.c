/* ops_shape.c: shapes, indexing, joining, constants, conversions. */
#define WICK_NO_SITES
#include <math.h>

#include "io/onnx/onnx.h"
#include "wick/index.h"
#include "wick/reduce.h"
#include "wick/shape.h"
#include "wick/sort.h"

/* ---- shapes ------------------------------------------------------------------------------------------------------ */

static void identity(onnx_call *c) {
    const onnx_value *v = wick_onnx_in(c, 0);
    if (v) wick_onnx_set_value(c, 0, v->v, v->dynamic);
}

/* In a graph made for another batch (wick_onnx_rebatch), the leading extent of a shape that the file fixes becomes that
 * of now: where the tensor has the batch in front too, and all of its numbers are taken. What this gets wrong,
 * wick_onnx_rebatch finds. */
static void rebind_batch(const onnx_call *c, wick_tensor *x, int n, int64_t *dims) {
    const int64_t was = c->run->onnx->batch, now = c->run->batch;
    if (!was || was == now || n < 1 || dims[0] != was || !c->in[0]->dynamic || !wick_tensor_rank(x) ||
        wick_tensor_dim(x, 0) % now)
        return;
    int64_t count = now;
    bool inferred = false;
    for (int i = 1; i < n; i++) {
        inferred |= dims[i] == -1;
        if (dims[i] != -1 && (dims[i] < 0 || wick_mul_overflows(count, dims[i], &count))) return;
    }
    if (inferred || count == wick_tensor_count(x)) dims[0] = now;
}

static void reshape(onnx_call *c) {
    wick_tensor *x = wick_onnx_tensor(c, 0);
    const int64_t *want;
    onnx_host h;
    int n;
    if (!x) return;
    if (c->opset < 5) {
        want = wick_onnx_ints(c, "shape", &n);
        if (!want) return;
    } else {
        if (!wick_onnx_host(c, 1, &h)) return;
        want = h.ints, n = (int)h.n;
    }
    if (n > WICK_MAX_DIMS) {
        wick_onnx_fail(c, WICK_ERR_UNSUPPORTED, "%d dims, more than %d", n, WICK_MAX_DIMS);
        return;
    }
    int64_t dims[WICK_MAX_DIMS];
    const bool zeros = wick_onnx_int(c, "allowzero", 0);
    for (int i = 0; i < n; i++) dims[i] = want[i] == 0 && !zeros ? wick_tensor_dim(x, i) : want[i];
    rebind_batch(c, x, n, dims);
    wick_onnx_set(c, 0, wick_reshape(x, n, dims));
}

static int64_t clamp64(int64_t x, int64_t lo, int64_t hi) { return x < lo ? lo : x > hi ? hi : x; }

static void shape(onnx_call *c) {
    const onnx_value *v = wick_onnx_in(c, 0);
    if (!v) return;
    const bool strings = v->v.kind == WICK_VALUE_STRINGS;
    wick_tensor *x = strings ? NULL : wick_onnx_tensor(c, 0);
    if (!x && !strings) return;
    const int64_t rank = strings ? v->v.rank : wick_tensor_rank(x);
    int64_t start = wick_onnx_int(c, "start", 0), end = wick_onnx_int(c, "end", rank);
    start = clamp64(start < 0 ? start + rank : start, 0, rank);
    end = clamp64(end < 0 ? end + rank : end, start, rank);
    wick_onnx_set_static(
        c, 0,
        wick_from(c->ctx, WICK_I64, 1, &(int64_t){end - start}, (strings ? v->v.dims : wick_tensor_dims(x)) + start));
}

static void size(onnx_call *c) {
    const onnx_value *v = wick_onnx_in(c, 0);
    if (!v) return;
    const int64_t n = v->v.kind == WICK_VALUE_STRINGS  ? (int64_t)v->v.n
                      : v->v.kind == WICK_VALUE_TENSOR ? wick_tensor_count(v->v.tensor)
                                                       : 0;
    wick_onnx_set_static(c, 0, wick_from(c->ctx, WICK_I64, WICK_SCALAR, &n));
}

static void flatten(onnx_call *c) {
    wick_tensor *x = wick_onnx_tensor(c, 0);
    if (!x) return;
    const int rank = wick_tensor_rank(x);
    int64_t axis = wick_onnx_int(c, "axis", 1), dims[2] = {1, 1};
    if (axis < 0) axis += rank;
    if (axis < 0 || axis > rank) {
        wick_onnx_fail(c, WICK_ERR_SHAPE, "axis %lld of a tensor with %d dims", (long long)axis, rank);
        return;
    }
    for (int i = 0; i < rank; i++) dims[i >= axis] *= wick_tensor_dim(x, i);
    wick_onnx_set(c, 0, wick_reshape(x, 2, dims));
}

static void squeeze(onnx_call *c) {
    wick_tensor *x = wick_onnx_tensor(c, 0);
    int n, axes[WICK_MAX_DIMS], rank = 0;
    if (!x || !wick_onnx_axes(c, c->opset < 13 ? -1 : 1, "axes", wick_tensor_rank(x), &n, axes)) return;
    int64_t dims[WICK_MAX_DIMS];
    for (int i = 0; i < wick_tensor_rank(x); i++) {
        bool drop = n < 0 && wick_tensor_dim(x, i) == 1;
        for (int k = 0; k < n; k++) drop |= axes[k] == i;
        if (drop && wick_tensor_dim(x, i) != 1) {
            wick_onnx_fail(c, WICK_ERR_SHAPE, "axis %d has extent %lld, not 1", i, (long long)wick_tensor_dim(x, i));
            return;
        }
        if (!drop) dims[rank++] = wick_tensor_dim(x, i);
    }
    wick_onnx_set(c, 0, wick_reshape(x, rank, dims));
}

static void unsqueeze(onnx_call *c) {
    wick_tensor *x = wick_onnx_tensor(c, 0);
    if (!x) return;
    const int64_t *list;
    int n;
    onnx_host h;
    if (c->opset < 13) list = wick_onnx_ints(c, "axes", &n);
    else {
        if (!wick_onnx_host(c, 1, &h)) return;
        list = h.ints, n = (int)h.n;
    }
    const int rank = wick_tensor_rank(x) + n;
    if (!list || rank > WICK_MAX_DIMS) {
        wick_onnx_fail(c, list ? WICK_ERR_UNSUPPORTED : WICK_ERR_FORMAT,
                       list ? "%d dims, more than 8" : "has no axes (%d)", rank);
        return;
    }
    int64_t dims[WICK_MAX_DIMS] = {0};
    bool fresh[WICK_MAX_DIMS] = {0};
    for (int i = 0, axis; i < n; i++) {
        if (!wick_onnx_axis(c, list[i], rank, &axis)) return;
        if (fresh[axis]) {
            wick_onnx_fail(c, WICK_ERR_FORMAT, "axis %d is there twice", axis);
            return;
        }
        fresh[axis] = true;
    }
    for (int i = 0, k = 0; i < rank; i++) dims[i] = fresh[i] ? 1 : wick_tensor_dim(x, k++);
    wick_onnx_set(c, 0, wick_reshape(x, rank, dims));
}

static void transpose(onnx_call *c) {
    wick_tensor *x = wick_onnx_tensor(c, 0);
    if (!x) return;
    int n, axes[WICK_MAX_DIMS];
    const int rank = wick_tensor_rank(x);
    const int64_t *perm = wick_onnx_ints(c, "perm", &n);
    if (perm && n != rank) {
        wick_onnx_fail(c, WICK_ERR_SHAPE, "perm has %d axes, the tensor %d", n, rank);
        return;
    }
    for (int i = 0; i < rank; i++) {
        axes[i] = rank - 1 - i;
        if (perm && !wick_onnx_axis(c, perm[i], rank, &axes[i])) return;
    }
    wick_onnx_set(c, 0, wick_permute(x, rank, axes));
}

static void expand(onnx_call *c) {
    wick_tensor *x = wick_onnx_tensor(c, 0);
    onnx_host h;
    if (!x || !wick_onnx_host(c, 1, &h)) return;
    const int rank = wick_tensor_rank(x), n = (int)WICK_MIN(h.n, WICK_MAX_DIMS + 1), most = WICK_MAX(rank, n);
    if (most > WICK_MAX_DIMS) {
        wick_onnx_fail(c, WICK_ERR_UNSUPPORTED, "%d dims, more than %d", most, WICK_MAX_DIMS);
        return;
    }
    int64_t dims[WICK_MAX_DIMS];
    for (int i = 0; i < most; i++) { /* both broadcast */
        const int64_t a = i < most - rank ? 1 : wick_tensor_dim(x, i - (most - rank)),
                      b = i < most - n ? 1 : h.ints[i - (most - n)];
        dims[i] = b == 1 ? a : b;
    }
    wick_onnx_set(c, 0, wick_expand(x, most, dims));
}

/* ---- joining and cutting ----------------------------------------------------------------------------------------- */

static void concat(onnx_call *c) {
    wick_tensor **xs = wick_onnx_alloc(c, (size_t)c->n_in, sizeof(wick_tensor *));
    int n = 0;
    for (int i = 0; i < c->n_in && xs; i++)
        if (!(xs[n++] = wick_onnx_tensor(c, i))) return;
    if (!xs) return;
    int axis;
    if (!n) wick_onnx_fail(c, WICK_ERR_FORMAT, "has no inputs");
    else if (c->opset >= 4 && !wick_onnx_attr(c, "axis"))
        wick_onnx_fail(c, WICK_ERR_FORMAT, "attribute \"axis\" is missing");
    else if (wick_onnx_axis(c, wick_onnx_int(c, "axis", 1), wick_tensor_rank(xs[0]), &axis))
        wick_onnx_set(c, 0, wick_concat(n, xs, axis));
}

static void split(onnx_call *c) {
    wick_tensor *x = wick_onnx_tensor(c, 0);
    int axis, n = 0;
    onnx_host h;
    if (!x || !wick_onnx_axis(c, wick_onnx_int(c, "axis", 0), wick_tensor_rank(x), &axis)) return;
    const int64_t extent = wick_tensor_dim(x, axis);
    const int64_t *sizes = NULL;
    if (wick_onnx_has(c, 1)) {
        if (!wick_onnx_host(c, 1, &h)) return;
        sizes = h.ints, n = (int)h.n;
    } else sizes = wick_onnx_ints(c, "split", &n);
    const int64_t says = wick_onnx_int(c, "num_outputs", c->n_out);
    if (c->opset >= 18 && !sizes && !wick_onnx_attr(c, "num_outputs")) {
        wick_onnx_fail(c, WICK_ERR_FORMAT, "has neither an input split nor num_outputs");
        return;
    }
    if (says != c->n_out || (sizes && n != c->n_out)) {
        wick_onnx_fail(c, WICK_ERR_SHAPE, sizes ? "%lld sizes for %d outputs" : "num_outputs is %lld for %d outputs",
                       (long long)(sizes ? n : says), c->n_out);
        return;
    }
    const int parts = c->n_out;
    int64_t at = 0, each = sizes || !parts ? 0 : (extent + parts - 1) / parts;
    if (!sizes && (c->opset < 18 ? extent % WICK_MAX(parts, 1) != 0
                                 : extent && (parts > extent || each * (parts - 1) > extent))) {
        wick_onnx_fail(c, WICK_ERR_SHAPE, "an axis of %lld in %d parts", (long long)extent, parts);
        return;
    }
    for (int i = 0; i < parts; i++) {
        const int64_t len = sizes ? sizes[i] : clamp64(extent - at, 0, each);
        if (len < 0 || len > extent - at) {
            wick_onnx_fail(c, WICK_ERR_SHAPE, "part %d of %lld places does not fit an axis of %lld", i, (long long)len,
                           (long long)extent);
            return;
        }
        wick_onnx_set(c, i, wick_slice(x, axis, at, at + len, 1));
        at += len;
    }
    if (at != extent)
        wick_onnx_fail(c, WICK_ERR_SHAPE, "its parts have %lld places together, the axis %lld", (long long)at,
                       (long long)extent);
}

static void slice(onnx_call *c) {
    wick_tensor *x = wick_onnx_tensor(c, 0);
    if (!x) return;
    const int rank = wick_tensor_rank(x);
    const int64_t *starts, *ends, *axes = NULL, *steps = NULL;
    int n, n_ends, n_axes = -1, n_steps = -1;
    onnx_host h[4];
    if (c->opset < 10) {
        starts = wick_onnx_ints(c, "starts", &n);
        ends = wick_onnx_ints(c, "ends", &n_ends);
        axes = wick_onnx_ints(c, "axes", &n_axes);
        if (!axes) n_axes = -1;
    } else {
        if (!wick_onnx_host(c, 1, &h[0]) || !wick_onnx_host(c, 2, &h[1])) return;
        starts = h[0].ints, n = (int)h[0].n, ends = h[1].ints, n_ends = (int)h[1].n;
        if (wick_onnx_has(c, 3)) {
            if (!wick_onnx_host(c, 3, &h[2])) return;
            axes = h[2].ints, n_axes = (int)h[2].n;
        }
        if (wick_onnx_has(c, 4)) {
            if (!wick_onnx_host(c, 4, &h[3])) return;
            steps = h[3].ints, n_steps = (int)h[3].n;
        }
    }
    if (!starts || !ends || n != n_ends || (axes && n_axes != n) || (steps && n_steps != n) || n > rank) {
        wick_onnx_fail(c, WICK_ERR_SHAPE, "starts, ends, axes and steps are not of one length, at most %d", rank);
        return;
    }
    for (int i = 0; i < n; i++) {
        int axis;
        if (!wick_onnx_axis(c, axes ? axes[i] : i, rank, &axis)) return;
        const int64_t step = steps ? steps[i] : 1, extent = wick_tensor_dim(x, axis);
        int64_t start = starts[i], stop = ends[i];
        if (start < 0) start = start < -extent ? -1 : start + extent;
        if (stop < 0) stop = stop < -extent ? -1 : stop + extent;
        if (step > 0) {
            start = clamp64(start, 0, extent);
            stop = clamp64(stop, 0, extent);
        } else { /* "down to and with the first" is a stop before it */
            start = clamp64(start, 0, WICK_MAX(extent - 1, 0));
            stop = stop < 0 ? INT64_MIN : WICK_MIN(stop, extent - 1);
        }
        x = wick_slice(x, axis, start, stop, step);
    }
    wick_onnx_set(c, 0, x);
}

static void tile(onnx_call *c) {
    wick_tensor *x = wick_onnx_tensor(c, 0);
    onnx_host h;
    if (!x || !wick_onnx_host(c, 1, &h)) return;
    if (c->opset < 6) { /* tiles, axis */
        onnx_host a;
        int axis;
        if (!wick_onnx_host(c, 2, &a) || h.n != 1 || a.n != 1 ||
            !wick_onnx_axis(c, a.ints[0], wick_tensor_rank(x), &axis))
            return;
        int64_t repeats[WICK_MAX_DIMS];
        for (int i = 0; i < wick_tensor_rank(x); i++) repeats[i] = i == axis ? h.ints[0] : 1;
        wick_onnx_set(c, 0, wick_tile(x, wick_tensor_rank(x), repeats));
        return;
    }
    if (h.n != wick_tensor_rank(x)) {
        wick_onnx_fail(c, WICK_ERR_SHAPE, "%lld repeats for %d dims", (long long)h.n, wick_tensor_rank(x));
        return;
    }
    wick_onnx_set(c, 0, wick_tile(x, (int)h.n, h.ints));
}

static void pad(onnx_call *c) {
    wick_tensor *x = wick_onnx_tensor(c, 0);
    if (!x) return;
    const int rank = wick_tensor_rank(x);
    const int64_t *pads;
    int n, n_axes = -1, axes[WICK_MAX_DIMS];
    onnx_host h, v;
    double value = 0;
    if (c->opset < 11) {
        pads = wick_onnx_ints(c, c->opset < 2 ? "paddings" : "pads", &n);
        value = wick_onnx_float(c, "value", 0);
    } else {
        if (!wick_onnx_host(c, 1, &h)) return;
        pads = h.ints, n = (int)h.n;
        if (wick_onnx_has(c, 2)) {
            if (!wick_onnx_host(c, 2, &v)) return;
            value = v.n ? v.floats[0] : 0;
        }
        if (!wick_onnx_axes(c, 3, NULL, rank, &n_axes, axes)) return;
    }
    if (n_axes < 0) {
        n_axes = rank;
        for (int i = 0; i < rank; i++) axes[i] = i;
    }
    if (!pads || n != 2 * n_axes) {
        wick_onnx_fail(c, WICK_ERR_SHAPE, "%d pads for %d axes", pads ? n : 0, n_axes);
        return;
    }
    int64_t before[WICK_MAX_DIMS] = {0}, after[WICK_MAX_DIMS] = {0};
    for (int i = 0; i < n_axes; i++) before[axes[i]] += pads[i], after[axes[i]] += pads[n_axes + i];
    const wick_bytes mode = wick_onnx_text(c, "mode", "constant");
    if (wick_bytes_are(mode, "constant")) wick_onnx_set(c, 0, wick_pad(x, rank, before, after, value));
    else if (wick_bytes_are(mode, "reflect"))
        wick_onnx_set(c, 0, wick_pad_with(x, rank, before, after, WICK_PAD_REFLECT));
    else if (wick_bytes_are(mode, "edge")) wick_onnx_set(c, 0, wick_pad_with(x, rank, before, after, WICK_PAD_EDGE));
    else if (wick_bytes_are(mode, "wrap")) wick_onnx_set(c, 0, wick_pad_with(x, rank, before, after, WICK_PAD_WRAP));
    else
        wick_onnx_fail(c, WICK_ERR_FORMAT, "mode \"%.*s\" does not exist", (int)WICK_MIN(mode.size, (size_t)40),
                       mode.at);
}

/* The middle of x, or x in the middle of zeros. */
static void center_crop_pad(onnx_call *c) {
    wick_tensor *x = wick_onnx_tensor(c, 0);
    onnx_host h;
    int n, axes[WICK_MAX_DIMS];
    if (!x || !wick_onnx_host(c, 1, &h) || !wick_onnx_axes(c, -1, "axes", wick_tensor_rank(x), &n, axes)) return;
    if (n < 0)
        for (n = 0; n < wick_tensor_rank(x); n++) axes[n] = n;
    if (h.n != n) {
        wick_onnx_fail(c, WICK_ERR_SHAPE, "%lld extents for %d axes", (long long)h.n, n);
        return;
    }
    int64_t before[WICK_MAX_DIMS] = {0}, after[WICK_MAX_DIMS] = {0};
    for (int i = 0; i < n; i++) {
        const int64_t extent = wick_tensor_dim(x, axes[i]), want = h.ints[i];
        if (want < 0) {
            wick_onnx_fail(c, WICK_ERR_SHAPE, "extent %lld", (long long)want);
            return;
        }
        if (want < extent) x = wick_slice(x, axes[i], (extent - want) / 2, (extent - want) / 2 + want, 1);
        else before[axes[i]] = (want - extent) / 2, after[axes[i]] = want - extent - before[axes[i]];
    }
    wick_onnx_set(c, 0, wick_pad(x, wick_tensor_rank(x), before, after, 0));
}

/* ---- indexing ---------------------------------------------------------------------------------------------------- */

static void gather(onnx_call *c) {
    wick_tensor *x = wick_onnx_tensor(c, 0), *index = x ? wick_onnx_tensor(c, 1) : NULL;
    int axis;
    if (index && wick_onnx_axis(c, wick_onnx_int(c, "axis", 0), wick_tensor_rank(x), &axis))
        wick_onnx_set(c, 0, wick_gather(x, axis, index));
}

static void gather_elements(onnx_call *c) {
    wick_tensor *x = wick_onnx_tensor(c, 0), *index = x ? wick_onnx_tensor(c, 1) : NULL;
    int axis;
    if (index && wick_onnx_axis(c, wick_onnx_int(c, "axis", 0), wick_tensor_rank(x), &axis))
        wick_onnx_set(c, 0, wick_take_along_axis(x, axis, index));
}

static void gather_nd(onnx_call *c) {
    wick_tensor *x = wick_onnx_tensor(c, 0), *index = x ? wick_onnx_tensor(c, 1) : NULL;
    if (index)
        wick_onnx_set(c, 0,
                      wick_gather_nd(x, (int)clamp64(wick_onnx_int(c, "batch_dims", 0), -1, WICK_MAX_DIMS + 1), index));
}

static bool reduction(onnx_call *c, wick_put *out) {
    static const struct {
        const char *name;
        wick_put put;
    } names[] = {{"none", WICK_PUT_SET},
                 {"add", WICK_PUT_ADD},
                 {"mul", WICK_PUT_MUL},
                 {"max", WICK_PUT_MAX},
                 {"min", WICK_PUT_MIN}};
    const wick_bytes text = wick_onnx_text(c, "reduction", "none");
    for (size_t i = 0; i < WICK_COUNTOF(names); i++)
        if (wick_bytes_are(text, names[i].name)) return *out = names[i].put, true;
    return wick_onnx_fail(c, WICK_ERR_FORMAT, "reduction \"%.*s\" does not exist", (int)WICK_MIN(text.size, (size_t)40),
                          text.at);
}

static void scatter_elements(onnx_call *c) {
    wick_tensor *x = wick_onnx_tensor(c, 0), *index = x ? wick_onnx_tensor(c, 1) : NULL,
                *src = index ? wick_onnx_tensor(c, 2) : NULL;
    int axis;
    wick_put how;
    if (src && reduction(c, &how) && wick_onnx_axis(c, wick_onnx_int(c, "axis", 0), wick_tensor_rank(x), &axis))
        wick_onnx_set(c, 0, wick_put_along_axis(x, axis, index, src, how));
}

static void scatter_nd(onnx_call *c) {
    wick_tensor *x = wick_onnx_tensor(c, 0), *index = x ? wick_onnx_tensor(c, 1) : NULL,
                *src = index ? wick_onnx_tensor(c, 2) : NULL;
    wick_put how;
    if (src && reduction(c, &how)) wick_onnx_set(c, 0, wick_scatter_nd(x, index, src, how));
}

/* cache with `update` written along an axis from a place for each batch on; circular: it goes on at the beginning. */
static void tensor_scatter(onnx_call *c) {
    wick_tensor *cache = wick_onnx_tensor(c, 0), *update = cache ? wick_onnx_tensor(c, 1) : NULL,
                *start = wick_onnx_optional(c, 2);
    int axis;
    if (!update || !wick_onnx_axis(c, wick_onnx_int(c, "axis", -2), wick_tensor_rank(cache), &axis)) return;
    const int rank = wick_tensor_rank(cache);
    const int64_t t = wick_tensor_dim(update, axis), most = wick_tensor_dim(cache, axis);
    wick_tensor *place = wick_arange(c->ctx, WICK_I64, 0, 1, t);
    int64_t along[WICK_MAX_DIMS], batch[WICK_MAX_DIMS];
    for (int i = 0; i < rank; i++) along[i] = i == axis ? t : 1, batch[i] = i == 0 ? wick_tensor_dim(cache, 0) : 1;
    place = wick_reshape(place, rank, along);
    if (start) place = wick_add(place, wick_reshape(start, rank, batch));
    if (wick_onnx_text_is(c, "mode", "linear", "circular"))
        place = wick_remainder(place, wick_like(place, (double)most));
    wick_onnx_set(
        c, 0,
        wick_put_along_axis(cache, axis, wick_expand(place, rank, wick_tensor_dims(update)), update, WICK_PUT_SET));
}

/* Rows of each sample reversed up to its length. */
static void reverse_sequence(onnx_call *c) {
    wick_tensor *x = wick_onnx_tensor(c, 0), *lengths = x ? wick_onnx_tensor(c, 1) : NULL;
    if (!lengths) return;
    const int64_t time = wick_onnx_int(c, "time_axis", 0), batch = wick_onnx_int(c, "batch_axis", 1);
    const int rank = wick_tensor_rank(x);
    if (rank < 2 || time < 0 || time > 1 || batch != 1 - time) {
        wick_onnx_fail(c, WICK_ERR_SHAPE, "time_axis %lld and batch_axis %lld are not 0 and 1 of %d dims",
                       (long long)time, (long long)batch, rank);
        return;
    }
    int64_t dims[WICK_MAX_DIMS] = {1, 1, 1, 1, 1, 1, 1, 1};
    const int64_t steps = wick_tensor_dim(x, (int)time);
    dims[time] = steps;
    wick_tensor *t = wick_reshape(wick_arange(c->ctx, WICK_I64, 0, 1, steps), rank, dims);
    dims[time] = 1;
    dims[batch] = wick_tensor_dim(x, (int)batch);
    wick_tensor *n = wick_reshape(lengths, rank, dims);
    wick_tensor *index = wick_where(wick_lt(t, n), wick_sub(wick_sub(n, wick_like(n, 1)), t), t);
    wick_onnx_set(c, 0, wick_take_along_axis(x, (int)time, wick_expand(index, rank, wick_tensor_dims(x))));
}

/* ---- sizes that depend on values --------------------------------------------------------------------------------- */

static void nonzero(onnx_call *c) {
    wick_tensor *x = wick_onnx_tensor(c, 0);
    onnx_host h;
    if (!x || !wick_onnx_host_of(c, x, c->in[0]->dynamic, &h)) return;
    int64_t n = 0;
    for (int64_t i = 0; i < h.n; i++) n += h.floats[i] != 0;
    const int rank = h.rank;
    int64_t *places = wick_onnx_alloc2(c, n, rank, sizeof *places), k = 0;
    if (!places) return;
    for (int64_t i = 0; i < h.n; i++) {
        if (h.floats[i] == 0) continue;
        int64_t rest = i;
        for (int d = rank - 1; d >= 0; d--) places[d * n + k] = rest % h.dims[d], rest /= h.dims[d];
        k++;
    }
    wick_onnx_set(c, 0, wick_from(c->ctx, WICK_I64, 2, (int64_t[]){rank, n}, places));
}

static void compress(onnx_call *c) {
    wick_tensor *x = wick_onnx_tensor(c, 0);
    onnx_host h;
    if (!x || !wick_onnx_host(c, 1, &h)) return;
    int axis = 0;
    if (!wick_onnx_attr(c, "axis")) x = wick_reshape(x, 1, &(int64_t){-1});
    else if (!wick_onnx_axis(c, wick_onnx_int(c, "axis", 0), wick_tensor_rank(x), &axis)) return;
    int64_t *places = wick_onnx_alloc(c, (size_t)h.n, sizeof *places), n = 0;
    for (int64_t i = 0; i < h.n && places; i++)
        if (h.ints[i]) places[n++] = i;
    if (places) wick_onnx_set(c, 0, wick_gather(x, axis, wick_from(c->ctx, WICK_I64, 1, &n, places)));
}

/* ---- order ------------------------------------------------------------------------------------------------------- */

static void arg_extreme(onnx_call *c, bool max) {
    wick_tensor *x = wick_onnx_tensor(c, 0);
    int axis;
    if (!x || !wick_onnx_axis(c, wick_onnx_int(c, "axis", 0), wick_tensor_rank(x), &axis)) return;
    const bool keep = wick_onnx_int(c, "keepdims", 1), last = wick_onnx_int(c, "select_last_index", 0);
    wick_tensor *from = last ? wick_flip(x, 1, &axis) : x;
    wick_tensor *y = max ? wick_argmax(from, axis, keep) : wick_argmin(from, axis, keep);
    if (last) y = wick_sub(wick_like(y, (double)(wick_tensor_dim(x, axis) - 1)), y);
    wick_onnx_set(c, 0, y);
}
static void argmax(onnx_call *c) { arg_extreme(c, true); }
static void argmin(onnx_call *c) { arg_extreme(c, false); }

static void topk(onnx_call *c) {
    wick_tensor *x = wick_onnx_tensor(c, 0), *index;
    int axis;
    int64_t k = wick_onnx_int(c, "k", 0);
    onnx_host h;
    if (!x || !wick_onnx_axis(c, wick_onnx_int(c, "axis", -1), wick_tensor_rank(x), &axis)) return;
    if (c->opset >= 10) {
        if (!wick_onnx_host(c, 1, &h)) return;
        k = h.n ? h.ints[0] : -1;
    }
    wick_tensor *y = wick_topk(x, k, axis, wick_onnx_int(c, "largest", 1), &index);
    wick_onnx_set(c, 0, y);
    wick_onnx_set(c, 1, index);
}

/* ---- values made here -------------------------------------------------------------------------------------------- */

static void constant(onnx_call *c) {
    const onnx_attr *a;
    wick_onnx_value v = {0};
    if ((a = wick_onnx_attr(c, "value")) && a->t) {
        const wick_status status = wick_onnx_read_tensor(c->run->onnx, a->t, &v, &c->run->arena, c->msg);
        if (status != WICK_OK) c->status = status;
        else wick_onnx_set_value(c, 0, v, false);
    } else if ((a = wick_onnx_attr(c, "sparse_value")) && a->sparse) {
        const wick_status status = wick_onnx_read_sparse(c->run->onnx, a->sparse, &v, &c->run->arena, c->msg);
        if (status != WICK_OK) c->status = status;
        else wick_onnx_set_value(c, 0, v, false);
    } else if ((a = wick_onnx_attr(c, "value_float")))
        wick_onnx_set_static(c, 0, wick_from(c->ctx, WICK_F32, WICK_SCALAR, &a->f));
    else if ((a = wick_onnx_attr(c, "value_int")))
        wick_onnx_set_static(c, 0, wick_from(c->ctx, WICK_I64, WICK_SCALAR, &a->i));
    else if ((a = wick_onnx_attr(c, "value_floats")))
        wick_onnx_set_static(c, 0, wick_from(c->ctx, WICK_F32, 1, &(int64_t){(int64_t)a->floats.n}, a->floats.at));
    else if ((a = wick_onnx_attr(c, "value_ints")))
        wick_onnx_set_static(c, 0, wick_from(c->ctx, WICK_I64, 1, &(int64_t){(int64_t)a->ints.n}, a->ints.at));
    else if ((a = wick_onnx_attr(c, "value_string")) || (a = wick_onnx_attr(c, "value_strings"))) {
        const bool one = !a->strings.n && wick_bytes_are(a->name, "value_string");
        const size_t n = one ? 1 : a->strings.n;
        wick_text *texts = wick_onnx_alloc(c, n, sizeof *texts);
        for (size_t i = 0; i < n && texts; i++)
            texts[i] = one ? (wick_text){a->s.at, a->s.size} : (wick_text){a->strings.at[i].at, a->strings.at[i].size};
        v = (wick_onnx_value){
            .kind = WICK_VALUE_STRINGS, .rank = one ? 0 : 1, .dims = {(int64_t)n}, .n = n, .texts = texts};
        if (texts) wick_onnx_set_value(c, 0, v, false);
    } else wick_onnx_fail(c, WICK_ERR_FORMAT, "has no value");
}

static void constant_of_shape(onnx_call *c) {
    onnx_host h;
    if (!wick_onnx_host(c, 0, &h)) return;
    const onnx_attr *a = wick_onnx_attr(c, "value");
    const float zero = 0;
    wick_onnx_value v = {.tensor = wick_from(c->ctx, WICK_F32, 1, &(int64_t){1}, &zero)};
    if (a && a->t) {
        const wick_status status = wick_onnx_read_tensor(c->run->onnx, a->t, &v, &c->run->arena, c->msg);
        if (status != WICK_OK) {
            c->status = status;
            return;
        }
        if (v.kind != WICK_VALUE_TENSOR || wick_tensor_count(v.tensor) != 1) {
            wick_onnx_fail(c, WICK_ERR_FORMAT, "value is not one number");
            return;
        }
    }
    if (h.n > WICK_MAX_DIMS) {
        wick_onnx_fail(c, WICK_ERR_UNSUPPORTED, "%lld dims, more than %d", (long long)h.n, WICK_MAX_DIMS);
        return;
    }
    wick_onnx_set_static(c, 0, wick_onnx_expand(wick_reshape(v.tensor, WICK_SCALAR), (int)h.n, h.ints));
}

static void range(onnx_call *c) {
    onnx_host h[3];
    for (int i = 0; i < 3; i++)
        if (!wick_onnx_host(c, i, &h[i])) return;
    if (h[0].n != 1 || h[1].n != 1 || h[2].n != 1 || h[2].floats[0] == 0) {
        wick_onnx_fail(c, WICK_ERR_SHAPE, "start, limit and delta must be one number each, delta not 0");
        return;
    }
    const double n = ceil((h[1].floats[0] - h[0].floats[0]) / h[2].floats[0]);
    if (!(n <= 0x1p53)) {
        wick_onnx_fail(c, WICK_ERR_UNSUPPORTED, "makes %g numbers", n);
        return;
    }
    wick_tensor *start = wick_onnx_tensor(c, 0), *step = wick_onnx_tensor(c, 2);
    const wick_dtype dtype = wick_tensor_dtype(start);
    wick_tensor *i = wick_arange(c->ctx, dtype, 0, 1, n > 0 ? (int64_t)n : 0);
    wick_onnx_set(c, 0, wick_add(wick_mul(i, wick_reshape(step, WICK_SCALAR)), wick_reshape(start, WICK_SCALAR)));
}

static void one_hot(onnx_call *c) {
    wick_tensor *index = wick_onnx_tensor(c, 0), *values = index ? wick_onnx_tensor(c, 2) : NULL;
    onnx_host depth;
    if (!values || !wick_onnx_host(c, 1, &depth)) return;
    const int rank = wick_tensor_rank(index);
    int axis;
    if (depth.n != 1 || depth.ints[0] < 0 || wick_tensor_count(values) != 2) {
        wick_onnx_fail(c, WICK_ERR_SHAPE, "depth must be one number of 0 and more, values two");
        return;
    }
    if (!wick_onnx_axis(c, wick_onnx_int(c, "axis", -1), rank + 1, &axis)) return;
    const double n = depth.floats[0];
    wick_tensor *i = wick_cast(index, WICK_I64);
    i = wick_where(wick_lt(i, wick_like(i, 0)), wick_add(i, wick_like(i, n)), i);
    wick_tensor *hot = wick_move_axis(wick_one_hot(i, depth.ints[0], WICK_BOOL), rank, axis);
    wick_onnx_set(c, 0,
                  wick_where(hot, wick_reshape(wick_slice(values, 0, 1, 2, 1), WICK_SCALAR),
                             wick_reshape(wick_slice(values, 0, 0, 1, 1), WICK_SCALAR)));
}

static void eye_like(onnx_call *c) {
    wick_tensor *x = wick_onnx_tensor(c, 0);
    wick_dtype dtype;
    if (!x) return;
    const int64_t type = wick_onnx_int(c, "dtype", wick_onnx_type(wick_tensor_dtype(x)));
    if (!wick_onnx_dtype(type, &dtype) || wick_tensor_rank(x) != 2) {
        wick_onnx_fail(c, WICK_ERR_UNSUPPORTED, "dtype %s, %d dims", wick_onnx_type_name(type), wick_tensor_rank(x));
        return;
    }
    wick_onnx_set_static(
        c, 0, wick_eye(c->ctx, dtype, wick_tensor_dim(x, 0), wick_tensor_dim(x, 1), wick_onnx_int(c, "k", 0)));
}

static void trilu(onnx_call *c) {
    wick_tensor *x = wick_onnx_tensor(c, 0);
    onnx_host h = {0};
    if (!x || (wick_onnx_has(c, 1) && !wick_onnx_host(c, 1, &h))) return;
    const int64_t k = h.n ? h.ints[0] : 0;
    wick_onnx_set(c, 0, wick_onnx_int(c, "upper", 1) ? wick_triu(x, k) : wick_tril(x, k));
}

/* ---- dtypes ------------------------------------------------------------------------------------------------------ */

/* To e8m0 by the exponent alone, the sign aside: "up" (the default), "down" or to the nearest. */
static wick_tensor *to_power(onnx_call *c, wick_tensor *x) {
    const wick_bytes mode = wick_onnx_text(c, "round_mode", "up");
    const double more = wick_bytes_are(mode, "up") ? 0x7fffff : wick_bytes_are(mode, "nearest") ? 0x400000 : 0;
    wick_tensor *bits = wick_bit_cast(wick_abs(wick_cast(x, WICK_F32)), WICK_I32);
    wick_tensor *held = wick_onnx_int(c, "saturate", 1) ? wick_minimum(bits, wick_like(bits, 0x7f000000)) : bits;
    wick_tensor *code = wick_right_shift(wick_add(held, wick_like(bits, more)), wick_like(bits, 23));
    code = wick_where(wick_ge(bits, wick_like(bits, 0x7f800000)), wick_like(code, 255), code);
    return wick_bit_cast(wick_cast(code, WICK_U8), WICK_F8_E8M0);
}

static void cast_to(onnx_call *c, int64_t type) {
    wick_dtype dtype;
    const onnx_value *v = wick_onnx_in(c, 0);
    if (!v) return;
    if (type == ONNX_STRING || v->v.kind == WICK_VALUE_STRINGS) {
        wick_onnx_cast_text(c, type);
        return;
    }
    wick_tensor *x = wick_onnx_tensor(c, 0);
    if (x && !wick_onnx_dtype(type, &dtype))
        wick_onnx_fail(c, WICK_ERR_UNSUPPORTED, "to %s, which Wick does not have", wick_onnx_type_name(type));
    else if (x && dtype == WICK_F8_E8M0 && wick_onnx_is_float(x)) wick_onnx_set(c, 0, to_power(c, x));
    else if (x && !wick_dtype_size(dtype) && wick_dtype_is_integer(dtype) && wick_onnx_is_float(x))
        wick_onnx_set(c, 0, wick_cast(wick_cast(x, WICK_I32), dtype)); /* to the lowest bits of the whole number */
    else if (x && wick_dtype_is_integer(dtype) && wick_onnx_is_float(x))
        wick_onnx_set(c, 0, wick_onnx_to_integer(x, dtype));
    else if (x)
        wick_onnx_set(c, 0,
                      wick_onnx_is_f8(dtype) && wick_onnx_int(c, "saturate", 1) ? wick_cast_saturate(x, dtype)
                                                                                : wick_cast(x, dtype));
}
static void cast(onnx_call *c) {
    if (c->opset >= 6) {
        cast_to(c, wick_onnx_int(c, "to", 0));
        return;
    }
    const wick_bytes name = wick_onnx_text(c, "to", "");
    char lower[16] = {0};
    for (size_t i = 0; i < name.size && i < sizeof lower - 1; i++) lower[i] = (char)(name.at[i] | 32);
    int64_t type = 0;
    for (int i = 1; i < ONNX_TYPES; i++)
        if (!strcmp(lower, wick_onnx_type_name(i))) type = i;
    cast_to(c, type);
}
static void bit_cast(onnx_call *c) {
    wick_tensor *x = wick_onnx_tensor(c, 0);
    wick_dtype dtype;
    if (x && wick_onnx_dtype(wick_onnx_int(c, "to", 0), &dtype)) wick_onnx_set(c, 0, wick_bit_cast(x, dtype));
    else if (x)
        wick_onnx_fail(c, WICK_ERR_UNSUPPORTED, "to %s, which Wick does not have",
                       wick_onnx_type_name(wick_onnx_int(c, "to", 0)));
}
static void cast_like(onnx_call *c) {
    const onnx_value *like = wick_onnx_in(c, 1);
    if (like)
        cast_to(c, like->v.kind == WICK_VALUE_STRINGS  ? ONNX_STRING
                   : like->v.kind == WICK_VALUE_TENSOR ? wick_onnx_type(wick_tensor_dtype(like->v.tensor))
                                                       : 0);
}

static const onnx_op ops[] = {
    {"Identity", 1, 0, identity, {0}},
    {"Reshape", 1, 0, reshape, {0}},
    {"Shape", 1, 0, shape, {0}},
    {"Size", 1, 0, size, {0}},
    {"Flatten", 1, 0, flatten, {0}},
    {"Squeeze", 1, 0, squeeze, {0}},
    {"Unsqueeze", 1, 0, unsqueeze, {0}},
    {"Transpose", 1, 0, transpose, {0}},
    {"Expand", 8, 0, expand, {0}},
    {"Concat", 1, 0, concat, {0}},
    {"Split", 1, 0, split, {0}},
    {"Slice", 1, 0, slice, {0}},
    {"Tile", 1, 0, tile, {0}},
    {"Pad", 1, 0, pad, {0}},
    {"CenterCropPad", 18, 0, center_crop_pad, {0}},
    {"Gather", 1, 0, gather, {0}},
    {"GatherElements", 11, 0, gather_elements, {0}},
    {"GatherND", 11, 0, gather_nd, {0}},
    {"Scatter", 9, 0, scatter_elements, {0}},
    {"ScatterElements", 11, 0, scatter_elements, {0}},
    {"ScatterND", 11, 0, scatter_nd, {0}},
    {"TensorScatter", 24, 0, tensor_scatter, {0}},
    {"ReverseSequence", 10, 0, reverse_sequence, {0}},
    {"NonZero", 9, 0, nonzero, {0}},
    {"Compress", 9, 0, compress, {0}},
    {"ArgMax", 1, 0, argmax, {0}},
    {"ArgMin", 1, 0, argmin, {0}},
    {"TopK", 1, 0, topk, {0}},
    {"Constant", 1, 0, constant, {0}},
    {"ConstantOfShape", 9, 0, constant_of_shape, {0}},
    {"Range", 11, 0, range, {0}},
    {"OneHot", 9, 0, one_hot, {0}},
    {"EyeLike", 9, 0, eye_like, {0}},
    {"Trilu", 14, 0, trilu, {0}},
    {"Cast", 1, 0, cast, {0}},
    {"BitCast", 26, 0, bit_cast, {0}},
    {"CastLike", 15, 0, cast_like, {0}},
};
const onnx_family wick_onnx_shape = {"", ops, WICK_COUNTOF(ops)};
