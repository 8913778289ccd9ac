/* Random expressions of many ops, and their gradients: planned with all passes, on several threads, they give the bits
 * that running op by op gives. What no hand-written graph would hold: views of views, chains that fuse in odd places,
 * numbers that fold, values used twice. */
#include "kernels/kernels.h"
#include "test.h"
#include "tensor/tensor.h"
#undef WICK_NO_SITES
#include "wick/ops.h"

#define OPS 24        /* of one expression */
#define POOL (OPS + 10)
#define RESULTS 10
#define MOST 60000    /* elements of one value */

#define ONE(a) (wick_##a)(x)
static wick_tensor *unary(wick_tensor *x) {
    switch (test_rand_int(0, 21)) {
    case 0: return ONE(neg);
    case 1: return ONE(abs);
    case 2: return ONE(square);
    case 3: return ONE(tanh);
    case 4: return ONE(sigmoid);
    case 5: return ONE(relu);
    case 6: return ONE(exp);
    case 7: return ONE(sin);
    case 8: return ONE(softplus);
    case 9: return ONE(gelu);
    case 10: return ONE(silu);
    case 11: return ONE(floor);
    case 12: return ONE(isfinite);
    case 13: return ONE(sign);
    case 14: return ONE(stop_gradient);
    case 15: return wick_sqrt(wick_abs(x));
    case 16: return wick_dropout(x, 0.25);
    case 17: return wick_mul(x, wick_like(x, test_rand_int(0, 2)));
    case 18: return wick_div(x, wick_scalar(wick_tensor_context(x), WICK_F32, 1.5));
    default: return wick_cast(x, (wick_dtype)test_rand_int(0, WICK_BOOL));
    }
}
static wick_tensor *binary(wick_tensor *x, wick_tensor *y) {
    switch (test_rand_int(0, 9)) {
    case 0: return wick_add(x, y);
    case 1: return wick_sub(x, y);
    case 2: return wick_mul(x, y);
    case 3: return wick_div(x, wick_add(wick_abs(y), wick_like(y, 1)));
    case 4: return wick_maximum(x, y);
    case 5: return wick_minimum(x, y);
    case 6: return wick_lt(x, y);
    case 7: return wick_eq(x, x);
    case 8: return wick_where(wick_ge(x, y), x, y);
    default: return wick_matmul(x, test_rand() % 2 ? y : wick_transpose(y, -1, -2));
    }
}
static wick_tensor *view(wick_tensor *x) {
    int rank = wick_tensor_rank(x), axis = rank ? test_rand_int(0, rank - 1) : 0;
    int64_t n = wick_tensor_dim(x, axis), dims[WICK_MAX_DIMS];
    switch (test_rand_int(0, 8)) {
    case 0: return wick_transpose(x, axis, rank ? test_rand_int(0, rank - 1) : 0);
    case 1: return wick_slice(x, axis, test_rand_int(0, 1), INT64_MAX, test_rand_int(1, 2));
    case 2: return wick_slice(x, axis, INT64_MAX, INT64_MIN, -test_rand_int(1, 2));
    case 3: return wick_unsqueeze(x, axis);
    case 4: return n == 1 ? wick_squeeze(x, axis) : wick_flatten(x, axis);
    case 5: return wick_reshape(x, WICK_DIMS(-1));
    case 6: return n % 2 ? x : wick_reshape(x, WICK_DIMS(2, -1));
    case 7:
        dims[0] = test_rand_int(1, 3);
        for (int i = 0; i < rank && i < WICK_MAX_DIMS - 1; i++) dims[i + 1] = wick_tensor_dims(x)[i];
        return rank < 6 ? wick_expand(x, rank + 1, dims) : x;
    default: return wick_diagonal(x, test_rand_int(-1, 1), 0, -1);
    }
}
static wick_tensor *reduction(wick_tensor *x) {
    int rank = wick_tensor_rank(x), axes[2] = {rank ? test_rand_int(0, rank - 1) : 0, -1}, n = test_rand_int(0, 2);
    bool keep = test_rand() % 2;
    switch (test_rand_int(0, 7)) {
    case 0: return wick_sum(x, n, axes, keep);
    case 1: return wick_mean(x, n, axes, keep);
    case 2: return wick_max(x, n, axes, keep);
    case 3: return wick_min(x, n, axes, keep);
    case 4: return wick_var(x, n, axes, 0, keep);
    case 5: return wick_argmax(x, axes[0], keep);
    case 6: return wick_softmax(x, axes[0]);
    default: return wick_log_softmax(x, axes[0]);
    }
}
static wick_tensor *other(wick_tensor *x, wick_tensor *y) {
    int rank = wick_tensor_rank(x), axis = rank ? test_rand_int(0, rank - 1) : 0;
    wick_context *ctx = wick_tensor_context(x);
    wick_tensor *index = wick_from(ctx, WICK_I64, WICK_DIMS(3), (const int64_t[]){0, -1, 0});
    switch (test_rand_int(0, 6)) {
    case 0: return wick_concat(2, (wick_tensor *[]){x, y}, axis);
    case 1: return wick_concat(3, (wick_tensor *[]){x, wick_neg(x), x}, axis);
    case 2: return wick_tensor_dim(x, axis) ? wick_gather(x, axis, index) : x;
    case 3: return wick_tensor_dim(x, axis) ? wick_scatter_add(x, axis, index, wick_gather(x, axis, index)) : x;
    case 4: return wick_layer_norm(x, NULL, NULL, 1e-3);
    case 5: return wick_one_hot(wick_cast(x, WICK_I32), 3, WICK_F32);
    default: return wick_random_uniform(ctx, WICK_F32, WICK_DIMS(4, 3));
    }
}

