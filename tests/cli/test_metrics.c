/* What wick eval makes of predictions. */
#include "../../cli/train/metrics.h"

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

int main(int argc, char **argv) { return test_main(argc, argv); }
