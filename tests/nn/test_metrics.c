/* Metrics against scikit-learn's (golden/metrics.txt), and what it has no word for. */
#include "base/base.h"
#include "golden/golden.h"
#include "context.h"
#include "test.h"
#include "wick/wick.h"

static golden *goldens;
static const golden *get(const char *name) {
    if (!goldens) goldens = golden_load("metrics.txt");
    const golden *g = golden_find(goldens, name);
    if (!g) fprintf(stderr, "no golden %s\n", name), exit(1);
    return g;
}
static wick_tensor *tensor(wick_context *ctx, const char *name, wick_dtype dtype) {
    const golden *g = get(name);
    return wick_cast(wick_from(ctx, WICK_F64, g->rank, g->dims, g->values), dtype);
}
static double item(wick_tensor *t) {
    double value = NAN;
    wick_status status = wick_item(t, &value);
    CHECK_MSG(status == WICK_OK, "%s", wick_context_error(wick_tensor_context(t)));
    return value;
}

TEST(expressions_agree) {
    wick_context *ctx = new_context(.threads = 1);
    REQUIRE(ctx != NULL);
    wick_tensor *logits = tensor(ctx, "logits", WICK_F64), *labels = tensor(ctx, "labels", WICK_I32),
                *taken = tensor(ctx, "predictions", WICK_I64);
    for (int k = 1; k <= 5; k++) {
        char name[16];
        snprintf(name, sizeof name, "top.%d", k);
        CHECK_MSG(fabs(item(wick_top_k_accuracy(logits, labels, k)) - get(name)->values[0]) < 1e-12, "%s", name);
    }
    CHECK(fabs(item(wick_perplexity(logits, labels, NULL)) / get("perplexity")->values[0] - 1) < 1e-12);
    int64_t counts[25];
    wick_tensor *matrix = wick_confusion_matrix(labels, taken, 5);
    CHECK(wick_tensor_dtype(matrix) == WICK_I64 && wick_read(matrix, counts, sizeof counts) == WICK_OK);
    for (int i = 0; i < 25; i++) CHECK_INT(counts[i], get("confusion")->values[i]);
    wick_context_free(&ctx);
}

static void check_scores(wick_class_score s, const golden *g, int64_t column, int64_t columns) {
    const double have[4] = {s.precision, s.recall, s.f1, s.iou};
    for (int i = 0; i < 4; i++)
        CHECK_MSG(fabs(have[i] - g->values[i * columns + column]) < 1e-12, "%s[%d]: %.17g, not %.17g", g->name, i,
                  have[i], g->values[i * columns + column]);
}
TEST(scores_of_counts_agree) {
    int64_t counts[25];
    for (int i = 0; i < 25; i++) counts[i] = (int64_t)get("confusion")->values[i];
    for (int c = 0; c < 5; c++) check_scores(wick_score_class(5, counts, c), get("scores.each"), c, 5);
    check_scores(wick_score_all(5, counts, WICK_SCORE_MACRO), get("scores.macro"), 0, 1);
    check_scores(wick_score_all(5, counts, WICK_SCORE_WEIGHTED), get("scores.weighted"), 0, 1);
    const wick_class_score micro = wick_score_all(5, counts, WICK_SCORE_MICRO);
    check_scores(micro, get("scores.micro"), 0, 1);
    CHECK(micro.support == 60 && micro.predicted == 60);
    const int64_t none[4] = {0};
    CHECK(wick_score_all(2, none, WICK_SCORE_MACRO).f1 == 0 && wick_score_class(2, none, 1).iou == 0);
}

TEST(areas_agree) {
    wick_context *ctx = new_context(.threads = 1);
    REQUIRE(ctx != NULL);
    const char *const sets[] = {"smooth", "ties", "few"};
    double area;
    for (int i = 0; i < 3; i++)
        for (int f = 0; f < 2; f++) {
            char name[4][64];
            const char *const parts[] = {"scores", "labels", "auc", "precision"};
            for (int k = 0; k < 4; k++) snprintf(name[k], sizeof name[k], "binary.%s.%s", sets[i], parts[k]);
            wick_tensor *scores = tensor(ctx, name[0], f ? WICK_F32 : WICK_F64),
                        *labels = tensor(ctx, name[1], f ? WICK_BOOL : WICK_U8);
            CHECK(wick_roc_auc(scores, labels, &area) == WICK_OK && fabs(area - get(name[2])->values[0]) < 1e-12);
            CHECK(wick_average_precision(scores, labels, &area) == WICK_OK &&
                  fabs(area - get(name[3])->values[0]) < 1e-12);
        }
    CHECK(wick_roc_auc(tensor(ctx, "many.scores", WICK_F64), tensor(ctx, "labels", WICK_I64), &area) == WICK_OK);
    CHECK(fabs(area - get("many.auc")->values[0]) < 1e-12);
    wick_context_free(&ctx);
}

TEST(equal_logits_and_nan_never_help) {
    wick_context *ctx = new_context(.threads = 1);
    REQUIRE(ctx != NULL);
    const float rows[12] = {1, 1, 1, /**/ 1, 1, 1, /**/ NAN, 2, 1, /**/ 0, NAN, 1};
    const int64_t labels[4] = {0, 2, 1, 1};
    wick_tensor *x = wick_from(ctx, WICK_F32, WICK_DIMS(4, 3), rows),
                *y = wick_from(ctx, WICK_I64, WICK_DIMS(4), labels);
    CHECK(item(wick_top_k_accuracy(x, y, 1)) == 0.25); /* the first row */
    CHECK(item(wick_top_k_accuracy(x, y, 2)) == 0.5);  /* and the third */
    CHECK(item(wick_top_k_accuracy(x, y, 3)) == 1);
    CHECK_INT(wick_tensor_dtype(wick_top_k_accuracy(x, y, 1)), WICK_F32);
    wick_context_free(&ctx);
}

