/* Values and gradients of the ops against PyTorch's (golden/ops.safetensors, made by golden/make_ops.py). */
#define GOLDEN_FILE  "ops.safetensors"
#define GOLDEN_FLOOR 0.2
#include "ops/goldens.h"

/* ---- reductions -------------------------------------------------------------------------------------------------- */

static struct {
    int n, axes[3];
    bool keep;
} over; /* what the next reduction is taken over */
BUILD(build_sum, wick_sum(in[0], over.n, over.axes, over.keep))
BUILD(build_mean, wick_mean(in[0], over.n, over.axes, over.keep))
BUILD(build_prod, wick_prod(in[0], over.n, over.axes, over.keep))
BUILD(build_max, wick_max(in[0], over.n, over.axes, over.keep))
BUILD(build_min, wick_min(in[0], over.n, over.axes, over.keep))
BUILD(build_var, wick_var(in[0], over.n, over.axes, 1, over.keep))
BUILD(build_var_biased, wick_var(in[0], over.n, over.axes, 0, over.keep))
BUILD(build_argmax, wick_argmax(in[0], over.axes[0], over.keep))
BUILD(build_argmin, wick_argmin(in[0], over.axes[0], over.keep))

TEST(reductions_over_any_axes_agree) {
    static const named_case ops[] = {{"sum", build_sum}, {"mean", build_mean}, {"prod", build_prod},
                                     {"max", build_max}, {"min", build_min},   {"var", build_var}};
    static const struct {
        const char *key;
        int n, axes[3];
    } sets[] = {{"all", 0, {0}}, {"0", 1, {0}}, {"1", 1, {-2}}, {"2", 1, {2}}, {"02", 2, {-1, 0}}, {"12", 2, {1, 2}}};
    wick_context *ctx = golden_context();
    REQUIRE(ctx != NULL);
    for (size_t o = 0; o < WICK_COUNTOF(ops); o++)
        for (size_t s = 0; s < WICK_COUNTOF(sets); s++)
            for (int keep = 0; keep < 2; keep++) {
                char name[64];
                snprintf(name, sizeof name, "%s.%s%s", ops[o].name, sets[s].key, keep ? ".keep" : "");
                if (keep && !find(name, "in0")) continue;
                over.n = sets[s].n;
                memcpy(over.axes, sets[s].axes, sizeof over.axes);
                over.keep = keep;
                check(ctx, name, ops[o].build);
            }
    wick_context_free(&ctx);
}

TEST(reductions_of_odd_values_and_integers_agree) {
    static const struct {
        named_case c;
        int n, axes[3];
    } cases[] = {
        {{"var.biased", build_var_biased}, 2, {1, 2}},
        {{"argmax.0", build_argmax}, 1, {0}},
        {{"argmax.1", build_argmax}, 1, {1}},
        {{"argmax.2", build_argmax}, 1, {-1}},
        {{"argmin.0", build_argmin}, 1, {0}},
        {{"argmin.1", build_argmin}, 1, {-2}},
        {{"argmin.2", build_argmin}, 1, {2}},
        {{"max.ties", build_max}, 1, {1}},
        {{"min.ties", build_min}, 2, {0, 1}},
        {{"prod.zeros", build_prod}, 1, {1}},
        {{"max.nan", build_max}, 1, {1}},
        {{"min.nan", build_min}, 1, {0}},
        {{"sum.nan", build_sum}, 1, {1}},
        {{"argmax.nan", build_argmax}, 1, {1}},
        {{"argmin.nan", build_argmin}, 1, {1}},
        {{"sum.int", build_sum}, 1, {1}},
        {{"sum.u8", build_sum}, 1, {0}},
        {{"sum.bool", build_sum}, 0, {0}},
        {{"prod.int", build_prod}, 1, {1}},
        {{"max.int", build_max}, 1, {1}},
    };
    wick_context *ctx = golden_context();
    REQUIRE(ctx != NULL);
    over.keep = false;
    for (size_t i = 0; i < WICK_COUNTOF(cases); i++) {
        over.n = cases[i].n;
        memcpy(over.axes, cases[i].axes, sizeof over.axes);
        check(ctx, cases[i].c.name, cases[i].c.build);
    }
    wick_context_free(&ctx);
}

