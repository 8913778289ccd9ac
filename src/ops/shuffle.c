/* shuffle.c: places and channels exchanged, and other expressions of images: Lp pooling, affine grids, overlaps of
 * boxes. */
#include <math.h>

#include "ops/ops.h"
#include "wick/image.h"

/* [N, C, H, W] and a block; NULL, or what to return. */
static wick_tensor *refuse_blocks(const char *op, wick_tensor *x, int64_t block, bool from_channels) {
    if (wick_tensor_rank(x) != 4)
        return wick_poison(x->ctx, WICK_ERR_SHAPE, "%s: x has %d dims; it needs [N, C, H, W]", op, wick_tensor_rank(x));
    const int64_t *d = wick_tensor_dims(x);
    if (block < 1 || block > 1 << 15)
        return wick_poison(x->ctx, WICK_ERR_INVALID, "%s: blocks of %lld", op, (long long)block);
    if (from_channels ? d[1] % (block * block) != 0 : d[2] % block || d[3] % block)
        return wick_poison(x->ctx, WICK_ERR_SHAPE, "%s: %s of [%lld,%lld,%lld,%lld] do not divide into blocks of %lld",
                           op, from_channels ? "channels" : "height and width", (long long)d[0], (long long)d[1],
                           (long long)d[2], (long long)d[3], (long long)block);
    return NULL;
}
/* blocks_first: DCR, channels are [block, block, C]; else CRD, [C, block, block]. */
static wick_tensor *to_places(const char *op, wick_tensor *x, int64_t b, bool blocks_first) {
    if (!x || x->error) return x;
    wick_tensor *refused = refuse_blocks(op, x, b, true);
    if (refused) return refused;
    const int64_t *d = wick_tensor_dims(x), c = d[1] / (b * b), n = d[0], h = d[2], w = d[3];
    x = blocks_first ? wick_permute(wick_reshape(x, WICK_DIMS(n, b, b, c, h, w)), WICK_AXES(0, 3, 4, 1, 5, 2))
                     : wick_permute(wick_reshape(x, WICK_DIMS(n, c, b, b, h, w)), WICK_AXES(0, 1, 4, 2, 5, 3));
    return wick_reshape(x, WICK_DIMS(n, c, h * b, w * b));
}
static wick_tensor *to_channels(const char *op, wick_tensor *x, int64_t b, bool blocks_first) {
    if (!x || x->error) return x;
    wick_tensor *refused = refuse_blocks(op, x, b, false);
    if (refused) return refused;
    const int64_t *d = wick_tensor_dims(x), n = d[0], c = d[1], h = d[2] / b, w = d[3] / b;
    x = wick_reshape(x, WICK_DIMS(n, c, h, b, w, b));
    x = blocks_first ? wick_permute(x, WICK_AXES(0, 3, 5, 1, 2, 4)) : wick_permute(x, WICK_AXES(0, 1, 3, 5, 2, 4));
    return wick_reshape(x, WICK_DIMS(n, c * b * b, h, w));
}
wick_tensor *wick_pixel_shuffle(wick_tensor *x, int64_t block) { return to_places("pixel_shuffle", x, block, false); }
wick_tensor *wick_pixel_unshuffle(wick_tensor *x, int64_t block) {
    return to_channels("pixel_unshuffle", x, block, false);
}
wick_tensor *wick_depth_to_space(wick_tensor *x, int64_t block) { return to_places("depth_to_space", x, block, true); }
wick_tensor *wick_space_to_depth(wick_tensor *x, int64_t block) {
    return to_channels("space_to_depth", x, block, true);
}

wick_tensor *wick_channel_shuffle(wick_tensor *x, int64_t groups) {
    if (!x || x->error) return x;
    const int rank = wick_tensor_rank(x);
    if (rank < 2 || rank == WICK_MAX_DIMS)
        return wick_poison(x->ctx, WICK_ERR_SHAPE, "channel_shuffle: x has %d dims; it needs [N, C, ...]", rank);
    const int64_t *d = wick_tensor_dims(x);
    if (groups < 1 || d[1] % groups)
        return wick_poison(x->ctx, WICK_ERR_SHAPE, "channel_shuffle: %lld channels do not divide into %lld groups",
                           (long long)d[1], (long long)groups);
    int64_t split[WICK_MAX_DIMS] = {d[0], groups, d[1] / groups};
    for (int i = 2; i < rank; i++) split[i + 1] = d[i];
    return wick_reshape(wick_transpose(wick_reshape(x, rank + 1, split), 1, 2), rank, d);
}

wick_tensor *wick_lp_pool(wick_tensor *x, double p, const wick_pool_options *options) {
    if (!x || x->error || !options) return wick_avg_pool(x, options);
    const wick_dtype dtype = wick_tensor_dtype(x);
    if (!(p > 0)) return wick_poison(x->ctx, WICK_ERR_INVALID, "lp_pool: there is no norm of order %g", p);
    if (!wick_dtype_is_float(dtype))
        return wick_poison(x->ctx, WICK_ERR_DTYPE, "lp_pool: x is %s; it needs floats: cast", wick_dtype_name(dtype));
    if (isinf(p)) return wick_max_pool(wick_abs(x), options);
    wick_tensor *v = dtype == WICK_F64 ? x : wick_as(x, WICK_F32), *sum;
    double window = 1;
    for (int d = 0; d < WICK_MIN(3, wick_tensor_rank(x) - 2); d++) window *= (double)options->kernel[d];
    sum = wick_avg_pool(p == 2 ? wick_square(v) : wick_pow(wick_abs(v), wick_like(v, p)), options);
    sum = wick_mul(sum, wick_like(sum, window));
    /* the root of 0 has no gradient */
    wick_tensor *zero = wick_eq(sum, wick_like(sum, 0)), *safe = wick_where(zero, wick_like(sum, 1), sum);
    sum = wick_where(zero, wick_like(sum, 0), p == 2 ? wick_sqrt(safe) : wick_pow(safe, wick_like(sum, 1 / p)));
    return wick_as(sum, dtype);
}