static void refused(wick_context *ctx, wick_tensor *t, wick_status status, const char *says, int line) {
    double value;
    CHECK_MSG(wick_item(t, &value) == status && strstr(wick_context_error(ctx), says), "line %d: %s", line,
              wick_context_error(ctx));
}
#define REFUSED(status, t, says) refused(ctx, t, status, says, __LINE__)
#define FAILS(status, call, says)  \
    CHECK_INT(call, status);       \
    CHECK_STR_HAS(wick_context_error(ctx), says)

TEST(mistakes_are_named) {
    wick_context *ctx = new_context(.threads = 1);
    REQUIRE(ctx != NULL);
    const int64_t values[2] = {0, 3};
    const double nan[2] = {0, NAN};
    double area;
    wick_tensor *x = wick_ones(ctx, WICK_F32, WICK_DIMS(2, 3)),
                *labels = wick_from(ctx, WICK_I64, WICK_DIMS(2), values);
    wick_tensor *zeros = wick_zeros(ctx, WICK_I64, WICK_DIMS(2)), *scores = wick_ones(ctx, WICK_F32, WICK_DIMS(2));
    REFUSED(WICK_ERR_INVALID, wick_top_k_accuracy(x, zeros, 0), "k must be at least 1");
    REFUSED(WICK_ERR_INDEX, wick_top_k_accuracy(x, labels, 1), "gather");
    REFUSED(WICK_ERR_DTYPE, wick_top_k_accuracy(x, x, 1), "labels must be integers");
    REFUSED(WICK_ERR_INDEX, wick_sum(wick_confusion_matrix(zeros, labels, 3), WICK_ALL_AXES, false), "scatter_add");
    REFUSED(WICK_ERR_DTYPE, wick_confusion_matrix(zeros, scores, 3), "not f32");
    REFUSED(WICK_ERR_SHAPE, wick_confusion_matrix(zeros, wick_zeros(ctx, WICK_I64, WICK_DIMS(3)), 3), "one shape");
    REFUSED(WICK_ERR_INVALID, wick_confusion_matrix(zeros, zeros, 0), "from 1 to");
    REFUSED(WICK_ERR_INVALID, wick_confusion_matrix(zeros, NULL, 2), "NULL");
    FAILS(WICK_ERR_INVALID, wick_roc_auc(scores, zeros, &area), "none are labelled 1");
    CHECK(isnan(area));
    FAILS(WICK_ERR_INVALID, wick_roc_auc(wick_from(ctx, WICK_F64, WICK_DIMS(2), nan), zeros, &area), "score 1 is NaN");
    FAILS(WICK_ERR_DTYPE, wick_roc_auc(zeros, zeros, &area), "floats");
    FAILS(WICK_ERR_SHAPE, wick_average_precision(x, zeros, &area), "scores [N] and");
    FAILS(WICK_ERR_INVALID, wick_roc_auc(scores, NULL, &area), "NULL");
    wick_context_free(&ctx);
}

/* The definition, without a table. */
static int64_t edits(const int64_t *a, int64_t n, const int64_t *b, int64_t m) {
    if (!n || !m) return n + m;
    const int64_t change = edits(a + 1, n - 1, b + 1, m - 1) + (*a != *b), out = edits(a + 1, n - 1, b, m) + 1,
                  in = edits(a, n, b + 1, m - 1) + 1;
    return WICK_MIN(change, WICK_MIN(out, in));
}
TEST(edit_distance_is_that_of_its_definition) {
    wick_context *ctx = NULL;
    REQUIRE(wick_context_new(NULL, &ctx) == WICK_OK);
    int64_t distance = -1, kitten[] = {'k', 'i', 't', 't', 'e', 'n'}, sitting[] = {'s', 'i', 't', 't', 'i', 'n', 'g'};
    CHECK(wick_edit_distance(ctx, 6, kitten, 7, sitting, &distance) == WICK_OK && distance == 3);
    CHECK(wick_edit_distance(ctx, 0, NULL, 7, sitting, &distance) == WICK_OK && distance == 7);
    CHECK(wick_edit_distance(ctx, 6, kitten, 0, NULL, &distance) == WICK_OK && distance == 6);
    CHECK(wick_edit_distance(ctx, 0, NULL, 0, NULL, &distance) == WICK_OK && distance == 0);
    for (int round = 0; round < 200; round++) {
        int64_t a[7], b[7];
        const int n = test_rand_int(0, 7), m = test_rand_int(0, 7);
        for (int i = 0; i < 7; i++) a[i] = test_rand_int(0, 2), b[i] = test_rand_int(0, 2);
        CHECK(wick_edit_distance(ctx, n, a, m, b, &distance) == WICK_OK);
        CHECK_INT(distance, edits(a, n, b, m));
    }
    CHECK_INT(wick_edit_distance(ctx, -1, kitten, 3, sitting, &distance), WICK_ERR_INVALID);
    CHECK_STR_HAS(wick_context_error(ctx), "edit_distance: of -1 and 3 labels");
    wick_context_free(&ctx);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
