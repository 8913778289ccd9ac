/* One driver tests every op from its definition alone: random valid uses (wick_op.sample) run in every way that must
 * not change a bit, on every kernel tier, over odd memory and empty inputs, with wrong types, and their gradients
 * against differences. */
#include "ops/driver.h"

#define SAMPLES 12

static const char *describe(const use *u) {
    static char text[512];
    wick_str s = wick_str_on(text, sizeof text);
    wick_str_add(&s, "%s(", u->op->name);
    for (int i = 0; i < u->sample.n_in; i++) {
        if (i) wick_str_add(&s, ", ");
        wick_type_print(&s, &u->sample.in[i]);
    }
    wick_str_add(&s, ")");
    return text;
}

TEST(every_op_has_a_sample_or_is_known_to_need_none) {
    int exempt = 0;
    for (int i = 0; i < wick_ops_count(); i++) {
        const wick_op *op = wick_ops_at(i);
        CHECK_MSG(op->name && op->doc && op->doc[0], "op %d has no name or doc", i);
        CHECK_MSG(is_exempt(op) || op->sample, "%s has no sample", op->name);
        CHECK_MSG(op->infer != NULL, "%s has no shape rule", op->name);
        CHECK_MSG(is_exempt(op) || op->n_out > 0, "%s does not say how many results it has", op->name);
        exempt += is_exempt(op);
        for (int k = 0; k < i; k++)
            CHECK_MSG(strcmp(op->name, wick_ops_at(k)->name), "two ops are called %s", op->name);
    }
    CHECK_INT(exempt, 8);
}

TEST(samples_are_valid_and_reach_empty_inputs) {
    wick_context *ctx = driver_context(false, 1);
    REQUIRE(ctx != NULL);
    FOR_EACH_OP(op) {
        bool empty = false, differentiable = false;
        for (int k = 0; k < 300; k++) {
            use u;
            use_draw(&u, op);
            CHECK_MSG(u.sample.n_in >= op->min_in && (op->max_in == 255 || u.sample.n_in <= op->max_in),
                      "%s: %d inputs", op->name, u.sample.n_in);
            for (int i = 0; i < u.sample.n_in; i++) {
                wick_type checked;
                CHECK_MSG(wick_type_make(&checked, (wick_dtype)u.sample.in[i].dtype, u.sample.in[i].rank,
                                         u.sample.in[i].dims) &&
                              memcmp(&checked, &u.sample.in[i], sizeof checked) == 0,
                          "%s: input %d is not a proper type", op->name, i);
                CHECK_MSG(u.sample.lo[i] <= u.sample.hi[i], "%s: input %d has no range", op->name, i);
                empty |= wick_type_count(&u.sample.in[i]) == 0;
            }
            differentiable |= u.sample.differentiable;
        }
        CHECK_MSG(empty || op->max_in == 0, "%s: no sample has an empty input", op->name);
        CHECK_MSG(differentiable || !op->grad, "%s has a gradient, but no sample that checks it", op->name);
    }
    wick_context_free(&ctx);
}

TEST(results_are_finite_and_costs_are_not_negative) {
    wick_context *ctx = driver_context(false, 1);
    REQUIRE(ctx != NULL);
    FOR_EACH_OP(op) {
        for (int k = 0; k < SAMPLES; k++) {
            use u;
            use_draw(&u, op);
            use_fill(&u, false);
            wick_scope *scope = wick_scope_open(ctx);
            wick_tensor *in[MAX_IN], *out[MAX_OUT];
            for (int i = 0; i < u.sample.n_in; i++) in[i] = input(ctx, &u, i, PLAIN, NULL);
            record_use(ctx, &u, in, out);
            const char *text = "";
            CHECK_MSG(wick_tensor_error(out[0], &text) == WICK_OK, "%s: %s", describe(&u), text);
            if (!wick_tensor_error(out[0], NULL) && op->flops)
                CHECK_MSG(op->flops(out[0]->value->node) >= 0, "%s", describe(&u));
            wick_scope_close(&scope);
            result r = run_use(ctx, &u, PLAIN, true);
            CHECK_MSG(r.status == WICK_OK, "%s: %s", describe(&u), r.text);
            for (int i = 0; i < r.n && !has_no_elements(&u); i++)
                for (int64_t n = 0; n < wick_type_count(&r.type[i]); n++)
                    CHECK_MSG(isfinite(get(&r.type[i], r.bytes[i], n)), "%s: result %d, element %lld", describe(&u), i,
                              (long long)n);
            result_free(&r);
            use_free(&u);
        }
    }
    wick_context_free(&ctx);
}

