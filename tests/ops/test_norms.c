/* Group, instance, RMS and local response norm, and vectors of norm 1, against PyTorch's (golden/norms.safetensors,
 * made by golden/make_norms.py). */
#define GOLDEN_FILE  "norms.safetensors"
#define GOLDEN_FLOOR 8
#include "ops/goldens.h"

enum { GROUP, INSTANCE, RMS, RESPONSE, NORMALIZE }; /* as in make_norms.py */
enum { WEIGHT = 1, BIAS, NUMBER };

static wick_tensor *build(wick_tensor **in, const int64_t *attr) {
    const double n[3] = {(double)attr[NUMBER] / 1e6, (double)attr[NUMBER + 1] / 1e6, (double)attr[NUMBER + 2] / 1e6};
    wick_tensor *weight = attr[WEIGHT] ? in[1] : NULL, *bias = attr[BIAS] ? in[1 + attr[WEIGHT]] : NULL;
    switch (attr[0]) {
    case GROUP: return wick_group_norm(in[0], (int64_t)n[0], weight, bias, 1e-5);
    case INSTANCE: return wick_instance_norm(in[0], weight, bias, 1e-5);
    case RMS: return wick_rms_norm(in[0], weight, n[0]);
    case RESPONSE: return wick_local_response_norm(in[0], (int64_t)n[0], 0.3, 0.75, 1.5);
    default: return wick_normalize(in[0], attr[NUMBER] < 0 ? INFINITY : n[0], (int)n[1], n[2]);
    }
}

TEST(values_and_gradients_agree) {
    wick_context *ctx = golden_context();
    REQUIRE(ctx != NULL);
    CHECK(check_every_case(&ctx, build) > 40);
    wick_context_free(&ctx);
}

TEST(what_cannot_be_normalised_is_refused_by_name) {
    wick_context *ctx = golden_context();
    REQUIRE(ctx != NULL);
    wick_tensor *x = wick_ones(ctx, WICK_F32, WICK_DIMS(2, 6, 3)), *w = wick_ones(ctx, WICK_F32, WICK_DIMS(6)),
                *ints = wick_cast(x, WICK_I32);
    const refusal cases[] = {
        {wick_group_norm(x, 4, NULL, NULL, 1e-5), "group_norm: 6 channels do not divide into 4 groups"},
        {wick_group_norm(x, 0, NULL, NULL, 1e-5), "into 0 groups"},
        {wick_group_norm(w, 2, NULL, NULL, 1e-5), "group_norm: x has 1 dims; it needs [N, C, ...]"},
        {wick_group_norm(ints, 2, NULL, NULL, 1e-5), "group_norm: x is i32"},
        {wick_group_norm(x, 2, x, NULL, 1e-5), "weight must be [6]"},
        {wick_instance_norm(x, w, wick_ones(ctx, WICK_F32, WICK_DIMS(3)), 1e-5), "instance_norm: bias must be [6]"},
        {wick_instance_norm(wick_ones(ctx, WICK_F32, WICK_DIMS(2, 6)), NULL, NULL, 1e-5),
         "instance_norm: x has 2 dims"},
        {wick_rms_norm(x, w, 1e-5), "extent 3 of the last axis"},
        {wick_rms_norm(ints, NULL, 1e-5), "rms_norm(i32[2,6,3]): needs a float type"},
        {wick_local_response_norm(x, 0, 1, 1, 1), "local_response_norm: 0 neighbours"},
        {wick_normalize(x, 2, 3, 1e-5), "normalize: axis 3 of a 3-d tensor"},
        {wick_normalize(x, 0, 1, 1e-5), "norm of order 0"},
        {wick_normalize(x, NAN, 1, 1e-5), "norm of order nan"},
        {wick_group_norm(x, 2, w, w, 1e-5), ""},
    };
    check_refusals(cases, WICK_COUNTOF(cases));
    wick_context_free(&ctx);
}

/* Sums of many squares in half types would overflow or lose everything. */
TEST(half_types_are_computed_in_f32_and_rounded_once) {
    wick_context *ctx = golden_context();
    REQUIRE(ctx != NULL);
    wick_tensor *wide =
        wick_mul(wick_sin(wick_arange(ctx, WICK_F32, 0, 1, 2 * 4 * 600)), wick_constant(ctx, WICK_F32, 300));
    wide = wick_reshape(wide, WICK_DIMS(2, 4, 600));
    for (int d = 0; d < 2; d++) {
        const wick_dtype dtype = d ? WICK_BF16 : WICK_F16;
        wick_tensor *half = wick_cast(wide, dtype), *same = wick_cast(half, WICK_F32),
                    *w = wick_full(ctx, dtype, WICK_DIMS(4), 0.3), *sw = wick_cast(w, WICK_F32);
        wick_tensor *pairs[][2] = {
            {wick_group_norm(half, 2, w, w, 1e-5), wick_group_norm(same, 2, sw, sw, 1e-5)},
            {wick_rms_norm(half, NULL, 1e-5), wick_rms_norm(same, NULL, 1e-5)},
            {wick_local_response_norm(half, 3, 1e-3, 0.75, 1), wick_local_response_norm(same, 3, 1e-3, 0.75, 1)},
            {wick_normalize(half, 2, -1, 1e-5), wick_normalize(same, 2, -1, 1e-5)},
        };
        for (size_t i = 0; i < WICK_COUNTOF(pairs); i++) {
            double differ = 1;
            CHECK_MSG(wick_tensor_dtype(pairs[i][0]) == dtype, "pair %d", (int)i);
            CHECK(wick_item(wick_sum(wick_cast(wick_ne(pairs[i][0], wick_cast(pairs[i][1], dtype)), WICK_I64),
                                     WICK_ALL_AXES, false),
                            &differ) == WICK_OK);
            CHECK_MSG(differ == 0, "pair %d: %g", (int)i, differ);
        }
    }
    wick_context_free(&ctx);
}

TEST(every_golden_was_compared) { check_all_compared(); }

int main(int argc, char **argv) { return test_main(argc, argv); }