/* n numbers from -1 to 1: ends in the middle of the corners' elements, or at their edges. */
static double base_at(int64_t i, int64_t n, bool corners) {
    if (n <= 1) return 0;
    const double at = -1 + 2 * (double)i / (double)(n - 1);
    return corners ? at : at * (double)(n - 1) / (double)n;
}
wick_tensor *wick_affine_grid(wick_tensor *theta, int rank, const int64_t *size, bool align_corners) {
    if (!theta || theta->error) return theta;
    wick_context *ctx = theta->ctx;
    const wick_dtype dtype = wick_tensor_dtype(theta);
    if ((rank != 2 && rank != 3) || !size)
        return wick_poison(ctx, WICK_ERR_SHAPE, "affine_grid: of %d dims; 2 or 3, and a size for each", rank);
    if (!wick_dtype_is_float(dtype))
        return wick_poison(ctx, WICK_ERR_DTYPE, "affine_grid: theta is %s; it needs floats", wick_dtype_name(dtype));
    if (wick_tensor_rank(theta) != 3 || wick_tensor_dim(theta, 1) != rank || wick_tensor_dim(theta, 2) != rank + 1)
        return wick_poison(ctx, WICK_ERR_SHAPE, "affine_grid: theta must be [N, %d, %d]", rank, rank + 1);
    wick_type checked;
    int64_t dims[5] = {wick_tensor_dim(theta, 0)}, points = 1;
    for (int d = 0; d < rank; d++) dims[1 + d] = size[d];
    dims[1 + rank] = rank;
    if (!wick_type_make(&checked, WICK_F64, rank + 2, dims))
        return wick_poison(ctx, WICK_ERR_SHAPE, "affine_grid: the grid is too large");
    for (int d = 0; d < rank; d++) points *= size[d];
    const size_t bytes = (size_t)(points * (rank + 1)) * sizeof(double);
    double *base = bytes ? wick_alloc(&ctx->alloc, bytes) : NULL; /* [points, (x, y, z, 1)]: the innermost dim first */
    if (bytes && !base) return wick_poison(ctx, WICK_ERR_NOMEM, "affine_grid: out of memory");
    for (int64_t p = 0; p < points; p++) {
        int64_t rest = p;
        for (int d = rank - 1; d >= 0; d--) {
            base[p * (rank + 1) + rank - 1 - d] = base_at(rest % size[d], size[d], align_corners);
            rest /= size[d];
        }
        base[p * (rank + 1) + rank] = 1;
    }
    wick_tensor *from = wick_from(ctx, WICK_F64, WICK_DIMS(points, rank + 1), base ? base : (double[]){0});
    if (base) wick_release(&ctx->alloc, base, bytes);
    const wick_dtype wide = dtype == WICK_F64 ? WICK_F64 : WICK_F32;
    wick_tensor *grid = wick_matmul(wick_as(from, wide), wick_transpose(wick_as(theta, wide), 1, 2));
    return wick_as(wick_reshape(grid, rank + 2, dims), dtype);
}

/* Corner k of boxes [..., 4] as [..., 1, n] or [..., n, 1]. */
static wick_tensor *corner(wick_tensor *boxes, int k, bool column) {
    wick_tensor *c = wick_squeeze(wick_slice(boxes, -1, k, k + 1, 1), -1);
    return wick_unsqueeze(c, column ? -1 : -2);
}
wick_tensor *wick_box_iou(wick_tensor *a, wick_tensor *b) {
    if (!wick_promote_pair(&a, &b, "box_iou")) return a;
    wick_tensor *const both[2] = {a, b};
    for (int i = 0; i < 2; i++)
        if (wick_tensor_rank(both[i]) < 2 || wick_tensor_dim(both[i], -1) != 4 ||
            !wick_dtype_is_float(wick_tensor_dtype(both[i])))
            return wick_poison(a->ctx, WICK_ERR_SHAPE, "box_iou: boxes must be floats [..., n, 4]: x1, y1, x2, y2");
    const wick_dtype dtype = wick_tensor_dtype(a), wide = dtype == WICK_F64 ? WICK_F64 : WICK_F32;
    wick_tensor *c[2][4], *area[2];
    for (int i = 0; i < 2; i++) {
        wick_tensor *boxes = wick_as(i ? b : a, wide);
        for (int k = 0; k < 4; k++) c[i][k] = corner(boxes, k, i == 0);
        area[i] = wick_mul(wick_sub(c[i][2], c[i][0]), wick_sub(c[i][3], c[i][1]));
    }
    wick_tensor *side[2];
    for (int k = 0; k < 2; k++)
        side[k] = wick_relu(wick_sub(wick_minimum(c[0][k + 2], c[1][k + 2]), wick_maximum(c[0][k], c[1][k])));
    wick_tensor *overlap = wick_mul(side[0], side[1]);
    return wick_as(wick_div(overlap, wick_sub(wick_add(area[0], area[1]), overlap)), dtype);
}