/* ---- the same bits, however it runs ------------------------------------------------------------------------------ */

typedef struct way {
    const char *name;
    bool eager;
    int threads;
    lay how;
    bool around;
} way;
static const way ways[] = {
    {"plan, 1 thread", false, 1, PLAIN, true},       {"eager", true, 1, PLAIN, true},
    {"2 threads", false, 2, PLAIN, true},            {"3 threads", false, 3, PLAIN, true},
    {"7 threads", false, 7, PLAIN, true},            {"eager, 3 threads", true, 3, PLAIN, true},
    {"strided memory", false, 1, WRAPPED, true},     {"views", false, 1, VIEWED, true},
    {"eager views", true, 1, VIEWED, true},          {"alone", false, 1, PLAIN, false},
    {"alone, strided", false, 7, WRAPPED, false},    {"alone, views", false, 3, VIEWED, false},
};
#define WAYS ((int)WICK_COUNTOF(ways))

/* The gradient of a view is the gradient of what it shows, put in its places, and zero elsewhere. */
static void check_view_gradients(const use *u, const result *plain, const result *viewed) {
    if (plain->n != viewed->n) return;
    int at = plain->n_out + 1;
    for (int i = 0; i < u->sample.n_in && at < plain->n; i++) {
        const wick_type *t = &u->sample.in[i];
        if (!is_float(t)) continue;
        if (u->constant[i] < 0) {
            size_t elem = wick_dtype_size((wick_dtype)t->dtype);
            bool same = true;
            double inside = 0, all = 0;
            for (int64_t n = 0; n < u->count[i]; n++) {
                int64_t from = u->start[i] + offset_of(t, u->strides[i], n);
                same &= memcmp(viewed->bytes[at] + (size_t)from * elem, plain->bytes[at] + (size_t)n * elem, elem) == 0;
                inside += fabs(get(t, plain->bytes[at], n)) > 0;
            }
            for (int64_t n = 0; n < wick_type_count(&u->base[i]); n++) all += fabs(get(t, viewed->bytes[at], n)) > 0;
            CHECK_MSG(same, "%s: the gradient of a view of input %d differs", describe(u), i);
            CHECK_MSG(inside == all, "%s: the gradient of a view of input %d is not zero outside of it", describe(u),
                      i);
        }
        at++;
    }
}

/* Under a sanitizer a third of the ways, others for each use. */
static void check_ways(wick_context **ctx, const use *u) {
    static size_t uses;
    const size_t turn = uses++;
    result plain = run_use(ctx[0], u, PLAIN, true);
    count(EMPTY, has_no_elements(u));
    CHECK_MSG(plain.status == WICK_OK, "%s: %s", describe(u), plain.text);
    for (int w = 1; w < WAYS; w++) {
        if (!test_sampled((size_t)w + turn)) continue;
        result r = run_use(ctx[w], u, ways[w].how, ways[w].around);
        CHECK_MSG(r.status == WICK_OK, "%s, %s: %s", describe(u), ways[w].name, r.text);
        count(ways[w].how != PLAIN ? STRIDES : ways[w].threads > 1 ? THREADS : EAGER, 1);
        result expected = plain;
        if (!ways[w].around) expected.n = plain.n_out;
        int differs = r.status ? -1 : first_difference(&r, &expected, ways[w].how != VIEWED);
        if (ways[w].how == VIEWED && r.n != expected.n) differs = r.n;
        CHECK_MSG(differs < 0, "%s, %s: result %d of %d differs", describe(u), ways[w].name, differs, expected.n);
        if (ways[w].how == VIEWED && r.status == WICK_OK) check_view_gradients(u, &plain, &r);
        result_free(&r);
    }
    result_free(&plain);
}

static bool open_ways(wick_context **ctx) {
    bool good = true;
    for (int w = 0; w < WAYS; w++) good &= (ctx[w] = driver_context(ways[w].eager, ways[w].threads)) != NULL;
    return good;
}
static void close_ways(wick_context **ctx) {
    for (int w = 0; w < WAYS; w++) wick_context_free(&ctx[w]);
}