/* ---- products ---------------------------------------------------------------------------------------------------- */

BUILD(matmul, wick_matmul(in[0], in[1]))
BUILD(matmul_transposed, wick_matmul(wick_transpose(in[0], 0, 1), wick_transpose(in[1], 0, 1)))
BUILD(matmul_sliced, wick_matmul(wick_slice(wick_slice(in[0], 0, 0, INT64_MAX, 2), 1, 1, INT64_MAX, 1),
                                 wick_slice(in[1], 1, 0, INT64_MAX, 3)))
BUILD(linear, wick_linear(in[0], in[1], in[2]))
BUILD(linear_plain, wick_linear(in[0], in[1], NULL))
static const named_case products[] = {
    {"matmul.2d", matmul},
    {"matmul.batch", matmul},
    {"matmul.broadcast", matmul},
    {"matmul.shared", matmul},
    {"matmul.dot", matmul},
    {"matmul.vector", matmul},
    {"matmul.row", matmul},
    {"matmul.batch_vector", matmul},
    {"matmul.row_batch", matmul},
    {"matmul.one", matmul},
    {"matmul.transposed", matmul_transposed},
    {"matmul.sliced", matmul_sliced},
    {"linear", linear},
    {"linear.plain", linear_plain},
};
TEST(matrix_products_agree) { check_all(products, WICK_COUNTOF(products)); }

/* ---- normalisation ----------------------------------------------------------------------------------------------- */

BUILD(softmax_0, wick_softmax(in[0], 0))
BUILD(softmax_1, wick_softmax(in[0], 1))
BUILD(softmax_2, wick_softmax(in[0], -1))
BUILD(log_softmax_0, wick_log_softmax(in[0], 0))
BUILD(log_softmax_1, wick_log_softmax(in[0], 1))
BUILD(log_softmax_2, wick_log_softmax(in[0], 2))
BUILD(layer_norm, wick_layer_norm(in[0], NULL, NULL, 1e-5))
BUILD(layer_norm_weight, wick_layer_norm(in[0], in[1], NULL, 1e-5))
BUILD(layer_norm_bias, wick_layer_norm(in[0], NULL, in[1], 1e-5))
BUILD(layer_norm_both, wick_layer_norm(in[0], in[1], in[2], 1e-3))
BUILD(batch_norm, wick_batch_norm(in[0], in[1], in[2], in[3], in[4], 1e-5))
BUILD(batch_norm_plain, wick_batch_norm(in[0], in[1], in[2], NULL, NULL, 1e-3))
static const named_case norms[] = {
    {"softmax.0", softmax_0},
    {"softmax.1", softmax_1},
    {"softmax.2", softmax_2},
    {"log_softmax.0", log_softmax_0},
    {"log_softmax.1", log_softmax_1},
    {"log_softmax.2", log_softmax_2},
    {"softmax.large", softmax_1},
    {"log_softmax.large", log_softmax_1},
    {"layer_norm.plain", layer_norm},
    {"layer_norm.weight", layer_norm_weight},
    {"layer_norm.bias", layer_norm_bias},
    {"layer_norm.both", layer_norm_both},
    {"batch_norm.2d", batch_norm},
    {"batch_norm.4d", batch_norm},
    {"batch_norm.plain", batch_norm_plain},
};
TEST(normalisations_agree) { check_all(norms, WICK_COUNTOF(norms)); }

/* ---- indexing, joining, losses, views ---------------------------------------------------------------------------- */