/* A new version of a state, whole or through a view; what was recorded before keeps reading the old one. */
static wick_status update(wick_tensor *state) {
    wick_tensor *part = state;
    switch (test_rand_int(0, 3)) {
    case 0: part = wick_slice(state, 0, 1, INT64_MAX, test_rand_int(1, 2)); break;
    case 1: part = wick_slice(wick_transpose(state, 0, -1), -1, INT64_MAX, INT64_MIN, -2); break;
    case 2: part = wick_diagonal(wick_reshape(state, WICK_DIMS(2, -1)), 0, 0, 1); break;
    }
    wick_tensor *value =
        wick_add(wick_mul(part, wick_scalar(wick_tensor_context(state), WICK_F32, 0.5)), wick_cos(part));
    return wick_assign(part, value);
}

static bool usable(const wick_tensor *t) {
    return t && !wick_tensor_error(t, NULL) && wick_tensor_count(t) <= MOST && wick_tensor_rank(t) < 7;
}

typedef struct outcome {
    wick_status status;
    char text[512];
    int n, gradients;
    wick_type type[RESULTS];
    char *bytes[RESULTS];
} outcome;

/* The expression that the seed stands for, in this context: its choices depend on the seed and on shapes alone. */
static outcome run_expression(wick_context *ctx, uint64_t seed) {
    outcome r = {0};
    test_seed = seed;
    wick_scope *scope = wick_scope_open(ctx);
    static float values[96 * 200];
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) values[i] = (float)test_rand_real(-2, 2);
    wick_tensor *pool[POOL] = {
        wick_from(ctx, WICK_F32, WICK_DIMS(2, 3, 4), values),
        wick_from(ctx, WICK_F32, WICK_DIMS(96, 200), values),
        wick_from(ctx, WICK_F32, WICK_DIMS(200), values),
        wick_cast(wick_from(ctx, WICK_F32, WICK_DIMS(3, 1), values), WICK_F64),
        wick_full(ctx, WICK_I64, WICK_DIMS(4), 3),
        wick_scalar(ctx, WICK_F32, 0.75),
        wick_constant(ctx, WICK_F32, -1.25),
    };
    int n = 7, leaves = 3;
    wick_context_set_random(ctx, 9, 1);
    for (int k = 0; k < OPS; k++) {
        wick_tensor *x = pool[test_rand_int(0, n - 1)], *y = pool[test_rand_int(0, n - 1)], *made = NULL;
        switch (test_rand_int(0, 9)) {
        case 9:
            r.status = update(pool[test_rand_int(0, leaves - 1)]);
            CHECK_MSG(r.status == WICK_OK, "%s", wick_context_error(ctx));
            break;
        case 0: case 1: case 2: made = unary(x); break;
        case 3: case 4: made = binary(x, y); break;
        case 5: case 6: made = view(x); break;
        case 7: made = reduction(x); break;
        default: made = other(x, y);
        }
        if (usable(made)) pool[n++] = made;
    }
    wick_tensor *loss = NULL, *results[RESULTS], *grad[3];
    for (int i = leaves; i < n; i++) {
        if (!wick_dtype_is_float(wick_tensor_dtype(pool[i])) || test_rand() % 3 == 0) continue;
        wick_tensor *part = wick_cast(wick_mean(wick_sin(pool[i]), WICK_ALL_AXES, false), WICK_F64);
        loss = loss ? wick_add(loss, part) : part;
    }
    for (r.n = 0; r.n < RESULTS - 4; r.n++) results[r.n] = pool[test_rand_int(0, n - 1)];
    if (loss) {
        results[r.n++] = loss;
        for (int i = 0; i < leaves; i++) {
            wick_grad(loss, 1, &pool[i], &grad[i]);
            if (!wick_tensor_error(grad[i], NULL)) results[r.n++] = grad[i], r.gradients++;
        }
    }
    r.status = wick_eval(ctx, r.n, results, NULL);
    if (r.status) snprintf(r.text, sizeof r.text, "%s", wick_context_error(ctx));
    for (int i = 0; i < r.n && !r.status; i++) {
        bool made = wick_type_make(&r.type[i], wick_tensor_dtype(results[i]), wick_tensor_rank(results[i]),
                                   wick_tensor_dims(results[i]));
        r.bytes[i] = calloc(wick_type_bytes(&r.type[i]) + 1, 1);
        if (!made || wick_read(results[i], r.bytes[i], wick_type_bytes(&r.type[i])) != WICK_OK)
            r.status = WICK_ERR_INTERNAL;
    }
    wick_scope_close(&scope);
    return r;
}
static void outcome_free(outcome *r) {
    for (int i = 0; i < r->n; i++) free(r->bytes[i]);
}