TEST(every_way_to_run_gives_the_same_bits) {
    wick_context *ctx[WAYS];
    REQUIRE(open_ways(ctx));
    FOR_EACH_OP(op) {
        for (int k = 0; k < SAMPLES; k++) {
            use u;
            use_draw(&u, op);
            use_fill(&u, k % 2);
            check_ways(ctx, &u);
            use_free(&u);
        }
    }
    close_ways(ctx);
}

/* The inputs of a use with extents above 1 times k: all of them, or (batches) the first of the inputs in the mask. The
 * largest's size. */
static int64_t grow_by(use *u, const wick_sample *small, int64_t k, unsigned mask) {
    int64_t most = 0;
    for (int i = 0; i < small->n_in; i++) {
        u->sample.in[i] = small->in[i];
        for (int d = 0; d < small->in[i].rank; d++)
            if (small->in[i].dims[d] > 1 && (!mask || (d == 0 && mask >> i & 1))) u->sample.in[i].dims[d] *= k;
        most = WICK_MAX(most, wick_type_count(&u->sample.in[i]));
    }
    return most;
}

/* Makes a use large enough to be cut into many tasks, where it then still fits. False for ops whose attributes fix the
 * shape: views, which have no kernels, and random numbers, which have no inputs. */
static bool grow_as(wick_context *ctx, use *u, int64_t limit, unsigned mask) {
    wick_sample small = u->sample;
    for (int64_t k = mask ? 4096 : 64; k > 1 && grow_by(u, &small, k, mask) > limit;) k = mask ? k / 2 : k - 1;
    wick_scope *scope = wick_scope_open(ctx);
    wick_tensor *in[MAX_IN], *out[MAX_OUT];
    for (int i = 0; i < small.n_in; i++)
        in[i] = wick_zeros(ctx, (wick_dtype)u->sample.in[i].dtype, u->sample.in[i].rank, u->sample.in[i].dims);
    record_use(ctx, u, in, out);
    bool fits = wick_tensor_error(out[0], NULL) == WICK_OK && wick_tensor_count(out[0]) < 4000000;
    wick_scope_close(&scope);
    if (mask) fits &= u->sample.in[0].dims[0] > 8; /* of 0 and 1 nothing grows */
    if (!fits) u->sample = small;
    return fits;
}
static bool grow(wick_context *ctx, use *u, int64_t limit) {
    for (unsigned mask = 0; mask < 1u << u->sample.n_in; mask++)
        if (grow_as(ctx, u, limit, mask)) return true;
    return false;
}

TEST(large_uses_give_the_same_bits_at_any_number_of_threads) {
    wick_context *ctx[WAYS];
    REQUIRE(open_ways(ctx));
    FOR_EACH_OP(op) {
        bool grew = false;
        for (int k = 0; k < (TEST_SANITIZED ? 2 : 3) || (!grew && k < 12); k++) {
            use u;
            do use_draw(&u, op);
            while (u.sample.n_in && u.sample.in[0].rank < 2 && op->min_in && test_rand() % 8);
            grew |= u.sample.n_in && grow(ctx[0], &u, TEST_SANITIZED ? 40000 : 100000);
            use_fill(&u, false);
            check_ways(ctx, &u);
            use_free(&u);
        }
        CHECK_MSG(grew || op->flags & (WICK_OP_VIEW | WICK_OP_RANDOM) || op->max_in == 0 || op == &wick_op_view_scatter,
                  "%s was never large", op->name);
    }
    close_ways(ctx);
}

/* ---- tiers against the plain C reference ------------------------------------------------------------------------- */

/* NaN, infinities, zeros of both signs and denormals among the values; in elementwise ops also huge and tiny ones,
 * whose sums elsewhere may overflow in one order and not in another. */
static void poke(use *u) {
    static const double odd[] = {NAN,   INFINITY, -INFINITY, -0.0,  0.0, 1e-310, 1e-40,
                                 1e-30, -1e-30,   1e30,      -1e30, 1e4, -1e4};
    const uint64_t among = u->op->flags & WICK_OP_ELEMENTWISE ? WICK_COUNTOF(odd) : 7;
    for (int i = 0; i < u->sample.n_in; i++)
        for (int64_t n = 0; n < u->count[i] && is_float(&u->sample.in[i]); n++)
            if (test_rand() % 4 == 0) put(&u->sample.in[i], u->data[i], n, odd[test_rand() % among]);
}