BUILD(gather_0, wick_gather(in[0], 0, in[1]))
BUILD(gather_1, wick_gather(in[0], 1, in[1]))
BUILD(gather_2, wick_gather(in[0], -1, in[1]))
BUILD(scatter_0, wick_scatter_add(in[0], 0, in[1], in[2]))
BUILD(scatter_1, wick_scatter_add(in[0], 1, in[1], in[2]))
BUILD(one_hot, wick_one_hot(in[0], 5, WICK_I64))
BUILD(concat_0, wick_concat(3, in, 0))
BUILD(concat_1, wick_concat(2, in, -1))
BUILD(cross_entropy, wick_cross_entropy(in[0], in[1]))
BUILD(cross_entropy_rows, wick_cross_entropy_rows(in[0], in[1]))
BUILD(mse, wick_mse(in[0], in[1]))
static const named_case indexed[] = {
    {"gather.0", gather_0},
    {"gather.1", gather_1},
    {"gather.2", gather_2},
    {"gather.scalar", gather_0},
    {"index_select", gather_0},
    {"scatter_add.0", scatter_0},
    {"scatter_add.1", scatter_1},
    {"one_hot", one_hot},
    {"concat.0", concat_0},
    {"concat.1", concat_1},
    {"cross_entropy", cross_entropy},
    {"cross_entropy.rows", cross_entropy_rows},
    {"mse", mse},
};
TEST(indexing_joining_and_losses_agree) { check_all(indexed, WICK_COUNTOF(indexed)); }

BUILD(reshape, wick_reshape(in[0], WICK_DIMS(5, -1)))
BUILD(flatten, wick_flatten(in[0], 1))
BUILD(permute, wick_permute(in[0], WICK_AXES(2, 0, 1)))
BUILD(transpose, wick_transpose(in[0], 0, -1))
BUILD(slice, wick_slice(in[0], 1, 1, 4, 2))
BUILD(slice_back, wick_slice(in[0], 2, -1, INT64_MIN, -2))
BUILD(expand, wick_expand(in[0], WICK_DIMS(3, 2, 4)))
BUILD(squeeze, wick_unsqueeze(wick_squeeze(in[0], 1), 0))
BUILD(diagonal_low, wick_diagonal(in[0], -2, 0, 2))
BUILD(diagonal_main, wick_diagonal(in[0], 0, 0, 2))
BUILD(diagonal_high, wick_diagonal(in[0], 1, 0, -1))
BUILD(diagonal_none, wick_diagonal(in[0], 9, 0, 2))
BUILD(views, wick_transpose(wick_slice(wick_slice(wick_reshape(wick_slice(wick_permute(in[0], WICK_AXES(2, 0, 1)), 0, 0,
                                                                          INT64_MAX, 2),
                                                               WICK_DIMS(9, 4)),
                                                  0, 1, INT64_MAX, 1),
                                       1, 0, 3, 1),
                            0, 1))
static const named_case viewed[] = {
    {"reshape", reshape},
    {"flatten", flatten},
    {"permute", permute},
    {"transpose", transpose},
    {"slice", slice},
    {"slice.back", slice_back},
    {"expand", expand},
    {"squeeze", squeeze},
    {"diagonal.-2", diagonal_low},
    {"diagonal.0", diagonal_main},
    {"diagonal.1", diagonal_high},
    {"diagonal.9", diagonal_none},
    {"views", views},
};
TEST(views_agree) { check_all(viewed, WICK_COUNTOF(viewed)); }

/* ---- casts ------------------------------------------------------------------------------------------------------- */

