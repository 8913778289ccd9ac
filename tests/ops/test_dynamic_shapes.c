/* Shapes as expressions of named dims, for every op of the registry: of a random use, extents that are equal become a
 * dim each; what is found is evaluated at random values and must be the shapes that the op itself infers there. */
#include "ops/driver.h"
#include "wick/dynamic.h"

enum { USES = 60, WANTED = 4, POINTS = 12, RANGE = 24 };

static wick_status record_op(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    const use *u = user;
    wick_tensor *all[MAX_OUT];
    const int n = record_use(ctx, u, in, all);
    for (int i = 0; i < n; i++) out[i] = all[i];
    return WICK_OK;
}

/* Two dims at most: m for one extent above 1, n for another. false: there is none. */
static bool choose(const use *u, wick_dim dims[2], int64_t of[2], int *n_dims) {
    *n_dims = 0;
    for (int try = 0; try < 16 && *n_dims < 2; try++) {
        if (!u->sample.n_in) return false;
        const wick_type *t = &u->sample.in[test_rand_int(0, u->sample.n_in - 1)];
        const int64_t e = t->rank ? t->dims[test_rand_int(0, t->rank - 1)] : 0;
        if (e < 2 || (*n_dims && of[0] == e)) continue;
        of[*n_dims] = e;
        dims[*n_dims] = (wick_dim){*n_dims ? "n" : "m", e, e + RANGE, 0};
        ++*n_dims;
        if (test_rand() % 2) break;
    }
    return *n_dims > 0;
}

/* The op with these values of the dims: the shapes it infers. */
static bool shapes_at(wick_context *ctx, const use *u, const wick_dynamic_input *in, const int64_t *extents,
                      wick_spec *out, int n_out) {
    wick_scope *scope = wick_scope_open(ctx);
    wick_tensor *x[MAX_IN], *y[MAX_OUT];
    for (int i = 0; i < u->sample.n_in; i++) {
        int64_t dims[WICK_MAX_DIMS];
        for (int a = 0; a < in[i].rank; a++)
            dims[a] = in[i].dims[a][0] == 'm'   ? extents[0]
                      : in[i].dims[a][0] == 'n' ? extents[1]
                                                : atoll(in[i].dims[a]);
        x[i] = wick_zeros(ctx, in[i].dtype, in[i].rank, dims);
    }
    record_use(ctx, u, x, y);
    bool good = true;
    for (int i = 0; i < n_out && good; i++) {
        good = wick_tensor_error(y[i], NULL) == WICK_OK;
        if (!good) break;
        out[i] = (wick_spec){.rank = wick_tensor_rank(y[i])};
        memcpy(out[i].dims, wick_tensor_dims(y[i]), (size_t)out[i].rank * sizeof *out[i].dims);
    }
    wick_scope_close(&scope);
    return good;
}

/* 1: found, and right wherever it was looked at; 0: the op does not take other extents there. */
static int check_use(wick_context *ctx, use *u) {
    wick_dim dims[2];
    int64_t of[2] = {0};
    int n_dims;
    if (!choose(u, dims, of, &n_dims)) return 0;
    char texts[MAX_IN][WICK_MAX_DIMS][24];
    wick_dynamic_input in[MAX_IN] = {0};
    for (int i = 0; i < u->sample.n_in; i++) {
        const wick_type *t = &u->sample.in[i];
        in[i] = (wick_dynamic_input){.dtype = (wick_dtype)t->dtype, .rank = t->rank};
        for (int a = 0; a < t->rank; a++) {
            snprintf(texts[i][a], sizeof texts[i][a], "%lld", (long long)t->dims[a]);
            if (t->dims[a] == of[0]) snprintf(texts[i][a], sizeof texts[i][a], "m");
            if (n_dims > 1 && t->dims[a] == of[1]) snprintf(texts[i][a], sizeof texts[i][a], "n");
            in[i].dims[a] = texts[i][a];
        }
    }
    wick_dynamic *d = NULL;
    wick_shapes *s = NULL;
    CHECK_MSG(wick_dynamic_new(ctx, record_op, u, n_dims, dims, u->sample.n_in, in, u->op->n_out, NULL, &d) == WICK_OK,
              "%s: %s", u->op->name, wick_context_error(ctx));
    if (!d) return 0;
    int good = wick_dynamic_find_shapes(d, &s) == WICK_OK;
    if (good && !wick_shapes_exceptions(s)) {
        wick_spec found[64], want[MAX_OUT];
        CHECK(wick_shapes_count(s) <= 64);
        for (int p = 0; p < POINTS; p++) {
            int64_t extents[2] = {of[0] + test_rand_int(0, RANGE), of[1] + test_rand_int(0, RANGE)};
            if (!shapes_at(ctx, u, in, extents, want, u->op->n_out)) continue;
            const wick_status status = wick_shapes_eval(s, extents, found);
            CHECK_MSG(status == WICK_OK, "%s: %s", u->op->name, wick_status_name(status));
            for (int i = 0; i < u->op->n_out; i++) {
                const int row = wick_shapes_output(s, i);
                CHECK_MSG(row >= 0 && wick_shapes_at(s, row).known, "%s: result %d: %s", u->op->name, i,
                          row >= 0 ? wick_shapes_at(s, row).text : "none");
                if (row < 0) continue;
                CHECK_MSG(found[row].rank == want[i].rank &&
                              !memcmp(found[row].dims, want[i].dims, (size_t)want[i].rank * sizeof *want[i].dims),
                          "%s(%s=%lld, n=%lld): result %d: %s", u->op->name, "m", (long long)extents[0],
                          (long long)extents[1], i, wick_shapes_at(s, row).text);
            }
            test_count("shapes of an op by expressions", 1);
        }
    }
    wick_shapes_free(&s);
    wick_dynamic_free(&d);
    return good;
}

/* Ops whose attributes fix every extent: functions record others for other extents (tests/exec/test_dynamic.c). */
static bool is_fixed(const wick_op *op) {
    static const wick_op *const list[] = {&wick_op_reshape, &wick_op_expand, &wick_op_view_scatter, &wick_op_plane_put};
    for (size_t i = 0; i < WICK_COUNTOF(list); i++)
        if (op == list[i]) return true;
    return op->max_in == 0;
}

TEST(expressions_of_every_ops_shapes_hold_at_random_values) {
    wick_context *ctx = driver_context(false, 1);
    REQUIRE(ctx != NULL);
    FOR_EACH_OP(op) {
        int good = 0;
        for (int k = 0; k < USES && good < WANTED; k++) {
            use u;
            use_draw(&u, op);
            good += check_use(ctx, &u);
            use_free(&u);
        }
        CHECK_MSG(good || is_fixed(op), "%s: no use of it takes other extents", op->name);
    }
    wick_context_free(&ctx);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