static void check_tiers(bool odd_values) {
    wick_tier before = wick_tier_current(), best = wick_tier_best();
    wick_context *ctx[WICK_TIER_COUNT] = {NULL};
    for (int t = 0; t <= (int)best; t++) {
        wick_tier_force((wick_tier)t);
        ctx[t] = driver_context(false, 2);
    }
    FOR_EACH_OP(op) {
        if (odd_values && op->flags & WICK_OP_SPREADS) continue;
        for (int k = 0; k < SAMPLES + 2; k++) {
            use u;
            use_draw(&u, op);
            /* long products overflow */
            bool large = k >= SAMPLES && u.sample.n_in && op != &wick_op_prod && ctx[0] && grow(ctx[0], &u, 8000);
            use_fill(&u, false);
            if (odd_values) poke(&u);
            wick_tier_force(WICK_TIER_REF);
            result ref = run_use(ctx[0], &u, PLAIN, !odd_values);
            /* odd values may be none that the op can take: on any tier */
            const bool faults = odd_values && op->flags & WICK_OP_FAULTS;
            CHECK_MSG(ref.status == WICK_OK || faults, "%s: %s", describe(&u), ref.text);
            for (int t = 1; t <= (int)best && (ref.status == WICK_OK || faults); t++) {
                wick_tier_force((wick_tier)t);
                result r = run_use(ctx[t], &u, PLAIN, !odd_values);
                count(odd_values ? EXTREME : AGAINST_REFERENCE, 1);
                if (ref.status && faults) {
                    CHECK_MSG(r.status == ref.status, "%s on %s: %s", describe(&u), wick_tier_name((wick_tier)t),
                              r.text);
                    result_free(&r);
                    continue;
                }
                CHECK_MSG(r.status == WICK_OK && r.n == ref.n, "%s on %s: %s", describe(&u),
                          wick_tier_name((wick_tier)t), r.text);
                for (int i = 0; i < r.n && r.n == ref.n; i++) {
                    double far = distance(&r.type[i], r.bytes[i], ref.bytes[i]),
                           allowed = tolerance(&u, &r, i) * (large ? 10 : 1);
                    CHECK_MSG(far <= allowed, "%s on %s: result %d is %g off the reference", describe(&u),
                              wick_tier_name((wick_tier)t), i, far);
                }
                result_free(&r);
            }
            result_free(&ref);
            use_free(&u);
        }
    }
    for (int t = 0; t <= (int)best; t++) wick_context_free(&ctx[t]);
    wick_tier_force(before);
}
TEST(every_tier_agrees_with_the_reference) { check_tiers(false); }
TEST(nan_and_infinity_propagate_alike_on_every_tier) { check_tiers(true); }

/* ---- wrong uses -------------------------------------------------------------------------------------------------- */

/* Records with input types as they now are; true when it was accepted. A refusal must say which op and which line. */
static bool accepted(wick_context *ctx, const use *u, int n_in, bool run) {
    wick_scope *scope = wick_scope_open(ctx);
    wick_tensor *in[MAX_IN + 1], *out[MAX_OUT];
    use v = *u;
    v.sample.n_in = n_in;
    for (int i = 0; i < n_in; i++) {
        const wick_type *t = &u->sample.in[i];
        in[i] = wick_full(ctx, (wick_dtype)t->dtype, t->rank, t->dims, 1);
    }
    record_use(ctx, &v, in, out);
    const char *text = "";
    wick_status status = wick_tensor_error(out[0], &text);
    for (int k = 1; k < u->op->n_out; k++)
        CHECK_MSG(wick_tensor_error(out[k], NULL) == status, "%s: result %d", describe(u), k);
    count(BAD_ARGUMENTS, status != WICK_OK);
    count(OTHER_DTYPES, status == WICK_OK && run);
    if (status) {
        CHECK_MSG(status == WICK_ERR_DTYPE || status == WICK_ERR_SHAPE || status == WICK_ERR_INVALID, "%s: status %d",
                  describe(u), status);
        CHECK_STR_HAS(text, u->op->name);
        CHECK_STR_HAS(text, "driver.h:");
        CHECK_MSG(wick_eval(ctx, 1, out, NULL) == status, "%s: the call that does work returns the error", describe(u));
    } else if (run) {
        CHECK_MSG(wick_eval(ctx, u->op->n_out, out, NULL) == WICK_OK, "%s: %s", describe(u), wick_context_error(ctx));
    }
    wick_scope_close(&scope);
    return status == WICK_OK;
}