TEST(casts_between_all_dtypes_agree) {
    wick_context *ctx = golden_context();
    REQUIRE(ctx != NULL);
    for (int s = 0; s <= WICK_BOOL; s++) /* those for storage: test_storage.c */
        for (int d = 0; d <= WICK_BOOL; d++) {
            char name[64], result[64 * 8];
            snprintf(name, sizeof name, "cast.%s.%s", wick_dtype_name((wick_dtype)s), wick_dtype_name((wick_dtype)d));
            array *in = find(name, "in"), *out = find(name, "out");
            CHECK_MSG(in && out && in->dtype == (wick_dtype)s && out->dtype == (wick_dtype)d &&
                          out->bytes <= sizeof result,
                      "%s", name);
            if (!in || !out || out->bytes > sizeof result) continue;
            wick_scope *scope = wick_scope_open(ctx);
            wick_tensor *y = wick_cast(wick_from(ctx, in->dtype, in->rank, in->dims, in->data), (wick_dtype)d);
            CHECK_MSG(wick_read(y, result, out->bytes) == WICK_OK, "%s: %s", name, wick_context_error(ctx));
            size_t elem = wick_dtype_size((wick_dtype)d);
            for (size_t i = 0; i < out->bytes / elem; i++) {
                bool same = memcmp(result + i * elem, (const char *)out->data + i * elem, elem) == 0;
                double a = element((wick_dtype)d, result, (int64_t)i),
                       b = element((wick_dtype)d, out->data, (int64_t)i);
                CHECK_MSG(same || (isnan(a) && isnan(b)), "%s of %.17g: %.17g, PyTorch has %.17g", name,
                          element((wick_dtype)s, in->data, (int64_t)i), a, b);
            }
            wick_scope_close(&scope);
        }
    wick_context_free(&ctx);
}

/* What does not fit an integer is undefined in PyTorch, which does what the machine does. Wick saturates, and NaN is 0.
 */
TEST(casts_of_floats_to_integers_saturate) {
    static const struct {
        wick_dtype to;
        int64_t least;
        uint64_t most;
    } limits[] = {{WICK_I8, -128, 127},
                  {WICK_I16, -32768, 32767},
                  {WICK_I32, INT32_MIN, INT32_MAX},
                  {WICK_I64, INT64_MIN, INT64_MAX},
                  {WICK_U8, 0, 255},
                  {WICK_U16, 0, 65535},
                  {WICK_U32, 0, UINT32_MAX},
                  {WICK_U64, 0, UINT64_MAX}};
    static const wick_dtype floats[] = {WICK_F64, WICK_F32, WICK_BF16, WICK_F16};
    wick_context *ctx = golden_context();
    REQUIRE(ctx != NULL);
    for (size_t f = 0; f < WICK_COUNTOF(floats); f++)
        for (size_t i = 0; i < WICK_COUNTOF(limits); i++) {
            /* 60000 is outside of the 8 and 16 bit types, and f16 has it. */
            double values[5] = {INFINITY, -INFINITY, NAN, 1e30, -1e30};
            bool small = limits[i].most <= 32767;
            if (floats[f] == WICK_F16) values[3] = small ? 60000 : INFINITY, values[4] = small ? -60000 : -INFINITY;
            wick_scope *scope = wick_scope_open(ctx);
            wick_tensor *x = wick_cast(wick_from(ctx, WICK_F64, WICK_DIMS(5), values), floats[f]);
            wick_tensor *y = wick_cast(x, limits[i].to);
            union {
                char bytes[40];
                uint64_t words[5];
            } got = {{0}};
            size_t elem = wick_dtype_size(limits[i].to);
            CHECK(wick_read(y, got.bytes, 5 * elem) == WICK_OK);
            uint64_t expected[5] = {limits[i].most, (uint64_t)limits[i].least, 0, limits[i].most,
                                    (uint64_t)limits[i].least};
            for (size_t k = 0; k < 5; k++)
                CHECK_MSG(memcmp(got.bytes + k * elem, &expected[k], elem) == 0, "%s to %s: value %zu (%g) became %g",
                          wick_dtype_name(floats[f]), wick_dtype_name(limits[i].to), k, values[k],
                          element(limits[i].to, got.bytes, (int64_t)k));
            wick_scope_close(&scope);
        }
    wick_context_free(&ctx);
}

/* Runs last; alone it has nothing to say. */
TEST(every_golden_was_compared) { check_all_compared(); }

int main(int argc, char **argv) { return test_main(argc, argv); }