/* Bits, except that one NaN is as good as another. */
static bool same(const wick_type *t, const char *a, const char *b) {
    size_t elem = wick_dtype_size((wick_dtype)t->dtype);
    if (memcmp(a, b, wick_type_bytes(t)) == 0) return true;
    for (int64_t i = 0; i < wick_type_count(t); i++, a += elem, b += elem) {
        wick_copy one = {.rank = 0, .src = (wick_dtype)t->dtype, .dst = WICK_F64};
        double va, vb;
        if (memcmp(a, b, elem) == 0) continue;
        wick_copy_run(&one, 0, 1, a, &va);
        wick_copy_run(&one, 0, 1, b, &vb);
        if (!isnan(va) || !isnan(vb)) return false;
    }
    return true;
}

TEST(random_expressions_give_the_bits_of_running_op_by_op) {
    setenv("WICK_VERIFY", "1", 1);
    wick_context *ctx[3] = {NULL};
    for (int i = 0; i < 3; i++)
        REQUIRE(wick_context_new(&(wick_context_options){.threads = 1 + i, .eager = i == 0}, &ctx[i]) == WICK_OK);
    int gradients = 0;
    for (uint64_t seed = 1; seed <= 600; seed++) {
        outcome eager = run_expression(ctx[0], seed * 0x9E3779B97F4A7C15u);
        CHECK_MSG(eager.status == WICK_OK, "expression %llu: %s", (unsigned long long)seed, eager.text);
        gradients += eager.gradients;
        for (int i = 1; i < 3; i++) {
            outcome r = run_expression(ctx[i], seed * 0x9E3779B97F4A7C15u);
            CHECK_MSG(r.status == eager.status && r.n == eager.n, "expression %llu: %s", (unsigned long long)seed,
                      r.text);
            for (int k = 0; k < r.n && r.n == eager.n && !r.status && !eager.status; k++)
                CHECK_MSG(wick_type_equal(&r.type[k], &eager.type[k]) && same(&r.type[k], r.bytes[k], eager.bytes[k]),
                          "expression %llu: result %d of %d differs on %d threads", (unsigned long long)seed, k, r.n,
                          i + 1);
            outcome_free(&r);
        }
        outcome_free(&eager);
    }
    CHECK(gradients > 100); /* the expressions do reach their leaves */
    for (int i = 0; i < 3; i++) wick_context_free(&ctx[i]);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