TEST(wrong_dtypes_are_refused_or_work) {
    wick_context *ctx = driver_context(false, 1);
    REQUIRE(ctx != NULL);
    FOR_EACH_OP(op) {
        for (int k = 0; k < SAMPLES; k++) {
            use u;
            use_draw(&u, op);
            for (int i = 0; i < u.sample.n_in; i++) {
                uint8_t was = u.sample.in[i].dtype;
                for (int d = 0; d < WICK_DTYPE_COUNT; d++) {
                    u.sample.in[i].dtype = (uint8_t)d;
                    bool fine = accepted(ctx, &u, u.sample.n_in, true);
                    if (d == was) CHECK_MSG(fine, "%s is refused", describe(&u));
                }
                u.sample.in[i].dtype = was;
            }
            const uint8_t first = u.sample.in[0].dtype;
            /* in place of the first's wherever that is */
            for (int d = 0; d < WICK_DTYPE_COUNT && u.sample.n_in > 1; d++) {
                use v = u;
                for (int i = 0; i < u.sample.n_in; i++)
                    if (u.sample.in[i].dtype == first) v.sample.in[i].dtype = (uint8_t)d;
                (void)accepted(ctx, &v, v.sample.n_in, true);
            }
        }
    }
    wick_context_free(&ctx);
}

TEST(wrong_ranks_extents_and_counts_of_inputs_are_refused_cleanly) {
    wick_context *ctx = driver_context(false, 1);
    REQUIRE(ctx != NULL);
    FOR_EACH_OP(op) {
        for (int k = 0; k < SAMPLES; k++) {
            use u;
            use_draw(&u, op);
            int n = u.sample.n_in;
            if (op->min_in > 1)
                CHECK_MSG(!accepted(ctx, &u, op->min_in - 1, false), "%s with too few inputs", op->name);
            if (op->max_in < MAX_IN && n == op->max_in) {
                u.sample.in[n] = (wick_type){.dtype = WICK_F32};
                CHECK_MSG(!accepted(ctx, &u, n + 1, false), "%s with too many inputs", op->name);
            }
            for (int i = 0; i < n; i++) {
                wick_type was = u.sample.in[i];
                wick_type *t = &u.sample.in[i];
                for (int d = 0; d < was.rank; d++) {
                    t->dims[d] = was.dims[d] + 1 + (was.dims[d] == 0);
                    accepted(ctx, &u, n, false);
                    *t = was;
                }
                if (was.rank) {
                    t->dims[--t->rank] = 0;
                    accepted(ctx, &u, n, false);
                    *t = was;
                }
                t->dims[t->rank++] = 3;
                accepted(ctx, &u, n, false);
                *t = was;
            }
        }
    }
    wick_context_free(&ctx);
}

/* ---- gradients --------------------------------------------------------------------------------------------------- */

/* The weighted sum, or (second) a weighted sum of its gradient, as a function of the leaves. */
static wick_tensor *objective(wick_context *ctx, const use *u, wick_tensor **leaf, bool second) {
    wick_tensor *out[MAX_OUT], *wrt[MAX_IN], *grad[MAX_IN];
    int n = record_use(ctx, u, leaf, out), n_wrt = 0;
    wick_tensor *loss = weighted_sum(n, out);
    if (!second || !loss) return loss;
    for (int i = 0; i < u->sample.n_in; i++)
        if (u->sample.in[i].dtype == WICK_F64) wrt[n_wrt++] = leaf[i];
    wick_grad(loss, n_wrt, wrt, grad);
    return weighted_sum(n_wrt, grad);
}

