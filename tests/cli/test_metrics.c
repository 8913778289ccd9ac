/* What wick eval makes of predictions. */
#include "../../cli/train/metrics.h"
#include "../../cli/train/paired.h"

#include "test.h"

static target_scores of(int n, const double *predicted, const double *target) {
    target_sums s = {0};
    for (int i = 0; i < n; i++) target_sums_add(&s, predicted[i], target[i]);
    return target_sums_scores(&s);
}
static bool near(double a, double b) { return fabs(a - b) <= 1e-12 * fmax(1, fabs(b)); }

/* sklearn.metrics.r2_score, mean_absolute_error, mean_squared_error ** 0.5, mean_absolute_percentage_error;
 * scikit-learn 1.9.1. */
TEST(scores_of_a_regression_are_those_of_scikit_learn) {
    const target_scores s =
        of(6, (const double[]){2.5, 0.25, 2, 8, -3.75, 101}, (const double[]){3, -0.5, 2, 7, -4, 99.5});
    CHECK(near(s.r2, 0.9994888686960473) && near(s.mae, 2. / 3) && near(s.rmse, 0.82915619758885) &&
          near(s.mape, 0.3145165310680386) && s.zeros == 0);
    const target_scores large =
        of(3, (const double[]){1e9 + 1, 1e9 + 2, 1e9 + 4}, (const double[]){1e9, 1e9 + 2, 1e9 + 3});
    CHECK(fabs(large.r2 - 0.5714285714285718) < 1e-6); /* no cancellation */
}

TEST(scores_of_few_and_of_equal_targets) {
    CHECK(of(3, (const double[]){5, 5, 5}, (const double[]){5, 5, 5}).r2 == 1);
    CHECK(of(3, (const double[]){5, 5, 6}, (const double[]){5, 5, 5}).r2 == 0);
    CHECK(isnan(of(1, (const double[]){5}, (const double[]){5}).r2));
    /* targets of 0 have no relative difference */
    const target_scores s = of(3, (const double[]){1, 1, 3}, (const double[]){0, 2, 4});
    CHECK(s.zeros == 1 && near(s.mape, (0.5 + 0.25) / 2));
    CHECK(isnan(of(2, (const double[]){1, 1}, (const double[]){0, 0}).mape));
}

TEST(scores_of_classes) {
    const class_scores s = scores_of((class_counts){.support = 4, .predicted = 5, .correct = 3});
    CHECK(near(s.precision, 0.6) && near(s.recall, 0.75) && near(s.f1, 2. / 3) && near(s.iou, 0.5));
    CHECK(rank_of_label((const float[]){1, 3, 3, 2}, 4, 1) == 0 &&
          rank_of_label((const float[]){1, 3, 3, 2}, 4, 2) == 1 &&
          rank_of_label((const float[]){1, NAN, 3, 2}, 4, 2) == 1);
}

/* scipy.stats.t.ppf(0.95, f) 1.17 */
TEST(quantiles_of_student) {
    static const double exact[][2] = {{1, 6.313751514675037},  {2, 2.9199855803537242},  {3, 2.3533634348018233},
                                      {4, 2.1318467863266495}, {9, 1.833112932656237}, {19, 1.7291328115213682},
                                      {1999, 1.6456162481872625}};
    for (int i = 0; i < 7; i++) CHECK(fabs(paired_student(exact[i][0]) / exact[i][1] - 1) < 1e-3);
}

/* sklearn.metrics.r2_score of both, and what NumPy makes of their parts. */
TEST(a_drop_of_r2_is_a_mean_of_squared_errors_in_pairs) {
    static const float targets[] = {1, 2, 2, 0, 4, -1, 3, 5, 0, 1},
                       p[] = {1.5F, 2, 2, 0.5F, 3.5F, -1, 3, 4, 0.25F, 0},
                       q[] = {1, 2.5F, 2, 1, 4.5F, -2, 3, 3, 0.25F, 1};
    double a[5], b[5], drop = 0, first = 0;
    int64_t known;
    paired_squares(p, targets, 5, 2, a);
    paired_squares(q, targets, 5, 2, b);
    for (int i = 0; i < 5; i++) first += a[i] / 5, drop += (a[i] - b[i]) / 5;
    CHECK(near(first, 0.9188089622641509) && near(drop, 0.9188089622641509 - 0.8369693396226415));
    double sum = 0;
    for (int i = 0; i < 5; i++) sum += (a[i] - b[i] - drop) * (a[i] - b[i] - drop);
    CHECK(near(paired_variance(a, b, 5, &known), sum / 20) && known == 5);
    b[2] = NAN; /* not known of one of both: it has no part */
    CHECK(paired_variance(a, b, 5, &known) >= 0 && known == 4);
}

/* sklearn.metrics.roc_auc_score, and the variance of the difference by DeLong's formulas in NumPy. */
TEST(areas_under_curves_differ_by_ranks) {
    static const float n1[] = {0.1F, 0.4F, 0.35F, 0.8F, 0.2F, 0.5F}, o1[] = {0.5F, 0.9F, 0.3F, 0.7F},
                       n2[] = {0.15F, 0.3F, 0.5F, 0.7F, 0.25F, 0.45F}, o2[] = {0.45F, 0.95F, 0.2F, 0.8F};
    float room[10];
    double a[10], b[10];
    int64_t known;
    CHECK(near(paired_ranks(n1, 6, o1, 4, room, a), 0.7291666666666667));
    CHECK(near(paired_ranks(n2, 6, o2, 4, room, b), 0.6875));
    CHECK(near(a[3], 0.25) && near(a[5], 0.625) && near(a[6], 0.75) && near(a[8], 1. / 3));
    CHECK(near(paired_variance(a, b, 6, &known) + paired_variance(a + 6, b + 6, 4, &known), 0.012268518518518517));
}

TEST(the_root_of_a_mean_is_one_of_parts) {
    static const float x[] = {1, 4, 9, 2};
    double each[4], mean = 0;
    CHECK(near(paired_root(x, 4, each), 2));
    for (int i = 0; i < 4; i++) mean += each[i] / 4;
    CHECK(near(mean, 2) && near(each[2], 3.25));
    CHECK(paired_root((const float[]){0, 0}, 2, each) == 0 && each[0] == 0);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