static bool value_at(wick_context *ctx, const use *u, wick_tensor **leaf, bool second, double *value) {
    wick_scope *scope = wick_scope_open(ctx);
    bool good = wick_item(objective(ctx, u, leaf, second), value) == WICK_OK;
    CHECK_MSG(good, "%s: %s", describe(u), wick_context_error(ctx));
    wick_scope_close(&scope);
    return good;
}

/* Central differences of a few elements of every f64 input against wick_grad. Error h^2 f'''/6 plus rounding 1e-16 |f|
 * / h. */
static void check_gradient(wick_context *ctx, const use *u, bool second) {
    const double h = 1e-5, tolerance = 2e-6;
    wick_tensor *leaf[MAX_IN], *wrt[MAX_IN], *grad[MAX_IN];
    int input_of[MAX_IN], n_wrt = 0;
    wick_scope *scope = wick_scope_open(ctx);
    for (int i = 0; i < u->sample.n_in; i++) {
        leaf[i] = input(ctx, u, i, PLAIN, NULL);
        if (u->sample.in[i].dtype == WICK_F64) wrt[n_wrt] = leaf[i], input_of[n_wrt++] = i;
    }
    wick_tensor *loss = objective(ctx, u, leaf, second);
    CHECK_MSG(loss != NULL, "%s: no float result", describe(u));
    double total = 0;
    if (loss) {
        wick_grad(loss, n_wrt, wrt, grad);
        wick_status status = wick_eval(ctx, n_wrt, grad, NULL);
        CHECK_MSG(status == WICK_OK, "%s: %s", describe(u), wick_context_error(ctx));
        if (status != WICK_OK || !value_at(ctx, u, leaf, second, &total)) n_wrt = 0;
    } else
        n_wrt = 0;
    for (int k = 0; k < n_wrt; k++) {
        int i = input_of[k];
        size_t bytes = (size_t)u->count[i] * sizeof(double);
        double *x = malloc(bytes + 8);
        memcpy(x, u->data[i], bytes);
        const void *analytic = NULL;
        CHECK(wick_tensor_count(grad[k]) == u->count[i] && wick_data(grad[k], &analytic) == WICK_OK);
        for (int try = 0; try < 10 && u->count[i] && analytic; try++) {
            int64_t at = u->count[i] <= 10 ? try % u->count[i] : (int64_t)(test_rand() % (uint64_t)u->count[i]);
            double was = x[at], up, down, a = ((const double *)analytic)[at];
            x[at] = was + h;
            bool good = wick_write(leaf[i], x, bytes) == WICK_OK && value_at(ctx, u, leaf, second, &up);
            x[at] = was - h;
            good = good && wick_write(leaf[i], x, bytes) == WICK_OK && value_at(ctx, u, leaf, second, &down);
            x[at] = was;
            good = good && wick_write(leaf[i], x, bytes) == WICK_OK;
            CHECK(good);
            if (!good) break;
            double numeric = (up - down) / (2 * h),
                   off = fabs(a - numeric) / fmax(1, fmax(fabs(a), fabs(total) * 1e-5));
            count(second ? SECOND_GRADIENTS : GRADIENTS, 1);
            CHECK_MSG(off <= tolerance, "%s%s: input %d, element %lld: %.12g, by differences %.12g", describe(u),
                      second ? " twice" : "", i, (long long)at, a, numeric);
        }
        free(x);
    }
    wick_scope_close(&scope);
}

static void check_gradients(bool second) {
    wick_context *ctx = driver_context(false, 1);
    REQUIRE(ctx != NULL);
    FOR_EACH_OP(op) {
        int checked = 0;
        if (second && op->flags & WICK_OP_ONCE) continue;
        for (int k = 0; k < 200 && checked < (op->grad ? 8 : 0); k++) {
            use u;
            use_draw(&u, op);
            if (!u.sample.differentiable) continue;
            use_fill(&u, false);
            check_gradient(ctx, &u, second);
            use_free(&u);
            checked++;
        }
        CHECK_MSG(checked == (op->grad ? 8 : 0), "%s: %d samples", op->name, checked);
    }
    wick_context_free(&ctx);
}
TEST(gradients_agree_with_central_differences) { check_gradients(false); }
TEST(gradients_of_gradients_agree_with_central_differences) { check_gradients(true); }

int main(int argc, char **argv) { return test_main(argc, argv); }
